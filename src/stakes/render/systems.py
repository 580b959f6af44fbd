"""Tables of costs with their intervals: every system, the bounds, and the slices."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
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
from stakes.report import (
    AS_DECIDED,
    BAYES,
    MOVED,
    POSTERIOR_RULES,
    RECALIBRATED,
    TUNED,
    TUNED_APART,
    Report,
    Slice,
    System,
)

_EXPLAINED = {
    BAYES: "As is: for each case the decision that is the cheapest by the model's probabilities.",
    MOVED: "Moved: for each case the decision that is the cheapest by the model's probabilities, "
    "converted from the class shares for which they hold to the prior of the problem.",
    RECALIBRATED: "Recalibrated: for each case the decision that is the cheapest by the model's "
    "probabilities, corrected by a calibration map that was fitted to other cases.",
    TUNED_APART: "Tuned out of fold: one threshold on the score, the cheapest on other cases.",
    TUNED: "Tuned on these cases: one threshold on the score, the cheapest on the very cases that "
    "measure it.",
    AS_DECIDED: "As decided: the model's own decisions.",
}
_CHANCE = (
    "Chance: that of being the cheapest. It allows for luck, and is right on average over many "
    "comparisons."
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

_BELOW, _ABOVE = ("<", "≤", "<=", "under", "below", "up to"), (">", "≥", ">=", "over", "above")
_RANGE = re.compile(
    rf"\s*(?P<sign>{'|'.join(map(re.escape, sorted((*_BELOW, *_ABOVE), key=len, reverse=True)))}|)"
    r"\s*(?P<number>-?\d+(?:\.\d+)?)",
    re.IGNORECASE,
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
    chance = _chance if len(rivals) > 1 else lambda _: ""  # one alone is always the cheapest
    names = [(middle(one.name, NAME), chance(one), _threshold(one)) for one in shown]
    names += [(name, "", "") for name, _, _ in known]
    rows = _rows(names, costs, normal)
    perfect, blind = rows[-1], [*rows[len(rivals) + len(bounds) : -2], rows[-2]]
    rows, apart = rows[: len(rivals)], rows[len(rivals) : len(rivals) + len(bounds)]
    rows = [*rows, *blind, perfect] if report.verdict.deploy else [*blind, *rows, perfect]
    unit = (f"Costs in {report.problem.unit}.",) if report.problem.unit else ()
    text = unit + rules_explained(rivals)
    text += (_MODELLESS,) * len(modelless)
    text += (_CHANCE,) * (len(rivals) > 1)
    text += (_CHOSEN,) * (report.verdict.cost.value > report.best.cost.value)
    level = _text.percent(report.assumptions.level)
    header: tuple[str, ...] = ("system", "cost per case", level, "normalised")
    header = (*header, "chance", "threshold")
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


def rules_explained(systems: Iterable[System]) -> tuple[str, ...]:
    """A sentence for every decision rule among systems that are called after their rule."""
    rules = {system.rule for system in systems if system.name != system.model}
    return tuple(text for rule, text in _EXPLAINED.items() if rule in rules)


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
        return ", ".join(map(_text.probability, one.cuts))
    if one.threshold is None:
        return "–"
    likely = one.rule in POSTERIOR_RULES  # else it is a score, on a scale of its own
    return _text.probability(one.threshold) if likely else _text.point(one.threshold, 4)


# Slices ------------------------------------------------------------------------------------------


def slice_section(report: Report) -> Section:
    """The winner's cost in every group, the cheapest there, and whether the data can tell."""
    best, slices = report.best.name, in_order(report.slices)
    level = _text.percent(report.assumptions.level)
    header = ("slice", "cases", "cost", level, "cheapest here", "at", "clearly")
    costs = [{part.system: triple(part.cost) for part in one.costs} for one in slices]
    own = [spent[best] for spent in costs]
    here = [
        (nan, nan, nan) if one.cheapest is None else spent[one.cheapest]
        for one, spent in zip(slices, costs, strict=True)
    ]
    written = _text.measured_column([*own, *here])
    pairs = zip(own, written, here, written[len(own) :], strict=False)
    rows = tuple(_slice(*row) for row in zip(slices, pairs, strict=True))
    table = filled(Table(header, rows))
    room = max(NAME // 2, min(NAME, WIDTH - width_of(table) - 2))
    notes = (shortened(one.note or "", room) for one in slices)
    noted = tuple((*row, note) for row, note in zip(table.rows, notes, strict=True))
    text = f"Cost per case of {best}, the cheapest in each slice, and whether the data can tell."
    return Section("Slices", (text,), filled(Table((*table.header, "note"), noted)))


def in_order(slices: Iterable[Slice]) -> list[Slice]:
    """Slices column by column; groups that are ranges of numbers as one counts them.

    Other groups stay as they are in the report.
    """
    columns: dict[str | None, list[Slice]] = {}
    for one in slices:
        columns.setdefault(one.by, []).append(one)
    return [one for groups in columns.values() for one in _counted(groups)]


def _counted(groups: list[Slice]) -> list[Slice]:
    """Groups such as ≤25, 26–35 and >35 by their numbers, where all are of this kind."""
    ranges = {one.name: _RANGE.match(str(one.group)) for one in groups}

    def key(one: Slice) -> tuple[float, int]:
        match = ranges[one.name]
        assert match is not None
        sign = match["sign"].lower()
        return float(match["number"]), (sign in _ABOVE) - (sign in _BELOW)

    return sorted(groups, key=key) if all(ranges.values()) else groups


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
