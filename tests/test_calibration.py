"""Calibration measured: slow twins, laws, tests that hold their level, bands that cover."""

from __future__ import annotations

import importlib
import math
import tracemalloc
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import stats

from stakes import Problem, bayes_decisions, expected_cost, ranking, scoring, shift_prior
from stakes._check import FloatArray
from stakes.calibration import (
    Affine,
    Isotonic,
    Temperature,
    calibration_error,
    calibration_in_the_large,
    calibration_line,
    class_tables,
    confidence_band,
    consistency_band,
    cost_of_miscalibration,
    cross_calibrate,
    decompose,
    decompose_by_cross_calibration,
    decompose_by_recalibration,
    mean_score_gap,
    reliability,
    spiegelhalter,
    table_cost_of_miscalibration,
    top_label_table,
)
from stakes.calibration.reliability import _radii
from stakes.errors import InputError
from stakes.scoring import BetaScore, Brier, EqualMass, EqualWidth, HalfBrier, HullBins, LogLoss
from stakes.tally import Counts, ScoreTable

inf, nan = math.inf, math.nan
reliability_module = importlib.import_module("stakes.calibration.reliability")
RULES: dict[str, Any] = {
    "brier": HalfBrier(),
    "log": LogLoss(),
    "spherical": scoring.Spherical(),
    "beta": BetaScore(-0.3, 1.4),
}
every_rule = pytest.mark.parametrize("rule", RULES.values(), ids=RULES)

score = st.sampled_from([0.0, 0.1, 0.25, 0.5, 0.6, 0.9, 1.0])
weight = st.sampled_from([1.0, 2.0, 0.3, 1e3])
tables = st.lists(st.tuples(st.integers(0, 1), score, weight), min_size=1, max_size=20).map(
    lambda rows: table_of([(0, 0.25, 1.0), (1, 0.5, 2.0), *rows])
)


def table_of(rows: list[tuple[int, float, float]]) -> ScoreTable:
    y, scores, weights = zip(*rows, strict=True)
    return ScoreTable.from_scores(y, scores, weights=weights)


def drawn(n: int, seed: int, *, slope: float = 1.0, shift: float = 0.0) -> ScoreTable:
    """Scores whose true log-odds are slope times theirs plus shift; calibrated by default."""
    rng = np.random.default_rng(seed)
    odds = rng.normal(scale=1.5, size=n)
    y = rng.random(n) < 1 / (1 + np.exp(-(slope * odds + shift)))
    return ScoreTable.from_scores(y, 1 / (1 + np.exp(-odds)))


def stacked(*parts: ScoreTable) -> ScoreTable:
    """Tables with a common set of scores as one table with a leading axis."""
    scores = np.unique(np.concatenate([part.scores for part in parts]))
    weights = np.zeros((len(parts), scores.size, 2))
    for k, part in enumerate(parts):
        weights[k, np.searchsorted(scores, part.scores)] = part.weights
    return ScoreTable(scores, weights)


# Decomposition -----------------------------------------------------------------------------------


@every_rule
@given(tables)
def test_the_parts_of_a_score_add_up_and_are_never_negative(rule: Any, table: ScoreTable) -> None:
    parts = decompose(table, rule)
    whole = parts.miscalibration - parts.discrimination + parts.uncertainty
    assert_allclose(parts.score, scoring.table_score(table, rule))
    assert_allclose(whole, parts.score, atol=1e-12)
    for part in (parts.miscalibration, parts.discrimination, parts.uncertainty):
        assert part >= -1e-12
    assert_allclose(parts.refinement, parts.uncertainty - parts.discrimination)


