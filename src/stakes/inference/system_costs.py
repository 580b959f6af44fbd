"""What systems cost on the same cases, how they compare, and what the cheapest will cost.

All systems are compared with each other and with the cheapest decision that needs no model. Nothing
is drawn at random.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import replace
from functools import cached_property, partial
from math import inf, isnan, nan

import numpy as np

from stakes import _check
from stakes._check import HEAVIEST, FloatArray, Labels
from stakes.inference.estimate import Measured
from stakes.inference.likelihood import Support
from stakes.inference.profile import support_bounds
from stakes.inference.selection import Contenders
from stakes.inference.winner import SelectionEffect, probability_cheapest, selection_effect

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
