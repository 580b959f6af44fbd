"""The multi-class metrics of section 3.2, with the averages that its program uses."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import numpy.typing as npt

from stakes import Counts
from stakes.agreement import (
    all_against_all,
    cramers_phi,
    determinant_mcc,
    general_f1,
    general_fowlkes_mallows,
)
from stakes.measures import accuracy, mcc

METRICS: dict[str, Callable[[Counts], npt.NDArray[np.float64]]] = {
    "accuracy": accuracy,
    "general F1": partial(general_f1, average=-1),
    "general Fowlkes-Mallows": partial(general_fowlkes_mallows, average=-1),
    "all against all, MCC": partial(all_against_all, mcc, average=1),
    "Cramér's φ": cramers_phi,
    "det M": determinant_mcc,
}
