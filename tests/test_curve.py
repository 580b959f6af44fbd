"""Curves made of pieces: values, areas, expectations and crossings against plain arithmetic."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad

from slow_twins_thresholds import integrated
from stakes.conditions import Point, Uniform
from stakes.curve import Curve
from stakes.errors import InputError
from test_conditions import DISTRIBUTIONS

numbers = st.integers(-4, 4).map(lambda n: n / 4)
inner_knots = st.lists(st.sampled_from([0.1, 0.2, 0.25, 0.4, 0.5, 0.75, 0.9]), max_size=5)
ends = st.sampled_from([(), (1.0,)])  # a last piece of width zero, now and then


@st.composite
def curves(draw, *, columns=3):
    inner = sorted(set(draw(inner_knots)))
    knots = [0.0, *inner, 1.0, *draw(ends)]
    row = st.lists(numbers, min_size=columns, max_size=columns)
    rows = draw(st.lists(row, min_size=len(knots) - 1, max_size=len(knots) - 1))
    return Curve(knots, rows)


def plain_value(curve: Curve, x: float) -> float:
    """The last piece whose left knot is not beyond x holds."""
    if not curve.knots[0] <= x <= curve.knots[-1]:
        return math.nan
    piece = max(i for i in range(len(curve.coefficients)) if curve.knots[i] <= x)
    a, b, c, d = curve.coefficients[piece]
    step = x - curve.knots[piece]
    return float(a + b * step + c * step**2 + (d * x / (1 - x) if d else 0.0))


grid = np.unique(np.concatenate([np.linspace(0, 1, 41), [0.1, 0.2, 0.25, 0.4, 0.5, 0.75, 0.9]]))


@given(curves(columns=4))
def test_a_curve_is_its_piece_and_the_right_one_at_a_jump(curve):
    points = grid[:-1]  # with odds, the value at one is infinite
    expected = [plain_value(curve, x) for x in points]
    np.testing.assert_allclose(curve(points), expected, atol=1e-14)
    assert np.isnan(curve([-0.1, 1.1, np.nan, np.inf])).all()
    assert curve([[0.5, 0.25]]).shape == (1, 2)
    assert curve(0.5).shape == ()


@given(curves(columns=4), st.floats(0, 0.95), st.floats(0, 0.95))
def test_the_integral_is_that_of_quadrature(curve, first, other):
    low, high = min(first, other), max(first, other)
    cuts = sorted({low, high, *(k for k in curve.knots if low < k < high)})
    expected = math.fsum(
        quad(lambda x: plain_value(curve, x), a, np.nextafter(b, 0), epsabs=1e-13)[0]
        for a, b in pairwise(cuts)
    )
    assert curve.integral(low, high) == pytest.approx(expected, abs=1e-10)


def test_integrals_outside_the_domain_are_nan_and_odds_up_to_one_are_infinite():
    curve = Curve([0, 1], [[1, 0, 0, 2]])
    assert math.isnan(curve.integral(-0.5, 0.5))
    assert math.isnan(curve.integral(0.5, 0.2))
    assert curve.integral() == math.inf
    assert (-1.0 * curve).integral(0.5) == -math.inf
    assert curve(1.0) == math.inf


@pytest.mark.parametrize("distribution", DISTRIBUTIONS.values(), ids=DISTRIBUTIONS)
@settings(max_examples=8)
@given(curve=curves())
def test_the_expectation_is_the_mean_over_the_distribution(distribution, curve):
    expected = integrated(distribution, lambda x: plain_value(curve, x), curve.knots)
    assert curve.expectation(distribution) == pytest.approx(expected, abs=5e-10)


@given(curves())
def test_the_expectation_over_all_values_is_the_area(curve):
    assert curve.expectation(Uniform()) == pytest.approx(curve.integral(), abs=1e-13)


def test_mass_outside_the_domain_makes_the_expectation_nan():
    half = Curve([0, 0.5], [[1]])
    assert math.isnan(half.expectation(Uniform()))
    assert half.expectation(Point(0.5)) == 1
    assert half.expectation(Uniform(0, 0.5)) == 1


@given(curves(), curves(), numbers)
def test_curves_add_and_scale_as_functions_do(first, second, factor):
    """Both ends and jumps included: a point value at the last knot survives."""
    np.testing.assert_allclose((first + second)(grid), first(grid) + second(grid), atol=1e-13)
    np.testing.assert_allclose((first - second)(grid), first(grid) - second(grid), atol=1e-13)
    np.testing.assert_allclose((factor * first)(grid), factor * first(grid), atol=1e-14)


def test_sums_live_on_the_common_domain():
    total = Curve([0, 0.6], [[1]]) + Curve([0.5, 0.5, 1], [[7], [2]])
    assert total.domain == (0.5, 0.6)
    assert total(0.5) == 3
    assert total.columns()["y"].tolist() == [8, 3, 3]


def test_curves_that_touch_have_one_point_in_common():
    ends, begins = Curve([0, 1], [[1, 2]]), Curve([1, 2], [[4, 5]])
    for total in (ends + begins, begins + ends):
        assert total.domain == (1, 1)
        assert total(1) == 7
    assert ends.crossings(begins).tolist() == []
    assert ends.crossings(Curve([1, 2], [[3]])).tolist() == [1]


@given(curves(columns=4), curves(columns=4))
def test_between_neighbouring_crossings_the_sign_does_not_change(first, second):
    points = first.crossings(second)
    assert np.all(np.diff(points) > 0)
    ends = np.concatenate([[0.0], points, [1.0]])
    for a, b in pairwise(ends):
        if b - a > 1e-9:
            inside = a + (b - a) * np.linspace(1e-6, 1 - 1e-6, 33)
            difference = first(inside) - second(inside)
            assert not (np.any(difference > 1e-9) and np.any(difference < -1e-9))


@given(curves(), curves())
def test_crossings_are_where_curves_meet_or_jump_past_each_other(first, second):
    difference = first - second
    for x in first.crossings(second):
        left, right = difference(np.clip([x - 1e-12, x + 1e-12], 0, 1))
        meets = min(abs(left), abs(right), abs(difference(x))) < 1e-6
        assert meets or left * right < 0


def test_crossings_of_a_parabola_a_jump_and_a_shared_stretch():
    parabola = Curve([0, 1], [[0.2, -1, 1]])  # 0.2 - x + x²
    zero = Curve([0, 1], [[0]])
    np.testing.assert_allclose(
        parabola.crossings(zero), [(1 - math.sqrt(0.2)) / 2, (1 + math.sqrt(0.2)) / 2]
    )
    assert Curve([0, 0.3, 1], [[-1], [1]]).crossings(zero).tolist() == [0.3]
    assert Curve([0, 0.3, 0.6, 1], [[1], [0], [1]]).crossings(zero).tolist() == [0.3, 0.6]
    assert zero.crossings(Curve([0, 1], [[1]])).size == 0


def test_crossings_in_the_odds_are_exact():
    """Net benefit 0.3 - 0.1 p/(1 - p) is zero at p = 3/4; with a line added, at a cubic's root."""
    benefit = Curve([0, 0.9], [[0.3, 0, 0, -0.1]])
    none = Curve([0, 0.9], [[0]])
    np.testing.assert_allclose(benefit.crossings(none), [0.75], rtol=1e-15)
    root = benefit.crossings(Curve([0, 0.9], [[0, 0.1]]))
    np.testing.assert_allclose(benefit(root), 0.1 * root, atol=1e-14)
    assert root.size == 1


