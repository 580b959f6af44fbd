"""The scores that the boxes of Figure 4 are about."""

from __future__ import annotations

import numpy as np
from hernandez_orallo.models import models

from stakes import ScoreTable
from stakes.ranking import evenly_spaced, isotonic


def systems() -> dict[str, ScoreTable]:
    """Models A and B, their transforms, and scores at both ends of what is possible."""
    a, b = models().values()
    grid = np.linspace(0, 1, 2000)
    return {
        "A": a,
        "B": b,
        "A, evenly spaced": evenly_spaced(a),
        "A, calibrated": isotonic(a),
        "B, calibrated": isotonic(b),
        "perfect": ScoreTable(grid, np.repeat(np.eye(2), 1000, axis=0)),
        "perfect, 30 % positive": ScoreTable([0.0, 1.0], [[7, 0], [0, 3]]),
        "random": ScoreTable(grid, np.ones((2000, 2))),
        "random, crisp": ScoreTable([0.0, 1.0], [[1, 1], [1, 1]]),
    }


def tied(table: ScoreTable) -> float:
    """What ties take from the Brier score of evenly spaced scores: their positions are averaged."""
    sizes, n = table.weights.sum(axis=-1), float(table.n_cases)
    return float(np.sum(sizes * (sizes**2 - 1)) / (12 * n * (n - 1) ** 2))
