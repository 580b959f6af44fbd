"""What systems cost on the same cases, how they compare, and what the cheapest will cost."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from math import inf, isnan, nan
from typing import Any

import numpy as np

from stakes import _check
from stakes._check import HEAVIEST, BoolArray, FloatArray, IntArray, Label, Labels
from stakes._text import always
from stakes._value import record
from stakes.inference.contender_exits import Move, leaving_points
from stakes.inference.estimate import Measured, refuse_other_labels
from stakes.inference.likelihood import Support, WeightStrata, summed, upper_bound, widened
from stakes.inference.losses import N_BINS, LossSample, bin_codes, times
from stakes.inference.profile import (
    checked_reachable,
    cost_support,
    pair_support,
    profile_normalized_interval,
    profile_threshold,
    sampled_cells,
    support_bounds,
)
from stakes.inference.sampling import Cells, CostErrors, checked_added, checked_fitting
from stakes.inference.schemes import Clusters
from stakes.inference.selection import (
    Contenders,
    SelectionEffect,
    checked_names,
    contenders,
    contenders_among,
    probability_cheapest,
    selection_effect,
    with_blind,
)
from stakes.measures import normalized_cost
from stakes.problem import Problem
from stakes.tally import Counts, JointCounts

# What systems cost on the same cases, how they compare, and what the cheapest will cost ----------
#
# All systems are compared with each other and with the cheapest decision that needs no model.
# Nothing is drawn at random.

_ALIKE = 0.01  # of the saving: rules of one model whose costs differ by less are equally good
_REACH = 64.0  # beyond so many times the cost of what needs no model, a ratio is not looked for


def _root(bound: Callable[[float], float], start: float, stop: float) -> float:
    """Where a falling function crosses zero between a start and a stop; infinite if beyond it."""
    from scipy.optimize import brentq

    way = 1.0 if stop > start else -1.0
    if way * bound(start) <= 0:
        return start
    if way * bound(stop) > 0:
        return way * inf
    return float(brentq(bound, start, stop, xtol=5e-4))


class SystemCosts(ABC):
    """Costs of systems on the same cases, how they compare, and what may be the cheapest.

    The least cost of the problem is subtracted from all
    costs and added back at the end, so that an amount which all decisions share takes no digits
    from differences.

    Attributes
    ----------
    base : what is subtracted from all costs
    unaided : the name of the cheapest decision that needs no model
    alternative : that name again if it may be taken; None if it would break a limit
    choice : the contenders among the systems that may win, at costs above the base
    level : confidence level of all intervals

    Examples
    --------
    >>> from stakes import JointCounts, Problem
    >>> from stakes.inference import system_costs
    >>> decided = {"new": [0, 0, 1, 0] * 25, "old": [0, 1, 1, 0] * 25}
    >>> joint = JointCounts.from_decisions([0, 0, 1, 1] * 25, decided, Problem.zero_one(2))
    >>> costs = system_costs(joint, Problem.zero_one(2))
    >>> costs.cheapest, costs.possible, costs.unaided
    ('new', ('new',), 'always 0')
    """

    base: float
    unaided: str
    alternative: str | None
    choice: Contenders
    level: float

    @property
    def perfect(self) -> float:
        """Cost per case of the best decision of each class."""
        return self.base + self._perfect

    @property
    def unaided_cost(self) -> float:
        """Cost per case of what needs no model."""
        return self.base + self._value(self.unaided)

    @property
    def cheapest(self) -> str | None:
        """The cheapest of the systems that may win; None where no cost is defined."""
        place = self.choice.cheapest
        known = place >= 0 and not isnan(self.choice.costs[place])
        return str(self.choice.names[place]) if known else None

    @property
    def contenders(self) -> tuple[str, ...]:
        """The systems that are statistically indistinguishable from the cheapest, the first."""
        return tuple(map(str, self.choice.contenders))

    @property
    def possible(self) -> tuple[str, ...]:
        """What may be the cheapest: contenders, then what needs no model if that may be."""
        if self.cheapest is None:
            return (self.unaided,)
        # A contender that clearly costs more than what needs no model is not the cheapest of all.
        others = (name for name in self.contenders if not self.is_unaided(name))
        systems = tuple(name for name in others if self.saving(name).high > 0)
        clear = self.expected_saving(self.cheapest).low > 0
        return systems if clear else (*systems, self.unaided)

    def simplest(self, rules: Sequence[str]) -> str:
        """The cheapest system, or a simpler rule of its model that is as good.

        A rule is as good where the data cannot tell the two apart and their costs differ by less
        than 1 % of the saving: a map or a move of the prior then is one more thing that can go
        wrong.

        Parameters
        ----------
        rules : names of systems of the model of the cheapest one, the simplest first

        Returns
        -------
        the name of a system

        Examples
        --------
        >>> from stakes import JointCounts, Problem
        >>> from stakes.inference import system_costs
        >>> decided = {"as is": [0, 0, 1, 1] * 25, "recalibrated": [0, 0, 1, 1] * 25}
        >>> joint = JointCounts.from_decisions([0, 0, 1, 1] * 25, decided, Problem.zero_one(2))
        >>> system_costs(joint, Problem.zero_one(2)).simplest(["as is", "recalibrated"])
        'as is'
        """
        _check.list_of("rules", rules, str)
        for place, rule in enumerate(rules):
            _check.one_of(f"rules[{place}]", rule, self._names, "systems")
        cheapest = str(self.cheapest)
        least = self._value(cheapest)
        # The correction for the choice only lowers the saving, and takes much longer.
        most = _ALIKE * self.saving(cheapest).value
        near = [name for name in rules if self._value(name) - least < most]
        if not near or near[0] == cheapest:
            return cheapest
        most = _ALIKE * self.expected_saving(cheapest).value
        alike = (n for n in near if self._value(n) - least < most and n in self.contenders)
        return next(alike, cheapest)

    def is_unaided(self, name: str) -> bool:
        """Whether a system decides as what needs no model does, and costs nothing to run.

        Parameters
        ----------
        name : the name of the system

        Returns
        -------
        whether the two are the same

        Examples
        --------
        >>> from stakes import JointCounts, Problem
        >>> from stakes.inference import system_costs
        >>> decided = {"new": [0, 0, 1, 0] * 25, "lazy": [0] * 100}
        >>> joint = JointCounts.from_decisions([0, 0, 1, 1] * 25, decided, Problem.zero_one(2))
        >>> costs = system_costs(joint, Problem.zero_one(2))
        >>> costs.is_unaided("new"), costs.is_unaided("lazy")
        (False, True)
        """
        return self._running(name) == 0 and self._decides_alike(name, self.unaided)

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
        >>> from stakes import JointCounts, Problem
        >>> from stakes.inference import system_costs
        >>> joint = JointCounts.from_decisions([0, 1], {"new": [0, 0]}, Problem.zero_one(2))
        >>> system_costs(joint, Problem.zero_one(2)).cost("new").value
        0.5
        """
        low, high, _ = self._bounds_of(name)
        return self._above_base(Measured(self._value(name), low, high))

    def difference(self, first: str, second: str, factor: float = 1.0) -> Measured:
        """Cost of one system less a factor times that of another.

        Parameters
        ----------
        first, second : the names of the systems, or of decisions that need no model
        factor : what the cost of the second is multiplied by

        Returns
        -------
        the difference on these cases; its interval is for this pair alone

        Examples
        --------
        >>> from stakes import JointCounts, Problem
        >>> from stakes.inference import system_costs
        >>> decided = {"new": [0, 0, 1, 0] * 25, "old": [0, 1, 1, 0] * 25}
        >>> joint = JointCounts.from_decisions([0, 0, 1, 1] * 25, decided, Problem.zero_one(2))
        >>> system_costs(joint, Problem.zero_one(2)).difference("old", "new").value
        0.25
        """
        for argument, name in (("first", first), ("second", second)):
            _check.one_of(argument, name, self._names, "systems")
        factor = _check.number("factor", factor, low=-HEAVIEST, high=HEAVIEST)
        return self._compared(first, second, factor)[0]

    def _compared(self, first: str, second: str, factor: float) -> tuple[Measured, Support]:
        """The difference of two systems, and its support."""
        running = self._running(first) - factor * self._running(second)
        support = self._pair_support(first, second, factor)
        support = support.shifted(running + (1 - factor) * self.base)
        value = self._value(first) - factor * self._value(second) + (1 - factor) * self.base
        weights = np.array([1.0, -factor])
        variance = weights @ self._fitting((first, second)) @ weights
        return self._bounded(value, support, variance), support

    def saving(self, name: str) -> Measured:
        """What a system saves over what needs no model.

        Parameters
        ----------
        name : the name of the system

        Returns
        -------
        the saving on these cases, with its interval

        Examples
        --------
        >>> from stakes import JointCounts, Problem
        >>> from stakes.inference import system_costs
        >>> decided = {"new": [0, 0, 1, 0] * 25, "old": [0, 1, 1, 0] * 25}
        >>> joint = JointCounts.from_decisions([0, 0, 1, 1] * 25, decided, Problem.zero_one(2))
        >>> system_costs(joint, Problem.zero_one(2)).saving("new").value
        0.25
        """
        return self._compared(self.unaided, name, 1.0)[0]

    def expected(self, name: str) -> Measured:
        """Cost of the cheapest system once deployed: corrected for its choice on the same cases.

        Which system is the cheapest was a choice, and so was to take it instead of what needs no
        model. The correction is that of `expected_saving`.

        Parameters
        ----------
        name : the name of the cheapest system

        Returns
        -------
        the cost per case to expect, with its interval

        Examples
        --------
        >>> from stakes import JointCounts, Problem
        >>> from stakes.inference import system_costs
        >>> decided = {"a": [0, 1] * 40 + [1, 1] * 10, "b": [1, 1] * 10 + [0, 1] * 40}
        >>> joint = JointCounts.from_decisions([0, 1] * 50, decided, Problem.zero_one(2))
        >>> costs = system_costs(joint, Problem.zero_one(2))
        >>> costs.cost("a").value, round(costs.expected("a").value, 3)
        (0.1, 0.118)
        """
        low, high, most = self._bounds_of(name)
        return self._above_base(self._effect.cost(self._value(name), low, high, most=most))

    def expected_saving(self, name: str) -> Measured:
        """What the cheapest system saves over what needs no model, once deployed.

        Parameters
        ----------
        name : the name of the cheapest system

        Returns
        -------
        the saving per case to expect, with its interval; zero where it is due to rounding alone

        Examples
        --------
        >>> from stakes import JointCounts, Problem
        >>> from stakes.inference import system_costs
        >>> decided = {"a": [0, 1] * 40 + [1, 1] * 10, "b": [1, 1] * 10 + [0, 1] * 40}
        >>> joint = JointCounts.from_decisions([0, 1] * 50, decided, Problem.zero_one(2))
        >>> costs = system_costs(joint, Problem.zero_one(2))
        >>> round(costs.expected_saving("a").value, 3)
        0.382
        """
        if self.is_unaided(name) and not isnan(self._value(name)):
            return Measured(0.0, 0.0, 0.0)
        saving, support = self._compared(self.unaided, name, 1.0)
        saving = self._effect_on_saving.saving(
            saving.value, saving.low, saving.high, least=support.lowest.sum()
        )
        return saving if not abs(saving.value) <= self._rounding else replace(saving, value=0.0)

    @property
    def saves(self) -> bool:
        """Whether the cheapest system cost less than what needs no model, on these cases.

        What it is expected to save says how much of that is luck, and does not make the choice
        again: the correction is right for those who choose by the costs on these cases.
        """
        if self.cheapest is None or self.is_unaided(self.cheapest):
            return False
        return self._value(self.unaided) - self._value(self.cheapest) > self._rounding

    def expected_share(self, name: str) -> Measured:
        r"""The saving of the cheapest system as a share of what needs no model costs.

        With the cost X of the system and the cost B of what needs no model, the interval of the
        share s holds all values that the data do not contradict (Fieller):

        .. math:: \{s : 0 \in \mathrm{interval\ of}\ X - (1 - s) B\}

        Its lower bound then moves by as much as that of `expected_saving`. Undefined where what
        needs no model costs nothing or less.

        Parameters
        ----------
        name : the name of the cheapest system

        Returns
        -------
        the share to expect, with its interval

        Examples
        --------
        >>> from stakes import JointCounts, Problem
        >>> from stakes.inference import system_costs
        >>> joint = JointCounts.from_decisions([0, 1] * 50, {"a": [0, 1] * 49 + [1, 0]},
        ...                                    Problem.zero_one(2))
        >>> share = system_costs(joint, Problem.zero_one(2)).expected_share("a")
        >>> [round(part, 2) for part in (share.value, share.low, share.high)]
        [0.96, 0.87, 0.99]
        """
        blind, saving = self.unaided_cost, self.expected_saving(name)
        if not blind > 0 or isnan(saving.value):
            return Measured(nan, nan, nan)
        if self.is_unaided(name):
            return Measured(0.0, 0.0, 0.0)

        def bound(ratio: float, side: str) -> float:
            return float(getattr(self.difference(name, self.unaided, ratio), side))

        observed = self.saving(name)
        middle = 1 - observed.value / blind
        far = 1.0 if observed.low > 0 else middle + _REACH  # at a ratio of 1 it is the saving
        most = _root(partial(bound, side="high"), middle, far)
        least = _root(partial(bound, side="low"), middle, min(0.0, middle))
        moved = (observed.low - saving.low) / blind  # by the correction for the choice
        value = saving.value / blind
        return Measured(value, min(value, 1 - most - moved), max(value, 1 - least))

    def expected_difference(self, name: str, baseline: str, factor: float = 1.0) -> Measured:
        """Cost of the cheapest system once deployed, less a factor times that of a baseline.

        The baseline was fixed before the cases were seen. The others were compared on them, and
        the difference is corrected for that choice, by as much as for a factor of one: a factor
        near one changes the interval, and hardly the luck of the cheapest.

        Parameters
        ----------
        name : the name of the cheapest system
        baseline : the name of a system, or of a decision that needs no model
        factor : what the cost of the baseline is multiplied by

        Returns
        -------
        the difference per case to expect, with its interval; zero for the baseline itself

        Examples
        --------
        >>> from stakes import JointCounts, Problem
        >>> from stakes.inference import system_costs
        >>> decided = {"a": [0, 1] * 40 + [1, 1] * 10, "b": [1, 1] * 10 + [0, 1] * 40,
        ...            "old": [0, 1] * 35 + [1, 1] * 15}
        >>> joint = JointCounts.from_decisions([0, 1] * 50, decided, Problem.zero_one(2))
        >>> costs = system_costs(joint, Problem.zero_one(2))
        >>> costs.cheapest, round(costs.difference("a", "old").value, 3)
        ('a', -0.05)
        >>> round(costs.expected_difference("a", "old").value, 3)
        -0.032
        """
        for argument, label in (("name", name), ("baseline", baseline)):
            _check.one_of(argument, label, self._names, "systems")
        factor = _check.number("factor", factor, low=-HEAVIEST, high=HEAVIEST)
        if name == baseline and factor == 1:  # the same decisions, whatever the cases
            return Measured(0.0, 0.0, 0.0)
        if name == baseline:
            cost, left = self.cost(name), 1 - factor
            low, high = sorted((left * cost.low, left * cost.high))
            return Measured(left * cost.value, low, high)
        difference, support = self._compared(name, baseline, factor)
        effect = selection_effect(self.choice, against=baseline)
        most = float(support.highest.sum())
        return effect.cost(difference.value, difference.low, difference.high, most=most)

    def more(self, name: str) -> Measured:
        """Cost of a system above the cheapest; the intervals of all systems hold at once.

        Parameters
        ----------
        name : the name of a system that may win

        Returns
        -------
        the difference on these cases, with its simultaneous interval

        Examples
        --------
        >>> from stakes import JointCounts, Problem
        >>> from stakes.inference import system_costs
        >>> decided = {"new": [0, 0, 1, 0] * 25, "old": [0, 1, 1, 0] * 25}
        >>> joint = JointCounts.from_decisions([0, 0, 1, 1] * 25, decided, Problem.zero_one(2))
        >>> system_costs(joint, Problem.zero_one(2)).more("old").value
        0.25
        """
        place = _check.one_of("name", name, self.choice.names, "systems")
        parts = (self.choice.differences, self.choice.low, self.choice.high)
        return Measured(*(float(part[place]) for part in parts))

    @cached_property
    def chances(self) -> dict[str, float]:
        """The probability that each system is the cheapest, as `probability_cheapest` has it."""
        probabilities = probability_cheapest(self.choice)
        return dict(zip(map(str, self.choice.names), probabilities.tolist(), strict=True))

    def share_of_regret(self, amount: float, name: str) -> float:
        """An amount as a share of what a system costs above perfect decisions.

        Parameters
        ----------
        amount : an amount per case
        name : the name of the system

        Returns
        -------
        the share; 0 where the system costs no more than perfect decisions

        Examples
        --------
        >>> from stakes import JointCounts, Problem
        >>> from stakes.inference import system_costs
        >>> joint = JointCounts.from_decisions([0, 1], {"new": [0, 0]}, Problem.zero_one(2))
        >>> system_costs(joint, Problem.zero_one(2)).share_of_regret(0.1, "new")
        0.2
        """
        amount = _check.number("amount", amount, low=-HEAVIEST, high=HEAVIEST)
        above = self._value(name) - self._perfect
        return amount / above if above > 0 else 0.0

    # What each kind of sample knows --------------------------------------------------------------

    @property
    def _names(self) -> Labels:
        """All systems, and what is decided without a model."""
        return self.choice.errors.names

    @property
    @abstractmethod
    def _perfect(self) -> float:
        """Cost per case of the best decision of each class, above the base."""

    @abstractmethod
    def _decides_alike(self, first: str, second: str) -> bool:
        """Whether a system takes the second's decision, which needs no model, about every case."""

    @abstractmethod
    def _value(self, name: str) -> float:
        """The cost of a system above the base."""

    @abstractmethod
    def _running(self, name: str) -> float:
        """What a system costs per case besides its decisions."""

    @abstractmethod
    def _bounds_of(self, name: str) -> tuple[float, float, float]:
        """Bounds of the cost of a system above the base, and the most that it can cost."""

    @abstractmethod
    def _pair_support(self, first: str, second: str, factor: float) -> Support:
        """The support of the cost of one system's decisions less a factor times another's."""

    @abstractmethod
    def _fitting(self, names: tuple[str, ...]) -> FloatArray:
        """The covariance that fitting adds to the costs of systems."""

    @cached_property
    def _effect(self) -> SelectionEffect:
        effect = selection_effect(self.choice, alternative=self.alternative)
        # Cost and saving add up to the cost of what needs no model on these cases. So both get the
        # same correction, that of the saving, because what needs no model is not corrected.
        return replace(effect, bias=self._effect_on_saving.bias)

    @cached_property
    def _effect_on_saving(self) -> SelectionEffect:
        return selection_effect(self.choice, against=self.unaided, alternative=self.alternative)

    @property
    def _rounding(self) -> float:
        """The largest difference to what needs no model that may be due to rounding alone."""
        # Relative to what is at stake, and to the costs themselves, which may be far larger.
        cost = self.unaided_cost
        return 1e-12 * abs(cost - self.perfect) + 4 * np.finfo(np.float64).eps * abs(cost)

    def _bounded(self, value: float, support: Support, variance: float) -> Measured:
        """A value with the interval of its support, widened by a variance."""
        low, high = support_bounds(support, self.level, value, max(float(variance), 0.0))
        return Measured(value, float(low), float(high))

    def _above_base(self, cost: Measured) -> Measured:
        return Measured(*(part + self.base for part in (cost.value, cost.low, cost.high)))


