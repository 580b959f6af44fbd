"""The two-class data sets of section 4.1, and the threshold that a metric likes best there."""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize_scalar

from stakes import Counts
from stakes.audit import Metric
from stakes.simulate import GaussianWorld

GRID = np.round(np.arange(-3, 3.05, 0.1), 1)


def best_log_odds(world: GaussianWorld, metric: Metric) -> float:
    """Threshold that is best for a metric in the whole population."""
    found = minimize_scalar(
        lambda t: -float(metric.goodness(world.threshold_counts(t))),
        bounds=(-3, 3),
        method="bounded",
        options={"xatol": 1e-10},
    )
    return float(found.x)


def drawn_log_odds(
    world: GaussianWorld, metric: Metric, *, cases: int, draws: int, rng: np.random.Generator
) -> np.ndarray:
    """The same in samples of the population, with a grid of thresholds, as the paper seems to do.

    Given the population, the numbers of cases between thresholds are multinomial in each class.
    """
    above = world.threshold_counts(np.r_[-np.inf, GRID, np.inf]).values[..., 1]
    between = np.maximum(-np.diff(above, axis=0), 0) / world.prior
    each = np.rint(cases * world.prior).astype(int)
    found = [rng.multinomial(n, cells, draws) for n, cells in zip(each, between.T, strict=True)]
    below = np.cumsum(np.stack(found, axis=-1), axis=1)[:, :-1]
    values = metric.goodness(Counts(np.stack([below, each - below], axis=-1)))
    return GRID[np.argmax(values, axis=1)]
