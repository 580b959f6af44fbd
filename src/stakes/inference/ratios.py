"""How strongly a sample speaks against a mean of zero: the ratio behind `profile_ends`."""

from __future__ import annotations

import numpy as np

from stakes._check import FloatArray
from stakes.inference.likelihood import PSEUDO_CASES, Support, _first_guess, _tilted

__all__ = ["ratio_at_zero"]

_STEPS = 100  # safeguarded Newton needs about eight
_STEEPEST = 200.0  # log of the tilt


def ratio_at_zero(support: Support) -> FloatArray:
    """The threshold (…) from which on the interval of `profile_ends` holds zero, from above.

    Its lower end is above zero exactly when the threshold is smaller; 0 where the estimate, with
    its 0.4 of a case, is not above zero, and inf where no mean of the support is zero or less.
    """
    strata = support.counts.shape[-2]
    gaps = support.values - support.lowest[..., None]
    extra = PSEUDO_CASES * np.eye(strata).reshape(strata, *(1,) * (gaps.ndim - 2), strata, 1)
    shape = (strata, *gaps.shape)
    extra = np.broadcast_to(extra, (*shape[:-1], 1))
    gaps = np.concatenate([np.broadcast_to(gaps, shape), np.zeros_like(extra)], axis=-1)
    counts = np.concatenate([np.broadcast_to(support.counts, shape), extra], axis=-1)
    ratio = _ratio_at(gaps, counts, -support.lowest.sum(axis=-1))
    return np.asarray(ratio.min(axis=0))


def _ratio_at(gaps: FloatArray, counts: FloatArray, goal: FloatArray) -> FloatArray:
    """The ratio (…) of the tilt at which the mean gap is a goal (…) from its estimate down to 0."""
    total = counts.sum(axis=-1)
    scale = gaps.max(axis=(-2, -1), initial=0.0, where=counts > 0)
    gaps = gaps / np.where(scale > 0, scale, 1.0)[..., None, None]
    goal = goal / np.where(scale > 0, scale, 1.0)
    with np.errstate(invalid="ignore"):
        mean = np.nansum(np.sum(counts * gaps, axis=-1) / total, axis=-1)
    inside = (goal > 0) & (goal < mean)
    target = np.where(inside, goal, mean / 2)
    log_s = np.log(np.maximum(mean - target, 1e-300) / _first_guess(gaps, counts, total))
    low, high = np.full(log_s.shape, -_STEEPEST), np.full(log_s.shape, _STEEPEST)
    ratio = np.zeros(log_s.shape)
    for _ in range(_STEPS):
        shares, ratio, slope = _tilted(gaps, counts, total, np.exp(log_s))
        excess = np.sum(shares * gaps, axis=(-2, -1)) - target
        low, high = np.where(excess > 0, log_s, low), np.where(excess > 0, high, log_s)
        with np.errstate(divide="ignore", invalid="ignore"):  # by the envelope theorem
            newton = log_s + 2 * np.exp(log_s) * excess / slope
        step = np.where((newton > low) & (newton < high), newton, (low + high) / 2) - log_s
        moving = inside & (np.abs(excess) > 1e-14) & (np.abs(step) > 1e-13)
        log_s = np.where(moving, log_s + step, log_s)
        if not moving.any():
            break
    return np.where(inside, np.maximum(ratio, 0.0), np.where(goal < mean, np.inf, 0.0))
