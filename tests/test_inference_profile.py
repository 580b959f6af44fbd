"""Intervals of costs by profile likelihood: slow twins, laws and what they refuse."""

from __future__ import annotations

import itertools
import warnings
from decimal import Decimal, localcontext
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.stats import chi2, norm, poisson, t

from few_examples import at_most
from stakes.errors import InputError
from stakes.inference import (
    AllCases,
    Clusters,
    Support,
    cost_support,
    difference_support,
    profile_bounds,
    profile_interval,
    profile_normalized_interval,
    profile_ratio,
)
from stakes.inference.likelihood import _tilted, strata_of
from stakes.measures import expected_cost, normalized_cost
from stakes.problem import Problem
from stakes.tally import Counts, JointCounts

RNG = np.random.default_rng
COSTS = np.array([[0.0, 1.0, 4.0], [9.0, 2.0, -1.0]])
CHI2 = chi2.ppf(0.95, 1)


# Slow twins --------------------------------------------------------------------------------------


def ratio_of(counts, shares):
    """2 Σ n log(p̂ / p), as it is defined."""
    fitted = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1e-300)
    seen = counts > 0
    return 2 * np.sum(counts[seen] * np.log(fitted[seen] / np.maximum(shares[seen], 1e-300)))


def pseudo_case(counts, values):
    """0.4 / (1 + m² / 5), m the variance over the square of what one more costliest case moves."""
    cases = [value for count, value in zip(counts, values, strict=True) for _ in range(int(count))]
    if not cases:
        return 0.4
    mean = sum(cases) / len(cases)
    variance = sum((case - mean) ** 2 for case in cases) / len(cases) ** 2
    move = (max(values) - mean) / len(cases)
    return 0.4 / (1 + (variance / move**2) ** 2 / 5) if move > 0 else 0.4


def with_pseudo_case(counts, values, sign):
    """The tables with the pseudo-case at the highest value of each stratum in turn."""
    for k in range(len(counts)):
        table = counts.copy()
        extra = pseudo_case(counts[k], sign * values[k])
        table[k, np.argmax(sign * values[k])] += extra
        yield table


def searched_end(counts, values, sign, threshold=CHI2):
    """The extreme mean by a general optimiser, from several starts."""
    return sign * np.nanmax(
        [
            greatest(lambda p: sign * (p * values).sum(), table, start, threshold)
            for table in with_pseudo_case(counts, values, sign)
            for start in starts(table)
        ]
    )


def starts(table):
    rows = table.sum(axis=1, keepdims=True)
    fitted = np.where(rows > 0, table / np.where(rows > 0, rows, 1), 1 / table.shape[1])
    return [0.97 * fitted + 0.03 / table.shape[1], 0.8 * fitted + 0.2 / table.shape[1]]


def greatest(goal, table, start, threshold):
    """The greatest value of a goal over tables within the threshold; nan where the search fails."""
    shape = table.shape
    constraints = [
        {"type": "eq", "fun": lambda p: p.reshape(shape).sum(axis=1) - 1},
        {"type": "ineq", "fun": lambda p: threshold - ratio_of(table, p.reshape(shape))},
    ]
    with warnings.catch_warnings():
        # SciPy before 1.14 leaves the bounds by a rounding error and warns of its own clipping.
        warnings.filterwarnings("ignore", "Values in x were outside bounds", RuntimeWarning)
        answer = minimize(
            lambda p: -goal(p.reshape(shape)),
            start.ravel(),
            method="SLSQP",
            bounds=[(1e-12, 1)] * start.size,
            constraints=constraints,
            options={"maxiter": 200, "ftol": 1e-10},
        )
    shares = answer.x.reshape(shape)
    feasible = ratio_of(table, shares) <= threshold + 1e-6
    return -answer.fun if feasible and np.allclose(shares.sum(axis=1), 1) else np.nan


TABLES = [
    [[8, 1, 0], [1, 2, 3]],
    [[12, 0, 0], [0, 3, 0]],
    [[0, 5, 1], [2, 0, 0]],
    [[3, 0, 0], [0, 0, 0]],
    [[30, 7, 2], [4, 3, 15]],
]


@pytest.mark.parametrize("table", TABLES)
def test_ends_of_the_cost_are_those_that_an_optimiser_finds(table):
    interval = profile_interval(Counts(table), Problem(COSTS))
    counts, values = np.array(table, float).reshape(1, -1), COSTS.reshape(1, -1)
    assert interval.high == pytest.approx(searched_end(counts, values, 1), abs=2e-4)
    assert interval.low == pytest.approx(searched_end(counts, values, -1), abs=2e-4)


@pytest.mark.parametrize("table", TABLES)
def test_ends_under_a_stated_prior_are_those_that_an_optimiser_finds(table):
    prior = np.array([0.7, 0.3])
    interval = profile_interval(Counts(table), Problem(COSTS, prior=prior))
    counts, values = np.array(table, float), COSTS * prior[:, None]
    assert interval.high == pytest.approx(searched_end(counts, values, 1), abs=2e-4)
    assert interval.low == pytest.approx(searched_end(counts, values, -1), abs=2e-4)


@pytest.mark.parametrize("n", [1e3, 1e7, 3e9, 1e10, 1e11, 1e12])
def test_without_mistakes_a_class_without_cost_leaves_the_bound_of_the_other_alone(n):
    """The pseudo-case in the class that costs gives the widest interval, whatever n.

    Its bound p has 2 {n log(n / (N (1 − p))) + 0.4 log(0.4 / (N p))} = q, with N = n + 0.4.
    """
    problem = Problem([[0, 1], [0, 0]], prior=[0.5, 0.5])
    total, before = n + 0.4, 0.0
    for level in (0.5, 0.8, 0.9, 0.95, 0.99):
        q = chi2.ppf(level, 1)
        low, high = 0.4 / total, 50 / total
        for _ in range(200):
            p = (low + high) / 2
            ratio = n * (np.log1p(-0.4 / total) - np.log1p(-p)) + 0.4 * np.log(0.4 / (total * p))
            low, high = (p, high) if 2 * ratio < q else (low, p)
        interval = profile_interval(Counts([[n, 0], [n, 0]]), problem, level)
        assert float(interval.high) == pytest.approx(p / 2, rel=1e-6 + 1e-16 * n, abs=0)
        assert before < interval.high
        before = float(interval.high)
        support = cost_support(Counts([[n, 0], [n, 0]]), problem)
        ratio = profile_ratio(support, interval.high)
        # Levels of about n are known to their last digit, of which the ratio is twice the error.
        assert float(ratio) == pytest.approx(q, rel=1e-6, abs=2 * np.spacing(n))


