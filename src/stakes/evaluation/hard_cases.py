"""Cost against coverage, from bins of how hard cases are: few groups, the same in every engine."""

from __future__ import annotations

import math

import numpy as np

from stakes._check import FloatArray
from stakes.limits import coverage_points
from stakes.report import Points
from stakes.tally import BitGrid

_OFF = 1 + 0.381966 / BitGrid.RUN  # moves the edges of bins away from round numbers


def hardness_unit(largest: float) -> float:
    """Where the innermost run of bins ends, for hardness within a distance from zero.

    Engines round sums of products differently, by a few units in the last place. Many cases are
    as hard as a round number, and would fall into one bin here and into its neighbour there, were
    such numbers the edges of bins.

    Parameters
    ----------
    largest : the largest hardness, regardless of its sign

    Returns
    -------
    nearly a power of two

    Examples
    --------
    >>> round(hardness_unit(3.0) * 2.0**31, 2)
    4.0
    """
    return float(2.0 ** (math.frexp(max(largest * _OFF, 1e-300))[1] - 31)) / _OFF


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
