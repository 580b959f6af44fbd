"""Entries in the order of their scores, by buckets of scores that are sorted in short rows.

The time of numpy's sort differs tenfold between processors for long arrays, but rows of 256
numbers are sorted quickly everywhere. A counting sort therefore puts entries into buckets of about
48, and rows that overlap by half then sort every bucket, where this machine is faster that way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from itertools import pairwise
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from stakes._check import FloatArray

Keys = npt.NDArray[np.uint64]
Entries = npt.NDArray[Any]
ScoresOf = Callable[[Entries], FloatArray]
Sort = Callable[[Entries], None]  # orders the last axis of an array, in place

_BLOCK = 1 << 14  # entries at a time: 128 KiB of doubles stay in the cache
_MANY = 1 << 16  # entries from which buckets pay, and the import of SciPy's sparse matrices
_BUCKET = 48  # entries of a bucket, on average
_ROW = 256  # entries that are sorted at once; a bucket of up to half as many is within some row
_SLICE = 1 << 12  # entries that are sorted at once where long arrays are sorted quickly
_SAMPLE = 1 << 14  # numbers to measure with
_SLOWER = 3.0  # where long arrays take so many times as long as rows, slices are cut into rows
_SCATTER = 4.0  # a counting sort takes about as long as so many running sums
_CELLS = 1 << 12  # of the range of scores
_PROBES = 1 << 12  # entries, about, in which crowds are looked for, in so many parts of the range:
_PROBED = 64
_CROWDED = 2.0  # where a part has so many times its share of the entries
_LEVELS = 3  # buckets within buckets: outliers leave most of the others in one
_ONE = np.uint64(1)


def sorted_keys(keys: Keys, *, mirrored: bool) -> Keys:
    """Keys of scores and labels in increasing order; those passed are overwritten.

    Parameters
    ----------
    keys : bits of scores, followed by the label
    mirrored : whether all scores are below zero, and their bits inverted

    Returns
    -------
    the keys in order

    Examples
    --------
    >>> sorted_keys(np.array([6, 2, 9], dtype=np.uint64), mirrored=False).tolist()
    [2, 6, 9]
    """
    if keys.size >= _MANY and sort_times().buckets_pay:
        return _in_rows(keys, lambda key: scores_of(key, mirrored=mirrored), np.ndarray.sort)
    keys.sort()
    return keys


def scores_of(keys: Keys, *, mirrored: bool) -> FloatArray:
    """The scores of keys, without the label.

    Parameters
    ----------
    keys : bits of scores, followed by the label
    mirrored : whether all scores are below zero, and their bits inverted

    Returns
    -------
    scores, in the order of the keys

    Examples
    --------
    >>> half = np.array([0.5]).view(np.uint64)
    >>> scores_of(half << np.uint64(1), mirrored=False).tolist()
    [0.5]
    """
    bits = keys >> _ONE
    if mirrored:
        np.invert(bits, out=bits)
    return bits.view(np.float64)


def in_order(entries: Entries, score_of: ScoresOf, sort: Sort) -> Entries:
    """Entries sorted by their scores, where sorting takes more than numpy's sort of numbers.

    Where ``sort`` keeps the order of equal scores, so does this.

    Parameters
    ----------
    entries : one for each case; they may be overwritten
    score_of : the scores of entries
    sort : orders the last axis of entries in place

    Returns
    -------
    the same entries in order

    Examples
    --------
    >>> in_order(np.array([0.4, -2.0, 0.8]), lambda entry: entry, np.ndarray.sort).tolist()
    [-2.0, 0.4, 0.8]
    """
    many = entries.size >= _MANY
    return (_in_rows if many and sort_times().rows_pay else _in_slices)(entries, score_of, sort)


def _in_rows(entries: Entries, score_of: ScoresOf, sort: Sort, levels: int = _LEVELS) -> Entries:
    """Sort every bucket within a short row; a large bucket is divided into buckets before."""
    parts = _bucketed(entries, score_of) if levels else None
    if parts is None:
        sort(entries)
        return entries
    ordered, starts = parts
    for bucket in np.flatnonzero(np.diff(starts) > _ROW // 2).tolist():
        part = ordered[starts[bucket] : starts[bucket + 1]]
        part[:] = _in_rows(part, score_of, sort, levels - 1)
    for first in (0, _ROW // 2):
        last = first + (ordered.size - first) // _ROW * _ROW
        for block in blocks(last - first):
            sort(ordered[first:last][block].reshape(-1, _ROW))
        sort(ordered[last:])
    return ordered


def _in_slices(entries: Entries, score_of: ScoresOf, sort: Sort) -> Entries:
    """Sort slices of whole buckets, each once, where long arrays are sorted quickly as well."""
    ordered, starts = _bucketed(entries, score_of) or (entries, np.array([0, entries.size]))
    chosen = np.searchsorted(starts, np.arange(0, ordered.size, _SLICE))
    for first, last in pairwise([*np.unique(starts[chosen]).tolist(), ordered.size]):
        sort(ordered[first:last])
    return ordered


def _bucketed(entries: Entries, score_of: ScoresOf) -> tuple[Entries, npt.NDArray[np.int32]] | None:
    """Entries in buckets of rising scores, in the order of rows in each, and where buckets begin.

    None for few entries, and for scores whose range no float holds. The conversion of a sparse
    matrix from rows to columns, in SciPy, is a counting sort.
    """
    if not _MANY <= entries.size <= np.iinfo(np.int32).max:
        return None
    order = entries.real  # of keys, the keys, which are in the order of their scores
    low, high = score_of(np.array([order.min(), order.max()])).tolist()
    if not 0 < high - low < np.inf or entries.size / (high - low) == np.inf:
        return None
    from scipy.sparse import csr_array

    bucket, n_buckets = _buckets(entries, score_of, low, high)
    offsets = np.array([0, entries.size], dtype=np.int32)
    columns = csr_array((entries, bucket, offsets), shape=(1, n_buckets)).tocsc()
    return columns.data, columns.indptr


def _buckets(
    entries: Entries, score_of: ScoresOf, low: float, high: float
) -> tuple[npt.NDArray[np.int32], int]:
    """The bucket of each entry, the higher the score the higher, and how many buckets there are.

    Where scores are crowded, their range is divided into cells, and each cell into as many buckets
    as it has entries for.
    """
    bucket = np.empty(entries.size, dtype=np.int32)
    sample = (score_of(entries[:: 1 + entries.size // _PROBES]) - low) * (_PROBED / (high - low))
    if np.bincount(sample.astype(np.intp)).max() <= _CROWDED * sample.size / _PROBED:
        n_buckets = entries.size // _BUCKET
        for block in blocks(entries.size):
            bucket[block] = (score_of(entries[block]) - low) * ((n_buckets - 1) / (high - low))
        return bucket, n_buckets
    scale, counts = _CELLS / (high - low), np.zeros(_CELLS + 1, dtype=np.intp)
    for block in blocks(entries.size):
        cells = ((score_of(entries[block]) - low) * scale).astype(np.intp)
        counts += np.bincount(cells, minlength=counts.size)
    many = 1.0 + counts // _BUCKET
    first = np.cumsum(many) - many
    for block in blocks(entries.size):
        place = (score_of(entries[block]) - low) * scale
        cells = place.astype(np.intp)
        place -= cells
        place *= many[cells]
        place += first[cells]
        bucket[block] = place
    return bucket, int(many.sum())


class SortTimes(NamedTuple):
    """Seconds that this machine takes for a sample of numbers.

    They decide about time alone: the order is the same either way.
    """

    rows: float  # to sort it in short rows
    whole: float  # to sort it as one array
    sums: float  # for its running sum

    @property
    def rows_pay(self) -> bool:
        """Whether entries in buckets are sorted in short rows rather than in long slices."""
        return self.whole > _SLOWER * self.rows

    @property
    def buckets_pay(self) -> bool:
        """Whether a counting sort and two sorts of short rows are faster than one of numbers."""
        return self.whole > _SCATTER * self.sums + 2 * self.rows


@cache
def sort_times() -> SortTimes:
    """The times of this machine, measured once.

    Returns
    -------
    the least of three times each

    Examples
    --------
    >>> min(sort_times()) > 0
    True
    """
    spread: FloatArray = np.arange(_SAMPLE, dtype=np.float64) * 0.6180339887498949 % 1.0
    works: list[tuple[FloatArray, Callable[[FloatArray], object]]] = [
        (spread.reshape(-1, _ROW), np.ndarray.sort),
        (spread, np.ndarray.sort),
        (spread, np.cumsum),
    ]
    times = [[_seconds(work, sample.copy()) for sample, work in works] for _ in range(4)]
    return SortTimes(*map(min, zip(*times[1:], strict=True)))  # the first are a warm-up


def _seconds(work: Callable[[FloatArray], object], sample: FloatArray) -> float:
    start = perf_counter()
    work(sample)
    return perf_counter() - start


def blocks(size: int) -> Iterator[slice]:
    """Slices that divide a number of entries into blocks that fit into the cache.

    Parameters
    ----------
    size : number of entries

    Yields
    ------
    slices, in order

    Examples
    --------
    >>> [block.start for block in blocks(40_000)]
    [0, 16384, 32768]
    """
    for start in range(0, size, _BLOCK):
        yield slice(start, start + _BLOCK)
