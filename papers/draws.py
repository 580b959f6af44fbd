"""Random confusion matrices that two papers share."""

from __future__ import annotations

import numpy as np

from stakes import Counts
from stakes.simulate import random_confusion, uniform_shares


def uniform_tables(n: int, *, rng: np.random.Generator) -> Counts:
    """Random 2 × 2 tables, class shares and rates of right decisions uniform on [0, 1]."""
    tables = random_confusion(n, 1, share=uniform_shares, correct_rates=uniform_shares, rng=rng)
    return tables[:, 0]
