"""The ROC curve of a score table, and its convex hull: exact on counts, linear in the scores."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from stakes import _check
from stakes._arithmetic import LARGEST_WHOLE, are_whole, ratio, running_sum
from stakes._check import BoolArray, FloatArray, IntArray, unwrapped
from stakes._value import Value, record
from stakes.tally import ScoreTable

# Whole weights are compared exactly. Fractional ones have rounding errors, so that collinear points
# deviate by a few units in the last place; a relative bend below this counts as none.
_STRAIGHT = 1e-13
# Products of weights that are this far apart may underflow; slow fractions take their place.
_FAR = 1e-90
# Rows are pooled in pieces that fit into the cache, and then the pieces with each other.
_PIECE = 1 << 18
# When a sweep removes a smaller share of the vertices than this, a walk in plain Python is faster.
_SWEEP = 0.1


@record
class Roc(Value):
    """Operating points in the order of increasing thresholds, from (1, 1) to (0, 0).

    Point j gives the positive decision to scores above ``thresholds[j]``.

    Attributes
    ----------
    thresholds : (T,) array
        The first is -inf: all cases get the positive decision.
    false_alarm_rate, hit_rate : (..., T) arrays
        Shares of the negative and of the positive class that get the positive decision; nan where
        that class is absent.

    Examples
    --------
    >>> roc(ScoreTable([0.2, 0.6], [[3, 1], [1, 3]])).hit_rate
    array([1.  , 0.75, 0.  ])
    """

    thresholds: FloatArray
    false_alarm_rate: FloatArray
    hit_rate: FloatArray


def scaled(weights: FloatArray) -> FloatArray:
    """Weights (..., S, 2) times a power of two for each class, so that no product overflows.

    Multiplication by a power of two is exact, and rates do not depend on how much a class weighs.
    Weights of moderate size are left as they are.
    """
    # One class at a time: numpy is slow where the last axis has two entries.
    most = np.stack(
        [weights[..., k].max(axis=-1, keepdims=True, initial=0.0) for k in (0, 1)], axis=-1
    )
    if np.all((most == 0) | ((most > 1e-60) & (most < 1e60))):
        return weights
    return unwrapped(np.ldexp(weights, -np.frexp(most)[1]))


def weights_above(weights: FloatArray) -> FloatArray:
    """Weight of each class at or above every cut: (..., S, 2) in, (..., S + 1, 2) out.

    Entry j is what gets the positive decision when ``scores[j:]`` do. The sums run from the top,
    so that the last one is exactly zero and the first one is the total.

    Parameters
    ----------
    weights : weight of each class at every score, (…, S, 2)

    Returns
    -------
    weights, (…, S + 1, 2)

    Examples
    --------
    >>> weights_above(np.array([[3.0, 0.0], [1.0, 2.0]]))
    array([[4., 2.],
           [1., 2.],
           [0., 0.]])
    """
    above = np.zeros((*weights.shape[:-2], 2, weights.shape[-2] + 1))
    # Classes first and scores last, so that running sums go through contiguous memory. The last
    # entry stays zero: nothing lies above the highest threshold.
    running_sum(np.swapaxes(weights, -1, -2)[..., ::-1], out=above[..., :-1][..., ::-1])
    return np.swapaxes(above, -1, -2)


def roc(table: ScoreTable) -> Roc:
    """Hit rate against false-alarm rate at every threshold that decides some case differently.

    Ties make diagonal segments: the points are joined by straight lines. Rates of an absent class
    are nan. Leading axes are carried; ferrer-ec, appendix C.3; hernandez-orallo, definition 16.

    Parameters
    ----------
    table : distinct scores and the weight of each class at them, (…, S, 2)

    Returns
    -------
    rates at every threshold

    Examples
    --------
    >>> from stakes.tally import ScoreTable
    >>> curve = roc(ScoreTable.from_scores([0, 1, 0, 1], [-1.5, 0.2, 0.2, 3.0]))
    >>> curve.thresholds.tolist()
    [-inf, -1.5, 0.2, 3.0]
    >>> curve.false_alarm_rate.tolist(), curve.hit_rate.tolist()
    ([1.0, 0.5, 0.0, 0.0], [1.0, 1.0, 0.5, 0.0])
    """
    above = weights_above(table.weights)
    # The totals are copied, because the division writes over them.
    rates = ratio(above, above[..., :1, :].copy(), out=above)
    return Roc._trusted(
        thresholds=table.thresholds, false_alarm_rate=rates[..., 0], hit_rate=rates[..., 1]
    )


# The convex hull ---------------------------------------------------------------------------------


def single(table: ScoreTable, what: str) -> FloatArray:
    """Weights (S, 2) of a table without leading axes; any other is refused.

    Parameters
    ----------
    table : distinct scores and the weight of each class at them, (S, 2)
    what : what needs a single table, for the message

    Returns
    -------
    weights, (S, 2)

    Examples
    --------
    >>> single(ScoreTable([0.2, 0.7], [[3, 0], [1, 2]]), "the hull")
    array([[3., 0.],
           [1., 2.]])
    """
    _check.no_leading_axes("table", table.leading, where=f"where {what} is asked for")
    return table.weights


def _slack(weights: FloatArray) -> Any:
    return 1.0 if are_whole(np.swapaxes(weights, -1, -2)) else 1.0 + _STRAIGHT


def hull_cuts(weights: FloatArray) -> IntArray:
    """Cuts that are vertices of the convex hull of the ROC curve.

    Cut j gives the positive decision to ``scores[j:]``. Between two successive cuts the cases form
    one segment of the hull, and the share of positives rises strictly from segment to segment:
    collinear points are dropped. The trivial cuts 0 and S are always included. Scores without
    weight are skipped. Slopes are compared by cross-multiplication, which is exact for whole
    weights up to 10**8 cases; for fractional weights a relative bend below 1e-13 counts as none.

    Parameters
    ----------
    weights : (S, 2) array
        Negatives and positives at each score, in increasing order of scores.

    Returns
    -------
    positions of the vertices among the cuts

    Examples
    --------
    The second score has a larger share of positives than the third, so that the two are pooled:

    >>> hull_cuts(np.array([[3.0, 0.0], [1.0, 2.0], [2.0, 1.0], [0.0, 4.0]])).tolist()
    [0, 1, 3, 4]
    """
    n_scores, slack, most = len(weights), _slack(weights), float(weights.max(initial=0.0))
    added = _added_whole if slack == 1 and n_scores * most <= LARGEST_WHOLE else np.add.reduceat
    if _are_far_apart(weights, most, whole=slack == 1.0):
        from fractions import Fraction  # rarely needed, and slow to import

        weights, slack = np.vectorize(Fraction, otypes=[object])(weights), Fraction(slack)
    else:
        weights = scaled(weights)
    parts = (slice(first, min(first + _PIECE, n_scores)) for first in range(0, n_scores, _PIECE))
    pieces = [
        _pooled(np.arange(part.start, part.stop), weights[part].T, slack, added) for part in parts
    ]
    starts, blocks = (np.concatenate(parts, axis=-1) for parts in zip(*pieces, strict=True))
    starts, _ = _pooled(starts, blocks, slack, added)
    # Scores without weight before the first occupied one belong to the first segment.
    return np.concatenate([[0], starts[1:], [n_scores]]).astype(np.intp)


def _are_far_apart(weights: FloatArray, most: float, *, whole: bool) -> bool:
    """Whether products of weights, which are `most` at most, may underflow beside the largest."""
    small = _FAR * most
    if whole and small < 1:
        return False
    return bool(np.count_nonzero(weights < small) > np.count_nonzero(weights == 0))


def _added_whole(block: FloatArray, first: IntArray) -> FloatArray:
    """Sums of the runs of whole numbers that begin at `first`: ``np.add.reduceat``, but faster.

    They are differences of running sums, which are exact for whole numbers.
    """
    last = np.append(first[1:], block.size) - 1
    sums: IntArray = np.diff(np.cumsum(block, dtype=np.int64)[last], prepend=0)
    return sums.astype(np.float64)


def _pooled(
    starts: IntArray,
    blocks: FloatArray,
    slack: Any,
    added: Callable[..., FloatArray],
) -> tuple[IntArray, FloatArray]:
    """Pool adjacent blocks (2, B) until the share of positives rises strictly.

    A point of the curve that is not above the line through its two neighbours is not a vertex of
    the hull, whatever becomes of the neighbours; so one sweep may remove all such points at once.
    """
    occupied = blocks[0] + blocks[1] > 0
    if not occupied.all():
        starts, blocks = starts[occupied], blocks[:, occupied]
    while starts.size > 1:
        negative, positive = blocks
        # Likelihood ratios are compared by cross-multiplication, which is exact for whole weights,
        # and defined where a block has no negatives.
        bend = positive[:-1] * negative[1:]
        rises = np.ones(starts.size, dtype=np.bool_)
        rises[1:] = (bend if slack == 1 else bend * slack) < negative[:-1] * positive[1:]
        vertices = np.flatnonzero(rises)
        removed = starts.size - vertices.size
        if removed == 0:
            break
        starts = starts[vertices]
        blocks = np.stack([added(block, vertices) for block in blocks])
        if removed < _SWEEP * (removed + starts.size):
            return _walked(starts, blocks, slack)
    return starts, blocks


def _walked(starts: IntArray, blocks: FloatArray, slack: Any) -> tuple[IntArray, FloatArray]:
    """Pool one block at a time: linear even where sweeps would each remove a single vertex."""
    pooled: list[tuple[int, float, float]] = []
    for start, (negative, positive) in zip(starts.tolist(), blocks.T.tolist(), strict=True):
        while pooled and not pooled[-1][2] * negative * slack < pooled[-1][1] * positive:
            start, more_negative, more_positive = pooled.pop()
            negative, positive = negative + more_negative, positive + more_positive
        pooled.append((start, negative, positive))
    columns = np.array(pooled).T
    # The array made the positions floats.
    return columns[0].astype(np.intp), columns[1:]


def roc_hull(table: ScoreTable) -> Roc:
    """Vertices of the convex hull of the ROC curve: the best thresholds for any costs.

    They run from (1, 1) to (0, 0), both always included; collinear points are dropped. A table with
    leading axes is refused, because every hull has its own vertices; hernandez-orallo, section 6.1.

    Parameters
    ----------
    table : distinct scores and the weight of each class at them, (S, 2)

    Returns
    -------
    rates at the vertices

    Examples
    --------
    >>> from stakes.tally import ScoreTable
    >>> hull = roc_hull(ScoreTable([1, 2, 3, 4], [[3, 0], [1, 2], [2, 1], [0, 4]]))
    >>> hull.thresholds.tolist()
    [-inf, 1.0, 3.0, 4.0]
    """
    cuts = hull_cuts(single(table, "the hull"))
    curve = roc(table)
    return Roc._trusted(
        thresholds=curve.thresholds[cuts],
        false_alarm_rate=curve.false_alarm_rate[cuts],
        hit_rate=curve.hit_rate[cuts],
    )


def is_convex(table: ScoreTable) -> BoolArray | np.bool_:
    """Whether the ROC curve is its own convex hull: (...,) booleans.

    True when the share of positives does not fall from one score to the next higher one
    (hernandez-orallo, definition 25). Every calibrated table is convex; not every convex one is
    calibrated. With a single class the share cannot fall, and the answer is True.

    Parameters
    ----------
    table : distinct scores and the weight of each class at them, (…, S, 2)

    Returns
    -------
    one boolean for each table, (…)

    Examples
    --------
    >>> from stakes.tally import ScoreTable
    >>> bool(is_convex(ScoreTable([1, 2, 3], [[3, 0], [1, 2], [2, 1]])))
    False
    """
    weights = table.weights
    share = ratio(weights[..., 1], weights[..., 0] + weights[..., 1])
    # A score without cases has no share of positives: it must neither raise the maximum nor fall.
    reached = np.maximum.accumulate(np.where(np.isnan(share), 0.0, share), axis=-1)
    falls: BoolArray | np.bool_ = np.any(share * _slack(weights) < reached, axis=-1)
    return ~falls
