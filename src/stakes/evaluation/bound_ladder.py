"""What a rule under one limit decides out of fold, at any bound of the limit.

As the price of a limit rises, cases leave its decision one after the other. Their order does not
depend on the bound, so that they are sorted once; another bound only stops at another case.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import NamedTuple

import numpy as np

from stakes._check import BoolArray, FloatArray, IntArray
from stakes.evaluation.cases import Cases
from stakes.limits import ROUNDING, Breakpoints, grouped_breakpoints, leaving_prices, price_at
from stakes.problem import Limit

_TIED = 1e-12  # relative to the largest cost: decisions whose costs differ by less are tied


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


@dataclass(frozen=True, eq=False)
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
        sides = np.array([_side(limit, fold) for fold in self._folds])
        factors = np.array([fold.factor for fold in self._folds])
        stays = self._leaves * factors[self.number] > limit.sign * sides[self.number]
        codes = np.where(stays, self.column, self._instead)
        unpriced = (sides == 0)[self.number]
        return np.where(unpriced, self._free, codes) if unpriced.any() else codes

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
    """The price at which a limit is kept; 0 where it is kept without one."""
    _, sides = price_at(limit, fold.breaks, fold.span)
    for side in sides:
        if side > 0 or limit.excess(fold.free) <= ROUNDING:
            return side
    return 0.0


def _first_least(costs: FloatArray, without: int | None) -> IntArray:
    """The first of the cheapest decisions (n,); one decision may be left out."""
    slack = _TIED * float(np.abs(costs).max(initial=0.0))
    listed = [(d, column) for d, column in enumerate(costs.T) if d != without]
    least = reduce(np.minimum, (column for _, column in listed)) + slack
    chosen = np.full(len(costs), listed[-1][0])
    for d, column in reversed(listed[:-1]):
        chosen[column <= least] = d
    return chosen
