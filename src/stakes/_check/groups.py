"""Groups of cases: one label for each group, and the group of every case."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import numpy.typing as npt

from stakes._check.encoding import Categories, categories
from stakes._check.kinds import (
    BoolArray,
    IntArray,
    Label,
    Labels,
    described,
    refuse_lazy,
    those,
)
from stakes._check.labels import (
    labels,
    labels_by_row,
    missing,
    no_labels,
    objects,
    python_value,
    sorted_distinct,
)
from stakes._value import record
from stakes.errors import InputError

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
