"""Proper scoring rules: slow twins, propriety, the decompositions of tables, and the claims."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.integrate import quad
from scipy.special import beta as whole_beta

from stakes import conditions, ranking, scoring, thresholds
from stakes._check import FloatArray
from stakes.errors import InputError
from stakes.scoring import (
    BetaScore,
    Brier,
    CostWeighted,
    HalfBrier,
    LogLoss,
    RankedProbability,
    Spherical,
)
from stakes.scoring.rules import _missed, incomplete_beta
from stakes.tally import ScoreTable

inf, nan = math.inf, math.nan
Rows = tuple[FloatArray, FloatArray, FloatArray]

DISTRIBUTIONS = {
    "uniform": conditions.Uniform(),
    "part": conditions.Uniform(0.2, 0.7),
    "beta": conditions.Beta(2, 3.5),
    "point": conditions.Point(0.5),
    "points": conditions.Points([0.1, 0.25, 0.9], [0.5, 0.3, 0.2]),
    "mixture": conditions.Mixture([conditions.Point(0.25), conditions.Beta(1, 2)], [0.4, 0.6]),
}
STRICT: dict[str, Any] = {
    "log": LogLoss(),
    "bits": LogLoss(base=2),
    "brier": Brier(),
    "half brier": HalfBrier(),
    "spherical": Spherical(),
    "ranked": RankedProbability(),
}
BINARY: dict[str, Any] = {
    "beta 0 0": BetaScore(0, 0),
    "boosting": BetaScore(-0.5, -0.5),
    "beta 3 0.2": BetaScore(3, 0.2),
    "beta -0.9 1.5": BetaScore(-0.9, 1.5),
    **{name: CostWeighted(distribution) for name, distribution in DISTRIBUTIONS.items()},
}
ANY = {**STRICT, **BINARY}


def simplex(size: int) -> st.SearchStrategy[FloatArray]:
    """Distributions over classes, certainty among them."""
    parts = st.tuples(*[st.sampled_from([0, 0, 1, 2, 3, 17, 0.01, 1e-9])] * size)
    return parts.filter(any).map(lambda values: np.array(values) / sum(values))


def rows_with(weight: st.SearchStrategy[float]) -> st.SearchStrategy[Rows]:
    """Cases of both classes with heavily tied probabilities; from balanced to 10⁴ to one."""
    scores = st.sampled_from([0.0, 0.1, 0.25, 0.5, 0.6, 0.9, 1.0])
    case = st.tuples(st.integers(0, 1), scores, weight)
    both = st.tuples(scores, scores, weight).map(lambda f: [(0, f[0], f[2]), (1, f[1], 1.0)])
    cases = st.tuples(both, st.lists(case, max_size=20)).map(lambda parts: parts[0] + parts[1])
    return cases.map(lambda all_: tuple(np.array(all_, dtype=float).T))


whole_rows = rows_with(st.integers(1, 3).map(float))
weighted_rows = rows_with(st.sampled_from([1.0, 2.0, 0.1, 0.7, 1e4, 1e-4]))


def table_of(rows: Rows) -> ScoreTable:
    y, scores, weights = rows
    return ScoreTable.from_scores(y, scores, weights=weights)


def close(a: Any, b: Any, tolerance: float = 1e-12) -> None:
    assert_allclose(a, b, rtol=tolerance, atol=tolerance)


# Rules -------------------------------------------------------------------------------------------


def slow_loss(rule: Any, q: list[float], k: int) -> float:
    """The loss by its definition, in plain Python."""
    if isinstance(rule, LogLoss):
        return inf if q[k] == 0 else -math.log(q[k]) / math.log(rule.base)
    if isinstance(rule, Spherical):
        return 1 - q[k] / math.sqrt(sum(p * p for p in q))
    if isinstance(rule, RankedProbability):
        steps = range(len(q) - 1)
        return sum((sum(q[: j + 1]) - (k <= j)) ** 2 for j in steps) / (len(q) - 1)
    squared = sum((p - (j == k)) ** 2 for j, p in enumerate(q))
    return squared if isinstance(rule, Brier) else squared / 2


@pytest.mark.parametrize("rule", STRICT.values(), ids=STRICT)
@given(st.integers(2, 5).flatmap(lambda size: st.tuples(simplex(size), st.integers(0, size - 1))))
def test_the_loss_of_a_case_is_its_definition(rule: Any, case: tuple[FloatArray, int]) -> None:
    q, k = case
    (loss,) = rule.losses(q[None], np.array([k]))
    close(loss, slow_loss(rule, q.tolist(), k))


@pytest.mark.parametrize("rule", ANY.values(), ids=ANY)
@given(st.data())
def test_no_forecast_beats_the_truth(rule: Any, data: st.DataObject) -> None:
    size = data.draw(st.integers(2, 4)) if rule in STRICT.values() else 2
    truth, forecast = data.draw(simplex(size)), data.draw(simplex(size))
    gain = rule.divergence(forecast, truth)
    assert gain >= -1e-12 * (1 + float(rule.entropy(truth)))
    if rule in STRICT.values() and np.abs(truth - forecast).max() > 1e-3:
        assert gain > 0


def test_an_improper_loss_fails_the_test_of_propriety() -> None:
    """The absolute error rewards exaggeration, so the law above can tell."""
    truth, exaggerated = 0.7, 1.0
    errors = [truth * (1 - q) + (1 - truth) * q for q in (exaggerated, truth)]
    assert errors[0] < errors[1]


def test_log_loss_is_infinite_where_a_forecast_rules_out_what_happened() -> None:
    assert scoring.case_scores([0, 1, 1], [1.0, 0.0, 1.0], LogLoss()).tolist() == [inf, inf, 0]
    assert scoring.mean_score([0, 1], [0.0, 0.0], LogLoss()) == inf
    assert scoring.mean_score([0, 1], [0.0, 0.0], LogLoss(), weights=[1, 0]) == 0
    assert scoring.mean_score([0, 1], [0.0, 0.0], LogLoss(), prior=[1, 0]) == 0
    assert float(LogLoss().entropy(np.array([1.0, 0.0]))) == 0
    certain = np.array([1.0, 0.0])
    close(BetaScore(0.5, 0.5).expected(certain, 1 - certain), math.pi / 2)
    assert float(BetaScore(0, 0).expected(certain, 1 - certain)) == inf


@pytest.mark.parametrize("base", [1, 0.5, 0, -2, nan, "2"])
def test_the_base_of_a_logarithm_is_above_one(base: Any) -> None:
    with pytest.raises(InputError, match="base must be"):
        LogLoss(base=base)


# Weights on cost proportions ---------------------------------------------------------------------

grid = np.concatenate([[0.0, 1e-12, 1e-5], np.linspace(0.01, 0.99, 23), [1 - 1e-7, 1.0]])
pairs = np.stack([1 - grid, grid], axis=1)


def both(rule: Any) -> FloatArray:
    return np.asarray(rule.losses_by_class(pairs))


def test_the_beta_family_holds_log_loss_boosting_and_brier() -> None:
    close(both(BetaScore(0, 0)), both(LogLoss()))
    close(both(BetaScore(1, 1)), both(HalfBrier()) / 2)
    with np.errstate(divide="ignore"):
        boosting = np.stack(
            [2 * np.sqrt(grid / (1 - grid)), 2 * np.sqrt((1 - grid) / grid)], axis=1
        )
    close(both(BetaScore(-0.5, -0.5)), boosting)


def test_the_beta_family_comes_close_to_the_zero_one_loss() -> None:
    sharp = both(BetaScore(300, 300)) * 2 / whole_beta(300, 300)
    wrong = np.stack([grid > 0.5, grid < 0.5], axis=1)
    decided = np.abs(grid - 0.5) > 0.1
    assert_allclose(sharp[decided], wrong[decided], atol=1e-5)


@given(st.floats(-0.98, 6), st.floats(-0.98, 6), st.floats(1e-6, 1 - 1e-6))
def test_the_beta_loss_is_its_integral(alpha: float, beta: float, q: float) -> None:
    """Over t = log(c / (1 − c)), where the integrand is smooth, whatever the parameters."""

    def integrand(t: float) -> float:  # (1 − c) ω(c) dc/dt
        log_c, log_rest = -math.log1p(math.exp(-t)), -math.log1p(math.exp(t))
        return math.exp(alpha * log_c + (beta + 1) * log_rest)

    low = math.log(q / (1 - q))
    ends = [low, low + 1, low + 5, low + 20, low + 100, max(low, 0) + 600]
    slow = sum(quad(integrand, *piece, epsabs=0, epsrel=1e-12)[0] for piece in pairwise(ends))
    rule = BetaScore(alpha, beta)
    rest = math.exp(-(beta + 1) * ends[-1]) / (beta + 1)  # beyond, c is one
    close(rule.losses(np.array([[1 - q, q]]), np.array([1]))[0], slow + rest, 1e-9)
    mirrored = BetaScore(beta, alpha).losses(np.array([[q, 1 - q]]), np.array([0]))
    close(mirrored[0], slow + rest, 1e-9)


def test_the_incomplete_beta_integral_is_smooth_through_zero_parameters() -> None:
    x = np.array([0.0, 1e-9, 0.3, 0.7, 0.99, 1 - 1e-9])
    for a in (0.05, 0.5, 1.0, 40.0):
        for b in (0.0, -0.5, 0.999999):
            here = incomplete_beta(x, 1 - x, a, b)
            close(incomplete_beta(x, 1 - x, a, b + 1e-13), here, 1e-10)
            derivative = x ** (a - 1) * (1 - x) ** (b - 1) if a >= 1 else None
            if derivative is not None:
                near = incomplete_beta(x[2:5] + 1e-6, 1 - x[2:5] - 1e-6, a, b) - here[2:5]
                assert_allclose(near / 1e-6, derivative[2:5], rtol=1e-3)


def test_the_incomplete_beta_integral_knows_how_far_from_one_it_is() -> None:
    tiny = np.array([1e-30, 1e-200])
    close(incomplete_beta(1 - tiny, tiny, 1.0, 0.0), -np.log(tiny))
    close(incomplete_beta(1 - tiny, tiny, 1.0, 0.01), (1 - tiny**0.01) / 0.01)
    assert incomplete_beta(np.array([1.0]), np.array([0.0]), 2.0, -0.3) == inf


def test_cost_weights_that_are_uniform_give_brier_and_a_single_one_the_error_rate() -> None:
    close(both(CostWeighted(conditions.Uniform())), both(HalfBrier()))
    wrong = np.stack([grid > 0.5, grid <= 0.5], axis=1)
    close(both(CostWeighted(conditions.Point(0.5))), wrong)


@given(st.floats(0.2, 8), st.floats(0.2, 8))
def test_a_normalised_beta_weight_is_the_beta_family_rescaled(a: float, b: float) -> None:
    scaled = both(BetaScore(a, b)) * 2 / whole_beta(a, b)
    close(both(CostWeighted(conditions.Beta(a, b))), scaled, 1e-10)


@pytest.mark.parametrize("distribution", DISTRIBUTIONS.values(), ids=DISTRIBUTIONS)
@given(weighted_rows)
def test_cost_weighted_rules_are_expected_losses_of_the_score_driven_method(
    distribution: Any, rows: Rows
) -> None:
    table = table_of(rows)
    condition = conditions.CostProportions(distribution)
    driven = thresholds.expected_loss(table, thresholds.ScoreDriven(), condition)
    close(scoring.table_score(table, CostWeighted(distribution)), driven)


def test_rules_for_two_classes_refuse_more() -> None:
    with pytest.raises(InputError, match="BetaScore is for two"):
        scoring.mean_score([0], [[0.2, 0.3, 0.5]], BetaScore(0, 0))


@pytest.mark.parametrize("bad", [(-1, 0), (0, -1.5), (nan, 0), (0, inf)])
def test_beta_parameters_lie_above_minus_one(bad: Any) -> None:
    with pytest.raises(InputError, match=r"alpha|beta"):
        BetaScore(*bad)


@pytest.mark.parametrize("parameters", [(600, 600), (1000, 1000), (1, 1e300), (1200, 400)])
def test_beta_parameters_whose_losses_are_too_small_for_numbers_are_refused(
    parameters: tuple[float, float],
) -> None:
    with pytest.raises(InputError, match=r"alpha and beta .* CostWeighted\(Beta\(alpha, beta\)\)"):
        BetaScore(*parameters)
    peaked = CostWeighted(conditions.Beta(600, 600))
    close(scoring.normalized_score([0, 1, 1], [0.3, 0.6, 0.4], peaked), 1.0, 1e-6)


def test_large_beta_parameters_that_leave_numbers_give_normalised_scores() -> None:
    y, q = [0, 1, 1], [0.3, 0.6, 0.4]
    for a, b in ((500, 500), (300, 100), (40, 900)):
        normalised = scoring.normalized_score(y, q, CostWeighted(conditions.Beta(a, b)))
        close(scoring.normalized_score(y, q, BetaScore(a, b)), normalised, 1e-8)


@pytest.mark.parametrize("bad", [None, 0.5, object()])
def test_a_distribution_without_partial_moments_is_refused(bad: Any) -> None:
    with pytest.raises(InputError, match="distribution must have partial moments"):
        CostWeighted(bad)


def test_rules_are_values() -> None:
    assert LogLoss(2) == LogLoss(base=2.0) != LogLoss()
    assert len({Brier(), Brier(), HalfBrier()}) == 2
    assert CostWeighted(conditions.Beta(2, 2)) == CostWeighted(conditions.Beta(2, 2))


# Cases -------------------------------------------------------------------------------------------


@st.composite
def forecasts(draw: st.DrawFn) -> tuple[Any, FloatArray, list[str], FloatArray, FloatArray]:
    """Labels, posteriors, class names, weights and a prior, for two to four classes."""
    size = draw(st.integers(2, 4))
    n = draw(st.integers(1, 12))
    names = ["w", "a", "m", "c"][:size]
    y = draw(st.lists(st.sampled_from(names), min_size=n, max_size=n))
    q = np.array([draw(simplex(size)) for _ in range(n)])
    weights = draw(st.lists(st.sampled_from([0, 1, 1, 2.5, 1e4]), min_size=n, max_size=n))
    assume(any(weights))
    return y, q, names, np.array(weights, dtype=float), draw(simplex(size))


def slow_mean(rule: Any, y: Any, q: Any, names: list[str], weights: Any, prior: Any) -> float:
    means: dict[str, float] = {}
    for name in names:
        members = [i for i, label in enumerate(y) if label == name and weights[i] > 0]
        mass = sum(weights[i] for i in members)
        total = sum(weights[i] * slow_loss(rule, list(q[i]), names.index(name)) for i in members)
        means[name] = total / mass if mass else nan
    if prior is None:
        mass = sum(weights)
        prior = [
            sum(w for w, label in zip(weights, y, strict=True) if label == name) / mass
            for name in names
        ]
    return float(sum(p * means[name] for p, name in zip(prior, names, strict=True) if p > 0))


@pytest.mark.parametrize("rule", STRICT.values(), ids=STRICT)
@pytest.mark.parametrize("deployed", [False, True])
@given(forecasts())
def test_the_mean_score_is_the_plain_sum_over_cases(rule: Any, deployed: bool, case: Any) -> None:
    y, q, names, weights, prior = case
    stated = prior if deployed else None
    mean = scoring.mean_score(y, q, rule, classes=names, weights=weights, prior=stated)
    close(mean, slow_mean(rule, y, q, names, weights, stated), 1e-11)


@given(forecasts())
def test_half_the_brier_score_is_the_half_brier_score(case: Any) -> None:
    y, q, names, weights, _ = case
    full, half = (
        scoring.mean_score(y, q, rule, classes=names, weights=weights)
        for rule in (Brier(), HalfBrier())
    )
    close(full, 2 * half)


def test_two_classes_may_come_as_the_posterior_of_the_second() -> None:
    y, q = ["no", "yes", "yes"], np.array([0.1, 0.8, 0.3])
    names = ["no", "yes"]
    for rule in ANY.values():
        short = scoring.mean_score(y, q, rule, classes=names)
        assert short == scoring.mean_score(y, np.stack([1 - q, q], 1), rule, classes=names)
        swapped = scoring.mean_score(y, np.stack([q, 1 - q], 1), rule, classes=names[::-1])
        if rule in STRICT.values():
            close(short, swapped)


@pytest.mark.parametrize("rule", ANY.values(), ids=ANY)
def test_one_is_the_normalised_score_of_the_prior_only_system(rule: Any) -> None:
    y, weights = [0, 0, 1, 1, 1], [1, 2, 3, 1, 1]
    close(scoring.normalized_score(y, [0.625] * 5, rule, weights=weights), 1)
    close(scoring.normalized_score(y, [0.2] * 5, rule, prior=[0.8, 0.2]), 1)


def test_a_normalised_score_without_uncertainty_is_nan_or_infinite() -> None:
    assert math.isnan(scoring.normalized_score([1, 1], [1.0, 1.0], Brier()))
    assert scoring.normalized_score([1, 1], [1.0, 0.9], Brier()) == inf
    assert math.isnan(scoring.mean_score([1, 1], [0.5, 0.5], Brier(), prior=[0.5, 0.5]))


def test_moments_hold_the_means_by_class_and_the_paired_differences() -> None:
    rng = np.random.default_rng(3)
    y = rng.integers(0, 3, 50)
    systems = {name: rng.dirichlet([1, 1, 1], 50) for name in ("old", "new")}
    weights = rng.integers(1, 4, 50)
    moments = scoring.score_moments(y, systems, LogLoss(), weights=weights)
    for j, q in enumerate(systems.values()):
        close(moments.mean()[j], scoring.mean_score(y, q, LogLoss(), weights=weights))
        prior = [0.5, 0.25, 0.25]
        deployed = scoring.mean_score(y, q, LogLoss(), weights=weights, prior=prior)
        close(moments.mean(prior)[j], deployed)
    losses = [scoring.case_scores(y, q, LogLoss()) for q in systems.values()]
    members = y == 1
    gap = np.cov(losses[0][members], losses[1][members], aweights=weights[members], ddof=0)
    close(moments.covariances[1], gap)


def test_labels_other_than_positions_must_be_named() -> None:
    with pytest.raises(InputError, match="classes must be stated"):
        scoring.mean_score(["a", "b"], [0.1, 0.2], Brier())
    with pytest.raises(InputError, match="classes must be 3 labels"):
        scoring.mean_score([0, 1], np.full((2, 3), 1 / 3), Brier(), classes=[0, 1])
    with pytest.raises(InputError, match=r"y_true must hold labels among 'a', 'b'"):
        scoring.mean_score(["a", "c"], [0.1, 0.2], Brier(), classes=["a", "b"])
    with pytest.raises(InputError, match="must describe the same cases"):
        scoring.mean_score([0, 1, 1], [0.1, 0.2], Brier())
    with pytest.raises(InputError, match="probabilities in"):
        scoring.mean_score([0, 1], [0.1, 1.2], Brier())
    assert scoring.mean_score([True, False], [1.0, 0.0], Brier()) == 0


# Tables ------------------------------------------------------------------------------------------

ON_TABLES: dict[str, Callable[[ScoreTable], FloatArray]] = {
    "brier": scoring.brier,
    "mean absolute error": scoring.mean_absolute_error,
    "spherical": lambda table: scoring.table_score(table, Spherical()),
    "normalised": lambda table: scoring.normalized_table_score(table, HalfBrier()),
    "log loss": scoring.log_loss,
    "calibration loss, each": lambda table: scoring.calibration_loss(table, scoring.EachScore()),
    "calibration loss, hull": lambda table: scoring.calibration_loss(table, scoring.HullBins()),
    "calibration loss, mass": lambda table: scoring.calibration_loss(table, scoring.EqualMass(3)),
    "refinement loss, hull": lambda table: scoring.refinement_loss(table, scoring.HullBins()),
    "refinement loss, width": lambda table: scoring.refinement_loss(table, scoring.EqualWidth(3)),
    "refinement loss, edges": lambda table: scoring.refinement_loss(table, scoring.Edges([0.3])),
}
on_tables = pytest.mark.parametrize("measure", ON_TABLES.values(), ids=ON_TABLES)


@given(weighted_rows)
def test_the_scores_of_a_table_are_those_of_its_cases(rows: Rows) -> None:
    y, q, weights = rows
    table = table_of(rows)
    for rule in ANY.values():
        mean = scoring.mean_score(y, q, rule, weights=weights)
        close(scoring.table_score(table, rule), mean, 1e-11)
        deployed = scoring.mean_score(y, q, rule, weights=weights, prior=[0.9, 0.1])
        close(scoring.table_score(table.with_prior([0.9, 0.1]), rule), deployed, 1e-11)
        normal = scoring.normalized_score(y, q, rule, weights=weights)
        close(scoring.normalized_table_score(table, rule), normal, 1e-10)
    absolute = np.average(np.abs(y - q), weights=weights)
    close(scoring.mean_absolute_error(table), absolute)


@on_tables
@given(whole_rows)
def test_weight_is_repetition_and_order_does_not_matter(
    measure: Callable[[ScoreTable], FloatArray], rows: Rows
) -> None:
    y, q, weights = rows
    often = np.repeat(np.arange(y.size), weights.astype(int))[::-1]
    close(measure(ScoreTable.from_scores(y[often], q[often])), measure(table_of(rows)))


@on_tables
@given(whole_rows, whole_rows)
def test_leading_axes_are_carried_through(
    measure: Callable[[ScoreTable], FloatArray], first: Rows, second: Rows
) -> None:
    parts = [np.concatenate(columns) for columns in zip(first, second, strict=True)]
    y, q, weights = parts
    by = np.repeat(["first", "second"], [first[0].size, second[0].size])
    both_ = ScoreTable.from_scores(y, q, weights=weights, by=by)
    close(measure(both_), [measure(table_of(first)), measure(table_of(second))])
    assert measure(both_).shape == (2,)


def test_scores_that_are_no_probabilities_are_refused_with_the_calibrators_named() -> None:
    table = ScoreTable([-1.0, 0.5], [[1, 1], [1, 1]])
    for measure in (scoring.brier, scoring.mean_absolute_error, scoring.log_loss):
        with pytest.raises(InputError, match=r"stakes\.calibration\.Isotonic"):
            measure(table)
    with pytest.raises(InputError, match="1 of 2 distinct scores"):
        scoring.calibration_loss(table, scoring.EachScore())
    assert float(scoring.refinement_loss(table, scoring.HullBins())) == 0.25


def test_a_single_class_and_a_single_case_have_scores() -> None:
    table = ScoreTable.from_scores([1], [0.25])
    assert float(scoring.brier(table)) == 0.5625
    assert float(scoring.calibration_loss(table, scoring.HullBins())) == 0.5625
    assert float(scoring.refinement_loss(table, scoring.HullBins())) == 0
    assert np.isnan(scoring.brier(table.with_prior([0.5, 0.5])))
    assert np.isnan(scoring.calibration_loss(table.with_prior([0.5, 0.5]), scoring.HullBins()))


def slow_bins(table: ScoreTable, numbers: list[int]) -> tuple[float, float]:
    """Calibration and refinement loss, bin by bin."""
    calibration = refinement = 0.0
    for number in set(numbers):
        members = [i for i, other in enumerate(numbers) if other == number]
        mass = sum(float(table.weights[i].sum()) for i in members)
        mean = sum(float(table.weights[i].sum() * table.scores[i]) for i in members) / mass
        share = sum(float(table.weights[i, 1]) for i in members) / mass
        calibration += mass * (mean - share) ** 2
        refinement += mass * share * (1 - share)
    total = float(table.n_cases)
    return calibration / total, refinement / total


BINS: dict[str, tuple[Any, Callable[[ScoreTable], list[int]]]] = {
    "each": (scoring.EachScore(), lambda table: list(range(table.scores.size))),
    "edges": (scoring.Edges([0.1, 0.6]), lambda t: [int(s > 0.1) + int(s > 0.6) for s in t.scores]),
    "width": (
        scoring.EqualWidth(4),
        lambda table: [max(math.ceil(s * 4) - 1, 0) for s in table.scores],
    ),
    "hull": (
        scoring.HullBins(),
        lambda table: [
            int(np.sum(ranking.roc_hull(table).thresholds[1:] < s)) for s in table.scores
        ],
    ),
}


@pytest.mark.parametrize(("bins", "slow"), BINS.values(), ids=BINS)
@given(weighted_rows)
def test_calibration_and_refinement_loss_are_sums_over_bins(
    bins: Any, slow: Callable[[ScoreTable], list[int]], rows: Rows
) -> None:
    table = table_of(rows)
    calibration, refinement = slow_bins(table, slow(table))
    close(scoring.calibration_loss(table, bins), calibration, 1e-10)
    close(scoring.refinement_loss(table, bins), refinement, 1e-10)


def test_bins_of_equal_mass_hold_equally_many_cases_unless_ties_forbid() -> None:
    table = ScoreTable.from_scores([0, 1] * 50, np.arange(100) / 100)
    assert np.bincount(scoring.EqualMass(4).numbers(table)).tolist() == [25] * 4
    assert scoring.EqualMass(3).cuts(table).size == 2
    tied = ScoreTable.from_scores([0, 1] * 3, [0.1, 0.5, 0.5, 0.5, 0.5, 0.9])
    assert scoring.EqualMass(3).numbers(tied).tolist() == [0, 1, 2]
    infinite = ScoreTable([-inf, 0.0, inf], [[1, 0], [1, 1], [0, 1]])
    cuts = scoring.EqualMass(3).cuts(infinite)
    assert np.isfinite(cuts).all()
    assert np.searchsorted(cuts, infinite.scores).tolist() == [0, 1, 2]


def test_a_cut_between_neighbouring_floats_is_the_lower_one() -> None:
    """Their midpoint rounds to the lower one, or to the upper one."""
    floats = np.array([1.0, np.nextafter(1, 2), 1 + 2**-51])
    for pair in (floats[:2], floats[1:]):
        cuts = scoring.EqualMass(2).cuts(ScoreTable(pair, [[1, 0], [0, 1]]))
        assert cuts.tolist() == [pair[0]]


def test_bins_refuse_what_makes_no_bins() -> None:
    with pytest.raises(InputError, match="count must be a whole number"):
        scoring.EqualWidth(2.5)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="count must be one real number"):
        scoring.EqualMass(0)
    with pytest.raises(InputError, match="edges must be increasing"):
        scoring.Edges([0.5, 0.5])


@given(weighted_rows)
def test_H8_brier_is_calibration_plus_refinement_for_bins_of_a_single_score(rows: Rows) -> None:
    table = table_of(rows)
    each = scoring.EachScore()
    parts = scoring.calibration_loss(table, each) + scoring.refinement_loss(table, each)
    close(scoring.brier(table), parts, 1e-10)


def test_H8_brier_is_not_calibration_plus_refinement_for_hull_bins() -> None:
    """The text has it backwards: pooling different scores into a hull bin loses their spread."""
    table = ScoreTable([0.1, 0.3, 0.8], [[2, 2], [3, 1], [1, 3]])
    hull = scoring.HullBins()
    parts = scoring.calibration_loss(table, hull) + scoring.refinement_loss(table, hull)
    assert scoring.brier(table) - parts > 0.004
    pooled = ranking.convexified(table)  # one score for each segment: then it is exact
    close(scoring.brier(pooled), parts)


@given(weighted_rows)
def test_H10_calibrated_scores_tie_brier_absolute_error_refinement_and_optimal_loss(
    rows: Rows,
) -> None:
    """hernandez-orallo, theorems 41 to 44: BS = MAE/2 = RL = optimal loss = π₀ s̄₀."""
    table = ranking.isotonic(table_of(rows))
    brier = scoring.brier(table)
    close(brier, scoring.mean_absolute_error(table) / 2, 1e-10)
    close(brier, scoring.refinement_loss(table, scoring.EachScore()), 1e-10)
    uniform = conditions.CostProportions()
    for method in (thresholds.Optimal(), thresholds.ScoreDriven()):
        close(thresholds.expected_loss(table, method, uniform), brier, 1e-10)
    negative, positive = table.weights.T / table.n_cases
    close(negative @ table.scores, brier, 1e-10)
    close(positive @ (1 - table.scores), brier, 1e-10)
    close(scoring.calibration_loss(table, scoring.EachScore()), 0, 1e-10)


# Pairs of classes ---------------------------------------------------------------------------------


def slow_one_vs_one(y: Any, q: Any, weights: Any) -> float:
    """Hand and Till 2001, eq 7, over all pairs of cases."""
    cases = list(zip(y, q, weights, strict=True))
    areas = []
    for k in range(len(q[0])):
        for other in range(len(q[0])):
            if k == other:
                continue
            won = total = 0.0
            for truth, posteriors, weight in cases:
                for rival, theirs, mass in cases:
                    if truth == k and rival == other:
                        total += weight * mass
                        tie = 0.5 * (posteriors[k] == theirs[k])
                        won += weight * mass * (tie + (posteriors[k] > theirs[k]))
            areas.append(won / total if total else math.nan)
    return sum(areas) / len(areas)


posterior_rows = st.sampled_from(
    [[0.5, 0.25, 0.25], [0.25, 0.5, 0.25], [0.25, 0.25, 0.5], [1.0, 0.0, 0.0], [0.0, 0.25, 0.75]]
)
pairwise_cases = st.lists(
    st.tuples(st.integers(0, 2), posterior_rows, st.sampled_from([1.0, 2.0, 0.5])),
    min_size=1,
    max_size=12,
)


@given(pairwise_cases)
def test_one_vs_one_auc_counts_pairs_of_cases(cases: Any) -> None:
    y, q, weights = zip(*cases, strict=True)
    area = scoring.one_vs_one_auc(y, q, weights=weights)
    np.testing.assert_allclose(area, slow_one_vs_one(y, q, weights), rtol=1e-12)
    order = [2, 0, 1]  # classes in another order
    turned = [[row[k] for k in order] for row in q]
    again = scoring.one_vs_one_auc(y, turned, classes=order, weights=weights)
    np.testing.assert_allclose(again, area, rtol=1e-12)


@given(whole_rows)
def test_one_vs_one_auc_of_two_classes_is_the_auc(rows: Rows) -> None:
    y, scores, weights = rows
    area = scoring.one_vs_one_auc(y.astype(int), scores, weights=weights)
    close(area, ranking.auc(table_of(rows)))


@pytest.mark.parametrize("p", [1e-10, 1e-13, 1e-17, 1e-300])
def test_the_log_loss_of_what_was_nearly_certain_keeps_its_digits(p):
    """−log(1 − p) is p and half its square, whatever 1 − p is rounded to."""
    right = p + p * p / 2
    assert scoring.log_loss(ScoreTable([p], [[1.0, 0.0]])) == pytest.approx(right, rel=1e-15)
    assert scoring.mean_score([0], [p], scoring.LogLoss()) == pytest.approx(right, rel=1e-15)


@pytest.mark.parametrize("other", [0.0, 5e-324, 1e-30, 1e-17, 3e-17, 1e-16, 1e-9, 0.1, 0.3, 0.49])
def test_the_log_loss_of_two_classes_is_that_of_the_smaller_probability(other: float) -> None:
    """1 − other is rounded; the loss is that of what it was rounded from."""
    loss = LogLoss().losses_of_two(np.array([1 - other]), np.array([other]))
    assert_allclose(loss, -math.log1p(-other), rtol=1e-15, atol=0)
    assert math.copysign(1, loss[0]) == 1


def test_what_the_true_class_lacks_is_its_own_where_probabilities_do_not_sum_to_one():
    result = _missed(np.array([0.75, 1 - 1e-12]), np.array([0.125, 1e-12]))
    assert result.tolist() == [0.25, 1e-12]
