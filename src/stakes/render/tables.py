"""A report as sentences and small tables: what text, Markdown and notebooks have in common."""

from __future__ import annotations

from collections.abc import Iterator
from math import isnan
from textwrap import shorten

import numpy as np
import numpy.typing as npt

from stakes import _text
from stakes._check import FloatArray, Labels
from stakes.measures.cost import cost_shares
from stakes.problem import Problem
from stakes.regions import Margin
from stakes.render.layout import (
    WIDTH,
    Section,
    Table,
    cleaned,
    filled,
    folded,
    listed,
    middle,
    width_of,
)
from stakes.report import (
    BAYES,
    MOVED,
    RECALIBRATED,
    TUNED,
    TUNED_APART,
    Interval,
    Report,
    Slice,
    System,
)

__all__ = ["Section", "Table", "number", "sections", "stakes_sections"]

_NEAREST = 8  # margins that are shown; the JSON holds all of them
_DEAREST = 20  # cells that are listed, where there are too many for a table
_NAME = 30  # characters of a name in a cell
_FROZEN = "with the decisions as they are made now"
_EXPLAINED = {
    BAYES: "As is: Bayes decisions by the posteriors as they came.",
    MOVED: "Moved: Bayes decisions by posteriors moved to the prior of the problem.",
    RECALIBRATED: "Recalibrated: Bayes decisions by posteriors recalibrated out of fold.",
    TUNED_APART: "Tuned out of fold: each case decided by the best threshold of other cases.",
    TUNED: "* Tuned: by the best threshold of these very cases, a bound and no system to deploy.",
}


def number(value: float | None) -> str:
    """Four significant digits; a dash where there is no number.

    >>> number(0.123456), number(None), number(float("nan")), number(float("inf"))
    ('0.1235', '–', 'undefined', '∞')
    """
    return "–" if value is None else _text.number(value)


def sections(report: Report) -> Iterator[Section]:
    """All that a reader sees, in the order in which it is read."""
    for part in _sections(report):
        yield from folded(cleaned(part))


def stakes_sections(problem: Problem) -> Iterator[Section]:
    """The costs, class by class, and the prior where one is stated."""
    labels, decisions = _names(problem)
    header: tuple[str, ...] = ("class", *decisions)
    rows = [(label, *map(number, row)) for label, row in zip(labels, problem.costs, strict=True)]
    if problem.prior is not None:
        header = (*header, "prior")
        rows = [(*row, number(p)) for row, p in zip(rows, problem.prior.tolist(), strict=True)]
    unit = f" in {problem.unit}" if problem.unit else ""
    text = f"Cost{unit} of each decision, class by class."
    yield from folded(cleaned(Section("The stakes", (text,), Table(header, tuple(rows)))))


def _sections(report: Report) -> Iterator[Section]:
    yield Section("Verdict", report.verdict.sentences)
    yield _caveats(report)
    yield _systems(report)
    yield _money(report)
    if report.disagreement is not None and report.disagreement.metrics:
        yield _disagreement(report)
    yield _models(report)
    if any(one.expected_losses for one in report.models):
        yield _losses(report)
    if report.regions:
        yield from _regions(report)
    if report.margins:
        yield _margins(report)
    if report.slices:
        yield _slices(report)
    yield _assumptions(report)


def _names(problem: Problem) -> tuple[list[str], list[str]]:
    """Classes and decisions, as short as a table needs them."""
    classes = [middle(str(label), _NAME) for label in problem.classes]
    return classes, [middle(str(label), _NAME) for label in problem.decisions]


def _caveats(report: Report) -> Section:
    said = tuple(f"{caveat.kind}: {caveat.text}" for caveat in report.caveats)
    return Section("Caveats", said or ("None.",))


def _systems(report: Report) -> Section:
    unit = (f"Costs in {report.problem.unit}.",) if report.problem.unit else ()
    text = unit + tuple(_EXPLAINED[rule] for rule in _EXPLAINED if rule in _rules(report))
    level = _text.percent(report.assumptions.level)
    header = ("system", "cost per case", level, "normalised", "P(cheapest)", "threshold")
    ranked = sorted(report.systems, key=lambda one: (isnan(one.cost.value), one.cost.value))
    rows = [_system(one) for one in ranked]
    always = middle(f"always {report.naive.decision}", _NAME)
    rows.append((always, number(report.naive.cost), "", "1", "", ""))
    rows.append(("perfect decisions", number(report.perfect_cost), "", "0", "", ""))
    return Section("Cost of each system", text, filled(Table(header, tuple(rows))))