@pytest.mark.parametrize("n", [10**3, 10**7, 10**11, 10**15])
@pytest.mark.parametrize("part", [1e-3, 0.3, 0.8, 0.99])
def test_ratios_of_many_cases_keep_their_digits(n, part):
    """The level is n (1 − part) or so; rounded to a double, it would cost as many digits as n has.

    The twin halves an interval of levels in 60 digits.
    """
    gaps, counts = np.array([[0.0, 0.5, 1.0]]), np.array([[0.5, 3.0, n]])  # their sum is exact
    strata = strata_of(gaps, counts)
    tilted = _tilted(strata, strata.gaps - strata.usual, np.array(part / (1 - part)), None)
    with localcontext() as context:
        context.prec = 60
        cells = [
            (Decimal(c), Decimal(g) * Decimal(float(tilted.tilt)))
            for c, g in zip(*counts, *gaps, strict=True)
        ]
        total = sum(c for c, _ in cells)
        low, high = Decimal(0), 2 * total
        for _ in range(190):
            level = (low + high) / 2
            short = sum(c / (level + t) for c, t in cells) > 1
            low, high = (level, high) if short else (low, level)
        ratio = 2 * sum(c * ((level + t) / total).ln() for c, t in cells)
    assert float(tilted.ratio) == pytest.approx(float(ratio), rel=1e-12)


@pytest.mark.parametrize("table", [[[5, 1], [1, 3]], [[9, 0], [0, 2]], [[0, 4], [0, 1]]])
def test_ends_of_two_strata_are_those_of_a_grid_over_all_tables(table):
    """Two classes, two decisions, a stated prior: every table is a point of the unit square."""
    costs, prior = np.array([[0.0, 3.0], [10.0, 1.0]]), np.array([0.6, 0.4])
    interval = profile_interval(Counts(table), Problem(costs, prior=prior))
    grid = (np.arange(600) + 0.5) / 600
    means, counts = [], np.array(table, float)
    first, second = np.meshgrid(grid, grid, indexing="ij")
    mean = prior[0] * 3 * first + prior[1] * (10 * (1 - second) + second)
    for sign in (1, -1):
        within = np.zeros_like(mean, dtype=bool)
        for n in with_pseudo_case(counts, costs, sign):
            shares = [(1 - first, first), (1 - second, second)]
            ratio = sum(
                2 * n[k, j] * np.log(n[k, j] / n[k].sum() / shares[k][j])
                for k, j in itertools.product(range(2), range(2))
                if n[k, j] > 0
            )
            within |= ratio <= CHI2
        means.append((sign * mean)[within].max() * sign)
    assert interval.high == pytest.approx(means[0], abs=0.02)
    assert interval.low == pytest.approx(means[1], abs=0.02)


@pytest.mark.parametrize("prior", [None, (0.9, 0.1)])
def test_ends_of_a_difference_are_those_that_an_optimiser_finds(prior):
    rng, costs = RNG(3), np.array([[0.0, 2.0], [7.0, 1.0]])
    truth, first, second = rng.integers(0, 2, (3, 25))
    problem = Problem(costs, prior=prior)
    joint = JointCounts.from_decisions(truth, {"a": first, "b": second}, problem)
    counts = np.zeros((2, 4))
    np.add.at(counts, (truth, 2 * first + second), 1)
    values = (costs[:, :, None] - costs[:, None, :]).reshape(2, 4)
    if prior is None:
        counts, values = counts.reshape(1, -1), values.reshape(1, -1)
    else:
        values = values * np.array(prior)[:, None]
    interval = profile_interval(joint, problem)
    assert interval.high == pytest.approx(searched_end(counts, values, 1), abs=1e-3)
    assert interval.low == pytest.approx(searched_end(counts, values, -1), abs=1e-3)


@pytest.mark.parametrize("table", [[[8, 1, 1], [1, 2, 4]], [[15, 2, 0], [0, 1, 3]]])
def test_at_an_end_of_the_normalised_cost_the_test_of_a_blind_decision_is_at_its_limit(table):
    """E[r - ρ r_d] has an interval that ends at zero for one d, and before zero for the others."""
    regret = COSTS - COSTS.min(axis=1, keepdims=True)
    counts = np.array(table, float).reshape(1, -1)
    interval = profile_normalized_interval(Counts(table), Problem(COSTS))
    for ratio, sign in ((interval.low, -1), (interval.high, 1)):
        values = [(regret - ratio * regret[:, [d]]).reshape(1, -1) for d in range(3)]
        assert max(searched_end(counts, v, sign) for v in values) == pytest.approx(0, abs=2e-4)


def left_out_variance(clusters, problem):
    """What leaving out one cluster at a time does to the cost, and the largest once more."""
    size = len(clusters)
    whole = expected_cost(Counts(clusters.sum(axis=0)), problem)
    changes = []
    for place in range(size):
        rest = Counts(np.delete(clusters, place, axis=0).sum(axis=0))
        changes.append(float(expected_cost(rest, problem) - whole) ** 2)
    again = (size - 3) / (size - 1) * (sum(changes) + max(changes)) if size > 3 else 0.0
    return (size - 1) / size * max(sum(changes), again)


