"""How sure the costs are: joint redraws of all systems on the same cases."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stakes._check import FloatArray, Labels
from stakes.evaluation.evidence import Sample
from stakes.inference import (
    AllCases,
    BayesianBootstrap,
    Estimate,
    Scheme,
    Units,
    WithinClasses,
    bootstrap,
)
from stakes.inference.bootstrap import estimate_of
from stakes.measures.table import least
from stakes.problem import Problem
from stakes.report import Interval
from stakes.tally import JointCounts

__all__ = ["Costs", "costs_of", "scheme_for"]


@dataclass(frozen=True, eq=False)
class Costs:
    """Costs and normalised costs of J systems and of not looking, with joint replicates.

    `estimate` has shape (2, J + 1): costs, then normalised costs; the last column is the best
    decision without looking.
    """

    names: Labels
    estimate: Estimate
    level: float

    def cost(self, name: str) -> Interval:
        """Cost per case of one system."""
        return self._interval(0, self.names.index(name))

    def normalized(self, name: str) -> Interval:
        """Normalised cost of one system."""
        return self._interval(1, self.names.index(name))

    def saving(self, dearer: str | None, cheaper: str) -> Interval:
        """What the cheaper system saves against another, or against not looking (None)."""
        first = -1 if dearer is None else self.names.index(dearer)
        second = self.names.index(cheaper)
        costs, drawn = self.estimate.value[0], self.estimate.replicates[:, 0]
        saved = drawn[:, first] - drawn[:, second]
        return self._read(costs[first] - costs[second], saved)

    def probability_cheapest(self, among: list[str]) -> dict[str, float]:
        """Share of the replicates in which each of these is the cheapest; ties are split."""
        places = [self.names.index(name) for name in among]
        drawn = self.estimate.replicates[:, 0][:, places]
        drawn = drawn[~np.isnan(drawn).any(axis=1)]
        if not len(drawn):
            return dict.fromkeys(among, float("nan"))
        chosen = least(drawn)
        shares = (chosen / chosen.sum(axis=1, keepdims=True)).mean(axis=0)
        return dict(zip(among, shares.tolist(), strict=True))

    @property
    def undefined(self) -> int:
        """Replicates in which some cost is undefined."""
        return int(np.isnan(self.estimate.replicates[:, 0]).any(axis=1).sum())

    def _interval(self, row: int, column: int) -> Interval:
        drawn = self.estimate.replicates[:, row, column]
        return self._read(self.estimate.value[row, column], drawn)

    def _read(self, value: FloatArray, replicates: FloatArray) -> Interval:
        """A value with the interval of its replicates, as the scheme reads it."""
        made = estimate_of(np.asarray(value), replicates, self.estimate.intervals)
        ends = made.interval(self.level)
        return Interval(float(value), float(ends.low), float(ends.high))


def scheme_for(sample: Sample, problem: Problem) -> Scheme:
    """What was drawn at random: clusters, cases of each class, or cases."""
    if (sample.clusters or 0) > 1:
        return Units()
    if not sample.whole:
        return BayesianBootstrap()
    return AllCases() if problem.prior is None else WithinClasses()


def costs_of(
    sample: Sample, problem: Problem, *, replicates: int, rng: np.random.Generator, level: float
) -> Costs:
    """Costs of all systems and of not looking, by joint redraws."""
    joint, scheme = sample.joint, scheme_for(sample, problem)
    names = tuple(str(name) for name in joint.models)

    def measure(tally: JointCounts) -> FloatArray:
        shares = tally.shares if problem.prior is None else problem.prior
        weights = tally if problem.prior is None else tally.with_prior(problem.prior)
        spent = np.stack([_cost(weights, place, problem) for place in range(len(names))], axis=-1)
        naive = (shares @ problem.costs).min(axis=-1) + 0 * spent[..., 0]
        perfect = shares @ problem.costs.min(axis=-1)
        costs = np.concatenate([spent, naive[..., None]], axis=-1)
        with np.errstate(divide="ignore", invalid="ignore"):
            normal = (costs - perfect[..., None]) / (naive - perfect)[..., None]
        return np.stack([costs, normal], axis=-2)

    made = bootstrap(measure, joint, replicates=replicates, rng=rng, scheme=scheme)
    return Costs(names, made, level)


def _cost(joint: JointCounts, place: int, problem: Problem) -> FloatArray:
    """Mean cost of one system over the cases of a joint tally, (…)."""
    per_cell = problem.costs[joint.cells[:, 0], joint.cells[:, 1 + place]]
    with np.errstate(invalid="ignore"):
        return np.asarray(joint.weights @ per_cell / joint.weights.sum(axis=-1))
