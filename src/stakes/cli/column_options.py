"""The columns that the options name; those left out are guessed, and the guess is printed."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any

from stakes.adapters.checked_columns import NOT_MEANT
from stakes.adapters.class_columns import posterior_columns
from stakes.adapters.cluster import spark_files
from stakes.adapters.columns import Columns, model_argument, prediction_columns
from stakes.adapters.duck import FileSource, opened_files
from stakes.adapters.frame import evaluate_frame
from stakes.adapters.sources import Source
from stakes.cli.fail_if import Gates, refuse_strangers
from stakes.cli.output import Terminal
from stakes.errors import InputError
from stakes.problem import Problem
from stakes.render import refuse_too_long_to_write
from stakes.report import Report
from stakes.rows import Predicted, Scores

COLUMN_OPTIONS = ("truth", "models", "scores", "weights", "copies", "by", "clusters", "key")


def stated_columns(
    source: Source,
    problem: Problem,
    *,
    truth: str | None = None,
    models: Sequence[str] = (),
    scores: Sequence[str] = (),
    **others: Any,
) -> Columns:
    """The columns that the options name; guesses for those left out are printed."""
    pairs = [_stated_model(text, source, problem) for text in models]
    pairs += [stated_scores(text, source) for text in scores]
    named = dict(pairs)
    if len(named) < len(pairs):
        names = [name for name, _ in pairs]
        twin = next(name for name in names if names.count(name) > 1)
        raise InputError(
            f"--model and --scores must have a name of its own for each model; {twin!r} "
            f"appears twice. Write another before one of the columns, as in NAME=COLUMN."
        )
    return Columns.guess(source, problem, y_true=truth, models=named, **others)


def report_on_files(
    files: Sequence[str],
    problem: Problem,
    *,
    engine: str | None = None,
    master: str | None = None,
    written: bool = False,
    gates: Gates = (None, ()),
    **options: Any,
) -> Report:
    """The report on the predictions in files.

    One too long to be `written` is refused at once, and so are `gates` that name no model.
    """
    if master is not None and engine != "spark":
        raise InputError("--master must come with --engine spark. Add it, or leave this out.")
    stated = {name: options.pop(name) for name in COLUMN_OPTIONS if name in options}
    with input_source(files, engine, master) as source:
        columns = stated_columns(source, problem, **stated)
        refuse_strangers(gates, columns.models)
        if written:
            refuse_too_long_to_write(problem, len(columns.models))
        try:
            return evaluate_frame(source, problem, **columns, **options, engine=engine)
        except InputError as error:
            # An error about a column that was only guessed should say so.
            guessed = not (stated.get("models") or stated.get("scores"))
            if guessed and error.argument in _named(columns.models, source.name):
                raise InputError(
                    error.complaint,
                    argument=error.argument,
                    remedy=f"{error.remedy}{NOT_MEANT}".strip(),
                ) from None
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


def _stated_model(text: str, source: Source, problem: Problem) -> tuple[str, Any]:
    """The name and the columns of a model stated as NAME, NAME=COLUMN or NAME=COLUMN,COLUMN."""
    name, listed = _split(text, source)
    known = listed in source.types  # the type of a single column says what it holds
    return name, listed if known else posterior_columns(listed, source, problem)


def stated_scores(text: str, source: Source) -> tuple[str, Predicted]:
    """The name and the column of raw scores stated as COLUMN or NAME=COLUMN."""
    name, column = _split(text, source)
    return name, Scores(source.require_number(column))


def model_columns(text: str, source: Source, problem: Problem) -> tuple[str, ...]:
    """The columns of a model for a command that takes only one; its name is ignored."""
    return prediction_columns(posterior_columns(_split(text, source)[1], source, problem))


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
