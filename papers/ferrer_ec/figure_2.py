"""Figure 2. The cost that F1 implies depends on the data set.

The same prior, once with a harder and once with an easier feature.
"""

from __future__ import annotations

import numpy as np
import style
from ferrer_ec.worlds import best_log_odds, drawn_log_odds
from page import Page

from stakes import Problem, normalized_cost
from stakes.audit import FAMILIAR
from stakes.simulate import GaussianWorld

GRID, F1 = np.linspace(-6, 6, 601), FAMILIAR["F1"]


def build(page: Page) -> None:
    """The best threshold of F1 in two populations, and the cost that it implies."""
    rng, cases, draws = np.random.default_rng(2), 100_000, 10 if page.fast else 60
    variances, prior = page.printed["variances"], page.paper["figure-1"]["prior"]
    worlds = [GaussianWorld([0, 1], variance=variance, prior=prior) for variance in variances]
    best = np.array([best_log_odds(world, F1) for world in worlds])
    drawn = [drawn_log_odds(world, F1, cases=cases, draws=draws, rng=rng) for world in worlds]
    implied, spread = np.exp(-best), np.std(np.exp(np.negative(drawn)), axis=1, ddof=1)
    page.table(
        {
            "variance of the feature": [f"{variance:g}" for variance in variances],
            "best log-odds threshold for F1": best,
            "miss cost it implies": implied,
            f"sd over samples of {cases:,}": spread,
        },
        decimals=4,
    )
    paper, words = page.printed["f1_costs"], "miss costs that F1 implies"
    page.compare(words, paper, implied, decimals=1, standard_error=spread, why="a draw each")
    page.picture(_draw(worlds, best), "ferrer-ec-figure-2", "Two panels: " + __doc__)


def _draw(worlds, best):
    figure, axes = style.panels(1, 2, width=8, height=3.2)
    for axis, world, threshold, top in zip(axes[0], worlds, best, (1.2, 0.35), strict=True):
        counts = world.threshold_counts(GRID)
        axis.plot(GRID, 1 - F1(counts), color=style.RED, label="1 − F1")
        axis.axvline(threshold, color=style.RED, lw=0.9, ls="--")
        for cost, colour in zip(np.exp(-best)[::-1], (style.BLUE, style.GREEN), strict=True):
            problem = Problem.binary(false_alarm=1, miss=cost)
            nec = normalized_cost(counts, problem)
            axis.plot(GRID, nec, color=colour, label=f"NEC$_{{{cost:.2f}}}$")
            bayes = problem.log_odds_threshold
            axis.plot(bayes, np.interp(bayes, GRID, nec), "o", color=colour, ms=5)
        axis.set(
            title=f"Variance {world.variances[0]:g}",
            xlabel="log-odds threshold",
            xlim=(-4, 4),
            ylim=(0, top),
        )
        axis.legend(loc="upper right")
    axes[0, 0].set_ylabel("lower is better")
    return figure
