"""Metrics against the utility yield of random tables: what figures 2 and 3 have in common."""

from __future__ import annotations

import numpy as np
import style
from dyrland.hexagon import in_line
from dyrland.turned import turned
from page import Page

from stakes import Problem
from stakes.audit import FAMILIAR, against_yield
from stakes.simulate import fixed, random_confusion, rising_rates

METRICS = {name: FAMILIAR[name] for name in ("accuracy", "recall", "F1", "MCC")}


def clouds(page: Page, share: float) -> None:
    """Points of all panels, and the share of pairs that each metric reverses."""
    rng, n, utilities = (
        np.random.default_rng(6),
        page.size(1500, 500),
        page.paper["figure-2"]["utilities"],
    )
    problems = {name: Problem.from_utilities(turned(u)) for name, u in utilities.items()}
    drawn = random_confusion(1, n, share=fixed(share), correct_rates=rising_rates, rng=rng)[0]
    points = {name: against_yield(drawn, p, metrics=METRICS) for name, p in problems.items()}
    wrong = {(m, of): points[of].reversed_share(m) for of in problems for m in METRICS}
    titles = [f"utilities {in_line(u)}" for u in utilities.values()]
    rows = [(m, *(f"{wrong[m, of]:.1%}" for of in problems)) for m in METRICS]
    page.rows(("metric", *(f"reversed pairs, {title}" for title in titles)), rows)
    for (metric, native), share_wrong in wrong.items():
        words = "never errs" if metric == native else "reverses some pairs"
        holds = (share_wrong == 0) == (metric == native)
        page.claim(f"{metric} {words} where {native} is the utility", f"{share_wrong:.1%}", holds)
    chains = {of: [some.reversed_chain(m) for m in METRICS] for of, some in points.items()}
    seen = """Eight panels: four metrics against the yields of two utility matrices; straight lines
        where the metric is the utility, wide clouds elsewhere."""
    page.picture(_draw(points, chains, titles), seen)


def _draw(points, chains, titles):
    figure, axes = style.panels(len(METRICS), 2, width=6.6, height=9.2)
    for column, (of, words) in enumerate(zip(points, titles, strict=True)):
        for row, (metric, chain) in enumerate(zip(METRICS, chains[of], strict=True)):
            axis, some, values = axes[row, column], points[of], points[of].values[row]
            axis.scatter(
                some.yields, values, s=3, color=style.BLUE, alpha=0.45, lw=0, rasterized=True
            )
            if chain.size > 1:
                picked = chain[[0, chain.size // 2, -1]] if chain.size > 2 else chain
                _draw_reversed(axis, some.yields, values, picked)
            axis.set(ylabel=metric, xlabel="utility yield" if row == len(METRICS) - 1 else "")
        axes[0, column].set_title(words[0].upper() + words[1:])
    return figure


def _draw_reversed(axis, yields, values, picked):
    """Red triangles, and a closer look at them where they would lie on each other."""
    x, y = yields[picked], values[picked]
    look = {"color": style.RED, "lw": 0.9}
    if np.ptp(y) > 0.1 * np.ptp(values):
        axis.plot(x, y, "^:", ms=5, **look)
        return
    axis.plot(x, y, "^", ms=2.5, **look)
    room = 0.35 * np.array([np.ptp(x), np.ptp(y)])
    near = axis.inset_axes((0.6, 0.1, 0.38, 0.42))
    near.scatter(yields, values, s=4, color=style.BLUE, alpha=0.6, lw=0, rasterized=True)
    near.plot(x, y, "^:", ms=5, **look)
    near.set(
        xlim=(x.min() - room[0], x.max() + room[0]), ylim=(y.min() - room[1], y.max() + room[1])
    )
    near.tick_params(labelsize=6)
    near.locator_params(nbins=3)
    axis.indicate_inset_zoom(near, edgecolor=style.GREY)
