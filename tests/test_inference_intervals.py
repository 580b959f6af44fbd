"""Intervals: each type against its definition, written out slowly."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from stakes import Counts, InputError, Problem, ScoreTable, expected_cost
from stakes.inference import (
    AllCases,
    BCa,
    Clusters,
    Estimate,
    ExpandedPercentile,
    Interval,
    Logit,
    Normal,
    Percentile,
    Studentised,
    Wilson,
    WithinClasses,
    auc_error,
    bootstrap,
    bootstrap_bca,
    bootstrap_t,
    estimate_of,
    jackknife,
    wilson_rates,
)
from stakes.inference.estimate import quantile
from stakes.ranking import auc

PROBLEM = Problem([[0, 3, 25], [180, 8, 0]])


def generator(seed: int = 7) -> np.random.Generator:
    return np.random.default_rng(seed)


def made_of(replicates: Any, value: float, error: float = 1.0) -> Estimate:
    return Estimate(value, error, replicates, Percentile(), "by hand")


numbers = st.lists(
    st.one_of(st.integers(-5, 5).map(float), st.just(np.nan)), min_size=2, max_size=20
)


def slow_quantile(values: list[float], share: float) -> float:
    """The r-th of m sorted values stands at r / (m + 1); straight lines between."""
    kept = sorted(value for value in values if not np.isnan(value))
    if not kept:
        return np.nan
    place = share * (len(kept) + 1)
    if place <= 1:
        return kept[0]
    if place >= len(kept):
        return kept[-1]
    below = int(place)
    return kept[below - 1] + (place - below) * (kept[below] - kept[below - 1])


@given(numbers, st.floats(0, 1))
def test_quantiles_are_those_of_the_defined_replicates(values, share):
    value = float(quantile(np.array(values), np.array(share)))
    assert value == pytest.approx(slow_quantile(values, share), nan_ok=True)


@given(numbers, st.floats(0.5, 0.99))
def test_quantiles_of_many_columns_are_those_of_each(values, share):
    columns = np.stack([values, np.array(values) + 1, np.full(len(values), np.nan)], axis=1)
    shares = np.array([share, 1 - share, share])
    quantiles = quantile(columns, shares)
    for j in range(3):
        np.testing.assert_allclose(quantiles[j], slow_quantile(list(columns[:, j]), shares[j]))


def test_infinite_replicates_stand_at_the_ends_and_spoil_nothing_else():
    estimate = made_of([1.0, 2.0, 3.0, np.inf, np.inf], 2.0)
    ends = estimate.interval(0.3)
    assert np.isfinite(ends.low)
    assert estimate.interval(0.9).high == np.inf
    again = estimate_of(np.array(2.0), estimate.replicates, Percentile())
    assert float(again.standard_error) == pytest.approx(1.0)


@given(numbers.filter(lambda v: not np.isnan(v).all()), st.floats(0.05, 0.45), st.floats(0.5, 0.99))
def test_a_higher_level_never_gives_a_shorter_interval(values, small, large):
    estimate = made_of(values, 0.0)
    inner, outer = estimate.interval(small), estimate.interval(large)
    assert outer.low <= inner.low <= inner.high <= outer.high


def test_the_expanded_percentile_turns_a_normal_interval_into_students():
    shares = (np.arange(1, 100_000)) / 100_000
    n = 12
    sample_error = 1.7 * np.sqrt((n - 1) / n)  # replicates of n things vary by that much less
    estimate = Estimate(
        3.0, 1.7, 3.0 + sample_error * stats.norm.ppf(shares), ExpandedPercentile(n), ""
    )
    student = 3.0 + 1.7 * stats.t.ppf(0.975, n - 1)
    assert float(estimate.interval(0.95).high) == pytest.approx(student, rel=1e-3)
    many = estimate.with_intervals(ExpandedPercentile(10**7)).interval(0.95).high
    assert float(many) == pytest.approx(
        float(estimate.with_intervals(Percentile()).interval(0.95).high)
    )


def test_clusters_are_given_expanded_intervals():
    counts = Counts(generator(3).integers(0, 9, (10, 2, 2)))
    cost = lambda c: expected_cost(c, Problem.zero_one(2))  # noqa: E731
    estimate = bootstrap(cost, counts, replicates=999, rng=generator(), scheme=Clusters())
    assert isinstance(estimate.intervals, ExpandedPercentile)
    assert estimate.intervals.count == 10
    plain = estimate.with_intervals(Percentile()).interval(0.9)
    assert estimate.interval(0.9).width > plain.width


@given(
    st.lists(st.integers(-6, 6), min_size=10, max_size=40),
    st.floats(-0.2, 0.2),
    st.sampled_from([0.8, 0.9, 0.95]),
)
def test_bca_is_efrons_formula(values, acceleration, level):
    replicates, value = np.array(values, dtype=float), 0.0
    below = (np.sum(replicates < value) + np.sum(replicates == value) / 2) / len(values)
    low, high = (replicates.min(),) * 2 if below == 0 else (replicates.max(),) * 2
    if 0 < below < 1:
        bias = stats.norm.ppf(below)
        ends = []
        for share in ((1 - level) / 2, (1 + level) / 2):
            reach = bias + stats.norm.ppf(share)
            corrected = stats.norm.cdf(bias + reach / (1 - acceleration * reach))
            ends.append(slow_quantile(list(replicates), corrected))
        low, high = ends
    interval = made_of(values, value).with_intervals(BCa(np.array(acceleration))).interval(level)
    assert float(interval.low) == pytest.approx(low)
    assert float(interval.high) == pytest.approx(high)


def test_bca_of_certain_replicates_is_the_value_itself():
    interval = made_of([2.0] * 9, 2.0).with_intervals(BCa(np.array(0.0))).interval(0.95)
    assert float(interval.low) == float(interval.high) == 2.0


def test_studentised_intervals_use_the_errors_of_the_replicates():
    replicates, errors = np.array([1.0, 2.0, 4.0, 3.0, 2.5]), np.array([1.0, 0.5, 2.0, 1.0, 0.0])
    estimate = Estimate(2.5, 0.8, replicates, Studentised(errors), "by hand")
    distances = [-1.5, -1.0, 0.75, 0.5]  # 0/0 is undefined and left out
    ends = estimate.interval(0.5)
    assert float(ends.low) == pytest.approx(2.5 - 0.8 * slow_quantile(distances, 0.75))
    assert float(ends.high) == pytest.approx(2.5 - 0.8 * slow_quantile(distances, 0.25))


def test_replicates_without_a_standard_error_are_counted_as_undefined():
    replicates = np.array([1.0, 2.0, 4.0, 3.0, np.nan])
    errors = np.array([1.0, np.nan, 2.0, 0.0, 1.0])
    estimate = Estimate(3.0, 0.8, replicates, Studentised(errors), "by hand")
    assert int(estimate.n_undefined) == 3  # nan error, 0/0, nan value
    assert "3 of them undefined" in str(estimate)
    assert int(estimate.with_intervals(Percentile()).n_undefined) == 1


def test_the_studentised_bootstrap_counts_replicates_with_one_case_of_a_class():
    table = ScoreTable.from_scores([0] * 30 + [1] * 3, [*range(25), 40, 41, 42, 43, 44, 26, 45, 50])
    estimate = bootstrap_t(auc, auc_error, table, replicates=400, rng=generator())
    plain = int(estimate.with_intervals(Percentile()).n_undefined)
    lost = int(np.isnan(estimate.intervals.errors).sum())  # type: ignore[attr-defined]
    assert plain < lost <= int(estimate.n_undefined)
    assert np.isfinite(estimate.interval(0.5).high)


def test_a_class_in_place_of_a_type_of_intervals_is_refused():
    with pytest.raises(InputError, match=r"intervals must be a type of intervals.*Normal\(\)"):
        Estimate(1.0, 0.1, np.empty(0), Normal, "")  # type: ignore[arg-type]
    estimate = Estimate(1.0, 0.1, np.empty(0), Normal(), "")
    with pytest.raises(InputError, match=r"intervals must be a type of intervals.*Normal\(\)"):
        estimate.with_intervals(Normal)  # type: ignore[arg-type]


def test_normal_and_logit_intervals_are_symmetric_on_their_scales():
    estimate = Estimate(0.9, 0.02, np.empty(0), Normal(), "formula")
    ends = estimate.interval(0.95)
    assert float(ends.low + ends.high) == pytest.approx(1.8)
    assert float(ends.width) == pytest.approx(2 * 1.959964 * 0.02)
    odds = estimate.with_intervals(Logit()).interval(0.95)
    assert float(odds.low) == pytest.approx(1 / (1 + np.exp(-(np.log(9) - 1.959964 * 0.02 / 0.09))))
    product = (odds.low / (1 - odds.low)) * (odds.high / (1 - odds.high))
    assert float(product) == pytest.approx(81)
    assert np.isnan(Estimate(1.0, 0.0, np.empty(0), Logit(), "").interval(0.9).low)


@pytest.mark.parametrize(("hits", "n"), [(0, 7), (3, 10), (28, 51), (51, 51), (1, 1)])
@pytest.mark.parametrize("level", [0.9, 0.95])
def test_wilson_agrees_with_scipy(hits, n, level):
    ends = wilson_rates(Counts([[n - hits, hits]])).interval(level)
    twin = stats.binomtest(hits, n).proportion_ci(level, method="wilson")
    assert float(ends.low[0, 1]) == pytest.approx(twin.low, abs=1e-12)
    assert float(ends.high[0, 1]) == pytest.approx(twin.high, abs=1e-12)


def test_wilson_is_undefined_without_cases():
    ends = wilson_rates(Counts([[3, 1], [0, 0]])).interval(0.95)
    assert np.isnan(ends.low[1]).all()
    assert isinstance(wilson_rates(Counts([[3, 1]])).intervals, Wilson)


# The estimate ------------------------------------------------------------------------------------


def test_an_estimate_prints_value_interval_and_method():
    estimate = bootstrap(
        lambda c: expected_cost(c, PROBLEM),
        Counts([[80, 15, 5], [6, 9, 25]]),
        replicates=2000,
        rng=generator(),
    )
    ends = estimate.interval(0.95)
    method = "2000 bootstrap replicates of all cases"
    expected = f"{estimate.value:.4g} (95% {ends.low:.4g} to {ends.high:.4g}, {method})"
    assert str(estimate) == expected
    assert repr(estimate) == expected


def test_an_array_of_estimates_prints_a_line_each():
    text = str(wilson_rates(Counts([[90, 10], [2, 3]])))
    assert text.splitlines()[0] == "Wilson"
    assert "(1, 1)" in text
    assert "0.6" in text
    many = Estimate(np.zeros(50), np.ones(50), np.empty((0, 50)), Normal(), "x")
    assert "30 more" in str(many)
    lost = Estimate(
        [1.0, 2.0], [1.0, 1.0], [[1.0, np.nan], [2.0, 2.0], [1.0, 2.0]], Percentile(), "x"
    )
    assert str(lost).splitlines()[1].endswith("undefined")


def test_estimates_are_frozen_values():
    first, second = (made_of([1.0, 2.0], 1.5) for _ in range(2))
    assert first == second
    assert hash(first) == hash(second)
    assert first.with_intervals(Normal()) != first
    with pytest.raises(ValueError, match="read-only"):
        first.replicates[0] = 9.0


@pytest.mark.parametrize("level", [0, 1, -0.1, 95, "high", np.nan])
def test_a_level_lies_strictly_between_zero_and_one(level):
    with pytest.raises(InputError, match="level"):
        made_of([1.0, 2.0], 1.5).interval(level)


def test_intervals_that_need_replicates_say_so():
    bare = Estimate(0.5, 0.1, np.empty(0), Normal(), "delta method")
    for kind in (Percentile(), BCa(np.array(0.0)), Studentised(np.empty(0)), ExpandedPercentile(9)):
        with pytest.raises(InputError, match=r"need replicates.*delta method.*Normal\(\)"):
            bare.with_intervals(kind).interval(0.95)


def test_shapes_that_do_not_match_are_refused():
    with pytest.raises(InputError, match="one shape"):
        Estimate([1.0, 2.0], 0.1, np.empty((0, 2)), Normal(), "")
    with pytest.raises(InputError, match="replicates must have shape"):
        Estimate([1.0, 2.0], [0.1, 0.1], np.empty((5, 3)), Percentile(), "")


def test_an_interval_covers_what_lies_between_its_ends():
    interval = Interval(np.array([0.0, np.nan]), np.array([1.0, 1.0]), 0.9)
    assert interval.covers([0.0, 0.5]).tolist() == [True, False]
    assert interval.covers(1.1).tolist() == [False, False]
    assert str(Interval(np.array(0.25), np.array(1.0), 0.9)) == "90% 0.25 to 1"
    assert "shape (2,)" in str(interval)


# The jackknife -----------------------------------------------------------------------------------


def slow_jackknife(values: list[float], strata: np.ndarray) -> tuple[float, float]:
    """From the values with each case left out, and the sample that each belongs to."""
    square = cube = error = 0.0
    for name in np.unique(strata):
        members = np.array([v for v, s in zip(values, strata, strict=True) if s == name])
        n, deviations = len(members), members.mean() - members
        error += (n - 1) / n * np.sum(deviations**2)
        pull = (n - 1) / n * deviations
        square, cube = square + np.sum(pull**2), cube + np.sum(pull**3)
    return float(np.sqrt(error)), float(cube / (6 * square**1.5))


@pytest.mark.parametrize("scheme", [AllCases(), WithinClasses()])
@given(seed=st.integers(0, 10_000))
def test_the_jackknife_leaves_out_every_row_once(scheme, seed):
    rng = generator(seed)
    y = np.array([0, 0, 0, 1, 1, 1, *rng.integers(0, 2, 10)])
    score = rng.integers(0, 5, 16)
    table = ScoreTable.from_scores(y, score)
    left = [
        float(auc(ScoreTable.from_scores(np.delete(y, i), np.delete(score, i)))) for i in range(16)
    ]
    if np.ptp(left) == 0:
        return
    error, skew = slow_jackknife(left, y if scheme == WithinClasses() else np.zeros(16))
    jackknifed = jackknife(auc, table, scheme=scheme, rng=rng)
    assert float(jackknifed.standard_error) == pytest.approx(error)
    assert float(jackknifed.acceleration) == pytest.approx(skew, abs=1e-9)


def test_the_jackknife_of_clusters_leaves_out_every_cluster_once():
    rng = generator()
    counts = Counts(rng.integers(0, 6, (12, 2, 3)))
    cost = lambda c: expected_cost(c, PROBLEM)  # noqa: E731
    total = counts.values.sum(axis=0)
    left = [float(cost(Counts(total - unit))) for unit in counts.values]
    error, skew = slow_jackknife(left, np.zeros(12))
    jackknifed = jackknife(cost, counts, scheme=Clusters(), rng=rng)
    assert float(jackknifed.standard_error) == pytest.approx(error)
    assert float(jackknifed.acceleration) == pytest.approx(skew)


def test_the_jackknife_of_groups_is_that_of_each_group():
    rng = generator()
    counts = Counts(rng.integers(0, 6, (4, 2, 3)))
    cost = lambda c: expected_cost(c, PROBLEM)  # noqa: E731
    jackknifed = jackknife(cost, counts, scheme=AllCases(), rng=rng)
    for g in range(4):
        alone = jackknife(cost, counts[g], scheme=AllCases(), rng=rng)
        np.testing.assert_allclose(jackknifed.standard_error[g], alone.standard_error)
        np.testing.assert_allclose(jackknifed.acceleration[g], alone.acceleration)


def test_large_tables_lose_random_groups_and_find_about_the_same(monkeypatch):
    rng = generator()
    y = (rng.random(1500) < 0.2).astype(int)
    table = ScoreTable.from_scores(y, rng.normal(2 * y, 1))
    exact = jackknife(auc, table, scheme=WithinClasses(), rng=rng)
    monkeypatch.setattr(sys.modules["stakes.inference.schemes"], "_CELLS", 100)
    grouped = jackknife(auc, table, scheme=WithinClasses(), rng=rng)
    assert float(grouped.standard_error) == pytest.approx(float(exact.standard_error), rel=0.2)
    assert float(grouped.acceleration) == pytest.approx(float(exact.acceleration), abs=0.02)


def test_a_class_with_one_case_leaves_the_acceleration_undefined():
    table = ScoreTable.from_scores([0, 0, 0, 1], [1, 2, 3, 4])
    estimate = bootstrap_bca(auc, table, replicates=50, rng=generator(), scheme=WithinClasses())
    assert np.isnan(estimate.interval(0.95).low)


def test_bca_is_percentile_for_a_symmetric_measure():
    counts = Counts([[500, 500]])
    share = lambda c: c.values[..., 0, 1] / c.n_cases  # noqa: E731
    estimate = bootstrap_bca(share, counts, replicates=4000, rng=generator())
    plain = estimate.with_intervals(Percentile()).interval(0.9)
    corrected = estimate.interval(0.9)
    np.testing.assert_allclose([corrected.low, corrected.high], [plain.low, plain.high], atol=2e-3)
