"""Measures of counts: the papers' identities and tables, undefined cases, messages."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from stakes import InputError, Problem
from stakes.measures import (
    abstention_rate,
    accuracy,
    balanced_accuracy,
    balanced_error_rate,
    best_naive_f_beta,
    cohen_kappa,
    coverage,
    decision_rates,
    diagnostic_odds_ratio,
    error_rate,
    expected_cost,
    f_beta,
    f_beta_of_averages,
    fowlkes_mallows,
    informedness,
    likelihood_ratio_negative,
    likelihood_ratio_positive,
    macro_f_beta,
    markedness,
    mcc,
    negative_predictive_value,
    net_benefit,
    normalized_cost,
    one_vs_rest,
    precision,
    recall,
    relative_economic_value,
    specificity,
    standardized_net_benefit,
    weighted_kappa,
)
from stakes.tally import Counts

FINLEY = Counts([[2680, 72], [23, 28]])

cells = st.integers(0, 60)
betas = st.sampled_from([0.5, 1, 1.5, 2, 4])


@st.composite
def binary_counts(draw):
    """Two by two, both classes present."""
    table = [[draw(cells), draw(cells)], [draw(cells), draw(cells)]]
    assume(all(sum(row) for row in table))
    return Counts(table)


@st.composite
def square_counts(draw, sizes=(2, 3, 4)):
    """K by K, all classes present."""
    size = draw(st.sampled_from(sizes))
    row = st.lists(cells, min_size=size, max_size=size).filter(any)
    return Counts(draw(st.lists(row, min_size=size, max_size=size)))


@st.composite
def rectangular_counts(draw):
    """K by M with K ≠ M, all classes present."""
    rows, columns = draw(st.sampled_from([(2, 3), (3, 2), (4, 2), (2, 5)]))
    row = st.lists(cells, min_size=columns, max_size=columns).filter(any)
    return Counts(draw(st.lists(row, min_size=rows, max_size=rows)))


def normalized_balanced_error(counts):
    """NEC_b: the balanced error rate over that of the naive system."""
    return normalized_cost(counts, Problem.balanced(counts.shares))


def decided_positive(counts):
    """R_*2."""
    return counts.values[..., 1].sum(-1) / counts.n_cases


# ferrer-ec, section 3 and appendix C -------------------------------------------------------------


@given(binary_counts(), betas)
def test_E12_one_minus_f_beta_is_an_expected_cost_over_a_share_that_the_system_moves(counts, beta):
    p1, p2 = counts.shares
    problem = Problem.binary(false_alarm=1, miss=beta**2)
    scale = beta**2 * p2 + decided_positive(counts)
    loss = 1 - f_beta(counts, beta)[1]
    assert loss == pytest.approx(expected_cost(counts, problem) / scale)
    naive = min(beta**2 * p2, p1)
    assert loss == pytest.approx(naive * normalized_cost(counts, problem) / scale)


@given(square_counts(sizes=(3, 4)), betas)
def test_E12_holds_for_each_class_against_the_rest(counts, beta):
    problem = Problem.binary(false_alarm=1, miss=beta**2)
    tables = one_vs_rest(counts)
    scale = beta**2 * tables.shares[:, 1] + decided_positive(tables)
    np.testing.assert_allclose(
        1 - f_beta(counts, beta), expected_cost(tables, problem) / scale, atol=1e-12
    )


@given(square_counts(), betas)
def test_E13_the_best_naive_f_beta_is_that_of_always_deciding_the_class(counts, beta):
    size = counts.n_classes
    always = np.zeros((size, size, size))
    for decision in range(size):
        always[decision, :, decision] = counts.values.sum(axis=1)
    scores = f_beta(Counts(always), beta)
    np.testing.assert_allclose(best_naive_f_beta(counts, beta), np.diagonal(scores))
    np.testing.assert_allclose(best_naive_f_beta(counts, beta), scores.max(axis=0))
    shares = counts.shares
    formula = (1 + beta**2) * shares / (beta**2 * shares + 1)
    np.testing.assert_allclose(best_naive_f_beta(counts, beta), formula)


@given(binary_counts())
def test_E14_mcc_is_the_normalised_balanced_error_times_a_factor_that_the_system_moves(counts):
    assume((counts.values.sum(axis=0) > 0).all())
    p2, r2 = counts.shares[1], decided_positive(counts)
    factor = np.sqrt(p2 * (1 - p2) / (r2 * (1 - r2)))
    expected = factor * (1 - normalized_balanced_error(counts))
    assert mcc(counts) == pytest.approx(expected, abs=1e-12)


def test_E15_macro_f_has_two_readings_and_they_differ():
    """By hand: precisions 1/2 and 1, recalls 1 and 1/4; their means are 3/4 and 5/8."""
    counts = Counts([[3, 0], [3, 1]])
    assert precision(counts) == pytest.approx([1 / 2, 1])
    assert recall(counts) == pytest.approx([1, 1 / 4])
    assert f_beta(counts, 1) == pytest.approx([2 / 3, 2 / 5])
    assert macro_f_beta(counts, 1) == pytest.approx(8 / 15)
    assert f_beta_of_averages(counts, 1) == pytest.approx(2 * (3 / 4) * (5 / 8) / (3 / 4 + 5 / 8))


@given(square_counts())
def test_E15_the_score_of_averages_is_never_below_the_average_score(counts):
    """Opitz and Burst 2019, "Macro F1 and Macro F1"."""
    assume((counts.values.sum(axis=0) > 0).all())
    assert f_beta_of_averages(counts, 1) >= macro_f_beta(counts, 1) - 1e-12


@given(binary_counts(), st.sampled_from([0.01, 0.1, 0.5, 0.75, 0.99]))
def test_E16_net_benefit_is_a_normalised_cost_and_its_threshold_is_p(counts, p):
    p1, p2 = counts.shares
    problem = Problem.from_threshold(p)
    benefit = net_benefit(counts, p)
    naive = min(p2, p1 * p / (1 - p))
    assert benefit == pytest.approx(p2 - naive * normalized_cost(counts, problem))
    assert expected_cost(counts, problem) == pytest.approx((1 - p) * (p2 - benefit))
    assert relative_economic_value(counts, problem) == 1 - normalized_cost(counts, problem)
    assert problem.threshold == pytest.approx(p)
    assert standardized_net_benefit(counts, p) == pytest.approx(benefit / p2)


@given(binary_counts())
def test_E17_the_positive_likelihood_ratio_is_the_balanced_error_over_the_false_alarms(counts):
    false_alarms = decision_rates(counts)[0, 1]
    assume(false_alarms > 0)
    expected = (1 - normalized_balanced_error(counts)) / false_alarms + 1
    assert likelihood_ratio_positive(counts)[1] == pytest.approx(expected)


# ferrer-analysis ---------------------------------------------------------------------------------

#: Table 1: K1*, K2*, K21, K12, then EC_1, EC_1.5, EC_nb, FS_1, MCC, R21, R12, R*2, R*1 as printed.
TABLE_1 = [
    (500, 500, 0, 50, 0.10, 0.10, 0.10, 0.95, 0.90, 0.00, 0.10, 0.55, 0.45),
    (500, 500, 25, 25, 0.10, 0.12, 0.10, 0.95, 0.90, 0.05, 0.05, 0.50, 0.50),
    (500, 500, 50, 0, 0.10, 0.14, 0.10, 0.95, 0.90, 0.10, 0.00, 0.45, 0.55),
    (500, 500, 0, 250, 0.50, 0.50, 0.50, 0.80, 0.58, 0.00, 0.50, 0.75, 0.25),
    (500, 500, 125, 125, 0.50, 0.60, 0.50, 0.75, 0.50, 0.25, 0.25, 0.50, 0.50),
    (500, 500, 250, 0, 0.50, 0.71, 0.50, 0.67, 0.58, 0.50, 0.00, 0.25, 0.75),
    (500, 500, 0, 450, 0.90, 0.90, 0.90, 0.69, 0.23, 0.00, 0.90, 0.95, 0.05),
    (500, 500, 225, 225, 0.90, 1.09, 0.90, 0.55, 0.10, 0.45, 0.45, 0.50, 0.50),
    (500, 500, 450, 0, 0.90, 1.27, 0.90, 0.18, 0.23, 0.90, 0.00, 0.05, 0.95),
    (900, 100, 0, 90, 0.90, 0.64, 0.10, 0.69, 0.69, 0.00, 0.10, 0.19, 0.81),
    (900, 100, 5, 45, 0.50, 0.37, 0.10, 0.79, 0.78, 0.05, 0.05, 0.14, 0.86),
    (900, 100, 10, 0, 0.10, 0.10, 0.10, 0.95, 0.94, 0.10, 0.00, 0.09, 0.91),
    (900, 100, 0, 450, 4.50, 3.18, 0.50, 0.31, 0.30, 0.00, 0.50, 0.55, 0.45),
    (900, 100, 30, 180, 2.10, 1.57, 0.50, 0.40, 0.35, 0.30, 0.20, 0.25, 0.75),
    (900, 100, 50, 0, 0.50, 0.50, 0.50, 0.67, 0.69, 0.50, 0.00, 0.05, 0.95),
    (900, 100, 0, 810, 8.10, 5.73, 0.90, 0.20, 0.10, 0.00, 0.90, 0.91, 0.09),
    (900, 100, 40, 450, 4.90, 3.58, 0.90, 0.20, 0.06, 0.40, 0.50, 0.51, 0.49),
    (900, 100, 90, 0, 0.90, 0.90, 0.90, 0.18, 0.30, 0.90, 0.00, 0.01, 0.99),
    (900, 100, 0, 90, 0.90, 0.64, 0.10, 0.69, 0.69, 0.00, 0.10, 0.19, 0.81),
    (900, 100, 45, 45, 0.90, 0.77, 0.50, 0.55, 0.50, 0.45, 0.05, 0.10, 0.90),
    (900, 100, 90, 0, 0.90, 0.90, 0.90, 0.18, 0.30, 0.90, 0.00, 0.01, 0.99),
]
#: The column EC_1.5 as its definition has it, c21 = 1.5 (by hand: (K12 + 1.5 K21) / naive).
EC_AS_DEFINED = (
    *(0.10, 0.125, 0.15, 0.50, 0.625, 0.75, 0.90, 1.125, 1.35),
    *(0.60, 0.35, 0.10, 3.00, 1.50, 0.50, 5.40, 3.40, 0.90),
    *(0.60, 0.75, 0.90),
)


@pytest.fixture(scope="module")
def systems():
    """The 21 systems of Table 1, as one tally with a leading axis."""
    return Counts([[[n1 - k12, k12], [k21, n2 - k21]] for n1, n2, k21, k12, *_ in TABLE_1])


def printed(column):
    return np.array(TABLE_1)[:, 4 + column]


def agree_with_print(values, column):
    """To the two decimals of the print; halves may have been rounded either way."""
    assert np.abs(values - printed(column)).max() <= 0.005 + 1e-9


def test_A1_table_1_has_21_systems_and_nine_metrics(systems):
    rates = decision_rates(systems)
    shares = systems.values.sum(axis=1) / systems.n_cases[:, None]
    agree_with_print(normalized_cost(systems, Problem.zero_one(2)), 0)
    agree_with_print(normalized_cost(systems, Problem.zero_one(2, prior=[0.5, 0.5])), 2)
    agree_with_print(f_beta(systems, 1)[:, 1], 3)
    agree_with_print(mcc(systems), 4)
    agree_with_print(rates[:, 1, 0], 5)
    agree_with_print(rates[:, 0, 1], 6)
    agree_with_print(shares[:, 1], 7)
    agree_with_print(shares[:, 0], 8)


def test_A1_the_column_ec_15_was_printed_for_a_cost_of_root_two(systems):
    as_printed = normalized_cost(systems, Problem.binary(false_alarm=1, miss=np.sqrt(2)))
    as_defined = normalized_cost(systems, Problem.binary(false_alarm=1, miss=1.5))
    agree_with_print(as_printed, 1)
    np.testing.assert_allclose(as_defined, EC_AS_DEFINED)
    wrong = np.abs(as_defined - printed(1)) > 0.005 + 1e-9
    assert wrong.sum() == 13


@given(square_counts())
def test_A3_the_normalised_balanced_error_is_the_sum_of_error_rates_over_n_minus_one(counts):
    """Eq 28 lacks 1/(N - 1); costs are *inversely* proportional to the prior."""
    size = counts.n_classes
    errors = decision_rates(counts)[~np.eye(size, dtype=bool)].sum()
    assert normalized_balanced_error(counts) == pytest.approx(errors / (size - 1))
    uniform = Problem.zero_one(size, prior=np.full(size, 1 / size))
    assert normalized_cost(counts, uniform) == pytest.approx(errors / (size - 1))
    costs = (1 - np.eye(size)) / (size * counts.shares[:, None])
    assert expected_cost(counts, Problem(costs)) == pytest.approx(balanced_error_rate(counts))


# itai-katz and dyrland ---------------------------------------------------------------------------


def test_K0_a_test_that_is_right_99_times_in_100_is_wrong_about_one_detected_in_three():
    """50 000 visitors, 1 000 of them sick; the paper says 500 false alarms where it has 490."""
    counts = Counts([[48_510, 490], [10, 990]], classes=["well", "sick"])
    assert counts.n_cases == 50_000
    np.testing.assert_allclose(recall(counts), 0.99)
    assert accuracy(counts) == pytest.approx(0.99)
    assert 1 - precision(counts)[1] == pytest.approx(490 / 1480)
    assert round(100 * float(1 - precision(counts)[1])) == 33


def test_D1_table_1_of_dyrland():
    """Printed with outputs in rows, so transposed here; class 0 is their positive one."""
    a = Counts(np.transpose([[0.27, 0.15], [0.23, 0.35]]))
    b = Counts(np.transpose([[0.43, 0.18], [0.07, 0.32]]))
    for counts, row in ((a, (0.62, 0.64, 0.59, 0.24, 0.59, 0.54, 0.70)),
                        (b, (0.75, 0.70, 0.77, 0.51, 0.78, 0.86, 0.64))):  # fmt: skip
        values = [
            accuracy(counts),
            precision(counts)[0],
            f_beta(counts, 1)[0],
            mcc(counts),
            fowlkes_mallows(counts)[0],
            recall(counts)[0],
            specificity(counts)[0],
        ]
        assert [round(float(value), 2) for value in values] == list(row)
        assert balanced_accuracy(counts) == pytest.approx(accuracy(counts))


# Relations ---------------------------------------------------------------------------------------


@given(square_counts())
def test_accuracies_are_one_minus_errors_which_are_expected_costs(counts):
    size = counts.n_classes
    assert accuracy(counts) == pytest.approx(1 - error_rate(counts))
    assert balanced_accuracy(counts) == pytest.approx(1 - balanced_error_rate(counts))
    assert error_rate(counts) == pytest.approx(expected_cost(counts, Problem.zero_one(size)))
    balanced = Problem.balanced(counts.shares)
    assert balanced_error_rate(counts) == pytest.approx(expected_cost(counts, balanced))


@given(binary_counts())
def test_of_two_classes_each_is_the_negative_of_the_other(counts):
    np.testing.assert_array_equal(specificity(counts), recall(counts)[::-1])
    np.testing.assert_array_equal(negative_predictive_value(counts), precision(counts)[::-1])
    above_naive = 1 - normalized_balanced_error(counts)
    np.testing.assert_allclose(informedness(counts), above_naive, atol=1e-12)


@given(square_counts())
def test_mcc_is_one_for_the_truth_itself_and_the_geometric_mean_of_j_and_markedness(counts):
    assert mcc(Counts(np.diag(counts.values.sum(axis=1)))) == 1
    tables = one_vs_rest(counts)
    squared = informedness(counts) * markedness(counts)
    np.testing.assert_allclose(mcc(tables) ** 2, squared, atol=1e-12)


def test_large_and_small_counts_neither_overflow_nor_vanish():
    table = np.array([[8.0, 2.0], [1.0, 9.0]])
    for factor in (1e-200, 1e-150, 1e90, 1e99):
        assert mcc(Counts(table * factor)) == pytest.approx(mcc(Counts(table)))
        assert cohen_kappa(Counts(table * factor)) == pytest.approx(cohen_kappa(Counts(table)))


@given(square_counts())
def test_the_diagnostic_odds_ratio_is_the_quotient_of_the_likelihood_ratios(counts):
    odds = diagnostic_odds_ratio(counts)
    positive, negative = likelihood_ratio_positive(counts), likelihood_ratio_negative(counts)
    finite = np.isfinite(positive) & np.isfinite(negative) & (negative > 0)
    np.testing.assert_allclose(odds[finite], positive[finite] / negative[finite])


@given(square_counts())
def test_kappa_is_weighted_kappa_at_zero_one_costs(counts):
    kappa = weighted_kappa(counts, Problem.zero_one(counts.n_classes))
    np.testing.assert_allclose(kappa, cohen_kappa(counts), atol=1e-12)


def test_kappa_of_the_example_that_scikit_learn_documents():
    """``cohen_kappa_score`` of five ratings, in its docstring: 0.6875."""
    first = ["negative", "positive", "negative", "neutral", "positive"]
    second = ["negative", "positive", "negative", "neutral", "negative"]
    assert cohen_kappa(Counts.from_labels(first, second)) == pytest.approx(0.6875)


@given(rectangular_counts(), st.data())
def test_weighted_kappa_is_zero_for_independent_decisions_and_one_for_the_cheapest(counts, data):
    cost = st.integers(0, 9)
    shape = counts.values.shape
    costs = [[data.draw(cost) for _ in range(shape[1])] for _ in range(shape[0])]
    problem = Problem(costs)
    shares, columns = counts.shares, counts.values.sum(axis=0)
    by_chance = weighted_kappa(Counts(shares[:, None] * columns), problem)
    assert np.isnan(by_chance) or by_chance == pytest.approx(0, abs=1e-12)
    cheapest = np.zeros(shape)
    cheapest[np.arange(shape[0]), np.argmin(costs, axis=1)] = shares
    best = weighted_kappa(Counts(cheapest), problem)
    assert np.isnan(best) or best == 1


@given(rectangular_counts(), st.data())
def test_weighted_kappa_under_a_prior_is_that_of_reweighted_counts(counts, data):
    shape = counts.values.shape
    costs = np.reshape([data.draw(st.integers(-3, 9)) for _ in range(np.prod(shape))], shape)
    parts = np.array([data.draw(st.integers(1, 9)) for _ in range(shape[0])])
    prior = parts / parts.sum()
    kappa = weighted_kappa(counts, Problem(costs, prior=prior))
    expected = weighted_kappa(counts.with_prior(prior), Problem(costs))
    np.testing.assert_allclose(kappa, expected, atol=1e-10)
    shifted = Problem(7 * costs + np.arange(shape[0])[:, None], prior=prior)
    np.testing.assert_allclose(weighted_kappa(counts, shifted), expected, atol=1e-10)


def test_net_benefit_takes_a_threshold_for_every_table():
    tables = Counts(np.stack([FINLEY.values, FINLEY.values.T, FINLEY.values[::-1]]))
    thresholds = np.array([0.1, 0.5, 1.0])
    singles = [net_benefit(tables[i], thresholds[i]) for i in range(3)]
    np.testing.assert_array_equal(net_benefit(tables, thresholds), singles)


def test_one_against_the_rest_keeps_groups_and_leading_axes():
    y, decided, by = ["a", "b", "c", "a"], ["a", "b", "b", "c"], ["x", "x", "y", "y"]
    counts = Counts.from_labels(y, decided, by=by)
    tables = one_vs_rest(counts)
    assert tables.values.shape == (2, 3, 2, 2)
    assert tables.groups == ("x", "y")
    np.testing.assert_array_equal(tables.n_cases, np.full((2, 3), 2))


def test_abstention_and_coverage_share_all_cases_and_take_any_decision():
    counts = Counts(
        [[[6, 1, 3], [0, 8, 2]], [[1, 0, 0], [0, 1, 0]]], decisions=["legit", "fraud", "review"]
    )
    np.testing.assert_array_equal(abstention_rate(counts, decision="review"), [0.25, 0])
    np.testing.assert_array_equal(coverage(counts, decision="review"), [0.75, 1])
    numbered = Counts([[1, 2, 1]], decisions=[0, 1, 2])
    assert abstention_rate(numbered, decision=1) == 0.5


# Undefined is nan --------------------------------------------------------------------------------


def test_precision_of_a_decision_that_is_never_taken_is_undefined():
    np.testing.assert_array_equal(precision(Counts([[3, 0], [2, 0]])), [0.6, np.nan])


def test_f_beta_counts_and_is_undefined_only_with_no_positive_anywhere():
    np.testing.assert_array_equal(f_beta(Counts([[3, 0], [2, 0]]), 1)[1], 0)
    np.testing.assert_array_equal(f_beta(Counts([[3, 1], [0, 0]]), 1)[1], 0)
    np.testing.assert_array_equal(f_beta(Counts([[3, 0], [0, 0]]), 1), [1, np.nan])
    assert np.isnan(macro_f_beta(Counts([[3, 0], [0, 0]]), 1))


def test_no_right_decision_makes_both_macro_scores_zero():
    wrong = Counts([[0, 3], [2, 0]])
    assert macro_f_beta(wrong, 1) == f_beta_of_averages(wrong, 1) == 0


@pytest.mark.parametrize("table", [[[3, 2], [0, 0]], [[3, 0], [2, 0]], [[5, 0], [0, 0]]])
def test_mcc_with_an_empty_margin_of_two_is_undefined(table):
    assert np.isnan(mcc(Counts(table)))


def test_an_absent_class_leaves_mcc_of_three_defined_but_not_balanced_accuracy():
    counts = Counts([[3, 1, 0], [1, 4, 0], [0, 0, 0]])
    assert mcc(counts) == pytest.approx(mcc(Counts([[3, 1], [1, 4]])))
    assert np.isnan(balanced_accuracy(counts))
    assert np.isnan(balanced_error_rate(counts))


def test_margins_whose_sums_round_differently_are_still_empty():
    """0.1 + 0.2 + 0.3 depends on the order; 0/0 must not."""
    counts = Counts([[0.1, 0.0, 0.0], [0.2, 0.0, 0.0], [0.3, 0.0, 0.0]])
    assert np.isnan(mcc(counts))
    assert np.isnan(mcc(Counts(counts.values.T)))
    assert np.isnan(cohen_kappa(Counts([[0.1 + 0.2, 0], [0, 0]])))


def test_likelihood_ratios_without_false_alarms_are_infinite_or_undefined():
    """Binding: inf if sensitivity > 0, else nan."""
    assert likelihood_ratio_positive(Counts([[5, 0], [2, 3]]))[1] == np.inf
    assert np.isnan(likelihood_ratio_positive(Counts([[5, 0], [5, 0]]))[1])
    assert likelihood_ratio_negative(Counts([[0, 5], [2, 3]]))[1] == np.inf
    assert np.isnan(likelihood_ratio_negative(Counts([[0, 5], [0, 5]]))[1])
    assert diagnostic_odds_ratio(Counts([[5, 0], [2, 3]]))[1] == np.inf
    assert np.isnan(diagnostic_odds_ratio(Counts([[5, 0], [5, 0]]))[1])


def test_net_benefit_at_threshold_one_is_infinitely_bad_with_false_alarms():
    assert net_benefit(Counts([[5, 1], [2, 3]]), 1) == -np.inf
    assert net_benefit(Counts([[6, 0], [1, 3]]), 1) == 0.3
    assert net_benefit(Counts([[5, 1], [2, 3]]), 0) == pytest.approx(3 / 11)
    assert np.isnan(standardized_net_benefit(Counts([[5, 1], [0, 0]]), 0.5))


def test_nothing_is_defined_without_cases():
    empty = Counts(np.zeros((2, 2)), decisions=["go", "abstain"])
    unlabelled = Counts(np.zeros((2, 2)))
    plain = (error_rate, accuracy, balanced_accuracy, balanced_error_rate, mcc, cohen_kappa,
             recall, specificity, precision, negative_predictive_value, fowlkes_mallows,
             informedness, markedness, likelihood_ratio_positive, likelihood_ratio_negative,
             diagnostic_odds_ratio)  # fmt: skip
    with_one = (f_beta, best_naive_f_beta, macro_f_beta, f_beta_of_averages, net_benefit,
                standardized_net_benefit)  # fmt: skip
    assert all(np.isnan(measure(unlabelled)).all() for measure in plain)
    assert all(np.isnan(measure(unlabelled, 1)).all() for measure in with_one)
    assert np.isnan(weighted_kappa(unlabelled, Problem.zero_one(2)))
    assert np.isnan([abstention_rate(empty), coverage(empty)]).all()


def test_what_is_known_stays_known_beside_a_class_that_the_prior_expects_in_vain():
    counts = Counts([[4, 1, 0], [1, 3, 1], [0, 0, 0]]).with_prior([0.5, 0.3, 0.2])
    np.testing.assert_allclose(recall(counts), [0.8, 0.6, np.nan])
    np.testing.assert_allclose(specificity(counts), [np.nan, np.nan, 1 - 0.3 / 0.8 * 0.2])
    assert np.isnan(precision(counts)).all()
    assert np.isnan([accuracy(counts), mcc(counts), cohen_kappa(counts)]).all()


# Messages ----------------------------------------------------------------------------------------

SQUARE_ONLY = [
    *(error_rate, accuracy, balanced_accuracy, balanced_error_rate, recall, specificity, precision),
    *(negative_predictive_value, fowlkes_mallows, one_vs_rest, mcc, cohen_kappa, informedness),
    *(markedness, likelihood_ratio_positive, likelihood_ratio_negative, diagnostic_odds_ratio),
]
SQUARE_ONLY_WITH_BETA = [f_beta, best_naive_f_beta, macro_f_beta, f_beta_of_averages]


@pytest.mark.parametrize("measure", SQUARE_ONLY)
def test_a_table_that_is_not_square_is_refused_with_a_remedy(measure):
    with pytest.raises(InputError, match=r"has 2 classes and 3 decisions.*expected_cost"):
        measure(Counts([[8, 1, 1], [2, 6, 2]]))


@pytest.mark.parametrize("measure", SQUARE_ONLY_WITH_BETA)
def test_a_table_that_is_not_square_has_no_f_score(measure):
    with pytest.raises(InputError, match="has 3 classes and 2 decisions"):
        measure(Counts([[8, 1], [2, 6], [1, 1]]), 1)
    with pytest.raises(InputError, match=r"beta must be one real number.*-1"):
        measure(FINLEY, -1)


@pytest.mark.parametrize("measure", SQUARE_ONLY)
def test_decisions_answer_classes_by_label_else_by_place(measure):
    def measured(table, decisions):
        counts = Counts(table, classes=["well", "sick", "dead"], decisions=decisions)
        result = measure(counts)
        return result.values if isinstance(result, Counts) else result

    table = np.array([[8, 2, 1], [1, 9, 3], [0, 2, 7]])
    plain = measured(table, ["well", "sick", "dead"])
    assert np.array_equal(plain, measured(table, ["home", "treat", "bury"]), equal_nan=True)
    swapped = measured(table[:, [1, 0, 2]], ["sick", "well", "dead"])
    assert np.array_equal(plain, swapped, equal_nan=True)
    with pytest.raises(InputError, match="by their labels or by their places"):
        measured(table, ["sick", "treat", "bury"])


def test_decisions_without_labels_match_by_position():
    assert accuracy(Counts([[8, 2], [1, 9]], classes=["well", "sick"])) == 0.85


def test_net_benefit_wants_two_classes_and_two_decisions_of_any_name():
    treat = Counts([[8, 2], [1, 9]], classes=["well", "sick"], decisions=["home", "treat"])
    assert net_benefit(treat, 0.5) == pytest.approx((9 - 2) / 20)
    with pytest.raises(InputError, match=r"two classes and two decisions.*one_vs_rest"):
        net_benefit(Counts([[8, 1, 1], [2, 6, 2]]), 0.5)
    with pytest.raises(InputError, match="threshold must hold probabilities"):
        net_benefit(FINLEY, 1.5)


def test_the_decision_that_abstains_must_be_known():
    with pytest.raises(InputError, match="'abstain' is not: they have no labels"):
        abstention_rate(FINLEY)
    with pytest.raises(InputError, match=r"'abstain' is not: they are \('no', 'yes'\).*review"):
        coverage(Counts([[1, 2]], decisions=["no", "yes"]))


def exact_mcc(values: list[list[float]]) -> float:
    """The definition, in fractions."""
    cells = [[Fraction(cell) for cell in row] for row in values]
    rows, columns = (
        [sum(row) for row in cells],
        [sum(column) for column in zip(*cells, strict=True)],
    )
    total, right = sum(rows), sum(cells[k][k] for k in range(len(cells)))
    above = total * right - sum(r * c for r, c in zip(rows, columns, strict=True))
    below = (total**2 - sum(r * r for r in rows)) * (total**2 - sum(c * c for c in columns))
    return math.copysign(math.sqrt(above**2 / below), above)


@pytest.mark.parametrize(
    "values",
    [
        [[3e8, 1], [1, 2]],
        [[8e15, 1], [1, 1]],
        [[1e15, 1], [1e15, 2]],
        [[1e12, 1, 0], [1, 2, 0], [0, 0, 2]],
        [[1e100, 3], [3, 1e5]],
    ],
)
def test_the_correlation_keeps_its_digits_where_one_cell_outweighs_the_others(values):
    assert float(mcc(Counts(values))) == pytest.approx(exact_mcc(values), rel=1e-14)
