"""The cheapest decision for checked posteriors, with a defined treatment of ties and rounding."""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from typing import Any

import numpy as np
import numpy.typing as npt

from stakes._check import FloatArray, IntArray
from stakes.errors import InputError
from stakes.problem import CaseCosts, Problem

BLOCK = 1 << 16  # rows at a time, so that memory stays flat
_FEW, _MORE = 1 << 12, 1 << 13  # rows whose matrix products stay in the cache
_PRODUCT = 1 << 20  # rows times costs up to which a matrix product stays on one thread
MOST_WHOLE = 2.0**53  # below this, differences of whole numbers are exact
_EPS = np.finfo(np.float64).eps
ROUNDING = 4 * _EPS  # bound on the rounding error of a posterior and of the arithmetic on it


def costs_of_cases(
    rows: FloatArray, problem: Problem, data: object, case_costs: object
) -> FloatArray | CaseCosts:
    """The costs of the problem, (K, M), or those of every case.

    Parameters
    ----------
    rows : checked posteriors, (n, K)
    problem : what is at stake: costs, prior, labels
    data : columns that the costs name, by their names
    case_costs : costs of every case, (n, K, M), in place of the problem's

    Returns
    -------
    costs, (K, M), or those of every case

    Examples
    --------
    >>> costs_of_cases(np.array([[0.9, 0.1]]), Problem([[0, 1], [9, 0]]), None, None)
    array([[0., 1.],
           [9., 0.]])
    """
    costs = problem.charged(data, case_costs)
    if costs is None:
        return problem.costs
    argument = "data" if case_costs is None else "case_costs"
    if costs.n_cases != len(rows):
        raise InputError(
            f"{argument} must describe the cases of the posteriors, of which there are "
            f"{len(rows)}; it has {costs.n_cases} rows. Pass one for every case."
        )
    return costs


def mean_costs(rows: FloatArray, costs: FloatArray | CaseCosts) -> FloatArray:
    """Expected cost of each decision, for checked posteriors (n, K).

    Parameters
    ----------
    rows : checked posteriors, (n, K)
    costs : costs of each decision, (K, M), or of every case

    Returns
    -------
    expected cost of each decision for every case, (n, M)

    Examples
    --------
    >>> mean_costs(np.array([[0.9, 0.1]]), np.array([[0.0, 1.0], [5.0, 0.0]]))
    array([[0.5, 0.9]])
    """
    if not isinstance(costs, CaseCosts):
        return np.asarray(rows @ costs)
    expected = np.empty((len(rows), costs.shape[1]))
    for block, part in costs.blocks():
        expected[block] = np.einsum("bk,kmb->bm", rows[block], part)
    return expected


