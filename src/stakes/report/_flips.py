"""Costs and contenders of a report at other stakes, and how far numbers may move."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache, cached_property
from math import exp, inf, isfinite, log, nan
from typing import Any, Protocol

import numpy as np

from stakes._arithmetic import least
from stakes._check import BoolArray, FloatArray, Label, Labels, a_label
from stakes._text import always
from stakes._value import Value, record
from stakes.decide import bayes_decision_indices, reachable_decisions, shift_prior
from stakes.errors import InputError
from stakes.inference import (
    FARTHEST,
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
from stakes.regions import Margin, Region, Regions, Stake, stakes_in
from stakes.report._systems import (
    BAYES,
    MOVED,
    POSTERIOR_RULES,
    RECALIBRATED,
    Decided,
    Pairs,
    ReportLike,
    best_covariances,
    cheapest_of,
    cost_of,
    covariance_of,
    gaps_of,
    joint_of,
    support_of,
    with_itself,
)
from stakes.tally import ScoreTable

# -------------------------------------------------------------------------------------------------
# Costs and contenders of a report under other costs or another prior, from its tallies alone.
#
# There are two readings. *Decided anew*: systems that decide by posteriors follow the costs and
# the prior. *Decisions kept*: all decisions are those of the report. In both, costs are exact for
# the tables that the report holds. The covariance of the costs of two systems comes from joint
# bins: within a pair of bins that a threshold divides, the two are assumed to decide
# independently, so that differences look a little less certain than they are, never more.


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
        if not self.saves:
            return self.unaided
        model = self._all[self.cheapest].model
        rules = [system for system in self.decided if system.model == model]
        rules.sort(key=lambda system: (*POSTERIOR_RULES, system.rule).index(system.rule))
        return self.simplest([system.name for system in rules])

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
        about: dict[str, Any] = {
            **{"name": name, "model": system.model, "rule": rule, "source": place},
            **{"able": able, "running": system.running_cost, "reported": reported},
        }
        if table is None or holds is None:
            each = np.eye(problem.n_decisions)
            within = np.broadcast_to(each, (problem.n_classes, *each.shape))
            return Decided(
                **about, counts=system.counts.values, table=None, codes=None, within=within
            )
        scores = table.scores if rule == BAYES else shift_prior(table.scores, holds, prior)
        codes = bayes_decision_indices(scores, problem)
        chosen = table.weights[..., None] * np.eye(problem.n_decisions)[codes][:, None, :]
        counts, within = chosen.sum(axis=0), np.empty(0)
        if place is not None:
            stops = joint_of(self.report).sources[place].ends
            sums = np.add.reduceat(chosen, np.append(0, stops[:-1]), axis=0)
            mass = sums.sum(axis=2, keepdims=True)
            within = np.moveaxis(sums / np.where(mass > 0, mass, 1.0), 0, 1)
        return Decided(**about, counts=counts, table=table, codes=codes, within=within)

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


# -------------------------------------------------------------------------------------------------
# How far each number may move before the recommended choice can no longer be the cheapest.
#
# The choice is what the verdict recommends. It flips where the data show that something else is
# cheaper: another system, by the rule of the contenders, or a constant decision. Numbers are moved
# in growing steps, and bisection of the last step finds the first flip. A choice whose decisions
# follow the numbers may be possible again farther away, because decisions change case by case.
# What is recommended changes at or before a flip, as a close call where it is before.

_COST_STEPS = (
    *(0.002, 0.005, 0.01, 0.02, 0.035, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.65, 0.8, 1.0),
    *(1.25, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.5, 8.0, 10.0, 13.0, 16.0, FARTHEST),
)
_PRIOR_STEPS = tuple(0.04 * (i + 1) + 0.009 * i * i for i in range(36))  # in log-odds
_ZONE_POINTS = 40  # priors at which zones are looked for; narrower ones may be missed
_MOST_BORDERS = 3  # that are looked for between two neighbouring ones of these

_Names = tuple[str, ...]


class Possible(Protocol):
    """What may be the cheapest somewhere else."""

    @property
    def possible(self) -> tuple[str, ...]:
        """What may be the cheapest, the cheapest first."""

    def is_possible(self, name: str) -> bool:
        """Whether a system, or what needs no model, is in `possible`.

        Parameters
        ----------
        name : its name

        Returns
        -------
        whether it may be the cheapest

        Examples
        --------
        >>> from stakes import Problem, evaluate
        >>> from stakes.report import Stakes
        >>> problem, y = Problem.binary(false_alarm=1, miss=9), [0, 1] * 20
        >>> report = evaluate(y, {"net": [0.1, 0.8] * 20}, problem, calibrator=None, replicates=20)
        >>> Stakes(report).moved(problem.costs, None, kept=True).is_possible("always 0")
        False
        """


@record
class Flip(Value):
    """One number of the problem, and where the present choice is clearly no longer the cheapest.

    Attributes
    ----------
    what : the number, in words
    value : its present value
    low, high : the flips below and above the value; infinite where none was found
    below, above : what may be the cheapest there, the cheapest first; with kept decisions empty
        where the report has no joint bins
    changes_low, changes_high : where something else is recommended, clear or not; infinite where
        none was found, nan under a limit, without joint bins and where an incumbent stays, where
        it is not looked for
    recommended_below, recommended_above : what is recommended there

    Examples
    --------
    The model raises a false alarm in one case of four and misses nothing. Only a low cost of a miss
    speaks against it:

    >>> from stakes import Problem, evaluate
    >>> problem, y = Problem.binary(false_alarm=1, miss=9), [0, 0, 0, 1] * 50
    >>> report = evaluate(y, {"net": [0, 0, 1, 1] * 50}, problem)
    >>> flip = report.flips()[2]
    >>> flip.what, flip.value, round(flip.low, 1), flip.below, flip.high
    ('cost of 0 for 1', 9.0, 0.7, ('always 0',), inf)
    >>> round(flip.changes_low, 1), flip.recommended_below
    (1.0, 'always 0')
    """

    what: str
    value: float
    low: float
    high: float
    below: tuple[str, ...]
    above: tuple[str, ...]
    changes_low: float = nan
    changes_high: float = nan
    recommended_below: str | None = None
    recommended_above: str | None = None


def all_flips(report: ReportLike, *, kept: bool) -> tuple[Flip, ...]:
    """The flips of all costs, class by class, and of all priors; for two classes, of the second.

    Decisions that stay leave the contenders where the margins of the report say so. With running
    costs these are of factors, and flips are searched.
    """
    _refuse_columns(report)
    stakes, choice = Stakes(report), _choices(report, kept=kept)
    margins = report.margins if kept and not report.assumptions.running_costs else ()
    # Margins are of the same numbers in the same order, but under limits of costs alone.
    moves = list(_moves(report))[: len(margins) or None]
    if margins and report.joint is None:
        return tuple(_flip_at(margin, None, choice) for margin in margins)

    def flip(move: MovedNumber, stake: Stake, margin: Margin | None = None) -> Flip:
        there = cache(lambda value: stakes.moved(*stake.line.at(value), kept=kept))
        known = _flip_at(margin, there, choice) if margin else flip_of(move, there, choice)
        # An incumbent stays until another is shown to be better, which is the clear flip.
        return known if report.verdict.keep else _with_changes(known, move, there, choice)

    if margins:
        return tuple(flip(*move, margin) for move, margin in zip(moves, margins, strict=True))
    return tuple(flip(*move) for move in moves)


def _refuse_columns(report: ReportLike) -> None:
    columns = ", ".join(map(repr, report.problem.columns))
    if columns:
        raise InputError(
            f"The problem of this report must state a number for each cost, so that one can move; "
            f"its costs depend on the columns of each case: {columns}. Read report.margins and "
            f"report.regions, of factors on costs and of priors, or evaluate with other costs."
        )


def _flip_at(
    margin: Margin, there: Callable[[float], MovedCosts] | None, choice: tuple[str, ...]
) -> Flip:
    """The flip where decisions stay; what else may then be the cheapest, where it is known."""
    ends, others = (margin.clear_low, margin.clear_high), []
    for end in ends:
        possible: tuple[str, ...] = ()
        if there is not None and isfinite(end):
            # A hair beyond: at the end itself rounding may count the choice among the contenders.
            possible = there(end + 1e-4 * (end - margin.value)).possible
        others.append(tuple(name for name in possible if name not in choice))
    return Flip(margin.what, margin.value, *ends, below=others[0], above=others[1])


def _with_changes(
    flip: Flip, move: MovedNumber, there: Callable[[float], MovedCosts], choice: tuple[str, ...]
) -> Flip:
    """A flip, with where something else is recommended as the number moves."""
    finer = replace(move, steps=tuple(_finer(move.steps)))
    low, high = (_first(finer, side, lambda x: there(x).verdict not in choice) for side in (-1, 1))
    return flip._but(
        changes_low=low,
        changes_high=high,
        recommended_below=there(low).verdict if isfinite(low) else None,
        recommended_above=there(high).verdict if isfinite(high) else None,
    )


def _finer(steps: tuple[float, ...]) -> Iterator[float]:
    """Steps in four parts each: recommendations change and change back within short ranges."""
    for before, step in zip((0.0, *steps), steps, strict=False):
        for part in (0.75, 0.5, 0.25):
            yield step - part * (step - before)
        yield step


def zones_of(report: ReportLike, *, kept: bool) -> Regions:
    """What may be the cheapest over the prior of the last class; several where that is unclear."""
    _refuse_columns(report)
    if len(report.problem.classes) < 2:
        raise InputError(
            f"The problem of this report must have two classes, so that their shares can move; it "
            f"has {report.problem.classes[0]!r} alone. Read report.flips(), where costs move."
        )
    stakes, prior = Stakes(report), np.asarray(report.assumptions.prior)
    *_, last = stakes_in(report.problem, prior)
    zones = list(_zones(cache(lambda x: stakes.moved(*last.line.at(x), kept=kept).possible)))
    tops = [low for low, _ in zones[1:]] + [1.0]
    parts = [Region(low, top, names) for (low, names), top in zip(zones, tops, strict=True)]
    names = tuple(dict.fromkeys(name for part in parts for name in part.cheapest))
    return Regions(last.what, names, tuple(parts))


def _zones(possible: Callable[[float], _Names]) -> Iterator[tuple[float, _Names]]:
    """Where each zone begins, and what may be the cheapest in it."""
    points = [(i + 0.5) / _ZONE_POINTS for i in range(_ZONE_POINTS)]
    reached, names = 0.0, possible(points[0])
    yield reached, names
    for x in points:
        for _ in range(_MOST_BORDERS):
            if set(names) == set(possible(x)):
                break
            low, reached = _border(reached, x, set(names), possible)
            names = possible(reached)
            yield low, names
        if set(names) != set(possible(x)):
            yield reached, possible(x)
        reached, names = x, possible(x)


def _border(
    near: float, far: float, names: set[str], possible: Callable[[float], _Names]
) -> tuple[float, float]:
    """Two values near each other between which other names become possible."""
    move = MovedNumber("", near, (near, far), (far - near,), halvings=5)
    return _bracket(move, 1, lambda x: set(possible(x)) != names)


def _choices(report: ReportLike, *, kept: bool) -> tuple[str, ...]:
    """The names of what the verdict recommends.

    Where the prior is that for which posteriors hold, only another one has posteriors that are
    moved to it. "As is" and "moved" are then one choice, if decisions are made anew.
    """
    named = report.verdict.cheapest or report.verdict.keep
    choice = next((system for system in report.systems if system.name == named), None)
    if choice is None and report.verdict.keep is not None:  # it is of an earlier report
        choice = cheapest_of(report.systems)
    if choice is None:
        return (always(report.naive.decision),)
    moved = f"{choice.model} (moved)"
    known = any(system.name == moved for system in report.systems)
    return (choice.name, moved) if choice.rule == BAYES and not (known or kept) else (choice.name,)


@record
class MovedNumber:
    """A number that moves: its value, its range, and the steps in which it moves.

    Examples
    --------
    A cost moves by amounts, a prior by log-odds, here from even odds to nine to one:

    >>> cost = MovedNumber("cost", 1.0, bounds=(0.0, 9.0), steps=(0.5, 2.0, 20.0))
    >>> [cost.stepped(step) for step in cost.steps]
    [1.5, 3.0, 9.0]
    >>> round(MovedNumber("prior", 0.5, (0.0, 1.0), (), odds=True).stepped(log(9)), 6)
    0.9
    """

    what: str
    value: float
    bounds: tuple[float, float]
    steps: tuple[float, ...]
    odds: bool = False  # whether steps are of log-odds
    halvings: int = 9  # most bisections of the last step
    precision: float = 0.0  # bisection ends at this share of the distance from the present value

    def stepped(self, way: float) -> float:
        """The value at some distance from the present one, within the range of the number.

        Parameters
        ----------
        way : how far, with its sign

        Returns
        -------
        the value

        Examples
        --------
        >>> MovedNumber("cost", 1.0, (0.0, 9.0), (0.5, 2.0)).stepped(-3.0)
        0.0
        """
        low, high = self.bounds
        if not self.odds:
            return min(max(self.value + way, low), high)
        return min(max(_share(_odds(min(max(self.value, 1e-6), 1 - 1e-6)) + way), low), high)

    def between(self, first: float, second: float) -> float:
        """The middle of two values.

        Parameters
        ----------
        first, second : the values

        Returns
        -------
        the value between them

        Examples
        --------
        >>> MovedNumber("cost", 1.0, (0.0, 9.0), (0.5, 2.0)).between(1.0, 2.0)
        1.5
        """
        if not self.odds:
            return (first + second) / 2
        return _share((_odds(first) + _odds(second)) / 2)


def _odds(share: float) -> float:
    return log(share / (1 - share))


def _share(odds: float) -> float:
    return 1 / (1 + exp(-odds))


def _moves(report: ReportLike) -> Iterator[tuple[MovedNumber, Stake]]:
    """The costs and priors of a report, with how far and in which steps each is moved."""
    problem = report.problem
    size = float(np.abs(problem.costs).max()) or 1.0
    steps = tuple(step * size for step in _COST_STEPS)
    for stake in stakes_in(problem, np.asarray(report.assumptions.prior)):
        if stake.d is not None:
            yield MovedNumber(stake.what, stake.value, stake.line.bounds, steps), stake
        elif problem.n_classes > 1:  # the prior of a lone class cannot move
            bounds = 2e-4, 1 - 2e-4
            yield MovedNumber(stake.what, stake.value, bounds, _PRIOR_STEPS, odds=True), stake


def flip_of(move: MovedNumber, there: Callable[[float], Possible], choice: tuple[str, ...]) -> Flip:
    """Where a choice is no longer possible as a number moves down, and as it moves up.

    Parameters
    ----------
    move : the number
    there : what may be the cheapest at a value of it
    choice : the names of the choice

    Returns
    -------
    the flip

    Examples
    --------
    >>> class There:
    ...     def __init__(self, value):
    ...         self.possible = ("new",) if value < 2 else ("old",)
    ...     def is_possible(self, name):
    ...         return name in self.possible
    >>> flip = flip_of(MovedNumber("cost", 1.0, (0.0, 9.0), (0.5, 2.0, 8.0)), There, ("new",))
    >>> flip.low, round(flip.high, 1), flip.above
    (-inf, 2.0, ('old',))
    """

    def ruled_out(value: float) -> bool:
        elsewhere = there(value)
        return not any(elsewhere.is_possible(name) for name in choice)

    low, high = (_first(move, side, ruled_out) for side in (-1, 1))
    below, above = (there(end).possible if isfinite(end) else () for end in (low, high))
    return Flip(move.what, move.value, low, high, below, above)


def _first(move: MovedNumber, side: int, differs: Callable[[float], bool]) -> float:
    """The nearest value on one side at which something differs; infinite where nothing does."""
    return _bracket(move, side, differs)[1]


def _bracket(move: MovedNumber, side: int, differs: Callable[[float], bool]) -> tuple[float, float]:
    """Two values between which something begins to differ; the second is infinite without any."""
    # Growing steps first: farther out it may be as before again, and the nearest value counts.
    near, far = move.value, side * inf
    for value in map(move.stepped, (side * step for step in move.steps)):
        if value == near or (value - move.value) * side <= 0:
            break
        if differs(value):
            far = value
            break
        near = value
    for _ in range(move.halvings if isfinite(far) else 0):
        if abs(far - near) <= move.precision * abs(far - move.value):
            break
        middle = move.between(near, far)
        near, far = (near, middle) if differs(middle) else (middle, far)
    return near, far


def read_decisions(decisions: Label) -> bool:
    """Whether decisions are kept; anything but "remade" or "kept" is refused."""
    a_label("decisions", decisions)
    if decisions not in ("remade", "kept"):
        raise InputError(
            f"decisions must be 'remade', which follow the costs and the prior, or 'kept', which "
            f"stay as they are; got {decisions!r}. Write report.flips('remade')."
        )
    return decisions == "kept"
