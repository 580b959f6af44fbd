"""Threshold-choice methods: brute force from the definitions, and the theorems as equations."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.integrate import quad

from few_examples import at_most
from slow_twins_thresholds import expected_loss as slow_expected_loss
from slow_twins_thresholds import loss_of_method, rates_at_rate, rates_at_threshold, thresholds
from stakes import thresholds as methods
from stakes.conditions import (
    Beta,
    Condition,
    CostProportions,
    Distribution,
    Mixture,
    Point,
    Points,
    Sample,
    Skews,
    Truncated,
    Uniform,
)
from stakes.errors import InputError
from stakes.measures import expected_cost
from stakes.problem import Problem
from stakes.ranking import auc, convexified, isotonic, midpoint_spaced, roc
from stakes.scoring import brier
from stakes.tally import ScoreTable
from stakes.thresholds import (
    Method,
    Optimal,
    RateDriven,
    RateFixed,
    RateUniform,
    ScoreDriven,
    ScoreFixed,
    ScoreUniform,
    best_threshold,
    expected_loss,
    h_measure,
)

METHODS: dict[str, Method] = {
    "score fixed": ScoreFixed(0.25),
    "rate fixed": RateFixed(0.37),
    "score uniform": ScoreUniform(),
    "score uniform wide": ScoreUniform(-1, 1.5),
    "rate uniform": RateUniform(),
    "score driven": ScoreDriven(),
    "rate driven": RateDriven(),
    "optimal": Optimal(),
}
every_method = pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
RANK_METHODS = [ScoreFixed(0.1), RateFixed(0.37), RateUniform(), RateDriven(), Optimal()]

DISTRIBUTIONS: dict[str, Distribution] = {
    "uniform": Uniform(),
    "part": Uniform(0.1, 0.6),
    "beta": Beta(2, 2),
    "lopsided": Beta(1.3, 6),
    "point": Point(0.25),
    "points": Points([0, 0.25, 0.5, 1], [0.1, 0.3, 0.4, 0.2]),
    "sample": Sample([0.9, 0.25, 0.25, 0.6, 0], [1, 2, 0.5, 0, 3]),
    "mixture": Mixture([Beta(2, 5), Point(0.5), Uniform(0.5, 1)], [0.5, 0.2, 0.3]),
    "truncated": Truncated(Beta(2, 2), 0.1, 0.6),
}
both_conditions = pytest.mark.parametrize("over", [CostProportions, Skews])

SCORES = [0.0, 0.1, 0.25, 0.25, 0.5, 0.6, 1.0]
REAL_SCORES = [-np.inf, -2.0, 0.1, 0.25, 3.0, 1e300, np.inf]


@st.composite
def rows_of(draw, scores=SCORES, whole=False, size=12):
    """Cases of both classes with many ties; from balanced to ten thousand to one by weight."""
    plain = st.sampled_from([1.0, 1.0, 2.0])
    weight = plain if whole else st.one_of(plain, st.sampled_from([0.3, 1e4, 1e-4]))
    case = st.tuples(st.integers(0, 1), st.sampled_from(scores), weight)
    heavy = 1.0 if whole else draw(st.sampled_from([1.0, 1e4, 1e-4]))
    both = [(k, draw(st.sampled_from(scores)), [heavy, 1.0][k]) for k in (0, 1)]
    return both + draw(st.lists(case, max_size=size))


rows_in_unit, real_rows = rows_of(), rows_of(scores=REAL_SCORES)


def table_of(rows) -> ScoreTable:
    y, scores, weights = zip(*rows, strict=True)
    return ScoreTable.from_scores(y, scores, weights=weights)


def loss(table: ScoreTable, method: Method, condition: Condition | None = None) -> float:
    return float(expected_loss(table, method, condition or CostProportions()))


def large_table(n: int, positives: int, *, digits: int | None, seed: int) -> ScoreTable:
    """Scores of a mediocre model, tied when rounded."""
    rng = np.random.default_rng(seed)
    y = np.zeros(n, dtype=int)
    y[rng.choice(n, positives, replace=False)] = 1
    scores = stats.norm.cdf(rng.normal(size=n) + 1.2 * y - 1)
    return ScoreTable.from_scores(y, scores if digits is None else scores.round(digits))


LARGE = {
    "1:1": large_table(100_000, 50_000, digits=None, seed=1),
    "1:100 tied": large_table(100_000, 1_000, digits=2, seed=2),
    "1:10000": large_table(100_000, 10, digits=None, seed=3),
}
large_tables = pytest.mark.parametrize("table", LARGE.values(), ids=LARGE)
SMALL = {
    "two cases": ScoreTable([0.2, 0.7], [[1, 0], [0, 1]]),
    "wrong way": ScoreTable([0.2, 0.7], [[0, 1], [1, 0]]),
    "all tied": ScoreTable([0.4], [[7, 3]]),
    "at the ends": ScoreTable([0, 1], [[3, 1], [1, 2]]),
}
special_tables = pytest.mark.parametrize("table", [*LARGE.values(), *SMALL.values()])


def shares(table: ScoreTable) -> tuple[float, float]:
    return float(table.shares[0]), float(table.shares[1])


# Brute force -------------------------------------------------------------------------------------


@every_method
@both_conditions
@settings(max_examples=4)
@given(rows=rows_of(size=6))
def test_H18_expected_loss_is_the_integral_of_the_definition(method, over, rows):
    table = table_of(rows)
    for name, distribution in DISTRIBUTIONS.items():
        expected = slow_expected_loss(rows, method, over(distribution))
        result = loss(table, method, over(distribution))
        assert result == pytest.approx(expected, abs=2e-9), name


@pytest.mark.slow
@every_method
@pytest.mark.parametrize("over", [CostProportions, pytest.param(Skews, marks=pytest.mark.slow)])
@settings(max_examples=2)
@given(rows=rows_of(size=4))
def test_H18_frozen_scipy_distributions_are_integrated_too(method, over, rows):
    condition = over(stats.triang(0.3))
    result, table = loss(table_of(rows), method, condition), table_of(rows)
    assert result == pytest.approx(slow_expected_loss(rows, method, condition), abs=2e-9)
    curve = method.loss_curve(table, over)
    assert curve.expectation(condition.distribution) == pytest.approx(result, abs=1e-11)


@pytest.mark.parametrize("method", RANK_METHODS, ids=lambda m: type(m).__name__)
@given(rows=rows_of(scores=REAL_SCORES, size=6))
def test_rank_methods_take_any_real_scores(method, rows):
    condition = CostProportions(Points([0.1, 0.5, 0.8], [0.2, 0.3, 0.5]))
    result = loss(table_of(rows), method, condition)
    assert result == pytest.approx(slow_expected_loss(rows, method, condition), abs=1e-12)


@every_method
@both_conditions
@given(rows=rows_in_unit)
def test_the_loss_curve_is_the_loss_at_every_condition(method, over, rows):
    """At the knots too: a score that equals the cost proportion gets the negative decision."""
    curve = method.loss_curve(table_of(rows), over)
    plain, _ = loss_of_method(rows, method, over is Skews)
    points = [0.0, 0.05, 0.1, 0.25, 0.3, 0.5, 0.6, 0.77, 1.0]
    np.testing.assert_allclose(curve(points), [plain(c) for c in points], atol=1e-12)


@every_method
@both_conditions
@at_most(20)
@given(rows=rows_in_unit)
def test_H15_the_mean_of_a_loss_curve_is_the_expected_loss(method, over, rows):
    table = table_of(rows)
    for name, distribution in DISTRIBUTIONS.items():
        mean = method.loss_curve(table, over(distribution)).expectation(distribution)
        assert mean == pytest.approx(loss(table, method, over(distribution)), abs=1e-12), name


@every_method
@both_conditions
@given(rows=rows_in_unit)
def test_H15_the_area_under_a_loss_curve_is_the_expected_loss(method, over, rows):
    table = table_of(rows)
    area = method.loss_curve(table, over).integral()
    assert area == pytest.approx(loss(table, method, over()), abs=1e-12)


@every_method
@special_tables
def test_H15_areas_of_large_and_of_tiny_tables(method, table):
    for over in (CostProportions, Skews):
        area = method.loss_curve(table, over).integral()
        assert area == pytest.approx(loss(table, method, over()), abs=1e-12)


def test_the_brier_curve_starts_and_ends_where_its_end_scores_say():
    """At c = 0 a score of zero is negative already; at c = 1 a score of one is negative at last."""
    curve = ScoreDriven().loss_curve(SMALL["at the ends"], CostProportions)
    corners = curve.columns()
    np.testing.assert_allclose(corners["x"], [0, 1, 1])
    np.testing.assert_allclose(corners["y"], [2 / 7, 2 / 7, 0], atol=1e-15)


# Laws --------------------------------------------------------------------------------------------


@every_method
@both_conditions
@at_most(20)
@given(first=rows_in_unit, second=rows_in_unit, third=rows_in_unit)
def test_leading_axes_are_carried_through(method, over, first, second, third):
    tables = [table_of(rows) for rows in (first, second, third, second)]
    scores = np.unique(np.concatenate([table.scores for table in tables]))
    weights = np.zeros((4, scores.size, 2))
    for part, table in zip(weights, tables, strict=True):
        part[np.searchsorted(scores, table.scores)] = table.weights
    condition = over(Mixture([Beta(2, 5), Point(0.25)], [0.5, 0.5]))
    result = expected_loss(ScoreTable(scores, weights.reshape(2, 2, -1, 2)), method, condition)
    assert result.shape == (2, 2)
    singles = [loss(table, method, condition) for table in tables]
    np.testing.assert_allclose(result.ravel(), singles, atol=1e-12)
    assert expected_loss(tables[0], method, condition).shape == ()


@every_method
@at_most(20)
@given(rows=rows_of(whole=True), data=st.data())
def test_losses_depend_on_the_cases_alone(method, rows, data):
    """Not on their order, nor on whether a case is weighted, repeated, or merged from chunks."""
    condition = CostProportions(Points([0.1, 0.25, 0.7], [0.2, 0.3, 0.5]))
    value = loss(table_of(rows), method, condition)
    single = [(y, s, 1.0) for y, s, w in rows for _ in range(int(w))]
    shuffled = data.draw(st.permutations(single))
    assert loss(table_of(shuffled), method, condition) == pytest.approx(value, abs=1e-13)
    cut = data.draw(st.integers(1, len(shuffled) - 1))
    merged = table_of(shuffled[:cut]) + table_of(shuffled[cut:])
    assert loss(merged, method, condition) == pytest.approx(value, abs=1e-13)


@pytest.mark.parametrize(
    "method",
    [RateUniform(), RateDriven(), Optimal(), ScoreDriven()],
    ids=lambda m: type(m).__name__,
)
@given(rows=rows_in_unit)
def test_classes_change_places_when_scores_and_costs_turn_round(method, rows):
    """Continuous distributions only: at an atom, equal scores are not turned round."""
    turned = [(1 - y, 1 - s, w) for y, s, w in rows]
    result = loss(table_of(turned), method, CostProportions(Beta(5, 2)))
    expected = loss(table_of(rows), method, CostProportions(Beta(2, 5)))
    assert result == pytest.approx(expected, abs=1e-12)


@every_method
def test_tables_with_one_class_are_nan_without_warnings(method):
    for weights in ([[1, 0], [2, 0]], [[0, 1], [0, 2]]):
        table = ScoreTable([0.25, 0.5], weights)
        for condition in (CostProportions(), Skews(Beta(2, 2))):
            assert np.isnan(expected_loss(table, method, condition))
            assert np.isnan(method.loss_curve(table, condition)(0.5))
        assert np.isnan(h_measure(table, Beta(2, 2)))
    stacked = ScoreTable([0.25, 0.5], [[[1, 0], [2, 0]], [[0, 0], [0, 0]], [[1, 1], [2, 1]]])
    for condition in (CostProportions(), Skews()):
        assert np.isnan(expected_loss(stacked, method, condition)).tolist() == [True, True, False]


@every_method
@at_most(15)
@given(rows=rows_in_unit)
def test_many_scores_are_read_in_blocks_without_a_seam(method, rows):
    from stakes import thresholds as methods

    table, condition = table_of(rows), CostProportions(Beta(2, 3))
    whole = loss(table, method, condition)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(methods, "_LEAST", 1)
        patch.setattr(methods, "_BLOCK", 2)
        assert loss(table, method, condition) == pytest.approx(whole, abs=1e-13)


# Thresholds --------------------------------------------------------------------------------------


@given(real_rows, st.sampled_from([0.0, 0.1, 0.3, 0.5, 0.9, 1.0]))
def test_H1_a_fixed_threshold_leads_to_the_error_rate(rows, mean):
    """Theorem 5 for any distribution, corollary 6 when its mean is one half."""
    table, (_, positive) = table_of(rows), shares(table_of(rows))
    for t in (-np.inf, 0.1, 0.2, np.inf):
        alarms, misses = rates_at_threshold(rows, t)
        error = (1 - positive) * alarms + positive * misses
        expected = 2 * mean * error + 4 * positive * misses * (0.5 - mean)
        result = loss(table, ScoreFixed(t), CostProportions(Points([mean, mean], [0.5, 0.5])))
        assert result == pytest.approx(expected, abs=1e-12)
        for symmetric in (Uniform(), Beta(3, 3), Uniform(0.4, 0.6), Point(0.5)):
            at_half = loss(table, ScoreFixed(t), CostProportions(symmetric))
            assert at_half == pytest.approx(error, abs=1e-12)
            assert loss(table, ScoreFixed(t), Skews(symmetric)) == pytest.approx(
                (alarms + misses) / 2, abs=1e-12
            )


@given(real_rows, st.sampled_from([Uniform(), Beta(2, 7), Point(0.25)]))
def test_H1_the_best_fixed_threshold_is_the_optimal_one_at_the_mean(rows, distribution):
    table, condition = table_of(rows), CostProportions(distribution)
    t = float(Optimal().threshold(table, distribution.mean))
    least = min(loss(table, ScoreFixed(s), condition) for s in thresholds(rows))
    assert loss(table, ScoreFixed(t), condition) == pytest.approx(least, abs=1e-12)


@given(real_rows, st.floats(0, 1))
def test_H2_a_fixed_rate_is_the_share_of_positive_decisions(rows, rate):
    table = table_of(rows)
    counts = RateFixed(rate).expected_counts(table).normalized().values
    assert counts[:, 1].sum() == pytest.approx(rate, abs=1e-12)
    alarms, misses = rates_at_rate(rows, rate)
    _, positive = shares(table)
    error = (1 - positive) * alarms + positive * misses
    assert loss(table, RateFixed(rate)) == pytest.approx(error, abs=1e-12)


@given(real_rows, st.floats(0, 1))
@pytest.mark.parametrize("size", [1, 2, 3])
def test_H2_a_fixed_rate_does_not_depend_on_the_blocks_that_scores_are_read_in(size, rows, rate):
    table = table_of(rows)
    both = ScoreTable(table.scores, np.stack([table.weights, table.weights[::-1]]))
    whole = [RateFixed(r).expected_counts(both).values for r in (rate, 0.0, 1.0)]
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(methods, "_BLOCK", 1)
        patched.setattr(methods, "_LEAST", size)
        parts = [RateFixed(r).expected_counts(both).values for r in (rate, 0.0, 1.0)]
    np.testing.assert_allclose(parts[0], whole[0], atol=1e-12 * float(table.n_cases))
    for none, everybody in (whole[1:], parts[1:]):
        assert not none[..., 1].any()
        assert not everybody[..., 0].any()


def test_an_infinite_score_without_cases_does_not_matter_to_drawn_scores() -> None:
    table = ScoreTable([-np.inf, 0.25, 0.5, np.inf], [[0, 0], [3, 1], [1, 3], [0, 0]])
    plain = ScoreTable([0.25, 0.5], [[3, 1], [1, 3]])
    expected = ScoreUniform().expected_counts(plain).values
    assert ScoreUniform().expected_counts(table).values.tolist() == expected.tolist()


@given(real_rows)
def test_H6_the_closed_form_for_uniform_c_is_the_mean_over_cases(rows):
    table = table_of(rows)
    slow = RateDriven().mean_loss(table, Mixture([Uniform(0, 0.5), Uniform(0.5, 1)], [0.5, 0.5]))
    assert float(RateDriven().mean_loss(table, Uniform())) == pytest.approx(float(slow), abs=1e-12)


@given(real_rows)
def test_H2_at_the_rate_of_a_cut_the_cut_itself_is_used(rows):
    table = table_of(rows)
    for t in thresholds(rows):
        above = sum(w for _, s, w in rows if s > t or t == -np.inf)
        rate = above / float(table.n_cases)
        fixed = RateFixed(min(rate, 1.0))
        assert loss(table, fixed) == pytest.approx(loss(table, ScoreFixed(t)), abs=1e-9)


@given(rows_of(scores=[-2.0, 0.1, 0.25, 3.0, 1e300, np.inf], whole=True))
def test_H2_rate_driven_gives_the_positive_decision_to_the_share_one_minus_c(rows):
    table = table_of(rows)
    for c in (0.0, 0.1, 0.5, 0.8, 1.0):
        point = CostProportions(Point(c))
        assert loss(table, RateDriven(), point) == pytest.approx(
            loss(table, RateFixed(1 - c), point), abs=1e-12
        )
        result = float(RateDriven().threshold(table, c))
        assert result == RateFixed(1 - c).threshold(table, 0.3)
        below = sum(w for _, s, w in rows if s <= result)
        assert below >= c * float(table.n_cases) - 1e-9
        strictly = sum(w for _, s, w in rows if s < result)
        assert strictly < c * float(table.n_cases) + 1e-9


def test_thresholds_that_are_drawn_are_nan_and_others_are_themselves():
    table = ScoreTable([0.1, 0.4, 0.7], [[2, 0], [1, 1], [0, 2]])
    c = np.array([[0.0, 0.3], [0.5, 1.0]])
    assert np.isnan(ScoreUniform().threshold(table, c)).all()
    assert np.isnan(RateUniform().threshold(table, c)).all()
    assert ScoreFixed(0.2).threshold(table, c).tolist() == [[0.2, 0.2], [0.2, 0.2]]
    assert ScoreDriven().threshold(table, c).tolist() == c.tolist()
    assert RateFixed(0.5).threshold(table, c).tolist() == [[0.4, 0.4], [0.4, 0.4]]
    assert RateDriven().threshold(table, [0, 0.3, 0.34, 0.67, 1]).tolist() == [
        *(-np.inf, 0.1, 0.4, 0.7, 0.7)
    ]
    assert Optimal().threshold(table, [0, 0.49, 0.5, 1]).tolist() == [0.1, 0.1, 0.4, 0.7]


@given(real_rows, st.sampled_from([0.0, 0.2, 0.5, 0.7, 1.0]))
def test_the_optimal_threshold_has_the_least_loss(rows, c):
    table, point = table_of(rows), CostProportions(Point(c))
    t = float(Optimal().threshold(table, c))
    least = min(loss(table, ScoreFixed(s), point) for s in thresholds(rows))
    assert loss(table, ScoreFixed(t), point) == pytest.approx(least, abs=1e-12)
    assert loss(table, Optimal(), point) == pytest.approx(least, abs=1e-12)


# Theorems ----------------------------------------------------------------------------------------


def mean_power_error(table: ScoreTable, power: int) -> float:
    """π₀ E{s^p | 0} + π₁ E{(1 - s)^p | 1}, the MAE for p = 1 and the Brier score for p = 2."""
    errors = np.stack([table.scores**power, (1 - table.scores) ** power], axis=1)
    return float((table.weights * errors).sum() / table.weights.sum())


def equal(table: ScoreTable) -> ScoreTable:
    return table.with_prior([0.5, 0.5])


@given(rows_in_unit)
def test_H3_score_uniform_is_the_mean_absolute_error(rows):
    table, mean = table_of(rows), 0.3
    half = CostProportions(Beta(4, 4))
    assert loss(table, ScoreUniform(), half) == pytest.approx(mean_power_error(table, 1), abs=1e-12)
    assert loss(table, ScoreUniform(), Skews()) == pytest.approx(
        mean_power_error(equal(table), 1), abs=1e-12
    )
    negative, positive = shares(table)
    low, high = (
        np.average(table.scores, weights=table.weights[:, 0]),
        np.average(table.scores, weights=table.weights[:, 1]),
    )
    expected = 2 * (mean * negative * low + (1 - mean) * positive * (1 - high))
    result = loss(table, ScoreUniform(), CostProportions(Point(mean)))
    assert result == pytest.approx(expected, abs=1e-12)


@given(rows_in_unit)
def test_H4_score_driven_is_the_brier_score(rows):
    table = table_of(rows)
    assert loss(table, ScoreDriven()) == pytest.approx(mean_power_error(table, 2), abs=1e-12)
    skew = loss(table, ScoreDriven(), Skews())
    assert skew == pytest.approx(mean_power_error(equal(table), 2), abs=1e-12)


@pytest.mark.parametrize("gap", [2.0**-10, 2.0**-30, 2.0**-45])
def test_H4_score_driven_keeps_the_digits_of_nearly_perfect_scores(gap):
    """Slow twin in fractions; the scores are exact."""
    table = ScoreTable([gap, 1 - gap, 1 - gap / 2], [[3, 0], [0, 2], [0, 1]])
    exact = Fraction(gap)
    twin = float((3 * exact**2 + 2 * exact**2 + (exact / 2) ** 2) / 6)
    assert loss(table, ScoreDriven()) == pytest.approx(twin, rel=1e-13, abs=0)
    assert float(brier(table)) == pytest.approx(twin, rel=1e-13, abs=0)


@special_tables
def test_H3_H4_on_large_and_tiny_tables(table):
    assert loss(table, ScoreUniform()) == pytest.approx(mean_power_error(table, 1), abs=1e-12)
    assert loss(table, ScoreDriven()) == pytest.approx(mean_power_error(table, 2), abs=1e-12)


def linear_in_auc(table: ScoreTable) -> float:
    negative, positive = shares(table)
    return float(negative * positive * (1 - 2 * auc(table)))


@given(real_rows, st.sampled_from([0.0, 0.2, 0.5, 1.0]))
def test_H5_rate_uniform_is_linear_in_auc(rows, mean):
    """Theorem 18 and corollaries 19 and 20, ties and weights included."""
    table = table_of(rows)
    negative, positive = shares(table)
    expected = linear_in_auc(table) + negative * mean + positive * (1 - mean)
    result = loss(table, RateUniform(), CostProportions(Point(mean)))
    assert result == pytest.approx(expected, abs=1e-12)
    assert loss(table, RateUniform()) == pytest.approx(linear_in_auc(table) + 0.5, abs=1e-12)
    skew = loss(table, RateUniform(), Skews(Point(mean)))
    assert skew == pytest.approx((1 - 2 * float(auc(table))) / 4 + 0.5, abs=1e-12)


@given(real_rows)
def test_H5_the_expected_contingency_table(rows):
    table = table_of(rows)
    p0, p1 = shares(table)
    area = float(auc(table))
    expected = [
        [p0**2 / 2 + p0 * p1 * area, p0**2 / 2 + p0 * p1 * (1 - area)],
        [p1**2 / 2 + p0 * p1 * (1 - area), p1**2 / 2 + p0 * p1 * area],
    ]
    rates = RateUniform().expected_counts(table).normalized().values
    np.testing.assert_allclose(rates, expected, atol=1e-12)


@given(st.lists(st.integers(0, 1), min_size=2, max_size=30).filter(lambda y: len(set(y)) == 2))
def test_H5_over_cut_points_the_auc_term_carries_n_over_n_plus_1(y):
    """Flach et al. (2011), cited in section 5.1: what averaging over the n + 1 cuts would give."""
    table = ScoreTable.from_scores(y, np.arange(len(y)))
    n, area = len(y), float(auc(table))
    cuts = [loss(table, ScoreFixed(t), Skews()) for t in table.thresholds]
    assert np.mean(cuts) == pytest.approx(n / (n + 1) * (1 - 2 * area) / 4 + 0.5, abs=1e-12)
    exact = loss(table, RateUniform(), Skews())
    assert exact == pytest.approx((1 - 2 * area) / 4 + 0.5, abs=1e-12)


@given(real_rows)
def test_H6_rate_driven_is_linear_in_auc(rows):
    """Theorem 22 and corollary 23; knowing the condition is worth 1/6, whatever the model."""
    table = table_of(rows)
    assert loss(table, RateDriven()) == pytest.approx(linear_in_auc(table) + 1 / 3, abs=1e-12)
    skew = loss(table, RateDriven(), Skews())
    assert skew == pytest.approx((1 - 2 * float(auc(table))) / 4 + 1 / 3, abs=1e-12)
    gain = loss(table, RateUniform()) - loss(table, RateDriven())
    assert gain == pytest.approx(1 / 6, abs=1e-12)


@special_tables
def test_H5_H6_on_large_and_tiny_tables(table):
    assert loss(table, RateUniform()) == pytest.approx(linear_in_auc(table) + 1 / 2, abs=1e-12)
    assert loss(table, RateDriven()) == pytest.approx(linear_in_auc(table) + 1 / 3, abs=1e-12)
    assert loss(table, RateDriven(), Skews()) == pytest.approx(
        (1 - 2 * float(auc(table))) / 4 + 1 / 3, abs=1e-12
    )


def test_H6_the_rate_driven_curve_is_quadratic_and_continuous():
    curve = RateDriven().loss_curve(LARGE["1:100 tied"], CostProportions)
    assert np.all(curve.coefficients[:, 2] == -2)
    at_knots = curve(curve.knots[1:-1])
    just_before = curve(np.nextafter(curve.knots[1:-1], 0))
    np.testing.assert_allclose(at_knots, just_before, atol=1e-12)


def refinement(table: ScoreTable) -> float:
    """Mean of y(1 - y) over the segments of the hull, y their share of positives."""
    segments = isotonic(table)
    size = segments.weights.sum(axis=1)
    share = segments.weights[:, 1] / size
    return float((size * share * (1 - share)).sum() / size.sum())


@given(real_rows)
def test_H7_optimal_is_the_refinement_loss_of_the_hull(rows):
    table = table_of(rows)
    assert loss(table, Optimal()) == pytest.approx(refinement(table), abs=1e-12)
    assert loss(table, Optimal(), Skews()) == pytest.approx(refinement(equal(table)), abs=1e-12)


@given(rows_in_unit)
def test_H7_convexifying_keeps_the_optimal_loss_under_every_distribution(rows):
    """Theorem 27; and theorem 43, calibrated scores are optimal thresholds."""
    table = table_of(rows)
    for distribution in (Uniform(), Beta(2, 5), Points([0.2, 0.5], [0.5, 0.5])):
        condition = CostProportions(distribution)
        best = loss(table, Optimal(), condition)
        assert loss(convexified(table), Optimal(), condition) == pytest.approx(best, abs=1e-12)
        assert loss(isotonic(table), ScoreDriven(), condition) == pytest.approx(best, abs=1e-12)
        assert loss(isotonic(table), Optimal(), condition) == pytest.approx(best, abs=1e-12)


@special_tables
def test_H7_on_large_and_tiny_tables(table):
    assert loss(table, Optimal()) == pytest.approx(refinement(table), abs=1e-12)


@given(rows_in_unit)
def test_H12_the_order_of_losses(rows):
    table = table_of(rows)
    su, sd, ru, rd, best = (
        loss(table, method)
        for method in (ScoreUniform(), ScoreDriven(), RateUniform(), RateDriven(), Optimal())
    )
    assert ru > rd >= best - 1e-12
    assert su >= sd - 1e-12
    assert sd >= best - 1e-12


@pytest.mark.parametrize("counts", [(1, 1), (5, 2), (1, 9999)])
def test_H12_a_perfect_ranking_still_pays_for_rates(counts):
    """½ - π₀π₁ and 1/3 - π₀π₁; the printed 1/4 and 1/12 are those of equal classes."""
    table = ScoreTable([-3, 8], [[counts[0], 0], [0, counts[1]]])
    product = counts[0] * counts[1] / sum(counts) ** 2
    assert loss(table, RateUniform()) == pytest.approx(1 / 2 - product, abs=1e-15)
    assert loss(table, RateDriven()) == pytest.approx(1 / 3 - product, abs=1e-15)
    assert loss(table, Optimal()) == 0


def test_H12_a_random_model_with_equal_classes():
    """Crisp scores; random scores spread over [0, 1] have a Brier score of 1/3, not 1/2."""
    crisp = ScoreTable([0, 1], [[1, 1], [1, 1]])
    results = [loss(crisp, method) for method in (ScoreUniform(), ScoreDriven(), RateUniform())]
    assert results == pytest.approx([0.5] * 3)
    assert loss(crisp, RateDriven()) == pytest.approx(1 / 3)
    assert loss(crisp, Optimal()) == pytest.approx(1 / 4)
    spread = ScoreTable((np.arange(1000) + 0.5) / 1000, np.ones((1000, 2)))
    assert loss(spread, ScoreDriven()) == pytest.approx(1 / 3, abs=1e-6)


@given(rows_of(scores=REAL_SCORES, whole=True))
def test_H12_rates_are_evenly_spaced_scores(rows):
    """Midpoint spacing turns the uniform rate into the uniform score, exactly (theorem 36)."""
    table = table_of(rows)
    expected = loss(table, RateUniform())
    assert loss(midpoint_spaced(table), ScoreUniform()) == pytest.approx(expected, abs=1e-12)


# Hand's H ----------------------------------------------------------------------------------------


def slow_trivial_loss(rows, distribution) -> float:
    tied = [(y, 0.0, w) for y, _, w in rows]
    return slow_expected_loss(tied, Optimal(), CostProportions(distribution))


@at_most(15)
@given(rows=rows_of(scores=REAL_SCORES, size=6))
def test_H16_hands_measure_is_the_share_of_the_trivial_loss_taken_away(rows):
    table = table_of(rows)
    prior = table.shares
    for distribution in (Beta(2, 2), Beta.hand(prior), Beta(2, 3), Points([0.2, 0.5], [0.5, 0.5])):
        optimal = slow_expected_loss(rows, Optimal(), CostProportions(distribution))
        trivial = slow_trivial_loss(rows, distribution)
        if trivial > 1e-3:
            expected = 1 - optimal / trivial
            assert float(h_measure(table, distribution)) == pytest.approx(expected, abs=1e-6)


@given(real_rows)
def test_H16_uniform_weight_gives_the_refinement_loss(rows):
    table = table_of(rows)
    negative, positive = shares(table)
    expected = 1 - refinement(table) / (negative * positive)
    assert float(h_measure(table, Uniform())) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("b", [0.5, 1.0, 2.0, 50.0])
@pytest.mark.parametrize("a", [1e-100, 1e-30, 1e-16, 1e-13])
def test_H16_costs_that_are_nearly_always_next_to_zero_or_one_keep_their_digits(a, b):
    """In the limit a → 0 the density is (1 − c)^(b − 1) / c; mirrored, costs are next to one."""
    table = ScoreTable([1, 2, 3, 4, 5], [[5, 0], [4, 2], [1, 3], [2, 1], [0, 4]])
    mirrored = ScoreTable(table.scores, table.weights[::-1, ::-1])
    near = float(h_measure(table, Beta(a, b)))

    def weighed(best: Callable[[float], float]) -> float:
        density = lambda c: best(c) / c * (1 - c) ** (b - 1)  # noqa: E731
        pieces = pairwise(np.linspace(0, 1, 21))
        return sum(quad(density, *piece, epsabs=0, epsrel=1e-8)[0] for piece in pieces)

    rates = roc(table)
    negative, positive = shares(table)
    points = list(zip(rates.false_alarm_rate, 1 - rates.hit_rate, strict=True))
    least = lambda c: min(c * negative * f + (1 - c) * positive * m for f, m in points)  # noqa: E731
    blind = lambda c: min(c * negative, (1 - c) * positive)  # noqa: E731
    assert near == pytest.approx(1 - weighed(least) / weighed(blind), rel=1e-6)
    assert float(h_measure(mirrored, Beta(b, a))) == pytest.approx(near, rel=1e-12)


def test_H16_perfect_scores_have_one_idle_scores_zero_and_reversed_ones_are_not_turned():
    weight = Beta(2, 2)
    assert h_measure(ScoreTable([1, 2], [[5, 0], [0, 2]]), weight) == 1
    assert h_measure(ScoreTable([1, 2], [[4, 2], [2, 1]]), weight) == pytest.approx(0, abs=1e-15)
    assert h_measure(ScoreTable([1, 2], [[0, 5], [2, 0]]), weight) == pytest.approx(0, abs=1e-15)
    assert np.isnan(h_measure(ScoreTable([1, 2], [[5, 0], [0, 2]]), Point(0)))


def test_H16_golden_numbers_of_the_r_packages_twin():
    """Python package hmeasure 0.1.6, ``h_score(y, s)``; its default is Beta.severity."""
    y = [0, 0, 1, 0, 1, 0, 0, 1, 1, 0, 1, 0]
    s = [0.1, 0.3, 0.35, 0.4, 0.55, 0.6, 0.2, 0.8, 0.9, 0.65, 0.5, 0.05]
    table = ScoreTable.from_scores(y, s)
    assert float(h_measure(table, Beta.severity(table.shares))) == pytest.approx(
        0.49258243725349105, rel=1e-12
    )


@given(real_rows)
def test_H16_groups_have_their_own_measure(rows):
    table = table_of(rows)
    stacked = table.with_weights(np.stack([table.weights, table.weights[:, ::-1]]))
    result = h_measure(stacked, Beta(2, 3))
    assert result.shape == (2,)
    assert result[0] == pytest.approx(float(h_measure(table, Beta(2, 3))), abs=1e-12)


# Costs, skews and shares -------------------------------------------------------------------------


@every_method
@given(rows=rows_in_unit)
def test_H17_skews_are_cost_proportions_when_classes_are_equal(method, rows):
    table = equal(table_of(rows))
    for distribution in (Uniform(), Beta(2, 5), Point(0.25)):
        skew = loss(table, method, Skews(distribution))
        assert skew == pytest.approx(loss(table, method, CostProportions(distribution)), abs=1e-12)


@pytest.mark.parametrize(
    "method", [ScoreFixed(0.25), ScoreUniform(), Optimal()], ids=lambda m: type(m).__name__
)
@given(rows=rows_in_unit)
def test_H17_skew_weights_multiply_by_the_bracket(method, rows):
    """L_z = L_c when w_z dz = w_c dc · 2(cπ₀ + (1 - c)π₁); the appendix divides."""
    table = table_of(rows)
    negative, positive = shares(table)
    c, chance = np.array([0.1, 0.25, 0.7]), np.array([0.2, 0.5, 0.3])
    bracket = c * negative + (1 - c) * positive
    mass = 2 * bracket * chance
    skew = Sample(c * negative / bracket, mass)
    result = mass.sum() * loss(table, method, Skews(skew))
    expected = loss(table, method, CostProportions(Points(c, chance)))
    assert result == pytest.approx(expected, abs=1e-12)


@given(rows_in_unit, st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1))
def test_H17_random_costs_enter_through_their_magnitude(rows, costs):
    """Mean expected cost over draws of both costs, each with the best threshold for it."""
    table = table_of(rows)
    if not any(a + b for a, b in costs):
        return
    best = [best_threshold(table, Problem.binary(false_alarm=a, miss=b)) for a, b in costs]
    mean = np.mean([result.cost for result in best])
    condition = CostProportions.from_costs(*zip(*costs, strict=True))
    actual = np.mean(np.sum(costs, axis=1)) / 2 * loss(table, Optimal(), condition)
    assert actual == pytest.approx(mean, abs=1e-11)


@given(rows_in_unit, st.sampled_from([0.0, 0.1, 0.5, 0.7]))
def test_H18_mixtures_are_linear_and_samples_are_points(rows, p):
    table = table_of(rows)
    for method in METHODS.values():
        parts = [Beta(2, 5), Points([0.25, 0.5], [0.5, 0.5])]
        mixed = loss(table, method, CostProportions(Mixture(parts, [p, 1 - p])))
        singles = [loss(table, method, CostProportions(part)) for part in parts]
        assert mixed == pytest.approx(p * singles[0] + (1 - p) * singles[1], abs=1e-13)
        drawn = loss(table, method, CostProportions(Sample([0.5, 0.25, 0.25, 0.5])))
        assert drawn == pytest.approx(singles[1], abs=1e-13)


# The best threshold ------------------------------------------------------------------------------

PROBLEMS = st.builds(
    lambda a, b, right, prior: Problem(
        [[right, right + a], [b - 1, -1]], prior=prior, classes=(0, 1)
    ),
    st.sampled_from([0.0, 1.0, 3.0, 25.0, -1.0]),
    st.sampled_from([0.0, 1.0, 4.0, 1000.0]),
    st.sampled_from([0.0, 2.0]),
    st.sampled_from([None, [0.5, 0.5], [0.99, 0.01], [1.0, 0.0]]),
).filter(lambda problem: not np.isnan(problem.threshold))


def all_costs(table: ScoreTable, problem: Problem) -> np.ndarray:
    return expected_cost(table.counts(), problem)


@given(real_rows, PROBLEMS)
def test_D11_no_threshold_costs_less_than_the_best(rows, problem):
    table = table_of(rows)
    best, costs = best_threshold(table, problem), all_costs(table, problem)
    assert best.cost == pytest.approx(costs.min(), rel=1e-12, abs=1e-12)
    assert float(expected_cost(best.counts, problem)) == best.cost
    at = thresholds(rows).index(best.threshold)
    np.testing.assert_allclose(best.counts.values, table.counts().values[at], rtol=1e-12)
    later = costs[at + 1 :]
    fewer = np.cumsum(table.weights[at:].sum(axis=1)) > 0  # cuts with fewer positive decisions
    if problem.threshold not in (-np.inf, np.inf):
        regrets = all_costs(table, problem.regret())
        assert np.all(regrets[at + 1 :][fewer] > regrets.min() * (1 - 1e-12))
    assert len(later) == len(fewer)


def test_D11_of_thresholds_that_tie_the_highest_is_best():
    """Two vertices of the hull under a line of equal cost: 1 · 2 misses against 2 · 1 alarms."""
    table = ScoreTable([1, 2, 3, 4], [[6, 0], [2, 1], [1, 2], [0, 6]])
    tied = Problem.binary(false_alarm=1, miss=2)
    costs = all_costs(table, tied)
    assert np.flatnonzero(np.isclose(costs, costs.min())).tolist() == [1, 2]
    assert best_threshold(table, tied).threshold == 2


@pytest.mark.parametrize("ratio", [1e6, 1e8, 1e12])
def test_D11_costs_that_differ_by_orders_of_magnitude_are_weighed_all_the_same(ratio):
    table = ScoreTable([1, 2], [[10, 0], [0, 10]])
    rare = Problem.binary(false_alarm=ratio, miss=1, prior=[1 - 1e-6, 1e-6])
    assert best_threshold(table, rare).threshold == 1.0
    assert best_threshold(table, rare).cost == 0.0
    offset = Problem([[ratio, ratio + 1], [ratio + 1, ratio]])
    assert best_threshold(table, offset).threshold == 1.0
    assert best_threshold(table, offset).cost == ratio


@given(real_rows, PROBLEMS)
def test_D11_the_tangent_touches_the_hull_and_its_height_is_the_cost(rows, problem):
    """Slope a π₀ / (b π₁); cost = b π₁ (1 - intercept) plus what right decisions cost."""
    table = table_of(rows)
    best = best_threshold(table, problem)
    (c00, c01), (c10, c11) = problem.costs
    negative, positive = problem.prior if problem.prior is not None else shares(table)
    if (c10 - c11) * positive == 0:
        assert np.isnan(best.intercept)
        return
    assert best.slope == pytest.approx((c01 - c00) * negative / ((c10 - c11) * positive))
    for t in thresholds(rows):
        alarms, misses = rates_at_threshold(rows, t)
        line = best.intercept + best.slope * alarms
        assert 1 - misses <= line + 1e-9 * max(1, abs(line), abs(best.slope))
    scale = (c10 - c11) * positive
    right = negative * c00 + positive * c11
    assert best.cost == pytest.approx(right + scale * (1 - best.intercept), rel=1e-9, abs=1e-9)


def test_D11_the_smaller_area_can_win():
    """dyrland, figure 8: where the costs point, the curve with the smaller area is higher."""
    problem = Problem.binary(false_alarm=10, miss=1, prior=[0.5, 0.5])
    broad = ScoreTable([1, 2, 3], [[6, 0], [4, 6], [0, 0]]) + ScoreTable([2], [[0, 4]])
    steep = ScoreTable([1, 2], [[10, 6], [0, 4]])
    assert auc(broad) > auc(steep)
    first, second = best_threshold(broad, problem), best_threshold(steep, problem)
    assert second.slope == first.slope == 10
    assert second.intercept > first.intercept
    assert second.cost < first.cost


@given(real_rows, PROBLEMS)
def test_D11_the_best_threshold_is_the_optimal_one_at_the_problems_skew(rows, problem):
    table = table_of(rows)
    a, b = problem.costs[0, 1] - problem.costs[0, 0], problem.costs[1, 0] - problem.costs[1, 1]
    if a < 0 or (problem.prior is not None and 0 in problem.prior):
        return
    deployed = table if problem.prior is None else table.with_prior(problem.prior)
    at = Optimal().threshold(deployed, a / (a + b))
    counts = ScoreFixed(float(at)).expected_counts(table)
    result = float(expected_cost(counts, problem))
    assert result == pytest.approx(best_threshold(table, problem).cost, rel=1e-9, abs=1e-12)


def test_one_decision_can_always_be_right():
    """ferrer-ec, eq 18-20 with general costs: -inf is all positive, the top score is none."""
    table = ScoreTable([0.2, 0.6], [[2, 1], [1, 2]])
    assert best_threshold(table, Problem([[1, 0], [5, 0]])).threshold == -np.inf
    assert best_threshold(table, Problem([[0, 1], [0, 1]])).threshold == 0.6
    assert best_threshold(table, Problem([[0, 0], [5, 0]])).threshold == -np.inf
    nothing = best_threshold(table, Problem([[2, 2], [5, 5]]))
    assert np.isnan(nothing.threshold)
    assert nothing.cost == pytest.approx(3.5)
    assert np.isnan(nothing.counts.values).all()


def test_a_class_without_cases_counts_only_if_the_prior_expects_it():
    table = ScoreTable([0.2, 0.6], [[2, 0], [1, 0]])
    without = best_threshold(table, Problem.binary(false_alarm=1, miss=1))
    assert (without.threshold, without.cost) == (0.6, 0)
    expected = best_threshold(table, Problem.binary(false_alarm=1, miss=1, prior=[0.5, 0.5]))
    assert np.isnan([expected.threshold, expected.cost, expected.slope]).all()


# Messages ----------------------------------------------------------------------------------------

TABLE = ScoreTable([-1.5, 0.5, 2.0], [[2, 0], [1, 1], [0, 2]])
STACKED = ScoreTable([0.1, 0.5], np.ones((3, 2, 2)))


def untyped(value: Any) -> Any:
    return value


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: loss(TABLE, ScoreDriven()),
            r"scores must lie in \[0, 1\] for ScoreDriven; 2 of 3 distinct scores do not, the "
            r"first being -1.5 at position 0. Calibrate them first, for example with "
            r"stakes.calibration.Isotonic or Affine",
        ),
        (lambda: loss(TABLE, ScoreUniform()), r"in \[0, 1\] for ScoreUniform"),
        (lambda: loss(TABLE, ScoreUniform(-1, 2)), r"in \[-1, 2\] for ScoreUniform; 1 of 3"),
        (lambda: ScoreDriven().loss_curve(TABLE, Skews), "stakes.calibration.Isotonic"),
        (lambda: ScoreUniform(1, 1), "low must be less than high"),
        (lambda: ScoreUniform(0, np.inf), "high must be one real number"),
        (lambda: ScoreFixed(np.nan), "t must hold numbers that can be ordered"),
        (lambda: RateFixed(1.2), "r must be one real number within"),
        (lambda: expected_loss(TABLE, Optimal(), untyped(Beta(2, 2))), r"Wrap it: CostProportions"),
        (lambda: loss(TABLE, untyped(Optimal)), r"method must be a Method; .* Optimal\(\)"),
        (lambda: expected_loss(TABLE, Optimal(), untyped(CostProportions)), r"condition must say"),
        (
            lambda: Optimal().loss_curve(TABLE, untyped(Uniform())),
            "over must say what the curve runs over",
        ),
        (lambda: Optimal().loss_curve(STACKED, Skews), "no leading axes"),
        (lambda: Optimal().threshold(STACKED, 0.5), "no leading axes"),
        (lambda: RateDriven().threshold(STACKED, 0.5), "no leading axes"),
        (lambda: Optimal().threshold(TABLE, 1.5), r"value must hold probabilities in \[0, 1\]"),
        (lambda: best_threshold(STACKED, Problem.zero_one(2)), "no leading axes"),
        (lambda: best_threshold(TABLE, Problem.zero_one(3)), "two classes and two decisions"),
        (lambda: best_threshold(TABLE, Problem([[1, 0], [0, 1]])), "Swap the decisions"),
        (lambda: h_measure(TABLE, untyped("beta")), "must be a distribution"),
    ],
)
def test_messages_of_thresholds(make: Callable[[], object], message: str):
    with pytest.raises(InputError, match=message):
        make()


def test_methods_are_values():
    assert ScoreFixed(0.5) == ScoreFixed(0.5) != ScoreFixed(0.4)
    assert Optimal() == Optimal()
    assert len({Optimal(), RateDriven(), RateUniform(), Optimal()}) == 3
    assert repr(RateFixed(0.2)) == "RateFixed(r=0.2)"


@pytest.mark.parametrize("over", [CostProportions, Skews])
@pytest.mark.parametrize("fraction", [1.0, 0.1])
def test_H15_rate_driven_curves_reach_from_zero_to_one(over, fraction):
    """Many distinct scores, whose weights do not sum to a round number."""
    rng = np.random.default_rng(11)
    for size in (8, 9, 20, 40):
        table = ScoreTable(np.arange(size), fraction * rng.integers(1, 9, (size, 2)))
        curve = RateDriven().loss_curve(table, over)
        assert curve.domain == (0.0, 1.0)
        assert curve(1.0) == pytest.approx(0, abs=1e-12)
        expected = float(expected_loss(table, RateDriven(), over()))
        assert curve.expectation(Uniform()) == pytest.approx(expected, abs=1e-12)


def test_scores_without_cases_may_lie_anywhere():
    table = ScoreTable([0.2, 0.8, 1.7], [[1, 0], [0, 1], [0, 0]])
    assert float(expected_loss(table, ScoreDriven(), CostProportions())) == pytest.approx(0.04)


def test_thresholds_of_tables_that_say_nothing_are_nan():
    empty = ScoreTable([0.1, 0.2], np.zeros((2, 2)))
    unknown = ScoreTable([0.1, 0.2], [[1, 0], [2, 0]]).with_prior([0.5, 0.5])
    for table in (empty, unknown):
        for method in (Optimal(), RateDriven(), RateFixed(0.5)):
            assert np.isnan(method.threshold(table, [0.3, 0.6])).all()
    assert np.isnan(RateUniform().expected_counts(unknown).values).all()
