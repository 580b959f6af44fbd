"""The calibration of a risk model in one table: line, calibration in the large, smooth errors."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from stakes import _check
from stakes._check import FloatArray, IntArray, Label
from stakes.calibration import (
    calibration_in_the_large,
    calibration_line,
    coefficient_covariance,
    finite_log_odds,
    smooth_calibration_errors,
)
from stakes.inference import bootstrap, profile_threshold
from stakes.metrics.metric_rows import MetricRow, MetricTable
from stakes.tally import ScoreTable, two_classes

_SMOOTH = "ICI", "E50", "E90", "Emax"


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

    Intervals of the line are those of the logistic regression, with weights that are not whole or
    with clusters those of the sandwich estimator; nan where the classes are separated. ICI and its
    kin are never zero in a sample and larger still in resamples of it, so that quantiles of
    replicates do not hold the truth of a calibrated model. The upper end is the bootstrap's
    quantile; the lower end is zero where calibrated scores would show as much, else the reflected
    quantile. Whole cases that were drawn one by one only: these intervals are nan otherwise.

    Parameters
    ----------
    y_proba : (n,) probabilities of the positive class
    positive : label of the positive class; may be left out for labels 0/1 and booleans
    replicates, rng : for ICI and its kin

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
    table = ScoreTable.from_scores(y_true, y_proba, positive=positive, weights=sample_weight)
    whole = np.array_equal(table.weights, np.floor(table.weights))
    rows = _lines(table, _read(table, y_true, y_proba, positive, sample_weight, clusters), level)
    errors = smooth_calibration_errors(table)
    ends = np.full((2, len(_SMOOTH)), np.nan)
    if whole and clusters is None:
        ends = _smooth_ends(table, errors, level, replicates, rng)
    rows += [
        MetricRow("model", metric, float(errors[i]), *(float(end) for end in ends[:, i]))
        for i, metric in enumerate(_SMOOTH)
    ]
    count = f"{table.n_cases:g} cases, {table.class_weights[1]:g} positive"
    return MetricTable(count, tuple(rows), level)


class _Cases(NamedTuple):
    """Cases that count: log-odds of the score, class, weight, and who was drawn at random."""

    odds: FloatArray
    positive: IntArray
    weights: FloatArray
    owner: IntArray | None  # None: whole cases, drawn one by one
    degrees: float


def _read(
    table: ScoreTable,
    y_true: object,
    y_proba: object,
    positive: Label | None,
    sample_weight: object,
    clusters: object,
) -> _Cases:
    """The rows behind the table, which has checked them."""
    truth, scores = two_classes(y_true, positive)[1], _check.floats("y_proba", y_proba)
    weights = _check.weights("sample_weight", sample_weight, scores.size)
    owner, degrees = None, np.inf
    if clusters is not None:
        groups = _check.clusters(clusters)
        _check.same_length(y_true=truth, clusters=groups.codes)
        owner, degrees = groups.codes, len(np.unique(groups.codes[weights > 0])) - 1.0
    elif not np.array_equal(weights, np.floor(weights)):
        owner = np.arange(scores.size)
    kept = weights > 0
    odds = finite_log_odds(table)[np.searchsorted(table.scores, scores[kept])]
    own = None if owner is None else np.unique(owner[kept], return_inverse=True)[1]
    return _Cases(odds, truth[kept], weights[kept], own, degrees)


def _lines(table: ScoreTable, cases: _Cases, level: float) -> list[MetricRow]:
    """Intercept and slope, and the intercept at slope one."""
    line, shift = calibration_line(table), float(calibration_in_the_large(table))
    pair = np.array([line.intercept, line.slope])
    ones = np.ones(cases.odds.size)
    errors = _errors(cases, np.stack([ones, cases.odds]), pair @ np.stack([ones, cases.odds]))
    errors = errors if line.converged else np.full(2, np.nan)
    error = _errors(cases, ones[None], cases.odds + shift)
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
    covariance = coefficient_covariance(
        design, cases.positive - expit(odds), cases.weights, owner=cases.owner
    )
    return np.sqrt(np.diag(covariance))


def _smooth_ends(
    table: ScoreTable,
    errors: FloatArray,
    level: float,
    replicates: int,
    rng: np.random.Generator,
) -> FloatArray:
    """Lower and upper ends, (2, 4), of ICI and its kin."""
    estimate = bootstrap(smooth_calibration_errors, table, replicates=replicates, rng=rng)
    high = estimate.interval(level).high
    mass = table.weights.sum(axis=1)
    calibrated = []
    for _ in range(replicates):  # one by one, so that memory stays flat
        hits = rng.binomial(mass.astype(np.int64), table.scores)
        drawn = ScoreTable(table.scores, np.stack([mass - hits, hits], axis=-1))
        calibrated.append(smooth_calibration_errors(drawn))
    usual = np.quantile(calibrated, (1 + level) / 2, axis=0)
    low = np.where(errors <= usual, 0.0, np.maximum(2 * errors - high, 0.0))
    return np.stack([low, np.maximum(high, errors)])
