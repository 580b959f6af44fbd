r"""A fixed set of standard normal numbers, so that what is drawn from a normal can be repeated.

Points :math:`2 |\{r \sqrt{p_d}\} - \tfrac12|` of a Richtmyer sequence (the r-th multiple of the
root of the d-th prime, folded; Genz and Bretz 2009, ch. 4) through the normal quantile. They fill
space more evenly than random numbers do, and any machine that has square roots makes the same.
"""

from __future__ import annotations

from functools import lru_cache
from math import isqrt

import numpy as np

from stakes._check import FloatArray


@lru_cache(maxsize=16)
def fixed_uniforms(count: int, dimensions: int) -> FloatArray:
    """Points (count, dimensions) of the unit cube, strictly inside.

    >>> fixed_uniforms(2, 2).round(3)
    array([[0.172, 0.464],
           [0.657, 0.125]])
    """
    multiple = np.arange(1, count + 1)[:, None] * np.sqrt(_primes(dimensions))
    folded = np.abs(2 * (multiple % 1.0) - 1)
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


def directions(count: int, dimensions: int) -> FloatArray:
    """Points (count, dimensions) all around the unit sphere."""
    points = fixed_normals(count, dimensions)
    return np.asarray(points / np.linalg.norm(points, axis=1, keepdims=True))


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
