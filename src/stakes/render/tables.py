"""A report as sentences and small tables: what text, Markdown and notebooks have in common."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import isnan

import numpy as np

from stakes import _text
from stakes.measures.cost import cost_shares
from stakes.regions import Margin
from stakes.report import Interval, Report, System

__all__ = ["Section", "Table", "number", "sections"]

_NEAREST = 12  # margins that are shown; the JSON holds all of them
_WIDEST = 12  # decisions that a table of cells shows side by side


@dataclass(frozen=True)
class Table:
    """Cells as text; the first column names the row."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Section:
    """A heading, sentences, and a table where there is one."""

    title: str
    sentences: tuple[str, ...] = ()
    table: Table | None = None


def number(value: float | None) -> str:
    """Four significant digits; a dash where there is no number.

    >>> number(0.123456), number(None), number(float("nan")), number(float("inf"))
    ('0.1235', '–', 'undefined', '∞')
    """
    return "–" if value is None else _text.number(value)


def sections(report: Report) -> Iterator[Section]:
    """All that a reader sees, in the order in which it is read."""
    yield Section("Verdict", report.verdict.sentences)
    yield _caveats(report)
    yield _systems(report)
    yield _money(report)
    if report.disagreement is not None and report.disagreement.metrics:
        yield _disagreement(report)
    yield _models(report)
    if report.regions:
        yield from _regions(report)
    if report.margins:
        yield _margins(report)
    if report.slices:
        yield _slices(report)
    yield _assumptions(report)


def _caveats(report: Report) -> Section:
    said = tuple(f"{caveat.kind}: {caveat.text}" for caveat in report.caveats)
    return Section("Caveats", said or ("None.",))


def _systems(report: Report) -> Section:
    unit = f", {report.problem.unit}" if report.problem.unit else ""
    level = f"{100 * report.assumptions.level:.3g} %"
    header = ("system", f"cost per case{unit}", level, "normalised", "P(cheapest)", "threshold")
    ranked = sorted(report.systems, key=lambda one: (isnan(one.cost.value), one.cost.value))
    rows = [_system(one) for one in ranked]
    naive = report.naive
    rows.append((f"always {naive.decision}", number(naive.cost), "", "1", "", ""))
    rows.append(("perfect decisions", number(report.perfect_cost), "", "0", "", ""))
    return Section("Cost of each system", (), Table(header, tuple(rows)))


def _system(one: System) -> tuple[str, ...]:
    return (
        one.name if one.candidate else f"{one.name} *",
        number(one.cost.value),
        _ends(one.cost),
        number(one.normalized.value),
        number(one.probability_cheapest) if one.candidate else "cannot win *",
        number(one.threshold),
    )


def _ends(interval: Interval | None) -> str:
    return "–" if interval is None else f"{number(interval.low)} to {number(interval.high)}"


def _money(report: Report) -> Section:
    """Counts of the cheapest system and each cell's share of its cost."""
    best = report.system(report.verdict.cheapest)
    stated = report.problem.with_prior(np.array(report.assumptions.prior))
    parts = cost_shares(best.counts, stated)
    decisions = report.problem.decisions[:_WIDEST]
    rows = tuple(
        (str(label), *(_cell(c, p, best.cost.value) for c, p in zip(counts, part, strict=True)))
        for label, counts, part in zip(
            report.problem.classes,
            best.counts.values[:, : len(decisions)].tolist(),
            parts[:, : len(decisions)].tolist(),
            strict=True,
        )
    )
    text = f"Cases of {best.name}, class by decision, and each cell's share of the cost."
    return Section("Where the money goes", (text,), Table(("", *map(str, decisions)), rows))


def _cell(count: float, part: float, cost: float) -> str:
    share = f" ({100 * part / cost:.3g} %)" if cost and part and not isnan(part) else ""
    return f"{number(count)}{share}"


def _disagreement(report: Report) -> Section:
    assert report.disagreement is not None
    columns = report.disagreement.columns()
    rows = tuple(
        tuple(number(cell) if isinstance(cell, float) else str(cell) for cell in row)
        for row in zip(*columns.values(), strict=True)
    )
    text = (
        "What familiar metrics say of the models, which one they pick, and what that pick costs "
        "per case above the cheapest. Decisions are the most probable classes."
    )
    return Section("What metrics would have picked", (text,), Table(tuple(columns), rows))


def _models(report: Report) -> Section:
    header = ("model", "AUC", "", "H", "norm. log loss", "norm. Brier", "cost of miscalibration")
    rows = tuple(
        (
            one.model,
            number(None if one.auc is None else one.auc.value),
            _ends(one.auc),
            number(one.h),
            number(one.normalized_log_loss),
            number(one.normalized_brier),
            number(one.calibration_cost),
        )
        for one in report.models
    )
    advice = tuple(f"{one.model}: {one.advice}." for one in report.models if one.advice)
    return Section("Quality of the scores", advice, Table(header, rows))


def _regions(report: Report) -> Iterator[Section]:
    for regions in report.regions:
        rows = tuple(
            (f"{number(part.low)} to {number(part.high)}", ", ".join(map(str, part.cheapest)))
            for part in regions.parts
        )
        yield Section(
            f"Where each system wins: {regions.axis}",
            ("With the decisions as they are.",),
            Table((regions.axis, "cheapest"), rows),
        )


def _margins(report: Report) -> Section:
    nearest = sorted(report.margins, key=_closeness)[:_NEAREST]
    rows = tuple(
        (
            one.what,
            number(one.value),
            number(one.low) if one.low_rival is not None else "never",
            str(one.low_rival or ""),
            number(one.high) if one.high_rival is not None else "never",
            str(one.high_rival or ""),
        )
        for one in nearest
    )
    header = ("", "now", "flips below", "to", "flips above", "to")
    left = len(report.margins) - len(nearest)
    text = (f"The nearest first; {left} more are in the JSON.",) if left else ()
    return Section("What would flip the verdict", text, Table(header, rows))


def _closeness(margin: Margin) -> float:
    distance = margin.distance
    return float("inf") if isnan(distance) else distance / max(abs(margin.value), 1e-12)


def _slices(report: Report) -> Section:
    best = report.verdict.cheapest
    rows = []
    for one in report.slices:
        costs = {part.system: part.cost for part in one.costs}
        own = costs[one.cheapest].value if one.cheapest is not None else float("nan")
        rows.append(
            (
                str(one.group),
                number(one.n_cases),
                number(costs[best].value),
                _ends(costs[best]),
                one.cheapest or "–",
                number(own),
                one.note or "",
            )
        )
    header = ("", "cases", best, "", "cheapest here", "at", "note")
    return Section("Slices", ("Cost per case.",), Table(header, tuple(rows)))


def _assumptions(report: Report) -> Section:
    made = report.assumptions
    source = "stated" if made.prior_stated else "of the data"
    prior = ", ".join(
        f"{label} {number(share)}"
        for label, share in zip(report.problem.classes, made.prior, strict=True)
    )
    rows = (
        ("cases", f"{number(made.n_cases)}{' (weighted)' if made.weighted else ''}"),
        ("prior", f"{prior} ({source})"),
        ("posteriors hold for", ", ".join(map(number, made.posterior_prior))),
        ("calibrator", made.calibrator or "none"),
        ("clusters", "none" if made.clusters is None else str(made.clusters)),
        ("intervals", f"{100 * made.level:.3g} %, {made.replicates} redraws, seed {made.seed}"),
        ("made by", f"stakes {made.version}"),
    )
    return Section("Assumptions", (), Table(("", ""), rows))
