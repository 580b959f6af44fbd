"""Costs of systems where every case has its own costs."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

import numpy as np

from stakes import _check
from stakes._check import FloatArray, Label, Labels
from stakes._value import record
from stakes.inference.estimate import Measured
from stakes.inference.likelihood import Support, widened
from stakes.inference.loss_ratios import ratio_bounds
from stakes.inference.losses import LossSample
from stakes.inference.profile import profile_threshold
from stakes.inference.sampled_costs import SampledCosts
from stakes.inference.sampling import CostErrors, checked_added, checked_fitting
from stakes.inference.selection import Contenders, checked_names, contenders_among
from stakes.problem import Problem


@record
class LossCosts(SampledCosts):
    """Costs of systems from what each case costs; `loss_costs` makes it.

    Attributes
    ----------
    losses : above `base`: of systems, of what needs no model and, last, of constant decisions
    problem, base, unaided, choice, level, added, constant : as in `SampledCosts`

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
    problem: Problem
    base: float
    choice: Contenders
    unaided: str
    level: float
    added: FloatArray
    constant: tuple[str, ...]

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
        losses, constant = self.losses, self.losses.loss(self.best_constant)
        below = constant - losses.perfect
        unit = losses.mean(below)
        threshold = profile_threshold(self.level, np.asarray(losses.degrees))
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
    running = np.zeros(len(names)) if added is None else checked_added(added, names)
    errors = losses.errors(checked_fitting(fitting, len(names))).with_added(running)
    predicting = names[: len(names) - losses.unaided]
    rivals = errors.among(checked_names(names, predicting if among is None else among))
    choice = contenders_among(
        rivals,
        errors,
        lambda first: losses.differences(rivals.names, first),
        level=level,
        reach=losses.beyond_all,
        added=running,
    )
    constant = tuple(map(str, names[-problem.n_decisions :]))
    return LossCosts(
        losses=losses,
        problem=problem,
        base=base,
        choice=choice,
        unaided=_cheapest_unaided(errors, constant, losses.unaided, unaided),
        level=choice.level,
        added=running,
        constant=constant,
    )


def _cheapest_unaided(
    errors: CostErrors, constant: tuple[str, ...], n_unaided: int, allowed: object
) -> str:
    """The cheapest of what needs no model: of all, or of what is allowed if that is any."""
    others = errors.names[len(errors.names) - n_unaided : len(errors.names) - len(constant)]
    names = (*constant, *map(str, others))  # a constant decision wins ties: it is the simpler one
    if allowed is not None:
        some = _check.labels("unaided", allowed)
        names = tuple(name for name in names if name in some) or names
    return min(names, key=lambda name: errors.costs[errors.names.index(name)])