@every_rule
@given(tables)
def test_miscalibration_is_what_isotonic_recalibration_saves(rule: Any, table: ScoreTable) -> None:
    recalibrated = ranking.isotonic(table)
    parts = decompose(table, rule)
    assert_allclose(parts.refinement, scoring.table_score(recalibrated, rule), atol=1e-11)
    again = decompose(recalibrated, rule)
    assert_allclose(again.miscalibration, 0, atol=1e-11)
    assert_allclose(again.discrimination, parts.discrimination, atol=1e-11)
    naive = np.full(1, table.shares[1])
    prior_only = ScoreTable(naive, table.weights.sum(axis=0)[None])
    assert_allclose(parts.uncertainty, scoring.table_score(prior_only, rule), atol=1e-11)


@given(tables)
def test_the_brier_parts_are_the_hull_losses_of_hernandez_orallo(table: ScoreTable) -> None:
    parts = decompose(table, HalfBrier())
    assert_allclose(parts.refinement, scoring.refinement_loss(table, HullBins()), atol=1e-11)


@every_rule
def test_decomposition_carries_leading_axes_and_priors(rule: Any) -> None:
    first, second = drawn(40, 1), drawn(30, 2, slope=0.5)
    together = decompose(stacked(first, second), rule)
    alone = [decompose(table, rule) for table in (first, second)]
    for part in ("score", "miscalibration", "discrimination", "uncertainty"):
        assert_allclose(getattr(together, part), [getattr(parts, part) for parts in alone])
    deployed = decompose(first.with_prior([0.9, 0.1]), rule)
    assert_allclose(deployed.uncertainty, rule.entropy(np.array([0.9, 0.1])))


def test_decomposition_of_one_class_of_one_case_and_of_certainty() -> None:
    certain = decompose(ScoreTable.from_scores([1, 1], [0.5, 0.5]), HalfBrier())
    assert (float(certain.score), float(certain.miscalibration), float(certain.uncertainty)) == (
        0.25,
        0.25,
        0,
    )
    wrong = decompose(ScoreTable.from_scores([0, 1, 1], [0.0, 0.0, 1.0]), LogLoss())
    assert float(wrong.miscalibration) == inf
    assert float(wrong.refinement) == pytest.approx(2 / 3 * math.log(2))  # one block is even
    perfect = decompose(ScoreTable.from_scores([0, 1], [0.0, 1.0]), LogLoss())
    assert float(perfect.score) == 0
    assert np.isnan(perfect.miscalibration_share)
    empty = ScoreTable.from_scores([1], [0.5]).with_prior([0.5, 0.5])
    assert np.isnan(decompose(empty, HalfBrier()).score)


@every_rule
def test_given_the_isotonic_posteriors_both_decompositions_agree(rule: Any) -> None:
    table = drawn(200, 3, slope=0.6)
    y = np.repeat(np.tile([0, 1], table.scores.size), table.weights.ravel().astype(int))
    q = np.repeat(np.repeat(table.scores, 2), table.weights.ravel().astype(int))
    recalibrated = Isotonic().fit(q, y)(q)
    both = decompose(table, rule), decompose_by_recalibration(y, q, recalibrated, rule)
    for part in ("score", "miscalibration", "discrimination", "uncertainty"):
        assert_allclose(getattr(both[0], part), getattr(both[1], part), atol=1e-10)
    prior = [0.9, 0.1]
    deployed = decompose_by_recalibration(
        y, q, shift_prior(recalibrated, table.shares, prior), rule, prior=prior
    )
    corp = decompose(table.with_prior(prior), rule)
    assert_allclose(deployed.miscalibration, corp.miscalibration, atol=1e-10)


def test_cross_calibrated_decomposition_is_the_two_steps_in_one() -> None:
    rng = np.random.default_rng(4)
    truth = rng.dirichlet([1, 1, 2], 400)
    y = (rng.random(400)[:, None] > np.cumsum(truth, axis=1)).sum(axis=1)
    sharp = truth**2 / (truth**2).sum(axis=1, keepdims=True)
    names = np.array(["x", "y", "z"])
    options: dict[str, Any] = {"classes": names.tolist(), "prior": [0.2, 0.3, 0.5]}
    direct = decompose_by_cross_calibration(
        names[y], sharp, Brier(), Temperature(), 5, rng=np.random.default_rng(1), **options
    )
    mapped = cross_calibrate(
        sharp, names[y], Temperature(), 5, rng=np.random.default_rng(1), **options
    )
    assert direct == decompose_by_recalibration(names[y], sharp, mapped, Brier(), **options)
    assert 0.01 < direct.miscalibration < 0.1
    assert 0 < direct.miscalibration_share < 0.3


