r"""The price of one limit, exactly.

A case takes the decision while what it saves there, for each unit that the limit counts, exceeds
the price: it leaves at a price of its own,

.. math:: t_i = \frac{\min_{e \ne d} C_{ie} - C_{id}}{g_i}

with :math:`g_i = 1` for a share and :math:`P(k \mid x_i)/\pi_k` for a rate. Sorted, these are the
breakpoints of the one-dimensional dual; the price is the one at which the limit is reached.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from stakes._check import FloatArray
from stakes.limits.counted_cases import ROUNDING, CountedCases
from stakes.problem import infeasible

_TIED = 1e-11  # relative: breakpoints that differ by rounding alone
_CERTAIN = "posteriors that are certain of another class than the case has"
_BEYOND = 1e-3  # of the span of costs: how far a price lies beyond the last breakpoint


@dataclass(frozen=True, eq=False)
class Breakpoints:
    """Groups of cases that leave a decision at one price, the highest first.

    Attributes
    ----------
    prices : (T,) falling; infinite for cases that no price reaches
    reached : (T,) what the limit counts if the decision is taken down to that group
    """

    prices: FloatArray
    reached: FloatArray


def breakpoints(cases: CountedCases, place: int = 0) -> Breakpoints:
    """The breakpoints of one limit: by labels where they are known, else by posteriors."""
    gains, counted = gains_of(cases, place), cases.counted[place]
    weight = cases.mass * (counted if cases.seen is None else cases.seen[place])
    # A case that the limit does not count keeps the decision at any price, or never takes it.
    with np.errstate(divide="ignore", invalid="ignore"):
        leaves = np.where(counted > 0, gains / counted, np.where(gains >= 0, np.inf, -np.inf))
    order = np.argsort(-leaves, kind="stable")
    falling = leaves[order]
    with np.errstate(invalid="ignore"):
        steps = falling[:-1] - falling[1:]
        size = np.minimum(np.abs(falling[:-1]), np.abs(falling[1:]))  # finite next to an infinite
        apart = steps > _TIED * (size + cases.span)
    starts = np.flatnonzero(np.concatenate([[True], apart]))
    sums = np.add.reduceat(weight[order], starts)
    return Breakpoints(falling[starts], np.cumsum(sums))


def gains_of(cases: CountedCases, place: int) -> FloatArray:
    """What each case saves by the decision of a limit, against its best other one, (n,)."""
    column = cases.columns[place]
    other_costs = np.delete(cases.costs, column, axis=0)
    return np.asarray(other_costs.min(axis=0, initial=np.inf) - cases.costs[column])


def one_price(cases: CountedCases) -> tuple[float, Iterator[float]]:
    """The price of the only limit, and prices of deterministic rules that keep it.

    The first is the lowest optimal dual value: what one more case is worth, at the margin. The
    others lie between breakpoints, so that no case is tied: the first is the cheapest.
    """
    limit, breaks = cases.limits[0], breakpoints(cases)
    slack = cases.span * _TIED
    if limit.sign > 0:
        broken = breaks.reached > limit.bound + ROUNDING
        first = int(np.argmax(broken)) if broken.any() else breaks.prices.size
        if first < breaks.prices.size and breaks.prices[first] == np.inf:
            raise infeasible(limit, float(breaks.reached[first]), _CERTAIN)
        if first == breaks.prices.size or breaks.prices[first] < -slack:
            return 0.0, _with_none(_between(breaks, first - 1, -1, 1.0, cases.span))
        return max(float(breaks.prices[first]), 0.0), _between(breaks, first, -1, 1.0, cases.span)
    enough = breaks.reached >= limit.bound - ROUNDING
    first = int(np.argmax(enough)) if limit.bound > 0 else -1
    if limit.bound > 0 and (not enough.any() or breaks.prices[first] == -np.inf):
        reached = float(breaks.reached[breaks.prices > -np.inf][-1:].sum())
        raise infeasible(limit, reached, _CERTAIN)
    if first < 0 or breaks.prices[first] > slack:
        return 0.0, _with_none(_between(breaks, max(first, 0), 1, -1.0, cases.span))
    return max(-float(breaks.prices[first]), 0.0), _between(breaks, first, 1, -1.0, cases.span)


def _with_none(prices: Iterator[float]) -> Iterator[float]:
    """Zero first, since the limit does not bind; then the others, in case ties break the limit."""
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
