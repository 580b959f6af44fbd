"""What depends on ranks alone: ROC, its convex hull, areas, operating points, maps of scores.

Every function reads a `ScoreTable`; scores may be any real number or infinite, because only their
order matters. Measures are nan where a class that they need is absent. They do not depend on the
class shares, except `weighted_auc`, `average_precision`, `precision_at_recall` and
`recall_at_precision`; ``table.with_prior(p)`` gives their values in deployment.

Takes tallies.
"""

from __future__ import annotations

from collections.abc import Callable
from inspect import unwrap
from typing import Any

import numpy as np

from stakes import _check
from stakes._arithmetic import LARGEST_WHOLE, are_whole, ratio, running_sum
from stakes._check import BoolArray, FloatArray, IntArray, Numbers, unwrapped
from stakes._value import Value, record, remembered
from stakes.errors import InputError
from stakes.tally import Bins, BitGrid, ScoreTable, SortedRuns

__all__ = [
    "Certified",
    "Hull",
    "Roc",
    "auc",
    "auc_of_hull",
    "average_precision",
    "certified",
    "convexified",
    "equal_error_rate",
    "evenly_spaced",
    "exact_bins",
    "gini",
    "hull",
    "hull_cuts",
    "is_convex",
    "isotonic",
    "kendall_distance",
    "kolmogorov_smirnov",
    "mann_whitney_u",
    "midpoint_spaced",
    "partial_auc",
    "precision_at_recall",
    "recall_at_precision",
    "roc",
    "roc_hull",
    "sensitivity_at_specificity",
    "single",
    "specificity_at_sensitivity",
    "standardized_partial_auc",
    "weighted_auc",
    "weights_above",
]


# The convex hull of the ROC curve: exact on counts, linear in the number of scores ---------------

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


# -------------------------------------------------------------------------------------------------
# The ROC curve of a score table: the vertices of its hull, its points, and areas below it.


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
    _check.shapes("… s 2", weights=weights)
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
    _check.require("table", table, ScoreTable)
    above = weights_above(table.weights)
    # The totals are copied, because the division writes over them.
    rates = ratio(above, above[..., :1, :].copy(), out=above)
    return Roc._trusted(
        thresholds=table.thresholds, false_alarm_rate=rates[..., 0], hit_rate=rates[..., 1]
    )


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
    _check.require("table", table, ScoreTable)
    cuts = hull(table).cuts
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
    _check.require("table", table, ScoreTable)
    weights = table.weights
    share = ratio(weights[..., 1], weights[..., 0] + weights[..., 1])
    # A score without cases has no share of positives: it must neither raise the maximum nor fall.
    reached = np.maximum.accumulate(np.where(np.isnan(share), 0.0, share), axis=-1)
    falls: BoolArray | np.bool_ = np.any(share * slack_of(weights) < reached, axis=-1)
    return ~falls


# Sums of fractional weights have rounding errors: a rate this close to its target has reached it.
_REACHED = 1e-12


def equal_error_rate(table: ScoreTable) -> Numbers:
    """Error rate at the point of the ROC curve where both classes have the same error rate.

    The points of the curve are joined by straight lines, so that this point may lie between two
    thresholds or inside a group of ties, where randomised decisions reach it. Pass
    ``convexified(table)`` for the value on the convex hull. nan where a class is absent. Shape
    (...,); ferrer-ec, appendix C.3.

    Parameters
    ----------
    table : distinct scores and the weight of each class at them, (…, S, 2)

    Returns
    -------
    error rate, (…)

    Examples
    --------
    >>> from stakes.tally import ScoreTable
    >>> float(equal_error_rate(ScoreTable.from_scores([0, 1, 0, 1], [-1.5, 0.2, 0.2, 3.0])))
    0.25
    """
    _check.require("table", table, ScoreTable)
    above = weights_above(scaled_weights(table.weights))
    alarms, hits = above[..., 0], above[..., 1]
    # Miss rate minus false-alarm rate, times the number of pairs: on counts this is exact.
    excess = (hits[..., :1] - hits) * alarms[..., :1] - alarms * hits[..., :1]
    # The excess rises with the threshold, from below zero to above it if both classes have cases.
    # Without cases of a class it is zero throughout; the ratio below is 0 / 0, and the rate nan.
    after = np.maximum(np.argmax(excess >= 0, axis=-1, keepdims=True), 1)
    low, high = (np.take_along_axis(excess, cut, axis=-1) for cut in (after - 1, after))
    start, end = (np.take_along_axis(alarms, cut, axis=-1) for cut in (after - 1, after))
    crossing = start + ratio(-low, high - low) * (end - start)
    return unwrapped(ratio(crossing, alarms[..., :1])[..., 0])


