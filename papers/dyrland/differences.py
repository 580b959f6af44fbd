"""Some pairs of classifiers, for the picture of figure 6."""

from __future__ import annotations

import numpy as np
from dyrland.pairs import METRICS

from stakes.audit import AssessmentError, UniformUtilities
from stakes.simulate import random_confusion, rising_rates, uniform_shares

SHOWN = 2500


def differences(error: AssessmentError) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """By how much the second of two classifiers is better: truly, and by each criterion."""
    rng = np.random.default_rng(13)
    true = UniformUtilities()(rng, SHOWN)
    tables = random_confusion(SHOWN, 2, share=uniform_shares, correct_rates=rising_rates, rng=rng)
    moved = np.diff(tables.values, axis=1)[:, 0]
    changes = {name: np.diff(metric(tables))[:, 0] for name, metric in METRICS.items()}
    changes["wrong utilities"] = np.sum(error(rng, true) * moved, axis=(1, 2))
    return np.sum(true * moved, axis=(1, 2)), changes
