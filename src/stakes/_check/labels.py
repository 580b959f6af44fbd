"""Labels: text, whole numbers or booleans that match by equality; columns of them as codes."""

from __future__ import annotations

import re
import sys
from collections import defaultdict
from collections.abc import Callable, Collection, KeysView, Mapping, Sequence, Set
from contextlib import suppress
from functools import partial
from itertools import count, islice, repeat
from typing import Any, NamedTuple, Protocol, cast

import numpy as np
import numpy.typing as npt

from stakes._check.kinds import (
    BoolArray,
    IntArray,
    Label,
    Labels,
    as_array,
    described,
    frozen,
    listed,
    meant,
    refuse_frames,
    shown,
    those,
    writable,
)
from stakes.errors import InputError

# Columns of labels as codes, without sorting all rows --------------------------------------------
#
# Categories and dictionaries are read as their library stores them. Integers within a narrow range
# need no search. Texts are looked up among known labels by a hash, and then compared in full.

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


# What to do about labels of a column that are none of those that it may hold ---------------------

# Texts that were meant as numbers, also with a decimal comma, infinite or nan.
_NUMERIC = re.compile(r"\s*[+-]?(\d*[.,]?\d+(e[+-]?\d+)?|inf(inity)?|nan)\s*%?", re.IGNORECASE)


def reads_as_number(label: object) -> bool:
    """Whether a label is a text that was meant as a number.

    >>> [reads_as_number(label) for label in ("0.36 %", ",5", "p", 3)]
    [True, True, False, False]
    """
    return isinstance(label, str) and _NUMERIC.fullmatch(label) is not None


# What may be done about cases without a true class, wherever they come from.
UNLABELLED = (
    "Leave them out only where whether a label is there has nothing to do with the class, as with "
    "labels that nobody has read yet. Where the labels of one class come late, as those of fraud "
    "do, costs would look too low without them: wait for these labels, or evaluate an earlier "
    "period, of which all are known."
)


def for_missing(name: str) -> str:
    """What to do about labels that are missing in an argument."""
    return UNLABELLED if name in ("y_true", "y") else "Remove these cases first."


def is_blank(label: object) -> bool:
    """Whether a label is missing, or a text of nothing but blanks.

    >>> [is_blank(label) for label in (None, " ", "0", 0)]
    [True, True, False, False]
    """
    return label is None or (isinstance(label, str) and not label.strip())


def _is_among(label: object, labels: Collection[object]) -> bool:
    return any(type(each) is type(label) and each == label for each in labels)


def for_no_class(label: object, decisions: Collection[object]) -> str:
    """The remedy for what is no class but missing, or a decision; empty for anything else."""
    if is_blank(label):
        return UNLABELLED
    if not _is_among(label, decisions):
        return ""
    return (
        "These are the problem's decisions: is this another column, or are the costs transposed? "
        "Their rows are classes, their columns are decisions."
    )


def for_no_decision(label: object, decisions: Labels, classes: Collection[object]) -> str:
    """The remedy for what is no decision but a class, or a number as text; empty otherwise."""
    if _is_among(label, classes):
        return (
            f"These are classes; the problem decides {listed(decisions)}: pass such decisions, or "
            f"probabilities."
        )
    if reads_as_number(label) and not any(map(reads_as_number, decisions)):
        divided = " and divide them by 100" if "%" in str(label) else ""
        return f"These are numbers as text: convert them to float{divided}."
    return ""


# Labels: text, whole numbers or booleans that match by equality ----------------------------------

_MOST = 2**63 - 1  # the largest number that arrays of signed numbers hold
_MOST_BITS = 2_100  # 632 digits; Python may be told to write no number of more than 640
_MOST_LABELS = 1_000_000  # far more than a table of costs can have
_INCOMPARABLE = TypeError, ValueError, ArithmeticError  # pandas.NA; a signalling Decimal
_FEW = 1000  # distinct objects up to which these are checked instead of every row
_CLOSE = 30  # range of integers up to which all of them are labels, even those that do not occur
_ONE_EACH = "Pass a list or an array of one dimension."