def design_effect(pooled, sizes, values, plain, variance, kish, *, by_class):
    """Both variances, with one more mistake of each class at either end of what is possible.

    `plain` is made of kish times the variance of equal cases; `sizes` is what such a mistake moves.
    """
    ratios = [plain / variance]
    for k, bound in itertools.product(range(2), (min, max)):
        row = pooled[k] if by_class else pooled.ravel()
        value = values[k] if by_class else values.ravel()
        mean, total = sum(row * value) / sum(row), sum(row)
        apart = (bound(values[k]) - mean) / total
        shown = sum(pooled[k] * ((values[k] - mean) / total) ** 2)
        if abs(apart) < 1e-12:  # a mistake that costs as much as the mean
            continue
        seen = shown / (sizes[k] * apart**2)
        part = sizes[k] * apart**2 / (1 + seen**4)
        factor = kish[k if by_class else 0]
        ratios.append((plain + factor * part) / (variance + sizes[k] * part))
    return 1 / min(ratios)


def sizes_of_mistakes(clusters, values):
    """The design effect that each class shows by itself, from one to all of it in a cluster."""
    sizes = []
    for k in range(2):
        cases = clusters[:, k].sum(axis=0)
        mean = sum(cases * values[k]) / sum(cases)
        between = sum(sum(row[k] * (values[k] - mean)) ** 2 for row in clusters)
        of_clusters = [sum(row[k]) for row in clusters]
        most = sum(count**2 for count in of_clusters) / sum(of_clusters)
        alone = sum(cases * (values[k] - mean) ** 2)
        sizes.append(max(1.0, min(most, between / alone if alone else np.inf)))
    return sizes


@pytest.mark.parametrize("prior", [None, (0.3, 0.7)])
@pytest.mark.parametrize("size", [3, 5, 12])
def test_clusters_divide_the_counts_by_a_design_effect_and_take_students_t(size, prior):
    rng = RNG(10 + size)
    shares = rng.dirichlet(np.full(6, 0.7), size=size)
    clusters = rng.multinomial(30, shares).reshape(size, 2, 3).astype(float)
    problem = Problem(COSTS, prior=prior)
    pooled = clusters.sum(axis=0)
    strata = pooled if prior else pooled.reshape(1, -1)
    values = COSTS * np.array(prior)[:, None] if prior else COSTS.reshape(1, -1)
    plain = 0.0
    for row, value in zip(strata, values, strict=True):
        mean = sum(row * value) / sum(row)
        plain += sum(row * (value - mean) ** 2) / sum(row) ** 2
    variance = max(plain, left_out_variance(clusters, problem))
    factors = COSTS * np.array(prior or (1, 1))[:, None]
    tables = (pooled, sizes_of_mistakes(clusters, COSTS), factors, plain, variance)
    effect = design_effect(*tables, (1.0, 1.0), by_class=bool(prior))
    support = Support(values, strata / effect, values.min(-1), values.max(-1))
    low, high = profile_bounds(support, np.array(t.ppf(0.975, size - 1) ** 2))
    interval = profile_interval(Counts(clusters), problem, scheme=Clusters())
    assert effect > 1.5
    assert interval.low == pytest.approx(low, rel=1e-8)
    assert interval.high == pytest.approx(high, rel=1e-8)


def of_weights(weights, squares, values):
    """By what weights are to be divided for the mean of some values, of which all are possible."""
    mean, total = np.sum(weights * values) / weights.sum(), weights.sum()
    pulls, kish = (values - mean) / total, squares.sum() / total
    usual = [squares[k].sum() / weights[k].sum() for k in range(2)]
    variance = max(
        np.sum(squares * pulls**2),
        sum(usual[k] * np.sum(weights[k] * pulls[k] ** 2) for k in range(2)),
    )
    plain = kish * np.sum(weights * pulls**2)
    tables = (weights, usual, values, plain, variance, (kish, kish))
    return kish * design_effect(*tables, by_class=False)


def of_clusters(clusters, values):
    """The same for cases in clusters."""
    pooled = clusters.sum(axis=0)
    mean, total = np.sum(pooled * values) / pooled.sum(), pooled.sum()
    plain = np.sum(pooled * (values - mean) ** 2) / total**2
    variance = max(plain, left_out_variance(clusters, Problem(values)))
    sizes = sizes_of_mistakes(clusters, values)
    return design_effect(pooled, sizes, values, plain, variance, (1.0, 1.0), by_class=False)


WEIGHTED = [
    np.array([[40, 9, 7], [3, 5, 8]]),
    np.array([[40, 9, 7], [0, 5, 8]]),  # the most expensive mistake was not seen
    np.array([[5, 19, 7], [13, 5, 8]]),
]


@pytest.mark.parametrize("cases", WEIGHTED)
@pytest.mark.parametrize("drawn", ["weights", "clusters"])
def test_cases_count_for_a_normalised_cost_as_they_move_the_ratio(cases, drawn):
    """The test of a blind decision ends at zero with counts whose design effect is the ratio's.

    With clusters it is that of the cost, if that is larger.
    """
    regret = COSTS - COSTS.min(axis=1, keepdims=True)
    threshold, problem = CHI2, Problem(COSTS)
    if drawn == "weights":
        sums = cases * np.array([[0.9, 0.9, 0.9], [9.0, 8.0, 10.0]])
        squares = sums**2 / np.maximum(cases, 1) * 1.3
        interval = profile_normalized_interval(Counts(sums), problem, squares=squares)
    else:
        rng = RNG(4)
        clusters = np.stack([rng.multinomial(25, cases.ravel() / cases.sum()) for _ in range(7)])
        clusters[2:4] += clusters[:2]  # some are larger than others
        clusters = clusters.reshape(7, 2, 3).astype(float)
        sums, threshold = clusters.sum(axis=0), t.ppf(0.975, 6) ** 2
        interval = profile_normalized_interval(Counts(clusters), problem, scheme=Clusters())
    for end, ratio in enumerate((interval.low, interval.high)):
        reached = []
        for blind in regret.T[:, :, None]:
            observed = np.sum(sums * regret) / np.sum(sums * blind)
            influence = regret - observed * blind
            effect = (
                of_weights(sums, squares, influence)
                if drawn == "weights"
                else max(of_clusters(clusters, influence), of_clusters(clusters, regret))
            )
            values = (regret - ratio * blind).reshape(1, -1)
            counts = sums.reshape(1, -1) / effect
            support = Support(values, counts, values.min(-1), values.max(-1))
            reached.append(float(profile_bounds(support, np.array(threshold))[end]))
        assert max(reached) == pytest.approx(0, abs=1e-6)


