"""Distributions of operating conditions: moments against quadrature and plain sums."""

from __future__ import annotations

import pickle
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from few_examples import at_most
from slow_twins_thresholds import integrated
from stakes.conditions import (
    Beta,
    Continuous,
    CostProportions,
    Distribution,
    Mixture,
    Point,
    Points,
    Sample,
    Skews,
    Truncated,
    Uniform,
)
from stakes.errors import InputError
from stakes.problem import Problem
from stakes.tally import ScoreTable

DISTRIBUTIONS: dict[str, Distribution] = {
    "uniform": Uniform(),
    "part": Uniform(0.2, 0.75),
    "hand": Beta(2, 2),
    "steep": Beta(1.3, 7.5),
    "singular": Beta(0.6, 0.9),
    "point": Point(0.25),
    "zero": Point(0),
    "one": Point(1),
    "points": Points([0.5, 0, 0.25, 1], [0.4, 0.1, 0.3, 0.2]),
    "sample": Sample([0.9, 0.25, 0.25, 0.6, 0], [1, 2, 0.5, 0, 3]),
    "mixture": Mixture([Beta(2, 5), Point(0.25), Uniform(0.5, 1)], [0.5, 0.2, 0.3]),
    "truncated": Truncated(Beta(2, 2), 0.1, 0.6),
    "truncated atoms": Truncated(Points([0.1, 0.25, 0.6], [0.2, 0.3, 0.5]), 0.25, 0.6),
    "scipy": Continuous(stats.triang(0.3)),
}
# Integrals of scipy's distributions take seconds.
every_distribution = pytest.mark.parametrize(
    "distribution",
    [
        pytest.param(value, id=name, marks=[pytest.mark.slow] if name == "scipy" else [])
        for name, value in DISTRIBUTIONS.items()
    ],
)


def untyped(value: Any) -> Any:
    return value


edges = st.sampled_from([-np.inf, -1.0, 0.0, 0.1, 0.2, 0.25, 0.4, 0.5, 0.6, 0.9, 1.0, 2.0, np.inf])


@every_distribution
@at_most(25)
@given(low=edges, high=edges)
def test_H18_moments_are_integrals_over_half_open_intervals(distribution, low, high):
    for order in range(3):

        def power(x: float, k: int = order) -> float:
            return x**k if low <= x < high else 0.0

        expected = integrated(distribution, power, [low, high])
        assert distribution.moment(order, low, high) == pytest.approx(expected, abs=2e-10)


@every_distribution
@at_most(25)
@given(low=edges)
def test_upper_moments_are_integrals_from_the_lower_limit_on(distribution, low):
    expected = integrated(distribution, lambda x: 1 - x if x >= low else 0.0, [low])
    assert distribution.upper_moment(low) == pytest.approx(expected, abs=2e-10)
    both = [distribution.upper_moment(low), distribution.upper_moment(0.25)]
    np.testing.assert_allclose(distribution.upper_moment([low, 0.25]), both, atol=1e-12)


@pytest.mark.parametrize("gap", [2.0**-10, 2.0**-30, 2.0**-50])
def test_upper_moments_keep_their_digits_next_to_one(gap):
    """By fractions; values 1 − gap are exact, and ∫ (1 − x) x dx from there is gap²/2 − gap³/3."""
    x, exact = 1 - gap, Fraction(gap)
    square = exact**2 / 2
    expected = {
        Uniform(): square,
        Uniform(0.5, 1): 2 * square,
        Beta(2, 2): 6 * (exact**3 / 3 - exact**4 / 4),
        Beta(2, 1): 2 * (square - exact**3 / 3),
        Point(x): exact,
        Points([0.25, x], [0.5, 0.5]): exact / 2,
        Sample([x, x - gap, 0.5], [1, 1, 2]): exact / 4,
        Mixture([Uniform(), Point(x)], [0.25, 0.75]): square / 4 + exact * 3 / 4,
        Truncated(Uniform(), 0.5, 1): 2 * square,
    }
    for distribution, moment in expected.items():
        result = float(distribution.upper_moment(x))
        assert result == pytest.approx(float(moment), rel=1e-13, abs=0), distribution


