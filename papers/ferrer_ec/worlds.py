"""The two-class data sets of section 4.1, and the thresholds that a metric likes best there."""

from __future__ import annotations

from functools import cache

import numpy as np
from scipy.optimize import brentq, minimize_scalar

from stakes import Counts, Problem, normalized_cost
from stakes.audit import FAMILIAR, Metric
from stakes.simulate import GaussianWorld

STEPS = np.round(np.arange(-3, 3.05, 0.1), 1)
SAMPLES = 5000


def best_log_odds(world: GaussianWorld, metric: Metric) -> float:
    """Threshold that is best for a metric in the whole population."""
    optimum = minimize_scalar(
        lambda t: -float(metric.goodness(world.threshold_counts(t))),
        bounds=(-3, 3),
        method="bounded",
        options={"xatol": 1e-10},
    )
    return float(optimum.x)


def twin(world: GaussianWorld, problem: Problem, threshold: float) -> float:
    """The other threshold with the same normalised cost, beyond the one where it is least."""

    def cost(t: float) -> float:
        return float(normalized_cost(world.threshold_counts(t), problem))

    best, same = problem.log_odds_threshold, cost(threshold)
    far = best + 10 * np.sign(best - threshold)
    return float(brentq(lambda t: cost(t) - same, best, far))


@cache
def sampled_log_odds(variance: float, prior: tuple[float, float], cases: int) -> np.ndarray:
    """Thresholds that are best for F1 in samples, with a grid, as the paper seems to do.

    Given the population, the numbers of cases between thresholds are multinomial in each class.
    numpy 2.5 draws other ones than numpy 2.4 did; those of RandomState never change.
    """
    world, rng = GaussianWorld([0, 1], variance=variance, prior=prior), np.random.RandomState(1)
    above = world.threshold_counts(np.r_[-np.inf, STEPS, np.inf]).values[..., 1]
    between = np.maximum(-np.diff(above, axis=0), 0) / world.prior
    each = np.rint(cases * world.prior).astype(int)
    draws = [rng.multinomial(n, cells, SAMPLES) for n, cells in zip(each, between.T, strict=True)]
    below = np.cumsum(np.stack(draws, axis=-1), axis=1)[:, :-1]
    values = FAMILIAR["F1"].goodness(Counts(np.stack([below, each - below], axis=-1)))
    return STEPS[np.argmax(values, axis=1)]
