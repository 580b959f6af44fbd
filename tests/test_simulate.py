"""Data with a known truth: ferrer-ec's gaussian classes, dyrland's random confusion matrices."""

from __future__ import annotations

import math
import pickle
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from scipy.optimize import minimize_scalar

from few_examples import at_most
from stakes import (
    Counts,
    InputError,
    Problem,
    bayes_decision_indices,
    bayes_decisions,
    expected_cost,
    normalized_cost,
    shift_prior,
)
from stakes.measures import decision_rates
from stakes.simulate import (
    Bells,
    GaussianWorld,
    _Cells,
    _log_sum,
    fixed,
    gaussian_classes,
    random_confusion,
    rising_rates,
    uniform_shares,
)

# ferrer-ec, Table 1 ------------------------------------------------------------------------------

PRIOR = np.array([0.8] + 9 * [0.2 / 9])
TEN = GaussianWorld(range(10), variance=0.2, prior=PRIOR)
LAST_IS_GRAVE = np.ones((10, 1))
LAST_IS_GRAVE[-1] = 100

PROBLEMS = {
    "C01": Problem.zero_one(10, prior=PRIOR),
    "CinvP": Problem.balanced(PRIOR),
    "Cimb": Problem(LAST_IS_GRAVE * (1 - np.eye(10)), prior=PRIOR),
    "Cabs1": Problem.zero_one(10, prior=PRIOR).with_abstention(0.05),
    "Cabs2": Problem.zero_one(10, prior=PRIOR).with_abstention(0.3),
}


def argmax_like(problem: Problem) -> Problem:
    """A problem with these decisions whose Bayes decisions are the most probable class."""
    zero_one = Problem.zero_one(10)
    return zero_one if problem.n_decisions == 10 else zero_one.with_abstention(1.0)


# Population values, recomputed independently of this library (claims E21): EC, NEC, abstention.
POPULATION = {
    ("C01", "argmax"): (0.0647047, 0.323523, None),
    ("C01", "bayes"): (0.0647047, 0.323523, None),
    ("CinvP", "argmax"): (0.279768, 0.310854, None),
    ("CinvP", "bayes"): (0.237197, 0.263552, None),
    ("Cimb", "argmax"): (0.354612, 0.362672, None),
    ("Cimb", "bayes"): (0.0788709, 0.0806634, None),
    ("Cabs1", "argmax"): (0.0647047, 1.294093, 0.0),
    ("Cabs1", "bayes"): (0.0171971, 0.343941, 0.2508),
    ("Cabs2", "argmax"): (0.0647047, 0.323523, 0.0),
    ("Cabs2", "bayes"): (0.0560548, 0.280274, 0.0763),
}
# As printed in Table 1: EC, NEC, abstention in per cent.
PRINTED = {
    ("C01", "argmax"): (0.06, 0.32, None),
    ("C01", "bayes"): (0.06, 0.32, None),
    ("CinvP", "argmax"): (0.28, 0.31, None),
    ("CinvP", "bayes"): (0.23, 0.26, None),
    ("Cimb", "argmax"): (0.36, 0.37, None),
    ("Cimb", "bayes"): (0.08, 0.08, None),
    ("Cabs1", "argmax"): (0.06, 1.29, 0),
    ("Cabs1", "bayes"): (0.02, 0.35, 25),
    ("Cabs2", "argmax"): (0.06, 0.32, 0),
    ("Cabs2", "bayes"): (0.06, 0.28, 7),
}
SYSTEMS = list(POPULATION)


@cache
def population(system: tuple[str, str]) -> Counts:
    problem = PROBLEMS[system[0]]
    return TEN.bayes_counts(problem if system[1] == "bayes" else argmax_like(problem))


def standard_deviation(rates: np.ndarray, costs: np.ndarray, n_per_class: np.ndarray) -> float:
    """Of the expected cost of a sample with fixed class counts: one multinomial per class."""
    means = (rates * costs).sum(axis=1)
    variances = (rates * costs**2).sum(axis=1) - means**2
    return float(np.sqrt(np.sum(PRIOR**2 * variances / n_per_class)))


@pytest.mark.parametrize("system", SYSTEMS, ids=" ".join)
def test_E21_population_values_come_out_to_the_digits_given(system):
    cost, normalized, abstained = POPULATION[system]
    counts, problem = population(system), PROBLEMS[system[0]]
    assert float(expected_cost(counts, problem)) == pytest.approx(cost, rel=2e-6)
    assert float(normalized_cost(counts, problem)) == pytest.approx(normalized, rel=2e-6)
    if abstained is not None:
        assert counts.values[:, -1].sum() == pytest.approx(abstained, abs=5e-5)


