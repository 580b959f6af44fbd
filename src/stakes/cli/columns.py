"""Which column is what: as the user says, or guessed where the guess is safe, and then said."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum

from stakes._check import Label
from stakes.adapters.duck import Source, Wanted, spellings
from stakes.errors import InputError
from stakes.problem import Problem

__all__ = [
    "Key",
    "Kind",
    "ModelColumns",
    "Plan",
    "Request",
    "model_columns",
    "plan_for",
    "posterior_columns",
    "truth_column",
]

Key = tuple[str, str]  # what a column is for, and the name of the model where it is a model's

_TRUTHS = ("truth", "label", "y", "y_true", "target", "class")
_PROBABLE = {  # the first or last word in the name of a column of probabilities
    *("p", "prob", "probs", "proba", "probability", "posterior", "posteriors"),
    *("score", "scores"),
}


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


@dataclass(frozen=True)
class Request:
    """What the user said about columns; empty or None where nothing was said."""

    truth: str | None = None
    models: tuple[str, ...] = ()
    scores: tuple[str, ...] = ()
    weights: str | None = None
    by: str | None = None
    cluster: str | None = None


@dataclass(frozen=True)
class Plan:
    """What is read from which column; `guesses` say what was not stated."""

    truth: str
    models: tuple[ModelColumns, ...]
    weights: str | None = None
    by: str | None = None
    cluster: str | None = None
    guesses: tuple[str, ...] = ()

    def numbers(self) -> dict[Key, tuple[str, ...]]:
        """Columns of numbers."""
        found: dict[Key, tuple[str, ...]] = {
            ("model", model.name): model.columns
            for model in self.models
            if model.kind is not Kind.DECISIONS
        }
        return {**found, ("weights", ""): (self.weights,)} if self.weights is not None else found

    def labels(self, problem: Problem) -> dict[Key, Wanted]:
        """Columns of labels."""
        found = {("truth", ""): Wanted(self.truth, "classes", problem.classes)}
        if self.by is not None:
            found["by", ""] = Wanted(self.by, "groups", may_be_missing=True)
        if self.cluster is not None:
            found["cluster", ""] = Wanted(self.cluster, "clusters")
        for model in self.models:
            if model.kind is Kind.DECISIONS:
                wanted = Wanted(model.columns[0], "decisions", problem.decisions)
                found["model", model.name] = wanted
        return found


def plan_for(source: Source, problem: Problem, request: Request) -> Plan:
    """What is read from which column."""
    if request.weights is not None:
        source.require_number(request.weights)
    for column in (request.by, request.cluster):
        if column is not None:
            source.require(column)
    models = [_model(text, source, problem) for text in request.models]
    models += [_score(text, source) for text in request.scores]
    taken = {one for one in (request.weights, request.by, request.cluster) if one is not None}
    taken.update(column for model in models for column in model.columns)
    truth = truth_column(source, problem, request.truth, taken)
    guesses = [] if request.truth is not None else [f"truth in column {truth}"]
    if not models:
        models = _guessed_models(source, problem, taken | {truth})
        guesses += [model.said(problem) for model in models]
    _refuse_twins(models)
    return Plan(truth, tuple(models), request.weights, request.by, request.cluster, tuple(guesses))


def _refuse_twins(models: Sequence[ModelColumns]) -> None:
    names = [model.name for model in models]
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"models must have different names; {name!r} stands twice.")


# The truth ---------------------------------------------------------------------------------------


def truth_column(
    source: Source, problem: Problem, stated: str | None, taken: Collection[str]
) -> str:
    """The column of the true classes: the stated one, one with the name, or one with the values."""
    if stated is not None:
        return source.require(stated)
    free = [column for column in source.types if column not in taken]
    named = [column for column in free if column.lower() in _TRUTHS]
    if len(named) == 1:
        return named[0]
    labels = [one for one in named or free if not source.is_fraction(one)]
    found = [one for one in labels if _holds_classes(source, one, problem.classes)]
    if len(found) == 1:
        return found[0]
    listed = ", ".join(map(str, problem.classes[:8]))
    what = f"{len(found)} columns hold" if found else "no column holds exactly"
    raise InputError(
        f"the column of the truth cannot be guessed: {what} the classes {listed}"
        f"{' (' + ', '.join(found) + ')' if found else ''}. Say which with --truth COLUMN."
    )


def _holds_classes(source: Source, column: str, classes: Sequence[Label]) -> bool:
    known = spellings(classes)
    values = source.distinct(column, len(classes))
    return values is not None and {known.get(one, -1) for one in values} == set(range(len(classes)))


# Models ------------------------------------------------------------------------------------------


def _model(text: str, source: Source, problem: Problem) -> ModelColumns:
    """A model as it is stated: NAME, NAME=COLUMN, or NAME= with a column for each class."""
    name, listed = _split(text, source)
    if listed in source.types and not _holds_probabilities(listed, source, problem):
        return ModelColumns(name, Kind.DECISIONS, (listed,))
    return ModelColumns(name, Kind.POSTERIORS, posterior_columns(listed, source, problem))


def _score(text: str, source: Source) -> ModelColumns:
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
    if named := _named_after(listed, source, problem):
        return _in_order(named, source, problem)
    return _in_order(tuple(listed.split(",")), source, problem)


def _holds_probabilities(column: str, source: Source, problem: Problem) -> bool:
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


def _named_after(name: str, source: Source, problem: Problem) -> tuple[str, ...]:
    """The columns NAME_CLASS of a model, one for each class, or none."""
    found = tuple(
        next((c for end in spellings([label]) if (c := f"{name}_{end}") in source.types), None)
        for label in problem.classes
    )
    return tuple(one for one in found if one is not None) if None not in found else ()


def _guessed_models(source: Source, problem: Problem, taken: Collection[str]) -> list[ModelColumns]:
    free = [one for one in source.types if one not in taken and source.is_fraction(one)]
    found = [
        ModelColumns(name, Kind.POSTERIORS, columns)
        for name in _stems(free, problem)
        if (columns := _named_after(name, source, problem)) and set(columns) <= set(free)
    ]
    used = {column for model in found for column in model.columns}
    texts = [next((t for t in spellings([c]) if t in free), None) for c in problem.classes]
    classes = tuple(text for text in texts if text is not None and text not in used)
    if len(classes) == problem.n_classes:
        found.append(ModelColumns("model", Kind.POSTERIORS, classes))
        used.update(classes)
    if problem.n_classes == 2:
        found += _guessed_singles(source, problem, [one for one in free if one not in used], found)
    if not found:
        shape = "numbers in [0, 1]" if problem.n_classes == 2 else "columns named NAME_CLASS"
        raise InputError(
            f"{source.name} must hold the predictions of a model, and none can be guessed: there "
            f"are no {shape} beside the truth. Say which with --model NAME=COLUMN."
        )
    return found


def _guessed_singles(
    source: Source, problem: Problem, free: Sequence[str], found: Sequence[ModelColumns]
) -> list[ModelColumns]:
    """P(second class) in columns whose names say so, or in the only column that may hold it."""
    likely = source.within_unit(free)
    named = [one for one in likely if _says_probability(one, problem.classes[1])]
    if not named and not found:
        named = likely
        if len(likely) > 1:
            listed = ", ".join(likely[:8]) + ", …" * (len(likely) > 8)
            raise InputError(
                f"the models in {source.name} cannot be guessed: {len(likely)} columns hold "
                f"numbers in [0, 1] ({listed}), and no name says that they are probabilities. Say "
                f"which with --model, once for each, as in --model {likely[0]}."
            )
    return [ModelColumns(one, Kind.POSTERIORS, (one,)) for one in named]


def _says_probability(column: str, positive: Label) -> bool:
    """Whether the name of a column says that it holds the probability of the positive class."""
    words = re.findall(r"[^\W_]+", column.lower())
    if words == ["p", "value"]:
        return False
    return column == positive or not _PROBABLE.isdisjoint({*words[:1], *words[-1:]})


def _stems(columns: Sequence[str], problem: Problem) -> Iterator[str]:
    """What stands before _CLASS in names of columns, each once."""
    ends = [f"_{end}" for end in spellings(problem.classes[:1])]
    seen: dict[str, None] = {}
    for column in columns:
        seen.update({column[: -len(end)]: None for end in ends if column.endswith(end)})
    yield from (stem for stem in seen if stem)
