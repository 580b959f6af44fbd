"""How sure the costs are: joint redraws of all systems on the same cases."""

from __future__ import annotations

from dataclasses import dataclass
from math import isnan

import numpy as np

from stakes._check import BoolArray, FloatArray, Labels
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

    `estimate` has shape (2, J + 2): costs above `base`, then normalised costs. The last column but
    one is the blind decision that is the cheapest for all cases, the same in every replicate; the
    last one is the cheapest blind decision of each replicate.
    """

    names: Labels
    estimate: Estimate
    perfect: float  # cost of the best decision of each class
    base: float  # the least of all costs, kept apart: it takes no digits from differences
    level: float

    def cost(self, name: str) -> Interval:
        """Cost per case of one system."""
        above = self._along({(0, self.names.index(name)): 1.0})
        return Interval(above.value + self.base, above.low + self.base, above.high + self.base)

    def normalized(self, name: str) -> Interval:
        """Normalised cost of one system."""
        return self._along({(1, self.names.index(name)): 1.0})

    def saving(self, dearer: str | None, cheaper: str) -> Interval:
        """What the cheaper system saves against another, or the named blind decision (None).

        That decision stays the same in every replicate. Chosen anew, it would be the least of
        several random numbers, too cheap on average, and the interval would cover too seldom.
        """
        first = len(self.names) if dearer is None else self.names.index(dearer)
        return self._along({(0, first): 1.0, (0, self.names.index(cheaper)): -1.0})

    @staticmethod
    def clear(saving: Interval) -> bool | None:
        """Whether a saving is more than noise; None where it has no interval."""
        return None if isnan(saving.low) else saving.low > 0

    def probability_cheapest(self, among: list[str]) -> dict[str, float]:
        """Share of the replicates in which each of these is cheaper than the others and naive.

        Every blind decision is a rival here. Ties are split.
        """
        chosen = self._cheapest(among)
        if not len(chosen):
            return dict.fromkeys(among, float("nan"))
        shares = (chosen / chosen.sum(axis=1, keepdims=True)).mean(axis=0)
        return dict(zip(among, shares[:-1].tolist(), strict=True))

    def probability_of_saving(self, among: list[str]) -> float:
        """Share of the replicates in which one of these is cheaper than every blind decision."""
        chosen = self._cheapest(among)
        return float(1 - chosen[:, -1].mean()) if len(chosen) else float("nan")

    def _cheapest(self, among: list[str]) -> BoolArray:
        """Which of these systems, and of not looking, are the cheapest in each replicate."""
        places = [self.names.index(name) for name in among]
        drawn = self.estimate.replicates[:, 0][:, [*places, -1]]
        return least(drawn[~np.isnan(drawn).any(axis=1)])

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
        above = float(self.estimate.value[0][self.names.index(name)]) - (self.perfect - self.base)
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
    joint, squares = _ordered(sample)
    names = tuple(str(name) for name in joint.models)
    shares = sample.pooled.shares if problem.prior is None else problem.prior
    base = float(problem.costs.min())
    perfect = base + float(shares @ (problem.costs.min(axis=1) - base))
    named = problem.decisions.index(problem.with_prior(shares).naive.decision)
    if sample.clusters == 1:  # nothing is known about other units
        value = _costs(sample.pooled, problem, named)
        unknown = np.full((replicates, *value.shape), np.nan)
        return Costs(names, estimate_of(value, unknown, Percentile()), perfect, base, level)
    size: FloatArray | float = 1.0  # weight of one case in each cell
    if squares is not None and sample.clusters is None:
        size = squares / joint.weights

    def measure(tally: JointCounts) -> FloatArray:
        return _costs(tally.with_weights(tally.weights * size), problem, named)

    cases = joint.with_weights(joint.weights / size)
    scheme = scheme_for(sample, problem)
    made = bootstrap(measure, cases, replicates=replicates, rng=rng, scheme=scheme)
    return Costs(names, made, perfect, base, level)


def _ordered(sample: Sample) -> tuple[JointCounts, FloatArray | None]:
    """The joint tally with its cells in the order of the systems' names, and squared weights.

    So the replicates do not depend on the order in which models were given.
    """
    joint, squares = sample.joint, sample.squares
    places = sorted(range(len(joint.models)), key=lambda place: str(joint.models[place]))
    order = np.lexsort(joint.cells[:, [0, *(1 + place for place in places)]].T[::-1])
    ordered = JointCounts._trusted(
        cells=joint.cells[order],
        weights=joint.weights[..., order],
        models=joint.models,
        classes=joint.classes,
        decisions=joint.decisions,
        groups=joint.groups,
    )
    return ordered, None if squares is None else squares[..., order]


def _costs(joint: JointCounts, problem: Problem, named: int) -> FloatArray:
    """Costs above the least of all and normalised costs (…, 2, J + 2) of systems and not looking.

    Costs are taken above the perfect one, so that what makes no difference is exactly zero.
    """
    regret = problem.costs - problem.costs.min(axis=1, keepdims=True)
    shares = joint.shares if problem.prior is None else problem.prior
    tally = joint if problem.prior is None else joint.with_prior(problem.prior)
    spent = np.stack([_cost(tally, place, regret) for place in range(len(joint.models))], axis=-1)
    of_blind = np.asarray(shares @ regret)
    of_blind = np.stack([of_blind[..., named], of_blind.min(axis=-1)], axis=-1)
    above = np.concatenate([spent, of_blind + 0 * spent[..., :1]], axis=-1)
    perfect = np.asarray(shares @ (problem.costs.min(axis=1) - problem.costs.min()))[..., None]
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.stack([perfect + above, above / above[..., -1:]], axis=-2)


def _cost(joint: JointCounts, place: int, costs: FloatArray) -> FloatArray:
    """Mean cost of one system over the cases of a joint tally, (…)."""
    per_cell = costs[joint.cells[:, 0], joint.cells[:, 1 + place]]
    with np.errstate(invalid="ignore"):
        return np.asarray(joint.weights @ per_cell / joint.weights.sum(axis=-1))
