"""Appendix C.3. The error rate of calibrated Bayes decisions is at most min(EER, P1, P2)."""

from __future__ import annotations

import numpy as np
import style
from page import Page
from scipy.stats import norm

from stakes import Problem, ScoreTable, equal_error_rate, expected_cost
from stakes.simulate import GaussianWorld


def build(page: Page) -> None:
    """Random populations, easy and hard, balanced and not."""
    rng, n = np.random.default_rng(5), page.size(200, 30)
    zero_one, errors, bounds, eers = Problem.zero_one(2), [], [], []
    shares, variances = rng.random(n), 10 ** rng.uniform(-1.5, 0.5, n)
    for positive, variance in zip(shares, variances, strict=True):
        world = GaussianWorld([0, 1], variance=variance, prior=[1 - positive, positive])
        errors.append(float(expected_cost(world.bayes_counts(zero_one), zero_one)))
        reach = 8 * np.sqrt(variance)
        cuts = np.r_[-np.inf, world.log_odds(np.linspace(-reach, 1 + reach, 4001)), np.inf]
        above = world.threshold_counts(cuts).values[..., 1]
        table = ScoreTable(cuts[1:], np.maximum(-np.diff(above, axis=0), 0))
        eers.append(float(equal_error_rate(table)))
        bounds.append(min(eers[-1], positive, 1 - positive))
    known = norm.cdf(-1 / (2 * np.sqrt(variances)))
    gap = np.max(np.abs(eers / known - 1))
    page.check("EER = Φ(−1/(2σ))", f"to {gap:.0e} of it, on a grid", gap < 1e-4)
    below = np.sum(np.subtract(errors, bounds) < 1e-9)
    page.claim("error rate ≤ min(EER, P1, P2)", f"in {below} of {n} populations", below == n)
    seen = "Error rates of random populations against the bound: all on the diagonal or below."
    page.picture(_draw(errors, bounds), seen)


def _draw(errors, bounds):
    figure, axes = style.panels(1, 1, width=4.2, height=3.8)
    axes[0, 0].plot([0, 0.5], [0, 0.5], color=style.GREY, lw=0.9)
    axes[0, 0].scatter(bounds, errors, s=9, color=style.BLUE, lw=0)
    axes[0, 0].set(xlabel="min(EER, $P_1$, $P_2$)", ylabel="error rate of Bayes decisions")
    return figure
