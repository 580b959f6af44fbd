"""Rules under limits: prices fitted out of fold, and prices fitted to all cases.

The price of a single limit is fitted on the labelled cases of the other folds; prices of several
limits are fitted on their posteriors. The share of cases that get a decision is then, on average,
that of the rule which is fitted to all cases and shipped.

As the price of a limit rises, cases leave its decision one after the other. Their order does not
depend on the bound, so that they are sorted once; another bound only stops at another case.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property, reduce
from typing import NamedTuple

import numpy as np

from stakes._check import BoolArray, FloatArray, IntArray
from stakes._value import record
from stakes.decide import cheapest_decisions, class_ratios, mean_costs
from stakes.errors import InputError
from stakes.evaluation.cases import Cases
from stakes.evaluation.predictions import Folds, Predictions
from stakes.limits import (
    SHARE_ROUNDING,
    Breakpoints,
    FittedPrices,
    capacity_of,
    costs_by_class,
    grouped_breakpoints,
    leaving_prices,
    plus,
    price_at,
    priced_cases,
)
from stakes.problem import CaseCosts, Limit
from stakes.report import MOVED, RECALIBRATED

_TIED = 1e-12  # relative to the largest cost: decisions whose costs differ by less are tied
_FACTORS = (0.25, 0.5, 0.75, 1, 1.5, 2, 3, 4, 8)  # multiples of the limit, shown beside it
Capacity = tuple[tuple[float, float, float], ...]  # share, cost per case, price there


class OtherFolds(NamedTuple):
    """The cases outside of one fold, and how much each of them counts towards the limit."""

    mask: BoolArray  # (n,)
    weights: FloatArray  # (n,)
    share: float  # class share, where the limit is a rate within a class; 1 where it is a share


def other_folds(cases: Cases, number: IntArray, limit: Limit) -> tuple[OtherFolds, ...]:
    """For each fold, the others.

    Parameters
    ----------
    cases : the cases
    number : (n,) the fold of each
    limit : the limit

    Returns
    -------
    one for each fold
    """
    row = None if limit.given is None else cases.problem.classes.index(limit.given)
    counted = np.ones(number.size) if row is None else (cases.truth == row).astype(np.float64)
    others = []
    for fold in range(int(number.max()) + 1):
        mask = number != fold
        mass, prior = cases.weighed(mask)
        share = 1.0 if row is None else float(prior[row])
        weights = np.zeros(mask.size)
        weights[mask] = mass / (mass.sum() * share)
        others.append(OtherFolds(mask, weights * counted, share))
    return tuple(others)


class _Fold(NamedTuple):
    """What the other folds say about the price of the limit in one fold."""

    breaks: Breakpoints
    span: float
    factor: float  # on the prices at which cases leave: the share in `OtherFolds`
    free: float  # the share or rate of the limit without a price


@record
class BoundLadder:
    """The decisions of one rule on cases that were divided into folds, at any bound.

    Attributes
    ----------
    expected : (n, M) expected costs of each decision
    chances : (n,) probabilities of the class within which the limit counts; ones where it counts
        all cases
    number : (n,) the fold of each case
    others : for each fold, the cases outside of it
    column : position of the decision of the limit
    """

    expected: FloatArray
    chances: FloatArray
    number: IntArray
    others: tuple[OtherFolds, ...]
    column: int

    def decided(self, limit: Limit) -> IntArray:
        """Positions (n,) of decisions under the limit with another bound.

        Parameters
        ----------
        limit : the limit; one that cannot be kept in some fold is refused

        Returns
        -------
        positions of decisions, (n,)
        """
        sides = self._sides(limit)
        factors = np.array([fold.factor for fold in self._folds])
        stays = self._leaves * factors[self.number] > limit.sign * sides[self.number]
        codes = np.where(stays, self.column, self._instead)
        unpriced = (sides == 0)[self.number]
        return np.where(unpriced, self._free, codes) if unpriced.any() else codes

    def can_keep(self, limit: Limit) -> bool:
        """Whether the limit with another bound can be kept in every fold.

        Parameters
        ----------
        limit : the limit

        Returns
        -------
        whether `decided` has an answer
        """
        try:
            self._sides(limit)
        except InputError:
            return False
        return True

    def _sides(self, limit: Limit) -> FloatArray:
        return np.array([_side(limit, fold) for fold in self._folds])

    @cached_property
    def _instead(self) -> IntArray:
        """The cheapest of the other decisions about each case; the first of those that tie."""
        return _first_least(self.expected, self.column)

    @cached_property
    def _free(self) -> IntArray:
        """The cheapest decision about each case, without a price."""
        return _first_least(self.expected, None)

    @cached_property
    def _leaves(self) -> FloatArray:
        """The price (n,) at which each case leaves, before it is multiplied by the class share."""
        every = np.arange(len(self.expected))
        gains = self.expected[every, self._instead] - self.expected[:, self.column]
        return leaving_prices(gains, self.chances)

    @cached_property
    def _folds(self) -> tuple[_Fold, ...]:
        return tuple(self._fitted())

    def _fitted(self) -> Iterator[_Fold]:
        order = np.argsort(-self._leaves, kind="stable")
        reach = reduce(np.maximum, self.expected.T) - reduce(np.minimum, self.expected.T)
        free = self._free == self.column
        for mask, weights, share in self.others:
            some, span = order[mask[order]], float(reach[mask].max()) or 1.0
            breaks = grouped_breakpoints(self._leaves[some] * share, weights[some], span)
            yield _Fold(breaks, span, share, float(weights[free].sum()))


def _side(limit: Limit, fold: _Fold) -> float:
    """The price at which a limit is kept; 0 where it is kept without one.

    >>> breaks = Breakpoints(np.array([6.0, -1.0]), np.array([0.2, 0.5]))
    >>> limit = Limit.share("review", at_most=0.3)
    >>> [_side(limit, _Fold(breaks, 10.0, 1.0, free)) for free in (0.2, 0.5)]
    [0.0, 6.01]
    """
    _, sides = price_at(limit, fold.breaks, fold.span)
    for side in sides:
        if side > 0 or limit.excess(fold.free) <= SHARE_ROUNDING:
            return side
    return 0.0


def _first_least(costs: FloatArray, without: int | None) -> IntArray:
    """The first of the cheapest decisions (n,); one decision may be left out.

    >>> costs = np.array([[1 + 1e-13, 1.0, 3.0], [1.1, 1.0, 3.0], [4.0, 9.0, 3.0]])
    >>> [_first_least(unit * costs, without=None).tolist() for unit in (1e-20, 1.0, 1e9)]
    [[0, 1, 2], [0, 1, 2], [0, 1, 2]]
    >>> _first_least(costs, without=1).tolist()
    [0, 0, 2]
    """
    slack = _TIED * float(np.abs(costs).max(initial=0.0))
    listed = [(d, column) for d, column in enumerate(costs.T) if d != without]
    least = reduce(np.minimum, (column for _, column in listed)) + slack
    chosen = np.full(len(costs), listed[-1][0])
    for d, column in reversed(listed[:-1]):
        chosen[column <= least] = d
    return chosen


@record
class LimitedRule:
    """What a rule under limits decides out of fold, and its prices, fitted to all cases."""

    decided: IntArray  # (n,)
    whole: FittedPrices  # of all cases
    costs: FloatArray | None  # (P,) in each partition
    capacity: Capacity
    apart: bool  # whether decisions use prices from other folds


@record
class _Decider:
    """Posteriors, and the way in which a rule decides by them."""

    cases: Cases
    rows: FloatArray  # (n, K), for the prior of deployment if the rule moves them there
    posteriors: FloatArray  # (n, K), as they came
    rounding: FloatArray | None = None
    ratios: FloatArray | None = None

    def __call__(self, mask: BoolArray, amounts: FloatArray) -> IntArray:
        costs = plus(_charges(self.cases, mask), amounts)
        rounding = None if self.rounding is None else self.rounding[mask]
        return cheapest_decisions(self.posteriors[mask], costs, rounding, self.ratios)

    def fitted(self, mask: BoolArray, start: FloatArray | None = None) -> FittedPrices:
        """Prices of the limits on some of the cases."""
        cases, problem, truth = self.cases, self.cases.problem, self.cases.truth[mask]
        mass, prior = cases.weighed(mask)
        _, prices = priced_cases(
            problem,
            self.rows[mask],
            mass,
            prior,
            _charges(cases, mask),
            lambda amounts: self(mask, amounts),
            truth,
            start,
        )
        return prices

    def capacity(self) -> Capacity:
        """What other shares would cost on all cases, for a single upper bound on a share."""
        cases, problem, limit = self.cases, self.cases.problem, self.cases.problem.limits[0]
        if len(problem.limits) > 1 or limit.given is not None or limit.sign < 0:
            return ()
        charged = costs_by_class(cases.charges, cases.truth)
        curve = capacity_of(
            mean_costs(self.rows, cases.charges),
            charged,
            cases.mass,
            problem.decisions.index(limit.decision),
            limit.decision,
        )
        most = float(curve.shares[-1]) if curve.shares.size else 0.0
        points = {0.0, *(limit.bound * factor for factor in _FACTORS)}
        inner = (point for point in points if point < most * (1 - 1e-9))
        shares = np.array(sorted({*inner, most}))
        return tuple(
            zip(
                shares.tolist(),
                curve.cost(shares).tolist(),
                curve.price(shares).tolist(),
                strict=True,
            )
        )


def _charges(cases: Cases, mask: BoolArray) -> FloatArray | CaseCosts:
    return cases.problem.costs if cases.costs is None else cases.costs.only(mask)


def limited_rule(predictions: Predictions, rule: str, folds: Folds) -> LimitedRule:
    """A Bayes rule of a model under the limits of the problem."""
    cases = folds.cases
    rows = predictions.posteriors_of(rule)
    if rule == RECALIBRATED:
        parts = [_Decider(cases, part, part) for part in predictions.parts]
        return _limited(_Decider(cases, rows, rows), parts, folds)
    moving = predictions.moving if rule == MOVED else None
    ratios = None if moving is None else class_ratios(*moving)
    posteriors = np.asarray(predictions.posteriors)
    return _limited(_Decider(cases, rows, posteriors, predictions.rounding, ratios), [], folds)


def limited_blind(folds: Folds) -> LimitedRule:
    """The rule without a model under the limits: by the costs of each case and the prior."""
    rows = np.broadcast_to(folds.cases.prior, (len(folds.cases.truth), folds.cases.prior.size))
    return _limited(_Decider(folds.cases, rows, rows), [], folds)


def _limited(decider: _Decider, parts: list[_Decider], folds: Folds) -> LimitedRule:
    everything = np.ones(len(folds.cases.truth), dtype=np.bool_)
    on_all = decider.fitted(everything)
    if not folds.numbers:
        return LimitedRule(on_all.decided, on_all, None, decider.capacity(), apart=False)
    start = on_all.prices  # the prices of each fold are close to these, so the search is short
    decided = _apart(decider, folds.numbers[0], folds.count, start)
    costs = None
    if len(folds.cases.problem.limits) == 1 and len(folds.numbers) > 1:
        deciders = parts or [decider] * len(folds.numbers)
        pairs = zip(deciders, folds.numbers, strict=True)
        costs = folds.costs(_apart(each, number, folds.count, start) for each, number in pairs)
    return LimitedRule(decided, on_all, costs, decider.capacity(), apart=True)


def _apart(decider: _Decider, number: IntArray, count: int, start: FloatArray) -> IntArray:
    """Decisions (n,) by the prices of the other folds."""
    decided = np.zeros(number.size, dtype=np.intp)
    for fold in range(count):
        in_fold = number == fold
        fitted = decider.fitted(~in_fold, start)
        decided[in_fold] = decider(in_fold, fitted.added.sum(axis=0))
    return decided


def priced_on_all(cases: Cases) -> Callable[[FloatArray], FloatArray]:
    """A function that prices limits: what they add to the costs (L, K, M), given posteriors.

    Parameters
    ----------
    cases : the cases

    Returns
    -------
    a function of the posteriors (n, K) of all cases

    Examples
    --------
    >>> from stakes import Limit, Problem
    >>> from stakes.evaluation import read_cases
    >>> problem = Problem([[0, 1, 4], [9, 2, 0]], limits=[Limit.share(1, at_most=0.25)])
    >>> cases = read_cases([0, 0, 1, 1], problem, None, None, None)
    >>> rows = np.array([[0.9, 0.1], [0.7, 0.3], [0.4, 0.6], [0.1, 0.9]])
    >>> priced_on_all(cases)(rows).shape
    (1, 2, 3)
    """

    def added(rows: FloatArray) -> FloatArray:
        everything = np.ones(len(cases.truth), dtype=np.bool_)
        return _Decider(cases, rows, rows).fitted(everything).added

    return added