def _rules(report: Report) -> set[str]:
    return {system.rule for system in report.systems if system.name != system.model}


def _system(one: System) -> tuple[str, ...]:
    name = middle(one.name, _NAME)
    return (
        name if one.candidate else f"{name} *",
        number(one.cost.value),
        _ends(one.cost),
        number(one.normalized.value),
        _text.chance(one.probability_cheapest) if one.candidate else "cannot win *",
        ", ".join(map(number, one.cuts)) if one.cuts else number(one.threshold),
    )


def _ends(interval: Interval | None) -> str:
    if interval is None or isnan(interval.low) or isnan(interval.high):
        return "–"
    return f"{number(interval.low)} to {number(interval.high)}"


def _money(report: Report) -> Section:
    """Counts of the cheapest system and each cell's share of its cost."""
    best = report.best
    problem = report.problem
    below = bool((problem.costs < 0).any())
    basis = (problem.regret() if below else problem).with_prior(np.array(report.assumptions.prior))
    parts = cost_shares(best.counts, basis)
    total = float(parts.sum())
    shares = parts / total if total > 0 else np.zeros(parts.shape)
    what = "the regret, its cost above the best decision of the class" if below else "the cost"
    text = f"Cases of {best.name}, class by decision, and each cell's share of {what}."
    values = best.counts.values
    table = _cell_table(problem, values, shares)
    if width_of(table) <= WIDTH:
        return Section("Where the money goes", (text,), table)
    table = _cell_list(problem, values, shares)
    left = np.count_nonzero(values) - len(table.rows)
    more = (f"The dearest cells first; {left} more have cases.",) if left else ()
    return Section("Where the money goes", (text, *more), table)


def _cell_table(problem: Problem, counts: FloatArray, shares: FloatArray) -> Table:
    labels, decisions = _names(problem)
    rows = tuple(
        (label, *(f"{number(n)}{_share(part)}" for n, part in zip(own, parts, strict=True)))
        for label, own, parts in zip(labels, counts.tolist(), shares.tolist(), strict=True)
    )
    return Table(("class", *decisions), rows)


def _cell_list(problem: Problem, counts: FloatArray, shares: FloatArray) -> Table:
    """Cells that hold cases, the dearest first."""
    labels, decisions = _names(problem)
    order = np.lexsort((-counts.ravel(), -shares.ravel()))
    dearest = [place for place in order if counts.flat[place] > 0][:_DEAREST]
    rows = tuple(
        (labels[k], decisions[d], number(counts[k, d]), _text.percent(float(shares[k, d])))
        for k, d in (divmod(int(place), counts.shape[1]) for place in dearest)
    )
    return Table(("class", "decision", "cases", "share"), rows)


def _share(part: float) -> str:
    return f" ({_text.percent(part)})" if part > 0 else ""


def _disagreement(report: Report) -> Section:
    found = report.disagreement
    assert found is not None
    said = [("expected cost", found.costs, found.best, 0.0 if found.best.any() else float("nan"))]
    said += zip(found.metrics, found.values, found.picks, found.regret.tolist(), strict=True)
    rows = tuple(
        (name, _picks(found.models, chosen), number(regret), *map(_told, values.tolist()))
        for name, values, chosen, regret in said
    )
    text = (
        "What familiar metrics say of the models, which one they pick, and what that pick costs "
        "per case above the cheapest. Decisions are the most probable classes."
    )
    models = [middle(str(model), _NAME) for model in found.models]
    header = ("metric", "picks", "costs more", *models)
    return Section("What metrics would have picked", (text,), Table(header, rows))


def _told(value: float) -> str:
    return number(None if isnan(value) else value)


def _picks(models: Labels, chosen: npt.NDArray[np.bool_]) -> str:
    return listed((m for m, taken in zip(models, chosen, strict=True) if taken), _NAME)


