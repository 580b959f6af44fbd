"""The columns that the options name; those left out are guessed, and the guess is printed."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

from stakes.adapters.checked_columns import (
    NOT_MEANT,
    guessed_models,
    holds_probabilities,
    in_class_order,
    named_after,
    truth_column,
)
from stakes.adapters.cluster import spark_files
from stakes.adapters.columns import (
    Columns,
    model_argument,
    model_phrase,
    prediction_columns,
)
from stakes.adapters.duck import FileSource, opened_files
from stakes.adapters.frame import evaluate_frame
from stakes.adapters.label_texts import spellings
from stakes.adapters.sources import Source
from stakes.cli.output import Terminal
from stakes.errors import InputError
from stakes.problem import Problem
from stakes.render import refuse_too_long_to_write
from stakes.report import Report
from stakes.rows import Decisions, Posteriors, Predicted, Scores


@dataclass(frozen=True)
class Request:
    """The columns that the options name; empty or None for options that were left out."""

    truth: str | None = None
    models: tuple[str, ...] = ()
    scores: tuple[str, ...] = ()
    weights: str | None = None
    by: tuple[str, ...] = ()
    clusters: str | None = None
    key: str | None = None

    def columns(self, source: Source, problem: Problem) -> Columns:
        """The columns of the truth and of all models; guesses are printed.

        Parameters
        ----------
        source : Source
            The data, whose columns are known.
        problem : Problem
            What is at stake.

        Returns
        -------
        Columns
            What is read from which column.
        """
        if self.weights is not None:
            source.require_number(self.weights)
        pairs = [stated_model(text, source, problem) for text in self.models]
        pairs += [stated_scores(text, source) for text in self.scores]
        models = dict(pairs)
        if len(models) < len(pairs):
            names = [name for name, _ in pairs]
            twin = next(name for name in names if names.count(name) > 1)
            raise InputError(
                f"--model and --scores must have a name of its own for each model; {twin!r} "
                f"appears twice. Write another before one of the columns, as in NAME=COLUMN."
            )
        stated = (self.weights, self.clusters, self.key, *self.by)
        used = {column for column in stated if column is not None}
        used.update(problem.columns)
        used.update(column for model in models.values() for column in prediction_columns(model))
        # Columns that the options or the costs name are no candidates for a guess.
        truth = truth_column(source, problem, self.truth, used)
        guesses = [] if self.truth is not None else [f"truth in column {truth}"]
        left = ""
        if not models:
            models = guessed_models(source, problem, used | {truth})
            guesses += [model_phrase(name, model, problem) for name, model in models.items()]
            used.update(column for model in models.values() for column in prediction_columns(model))
            left = _left(source, used | {truth})
        if guesses:
            source.watch.says(f"guessed from {source.name}: {'; '.join(guesses)}.{left}")
        return Columns(truth, models, self.weights, self.by, self.clusters, self.key)


def _left(source: Source, used: set[str]) -> str:
    """A sentence about columns of fractions that were not read, although they may be models."""
    others = [name for name in source.types if name not in used and source.is_fraction(name)]
    more = f" and {len(others) - 5} more" if len(others) > 5 else ""
    listed = f"{', '.join(others[:5])}{more}"
    return f" Not read: {listed}; name models with --model." if others else ""


def report_on_files(
    files: Sequence[str],
    problem: Problem,
    request: Request,
    *,
    engine: str | None = None,
    master: str | None = None,
    written: bool = False,
    **options: Any,
) -> Report:
    """The report on the predictions in files; one too long to be `written` is refused at once."""
    if master is not None and engine != "spark":
        raise InputError("--master must come with --engine spark. Add it, or leave this out.")
    with input_source(files, engine, master) as source:
        columns = request.columns(source, problem)
        if written:
            refuse_too_long_to_write(problem, len(columns.models))
        try:
            return evaluate_frame(source, problem, **columns, **options, engine=engine)
        except InputError as error:
            # An error about a column that was only guessed should say so.
            guessed = not (request.models or request.scores)
            if guessed and error.argument in _named(columns.models, source.name):
                raise InputError(f"{error}{NOT_MEANT}", argument=error.argument) from None
            raise


def _named(models: Any, source: str) -> set[str | None]:
    """The arguments that an error about one of the models can name."""
    columns = {
        f"column {c!r} of {source}" for model in models.values() for c in prediction_columns(model)
    }
    return {*columns, *map(model_argument, models)}


def input_source(
    files: Sequence[str], engine: str | None, master: str | None
) -> AbstractContextManager[Source]:
    """The files of the command line as a source of columns, read by DuckDB or Spark."""
    if engine == "spark":
        return spark_files(files, master, Terminal())
    return input_files(files)


def input_files(files: Sequence[str]) -> AbstractContextManager[FileSource]:
    """The files of the command line as a source of columns, read by DuckDB."""
    return opened_files(files, sys.stdin.buffer, Terminal())


# Models as options state them --------------------------------------------------------------------


def stated_model(text: str, source: Source, problem: Problem) -> tuple[str, Predicted]:
    """The name and the columns of a model stated as NAME, NAME=COLUMN or NAME=COLUMN,COLUMN."""
    name, listed = _split(text, source)
    if listed in source.types and not holds_probabilities(listed, source, problem):
        return name, Decisions(listed)
    return name, Posteriors(posterior_columns(listed, source, problem))


def stated_scores(text: str, source: Source) -> tuple[str, Predicted]:
    """The name and the column of raw scores stated as COLUMN or NAME=COLUMN."""
    name, column = _split(text, source)
    return name, Scores(source.require_number(column))


def model_columns(text: str, source: Source, problem: Problem) -> tuple[str, ...]:
    """The columns of a model for a command that takes only one; its name is ignored."""
    return prediction_columns(
        Posteriors(posterior_columns(_split(text, source)[1], source, problem))
    )


def _split(text: str, source: Source) -> tuple[str, str]:
    """The name of a model and its columns as text; without a name, the columns give it."""
    if text in source.types or "=" not in text:
        return text, text
    name, _, listed = text.partition("=")
    if not name or not listed:
        raise InputError(
            f"a model must be stated as NAME=COLUMN or NAME=COLUMN,COLUMN; got {text}. Write both, "
            f"or a column alone."
        )
    return name, listed


def posterior_columns(listed: str, source: Source, problem: Problem) -> str | tuple[str, ...]:
    """The columns of posteriors of one model, in the order of the classes.

    They are stated as COLUMN (the probability of the second of two classes), as COLUMN,COLUMN,… or
    as the common prefix of columns called PREFIX_CLASS. Columns that are named after the classes
    are put in order by their names.
    """
    if listed in source.types:
        columns: tuple[str, ...] = (listed,)
    else:
        columns = named_after(listed, source, problem) or tuple(listed.split(","))
    ordered = in_class_order(Posteriors(columns), source, problem)
    if len(columns) == 1:
        return ordered
    by_name = tuple(
        matches[0]
        for label in problem.classes
        if len(matches := [c for c in columns if _is_named(c, spellings([label]))]) == 1
    )
    return by_name if len(set(by_name)) == len(columns) else ordered


def _is_named(column: str, names: Sequence[str] | dict[str, int]) -> bool:
    return any(column == name or column.endswith(f"_{name}") for name in names)
