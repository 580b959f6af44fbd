"""Fits say that they converged where there is an optimum, and only there; no fit is infinite.

Whether there is one is decided by linear programming: there is none where some direction of the
parameters raises the log-odds of a true class against another in some case, and lowers them in none
(Albert and Anderson, 1984).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import linprog

from stakes._check import FloatArray, IntArray
from stakes.calibration import (
    Affine,
    BetaMap,
    CalibrationMap,
    Calibrator,
    FullAffine,
    Histogram,
    Isotonic,
    Logistic,
    OneVsRestIsotonic,
    Platt,
    Temperature,
    VectorScaling,
)
from stakes.calibration import affine as multiclass
from stakes.calibration import logistic as fitting
from stakes.calibration.logistic import fit_logistic
from stakes.scoring import EqualMass

PAIRS: tuple[Calibrator, ...] = (Affine(), Logistic(), BetaMap())
MANY: tuple[Calibrator, ...] = (Temperature(), VectorScaling(), FullAffine())
ALWAYS: tuple[Calibrator, ...] = (Isotonic(), Platt(), Histogram(EqualMass(3)))


def name_of(calibrator: Calibrator) -> str:
    return type(calibrator).__name__


each = pytest.mark.parametrize("calibrator", PAIRS + MANY, ids=name_of)
each_of_many = pytest.mark.parametrize("calibrator", MANY, ids=name_of)
each_affine = pytest.mark.parametrize("calibrator", [VectorScaling(), FullAffine()], ids=name_of)


# The criterion -----------------------------------------------------------------------------------


def margins(calibrator: Calibrator, logs: FloatArray, y: IntArray) -> FloatArray:
    """What each parameter adds to the log-odds of the true class against the others, (…, P)."""
    n_cases, size = logs.shape
    if isinstance(calibrator, BetaMap):
        columns = np.stack([logs[:, 1], -logs[:, 0], np.ones(n_cases)], axis=1)
        return np.where(y == 1, 1.0, -1.0)[:, None] * columns
    if isinstance(calibrator, Affine | Logistic):
        odds = logs[:, 1] - logs[:, 0]
        scores = odds if isinstance(calibrator, Affine) else np.exp(logs[:, 1])
        return np.where(y == 1, 1.0, -1.0)[:, None] * np.stack([scores, np.ones(n_cases)], axis=1)
    rows = []
    for log_row, true in zip(logs, y, strict=True):
        for other in set(range(size)) - {int(true)}:
            rows.append(_margin(calibrator, log_row, int(true), other))
    return np.array(rows)


def _margin(calibrator: Calibrator, logs: FloatArray, true: int, other: int) -> FloatArray:
    if isinstance(calibrator, Temperature):
        return logs[[true]] - logs[[other]]
    sign = np.eye(logs.size)[true] - np.eye(logs.size)[other]
    features = np.stack([logs, np.ones(logs.size)], axis=1)  # features of each class
    if isinstance(calibrator, FullAffine):
        features = np.tile(np.append(logs, 1.0), (logs.size, 1))
    return (sign[:, None] * features).ravel()


def has_optimum(calibrator: Calibrator, logs: FloatArray, y: IntArray, weights: FloatArray) -> bool:
    if isinstance(calibrator, Temperature):  # else it would be infinite, or below zero
        gained = logs[np.arange(len(y)), y] - logs.mean(axis=1)
        if weights @ gained <= 1e-12 * weights.sum():
            return not logs.std(axis=1).any()
    rows = margins(calibrator, logs, y)
    not_negative = {BetaMap: 2, Temperature: 1}.get(type(calibrator), 0)
    optimum = linprog(
        -rows.sum(axis=0),
        A_ub=np.concatenate([rows, -rows]),
        b_ub=np.repeat([1.0, 0.0], len(rows)),
        bounds=[(0 if k < not_negative else None, None) for k in range(rows.shape[1])],
    )
    assert optimum.success
    return bool(-optimum.fun < 0.5)  # what can be raised at all can be raised to one


def scores_for(calibrator: Calibrator, q: FloatArray) -> FloatArray:
    return q[:, 1] if isinstance(calibrator, Logistic | Isotonic | Platt | Histogram) else q


def assert_finite(fitted: CalibrationMap, scores: FloatArray) -> None:
    for part in vars(fitted).values():
        assert not isinstance(part, float | np.ndarray) or np.isfinite(part).all()
    posteriors = fitted(scores)
    assert ((posteriors >= 0) & (posteriors <= 1)).all()


def few_cases(seed: int, size: int) -> tuple[FloatArray, IntArray]:
    """A few cases on a coarse grid of posteriors, more or less separable, some of every class."""
    rng = np.random.default_rng(seed)
    n_cases = int(rng.integers(size + 2, 6 * size))
    q = rng.integers(1, 6, (n_cases, size)).astype(np.float64)
    q /= q.sum(axis=1, keepdims=True)
    blurred = np.log(q) + rng.choice([0.0, 0.3, 1.0]) * rng.gumbel(size=q.shape)
    y = blurred.argmax(axis=1) if rng.random() < 0.9 else blurred.argmin(axis=1)
    y[:size] = np.arange(size)
    return q, y


@each
@pytest.mark.parametrize("size", [2, 3])
def test_a_fit_converges_where_there_is_an_optimum_and_only_there(
    calibrator: Calibrator, size: int
) -> None:
    if size > 2 and calibrator in PAIRS:
        return
    told = []
    for seed in range(40):
        q, y = few_cases(seed, size)
        fitted = calibrator.fit(scores_for(calibrator, q), y)
        assert_finite(fitted, scores_for(calibrator, q))
        assert fitted.converged == has_optimum(calibrator, np.log(q), y, np.ones(y.size)), seed
        told.append(fitted.converged)
    assert 0.1 < np.mean(told) < 0.9


@pytest.mark.slow
@each
@pytest.mark.parametrize("size", [2, 3])
def test_weights_over_six_decades_let_no_fit_claim_an_optimum_that_there_is_not(
    calibrator: Calibrator, size: int
) -> None:
    """Of optima that only cases of next to no weight make, few are missed, and none with a line."""
    if size > 2 and calibrator in PAIRS:
        return
    missed = 0
    for seed in range(40):
        q, y = few_cases(seed, size)
        weights = 10 ** np.random.default_rng(seed).uniform(-6, 0, y.size)
        fitted = calibrator.fit(scores_for(calibrator, q), y, weights=weights)
        assert_finite(fitted, scores_for(calibrator, q))
        there = has_optimum(calibrator, np.log(q), y, weights)
        assert there or not fitted.converged, seed
        missed += there and not fitted.converged
    assert missed <= (2 if isinstance(calibrator, VectorScaling | FullAffine) else 0)


@pytest.mark.parametrize("calibrator", ALWAYS, ids=name_of)
def test_what_always_has_an_optimum_always_converges(calibrator: Calibrator) -> None:
    for seed in range(20):
        q, y = few_cases(seed, 2)
        weights = 10 ** np.random.default_rng(seed).uniform(-6, 0, y.size)
        fitted = calibrator.fit(q[:, 1], y, weights=weights)
        assert fitted.converged
        assert_finite(fitted, q[:, 1])
        assert OneVsRestIsotonic().fit(q, y, weights=weights).converged


# Thirty classes ----------------------------------------------------------------------------------


def softmax(logits: FloatArray) -> FloatArray:
    raised = np.exp(logits - logits.max(axis=1, keepdims=True))
    return np.asarray(raised / raised.sum(axis=1, keepdims=True))


def thirty_classes(n_cases: int) -> tuple[FloatArray, IntArray]:
    rng = np.random.default_rng(0)
    z = rng.normal(size=(n_cases, 30))
    return z, (z + rng.gumbel(size=z.shape)).argmax(axis=1)


@each_of_many
def test_thirty_classes_that_overlap_converge(calibrator: Calibrator) -> None:
    z, y = thirty_classes(3000)
    weights = 10 ** np.random.default_rng(1).uniform(-6, 0, y.size)
    for weight in (None, weights) if not isinstance(calibrator, FullAffine) else (None,):
        fitted = calibrator.fit(softmax(1.5 * z), y, weights=weight)
        assert fitted.converged
        if isinstance(calibrator, Temperature):
            continue
        surplus = fitted(softmax(1.5 * z)) - np.eye(30)[y]
        assert_allclose(np.average(surplus, axis=0, weights=weight), 0, atol=1e-10)


@pytest.mark.slow
@each_affine
def test_one_class_of_thirty_that_is_apart_leaves_no_optimum(calibrator: Calibrator) -> None:
    z, y = thirty_classes(1500)
    z[:, 0] = np.where(y == 0, 12, -12)
    fitted = calibrator.fit(softmax(z), y)
    assert not fitted.converged
    assert_finite(fitted, softmax(z))
    assert fitted(softmax(z))[np.arange(y.size), y].min() > 1e-6


@pytest.mark.slow
def test_a_class_of_three_cases_among_thirty_leaves_no_optimum_of_the_full_map() -> None:
    z, y = thirty_classes(1500)
    y[y == 7] = 8
    y[:3] = 7
    assert not FullAffine().fit(softmax(z), y).converged


def test_a_full_map_of_very_many_parameters_converges() -> None:
    rng = np.random.default_rng(5)
    z = rng.normal(size=(20_000, 20)) / 3
    y = (z + rng.gumbel(size=z.shape)).argmax(axis=1)
    fitted = FullAffine().fit(softmax(z), y)
    assert fitted.converged
    surplus = fitted(softmax(z)) - np.eye(20)[y]
    assert_allclose(surplus.T @ np.log(softmax(z)) / y.size, 0, atol=1e-10)


# How fits go -------------------------------------------------------------------------------------


def line_objective(y: IntArray) -> fitting.Objective:
    """Intercept and slope of two classes on 200 normal scores."""
    x = np.random.default_rng(0).normal(size=200)
    features = np.stack([np.ones(200), x])
    return multiclass._objective(multiclass._SharedFeatures, features, y, np.full(200, 1 / 200))


def test_each_step_gains_what_the_bound_on_second_derivatives_guarantees(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """From starts so far off that a whole Newton step gains less, or loses."""
    x = np.random.default_rng(0).normal(size=200)
    y = (np.random.default_rng(1).random(200) < 1 / (1 + np.exp(-x))).astype(np.intp)
    objective, moved, cut = line_objective(y), fitting._moved, []

    def watched(
        objective: Any, point: Any, here: Any, step: Any, change: float, far: float
    ) -> tuple[Any, Any]:
        after, there = moved(objective, point, here, step, change, far)
        guaranteed = ((1 + change) * np.log1p(change) - change) / change**2
        assert here.loss - there.loss >= -float(here.gradient @ step) * guaranteed - 1e-15
        cut.append(not np.array_equal(after, point + step))
        return after, there

    monkeypatch.setattr(fitting, "_moved", watched)
    for slope in (-20.0, -4.0, -2.0, -1.6, 3.0, 4.0, 6.0):
        fit = fitting.minimised(objective, np.array([0.0, slope]))
        assert fit.converged
        assert_allclose(objective.at(fit.parameters).gradient, 0, atol=1e-12)
    assert 3 < sum(cut) < len(cut) - 3


def test_a_search_ends_where_all_true_classes_are_the_more_probable() -> None:
    x = np.random.default_rng(0).normal(size=200)
    objective, points = line_objective((x > 0.1).astype(np.intp)), []

    def at(point: FloatArray) -> fitting.LossAt:
        points.append(point)
        return objective.at(point)

    fit = fitting.minimised(objective._replace(at=at), np.zeros(2))
    assert not fit.converged
    assert objective.at(fit.parameters).apart
    assert [objective.at(point).apart for point in points].count(True) == 1


def test_no_slope_of_a_bounded_fit_is_beyond_the_bound() -> None:
    for seed in range(20):
        q, y = few_cases(seed, 3)
        fitted: Any = VectorScaling().fit(q, y)
        if not fitted.converged:
            spread = np.log(q).std(axis=0)
            bound = np.sqrt(2 * np.log(3) / fitting.RIDGE)
            assert np.sqrt(np.sum((fitted.slopes * spread) ** 2)) <= bound


# Constant, and nearly so -------------------------------------------------------------------------


@each
@pytest.mark.parametrize("size", [2, 3, 30])
def test_constant_scores_converge_whatever_rounding_made_of_them(
    calibrator: Calibrator, size: int
) -> None:
    if size > 2 and calibrator in PAIRS:
        return
    rng = np.random.default_rng(size)
    y = np.tile(np.arange(size), 4)
    weights = 10 ** rng.uniform(-6, 0, y.size)
    base = rng.dirichlet(np.ones(size))
    for level in (base, np.full(size, 1 / size)):
        q = level * (1 + 2e-16 * rng.integers(-1, 2, (y.size, size)))
        fitted = calibrator.fit(scores_for(calibrator, q), y, weights=weights)
        if not isinstance(calibrator, Temperature):
            assert fitted.converged
            shares = np.bincount(y, weights) / weights.sum()
            expected = shares[1] if isinstance(calibrator, Logistic) else shares
            assert_allclose(fitted(scores_for(calibrator, q))[0], expected, rtol=1e-8)
    if isinstance(calibrator, Temperature):
        assert fitted.converged
        assert fitted.temperature == 1  # type: ignore[attr-defined]


@each
@pytest.mark.parametrize("width", [1e-2, 1e-4, 3e-6, 1e-8])
def test_nearly_even_posteriors_are_fitted_as_if_they_were_wide(
    calibrator: Calibrator, width: float
) -> None:
    x = np.array([-3.0, -2, -1, 1, 2, 3])
    q = np.stack([0.5 - width * x, 0.5 + width * x], axis=1)
    scores = scores_for(calibrator, q)
    overlapping = calibrator.fit(scores, [0, 0, 1, 0, 1, 1])
    assert overlapping.converged
    wide = Logistic().fit(x, [0, 0, 1, 0, 1, 1])(x)
    posteriors = overlapping(scores)
    atol = 0.02 if width == 1e-2 else 1e-4  # logarithms bend
    assert_allclose(posteriors if posteriors.ndim == 1 else posteriors[:, 1], wide, atol=atol)
    apart = calibrator.fit(scores, [0, 0, 0, 1, 1, 1])
    assert not apart.converged
    assert_finite(apart, scores)
    low, high = (
        posterior if posterior.ndim == 0 else posterior[1] for posterior in apart(scores)[[0, 5]]
    )
    assert low < 1e-3
    assert high > 0.999


def test_temperatures_of_nearly_even_posteriors_are_found() -> None:
    pair: Any = Temperature().fit([0.4999, 0.5001], [0, 1])
    assert not pair.converged
    even: Any = Temperature().fit([[1 / 3, 1 / 3, 1 - 2 / 3]] * 4, [0, 1, 2, 2])
    assert even.converged
    assert even.temperature == 1
    sign = np.repeat([-1.0, 1.0], 1000)
    close: Any = Temperature().fit(0.5 + 3e-6 * sign, np.tile([0, 0, 0, 1], 500) ^ (sign > 0))
    assert close.converged
    assert_allclose(close([0.5 + 3e-6]), 0.75, rtol=1e-9)


def test_a_temperature_is_not_decided_by_rounding_where_the_prior_makes_posteriors_even() -> None:
    y = [0] * 2 + [1] * 3 + [2] * 5
    fitted: Any = Temperature().fit([[0.2, 0.3, 0.5]] * 10, y, prior=[1 / 3] * 3)
    assert fitted.converged
    assert fitted.temperature == 1


def test_posteriors_that_say_nothing_have_no_best_temperature() -> None:
    fitted: Any = Temperature().fit([0.3, 0.3, 0.7, 0.7], [0, 1, 0, 1])
    assert not fitted.converged
    assert_allclose(fitted([0.3, 0.7]), 0.5, atol=1e-3)


# Rare classes, small weights, far scores ---------------------------------------------------------


@each
def test_nearly_all_cases_on_the_right_side_and_a_tie_leave_no_optimum(
    calibrator: Calibrator,
) -> None:
    q, y = np.array([0.3, 0.3] + [0.7] * 2000), np.array([0, 1] + [1] * 2000)
    fitted = calibrator.fit(q, y)
    assert_finite(fitted, q)
    if not isinstance(calibrator, Temperature):
        assert not fitted.converged
        assert_allclose(fitted([0.3]), 0.5, atol=0.01)


@each_affine
@pytest.mark.parametrize("n_cases", [2000, 200_000])
def test_a_tie_next_to_very_many_certain_cases_is_no_optimum(
    calibrator: Calibrator, n_cases: int
) -> None:
    weights = [1, 1, n_cases]
    assert not calibrator.fit([0.3, 0.3, 0.7], [0, 1, 1], weights=weights).converged


@pytest.mark.parametrize(("rank", "weight"), [(300, 1), (1700, 500), (1850, 500), (1550, 1e5)])
def test_a_beta_map_that_may_not_fall_has_an_optimum_where_one_that_may_has_none(
    rank: int, weight: float
) -> None:
    """One positive on a bent curve is apart from all others, but not by a map that rises."""
    q = np.random.default_rng(0).random(2000)
    y = np.zeros(2000, dtype=np.intp)
    y[np.argsort(q)[rank]] = 1
    weights = np.where(y == 1, 1.0, weight)
    fitted: Any = BetaMap().fit(q, y, weights=weights)
    assert fitted.converged
    assert not FullAffine().fit(q, y, weights=weights).converged
    surplus = weights * (fitted(q) - y)
    assert abs(surplus.sum()) < 1e-6
    for slope, feature in ((fitted.a, np.log(q)), (fitted.b, -np.log1p(-q))):
        pull = surplus @ feature
        assert pull > -1e-6  # a larger slope gains nothing
        assert slope == 0 or abs(pull) < 1e-6


@pytest.mark.parametrize("rare", [1e-6, 1e-11, 1e-15])
def test_a_prior_may_be_as_rare_as_it_likes(rare: float) -> None:
    rng = np.random.default_rng(0)
    odds = rng.normal(size=2000)
    q, y = 1 / (1 + np.exp(-odds)), (rng.random(2000) < 1 / (1 + np.exp(-odds))).astype(np.intp)
    fitted: Any = Affine().fit(q, y, prior=[1 - rare, rare])
    assert fitted.converged
    assert fitted.slope == pytest.approx(0.9537631, rel=1e-5)
    for calibrator in (BetaMap(), VectorScaling(), FullAffine()):
        assert calibrator.fit(q, y, prior=[1 - rare, rare]).converged


@pytest.mark.parametrize("weight", [1e-3, 1e-6, 1e-10, 1e-14])
def test_an_optimum_that_cases_of_little_weight_make_is_found(weight: float) -> None:
    weights = [1, weight, weight, 1]
    fitted: Any = Logistic().fit([-1.5, -0.5, 0.5, 1.5], [0, 1, 0, 1], weights=weights)
    assert fitted.converged
    right, wrong = 1 / (1 + np.exp([1.5 * fitted.slope, -0.5 * fitted.slope]))
    assert 1.5 * right == pytest.approx(0.5 * weight * wrong, rel=1e-9)
    assert fitted.intercept == pytest.approx(0, abs=1e-9)


def test_scores_too_close_together_for_a_slope_are_bounded() -> None:
    fitted: Any = Logistic().fit([-2e-310, 1e-310, -1e-310, 2e-310], [0, 0, 1, 1])
    assert not fitted.converged
    assert np.isfinite([fitted.slope, fitted.intercept]).all()
    assert fitted([0.0]) == pytest.approx(0.5)
    assert_allclose(fitted([-1.0, 1e300, -1e300]), [0, 1, 0])


def test_scores_that_lie_immensely_far_out_leave_a_finite_fit() -> None:
    rng = np.random.default_rng(0)
    x = np.append(rng.normal(size=200), [1e20, -1e20])
    y = np.append(rng.integers(0, 2, 200), [1, 0])
    fitted = Logistic().fit(x, y)
    assert_finite(fitted, x)


# Where fits start, and what they report ----------------------------------------------------------


@pytest.mark.parametrize(
    "calibrator", [Affine(), BetaMap(), VectorScaling(), FullAffine()], ids=name_of
)
def test_a_start_on_a_part_of_the_cases_changes_nothing(
    calibrator: Calibrator, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(2)
    q = rng.random(3000)
    y = (rng.random(3000) < q**2).astype(np.intp)
    lonely = np.zeros(3000, dtype=np.intp)
    lonely[[1, 1001, 2001]] = 1  # none of them in the part
    plain = [calibrator.fit(q, labels) for labels in (y, lonely)]
    monkeypatch.setattr(fitting, "_SAMPLE", 300)
    for labels, fitted in zip((y, lonely), plain, strict=True):
        again = calibrator.fit(q, labels)
        assert again.converged == fitted.converged
        assert_allclose(again(q), fitted(q), rtol=1e-7)


@pytest.mark.parametrize("constant", [False, True], ids=["broad", "one class constant"])
def test_many_classes_are_fitted_class_by_class_as_few_are_together(
    constant: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With 40 classes; where one has the same posterior in all cases, its slope says nothing."""
    rng = np.random.default_rng(5)
    y = rng.integers(0, 40, 1600)
    logits = rng.normal(size=(1600, 40))
    logits[np.arange(1600), y] += 2
    q = np.exp(1.5 * logits)
    q[:, 0] = (0.1 if constant else 1.0) * q[:, 0]
    q /= q.sum(axis=1, keepdims=True)
    if constant:
        q[:, 1:] *= 0.99 / q[:, 1:].sum(axis=1, keepdims=True)
        q[:, 0] = 0.01
    weights = rng.uniform(0.5, 2, 1600)
    calls: list[str] = []
    fit_each_class = multiclass._fit_each_class

    def counted(*arguments: Any) -> Any:
        calls.append("each")
        return fit_each_class(*arguments)

    monkeypatch.setattr(multiclass, "_fit_each_class", counted)
    many = VectorScaling().fit(q, y, weights=weights)
    assert calls == ([] if constant else ["each"])
    monkeypatch.setattr(multiclass, "_MANY", 1000)
    together = VectorScaling().fit(q, y, weights=weights)
    assert many.converged
    assert together.converged
    assert_allclose(many.slopes, together.slopes, rtol=1e-7, atol=1e-9)
    assert_allclose(many(q), together(q), rtol=1e-7)


