"""Columns of labels as codes, without sorting all rows.

Categories and dictionaries are read as their library stores them. Integers within a narrow range
need no search. Texts are looked up among known labels by a hash, and then compared in full.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Sequence
from contextlib import suppress
from itertools import count
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from stakes._check.kinds import IntArray

_NARROW = 1 << 16  # range of integers up to which a table of all of them is made
_BLOCK = 1 << 13  # texts at a time, so that their words stay in the cache
_SAMPLE = 1 << 12  # first rows, whose distinct texts are then looked for in all others
_SLOTS = 12  # bits of the hash that are used
_MOST_TEXTS = 1 << 8  # with more texts, a hash of 12 bits would hardly be free of collisions


class Categories(NamedTuple):
    """The categories of a column, in their order, and the code of each row; -1 where missing."""

    values: list[Any]
    codes: npt.NDArray[Any]


def categories(values: Any) -> Categories | None:
    """The categories of a column that has some; None where it is a plain one."""
    coded: Any
    for coded in (values, getattr(values, "cat", None)):  # a categorical, a pandas series of them
        if hasattr(coded, "categories") and hasattr(coded, "codes"):
            return Categories(list(coded.categories), np.asarray(coded.codes))
    if str(getattr(values, "dtype", "")).startswith("Enum("):  # polars
        names = list(values.dtype.categories)
        return Categories(names, np.asarray(values.to_physical().cast(int).fill_null(-1)))
    if hasattr(getattr(values, "type", None), "index_type"):  # an array of Arrow
        is_chunked = hasattr(values, "chunks")
        whole = values.unify_dictionaries().combine_chunks() if is_chunked else values
        if hasattr(whole, "indices") and not whole.dictionary.null_count:
            codes = whole.indices.cast("int64").fill_null(-1)
            return Categories(whole.dictionary.to_pylist(), np.asarray(codes))
    return None


def dictionary(values: Any) -> Categories | None:
    """The distinct texts of a column of Polars or Arrow, encoded by that library; else None.

    None also where texts are missing, or no UTF-8: reading the rows one by one then says so.
    """
    kind = str(getattr(values, "dtype", ""))
    if kind == "String" and type(values).__module__.startswith("polars."):
        if values.null_count():
            return None
        return _polars_texts(values)
    if hasattr(values, "dictionary_encode") and "string" in str(getattr(values, "type", "")):
        if values.null_count:
            return None
        encoded = values.dictionary_encode()
        if hasattr(encoded, "combine_chunks"):
            encoded = encoded.combine_chunks()
        if hasattr(encoded, "indices") and not encoded.dictionary.null_count:
            with suppress(UnicodeDecodeError):
                return Categories(encoded.dictionary.to_pylist(), np.asarray(encoded.indices))
    return None


def _polars_texts(values: Any) -> Categories:
    """The texts of a series without missing ones; the first rows mostly have all that occur."""
    texts = values.head(_SAMPLE).unique().sort().to_list()
    codes = values.cast(sys.modules["polars"].Enum(texts), strict=False).to_physical()
    if codes.null_count():  # a text that the first rows do not have
        texts = values.unique().sort().to_list()
        codes = values.cast(sys.modules["polars"].Enum(texts)).to_physical()
    return Categories(texts, np.asarray(codes))


def integer_range(array: npt.NDArray[Any]) -> tuple[int, int] | None:
    """A range that holds all integers or booleans; None where it would be wide.

    Its lower bound is the least value, or zero where that spares a second pass.
    """
    if not array.size:
        return None
    if array.dtype.kind == "i":
        top = int(array.view(f"{array.dtype.byteorder}u{array.dtype.itemsize}").max())
        # Read as unsigned, negative numbers are the largest: one maximum shows that there is none.
        if top < _NARROW and top < 1 << (8 * array.dtype.itemsize - 1):
            return 0, top
    low, high = int(array.min()), int(array.max())
    return (low, high) if high - low < _NARROW and abs(high) < 1 << 62 else None


def from_low(array: npt.NDArray[Any], low: int) -> IntArray:
    """Integers minus their lower bound; a view where that is zero."""
    plain = array.astype(np.intp, copy=False)
    return plain.view() if low == 0 else np.asarray(plain - low)


def distinct_integers(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The sorted distinct integers or booleans."""
    span = integer_range(array)
    if span is None:
        return np.unique(array)
    low, high = span
    if high - low <= 1:
        return np.unique([array.min(), array.max()])
    occurring = np.flatnonzero(np.bincount(from_low(array, low))) + low
    return np.asarray(occurring.astype(array.dtype))


