"""Logarithms of posteriors, bounded where certainty would make them infinite."""

from __future__ import annotations

import numpy as np

from stakes._check import FloatArray

_CERTAIN = 53 * float(np.log(2))  # log-odds next to a posterior of one, as float64 resolves it


def largest_finite(values: FloatArray) -> float:
    """What certainty is read as: the largest finite size, at least the resolution of float64."""
    low, high = values.min(initial=-_CERTAIN), values.max(initial=_CERTAIN)
    if np.isinf(high - low):
        return largest_finite(values[np.isfinite(values)])
    return float(max(-low, high))


def log_odds(pairs: FloatArray) -> FloatArray:
    """Log-odds (n,) of posteriors (n, 2), infinite for certainty."""
    with np.errstate(divide="ignore"):
        rest, own = np.log(pairs).T  # at once, because columns are slower one by one
    return np.asarray(own - rest)


def finite_logs(rows: FloatArray) -> tuple[FloatArray, float]:
    """Logarithms of posteriors and how far down they reach; those of zero are read as that."""
    with np.errstate(divide="ignore"):
        logs = np.log(rows)
    limit = largest_finite(logs)
    return np.maximum(logs, -limit, out=logs), limit


def bounded_logs(rows: FloatArray, limit: float) -> FloatArray:
    """Logarithms of posteriors, at least −limit."""
    with np.errstate(divide="ignore"):
        return np.maximum(np.log(rows), -limit)
