"""Convex fits: SciPy's minimisers with exact derivatives, bounded where there is no optimum.

When the classes can be told apart without error, the likelihood has no maximum: parameters run
away. Such a fit does not converge; what is returned then minimises the mean log loss plus a small
multiple of the squared slopes, which bounds them.

Parameters that change no forecast are another matter: features may say the same thing twice, as the
logarithms of q and 1 − q do when q takes two values. The fits move along *broad axes* only, those
directions in which the forecasts change; of all best parameters they find the smallest.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, reduce
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize

from stakes._check import FloatArray, IntArray

__all__ = [
    "RIDGE",
    "Evaluation",
    "Fit",
    "LogisticFit",
    "Objective",
    "broad_axes",
    "centred",
    "fit_convex",
    "fit_logistic",
    "over_blocks",
    "with_ridge",
]

RIDGE = 1e-6  # weight of half the squared slopes in a bounded fit
_AT_REST = 1e-13  # gain still expected, relative to the loss, that is not worth another step
_NEAR = 1e-4  # relative step from which one more leads to the minimum
_PERFECT = 1e-9  # a mean log loss that only separable data allow
_NEAR_PERFECT = 1e-6  # the same where the search stops early, by the gradient
_CONSTANT = 1e-12  # range, relative to the mean, that is rounding
_NARROW = 1e-10  # share of the largest curvature below which a direction is rounding
_FAR = 400  # binary exponent from which squares of features might not be numbers
_BLOCK = 1 << 15  # cases at a time
_LARGE = 200_000  # cases from which a fit on a part of them pays as a start
_SECOND_ORDER = {
    "initial_trust_radius": 100.0,
    "max_trust_radius": 1e12,
    "gtol": 0.0,
    "maxiter": 200,  # what has an optimum is there after twenty or so
}
_FIRST_ORDER = {"maxiter": 2000, "maxcor": 30, "ftol": 1e-15, "gtol": 1e-9}


class Evaluation(NamedTuple):
    """A mean loss with its derivatives; the second ones, (P, P), may be left out as (0, 0)."""

    loss: float
    gradient: FloatArray
    hessian: FloatArray

    def plus(self, other: Evaluation) -> Evaluation:
        """The sum of both, part by part."""
        return Evaluation(
            self.loss + other.loss, self.gradient + other.gradient, self.hessian + other.hessian
        )


class Fit(NamedTuple):
    """Parameters, their mean loss, and whether they are the optimum."""

    parameters: FloatArray
    loss: float
    converged: bool


Objective = Callable[[FloatArray], Evaluation]


def fit_convex(objective: Objective, bounded: Objective, start: FloatArray) -> Fit:
    """Minimise; where there is no minimum, minimise the function that is bounded by a penalty."""
    found = minimised(objective, start)
    return found if found.converged else fit_bounded(bounded, start.size)


def fit_bounded(bounded: Objective, size: int) -> Fit:
    """Minimise a function that is bounded by a penalty; never reported as converged."""
    return minimised(bounded, np.zeros(size))._replace(converged=False)


def with_ridge(objective: Objective, penalised: FloatArray) -> Objective:
    """The function plus a small multiple of the squared parameters, each times its own factor."""
    ridge = RIDGE * penalised

    def bounded(point: FloatArray) -> Evaluation:
        here = objective(point)
        curvature = np.diag(ridge) if here.hessian.size else here.hessian
        return here.plus(Evaluation(float(ridge @ point**2) / 2, ridge * point, curvature))

    return bounded


def over_blocks(evaluate: Callable[[slice], Evaluation], n_cases: int, size: int) -> Evaluation:
    """Sum over all cases, so many at a time, so that intermediate results stay in the cache."""
    blocks = (slice(first, first + size) for first in range(0, n_cases, size))
    return reduce(Evaluation.plus, map(evaluate, blocks))


def minimised(objective: Objective, start: FloatArray) -> Fit:
    """The minimum of a convex function, by its second derivatives where they are given.

    Whether it is the minimum is not for SciPy to say, whose test knows the gradient alone, but for
    the Newton step that is left: along parameters that run away it stays long.
    """

    @lru_cache(maxsize=2)  # SciPy asks for the derivatives one after the other
    def at(point: bytes) -> Evaluation:
        return objective(np.frombuffer(point))

    def stop_at_rest(point: FloatArray) -> None:
        here = at(point.tobytes())
        gain = -float(here.gradient @ _newton_step(here)) / 2
        if here.loss <= _PERFECT or gain <= _AT_REST * here.loss:
            raise StopIteration

    is_curved = at(start.tobytes()).hessian.size > 0
    search: dict[str, Any] = {"method": "L-BFGS-B", "options": _FIRST_ORDER}
    if is_curved:
        search = {"method": "dogleg", "options": _SECOND_ORDER, "callback": stop_at_rest}
        search["hess"] = lambda point: at(point.tobytes()).hessian
    found = minimize(lambda point: at(point.tobytes())[:2], start, jac=True, **search)
    if is_curved:
        return _polished(found.x, at(found.x.tobytes()))
    return Fit(found.x, float(found.fun), bool(found.success and found.fun > _NEAR_PERFECT))


def _polished(point: FloatArray, here: Evaluation) -> Fit:
    """The point that is one Newton step ahead, when the step says that the minimum is near."""
    step = _newton_step(here)
    is_near = np.abs(step).max() <= _NEAR * (1 + np.abs(point).max())
    if is_near and here.loss > _PERFECT:
        return Fit(point + step, here.loss, True)
    return Fit(point, here.loss, False)


def _newton_step(here: Evaluation) -> FloatArray:
    try:
        return np.asarray(-np.linalg.solve(here.hessian, here.gradient))
    except np.linalg.LinAlgError:
        return np.asarray(-np.linalg.lstsq(here.hessian, here.gradient, rcond=None)[0])


def centred(features: FloatArray, share: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Features (d, n) with mean zero, constant ones being zero exactly; the means (d,)."""
    centre = features @ share
    rows = features - centre[:, None]
    rows[np.ptp(features, axis=1) <= _CONSTANT * np.abs(centre)] = 0.0
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


