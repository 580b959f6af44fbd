"""The metrics of section 7 for tables of two classes."""

from __future__ import annotations

import numpy as np

from stakes import Counts, Problem, normalized_cost
from stakes.audit import FAMILIAR
from stakes.measures import decision_rates


def tables(sizes, k12, k21) -> Counts:
    """Tables of this many wrong decisions, (…, 2, 2)."""
    k12, k21 = np.broadcast_arrays(k12, k21)
    rows = [[sizes[0] - k12, k12], [k21, sizes[1] - k21]]
    return Counts(np.moveaxis(np.array(rows, dtype=float), (0, 1), (-2, -1)))


def normalized(counts: Counts, miss: float) -> np.ndarray:
    """Normalised cost when a miss costs this many false alarms."""
    return normalized_cost(counts, Problem.binary(false_alarm=1, miss=miss))


def metrics(counts: Counts, miss: float) -> dict[str, np.ndarray]:
    """The columns of Table 1; `miss` is the cost in EC_1.5."""
    rates, decided = decision_rates(counts), counts.normalized().values.sum(axis=-2)
    return {
        "EC_1": normalized(counts, 1),
        "EC_1.5": normalized(counts, miss),
        "EC_nb": normalized(counts.with_prior([0.5, 0.5]), 1),
        "FS_1": FAMILIAR["F1"](counts),
        "MCC": FAMILIAR["MCC"](counts),
        "R_21": rates[..., 1, 0],
        "R_12": rates[..., 0, 1],
        "R_*2": decided[..., 1],
        "R_*1": decided[..., 0],
    }
