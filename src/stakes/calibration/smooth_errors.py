r"""How far scores lie from a smooth calibration curve: ICI, E50, E90 and Emax.

The curve is Cleveland's lowess (1979) of the class on the score: local straight lines with tricube
weights over the nearest two thirds of the cases, without robustness iterations. It is what R's
``lowess(p, y, iter = 0)`` draws and what ``rms::val.prob`` takes its Eavg, E90 and Emax from;
Austin and Steyerberg (2019) name the mean ICI and the median E50. As in R, the curve is worked out
at scores that are about a hundredth of their range apart and runs straight between them.
"""

from __future__ import annotations

import numpy as np

from stakes import _check
from stakes._check import FloatArray, IntArray
from stakes.scoring import probability_scores
from stakes.tally import ScoreTable

_SPAN = 2 / 3  # share of the cases in each local fit, the default of R's lowess
_APART = 0.01  # distance of local fits, relative to the range of scores, as in R
_HALVINGS = 60  # steps of bisection: more than the 53 bits of a double
_SHARES = np.array([0.5, 0.9, 1.0])  # quantiles: E50, E90 and Emax


def smooth_calibration_errors(table: ScoreTable) -> FloatArray:
    r"""ICI, E50, E90 and Emax, of shape (…, 4): distances of scores from the smooth curve.

    Mean, median, 90 % quantile and maximum over the cases of :math:`|s - \hat c(s)|`, where
    :math:`\hat c` is `smooth_curve`. None is 0 in a sample, even for calibrated scores: the curve
    follows chance to some extent, and small samples have larger values. They are nan without cases.

    Parameters
    ----------
    table : distinct scores and the weight of each class at them, (…, S, 2)

    Returns
    -------
    ICI, E50, E90 and Emax, (…, 4)

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(2000).round(3)
    >>> table = ScoreTable.from_scores(rng.random(2000) < p**2, p)  # twice too sure
    >>> smooth_calibration_errors(table).round(2)
    array([0.16, 0.17, 0.24, 0.25])
    """
    scores = probability_scores(table)
    distances = np.empty((*table.leading, 4))
    for place in np.ndindex(table.leading):
        distances[place] = lowess_distances(scores, table.weights[place])
    return distances


def lowess_distances(scores: FloatArray, weights: FloatArray) -> FloatArray:
    """ICI, E50, E90 and Emax of increasing scores, as in `smooth_calibration_errors`.

    Only the sum of both weights of a score must be ≥ 0, so that outcomes may be any numbers.

    Parameters
    ----------
    scores : increasing scores, (S,)
    weights : weights of negatives and positives at each score, (S, 2)

    Returns
    -------
    ICI, E50, E90 and Emax, (4,)

    Examples
    --------
    >>> weights = np.array([[9.0, 1.0], [7.0, 3.0], [5.0, 5.0], [3.0, 7.0]])
    >>> lowess_distances(np.array([0.2, 0.4, 0.6, 0.8]), weights).round(2)
    array([0.1, 0.1, 0.1, 0.1])
    """
    occupied = weights.sum(axis=1) > 0
    if not occupied.any():
        return np.full(4, np.nan)
    mass = weights[occupied].sum(axis=1)
    errors = np.abs(scores[occupied] - lowess(scores[occupied], weights[occupied]))
    return np.array([errors @ mass / mass.sum(), *_quantiles(errors, mass, _SHARES)])


def smooth_curve(table: ScoreTable) -> FloatArray:
    """Share of positives at every distinct score of one table, (S,), by `lowess`.

    Parameters
    ----------
    table : distinct scores and the weight of each class at them, (S, 2)

    Returns
    -------
    share of positives at each score, (S,); nan at scores without cases

    Examples
    --------
    >>> smooth_curve(ScoreTable([0.2, 0.4, 0.6, 0.8], [[9, 1], [7, 3], [5, 5], [3, 7]])).round(2)
    array([0.1, 0.3, 0.5, 0.7])
    """
    _check.no_leading_axes("table", table.leading, remedy="Index one group.")
    scores, occupied = probability_scores(table), table.weights.sum(axis=1) > 0
    curve = np.full(scores.shape, np.nan)
    if occupied.any():
        curve[occupied] = lowess(scores[occupied], table.weights[occupied])
    return curve


