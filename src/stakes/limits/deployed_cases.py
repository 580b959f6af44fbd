"""Cases as they will come in deployment: posteriors, weights, costs, and what limits count."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from stakes import _check
from stakes._check import BoolArray, FloatArray, IntArray
from stakes._value import record
from stakes.decide import cheapest_decisions, class_ratios, costs_of_cases, shift_prior
from stakes.errors import InputError
from stakes.problem import CaseCosts, Limit, Problem
from stakes.rows import Posteriors

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
