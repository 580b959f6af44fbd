"""Logistic regression without penalty, and the search that fits it."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from stakes._check import BoolArray, FloatArray, IntArray, shapes

# Fits of convex losses by Newton's method, bounded where there is no optimum ---------------------
#
# The losses are log losses of forecasts that are affine in the parameters on the scale of
# logarithms. Along a step that changes no log-odds of two classes by more than r, second
# derivatives then change by a factor of e^r at most (Bach, 2010). Two things follow.
#
# - *Every step can be made to gain.* The share log(1+r)/r of a Newton step lowers the loss by at
#   least λ^2 ((1+r)log(1+r) - r)/r^2, with λ^2 minus the slope of the loss along the step. The
#   full step is tried first, then quarters of it, until one gains as much.
# - *The Newton step shows whether there is an optimum.* Where the classes are separable, except
#   for ties, there is none: let d be a direction in which the log-odds of no true class against
#   another fall, and some rise. The equation of the Newton step, multiplied by d, says that the
#   changes of log-odds, each times a probability, have the mean 1. A step that changes all of them
#   by less therefore proves that there is no such direction.
#
# A fit without an optimum does not converge. The parameters returned then minimise the mean log
# loss plus `RIDGE` / 2 times the squared slopes, measured in standard deviations of their
# features. Since constant forecasts lose at most log K for K classes, no slope exceeds
# √(2 log K / RIDGE) of these units, 1177 for two classes.
#
# Steps are computed by conjugate gradients, which need only products of the second derivatives
# with vectors, and the inverse of their diagonal blocks. Features may be collinear, as the
# logarithms of q and 1 − q are when q takes two values, so that some directions change no
# forecast. The fits move only along *broad axes*, the directions in which forecasts change; among
# all best parameters they find the smallest, each measured in standard deviations of its feature.

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


# Logistic regression on few features, without penalty --------------------------------------------

_ALL_AT_REST = 1e-16  # expected relative gain at which a search with a flat optimum ends
_HUGE = 400  # binary exponent of features from which their squares might overflow
_LEAST_WITHIN = 0.1  # least share of variance within classes that the first guess assumes
_STEPS = 12  # of fits to parts of the cases; more are left to the search of a single fit
_BLOCK = 1 << 15  # cases at a time, so that temporary arrays stay in the cache
_NUMBERS = 1 << 13  # in temporary arrays of several parts; memory for larger ones is always new


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

    A slope beyond the range of float64, as scores need that differ by about 1e-308 or less, is
    clipped to that range, and the fit counts as not converged.

    Parameters
    ----------
    features : (d, n); d may be 0. A feature that does not vary gets slope zero.
    negative, positive : (n,) weights of the case as one of either class
    size : as for `centred`
    """
    share = negative + positive
    share /= share.sum()
    # Scaled by powers of two, which round nothing, so that squares of huge scores stay finite.
    features, exponents = _moderate(features)
    rows, centre = centred(features, share, size=size)
    axes = broad_axes((rows * share) @ rows.T)
    coefficients = _fit_moderate(rows, axes, negative, positive)
    slopes = axes @ coefficients.parameters[1:]
    intercept = float(coefficients.parameters[0] - slopes @ centre)
    with np.errstate(over="ignore"):
        slopes = np.ldexp(slopes, -exponents)
    largest = np.finfo(np.float64).max
    converged = coefficients.converged and bool((np.abs(slopes) <= largest).all())
    return LogisticFit(intercept, np.clip(slopes, -largest, largest), coefficients.loss, converged)


class Line(NamedTuple):
    """Intercept and slope of a logistic regression on one feature, and whether it converged."""

    intercept: float
    slope: float
    converged: bool


def fit_line(
    feature: FloatArray, negative: FloatArray, positive: FloatArray, *, size: float = 0.0
) -> Line:
    """Logistic regression on one feature (n,): `fit_lines` where that converges, or the slow way.

    Parameters
    ----------
    feature : (n,), finite
    negative, positive : (n,) weights of the case as one of either class
    size : as for `centred`
    """
    if feature.size <= _BLOCK:
        fits = fit_lines(feature, negative[None], positive[None])
        (intercept,), (slope,), (converged,) = (column.tolist() for column in fits)
        if converged:
            return Line(intercept, slope, True)
    fit = fit_logistic(feature[None], negative, positive, size=size)
    return Line(fit.intercept, float(fit.slopes[0]), fit.converged)


