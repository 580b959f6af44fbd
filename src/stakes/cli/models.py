"""Models as the user states them: which columns, in the order of the classes."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from stakes._check import Label
from stakes.adapters.duck import Source
from stakes.adapters.labels import spellings
from stakes.errors import InputError
from stakes.problem import Problem


class Kind(Enum):
    """What the columns of a model hold."""

    POSTERIORS = "posteriors"
    DECISIONS = "decisions"
    SCORES = "scores"


@dataclass(frozen=True)
class ModelColumns:
    """A model: posteriors of every class in their order (or of the second of two), or else."""

    name: str
    kind: Kind
    columns: tuple[str, ...]

    def said(self, problem: Problem) -> str:
        """What is read from where, in words."""
        if self.kind is not Kind.POSTERIORS:
            return f"{self.name}: {self.kind.value} in column {self.columns[0]}"
        classes = problem.classes[-1:] if len(self.columns) == 1 else problem.classes
        parts = (f"P({c}) in {one}" for c, one in zip(classes, self.columns, strict=True))
        return f"{self.name}: {', '.join(parts)}"


def stated_model(text: str, source: Source, problem: Problem) -> ModelColumns:
    """A model as it is stated: NAME, NAME=COLUMN, or NAME= with a column for each class."""
    name, listed = _split(text, source)
    if listed in source.types and not holds_probabilities(listed, source, problem):
        return ModelColumns(name, Kind.DECISIONS, (listed,))
    return ModelColumns(name, Kind.POSTERIORS, posterior_columns(listed, source, problem))


def stated_scores(text: str, source: Source) -> ModelColumns:
    """Raw scores as they are stated: COLUMN or NAME=COLUMN."""
    name, column = _split(text, source)
    return ModelColumns(name, Kind.SCORES, (source.require_number(column),))


def model_columns(text: str, source: Source, problem: Problem) -> tuple[str, ...]:
    """The columns of the only model of a command, whose name may be stated and plays no part."""
    return posterior_columns(_split(text, source)[1], source, problem)


def _split(text: str, source: Source) -> tuple[str, str]:
    """The name of a model and its columns; without a name they are called as they are."""
    if text in source.types or "=" not in text:
        return text, text
    name, _, listed = text.partition("=")
    if not name or not listed:
        raise InputError(
            f"a model must be stated as NAME=COLUMN or NAME=COLUMN,COLUMN; got {text}."
        )
    return name, listed


def posterior_columns(listed: str, source: Source, problem: Problem) -> tuple[str, ...]:
    """The columns of numbers of one model, in the order of the classes.

    COLUMN (P(second class) of two), COLUMN,COLUMN,… or, for COLUMN_CLASS, what stands before it.
    """
    if listed in source.types:
        return _in_order((listed,), source, problem)
    if named := named_after(listed, source, problem):
        return _in_order(named, source, problem)
    return _in_order(tuple(listed.split(",")), source, problem)


def holds_probabilities(column: str, source: Source, problem: Problem) -> bool:
    """Whether a column holds numbers; whole ones may be decisions, where decisions are such."""
    if source.is_whole(column):
        return not all(text.lstrip("-").isdigit() for text in map(_spelled, problem.decisions))
    return source.is_fraction(column)


def _spelled(label: Label) -> str:
    return str(int(label)) if isinstance(label, bool) else str(label)


def _in_order(columns: tuple[str, ...], source: Source, problem: Problem) -> tuple[str, ...]:
    """The columns in the order of the classes, by name where they are named after them."""
    for column in columns:
        source.require_number(column)
    if len(columns) == 1 and problem.n_classes == 2:
        return columns
    if len(columns) != problem.n_classes:
        raise InputError(
            f"a model must have one column for each of the {problem.n_classes} classes "
            f"({', '.join(map(str, problem.classes))}); {','.join(columns)} is {len(columns)}."
        )
    ends = [tuple(spellings([label])) for label in problem.classes]
    found = [
        [c for c in columns if any(c == end or c.endswith(f"_{end}") for end in own)]
        for own in ends
    ]
    by_name = tuple(own[0] for own in found if len(own) == 1)
    return by_name if len(set(by_name)) == len(columns) else columns


def named_after(name: str, source: Source, problem: Problem) -> tuple[str, ...]:
    """The columns NAME_CLASS of a model, one for each class, or none."""
    found = tuple(
        next((c for end in spellings([label]) if (c := f"{name}_{end}") in source.types), None)
        for label in problem.classes
    )
    return tuple(one for one in found if one is not None) if None not in found else ()
