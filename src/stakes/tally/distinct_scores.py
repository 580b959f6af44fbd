"""Scores of single cases, sorted and pooled into distinct scores and class weights.

Unweighted cases are packed into integers, the bits of the score followed by the label, so that one
sort of plain numbers orders both; no permutation is kept. Weights move together with their scores.
Arrays are read in blocks that fit into the cache.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from stakes._check import BoolArray, FloatArray, IntArray
from stakes.tally.read_rows import Rows, cell_sums, refuse_too_many

Keys = npt.NDArray[np.uint64]

_BLOCK = 1 << 14  # entries at a time: 128 KiB of doubles stay in the cache
_MANY = 1 << 15  # cases from which sorting in two stages pays
_BUCKETS = 1 << 14
_SLICE = 1 << 12  # cases that are sorted at once, where the buckets are small enough
_ONE = np.uint64(1)


def pooled(rows: Rows) -> tuple[FloatArray, FloatArray]:
    """The distinct scores in order, and the weight (…, S, 2) of each class at each of them."""
    label, values = rows.columns
    if rows.group is not None:
        return _grouped(rows)
    if rows.weights is not None:
        return weighed(label, values, rows.weights)
    if not values.min(initial=0.0) < 0:
        return _counted(label, values, mirrored=False)
    below = values < 0
    parts = [
        _counted(label[chosen], values[chosen], mirrored=mirrored)
        for chosen, mirrored in ((below, True), (~below, False))
    ]
    scores, weights = zip(*parts, strict=True)
    return np.concatenate(scores), np.concatenate([part.T for part in weights], axis=1).T


def _counted(label: IntArray, values: FloatArray, *, mirrored: bool) -> tuple[Any, Any]:
    """Scores and counts of unweighted cases; all scores are below zero (mirrored), or none is."""
    keys = packed(label, values, mirrored=mirrored)
    keys.sort()
    return unpacked(keys, mirrored=mirrored)


def packed(label: IntArray, values: FloatArray, *, mirrored: bool) -> Keys:
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


def weighed(label: IntArray, values: FloatArray, weights: FloatArray) -> tuple[Any, Any]:
    """Distinct scores and sums of positive weights, which are added in the order of the rows."""
    # A complex number holds the score and the signed weight, so that both move together.
    cases = np.empty(values.size, dtype=np.complex128)
    for block in blocks(values.size):
        np.add(values[block], 0.0, out=cases.real[block])
        np.multiply(weights[block], 2 * label[block] - 1, out=cases.imag[block])  # sign: the class
    cases, cuts = _bucketed(cases, values)
    scores, columns = np.empty(values.size), np.empty((2, values.size))
    for first, last in pairwise(cuts):
        part = cases[first:last]
        part_scores = np.ascontiguousarray(part.real)
        _order(part_scores, part.imag, scores[first:last], columns[:, first:last])
    return _without_ties(scores, columns)


def weighed_again(scores: FloatArray, signed: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Distinct scores and sums of weights, for few cases; the sign of a weight is its class."""
    ordered, columns = np.empty(scores.size), np.empty((2, scores.size))
    _order(scores, signed, ordered, columns)
    return _without_ties(ordered, columns)


def _order(
    unsorted: FloatArray, signed: FloatArray, scores: FloatArray, columns: FloatArray
) -> None:
    """Sort the scores, and put their weights into two columns, one for each class."""
    # A stable sort is slower; only ties need it, so that weights are added in the order of rows.
    order = unsorted.argsort()
    np.take(unsorted, order, out=scores)
    if _repeated(scores).any():
        order = unsorted.argsort(kind="stable")
    weight = signed[order]
    np.maximum(-weight, 0.0, out=columns[0])
    np.maximum(weight, 0.0, out=columns[1])


def _bucketed(
    cases: npt.NDArray[np.complex128], values: FloatArray
) -> tuple[npt.NDArray[np.complex128], list[int]]:
    """Cases sorted by buckets of scores, in the order of rows within each, and where slices begin.

    All scores of a slice are below those of the next. The conversion of a sparse matrix from rows
    to columns, in SciPy, is a counting sort.
    """
    if not _MANY <= cases.size <= np.iinfo(np.int32).max:
        return cases, [0, cases.size]
    low, high = float(values.min()), float(values.max())
    scale = (_BUCKETS - 1) / (high - low) if 0 < high - low < np.inf else np.inf
    if scale == np.inf:
        return cases, [0, cases.size]
    from scipy.sparse import csr_array

    bucket = np.empty(cases.size, dtype=np.int32)
    for block in blocks(cases.size):
        bucket[block] = (values[block] - low) * scale
    offsets = np.array([0, cases.size], dtype=np.int32)
    columns = csr_array((cases, bucket, offsets), shape=(1, _BUCKETS)).tocsc()
    starts = columns.indptr
    chosen = np.searchsorted(starts, np.arange(0, cases.size, _SLICE))
    return columns.data, [*np.unique(starts[chosen]).tolist(), cases.size]


def _grouped(rows: Rows) -> tuple[FloatArray, FloatArray]:
    label, values = rows.columns
    order = np.argsort(values)
    ordered = values[order]
    starts = np.flatnonzero(np.concatenate([[True], ~_repeated(ordered)]))
    refuse_too_many(len(rows.groups or ()), 2 * starts.size)
    rank = np.empty(values.size, dtype=np.intp)
    rank[order] = np.repeat(np.arange(starts.size), np.diff(starts, append=values.size))
    return ordered[starts] + 0.0, cell_sums(rows, rank * 2 + label, (starts.size, 2))


def _without_ties(scores: FloatArray, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Sorted scores and weights (2, n) with equal scores pooled; each class stays contiguous."""
    if any(_repeated(scores[block.start : block.stop + 1]).any() for block in blocks(scores.size)):
        new = np.concatenate([[True], ~_repeated(scores)])
        scores, place = scores[new], np.cumsum(new) - 1
        weights = np.stack([np.bincount(place, column) for column in weights])
    return scores, weights.T


def _repeated(ordered: FloatArray) -> BoolArray:
    return np.asarray(ordered[1:] == ordered[:-1])


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
