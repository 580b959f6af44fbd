r"""Affine maps on log-posteriors of many classes: vector scaling and the full affine map.

The full map is the discriminative calibration of the speech community: multinomial logistic
regression, without penalty, of the class on the logarithms of the posteriors.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from stakes._check import FloatArray, IntArray, Labels
from stakes.calibration.contract import CalibrationMap, Calibrator, Cases
from stakes.calibration.fitting import (
    Evaluation,
    Fit,
    Objective,
    broad_axes,
    fit_convex,
    fit_first_order,
)
from stakes.calibration.parts import require_positive, require_shape
from stakes.calibration.reading import in_shape_of, n_classes_of, read_posterior_cases
from stakes.calibration.softmax import bounded_logs, log_limit, softmax
from stakes.rows import read_posteriors

__all__ = ["FittedFullAffine", "FittedVector", "FullAffine", "VectorScaling"]

_BLOCK = 1 << 13
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
class VectorScaling(Calibrator):
    """A slope and an intercept for every class, on log-posteriors; 2K − 1 free numbers.

    Prior and separable data as for `Affine`.

    Examples
    --------
    >>> q = [[0.8, 0.1, 0.1], [0.2, 0.7, 0.1], [0.1, 0.3, 0.6]] * 4
    >>> VectorScaling().fit(q, [0, 1, 2, 0, 1, 2, 1, 2, 0, 2, 0, 1]).converged
    True
    """

    def fit(  # noqa: D102
        self,
        scores: object,
        y: object,
        *,
        classes: object = None,
        weights: object = None,
        prior: object = None,
    ) -> FittedVector:
        logs, limit, cases = _read(scores, y, classes, weights, prior)
        features, centre, spread = _standardised(logs, cases.weights)
        size = logs.shape[1]
        objective = _vector_objective(features, cases)
        axes = broad_axes(objective(np.zeros(2 * size - 1)).hessian)
        found = fit_convex(objective, np.arange(2 * size - 1) < size, axes)
        slopes = found.parameters[:size] / spread
        intercepts = np.append(0.0, found.parameters[size:]) - slopes * centre
        return FittedVector._trusted(
            slopes=slopes,
            intercepts=intercepts - intercepts.mean(),
            limit=limit,
            classes=cases.classes,
            converged=found.converged,
        )


@dataclass(frozen=True, eq=False)
class FullAffine(Calibrator):
    """Any affine map of log-posteriors: K² − 1 free numbers, for K classes with many cases each.

    For K = 2 it is `BetaMap` that may also fall. Up to 26 classes the fit is by Newton's method,
    beyond that by a quasi-Newton method. Prior and separable data as for `Affine`.

    Examples
    --------
    >>> q = [[0.8, 0.1, 0.1], [0.2, 0.7, 0.1], [0.1, 0.3, 0.6]] * 4
    >>> fitted = FullAffine().fit(q, [0, 1, 2, 0, 1, 2, 1, 2, 0, 2, 0, 1])
    >>> fitted.converged, fitted(q)[0]
    (True, array([0.5 , 0.25, 0.25]))
    """

    def fit(  # noqa: D102
        self,
        scores: object,
        y: object,
        *,
        classes: object = None,
        weights: object = None,
        prior: object = None,
    ) -> FittedFullAffine:
        logs, limit, cases = _read(scores, y, classes, weights, prior)
        scaled, centre, spread = _standardised(logs, cases.weights)
        axes = broad_axes((scaled * cases.weights[:, None]).T @ scaled)
        features = np.column_stack([np.ones(len(scaled)), scaled @ axes])
        found = _fit_full(features, cases)
        free = np.pad(found.parameters.reshape(-1, features.shape[1]), ((1, 0), (0, 0)))
        free = free - free.mean(axis=0)
        matrix = free[:, 1:] @ axes.T / spread
        return FittedFullAffine._trusted(
            matrix=matrix,
            intercepts=free[:, 0] - matrix @ centre,
            limit=limit,
            classes=cases.classes,
            converged=found.converged,
        )


def _read(
    scores: object, y: object, classes: object, weights: object, prior: object
) -> tuple[FloatArray, float, Cases]:
    """Log-posteriors (n, K) of the cases, their limit, and the cases, whose weights sum to one."""
    size = n_classes_of(scores)
    rows, cases = read_posterior_cases(scores, y, size, classes, weights, prior)
    rows = rows[cases.kept]
    limit = log_limit(rows)
    shares = cases.weights / cases.weights.sum()
    return bounded_logs(rows, limit), limit, cases._replace(weights=shares)


def _standardised(
    logs: FloatArray, weights: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Columns with mean zero and variance one, their means and spreads; constant ones stay zero."""
    centre = weights @ logs
    features = logs - centre
    spread = np.sqrt(weights @ features**2)
    spread = np.where(spread > 1e-12 * np.abs(centre), spread, np.inf)
    return features / spread, centre, spread


