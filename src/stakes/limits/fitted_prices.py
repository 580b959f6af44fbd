"""Prices of limits, and the deterministic rule that keeps them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np

from stakes._check import FloatArray, IntArray
from stakes.errors import InputError
from stakes.limits.deployed_cases import ROUNDING, CountedCases
from stakes.limits.one_price import one_price
from stakes.limits.several_prices import priced_costs, refuse_infeasible, several_prices

_ROUNDING = 1e-12  # of a cost: what its bound may differ by although it is reached
_NUDGE = 1e-8  # of the span of costs: beyond rounding, so that cases tied at a price take a side
_ALL_SIDES = 3  # limits up to which all combinations of sides are tried
_TIGHTENED = 40  # how often limits are tightened before the search is given up

Decide = Callable[[FloatArray], IntArray]  # amounts (K, M) that are added to costs → decisions


@dataclass(frozen=True, eq=False)
class FittedPrices:
    """Fitted prices of limits, and the deterministic rule that keeps the limits.

    Attributes
    ----------
    prices : (L,) what one more unit of each limit is worth, at the margin
    added : (L, K, M) what each limit adds to the costs of the deterministic rule
    decided : (n,) positions of its decisions
    dual_value : cost per case of the best rule that may decide by chance
    cost : cost per case of the deterministic rule, by the posteriors
    """

    prices: FloatArray
    added: FloatArray
    decided: IntArray
    dual_value: float
    cost: float

    @property
    def rounding_loss(self) -> float:
        """What it costs per case that equal cases are decided alike, without randomisation."""
        return loss_beyond(self.cost, self.dual_value)


def loss_beyond(cost: float, dual_value: float) -> float:
    """By how much a cost lies above its lower bound; 0 where that may be rounding."""
    loss = cost - dual_value
    return loss if loss > _ROUNDING * max(abs(cost), abs(dual_value)) else 0.0


def fit_prices(
    cases: CountedCases, cells: FloatArray, decide: Decide, start: FloatArray | None = None
) -> FittedPrices:
    """Fit the prices of limits, and find a deterministic rule near them that keeps the limits.

    Prices are added to the costs of the cells (L, K, M) that each limit counts. `decide` makes
    decisions exactly as the rule will later, so that ties fall alike. The search starts at the
    prices `start`.
    """
    signed = cells * cases.signs[:, None, None]
    if len(cases.limits) == 1:
        price, sides = one_price(cases)
        prices = np.array([price])
        solution = _first_kept(cases, signed, decide, (np.array([side]) for side in sides))
        dual = _dual_of_one(cases, price, solution[1])
    else:
        prices, dual = several_prices(cases, start=start)
        solution = _cheapest_kept(cases, signed, decide, prices)
    # Cases that tie at the price would need a coin. The rule is deterministic instead: its prices
    # lie a little to one side, where the limit is kept.
    side, decided = solution
    added = side[:, None, None] * signed
    return FittedPrices(prices, added, decided, dual, cases.cost(decided))


def _dual_of_one(cases: CountedCases, price: float, decided: IntArray) -> float:
    """The dual at the price of one limit; on labelled cases, less what the limit leaves unused."""
    seen = cases.seen_values(decided)
    if seen is not None:
        return cases.cost(decided) + price * float(cases.excess(seen)[0])
    least = priced_costs(cases, np.array([price])).min(axis=0)
    return float(cases.mass @ least) - price * float(cases.signs[0] * cases.bounds[0])


def _first_kept(
    cases: CountedCases, signed: FloatArray, decide: Decide, sides: Iterator[FloatArray]
) -> tuple[FloatArray, IntArray]:
    """The first of these prices whose decisions keep the limits."""
    for side in sides:
        decided = decide(np.tensordot(side, signed, 1))
        if (_excess(cases, decided) <= ROUNDING).all():
            return side, decided
    raise _no_rule(cases)


def _excess(cases: CountedCases, decided: IntArray) -> FloatArray:
    """By how much decisions break each limit: by labels if there is one limit, else by posteriors.

    Breakpoints set the price of one limit on labels; the dual of several knows posteriors only.
    """
    seen = cases.seen_values(decided) if len(cases.limits) == 1 else None
    return cases.excess(cases.values(decided) if seen is None else seen)


def _cheapest_kept(
    cases: CountedCases, signed: FloatArray, decide: Decide, prices: FloatArray
) -> tuple[FloatArray, IntArray]:
    """The cheapest decisions near these prices that keep all limits.

    Cases that are tied at the prices take one side, then the other. Where no combination keeps all
    limits, they are tightened by what breaks them, and priced again.
    """
    tighter = np.zeros(len(cases.limits))
    for _ in range(_TIGHTENED):
        best: tuple[float, FloatArray, IntArray] | None = None
        least_broken: FloatArray | None = None
        for side in _sides(prices, _NUDGE * cases.span):
            decided = decide(np.tensordot(side, signed, 1))
            excess = _excess(cases, decided)
            if (excess <= ROUNDING).all():
                cost = cases.cost(decided)
                best = (cost, side, decided) if best is None or cost < best[0] else best
            elif least_broken is None or excess.max() < least_broken.max():
                least_broken = excess
        if best is not None:
            return best[1], best[2]
        # Asked only once prices have failed: whether limits can be kept at all is a search of its
        # own.
        if not tighter.any():
            refuse_infeasible(cases)
        assert least_broken is not None
        # Twice as much each time: prices of very many cases are exact to a case or two only.
        tighter = np.where(least_broken > ROUNDING, np.maximum(2 * tighter, least_broken), tighter)
        bounds = cases.bounds - cases.signs * tighter
        prices = several_prices(cases, bounds, start=prices).prices
    raise _no_rule(cases)


def _sides(prices: FloatArray, nudge: float) -> Iterator[FloatArray]:
    """The prices, and a little more and a little less of each; never negative, and never twice."""
    size = prices.size
    steps = list(product((0, 1, -1), repeat=size)) if size <= _ALL_SIDES else None
    if steps is None:
        units = np.eye(size, dtype=int).tolist()
        steps = [(0,) * size, (1,) * size, (-1,) * size, *map(tuple, units)]
    seen: set[tuple[float, ...]] = set()
    for step in steps:
        moved = np.maximum(prices + nudge * np.array(step) * np.maximum(1.0, prices), 0.0)
        if (key := tuple(moved.tolist())) not in seen:
            seen.add(key)
            yield moved


def _no_rule(cases: CountedCases) -> InputError:
    listed = "; ".join(map(str, cases.limits))
    return InputError(
        f"limits must leave room for a rule that decides equal cases alike; {listed} do not: too "
        f"many of these {cases.mass.size} cases have the same posteriors. Loosen a limit, or keep "
        f"counts of each batch with rule.decide(batch, limits=[Limit.count(…)]).",
        argument="limits",
    )
