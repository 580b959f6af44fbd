"""Sections about systems: costs and intervals, comparisons with the baseline, limits."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import isfinite, nan

from stakes import _text
from stakes._check import require
from stakes.inference import Measured
from stakes.problem import Limit
from stakes.render import layout as rounding
from stakes.render.layout import (
    NAME,
    WIDTH,
    LinePicture,
    Section,
    Table,
    Triple,
    bounds_text,
    cell,
    clear_text,
    filled,
    middle,
    ranked,
    shortened,
    tied,
    triple,
    width_of,
)
from stakes.report import (
    AS_DECIDED,
    BAYES,
    MOVED,
    RECALIBRATED,
    TUNED,
    TUNED_APART,
    Baseline,
    CurvePoints,
    Report,
    Slice,
    System,
)
from stakes.rows import POSTERIORS

# Comparison of all systems with the baseline, and a report in ten lines --------------------------

AGAINST = "Against the baseline"
_BRIEF_ROWS = 4


def baseline_section(report: Report, baseline: Baseline) -> Section:
    """The section with differences from the baseline, each with its own interval."""
    level = _text.percent(report.assumptions.level)
    header: tuple[str, ...] = ("system", "difference", level, "of its cost", "clearly")
    shown = [system for system in ranked(report) if _is_other(system, baseline)]
    costs: list[Triple] = [triple(system.difference) for system in shown]
    written = _text.measured_column(costs)
    rows: list[tuple[str, ...]] = [
        (
            middle(system.name, NAME),
            text[0],
            bounds_text(cost, text),
            _part(system, baseline),
            _clearly(system),
        )
        for system, cost, text in zip(shown, costs, written, strict=True)
    ]
    if baseline.margin:
        header = (*header, "no worse")
        rows = [(*row, _no_worse(system)) for row, system in zip(rows, shown, strict=True)]
    value, low, high = _text.measured(*triple(baseline.cost))
    cost = _text.in_unit(value, report.problem.unit)
    first = f"{baseline.system} costs {cost} per case ({level} interval {low} to {high})."
    return Section(AGAINST, (first, *baseline.sentences), Table(header, tuple(rows)))


def brief_sections(report: Report) -> tuple[str, str, Table, tuple[str, ...]]:
    """Heading, verdict, a small table and last lines, for a comment on a pull request."""
    baseline = report.baseline
    heading = gated_heading(report)
    level = _text.percent(report.assumptions.level)
    cost = _text.in_unit("cost per case", report.problem.unit, ", ")
    header: tuple[str, ...] = ("system", cost, level)
    systems = _in_brief(report)
    costs = [triple(system.cost) for system in systems]
    rows: list[tuple[str, ...]] = [
        (system.name, text[0], bounds_text(cost, text))
        for system, cost, text in zip(systems, costs, _text.measured_column(costs), strict=True)
    ]
    if baseline is not None:
        header = (*header, f"difference to {baseline.system}", level)
        gaps = [triple(system.difference) for system in systems]
        texts = zip(gaps, _text.measured_column(gaps), strict=True)
        more = [(text[0], bounds_text(gap, text)) for gap, text in texts]
        same = ("baseline", "")
        # The baseline has no difference to itself.
        rows = [
            (*row, *(gap_cells if _is_other(system, baseline) else same))
            for row, system, gap_cells in zip(rows, systems, more, strict=True)
        ]
    last = (*_caveat(report), _footer(report))
    verdict = tied(report.verdict.sentences[0], report.problem.unit)
    return heading, verdict, Table(header, tuple(rows)), last


def gated_heading(report: Report) -> str:
    """The first words of the verdict, and what came of each gate."""
    outcomes = (
        f"{gate.condition} {'passes' if gate.passed else 'does not pass'}" for gate in report.gates
    )
    return " · ".join([report.verdict.heading, *outcomes])


def _in_brief(report: Report) -> list[System]:
    """The best system, the baseline and other cheap ones, at most `_BRIEF_ROWS`."""
    baseline = report.baseline
    if baseline is None:
        return ranked(report)[:_BRIEF_ROWS]
    same = [system for system in report.systems if not _is_other(system, baseline)]
    named = {system.name: system for system in (report.best, *same, *ranked(report))}
    return list(named.values())[:_BRIEF_ROWS]


def _caveat(report: Report) -> tuple[str, ...]:
    if not report.caveats:
        return ()
    others = len(report.caveats) - 1
    more = f" ({others} more {'caveat' if others == 1 else 'caveats'} in the report.)"
    return (f"{report.caveats[0].kind}: {report.caveats[0].text}{more * bool(others)}",)


def _footer(report: Report) -> str:
    """The last line: cases, kind of differences, version."""
    assumptions, baseline = report.assumptions, report.baseline
    parts = [f"{_text.number(assumptions.n_cases)} cases", f"stakes {assumptions.version}"]
    if baseline is not None:
        pairs = "paired" if baseline.paired else "unpaired"
        parts.insert(1, f"differences {pairs}, each with the interval of its own pair, unadjusted")
    return "; ".join(parts) + "."


def _is_other(system: System, baseline: Baseline) -> bool:
    """Whether a system is not the baseline itself."""
    return not (baseline.paired and system.name == baseline.system)


def _part(system: System, baseline: Baseline) -> str:
    """The difference as a percentage of the baseline's cost, where that is positive."""
    if system.difference is None or not baseline.cost.value > 0:
        return "–"
    share = system.difference.value / baseline.cost.value
    return (
        f"{_text.rounded_to(100 * share, 1)} %" if abs(share) < 10 else _text.number(share) + " ×"
    )