# Costs of systems on the cases that were sampled, and normalised costs ---------------------------


@record
class SampledCosts(SystemCosts):
    """Costs of systems on the cases that were sampled, with normalised costs.

    `system_costs` makes them from joint counts, `loss_costs` from what each case costs.

    Attributes
    ----------
    problem : what is at stake; of joint counts, with costs above `base`
    base, unaided, alternative, choice, level : as in `SystemCosts`
    added : what each system costs per case besides its decisions, such as to run it
    constant : the names of the constant decisions, which are the last systems

    Examples
    --------
    >>> from stakes import JointCounts, Problem
    >>> from stakes.inference import system_costs
    >>> joint = JointCounts.from_decisions([0, 1] * 50, {"new": [0, 0] * 50}, Problem.zero_one(2))
    >>> system_costs(joint, Problem.zero_one(2)).constant
    ('always 0', 'always 1')
    """

    problem: Problem
    base: float
    unaided: str
    alternative: str | None
    choice: Contenders
    level: float
    added: FloatArray
    constant: tuple[str, ...]

    def normalized(self, name: str) -> Measured:
        """Normalised cost of one system.

        Parameters
        ----------
        name : the name of the system

        Returns
        -------
        the normalised cost on these cases, with its interval

        Examples
        --------
        >>> from stakes import JointCounts, Problem
        >>> from stakes.inference import system_costs
        >>> decided = {"new": [0, 0, 1, 0] * 25}
        >>> joint = JointCounts.from_decisions([0, 0, 1, 1] * 25, decided, Problem.zero_one(2))
        >>> system_costs(joint, Problem.zero_one(2)).normalized("new").value
        0.5
        """
        _check.one_of("name", name, tuple(self._normalized), "systems")
        return self._normalized[name]

    def expected_normalized(self, name: str) -> Measured:
        """Normalised cost of the cheapest system once deployed, corrected as `expected` is.

        Parameters
        ----------
        name : the name of the cheapest system

        Returns
        -------
        the normalised cost to expect, with its interval

        Examples
        --------
        >>> from stakes import JointCounts, Problem
        >>> from stakes.inference import system_costs
        >>> decided = {"a": [0, 1] * 40 + [1, 1] * 10, "b": [1, 1] * 10 + [0, 1] * 40}
        >>> joint = JointCounts.from_decisions([0, 1] * 50, decided, Problem.zero_one(2))
        >>> round(system_costs(joint, Problem.zero_one(2)).expected_normalized("a").value, 3)
        0.236
        """
        share, unit = self.normalized(name), self._span
        if not unit > 0:
            return share
        # Its luck is that of r − ρ r_d, and lies between that of the cost r and that of the saving.
        reach = max(self._effect.reach, self._effect_on_saving.reach)
        effect = replace(self._effect, bias=self._effect.bias / unit, reach=reach / unit)
        expected = effect.cost(share.value, share.low, share.high, most=self._worst(name))
        saving = self.expected_saving(name).low
        if saving > 0 or self._value(self.unaided) - self._perfect != unit:
            return expected
        # A system that may save nothing may cost as much as the best constant decision.
        return replace(expected, high=max(expected.high, 1 - saving / unit))

    # Internals -----------------------------------------------------------------------------------

    @property
    @abstractmethod
    def _bounds(self) -> Mapping[str, tuple[float, float, float]]:
        """Bounds of the cost of every system above the base, and the most that it can cost."""

    @property
    @abstractmethod
    def _normalized(self) -> Mapping[str, Measured]:
        """The normalised cost of every system."""

    @property
    def _systems(self) -> list[str]:
        """The names of all systems but the constant decisions."""
        return [str(name) for name in self.choice.errors.names[: -len(self.constant)]]

    def _value(self, name: str) -> float:
        return float(self.choice.errors.costs[_check.one_of("name", name, self._names, "systems")])

    def _running(self, name: str) -> float:
        return float(self.added[_check.one_of("name", name, self._names, "systems")])

    def _bounds_of(self, name: str) -> tuple[float, float, float]:
        _check.one_of("name", name, tuple(self._bounds), "systems")
        return self._bounds[name]

    def _fitting(self, names: tuple[str, ...]) -> FloatArray:
        return self.choice.errors.among(names).fitting

    @property
    def _span(self) -> float:
        """What the best constant decision costs above perfect ones, even if it breaks a limit."""
        return min(map(self._value, self.constant)) - self._perfect

    def _worst(self, name: str) -> float:
        """The largest normalised cost of a system; infinite where the prior is estimated."""
        span = self._span
        known = self.problem.prior is not None and span > 0
        return (self._bounds[name][2] - self._perfect) / span if known else np.inf


