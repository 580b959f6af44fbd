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

_CLIP = 1e-3  # probabilities are clipped here, which a figure does not show
_STEPS, _STILL = 100, 1e-8  # most steps of Newton's method, and the change that ends it
_LONGEST = 3.0  # longest step, in log-odds: keeps Newton's method from overshooting
# Least number of cases of the rarer class, and the quantiles of the knots.
_KNOTS = ((100, (0.05, 0.35, 0.65, 0.95)), (40, (0.1, 0.5, 0.9)), (0, (0.1, 0.9)))


def smooth_line(
    cases: Cases, positive: IntArray, scores: FloatArray, at: FloatArray, level: float
) -> PointwiseMean:
    """Smooth share of positives at scores (P,), with pointwise intervals.

    It is nan where a class is absent and where all scores are equal.

    Parameters
    ----------
    cases : the cases, with weights and clusters
    positive : (n,) 1 for each positive case, 0 for others
    scores : (n,) probabilities of the cases
    at : (P,) probabilities at which the line is drawn
    level : confidence level

    Returns
    -------
    PointwiseMean
        The line and the limits of its band, (P,).
    """
    from scipy.special import expit

    weights = np.ones(scores.size) if cases.weights is None else cases.weights
    if not cases.whole:
        weights = weights / weights.mean()  # Firth's penalty must not depend on their scale
    x = _log_odds(scores)
    counts = np.bincount(positive, minlength=2)
    if not counts.all() or x.min() == x.max():
        undefined = np.full(at.shape, np.nan)
        return PointwiseMean(undefined, undefined, undefined)
    knots = _knots(x, positive, next(q for least, q in _KNOTS if counts.min() >= least))
    at_cases, at_points = (
        np.vstack([np.ones_like(z), _spline(z, knots)]) for z in (x, _log_odds(at))
    )
    slopes = _firth(at_cases, positive, weights)
    owner, degrees = _owners(cases)
    residual = positive - expit(slopes @ at_cases)
    variance = coefficient_variances(at_cases, residual, weights, at_points, owner=owner)
    error = np.sqrt(profile_threshold(level, np.asarray(degrees)) * np.maximum(variance, 0.0))
    middle = slopes @ at_points
    return PointwiseMean(expit(middle), expit(middle - error), expit(middle + error))


def _firth(design: FloatArray, positive: IntArray, weights: FloatArray) -> FloatArray:
    """Coefficients of Firth's logistic regression, by Newton's method with bounded steps."""
    from scipy.special import expit

    slopes = np.zeros(len(design))
    for _ in range(_STEPS):
        chance = expit(slopes @ design)
        spread = weights * chance * (1 - chance)
        # The pseudo-inverse also serves features that are collinear in this sample.
        inverse = np.linalg.pinv((design * spread) @ design.T)
        leverage = spread * np.sum(design * (inverse @ design), axis=0)
        # The gradient of Firth's penalised likelihood: each case adds half its leverage to both
        # classes, so that coefficients stay finite where a score separates them.
        gradient = design @ (weights * (positive - chance) + leverage * (0.5 - chance))
        step = inverse @ gradient
        size = np.abs(step @ design).max()
        slopes = slopes + step * min(1.0, _LONGEST / max(size, 1e-300))
        if size < _STILL:
            break
    return slopes


def _knots(x: FloatArray, positive: IntArray, shares: tuple[float, ...]) -> FloatArray:
    """Knots: the mean of the quantiles of both classes.

    Quantiles of all cases could lie where a rare class has no cases to fit a bend.
    """
    both = [np.quantile(x[positive == k], shares) for k in (0, 1)]
    return np.unique(np.mean(both, axis=0))


def _log_odds(scores: FloatArray) -> FloatArray:
    from scipy.special import logit

    return np.asarray(logit(np.clip(scores, _CLIP, 1 - _CLIP)))


def _spline(x: FloatArray, knots: FloatArray) -> FloatArray:
    """Features (d, n): x and, with three knots or more, restricted cubic splines, linear beyond."""
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
    """The sampling unit of each case, None if cases are, and the degrees of freedom."""
    if cases.clusters is not None:
        return cases.clusters.codes, len(cases.clusters.labels) - 1.0
    return (None if cases.whole else np.arange(len(cases.truth))), np.inf