def test_rounding_makes_no_crossings_where_curves_coincide():
    """The same line, cut at different knots, differs in the last digits only."""
    x = np.linspace(0, 1, 30)
    first = Curve.through(x, 0.1 + x / 3)
    second = Curve.through([0, 0.37, 1], [0.1, 0.1 + 0.37 / 3, 0.1 + 1 / 3])
    assert set(first.crossings(second)) <= {0.0, 0.37, 1.0, *x}
    assert np.abs((first - second)(grid)).max() < 1e-15


@given(curves())
def test_columns_are_the_ends_of_the_pieces_in_order(curve):
    columns = curve.columns()
    assert np.all(np.diff(columns["x"]) >= 0)
    corners = set(zip(columns["x"].tolist(), columns["y"].round(9).tolist(), strict=True))
    for k in curve.knots:
        assert (k, round(plain_value(curve, k), 9)) in corners
    more = curve.points(5)
    assert more["x"].size >= columns["x"].size
    inside = ~np.isin(more["x"], curve.knots)
    np.testing.assert_allclose(curve(more["x"][inside]), more["y"][inside], atol=1e-14)


def test_a_curve_through_corners_jumps_where_x_repeats():
    steps = Curve.through([0, 0, 0.5, 0.5, 1, 1], [0, 0.5, 0.5, 0.75, 0.75, 1])
    assert steps([0, 0.4, 0.5, 0.9, 1]).tolist() == [0.5, 0.5, 0.75, 0.75, 1]
    assert steps.columns()["x"].tolist() == [0, 0, 0.5, 0.5, 1, 1]
    assert steps.columns()["y"].tolist() == [0, 0.5, 0.5, 0.75, 0.75, 1]
    assert steps.integral() == 0.625