def kolmogorov_smirnov(table: ScoreTable) -> Numbers:
    r"""Largest distance between the score distributions of the two classes.

    .. math:: \max_t |F_0(t) - F_1(t)| = \max_t |\mathrm{hit\ rate} - \mathrm{false\ alarm\ rate}|

    It is two-sided: reversed scores have the same distance. Higher is better. nan where a class is
    absent. Shape (...,).

    Parameters
    ----------
    table : distinct scores and the weight of each class at them, (…, S, 2)

    Returns
    -------
    distance, (…), between 0 and 1

    Examples
    --------
    >>> from stakes.tally import ScoreTable
    >>> float(kolmogorov_smirnov(ScoreTable.from_scores([0, 1, 0, 1], [-1.5, 0.2, 0.2, 3.0])))
    0.5
    """
    curve = roc(table)
    return unwrapped(np.max(np.abs(curve.hit_rate - curve.false_alarm_rate), axis=-1))


def sensitivity_at_specificity(table: ScoreTable, specificity: float) -> Numbers:
    """Highest hit rate among the thresholds whose specificity reaches a target.

    Only thresholds of the data are considered: interpolation would mix two thresholds, which means
    randomised decisions in deployment; to allow them, interpolate `roc`. A specificity equal to the
    target counts. nan where a class is absent. Shape (...,); ferrer-ec, section 3, mentions this
    family of metrics.

    Parameters
    ----------
    table : distinct scores and the weight of each class at them, (…, S, 2)
    specificity : the least specificity

    Returns
    -------
    hit rate, (…)

    Examples
    --------
    >>> from stakes.tally import ScoreTable
    >>> table = ScoreTable.from_scores([0, 1, 0, 1], [-1.5, 0.2, 0.2, 3.0])
    >>> float(sensitivity_at_specificity(table, 0.9))
    0.5
    """
    target = _check.number("specificity", specificity, low=0, high=1)
    hit_rate, correct_rejection_rate = _rates(table)
    # Both rates are monotone in the threshold: the first that reaches the target keeps most hits.
    cut = np.argmax(correct_rejection_rate >= target - _REACHED, axis=-1, keepdims=True)
    return unwrapped(np.take_along_axis(hit_rate, cut, axis=-1)[..., 0])


def specificity_at_sensitivity(table: ScoreTable, sensitivity: float) -> Numbers:
    """Highest specificity among the thresholds whose hit rate reaches a target.

    This is `sensitivity_at_specificity` with the classes exchanged.

    Parameters
    ----------
    table : distinct scores and the weight of each class at them, (…, S, 2)
    sensitivity : the least sensitivity

    Returns
    -------
    specificity, (…)

    Examples
    --------
    >>> from stakes.tally import ScoreTable
    >>> table = ScoreTable.from_scores([0, 1, 0, 1], [-1.5, 0.2, 0.2, 3.0])
    >>> float(specificity_at_sensitivity(table, 0.9))
    0.5
    """
    target = _check.number("sensitivity", sensitivity, low=0, high=1)
    hit_rate, correct_rejection_rate = _rates(table)
    # Hit rates fall with the threshold: the last that reaches the target has fewest false alarms.
    reached = np.count_nonzero(hit_rate >= target - _REACHED, axis=-1, keepdims=True)
    return unwrapped(
        np.take_along_axis(correct_rejection_rate, np.maximum(reached - 1, 0), axis=-1)[..., 0]
    )


