"""A grid of bins for scores that zooms by powers of two, the same to the last bit in every engine.

It takes comparisons, products with powers of two and floor, which no engine rounds. A side of the
grid has 33 runs of 1,024 bins: the first run begins at distance nought, and every later one, as
each octave, is twice as wide as the one before.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import narwhals.stable.v2 as nw
import numpy as np

from stakes._check import FloatArray, Labels
from stakes.adapters.sources import Lazy
from stakes.tally import ScoreTable

_STEPS = (16, 8, 4, 2, 1)  # octaves that are halved away at a time, 31 in all
_RUN = 1 << 10
_SIDE = 33 * _RUN + 2  # the last bins hold what lies beyond, and what is infinite
_FAR = 2.0**32  # where the last octave ends
_MOST = float(np.finfo(np.float64).max)
_BELOW, _AT = "_below", "_at"  # columns that are made on the way

N_BINS = 2 * _SIDE


@dataclass(frozen=True)
class UnitGrid:
    """Bins of [0, 1] that zoom towards both ends, where the rare classes have their scores."""

    def binned(self, frame: Lazy, score: str, name: str) -> Lazy:
        """Add the bin of every score, which does not decrease along the scores."""
        below = nw.col(score) < 0.5
        end = nw.when(below).then(nw.col(score)).otherwise(1.0 - nw.col(score))
        made = _runs(frame.with_columns(below.alias(_BELOW), (end * _FAR).alias(_AT)), name)
        place = nw.col(name)
        return made.with_columns(
            nw.when(nw.col(_BELOW)).then(place).otherwise(N_BINS - 1 - place).alias(name)
        )


@dataclass(frozen=True)
class ScoreGrid:
    """Bins of all numbers that zoom towards a centre, by powers of two of `unit`."""

    centre: float = 0.0
    unit: float = 2.0**-16  # the end of the innermost run

    def binned(self, frame: Lazy, score: str, name: str) -> Lazy:
        """Add the bin of every score, which does not decrease along the scores."""
        own, below = nw.col(score), nw.col(score) < self.centre
        away = nw.when(below).then(self.centre - own).otherwise(own - self.centre)
        scaled = away * (1 / self.unit)
        made = _runs(frame.with_columns(below.alias(_BELOW), scaled.alias(_AT)), name)
        place = nw.col(name)
        return made.with_columns(
            nw.when(nw.col(_BELOW)).then(_SIDE - 1 - place).otherwise(_SIDE + place).alias(name)
        )

    @classmethod
    def around(cls, low: float, middle: float, high: float) -> ScoreGrid:
        """A grid for scores of which half lie between two numbers."""
        spread = min(max(high - low, 2.0**-900), 2.0**900)
        return cls(middle, 2.0 ** (math.frexp(spread)[1] - 12))


Grid = UnitGrid | ScoreGrid


def _runs(frame: Lazy, name: str) -> Lazy:
    """The bin of distances of at least nought, in units of the first run."""
    at = nw.col(_AT)
    beyond = nw.when(at > _MOST).then(nw.lit(_SIDE - 1)).otherwise(nw.lit(_SIDE - 2))
    made = frame.with_columns(
        nw.when(at >= _FAR).then(beyond).otherwise(nw.lit(0)).alias(name),
        nw.when(at >= _FAR).then(nw.lit(0.0)).otherwise(at).alias(_AT),
    )
    for step in _STEPS:
        above = at >= 2.0**step
        runs = nw.when(above).then(nw.lit(step * _RUN)).otherwise(nw.lit(0))
        made = made.with_columns(
            nw.when(above).then(at * 2.0**-step).otherwise(at).alias(_AT),
            (nw.col(name) + runs).alias(name),
        )
    within = (at * float(_RUN)).floor().cast(nw.Int64)
    return made.with_columns((nw.col(name) + within).alias(name))


@dataclass(frozen=True, eq=False)
class Bins:
    """Scores in bins, in order: lowest and highest score, mean score and class weights."""

    low: FloatArray
    high: FloatArray
    mean: FloatArray
    weights: FloatArray  # (S, 2)

    @classmethod
    def pooled(
        cls, low: FloatArray, high: FloatArray, sums: FloatArray, weights: FloatArray
    ) -> Bins:
        """Parts of bins in order, those that overlap as one; `sums` are weighted sums of scores.

        Parts of one class that lie apart stay apart, so that the order of their scores is kept.
        """
        order = np.argsort(low)
        reached = np.maximum.accumulate(high[order])
        starts = np.flatnonzero(np.concatenate([[True], low[order][1:] > reached[:-1]]))
        lowest = np.minimum.reduceat(low[order], starts)
        highest = np.maximum.reduceat(high[order], starts)
        mass = np.add.reduceat(weights[order], starts, axis=0)
        means = np.add.reduceat(sums[order], starts) / mass.sum(axis=1)
        return cls(lowest, highest, np.clip(means, lowest, highest) + 0.0, mass)

    @property
    def exact(self) -> bool:
        """Whether every bin holds a single score."""
        return bool((self.low == self.high).all())

    @property
    def auc_error(self) -> float:
        """What the order of the scores within the bins can do to the AUC, at most."""
        totals = self.weights.sum(axis=0)
        if not totals.all():
            return 0.0
        shares = self.weights[self.low < self.high] / totals
        return float(np.sum(shares[:, 0] * shares[:, 1]) / 2)

    def table(self, classes: Labels) -> ScoreTable:
        """The table of the mean scores."""
        return ScoreTable(self.mean, self.weights, classes=classes)

    def threshold(self, mean: float) -> float:
        """The score above which all bins beyond that of this mean lie, and none other."""
        places = np.flatnonzero(self.mean == mean)
        return float(self.high[places[0]]) if places.size else mean

    def finer(self) -> ScoreGrid:
        """A grid that zooms in on the middle half of these scores, infinite ones aside."""
        finite = np.isfinite(self.low) & np.isfinite(self.high)
        if not finite.any():
            return ScoreGrid()
        low, high = self.low[finite], self.high[finite]
        reached = np.cumsum(self.weights[finite].sum(axis=1))
        first, middle, last = np.searchsorted(reached, reached[-1] * np.array([0.25, 0.5, 0.75]))
        centre = low[middle] / 2 + high[middle] / 2
        return ScoreGrid.around(float(low[first]), float(centre), float(high[last]))
