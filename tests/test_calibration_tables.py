"""Calibration tables: lowess by plain loops, the line by its likelihood, coverage."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.optimize import brentq
from scipy.special import expit, logit

from stakes import InputError, ScoreTable
from stakes.calibration import smooth_calibration_errors, smooth_curve
from stakes.metrics import calibration_table

SMOOTH = ("ICI", "E50", "E90", "Emax")


# Lowess ------------------------------------------------------------------------------------------


def slow_lowess(x: list[float], y: list[float]) -> list[float]:
    """Cleveland's local lines at every case, by plain loops; scores a hundredth apart or more."""
    n, span = len(x), max(x) - min(x)
    near = max(2, int(2 / 3 * n + 1e-7))
    heights = []
    for middle in x:
        radius = sorted(abs(other - middle) for other in x)[near - 1]
        pulls = []
        for other in x:
            away = abs(other - middle)
            if away <= 0.001 * radius:
                pulls.append(1.0)
            else:
                pulls.append((1 - (away / radius) ** 3) ** 3 if away <= 0.999 * radius else 0.0)
        total = sum(pulls)
        mean = sum(p * a for p, a in zip(pulls, x, strict=True)) / total
        height = sum(p * b for p, b in zip(pulls, y, strict=True)) / total
        spread = sum(p * (a - mean) ** 2 for p, a in zip(pulls, x, strict=True)) / total
        if math.sqrt(spread) > max(0.001 * span, 1e-9):
            both = sum(p * b * (a - mean) for p, a, b in zip(pulls, x, y, strict=True)) / total
            height += both / spread * (middle - mean)
        heights.append(height)
    return heights


cases = st.lists(
    st.tuples(st.integers(0, 20).map(lambda i: i / 20), st.integers(0, 1)), min_size=3, max_size=25
)


@given(cases)
def test_the_smooth_curve_is_lowess_and_its_errors_are_means_and_quantiles(rows):
    x, y = [row[0] for row in rows], [row[1] for row in rows]
    # One case of each class, of weight zero, so that both labels are known.
    table = ScoreTable.from_scores([0, 1, *y], [0, 0, *x], weights=[0, 0] + [1] * len(x))
    curve = slow_lowess(x, [float(label) for label in y])
    heights = np.interp(x, table.scores, smooth_curve(table))
    assert_allclose(heights, curve, atol=1e-8)
    errors = np.abs(np.array(x) - curve)
    expected = [errors.mean(), *np.quantile(errors, [0.5, 0.9, 1.0])]
    assert_allclose(smooth_calibration_errors(table), expected, atol=1e-8)


def test_weights_of_the_smooth_curve_are_repetitions_and_leading_axes_stay():
    rng = np.random.default_rng(2)
    p, weights = rng.random(60).round(2), rng.integers(0, 4, 60)
    y = (rng.random(60) < p).astype(int)
    repeated = ScoreTable.from_scores(np.repeat(y, weights), np.repeat(p, weights))
    weighted = ScoreTable.from_scores(y, p, weights=weights)
    expected = smooth_calibration_errors(repeated)
    assert_allclose(smooth_calibration_errors(weighted), expected, rtol=1e-12)
    both = ScoreTable(weighted.scores, np.stack([weighted.weights, 0 * weighted.weights]))
    errors = smooth_calibration_errors(both)
    assert_allclose(errors[0], expected, rtol=1e-12)
    assert np.isnan(errors[1]).all()
    scaled = ScoreTable(weighted.scores, 0.37 * weighted.weights)
    assert_allclose(smooth_calibration_errors(scaled)[0], expected[0], rtol=0.05)


def test_one_score_has_the_share_of_positives_as_its_curve():
    assert smooth_curve(ScoreTable([0.3], [[6, 4]])) == pytest.approx([0.4])
    assert smooth_calibration_errors(ScoreTable([0.3], [[6, 4]])) == pytest.approx([0.1] * 4)


