"""Cases as they will come in deployment, cost against capacity, and counts of one batch."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from math import ceil, floor
from typing import Any

import numpy as np
import numpy.typing as npt

from stakes import _check
from stakes._arithmetic import places_among, ratio
from stakes._check import (
    BoolArray,
    FloatArray,
    IntArray,
    Label,
    Labels,
    Numbers,
    known_places,
    shapes,
)
from stakes._value import Value, record
from stakes.curve import Curve
from stakes.decide import cheapest_decisions, class_ratios, costs_of_cases, mean_costs, shift_prior
from stakes.errors import InputError
from stakes.problem import CaseCosts, Limit, Problem, listed_limits
from stakes.rows import Posteriors

# -------------------------------------------------------------------------------------------------
# Cases as they will come in deployment: posteriors, weights, costs, and what limits count.

# Of a share: above the rounding errors of sums over a million cases, below a case.
SHARE_ROUNDING = 1e-10


@record
class CountedCases:
    """Expected costs of cases, and how much each case counts towards every limit.

    Attributes
    ----------
    costs : (M, n) expected costs of each decision, contiguous
    mass : (n,) the share of all cases in deployment that each stands for; sums to one
    limits : L limits
    columns : (L,) the decision of each limit
    counted : (L, n) what a case counts if it gets that decision, by its posteriors
    seen : (L, n) the same by its class, where classes are known
    """

    costs: FloatArray
    mass: FloatArray
    limits: tuple[Limit, ...]
    columns: IntArray
    counted: FloatArray
    seen: FloatArray | None = None

    @property
    def signs(self) -> FloatArray:
        """The signs of the limits, (L,): 1 for an upper bound, −1 for a lower one."""
        return np.array([limit.sign for limit in self.limits])

    @property
    def bounds(self) -> FloatArray:
        """The bounds of the limits, (L,): shares or rates."""
        return np.array([limit.bound for limit in self.limits])

    @cached_property
    def span(self) -> float:
        """The largest difference between the costs of two decisions; 1 where all are equal."""
        return float((self.costs.max(axis=0) - self.costs.min(axis=0)).max(initial=0.0)) or 1.0

    def distinct(self) -> CountedCases:
        """The cases with equal ones, by the posteriors, merged into one; without labels.

        Returns
        -------
        cases in another order

        Examples
        --------
        >>> costs = np.array([[0.1, 0.9, 0.1], [0.5, 0.5, 0.5]])  # two decisions, three cases
        >>> share, counted = np.full(3, 1 / 3), np.ones((1, 3))
        >>> limits = (Limit.share("b", at_most=0.4),)
        >>> CountedCases(costs, share, limits, np.array([1]), counted).distinct().mass.round(2)
        array([0.67, 0.33])
        """
        parts = np.vstack([self.costs, self.counted])
        # One number for each case, because sorting numbers is much faster than sorting columns.
        code = sum(np.sqrt(2 + row) * part for row, part in enumerate(parts))
        _, first, place = np.unique(code, return_index=True, return_inverse=True)
        some = parts[:, first]
        if not (some[:, place] == parts).all():  # two cases share a number by chance
            return replace(self, seen=None)
        costs, counted = np.split(some, [len(self.costs)])
        mass = np.bincount(place, self.mass).astype(np.float64, copy=False)
        return replace(self, costs=costs, counted=counted, mass=mass, seen=None)

    def values(self, decided: npt.NDArray[np.integer[Any]]) -> FloatArray:
        """Shares and rates (L,) of decisions, by the posteriors.

        Parameters
        ----------
        decided : (n,) positions of decisions

        Returns
        -------
        shares and rates, (L,)

        Examples
        --------
        >>> costs = np.array([[0.1, 0.9], [0.5, 0.5]])  # two decisions, two cases
        >>> half, counted = np.array([0.5, 0.5]), np.ones((1, 2))
        >>> limits = (Limit.share("b", at_most=0.4),)
        >>> cases = CountedCases(costs, half, limits, np.array([1]), counted)
        >>> cases.values(np.array([0, 1]))
        array([0.5])
        """
        return self._summed(self.counted, decided)

    def seen_values(self, decided: IntArray) -> FloatArray | None:
        """Shares and rates of decisions on the labelled cases.

        Parameters
        ----------
        decided : (n,) positions of decisions

        Returns
        -------
        shares and rates, (L,); None without labels

        Examples
        --------
        >>> costs = np.array([[0.1, 0.9], [0.5, 0.5]])  # two decisions, two cases
        >>> half, counted = np.array([0.5, 0.5]), np.ones((1, 2))
        >>> limits = (Limit.share("b", at_most=0.4),)
        >>> cases = CountedCases(costs, half, limits, np.array([1]), counted, seen=counted)
        >>> cases.seen_values(np.array([0, 1]))
        array([0.5])
        """
        return None if self.seen is None else self._summed(self.seen, decided)

    def _summed(self, counted: FloatArray, decided: npt.NDArray[np.integer[Any]]) -> FloatArray:
        pairs = zip(self.columns, counted, strict=True)
        return np.array([float((self.mass * weight) @ (decided == d)) for d, weight in pairs])

    def excess(self, values: FloatArray) -> FloatArray:
        """By how much values exceed each limit, (L,).

        Parameters
        ----------
        values : (L,) shares and rates

        Returns
        -------
        how far each lies on the wrong side of its bound; negative where the limit is kept

        Examples
        --------
        >>> costs = np.array([[0.1, 0.9], [0.5, 0.5]])  # two decisions, two cases
        >>> half, counted = np.array([0.5, 0.5]), np.ones((1, 2))
        >>> limits = (Limit.share("b", at_most=0.4),)
        >>> cases = CountedCases(costs, half, limits, np.array([1]), counted)
        >>> cases.excess(np.array([0.5])).round(9)
        array([0.1])
        """
        return self.signs * (values - self.bounds)

    def cost(self, decided: npt.NDArray[np.integer[Any]]) -> float:
        """Expected cost per case of decisions, by the posteriors.

        Parameters
        ----------
        decided : (n,) positions of decisions

        Returns
        -------
        the cost

        Examples
        --------
        >>> costs = np.array([[0.1, 0.9], [0.5, 0.5]])  # two decisions, two cases
        >>> half, counted = np.array([0.5, 0.5]), np.ones((1, 2))
        >>> limits = (Limit.share("b", at_most=0.4),)
        >>> cases = CountedCases(costs, half, limits, np.array([1]), counted)
        >>> cases.cost(np.array([0, 1]))
        0.3
        """
        return float(self.mass @ self.costs[decided, np.arange(decided.size)])

    def thinned(self, size: int) -> CountedCases:
        """A sample of about this many cases, without labels.

        Parameters
        ----------
        size : number of cases

        Returns
        -------
        the sample, whose masses sum to one

        Examples
        --------
        >>> costs, mass = np.tile([[0.1, 0.9], [0.5, 0.5]], 50), np.full(100, 0.01)
        >>> limits = (Limit.share("b", at_most=0.4),)
        >>> cases = CountedCases(costs, mass, limits, np.array([1]), np.ones((1, 100)))
        >>> cases.thinned(10).costs.shape
        (2, 10)
        """
        every = slice(None, None, max(1, self.mass.size // size))
        mass = self.mass[every] / self.mass[every].sum()
        return CountedCases(
            self.costs[:, every], mass, self.limits, self.columns, self.counted[:, every]
        )

    def only(self, mask: BoolArray) -> CountedCases:
        """The cases in a mask, without labels; they keep their shares of all cases.

        Parameters
        ----------
        mask : (n,) booleans

        Returns
        -------
        these cases

        Examples
        --------
        >>> costs = np.array([[0.1, 0.9], [0.5, 0.5]])  # two decisions, two cases
        >>> half, counted = np.array([0.5, 0.5]), np.ones((1, 2))
        >>> limits = (Limit.share("b", at_most=0.4),)
        >>> cases = CountedCases(costs, half, limits, np.array([1]), counted)
        >>> cases.only(np.array([True, False])).mass
        array([0.5])
        """
        return CountedCases(
            self.costs[:, mask], self.mass[mask], self.limits, self.columns, self.counted[:, mask]
        )

    def first(self, size: int) -> CountedCases:
        """The same cases under the first limits only.

        Parameters
        ----------
        size : number of limits

        Returns
        -------
        the cases under these limits

        Examples
        --------
        >>> costs = np.array([[0.1, 0.9], [0.5, 0.5]])  # two decisions, two cases
        >>> limits = Limit.share("a", at_most=0.9), Limit.share("b", at_most=0.4)
        >>> cases = CountedCases(costs, np.full(2, 0.5), limits, np.array([0, 1]), np.ones((2, 2)))
        >>> [str(limit) for limit in cases.first(1).limits]
        ['a: at most 90 % of cases']
        """
        some = slice(size)
        return replace(
            self, limits=self.limits[some], columns=self.columns[some], counted=self.counted[some]
        )

    def counting(self, place: int) -> CountedCases:
        """The same cases with what one limit counts in place of costs, under the limits before it.

        Parameters
        ----------
        place : position of the limit

        Returns
        -------
        the cases, whose least cost says whether the limit can be kept

        Examples
        --------
        >>> costs = np.array([[0.1, 0.9], [0.5, 0.5]])  # two decisions, two cases
        >>> limits = Limit.share("a", at_most=0.9), Limit.share("b", at_most=0.4)
        >>> cases = CountedCases(costs, np.full(2, 0.5), limits, np.array([0, 1]), np.ones((2, 2)))
        >>> cases.counting(1).costs
        array([[0., 0.],
               [1., 1.]])
        """
        costs = np.zeros_like(self.costs)
        costs[self.columns[place]] = self.limits[place].sign * self.counted[place]
        return replace(self.first(place), costs=costs)


def counted_cases(
    rows: FloatArray,
    mass: FloatArray,
    costs: FloatArray,
    limits: tuple[Limit, ...],
    cells: FloatArray,
    columns: IntArray,
    truth: IntArray | None = None,
) -> CountedCases:
    """Cases from posteriors (n, K) at the prior of deployment and cells (L, K, M) of the limits."""
    # Decisions are rows, because the search for prices changes one decision of all cases at a time.
    costs = np.ascontiguousarray(costs.T)
    weights = np.stack([table[:, d] for table, d in zip(cells, columns, strict=True)])  # (L, K)
    seen = None if truth is None else weights[:, truth]
    return CountedCases(costs, mass / mass.sum(), limits, columns, weights @ rows.T, seen)


@record
class DeployedCases:
    """Cases, reweighted to the prior of deployment.

    Attributes
    ----------
    rows : (n, K) posteriors for that prior
    mass : (n,) weight of each case under that prior
    prior, from_prior : (K,) that prior, and the one from which posteriors were moved, if they were
    costs : (K, M) for all cases, or the costs of every case
    truth : (n,) classes, where they are known
    posteriors : (n, K) posteriors as they came, on which a rule decides
    rounding : (n, K) bounds on the rounding errors of posteriors in single precision
    """

    rows: FloatArray
    mass: FloatArray
    prior: FloatArray
    from_prior: FloatArray | None
    costs: FloatArray | CaseCosts
    truth: IntArray | None
    posteriors: FloatArray
    rounding: FloatArray | None

    def decide(self, costs: FloatArray | CaseCosts) -> IntArray:
        """The cheapest decisions (n,), by the arithmetic of a `Rule`, which breaks ties alike."""
        start = self.from_prior
        ratios = None if start is None else class_ratios(start, self.prior)
        return cheapest_decisions(self.posteriors, costs, self.rounding, ratios)


def read_deployed(
    posteriors: object,
    problem: Problem,
    y_true: object,
    data: object,
    weights: object,
    posterior_prior: object,
) -> DeployedCases:
    """Check posteriors and move them to the prior of deployment; labels are optional."""
    _check.require("problem", problem, Problem)
    _check.aligned(posteriors=posteriors, data=data, y_true=y_true, weights=weights)
    wrapped = posteriors if isinstance(posteriors, Posteriors) else Posteriors(posteriors)
    rows = wrapped.read("posteriors", problem.classes)
    if not len(rows):
        raise InputError("posteriors must hold at least one case; there are none. Pass some rows.")
    truth = None if y_true is None else _check.codes("y_true", y_true, problem.classes)
    if truth is not None:
        _check.same_length(posteriors=rows, y_true=truth)
    checked = _check.weights("weights", weights, len(rows), of="posteriors")
    shares = _shares(rows, problem, truth, checked)
    # Without a stated prior the posteriors are taken to hold for the shares of these cases.
    start = shares
    if posterior_prior is not None:
        start = _check.prior("posterior_prior", posterior_prior, problem.classes)
        shares = start if truth is None else shares
    prior = problem.prior_or(shares)
    refuse_lost(shares, prior, problem, labelled=truth is not None)
    # A case of class k stands for prior / share cases in deployment; an unlabelled case belongs to
    # each class with its posterior probability.
    ratio = class_ratios(shares, prior)
    mass = checked * (rows @ ratio if truth is None else ratio[truth])
    costs = costs_of_cases(rows, problem, data, None)
    rounding = wrapped.rounding("posteriors", problem.classes)
    return deployed_cases(rows, rounding, start, prior, mass, costs, truth)


def deployed_cases(
    posteriors: FloatArray,
    rounding: FloatArray | None,
    from_prior: FloatArray,
    to_prior: FloatArray,
    mass: FloatArray,
    costs: FloatArray | CaseCosts,
    truth: IntArray | None,
) -> DeployedCases:
    """Cases whose posteriors are moved from the prior for which they hold to that of deployment.

    Parameters
    ----------
    posteriors, rounding, mass, costs, truth : as `DeployedCases` holds them
    from_prior, to_prior : (K,) the prior for which the posteriors hold, and that of deployment

    Returns
    -------
    the cases

    Examples
    --------
    >>> rows, mass, costs = np.array([[0.5, 0.5]]), np.ones(1), np.array([[0.0, 1.0], [1.0, 0.0]])
    >>> even, rare = np.array([0.5, 0.5]), np.array([0.9, 0.1])
    >>> deployed_cases(rows, None, even, rare, mass, costs, None).rows
    array([[0.9, 0.1]])
    """
    _check.shapes(
        "n k, k, k, n, n",
        posteriors=posteriors,
        from_prior=from_prior,
        to_prior=to_prior,
        mass=mass,
        truth=truth,
    )
    is_moved = _differ(from_prior, to_prior)
    # Cases that are known to be of a class of prior zero do not count, whatever their posteriors.
    idle = np.zeros(len(mass), dtype=bool) if truth is None else mass == 0
    return DeployedCases(
        rows=_moved(posteriors, from_prior, to_prior, idle) if is_moved else posteriors,
        mass=mass,
        prior=to_prior,
        from_prior=from_prior if is_moved else None,
        costs=costs,
        truth=truth,
        posteriors=posteriors,
        rounding=rounding,
    )


def _shares(
    rows: FloatArray, problem: Problem, truth: IntArray | None, weights: FloatArray
) -> FloatArray:
    """Class shares of the cases: by their labels, else by the mean of their posteriors."""
    if truth is None:
        return np.asarray(weights @ rows / weights.sum())
    sums = np.bincount(truth, weights, problem.n_classes)
    return np.asarray(sums / sums.sum())


def _differ(start: FloatArray, prior: FloatArray) -> bool:
    # Shares are quotients of sums. A difference in the last digits must not move the posteriors,
    # because ties would then be broken differently.
    return bool(np.abs(start - prior).max() > 1e-12)


def refuse_lost(shares: FloatArray, prior: FloatArray, problem: Problem, *, labelled: bool) -> None:
    """Refuse cases without one of a class that the prior expects.

    Parameters
    ----------
    shares, prior : (K,) class shares of the cases, and the prior of deployment
    problem : that names the classes
    labelled : whether the shares are those of labels, and not of posteriors

    Examples
    --------
    >>> refuse_lost(np.array([0.5, 0.5]), np.array([0.9, 0.1]), Problem.zero_one(2), labelled=True)
    """
    _check.shapes("k, k", shares=shares, prior=prior)
    lost = (shares == 0) & (prior > 0)
    if lost.any():
        label = problem.classes[int(np.argmax(lost))]
        raise InputError(
            f"{'y_true' if labelled else 'posteriors'} must hold cases of every class that the "
            f"prior expects; {label!r} has none, so that "
            f"its rates are unknown. Add cases of it, or set its prior to zero."
        )


def _moved(rows: FloatArray, start: FloatArray, prior: FloatArray, idle: BoolArray) -> FloatArray:
    moved = shift_prior(rows, start, prior)
    lost: BoolArray = np.asarray(np.isnan(moved).any(axis=1))
    if (lost & ~idle).any():
        raise InputError(
            "posteriors must not be certain of classes whose prior is zero; some are. Leave these "
            "cases out, or correct the prior."
        )
    return np.where(lost[:, None], rows, moved)


# Cost against capacity, and cost against coverage where a case may be left undecided -------------

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


# Decisions about one batch of cases that keep counts exactly -------------------------------------

_ROUNDING = 1e-9  # of cases: rounding error of a share times the number of cases


def read_counts(limits: object, decisions: Labels, n_cases: int) -> dict[int, tuple[int, int]]:
    """The least and the greatest number of cases for each decision that has a limit.

    Shares are turned into counts of this batch; rates within a class are refused.

    Parameters
    ----------
    limits : the limits, each a `Limit`
    decisions : labels of the decisions
    n_cases : number of cases

    Returns
    -------
    position of a decision → its least and greatest number

    Examples
    --------
    >>> from stakes.problem import Limit
    >>> read_counts([Limit.count("review", 2)], ("wait", "review"), 10)
    {1: (0, 2)}
    """
    bounds: dict[int, tuple[int, int]] = {}
    for limit in listed_limits(limits, f"Limit.count({decisions[0]!r}, 200)"):
        if limit.given is not None or limit.decision not in decisions:
            fault = "is a rate within a class, which cannot be counted before classes are known"
            raise InputError(
                f"limits of a batch must be counts or shares of the decisions {decisions}; "
                f"{str(limit)!r} {fault if limit.given is not None else 'names another decision'}. "
                f"Write Limit.count or Limit.share.",
                argument="limits",
            )
        place = decisions.index(limit.decision)
        low, high = bounds.get(place, (0, n_cases))
        limit_low, limit_high = _counted(limit, n_cases)
        bounds[place] = max(low, limit_low), min(high, limit_high)
    _refuse_impossible(bounds, decisions, n_cases)
    return bounds


def _counted(limit: Limit, n_cases: int) -> tuple[int, int]:
    size = 1 if limit.counted else n_cases
    low = 0 if limit.at_least is None else ceil(limit.at_least * size - _ROUNDING)
    high = n_cases if limit.at_most is None else floor(limit.at_most * size + _ROUNDING)
    return low, high


def _refuse_impossible(bounds: dict[int, tuple[int, int]], decisions: Labels, n_cases: int) -> None:
    """Refuse counts that this batch cannot have."""
    low = sum(bound[0] for bound in bounds.values())
    high = sum(bound[1] for bound in bounds.values())
    free = len(bounds) < len(decisions)
    crossed = [place for place, bound in bounds.items() if bound[0] > bound[1]]
    if not crossed and low <= n_cases and (free or high >= n_cases):
        return
    if low > n_cases:
        fault, gap = f"they ask for at least {low} of {n_cases} cases", low - n_cases
    elif crossed:
        least, most = bounds[crossed[0]]
        fault = f"{decisions[crossed[0]]!r} would need at least {least} and at most {most}"
        gap = least - most
    else:
        fault = f"they allow at most {high} of {n_cases} cases, and every case needs a decision"
        gap = n_cases - high
    raise InputError(
        f"limits must be counts that this batch can have; {fault}. Loosen one of them by {gap}."
    )


def keep_counts(
    costs: FloatArray, decided: IntArray, bounds: dict[int, tuple[int, int]]
) -> IntArray:
    """Decisions (n,) that keep counts at the least expected cost.

    Cases that are tied are taken in the order of the batch.

    Parameters
    ----------
    costs : expected costs, (n, M)
    decided : positions of the cheapest decisions without limits, (n,)
    bounds : position of a decision → its least and greatest number

    Returns
    -------
    positions of decisions, (n,)

    Examples
    --------
    >>> costs = np.array([[0.0, 3.0], [20.0, 5.0], [90.0, 6.0]])     # approve, review
    >>> keep_counts(costs, np.array([0, 1, 1]), {1: (0, 1)})
    array([0, 0, 1])
    """
    shapes("n M, n", costs=costs, decided=decided)
    known_places("bounds", np.array([*bounds], dtype=np.intp), costs.shape[1])
    counts = {place: int(np.count_nonzero(decided == place)) for place in bounds}
    if all(low <= counts[place] <= high for place, (low, high) in bounds.items()):
        return decided
    if len(bounds) > 1:
        return _assigned(costs, bounds)
    ((place, (low, high)),) = bounds.items()
    other_costs = costs.copy()
    other_costs[:, place] = np.inf
    instead = other_costs.argmin(axis=1)
    # With one limit the best cases are those that gain most from the decision: a sort is enough.
    gains = other_costs[np.arange(len(costs)), instead] - costs[:, place]
    wanted = min(max(counts[place], low), high)
    # Of equal gains, those that took the decision without limits come first.
    order = np.lexsort((decided != place, -gains))
    changed = np.where(decided == place, instead, decided)
    changed[order[:wanted]] = place
    return np.asarray(changed)


def _assigned(costs: FloatArray, bounds: dict[int, tuple[int, int]]) -> IntArray:
    """The cheapest assignment under several counts, by linear programming.

    This is a transport problem: at a vertex of its linear program every case has one decision.
    """
    from scipy.optimize import linprog
    from scipy.sparse import csr_array

    n, size = costs.shape
    places = np.arange(n * size)
    # The constraints are totally unimodular, so that vertices are whole decisions.
    one_each = csr_array((np.ones(n * size), (places // size, places)), shape=(n, n * size))
    rows, limits = [], []
    for place, (low, high) in bounds.items():
        in_column = (places % size == place).astype(np.float64)
        rows += [in_column, -in_column]
        limits += [high, -low]
    # An amount that a case costs under every decision would only cost precision, and so would the
    # unit of money: the tolerances of the solver are absolute.
    regrets = costs - costs.min(axis=1, keepdims=True)
    solved = linprog(
        regrets.ravel() / (regrets.max(initial=0.0) or 1.0),
        A_ub=csr_array(np.array(rows)),
        b_ub=limits,
        A_eq=one_each,
        b_eq=np.ones(n),
        method="highs-ds",
    )
    return np.asarray(solved.x.reshape(n, size).argmax(axis=1))
