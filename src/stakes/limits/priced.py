"""Prices of limits: exact ones, and the cheap deterministic rules that keep them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import islice, product
from math import isnan
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from stakes._arithmetic import ratio
from stakes._check import BoolArray, FloatArray, IntArray, require, shapes
from stakes._text import measured, number, percent
from stakes._value import Value, record
from stakes.decide import label_array, mean_costs
from stakes.errors import InputError
from stakes.limits.deployed_cases import SHARE_ROUNDING, CountedCases, counted_cases, read_deployed
from stakes.problem import CaseCosts, Limit, Problem, infeasible

# The exact prices of limits: of a single one by sorting, of several by the convex dual -----------
#
# With a single limit, a case gets the decision as long as what it saves, for each unit that the
# limit counts, exceeds the price. It leaves the decision at the price
#
#     t_i = (min over e ≠ d of C_ie, less C_id) / g_i
#
# with g_i = 1 for a share and P(k | x_i)/π_k for a rate. These prices, sorted, are the
# breakpoints of the one-dimensional dual; the optimum is where the limit is reached.
#
# With several limits, the dual is concave and piecewise linear in the prices:
#
#     g(λ) = Σ_i m_i min_d (C_id + Σ_l s_l λ_l g_lid)
#           - Σ_l s_l λ_l b_l
#
# Kelley's cutting planes maximise it: every evaluation takes one pass over the cases, and the
# linear program of the cuts has one variable for each limit, and one for the height. The search
# ends where the lowest cut and the dual have the same value.

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
            return 0.0, _with_none(_between_breaks(breaks, first - 1, -1, 1.0, span))
        return max(float(breaks.prices[first]), 0.0), _between_breaks(breaks, first, -1, 1.0, span)
    enough = breaks.reached >= limit.bound - SHARE_ROUNDING
    first = int(np.argmax(enough)) if limit.bound > 0 else -1
    if limit.bound > 0 and (not enough.any() or breaks.prices[first] == -np.inf):
        reached = float(breaks.reached[breaks.prices > -np.inf][-1:].sum())
        raise infeasible(limit, reached, _CERTAIN)
    if first < 0 or breaks.prices[first] > slack:
        return 0.0, _with_none(_between_breaks(breaks, max(first, 0), 1, -1.0, span))
    return max(-float(breaks.prices[first]), 0.0), _between_breaks(breaks, first, 1, -1.0, span)


def _with_none(prices: Iterator[float]) -> Iterator[float]:
    """Zero first, since the limit does not bind; then the others, in case ties violate it."""
    yield 0.0
    yield from prices


def _between_breaks(
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


# The cheapest rules along lines of prices: one price moves, the others stay ----------------------
#
# While the price of one limit rises, a case changes its decision at most once: it leaves the
# decision of the limit for its best other one, or enters it. The cases, sorted by the prices at
# which they change, give the cost and all shares of every rule on the line. This finds rules where
# the optimal prices tie two decisions for all cases, so that a small step of all prices would move
# them together.

_NUDGE = 1e-8  # of a price, or of the span of costs: beyond rounding, so that it decides ties
_STEPS = (_NUDGE, 1e-3, 0.01, 0.1, 0.3, 1.0)  # the same for the distances of lines
_ALL_SIDES = 3  # limits up to which all combinations of sides are tried


class Candidate(NamedTuple):
    """Prices of a rule; the less it breaks limits, then the less it costs, the better."""

    broken: float  # the largest excess over a limit; zero where all are kept
    cost: float
    prices: FloatArray  # (L,)


def lines_near(cases: CountedCases, prices: FloatArray) -> Iterator[Candidate]:
    """The best rule on each line through prices near these, at several distances."""
    seen: set[tuple[float, ...]] = set()
    lines = product(_STEPS, range(prices.size))
    for step, place in lines:
        for side in sides(prices, cases.span, step):
            fixed = (place, *np.delete(side, place).tolist())
            if fixed not in seen:
                seen.add(fixed)
                yield from _best_on_line(cases, side, place)


def sides(prices: FloatArray, span: float, step: float = _NUDGE) -> Iterator[FloatArray]:
    """The prices, and prices a step above and below them; never negative, each only once."""
    size = prices.size
    signs = list(product((0, 1, -1), repeat=size)) if size <= _ALL_SIDES else None
    if signs is None:
        units = np.eye(size, dtype=int).tolist()
        signs = [(0,) * size, (1,) * size, (-1,) * size, *map(tuple, units)]
    reach = step * np.maximum(span, prices)
    seen: set[tuple[float, ...]] = set()
    for sign in signs:
        moved = np.maximum(prices + reach * np.array(sign), 0.0)
        if (key := tuple(moved.tolist())) not in seen:
            seen.add(key)
            yield moved


def _best_on_line(cases: CountedCases, prices: FloatArray, place: int) -> Iterator[Candidate]:
    """The best rule while the price of one limit moves; none where all prices tie cases."""
    column, free = cases.columns[place], prices.copy()
    free[place] = 0.0
    costs = priced_costs(cases, free)
    with_it = costs[column].copy()
    costs[column] = np.inf
    rival, every = costs.argmin(axis=0), np.arange(with_it.size)
    leaves = leaving_prices(costs[rival, every] - with_it, cases.counted[place])
    order = np.argsort(-leaves, kind="stable")
    low, high = _intervals(leaves[order], cases.limits[place].sign)
    clear = _apart(low, high, cases.span) & (high > 0)
    if not clear.any():
        return

    def running(start: float, steps: FloatArray) -> FloatArray:
        """Sums once the first cases, none to all, have the decision of the limit."""
        sums = np.concatenate([[0.0], np.cumsum((cases.mass * steps)[order])])
        return np.asarray(start + sums[clear])

    reached = [
        running(value, counted * (1.0 * (other == column) - (other == rival)))
        for value, counted, other in zip(
            cases.values(rival), cases.counted, cases.columns, strict=True
        )
    ]
    excess = cases.excess(np.stack(reached, axis=1)).max(axis=1)
    broken = np.where(excess > SHARE_ROUNDING, excess, 0.0)
    total = running(cases.cost(rival), cases.costs[column] - cases.costs[rival, every])
    best = int(np.lexsort((total, broken))[0])
    free[place] = _between(float(low[clear][best]), float(high[clear][best]), cases.span)
    yield Candidate(float(broken[best]), float(total[best]), free)


def _intervals(falling: FloatArray, sign: float) -> tuple[FloatArray, FloatArray]:
    """Between which prices (n + 1,) the first cases, none to all, have the decision."""
    edges = np.concatenate([[np.inf], falling, [-np.inf]])
    return (edges[1:], edges[:-1]) if sign > 0 else (-edges[:-1], -edges[1:])


def _apart(low: FloatArray, high: FloatArray, span: float) -> BoolArray:
    with np.errstate(invalid="ignore"):
        size = np.minimum(np.abs(low), np.abs(high))
        return np.asarray(high - low > _TIED * (size + span))


def _between(low: float, high: float, span: float) -> float:
    """A price between two breakpoints; zero where that is one."""
    if low < 0:
        return 0.0
    return (low + high) / 2 if np.isfinite(high) else low + _BEYOND * max(span, low)


# Prices of limits, and a cheap deterministic rule that keeps them --------------------------------

_ROUNDING = 1e-12  # relative: a cost this close to its lower bound has reached it
_ALL_SUBSETS = 3  # limits up to which rules for fewer limits are tried
_TIGHTENED = 40  # how often limits are tightened before the search ends without a rule
_LOTS = 2_000  # cases beyond which slight losses are left, because the search takes many passes
_SLIGHT = 1e-3  # of the span of costs
_TRIED = 10  # of the rules that look cheaper in a round, how many are decided by
_ROUNDS = 6  # of the search around the cheapest rule so far
_PASSES = 12_000_000  # cases that a search passes over; it ends with the line that reaches them

# Amounts (K, M) that are added to costs → decisions.
DecidePriced = Callable[[FloatArray], IntArray]


@record
class FittedPrices:
    """Fitted prices of limits, and a cheap deterministic rule that keeps the limits.

    Attributes
    ----------
    prices : (L,) what one more unit of each limit is worth, at the margin
    added : (L, K, M) what each limit adds to the costs of the deterministic rule
    decided : (n,) positions of its decisions
    dual_value : cost per case of the best randomised rule
    cost : cost per case of the deterministic rule, by the posteriors

    Examples
    --------
    A review saves 10p − 1. One of these cases can be reviewed; a second review would save 2:

    >>> from stakes.limits import priced_cases
    >>> from stakes.problem import Limit, Problem
    >>> problem = Problem([[0, 1], [10, 1]], limits=[Limit.share(1, at_most=0.25)])
    >>> rows = np.array([[0.9, 0.1], [0.8, 0.2], [0.7, 0.3], [0.6, 0.4]])
    >>> _, fitted = priced_cases(
    ...     problem, rows, np.ones(4), rows.mean(axis=0), problem.costs,
    ...     lambda amounts: (rows @ (problem.costs + amounts)).argmin(axis=1), None)
    >>> fitted.decided, fitted.prices.round(6), round(fitted.cost, 6)
    (array([0, 0, 0, 1]), array([2.]), 1.75)
    """

    prices: FloatArray
    added: FloatArray
    decided: IntArray
    dual_value: float
    cost: float

    @property
    def rounding_loss(self) -> float:
        """Cost per case above that of the best randomised rule."""
        return loss_beyond(self.cost, self.dual_value)


def loss_beyond(cost: float, dual_value: float) -> float:
    """By how much a cost exceeds its lower bound; 0 where that may be rounding."""
    loss = cost - dual_value
    return loss if loss > _ROUNDING * max(abs(cost), abs(dual_value)) else 0.0


def fit_prices(
    cases: CountedCases, cells: FloatArray, decide: DecidePriced, start: FloatArray | None = None
) -> FittedPrices:
    """Fit the prices of limits, and find a cheap deterministic rule that keeps the limits.

    Prices are added to the costs of the cells (L, K, M) that each limit counts. `decide` takes
    decisions exactly as the rule will later, so that ties are broken alike. The search starts at
    the prices `start`.
    """
    task = _Task(cases, cells * cases.signs[:, None, None], decide)
    prices, dual, rule = _of_one(task) if len(cases.limits) == 1 else _of_several(task, start)
    if rule is None:
        raise _no_rule(cases)
    # At the prices themselves, tied cases would have to be decided at random. The prices of the
    # deterministic rule lie elsewhere, where the limits are kept.
    added = rule.side[:, None, None] * task.signed
    return FittedPrices(prices, added, rule.decided, dual, cases.cost(rule.decided))


class _Kept(NamedTuple):
    """A deterministic rule that keeps all limits: its cost, its prices, its decisions."""

    cost: float
    side: FloatArray  # (L,)
    decided: IntArray  # (n,)


class _Task(NamedTuple):
    """Cases, what each limit adds to the costs for a price of one, and how a rule decides."""

    cases: CountedCases
    signed: FloatArray  # (L, K, M)
    decide: DecidePriced

    def tried(self, side: FloatArray) -> tuple[FloatArray, _Kept | None]:
        """The excess over each limit at some prices, and the rule if it keeps all of them."""
        decided = self.decide(np.tensordot(side, self.signed, 1))
        excess = _excess(self.cases, decided)
        kept = bool((excess <= SHARE_ROUNDING).all())
        return excess, _Kept(self.cases.cost(decided), side, decided) if kept else None

    def without(self, place: int) -> _Task:
        """The same cases and decisions under all limits but one, by the posteriors."""
        cases, others = self.cases, np.arange(len(self.cases.limits)) != place
        limits = (*cases.limits[:place], *cases.limits[place + 1 :])
        columns, counted = cases.columns[others], cases.counted[others]
        fewer = replace(cases, limits=limits, columns=columns, counted=counted, seen=None)
        return _Task(fewer, self.signed[others], self.decide)


class _Fit(NamedTuple):
    """Optimal prices, the value of the dual, and a deterministic rule, if one was found."""

    prices: FloatArray
    dual: float
    rule: _Kept | None


def _of_one(task: _Task) -> _Fit:
    """The first of the prices beyond that of the only limit whose decisions keep it."""
    price, sides = one_price(task.cases)
    rules = (task.tried(np.array([side]))[1] for side in sides)
    rule = next((rule for rule in rules if rule is not None), None)
    dual = np.nan if rule is None else _dual_of_one(task.cases, price, rule.decided)
    return _Fit(np.array([price]), dual, rule)


def _of_several(task: _Task, start: FloatArray | None = None) -> _Fit:
    """A rule near the optimal prices, or a cheaper one farther away."""
    cases = task.cases
    prices, dual = exact_prices(cases, start=start)
    rule = _nearby(task, prices)
    enough = _SLIGHT * cases.span if cases.mass.size > _LOTS else 0.0
    if rule is None or loss_beyond(rule.cost, dual) > enough:
        rule = _searched(task, prices, _of_fewer(task, rule))
    return _Fit(prices, dual, rule)


def _of_fewer(task: _Task, rule: _Kept | None) -> _Kept | None:
    """The rule, or a cheaper one that is made for all limits but one and keeps them all."""
    size = len(task.cases.limits)
    few = size <= _ALL_SUBSETS and task.cases.mass.size <= _LOTS
    for place in range(size if few else 0):
        fewer = task.without(place)
        other = (_of_one(fewer) if size == 2 else _of_several(fewer)).rule
        if other is not None and (rule is None or other.cost < rule.cost):
            rule = _cheaper(rule, task.tried(np.insert(other.side, place, 0.0))[1])
    return rule


def _cheaper(rule: _Kept | None, other: _Kept | None) -> _Kept | None:
    return other if other is not None and (rule is None or other.cost < rule.cost) else rule


def _searched(task: _Task, prices: FloatArray, rule: _Kept | None) -> _Kept | None:
    """The cheapest rule on lines of prices near the optimal ones, then near that rule."""
    cases = task.cases.distinct()
    lines = _PASSES // cases.mass.size
    least = (np.inf, np.inf)
    for _ in range(_ROUNDS):
        candidates = list(islice(lines_near(cases, prices), lines))
        lines -= len(candidates)
        candidates.sort(key=lambda candidate: candidate[:2])
        for broken, cost, side in candidates[:_TRIED]:
            if broken or (rule is not None and cost >= rule.cost):
                break
            # Rounding may decide cases otherwise whose costs are nearly the same.
            cheaper = _cheaper(rule, task.tried(side)[1])
            if cheaper is not rule:
                rule = cheaper
                break
        if not candidates or candidates[0][:2] >= least:
            break
        least, prices = candidates[0][:2], candidates[0].prices
    return rule


def _dual_of_one(cases: CountedCases, price: float, decided: IntArray) -> float:
    """The value of the dual at the price of one limit."""
    seen = cases.seen_values(decided)
    if seen is not None:
        return cases.cost(decided) + price * float(cases.excess(seen)[0])
    least = priced_costs(cases, np.array([price])).min(axis=0)
    return float(cases.mass @ least) - price * float(cases.signs[0] * cases.bounds[0])


def _excess(cases: CountedCases, decided: IntArray) -> FloatArray:
    """By how much decisions exceed each limit: by labels for one limit, else by posteriors.

    The price of a single limit is fitted on labels, those of several limits on posteriors.
    """
    seen = cases.seen_values(decided) if len(cases.limits) == 1 else None
    return cases.excess(cases.values(decided) if seen is None else seen)


def _nearby(task: _Task, prices: FloatArray) -> _Kept | None:
    """The cheapest rule a little beside these prices that keeps all limits.

    Cases that are tied at the prices are decided one way, then the other. Where no combination
    keeps all limits, these are tightened by the excess and priced again.
    """
    cases = task.cases
    tighter = np.zeros(len(cases.limits))
    for _ in range(_TIGHTENED):
        best: _Kept | None = None
        least_broken: FloatArray | None = None
        for side in sides(prices, cases.span):
            excess, rule = task.tried(side)
            if rule is not None:
                best = rule if best is None or rule.cost < best.cost else best
            elif least_broken is None or excess.max() < least_broken.max():
                least_broken = excess
        if best is not None:
            return best
        # Only checked after prices have failed, because feasibility takes a search of its own.
        if not tighter.any():
            refuse_infeasible(cases)
        assert least_broken is not None
        # At least doubled each time, because with very many cases prices are only exact to a case
        # or two.
        tighter = np.where(
            least_broken > SHARE_ROUNDING, np.maximum(2 * tighter, least_broken), tighter
        )
        bounds = cases.bounds - cases.signs * tighter
        prices = exact_prices(cases, bounds, start=prices).prices
    return None


def _no_rule(cases: CountedCases) -> InputError:
    listed = "; ".join(map(str, cases.limits))
    size = cases.mass.size
    equal = size - cases.distinct().mass.size
    tied = f": {equal} of these {size} cases repeat{'s' * (equal == 1)} another" if equal else ""
    return InputError(
        f"limits must leave room for a rule that decides equal cases alike; for {listed}, no "
        f"prices were found at which a rule without chance keeps all of them{tied}. Loosen a "
        f"limit, or keep counts of each batch with rule.decide(batch, limits=[Limit.count(…)])."
    )


# Prices of limits, from posteriors and a problem, and whether a system keeps them ----------------


@record
class LimitCheck(Value):
    """The share or rate of a system in deployment, with its interval, and the price of the limit.

    `price` is what one more unit of the limit saves at the margin, in the problem's unit: for a
    share, what one more case with the decision saves; for a rate, what loosening the rate by one
    saves per case. It is None where the system cannot follow a limit. `total` is what loosening the
    limit by one percentage point saves at the stated volume. If the only limit is an upper bound on
    a share, `capacity` says what other shares would cost per case on these cases.

    Examples
    --------
    >>> from stakes import Limit
    >>> check = LimitCheck(Limit.share("review", at_most=0.05), 0.08, 0.07, 0.09)
    >>> check.keeps, check.breaks, check.outcome
    (False, True, 'breaks')
    """

    limit: Limit
    value: float
    low: float
    high: float
    price: float | None = None
    total: float | None = None
    capacity: tuple[tuple[float, float, float], ...] = ()  # share, cost per case, price there

    @property
    def keeps(self) -> bool:
        """Whether the limit is clearly kept: the whole interval lies within it."""
        farthest = self.high if self.limit.sign > 0 else self.low
        return bool(self.limit.excess(farthest) <= SHARE_ROUNDING)

    @property
    def breaks(self) -> bool:
        """Whether the limit is clearly broken: the whole interval lies beyond it."""
        nearest = self.low if self.limit.sign > 0 else self.high
        return bool(self.limit.excess(nearest) > SHARE_ROUNDING)

    @property
    def outcome(self) -> str:
        """Whether it is shown that the system keeps or breaks the limit, in words."""
        if isnan(self.value):
            return "unknown"
        if self.breaks:
            return "breaks"
        return "keeps" if self.keeps else "not shown"

    @property
    def interval(self) -> tuple[str, str, str]:
        """Value, lower and upper bound in percent, with the digits that the interval supports."""
        texts = measured(100 * self.value, 100 * self.low, 100 * self.high)
        ranged = self.low < self.high and not isnan(self.value)
        return tuple(f"{text} %" for text in texts) if ranged else self._exact  # type: ignore[return-value]

    @property
    def _exact(self) -> tuple[str, str, str]:
        return percent(self.value), percent(self.low), percent(self.high)


@record(repr=False)
class PricedLimits(Value):
    """Prices of the limits of a problem, and a cheap deterministic rule that keeps them.

    Attributes
    ----------
    problem : the problem with its limits
    prices : (L,) what each limit costs at the margin, in the problem's unit
        For a share, what one more case with that decision would save; for a rate, what a rate that
        is looser by one would save per case. Zero where the limit does not bind.
    priced : the problem without limits whose Bayes decisions are the rule
        Its costs include prices. That of a single limit lies a little above its price in `prices`,
        halfway to the next case that would change, so that no case is tied; those of several may
        lie farther away, where the rule is cheaper.
    added : (L, K, M) what each limit adds to the costs of `problem`
    decisions : (n,) what the rule decides about these cases
    values : (L,) the share or rate of each limit on these cases, by their labels where they are
        known, else by their posteriors
    dual_value : cost per case of the best rule, which may randomise
    cost : cost per case of the rule, by the posteriors
    prior : (K,) the class shares at which limits are counted
    from_prior : (K,) the class shares for which the posteriors hold, if they are moved; else None

    Examples
    --------
    A review saves 10p − 1. One of these cases can be reviewed; a second review would save 2:

    >>> problem = Problem([[0, 1], [10, 1]], decisions=["pass", "review"],
    ...                   limits=[Limit.share("review", at_most=0.25)])
    >>> priced = price_limits([0.1, 0.2, 0.3, 0.4], problem)
    >>> priced.decisions.tolist(), priced.prices.round(6)
    (['pass', 'pass', 'pass', 'review'], array([2.]))
    """

    problem: Problem
    prices: FloatArray
    priced: Problem
    added: FloatArray
    decisions: npt.NDArray[Any]
    values: FloatArray
    dual_value: float
    cost: float
    prior: FloatArray
    from_prior: FloatArray | None

    @property
    def rounding_loss(self) -> float:
        """Cost per case above that of the best rule, which may randomise.

        No rule that keeps the limits by the posteriors saves more than this.
        """
        return loss_beyond(self.cost, self.dual_value)

    @property
    def kept(self) -> BoolArray:
        """Whether the rule keeps each limit on these cases, (L,)."""
        pairs = zip(self.problem.limits, self.values.tolist(), strict=True)
        return np.array([limit.excess(value) <= SHARE_ROUNDING for limit, value in pairs])

    def __repr__(self) -> str:
        unit = f" {self.problem.unit}" if self.problem.unit else ""
        lines = [
            f"  {limit}: price {number(price)}{unit}, {_met(limit, value)}"
            for limit, price, value in zip(
                self.problem.limits, self.prices.tolist(), self.values.tolist(), strict=True
            )
        ]
        loss = f"{number(self.rounding_loss)}{unit} more than the best randomised rule"
        head = f"PricedLimits: {number(self.cost)}{unit} per case, {loss}"
        return "\n".join([head, *lines])


def _met(limit: Limit, value: float) -> str:
    return f"{'met' if limit.excess(value) <= SHARE_ROUNDING else 'broken'} at {number(value)}"


def price_limits(
    posteriors: object,
    problem: Problem,
    *,
    y_true: object = None,
    data: object = None,
    weights: object = None,
    posterior_prior: object = None,
) -> PricedLimits:
    r"""Prices of the limits of a problem, and a cheap deterministic rule that keeps them.

    Costs and limits are linear in the decisions, so that the best rule takes the cheapest decision
    after a price is added to the costs. The price of a share is added to the column of its
    decision; that of a rate, divided by the prior of the class, to the cell of its class and
    decision. The prices maximise the dual

    .. math:: g(\lambda) = E \min_d \sum_k P(k \mid x)
              \Bigl(c_{kd} + \sum_l \lambda_l a_{lkd}\Bigr) - \sum_l \lambda_l b_l

    exactly for one limit, by its breakpoints, and by cutting planes for several. The rule is
    deterministic and keeps the limits on these cases, even where cases are tied. For one limit it
    is the cheapest that a price gives; for several it is the cheapest that a search found along
    lines of prices, and `rounding_loss` bounds what it misses. Limits that no rule can keep are
    refused; the message says what can be kept.

    Parameters
    ----------
    posteriors : array_like of shape (n, K), or (n,) for P(second class) of two
    problem : with limits
    y_true : labels of the true classes, (n,), optional
        The price of a single limit is then set so that it is met on the labelled cases. Several
        limits are priced by the posteriors; `values` says what they are on the labelled cases.
    data : frame, or mapping from column to numbers, with the columns that costs depend on
    weights : (n,) weights of the cases
    posterior_prior : the prior for which the posteriors hold; by default the class shares of the
        cases, by their labels or by the mean of their posteriors. Where the problem states
        another, posteriors and shares are moved to it.

    Returns
    -------
    PricedLimits

    Examples
    --------
    Reviewers can take one payment in ten:

    >>> import numpy as np
    >>> problem = Problem({"legit": {"approve": 0, "review": 3, "block": 25},
    ...                    "fraud": {"approve": 180, "review": 8, "block": 0}},
    ...                   limits=[Limit.share("review", at_most=0.1)], unit="EUR")
    >>> payments = np.linspace(0.005, 0.5, 100) ** 2
    >>> priced = price_limits(payments, problem)
    >>> priced
    PricedLimits: 9.582 EUR per case, 0 EUR more than the best randomised rule
      review: at most 10 % of cases: price 17.32 EUR, met at 0.1
    >>> from stakes import bayes_decisions
    >>> bool((bayes_decisions(payments, priced.priced) == priced.decisions).all())
    True
    """
    require("problem", problem, Problem)
    if not problem.limits:
        raise InputError(
            "problem must have limits to be priced; it has none. Write problem.with_limits([…]), "
            "or take bayes_decisions, which needs no prices."
        )
    deployed = read_deployed(posteriors, problem, y_true, data, weights, posterior_prior)

    def decide(amounts: FloatArray) -> IntArray:
        return deployed.decide(plus(deployed.costs, amounts))

    cases, fitted = priced_cases(
        problem,
        deployed.rows,
        deployed.mass,
        deployed.prior,
        deployed.costs,
        decide,
        deployed.truth,
    )
    # Where labels are known, values are those of the labelled cases: posteriors may be wrong.
    seen = cases.seen_values(fitted.decided)
    return PricedLimits._trusted(
        problem=problem,
        prices=fitted.prices,
        priced=problem.plus(fitted.added.sum(axis=0)),
        added=fitted.added,
        decisions=label_array(problem.decisions)[fitted.decided],
        values=cases.values(fitted.decided) if seen is None else seen,
        dual_value=fitted.dual_value,
        cost=fitted.cost,
        prior=deployed.prior,
        from_prior=deployed.from_prior,
    )


def priced_cases(
    problem: Problem,
    rows: FloatArray,
    mass: FloatArray,
    prior: FloatArray,
    costs: FloatArray | CaseCosts,
    decide: DecidePriced,
    truth: IntArray | None,
    start: FloatArray | None = None,
) -> tuple[CountedCases, FittedPrices]:
    """Count cases towards the limits of a problem, and fit prices; the inputs are not checked.

    Parameters
    ----------
    problem : what is at stake: costs, prior, labels
    rows : checked posteriors, (n, K)
    mass : weight of each case, (n,)
    prior : (K,) class shares at which limits are counted
    costs : costs of each decision, (K, M), or of every case
    decide : gives the decisions (n,) once amounts (K, M) are added to the costs
    truth : (n,) position of the true class of each case; None where it is not known
    start : (L,) prices to begin with

    Returns
    -------
    the counted cases and the prices

    Examples
    --------
    >>> from stakes.decide import cheapest_decisions
    >>> problem = Problem([[0, 3], [180, 8]], limits=[Limit.share(1, at_most=0.5)])
    >>> rows = np.array([[0.9, 0.1], [0.5, 0.5], [0.2, 0.8], [0.3, 0.7]])
    >>> _, fitted = priced_cases(
    ...     problem, rows, np.ones(4), np.array([0.5, 0.5]), problem.costs,
    ...     lambda amounts: cheapest_decisions(rows, problem.costs + amounts), None)
    >>> fitted.decided.tolist(), fitted.prices.round(1).tolist()
    ([0, 0, 1, 1], [84.5])
    """
    shapes(f"n K, n, K, K {problem.n_decisions}", rows=rows, mass=mass, prior=prior, costs=costs)
    cells = np.stack(
        [limit.cells(problem.classes, problem.decisions, prior) for limit in problem.limits]
    )
    columns = np.array([problem.decisions.index(limit.decision) for limit in problem.limits])
    expected = mean_costs(rows, costs)
    cases = counted_cases(rows, mass, expected, problem.limits, cells, columns, truth)
    return cases, fit_prices(cases, cells, decide, start)


def plus(costs: FloatArray | CaseCosts, amounts: FloatArray) -> FloatArray | CaseCosts:
    """Costs, one table for all cases or one for each case, with an amount added to each cell.

    Parameters
    ----------
    costs : costs of each decision, (K, M), or of every case
    amounts : what to add to each cell, (K, M)

    Returns
    -------
    costs with the amounts

    Examples
    --------
    >>> plus(np.array([[0.0, 3.0], [9.0, 1.0]]), np.array([[0.0, 2.0], [0.0, 2.0]]))
    array([[0., 5.],
           [9., 3.]])
    """
    shapes("k m, k m", costs=costs, amounts=amounts)
    return costs.plus(amounts) if isinstance(costs, CaseCosts) else costs + amounts
