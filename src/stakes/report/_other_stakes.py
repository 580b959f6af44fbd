"""Costs and contenders of a report under other costs or another prior, from its tallies alone.

There are two readings. *Decided anew*: systems that decide by posteriors follow the costs and the
prior. *Decisions kept*: all decisions are those of the report. In both, costs are exact for the
tables that the report holds. The covariance of the costs of two systems comes from joint bins:
within a pair of bins that a threshold divides, the two are assumed to decide independently, so that
differences look a little less certain than they are, never more.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from stakes._arithmetic import least
from stakes._check import BoolArray, FloatArray
from stakes._value import record
from stakes.decide import bayes_decision_indices, reachable_decisions, shift_prior
from stakes.inference import (
    Contenders,
    CostErrors,
    Measured,
    SelectionEffect,
    Support,
    contenders_among,
    profile_bounds,
    profile_ratio,
    profile_threshold,
    selection_effect,
)
from stakes.problem import Problem
from stakes.report._findings import BAYES, MOVED, POSTERIOR_RULES, RECALIBRATED
from stakes.report._pairs import (
    Decided,
    Pairs,
    ReportParts,
    blind_table,
    cost_of,
    covariance_of,
    diagonal,
    gaps_of,
    joint_of,
    norm_tail,
    support_of,
)
from stakes.tally import ScoreTable


@record
class Elsewhere:
    """Costs of the systems of a report under other stakes, and which may be the cheapest.

    It is made by `Stakes.moved`. Costs are relative to `base`; expensive parts are computed on
    first use.

    Examples
    --------
    Misses that cost half as much as a false alarm make it cheapest never to raise one:

    >>> import numpy as np
    >>> from stakes import Problem, evaluate
    >>> problem, y = Problem.binary(false_alarm=1, miss=9), [0, 0, 0, 1] * 50
    >>> report = evaluate(y, {"net": [0, 0, 1, 1] * 50, "old": [0, 1, 1, 1] * 50}, problem)
    >>> moved = Stakes(report).moved(np.array([[0, 1], [0.5, 0]]), None, kept=True)
    >>> moved.verdict, moved.cheapest, moved.cost(moved.cheapest).value
    ('always 0', 'net (as decided)', 0.25)
    """

    problem: Problem  # with costs above `base`; no prior if the shares of the data are used
    base: float
    shares: FloatArray  # (K,) the class shares that are used
    decided: tuple[Decided, ...]
    pairs: Pairs
    level: float

    @cached_property
    def named(self) -> str:
        """The cheapest constant decision."""
        return f"always {self.problem.with_prior(self.shares).naive.decision}"

    @cached_property
    def costs(self) -> FloatArray:
        """Costs (J,) of the systems, above the base."""
        return np.array(
            [cost_of(system.counts, self.problem) + system.running for system in self.decided]
        )

    @cached_property
    def choice(self) -> Contenders:
        """The comparison of all systems, as in the verdict of a report."""
        errors, costs = self._errors, self.problem.costs
        low, high = costs.min(axis=1), costs.max(axis=1)
        stated = self.problem.prior is not None
        bounds = (self.shares @ low, self.shares @ high) if stated else (low.min(), high.max())
        reach = self.shares @ (high - low) if stated else (high - low).max()
        blind = [0.0] * self.problem.n_decisions
        return contenders_among(
            errors.among(tuple(system.name for system in self.decided)),
            errors,
            lambda first: self._supports(self.decided, str(first)),
            level=self.level,
            reach=float(reach),
            least_cost=float(bounds[0]),
            most=float(bounds[1]),
            added=np.array([*(system.running for system in self.decided), *blind]),
        )

    @property
    def cheapest(self) -> str:
        """The cheapest system, whether or not a constant decision is cheaper."""
        return self.decided[int(np.argmax(least(self.costs)))].name

    @property
    def contenders(self) -> tuple[str, ...]:
        """The systems that are statistically indistinguishable from the cheapest, the first."""
        return tuple(map(str, self.choice.contenders))

    @property
    def verdict(self) -> str:
        """What to deploy: a system, or a constant decision where none is expected to save."""
        return self.cheapest if self.saving().value > 0 else self.named

    @property
    def possible(self) -> tuple[str, ...]:
        """What may be the cheapest: contenders, and the best constant decision if it may be."""
        saving = self.saving()
        systems = self.contenders if saving.high > 0 else ()
        if saving.low == saving.high:  # it is a constant decision; others may still be cheaper
            systems = tuple(name for name in self.contenders if self._saving_of(name).high > 0)
        return (*systems, self.named) if saving.low <= 0 else systems

    def is_possible(self, name: str) -> bool:
        """Whether a system or a constant decision is in `possible`, without computing the others.

        Parameters
        ----------
        name : the name of a system, or of a constant decision such as "always 0"

        Returns
        -------
        whether it may be the cheapest

        Examples
        --------
        >>> import numpy as np
        >>> from stakes import Problem, evaluate
        >>> problem, y = Problem.binary(false_alarm=1, miss=9), [0, 1] * 20
        >>> report = evaluate(y, {"net": [0.1, 0.8] * 20}, problem, calibrator=None, replicates=20)
        >>> moved = Stakes(report).moved(np.array([[0.0, 4.0], [9.0, 0.0]]), None, kept=False)
        >>> moved.is_possible("always 0")
        False
        """
        saved = self._plain_saving
        if name == self.named:
            # Where the saving is this clear, the correction for the choice cannot undo it.
            sure = saved.low > 0 and saved.low >= 3 * (saved.value - saved.low)
            return saved.low <= 0 or (not sure and self.saving().low <= 0)
        if name not in (system.name for system in self.decided):
            return False
        against = self._saving_of(name) if saved.low == saved.high else saved
        return against.high > 0 and self._is_contender(name)

    def cost(self, name: str) -> Measured:
        """Cost per case of one system.

        Parameters
        ----------
        name : the name of the system

        Returns
        -------
        the cost on these cases, with its interval

        Examples
        --------
        >>> import numpy as np
        >>> from stakes import Problem, evaluate
        >>> problem, y = Problem.binary(false_alarm=1, miss=9), [0, 1] * 20
        >>> report = evaluate(y, {"net": [0.1, 0.8] * 20}, problem, calibrator=None, replicates=20)
        >>> moved = Stakes(report).moved(np.array([[0.0, 4.0], [9.0, 0.0]]), None, kept=False)
        >>> moved.cost("net (as is)").value
        0.0
        """
        system, costs = self._decided(name), self.problem.costs
        support = support_of(system.counts[None], costs, system.able[None], self.problem.prior)
        return self._interval(support.shifted(system.running), (name,), np.ones(1), self.base)

    def expected(self) -> Measured:
        """Cost of the cheapest system, corrected for its selection on these cases.

        Returns
        -------
        the cost per case to expect, with its interval

        Examples
        --------
        >>> import numpy as np
        >>> from stakes import Problem, evaluate
        >>> problem, y = Problem.binary(false_alarm=1, miss=9), [0, 1] * 20
        >>> report = evaluate(y, {"net": [0.1, 0.8] * 20}, problem, calibrator=None, replicates=20)
        >>> moved = Stakes(report).moved(np.array([[0.0, 4.0], [9.0, 0.0]]), None, kept=False)
        >>> moved.expected().value
        0.0
        """
        cost = self.cost(self.cheapest)
        interval = (bound - self.base for bound in (cost.value, cost.low, cost.high))
        corrected = self._effect.cost(*interval)
        return Measured(
            *(bound + self.base for bound in (corrected.value, corrected.low, corrected.high))
        )

    def saving(self) -> Measured:
        """What the cheapest system saves over the cheapest constant decision, corrected.

        Returns
        -------
        the saving per case to expect, with its interval

        Examples
        --------
        >>> import numpy as np
        >>> from stakes import Problem, evaluate
        >>> problem, y = Problem.binary(false_alarm=1, miss=9), [0, 1] * 20
        >>> report = evaluate(y, {"net": [0.1, 0.8] * 20}, problem, calibrator=None, replicates=20)
        >>> moved = Stakes(report).moved(np.array([[0.0, 4.0], [9.0, 0.0]]), None, kept=False)
        >>> moved.saving().value
        2.0
        """
        saved = self._plain_saving
        if saved.low == saved.high:
            return saved
        effect = selection_effect(self.choice, against=self.named)
        low = effect.saving(saved.value, saved.low, saved.high).low
        value = max(saved.value - self._effect.bias, low)
        rounding = 1e-12 * abs(self.base + float(np.max(self.costs)))
        return Measured(0.0 if abs(value) <= rounding else value, low, saved.high)

    # Internals -----------------------------------------------------------------------------------

    def _decided(self, name: str) -> Decided:
        return next(system for system in self.decided if system.name == name)

    @cached_property
    def _effect(self) -> SelectionEffect:
        return selection_effect(self.choice)

    @cached_property
    def _plain_saving(self) -> Measured:
        """The saving of the cheapest system, without the correction."""
        return self._saving_of(self.cheapest)

    def _saving_of(self, name: str) -> Measured:
        """What a system saves over the cheapest constant decision; zero if it decides likewise."""
        system = self._decided(name)
        place = [f"always {decision}" for decision in self.problem.decisions].index(self.named)
        if system.running == 0 and not np.delete(system.counts, place, axis=1).any():
            return Measured(0.0, 0.0, 0.0)
        blind = self.pairs.constant(place, system.counts)
        table, able = blind_table(system.counts, place), np.outer(blind.able, system.able).ravel()
        tables, gaps = table.reshape(1, len(table), -1), gaps_of(self.problem.costs)
        support = support_of(tables, gaps, able[None], self.problem.prior)
        value = cost_of(blind.counts, self.problem) - float(self.costs[self.decided.index(system)])
        fitting = self._fitting_of((system,))
        return self._bounded(support.shifted(-system.running), value, fitting, 0.0)

    def _is_contender(self, name: str) -> bool:
        names = [system.name for system in self.decided]
        tied, place = least(self.costs), names.index(name)
        if tied[place]:
            return True
        square = min(self._square(place, int(cheapest)) for cheapest in np.flatnonzero(tied))
        tail, share = float(2 * norm_tail(np.sqrt(square))), 1 - self.level
        # The family-wise test lies between the unadjusted one and Bonferroni's. Where these agree,
        # it is not computed, because it needs the covariance of all systems.
        if tail >= share or (len(names) - 1) * tail < share:
            return tail >= share
        return name in self.contenders

    def _square(self, first: int, second: int) -> float:
        """The likelihood ratio of the hypothesis that two systems cost the same."""
        left, right = self.decided[first], self.decided[second]
        support = self._supports((left,), right.name).shifted(left.running - right.running)
        more = self.costs[first] - self.costs[second]
        added = self._fitting_of((left, right))
        return float(profile_ratio(support, np.zeros(1), np.array([more]), np.array([added]))[0])

    def _fitting_of(self, some: tuple[Decided, ...]) -> float:
        """What fitting adds to the variance of a cost, or of a difference."""
        variances = np.array(
            [covariance_of(diagonal(system.counts), self.problem) for system in some]
        )
        fitting = self.pairs.fitting(some, variances)
        weights = np.array([1.0, -1.0])[: len(some)]
        return max(float(weights @ fitting @ weights), 0.0)

    def _interval(
        self, support: Support, names: tuple[str, ...], weights: FloatArray, base: float
    ) -> Measured:
        some = tuple(self._decided(name) for name in names)
        places = [self.decided.index(system) for system in some]
        value = float(weights @ self.costs[places])
        return self._bounded(support, value, self._fitting_of(some), base)

    def _bounded(self, support: Support, value: float, added: float, base: float) -> Measured:
        threshold = profile_threshold(self.level, np.asarray(np.inf))
        low, high = profile_bounds(support, threshold, value, added)
        return Measured(value + base, float(low[0]) + base, float(high[0]) + base)

    def _supports(self, some: tuple[Decided, ...], first: str) -> Support:
        """Supports of the costs of systems minus that of one of them."""
        base = self._decided(first)
        tables = np.stack(
            [self.pairs.pair(system, base).reshape(len(system.counts), -1) for system in some]
        )
        able = np.stack([np.outer(system.able, base.able).ravel() for system in some])
        return support_of(tables, gaps_of(self.problem.costs), able, self.problem.prior)

    @cached_property
    def _errors(self) -> CostErrors:
        """Costs and errors of the systems and, last, of the constant decisions."""
        problem, systems = self.problem, self.decided
        size, blind = len(systems), range(problem.n_decisions)
        constant = [self.pairs.constant(d, systems[0].counts) for d in blind]
        sampled = np.empty((size + len(blind), size + len(blind)))
        for i, left in enumerate((*systems, *constant)):
            for j, right in enumerate((*systems, *constant)[: i + 1]):
                known = self.pairs.pair(left, right) if i < size else None
                pair = blind_table(right.counts, i - size) if known is None else known
                sampled[i, j] = sampled[j, i] = covariance_of(pair, problem)
        fitting = np.zeros(sampled.shape)
        fitting[:size, :size] = self.pairs.fitting(systems, np.diagonal(sampled)[:size])
        costs = [*self.costs, *(cost_of(left.counts, problem) for left in constant)]
        names = (*(left.name for left in systems), *(f"always {d}" for d in problem.decisions))
        return CostErrors._trusted(names=names, costs=np.array(costs), degrees=np.inf,
                                   covariance=sampled + fitting, fitting=fitting)  # fmt: skip


@record
class Stakes:
    """A report that can be read under other costs and priors; it must have joint bins.

    Examples
    --------
    >>> import numpy as np
    >>> from stakes import Problem, evaluate
    >>> y, p = [0, 0, 0, 1] * 50, [0.02, 0.05, 0.3, 0.6] * 50
    >>> report = evaluate(y, {"new": p, "old": [0.2] * 200}, Problem.binary(false_alarm=1, miss=9),
    ...                   calibrator=None)
    >>> costly = Stakes(report).moved(np.array([[0, 40], [9, 0]]), None, kept=False)
    >>> costly.verdict, Stakes(report).moved(costly.problem.costs, None, kept=True).verdict
    ('always 0', 'always 0')
    """

    report: ReportParts

    def moved(self, costs: FloatArray, prior: FloatArray | None, *, kept: bool) -> Elsewhere:
        """The report under other costs and another prior.

        Parameters
        ----------
        costs : (K, M) costs, class by decision
        prior : (K,) class shares; None for those of the report
        kept : whether all decisions stay as they are; else Bayes decisions follow

        Returns
        -------
        costs and contenders under these stakes

        Examples
        --------
        >>> import numpy as np
        >>> from stakes import Problem, evaluate
        >>> problem, y = Problem.binary(false_alarm=1, miss=9), [0, 1] * 20
        >>> report = evaluate(y, {"net": [0.1, 0.8] * 20}, problem, calibrator=None, replicates=20)
        >>> moved = Stakes(report).moved(np.array([[0.0, 4.0], [9.0, 0.0]]), None, kept=False)
        >>> moved.verdict
        'net (as is)'
        """
        known, problem = self.report.assumptions, self.report.problem
        shares = np.asarray(known.prior if prior is None else prior, dtype=np.float64)
        same = np.array_equal(shares, known.prior) and not known.prior_stated
        base = float(np.min(costs))
        above = Problem(costs - base, classes=problem.classes, decisions=problem.decisions,
                        prior=None if same else shares)  # fmt: skip
        decided = self._kept if kept else tuple(self._systems(above, shares))
        return Elsewhere(above, base, shares, decided, self._pairs, known.level)

    @cached_property
    def _pairs(self) -> Pairs:
        return Pairs(self.report)

    # Decisions -----------------------------------------------------------------------------------

    @cached_property
    def _kept(self) -> tuple[Decided, ...]:
        known = self.report.assumptions
        return tuple(self._systems(self.report.problem, np.asarray(known.prior)))

    def _systems(self, problem: Problem, prior: FloatArray) -> list[Decided]:
        report, posterior_prior = self.report, np.asarray(self.report.assumptions.posterior_prior)
        decided = []
        known = {(system.model, system.rule) for system in report.systems}
        moved = bool(np.abs(prior - posterior_prior).max() > 1e-9) and min(posterior_prior) > 0
        free = problem.with_limits(None)
        able = reachable_decisions(free), reachable_decisions(report.problem.with_limits(None))
        for system in report.systems:
            if not system.candidate:
                continue
            decided.append(self._decide(system, system.rule, free, prior, system, able))
            new = (system.model, MOVED) not in known and system.rule == BAYES and moved
            if new and decided[-1].codes is not None:
                decided.append(self._decide(system, MOVED, free, prior, None, able))
        return decided

    def _decide(
        self,
        system: Any,
        rule: str,
        problem: Problem,
        prior: FloatArray,
        reported: Any,
        reachable: tuple[BoolArray, BoolArray],
    ) -> Decided:
        """What a system decides: by its table of scores if it has one, else as in the report."""
        table, holds = self._table(system.model, rule)
        fixed = table is None
        name = system.name if reported is not None else f"{system.model} (moved)"
        able = np.ones(problem.n_decisions, dtype=np.bool_)
        if rule in POSTERIOR_RULES:
            able = reachable[fixed]
        key = (system.model, rule == RECALIBRATED and not fixed, system.name if fixed else None)
        place = self._places.get(key)
        about: dict[str, Any] = {"able": able, "running": system.running_cost, "reported": reported}
        if table is None or holds is None:
            each = np.eye(problem.n_decisions)
            within = np.broadcast_to(each, (problem.n_classes, *each.shape))
            return Decided(name, place, system.counts.values, None, None, within, **about)
        scores = table.scores if rule == BAYES else shift_prior(table.scores, holds, prior)
        codes = bayes_decision_indices(scores, problem)
        chosen = table.weights[..., None] * np.eye(problem.n_decisions)[codes][:, None, :]
        counts, within = chosen.sum(axis=0), np.empty(0)
        if place is not None:
            stops = joint_of(self.report).sources[place].ends
            sums = np.add.reduceat(chosen, np.append(0, stops[:-1]), axis=0)
            mass = sums.sum(axis=2, keepdims=True)
            within = np.moveaxis(sums / np.where(mass > 0, mass, 1.0), 0, 1)
        return Decided(name, place, counts, table, codes, within, **about)

    def _table(self, model: str, rule: str) -> tuple[ScoreTable | None, FloatArray | None]:
        """The scores that a rule decides by, and the prior for which they hold."""
        (quality,) = (entry for entry in self.report.models if entry.model == model)
        known = self.report.assumptions
        if rule == RECALIBRATED:
            return quality.recalibrated, np.asarray(known.prior)
        return (quality.table if rule in (BAYES, MOVED) else None), np.asarray(
            known.posterior_prior
        )

    @cached_property
    def _places(self) -> dict[tuple[str, bool, str | None], int]:
        sources = joint_of(self.report).sources
        return {(s.model, s.recalibrated, s.system): i for i, s in enumerate(sources)}
