"""What figures 5 to 7 share: the criteria, and the size of an error as it comes out."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.optimize import brentq

from stakes.audit import (
    FAMILIAR,
    AssessmentError,
    Misranking,
    Setting,
    exact_misranking,
    misranking,
)

UtilitySampler = Callable[[np.random.Generator, int], npt.NDArray[np.float64]]
ORDER = "recall", "precision", "balanced accuracy", "MCC", "Fowlkes-Mallows", "F1", "accuracy"
METRICS = {name: FAMILIAR[name] for name in ORDER}
CONVENTION = """Errors that take utilities out of [0, 1], or make being wrong better than being
    right, are redrawn; standard deviations are those after, over all utilities, as on the axis of
    Figure 7."""


def realised(sd: float, utilities: UtilitySampler) -> float:
    """Standard deviation that errors have after those that break the rules were drawn again."""
    true = utilities(np.random.default_rng(10), 50_000)
    return float(np.std(AssessmentError(sd)(np.random.default_rng(11), true) - true))


def nominal(wanted: float, utilities: UtilitySampler) -> float:
    """The error to ask for so that this one comes out."""
    return float(brentq(lambda sd: realised(sd, utilities) - wanted, wanted, 2 * wanted))


class Sweep(NamedTuple):
    """Wrong rankings at errors of growing size, and by the best metric, exactly."""

    study: Misranking
    sds: npt.NDArray[np.float64]
    best: float

    @property
    def wrong(self) -> npt.NDArray[np.float64]:
        """Share of wrong rankings at each size of the error."""
        return self.study.wrong[-self.sds.size :]

    @property
    def spread(self) -> npt.NDArray[np.float64]:
        """Its standard error."""
        return self.study.standard_errors[-self.sds.size :]

    def crossing(self) -> tuple[float, float]:
        """The error at which wrong utilities become as bad as the best metric; standard error."""
        k = int(np.argmax(self.wrong > self.best))
        slope = (self.wrong[k] - self.wrong[k - 1]) / (self.sds[k] - self.sds[k - 1])
        at = self.sds[k - 1] + (self.best - self.wrong[k - 1]) / slope
        return float(at), float(self.spread[k] / slope)


def sweep(setting: Setting, sds: npt.NDArray[np.float64], pairs: int) -> Sweep:
    """Rank pairs with errors of these sizes, as asked for."""
    errors, rng = {f"{sd:g}": AssessmentError(sd) for sd in sds}, np.random.default_rng(14)
    study = misranking(METRICS, **setting, error=errors, pairs=pairs, rng=rng)
    after = np.array([realised(sd, setting["utilities"]) for sd in sds])
    return Sweep(study, after, exact_misranking(METRICS["accuracy"], **setting))
