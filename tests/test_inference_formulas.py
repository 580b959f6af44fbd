"""Standard errors by formula, against rows and double sums."""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from itertools import chain
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stakes import Counts, InputError, JointCounts, LossMoments, Problem, ScoreTable
from stakes.inference import (
    AllCases,
    Clusters,
    WithinClasses,
    auc_error,
    bootstrap,
    compare_losses,
    cost_moments,
    delong,
    delong_auc,
    delta_compare_costs,
    delta_expected_cost,
    delta_normalized_cost,
    delta_rates,
    expected_cost_error,
    jackknife,
    mean_covariance,
    normalized_cost_error,
    rate_error,
    wilson_rates,
)
from stakes.measures import expected_cost, normalized_cost
from stakes.ranking import auc
from stakes.tally import JointScores

PROBLEM = Problem([[0, 3, 25], [180, 8, 0]])


def generator(seed: int = 7) -> np.random.Generator:
    return np.random.default_rng(seed)


@st.composite
def cases(draw, low: int = 2):
    """Classes and decisions of some cases, every class at least `low` times."""
    y = [0] * low + [1] * low + draw(st.lists(st.integers(0, 1), max_size=20))
    decided = draw(st.lists(st.integers(0, 2), min_size=len(y), max_size=len(y)))
    return np.array(y), np.array(decided)


# Expected cost -----------------------------------------------------------------------------------


@given(cases())
def test_the_error_of_a_mean_cost_is_the_textbook_one(rows):
    y, decided = rows
    costs = PROBLEM.costs[y, decided]
    counts = Counts.from_decisions(y, decided, PROBLEM)
    error = float(expected_cost_error(counts, PROBLEM))
    assert error == pytest.approx(costs.std(ddof=1) / np.sqrt(len(y)), rel=1e-9, abs=1e-12)


@given(cases(), st.floats(0.01, 0.99))
def test_under_a_prior_the_classes_are_samples_of_their_own(rows, share):
    y, decided = rows
    prior = np.array([1 - share, share])
    costs = PROBLEM.costs[y, decided]
    square = sum(prior[k] ** 2 * costs[y == k].var(ddof=1) / np.sum(y == k) for k in (0, 1))
    stated = PROBLEM.with_prior(prior)
    error = expected_cost_error(Counts.from_decisions(y, decided, PROBLEM), stated)
    assert float(error) == pytest.approx(np.sqrt(square), rel=1e-9, abs=1e-12)


def test_a_class_of_one_case_leaves_the_error_undefined_unless_its_prior_is_zero():
    counts = Counts([[5, 3, 1], [1, 0, 0]])
    assert np.isnan(expected_cost_error(counts, PROBLEM.with_prior([0.9, 0.1])))
    assert np.isfinite(expected_cost_error(counts, PROBLEM.with_prior([1.0, 0.0])))


@given(cases(low=3))
def test_the_error_of_a_normalised_cost_is_that_of_a_ratio(rows):
    """Slow twin: the residuals of the cases, linearised by hand."""
    y, decided = rows
    counts = Counts.from_decisions(y, decided, PROBLEM)
    regret = PROBLEM.regret().costs
    shares = np.bincount(y, minlength=2) / len(y)
    blind = int(np.argmin(shares @ regret))
    numerator, denominator = regret[y, decided], regret[y, blind]
    ratio = numerator.mean() / denominator.mean()
    residual = (numerator - ratio * denominator) / denominator.mean()
    twin = np.sqrt(np.sum(residual**2) / (len(y) * (len(y) - 1)))
    assert float(normalized_cost(counts, PROBLEM)) == pytest.approx(ratio)
    error = float(normalized_cost_error(counts, PROBLEM))
    assert error == pytest.approx(twin, rel=1e-6, abs=1e-9)


def exact_error(weights, costs, prior=None) -> float:
    """Slow twin in exact fractions: cells of every class, as samples of their own under a prior."""
    cells = [
        [(Fraction(n), Fraction(c)) for n, c in zip(row, row_costs, strict=True)]
        for row, row_costs in zip(weights, costs, strict=True)
    ]
    samples = [list(chain(*cells))] if prior is None else cells
    shares = [Fraction(1)] if prior is None else [Fraction(share) for share in prior]
    square: Any = Fraction(0)
    for share, sample in zip(shares, samples, strict=True):
        size = sum(n for n, _ in sample)
        mean = sum(n * c for n, c in sample) / size
        scatter = sum(n * (c - mean) ** 2 for n, c in sample)
        square += share**2 * scatter / (size * (size - 1))
    return float(square) ** 0.5