def test_normalised_costs_are_covered_where_few_clusters_hold_the_rare_class():
    """12 clusters of 100, 5 % positive, shares Beta(0.05, 0.95): with the design effect of the
    ratio alone it was 84.5 %.
    """
    rng, shape = RNG(9), (12, 200, 100)  # clusters come first
    positive = rng.random(shape) < rng.beta(0.05, 0.95, shape[:2])[..., None]
    shared = rng.normal(size=shape[:2])[..., None]
    score = norm.cdf(np.sqrt(0.3) * shared + np.sqrt(0.7) * rng.normal(size=shape))
    alarm = score > np.where(positive, 0.1, 0.95)
    cells = np.stack([(2 * positive + alarm == cell).sum(axis=-1) for cell in range(4)], axis=-1)
    counts = Counts(cells.reshape(12, 200, 2, 2))
    problem = Problem([[0, 1], [20, 0]])
    interval = profile_normalized_interval(counts, problem, scheme=Clusters())
    truth = (0.95 * 0.05 + 20 * 0.05 * 0.1) / 0.95  # always raising an alarm costs 0.95
    covered = np.mean((interval.low <= truth) & (truth <= interval.high))
    assert covered >= 0.95 - 3 * np.sqrt(0.95 * 0.05 / 200)


def test_two_clusters_of_five_cases_bound_a_normalised_cost_by_nothing_but_what_was_seen():
    """It was 3.0 to 4e77 at 95 %, and 0.14 to 3e4 at 80 %, around an estimate of 2.3."""
    problem = Problem([[2.79, 2.95], [2.76, 1.57]])
    tables = Counts(np.array([[[0, 1], [0, 0]], [[2, 1], [1, 0]]], dtype=float))
    estimate = float(normalized_cost(tables.pooled(), problem))
    levels = (0.5, 0.8, 0.9, 0.94, 0.95, 0.99)
    bounds = [profile_normalized_interval(tables, problem, x, scheme=Clusters()) for x in levels]
    for narrow, wide in itertools.pairwise(bounds):
        assert wide.low <= narrow.low <= estimate <= narrow.high <= wide.high
    assert bounds[-1].low == pytest.approx(0, abs=1e-9)
    assert bounds[-1].high == np.inf


@given(st.integers(0, 10**6), st.sampled_from([3, 100, 0.01, 0.7]))
def test_rounding_does_not_decide_where_a_class_costs_the_same_whatever_is_decided(seed, factor):
    """Prior stated, ten clusters and no mistake: costs times 0.01 had bounds a third wider."""
    rng = RNG(seed)
    clusters = np.zeros((10, 2, 2))
    clusters[:, 0, 0], clusters[:, 1, 1] = rng.integers(1, 6, 10), rng.integers(1, 3, 10)
    costs = np.array([[5.0, 5.0], [4.0, 0.0]])
    usual, scaled = (
        profile_interval(
            Counts(clusters), Problem(times * costs, prior=[0.3, 0.7]), scheme=Clusters()
        )
        for times in (1, factor)
    )
    assert float(scaled.high) == pytest.approx(factor * float(usual.high), rel=1e-6)


def test_where_a_blind_decision_was_perfect_cases_count_as_they_do_for_the_cost():
    """No case is of the second class: at any ratio, cases differ by what the model costs."""
    clusters = np.zeros((12, 2, 3))
    clusters[:, 0, :2] = np.where(np.arange(12)[:, None] < 3, [2, 8], [10, 0])
    interval = profile_normalized_interval(Counts(clusters), Problem(COSTS), scheme=Clusters())
    single = profile_normalized_interval(Counts(clusters.sum(axis=0)), Problem(COSTS))
    assert interval.low < single.low / 2
    assert interval.high == np.inf


# Coverage that can be computed -------------------------------------------------------------------

MOST = 36  # rare events of one kind, and nearly none of the probability beyond


def rare_ends(values, tables):
    """Both ends, in numbers of rare events, for tables of them among a million cases."""
    tables = np.array([[[10**6 - sum(rare), *rare]] for rare in tables], float)
    grid = np.broadcast_to(np.array([[0.0, *values]]), tables.shape)
    support = Support(grid, tables, grid.min(axis=-1), grid.max(axis=-1))
    return tuple(10**6 * end for end in profile_bounds(support, np.array(CHI2)))


def test_rare_mistakes_of_one_cost_are_covered_at_every_rate():
    """A Poisson number of them; summed over all numbers that may come."""
    low, high = rare_ends([1.0], [[count] for count in range(MOST)])
    for rate in np.arange(0.05, 14, 0.05):
        inside = (low - 1e-9 <= rate) & (rate <= high + 1e-9)
        assert poisson.pmf(np.arange(MOST), rate) @ inside > 0.93
    assert low[0] == 0
    assert high[0] == pytest.approx(3.15, abs=0.01)  # the rule of three


