"""Isotonic regression of each class against the rest, normalised to posteriors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from stakes._check import FloatArray, Labels
from stakes.calibration.contract import CalibrationMap, Cases, CheckedCalibrator
from stakes.calibration.isotonic import FittedIsotonic, fit_blocks
from stakes.calibration.reading import in_shape_of, read_posterior_cases
from stakes.errors import InputError
from stakes.rows import read_posteriors


@dataclass(frozen=True, eq=False)
class FittedOneVsRest(CalibrationMap):
    """One rising map for each class; the posteriors are their values, divided by their sum.

    Where all of them are zero, all classes are equally probable.
    """

    kind: ClassVar[str] = "one vs rest isotonic"

    maps: tuple[FittedIsotonic, ...]
    classes: Labels
    converged: bool = True

    def _checked(self) -> Self:
        size = len(self.classes)
        if len(self.maps) != size or not all(isinstance(m, FittedIsotonic) for m in self.maps):
            raise InputError(
                f"maps must be {size} isotonic maps, one for each class; these are "
                f"{[one.kind for one in self.maps]}. Fit again."
            )
        return self

    def __call__(self, scores: object) -> FloatArray:
        """Posteriors, (n,) or (n, K), of posteriors of the same shape."""
        rows = read_posteriors("scores", scores, self.classes)
        values = np.stack([one(rows[:, k]) for k, one in enumerate(self.maps)], axis=1)
        totals = values.sum(axis=1, keepdims=True)
        values = np.where(totals > 0, values, 1.0)
        return in_shape_of(scores, values / values.sum(axis=1, keepdims=True))


@dataclass(frozen=True, eq=False)
class OneVsRestIsotonic(CheckedCalibrator[FittedOneVsRest]):
    """`Isotonic` on every column of posteriors, its class against all others, then normalised.

    It follows any shape, class by class, but normalising may undo part of the calibration.

    Examples
    --------
    >>> q = [[0.8, 0.1, 0.1], [0.2, 0.7, 0.1], [0.1, 0.3, 0.6], [0.6, 0.2, 0.2]]
    >>> OneVsRestIsotonic().fit(q, [0, 1, 2, 1])(q)[3]
    array([0., 1., 0.])
    """

    _read = staticmethod(read_posterior_cases)

    def _fitted(self, scores: FloatArray, cases: Cases) -> FittedOneVsRest:
        maps = tuple(
            fit_blocks(np.ascontiguousarray(column), cases.weights, cases.codes == k, (0, 1))
            for k, column in enumerate(scores.T)
        )
        return FittedOneVsRest._trusted(maps=maps, classes=cases.classes, converged=True)
