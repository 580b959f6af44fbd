r"""A smooth calibration curve: logistic regression on a spline of the log-odds.

The flexible calibration curve of Van Calster et al. (2016): the log-odds of the class are a
restricted cubic spline (Harrell 2015, section 2.4.5) of the log-odds of the score, with knots at
quantiles of the scores, two to four of them by the number of cases of the rarer class; two make a
straight line. The fit is Firth's (1993), which adds half the leverage of each case to either class:
where all cases of a region are of one class, the line and its interval stay finite.
Intervals are normal on the scale of log-odds (Student's with clusters).
"""

from __future__ import annotations

import numpy as np

from stakes._check import FloatArray, IntArray
from stakes.calibration import coefficient_variances
from stakes.displays.scored_cases import PointwiseMean
from stakes.evaluation import Cases
from stakes.inference import profile_threshold

_CLIP = 1e-3  # probabilities beyond are read as this: in a picture nothing lies there
_STEPS, _STILL = 100, 1e-8  # most steps, and the change of log-odds at which they end
_LONGEST = 3.0  # step, in log-odds
_KNOTS = ((100, (0.05, 0.35, 0.65, 0.95)), (40, (0.1, 0.5, 0.9)), (0, (0.1, 0.9)))


def smooth_line(
    cases: Cases, positive: IntArray, scores: FloatArray, at: FloatArray, level: float
) -> PointwiseMean:
    """Share of positives at scores (P,), with pointwise intervals.

    nan where a class is absent and where all scores are equal.

    Parameters
    ----------
    positive : (n,) 1 for each positive case
    scores, at : probabilities
    """
    from scipy.special import expit

    weights = np.ones(scores.size) if cases.weights is None else cases.weights
    if not cases.whole:
        weights = weights / weights.mean()  # leverages are shares of a case
    x = _log_odds(scores)
    counts = np.bincount(positive, minlength=2)
    if not counts.all() or x.min() == x.max():
        undefined = np.full(at.shape, np.nan)
        return PointwiseMean(undefined, undefined, undefined)
    knots = _knots(x, positive, next(q for least, q in _KNOTS if counts.min() >= least))
    here, there = (np.vstack([np.ones_like(z), _spline(z, knots)]) for z in (x, _log_odds(at)))
    slopes = _firth(here, positive, weights)
    owner, degrees = _owners(cases)
    residual = positive - expit(slopes @ here)
    variance = coefficient_variances(here, residual, weights, there, owner=owner)
    error = np.sqrt(profile_threshold(level, np.asarray(degrees)) * np.maximum(variance, 0.0))
    middle = slopes @ there
    return PointwiseMean(expit(middle), expit(middle - error), expit(middle + error))


def _firth(design: FloatArray, positive: IntArray, weights: FloatArray) -> FloatArray:
    """Intercept and slopes under Jeffreys' prior, by Newton's method with steps of bounded size."""
    from scipy.special import expit

    slopes = np.zeros(len(design))
    for _ in range(_STEPS):
        chance = expit(slopes @ design)
        spread = weights * chance * (1 - chance)
        inverse = np.linalg.pinv((design * spread) @ design.T)
        leverage = spread * np.sum(design * (inverse @ design), axis=0)
        pull = design @ (weights * (positive - chance) + leverage * (0.5 - chance))
        step = inverse @ pull
        size = np.abs(step @ design).max()
        slopes = slopes + step * min(1.0, _LONGEST / max(size, 1e-300))
        if size < _STILL:
            break
    return slopes


def _knots(x: FloatArray, positive: IntArray, shares: tuple[float, ...]) -> FloatArray:
    """Quantiles, each the mean of those of the classes: where one is absent no bend can be told."""
    both = [np.quantile(x[positive == k], shares) for k in (0, 1)]
    return np.unique(np.mean(both, axis=0))


def _log_odds(scores: FloatArray) -> FloatArray:
    inside = np.clip(scores, _CLIP, 1 - _CLIP)
    return np.asarray(np.log(inside) - np.log1p(-inside))


def _spline(x: FloatArray, knots: FloatArray) -> FloatArray:
    """Features (d, n): x itself and, with three knots or more, cubes that end in straight lines."""
    if knots.size < 3:
        return x[None]
    *first, before, last = knots
    width = (last - knots[0]) ** 2

    def cube(knot: float) -> FloatArray:
        return np.asarray(np.maximum(x - knot, 0) ** 3)

    bends = [
        cube(knot)
        - cube(before) * (last - knot) / (last - before)
        + cube(last) * (before - knot) / (last - before)
        for knot in first
    ]
    return np.stack([x, *(bend / width for bend in bends)])


def _owners(cases: Cases) -> tuple[IntArray | None, float]:
    """Who was drawn, where not cases that count as one, and the degrees of freedom."""
    if cases.clusters is not None:
        return cases.clusters.codes, len(cases.clusters.labels) - 1.0
    return (None if cases.whole else np.arange(len(cases.truth))), np.inf
