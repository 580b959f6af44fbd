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
from stakes._check import BoolArray, FloatArray, Labels
from stakes._text import always
from stakes._value import record
from stakes.decide import bayes_decision_indices, reachable_decisions, shift_prior
from stakes.inference import (
    Contenders,
    CostErrors,
    Measured,
    Support,
    SystemCosts,
    contenders_among,
    cost_spread,
    profile_ratio,
)
from stakes.problem import Problem
from stakes.report._findings import BAYES, MOVED, POSTERIOR_RULES, RECALIBRATED
from stakes.report._pairs import (
    Decided,
    Pairs,
    ReportLike,
    best_covariances,
    cost_of,
    covariance_of,
    gaps_of,
    joint_of,
    support_of,
    with_itself,
)
from stakes.tally import ScoreTable


@record
class MovedCosts(SystemCosts):
    """Costs of the systems of a report under other stakes, and which may be the cheapest.

    It is made by `Stakes.moved`; expensive parts are computed on first use.

    Attributes
    ----------
    problem : with costs above `base`; no prior if the shares of the data are used
    shares : (K,) the class shares that are used
    decided : what each system decides
    pairs : what two systems decide about the same cases
    base, unaided, alternative, level : as in `SystemCosts`

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

    problem: Problem
    base: float
    unaided: str
    alternative: str | None
    shares: FloatArray
    decided: tuple[Decided, ...]
    pairs: Pairs
    level: float

    @cached_property
    def costs(self) -> FloatArray:
        """Costs (J,) of the systems, above the base."""
        return np.array([self._value(system.name) for system in self.decided])

    @cached_property
    def choice(self) -> Contenders:  # type: ignore[override]  # it takes long, and may not be needed
        """The comparison of all systems, as in the verdict of a report."""
        errors = self._errors
        running = [self._running(str(name)) for name in errors.names]
        return contenders_among(
            errors.among(tuple(system.name for system in self.decided)),
            errors,
            lambda first: self._supports(self.decided, self._all[str(first)]),
            level=self.level,
            reach=cost_spread(self.problem),
            added=np.array(running),
            unaided=self.unaided,
        )

    @property
    def cheapest(self) -> str:
        """The cheapest system, whether or not a constant decision is cheaper."""
        tied = [self.decided[place].name for place in np.flatnonzero(least(self.costs))]
        if len(tied) < 2:
            return (tied or [self.decided[0].name])[0]
        return next(filter(self.is_unaided, tied), tied[0])

    @property
    def verdict(self) -> str:
        """What to deploy: a system, or a constant decision where none saves."""
        return self.cheapest if self.saves else self.unaided

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
        if name == self.unaided:
            doubtful = not self._saves_clearly and self.expected_saving(self.cheapest).low <= 0
            alike = self.is_unaided(self.cheapest)
            return alike or self._plain_saving.low <= 0 or doubtful
        if not any(system.name == name for system in self.decided) or self.is_unaided(name):
            return False
        return self.saving(name).high > 0 and self._is_contender(name)

    # Internals -----------------------------------------------------------------------------------

    @property
    def _perfect(self) -> float:
        return float(self.shares @ self.problem.costs.min(axis=1))

    def _decides_alike(self, first: str, second: str) -> bool:
        return not self._all[first].counts[:, ~self._all[second].able].any()

    @cached_property
    def _plain_saving(self) -> Measured:
        """The saving of the cheapest system, without the correction."""
        return self.saving(self.cheapest)

    @property
    def _saves_clearly(self) -> bool:
        """Whether the cheapest saves so much that the correction for the choice cannot undo it."""
        saved = self._plain_saving
        return saved.low > 0 and saved.low >= 3 * (saved.value - saved.low)

    @cached_property
    def _all(self) -> dict[str, Decided]:
        """What the systems decide and, last, what is decided without a model."""
        constant = (
            (always(label), self.pairs.constant(d, self.decided[0].counts))
            for d, label in enumerate(self.problem.decisions)
        )
        return {system.name: system for system in self.decided} | dict(constant)

    @property
    def _names(self) -> Labels:
        return tuple(self._all)

    def _value(self, name: str) -> float:
        system = self._all[name]
        return cost_of(system.counts, self.problem) + system.running

    def _running(self, name: str) -> float:
        return self._all[name].running

    def _bounds_of(self, name: str) -> tuple[float, float, float]:
        system, costs = self._all[name], self.problem.costs
        support = support_of(system.counts[None], costs, system.able[None], self.problem.prior)
        support = support.of_quantity(0).shifted(system.running)
        bounded = self._bounded(self._value(name), support, self._fitting((name,))[0, 0])
        return bounded.low, bounded.high, float(support.highest.sum())

    def _pair_support(self, first: str, second: str, factor: float) -> Support:
        some, base = (self._all[first],), self._all[second]
        return self._supports(some, base, factor).of_quantity(0)

    def _fitting(self, names: tuple[str, ...]) -> FloatArray:
        some = tuple(map(self._all.__getitem__, names))
        tables = np.stack([with_itself(system.counts) for system in some])
        return self.pairs.fitting(some, covariance_of(tables, self.problem))

    def _is_contender(self, name: str) -> bool:
        from scipy.special import ndtr

        names = [system.name for system in self.decided]
        tied = least(self.costs)
        if tied[names.index(name)]:
            return True
        square = min(self._square(name, names[cheapest]) for cheapest in np.flatnonzero(tied))
        tail, share = float(2 * ndtr(-np.sqrt(square))), 1 - self.level
        # The family-wise test lies between the unadjusted one and Bonferroni's. Where these agree,
        # it is not computed, because it needs the covariance of all systems.
        if tail >= share or (len(names) - 1) * tail < share:
            return tail >= share
        return name in self.contenders

    def _square(self, first: str, second: str) -> float:
        """The likelihood ratio of the hypothesis that two systems cost the same."""
        support = self._pair_support(first, second, 1.0)
        support = support.shifted(self._running(first) - self._running(second))
        more, contrast = self._value(first) - self._value(second), np.array([1.0, -1.0])
        added = max(float(contrast @ self._fitting((first, second)) @ contrast), 0.0)
        return float(profile_ratio(support, np.zeros(()), np.asarray(more), np.asarray(added)))

    def _supports(self, some: tuple[Decided, ...], base: Decided, factor: float = 1.0) -> Support:
        """Supports of the costs of systems minus a factor times that of another."""
        tables = np.stack(
            [self.pairs.pair(system, base).reshape(len(system.counts), -1) for system in some]
        )
        able = np.stack([np.outer(system.able, base.able).ravel() for system in some])
        return support_of(tables, gaps_of(self.problem.costs, factor), able, self.problem.prior)

    @cached_property
    def _errors(self) -> CostErrors:
        """Costs and errors of the systems and, last, of the constant decisions."""
        problem, size = self.problem, len(self.decided)
        systems = tuple(self._all.values())
        sampled = np.empty((len(systems), len(systems)))
        places = np.tril_indices(len(systems))
        pairs = zip(*(side.tolist() for side in places), strict=True)
        tables = np.stack([self.pairs.pair(systems[i], systems[j]) for i, j in pairs])
        sampled[places] = sampled.T[places] = covariance_of(tables, problem)
        fitting = np.zeros(sampled.shape)
        fitting[:size, :size] = self.pairs.fitting(self.decided, np.diagonal(sampled)[:size])
        costs = np.array(list(map(self._value, self._all)))
        running = np.array([system.running for system in systems])
        shared = best_covariances([system.counts for system in systems], problem)
        return CostErrors._trusted(names=self._names, costs=costs, degrees=np.inf,
                                   covariance=sampled + fitting, fitting=fitting,
                                   least=self._perfect + running, shared=shared)  # fmt: skip


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

    report: ReportLike

    def moved(self, costs: FloatArray, prior: FloatArray | None, *, kept: bool) -> MovedCosts:
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
        unaided = always(above.with_prior(shares).naive.decision)
        return MovedCosts(above, base, unaided, unaided, shares, decided, self._pairs, known.level)

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
        if rule not in POSTERIOR_RULES:
            return None, None
        known = self.report.assumptions
        holds = known.prior if rule == RECALIBRATED else known.posterior_prior
        return self._models[model].table_of(rule), np.asarray(holds)

    @cached_property
    def _models(self) -> dict[str, Any]:
        return {quality.model: quality for quality in self.report.models}

    @cached_property
    def _places(self) -> dict[tuple[str, bool, str | None], int]:
        sources = joint_of(self.report).sources
        return {(s.model, s.recalibrated, s.system): i for i, s in enumerate(sources)}