def test_rare_differences_of_one_size_are_covered_at_every_rate():
    """Two independent Poisson numbers, of cases that one or the other model gets wrong."""
    places = list(itertools.product(range(MOST), repeat=2))
    low, high = (end.reshape(MOST, MOST) for end in rare_ends([1.0, -1.0], places))
    rates = np.arange(0.1, 9.5, 0.3)
    numbers = poisson.pmf(np.arange(MOST), rates[:, None])
    cases = list(zip(rates, numbers, strict=True))
    for (first, more), (second, less) in itertools.product(cases, repeat=2):
        inside = (low - 1e-9 <= first - second) & (first - second <= high + 1e-9)
        assert more @ inside @ less > 0.93


# Laws --------------------------------------------------------------------------------------------

cells = st.lists(st.integers(0, 12), min_size=6, max_size=6)
costs = st.lists(st.floats(-5, 20).map(lambda x: round(x, 2)), min_size=6, max_size=6)
priors = st.sampled_from([None, (0.5, 0.5), (0.9, 0.1), (1.0, 0.0)])


def counts_of(numbers):
    return Counts(np.array(numbers, float).reshape(2, 3))


def problem_of(numbers, prior):
    return Problem(np.array(numbers).reshape(2, 3), prior=prior)


def joint_of(numbers):
    """Joint counts of two models on 18 tuples, drawn from a few numbers."""
    weights = RNG(sum(numbers)).multinomial(3 * sum(numbers) + 1, np.full(18, 1 / 18))
    tuples = np.stack(np.unravel_index(np.arange(18), (2, 3, 3)), axis=1)
    return JointCounts(tuples, weights, ["a", "b"], [0, 1], [0, 1, 2])


def close(first, second, scale=1.0):
    return np.allclose(first, second, rtol=1e-7, atol=1e-7 * scale)


@given(cells, costs, priors)
def test_intervals_of_costs_hold_the_estimate_and_stay_within_the_range(numbers, amounts, prior):
    counts, problem = counts_of(numbers), problem_of(amounts, prior)
    interval = profile_interval(counts, problem)
    expected = problem.costs if prior is None else problem.costs[np.array(prior) > 0]
    assert expected.min() - 1e-9 <= interval.low <= interval.high <= expected.max() + 1e-9
    cost = expected_cost(counts, problem)
    assert np.isnan(cost) or interval.low - 1e-9 <= cost <= interval.high + 1e-9


@given(cells, costs, priors)
def test_intervals_of_normalised_costs_hold_the_estimate(numbers, amounts, prior):
    counts, problem = counts_of(numbers), problem_of(amounts, prior)
    interval = profile_normalized_interval(counts, problem)
    cost = normalized_cost(counts, problem)
    expected = np.array([True, True]) if prior is None else np.array(prior) > 0
    if (problem.regret().costs[expected].max(axis=0) == 0).any():
        assert np.isnan(interval.low)
        assert np.isnan(interval.high)
    elif not np.isnan(cost):
        assert 0 <= interval.low <= cost * (1 + 1e-9)
        assert interval.high >= cost * (1 - 1e-9)


@given(cells, costs, priors, st.floats(0.05, 0.98), st.floats(0.05, 0.98))
def test_a_higher_level_gives_a_wider_interval(numbers, amounts, prior, first, other):
    counts, problem = counts_of(numbers), problem_of(amounts, prior)
    lower, higher = sorted((first, other))
    narrow, wide = (profile_interval(counts, problem, level) for level in (lower, higher))
    assert wide.low <= narrow.low + 1e-8
    assert narrow.high <= wide.high + 1e-8


@given(cells, costs, priors, st.integers(0, 5), st.floats(0, 30))
def test_a_higher_cost_lowers_neither_end(numbers, amounts, prior, place, more):
    raised = list(amounts)
    raised[place] += more
    before, after = (
        profile_interval(counts_of(numbers), problem_of(table, prior))
        for table in (amounts, raised)
    )
    assert after.low >= before.low - 1e-7
    assert after.high >= before.high - 1e-7


@given(cells, costs, priors, st.floats(0.01, 50), st.floats(-20, 20))
def test_other_units_of_cost_change_the_interval_alike(numbers, amounts, prior, times, plus):
    counts, joint = counts_of(numbers), joint_of(numbers)
    problem, other = problem_of(amounts, prior), problem_of(times * np.array(amounts) + plus, prior)
    before, after = (profile_interval(counts, variant) for variant in (problem, other))
    assert close(after.low, times * before.low + plus, 20 * times + 20)
    assert close(after.high, times * before.high + plus, 20 * times + 20)
    before, after = (profile_interval(joint, variant) for variant in (problem, other))
    assert close(after.low, times * before.low, 20 * times + 20)
    assert close(after.high, times * before.high, 20 * times + 20)


@given(cells, costs, priors)
def test_swapping_the_models_negates_the_interval_of_their_difference(numbers, amounts, prior):
    joint, problem = joint_of(numbers), problem_of(amounts, prior)
    swapped = JointCounts(
        joint.cells[:, [0, 2, 1]], joint.weights, ["b", "a"], joint.classes, joint.decisions
    )
    interval, other = profile_interval(joint, problem), profile_interval(swapped, problem)
    assert close(other.low, -interval.high, 20)
    assert close(other.high, -interval.low, 20)


@at_most(20)
@given(st.lists(cells, min_size=2, max_size=4), costs, priors)
def test_leading_axes_are_carried_through(tables, amounts, prior):
    problem = problem_of(amounts, prior)
    stacked = Counts(np.array(tables, float).reshape(-1, 2, 3))
    for make in (profile_interval, profile_normalized_interval):
        together = make(stacked, problem)
        for place in range(len(tables)):
            alone = make(stacked[place], problem)
            assert np.allclose(together.low[place], alone.low, atol=1e-6, equal_nan=True)
            assert np.allclose(together.high[place], alone.high, atol=1e-6, equal_nan=True)


