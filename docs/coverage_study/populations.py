"""Populations whose costs are known exactly, and data sets drawn from them."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import expit, ndtr

from stakes import Problem, Scores

__all__ = ["Design", "FloatArray", "IntArray", "Rows"]

FloatArray = np.ndarray[Any, np.dtype[np.float64]]
IntArray = np.ndarray[Any, np.dtype[np.int64]]

CUTS = np.array([0.2, 1.0])  # of the scores, between three decisions
SHARED, WITHIN = 0.3, 0.2  # correlation of the noise of systems, and of cases within clusters


@dataclass(frozen=True)
class Rows:
    """One data set, as `evaluate` takes it."""

    y: np.ndarray[Any, Any]
    models: dict[str, Any]
    weights: FloatArray | None
    cluster: np.ndarray[Any, Any] | None
    copies: FloatArray | None = None


@dataclass(frozen=True)
class Design:
    """Systems of known skill and a way to draw cases.

    A system sees a normal score of each case, which is higher by its skill in the second class, and
    takes one of three decisions. Systems to be fitted (`kind`) take two decisions instead:
    "recalibrated" ones bring posteriors that are too sure of themselves, "tuned" ones raw scores.
    Systems with "rare misses" raise no false alarm; each misses, for itself, one case on average.
    """

    systems: int
    skills: str
    size: int
    prevalence: float
    prior: bool = False
    clusters: int | None = None
    weights: str = ""  # "", "whole" or "lognormal"
    kind: str = "decisions"  # or "recalibrated", "tuned", "rare misses"
    varied_skills: tuple[float, ...] = field(default=(), repr=False)  # if skills are "varied"

    @property
    def title(self) -> str:
        """How the cases were drawn, in words."""
        parts = [
            f"{self.clusters} clusters" * bool(self.clusters),
            f"{self.weights} weights" * bool(self.weights),
            "prior stated" * self.prior,
        ]
        return ", ".join(part for part in parts if part) or "cases"

    @property
    def candidates(self) -> str:
        """The systems, in words."""
        skills = "" if self.systems == 1 else f" {self.skills}"
        return f"{self.systems}{skills}{'' if self.kind == 'decisions' else f', {self.kind}'}"

    @cached_property
    def shares(self) -> FloatArray:
        """Shares of the classes that count: those of a stated prior, else of the cases."""
        rare = self.prevalence if not self.prior else 0.2 if self.prevalence > 0.01 else 0.02
        return np.array([1 - rare, rare])

    @cached_property
    def problem(self) -> Problem:
        """Misses cost as much more as they are rarer."""
        if self.kind == "rare misses":
            return Problem([[0, 1], [100, 0]])
        miss = 2.0 * self.shares[0] / self.shares[1]
        costs = [[0.0, 0.4, 2.0], [miss, 0.3 * miss, 0.0]]
        if self.kind != "decisions":
            costs = [[0.0, 2.0], [miss, 0.0]]
        return Problem(costs, prior=self.shares if self.prior else None)

    @cached_property
    def skill(self) -> FloatArray:
        """How well each system separates the classes, (J,)."""
        if self.varied_skills:
            return np.array(self.varied_skills)
        equal = np.full(self.systems, 1.2)
        if self.skills == "unequal":
            return np.linspace(1.2, 0.6, self.systems)
        if self.skills == "clear best":
            equal[1:] = 0.2
        if self.skills == "one awful":
            equal[-1] = -1.5
        if self.skills == "half worse":
            equal[self.systems // 2 :] = 0.9
        return equal

    @cached_property
    def blind(self) -> FloatArray:
        """Cost of each decision made blindly, (M,)."""
        return np.asarray(self.shares @ self.problem.costs)

    @property
    def miss_rate(self) -> float:
        """How often a system with rare misses misses a case of the second class."""
        return 1 / (self.size * self.prevalence)

    def cost_of_cuts(self, place: int, cuts: FloatArray) -> float:
        """Exact cost of a system that takes a further decision above each cut of its scores."""
        above = ndtr(np.array([[0.0], [self.skill[place]]]) - cuts)  # (class, cut)
        edges = np.hstack([np.ones((2, 1)), above, np.zeros((2, 1))])
        return float(self.shares @ np.sum(-np.diff(edges, axis=1) * self.problem.costs, axis=1))

    def posterior(self, place: int, score: FloatArray) -> FloatArray:
        """The probability of the second class that a system gives, which is overconfident."""
        skill = self.skill[place]
        log_odds = skill * score - skill**2 / 2 + np.log(self.prevalence / (1 - self.prevalence))
        return np.asarray(expit(1.6 * log_odds))

    def draw(self, rng: np.random.Generator) -> Rows:
        """A data set."""
        n = self.size
        y = (rng.random(n) < self.prevalence).astype(int)
        if self.kind == "rare misses":
            detected = rng.random((self.systems, n)) >= self.miss_rate
            return Rows(y, _named(list(y * detected)), None, None)
        noise, by = rng.standard_normal((n, self.systems)), None
        if self.clusters is not None:
            by = np.arange(n) * self.clusters // n
            effect = rng.standard_normal((self.clusters, self.systems))[by]
            noise = np.sqrt(WITHIN) * effect + np.sqrt(1 - WITHIN) * noise
        score = y[:, None] * self.skill + np.sqrt(SHARED) * rng.standard_normal((n, 1))
        predictions = self._reported(score + np.sqrt(1 - SHARED) * noise)
        if self.weights == "whole":  # equal rows are written once
            table, times = np.unique(np.column_stack([y, *predictions]), axis=0, return_counts=True)
            y, predictions, whole = table[:, 0], list(table[:, 1:].T), times.astype(float)
            return Rows(y, _named(predictions), None, None, whole)
        fractional = np.exp(rng.standard_normal(n)) if self.weights == "lognormal" else None
        return Rows(y, _named(predictions), fractional, by)

    def _reported(self, score: FloatArray) -> list[Any]:
        if self.kind == "decisions":
            return [(column[:, None] > CUTS).sum(axis=-1) for column in score.T]
        if self.kind == "tuned":
            return [Scores(column) for column in score.T]
        return [self.posterior(place, column) for place, column in enumerate(score.T)]


def _named(predictions: list[Any]) -> dict[str, Any]:
    return {f"model {place}": column for place, column in enumerate(predictions)}
