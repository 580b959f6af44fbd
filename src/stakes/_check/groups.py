"""Rows: groups of cases, and columns about the same cases."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from functools import lru_cache
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from stakes._check.kinds import (
    BoolArray,
    FloatArray,
    IntArray,
    Label,
    Labels,
    described,
    frozen,
    refuse_lazy,
    those,
)
from stakes._check.labels import (
    Categories,
    categories,
    labels,
    labels_by_row,
    missing,
    no_labels,
    objects,
    python_value,
    sorted_distinct,
)
from stakes._check.numbers import HEAVIEST, LIGHTEST, non_negative
from stakes._value import record
from stakes.errors import InputError

# Groups of cases: one label for each group, and the group of every case --------------------------

# Words of a scale, the lowest first; those between slashes share a place.
_SCALES = (
    "january/jan february/feb march/mar april/apr may june/jun july/jul august/aug "
    "september/sept/sep october/oct november/nov december/dec",
    "monday/mon tuesday/tues/tue wednesday/wed thursday/thurs/thur/thu friday/fri saturday/sat "
    "sunday/sun",
    "verylow/lowest low/lower medium/middle/mid/moderate/average high/higher veryhigh/highest",
    "tiny/xs small/s medium/m large/l huge/xl",
)
_PLACES = [
    {word: place for place, words in enumerate(scale.split()) for word in words.split("/")}
    for scale in _SCALES
]
_YEAR = re.compile(r"(?<!\d)\d{4}(?!\d)")


def places(texts: Sequence[str]) -> list[tuple[int, int]] | None:
    """The year in each text and its place on a scale; None unless all are words of one scale.

    >>> places(["march 2024", "feb 2025"]), places(["Very low", "medium"]), places(["low", "Mon"])
    ([(2024, 2), (2025, 1)], [(0, 0), (0, 2)], None)
    """
    years = [_YEAR.findall(text) for text in texts]
    if max(map(len, years), default=2) > 1:
        return None
    words = [re.sub(r"[\s.,'/_-]", "", _YEAR.sub("", text)).lower() for text in texts]
    scale = next((scale for scale in _PLACES if scale.keys() >= {*words}), None)
    if scale is None:
        return None
    return [
        (int(year[0]) if year else 0, scale[word]) for year, word in zip(years, words, strict=True)
    ]


MISSING = "(missing)"  # the group of cases without a label


# Groups ------------------------------------------------------------------------------------------

_ONE_COLUMN = "Pass one column, or a mapping from name to column."
_READABLE = 10_000  # groups beyond which nobody reads their order, and natural order would be slow
_BELOW, _ABOVE = ("<", "≤", "<=", "under", "below", "up to"), (">", "≥", ">=", "over", "above")
_RANGE = re.compile(
    rf"\s*(?P<sign>{'|'.join(map(re.escape, sorted((*_BELOW, *_ABOVE), key=len, reverse=True)))}|)"
    r"\s*(?P<number>-?\d+(?:\.\d+)?)",
    re.IGNORECASE,
)
_DIGITS = re.compile("([0-9]+)")
_ROUNDED = 2.0**53  # beyond, not every integer is a double


@record
class Groups:
    """Labels of groups, and for every case the position of its group."""

    labels: Labels
    codes: IntArray

    def only(self, mask: npt.NDArray[np.bool_] | None) -> Groups:
        """The groups of the cases that are kept; groups without cases are dropped."""
        if mask is None:
            return self
        present, codes = np.unique(self.codes[mask], return_inverse=True)
        return Groups(type(self.labels)(self.labels[place] for place in present), codes)

    def rows(self) -> Iterator[tuple[Label, IntArray]]:
        """Every group with the positions of its cases, in their order; one sort for all groups."""
        order = np.argsort(self.codes, kind="stable")
        ends = np.cumsum(np.bincount(self.codes, minlength=len(self.labels)))
        return zip(self.labels, np.split(order, ends[:-1]), strict=True)


def groups(name: str, values: object) -> Groups:
    """The groups of a column of labels, dates, times, periods, intervals, or categories.

    Categories keep their order. Numbers, booleans and times are sorted by what they mean, text in
    natural order. Equal values have equal labels, whatever holds them: whole numbers of any type
    are of type int, and times are text, in UTC with a Z where they have a zone. Cases without a
    label are a group of their own, the last one.
    """
    coded = categories(values)
    if coded is None:
        distinct, codes = _sorted(name, values)
        known = _labels_of(name, distinct, zoned=_has_zone(values))
    else:
        used = np.flatnonzero(np.bincount(coded.codes[coded.codes >= 0], minlength=1))
        codes = np.where(coded.codes < 0, -1, np.searchsorted(used, coded.codes))
        distinct = [coded.values[k] for k in used] if (codes >= 0).any() else []
        known = labels(name, _category_labels(name, distinct))
    gaps = codes < 0
    if not gaps.any():
        return Groups(known, codes)
    return Groups((*known, missing_label(known)), np.where(gaps, len(known), codes))


class ClusterLabels(tuple[Label, ...]):
    """Labels of clusters, which were sampled as a whole; they are not slices to report on."""


def clusters(values: object) -> Groups:
    """The cluster of every case; missing labels are refused, since their clusters are unknown."""
    columns = columns_of("clusters", values)
    if len(columns) > 1:
        raise InputError(
            f"clusters must be one column; there are {len(columns)}. "
            f"Join them into one label for every case."
        )
    gaps = absent("clusters", columns[0][1])
    if gaps.any():
        raise InputError(
            f"clusters must hold a label for every case; {those(int(gaps.sum()), gaps.size)} "
            f"missing, the first at position {int(np.argmax(gaps))}. Remove these cases, or give "
            f"each a cluster of its own."
        )
    by_cluster = groups("clusters", columns[0][1])
    return Groups(ClusterLabels(by_cluster.labels), by_cluster.codes)


def absent(name: str, values: object) -> BoolArray:
    """Which cases of a column have no label."""
    coded = categories(values)
    return missing(labels_by_row(name, values, _ONE_COLUMN)) if coded is None else coded.codes < 0


def missing_label(known: Sequence[object]) -> str:
    """The label for cases that have none; it differs from those of all other groups."""
    label = MISSING
    while label in known:
        label = f"({label})"
    return label


# Values and their labels --------------------------------------------------------------------------


def _sorted(name: str, values: Any) -> Categories:
    """The sorted distinct values, and for every case the position of its own; −1 where missing."""
    array = labels_by_row(name, values, _ONE_COLUMN)
    is_float = array.dtype.kind == "f" and not isinstance(values, np.ndarray)
    if is_float and np.max(np.abs(array), initial=0, where=array == array) >= _ROUNDED:
        # Numpy rounds large integers beside gaps, and beside larger ones: they stay Python's.
        array = objects(values.to_pylist() if hasattr(values, "to_pylist") else list(values))
    gaps = missing(array)
    present = array[~gaps]
    distinct = sorted_distinct(name, present)
    codes = np.full(array.shape, -1, dtype=np.intp)
    codes[~gaps] = _places(present, distinct)
    if len(distinct) <= _READABLE and all(isinstance(value, str) for value in distinct):
        texts = list(map(str, distinct))
        keys = _natural_keys(texts)
        order = sorted(range(len(texts)), key=keys.__getitem__)
        codes[~gaps] = np.argsort(order)[codes[~gaps]]
        return Categories([texts[place] for place in order], codes)
    return Categories(distinct, codes)


def _natural_keys(texts: list[str]) -> list[Any]:
    """Keys that sort ranges (≤25, 26–35, >35) by their numbers, and other texts as people do.

    Months, days of the week, levels and sizes in words have their own order.
    """
    on_a_scale = places(texts)
    if on_a_scale is not None:
        return list(zip(on_a_scale, texts, strict=True))
    ranges = [match for match in map(_RANGE.match, texts) if match]
    if len(ranges) < len(texts):
        return list(map(_natural, texts))
    return [(*_place(match), _natural(match.string)) for match in ranges]


def _place(match: re.Match[str]) -> tuple[float, int]:
    """The first number of a range, and whether the range is below, at or above that number."""
    sign = match["sign"].lower()
    return float(match["number"]), (sign in _ABOVE) - (sign in _BELOW)


def _natural(text: str) -> tuple[list[str], str]:
    """A key that sorts texts by the numbers in them: ``5-9`` comes before ``10-14``."""
    words = _DIGITS.split(text)
    # Numbers by their length and digits, since int() refuses very long ones.
    words[1::2] = [f"{len(digits := part.lstrip('0')):06d}{digits}" for part in words[1::2]]
    return words, text


def _places(array: npt.NDArray[Any], distinct: Any) -> IntArray:
    if array.dtype.kind != "O":
        return np.asarray(np.searchsorted(distinct, array))
    place = {value: k for k, value in enumerate(distinct)}
    return np.fromiter(map(place.__getitem__, array.tolist()), np.intp, array.size)


def _has_zone(values: Any) -> bool:
    """Whether a column of Polars or Arrow holds times with a zone, which numpy has in UTC."""
    kind = getattr(values, "dtype", getattr(values, "type", None))
    return getattr(kind, "time_zone", getattr(kind, "tz", None)) is not None


def _labels_of(name: str, distinct: Sequence[Any], *, zoned: bool) -> Labels:
    if isinstance(distinct, np.ndarray) and distinct.dtype.kind == "M":
        return tuple(_times(distinct, zoned=zoned))
    if isinstance(distinct, np.ndarray) and distinct.dtype.kind == "m":
        distinct = distinct.astype("m8[us]").tolist()
    if {*map(type, distinct)} != {str}:
        distinct = [_label(name, value, is_category=False) for value in distinct]
    return labels(name, distinct)


def _label(name: str, value: Any, *, is_category: bool) -> Label:
    """The label of a value: a whole number, a boolean, or text."""
    if isinstance(value, Decimal) and value.is_finite() and value == value.to_integral_value():
        return int(value)
    value = python_value(value)
    is_measured = isinstance(value, float | Decimal | timedelta) and not is_category
    if is_measured or isinstance(value, bytes):
        is_number = isinstance(value, float | Decimal)
        evidence = f"{value} is no whole number" if is_number else f"one is {described(value)}"
        raise no_labels(name, evidence)
    if isinstance(value, datetime):
        (text,) = _times(np.array([_moment(value)]), zoned=value.tzinfo is not None)
        return text
    if isinstance(value, date | time):
        return re.sub(r"(\.\d{3})000$", r"\1", value.isoformat())  # as numpy writes milliseconds
    kind: Any = type(value)
    if kind.__str__ is object.__str__ and kind.__repr__ is object.__repr__:
        raise no_labels(name, f"one is {described(value)}, which has no text of its own")
    return value if isinstance(value, str | int) else str(value)


def _category_labels(name: str, values: Sequence[Any]) -> Sequence[Label]:
    """The labels of categories; if some numbers have a fraction, all of them are text."""
    if all(isinstance(value, float) for value in values) and not all(
        float(value).is_integer() for value in values
    ):
        return list(map(str, map(float, values)))
    return [_label(name, value, is_category=True) for value in values]


def _moment(value: datetime) -> np.datetime64:
    """A moment without its zone; where it has one, in UTC."""
    if hasattr(value, "to_datetime64"):  # pandas, which counts nanoseconds
        return np.datetime64(value.to_datetime64())
    return np.datetime64(
        value if value.tzinfo is None else value.astimezone(UTC).replace(tzinfo=None)
    )


def _times(moments: npt.NDArray[Any], *, zoned: bool) -> list[str]:
    """Moments as text, each as short as it can be; those of a column with a zone end with Z."""
    texts: list[str] = np.datetime_as_string(moments, unit="auto").tolist()
    return [f"{text}Z" if "T" in text else f"{text}T00:00Z" for text in texts] if zoned else texts


def columns_of(name: str, values: Any) -> list[tuple[str | None, Any]]:
    """One column or several, each with its name; None where it has none."""
    refuse_lazy(name, values)
    names = list(values) if isinstance(values, Mapping) else frame_columns(values)
    if names is None:
        series_name = getattr(values, "name", None)  # that of a series
        return [(None if series_name is None else str(series_name), values)]
    if not names:
        raise InputError(
            f"{name} must hold at least one column; there is none. Leave it out.", argument=name
        )
    texts = labels(f"the columns of {name}", map(str, names))
    return [(str(text), values[column]) for text, column in zip(texts, names, strict=True)]


def frame_columns(values: Any) -> list[Any] | None:
    """The names of a frame's columns; None where the values are no frame.

    Parameters
    ----------
    values : a frame of pandas, Polars or PyArrow, or anything else

    Returns
    -------
    names of the columns, or None

    Examples
    --------
    >>> print(frame_columns([[0.9, 0.1]]))
    None
    """
    if hasattr(values, "collect"):  # a lazy frame, whose columns may not even be known
        return None
    named = hasattr(type(values), "column_names")  # pyarrow calls its arrays the columns
    names = getattr(values, "column_names" if named else "columns", None)
    return None if names is None or isinstance(names, tuple) else list(names)  # as problems have


# Rows: columns about the same cases have the same length and index; weights are valid ------------

MOST_COPIES = 2.0**53  # from here on a double cannot hold every whole number
NEGLIGIBLE = 1e-60  # a share of all weight, whose inverse can be squared with any cost


def aligned(**columns: Any) -> None:
    """Refuse series and frames whose indexes differ: their rows may be different cases.

    Rows are matched by position, because arrays have no index. The columns of a mapping are
    compared one by one.
    """
    indexes: dict[str, Any] = {
        name: getattr(part, "index", None)
        for argument, column in columns.items()
        for name, part in _parts(argument, column)
    }
    labelled = [(name, index) for name, index in indexes.items() if hasattr(index, "equals")]
    for name, index in labelled[1:]:
        first, expected = labelled[0]
        if index is expected or len(index) != len(expected) or index.equals(expected):
            continue  # a different length is refused where the rows are read
        same = set(index) == set(expected)
        fault = "hold the same labels in another order" if same else "hold different labels"
        raise InputError(
            f"{first} and {name} must have the same index, row by row; their indexes {fault}. "
            f"Align them by their labels ({name}.loc[{first}.index]), or call "
            f".reset_index(drop=True) on both if their rows are in the same order already."
        )


def _parts(name: str, column: Any) -> list[tuple[str, Any]]:
    if not isinstance(column, Mapping):
        return [(name, column)]
    return [(f"{name}[{key!r}]", part) for key, part in column.items()]


def same_length(**arrays: npt.NDArray[Any]) -> int:
    """Return the common number of rows."""
    lengths = {name: len(array) for name, array in arrays.items()}
    first, *further = lengths.items()
    for name, length in further:
        if length != first[1]:
            raise InputError(
                f"{first[0]} and {name} must describe the same cases; "
                f"{first[0]} has {first[1]} rows and {name} has {length}. "
                f"Pass one entry for every case in both."
            )
    return first[1]


def shapes(layout: str, **arrays: Any) -> None:
    """Refuse arrays whose shapes do not go together; a letter stands for one length.

    A capital letter is at least one, and … stands for any axes. None is left out.

    >>> shapes("n k, k M", rows=np.ones((5, 2)), costs=np.ones((3, 2)))
    Traceback (most recent call last):
    stakes.errors.InputError: rows and costs must be arrays of shapes (n, k) and (k, M); rows has \