def _models(report: Report) -> Section:
    level = _text.percent(report.assumptions.level)
    header = ("model", "AUC", level, "H", "norm. log loss", "norm. Brier", "miscalibration costs")
    rows = tuple(
        (
            middle(one.model, _NAME),
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
    return Section("Quality of the scores", advice, filled(Table(header, rows)))


def _losses(report: Report) -> Section:
    """Methods down, models across: a model whose scores allow a method has its loss."""
    losses = [dict(one.expected_losses) for one in report.models]
    methods = dict.fromkeys(name for own in losses for name in own)
    rows = tuple((name, *(number(own.get(name)) for own in losses)) for name in methods)
    header = ("method", *(middle(one.model, _NAME) for one in report.models))
    text = "Expected loss over all cost proportions, by how the threshold is chosen."
    return Section("Loss of each way to set thresholds", (text,), Table(header, rows))


def _regions(report: Report) -> Iterator[Section]:
    for regions in report.regions:
        rows = tuple(
            (f"{number(part.low)} to {number(part.high)}", listed(part.cheapest, _NAME))
            for part in regions.parts
        )
        text = f"The cheapest {_FROZEN}: they stay, only the {regions.axis} moves."
        yield Section(
            f"Where each system wins: {regions.axis}",
            (text,),
            Table((middle(regions.axis, _NAME), "cheapest"), rows),
        )


def _margins(report: Report) -> Section:
    nearest = _nearest_first(report)[:_NEAREST]
    rows = tuple(row for one in nearest for row in _flips(one))
    header = ("moved alone", "now", "flips", "to")
    left = len(report.margins) - len(nearest)
    more = f"; {left} more are in the JSON" if left else ""
    text = f"Each number moved alone, {_FROZEN}. The nearest first{more}."
    return Section("What would flip the verdict", (text,), Table(header, rows))


def _flips(one: Margin) -> Iterator[tuple[str, ...]]:
    """A row for each direction in which the verdict flips."""
    ends = (("below", one.low, one.low_rival), ("above", one.high, one.high_rival))
    flips = [
        (f"{side} {number(point)}", middle(str(rival), _NAME))
        for side, point, rival in ends
        if rival is not None
    ]
    named = (middle(one.what, _NAME + 10), number(one.value))
    for flip in flips or [("never", "")]:
        yield (*named, *flip)
        named = ("", "")


def _nearest_first(report: Report) -> list[Margin]:
    """By the move as a part of the largest cost, or of the whole prior."""
    costs = report.problem.costs
    size = float(np.abs(costs).max()) or 1.0

    def closeness(placed: tuple[int, Margin]) -> float:
        place, margin = placed  # the costs stand first, then the priors
        distance = margin.distance / (size if place < costs.size else 1.0)
        return float("inf") if isnan(distance) else distance

    return [margin for _, margin in sorted(enumerate(report.margins), key=closeness)]


def _slices(report: Report) -> Section:
    best = report.best.name
    level = _text.percent(report.assumptions.level)
    header = ("slice", "cases", "cost", level, "cheapest here", "at", "note")
    rows = tuple(_slice(one, best) for one in report.slices)
    return Section("Slices", (f"Cost per case of {best}.",), filled(Table(header, rows)))


def _slice(one: Slice, best: str) -> tuple[str, ...]:
    costs = {part.system: part.cost for part in one.costs}
    own = costs[one.cheapest].value if one.cheapest is not None else float("nan")
    return (
        middle(one.name, _NAME),
        number(one.n_cases),
        number(costs[best].value),
        _ends(costs[best]),
        middle(one.cheapest or "–", _NAME),
        _told(own),
        shorten(one.note or "", _NAME, placeholder=" …"),
    )


def _assumptions(report: Report) -> Section:
    made, labels = report.assumptions, report.problem.classes
    source = "stated" if made.prior_stated else "of the data"
    intervals = f"{_text.percent(made.level)}, {made.replicates} redraws, seed {made.seed}"
    said = (
        f"Prior, {source}: {_shares(labels, made.prior)}.",
        f"Posteriors hold for: {_shares(labels, made.posterior_prior)}.",
    )
    rows = (
        ("cases", f"{number(made.n_cases)}{' (weighted)' if made.weighted else ''}"),
        ("calibrator", made.calibrator or "none"),
        ("clusters", "none" if made.clusters is None else number(made.clusters)),
        ("intervals", intervals),
        ("made by", f"stakes {made.version}"),
    )
    return Section("Assumptions", said, Table(("assumption", "value"), rows))


def _shares(labels: Labels, prior: tuple[float, ...]) -> str:
    return ", ".join(f"{label} {number(p)}" for label, p in zip(labels, prior, strict=True))
