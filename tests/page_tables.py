"""Score tables as a page holds them."""

from __future__ import annotations

from typing import Any

import numpy as np


def scores_of(table: dict[str, Any]) -> np.ndarray:
    """Scores; a page writes probabilities without leading zeros, multiplied by a power of ten."""
    return np.array([float(score) for score in table["scores"]]) / table["scale"]


def cases_of(table: dict[str, Any]) -> list[list[float]]:
    """Cases of each class; a text has a digit for each."""
    return [[float(cases) for cases in table[side]] for side in ("negatives", "positives")]