def lowess(scores: FloatArray, weights: FloatArray) -> FloatArray:
    """The lowess curve at increasing scores (S,) with weights (S, 2) of negatives and positives."""
    mass = weights.sum(axis=1)
    span = scores[-1] - scores[0]
    places = _places(scores, _APART * span)
    radii = _radii(scores, mass, scores[places])
    local = [
        _local(scores - middle, mass, weights[:, 1], radius, span)
        for middle, radius in zip(scores[places], radii, strict=True)
    ]
    return np.interp(scores, scores[places], local)


def _places(scores: FloatArray, apart: float) -> IntArray:
    """Positions of the scores with local fits: each is the last within `apart` of the one before.

    The first and the last score are among them.
    """
    places, last = [0], scores.size - 1
    while places[-1] < last:
        at = int(np.searchsorted(scores, scores[places[-1]] + apart, side="right")) - 1
        places.append(max(at, places[-1] + 1))
    return np.array(places)


def _radii(scores: FloatArray, mass: FloatArray, middles: FloatArray) -> FloatArray:
    """The distance (P,) from each middle that covers the nearest `_SPAN` of the cases."""
    below = np.append(0.0, np.cumsum(mass))
    integral = np.array_equal(mass, np.floor(mass))
    n_near = min(max(2.0, np.floor(_SPAN * below[-1] + 1e-7)), below[-1])
    # R counts cases and needs two of them; fractional weights have no count.
    n_near = n_near if integral else _SPAN * below[-1]
    low, high = np.zeros(middles.shape), np.full(middles.shape, scores[-1] - scores[0])
    for _ in range(_HALVINGS):
        radius = (low + high) / 2
        left, right = _window(scores, middles, radius)
        enough = below[right] - below[left] >= n_near
        low, high = np.where(enough, low, radius), np.where(enough, radius, high)
    left, right = _window(scores, middles, high)
    return np.asarray(np.maximum(middles - scores[left], scores[right - 1] - middles))


def _window(
    scores: FloatArray, middles: FloatArray, radius: FloatArray
) -> tuple[IntArray, IntArray]:
    left = np.searchsorted(scores, middles - radius, side="left")
    return left, np.searchsorted(scores, middles + radius, side="right")


def _local(
    apart: FloatArray, mass: FloatArray, positive: FloatArray, radius: float, span: float
) -> float:
    """The value at 0 of the line fitted to the scores within the radius.

    The constants 0.001 and 0.999 are those of R's lowess.
    """
    first = np.searchsorted(apart, -radius, side="left")
    end = np.searchsorted(apart, radius, side="right")
    x, weight, hits = apart[first:end], mass[first:end], positive[first:end]
    distance = np.abs(x)
    share = np.divide(distance, radius, out=np.zeros_like(x), where=distance > 0.001 * radius)
    pull = np.where(share <= 0.999, (1 - share**3) ** 3, 0.0)
    total = pull @ weight
    centre = (pull * weight) @ x / total
    height = pull @ hits / total
    spread = (pull * weight) @ (x - centre) ** 2 / total
    if np.sqrt(spread) <= 0.001 * span:  # practically one score: no slope can be fitted
        return float(height)
    slope = (pull * hits) @ (x - centre) / total / spread
    return float(height - slope * centre)


def _quantiles(values: FloatArray, mass: FloatArray, shares: FloatArray) -> FloatArray:
    """Quantiles of cases, interpolated as in R and numpy; a weight counts as repetition."""
    order = np.argsort(values)
    value, weight = values[order], mass[order]
    end = np.cumsum(weight)
    start = end - weight
    # A value of weight w stands for w equal cases, at positions start … end − 1.
    knots = np.stack([start, np.maximum(start, end - 1)], axis=1).ravel()
    at = shares * max(float(knots[-1]), 0.0)
    return np.interp(at, knots, np.repeat(value, 2))
