"""Scores of single cases, sorted and pooled into distinct scores and class weights.

Unweighted cases are packed into integers, the bits of the score followed by the label, so that one
sort of plain numbers orders both; no permutation is kept. Weights move together with their scores.
Arrays are read in blocks that fit into the cache.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from stakes._check import BoolArray, FloatArray, IntArray
from stakes.tally.bucket_sort import Keys, blocks, in_order, sorted_keys
from stakes.tally.read_rows import ROUND, Rows, cell_sums, refuse_too_many

SignedCases = npt.NDArray[np.complex128]  # the score, and the weight, whose sign is the class
_ONE = np.uint64(1)
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
