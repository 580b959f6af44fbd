"""Scores of more cases than a table can hold: sorted runs, and tables of ranges of scores.

Blocks of cases are sorted as they come, and kept as keys of eight bytes, or as complex numbers of
sixteen, a score and a weight. Samples of all runs say where ranges with about the same number of
cases begin; the parts of all runs that lie in a range are merged into its table. Ranges are
therefore of similar size whatever the order of the cases, and only a few of them are tables at the
same time where `mapped` makes something smaller of each.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from functools import partial, reduce
from operator import add
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from stakes._check import FloatArray, IntArray
from stakes.tally.bucket_sort import Keys, sorted_keys
from stakes.tally.distinct_scores import (
    packed_scores,
    sorted_again,
    sorted_cases,
    unpacked,
    weights_by_score,
)
from stakes.tally.score_table import ScoreTable

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
