"""Predictions out of files: the plan, the limit of memory, the arrays."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import click
import narwhals.stable.v2 as nw
import numpy as np
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from stakes.adapters.duck import Coded, Columns, Source, engine_errors, opened, text_name
from stakes.adapters.files import located
from stakes.adapters.labels import group_labels
from stakes.adapters.lazy import Layout, LazyColumns
from stakes.adapters.tallies import tallied_evidence
from stakes.cli.columns import Key, Plan
from stakes.cli.entries import refuse_unusable
from stakes.cli.guessing import NOT_MEANT
from stakes.cli.models import Kind
from stakes.errors import InputError
from stakes.evaluation.evidence import Evidence
from stakes.problem import Problem
from stakes.rows import Decisions, Posteriors, Scores

_LONG = 1_000_000  # rows from which the work takes long enough for a progress bar
_SIZES = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}


@dataclass(frozen=True, eq=False)
class Loaded:
    """What `evaluate` takes."""

    truth: Any
    models: dict[str, Posteriors | Decisions | Scores]
    weights: Any
    by: dict[str, Any] | None
    cluster: Any


def said(text: str) -> None:
    """Say something beside the result: on standard error."""
    click.echo(f"stakes: {text}", err=True)


@contextmanager
def input_source(given: Sequence[str]) -> Iterator[Source]:
    """The files that the command line names, as a source of columns."""
    with located(given, sys.stdin.buffer) as files, opened(files) as source:
        yield source


def load(source: Source, problem: Problem, plan: Plan, *, limit: int) -> Loaded:
    """Read the columns that are needed, and no others, if they fit into memory."""
    n_rows = _counted(source, plan)
    needed = needed_bytes(plan, problem, n_rows)
    if needed > limit:
        raise InputError(
            f"{source.name} must fit into memory: the columns of its {n_rows:,} rows need "
            f"{needed:,} bytes and the limit is {limit:,}. Raise it with --memory-limit, or "
            f"take a sample of the rows."
        )
    return _read(source, problem, plan, n_rows)


def load_or_tally(
    source: Source, problem: Problem, plan: Plan, *, limit: int, **asked: Any
) -> Loaded | Evidence:
    """The columns that are needed, or beyond the limit their tallies; `asked` says of what."""
    n_rows = _counted(source, plan)
    needed = needed_bytes(plan, problem, n_rows)
    if needed <= limit:
        return _read(source, problem, plan, n_rows)
    left_out = "" if asked["calibrator"] is None else ", and nothing is recalibrated"
    said(
        f"the columns of the {n_rows:,} rows of {source.name} need {needed:,} bytes, which is "
        f"beyond the limit of {limit:,}; they are tallied inside the engine{left_out}."
    )
    return _tally(source, problem, plan, n_rows, limit=limit, **asked)


def needed_bytes(plan: Plan, problem: Problem, n_rows: int) -> int:
    """What the columns of a plan take as arrays: eight bytes a number, four a label."""
    numbers = sum(len(group) for group in plan.numbers().values())
    return n_rows * (8 * numbers + 4 * len(plan.labels(problem)))


def _counted(source: Source, plan: Plan) -> int:
    """The number of rows, of which there must be one; what was guessed is said first."""
    if plan.guesses:
        said(f"guessed from {source.name}: {'; '.join(plan.guesses)}.")
    n_rows = source.count()
    if n_rows == 0:
        raise InputError(f"{source.name} must hold at least one row; there are none.")
    return n_rows


def _read(source: Source, problem: Problem, plan: Plan, n_rows: int) -> Loaded:
    with working(f"reading {source.name}", n_rows) as advance:
        columns = source.read(plan.numbers(), plan.labels(problem), n_rows=n_rows, advance=advance)
    refuse_unusable(source.name, plan, columns.numbers)
    return _arrays(plan, columns)


def _tally(
    source: Source, problem: Problem, plan: Plan, n_rows: int, *, limit: int, **asked: Any
) -> Evidence:
    """The evidence of all rows, which stay inside the engine."""
    numbers = [one for group in plan.numbers().values() for one in group]
    labels = [wanted.column for wanted in plan.labels(problem).values()]
    passes = n_rows * (1 + len(plan.models) + max(1, len(plan.by)))
    with working(f"tallying {source.name}", passes) as advance, engine_errors(source.name):
        rows = source.lazy(numbers, labels, memory=limit)
        return tallied_evidence(
            nw.from_native(rows),
            _layout(source.name, plan, numbers),
            problem,
            limit=limit,
            advance=advance,
            **asked,
        )


def _layout(source: str, plan: Plan, numbers: Collection[str]) -> Layout:
    """The plan in terms of the relation that the source makes."""

    def text(column: str | None) -> Any:
        return text_name(column) if column is not None and column in numbers else column

    models = (
        LazyColumns(
            model.name,
            model.kind.value,
            tuple(map(text, model.columns)) if model.kind is Kind.DECISIONS else model.columns,
        )
        for model in plan.models
    )
    return Layout(
        source,
        text(plan.truth),
        tuple(models),
        plan.weights,
        {column: text(column) for column in plan.by},
        text(plan.cluster),
        NOT_MEANT if plan.models_guessed else "",
    )


def _arrays(plan: Plan, columns: Columns[Key]) -> Loaded:
    cluster = columns.labels.get(("cluster", ""))
    return Loaded(
        truth=columns.labels["truth", ""],
        models=dict(_predictions(plan, columns)),
        weights=columns.numbers.get(("weights", "")),
        by={one: _groups(columns.labels["by", one]) for one in plan.by} or None,
        cluster=None if cluster is None else _units(cluster),
    )


def _predictions(
    plan: Plan, columns: Columns[Key]
) -> Iterator[tuple[str, Posteriors | Decisions | Scores]]:
    for model in plan.models:
        if model.kind is Kind.DECISIONS:
            yield model.name, Decisions(columns.labels["model", model.name])
        else:
            made = Scores if model.kind is Kind.SCORES else Posteriors
            yield model.name, made(columns.numbers["model", model.name])


def _groups(by: Coded) -> Coded:
    """The groups in their order; rows that are in none stay so."""
    texts = list(map(str, by.categories))
    labels = group_labels(texts)
    place = {text: k for k, text in enumerate(labels)}
    codes = np.array([*map(place.__getitem__, texts), -1], dtype=np.int32)[by.codes]
    return Coded(codes, tuple(labels.values()))


def _units(cluster: Coded) -> Any:
    """The units as numbers, in the order of their names; the names themselves play no part."""
    rank = np.empty(len(cluster.categories), dtype=np.intp)
    rank[np.argsort(np.array(cluster.categories))] = np.arange(len(cluster.categories))
    return rank[cluster.codes]


# Memory and time ---------------------------------------------------------------------------------


def memory_size(text: str) -> int:
    """A number of bytes, such as 2GiB, 500 MB or 1000000; a G is 2³⁰ bytes.

    >>> memory_size("2GiB"), memory_size("500k")
    (2147483648, 512000)
    """
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]?)i?b?\s*", text, flags=re.IGNORECASE)
    if found is None:
        raise InputError(f"--memory-limit must be a number of bytes such as 2GiB; got {text!r}.")
    return int(float(found[1]) * _SIZES[found[2].lower()])


@contextmanager
def working(what: str, n_rows: int, *, steps: bool = True) -> Iterator[Callable[[int], None]]:
    """A progress bar for long work, on a terminal only; the function moves it by some rows."""
    console = Console(file=sys.stderr)
    if n_rows < _LONG or not console.is_terminal:
        yield lambda rows: None
        return
    marks = (TextColumn("{task.description}", markup=False), BarColumn(), TimeElapsedColumn())
    with Progress(*marks, console=console, transient=True) as progress:
        task = progress.add_task(what, total=n_rows if steps else None)
        yield lambda rows: progress.update(task, advance=rows)