def _blocks(n_rows: int) -> Iterator[slice]:
    for first in range(0, n_rows, _BLOCK):
        yield slice(first, first + _BLOCK)


def _chances(logits: FloatArray, codes: IntArray, weights: FloatArray) -> tuple[FloatArray, float]:
    """Posteriors of logits, and the weighted log loss of the true classes."""
    shifted = logits - logits.max(axis=1, keepdims=True)
    raised = np.exp(shifted)
    totals = raised.sum(axis=1)
    true = np.take_along_axis(shifted, codes[:, None], axis=1)[:, 0]
    return raised / totals[:, None], float(weights @ (np.log(totals) - true))


def _vector_objective(features: FloatArray, cases: Cases) -> Objective:
    """Mean log loss of logits a_k x_k + b_k with b_0 = 0, as a function of a and the other b."""
    size = features.shape[1]
    free = np.delete(np.arange(2 * size), size)

    def objective(parameters: FloatArray) -> Evaluation:
        slopes, intercepts = parameters[:size], np.append(0.0, parameters[size:])
        loss, gradient, hessian = 0.0, np.zeros(2 * size), np.zeros((2 * size, 2 * size))
        for block in _blocks(len(features)):
            x, codes, weights = features[block], cases.codes[block], cases.weights[block]
            chances, lost = _chances(x * slopes + intercepts, codes, weights)
            surplus = chances.copy()
            surplus[np.arange(len(codes)), codes] -= 1.0
            terms = np.hstack([chances * x, chances])
            loss += lost
            gradient += weights @ np.hstack([surplus * x, surplus])
            heavy = terms * weights[:, None]
            hessian -= heavy.T @ terms
            own = np.arange(size)
            hessian[own, own] += np.sum(heavy[:, :size] * x, axis=0)
            hessian[own, size + own] += heavy[:, :size].sum(axis=0)
            hessian[size + own, own] += heavy[:, :size].sum(axis=0)
            hessian[size + own, size + own] += heavy[:, size:].sum(axis=0)
        return Evaluation(loss, gradient[free], hessian[np.ix_(free, free)])

    return objective


def _fit_full(features: FloatArray, cases: Cases) -> Fit:
    """Coefficients of all classes but the first, whose logit is zero, (K − 1) · F of them."""
    size, width = len(cases.classes), features.shape[1]
    start = np.zeros((size - 1) * width)
    penalised = np.tile(np.arange(width) > 0, size - 1)
    if start.size <= _MANY:
        return fit_convex(_full_objective(features, cases), penalised, np.eye(start.size))

    def slope(parameters: FloatArray, ridge: float) -> tuple[float, FloatArray]:
        loss, gradient = _full_gradient(features, cases, parameters)
        pull = ridge * penalised * parameters
        return loss + float(pull @ parameters) / 2, gradient + pull

    return fit_first_order(slope, start)


def _full_gradient(
    features: FloatArray, cases: Cases, parameters: FloatArray
) -> tuple[float, FloatArray]:
    coefficients = parameters.reshape(-1, features.shape[1])
    loss, gradient = 0.0, np.zeros_like(coefficients)
    for block in _blocks(len(features)):
        x, codes, weights = features[block], cases.codes[block], cases.weights[block]
        logits = np.pad(x @ coefficients.T, ((0, 0), (1, 0)))
        surplus, lost = _chances(logits, codes, weights)
        surplus[np.arange(len(codes)), codes] -= 1.0
        loss += lost
        gradient += (surplus[:, 1:] * weights[:, None]).T @ x
    return loss, gradient.ravel()


def _full_objective(features: FloatArray, cases: Cases) -> Objective:
    width = features.shape[1]

    def objective(parameters: FloatArray) -> Evaluation:
        loss, gradient = _full_gradient(features, cases, parameters)
        coefficients = parameters.reshape(-1, width)
        hessian = np.zeros((parameters.size, parameters.size))
        for block in _blocks(len(features)):
            x, weights = features[block], cases.weights[block]
            logits = np.pad(x @ coefficients.T, ((0, 0), (1, 0)))
            chances = softmax(logits)[:, 1:]
            terms = (chances[:, :, None] * x[:, None, :]).reshape(len(x), -1)
            hessian -= (terms * weights[:, None]).T @ terms
            for k in range(len(coefficients)):
                own = slice(k * width, (k + 1) * width)
                hessian[own, own] += (x * (weights * chances[:, k])[:, None]).T @ x
        return Evaluation(loss, gradient, hessian)

    return objective
