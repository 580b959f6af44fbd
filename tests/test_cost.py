"""Expected cost and related measures, against plain loops and the papers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from stakes import Counts, Problem, expected_cost, metrics, normalized_cost
from stakes.measures import (
    cost_shares,
    naive_cost,
    perfect_cost,
    prior_of,
    relative_economic_value,
)

COSTS = [[0, 3, 25], [180, 8, 0]]
weights = hnp.arrays(float, (2, 3), elements=st.floats(0.01, 50))


def slow_expected_cost(table, costs, prior) -> float:
    total = 0.0
    for k, row in enumerate(table):
        for d, count in enumerate(row):
            if prior[k] > 0:
                total += prior[k] * count / sum(row) * costs[k][d]
    return total


def slow_normalized_cost(table, costs, prior) -> float:
    naive = min(
        sum(prior[k] * costs[k][d] for k in range(len(costs))) for d in range(len(costs[0]))
    )
    perfect = sum(prior[k] * min(costs[k]) for k in range(len(costs)))
    return (slow_expected_cost(table, costs, prior) - perfect) / (naive - perfect)


@given(
    st.lists(
        st.tuples(st.sampled_from([0, 1]), st.sampled_from("abc"), st.integers(0, 4)), min_size=1
    ),
)
def test_E1_the_mean_over_cases_is_the_sum_over_cells(cases):
    """ferrer-ec eq 1 and 2, with weights."""
    y, decided, weight = zip(*cases, strict=True)
    if sum(weight) == 0:
        return
    problem = Problem(COSTS, decisions=["a", "b", "c"])
    mean = sum(w * COSTS[k]["abc".index(d)] for k, d, w in cases) / sum(weight)
    counts = Counts.from_decisions(y, decided, problem, weights=weight)
    assert expected_cost(counts, problem) == pytest.approx(mean)
    assert metrics.expected_cost(
        y, decided, problem=problem, sample_weight=weight
    ) == pytest.approx(mean)


@given(weights, st.floats(0.01, 0.99))
def test_E2_deployment_priors_replace_the_shares_of_the_data(table, p):
    """ferrer-ec §2; the naive system uses the same priors."""
    prior = [1 - p, p]
    problem = Problem(COSTS, prior=prior)
    counts = Counts(table)
    assert expected_cost(counts, problem) == pytest.approx(slow_expected_cost(table, COSTS, prior))
    assert normalized_cost(counts, problem) == pytest.approx(
        slow_normalized_cost(table, COSTS, prior)
    )
    # Moving the tally to the prior and asking without one is the same question.
    moved = counts.with_prior(prior)
    assert expected_cost(moved, problem.with_prior(None)) == pytest.approx(
        float(expected_cost(counts, problem))
    )


@pytest.mark.parametrize(
    ("costs", "table", "expected"),
    [
        # prior [0.2, 0.8]: 0.2 · 0.3 · 1 + 0.8 · 0.4 · 5 = 1.66
        ([[0, 1], [5, 0]], [[7, 3], [4, 6]], 1.66),
        ([[0, 1, 2], [5, 0, 1]], [[7, 2, 1], [4, 5, 1]], 0.2 * 0.4 + 0.8 * (2.0 + 0.1)),
        ([[0, 1], [5, 0], [1, 1]], [[7, 3], [4, 6], [1, 0]], 1.66),
    ],
)
def test_E2_priors_weigh_rows_not_columns(costs, table, expected):
    """A row broadcast where a column was meant gives another number here."""
    prior = [0.2, 0.8] if len(costs) == 2 else [0.2, 0.8, 0.0]
    assert expected_cost(Counts(table), Problem(costs, prior=prior)) == pytest.approx(expected)


@given(weights)
def test_E5_normalized_cost_is_zero_for_perfect_and_one_for_naive(table):
    """ferrer-ec eq 3, on row-minimum-zero costs."""
    problem = Problem([[1, 3, 25], [180, 8, -4]], prior=[0.9, 0.1])
    perfect = Counts([[5, 0, 0], [0, 0, 5]])
    assert normalized_cost(perfect, problem) == pytest.approx(0)
    naive = Counts(np.eye(3)[[1, 1]] * 7)
    assert normalized_cost(naive, problem) == pytest.approx(1)
    assert relative_economic_value(naive, problem) == pytest.approx(0)
    assert problem.naive.decision == 1
    counts = Counts(table)
    assert naive_cost(counts, problem) == pytest.approx(problem.naive.cost)
    assert perfect_cost(counts, problem) == pytest.approx(problem.perfect_cost)
    assert normalized_cost(counts, problem) == pytest.approx(
        slow_normalized_cost(table, problem.costs.tolist(), [0.9, 0.1])
    )


@given(
    hnp.arrays(float, (2, 2), elements=st.floats(0.5, 20)),
    st.floats(0.1, 10),
    st.floats(0.1, 10),
    st.floats(0.05, 0.95),
)
def test_E6_binary_normalized_cost_depends_on_alpha_only(table, c12, c21, p2):
    """ferrer-ec eq 4."""
    alpha = c12 * (1 - p2) / (c21 * p2)
    r12, r21 = table[0, 1] / table[0].sum(), table[1, 0] / table[1].sum()
    by_alpha = alpha * r12 + r21 if alpha >= 1 else r12 + r21 / alpha
    problem = Problem.binary(false_alarm=c12, miss=c21, prior=[1 - p2, p2])
    assert normalized_cost(Counts(table), problem) == pytest.approx(by_alpha)
    half = Problem.binary(false_alarm=alpha, miss=1, prior=[0.5, 0.5])
    assert normalized_cost(Counts(table), half) == pytest.approx(by_alpha)


def test_normalized_cost_where_not_looking_is_perfect_already():
    nothing_at_stake = Problem([[0, 1], [0, 2]])
    assert math.isnan(normalized_cost(Counts([[5, 0], [5, 0]]), nothing_at_stake))
    assert normalized_cost(Counts([[5, 1], [5, 0]]), nothing_at_stake) == math.inf
    both = normalized_cost(Counts([[[5, 0], [5, 0]], [[5, 1], [5, 0]]]), nothing_at_stake)
    np.testing.assert_array_equal(both, [np.nan, np.inf])


def test_a_class_that_the_prior_expects_but_the_data_lack_makes_it_nan():
    counts = Counts([[3, 1], [0, 0]])
    assert math.isnan(expected_cost(counts, Problem.zero_one(2, prior=[0.5, 0.5])))
    assert math.isnan(normalized_cost(counts, Problem.zero_one(2, prior=[0.5, 0.5])))
    assert expected_cost(counts, Problem.zero_one(2, prior=[1, 0])) == 0.25
    assert expected_cost(counts, Problem.zero_one(2)) == 0.25
    assert math.isnan(expected_cost(Counts([[0, 0], [0, 0]]), Problem.zero_one(2)))


def test_prior_of_is_the_stated_prior_or_the_shares_of_the_data():
    counts = Counts([[[1, 2], [3, 4]], [[5, 0], [0, 5]]])
    assert prior_of(counts, Problem.zero_one(2)).tolist() == [[0.3, 0.7], [0.5, 0.5]]
    assert prior_of(counts, Problem.zero_one(2, prior=[0.2, 0.8])).tolist() == [[0.2, 0.8]] * 2


def test_where_the_money_goes_adds_up():
    problem = Problem(COSTS, prior=[0.9, 0.1])
    counts = Counts([[90, 10, 0], [2, 3, 5]])
    shares = cost_shares(counts, problem)
    assert shares.sum() == pytest.approx(float(expected_cost(counts, problem)))
    assert shares[1, 0] == pytest.approx(0.1 * 0.2 * 180)


def test_a_million_tables_in_one_call():
    tables = np.random.default_rng(0).integers(1, 9, (1_000_000, 2, 3))
    problem = Problem([[0, 3, 25], [180, 8, 0]])
    costs = expected_cost(Counts(tables), problem)
    assert costs.shape == (1_000_000,)
    for i in (0, 999_999):
        prior = tables[i].sum(axis=1) / tables[i].sum()
        assert costs[i] == pytest.approx(
            slow_expected_cost(tables[i].tolist(), problem.costs.tolist(), prior)
        )


@given(
    st.lists(st.tuples(st.integers(0, 1), st.integers(0, 2), st.integers(0, 3)), min_size=2),
    st.booleans(),
    st.integers(0, 99),
)
def test_D12_costs_of_single_cases_accumulate(cases, with_prior, seed):
    """dyrland §6: item-wise utilities; class-reweighted under a prior."""
    y, decided, weight = (list(column) for column in zip(*cases, strict=True))
    if sum(w for k, _, w in cases if k == 0) == 0 or sum(w for k, _, w in cases if k == 1) == 0:
        return
    costs = np.random.default_rng(seed).normal(size=(len(cases), 2, 3)).round(2)
    prior = (
        [0.3, 0.7]
        if with_prior
        else [
            sum(w for k, _, w in cases if k == 0) / sum(weight),
            sum(w for k, _, w in cases if k == 1) / sum(weight),
        ]
    )

    def mean(cost_of_case) -> float:
        total = 0.0
        for k in (0, 1):
            mass = sum(w for c, _, w in cases if c == k)
            class_cost = sum(w * cost_of_case(i) for i, (c, _, w) in enumerate(cases) if c == k)
            total += prior[k] * class_cost / mass
        return total

    mean_cost = mean(lambda i: costs[i, y[i], decided[i]])
    perfect = mean(lambda i: costs[i, y[i]].min())
    naive = min(mean(lambda i, d=d: costs[i, y[i], d]) for d in range(3))
    problem = Problem(np.zeros((2, 3)), prior=[0.3, 0.7] if with_prior else None)
    settings: dict[str, Any] = {"problem": problem, "sample_weight": weight, "case_costs": costs}
    assert metrics.expected_cost(y, decided, **settings) == pytest.approx(mean_cost, abs=1e-12)
    if naive - perfect > 1e-9:
        assert metrics.normalized_cost(y, decided, **settings) == pytest.approx(
            (mean_cost - perfect) / (naive - perfect), abs=1e-9
        )


def test_D12_a_constant_added_to_all_costs_changes_nothing():
    y, decided = [0, 1, 1, 0], [0, 0, 1, 1]
    costs = np.broadcast_to(1 - np.eye(2), (4, 2, 2))
    problem = Problem.zero_one(2)
    for constant in (0, 1e15):
        assert metrics.normalized_cost(
            y, decided, problem=problem, case_costs=costs + constant
        ) == pytest.approx(1.0)


def test_D12_equal_matrices_for_all_cases_are_the_problem_itself():
    problem = Problem(COSTS, prior=[0.8, 0.2])
    y, p = [0, 1, 0, 1, 1], [0.01, 0.9, 0.1, 0.3, 0.02]
    repeated = np.broadcast_to(problem.costs, (5, 2, 3))
    assert metrics.bayes_cost(y, p, problem=problem, case_costs=repeated) == pytest.approx(
        metrics.bayes_cost(y, p, problem=problem)
    )
    assert metrics.normalized_bayes_cost(
        y, p, problem=problem, case_costs=repeated
    ) == pytest.approx(metrics.normalized_bayes_cost(y, p, problem=problem))
    assert metrics.utility_yield(y, [0] * 5, problem=problem) == pytest.approx(-0.2 * 180)