@pytest.mark.parametrize("prior", [None, np.full(50, 0.02)])
def test_leading_axes_of_two_models_with_many_decisions_are_carried_through(prior):
    """A table of all pairs of 50 decisions would be nearly empty: the tuples stand for it."""
    rng = np.random.default_rng(5)
    problem = Problem(rng.integers(1, 9, (50, 50)) * (1.0 - np.eye(50)), prior=prior)
    places = np.stack([np.arange(150) % 50, *rng.integers(0, 50, (2, 150))], axis=1)
    weights = rng.integers(1, 4, (3, 150)).astype(float)
    labels = problem.classes, problem.decisions
    together = profile_interval(JointCounts(places, weights, ["a", "b"], *labels), problem)
    for row, low, high in zip(weights, together.low, together.high, strict=True):
        alone = profile_interval(JointCounts(places, row, ["a", "b"], *labels), problem)
        np.testing.assert_allclose((low, high), (alone.low, alone.high), atol=1e-9)


@at_most(20)
@given(st.lists(cells, min_size=2, max_size=5), costs, priors)
def test_the_order_of_clusters_does_not_matter(tables, amounts, prior):
    problem = problem_of(amounts, prior)
    clusters = np.array(tables, float).reshape(-1, 2, 3)
    for make in (profile_interval, profile_normalized_interval):
        first, other = (
            make(Counts(cells), problem, scheme=Clusters()) for cells in (clusters, clusters[::-1])
        )
        assert np.allclose(first.low, other.low, atol=1e-6, equal_nan=True)
        assert np.allclose(first.high, other.high, atol=1e-6, equal_nan=True)


def test_a_copy_is_a_repeated_case_and_a_weight_is_none():
    truth, decided = [0, 0, 1, 1, 0], [0, 2, 1, 0, 1]
    weights = np.array([3, 1, 2, 1, 4])
    problem = Problem(COSTS)
    copied = Counts.from_decisions(truth, decided, problem, copies=weights)
    repeated = Counts.from_decisions(
        np.repeat(truth, weights), np.repeat(decided, weights), problem
    )
    assert profile_interval(copied, problem) == profile_interval(repeated, problem)
    weighted = Counts.from_decisions(truth, decided, problem, weights=weights)
    with pytest.raises(
        InputError, match=r"whole cases; it was made with weights=.*squares=.*copies="
    ):
        profile_interval(weighted, problem)


@at_most(20)
@given(cells, costs, priors, st.floats(-0.2, 1.2))
def test_the_ratio_of_a_value_is_the_threshold_whose_interval_ends_there(
    numbers, amounts, prior, place
):
    support = cost_support(counts_of(numbers), problem_of(amounts, prior))
    least, greatest_ = support.lowest.sum(), support.highest.sum()
    value = np.asarray(least + place * (greatest_ - least))
    ratio = profile_ratio(support, value)
    if not least <= value <= greatest_:
        assert np.isinf(ratio) or least == greatest_
        return
    low, high = profile_bounds(support, np.maximum(ratio * (1 + 1e-6), 1e-6))
    assert low - 1e-6 <= value <= high + 1e-6
    if 1e-3 < ratio < 1e3:
        low, high = profile_bounds(support, ratio * (1 - 1e-3))
        assert not low < value < high


@pytest.mark.parametrize("prior", [None, (0.8, 0.2)])
@pytest.mark.parametrize(("size", "prevalence"), [(100, 0.02), (1000, 0.02), (10**6, 0.001)])
def test_every_one_of_many_ends_lies_where_its_ratio_is_the_threshold(size, prevalence, prior):
    """Where all depends on the pseudo-case, Newton's method alone would jump back and forth."""
    shares = np.outer([1 - prevalence, prevalence], [0.5, 0.35, 0.15])
    tables = RNG(4).multinomial(size, shares.ravel(), size=200).reshape(200, 2, 3)
    support = cost_support(Counts(tables), Problem([[0, 0.4, 2], [98, 30, 0]], prior=prior))
    for end in profile_bounds(support, np.array(CHI2)):
        inside = (end > support.lowest.sum(-1) + 1e-6) & (end < support.highest.sum(-1) - 1e-6)
        assert np.allclose(profile_ratio(support, end)[inside], CHI2, rtol=1e-4)
        assert inside.mean() > 0.5


# Many systems at once ----------------------------------------------------------------------------


def twelve_systems(rng, n):
    truth = (rng.random(n) < 0.3).astype(int)
    score = rng.normal(truth, 1)
    decided = {f"m{j}": np.digitize(score + rng.normal(0, 0.4, n), [0.2, 0.9]) for j in range(12)}
    return JointCounts.from_decisions(truth, decided, Problem(COSTS))


@pytest.mark.parametrize("prior", [None, (0.9, 0.1)])
def test_pairs_made_together_are_those_made_alone(prior):
    joint, problem = twelve_systems(RNG(1), 300), Problem(COSTS, prior=prior)
    pairs = list(itertools.combinations(range(12), 2))[::7]
    low, high = profile_bounds(difference_support(joint, problem, pairs), np.array(CHI2))
    for place, (first, second) in enumerate(pairs):
        two = JointCounts(
            joint.cells[:, [0, 1 + first, 1 + second]],
            joint.weights,
            [first, second],
            joint.classes,
            joint.decisions,
        )
        alone = profile_interval(two, problem)
        assert low[place] == pytest.approx(alone.low, abs=1e-8)
        assert high[place] == pytest.approx(alone.high, abs=1e-8)


def test_intervals_of_twelve_systems_grow_with_the_kinds_of_mistakes_and_not_with_the_cases():
    """Thousands of tuples of decisions become as many cells as pairs of decisions have."""
    joint = twelve_systems(RNG(2), 20_000)
    problem = Problem(COSTS, prior=(0.8, 0.2))
    pairs = list(itertools.combinations(range(12), 2))
    assert len(joint.cells) > 5_000
    counts = Counts(np.stack([joint.model(name).values for name in joint.models]))
    assert cost_support(counts, problem).values.size <= 12 * problem.costs.size
    support = difference_support(joint, problem, pairs)
    assert support.values.size <= len(pairs) * problem.costs.size * problem.n_decisions


