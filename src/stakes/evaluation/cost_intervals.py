"""Intervals of costs, the choice of the cheapest system, and the correction for that choice.

Everything is deterministic and a function of tallies; the procedures are in `stakes.inference`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property
from math import isnan
from typing import Any

import numpy as np

from stakes._check import BoolArray, FloatArray, Label, Labels
from stakes._value import record
from stakes.decide import reachable_decisions
from stakes.evaluation.cross_fitted import fitting_of
from stakes.evaluation.evidence import Evidence, Sample
from stakes.inference import (
    MOST_BLIND,
    Clusters,
    Contenders,
    LossSample,
    Measured,
    Move,
    SelectionEffect,
    Support,
    contenders,
    contenders_among,
    cost_support,
    difference_support,
    leaving_points,
    probability_cheapest,
    profile_bounds,
    profile_normalized_interval,
    profile_threshold,
    ratio_bounds,
    selection_effect,
    widened,
    with_blind,
)
from stakes.measures import normalized_cost
from stakes.problem import Problem
from stakes.report import POSTERIOR_RULES
from stakes.tally import Counts, JointCounts

_AT_ONCE = 1 << 22  # most numbers in the tables of a block of systems: 32 MiB of doubles


@record
class Costs:
    """Costs of systems on the same cases, how they compare, and which is the cheapest.

    The least cost of the problem is subtracted from all costs and added back at the end, so that an
    amount which all decisions share takes no digits from differences. A blind decision is the same
    for all cases.
    """

    joint: JointCounts  # of the systems and of every blind decision; clusters are its leading axis
    problem: Problem  # with costs above `base`
    base: float
    reachable: BoolArray  # (J + M, M)
    squares: FloatArray | None  # sums of squared weights, where weights are fractional
    choice: Contenders  # among the systems that may win
    named: str  # the cheapest blind decision, with which systems are compared
    level: float
    added: FloatArray  # (J + M,) what each costs per case besides its decisions: running a model

    @property
    def perfect(self) -> float:
        """Cost of the best decision of each class."""
        return self.base + self._perfect

    @property
    def cheapest(self) -> str | None:
        """The cheapest of the systems that may win; None where no cost is defined."""
        place = self.choice.cheapest
        known = place >= 0 and not isnan(self.choice.costs[place])
        return str(self.choice.names[place]) if known else None

    @property
    def _perfect(self) -> float:
        shares = _pooled(self.joint).shares if self.problem.prior is None else self.problem.prior
        return float(shares @ self.problem.costs.min(axis=1))

    def cost(self, name: str) -> Measured:
        """Cost per case of one system on this sample, with its interval."""
        return self._shifted(self._value(name), *self._bounds[name])

    def normalized(self, name: str) -> Measured:
        """Normalised cost of one system on this sample, with its interval."""
        return self._normalized[name]

    def saving(self, costlier: str | None, cheaper: str) -> Measured:
        """What the cheaper system saves against another, or against the blind decision (None)."""
        return self.difference(costlier or self.named, cheaper)

    def difference(self, first: str, second: str, factor: float = 1.0) -> Measured:
        """Cost of one system less a factor times that of another; the interval is for this pair."""
        beside = self._beside(first) - factor * self._beside(second) + (1 - factor) * self.base
        support = self._pair_support(first, second, factor).shifted(beside)
        value = self._value(first) - factor * self._value(second) + (1 - factor) * self.base
        weights = np.array([1.0, -factor])
        fitting = self.choice.errors.among((first, second)).fitting
        added = max(float(weights @ fitting @ weights), 0.0)
        return Measured(value, *self._profile(support, value, added))

    def expected(self, name: str) -> Measured:
        """Cost of the chosen system once deployed: corrected for the choice on the same cases."""
        cost = self.cost(name)
        corrected = self._effect.cost(
            cost.value - self.base, cost.low - self.base, cost.high - self.base
        )
        return self._shifted(corrected.value, corrected.low, corrected.high)

    def expected_saving(self, name: str) -> Measured:
        """What the chosen system saves against the named blind decision, once deployed."""
        saving = self.saving(None, name)
        effect = selection_effect(self.choice, against=self.named)
        # The choice does not bias the cost of the blind decision, and cost and saving must add up
        # to it: both get the same correction.
        effect = replace(effect, bias=self._effect.bias)
        return effect.saving(saving.value, saving.low, saving.high)

    def expected_normalized(self, name: str) -> Measured:
        """Normalised cost of the chosen system once deployed, corrected in the same way."""
        share, regret = self.normalized(name), self._value(name) - self._perfect
        if not (0 < share.value < np.inf and regret > 0):
            return share
        unit = regret / share.value  # what the best constant decision costs above perfect ones
        bias, reach = self._effect.bias / unit, self._effect.reach / unit
        effect = replace(self._effect, bias=bias, reach=reach, most=self._worst)
        return effect.cost(share.value, share.low, share.high)

    def is_unaided(self, name: str) -> bool:
        """Whether a system decides as the blind decision does, and costs nothing to run."""
        return self._beside(name) == 0 and self._same(name, self.named)

    def more(self, name: str) -> Measured:
        """Cost of a system above the cheapest; the intervals of all systems hold at once."""
        place = self.choice.names.index(name)
        parts = (self.choice.differences, self.choice.low, self.choice.high)
        return Measured(*(float(part[place]) for part in parts))

    def is_contender(self, name: str) -> bool:
        """Whether a system is statistically indistinguishable from the cheapest."""
        return name in self.choice.contenders

    def leaving(self, moves: list[Move], evidence: Evidence) -> FloatArray:
        """Where choices leave the contenders while a number of the problem moves."""
        blind = map(str, self.joint.models[-self._n_blind :])
        return leaving_points(
            self.joint,
            moves,
            level=self.level,
            among=self.choice.names,
            blind=tuple(name for name in blind if evidence.may_be_taken(name)),
            reachable=self.reachable,
            squares=self.squares,
            fitting=self.choice.errors.fitting,
        )

    @cached_property
    def chances(self) -> dict[str, float]:
        """The probability that each system is the cheapest, with costs shrunk to their mean."""
        probabilities = probability_cheapest(self.choice)
        return dict(zip(map(str, self.choice.names), probabilities.tolist(), strict=True))

    def blind_cost(self) -> float:
        """Cost per case of the named blind decision."""
        return self.base + self._value(self.named)

    def share_of_regret(self, amount: float, name: str) -> float:
        """An amount as a share of what a system costs above perfect decisions; 0 if that is 0."""
        above = self._value(name) - self._perfect
        return amount / above if above > 0 else 0.0

    # Internals -----------------------------------------------------------------------------------

    @property
    def _n_blind(self) -> int:
        """How many blind decisions there are; in the joint tally they come last."""
        return min(self.problem.n_decisions, MOST_BLIND)

    def _profile(self, support: Support, value: float, added: float) -> tuple[float, float]:
        threshold = profile_threshold(self.level, support.degrees)
        low, high = profile_bounds(support, threshold, value, added)
        return float(low), float(high)

    def _pair_support(self, first: str, second: str, factor: float) -> Support:
        places = self.joint.models.index(first), self.joint.models.index(second)
        support = difference_support(
            self.joint, self.problem, [places], factor=factor, **self._design
        )
        return support.of_quantity(0)

    def _same(self, first: str, second: str) -> bool:
        """Whether a system takes a blind decision about every case."""
        # Equal tables suffice: those of a blind decision have all cases in one column.
        joint = _pooled(self.joint)
        return np.array_equal(joint.model(first).values, joint.model(second).values)

    @cached_property
    def _effect(self) -> SelectionEffect:
        return selection_effect(self.choice)

    @property
    def _span(self) -> float:
        """What the best constant decision costs above perfect ones, even if it breaks a limit."""
        constant = self.joint.models[-self._n_blind :]
        return min(self._value(str(name)) for name in constant) - self._perfect

    def _value(self, name: str) -> float:
        return float(self.choice.errors.costs[self.choice.errors.names.index(name)])

    def _beside(self, name: str) -> float:
        """What a system costs per case besides its decisions."""
        return float(self.added[self.choice.errors.names.index(name)])

    def _shifted(self, value: float, low: float, high: float) -> Measured:
        return Measured(value + self.base, low + self.base, high + self.base)

    @property
    def _design(self) -> dict[str, Any]:
        scheme = Clusters() if self.joint.weights.ndim == 2 else None
        return {"reachable": self.reachable, "squares": self.squares, "scheme": scheme}

    @cached_property
    def _bounds(self) -> dict[str, tuple[float, float]]:
        """Bounds of the cost of every system."""
        bounds: dict[str, tuple[float, float]] = {}
        for names, counts, design in self._blocks:
            support = cost_support(counts, self.problem, **design)
            support = support.shifted(np.array([self._beside(name) for name in names]))
            errors = self.choice.errors.among(tuple(names))
            low, high = profile_bounds(
                support,
                profile_threshold(self.level, support.degrees),
                errors.costs,
                np.diagonal(errors.fitting),
            )
            bounds |= dict(zip(names, zip(low.tolist(), high.tolist(), strict=True), strict=True))
        return bounds

    @cached_property
    def _normalized(self) -> dict[str, Measured]:
        intervals: dict[str, Measured] = {}
        unit = self._span
        for names, counts, design in self._blocks:
            beside = np.array([self._beside(name) for name in names])
            interval = profile_normalized_interval(
                counts, self.problem, self.level, added=beside, **design
            )
            more = beside / unit if unit > 0 else 0.0 * beside
            values = np.asarray(normalized_cost(_summed(counts, self.joint), self.problem)) + more
            errors = self.choice.errors.among(tuple(names))
            added = np.diagonal(errors.fitting) / (unit**2 if unit > 0 else np.inf)
            threshold = profile_threshold(self.level, np.asarray(errors.degrees))
            low, high = widened(values, (interval.low, interval.high), threshold, added)
            bounds = low.clip(min=0.0), high.clip(max=self._worst + more)
            parts = zip(values.tolist(), *(end.tolist() for end in bounds), strict=True)
            intervals |= {name: Measured(*part) for name, part in zip(names, parts, strict=True)}
        return intervals

    @property
    def _worst(self) -> float:
        """The largest normalised cost there can be; infinite where the prior is estimated."""
        span = self._span
        known = self.problem.prior is not None and span > 0
        return (self.choice.most - self._perfect) / span if known else np.inf

    @property
    def _blocks(self) -> Iterator[tuple[list[str], Counts, dict[str, Any]]]:
        """Names, tables and design of the systems, in blocks that fit into memory.

        The blind decisions are left out.
        """
        names = [str(name) for name in self.joint.models[: -self._n_blind]]
        table = self.problem.costs.size * max(1, self.joint.weights.size // len(self.joint.cells))
        size = max(1, _AT_ONCE // table)
        for first in range(0, len(names), size):
            block = names[first : first + size]
            design = self._design | {"reachable": self.reachable[first : first + len(block)]}
            if self.squares is not None:
                squares = self.joint.with_cell_weights(self.squares)
                design["squares"] = _tables(squares, block).values
            yield block, _tables(self.joint, block), design


@record
class LossCosts(Costs):
    """Costs and intervals where costs differ from case to case."""

    losses: LossSample  # above `base`: of systems, of `NO_MODEL` and of every constant decision

    @property
    def _perfect(self) -> float:
        return self.losses.mean(self.losses.perfect)

    @property
    def _span(self) -> float:
        return self._value(self.best_constant) - self._perfect

    def _pair_support(self, first: str, second: str, factor: float) -> Support:
        return self.losses.difference_support(first, second, factor)

    def _same(self, first: str, second: str) -> bool:
        return np.array_equal(self.losses.loss(first), self.losses.loss(second))

    @cached_property
    def _bounds(self) -> dict[str, tuple[float, float]]:
        extra = dict(zip(self.losses.names, np.diagonal(self.choice.errors.fitting), strict=True))
        bounds = {}
        for name in self._shown:
            support = self.losses.cost_support(name).shifted(self._beside(name))
            bounds[name] = self._profile(support, self._value(name), float(extra[name]))
        return bounds

    @cached_property
    def _normalized(self) -> dict[str, Measured]:
        losses, constant = self.losses, self.losses.loss(self.best_constant)
        below = constant - losses.perfect
        unit, added = losses.mean(below), np.diagonal(self.choice.errors.fitting)
        threshold = profile_threshold(self.level, np.asarray(losses.degrees))
        intervals = {}
        for name in self._shown:
            above = losses.loss(name) - losses.perfect + self._beside(name)
            with np.errstate(divide="ignore", invalid="ignore"):
                value = float(np.divide(losses.mean(above), unit))
            bounds = ratio_bounds(losses, above, below, float(threshold), losses.most(name))
            more = added[losses.names.index(name)] / (unit**2 if unit > 0 else np.inf)
            wide = (np.asarray(end) for end in bounds)
            low, high = widened(np.asarray(value), tuple(wide), threshold, np.asarray(more))  # type: ignore[arg-type]
            intervals[name] = Measured(value, max(float(low), 0.0), float(high))
        return intervals

    @property
    def _shown(self) -> list[str]:
        """All systems and the rule without a model, but not the constant decisions."""
        return [str(name) for name in self.losses.names[: -self.problem.n_decisions]]

    def constant(self, decisions: Labels) -> tuple[Label, float, Labels]:
        """The cheapest constant decision, its cost per case, and those that tie with it."""
        costs = [self._value(f"always {decision}") for decision in decisions]
        # Costs were rounded themselves, and again when the base was subtracted.
        rounding = 1e-12 * (max(costs) - self._perfect) + 4 * np.finfo(np.float64).eps * abs(
            self.base
        )
        tied = [
            d for d, cost in zip(decisions, costs, strict=True) if cost <= min(costs) + rounding
        ]
        return tied[0], min(costs) + self.base, tuple(tied)

    @property
    def best_constant(self) -> str:
        """The name of the cheapest constant decision."""
        constant = self.losses.names[-self.problem.n_decisions :]
        return str(min(constant, key=lambda name: self._value(str(name))))


def _loss_costs(sample: Sample, problem: Problem, evidence: Evidence, level: float) -> LossCosts:
    charges = sample.charges
    assert charges is not None
    losses = replace(charges.losses, prior=problem.prior)
    fitting = fitting_of(evidence, len(losses.names)) if sample is evidence.sample else None
    added = evidence.beside(tuple(map(str, losses.names)))
    errors = losses.errors(fitting).with_added(added)
    rivals = errors.among(tuple(name for name, rule in evidence.rules.items() if rule.eligible))
    choice = contenders_among(
        rivals,
        errors,
        lambda base: losses.differences(rivals.names, base),
        level=level,
        reach=losses.beyond_all,
        least_cost=0.0,
        most=losses.beyond_all,
        added=added,
    )
    blind, *constant = losses.names[len(evidence.rules) :]
    unaided = (*constant, blind)  # a constant decision wins ties: it is the simpler one
    if evidence.unaided:
        unaided = tuple(name for name in unaided if name in evidence.unaided)
    named = min(unaided, key=lambda name: errors.costs[losses.names.index(name)])
    return LossCosts(
        sample.joint,
        problem,
        charges.base,
        np.empty(0, bool),
        None,
        choice,
        str(named),
        level,
        added,
        losses,
    )


def _tables(joint: JointCounts, names: list[str]) -> Counts:
    """Counts (…, J, K, M) of some systems."""
    values = np.stack([joint.model(name).values for name in names], axis=-3)
    labels: dict[str, Any] = {"classes": joint.classes, "decisions": joint.decisions}
    return Counts._trusted(values=values, **labels, groups=None)


def _summed(counts: Counts, joint: JointCounts) -> Counts:
    """Counts summed over all clusters."""
    return counts if joint.weights.ndim == 1 else counts.sum_clusters(np.ones((1, len(counts))))[0]


def _pooled(joint: JointCounts) -> JointCounts:
    return joint if joint.weights.ndim == 1 else joint.with_cell_weights(joint.weights.sum(axis=0))


def _above(base: float, problem: Problem) -> Problem:
    """The problem with costs above a base, and no limits."""
    if not (base or problem.limits):
        return problem  # a copy would be large if there are many classes
    return Problem(
        problem.costs - base,
        classes=problem.classes,
        decisions=problem.decisions,
        prior=problem.prior,
    )


def costs_of(sample: Sample, problem: Problem, evidence: Evidence, level: float) -> Costs:
    """Costs of all systems of a report on some cases, under a problem with the report's costs."""
    if sample.charges is not None:
        return _loss_costs(sample, problem, evidence, level)
    base = float(problem.costs.min())
    above = _above(base, problem)
    shares = sample.pooled.shares if problem.prior is None else problem.prior
    blind = evidence.blind_decision(above.with_prior(shares))
    joint, reachable = with_blind(sample.joint, above, blind)
    bayes = [rule.name in POSTERIOR_RULES for rule in evidence.rules.values()]
    # Bayes rules take only decisions that some posterior makes the cheapest, which narrows what
    # they can cost. Under limits, prices may make any decision the cheapest.
    if not evidence.problem.limits:
        reachable[np.flatnonzero(bayes)] = reachable_decisions(above)
    fitting = None
    if sample is evidence.sample:  # rules are fitted on all cases, whatever slice they decide about
        fitting = fitting_of(evidence, len(joint.models))
    added = evidence.beside(tuple(map(str, joint.models)))
    eligible = [name for name, rule in evidence.rules.items() if rule.eligible]
    choice = contenders(
        joint,
        above,
        level=level,
        among=eligible,
        reachable=reachable,
        squares=sample.squares,
        fitting=fitting,
        added=added,
    )
    named = f"always {blind}"
    return Costs(joint, above, base, reachable, sample.squares, choice, named, level, added)
