"""Populations that are tables of known probabilities: whole batches of samples are one tally."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from coverage_study.populations import FloatArray
from stakes.inference import (
    auc_error,
    cost_moments,
    expected_cost_error,
    mean_covariance,
    normalized_cost_error,
)
from stakes.measures import expected_cost, normalized_cost
from stakes.problem import Problem
from stakes.ranking import auc
from stakes.scoring import brier
from stakes.tally import Counts, JointCounts, ScoreTable

__all__ = ["MEASURES", "Pair", "World"]

MEASURES = ("EC", "NEC", "AUC", "Brier score")


@dataclass(frozen=True)
class World:
    """Scores in fifteen levels, known class by class; three decisions by two cuts."""

    prevalence: float
    prior: tuple[float, float] | None = None
    n_levels: int = 15

    @cached_property
    def shares(self) -> FloatArray:
        """Shares of the classes among the cases."""
        return np.array([1 - self.prevalence, self.prevalence])

    @cached_property
    def cells(self) -> FloatArray:
        """Probability of each level and class, (L, 2): two binomials that overlap."""
        trials = self.n_levels - 1
        level = np.arange(self.n_levels)
        ways = np.cumprod(np.concatenate([[1.0], (trials - level[:-1]) / (level[:-1] + 1.0)]))
        chance = np.array([0.38, 0.56])
        rates = ways[:, None] * chance ** level[:, None] * (1 - chance) ** (trials - level[:, None])
        return np.asarray(rates * self.shares)

    @cached_property
    def scores(self) -> FloatArray:
        """Somewhat overconfident posteriors."""
        odds = (self.cells[:, 1] / self.cells[:, 0]) ** 1.2
        return np.asarray(odds / (1 + odds))

    @cached_property
    def problem(self) -> Problem:
        """Both kinds of mistakes matter about as much; the decision in between costs a little."""
        miss = 2.0 * (1 - self.prevalence) / self.prevalence
        return Problem([[0.0, 0.4, 2.0], [miss, 0.3 * miss, 0.0]], prior=self.prior)

    @cached_property
    def population(self) -> ScoreTable:
        """The table that the samples come from."""
        return ScoreTable(self.scores, self.cells)

    def table(self, drawn: FloatArray) -> ScoreTable:
        """Draws (…, 2 L) as a table."""
        return ScoreTable(self.scores, drawn.reshape(*drawn.shape[:-1], self.n_levels, 2))

    def decided(self, table: ScoreTable) -> Counts:
        """Three decisions: about the lower levels, the middle ones and the upper ones."""
        bounds = [0, 6, 8]
        parts = np.add.reduceat(table.weights, bounds, axis=-2)
        return Counts._trusted(
            values=np.swapaxes(parts, -1, -2), classes=None, decisions=None, groups=None
        )

    def measures(self, table: ScoreTable) -> FloatArray:
        """EC, NEC, AUC and Brier score of every table, (…, 4)."""
        counts = self.decided(table)
        parts = [expected_cost(counts, self.problem), normalized_cost(counts, self.problem)]
        return np.stack([*parts, auc(table), brier(table)], axis=-1)

    def errors(self, table: ScoreTable) -> FloatArray:
        """Their standard errors by formula, (…, 4)."""
        counts = self.decided(table)
        losses = np.stack([table.scores**2, (1 - table.scores) ** 2], axis=-1)
        scatter = (losses - brier(table)[..., None, None]) ** 2
        square = np.sum(table.weights * scatter, axis=(-2, -1)) / table.n_cases
        parts = [
            expected_cost_error(counts, self.problem),
            normalized_cost_error(counts, self.problem),
            auc_error(table),
            np.sqrt(square / (table.n_cases - 1)),
        ]
        return np.stack(parts, axis=-1)


@dataclass(frozen=True)
class Pair:
    """Two models that take three decisions about the same cases, and agree on most."""

    prevalence: float

    @cached_property
    def problem(self) -> Problem:
        """The costs of `World`."""
        return World(self.prevalence).problem

    @cached_property
    def cells(self) -> FloatArray:
        """Probability of each class and pair of decisions, (2, 3, 3)."""
        negative = [[0.62, 0.06, 0.03], [0.03, 0.14, 0.02], [0.01, 0.02, 0.07]]
        positive = [[0.14, 0.05, 0.06], [0.03, 0.17, 0.06], [0.02, 0.03, 0.44]]
        return np.array([negative, positive]) * World(self.prevalence).shares[:, None, None]

    def joint(self, drawn: FloatArray) -> JointCounts:
        """Draws (…, 18) as joint counts."""
        return JointCounts._trusted(
            cells=np.stack(np.unravel_index(np.arange(18), (2, 3, 3)), axis=1),
            weights=np.asarray(drawn, dtype=np.float64),
            models=("a", "b"),
            classes=self.problem.classes,
            decisions=self.problem.decisions,
            groups=None,
        )

    def difference(self, joint: JointCounts) -> FloatArray:
        """Expected cost of the first model minus that of the second, (…, 1)."""
        costs = cost_moments(joint, self.problem).mean()
        return costs[..., :1] - costs[..., 1:]

    def error(self, joint: JointCounts) -> FloatArray:
        """Its paired standard error by formula, (…, 1)."""
        spread = mean_covariance(cost_moments(joint, self.problem), None)
        square = spread[..., 0, 0] + spread[..., 1, 1] - 2 * spread[..., 0, 1]
        return np.sqrt(square)[..., None]