# Logistic regression on few features -------------------------------------------------------------


class LogisticFit(NamedTuple):
    """Intercept and slopes of a logistic regression, its mean loss, and whether it converged."""

    intercept: float
    slopes: FloatArray
    loss: float
    converged: bool


def fit_logistic(features: FloatArray, negative: FloatArray, positive: FloatArray) -> LogisticFit:
    """Log-odds of the positive class as an affine function of the features, without penalty.

    Parameters
    ----------
    features : (d, n); d may be 0. A feature that does not vary gets slope zero.
    negative, positive : (n,) weights of the case as one of either class
    """
    weight = negative + positive
    share = weight / weight.sum()
    features, exponents = _moderate(features)
    rows, centre = centred(features, share)
    axes = broad_axes((rows * share) @ rows.T)
    rows = axes.T @ rows
    objective = _logistic(rows, negative, positive)
    bounded = with_ridge(objective, np.append(0.0, np.ones(len(rows))))
    if len(features) == 1 and _is_separable(features[0], negative, positive):
        found = fit_bounded(bounded, 1 + len(rows))
    else:
        found = fit_convex(objective, bounded, _start(rows, negative, positive))
    slopes = axes @ found.parameters[1:]
    intercept = float(found.parameters[0] - slopes @ centre)
    return LogisticFit(intercept, np.ldexp(slopes, -exponents), found.loss, found.converged)


def _moderate(features: FloatArray) -> tuple[FloatArray, IntArray]:
    """Features of a size that can be squared, and the binary exponents that were taken away."""
    largest = np.maximum(features.max(axis=1, initial=0.0), -features.min(axis=1, initial=0.0))
    exponents = np.frexp(largest)[1].astype(np.intp)
    if np.abs(exponents).max(initial=0) < _FAR:
        return features, np.zeros_like(exponents)
    return np.ldexp(features, -exponents[:, None]), exponents


def _is_separable(x: FloatArray, negative: FloatArray, positive: FloatArray) -> bool:
    """Whether one threshold tells the classes apart, but for cases that lie on it."""
    for some in (slice(0, 1024), slice(None)):  # where a few cases overlap, all of them do
        below, above = x[some][negative[some] > 0], x[some][positive[some] > 0]
        if not (below.size and above.size):
            continue
        if below.max() > above.min() and above.max() > below.min():
            return False
    return bool(x.min() < x.max())


def _start(features: FloatArray, negative: FloatArray, positive: FloatArray) -> FloatArray:
    """Zero, or for many cases the fit to every hundredth of them or so."""
    start = np.zeros(1 + len(features))
    n_cases = positive.size
    part = slice(None, None, max(n_cases // (_LARGE // 10), 1))
    if n_cases < _LARGE or not (negative[part].any() and positive[part].any()):
        return start
    some = _logistic(np.ascontiguousarray(features[:, part]), negative[part], positive[part])
    found = minimised(some, start)
    return found.parameters if found.converged else start


def _logistic(features: FloatArray, negative: FloatArray, positive: FloatArray) -> Objective:
    """Mean log loss as a function of the intercept and the slopes of the features, (d, n)."""
    total = float(negative.sum() + positive.sum())

    def objective(parameters: FloatArray) -> Evaluation:
        def of(some: slice) -> Evaluation:
            return _losses(features[:, some], negative[some], positive[some], parameters)

        loss, gradient, hessian = over_blocks(of, positive.size, _BLOCK)
        return Evaluation(loss / total, gradient / total, hessian / total)

    return objective


def _losses(
    features: FloatArray, negative: FloatArray, positive: FloatArray, parameters: FloatArray
) -> Evaluation:
    """Log losses of some cases, summed.

    What is small is never a difference of what is large, so that cases which are all but certain
    keep their digits.
    """
    weight = negative + positive
    odds = np.full(weight.size, parameters[0])
    for row, slope in zip(features, parameters[1:], strict=True):
        odds += row * slope
    sure = np.abs(odds)
    small = np.exp(-sure)
    share = 1.0 / (1.0 + small)
    missed = np.where(np.signbit(odds), positive, negative)
    expected = weight * small * share  # to be missed
    loss = _dot(weight, np.log1p(small)) + _dot(missed, sure)
    surplus = np.copysign(1.0, odds) * (missed - expected)
    return Evaluation(loss, *_derivatives(features, surplus, expected * share))


def _derivatives(
    features: FloatArray, surplus: FloatArray, spread: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Gradient and Hessian in intercept and slopes, from those in the log-odds of each case."""
    size = 1 + len(features)
    gradient, hessian = np.empty(size), np.empty((size, size))
    gradient[0], hessian[0, 0] = surplus.sum(), spread.sum()
    for j, row in enumerate(features, 1):
        pull = row * spread
        gradient[j] = _dot(row, surplus)
        hessian[0, j] = hessian[j, 0] = pull.sum()
        for k in range(j, size):
            hessian[j, k] = hessian[k, j] = _dot(pull, features[k - 1])
    return gradient, hessian


def _dot(left: FloatArray, right: FloatArray) -> float:
    """Inner product without BLAS, whose threads cost more than they bring on blocks this small."""
    return float(np.einsum("i,i->", left, right))
