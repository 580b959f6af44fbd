"""ScoreTable: for each distinct score, the weight of each class; JointScores: of several models."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache, cached_property
from itertools import pairwise
from math import prod
from time import perf_counter
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from stakes import _check
from stakes._check import BoolArray, FloatArray, IntArray, Label, Labels
from stakes._value import record
from stakes.errors import InputError
from stakes.tally.base import (
    ROUND,
    CellTally,
    JointTally,
    Rows,
    cell_sums,
    distinct_cells,
    leading_index,
    packed,
    read_rows,
    refuse_too_many,
)
from stakes.tally.counts import Counts

# -------------------------------------------------------------------------------------------------
# Entries in the order of their scores, by buckets of scores that are sorted in short rows.
#
# The time of numpy's sort differs tenfold between processors for long arrays, but rows of 256
# numbers are sorted quickly everywhere. A counting sort therefore puts entries into buckets of
# about 48, and rows that overlap by half then sort every bucket, where this machine is faster that
# way.

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


# Scores of single cases, sorted and pooled into distinct scores and class weights ----------------
#
# Unweighted cases are packed into integers, the bits of the score followed by the label, so that
# one sort of plain numbers orders both; no permutation is kept. Weights move together with their
# scores. Arrays are read in blocks that fit into the cache.

SignedCases = npt.NDArray[np.complex128]  # the score, and the weight, whose sign is the class
_POSITIVE = np.iinfo(np.int64).max  # all bits but that of the sign


def pooled(rows: Rows) -> tuple[FloatArray, FloatArray]:
    """The distinct scores in order, and the weight (…, S, 2) of each class at each of them."""
    label, values = rows.columns
    if rows.group is not None:
        return _grouped(rows)
    if rows.weights is not None:
        return weights_by_score(sorted_cases(label, values, rows.weights))
    if not values.min(initial=0.0) < 0:
        return _counted(label, values, mirrored=False)
    below = values < 0
    parts = [
        _counted(label[chosen], values[chosen], mirrored=mirrored)
        for chosen, mirrored in ((np.flatnonzero(below), True), (np.flatnonzero(~below), False))
    ]
    scores, weights = zip(*parts, strict=True)
    return np.concatenate(scores), np.concatenate([part.T for part in weights], axis=1).T


def _counted(label: IntArray, values: FloatArray, *, mirrored: bool) -> tuple[Any, Any]:
    """Scores and counts of unweighted cases; all scores are below zero (mirrored), or none is."""
    keys = sorted_keys(packed_scores(label, values, mirrored=mirrored), mirrored=mirrored)
    return unpacked(keys, mirrored=mirrored)


def packed_scores(label: IntArray, values: FloatArray, *, mirrored: bool) -> Keys:
    """Integers in the order of the scores; all scores are below zero (mirrored), or none is.

    The 63 bits of a non-negative float, without its sign, are in the order of the floats. Those of
    negative floats are in reverse order, and are inverted. The label is the last bit of a key.
    """
    keys = np.empty(values.size, dtype=np.uint64)
    scores = keys.view(np.float64)
    for block in blocks(values.size):
        np.add(values[block], 0.0, out=scores[block])  # turns −0.0 into 0.0: one zero only
        key = keys[block]
        if mirrored:
            np.invert(key, out=key)
        key <<= _ONE
        key |= label[block].astype(np.uint64)
    return keys


def unpacked(keys: Keys, *, mirrored: bool) -> tuple[FloatArray, FloatArray]:
    """The distinct scores of sorted keys, which are overwritten, and the counts of each class."""
    scores, weights = keys.view(np.float64), np.empty((2, keys.size))
    for block in blocks(keys.size):
        key = keys[block]
        weights[1, block] = key & _ONE
        np.subtract(1.0, weights[1, block], out=weights[0, block])
        key >>= _ONE
        if mirrored:
            np.invert(key, out=key)
    return _without_ties(scores, weights)


def sorted_cases(label: IntArray, values: FloatArray, weights: FloatArray) -> SignedCases:
    """Scores and positive weights in the order of the scores, and of rows where these are equal."""
    # A complex number holds the score and the signed weight, so that both move together.
    cases = np.empty(values.size, dtype=np.complex128)
    for block in blocks(values.size):
        np.add(values[block], 0.0, out=cases.real[block])
        np.multiply(weights[block], 2 * label[block] - 1, out=cases.imag[block])  # sign: the class
    return sorted_again(cases)


def sorted_again(cases: SignedCases) -> SignedCases:
    """Cases in order, such as those of several runs; those passed are overwritten."""
    return in_order(cases, lambda case: case.real, _order)


def _order(cases: SignedCases) -> None:
    """Sort the last axis by the scores; equal ones remain in the order of rows."""
    scores = np.ascontiguousarray(cases.real)
    *leading, length = cases.shape
    first = length * np.arange(prod(leading)).reshape(*leading, 1)  # of each row
    order = _packed_order(scores) if leading else None
    if order is None:
        order = scores.argsort()
        # A stable sort is slower; only ties need it, so that weights are added in this order.
        if _repeated(scores.take(order + first)).any():
            order = scores.argsort(kind="stable")
    cases[...] = cases.take(order + first)


def _packed_order(scores: FloatArray) -> IntArray | None:
    """Positions that sort short rows, by a sort of integers, which takes a third of the time.

    An integer holds the bits of a score above the least of its row, and the position; None where
    both together need more than 64 bits.
    """
    bits, spare = scores.view(np.int64), (scores.shape[-1] - 1).bit_length()
    least = bits.min(axis=-1, keepdims=True)
    if least.min() < 0:  # negative scores, whose bits are in reverse order
        bits = bits ^ ((bits >> 63) & _POSITIVE)
        least = bits.min(axis=-1, keepdims=True)
    keys = (bits - least).view(np.uint64)
    if int(keys.max()) >> (64 - spare):
        return None
    keys <<= np.uint64(spare)
    keys |= np.arange(scores.shape[-1], dtype=np.uint64)
    keys.sort()
    return np.asarray(keys & np.uint64((1 << spare) - 1)).view(np.int64)


def weights_by_score(cases: SignedCases) -> tuple[FloatArray, FloatArray]:
    """The distinct scores of sorted cases, and the sums of weights of each class."""
    scores, columns = np.empty(cases.size), np.empty((2, cases.size))
    for block in blocks(cases.size):
        scores[block], signed = cases.real[block], cases.imag[block]
        np.maximum(signed, 0.0, out=columns[1, block])
        np.subtract(columns[1, block], signed, out=columns[0, block])
    return _without_ties(scores, columns)


def _grouped(rows: Rows) -> tuple[FloatArray, FloatArray]:
    label, values = rows.columns
    order = np.argsort(values)
    ordered = values[order]
    starts = np.flatnonzero(np.concatenate([[True], ~_repeated(ordered)]))
    refuse_too_many(len(rows.groups or ()), 2 * starts.size, ROUND)
    rank = np.empty(values.size, dtype=np.intp)
    rank[order] = np.repeat(np.arange(starts.size), np.diff(starts, append=values.size))
    return ordered[starts] + 0.0, cell_sums(rows, rank * 2 + label, (starts.size, 2))


def _without_ties(scores: FloatArray, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Sorted scores and weights (2, n) with equal scores pooled; each class stays contiguous.

    Both may be overwritten: what is pooled moves to their front, block by block, so that a single
    tie among many scores costs next to nothing.
    """
    if not any(_repeated(scores[part.start : part.stop + 1]).any() for part in blocks(scores.size)):
        return scores, weights.T
    n_distinct = 0
    for block in blocks(scores.size):
        # The last score of the blocks before may go on in this one; weights are added in order.
        last = slice(max(n_distinct - 1, 0), n_distinct)
        part = np.concatenate([scores[last], scores[block]])
        new = np.concatenate([[True], ~_repeated(part)])
        if last.stop == block.start and new.all():
            n_distinct += part.size - (last.stop - last.start)
            continue
        columns = np.concatenate([weights[:, last], weights[:, block]], axis=1)
        place = np.cumsum(new) - 1
        n_distinct = last.start + int(place[-1]) + 1
        pooled = slice(last.start, n_distinct)
        scores[pooled] = part[new]
        for column, sums in zip(columns, weights[:, pooled], strict=True):
            sums[:] = np.bincount(place, column)
    if n_distinct < scores.size // 2:  # what is left over would be kept as long as the table
        return scores[:n_distinct].copy(), weights[:, :n_distinct].copy().T
    return scores[:n_distinct], weights[:, :n_distinct].T


