"""Exact rank statistics of more scores than a table can hold, from tables of ranges of scores.

Ranges of scores that do not overlap need no common table: pairs of cases from different ranges are
ordered by their ranges, and every vertex of the hull of all scores is a vertex of the hull of its
range. Bins that end at every vertex of every range therefore preserve the hull, and with it the
best thresholds, Hand's H and the isotonic map. The order within bins contributes a single number to
the AUC, which is kept as well.
"""

from __future__ import annotations

from collections.abc import Callable
from inspect import unwrap

import numpy as np

from stakes import _check
from stakes._check import FloatArray, IntArray, Numbers
from stakes._value import Value, record
from stakes.ranking.convex_hull import hull_cuts
from stakes.ranking.roc import auc, mann_whitney_u
from stakes.tally import Bins, BitGrid, ScoreTable, SortedRuns

_EACH = 1 << 10  # distinct scores that a range keeps
_MOST = 1 << 10  # distinct scores of a bin


def exact_bins(runs: SortedRuns, grid: BitGrid, borders: FloatArray) -> Bins:
    """Bins of all scores that preserve the hull and the AUC exactly.

    Bins end at edges of the grid, at borders, at vertices of the hull, and after a fixed number of
    scores. A range with few scores keeps each of them.

    Parameters
    ----------
    runs : the sorted scores of all cases
    grid : edges of bins
    borders : further scores at which bins end

    Returns
    -------
    the bins

    Examples
    --------
    >>> runs = SortedRuns()
    >>> runs.add(np.array([0, 1, 0, 1]), np.array([0.1, 0.2, 0.3, 0.4]))
    >>> bins = exact_bins(runs, BitGrid(True), np.empty(0))
    >>> float(auc(bins.ranks())) + bins.auc_shift
    0.75
    """
    parts = list(runs.mapped(lambda table: _binned(table, grid, borders)))
    low, high, mean = (np.concatenate([getattr(part, k) for part in parts]) for k in _COLUMNS)
    weights = np.concatenate([part.weights for part in parts])
    return Bins(low, high, mean, weights, sum(part.inside or 0.0 for part in parts))


_COLUMNS = ("low", "high", "mean")


def _binned(table: ScoreTable, grid: BitGrid, borders: FloatArray) -> Bins:
    """The bins of one range."""
    scores, weights = table.scores, table.weights
    starts = _starts(table, grid, borders)
    stops = np.append(starts[1:], scores.size) - 1
    bin_weights = np.stack([np.add.reduceat(column, starts) for column in weights.T], axis=1)
    mass = weights[:, 0] + weights[:, 1]
    with np.errstate(over="ignore"):  # an infinite mean is clipped to the highest score below
        means = np.add.reduceat(scores * mass, starts) / bin_weights.sum(axis=1)
    low, high = scores[starts], scores[stops]
    # Pairs of cases that the bins tie, and that the scores order: what the AUC of the bins lacks.
    inside = mann_whitney_u(table) - mann_whitney_u(ScoreTable(high, bin_weights))
    # Rounding must not move a mean out of its bin; adding 0.0 turns −0.0 into 0.0.
    return Bins(low, high, np.clip(means, low, high) + 0.0, bin_weights, float(inside))


def _starts(table: ScoreTable, grid: BitGrid, borders: FloatArray) -> IntArray:
    """Where bins begin among the distinct scores of a range."""
    scores = table.scores
    if scores.size <= _EACH:
        return np.arange(scores.size)
    starts = [
        grid.cuts(scores),
        hull_cuts(table.weights)[:-1],  # the first is zero, where the first bin begins
        np.searchsorted(scores, borders, side="right"),
        np.arange(0, scores.size, _MOST),
    ]
    positions = np.unique(np.concatenate(starts))
    return np.asarray(positions[positions < scores.size], dtype=np.intp)


@record
class Certified(Value):
    """A value computed from bins, and bounds that certainly contain that of the unbinned scores.

    Examples
    --------
    One bin holds a negative and a positive case, and does not say which of them scores higher:

    >>> bins = Bins(np.array([0.1]), np.array([0.2]), np.array([0.15]), np.array([[1.0, 1.0]]))
    >>> certified(auc, bins)
    Certified(value=0.5, low=0.0, high=1.0)
    """

    value: float
    low: float
    high: float


def certified(measure: Callable[[ScoreTable], Numbers], bins: Bins) -> Certified:
    """A measure of ranks for binned scores: its value, and bounds that are certain.

    The measure must be monotone in the ROC curve, as are `auc`, Hand's H, the least cost of any
    threshold, and expected losses of optimal thresholds. Where the order within bins is known, the
    AUC is exact.

    Parameters
    ----------
    measure : a function of a score table that depends on the order of the scores alone
    bins : `tally.Bins`

    Returns
    -------
    the value, and bounds that contain the value of the unbinned scores

    Examples
    --------
    >>> low, high, mean = np.array([0.1, 0.5]), np.array([0.2, 0.5]), np.array([0.15, 0.5])
    >>> certified(auc, Bins(low, high, mean, np.array([[1.0, 1.0], [1.0, 1.0]])))
    Certified(value=0.5, low=0.375, high=0.625)
    """
    _check.require("bins", bins, Bins, "Make them with Bins.from_frame.")
    value = float(measure(bins.ranks()))
    if unwrap(measure) is unwrap(auc) and bins.inside is not None:
        value += bins.auc_shift
        return Certified(value, value, value)
    bounds = sorted(float(measure(table)) for table in (bins.worst_case(), bins.best_case()))
    return Certified(value, *bounds)
