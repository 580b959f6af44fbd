"""What the formula of section 3.2.3 and the program of section 4 compute, as they are printed."""

from __future__ import annotations

import numpy as np


def cramer_as_printed(a: np.ndarray) -> float:
    """The formula of section 3.2.3: products of the margins where expected counts ought to be."""
    n = np.outer(a.sum(axis=1), a.sum(axis=0))
    return float(np.sqrt(np.sum((a - n) ** 2 / n)) / (a.sum() - 1))


def as_program(a: np.ndarray) -> float:
    """What the program of section 4 does: pandas matches the sums of rows with columns."""
    m1, m2 = a / a.sum(axis=1), a / a.sum(axis=0)
    return float(np.linalg.det(np.sqrt(m1 * m2.T)))
