"""Cost against capacity, and cost against coverage where a case may be left undecided."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from stakes import _check
from stakes._arithmetic import places_among, ratio
from stakes._check import FloatArray, IntArray, Label, Numbers
from stakes._value import Value, record
from stakes.curve import Curve
from stakes.decide import cheapest_decisions, mean_costs
from stakes.errors import InputError
from stakes.limits.deployed_cases import read_deployed
from stakes.problem import CaseCosts, Problem

_POINTS, _SAMPLE = 20, 10_000  # coverages in a report, and cases in the sample that places them
_TIE = 1e-9  # of the cases: shares that differ by less are one


@record
class CapacityCurve(Value):
    """Cost per case against the share of cases for which there is capacity for a decision.

    Attributes
    ----------
    decision : the decision that is limited
    cost : Curve on [0, 1], cost per case where at most that share of the cases gets the decision
        Inside a group of equal cases, decisions are randomised; beyond the share that gets the
        decision without a limit, the curve is flat.
    shares : (T,) cumulative shares at which each group of equal cases ends
    prices : (T,) what one more case of that group saves, in decreasing order

    Examples
    --------
    >>> from stakes.limits import capacity_curve
    >>> from stakes.problem import Problem
    >>> problem = Problem([[0, 3], [180, 8]], decisions=["approve", "review"])
    >>> curve = capacity_curve([0.01, 0.2, 0.7], problem, "review")
    >>> curve.cost([0, 1 / 3, 1]).round(2).tolist()
    [54.6, 14.77, 4.1]
    """

    decision: Label
    cost: Curve
    shares: FloatArray
    prices: FloatArray

    def price(self, share: npt.ArrayLike) -> Numbers:
        """What one more case with the decision saves at a capacity, elementwise.

        It is 0 where there is more capacity than needed, and nan outside [0, 1].

        Parameters
        ----------
        share : share of cases that may get the decision

        Returns
        -------
        prices, elementwise

        Examples
        --------
        >>> from stakes import Problem
        >>> problem = Problem([[0, 3, 25], [180, 8, 0]])
        >>> capacity_curve([0.01, 0.1, 0.2, 0.9], problem, 1).price([0, 0.3, 0.9]).tolist()
        [16.0, 14.5, 0.0]
        """
        share = _check.reals("share", share)
        # A share that equals a border except for rounding belongs to the group that begins there.
        place = np.searchsorted(self.shares, share + 1e-12, side="right")
        return _within(share, np.append(self.prices, 0.0)[place])


@record
class CoverageCurve(Value):
    """Cost against coverage, where the hardest cases are left undecided at no cost.

    Attributes
    ----------
    cost : Curve on [0, 1], cost per case of all cases where that share of them is decided
    shares : (T,) coverages at which each group of equal cases ends, the easiest first
    break_even_prices : (T,) the expected cost of the best decision about each group

    Examples
    --------
    The last case to be decided is wrong with probability 1/2, the first with 0.05:

    >>> curve = coverage_curve([0.1, 0.5, 0.8, 0.95], Problem.zero_one(2))
    >>> curve.break_even_prices.round(3), curve.selective_cost([0.25, 1]).round(4)
    (array([0.05, 0.1 , 0.2 , 0.5 ]), array([0.05  , 0.2125]))
    """

    cost: Curve
    shares: FloatArray
    break_even_prices: FloatArray

    def selective_cost(self, coverage: npt.ArrayLike) -> Numbers:
        """Cost per decided case, elementwise; nan where none is decided.

        Parameters
        ----------
        coverage : share of cases that are decided

        Returns
        -------
        costs, elementwise

        Examples
        --------
        >>> from stakes.limits import coverage_curve
        >>> from stakes.problem import Problem
        >>> curve = coverage_curve([0.01, 0.2, 0.7], Problem.binary(false_alarm=1, miss=9))
        >>> curve.selective_cost([1 / 3, 1]).round(3).tolist()
        [0.09, 0.397]
        """
        share = _check.reals("coverage", coverage)
        return _check.unwrapped(np.where(share > 0, ratio(self.cost(share), share), np.nan))

    def break_even(self, coverage: npt.ArrayLike) -> Numbers:
        """The price of an abstention at which that coverage is the best, elementwise.

        The more an abstention costs, the fewer cases it is worth it for; above ``break_even(1)``,
        for none. It is nan outside [0, 1].

        Parameters
        ----------
        coverage : share of cases that are decided

        Returns
        -------
        prices, elementwise

        Examples
        --------
        >>> from stakes.limits import coverage_curve
        >>> from stakes.problem import Problem
        >>> curve = coverage_curve([0.01, 0.2, 0.7], Problem.binary(false_alarm=1, miss=9))
        >>> curve.break_even([0.5, 1]).round(3).tolist()
        [0.3, 0.8]
        """
        share = _check.reals("coverage", coverage)
        # Here a share that equals a border, but for rounding, belongs to the group that ends there.
        place = np.searchsorted(self.shares, share - 1e-12, side="left")
        prices = self.break_even_prices
        return _within(share, prices[np.minimum(place, prices.size - 1)])


def capacity_curve(
    posteriors: object,
    problem: Problem,
    decision: Label,
    *,
    y_true: object = None,
    data: object = None,
    weights: object = None,
    posterior_prior: object = None,
) -> CapacityCurve:
    """Least cost per case against the share of cases that may get a decision.

    The cases that save the most get it first. The slope of the curve is the price of the limit, as
    in `price_limits`. Limits of the problem are ignored.

    Parameters
    ----------
    posteriors, problem, data, weights, posterior_prior : as in `price_limits`
    decision : the decision with the capacity
    y_true : labels of the true classes, optional; costs are then those of the labelled cases, while
        the posteriors still decide which cases come first

    Returns
    -------
    CapacityCurve

    Examples
    --------
    >>> problem = Problem([[0, 3, 25], [180, 8, 0]])
    >>> curve = capacity_curve([0.01, 0.1, 0.2, 0.9], problem, 1)
    >>> curve.cost([0, 0.25, 1]).round(3).tolist()
    [10.575, 6.575, 2.95]
    """
    column = limited_column(problem, decision)
    cases = read_deployed(posteriors, problem, y_true, data, weights, posterior_prior)
    expected = mean_costs(cases.rows, cases.costs)
    charged = expected if cases.truth is None else costs_by_class(cases.costs, cases.truth)
    return capacity_of(expected, charged, cases.mass, column, decision)


def limited_column(problem: Problem, decision: object) -> int:
    """The position of a decision whose share is to be limited; there must be another decision.

    Parameters
    ----------
    problem : what is at stake: costs, prior, labels
    decision : label of the decision

    Returns
    -------
    position of the decision

    Examples
    --------
    >>> from stakes.problem import Problem
    >>> limited_column(Problem([[0, 3], [9, 1]], decisions=["wait", "review"]), "review")
    1
    """
    _check.require("problem", problem, Problem)
    is_label = isinstance(decision, str | int | np.generic)
    if not is_label or decision not in problem.decisions or problem.n_decisions < 2:
        raise InputError(
            f"decision must be one of several decisions of the problem, {problem.decisions}; got "
            f"{repr(decision) if is_label else type(decision).__name__}. Labels match by equality."
        )
    return problem.decisions.index(decision)


def capacity_of(
    expected: FloatArray, charged: FloatArray, mass: FloatArray, column: int, decision: Label
) -> CapacityCurve:
    """The capacity curve of cases that are ordered by expected costs and charged their own costs.

    Parameters
    ----------
    expected : expected cost of each decision, (n, M), which orders the cases
    charged : cost that is charged, (n, M)
    mass : weight of each case, (n,)
    column : position of the decision
    decision : label of the decision

    Returns
    -------
    the curve

    Examples
    --------
    >>> expected = np.array([[2.0, 3.0], [36.0, 4.0], [126.0, 5.0]])
    >>> curve = capacity_of(expected, expected, np.ones(3), 1, "review")
    >>> curve.prices.tolist()
    [121.0, 32.0]
    """
    # What a case gets where there is no room: its best decision other than the limited one.
    _check.shapes("n M, n M, n", expected=expected, charged=charged, mass=mass)
    other_costs = expected.copy()
    other_costs[:, column] = np.inf
    instead = other_costs.argmin(axis=1)
    every = np.arange(len(expected))
    gains = expected[every, instead] - expected[every, column]
    saved = charged[every, instead] - charged[every, column]
    mass = mass / mass.sum()
    shares, prices, sums = _grouped(gains, mass, mass * saved)
    # Cases for which the decision saves nothing never get it: beyond the others the curve is flat.
    taken = prices > 0
    x = np.concatenate([[0.0], shares[taken], [1.0]])
    least = float(mass @ charged[every, instead]) - np.concatenate([[0.0], np.cumsum(sums[taken])])
    return CapacityCurve._trusted(
        decision=decision,
        cost=Curve.through(np.minimum(x, 1.0), np.append(least, least[-1])),
        shares=np.minimum(shares[taken], 1.0),
        prices=prices[taken],
    )


def coverage_curve(
    posteriors: object,
    problem: Problem,
    *,
    y_true: object = None,
    data: object = None,
    weights: object = None,
    posterior_prior: object = None,
) -> CoverageCurve:
    """Cost against the share of cases that are decided, the hardest being left undecided.

    The hardness of a case is the expected cost of its best decision (Chow's rule). If an abstention
    costs v, as in ``problem.with_abstention(v)``, cases of hardness above v are left undecided.

    Parameters
    ----------
    posteriors, problem, data, weights, posterior_prior : as in `price_limits`
    y_true : labels of the true classes, optional; costs are then those of the labelled cases

    Returns
    -------
    CoverageCurve

    Examples
    --------
    >>> curve = coverage_curve([0.1, 0.5, 0.8, 0.95], Problem.zero_one(2))
    >>> curve.cost([0.5, 1]).round(4).tolist(), curve.selective_cost(0.5).round(3).tolist()
    ([0.0375, 0.2125], 0.075)
    >>> curve.break_even([0.5, 1]).round(3).tolist()
    [0.1, 0.5]
    """
    cases = read_deployed(posteriors, problem, y_true, data, weights, posterior_prior)
    expected = mean_costs(cases.rows, cases.costs)
    best = cheapest_decisions(cases.rows, cases.costs)
    every = np.arange(len(expected))
    hardness = expected[every, best]
    charged = hardness
    if cases.truth is not None:
        charged = costs_by_class(cases.costs, cases.truth)[every, best]
    return coverage_of(hardness, charged, cases.mass)


def coverage_of(hardness: FloatArray, charged: FloatArray, mass: FloatArray) -> CoverageCurve:
    """The coverage curve of cases whose best decisions are expected to cost `hardness`.

    Parameters
    ----------
    hardness : expected cost of deciding each case, (n,)
    charged : actual cost of its decision, (n,)
    mass : weight of each case, (n,)

    Returns
    -------
    the curve

    Examples
    --------
    >>> curve = coverage_of(np.array([0.1, 0.5, 0.2]), np.array([0.0, 1.0, 0.0]), np.ones(3))
    >>> curve.break_even_prices.tolist()
    [0.1, 0.2, 0.5]
    """
    _check.shapes("n, n, n", hardness=hardness, charged=charged, mass=mass)
    mass = mass.reshape(hardness.shape) / mass.sum()
    spent = mass * charged.reshape(hardness.shape)  # which refuses other shapes
    shares, easiness, sums = _grouped(-hardness, mass, spent)
    x = np.minimum(np.concatenate([[0.0], shares]), 1.0)
    x[-1] = 1.0
    return CoverageCurve._trusted(
        cost=Curve.through(x, np.concatenate([[0.0], np.cumsum(sums)])),
        shares=x[1:],
        break_even_prices=-easiness,
    )


def coverage_points(
    hardness: FloatArray, mass: FloatArray, spent: FloatArray
) -> tuple[tuple[float, float, float], ...]:
    """A few points of the coverage curve: coverage, cost per decided case, break-even price.

    This does not sort all cases. The points are the coverages at a few prices of an abstention; the
    prices are quantiles of the hardness in a sample of the cases, so that coverages are spread
    evenly.

    Parameters
    ----------
    hardness : expected cost of deciding each case, (n,)
    mass : weight of each case, (n,)
    spent : sum of the costs of each, (n,)

    Returns
    -------
    points, from low to high coverage

    Examples
    --------
    >>> hardness, mass = np.array([0.1, 0.5]), np.array([3.0, 1.0])
    >>> coverage_points(hardness, mass, mass * hardness)
    ((0.75, 0.1, 0.1), (1.0, 0.2, 0.5))
    """
    _check.shapes("N, N, N", hardness=hardness, mass=mass, spent=spent)
    step = max(1, hardness.size // _SAMPLE)
    sample, order = hardness[::step], np.argsort(hardness[::step], kind="stable")
    reached = np.cumsum(mass[::step][order])
    shares = np.arange(1, _POINTS) / _POINTS - _TIE
    places = np.searchsorted(reached, shares * reached[-1])
    prices = np.unique(np.append(sample[order[places]], hardness.max()))
    noise = 1e-12 * float(np.abs(hardness).max())  # equal cases, but for rounding
    prices = prices[np.append(np.diff(prices) > noise, True)]
    group = places_among(prices + noise, hardness)
    decided = np.cumsum(np.bincount(group, mass, prices.size))
    costs = np.cumsum(np.bincount(group, spent, prices.size))
    known = decided > 0
    points = decided[known] / decided[-1], costs[known] / decided[known], prices[known]
    return tuple(zip(*(part.tolist() for part in points), strict=True))


def costs_by_class(costs: FloatArray | CaseCosts, truth: IntArray) -> FloatArray:
    """What each decision costs, given the true class of each case, (n, M).

    Parameters
    ----------
    costs : costs of each decision, (K, M), or of every case
    truth : position of the true class of each case, (n,)

    Returns
    -------
    costs, (n, M)

    Examples
    --------
    >>> costs_by_class(np.array([[0.0, 1.0], [9.0, 0.0]]), np.array([0, 1, 1]))
    array([[0., 1.],
           [9., 0.],
           [9., 0.]])
    """
    _check.shapes("K M, n", costs=costs, truth=truth)
    _check.known_places("truth", truth, costs.shape[0])
    if not isinstance(costs, CaseCosts):
        return np.asarray(costs[truth])
    charged = np.empty((truth.size, costs.shape[1]))
    for rows, charges in costs.of_class(truth):
        charged[rows] = charges.T
    return charged


def _within(shares: FloatArray, prices: FloatArray) -> Numbers:
    """Prices at shares within [0, 1]; nan elsewhere."""
    return _check.unwrapped(np.where((shares >= 0) & (shares <= 1), prices, np.nan))


def _grouped(
    keys: FloatArray, mass: FloatArray, amounts: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Groups of equal keys, in decreasing order: cumulative shares, keys, and sums of amounts."""
    order: IntArray = np.argsort(-keys, kind="stable")
    falling = keys[order]
    scale = float(np.abs(keys).max(initial=0.0)) or 1.0
    apart = falling[:-1] - falling[1:] > 1e-12 * scale
    starts = np.flatnonzero(np.concatenate([[True], apart]))
    shares = np.cumsum(np.add.reduceat(mass[order], starts))
    return shares, falling[starts], np.add.reduceat(amounts[order], starts)
