"""The cheapest rules along lines of prices: one price moves, the others stay.

While the price of one limit rises, a case changes its decision at most once: it leaves the decision
of the limit for its best other one, or enters it. The cases, sorted by the prices at which they
change, give the cost and all shares of every rule on the line. This finds rules where the optimal
prices tie two decisions for all cases, so that a small step of all prices would move them together.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import NamedTuple

import numpy as np

from stakes._check import BoolArray, FloatArray
from stakes.limits.deployed_cases import SHARE_ROUNDING, CountedCases
from stakes.limits.exact_prices import leaving_prices, priced_costs

_NUDGE = 1e-8  # of a price, or of the span of costs: beyond rounding, so that it decides ties
_STEPS = (_NUDGE, 1e-3, 0.01, 0.1, 0.3, 1.0)  # the same for the distances of lines
_ALL_SIDES = 3  # limits up to which all combinations of sides are tried
_TIED = 1e-11  # relative: breakpoints that differ by rounding alone
_BEYOND = 1e-3  # of the span of costs: how far a price lies beyond the last breakpoint


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