# Costs of systems from joint counts --------------------------------------------------------------

_AT_ONCE = 1 << 22  # most numbers in the tables of a block of systems: 32 MiB of doubles


@record
class CountedCosts(SampledCosts):
    """Costs of systems from joint counts; `system_costs` makes it.

    Attributes
    ----------
    joint : of the systems and, last, of constant decisions; clusters are its leading axis
    problem, base, unaided, alternative, choice, level, added, constant : as in `SampledCosts`
    reachable : (J + M, M) decisions that each can take
    squares : sums of squared weights, or the rows by their weight; None for cases that count once

    Examples
    --------
    >>> from stakes import JointCounts, Problem
    >>> joint = JointCounts.from_decisions([0, 1] * 50, {"new": [0, 0] * 50}, Problem.zero_one(2))
    >>> system_costs(joint, Problem.zero_one(2)).joint.models
    ('new', 'always 0', 'always 1')
    """

    joint: JointCounts
    reachable: BoolArray
    squares: FloatArray | WeightStrata | None

    def leaving(self, moves: list[Move], constant: tuple[str, ...]) -> FloatArray:
        """Where choices leave the contenders while a number of the problem moves.

        Parameters
        ----------
        moves : what moves, with costs above the base
        constant : the constant decisions that may be taken

        Returns
        -------
        the values of `leaving_points`

        Examples
        --------
        The cost of a miss rises from 1 until never raising an alarm is clearly too expensive:

        >>> from stakes import JointCounts, Problem
        >>> decided = {"never": [0] * 100, "always": [1] * 100}
        >>> joint = JointCounts.from_decisions([0, 0, 0, 1] * 25, decided, Problem.zero_one(2))
        >>> costs = system_costs(joint, Problem.zero_one(2))
        >>> start, slope = np.array([[0.0, 1.0], [0.0, 0.0]]), np.array([[0.0, 0.0], [1.0, 0.0]])
        >>> move = Move("never", start, slope, None, None, start=3.0, end=np.inf)
        >>> costs.leaving([move], ("always 0", "always 1")).round(1)
        array([4.8])
        """
        return leaving_points(
            self.joint,
            moves,
            level=self.level,
            among=self.choice.names,
            blind=constant,
            reachable=self.reachable,
            squares=self.squares,
            fitting=self.choice.errors.fitting,
            fitted=self.problem,
        )

    # Internals -----------------------------------------------------------------------------------

    @cached_property
    def _pooled(self) -> JointCounts:
        return self.joint.pooled()

    @property
    def _perfect(self) -> float:
        shares = self.problem.prior_or(self._pooled.shares)
        return float(shares @ self.problem.costs.min(axis=1))

    def _pair_support(self, first: str, second: str, factor: float) -> Support:
        pairs = np.array([[self.joint.models.index(name) for name in (first, second)]])
        costs, prior = self.problem.costs, self.problem.prior
        support = pair_support(
            self.joint, self._cells, costs, prior, pairs, self.reachable, factor=factor
        )
        return support.of_quantity(0)

    @cached_property
    def _cells(self) -> Cells:
        return sampled_cells(self.joint, self.squares, self._design["scheme"])

    def _decides_alike(self, first: str, second: str) -> bool:
        """Whether a system takes a constant decision about every case."""
        # Equal tables suffice: those of a constant decision have all cases in one column.
        tables = self._pooled.model(first), self._pooled.model(second)
        return np.array_equal(tables[0].values, tables[1].values)

    @property
    def _design(self) -> dict[str, Any]:
        scheme = Clusters() if self.joint.weights.ndim == 2 else None
        return {"reachable": self.reachable, "squares": self.squares, "scheme": scheme}

    @cached_property
    def _bounds(self) -> dict[str, tuple[float, float, float]]:
        """Bounds of the cost of every system, and the most that it can cost."""
        bounds: dict[str, tuple[float, float, float]] = {}
        for names, counts, design in self._blocks:
            support = cost_support(counts, self.problem, **design)
            support = support.shifted(np.array([self._running(name) for name in names]))
            errors = self.choice.errors.among(tuple(names))
            fitting = np.diagonal(errors.fitting)
            low, high = support_bounds(support, self.level, errors.costs, fitting)
            ends = (low, high, support.highest.sum(axis=-1))
            each = zip(*(end.tolist() for end in ends), strict=True)
            bounds |= dict(zip(names, each, strict=True))
        return bounds

    @cached_property
    def _normalized(self) -> dict[str, Measured]:
        intervals: dict[str, Measured] = {}
        unit = self._span
        for names, counts, design in self._blocks:
            running = np.array([self._running(name) for name in names])
            # A name for the pooled table would keep it, which may be large, beside the next one.
            values = np.asarray(
                normalized_cost(counts.pooled() if self.joint.leading else counts, self.problem)
            )
            # Where nothing can be gained, a cost of running is infinitely more than that.
            known = ~np.isnan([self._value(name) for name in names])
            nothing = np.where((running > 0) & known, np.inf, values)
            values = values + running / unit if unit > 0 else nothing
            errors = self.choice.errors.among(tuple(names))
            fitting = np.diagonal(errors.fitting) / (unit**2 if unit > 0 else np.inf)
            design |= {"added": running, "estimate": values, "variance": fitting}
            interval = profile_normalized_interval(counts, self.problem, self.level, **design)
            worst = [self._worst(name) for name in names]
            bounds = interval.low.clip(min=0.0), interval.high.clip(max=worst)
            parts = zip(values.tolist(), *(end.tolist() for end in bounds), strict=True)
            intervals |= {name: Measured(*part) for name, part in zip(names, parts, strict=True)}
        return intervals

    def _tabled(self, names: list[str], cells: FloatArray) -> FloatArray:
        """Sums of some systems by class and decision, from those of the cells of the tally."""
        return _tables(self.joint.with_cell_weights(cells), names).values

    @property
    def _blocks(self) -> Iterator[tuple[list[str], Counts, dict[str, Any]]]:
        """Names, tables and design of the systems, in blocks that fit into memory.

        The constant decisions are left out.
        """
        names = self._systems
        table = self.problem.costs.size * max(1, self.joint.weights.size // len(self.joint.cells))
        size = max(1, _AT_ONCE // table)
        for first in range(0, len(names), size):
            block = names[first : first + size]
            design = self._design | {"reachable": self.reachable[first : first + len(block)]}
            design["squares"] = summed(self.squares, partial(self._tabled, block))
            yield block, _tables(self.joint, block), design


def system_costs(
    joint: JointCounts,
    problem: Problem,
    *,
    level: float = 0.95,
    among: object = None,
    constant: object = None,
    reachable: object = None,
    squares: FloatArray | WeightStrata | None = None,
    fitting: FloatArray | None = None,
    added: object = None,
) -> CountedCosts:
    """Costs of all systems, compared with each other and with the best constant decision.

    Parameters
    ----------
    joint : without leading axis, or with one of clusters
    problem : what is at stake: costs, prior, labels
    level : confidence level of all intervals
    among : the systems that may win; all without it
    constant : the decisions with the cheapest of which systems are compared; all without it
        If there are none, systems are compared with the cheapest of all, which may not be taken.
    reachable : (M,) or (J, M) of bool, the decisions that systems can take; all without it
    squares : sums of squared weights, like the weights of joint, or the rows by their weight
    fitting : (J, J) covariance that fitting adds to the costs, as `fitting_covariance` has it
    added : (J,) what each system costs per case besides its decisions, such as to run it

    Returns
    -------
    the costs, which answer with intervals, savings and what may be the cheapest

    Examples
    --------
    Running the new model costs 0.2 a case, so that it saves 0.05 instead of 0.25:

    >>> from stakes import JointCounts, Problem
    >>> joint = JointCounts.from_decisions(
    ...     [0, 0, 1, 1] * 25, {"new": [0, 0, 1, 0] * 25}, Problem.zero_one(2))
    >>> costs = system_costs(joint, Problem.zero_one(2), added=np.array([0.2]))
    >>> round(costs.saving("new").value, 2), costs.possible
    (0.05, ('new', 'always 0'))
    """
    refuse_other_labels(joint, problem)
    base = float(problem.costs.min())
    above = _above(base, problem)
    shares = problem.prior_or(joint.pooled().shares)
    allowed = None if constant is None else _check.labels("constant", constant)
    decision = _cheapest_constant(above.with_prior(shares), shares, allowed)
    wider, able = with_blind(joint, above, decision)
    size = len(joint.models)
    rest = 0, len(wider.models) - size  # the constant decisions, which are last
    able[:size] = checked_reachable(reachable, (size, problem.n_decisions))
    running = np.pad(checked_added(added, joint.models), rest)
    choice = contenders(
        wider,
        above,
        level=level,
        among=joint.models if among is None else among,
        reachable=able,
        squares=squares,
        fitting=np.pad(checked_fitting(fitting, size), rest),
        added=running,
        unaided=always(decision),
    )
    return CountedCosts(
        joint=wider,
        problem=above,
        base=base,
        reachable=able,
        squares=squares,
        choice=choice,
        unaided=always(decision),
        alternative=None if allowed == () else always(decision),
        level=choice.level,
        added=running,
        constant=tuple(map(str, wider.models[size:])),
    )


def _cheapest_constant(problem: Problem, shares: FloatArray, among: Labels | None) -> Label:
    """The cheapest of some decisions, or of all: None, or none of them."""
    decisions, costs = problem.decisions, shares @ problem.costs
    allowed = [_check.one_of("constant", label, decisions) for label in among or ()]
    return decisions[min(allowed, key=costs.__getitem__)] if allowed else problem.naive.decision


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


def _tables(joint: JointCounts, names: list[str]) -> Counts:
    """Counts (…, J, K, M) of some systems."""
    values = np.stack([joint.model(name).values for name in names], axis=-3)
    labels: dict[str, Any] = {"classes": joint.classes, "decisions": joint.decisions}
    return Counts._trusted(values=values, **labels, groups=None)


# -------------------------------------------------------------------------------------------------
# Costs of systems where every case has its own costs, and normalised costs: ratios of two.

_STEPS = 40  # of regula falsi, which needs about ten, and of doublings in search of a bracket


@record
class LossCosts(SampledCosts):
    """Costs of systems from what each case costs; `loss_costs` makes it.

    Attributes
    ----------
    losses : above `base`: of systems, of what needs no model and, last, of constant decisions
    problem, base, unaided, alternative, choice, level, added, constant : as in `SampledCosts`

    Examples
    --------
    Two decisions about cases of which half cost 4 if they are missed:

    >>> y, most = np.array([0, 1] * 50), np.array([1.0, 4.0] * 50)
    >>> losses = np.stack([np.tile([0.0, 0, 1, 0], 25), np.where(y, 4.0, 0), np.where(y, 0, 1.0)])
    >>> names = ("new", "always 0", "always 1")
    >>> sample = LossSample(names, losses, most, 0 * most, y, 2, None, None, True, None, unaided=2)
    >>> costs = loss_costs(sample, Problem.zero_one(2))
    >>> costs.cost("new").value, costs.unaided, costs.normalized("new").value
    (0.25, 'always 1', 0.5)
    """

    losses: LossSample

    @property
    def best_constant(self) -> str:
        """The name of the cheapest constant decision."""
        return min(self.constant, key=self._value)

    def cheapest_constant(self) -> tuple[Label, float, Labels]:
        """The cheapest constant decision, its cost per case, and those that tie with it.

        Returns
        -------
        the first decision, its cost, and all that cost as little

        Examples
        --------
        >>> y, most = np.array([0, 1] * 50), np.array([1.0, 4.0] * 50)
        >>> losses = np.stack([np.zeros(100), np.where(y, 4.0, 0), np.where(y, 0, 1.0)])
        >>> names = ("new", "always 0", "always 1")
        >>> sample = LossSample(names, losses, most, 0 * most, y, 2, None, None, True, None, 2)
        >>> loss_costs(sample, Problem.zero_one(2)).cheapest_constant()
        (1, 0.5, (1,))
        """
        decisions, costs = self.problem.decisions, [self._value(name) for name in self.constant]
        # Costs were rounded themselves, and again when the base was subtracted.
        rounding = 1e-12 * (max(costs) - self._perfect)
        rounding += 4 * np.finfo(np.float64).eps * abs(self.base)
        tied = [
            d for d, cost in zip(decisions, costs, strict=True) if cost <= min(costs) + rounding
        ]
        return tied[0], min(costs) + self.base, tuple(tied)

    # Internals -----------------------------------------------------------------------------------

    @property
    def _perfect(self) -> float:
        return self.losses.mean(self.losses.perfect)

    def _pair_support(self, first: str, second: str, factor: float) -> Support:
        return self.losses.difference_support(first, second, factor)

    def _decides_alike(self, first: str, second: str) -> bool:
        return np.array_equal(self.losses.loss(first), self.losses.loss(second))

    @cached_property
    def _bounds(self) -> dict[str, tuple[float, float, float]]:
        bounds = {}
        for name in self._systems:
            support = self.losses.cost_support(name).shifted(self._running(name))
            bounded = self._bounded(self._value(name), support, self._fitted(name))
            bounds[name] = bounded.low, bounded.high, float(support.highest.sum())
        return bounds

    @cached_property
    def _normalized(self) -> dict[str, Measured]:
        losses = self.losses
        below = losses.possible_loss(self.best_constant) - losses.possible.perfect
        unit = losses.mean(below[: losses.truth.size])
        # A ratio has the most degrees of freedom, as in `profile_normalized_interval`.
        threshold = profile_threshold(self.level, np.asarray(losses.most_degrees))
        intervals = {}
        for name in self._systems:
            above = losses.loss(name) - losses.perfect + self._running(name)
            with np.errstate(divide="ignore", invalid="ignore"):
                value = np.asarray(np.divide(losses.mean(above), unit))
            low, high = ratio_bounds(losses, above, below, float(threshold), losses.most(name))
            more = np.asarray(self._fitted(name) / (unit**2 if unit > 0 else np.inf))
            bounds = np.asarray(low), np.asarray(high)
            low, high = map(float, widened(value, bounds, threshold, more))
            intervals[name] = Measured(float(value), max(low, 0.0), high)
        return intervals

    def _fitted(self, name: str) -> float:
        """The variance that fitting adds to the cost of a system."""
        return float(self._fitting((name,))[0, 0])


def loss_costs(
    losses: LossSample,
    problem: Problem,
    *,
    base: float = 0.0,
    level: float = 0.95,
    among: object = None,
    unaided: object = None,
    fitting: FloatArray | None = None,
    added: object = None,
) -> LossCosts:
    """Costs of all systems, compared with each other and with the best that needs no model.

    Parameters
    ----------
    losses : above `base`: of systems, of what else needs no model, and of constant decisions
        The last systems are the constant decisions, in the order of the problem.
    problem : the prior and the decisions; what each case costs is known from its losses
    base : what was subtracted from all losses
    level : confidence level of all intervals
    among : the systems that may win; all that need predictions without it
    unaided : what needs no model and may be taken; all that `losses` hold without it
        If that is nothing, systems are compared with the cheapest of all.
    fitting : (J, J) covariance that fitting adds to the costs, as `fitting_covariance` has it
    added : (J,) what each system costs per case besides its decisions, such as to run it

    Returns
    -------
    the costs, which answer with intervals, savings and what may be the cheapest

    Examples
    --------
    Running the new model costs 0.2 a case, so that it saves 0.05 instead of 0.25:

    >>> y, most = np.array([0, 1] * 50), np.array([1.0, 4.0] * 50)
    >>> losses = np.stack([np.tile([0.0, 0, 1, 0], 25), np.where(y, 4.0, 0), np.where(y, 0, 1.0)])
    >>> names = ("new", "always 0", "always 1")
    >>> sample = LossSample(names, losses, most, 0 * most, y, 2, None, None, True, None, unaided=2)
    >>> costs = loss_costs(sample, Problem.zero_one(2), added=[0.2, 0, 0])
    >>> round(costs.saving("new").value, 2), costs.possible
    (0.05, ('new', 'always 1'))
    """
    losses, names = replace(losses, prior=problem.prior), losses.names
    running = checked_added(added, names)
    errors = losses.errors(fitting, running)
    predicting = names[: len(names) - losses.unaided]
    rivals = errors.among(checked_names(names, predicting if among is None else among))
    constant = tuple(map(str, names[-problem.n_decisions :]))
    allowed = None if unaided is None else _check.labels("unaided", unaided)
    simplest = _cheapest_unaided(errors, constant, losses.unaided, allowed)
    choice = contenders_among(
        rivals,
        errors,
        lambda first: losses.differences(rivals.names, first),
        level=level,
        reach=losses.beyond_all,
        added=running,
        unaided=simplest,
    )
    return LossCosts(
        losses=losses,
        problem=problem,
        base=base,
        choice=choice,
        unaided=simplest,
        alternative=simplest if allowed is None or simplest in allowed else None,
        level=choice.level,
        added=running,
        constant=constant,
    )


def _cheapest_unaided(
    errors: CostErrors, constant: tuple[str, ...], n_unaided: int, allowed: Labels | None
) -> str:
    """The cheapest of what needs no model: of all, or of what is allowed if that is any."""
    others = errors.names[len(errors.names) - n_unaided : len(errors.names) - len(constant)]
    names = (*constant, *map(str, others))  # a constant decision wins ties: it is the simpler one
    if allowed is not None:
        names = tuple(name for name in names if name in allowed) or names
    return min(names, key=lambda name: errors.costs[errors.names.index(name)])


# Normalised costs: the ratio of two mean losses ---------------------------------------------------


def ratio_bounds(
    sample: LossSample,
    above: FloatArray,
    below: FloatArray,
    threshold: float,
    most: FloatArray | None = None,
) -> tuple[float, float]:
    r"""Confidence bounds of a ratio of mean losses, E[above] / E[below], by profile likelihood.

    The test of :math:`E[a - \rho\, b] = 0` is inverted; an upper bound that no ratio reaches is
    infinite, and so is that of a constant decision that was perfect, if it would not be in a class
    without cases. nan where the ratio is undefined.

    Parameters
    ----------
    sample : losses of all cases
    above : (n,) numerator
    below : denominator in each case and each stand-in
        Both are losses above perfect decisions, and not negative.
    threshold : quantile that the likelihood ratio may reach
    most : the most that the decisions of `above` can cost each case and each stand-in; by default
        the costliest

    Returns
    -------
    lower and upper bound

    Examples
    --------
    >>> losses = np.array([[0.0, 1.0, 0.0, 2.0]])
    >>> sample = LossSample(
    ...     names=("a",), losses=losses, costliest=np.full(4, 3.0), perfect=np.zeros(4),
    ...     truth=np.array([0, 0, 1, 1]), n_classes=2, prior=None, weights=None, whole=True,
    ...     clusters=None)
    >>> low, high = ratio_bounds(sample, losses[0], np.ones(4), 3.84)
    >>> round(low, 2), round(high, 2)
    (0.15, 4.16)
    """
    _check.shapes(f"{sample.truth.size}, {sample.possible.perfect.size}", above=above, below=below)
    unit, highest = sample.mean(below[: above.size]), sample.largest(below)
    if np.isnan(unit) or not (highest * sample.shares).any():
        return np.nan, np.nan
    if not np.isfinite(threshold):
        return 0.0, np.inf
    reach = (sample.possible.costliest if most is None else most) - sample.possible.perfect
    a, b, counts = _cells(sample, above, below, reach)
    costly, shares = sample._beyond(above, reach), sample.shares
    q = np.asarray(threshold)

    def greatest_mean(values: FloatArray, top: FloatArray) -> float:
        limits = values.min(axis=1) * shares, np.maximum(top, values.max(axis=1)) * shares
        return float(upper_bound(Support(values * shares[:, None], counts, *limits), q))

    def upper(ratio: float) -> float:
        return greatest_mean(a - ratio * b, costly)

    def lower(ratio: float) -> float:
        return greatest_mean(ratio * b - a, ratio * highest)

    # Both functions are positive at the estimate and fall away from it, which gives brackets.
    # A ratio is accepted as long as some mean of a − ratio · b within the threshold reaches zero.
    if not unit > 0:  # the constant decision was perfect: a case of an absent class shows it is not
        start = _beyond_root(lambda ratio: -lower(ratio), 0.0)
        return 0.0 if lower(0.0) >= 0 else _rising_root(lower, 0.0, start), np.inf
    start = sample.mean(above) / unit
    low = 0.0 if lower(0.0) >= 0 else _rising_root(lower, 0.0, start)
    return low, _rising_root(upper, start, _beyond_root(upper, start))


def _cells(
    sample: LossSample, above: FloatArray, below: FloatArray, reach: FloatArray
) -> list[FloatArray]:
    """Means of two losses and counts, (R, C) each, in bins of the error of their ratio."""
    seen = below[: above.size]
    unit = sample.mean(seen)
    ratio = sample.mean(above) / unit if unit > 0 else 0.0
    linear = above - ratio * seen
    factors, parts = sample._factors(linear, (-ratio * below, reach - ratio * below)), []
    if sample.clusters is not None:  # the more cautious one of two design effects
        factors = np.minimum(factors, sample._factors(above, (0 * below, reach)))
    for rows, factor in zip(sample._strata, factors, strict=True):
        codes = _pair_codes(linear[rows], seen[rows], sample._repeats(rows))
        weights = sample._own(rows)
        mass = np.bincount(codes, weights).astype(np.float64)
        safe = np.where(mass > 0, mass, 1.0)
        means = [np.bincount(codes, times(loss[rows], weights)) / safe for loss in (above, seen)]
        parts.append([*means, mass * factor])
    size = max(len(part[0]) for part in parts)
    return [
        np.stack([np.pad(part[i], (0, size - len(part[i]))) for part in parts]) for i in range(3)
    ]


def _pair_codes(linear: FloatArray, below: FloatArray, repeats: FloatArray | None) -> IntArray:
    """A bin for each error of a ratio; in small samples, for each with its denominator.

    Where the ratio is 0 or 1, cases of different losses may have the same error.
    """
    codes = bin_codes(linear, repeats)
    if (below.size if repeats is None else repeats.sum()) > N_BINS:
        return codes
    pairs = np.column_stack([codes, below])
    return np.unique(pairs, axis=0, return_inverse=True)[1].reshape(-1)


def _beyond_root(falling: Callable[[float], float], start: float) -> float:
    """A number at which a falling function is no longer positive; inf if none is found."""
    step = max(start, 0.1)
    for _ in range(_STEPS):
        if falling(start + step) <= 0:
            return start + step
        step *= 2
    return np.inf


def _rising_root(function: Callable[[float], float], low: float, high: float) -> float:
    """Where a function changes its sign, by regula falsi with the Illinois correction."""
    if not high < np.inf:
        return high
    at_low, at_high = function(low), function(high)
    for _ in range(_STEPS):
        if high - low <= 1e-7 * max(abs(high), 1e-9) or at_low == at_high:
            break
        middle = (low * at_high - high * at_low) / (at_high - at_low)
        value = function(middle)
        if abs(value) <= 1e-9 * max(abs(at_low), abs(at_high)):
            return middle
        if (value > 0) == (at_high > 0):
            high, at_high, at_low = middle, value, at_low / 2
        else:
            low, at_low, at_high = middle, value, at_high / 2
    return (low + high) / 2
