"""Bins of how hard cases are: rounding in an engine moves no case from one to the next."""

from __future__ import annotations

import numpy as np
import pytest

from stakes.evaluation.tally_rows import coverage_of_rows


@pytest.mark.parametrize("off", [1 - 4e-16, 1 + 4e-16])
def test_the_last_digits_of_round_numbers_change_no_bin(off):
    """Powers of two would be edges of plain bins, and other cases are just below them."""
    rng = np.random.default_rng(5)
    hardness = 2.0 ** rng.integers(-8, 4, 500) * rng.choice([1.0, 1 - 2.0**-12, -1.0], 500)
    mass, spent = rng.integers(0, 5, 500).astype(np.float64), rng.random(500)
    points = np.array(coverage_of_rows(hardness, mass, spent))
    assert len(points) > 5
    moved = np.where(rng.random(500) < 0.5, hardness, hardness * off)
    again = np.array(coverage_of_rows(moved, mass, spent))
    np.testing.assert_allclose(again, points, rtol=1e-12)