# Cost --------------------------------------------------------------------------------------------

fraud = Problem([[0, 3, 25], [180, 8, 0]])


@given(tables, st.floats(0.05, 0.95), st.sampled_from([None, 0.2, 0.9]))
def test_the_optimal_cost_is_the_least_over_all_thresholds(
    table: ScoreTable, threshold: float, prior: float | None
) -> None:
    problem = Problem.binary(false_alarm=threshold, miss=1 - threshold)
    if prior is not None:
        problem = problem.with_prior([1 - prior, prior])
    cost = table_cost_of_miscalibration(table, problem)
    least = expected_cost(table.counts(), problem).min()
    assert_allclose(cost.optimal, least, atol=1e-12)
    assert_allclose(cost.recalibrated, least, atol=1e-12)
    assert cost.threshold_loss >= -1e-12


@given(tables)
def test_the_actual_cost_is_that_of_bayes_decisions(table: ScoreTable) -> None:
    cost = table_cost_of_miscalibration(table, fraud)
    y = np.tile([0, 1], table.scores.size)
    decided = bayes_decisions(np.repeat(table.scores, 2), fraud)
    keep = table.weights.ravel() > 0
    counts = Counts.from_decisions(
        y[keep], decided[keep], fraud, weights=table.weights.ravel()[keep]
    )
    assert_allclose(cost.actual, expected_cost(counts, fraud))
    assert cost.optimal <= cost.actual + 1e-9


@given(tables)
def test_with_three_decisions_no_two_thresholds_cost_less_than_the_optimum(
    table: ScoreTable,
) -> None:
    """Approve up to one score, review up to another, block beyond: all such rules, by force."""
    size = table.scores.size
    best = inf
    for low in range(size + 1):
        for high in range(low, size + 1):
            values = [
                [
                    table.weights[rows, k].sum()
                    for rows in (slice(0, low), slice(low, high), slice(high, size))
                ]
                for k in (0, 1)
            ]
            best = min(best, float(expected_cost(Counts(values), fraud)))
    assert_allclose(table_cost_of_miscalibration(table, fraud).optimal, best, rtol=1e-10)


def test_rows_and_tables_agree_on_the_cost_of_miscalibration() -> None:
    rng = np.random.default_rng(0)
    odds = rng.normal(size=300)
    y = rng.random(300) < 1 / (1 + np.exp(-odds))
    sharp = 1 / (1 + np.exp(-3 * odds))
    for prior in (None, [0.9, 0.1]):
        problem = fraud if prior is None else fraud.with_prior(prior)
        table = ScoreTable.from_scores(y, sharp)
        recalibrated = Isotonic().fit(sharp, y, prior=prior)(sharp)
        rows = cost_of_miscalibration(y.astype(int), sharp, recalibrated, problem)
        whole = table_cost_of_miscalibration(table, problem)
        assert_allclose(rows.actual, whole.actual)
        assert_allclose(rows.optimal, whole.optimal)
        assert_allclose(rows.recalibrated, whole.recalibrated)
        assert rows.calibration_loss > 0
        assert 0 < rows.calibration_share < 1


def test_costs_of_many_classes_have_no_optimal_threshold() -> None:
    problem = Problem([[0, 1], [2, 0], [5, 1]], classes=["a", "b", "c"])
    q = np.array([[0.7, 0.2, 0.1], [0.2, 0.7, 0.1], [0.1, 0.2, 0.7]])
    cost = cost_of_miscalibration(["a", "b", "c"], q, q, problem, weights=[1, 2, 1])
    assert np.isnan(cost.optimal)
    assert np.isnan(cost.threshold_loss)
    assert float(cost.calibration_loss) == 0
    table = ScoreTable([0.5], [[1, 1]])
    with pytest.raises(InputError, match="problem must have two classes"):
        table_cost_of_miscalibration(table, problem)


