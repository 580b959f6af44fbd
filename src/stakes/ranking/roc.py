"""The ROC polyline of a score table."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stakes._check import FloatArray, unwrapped
from stakes._value import Value
from stakes.tally import ScoreTable

_BLOCK = 512


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
    """

    thresholds: FloatArray
    false_alarm_rate: FloatArray
    hit_rate: FloatArray


def ratio(numerator: FloatArray, denominator: FloatArray) -> FloatArray:
    """Quotient that is nan, without a warning, where the denominator is zero."""
    shape = np.broadcast_shapes(numerator.shape, denominator.shape)
    quotient = np.full(shape, np.nan)
    np.divide(numerator, denominator, out=quotient, where=denominator != 0)
    return unwrapped(quotient)


def scaled(weights: FloatArray) -> FloatArray:
    """Weights times a power of two that brings the largest near one: exact, and products fit.

    Weights (..., S, 2) whose products neither vanish nor overflow are left as they are.
    """
    most = np.max(weights, axis=(-2, -1), keepdims=True, initial=0.0)
    if np.all((most == 0) | ((most > 1e-60) & (most < 1e60))):
        return weights
    return unwrapped(np.ldexp(weights, -np.frexp(most)[1]))


def running_sum(values: FloatArray) -> FloatArray:
    """Cumulative sum along the last axis whose error does not grow with its length.

    A plain cumulative sum of 10**7 equal fractions is off by 10**-10, always to the same side.
    Here short blocks are summed and then the blocks, over and over; counts stay exact, and the
    sums of weights that are not negative never fall.
    """
    length = values.shape[-1]
    if length <= _BLOCK:
        return np.cumsum(values, axis=-1)
    blocks = np.zeros((*values.shape[:-1], -(-length // _BLOCK), _BLOCK))
    sums = blocks.reshape(*values.shape[:-1], -1)
    sums[..., :length] = values
    np.cumsum(blocks, axis=-1, out=blocks)
    blocks[..., 1:, :] += running_sum(blocks[..., :-1, -1])[..., None]
    return np.maximum.accumulate(sums[..., :length], axis=-1)


def weights_above(weights: FloatArray) -> FloatArray:
    """Weight of each class at or above every cut: (..., S, 2) in, (..., S + 1, 2) out.

    Entry j is what gets the positive decision when ``scores[j:]`` do. The sums run from the top,
    so that the last one is exactly zero and the first one is the total.
    """
    above = np.zeros((*weights.shape[:-2], 2, weights.shape[-2] + 1))
    from_the_top = np.swapaxes(weights, -1, -2)[..., ::-1]
    above[..., :-1] = running_sum(from_the_top)[..., ::-1]
    return np.swapaxes(above, -1, -2)


def roc(table: ScoreTable) -> Roc:
    """Hit rate against false-alarm rate for every threshold that the data can tell apart.

    Ties make diagonal segments: the points are joined by straight lines. Rates of an absent class
    are nan. Leading axes are carried; ferrer-ec, appendix C.3; hernandez-orallo, definition 16.

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
    rates = ratio(above, above[..., :1, :])
    return Roc._trusted(
        thresholds=table.thresholds, false_alarm_rate=rates[..., 0], hit_rate=rates[..., 1]
    )
