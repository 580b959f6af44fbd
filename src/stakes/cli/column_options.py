"""Which column is what, as options say it; what they leave open is guessed, and the guess said."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

from stakes.adapters.cluster import spark_files
from stakes.adapters.columns import (
    Columns,
    Predicted,
    columns_of,
    described,
    model_argument,
    spellings,
)
from stakes.adapters.duck import FileSource, opened_files
from stakes.adapters.frame import evaluate_frame
from stakes.adapters.guessing import NOT_MEANT, guessed_models, named_after, truth_column
from stakes.adapters.sources import Source, holds_probabilities, in_class_order
from stakes.cli.output import Terminal
from stakes.errors import InputError
from stakes.problem import Problem
from stakes.report import Report
from stakes.rows import Decisions, Posteriors, Scores


@dataclass(frozen=True)
class Request:
    """What the options say about columns; empty or None where they say nothing."""

    truth: str | None = None
    models: tuple[str, ...] = ()
    scores: tuple[str, ...] = ()
    weights: str | None = None
    by: tuple[str, ...] = ()
    clusters: str | None = None
    key: str | None = None

    def columns(self, source: Source, problem: Problem) -> Columns:
        """What is read from which column; guesses are said."""
        if self.weights is not None:
            source.require_number(self.weights)
        pairs = [stated_model(text, source, problem) for text in self.models]
        pairs += [stated_scores(text, source) for text in self.scores]
        models = dict(pairs)
        if len(models) < len(pairs):
            names = [name for name, _ in pairs]
            twin = next(name for name in names if names.count(name) > 1)
            raise InputError(f"models must have different names; {twin!r} stands twice.")
        stated = (self.weights, self.clusters, self.key, *self.by)
        taken = {one for one in stated if one is not None}
        taken.update(problem.columns)
        taken.update(column for model in models.values() for column in columns_of(model))
        truth = truth_column(source, problem, self.truth, taken)
        guesses = [] if self.truth is not None else [f"truth in column {truth}"]
        if not models:
            models = guessed_models(source, problem, taken | {truth})
            guesses += [described(name, one, problem) for name, one in models.items()]
        if guesses:
            source.watch.says(f"guessed from {source.name}: {'; '.join(guesses)}.")
        return Columns(truth, models, self.weights, self.by, self.clusters, self.key)


def report_on(
    files: Sequence[str],
    problem: Problem,
    request: Request,
    *,
    engine: str | None = None,
    master: str | None = None,
    **options: Any,
) -> Report:
    """What the predictions in files cost."""
    if master is not None and engine != "spark":
        raise InputError("--master must stand beside --engine spark. Add it, or leave this out.")
    with input_source(files, engine, master) as source:
        columns = request.columns(source, problem)
        try:
            return evaluate_frame(source, problem, **columns, **options, engine=engine)
        except InputError as error:
            guessed = not (request.models or request.scores)
            if guessed and error.argument in _named(columns.models, source.name):
                raise InputError(f"{error}{NOT_MEANT}", argument=error.argument) from None
            raise


def _named(models: Any, source: str) -> set[str | None]:
    """What complaints about models begin with."""
    columns = {f"column {c!r} of {source}" for one in models.values() for c in columns_of(one)}
    return {*columns, *map(model_argument, models)}


def input_source(
    given: Sequence[str], engine: str | None, master: str | None
) -> AbstractContextManager[Source]:
    """The files that the command line names, as a source of columns."""
    if engine == "spark":
        return spark_files(given, master, Terminal())
    return input_files(given)


def input_files(given: Sequence[str]) -> AbstractContextManager[FileSource]:
    """The same in the embedded engine."""
    return opened_files(given, sys.stdin.buffer, Terminal())


# Models as options state them --------------------------------------------------------------------


def stated_model(text: str, source: Source, problem: Problem) -> tuple[str, Predicted]:
    """A model as it is stated: NAME, NAME=COLUMN, or NAME= with a column for each class."""
    name, listed = _split(text, source)
    if listed in source.types and not holds_probabilities(listed, source, problem):
        return name, Decisions(listed)
    return name, Posteriors(posterior_columns(listed, source, problem))


def stated_scores(text: str, source: Source) -> tuple[str, Predicted]:
    """Raw scores as they are stated: COLUMN or NAME=COLUMN."""
    name, column = _split(text, source)
    return name, Scores(source.require_number(column))


def model_columns(text: str, source: Source, problem: Problem) -> tuple[str, ...]:
    """The columns of the only model of a command, whose name may be stated and plays no part."""
    return columns_of(Posteriors(posterior_columns(_split(text, source)[1], source, problem)))


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


def posterior_columns(listed: str, source: Source, problem: Problem) -> str | tuple[str, ...]:
    """The columns of numbers of one model, in the order of the classes.

    COLUMN (P(second class) of two), COLUMN,COLUMN,… or, for COLUMN_CLASS, what stands before it.
    Columns that are named after the classes go by their names.
    """
    if listed in source.types:
        columns: tuple[str, ...] = (listed,)
    else:
        columns = named_after(listed, source, problem) or tuple(listed.split(","))
    ordered = in_class_order(Posteriors(columns), source, problem)
    if len(columns) == 1:
        return ordered
    by_name = tuple(
        own[0]
        for label in problem.classes
        if len(own := [c for c in columns if _is_named(c, spellings([label]))]) == 1
    )
    return by_name if len(set(by_name)) == len(columns) else ordered


def _is_named(column: str, ends: Sequence[str] | dict[str, int]) -> bool:
    return any(column == end or column.endswith(f"_{end}") for end in ends)