# What is unknown ---------------------------------------------------------------------------------


def test_a_class_without_cases_costs_anything_under_a_stated_prior():
    problem = Problem([[0, 4], [10, 2]], prior=[0.5, 0.5])
    interval = profile_interval(Counts([[100_000, 0], [0, 0]]), problem)
    assert interval.low == pytest.approx(1.0, abs=1e-3)
    assert interval.high == pytest.approx(5.0, abs=1e-3)


def test_a_class_of_prior_zero_changes_nothing():
    problem = Problem(COSTS, prior=[1.0, 0.0])
    first, other = (
        profile_interval(Counts([[8, 3, 1], row]), problem) for row in ([0, 0, 0], [9, 9, 9])
    )
    assert close(first.low, other.low)
    assert close(first.high, other.high)


def test_decisions_out_of_reach_make_no_upper_end_higher_unless_they_occur():
    problem = Problem([[0, 1, 50], [9, 1, 0]])
    table = [[60, 10, 0], [3, 8, 0]]
    everything = profile_interval(Counts(table), problem)
    limited = profile_interval(Counts(table), problem, reachable=[True, True, False])
    two = profile_interval(Counts(np.array(table)[:, :2]), Problem([[0, 1], [9, 1]]))
    assert everything.high > limited.high + 0.5
    assert limited.high == pytest.approx(two.high, rel=1e-9)
    table[0][2] = 1
    occurring = profile_interval(Counts(table), problem, reachable=[True, True, False])
    assert occurring == profile_interval(Counts(table), problem)


def test_decisions_out_of_reach_make_no_normalised_cost_higher():
    problem, counts = Problem([[0, 1, 50], [9, 1, 0]]), Counts([[60, 10, 0], [3, 8, 0]])
    everything = profile_normalized_interval(counts, problem)
    limited = profile_normalized_interval(counts, problem, reachable=[True, True, False])
    assert everything.high > limited.high + 0.1


@pytest.mark.parametrize("table", [[[60, 10], [3, 8]], [[95, 5], [0, 0]]])
@pytest.mark.parametrize("power", [-400, -101, -30, 30, 101])
def test_normalised_costs_have_no_unit(table, power):
    """Powers of two are exact, so that nothing may change; costs lie within 1e100 of zero."""
    costs = np.array([[0, 1], [9, 0]])
    plain = profile_normalized_interval(Counts(table), Problem(costs))
    scaled = profile_normalized_interval(Counts(table), Problem(costs * 2.0**power))
    np.testing.assert_allclose((scaled.low, scaled.high), (plain.low, plain.high), rtol=1e-12)


def test_one_cluster_tells_nothing_and_a_class_in_one_cluster_nothing_about_its_part():
    problem = Problem(COSTS)
    alone = profile_interval(Counts([[[80, 10, 2], [1, 2, 9]]]), problem, scheme=Clusters())
    assert [float(alone.low), float(alone.high)] == [-1, 9]
    ratio = profile_normalized_interval(
        Counts([[[80, 10, 2], [1, 2, 9]]]), problem, scheme=Clusters()
    )
    assert [float(ratio.low), float(ratio.high)] == [0, np.inf]
    clusters = np.full((400, 2, 3), 0.0)
    clusters[:, 0] = [90, 10, 0]
    clusters[7, 1] = [300, 300, 300]
    part = profile_interval(Counts(clusters), Problem(COSTS, prior=[0.5, 0.5]), scheme=Clusters())
    assert part.low == pytest.approx(0.05 - 0.5, abs=0.01)
    assert part.high == pytest.approx(0.05 + 4.5, abs=0.01)


def test_clusters_without_cases_do_not_count():
    problem, rng = Problem(COSTS), RNG(5)
    clusters = rng.integers(0, 9, (6, 2, 3)).astype(float)
    padded = np.concatenate([clusters, np.zeros((4, 2, 3))])
    first, other = (
        profile_interval(Counts(c), problem, scheme=Clusters()) for c in (clusters, padded)
    )
    assert close(first.low, other.low)
    assert close(first.high, other.high)


# Weights -----------------------------------------------------------------------------------------


def test_equal_weights_of_any_size_are_cases():
    table = np.array([[40.0, 6, 2], [1, 4, 9]])
    for prior in (None, (0.6, 0.4)):
        problem = Problem(COSTS, prior=prior)
        plain = profile_interval(Counts(table), problem)
        scaled = profile_interval(Counts(0.3 * table), problem, squares=0.09 * table)
        assert close(scaled.low, plain.low)
        assert close(scaled.high, plain.high)


def test_weights_that_vary_make_the_interval_wider():
    rng = RNG(8)
    truth, decided = rng.integers(0, 2, 400), rng.integers(0, 3, 400)
    weights = rng.lognormal(0, 1, 400)
    problem = Problem(COSTS)
    counts = Counts.from_decisions(truth, decided, problem, weights=weights)
    squares = Counts.from_decisions(truth, decided, problem, weights=weights**2)
    interval = profile_interval(counts, problem, squares=squares.values)
    plain = profile_interval(Counts.from_decisions(truth, decided, problem), problem)
    kish = np.sqrt(400 * (weights**2).sum()) / weights.sum()
    assert interval.width / plain.width == pytest.approx(kish, rel=0.15)
    assert kish > 1.4


