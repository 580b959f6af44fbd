"""Cost against coverage, from bins of how hard cases are: few groups, the same in every engine."""

from __future__ import annotations

import math

import numpy as np

from stakes._check import FloatArray
from stakes.limits import coverage_points
from stakes.report import Points
from stakes.tally import BitGrid


def hardness_unit(largest: float) -> float:
    """Where the innermost run of bins ends, for hardness up to a given distance from zero.

    Parameters
    ----------
    largest : the largest hardness, regardless of its sign

    Returns
    -------
    a power of two

    Examples
    --------
    >>> hardness_unit(3.0) * 2.0**31
    4.0
    """
    return float(2.0 ** (math.frexp(max(largest * (1 + 1e-9), 1e-300))[1] - 31))


def coverage_of_rows(hardness: FloatArray, mass: FloatArray, spent: FloatArray) -> Points:
    """Points of cost against coverage; cases that are nearly as hard are decided together.

    `hardness` (n,) is what the cheapest decision is expected to cost, `mass` (n,) what each case
    counts, and `spent` (n,) what its decision cost, times its mass.
    """
    grid = BitGrid(probabilities=False)
    unit = hardness_unit(float(np.abs(hardness).max()))
    codes = grid.bins(hardness / (unit * grid.scale))
    used, codes = np.unique(codes, return_inverse=True)
    codes = codes.reshape(-1)
    hardest = np.full(used.size, -np.inf)
    np.maximum.at(hardest, codes, hardness)
    sums = (np.bincount(codes, column).astype(np.float64) for column in (mass, spent))
    return coverage_points(hardest, *sums)