@pytest.mark.parametrize("y", [[0, 1, 0, 1, 1], [0, 0, 1, 1, 1]])
def test_the_loss_of_a_fit_is_that_of_the_parameters_it_returns(y: list[int]) -> None:
    x, positive = np.array([[-1.0, 0, 0.5, 2, 3]]), np.array(y, dtype=np.float64)
    fit = fit_logistic(x, 1 - positive, positive)
    odds = fit.intercept + fit.slopes @ x
    expected = np.mean(np.logaddexp(0, odds) - positive * odds)
    assert fit.loss == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    ("design", "features", "size"),
    [
        (multiclass._OwnFeature, np.array([[1.0], [0.0]]), 4),
        (multiclass._SharedFeatures, np.ones((1, 1)), 1),
    ],
)
def test_derivatives_of_cases_that_are_all_but_certain_keep_their_digits(
    design: Any, features: FloatArray, size: int
) -> None:
    """A case of two classes with log-odds t has the slope −exp(−t) and the curvature exp(−t)."""
    objective = multiclass._objective(design, features, np.array([1]), np.ones(1))
    unit = np.eye(size)[-1]
    here = objective.at(50.0 * unit)
    assert_allclose(here.loss, np.exp(-50), rtol=1e-12)
    assert_allclose(here.gradient[-1], -np.exp(-50), rtol=1e-12)
    assert_allclose(here.product(unit)[-1], np.exp(-50), rtol=1e-12)


@each
def test_weights_over_the_whole_range_of_float64_leave_a_finite_fit(calibrator: Calibrator) -> None:
    for seed in range(12):
        q, y = few_cases(seed, 2)
        weights = 10 ** np.random.default_rng(seed).uniform(-150, 100, y.size)
        fitted = calibrator.fit(scores_for(calibrator, q), y, weights=weights)
        assert_finite(fitted, scores_for(calibrator, q))
