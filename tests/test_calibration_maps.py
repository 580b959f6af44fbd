"""Calibrators: the contract that all of them keep, slow twins, and data that have no best fit."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.optimize import minimize, minimize_scalar

from stakes import Problem, evaluate, ranking, scoring, shift_prior
from stakes._check import FloatArray, IntArray
from stakes.calibration import (
    Affine,
    BetaMap,
    CalibrationMap,
    Calibrator,
    FullAffine,
    Histogram,
    Identity,
    Isotonic,
    Logistic,
    OneVsRestIsotonic,
    Platt,
    Temperature,
    VectorScaling,
    cross_calibrate,
    from_json,
    logistic,
)
from stakes.calibration import affine as multiclass
from stakes.calibration import logistic as fitting
from stakes.calibration.calibrator import FittedIdentity
from stakes.calibration.crossfit import fold_numbers
from stakes.errors import InputError
from stakes.tally import ScoreTable
from stakes.tally import score_table as bucket_sort

inf = math.inf

# What takes posteriors of two classes, and of these, what takes more.
BINARY: dict[str, Calibrator] = {
    "isotonic": Isotonic(),
    "affine": Affine(),
    "logistic": Logistic(),
    "platt": Platt(),
    "beta": BetaMap(),
    "histogram": Histogram(scoring.EqualMass(4)),
}
MANY: dict[str, Calibrator] = {
    "temperature": Temperature(),
    "vector": VectorScaling(),
    "full affine": FullAffine(),
    "one vs rest": OneVsRestIsotonic(),
}
ALL = {**BINARY, **MANY}
every_calibrator = pytest.mark.parametrize("calibrator", ALL.values(), ids=ALL)
many_classes = pytest.mark.parametrize("calibrator", MANY.values(), ids=MANY)
fitted_by_likelihood = pytest.mark.parametrize(
    "calibrator", [Affine(), Logistic(), BetaMap(), Temperature(), VectorScaling(), FullAffine()]
)


def two_classes(n: int, seed: int, *, slope: float = 0.6) -> tuple[FloatArray, IntArray]:
    """Overconfident, biased posteriors, and the classes of the cases."""
    rng = np.random.default_rng(seed)
    odds = rng.normal(scale=2.0, size=n)
    y = (rng.random(n) < 1 / (1 + np.exp(-slope * odds + 0.5))).astype(np.intp)
    return 1 / (1 + np.exp(-odds)), y


def three_classes(n: int, seed: int) -> tuple[FloatArray, IntArray]:
    """The same for three classes: sharpened posteriors with a bias."""
    rng = np.random.default_rng(seed)
    truth = rng.dirichlet([1.0, 1.0, 1.0], n)
    y = (rng.random(n)[:, None] > np.cumsum(truth, axis=1)).sum(axis=1)
    sharp = truth**1.7 * [1.0, 2.0, 0.5]
    return sharp / sharp.sum(axis=1, keepdims=True), y


def log_loss(y: Any, q: Any, weights: Any = None) -> float:
    return scoring.mean_score(y, q, scoring.LogLoss(), weights=weights)


def data_for(calibrator: Calibrator, n: int = 300, seed: int = 0) -> tuple[FloatArray, IntArray]:
    return three_classes(n, seed) if calibrator in MANY.values() else two_classes(n, seed)


# The contract ------------------------------------------------------------------------------------


@every_calibrator
def test_a_fitted_map_gives_posteriors_in_the_shape_of_the_scores(calibrator: Calibrator) -> None:
    scores, y = data_for(calibrator)
    posteriors = calibrator.fit(scores, y)(scores)
    assert posteriors.shape == scores.shape
    assert ((posteriors >= 0) & (posteriors <= 1)).all()
    if posteriors.ndim == 2:
        assert_allclose(posteriors.sum(axis=1), 1)
    before, after = (scoring.mean_score(y, q, scoring.Brier()) for q in (scores, posteriors))
    assert after < before


@pytest.mark.parametrize(
    "calibrator", [Affine(), BetaMap(), *MANY.values()], ids=lambda c: type(c).__name__
)
def test_two_classes_may_come_as_one_column_or_as_two(calibrator: Calibrator) -> None:
    q, y = two_classes(200, 1)
    pairs = np.stack([1 - q, q], axis=1)
    single, double = calibrator.fit(q, y), calibrator.fit(pairs, y)
    assert_allclose(single(q), double(pairs)[:, 1], rtol=1e-9)
    assert_allclose(double(pairs).sum(axis=1), 1)


@every_calibrator
def test_maps_travel_as_json_and_arrive_as_they_were(calibrator: Calibrator) -> None:
    scores, y = data_for(calibrator)
    names = np.array(["no", "yes"] if scores.ndim == 1 else ["x", "y", "z"])
    fitted = calibrator.fit(scores, names[y], classes=names.tolist(), prior=None)
    read = from_json(fitted.to_json())
    assert read == fitted
    assert hash(read) == hash(fitted)
    assert read.classes == tuple(names.tolist())
    assert np.array_equal(read(scores), fitted(scores))
    assert json.loads(fitted.to_json())["version"] == 1


@every_calibrator
def test_maps_and_calibrators_are_frozen_values(calibrator: Calibrator) -> None:
    scores, y = data_for(calibrator)
    first, second = calibrator.fit(scores, y), calibrator.fit(scores, y)
    assert first == second
    with pytest.raises(AttributeError):
        first.converged = False
    for part in vars(first).values():
        assert not isinstance(part, np.ndarray) or not part.flags.writeable


@every_calibrator
def test_weight_is_repetition_and_weight_zero_is_absence(calibrator: Calibrator) -> None:
    scores, y = data_for(calibrator, n=60)
    weights = np.random.default_rng(5).integers(0, 4, 60)
    weights[:6] = 1
    often = np.repeat(np.arange(60), weights)[::-1]
    weighted = calibrator.fit(scores, y, weights=weights)
    repeated = calibrator.fit(scores[often], y[often])
    assert_allclose(weighted(scores), repeated(scores), rtol=1e-6, atol=1e-9)


@every_calibrator
def test_a_prior_weighs_the_classes(calibrator: Calibrator) -> None:
    scores, y = data_for(calibrator)
    size = scores.shape[1] if scores.ndim == 2 else 2
    prior = np.array([0.7, 0.3] if size == 2 else [0.5, 0.3, 0.2])
    shares = np.bincount(y) / y.size
    fitted: CalibrationMap = calibrator.fit(scores, y, prior=prior)
    by_hand: CalibrationMap
    if isinstance(calibrator, Temperature):  # has no intercept: it moves the scores first
        moved = shift_prior(scores, shares, prior)
        by_hand = calibrator.fit(moved, y, weights=(prior / shares)[y])
        assert_allclose(fitted(scores), by_hand(moved), rtol=1e-7)
    else:
        by_hand = calibrator.fit(scores, y, weights=(prior / shares)[y])
        assert_allclose(fitted(scores), by_hand(scores), rtol=1e-6, atol=1e-12)
    same = calibrator.fit(scores, y, prior=shares)
    assert_allclose(same(scores), calibrator.fit(scores, y)(scores), rtol=1e-6, atol=1e-12)


def test_an_isotonic_fit_for_a_prior_is_the_plain_fit_moved_to_it() -> None:
    scores, y = two_classes(400, 7)
    prior, shares = [0.95, 0.05], np.bincount(y) / y.size
    moved = shift_prior(Isotonic().fit(scores, y)(scores), shares, prior)
    assert_allclose(Isotonic().fit(scores, y, prior=prior)(scores), moved, atol=1e-12)


@every_calibrator
def test_labels_are_named_or_count_from_zero(calibrator: Calibrator) -> None:
    scores, y = data_for(calibrator, n=90)
    size = scores.shape[1] if scores.ndim == 2 else 2
    names = np.array(["b", "c", "a"][:size])
    with pytest.raises(InputError, match="classes must be stated"):
        calibrator.fit(scores, names[y])
    named = calibrator.fit(scores, names[y], classes=names.tolist())
    assert np.array_equal(named(scores), calibrator.fit(scores, y)(scores))
    if size == 2:
        truth = calibrator.fit(scores, y.astype(bool))
        assert np.array_equal(truth(scores), named(scores))


@every_calibrator
def test_a_class_without_cases_cannot_be_learnt(calibrator: Calibrator) -> None:
    scores, y = data_for(calibrator, n=40)
    size = scores.shape[1] if scores.ndim == 2 else 2
    with pytest.raises(InputError, match="y must hold cases of every class; there is none of 0"):
        calibrator.fit(scores, np.full(40, size - 1))
    with pytest.raises(InputError, match="y must hold cases of every class"):
        calibrator.fit(scores[:1], y[:1])
    with pytest.raises(InputError, match="there is none of 0"):
        calibrator.fit(scores, y, weights=np.where(y == 0, 0, 1))


@every_calibrator
def test_bad_input_is_refused_with_its_name(calibrator: Calibrator) -> None:
    scores, y = data_for(calibrator, n=40)
    with pytest.raises(InputError, match="scores"):
        calibrator.fit(
            np.where(np.arange(scores.size).reshape(scores.shape) == 3, np.nan, scores), y
        )
    with pytest.raises(InputError, match="must describe the same cases"):
        calibrator.fit(scores[:-1], y)
    with pytest.raises(InputError, match="prior must be positive"):
        calibrator.fit(
            scores, y, prior=[1.0, 0.0, 0.0][: scores.shape[-1] if scores.ndim == 2 else 2]
        )
    with pytest.raises(InputError, match="weights"):
        calibrator.fit(scores, y, weights=-np.ones(40))
    fitted = calibrator.fit(scores, y)
    with pytest.raises(InputError, match="scores"):
        fitted(np.full_like(scores, np.nan))


def test_maps_of_posteriors_refuse_invalid_scores() -> None:
    for calibrator in (Affine(), BetaMap(), Temperature(), FullAffine()):
        with pytest.raises(InputError, match="probabilities in"):
            calibrator.fit([-1.0, 2.0, 0.5], [0, 1, 1])
    with pytest.raises(InputError, match="two or more classes"):
        Temperature().fit([[1.0], [1.0]], [0, 0])
    with pytest.raises(InputError, match="finite"):
        Logistic().fit([-inf, 0.0, 1.0], [0, 1, 0])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda body: "{", "must be JSON"),
        (lambda body: "[1]", "must be the JSON of a calibration map"),
        (lambda body: json.dumps({**body, "format": "other"}), "must be a calibration map"),
        (
            lambda body: json.dumps({**body, "version": 2}),
            "must be of version 1; it is of version 2",
        ),
        (lambda body: json.dumps({**body, "kind": "magic"}), "kind must be one of .*affine"),
        (lambda body: json.dumps({**body, "more": 1}), "'more' is odd"),
    ],
)
def test_text_that_is_no_map_is_refused(change: Callable[[Any], str], message: str) -> None:
    body = json.loads(Affine().fit([0.2, 0.3, 0.6], [0, 1, 0]).to_json())
    with pytest.raises(InputError, match=message):
        from_json(change(body))


# Isotonic ----------------------------------------------------------------------------------------

tied = st.sampled_from([-inf, -2.0, 0.0, 0.1, 0.25, 0.5, 3.0, inf])
cases = st.lists(
    st.tuples(st.integers(0, 1), tied, st.sampled_from([1.0, 2.0, 0.3])), min_size=1, max_size=25
).map(lambda rows: [(0, 0.1, 1.0), (1, 0.25, 2.0), *rows])


def slow_pav(rows: list[tuple[int, float, float]]) -> dict[float, float]:
    """Pool adjacent violators, one block at a time."""
    blocks: list[list[Any]] = []
    for score in sorted({row[1] for row in rows}):
        ties = [row for row in rows if row[1] == score]
        mass = sum(row[2] for row in ties)
        blocks.append([[score], sum(row[0] * row[2] for row in ties), mass])
        while len(blocks) > 1 and blocks[-2][1] * blocks[-1][2] >= blocks[-1][1] * blocks[-2][2]:
            scores, hits, mass = blocks.pop()
            blocks[-1] = [blocks[-1][0] + scores, blocks[-1][1] + hits, blocks[-1][2] + mass]
    return {score: hits / mass for scores, hits, mass in blocks for score in scores}


@given(cases)
def test_H11_isotonic_regression_gives_the_slopes_of_the_hull(
    rows: list[tuple[int, float, float]],
) -> None:
    y, scores, weights = (list(column) for column in zip(*rows, strict=True))
    fitted = Isotonic().fit(scores, y, weights=weights)
    slow = slow_pav(rows)
    assert_allclose(fitted(list(slow)), list(slow.values()), atol=1e-12)
    table = ScoreTable.from_scores(y, scores, weights=weights)
    pooled = ranking.isotonic(table)
    assert_allclose(np.unique(fitted(scores).round(12)), np.unique(pooled.scores.round(12)))
    hull = ranking.roc_hull(table)
    rise, run = -np.diff(hull.hit_rate), -np.diff(hull.false_alarm_rate)
    shares = table.shares
    slopes = rise * shares[1] / (rise * shares[1] + run * shares[0])
    assert_allclose(pooled.scores, slopes, atol=1e-12)
    assert_allclose(ranking.auc(pooled), ranking.auc_of_hull(table), atol=1e-12)


@given(cases, st.integers(0, 2**32 - 1))
def test_H11_no_rising_map_has_a_smaller_value_of_any_proper_score(
    rows: list[tuple[int, float, float]], seed: int
) -> None:
    y, scores, weights = (np.array(column) for column in zip(*rows, strict=True))
    best = Isotonic().fit(scores, y, weights=weights)(scores)
    distinct, place = np.unique(scores, return_inverse=True)
    rng = np.random.default_rng(seed)
    rising = np.sort(rng.choice([0.0, 0.01, 0.2, 0.5, rng.random(), 1.0], distinct.size))[place]
    for rule in (
        scoring.LogLoss(),
        scoring.HalfBrier(),
        scoring.Spherical(),
        scoring.BetaScore(-0.5, 2),
    ):
        least = scoring.mean_score(y, best, rule, weights=weights)
        assert least <= scoring.mean_score(y, rising, rule, weights=weights) + 1e-12


def test_isotonic_is_linear_between_blocks_flat_outside_and_knows_infinities() -> None:
    fitted = Isotonic().fit([-inf, 0.0, 1.0, 2.0, inf], [0, 0, 1, 1, 1], weights=[1, 1, 1, 1, 1])
    assert fitted([-inf, -5.0, 0.25, 1.5, 9.0, inf]).tolist() == [0, 0, 0.25, 1, 1, 1]
    only = Isotonic().fit([-inf, inf, inf], [0, 1, 0])
    assert only([-inf, -1.0, 1.0, inf]).tolist() == [0, 0, 0.5, 0.5]


def test_sorting_in_buckets_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(2)
    smooth = rng.normal(size=3000)
    for scores in (smooth, smooth.round(2), smooth**9, np.append(smooth, [inf, -inf]), np.ones(9)):
        y, weights = rng.integers(0, 2, scores.size), rng.random(scores.size) + 0.5
        once = Isotonic().fit(scores, y, weights=weights)
        with monkeypatch.context() as patched:
            patched.setattr(bucket_sort, "_MANY", 256)
            twice = Isotonic().fit(scores, y, weights=weights)
        assert np.array_equal(once.knots, twice.knots)
        assert np.array_equal(once.values, twice.values)


# Fits by likelihood ------------------------------------------------------------------------------


def objectives(x: FloatArray, y: IntArray, weights: FloatArray) -> dict[str, fitting.Objective]:
    """Of features (3, n) and three classes, as a function of 4 or 6 parameters."""
    return {
        "logistic": logistic._logistic(x, weights * (y != 1), weights * (y == 1)),
        "own feature": multiclass._objective(multiclass._OwnFeature, x, y, weights),
        "shared features": multiclass._objective(multiclass._SharedFeatures, x, y, weights),
    }


@pytest.mark.parametrize("scale", [0.0, 1.0, 20.0])
@pytest.mark.parametrize("name", ["logistic", "own feature", "shared features"])
def test_derivatives_are_the_limits_of_differences(
    name: str, scale: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(4)
    cases = rng.normal(size=(3, 40)), rng.integers(0, 3, 40), rng.dirichlet(np.ones(40))
    objective, size = objectives(*cases)[name], 4 if name == "logistic" else 6
    point = scale * rng.normal(size=size)
    here = objective.at(point)
    steps = 1e-6 * np.eye(size)
    ends = [(objective.at(point + step), objective.at(point - step)) for step in steps]
    assert_allclose(here.gradient, [(b.loss - a.loss) / 2e-6 for b, a in ends], atol=1e-7)
    second = [(b.gradient - a.gradient) / 2e-6 for b, a in ends]
    products = np.array([here.product(step) for step in np.eye(size)])
    assert_allclose(products, second, atol=1e-7)
    for number, block in enumerate(here.rough()):
        rows_of_block = slice(number * len(block), (number + 1) * len(block))
        assert_allclose(block, products[rows_of_block, rows_of_block], atol=1e-12)
    for module in (logistic, multiclass):
        monkeypatch.setattr(module, "_BLOCK", 20)
    in_blocks = objectives(*cases)[name].at(point)
    assert_allclose(in_blocks.loss, here.loss, rtol=1e-12)
    assert_allclose(in_blocks.gradient, here.gradient, rtol=1e-12, atol=1e-15)
    assert_allclose(in_blocks.product(steps[1]), here.product(steps[1]), rtol=1e-12, atol=1e-20)


@given(st.integers(0, 2**32 - 1), st.booleans())
def test_affine_fits_meet_the_equations_of_maximum_likelihood(seed: int, weighted: bool) -> None:
    q, y = two_classes(80, seed)
    weights = np.random.default_rng(seed).random(80) if weighted else np.ones(80)
    odds = np.log(q / (1 - q))
    for calibrator, scores in ((Affine(), q), (Logistic(), odds)):
        fitted: Any = calibrator.fit(scores, y, weights=weights)
        assert fitted.converged
        surplus = weights * (fitted(scores) - y)
        assert abs(surplus.sum()) < 1e-8
        assert abs(surplus @ odds) < 1e-7


def test_affine_finds_the_line_that_made_the_data() -> None:
    q, y = two_classes(300_000, 11)  # also beyond where a part of the rows gives the start
    fitted: Any = Affine().fit(q, y)
    assert fitted.slope == pytest.approx(0.6, abs=0.02)
    assert fitted.intercept == pytest.approx(-0.5, abs=0.02)
    surplus = fitted(q) - y
    assert abs(surplus.mean()) < 1e-11
    assert abs(np.mean(surplus * np.log(q / (1 - q)))) < 1e-11


def test_platt_draws_the_targets_in() -> None:
    q, y = two_classes(50, 3)
    odds = np.log(q / (1 - q))
    n1 = y.sum()
    n0 = y.size - n1
    target = np.where(y == 1, (n1 + 1) / (n1 + 2), 1 / (n0 + 2))
    surplus = Platt().fit(odds, y)(odds) - target
    assert abs(surplus.sum()) < 1e-9
    assert abs(surplus @ odds) < 1e-9


@given(st.integers(0, 2**32 - 1))
def test_beta_maps_are_the_best_that_do_not_fall(seed: int) -> None:
    q, y = two_classes(60, seed, slope=0.15)  # weak data, so that bounds are often met
    fitted: Any = BetaMap().fit(q, y)
    assert fitted.a >= 0
    assert fitted.b >= 0

    design = np.stack([np.log(q), -np.log1p(-q), np.ones(60)])

    def loss(parameters: FloatArray) -> tuple[float, FloatArray]:
        z = parameters @ design
        surplus = 1 / (1 + np.exp(-z)) - y
        return float(np.mean(np.logaddexp(0, z) - y * z)), design @ surplus / 60

    bounds = [(0, None), (0, None), (None, None)]
    optimum = minimize(loss, [0.5, 0.5, 0.0], jac=True, method="L-BFGS-B", bounds=bounds)
    assert loss(np.array([fitted.a, fitted.b, fitted.intercept]))[0] <= optimum.fun + 1e-9


def test_the_best_temperature_is_where_the_log_loss_is_least() -> None:
    for scores, y in (three_classes(400, 4), two_classes(400, 4)):
        fitted: Any = Temperature().fit(scores, y)
        rows = scores if scores.ndim == 2 else np.stack([1 - scores, scores], axis=1)

        def loss(log_t: float, rows: FloatArray = rows, y: IntArray = y) -> float:
            scaled = np.log(rows) / np.exp(log_t)
            return float(np.mean(np.logaddexp.reduce(scaled, axis=1) - scaled[np.arange(400), y]))

        optimum = minimize_scalar(loss, bounds=(-3, 3), options={"xatol": 1e-10})
        assert fitted.temperature == pytest.approx(np.exp(optimum.x), rel=1e-6)
        assert fitted.converged


@pytest.mark.parametrize("calibrator", [VectorScaling(), FullAffine()])
def test_affine_maps_of_many_classes_have_the_least_log_loss(calibrator: Calibrator) -> None:
    q, y = three_classes(300, 9)
    weights = np.random.default_rng(1).random(300)
    fitted: Any = calibrator.fit(q, y, weights=weights)
    assert fitted.converged
    vector = isinstance(calibrator, VectorScaling)

    def loss(flat: FloatArray) -> float:
        slopes = np.diag(flat[:3]) if vector else flat[:9].reshape(3, 3)
        logits = np.log(q) @ slopes.T + flat[-3:]
        losses = np.logaddexp.reduce(logits, axis=1) - logits[np.arange(300), y]
        return float(np.average(losses, weights=weights))

    slow = minimize(loss, np.zeros(6 if vector else 12), method="BFGS", options={"gtol": 1e-8})
    assert log_loss(y, fitted(q), weights) <= slow.fun + 1e-10
    parameters = np.append(fitted.slopes if vector else fitted.matrix.ravel(), fitted.intercepts)
    assert loss(parameters) == pytest.approx(log_loss(y, fitted(q), weights), abs=1e-12)


def test_a_full_map_of_classes_that_are_apart_is_bounded() -> None:
    _, y = three_classes(500, 8)
    apart = np.full((500, 3), 0.1)
    apart[np.arange(500), y] = 0.8
    bounded = FullAffine().fit(apart, y)
    assert not bounded.converged
    assert np.isfinite(bounded.matrix).all()
    assert (bounded(apart)[np.arange(500), y] > 0.99).all()


def test_one_vs_rest_normalises_the_isotonic_maps_of_the_columns() -> None:
    q, y = three_classes(100, 2)
    fitted = OneVsRestIsotonic().fit(q, y)
    columns = np.stack([Isotonic().fit(q[:, k], y == k)(q[:, k]) for k in range(3)], axis=1)
    assert_allclose(fitted(q), columns / columns.sum(axis=1, keepdims=True))
    lost = OneVsRestIsotonic().fit([[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]], [0, 1, 2])
    assert_allclose(lost([[1 / 3, 1 / 3, 1 / 3]]).sum(), 1)
    assert_allclose(lost([[0.1, 0.1, 0.8]]), [[0, 0, 1]])


def test_a_histogram_is_the_share_of_positives_in_each_bin() -> None:
    scores, y = [0.05, 0.1, 0.15, 0.55, 0.6, 0.95], [0, 1, 0, 1, 0, 1]
    fitted: Any = Histogram(scoring.EqualWidth(10)).fit(scores, y, weights=[1, 1, 2, 1, 3, 1])
    assert fitted.values[[0, 1, 5, 9]].tolist() == [0.5, 0.0, 0.25, 1.0]
    assert fitted.values[3] == pytest.approx(0.125)  # empty: between its neighbours
    assert fitted([0.1, 0.100001, 2.0, -inf]).tolist() == [0.5, 0.0, 1.0, 0.5]
    with pytest.raises(InputError, match="bins must be EqualWidth"):
        Histogram(scoring.HullBins())  # type: ignore[arg-type]


# Where there is no best fit ----------------------------------------------------------------------


@fitted_by_likelihood
def test_separable_data_get_a_bounded_fit_that_says_so(calibrator: Calibrator) -> None:
    q = np.array([0.1, 0.2, 0.3, 0.7, 0.8])
    fitted = calibrator.fit(q, [0, 0, 0, 1, 1])
    assert not fitted.converged
    posteriors = fitted(q)
    assert ((posteriors > 0) & (posteriors < 1)).all()
    assert (posteriors[:3] < 1e-3).all()
    assert (posteriors[3:] > 0.999).all()
    for part in vars(fitted).values():
        assert not isinstance(part, float | np.ndarray) or np.isfinite(part).all()


@pytest.mark.parametrize(
    "calibrator",
    [Isotonic(), Platt(), Histogram(scoring.EqualMass(5)), OneVsRestIsotonic()],
    ids=lambda calibrator: type(calibrator).__name__,
)
def test_separable_data_have_a_best_fit_that_is_not_of_likelihood(calibrator: Calibrator) -> None:
    q, y = np.array([0.1, 0.2, 0.3, 0.7, 0.8]), np.array([0, 0, 0, 1, 1])
    fitted = calibrator.fit(q, y)
    assert fitted.converged
    assert_allclose(fitted(q), y, atol=0.35 if isinstance(calibrator, Platt) else 0)


@pytest.mark.parametrize("weight", [1, 1e-4, 1e-8])
def test_separable_data_whose_edge_is_tied_are_separable_still(weight: float) -> None:
    weights = [weight, 1, 1, weight]
    fitted = Logistic().fit([0.0, 1.0, 1.0, 2.0], [0, 0, 1, 1], weights=weights)
    assert not fitted.converged
    assert fitted([1.0])[0] == pytest.approx(0.5, abs=1e-4)


@pytest.mark.parametrize("slope", [10, 100, 1000])
def test_an_optimum_that_is_far_away_is_found(slope: float) -> None:
    """A few cases overlap, and the forecasts of all others are next to certain."""
    rng = np.random.default_rng(0)
    x = rng.normal(scale=2, size=3000)
    y = rng.random(3000) < 1 / (1 + np.exp(-np.clip(slope * x - 2, -500, 500)))
    for calibrator in (Logistic(), Affine(), VectorScaling(), FullAffine()):
        scores = x if isinstance(calibrator, Logistic) else 1 / (1 + np.exp(-x))
        fitted = calibrator.fit(scores, y)
        assert fitted.converged
        surplus = fitted(scores) - y
        assert abs(surplus.sum()) < 1e-8
        assert abs(surplus @ x) < 1e-8


def test_a_class_that_is_apart_makes_the_fit_of_many_classes_run_away() -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 600)
    logits = np.stack([np.zeros(600), rng.normal(size=600) + (y == 1), 6.0 * (y == 2) - 3], axis=1)
    logits += rng.normal(scale=0.3, size=logits.shape)
    q = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    for calibrator in (VectorScaling(), FullAffine()):
        fitted = calibrator.fit(q, y)
        assert not fitted.converged
        assert log_loss(y, fitted(q)) < log_loss(y, Temperature().fit(q, y)(q))
        assert (fitted(q)[y == 2, 2] > 0.99).all()
    assert Temperature().fit(q, y).converged


def test_scores_that_point_the_wrong_way_are_turned_or_ignored() -> None:
    q, y = two_classes(500, 6)
    turned: Any = Affine().fit(1 - q, y)
    assert turned.slope < 0
    assert turned.converged
    flat: Any = BetaMap().fit(1 - q, y)
    assert (flat.a, flat.b) == (0, 0)
    assert_allclose(flat([0.1, 0.9]), y.mean())
    warm: Any = Temperature().fit(1 - q, y)
    assert not warm.converged
    assert_allclose(warm([0.1, 0.9]), 0.5, atol=1e-3)


@pytest.mark.parametrize("calibrator", [*BINARY.values()], ids=BINARY)
def test_constant_scores_give_the_share_of_positives(calibrator: Calibrator) -> None:
    fitted = calibrator.fit([0.3] * 8, [0, 0, 0, 1] * 2)
    assert fitted.converged
    expected = (2 * 3 / 4 + 6 * 1 / 8) / 8 if isinstance(calibrator, Platt) else 0.25
    assert_allclose(fitted([0.3, 0.3]), expected, rtol=1e-9)


@many_classes
def test_constant_posteriors_of_many_classes_give_the_shares(calibrator: Calibrator) -> None:
    q = np.tile([0.5, 0.3, 0.2], (8, 1))
    y = [0, 0, 1, 2, 0, 0, 1, 2]
    fitted = calibrator.fit(q, y)
    if not isinstance(calibrator, Temperature):
        assert_allclose(fitted(q)[0], [0.5, 0.25, 0.25], rtol=1e-7)
    else:  # one number cannot give three shares, but the best power of these posteriors
        powers = [q[0] ** (1 / t) for t in np.linspace(0.5, 3, 500)]
        losses = [log_loss(y, np.tile(power / power.sum(), (8, 1))) for power in powers]
        assert log_loss(y, fitted(q)) <= min(losses) + 1e-12
        assert fitted.converged


@every_calibrator
def test_posteriors_of_exactly_zero_and_one_are_taken(calibrator: Calibrator) -> None:
    q, y = two_classes(400, 5)
    q[:20], q[20:40] = 0.0, 1.0  # some of them wrong
    fitted = calibrator.fit(q, y)
    posteriors = fitted(q)
    assert np.isfinite(posteriors).all()
    assert fitted.converged
    assert np.isfinite(log_loss(y, posteriors))
    assert fitted([0.0])[0] <= fitted([1e-200])[0] <= fitted([0.5])[0] <= fitted([1.0])[0]
    if not isinstance(calibrator, Isotonic | OneVsRestIsotonic):
        assert ((posteriors > 0) & (posteriors < 1)).all()
    assert log_loss(y, q) == inf


# Out of fold -------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Told(CalibrationMap):
    """Maps scores that the fit has seen to one, and others to zero."""

    kind: ClassVar[str] = "told"

    seen: frozenset[float]

    def __call__(self, scores: Any) -> FloatArray:
        return np.array([float(score in self.seen) for score in np.asarray(scores).tolist()])


@dataclass(frozen=True, eq=False)
class Spy(Calibrator):
    """Remembers the scores that it was fitted on, and gives new ones a recognisable posterior."""

    def fit(self, scores: Any, y: Any, **options: Any) -> Told:
        return Told(frozenset(np.asarray(scores).tolist()))


def test_no_case_is_mapped_by_a_fit_that_has_seen_it() -> None:
    y = np.tile([0, 1, 1], 20)
    scores = np.arange(60) / 60
    rng = np.random.default_rng(0)
    assert not cross_calibrate(scores, y, Spy(), 5, rng=rng).any()
    groups = np.arange(60) // 6
    tied = groups / 10.0  # cases of one group share a score, and must stay together
    assert not cross_calibrate(tied, y, Spy(), 5, clusters=groups, rng=rng).any()


@dataclass(frozen=True, eq=False)
class Wrong(Calibrator, CalibrationMap):
    """Gives an entry to every case, whatever its score."""

    kind: ClassVar[str] = "wrong"

    entry: Any

    def fit(self, scores: Any, y: Any, **options: Any) -> Wrong:
        return self

    def __call__(self, scores: Any) -> FloatArray:
        return np.array([self.entry] * len(np.asarray(scores)))


@pytest.mark.parametrize(
    ("size", "entry", "what"),
    [
        (2, math.nan, r"shape \(60,\) from nan to nan"),
        (2, 1.2, r"shape \(60,\) from 0 to 1.2"),
        (3, [0.5, 0.7, -0.2], r"shape \(60, 3\) from -0.2 to 0.7"),
        (3, [0.5, 0.3, 0.3], "sums off by 0.1"),
        (3, [0.5, 0.5], r"shape \(60, 2\)"),
        (3, 0.5, r"shape \(60,\)"),
    ],
)
def test_what_a_calibrator_of_the_user_gives_must_be_posteriors(
    size: int, entry: Any, what: str
) -> None:
    y, rows = np.arange(60) % size, np.full((60, size), 1 / size)
    with pytest.raises(InputError, match=f"calibrator must give posteriors.*{what}"):
        evaluate(y, {"m": rows}, Problem.zero_one(size), calibrator=Wrong(entry))


@given(st.integers(2, 7), st.integers(0, 2**32 - 1))
def test_folds_spread_every_class_as_evenly_as_possible(folds: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    codes = rng.permutation(np.repeat([0, 1, 2], [50, 17, 7]))
    number = fold_numbers(codes, folds, rng=rng)
    for k in range(3):
        sizes = np.bincount(number[codes == k], minlength=folds)
        assert sizes.max() - sizes.min() <= 1
    sizes = np.bincount(number, minlength=folds)
    assert sizes.max() - sizes.min() <= 1


def test_groups_stay_whole_and_rare_classes_are_spread_first() -> None:
    rng = np.random.default_rng(3)
    groups = rng.integers(0, 40, 400)
    codes = (groups % 8 == 0).astype(np.intp)
    number = fold_numbers(codes, 5, clusters=groups, rng=rng)
    assert all(np.unique(number[groups == group]).size == 1 for group in range(40))
    assert np.unique(number[codes == 1]).size == 5


@every_calibrator
def test_out_of_fold_posteriors_have_the_shape_of_fitted_ones(calibrator: Calibrator) -> None:
    scores, y = data_for(calibrator)
    weights = np.random.default_rng(0).random(len(y))
    posteriors = cross_calibrate(
        scores, y, calibrator, 4, weights=weights, rng=np.random.default_rng(0)
    )
    assert posteriors.shape == scores.shape
    again = cross_calibrate(scores, y, calibrator, 4, weights=weights, rng=np.random.default_rng(0))
    assert np.array_equal(posteriors, again)


def test_cross_calibration_refuses_folds_that_cannot_be() -> None:
    rng = np.random.default_rng(0)
    scores, y = two_classes(30, 0)
    for folds in (1, 31, 2.5):
        with pytest.raises(InputError, match="folds must be"):
            cross_calibrate(scores, y, Isotonic(), folds, rng=rng)
    lonely = np.zeros(30, dtype=int)
    lonely[4] = 1
    with pytest.raises(InputError, match=r"the cases of 1 are all in one"):
        cross_calibrate(scores, lonely, Isotonic(), 3, rng=rng)
    with pytest.raises(InputError, match="one entry or one row"):
        cross_calibrate(scores.reshape(5, 3, 2), y[:5], Isotonic(), 2, rng=rng)
    named = np.array(["no", "yes"])[y]
    mapped = cross_calibrate(
        scores, named, Affine(), 3, classes=["no", "yes"], prior={"no": 0.9, "yes": 0.1}, rng=rng
    )
    assert mapped.mean() < 0.3


# No calibration ----------------------------------------------------------------------------------


def test_identity_leaves_posteriors_as_they_are_to_the_last_bit() -> None:
    q, y = two_classes(50, 1)
    q[:2] = 0.0, 1.0
    rows = np.random.default_rng(0).dirichlet([1, 1, 1], 30)
    fitted = Identity().fit(q, y, weights=np.arange(50))
    assert (fitted(q) == q).all()
    assert fitted.monotone
    many = Identity().fit(rows, np.arange(30) % 3)
    assert (many(rows) == rows).all()
    assert not many.monotone


def test_identity_moves_posteriors_from_the_shares_of_the_data_to_a_prior() -> None:
    rows, prior = np.random.default_rng(0).dirichlet([1, 1, 1], 30), np.array([0.5, 0.3, 0.2])
    y = np.repeat([0, 1, 2], [5, 10, 15])
    weights = np.where(y == 2, 2.0, 1.0)
    shares = np.array([5, 10, 30]) / 45
    moved = rows * prior / shares
    fitted = Identity().fit(rows, y, weights=weights, prior=prior)
    assert_allclose(fitted(rows), moved / moved.sum(axis=1, keepdims=True))
    with pytest.raises(InputError, match=r"^scores must hold probabilities"):
        Identity().fit([-1.0, 2.0], [0, 1])


def test_posteriors_moved_by_an_engine_are_those_of_numpy():
    nw = pytest.importorskip("narwhals.stable.v2")
    pl = pytest.importorskip("polars")
    from stakes.adapters.lazy_decisions import second_class

    scores = np.array([0.0, 0.2, 0.7, 1.0])
    priors = {"from_prior": np.array([0.8, 0.2]), "to_prior": np.array([0.4, 0.6])}
    moved = FittedIdentity(**priors, classes=(0, 1), converged=True)
    frame = nw.from_native(pl.DataFrame({"p": scores}))
    moved_by_engine = frame.select(p=second_class(moved, nw.col("p")))["p"].to_numpy()
    np.testing.assert_allclose(moved_by_engine, scores * 3 / (scores * 3 + (1 - scores) / 2))


def test_a_newton_step_of_an_engine_that_is_too_long_is_taken_back():
    """On a hyperbola a step from x leads to −x³: away from the minimum, where x is above one."""
    newton_sums = pytest.importorskip("stakes.adapters.refits")

    class Hyperbola(newton_sums.Newton):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            self.at = np.array([[2.0], [0.5], [-1.5]])

        def _derivatives(self) -> tuple[FloatArray, FloatArray, FloatArray]:
            root = np.sqrt(1 + self.at**2)
            return root[:, 0], self.at / root, (root**-3)[..., None]

    newton, steps = Hyperbola(), list[int]()
    assert newton.run(steps.append)
    np.testing.assert_allclose(newton.at, 0, atol=1e-9)
    assert steps == list(range(1, len(steps) + 1))


@pytest.mark.parametrize("calibrator", [Temperature(), Affine(), VectorScaling(), FullAffine()])
def test_derivatives_that_an_engine_sums_are_those_of_the_loss(calibrator):
    nw = pytest.importorskip("narwhals.stable.v2")
    pl = pytest.importorskip("polars")
    newton_sums = pytest.importorskip("stakes.adapters.refits")
    rng = np.random.default_rng(0)
    truth, fold = np.arange(60) % 3, np.arange(60) % newton_sums.KEY_FOLDS
    columns = {f"p{k}": column for k, column in enumerate(rng.dirichlet([1, 1, 1], 60).T)}
    rows = nw.from_native(pl.LazyFrame({**columns, "truth": truth, "fold": fold, "weight": 1.0}))
    mass = np.zeros((3, newton_sums.KEY_FOLDS))
    np.add.at(mass, (truth, fold), 1.0)
    used = np.ones((1, newton_sums.KEY_FOLDS), dtype=np.bool_)
    sets = newton_sums.Sets(used, mass, np.array([30.0]))
    problem = SimpleNamespace(classes=(0, 1, 2), n_classes=3)
    model: Any = SimpleNamespace(posteriors=list(columns), problem=problem)
    newton = newton_sums.Newton(model, rows, sets, calibrator)
    (_,), (gradient,), (curvature,) = newton._derivatives()
    for place, step in enumerate(1e-4 * np.eye(newton.at.shape[1])):
        newton.at += step
        (high,), (high_gradient,), _ = newton._derivatives()
        newton.at -= 2 * step
        (low,), (low_gradient,), _ = newton._derivatives()
        newton.at += step
        assert gradient[place] == pytest.approx((high - low) / 2e-4, rel=1e-5, abs=1e-7)
        change = (high_gradient - low_gradient) / 2e-4
        np.testing.assert_allclose(curvature[place], change, rtol=1e-5, atol=1e-7)
