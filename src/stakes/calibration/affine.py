"""Affine maps on the scale of logarithms, for two classes and for many."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import partial
from typing import ClassVar, NamedTuple, Protocol, Self

import numpy as np

from stakes import _check
from stakes._check import BoolArray, FloatArray, IntArray, Labels
from stakes._value import record
from stakes.calibration.calibrator import (
    CERTAIN,
    AffineLogs,
    CalibrationCases,
    CalibrationMap,
    CheckedCalibrator,
    are_probabilities,
    bounded_logs,
    finite_logs,
    in_shape_of,
    is_one_column,
    largest_finite,
    log_odds,
    one_score_each,
    read_finite_cases,
    read_pair_cases,
    read_posterior_cases,
    require_positive,
    require_shape,
    require_two,
)
from stakes.calibration.logistic import (
    FLAT_CURVATURE,
    RIDGE,
    LogisticFit,
    LossAt,
    Objective,
    broad_axes,
    centred,
    fit_convex,
    fit_line,
    fit_lines,
    fit_logistic,
)
from stakes.rows import read_posteriors
from stakes.scoring import posterior_pairs

# Affine maps on log-posteriors of many classes: vector scaling and the full affine map -----------
#
# The full map is the discriminative calibration of the speech community: multinomial logistic
# regression, without penalty, of the class on the logarithms of the posteriors.

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


# Affine maps on the scale of logarithms: logistic regression of the class on one score -----------
#
# `Affine` takes posteriors and works on their logarithms; `Logistic` and `Platt` take real scores
# as they are, such as log-likelihood ratios or the margins of a support vector machine. `BetaMap`
# takes both log q and log(1 − q) of a posterior q. `Temperature` divides the logarithms of the
# posteriors of any number of classes by one number.

_ROUNDING = 1e-12  # relative difference of logarithms that is only rounding
_FLAT = 1e-14  # slope at uniform posteriors, in standard deviations, that is only rounding
_EVEN = 1e-4  # inverse temperature of the bounded fit, in standard deviations: nearly uniform
_TIE = 1e-9  # relative difference of losses that is only rounding


def posteriors_of(odds: FloatArray, scores: object) -> FloatArray:
    """Posteriors from log-odds: P(second class) if the scores were one column, else of both."""
    from scipy.special import expit

    if is_one_column(scores):
        return np.asarray(expit(odds))
    return np.stack([expit(-odds), expit(odds)], axis=1)


@record
class FittedAffine(CalibrationMap):
    r"""Posteriors with log-odds :math:`a \log\frac{q}{1-q} + b` for the score q.

    Log-odds of the score beyond ±`limit`, such as those of posteriors of exactly 0 and 1, count as
    ±`limit`. Posteriors are returned in the shape in which they were passed.
    """

    kind: ClassVar[str] = "affine"
    _monotone_of_two = True  # a line in the log-odds
    _by_case = ("slope", "intercept", "limit")

    slope: float
    intercept: float
    limit: float
    classes: Labels
    converged: bool

    def _checked(self) -> Self:
        require_two(self.classes)
        require_positive("limit", self.limit)
        return self

    def __call__(self, scores: object) -> FloatArray:
        """Calibrated posteriors, (n,) or (n, 2), from posteriors of the same shape."""
        pairs = read_posteriors("scores", scores, self.classes)
        return posteriors_of(self._odds(pairs), scores)

    def _at(self, scores: FloatArray) -> FloatArray:
        from scipy.special import expit

        return np.asarray(expit(self._odds(posterior_pairs(scores))))

    def _odds(self, pairs: FloatArray) -> FloatArray:
        """Calibrated log-odds (n,) of posteriors (n, 2)."""
        # Probabilities of 0 and 1 have infinite log-odds. They count as the largest that the map
        # was fitted to: 0 times infinity would be nan for a slope of zero.
        odds = np.clip(log_odds(pairs), -self.limit, self.limit)
        return np.asarray(odds * self.slope + self.intercept)


@record
class FittedLogistic(CalibrationMap):
    r"""Posteriors with log-odds :math:`a s + b` for the real score s."""

    kind: ClassVar[str] = "logistic"
    _monotone_of_two = True  # a line in the score
    _by_case = ("slope", "intercept")

    slope: float
    intercept: float
    classes: Labels
    converged: bool

    def _checked(self) -> Self:
        require_two(self.classes)
        return self

    def __call__(self, scores: object) -> FloatArray:
        """P(second class), (n,), from finite scores (n,)."""
        return self._at(_check.floats("scores", one_score_each(scores, self.classes)))

    def _at(self, scores: FloatArray) -> FloatArray:
        from scipy.special import expit

        # A product that overflows is infinite, and its posterior is rightly 0 or 1.
        with np.errstate(over="ignore"):
            return np.asarray(expit(scores * self.slope + self.intercept))


@record
class Affine(CheckedCalibrator[FittedAffine | FittedVector]):
    r"""One slope and an intercept for each class on log-posteriors, fitted by log loss.

    .. math:: \log p_k = a \log q_k + b_k + \text{const}

    For two classes it is logistic regression, without penalty, of the class on the log-odds of the
    score, and the map a `FittedAffine`; for more, it is a `FittedVector` with K equal slopes
    (ferrer-ec, section 4.1). With a prior the classes are weighted to it, so that the new
    posteriors hold for that prior: what the speech community calls prior-weighted logistic
    regression. On data that one threshold separates the likelihood has no maximum; the fit is then
    bounded and `converged` is False.

    Examples
    --------
    Posteriors that are overconfident:

    >>> fitted = Affine().fit([0.9, 0.9, 0.9, 0.1, 0.1, 0.1], [1, 1, 0, 0, 0, 1])
    >>> fitted([0.9, 0.5])
    array([0.667, 0.5  ])
    """

    _read = staticmethod(read_posterior_cases)

    def _fitted(self, scores: FloatArray, cases: CalibrationCases) -> FittedAffine | FittedVector:
        if scores.shape[1] > 2:
            return fit_slopes(scores, cases, np.ones((scores.shape[1], 1)))
        odds = log_odds(scores)
        limit = largest_finite(odds)
        line = fit_line(np.clip(odds, -limit, limit), *cases.by_class, size=1.0)
        return FittedAffine._trusted(**line._asdict(), limit=limit, classes=cases.classes)

    def _fit_parts(
        self, scores: object, negative: FloatArray, positive: FloatArray
    ) -> list[CalibrationMap | None]:
        if not are_probabilities(scores):  # the fit of a part says what is wrong
            return super()._fit_parts(scores, negative, positive)
        odds = log_odds(posterior_pairs(scores))
        limit = largest_finite(odds)
        if limit > CERTAIN:  # it may differ from part to part
            return super()._fit_parts(scores, negative, positive)
        fits = fit_lines(np.clip(odds, -limit, limit), negative, positive)
        return _lines(partial(FittedAffine._trusted, limit=limit), *fits)


def _lines(
    line: Callable[..., CalibrationMap],
    intercepts: FloatArray,
    slopes: FloatArray,
    converged: BoolArray,
) -> list[CalibrationMap | None]:
    """The maps of fits that converged."""
    fits = zip(intercepts.tolist(), slopes.tolist(), converged, strict=True)
    return [
        line(slope=slope, intercept=intercept, classes=(0, 1), converged=True) if done else None
        for intercept, slope, done in fits
    ]


def _fitted_logistic(
    scores: FloatArray, cases: CalibrationCases, negative: FloatArray, positive: FloatArray
) -> FittedLogistic:
    """The map fitted to cases with weights (n,) as negatives and as positives."""
    line = fit_line(scores, negative, positive)
    return FittedLogistic._trusted(**line._asdict(), classes=cases.classes)


@record
class Logistic(CheckedCalibrator[FittedLogistic]):
    """Logistic regression of the class on a real score, without penalty.

    For scores that are no probabilities: log-likelihood ratios, margins, logits. A prior and
    separable data are treated as by `Affine`. `converged` is also False where a few scores lie so
    far out (by about 1e15 times the spread of the others) that they alone determine the fit, and
    where scores are so close together that the slope exceeds the range of float64.

    Examples
    --------
    >>> fitted = Logistic().fit([-3.0, -1.0, 1.0, 2.0, -2.0, 3.0], [0, 1, 0, 1, 0, 1])
    >>> fitted([0.0, 2.0])
    array([0.5  , 0.812])
    """

    _read = staticmethod(read_finite_cases)

    def _fitted(self, scores: FloatArray, cases: CalibrationCases) -> FittedLogistic:
        return _fitted_logistic(scores, cases, *cases.by_class)

    def _fit_parts(
        self, scores: object, negative: FloatArray, positive: FloatArray
    ) -> list[CalibrationMap | None]:
        values = one_score_each(scores, (0, 1))
        return _lines(FittedLogistic._trusted, *fit_lines(values, negative, positive))


@record
class Platt(CheckedCalibrator[FittedLogistic]):
    r"""Platt scaling (1999): `Logistic` with targets slightly inside 0 and 1.

    A positive case counts as positive with weight :math:`(N_1+1)/(N_1+2)` and as negative with the
    rest, a negative case the other way round with :math:`N_0`; N are the total weights of the
    classes. The fit therefore always has an optimum, on separable data too.

    Examples
    --------
    >>> fitted = Platt().fit([-1.0, -2.0, 1.0, 2.0], [0, 0, 1, 1])
    >>> fitted.converged, fitted([2.0])
    (True, array([0.794]))
    """

    _read = staticmethod(read_finite_cases)

    def _fitted(self, scores: FloatArray, cases: CalibrationCases) -> FittedLogistic:
        negative, positive = cases.by_class
        sizes = np.array([negative.sum(), positive.sum()])
        # Laplace's rule of succession, as Platt chose it: no class is ever certain, which keeps the
        # slope finite where a threshold separates the classes.
        targets = (sizes + 1) / (sizes + 2)
        return _fitted_logistic(
            scores,
            cases,
            negative * targets[0] + positive * (1 - targets[1]),
            positive * targets[1] + negative * (1 - targets[0]),
        )


@record
class FittedBeta(CalibrationMap):
    r"""Posteriors with log-odds :math:`a \log q - b \log(1-q) + c`, a and b not negative.

    Logarithms below −`limit`, such as those of posteriors of exactly 0 and 1, count as −`limit`.
    Posteriors are returned in the shape in which they were passed.
    """

    kind: ClassVar[str] = "beta"
    _monotone_of_two = True  # neither slope is negative

    a: float
    b: float
    intercept: float
    limit: float
    classes: Labels
    converged: bool

    def _checked(self) -> Self:
        require_two(self.classes)
        require_positive("limit", self.limit)
        for name in ("a", "b"):
            _check.number(name, getattr(self, name), low=0)
        return self

    @property
    def affine_logs(self) -> AffineLogs:
        """The map with the log-odds as the logit of the second class, and 0 for the first."""
        return AffineLogs(np.diag([self.b, self.a]), np.array([0.0, self.intercept]), self.limit)

    def __call__(self, scores: object) -> FloatArray:
        """Calibrated posteriors, (n,) or (n, 2), from posteriors of the same shape."""
        log_negative, log_positive = bounded_logs(
            read_posteriors("scores", scores, self.classes), self.limit
        ).T
        odds = self.a * log_positive - self.b * log_negative + self.intercept
        return posteriors_of(odds, scores)


@record
class BetaMap(CheckedCalibrator[FittedBeta]):
    """The beta calibration of Kull, Silva Filho and Flach (2017), fitted without penalty.

    a = b = 1 and no intercept is the identity, so that calibrated posteriors stay as they are.
    The map may not decrease: where the best a or b would be negative, the best map without it is
    taken. A prior and separable data are treated as by `Affine`.

    Examples
    --------
    >>> q = [0.9, 0.9, 0.9, 0.1, 0.1, 0.1, 0.5, 0.5]
    >>> BetaMap().fit(q, [1, 1, 0, 0, 0, 1, 0, 1])([0.1, 0.5, 0.9])
    array([0.333, 0.5  , 0.667])
    """

    _read = staticmethod(read_pair_cases)

    def _fitted(self, scores: FloatArray, cases: CalibrationCases) -> FittedBeta:
        logs, limit = finite_logs(scores)
        log_negative, log_positive = logs.T
        coefficients = _rising_fit(log_positive, -log_negative, cases)
        a, b = coefficients.slopes.tolist()
        return FittedBeta._trusted(
            a=a,
            b=b,
            intercept=coefficients.intercept,
            limit=limit,
            classes=cases.classes,
            converged=coefficients.converged,
        )


def _rising_fit(first: FloatArray, second: FloatArray, cases: CalibrationCases) -> LogisticFit:
    """The best fit with slopes ≥ 0: the unconstrained one if it has such slopes, else on an edge.

    Both features rise with q. If slopes ≥ 0 separate the classes, one of the features separates
    them alone; only then is there no best non-decreasing map.
    """
    both = fit_logistic(np.stack([first, second]), *cases.by_class, size=1.0)
    if both.converged and (both.slopes >= 0).all():
        return both
    corner = fit_logistic(np.empty((0, first.size)), *cases.by_class)
    edges = [corner._replace(slopes=np.zeros(2))]
    for feature, axis in zip((first, second), np.eye(2), strict=True):
        edge = fit_logistic(feature[None], *cases.by_class, size=1.0)
        if edge.slopes[0] >= 0:
            edges.append(edge._replace(slopes=edge.slopes * axis))
    best = min(edges, key=lambda edge: edge.loss)
    if (both.slopes >= 0).all() and both.loss < best.loss * (1 - _TIE):
        return both
    return best._replace(converged=all(edge.converged for edge in edges))


# One temperature for all classes -----------------------------------------------------------------


@record
class FittedTemperature(OfLogPosteriors, CalibrationMap):
    r"""Posteriors :math:`p_k \propto (q_k e^{o_k})^{1/T}`.

    The offsets o move the scores to the prior of the fit first; without a prior they are zero.
    Logarithms below −`limit` (those of posteriors of exactly 0 among them) are read as it.
    """

    kind: ClassVar[str] = "temperature"
    _monotone_of_two = True

    temperature: float
    offsets: FloatArray
    limit: float
    classes: Labels
    converged: bool

    def _checked(self) -> Self:
        require_positive("temperature", self.temperature)
        require_shape("offsets", self.offsets, (len(self.classes),))
        return super()._checked()

    @property
    def affine_logs(self) -> AffineLogs:
        """The map with one slope, 1/T, for every class."""
        slopes = np.eye(len(self.offsets)) / self.temperature
        return AffineLogs(slopes, self.offsets / self.temperature, self.limit)

    def _logits(self, logs: FloatArray) -> FloatArray:
        return (logs + self.offsets) / self.temperature


@record
class Temperature(CheckedCalibrator[FittedTemperature]):
    """The temperature with the least log loss, for any number of classes.

    A temperature above 1 makes posteriors less confident, one below 1 more; the order of classes
    does not change. With a prior, posteriors are first moved to it from the shares of the data.
    Where the most probable class is always the true one, or posteriors are worse than uniform ones,
    the best temperature would be 0 or infinite: the fit is then bounded and `converged` is False.
    Where all posteriors are uniform, except for rounding, every temperature is equally good, and it
    is 1.

    Examples
    --------
    >>> q = [[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8], [0.8, 0.1, 0.1]]
    >>> fitted = Temperature().fit(q, [0, 1, 2, 2])
    >>> round(fitted.temperature, 3), fitted(q)[0]
    (1.161, array([0.75 , 0.125, 0.125]))
    """

    _read = staticmethod(read_posterior_cases)

    def _fitted(self, scores: FloatArray, cases: CalibrationCases) -> FittedTemperature:
        logs, limit = finite_logs(scores)
        offsets = np.zeros(scores.shape[1])
        if cases.prior is not None:
            offsets = np.log(cases.prior / cases.shares)
        logs = logs + offsets
        size = max(float(np.abs(part).max()) for part in (logs, offsets))
        # Classes that are as probable as the true one, up to rounding, must tie exactly: otherwise
        # a tiny lead would be amplified as the temperature goes to zero.
        lead = logs - np.take_along_axis(logs, cases.codes[:, None], axis=1)
        lead[np.abs(lead) <= _ROUNDING * size] = 0.0
        coldness, converged = _best_coldness(lead, cases.weights / cases.weights.sum())
        return FittedTemperature._trusted(
            temperature=1 / coldness,
            offsets=offsets,
            limit=limit,
            classes=cases.classes,
            converged=converged,
        )


def _best_coldness(lead: FloatArray, share: FloatArray) -> tuple[float, bool]:
    """The inverse temperature at which the log loss, a convex function of it, has slope 0.

    Parameters
    ----------
    lead : (n, K) logarithms of the posteriors, less that of the true class
    share : (n,) weight of each case, summing to 1
    """
    spread = float(np.sqrt(share @ np.mean(lead**2, axis=1)))
    if spread == 0:
        return 1.0, True
    lead = lead / spread

    def slope(coldness: float) -> float:
        raised = np.exp(coldness * (lead - highest))
        return float(share @ (np.einsum("nk,nk->n", raised, lead) / raised.sum(axis=1)))

    highest = lead.max(axis=1, keepdims=True)
    if slope(0.0) >= -_FLAT:
        return _EVEN / spread, False
    if share @ highest[:, 0] > 0:  # a case is misclassified, so that the loss has a minimum
        return _root(slope) / spread, True
    return _root(lambda coldness: slope(coldness) + RIDGE * coldness) / spread, False


def _root(slope: Callable[[float], float]) -> float:
    """The root of an increasing function of positive numbers."""
    from scipy.optimize import brentq

    is_above = slope(1.0) < 0
    near, far = 1.0, 8.0 if is_above else 1 / 8
    # Steps grow geometrically, because the root may be many orders of magnitude away.
    while (slope(far) < 0) == is_above:
        near, far = far, far * far / near
    low, high = sorted((near, far))
    return float(brentq(slope, low, high, xtol=1e-14 * low, rtol=1e-14))