def test_moments_of_a_narrow_distribution_have_their_digits():
    narrow = Continuous(stats.beta(400, 600))
    for order, moment in enumerate((1, 0.4, 0.4 * 401 / 1001)):
        assert narrow.moment(order, 0, 1) == pytest.approx(moment, rel=1e-12)


@every_distribution
def test_moments_of_adjacent_intervals_add_up_and_all_of_them_make_one(distribution):
    knots = np.array([-np.inf, 0, 0.1, 0.25, 0.25, 0.5, 0.9, 1, np.inf])
    for order in range(3):
        parts = distribution.moment(order, knots[:-1], knots[1:])
        assert parts.shape == (8,)
        assert parts.sum() == pytest.approx(float(distribution.moment(order, -np.inf, np.inf)))
        assert np.all(parts >= 0)
    assert float(distribution.moment(0, -np.inf, np.inf)) == pytest.approx(1, abs=1e-14)
    assert distribution.mean == pytest.approx(float(distribution.moment(1, 0, 1.5)))


@every_distribution
def test_the_cdf_counts_an_atom_where_it_lies(distribution):
    expected = integrated(distribution, lambda x: float(x <= 0.25), [0.25])
    assert distribution.cdf(0.25) == pytest.approx(expected, abs=1e-10)
    assert distribution.cdf([-1, 1, 2]).tolist() == pytest.approx([0, 1, 1])


@every_distribution
def test_distributions_are_values(distribution):
    assert distribution == pickle.loads(pickle.dumps(distribution)) or isinstance(
        distribution, Continuous
    )
    assert "object at" not in repr(distribution) or isinstance(distribution, Continuous)


def test_an_interval_that_ends_before_it_begins_is_empty():
    for distribution in DISTRIBUTIONS.values():
        assert distribution.moment(1, 0.6, 0.2) == 0


@given(low=st.floats(0, 1), width=st.sampled_from([1e-9, 1e-6, 1e-3, 0.2]), order=st.integers(0, 2))
def test_moments_of_narrow_intervals_keep_their_digits(low, width, order):
    """Uniform: relative to the moment; Beta: next to the upper end as well as to the lower."""
    high = min(low + width, 1.0)
    middle, half = (low + high) / 2, (high - low) / 2
    exact = {0: 2 * half, 1: 2 * half * middle, 2: 2 * half * (middle**2 + half**2 / 3)}[order]
    assert float(Uniform().moment(order, low, high)) == pytest.approx(exact, rel=1e-13, abs=1e-300)


@pytest.mark.parametrize("x", [1e-3, 1e-6, 1e-9])
def test_beta_keeps_its_digits_in_both_tails(x):
    """Beta(2, 2) has the probability x²(3 - 2x) below x and, by symmetry, above 1 - x."""
    assert float(Beta(2, 2).moment(0, -np.inf, x)) == pytest.approx(x * x * (3 - 2 * x), rel=1e-12)
    upper = float(Beta(2, 2).moment(0, 1 - x, np.inf))
    gap = 1 - (1 - x)  # what is left of x after rounding
    assert upper == pytest.approx(gap * gap * (3 - 2 * gap), rel=1e-12)


def test_a_flat_beta_is_uniform_and_points_are_a_weighted_sample():
    x = np.linspace(0, 1, 7)
    for order in range(3):
        flat, uniform = Beta(1, 1).moment(order, 0, x), Uniform().moment(order, 0, x)
        np.testing.assert_allclose(flat, uniform, atol=1e-15)
    assert Points([0.5, 0.1], [0.25, 0.75]).mean == Sample([0.1, 0.5], [3, 1]).mean


def test_order_of_points_and_draws_does_not_matter():
    assert Points([0.5, 0.1], [0.25, 0.75]) == Points([0.1, 0.5], [0.75, 0.25])
    assert Sample([0.5, 0.1], [1, 2]) == Sample([0.1, 0.5], [4, 2])


def test_H16_named_betas_peak_at_the_share_of_positives():
    assert Beta.hand([0.8, 0.2]) == Beta(1.2, 1.8)
    assert Beta.severity([0.8, 0.2]) == Beta(2, 5)
    for named in (Beta.hand([0.8, 0.2]), Beta.severity([0.8, 0.2])):
        assert (named.a - 1) / (named.a + named.b - 2) == pytest.approx(0.2)