@pytest.mark.parametrize("prior", [None, (0.25, 0.75)])
@pytest.mark.parametrize(
    ("weights", "costs"),
    [
        ([[100, 5], [0, 2]], [[0, 0.01], [1e6, 0]]),  # what no case shows costs most
        ([[100, 5], [0, 2]], [[0, 1e-12], [1e100, 0]]),
        ([[100, 5], [7, 2]], [[1e9, 1e9 + 0.5], [1e9 + 1, 1e9]]),  # all share an amount
        ([[100, 5], [7, 2]], [[0, 0.5], [1e9, 1e9 + 0.5]]),  # those of a class share it
        ([[10**15, 1], [3, 2]], [[1, 0], [1, 1]]),  # one case among very many
    ],
)
def test_the_error_of_a_cost_keeps_its_digits(weights, costs, prior):
    counts, problem = Counts(weights), Problem(costs, prior=prior)
    twin = exact_error(weights, costs, prior)
    assert twin > 0
    assert float(expected_cost_error(counts, problem)) == pytest.approx(twin, rel=1e-13, abs=0)
    stack = Counts(np.array([weights, weights], dtype=float))
    np.testing.assert_allclose(expected_cost_error(stack, problem), [twin] * 2, rtol=1e-13)
    decided = [(k, d) for k in (0, 1) for d in (0, 1)]
    joint = JointCounts.from_decisions(
        [k for k, _ in decided],
        {"a": [d for _, d in decided], "b": [0] * 4},
        problem,
        copies=np.ravel(weights),
    )
    compared = delta_compare_costs(joint, problem)
    assert float(compared.estimate("a").standard_error) == pytest.approx(twin, rel=1e-13, abs=0)


@pytest.mark.parametrize("prior", [None, (0.25, 0.75)])
def test_costs_that_are_all_equal_have_no_error(prior):
    counts = Counts([[100, 7], [3, 2]])
    for cost in (0.1, 1e9 / 3, 1e-200):
        same = Problem([[cost, cost], [cost, cost]], prior=prior)
        assert expected_cost_error(counts, same) == 0
    unseen = Problem([[0.1, 0.1], [0.1, 1e6]], prior=prior)
    assert expected_cost_error(Counts([[100, 7], [3, 0]]), unseen) == 0


def test_the_error_of_a_class_without_any_cell_is_undefined_unless_its_prior_is_zero():
    joint = JointCounts.from_decisions([0, 0, 0], {"a": [0, 1, 2], "b": [0, 0, 1]}, PROBLEM)
    unknown = delta_compare_costs(joint, PROBLEM.with_prior([0.5, 0.5])).covariance
    assert np.isnan(unknown).all()
    known = delta_compare_costs(joint, PROBLEM.with_prior([1, 0])).covariance
    assert known == pytest.approx(np.cov([[0, 3, 25], [0, 0, 3]]) / 3)


def test_the_error_of_a_normalised_cost_keeps_its_digits():
    """The regret is nearly that of the best blind decision in every case."""
    weights, costs = [[10**6, 0], [1, 10**6]], [[0, 1], [1, 1 - 2**-40]]
    counts, problem = Counts(weights), Problem(costs)
    regret = [[Fraction(0), Fraction(1)], [Fraction(2) ** -40, Fraction(0)]]
    size = 2 * 10**6 + 1
    blind = 0
    of_model = sum(weights[k][d] * regret[k][d] for k in (0, 1) for d in (0, 1))
    of_blind = sum(sum(weights[k]) * regret[k][blind] for k in (0, 1))
    ratio = of_model / of_blind
    scatter = sum(
        weights[k][d] * (regret[k][d] - ratio * regret[k][blind]) ** 2
        for k in (0, 1)
        for d in (0, 1)
    )
    twin = float(scatter / (size * (size - 1))) ** 0.5 / float(of_blind / size)
    assert float(normalized_cost_error(counts, problem)) == pytest.approx(twin, rel=1e-12, abs=0)


