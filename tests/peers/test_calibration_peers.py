"""Calibration next to scikit-learn and model-diagnostics, live.

============================  =======================================  ===========================
theirs                        convention                               ours
============================  =======================================  ===========================
IsotonicRegression            ``out_of_bounds="clip"``                 Isotonic
LogisticRegression            ``C=inf``: no penalty                    Logistic, Affine on log-odds
method="sigmoid"              smoothed targets; sees real scores       Platt
method="temperature"          logits of P(second class) are (−x, x),   Temperature of posteriors
                              so that its coldness is half of ours     with log-odds x
decompose                     isotonic in sample                       decompose
brier_score_loss              half scale for two classes               HalfBrier
============================  =======================================  ===========================
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import polars as pl
import pytest
from model_diagnostics.scoring import LogLoss as TheirLogLoss
from model_diagnostics.scoring import SquaredError
from model_diagnostics.scoring import decompose as their_decompose
from numpy.testing import assert_allclose
from sklearn import metrics
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.calibration import CalibratedClassifierCV, calibration_curve
from sklearn.frozen import FrozenEstimator
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression

from stakes import scoring
from stakes._check import FloatArray, IntArray
from stakes.calibration import (
    Affine,
    FullAffine,
    Isotonic,
    Logistic,
    Platt,
    Temperature,
    calibration_error,
    decompose,
    reliability,
)
from stakes.scoring import EqualWidth, HalfBrier, LogLoss
from stakes.tally import ScoreTable


def binary(seed: int, n: int = 2000) -> tuple[FloatArray, IntArray, FloatArray]:
    """Real scores with ties, classes that lean to one side, and weights."""
    rng = np.random.default_rng(seed)
    x = rng.normal(scale=2, size=n).round(2)
    y = (rng.random(n) < 1 / (1 + np.exp(-(0.7 * x - 1.5)))).astype(np.intp)
    return x, y, rng.integers(1, 5, n) * rng.choice([1.0, 0.25], n)


def many(seed: int, n: int = 3000, size: int = 4) -> tuple[FloatArray, IntArray, FloatArray]:
    rng = np.random.default_rng(seed)
    truth = rng.dirichlet(np.arange(1.0, size + 1), n)
    y = (rng.random(n)[:, None] > np.cumsum(truth, axis=1)).sum(axis=1)
    sharp = truth**1.6
    return sharp / sharp.sum(axis=1, keepdims=True), y, rng.random(n)


def chances(x: FloatArray) -> FloatArray:
    return np.asarray(1 / (1 + np.exp(-x)))


class Scores(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier whose only feature, or features, are its scores already."""

    def __init__(self, size: int = 2) -> None:
        self.size = size
        self.classes_ = np.arange(size)

    def fit(self, features: Any, y: Any) -> Scores:
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def decision_function(self, features: Any) -> Any:
        return features[:, 0] if self.size == 2 else features

    def predict(self, features: Any) -> Any:
        return np.zeros(len(features), dtype=int)


def sklearn_calibrated(method: str, scores: FloatArray, y: Any, weights: Any = None) -> FloatArray:
    """Posteriors of the same scores, by a calibrator of scikit-learn."""
    features = scores[:, None] if scores.ndim == 1 else scores
    size = 2 if scores.ndim == 1 else scores.shape[1]
    model = CalibratedClassifierCV(
        FrozenEstimator(Scores(size)), method=method, ensemble=False, cv=2
    )
    with warnings.catch_warnings():  # weights reach the calibration only, and that is wanted here
        warnings.filterwarnings("ignore", message="Since FrozenEstimator does not appear")
        model.fit(features, y, sample_weight=weights)
    return np.asarray(model.predict_proba(features))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("weighted", [False, True])
def test_isotonic_is_that_of_scikit_learn_at_old_and_new_scores(seed: int, weighted: bool) -> None:
    x, y, weights = binary(seed)
    weight = weights if weighted else None
    theirs = IsotonicRegression(out_of_bounds="clip").fit(x, y, sample_weight=weight)
    ours = Isotonic().fit(x, y, weights=weight)
    new = np.linspace(-12, 12, 5001)
    assert_allclose(ours(x), theirs.predict(x), atol=1e-12)
    assert_allclose(ours(new), theirs.predict(new), atol=1e-12)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("weighted", [False, True])
