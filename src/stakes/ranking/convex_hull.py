"""The convex hull of the ROC curve: exact on counts, linear in the number of scores."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from stakes import _check
from stakes._arithmetic import LARGEST_WHOLE, are_whole
from stakes._check import BoolArray, FloatArray, IntArray
from stakes._value import Value, record, remembered
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
# Runs of so many scores are looked at as a whole first, where there are at least so many scores.
_RUN, _MANY = 32, 1 << 19


def scaled_weights(weights: FloatArray) -> FloatArray:
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
    return np.asarray(np.ldexp(weights, -np.frexp(most)[1]))


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
    _check.require("table", table, ScoreTable)
    _check.no_leading_axes("table", table.leading, where=f"where {what} is asked for")
    return table.weights


def slack_of(weights: FloatArray) -> Any:
    """How much one slope must exceed another to differ from it, as a factor."""
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
    _check.shapes("s 2", weights=weights)
    (n_scores, _), slack = weights.shape, slack_of(weights)
    most = float(weights.max(initial=0.0))
    whole = slack == 1 and n_scores * most <= LARGEST_WHOLE
    added = _added_whole if whole else np.add.reduceat
    if _are_far_apart(weights, most, whole=slack == 1.0):
        from fractions import Fraction  # rarely needed, and slow to import

        weights, slack = np.vectorize(Fraction, otypes=[object])(weights), Fraction(slack)
    elif not whole:
        weights = scaled_weights(weights)
    starts, blocks = _occupied(weights.T)
    if whole and blocks.shape[1] >= _MANY:
        chosen, blocks = _thinned(blocks)
        starts = chosen if starts is None else starts[chosen]
    pieces = [
        _pooled(_positions(starts, part), blocks[:, part], slack, added)
        for part in _parts(blocks.shape[1])
    ]
    starts, blocks = (np.concatenate(parts, axis=-1) for parts in zip(*pieces, strict=True))
    starts, _ = _pooled(starts, blocks, slack, added)
    # Scores without weight before the first occupied one belong to the first segment.
    return np.concatenate([[0], starts[1:], [n_scores]]).astype(np.intp)


def _parts(size: int) -> list[slice]:
    """Pieces of so many blocks; at least one, which may be empty."""
    return [slice(first, min(first + _PIECE, size)) for first in range(0, max(size, 1), _PIECE)]


def _positions(starts: IntArray | None, part: slice) -> IntArray:
    return np.arange(part.start, part.stop) if starts is None else starts[part]


def _occupied(blocks: FloatArray) -> tuple[IntArray | None, FloatArray]:
    """Blocks (2, B) that have weight, and their positions; None where all have."""
    parts = _parts(blocks.shape[1])
    if all((blocks[0, part] + blocks[1, part] > 0).all() for part in parts):
        return None, blocks
    positions = np.flatnonzero(blocks[0] + blocks[1] > 0)
    return positions, blocks[:, positions]


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


def _thinned(blocks: FloatArray) -> tuple[IntArray, FloatArray]:
    """Blocks (2, B) of whole weights, in which runs without a vertex are one block each.

    Returns the positions of the blocks that remain, and their weights. The points between runs have
    a hull of their own, which that of all points encloses. The points inside a run lie in a
    rectangle, in whose best corner all negatives of the run are below its positives. Unless this
    corner is beyond the hull of the runs, no point inside the run is a vertex.
    """
    firsts = np.arange(0, blocks.shape[1], _RUN)
    sums = np.stack([np.add.reduceat(block, firsts) for block in blocks])
    runs_open = _beyond(sums)
    inside = (firsts[runs_open, None] + np.arange(1, _RUN)).ravel()
    inside = inside[: np.searchsorted(inside, blocks.shape[1])]  # the last run may be shorter
    chosen = np.concatenate([firsts, inside])
    chosen.sort(kind="stable")  # which merges two sorted parts
    remaining = np.stack([block[chosen] for block in blocks])
    sizes, closed = np.where(runs_open, _RUN, 1), ~runs_open
    remaining[:, (np.cumsum(sizes) - sizes)[closed]] = sums[:, closed]
    return chosen, remaining


def _beyond(sums: FloatArray) -> BoolArray:
    """Whether the best corner of each run of scores, with these weights, is beyond their hull."""
    through = np.cumsum(sums, axis=1)
    if through[0, -1] * through[1, -1] > LARGEST_WHOLE:  # products might be rounded
        return np.ones(sums.shape[1], dtype=np.bool_)
    vertices, segments = _pooled(np.arange(sums.shape[1]), sums, 1.0, _added_whole)
    lengths = np.diff(vertices, append=sums.shape[1])
    first = np.repeat((through - sums)[:, vertices], lengths, axis=1)
    slope = np.repeat(segments, lengths, axis=1)
    negatives, positives = through[0] - first[0], through[1] - sums[1] - first[1]
    return np.asarray(positives * slope[0] < negatives * slope[1])


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


@record
class Hull(Value):
    """The convex hull of an ROC curve: where it has vertices, and what lies between them.

    Attributes
    ----------
    cuts : (V,) array
        Positions of the vertices among the cuts, from 0 to S; cut j gives the positive decision to
        ``scores[j:]``.
    segments : (V - 1, 2) array
        Negatives and positives between successive vertices.

    Examples
    --------
    >>> hull(ScoreTable([1, 2, 3], [[3, 0], [1, 2], [2, 1]])).segments.tolist()
    [[3.0, 0.0], [3.0, 3.0]]
    """

    cuts: IntArray
    segments: FloatArray


@remembered
def hull(table: ScoreTable) -> Hull:
    """Vertices and segments of the convex hull of the ROC curve; see `hull_cuts`.

    The best thresholds for known costs, the expected loss of optimal thresholds and isotonic
    regression all follow from it. A table keeps its hull, which is therefore found once.

    Parameters
    ----------
    table : distinct scores and the weight of each class at them, (S, 2)

    Returns
    -------
    the hull

    Examples
    --------
    >>> hull(ScoreTable([1, 2, 3, 4], [[3, 0], [1, 2], [2, 1], [0, 4]])).cuts
    array([0, 1, 3, 4])
    """
    weights = single(table, "the hull")
    cuts = hull_cuts(weights)
    segments = np.stack([np.add.reduceat(column, cuts[:-1]) for column in weights.T], axis=1)
    return Hull._trusted(cuts=cuts, segments=segments)
