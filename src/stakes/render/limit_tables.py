"""How every system stands to the limits, and what these cost at the margin."""

from __future__ import annotations

from stakes import _text
from stakes.render.layout import NAME, Section, Table, filled, middle
from stakes.report import Report

_PRICE = (
    "Price: what one more case with the decision saves at the margin (for a limit from below, one "
    "fewer); for a rate within a class, what a rate that is looser by one saves per case"
)
_FITTED = (
    "Shares and rates are those to expect once deployed. The decisions of each case were made with "
    "prices from other folds; prices are those of all cases, with which the rule is shipped."
)
_ROUNDED = (
    "Rules decide equal cases alike; deciding some by chance would use up the limits and cost less"
)
_LEFT = (
    "Normalised costs are counted in the cost of the best constant decision, whether it keeps the "
    "limits or not. What would flip the verdict is not worked out under limits: where costs move, "
    "prices would have to be fitted again."
)


def limit_section(report: Report) -> Section:
    """A row for each system and each limit."""
    unit = f", in {report.problem.unit}" if report.problem.unit else ""
    level = _text.percent(report.assumptions.level)
    shown = [*report.systems, *([] if report.no_model is None else [report.no_model])]
    rows = []
    for one in shown:
        for place, check in enumerate(one.limits):
            value, low, high = check.interval
            ends = f"{low.removesuffix(' %')} to {high}" if low != high else ""
            price = "–" if check.price is None else _text.number(check.price)
            name = "" if place else middle(one.name, NAME)
            rows.append((name, str(check.limit), value, ends, check.said, price))
    losses = [one.rounding_loss for one in shown if one.rounding_loss is not None]
    most, least = max(losses, default=0.0), 1e-9 * abs(report.best.cost.value)
    text: tuple[str, ...] = (_FITTED, f"{_PRICE}{unit}.")
    if most > least:
        text += (f"{_ROUNDED}: at most {_text.number(most, 2)} per case here{unit}.",)
    text += (_LEFT,)
    header = ("system", "limit", "share", level, "stands", "price")
    return Section("Limits", text, filled(Table(header, tuple(rows))))


def capacity_section(report: Report) -> Section | None:
    """What other limits would cost, for the system that the report is about; None if not known."""
    best = report.best
    points = best.limits[0].capacity if best.limits else ()
    if not points:
        return None
    unit = f", in {report.problem.unit}" if report.problem.unit else ""
    decision = best.limits[0].limit.decision
    text = (
        f"What {best.name} costs per case on these cases where at most that share of them gets "
        f"{decision}, and what one more saves there{unit}. The last share is the one that it has "
        f"without a limit."
    )
    rows = tuple(
        (f"{_text.number(100 * share, 3)} %", _text.number(cost), _text.number(price))
        for share, cost, price in points
    )
    header = ("capacity", "cost per case", "one more saves")
    return Section("Cost against capacity", (text,), Table(header, rows))