@pytest.mark.parametrize("prior", [None, (0.3, 0.7)])
def test_fractional_weights_become_effective_cases_by_their_squares(prior):
    """Row by row: the larger of two variances, over that of weights taken for cases."""
    rng = RNG(12)
    truth, decided = rng.integers(0, 2, 60), rng.integers(0, 3, 60)
    weights = rng.lognormal(truth - 0.5 * decided, 1)
    sums, squares = np.zeros((2, 2, 3))
    np.add.at(sums, (truth, decided), weights)
    np.add.at(squares, (truth, decided), weights**2)
    strata = np.zeros(60, int) if prior is None else truth
    values = COSTS[truth, decided] * (1 if prior is None else np.array(prior)[truth])
    variance = usual = expected = 0.0
    kish = [sum(weights[strata == k] ** 2) / sum(weights[strata == k]) for k in set(strata)]
    for k in set(strata):
        mine = strata == k
        mean = np.average(values[mine], weights=weights[mine])
        pull = (values[mine] - mean) / sum(weights[mine])
        variance += sum(weights[mine] ** 2 * pull**2)
        ratio = np.array([squares[t].sum() / sums[t].sum() for t in truth[mine]])
        usual += sum(weights[mine] * ratio * pull**2)
        expected += kish[k] * sum(weights[mine] * pull**2)
    table, grid = (sums, COSTS * np.array(prior)[:, None]) if prior else (sums, COSTS)
    if prior is None:
        table, grid = table.reshape(1, -1), grid.reshape(1, -1)
    sizes = [squares[k].sum() / sums[k].sum() for k in range(2)]
    tables = (sums, sizes, COSTS * np.array(prior or (1, 1))[:, None])
    variances = (expected, max(variance, usual))
    effect = design_effect(*tables, *variances, kish, by_class=bool(prior))
    counts = table / effect / np.array(kish)[:, None]
    low, high = profile_bounds(Support(grid, counts, grid.min(-1), grid.max(-1)), np.array(CHI2))
    interval = profile_interval(Counts(sums), Problem(COSTS, prior=prior), squares=squares)
    assert usual > 1.1 * variance or variance > 1.1 * usual
    assert [float(interval.low), float(interval.high)] == pytest.approx([float(low), float(high)])


# What is refused ---------------------------------------------------------------------------------


def test_fractional_weights_are_refused_without_their_squares():
    with pytest.raises(InputError, match=r"tally must hold whole cases.*pass squares="):
        profile_interval(Counts([[1.5, 2], [1, 3]]), Problem.zero_one(2))


def test_squares_of_another_shape_are_refused():
    with pytest.raises(InputError, match=r"squares must have the shape \(2, 2\).*is \(4,\)"):
        profile_interval(Counts([[1.5, 2], [1, 3]]), Problem.zero_one(2), squares=[1, 2, 3, 4])


@pytest.mark.parametrize("reachable", [[1, 1], [True], [False, False], True])
def test_what_does_not_say_which_decisions_are_reachable_is_refused(reachable):
    with pytest.raises(InputError, match=r"reachable must say of each of the 2 decisions"):
        profile_interval(Counts([[1, 2], [1, 3]]), Problem.zero_one(2), reachable=reachable)


def test_joint_counts_of_three_models_are_refused():
    joint = JointCounts.from_decisions([0, 1], {m: [0, 1] for m in "abc"}, Problem.zero_one(2))
    with pytest.raises(InputError, match=r"must hold two models.*\('a', 'b', 'c'\).*difference_"):
        profile_interval(joint, Problem.zero_one(2))


@pytest.mark.parametrize("pairs", [[(0, 2)], [(0, 1, 1)], [(0, -1)], [(0.5, 1)]])
def test_pairs_of_other_models_are_refused(pairs):
    joint = JointCounts.from_decisions([0, 1], {m: [0, 1] for m in "ab"}, Problem.zero_one(2))
    with pytest.raises(InputError, match=r"pairs must hold positions of two models.*below 2; got"):
        difference_support(joint, Problem.zero_one(2), pairs)


def test_other_schemes_than_clusters_and_clusters_without_an_axis_are_refused():
    counts, problem = Counts([[1, 2], [1, 3]]), Problem.zero_one(2)
    with pytest.raises(InputError, match=r"scheme must be Clusters\(\) or None; got AllCases"):
        profile_interval(counts, problem, scheme=cast(Any, AllCases()))
    with pytest.raises(InputError, match=r"leading axis of clusters to go with Clusters\(\)"):
        profile_interval(counts, problem, scheme=Clusters())


def test_what_was_seen_once_is_possible_whatever_can_be_reached():
    counts = Counts([[30, 5, 4, 1], [6, 20, 3, 1], [2, 4, 9, 1]])
    problem = Problem([[0, 1, 4, 9], [3, 0, 1, 8], [9, 5, 0, 20]])
    every = profile_normalized_interval(counts, problem)
    some = profile_normalized_interval(counts, problem, reachable=[True, True, True, False])
    assert (some.low, some.high) == (every.low, every.high)


def test_a_stratum_may_have_less_than_one_case():
    strata = strata_of(np.array([[1.0, 2.0]]), np.array([[0.25, 0.25]]))
    assert strata.total.tolist() == [0.5]
    assert strata.means.tolist() == [0.75]  # in units of the largest gap


def test_a_heavy_mistake_that_was_not_seen_is_allowed_for_with_its_weight():
    """Of 30 cases of a class none was missed: the rule of three holds, whatever they weigh."""
    counts, weights = np.array([[870.0, 100.0], [0.0, 30.0]]), np.array([[0.9], [9.0]])
    problem = Problem([[0, 1], [40, 0]])
    sums = Counts(counts * weights)
    high = float(profile_interval(sums, problem, squares=counts * weights**2).high)
    share = sums.values[1].sum() / sums.values.sum()
    stated = problem.with_prior([1 - share, share])
    known = float(profile_interval(Counts(counts), stated).high)  # the same classes, by a prior
    assert 0.8 * known < high < 1.2 * known
    # The images of one patient are missed together, and 30 images of six patients are six cases.
    clusters = np.zeros((103, 2, 2))
    clusters[:97, 0] = [9, 1]
    clusters[:3, 0, 1] = 2
    clusters[:3, 0, 0] = 8
    clusters[97:, 1, 1] = 5
    together = float(profile_interval(Counts(clusters), problem, scheme=Clusters()).high)
    alone = float(profile_interval(Counts(counts), problem).high)
    assert together > 3 * alone
