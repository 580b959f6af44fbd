"""Ties: what rounding alone keeps apart is equal; places among a few edges; tables of codes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from stakes._arithmetic import least, least_shares, places_among, table_of


@pytest.mark.parametrize(("gap", "tied"), [(1e-16, True), (1e-13, True), (1e-6, False)])
def test_the_least_of_all_are_those_that_only_rounding_keeps_apart(gap, tied):
    values = np.array([1.0, 1.0 + gap, 2.0])
    assert least(values).tolist() == [True, tied, False]
    assert least_shares(values).tolist() == ([0.5, 0.5, 0] if tied else [1, 0, 0])


def test_a_large_amount_that_all_share_makes_no_ties_beyond_its_own_rounding():
    assert least(np.array([1e6, 1e6 + 1e-4, 1e6 + 1])).tolist() == [True, False, False]


def test_what_is_undefined_or_infinite_is_never_the_least():
    assert least(np.array([np.nan, 3.0, np.inf])).tolist() == [False, True, False]
    assert not least(np.array([np.inf, np.nan])).any()


def test_a_tie_is_relative_to_what_the_values_span_however_small_that_is():
    assert least(np.array([1e-20, 2e-20, 5e-20])).tolist() == [True, False, False]
    assert least(np.zeros(3)).all()
    assert least(np.array([1e6, 1e6 + 1e-7, 1e6 + 1e-3])).tolist() == [True, False, False]


def test_each_row_of_a_table_has_its_own_least_and_its_own_slack():
    rows = np.array(
        [[1.0, 1 + 1e-13, 2.0], [5.0, 5 + 1e-13, 5 + 1e-6], [np.nan, 7.0, 7.0], [3, 2, 1]]
    )
    assert least(rows).tolist() == [least(row).tolist() for row in rows]
    np.testing.assert_array_equal(least_shares(rows), [least_shares(row) for row in rows])


@pytest.mark.parametrize("n_edges", [0, 1, 5, 32, 33, 300])
def test_places_among_edges_are_those_of_a_binary_search(n_edges):
    rng = np.random.default_rng(n_edges)
    edges = np.sort(rng.integers(0, 40, n_edges) / 8)  # some of them equal
    values = np.concatenate([rng.integers(-8, 48, 40_000) / 8, [-np.inf, np.inf, -0.0]])
    assert_array_equal(places_among(edges, values), np.searchsorted(edges, values))
    assert_array_equal(places_among(edges, values[::2]), np.searchsorted(edges, values[::2]))


@pytest.mark.parametrize("weights", [None, np.array([0.5, 2.0, 4.0, 8.0])])
def test_a_table_of_codes_adds_up_the_weights_of_every_cell(weights):
    first: Any = np.array([0, 1, 1, 1], dtype=np.int8)
    second: Any = np.array([True, False, True, True])
    third = np.array([299, 0, 7, 7])  # cells are counted beyond the range of the first code
    table = np.zeros((2, 2, 300))
    for place, cell in enumerate(zip(first, second.astype(int), third, strict=True)):
        table[cell] += 1 if weights is None else weights[place]
    assert_array_equal(table_of(weights, [first, second, third], table.shape), table)
