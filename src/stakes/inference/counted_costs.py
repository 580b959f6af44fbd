"""Costs of systems from joint counts."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property, partial
from typing import Any

import numpy as np

from stakes import _check
from stakes._check import BoolArray, FloatArray, Label, Labels
from stakes._text import always
from stakes._value import record
from stakes.inference.contender_exits import Move, leaving_points
from stakes.inference.effective_cases import Cells
from stakes.inference.estimate import Measured
from stakes.inference.likelihood import Support
from stakes.inference.profile import profile_normalized_interval, support_bounds
from stakes.inference.sampled_costs import SampledCosts
from stakes.inference.sampling import checked_added, checked_fitting
from stakes.inference.schemes import Clusters
from stakes.inference.selection import contenders, with_blind
from stakes.inference.supports import (
    checked_reachable,
    cost_support,
    pair_support,
    sampled_cells,
)
from stakes.inference.tally_checks import refuse_other_labels
from stakes.inference.weight_strata import WeightStrata, summed
from stakes.measures import normalized_cost
from stakes.problem import Problem
from stakes.tally import Counts, JointCounts

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
