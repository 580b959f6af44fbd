"""Beta calibration: an affine map on log q and log(1 − q), free to bend at either end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from stakes import _check
from stakes._check import FloatArray, Labels
from stakes.calibration.affine import largest_finite, posteriors_of
from stakes.calibration.contract import CalibrationMap, Calibrator, Cases
from stakes.calibration.fitting import LogisticFit, fit_logistic
from stakes.calibration.parts import require_labels, require_positive
from stakes.calibration.reading import read_posterior_cases
from stakes.rows import read_posteriors

__all__ = ["BetaMap", "FittedBeta"]


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

    def __call__(self, scores: object) -> FloatArray:
        """Posteriors, (n,) or (n, 2), of posteriors of the same shape."""
        rest, own = _logs(read_posteriors("scores", scores, self.classes), self.limit)
        odds = self.a * own - self.b * rest + self.intercept
        return posteriors_of(odds, scores)


@dataclass(frozen=True, eq=False)
class BetaMap(Calibrator):
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

    def fit(  # noqa: D102
        self,
        scores: object,
        y: object,
        *,
        classes: object = None,
        weights: object = None,
        prior: object = None,
    ) -> FittedBeta:
        pairs, cases = read_posterior_cases(scores, y, 2, classes, weights, prior)
        with np.errstate(divide="ignore"):
            limit = largest_finite(np.log(pairs[cases.kept]))
        rest, own = _logs(pairs[cases.kept], limit)
        a, b, found = _rising_fit(own, -rest, cases)
        return FittedBeta._trusted(
            a=a,
            b=b,
            intercept=found.intercept,
            limit=limit,
            classes=cases.classes,
            converged=found.converged,
        )


def _logs(pairs: FloatArray, limit: float) -> tuple[FloatArray, FloatArray]:
    """log(1 − q) and log q, bounded below."""
    with np.errstate(divide="ignore"):
        logs = np.maximum(np.log(pairs), -limit)
    return logs[:, 0], logs[:, 1]


def _rising_fit(
    first: FloatArray, second: FloatArray, cases: Cases
) -> tuple[float, float, LogisticFit]:
    """Best slopes that are not negative: the optimum of a convex problem is on one of its faces."""
    faces = ((first, second), (first,), (second,), ())
    candidates = []
    for number, features in enumerate(faces):
        design = np.array(features).reshape(len(features), first.size)
        found = fit_logistic(design, *cases.by_class)
        if (found.slopes < 0).any():
            continue
        a = float(found.slopes[0]) if number < 2 else 0.0
        b = float(found.slopes[-1]) if number in (0, 2) else 0.0
        if number == 0 and found.converged:
            return a, b, found
        candidates.append((found.loss, number, a, b, found))
    _, _, a, b, found = min(candidates, key=lambda candidate: candidate[:2])
    return a, b, found