def test_E21_naive_decisions_of_the_five_problems():
    naive = {name: problem.naive for name, problem in PROBLEMS.items()}
    costs = {name: decision.cost for name, decision in naive.items()}
    expected = {"C01": 0.2, "CinvP": 0.9, "Cimb": 0.977778, "Cabs1": 0.05, "Cabs2": 0.2}
    assert costs == pytest.approx(expected, abs=5e-7)
    assert [naive[name].decision for name in PROBLEMS] == [0, 0, 9, "abstain", 0]
    assert len(naive["CinvP"].tied) == 10
    assert all(len(naive[name].tied) == 1 for name in PROBLEMS if name != "CinvP")


@pytest.mark.parametrize("system", SYSTEMS, ids=" ".join)
@pytest.mark.parametrize("n_cases", [10_000, 100_000])
def test_E21_a_simulated_run_lands_within_four_standard_deviations(system, n_cases):
    problem = PROBLEMS[system[0]]
    rule = problem if system[1] == "bayes" else argmax_like(problem)
    sample = gaussian_classes(
        n_cases, prior=PRIOR, variance=0.2, rng=np.random.default_rng(n_cases)
    )
    decided = bayes_decisions(sample.posteriors, rule)
    counts = Counts.from_decisions(sample.y_true, decided, problem)
    n_per_class = counts.values.sum(axis=1)
    rates = decision_rates(population(system))
    sd = standard_deviation(rates, problem.costs, n_per_class)
    distance = float(expected_cost(counts, problem) - expected_cost(population(system), problem))
    assert abs(distance) < 4 * sd
    assert sd < 0.06 * problem.naive.cost, "or the test would say nothing"
    abstains = np.array(problem.decisions) == "abstain"
    abstention = np.broadcast_to(abstains, problem.costs.shape).astype(float)
    sd = standard_deviation(rates, abstention, n_per_class)
    drawn = (decision_rates(counts) * abstention).sum(axis=1) @ PRIOR
    known = (rates * abstention).sum(axis=1) @ PRIOR
    assert abs(drawn - known) <= 4 * sd


@pytest.mark.parametrize("system", SYSTEMS, ids=" ".join)
def test_E21_the_printed_table_is_a_draw_from_this_population(system):
    """One draw of 10 000 cases, printed with two digits, abstention in whole per cent."""
    problem, counts = PROBLEMS[system[0]], population(system)
    rates, n_per_class = decision_rates(counts), np.rint(10_000 * PRIOR)
    sd = standard_deviation(rates, problem.costs, n_per_class)
    cost, normalized, abstained = PRINTED[system]
    naive = problem.naive.cost
    assert abs(cost - float(expected_cost(counts, problem))) < 0.005 + 4 * sd
    assert abs(normalized - float(normalized_cost(counts, problem))) < 0.005 + 4 * sd / naive
    if abstained is not None:
        abstention = np.zeros_like(problem.costs)
        abstention[:, -1] = 1
        sd = standard_deviation(rates, abstention, n_per_class)
        assert abs(abstained / 100 - counts.values[:, -1].sum()) <= 0.005 + 4 * sd


def test_E21_a_standard_deviation_of_that_size_would_not_give_the_table():
    """Table 1 needs variance 0.2; standard deviation 0.2 has an error rate below one per cent."""
    narrow = GaussianWorld(range(10), variance=0.2**2, prior=PRIOR)
    assert float(expected_cost(narrow.bayes_counts(PROBLEMS["C01"]), PROBLEMS["C01"])) < 0.01


# ferrer-ec, Figures 1 and 2 ----------------------------------------------------------------------


def one_minus_f1(table: np.ndarray) -> float:
    (_, false_alarms), (misses, hits) = table
    return 1 - 2 * hits / (2 * hits + false_alarms + misses)


def minus_mcc(table: np.ndarray) -> float:
    margins = np.prod(table.sum(axis=0)) * np.prod(table.sum(axis=1))
    return -float(np.linalg.det(table)) / math.sqrt(margins)


def best_threshold(world: GaussianWorld, loss) -> float:
    optimum = minimize_scalar(
        lambda t: loss(world.threshold_counts(t).values),
        bounds=(-3, 3),
        method="bounded",
        options={"xatol": 1e-9},
    )
    return float(optimum.x)


HARD = GaussianWorld([0, 1], variance=0.20, prior=[0.8, 0.2])
EASY = GaussianWorld([0, 1], variance=0.06, prior=[0.8, 0.2])


@pytest.mark.parametrize(
    ("world", "loss", "threshold"),
    [
        (HARD, one_minus_f1, -0.499197),
        (HARD, minus_mcc, -0.342164),
        (EASY, one_minus_f1, -0.0793176),
    ],
)
def test_E20_the_population_optimum_of_f1_and_mcc(world, loss, threshold):
    assert best_threshold(world, loss) == pytest.approx(threshold, abs=6e-7)


