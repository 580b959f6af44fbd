"""The two-class data sets of section 4.1, and the threshold that a metric likes best there."""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize_scalar

from stakes import ScoreTable
from stakes.audit import LogOdds, Metric, implied_costs
from stakes.simulate import GaussianWorld


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
    """The same in samples of the population, one after the other."""
    best = np.empty(draws)
    for draw in range(draws):
        sample = world.sample(cases, rng=rng)
        table = ScoreTable.from_scores(sample.y_true, world.log_odds(sample.features))
        best[draw] = implied_costs(table, metric, scale=LogOdds()).optima[0].threshold
    return best
