r"""Fits of convex losses by Newton's method, bounded where there is no optimum.

The losses are log losses of forecasts that are affine in the parameters on the scale of logarithms.
Along a step that changes no log-odds of two classes by more than r, second derivatives then change
by a factor of :math:`e^r` at most (Bach, 2010). Two things follow.

- *Every step can be made to gain.* The share :math:`\log(1+r)/r` of a Newton step lowers the loss
  by :math:`\lambda^2 ((1+r)\log(1+r) - r)/r^2` at least, with :math:`\lambda^2` minus the slope of
  the loss along the step. The whole step is taken, or the largest share of it, in quarters, that
  gains as much.
- *The step that is left tells whether there is an optimum.* Where the classes can be told apart
  without error, but for ties, there is none: let d be a direction in which no log-odds of a true
  class against another fall, and some rise. The equation of the Newton step, times d, says that
  changes of log-odds, each times a chance, have the mean one. So a step which changes all of them
  by less proves that there is no such direction.

A fit without an optimum does not converge; what is returned minimises the mean log loss plus
`RIDGE` / 2 times the squared slopes, in units of what their features spread. Constant forecasts
lose log K at most, for K classes: so no slope is beyond :math:`\sqrt{2 \log K / \text{RIDGE}}` of
these units, 1177 for two classes.

Steps come from conjugate gradients, which ask for products of the second derivatives with vectors
and for the inverse of their diagonal blocks only. Parameters that change no forecast are another
matter: features may say the same thing twice, as the logarithms of q and 1 − q do when q takes two
values. The fits move along *broad axes* only, those directions in which the forecasts change; of
all best parameters they find the smallest, each in units of what its feature spreads.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from stakes._check import FloatArray

RIDGE = 1e-6  # weight of half the squared slopes in a bounded fit
_NEAR = 0.5  # change of log-odds by a Newton step that proves, with room for rounding, an optimum
_FAR = 10.0  # largest change of log-odds in one step: beyond it, progress could not be measured
_THERE = 1e-5  # change of log-odds by a Newton step after which there is nothing left to do
_AT_REST = 1e-12  # gain still expected, relative to the loss, at which a search far off ends
_MOST_STEPS = 200  # what has an optimum is there after twenty or so
_ROUNDING = 1e-12  # range of a feature, relative to its mean, that is rounding
_NARROW = 1e-10  # share of the largest curvature below which a direction is rounding
_LARGE = 200_000  # cases from which a fit on a tenth of so many pays as a start


class Evaluation(NamedTuple):
    """A mean loss at some parameters, (P,), with its derivatives.

    Parameters
    ----------
    product : what the second derivatives make of a vector, (P,)
    rough : makes (B, P / B, P / B) blocks on the diagonal of the second derivatives
    apart : whether all true classes have chances above one half, so that there is no optimum
    """

    loss: float
    gradient: FloatArray
    product: Callable[[FloatArray], FloatArray]
    rough: Callable[[], FloatArray]
    apart: bool


class Objective(NamedTuple):
    """What a fit makes small.

    Parameters
    ----------
    at : the mean log loss and its derivatives
    reach : the most by which a step, (P,), changes the log-odds of any two classes in any case
    rest : gain still expected, relative to the loss, at which a search far off ends
    """

    at: Callable[[FloatArray], Evaluation]
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
    """Minimise; where there is no minimum, or none can be shown, minimise with a penalty.

    Parameters
    ----------
    on : the objective on some of the cases
    penalised : second derivatives of half the squares that a bounded fit makes small as well, in
        the blocks of `Evaluation.rough`
    """
    objective = on(slice(None))
    if n_cases >= _LARGE:
        some = minimised(on(slice(None, None, n_cases // (_LARGE // 10))), start)
        start = some.parameters if some.converged else start
    minimum = minimised(objective, start)
    return minimum if minimum.converged else fit_bounded(objective, start, penalised)


def fit_bounded(objective: Objective, start: FloatArray, penalised: FloatArray) -> Fit:
    """Minimise with a penalty; never converged, be the minimum of both together met or not."""
    ridge = RIDGE * penalised

    def at(point: FloatArray) -> Evaluation:
        here, pull = objective.at(point), _times(ridge, point)
        return Evaluation(
            here.loss + float(pull @ point) / 2,
            here.gradient + pull,
            lambda step: here.product(step) + _times(ridge, step),
            lambda: here.rough() + ridge,
            False,
        )

    point = minimised(Objective(at, objective.reach), start).parameters
    return Fit(point, objective.at(point).loss, False)


def _times(blocks: FloatArray, vector: FloatArray) -> FloatArray:
    """A matrix of blocks on its diagonal, (B, p, p), times a vector."""
    return np.asarray((blocks @ vector.reshape(*blocks.shape[:2], 1)).ravel())


def minimised(objective: Objective, start: FloatArray) -> Fit:
    """The minimum of a convex function, if a Newton step proves that there is one."""
    point, here, change, tolerance, far = start, objective.at(start), np.inf, 0.1, _FAR
    with np.errstate(all="ignore"):  # where there is no minimum, a step may be of any length
        for _ in range(_MOST_STEPS):
            if here.apart or not here.loss < np.inf:
                break
            if change > _NEAR:  # else second derivatives are nearly what they were
                inverse = _inverse(here.rough())
            step = _newton_step(here, inverse, tolerance)
            change, gain = objective.reach(step), -float(here.gradient @ step) / 2
            if change <= _THERE and tolerance <= _THERE:  # but for the parabola, a gain of rounding
                return Fit(point + step, here.loss - gain, True)
            if not change < np.inf or (change > _NEAR and not gain > objective.rest * here.loss):
                break
            point, here = _moved(objective, point, here, step, change, far)
            tolerance, far = min(0.1, change**2), far + min(change, far)
    return Fit(point, here.loss, False)


def _moved(
    objective: Objective,
    point: FloatArray,
    here: Evaluation,
    step: FloatArray,
    change: float,
    far: float,
) -> tuple[FloatArray, Evaluation]:
    """The point after the step, or after a share of it that gains as much as is sure."""
    if change <= _NEAR:
        return point + step, objective.at(point + step)
    sure = -float(here.gradient @ step) * ((1 + change) * np.log1p(change) - change) / change**2
    share, least = far / max(change, far), np.log1p(change) / change
    while share > least:
        there = objective.at(point + share * step)
        if there.loss <= here.loss - sure:
            return point + share * step, there
        share /= 4
    return point + least * step, objective.at(point + least * step)


def _inverse(blocks: FloatArray) -> FloatArray:
    """The inverse of every block, (B, p, p); nan where rounding hides a direction."""
    values, vectors = np.linalg.eigh(blocks)
    values[values[:, 0] <= np.finfo(np.float64).eps * values[:, -1]] = np.nan
    return np.asarray((vectors / values[:, None, :]) @ vectors.swapaxes(1, 2))


def _newton_step(here: Evaluation, inverse: FloatArray, tolerance: float) -> FloatArray:
    """Where the parabola that touches here has its minimum, as seen from here.

    Conjugate gradients until the residual, as the rough inverse measures it, has fallen so far.
    """
    step, residual = np.zeros_like(here.gradient), -here.gradient
    direction = _times(inverse, residual)
    size = first = residual @ direction
    for _ in range(2 * step.size + 10):
        if size <= tolerance**2 * first:
            break
        bent = here.product(direction)
        share = size / (direction @ bent)
        step, residual = step + share * direction, residual - share * bent
        better = _times(inverse, residual)
        size, before = residual @ better, size
        direction = better + size / before * direction
    return step


def centred(
    features: FloatArray, share: FloatArray, *, size: float = 0.0
) -> tuple[FloatArray, FloatArray]:
    """Features (d, n) with mean zero, constant ones being zero exactly; the means (d,).

    What varies by rounding only is constant, rounding being that of numbers of this size at least:
    logarithms of posteriors are as exact as numbers of size one, be they near zero themselves.
    """
    centre = features @ share
    rows = features - centre[:, None]
    rows[np.ptp(features, axis=1) <= _ROUNDING * np.maximum(np.abs(centre), size)] = 0.0
    return rows, centre


def broad_axes(curvature: FloatArray) -> FloatArray:
    """Directions (P, r) in which the loss bends, each by as much as the others; flat ones left out.

    The curvature, (P, P), is that of the loss at even forecasts, where a direction without any
    changes no forecast.
    """
    sizes = np.sqrt(np.diag(curvature))
    scale = np.divide(1.0, sizes, out=np.zeros_like(sizes), where=sizes > 0)
    values, vectors = np.linalg.eigh(curvature * np.outer(scale, scale))
    broad = values > _NARROW * values.max(initial=0.0)
    return np.asarray(scale[:, None] * vectors[:, broad] / np.sqrt(values[broad]))
