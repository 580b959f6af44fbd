"""Cost as a function of the capacity of a decision, and of the share of decided cases."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from stakes import _check
from stakes._check import BoolArray, FloatArray, IntArray, Label
from stakes._text import in_unit
from stakes._value import record
from stakes.decide import mean_costs
from stakes.displays.display import (
    CurvesDisplay,
    grid_of,
    limits_around,
    only_posteriors,
    read_named,
)
from stakes.errors import InputError
from stakes.evaluation import Cases, frame_library
from stakes.inference import LossSample, support_bounds
from stakes.limits import (
    CapacityCurve,
    CoverageCurve,
    capacity_of,
    costs_by_class,
    coverage_of,
    deployed_cases,
    limited_column,
    refuse_lost,
)
from stakes.plot import BandedLine
from stakes.problem import Problem

_POINTS = 51  # shares at which a cost is drawn
_NOISE = 1e-11  # relative to the largest gain: smaller differences are rounding errors


@record(repr=False)
class CapacityDisplay(CurvesDisplay):
    """Cost per case over the share of cases that may get a decision, such as a review.

    The cases with the largest expected saving get it first; costs are those of the true classes. A
    dot marks the share that gets the decision without a limit. Where the problem has a limit on
    that share, a vertical line marks it; its other limits are ignored.

    Attributes
    ----------
    decision : the decision with the capacity
    limit : the limit of the problem on its share; nan where there is none
    unit : unit of the costs

    Examples
    --------
    Without a review one case in four costs 180; with one review in four cases it costs 8:

    >>> from stakes import Limit
    >>> problem = Problem([[0, 3], [180, 8]], decisions=["approve", "review"],
    ...                   limits=[Limit("review", at_most=0.25)])
    >>> display = CapacityDisplay.from_predictions(
    ...     [0, 0, 0, 1] * 25, [0.02, 0.05, 0.3, 0.9] * 25, problem, "review", capacities=[0, 0.25])
    >>> display.columns()["cost"].tolist(), display.limit
    ([45.0, 2.0], 0.25)
    """

    decision: Label
    limit: float
    unit: str | None

    x_column, y_column = "capacity", "cost"

    @classmethod
    def from_predictions(
        cls,
        y_true: Any,
        models: Any,
        problem: Problem,
        decision: Label,
        *,
        capacities: object = None,
        data: object = None,
        weights: object = None,
        clusters: object = None,
        level: float = 0.95,
    ) -> Self:
        """Make the display for the cost at every capacity.

        Parameters
        ----------
        y_true : labels of the true classes, (n,)
        models : posteriors of one model, or a mapping from name to posteriors
            P(second class) of two, (n,), or (n, K), or `Posteriors`
        problem : a prior that it states is that of deployment, to which posteriors are moved
        decision : the decision with the capacity
        capacities : increasing shares within [0, 1]; by default up to what some model would take
        data : frame, or mapping from column to numbers, that the costs depend on where they do
        weights, clusters : of the cases, as in `stakes.evaluate`
        level : confidence level of the intervals

        Returns
        -------
        CapacityDisplay
            The display, ready to plot.

        Examples
        --------
        >>> problem = Problem({"legit": {"approve": 0, "review": 3, "block": 25},
        ...                    "fraud": {"approve": 180, "review": 8, "block": 0}}, unit="EUR")
        >>> y, p = ["legit", "legit", "legit", "fraud"] * 25, [0.02, 0.05, 0.3, 0.9] * 25
        >>> display = CapacityDisplay.from_predictions(
        ...     y, p, problem, "review", capacities=[0, 0.25, 0.5])
        >>> display.columns()["cost"].tolist()
        [6.25, 0.75, 1.5]
        """
        column = limited_column(problem, decision)
        cases, named = read_named(y_true, models, problem, weights, clusters, data)
        ordered = {
            name: _Limited.of(cases, name, predictions, column)
            for name, predictions in named.items()
        }
        most = max((model.need for model in ordered.values()), default=0.0) or 1.0
        grid = grid_of("capacities", capacities, np.linspace(0, most, _POINTS), inside=False)
        level = _check.level(level)
        lines = [model.line(name, grid, level) for name, model in ordered.items()]
        library, note = frame_library(y_true, models), f"{len(cases.truth)} cases"
        label = problem.decisions[column]
        limit = _limit(problem, label)
        around = limits_around(lines)
        return cls._of_lines(lines, {}, around, level, library, note, label, limit, problem.unit)

    def _x_label(self) -> str:
        return f"capacity: share of cases that may get {self.decision}"

    def _y_label(self) -> str:
        return in_unit("expected cost per case", self.unit, ", ")

    def _verticals(self) -> dict[str, float]:
        return {} if np.isnan(self.limit) else {f"limit {self.limit:.3g}": self.limit}


@record(repr=False)
class CoverageDisplay(CurvesDisplay):
    """Cost per decided case over the share of cases that are decided.

    The cases with the largest expected cost are left undecided first; costs are those of the true
    classes. This is the risk-coverage curve of selective classification for any costs. A dot marks
    the best coverage where a price of an abstention is stated.

    Attributes
    ----------
    abstention : the price of an abstention; nan where none was stated
    unit : unit of the costs
    break_even : (J, P) the price of an abstention at which each coverage is the best, by model

    Examples
    --------
    The less certain half of the cases has all the errors:

    >>> y, p = [0, 0, 0, 1] * 25, [0.02, 0.05, 0.3, 0.4] * 25
    >>> display = CoverageDisplay.from_predictions(y, p, Problem.zero_one(2), coverages=[0.5, 1])
    >>> display.columns()["cost"].tolist(), display.break_even.round(2).tolist()
    ([0.0, 0.25], [[0.05, 0.4]])
    """

    abstention: float
    unit: str | None
    break_even: FloatArray

    x_column, y_column = "coverage", "cost"
    x_label = "coverage: share of cases that are decided"

    @classmethod
    def from_predictions(
        cls,
        y_true: Any,
        models: Any,
        problem: Problem,
        *,
        abstention: float | None = None,
        coverages: object = None,
        data: object = None,
        weights: object = None,
        clusters: object = None,
        level: float = 0.95,
    ) -> Self:
        """Make the display for the cost per decided case at every coverage.

        Parameters
        ----------
        y_true, models, problem, data, weights, clusters, level : as in `CapacityDisplay`
        abstention : the price of leaving a case undecided, optional
        coverages : increasing shares within (0, 1]; by default from one in ten to all cases

        Returns
        -------
        CoverageDisplay
            The display, ready to plot.

        Examples
        --------
        >>> y, p = ["good", "good", "good", "bad"] * 25, [0.02, 0.05, 0.3, 0.4] * 25
        >>> display = CoverageDisplay.from_predictions(
        ...     y, p, Problem.zero_one(["good", "bad"]), abstention=0.35, coverages=[0.5, 1])
        >>> display.columns()["cost"].tolist(), display.lines[0].mark
        ([0.0, 0.25], (0.75, 0.0))
        """
        price = float("nan") if abstention is None else _check.number("abstention", abstention)
        cases, named = read_named(y_true, models, problem, weights, clusters, data)
        grid = grid_of("coverages", coverages, np.linspace(0.1, 1, _POINTS), inside=False)
        if grid[0] <= 0:
            raise InputError(
                f"coverages must be positive, because a cost per decided case needs decided cases; "
                f"got {grid[0]:g}. Begin with a small share such as 0.05."
            )
        level = _check.level(level)
        ordered = {
            name: _Selective.of(cases, name, predictions) for name, predictions in named.items()
        }
        lines = [model.line(name, grid, level, price) for name, model in ordered.items()]
        library, note = frame_library(y_true, models), f"{len(cases.truth)} cases"
        prices = np.array([model.curve.break_even(grid) for model in ordered.values()])
        around = limits_around(lines)
        return cls._of_lines(lines, {}, around, level, library, note, price, problem.unit, prices)

    def columns(self) -> dict[str, Any]:
        """The columns of all curves, and the price at which each coverage is the best.

        Returns
        -------
        dict
            From the name of a column to its values.

        Examples
        --------
        >>> y, p = ["good", "good", "good", "bad"] * 25, [0.02, 0.05, 0.3, 0.4] * 25
        >>> problem = Problem.zero_one(["good", "bad"])
        >>> display = CoverageDisplay.from_predictions(y, p, problem, coverages=[0.5, 1])
        >>> display.columns()["break_even"].round(2)
        array([0.05, 0.4 ])
        """
        return {**super().columns(), "break_even": self.break_even.ravel()}

    def _y_label(self) -> str:
        return in_unit("cost per decided case", self.unit, ", ")


@record
class _Ordered:
    """What each case gains from a decision that has a price, by the predictions of one model.

    The decision is the one with a limited capacity, or that of leaving the case undecided.
    """

    cases: Cases
    charged: FloatArray  # (n, M) cost of each decision for every case
    gains: FloatArray  # (n,) expected saving of the decision
    instead: IntArray  # (n,) the best other decision
    column: int

    @cached_property
    def absent(self) -> IntArray:
        """The classes without cases: their positions."""
        sizes = np.bincount(self.cases.truth, minlength=self.cases.problem.n_classes)
        return np.flatnonzero(sizes == 0)

    @cached_property
    def stand_ins(self) -> FloatArray:
        """Costs (A, S, M) of each decision for cases as if they were of a class without cases."""
        size = 1 if self.cases.costs is None else self.cases.truth.size
        each = np.zeros((self.absent.size, size, self.charged.shape[1]))
        for costs, k in zip(each, self.absent, strict=True):
            of_class = costs_by_class(self.cases.charges, np.full(size, k))
            costs[:, : of_class.shape[1]] = of_class  # an abstention, which comes last, costs none
        return each

    def interval(self, price: float, share: float, level: float) -> tuple[float, float, float]:
        r"""Mean of costs including the price, and the limits of its interval.

        Which cases get the decision depends on all cases. To first order the cost at a share
        :math:`q` is still a mean over cases, :math:`E[c_i + \lambda\,t_i] - \lambda q`, of the
        cost of each case and the price of the part :math:`t_i` of it that gets the decision. Cases
        whose saving equals the price are tied, and get the remaining share in equal parts.
        """
        cases, costs, unseen = self.cases, self.charged.copy(), self.stand_ins.copy()
        costs[:, self.column] += price
        unseen[..., self.column] += price
        # The intervals need losses ≥ 0; `band` shifts them back to the costs.
        least = min(costs.min(), unseen.min(initial=np.inf))
        costs, unseen = costs - least, unseen - least
        shares = self._allotted(price, share)
        otherwise = costs[np.arange(shares.size), self.instead]
        priced = costs[:, self.column]
        tied = (shares > 0) & (shares < 1)
        sample = LossSample(
            names=("all",),
            losses=(shares * priced + (1 - shares) * otherwise)[None],
            costliest=_mixed(tied, shares, priced, costs.max(axis=1)),
            perfect=_mixed(tied, shares, priced, costs.min(axis=1)),
            truth=cases.truth,
            n_classes=cases.problem.n_classes,
            prior=cases.problem.prior,
            weights=cases.weights,
            whole=cases.whole,
            clusters=None if cases.clusters is None else cases.clusters.codes,
        )
        if self.absent.size:
            sample = replace(sample, absent=self._unseen(sample, unseen))
        low, high = support_bounds(sample.cost_support("all"), level)
        return sample.mean(sample.loss("all")), float(low), float(high)

    def _unseen(self, sample: LossSample, costs: FloatArray) -> LossSample:
        """Stand-ins for the classes without cases, with costs (A, S, M)."""
        n_absent, size, _ = costs.shape
        weights = sample.weights if self.cases.costs is not None else None
        return replace(
            sample,
            names=(),
            losses=np.empty((0, n_absent * size)),
            costliest=costs.max(axis=-1).ravel(),
            perfect=costs.min(axis=-1).ravel(),
            truth=np.repeat(self.absent, size),
            weights=None if weights is None else np.tile(weights, n_absent),
            clusters=None,
        )

    def band(
        self, costs: FloatArray, prices: FloatArray, shares: FloatArray, level: float
    ) -> tuple[FloatArray, FloatArray]:
        """The limits of the intervals of costs at which these shares get the decision."""
        points = zip(prices.tolist(), shares.tolist(), strict=True)
        value, low, high = np.array([self.interval(*point, level) for point in points]).T
        return low + (costs - value), high + (costs - value)

    def possible(self, bound: FloatArray, costs: FloatArray) -> FloatArray:
        """Bounds of intervals, clipped to the range of possible costs where that is known.

        The first-order approximation may lie outside it.
        """
        if self.cases.costs is not None:
            return bound
        known = np.append(self.cases.problem.costs, costs)
        return np.clip(bound, known.min(), known.max())

    def _allotted(self, price: float, share: float) -> FloatArray:
        """The part of each case that gets the decision, (n,): 1, 0, or between for tied cases."""
        noise, mass = _NOISE * float(np.abs(self.gains).max()), self.cases.mass
        above = self.gains > price + noise
        tied = (self.gains >= price - noise) & ~above
        room, size = share * mass.sum() - mass @ above, float(mass @ tied)
        part = min(max(room / size, 0.0), 1.0) if size > 0 else 0.0
        return np.where(tied, part, above.astype(np.float64))


@record
class _Limited:
    """The capacity curve of one model."""

    ordered: _Ordered
    curve: CapacityCurve

    @classmethod
    def of(cls, cases: Cases, name: str, predictions: Any, column: int) -> Self:
        """The cases with the posteriors of one model, moved to the prior of deployment."""
        expected, _ = _deployed(cases, name, predictions)
        charged = costs_by_class(cases.charges, cases.truth)
        curve = capacity_of(expected, charged, cases.mass, column, cases.problem.decisions[column])
        others = expected.copy()
        others[:, column] = np.inf
        gains = others.min(axis=1) - expected[:, column]
        return cls(_Ordered(cases, charged, gains, others.argmin(axis=1), column), curve)

    @property
    def need(self) -> float:
        """The share that gets the decision without a limit."""
        return float(self.curve.shares[-1]) if self.curve.shares.size else 0.0

    def line(self, name: str, grid: FloatArray, level: float) -> BandedLine:
        """The cost at each capacity, with its band."""
        costs = self.curve.cost(grid)
        shares, prices = np.minimum(grid, self.need), self.curve.price(grid)
        low, high = self.ordered.band(costs, prices, shares, level)
        low, high = (self.ordered.possible(bound, costs) for bound in (low, high))
        mark = (self.need, float(self.curve.cost(self.need))) if self.need <= grid[-1] else None
        return BandedLine(name, grid, costs, low, high, mark=mark)


@record
class _Selective:
    """The coverage curve of one model, which leaves the hardest cases undecided."""

    ordered: _Ordered
    curve: CoverageCurve

    @classmethod
    def of(cls, cases: Cases, name: str, predictions: Any) -> Self:
        """The cases with one more decision, to abstain, which costs nothing."""
        expected, best = _deployed(cases, name, predictions)
        every = np.arange(len(expected))
        hardness = expected[every, best]
        charged = costs_by_class(cases.charges, cases.truth)
        curve = coverage_of(hardness, charged[every, best], cases.mass)
        with_abstention = np.column_stack([charged, np.zeros(len(charged))])
        return cls(_Ordered(cases, with_abstention, hardness, best, charged.shape[1]), curve)

    def line(self, name: str, grid: FloatArray, level: float, price: float) -> BandedLine:
        """The cost per decided case at each coverage, with its band."""
        costs = self.curve.cost(grid)
        shown = costs / grid
        bounds = self.ordered.band(costs, self.curve.break_even(grid), 1 - grid, level)
        low, high = (self.ordered.possible(bound / grid, shown) for bound in bounds)
        noise = _NOISE * float(np.abs(self.ordered.gains).max())
        decided = self.curve.shares[self.curve.break_even_prices <= price + noise]
        share = float(decided[-1]) if decided.size else 0.0
        inside = grid[0] <= share <= grid[-1]
        mark = (share, float(self.curve.selective_cost(share))) if inside else None
        return BandedLine(name, grid, shown, low, high, mark=mark)


def _mixed(
    tied: BoolArray, shares: FloatArray, priced: FloatArray, other: FloatArray
) -> FloatArray:
    return np.where(tied, shares * priced + (1 - shares) * other, other)


def _limit(problem: Problem, decision: Label) -> float:
    """The lowest bound on the share of the decision; nan where there is none."""
    limits = [
        limit for limit in problem.limits if limit.given is None and limit.decision == decision
    ]
    return min(
        (limit.at_most for limit in limits if limit.at_most is not None), default=float("nan")
    )


def _deployed(cases: Cases, name: str, predictions: Any) -> tuple[FloatArray, IntArray]:
    """Expected cost of each decision for every case once deployed, (n, M), and the cheapest one."""
    argument, classes = f"models[{name!r}]", cases.problem.classes
    rows = only_posteriors(argument, predictions, cases, "by which cases are ordered")
    rounding = cases.rows(predictions.rounding(argument, classes))
    refuse_lost(cases.shares, cases.prior, cases.problem, labelled=True)
    priors = cases.shares, cases.prior
    with _check.renamed(posteriors=argument):
        deployed = deployed_cases(rows, rounding, *priors, cases.mass, cases.charges, cases.truth)
    return mean_costs(deployed.rows, cases.charges), deployed.decide(cases.charges)