@pytest.mark.parametrize("prior", [None, [0.7, 0.3]])
def test_formulas_agree_with_the_jackknife_on_many_cases(prior):
    counts = Counts([[4000, 300, 100], [60, 90, 450]])
    problem = PROBLEM.with_prior(prior)
    scheme = AllCases() if prior is None else WithinClasses()
    for measure, error in (
        (expected_cost, expected_cost_error),
        (normalized_cost, normalized_cost_error),
    ):
        of_problem = partial(measure, problem=problem)
        slow = jackknife(of_problem, counts, scheme=scheme, rng=generator())
        assert float(error(counts, problem)) == pytest.approx(float(slow.standard_error), rel=0.01)


def test_errors_carry_leading_axes():
    stack = Counts(generator().integers(1, 30, (4, 5, 2, 3)))
    for problem in (PROBLEM, PROBLEM.with_prior([0.9, 0.1])):
        for error in (expected_cost_error, normalized_cost_error):
            errors = error(stack, problem)
            assert errors.shape == (4, 5)
            assert errors[2, 3] == pytest.approx(float(error(stack[2, 3], problem)))
    assert rate_error(stack).shape == (4, 5, 2, 3)


def test_estimates_by_formula_hold_value_error_and_normal_interval():
    counts = Counts([[80, 15, 5], [6, 9, 25]])
    for estimate, measure in (
        (delta_expected_cost(counts, PROBLEM), expected_cost),
        (delta_normalized_cost(counts, PROBLEM), normalized_cost),
    ):
        assert float(estimate.value) == float(measure(counts, PROBLEM))
        assert estimate.interval(0.95).width == pytest.approx(
            2 * 1.959964 * estimate.standard_error
        )
        assert estimate.replicates.shape == (0,)
    rates = delta_rates(counts)
    np.testing.assert_allclose(rates.standard_error[0], np.sqrt([0.16e0, 0.1275, 0.0475]) / 10)
    np.testing.assert_allclose(rates.value, wilson_rates(counts).value)


@pytest.mark.parametrize(
    "make",
    [
        lambda c: delta_expected_cost(c, PROBLEM),
        lambda c: delta_normalized_cost(c, PROBLEM),
        delta_rates,
        wilson_rates,
    ],
)
def test_formulas_refuse_fractional_weights(make):
    with pytest.raises(InputError, match="fractional"):
        make(Counts([[3.5, 1, 1], [1, 2, 1]]))


# Losses ------------------------------------------------------------------------------------------


@given(st.integers(0, 10_000), st.sampled_from([None, (0.9, 0.1)]))
def test_covariances_of_mean_losses_are_those_of_the_rows(seed, prior):
    rng = generator(seed)
    y = np.array([0, 0, 1, 1, *rng.integers(0, 2, 8)])
    losses = rng.normal(size=(12, 3)) + y[:, None]
    moments = LossMoments.from_losses(y, losses)
    if prior is None:
        twin = np.cov(losses, rowvar=False) / 12
    else:
        twin = sum(
            prior[k] ** 2 * np.cov(losses[y == k], rowvar=False) / np.sum(y == k) for k in (0, 1)
        )
    shares = None if prior is None else np.array(prior)
    np.testing.assert_allclose(mean_covariance(moments, shares), twin, atol=1e-12)
    comparison = compare_losses(moments, prior=prior)
    paired = comparison.difference(0, 2)
    contrast = np.array([1.0, 0.0, -1.0])
    assert float(paired.standard_error) == pytest.approx(float(np.sqrt(contrast @ twin @ contrast)))


def test_costs_of_joint_decisions_are_losses_of_rows():
    rng = generator()
    y, decided = rng.integers(0, 2, 50), rng.integers(0, 3, (50, 2))
    joint = JointCounts.from_decisions(
        y, {"a": decided[:, 0], "b": decided[:, 1]}, PROBLEM, by=rng.integers(0, 3, 50)
    )
    moments = cost_moments(joint, PROBLEM)
    rows = PROBLEM.costs[y[:, None], decided]
    rng = generator()
    rng.integers(0, 2, 50), rng.integers(0, 3, (50, 2))
    twin = LossMoments.from_losses(
        y, {"a": rows[:, 0], "b": rows[:, 1]}, by=rng.integers(0, 3, 50), classes=[0, 1]
    )
    for part in ("weight", "sums", "scatter"):
        np.testing.assert_allclose(getattr(moments, part), getattr(twin, part))
    assert moments.names == ("a", "b")
    assert moments.groups == twin.groups
    with pytest.raises(InputError, match="decisions"):
        cost_moments(joint, Problem([[0, 3, 25], [180, 8, 0]], decisions=["x", "y", "z"]))