def _repeated(ordered: FloatArray) -> BoolArray:
    return np.asarray(ordered[..., 1:] == ordered[..., :-1])


# ScoreTable: for each distinct score, the weight of each of two classes --------------------------


@record(repr=False, init=False)
class ScoreTable(CellTally):
    """For each distinct score, the weight of the negative and of the positive class.

    Higher scores favour the positive class, which is the second; the positive decision is taken
    when score > threshold. All measures of binary scores are functions of this table.

    Parameters
    ----------
    scores : array_like of shape (S,)
        Distinct real numbers or infinities, in increasing order.
    weights : array_like of shape (…, S, 2)
        Weight of the negatives and of the positives that have this score.
    classes : two labels, optional

    Examples
    --------
    >>> table = ScoreTable.from_scores([0, 0, 1, 1], [0.1, 0.4, 0.4, 0.8])
    >>> table
    ScoreTable of 4 cases, 2 positive, 3 distinct scores from 0.1 to 0.8
    >>> table.weights
    array([[1., 0.],
           [1., 1.],
           [0., 1.]])
    """

    scores: FloatArray
    weights: FloatArray
    classes: Labels | None
    groups: Labels | None
    weighted: bool = False

    def __init__(self, scores: object, weights: object, *, classes: object = None) -> None:
        score = _check.real_scores("scores", scores)
        weight = _checked_weights(weights, score.size)
        if not (score[1:] > score[:-1]).all():
            raise InputError(
                "scores must be distinct and increasing; these are not. "
                "ScoreTable.from_scores sorts and pools the scores of single cases."
            )
        names = None if classes is None else _check.labels("classes", classes)
        if names is not None and len(names) != 2:
            raise InputError(
                f"classes must be two labels; got {len(names)}. Name the negative one first."
            )
        self._fill(
            {
                "scores": score,
                "weights": weight,
                "classes": names,
                "groups": None,
                "weighted": False,
            }
        )

    @classmethod
    def from_scores(
        cls,
        y_true: object,
        scores: object,
        *,
        positive: Label | None = None,
        weights: object = None,
        by: object = None,
        clusters: object = None,
        copies: object = None,
    ) -> Self:
        """Sort the scores of single cases and pool equal ones.

        Parameters
        ----------
        y_true : true class of every case, (n,)
        scores : score of every case, (n,)
        positive : label of the positive class; may be left out for labels 0/1 and booleans
        weights : sampling weight of each case, (n,); None counts each once
        by : labels of slices, one per case; the table gets a leading axis of slices
        clusters : labels, one per case, of what was sampled together; also a leading axis
        copies : how often each case occurred, whole numbers; None: once

        Returns
        -------
        the table, with a leading axis of slices or clusters where there are any

        Examples
        --------
        >>> ScoreTable.from_scores([0, 0, 1, 1], [0.2, 0.6, 0.6, 0.9]).weights.tolist()
        [[1.0, 0.0], [1.0, 1.0], [0.0, 1.0]]
        """
        _check.aligned(
            y_true=y_true, scores=scores, weights=weights, copies=copies, by=by, clusters=clusters
        )
        names, truth = two_classes(y_true, positive)
        score = _check.real_scores("scores", scores, borrowed=True)
        columns = {"y_true": truth, "scores": score}
        rows = read_rows(columns, weights, by, clusters, copies=copies)
        distinct, weight = pooled(rows)
        return cls._trusted(
            scores=distinct,
            weights=weight,
            classes=names,
            groups=rows.groups,
            weighted=rows.weighted,
        )

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        *,
        y_true: str,
        scores: str,
        positive: Label | None = None,
        weights: str | None = None,
        by: str | None = None,
        bins: Any = None,
    ) -> ScoreTable:
        """Pool the scores in a column of a frame, in the engine that holds the frame.

        Parameters
        ----------
        frame : a frame of pandas, Polars (eager or lazy), PyArrow, Dask or Spark, a data set of
            PyArrow, a DuckDB relation, or the path of a file, a glob, or a list of paths
        y_true, scores : the columns of the true classes, which match by text, and of the scores;
            what is missing, or nan, is counted and refused
        positive : label of the positive class; may be left out for labels 0/1 and booleans
        weights : the column of the weights
        by : a column of groups, which are the leading axis; rows without a group are the last one
        bins : a `tally.BitGrid` in whose bins the engine pools the scores, each bin with its mean
            score; None keeps every distinct score, of which there may be as many as rows

        Returns
        -------
        the table, with a leading axis where ``by`` is stated

        Examples
        --------
        >>> import duckdb
        >>> rows = duckdb.sql("SELECT * FROM (VALUES (0, 0.1), (0, 0.4), (1, 0.4)) AS t(label, p)")
        >>> ScoreTable.from_frame(rows, y_true="label", scores="p").weights
        array([[1., 0.],
               [1., 1.]])
        """
        from stakes.adapters.frame_tallies import frame_scores

        return frame_scores(frame, y_true, scores, positive, weights, by, bins)

    @classmethod
    def _of_codes(
        cls, codes: IntArray, scores: FloatArray, weights: FloatArray | None, classes: Labels
    ) -> Self:
        """The table of cases that were checked before; codes are 1 for each positive case."""
        weighted = None if weights is None or weights.all() else weights > 0
        if weights is not None and weighted is not None:
            codes, scores, weights = codes[weighted], scores[weighted], weights[weighted]
        distinct, weight = pooled(Rows((codes, scores), weights, None, None))
        return cls._trusted(scores=distinct, weights=weight, classes=classes, groups=None)

    @cached_property
    def class_weights(self) -> FloatArray:  # noqa: D102
        # One class at a time: numpy adds up pairs of sums along the last axis alone.
        totals = np.stack([self.weights[..., k].sum(axis=-1) for k in (0, 1)], axis=-1)
        totals.setflags(write=False)  # because all who ask share it
        return totals

    @property
    def cell_weights(self) -> FloatArray:
        """The weight of every cell, of shape (…, 2 S), class after class."""
        return np.swapaxes(self.weights, -1, -2).reshape(*self.weights.shape[:-2], -1)

    @property
    def cell_classes(self) -> IntArray:  # noqa: D102
        return np.repeat(np.arange(2), self.scores.size)

    @property
    def weights_shape(self) -> tuple[int, ...]:  # noqa: D102
        return self.weights.shape

    def with_cell_weights(self, weights: FloatArray) -> Self:  # noqa: D102
        _check.shapes(f"… {2 * self.scores.size}", weights=weights)
        columns = weights.reshape(*weights.shape[:-1], 2, self.scores.size)
        return self._with(np.swapaxes(columns, -1, -2))

    @property
    def leading(self) -> tuple[int, ...]:  # noqa: D102
        return self.weights.shape[:-2]

    @property
    def thresholds(self) -> FloatArray:
        """Thresholds of the S + 1 ways to cut the scores: -inf (all positive), then each score.

        The lowest finite number separates a score of -inf from the others, so that a threshold of
        -inf always means the positive decision for all cases.
        """
        thresholds = np.empty(self.scores.size + 1)
        thresholds[0] = -np.inf
        np.maximum(self.scores, np.finfo(np.float64).min, out=thresholds[1:])
        return thresholds

    def counts(self) -> Counts:
        """The decisions at every threshold, as counts of shape (…, S + 1, 2, 2).

        Cut j takes the positive decision for ``scores[j:]``: all cases at j = 0, none at j = S.

        Returns
        -------
        counts, (…, S + 1, 2, 2)

        Examples
        --------
        >>> ScoreTable([0.2, 0.7], [[3, 1], [0, 2]]).counts().values[1]
        array([[3., 0.],
               [1., 2.]])
        """
        shape = (*self.weights.shape[:-2], self.scores.size + 1, 2, 2)
        values = np.zeros(shape)
        np.cumsum(self.weights, axis=-2, out=values[..., 1:, :, 0])
        # Summed from above, not as the total minus what lies below: small weights at the top would
        # lose precision in the difference.
        values[..., :-1, :, 1] = np.cumsum(self.weights[..., ::-1, :], axis=-2)[..., ::-1, :]
        return Counts._trusted(
            values=values,
            classes=self.classes,
            decisions=None,
            groups=self.groups,
            weighted=self.weighted,
        )

    def _times(self, factors: FloatArray) -> Self:
        with np.errstate(invalid="ignore"):
            return self._with(self.weights * factors[..., None, :])

    def with_weights(self, weights: object) -> Self:
        """The same scores with other weights of shape (…, S, 2), such as replicates.

        Parameters
        ----------
        weights : new weights, (…, S, 2)

        Returns
        -------
        the table with them

        Examples
        --------
        >>> ScoreTable([0.2, 0.7], [[3, 1], [0, 2]]).with_weights([[1, 1], [1, 1]])
        ScoreTable of 4 cases, 2 positive, 2 distinct scores from 0.2 to 0.7
        """
        return self._with(_checked_weights(weights, self.scores.size))

    def _with(self, weights: FloatArray) -> Self:
        """The same scores with weights that need no check."""
        groups = self.groups if weights.shape == self.weights.shape else None
        return self._but(weights=weights.view(), groups=groups)

    def binned(self, edges: object) -> Self:
        """Pool the scores between edges; each bin (low, high] has the mean score of its cases.

        Decisions at a threshold that is an edge do not change. Scores beyond the outer edges form
        two more bins; empty bins are left out.

        Parameters
        ----------
        edges : increasing scores at which bins end

        Returns
        -------
        a shorter table

        Examples
        --------
        >>> ScoreTable([0.1, 0.3, 0.8], [[3, 0], [1, 2], [0, 4]]).binned([0.5]).scores
        array([0.2, 0.8])
        """
        bounds = _check.real_scores("edges", edges)
        if not (bounds[1:] > bounds[:-1]).all():
            raise InputError("edges must be increasing; these are not. Sort them, without repeats.")
        _check.no_leading_axes("table", self.leading, where="to be binned")
        if not self.weights.any():
            raise InputError("table must hold cases to be binned; all its weights are zero.")
        occupied = self.weights.any(axis=-1)
        scores, weights = self.scores, self.weights
        if not occupied.all():
            scores, weights = scores[occupied], weights[occupied]
        return self._pooled(scores, weights, np.searchsorted(scores, bounds, side="right"))

    def _pooled(self, scores: FloatArray, weights: FloatArray, cuts: IntArray) -> Self:
        """Pool the runs of scores, all of which have cases, that begin at the cuts."""
        starts = np.unique(np.concatenate([[0], cuts[cuts < scores.size]]))
        pooled = np.stack([np.add.reduceat(column, starts) for column in weights.T], axis=1)
        with np.errstate(invalid="ignore"):  # −inf + inf, in a bin that holds both
            sums = np.add.reduceat(scores * weights.sum(axis=1), starts)
            means = sums / pooled.sum(axis=1)
        # Where a bin holds both infinities, its mean may be any number.
        means = np.where(np.isnan(means), 0.0, means)
        stops = np.concatenate([starts[1:], [scores.size]]) - 1
        means = np.clip(means, scores[starts], scores[stops])  # rounding must not leave the bin
        return self._but(scores=means, weights=pooled, groups=None)

    def _at(self, scores: FloatArray) -> Self:
        """The table at other scores, one for each of its own; equal ones are pooled."""
        distinct, where = np.unique(scores, return_inverse=True)
        weights = np.zeros((distinct.size, 2))
        np.add.at(weights, where.reshape(-1), self.weights)
        return type(self)(distinct, weights, classes=self.classes)

    def __add__(self, other: Self) -> Self:
        """Tallies of two sets of cases as the tally of all, over the union of their scores."""
        if not isinstance(other, ScoreTable):
            return NotImplemented
        shared = self._shared(other, "classes")
        scores = np.union1d(self.scores, other.scores)
        weights = np.zeros((*self.leading, scores.size, 2))
        weights[..., np.searchsorted(scores, self.scores), :] += self.weights
        weights[..., np.searchsorted(scores, other.scores), :] += other.weights
        return self._trusted(scores=scores, weights=weights, **shared)

    def __getitem__(self, index: Any) -> Self:
        """Index the leading axes; scores and classes stay."""
        chosen = self._with(leading_index(self.weights, 2, index))
        return chosen._but(groups=None)

    def __repr__(self) -> str:
        span = f"{self.scores.size} distinct scores from {self.scores[0]:g} to {self.scores[-1]:g}"
        if self.weights.ndim > 2:
            return f"ScoreTable of shape {self.weights.shape[:-2]}, {span}"
        positives = self.weights[:, 1].sum()
        return f"ScoreTable of {self.n_cases:.7g} cases, {positives:.7g} positive, {span}"