def test_the_cost_of_miscalibration_carries_leading_axes_and_labels() -> None:
    first, second = drawn(40, 1), drawn(30, 2, slope=0.5)
    together = table_cost_of_miscalibration(stacked(first, second), fraud)
    alone = [table_cost_of_miscalibration(table, fraud) for table in (first, second)]
    assert_allclose(together.actual, [single.actual for single in alone])
    assert_allclose(together.optimal, [single.optimal for single in alone])
    named = Problem(fraud.costs, classes=["legit", "fraud"], decisions=["a", "r", "b"])
    table = ScoreTable.from_scores(["legit", "fraud"], [0.2, 0.8], positive="fraud")
    assert float(table_cost_of_miscalibration(table, named).actual) == 1.5  # review, block
    with pytest.raises(InputError, match="the classes of counts and problem"):
        table_cost_of_miscalibration(ScoreTable([0.5], [[1, 1]], classes=["x", "y"]), named)


# Errors of bins ----------------------------------------------------------------------------------


def slow_gaps(table: ScoreTable, bins: int) -> list[tuple[float, float]]:
    """Weight and gap of every bin (i/bins, (i + 1)/bins] that holds cases."""
    gaps = []
    for i in range(bins):
        inside = [
            j
            for j, s in enumerate(table.scores)
            if i / bins < s <= (i + 1) / bins or (i == 0 and s == 0)
        ]
        mass = float(table.weights[inside].sum())
        if mass:
            mean = float(table.weights[inside].sum(axis=1) @ table.scores[inside]) / mass
            gaps.append((mass, abs(mean - float(table.weights[inside, 1].sum()) / mass)))
    return gaps


@given(tables, st.integers(1, 12))
def test_calibration_errors_are_norms_of_the_gaps_of_bins(table: ScoreTable, count: int) -> None:
    gaps = slow_gaps(table, count)
    total = sum(mass for mass, _ in gaps)
    bins = EqualWidth(count)
    first = sum(mass * gap for mass, gap in gaps) / total
    second = math.sqrt(sum(mass * gap**2 for mass, gap in gaps) / total)
    third = (sum(mass * gap**3 for mass, gap in gaps) / total) ** (1 / 3)
    errors = {1: first, 2: second, 3: third, math.inf: max(g for _, g in gaps)}
    for order, error in errors.items():
        assert_allclose(calibration_error(table, bins, order), error, atol=1e-9)
    loss = scoring.calibration_loss(table, bins)
    assert_allclose(calibration_error(table, bins, 2) ** 2, loss, atol=1e-12)
    assert first <= second + 1e-12 <= max(g for _, g in gaps) + 2e-12


@pytest.mark.parametrize("order", [1, 2, math.inf])
def test_errors_of_bins_carry_leading_axes_and_are_nan_without_cases(order: float) -> None:
    def error(table: ScoreTable, bins: Any) -> FloatArray:
        return calibration_error(table, bins, order)

    first, second = drawn(40, 1), drawn(30, 2, slope=0.5)
    for bins in (EqualWidth(5), EqualMass(4), HullBins()):
        together = error(stacked(first, second), bins)
        assert_allclose(together, [error(first, bins), error(second, bins)])
    assert np.isnan(error(ScoreTable([0.5], [[0, 0]]), EqualWidth(5)))
    with pytest.raises(InputError, match="probabilities"):
        error(ScoreTable([1.5], [[1, 1]]), EqualWidth(5))


