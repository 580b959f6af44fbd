"""The paper's matrices turned into ours, and back: both functions are their own inverse."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Matrix = npt.NDArray[np.float64]


def turned(matrix: npt.ArrayLike) -> Matrix:
    """Rows outputs, positive class first ↔ rows classes, positive class second.

    For confusion matrices and problems, which have the positive class second here.
    """
    return by_class(matrix)[..., ::-1, ::-1]


def by_class(matrix: npt.ArrayLike) -> Matrix:
    """Rows outputs ↔ rows classes, in the same order.

    For the space of utility matrices: x and y are the paper's if its class 0 stays the first.
    """
    return np.swapaxes(np.asarray(matrix, dtype=np.float64), -1, -2)