# The table ---------------------------------------------------------------------------------------


def sample(seed: int, n: int, slope: float = 1.0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    p = rng.beta(1.5, 3, n).round(3).clip(0.001, 0.999)
    return (rng.random(n) < expit(slope * logit(p))).astype(int), p


def table_of(y: Any, p: Any, **options: Any) -> Any:
    options = {"replicates": 2, "rng": np.random.default_rng(0), **options}
    return calibration_table(y, p, **options)


def test_the_line_maximises_the_likelihood_and_its_interval_is_that_of_the_curvature():
    """First differences of the log-likelihood are zero there; second ones give the error."""
    y, p = sample(3, 300, 0.7)
    table = table_of(y, p)
    a, b = table["intercept"].value, table["slope"].value

    def likelihood(da: float, db: float) -> float:
        odds = a + da + (b + db) * logit(p)
        return float(np.sum(y * odds - np.logaddexp(0, odds)))

    h = 1e-3
    assert likelihood(h, 0) - likelihood(-h, 0) == pytest.approx(0, abs=1e-5)
    assert likelihood(0, h) - likelihood(0, -h) == pytest.approx(0, abs=1e-5)
    top = likelihood(0, 0)
    hessian = np.empty((2, 2))
    hessian[0, 0] = (likelihood(h, 0) + likelihood(-h, 0) - 2 * top) / h**2
    hessian[1, 1] = (likelihood(0, h) + likelihood(0, -h) - 2 * top) / h**2
    hessian[0, 1] = hessian[1, 0] = (
        likelihood(h, h) + likelihood(-h, -h) - likelihood(h, -h) - likelihood(-h, h)
    ) / (4 * h**2)
    errors = np.sqrt(np.diag(np.linalg.inv(-hessian)))
    for metric, error in zip(("intercept", "slope"), errors, strict=True):
        row = table[metric]
        assert row.high - row.value == pytest.approx(1.959964 * error, rel=1e-4)
        assert row.value - row.low == pytest.approx(1.959964 * error, rel=1e-4)


@pytest.mark.parametrize("weights", [None, "whole", "fractions"])
def test_weights_and_clusters_of_the_line(weights):
    """Every case twice, in a cluster of its own: no more is known than from the cases once."""
    y, p = sample(4, 400)
    masses: dict[Any, Any] = {"whole": np.tile([1, 2], 200), "fractions": np.tile([0.5, 1.3], 200)}
    mass: Any = masses.get(weights)
    once = table_of(y, p, sample_weight=mass)
    more = None if mass is None else np.tile(mass, 2)
    twice = table_of(np.tile(y, 2), np.tile(p, 2), sample_weight=more, clusters=[*range(400)] * 2)
    alone = table_of(y, p, sample_weight=mass, clusters=[*range(400)])
    for metric in ("intercept", "slope", "calibration in the large"):
        assert twice[metric].value == pytest.approx(once[metric].value, abs=1e-8)
        assert twice[metric][3:] == pytest.approx(alone[metric][3:], abs=0.02)
    for metric in SMOOTH:  # the same clusters are drawn; the span of lowess is rounded to cases
        assert twice[metric][2:] == pytest.approx(alone[metric][2:], rel=0.03, abs=0.003)
        assert alone[metric].low < alone[metric].value < alone[metric].high


def test_few_clusters_tell_too_little_about_distances_from_the_curve():
    y, p = sample(4, 100)
    table = table_of(y, p, clusters=np.arange(100) % 9)
    assert "9 clusters: too few for intervals of ICI" in table.title
    assert all(math.isnan(table[metric].high) for metric in SMOOTH)
    assert math.isfinite(table["slope"].high)
    assert "too few" not in table_of(y, p, clusters=np.arange(100) % 10).title


# R 4.2.2, rms 6.5.0. p and y as below, written to d.csv with a header:
#   d <- read.csv("d.csv"); val.prob(d$p, d$y, pl = FALSE)
#   l <- lowess(d$p, d$y, iter = 0); quantile(abs(d$p - approx(l, xout = d$p)$y), 0.5)
#   confint.default(glm(y ~ qlogis(p), binomial, d))
#   summary(glm(y ~ offset(qlogis(p)), binomial, d))
# (glm takes its standard errors from the last step but one.)
OUTCOMES = (
    "000100100110000110010010010101001001001000110101100100110110"
    "010010101001011010001100100100100010110111000001100001000100"
)
VAL_PROB = {
    "intercept": -0.65613426478,
    "slope": 1.15146848002,
    "calibration in the large": -0.610172937,
    "ICI": 0.11924305321,
    "E50": 0.1085177697,
    "E90": 0.23226118127,
    "Emax": 0.24240154483,
}


def test_the_table_is_that_of_val_prob():
    p = np.round(0.02 + 0.96 * (37 * np.arange(120) % 120) / 120, 4)
    table = table_of([int(digit) for digit in OUTCOMES], p)
    values = {row.metric: row.value for row in table.rows}
    assert values == pytest.approx(VAL_PROB, rel=2e-9)
    assert table["intercept"][3:] == pytest.approx((-1.1303257190, -0.1819428112), rel=3e-6)
    assert table["slope"][3:] == pytest.approx((0.7173855041, 1.5855514571), rel=3e-6)
    large = table["calibration in the large"]
    assert (large.high - large.low) / 2 / 1.959963985 == pytest.approx(0.2235893523, rel=3e-6)


def test_calibration_in_the_large_varies_as_the_cases_do_where_the_slope_is_not_one():
    """The jackknife: an overfitted model predicts less variance than its cases have."""
    rng = np.random.default_rng(5)
    odds = 2.5 * rng.normal(size=150)
    y, p = (rng.random(150) < expit(0.2 * odds)).astype(int), expit(odds)
    row = table_of(y, p)["calibration in the large"]

    def shift(kept: Any) -> float:
        return float(brentq(lambda a: np.sum(expit(odds + a)[kept] - y[kept]), -9, 9))

    left = [shift(np.arange(150) != i) for i in range(150)]
    error = math.sqrt(149 / 150 * np.sum((np.array(left) - np.mean(left)) ** 2))
    assert row.high - row.value == pytest.approx(1.96 * error, rel=0.03)
    equal = table_of(y, p, sample_weight=np.full(150, 2))["calibration in the large"]
    assert equal == row


def test_halved_cases_and_clusters_never_say_more_than_cases_drawn_one_by_one():
    """Of a handful of positives the sandwich alone held the slope in 75 to 90 % of samples."""
    designs: list[dict[str, Any]] = [
        {"clusters": np.arange(60) // 5},
        {"sample_weight": np.full(60, 0.5)},
        {"sample_weight": np.full(60, 0.5), "clusters": np.arange(60) // 5},
    ]
    for seed in range(5):
        rng = np.random.default_rng(seed)
        odds = -2.5 + rng.normal(size=60)
        y = (rng.random(60) < expit(odds)).astype(int)
        tables = [table_of(y, expit(odds), **design) for design in ({}, *designs)]
        for metric in ("intercept", "slope", "calibration in the large"):
            alone, *others = (table[metric].high - table[metric].low for table in tables)
            assert min(others) >= alone * (1 - 1e-6)


def test_separated_classes_have_no_interval_and_one_class_has_no_line():
    table = table_of([0, 0, 1, 1], [0.1, 0.2, 0.7, 0.8])
    assert math.isnan(table["slope"].low)
    assert math.isfinite(table["calibration in the large"].low)
    table = table_of([0, 0, 1, 1], [0.3] * 4)  # one score has a level and no slope
    assert math.isnan(table["slope"].value)
    assert math.isnan(table["intercept"].low)
    assert table["calibration in the large"].value == pytest.approx(-logit(0.3))
    table = table_of(["well"] * 3, [0.1, 0.2, 0.7], positive="ill")
    assert math.isnan(table["slope"].value)
    assert math.isfinite(table["ICI"].value)


@pytest.mark.slow
def test_calibrated_scores_may_have_no_error_and_others_have_some():
    y, p = sample(2, 300)
    good = table_of(y, p, replicates=40, rng=np.random.default_rng(3))
    assert all(good[metric].low == 0 for metric in SMOOTH)
    y, p = sample(1, 300, 0.2)
    bad = table_of(y, p, replicates=40, rng=np.random.default_rng(3))
    assert bad["ICI"].low > 0.05
    for metric in SMOOTH:
        assert bad[metric].low < bad[metric].value <= bad[metric].high


@pytest.mark.slow
@pytest.mark.parametrize("slope", [1.0, 0.6])
def test_the_interval_of_the_ici_holds_the_truth(slope):
    """Of 40 samples at least 95 % less three standard errors of the simulation."""
    p = np.random.default_rng(9).beta(1.5, 3, 200_000)
    truth = np.mean(np.abs(p - expit(slope * logit(p))))
    rows = [
        table_of(*sample(seed, 200, slope), replicates=40, rng=np.random.default_rng(seed))["ICI"]
        for seed in range(40)
    ]
    covered = [row.low <= truth <= row.high for row in rows]
    assert np.mean(covered) >= 0.95 - 3 * math.sqrt(0.95 * 0.05 / 40)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("slope", "design"), [(1.0, "clusters"), (0.5, "clusters"), (0.5, "weights")]
)
def test_intervals_of_distances_hold_the_truth_with_clusters_and_weights(slope, design):
    """Patients with ten lesions, who differ in risk beyond their scores; or unequal weights."""
    tau = 0.5 if design == "clusters" else 0.0
    nodes, mass = np.polynomial.hermite_e.hermegauss(21)

    def marginal(odds: Any) -> Any:
        return expit(odds[:, None] + tau * nodes) @ (mass / mass.sum())

    def draw(n: int, seed: int) -> tuple[Any, Any, Any]:
        rng, owner = np.random.default_rng(seed), np.arange(n) // 10
        odds = rng.normal(-0.8, 1.2, n)
        risk = expit(slope * odds + tau * rng.normal(size=n)[owner])
        return odds, (rng.random(n) < risk).astype(int), owner

    odds, _, _ = draw(100_000, 1)
    truth = np.mean(np.abs(marginal(odds) - marginal(slope * odds)))
    covered = []
    for seed in range(40):
        odds, y, owner = draw(200, seed)
        weights = None if tau else 0.2 + np.random.default_rng(seed).random(200)
        options = {"clusters": owner} if tau else {"sample_weight": weights}
        rng = np.random.default_rng(seed)
        row = table_of(y, marginal(odds).round(2), replicates=40, rng=rng, **options)["ICI"]
        covered.append(row.low <= truth <= row.high)
    assert np.mean(covered) >= 0.95 - 3 * math.sqrt(0.95 * 0.05 / 40)


def test_bad_input_is_refused():
    with pytest.raises(InputError, match="probabilities"):
        table_of([0, 1], [0.2, 1.3])
    with pytest.raises(InputError, match="y_proba must have 1 dimension"):
        table_of([0, 1], [[0.2, 0.8], [0.6, 0.4]])
    with pytest.raises(InputError, match="replicates"):
        table_of([0, 1, 1], [0.2, 0.4, 0.3], replicates=1, clusters=[1, 2, 3])
    with pytest.raises(InputError, match="replicates"):
        table_of([0, 1, 1], [0.2, 0.4, 0.3], replicates=1)
    with pytest.raises(InputError, match="rng"):
        table_of([0, 1, 1], [0.2, 0.4, 0.3], rng=7)