# Areas -------------------------------------------------------------------------------------------


def brute_placements(y: np.ndarray, score: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Shares of the other class that each case is on the right side of, by a double loop."""
    wins = np.zeros((int(np.sum(y == 0)), int(np.sum(y == 1))))
    for i, negative in enumerate(score[y == 0]):
        for j, positive in enumerate(score[y == 1]):
            wins[i, j] = 1.0 if negative < positive else 0.5 if negative == positive else 0.0
    return wins.mean(axis=1), wins.mean(axis=0)


def brute_covariance(y: np.ndarray, scores: list[np.ndarray]) -> np.ndarray:
    parts = [brute_placements(y, score) for score in scores]
    total = np.zeros((len(scores), len(scores)))
    for k in (0, 1):
        for a in range(len(scores)):
            for b in range(len(scores)):
                first, second = parts[a][k], parts[b][k]
                product = np.sum((first - first.mean()) * (second - second.mean()))
                total[a, b] += product / (len(first) - 1) / len(first)
    return total


@given(st.integers(0, 2**32), st.integers(1, 12))
def test_delong_is_the_brute_force_double_sum_with_ties(seed, levels):
    rng = generator(seed)
    y = np.array([0, 0, 1, 1, *rng.integers(0, 2, 26)])
    scores = [rng.integers(0, levels, 30).astype(float), rng.normal(size=30) + y]
    scores.append(np.where(rng.random(30) < 0.5, scores[0], np.inf))
    twin = brute_covariance(y, scores)
    joint = JointScores.from_scores(y, dict(zip("abc", scores, strict=True)))
    comparison = delong(joint)
    np.testing.assert_allclose(comparison.covariance, twin, rtol=0, atol=1e-12)
    for j, name in enumerate("abc"):
        table = ScoreTable.from_scores(y, scores[j])
        assert joint.table(name) == table
        assert comparison.values[j] == pytest.approx(float(auc(table)), abs=1e-15)
        np.testing.assert_allclose(auc_error(table), np.sqrt(twin[j, j]), rtol=0, atol=1e-12)
        single = delong_auc(table)
        np.testing.assert_allclose(single.standard_error, comparison.estimate(name).standard_error)
    contrast = np.array([1.0, -1.0, 0.0])
    expected = np.sqrt(max(contrast @ twin @ contrast, 0))
    assert float(comparison.difference("a", "b").standard_error) == pytest.approx(
        expected, abs=1e-9
    )


def test_delong_does_not_suffer_from_many_cases():
    """A hundred thousand cases with heavy ties, against the same sums in whole numbers."""
    rng = generator()
    y = (rng.random(100_000) < 0.02).astype(int)
    score = np.round(rng.normal(y, 1), 1)
    table = ScoreTable.from_scores(y, score)
    square = 0.0
    for scores, other in ((score[y == 0], score[y == 1]), (score[y == 1], score[y == 0])):
        ordered = np.sort(other)
        rank = np.searchsorted(ordered, scores, "left") + np.searchsorted(ordered, scores, "right")
        square += np.var(rank / (2 * len(other)), ddof=1) / len(scores)
    assert float(auc_error(table)) == pytest.approx(np.sqrt(square), rel=1e-12)


def test_delong_is_undefined_with_a_single_case_of_a_class():
    table = ScoreTable.from_scores([0, 0, 1], [1, 2, 3])
    assert np.isnan(auc_error(table))
    joint = JointScores.from_scores([0, 0, 1], {"a": [1, 2, 3], "b": [2, 1, 3]})
    assert np.isnan(delong(joint).covariance).all()
    assert delong(joint).values.tolist() == [1.0, 1.0]


def test_delong_refuses_fractional_weights_and_leading_axes():
    with pytest.raises(InputError, match="fractional"):
        delong_auc(ScoreTable([1, 2], [[0.5, 1], [1, 1]]))
    joint = JointScores.from_scores([0, 1], {"a": [1, 2]})
    with pytest.raises(InputError, match="no leading axes"):
        delong(joint.with_cell_weights(np.ones((3, 2))))


# Joint scores ------------------------------------------------------------------------------------


def test_joint_scores_keep_the_rows_without_their_order():
    y, a, b = [0, 1, 1, 0, 1], [3.0, 1.0, 1.0, -np.inf, 1.0], [2, 2, 2, 0, 5]
    joint = JointScores.from_scores(y, {"a": a, "b": b})
    assert joint.weights.sum() == 5
    assert len(joint.cells) == 4  # (1, 1.0, 2) appears twice
    again = JointScores.from_scores(y[::-1], {"a": a[::-1], "b": b[::-1]})
    assert again == joint
    assert hash(again) == hash(joint)
    assert joint != JointScores.from_scores(y, {"a": a, "b": a})
    assert "models a, b, 4 distinct tuples" in repr(joint)


def test_joint_scores_know_the_positive_label():
    joint = JointScores.from_scores(["spam", "ham"], {"a": [2, 1]}, positive="spam")
    assert joint.classes == ("ham", "spam")
    assert float(auc(joint.table("a"))) == 1.0
    only = JointScores.from_scores(["spam", "spam"], {"a": [2, 1]}, positive="spam")
    assert only.cells[:, 0].tolist() == [1, 1]


def test_joint_scores_refuse_what_is_not_the_same_cases():
    with pytest.raises(InputError, match="same cases"):
        JointScores.from_scores([0, 1], {"a": [1, 2], "b": [1, 2, 3]})
    with pytest.raises(InputError, match="mapping from model"):
        JointScores.from_scores([0, 1], {})
    with pytest.raises(InputError, match="one of the models"):
        JointScores.from_scores([0, 1], {"a": [1, 2]}).table("z")
    with pytest.raises(InputError, match="ordered"):
        JointScores.from_scores([0, 1], {"a": [1, np.nan]})


@pytest.mark.parametrize("grouped", [False, True])
def test_joint_scores_of_chunks_add_up_to_those_of_all(grouped):
    rng = generator()
    y, site = rng.integers(0, 2, 60), np.array(["n", "s"])[np.arange(60) % 2]
    scores = {"a": np.round(rng.normal(y, 1), 1), "b": np.round(rng.normal(y, 1), 0)}
    by = site if grouped else None
    parts = [
        JointScores.from_scores(
            y[rows], {m: s[rows] for m, s in scores.items()}, by=None if by is None else by[rows]
        )
        for rows in (slice(0, 25), slice(25, 40), slice(40, 60))
    ]
    whole = JointScores.from_scores(y, scores, by=by)
    assert sum(parts) == whole
    if grouped:
        members = site == "s"
        alone = JointScores.from_scores(y[members], {m: s[members] for m, s in scores.items()})
        assert whole.group("s").table("a").n_cases == alone.n_cases
        np.testing.assert_allclose(auc(whole.group("s").table("a")), auc(alone.table("a")))
        assert len(list(whole)) == 2
        with pytest.raises(InputError, match="one of the groups"):
            whole.group("west")
        with pytest.raises(InputError, match="same leading axes"):
            _ = whole[:1] + whole
    units = JointScores.from_scores(y, scores, clusters=np.arange(60) // 4)
    with pytest.raises(InputError, match="name clusters cannot be added"):
        _ = units + units
    with pytest.raises(InputError, match="the models must be the same"):
        _ = JointScores.from_scores(y, {"a": y}) + JointScores.from_scores(y, {"b": y})


def test_joint_scores_of_clusters_are_resampled_cluster_by_cluster():
    rng = generator()
    y, unit = rng.integers(0, 2, 90), rng.integers(0, 12, 90)
    scores = {"a": np.round(rng.normal(y, 1), 1), "b": np.round(rng.normal(y, 1), 1)}
    joint = JointScores.from_scores(y, scores, by=unit)
    assert joint.weights.shape[0] == 12
    assert joint.groups == tuple(range(12))
    assert joint.table("a") == ScoreTable.from_scores(y, scores["a"], by=unit)
    assert Clusters().whole(joint) == JointScores.from_scores(y, scores)
    assert joint[3].n_cases == np.sum(unit == 3)
    gap = lambda j: auc(j.table("a")) - auc(j.table("b"))  # noqa: E731
    estimate = bootstrap(gap, joint, replicates=50, rng=rng, scheme=Clusters())
    assert float(estimate.value) == pytest.approx(float(gap(JointScores.from_scores(y, scores))))
    with pytest.raises(InputError, match="same cases"):
        JointScores.from_scores(y, scores, by=unit[1:])
