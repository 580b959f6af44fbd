"""Bins of the top bits of the float: the same edges in numpy, in torch and in every engine.

A score's distance from the nearest centre (0 and 1 for probabilities, 0 for other numbers) is
scaled by a power of two. Its exponent and the first ten bits of its mantissa are the bin; the next
thirteen, the rest, say where in the bin it lies. Nothing is rounded, so that a bin depends on the
value and neither on the device nor on the precision in which the value is stored.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from stakes._check import FloatArray, IntArray, Labels
from stakes.tally.score_table import ScoreTable


@dataclass(frozen=True)
class BitGrid:
    """Bins that zoom by powers of two: towards 0 and 1 (`probabilities`), or towards 0 only.

    Parameters
    ----------
    probabilities : whether bins get finer towards 1, too
    """

    RUN: ClassVar = 1 << 10  # bins of an octave; the first run begins at distance nought
    OCTAVES: ClassVar = 32
    FAR: ClassVar = 2.0**32  # where the last octave ends
    SIDE: ClassVar = 33 * 1024 + 2  # the last bins hold what lies beyond, and what is infinite
    N_BINS: ClassVar = 2 * SIDE
    REST_BITS: ClassVar = 13

    probabilities: bool

    @property
    def scale(self) -> float:
        """Distances times this are in units of the first run."""
        return self.FAR if self.probabilities else 2.0**16

    def places(self, scores: FloatArray) -> tuple[IntArray, IntArray]:
        """The bin of every score, which does not decrease along the scores, and its rest.

        >>> BitGrid(True).places(np.array([0.0, 0.5, 1.0]))[0].tolist()
        [0, 34819, 67587]
        """
        below = scores < (0.5 if self.probabilities else 0.0)
        away = np.where(below, scores, 1.0 - scores) if self.probabilities else np.abs(scores)
        with np.errstate(over="ignore"):  # very large scores lie beyond the last octave anyway
            at = np.asarray(away * self.scale, dtype=np.float64)
        near = (np.where(at < 1.0, at, 0.0) * (self.RUN * self._rests)).astype(np.int64)
        octave = (at.view(np.int64) >> (52 - 23)) - (1022 << 23)
        fine = np.where(at < 1.0, near, octave)
        fine = np.where(
            at >= self.FAR, np.where(np.isinf(at), self.SIDE - 1, self.SIDE - 2) * self._rests, fine
        )
        place, rest = fine >> self.REST_BITS, fine & (self._rests - 1)
        first = below if self.probabilities else ~below
        start = np.where(first, 0 if self.probabilities else self.SIDE, self._last)
        return np.where(first, start + place, start - place).astype(np.intp), rest.astype(np.intp)

    @property
    def _rests(self) -> int:
        """Rests of a bin."""
        return 1 << self.REST_BITS

    @property
    def _last(self) -> int:
        """The bin from which the places of the other side count down."""
        return self.N_BINS - 1 if self.probabilities else self.SIDE - 1

    def scores(self, bins: IntArray, rest: FloatArray | IntArray) -> FloatArray:
        """The score that lies so far in a bin, its mean rest being the measure.

        >>> BitGrid(True).scores(*BitGrid(True).places(np.array([0.25, 0.7]))).round(6).tolist()
        [0.25, 0.7]
        """
        upper = bins >= self.SIDE
        first = ~upper if self.probabilities else upper
        place = np.where(first, bins - (0 if self.probabilities else self.SIDE), self._last - bins)
        run = np.minimum(place // self.RUN, self.OCTAVES)
        width = np.ldexp(1.0 / self.RUN, np.maximum(run - 1, 0))
        start = np.where(run > 0, 1.0 + place % self.RUN / self.RUN, place / self.RUN) * np.ldexp(
            1.0, np.maximum(run - 1, 0)
        )
        at = np.where(place == self.SIDE - 2, self.FAR, start + width * rest / self._rests)
        away = np.where(place == self.SIDE - 1, np.inf, at / self.scale)
        if self.probabilities:
            return np.asarray(np.where(first, away, 1.0 - away))
        return np.asarray(np.where(first, away, -away))


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
        order = np.argsort(low, kind="stable")
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

    def table(self, classes: Labels | None) -> ScoreTable:
        """The table of the mean scores."""
        return ScoreTable(self.mean, self.weights, classes=classes)

    def threshold(self, mean: float) -> float:
        """The score above which all bins beyond that of this mean lie, and none other."""
        places = np.flatnonzero(self.mean == mean)
        return float(self.high[places[0]]) if places.size else mean