def test_E20_f1_implies_another_cost_in_each_of_the_two_worlds():
    assert math.exp(-best_threshold(HARD, one_minus_f1)) == pytest.approx(1.647398, abs=6e-7)
    assert math.exp(-best_threshold(EASY, one_minus_f1)) == pytest.approx(1.082548, abs=6e-7)


@pytest.mark.parametrize("world", [HARD, EASY])
@pytest.mark.parametrize("miss", [1.0, 4.0, 16.0])
def test_E20_a_normalized_cost_is_optimal_at_its_bayes_threshold(world, miss):
    problem = Problem.binary(false_alarm=1, miss=miss)
    grid = problem.log_odds_threshold + np.linspace(-2, 2, 401)
    costs = normalized_cost(world.threshold_counts(grid), problem)
    assert np.argmin(costs) == 200
    best = normalized_cost(world.bayes_counts(problem), problem)
    assert costs[200] == pytest.approx(float(best), abs=1e-10)


# ferrer-ec, appendix D ---------------------------------------------------------------------------


def test_E22_class_counts_are_the_nearest_whole_numbers():
    sample = gaussian_classes(100_000, prior=PRIOR, variance=0.2, rng=np.random.default_rng(1))
    labels, counts = np.unique(sample.y_true, return_counts=True)
    assert labels.tolist() == list(range(10))
    assert counts.tolist() == [80_000] + 9 * [2_222]
    assert sample.features.shape == (99_998,)
    assert sample.posteriors.shape == (99_998, 10)


@pytest.mark.parametrize(
    ("n_cases", "prior", "expected"),
    [
        (10, [0.66, 0.34], [7, 3]),
        (5, [1 / 3, 1 / 3, 1 / 3], [2, 2, 2]),  # one more than asked for
        (100, [0.994, 0.006], [99, 1]),
        (100, [0.996, 0.004], [100, 0]),
    ],
)
def test_E22_shares_of_cases_round_to_the_nearest_number(n_cases, prior, expected):
    sample = gaussian_classes(n_cases, prior=prior, variance=1, rng=np.random.default_rng(1))
    assert np.bincount(sample.y_true, minlength=len(prior)).tolist() == expected


def test_E22_features_are_normal_about_the_class_number():
    sample = gaussian_classes(
        20_000, prior=[0.5, 0.3, 0.2], variance=[0.2, 1.0, 0.05], rng=np.random.default_rng(2)
    )
    for label, variance in enumerate([0.2, 1.0, 0.05]):
        features = sample.features[sample.y_true == label]
        fit = stats.kstest(features, stats.norm(label, math.sqrt(variance)).cdf)
        assert fit.pvalue > 1e-3


def slow_posteriors(world: GaussianWorld, features: np.ndarray) -> np.ndarray:
    """Eq 30, one case and one class after the other."""
    rows = []
    for x in features:
        joint = [
            share * stats.norm.pdf(x, mean, math.sqrt(variance))
            for mean, variance, share in zip(world.means, world.variances, world.prior, strict=True)
        ]
        rows.append([value / sum(joint) for value in joint])
    return np.array(rows)


def test_E22_posteriors_come_from_the_known_densities():
    rng = np.random.default_rng(3)
    sample = gaussian_classes(200, prior=[0.5, 0.3, 0.2], variance=[0.2, 1.0, 0.05], rng=rng)
    expected = slow_posteriors(sample.world, sample.features)
    np.testing.assert_allclose(sample.posteriors, expected, rtol=1e-10, atol=1e-300)


def test_E22_posteriors_are_calibrated():
    """Among the cases that are given probability p of a class, a share p has it."""
    sample = gaussian_classes(
        100_000, prior=[0.6, 0.3, 0.1], variance=0.5, rng=np.random.default_rng(4)
    )
    for label in range(3):
        p, hit = sample.posteriors[:, label], sample.y_true == label
        bins = np.minimum((10 * p).astype(int), 9)
        n = np.bincount(bins, minlength=10)
        excess = np.bincount(bins, hit - p, minlength=10)
        sd = np.sqrt(np.bincount(bins, p * (1 - p), minlength=10))
        assert (np.abs(excess[n > 0]) < 4 * sd[n > 0]).all()


def test_posteriors_far_from_every_class_neither_overflow_nor_vanish():
    world = GaussianWorld([0, 1], variance=1e-4, prior=[0.5, 0.5])
    np.testing.assert_array_equal(world.posteriors([-50.0, 60.0]), [[1, 0], [0, 1]])
    np.testing.assert_allclose(world.log_odds([-50.0, 60.0]), [-505_000, 595_000])


# The population table ----------------------------------------------------------------------------

shares = st.lists(st.floats(0.05, 1), min_size=4, max_size=4)
spots = st.lists(st.floats(-3, 3), min_size=4, max_size=4)
spreads = st.lists(st.floats(0.05, 4), min_size=4, max_size=4)
prices = st.lists(st.sampled_from([0.0, 0.1, 0.5, 1.0, 5.0]), min_size=15, max_size=15)


