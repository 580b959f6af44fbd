"""Sections about limits, their prices, and the cost of hard cases."""

from __future__ import annotations

from stakes import _text
from stakes.problem import Limit
from stakes.render import rounding
from stakes.render.layout import NAME, Section, Table, filled, middle
from stakes.render.line_picture import LinePicture
from stakes.report import CurvePoints, Report

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
