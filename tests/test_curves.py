"""Named curves: their corners from the definitions, their areas from the theorems."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from scipy.special import expit, logit

from stakes import curves, ranking
from stakes._check import FloatArray
from stakes.conditions import Condition, CostProportions, Skews
from stakes.curve import Curve
from stakes.errors import InputError
from stakes.measures import expected_cost, net_benefit, normalized_cost
from stakes.problem import Problem
from stakes.scoring import brier
from stakes.tally import Counts, ScoreTable
from stakes.thresholds import (
    Method,
    Optimal,
    RateDriven,
    RateFixed,
    RateUniform,
    ScoreDriven,
    ScoreFixed,
    ScoreUniform,
    expected_loss,
)

PROBABILITIES = (0.0, 0.1, 0.25, 0.5, 0.6, 0.9, 1.0)
REAL = (-math.inf, -3.0, -1.0, -0.1, 0.0, 0.5, 2.0, 3.0, math.inf)


def tables_with(scores: tuple[float, ...]) -> st.SearchStrategy[ScoreTable]:
    """Both classes, many ties, scores without weight, and weights from one in 10**4 to 10**4."""
    weight = st.sampled_from([0.0, 0.0, 1.0, 2.0, 3.0, 7.0, 0.3, 1e4, 1e-4])

    def filled(chosen: set[float]) -> st.SearchStrategy[ScoreTable]:
        rows = st.lists(st.tuples(weight, weight), min_size=len(chosen), max_size=len(chosen))
        both = rows.filter(lambda w: all(sum(column) > 0 for column in zip(*w, strict=True)))
        return both.map(lambda w: ScoreTable(sorted(chosen), w))

    return st.sets(st.sampled_from(scores), min_size=1).flatmap(filled)


probability_tables = tables_with(PROBABILITIES)
real_tables = tables_with(REAL)
shares = st.floats(0, 1)


def close(value: object, wanted: object, tolerance: float = 1e-12) -> bool:
    return bool(np.allclose(value, wanted, rtol=tolerance, atol=tolerance, equal_nan=True))  # type: ignore[arg-type]


def decided(table: ScoreTable, threshold: float) -> tuple[float, float]:
    """Weights of negatives and positives whose score exceeds the threshold."""
    above = table.scores > threshold
    return float(table.weights[above, 0].sum()), float(table.weights[above, 1].sum())


# ROC, hull, gains --------------------------------------------------------------------------------


@given(real_tables, shares)
def test_roc_curve_interpolates_the_points_of_roc_and_takes_the_top_of_a_climb(
    table: ScoreTable, x: float
) -> None:
    curve, points = curves.roc_curve(table), ranking.roc(table)
    alarms, hits = points.false_alarm_rate[::-1], points.hit_rate[::-1]
    for alarm in {x, *alarms.tolist()}:
        if alarm in alarms:
            wanted = hits[alarms == alarm].max()
        else:
            after = int(np.searchsorted(alarms, alarm))
            step = (alarm - alarms[after - 1]) / (alarms[after] - alarms[after - 1])
            wanted = hits[after - 1] + step * (hits[after] - hits[after - 1])
        assert close(curve(alarm), wanted)
    assert close(curve.integral(), ranking.auc(table))


@given(real_tables, shares)
def test_hull_curve_is_the_least_concave_curve_above_the_roc_curve(
    table: ScoreTable, x: float
) -> None:
    hull, curve = curves.hull_curve(table), curves.roc_curve(table)
    points = ranking.roc(table)
    assert np.all(hull(points.false_alarm_rate) >= points.hit_rate - 1e-12)
    assert hull(x) >= curve(x) - 1e-12
    corners = hull.columns()
    assert np.all(curve(corners["x"]) >= corners["y"] - 1e-12)  # every vertex is on the curve
    climbs = np.diff(corners["x"]) > 0
    slopes = np.diff(corners["y"])[climbs] / np.diff(corners["x"])[climbs]
    assert np.all(np.diff(slopes) < 0)
    assert close(hull.integral(), ranking.auc_of_hull(table))


@given(real_tables)
def test_gains_rise_from_nothing_to_all_with_an_area_that_auc_decides(table: ScoreTable) -> None:
    curve = curves.gains_curve(table)
    negative, positive = table.shares
    assert close(curve.integral(), positive / 2 + negative * ranking.auc(table))
    chart = curves.lift(table)
    for threshold, rate, gain in zip(
        chart.thresholds[1:], chart.rate[1:], chart.gain[1:], strict=True
    ):
        alarms, hits = decided(table, threshold)
        assert close(rate, (alarms + hits) / table.n_cases)
        assert close(gain, hits / table.weights[:, 1].sum())
        assert close(curve(rate), gain)


@given(real_tables)
def test_lift_is_precision_over_the_share_of_positives(table: ScoreTable) -> None:
    chart = curves.lift(table)
    assert close(chart.lift, curves.precision_recall(table).precision / table.shares[1])
    assert close(chart.gain, ranking.roc(table).hit_rate)
    assert (chart.rate[0], chart.gain[0], chart.lift[0]) == (1.0, 1.0, 1.0)
    assert np.isnan(chart.lift[-1])


# Precision and recall, DET -----------------------------------------------------------------------


@given(real_tables)
def test_E18_precision_and_recall_are_those_of_the_decisions_at_each_threshold(
    table: ScoreTable,
) -> None:
    curve = curves.precision_recall(table)
    for j, (threshold, precision, recall) in enumerate(
        zip(curve.thresholds, curve.precision, curve.recall, strict=True)
    ):
        alarms, hits = decided(table, threshold) if j else tuple(table.weights.sum(axis=0))
        assert close(precision, hits / (alarms + hits) if alarms + hits else np.nan)
        assert close(recall, hits / table.weights[:, 1].sum())
    steps = -np.diff(curve.recall) * np.where(np.isnan(curve.precision), 0, curve.precision)[:-1]
    assert close(np.sum(steps), ranking.average_precision(table))


@given(real_tables)
def test_E18_det_has_both_error_rates_on_plain_and_on_normal_scales(table: ScoreTable) -> None:
    det, points = curves.detection_error_tradeoff(table), ranking.roc(table)
    assert close(det.false_alarm_rate, points.false_alarm_rate)
    assert close(det.miss_rate, 1 - points.hit_rate)
    assert close(det.miss_probit, stats.norm.ppf(det.miss_rate))
    assert close(det.false_alarm_probit, stats.norm.ppf(det.false_alarm_rate))


def test_columns_carry_leading_axes() -> None:
    rng = np.random.default_rng(1)
    stack = ScoreTable(range(4), rng.integers(1, 9, (3, 2, 4, 2)))
    for function in (curves.precision_recall, curves.detection_error_tradeoff, curves.lift):
        whole, single = function(stack), function(stack[2, 1])
        for name in whole.__dataclass_fields__:
            if name != "thresholds":
                assert getattr(whole, name).shape == (3, 2, 5)
                assert close(getattr(whole, name)[2, 1], getattr(single, name))
    lines, line = curves.cost_lines(stack, Skews), curves.cost_lines(stack[2, 1], Skews)
    assert close(lines.at_zero[2, 1], line.at_zero)
    assert close(lines.at_one[2, 1], line.at_one)


# Cost curves -------------------------------------------------------------------------------------

METHODS = (
    ScoreFixed(0.4),
    RateFixed(0.3),
    ScoreUniform(),
    RateUniform(),
    ScoreDriven(),
    RateDriven(),
    Optimal(),
)


@pytest.mark.parametrize("over", [CostProportions, Skews])
@pytest.mark.parametrize("method", METHODS, ids=lambda m: type(m).__name__)
@given(table=probability_tables)
def test_H15_area_under_the_cost_curve_is_the_expected_loss_of_the_method(
    over: type[CostProportions | Skews], method: Method, table: ScoreTable
) -> None:
    area = curves.cost_curve(table, method, over).integral()
    assert close(area, expected_loss(table, method, over()))


@given(probability_tables)
def test_H15_brier_rate_driven_and_optimal_curves_have_their_metrics_for_areas(
    table: ScoreTable,
) -> None:
    term = np.prod(table.shares) * (1 - 2 * ranking.auc(table))
    assert close(curves.brier_curve(table, CostProportions).integral(), brier(table))
    assert close(curves.rate_driven_curve(table, CostProportions).integral(), 1 / 3 + term)
    hull = brier(ranking.isotonic(table))  # calibrated, therefore all refinement
    assert close(curves.optimal_curve(table, CostProportions).integral(), hull)


@given(real_tables, shares, st.sampled_from([CostProportions, Skews]))
def test_H15_the_optimal_curve_is_the_lower_envelope_of_the_cost_lines(
    table: ScoreTable, x: float, over: type[Condition]
) -> None:
    lines = curves.cost_lines(table, over)
    losses = (1 - x) * lines.at_zero + x * lines.at_one
    assert close(curves.optimal_curve(table, over)(x), losses.min())
    for threshold, loss in zip(lines.thresholds, losses, strict=True):
        if threshold > -math.inf or table.scores[0] > -math.inf:  # -inf is a cut and a score
            assert close(curves.cost_line(table, threshold, over)(x), loss)


@pytest.mark.parametrize(("area", "rate_driven"), [(0.791, 0.188), (0.671, 0.248)])
def test_H13_areas_under_rate_driven_curves_are_the_column_of_table_2(
    area: float, rate_driven: float
) -> None:
    below = round(1000 * area)
    table = ScoreTable([0, 1, 2], [[below, 0], [0, 1000], [1000 - below, 0]])
    assert round(curves.rate_driven_curve(table, CostProportions).integral(), 3) == rate_driven


# Decision curves ---------------------------------------------------------------------------------


def problem_at(p: float) -> Problem:
    return Problem.binary(false_alarm=p, miss=1 - p)


@given(probability_tables, st.sampled_from([*PROBABILITIES, 0.05, 0.3, 0.99]))
def test_decision_curve_is_net_benefit_at_every_threshold_probability(
    table: ScoreTable, p: float
) -> None:
    curve, n = curves.decision_curve(table), float(table.n_cases)
    alarms, hits = decided(table, p)
    odds = p / (1 - p) if p < 1 else math.inf
    wanted = hits / n - (alarms / n * odds if alarms else 0)
    assert close(curve.net_benefit(p), wanted)
    negative, positive = table.shares
    assert close(curve.treat_all(p), positive - negative * odds)
    assert curve.treat_none(p) == 0
    assert close(curve.standardized(p), wanted / positive)


@given(probability_tables, st.sampled_from([0.05, 0.1, 0.3, 0.5, 0.9]))
def test_E16_decision_curve_agrees_with_counts_and_with_expected_cost(
    table: ScoreTable, p: float
) -> None:
    """ferrer-ec, eq 25 to 27: EC(p) = (1 - p)(P2 - NB(p)), and NB = P2 - min(…) NEC."""
    alarms, hits = decided(table, p)
    negative, positive = table.weights.sum(axis=0)
    counts = Counts([[negative - alarms, alarms], [positive - hits, hits]])
    value = curves.decision_curve(table).net_benefit(p)
    assert close(value, net_benefit(counts, p))
    cost = expected_cost(counts, problem_at(p))
    assert close(cost, (1 - p) * (table.shares[1] - value))
    naive = min(table.shares[1], table.shares[0] * p / (1 - p))
    assert close(value, table.shares[1] - naive * normalized_cost(counts, problem_at(p)))


@given(probability_tables, st.sampled_from([*PROBABILITIES, 0.05, 0.3, 0.99]))
def test_interventions_avoided_trade_true_negatives_for_misses(table: ScoreTable, p: float) -> None:
    alarms, hits = decided(table, p)
    spared = (table.weights[:, 0].sum() - alarms) / table.n_cases
    missed = (table.weights[:, 1].sum() - hits) / table.n_cases
    lost = 0.0 if missed == 0 else missed * (1 - p) / p if p else math.inf
    curve = curves.decision_curve(table)
    avoided = curve.interventions_avoided(p)
    assert close(avoided, spared - lost, 1e-9)
    if 0 < p < 1:
        gap = curve.net_benefit(p) - curve.treat_all(p)
        assert close(avoided, gap / (p / (1 - p)), 1e-9)


def test_decision_curve_has_exact_jumps_and_areas_and_ends() -> None:
    curve = curves.decision_curve(ScoreTable([0.0, 0.25, 1.0], [[4, 1], [2, 2], [0, 1]]))
    assert curve.net_benefit(0.0) == 3 / 10
    assert close(curve.net_benefit([0.25 - 1e-12, 0.25]), [0.3 - 0.2 / 3, 0.1])
    assert curve.net_benefit(1.0) == 0
    assert curve.treat_all(1.0) == -math.inf
    area = 0.3 * 0.25 - 0.2 * (-0.25 - math.log(0.75)) + 0.1 * 0.75
    assert close(curve.net_benefit.integral(), area)
    assert np.isnan(curve.interventions_avoided([-0.1, 1.1])).all()


def test_scores_of_one_are_treated_at_every_threshold_below_one() -> None:
    """Shares 0.6 and 0.4; the case of score 1 is a true positive until p reaches 1."""
    curve = curves.decision_curve(ScoreTable([0.0, 0.5, 1.0], [[3, 0], [2, 1], [1, 3]]))
    assert curve.net_benefit(0.75) == pytest.approx(0.3 - 0.1 * 3)
    assert curve.net_benefit(1.0) == 0
    assert curve.net_benefit(0.0) == pytest.approx(0.4)
    only = curves.decision_curve(ScoreTable([1.0], [[1, 3]]))
    assert only.net_benefit([0.0, 0.5, 1.0]).tolist() == [0.75, 0.5, 0.0]


def test_interventions_avoided_at_zero_are_true_negatives_unless_positives_are_missed() -> None:
    none_missed = curves.decision_curve(ScoreTable([0.0, 0.4], [[3, 0], [2, 5]]))
    assert none_missed.interventions_avoided(0.0) == pytest.approx(0.3)
    missed = curves.decision_curve(ScoreTable([0.0, 0.4], [[3, 1], [2, 4]]))
    assert missed.interventions_avoided(0.0) == -np.inf
    assert np.isnan(missed.interventions_avoided([-0.1, 1.1])).all()
    assert missed.interventions_avoided(1.0) == pytest.approx(0.5)


def test_decision_curve_of_small_weights_is_that_of_large_ones() -> None:
    weights = np.array([[3.0, 0.0], [2.0, 1.0], [1.0, 3.0]])
    small, large = (
        curves.decision_curve(ScoreTable([0.0, 0.5, 1.0], scale * weights)) for scale in (2**-9, 8)
    )
    assert small == large
    assert small.treat_all.domain == small.treat_none.domain == (0.0, 1.0)


def test_decision_curve_in_deployment_uses_the_prior() -> None:
    table = ScoreTable([0.1, 0.4], [[6, 1], [1, 2]])
    curve = curves.decision_curve(table.with_prior([0.9, 0.1]))
    assert close(curve.prevalence, 0.1)
    assert close(curve.net_benefit(0.2), 0.1 * 2 / 3 - 0.9 / 7 * 0.25)


def test_decision_curve_without_positives_or_without_cases() -> None:
    no_positives = curves.decision_curve(ScoreTable([0.2, 0.7], [[1, 0], [1, 0]]))
    assert close(no_positives.net_benefit(0.5), -0.5)
    assert np.isnan(no_positives.standardized(0.5))
    assert no_positives.standardized.domain == (0, 1)
    nothing = curves.decision_curve(ScoreTable([0.2], [[0, 0]]))
    assert np.isnan([nothing.net_benefit(0.5), nothing.treat_all(0.5)]).all()
    assert math.isnan(nothing.prevalence)
    assert nothing.net_benefit.domain == nothing.treat_all.domain == (0, 1)


def test_decision_curve_does_not_depend_on_the_scale_of_weights() -> None:
    scores, weights = [0.1, 0.4, 1.0], np.array([[6, 1], [1, 2], [1, 1]])
    whole, small = (curves.decision_curve(ScoreTable(scores, weights * by)) for by in (1, 1 / 64))
    points = np.array([0, 0.1, 0.2, 0.4, 0.9, 1])
    assert small.prevalence == pytest.approx(1 / 3)
    assert whole.net_benefit.knots.tolist() == [0, 0.1, 0.4, 1, 1]  # a score of 1 adds no piece
    np.testing.assert_allclose(small.net_benefit(points), whole.net_benefit(points), rtol=1e-12)


def test_decision_curve_refuses_scores_that_are_no_probabilities() -> None:
    with pytest.raises(InputError, match=r"probabilities in \[0, 1\].*calibrat"):
        curves.decision_curve(ScoreTable([-1, 0.5], [[1, 1], [1, 1]]))


# Bayes-error plots -------------------------------------------------------------------------------

log_odds = st.sampled_from([-30.0, -2.0, -0.5, 0.0, 0.1, 1.0, 3.0, 8.0])


@given(real_tables, log_odds)
def test_bayes_error_is_that_of_decisions_at_the_negative_prior_log_odds(
    table: ScoreTable, prior: float
) -> None:
    plot = curves.bayes_error_plot(table)
    alarms, hits = decided(table, -prior)
    negative, positive = table.weights.sum(axis=0)
    p = expit(prior)
    wanted = p * (positive - hits) / positive + (1 - p) * alarms / negative
    assert close(plot.actual(prior), wanted)
    points = ranking.roc(table)
    errors = p * (1 - points.hit_rate) + (1 - p) * points.false_alarm_rate
    assert close(plot.minimum(prior), errors.min())
    reference = plot.reference(prior)
    assert close(reference, min(p, 1 - p))
    assert plot.minimum(prior) <= min(float(plot.actual(prior)), float(reference)) + 1e-12
    assert close(plot.actual.normalized(prior) * reference, wanted)
    assert close(plot.minimum.normalized(prior) * reference, errors.min())


@given(real_tables, st.sampled_from([-2.5, -0.6, 0.3, 1.7]))
def test_bayes_error_is_the_brier_curve_of_skews_on_another_axis(
    table: ScoreTable, prior: float
) -> None:
    plot = curves.bayes_error_plot(table)
    posteriors = ScoreTable(expit(table.scores), table.weights)
    assert close(plot.actual(prior), curves.brier_curve(posteriors, Skews)(expit(-prior)))
    assert close(plot.minimum(prior), curves.optimal_curve(table, Skews)(expit(-prior)))


@given(real_tables, st.sampled_from([0.01, 0.3, 0.5, 0.9]))
def test_normalized_bayes_error_is_the_normalized_cost_of_the_decisions(
    table: ScoreTable, share: float
) -> None:
    alarms, hits = decided(table, -float(logit(share)))
    negative, positive = table.weights.sum(axis=0)
    counts = Counts([[negative - alarms, alarms], [positive - hits, hits]])
    problem = Problem.zero_one(2).with_prior([1 - share, share])
    plot = curves.bayes_error_plot(table)
    assert close(plot.actual.normalized(logit(share)), normalized_cost(counts, problem), 1e-9)


@given(real_tables)
def test_E18_the_largest_minimum_error_over_all_priors_is_the_eer_of_the_hull(
    table: ScoreTable,
) -> None:
    plot = curves.bayes_error_plot(table)
    bends = -plot.minimum.log_likelihood_ratios
    worst = np.max(plot.minimum(bends[np.isfinite(bends)])) if np.isfinite(bends).any() else 0.0
    assert close(worst, ranking.equal_error_rate(ranking.convexified(table)), 1e-9)


def test_bayes_error_stays_finite_at_extreme_priors() -> None:
    plot = curves.bayes_error_plot(ScoreTable([-2, 2], [[9, 1], [1, 9]]))
    columns = plot.columns([-800.0, 0.0, 800.0])
    assert columns["actual_normalized"].tolist() == [1.0, 0.2, 1.0]
    assert columns["minimum"].tolist() == [0.0, 0.1, 0.0]
    assert columns["reference"].tolist() == [0.0, 0.5, 0.0]


def test_overconfident_scores_lose_more_than_not_looking_would() -> None:
    plot = curves.bayes_error_plot(ScoreTable([-9, 9], [[3, 1], [1, 3]]))
    assert plot.actual.normalized(-3.0) > 1
    assert close(plot.minimum.normalized(-3.0), 1.0)


# What all of them share --------------------------------------------------------------------------

SINGLE: dict[str, Callable[[ScoreTable], object]] = {
    "roc_curve": curves.roc_curve,
    "hull_curve": curves.hull_curve,
    "gains_curve": curves.gains_curve,
    "decision_curve": curves.decision_curve,
    "bayes_error_plot": curves.bayes_error_plot,
    "brier_curve": lambda table: curves.brier_curve(table, Skews),
}


@pytest.mark.parametrize("function", SINGLE.values(), ids=SINGLE)
def test_curves_of_a_stack_are_refused(function: Callable[[ScoreTable], object]) -> None:
    with pytest.raises(InputError, match=r"no leading axes .* they are \(2,\)"):
        function(ScoreTable([0.2, 0.8], np.ones((2, 2, 2))))


@pytest.mark.parametrize("weights", [[[1, 0], [2, 0]], [[0, 1], [0, 2]], [[0, 0], [0, 0]]])
def test_an_absent_class_makes_curves_nan(weights: list[list[float]]) -> None:
    table = ScoreTable([0.2, 0.7], weights)
    heights: list[FloatArray] = [
        curves.roc_curve(table)(0.3),
        curves.hull_curve(table)(0.3),
        curves.brier_curve(table, CostProportions)(0.3),
        curves.optimal_curve(table, Skews)(0.3),
        curves.bayes_error_plot(table).actual(0.3),
        curves.bayes_error_plot(table).minimum.normalized(0.3),
    ]
    assert np.isnan(heights).all()
    lines = curves.cost_lines(table, CostProportions)
    assert np.isnan(lines.at_zero + lines.at_one).all()
    gains = curves.gains_curve(table)(0.3)
    assert np.isnan(gains) == (sum(row[1] for row in weights) == 0)


def test_curves_are_values() -> None:
    table = ScoreTable([0.1, 0.4], [[6, 1], [1, 2]])
    assert curves.decision_curve(table) == curves.decision_curve(table)
    assert curves.bayes_error_plot(table) == curves.bayes_error_plot(table)
    assert hash(curves.lift(table)) == hash(curves.lift(table))
    assert isinstance(curves.roc_curve(table), Curve)