def test_steep_pieces_are_exact_at_their_ends():
    """Slopes of 10⁹ next to one: pieces count from their own knot."""
    x = [0, 1 - 2e-9, 1 - 1e-9, 1]
    np.testing.assert_allclose(Curve.through(x, [0, 0, 1, 1])(x), [0, 0, 1, 1], atol=1e-15)


def test_an_undefined_curve_is_nan_and_says_so():
    nothing = Curve.undefined(0, 1)
    assert np.isnan(nothing([0, 0.5, 1])).all()
    assert math.isnan(nothing.integral())
    assert math.isnan(nothing.expectation(Uniform()))
    assert nothing.crossings(Curve([0, 1], [[0]])).size == 0
    assert nothing == Curve.undefined(0, 1)
    wrong: list[tuple[Any, Any, str]] = [("a", 1, "low"), (0, None, "high"), (0, np.nan, "high")]
    for low, high, argument in wrong:
        with pytest.raises(InputError) as caught:
            Curve.undefined(low, high)
        assert caught.value.argument == argument


def test_curves_are_values():
    curve = Curve([0, 1], [[1, 2]])
    assert curve == Curve([0.0, 1.0], [[1, 2, 0, 0]])
    assert hash(curve) == hash(Curve([0.0, 1.0], [[1, 2, 0, 0]]))
    assert not curve.knots.flags.writeable
    assert not (2 * curve).coefficients.flags.writeable


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Curve([0, 1, 0.5], [[1], [1]]), "knots must be two or more numbers that never"),
        (lambda: Curve([0], np.zeros((0, 1))), "knots must be two or more"),
        (lambda: Curve([0, 1], [[1], [2]]), "one row for each of the 1 pieces"),
        (lambda: Curve([0, 1], [[1, 2, 3, 4, 5]]), "to four columns"),
        (lambda: Curve([0, 1], [[math.nan]]), "coefficients must hold finite numbers"),
        (lambda: Curve.through([0, 1], [0]), "same cases"),
        (lambda: Curve.through([1, 0], [0, 1]), "^x must be two or more numbers that never"),
        (
            lambda: Curve.through([1], [0]),
            "^x must be two or more numbers that never decrease; got 1,",
        ),
        (lambda: Curve([0, 1], [[0, 0, 0, 1]]).expectation(Uniform()), "linear in the odds"),
        (lambda: Curve([0, 1], [[0]]) + Curve([2, 3], [[0]]), "common domain"),
    ],
)
def test_messages_of_curves(make, message):
    with pytest.raises(InputError, match=message):
        make()
