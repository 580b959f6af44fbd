"""Figure 2. The cost that F1 implies depends on the data set.

The same prior, once with a harder and once with an easier feature. F1 is best at the red dashed
line, which is the Bayes threshold (dot) of one normalised cost in the left panel and of another in
the right one.
"""

from __future__ import annotations

import numpy as np
import style
from ferrer_ec.curves import curves
from ferrer_ec.worlds import best_log_odds, sampled_log_odds
from page import Kind, Page

from stakes import Problem
from stakes.audit import FAMILIAR
from stakes.simulate import GaussianWorld

GRID, F1 = np.linspace(-6, 6, 601), FAMILIAR["F1"]


def build(page: Page) -> None:
    """The best threshold of F1 in two populations, and the cost that it implies."""
    first, paper = page.paper["figure-1"], page.printed["f1_costs"]
    variances, other = page.printed["variances"], page.printed["appendix_d"]
    prior, cases = first["prior"], first["cases"]
    kinds = {f"variance {v}": v for v in (*variances, other)}
    kinds[f"standard deviation {variances[0]}"] = variances[0] ** 2
    worlds = [GaussianWorld([0, 1], variance=v, prior=prior) for v in kinds.values()]
    best = np.array([best_log_odds(world, F1) for world in worlds])
    drawn = [sampled_log_odds(v, tuple(prior), cases) for v in kinds.values()]
    costs = np.round(np.exp(np.negative(drawn)), 1)  # printed with one decimal
    often = [[f"{np.mean(of == p):.0%}" for p in paper] for of in costs]
    titles = "feature", "best log-odds threshold for F1", "miss cost it implies"
    headings = (f"{p} in samples of {cases:,}" for p in paper)
    rows = [(*row, *of) for *row, of in zip(kinds, best, np.exp(-best), often, strict=True)]
    page.rows((*titles, *headings), rows, decimals=4)
    words, grid = "printed miss costs are e to thresholds of a grid of 0.1: 0.6 and 0", [0.6, 0.0]
    page.compare(words, paper, np.exp(grid), kind=Kind.PRINT)
    page.say(
        f"""The text prints {variances[1]} for the easier data, appendix D {other}, both as standard
        deviations. The printed cost of the harder data rules that out; that of the easier data
        cannot tell the variances {variances[1]} and {other} apart."""
    )
    wrong = "", "", "", first["misprint"]
    for name, k, of, reason in zip(kinds, (0, 1, 1, 0), costs, wrong, strict=True):
        words = f"miss cost that F1 implies, {name}, on a grid of 0.1"
        page.drawn(words, paper[k], of, misprint=reason)
    problems = {c: Problem.binary(false_alarm=1, miss=c) for c in np.exp(-best[1::-1])}
    every = [curves(world, GRID, problems) for world in worlds[:2]]
    dots = [curves(world, -np.log(list(problems)), problems) for world in worlds[:2]]
    panels = zip(variances, best, every, dots, strict=False)
    seen = "Two panels: 1 − F1 and two normalised costs against the threshold, for both data sets."
    page.picture(_draw(panels), seen)


def _draw(panels):
    figure, axes = style.panels(1, 2, width=8, height=3.2)
    for axis, (variance, best, every, dots), top in zip(axes[0], panels, (1.2, 0.35), strict=True):
        axis.plot(GRID, 1 - every.metrics["F1"], color=style.RED, label="1 − F1")
        axis.axvline(best, color=style.RED, lw=0.9, ls="--")
        for k, (miss, cost) in enumerate(every.costs.items()):
            colour = (style.BLUE, style.GREEN)[k]
            axis.plot(GRID, cost, color=colour, label=f"NEC$_{{{miss:.2f}}}$")
            axis.plot(dots.at[k], dots.costs[miss][k], "o", color=colour, ms=5)
        axis.set(
            title=f"Variance {variance}",
            xlabel="log-odds threshold",
            xlim=(-4, 4),
            ylim=(0, top),
        )
        axis.legend(loc="upper right")
    axes[0, 0].set_ylabel("lower is better")
    return figure
