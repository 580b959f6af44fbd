"""Converters between cost proportion, skew, net benefit, cost and economic value."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from stakes import Counts, InputError, Problem, ScoreTable, Skews, expected_cost
from stakes.audit import CostRange
from stakes.conditions import (
    CostProportions,
    Point,
    cost_from_net_benefit,
    cost_proportion_from_skew,
    net_benefit_from_cost,
    net_benefit_from_relative_value,
    relative_value_from_net_benefit,
    skew_from_cost_proportion,
)
from stakes.measures import net_benefit, relative_economic_value
from stakes.thresholds import ScoreFixed, expected_loss

inside = st.floats(0.01, 0.99)
benefits = st.floats(-2, 1)


@given(inside, inside, benefits)
def test_every_converter_undoes_another(c, prevalence, value):
    z = skew_from_cost_proportion(c, prevalence)
    assert_allclose(cost_proportion_from_skew(z, prevalence), c, rtol=1e-9)
    cost = cost_from_net_benefit(value, c, prevalence)
    assert_allclose(net_benefit_from_cost(cost, c, prevalence), value, rtol=1e-9, atol=1e-12)
    gained = relative_value_from_net_benefit(value, c, prevalence)
    back = net_benefit_from_relative_value(gained, c, prevalence)
    assert_allclose(back, value, rtol=1e-9, atol=1e-9)


tables = st.lists(st.integers(1, 30), min_size=4, max_size=4).map(lambda v: np.reshape(v, (2, 2)))


@given(tables, inside, inside)
def test_converted_net_benefits_are_the_costs_and_values_of_the_same_table(values, c, prevalence):
    counts, prior = Counts(values), [1 - prevalence, prevalence]
    problem = Problem.binary(false_alarm=c, miss=1 - c, prior=prior)
    benefit = net_benefit(counts.with_prior(prior), c)
    cost = cost_from_net_benefit(benefit, c, prevalence)
    assert_allclose(cost, expected_cost(counts, problem), rtol=1e-9, atol=1e-12)
    value = relative_value_from_net_benefit(benefit, c, prevalence)
    assert_allclose(value, relative_economic_value(counts, problem), rtol=1e-9, atol=1e-9)


@given(inside, inside)
def test_the_loss_at_a_skew_is_the_loss_at_its_cost_proportion_in_units_of_what_is_at_stake(c, pi):
    """hernandez-orallo, lemma 2: Q(c) = 2 (c π₀ + (1 − c) π₁) Q(z)."""
    table = ScoreTable([0.1, 0.4, 0.7], [[3, 1], [2, 2], [1, 4]]).with_prior([1 - pi, pi])
    z = float(skew_from_cost_proportion(c, pi))
    at_cost = expected_loss(table, ScoreFixed(0.3), CostProportions(Point(c)))
    at_skew = expected_loss(table, ScoreFixed(0.3), Skews(Point(z)))
    stake = c * (1 - pi) + (1 - c) * pi
    assert_allclose(at_cost, 2 * stake * at_skew, rtol=1e-9)
    ranged = CostRange(np.array([c, c]), np.array([1 - pi, pi]), "")
    assert_allclose(ranged.skew, [z, z], rtol=1e-12)


def test_where_nothing_is_at_stake_the_answer_is_undefined():
    assert math.isnan(skew_from_cost_proportion(0.0, 0.0))
    assert math.isnan(cost_proportion_from_skew(1.0, 0.0))
    assert math.isnan(net_benefit_from_cost(0.1, 1.0, 0.2))
    assert math.isnan(relative_value_from_net_benefit(0.0, 0.3, 0.0))
    assert relative_value_from_net_benefit(-0.1, 0.3, 0.0) == -math.inf


@pytest.mark.filterwarnings("error")
def test_what_is_beyond_all_numbers_is_infinite_and_makes_no_noise():
    """`make fuzz SEED=23` found the first."""
    assert net_benefit_from_cost(1e308, 0.5, 0.2) == -math.inf
    assert relative_value_from_net_benefit(1e308, 0.3, 0.01) == math.inf


def test_arrays_are_broadcast_and_what_is_no_probability_is_refused():
    skews = skew_from_cost_proportion([[0.1], [0.5]], [0.1, 0.5, 0.9])
    assert skews.shape == (2, 3)
    assert_allclose(skews[:, 1], [0.1, 0.5])
    with pytest.raises(InputError, match="prevalence must hold probabilities"):
        skew_from_cost_proportion(0.1, 10)