def test_top_label_and_class_wise_errors_are_binary_errors_of_their_tables() -> None:
    rng = np.random.default_rng(2)
    q = rng.dirichlet([1, 1, 1, 1], 300)
    y = rng.integers(0, 4, 300)
    weights = rng.random(300)
    names = np.array(["d", "a", "c", "b"])
    bins = EqualMass(7)
    options: dict[str, Any] = {"classes": names.tolist(), "weights": weights}
    top = top_label_table(names[y], q, **options)
    assert_allclose(top.shares[1], np.average(q.argmax(axis=1) == y, weights=weights))
    by_class = class_tables(names[y], q, **options)
    assert len(by_class) == 4
    for k, table in enumerate(by_class):
        assert_allclose(table.shares[1], np.average(y == k, weights=weights))
    mean = np.mean([calibration_error(table, bins, 1) for table in by_class])
    assert calibration_error(by_class, bins, 1) == pytest.approx(mean)
    for wrong in (0.5, math.nan, -1):
        with pytest.raises(InputError, match="order must be 1 or more"):
            calibration_error(top, bins, wrong)


def slow_bin(q: float, count: int) -> int:
    """The i of (i/count, (i + 1)/count]; zero lies in the first."""
    return next(i for i in range(count) if q <= (i + 1) / count)


def slow_norms(cases: list[tuple[float, bool, float]], count: int) -> tuple[float, float, float]:
    """L1, L2 and largest gap of forecasts, outcomes and weights, case after case."""
    sums = [[0.0, 0.0, 0.0] for _ in range(count)]
    for q, hit, w in cases:
        bin_sums = sums[slow_bin(q, count)]
        bin_sums[0] += w
        bin_sums[1] += w * q
        bin_sums[2] += w * hit
    total = sum(mass for mass, _, _ in sums)
    gaps = [(mass / total, abs(s / mass - h / mass)) for mass, s, h in sums if mass > 0]
    first = sum(share * gap for share, gap in gaps)
    second = math.sqrt(sum(share * gap**2 for share, gap in gaps))
    return first, second, max(gap for _, gap in gaps)


@given(st.integers(2, 4), st.integers(1, 9), st.integers(0, 2**32 - 1))
def test_top_label_and_class_wise_errors_are_their_definitions(
    size: int, count: int, seed: int
) -> None:
    """Posteriors on a coarse grid, so that ties, zeros and bin edges are frequent."""
    rng = np.random.default_rng(seed)
    parts = rng.integers(0, 4, (25, size)) + np.eye(size, dtype=int)[rng.integers(0, size, 25)]
    q, y = parts / parts.sum(axis=1, keepdims=True), rng.integers(0, size, 25)
    weights = rng.choice([0.3, 1.0, 2.0], 25)
    top = []
    for row, label, w in zip(q.tolist(), y.tolist(), weights.tolist(), strict=True):
        best = max(row)
        top.append((best, row.index(best) == label, w))
    by_class = [
        [(row[k], label == k, w) for row, label, w in zip(q.tolist(), y, weights, strict=True)]
        for k in range(size)
    ]
    bins, options = EqualWidth(count), {"classes": range(size), "weights": weights}
    expected = slow_norms(top, count)
    assert_allclose(
        [calibration_error(top_label_table(y, q, **options), bins, p) for p in (1, 2, math.inf)],
        expected,
        atol=1e-9,
    )
    norms = [slow_norms(cases, count) for cases in by_class]
    assert_allclose(
        [calibration_error(class_tables(y, q, **options), bins, p) for p in (1, 2, math.inf)],
        [
            sum(norm[0] for norm in norms) / size,
            math.sqrt(sum(norm[1] ** 2 for norm in norms) / size),
            max(norm[2] for norm in norms),
        ],
        atol=1e-9,
    )


# Quick tests -------------------------------------------------------------------------------------


@given(tables)
def test_H10_the_mean_score_of_calibrated_scores_is_the_share_of_positives(
    table: ScoreTable,
) -> None:
    """hernandez-orallo, theorem 41, a necessary condition: π₀ s̄₀ = π₁ (1 − s̄₁)."""
    assert_allclose(mean_score_gap(ranking.isotonic(table)), 0, atol=1e-11)
    mean = np.average(table.scores, weights=table.weights.sum(axis=1))
    assert_allclose(mean_score_gap(table), mean - table.shares[1], atol=1e-11)


