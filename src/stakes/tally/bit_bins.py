"""Bins by the top bits of a float, with the same edges in numpy, in torch and in every engine.

The distance of a score from the nearest centre (0 and 1 for probabilities, 0 for other numbers) is
scaled by a power of two. Its exponent and the first ten bits of its mantissa are the bin; the next
thirteen bits, the rest, say where in the bin it lies. Nothing is rounded, so that the bin depends
on the value alone, not on the device or the precision in which the value is stored.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from stakes._check import FloatArray, IntArray
from stakes._value import Value, record
from stakes.tally.bucket_sort import blocks


@record
class BitGrid(Value):
    """Bins whose width shrinks by powers of two, towards 0 and 1 (`probabilities`) or towards 0.

    Parameters
    ----------
    probabilities : whether bins get finer towards 1, too

    Examples
    --------
    Scores 1e-5 apart share a bin near one half, but not near zero:

    >>> grid = BitGrid(probabilities=True)
    >>> grid.bins(np.array([0.4, 0.40001])).tolist(), grid.bins(np.array([1e-5, 2e-5])).tolist()
    ([32358, 32358], [16702, 17726])
    """

    RUN: ClassVar = 1 << 10  # bins of an octave; the first run begins at distance zero
    OCTAVES: ClassVar = 32
    FAR: ClassVar = 2.0**32  # where the last octave ends
    SIDE: ClassVar = 33 * 1024 + 2  # the last bins hold what lies beyond, and what is infinite
    N_BINS: ClassVar = 2 * SIDE
    REST_BITS: ClassVar = 13

    probabilities: bool

    @property
    def scale(self) -> float:
        """The factor that turns distances into units of the first run."""
        return 2.0**self._power

    def places(self, scores: FloatArray) -> tuple[IntArray, IntArray]:
        """The bin of every score, non-decreasing in the score, and its position in the bin.

        Parameters
        ----------
        scores : scores, (n,)

        Returns
        -------
        bins (n,), and the thirteen bits that follow those of the bin (n,)

        Examples
        --------
        >>> BitGrid(True).places(np.array([0.0, 0.5, 1.0]))[0].tolist()
        [0, 34819, 67587]
        """
        below = scores < (0.5 if self.probabilities else 0.0)
        away = np.where(below, scores, 1.0 - scores) if self.probabilities else np.abs(scores)
        with np.errstate(over="ignore"):  # very large scores lie beyond the last octave anyway
            at = np.asarray(away * self.scale, dtype=np.float64)
        near = (np.minimum(at, 1.0) * (self.RUN * self._rests)).astype(np.int64)
        # Exponent and 23 bits of the mantissa as one integer; 1.0, with exponent field 1023, starts
        # the second run.
        octave = (at.view(np.int64) >> (52 - 23)) - (1022 << 23)
        fine = np.where(at < 1.0, near, octave)
        fine = np.where(
            at >= self.FAR, np.where(np.isinf(at), self.SIDE - 1, self.SIDE - 2) * self._rests, fine
        )
        place, rest = fine >> self.REST_BITS, fine & (self._rests - 1)
        first = below if self.probabilities else ~below
        start = np.where(first, 0 if self.probabilities else self.SIDE, self._last)
        return np.where(first, start + place, start - place).astype(np.intp), rest.astype(np.intp)

    def bins(self, scores: FloatArray) -> IntArray:
        """The bin of every score, as `places` gives it, in blocks that fit into the cache.

        Parameters
        ----------
        scores : scores, (n,)

        Returns
        -------
        bins, (n,)

        Examples
        --------
        >>> BitGrid(True).bins(np.array([0.0, 0.5, 1.0])).tolist()
        [0, 34819, 67587]
        """
        codes = np.empty(scores.size, dtype=np.intp)
        for block in blocks(scores.size):
            codes[block] = self._bins_of_block(scores[block])
        return codes

    def _bins_of_block(self, scores: FloatArray) -> IntArray:
        """The bin of every score of a block, by its bits except very near and very far away."""
        if self.probabilities:
            away = np.subtract(1.0, scores)
            upper = away <= scores
            np.minimum(away, scores, out=away)
        else:
            away, upper = np.abs(scores), scores >= 0.0
        place = away.view(np.int64) >> 42  # exponent and 10 bits of the mantissa
        place -= (1022 << 10) - 1024 * self._power
        rare = (place < self.RUN) | (place >= self.SIDE - 2)
        mirrored = upper if self.probabilities else ~upper
        np.negative(place, out=place, where=mirrored)
        start = 0 if self.probabilities else self.SIDE
        place += np.array([start, self._last])[mirrored.view(np.int8)]
        if rare.any():
            place[rare] = self.places(scores[rare])[0]
        return np.asarray(place, dtype=np.intp)

    def cuts(self, ordered: FloatArray) -> IntArray:
        """The positions, among sorted scores, at which a new bin begins.

        Parameters
        ----------
        ordered : increasing scores, (n,)

        Returns
        -------
        positions, increasing

        Examples
        --------
        >>> BitGrid(True).cuts(np.array([0.1, 0.10001, 0.7, 0.9])).tolist()
        [2, 3]
        """
        first, last = self.bins(ordered[[0, -1]])
        if last - first > ordered.size:
            return np.flatnonzero(np.diff(self.bins(ordered))) + 1
        bins = np.arange(first, last + 1)
        inner = self.scores(bins, np.zeros(bins.size))  # the edges nearer to the centres
        middle = 0.5 if self.probabilities else 0.0
        upward = (bins < self.SIDE) == self.probabilities
        lower = upward & (inner < middle) if self.probabilities else upward
        upper = ~upward & ((inner >= middle) if self.probabilities else (inner < middle))
        cuts = np.concatenate(
            [
                np.searchsorted(ordered, [middle, *inner[lower]]),
                np.searchsorted(ordered, inner[upper], side="right"),
            ]
        )
        cuts = np.unique(cuts)
        return cuts[(cuts > 0) & (cuts < ordered.size)]

    @property
    def _power(self) -> int:
        return 32 if self.probabilities else 16

    @property
    def _rests(self) -> int:
        """How many places a bin has."""
        return 1 << self.REST_BITS

    @property
    def _last(self) -> int:
        """The bin from which those of the other side are counted down."""
        return self.N_BINS - 1 if self.probabilities else self.SIDE - 1

    def scores(self, bins: IntArray, rest: FloatArray | IntArray) -> FloatArray:
        """The score at a place within a bin, such as the mean place of its cases.

        Parameters
        ----------
        bins : bins, (n,)
        rest : places within the bins, from 0 to 2**13

        Returns
        -------
        scores, (n,)

        Examples
        --------
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
