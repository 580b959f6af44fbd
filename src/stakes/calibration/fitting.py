"""Convex fits: Newton's method with exact derivatives, bounded where there is no optimum.

When the classes can be told apart without error, the likelihood has no maximum: parameters run
away. Such a fit does not converge; what is returned then minimises the mean log loss plus a small
multiple of the squared parameters, which bounds them.

Parameters that change no forecast are another matter: features may say the same thing twice, as the
logarithms of q and 1 − q do when q takes two values. The fits move along *broad axes* only, those
directions in which the forecasts change; of all best parameters they find the smallest.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize

from stakes._check import BoolArray, FloatArray, IntArray

__all__ = [
    "RIDGE",
    "Evaluation",
    "Fit",
    "LogisticFit",
    "Objective",
    "broad_axes",
    "fit_convex",
    "fit_first_order",
    "fit_logistic",
]

RIDGE = 1e-6  # weight of half the squared parameters in a bounded fit
_STEPS = 80  # what has an optimum is there after twenty or so
_AT_REST = 1e-7  # relative step after which the error of the next point is of its square
_ROUNDING = 1e-15  # relative gain that cannot be told from rounding
_FLAT = 1e-12  # relative curvature that is left where parameters have run away
_PERFECT = 1e-9  # a mean log loss that only separable data allow
_NEAR_PERFECT = 1e-6  # the same where the search stops early, by the gradient
_NARROW = 1e-10  # share of the largest curvature below which a direction is rounding
_DAMPING = 1e-16  # relative to the curvature: steps stay finite where there is none left
_TINY = 1e-200  # keeps a matrix of zeros invertible
_FAR = 400  # binary exponent from which squares of features might not be numbers
_BLOCK = 1 << 15  # rows at a time, so that intermediate results stay in the cache
_LARGE = 200_000  # rows from which a fit on a part of them pays as a start


class Evaluation(NamedTuple):
    """A mean loss with its first and second derivatives."""

    loss: float
    gradient: FloatArray
    hessian: FloatArray


class Fit(NamedTuple):
    """Parameters, their mean loss, and whether they are the optimum."""

    parameters: FloatArray
    loss: float
    converged: bool


Objective = Callable[[FloatArray], Evaluation]


def newton(objective: Objective, start: FloatArray) -> Fit:
    """Minimise a convex function by Newton's method with step halving."""
    point, here = start, objective(start)
    for _ in range(_STEPS):
        if here.loss <= _PERFECT:  # parameters run away, and soon nothing bends any more
            break
        step = _newton_step(here)
        size = float(np.abs(step).max(initial=0.0)) / (1 + float(np.abs(point).max(initial=0.0)))
        slope = float(here.gradient @ step)
        if size <= _AT_REST or -slope <= _ROUNDING * here.loss:
            return Fit(point + step, here.loss, not _is_flat(here.hessian))
        for halving in range(40):
            ahead = point + step / 2**halving
            there = objective(ahead)
            if there.loss <= here.loss + 1e-4 * slope / 2**halving:
                break
        else:
            return Fit(point, here.loss, False)
        point, here = ahead, there
    return Fit(point, here.loss, False)


def _newton_step(here: Evaluation) -> FloatArray:
    size = here.gradient.size
    damping = _DAMPING * float(np.trace(here.hessian)) / max(size, 1) + _TINY
    try:
        return np.asarray(-np.linalg.solve(here.hessian + damping * np.eye(size), here.gradient))
    except np.linalg.LinAlgError:
        return np.asarray(-np.linalg.lstsq(here.hessian, here.gradient, rcond=_FLAT)[0])


def _is_flat(hessian: FloatArray) -> bool:
    """Whether some direction has lost its curvature: there the minimum is at infinity."""
    curvatures = np.linalg.eigvalsh(hessian)
    return bool(curvatures.size and curvatures[0] < _FLAT * curvatures[-1])