@st.composite
def worlds(draw: st.DrawFn, n_classes: int = 3) -> GaussianWorld:
    share = np.array(draw(shares)[:n_classes])
    world = GaussianWorld(
        draw(spots)[:n_classes],
        variance=draw(spreads)[:n_classes],
        prior=share / share.sum(),
    )
    return world.misreported(
        temperature=draw(st.sampled_from([0.5, 1.0, 3.0])),
        bias=draw(st.sampled_from([[0.0, 0.0, 0.0], [0.3, -1.0, 0.5]]))[:n_classes],
    )


@st.composite
def problems(draw: st.DrawFn) -> Problem:
    """Three classes, four decisions, many equal costs."""
    return Problem(np.array(draw(prices)[:12]).reshape(3, 4))


def grid_table(world: GaussianWorld, problem: Problem, steps: int) -> tuple[np.ndarray, float]:
    """Ask for the decision at many points of the line; also the most that this can be wrong."""
    sd = np.sqrt(world.variances)
    edges = np.linspace((world.means - 8 * sd).min(), (world.means + 8 * sd).max(), steps + 1)
    decisions = bayes_decision_indices(world.posteriors((edges[1:] + edges[:-1]) / 2), problem)
    table = np.zeros(problem.costs.shape)
    for k in range(world.n_classes):
        mass = np.diff(stats.norm.cdf(edges, world.means[k], sd[k]))
        for d in range(problem.n_decisions):
            table[k, d] = world.prior[k] * mass[decisions == d].sum()
    changes = np.count_nonzero(np.diff(decisions)) + 1
    return table, changes * (edges[1] - edges[0]) / (2 * sd.min())


@given(worlds(), problems())
def test_population_tables_are_the_limit_of_asking_everywhere(world, problem):
    twin, error = grid_table(world, problem, 20_000)
    np.testing.assert_allclose(world.bayes_counts(problem).values, twin, atol=error)


@given(worlds(2), st.floats(0.01, 100))
def test_bayes_decisions_of_two_classes_are_a_threshold_on_log_odds(world, miss):
    """The certified search and the closed form agree, for log-odds that rise, fall or do both."""
    problem = Problem.binary(false_alarm=1, miss=miss)
    searched = world.bayes_counts(problem).values
    closed = world.threshold_counts(problem.log_odds_threshold).values
    # At the very top of log-odds that rise and fall, rounding is as wide as its square root.
    np.testing.assert_allclose(searched, closed, atol=1e-6)
    if np.ptp(world.variances) == 0:
        np.testing.assert_allclose(searched, closed, atol=1e-10)


@pytest.mark.parametrize("prior", [[0.5, 0.5], [0.9, 0.1], [1.0, 0.0], [0.0, 1.0]])
@pytest.mark.parametrize("variance", [0.2, [1.0, 0.3], [0.3, 1.0]])
@pytest.mark.parametrize("means", [[0, 1], [1, 0], [0, 0]])
def test_threshold_counts_ask_log_odds_at_every_point(means, variance, prior):
    world = GaussianWorld(means, variance=variance, prior=prior)
    edges = np.linspace(-8, 9, 40_001)
    with np.errstate(divide="ignore"):
        log_odds = world.log_odds((edges[1:] + edges[:-1]) / 2)
    thresholds = np.array([[-np.inf, -3.0, -0.7], [0.0, 1.5, np.inf]])
    counts = world.threshold_counts(thresholds).values
    assert counts.shape == (2, 3, 2, 2)
    for place in np.ndindex(2, 3):
        for k in range(2):
            mass = np.diff(stats.norm.cdf(edges, means[k], math.sqrt(world.variances[k])))
            positive = prior[k] * mass[log_odds > thresholds[place]].sum()
            assert counts[(*place, k, 1)] == pytest.approx(positive, abs=2e-3)
            assert counts[place][k].sum() == pytest.approx(prior[k], abs=1e-12)


def test_thresholds_above_the_top_of_the_log_odds_and_below_their_bottom():
    narrow = GaussianWorld([0, 0], variance=[1, 0.25], prior=[2 / 3, 1 / 3])  # at most log-odds 0
    assert narrow.threshold_counts(0.1).values[:, 1].tolist() == [0, 0]
    assert (narrow.threshold_counts(-0.1).values[:, 1] > 0).all()
    wide = GaussianWorld([0, 0], variance=[0.25, 1], prior=[1 / 3, 2 / 3])  # at least 0
    assert wide.threshold_counts(-0.1).values[:, 0].tolist() == [0, 0]
    assert (wide.threshold_counts(0.1).values[:, 0] > 0).all()


