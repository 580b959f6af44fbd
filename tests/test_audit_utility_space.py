"""The space of binary utility matrices and the distributions on it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stakes.audit import (
    FAMILIAR,
    HEXAGON,
    NormalUtilities,
    UniformUtilities,
    compliance,
    is_admissible,
    utilities_at,
    utility_coordinates,
)
from stakes.errors import InputError
from stakes.problem import Problem

DISTRIBUTIONS = [
    UniformUtilities(),
    NormalUtilities(1 / 3),
    NormalUtilities(1.0),
    NormalUtilities(1e3),
]

# dyrland prints rows = output, columns = class; these are the transposes, rows = classes.
FACTORY = [[15, -35], [-335, 165]]


def coordinates() -> st.SearchStrategy[tuple[float, float]]:
    number = st.floats(-1, 1).map(lambda value: round(value, 6))
    return st.tuples(number, number).filter(lambda point: abs(point[1] - point[0]) <= 1)


def test_D5_the_factory_and_the_identity_have_the_printed_coordinates():
    np.testing.assert_allclose(utility_coordinates(FACTORY), [0.3, -0.6], atol=1e-15)
    np.testing.assert_array_equal(utility_coordinates(np.eye(2)), [0, 0])


@given(coordinates())
def test_D5_a_point_and_its_matrix_are_two_names_of_one_thing(point):
    matrix = utilities_at(*point)
    assert matrix.min() == 0 or not any(point)
    assert matrix.max() == 1 or not any(point)
    np.testing.assert_allclose(utility_coordinates(matrix), point, atol=1e-12)
    np.testing.assert_allclose(
        matrix, Problem.from_utility_coordinates(*point).utilities, atol=1e-15
    )
    moved = Problem.from_utilities(7 * matrix - 3)
    np.testing.assert_allclose(utility_coordinates(-moved.costs), point, atol=1e-12)
    np.testing.assert_allclose(moved.utility_coordinates, point, atol=1e-12)


def test_D5_the_admissible_set_is_the_hexagon_of_its_six_corners():
    assert is_admissible(*HEXAGON.T).all()
    assert not is_admissible(*(1.001 * HEXAGON.T)).any()
    assert not is_admissible([1, -1], [-1, 1]).any()
    after = np.roll(HEXAGON, -1, axis=0)
    area = 0.5 * np.sum(HEXAGON[:, 0] * after[:, 1] - after[:, 0] * HEXAGON[:, 1])
    assert area == 3  # positive: the corners run anticlockwise


def test_D5_outside_the_hexagon_there_is_no_matrix():
    assert np.isnan(utilities_at(0.9, -0.6)).all()


def test_D5_matrices_that_reward_mistakes_or_nothing_have_no_point():
    points = utility_coordinates([[[0, 1], [0, 1]], [[2, 2], [2, 2]], [[1, 0], [0, 1]]])
    assert np.isnan(points).tolist() == [[True, True], [True, True], [False, False]]


def test_D5_a_right_decision_that_rounding_alone_makes_more_expensive_has_a_point():
    costs = 1e6 * np.array([[0.1 + 0.2, 0.3], [1.0, 0.0]])
    assert costs[0, 0] > costs[0, 1]
    np.testing.assert_allclose(Problem(costs).utility_coordinates, [0.3, -0.7], atol=1e-12)


def test_coordinates_need_two_classes_and_two_decisions():
    with pytest.raises(InputError, match="utilities must be matrices of two classes"):
        utility_coordinates(np.eye(3))


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
def test_draws_lie_in_the_hexagon_and_have_the_expected_matrix(distribution):
    draws = distribution(np.random.default_rng(3), 40_000)
    assert draws.shape == (40_000, 2, 2)
    assert is_admissible(*np.moveaxis(utility_coordinates(draws), -1, 0)).all()
    error = draws.std(axis=0) / np.sqrt(len(draws))
    assert (np.abs(draws.mean(axis=0) - distribution.expected) < 4 * error).all()


def test_uniform_draws_cover_the_hexagon_evenly():
    x, y = utility_coordinates(UniformUtilities()(np.random.default_rng(4), 60_000)).T
    cells, _, _ = np.histogram2d(x, y, bins=4, range=[[-1, 1], [-1, 1]])
    inside = np.array([[4, 4, 2, 0], [4, 4, 4, 2], [2, 4, 4, 4], [0, 2, 4, 4]]) / 48
    expected = 60_000 * inside
    spread = np.sqrt(expected * (1 - inside))
    assert (np.abs(cells - expected) <= 4.5 * spread).all()


def test_a_wide_normal_is_uniform_and_a_narrow_one_knows_that_it_is_the_identity():
    np.testing.assert_allclose(
        NormalUtilities(1e3).expected, UniformUtilities().expected, atol=1e-6
    )
    np.testing.assert_allclose(NormalUtilities(1e-3).expected, np.eye(2), atol=1e-3)


def test_a_normal_distribution_has_a_width():
    with pytest.raises(InputError, match="sd must be positive"):
        NormalUtilities(0)


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
def test_the_density_of_cost_proportions_is_that_of_the_draws(distribution):
    draws = distribution(np.random.default_rng(5), 100_000)
    right, wrong = draws[:, 0, 0] - draws[:, 0, 1], draws[:, 1, 1] - draws[:, 1, 0]
    observed, edges = np.histogram(right / (right + wrong), bins=20, range=(0, 1))
    node, weight = np.polynomial.legendre.leggauss(10)
    width = np.diff(edges)[:, None]
    density = distribution.cost_proportion_density(edges[:-1, None] + width * (node + 1) / 2)
    expected = 100_000 * np.sum(width / 2 * weight * density, axis=1)
    assert (np.abs(observed - expected) < 4.5 * np.sqrt(expected)).all()
    np.testing.assert_allclose(expected.sum(), 100_000, rtol=1e-9)


def test_D8_uniform_ignorance_has_the_expected_matrix_of_the_claims():
    np.testing.assert_allclose(
        UniformUtilities().expected, [[7 / 9, 2 / 9], [2 / 9, 7 / 9]], rtol=1e-15
    )


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
def test_D8_symmetric_ignorance_ranks_as_accuracy_does(distribution):
    accuracy = compliance(FAMILIAR["accuracy"], shape=(2, 2), rng=np.random.default_rng(6))
    ignorance = Problem.from_utilities(distribution.expected)
    assert ignorance.is_equivalent(accuracy.problem)


def test_D8_the_mean_of_drawn_problems_is_the_expected_problem():
    draws = UniformUtilities()(np.random.default_rng(8), 2000)
    mean = Problem.expected(Problem.from_utilities(matrix) for matrix in draws)
    np.testing.assert_allclose(mean.utilities, draws.mean(axis=0), atol=1e-12)
