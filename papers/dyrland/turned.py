"""The paper's tables turned into ours."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt


def turned(table: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """Rows outputs, columns classes, positive class first → rows classes, positive class second."""
    return np.asarray(table, dtype=np.float64).T[::-1, ::-1]
