"""Costs of systems on the cases that were sampled, and normalised costs."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from stakes import _check
from stakes._check import FloatArray
from stakes._value import record
from stakes.inference.estimate import Measured
from stakes.inference.selection import Contenders
from stakes.inference.system_costs import SystemCosts
from stakes.problem import Problem


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
