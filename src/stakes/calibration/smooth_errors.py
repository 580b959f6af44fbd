r"""How far scores lie from a smooth calibration curve: ICI, E50, E90 and Emax.

The curve is Cleveland's lowess (1979) of the class on the score: local straight lines with tricube
weights over the nearest two thirds of the cases, without robustness iterations. It is what R's
``lowess(p, y, iter = 0)`` draws and what ``rms::val.prob`` takes its Eavg, E90 and Emax from;
Austin and Steyerberg (2019) name the mean ICI and the median E50. As in R, the curve is worked out
at scores that are about a hundredth of their range apart and runs straight between them.
"""

from __future__ import annotations

import numpy as np

from stakes._check import FloatArray, IntArray
from stakes.scoring import probability_scores
from stakes.tally import ScoreTable

_SPAN = 2 / 3  # of the cases have a say at each score
_APART = 0.01  # of the range of the scores
_HALVINGS = 60
_SHARES = np.array([0.5, 0.9, 1.0])  # of the cases: E50, E90 and Emax


def smooth_calibration_errors(table: ScoreTable) -> FloatArray:
    r"""ICI, E50, E90 and Emax, of shape (…, 4): distances of scores from the smooth curve.

    Mean, median, ninth decile and maximum over the cases of :math:`|s - \hat c(s)|`, the curve
    being `smooth_curve`. None is zero in a sample, of calibrated scores neither: the curve follows
    chance to some extent, and small samples show larger values. nan without cases.

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
    """The same (4,) of increasing scores (S,) with weights (S, 2) of negatives and positives.

    Only the sum of the two must be zero or more: outcomes may be any numbers.

    Parameters
    ----------
    scores : scores of the cases
    weights : weight of each case, (n,); None counts each once

    Returns
    -------
    ICI, E50, E90 and Emax, (4,)
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
    scores, occupied = probability_scores(table), table.weights.sum(axis=1) > 0
    curve = np.full(scores.shape, np.nan)
    if occupied.any():
        curve[occupied] = lowess(scores[occupied], table.weights[occupied])
    return curve


def lowess(scores: FloatArray, weights: FloatArray) -> FloatArray:
    """The curve at increasing scores (S,), each with weights (S, 2) of negatives and positives."""
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
    """The first score, then each time the last one within reach, or else the next; the last."""
    places, last = [0], scores.size - 1
    while places[-1] < last:
        at = int(np.searchsorted(scores, scores[places[-1]] + apart, side="right")) - 1
        places.append(max(at, places[-1] + 1))
    return np.array(places)


def _radii(scores: FloatArray, mass: FloatArray, middles: FloatArray) -> FloatArray:
    """Distance (P,) within which the nearest share of the cases lies of each middle."""
    below = np.append(0.0, np.cumsum(mass))
    whole = np.array_equal(mass, np.floor(mass))
    wanted = min(max(2.0, np.floor(_SPAN * below[-1] + 1e-7)), below[-1])
    wanted = wanted if whole else _SPAN * below[-1]
    low, high = np.zeros(middles.shape), np.full(middles.shape, scores[-1] - scores[0])
    for _ in range(_HALVINGS):
        radius = (low + high) / 2
        left, right = _window(scores, middles, radius)
        enough = below[right] - below[left] >= wanted
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
    """The height at zero of a straight line through what lies within the radius."""
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
    if np.sqrt(spread) <= 0.001 * span:  # as good as one score
        return float(height)
    slope = (pull * hits) @ (x - centre) / total / spread
    return float(height - slope * centre)


def _quantiles(values: FloatArray, mass: FloatArray, shares: FloatArray) -> FloatArray:
    """Quantiles of cases, interpolated between neighbours as R and numpy do; weights repeat."""
    order = np.argsort(values)
    value, weight = values[order], mass[order]
    end = np.cumsum(weight)
    start = end - weight
    knots = np.stack([start, np.maximum(start, end - 1)], axis=1).ravel()
    at = shares * max(float(knots[-1]), 0.0)
    return np.interp(at, knots, np.repeat(value, 2))
