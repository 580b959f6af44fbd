"""No calibration: posteriors are left unchanged."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from stakes import _check
from stakes._check import FloatArray, Labels
from stakes.calibration.calibrator import (
    Cases,
    CheckedCalibrator,
    in_shape_of,
    read_posterior_cases,
)
from stakes.calibration.maps import CalibrationMap
from stakes.decide import shift_prior
from stakes.errors import InputError
from stakes.rows import read_posteriors


@dataclass(frozen=True, eq=False)
class FittedIdentity(CalibrationMap):
    """Leaves posteriors unchanged, or moves them from one prior to another."""

    kind: ClassVar[str] = "identity"

    from_prior: FloatArray
    to_prior: FloatArray
    classes: Labels
    converged: bool

    def _checked(self) -> Self:
        for name in ("from_prior", "to_prior"):
            if not (_check.prior(name, getattr(self, name), self.classes) > 0).all():
                raise InputError(f"{name} must be above zero for every class. Fit again.")
        return self

    @property
    def monotone(self) -> bool:
        """Whether there are two classes; the map is then increasing."""
        return len(self.classes) == 2

    def __call__(self, scores: object) -> FloatArray:
        """Posteriors, (n,) or (n, K), from posteriors of the same shape."""
        rows = read_posteriors("scores", scores, self.classes)
        if not np.array_equal(self.from_prior, self.to_prior):
            rows = shift_prior(rows, self.from_prior, self.to_prior)
        return in_shape_of(scores, rows)


@dataclass(frozen=True, eq=False)
class Identity(CheckedCalibrator[FittedIdentity]):
    """Leaves posteriors unchanged: for calibrated ones, or to turn calibration off.

    With a prior, posteriors are moved from the shares of the data to it. Raw scores are refused:
    they are no posteriors.

    Examples
    --------
    >>> Identity().fit([0.2, 0.9], [0, 1])([0.25, 0.5])
    array([0.25, 0.5 ])
    >>> Identity().fit([0.2, 0.9], [0, 1], prior=[0.9, 0.1])([0.25, 0.5])
    array([0.0357, 0.1   ])
    """

    _read = staticmethod(read_posterior_cases)

    def _fitted(self, scores: FloatArray, cases: Cases) -> FittedIdentity:
        prior = cases.shares if cases.prior is None else cases.prior
        return FittedIdentity._trusted(
            from_prior=cases.shares, to_prior=prior, classes=cases.classes, converged=True
        )
