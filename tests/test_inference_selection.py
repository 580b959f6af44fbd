"""Contenders and winner: what can be said about the cheapest of several systems."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats

from few_examples import at_most
from stakes import Decisions, InputError, JointCounts, Problem, evaluate
from stakes._check import FloatArray
from stakes.inference import (
    Contenders,
    Measured,
    contenders,
    cost_errors,
    fitting_covariance,
    probability_cheapest,
    refit_covariance,
    selection_effect,
    system_costs,
    with_blind,
)
from stakes.inference.estimate import chi_square_tail, fixed_normals, fixed_uniforms
from stakes.inference.profile import profile_interval
from stakes.inference.sampling import CostErrors
from stakes.inference.selection import (
    MaxLaw,
    _chosen_again,
    _errors,
    _kept,
    _rivals,
    _widened,
    bonferroni_law,
    canonical_order,
    first_quantiles,
    max_law,
)

PROBLEM = Problem([[0, 3, 25], [180, 8, 0]])
PRIOR = PROBLEM.with_prior([0.97, 0.03])


def rows(n: int, skills: list[float], seed: int, rare: float = 0.3) -> tuple[Any, dict[str, Any]]:
    """Classes and decisions of systems that go by noisy scores; more skill is better."""
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < rare).astype(int)
    y[:2] = 0, 1
    shared = rng.standard_normal(n)
    decided = {}
    for place, skill in enumerate(skills):
        score = skill * y + 0.6 * shared + 0.8 * rng.standard_normal(n)
        decided[f"system {place}"] = (score > 0.2).astype(int) + (score > 0.9)
    return y, decided


def tally(
    n: int = 150, skills: tuple[float, ...] = (1.5, 1.2, 0.8, 0.1), seed: int = 0, **how: Any
) -> JointCounts:
    y, decided = rows(n, list(skills), seed)
    return JointCounts.from_decisions(y, decided, PROBLEM, **how)


@st.composite
def samples(draw: st.DrawFn) -> tuple[JointCounts, Problem, dict[str, Any]]:
    """Few or many cases, systems and clusters, weights, a prior or none, and systems that tie."""
    n, seed = draw(st.integers(8, 120)), draw(st.integers(0, 10**6))
    skills = draw(st.lists(st.sampled_from([0.0, 0.5, 1.0, 1.5, 4.0]), min_size=1, max_size=5))
    y, decided = rows(n, skills, seed)
    if draw(st.booleans()):
        decided["twin"] = decided["system 0"]
    problem = draw(st.sampled_from([PROBLEM, PRIOR]))
    rng = np.random.default_rng(seed)
    kind = draw(st.sampled_from(["cases", "weights", "clusters", "many clusters"]))
    if kind == "weights":
        weights = np.exp(rng.standard_normal(n))
        squares = JointCounts.from_decisions(y, decided, problem, weights=weights**2).weights
        joint = JointCounts.from_decisions(y, decided, problem, weights=weights)
        return joint, problem, {"squares": squares}
    groups = {"cases": None, "clusters": rng.integers(0, 5, n), "many clusters": np.arange(n) // 2}
    return JointCounts.from_decisions(y, decided, problem, by=groups[kind]), problem, {}


# Costs of systems --------------------------------------------------------------------------------


@pytest.mark.parametrize("prior", [None, [0.6, 0.4]])
@pytest.mark.parametrize("clusters", [None, np.arange(150) // 3])
def test_the_report_prints_what_the_library_says_about_the_same_tally(prior, clusters):
    y, decided = rows(150, [6.0, 5.5, 3.0, 0.1], 0)
    problem = PROBLEM.with_prior(prior)
    report = evaluate(y, {k: Decisions(v) for k, v in decided.items()}, problem, clusters=clusters)
    named = {f"{name} (as decided)": codes for name, codes in decided.items()}
    joint = JointCounts.from_decisions(y, named, problem, clusters=clusters)
    costs = system_costs(joint, problem)
    for system in report.systems:
        assert costs.cost(system.name) == system.cost
        assert costs.normalized(system.name) == system.normalized
        assert costs.chances[system.name] == system.probability_cheapest
    best = report.verdict.cheapest
    assert best is not None
    assert (costs.cheapest, costs.contenders) == (best, report.verdict.contenders)
    assert costs.unaided == report.verdict.unaided
    assert costs.expected(best) == report.verdict.cost
    assert costs.expected_saving(best) == report.verdict.saving_over_naive
    assert costs.expected_normalized(best) == report.verdict.normalized


def test_systems_are_compared_with_the_cheapest_of_the_constant_decisions_that_may_be_taken():
    joint = tally()
    costs = system_costs(joint, PROBLEM)
    allowed = [d for d in PROBLEM.decisions if f"always {d}" != costs.unaided]
    other = system_costs(joint, PROBLEM, constant=allowed)
    assert other.unaided in {f"always {d}" for d in allowed}
    assert (
        other.unaided_cost
        == min(other.base + other._value(f"always {d}") for d in allowed)
        > costs.unaided_cost
    )
    assert system_costs(joint, PROBLEM, constant=[]).unaided == costs.unaided
    with pytest.raises(InputError, match="constant must be one of the labels"):
        system_costs(joint, PROBLEM, constant=["nothing"])


# Contenders --------------------------------------------------------------------------------------


@given(samples(), st.sampled_from([0.5, 0.8, 0.95, 0.99]))
def test_clearly_cheapest_one_contender_intervals_without_zero_and_small_p_are_one_statement(
    sample, level
):
    joint, problem, how = sample
    choice = contenders(joint, problem, level=level, **how)
    others = np.arange(len(choice.names)) != choice.cheapest
    is_clear = len(choice.contenders) == 1
    assert choice.clear == is_clear
    assert is_clear == bool((choice.low[others] > 0).all())
    assert is_clear == (choice.p_value < 1 - level)
    for place in np.flatnonzero(others):  # and so for every system
        stays = choice.names[place] in choice.contenders
        assert stays == (choice.p_values[place] >= 1 - level) == (choice.low[place] <= 0)
    assert choice.names[choice.cheapest] == choice.contenders[0]
    assert (choice.low <= choice.differences + 1e-9).all()
    assert (choice.differences <= choice.high + 1e-9).all()


@at_most(25)
@given(samples(), st.randoms(use_true_random=False))
def test_the_order_of_the_systems_does_not_matter(sample, random):
    joint, problem, how = sample
    names = list(joint.models)
    random.shuffle(names)
    choice = contenders(joint, problem, level=0.95, **how)
    other = contenders(joint, problem, level=0.95, among=names, **how)
    assert set(choice.contenders) == set(other.contenders)
    back = [other.names.index(name) for name in choice.names]
    np.testing.assert_allclose(choice.p_values, other.p_values[back], rtol=0.03, atol=1e-6)
    first, second = selection_effect(choice), selection_effect(other)
    se = np.sqrt(np.nan_to_num(np.diagonal(choice.errors.covariance)).max())
    assert abs(first.bias - second.bias) <= 0.03 * se
    assert abs(first.reach - second.reach) <= 0.1 * se


@at_most(25)
@given(samples())
def test_systems_that_decide_alike_stay_together(sample):
    joint, problem, how = sample
    choice = contenders(joint, problem, level=0.9, **how)
    if "twin" in joint.models:
        assert ("twin" in choice.contenders) == ("system 0" in choice.contenders)
        p = dict(zip(choice.names, choice.p_values, strict=True))
        assert p["twin"] == pytest.approx(p["system 0"])
        without = contenders(
            joint, problem, level=0.9, among=[n for n in joint.models if n != "twin"], **how
        )
        assert set(choice.contenders) - {"twin"} == set(without.contenders)


@at_most(25)
@given(samples(), st.sampled_from([0.01, 3.0, 1000.0]), st.sampled_from([-5.0, 0.0, 40.0]))
def test_costs_in_another_currency_change_nothing_but_the_numbers(sample, factor, shift):
    joint, problem, how = sample
    other = Problem(factor * problem.costs + shift, prior=problem.prior)
    choice = contenders(joint, problem, level=0.95, **how)
    two = contenders(joint, other, level=0.95, **how)
    assert choice.contenders == two.contenders
    np.testing.assert_allclose(choice.p_values, two.p_values, rtol=1e-5, atol=1e-9)
    np.testing.assert_allclose(factor * choice.high, two.high, rtol=1e-6, atol=1e-7 * factor)
    first, second = selection_effect(choice), selection_effect(two)
    assert second.bias == pytest.approx(factor * first.bias, rel=1e-5, abs=1e-9 * factor)
    assert second.reach == pytest.approx(factor * first.reach, rel=1e-5, abs=1e-9 * factor)


def test_a_hopeless_system_changes_little():
    y, decided = rows(300, [1.5, 1.3, 1.1], 3)
    decided["hopeless"] = 2 - 2 * y
    joint = JointCounts.from_decisions(y, decided, PROBLEM)
    three = list(joint.models[:3])
    with_it, without = (
        contenders(joint, PROBLEM, level=0.95, among=names) for names in (None, three)
    )
    assert with_it.contenders == without.contenders
    assert (with_it.p_values[:3] >= without.p_values - 0.01).all()
    assert (with_it.p_values[:3] <= 2 * without.p_values + 0.01).all()
    assert selection_effect(with_it) == selection_effect(without)
    assert probability_cheapest(with_it)[:3] == pytest.approx(probability_cheapest(without))


def test_two_systems_are_compared_by_the_plain_interval_of_their_difference():
    joint = tally(skills=(1.5, 1.1))
    for problem in (PROBLEM, PRIOR):
        choice = contenders(joint, problem, level=0.9)
        first, second = 1 - choice.cheapest, choice.cheapest
        pair = JointCounts(
            joint.cells[:, [0, 1 + first, 1 + second]], joint.weights, ["a", "b"], (0, 1), (0, 1, 2)
        )
        ends = profile_interval(pair, problem, 0.9)
        assert choice.critical == pytest.approx(stats.norm.ppf(0.95))
        assert choice.low[first] == pytest.approx(float(ends.low))
        assert choice.high[first] == pytest.approx(float(ends.high))


def test_the_critical_value_is_the_quantile_of_the_largest_standardised_difference():
    """Against plain random numbers: 40,000 draws know a p-value of 0.05 to ± 0.0022 (2 se)."""
    joint = tally(400, skills=(1.5, 1.4, 1.2, 1.0, 0.5))
    choice = contenders(joint, PROBLEM, level=0.95)
    errors = choice.errors
    rng = np.random.default_rng(0)
    drawn = rng.multivariate_normal(np.zeros(5), errors.covariance, size=40_000)
    for i in range(5):
        largest = np.zeros(len(drawn))
        for k in range(5):
            if k != i:
                variance = (
                    errors.covariance[i, i] + errors.covariance[k, k] - 2 * errors.covariance[i, k]
                )
                largest = np.maximum(largest, np.abs(drawn[:, i] - drawn[:, k]) / variance**0.5)
        assert np.mean(largest > choice.critical[i]) == pytest.approx(0.05, abs=0.005)


def test_fewer_than_thirty_clusters_are_corrected_by_bonferroni_with_student():
    rng = np.random.default_rng(1)
    joint = tally(120, by=rng.integers(0, 6, 120))
    choice = contenders(joint, PROBLEM, level=0.95)
    assert choice.errors.degrees == 5
    assert choice.critical == pytest.approx(stats.t.ppf(1 - 0.025 / 3, 5))
    pair = contenders(joint, PROBLEM, level=0.95, among=["system 0", "system 3"])
    assert pair.critical == pytest.approx(stats.t.ppf(0.975, 5))


@pytest.mark.parametrize(("clusters", "few"), [(29, True), (30, False)])
def test_thirty_clusters_are_enough_to_know_how_errors_go_together(clusters, few):
    skills = 1.25, 1.2, 0.8, 0.1
    joint = tally(1200, skills, by=np.arange(1200) % clusters)  # each of which has every class
    choice = contenders(joint, PROBLEM, level=0.95)
    assert choice.errors.degrees == clusters - 1
    bonferroni = stats.t.ppf(1 - 0.025 / 3, clusters - 1)
    assert (choice.critical.min() == pytest.approx(bonferroni)) == few
    assert choice.critical.max() <= bonferroni * (1 + 1e-9)
    names = ["system 0", "system 1"]
    pair = contenders(joint, PROBLEM, level=0.95, among=names)
    chances = probability_cheapest(pair)[[pair.names.index(name) for name in names]]
    t = np.diff(pair.costs) / standard_error(pair, 1 - pair.cheapest)
    assert (chances[0] == pytest.approx(stats.t.cdf(t, clusters - 1))) == few


def test_one_cluster_says_nothing_about_the_others():
    joint = tally(by=np.zeros(150, int))
    spread = np.ptp(PROBLEM.costs, axis=1)  # of both problems
    for problem, reach in ((PROBLEM, spread.max()), (PRIOR, PRIOR.prior @ spread)):
        choice = contenders(joint, problem, level=0.5)
        assert set(choice.contenders) == set(choice.names)
        assert selection_effect(choice).bias == 0.0
        others = np.arange(len(choice.names)) != choice.cheapest
        assert choice.high == pytest.approx(others * reach)
        assert choice.low == pytest.approx(-1 * others * reach)


def test_blind_decisions_of_a_stated_prior_are_known_exactly():
    joint, reachable = with_blind(tally(), PRIOR)
    blind = list(joint.models[-3:])
    assert blind == ["always 0", "always 1", "always 2"]
    choice = contenders(joint, PRIOR, level=0.95, among=blind, reachable=reachable)
    assert choice.costs == pytest.approx(np.asarray(PRIOR.prior) @ PRIOR.costs)
    assert choice.contenders == ("always 1",)
    assert choice.p_value == 0.0
    assert choice.low == pytest.approx(choice.differences)
    assert choice.high == pytest.approx(choice.differences)
    free = contenders(joint, PRIOR, level=0.95, among=blind)  # they might decide otherwise
    assert free.p_value > 0


def test_a_clear_best_is_the_only_contender_and_equal_systems_all_stay():
    clear = contenders(tally(400, skills=(4.0, 0.1, 0.0)), PROBLEM, level=0.95)
    assert clear.contenders == ("system 0",)
    assert clear.clear
    equal = contenders(tally(skills=(1.0, 1.0, 1.0), seed=5), PROBLEM, level=0.95)
    assert set(equal.contenders) == set(equal.names)
    assert not equal.clear
    level = 1 - equal.p_value * 1.001  # low enough for one to stay alone
    assert len(equal.at(max(level, 0.01))) < 3
    assert "contender" in str(equal)


def test_a_class_without_cases_leaves_all_systems_in():
    joint = JointCounts.from_decisions([0, 0, 0], {"a": [0, 1, 0], "b": [2, 2, 2]}, PRIOR)
    choice = contenders(joint, PRIOR, level=0.95)
    assert choice.cheapest == -1
    assert choice.p_value == 1.0
    assert not choice.clear
    assert set(choice.contenders) == {"a", "b"}
    assert np.isnan(probability_cheapest(choice)).all()


# Their parts -------------------------------------------------------------------------------------


def test_degrees_of_freedom_are_those_of_differences_to_what_is_cheapest_with_its_running_costs():
    """Two systems differ in the rare class alone, which 3 of 12 clusters hold; a third in both."""
    clusters, place = np.repeat(np.arange(12), 20), np.tile(np.arange(20), 12)
    y = ((clusters < 3) & (place % 4 == 0)).astype(int)
    missed, alarmed = (y == 1) & (place < 4 * clusters), (y == 0) & (place < clusters)
    decided = {"plain": y, "misses": y ^ missed, "alarms": y ^ alarmed}
    problem = Problem.zero_one(2).with_prior([0.9, 0.1])
    joint = JointCounts.from_decisions(y, decided, problem, clusters=clusters)

    def degrees(added):
        return contenders(joint, problem, added=added).errors.degrees

    assert degrees([0.0, 0.0, 0.0]) == pytest.approx(2)  # "misses" against "plain"
    assert degrees([0.5, 0.5, 0.0]) > 10  # both against "alarms", which is the cheapest now
    assert degrees([0.5, 0.5, 0.0]) == degrees(np.array([0.5, 0.5, 0.0]) + 3)


@pytest.mark.parametrize("problem", [PROBLEM, PRIOR])
@pytest.mark.parametrize("kind", ["cases", "weights", "clusters"])
def test_costs_and_covariance_are_those_of_plain_loops(problem, kind):
    y, decided = rows(90, [1.5, 0.7, 0.2], 4)
    rng = np.random.default_rng(2)
    weights = np.exp(rng.standard_normal(90)) if kind != "cases" else np.ones(90)
    by = rng.integers(0, 7, 90) if kind == "clusters" else None
    joint = JointCounts.from_decisions(y, decided, problem, weights=weights, by=by)
    squares = JointCounts.from_decisions(y, decided, problem, weights=weights**2).weights
    errors = cost_errors(joint, problem, squares=squares if kind == "weights" else None)
    losses = np.array([problem.costs[y, d] for d in decided.values()]).T
    parts = [np.ones(90, bool)] if problem.prior is None else [y == 0, y == 1]
    shares = [1.0] if problem.prior is None else problem.prior
    costs, pull, cov = np.zeros(3), np.zeros((90, 3)), np.zeros((3, 3))
    for part, share in zip(parts, shares, strict=True):
        w = weights[part]
        mean = (w[:, None] * losses[part]).sum(axis=0) / w.sum()
        costs += share * mean
        pull[part] = share * w[:, None] * (losses[part] - mean) / w.sum()
        n = w.sum() ** 2 / (w**2).sum()
        for row in pull[part]:
            cov += n / (n - 1) * np.outer(row, row)
    if kind == "clusters":
        cov = np.zeros((3, 3))
        for g in range(7):
            total = np.zeros(3)
            for part in parts:
                mine = part & (by == g)
                total += pull[mine].sum(axis=0) / (1 - weights[mine].sum() / weights[part].sum())
            cov += 6 / 7 * np.outer(total, total)
    np.testing.assert_allclose(errors.costs, costs)
    np.testing.assert_allclose(errors.covariance, cov)


@pytest.mark.parametrize("prior", [None, (0.6, 0.4)])
@pytest.mark.parametrize("how", [{}, {"clusters": np.arange(90) % 7}], ids=["cases", "clusters"])
def test_an_amount_that_all_costs_share_does_not_change_their_errors(how, prior):
    """Amounts and costs are multiples of powers of two, so that their sums are exact."""
    y, decided = rows(90, [1.5, 0.8], 4)
    joint = JointCounts.from_decisions(y, decided, PROBLEM, **how)
    plain = cost_errors(joint, PROBLEM.with_prior(prior))
    for amount in (2.0**50, -(2.0**50)):
        moved = Problem(PROBLEM.costs + amount, prior=prior)
        np.testing.assert_allclose(
            cost_errors(joint, moved).covariance, plain.covariance, rtol=1e-13, atol=0
        )
        np.testing.assert_allclose(cost_errors(joint, moved).costs, plain.costs + amount)
    if prior is not None:  # each class may share an amount of its own
        moved = Problem(PROBLEM.costs + np.array([[2.0**50], [-(2.0**40)]]), prior=prior)
        np.testing.assert_allclose(
            cost_errors(joint, moved).covariance, plain.covariance, rtol=1e-13, atol=0
        )


def test_the_fixed_normals_are_evenly_spread_and_read_only():
    points = fixed_normals(2048, 5)
    assert np.abs(points.mean(axis=0)).max() < 0.005
    assert np.abs(np.cov(points.T) - np.eye(5)).max() < 0.02
    assert fixed_uniforms(3, 1).ravel() == pytest.approx(
        [abs(2 * ((r * 2**0.5) % 1) - 1) for r in (1, 2, 3)]
    )
    with pytest.raises(ValueError, match="read-only"):
        points[0, 0] = 0.0


def test_what_fitting_adds_is_three_times_the_covariance_of_partitions_and_widens_everything():
    costs = np.array([[1.0, 2.0, 1.5], [1.2, 2.0, 1.7], [1.4, 2.0, 1.9]])
    covariance = fitting_covariance(costs)
    expected = np.array([[0.12, 0.0, 0.12], [0.0, 0.0, 0.0], [0.12, 0.0, 0.12]])
    np.testing.assert_allclose(covariance, expected, atol=1e-12)
    joint = tally(400, skills=(1.6, 1.2, 0.8))
    plain = contenders(joint, PROBLEM, level=0.95)
    extra = np.diag(np.array([0.0, 3.0, 0.0]) * np.diagonal(plain.errors.covariance))
    unsure = contenders(joint, PROBLEM, level=0.95, fitting=extra)
    np.testing.assert_allclose(unsure.costs, plain.costs)
    place = 1 if plain.cheapest != 1 else 0
    assert unsure.p_values[place] > plain.p_values[place]
    assert unsure.low[place] < plain.low[place]
    assert unsure.high[place] > plain.high[place]
    base = int(plain.cheapest)
    assert unsure.errors.added[base] == pytest.approx(
        np.where(np.arange(3) == base, 0.0, extra[base, base] + np.diagonal(extra))
    )
    with pytest.raises(InputError, match="fitting must hold covariances of the 3 systems"):
        contenders(joint, PROBLEM, level=0.95, fitting=np.zeros((2, 2)))
    with pytest.raises(InputError, match="two partitions at least"):
        fitting_covariance(np.zeros((1, 2)))


def test_fits_of_folds_add_the_variance_of_their_mean():
    """Plain loops over pairs of fits, each pair on the cases of its two folds."""
    rng = np.random.default_rng(4)
    weights, costs = np.array([30.0, 20.0, 25.0, 0.0]), rng.random((4, 4, 3))
    expected, pairs = np.zeros((3, 3)), 0
    for k in range(4):
        for m in range(k):
            gaps = [weights[fold] * (costs[k, fold] - costs[m, fold]) for fold in (k, m)]
            gap = np.sum(gaps, axis=0) / (weights[k] + weights[m])
            expected += np.outer(gap, gap) / 2
            pairs += 1
    np.testing.assert_allclose(
        refit_covariance(costs * weights[:, None], weights), expected / pairs / 4, rtol=1e-12
    )
    alike = np.broadcast_to(costs[0], costs.shape)  # all fits are the same
    np.testing.assert_allclose(refit_covariance(alike, weights), 0.0, atol=1e-30)


@pytest.mark.parametrize("shape", [(1, 1, 2), (2, 3, 2)])
def test_every_fit_must_be_measured_on_every_fold(shape):
    with pytest.raises(InputError, match=r"^sums must hold those of each of K fits on each of K"):
        refit_covariance(np.zeros(shape), np.ones(shape[0]))
    for weights in (np.ones(3), np.zeros(2)):
        with pytest.raises(InputError, match=r"^weights must hold those of the 2 folds, not all z"):
            refit_covariance(np.zeros((2, 2, 1)), weights)


def test_systems_that_are_fitted_alike_have_no_difference_and_share_what_they_win():
    joint = tally(400, skills=(1.6, 1.6, 0.8))
    cells = np.array(joint.cells)
    cells[:, 2] = cells[:, 1]
    alike = JointCounts(cells, joint.weights, joint.models, joint.classes, joint.decisions)
    costs = np.array([[1.0, 1.0, 2.0], [1.2, 1.2, 2.0], [1.4, 1.4, 2.0]])
    choice = contenders(alike, PROBLEM, level=0.95, fitting=fitting_covariance(costs))
    first, second = (name for name in choice.names if name != "system 2")
    assert {first, second} <= set(choice.contenders) or "system 2" in choice.contenders
    assert choice.differences[0] == choice.differences[1]
    chances = probability_cheapest(choice)
    assert chances[0] == pytest.approx(chances[1])


@given(samples(), st.sampled_from([0.5, 0.95]), st.sampled_from([1e-9, 1e-3, 1.0, 1e4]))
def test_the_statements_agree_and_stay_within_the_range_where_rules_were_fitted(
    sample, level, size
):
    joint, problem, how = sample
    rng = np.random.default_rng(0)
    fitting = fitting_covariance(np.sqrt(size) * rng.standard_normal((5, len(joint.models))))
    choice = contenders(joint, problem, level=level, fitting=fitting, **how)
    others = np.arange(len(choice.names)) != choice.cheapest
    for place in np.flatnonzero(others & ~np.isnan(choice.low)):
        stays = choice.names[place] in choice.contenders
        assert stays == (choice.p_values[place] >= 1 - level) == (choice.low[place] <= 0)
    low, high = problem.costs.min(axis=1), problem.costs.max(axis=1)
    span = high.max() - low.min() if problem.prior is None else problem.prior @ (high - low)
    assert not (choice.low[others] < -span - 1e-9).any()
    assert not (choice.high[others] > span + 1e-9).any()


def test_fitting_adds_its_own_error_where_hardly_a_case_distinguishes_two_systems():
    """One case of 400 differs. By the ratio of standard errors the interval would be 30 wide."""
    y = np.arange(400) % 2
    decided = {"a": y, "b": np.where(np.arange(400) == 0, 1, y)}
    joint = JointCounts.from_decisions(y, decided, Problem.zero_one(2))
    fitting = np.array([[0.0, 0.0], [0.0, 0.05**2]])
    plain, unsure = (
        contenders(joint, Problem.zero_one(2), level=0.95, fitting=extra)
        for extra in (None, fitting)
    )
    gap, more = plain.differences[1], 1.96 * 0.05
    assert unsure.high[1] - gap == pytest.approx(np.hypot(plain.high[1] - gap, more), rel=1e-3)
    assert gap - unsure.low[1] == pytest.approx(np.hypot(gap - plain.low[1], more), rel=1e-3)


def test_a_class_that_lies_in_one_cluster_says_nothing_about_the_cheapest():
    y = np.repeat([0, 1], 40)
    decided = {"a": y, "b": np.where(np.arange(80) % 4, y, 1 - y)}
    joint = JointCounts.from_decisions(y, decided, Problem.zero_one(2), by=y)
    choice = contenders(joint, Problem.zero_one(2).with_prior([0.5, 0.5]), level=0.95)
    assert choice.contenders == ("a", "b")
    assert np.isnan(probability_cheapest(choice)).all()
    assert selection_effect(choice).bias == 0.0


# The winner --------------------------------------------------------------------------------------


def slow_effect(choice: Contenders, level: float) -> tuple[float, float]:
    """Bias and reach by the formulas, in plain loops over random draws."""
    kept = [i for i, name in enumerate(choice.names) if name in choice.contenders]
    x = [float(choice.costs[i]) for i in kept]
    s = choice.errors.covariance[np.ix_(kept, kept)]
    mean = sum(x) / len(x)
    drawn = np.random.default_rng(3).multivariate_normal(np.zeros(len(x)), s, size=20_000)
    noise = np.mean([sum((d - row.mean()) ** 2 for d in row) for row in drawn])
    f = max(0.0, 1 - noise / sum((v - mean) ** 2 for v in x)) ** 0.5
    errors = []
    for row in drawn:
        z = [mean + f * (v - mean) + d for v, d in zip(x, row, strict=True)]
        errors.append(row[z.index(min(z))])
    se = choice.errors.covariance[choice.cheapest, choice.cheapest] ** 0.5
    tail = np.quantile(errors, (1 - level) / 2)
    return -float(np.mean(errors)), max(0.0, float(-tail - stats.norm.ppf((1 + level) / 2) * se))


@pytest.mark.parametrize("skills", [(1.5, 1.4, 1.3, 1.2, 1.0), (1.2,) * 6, (1.2, 1.1)])
def test_the_effect_of_the_choice_is_that_of_the_formulas(skills):
    choice = contenders(tally(200, skills=skills), PROBLEM, level=0.95)
    bias, reach = slow_effect(choice, 0.95)
    se = choice.errors.covariance[choice.cheapest, choice.cheapest] ** 0.5
    effect = selection_effect(choice)
    assert len(choice.contenders) > 1
    assert bias > 0.1 * se
    assert effect.bias == pytest.approx(bias, abs=0.03 * se)
    assert effect.reach == pytest.approx(reach, abs=0.08 * se)


def test_without_a_choice_nothing_is_corrected():
    for skills in ((1.5,), (4.0, 0.1, 0.0)):
        choice = contenders(tally(400, skills=skills), PROBLEM, level=0.95)
        effect = selection_effect(choice)
        assert (effect.bias, effect.reach) == (0.0, 0.0)
        corrected = effect.cost(2.0, 1.0, 3.0, most=9.0)
        assert (corrected.value, corrected.low, corrected.high) == (2.0, 1.0, 3.0)


def test_the_errors_of_systems_do_not_depend_on_twins_of_theirs():
    def drawn(names: str, costs: list[float], factors: list[list[float]]) -> FloatArray:
        root = np.array(factors)
        covariance = root @ root.T
        parts: Any = {"covariance": covariance, "degrees": np.inf, "fitting": 0 * covariance}
        errors = CostErrors(names=tuple(names), costs=np.array(costs), **parts)
        return _errors(errors.covariance, canonical_order(errors))

    alone = drawn("ab", [1.0, 2.0], [[1.0, 0.0], [0.3, 0.8]])
    beside = drawn("atb", [1.0, 1.0, 2.0], [[1.0, 0.0], [1.0, 0.0], [0.3, 0.8]])
    np.testing.assert_allclose(beside, alone[:, [0, 0, 1]], atol=1e-12)


def test_systems_that_decide_alike_are_no_choice():
    y, decided = rows(150, [1.2], 0)
    joint = JointCounts.from_decisions(y, decided | {"twin": decided["system 0"]}, PROBLEM)
    effect = selection_effect(contenders(joint, PROBLEM, level=0.95))
    assert effect.bias == pytest.approx(0.0, abs=1e-12)


def test_cost_and_saving_are_corrected_by_the_same_amount():
    joint, _ = with_blind(tally(skills=(1.3, 1.2, 1.2)), PROBLEM)
    choice = contenders(joint, PROBLEM, level=0.95, among=joint.models[:3])
    for blind in joint.models[3:]:
        against = selection_effect(choice, against=blind)
        assert against.bias == pytest.approx(selection_effect(choice).bias, rel=1e-12)


def test_a_cost_moves_up_and_a_saving_down():
    joint, _ = with_blind(tally(skills=(1.2, 1.2, 1.2)), PROBLEM)
    choice = contenders(joint, PROBLEM, level=0.95, among=joint.models[:3])
    effect = selection_effect(choice)
    cost = effect.cost(2.0, 1.0, 3.0, most=9.0)
    assert cost.value > 2.0
    assert cost.low == 1.0
    assert cost.high == 3.0 + effect.reach > 3.0
    against = selection_effect(choice, against="always 1")
    saving = against.saving(2.0, 1.0, 3.0, least=-9.0)
    assert saving.value < 2.0
    assert saving.low == 1.0 - against.reach < 1.0
    assert saving.high == 3.0
    assert cost.value <= cost.high
    assert saving.value >= saving.low


def test_a_difference_to_a_baseline_is_corrected_for_the_choice_among_the_others():
    """The slow twin draws the errors of all systems, and chooses again among the challengers."""
    joint = tally(200, skills=(1.2, 1.1, 1.2, 1.1, 1.15))
    costs = system_costs(joint, PROBLEM)
    best, (old, *_) = costs.cheapest, [str(n) for n in joint.models if n != costs.cheapest]
    assert best is not None
    errors = costs.choice.errors
    kept = [name for name in costs.contenders if name != old]
    x = errors.among(tuple(kept)).costs
    s = errors.among((*kept, old)).covariance
    drawn = np.random.default_rng(3).multivariate_normal(np.zeros(len(kept) + 1), s, size=20_000)
    noise = np.mean([sum((d - row[:-1].mean()) ** 2 for d in row[:-1]) for row in drawn])
    f = max(0.0, 1 - noise / sum((v - x.mean()) ** 2 for v in x)) ** 0.5
    luck, against = [], []
    for row in drawn:
        z = [f * (v - x.mean()) + d for v, d in zip(x, row, strict=False)]
        luck.append(row[z.index(min(z))])
        against.append(luck[-1] - row[-1])
    se = float(errors.among((best, old)).variances[0, 1] ** 0.5)
    plain, expected = costs.difference(best, old), costs.expected_difference(best, old)
    assert expected.value - plain.value == pytest.approx(-np.mean(luck), abs=0.03 * se)
    reach = -np.quantile(against, 0.025) - 1.96 * se
    assert expected.high - plain.high == pytest.approx(reach, abs=0.1 * se)
    assert expected.low == plain.low
    assert expected.high - plain.high > 0.1 * se


def test_a_baseline_does_not_differ_from_itself():
    costs = system_costs(tally(60, skills=(1.2, 1.1)), PROBLEM)
    best = costs.cheapest
    assert best is not None
    assert costs.expected_difference(best, best) == Measured(0.0, 0.0, 0.0)
    beyond, cost = costs.expected_difference(best, best, 1.1), costs.cost(best)
    wanted = [-0.1 * part for part in (cost.value, cost.high, cost.low)]
    assert [beyond.value, beyond.low, beyond.high] == pytest.approx(wanted)
    with pytest.raises(InputError, match="baseline must be one of the systems"):
        costs.expected_difference(best, "stranger")


def test_the_best_of_equal_challengers_is_not_expected_to_beat_an_equal_incumbent():
    """Without the correction the difference is a standard error too favourable on average."""
    plain, expected, old = [], [], "system 8"
    for seed in range(40):
        y, decided = rows(300, [1.0] * 9, seed)
        joint, challengers = JointCounts.from_decisions(y, decided, PROBLEM), list(decided)[:8]
        costs = system_costs(joint, PROBLEM, among=challengers)
        best = costs.cheapest
        assert best is not None
        se = float(costs.choice.errors.among(("system 0", old)).variances[0, 1] ** 0.5)
        plain.append(costs.difference(best, old).value / se)
        expected.append(costs.expected_difference(best, old).value / se)
    assert np.mean(plain) < -0.7
    assert abs(np.mean(expected)) < 0.4  # three standard errors of 40 data sets


def slow_choice(choice: Contenders, alternative: str) -> tuple[float, float, float, float]:
    """Bias and reach of saving and cost where there is an alternative, in plain loops.

    With random draws of the raw errors, as the formulas have them.
    """
    errors, kept = choice.errors, list(choice.contenders)
    assert errors.least is not None
    assert errors.shared is not None
    names = [*kept, alternative]
    x = [float(v) for v in errors.among(tuple(names)).costs]
    # The cost of the best decisions varies, too; it comes last.
    s = errors.among(tuple(names)).covariance
    shared = errors.among(tuple(names)).shared
    assert shared is not None
    s = np.block([[s, shared[:-1, None]], [shared]])
    drawn = np.random.default_rng(3).multivariate_normal(np.zeros(len(s)), s, size=20_000)
    k, mean = len(kept), sum(x[:-1]) / len(kept)
    noise = np.mean([sum((d - row[:k].mean()) ** 2 for d in row[:k]) for row in drawn])
    spread = sum((v - mean) ** 2 for v in x[:-1])
    f = max(0.0, 1 - noise / spread) ** 0.5 if k > 1 else 1.0
    gaps = []
    for i in range(k):
        gap, se = x[-1] - x[i], float(np.std(drawn[:, k] - drawn[:, i]))
        gaps.append(gap * max(0.0, 1 - se**2 / gap**2) ** 0.5)
    best = names.index(choice.names[choice.cheapest])
    floor = errors.least[[errors.names.index(name) for name in names]]
    savings, costs, luck = [], [], []
    for *errors_drawn, other, perfect in drawn:
        z = [mean + f * (v - mean) + d for v, d in zip(x, errors_drawn, strict=False)]
        i = z.index(min(z))
        if (gaps[i] + other - errors_drawn[i] > 0) != (x[best] < x[-1]):
            continue  # it ends in another way than these cases did
        savings.append(errors_drawn[i] - other)
        costs.append(errors_drawn[i])
        luck.append(errors_drawn[i] - other + max(0.0, floor[i] + perfect - z[i]))
    fixed = np.quantile(drawn[:, best] - drawn[:, k], 0.025), np.quantile(drawn[:, best], 0.025)
    beyond = [
        max(0.0, float(before - np.quantile(after, 0.025)))
        for before, after in zip(fixed, (savings, costs), strict=True)
    ]
    return max(0.0, -float(np.mean(luck))), beyond[0], beyond[1], float(np.std(savings))


@pytest.mark.parametrize(
    ("skills", "prior", "added", "taken"),
    [
        ((1.1,), None, None, True),
        ((1.1,), [0.7, 0.3], None, True),
        ((1.1, 1.0, 1.2), None, None, True),
        ((0.7, 0.8), None, None, False),
        ((1.0, 1.3, 1.2, 1.2), [0.6, 0.4], [0.0, 1.5, 0.5, 1.0], True),  # costs of running
    ],
)
def test_the_effect_of_taking_a_system_at_all_is_that_of_the_formulas(skills, prior, added, taken):
    problem = Problem([[0, 3, 25], [30, 14, 0]], prior=prior)
    y, decided = rows(200, list(skills), 2)
    joint = JointCounts.from_decisions(y, decided, problem)
    costs = system_costs(joint, problem, added=added)
    bias, on_saving, on_cost, se = slow_choice(costs.choice, costs.unaided)
    effect, saving = costs._effect, costs._effect_on_saving
    assert effect.bias == saving.bias == pytest.approx(bias, abs=0.03 * se)
    assert saving.reach == pytest.approx(on_saving, abs=0.1 * se)
    assert effect.reach == pytest.approx(on_cost, abs=0.1 * se)
    assert costs.saves == taken
    assert bias > (0.4 if taken else 0.0) * se


def of_little_skill(seed: int, systems: int, skill: float) -> tuple[Any, dict[str, Any]]:
    rng = np.random.default_rng(seed)
    y = (rng.random(400) < 0.3).astype(int)
    decided = (skill * y + rng.standard_normal((systems, y.size)) > 0.5).astype(int)
    return y, {f"system {place}": codes for place, codes in enumerate(decided)}


def test_models_of_no_value_that_are_taken_are_not_expected_to_save():
    """Their cost is that of not looking, 0.7; as printed for these cases it is 7 % lower.

    The correction for the choice among two models leaves 5 %. The error of a mean is 1 %.
    """
    problem, wanted = Problem([[0, 1], [4, 0]]), 0.7
    misses = (wanted - 0.7 * stats.norm.sf(0.5)) / (0.3 * 4)
    skill = 0.5 - stats.norm.ppf(misses)
    for systems in (1, 2):
        costs, savings, plain = [], [], []
        for seed in range(120):
            y, decided = of_little_skill(seed, systems, skill)
            of_models = system_costs(JointCounts.from_decisions(y, decided, problem), problem)
            if of_models.saves:
                name = str(of_models.cheapest)
                plain.append(of_models.cost(name).value)
                costs.append(of_models.expected(name).value)
                savings.append(of_models.expected_saving(name).value)
                assert costs[-1] + savings[-1] == pytest.approx(of_models.unaided_cost, rel=1e-12)
        assert len(costs) > 50
        assert np.mean(plain) < 0.94 * wanted
        assert abs(np.mean(costs) / wanted - 1) < 0.025
        assert abs(np.mean(savings)) < 0.03


def test_a_system_that_clearly_pays_is_not_corrected_for_being_taken():
    """Beside it, a system that is far less certain may be as cheap."""
    y = np.repeat([0, 1], [300, 100])
    sure, unsure = np.zeros(400, dtype=int), np.zeros(400, dtype=int)
    sure[300:330] = 1  # finds 30 of 100 at no false alarm
    unsure[300:390], unsure[:185] = 1, 1  # finds 90 at 185 false alarms
    decided = {"sure": sure, "unsure": unsure}
    problem = Problem([[0, 1], [3, 0]])
    for models in (decided, {"sure": sure}):
        costs = system_costs(JointCounts.from_decisions(y, models, problem), problem)
        assert costs.cheapest == "sure"
        assert len(costs.contenders) == len(models)
        alone = selection_effect(costs.choice)
        effect = selection_effect(costs.choice, alternative=costs.unaided)
        assert effect.bias == pytest.approx(alone.bias, abs=1e-3)
        assert effect.reach == pytest.approx(alone.reach, abs=1e-3)


def test_where_everything_without_a_model_breaks_a_limit_it_was_no_choice_to_take_one():
    problem = Problem([[0, 3, 25], [30, 14, 0]])
    joint = JointCounts.from_decisions(*rows(200, [1.1], 2), problem)
    free, bound = system_costs(joint, problem), system_costs(joint, problem, constant=[])
    assert (free.alternative, bound.alternative) == (free.unaided, None)
    assert free.unaided == bound.unaided
    name = str(bound.cheapest)
    assert bound.expected(name) == bound.cost(name)
    assert bound.expected_saving(name) == bound.saving(name)
    assert free.expected(name).value > free.cost(name).value


def test_a_contender_that_decides_as_what_needs_no_model_is_no_further_choice():
    problem, effects = Problem([[0, 3, 25], [30, 14, 0]]), []
    y, decided = rows(200, [1.1], 2)
    for models in (decided, decided | {"lazy": np.ones(200, dtype=int)}):
        costs = system_costs(JointCounts.from_decisions(y, models, problem), problem)
        assert costs.unaided == "always 1"
        assert costs.cheapest == "system 0"
        effects.append(costs._effect_on_saving)
    assert effects[0] == effects[1]
    assert effects[0].bias > 0


def test_the_choice_is_not_made_again_on_what_is_expected_of_it():
    """A saving of a third of its standard error is luck, but it was what the choice went by."""
    y = np.repeat([0, 1], 50)
    decided = {"a": np.r_[[0] * 26 + [1] * 24, [1] * 26 + [0] * 24]}
    costs = system_costs(
        JointCounts.from_decisions(y, decided, Problem.zero_one(2)), Problem.zero_one(2)
    )
    assert costs.saving("a").value == pytest.approx(0.02)
    assert costs.expected_saving("a").value < 0
    assert costs.saves


@given(samples(), st.sampled_from([0.5, 0.95]))
def test_many_draws_end_as_the_data_did(sample, level):
    """Their mean is that of a fair share: among 3,000 random tallies it was never below a sixth."""
    joint, problem, how = sample
    costs = system_costs(joint, problem, level=level, **how)
    choice, other = costs.choice, costs.unaided
    names, winner = _rivals(choice, None, other), choice.names[choice.cheapest]
    errors = choice.errors.among((*names, other))
    if winner in names and errors.degrees > 0:
        f = _kept(errors.among(names))
        assert _chosen_again(errors, names, f, winner, other).alike.mean() > 0.1


ALARMS = (("few", 10), ("some", 50), ("many", 100))


def standard_error(choice, i):
    """Of the difference to the cheapest, and not below what the lower half of its interval has."""
    half = (choice.differences[i] - choice.low[i]) / choice.critical[i]
    return max(half, choice.errors.variances[0, 1] ** 0.5)


def test_probabilities_of_being_cheapest_sum_to_one_and_leave_out_who_left():
    choice = contenders(tally(400, skills=(1.6, 1.5, 1.4, 0.0)), PROBLEM, level=0.95)
    chances = probability_cheapest(choice)
    assert chances.sum() == pytest.approx(1.0)
    assert "system 3" not in choice.contenders
    assert chances[3] == 0.0
    assert int(np.argmax(chances)) == choice.cheapest


def test_two_systems_in_few_clusters_have_the_probability_of_student():
    joint = tally(120, skills=(1.2, 1.1), by=np.arange(120) % 4)
    choice = contenders(joint, PROBLEM, level=0.95)
    t = (choice.costs[1] - choice.costs[0]) / standard_error(choice, 1 - choice.cheapest)
    assert probability_cheapest(choice) == pytest.approx([stats.t.cdf(t, 3), stats.t.cdf(-t, 3)])


def test_chances_know_of_expensive_mistakes_that_no_case_shows():
    """Misses cost a thousand times as much as false alarms, and none was seen in 20 cases."""
    problem = Problem.binary(false_alarm=1, miss=1000)
    y = [0] * 1000 + [1] * 20
    decided = {name: [1] * alarms + [0] * (1000 - alarms) + [1] * 20 for name, alarms in ALARMS}
    two, three = (
        contenders(JointCounts.from_decisions(y, dict(list(decided.items())[:n]), problem), problem)
        for n in (2, 3)
    )
    assert two.contenders == ("few", "some")
    gap, error = two.differences[1], two.errors.variances[0, 1] ** 0.5
    assert gap > 6 * error  # by its standard error the first is certainly the cheapest
    assert probability_cheapest(two) == pytest.approx([0.5, 0.5], abs=0.02)
    assert probability_cheapest(three) == pytest.approx([1 / 3] * 3, abs=0.03)
    assert sorted(probability_cheapest(three), reverse=True) == probability_cheapest(three).tolist()


@given(samples(), st.sampled_from([0.5, 0.8, 0.95]))
def test_where_two_cannot_be_told_apart_neither_is_nearly_certain(sample, level):
    joint, problem, how = sample
    choice = contenders(joint, problem, level=level, among=joint.models[:2], **how)
    if len(choice.contenders) == 2 and choice.errors.degrees > 0:
        assert probability_cheapest(choice).max() <= (1 + level) / 2 + 0.01


@pytest.mark.slow
def test_simulated_sets_and_winners_hold_the_truth():
    """Six equal systems, 80 data sets of 200 cases; 3 standard errors below 95 % is 87.7 %."""
    problem = Problem([[0, 0.4, 2.0], [2.0, 0.6, 0]])
    upper = [stats.norm.sf(cut - 1.0) for cut in (0.2, 0.9)]
    lower = [stats.norm.sf(cut) for cut in (0.2, 0.9)]
    negative = 0.7 * (0.4 * (lower[0] - lower[1]) + 2.0 * lower[1])
    positive = 0.3 * (2.0 * (1 - upper[0]) + 0.6 * (upper[0] - upper[1]))
    truth = negative + positive
    covered = plain = corrected = 0
    errors = []
    for seed in range(80):
        y, decided = rows(202, [1.0] * 6, seed)
        y, decided = y[2:], {name: d[2:] for name, d in decided.items()}  # the first two are set
        joint = JointCounts.from_decisions(y, decided, problem)
        choice = contenders(joint, problem, level=0.95)
        covered += "system 3" in choice.contenders
        name = choice.names[choice.cheapest]
        ends = profile_interval(joint.model(name), problem, 0.95)
        cost = selection_effect(choice).cost(
            float(choice.costs[choice.cheapest]),
            float(ends.low),
            float(ends.high),
            most=float(problem.costs.max()),
        )
        plain += bool(ends.low <= truth <= ends.high)
        corrected += cost.low <= truth <= cost.high
        errors.append(cost.value - truth)
    assert covered >= 71
    assert corrected >= 71
    assert plain < corrected
    se = float(np.sqrt(choice.errors.covariance[0, 0]))
    assert abs(np.mean(errors)) < 0.45 * se


def rare_misses(seed: int, *, systems: int, expected: float) -> tuple[Any, dict[str, Any]]:
    """1,000 cases, of which 100 are positive; equal systems miss few of them, each for itself."""
    rng = np.random.default_rng(seed)
    y = np.repeat([0, 1], [900, 100])
    missed = (rng.random((systems, y.size)) < expected / 100) & (y == 1)
    return y, {f"system {place}": y - misses for place, misses in enumerate(missed.astype(int))}


def test_the_luck_of_the_cheapest_ends_where_it_makes_no_mistake():
    """Normal errors would put it below zero; once the correction was 2 standard errors too large.

    With one miss expected of each of 40 systems, the cheapest has none: the cost to expect is the
    true one, 0.1, within half a standard error of 0.1, whatever every positive case costs anyway.
    """
    problems = [Problem([[0, 1], [100, 0]]), Problem([[2, 3], [105, 5]])]
    errors = []
    for seed in range(20):
        y, decided = rare_misses(seed, systems=40, expected=1.0)
        joint = JointCounts.from_decisions(y, decided, problems[0])
        expected = []
        for problem in problems:
            costs = system_costs(joint, problem)
            assert costs.cheapest is not None
            expected.append(costs.expected(costs.cheapest).value - costs.perfect)
        errors.append(expected[0] - 0.1)
        assert expected[1] == pytest.approx(expected[0], abs=0.01 * 0.1)  # ties are drawn anew
    assert abs(np.mean(errors)) < 0.5 * 0.1


@pytest.mark.parametrize("how", [{}, {"by": np.arange(150) // 3}])
def test_what_every_decision_about_a_class_costs_does_not_change_the_luck(how):
    joint = tally(skills=(1.3, 1.2, 1.2), **how)
    usual = selection_effect(contenders(joint, PROBLEM, level=0.95))
    raised = Problem(PROBLEM.costs + np.array([[7.0], [400.0]]))
    effect = selection_effect(contenders(joint, raised, level=0.95))
    assert effect.bias == pytest.approx(usual.bias, rel=1e-9)
    assert effect.shrinkage == pytest.approx(usual.shrinkage, abs=1e-9)


def test_a_saving_in_doubt_has_a_normalised_cost_in_doubt():
    """It once said "cannot rule out that it saves nothing" beside 0.55 (0.23 to 0.92)."""
    problem = Problem.binary(false_alarm=1, miss=3.0)
    doubtful = 0
    for seed in range(270, 300):
        rng = np.random.default_rng(seed)
        y = (rng.random(60) < 0.3).astype(int)
        score = 0.55 * rng.normal(size=(60, 1)) + 0.83 * rng.normal(size=(60, 5))
        decided = {f"m{j}": (y * 1.6 + score[:, j] > 0.8).astype(int) for j in range(5)}
        costs = system_costs(JointCounts.from_decisions(y, decided, problem), problem)
        assert costs.cheapest is not None
        saving = costs.expected_saving(costs.cheapest)
        doubtful += saving.value > 0 >= saving.low
        assert saving.low > 0 or costs.expected_normalized(costs.cheapest).high >= 1
    assert doubtful > 3


def test_of_systems_that_tie_the_one_that_is_a_blind_decision_is_the_cheapest():
    """What is expected must not depend on the order in which they were passed."""
    problem = Problem.binary(false_alarm=1, miss=9)
    y = np.repeat([0, 1], [80, 20])
    model = y.copy()
    model[:71], model[99] = 1, 0  # 71 false alarms and a miss: as much as always raising an alarm
    results = []
    for names in (("lazy", "model"), ("model", "lazy")):
        decided = {"lazy": np.ones(100, dtype=int), "model": model}
        ordered = {name: decided[name] for name in names}
        costs = system_costs(JointCounts.from_decisions(y, ordered, problem), problem)
        assert costs.cost("lazy").value == costs.cost("model").value
        assert costs.cheapest == "lazy"
        results.append((costs.expected("lazy"), costs.expected_saving("lazy")))
    assert results[0] == results[1]


# Refusals ----------------------------------------------------------------------------------------


def test_what_makes_no_sense_is_refused():
    joint = tally()
    with pytest.raises(InputError, match=r"among must name systems.*'stranger' is none"):
        contenders(joint, PROBLEM, level=0.95, among=["stranger"])
    with pytest.raises(InputError, match="level must lie strictly between 0 and 1"):
        contenders(joint, PROBLEM, level=1.0)
    with pytest.raises(InputError, match=r"no leading axis, or one of clusters.*Index them first"):
        contenders(joint.with_cell_weights(np.ones((2, 3, len(joint.cells)))), PROBLEM, level=0.95)
    with pytest.raises(InputError, match=r"against must be a system of the tally.*with_blind"):
        selection_effect(contenders(joint, PROBLEM, level=0.95), against="always 0")
    with pytest.raises(InputError, match="reachable must say of each of the 3 decisions"):
        contenders(joint, PROBLEM, level=0.95, reachable=[True])


@pytest.mark.parametrize("prior", [None, [0.9, 0.1]])
def test_systems_that_decide_like_the_cheapest_share_its_chance_whatever_their_order(prior):
    """No case shows a mistake of three of them: their interval is wide, and yet they are alike."""
    problem = Problem.binary(false_alarm=1, miss=1000, prior=prior)
    y = [0] * 60 + [1] * 20
    decided = {"a": y, "b": y, "c": y, "other": [1] * 5 + y[5:]}
    alike = contenders(JointCounts.from_decisions(y, dict.fromkeys("abc", y), problem), problem)
    assert probability_cheapest(alike) == pytest.approx([1 / 3] * 3)
    chances = {}
    for names in (tuple(decided), tuple(reversed(decided)), ("b", "other", "a", "c")):
        joint = JointCounts.from_decisions(y, {name: decided[name] for name in names}, problem)
        choice = contenders(joint, problem)
        chances[names] = dict(zip(choice.names, probability_cheapest(choice), strict=True))
        assert len({chances[names][name] for name in "abc"}) == 1
    # Sums in another order may differ in the last digit.
    first, *others = chances.values()
    assert others == [pytest.approx(first, rel=1e-13)] * 2


@st.composite
def ties(draw: st.DrawFn) -> tuple[JointCounts, Problem, dict[str, Any]]:
    """Systems that err equally often in different cases, so that some tie for the cheapest."""
    n, seed = draw(st.integers(10, 60)), draw(st.integers(0, 10**6))
    rng = np.random.default_rng(seed)
    y = np.append(np.zeros(n, int), np.ones(draw(st.sampled_from([3, n // 2])), int))
    decided = {}
    for place, errs_more in enumerate(draw(st.lists(st.booleans(), min_size=2, max_size=5))):
        decided[f"system {place}"] = 2 * y
        decided[f"system {place}"][rng.choice(n, 2 + errs_more, replace=False)] = 1
    problem = draw(st.sampled_from([PROBLEM, PRIOR]))
    how: dict[str, Any] = {}
    kind = draw(st.sampled_from(["cases", "weights", "clusters", "many clusters", "fitted"]))
    if kind == "weights":
        weights = rng.choice([1.0, 2.0], y.size)
        squares = JointCounts.from_decisions(y, decided, problem, weights=weights**2).weights
        joint = JointCounts.from_decisions(y, decided, problem, weights=weights)
        return joint, problem, {"squares": squares}
    if kind == "fitted":
        how["fitting"] = np.diag(rng.choice([0.0, 0.01], len(decided)))
    groups = {"clusters": rng.integers(0, 5, y.size), "many clusters": np.arange(y.size) // 2}
    return JointCounts.from_decisions(y, decided, problem, by=groups.get(kind)), problem, how


@given(ties(), st.randoms(use_true_random=False))
def test_chances_do_not_depend_on_the_order_of_systems_that_tie_for_the_cheapest(sample, random):
    joint, problem, how = sample
    names = list(joint.models)
    errs_alike = contenders(joint, problem, **how).errors.variances == 0
    decides_alike = (joint.cells[:, 1:, None] == joint.cells[:, None, 1:]).all(axis=0)
    assume((errs_alike == decides_alike).all())  # few clusters do not always tell systems apart
    random.shuffle(names)
    first, second = (
        dict(zip(choice.names, probability_cheapest(choice), strict=True))
        for choice in (contenders(joint, problem, among=among, **how) for among in (None, names))
    )
    for name in names:
        assert second[name] == pytest.approx(first[name], abs=1e-9, nan_ok=True)


def test_chances_of_systems_that_tie_in_different_ways_do_not_depend_on_their_order():
    """`c` errs in the rare class, where a mistake that was not seen would cost 180."""
    y = [0] * 40 + [1] * 6
    wrong = {"a": [0], "b": [1], "c": [40], "d": [2, 3]}
    decided = {}
    for name, mistakes in wrong.items():
        decided[name] = [2 * k for k in y]
        for place in mistakes:
            decided[name][place] = 1
    problem = Problem([[0, 8, 25], [180, 8, 0]])
    chances = set()
    for names in ("abcd", "dcba", "cadb"):
        joint = JointCounts.from_decisions(y, {name: decided[name] for name in names}, problem)
        choice = contenders(joint, problem)
        shown = dict(zip(choice.names, probability_cheapest(choice).round(12), strict=True))
        chances.add(tuple(sorted(shown.items())))
    assert len(choice.tied) == 3
    assert len(chances) == 1


def test_systems_in_a_ring_have_the_same_chances_and_bias_in_every_order():
    """Each shares half of its mistakes with the next: no two of them are alone as far from all."""
    y, decided = np.zeros(40, int), {}
    for place in range(5):
        decided[f"ring {place}"] = np.isin(np.arange(40) // 8, [place, (place + 1) % 5]).astype(int)
    decided["other"] = np.where(np.arange(40) % 8 < 5, 1, 0)
    decided["other"][:4] = 1
    problem, chances, effects = Problem.zero_one(2), set(), set()
    for order in ([0, 1, 2, 3, 4, 5], [5, 3, 1, 0, 4, 2], [2, 0, 5, 4, 1, 3]):
        names = [list(decided)[place] for place in order]
        joint = JointCounts.from_decisions(y, {name: decided[name] for name in names}, problem)
        choice = contenders(joint, problem)
        shown = probability_cheapest(choice).round(12).tolist()
        chances.add(tuple(sorted(zip(choice.names, shown, strict=True))))
        effects.add(round(selection_effect(choice).bias, 12))
    assert len(chances) == 1
    assert len(effects) == 1


@given(ties())
def test_no_error_is_smaller_than_that_of_an_interval_to_any_system_that_ties(sample):
    joint, problem, how = sample
    choice = contenders(joint, problem, **how)
    if np.isfinite(choice.standard_errors).all():
        rivals = _widened(choice, choice.errors.among(choice.contenders))
        places = [choice.names.index(name) for name in rivals.names]
        errors = choice.standard_errors[:, places]
        alike = choice.errors.among(rivals.names).variances == 0
        for base, wanted in zip(choice.tied, errors, strict=True):
            at = places.index(base)
            wide = np.sqrt(rivals.variances[at]) >= wanted * (1 - 1e-9)
            assert (wide | alike[at]).all()


@pytest.mark.parametrize("degrees", [1, 2, 3, 4, 7, 10, 99, 100])
def test_the_tail_of_chi_square_is_that_of_scipy(degrees):
    squares = np.concatenate([[0.0, 1e-300, np.inf], np.logspace(-6, 3, 200)])
    tail = chi_square_tail(degrees, squares)
    assert np.allclose(tail, stats.chi2.sf(squares, degrees), rtol=1e-12, atol=1e-300)
    assert tail[[0, 2]].tolist() == [1.0, 0.0]


def test_quantiles_of_laws_searched_together_are_those_of_each():
    laws: list[MaxLaw] = []
    for seed, skills in enumerate([(1.5, 1.2, 0.8), (1.4, 0.5, 0.1, 1.0), (1.0, 1.2, 0.4)]):
        joint = tally(skills=skills, seed=seed)
        laws.append(max_law(cost_errors(joint, PROBLEM), [1]))
        laws.append(max_law(cost_errors(joint, PRIOR), [2]))
    laws += [bonferroni_law(12.0, 3), bonferroni_law(np.inf, 3), bonferroni_law(0.0, 2)]
    squares = first_quantiles(laws, 0.05)
    alone = [float(law.quantile(0.05)[0]) for law in laws[:-1]]
    assert np.allclose(squares[:-1], alone, rtol=1e-9)
    assert squares[-1] == np.inf
    assert len({round(square, 6) for square in alone}) == len(alone)  # none was mixed up
