"""What two systems decide about the same cases, and what that costs."""

from __future__ import annotations

from functools import cached_property
from itertools import combinations
from math import nan
from typing import Any, Protocol

import numpy as np

from stakes._check import BoolArray, FloatArray, IntArray
from stakes._value import Value, record
from stakes.errors import InputError
from stakes.inference import Support, unchecked_cost_support
from stakes.problem import Problem
from stakes.tally import Counts, ScoreTable


@record
class DecisionSource(Value):
    """What systems decide by: the scores of a model, its recalibrated ones, or its decisions.

    `ends` (B,) are positions in the score table of the report, each one past the last score of a
    bin. Fixed decisions have no table: `system` says whose decisions they are, and their bins are
    the decisions.

    Examples
    --------
    >>> from stakes import Problem, evaluate
    >>> y, models = [0, 0, 0, 1] * 50, {"net": [0.1, 0.1, 0.3, 0.8] * 50, "old": [0, 1, 1, 1] * 50}
    >>> report = evaluate(y, models, Problem.zero_one(2), calibrator=None)
    >>> [(source.model, source.system, source.ends.tolist()) for source in report.joint.sources]
    [('net', None, [1, 2, 3]), ('old', 'old (as decided)', [])]
    """

    model: str
    recalibrated: bool
    system: str | None
    ends: IntArray


@record
class PairCounts(Value):
    """Cases of each class in each pair of bins, without empty pairs.

    `places` (C,) number the cells (class, bin of the first, bin of the second), the last one
    running fastest; `weights` (C,) are their cases.

    Examples
    --------
    Two classes and two decisions make eight cells. In cell 3 the class is 0 and both decide 1; in
    cell 7 the class is 1:

    >>> from stakes import Problem, evaluate
    >>> y, models = [0, 0, 0, 1] * 50, {"new": [0, 0, 1, 1] * 50, "old": [0, 1, 1, 1] * 50}
    >>> pair = evaluate(y, models, Problem.zero_one(2)).joint.pairs[0]
    >>> dict(zip(pair.places.tolist(), pair.weights.tolist()))
    {0: 50.0, 1: 50.0, 3: 50.0, 7: 50.0}
    """

    places: IntArray
    weights: FloatArray


@record
class JointBins(Value):
    """Joint counts of all pairs of sources, those of the cheapest systems.

    `pairs` are in the order of ``itertools.combinations``; `fitting` (J, J) is the covariance that
    fitting adds to the costs of the systems, at the costs and the prior of the report.

    Examples
    --------
    >>> from stakes import Problem, evaluate
    >>> y, models = [0, 0, 0, 1] * 50, {"new": [0, 0, 1, 1] * 50, "old": [0, 1, 1, 1] * 50}
    >>> joint = evaluate(y, models, Problem.zero_one(2)).joint
    >>> [source.model for source in joint.sources], len(joint.pairs), joint.fitting.shape
    (['new', 'old'], 1, (2, 2))
    """

    sources: tuple[DecisionSource, ...]
    pairs: tuple[PairCounts, ...]
    fitting: FloatArray


class ReportLike(Protocol):
    """The parts of a report from which it is read under other stakes."""

    @property
    def problem(self) -> Problem: ...
    @property
    def verdict(self) -> Any: ...
    @property
    def assumptions(self) -> Any: ...
    @property
    def naive(self) -> Any: ...
    @property
    def systems(self) -> tuple[Any, ...]: ...
    @property
    def models(self) -> tuple[Any, ...]: ...
    @property
    def joint(self) -> JointBins | None: ...
    @property
    def margins(self) -> tuple[Any, ...]: ...


@record
class Decided:
    """What a system decides: counts (K, M); by score (n,) and within bins (K, B, M) if it can."""

    name: str
    source: int | None  # among the joint bins
    counts: FloatArray
    table: ScoreTable | None  # that it decides by
    codes: IntArray | None  # of the scores of its table
    within: Any  # (K, B, M) shares of each bin of its source; None without one
    able: BoolArray  # (M,) decisions that it can take
    running: float
    reported: Any  # None: it does not exist at the stakes of the report


