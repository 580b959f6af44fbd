r"""Affine maps on log-posteriors of many classes: vector scaling and the full affine map.

The full map is the discriminative calibration of the speech community: multinomial logistic
regression, without penalty, of the class on the logarithms of the posteriors.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import partial
from typing import ClassVar, NamedTuple, Protocol, Self

import numpy as np

from stakes._check import FloatArray, IntArray, Labels
from stakes._value import record
from stakes.calibration.calibrator import (
    CalibrationCases,
    CheckedCalibrator,
    bounded_logs,
    finite_logs,
    in_shape_of,
    read_posterior_cases,
)
from stakes.calibration.fitting import (
    FLAT_CURVATURE,
    LossAt,
    Objective,
    broad_axes,
    centred,
    fit_convex,
)
from stakes.calibration.maps import AffineLogs, CalibrationMap, require_positive, require_shape
from stakes.rows import read_posteriors

_MANY = 30  # classes up to which all second derivatives are solved together
_BLOCK = 1 << 16  # logits at a time, so that temporary arrays stay in the cache


class OfLogPosteriors(ABC):
    """A calibration map that turns log-posteriors, none of them below −limit, into logits."""

    limit: float
    classes: Labels

    def _checked(self) -> Self:
        require_positive("limit", self.limit)
        return self

    def __call__(self, scores: object) -> FloatArray:
        """Posteriors, (n,) or (n, K), of posteriors of the same shape."""
        from scipy.special import softmax

        logs = bounded_logs(read_posteriors("scores", scores, self.classes), self.limit)
        return in_shape_of(scores, softmax(self._logits(logs), axis=1))

    @abstractmethod
    def _logits(self, logs: FloatArray) -> FloatArray:
        """Logits (n, K) of log-posteriors (n, K)."""


@record
class FittedVector(OfLogPosteriors, CalibrationMap):
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
        return super()._checked()

    @property
    def monotone(self) -> bool:
        """Whether there are two classes and both slopes have the same sign."""
        return len(self.slopes) == 2 and bool(self.slopes[0] * self.slopes[1] >= 0)

    @property
    def affine_logs(self) -> AffineLogs:
        """The map with a diagonal matrix of slopes."""
        return AffineLogs(np.diag(self.slopes), self.intercepts, self.limit)

    def _logits(self, logs: FloatArray) -> FloatArray:
        return logs * self.slopes + self.intercepts


@record
class FittedFullAffine(OfLogPosteriors, CalibrationMap):
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
        return super()._checked()

    @property
    def monotone(self) -> bool:
        """Whether there are two classes, and log q and log(1 − q) have opposite effects."""
        return len(self.matrix) == 2 and bool(np.prod(self.matrix[1] - self.matrix[0]) <= 0)

    @property
    def affine_logs(self) -> AffineLogs:
        """The map itself."""
        return AffineLogs(self.matrix, self.intercepts, self.limit)

    def _logits(self, logs: FloatArray) -> FloatArray:
        return np.asarray(logs @ self.matrix.T + self.intercepts)


@record
class VectorScaling(CheckedCalibrator[FittedVector]):
    """A slope and an intercept for every class on log-posteriors; 2K − 1 free parameters.

    A prior and separable data are treated as by `Affine`.

    Examples
    --------
    >>> q = [[0.8, 0.1, 0.1], [0.2, 0.7, 0.1], [0.1, 0.3, 0.6]] * 4
    >>> VectorScaling().fit(q, [0, 1, 2, 0, 1, 2, 1, 2, 0, 2, 0, 1]).converged
    True
    """

    _read = staticmethod(read_posterior_cases)

    def _fitted(self, scores: FloatArray, cases: CalibrationCases) -> FittedVector:
        return fit_slopes(scores, cases, np.eye(scores.shape[1]))


@record
class FullAffine(CheckedCalibrator[FittedFullAffine]):
    """Any affine map of log-posteriors: K² − 1 free parameters, for classes with many cases.

    For K = 2 it is a `BetaMap` that may also decrease. A prior and separable data are treated as by
    `Affine`.

    Examples
    --------
    >>> q = [[0.8, 0.1, 0.1], [0.2, 0.7, 0.1], [0.1, 0.3, 0.6]] * 4
    >>> fitted = FullAffine().fit(q, [0, 1, 2, 0, 1, 2, 1, 2, 0, 2, 0, 1])
    >>> fitted.converged, fitted(q)[0]
    (True, array([0.5 , 0.25, 0.25]))
    """

    _read = staticmethod(read_posterior_cases)

    def _fitted(self, scores: FloatArray, cases: CalibrationCases) -> FittedFullAffine:
        share = cases.weights / cases.weights.sum()
        rows, centre, limit = _centred_logs(scores, share)
        axes = broad_axes((rows * share) @ rows.T)
        features = np.concatenate([np.ones((1, share.size)), axes.T @ rows])
        others, width = len(rows) - 1, len(features)
        start = np.zeros((others, width))
        start[:, 0] = _log_shares(cases.codes, share)
        slopes = np.diag(np.arange(width) > 0).astype(np.float64)

        def on(some: slice) -> Objective:
            return _objective(_SharedFeatures, features[:, some], cases.codes[some], share[some])

        coefficients = fit_convex(on, share.size, start.ravel(), np.tile(slopes, (others, 1, 1)))
        free = np.pad(coefficients.parameters.reshape(others, width), ((1, 0), (0, 0)))
        free = free - free.mean(axis=0)
        matrix = free[:, 1:] @ axes.T
        return FittedFullAffine._trusted(
            matrix=matrix,
            intercepts=free[:, 0] - matrix @ centre,
            limit=limit,
            classes=cases.classes,
            converged=coefficients.converged,
        )


def fit_slopes(scores: FloatArray, cases: CalibrationCases, slopes: FloatArray) -> FittedVector:
    """The best slopes in the span of the columns of a matrix (K, F), with K free intercepts."""
    share = cases.weights / cases.weights.sum()
    rows, centre, limit = _centred_logs(scores, share)

    def of_classes(some: slice) -> Objective:
        return _objective(_OwnFeature, rows[:, some], cases.codes[some], share[some])

    # All coefficients are solved together, unless there are many classes with a slope each and no
    # direction in which the features are collinear.
    many = len(rows) > _MANY and slopes.shape[1] == len(rows) and _is_broad(rows)
    fit = _fit_each_class if many else partial(_fit_along, slopes=slopes)
    best, intercepts, converged = fit(of_classes, rows, cases.codes, share)
    # Features were centred, which decorrelates slopes and intercepts in the fit; undo it here.
    intercepts = intercepts - best * centre
    return FittedVector._trusted(
        slopes=best,
        intercepts=intercepts - intercepts.mean(),
        limit=limit,
        classes=cases.classes,
        converged=converged,
    )


def _fit_each_class(
    on: Callable[[slice], Objective], rows: FloatArray, codes: IntArray, share: FloatArray
) -> tuple[FloatArray, FloatArray, bool]:
    """Slopes and intercepts of centred features, and whether they are the optimum.

    The second derivatives are solved roughly class by class. A constant added to all intercepts
    changes nothing, which does not disturb conjugate gradients.
    """
    start = np.stack([np.zeros(len(rows)), np.append(0.0, _log_shares(codes, share))], axis=1)
    penalised = np.zeros((len(rows), 2, 2))
    penalised[:, 0, 0] = np.einsum("kn,kn,n->k", rows, rows, share)
    minimum = fit_convex(on, share.size, start.ravel(), penalised)
    best, intercepts = minimum.parameters.reshape(-1, 2).T
    return best, intercepts, minimum.converged


def _fit_along(
    on: Callable[[slice], Objective],
    rows: FloatArray,
    codes: IntArray,
    share: FloatArray,
    *,
    slopes: FloatArray,
) -> tuple[FloatArray, FloatArray, bool]:
    """The same, with slopes in the span of the columns of a matrix, along broad axes only."""
    moments, size = (rows * share) @ rows.T, len(rows)
    spreads = np.diag(moments)
    even = np.diag(spreads) / size - moments / size**2  # curvature at uniform forecasts
    slopes = slopes @ broad_axes(slopes.T @ even @ slopes)
    axes = np.zeros((size, 2, slopes.shape[1] + size - 1))
    axes[:, 0, : slopes.shape[1]] = slopes
    # The first class has no intercept: a constant added to all logits changes nothing.
    axes[1:, 1, slopes.shape[1] :] = np.eye(size - 1)
    start = np.append(np.zeros(slopes.shape[1]), _log_shares(codes, share))
    penalised = (axes[:, 0].T * spreads) @ axes[:, 0]
    minimum = fit_convex(lambda some: _along(axes, on(some)), share.size, start, penalised[None])
    best, intercepts = (axes @ minimum.parameters).T
    return best, intercepts, minimum.converged


def _is_broad(rows: FloatArray) -> bool:
    """Whether no combination of features (K, n) is constant; a few cases are enough to see that."""
    size = len(rows)
    some = rows[:, : 4 * size]
    some = some - some.mean(axis=1, keepdims=True)
    moments = some @ some.T
    even = np.diag(np.diag(moments)) / size - moments / size**2
    sizes = np.sqrt(np.diag(even))
    if not sizes.all():
        return False
    try:
        np.linalg.cholesky(even / np.outer(sizes, sizes) - FLAT_CURVATURE * size * np.eye(size))
    except np.linalg.LinAlgError:
        return False
    return True


def _centred_logs(scores: FloatArray, share: FloatArray) -> tuple[FloatArray, FloatArray, float]:
    """Logarithms (K, n) less their means, the means (K,), and the lower limit of logarithms."""
    logs, limit = finite_logs(np.ascontiguousarray(scores.T))
    return *centred(logs, share, size=1.0), limit


def _log_shares(codes: IntArray, share: FloatArray) -> FloatArray:
    """Log-odds of every class against the first: the best intercepts without slopes."""
    logs = np.log(np.bincount(codes, weights=share))
    return np.asarray(logs[1:] - logs[0])


# Logits as linear functions of coefficients, which are sorted by class ----------------------------


class _Design(Protocol):
    """How logits depend on the coefficients, and how derivatives carry over to these."""

    @staticmethod
    def logits(x: FloatArray, coefficients: FloatArray) -> FloatArray:
        """Logits (K, n) of cases with features (F, n)."""

    @staticmethod
    def pull(x: FloatArray, slopes: FloatArray) -> FloatArray:
        """The gradient for the coefficients, from that for the logits, (K, n)."""

    @staticmethod
    def squares(x: FloatArray, spread: FloatArray) -> FloatArray:
        """Blocks of second derivatives, one for each class, from those for the logits, (K, n)."""


class _SharedFeatures:
    """Coefficients of all features for every class but the first, whose logit is 0."""

    @staticmethod
    def logits(x: FloatArray, coefficients: FloatArray) -> FloatArray:
        return np.pad(coefficients.reshape(-1, len(x)) @ x, ((1, 0), (0, 0)))

    @staticmethod
    def pull(x: FloatArray, slopes: FloatArray) -> FloatArray:
        return np.asarray(slopes[1:] @ x.T).ravel()

    @staticmethod
    def squares(x: FloatArray, spread: FloatArray) -> FloatArray:
        return np.stack([(x * row) @ x.T for row in spread[1:]])


class _OwnFeature:
    """A slope for the feature of each class itself, and an intercept."""

    @staticmethod
    def logits(x: FloatArray, coefficients: FloatArray) -> FloatArray:
        slopes, intercepts = coefficients.reshape(-1, 2, 1).swapaxes(0, 1)
        logits = x * slopes
        logits += intercepts
        return np.asarray(logits)

    @staticmethod
    def pull(x: FloatArray, slopes: FloatArray) -> FloatArray:
        return np.stack([np.einsum("kn,kn->k", slopes, x), slopes.sum(axis=1)], axis=1).ravel()

    @staticmethod
    def squares(x: FloatArray, spread: FloatArray) -> FloatArray:
        pull = spread * x
        square, middle = np.einsum("kn,kn->k", pull, x), pull.sum(axis=1)
        return np.stack([square, middle, middle, spread.sum(axis=1)], axis=1).reshape(-1, 2, 2)


class _Block(NamedTuple):
    """A block of cases, small enough that temporary arrays stay in the cache."""

    x: FloatArray  # features, (F, n)
    true: tuple[IntArray, IntArray]  # cells of the true classes in (K, n)
    share: FloatArray


def _objective(
    design: type[_Design], features: FloatArray, codes: IntArray, weights: FloatArray
) -> Objective:
    """The mean log loss as a function of the coefficients."""
    share, width = weights / weights.sum(), max(_BLOCK // len(features), 1)
    blocks = [
        _Block(
            np.ascontiguousarray(features[:, some]), (labels, np.arange(labels.size)), share[some]
        )
        for some in (slice(first, first + width) for first in range(0, codes.size, width))
        for labels in (codes[some],)
    ]

    def at(coefficients: FloatArray) -> LossAt:
        surpluses, loss, worst = [], 0.0, 0.0
        for x, true, share in blocks:
            surplus, losses = _surplus(design.logits(x, coefficients), true)
            surplus *= share
            surpluses.append(surplus)
            loss, worst = loss + float(share @ losses), max(worst, float(losses.max()))

        def over_blocks(of: Callable[[FloatArray, _Block], FloatArray]) -> FloatArray:
            return np.asarray(sum(map(of, surpluses, blocks)))

        def product(step: FloatArray) -> FloatArray:
            return over_blocks(
                lambda surplus, block: design.pull(
                    block.x, _bent(surplus, design.logits(block.x, step), block)
                )
            )

        return LossAt(
            loss,
            over_blocks(lambda surplus, block: design.pull(block.x, surplus)),
            product,
            lambda: over_blocks(
                lambda surplus, block: design.squares(
                    block.x, np.abs(surplus) - surplus**2 / block.share
                )
            ),
            worst < np.log(2),
        )

    def reach(step: FloatArray) -> float:
        logits = (design.logits(block.x, step) for block in blocks)
        return max(float(np.ptp(each, axis=0).max()) for each in logits)

    return Objective(at, reach)


def _surplus(logits: FloatArray, true: tuple[IntArray, IntArray]) -> tuple[FloatArray, FloatArray]:
    """Posteriors (K, n) minus 1 for the true class, and the log losses (n,).

    Small numbers are never computed as differences of large ones, so that cases with posteriors
    near 1 lose no digits: the surplus of the true class is minus the sum of all other posteriors.
    """
    # The largest logit becomes 0 and its exponential 1, so that nothing overflows.
    logits -= logits.max(axis=0)
    reached = logits[true]
    raised = np.exp(logits, out=logits)
    of_truth = raised[true]
    raised[true] = 0.0
    rest = raised.sum(axis=0)
    raised[true] = -rest
    raised /= of_truth + rest
    return raised, np.log1p(rest + (of_truth - 1.0)) - reached


def _bent(surplus: FloatArray, change: FloatArray, block: _Block) -> FloatArray:
    r"""The product of the second derivatives for the logits and a change of the logits, (K, n).

    With :math:`u_k` the change of class k less that of the true class, and :math:`\bar u` its mean
    over the posteriors, it is :math:`p_k (u_k - \bar u)`. Since :math:`u` is 0 for the true class,
    cases with posteriors near 1 lose no digits. Surplus and result are multiplied by the share of
    each case.
    """
    # Surpluses sum to 0, so that the change of the true class need not be subtracted first.
    mean = np.einsum("kn,kn->n", surplus, change)
    change -= change[block.true] + mean / block.share
    change *= surplus
    change[block.true] -= mean
    return change


def _along(axes: FloatArray, objective: Objective) -> Objective:
    """The objective as a function of coordinates along axes (K, 2, r)."""
    flat = axes.reshape(-1, axes.shape[2])

    def at(point: FloatArray) -> LossAt:
        evaluation = objective.at(flat @ point)
        return LossAt(
            evaluation.loss,
            evaluation.gradient @ flat,
            lambda step: evaluation.product(flat @ step) @ flat,
            lambda: (flat.T @ (evaluation.rough() @ axes).reshape(flat.shape))[None],
            evaluation.apart,
        )

    return objective._replace(at=at, reach=lambda step: objective.reach(flat @ step))
