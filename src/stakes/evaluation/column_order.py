"""Posteriors whose columns are in another order than the classes of the problem."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import exp, log, sqrt
from typing import NamedTuple

import numpy as np

from stakes._check import BoolArray, FloatArray, IntArray
from stakes.evaluation.cases import Cases

FLOOR = 1e-6  # a smaller probability counts as this one, so that single cases do not decide
_TINY = -700.0  # logarithm of probabilities that doubles can hold, with room
_FEWEST = 10  # cases of a class, or clusters that hold it, below which its column is not doubted
_RISK = 1e-3  # of doubting posteriors that are in order, over all orders together
_MATERIAL = 0.05  # gain in log loss of the classes whose columns change places; 5 % in probability
_BLOCK = 1 << 16  # rows at a time, so that the memory needed does not grow with the rows


class ColumnOrder(NamedTuple):
    """An order of columns that fits the classes clearly better than the one that was assumed.

    Examples
    --------
    >>> ColumnOrder((1, 0, 2), 2.3, 0.4).moved.tolist()
    [True, True, False]
    """

    columns: tuple[int, ...]  # the column that fits each class
    as_given: float  # log loss, averaged over the classes whose columns change places
    reordered: float  # the same in this order

    @property
    def moved(self) -> BoolArray:
        """Which classes have another column in this order, (K,)."""
        return np.not_equal(self.columns, np.arange(len(self.columns)))


# The variance of the sum of the mean gains of the classes that move, from the column of each class,
# its mean gain and what a case weighs in it, (K,) each.
VarianceOf = Callable[[IntArray, FloatArray, FloatArray], float]


def better_order(rows: FloatArray, cases: Cases) -> ColumnOrder | None:
    r"""The order of the columns of posteriors that fits clearly better; None where none does.

    .. math:: \max_\sigma \sum_k \mathrm{E}[\log p_{\sigma(k)} \mid k]

    Classes count alike, whatever their shares: another prior multiplies each column by a constant,
    and the sum over all columns is the same in any order. So posteriors that hold for other shares
    are not doubted, only those that mistake one class for another. The gain is clear where it
    exceeds what chance may give, by its standard error between cases, or between clusters.

    Parameters
    ----------
    rows : posteriors, (n, K)
    cases : the cases

    Returns
    -------
    the order; None where no other is clearly better

    Examples
    --------
    >>> from stakes import Problem
    >>> from stakes.evaluation import read_cases
    >>> truth = np.arange(90) % 3
    >>> rows = np.eye(3)[(truth + 1) % 3] * 0.7 + 0.1
    >>> cases = read_cases(truth, Problem.zero_one(3), None, None, None)
    >>> better_order(rows, cases).columns
    (1, 2, 0)
    """
    total = cases.masses.sum(axis=0)

    def variance(columns: IntArray, means: FloatArray, shares: FloatArray) -> float:
        truth, off = cases.truth, np.empty(len(rows))
        for part in _blocks(rows):
            logs, each = log_of(rows[part]), np.arange(len(rows[part]))
            gains = logs[each, columns[truth[part]]] - logs[each, truth[part]]
            off[part] = (gains - means[truth[part]]) * shares[truth[part]]
        if cases.clusters is None:
            return float(off**2 @ _squares(cases))
        off = off if cases.weights is None else off * cases.weights
        return float((np.bincount(cases.clusters.codes, off) ** 2).sum())

    squares = (cases.masses**2).sum(axis=0)
    if cases.clusters is None:
        squares = np.bincount(cases.truth, _squares(cases), total.size)
    return clear_order(_mean_logs(rows, cases), total, squares, variance)


def _blocks(rows: FloatArray) -> Iterator[slice]:
    return (slice(start, start + _BLOCK) for start in range(0, len(rows), _BLOCK))


def log_of(rows: FloatArray) -> FloatArray:
    """Logarithms of probabilities, the least of which counts as `FLOOR`."""
    return np.asarray(np.log(np.maximum(rows, FLOOR)))


def _mean_logs(rows: FloatArray, cases: Cases) -> FloatArray:
    """Mean log probability of each column in the cases of each class, (K, K); 0 without cases."""
    size = rows.shape[1]
    sums, total = np.zeros((size, size)), np.zeros(size)
    for part in _blocks(rows):
        truth, weights = cases.truth[part], None if cases.weights is None else cases.weights[part]
        total += np.bincount(truth, weights, size)
        for column, logs in zip(sums, log_of(rows[part]).T, strict=True):
            column += np.bincount(truth, logs if weights is None else logs * weights, size)
    return sums / np.where(total > 0, total, 1.0)


def _squares(cases: Cases) -> FloatArray:
    """Squared weights of cases, (n,); a copy of a row is a case of its own."""
    if cases.weights is None:
        return np.ones(cases.truth.size)
    return cases.weights if cases.whole else cases.weights**2


def clear_order(
    table: FloatArray, masses: FloatArray, squares: FloatArray, variance: VarianceOf
) -> ColumnOrder | None:
    """The order, where it gains more than chance may give in any order.

    `table` (K, K) has the mean log probability of each column (first axis) in the cases of each
    class, `masses` (K,) the weights of the classes, and `squares` (K,) the sums of squared weights
    of cases, or of clusters. Classes of few keep their columns.
    """
    from scipy.optimize import linear_sum_assignment
    from scipy.special import stdtrit

    known = masses**2 / np.where(squares > 0, squares, 1.0)  # Kish's number of cases
    enough, k = np.flatnonzero(known >= _FEWEST), np.arange(len(table))
    columns = k.copy()
    classes, assigned = linear_sum_assignment(-table[np.ix_(enough, enough)].T)
    columns[enough[classes]] = enough[assigned]
    moved = columns != k
    if not moved.any():
        return None
    shares = np.where(moved, 1 / np.where(masses > 0, masses, 1.0), 0.0)
    error = sqrt(variance(columns, table[columns, k] - table[k, k], shares))
    # At most K^m orders move m classes.
    n_moved, freedom = int(moved.sum()), float((known[moved] - 1).sum())
    doubt = log(_RISK) - n_moved * log(len(table))
    sure = -float(stdtrit(freedom, exp(doubt))) if doubt > _TINY else sqrt(-2 * doubt)
    as_given, reordered = -table[k, k][moved].mean(), -table[columns, k][moved].mean()
    if as_given - reordered <= max(sure * error / n_moved, _MATERIAL):
        return None
    return ColumnOrder(tuple(columns.tolist()), float(as_given), float(reordered))
