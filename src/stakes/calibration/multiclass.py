r"""Affine maps on log-posteriors of many classes: vector scaling and the full affine map.

The full map is the discriminative calibration of the speech community: multinomial logistic
regression, without penalty, of the class on the logarithms of the posteriors.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from stakes._check import FloatArray, IntArray, Labels
from stakes.calibration.contract import CalibrationMap, Cases, CheckedCalibrator
from stakes.calibration.fitting import (
    Evaluation,
    Objective,
    broad_axes,
    centred,
    fit_convex,
    over_blocks,
    with_ridge,
)
from stakes.calibration.logarithms import bounded_logs, log_limit
from stakes.calibration.parts import require_positive, require_shape
from stakes.calibration.reading import in_shape_of, read_posterior_cases
from stakes.decide import softmax
from stakes.rows import read_posteriors

__all__ = ["FittedFullAffine", "FittedVector", "FullAffine", "VectorScaling"]

_BLOCK = 1 << 13  # cases at a time
_MANY = 700  # parameters from which second derivatives cost more than they bring


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
        share, limit = cases.weights / cases.weights.sum(), log_limit(scores)
        rows, centre = centred(bounded_logs(scores, limit).T, share)
        objective = _vector_objective(rows.T, cases.codes, share)
        size = len(rows)
        axes = broad_axes(objective(np.zeros(2 * size - 1)).hessian)
        bounded = with_ridge(objective, np.append(rows**2 @ share, np.zeros(size - 1)))
        start = np.zeros(axes.shape[1])
        found = fit_convex(_along(axes, objective), _along(axes, bounded), start)
        parameters = axes @ found.parameters
        slopes = parameters[:size]
        intercepts = np.append(0.0, parameters[size:]) - slopes * centre
        return FittedVector._trusted(
            slopes=slopes,
            intercepts=intercepts - intercepts.mean(),
            limit=limit,
            classes=cases.classes,
            converged=found.converged,
        )


@dataclass(frozen=True, eq=False)
class FullAffine(CheckedCalibrator[FittedFullAffine]):
    """Any affine map of log-posteriors: K² − 1 free numbers, for K classes with many cases each.

    For K = 2 it is `BetaMap` that may also fall. The fit is by second derivatives up to 26 classes,
    by first ones beyond. Prior and separable data as for `Affine`.

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
        rows, centre = centred(bounded_logs(scores, limit).T, share)
        axes = broad_axes((rows * share) @ rows.T)
        features = np.column_stack([np.ones(share.size), rows.T @ axes])
        width = features.shape[1]
        objective = _full_objective(features, cases.codes, share)
        penalised = np.tile(np.arange(width) > 0, len(rows) - 1).astype(np.float64)
        found = fit_convex(objective, with_ridge(objective, penalised), np.zeros(penalised.size))
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


def _chances(logits: FloatArray, codes: IntArray, share: FloatArray) -> tuple[FloatArray, float]:
    """Posteriors of logits, and the log loss of the true classes, weighted by the cases' shares."""
    shifted = logits - logits.max(axis=1, keepdims=True)
    raised = np.exp(shifted)
    totals = raised.sum(axis=1)
    true = np.take_along_axis(shifted, codes[:, None], axis=1)[:, 0]
    return raised / totals[:, None], float(share @ (np.log(totals) - true))


def _vector_objective(features: FloatArray, codes: IntArray, shares: FloatArray) -> Objective:
    """Mean log loss of logits a_k x_k + b_k with b_0 = 0, as a function of a and the other b."""
    size = features.shape[1]
    free = np.delete(np.arange(2 * size), size)

    def objective(parameters: FloatArray) -> Evaluation:
        slopes, intercepts = parameters[:size], np.append(0.0, parameters[size:])

        def of(some: slice) -> Evaluation:
            x, true, share = features[some], codes[some], shares[some]
            chances, loss = _chances(x * slopes + intercepts, true, share)
            terms = np.hstack([chances * x, chances])
            heavy = terms * share[:, None]
            own = np.stack([heavy[:, :size] * x, heavy[:, :size], heavy[:, size:]]).sum(axis=1)
            square, middle, plain = (np.diag(one) for one in own)
            hessian = np.block([[square, middle], [middle, plain]]) - heavy.T @ terms
            chances[np.arange(len(true)), true] -= 1.0
            return Evaluation(loss, share @ np.hstack([chances * x, chances]), hessian)

        loss, gradient, hessian = over_blocks(of, len(features), _BLOCK)
        return Evaluation(loss, gradient[free], hessian[np.ix_(free, free)])

    return objective


def _full_objective(features: FloatArray, codes: IntArray, shares: FloatArray) -> Objective:
    """Mean log loss as a function of the coefficients of all classes but the first, (K − 1) · F.

    The logit of the first class is zero. Of very many parameters there are no second derivatives.
    """
    width = features.shape[1]

    def objective(parameters: FloatArray) -> Evaluation:
        coefficients = parameters.reshape(-1, width)

        def of(some: slice) -> Evaluation:
            x, true, share = features[some], codes[some], shares[some]
            logits = np.pad(x @ coefficients.T, ((0, 0), (1, 0)))
            chances, loss = _chances(logits, true, share)
            hessian = np.empty((0, 0))
            if parameters.size <= _MANY:
                hessian = _curvature(x, chances[:, 1:], share)
            chances[np.arange(len(true)), true] -= 1.0
            return Evaluation(loss, ((chances[:, 1:] * share[:, None]).T @ x).ravel(), hessian)

        return over_blocks(of, len(features), _BLOCK)

    return objective


def _curvature(x: FloatArray, chances: FloatArray, share: FloatArray) -> FloatArray:
    """Second derivatives of the weighted log losses, a square of side (K − 1) · F."""
    width = x.shape[1]
    terms = (chances[:, :, None] * x[:, None, :]).reshape(len(x), -1)
    hessian = -(terms * share[:, None]).T @ terms
    for k, chance in enumerate(chances.T):
        own = slice(k * width, (k + 1) * width)
        hessian[own, own] += (x * (share * chance)[:, None]).T @ x
    return np.asarray(hessian)


def _along(axes: FloatArray, objective: Objective) -> Objective:
    """The same function of coordinates on these axes."""

    def on_axes(point: FloatArray) -> Evaluation:
        loss, gradient, hessian = objective(axes @ point)
        return Evaluation(loss, axes.T @ gradient, axes.T @ hessian @ axes)

    return on_axes