def test_a_decision_that_is_best_in_a_sliver_only_is_not_missed():
    """Two millionths of a standard deviation, where a rare narrow class hides in a wide one."""
    world = GaussianWorld([0, 0.3], variance=[1, 1e-14], prior=[1 - 1e-7, 1e-7])
    problem = Problem.zero_one(2)
    table = world.bayes_counts(problem).values
    np.testing.assert_allclose(table, world.threshold_counts(0.0).values, rtol=1e-4, atol=1e-15)
    assert 0 < table[0, 1] < 1e-6


def test_rare_mistakes_have_their_relative_precision():
    world = GaussianWorld([0, 1], variance=0.005, prior=[0.5, 0.5])
    error = stats.norm.sf(0.5 / math.sqrt(0.005)) / 2  # 8e-13
    table = world.bayes_counts(Problem.zero_one(2)).values
    np.testing.assert_allclose([table[0, 1], table[1, 0]], error, rtol=1e-9)
    np.testing.assert_allclose(world.threshold_counts(0.0).values[0, 1], error, rtol=1e-12)


def test_ties_go_where_bayes_decisions_send_them():
    """Far from the second class the first two decisions cost the same, to rounding."""
    world = GaussianWorld([0, 1], variance=0.0004, prior=[0.5, 0.5])
    problem = Problem([[0, 0, 1], [1, 0.2, 0]], decisions=["ignore", "log", "act"])
    np.testing.assert_allclose(
        world.bayes_counts(problem).values, [[0.5, 0, 0], [0, 0, 0.5]], atol=1e-12
    )
    assert bayes_decisions(world.posteriors([0.0, 1.0]), problem).tolist() == ["ignore", "act"]


def test_classes_that_look_alike_leave_the_naive_decision():
    world = GaussianWorld([1, 1], variance=2, prior=[0.5, 0.5])
    assert world.bayes_counts(Problem.zero_one(2)).values.tolist() == [[0.5, 0], [0.5, 0]]
    prior = [0.3, 0.7]
    world = GaussianWorld([1, 1], variance=2, prior=prior)
    problem = Problem.binary(false_alarm=3, miss=1, prior=prior)
    assert float(normalized_cost(world.bayes_counts(problem), problem)) == pytest.approx(1)


def test_classes_that_look_alike_are_decided_as_one():
    """Here they tie the first two decisions wherever the third class is out of sight."""
    twins = GaussianWorld([-1, -1, 2], variance=[4, 4, 0.05], prior=[0.4, 0.4, 0.2])
    costs = np.array([[1.0, 0.0, 0.2], [0.0, 1.0, 0.2], [5.0, 5.0, 0.0]])
    merged = GaussianWorld([-1, 2], variance=[4, 0.05], prior=[0.8, 0.2])
    known = merged.bayes_counts(Problem([[0.5, 0.5, 0.2], [5.0, 5.0, 0.0]])).values
    tied = twins.bayes_counts(Problem(costs)).values
    np.testing.assert_allclose(tied[:2], np.array([known[0], known[0]]) / 2, atol=1e-12)
    np.testing.assert_allclose(tied[2], known[1], atol=1e-12)
    tied = twins.bayes_counts(Problem(costs[:, :2])).values
    np.testing.assert_allclose(tied, [[0.4, 0], [0.4, 0], [0.2, 0]], atol=1e-12)


def test_a_class_of_prior_zero_is_never_decided_for_and_never_drawn():
    world = GaussianWorld([0, 1, 2], variance=0.2, prior=[0.5, 0.0, 0.5])
    table = world.bayes_counts(Problem.zero_one(3)).values
    assert table[1].tolist() == [0, 0, 0]
    assert table[:, 1] == pytest.approx(np.zeros(3), abs=1e-11)
    sample = world.sample(100, rng=np.random.default_rng(0))
    assert set(sample.y_true) == {0, 2}
    assert (sample.posteriors[:, 1] == 0).all()


# Invariances -------------------------------------------------------------------------------------


@pytest.mark.slow
@given(worlds(), problems(), st.floats(0.1, 10), st.floats(-5, 5))
@at_most(25)
def test_affine_costs_and_regrets_decide_alike(world, problem, factor, constant):
    """dyrland, eq 11, and ferrer-ec, section 2. Ties move with the largest cost, at no cost."""
    table = world.bayes_counts(problem)
    for other in (Problem(factor * problem.costs + constant), problem.regret()):
        moved = world.bayes_counts(other)
        cost = expected_cost(table, problem)
        assert float(expected_cost(moved, problem)) == pytest.approx(float(cost), abs=1e-9)


