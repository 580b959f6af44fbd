"""Convex fits: SciPy's minimisers with exact derivatives, bounded where there is no optimum.

When the classes can be told apart without error, but for ties, the likelihood has no maximum:
parameters run away. Such a fit does not converge; what is returned then minimises the mean log loss
plus a small multiple of the squared slopes, which bounds them.

Whether there is an optimum is told by the Newton step that is left. Let d be a direction in which
parameters run away: no log-odds of a true class against another fall along it, and some rise.
The equation of the step, times d, then says that changes of log-odds, each times a chance, have the
mean one. So a step which changes all of them by less proves that there is no such direction.

Parameters that change no forecast are another matter: features may say the same thing twice, as the
logarithms of q and 1 − q do when q takes two values. The fits move along *broad axes* only, those
directions in which the forecasts change; of all best parameters they find the smallest, each in
units of what its feature spreads.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, reduce
from typing import Any, NamedTuple, Protocol

import numpy as np
from scipy.optimize import minimize

from stakes._check import FloatArray, IntArray

__all__ = [
    "RIDGE",
    "Evaluate",
    "Evaluation",
    "Fit",
    "LogisticFit",
    "Objective",
    "broad_axes",
    "centred",
    "fit_convex",
    "fit_logistic",
    "least_told_apart",
    "over_blocks",
    "part_of",
    "start_on_part",
    "with_ridge",
]

RIDGE = 1e-6  # weight of half the squared slopes in a bounded fit
_AT_REST = 1e-11  # gain still expected, relative to the loss, from which Newton steps alone do
_ALL_AT_REST = 1e-16  # the same where an optimum is known to exist, be it hardly felt
_NEAR = 0.5  # change of log-odds by a Newton step that proves, with room for rounding, an optimum
_THERE = 1e-5  # change of log-odds by a Newton step after which there is nothing left to do
_CONSTANT = 1e-12  # range, relative to the mean, that is rounding
_NARROW = 1e-10  # share of the largest curvature below which a direction is rounding
_FAR = 400  # binary exponent from which squares of features might not be numbers
_BLOCK = 1 << 15  # cases at a time
_LARGE = 200_000  # cases from which a fit on a part of them pays as a start
_MANY = 200  # parameters from which first derivatives lead near the optimum at less cost
_TOO_MANY = 4000  # parameters whose second derivatives, 128 MB, are not taken at all
_SECOND_ORDER = {
    "initial_trust_radius": 100.0,
    "max_trust_radius": 1e100,
    "gtol": 0.0,
    "maxiter": 200,  # what has an optimum is there after twenty or so
}
_FIRST_ORDER = {"maxiter": 2000, "maxcor": 30, "ftol": 1e-15, "gtol": 1e-9}


class Evaluation(NamedTuple):
    """A mean loss with its derivatives; the second ones, (P, P), are None where not asked for."""

    loss: float
    gradient: FloatArray
    hessian: FloatArray | None

    def plus(self, other: Evaluation) -> Evaluation:
        """The sum of both, part by part."""
        hessian = None
        if self.hessian is not None and other.hessian is not None:
            hessian = self.hessian + other.hessian
        return Evaluation(self.loss + other.loss, self.gradient + other.gradient, hessian)

    @property
    def curvature(self) -> FloatArray:
        """The second derivatives, which were asked for."""
        if self.hessian is None:
            raise TypeError("second derivatives are wanted, but curved was False")
        return self.hessian

    @property
    def newton_step(self) -> FloatArray:
        """Where the parabola that touches here has its minimum, as seen from here."""
        try:
            return np.asarray(-np.linalg.solve(self.curvature, self.gradient))
        except np.linalg.LinAlgError:
            return np.asarray(-np.linalg.lstsq(self.curvature, self.gradient, rcond=None)[0])


class Evaluate(Protocol):
    """A mean loss as a function of the parameters, with second derivatives or without."""

    def __call__(self, point: FloatArray, /, *, curved: bool = True) -> Evaluation:  # noqa: D102
        ...


class Objective(NamedTuple):
    """What a fit makes small.

    Parameters
    ----------
    at : the mean log loss and its derivatives
    reach : the most by which a step, (P,), changes the log-odds of any two classes in any case
    apart : a loss below which all true classes have chances above one half
    rest : gain still expected, relative to the loss, at which the search ends
    """

    at: Evaluate
    reach: Callable[[FloatArray], float]
    apart: float
    rest: float = _AT_REST


class Fit(NamedTuple):
    """Parameters, their mean loss (without penalty), and whether they are the optimum."""

    parameters: FloatArray
    loss: float
    converged: bool


def fit_convex(objective: Objective, bounded: Objective, start: FloatArray) -> Fit:
    """Minimise; where there is no minimum, or none can be shown, minimise with a penalty."""
    if start.size <= _TOO_MANY:
        few = start.size <= _MANY
        found = minimised(objective, start if few else _descended(objective, start))
        if found.converged:
            return found
    return fit_bounded(objective, bounded, start)


def fit_bounded(objective: Objective, bounded: Objective, start: FloatArray) -> Fit:
    """Minimise with a penalty; never converged, be the minimum of both together met or not."""
    few = start.size <= _MANY
    point = minimised(bounded, start).parameters if few else _descended(bounded, start)
    return Fit(point, objective.at(point, curved=False).loss, False)


def with_ridge(objective: Objective, penalised: FloatArray) -> Objective:
    """The function plus a small multiple of the squared parameters, each times its own factor."""
    ridge = RIDGE * penalised

    def at(point: FloatArray, *, curved: bool = True) -> Evaluation:
        hessian = np.diag(ridge) if curved else None
        penalty = Evaluation(float(ridge @ point**2) / 2, ridge * point, hessian)
        return objective.at(point, curved=curved).plus(penalty)

    return Objective(at, objective.reach, 0.0)


def over_blocks(evaluate: Callable[[slice], Evaluation], n_cases: int, size: int) -> Evaluation:
    """Sum over all cases, so many at a time, so that intermediate results stay in the cache."""
    blocks = (slice(first, first + size) for first in range(0, n_cases, size))
    return reduce(Evaluation.plus, map(evaluate, blocks))


def least_told_apart(weights: FloatArray) -> float:
    """Log 2 times the least share of a case: a smaller mean loss leaves none a loss of log 2."""
    return float(np.log(2) * weights.min() / weights.sum())


def minimised(objective: Objective, start: FloatArray) -> Fit:
    """The minimum of a convex function by its second derivatives.

    Whether it is the minimum is not for SciPy to say, whose test knows the gradient alone.
    """

    @lru_cache(maxsize=2)  # SciPy asks for the derivatives one after the other
    def at(point: bytes) -> Evaluation:
        return objective.at(np.frombuffer(point))

    def is_at_rest(point: FloatArray) -> bool:
        here = at(point.tobytes())
        if here.loss < objective.apart:
            return True
        with np.errstate(all="ignore"):
            step = here.newton_step
            bend, gain = here.gradient @ here.curvature @ here.gradient, -here.gradient @ step / 2
            if not (0 < bend < np.inf and gain > objective.rest * here.loss):
                return True
            return bool(gain <= _AT_REST * here.loss and objective.reach(step) <= _NEAR)

    def stop_at_rest(point: FloatArray) -> None:
        if is_at_rest(point):
            raise StopIteration

    if is_at_rest(start):
        return _polished(objective, start, at(start.tobytes()))
    with np.errstate(all="ignore"):  # what SciPy divides may be zero, or as good as that
        found = minimize(
            lambda point: at(point.tobytes())[:2],
            start,
            jac=True,
            hess=lambda point: at(point.tobytes()).curvature,
            method="dogleg",
            callback=stop_at_rest,
            options=_SECOND_ORDER,
        )
    point = found.x if np.isfinite(found.x).all() else start
    return _polished(objective, point, at(point.tobytes()))


def _polished(objective: Objective, point: FloatArray, here: Evaluation) -> Fit:
    """The minimum, by Newton steps alone, when the first of them proves that there is one."""
    if here.loss < objective.apart:
        return Fit(point, here.loss, False)
    for _ in range(10):  # each squares the distance
        step = here.newton_step
        with np.errstate(all="ignore"):  # it may be of any length
            change = objective.reach(step)
        if not change <= _NEAR:
            break
        point = point + step
        if change <= _THERE:  # what is gained is below rounding, but for the parabola
            return Fit(point, here.loss + float(here.gradient @ step) / 2, True)
        here = objective.at(point)
    return Fit(point, here.loss, False)


def _descended(objective: Objective, start: FloatArray) -> FloatArray:
    """A point near the minimum, or far out where there is none, by first derivatives."""

    def stop_when_apart(*, intermediate_result: Any) -> None:
        if intermediate_result.fun < objective.apart:
            raise StopIteration

    return np.asarray(
        minimize(
            lambda point: objective.at(point, curved=False)[:2],
            start,
            jac=True,
            method="L-BFGS-B",
            callback=stop_when_apart,
            options=_FIRST_ORDER,
        ).x
    )


def part_of(n_cases: int) -> slice | None:
    """Every hundredth case or so of very many; None of fewer, which need no such start."""
    if n_cases < _LARGE:
        return None
    return slice(None, None, n_cases // (_LARGE // 10))


def start_on_part(objective: Objective, start: FloatArray) -> FloatArray:
    """Where the fit to a part of the cases has its optimum, or the start if it has none."""
    if start.size > _MANY:
        return start
    found = minimised(objective, start)
    return found.parameters if found.converged else start


def centred(
    features: FloatArray, share: FloatArray, *, size: float = 0.0
) -> tuple[FloatArray, FloatArray]:
    """Features (d, n) with mean zero, constant ones being zero exactly; the means (d,).

    What varies by rounding only is constant, rounding being that of numbers of this size at least:
    logarithms of posteriors are as exact as numbers of size one, be they near zero themselves.
    """
    centre = features @ share
    rows = features - centre[:, None]
    rows[np.ptp(features, axis=1) <= _CONSTANT * np.maximum(np.abs(centre), size)] = 0.0
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


def fit_logistic(
    features: FloatArray, negative: FloatArray, positive: FloatArray, *, size: float = 0.0
) -> LogisticFit:
    """Log-odds of the positive class as an affine function of the features, without penalty.

    A slope beyond the range of float64, which scores need that lie closer together than 1e-308 or
    so, is cut there, and has not converged.

    Parameters
    ----------
    features : (d, n); d may be 0. A feature that does not vary gets slope zero.
    negative, positive : (n,) weights of the case as one of either class
    size : as for `centred`
    """
    share = negative + positive
    share /= share.sum()
    features, exponents = _moderate(features)
    rows, centre = centred(features, share, size=size)
    axes = broad_axes((rows * share) @ rows.T)
    start = np.zeros(1 + axes.shape[1])
    start[0] = np.log(positive.sum()) - np.log(negative.sum())
    found = _fit_moderate(rows, axes, negative, positive, start)
    slopes = axes @ found.parameters[1:]
    intercept = float(found.parameters[0] - slopes @ centre)
    with np.errstate(over="ignore"):
        slopes = np.ldexp(slopes, -exponents)
    largest = np.finfo(np.float64).max
    converged = found.converged and bool((np.abs(slopes) <= largest).all())
    return LogisticFit(intercept, np.clip(slopes, -largest, largest), found.loss, converged)


def _fit_moderate(
    rows: FloatArray,
    axes: FloatArray,
    negative: FloatArray,
    positive: FloatArray,
    start: FloatArray,
) -> Fit:
    features = axes.T @ rows
    objective = _logistic(features, negative, positive)
    bounded = with_ridge(objective, np.append(0.0, np.ones(len(features))))
    if len(rows) == 1:
        if _is_separable(rows[0], negative, positive):
            return fit_bounded(objective, bounded, start)
        objective = objective._replace(rest=_ALL_AT_REST)  # there is an optimum
    part = part_of(positive.size)
    if part is not None and negative[part].any() and positive[part].any():
        some = _logistic(np.ascontiguousarray(features[:, part]), negative[part], positive[part])
        start = start_on_part(some, start)
    return fit_convex(objective, bounded, start)


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


def _logistic(features: FloatArray, negative: FloatArray, positive: FloatArray) -> Objective:
    """Mean log loss as a function of the intercept and the slopes of the features, (d, n)."""
    weight = negative + positive
    total, is_mixed = float(weight.sum()), np.minimum(negative, positive).any()

    def at(parameters: FloatArray, *, curved: bool = True) -> Evaluation:
        def of(some: slice) -> Evaluation:
            return _losses(features[:, some], negative[some], positive[some], parameters)

        here = over_blocks(of, positive.size, _BLOCK)
        return Evaluation(here.loss / total, here.gradient / total, here.curvature / total)

    ends = features  # of one feature the least and the largest value are enough
    if len(features) == 1:
        ends = np.array([[features.min(), features.max()]])

    def reach(step: FloatArray) -> float:
        return float(np.abs(step[0] + step[1:] @ ends).max())

    return Objective(at, reach, 0.0 if is_mixed else least_told_apart(weight))


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
