"""Comparison of models on the same cases, many at once, and how much data it takes."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from fractions import Fraction
from math import comb
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy import stats

from stakes import Counts, InputError, JointCounts, LossMoments, Problem, expected_cost
from stakes.inference import (
    AllCases,
    Clusters,
    Dirichlet,
    ExpandedPercentile,
    Normal,
    WithinClasses,
    bootstrap,
    bootstrap_problems,
    cases_for_half_width,
    cases_to_detect,
    compare,
    compare_costs,
    compare_losses,
    compare_problems,
    cost_moments,
    delong,
    delta_compare_costs,
    delta_expected_cost,
    holm,
    holm_pairs,
    max_t,
    mcnemar,
    minimal_detectable_difference,
    p_value,
    resample,
    slices,
    uncertain_problems,
)
from stakes.inference.comparison import triangular_root
from stakes.inference.estimate import Estimate
from stakes.ranking import auc
from stakes.tally import JointScores

PROBLEM = Problem([[0, 3, 25], [180, 8, 0]])
ZERO_ONE = Problem.zero_one(2)


def generator(seed: int = 7) -> np.random.Generator:
    return np.random.default_rng(seed)


def decisions(n: int = 400, seed: int = 1, models: int = 2) -> tuple[np.ndarray, dict]:
    rng = generator(seed)
    y = (rng.random(n) < 0.4).astype(int)
    decided = {}
    for j in range(models):
        right = np.where(
            y == 0, rng.choice(3, n, p=[0.8, 0.15, 0.05]), rng.choice(3, n, p=[0.1, 0.3, 0.6])
        )
        decided["abcdef"[j]] = np.where(rng.random(n) < 0.7, right, rng.integers(0, 3, n))
    return y, decided


def joint_of(n: int = 400, seed: int = 1, models: int = 2, **how) -> JointCounts:
    y, decided = decisions(n, seed, models)
    return JointCounts.from_decisions(y, decided, PROBLEM, **how)


# Two models --------------------------------------------------------------------------------------


def test_a_paired_difference_is_the_mean_of_the_differences():
    y, decided = decisions()
    costs = {m: PROBLEM.costs[y, d] for m, d in decided.items()}
    gap = costs["a"] - costs["b"]
    difference = delta_compare_costs(joint_of(), PROBLEM).difference("a", "b")
    assert float(difference.value) == pytest.approx(gap.mean())
    assert float(difference.standard_error) == pytest.approx(gap.std(ddof=1) / 20)
    drawn = compare_costs(joint_of(), PROBLEM, replicates=4000, rng=generator())
    resampled = drawn.difference("a", "b")
    assert float(resampled.value) == pytest.approx(gap.mean())
    assert float(resampled.standard_error) == pytest.approx(gap.std(ddof=1) / 20, rel=0.05)
    assert float(drawn.difference("b", "a").value) == pytest.approx(-gap.mean())


def test_a_stated_prior_reweights_the_classes_and_keeps_them_in_replicates():
    problem = PROBLEM.with_prior([0.97, 0.03])
    y, decided = decisions()
    prior = np.array([0.97, 0.03])
    by_class = [
        np.mean(PROBLEM.costs[y, decided["a"]][y == k] - PROBLEM.costs[y, decided["b"]][y == k])
        for k in (0, 1)
    ]
    formula = delta_compare_costs(joint_of(), problem).difference("a", "b")
    resampled = compare_costs(joint_of(), problem, replicates=4000, rng=generator())
    assert float(formula.value) == pytest.approx(float(prior @ by_class))
    again = resampled.difference("a", "b")
    assert float(again.standard_error) == pytest.approx(float(formula.standard_error), rel=0.05)


def test_values_of_a_comparison_are_the_expected_costs_of_the_models():
    joint = joint_of()
    comparison = compare_costs(joint, PROBLEM, replicates=50, rng=generator())
    for j, model in enumerate(joint.models):
        assert comparison.values[j] == pytest.approx(
            float(expected_cost(joint.model(model), PROBLEM))
        )
        assert float(comparison.estimate(model).value) == comparison.values[j]


def test_pairing_makes_the_difference_of_similar_models_sure():
    y, decided = decisions(2000)
    twin = np.where(np.arange(2000) % 50 == 0, 2 - decided["a"], decided["a"])
    joint = JointCounts.from_decisions(y, {"a": decided["a"], "twin": twin}, PROBLEM)
    comparison = delta_compare_costs(joint, PROBLEM)
    alone = np.sqrt(np.trace(comparison.covariance))
    assert float(comparison.difference("a", "twin").standard_error) < 0.5 * alone


def test_the_probability_of_being_cheapest_splits_ties_and_sums_to_one():
    y = np.array([0, 1] * 50)
    joint = JointCounts.from_decisions(y, {"a": y, "same": y, "worse": 1 - y}, ZERO_ONE)
    comparison = compare_costs(joint, ZERO_ONE, replicates=100, rng=generator())
    assert comparison.probability_lowest().tolist() == [0.5, 0.5, 0.0]
    assert comparison.lowest == "a"


def test_the_probability_of_being_cheapest_agrees_with_the_normal_one():
    joint = joint_of(models=3)
    drawn = compare_costs(joint, PROBLEM, replicates=8000, rng=generator())
    normal = delta_compare_costs(joint, PROBLEM).drawn(replicates=8000, rng=generator())
    np.testing.assert_allclose(drawn.probability_lowest(), normal.probability_lowest(), atol=0.03)
    with pytest.raises(InputError, match="need replicates"):
        delta_compare_costs(joint, PROBLEM).probability_lowest()


def test_a_comparison_of_clusters_resamples_the_clusters():
    unit = generator(9).integers(0, 25, 400)
    joint = joint_of(by=unit)
    comparison = compare_costs(joint, PROBLEM, replicates=300, rng=generator(), scheme=Clusters())
    intervals = comparison.difference("a", "b").intervals
    assert isinstance(intervals, ExpandedPercentile)
    assert intervals.count == 25
    np.testing.assert_allclose(
        comparison.values, compare_costs(joint_of(), PROBLEM, replicates=9, rng=generator()).values
    )


def test_losses_of_clusters_are_compared_by_their_moments():
    y, decided = decisions()
    unit = generator(9).integers(0, 25, 400)
    losses = {m: PROBLEM.costs[y, d] for m, d in decided.items()}
    moments = LossMoments.from_losses(y, losses, by=unit)
    comparison = compare(
        lambda m: m.mean(), moments, ["a", "b"], replicates=400, rng=generator(), scheme=Clusters()
    )
    np.testing.assert_allclose(comparison.values, [losses["a"].mean(), losses["b"].mean()])
    with pytest.raises(InputError, match="drawn as a whole call compare"):
        compare_losses(moments, prior=None)


def test_fractional_weights_of_losses_are_refused_and_clusters_take_them():
    y, decided = decisions(60)
    losses = {m: PROBLEM.costs[y, d] for m, d in decided.items()}
    weights = generator().uniform(0.2, 3, 60)
    moments = LossMoments.from_losses(y, losses, weights=weights)
    with pytest.raises(
        InputError, match=r"whole cases; it was made with weights=.*compare with clusters"
    ):
        compare_losses(moments, prior=None)
    compare_losses(LossMoments.from_losses(y, losses, copies=np.ceil(weights)), prior=None)
    whole = LossMoments.from_losses(y, losses, weights=np.ceil(weights))
    with pytest.raises(InputError, match=r"made with weights=.*compare with clusters.*copies="):
        compare_losses(whole, prior=None)
    each = LossMoments.from_losses(y, losses, weights=weights, by=np.arange(60))
    how: Any = {"replicates": 4000, "rng": generator(), "scheme": Clusters()}
    gap = compare(lambda m: m.mean(), each, ["a", "b"], **how).difference("a", "b")
    cost = losses["a"] - losses["b"]
    mean = weights @ cost / weights.sum()
    twin = np.sqrt(np.sum(weights**2 * (cost - mean) ** 2)) / weights.sum()  # of a ratio of means
    assert float(gap.value) == pytest.approx(mean)
    assert float(gap.standard_error) == pytest.approx(twin, rel=0.06)


def test_areas_are_compared_by_replicates_as_delong_compares_them():
    rng = generator()
    y = (rng.random(300) < 0.4).astype(int)
    scores = {"a": rng.normal(y, 1), "b": rng.normal(y, 1.2)}
    joint = JointScores.from_scores(y, scores)
    areas = lambda j: np.stack([auc(j.table(m)) for m in "ab"], axis=-1)  # noqa: E731
    comparison = compare(areas, joint, ["a", "b"], replicates=800, rng=rng, scheme=WithinClasses())
    formula = delong(joint)
    np.testing.assert_allclose(comparison.values, formula.values)
    gap, twin = comparison.difference("a", "b"), formula.difference("a", "b")
    assert float(gap.standard_error) == pytest.approx(float(twin.standard_error), rel=0.12)


def test_undefined_models_do_not_spoil_the_others():
    moments = LossMoments.from_losses([0, 0, 0], [[1.0, 2.0, 4.0]] * 3, classes=[0, 1])
    comparison = compare_losses(moments, prior=[0.5, 0.5])
    assert np.isnan(comparison.values).all()
    with pytest.raises(InputError, match="all are nan"):
        _ = comparison.lowest


@given(st.integers(0, 2**32), st.integers(1, 5), st.integers(1, 5))
def test_the_root_of_a_covariance_is_triangular_and_squares_to_it(seed, models, rank):
    """Models that are sums of others make it singular; rank 1 to full."""
    factors = generator(seed).normal(size=(models, min(rank, models)))
    covariance = factors @ factors.T
    root = triangular_root(covariance)
    assert np.array_equal(root, np.tril(root))
    assert (np.diagonal(root) >= 0).all()
    np.testing.assert_allclose(root @ root.T, covariance, atol=1e-5)


def test_normal_draws_have_the_means_and_covariances_of_the_comparison():
    y, decided = decisions(models=3)
    joint = JointCounts.from_decisions(y, {**decided, "copy": decided["a"]}, PROBLEM)
    formula = delta_compare_costs(joint, PROBLEM)
    drawn = formula.drawn(replicates=20_000, rng=generator()).replicates
    np.testing.assert_allclose(drawn[:, 0], drawn[:, 3], rtol=1e-6)  # a model and its copy
    errors = np.sqrt(np.diagonal(formula.covariance) / 20_000)
    assert (np.abs(drawn.mean(axis=0) - formula.values) < 4 * errors).all()
    spread = np.cov(drawn, rowvar=False)
    np.testing.assert_allclose(spread, formula.covariance, atol=0.05 * formula.covariance.max())


def test_normal_draws_leave_undefined_models_out():
    comparison = delta_compare_costs(joint_of(), PROBLEM)
    covariance = np.array(comparison.covariance)
    covariance[1] = covariance[:, 1] = np.nan
    undefined = comparison._trusted(**{**vars(comparison), "covariance": covariance})
    drawn = undefined.drawn(replicates=50, rng=generator())
    assert np.isnan(drawn.replicates[:, 1]).all()
    assert np.isfinite(drawn.estimate("a").standard_error)


def test_a_comparison_wants_one_set_of_cases():
    grouped = joint_of(by=generator().integers(0, 2, 400))
    for make in (
        lambda j: compare_costs(j, PROBLEM, replicates=5, rng=generator()),
        lambda j: compare_problems(j, [PROBLEM], replicates=5, rng=generator()),
        lambda j: delta_compare_costs(j, PROBLEM),
    ):
        with pytest.raises(
            InputError, match=r"joint must have no leading axis.*group\(label\).*Clusters"
        ):
            make(grouped)
        with pytest.raises(InputError, match=r"joint must be JointCounts; got Counts"):
            make(grouped.model("a"))


def test_comparisons_refuse_unknown_names_and_wrong_shapes():
    comparison = delta_compare_costs(joint_of(), PROBLEM)
    with pytest.raises(InputError, match="one of the models"):
        comparison.difference("a", "z")
    with pytest.raises(InputError, match="one number for each"):
        compare(
            lambda c: expected_cost(c, PROBLEM),
            joint_of().model("a"),
            ["a", "b"],
            replicates=5,
            rng=generator(),
            scheme=AllCases(),
        )
    assert "delta method" in str(comparison)
    assert comparison == delta_compare_costs(joint_of(), PROBLEM)


def test_p_values_are_those_of_a_normal_test():
    estimate = Estimate([1.96, 0.0, 1.0], [1.0, 1.0, 0.0], np.empty((0, 3)), Normal(), "")
    np.testing.assert_allclose(p_value(estimate, null=0)[:2], [0.05, 1.0], atol=1e-4)
    assert np.isnan(p_value(estimate, null=0)[2])
    assert float(p_value(estimate, null=1.96)[0]) == 1.0


# McNemar -----------------------------------------------------------------------------------------


def joint_of_pair(first_only: int, second_only: int, both: int, none: int) -> JointCounts:
    """Cases of class 0 that only the first, only the second, both, or none got wrong."""
    sizes = (first_only, second_only, both, none)
    first, second = (np.repeat(wrong, sizes) for wrong in ([1, 0, 1, 0], [0, 1, 1, 0]))
    y = np.zeros(sum(sizes), dtype=int)
    return JointCounts.from_decisions(y, {"a": first, "b": second}, ZERO_ONE)


@given(st.integers(0, 40), st.integers(0, 40), st.integers(0, 5))
@example(2, 2, 1)
@example(0, 0, 1)
def test_mcnemar_is_the_binomial_test_of_the_cases_that_differ(b, c, both):
    test = mcnemar(joint_of_pair(b, c, both, 1), "a", "b")
    n = b + c
    exact = stats.binomtest(b, n).pvalue if n else 1.0
    assert float(test.exact_p) == pytest.approx(exact)
    weights = [Fraction(comb(n, k), 2**n) for k in range(n + 1)]
    point = weights[min(b, c)]
    twin = 1 - point / 2 if b == c else 2 * sum(weights[: min(b, c) + 1]) - point
    assert float(test.mid_p) == pytest.approx(float(twin) if n else 1.0)
    chi2 = stats.chi2.sf((b - c) ** 2 / n, 1) if n else 1.0
    assert float(test.chi2_p) == pytest.approx(chi2)


@given(st.integers(1, 40), st.integers(0, 40), st.integers(0, 5), st.integers(0, 30))
def test_mcnemar_is_the_comparison_of_costs_under_zero_one_costs(b, c, both, none):
    joint = joint_of_pair(b, c, both, none)
    test = mcnemar(joint, "a", "b")
    paired = delta_compare_costs(joint, ZERO_ONE).difference("a", "b")
    assert float(test.difference) == pytest.approx(float(paired.value), abs=1e-12)
    n = b + c + both + none
    if n > 1:
        square = (b + c - (b - c) ** 2 / n) / (n * (n - 1))
        assert float(paired.standard_error) == pytest.approx(np.sqrt(square), abs=1e-9)


def test_mcnemar_carries_groups_and_wants_classes_for_decisions():
    first = joint_of_pair(5, 1, 2, 4)
    stacked = first.with_cell_weights(np.stack([first.weights, 2 * first.weights]))
    assert mcnemar(stacked, "a", "b").first_wrong.tolist() == [5, 10]
    assert mcnemar(stacked, "a", "b").exact_p.shape == (2,)
    with pytest.raises(InputError, match="decisions that answer the classes"):
        mcnemar(joint_of(), "a", "b")
    with pytest.raises(InputError, match="one of the models"):
        mcnemar(first, "a", "z")


# Many models -------------------------------------------------------------------------------------


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_holm_rejects_what_the_step_down_procedure_rejects(p_values):
    adjusted = holm(p_values)
    for alpha in (0.01, 0.05, 0.3):
        order = sorted(range(len(p_values)), key=lambda i: p_values[i])
        rejected = set()
        for step, i in enumerate(order):
            if p_values[i] * (len(p_values) - step) > alpha:
                break
            rejected.add(i)
        assert {i for i, p in enumerate(adjusted) if p <= alpha} == rejected
    assert (adjusted >= np.array(p_values)).all()


def test_holm_leaves_undefined_ones_out():
    assert holm([0.02, np.nan, 0.03]).tolist() == pytest.approx([0.04, np.nan, 0.04], nan_ok=True)
    with pytest.raises(InputError, match="probabilities"):
        holm([0.2, 1.2])
    with pytest.raises(InputError, match="one row"):
        holm([[0.2]])


def test_max_t_of_one_pair_is_the_symmetric_bootstrap_t():
    comparison = compare_costs(joint_of(), PROBLEM, replicates=999, rng=generator())
    gap = comparison.difference("a", "b")
    distance = np.abs(gap.replicates - gap.value)
    pairs = max_t(comparison, level=0.9)
    assert pairs.high[0] - pairs.differences[0] == pytest.approx(np.sort(distance)[899])
    twin = (1 + np.sum(distance >= abs(gap.value))) / 1000
    assert pairs.p_values[0] == pytest.approx(twin)


def test_max_t_lies_between_no_correction_and_bonferroni():
    joint = joint_of(models=4)
    comparison = compare_costs(joint, PROBLEM, replicates=4000, rng=generator())
    pairs = max_t(comparison, level=0.95)
    assert len(pairs.pairs) == 6
    z = stats.norm.ppf([0.975, 1 - 0.025 / 6])
    for place, (first, second) in enumerate(pairs.pairs):
        error = float(comparison.difference(first, second).standard_error)
        reach = (pairs.high - pairs.differences)[place] / error
        assert z[0] < reach < z[1] + 0.1
        alone = float(p_value(comparison.difference(first, second), null=0))
        assert pairs.p_values[place] >= alone - 0.02
    assert (pairs.p_values <= 1).all()
    ordered = np.argsort(-np.abs(pairs.differences / ((pairs.high - pairs.low) / 2)))
    assert (np.diff(pairs.p_values[ordered]) >= 0).all()


def test_max_t_steps_down_from_the_largest_difference():
    """Slow twin: each test against the largest of those that are not larger than itself."""
    comparison = compare_costs(joint_of(models=4), PROBLEM, replicates=199, rng=generator())
    pairs = max_t(comparison, level=0.95)
    differences = [comparison.difference(*pair) for pair in pairs.pairs]
    size = [abs(float(difference.value / difference.standard_error)) for difference in differences]
    null = [
        np.abs(difference.replicates - difference.value) / difference.standard_error
        for difference in differences
    ]
    reached = 0.0
    for place in sorted(range(6), key=lambda i: -size[i]):
        smaller = [i for i in range(6) if size[i] <= size[place]]
        worse = sum(max(null[i][r] for i in smaller) >= size[place] for r in range(199))
        reached = max(reached, (1 + worse) / 200)
        assert pairs.p_values[place] == pytest.approx(reached)


def test_max_t_takes_chosen_pairs_and_leaves_certain_ones_out():
    y, decided = decisions()
    joint = JointCounts.from_decisions(y, {**decided, "copy": decided["a"]}, PROBLEM)
    comparison = compare_costs(joint, PROBLEM, replicates=200, rng=generator())
    pairs = max_t(comparison, level=0.9, pairs=[("b", "a"), ("copy", "a")])
    assert pairs.pairs == (("b", "a"), ("copy", "a"))
    assert np.isnan(pairs.p_values[1])
    assert np.isfinite(pairs.low[0])
    assert "b − a" in str(pairs)
    with pytest.raises(InputError, match=r"must hold replicates.*drawn.*holm_pairs"):
        max_t(delta_compare_costs(joint, PROBLEM), level=0.9)


def test_holm_pairs_correct_normal_tests():
    comparison = delta_compare_costs(joint_of(models=3), PROBLEM)
    pairs = holm_pairs(comparison, level=0.95)
    plain = [float(p_value(comparison.difference(*pair), null=0)) for pair in comparison.pairs]
    np.testing.assert_allclose(pairs.p_values, holm(plain))
    z = stats.norm.ppf(1 - 0.025 / 3)
    errors = [float(comparison.difference(*pair).standard_error) for pair in comparison.pairs]
    np.testing.assert_allclose(pairs.high - pairs.differences, z * np.array(errors))


# How much data -----------------------------------------------------------------------------------


def test_planning_functions_undo_each_other():
    difference = delta_compare_costs(joint_of(), PROBLEM).difference("a", "b")
    smallest = minimal_detectable_difference(difference, level=0.95, power=0.8)
    needed = cases_to_detect(
        difference, 400, difference=smallest * 1.0000001, level=0.95, power=0.8
    )
    assert float(needed) == 400
    width = float(difference.interval(0.95).width)
    assert float(
        cases_for_half_width(difference, 400, half_width=width / 2.000001, level=0.95)
    ) in (
        400,
        401,
    )
    assert float(cases_for_half_width(difference, 400, half_width=width / 4, level=0.95)) in (
        1600,
        1601,
    )


def test_a_difference_of_the_minimal_size_is_found_with_the_stated_power():
    estimate = Estimate(0.0, 0.03, np.empty(0), Normal(), "")
    smallest = float(minimal_detectable_difference(estimate, level=0.95, power=0.8))
    draws = generator().normal(smallest, 0.03, 100_000)
    assert np.mean(np.abs(draws) > 1.959964 * 0.03) == pytest.approx(0.8, abs=0.006)


def test_planning_refuses_a_difference_of_nothing():
    estimate = Estimate(0.0, 0.03, np.empty(0), Normal(), "")
    with pytest.raises(InputError, match="difference must be above zero"):
        cases_to_detect(estimate, 100, difference=0.0, level=0.95, power=0.8)
    with pytest.raises(InputError, match="half_width must be above zero"):
        cases_for_half_width(estimate, 100, half_width=-1.0, level=0.95)
    with pytest.raises(InputError, match=r"power must lie strictly between 0 and 1; got 1\. 0\.8"):
        minimal_detectable_difference(estimate, level=0.95, power=1.0)
    with pytest.raises(InputError, match=r"level must lie strictly between 0 and 1; got 0\. 0\.95"):
        minimal_detectable_difference(estimate, level=0.0, power=0.8)
    for nothing in (0, -5, [100, 0]):
        with pytest.raises(InputError, match="n_cases must be above zero"):
            cases_to_detect(estimate, nothing, difference=1.0, level=0.95, power=0.8)
        with pytest.raises(InputError, match="n_cases must be above zero"):
            cases_for_half_width(estimate, nothing, half_width=1.0, level=0.95)


# Deployment --------------------------------------------------------------------------------------

COUNTS = Counts([[2680, 72], [23, 28]])
KNOWN = Problem.binary(false_alarm=1, miss=20, prior=[0.98, 0.02])


def test_a_single_problem_is_the_plain_bootstrap():
    estimate = bootstrap_problems(
        expected_cost, COUNTS, [KNOWN], replicates=100, rng=generator(), scheme=WithinClasses()
    )
    plain = bootstrap(
        lambda c: expected_cost(c, KNOWN),
        COUNTS,
        replicates=100,
        rng=generator(),
        scheme=WithinClasses(),
    )
    np.testing.assert_array_equal(estimate.replicates, plain.replicates)
    assert "1 problem)" in str(estimate)


def test_uncertain_priors_and_costs_widen_the_interval_as_variances_add():
    rng = generator()
    belief = Dirichlet([196, 4])
    sampler = lambda rng, size: KNOWN.costs * rng.uniform(0.8, 1.2, (size, 1, 1))  # noqa: E731
    problems = uncertain_problems(KNOWN, draws=4000, rng=rng, prior=belief, costs=sampler)
    estimate = bootstrap_problems(
        expected_cost, COUNTS, problems, replicates=4000, rng=rng, scheme=WithinClasses()
    )
    alarms, misses = 72 / 2752, 23 / 51
    per_class = np.array([alarms, 20 * misses])
    shares = np.array([0.98, 0.02])
    spread = (np.diag(shares) - np.outer(shares, shares)) / 201
    of_prior = per_class @ spread @ per_class
    of_sample = float(delta_expected_cost(COUNTS, KNOWN).standard_error) ** 2
    of_costs = (per_class @ shares) ** 2 * 0.4**2 / 12
    whole = np.sqrt(of_prior + of_sample + of_costs)
    assert float(estimate.value) == pytest.approx(float(per_class @ shares), rel=0.03)
    assert float(estimate.standard_error) == pytest.approx(whole, rel=0.08)
    assert float(estimate.value) == pytest.approx(
        float(np.mean([expected_cost(COUNTS, problem) for problem in problems]))
    )


def test_each_replicate_meets_its_problem_in_turn(monkeypatch):
    costly = Problem.binary(false_alarm=1, miss=20, prior=[0.0, 1.0])
    free = Problem.binary(false_alarm=0, miss=0, prior=[0.5, 0.5])
    estimate = bootstrap_problems(
        expected_cost, COUNTS, [costly, free], replicates=7, rng=generator(), scheme=WithinClasses()
    )
    assert (estimate.replicates[1::2] == 0).all()
    assert (estimate.replicates[0::2] > 0).all()
    monkeypatch.setattr(sys.modules["stakes.inference.comparison"], "_BLOCK", 3 * 4)
    blocks = bootstrap_problems(
        expected_cost, COUNTS, [costly, free], replicates=7, rng=generator(), scheme=AllCases()
    )
    assert (blocks.replicates[1::2] == 0).all()
    assert (blocks.replicates[0::2] > 0).all()


def slow_comparison(
    joint: JointCounts, problems: Sequence[Problem], replicates: int, rng: np.random.Generator
) -> np.ndarray:
    """Each replicate under its problem, model by model, cell by cell."""
    drawn = resample(joint, WithinClasses(), replicates=replicates, rng=rng)
    costs = np.zeros((replicates, len(joint.models)))
    for r in range(replicates):
        problem = problems[r % len(problems)]
        assert problem.prior is not None
        sizes = np.zeros(2)
        for cell, weight in zip(joint.cells, drawn.weights[r], strict=True):
            sizes[cell[0]] += weight
        for cell, weight in zip(joint.cells, drawn.weights[r], strict=True):
            for j, decision in enumerate(cell[1:]):
                share = weight / sizes[cell[0]] * problem.prior[cell[0]]
                costs[r, j] += share * problem.costs[cell[0], decision]
    return costs


def test_models_are_compared_under_uncertain_priors_and_costs():
    stated = PROBLEM.with_prior([0.9, 0.1])
    sampler = lambda rng, size: PROBLEM.costs * rng.uniform(0.5, 1.5, (size, 2, 3))  # noqa: E731
    problems = uncertain_problems(
        stated, draws=40, rng=generator(3), prior=Dirichlet([18, 2]), costs=sampler
    )
    joint = joint_of(models=3)
    comparison = compare_problems(joint, problems, replicates=100, rng=generator())
    twin = slow_comparison(joint, problems, 100, generator())
    np.testing.assert_allclose(comparison.replicates, twin)
    assert comparison.names == joint.models
    means = [
        float(np.mean([expected_cost(joint.model(m), problem) for problem in problems]))
        for m in joint.models
    ]
    np.testing.assert_allclose(comparison.values, means)
    gap = comparison.difference("a", "b")
    np.testing.assert_allclose(gap.replicates, twin[:, 0] - twin[:, 1])
    assert float(gap.value) == pytest.approx(means[0] - means[1])
    wins = np.bincount(twin.argmin(axis=1), minlength=3) / 100
    np.testing.assert_allclose(comparison.probability_lowest(), wins)
    assert "40 problems" in str(comparison)


def test_uncertain_costs_make_the_cheapest_model_less_sure():
    """One model has the false alarms, the other the misses: the ratio of costs decides."""
    y = np.repeat([0, 1], 500)
    alarms, misses = (np.where(y == k, np.arange(1000) % 5 == 0, False) for k in (0, 1))
    decided = {"bold": np.where(alarms, 1, y), "shy": np.where(misses, 0, y)}
    known = Problem.binary(false_alarm=1, miss=1.4, prior=[0.5, 0.5])
    joint = JointCounts.from_decisions(y, decided, known)
    sampler = lambda rng, size: (  # noqa: E731
        known.costs * np.array([1.0, 1.0]) * rng.uniform(0.2, 1.8, (size, 2, 1))
    )
    problems = uncertain_problems(known, draws=2000, rng=generator(), costs=sampler)
    sure = compare_costs(joint, known, replicates=2000, rng=generator())
    unsure = compare_problems(joint, problems, replicates=2000, rng=generator())
    assert sure.probability_lowest()[0] > 0.95
    assert 0.55 < unsure.probability_lowest()[0] < 0.85
    widths = [float(c.difference("bold", "shy").interval(0.95).width) for c in (sure, unsure)]
    assert widths[1] > 3 * widths[0]


def test_one_known_problem_compares_as_compare_costs_does():
    for problem in (PROBLEM, PROBLEM.with_prior([0.9, 0.1])):
        plain = compare_costs(joint_of(), problem, replicates=60, rng=generator())
        comparison = compare_problems(joint_of(), [problem], replicates=60, rng=generator())
        np.testing.assert_allclose(comparison.replicates, plain.replicates)
        np.testing.assert_allclose(comparison.values, plain.values)
    unit = generator(9).integers(0, 25, 400)
    how: Any = {"replicates": 60, "scheme": Clusters()}
    units = compare_problems(joint_of(by=unit), [PROBLEM], rng=generator(), **how)
    plain = compare_costs(joint_of(by=unit), PROBLEM, rng=generator(), **how)
    gap, twin = (comparison.difference("a", "b") for comparison in (units, plain))
    assert isinstance(gap.intervals, ExpandedPercentile)
    assert gap.intervals.influence.shape == (25,)
    assert gap.interval(0.9) == twin.interval(0.9)
    for wrong in (PROBLEM, [], [PROBLEM, 3]):
        with pytest.raises(InputError, match=r"at least one Problem.*uncertain_problems"):
            compare_problems(joint_of(), wrong, replicates=5, rng=generator())  # type: ignore[arg-type]


def test_samplers_of_the_wrong_shape_are_refused():
    with pytest.raises(InputError, match="prior must draw an array of shape"):
        uncertain_problems(KNOWN, draws=5, rng=generator(), prior=lambda rng, n: rng.random(n))
    with pytest.raises(InputError, match="costs must draw an array of shape"):
        uncertain_problems(KNOWN, draws=5, rng=generator(), costs=lambda rng, n: KNOWN.costs)
    with pytest.raises(InputError, match="above zero for every class"):
        Dirichlet([3, 0])
    with pytest.raises(InputError, match="at least one Problem"):
        bootstrap_problems(
            expected_cost, COUNTS, [], replicates=5, rng=generator(), scheme=AllCases()
        )
    stated = uncertain_problems(KNOWN, draws=2, rng=generator())
    assert stated[0] == KNOWN
    assert Dirichlet([3, 1]) == Dirichlet([3.0, 1.0])


# Slices ------------------------------------------------------------------------------------------


def test_slices_hold_the_numbers_of_each_group_and_mark_the_small_ones():
    y, decided = decisions(500)
    group = np.array(["big"] * 480 + ["tiny"] * 20)
    counts = Counts.from_decisions(y, decided["a"], PROBLEM, by=group)
    estimate = delta_expected_cost(counts, PROBLEM)
    parts = slices(estimate, counts, smallest=30)
    assert parts.groups == ("big", "tiny")
    assert parts.notes[0] == ""
    assert "few cases (" in parts.notes[1]
    columns = parts.columns(0.95)
    assert columns["cases"] == [480, 20]
    alone = delta_expected_cost(counts.group("tiny"), PROBLEM)
    assert columns["value"][1] == pytest.approx(float(alone.value))
    assert columns["low"][1] == pytest.approx(float(alone.interval(0.95).low))
    assert "tiny" in str(parts)


def test_slices_mention_undefined_replicates():
    counts = Counts([[[30, 5], [2, 1]], [[30, 5], [20, 9]]])
    hit = lambda c: c.values[..., 1, 1] / c.values[..., 1, :].sum(axis=-1)  # noqa: E731
    with np.errstate(invalid="ignore"):
        estimate = bootstrap(hit, counts, replicates=400, rng=generator())
    parts = slices(estimate, counts, smallest=1)
    assert "of 400 replicates undefined" in parts.notes[0]
    assert parts.notes[1] == ""
    assert parts.groups == (0, 1)


def test_slices_of_paired_differences():
    group = np.array(["x", "y"])[generator(3).integers(0, 2, 400)]
    joint = joint_of(by=group)
    gap = lambda j: expected_cost(j.model("a"), PROBLEM) - expected_cost(j.model("b"), PROBLEM)  # noqa: E731
    estimate = bootstrap(gap, joint, replicates=300, rng=generator())
    parts = slices(estimate, joint, smallest=10)
    assert parts.groups == ("x", "y")
    np.testing.assert_allclose(joint.class_weights.sum(), 400)
    with pytest.raises(InputError, match="one axis of groups"):
        slices(estimate, joint_of(), smallest=10)


def test_ties_that_rounding_splits_are_ties():
    """Two models that mirror each other: 0.1 + 0.2 is above 0.3 by rounding alone."""
    problem = Problem([[0.1, 0.2, 0.3], [0, 0, 0]])
    joint = JointCounts.from_decisions([0] * 3, {"a": [0, 1, 2], "b": [2, 1, 0]}, problem)
    rng = np.random.default_rng(0)
    compared = compare_costs(joint, problem, replicates=4000, rng=rng)
    assert compared.lowest == "a"
    assert compared.probability_lowest() == pytest.approx([0.5, 0.5], abs=0.03)


@pytest.mark.parametrize("offset", [0.0, 1e7, 1e10])
def test_an_offset_of_all_costs_leaves_every_error_as_it_is(offset):
    costs = np.array([[0, 1], [5, 0.0]])
    y = [0] * 70 + [1] * 30
    decided = [0] * 60 + [1] * 10 + [0] * 12 + [1] * 18
    joint = JointCounts.from_decisions(y, {"m": decided, "n": y}, Problem(costs))
    moved = delta_compare_costs(joint, Problem(costs + offset))
    plain = delta_compare_costs(joint, Problem(costs))
    assert moved.covariance == pytest.approx(plain.covariance, rel=1e-5)
    assert moved.values - offset == pytest.approx(plain.values, abs=1e-5)


# What is refused in words ------------------------------------------------------------------------


def test_samplers_that_are_no_functions_are_refused():
    for name in ("prior", "costs"):
        how: Any = {"draws": 5, "rng": generator(), name: [0.5, 0.5]}
        with pytest.raises(InputError, match=rf"{name} must be a sampler.*got list.*Dirichlet"):
            uncertain_problems(KNOWN, **how)
    with pytest.raises(InputError, match=r"draws must be one real number within \[2, "):
        uncertain_problems(KNOWN, draws=1, rng=generator())


def test_corrections_refuse_what_makes_no_pairs():
    comparison = compare_costs(joint_of(), PROBLEM, replicates=50, rng=generator())
    for wrong in (("a", "b"), "ab", [], [("a",)], 3):
        with pytest.raises(InputError, match="pairs must be a list of pairs of models"):
            max_t(comparison, level=0.9, pairs=wrong)  # type: ignore[arg-type]
    single = compare_costs(joint_of(models=1), PROBLEM, replicates=50, rng=generator())
    for correct in (max_t, holm_pairs):
        with pytest.raises(InputError, match=r"at least two models; it holds \('a',\)"):
            correct(single, level=0.9)
    pairs = max_t(comparison, level=0.9)
    assert pairs.method == "max-T over 1 pair, 50 bootstrap replicates of all cases"
    with pytest.raises(InputError, match="p_values"):
        holm("x")


def test_names_are_a_list_and_not_a_text():
    areas = lambda j: cost_moments(j, PROBLEM).mean()  # noqa: E731
    with pytest.raises(InputError, match=r"names must be a list of labels.*the text 'ab'"):
        compare(areas, joint_of(), "ab", replicates=5, rng=generator())


def test_siblings_choose_their_scheme_alike():
    joint = joint_of()
    how: Any = {"replicates": 30}
    costs = lambda j: cost_moments(j, PROBLEM).mean()  # noqa: E731
    first = compare(costs, joint, joint.models, rng=generator(), **how)
    second = compare(costs, joint, joint.models, rng=generator(), scheme=AllCases(), **how)
    assert first == second
    for problem, scheme in ((PROBLEM, AllCases()), (PROBLEM.with_prior([0.9, 0.1]), None)):
        chosen = WithinClasses() if scheme is None else scheme
        chosen_by_default, twin = (
            bootstrap_problems(
                expected_cost, joint.model("a"), [problem], rng=generator(), scheme=scheme, **how
            )
            for scheme in (None, chosen)
        )
        assert chosen_by_default == twin
