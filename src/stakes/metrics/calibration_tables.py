"""The calibration of a risk model as a table: intercept and slope, in the large, smooth errors."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from stakes import _check
from stakes._check import FloatArray, IntArray, Label
from stakes.calibration import (
    calibration_in_the_large,
    calibration_line,
    coefficient_variances,
    finite_log_odds,
    lowess_distances,
    smooth_calibration_errors,
    smooth_curve,
)
from stakes.inference import Estimate, ExpandedPercentile, bootstrap, profile_threshold
from stakes.metrics.metric_rows import MetricRow, MetricTable
from stakes.tally import ScoreTable, two_classes

_SMOOTH = "ICI", "E50", "E90", "Emax"
_FEWEST = 10  # clusters: fewer do not show how much clusters differ


def calibration_table(
    y_true: object,
    y_proba: object,
    *,
    positive: Label | None = None,
    sample_weight: object = None,
    clusters: object = None,
    level: float = 0.95,
    replicates: int,
    rng: np.random.Generator,
) -> MetricTable:
    r"""Calibration as clinical papers report it, with intervals.

    - intercept and slope of the class on the log-odds of the score, `calibration_line`: Cox's
      recalibration, and "Intercept" and "Slope" of ``rms::val.prob``; 0 and 1 are calibrated;
    - calibration in the large: the intercept when the slope is held at one;
    - ICI, E50, E90 and Emax, `smooth_calibration_errors`: mean, median, ninth decile and maximum of
      the distance from a lowess curve.

    Intervals of intercept and slope are those of the logistic regression. With weights
    or clusters, the sandwich estimator replaces them where it is wider. They are nan where the
    scores separate the classes. Calibration in the large takes the sandwich estimator wherever it
    is wider: if the slope is not one, outcomes vary by more or less than the regression assumes.

    ICI, E50, E90 and Emax are positive in every sample, even for a calibrated model, and larger
    still in its resamples, so that percentile intervals would miss a true value of zero. The upper
    bound is the quantile of the bootstrap. The lower bound is zero where calibrated scores could
    have errors as large, and otherwise the reflected quantile. To learn how large these could be,
    outcomes are drawn from the scores, case by case. With clusters or weights,
    replicates resample whole clusters or cases, and for calibrated scores the residuals of each
    change their sign at random (wild bootstrap). Fewer than ten clusters do not show how much
    clusters differ: the intervals of these four are then nan, and the title says so. Where all
    scores are equal, slope and intercept are nan.

    Parameters
    ----------
    y_true : (n,) labels of the true classes
    y_proba : (n,) probabilities of the positive class
    positive : label of the positive class; may be left out for labels 0/1 and booleans
    sample_weight : (n,), optional
    clusters : (n,) labels of what was sampled as a whole, such as patients with several lesions
    level : confidence level of the intervals
    replicates, rng : for ICI, E50, E90 and Emax; a few hundred replicates for a paper

    Returns
    -------
    values with intervals, row by row

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> risk = rng.beta(1.5, 3, 400).round(2)
    >>> ill = (rng.random(400) < risk**1.5).astype(int)
    >>> calibration_table(ill, risk, replicates=40, rng=rng)
    400 cases, 78 positive
                               value  95% low    high
    intercept                 −0.755    −1.05  −0.464
    slope                       1.12    0.803    1.43
    calibration in the large  −0.795    −1.06  −0.527
    ICI                        0.123   0.0877   0.159
    E50                        0.151    0.122    0.18
    E90                         0.17   0.0414   0.299
    Emax                       0.175        0   0.425
    """
    level = _check.level(level)
    scores = _check.probabilities("y_proba", y_proba, ndim=1)
    with _check.renamed(weights="sample_weight", scores="y_proba"):
        sample_weight = _check.sampling_weights("weights", sample_weight, scores.size)
        table = ScoreTable.from_scores(y_true, scores, positive=positive, weights=sample_weight)
    cases = _read(table, y_true, scores, positive, sample_weight, clusters)
    errors = smooth_calibration_errors(table)
    with _check.renamed(tally="sample_weight"):
        low, high = _smooth_bounds(table, cases, errors, level, replicates, rng)
    rows = _lines(table, cases, level)
    rows += [
        MetricRow("model", metric, *map(float, numbers))
        for metric, *numbers in zip(_SMOOTH, errors, low, high, strict=True)
    ]
    count = f"{table.n_cases:g} cases, {table.class_weights[1]:g} positive"
    if cases.few:
        count += f"; {cases.degrees + 1:g} clusters: too few for intervals of ICI, E50, E90, Emax"
    return MetricTable(count, tuple(rows), level)


class _Cases(NamedTuple):
    """Cases of positive weight: position of the score in the table, log-odds, class, weight."""

    place: IntArray
    odds: FloatArray
    positive: IntArray
    weights: FloatArray
    owner: IntArray | None  # the cluster, or the case itself; None: cases drawn one by one
    degrees: float

    @property
    def few(self) -> bool:
        """Whether clusters are too few for the intervals of the four distances."""
        return self.degrees + 1 < _FEWEST

    def weights_by_score(
        self, table: ScoreTable, times: FloatArray, hits: FloatArray
    ) -> FloatArray:
        """Weights (S, 2) if each case counts this many times; outcomes may be fractions."""
        mass, size = self.weights * times, table.scores.size
        parts = [np.bincount(self.place, mass * part, size) for part in (1 - hits, hits)]
        return np.stack(parts, axis=-1)


def _read(
    table: ScoreTable,
    y_true: object,
    scores: FloatArray,
    positive: Label | None,
    sample_weight: object,
    clusters: object,
) -> _Cases:
    """The rows behind the table, which has checked them."""
    truth = two_classes(y_true, positive)[1]
    weights = _check.weights("sample_weight", sample_weight, scores.size)
    owner, degrees = None, np.inf
    if clusters is not None:
        groups = _check.clusters(clusters)
        _check.same_length(y_true=truth, clusters=groups.codes)
        owner, degrees = groups.codes, len(np.unique(groups.codes[weights > 0])) - 1.0
    elif table.weighted:
        owner = np.arange(scores.size)
    weighted = weights > 0
    place = np.searchsorted(table.scores, scores[weighted])
    cluster = None if owner is None else np.unique(owner[weighted], return_inverse=True)[1]
    odds = finite_log_odds(table)[place]
    return _Cases(place, odds, truth[weighted], weights[weighted], cluster, degrees)


def _lines(table: ScoreTable, cases: _Cases, level: float) -> list[MetricRow]:
    """Intercept and slope, and the intercept at slope one."""
    line, shift = calibration_line(table), float(calibration_in_the_large(table))
    level_only = np.ptp(cases.odds) == 0  # one score has a level and no slope
    pair = np.full(2, np.nan) if level_only else np.array([line.intercept, line.slope])
    ones = np.ones(cases.odds.size)
    errors = _errors(cases, np.stack([ones, cases.odds]), pair @ np.stack([ones, cases.odds]))
    errors = errors if line.converged else np.full(2, np.nan)
    error = _error_in_the_large(cases, cases.odds + shift)
    names = "intercept", "slope", "calibration in the large"
    reach = float(np.sqrt(profile_threshold(level, np.asarray(cases.degrees))))
    return [
        MetricRow("model", name, float(value), float(value - reach * se), float(value + reach * se))
        for name, value, se in zip(names, [*pair, shift], [*errors, *error], strict=True)
    ]


def _errors(cases: _Cases, design: FloatArray, odds: FloatArray) -> FloatArray:
    from scipy.special import expit

    if np.isnan(odds).any():
        return np.full(len(design), np.nan)
    residual = cases.positive - expit(odds)
    return np.sqrt(
        coefficient_variances(
            design, residual, cases.weights, np.eye(len(design)), owner=cases.owner
        )
    )


def _error_in_the_large(cases: _Cases, odds: FloatArray) -> FloatArray:
    """Standard error of calibration in the large: the larger of the binomial and the sandwich.

    If the slope is not one, the binomial variance of the shifted scores is wrong; the squared
    residuals show how much the outcomes really vary.
    """
    from scipy.special import expit

    error = _errors(cases, np.ones((1, cases.odds.size)), odds)
    if cases.owner is not None:
        return error
    chance = expit(odds)
    squares = np.sum(cases.weights * (cases.positive - chance) ** 2)
    sandwich = np.sqrt(squares) / np.sum(cases.weights * chance * (1 - chance))
    return np.asarray(np.maximum(error, sandwich))


def _smooth_bounds(
    table: ScoreTable,
    cases: _Cases,
    errors: FloatArray,
    level: float,
    replicates: int,
    rng: np.random.Generator,
) -> tuple[FloatArray, FloatArray]:
    """Lower and upper bounds, (4,) each, of the four distances."""
    if cases.owner is None:
        estimate = bootstrap(smooth_calibration_errors, table, replicates=replicates, rng=rng)
        high = np.asarray(estimate.interval(level).high)
        plausible = np.quantile(_calibrated(table, replicates, rng), (1 + level) / 2, axis=0)
    else:
        count = _check.draws("replicates", replicates, low=2)
        if cases.few:
            return np.full(4, np.nan), np.full(4, np.nan)
        high, plausible = _clustered_bounds(table, cases, errors, level, count, rng)
    # Resampling inflates these distances about as much as sampling did: the quantile is reflected.
    low = np.where(errors <= plausible, 0.0, np.maximum(2 * errors - high, 0.0))
    return low, np.maximum(high, errors)


def _calibrated(table: ScoreTable, replicates: int, rng: np.random.Generator) -> FloatArray:
    """The four distances (R, 4) of whole cases whose scores are their probabilities."""
    mass, distances = table.weights.sum(axis=1), []
    for _ in range(replicates):  # one by one, so that memory stays flat
        hits = rng.binomial(mass.astype(np.int64), table.scores)
        distances.append(lowess_distances(table.scores, np.stack([mass - hits, hits], axis=-1)))
    return np.array(distances)


def _clustered_bounds(
    table: ScoreTable,
    cases: _Cases,
    errors: FloatArray,
    level: float,
    replicates: int,
    rng: np.random.Generator,
) -> tuple[FloatArray, FloatArray]:
    """Upper bounds, and the largest errors that calibrated scores could plausibly have, (4,)."""
    assert cases.owner is not None
    count, scores = int(cases.owner.max()) + 1, table.scores
    residual = cases.positive - smooth_curve(table)[cases.place]
    residual *= np.sqrt(count / (count - 1))  # Bessel's correction, for clusters
    ones, hits = np.ones(residual.size), cases.positive.astype(np.float64)
    resampled, calibrated = [], []
    for _ in range(replicates):
        times = rng.multinomial(count, np.full(count, 1 / count)).astype(np.float64)
        weights = cases.weights_by_score(table, times[cases.owner], hits)
        resampled.append(lowess_distances(scores, weights))
        # Wild bootstrap: all residuals of a cluster flip together, which keeps their correlation.
        sign = rng.choice([-1.0, 1.0], count)[cases.owner]
        weights = cases.weights_by_score(table, ones, scores[cases.place] + sign * residual)
        calibrated.append(lowess_distances(scores, weights))
    return _upper(errors, np.array(resampled), count, level), _upper(
        np.mean(calibrated, axis=0), np.array(calibrated), count, level
    )


def _upper(value: FloatArray, replicates: FloatArray, count: int, level: float) -> FloatArray:
    """The upper bound of an interval from replicates, wider where there are few clusters."""
    error = replicates.std(axis=0, ddof=1)
    estimate = Estimate(value, error, replicates, ExpandedPercentile(count), "clusters")
    return np.asarray(estimate.interval(level).high)