def integer_positions(
    array: npt.NDArray[Any], names: tuple[Any, ...], mine: Sequence[int]
) -> IntArray | None:
    """The position of each integer among the labels that are integers; None for a wide range."""
    span = integer_range(array)
    if span is None:
        return None
    low, high = span
    if low == 0 and high < len(names) and names[: high + 1] == tuple(range(high + 1)):
        return from_low(array, 0)
    place = np.full(1 + high - low, -1, dtype=np.intp)
    for k in mine:
        if low <= names[k] <= high:
            place[names[k] - low] = k
    return np.asarray(place[from_low(array, low)])


def numbered_objects(array: npt.NDArray[Any]) -> Categories | None:
    """Distinct objects, in the order of their first occurrence; None where one is not hashable."""
    numbers: defaultdict[Any, int] = defaultdict(count().__next__)
    try:
        codes = np.fromiter(map(numbers.__getitem__, array.tolist()), np.intp, array.size)
    except TypeError:
        return None
    return Categories(list(numbers), codes)


def distinct_texts(array: npt.NDArray[np.str_]) -> tuple[npt.NDArray[np.str_], IntArray | None]:
    """The sorted distinct texts, and the position of each row's among them, if it is known.

    The texts of the first rows are looked for in all rows; only rows with other texts are sorted.
    """
    known = np.unique(array[:_SAMPLE])
    where = text_positions(array, known) if array.size > _SAMPLE else None
    if where is None:
        return np.unique(array), None
    unknown = array[where < 0]
    return (np.union1d(known, unknown), None) if unknown.size else (known, where)


def text_positions(array: npt.NDArray[np.str_], known: npt.NDArray[np.str_]) -> IntArray | None:
    """The position of each text among distinct ones, or -1; None where there are too many.

    Two code points are read as one word. A hash of the words proposes one label, all of whose words
    are then compared with those of the text, so that a collision cannot go unnoticed.
    """
    size = array.dtype.itemsize // 4
    short = np.flatnonzero(np.char.str_len(known) <= size)  # longer ones cannot occur
    if not size or not short.size or known.size > _MOST_TEXTS:
        return None
    labels = _words(known[short].astype(f"U{size}"), size)
    factors, place = _hash(labels)
    if place is None:
        return None
    result = np.empty(array.size, dtype=np.intp)
    for start in range(0, array.size, _BLOCK):
        words = _words(array[start : start + _BLOCK], size)
        near = place[_slots(words, factors)]
        wrong = labels.take(near, axis=0) != words
        if wrong.any():
            near = np.where(wrong.any(axis=1), -1, near)
        result[start : start + _BLOCK] = near
    return result if short.size == known.size else np.where(result < 0, -1, short[result])


def _words(array: npt.NDArray[np.str_], size: int) -> npt.NDArray[np.uint64]:
    """Texts (n,) of at most `size` code points, as words (n, W) of two code points each."""
    native = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("="))
    units = native.view(np.uint32).reshape(array.size, -1)
    if units.shape[1] == size and size % 2 == 0:
        return units.view(np.uint64)
    wide = np.zeros((array.size, size + size % 2), dtype=np.uint32)
    wide[:, : units.shape[1]] = units
    return wide.view(np.uint64)


def _slots(words: npt.NDArray[np.uint64], factors: npt.NDArray[np.uint64]) -> IntArray:
    mixed = np.einsum("ij,j->i", words, factors)
    return np.asarray((mixed >> np.uint64(64 - _SLOTS)).view(np.int64))


def _hash(labels: npt.NDArray[np.uint64]) -> tuple[npt.NDArray[np.uint64], IntArray | None]:
    """Factors of a hash without collisions between the labels, and the label of each slot."""
    for seed in range(64):
        rng = np.random.default_rng(seed)
        factors = np.asarray(rng.integers(0, 2**64, labels.shape[1], dtype=np.uint64))
        slots = _slots(labels, factors)
        if np.unique(slots).size == slots.size:
            place = np.zeros(1 << _SLOTS, dtype=np.intp)  # an empty slot proposes any label
            place[slots] = np.arange(slots.size)
            return factors, place
    return factors, None