def test_H17_draws_of_costs_are_weighted_by_their_sum():
    condition = CostProportions.from_costs([10, 5, 0], [1, 50, 0])
    assert condition == CostProportions(Sample([10 / 11, 1 / 11], [11, 55]))


def test_a_problem_is_one_cost_proportion():
    problem = Problem.binary(false_alarm=2, miss=6, hit=1)
    assert CostProportions.of(problem) == CostProportions(Point(2 / 7))


def test_conditions_say_which_population_counts():
    table = ScoreTable([0.1, 0.7], [[3, 1], [1, 0]])
    assert CostProportions.population(table) == table
    assert Skews().population(table).shares.tolist() == [0.5, 0.5]


def test_frozen_scipy_distributions_are_taken_as_they_are():
    frozen = stats.beta(2, 3)
    expected = Beta(2, 3).moment(2, [0, 0.2], [0.2, 0.7])
    for distribution in (CostProportions(frozen).distribution, Mixture([frozen], [1])):
        np.testing.assert_allclose(
            distribution.moment(2, [0, 0.2], [0.2, 0.7]), expected, atol=1e-12
        )


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Uniform(0.5, 0.5), "low must be less than high.*Point"),
        (lambda: Uniform(-0.1, 0.5), "low must be one real number within"),
        (lambda: Beta(0, 1), "a and b must be positive"),
        (lambda: Beta(1, 1e-308), "between 1e-100 and 1e.100; got 1 and 1e-308"),
        (lambda: Beta(1.7e308, 1e-100), "between 1e-100 and 1e.100; got 1.7e.308"),
        (lambda: Beta.hand([0.5, 0.6]), "prior must sum to one"),
        (lambda: Beta.severity([1, 0]), "positive share"),
        (lambda: Point(1.5), "value must be one real number within"),
        (lambda: Points([0.5, 2], [0.5, 0.5]), r"values must hold numbers in \[0, 1\]; got 2 at"),
        (lambda: Points([], []), "none at all"),
        (lambda: Points([0.5], [0.9]), "probabilities must sum to one"),
        (lambda: Sample([0.2, -0.1]), "draws must hold numbers"),
        (lambda: Sample([0.2, 0.3], [0, 0]), "positive total"),
        (lambda: Mixture([Uniform(), untyped("flat")], [0.5, 0.5]), "must be a distribution on"),
        (lambda: Mixture([Uniform()], [0.5, 0.5]), "probabilities must hold one"),
        (lambda: Truncated(Uniform(0, 0.5), 0.6, 0.7), "enclose some probability"),
        (lambda: Truncated(Uniform(), 0.6, 0.5), "high must be one real number within"),
        (lambda: Truncated(Uniform(), 1.5, 1.7), "^low must be one real number within"),
        (lambda: CostProportions(stats.norm()), r"must lie on \[0, 1\]; its support is"),
        (lambda: Skews(stats.bernoulli(0.5)), "must be a distribution on"),
        (lambda: Continuous(stats.bernoulli(0.5)), "SciPy distribution with a density; got rv_d"),
        (lambda: CostProportions.from_costs([0, 0], [0, 0]), "must not be zero in every draw"),
        (lambda: CostProportions.from_costs([1, 2], [1]), "same cases"),
        (lambda: CostProportions.from_costs([-1], [1]), "zero or more"),
        (lambda: CostProportions.of(Problem([[1, 0], [1, 0]])), "one decision is always right"),
    ],
)
def test_messages_of_conditions(make, message):
    with pytest.raises(InputError, match=message):
        make()


def test_truncation_to_next_to_nothing_is_refused_or_stays_inside():
    for low in (0.5, 0.9):
        with pytest.raises(InputError, match="has almost none"):
            Truncated(Beta(2, 2), low, low)
    narrow = Truncated(Beta(2, 2), 0.5, 0.5 + 1e-10)
    assert 0.5 <= narrow.mean <= 0.5 + 1.00001e-10
    assert Truncated(Points([0.5], [1.0]), 0.5, 0.5).mean == 0.5


def test_a_large_sample_has_probability_one():
    draws = Sample(np.random.default_rng(0).random(300_000))
    assert draws.moment(0, 0, 2) == pytest.approx(1, abs=1e-15)
