"""The names in a problem: labels that are stated, taken from a mapping or counted, and the unit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from stakes import _check
from stakes._check import Label, Labels
from stakes.errors import InputError

_MOST_CLASSES = 10_000


def axis_names(what: str, labels: object, size: int, default: Labels) -> Labels:
    """The labels of one axis of the costs."""
    if labels is None:
        return default
    names = _check.labels(what, labels)
    if len(names) != size:
        raise InputError(
            f"{what} must name each of the {size} {'rows' if what == 'classes' else 'columns'} of "
            f"costs; {len(names)} are named. Rows are classes, columns are decisions; transpose "
            f"costs that are the other way round."
        )
    return names


def answered(answers: object, classes: Labels, decisions: Labels) -> tuple[Label | None, ...]:
    """The class that each decision stands for, None for one that stands for none."""
    if answers is None:
        return _check.answers(classes, decisions)
    if not isinstance(answers, Mapping):
        raise InputError(
            f"answers must be a mapping from decision to class; got {type(answers).__name__}. "
            f"Write {{{decisions[0]!r}: {classes[0]!r}, …}}."
        )
    stated = {decision: label for decision, label in answers.items() if label is not None}
    for what, used, known in (
        ("decisions", stated.keys(), decisions),
        ("classes", stated.values(), classes),
    ):
        unknown = [label for label in used if label not in known]
        if unknown:
            raise InputError(
                f"answers must map decisions to classes; {unknown[0]!r} is none of the {what} "
                f"{known}. Labels match by equality: 1 and '1' are different labels."
            )
    places = (stated.get(decision) for decision in decisions)
    return tuple(None if answer is None else classes[classes.index(answer)] for answer in places)


def class_names(classes: Any) -> Labels:
    """The labels, or 0, 1, … for a number of classes."""
    listed = isinstance(classes, bool | np.ndarray) or _check.is_listed(classes)
    if listed or not hasattr(classes, "__index__"):
        names = _check.labels("classes", classes)
        refuse_many(len(names))
        return names
    refuse_many(int(classes))
    return tuple(range(int(classes)))


def refuse_many(size: int) -> None:
    """Refuse a cost table that would not fit into memory, before it is made."""
    if size < 1:
        raise InputError(f"classes must be one or more; got {size}. Pass a number, or labels.")
    if size > _MOST_CLASSES:
        shown = f"{size:,}" if size <= 10**12 else "more than 10¹²"
        gigabytes = 8 * _MOST_CLASSES**2 / 2**30
        raise InputError(
            f"classes must be at most {_MOST_CLASSES:,}, whose table of costs takes "
            f"{gigabytes:.1f} GiB; got {shown}. Merge classes that are treated alike.",
            argument="classes",
        )


def named_table(table: Any) -> Any:
    """A frame with an index as a mapping row → column → number, and other containers as arrays."""
    _check.refuse_lazy("costs", table)
    if hasattr(table, "columns") and hasattr(table, "index"):
        _check.labels("the index of costs", table.index)  # a label that appears twice would be lost
        _check.labels("the columns of costs", table.columns)
        return table.to_dict("index")
    if hasattr(table, "columns"):
        raise InputError(
            "a frame of costs must name its rows, and this library's frames have no index. "
            "Write a mapping {class: {decision: cost, …}, …}, or pass an array."
        )
    plain = isinstance(table, np.ndarray) or not hasattr(table, "__array__")
    return table if plain else _check.as_array("costs", table)


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


def unit_name(unit: object) -> str | None:
    """What costs are counted in, if that is stated."""
    if unit is None:
        return None
    _check.require("unit", unit, str, "It names what costs are counted in, such as 'EUR'.")
    return _check.writable("unit", str(unit))