def fit_lines(
    feature: FloatArray, negative: FloatArray, positive: FloatArray
) -> tuple[FloatArray, FloatArray, BoolArray]:
    """Logistic regressions on one feature, of F parts of the cases at once.

    Every step is Newton's, shortened so that it gains for sure; see `stakes.calibration.logistic`.
    Parts that need many steps, or have no optimum, do not converge: `fit_logistic` fits them.

    Parameters
    ----------
    feature : (n,), finite
    negative, positive : (F, n) weights of the case as one of either class, 0 outside of the part

    Returns
    -------
    intercepts (F,), slopes (F,), and whether each has converged (F,)

    Examples
    --------
    >>> x, y = np.array([-1.0, -1.0, 1.0, 1.0, 1.0]), np.array([0.0, 1.0, 0.0, 1.0, 1.0])
    >>> parts = np.array([[1, 1, 1, 1, 1], [1, 1, 1, 1, 0]])
    >>> intercepts, slopes, converged = fit_lines(x, parts * (1 - y), parts * y)
    >>> intercepts.round(2).tolist(), slopes.round(2).tolist(), converged.tolist()
    ([0.35, 0.0], [0.35, 0.0], [True, True])
    """
    with np.errstate(all="ignore"):  # features that do not vary, or whose squares overflow
        centre, width = feature.mean(), feature.std()
        row = (feature - centre) / width
    # A feature that varies by rounding alone is constant, which `fit_logistic` knows.
    if not (width > CONSTANT_RANGE * max(abs(centre), 1.0) and np.isfinite(row).all()):
        none = np.full(len(negative), np.nan)
        return none, none, np.zeros(len(negative), dtype=bool)
    step = max(1, _NUMBERS // row.size)
    blocks = [slice(first, first + step) for first in range(0, len(negative), step)]
    with np.errstate(all="ignore"):  # without an optimum, steps may overflow
        fits = [_newton_lines(row, negative[some], positive[some]) for some in blocks]
        intercept, slope, converged = (np.concatenate(column) for column in zip(*fits, strict=True))
        return intercept - slope * (centre / width), slope / width, converged


def _newton_lines(
    row: FloatArray, negative: FloatArray, positive: FloatArray
) -> tuple[FloatArray, FloatArray, BoolArray]:
    """`fit_lines` on a feature of mean zero and variance one."""
    weight, square, ends = negative + positive, row * row, np.array([row.min(), row.max()])
    intercept, slope = _discriminant(row[None], negative, positive).T
    for _ in range(_STEPS):
        odds = intercept[:, None] + slope[:, None] * row
        surplus, spread, _, _ = _case_derivatives(odds, weight, negative, positive)
        gradient = surplus.sum(axis=1), _dots(surplus, row)
        flat, mixed, steep = spread.sum(axis=1), _dots(spread, row), _dots(spread, square)
        determinant = flat * steep - mixed**2
        step = (mixed * gradient[1] - steep * gradient[0]) / determinant
        turn = (mixed * gradient[0] - flat * gradient[1]) / determinant
        reach = np.abs(step[:, None] + turn[:, None] * ends).max(axis=1)
        share = np.where(reach > NEAR, np.log1p(reach) / reach, 1.0)
        intercept, slope = intercept + share * step, slope + share * turn
        if not (reach > THERE).any():
            break
    return intercept, slope, reach <= THERE


def _covariance(
    design: FloatArray,
    residual: FloatArray,
    weights: FloatArray,
    *,
    owner: IntArray | None,
) -> FloatArray:
    r"""Covariance (d, d) of the coefficients of a logistic regression, at their optimum.

    .. math:: B = \Big(\sum_i w_i p_i (1 - p_i)\, x_i x_i^T\Big)^{-1}, \quad
        B \, \frac{G}{G-1} \sum_g u_g u_g^T \, B, \quad u_g = \sum_{i \in g} w_i (y_i - p_i) x_i

    The first is for weights that are numbers of cases, the second (the "sandwich") for G sampled
    clusters, or for cases with sampling weights.

    Parameters
    ----------
    design : (d, n), a row of ones for an intercept
    residual : (n,) class, 0 or 1, less its probability
    weights : (n,) weight of each case
    owner : (n,) numbers 0 … G − 1 of the clusters, or None
    """
    # For cases of either class the size of the residual is one minus the probability of the true
    # class, from which p(1 − p) follows.
    chance = np.abs(residual)
    bread = np.linalg.pinv((design * (weights * chance * (1 - chance))) @ design.T)
    if owner is None:
        return np.asarray(bread)
    influence = np.stack([np.bincount(owner, row) for row in design * (weights * residual)])
    count = influence.shape[1]
    # The sandwich of Huber and White, by clusters; the factor corrects for their number.
    meat = influence @ influence.T * (count / max(count - 1, 1))
    return np.asarray(bread @ meat @ bread)


def coefficient_variances(
    design: FloatArray,
    residual: FloatArray,
    weights: FloatArray,
    at: FloatArray,
    *,
    owner: IntArray | None,
) -> FloatArray:
    """Variances (p,) of linear combinations `at` (d, p) of the coefficients.

    With clusters or weights it is the larger of the sandwich variance and that of as many
    independent cases: for few cases of a class the sandwich is too small (for three in 50, by two
    thirds).

    Parameters
    ----------
    design : features, (d, n), with a row of ones for the intercept
    residual : class, 0 or 1, less its probability, (n,)
    weights : weight of each case, (n,)
    at : linear combinations of the coefficients, (d, p)
    owner : position of the cluster of each case, (n,), or None

    Returns
    -------
    variances, (p,)

    Examples
    --------
    >>> design, residual = np.ones((1, 4)), np.array([0.5, -0.5, 0.5, -0.5])
    >>> coefficient_variances(design, residual, np.ones(4), np.ones((1, 1)), owner=None)
    array([1.])
    """
    shapes("D N, N, N, D P", design=design, residual=residual, weights=weights, at=at)
    covariances = [_covariance(design, residual, weights, owner=None)]
    if owner is not None:
        covariances[0] = covariances[0] * (np.sum(weights**2) / np.sum(weights))
        covariances.append(_covariance(design, residual, weights, owner=owner))
    # The larger of the two: the sandwich is too small where clusters are few.
    return np.asarray(np.max([np.einsum("dp,de,ep->p", at, c, at) for c in covariances], axis=0))


def _fit_moderate(
    rows: FloatArray,
    axes: FloatArray,
    negative: FloatArray,
    positive: FloatArray,
) -> Fit:
    """The fit of centred features (d, n) along their broad axes; intercept first."""
    features = axes.T @ rows
    start = np.zeros(1 + len(features))
    start[0] = np.log(positive.sum()) - np.log(negative.sum())
    penalised = np.diag(np.append(0.0, np.ones(len(features))))[None]
    is_line = len(rows) == 1
    # Separable classes have no optimum to search for; for one feature that is quick to check.
    if is_line and _is_separable(rows[0], negative, positive):
        return fit_bounded(_logistic(features, negative, positive), start, penalised)

    def on(some: slice) -> Objective:
        part = np.ascontiguousarray(features[:, some]), negative[some], positive[some]
        objective = _logistic(*part)
        return objective._replace(rest=_ALL_AT_REST) if is_line else objective

    near = fit_convex(on, positive.size, _discriminant(features, negative, positive), penalised)
    # If cases of tiny weight decide the optimum, only a search from zero slopes finds it.
    return near if near.converged else fit_convex(on, positive.size, start, penalised)


def _discriminant(features: FloatArray, negative: FloatArray, positive: FloatArray) -> FloatArray:
    """Intercepts and slopes (…, 1 + d) of linear discriminants, the solutions for normal features.

    Features (d, n) have mean zero, variance one, and no correlation; weights are (…, n).
    """
    sizes = np.stack([negative.sum(axis=-1), positive.sum(axis=-1)])[..., None]
    below, above = negative @ features.T / sizes[0], positive @ features.T / sizes[1]
    apart = above - below
    # The variance between classes, of a total variance of 1.
    between = sizes.prod(axis=0) / sizes.sum(axis=0) ** 2 * (apart**2).sum(axis=-1, keepdims=True)
    slopes = apart / np.maximum(1 - between, _LEAST_WITHIN)
    odds = np.log(sizes[1]) - np.log(sizes[0])
    centre = (slopes * (above + below)).sum(axis=-1, keepdims=True) / 2
    return np.concatenate([odds - centre, slopes], axis=-1)


def _moderate(features: FloatArray) -> tuple[FloatArray, IntArray]:
    """Features scaled so that squares do not overflow, and the binary exponents of the scaling."""
    largest = np.maximum(features.max(axis=1, initial=0.0), -features.min(axis=1, initial=0.0))
    exponents = np.frexp(largest)[1].astype(np.intp)
    if np.abs(exponents).max(initial=0) < _HUGE:
        return features, np.zeros_like(exponents)
    return np.ldexp(features, -exponents[:, None]), exponents


def _is_separable(x: FloatArray, negative: FloatArray, positive: FloatArray) -> bool:
    """Whether one threshold separates the classes, except for cases that lie on it."""
    for some in (slice(0, 1024), slice(None)):  # an overlap among the first few settles it
        below, above = x[some][negative[some] > 0], x[some][positive[some] > 0]
        if not (below.size and above.size):
            continue
        if below.max() > above.min() and above.max() > below.min():
            return False
    return bool(x.min() < x.max())


def _logistic(features: FloatArray, negative: FloatArray, positive: FloatArray) -> Objective:
    """Mean log loss as a function of the intercept and the slopes of the features, (d, n)."""
    weight = negative + positive
    total = float(weight.sum())

    def at(parameters: FloatArray) -> LossAt:
        sums = [
            _losses(features[:, some], negative[some], positive[some], parameters)
            for some in (slice(first, first + _BLOCK) for first in range(0, weight.size, _BLOCK))
        ]
        loss, gradient, hessian, missed = (sum(parts) / total for parts in zip(*sums, strict=True))
        return LossAt(
            float(loss), gradient, lambda step: hessian @ step, lambda: hessian[None], not missed
        )

    extremes = features  # a linear function of one feature is extreme at its ends
    if len(features) == 1:
        extremes = np.array([[features.min(), features.max()]])

    def reach(step: FloatArray) -> float:
        return float(np.abs(step[0] + step[1:] @ extremes).max())

    return Objective(at, reach)


def _losses(
    features: FloatArray, negative: FloatArray, positive: FloatArray, parameters: FloatArray
) -> tuple[float, FloatArray, FloatArray, float]:
    """Sums of log losses, of their derivatives, and of the weight of misclassified cases.

    Small numbers are never computed as differences of large ones, so that cases with probabilities
    near 0 and 1 lose no digits.
    """
    weight = negative + positive
    odds = np.full(weight.size, parameters[0])
    for row, slope in zip(features, parameters[1:], strict=True):
        odds += row * slope
    surplus, spread, small, missed = _case_derivatives(odds, weight, negative, positive)
    loss = _dot(weight, np.log1p(small)) + _dot(missed, np.abs(odds))
    return loss, *_derivatives(features, surplus, spread), missed.sum()


def _case_derivatives(
    odds: FloatArray, weight: FloatArray, negative: FloatArray, positive: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Derivatives of the losses of cases in their log-odds, the first and the second.

    With them the smaller of the odds for and against, and the weight of misclassified cases.
    """
    # Results take the place of what is not needed any more: new memory takes longer than the sums.
    small = np.abs(odds)
    np.exp(np.negative(small, out=small), out=small)  # of negative numbers, which cannot overflow
    share = small + 1.0
    np.divide(1.0, share, out=share)
    missed = np.where(np.signbit(odds), positive, negative)
    expected = weight * small  # expected weight of misclassified cases
    expected *= share
    surplus = missed - expected
    surplus *= np.copysign(1.0, odds)
    expected *= share
    return surplus, expected, small, missed


def _derivatives(
    features: FloatArray, surplus: FloatArray, spread: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Gradient and Hessian for intercept and slopes, from those for the log-odds of each case."""
    size = 1 + len(features)
    gradient, hessian = np.empty(size), np.empty((size, size))
    gradient[0], hessian[0, 0] = surplus.sum(), spread.sum()
    for j, row in enumerate(features, 1):
        spread_of_row = row * spread
        gradient[j] = _dot(row, surplus)
        hessian[0, j] = hessian[j, 0] = spread_of_row.sum()
        for k in range(j, size):
            hessian[j, k] = hessian[k, j] = _dot(spread_of_row, features[k - 1])
    return gradient, hessian


def _dot(left: FloatArray, right: FloatArray) -> float:
    """Inner product without BLAS, whose threads slow down blocks as small as these."""
    return float(np.einsum("i,i->", left, right))


def _dots(left: FloatArray, right: FloatArray) -> FloatArray:
    """Inner products (F,) of rows (F, n) with one row (n,)."""
    return np.asarray(np.einsum("fn,n->f", left, right))