def precision_at_recall(table: ScoreTable, recall: float) -> Numbers:
    """Highest precision among the thresholds whose recall reaches a target.

    Only thresholds of the data are considered, as in `sensitivity_at_specificity`. It depends on
    the class shares; ``table.with_prior(p)`` gives its value in deployment. Without false alarms
    the precision is one; a threshold above all scores has none. nan without positives. Shape
    (...,).

    Parameters
    ----------
    table : distinct scores and the weight of each class at them, (…, S, 2)
    recall : the least recall

    Returns
    -------
    precision, (…)

    Examples
    --------
    >>> from stakes.tally import ScoreTable
    >>> table = ScoreTable.from_scores([0, 1, 0, 1], [-1.5, 0.2, 0.2, 3.0])
    >>> float(precision_at_recall(table, 0.9).round(3))
    0.667
    """
    target = _check.number("recall", recall, low=0, high=1)
    recalls, right = _precisions(table)
    return _highest(right, where=recalls >= target - _REACHED, known=~np.isnan(recalls[..., 0]))


def recall_at_precision(table: ScoreTable, precision: float) -> Numbers:
    """Highest recall among the thresholds whose precision reaches a target; 0 where none does.

    Only thresholds of the data are considered, as in `precision_at_recall`; a threshold above all
    scores has a recall of zero.

    Parameters
    ----------
    table : distinct scores and the weight of each class at them, (…, S, 2)
    precision : the least precision

    Returns
    -------
    recall, (…)

    Examples
    --------
    >>> from stakes.tally import ScoreTable
    >>> table = ScoreTable.from_scores([0, 1, 0, 1], [-1.5, 0.2, 0.2, 3.0])
    >>> float(recall_at_precision(table, 0.9))
    0.5
    """
    target = _check.number("precision", precision, low=0, high=1)
    recalls, right = _precisions(table)
    return _highest(recalls, where=right >= target - _REACHED, known=~np.isnan(recalls[..., 0]))


def _precisions(table: ScoreTable) -> tuple[FloatArray, FloatArray]:
    """Recall and precision at every cut.

    Recall is nan without positives, precision where no case gets the positive decision.
    """
    _check.require("table", table, ScoreTable)
    above = weights_above(table.weights)
    hits = above[..., 1]
    return ratio(hits, hits[..., :1]), ratio(hits, above.sum(axis=-1))


def _highest(values: FloatArray, *, where: BoolArray, known: BoolArray) -> Numbers:
    """The highest value of the cuts that qualify, 0 if none does; nan where it is not known."""
    best = np.max(np.nan_to_num(values), axis=-1, initial=0.0, where=where)
    return unwrapped(np.where(known, best, np.nan))


def _rates(table: ScoreTable) -> tuple[FloatArray, FloatArray]:
    """Hit rate and specificity at every cut; both nan where either class is absent."""
    _check.require("table", table, ScoreTable)
    above = weights_above(table.weights)
    totals = above[..., :1, :]
    both = np.where(np.all(totals > 0, axis=-1), 1.0, np.nan)
    # One division of whole counts: 2 / 10 is then exactly the float that a caller writes as 0.2.
    return (
        both * ratio(above[..., 1], totals[..., 1]),
        both * ratio(totals[..., 0] - above[..., 0], totals[..., 0]),
    )


_CACHED = 1 << 16  # scores that fit into the cache: pairs are counted within, then between pieces


