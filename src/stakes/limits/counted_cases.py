"""Cases as they will come: what decisions cost, how much each case counts, what limits count."""

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
        """(L,) 1 for a bound from above, −1 for one from below."""
        return np.array([limit.sign for limit in self.limits])

    @property
    def bounds(self) -> FloatArray:
        """(L,) shares or rates."""
        return np.array([limit.bound for limit in self.limits])

    @cached_property
    def span(self) -> float:
        """How far costs of one case lie apart at most; 1 where they do not."""
        return float((self.costs.max(axis=0) - self.costs.min(axis=0)).max(initial=0.0)) or 1.0

    def values(self, decided: npt.NDArray[np.integer[Any]]) -> FloatArray:
        """Shares and rates (L,) of decisions, by the posteriors."""
        return self._summed(self.counted, decided)

    def seen_values(self, decided: IntArray) -> FloatArray | None:
        """The same on the labelled cases; None without labels."""
        return None if self.seen is None else self._summed(self.seen, decided)

    def _summed(self, counted: FloatArray, decided: npt.NDArray[np.integer[Any]]) -> FloatArray:
        pairs = zip(self.columns, counted, strict=True)
        return np.array([float((self.mass * weight) @ (decided == d)) for d, weight in pairs])

    def excess(self, values: FloatArray) -> FloatArray:
        """By how much values break each limit, (L,)."""
        return self.signs * (values - self.bounds)

    def cost(self, decided: npt.NDArray[np.integer[Any]]) -> float:
        """Expected cost per case of decisions, by the posteriors."""
        return float(self.mass @ self.costs[decided, np.arange(decided.size)])

    def thinned(self, size: int) -> CountedCases:
        """About so many of the cases, by posteriors alone."""
        kept = slice(None, None, max(1, self.mass.size // size))
        mass = self.mass[kept] / self.mass[kept].sum()
        return CountedCases(
            self.costs[:, kept], mass, self.limits, self.columns, self.counted[:, kept]
        )

    def only(self, own: BoolArray) -> CountedCases:
        """Some of the cases, by posteriors alone; they keep their shares of all cases."""
        return CountedCases(
            self.costs[:, own], self.mass[own], self.limits, self.columns, self.counted[:, own]
        )

    def first(self, size: int) -> CountedCases:
        """The same under the first limits only."""
        kept = slice(size)
        return replace(
            self, limits=self.limits[kept], columns=self.columns[kept], counted=self.counted[kept]
        )

    def counting(self, place: int) -> CountedCases:
        """The same where the costs are what one limit counts, under the limits before it."""
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
    costs = np.ascontiguousarray(costs.T)
    weights = np.stack([table[:, d] for table, d in zip(cells, columns, strict=True)])  # (L, K)
    seen = None if truth is None else weights[:, truth]
    return CountedCases(costs, mass / mass.sum(), limits, columns, weights @ rows.T, seen)
