"""Groups of cases: one label for each group, and the group of every case."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from stakes._check.encoding import categories
from stakes._check.kinds import IntArray, Label, Labels
from stakes._check.labels import in_order, label_array, labels, missing, plain, refuse_lazy
from stakes.errors import InputError

MISSING = "(missing)"  # the group of cases without a label
_ONE_COLUMN = "Pass one column, or a mapping from name to column."
_MIDNIGHT = "T00:00:00"


@dataclass(frozen=True, eq=False)
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


def groups(name: str, values: object) -> Groups:
    """The groups of a column of labels, dates, periods, intervals, or categories in their order.

    Labels other than text, whole numbers and booleans become text, sorted by what they mean. Cases
    without a label are a group of their own, the last one.
    """
    coded = categories(values)
    if coded is None:
        array = label_array(name, values, _ONE_COLUMN)
        gaps = missing(array)
        distinct = in_order(name, array[~gaps])
        codes = np.full(array.shape, len(distinct), dtype=np.intp)
        codes[~gaps] = _places(array[~gaps], distinct)
    else:
        used = np.flatnonzero(np.bincount(coded.codes[coded.codes >= 0], minlength=1))
        distinct = [coded.values[k] for k in used] if (coded.codes >= 0).any() else []
        codes = np.searchsorted(used, coded.codes)
        gaps = coded.codes < 0
        codes[gaps] = len(distinct)
    known = _labels_of(name, distinct, is_category=coded is not None)
    return Groups((*known, missing_label(known)) if gaps.any() else known, codes)


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
            f"clusters must hold a label for every case; {gaps.sum()} of {gaps.size} are "
            f"missing, the first at position {int(np.argmax(gaps))}. Remove these cases, or give "
            f"each a cluster of its own."
        )
    by_cluster = groups("clusters", columns[0][1])
    return Groups(ClusterLabels(by_cluster.labels), by_cluster.codes)


def absent(name: str, values: object) -> npt.NDArray[np.bool_]:
    """Which cases of a column have no label."""
    coded = categories(values)
    return missing(label_array(name, values, _ONE_COLUMN)) if coded is None else coded.codes < 0


def missing_label(known: Sequence[object]) -> str:
    """The label for cases that have none; it differs from those of all other groups."""
    label = MISSING
    while label in known:
        label = f"({label})"
    return label


def _places(array: npt.NDArray[Any], distinct: Any) -> IntArray:
    if array.dtype.kind != "O":
        return np.asarray(np.searchsorted(distinct, array))
    place = {value: k for k, value in enumerate(distinct)}
    return np.fromiter(map(place.__getitem__, array.tolist()), np.intp, array.size)


def _labels_of(name: str, distinct: Sequence[Any], *, is_category: bool) -> Labels:
    """Labels of distinct values: as they are, or all of them as text."""
    if isinstance(distinct, np.ndarray) and distinct.dtype.kind == "M":
        return tuple(np.datetime_as_string(distinct, unit="auto").tolist())
    values: list[Any] = [plain(value) for value in distinct]
    broken = [value for value in values if isinstance(value, float)]
    if broken and not is_category:
        raise InputError(
            f"{name} must hold labels, not measurements; {broken[0]:g} is no whole number. "
            f"Cut them into intervals, or convert them to text.",
            argument=name,
        )
    if all(isinstance(value, str | int) for value in values):
        return labels(name, values)
    texts = [value.isoformat() if hasattr(value, "isoformat") else str(value) for value in values]
    if all(text.endswith(_MIDNIGHT) for text in texts):
        texts = [text.removesuffix(_MIDNIGHT) for text in texts]
    return labels(name, texts)


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
