"""What figures 6 and 7 share: the criteria, and the size of an error as it comes out."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from scipy.optimize import brentq

from stakes.audit import FAMILIAR, AssessmentError

UtilitySampler = Callable[[np.random.Generator, int], npt.NDArray[np.float64]]
ORDER = "recall", "precision", "balanced accuracy", "MCC", "Fowlkes-Mallows", "F1", "accuracy"
METRICS = {name: FAMILIAR[name] for name in ORDER}


def realised(sd: float, utilities: UtilitySampler, n: int = 200_000) -> float:
    """Standard deviation that errors have after those that break the rules were redrawn."""
    true = utilities(np.random.default_rng(10), n)
    return float(np.std(AssessmentError(sd)(np.random.default_rng(11), true) - true))


def nominal(wanted: float, utilities: UtilitySampler) -> float:
    """The error to ask for so that this one comes out."""
    return float(brentq(lambda sd: realised(sd, utilities, 50_000) - wanted, wanted, 2 * wanted))
