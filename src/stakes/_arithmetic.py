"""Shared arithmetic: silent division, ties, sums, bin places, round numbers, tables of codes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from stakes._check import BoolArray, FloatArray, IntArray

__all__ = [
    "LARGEST_WHOLE",
    "above",
    "are_whole",
    "least",
    "least_shares",
    "mean_defined",
    "places_among",
    "ratio",
    "round_above",
    "running_sum",
    "table_of",
    "weighted_sum",
]

_BLOCK = 512  # numbers summed in a row; errors grow with the levels of blocks, which are few
_PIECE = 1 << 14  # numbers that fit into the cache
_FEW_EDGES, _BLOCK_OF_VALUES = 32, 1 << 14  # when to compare with every edge, and values at a time
LARGEST_WHOLE = 2.0**53  # all whole numbers up to here are exact as floats
_TIE = 1e-12  # slack for rounding between equal values, relative to the span of all values
_ROUNDING = 64 * np.finfo(np.float64).eps  # the same, relative to the largest value


def ratio(part: npt.ArrayLike, whole: npt.ArrayLike, out: FloatArray | None = None) -> FloatArray:
    """Divide without warnings: 0/0 is nan; x/0 and results that overflow are infinite."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        quotient: FloatArray = np.divide(part, whole, out=out)
    return quotient


def above(scores: FloatArray, threshold: float) -> BoolArray:
    """Which scores (n,) a threshold decides as positive: those above it, and at -inf all of them.

    >>> above(np.array([-np.inf, 0.5]), -np.inf), above(np.array([-np.inf, 0.5]), 0.5)
    (array([ True,  True]), array([False, False]))
    """
    return np.asarray((scores > threshold) | (threshold == -np.inf))


def least(values: FloatArray) -> BoolArray:
    """Which values are the least along the last axis, or differ from it by rounding alone.

    nan never is.
    """
    known = np.where(np.isnan(values), np.inf, values)
    finite = known < np.inf
    least = known.min(axis=-1, keepdims=True)
    most = np.where(finite, known, -np.inf).max(axis=-1, keepdims=True)
    with np.errstate(invalid="ignore"):  # where all are infinite or unknown
        slack = _TIE * (most - least) + _ROUNDING * np.maximum(most, -least)
        return np.asarray((known <= least + slack) & finite)


def least_shares(values: FloatArray) -> FloatArray:
    """The share of each value in being the least along the last axis; ties are split.

    A nan makes all shares nan.
    """
    chosen = least(values)
    shares: FloatArray = chosen / np.maximum(chosen.sum(axis=-1, keepdims=True), 1)
    undefined = np.isnan(values)
    if undefined.any():
        shares[undefined.any(axis=-1)] = np.nan
    return shares


def mean_defined(values: FloatArray) -> FloatArray:
    """Mean along the first axis of the values that are not nan; nan where there are none."""
    return ratio(np.nansum(values, axis=0), np.sum(~np.isnan(values), axis=0))


def round_above(share: float) -> float:
    """The least of 1, 2 and 5 times a power of ten that is not below a share, at most 1.

    Zero has no such number nearby: it is 1 as well.

    >>> round_above(0.013), round_above(0.05), round_above(0.6), round_above(0.0)
    (0.02, 0.05, 1.0, 1.0)
    """
    ends = (float(f"{digit}e{power}") for power in range(-9, 0) for digit in (1, 2, 5))
    return next((end for end in ends if 0 < share <= end), 1.0)


