"""What the maps on log-posteriors of any number of classes share."""

from __future__ import annotations

import numpy as np

from stakes import _check
from stakes._check import FloatArray
from stakes.calibration.affine import largest_finite
from stakes.errors import InputError

__all__ = ["bounded_logs", "in_shape_of", "log_limit", "posterior_rows", "softmax"]


def posterior_rows(scores: object) -> FloatArray:
    """Posteriors (n, K) of an array that is (n, K), or (n,) for P(second class) of two."""
    array = _check.probabilities("scores", scores)
    size = array.shape[1] if array.ndim == 2 else 2
    if size < 2:
        raise InputError(
            f"scores must have a column for each of two or more classes; the shape is "
            f"{array.shape}. Pass an (n,) array for P(second class) of two."
        )
    return _check.posteriors("scores", scores, size)


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


def in_shape_of(scores: object, posteriors: FloatArray) -> FloatArray:
    """Posteriors (n, K), or P(second class) when the scores came as such."""
    return np.asarray(posteriors[:, 1]) if np.ndim(scores) == 1 else posteriors  # type: ignore[arg-type]