def test_spiegelhalters_test_is_the_brier_score_against_its_expectation() -> None:
    table = drawn(500, 1)
    s, w = table.scores, table.weights.sum(axis=1)
    expected = np.sum(w * s * (1 - s))
    variance = np.sum(w * (1 - 2 * s) ** 2 * s * (1 - s))
    z = (scoring.brier(table) * 500 - expected) / np.sqrt(variance)
    test = spiegelhalter(table)
    assert_allclose(test.statistic, z)
    assert_allclose(test.p_value, 2 * stats.norm.sf(abs(z)))
    assert np.isnan(spiegelhalter(ScoreTable([0.5], [[3, 1]])).p_value)


def test_spiegelhalters_test_holds_its_level_and_sees_overconfidence() -> None:
    rng = np.random.default_rng(0)
    s = np.sort(rng.random(400))
    hits = rng.random((2000, 400)) < s
    calibrated = ScoreTable(s, np.stack([~hits, hits], axis=-1).astype(float))
    rejected = float(np.mean(spiegelhalter(calibrated).p_value < 0.05))
    assert 0.035 < rejected < 0.065
    assert spiegelhalter(drawn(2000, 0, slope=0.6)).p_value < 1e-6
    assert spiegelhalter(drawn(2000, 0, slope=0.6)).statistic > 0


def test_calibration_line_and_in_the_large_find_what_was_done_to_the_scores() -> None:
    table = drawn(40_000, 5, slope=0.7, shift=-0.4)
    line = calibration_line(table)
    assert line.slope == pytest.approx(0.7, abs=0.03)
    assert line.intercept == pytest.approx(-0.4, abs=0.03)
    assert line.converged
    shifted = drawn(40_000, 6, shift=0.8)
    assert calibration_in_the_large(shifted) == pytest.approx(0.8, abs=0.04)
    moved = 1 / (1 + np.exp(-np.log(shifted.scores / (1 - shifted.scores)) - 0.8))
    again = ScoreTable(moved, shifted.weights)
    assert calibration_in_the_large(again) == pytest.approx(
        float(calibration_in_the_large(shifted)) - 0.8, abs=1e-8
    )


def test_calibration_line_is_the_affine_fit_and_the_large_makes_the_mean_right() -> None:
    table = drawn(300, 8, slope=0.5)
    y = table.weights[:, 1].astype(int)
    line, fitted = calibration_line(table), cast(Any, Affine().fit(table.scores, y))
    assert_allclose((line.slope, line.intercept), (fitted.slope, fitted.intercept), rtol=1e-9)
    odds = np.log(table.scores / (1 - table.scores)) + calibration_in_the_large(table)
    assert_allclose(np.mean(1 / (1 + np.exp(-odds))), y.mean(), rtol=1e-9)


def test_measures_of_a_single_table_are_plain_numbers() -> None:
    table = drawn(40, 1)
    line, parts, costs = (
        calibration_line(table),
        decompose(table, HalfBrier()),
        table_cost_of_miscalibration(table, fraud),
    )
    plain = [line.slope, line.intercept, parts.score, parts.miscalibration, parts.refinement]
    plain += [costs.actual, costs.calibration_loss, costs.calibration_share]
    plain += [calibration_in_the_large(table), mean_score_gap(table), spiegelhalter(table).p_value]
    plain += [calibration_error(table, EqualWidth(5), 1), scoring.brier(table)]
    assert all(isinstance(value, np.float64) for value in plain)
    assert isinstance(line.converged, np.bool_)


