"""The report on a source: from rows in memory, or from tallies of its engine."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

from stakes import _check
from stakes.adapters.checked_columns import checked, with_repeats
from stakes.adapters.columns import Columns, prediction_columns
from stakes.adapters.engine_evidence import n_passes, tallied_evidence
from stakes.adapters.engine_work import Passes, interruptible, without_rows
from stakes.adapters.refits import prices_need_key, why_no_limits, why_none
from stakes.adapters.sources import NUMPY, Source, opened
from stakes.calibration import Calibrator
from stakes.errors import InputError
from stakes.evaluation import (
    Evidence,
    ReportOptions,
    evaluate,
    frame_library,
    refuse_scale,
    report_of,
)
from stakes.problem import Problem
from stakes.report import Report
from stakes.rows import Posteriors

T = TypeVar("T")
_SIZES = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}


def report_on(
    frame: Any,
    columns: Columns,
    problem: Problem,
    *,
    memory_limit: str | int,
    engine: str | None,
    posterior_prior: object,
    calibrator: Calibrator | None,
    **drawing: Any,
) -> Report:
    """The report on the predictions in some columns; see `stakes.evaluate_frame`."""
    _check.require("problem", problem, Problem)
    refuse_scale(problem)
    options: dict[str, Any] = {"posterior_prior": posterior_prior, "calibrator": calibrator}
    limit = memory_size(memory_limit)
    with opened(frame, engine) as source:
        known = checked(columns, source, problem)
        with source.watch.working(f"counting the rows of {source.name}", 1, steps=False):
            n_rows = interruptible(partial(count_rows, source), source.interrupt)
        needed = known.n_bytes(problem, n_rows)
        # The limit is for rows that are not in memory yet.
        beyond = engine is None and needed > limit and not source.in_memory
        with _located(known, source):
            if not beyond and engine in (None, NUMPY):
                rows = source.rows(known, problem, n_rows)
                with source.watch.working("evaluating", n_rows, steps=False):
                    report = evaluate(problem=problem, **vars(rows), **options, **drawing)
            else:
                if (why := why_no_limits(problem, known.key)) is not None:
                    _refuse_limits(why, problem, needed, limit, engine)
                if beyond:
                    fits = calibrator is None or not why_none(
                        calibrator, known.key, problem.n_classes
                    )
                    _say_beyond(source, n_rows, needed, limit, fits)
                report = _in_engine(source, known, problem, limit, n_rows, options, drawing)
            report = _guarded(source, partial(with_repeats, report, source, known, problem))
        return _of_frame(report, known, frame)


@contextmanager
def _located(columns: Columns, source: Source) -> Iterator[None]:
    """Name the columns in errors about arguments, and tell an interrupt by what it is."""
    try:
        yield
    except InputError as error:
        raise columns.located(error, source.name) from error.__cause__
    except RuntimeError as error:
        if "interrupted" not in str(error):
            raise
        raise KeyboardInterrupt from None  # DuckDB raises RuntimeError when it is interrupted


def _in_engine(
    source: Source,
    columns: Columns,
    problem: Problem,
    limit: int,
    n_rows: int,
    options: dict[str, Any],
    drawing: dict[str, Any],
) -> Report:
    """The report from tallies of the engine that holds the rows."""
    asked = ReportOptions.read(problem, list(columns.models), **drawing)
    n_times = n_passes(columns, problem, options["calibrator"])
    with source.watch.working(f"tallying {source.name}", n_rows * n_times) as advance:
        passes = Passes(n_rows, n_times, advance, partial(_guarded, source))
        tally = partial(_tallied, source, columns, problem, limit, passes)
        evidence = _guarded(source, partial(tally, seed=asked.seed, **options))
        advance(n_rows, "making the report")
        return report_of(evidence, asked, engine=source.engine)


def count_rows(source: Source) -> int:
    """The number of rows; a source without rows is refused."""
    n_rows = source.count()
    if n_rows == 0:
        raise without_rows(source.name)
    return n_rows


def _of_frame(report: Report, columns: Columns, frame: Any) -> Report:
    """The report with the library of the frame, and the columns of each model in its rules."""
    named = {name: prediction_columns(model) for name, model in columns.models.items()}
    library = frame_library(frame, {}) or report.assumptions.frame_library
    return replace(
        report,
        rules=report.rules.with_columns(named),
        assumptions=replace(report.assumptions, frame_library=library),
    )


def _refuse_limits(why: str, problem: Problem, needed: int, limit: int, engine: str | None) -> None:
    """Refuse limits on decisions that need rows in memory, and say why."""
    key = "name a column of whole numbers with key=, " * prices_need_key(problem)
    others = f"{key}evaluate a sample, or take problem.with_limits(None)."
    if engine is not None:
        raise InputError(
            f"engine must be {NUMPY} where the problem has limits; got {engine!r}: {why}.",
            remedy=f"Leave it out, {others}",
        )
    raise InputError(
        f"memory_limit must leave room for the columns where the problem has limits: they need "
        f"{needed:,} bytes, and the limit is {limit:,}; beyond it, {why}.",
        remedy=f"Raise it, {others}",
    )


def _say_beyond(source: Source, n_rows: int, needed: int, limit: int, recalibrated: bool) -> None:
    left_out = "" if recalibrated else ", and nothing is recalibrated"
    source.watch.says(
        f"the columns of the {n_rows:,} rows of {source.name} need {needed:,} bytes, which is "
        f"beyond the limit of {limit:,}; they are tallied inside the engine{left_out}."
    )


def _guarded(source: Source, work: Callable[[], T]) -> T:
    """The result of some work of the engine, which can be interrupted; errors are InputErrors."""
    with source.engine_errors():
        return interruptible(work, source.interrupt)


def _tallied(
    source: Source, columns: Columns, problem: Problem, limit: int, passes: Passes, **options: Any
) -> Evidence:
    """The evidence of all rows, tallied inside the engine."""
    numbers = [column for group in columns.read(problem).values() for column in group]
    labels = [column_labels.column for column_labels in columns.labels(problem).values()]
    if source.is_text:
        passes.advance(0, "columns of text")
    return tallied_evidence(
        source.lazy(numbers, labels, list(columns.groups), memory=limit, key=columns.key),
        columns,
        problem,
        source=source.name,
        singles=[
            name
            for name, model in columns.models.items()
            if isinstance(model, Posteriors) and source.is_single(prediction_columns(model))
        ],
        limit=limit,
        passes=passes,
        **options,
    )


def memory_size(size: str | int) -> int:
    """The number of bytes in a size such as 2GiB, 500 MB or 1000000; a G is 2³⁰ bytes.

    >>> memory_size("2GiB"), memory_size("500k"), memory_size(1000)
    (2147483648, 512000, 1000)
    """
    form = r"\s*(\d+(?:\.\d+)?)\s*([kmgt]?)i?b?\s*"
    match = re.fullmatch(form, str(size), flags=re.IGNORECASE)
    n_bytes = float(match[1]) * _SIZES[match[2].lower()] if match else math.inf
    if not n_bytes < math.inf:
        got = repr(size) if isinstance(size, str) else _check.described(size)
        raise InputError(
            f"memory_limit must be a number of bytes such as 2GiB; got {got}. "
            f"Write a number, with K, M, G or T behind it if you like."
        )
    return int(n_bytes)
