"""Decisions from posteriors, and posteriors in their other currencies."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from stakes import (
    InputError,
    Posteriors,
    Problem,
    bayes_decision_indices,
    bayes_decisions,
    estimate_prior,
    expected_costs,
    log_likelihood_ratios,
    metrics,
    posteriors_from_log_likelihoods,
    posteriors_from_log_odds,
    shift_prior,
)
from stakes.decide import cheapest_decisions, class_ratios, reachable_decisions

numbers = st.floats(-50, 50).map(lambda x: round(x, 2))
probability = st.floats(0, 1)


@st.composite
def posteriors(draw, size: int):
    raw = draw(hnp.arrays(float, (draw(st.integers(1, 6)), size), elements=st.floats(0.001, 1)))
    return raw / raw.sum(axis=1, keepdims=True)


@given(posteriors(3), hnp.arrays(float, (3, 4), elements=numbers))
def test_E8_the_bayes_decision_has_the_least_expected_cost(rows, costs):
    """ferrer-ec eq 7; first decision wins ties."""
    problem = Problem(costs, decisions=list("wxyz"))
    expected = expected_costs(rows, problem)
    for row, per_decision, decision in zip(
        rows, expected, bayes_decisions(rows, problem), strict=True
    ):
        slow = [sum(row[k] * costs[k, d] for k in range(3)) for d in range(4)]
        assert per_decision == pytest.approx(slow, abs=1e-9)
        first = next(d for d in range(4) if slow[d] <= min(slow) + 1e-9)
        assert slow["wxyz".index(decision)] <= min(slow) + 1e-9
        if sorted(slow)[1] > min(slow) + 1e-9:
            assert "wxyz".index(decision) == first


def test_E8_ties_go_to_the_first_decision_also_when_rounding_splits_them():
    assert bayes_decisions([[0.5, 0.5]], Problem.zero_one(["a", "b"])).tolist() == ["a"]
    for hundredths in range(1, 100):
        p = hundredths / 100
        at_threshold = Problem.binary(false_alarm=hundredths, miss=100 - hundredths)
        assert bayes_decision_indices([p], at_threshold).tolist() == [0], p


@given(posteriors(4))
def test_E9_zero_one_costs_give_the_most_probable_class(rows):
    """ferrer-ec eq 15–17."""
    chosen = bayes_decision_indices(rows, Problem.zero_one(4))
    assert rows[np.arange(len(rows)), chosen] == pytest.approx(rows.max(axis=1), abs=1e-11)


@given(st.floats(0.1, 20), st.floats(0.1, 20), hnp.arrays(float, 7, elements=probability))
def test_E10_binary_bayes_decisions_are_a_threshold(c12, c21, p):
    """ferrer-ec eq 18–20, strictly above it."""
    problem = Problem.binary(false_alarm=c12, miss=c21)
    clear = np.abs(p - problem.threshold) > 1e-9
    chosen = bayes_decision_indices(p, problem)
    assert (chosen == (p > problem.threshold))[clear].all()
    with np.errstate(divide="ignore"):
        log_odds = np.log(p) - np.log1p(-p)
    assert (chosen == (log_odds > math.log(c12 / c21)))[clear].all()
    assert (bayes_decision_indices(np.stack([1 - p, p], axis=1), problem) == chosen)[clear].all()


@given(posteriors(3), st.floats(0.05, 0.6))
def test_E11_abstain_where_no_posterior_is_large_enough(rows, alpha):
    """ferrer-ec eq 21–24: abstain iff all posteriors < 1 − α; the naive system likewise."""
    problem = Problem.zero_one(["a", "b", "c"]).with_abstention(alpha)
    clear = np.abs(rows - (1 - alpha)).min(axis=1) > 1e-9
    abstains = bayes_decisions(rows, problem) == "abstain"
    assert (abstains == (rows < 1 - alpha).all(axis=1))[clear].all()
    for prior in rows[clear]:
        naive = problem.with_prior(prior / prior.sum()).naive.decision
        assert (naive == "abstain") == (prior < 1 - alpha).all()


def test_D3_maximising_expected_utility_is_minimising_expected_cost():
    """dyrland eq 8, 9 with matrix (4): output 0 iff 15 p0 − 335 p1 ≥ −35 p0 + 165 p1."""
    factory = Problem.from_utilities(np.array([[15, -335], [-35, 165]]).T)
    p1 = np.linspace(0, 1, 101)
    by_hand = [int(15 * (1 - p) - 335 * p < -35 * (1 - p) + 165 * p) for p in p1]
    assert bayes_decision_indices(p1, factory).tolist() == by_hand
    assert factory.threshold == pytest.approx(50 / 550)


def test_decisions_never_read_the_prior():
    stated = Problem([[0, 3, 25], [180, 8, 0]], prior=[0.999, 0.001])
    p = np.linspace(0, 1, 50)
    assert (bayes_decisions(p, stated) == bayes_decisions(p, stated.with_prior(None))).all()


@pytest.mark.parametrize(
    ("labels", "kind"), [(["a", "bb"], "U"), ([0, 1], "i"), ([False, True], "b"), (["a", 1], "O")]
)
def test_decided_labels_keep_their_type(labels, kind):
    decided = bayes_decisions([0.2, 0.8], Problem.zero_one(labels))
    assert decided.dtype.kind == kind
    assert decided.tolist() == labels


def test_per_case_costs_decide_case_by_case():
    problem = Problem.zero_one(2)
    costs = np.array([[[0, 1], [1, 0]], [[0, 1], [9, 0]], [[0, 9], [1, 0]]])
    assert bayes_decision_indices([0.3, 0.3, 0.8], problem, case_costs=costs).tolist() == [0, 1, 0]
    assert expected_costs([0.3, 0.3, 0.8], problem, case_costs=costs)[1].tolist() == pytest.approx(
        [2.7, 0.7]
    )


def test_one_case_does_not_decide_about_another():
    problem = Problem.zero_one(2)
    costs = np.array([[[0, 1.0], [1, 0]], [[0, 1e13], [1e13, 0]]])
    assert bayes_decision_indices([0.9, 0.9], problem, case_costs=costs).tolist() == [1, 1]
    nearly = Problem.from_threshold(1 - 1e-13)
    assert bayes_decision_indices([1.0, 0.5], nearly).tolist() == [1, 0]


@given(posteriors(3), hnp.arrays(float, (3, 2), elements=numbers), st.integers(0, 99))
def test_E4_more_classes_than_decisions(rows, costs, seed):
    problem = Problem(costs)
    slow = [[sum(row[k] * costs[k, d] for k in range(3)) for d in range(2)] for row in rows]
    assert expected_costs(rows, problem) == pytest.approx(np.array(slow), abs=1e-9)
    per_case = np.random.default_rng(seed).normal(size=(len(rows), 3, 2))
    for i, decision in enumerate(bayes_decision_indices(rows, problem, case_costs=per_case)):
        by_hand = [sum(rows[i, k] * per_case[i, k, d] for k in range(3)) for d in range(2)]
        assert by_hand[decision] <= min(by_hand) + 1e-9


def test_named_columns_go_by_their_names():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"fraud": [0.9, 0.1], "legit": [0.1, 0.9]})
    problem = Problem.zero_one(["legit", "fraud"])
    expected = ["fraud", "legit"]
    assert bayes_decisions(frame, problem).tolist() == expected
    assert bayes_decisions(Posteriors(frame), problem).tolist() == expected
    turned = Posteriors(frame.to_numpy(), classes=["fraud", "legit"])
    assert bayes_decisions(turned, problem).tolist() == expected
    assert metrics.bayes_cost(expected, frame, problem=problem) == 0
    with pytest.raises(InputError, match="columns go by position"):
        shift_prior(frame, [0.5, 0.5], [0.9, 0.1])


def test_blocks_do_not_show():
    rng = np.random.default_rng(1)
    p = rng.random(200_000)
    problem = Problem([[0, 3, 25], [180, 8, 0]])
    whole = expected_costs(p, problem).argmin(axis=1)
    assert (bayes_decision_indices(p, problem) == whole).all()
    costs = rng.random((100_000, 2, 3))
    by_case = expected_costs(p[:100_000], problem, case_costs=costs).argmin(axis=1)
    assert (bayes_decision_indices(p[:100_000], problem, case_costs=costs) == by_case).all()


@given(hnp.arrays(float, 5, elements=st.floats(-800, 800)))
def test_log_odds_become_probabilities_without_overflow(log_odds):
    p = posteriors_from_log_odds(log_odds)
    for x, probability in zip(log_odds, p, strict=True):
        slow = 1 / (1 + math.exp(-x)) if x > -700 else math.exp(x)
        assert probability == pytest.approx(slow, rel=1e-12)


@given(posteriors(3), posteriors(3))
def test_log_likelihoods_and_posteriors_are_two_ways_of_one_road(rows, priors):
    prior = priors[0] / priors[0].sum()
    ratios = log_likelihood_ratios(rows, prior)
    assert (ratios[:, 0] == 0).all()
    assert posteriors_from_log_likelihoods(ratios, prior) == pytest.approx(rows, abs=1e-12)


def test_a_class_that_is_ruled_out_survives_the_way_there_and_back():
    rows = np.array([[0.0, 0.25, 0.75], [1.0, 0.0, 0.0]])
    with np.errstate(divide="ignore"):
        logs = np.log(rows)
    assert posteriors_from_log_likelihoods(logs, [1 / 3] * 3) == pytest.approx(rows)
    for bad in ([[np.nan, 0]], [[np.inf, 0]], [[-np.inf, -np.inf]]):
        with pytest.raises(InputError, match="some class must be possible"):
            posteriors_from_log_likelihoods(bad, [0.5, 0.5])


def test_two_class_ratios_are_log_odds_minus_prior_log_odds():
    p, prior = np.array([0.2, 0.9, 1.0, 0.0]), [0.7, 0.3]
    expected = [math.log(0.2 / 0.8 * 0.7 / 0.3), math.log(9 * 0.7 / 0.3), math.inf, -math.inf]
    assert log_likelihood_ratios(p, prior) == pytest.approx(expected)


@given(posteriors(3), posteriors(3), posteriors(3))
def test_shifting_the_prior_keeps_the_likelihoods(rows, old, new):
    old, new = old[0] / old[0].sum(), new[0] / new[0].sum()
    moved = shift_prior(rows, old, new)
    for row, posterior in zip(rows, moved, strict=True):
        raw = [row[k] * new[k] / old[k] for k in range(3)]
        assert posterior == pytest.approx([value / sum(raw) for value in raw])
    assert shift_prior(moved, new, old) == pytest.approx(rows)
    binary = shift_prior(rows[:, 0], [0.3, 0.7], [0.8, 0.2])
    assert binary.shape == (len(rows),)


def test_shifting_to_a_class_that_was_ruled_out_is_refused():
    with pytest.raises(InputError, match=r"class number 1 has 0 and 0\.5"):
        shift_prior([0.0], [1, 0], [0.5, 0.5])
    assert shift_prior([0.4, 0.7], [0.5, 0.5], [1, 0]).tolist() == [0, 0]


@pytest.mark.parametrize("true_share", [0.05, 0.3, 0.8])
def test_an_unknown_new_prior_is_estimated_from_calibrated_posteriors(true_share):
    """Saerens EM: posteriors calibrated for equal classes, applied to other class shares."""
    rng = np.random.default_rng(7)
    n_cases = 20_000
    y = rng.random(n_cases) < true_share
    log_ratio = rng.normal(np.where(y, 1.0, -1.0), np.sqrt(2.0))  # log-likelihood ratio, exactly
    estimate = estimate_prior(posteriors_from_log_odds(log_ratio), from_prior=[0.5, 0.5])
    assert estimate.converged
    # Its standard error is at most about sqrt(p(1−p)/n) / (efficiency 0.35) here.
    spread = math.sqrt(true_share * (1 - true_share) / n_cases) / 0.35
    assert abs(estimate.prior[1] - true_share) < 4 * spread


def test_an_estimate_that_has_not_come_to_rest_says_so():
    estimate = estimate_prior([0.4, 0.6, 0.9], [0.5, 0.5], max_iterations=1)
    assert not estimate.converged
    assert estimate.iterations == 1
    with pytest.raises(InputError, match="positive for every class"):
        estimate_prior([0.4], [1.0, 0.0])


# Decisions that a posterior can lead to ----------------------------------------------------------


@pytest.mark.parametrize("seed", range(12))
def test_decisions_of_two_classes_are_reached_at_the_ends_or_where_lines_cross(seed):
    """In fractions: the set in which a decision is the cheapest ends there."""
    rng = np.random.default_rng(seed)
    costs = rng.integers(0, 7, (2, 5))
    lines = [(Fraction(int(a)), Fraction(int(b - a))) for a, b in costs.T]
    reached = []
    for line in lines:
        points = {Fraction(0), Fraction(1)}
        points |= {(b[0] - line[0]) / (line[1] - b[1]) for b in lines if b[1] != line[1]}
        points = {point for point in points if 0 <= point <= 1}
        reached.append(
            any(all(line[0] + p * line[1] <= a + p * b for a, b in lines) for p in points)
        )
    assert reachable_decisions(Problem(1e3 * costs - 7.0, decisions=range(5))).tolist() == reached


@pytest.mark.parametrize("seed", range(6))
def test_decisions_of_three_classes_are_reached_where_a_grid_of_posteriors_comes_near(seed):
    rng = np.random.default_rng(seed)
    problem = Problem(rng.integers(0, 10, (3, 8)).astype(float), decisions=range(8))
    step = 50
    grid = [(i / step, j / step, (step - i - j) / step)
            for i in range(step + 1) for j in range(step + 1 - i)]  # fmt: skip
    expected = np.array(grid) @ problem.costs
    nearest = (expected - expected.min(axis=1, keepdims=True)).min(axis=0)
    reached = reachable_decisions(problem)
    assert reached[nearest <= 1e-12].all()
    assert not reached[nearest > 2 * 10 * 3 / step].any()  # moving a step changes no more
    assert set(bayes_decision_indices(grid, problem)) <= set(np.flatnonzero(reached))


def test_decisions_that_are_never_the_cheapest_are_not_reached():
    assert reachable_decisions(Problem([[0, 10, 2], [5, 10, 0]])).tolist() == [True, False, True]
    tied = Problem([[0, 1, 2], [2, 1, 0]])  # at one probability alone
    assert reachable_decisions(tied).all()
    never = Problem([[0, 1 + 1e-6, 2], [2, 1, 0]])
    assert reachable_decisions(never).tolist() == [True, False, True]
    abstaining = Problem.zero_one(4)
    assert reachable_decisions(abstaining.with_abstention(0.74)).all()
    assert not reachable_decisions(abstaining.with_abstention(0.76))[-1]
    assert reachable_decisions(Problem([[3, 3], [2, 2], [1, 1]])).all()


def test_cases_that_are_worth_more_by_their_class_are_decided_as_moved_posteriors():
    rng = np.random.default_rng(3)
    rows = rng.dirichlet([1.0, 1.0, 1.0], 200)
    problem = Problem([[0, 1, 4, 2], [3, 0, 1, 1], [9, 5, 0, 2]])
    old, new = np.array([0.2, 0.3, 0.5]), np.array([0.7, 0.2, 0.1])
    moved = bayes_decisions(shift_prior(rows, old, new), problem)
    worth = cheapest_decisions(rows, problem.costs, None, class_ratios(old, new))
    assert np.array_equal(moved, np.array(problem.decisions)[worth])
    assert not np.array_equal(worth, cheapest_decisions(rows, problem.costs))


def test_a_case_of_a_class_that_the_prior_excludes_is_nan_without_a_warning():
    rows = posteriors_from_log_likelihoods([[-np.inf, 0.0], [0.0, 0.0]], [1, 0])
    assert np.isnan(rows[0]).all()
    assert rows[1].tolist() == [1, 0]
