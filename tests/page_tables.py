"""Score tables as a page holds them."""

from __future__ import annotations

from typing import Any

import numpy as np


def scores_of(table: dict[str, Any]) -> np.ndarray:
    """Scores; a page writes the steps between them, multiplied by a scale, or has no scale."""
    written = np.array([float(score) for score in table["scores"]])
    scale = table["scale"]
    if scale is None:
        return written
    return np.minimum(np.cumsum(written) / scale, 1.0 if scale > 1 else np.inf)


def cases_of(table: dict[str, Any]) -> list[list[float]]:
    """Cases of each class; a text has a digit for each."""
    return [[float(cases) for cases in table[side]] for side in ("negatives", "positives")]