def test_lines_are_nan_for_one_class_bounded_for_separable_ones_and_carried_through() -> None:
    table = ScoreTable([0.2, 0.8], [[[3, 1], [1, 3]], [[3, 0], [1, 0]], [[3, 0], [0, 3]]])
    line = calibration_line(table)
    assert line.converged.tolist() == [True, False, False]
    assert np.isnan(line.slope[1])
    assert np.isfinite(line.slope[2])
    assert line.slope[2] > 3
    large = calibration_in_the_large(table)
    assert np.isnan(large).tolist() == [False, True, False]
    assert large[0] == pytest.approx(0, abs=1e-9)
    certain = ScoreTable([0.0, 0.4, 1.0], [[3, 1], [2, 1], [1, 3]])
    line = calibration_line(certain)
    odds = np.array([-53 * math.log(2), math.log(0.4 / 0.6), 53 * math.log(2)])
    chances = 1 / (1 + np.exp(-(line.intercept + line.slope * odds)))
    surplus = certain.weights.sum(axis=1) * chances - certain.weights[:, 1]
    assert_allclose([surplus.sum(), surplus @ odds], 0, atol=1e-9)  # maximum likelihood


# Reliability -------------------------------------------------------------------------------------


@given(tables, st.sampled_from([HullBins(), EqualWidth(4), EqualMass(3), scoring.EachScore()]))
def test_the_reliability_curve_is_the_share_of_positives_bin_by_bin(
    table: ScoreTable, bins: Any
) -> None:
    curve = reliability(table, bins)
    assert_allclose(curve.bin_weights.sum(), table.n_cases)
    assert_allclose(curve.bin_weights @ curve.bin_shares, table.weights[:, 1].sum())
    numbers = bins.numbers(table).tolist()
    for j, s in enumerate(curve.scores.tolist()):
        same_bin = [i for i, number in enumerate(numbers) if number == numbers[j]]
        assert s == table.scores[j]
        share = table.weights[same_bin, 1].sum() / table.weights[same_bin].sum()
        assert curve.observed[j] == pytest.approx(share)
    if isinstance(bins, HullBins):
        assert (np.diff(curve.observed) >= 0).all()
        assert_allclose(curve.bin_shares, ranking.isotonic(table).scores, atol=1e-12)


def test_scores_without_cases_are_left_out_of_the_curve() -> None:
    table = ScoreTable([0.1, 0.5, 0.9], [[2, 1], [0, 0], [1, 2]])
    curve = reliability(table, EqualWidth(3))
    assert curve.scores.tolist() == [0.1, 0.9]
    band = consistency_band(table, EqualWidth(3), replicates=5, rng=np.random.default_rng(0))
    assert band.draws.shape == (5, 2)
    with pytest.raises(InputError, match="no leading axes"):
        reliability(stacked(table, table), HullBins())


@pytest.mark.parametrize("bins", [HullBins(), EqualWidth(5)], ids=["hull", "width"])
def test_consistency_bands_hold_the_curves_of_calibrated_scores(bins: Any) -> None:
    """Pointwise coverage by simulation: a 90 % band holds nine curves in ten at each score."""
    rng = np.random.default_rng(1)
    scores = np.linspace(0.05, 0.95, 19)
    mass = np.full(19, 30.0)
    blank = ScoreTable(scores, np.stack([mass - 10, mass - 20], axis=1))
    lower, upper = consistency_band(blank, bins, replicates=1000, rng=rng).limits(0.9)
    covered = []
    for _ in range(400):
        hits = rng.binomial(30, scores)
        curve = reliability(ScoreTable(scores, np.stack([30 - hits, hits], axis=1)), bins)
        covered.append((lower - 1e-12 <= curve.observed) & (curve.observed <= upper + 1e-12))
    assert 0.88 <= np.mean(covered) <= 0.95
    biased = rng.binomial(30, np.sqrt(scores))
    curve = reliability(ScoreTable(scores, np.stack([30 - biased, biased], axis=1)), bins)
    assert np.mean(curve.observed > upper) > 0.3