(5, 2), costs has (3, 2). Pass arrays that go together.
    """
    try:
        if _go_together(layout, tuple([a if a is None else a.shape for a in arrays.values()])):
            return
    except AttributeError:
        name, other = next(
            (n, a) for n, a in arrays.items() if not (a is None or hasattr(a, "shape"))
        )
        raise InputError(
            f"{name} must be an array of numbers; got {described(other)}. "
            f"Pass np.asarray(…) of it.",
            argument=name,
        ) from None
    raise _misshapen(layout, arrays)


@lru_cache(maxsize=1024)  # inner functions meet the same shapes again and again
def _go_together(layout: str, of_each: tuple[tuple[int, ...] | None, ...]) -> bool:
    known: dict[str, int] = {}
    for part, shape in zip(layout.split(", "), of_each, strict=True):
        axes = part.split()
        if shape is None:
            continue
        if "…" in axes:
            n_free = len(shape) - len(axes) + 1
            shape = shape[max(n_free, 0) :] if axes[0] == "…" else shape[: len(axes) - 1]
            axes.remove("…")
        if len(axes) != len(shape) or not all(
            length == (int(axis) if axis.isdigit() else known.setdefault(axis, length))
            and (length > 0 or not axis.isupper())
            for axis, length in zip(axes, shape, strict=True)
        ):
            return False
    return True


def _misshapen(layout: str, arrays: dict[str, Any]) -> InputError:
    passed = [(name, array) for name, array in arrays.items() if array is not None]
    wanted = [f"({part.replace(' ', ', ')})" for part in layout.split(", ")]
    wanted = [
        part for part, array in zip(wanted, arrays.values(), strict=True) if array is not None
    ]
    evidence = ", ".join(f"{name} has {array.shape}" for name, array in passed)
    return InputError(
        f"{' and '.join(name for name, _ in passed)} must be arrays of shapes "
        f"{' and '.join(wanted)}; {evidence}. Pass arrays that go together.",
        argument=passed[0][0],
    )


def elementwise(**arrays: npt.NDArray[Any]) -> None:
    """Refuse numbers and arrays whose shapes cannot be broadcast."""
    try:
        np.broadcast_shapes(*(array.shape for array in arrays.values()))
    except ValueError:
        listed = ", ".join(f"{name} has {array.shape}" for name, array in arrays.items())
        raise InputError(
            f"{' and '.join(arrays)} must be numbers, or arrays whose shapes go together; "
            f"{listed}. Pass arrays of one shape.",
            argument=next(iter(arrays)),
        ) from None


def known_places(name: str, codes: IntArray, size: int) -> None:
    """Refuse positions that do not exist."""
    if codes.max(initial=0) >= size:
        raise InputError(
            f"{name} must hold positions below {size}; the largest is {codes.max()}. Pass arrays "
            f"that have all classes and decisions.",
            argument=name,
        )


def weights(name: str, values: object, n: int, *, of: str = "y_true") -> FloatArray:
    """Weights of n cases, ones when None: finite, not negative, with a positive total.

    `of` is the argument that the weights belong to.
    """
    if values is None:
        if n == 0:
            raise InputError(f"{of} must hold at least one case; there are none. Pass some rows.")
        return cast(FloatArray, frozen(np.ones(n)))
    array = non_negative(name, values, ndim=1)
    same_length(**{of: np.empty(n, dtype=bool), name: array})
    with np.errstate(over="ignore"):
        total_weight(name, float(array.sum()), n)
    return array


def sampling_weights(name: str, values: object, n: int) -> FloatArray | None:
    """Weights of n cases as `weights` reads them; those of one value are the same as none.

    None without weights. Where the positive weights are all equal, they are ones: only their ratios
    say how many cases a row stands for.
    """
    if values is None:
        return None
    array = weights(name, values, n)
    heaviest = array.max()
    if array.min(where=array > 0, initial=heaviest) < heaviest:
        return array
    return cast(FloatArray, frozen((array > 0).astype(np.float64)))


def copies(name: str, values: object, n: int) -> FloatArray:
    """How often each of n cases stands in the data: whole numbers, with a positive total."""
    array = weights(name, values, n)
    bad = np.flatnonzero(array != np.floor(array))
    if bad.size:
        raise InputError(
            f"{name} must hold whole numbers, how often each row occurred; {bad.size} of {n} are "
            f"fractions, the first being {array[bad[0]]:g} at position {bad[0]}. Pass weights= for "
            f"sampling weights, which say how many cases a row stands for.",
            argument=name,
        )
    if not array.sum() < MOST_COPIES:
        raise InputError(
            f"{name} must add up to less than {MOST_COPIES:g}, beyond which single cases are not "
            f"counted exactly; the sum is {array.sum():g}. Pass weights= for sampling weights.",
            argument=name,
        )
    return array


def least_weight(name: str, least: float, total: float) -> None:
    """Refuse a positive weight that is next to nothing beside the total of all weights."""
    if least < NEGLIGIBLE * total:
        raise InputError(
            f"{name} must be at least {NEGLIGIBLE:g} of their total, {total:g}, or zero; one is "
            f"{least:g}. Set such weights to zero, or leave these cases out.",
            argument=name,
        )


def total_weight(name: str, total: float, n: int) -> None:
    """Refuse a total of n weights that is zero, or whose square may over- or underflow."""
    if total > HEAVIEST or 0 < total < LIGHTEST:
        raise InputError(
            f"{name} must have a total between {LIGHTEST:g} and {HEAVIEST:g}, whose square is a "
            f"number; it is {total:g}. Scale them {'down' if total > 1 else 'up'}.",
            argument=name,
        )
    if not total > 0:
        raise InputError(
            f"{name} must have a positive total; all {n} are zero. "
            f"Leave {name} out to count every case once.",
            argument=name,
        )
