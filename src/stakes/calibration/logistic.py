"""Logistic regression on few features, without penalty."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from stakes._check import BoolArray, FloatArray, IntArray, shapes
from stakes.calibration.fitting import (
    CONSTANT_RANGE,
    NEAR,
    THERE,
    Fit,
    LossAt,
    Objective,
    broad_axes,
    centred,
    fit_bounded,
    fit_convex,
)

_ALL_AT_REST = 1e-16  # expected relative gain at which a search with a flat optimum ends
_FAR = 400  # binary exponent of features from which their squares might overflow
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

    Every step is Newton's, shortened so that it gains for sure; see `stakes.calibration.fitting`.
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
    if np.abs(exponents).max(initial=0) < _FAR:
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
