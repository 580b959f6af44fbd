"""Sections with costs and their intervals: all systems, bounds, and slices."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import isfinite, nan

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
    bounds_text,
    cell,
    clear_text,
    ranked,
    triple,
)
from stakes.report import (
    AS_DECIDED,
    BAYES,
    MOVED,
    RECALIBRATED,
    TUNED,
    TUNED_APART,
    Report,
    Slice,
    System,
)
from stakes.rows import POSTERIORS

_MOST_SLICES = 200  # that tables show; the JSON holds all of them
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
    "Chance: an estimated probability of being the cheapest of these systems; constant decisions "
    "are not among them. Differences that chance alone may explain count for less."
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
    """Yield the section of all systems, the best first, then those of bounds and broken limits."""
    rivals = ranked(report)
    not_candidates = [system for system in report.systems if not system.candidate]
    bounds = sorted(
        not_candidates, key=lambda system: (system.breaks_limit, *_undefined_last(system))
    )
    known = _known(report)
    modelless = [] if report.no_model is None else [report.no_model]
    shown = [*rivals, *bounds, *modelless]
    costs = [triple(system.cost) for system in shown] + [(cost, nan, nan) for _, cost, _ in known]
    normal = [triple(system.normalized) for system in shown] + [
        (value, nan, nan) for *_, value in known
    ]
    chance = _chance if len(rivals) > 1 else lambda _: ""  # a single system is always the cheapest
    above = bool(_shared_corrected(report))  # they are named above the table
    thresholds = [_threshold(system, report, with_corrected=not above) for system in shown]
    names = [
        (middle(system.name, NAME), chance(system), threshold)
        for system, threshold in zip(shown, thresholds, strict=True)
    ]
    names += [(name, "", "") for name, _, _ in known]
    # All rows are written together, so that decimals agree, and are divided into tables afterwards.
    rows = _rows(names, costs, normal)
    perfect, blind = rows[-1], rows[len(rivals) + len(bounds) : -1]
    rows, apart = rows[: len(rivals)], rows[len(rivals) : len(rivals) + len(bounds)]
    rows = [*rows, *blind, perfect] if report.verdict.kind != "none" else [*blind, *rows, perfect]
    level = _text.percent(report.assumptions.level)
    header: tuple[str, ...]
    header = ("system", "cost per case", level, "normalised", "chance", "threshold")
    assumptions = report.assumptions
    if assumptions.volume is not None:
        header = (*header, f"per {assumptions.period}" if assumptions.period else "in all")
        rows, apart = (_with_totals(part, report) for part in (rows, apart))
    if naive_breaks_limit(report):  # the column of normalised costs is left out
        rows, apart = ([(*row[:3], "", *row[4:]) for row in part] for part in (rows, apart))
    text = _explanations(report, rivals)
    yield Section("Cost of each system", text, filled(Table(header, tuple(rows))))
    tuned = [row for row, system in zip(apart, bounds, strict=True) if not system.breaks_limit]
    if tuned:
        yield Section("Bounds", (_BOUNDS,), filled(Table(header, tuple(tuned))))
    if len(tuned) < len(bounds):
        broken = Table(header, tuple(apart[len(tuned) :]))
        yield Section("Systems that break a limit", (_BROKEN,), filled(broken))


def _explanations(report: Report, rivals: list[System]) -> tuple[str, ...]:
    """What the columns and the rules of the table of systems are."""
    text: tuple[str, ...]
    text = (f"Costs in {report.problem.unit}.",) if report.problem.unit else ()
    text += rules_explained(rivals)
    text += (_MODELLESS,) * (report.no_model is not None)
    text += (_CHANCE,) * has_chances(report)
    text += _on_columns(report)
    text += (_CHOSEN,) * (report.verdict.cost.value > report.best.cost.value)
    text += _running(report)
    constant = f"always {report.naive.decision}, the cheapest constant decision"
    left_out = f"Normalised costs are left out: {constant}, breaks a limit."
    return text + (left_out,) * naive_breaks_limit(report)


def has_chances(report: Report) -> bool:
    """Whether several systems compete, with known chances of being the cheapest."""
    rivals = ranked(report)
    return len(rivals) > 1 and any(isfinite(rival.probability_cheapest) for rival in rivals)


def rules_explained(systems: Iterable[System]) -> tuple[str, ...]:
    """A sentence for every decision rule among systems that are called after their rule."""
    rules = {system.rule for system in systems if system.name != system.model}
    return tuple(text for rule, text in _EXPLAINED.items() if rule in rules)


def naive_breaks_limit(report: Report) -> bool:
    """Whether the best constant decision breaks a limit, so that nobody may compare with it."""
    decision, limits = report.naive.decision, report.problem.limits
    return any(limit.excess(float(limit.decision == decision)) > 0 for limit in limits)


def _always(report: Report) -> str:
    """The name of the best constant decision, with a note if it breaks a limit."""
    note = " (breaks a limit)" if naive_breaks_limit(report) else ""
    return middle(f"always {report.naive.decision}", NAME) + note


def _known(report: Report) -> list[tuple[str, float, float]]:
    """Names, costs and normalised costs of constant and of perfect decisions.

    Where the best constant decision breaks a limit, the one of the verdict, which keeps all of
    them, comes first.
    """
    verdict, always, blind = report.verdict, _always(report), report.no_model
    naive, perfect = report.naive.cost, report.perfect_cost
    shares = (nan, nan) if naive == perfect else (1.0, 0.0)  # 0/0 where nothing can be gained
    known = [(always, naive, shares[0]), ("perfect decisions", perfect, shares[1])]
    names = {f"always {report.naive.decision}", "" if blind is None else blind.name}
    if naive_breaks_limit(report) and verdict.unaided is not None and verdict.unaided not in names:
        known.insert(0, (middle(verdict.unaided, NAME), verdict.unaided_cost, nan))
    return known


def _with_totals(rows: list[tuple[str, ...]], report: Report) -> list[tuple[str, ...]]:
    """Rows with one more column, the cost of all expected cases."""
    volume = report.assumptions.volume or 0.0
    shown = [*report.systems, *([] if report.no_model is None else [report.no_model])]
    costs = {middle(system.name, NAME): triple(system.total) for system in shown}
    costs |= {name: (volume * cost, nan, nan) for name, cost, _ in _known(report)}
    totals = _text.measured_column([costs[row[0]] for row in rows])
    return [(*row, total[0]) for row, total in zip(rows, totals, strict=True)]


def _running(report: Report) -> tuple[str, ...]:
    """A sentence about the running costs of models, if there are any."""
    named = [f"{name} {_text.number(cost)}" for name, cost in report.assumptions.running_costs]
    return (f"Running costs per case, which are included: {', '.join(named)}.",) * bool(named)


def _undefined_last(system: System) -> tuple[bool, float]:
    return system.cost.value != system.cost.value, system.cost.value


def _rows(
    names: list[tuple[str, str, str]], costs: list[Triple], normal: list[Triple]
) -> list[tuple[str, ...]]:
    """Rows of the table of systems, with numbers written to common decimals."""
    written = zip(_text.measured_column(costs), _text.measured_column(normal), strict=True)
    return [
        (name, cost[0], bounds_text(interval, cost, ""), share[0], probability, threshold)
        for (name, probability, threshold), interval, (cost, share) in zip(
            names, costs, written, strict=True
        )
    ]


def _chance(system: System) -> str:
    return (
        cell(system.probability_cheapest, _text.chance(system.probability_cheapest))
        * system.candidate
    )


def _threshold(system: System, report: Report, *, with_corrected: bool) -> str:
    """Where a system changes its decision, with the corrected probabilities there in brackets.

    In percent where the probabilities of the model decide as they are; else as the column has them.
    """
    if not system.changes:
        return "–"
    kinds = {quality.model: quality.kind for quality in report.models}
    if system.rule == TUNED and kinds[system.model] == POSTERIORS:
        return _text.probability(system.changes[0], system.digits)
    texts = [system.cut_text(cut) for cut in system.changes]
    if with_corrected and system.corrected:
        pairs = zip(texts, map(_text.probability, system.corrected), strict=True)
        texts = [f"{text} ({share})" for text, share in pairs]
    return ", ".join(texts) + " corrected" * (not system.on_own_column)


def _shared_corrected(report: Report) -> tuple[float, ...]:
    """The corrected probabilities that several cuts of all systems share, to be said once."""
    known = {system.corrected for system in report.systems if system.corrected}
    return known.pop() if len(known) == 1 and not report.problem.is_binary else ()


def _on_columns(report: Report) -> tuple[str, ...]:
    """What the thresholds in the table are cuts of."""
    if not any(system.corrected for system in report.systems):
        return ()
    shared = " and ".join(map(_text.probability, _shared_corrected(report)))
    there = f"which are {shared} once corrected" if shared else "corrected in brackets"
    return (
        f"Threshold: in percent of probabilities as they come; else scores of the model's own "
        f"column, {there}.",
    )


# Slices ------------------------------------------------------------------------------------------


def slice_section(report: Report) -> Section:
    """The section with the cost of the best system in every slice, and the cheapest there."""
    best, slices = report.best.name, _largest(report.slices)
    level = _text.percent(report.assumptions.level)
    header = ("slice", "cases", "cost", level, "cheapest here", "at", "clearly")
    costs = [{line.system: triple(line.cost) for line in part.costs} for part in slices]
    of_best = [spent[best] for spent in costs]
    of_cheapest = [
        (nan, nan, nan) if part.cheapest is None else spent[part.cheapest]
        for part, spent in zip(slices, costs, strict=True)
    ]
    written = _text.measured_column([*of_best, *of_cheapest])
    pairs = zip(of_best, written, of_cheapest, written[len(of_best) :], strict=False)
    rows = tuple(_slice(*row) for row in zip(slices, pairs, strict=True))
    table = filled(Table(header, rows))
    room = max(NAME // 2, min(NAME, WIDTH - width_of(table) - 2))
    notes = (shortened(part.note or "", room) for part in slices)
    noted = tuple((*row, note) for row, note in zip(table.rows, notes, strict=True))
    text = f"Cost per case of {best}, and the cheapest in each slice"
    judged = any(part.clear is not None for part in slices)
    text += ", and whether the data can tell." if judged else "."
    if left := len(report.slices) - len(slices):
        text += f" The {len(slices)} slices with the most cases; {left} more are in the JSON."
    return Section("Slices", (text,), filled(Table((*table.header, "note"), noted)))


def _largest(slices: tuple[Slice, ...]) -> tuple[Slice, ...]:
    """The slices with the most cases, in their order."""
    by_size = sorted(range(len(slices)), key=lambda place: -slices[place].n_cases)
    return tuple(slices[place] for place in sorted(by_size[:_MOST_SLICES]))


def _slice(
    part: Slice, numbers: tuple[Triple, tuple[str, str, str], Triple, tuple[str, str, str]]
) -> tuple[str, ...]:
    """A row of the table of slices."""
    of_best, written, of_cheapest, cheapest_written = numbers
    return (
        middle(part.name, NAME),
        _text.number(part.n_cases),
        cell(of_best[0], written[0]),
        bounds_text(of_best, written),
        middle(part.cheapest or "–", NAME),
        cell(of_cheapest[0], cheapest_written[0]),
        clear_text(part.clear),
    )
