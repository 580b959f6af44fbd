"""Cost against capacity and against coverage: exact curves, and the prices on them."""

from __future__ import annotations

import numpy as np
import pytest

from stakes import InputError, Limit, Problem, ScoreTable, bayes_decisions, price_limits
from stakes.curves import capacity_curve as table_capacity
from stakes.curves import coverage_curve as table_coverage
from stakes.limits import capacity_curve, coverage_curve

RNG = np.random.default_rng(7)
ROWS = np.round(RNG.dirichlet([1, 1, 1], 60), 1) + 0.05  # ties
ROWS /= ROWS.sum(axis=1, keepdims=True)
TRUTH = np.array([RNG.choice(3, p=row) for row in ROWS])
WEIGHTS = RNG.integers(1, 4, 60).astype(float)
PROBLEM = Problem([[0, 2, 9, 4], [6, 0, 3, 4], [20, 8, 0, 4]], prior=[0.7, 0.2, 0.1])


@pytest.mark.parametrize("share", [0.0, 0.03, 0.2, 0.5, 1.0])
def test_the_cost_at_a_capacity_is_the_dual_value_of_the_limit(share):
    curve = capacity_curve(ROWS, PROBLEM, 3, weights=WEIGHTS)
    limited = PROBLEM.with_limits([Limit.share(3, at_most=share)])
    priced = price_limits(ROWS, limited, weights=WEIGHTS)
    assert float(curve.cost(share)) == pytest.approx(priced.dual_value, abs=1e-9)
    assert float(curve.price(share)) == pytest.approx(priced.prices[0], abs=1e-9)


def test_capacity_is_worth_less_and_less():
    curve = capacity_curve(ROWS, PROBLEM, 3)
    assert (np.diff(curve.prices) < 0).all()
    assert (np.diff(curve.cost(np.linspace(0, 1, 50))) <= 1e-12).all()
    assert curve.cost.knots[[0, -1]].tolist() == [0.0, 1.0]


def test_the_cost_of_labelled_cases_is_what_the_best_cases_of_each_capacity_cost():
    """A slow twin: the cases that save the most get the decision, group by group."""
    problem = PROBLEM.with_prior(None)
    curve = capacity_curve(ROWS, problem, 3, y_true=TRUTH)
    expected = ROWS @ problem.costs
    gains = np.delete(expected, 3, axis=1).min(axis=1) - expected[:, 3]
    for share in curve.shares:
        price = float(curve.price(share - 1e-9))
        cost = 0.0
        for i in range(60):
            decided = 3 if gains[i] >= price - 1e-9 else int(np.argmin(expected[i, :3]))
            cost += problem.costs[TRUTH[i], decided] / 60
        assert float(curve.cost(share)) == pytest.approx(cost, abs=1e-9)


def test_a_case_that_costs_more_than_an_abstention_is_left_undecided():
    curve = coverage_curve(ROWS, PROBLEM.with_prior(None))
    for coverage in (0.3, 0.7, 1.0):
        price = float(curve.break_even(coverage))
        free = PROBLEM.with_prior(None)
        for v, sign in ((price * (1 + 1e-6), 1), (price * (1 - 1e-6), -1)):
            decided = bayes_decisions(ROWS, free.with_abstention(v, "abstain"))
            covered = np.mean(decided != "abstain")
            assert sign * (covered - coverage) >= -1e-9
    assert float(curve.cost(1)) == pytest.approx(np.mean((ROWS @ PROBLEM.costs).min(axis=1)))
    assert np.isnan(curve.selective_cost(0))


def test_the_cost_of_covered_labelled_cases_is_their_sum():
    problem = PROBLEM.with_prior(None)
    curve = coverage_curve(ROWS, problem, y_true=TRUTH)
    expected = ROWS @ problem.costs
    for share, price in zip(curve.shares, curve.break_even_prices, strict=True):
        covered = [i for i in range(60) if expected[i].min() <= price + 1e-9]
        cost = sum(problem.costs[TRUTH[i], int(np.argmin(expected[i]))] for i in covered) / 60
        assert float(curve.cost(share)) == pytest.approx(cost, abs=1e-9)


def test_score_tables_have_the_curves_of_their_rows():
    p = np.round(RNG.beta(1, 2, 80), 1)
    truth = (RNG.random(80) < p).astype(int)
    problem = Problem([[0, 3, 25], [180, 8, 0]])
    table = ScoreTable.from_scores(truth, p)
    rows, from_table = (
        capacity_curve(p, problem, 1, y_true=truth),
        table_capacity(table, problem, 1),
    )
    x = np.linspace(0, 1, 11)
    assert from_table.cost(x) == pytest.approx(rows.cost(x))
    assert from_table.prices == pytest.approx(rows.prices)
    covered = coverage_curve(p, problem, y_true=truth)
    assert table_coverage(table, problem).cost(x) == pytest.approx(covered.cost(x))


def test_costs_of_every_case_have_a_capacity_too():
    problem = Problem(
        {"legit": {"approve": 0, "review": 3}, "fraud": {"approve": "amount", "review": 8}}
    )
    data = {"amount": [10.0, 1000.0, 100.0]}
    curve = capacity_curve([0.5, 0.5, 0.5], problem, "review", data=data)
    assert curve.prices == pytest.approx([494.5, 44.5])  # half the amount, less 5.5
    labelled = capacity_curve(
        [0.5, 0.5, 0.5], problem, "review", data=data, y_true=["fraud", "legit", "fraud"]
    )
    assert labelled.cost([0, 1 / 3, 2 / 3]) == pytest.approx([110 / 3, 113 / 3, 21 / 3])


def test_a_capacity_for_no_decision_is_refused():
    with pytest.raises(InputError, match="decision must be one of several decisions"):
        capacity_curve(ROWS, PROBLEM, "review")
    with pytest.raises(InputError, match=r"one of several decisions .* got ndarray"):
        capacity_curve(ROWS, PROBLEM, np.array([0, 1]))  # type: ignore[arg-type]


def test_prices_beyond_all_cases_and_of_no_number_are_undefined():
    capacity, coverage = capacity_curve(ROWS, PROBLEM, 1), coverage_curve(ROWS, PROBLEM)
    for name, price in (("share", capacity.price), ("coverage", coverage.break_even)):
        prices = price([np.nan, -0.1, 1.1, 0.5])
        assert np.isnan(prices).tolist() == [True, True, True, False]
        with pytest.raises(InputError, match=f"{name} must hold real numbers"):
            price("half")
    with pytest.raises(InputError, match="coverage must hold real numbers"):
        coverage.selective_cost("half")