def broad_axes(curvature: FloatArray) -> FloatArray:
    """Directions (P, r) in which the loss bends, each by as much as the others; flat ones left out.

    The curvature, (P, P), is that of the loss at even forecasts, where a direction without any
    changes no forecast.
    """
    values, vectors = np.linalg.eigh(curvature)
    broad = values > _NARROW * values[-1]
    return np.asarray(vectors[:, broad] / np.sqrt(values[broad]))


def along(objective: Objective, axes: FloatArray) -> Objective:
    """The same function of coordinates on these axes."""

    def on_axes(point: FloatArray) -> Evaluation:
        loss, gradient, hessian = objective(axes @ point)
        return Evaluation(loss, axes.T @ gradient, axes.T @ hessian @ axes)

    return on_axes


def fit_convex(
    objective: Objective,
    penalised: BoolArray,
    axes: FloatArray,
    start: FloatArray | None = None,
) -> Fit:
    """Minimise; where there is no minimum, minimise with a small penalty on some parameters.

    The search is along the axes, and `start` has coordinates on them.
    """
    found = newton(along(objective, axes), np.zeros(axes.shape[1]) if start is None else start)
    if not found.converged:
        return bounded(objective, penalised, axes)
    return found._replace(parameters=axes @ found.parameters)


def bounded(objective: Objective, penalised: BoolArray, axes: FloatArray) -> Fit:
    """Minimise with a small penalty on some parameters; never reported as converged."""
    ridge = RIDGE * penalised

    def with_penalty(point: FloatArray) -> Evaluation:
        loss, gradient, hessian = objective(point)
        return Evaluation(
            loss + float(ridge @ point**2) / 2, gradient + ridge * point, hessian + np.diag(ridge)
        )

    found = newton(along(with_penalty, axes), np.zeros(axes.shape[1]))
    return Fit(axes @ found.parameters, found.loss, False)


def fit_first_order(
    slope: Callable[[FloatArray, float], tuple[float, FloatArray]], start: FloatArray
) -> Fit:
    """Minimise by L-BFGS; `slope` gives loss and gradient at a point under a ridge, 0 for none."""
    options = {"maxiter": 2000, "maxcor": 30, "ftol": 1e-15, "gtol": 1e-9}
    found = minimize(slope, start, args=(0.0,), jac=True, method="L-BFGS-B", options=options)
    if found.success and found.fun > _NEAR_PERFECT:
        return Fit(found.x, float(found.fun), True)
    found = minimize(slope, start, args=(RIDGE,), jac=True, method="L-BFGS-B", options=options)
    return Fit(found.x, float(found.fun), False)


# Logistic regression on few features -------------------------------------------------------------


class LogisticFit(NamedTuple):
    """Intercept and slopes of a logistic regression, its mean loss, and whether it converged."""

    intercept: float
    slopes: FloatArray
    loss: float
    converged: bool


def fit_logistic(
    features: FloatArray,
    negative: FloatArray,
    positive: FloatArray,
    *,
    offset: FloatArray | None = None,
) -> LogisticFit:
    """Log-odds of the positive class as an affine function of the features, without penalty.

    Parameters
    ----------
    features : (d, n); d may be 0. A feature that does not vary gets slope zero.
    negative, positive : (n,) weights of the case as one of either class
    offset : (n,), added to the log-odds as it is
    """
    weight = negative + positive
    features, exponents = _moderate(features)
    design, centre, scale = _standardised(features, weight / weight.sum())
    objective = _logistic(design, weight, positive, offset)
    penalised = np.arange(len(design)) > 0
    axes = _axes_of(design, weight / weight.sum(), scale)
    if len(features) == 1 and _is_separable(features[0], negative, positive):
        found = bounded(objective, penalised, axes)
    else:
        start = _start(design, weight, positive, offset, axes)
        found = fit_convex(objective, penalised, axes, start)
    slopes = found.parameters[1:] / scale
    intercept = float(found.parameters[0] - slopes @ centre)
    return LogisticFit(intercept, np.ldexp(slopes, -exponents), found.loss, found.converged)


