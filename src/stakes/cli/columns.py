"""Which column is what: as the user says, or guessed where the guess is safe, and then said."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from stakes.adapters.duck import Source
from stakes.adapters.labels import Wanted
from stakes.cli.guessing import guessed_models, truth_column
from stakes.cli.models import Kind, ModelColumns, stated_model, stated_scores
from stakes.errors import InputError
from stakes.problem import Problem

Key = tuple[str, str]  # what a column is for, and the name of the model or column that it is of


@dataclass(frozen=True)
class Request:
    """What the user said about columns; empty or None where nothing was said."""

    truth: str | None = None
    models: tuple[str, ...] = ()
    scores: tuple[str, ...] = ()
    weights: str | None = None
    by: tuple[str, ...] = ()
    cluster: str | None = None


@dataclass(frozen=True)
class Plan:
    """What is read from which column; `guesses` say what was not stated."""

    truth: str
    models: tuple[ModelColumns, ...]
    weights: str | None = None
    by: tuple[str, ...] = ()
    cluster: str | None = None
    guesses: tuple[str, ...] = ()
    models_guessed: bool = False

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
        for column in self.by:
            found["by", column] = Wanted(column, "groups", may_be_missing=True)
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
    others = (*request.by, *((request.cluster,) if request.cluster is not None else ()))
    for column in others:
        source.require(column)
    models = [stated_model(text, source, problem) for text in request.models]
    models += [stated_scores(text, source) for text in request.scores]
    taken = {*others, *((request.weights,) if request.weights is not None else ())}
    taken.update(column for model in models for column in model.columns)
    truth = truth_column(source, problem, request.truth, taken)
    guesses = [] if request.truth is not None else [f"truth in column {truth}"]
    guessed = not models
    if guessed:
        models = guessed_models(source, problem, taken | {truth})
        guesses += [model.said(problem) for model in models]
    _refuse_twins("models must have different names", [model.name for model in models])
    _refuse_twins("--by must name every column once", request.by)
    return Plan(
        truth,
        tuple(models),
        request.weights,
        request.by,
        request.cluster,
        tuple(guesses),
        models_guessed=guessed,
    )


def _refuse_twins(rule: str, names: Sequence[str]) -> None:
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"{rule}; {name!r} stands twice.")
