"""Tables of costs with their intervals: every system, the bounds, and the slices."""

from __future__ import annotations

from collections.abc import Iterator
from math import nan

from stakes import _text
from stakes.render.layout import (
    NAME,
    WIDTH,
    Section,
    Table,
    filled,
    middle,
    shortened,
    width_of,
)
from stakes.render.rounding import (
    Triple,
    cell,
    ends,
    ranked,
    told,
    triple,
)
from stakes.report import BAYES, MOVED, RECALIBRATED, TUNED_APART, Report, Slice, System

_EXPLAINED = {
    BAYES: "As is: Bayes decisions by the posteriors as they came.",
    MOVED: "Moved: Bayes decisions by posteriors moved to the prior of the problem.",
    RECALIBRATED: "Recalibrated: Bayes decisions by posteriors recalibrated out of fold.",
    TUNED_APART: "Tuned out of fold: each case decided by the best threshold of other cases.",
}
_CHANCE = "shrunk chance"
_SHRUNK = (
    "Shrunk chance: that a system is the cheapest, given that noise spreads costs; right on "
    "average over many comparisons."
)
_MODELLESS = (
    "Costs and prior, no model: for each case the decision that is the cheapest by its own costs "
    "and the prior alone. A model that costs more is not deployed."
)
_CHOSEN = (
    "Costs are those on these cases. The cheapest was chosen on them: the verdict says what to "
    "expect of it."
)
_BOUNDS = (
    "Thresholds tuned on the very cases that measure them: bounds on what a threshold can reach, "
    "and no systems to deploy."
)

_BROKEN = (
    "They clearly break a limit of the problem, whatever they cost, and cannot be recommended."
)


def system_sections(report: Report) -> Iterator[Section]:
    """The winner first, then its rivals and what needs no model; bounds stand apart."""
    rivals = ranked(report)
    apart_from = [one for one in report.systems if not one.candidate]
    bounds = sorted(apart_from, key=lambda one: (one.breaks_limit, *_undefined_last(one)))
    always = _always(report)
    known = ((always, report.naive.cost, 1.0), ("perfect decisions", report.perfect_cost, 0.0))
    modelless = [] if report.no_model is None else [report.no_model]
    shown = [*rivals, *bounds, *modelless]
    costs = [triple(one.cost) for one in shown] + [(cost, nan, nan) for _, cost, _ in known]
    normal = [triple(one.normalized) for one in shown] + [(value, nan, nan) for *_, value in known]
    names = [(middle(one.name, NAME), _chance(one), _threshold(one)) for one in shown]
    names += [(name, "", "") for name, _, _ in known]
    rows = _rows(names, costs, normal)
    perfect, blind = rows[-1], [*rows[len(rivals) + len(bounds) : -2], rows[-2]]
    rows, apart = rows[: len(rivals)], rows[len(rivals) : len(rivals) + len(bounds)]
    rows = [*rows, *blind, perfect] if report.verdict.deploy else [*blind, *rows, perfect]
    unit = (f"Costs in {report.problem.unit}.",) if report.problem.unit else ()
    rules = {system.rule for system in rivals if system.name != system.model}
    text = unit + tuple(_EXPLAINED[rule] for rule in _EXPLAINED if rule in rules)
    text += (_MODELLESS,) * len(modelless)
    text += (_SHRUNK,) * (len(rivals) > 1)
    text += (_CHOSEN,) * (report.verdict.cost.value > report.best.cost.value)
    level = _text.percent(report.assumptions.level)
    header: tuple[str, ...] = ("system", "cost per case", level, "normalised", _CHANCE, "threshold")
    made = report.assumptions
    if made.volume is not None:
        header = (*header, f"per {made.period}" if made.period else "in all")
        rows, apart = (_with_totals(part, report) for part in (rows, apart))
    text += _running(report)
    yield Section("Cost of each system", text, filled(Table(header, tuple(rows))))
    tuned = [row for row, one in zip(apart, bounds, strict=True) if not one.breaks_limit]
    if tuned:
        yield Section("Bounds", (_BOUNDS,), filled(Table(header, tuple(tuned))))
    if len(tuned) < len(bounds):
        broken = Table(header, tuple(apart[len(tuned) :]))
        yield Section("Systems that break a limit", (_BROKEN,), filled(broken))