def _moderate(features: FloatArray) -> tuple[FloatArray, IntArray]:
    """Features of a size that can be squared, and the binary exponents that were taken away."""
    largest = np.maximum(features.max(axis=1, initial=0.0), -features.min(axis=1, initial=0.0))
    exponents = np.frexp(largest)[1].astype(np.intp)
    if np.abs(exponents).max(initial=0) < _FAR:
        return features, np.zeros_like(exponents)
    return np.ldexp(features, -exponents[:, None]), exponents


def _standardised(
    features: FloatArray, share: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Ones and the features with mean 0 and variance 1, (1 + d, n); the means; the scales."""
    design = np.empty((len(features) + 1, share.size))
    design[0] = 1.0
    centre = features @ share
    np.subtract(features, centre[:, None], out=design[1:])
    spread = np.sqrt(np.array([(row * row) @ share for row in design[1:]]))
    scale = np.where(spread > 1e-12 * np.abs(centre), spread, np.inf)
    design[1:] /= scale[:, None]
    return design, centre, scale


def _axes_of(design: FloatArray, share: FloatArray, scale: FloatArray) -> FloatArray:
    """Broad axes of a standardised design; with a single feature they are known."""
    if scale.size < 2:
        return np.eye(len(design))[:, np.append(True, np.isfinite(scale))]
    return broad_axes((design * share) @ design.T)


def _is_separable(x: FloatArray, negative: FloatArray, positive: FloatArray) -> bool:
    """Whether one threshold tells the classes apart, but for cases that lie on it."""
    for rows in (slice(0, 1024), slice(None)):  # where a few rows overlap, all of them do
        below, above = x[rows][negative[rows] > 0], x[rows][positive[rows] > 0]
        if not (below.size and above.size):
            continue
        if below.max() > above.min() and above.max() > below.min():
            return False
    return bool(x.min() < x.max())


def _logistic(
    design: FloatArray, weight: FloatArray, positive: FloatArray, offset: FloatArray | None
) -> Objective:
    """Mean log loss of log-odds that are linear in the rows of the design."""
    total = float(weight.sum())
    size = len(design)

    def objective(parameters: FloatArray) -> Evaluation:
        loss, gradient, hessian = 0.0, np.zeros(size), np.zeros((size, size))
        for first in range(0, weight.size, _BLOCK):
            block = slice(first, first + _BLOCK)
            rows, mass, hits = design[:, block], weight[block], positive[block]
            odds = rows[0] * parameters[0]
            for row, parameter in zip(rows[1:], parameters[1:], strict=True):
                odds += row * parameter
            if offset is not None:
                odds += offset[block]
            small = np.exp(-np.abs(odds))
            chance = np.where(odds >= 0, 1.0, small) / (1.0 + small)
            loss += _dot(mass, np.maximum(odds, 0.0) + np.log1p(small)) - _dot(hits, odds)
            expected = mass * chance
            surplus, spread = expected - hits, expected * (1.0 - chance)
            for j, row in enumerate(rows):
                gradient[j] += _dot(row, surplus)
                pull = row * spread
                for k in range(j, size):
                    hessian[j, k] += _dot(pull, rows[k])
        hessian += np.triu(hessian, 1).T
        return Evaluation(loss / total, gradient / total, hessian / total)

    return objective


def _dot(left: FloatArray, right: FloatArray) -> float:
    """Inner product without BLAS, whose threads cost more than they bring on blocks this small."""
    return float(np.einsum("i,i->", left, right))


def _start(
    design: FloatArray,
    weight: FloatArray,
    positive: FloatArray,
    offset: FloatArray | None,
    axes: FloatArray,
) -> FloatArray | None:
    """None, or for many rows the fit to every hundredth of them or so, on the axes."""
    stride = weight.size // (_LARGE // 10)
    part = slice(None, None, max(stride, 1))
    if weight.size < _LARGE or not weight[part].sum() > 0:
        return None
    some = _logistic(
        np.ascontiguousarray(design[:, part]),
        weight[part],
        positive[part],
        None if offset is None else offset[part],
    )
    found = newton(along(some, axes), np.zeros(axes.shape[1]))
    return found.parameters if found.converged else None
