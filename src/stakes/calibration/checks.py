"""Quick looks at the calibration of two-class posteriors: one number or one test each.

All take a ScoreTable of probabilities and carry its leading axes through.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtr

from stakes._check import BoolArray, FloatArray, unwrapped
from stakes._value import Value
from stakes.calibration.logarithms import largest_finite, log_odds
from stakes.calibration.logistic import fit_logistic
from stakes.decide import sigmoid
from stakes.ranking.roc import ratio
from stakes.scoring.tables import posterior_pairs, probability_scores
from stakes.tally import ScoreTable


def mean_score_gap(table: ScoreTable) -> FloatArray:
    r"""Mean score minus share of positives, :math:`\pi_0 \bar s_0 - \pi_1 (1 - \bar s_1)`, (…).

    Calibrated scores have zero: a necessary condition that costs nothing (hernandez-orallo,
    theorem 41). nan without cases.

    Examples
    --------
    >>> float(mean_score_gap(ScoreTable([0.2, 0.6], [[3, 1], [1, 3]])).round(9))
    -0.1
    """
    excess = probability_scores(table)[:, None] - np.array([0.0, 1.0])
    return ratio(np.asarray(np.sum(table.weights * excess, axis=(-2, -1))), table.n_cases)


@dataclass(frozen=True, eq=False)
class CalibrationTest(Value):
    """A statistic that is standard normal for calibrated scores, and its two-sided p-value, (…)."""

    statistic: FloatArray
    p_value: FloatArray


def spiegelhalter(table: ScoreTable) -> CalibrationTest:
    r"""Spiegelhalter's test of 1986: whether the Brier score is what the scores expect of it.

    .. math:: z = \frac{\sum_i (y_i - s_i)(1 - 2 s_i)}{\sqrt{\sum_i (1 - 2 s_i)^2 s_i (1 - s_i)}}

    Weights count cases. Where the scores expect no variation, all of them being 0, ½ or 1, the
    statistic is infinite if some 0 or 1 was wrong, else nan.

    Examples
    --------
    >>> found = spiegelhalter(ScoreTable([0.1, 0.8], [[85, 15], [22, 78]]))
    >>> float(found.statistic.round(3)), float(found.p_value.round(3))
    (1.532, 0.126)
    """
    scores = probability_scores(table)
    slant = 1 - 2 * scores
    terms = np.stack([-scores * slant, (1 - scores) * slant], axis=-1)
    total = np.asarray(np.sum(table.weights * terms, axis=(-2, -1)))
    variance = table.weights.sum(axis=-1) @ (slant**2 * scores * (1 - scores))
    with np.errstate(divide="ignore", invalid="ignore"):
        statistic = unwrapped(total / np.sqrt(variance))
    return CalibrationTest._trusted(
        statistic=statistic, p_value=unwrapped(2 * ndtr(-np.abs(statistic)))
    )


@dataclass(frozen=True, eq=False)
class CalibrationLine(Value):
    """Log-odds of the class as a line in the log-odds of the score, each of shape (…).

    Calibrated scores have slope 1 and intercept 0. A slope below 1 says that the scores are too
    sure of themselves. Not `converged`: a bounded fit, because a threshold separates the classes.
    """

    intercept: FloatArray
    slope: FloatArray
    converged: BoolArray


def calibration_line(table: ScoreTable) -> CalibrationLine:
    """Cox's calibration intercept and slope: logistic regression of the class on the log-odds.

    nan with one class only. Scores of exactly 0 and 1 are read as the largest log-odds of the
    others, and as 36.7 (53 bits, the resolution of float64) at least. So far out, a few of them
    that were wrong decide the slope for all cases: two among 200 calibrated scores take it from 1
    to about 0.2. Clip such scores first when they mean less than certainty.

    Examples
    --------
    >>> line = calibration_line(ScoreTable([0.1, 0.9], [[2, 1], [1, 2]]))
    >>> float(line.slope.round(3)), float(line.intercept.round(3) + 0)
    (0.315, 0.0)
    """
    odds = _finite_log_odds(table)
    shape = table.weights.shape[:-2]
    found = np.full((3, *shape), np.nan)
    for place in np.ndindex(shape):
        weights = table.weights[place]
        if (weights.sum(axis=0) > 0).all():
            kept = weights.sum(axis=1) > 0
            fit = fit_logistic(odds[None, kept], *weights[kept].T, size=1.0)
            found[(slice(None), *place)] = fit.intercept, fit.slopes[0], fit.converged
    return CalibrationLine._trusted(
        intercept=unwrapped(found[0]), slope=unwrapped(found[1]), converged=(found[2] == 1)[()]
    )


def calibration_in_the_large(table: ScoreTable) -> FloatArray:
    r"""What to add to all log-odds so that scores are right on average, of shape (…).

    The intercept of a logistic regression on the log-odds of the score with slope one: zero for
    calibrated scores, negative for scores that are too high. nan with one class only.

    Examples
    --------
    >>> float(calibration_in_the_large(ScoreTable([0.5], [[3, 1]])).round(4))
    -1.0986
    """
    odds = _finite_log_odds(table)
    found = np.full(table.weights.shape[:-2], np.nan)
    for place in np.ndindex(found.shape):
        weights = table.weights[place]
        if (weights.sum(axis=0) > 0).all():
            kept = weights.sum(axis=1) > 0
            found[place] = _shift(odds[kept], weights[kept])
    return unwrapped(found)


def _shift(odds: FloatArray, weights: FloatArray) -> float:
    """The root a of the mean of σ(odds + a) minus the share of positives, which rises in a."""
    share = weights.sum(axis=1) / weights.sum()
    positives, negatives = weights[:, 1].sum(), weights[:, 0].sum()
    target = positives / (positives + negatives)
    middle = float(np.log(positives) - np.log(negatives))

    def surplus(shift: float) -> float:
        return float(share @ sigmoid(odds + shift) - target)

    # Beyond these ends all chances are below, or above, the share of positives.
    low, high = middle - float(odds.max()) - 1, middle - float(odds.min()) + 1
    return float(brentq(surplus, low, high, xtol=1e-12, rtol=1e-14))


def _finite_log_odds(table: ScoreTable) -> FloatArray:
    odds = log_odds(posterior_pairs(probability_scores(table)))
    limit = largest_finite(odds)
    return np.clip(odds, -limit, limit)
