"""The parallelepiped that three vectors span, and tables whose M are such vectors."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import Any

import numpy as np
from scipy.spatial import ConvexHull

from stakes import Counts


def tables(printed: Mapping[str, Any]) -> dict[str, Counts]:
    """Two tables of the paper, and a perfect and a good one to compare them with."""
    return {
        "perfect": Counts(np.eye(3) * 20),
        "good": Counts([[18, 1, 1], [1, 17, 2], [2, 1, 17]]),
        "avoids a class": Counts(printed["avoids_a_class"]),
        "section 4": Counts(printed["program"]),
    }


def volume(vectors: np.ndarray) -> float:
    """Volume of the body with these edges, from its eight corners alone."""
    corners = [np.array(some) @ vectors for some in product((0, 1), repeat=len(vectors))]
    return float(ConvexHull(corners).volume)
