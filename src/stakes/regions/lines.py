"""The numbers of a problem that move alone, and the straight lines along which they do."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from stakes._check import FloatArray
from stakes._value import record
from stakes.inference import FARTHEST
from stakes.problem import Problem

PRIOR = "prior of "  # how the names of priors begin


class StakeLine(NamedTuple):
    """Costs (K, M) and prior (K,) at position zero, their slopes, and the limits of the position.

    Only one of the two varies.

    Examples
    --------
    >>> *_, rare = stakes_in(Problem.zero_one(2), np.array([0.9, 0.1]))
    >>> rare.line.prior, rare.line.prior_slope, rare.line.bounds
    (array([1., 0.]), array([-1.,  1.]), (0.0, 1.0))
    """

    costs: FloatArray
    cost_slope: FloatArray
    prior: FloatArray
    prior_slope: FloatArray
    bounds: tuple[float, float]

    @property
    def weighted(self) -> tuple[FloatArray, FloatArray]:
        """Prior times costs (K, M) at position zero, and its slope."""
        start = self.prior[:, None] * self.costs
        return start, self.prior_slope[:, None] * self.costs + self.prior[:, None] * self.cost_slope

    def at(self, x: float) -> tuple[FloatArray, FloatArray]:
        """Costs and prior at a position.

        Parameters
        ----------
        x : the position

        Returns
        -------
        costs (K, M) and prior (K,)

        Examples
        --------
        >>> *_, rare = stakes_in(Problem.zero_one(2), np.array([0.9, 0.1]))
        >>> rare.line.at(0.3)[1]
        array([0.7, 0.3])
        """
        return self.costs + x * self.cost_slope, self.prior + x * self.prior_slope


def prior_line(costs: FloatArray, prior: FloatArray, k: int) -> StakeLine:
    """The line along which the prior of class k moves; the others keep their proportions.

    Where that class has all of the prior, the others share the rest equally.
    """
    unit = np.eye(prior.size)[k]
    others = np.where(unit > 0, 0.0, prior)
    others = others if others.any() else 1 - unit
    others = others / (others.sum() or 1.0)  # no class is left where there is only one
    return StakeLine(costs, np.zeros(costs.shape), others, unit - others, (0.0, 1.0))


@record
class Stake:
    """One number of a problem that moves while all others stay: a cost, or the prior of a class.

    A cost of decision d for class k, or the prior of class k where d is None. `prior` is the one in
    use, stated or not.

    Examples
    --------
    >>> problem = Problem.binary(false_alarm=1, miss=8, classes=["well", "ill"])
    >>> [stake.what for stake in stakes_in(problem, np.array([0.9, 0.1]))[2:]]
    ['cost of well for ill', 'cost of ill for ill', 'prior of ill']
    """

    problem: Problem
    prior: FloatArray
    k: int
    d: int | None

    @property
    def what(self) -> str:
        """The number, in words."""
        label = self.problem.classes[self.k]
        if self.d is None:
            return f"{PRIOR}{label}"
        return f"cost of {self.problem.decisions[self.d]} for {label}"

    @property
    def value(self) -> float:
        """Its present value, which is its position on its line."""
        return float(self.prior[self.k] if self.d is None else self.problem.costs[self.k, self.d])

    @property
    def line(self) -> StakeLine:
        """The line of problems along which it moves.

        Costs go to 20 times the largest of them, and below zero where the problem states gains.
        """
        costs, prior = self.problem.costs, self.prior
        if self.d is None:
            return prior_line(costs, prior, self.k)
        slope = np.zeros(costs.shape)
        slope[self.k, self.d] = 1.0
        far = FARTHEST * (float(np.abs(costs).max()) or 1.0)
        bounds = (-far if self.problem.has_gains else 0.0, far)
        return StakeLine(
            np.where(slope > 0, 0.0, costs), slope, prior, np.zeros(prior.shape), bounds
        )


def stakes_in(problem: Problem, prior: FloatArray) -> tuple[Stake, ...]:
    """All costs of a problem, class by class, then the priors.

    Of two classes one prior determines both, and the second comes.

    Parameters
    ----------
    problem : what is at stake
    prior : (K,) the class shares in use

    Returns
    -------
    the numbers that may move

    Examples
    --------
    >>> stakes = stakes_in(Problem.zero_one(3), np.array([0.5, 0.3, 0.2]))
    >>> len(stakes), stakes[1].what, stakes[-1].value
    (12, 'cost of 1 for 0', 0.2)
    """
    size, many = problem.n_classes, problem.n_decisions
    costs = [Stake(problem, prior, k, d) for k in range(size) for d in range(many)]
    return (*costs, *(Stake(problem, prior, k, None) for k in range(size) if k or size != 2))
