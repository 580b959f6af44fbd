r"""Affine maps on log-posteriors of many classes: vector scaling and the full affine map.

The full map is the discriminative calibration of the speech community: multinomial logistic
regression, without penalty, of the class on the logarithms of the posteriors.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
from scipy.linalg import block_diag

from stakes._check import FloatArray, IntArray, Labels
from stakes.calibration.contract import CalibrationMap, Cases, CheckedCalibrator
from stakes.calibration.fitting import (
    Evaluation,
    Fit,
    Objective,
    broad_axes,
    centred,
    fit_convex,
    least_told_apart,
    over_blocks,
    part_of,
    start_on_part,
    with_ridge,
)
from stakes.calibration.logarithms import bounded_logs, log_limit
from stakes.calibration.parts import require_positive, require_shape
from stakes.calibration.reading import in_shape_of, read_posterior_cases
from stakes.decide import softmax
from stakes.rows import read_posteriors

_BLOCK = 1 << 13  # cases at a time


@dataclass(frozen=True, eq=False)
class FittedVector(CalibrationMap):
    r"""Posteriors :math:`p_k \propto e^{b_k} q_k^{a_k}`; the intercepts b sum to zero.

    Logarithms below −`limit` (those of posteriors of exactly 0 among them) are read as it.
    """

    kind: ClassVar[str] = "vector"

    slopes: FloatArray
    intercepts: FloatArray
    limit: float
    classes: Labels
    converged: bool

    def _checked(self) -> Self:
        for name in ("slopes", "intercepts"):
            require_shape(name, getattr(self, name), (len(self.classes),))
        require_positive("limit", self.limit)
        return self

    def __call__(self, scores: object) -> FloatArray:
        """Posteriors, (n,) or (n, K), of posteriors of the same shape."""
        rows = read_posteriors("scores", scores, self.classes)
        logits = bounded_logs(rows, self.limit) * self.slopes + self.intercepts
        return in_shape_of(scores, softmax(logits))


@dataclass(frozen=True, eq=False)
class FittedFullAffine(CalibrationMap):
    r"""Posteriors :math:`p_k \propto \exp(b_k + \sum_j W_{kj} \log q_j)`.

    The columns of W and the intercepts sum to zero, which leaves the posteriors as they are.
    Logarithms below −`limit` (those of posteriors of exactly 0 among them) are read as it.
    """

    kind: ClassVar[str] = "full affine"

    matrix: FloatArray
    intercepts: FloatArray
    limit: float
    classes: Labels
    converged: bool

    def _checked(self) -> Self:
        size = len(self.classes)
        require_shape("matrix", self.matrix, (size, size))
        require_shape("intercepts", self.intercepts, (size,))
        require_positive("limit", self.limit)
        return self

    def __call__(self, scores: object) -> FloatArray:
        """Posteriors, (n,) or (n, K), of posteriors of the same shape."""
        rows = read_posteriors("scores", scores, self.classes)
        logits = bounded_logs(rows, self.limit) @ self.matrix.T + self.intercepts
        return in_shape_of(scores, softmax(logits))


@dataclass(frozen=True, eq=False)
class VectorScaling(CheckedCalibrator[FittedVector]):
    """A slope and an intercept for every class, on log-posteriors; 2K − 1 free numbers.

    Prior and separable data as for `Affine`.

    Examples
    --------
    >>> q = [[0.8, 0.1, 0.1], [0.2, 0.7, 0.1], [0.1, 0.3, 0.6]] * 4
    >>> VectorScaling().fit(q, [0, 1, 2, 0, 1, 2, 1, 2, 0, 2, 0, 1]).converged
    True
    """

    _read = staticmethod(read_posterior_cases)

    def _fitted(self, scores: FloatArray, cases: Cases) -> FittedVector:
        return fit_slopes(scores, cases, np.eye(scores.shape[1]))


@dataclass(frozen=True, eq=False)
class FullAffine(CheckedCalibrator[FittedFullAffine]):
    """Any affine map of log-posteriors: K² − 1 free numbers, for K classes with many cases each.

    For K = 2 it is `BetaMap` that may also fall. Prior and separable data as for `Affine`. From 15
    classes on, first derivatives lead near the optimum, and second ones there and tell whether it
    is one. From 64 on these would be too many: the fit is bounded, and `converged` always False.

    Examples
    --------
    >>> q = [[0.8, 0.1, 0.1], [0.2, 0.7, 0.1], [0.1, 0.3, 0.6]] * 4
    >>> fitted = FullAffine().fit(q, [0, 1, 2, 0, 1, 2, 1, 2, 0, 2, 0, 1])
    >>> fitted.converged, fitted(q)[0]
    (True, array([0.5 , 0.25, 0.25]))
    """

    _read = staticmethod(read_posterior_cases)

    def _fitted(self, scores: FloatArray, cases: Cases) -> FittedFullAffine:
        share, limit = cases.weights / cases.weights.sum(), log_limit(scores)
        rows, centre = centred(bounded_logs(scores, limit).T, share, size=1.0)
        axes = broad_axes((rows * share) @ rows.T)
        features = np.column_stack([np.ones(share.size), rows.T @ axes])
        found, width = _fit_full(features, cases.codes, share), features.shape[1]
        free = np.pad(found.parameters.reshape(-1, width), ((1, 0), (0, 0)))
        free = free - free.mean(axis=0)
        matrix = free[:, 1:] @ axes.T
        return FittedFullAffine._trusted(
            matrix=matrix,
            intercepts=free[:, 0] - matrix @ centre,
            limit=limit,
            classes=cases.classes,
            converged=found.converged,
        )


def fit_slopes(scores: FloatArray, cases: Cases, slopes: FloatArray) -> FittedVector:
    """The best slopes within the columns of a matrix (K, F), and K intercepts that are free."""
    share, limit = cases.weights / cases.weights.sum(), log_limit(scores)
    rows, centre = centred(bounded_logs(scores, limit).T, share, size=1.0)
    size = len(rows)
    found, axes = _fit_vector(rows.T, cases.codes, share, block_diag(slopes, np.eye(size - 1)))
    parameters = axes @ found.parameters
    best = parameters[:size]
    intercepts = np.append(0.0, parameters[size:]) - best * centre
    return FittedVector._trusted(
        slopes=best,
        intercepts=intercepts - intercepts.mean(),
        limit=limit,
        classes=cases.classes,
        converged=found.converged,
    )


def _fit_vector(
    features: FloatArray, codes: IntArray, share: FloatArray, within: FloatArray
) -> tuple[Fit, FloatArray]:
    """The fit in coordinates on broad axes within these columns, and these axes."""
    size = features.shape[1]
    objective = _vector_objective(features, codes, share)
    curvature = objective.at(np.zeros(2 * size - 1)).curvature
    axes = within @ broad_axes(within.T @ curvature @ within)
    start = axes.T @ curvature @ np.append(np.zeros(size), _log_shares(codes, share))
    part = _part(codes, size)
    if part is not None:
        some = _vector_objective(features[part], codes[part], share[part] / share[part].sum())
        start = start_on_part(_along(axes, some), start)
    bounded = with_ridge(objective, np.append(share @ features**2, np.zeros(size - 1)))
    return fit_convex(_along(axes, objective), _along(axes, bounded), start), axes


def _fit_full(features: FloatArray, codes: IntArray, share: FloatArray) -> Fit:
    """Coefficients of all classes but the first; the first feature is constant."""
    width = features.shape[1]
    others = _log_shares(codes, share)
    coefficients = np.zeros((others.size, width))
    coefficients[:, 0] = others
    start, part = coefficients.ravel(), _part(codes, others.size + 1)
    if part is not None:
        some = _full_objective(features[part], codes[part], share[part] / share[part].sum())
        start = start_on_part(some, start)
    penalised = np.tile(np.arange(width) > 0, others.size).astype(np.float64)
    objective = _full_objective(features, codes, share)
    return fit_convex(objective, with_ridge(objective, penalised), start)


def _log_shares(codes: IntArray, share: FloatArray) -> FloatArray:
    """Log-odds of every class but the first against it: the best intercepts of constant scores."""
    logs = np.log(np.bincount(codes, weights=share))
    return np.asarray(logs[1:] - logs[0])


def _part(codes: IntArray, size: int) -> slice | None:
    """A part of very many cases that has cases of every class, if there is one."""
    part = part_of(codes.size)
    if part is None or not np.bincount(codes[part], minlength=size).all():
        return None
    return part


def _surplus(logits: FloatArray, codes: IntArray, share: FloatArray) -> tuple[FloatArray, float]:
    """Posteriors minus one for the true class, and the log loss, weighted by the cases' shares.

    What is small is never a difference of what is large, so that cases which are all but certain
    keep their digits: the surplus of the true class is minus the posteriors of all others.
    """
    here = np.arange(len(codes))
    shifted = logits - logits.max(axis=1, keepdims=True)
    raised = np.exp(shifted)
    own = raised[here, codes]
    raised[here, codes] = 0.0
    rest = raised.sum(axis=1)
    loss = float(share @ (np.log1p(rest + (own - 1.0)) - shifted[here, codes]))
    raised[here, codes] = -rest
    return raised / (own + rest)[:, None], loss


def _vector_objective(features: FloatArray, codes: IntArray, shares: FloatArray) -> Objective:
    """Mean log loss of logits a_k x_k + b_k with b_0 = 0, as a function of a and the other b."""
    size = features.shape[1]
    free = np.delete(np.arange(2 * size), size)

    def logits(parameters: FloatArray, some: slice) -> FloatArray:
        return np.asarray(features[some] * parameters[:size] + np.append(0.0, parameters[size:]))

    def at(parameters: FloatArray, *, curved: bool = True) -> Evaluation:
        def of(some: slice) -> Evaluation:
            x, true, share = features[some], codes[some], shares[some]
            surplus, loss = _surplus(logits(parameters, some), true, share)
            gradient = share @ np.hstack([surplus * x, surplus])
            hessian = None
            if curved:
                hessian = _vector_curvature(x, surplus, true, share)[np.ix_(free, free)]
            return Evaluation(loss, gradient[free], hessian)

        return over_blocks(of, len(features), _BLOCK)

    def reach(step: FloatArray) -> float:
        return _widest(lambda some: logits(step, some), len(features))

    return Objective(at, reach, least_told_apart(shares))


def _vector_curvature(
    x: FloatArray, surplus: FloatArray, codes: IntArray, share: FloatArray
) -> FloatArray:
    """Second derivatives of the weighted log losses in all slopes and intercepts, (2K, 2K).

    Those of `_curvature` for K features of which each class has its own.
    """
    heavy = surplus * share[:, None]
    true = np.zeros_like(surplus)
    true[np.arange(len(codes)), codes] = 1.0
    own = np.abs(heavy)
    square, middle, plain = (np.diag(one.sum(axis=0)) for one in (own * x * x, own * x, own))
    others = np.maximum(heavy, 0.0)
    cross = np.hstack([others * x, others]).T @ np.hstack([true * x, true])
    outer = np.hstack([heavy * x, heavy]).T @ np.hstack([surplus * x, surplus])
    return np.asarray(np.block([[square, middle], [middle, plain]]) - cross - cross.T - outer)


def _full_objective(features: FloatArray, codes: IntArray, shares: FloatArray) -> Objective:
    """Mean log loss as a function of the coefficients of all classes but the first, (K − 1) · F.

    The logit of the first class is zero.
    """
    width = features.shape[1]

    def logits(parameters: FloatArray, some: slice) -> FloatArray:
        return np.pad(features[some] @ parameters.reshape(-1, width).T, ((0, 0), (1, 0)))

    def at(parameters: FloatArray, *, curved: bool = True) -> Evaluation:
        def of(some: slice) -> Evaluation:
            x, true, share = features[some], codes[some], shares[some]
            surplus, loss = _surplus(logits(parameters, some), true, share)
            hessian = _curvature(x, surplus[:, 1:], true - 1, share) if curved else None
            gradient = (surplus[:, 1:] * share[:, None]).T @ x
            return Evaluation(loss, gradient.ravel(), hessian)

        return over_blocks(of, len(features), _BLOCK)

    def reach(step: FloatArray) -> float:
        return _widest(lambda some: logits(step, some), len(features))

    return Objective(at, reach, least_told_apart(shares))


def _widest(logits: Callable[[slice], FloatArray], n_cases: int) -> float:
    """The widest range of logits in any case."""
    blocks = (slice(first, first + _BLOCK) for first in range(0, n_cases, _BLOCK))
    return max(float(np.ptp(logits(some), axis=1).max()) for some in blocks)


def _curvature(
    x: FloatArray, surplus: FloatArray, codes: IntArray, share: FloatArray
) -> FloatArray:
    r"""Second derivatives of the weighted log losses, a square of side (K − 1) · F.

    With :math:`v_k` the derivative of the logit of class k less that of the true class, they are
    :math:`\sum_k p_k v_k v_k' - (\sum_k p_k v_k)(\sum_k p_k v_k)'`, and that of the true class
    being zero, cases which are all but certain keep their digits.
    """
    width = x.shape[1]
    terms = (surplus[:, :, None] * x[:, None, :]).reshape(len(x), -1)
    heavy = terms * share[:, None]
    hessian = -heavy.T @ terms
    for k, column in enumerate(surplus.T):
        own, true = slice(k * width, (k + 1) * width), codes == k
        hessian[own, own] += (x * (share * np.abs(column))[:, None]).T @ x
        others = heavy[true]
        others[:, own] = 0.0
        cross = others.T @ x[true]
        hessian[:, own] -= cross
        hessian[own, :] -= cross.T
    return np.asarray(hessian)


def _along(axes: FloatArray, objective: Objective) -> Objective:
    """The same function of coordinates on these axes."""

    def at(point: FloatArray, *, curved: bool = True) -> Evaluation:
        loss, gradient, hessian = objective.at(axes @ point, curved=curved)
        bent = None if hessian is None else axes.T @ hessian @ axes
        return Evaluation(loss, axes.T @ gradient, bent)

    return Objective(at, lambda step: objective.reach(axes @ step), objective.apart)
