"""Prices of limits, and the deterministic rule that keeps them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product

import numpy as np

from stakes._check import FloatArray, IntArray
from stakes._value import record
from stakes.errors import InputError
from stakes.limits.deployed_cases import SHARE_ROUNDING, CountedCases
from stakes.limits.exact_prices import exact_prices, one_price, priced_costs, refuse_infeasible

_ROUNDING = 1e-12  # relative: a cost this close to its lower bound has reached it
_NUDGE = 1e-8  # of a price, or of the span of costs: beyond rounding, so that it decides ties
_ALL_SIDES = 3  # limits up to which all combinations of sides are tried
_TIGHTENED = 40  # how often limits are tightened before the search ends without a rule

# Amounts (K, M) that are added to costs → decisions.
DecidePriced = Callable[[FloatArray], IntArray]


@record
class FittedPrices:
    """Fitted prices of limits, and the deterministic rule that keeps the limits.

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
    """Fit the prices of limits, and find a deterministic rule near them that keeps the limits.

    Prices are added to the costs of the cells (L, K, M) that each limit counts. `decide` takes
    decisions exactly as the rule will later, so that ties are broken alike. The search starts at
    the prices `start`.
    """
    signed = cells * cases.signs[:, None, None]
    if len(cases.limits) == 1:
        price, sides = one_price(cases)
        prices = np.array([price])
        solution = _first_kept(cases, signed, decide, (np.array([side]) for side in sides))
        dual = _dual_of_one(cases, price, solution[1])
    else:
        prices, dual = exact_prices(cases, start=start)
        solution = _cheapest_kept(cases, signed, decide, prices)
    # At the price itself, tied cases would have to be decided at random. The prices of the
    # deterministic rule lie a little to one side, where the limit is kept.
    side, decided = solution
    added = side[:, None, None] * signed
    return FittedPrices(prices, added, decided, dual, cases.cost(decided))


def _dual_of_one(cases: CountedCases, price: float, decided: IntArray) -> float:
    """The value of the dual at the price of one limit."""
    seen = cases.seen_values(decided)
    if seen is not None:
        return cases.cost(decided) + price * float(cases.excess(seen)[0])
    least = priced_costs(cases, np.array([price])).min(axis=0)
    return float(cases.mass @ least) - price * float(cases.signs[0] * cases.bounds[0])


def _first_kept(
    cases: CountedCases, signed: FloatArray, decide: DecidePriced, sides: Iterator[FloatArray]
) -> tuple[FloatArray, IntArray]:
    """The first of these prices whose decisions keep the limits."""
    for side in sides:
        decided = decide(np.tensordot(side, signed, 1))
        if (_excess(cases, decided) <= SHARE_ROUNDING).all():
            return side, decided
    raise _no_rule(cases)


def _excess(cases: CountedCases, decided: IntArray) -> FloatArray:
    """By how much decisions exceed each limit: by labels for one limit, else by posteriors.

    The price of a single limit is fitted on labels, those of several limits on posteriors.
    """
    seen = cases.seen_values(decided) if len(cases.limits) == 1 else None
    return cases.excess(cases.values(decided) if seen is None else seen)


def _cheapest_kept(
    cases: CountedCases, signed: FloatArray, decide: DecidePriced, prices: FloatArray
) -> tuple[FloatArray, IntArray]:
    """The cheapest decisions near these prices that keep all limits.

    Cases that are tied at the prices are decided one way, then the other. Where no combination
    keeps all limits, these are tightened by the excess and priced again.
    """
    tighter = np.zeros(len(cases.limits))
    for _ in range(_TIGHTENED):
        best: tuple[float, FloatArray, IntArray] | None = None
        least_broken: FloatArray | None = None
        for side in _sides(prices, cases.span):
            decided = decide(np.tensordot(side, signed, 1))
            excess = _excess(cases, decided)
            if (excess <= SHARE_ROUNDING).all():
                cost = cases.cost(decided)
                best = (cost, side, decided) if best is None or cost < best[0] else best
            elif least_broken is None or excess.max() < least_broken.max():
                least_broken = excess
        if best is not None:
            return best[1], best[2]
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
    raise _no_rule(cases)


def _sides(prices: FloatArray, span: float) -> Iterator[FloatArray]:
    """The prices, and prices a little above and below them; never negative, each only once."""
    size = prices.size
    steps = list(product((0, 1, -1), repeat=size)) if size <= _ALL_SIDES else None
    if steps is None:
        units = np.eye(size, dtype=int).tolist()
        steps = [(0,) * size, (1,) * size, (-1,) * size, *map(tuple, units)]
    nudge = _NUDGE * np.maximum(span, prices)
    seen: set[tuple[float, ...]] = set()
    for step in steps:
        moved = np.maximum(prices + nudge * np.array(step), 0.0)
        if (key := tuple(moved.tolist())) not in seen:
            seen.add(key)
            yield moved


def _no_rule(cases: CountedCases) -> InputError:
    listed = "; ".join(map(str, cases.limits))
    return InputError(
        f"limits must leave room for a rule that decides equal cases alike; {listed} do not: too "
        f"many of these {cases.mass.size} cases have the same posteriors. Loosen a limit, or keep "
        f"counts of each batch with rule.decide(batch, limits=[Limit.count(…)])."
    )