def _checked_weights(weights: object, size: int) -> FloatArray:
    """Weights of both classes at each score."""
    weight = _check.masses("weights", weights)
    if weight.ndim < 2 or weight.shape[-2:] != (size, 2) or size == 0:
        raise InputError(
            f"weights must have shape (…, {size}, 2), one row for each score and one column for "
            f"each class; the shape is {weight.shape}. The positive class is second."
        )
    return weight


def two_classes(y_true: object, positive: Label | None) -> tuple[Labels | None, IntArray]:
    """The labels (negative, positive) and 1 for each positive case.

    Parameters
    ----------
    y_true : true class of every case, (n,)
    positive : label of the positive class

    Returns
    -------
    labels, or None for 0/1, and 1 for each positive case, (n,)

    Examples
    --------
    >>> two_classes(["no", "yes", "yes"], "yes")
    (('no', 'yes'), array([0, 1, 1]))
    """
    labels = _check.distinct("y_true", y_true)
    if positive is None:
        if not set(labels) <= {0, 1}:
            raise InputError(
                f"positive must be stated unless the labels are 0/1 or booleans; y_true holds "
                f"{', '.join(map(repr, labels[:4]))}. Pass positive=<label of the positive class>."
            )
        return (0, 1), _check.codes("y_true", y_true, (0, 1))
    (positive,) = _check.labels("positive", [positive])
    negatives = tuple(label for label in labels if label != positive)
    if len(negatives) > 1 or (len(negatives) == len(labels) and len(labels) > 1):
        raise InputError(
            f"y_true must hold two labels, one of them positive={positive!r}; it holds "
            f"{', '.join(map(repr, labels[:4]))}{', …' * (len(labels) > 4)}. "
            f"For one class against the rest, pass y_true == {positive!r}."
        )
    names = (*negatives, positive)
    shift = 2 - len(names)  # without negatives, the positives still have to be the second class
    codes = _check.codes("y_true", y_true, names) + shift
    return (names if len(names) == 2 else None), codes.astype(np.intp)