@pytest.mark.slow
@given(worlds(), problems(), st.permutations(range(3)))
@at_most(25)
def test_the_order_of_the_classes_does_not_matter(world, problem, order):
    order = list(order)
    turned = GaussianWorld(
        world.means[order], variance=world.variances[order], prior=world.prior[order]
    ).misreported(temperature=world.temperature, bias=world.bias[order])
    table = turned.bayes_counts(Problem(problem.costs[order])).values
    np.testing.assert_allclose(table, world.bayes_counts(problem).values[order], atol=1e-6)


@pytest.mark.slow
@given(worlds(), problems(), st.floats(-20, 20), st.sampled_from([0.01, -1.0, 30.0]))
@at_most(25)
def test_where_the_line_starts_and_its_unit_do_not_matter(world, problem, start, unit):
    moved = GaussianWorld(
        start + unit * world.means, variance=unit**2 * world.variances, prior=world.prior
    ).misreported(temperature=world.temperature, bias=world.bias)
    np.testing.assert_allclose(
        moved.bayes_counts(problem).values, world.bayes_counts(problem).values, atol=1e-6
    )


@given(worlds(), problems())
def test_tables_hold_the_prior_and_nothing_negative(world, problem):
    table = world.bayes_counts(problem)
    assert (table.values >= 0).all()
    np.testing.assert_allclose(table.values.sum(axis=1), world.prior, atol=1e-12)
    assert table.decisions == problem.decisions
    assert table.classes == world.classes


# Misreporting ------------------------------------------------------------------------------------


@given(worlds())
def test_temperature_one_and_bias_zero_report_the_same(world):
    assert world.misreported(temperature=1, bias=[0, 0, 0]) == world
    assert world.misreported() == world


@given(worlds(), st.floats(0.2, 5), st.floats(0.2, 5))
def test_misreporting_follows_the_formula_and_composes(world, first, second):
    b1, b2 = np.array([0.5, 0.0, -1.0]), np.array([0.0, 2.0, 0.1])
    features = np.linspace(-2, 2, 9)
    scaled = np.log(world.posteriors(features)) / first + b1
    expected = np.exp(scaled) / np.exp(scaled).sum(axis=1, keepdims=True)
    once = world.misreported(temperature=first, bias=b1)
    np.testing.assert_allclose(once.posteriors(features), expected, rtol=1e-7, atol=1e-100)
    scaled = scaled / second + b2
    expected = np.exp(scaled) / np.exp(scaled).sum(axis=1, keepdims=True)
    twice = once.misreported(temperature=second, bias=b2)
    np.testing.assert_allclose(twice.posteriors(features), expected, rtol=1e-7, atol=1e-100)


def test_a_bias_can_be_the_belief_in_another_prior():
    world = GaussianWorld([0, 1, 2], variance=0.5, prior=[0.6, 0.3, 0.1])
    believed = np.array([0.2, 0.2, 0.6])
    deluded = world.misreported(bias=np.log(believed / world.prior))
    features = np.linspace(-1, 3, 20)
    np.testing.assert_allclose(
        deluded.posteriors(features),
        shift_prior(world.posteriors(features), world.prior, believed),
    )


@pytest.mark.slow
@given(worlds(), problems())
@at_most(25)
def test_nobody_decides_better_than_the_one_who_reports_the_truth(world, problem):
    honest = GaussianWorld(world.means, variance=world.variances, prior=world.prior)
    least = float(expected_cost(honest.bayes_counts(problem), problem))
    assert float(expected_cost(world.bayes_counts(problem), problem)) >= least - 1e-11


def test_temperature_does_not_move_the_most_probable_class():
    problem = Problem.zero_one(10)
    hot = TEN.misreported(temperature=4)
    np.testing.assert_allclose(
        hot.bayes_counts(problem).values, TEN.bayes_counts(problem).values, atol=1e-10
    )
    abstaining = problem.with_abstention(0.3)
    shares_abstained = [
        world.bayes_counts(abstaining).values[:, -1].sum()
        for world in (TEN.misreported(temperature=0.5), TEN, hot)
    ]
    assert shares_abstained == sorted(shares_abstained), "underconfidence abstains more"


def test_a_sample_can_be_reported_again_with_the_same_cases():
    sample = gaussian_classes(50, prior=[0.5, 0.5], variance=0.3, rng=np.random.default_rng(5))
    hot = sample.misreported(temperature=2, bias=[0, 0.4])
    assert (hot.features == sample.features).all()
    assert (hot.y_true == sample.y_true).all()
    log_odds = sample.world.log_odds(sample.features)
    np.testing.assert_allclose(hot.world.log_odds(sample.features), log_odds / 2 + 0.4)
    np.testing.assert_allclose(hot.posteriors[:, 1], 1 / (1 + np.exp(-log_odds / 2 - 0.4)))


# Samples and worlds as values --------------------------------------------------------------------


def test_a_seed_repeats_a_sample_and_another_does_not():
    first, again, other = (TEN.sample(500, rng=np.random.default_rng(seed)) for seed in (1, 1, 2))
    assert first == again
    assert hash(first) == hash(again)
    assert first != other
    assert pickle.loads(pickle.dumps(first)) == first


