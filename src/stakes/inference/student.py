"""Student's t for few clusters: quantiles and tails in standard errors of replicates.

Replicates of n clusters vary less than new clusters would, by √((n − 1)/n), and their spread is
itself an estimate with n − 1 degrees of freedom. An infinite n gives the normal distribution.
"""

from __future__ import annotations

import numpy as np

from stakes._check import FloatArray


def student_quantile(n: FloatArray, share: float | FloatArray) -> FloatArray:
    r"""The quantile :math:`\sqrt{n/(n-1)}\, t_{n-1}` at a share, in standard errors of replicates.

    >>> student_quantile(np.array([5.0, np.inf]), 0.975).round(3)
    array([3.104, 1.96 ])
    """
    from scipy.special import ndtri, stdtrit

    few = np.isfinite(n)
    degrees = np.where(few, n, 2.0)  # any number above one where the normal is taken instead
    return np.asarray(
        np.where(few, np.sqrt(degrees / (degrees - 1)) * stdtrit(degrees - 1, share), ndtri(share))
    )


def student_tail(n: FloatArray, distance: FloatArray) -> FloatArray:
    """The probability beyond a distance in standard errors of replicates, one-sided.

    >>> student_tail(np.array([5.0, np.inf]), np.array([3.104, 1.96])).round(3)
    array([0.025, 0.025])
    """
    from scipy.special import ndtr, stdtr

    few = np.isfinite(n)
    degrees = np.where(few, n, 2.0)
    scaled = np.asarray(-distance) * np.sqrt((degrees - 1) / degrees)
    return np.asarray(np.where(few, stdtr(degrees - 1, scaled), ndtr(-np.asarray(distance))))


def normal_scores(n: FloatArray, distance: FloatArray) -> FloatArray:
    """Distances of a normal variable that are as unlikely as these are with n clusters drawn."""
    from scipy.special import ndtri

    return np.where(np.isfinite(n), -ndtri(student_tail(n, distance)), distance)