def test_affine_is_logistic_regression_without_penalty(seed: int, weighted: bool) -> None:
    x, y, weights = binary(seed)
    weight = weights if weighted else None
    theirs = LogisticRegression(C=np.inf, tol=1e-12, solver="newton-cholesky")
    theirs.fit(x[:, None], y, sample_weight=weight)
    line = [float(theirs.coef_[0, 0]), float(theirs.intercept_[0])]
    maps: list[Any] = [
        Logistic().fit(x, y, weights=weight),
        Affine().fit(chances(x), y, weights=weight),
    ]
    for ours in maps:
        assert_allclose([ours.slope, ours.intercept], line, atol=1e-6)


def test_a_prior_is_a_class_weight_of_scikit_learn() -> None:
    x, y, _ = binary(5)
    shares = np.bincount(y) / y.size
    prior = np.array([0.99, 0.01])
    theirs = LogisticRegression(
        C=np.inf, tol=1e-12, solver="newton-cholesky", class_weight=dict(enumerate(prior / shares))
    ).fit(x[:, None], y)
    ours = Logistic().fit(x, y, prior=prior)
    assert_allclose(
        [ours.slope, ours.intercept], [theirs.coef_[0, 0], theirs.intercept_[0]], atol=1e-6
    )


def test_full_affine_is_multinomial_regression_without_penalty() -> None:
    q, y, weights = many(1)
    theirs = LogisticRegression(C=np.inf, tol=1e-10, max_iter=2000)
    theirs.fit(np.log(q), y, sample_weight=weights)
    ours = FullAffine().fit(q, y, weights=weights)
    assert_allclose(ours(q), theirs.predict_proba(np.log(q)), atol=1e-4)
    loss = [
        metrics.log_loss(y, p, sample_weight=weights)
        for p in (ours(q), theirs.predict_proba(np.log(q)))
    ]
    assert loss[0] <= loss[1] + 1e-12


@pytest.mark.parametrize("weighted", [False, True])
def test_platt_is_the_sigmoid_of_scikit_learn(weighted: bool) -> None:
    x, y, weights = binary(2)
    weight = weights if weighted else None
    theirs = sklearn_calibrated("sigmoid", x, y, weight)[:, 1]
    assert_allclose(Platt().fit(x, y, weights=weight)(x), theirs, atol=1e-5)


@pytest.mark.parametrize("weighted", [False, True])
def test_temperature_is_that_of_scikit_learn(weighted: bool) -> None:
    q, y, weights = many(3)
    weight = weights if weighted else None
    theirs = sklearn_calibrated("temperature", np.log(q), y, weight)
    assert_allclose(Temperature().fit(q, y, weights=weight)(q), theirs, atol=1e-6)
    x, y2, weights2 = binary(3)
    weight = weights2 if weighted else None
    both = sklearn_calibrated("temperature", x, y2, weight)[:, 1]
    assert_allclose(Temperature().fit(chances(x), y2, weights=weight)(chances(x)), both, atol=1e-6)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    ("ours", "theirs"), [(LogLoss(), TheirLogLoss()), (HalfBrier(), SquaredError())]
)
def test_decomposition_is_that_of_model_diagnostics(
    ours: Any, theirs: Any, weighted: bool, seed: int
) -> None:
    x, y, weights = binary(seed, 500)
    q = chances(x)
    weight = weights if weighted else None
    table = ScoreTable.from_scores(y, q, weights=weight)
    parts = decompose(table, ours)
    rows: pl.DataFrame = their_decompose(y, q, weights=weight, scoring_function=theirs)
    for part in ("score", "miscalibration", "discrimination", "uncertainty"):
        assert_allclose(getattr(parts, part), rows[part].item(), atol=1e-10)


def test_scores_are_those_of_scikit_learn() -> None:
    q, y, weights = many(6)
    log_loss = metrics.log_loss(y, q, sample_weight=weights)
    assert_allclose(scoring.mean_score(y, q, LogLoss(), weights=weights), log_loss)
    x, y2, weights2 = binary(6)
    brier = metrics.brier_score_loss(y2, chances(x), sample_weight=weights2)
    assert_allclose(scoring.mean_score(y2, chances(x), HalfBrier(), weights=weights2), brier)


def test_the_points_of_the_reliability_curve_are_those_of_scikit_learn() -> None:
    x, y, _ = binary(7)
    shares, means = calibration_curve(y, chances(x), n_bins=10)
    table = ScoreTable.from_scores(y, chances(x))
    curve = reliability(table, EqualWidth(10))
    assert_allclose(curve.bin_shares, shares)
    assert_allclose(curve.bin_scores, means)
    error = np.average(np.abs(shares - means), weights=curve.bin_weights)
    assert_allclose(calibration_error(table, EqualWidth(10), 1), error)