def test_labels_are_those_of_the_world():
    sample = gaussian_classes(
        10,
        prior={"cat": 0.7, "dog": 0.3},
        variance=0.1,
        classes=["cat", "dog"],
        rng=np.random.default_rng(6),
    )
    assert sample.y_true.tolist() == 7 * ["cat"] + 3 * ["dog"]
    problem = Problem.zero_one(["cat", "dog"])
    assert sample.world.bayes_counts(problem).classes == ("cat", "dog")
    with pytest.raises(InputError, match="the classes of world and problem must be the same"):
        sample.world.bayes_counts(Problem.zero_one(["dog", "cat"]))


def test_independent_cases_are_a_multinomial_of_class_counts():
    rng = np.random.default_rng(7)
    world = GaussianWorld([0, 2], variance=1, prior=[0.3, 0.7])
    each = rng.multinomial(1000, world.prior)
    sample = world.sample_each(each, rng=rng)
    assert np.bincount(sample.y_true).tolist() == each.tolist()


def test_arrays_inside_are_read_only():
    sample = TEN.sample(20, rng=np.random.default_rng(8))
    for array in (TEN.means, TEN.variances, TEN.prior, TEN.bias, sample.features, sample.y_true):
        assert not array.flags.writeable
    assert not sample.posteriors.flags.writeable
    assert not TEN.bayes_counts(PROBLEMS["C01"]).values.flags.writeable


def test_a_world_says_what_it_is():
    world = GaussianWorld([0, 1], variance=0.2, prior=[0.8, 0.2], classes=["no", "yes"])
    assert repr(world) == "GaussianWorld('no' N(0, 0.2) 0.8, 'yes' N(1, 0.2) 0.2)"
    assert repr(world.misreported(temperature=2)).endswith(", misreported)")
    sample = world.sample(10, rng=np.random.default_rng(9))
    assert repr(sample) == f"10 simulated cases of {world!r}"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"variance": 0.0}, r"variance must be positive; the smallest is 0"),
        ({"variance": [1.0, -2.0]}, r"variance must be positive; the smallest is -2"),
        ({"variance": [1.0, 1.0, 1.0]}, r"variance must be one number or one for each of the 2"),
        ({"variance": math.nan}, r"variance must hold finite numbers"),
        ({"prior": [0.5, 0.6]}, r"prior must sum to one; it sums to 1\.1"),
        ({"prior": [1.0]}, r"prior must hold one probability for each of the 2 classes"),
        ({"means": [0.0, math.inf]}, r"means must hold finite numbers"),
        ({"means": []}, r"means must hold one number for each class"),
        ({"classes": ["a"]}, r"means must hold one number for each class; it holds 2"),
    ],
)
def test_a_world_that_cannot_be_is_refused(changes, message):
    settings = {"means": [0, 1], "variance": 1.0, "prior": [0.5, 0.5], **changes}
    with pytest.raises(InputError, match=message):
        GaussianWorld(settings.pop("means"), **settings)


def test_questions_that_a_world_cannot_answer_are_refused():
    three = GaussianWorld([0, 1, 2], variance=1, prior=[0.2, 0.3, 0.5])
    rng = np.random.default_rng(10)
    with pytest.raises(InputError, match="log-odds want a world of two classes; this one has 3"):
        three.log_odds([0.0])
    with pytest.raises(InputError, match="log-odds want a world of two classes; this one has 3"):
        three.threshold_counts(0.0)
    with pytest.raises(InputError, match="log_odds must hold numbers that can be ordered"):
        HARD.threshold_counts([0.0, math.nan])
    with pytest.raises(InputError, match="bias must hold one number for each of the 3 classes"):
        three.misreported(bias=[1.0])
    with pytest.raises(InputError, match="temperature must be positive; the smallest is 0"):
        three.misreported(temperature=0)
    with pytest.raises(InputError, match="n_cases must be one real number"):
        three.sample(0, rng=rng)
    with pytest.raises(InputError, match="rng must be a numpy Generator; got NoneType None"):
        three.sample(9, rng=None)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="n_per_class must hold a whole number of cases"):
        three.sample_each([1.5, 2, 3], rng=rng)
    with pytest.raises(InputError, match="n_per_class must hold a whole number of cases"):
        three.sample_each([1, 2], rng=rng)
    with pytest.raises(InputError, match="prior must hold one probability for each class"):
        gaussian_classes(10, prior=0.8, variance=1, rng=rng)


# dyrland's random confusion matrices -------------------------------------------------------------


