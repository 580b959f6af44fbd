"""Models of little value: what the reports that take one say about its cost and its saving."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtr

from coverage_study.populations import FloatArray
from stakes import JointCounts, Problem
from stakes.inference import Measured, SampledCosts, system_costs

__all__ = ["DESIGNS", "KINDS", "Models", "row_of"]

KINDS = ("cost", "saving")


@dataclass(frozen=True)
class Models:
    """Equal models that decide by noisy scores; a false alarm costs 1, and a miss more."""

    systems: int
    size: int
    prevalence: float
    miss: float
    cut: float
    saving: float  # the true one of each model
    prior: bool = False  # whether the prevalence is stated

    @property
    def problem(self) -> Problem:
        """What is at stake."""
        prior = [1 - self.prevalence, self.prevalence] if self.prior else None
        return Problem([[0, 1], [self.miss, 0]], prior=prior)

    @property
    def blind(self) -> FloatArray:
        """What each constant decision costs."""
        return np.array([self.prevalence * self.miss, 1 - self.prevalence])

    def cost(self, skill: float) -> float:
        """What a model of this skill costs."""
        alarms = (1 - self.prevalence) * ndtr(-self.cut)
        return float(alarms + self.prevalence * self.miss * ndtr(self.cut - skill))

    @property
    def skill(self) -> float:
        """That of the models."""
        wanted = float(self.blind.min()) - self.saving
        return float(brentq(lambda skill: self.cost(skill) - wanted, -3.0, 6.0))

    def draw(self, rng: np.random.Generator) -> SampledCosts:
        """The costs of one data set."""
        y = (rng.random(self.size) < self.prevalence).astype(int)
        scores = self.skill * y + rng.standard_normal((self.systems, self.size))
        decided = {f"m{j}": (each > self.cut).astype(int) for j, each in enumerate(scores)}
        problem = self.problem
        return system_costs(JointCounts.from_decisions(y, decided, problem), problem)


_EVEN: dict[str, Any] = {"size": 400, "prevalence": 0.3, "miss": 4.0, "cut": 0.5}
_RARE: dict[str, Any] = {"size": 1_000, "prevalence": 0.02, "miss": 20.0, "cut": 1.5}
DESIGNS = (
    *(Models(j, **_EVEN, saving=s) for j in (1, 2, 12) for s in (0.0, 0.05, 0.2)),
    *(Models(j, **_EVEN, saving=0.0, prior=True) for j in (1, 12)),
    *(Models(j, **_RARE, saving=0.0) for j in (1, 12)),
    *(Models(j, **_RARE, saving=0.0, prior=True) for j in (1, 12)),
    Models(12, **_RARE, saving=0.1),
)


def row_of(design: Models, samples: int, seed: int) -> dict[str, Any]:
    """Means over the data sets that take a model: biases in % of its cost, coverages and widths."""
    rng, each = np.random.default_rng(seed), []
    for _ in range(samples):
        costs = design.draw(rng)
        if costs.saves:
            each.append(_checked(design, costs))
    means = {key: float(np.mean([result[key] for result in each])) for key in each[0]}
    row: dict[str, Any] = {"taken": 100 * len(each) / samples}
    for kind in KINDS:
        for when in ("before", "after"):
            row[f"{kind}, {when}"] = 100 * means[f"{kind}, {when}"] / design.cost(design.skill)
        row[f"{kind}, covered"] = 100 * means[f"{kind}, covered"]
        row[f"{kind}, width"] = means[f"{kind}, width"] / means[f"{kind}, plain width"]
    spread = np.std([result["cost, after"] for result in each]) / np.sqrt(len(each))
    return row | {"error": 100 * float(spread) / design.cost(design.skill)}


def _checked(design: Models, costs: SampledCosts) -> dict[str, float]:
    """One data set that takes a model: the errors of what is said, and whether intervals cover."""
    name, truth = str(costs.cheapest), design.cost(design.skill)
    saved = float(design.blind[costs.constant.index(costs.unaided)]) - truth
    results: dict[str, float] = {}
    for kind, true, plain, expected in (
        ("cost", truth, costs.cost(name), costs.expected(name)),
        ("saving", saved, costs.saving(name), costs.expected_saving(name)),
    ):
        results[f"{kind}, before"] = plain.value - true
        results[f"{kind}, after"] = expected.value - true
        results[f"{kind}, covered"] = float(expected.low <= true <= expected.high)
        results[f"{kind}, plain width"], results[f"{kind}, width"] = map(_width, (plain, expected))
    return results


def _width(interval: Measured) -> float:
    return interval.high - interval.low