def by_label(name: str, values: Mapping[Any, Any], names: Labels) -> list[Any]:
    """The mapping's entries in the order of the labels; none missing, none unknown."""
    missing = [label for label in names if label not in values]
    unknown = [label for label in values if label not in names]
    if missing or unknown:
        faults = [f"holds {shown(unknown[0])}"] if unknown else []
        faults += [f"lacks {shown(missing[0])}"] if missing else []
        remedy = meant(unknown[0], missing or names) if unknown else "Add it."
        raise InputError(
            f"{name} must have one entry for each of {listed(names)}; it {' and '.join(faults)}. "
            f"{remedy}",
            argument=name,
        )
    return [values[label] for label in names]


def python_value(value: object) -> object:
    """A numpy scalar as its Python equal, whole floats as int."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value


def labels(name: str, values: Any) -> Labels:
    """Distinct labels, each a str, int or bool."""
    if isinstance(values, str | bytes) or not is_listed(values):
        raise InputError(
            f"{name} must be a sequence of labels; got {described(values)}. Pass a list of them.",
            argument=name,
        )
    if isinstance(values, Set) and not isinstance(values, KeysView):
        raise InputError(
            f"{name} must be in an order; a set has none, and lists its labels differently from "
            f"run to run. Pass a list.",
            argument=name,
        )
    listed_labels = tuple(python_value(value) for value in islice(values, _MOST_LABELS + 1))
    if len(listed_labels) > _MOST_LABELS:
        raise InputError(
            f"{name} must be at most {_MOST_LABELS:,} labels; there are more. Merge those that are "
            f"treated alike.",
            argument=name,
        )
    seen: set[Any] = set()
    for position, label in enumerate(listed_labels):
        if not isinstance(label, str | int | bool):
            raise InputError(
                f"{name} must be labels of type str, int or bool; "
                f"number {position} is {described(label)}. Convert labels of other types to text.",
                argument=name,
            )
        _refuse_unwritable(name, label)
        if label in seen:
            raise InputError(
                f"{name} must be distinct; {label!r} appears twice "
                f"(1, 1.0 and True are one label). Rename one of them.",
                argument=name,
            )
        seen.add(label)
    return cast(Labels, listed_labels)


def is_listed(values: Any) -> bool:
    """Whether it can be iterated over; arrays without dimensions and single tallies cannot."""
    if not hasattr(values, "__iter__"):
        return False
    if isinstance(values, np.ndarray):
        return values.ndim > 0
    try:
        len(values)
    except OverflowError:  # a range that no machine can list
        return True
    except TypeError:
        return not hasattr(values, "__len__")
    return True


def _refuse_unwritable(name: str, label: object) -> None:
    """Refuse text that numpy or UTF-8 cannot hold unchanged, and numbers that have no text."""
    if isinstance(label, int) and label.bit_length() > _MOST_BITS:
        raise InputError(
            f"{name} must be labels that can be written; one is a number of about "
            f"{int(label.bit_length() * 0.30103):,} digits. Name it by a text.",
            argument=name,
        )
    if not isinstance(label, str):
        return
    if label.endswith("\0"):
        raise InputError(
            f"{name} must be labels that do not end in a NUL character, which arrays of text drop; "
            f"{label!r} does. Strip it, or rename the label.",
            argument=name,
        )
    writable(name, label, "labels")


class FoundLabels(tuple[Label, ...]):
    """Labels that were found in rows and sorted: the caller has not stated their order."""

    __slots__ = ()


def same_labels(what: str, ours: Labels | None, theirs: Labels | None) -> Labels | None:
    """The labels that both sides agree on; a side without labels agrees with any."""
    if ours is None or theirs is None or ours == theirs:
        return theirs if ours is None or (isinstance(ours, FoundLabels) and theirs) else ours
    raise InputError(
        f"{what} must be the same, in the same order, on both sides; "
        f"one has {listed(ours)}, the other {listed(theirs)}. "
        f"Build both from one problem, or name the labels of both alike."
    )


class Named(Protocol):
    """What has labels of classes and of decisions, or None for them."""

    @property
    def classes(self) -> Labels | None: ...
    @property
    def decisions(self) -> Labels | None: ...


def same_names(what: str, ours: Named, theirs: Named) -> None:
    """Refuse two sides whose classes or decisions have other labels."""
    same_labels(f"the classes of {what}", ours.classes, theirs.classes)
    same_labels(f"the decisions of {what}", ours.decisions, theirs.decisions)


def labels_by_row(name: str, values: Any, remedy: str) -> npt.NDArray[Any]:
    """One label per row, which may be missing: an array of kind b, i, u, f, U, M, m or O."""
    refuse_frames(name, values)
    try:
        array = as_array(name, values)
    except InputError:
        raise
    except ValueError:  # lists of different lengths
        raise InputError(
            f"{name} must hold one label for every case; got {described(values)}. {remedy}",
            argument=name,
        ) from None
    if array.dtype.kind not in "biufUMm":
        array = array.astype(object, copy=False)
    if array.ndim != 1:
        raise InputError(
            f"{name} must hold one label for every case; its shape is {array.shape}. {remedy}",
            argument=name,
        )
    if array.dtype.kind == "U" and not isinstance(values, np.ndarray):
        # np.asarray turns [1, "a"] into text and drops trailing NUL characters; check the original.
        written = list(values)
        if not all(issubclass(kind, str) for kind in set(map(type, written))):
            return np.array(written, dtype=object)
        if "\0" in "".join(written):
            for label in written:
                _refuse_unwritable(name, label)
    if np.ma.is_masked(values):
        array = array.astype(object)
        array[np.ma.getmaskarray(values)] = None
    return array


def missing(array: npt.NDArray[Any]) -> BoolArray:
    """Where there is no label: None, nan, NaT and the like."""
    if array.dtype.kind == "f":
        return np.asarray(np.isnan(array))
    if array.dtype.kind in "Mm":
        return np.asarray(np.isnat(array))
    if array.dtype.kind != "O" or _few_and_present(array):
        return np.zeros(array.shape, dtype=bool)
    try:
        return np.asarray((array == None) | (array != array), dtype=bool)  # noqa: E711
    except _INCOMPARABLE:  # pandas.NA, for which comparisons are neither true nor false
        return np.array([_absent(item) for item in array.tolist()], dtype=bool)


def _few_and_present(array: npt.NDArray[Any]) -> bool:
    """Whether an array of objects holds few distinct ones, none of which is missing."""
    try:
        distinct = set(array.tolist())
    except TypeError:  # something that cannot be a label
        return False
    return len(distinct) <= _FEW and not any(map(_absent, distinct))


def _absent(item: Any) -> bool:
    try:
        return item is None or bool(item != item)
    except ValueError:  # an array, which is no label, but is there
        return False
    except _INCOMPARABLE:
        return True


def _labelled(name: str, values: object, remedy: str) -> npt.NDArray[Any]:
    """One label per row, and none of them missing: an array of kind b, i, u, f, U or O."""
    array = labels_by_row(name, values, remedy)
    absent = np.flatnonzero(missing(array))
    if absent.size:
        raise InputError(
            f"{name} must hold a label for every case; {those(absent.size, array.size)} missing "
            f"(None, nan), the first at position {absent[0]}. {for_missing(name)}",
            argument=name,
        )
    return array if array.dtype.kind in "biufUO" else array.astype(object)


def _positions(array: npt.NDArray[Any], names: Labels) -> IntArray:
    """The position of each value among the labels; -1 where it is not one of them."""
    if array.dtype.kind == "u" and array.max(initial=0) > _MOST:
        array = array.astype(object)  # numpy compares such numbers with signed ones as floats
    if array.dtype.kind == "O":
        lookup = {label: position for position, label in enumerate(names)}
        try:  # a dictionary treats 1, 1.0 and True as one key, as equality does
            places = map(lookup.get, array.tolist(), repeat(-1))
            return np.fromiter(places, dtype=np.intp, count=array.size)
        except TypeError:  # something that cannot be a label
            return np.full(array.shape, -1, dtype=np.intp)
    mine = [k for k, label in enumerate(names) if _comparable(label, array.dtype.kind)]
    if not mine:
        return np.full(array.shape, -1, dtype=np.intp)
    quick = None
    if array.dtype.kind in "biu":
        quick = integer_positions(array, names, mine)
    elif array.dtype.kind == "U":
        quick = text_positions(array, np.array([names[k] for k in mine]))
        if quick is not None and len(mine) < len(names):
            quick = np.where(quick < 0, -1, np.array(mine, dtype=np.intp)[quick])
    if quick is not None:
        return quick
    order = np.array(sorted(mine, key=lambda k: names[k]), dtype=np.intp)
    known = np.array([names[k] for k in order])
    near = np.minimum(np.searchsorted(known, array), len(known) - 1)
    return np.where(known[near] == array, order[near], -1)


def _comparable(label: Label, kind: str) -> bool:
    """Whether a label can occur in an array of that kind; floats hold some whole numbers only."""
    if isinstance(label, str) or kind == "U":
        return isinstance(label, str) and kind == "U"
    return -_MOST - 1 <= label <= _MOST and (kind != "f" or int(float(label)) == label)


def codes(
    name: str,
    values: object,
    names: Labels,
    *,
    remedy: str = _ONE_EACH,
    advise: Callable[[object], str] = lambda label: "",
) -> IntArray:
    """The position of every value in the labels; unknown values are refused.

    `remedy` says what to do with values that do not have exactly one dimension, and `advise` what
    to do about the first that is unknown, where it knows.
    """
    coded = _coded(values)
    if coded is not None:
        used = np.flatnonzero(np.bincount(coded.codes))
        place = np.zeros(len(coded.values), dtype=np.intp)
        place[used] = _positions(objects([coded.values[k] for k in used]), names)
        if place.min(initial=0) < 0 and categories(values) is not None:
            strange = [coded.values[k] for k in used]
            codes(name, strange, names, advise=advise)  # says which one is unknown
        if place.min(initial=0) >= 0:
            return cast(IntArray, frozen(_moved(coded.codes, place)))
    array = _labelled(name, values, remedy)
    result = _positions(array, names)
    if result.min(initial=0) < 0:
        unknown = np.flatnonzero(result < 0)
        first = python_value(array[unknown[0]])
        twin = next((label for label in names if str(label) == str(first)), None)
        hint = f" {first!r} and {twin!r} are different labels." if twin is not None else ""
        other = "Rename them, or add them to the problem."
        remedy = advise(first) or (for_missing(name) if is_blank(first) else other)
        raise InputError(
            f"{name} must hold labels among {listed(names)}; {those(unknown.size, array.size)} "
            f"none of these, the first being {first!r} at position {unknown[0]}.{hint} {remedy}",
            argument=name,
        )
    return cast(IntArray, frozen(result))


def truths(name: str, values: object, classes: Labels, decisions: Labels) -> IntArray:
    """The position of every true class; the decisions are not taken for unknown classes."""
    return codes(name, values, classes, advise=partial(for_no_class, decisions=decisions))


def decisions(name: str, values: object, names: Labels, classes: Labels = ()) -> IntArray:
    """The position of every decision that was taken; classes are not taken for unknown ones."""
    remedy = "Pass posteriors through bayes_decisions first."
    advise = partial(for_no_decision, decisions=names, classes=classes)
    return codes(name, values, names, remedy=remedy, advise=advise)


def objects(values: list[Any]) -> npt.NDArray[Any]:
    """An array of objects, as they are."""
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def _coded(values: Any) -> Categories | None:
    """The distinct labels that a column stores itself; None if it has none, or one is missing."""
    if isinstance(values, np.ndarray | list | tuple):
        return None
    coded = categories(values)
    if coded is not None:
        return coded if np.min(coded.codes, initial=0) >= 0 else None
    return dictionary(values)


def _moved(codes: npt.NDArray[Any], place: IntArray) -> IntArray:
    """The place of each code; a copy of the codes where every place is the code itself."""
    if np.array_equal(place, np.arange(place.size)):
        return codes.astype(np.intp)
    return np.asarray(place[codes])


def encoded(name: str, values: object) -> tuple[FoundLabels, IntArray]:
    """Sorted labels, and the position of every row's; they may include integers that do not occur.

    The same as `distinct` followed by `codes`, in one pass over the rows.
    """
    coded = _coded(values)
    array = None if coded is not None else labels_by_row(name, values, _ONE_EACH)
    if array is not None and array.dtype.kind == "O":
        coded = numbered_objects(array)
        if coded is not None and any(map(_absent, coded.values)):
            coded = None
    if coded is not None and coded.codes.size:
        used = np.flatnonzero(np.bincount(coded.codes))
        texts = objects([coded.values[k] for k in used])
        names = distinct(name, texts)
        place = np.zeros(len(coded.values), dtype=np.intp)
        place[used] = codes(name, texts, names)
        return names, cast(IntArray, frozen(_moved(coded.codes, place)))
    return _encoded_array(name, _labelled(name, values if array is None else array, _ONE_EACH))


def _encoded_array(name: str, array: npt.NDArray[Any]) -> tuple[FoundLabels, IntArray]:
    """`encoded` for an array in which no label is missing."""
    span = integer_range(array) if array.dtype.kind in "iu" else None
    if span is not None and span[1] - span[0] <= _CLOSE:
        names = FoundLabels(range(span[0], span[1] + 1))
        return names, cast(IntArray, frozen(from_low(array, span[0])))
    where: IntArray | None = None
    if array.dtype.kind == "U":
        known, where = distinct_texts(array)
    else:
        known = sorted_distinct(name, array)
    names = FoundLabels(labels(name, known))
    return names, cast(IntArray, frozen(_positions(array, names) if where is None else where))


def distinct(name: str, values: object) -> FoundLabels:
    """The sorted distinct labels of the rows."""
    coded = _coded(values)
    if coded is not None and coded.codes.size:
        values = [coded.values[k] for k in np.flatnonzero(np.bincount(coded.codes))]
    return FoundLabels(labels(name, sorted_distinct(name, _labelled(name, values, _ONE_EACH))))


def sorted_distinct(name: str, array: npt.NDArray[Any]) -> Any:
    """The distinct values of an array in which none is missing, sorted."""
    if array.dtype.kind in "biu":
        return distinct_integers(array)
    if array.dtype.kind == "U":
        return distinct_texts(array)[0]
    if array.dtype.kind != "O":
        return np.unique(array)
    try:
        distinct = set(array.tolist())
    except TypeError:
        first = next(item for item in array.tolist() if not _is_hashable(item))
        raise no_labels(name, f"one is {described(first)}") from None
    try:
        return sorted(distinct)
    except TypeError:
        raise InputError(
            f"{name} must hold labels that can be ordered; they are of mixed types. "
            f"State the labels, in the order you want, or make text of all of them.",
            argument=name,
        ) from None


def no_labels(name: str, evidence: str) -> InputError:
    """The error for a column of what cannot be labels."""
    return InputError(
        f"{name} must hold labels: text, categories, whole numbers, booleans, dates or times; "
        f"{evidence}. Cut measurements into intervals, or make text of them.",
        argument=name,
    )


def _is_hashable(item: object) -> bool:
    try:
        hash(item)
    except TypeError:
        return False
    return True


def answers(classes: Labels, decided: Labels) -> tuple[Label | None, ...]:
    """The class that each decision answers: by its label, else by position in a square problem.

    None for a decision that answers no class. All are None where labels and positions disagree.
    """
    if set(decided) == set(classes):
        same = dict(zip(classes, classes, strict=True))  # 0 equals False, but is not the class
        return tuple(same[label] for label in decided)
    if len(decided) != len(classes):
        return (None,) * len(decided)
    pairs = list(zip(classes, decided, strict=True))
    astray = any(label in classes and label != class_label for class_label, label in pairs)
    return (None,) * len(decided) if astray else classes
