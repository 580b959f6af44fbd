"""Cost against coverage, from bins of hardness: few groups, and the same in every engine."""

from __future__ import annotations

import math

import numpy as np

from stakes._check import FloatArray
from stakes.limits import coverage_points
from stakes.report import Points
from stakes.tally import BitGrid

_OFF = 1 + 0.381966 / BitGrid.RUN  # moves the edges of bins away from round numbers


def hardness_unit(largest: float) -> float:
    """Where the innermost run of bins ends, for hardness up to some distance from zero.

    Engines round sums of products differently, by a few units in the last place. The hardness of
    many cases is a round number. If bins had round edges, such cases would fall into one bin in one
    engine and into its neighbour in another.

    Parameters
    ----------
    largest : the largest hardness, regardless of its sign

    Returns
    -------
    slightly less than a power of two

    Examples
    --------
    >>> round(hardness_unit(3.0) * 2.0**31, 2)
    4.0
    """
    return float(2.0 ** (math.frexp(max(largest * _OFF, 1e-300))[1] - 31)) / _OFF


def coverage_of_rows(hardness: FloatArray, mass: FloatArray, spent: FloatArray) -> Points:
    """Points of cost against coverage; cases of nearly the same hardness form one group.

    `hardness` (n,) is the expected cost of the cheapest decision, `mass` (n,) the weight of each
    case, and `spent` (n,) what its decision cost, times its weight.
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
