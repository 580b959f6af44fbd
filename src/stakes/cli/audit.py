"""``stakes audit``: metrics that would mislead, the costs they imply, how often they err."""

from __future__ import annotations

from collections.abc import Iterator
from math import isnan
from typing import Any

import click
import numpy as np

from stakes._text import one_line, text_table
from stakes.audit import (
    FAMILIAR,
    AssessmentError,
    ImpliedCosts,
    Probabilities,
    RawScores,
    implied_costs,
    misranking,
    uniform_setting,
)
from stakes.cli.options import (
    calibrate_option,
    calibrator_named,
    file_argument,
    key_option,
    prediction_options,
    problem_option,
    read_problem,
    report_on_files,
    seed_option,
)
from stakes.cli.output import Terminal, put, put_wrapped
from stakes.problem import Problem
from stakes.render import four_digits
from stakes.report import ModelQuality, Report

_MISRANKED = "Pairs of random classifiers, under random costs, that each criterion ranks wrongly"


@click.command(short_help="Say which metrics would have picked another model.")
@file_argument
@problem_option
@prediction_options
@calibrate_option
@key_option
@click.option(
    "--misranking",
    "pairs",
    metavar="PAIRS",
    type=click.IntRange(1, 10**7),  # as many as misranking accepts
    help="Also draw this many pairs of classifiers with two classes, under costs about which "
    "nothing is known, and count those that each metric puts in the wrong order.",
)
@seed_option
def audit(
    files: tuple[str, ...], problem_file: str, pairs: int | None, seed: int, **options: Any
) -> None:
    """Say which familiar metrics would have picked another model, and what that would cost.

    For two classes also: the threshold that each metric would choose for each model, and what a
    miss would have to cost, in false alarms, for that threshold to be the right one.
    """
    problem = read_problem(problem_file)
    calibrator = calibrator_named(options.pop("calibrate"))
    report = report_on_files(files, problem, calibrator=calibrator, **options)
    rows = [row for model in report.models for row in _implied(model)]
    if report.disagreement is not None:
        put(f"{report.disagreement}\n")
    put_wrapped(_outcome(report))
    if rows:
        header = ("model", "metric", "best", "threshold", "right if a miss costs", "on these data")
        put("")
        for sentence in _own_ratio(problem):
            put_wrapped(sentence)
        put(f"\n{text_table(header, rows)}")
    if pairs is not None:
        put("")
        put_wrapped(f"{_MISRANKED} (seed {seed}).")
        put(f"\n{_misranked(pairs, seed)}")


def _misranked(pairs: int, seed: int) -> str:
    """The table of the misranking study (dyrland, section 4.2, uniform setting)."""
    with Terminal().working("drawing pairs", pairs) as advance:
        done = 0

        def progress(drawn: int, total: int) -> None:
            nonlocal done
            advance(drawn - done)
            done = drawn

        study = misranking(
            FAMILIAR,
            **uniform_setting(),
            error={"costs with 10 % error": AssessmentError(0.1)},
            pairs=pairs,
            rng=np.random.default_rng(seed),
            progress=progress,
        )
    return str(study)


def _outcome(report: Report) -> str:
    """A sentence about the metrics that mislead."""
    disagreement = report.disagreement
    if disagreement is None:
        return "There is one model only: no metric could have picked another."
    wrong = dict(zip(disagreement.metrics, disagreement.misled, strict=True))
    misled = [pick for pick in report.picks if wrong.get(pick.metric)]
    clear = [pick.metric for pick in misled if pick.clear]
    unclear = [pick.metric for pick in misled if not pick.clear]
    outcome = f"clearly misled: {', '.join(clear)}" if clear else "no metric is clearly misled"
    if unclear:
        outcome += f"; misled on these cases, though the data cannot tell: {', '.join(unclear)}"
    cheapest = f"The cheapest system is {report.best.name}"
    if not report.verdict.saving_over_naive.value > 0:
        cheapest += f", and always choosing {report.naive.decision} costs no more"
    return f"{one_line(cheapest)}; {outcome}."


def _implied(model: ModelQuality) -> Iterator[tuple[str, ...]]:
    """Rows with the threshold that each metric prefers and the costs that would justify it."""
    if model.table is None:
        return
    scale = Probabilities() if model.kind == "posteriors" else RawScores()
    for name, metric in FAMILIAR.items():
        implied = implied_costs(model.table, metric, scale=scale)
        yield (model.model, name, four_digits(implied.value), *_reading(implied))


def _reading(implied: ImpliedCosts) -> tuple[str, str, str]:
    """The best threshold of a metric, and the costs of a miss for which it is right."""
    if not implied.optima:
        return "–", "–", "–"
    first = implied.optima[0]
    threshold = four_digits(first.threshold)
    if len(implied.optima) > 1:
        threshold += f" (and {len(implied.optima) - 1} more)"
    return threshold, _span(first.bayes.cost_ratio), _span(first.empirical.cost_ratio)


def _span(bounds: np.ndarray[Any, Any]) -> str:
    """An interval for the cost of a miss, in units of a false alarm, as text."""
    low, high = bounds.tolist()
    return "no costs" if isnan(low) or isnan(high) else f"{four_digits(low)} to {four_digits(high)}"


def _own_ratio(problem: Problem) -> Iterator[str]:
    """The heading of the table, and the cost of a miss in the problem itself."""
    yield (
        "The table shows each metric's favourite threshold, and what a miss would have to cost, in "
        "false alarms, for that threshold to be right."
    )
    if problem.columns:  # every case has its own
        return
    if problem.costs.shape == (2, 2) and 0 < (threshold := problem.threshold) < 1:
        yield f"Under these stakes a miss costs {four_digits((1 - threshold) / threshold)}."
