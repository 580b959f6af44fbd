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

from stakes._check import FloatArray

RIDGE = 1e-6  # weight of half the squared slopes in a bounded fit
_AT_REST = 1e-11  # gain still expected, relative to the loss, from which Newton steps alone do
_NEAR = 0.5  # change of log-odds by a Newton step that proves, with room for rounding, an optimum
_THERE = 1e-5  # change of log-odds by a Newton step after which there is nothing left to do
_CONSTANT = 1e-12  # range, relative to the mean, that is rounding
_NARROW = 1e-10  # share of the largest curvature below which a direction is rounding
_STRAIGHT = 12  # Newton steps before the search is left to a trust region
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

    Newton steps lead there from most starts; where they do not, SciPy's trust region does. Whether
    it is the minimum is not for SciPy to say, whose test knows the gradient alone.
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

    point = _straight(at, start, is_at_rest)
    if point is not None:
        fit = _polished(objective, point, at(point.tobytes()))
        if fit.converged or point is start:
            return fit
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


def _straight(
    at: Callable[[bytes], Evaluation], start: FloatArray, is_at_rest: Callable[[FloatArray], bool]
) -> FloatArray | None:
    """Where Newton steps come to rest, if there are few of them and each lowers the loss."""
    point = start
    for _ in range(_STRAIGHT):
        if is_at_rest(point):
            return point
        here = at(point.tobytes())
        with np.errstate(all="ignore"):
            point = point + here.newton_step
            if not at(point.tobytes()).loss < here.loss:
                return None
    return None


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
