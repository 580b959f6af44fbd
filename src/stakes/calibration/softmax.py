"""What the maps on log-posteriors of any number of classes share."""

from __future__ import annotations

import numpy as np

from stakes._check import FloatArray
from stakes.calibration.affine import largest_finite

__all__ = ["bounded_logs", "log_limit", "softmax"]


def log_limit(rows: FloatArray) -> float:
    """How far down logarithms of these posteriors reach; those of zero are read as that."""
    with np.errstate(divide="ignore"):
        return largest_finite(np.log(rows))


def bounded_logs(rows: FloatArray, limit: float) -> FloatArray:
    """Logarithms of posteriors, at least −limit."""
    with np.errstate(divide="ignore"):
        return np.maximum(np.log(rows), -limit)


def softmax(logits: FloatArray) -> FloatArray:
    """Posteriors (n, K) that are proportional to the exponentials of the logits."""
    raised = np.exp(logits - logits.max(axis=1, keepdims=True))
    return np.asarray(raised / raised.sum(axis=1, keepdims=True))
