"""A few hundred bins in place of a million losses: the outermost ones stay as they are."""

from __future__ import annotations

import numpy as np

from stakes._check import FloatArray, IntArray

_OUTER = 64  # losses on each side that are bins of their own
_INNER = 384  # bins of equal width between them
N_BINS = 2 * _OUTER + _INNER
_SAMPLE = 4096  # losses of a sample that tells where the outer ones begin


def times(values: FloatArray, weights: FloatArray | None) -> FloatArray:
    """Values times weights; as they are where each counts once."""
    return values if weights is None else values * weights


def bin_codes(values: FloatArray, repeats: FloatArray | None = None) -> IntArray:
    """A bin for each value: the outermost have their own, those between share bins of one width."""
    n_cases = values.size if repeats is None else repeats.sum()
    if n_cases <= N_BINS:
        return np.unique(values, return_inverse=True)[1].reshape(-1)
    low, high = value_at_rank(values, _OUTER, repeats), -value_at_rank(-values, _OUTER, repeats)
    # Where all inner values are equal they share one bin.
    codes = np.full(values.size, _INNER // 2) if low == high else _even(values, low, high)
    below, above = np.flatnonzero(values < low), np.flatnonzero(values > high)
    codes[below] = _INNER + np.arange(below.size)
    codes[above] = _INNER + _OUTER + np.arange(above.size)
    return codes


def value_at_rank(values: FloatArray, place: int, repeats: FloatArray | None = None) -> float:
    """The value at a given rank near the lowest; most values are compared only once.

    A partition of all values would move each of them; a sample gives a bound below which to look.
    Values that stand for several cases are few, and they are simply sorted.
    """
    if repeats is not None:
        order = np.argsort(values, kind="stable")
        return float(values[order[np.searchsorted(np.cumsum(repeats[order]), place, side="right")]])
    sample = np.sort(values[:: 1 + values.size // _SAMPLE])
    few = values[values <= sample[min(4 * place * len(sample) // values.size + 9, len(sample) - 1)]]
    return float(np.partition(few if few.size > place else values, place)[place])


def _even(values: FloatArray, low: float, high: float) -> IntArray:
    # The small addition keeps equal losses, which rounding may separate, in the same bin.
    places = (values - low) * (_INNER / (high - low)) + 1e-9
    return np.clip(places, 0, _INNER - 1).astype(np.intp)


def bins_of(
    values: FloatArray, weights: FloatArray | None, repeats: FloatArray | None = None
) -> tuple[FloatArray, FloatArray]:
    """Means and counts of the bins that hold a case."""
    if not values.size:
        return np.zeros(1), np.zeros(1)
    codes = bin_codes(values, repeats)
    counts = np.bincount(codes, weights)
    occupied = counts > 0
    sums = np.bincount(codes, times(values, weights))
    return sums[occupied] / counts[occupied], counts[occupied].astype(np.float64)
