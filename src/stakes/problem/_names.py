"""The labels of a problem: given, taken from a mapping, or counted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stakes import _check
from stakes._check import Labels
from stakes.errors import InputError

__all__ = ["axis_names", "class_names", "from_mapping"]


def axis_names(what: str, given: object, size: int, default: Labels) -> Labels:
    """The labels of one axis of the costs."""
    if given is None:
        return default
    names = _check.labels(what, given)
    if len(names) != size:
        raise InputError(
            f"{what} must name each of the {size} {'rows' if what == 'classes' else 'columns'} of "
            f"costs; {len(names)} are named. Rows are classes, columns are decisions; transpose "
            f"costs that are the other way round."
        )
    return names


def class_names(classes: object) -> Labels:
    if isinstance(classes, int) and not isinstance(classes, bool):
        if classes < 1:
            raise InputError(f"classes must be at least one class; got {classes}.")
        return tuple(range(classes))
    return _check.labels("classes", classes)


def from_mapping(
    table: Mapping[Any, Any], classes: object, decisions: object
) -> tuple[Labels, Labels, list[list[Any]]]:
    """Labels and rows of a mapping class → decision → cost."""
    rows_of = _check.labels("classes", table if classes is None else classes)
    rows = _check.by_label("costs", table, rows_of)
    if not rows or not all(isinstance(row, Mapping) for row in rows):
        raise InputError(
            "costs must map every class to a mapping from decision to cost; it does not. "
            "Write {class: {decision: cost, …}, …}."
        )
    written_first = next(iter(table.values()))
    names = _check.labels("decisions", written_first if decisions is None else decisions)
    return rows_of, names, [_check.by_label("costs", row, names) for row in rows]
