"""When two problems agree."""

from __future__ import annotations

import numpy as np

from stakes._check import FloatArray
from stakes.errors import InputError

__all__ = ["proportional", "same_prior"]


def same_prior(ours: FloatArray | None, theirs: FloatArray | None) -> None:
    """Refuse stated priors that differ."""
    if ours is None and theirs is None:
        return
    if ours is None or theirs is None or not np.allclose(ours, theirs, rtol=0, atol=1e-12):
        raise InputError(
            "problems must state one prior, or all none; two of them differ. "
            "Decide on the deployment prior first, with with_prior."
        )


def proportional(ours: FloatArray, theirs: FloatArray) -> bool:
    """Whether one is a positive multiple of the other, to rounding."""
    scale, other = np.abs(ours).max(), np.abs(theirs).max()
    if scale == 0 or other == 0:
        return bool(scale == other)
    return bool(np.allclose(ours / scale, theirs / other, rtol=0, atol=1e-9))
