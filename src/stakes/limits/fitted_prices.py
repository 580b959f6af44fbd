"""Prices of limits, and a cheap deterministic rule that keeps them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import islice
from typing import NamedTuple

import numpy as np

from stakes._check import FloatArray, IntArray
from stakes._value import record
from stakes.errors import InputError
from stakes.limits.deployed_cases import SHARE_ROUNDING, CountedCases
from stakes.limits.exact_prices import exact_prices, one_price, priced_costs, refuse_infeasible
from stakes.limits.price_lines import lines_near, sides

_ROUNDING = 1e-12  # relative: a cost this close to its lower bound has reached it
_ALL_SIDES = 3  # limits up to which rules for fewer limits are tried
_TIGHTENED = 40  # how often limits are tightened before the search ends without a rule
_MANY = 2_000  # cases beyond which slight losses are left, because the search takes many passes
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
    enough = _SLIGHT * cases.span if cases.mass.size > _MANY else 0.0
    if rule is None or loss_beyond(rule.cost, dual) > enough:
        rule = _searched(task, prices, _of_fewer(task, rule))
    return _Fit(prices, dual, rule)


def _of_fewer(task: _Task, rule: _Kept | None) -> _Kept | None:
    """The rule, or a cheaper one that is made for all limits but one and keeps them all."""
    size = len(task.cases.limits)
    few = size <= _ALL_SIDES and task.cases.mass.size <= _MANY
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
