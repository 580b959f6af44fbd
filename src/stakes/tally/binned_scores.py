"""Scores of more cases than a table can hold: bins with certain bounds, and sorted runs."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from functools import partial, reduce
from operator import add
from typing import Any, ClassVar, TypeVar

import numpy as np
import numpy.typing as npt

from stakes._check import FloatArray, IntArray, Label, Labels, shapes
from stakes._value import Value, record
from stakes.tally.score_table import (
    Keys,
    ScoreTable,
    blocks,
    packed_scores,
    sorted_again,
    sorted_cases,
    sorted_keys,
    unpacked,
    weights_by_score,
)

# -------------------------------------------------------------------------------------------------
# Bins by the top bits of a float, with the same edges in numpy, in torch and in every engine.
#
# The distance of a score from the nearest centre (0 and 1 for probabilities, 0 for other numbers)
# is scaled by a power of two. Its exponent and the first ten bits of its mantissa are the bin; the
# next thirteen bits, the rest, say where in the bin it lies. Nothing is rounded, so that the bin
# depends on the value alone, not on the device or the precision in which the value is stored.


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


# -------------------------------------------------------------------------------------------------
# Bins of scores: what they hold, how blocks of cases are added, and bounds on rank
# statistics.
#
# Of the cases in a bin only the lowest and the highest score, the mean score and the weights of
# the classes are known. Whatever the order of the scores within bins, rank statistics lie between
# those of two tables: in one, every bin has its negatives below its positives, in the other above.


@record
class Bins:
    """Scores in bins, in increasing order: lowest, highest and mean score, and class weights.

    `inside` is the weight of pairs within bins that the scores put in order, beyond a half of each
    (see `ranking.exact_bins`); None if the order within bins is not known.

    Examples
    --------
    >>> sums = BinSums(BitGrid(True))
    >>> sums.add(np.array([0, 1, 1]), np.array([0.25, 0.25, 0.75]))
    >>> bins = sums.bins()
    >>> bins.mean, bins.weights.tolist(), bins.exact
    (array([0.25, 0.75]), [[1.0, 1.0], [0.0, 1.0]], True)
    """

    low: FloatArray
    high: FloatArray
    mean: FloatArray
    weights: FloatArray  # (S, 2)
    inside: float | None = None

    @classmethod
    def pooled(
        cls, low: FloatArray, high: FloatArray, sums: FloatArray, weights: FloatArray
    ) -> Bins:
        """Bins from parts of bins; parts that overlap become one bin.

        Parts that do not overlap stay separate, so that the order of their scores is kept.

        Parameters
        ----------
        low, high : lowest and highest score of each part
        sums : weighted sums of the scores
        weights : (S, 2) class weights

        Returns
        -------
        the bins

        Examples
        --------
        >>> low, high = np.array([0.1, 0.4]), np.array([0.2, 0.7])
        >>> bins = Bins.pooled(low, high, np.array([0.3, 1.1]), np.array([[2.0, 0.0], [1.0, 1.0]]))
        >>> bins.mean
        array([0.15, 0.55])
        """
        shapes("S, S, S, S 2", low=low, high=high, sums=sums, weights=weights)
        order = np.argsort(low, kind="stable")
        reached = np.maximum.accumulate(high[order])
        starts = np.flatnonzero(np.concatenate([[True], low[order][1:] > reached[:-1]]))
        lowest = np.minimum.reduceat(low[order], starts)
        highest = np.maximum.reduceat(high[order], starts)
        mass = np.add.reduceat(weights[order], starts, axis=0)
        means = np.add.reduceat(sums[order], starts) / mass.sum(axis=1)
        return cls(lowest, highest, np.clip(means, lowest, highest) + 0.0, mass)

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        *,
        y_true: str,
        scores: str,
        grid: BitGrid,
        positive: Label | None = None,
        weights: str | None = None,
        memory_limit: int = 2 << 30,
    ) -> Bins:
        """Bin the scores in a column of a frame, for any number of rows.

        If the engine can stream rows (DuckDB, files, Polars) and eight bytes for each row, or
        sixteen with weights, fit into `memory_limit`, scores are sorted range by range. The AUC
        (`ranking.certified`) and the convex hull of the ROC curve, and with it thresholds, H and
        optimal losses of `ranks`, are then exact, and `inside` is a number. Otherwise the bins are
        those of the grid, and `ranking.certified` gives bounds.

        Parameters
        ----------
        frame, y_true, scores, positive, weights : as in `ScoreTable.from_frame`
        grid : bins that get finer towards 0 and 1 for probabilities, or towards 0
        memory_limit : the most memory to use, in bytes

        Returns
        -------
        the bins

        Examples
        --------
        >>> import duckdb
        >>> rows = duckdb.sql("SELECT * FROM (VALUES (0, 0.1), (0, 0.4), (1, 0.4)) AS t(label, p)")
        >>> bins = Bins.from_frame(rows, y_true="label", scores="p", grid=BitGrid(True))
        >>> bins.high, bins.exact
        (array([0.1, 0.4]), True)
        """
        from stakes.adapters.frame_tallies import frame_bins

        return frame_bins(frame, y_true, scores, grid, positive, weights, memory_limit)

    @property
    def exact(self) -> bool:
        """Whether every bin holds a single score."""
        return bool((self.low == self.high).all())

    @property
    def auc_error(self) -> float:
        """The largest effect that the order of the scores within bins can have on the AUC."""
        if self.inside is not None:
            return 0.0
        totals = self.weights.sum(axis=0)
        if not totals.all():
            return 0.0
        shares = self.weights[self.low < self.high] / totals
        return float(np.sum(shares[:, 0] * shares[:, 1]) / 2)

    @property
    def auc_shift(self) -> float:
        """What the order within bins adds to the AUC of the table, where it is known."""
        pairs = float(np.prod(self.weights.sum(axis=0)))
        return 0.0 if self.inside is None or pairs == 0 else self.inside / pairs

    def table(self, classes: Labels | None) -> ScoreTable:
        """The table of the mean scores.

        Parameters
        ----------
        classes : two labels, or None

        Returns
        -------
        the table, in which each bin is a score

        Examples
        --------
        >>> sums = BinSums(BitGrid(True))
        >>> sums.add(np.array([0, 1, 1]), np.array([0.25, 0.25, 0.75]))
        >>> sums.bins().table(("well", "ill"))
        ScoreTable of 3 cases, 2 positive, 2 distinct scores from 0.25 to 0.75
        """
        return ScoreTable(self.mean, self.weights, classes=classes)

    def ranks(self, classes: Labels | None = None) -> ScoreTable:
        """The table of the highest score of each bin, whose thresholds split no bin.

        Parameters
        ----------
        classes : two labels, or None

        Returns
        -------
        the table, in which each bin is a score

        Examples
        --------
        >>> sums = BinSums(BitGrid(True))
        >>> sums.add(np.array([0, 1, 1]), np.array([0.25, 0.25, 0.75]))
        >>> sums.bins().ranks().scores
        array([0.25, 0.75])
        """
        return ScoreTable(self.high, self.weights, classes=classes)

    def best_case(self, classes: Labels | None = None) -> ScoreTable:
        """The table in which every bin has its negatives below its positives.

        Its ROC curve is nowhere below that of the unbinned scores.

        Parameters
        ----------
        classes : two labels, or None

        Returns
        -------
        the table, with two scores for each bin that holds several

        Examples
        --------
        >>> low, high = np.array([0.1, 0.4]), np.array([0.2, 0.7])
        >>> bins = Bins.pooled(low, high, np.array([0.3, 1.1]), np.array([[2.0, 0.0], [1.0, 1.0]]))
        >>> bins.best_case().weights[1:]
        array([[0., 0.],
               [1., 0.],
               [0., 1.]])
        """
        return self._ordered(0, classes)

    def worst_case(self, classes: Labels | None = None) -> ScoreTable:
        """The table in which every bin has its positives below its negatives.

        Its ROC curve is nowhere above that of the unbinned scores.

        Parameters
        ----------
        classes : two labels, or None

        Returns
        -------
        the table, with two scores for each bin that holds several

        Examples
        --------
        >>> low, high = np.array([0.1, 0.4]), np.array([0.2, 0.7])
        >>> bins = Bins.pooled(low, high, np.array([0.3, 1.1]), np.array([[2.0, 0.0], [1.0, 1.0]]))
        >>> bins.worst_case().weights[1:]
        array([[2., 0.],
               [0., 1.],
               [1., 0.]])
        """
        return self._ordered(1, classes)

    def _ordered(self, first: int, classes: Labels | None) -> ScoreTable:
        wide = self.low < self.high
        lower, upper = self.weights.copy(), self.weights[wide]
        lower[wide, 1 - first] = 0.0
        upper[:, first] = 0.0
        scores = np.concatenate([self.low, self.high[wide]])
        order = np.argsort(scores, kind="stable")
        weights = np.concatenate([lower, upper])[order]
        return ScoreTable(scores[order], weights, classes=classes)

    def threshold(self, mean: float) -> float:
        """The threshold that separates the bin with this mean, and lower ones, from higher ones.

        Parameters
        ----------
        mean : mean score of a bin

        Returns
        -------
        the highest score of that bin; the mean itself where no bin has it

        Examples
        --------
        >>> sums = BinSums(BitGrid(True))
        >>> sums.add(np.array([0, 1, 1]), np.array([0.25, 0.25, 0.75]))
        >>> sums.bins().threshold(0.25)
        0.25
        """
        places = np.flatnonzero(self.mean == mean)
        return float(self.high[places[0]]) if places.size else mean


class BinSums:
    """Sums by bin and class over cases that come in blocks.

    Bins are also divided at `borders`, scores at which decisions may change.

    >>> sums = BinSums(BitGrid(True))
    >>> sums.add(np.array([0, 1, 1]), np.array([0.25, 0.25, 0.75]))
    >>> sums.bins().weights
    array([[1., 1.],
           [0., 1.]])
    """

    def __init__(self, grid: BitGrid, borders: FloatArray | None = None) -> None:
        self._grid = grid
        self._borders = np.empty(0) if borders is None else np.unique(borders)
        self._divided = np.zeros(BitGrid.N_BINS, dtype=np.bool_)  # bins with a border inside
        self._divided[grid.bins(self._borders)] = True
        size = 2 * (BitGrid.N_BINS + self._borders.size)
        self._weight, self._total = np.zeros(size), np.zeros(size)
        self._low, self._high = np.full(size, np.inf), np.full(size, -np.inf)

    def add(self, label: IntArray, scores: FloatArray, weights: FloatArray | None = None) -> None:
        """Add more cases.

        Parameters
        ----------
        label : 1 for each positive case
        scores : their scores; none is nan
        weights : positive weights; None where each case counts once

        Examples
        --------
        >>> sums = BinSums(BitGrid(True))
        >>> sums.add(np.array([0, 1]), np.array([0.25, 0.75]))
        >>> sums.add(np.array([1]), np.array([0.25]))
        >>> sums.bins().weights
        array([[1., 1.],
               [0., 1.]])
        """
        cell = self._cells(label, scores)
        with np.errstate(over="ignore"):  # an infinite mean is clipped to the highest score later
            weighted = scores if weights is None else scores * weights
        self._weight += np.bincount(cell, weights, self._weight.size)
        self._total += np.bincount(cell, weighted, self._total.size)
        np.minimum.at(self._low, cell, scores)
        np.maximum.at(self._high, cell, scores)

    def _cells(self, label: IntArray, scores: FloatArray) -> IntArray:
        """The cell of every case, two for each bin; parts of bins above borders come last."""
        cell = self._grid.bins(scores)
        for block in blocks(scores.size):
            codes = cell[block]
            # Few bins contain a border, so that only their cases are compared with borders.
            rare = np.flatnonzero(self._divided.take(codes))
            if rare.size:
                passed = np.searchsorted(self._borders, scores[block][rare])
                last = self._borders[np.maximum(passed - 1, 0)]
                beyond = (passed > 0) & (self._grid.bins(last) == codes[rare])
                codes[rare] = np.where(beyond, BitGrid.N_BINS + passed - 1, codes[rare])
            codes *= 2
            codes += label[block]
        return cell

    def bins(self) -> Bins:
        """The bins that hold cases.

        Returns
        -------
        the bins, in order

        Examples
        --------
        >>> sums = BinSums(BitGrid(True))
        >>> sums.add(np.array([0, 1, 1]), np.array([0.25, 0.25, 0.75]))
        >>> sums.bins().mean
        array([0.25, 0.75])
        """
        occupied = np.flatnonzero(self._weight)
        weights = np.where(
            occupied[:, None] % 2 == np.arange(2), self._weight[occupied][:, None], 0.0
        )
        return Bins.pooled(
            self._low[occupied], self._high[occupied], self._total[occupied], weights
        )


# Scores of more cases than a table can hold: sorted runs, and tables of ranges of scores ---------
#
# Blocks of cases are sorted as they come, and kept as keys of eight bytes, or as complex numbers
# of sixteen, a score and a weight. Samples of all runs say where ranges with about the same number
# of cases begin; the parts of all runs that lie in a range are merged into its table. Ranges are
# therefore of similar size whatever the order of the cases, and only a few of them are tables at
# the same time where `mapped` makes something smaller of each.

_RUN = 1 << 20  # cases that are sorted at once
_RANGE = 1 << 18  # cases in a range, about
_SAMPLES = 32  # samples for every range, which keeps ranges within a few percent of their size
_MOST_THREADS = 4  # more tables at a time would take too much memory
_ONE = np.uint64(1)
Run = npt.NDArray[Any]  # sorted keys, or cases with weights
Pooled = tuple[FloatArray, FloatArray]  # distinct scores, and the weights (S, 2) there
Maker = Callable[[Sequence[Run]], Pooled]
T = TypeVar("T")


class SortedRuns:
    """Scores and classes of cases, added in blocks, and returned as tables of rising scores.

    >>> runs = SortedRuns()
    >>> runs.add(np.array([0, 1, 1]), np.array([0.4, -2.0, 0.8]))
    >>> runs.add(np.array([0]), np.array([0.4]))
    >>> [table.scores.tolist() for table in runs.tables()]
    [[-2.0], [0.4, 0.8]]
    """

    def __init__(self) -> None:
        self._waiting: list[tuple[IntArray, FloatArray, FloatArray | None]] = []
        self._n_waiting = 0
        self._below: list[Run] = []  # keys of scores below zero
        self._rest: list[Run] = []  # of the others
        self._weighed: list[Run] = []  # cases with weights

    def add(self, label: IntArray, scores: FloatArray, weights: FloatArray | None = None) -> None:
        """Add more cases.

        Parameters
        ----------
        label : 1 for each positive case
        scores : their scores; none is nan
        weights : positive weights; None where each case counts once

        Examples
        --------
        >>> runs = SortedRuns()
        >>> runs.add(np.array([0, 1]), np.array([0.4, 0.4]), np.array([1.0, 2.5]))
        >>> [table.weights.tolist() for table in runs.tables()]
        [[[1.0, 2.5]]]
        """
        self._waiting.append((label, scores, weights))
        self._n_waiting += scores.size
        if self._n_waiting >= _RUN:
            self._sort()

    def _sort(self) -> None:
        if not self._n_waiting:
            return
        labels, values, weights = zip(*self._waiting, strict=True)
        self._waiting, self._n_waiting = [], 0
        label, value = np.concatenate(labels), np.concatenate(values)
        if weights[0] is not None:
            self._weighed.append(sorted_cases(label, value, np.concatenate(weights)))
            return
        is_below = value < 0
        if is_below.any():
            below, rest = np.flatnonzero(is_below), np.flatnonzero(~is_below)
            self._below.append(_sorted_keys(label[below], value[below], mirrored=True))
            label, value = label[rest], value[rest]
        if value.size:
            self._rest.append(_sorted_keys(label, value, mirrored=False))

    def mapped(self, function: Callable[[ScoreTable], T]) -> Iterator[T]:
        """The results of a function for the table of each range, in order.

        All scores of one range lie below those of the next. Ranges are processed in parallel.

        Parameters
        ----------
        function : called with the table of each range, in several threads

        Yields
        ------
        results, in the order of the ranges

        Examples
        --------
        >>> runs = SortedRuns()
        >>> runs.add(np.array([0, 1, 1]), np.array([0.4, -2.0, 0.8]))
        >>> sum(runs.mapped(lambda table: table.scores.size))
        3
        """
        from concurrent.futures import ThreadPoolExecutor  # here, because its import is slow

        self._sort()
        makers: list[tuple[list[Run], Maker]] = [
            (self._weighed, _added),
            (self._below, partial(_counted, mirrored=True)),
            (self._rest, partial(_counted, mirrored=False)),
        ]
        tasks = [(parts, make) for runs, make in makers for parts in _ranges(runs)]
        pool = ThreadPoolExecutor(min(len(tasks), os.cpu_count() or 1, _MOST_THREADS))
        try:
            yield from pool.map(lambda task: function(_table(*task)), tasks)
        finally:
            pool.shutdown(cancel_futures=True)

    def tables(self) -> Iterator[ScoreTable]:
        """The tables of the ranges, in order; soon all of them are in memory.

        Yields
        ------
        tables; all scores of one lie below all of the next

        Examples
        --------
        >>> runs = SortedRuns()
        >>> runs.add(np.array([0, 1, 1]), np.array([0.4, -2.0, 0.8]))
        >>> [float(score) for table in runs.tables() for score in table.scores]
        [-2.0, 0.4, 0.8]
        """
        return self.mapped(lambda table: table)


def _sorted_keys(label: IntArray, value: FloatArray, *, mirrored: bool) -> Keys:
    return sorted_keys(packed_scores(label, value, mirrored=mirrored), mirrored=mirrored)


def _counted(parts: Sequence[Run], *, mirrored: bool) -> Pooled:
    return unpacked(sorted_keys(np.concatenate(parts), mirrored=mirrored), mirrored=mirrored)


def _added(parts: Sequence[Run]) -> Pooled:
    return weights_by_score(sorted_again(np.concatenate(parts)))


def _table(parts: Sequence[Run], pooled: Maker) -> ScoreTable:
    """The table of a range, from a few parts at a time, because one score may have many cases."""
    groups = np.cumsum([len(part) for part in parts]) // (4 * _RUN)
    tables = []
    for group in np.unique(groups):
        some = [part for part, its_group in zip(parts, groups, strict=True) if its_group == group]
        scores, weights = pooled(some)
        tables.append(
            ScoreTable._trusted(scores=scores, weights=weights, classes=None, groups=None)
        )
    return reduce(add, tables)


def _ranges(runs: Sequence[Run]) -> Iterator[list[Run]]:
    """The parts of all runs in each range, range by range; equal scores share a range."""
    if not runs:
        return
    orders = [run.real for run in runs]  # of keys, the keys
    edges = _edges(orders)
    cuts = [np.searchsorted(order, edges).tolist() for order in orders]
    borders = [[0, *cut, len(run)] for cut, run in zip(cuts, runs, strict=True)]
    for place in range(len(edges) + 1):
        parts = [
            run[at[place] : at[place + 1]]
            for run, at in zip(runs, borders, strict=True)
            if at[place + 1] > at[place]
        ]
        if parts:
            yield parts


def _edges(runs: Sequence[npt.NDArray[Any]]) -> npt.NDArray[Any]:
    """Where ranges begin: quantiles of samples, each of which stands for the same number of cases.

    Samples come from all runs, so that sorted input does not make the ranges uneven.
    """
    step = max(1, _RANGE // _SAMPLES)
    sample = np.sort(np.concatenate([run[step - 1 :: step] for run in runs]))
    edges = np.unique(sample[_SAMPLES - 1 :: _SAMPLES])
    if edges.dtype == np.uint64:
        # The last bit of a key is the class; an edge must not separate the classes of a score.
        edges = np.unique(edges & ~_ONE)
    return edges
