"""The ROC polyline of a score table."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stakes._arithmetic import ratio, running_sum
from stakes._check import FloatArray, unwrapped
from stakes._value import Value
from stakes.tally import ScoreTable


@dataclass(frozen=True, eq=False)
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