@record
class Pairs:
    """What two systems decide about the same cases."""

    report: ReportLike

    @cached_property
    def _joint(self) -> dict[tuple[int, int], FloatArray]:
        """Joint counts (K, B, B') of pairs of sources."""
        joint, problem = joint_of(self.report), self.report.problem
        sizes = [source.ends.size or problem.n_decisions for source in joint.sources]
        joint_counts = {}
        for (i, j), pair in zip(combinations(range(len(sizes)), 2), joint.pairs, strict=True):
            table = np.zeros(problem.n_classes * sizes[i] * sizes[j])
            table[pair.places] = pair.weights
            joint_counts[i, j] = table.reshape(problem.n_classes, sizes[i], sizes[j])
            joint_counts[j, i] = np.swapaxes(joint_counts[i, j], 1, 2)
        return joint_counts

    def pair(self, first: Decided, second: Decided) -> FloatArray:
        """Joint counts (K, M, M) of the decisions of two systems."""
        size = first.counts.shape[1]
        if first is second:
            return with_itself(first.counts)
        # Without joint bins, independence within classes is assumed, which widens intervals.
        if first.source is None or second.source is None:
            mass = np.maximum(first.counts.sum(axis=1), 1e-300)[:, None, None]
            return np.asarray(first.counts[:, :, None] * second.counts[:, None, :] / mass)
        if first.source == second.source and first.table is not None:
            both = np.eye(size * size)[size * np.asarray(first.codes) + second.codes]
            return np.asarray((first.table.weights.T @ both).reshape(-1, size, size))
        joint = self._joint[first.source, second.source]
        return np.asarray(np.swapaxes(first.within, 1, 2) @ joint @ second.within)

    def constant(self, d: int, counts: FloatArray) -> Decided:
        """A constant decision about cases with these counts."""
        table = np.zeros(counts.shape)
        table[:, d] = counts.sum(axis=1)
        able = np.arange(counts.shape[1]) == d
        return Decided("", None, table, None, None, None, able, 0.0, None)

    def fitting(self, some: tuple[Decided, ...], variances: FloatArray) -> FloatArray:
        """Covariance that fitting adds, scaled from that of the report.

        The ratio of its standard error to that of sampling is assumed to stay the same.
        """
        names = [system.name for system in self.report.systems]
        places = [-1 if system.reported is None else names.index(system.name) for system in some]
        before = np.array([self._before[place] if place >= 0 else 0.0 for place in places])
        ratios = np.sqrt(np.maximum(variances, 0.0) / np.where(before > 0, before, np.inf))
        fitted = joint_of(self.report).fitting[np.ix_(places, places)]
        return np.asarray(fitted * np.outer(ratios, ratios))

    @cached_property
    def _before(self) -> FloatArray:
        """The sampling variance of every system at the stakes of the report."""
        tables = np.stack([with_itself(system.counts.values) for system in self.report.systems])
        return covariance_of(tables, self.report.problem)


def joint_of(report: ReportLike) -> JointBins:
    """The joint bins of a report, which may have none."""
    if report.joint is None:
        raise InputError(
            "report must hold joint bins of its systems, which only cases that count as one and "
            "cost what their cell costs have: no clusters, no weights, no costs of "
            "their own, no limits, and rows in memory. Evaluate again under the other costs."
        )
    return report.joint


# Costs of tables ---------------------------------------------------------------------------------


def with_itself(counts: FloatArray) -> FloatArray:
    """Joint counts (K, M, M) of a system with itself."""
    return np.asarray(counts[:, :, None] * np.eye(counts.shape[1]))


def gaps_of(costs: FloatArray, factor: float) -> FloatArray:
    """Cost of one decision less a factor times that of another for every pair, (K, M²)."""
    return np.asarray((costs[:, :, None] - factor * costs[:, None, :]).reshape(len(costs), -1))


def support_of(
    tables: FloatArray, costs: FloatArray, able: BoolArray, prior: FloatArray | None
) -> Support:
    """Supports of P mean costs, from tables (P, K, Q) of cases, which may be fractional."""
    return unchecked_cost_support(Counts(tables), costs, prior, reachable=able, squares=tables)


def cost_of(counts: FloatArray, problem: Problem) -> float:
    sizes = counts.sum(axis=1)
    if problem.prior is None:
        return float(np.sum(counts * problem.costs) / sizes.sum())
    if (problem.prior[sizes == 0] > 0).any():
        return nan
    rates = counts / np.where(sizes > 0, sizes, 1.0)[:, None]
    return float(problem.prior @ np.sum(rates * problem.costs, axis=1))


def covariance_of(pairs: FloatArray, problem: Problem) -> FloatArray:
    """Covariances (…) of the errors of two mean costs, by their joint counts (…, K, M, M).

    A sample of one case adds nothing.
    """
    first, second = problem.costs[:, :, None], problem.costs[:, None, :]
    cells = (-3, -2, -1) if problem.prior is None else (-2, -1)  # of all cases, or of a class
    sizes = pairs.sum(axis=cells, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        first_mean, second_mean = (
            np.sum(pairs * costs, axis=cells, keepdims=True) / sizes for costs in (first, second)
        )
        scatter = pairs * (first - first_mean) * (second - second_mean)
        each = np.sum(scatter, axis=cells, keepdims=True) / (sizes * (sizes - 1))
    known = np.where(sizes > 1, each, 0.0).squeeze(cells)
    return np.asarray(known if problem.prior is None else known @ problem.prior**2)


def best_covariances(tables: list[FloatArray], problem: Problem) -> FloatArray:
    """Covariances of the mean cost of the best decisions with those of systems of these counts.

    Of J systems, and last the variance of the best decisions, (J + 1,); zero if the prior is known.
    """
    sizes, best = tables[0].sum(axis=1), problem.costs.min(axis=1)
    n = sizes.sum()
    if problem.prior is not None or n <= 1:
        return np.zeros(len(tables) + 1)
    totals = [*(np.sum(table * problem.costs, axis=1) for table in tables), sizes * best]
    return np.asarray(np.stack(totals) @ (best - best @ sizes / n) / (n * (n - 1)))
