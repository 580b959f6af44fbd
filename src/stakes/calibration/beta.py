"""Beta calibration: an affine map on log q and log(1 − q)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from stakes import _check
from stakes._check import FloatArray, Labels
from stakes.calibration.affine import posteriors_of
from stakes.calibration.calibrator import (
    Cases,
    CheckedCalibrator,
    bounded_logs,
    finite_logs,
    read_pair_cases,
)
from stakes.calibration.logistic import LogisticFit, fit_logistic
from stakes.calibration.maps import CalibrationMap, require_labels, require_positive
from stakes.rows import read_posteriors

_TIE = 1e-9  # relative difference of losses that is only rounding


@dataclass(frozen=True, eq=False)
class FittedBeta(CalibrationMap):
    r"""Posteriors with log-odds :math:`a \log q - b \log(1-q) + c`, a and b not negative.

    Logarithms below −`limit` (those of posteriors of exactly 0 and 1 among them) are read as it.
    Posteriors come back in the shape in which they went in.
    """

    kind: ClassVar[str] = "beta"

    a: float
    b: float
    intercept: float
    limit: float
    classes: Labels
    converged: bool

    def _checked(self) -> Self:
        require_labels(self.classes, 2)
        require_positive("limit", self.limit)
        for name in ("a", "b"):
            _check.number(name, getattr(self, name), low=0)
        return self

    @property
    def monotone(self) -> bool:
        """Always: neither slope is negative."""
        return True

    def __call__(self, scores: object) -> FloatArray:
        """Calibrated posteriors, (n,) or (n, 2), from posteriors of the same shape."""
        log_negative, log_positive = bounded_logs(
            read_posteriors("scores", scores, self.classes), self.limit
        ).T
        odds = self.a * log_positive - self.b * log_negative + self.intercept
        return posteriors_of(odds, scores)


@dataclass(frozen=True, eq=False)
class BetaMap(CheckedCalibrator[FittedBeta]):
    """The beta calibration of Kull, Silva Filho and Flach (2017), fitted without penalty.

    a = b = 1 and no intercept is the identity, so that calibrated posteriors stay as they are.
    The map may not fall: where the best a or b would be negative, the best map without it is taken.
    Prior and separable data as for `Affine`.

    Examples
    --------
    >>> q = [0.9, 0.9, 0.9, 0.1, 0.1, 0.1, 0.5, 0.5]
    >>> BetaMap().fit(q, [1, 1, 0, 0, 0, 1, 0, 1])([0.1, 0.5, 0.9])
    array([0.333, 0.5  , 0.667])
    """

    _read = staticmethod(read_pair_cases)

    def _fitted(self, scores: FloatArray, cases: Cases) -> FittedBeta:
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


def _rising_fit(first: FloatArray, second: FloatArray, cases: Cases) -> LogisticFit:
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
