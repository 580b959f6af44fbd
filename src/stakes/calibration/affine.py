"""Affine maps on the scale of logarithms: logistic regression of the class on one score.

`Affine` takes posteriors and works on their logarithms; `Logistic` and `Platt` take real scores as
they are, such as log-likelihood ratios or the margins of a support vector machine.
`BetaMap` takes both log q and log(1 − q) of a posterior q. `Temperature` divides the logarithms of
the posteriors of any number of classes by one number.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import ClassVar, Self

import numpy as np

from stakes import _check
from stakes._check import BoolArray, FloatArray, Labels
from stakes._value import record
from stakes.calibration.calibrator import (
    CERTAIN,
    CalibrationCases,
    CheckedCalibrator,
    are_probabilities,
    bounded_logs,
    finite_logs,
    is_one_column,
    largest_finite,
    log_odds,
    one_score_each,
    read_finite_cases,
    read_pair_cases,
    read_posterior_cases,
)
from stakes.calibration.fitting import RIDGE
from stakes.calibration.logistic import LogisticFit, fit_line, fit_lines, fit_logistic
from stakes.calibration.maps import (
    AffineLogs,
    CalibrationMap,
    require_positive,
    require_shape,
    require_two,
)
from stakes.calibration.multiclass import FittedVector, OfLogPosteriors, fit_slopes
from stakes.rows import read_posteriors
from stakes.scoring import posterior_pairs

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
