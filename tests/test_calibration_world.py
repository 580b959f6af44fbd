"""A world whose posteriors are known: miscalibration is detected and repaired."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.testing import assert_allclose

from stakes import Problem, shift_prior
from stakes._check import FloatArray
from stakes.calibration import (
    Affine,
    Calibrator,
    FullAffine,
    Isotonic,
    Temperature,
    VectorScaling,
    cost_of_miscalibration,
    cross_calibrate,
    decompose_by_cross_calibration,
    decompose_by_recalibration,
    spiegelhalter,
)
from stakes.calibration.reliability import class_tables
from stakes.decide import bayes_decision_indices, expected_costs
from stakes.scoring import Brier, LogLoss, mean_score, score_moments
from stakes.simulate import SimulatedCases, gaussian_classes

PRIOR = np.array([0.8] + 9 * [0.2 / 9])
LAST_IS_GRAVE = np.append(np.ones(9), 100.0)[:, None]
# The five cost matrices of ferrer-ec, Table 1.
COSTS = {
    "C01": Problem.zero_one(10),
    "CinvP": Problem.balanced(PRIOR),
    "Cimb": Problem(LAST_IS_GRAVE * (1 - np.eye(10))),
    "Cabs1": Problem.zero_one(10).with_abstention(0.05),
    "Cabs2": Problem.zero_one(10).with_abstention(0.3),
}

pytestmark = pytest.mark.slow  # the paper has a hundred thousand cases of ten classes

CALIBRATORS: tuple[Calibrator, ...] = (Temperature(), VectorScaling(), FullAffine())
# Free numbers of each; log-posteriors of gaussian classes span only three dimensions.
NUMBERS = dict(zip(CALIBRATORS, (1, 19, 27), strict=True))
each_calibrator = pytest.mark.parametrize(
    "calibrator", CALIBRATORS, ids=[type(calibrator).__name__ for calibrator in CALIBRATORS]
)


@pytest.fixture(scope="module")
def samples() -> tuple[SimulatedCases, SimulatedCases]:
    """Cases to fit on and to test on, as many as ferrer-ec has: ten classes with variance 0.2."""
    rng = np.random.default_rng(20)
    fit, test = (gaussian_classes(100_000, prior=PRIOR, variance=0.2, rng=rng) for _ in range(2))
    return fit, test


@pytest.fixture(scope="module")
def repaired(samples: tuple[SimulatedCases, SimulatedCases]) -> dict[Calibrator, FloatArray]:
    """Sharpened posteriors of the test cases, repaired by maps fitted on the others."""
    fit, test = samples
    fitted = {
        calibrator: calibrator.fit(sharpened(fit.posteriors), fit.y_true)
        for calibrator in CALIBRATORS
    }
    assert all(fit.converged for fit in fitted.values())
    return {calibrator: fit(sharpened(test.posteriors)) for calibrator, fit in fitted.items()}


def sharpened(posteriors: FloatArray) -> FloatArray:
    """Posteriors at temperature one half, which are overconfident."""
    squared = posteriors**2
    return np.asarray(squared / squared.sum(axis=1, keepdims=True))


class Costs(NamedTuple):
    """Of the Bayes decision of every case: its mean over the true posterior, and what it was."""

    expected: FloatArray
    counted: FloatArray


def costs_of(problem: Problem, cases: SimulatedCases, posteriors: FloatArray) -> Costs:
    decided = bayes_decision_indices(posteriors, problem)
    rows = np.arange(decided.size)
    return Costs(
        expected_costs(cases.posteriors, problem)[rows, decided],
        problem.costs[cases.y_true, decided],
    )


def gain_and_error(y: Any, before: FloatArray, after: FloatArray) -> tuple[float, float]:
    """Mean of the paired gain in log loss, and its standard error."""
    moments = score_moments(y, {"before": before, "after": after}, LogLoss())
    difference = np.array([1.0, -1.0])
    variance = moments.shares @ (moments.covariances @ difference @ difference)
    return float(moments.mean() @ difference), float(np.sqrt(variance / moments.n_cases))


@each_calibrator
def test_E23_calibrated_posteriors_show_a_calibration_loss_within_noise_of_zero(
    samples: tuple[SimulatedCases, SimulatedCases], calibrator: Calibrator
) -> None:
    fit, test = samples
    recalibrated = calibrator.fit(fit.posteriors, fit.y_true)(test.posteriors)
    gain, error = gain_and_error(test.y_true, test.posteriors, recalibrated)
    # Fitting p numbers on n cases costs p / 2n on other cases: the map is not quite the identity.
    price = NUMBERS[calibrator] / (2 * fit.y_true.size)
    assert abs(gain + price) < 3 * error
    parts = decompose_by_recalibration(test.y_true, test.posteriors, recalibrated, LogLoss())
    assert_allclose(parts.miscalibration, gain, atol=1e-12)
    assert abs(parts.miscalibration_share) < 0.01
    for table in class_tables(test.y_true, test.posteriors):
        assert spiegelhalter(table).p_value > 1e-4


@each_calibrator
def test_E23_sharpened_posteriors_show_it_and_the_affine_repair_removes_it(
    samples: tuple[SimulatedCases, SimulatedCases],
    repaired: dict[Calibrator, FloatArray],
    calibrator: Calibrator,
) -> None:
    """Log loss 0.166 rises to 0.213 at temperature ½; at least 95 % of the rise is taken back."""
    _, test = samples
    sharp, mended = sharpened(test.posteriors), repaired[calibrator]
    gain, error = gain_and_error(test.y_true, sharp, mended)
    assert gain > 20 * error
    assert gain > 0.04
    for rule in (LogLoss(), Brier()):
        best, broken, after = (
            mean_score(test.y_true, q, rule) for q in (test.posteriors, sharp, mended)
        )
        assert (broken - after) / (broken - best) > 0.95


@each_calibrator
@pytest.mark.parametrize("matrix", COSTS)
def test_E21_E23_repaired_bayes_decisions_cost_within_one_percent_of_the_optimum(
    samples: tuple[SimulatedCases, SimulatedCases],
    repaired: dict[Calibrator, FloatArray],
    matrix: str,
    calibrator: Calibrator,
) -> None:
    """What decisions are expected to cost is known here, because the true posteriors are.

    Counted over the same cases, the costs differ by what chance allows: under Cimb by 1 % or so,
    because everything depends on the 2,222 cases of the last class.
    """
    _, test = samples
    problem, sharp, mended = COSTS[matrix], sharpened(test.posteriors), repaired[calibrator]
    best, broken, after = (
        costs_of(problem, test, posteriors) for posteriors in (test.posteriors, sharp, mended)
    )
    optimal = best.expected.mean()
    assert after.expected.mean() / optimal - 1 < 0.01
    if matrix == "C01":  # sharpening keeps the most probable class
        assert (broken.expected == best.expected).all()
    else:
        assert broken.expected.mean() / optimal > 1.02
        saved = broken.expected.mean() - after.expected.mean()
        assert saved / (broken.expected.mean() - optimal) > 0.95
    counted = cost_of_miscalibration(test.y_true, sharp, mended, problem)
    # CinvP states the prior, from which whole numbers of cases are a little off.
    assert_allclose(counted.actual, broken.counted.mean(), rtol=1e-3)
    assert_allclose(counted.recalibrated, after.counted.mean(), rtol=1e-3)
    chance = (after.counted - best.counted) - (after.expected - best.expected)
    assert abs(chance.mean()) <= 4 * chance.std() / np.sqrt(chance.size)


def test_E23_cross_calibration_needs_no_second_sample(
    samples: tuple[SimulatedCases, SimulatedCases],
) -> None:
    _, test = samples
    sharp = sharpened(test.posteriors)
    parts = decompose_by_cross_calibration(
        test.y_true, sharp, LogLoss(), Temperature(), 5, rng=np.random.default_rng(0)
    )
    best = mean_score(test.y_true, test.posteriors, LogLoss())
    assert parts.miscalibration / (parts.score - best) == pytest.approx(1, abs=0.05)


def test_E23_two_classes_are_recalibrated_by_affine_and_isotonic_maps() -> None:
    rng = np.random.default_rng(3)
    fit, test = (
        gaussian_classes(40_000, prior=[0.8, 0.2], variance=0.2, rng=rng) for _ in range(2)
    )
    sharp = sharpened(test.posteriors)[:, 1]
    problem = Problem.binary(false_alarm=1, miss=4)
    best = cost_of_miscalibration(test.y_true, test.posteriors, test.posteriors, problem)
    for calibrator in (Affine(), Isotonic()):
        repaired = calibrator.fit(sharpened(fit.posteriors)[:, 1], fit.y_true)(sharp)
        costs = cost_of_miscalibration(test.y_true, sharp, repaired, problem)
        assert costs.actual / best.actual > 1.03
        assert abs(costs.recalibrated / best.actual - 1) < 0.01
        assert costs.optimal <= min(costs.actual, costs.recalibrated)
        assert costs.threshold_loss / best.actual > 0.03


def test_a_fit_for_the_deployment_prior_is_a_fit_moved_there() -> None:
    """Both ways lead to posteriors that are calibrated for the new prior."""
    rng = np.random.default_rng(9)
    fit, test = (
        gaussian_classes(40_000, prior=[0.5, 0.5], variance=0.3, rng=rng) for _ in range(2)
    )
    rare = [0.95, 0.05]
    sharp = sharpened(fit.posteriors)[:, 1], sharpened(test.posteriors)[:, 1]
    weighted = Affine().fit(sharp[0], fit.y_true, prior=rare)(sharp[1])
    moved = shift_prior(Affine().fit(sharp[0], fit.y_true)(sharp[1]), [0.5, 0.5], rare)
    exact = shift_prior(test.posteriors, [0.5, 0.5], rare)
    scores = [mean_score(test.y_true, q, LogLoss(), prior=rare) for q in (exact, weighted, moved)]
    assert_allclose(scores[1:], scores[0], rtol=0.01)
    crossed = cross_calibrate(sharp[1], test.y_true, Affine(), 5, prior=rare, rng=rng)
    assert mean_score(test.y_true, crossed, LogLoss(), prior=rare) == pytest.approx(
        scores[0], rel=0.01
    )