def cheapest_decisions(
    rows: FloatArray,
    costs: FloatArray | CaseCosts,
    rounding: FloatArray | None = None,
    ratios: FloatArray | None = None,
) -> IntArray:
    """Position of the cheapest decision for checked posteriors (n, K).

    Expected costs are known up to rounding. The first decision wins whose lowest possible cost does
    not exceed the highest possible cost of any other.

    Parameters
    ----------
    rows : checked posteriors, (n, K)
    costs : costs of each decision, (K, M), or of every case
    rounding : (n, K) bounds on the errors of posteriors, beyond double precision; None for zero
    ratios : (K,) new prior over the one for which the posteriors hold, see `class_ratios`; None
        for 1

    Returns
    -------
    positions of decisions, (n,)

    Examples
    --------
    >>> cheapest_decisions(np.array([[0.9, 0.1], [0.2, 0.8]]), np.array([[0.0, 1.0], [5.0, 0.0]]))
    array([0, 1])
    """
    chosen = np.empty(len(rows), dtype=np.intp)
    if isinstance(costs, CaseCosts):
        for block, costs_of_block in costs.blocks():
            errors = None if rounding is None else rounding[block].T
            weighted = _reweighted(costs_of_block, ratios)
            chosen[block] = _cheapest_of_each(rows[block].T, weighted, errors)
        return chosen
    # Costs are multiplied by the ratios, because they are fewer than the posteriors; normalising
    # the posteriors would change no decision.
    costs = _reweighted(costs, ratios)
    slack, regret = tie_slack(costs), regrets(costs)
    few = min(max(_PRODUCT // costs.size, _FEW), _MORE)
    for block in blocks(len(rows), few):
        # Regrets, not costs: an amount that all decisions share would lose digits and break ties.
        expected = regret.T @ rows[block].T  # each decision is contiguous
        errors = slack if rounding is None else (slack + rounding[block] @ regret).T
        chosen[block] = _first_cheapest(expected, errors)
    return chosen


def _reweighted(costs: FloatArray, ratios: FloatArray | None) -> FloatArray:
    """Costs (K, M, …) in which each class has the weight of another prior."""
    if ratios is None:
        return costs
    # Regrets, so that a large ratio does not multiply an amount that all decisions share.
    least = costs.min(axis=1, keepdims=True)
    return np.asarray(costs - least) * ratios.reshape(-1, *(1,) * (costs.ndim - 1))


def _cheapest_of_each(rows: FloatArray, costs: FloatArray, errors: FloatArray | None) -> IntArray:
    """The cheapest decision (B,) by posteriors (K, B) and costs (K, M, B) of the same cases."""
    regret, slack = costs - costs.min(axis=1, keepdims=True), tie_slack(costs)
    expected = sum(p * column for p, column in zip(rows, regret, strict=True))
    if errors is not None:
        slack = slack + sum(p * column for p, column in zip(errors, regret, strict=True))
    return _first_cheapest(np.asarray(expected), slack)


def _first_cheapest(expected: FloatArray, slack: FloatArray) -> IntArray:
    """The first decision (B,) whose cost (M, B) is the lowest, up to its slack, (M,) or (M, B)."""
    limit = reduce(np.minimum, (cost + most for cost, most in zip(expected, slack, strict=True)))
    costlier = np.ones(expected.shape[1], dtype=np.bool_)  # whether all decisions so far cost more
    # Positions are counted in one byte for each row, which is faster, and widened at the end.
    small = np.uint8 if len(expected) < 256 else np.intp
    chosen: npt.NDArray[Any] = np.zeros(expected.shape[1], dtype=small)
    for cost, most in zip(expected, slack, strict=True):
        costlier &= cost > limit + most
        chosen += costlier
    return chosen.astype(np.intp)


def regrets(costs: FloatArray) -> FloatArray:
    """Costs (…, K, M) above those of the cheapest decision for each class.

    Parameters
    ----------
    costs : costs of each decision, (K, M), or of every case

    Returns
    -------
    costs above the cheapest decision of each class, (…, K, M)

    Examples
    --------
    >>> regrets(np.array([[1.0, 4.0], [180.0, 8.0]]))
    array([[  0.,   3.],
           [172.,   0.]])
    """
    return np.asarray(costs - costs.min(axis=-1, keepdims=True))


def tie_slack(costs: FloatArray) -> FloatArray:
    """Bound on the rounding error of the expected regret of each decision, (M, …), for (K, M, …).

    Posteriors are rounded, and so are costs: 0.1 * 3 is meant to be 0.3. Whole numbers are exact,
    so that an amount that all decisions share, even one of 1e12, changes nothing.

    Parameters
    ----------
    costs : costs of each decision, (K, M), or of every case

    Returns
    -------
    bounds on the rounding error, (M, …)

    Examples
    --------
    >>> tie_slack(np.array([[0.0, 1.0], [9.0, 0.0]])) < 1e-14
    array([ True,  True])
    """
    cheapest = costs.min(axis=1, keepdims=True)
    largest, least = (_rounded_size(table).max(axis=0) for table in (costs, cheapest))
    regret = (costs - cheapest).sum(axis=0)
    return np.asarray(ROUNDING * regret + _EPS / 2 * (largest + least))


def _rounded_size(costs: FloatArray) -> FloatArray:
    """The magnitude of costs that may have been rounded; zero for whole numbers."""
    size = np.abs(costs)
    # Whole numbers are represented exactly, and so are their differences.
    return np.where((costs == np.rint(costs)) & (size < MOST_WHOLE), 0.0, size)


def blocks(n_rows: int, size: int = BLOCK) -> Iterator[slice]:
    """Slices that divide the rows into blocks, at most `size` in each."""
    for start in range(0, n_rows, size):
        yield slice(start, start + size)