def clearly(gap: Measured | None) -> str:
    """Whether the interval of a difference of costs excludes 0, in a word.

    Parameters
    ----------
    gap : Measured or None
        The difference with its interval.

    Returns
    -------
    str
        "cheaper", "costlier", "no", or a dash without a difference.

    Examples
    --------
    >>> clearly(Measured(-0.3, -0.5, -0.1)), clearly(Measured(-0.3, -0.7, 0.1)), clearly(None)
    ('cheaper', 'no', '–')

    Two systems that decide alike differ by nothing:

    >>> clearly(Measured(0.0, 0.0, 0.0))
    'no'
    """
    if gap is not None:
        require("gap", gap, Measured)
    if gap is None:
        return "–"
    return "cheaper" if gap.high < 0 else "costlier" if gap.low > 0 else "no"


def _clearly(system: System) -> str:
    return clearly(system.difference)


def _no_worse(system: System) -> str:
    return "yes" if system.beyond_margin is not None and system.beyond_margin.high <= 0 else "no"


# Sections with costs and their intervals: all systems, bounds, and slices ------------------------

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


# Sections about limits, their prices, and the cost of hard cases ---------------------------------

CAPACITY, COVERAGE = "Cost against capacity", "Cost against coverage"
_COVERAGES = (1.0, 0.95, 0.9, 0.8, 0.5)  # shares that the table shows

_SHARE = "Price: what one more case with the decision saves at the margin, by the probabilities"
_BELOW = " (for a limit from below, one fewer)"
_RATE = "what a rate within a class that is looser by one saves per case, at the margin"
_FITTED = (
    "Shares and rates are those to expect once deployed. The decisions of each case were made with "
    "prices from other folds; prices are those of all cases, with which the rule is shipped."
)
_ROUNDED = (
    "Rules decide equal cases alike; deciding some by chance would use up the limits and cost less"
)
_UNMOVED = (
    "At which other limit another system would be the choice is worked out for a single limit, for "
    "at most 200,000 rows in memory, and where a system keeps it."
)


