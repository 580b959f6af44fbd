"""Normalised losses: intervals of a ratio of two mean losses, by profile likelihood."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from stakes._check import FloatArray
from stakes.inference.likelihood import Support, upper_bound
from stakes.inference.losses import LossSample, bin_codes, times

_STEPS = 40  # of regula falsi, which needs about ten, and of doublings in search of a bracket


def ratio_bounds(
    sample: LossSample,
    above: FloatArray,
    below: FloatArray,
    threshold: float,
    most: FloatArray | None = None,
) -> tuple[float, float]:
    r"""Confidence bounds of a ratio of mean losses, E[above] / E[below], by profile likelihood.

    The test of :math:`E[a - \rho\, b] = 0` is inverted; an upper bound that no ratio reaches is
    infinite. nan where the ratio is undefined.

    Parameters
    ----------
    sample : losses of all cases
    above, below : (n,) numerator and denominator
        Both are losses above perfect decisions, and not negative.
    threshold : quantile that the likelihood ratio may reach
    most : (n,) the most that the decisions of `above` can cost each case; by default the costliest

    Returns
    -------
    lower and upper bound

    Examples
    --------
    >>> losses = np.array([[0.0, 1.0, 0.0, 2.0]])
    >>> sample = LossSample(
    ...     names=("a",), losses=losses, costliest=np.full(4, 3.0), perfect=np.zeros(4),
    ...     truth=np.array([0, 0, 1, 1]), n_classes=2, prior=None, weights=None, whole=True,
    ...     clusters=None)
    >>> low, high = ratio_bounds(sample, losses[0], np.ones(4), 3.84)
    >>> round(low, 2), round(high, 2)
    (0.15, 4.16)
    """
    unit = sample.mean(below)
    if not (unit > 0 and np.isfinite(threshold)):
        return (0.0, np.inf) if unit > 0 else (np.nan, np.nan)
    reach = (sample.costliest if most is None else most) - sample.perfect
    a, b, counts = _cells(sample, above, below, reach)
    costly, shares = sample._beyond(above, reach), sample.shares
    highest = np.array([below[rows].max(initial=0.0) for rows in sample._strata])
    q = np.asarray(threshold)

    def greatest_mean(values: FloatArray, top: FloatArray) -> float:
        limits = values.min(axis=1) * shares, np.maximum(top, values.max(axis=1)) * shares
        return float(upper_bound(Support(values * shares[:, None], counts, *limits), q))

    def upper(ratio: float) -> float:
        return greatest_mean(a - ratio * b, costly)

    def lower(ratio: float) -> float:
        return greatest_mean(ratio * b - a, ratio * highest)

    # Both functions are positive at the estimate and fall away from it, which gives brackets.
    # A ratio is accepted as long as some mean of a − ratio · b within the threshold reaches zero.
    start = sample.mean(above) / unit
    low = 0.0 if lower(0.0) >= 0 else _root(lower, 0.0, start)
    return low, _root(upper, start, _beyond_root(upper, start))


def _cells(
    sample: LossSample, above: FloatArray, below: FloatArray, reach: FloatArray
) -> list[FloatArray]:
    """Means of two losses and counts, (R, C) each, in bins of the error of their ratio."""
    unit = sample.mean(below)
    ratio = sample.mean(above) / unit if unit > 0 else 0.0
    linear = above - ratio * below
    factors, parts = sample._factors(linear, (-ratio * below, reach - ratio * below)), []
    for rows, factor in zip(sample._strata, factors, strict=True):
        codes = bin_codes(linear[rows], sample._repeats(rows))
        weights = sample._own(rows)
        mass = np.bincount(codes, weights).astype(np.float64)
        safe = np.where(mass > 0, mass, 1.0)
        means = [np.bincount(codes, times(loss[rows], weights)) / safe for loss in (above, below)]
        parts.append([*means, mass * factor])
    size = max(len(part[0]) for part in parts)
    return [
        np.stack([np.pad(part[i], (0, size - len(part[i]))) for part in parts]) for i in range(3)
    ]


def _beyond_root(falling: Callable[[float], float], start: float) -> float:
    """A number at which a falling function is no longer positive; inf if none is found."""
    step = max(start, 0.1)
    for _ in range(_STEPS):
        if falling(start + step) <= 0:
            return start + step
        step *= 2
    return np.inf


def _root(function: Callable[[float], float], low: float, high: float) -> float:
    """Where a function changes its sign, by regula falsi with the Illinois correction."""
    if not high < np.inf:
        return high
    at_low, at_high = function(low), function(high)
    for _ in range(_STEPS):
        if high - low <= 1e-7 * max(abs(high), 1e-9) or at_low == at_high:
            break
        middle = (low * at_high - high * at_low) / (at_high - at_low)
        value = function(middle)
        if abs(value) <= 1e-9 * max(abs(at_low), abs(at_high)):
            return middle
        if (value > 0) == (at_high > 0):
            high, at_high, at_low = middle, value, at_low / 2
        else:
            low, at_low, at_high = middle, value, at_high / 2
    return (low + high) / 2
