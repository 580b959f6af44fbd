r"""The exact price of a single limit.

A case gets the decision as long as what it saves, for each unit that the limit counts, exceeds the
price. It leaves the decision at the price

.. math:: t_i = \frac{\min_{e \ne d} C_{ie} - C_{id}}{g_i}

with :math:`g_i = 1` for a share and :math:`P(k \mid x_i)/\pi_k` for a rate. These prices, sorted,
are the breakpoints of the one-dimensional dual; the optimum is where the limit is reached.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from stakes._check import FloatArray
from stakes._value import record
from stakes.limits.deployed_cases import ROUNDING, CountedCases
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
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(counted > 0, gains / counted, np.where(gains >= 0, np.inf, -np.inf))


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
        broken = breaks.reached > limit.bound + ROUNDING
        first = int(np.argmax(broken)) if broken.any() else breaks.prices.size
        if first < breaks.prices.size and breaks.prices[first] == np.inf:
            raise infeasible(limit, float(breaks.reached[first]), _CERTAIN)
        if first == breaks.prices.size or breaks.prices[first] < -slack:
            return 0.0, _with_none(_between(breaks, first - 1, -1, 1.0, span))
        return max(float(breaks.prices[first]), 0.0), _between(breaks, first, -1, 1.0, span)
    enough = breaks.reached >= limit.bound - ROUNDING
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
