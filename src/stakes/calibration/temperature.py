r"""Temperature scaling: one number for all classes, :math:`p_k \propto q_k^{1/T}`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from stakes._check import FloatArray, Labels
from stakes.calibration.calibrator import (
    CalibrationCases,
    CheckedCalibrator,
    bounded_logs,
    finite_logs,
    in_shape_of,
    read_posterior_cases,
)
from stakes.calibration.fitting import RIDGE
from stakes.calibration.maps import CalibrationMap, require_positive, require_shape
from stakes.rows import read_posteriors

_ROUNDING = 1e-12  # relative difference of logarithms that is only rounding
_FLAT = 1e-14  # slope at uniform posteriors, in standard deviations, that is only rounding
_EVEN = 1e-4  # inverse temperature of the bounded fit, in standard deviations: nearly uniform


@dataclass(frozen=True, eq=False)
class FittedTemperature(CalibrationMap):
    r"""Posteriors :math:`p_k \propto (q_k e^{o_k})^{1/T}`.

    The offsets o move the scores to the prior of the fit first; without a prior they are zero.
    Logarithms below −`limit` (those of posteriors of exactly 0 among them) are read as it.
    """

    kind: ClassVar[str] = "temperature"

    temperature: float
    offsets: FloatArray
    limit: float
    classes: Labels
    converged: bool

    def _checked(self) -> Self:
        require_positive("temperature", self.temperature)
        require_positive("limit", self.limit)
        require_shape("offsets", self.offsets, (len(self.classes),))
        return self

    @property
    def monotone(self) -> bool:
        """Whether there are two classes; the map is then increasing."""
        return len(self.classes) == 2

    def __call__(self, scores: object) -> FloatArray:
        """Posteriors, (n,) or (n, K), of posteriors of the same shape."""
        from scipy.special import softmax

        rows = read_posteriors("scores", scores, self.classes)
        logits = (bounded_logs(rows, self.limit) + self.offsets) / self.temperature
        return in_shape_of(scores, softmax(logits, axis=1))


@dataclass(frozen=True, eq=False)
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
