"""Costs of single cases: payments with lognormal amounts, some of them frauds.

One system takes the cheapest decision for each case, another the one that is the cheapest for the
mean amount. What they cost is known from a large sample of the same population.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from coverage_study.populations import FloatArray
from stakes import Problem
from stakes.evaluation.cases import read_cases
from stakes.evaluation.evidence import charges_of
from stakes.inference import profile_bounds, profile_threshold, ratio_bounds

__all__ = ["COLUMNS", "Amounts", "row_of"]

LEVEL = 0.95
COLUMNS = ("own costs", "mean costs", "NEC", "difference")
SKILL, MEAN = 2.0, 100.0
LARGE, TIMES = 1_000_000, 6  # cases that stand for the population, and how often
PROBLEM = Problem(
    {
        "legit": {"approve": 0, "review": 3, "block": "5 + 0.02*amount"},
        "fraud": {"approve": "amount", "review": 8, "block": 0},
    }
)


@dataclass(frozen=True)
class Amounts:
    """A population of payments; `sigma` is the standard deviation of the log of the amount."""

    sigma: float
    prevalence: float
    size: int
    prior: bool = False

    @property
    def shares(self) -> FloatArray:
        """Shares of the classes that count."""
        rare = min(0.5, 2 * self.prevalence) if self.prior else self.prevalence
        return np.array([1 - rare, rare])

    @property
    def problem(self) -> Problem:
        """The stakes, with the prior where one is stated."""
        return PROBLEM.with_prior(self.shares if self.prior else None)

    def draw(self, size: int, rng: np.random.Generator) -> tuple[Any, dict[str, Any], FloatArray]:
        """Classes, decisions of both systems, and amounts."""
        fraud = rng.random(size) < self.prevalence
        amount = MEAN * np.exp(self.sigma * rng.standard_normal(size) - self.sigma**2 / 2)
        odds = self.shares[1] / self.shares[0]
        score = rng.standard_normal(size) + SKILL * fraud
        p = 1 / (1 + np.exp(SKILL**2 / 2 - SKILL * score) / odds)
        decided = {}
        for name, known in zip(COLUMNS[:2], (amount, np.full(size, MEAN)), strict=True):
            expected = [p * known, (1 - p) * 3 + p * 8, (1 - p) * (5 + 0.02 * known)]
            decided[name] = np.argmin(expected, axis=0)
        return np.where(fraud, "fraud", "legit"), decided, amount

    @cached_property
    def truth(self) -> FloatArray:
        """What both systems cost, then each constant decision, (2 + 3,)."""
        rng, sums = np.random.default_rng(7), np.zeros((2, 5))
        count = np.zeros(2)
        for _ in range(TIMES):
            y, decided, amount = self.draw(LARGE, rng)
            costs = np.where(
                y == "fraud",
                [amount, np.full(LARGE, 8.0), np.zeros(LARGE)],
                [np.zeros(LARGE), np.full(LARGE, 3.0), 5 + 0.02 * amount],
            )
            taken = [costs[codes, np.arange(LARGE)] for codes in decided.values()]
            for k, label in enumerate(("legit", "fraud")):
                rows = y == label
                sums[k] += np.stack([*taken, *costs])[:, rows].sum(axis=1)
                count[k] += rows.sum()
        return np.asarray(self.shares @ (sums / count[:, None]))


def checked(design: Amounts, rng: np.random.Generator) -> list[float]:
    """One data set: which of the intervals cover, and how wide that of the first cost is."""
    y, decided, amount = design.draw(design.size, rng)
    cases = read_cases(y, design.problem, None, None, None, {"amount": amount})
    charges = charges_of(cases, decided)
    losses, truth = charges.losses, design.truth
    q = float(profile_threshold(LEVEL, np.asarray(np.inf)))
    by_case, mean = COLUMNS[:2]
    supports = [losses.cost_support(by_case), losses.cost_support(mean)]
    supports.append(losses.difference_support(mean, by_case))
    ends = [profile_bounds(support, np.asarray(q)) for support in supports]
    true = [truth[0], truth[1], truth[1] - truth[0]]
    covered = [float(low <= value <= high) for (low, high), value in zip(ends, true, strict=True)]
    constant = [losses.mean(losses.loss(name)) for name in losses.names[-3:]]
    blind = int(np.argmin(constant))
    above = losses.loss(by_case) - losses.perfect
    below = losses.losses[len(losses.names) - 3 + blind]
    low, high = ratio_bounds(losses, above, below - losses.perfect, q)
    ratio = float(low <= truth[0] / truth[2 + blind] <= high)
    width = float(ends[0][1] - ends[0][0]) / truth[0]
    return [covered[0], covered[1], ratio, covered[2], width]


def row_of(design: Amounts, samples: int, seed: int) -> dict[str, Any]:
    """One line of the table: coverages in %, and the median width over the cost."""
    rng = np.random.default_rng(seed)
    table = np.array([checked(design, rng) for _ in range(samples)])
    row = dict(zip(COLUMNS, (100 * table[:, :4].mean(axis=0)).tolist(), strict=True))
    return {**row, "width": float(np.median(table[:, 4]))}
