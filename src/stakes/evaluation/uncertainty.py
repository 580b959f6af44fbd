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
    Percentile,
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
    perfect: float  # cost of the best decision of each class
    level: float

    def cost(self, name: str) -> Interval:
        """Cost per case of one system."""
        return self._along({(0, self.names.index(name)): 1.0})

    def normalized(self, name: str) -> Interval:
        """Normalised cost of one system."""
        return self._along({(1, self.names.index(name)): 1.0})

    def saving(self, dearer: str | None, cheaper: str) -> Interval:
        """What the cheaper system saves against another, or against not looking (None)."""
        first = len(self.names) if dearer is None else self.names.index(dearer)
        return self._along({(0, first): 1.0, (0, self.names.index(cheaper)): -1.0})

    def probability_cheapest(self, among: list[str]) -> dict[str, float]:
        """Share of the replicates in which each of these is cheaper than the others and naive.

        Ties are split.
        """
        places = [self.names.index(name) for name in among]
        drawn = self.estimate.replicates[:, 0][:, [*places, -1]]
        drawn = drawn[~np.isnan(drawn).any(axis=1)]
        if not len(drawn):
            return dict.fromkeys(among, float("nan"))
        chosen = least(drawn)
        shares = (chosen / chosen.sum(axis=1, keepdims=True)).mean(axis=0)
        return dict(zip(among, shares[:-1].tolist(), strict=True))

    def optimism(self, among: list[str]) -> float:
        """How much cheaper the cheapest of these looks because it was chosen on the same cases.

        The bootstrap's answer: how much cheaper the cheapest of a redraw looks there than it is.
        """
        places = [self.names.index(name) for name in among]
        drawn = self.estimate.replicates[:, 0][:, places]
        drawn = drawn[~np.isnan(drawn).any(axis=1)]
        if not len(drawn):
            return float("nan")
        costs = self.estimate.value[0][places]
        chosen = np.argmin(drawn, axis=1)
        return float(np.mean(costs[chosen] - drawn[np.arange(len(drawn)), chosen]))

    def share_of_regret(self, amount: float, name: str) -> float:
        """An amount as a share of what a system costs above perfect decisions; 0 if that is 0."""
        above = float(self.estimate.value[0][self.names.index(name)]) - self.perfect
        return amount / above if above > 0 else 0.0

    @property
    def undefined(self) -> int:
        """Replicates in which a cost is undefined that is defined for all cases."""
        known = ~np.isnan(self.estimate.value[0])
        return int(np.isnan(self.estimate.replicates[:, 0][:, known]).any(axis=1).sum())

    def _along(self, parts: dict[tuple[int, int], float]) -> Interval:
        """A sum of some of the numbers, with its interval as the scheme reads it."""
        value, drawn = self.estimate.value, self.estimate.replicates
        contrast = np.zeros(value.shape)
        for place, factor in parts.items():
            contrast[place] = factor
        used = contrast != 0
        total = np.asarray(value[used] @ contrast[used])
        intervals = self.estimate.intervals.along(contrast)
        made = estimate_of(total, drawn[:, used] @ contrast[used], intervals)
        ends = made.interval(self.level)
        return Interval(float(total), float(ends.low), float(ends.high))


def scheme_for(sample: Sample, problem: Problem) -> Scheme:
    """What was drawn at random: clusters, cases of each class, or cases."""
    if sample.clusters is not None:
        return Units()
    if not sample.whole:
        return BayesianBootstrap()
    return AllCases() if problem.prior is None else WithinClasses()


def costs_of(
    sample: Sample, problem: Problem, *, replicates: int, rng: np.random.Generator, level: float
) -> Costs:
    """Costs of all systems and of not looking, by joint redraws.

    Cases of fractional weight are redrawn as the Bayesian bootstrap does, each cell as so many
    cases of equal weight as have the same sum of weights and the same sum of their squares.
    """
    joint = sample.joint
    names = tuple(str(name) for name in joint.models)
    shares = sample.pooled.shares if problem.prior is None else problem.prior
    perfect = float(shares @ problem.costs.min(axis=1))
    if sample.clusters == 1:  # nothing is known about other units
        value = _costs(sample.pooled, problem)
        unknown = np.full((replicates, *value.shape), np.nan)
        return Costs(names, estimate_of(value, unknown, Percentile()), perfect, level)
    size: FloatArray | float = 1.0  # weight of one case in each cell
    if sample.squares is not None and sample.clusters is None:
        size = sample.squares / joint.weights

    def measure(tally: JointCounts) -> FloatArray:
        return _costs(tally.with_cell_weights(tally.weights * size), problem)

    cases = joint.with_cell_weights(joint.weights / size)
    scheme = scheme_for(sample, problem)
    made = bootstrap(measure, cases, replicates=replicates, rng=rng, scheme=scheme)
    return Costs(names, made, perfect, level)


def _costs(joint: JointCounts, problem: Problem) -> FloatArray:
    """Costs and normalised costs (…, 2, J + 1) of all systems and of not looking.

    Costs are taken above the perfect one, so that what makes no difference is exactly zero.
    """
    regret = problem.costs - problem.costs.min(axis=1, keepdims=True)
    shares = joint.shares if problem.prior is None else problem.prior
    tally = joint if problem.prior is None else joint.with_prior(problem.prior)
    spent = np.stack([_cost(tally, place, regret) for place in range(len(joint.models))], axis=-1)
    naive = np.asarray(shares @ regret).min(axis=-1)[..., None] + 0 * spent[..., :1]
    above = np.concatenate([spent, naive], axis=-1)
    perfect = np.asarray(shares @ problem.costs.min(axis=1))[..., None]
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.stack([perfect + above, above / naive], axis=-2)


def _cost(joint: JointCounts, place: int, costs: FloatArray) -> FloatArray:
    """Mean cost of one system over the cases of a joint tally, (…)."""
    per_cell = costs[joint.cells[:, 0], joint.cells[:, 1 + place]]
    with np.errstate(invalid="ignore"):
        return np.asarray(joint.weights @ per_cell / joint.weights.sum(axis=-1))
