"""Bins of scores: what they hold, how blocks of cases are added, and bounds on rank statistics.

Of the cases in a bin only the lowest and the highest score, the mean score and the weights of the
classes are known. Whatever the order of the scores within bins, rank statistics lie between those
of two tables: in one, every bin has its negatives below its positives, in the other above.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from stakes._check import FloatArray, IntArray, Label, Labels, shapes
from stakes._value import record
from stakes.tally.bit_bins import BitGrid
from stakes.tally.bucket_sort import blocks
from stakes.tally.score_table import ScoreTable


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