# -------------------------------------------------------------------------------------------------
# JointScores: the scores of several models on the same cases, for paired comparisons of
# ranks.


@record(repr=False)
class JointScores(JointTally):
    """The distinct tuples (class, score of model 1, … , score of model J) and their weights.

    This is for scores what `JointCounts` is for decisions. It is made by `from_scores`; two
    continuous scores leave as many tuples as cases.

    Attributes
    ----------
    cells : (T, 1 + J) the class, 0 or 1, and the position of each model's score in its `scores`
    weights : (…, T)
    scores : for each model its distinct scores (S_j,) in increasing order
    models : J names
    groups : labels of the first leading axis, when made with by=, else None
    clusters : (T,) number of the cluster that the cases of each tuple belong to, or None

    Examples
    --------
    >>> joint = JointScores.from_scores([0, 0, 1, 1], {"a": [1, 2, 2, 3], "b": [5, 6, 8, 7]})
    >>> joint
    JointScores of 4 cases, models a, b, 4 distinct tuples
    >>> joint.table("a")
    ScoreTable of 4 cases, 2 positive, 3 distinct scores from 1 to 3
    """

    cells: IntArray
    weights: FloatArray
    scores: tuple[FloatArray, ...]
    models: Labels
    classes: Labels | None
    groups: Labels | None
    clusters: IntArray | None
    weighted: bool = False

    @classmethod
    def from_scores(
        cls,
        y_true: object,
        scores: Mapping[Any, object],
        *,
        positive: Label | None = None,
        weights: object = None,
        by: object = None,
        clusters: object = None,
        copies: object = None,
    ) -> Self:
        """Tally the scores of several models on the same cases.

        With `by`, the tally gets a leading axis of slices. With `clusters`, the cluster is part of
        the tuple, so that the size of the tally does not grow with the number of clusters;
        functions that assume independent cases refuse such scores.

        Parameters
        ----------
        y_true : true class of every case, (n,)
        scores : model → score of every case, (n,)
        positive : label of the positive class; may be left out for labels 0/1 and booleans
        weights : sampling weight of each case; None counts each once
        by : labels, one per case, of slices
        clusters : labels, one per case, of what was sampled together
        copies : how often each case occurred, whole numbers; None: once

        Returns
        -------
        the joint scores

        Examples
        --------
        >>> scores = {"a": [1, 2, 2, 3], "b": [5, 6, 8, 7]}
        >>> JointScores.from_scores(["no", "no", "yes", "yes"], scores, positive="yes")
        JointScores of 4 cases, models a, b, 4 distinct tuples
        """
        models, values = _columns(scores)
        named = {f"scores[{model!r}]": column for model, column in scores.items()}
        _check.aligned(
            y_true=y_true, **named, weights=weights, copies=copies, by=by, clusters=clusters
        )
        names, truth = two_classes(y_true, positive)
        columns: dict[str, Any] = {"y_true": truth}
        columns |= {f"scores[{model!r}]": v for model, v in zip(models, values, strict=True)}
        if clusters is not None:
            columns["clusters"] = _check.clusters(clusters).codes
        rows = read_rows(columns, weights, by, copies=copies)
        # Adding zero turns −0.0 into 0.0, so that equal scores have the same bits.
        parts = [np.unique(column + 0, return_inverse=True) for column in rows.columns]
        codes = (rows.columns[0], *(position.reshape(-1) for _, position in parts[1:]))
        cells, sums = distinct_cells(
            rows._replace(columns=codes), (2, *(distinct.size for distinct, _ in parts[1:]))
        )
        return cls._trusted(
            cells=cells[:, : 1 + len(models)],
            weights=sums,
            scores=tuple(_check.frozen(distinct) for distinct, _ in parts[1 : 1 + len(models)]),
            models=models,
            classes=names,
            groups=rows.groups,
            weighted=rows.weighted,
            clusters=None if clusters is None else cells[:, -1],
        )

    @property
    def class_weights(self) -> FloatArray:  # noqa: D102
        return np.stack(
            [self.weights[..., self.cells[:, 0] == k].sum(axis=-1) for k in (0, 1)], axis=-1
        )

    @property
    def has_clusters(self) -> bool:  # noqa: D102
        return self.names_clusters

    @property
    def names_clusters(self) -> bool:  # noqa: D102
        return self.clusters is not None

    @property
    def n_clusters(self) -> int:
        """How many clusters there are: named beside the tuples, or along the first axis."""
        return super().n_clusters if self.clusters is None else int(self.clusters.max()) + 1

    def sum_clusters(self, times: FloatArray) -> Self:  # noqa: D102
        if self.clusters is None:
            return super().sum_clusters(times)
        # The cluster is part of the cell here, so that weights are multiplied, not summed.
        factors = times[:, self.clusters].reshape(len(times), *(1,) * (self.weights.ndim - 1), -1)
        return self.with_cell_weights(factors * self.weights)

    def table(self, name: object) -> ScoreTable:
        """The score table of one model, with the leading axes of the weights.

        Parameters
        ----------
        name : name of the model

        Returns
        -------
        its table, (…, S, 2)

        Examples
        --------
        >>> joint = JointScores.from_scores([0, 0, 1, 1], {"a": [1, 2, 2, 3], "b": [5, 6, 8, 7]})
        >>> joint.table("b").scores
        array([5., 6., 7., 8.])
        """
        _check.one_of("name", name, self.models, "models")
        column = self.models.index(name)
        size = self.scores[column].size
        cell = self.cells[:, 0] * size + self.cells[:, 1 + column]  # each class in one piece
        flat = self.weights.reshape(-1, len(cell))
        sums = np.stack([np.bincount(cell, weights=row, minlength=2 * size) for row in flat])
        classes = sums.reshape(*self.weights.shape[:-1], 2, size)
        return ScoreTable._trusted(
            scores=self.scores[column],
            weights=np.swapaxes(classes, -1, -2),
            classes=self.classes,
            groups=self.groups,
            weighted=self.weighted,
        )

    def by_model(self) -> dict[Label, ScoreTable]:  # noqa: D102
        return {name: self.table(name) for name in self.models}

    def __add__(self, other: Self) -> Self:
        """Tallies of two sets of cases as the tally of all; those with clusters cannot be added.

        >>> rows = JointScores.from_scores([0, 1, 1], {"a": [1, 2, 3], "b": [5, 6, 8]})
        >>> rows + JointScores.from_scores([1, 0], {"a": [2, 7], "b": [6, 4]})
        JointScores of 5 cases, models a, b, 4 distinct tuples
        """
        if not isinstance(other, JointScores):
            return NotImplemented
        shared = self._shared(other, "models", "classes")
        if self.clusters is not None or other.clusters is not None:
            raise InputError(
                "JointScores that name clusters cannot be added: clusters are numbered within one "
                "tally. Read all rows at once."
            )
        # Positions refer to the scores of each tally; in the sum they refer to the common scores.
        scores = tuple(map(np.union1d, self.scores, other.scores))
        cells = np.concatenate([_recoded(tally, scores) for tally in (self, other)])
        weights = np.concatenate([self.weights, other.weights], axis=-1)
        # One integer per tuple: sorting integers is much faster than sorting rows.
        code = packed(list(cells.T), (2, *(column.size for column in scores)))
        order = np.argsort(code, kind="stable")
        starts = np.flatnonzero(np.diff(code[order], prepend=-1))
        return self._trusted(
            cells=cells[order][starts],
            weights=np.add.reduceat(weights[..., order], starts, axis=-1),
            scores=tuple(_check.frozen(column) for column in scores),
            clusters=None,
            **shared,
        )


def _columns(scores: object) -> tuple[Labels, list[FloatArray]]:
    """The models and the scores of each."""
    if not isinstance(scores, Mapping) or not scores:
        raise InputError(
            "scores must be a mapping from model to scores, with at least one model. "
            "Use ScoreTable.from_scores for a single array."
        )
    models = _check.labels("the models", scores)
    return models, [
        _check.real_scores(f"scores[{model!r}]", column)
        for model, column in zip(models, scores.values(), strict=True)
    ]


def _recoded(tally: JointScores, scores: tuple[FloatArray, ...]) -> IntArray:
    """The cells of a tally, with positions among a larger set of scores."""
    columns = [
        np.searchsorted(known, present)[tally.cells[:, 1 + j]]
        for j, (known, present) in enumerate(zip(scores, tally.scores, strict=True))
    ]
    return np.stack([tally.cells[:, 0], *columns], axis=1).astype(np.intp)
