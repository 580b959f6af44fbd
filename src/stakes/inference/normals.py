r"""Normal and Student's t: quantiles, tails, and a fixed set of standard normal numbers.

Replicates of n clusters vary less than new clusters would, by √((n − 1)/n), and their spread is
itself an estimate with n − 1 degrees of freedom. An infinite n gives the normal distribution.

The fixed numbers make results from normal draws reproducible. They are the normal quantiles of the
points :math:`2 |\{r \sqrt{p_d}\} - \tfrac12|` of a Richtmyer sequence: the fractional part of r
times the root of the d-th prime, folded (Genz and Bretz 2009, ch. 4). They fill space more evenly
than random numbers do, and need no random generator.
"""

from __future__ import annotations

from functools import lru_cache
from math import isqrt

import numpy as np

from stakes._check import FloatArray, Numbers

_MANY_TERMS = 40  # degrees of freedom above which a series is shorter than the sum
_FAR = 800.0  # its exponential is zero


def t_quantile(degrees: Numbers, share: Numbers) -> FloatArray:
    """Quantile of Student's t; that of the normal where degrees of freedom are infinite.

    >>> t_quantile(np.array([4.0, np.inf]), 0.975).round(3)
    array([2.776, 1.96 ])
    """
    from scipy.special import ndtri, stdtrit

    finite = np.isfinite(degrees)
    student = stdtrit(np.where(finite, degrees, 1.0), share)
    return np.asarray(np.where(finite, student, ndtri(share)))


def t_tail(degrees: Numbers, distance: FloatArray) -> FloatArray:
    """The probability that Student's t, or the normal, exceeds a distance.

    >>> t_tail(np.array([4.0, np.inf]), np.array([2.776, 1.96])).round(3)
    array([0.025, 0.025])
    """
    from scipy.special import ndtr, stdtr

    finite = np.isfinite(degrees)
    student = stdtr(np.where(finite, degrees, 1.0), -distance)
    return np.asarray(np.where(finite, student, ndtr(-distance)))


def student_quantile(n: FloatArray, share: float | FloatArray) -> FloatArray:
    r"""The quantile :math:`\sqrt{n/(n-1)}\, t_{n-1}` at a share, in standard errors of replicates.

    >>> student_quantile(np.array([5.0, np.inf]), 0.975).round(3)
    array([3.104, 1.96 ])
    """
    size = np.where(np.isfinite(n), n, 2.0)  # any number above one where it is not used
    scale = np.where(np.isfinite(n), np.sqrt(size / (size - 1)), 1.0)
    return np.asarray(scale * t_quantile(np.subtract(n, 1), share))


def student_tail(n: FloatArray, distance: FloatArray) -> FloatArray:
    """The probability beyond a distance in standard errors of replicates, one-sided.

    >>> student_tail(np.array([5.0, np.inf]), np.array([3.104, 1.96])).round(3)
    array([0.025, 0.025])
    """
    size = np.where(np.isfinite(n), n, 2.0)
    scale = np.where(np.isfinite(n), np.sqrt((size - 1) / size), 1.0)
    return t_tail(np.subtract(n, 1), np.asarray(distance) * scale)


def normal_scores(n: FloatArray, distance: FloatArray) -> FloatArray:
    """Distances with the same tail probability under the normal as these have with n clusters."""
    from scipy.special import ndtri

    return np.where(np.isfinite(n), -ndtri(student_tail(n, distance)), distance)


@lru_cache(maxsize=16)
def fixed_uniforms(count: int, dimensions: int) -> FloatArray:
    """Points (count, dimensions) of the unit cube, strictly inside.

    >>> fixed_uniforms(2, 2).round(3)
    array([[0.172, 0.464],
           [0.657, 0.125]])
    """
    multiple = np.arange(1, count + 1)[:, None] * np.sqrt(_primes(dimensions))
    folded = np.abs(2 * (multiple % 1.0) - 1)
    # Strictly inside the cube, so that normal quantiles are finite.
    points: FloatArray = np.clip(folded, 0.25 / count, 1 - 0.25 / count)
    points.setflags(write=False)
    return points


@lru_cache(maxsize=16)
def fixed_normals(count: int, dimensions: int) -> FloatArray:
    """Standard normal numbers (count, dimensions): the normal quantiles of `fixed_uniforms`."""
    from scipy.special import ndtri

    numbers = np.asarray(ndtri(fixed_uniforms(count, dimensions)))
    numbers.setflags(write=False)
    return numbers


@lru_cache(maxsize=16)
def directions(count: int, dimensions: int) -> FloatArray:
    """Points (count, dimensions) spread over the unit sphere."""
    points = fixed_normals(count, dimensions)
    numbers = np.asarray(points / np.linalg.norm(points, axis=1, keepdims=True))
    numbers.setflags(write=False)
    return numbers


def chi_square_tail(degrees: int, square: FloatArray) -> FloatArray:
    r"""The probability that χ² with a whole number of degrees of freedom exceeds a square.

    For few degrees a finite sum, where the incomplete gamma function takes a series each time:
    :math:`Q(a + 1, x) = Q(a, x) + x^a e^{-x} / \Gamma(a + 1)`, from Q(1/2) or Q(1) on.

    >>> chi_square_tail(4, np.array([1.064, 9.488])).round(3)
    array([0.9  , 0.05])
    """
    from scipy.special import erfc, gammaincc

    if degrees > _MANY_TERMS:
        return np.asarray(gammaincc(degrees / 2, square / 2))
    x = np.minimum(square / 2, _FAR)
    falling = np.exp(-x)
    a, tail, term = 1.0, falling, x * falling
    if degrees % 2:
        a, tail, term = 0.5, erfc(np.sqrt(x)), np.sqrt(x) * falling * (2 / np.sqrt(np.pi))
    while a < degrees / 2:
        tail, a = tail + term, a + 1
        term = term * x / a
    return np.asarray(tail)


def _primes(count: int) -> FloatArray:
    """The first primes, (count,)."""
    size = 32
    while True:
        prime = np.ones(size, dtype=np.bool_)
        prime[:2] = False
        for number in range(2, isqrt(size) + 1):
            prime[number * number :: number] = False
        primes = np.flatnonzero(prime)
        if len(primes) >= count:
            return primes[:count].astype(np.float64)
        size *= 2
