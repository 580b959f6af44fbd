r"""Fits of convex losses by Newton's method, bounded where there is no optimum.

The losses are log losses of forecasts that are affine in the parameters on the scale of logarithms.
Along a step that changes no log-odds of two classes by more than r, second derivatives then change
by a factor of :math:`e^r` at most (Bach, 2010). Two things follow.

- *Every step can be made to gain.* The share :math:`\log(1+r)/r` of a Newton step lowers the loss
  by at least :math:`\lambda^2 ((1+r)\log(1+r) - r)/r^2`, with :math:`\lambda^2` minus the slope of
  the loss along the step. The full step is tried first, then quarters of it, until one gains as
  much.
- *The Newton step shows whether there is an optimum.* Where the classes are separable, except for
  ties, there is none: let d be a direction in which the log-odds of no true class against another
  fall, and some rise. The equation of the Newton step, multiplied by d, says that the changes of
  log-odds, each times a probability, have the mean 1. A step that changes all of them by less
  therefore proves that there is no such direction.

A fit without an optimum does not converge. The parameters returned then minimise the mean log loss
plus `RIDGE` / 2 times the squared slopes, measured in standard deviations of their features. Since
constant forecasts lose at most log K for K classes, no slope exceeds
:math:`\sqrt{2 \log K / \text{RIDGE}}` of these units, 1177 for two classes.

Steps are computed by conjugate gradients, which need only products of the second derivatives with
vectors, and the inverse of their diagonal blocks. Features may be collinear, as the logarithms of q
and 1 − q are when q takes two values, so that some directions change no forecast. The fits move
only along *broad axes*, the directions in which forecasts change; among all best parameters they
find the smallest, each measured in standard deviations of its feature.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from stakes._check import FloatArray

RIDGE = 1e-6  # weight of half the squared slopes in a bounded fit
NEAR = 0.5  # largest change of log-odds by a Newton step that proves an optimum; theory allows 1
_FAR = 10.0  # largest change of log-odds in the first steps; it grows from there
THERE = 1e-5  # change of log-odds by a Newton step after which the search has converged
_AT_REST = 1e-12  # expected relative gain at which a search without a proven optimum ends
_MOST_STEPS = 200  # a fit with an optimum needs about twenty
CONSTANT_RANGE = 1e-12  # relative range below which a feature is constant up to rounding
FLAT_CURVATURE = 1e-10  # relative curvature below which a direction is flat up to rounding
_SAMPLE = 10_000  # cases in a sample whose optimum is a good start for three times as many or more
_CASES_EACH = 5  # and at least this many for every parameter


class LossAt(NamedTuple):
    """A mean loss at some parameters, (P,), with its derivatives.

    Parameters
    ----------
    product : multiplies the matrix of second derivatives by a vector, (P,)
    rough : returns the diagonal blocks of that matrix, (B, P / B, P / B)
    apart : whether all true classes have probabilities above 1/2, so that there is no optimum
    """

    loss: float
    gradient: FloatArray
    product: Callable[[FloatArray], FloatArray]
    rough: Callable[[], FloatArray]
    apart: bool


class Objective(NamedTuple):
    """The function that a fit minimises.

    Parameters
    ----------
    at : the mean log loss and its derivatives
    reach : the largest change that a step, (P,), makes to the log-odds of any two classes of a case
    rest : expected relative gain at which a search without a proven optimum ends
    """

    at: Callable[[FloatArray], LossAt]
    reach: Callable[[FloatArray], float]
    rest: float = _AT_REST


class Fit(NamedTuple):
    """Parameters, their mean loss (without penalty), and whether they are the optimum."""

    parameters: FloatArray
    loss: float
    converged: bool


def fit_convex(
    on: Callable[[slice], Objective], n_cases: int, start: FloatArray, penalised: FloatArray
) -> Fit:
    """Minimise an objective, with a penalty where a minimum does not exist or cannot be proven.

    Parameters
    ----------
    on : returns the objective on some of the cases
    n_cases : the number of cases
    start : parameters to start from, (P,)
    penalised : second derivatives of the penalty, in the blocks of `LossAt.rough`

    Returns
    -------
    Fit
        The parameters; not converged where the penalty was needed.
    """
    objective = on(slice(None))
    every = n_cases // max(_SAMPLE, _CASES_EACH * start.size)
    if every >= 3:
        # The optimum of a sample is close, so that few steps over all cases remain.
        some = minimised(on(slice(None, None, every)), start)
        start = some.parameters if some.converged else start
    minimum = minimised(objective, start)
    return minimum if minimum.converged else fit_bounded(objective, start, penalised)


def fit_bounded(objective: Objective, start: FloatArray, penalised: FloatArray) -> Fit:
    """Minimise the objective plus the penalty; the fit counts as not converged in any case."""
    ridge = RIDGE * penalised

    def at(point: FloatArray) -> LossAt:
        evaluation, pull = objective.at(point), _times(ridge, point)
        return LossAt(
            evaluation.loss + float(pull @ point) / 2,
            evaluation.gradient + pull,
            lambda step: evaluation.product(step) + _times(ridge, step),
            lambda: evaluation.rough() + ridge,
            False,
        )

    point = minimised(Objective(at, objective.reach), start).parameters
    return Fit(point, objective.at(point).loss, False)


def _times(blocks: FloatArray, vector: FloatArray) -> FloatArray:
    """The product of a block-diagonal matrix, (B, p, p), and a vector."""
    return np.asarray((blocks @ vector.reshape(*blocks.shape[:2], 1)).ravel())


def minimised(objective: Objective, start: FloatArray) -> Fit:
    """The minimum of a convex function; converged only if a Newton step proves that it exists."""
    point, current, change, tolerance, far = start, objective.at(start), np.inf, 0.1, _FAR
    with np.errstate(all="ignore"):  # without a minimum, steps may overflow
        for _ in range(_MOST_STEPS):
            if current.apart or not current.loss < np.inf:
                break
            if change > NEAR:  # after a small step, the last inverse is still good
                inverse = _inverse(current.rough())
            step = _newton_step(current, inverse, tolerance)
            change, gain = objective.reach(step), -float(current.gradient @ step) / 2
            if change <= THERE and tolerance <= THERE:  # the last step gains only rounding errors
                return Fit(point + step, current.loss - gain, True)
            if not change < np.inf or (change > NEAR and not gain > objective.rest * current.loss):
                break
            point, current = _moved(objective, point, current, step, change, far)
            # Inexact Newton: rough steps far away, exact ones near the optimum.
            tolerance, far = min(0.1, change * change), far + min(change, far)
    return Fit(point, current.loss, False)


def _moved(
    objective: Objective,
    point: FloatArray,
    current: LossAt,
    step: FloatArray,
    change: float,
    far: float,
) -> tuple[FloatArray, LossAt]:
    """The point after the step, or after a share of it with the guaranteed gain."""
    if change <= NEAR:
        return point + step, objective.at(point + step)
    part = ((1 + change) * np.log1p(change) - change) / change / change  # a square might overflow
    sure = -float(current.gradient @ step) * part
    share, least = far / max(change, far), np.log1p(change) / change
    while share > least:
        ahead = objective.at(point + share * step)
        if ahead.loss <= current.loss - sure:
            return point + share * step, ahead
        share /= 4
    return point + least * step, objective.at(point + least * step)


def _inverse(blocks: FloatArray) -> FloatArray:
    """The inverse of every block, (B, p, p); nan where it is singular up to rounding."""
    values, vectors = np.linalg.eigh(blocks)
    values[values[:, 0] <= np.finfo(np.float64).eps * values[:, -1]] = np.nan
    return np.asarray((vectors / values[:, None, :]) @ vectors.swapaxes(1, 2))


def _newton_step(current: LossAt, inverse: FloatArray, tolerance: float) -> FloatArray:
    """The Newton step, by preconditioned conjugate gradients.

    They end when the residual, in the norm of the preconditioner, has fallen to `tolerance` times
    its first size.
    """
    step, residual = np.zeros_like(current.gradient), -current.gradient
    direction = _times(inverse, residual)
    size = first = residual @ direction
    for _ in range(2 * step.size + 10):
        if size <= tolerance**2 * first:
            break
        bent = current.product(direction)
        share = size / (direction @ bent)
        step, residual = step + share * direction, residual - share * bent
        better = _times(inverse, residual)
        size, before = residual @ better, size
        direction = better + size / before * direction
    return step


def centred(
    features: FloatArray, share: FloatArray, *, size: float = 0.0
) -> tuple[FloatArray, FloatArray]:
    """Features (d, n) less their means, constant ones exactly 0, and the means (d,).

    A feature that varies only by rounding is constant. Rounding is relative to the mean, and to
    `size` where that is larger: logarithms of posteriors have the error of numbers of size 1, even
    when they are near 0.
    """
    centre = features @ share
    rows = features - centre[:, None]
    rows[np.ptp(features, axis=1) <= CONSTANT_RANGE * np.maximum(np.abs(centre), size)] = 0.0
    return rows, centre


def broad_axes(curvature: FloatArray) -> FloatArray:
    """Directions (P, r) along which the loss has curvature, scaled to curvature 1.

    The curvature, (P, P), is that of the loss at uniform forecasts, where a flat direction changes
    no forecast.
    """
    sizes = np.sqrt(np.diag(curvature))
    scale = np.divide(1.0, sizes, out=np.zeros_like(sizes), where=sizes > 0)
    values, vectors = np.linalg.eigh(curvature * np.outer(scale, scale))
    broad = values > FLAT_CURVATURE * values.max(initial=0.0)
    return np.asarray(scale[:, None] * vectors[:, broad] / np.sqrt(values[broad]))
