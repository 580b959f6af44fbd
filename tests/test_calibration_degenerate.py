"""Fits where features say the same thing twice, lie at the edges of float64, or do not vary."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from stakes._check import FloatArray, IntArray
from stakes.calibration import (
    Affine,
    BetaMap,
    Calibrator,
    FullAffine,
    Logistic,
    Platt,
    Temperature,
    VectorScaling,
    calibration_in_the_large,
    spiegelhalter,
)
from stakes.calibration.affine import _best_coldness
from stakes.calibration.logistic import RIDGE, _inverse
from stakes.tally import ScoreTable

BENT: tuple[Calibrator, ...] = (BetaMap(), VectorScaling(), FullAffine())
each_bent = pytest.mark.parametrize(
    "calibrator", BENT, ids=[type(calibrator).__name__ for calibrator in BENT]
)


def overlapping(values: list[float], seed: int) -> tuple[FloatArray, IntArray]:
    """Cases at a few scores, both classes at each of them, more positives at the higher ones."""
    rng = np.random.default_rng(seed)
    q = rng.choice(values, 60)
    y = (rng.random(60) < 0.2 + 0.6 * q).astype(np.intp)
    for low, value in enumerate(values):  # 1 of 4, 2 of 5, … positives at least
        q[8 * low : 8 * low + 8] = value
        y[8 * low : 8 * low + 8] = np.arange(8) < 2 + 2 * low
    return q, y


def shares_at(values: list[float], q: FloatArray, y: IntArray) -> list[float]:
    return [float(y[q == value].mean()) for value in values]


# Logarithms of q and of 1 − q that are one line --------------------------------------------------


@each_bent
def test_certain_posteriors_get_the_shares_of_positives(calibrator: Calibrator) -> None:
    q, y = [0, 0, 0, 1, 1, 1.0], [0, 0, 1, 1, 1, 0]
    fitted = calibrator.fit(q, y)
    assert fitted.converged
    assert_allclose(fitted([0.0, 1.0]), [1 / 3, 2 / 3], rtol=1e-7)
    assert_allclose(fitted([0.0, 1.0]), Affine().fit(q, y)([0.0, 1.0]), rtol=1e-7)


@each_bent
@pytest.mark.parametrize("values", [[0.0, 1.0], [0.1, 0.9], [0.2, 0.7], [0.0, 0.5], [0.3, 1.0]])
def test_scores_of_two_values_get_the_shares_of_positives(
    calibrator: Calibrator, values: list[float]
) -> None:
    for seed in range(200 if values == [0.0, 1.0] else 20):
        q, y = overlapping(values, seed)
        shares = shares_at(values, q, y)
        fitted = calibrator.fit(q, y)
        assert fitted.converged, seed
        if isinstance(calibrator, BetaMap) and shares[0] > shares[1]:
            shares = [float(y.mean())] * 2  # a beta map does not fall
        assert_allclose(fitted(values), shares, rtol=1e-6, err_msg=str(seed))


@each_bent
@pytest.mark.parametrize("values", [[0.0, 0.5, 1.0], [0.0, 0.3, 1.0]])
def test_scores_of_three_values_leave_nothing_to_gain(
    calibrator: Calibrator, values: list[float]
) -> None:
    for seed in range(15):
        q, y = overlapping(values, seed)
        fitted = calibrator.fit(q, y)
        assert fitted.converged
        assert_allclose(fitted(q).mean(), y.mean(), rtol=1e-7)
        if not isinstance(calibrator, BetaMap):
            assert_allclose(fitted(values), shares_at(values, q, y), rtol=1e-5)


@each_bent
def test_two_values_that_separate_the_classes_give_a_bounded_fit(calibrator: Calibrator) -> None:
    for values in ([0.0, 1.0], [0.2, 0.7]):
        fitted = calibrator.fit(np.repeat(values, 4), [0] * 4 + [1] * 4)
        assert not fitted.converged
        low, high = fitted(values)
        assert 0 < low < 1e-3
        assert 0.999 < high < 1
        edge = calibrator.fit(np.repeat(values, 4), [0] * 4 + [1, 1, 1, 0])
        assert not edge.converged
        assert_allclose(edge(values)[1], 0.75, atol=1e-3)


def test_certain_posteriors_of_three_classes_get_the_shares_of_their_cases() -> None:
    for seed in range(20):
        rng = np.random.default_rng(seed)
        top = rng.permutation(np.arange(90) % 3)
        y = np.where(rng.random(90) < 0.6, top, rng.integers(0, 3, 90))
        y[top == 0][:3], y[top == 1][:3], y[top == 2][:3] = np.arange(3), np.arange(3), np.arange(3)
        shares = np.array([np.bincount(y[top == k], minlength=3) for k in range(3)]) / 30
        if not (shares > 0).all():
            continue
        for calibrator in (VectorScaling(), FullAffine()):
            fitted = calibrator.fit(np.eye(3)[top], y)
            assert fitted.converged, (seed, calibrator)
        assert_allclose(fitted(np.eye(3)), shares, rtol=1e-6)


def test_two_distinct_rows_of_three_classes_are_enough_for_vector_scaling() -> None:
    q = np.repeat([[0.6, 0.3, 0.1], [0.2, 0.5, 0.3]], 8, axis=0)
    y = [0, 0, 0, 0, 1, 1, 2, 2, 0, 1, 1, 1, 1, 2, 2, 2]
    fitted = VectorScaling().fit(q, y)
    assert fitted.converged
    assert_allclose(fitted(q[[0, 8]]), [[4 / 8, 2 / 8, 2 / 8], [1 / 8, 4 / 8, 3 / 8]], rtol=1e-7)
    assert np.isfinite(fitted.slopes).all()


# Right on average --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("scores", "weights", "expected"),
    [
        ([1.0], [[3, 2]], -53 * np.log(2) + np.log(2 / 3)),  # one is 53 bits away from zero
        ([0.0], [[3, 2]], 53 * np.log(2) + np.log(2 / 3)),
        ([1e-20], [[3, 2]], 45.65),
        ([1e-300], [[3, 2]], 690.37),
        ([0.5], [[3, 1]], -np.log(3)),
        ([1 - 1e-12], [[3, 2]], None),
        ([0.0, 1.0], [[3, 2], [1, 5]], None),
        ([0.0, 0.4, 1.0], [[3, 2], [1, 1], [1, 5]], None),
        ([1e-9, 1 - 1e-9], [[3, 2], [1, 5]], None),
        ([0.0, 1e-8], [[3, 2], [3, 2]], None),
        ([1e-300, 1e-8, 1.0], [[3, 2], [0, 0], [3e-5, 2e5]], None),
        ([0.01, 0.99], [[5, 0], [0, 5]], 0.0),
    ],
)
def test_what_calibration_in_the_large_adds_makes_the_mean_right(
    scores: Any, weights: Any, expected: float | None
) -> None:
    table = ScoreTable(scores, weights)
    intercept = float(calibration_in_the_large(table))
    if expected is not None:
        assert intercept == pytest.approx(expected, abs=5e-3)
    with np.errstate(divide="ignore"):
        odds = np.log(table.scores) - np.log(1 - table.scores)
    finite = np.abs(odds[np.isfinite(odds)]).max(initial=53 * np.log(2))
    chances = 1 / (1 + np.exp(-np.clip(odds, -finite, finite) - intercept))
    mean = np.average(chances, weights=table.weights.sum(axis=1))
    assert mean == pytest.approx(float(table.shares[1]), rel=1e-9)


def test_calibration_in_the_large_is_carried_through_leading_axes() -> None:
    weights = np.random.default_rng(0).integers(0, 5, (3, 2, 4, 2)).astype(float)
    weights[0, 0, :, 1] = 0
    table = ScoreTable([0.0, 0.2, 0.7, 1.0], weights)
    intercept = calibration_in_the_large(table)
    assert intercept.shape == (3, 2)
    assert np.isnan(intercept[0, 0])
    for place in np.ndindex(3, 2):
        alone = calibration_in_the_large(table[place])
        assert_allclose(intercept[place], alone, atol=1e-9)


# The edges of float64 ----------------------------------------------------------------------------


@pytest.mark.parametrize("scale", [1e-300, 1e-200, 1e-12, 1.0, 1e9, 1e160, 1e300])
@pytest.mark.parametrize("calibrator", [Logistic(), Platt()])
def test_the_unit_of_the_scores_does_not_matter(calibrator: Calibrator, scale: float) -> None:
    x, y = np.array([1.0, 2.0, 3.0, 1.5, 2.2]) / 2, [0, 1, 1, 1, 0]
    plain, scaled = calibrator.fit(x, y), calibrator.fit(x * scale, y)
    assert scaled.converged
    assert_allclose(scaled(x * scale), plain(x), rtol=1e-9)


def test_scores_far_from_zero_but_close_together_are_distinguished() -> None:
    x, y = np.array([0.0, 1.0, 2.0, 0.5, 1.5]), [0, 1, 1, 1, 0]
    moved: Any = Logistic().fit(1e9 + x, y)
    assert moved.converged
    assert_allclose(moved(1e9 + x), Logistic().fit(x, y)(x), rtol=1e-6)
    wide: Any = Logistic().fit(np.array([1e300, -1e300, 1e299, 0, 5e299]), [0, 1, 0, 1, 1])
    assert wide.converged
    assert np.isfinite([wide.slope, wide.intercept]).all()


def test_a_temperature_that_changes_nothing_has_converged_at_one() -> None:
    for q in ([0.5] * 4, np.full((4, 2), 0.5)):
        fitted: Any = Temperature().fit(q, [0, 0, 0, 1])
        assert fitted.converged
        assert fitted.temperature == 1
        assert_allclose(fitted([0.2, 0.5]), [0.2, 0.5])


def test_spiegelhalters_statistic_is_infinite_where_certainty_was_wrong() -> None:
    wrong = spiegelhalter(ScoreTable([0.0, 1.0], [[3, 2], [1, 5]]))
    assert float(wrong.statistic) == np.inf
    assert float(wrong.p_value) == 0
    right = spiegelhalter(ScoreTable([0.0, 0.5, 1.0], [[3, 0], [1, 1], [0, 5]]))
    assert np.isnan(right.statistic)
    assert np.isnan(right.p_value)
    assert np.isnan(spiegelhalter(ScoreTable([0.2], [[0, 0]])).statistic)


def test_the_temperature_of_cases_that_are_all_right_is_bounded_by_the_ridge():
    """On logarithms of spread one the slope is that of the log loss plus the ridge."""
    q = np.array([[0.7, 0.2, 0.1], [0.2, 0.5, 0.3], [0.1, 0.3, 0.6], [0.25, 0.35, 0.4]])
    codes = np.array([0, 1, 2, 2])
    fitted = Temperature().fit(q, codes)
    assert not fitted.converged
    lead = np.log(q) - np.log(q[np.arange(4), codes])[:, None]
    spread = np.sqrt(np.mean(lead**2))
    coldness, lead = spread / fitted.temperature, lead / spread

    def loss(cold):
        return np.mean(np.log(np.exp(cold * lead).sum(axis=1))) + RIDGE * cold**2 / 2

    step = 1e-3 * coldness
    assert loss(coldness) < min(loss(coldness - step), loss(coldness + step))
    assert 0 < fitted.temperature < 1


def test_the_bounded_temperature_of_posteriors_worse_than_uniform_ones_grows_with_their_logits():
    rows = np.array([[0.7, 0.2, 0.1], [0.2, 0.5, 0.3], [0.1, 0.3, 0.6]])
    fits = [Temperature().fit(normalized(rows**by), [2, 0, 1]) for by in (1, 3)]
    assert not any(fit.converged for fit in fits)
    assert fits[1].temperature == pytest.approx(3 * fits[0].temperature, rel=1e-9)


def normalized(rows):
    return rows / rows.sum(axis=1, keepdims=True)


def test_blocks_without_an_inverse_have_none():
    blocks = np.array([[[0.0, 0], [0, 0]], [[1, 1], [1, 1]], [[2, 0], [0, 4]]])
    assert np.isnan(_inverse(blocks[:2])).all()
    assert np.isnan(_inverse(np.zeros((1, 1, 1)))).all()
    assert_allclose(_inverse(blocks[2:]), [[[0.5, 0], [0, 0.25]]])


def test_predictions_that_all_classes_share_keep_their_temperature():
    assert _best_coldness(np.zeros((4, 3)), np.full(4, 0.25)) == (1.0, True)
