"""The ROC curve of a score table, and the vertices of its convex hull."""

from __future__ import annotations

import numpy as np

from stakes._arithmetic import ratio, running_sum
from stakes._check import BoolArray, FloatArray
from stakes._value import Value, record
from stakes.ranking.convex_hull import hull, slack_of
from stakes.tally import ScoreTable


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
    weights = table.weights
    share = ratio(weights[..., 1], weights[..., 0] + weights[..., 1])
    # A score without cases has no share of positives: it must neither raise the maximum nor fall.
    reached = np.maximum.accumulate(np.where(np.isnan(share), 0.0, share), axis=-1)
    falls: BoolArray | np.bool_ = np.any(share * slack_of(weights) < reached, axis=-1)
    return ~falls