@pytest.mark.slow
@pytest.mark.parametrize("bins", [EqualWidth(19), HullBins()], ids=["width", "hull"])
def test_confidence_bands_hold_the_truth_at_rare_scores_too(bins: Any) -> None:
    """Pointwise coverage of a 90 % band by simulation; the rarest true share is 0.0025.

    A thousand simulations put the coverage at the worst score at 0.87 for both kinds of bins, and
    its mean at 0.91 and 0.93; 150 of them may be off by four standard errors.
    """
    rng = np.random.default_rng(2)
    scores, truth = np.linspace(0.05, 0.95, 19), np.linspace(0.05, 0.95, 19) ** 2
    covered = []
    for _ in range(150):
        hits = rng.binomial(60, truth)
        table = ScoreTable(scores, np.stack([60 - hits, hits], axis=1))
        lower, upper = confidence_band(table, bins, replicates=200, rng=rng).limits(0.9)
        covered.append((lower <= truth) & (truth <= upper))
    assert 0.88 <= np.mean(covered) <= 0.96
    assert np.mean(covered, axis=0).min() >= 0.87 - 4 * math.sqrt(0.87 * 0.13 / 150)


def test_bands_of_fixed_bins_keep_a_number_for_each_bin_and_spread_it_over_the_scores() -> None:
    table = drawn(3000, 4)
    for bins in (EqualWidth(10), EqualMass(10)):
        for band_of in (consistency_band, confidence_band):
            band = band_of(table, bins, replicates=60, rng=np.random.default_rng(1))
            assert band.shares.shape == (60, 10)
            numbers = bins.numbers(table)
            assert np.array_equal(band.draws, band.shares[:, numbers])
            lower, upper = band.limits(0.8)
            slow = np.quantile(band.draws, [0.1, 0.9], axis=0)
            assert_allclose([lower, upper], slow)
    hull = consistency_band(drawn(40, 4), HullBins(), replicates=7, rng=np.random.default_rng(1))
    assert hull.shares.shape == hull.draws.shape == (7, 40)
    assert (np.diff(hull.draws, axis=1) >= 0).all()


@pytest.mark.parametrize("bins", [EqualWidth(4), HullBins()], ids=["width", "hull"])
@pytest.mark.parametrize("heavy", [False, True])
def test_bands_are_the_same_in_blocks(
    bins: Any, heavy: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = drawn(50, 4)
    if heavy:
        table = ScoreTable(table.scores, table.weights * 3)
    whole = consistency_band(table, bins, replicates=20, rng=np.random.default_rng(1))
    monkeypatch.setattr(reliability_module, "_BLOCK", 150)
    parts = consistency_band(table, bins, replicates=20, rng=np.random.default_rng(1))
    assert whole == parts


def test_a_million_replicates_of_few_bins_stay_small() -> None:
    """(replicates, scores) as whole numbers would be 400 MB; blocks and bins need a tenth."""
    table = drawn(50_000, 4)
    tracemalloc.start()
    consistency_band(table, EqualMass(10), replicates=1000, rng=np.random.default_rng(1))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 40e6


def test_bands_want_whole_cases_and_a_share() -> None:
    rng = np.random.default_rng(0)
    with pytest.raises(InputError, match="whole cases"):
        consistency_band(ScoreTable([0.5], [[1.5, 1]]), HullBins(), replicates=5, rng=rng)
    band = confidence_band(ScoreTable([0.5], [[3, 1]]), HullBins(), replicates=50, rng=rng)
    assert band.draws.shape == (50, 1)
    with pytest.raises(InputError, match="level"):
        band.limits(1.5)
    low, high = band.limits(1.0)
    assert (low, high) == (band.draws.min(), band.draws.max())


def test_a_local_fit_has_two_cases_at_least_and_no_more_where_two_are_its_share():
    scores, mass = np.array([0.0, 1.0, 10.0]), np.ones(3)
    for shift in (0.0, -20.0):
        moved = scores + shift
        np.testing.assert_allclose(_radii(moved, mass, moved), [1, 1, 9], rtol=1e-12)
