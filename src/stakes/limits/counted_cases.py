"""Cases at the prior of deployment: costs of decisions, weights, and what limits count."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from stakes._check import BoolArray, FloatArray, IntArray
from stakes.problem import Limit

ROUNDING = 1e-10  # of a share: what sums of a million cases may be off by, and far below one case


@dataclass(frozen=True, eq=False)
class CountedCases:
    """Expected costs of cases, and by how much each counts against every limit.

    Attributes
    ----------
    costs : (M, n) expected costs of each decision, in one piece
    mass : (n,) the share of all cases to come that each stands for; sums to one
    limits : L limits
    columns : (L,) the decision of each limit
    counted : (L, n) what a case counts, by its posteriors, where it gets that decision
    seen : (L, n) the same by its class, where classes are known
    """

    costs: FloatArray
    mass: FloatArray
    limits: tuple[Limit, ...]
    columns: IntArray
    counted: FloatArray
    seen: FloatArray | None = None

    @property
    def signs(self) -> FloatArray:
        """The signs of the limits, (L,): 1 for an upper bound, −1 for a lower one."""
        return np.array([limit.sign for limit in self.limits])

    @property
    def bounds(self) -> FloatArray:
        """The bounds of the limits, (L,): shares or rates."""
        return np.array([limit.bound for limit in self.limits])

    @cached_property
    def span(self) -> float:
        """The largest difference between the costs of two decisions; 1 where all are equal."""
        return float((self.costs.max(axis=0) - self.costs.min(axis=0)).max(initial=0.0)) or 1.0

    def values(self, decided: npt.NDArray[np.integer[Any]]) -> FloatArray:
        """Shares and rates (L,) of decisions, by the posteriors.

        Parameters
        ----------
        decided : (n,) positions of decisions

        Returns
        -------
        shares and rates, (L,)

        Examples
        --------
        >>> costs = np.array([[0.1, 0.9], [0.5, 0.5]])  # two decisions, two cases
        >>> half, counted = np.array([0.5, 0.5]), np.ones((1, 2))
        >>> limits = (Limit.share("b", at_most=0.4),)
        >>> cases = CountedCases(costs, half, limits, np.array([1]), counted)
        >>> cases.values(np.array([0, 1]))
        array([0.5])
        """
        return self._summed(self.counted, decided)

    def seen_values(self, decided: IntArray) -> FloatArray | None:
        """Shares and rates of decisions on the labelled cases.

        Parameters
        ----------
        decided : (n,) positions of decisions

        Returns
        -------
        shares and rates, (L,); None without labels

        Examples
        --------
        >>> costs = np.array([[0.1, 0.9], [0.5, 0.5]])  # two decisions, two cases
        >>> half, counted = np.array([0.5, 0.5]), np.ones((1, 2))
        >>> limits = (Limit.share("b", at_most=0.4),)
        >>> cases = CountedCases(costs, half, limits, np.array([1]), counted, seen=counted)
        >>> cases.seen_values(np.array([0, 1]))
        array([0.5])
        """
        return None if self.seen is None else self._summed(self.seen, decided)

    def _summed(self, counted: FloatArray, decided: npt.NDArray[np.integer[Any]]) -> FloatArray:
        pairs = zip(self.columns, counted, strict=True)
        return np.array([float((self.mass * weight) @ (decided == d)) for d, weight in pairs])

    def excess(self, values: FloatArray) -> FloatArray:
        """By how much values break each limit, (L,).

        Parameters
        ----------
        values : (L,) shares and rates

        Returns
        -------
        how far each lies on the wrong side of its bound; negative where the limit is kept

        Examples
        --------
        >>> costs = np.array([[0.1, 0.9], [0.5, 0.5]])  # two decisions, two cases
        >>> half, counted = np.array([0.5, 0.5]), np.ones((1, 2))
        >>> limits = (Limit.share("b", at_most=0.4),)
        >>> cases = CountedCases(costs, half, limits, np.array([1]), counted)
        >>> cases.excess(np.array([0.5])).round(9)
        array([0.1])
        """
        return self.signs * (values - self.bounds)

    def cost(self, decided: npt.NDArray[np.integer[Any]]) -> float:
        """Expected cost per case of decisions, by the posteriors.

        Parameters
        ----------
        decided : (n,) positions of decisions

        Returns
        -------
        the cost

        Examples
        --------
        >>> costs = np.array([[0.1, 0.9], [0.5, 0.5]])  # two decisions, two cases
        >>> half, counted = np.array([0.5, 0.5]), np.ones((1, 2))
        >>> limits = (Limit.share("b", at_most=0.4),)
        >>> cases = CountedCases(costs, half, limits, np.array([1]), counted)
        >>> cases.cost(np.array([0, 1]))
        0.3
        """
        return float(self.mass @ self.costs[decided, np.arange(decided.size)])

    def thinned(self, size: int) -> CountedCases:
        """A sample of about this many cases, without labels.

        Parameters
        ----------
        size : number of cases

        Returns
        -------
        the sample, whose masses sum to one

        Examples
        --------
        >>> costs, mass = np.tile([[0.1, 0.9], [0.5, 0.5]], 50), np.full(100, 0.01)
        >>> limits = (Limit.share("b", at_most=0.4),)
        >>> cases = CountedCases(costs, mass, limits, np.array([1]), np.ones((1, 100)))
        >>> cases.thinned(10).costs.shape
        (2, 10)
        """
        every = slice(None, None, max(1, self.mass.size // size))
        mass = self.mass[every] / self.mass[every].sum()
        return CountedCases(
            self.costs[:, every], mass, self.limits, self.columns, self.counted[:, every]
        )

    def only(self, mask: BoolArray) -> CountedCases:
        """The cases in a mask, without labels; they keep their shares of all cases.

        Parameters
        ----------
        mask : (n,) booleans

        Returns
        -------
        these cases

        Examples
        --------
        >>> costs = np.array([[0.1, 0.9], [0.5, 0.5]])  # two decisions, two cases
        >>> half, counted = np.array([0.5, 0.5]), np.ones((1, 2))
        >>> limits = (Limit.share("b", at_most=0.4),)
        >>> cases = CountedCases(costs, half, limits, np.array([1]), counted)
        >>> cases.only(np.array([True, False])).mass
        array([0.5])
        """
        return CountedCases(
            self.costs[:, mask], self.mass[mask], self.limits, self.columns, self.counted[:, mask]
        )

    def first(self, size: int) -> CountedCases:
        """The same cases under the first limits only.

        Parameters
        ----------
        size : number of limits

        Returns
        -------
        the cases under these limits

        Examples
        --------
        >>> costs = np.array([[0.1, 0.9], [0.5, 0.5]])  # two decisions, two cases
        >>> limits = Limit.share("a", at_most=0.9), Limit.share("b", at_most=0.4)
        >>> cases = CountedCases(costs, np.full(2, 0.5), limits, np.array([0, 1]), np.ones((2, 2)))
        >>> [str(limit) for limit in cases.first(1).limits]
        ['a: at most 90 % of cases']
        """
        some = slice(size)
        return replace(
            self, limits=self.limits[some], columns=self.columns[some], counted=self.counted[some]
        )

    def counting(self, place: int) -> CountedCases:
        """The same cases with what one limit counts in place of costs, under the limits before it.

        Parameters
        ----------
        place : position of the limit

        Returns
        -------
        the cases, whose least cost says whether the limit can be kept

        Examples
        --------
        >>> costs = np.array([[0.1, 0.9], [0.5, 0.5]])  # two decisions, two cases
        >>> limits = Limit.share("a", at_most=0.9), Limit.share("b", at_most=0.4)
        >>> cases = CountedCases(costs, np.full(2, 0.5), limits, np.array([0, 1]), np.ones((2, 2)))
        >>> cases.counting(1).costs
        array([[0., 0.],
               [1., 1.]])
        """
        costs = np.zeros_like(self.costs)
        costs[self.columns[place]] = self.limits[place].sign * self.counted[place]
        return replace(self.first(place), costs=costs)


def counted_cases(
    rows: FloatArray,
    mass: FloatArray,
    costs: FloatArray,
    limits: tuple[Limit, ...],
    cells: FloatArray,
    columns: IntArray,
    truth: IntArray | None = None,
) -> CountedCases:
    """Cases by posteriors (n, K) for the prior of deployment and cells (L, K, M) of the limits."""
    # Decisions in rows: the search for prices adds to one decision of all cases at a time.
    costs = np.ascontiguousarray(costs.T)
    weights = np.stack([table[:, d] for table, d in zip(cells, columns, strict=True)])  # (L, K)
    seen = None if truth is None else weights[:, truth]
    return CountedCases(costs, mass / mass.sum(), limits, columns, weights @ rows.T, seen)
