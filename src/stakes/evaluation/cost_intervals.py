"""Costs of the systems of a report, with intervals; the procedures are in `stakes.inference`."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

import numpy as np

from stakes._check import Label, Labels
from stakes._value import record
from stakes.decide import reachable_decisions
from stakes.evaluation.cross_fitted import fitting_of
from stakes.evaluation.evidence import Evidence, JointSample
from stakes.inference import (
    CountedCosts,
    LossSample,
    Measured,
    Support,
    contenders_among,
    profile_threshold,
    ratio_bounds,
    system_costs,
    widened,
)
from stakes.problem import Problem
from stakes.report import POSTERIOR_RULES


@record
class LossCosts(CountedCosts):
    """Costs and intervals where costs differ from case to case."""

    losses: LossSample  # above `base`: of systems, of `NO_MODEL` and of every constant decision

    @property
    def _perfect(self) -> float:
        return self.losses.mean(self.losses.perfect)

    def _pair_support(self, first: str, second: str, factor: float) -> Support:
        return self.losses.difference_support(first, second, factor)

    def _decides_alike(self, first: str, second: str) -> bool:
        return np.array_equal(self.losses.loss(first), self.losses.loss(second))

    @cached_property
    def _bounds(self) -> dict[str, tuple[float, float, float]]:
        extra = dict(zip(self.losses.names, np.diagonal(self.choice.errors.fitting), strict=True))
        bounds = {}
        for name in self._shown:
            support = self.losses.cost_support(name).shifted(self._running(name))
            bounded = self._bounded(self._value(name), support, extra[name])
            bounds[name] = bounded.low, bounded.high, float(support.highest.sum())
        return bounds

    @cached_property
    def _normalized(self) -> dict[str, Measured]:
        losses, constant = self.losses, self.losses.loss(self.best_constant)
        below = constant - losses.perfect
        unit, added = losses.mean(below), np.diagonal(self.choice.errors.fitting)
        threshold = profile_threshold(self.level, np.asarray(losses.degrees))
        intervals = {}
        for name in self._shown:
            above = losses.loss(name) - losses.perfect + self._running(name)
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

    def cheapest_constant(self) -> tuple[Label, float, Labels]:
        """The cheapest constant decision, its cost per case, and those that tie with it."""
        decisions, costs = self.problem.decisions, [self._value(name) for name in self.constant]
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
        return min(self.constant, key=self._value)

    @property
    def constant(self) -> tuple[str, ...]:
        """The names of the constant decisions."""
        return tuple(map(str, self.losses.names[-self.problem.n_decisions :]))


def _loss_costs(
    sample: JointSample, problem: Problem, evidence: Evidence, level: float
) -> LossCosts:
    charges = sample.charges
    assert charges is not None
    losses = replace(charges.losses, prior=problem.prior)
    fitting = fitting_of(evidence, len(losses.names)) if sample is evidence.sample else None
    added = evidence.running_costs(tuple(map(str, losses.names)))
    errors = losses.errors(fitting).with_added(added)
    rivals = errors.among(tuple(name for name, rule in evidence.rules.items() if rule.eligible))
    choice = contenders_among(
        rivals,
        errors,
        lambda base: losses.differences(rivals.names, base),
        level=level,
        reach=losses.beyond_all,
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


def costs_of(
    sample: JointSample, problem: Problem, evidence: Evidence, level: float
) -> CountedCosts:
    """Costs of all systems of a report on some cases, under a problem with the report's costs."""
    if sample.charges is not None:
        return _loss_costs(sample, problem, evidence, level)
    joint, rules = sample.joint, evidence.rules
    reachable = np.ones((len(rules), problem.n_decisions), dtype=np.bool_)
    # Bayes rules take only decisions that some posterior makes the cheapest, which narrows what
    # they can cost. Under limits, prices may make any decision the cheapest.
    if not evidence.problem.limits:
        bayes = [rule.name in POSTERIOR_RULES for rule in rules.values()]
        reachable[bayes] = reachable_decisions(problem)
    # Rules are fitted on all cases, whatever slice they decide about.
    fitting = fitting_of(evidence, len(rules)) if sample is evidence.sample else None
    return system_costs(
        joint,
        problem,
        level=level,
        among=[name for name, rule in rules.items() if rule.eligible],
        constant=None if evidence.unaided is None else evidence.constant,
        reachable=reachable,
        squares=sample.squares,
        fitting=fitting,
        added=evidence.running_costs(tuple(map(str, joint.models))),
    )