def running_sum(values: FloatArray, out: FloatArray | None = None) -> FloatArray:
    """Cumulative sum along the last axis whose error does not grow with its length.

    A plain cumulative sum of 10**7 equal fractions has a relative error of some 10**-10, always in
    the same direction. Here short blocks are summed, and then the sums of the blocks, recursively.
    Values must not be negative, as weights are not, and the result never decreases. Sums of whole
    numbers are exact without this. The result, if passed, must not overlap the values.
    """
    length = values.shape[-1]
    if values.size <= _BLOCK:
        return np.cumsum(values, axis=-1, out=out)
    sums = _whole_sums(values, np.empty(values.shape) if out is None else out)
    if sums is not None:
        return sums
    if length <= _BLOCK:
        return np.cumsum(values, axis=-1, out=out)
    blocks = np.zeros((*values.shape[:-1], -(-length // _BLOCK), _BLOCK))
    sums = blocks.reshape(*values.shape[:-1], -1)
    sums[..., :length] = values
    np.cumsum(blocks, axis=-1, out=blocks)
    blocks[..., 1:, :] += running_sum(blocks[..., :-1, -1])[..., None]
    return np.maximum.accumulate(sums[..., :length], axis=-1, out=out)


def _whole_sums(values: FloatArray, out: FloatArray) -> FloatArray | None:
    """Cumulative sums of whole numbers: integers add up several times as fast as floats do.

    None where some are not whole, or where a float does not hold their sum.
    """
    size = (*values.shape[:-1], min(_PIECE, values.shape[-1]))
    floor, space = np.empty(size), np.empty(size, dtype=np.int64)  # used again for every piece
    before: Any = 0
    for piece in _pieces(values.shape[-1]):
        part = values[..., piece]
        whole = np.floor(part, out=floor[..., : part.shape[-1]])
        if not np.array_equal(part, whole) or part.sum() > LARGEST_WHOLE:
            return None
        sums = np.cumsum(part, axis=-1, dtype=np.int64, out=space[..., : part.shape[-1]])
        sums += before
        before = sums[..., -1:].copy()
        if before.max() > LARGEST_WHOLE:
            return None
        out[..., piece] = sums
    return out


def are_whole(values: FloatArray) -> bool:
    """Whether all are whole numbers; they are read in pieces that fit into the cache."""
    parts = (values[..., piece] for piece in _pieces(values.shape[-1]))
    return all(np.array_equal(part, np.floor(part)) for part in parts)


def _pieces(size: int) -> Iterator[slice]:
    """Slices of an axis whose numbers fit into the cache."""
    for first in range(0, size, _PIECE):
        yield slice(first, first + _PIECE)


def places_among(edges: FloatArray, values: FloatArray) -> IntArray:
    """How many of the sorted edges lie below each value: ``np.searchsorted`` for few edges.

    Values must not be nan. The branches of a binary search cannot be predicted: for unsorted
    values, comparing with every edge is several times as fast up to a few dozen edges.
    """
    if edges.size > _FEW_EDGES:
        return np.searchsorted(edges, values)
    places = np.zeros(values.size, dtype=np.uint8)
    for first in range(0, values.size, _BLOCK_OF_VALUES):
        block = slice(first, first + _BLOCK_OF_VALUES)
        part, counted = np.ascontiguousarray(values[block]), places[block]
        for edge in edges:
            counted += part > edge
    return places.astype(np.intp)


def table_of(
    weights: FloatArray | None, codes: Sequence[IntArray], shape: Sequence[int]
) -> FloatArray:
    """Sums of weights by several codes, with an axis for each code; counts without weights.

    >>> table_of(None, [np.array([0, 1, 1]), np.array([0, 2, 2])], (2, 3))
    array([[1., 0., 0.],
           [0., 0., 2.]])
    """
    cells = np.asarray(codes[0], dtype=np.intp)
    for code, size in zip(codes[1:], shape[1:], strict=True):
        cells = cells * size + code
    return np.bincount(cells, weights, prod(shape)).astype(np.float64).reshape(tuple(shape))


def weighted_sum(
    weights: FloatArray, losses: FloatArray, axis: int | tuple[int, ...]
) -> FloatArray:
    """Sum of weight times loss in which weight zero is zero even against an infinite loss."""
    with np.errstate(invalid="ignore"):  # 0 · inf, which the sum below avoids
        total = np.asarray(np.sum(weights * losses, axis=axis))
    if np.isfinite(total).all():
        return total
    weights, losses = np.broadcast_arrays(weights, losses)
    terms = np.zeros(weights.shape)
    np.multiply(weights, losses, out=terms, where=weights != 0)
    return np.asarray(np.sum(terms, axis=axis))
