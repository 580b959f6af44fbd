"""A grid of bins for scores, finer by powers of two and identical to the last bit in every engine.

The bins are those of `stakes.tally.bit_bins`. They use only comparisons, differences, products and
floor, whose results are the same in every engine that follows IEEE 754. Each side of the grid has
33 runs of 1,024 bins: the first run begins at distance 0, and each later run is an octave, from the
end of the run before to twice that distance.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import narwhals.stable.v2 as nw
import numpy as np

from stakes.adapters.expressions import Arrays, high_of, low_of
from stakes.adapters.lazy import TRUTH, WEIGHT
from stakes.adapters.sources import Lazy
from stakes.tally import Bins, BitGrid

_STEPS = (16, 8, 4, 2, 1)  # octaves to divide by: a binary search over 32 octaves
_MOST = float(np.finfo(np.float64).max)
_BELOW, _AT = "_below", "_at"  # temporary columns
TOTAL = "total"  # the sum of weights times scores in each bin


@dataclass(frozen=True)
class UnitGrid:
    """Bins of [0, 1] that become finer towards 0 and 1, where the scores of rare classes lie."""

    def binned(self, frame: Lazy, score: str, name: str) -> Lazy:
        """Add the bin of every score, which does not decrease along the scores."""
        below = nw.col(score) < 0.5
        end = nw.when(below).then(nw.col(score)).otherwise(1.0 - nw.col(score))
        rows = _runs(frame.with_columns(below.alias(_BELOW), (end * BitGrid.FAR).alias(_AT)), name)
        place = nw.col(name)
        return rows.with_columns(
            nw.when(nw.col(_BELOW)).then(place).otherwise(BitGrid.N_BINS - 1 - place).alias(name)
        )


@dataclass(frozen=True)
class ScoreGrid:
    """Bins of all numbers that become finer towards a centre, by powers of two times `unit`."""

    centre: float = 0.0
    unit: float = 2.0**-16  # the end of the innermost run

    def binned(self, frame: Lazy, score: str, name: str) -> Lazy:
        """Add the bin of every score, which does not decrease along the scores."""
        value, below = nw.col(score), nw.col(score) < self.centre
        away = nw.when(below).then(self.centre - value).otherwise(value - self.centre)
        scaled = away * (1 / self.unit)
        rows = _runs(frame.with_columns(below.alias(_BELOW), scaled.alias(_AT)), name)
        place = nw.col(name)
        return rows.with_columns(
            nw.when(nw.col(_BELOW))
            .then(BitGrid.SIDE - 1 - place)
            .otherwise(BitGrid.SIDE + place)
            .alias(name)
        )

    @classmethod
    def around(cls, low: float, middle: float, high: float) -> ScoreGrid:
        """A grid for scores whose quartiles are `low`, `middle` and `high`."""
        # Bounded so that neither the unit, about 2⁻¹² of the spread, nor its inverse overflows.
        spread = min(max(high - low, 2.0**-900), 2.0**900)
        return cls(middle, 2.0 ** (math.frexp(spread)[1] - 12))


Grid = UnitGrid | ScoreGrid


def _runs(frame: Lazy, name: str) -> Lazy:
    """Add the bin of distances ≥ 0, which are measured in units of the first run."""
    at = nw.col(_AT)
    beyond = nw.when(at > _MOST).then(nw.lit(BitGrid.SIDE - 1)).otherwise(nw.lit(BitGrid.SIDE - 2))
    rows = frame.with_columns(
        nw.when(at >= BitGrid.FAR).then(beyond).otherwise(nw.lit(0)).alias(name),
        nw.when(at >= BitGrid.FAR).then(nw.lit(0.0)).otherwise(at).alias(_AT),
    )
    # Dividing by 2¹⁶, 2⁸, … finds the octave without a logarithm, which engines round differently.
    for step in _STEPS:
        above = at >= 2.0**step
        runs = nw.when(above).then(nw.lit(step * BitGrid.RUN)).otherwise(nw.lit(0))
        rows = rows.with_columns(
            nw.when(above).then(at * 2.0**-step).otherwise(at).alias(_AT),
            (nw.col(name) + runs).alias(name),
        )
    within = (at * float(BitGrid.RUN)).floor()
    return rows.with_columns((nw.col(name) + within).alias(name))


def pooled_bins(sums: Arrays, score: str) -> Bins:
    """The bins of a score from sums of `grouped` by class and bin, with the range of the score."""
    weights = np.where(sums[TRUTH][:, None] == np.arange(2), sums[WEIGHT][:, None], 0.0)
    return Bins.pooled(sums[low_of(score)], sums[high_of(score)], sums[TOTAL], weights)


def finer(bins: Bins) -> ScoreGrid:
    """A grid that is finest in the middle half of these scores, infinite ones left out."""
    finite = np.isfinite(bins.low) & np.isfinite(bins.high)
    if not finite.any():
        return ScoreGrid()
    low, high = bins.low[finite], bins.high[finite]
    reached = np.cumsum(bins.weights[finite].sum(axis=1))
    first, middle, last = np.searchsorted(reached, reached[-1] * np.array([0.25, 0.5, 0.75]))
    centre = low[middle] / 2 + high[middle] / 2
    return ScoreGrid.around(float(low[first]), float(centre), float(high[last]))
