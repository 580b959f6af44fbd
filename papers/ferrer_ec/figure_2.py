"""Figure 2. The cost that F1 implies depends on the data set.

The same prior, once with a harder and once with an easier feature.
"""

from __future__ import annotations

import numpy as np
import style
from ferrer_ec.worlds import best_log_odds, drawn_log_odds
from page import Kind, Page

from stakes import Problem, normalized_cost
from stakes.audit import FAMILIAR
from stakes.simulate import GaussianWorld

GRID, F1 = np.linspace(-6, 6, 601), FAMILIAR["F1"]


def build(page: Page) -> None:
    """The best threshold of F1 in two populations, and the cost that it implies."""
    rng, draws, first = np.random.default_rng(2), 5000, page.paper["figure-1"]
    variances, other = page.printed["variances"], page.printed["appendix_d"]
    kinds = {f"variance {v}": v for v in (*variances, other)}
    kinds[f"standard deviation {variances[0]}"] = variances[0] ** 2
    worlds = [GaussianWorld([0, 1], variance=v, prior=first["prior"]) for v in kinds.values()]
    best = np.array([best_log_odds(world, F1) for world in worlds])
    cases = first["cases"]
    drawn = [drawn_log_odds(world, F1, cases=cases, draws=draws, rng=rng) for world in worlds]
    costs = np.round(np.exp(np.negative(drawn)), 1)  # printed with one decimal
    often = [[f"{np.mean(of == p):.0%}" for p in page.printed["f1_costs"]] for of in costs]
    titles = "feature", "best log-odds threshold for F1", "miss cost it implies"
    seen = (f"{p} in samples of {cases:,}" for p in page.printed["f1_costs"])
    rows = [(*row, *of) for *row, of in zip(kinds, best, np.exp(-best), often, strict=True)]
    page.rows((*titles, *seen), rows, decimals=4)
    words, grid = "printed miss costs are e to thresholds of a grid of 0.1: 0.6 and 0", [0.6, 0.0]
    page.compare(words, page.printed["f1_costs"], np.exp(grid), kind=Kind.PRINT)
    page.say(
        f"""The text prints {variances[1]} for the easier data, appendix D {other}, both as standard
        deviations. The printed cost of the harder data rules that out; that of the easier data
        cannot tell the variances {variances[1]} and {other} apart."""
    )
    words, wrong = "miss cost that F1 implies, {}, on a grid of 0.1", first["misprint"]
    for name, paper, of in zip(kinds, page.printed["f1_costs"], costs, strict=False):
        page.drawn(words.format(name), paper, of)
    page.drawn(words.format(list(kinds)[3]), page.printed["f1_costs"][0], costs[3], misprint=wrong)
    page.drawn(words.format(list(kinds)[2]), page.printed["f1_costs"][1], costs[2])
    page.picture(_draw(worlds[:2], best[:2]), "ferrer-ec-figure-2", "Two panels: " + __doc__)


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