def test_D7_rates_have_density_8_times_r_minus_a_half():
    counts = random_confusion(
        5_000, 2, share=uniform_shares, correct_rates=rising_rates, rng=np.random.default_rng(11)
    )
    rates = decision_rates(counts)
    correct = np.stack([rates[..., 0, 0], rates[..., 1, 1]])
    assert stats.kstest(correct.ravel(), lambda r: 4 * (r - 0.5) ** 2).pvalue > 1e-3
    assert ((correct >= 0.5) & (correct <= 1)).all()
    # "median of 0.85, lower and upper quartiles at 0.75 and 0.93"
    np.testing.assert_allclose(
        np.quantile(correct, [0.25, 0.5, 0.75]), [0.75, 0.85, 0.93], atol=0.01
    )
    # independent of each other, of the other model and of the class share
    columns = np.column_stack(
        [correct.transpose(1, 2, 0).reshape(5_000, 4), counts.shares[:, 0, 1]]
    )
    assert np.abs(np.corrcoef(columns.T) - np.eye(5)).max() < 4 / math.sqrt(5_000)


def test_D7_the_models_of_one_problem_share_its_class_shares():
    counts = random_confusion(
        3_000, 3, share=uniform_shares, correct_rates=rising_rates, rng=np.random.default_rng(12)
    )
    assert counts.values.shape == (3_000, 3, 2, 2)
    np.testing.assert_allclose(counts.n_cases, 1)
    positive = counts.shares[..., 1]
    np.testing.assert_allclose(positive, np.repeat(positive[:, :1], 3, axis=1))
    assert stats.kstest(positive[:, 0], "uniform").pvalue > 1e-3


def test_D7_every_distribution_is_an_argument():
    beta = stats.beta(8, 2)
    counts = random_confusion(
        4,
        2_000,
        share=fixed(0.9),
        correct_rates=lambda rng, size: beta.rvs(size=size, random_state=rng),
        rng=np.random.default_rng(13),
    )
    np.testing.assert_allclose(counts.shares, np.broadcast_to([0.1, 0.9], (4, 2_000, 2)))
    rates = decision_rates(counts)
    assert stats.kstest(rates[..., 0, 0].ravel(), beta.cdf).pvalue > 1e-3
    assert stats.kstest(rates[..., 1, 1].ravel(), beta.cdf).pvalue > 1e-3


def test_D7_a_seed_repeats_the_tables():
    first, again = (
        random_confusion(
            10, 2, share=uniform_shares, correct_rates=rising_rates, rng=np.random.default_rng(1)
        )
        for _ in range(2)
    )
    assert first == again


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"share": lambda rng, size: np.full(size, 1.5)}, r"share must hold probabilities in"),
        ({"correct_rates": lambda rng, size: np.ones(3)}, r"correct_rates must draw an array"),
        ({"n_models": 0}, r"n_models must be one real number"),
        ({"n_problems": 2.5}, r"n_problems must be a whole number; got 2\.5"),
        ({"rng": 7}, r"rng must be a numpy Generator; got int 7\. .*default_rng\(7\)"),
    ],
)
def test_samplers_and_sizes_are_checked(changes, message):
    settings = {
        "n_problems": 5,
        "n_models": 2,
        "share": uniform_shares,
        "correct_rates": rising_rates,
        "rng": np.random.default_rng(0),
        **changes,
    }
    with pytest.raises(InputError, match=message):
        random_confusion(**settings)
    with pytest.raises(InputError, match="value must be one real number within"):
        fixed(2)


def test_samples_that_would_not_fit_are_refused():
    refusal = r"^n_cases must be one real number within \[1, 1e\+08\]"
    with pytest.raises(InputError, match=refusal):
        gaussian_classes(10**12, prior=PRIOR, variance=1, rng=np.random.default_rng(0))


def test_within_a_cell_the_log_ratio_rises_no_further_than_its_bound():
    rng = np.random.default_rng(0)
    parts = np.linspace(-1, 1, 41)
    for half in (0.02, 0.1, 0.5):
        for _ in range(20):
            bells = Bells(rng.normal(size=4), rng.uniform(0.2, 3, 4), rng.normal(size=4))
            terms, centres = rng.permutation([1, 1, -1, -1]) * rng.random(4), rng.normal(size=30)
            cells = _Cells(bells, centres, half)
            gains, losses = cells._two_sides(terms)
            bound = cells._rise(gains, _log_sum(gains), losses, _log_sum(losses))
            inside = _Cells(bells, (centres[:, None] + half * parts).ravel(), half)
            rise = inside.log_ratio(terms).reshape(30, 41).max(axis=1) - cells.log_ratio(terms)
            assert np.all(rise <= bound + 1e-12)


def test_too_few_cases_for_any_class_are_refused_by_the_name_of_the_argument():
    with pytest.raises(InputError, match=r"n_cases must be large enough .* 1 of these 2 classes"):
        gaussian_classes(1, prior=[0.5, 0.5], variance=0.2, rng=np.random.default_rng(0))
