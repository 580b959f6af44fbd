"""Appendix C.3. The error rate of calibrated Bayes decisions is at most min(EER, P1, P2)."""

from __future__ import annotations

import numpy as np
import style
from page import Page

from stakes import Problem, ScoreTable, equal_error_rate, expected_cost
from stakes.simulate import GaussianWorld

GRID = np.linspace(-20, 20, 4001)


def build(page: Page) -> None:
    """Random populations, easy and hard, balanced and not."""
    rng, n = np.random.default_rng(5), 30 if page.fast else 200
    zero_one, errors, bounds = Problem.zero_one(2), [], []
    for positive, variance in zip(rng.random(n), 10 ** rng.uniform(-1.5, 0.5, n), strict=True):
        world = GaussianWorld([0, 1], variance=variance, prior=[1 - positive, positive])
        errors.append(float(expected_cost(world.bayes_counts(zero_one), zero_one)))
        above = world.threshold_counts(GRID).values[..., 1]
        table = ScoreTable(GRID[1:], np.maximum(-np.diff(above, axis=0), 0))
        bounds.append(min(float(equal_error_rate(table)), positive, 1 - positive))
    over = np.max(np.subtract(errors, bounds))
    page.claim("error rate ≤ min(EER, P1, P2)", f"in all {n} populations", over < 1e-9)
    page.picture(_draw(errors, bounds), "ferrer-ec-bound", __doc__)


def _draw(errors, bounds):
    figure, axes = style.panels(1, 1, width=4.2, height=3.8)
    axes[0, 0].plot([0, 0.5], [0, 0.5], color=style.GREY, lw=0.9)
    axes[0, 0].scatter(bounds, errors, s=9, color=style.BLUE, lw=0)
    axes[0, 0].set(xlabel="min(EER, $P_1$, $P_2$)", ylabel="error rate of Bayes decisions")
    return figure
