"""The incomplete beta integral, also where the whole integral is infinite."""

from __future__ import annotations

import numpy as np

from stakes._check import FloatArray

_STEPS = 10_000
_DONE = 1e-15


def incomplete_beta(x: FloatArray, complement: FloatArray, a: float, b: float) -> FloatArray:
    r"""Integral :math:`\int_0^x c^{a-1} (1-c)^{b-1} dc` for a > 0, b > −1; inf at x = 1 when b ≤ 0.

    The complement is 1 − x, which the caller knows better than this function could: for b < 1 the
    answer depends on how far from one x is.
    """
    from scipy.special import beta, betainc

    # scipy's regularised integral needs b > 0, and takes no complement, which matters below one.
    if b >= 1:
        return np.asarray(beta(a, b) * betainc(a, b, x))
    split = (a + 1) / (a + b + 2)  # up to here the fraction is quick, from here on the series
    low = x < split
    from_zero = _fraction(np.where(low, x, split), np.where(low, complement, 1 - split), a, b)
    if low.all():
        return from_zero
    from_zero[~low] += _series(complement[~low], 1 - split, a, b)
    return from_zero


def _fraction(x: FloatArray, complement: FloatArray, a: float, b: float) -> FloatArray:
    """The integral from zero to x, by Gauss's continued fraction and Lentz's recurrence."""
    front = np.ones_like(x)
    back = 1 / (1 - (a + b) * x / (a + 1))
    value = back
    for m in range(1, _STEPS):
        for factor in (
            m * (b - m) / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            back = 1 / (1 + factor * x * back)
            front = 1 + factor * x / front
            change = back * front
            value = value * change
        if np.abs(change - 1).max(initial=0.0) < _DONE:
            break
    return np.asarray(x**a * complement**b / a * value)


def _series(v: FloatArray, w: float, a: float, b: float) -> FloatArray:
    r"""The integral :math:`\int_v^w u^{b-1} (1-u)^{a-1} du`, by powers of u; v ≤ w ≤ 2/3."""
    with np.errstate(divide="ignore"):
        log_ratio = np.log(v / w)
    result = np.zeros_like(v)
    coefficient = 1.0
    for n in range(_STEPS):
        if abs(coefficient) * w**n < _DONE / 1000:
            break
        power = n + b
        # (w**power - v**power) / power, which is log(w / v) at power 0 and close to it nearby
        reach = np.expm1(power * log_ratio) / -power if power else -log_ratio
        result += coefficient * w**power * reach
        coefficient *= (n + 1 - a) / (n + 1)
    return result
