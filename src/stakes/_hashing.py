"""Hashes of rows: numbers that look random and depend on what a row holds, not on its place.

They are the same on every platform, because they use only 64-bit integers that wrap around. Labels
enter by their text, numbers by the digits of single precision: processors differ in the last digits
of a double, and that must not deal all rows anew.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from stakes._check import IntArray

__all__ = [
    "Hashes",
    "distinct_hashes",
    "even_parts",
    "label_hashes",
    "number_hashes",
    "salted",
    "text_hashes",
]

Hashes = npt.NDArray[np.uint64]

_WEYL = np.uint64(0x9E3779B97F4A7C15)  # 2**64 over the golden ratio: multiples are spread evenly
_ROUNDED = 29  # binary digits of a double beyond those of single precision
_BLOCK = 1 << 14  # numbers at a time, which stay in the cache


def _mixed(values: Hashes) -> Hashes:
    """Mix the bits, in place, so that each depends on all: the last step of SplitMix64."""
    spare = np.empty(min(values.size, _BLOCK), dtype=np.uint64)
    for start in range(0, values.size, _BLOCK):
        block = values[start : start + _BLOCK]
        shifted = spare[: block.size]
        for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB), (31, 1)):
            np.right_shift(block, np.uint64(shift), out=shifted)
            np.bitwise_xor(block, shifted, out=block)
            np.multiply(block, np.uint64(factor), out=block)
    return values


def text_hashes(texts: Iterable[object]) -> Hashes:
    """The hash of each text: a sum over its characters, each mixed with its place.

    >>> [hex(number) for number in text_hashes(["", "a", "ab"]).tolist()]
    ['0x0', '0x50446c25afbd3c6', '0xae2e19200622877e']
    """
    written = list(map(str, texts))
    sizes = np.fromiter(map(len, written), np.intp, len(written))
    ends = np.cumsum(sizes)
    characters = np.frombuffer("".join(written).encode("utf-32-le", "surrogatepass"), "<u4")
    places = np.arange(characters.size) - np.repeat(ends - sizes, sizes)
    each = _mixed(characters + (places.astype(np.uint64) + np.uint64(1)) * _WEYL)
    sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(each, dtype=np.uint64)])
    return _mixed(sums[ends] - sums[ends - sizes])


@lru_cache(maxsize=256)
def _of_text(text: str) -> np.uint64:
    return np.uint64(text_hashes([text])[0])


def salted(hashes: Hashes, salt: str) -> Hashes:
    """Other hashes of the same rows, one set for each salt."""
    return _mixed(hashes + _of_text(salt))


def number_hashes(salt: str, values: npt.ArrayLike, dropped: int) -> Hashes:
    """The hash of each number as a double without its last binary digits: 1 is 1.0, -0.0 is 0.0.

    >>> first = number_hashes("", [1 / 3, 1, 0], 29)
    >>> second = number_hashes("", np.array([1 / 3 + 1e-15, True, -0.0]), 29)
    >>> bool((first == second).all())
    True
    """
    bits = (np.asarray(values, dtype=np.float64) + 0.0).view(np.uint64)
    if dropped:
        bits += np.uint64(1 << (dropped - 1))
        bits >>= np.uint64(dropped)
    return salted(bits, salt)


def label_hashes(salt: str, labels: Iterable[object], codes: IntArray) -> Hashes:
    """The hash of the label of each row by its text, not by its position among the labels."""
    return np.asarray(salted(text_hashes(labels), salt)[codes])


def distinct_hashes(columns: Callable[[int], Iterable[Hashes]]) -> Hashes:
    """The hash of each row by its columns, and of its number among rows with equal hashes.

    Rows whose numbers agree in single precision are numbered in the order of the hash of all
    digits, and of columns that matter for nothing else. Equal rows may be exchanged, so that it
    does not matter which of them comes first.

    Parameters
    ----------
    columns : the hashes (n,) of every column, where so many binary digits of numbers are dropped

    Returns
    -------
    hashes, (n,)

    Examples
    --------
    >>> hashes = distinct_hashes(lambda dropped: [number_hashes("p", [0.5, 0.25, 0.5], dropped)])
    >>> len(set(hashes.tolist()))
    3
    """
    hashes = _combined(columns(_ROUNDED))
    values = np.sort(hashes)  # faster than to argsort, which rows without equal ones do not need
    if not (values[1:] == values[:-1]).any():
        return _mixed(hashes)
    order = np.argsort(hashes)
    values = hashes[order]
    firsts = np.flatnonzero(np.concatenate([[True], values[1:] != values[:-1]]))
    sizes = np.diff(np.append(firsts, values.size))
    exact = _combined(columns(0))[order]
    differ = np.logical_or.reduceat(exact != np.repeat(exact[firsts], sizes), firsts)
    unsorted = np.flatnonzero(np.repeat(differ, sizes))
    order[unsorted] = order[unsorted][np.lexsort((exact[unsorted], values[unsorted]))]
    number = np.empty(values.size, dtype=np.uint64)
    number[order] = np.arange(values.size) - np.repeat(firsts, sizes)
    return _mixed(hashes + number * _WEYL)


def _combined(columns: Iterable[Hashes]) -> Hashes:
    each = iter(columns)
    total = next(each)
    for column in each:
        total += column  # in any order of the columns
    return total


def even_parts(hashes: Hashes, count: int) -> IntArray:
    """One of `count` parts for each hash, from 0; equally many hashes belong to each.

    >>> even_parts(np.array([0, 2**63, 2**64 - 1], dtype=np.uint64), 5).tolist()
    [0, 2, 4]
    """
    high = hashes >> np.uint64(32)
    return np.asarray((high * np.uint64(count)) >> np.uint64(32)).astype(np.intp)
