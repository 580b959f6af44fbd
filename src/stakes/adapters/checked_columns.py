"""The columns of an evaluation, after a check that each holds what it should."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from stakes.adapters.columns import Columns, Predicted, columns_of
from stakes.adapters.sources import Source
from stakes.errors import InputError
from stakes.problem import Problem
from stakes.rows import Decisions, Posteriors

_WIDE = ("UInt64", "Int128", "UInt128")  # may exceed 2⁶³ − 1


def checked(columns: Columns, source: Source, problem: Problem) -> Columns:
    """The columns with models in a common form, after a check that each holds what it should."""
    if not columns.models:
        raise InputError("models must hold at least one model; there is none. Name one.")
    by = columns.by
    source.require_label(columns.y_true, "y_true")
    for column in by:
        source.require_label(column, "by")
    if columns.clusters is not None:
        source.require_label(columns.clusters, "clusters")
    if columns.weights is not None:
        source.require_number(columns.weights, "weights")
    source.require_costs(problem)
    for column in by:
        if by.count(column) > 1:
            raise InputError(
                f"by must name every column once; {column!r} appears twice. Name it once.",
                argument="by",
            )
    models = {
        str(name): model(predictions, source, problem)
        for name, predictions in columns.models.items()
    }
    if columns.key is not None:
        _require_key(columns, source)
    return replace(columns, models=models)


def _require_key(columns: Columns, source: Source) -> None:
    if not source.is_whole(source.require(columns.key, "key")):
        raise InputError(
            f"key must be a column of whole numbers; {columns.key!r} of {source.name} is "
            f"{source.types[columns.key or '']}. Number the cases, or what belongs together.",
            argument="key",
        )
    # The largest key takes a pass over the rows, which most types do not need.
    is_wide = str(source.types[columns.key or ""]) in _WIDE
    if is_wide and (most := source.most(columns.key or "")) >= 1 << 63:
        raise InputError(
            f"key must hold whole numbers below 2⁶³; the largest in {columns.key!r} of "
            f"{source.name} is {most}. Take half of each, or number the cases.",
            argument="key",
        )
    if columns.clusters not in (None, columns.key):
        raise InputError(
            f"key must be the column of the clusters {columns.clusters!r}, which stay in one fold; "
            f"got {columns.key!r}. Name the same column.",
            argument="key",
        )


def model(columns: Any, source: Source, problem: Problem) -> Predicted:
    """The predictions of a model: the type of a bare column decides; several are posteriors."""
    if isinstance(columns, str):
        known = source.require(columns, "models")
        is_probable = holds_probabilities(known, source, problem)
        return Posteriors(known) if is_probable else Decisions(known)
    if isinstance(columns, list | tuple):
        columns = Posteriors(columns)
    if not isinstance(columns, Predicted):
        raise InputError(
            f"models must map names to columns, which are text or Posteriors, Decisions or Scores "
            f"of text; got {type(columns).__name__}. Write {{'new': 'p_new'}}.",
            argument="models",
        )
    if isinstance(columns, Posteriors):
        return Posteriors(in_class_order(columns, source, problem))
    names = columns_of(columns)
    if len(names) != 1:
        raise InputError(
            f"{type(columns).__name__} must be in one column; {', '.join(names)} are {len(names)}. "
            f"Name one.",
            argument="models",
        )
    require = source.require_label if isinstance(columns, Decisions) else source.require_number
    return type(columns)(require(names[0], "models"))


def in_class_order(
    posteriors: Posteriors, source: Source, problem: Problem
) -> str | tuple[str, ...]:
    """The columns of posteriors: one for each class in order, or that of the second of two."""
    columns = tuple(source.require_number(column, "models") for column in columns_of(posteriors))
    if len(columns) == 1 and problem.n_classes == 2:
        return columns[0]
    if len(columns) != problem.n_classes:
        raise InputError(
            f"a model must have one column for each of the {problem.n_classes} classes "
            f"({', '.join(map(str, problem.classes))}); {','.join(columns)} is {len(columns)}. "
            f"Name as many.",
            argument="models",
        )
    return tuple(columns[k] for k in posteriors._order("models", problem.classes))


def holds_probabilities(column: str, source: Source, problem: Problem) -> bool:
    """Whether a column can hold probabilities; integers cannot where decisions are integers."""
    # Probabilities may all be 0 or 1, and then a file has them as whole numbers.
    if source.is_whole(column):
        return not all(text.lstrip("-").isdigit() for text in map(_spelled, problem.decisions))
    return source.is_fraction(column)


def _spelled(label: object) -> str:
    return str(int(label)) if isinstance(label, bool) else str(label)