def _always(report: Report) -> str:
    """The best constant decision, and whether it breaks a limit."""
    decision, limits = report.naive.decision, report.problem.limits
    kept = all(limit.excess(float(limit.decision == decision)) <= 0 for limit in limits)
    return middle(f"always {decision}{'' if kept else ' (breaks a limit)'}", NAME)


def _with_totals(rows: list[tuple[str, ...]], report: Report) -> list[tuple[str, ...]]:
    """Rows with the cost of all cases to come at their ends."""
    volume = report.assumptions.volume or 0.0
    shown = [*report.systems, *([] if report.no_model is None else [report.no_model])]
    costs = {middle(one.name, NAME): triple(one.total) for one in shown}
    always = _always(report)
    known = {always: report.naive.cost, "perfect decisions": report.perfect_cost}
    costs |= {name: (volume * cost, nan, nan) for name, cost in known.items()}
    totals = _text.measured_column([costs[row[0]] for row in rows])
    return [(*row, total[0]) for row, total in zip(rows, totals, strict=True)]


def _running(report: Report) -> tuple[str, ...]:
    """What running the models costs, which is in their costs."""
    named = [f"{name} {_text.number(cost)}" for name, cost in report.assumptions.running_costs]
    return (f"Running costs per case, which are included: {', '.join(named)}.",) * bool(named)


def _undefined_last(one: System) -> tuple[bool, float]:
    return one.cost.value != one.cost.value, one.cost.value


def _rows(
    names: list[tuple[str, str, str]], costs: list[Triple], normal: list[Triple]
) -> list[tuple[str, ...]]:
    written = zip(_text.measured_column(costs), _text.measured_column(normal), strict=True)
    return [
        (name, cost[0], ends(interval, cost, ""), share[0], probability, threshold)
        for (name, probability, threshold), interval, (cost, share) in zip(
            names, costs, written, strict=True
        )
    ]


def _chance(one: System) -> str:
    return cell(one.probability_cheapest, _text.chance(one.probability_cheapest)) * one.candidate


def _threshold(one: System) -> str:
    if one.cuts:
        return ", ".join(_text.point(cut, 4) for cut in one.cuts)
    return "–" if one.threshold is None else _text.point(one.threshold, 4)


# Slices ------------------------------------------------------------------------------------------


def slice_section(report: Report) -> Section:
    """The winner's cost in every group, the cheapest there, and whether the data can tell."""
    best = report.best.name
    level = _text.percent(report.assumptions.level)
    header = ("slice", "cases", "cost", level, "cheapest here", "at", "clearly")
    costs = [{part.system: triple(part.cost) for part in one.costs} for one in report.slices]
    own = [spent[best] for spent in costs]
    here = [
        (nan, nan, nan) if one.cheapest is None else spent[one.cheapest]
        for one, spent in zip(report.slices, costs, strict=True)
    ]
    written = _text.measured_column([*own, *here])
    pairs = zip(own, written, here, written[len(own) :], strict=False)
    rows = tuple(_slice(*row) for row in zip(report.slices, pairs, strict=True))
    table = filled(Table(header, rows))
    room = max(NAME // 2, min(NAME, WIDTH - width_of(table) - 2))
    notes = (shortened(one.note or "", room) for one in report.slices)
    noted = tuple((*row, note) for row, note in zip(table.rows, notes, strict=True))
    text = f"Cost per case of {best}, the cheapest in each slice, and whether the data can tell."
    return Section("Slices", (text,), filled(Table((*table.header, "note"), noted)))


def _slice(
    one: Slice, numbers: tuple[Triple, tuple[str, str, str], Triple, tuple[str, str, str]]
) -> tuple[str, ...]:
    own, written, here, there = numbers
    return (
        middle(one.name, NAME),
        _text.number(one.n_cases),
        cell(own[0], written[0]),
        ends(own, written),
        middle(one.cheapest or "–", NAME),
        cell(here[0], there[0]),
        told(one.clear),
    )
