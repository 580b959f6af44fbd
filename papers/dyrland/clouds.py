"""Metrics against the utility yield of random tables: what figures 2 and 3 have in common."""

from __future__ import annotations

import numpy as np
import style
from dyrland.turned import turned
from page import Page

from stakes import Problem
from stakes.audit import FAMILIAR, against_yield
from stakes.simulate import fixed, random_confusion, rising_rates

PROBLEMS = {
    "accuracy": Problem.from_utilities(turned([[1, 0], [0, 1]])),
    "recall": Problem.from_utilities(turned([[1, 0], [0, 0]])),
}
METRICS = {name: FAMILIAR[name] for name in ("accuracy", "recall", "F1", "MCC")}


def clouds(page: Page, share: float, name: str, says: str) -> None:
    """Points of all panels, and the share of pairs that each metric reverses."""
    rng, n = np.random.default_rng(6), 500 if page.fast else 1500
    drawn = random_confusion(1, n, share=fixed(share), correct_rates=rising_rates, rng=rng)[0]
    points = {
        native: against_yield(drawn, problem, metrics=METRICS)
        for native, problem in PROBLEMS.items()
    }
    wrong = {
        native: [some.reversed_share(metric) for metric in METRICS]
        for native, some in points.items()
    }
    page.table(
        {
            "metric": list(METRICS),
            "reversed pairs, utilities [1 0; 0 1]": [f"{w:.1%}" for w in wrong["accuracy"]],
            "reversed pairs, utilities [1 0; 0 0]": [f"{w:.1%}" for w in wrong["recall"]],
        }
    )
    for native in PROBLEMS:
        for metric, share_wrong in zip(METRICS, wrong[native], strict=True):
            right = metric == native
            words = "never errs" if right else "reverses some pairs"
            page.claim(
                f"{metric} {words} where {native} is the utility",
                f"{share_wrong:.1%}",
                (share_wrong == 0) == right,
            )
    page.picture(_draw(points), name, says)


def _draw(points):
    figure, axes = style.panels(len(METRICS), 2, width=6.6, height=9.2)
    titles = "Utilities [1 0; 0 1]", "Utilities [1 0; 0 0]"
    for column, (some, title) in enumerate(zip(points.values(), titles, strict=True)):
        for row, metric in enumerate(METRICS):
            axis, values = axes[row, column], some.values[row]
            axis.scatter(
                some.yields, values, s=3, color=style.BLUE, alpha=0.45, lw=0, rasterized=True
            )
            chain = some.reversed_chain(metric)
            if chain.size > 1:
                picked = chain[[0, chain.size // 2, -1]] if chain.size > 2 else chain
                axis.plot(some.yields[picked], values[picked], "^:", color=style.RED, ms=5, lw=0.9)
            axis.set(ylabel=metric, xlabel="utility yield" if row == len(METRICS) - 1 else "")
        axes[0, column].set_title(title)
    return figure