def _ordered_pairs(weights: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The statistic U, and the weights (..., 2) of the two classes."""
    classes = np.swapaxes(weights, -1, -2)
    # Tied pairs, which count one half; the tournament counts pairs of different scores.
    won = np.einsum("...i,...i->...", classes[..., 0, :], classes[..., 1, :]) / 2
    pieces = []
    for start in range(0, classes.shape[-1], _CACHED):
        more, total = _tournament(classes[..., start : start + _CACHED])
        won = won + more
        pieces.append(total)
    more, total = _tournament(np.concatenate(pieces, axis=-1))
    return unwrapped(won + more), total[..., 0]


@remembered
def _scaled_pairs(table: ScoreTable) -> tuple[FloatArray, FloatArray]:
    """The same for weights that are scaled so that no product overflows."""
    return _ordered_pairs(scaled_weights(table.weights))


def _tournament(classes: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Pairs of a lower negative and a higher positive, and the classes' weights (..., 2, 1).

    Each score meets its neighbour, then the two become one, as in a knock-out tournament. Faster
    than a running sum, each of whose steps waits for the one before; the error does not grow with
    the number of scores either, and counts stay exact.
    """
    won = np.zeros(classes.shape[:-2])
    while half := classes.shape[-1] // 2:
        lower, upper = classes[..., : 2 * half : 2], classes[..., 1::2]
        won = won + np.einsum("...i,...i->...", lower[..., 0, :], upper[..., 1, :])
        alone = classes[..., 2 * half :]
        classes = lower + upper
        if alone.size:
            classes = np.concatenate([classes, alone], axis=-1)
    return won, classes


def _pairs(weights: FloatArray) -> Numbers:
    return unwrapped(weights[..., 0].sum(axis=-1) * weights[..., 1].sum(axis=-1))


def mann_whitney_u(table: ScoreTable) -> Numbers:
    r"""Weight of the pairs of a negative and a positive case that the scores put in order.

    .. math:: U = \sum_{i \in 0} \sum_{j \in 1} w_i w_j ([s_i < s_j] + \tfrac12 [s_i = s_j])

    This is the Wilcoxon-Mann-Whitney statistic of the positive class; zero where a class is absent.
    It is exact for whole weights up to 10**8 cases. Shape (...,); hernandez-orallo, section 7.

    Parameters
    ----------
    table : distinct scores and the weight of each class at them, (…, S, 2)

    Returns
    -------
    weight of pairs, (…)

    Examples
    --------
    >>> from stakes.tally import ScoreTable
    >>> float(mann_whitney_u(ScoreTable.from_scores([0, 1, 0, 1], [-1.5, 0.2, 0.2, 3.0])))
    3.5
    """
    _check.require("table", table, ScoreTable)
    return _ordered_pairs(table.weights)[0]


def auc(table: ScoreTable) -> Numbers:
    r"""Area under the ROC curve: the chance that a positive outscores a negative, ties counting ½.

    .. math:: \mathrm{AUC} = U / (W_0 W_1)

    nan where a class is absent. Class shares do not matter. Shape (...,); hernandez-orallo,
    definition 16; ferrer-ec, appendix C.3.

    Parameters
    ----------
    table : distinct scores and the weight of each class at them, (…, S, 2)

    Returns
    -------
    area, (…); nan where a class is absent

    Examples
    --------
    >>> from stakes.tally import ScoreTable
    >>> float(auc(ScoreTable.from_scores([0, 1, 0, 1], [-1.5, 0.2, 0.2, 3.0])))
    0.875
    """
    _check.require("table", table, ScoreTable)
    won, totals = _scaled_pairs(table)
    # Sums of fractional weights are rounded, so that all pairs may weigh more than their product.
    return unwrapped(np.minimum(ratio(won, unwrapped(totals[..., 0] * totals[..., 1])), 1.0))


def gini(table: ScoreTable) -> Numbers:
    """Gini coefficient 2 AUC − 1, also known as Somers' D: 1 perfect, 0 blind, −1 reversed.

    Higher is better. nan where a class is absent. Shape (...,); hernandez-orallo, table 4.

    Parameters
    ----------
    table : distinct scores and the weight of each class at them, (…, S, 2)

    Returns
    -------
    coefficient, (…), between −1 and 1

    Examples
    --------
    >>> from stakes.tally import ScoreTable
    >>> float(gini(ScoreTable.from_scores([0, 1, 0, 1], [-1.5, 0.2, 0.2, 3.0])))
    0.75
    """
    return 2 * auc(table) - 1


def kendall_distance(table: ScoreTable) -> Numbers:
    """Kendall's tau distance to the perfect ranking: the share of swapped pairs, 1 − AUC.

    Pairs are those of two classes; a tied pair is half swapped. nan where a class is absent.
    Shape (...,); hernandez-orallo, section 7.

    Parameters
    ----------
    table : distinct scores and the weight of each class at them, (…, S, 2)

    Returns
    -------
    share of pairs, (…)

    Examples
    --------
    >>> from stakes.tally import ScoreTable
    >>> float(kendall_distance(ScoreTable.from_scores([0, 1, 0, 1], [-1.5, 0.2, 0.2, 3.0])))
    0.125
    """
    return 1 - auc(table)


def weighted_auc(table: ScoreTable) -> Numbers:
    r"""Area under the ROC curve whose axes are as long as the classes are large.

    .. math:: \mathrm{wAUC} = \pi_0 \pi_1 \mathrm{AUC}

    The chance that two cases drawn with replacement are a negative and a positive, in this order,
    with scores in this order. The expected loss of the rate methods depends on the scores through
    it alone: it is π₀π₁ − 2 wAUC plus a constant. nan where a class is absent. Shape (...,);
    hernandez-orallo, table 4.

    Parameters
    ----------
    table : distinct scores and the weight of each class at them, (…, S, 2)

    Returns
    -------
    area, (…)

    Examples
    --------
    >>> from stakes.tally import ScoreTable
    >>> float(weighted_auc(ScoreTable.from_scores([0, 1, 0, 1], [-1.5, 0.2, 0.2, 3.0])))
    0.21875
    """
    return unwrapped(auc(table) * table.shares[..., 0] * table.shares[..., 1])


def auc_of_hull(table: ScoreTable) -> Numbers:
    """Area under the convex hull of the ROC curve (AUCH).

    Equals ``auc(isotonic(table))`` and is never below `auc`. nan where a class is absent. Shape
    (...,); hernandez-orallo, section 7.2.

    Parameters
    ----------
    table : distinct scores and the weight of each class at them, (…, S, 2)

    Returns
    -------
    area, (…), at least that of the curve itself

    Examples
    --------
    >>> from stakes.tally import ScoreTable
    >>> float(auc_of_hull(ScoreTable.from_scores([1, 0, 0, 1], [1, 2, 3, 4])))
    0.75
    """
    _check.require("table", table, ScoreTable)
    weights = scaled_weights(table.weights)
    flat = weights.reshape(-1, *weights.shape[-2:])
    # Every table has its own segments, so that a loop over the leading axes is necessary.
    areas = [_ordered_pairs(np.add.reduceat(w, hull_cuts(w)[:-1], axis=0))[0] for w in flat]
    return unwrapped(np.minimum(ratio(np.reshape(areas, weights.shape[:-2]), _pairs(weights)), 1.0))


def partial_auc(table: ScoreTable, *, max_false_alarm_rate: float) -> Numbers:
    r"""Area under the ROC curve from false-alarm rate 0 up to a limit.

    .. math:: \int_0^m \mathrm{hit\ rate}\; d(\mathrm{false\ alarm\ rate})

    The raw area, at most m: neither divided by m nor standardised. The curve is linear between its
    points, so a limit inside a tie group cuts that group in proportion. nan where a class is
    absent. Shape (...,).

    Parameters
    ----------
    table : distinct scores and the weight of each class at them, (…, S, 2)
    max_false_alarm_rate : where the area ends, in (0, 1]

    Returns
    -------
    area, (…), at most the limit

    Examples
    --------
    >>> from stakes.tally import ScoreTable
    >>> table = ScoreTable.from_scores([0, 1, 0, 1], [-1.5, 0.2, 0.2, 3.0])
    >>> float(partial_auc(table, max_false_alarm_rate=0.25))
    0.15625
    """
    _check.require("table", table, ScoreTable)
    limit = _check.number("max_false_alarm_rate", max_false_alarm_rate, low=0, high=1)
    negative, positive = table.weights[..., 0], table.weights[..., 1]
    above = weights_above(table.weights)
    inside = np.minimum(above[..., 0], limit * above[..., :1, 0])
    width = inside[..., :-1] - inside[..., 1:]
    # Ties make the ROC curve slant, so that a limit inside them cuts off a trapezoid.
    slope = np.divide(positive, negative, out=np.zeros_like(negative), where=negative > 0)
    area = np.sum(width * (above[..., 1:, 1] + width * slope / 2), axis=-1)
    return ratio(area, _pairs(table.weights))


def standardized_partial_auc(table: ScoreTable, *, max_false_alarm_rate: float) -> Numbers:
    r"""McClish's standardised partial area: ½ for blind scores, 1 for perfect ones.

    .. math:: \tfrac12 \left(1 + \frac{A - m^2/2}{m - m^2/2}\right)

    with A the raw `partial_auc` up to the limit m. nan where a class is absent and where m is 0.
    Shape (...,). McClish (1989), Analyzing a portion of the ROC curve.

    Parameters
    ----------
    table : distinct scores and the weight of each class at them, (…, S, 2)
    max_false_alarm_rate : where the area ends, in (0, 1]

    Returns
    -------
    area, (…)

    Examples
    --------
    >>> from stakes.tally import ScoreTable
    >>> table = ScoreTable.from_scores([0, 1, 0, 1], [-1.5, 0.2, 0.2, 3.0])
    >>> round(float(standardized_partial_auc(table, max_false_alarm_rate=0.25)), 4)
    0.7857
    """
    area = partial_auc(table, max_false_alarm_rate=max_false_alarm_rate)
    best = np.float64(max_false_alarm_rate)
    blind = best**2 / 2  # the area below the diagonal, where scores say nothing
    return (1 + ratio(area - blind, np.asarray(best - blind))) / 2


def average_precision(table: ScoreTable) -> Numbers:
    r"""Area under the precision-recall curve as a step function.

    .. math:: \sum_j (R_j - R_{j+1})\, P_j

    over cuts j, with R_j and P_j recall and precision when ``scores[j:]`` get the positive
    decision. Nothing is interpolated, which would be optimistic. Higher is better. It depends on
    the class shares: ``table.with_prior(p)`` gives its value in deployment. nan where the positive
    class is absent; 1 where the negative one is. Shape (...,); ferrer-ec, appendix C.3.

    Parameters
    ----------
    table : distinct scores and the weight of each class at them, (…, S, 2)

    Returns
    -------
    area, (…)

    Examples
    --------
    >>> from stakes.tally import ScoreTable
    >>> table = ScoreTable.from_scores([0, 1, 0, 1], [-1.5, 0.2, 0.2, 3.0])
    >>> round(float(average_precision(table)), 4)
    0.8333
    """
    _check.require("table", table, ScoreTable)
    positive = table.weights[..., 1]
    above = weights_above(table.weights)[..., :-1, :]
    decided = above.sum(axis=-1)
    # Where no case scores this high, precision is 0 / 0; no positive case would use it.
    terms = np.where(positive == 0, 0.0, positive * ratio(above[..., 1], decided))
    return ratio(np.sum(terms, axis=-1), positive.sum(axis=-1))


# Maps from a score table to a score table that keep the order of the cases -----------------------
#
# They turn theorems about scores into equations between tables (hernandez-orallo, table 5). Scores
# without weight are dropped; class labels are kept. A table with leading axes is refused, because
# each of its tables would need its own scores.


def evenly_spaced(table: ScoreTable) -> ScoreTable:
    r"""Replace the score of the i-th of n cases by (i − 1)/(n − 1).

    Tied cases share the mean of their positions. On evenly spaced scores the mean absolute error
    is ½ + n/(n−1)·π₀π₁(1 − 2 AUC). Fractional weights and a single case have no positions and are
    refused; hernandez-orallo, definition 31.

    Parameters
    ----------
    table : distinct scores and the weight of each class at them, (S, 2)

    Returns
    -------
    table with scores between 0 and 1

    Examples
    --------
    >>> from stakes.tally import ScoreTable
    >>> table = ScoreTable.from_scores([0, 1, 0, 1], [-1.5, 0.2, 0.2, 3.0])
    >>> evenly_spaced(table).scores.tolist()
    [0.0, 0.5, 1.0]
    """
    _, weights = _of_both_classes(table, "evenly spaced scores")
    size = weights[:, 0] + weights[:, 1]
    fractional = np.flatnonzero((weights != np.floor(weights)).any(axis=1))
    if fractional.size:
        raise InputError(
            f"table must hold whole cases to be spaced evenly; {fractional.size} of {size.size} "
            f"scores hold fractions, the first {weights[fractional[0]].tolist()} at score number "
            f"{fractional[0]}. midpoint_spaced accepts fractional weights."
        )
    n_cases = size.sum()
    if n_cases < 2:
        raise InputError(
            "table must hold at least two cases to be spaced evenly; it holds one. "
            "midpoint_spaced puts a single case at one half."
        )
    # Tied cases share the mean of the ranks that they occupy.
    before = running_sum(size) - size
    return _rescored(table, (before + (size - 1) / 2) / (n_cases - 1), weights)


def midpoint_spaced(table: ScoreTable) -> ScoreTable:
    r"""Replace the score of the i-th of n cases by (i − ½)/n, its mid-rank as a share.

    Tied cases share the mean of their positions; weights may be fractional. On such scores the mean
    absolute error is exactly ½ + π₀π₁(1 − 2 AUC); this is the finite form of hernandez-orallo,
    definition 32 and theorem 36.

    Parameters
    ----------
    table : distinct scores and the weight of each class at them, (S, 2)

    Returns
    -------
    table with scores between 0 and 1

    Examples
    --------
    >>> from stakes.tally import ScoreTable
    >>> table = ScoreTable.from_scores([0, 1, 0, 1], [-1.5, 0.2, 0.2, 3.0])
    >>> midpoint_spaced(table).scores.tolist()
    [0.125, 0.5, 0.875]
    """
    _, weights = _of_both_classes(table, "midpoint spacing")
    size = weights[:, 0] + weights[:, 1]
    middle = running_sum(size) - size / 2
    return _rescored(table, middle / size.sum(), weights)


def isotonic(table: ScoreTable) -> ScoreTable:
    r"""Replace every score by the share of positives in its segment of the ROC hull (PAV).

    This is isotonic regression of the class on the score: of all non-decreasing maps it has the
    smallest Brier score, and the smallest value of every other proper score. The result is
    perfectly calibrated, its ROC curve is the hull, and cases of one segment are tied. With a
    single class all scores become 0 or 1; hernandez-orallo, section 7.2.

    Parameters
    ----------
    table : distinct scores and the weight of each class at them, (S, 2)

    Returns
    -------
    table whose scores are calibrated on itself

    Examples
    --------
    >>> from stakes.tally import ScoreTable
    >>> calibrated = isotonic(ScoreTable.from_scores([0, 1, 0, 1], [-1.5, 0.2, 0.3, 3.0]))
    >>> calibrated.scores.tolist(), calibrated.weights.tolist()
    ([0.0, 0.5, 1.0], [[1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
    """
    _refuse_empty(table, "isotonic regression")
    segments = hull(table).segments
    # Isotonic regression is the share of positives on each segment of the hull: pooling adjacent
    # violators finds the vertices of the hull.
    return _rescored(table, segments[:, 1] / (segments[:, 0] + segments[:, 1]), segments)


def convexified(table: ScoreTable) -> ScoreTable:
    r"""Give the cases of each segment of the ROC hull their mean score (ROCCH).

    The ROC curve becomes its convex hull, while scores stay on their own scale: a score that is a
    segment by itself is untouched, and nothing is calibrated. Optimal losses do not change
    (hernandez-orallo, definition 26 and theorem 27), and ``isotonic(convexified(table))`` is
    ``isotonic(table)``. With these scores the Brier score is the calibration loss plus the
    refinement loss of hull bins. A segment that reaches from −inf to inf gets the score 0.

    Parameters
    ----------
    table : distinct scores and the weight of each class at them, (S, 2)

    Returns
    -------
    table of fewer distinct scores

    Examples
    --------
    >>> from stakes.tally import ScoreTable
    >>> convexified(ScoreTable.from_scores([0, 1, 0, 1], [-1.5, 0.2, 0.4, 3.0])).scores.round(9)
    array([-1.5,  0.3,  3. ])
    """
    scores, weights = _of_both_classes(table, "convexified scores")
    cuts = hull_cuts(weights)
    first, last = cuts[:-1], cuts[1:] - 1
    segments = np.add.reduceat(weights, first, axis=0)
    size = weights[:, 0] + weights[:, 1]
    # Shares of a segment are at most one, so that their products with large scores do not overflow.
    share = size / np.repeat(np.add.reduceat(size, first), last - first + 1)
    with np.errstate(invalid="ignore"):  # −inf + inf, in the one segment that holds both
        mean = np.add.reduceat(share * scores, first)
    mean = np.where(np.isnan(mean), 0.0, mean)
    # Rounding must not move a mean out of its segment.
    return _rescored(table, np.clip(mean, scores[first], scores[last]), segments)


def _of_both_classes(table: ScoreTable, what: str) -> tuple[FloatArray, FloatArray]:
    """Scores and weights (S, 2) of the scores that carry weight."""
    _refuse_empty(table, what)
    weights = table.weights
    occupied = weights[:, 0] + weights[:, 1] > 0
    return (
        (table.scores, weights) if occupied.all() else (table.scores[occupied], weights[occupied])
    )


def _refuse_empty(table: ScoreTable, what: str) -> None:
    """Refuse a table without cases, or one with leading axes."""
    single(table, what)
    if not table.n_cases > 0:
        raise InputError(
            f"table must hold cases where {what} is asked for; none of its {table.scores.size} "
            f"scores has a positive weight. A prior for a class without cases leaves no weight."
        )


def _rescored(table: ScoreTable, scores: FloatArray, weights: FloatArray) -> ScoreTable:
    """Table of new scores in the same order; scores that rounding made equal are merged."""
    scores = np.maximum.accumulate(scores)  # rounding must not reverse two neighbours
    first = np.flatnonzero(np.concatenate([[True], scores[1:] > scores[:-1]]))
    if first.size < scores.size:
        scores, weights = scores[first], np.add.reduceat(weights, first, axis=0)
    return table._but(scores=scores, weights=weights, groups=None)


# -------------------------------------------------------------------------------------------------
# Exact rank statistics of more scores than a table can hold, from tables of ranges of scores.
#
# Ranges of scores that do not overlap need no common table: pairs of cases from different ranges
# are ordered by their ranges, and every vertex of the hull of all scores is a vertex of the hull
# of its range. Bins that end at every vertex of every range therefore preserve the hull, and with
# it the best thresholds, Hand's H and the isotonic map. The order within bins contributes a single
# number to the AUC, which is kept as well.

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
