r"""Temperature scaling: one number for all classes, :math:`p_k \propto q_k^{1/T}`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
from scipy.optimize import brentq

from stakes._check import FloatArray, IntArray, Labels
from stakes.calibration.contract import CalibrationMap, Cases, CheckedCalibrator
from stakes.calibration.fitting import RIDGE
from stakes.calibration.logarithms import bounded_logs, log_limit
from stakes.calibration.parts import require_positive, require_shape
from stakes.calibration.reading import in_shape_of, read_posterior_cases
from stakes.decide import softmax
from stakes.rows import read_posteriors

__all__ = ["FittedTemperature", "Temperature"]

_RANGE = 10.0  # log-temperatures are sought between −10 and 10


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

    def __call__(self, scores: object) -> FloatArray:
        """Posteriors, (n,) or (n, K), of posteriors of the same shape."""
        rows = read_posteriors("scores", scores, self.classes)
        logits = (bounded_logs(rows, self.limit) + self.offsets) / self.temperature
        return in_shape_of(scores, softmax(logits))


@dataclass(frozen=True, eq=False)
class Temperature(CheckedCalibrator[FittedTemperature]):
    """The temperature at which the log loss is least, for any number of classes.

    Above 1 it makes posteriors less sure, below 1 surer; order and most probable class stay. With a
    prior, posteriors are moved from the shares of the data to it, and then scaled. Where the most
    probable class is always the true one, or the posteriors point the wrong way, the best
    temperature would be 0 or infinite: the fit is then bounded and `converged` is False.

    Examples
    --------
    >>> q = [[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8], [0.8, 0.1, 0.1]]
    >>> fitted = Temperature().fit(q, [0, 1, 2, 2])
    >>> round(fitted.temperature, 3), fitted(q)[0]
    (1.161, array([0.75 , 0.125, 0.125]))
    """

    _read = staticmethod(read_posterior_cases)

    def _fitted(self, scores: FloatArray, cases: Cases) -> FittedTemperature:
        limit = log_limit(scores)
        offsets = np.zeros(scores.shape[1])
        if cases.prior is not None:
            offsets = np.log(cases.prior / cases.shares)
        logs = bounded_logs(scores, limit) + offsets
        coldness, converged = _best_coldness(logs, cases.codes, cases.weights)
        return FittedTemperature._trusted(
            temperature=1 / coldness,
            offsets=offsets,
            limit=limit,
            classes=cases.classes,
            converged=converged,
        )


def _best_coldness(logs: FloatArray, codes: IntArray, weights: FloatArray) -> tuple[float, bool]:
    """Inverse temperature at which the log loss, which is convex in it, has slope zero."""
    centred = logs - logs.max(axis=1, keepdims=True)
    true = float(weights @ np.take_along_axis(centred, codes[:, None], axis=1)[:, 0])

    def slope(log_coldness: float) -> float:
        raised = np.exp(np.exp(log_coldness) * centred)
        means = np.einsum("nk,nk->n", raised, centred) / raised.sum(axis=1)
        return float(weights @ means) - true

    if not centred.any():  # every temperature gives the same posteriors
        return 1.0, True
    if slope(-_RANGE) >= 0:
        return float(np.exp(-_RANGE)), False
    if slope(_RANGE) > 0:
        return _root(slope), True
    bound = RIDGE * float(np.mean(weights @ centred**2))
    return _root(lambda log_coldness: slope(log_coldness) + bound * np.exp(log_coldness)), False


def _root(slope: Callable[[float], float]) -> float:
    return float(np.exp(brentq(slope, -_RANGE, _RANGE, xtol=1e-13, rtol=1e-14)))