def limit_section(report: Report) -> Section:
    """The section with a row for each system and limit."""
    limits = report.problem.limits
    unit = _text.in_unit("", report.problem.unit, ", in ")
    level = _text.percent(report.assumptions.level)
    shown = [*report.systems, *([] if report.no_model is None else [report.no_model])]
    rows = []
    for system in shown:
        for place, check in enumerate(system.limits):
            value, low, high = check.interval
            bounds = f"{low.removesuffix(' %')} to {high}" if low != high else ""
            price = "–" if check.price is None else _text.number(check.price, 3)
            name = "" if place else middle(system.name, NAME)
            what = (str(check.limit),) if len(limits) > 1 else ()
            rows.append((name, *what, value, bounds, check.outcome, price))
    losses = [system.rounding_loss for system in shown if system.rounding_loss is not None]
    most, least = max(losses, default=0.0), 1e-9 * abs(report.best.cost.value)
    alone = (f"{limits[0]}.",) if len(limits) == 1 else ()
    text: tuple[str, ...] = (*alone, _FITTED, f"{_price_text(limits)}{unit}.")
    if most > least:
        text += (f"{_ROUNDED}: at most {_text.prose(most, 2)} per case here{unit}.",)
    text += () if report.flips_under_limits else (_UNMOVED,)
    what = ("limit",) if len(limits) > 1 else ()
    kind = "rate" if all(limit.given is not None for limit in limits) else "share"
    header = ("system", *what, kind, level, "stands", "price")
    return Section("Limits", text, filled(Table(header, tuple(rows))))


def _price_text(limits: tuple[Limit, ...]) -> str:
    """The sentence that explains prices for these kinds of limits."""
    shares = [limit for limit in limits if limit.given is None]
    below = _BELOW if any(limit.sign < 0 for limit in shares) else ""
    if len(shares) == len(limits):
        return f"{_SHARE}{below}"
    return f"{_SHARE}{below}; or {_RATE}" if shares else f"Price: {_RATE}"


def capacity_section(report: Report) -> Section | None:
    """The section with the cost of the best system at other limits; None if unknown."""
    best = report.best
    points = best.limits[0].capacity if best.limits else ()
    if not points:
        return None
    unit = _text.in_unit("", report.problem.unit, ", in ")
    decision = best.limits[0].limit.decision
    text = (
        f"What {best.name} costs per case on these cases where at most that share of them gets "
        f"{decision}, and what one more saves there by its probabilities{unit}. The last share is "
        f"the one that it has without a limit."
    )
    rows = tuple(
        (f"{_text.number(100 * share, 3)} %", rounding.cost(cost, report), _text.number(price, 3))
        for share, cost, price in points
    )
    header = ("capacity", "cost per case", "one more saves")
    picture = LinePicture(
        CAPACITY,
        {"": tuple((share, cost) for share, cost, _ in points)},
        f"capacity: share of cases that may get {middle(str(decision), NAME)}",
        f"cost per case{_unit_of_picture(report)}",
        {best.limits[0].limit.bound: "limit"},
    )
    return Section(CAPACITY, (text,), Table(header, rows), picture)


def coverage_section(report: Report) -> Section | None:
    """The section with the cost of the best system without hard cases; None if unknown."""
    points, best = report.coverage, report.best
    if len(points) < 2:
        return None
    unit = _text.in_unit("", report.problem.unit, ", in ")
    apart = ", running costs apart" if best.running_cost else ""
    text = (
        f"What {best.name} costs on these cases where the hardest ones, whose decisions it expects "
        f"to cost the most, are left undecided{apart}{unit}. Leaving the next "
        f"case to somebody else pays if that costs less than the last column, which is what the "
        f"model expects this case to cost."
    )
    shown = [points[_nearest(points, share)] for share in _COVERAGES]
    rows = tuple(
        (
            f"{_text.number(100 * share, 3)} %",
            *(rounding.cost(per_case, report) for per_case in costs),
        )
        for share, *costs in dict.fromkeys(shown)
    )
    header = ("decided", "cost per decided case", "pays below")
    lines = {
        "pays below": tuple((share, price) for share, _, price in points),
        "cost per decided case": tuple((share, cost) for share, cost, _ in points),
    }
    names = "coverage: share of the cases that are decided", f"per case{_unit_of_picture(report)}"
    return Section(COVERAGE, (text,), Table(header, rows), LinePicture(COVERAGE, lines, *names))


def _unit_of_picture(report: Report) -> str:
    return f", in {middle(report.problem.unit, NAME)}" if report.problem.unit else ""


def _nearest(points: CurvePoints, share: float) -> int:
    return min(range(len(points)), key=lambda i: abs(points[i][0] - share))
