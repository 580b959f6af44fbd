r"""The exact prices of limits: of a single one by sorting, of several by the convex dual.

With a single limit, a case gets the decision as long as what it saves, for each unit that the limit
counts, exceeds the price. It leaves the decision at the price

.. math:: t_i = \frac{\min_{e \ne d} C_{ie} - C_{id}}{g_i}

with :math:`g_i = 1` for a share and :math:`P(k \mid x_i)/\pi_k` for a rate. These prices, sorted,
are the breakpoints of the one-dimensional dual; the optimum is where the limit is reached.

With several limits, the dual is concave and piecewise linear in the prices:

.. math:: g(\lambda) = \sum_i m_i \min_d \Bigl(C_{id} + \sum_l s_l \lambda_l g_{lid}\Bigr)
          - \sum_l s_l \lambda_l b_l

Kelley's cutting planes maximise it: every evaluation takes one pass over the cases, and the linear
program of the cuts has one variable for each limit, and one for the height. The search ends where
the lowest cut and the dual have the same value.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from stakes._arithmetic import ratio
from stakes._check import FloatArray, shapes
from stakes._value import record
from stakes.limits.deployed_cases import SHARE_ROUNDING, CountedCases
from stakes.problem import Limit, infeasible

_TIED = 1e-11  # relative: breakpoints that differ by rounding alone
_CERTAIN = "posteriors that are certain of another class than the case has"
_BEYOND = 1e-3  # of the span of costs: how far a price lies beyond the last breakpoint


@record
class Breakpoints:
    """Groups of cases that leave a decision at one price, the highest first.

    Attributes
    ----------
    prices : (T,) decreasing; infinite for cases that no price changes
    reached : (T,) what the limit counts if all groups up to this one get the decision

    Examples
    --------
    A review saves 6 for one case in five and 2 for three more in ten. At a price of 4, only the
    former are reviewed:

    >>> breaks = grouped_breakpoints(np.array([6.0, 2.0, 2.0]), np.array([0.2, 0.1, 0.2]), 10.0)
    >>> breaks.prices, breaks.reached[breaks.prices > 4]
    (array([6., 2.]), array([0.2]))
    """

    prices: FloatArray
    reached: FloatArray


def leaving_prices(gains: FloatArray, counted: FloatArray) -> FloatArray:
    """The price (n,) at which each case leaves the decision of a limit.

    A case that the limit does not count keeps the decision at any price, or never takes it.

    Parameters
    ----------
    gains : (n,) what each case saves by the decision, against its best other one
    counted : (n,) what it counts against the limit

    Returns
    -------
    prices, (n,); infinite where a case is not counted

    Examples
    --------
    >>> leaving_prices(np.array([3.0, 1.0, -1.0]), np.array([0.5, 0.0, 0.0])).tolist()
    [6.0, inf, -inf]
    """
    shapes("n, n", gains=gains, counted=counted)
    beyond = np.where(gains >= 0, np.inf, -np.inf)
    return np.where(counted > 0, ratio(gains, counted), beyond)


def grouped_breakpoints(falling: FloatArray, weights: FloatArray, span: float) -> Breakpoints:
    """The breakpoints of cases that are sorted by the prices at which they leave.

    Parameters
    ----------
    falling : (n,) prices at which they leave, in decreasing order
    weights : (n,) what they count towards the limit
    span : the largest difference between the costs of two decisions

    Returns
    -------
    the breakpoints; cases whose prices differ by rounding alone are one group

    Examples
    --------
    >>> grouped_breakpoints(np.array([6.0, 2.0, 2.0]), np.array([0.2, 0.3, 0.5]), 10.0).reached
    array([0.2, 1. ])
    """
    shapes("N, N", falling=falling, weights=weights)
    with np.errstate(invalid="ignore"):
        steps = falling[:-1] - falling[1:]
        # The smaller of two neighbours is finite even if the other is infinite.
        size = np.minimum(np.abs(falling[:-1]), np.abs(falling[1:]))
        apart = steps > _TIED * (size + span)
    starts = np.flatnonzero(np.concatenate([[True], apart]))
    return Breakpoints(falling[starts], np.cumsum(np.add.reduceat(weights, starts)))


def gains_of(cases: CountedCases, place: int) -> FloatArray:
    """What the decision of a limit saves for each case, compared with its best other decision."""
    column = cases.columns[place]
    other_costs = np.delete(cases.costs, column, axis=0)
    return np.asarray(other_costs.min(axis=0, initial=np.inf) - cases.costs[column])


def one_price(cases: CountedCases) -> tuple[float, Iterator[float]]:
    """The price of the only limit, and prices of deterministic rules that keep it.

    What the limit counts goes by labels where they are known, else by posteriors.
    """
    weight = cases.mass * (cases.counted if cases.seen is None else cases.seen)[0]
    leaves = leaving_prices(gains_of(cases, 0), cases.counted[0])
    order = np.argsort(-leaves, kind="stable")
    breaks = grouped_breakpoints(leaves[order], weight[order], cases.span)
    return price_at(cases.limits[0], breaks, cases.span)


def price_at(limit: Limit, breaks: Breakpoints, span: float) -> tuple[float, Iterator[float]]:
    """The price of a limit, and prices of deterministic rules that keep it.

    The price is the lowest one that is optimal for the dual: what one more case is worth, at the
    margin. The others lie between breakpoints, so that no case is tied; the first of them is the
    cheapest.

    Parameters
    ----------
    limit : the limit
    breaks : where cases leave its decision
    span : the largest difference between the costs of two decisions

    Returns
    -------
    the price, and an iterator over the prices of deterministic rules

    Examples
    --------
    >>> breaks = Breakpoints(np.array([6.0, 2.0]), np.array([0.2, 0.5]))
    >>> price, rules = price_at(Limit.share("review", at_most=0.3), breaks, 10.0)
    >>> price, next(rules)
    (2.0, 4.0)
    """
    slack = span * _TIED
    if limit.sign > 0:
        broken = breaks.reached > limit.bound + SHARE_ROUNDING
        first = int(np.argmax(broken)) if broken.any() else breaks.prices.size
        if first < breaks.prices.size and breaks.prices[first] == np.inf:
            raise infeasible(limit, float(breaks.reached[first]), _CERTAIN)
        if first == breaks.prices.size or breaks.prices[first] < -slack:
            return 0.0, _with_none(_between(breaks, first - 1, -1, 1.0, span))
        return max(float(breaks.prices[first]), 0.0), _between(breaks, first, -1, 1.0, span)
    enough = breaks.reached >= limit.bound - SHARE_ROUNDING
    first = int(np.argmax(enough)) if limit.bound > 0 else -1
    if limit.bound > 0 and (not enough.any() or breaks.prices[first] == -np.inf):
        reached = float(breaks.reached[breaks.prices > -np.inf][-1:].sum())
        raise infeasible(limit, reached, _CERTAIN)
    if first < 0 or breaks.prices[first] > slack:
        return 0.0, _with_none(_between(breaks, max(first, 0), 1, -1.0, span))
    return max(-float(breaks.prices[first]), 0.0), _between(breaks, first, 1, -1.0, span)


def _with_none(prices: Iterator[float]) -> Iterator[float]:
    """Zero first, since the limit does not bind; then the others, in case ties violate it."""
    yield 0.0
    yield from prices


def _between(
    breaks: Breakpoints, place: int, step: int, sign: float, span: float
) -> Iterator[float]:
    """Prices between a breakpoint and the next higher one, each tighter than the last."""
    size = breaks.prices.size
    while 0 <= place < size:
        edge = sign * float(breaks.prices[place])
        after = place + step
        beyond = sign * float(breaks.prices[after]) if 0 <= after < size else np.inf
        margin = _BEYOND * max(span, abs(edge))
        price = (edge + beyond) / 2 if np.isfinite(beyond) else edge + margin
        if price > 0:
            yield price
        place = after


# Several limits ----------------------------------------------------------------------------------

_SCALE = 1e3  # of costs inside the linear program, whose tolerances are absolute
_EXACT = 1e-13  # of the span of costs: the gap at which cuts are exact
_MANY = 50_000  # with more cases, it pays to price a sample of them first
_FEW_LIMITS = 4  # a box of prices has 2 to this power corners, each of which takes one pass
_WIDTHS = (0.03, 0.15)  # relative: how far the prices of all cases may lie from those of a sample
_MOST_CUTS = 400  # far more than convergence takes; it bounds the time of a degenerate program
_HIGHEST = (1e2, 1e5, 1e9)  # bounds of prices, as multiples of the span of costs, in turn


class Dual(NamedTuple):
    """Optimal prices (L,), and the value of the dual: the cost of the best randomised rule."""

    prices: FloatArray
    value: float


Cut = tuple[float, FloatArray]  # a plane above the dual: its height at prices of zero, its slopes


def priced_costs(cases: CountedCases, prices: FloatArray) -> FloatArray:
    """Expected costs (M, n), including the prices of all limits."""
    costs = cases.costs.copy()
    parts = zip(cases.signs * prices, cases.columns, cases.counted, strict=True)
    for price, column, counted in parts:
        if price:
            costs[column] += price * counted
    return costs


def exact_prices(
    cases: CountedCases,
    bounds: FloatArray | None = None,
    start: FloatArray | None = None,
    enough: float = -np.inf,
) -> Dual:
    """The prices of all limits, for their bounds or for tighter ones.

    The search starts near the prices `start`; with many cases, a sample provides them. It ends as
    soon as the maximum is known to be at most `enough`. Where limits contradict each other, prices
    would be infinite, and end at the largest upper bound.
    """
    targets = cases.bounds if bounds is None else bounds
    if not cases.limits:
        return Dual(np.empty(0), float(cases.mass @ cases.costs.min(axis=0)))
    if cases.mass.size > _MANY and len(cases.limits) <= _FEW_LIMITS:
        if start is None:
            start = exact_prices(cases.thinned(_MANY // 2), targets, enough=enough).prices
        near = _near(cases, targets, start)
        if near is not None:
            return near
    points = [np.zeros(len(cases.limits)), *([] if start is None else [start])]
    for multiple in _HIGHEST:
        most = multiple * cases.span
        prices, points, cuts = _maximum(cases, targets, most, points, enough)
        if enough == -np.inf:
            prices = _lowest(cases, targets, most, prices, cuts)
        if (prices.prices < 0.99 * most).all():
            break
    return prices


def _near(cases: CountedCases, bounds: FloatArray, start: FloatArray) -> Dual | None:
    """The optimum in a box around some prices; None where it lies elsewhere.

    Priced costs are linear in the prices, so that a decision that is the cheapest at all corners of
    the box is the cheapest everywhere in it. In a small box this settles most cases, and the search
    needs only the others.
    """
    for width in _WIDTHS:
        reach = width * np.maximum(start, 0.01 * cases.span)
        box = np.maximum(start - reach, 0.0), start + reach
        decided = _cheapest(cases, box[0])
        settled = np.ones(decided.size, dtype=np.bool_)
        for corner in product(*zip(*box, strict=True)):
            settled &= _cheapest(cases, np.array(corner)) == decided
        if settled.mean() < 0.5:
            return None
        fixed, open_cases = cases.only(settled), cases.only(~settled)
        reached = fixed.values(decided[settled])
        # What the settled cases use of each limit is subtracted from its bound.
        prices = exact_prices(open_cases, bounds - reached, start)
        inside = (prices.prices > box[0]) | (box[0] == 0)
        if (inside & (prices.prices < box[1])).all():
            return Dual(prices.prices, prices.value + fixed.cost(decided[settled]))
    return None


def _cheapest(cases: CountedCases, prices: FloatArray) -> npt.NDArray[np.int8]:
    """The first of the cheapest decisions (n,) at these prices; faster than argmin."""
    costs = priced_costs(cases, prices)
    least = costs.min(axis=0)
    decided = np.zeros(least.size, dtype=np.int8)
    for place in range(len(costs) - 1, -1, -1):
        decided[costs[place] == least] = place
    return decided


def _maximum(
    cases: CountedCases,
    bounds: FloatArray,
    most: float,
    points: list[FloatArray],
    enough: float,
) -> tuple[Dual, list[FloatArray], list[Cut]]:
    """The maximum within a box, the points at which it was cut, and the cuts."""
    gap = _gap(cases)
    cuts: list[Cut] = []
    tried: list[FloatArray] = []
    best = Dual(np.zeros(len(bounds)), -np.inf)
    pending = list(points)  # good guesses cut away most of the box before the program is solved
    while len(tried) < _MOST_CUTS:
        if pending:
            point, upper = pending.pop(0), np.inf
        else:
            highest = _highest(cuts, most, cases.span)
            if highest is None:
                break
            point, upper = highest
        # Kelley's cutting planes: the dual is concave, so that every evaluation bounds it from
        # above everywhere.
        value, slope = _evaluated(cases, bounds, point)
        if value > best.value:
            best = Dual(point, value)
        repeated = any(np.array_equal(point, old) for old in tried)
        tried.append(point)
        cuts.append((value - float(slope @ point), slope))
        if upper - best.value <= gap or upper <= enough or (repeated and not pending):
            break
    return best, tried[-20:], cuts


def _gap(cases: CountedCases) -> float:
    return cases.span * _EXACT * (1.0 if cases.mass.size <= _MANY else 1e3)


def _lowest(
    cases: CountedCases, bounds: FloatArray, most: float, best: Dual, cuts: list[Cut]
) -> Dual:
    """Of all optimal prices, those with the lowest sum: what looser limits are worth.

    Where a limit is met exactly, or is zero or one, higher prices are also optimal; they say what
    tighter limits would cost.
    """
    gap, last = 10 * _gap(cases), best.prices
    cuts, enough = list(cuts), best.value - gap
    for _ in range(_MOST_CUTS):
        prices = _highest(cuts, most, cases.span, enough)
        if prices is None or prices[0].sum() >= (1 - 1e-9) * best.prices.sum():
            break
        value, slope = _evaluated(cases, bounds, prices[0])
        if value >= enough - gap:
            return Dual(prices[0], best.value)
        # The linear program cannot improve on its last answer within its tolerance.
        if np.array_equal(prices[0], last):
            break
        last = prices[0]
        cuts.append((value - float(slope @ last), slope))
    return best


def _evaluated(
    cases: CountedCases, bounds: FloatArray, prices: FloatArray
) -> tuple[float, FloatArray]:
    """The dual at these prices, and a subgradient: by how much the bounds are exceeded."""
    costs = priced_costs(cases, prices)
    least = costs.min(axis=0)
    decided = np.full(least.size, -1, dtype=np.int8)  # −1: a decision without a limit
    # Where decisions are tied, any of them gives a subgradient.
    for column in set(cases.columns.tolist()):
        decided[costs[column] == least] = column
    slope = cases.signs * (cases.values(decided) - bounds)
    return float(cases.mass @ least - prices @ (cases.signs * bounds)), slope


def _highest(
    cuts: list[Cut], most: float, span: float, enough: float | None = None
) -> tuple[FloatArray, float] | None:
    """Prices within the box at which the lowest cut is highest, and its height; None if not found.

    With `enough`, the prices of the lowest sum where it is at least as high as that.
    """
    from scipy.optimize import linprog

    scale = _SCALE / span
    offsets = np.array([offset for offset, _ in cuts]) * scale
    slopes = np.stack([slope for _, slope in cuts])
    size = slopes.shape[1]
    rows = np.column_stack([-slopes, np.ones(len(cuts))])
    aim, floor = np.append(np.zeros(size), -1.0), None
    if enough is not None:
        # Of several optimal prices the lowest are wanted, so that a limit that does not bind has a
        # price of zero.
        aim, floor = np.append(np.ones(size), 0.0), enough * scale
    solved = linprog(
        aim,
        A_ub=rows,
        b_ub=offsets,
        bounds=[*[(0.0, most * scale)] * size, (floor, None)],
        method="highs-ds",
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    if solved.x is None:
        return None  # numbers too large for the linear program: prices diverge
    return np.asarray(solved.x[:size]) / scale, float(solved.x[size]) / scale


def refuse_infeasible(cases: CountedCases) -> None:
    """Refuse limits that no rule, even a randomised one, can keep together.

    Each limit in turn is brought as close to its bound as the limits before it allow.
    """
    for place, limit in enumerate(cases.limits):
        if place == 0:
            continue
        bound = limit.sign * limit.bound
        least = exact_prices(cases.counting(place), enough=bound).value
        closest = limit.sign * least
        if limit.excess(closest) > 1e-9:
            raise infeasible(limit, closest)
