"""Theorems 34 and 36. Evenly spaced scores: how fast MAE and Brier score become AUC."""

from __future__ import annotations

import numpy as np
import style
from page import ROUNDING, Page

from stakes import ScoreTable, auc
from stakes.ranking import evenly_spaced, midpoint_spaced
from stakes.scoring import brier, mean_absolute_error

NAMES = "MAE, evenly spaced", "Brier, evenly spaced", "MAE, midpoints", "Brier, midpoints"


def build(page: Page) -> None:
    """Distance to the limit for random rankings of more and more cases."""
    rng = np.random.default_rng(15)
    sizes = np.unique(np.logspace(1, page.size(5.5, 4.0), 24).astype(int))
    sampled = np.array([losses(int(n), rng) for n in sizes])
    values, ranks, n = sampled[:, :4], sampled[:, 4:], sizes[:, None]
    gaps = dict(zip(NAMES, np.abs(values - ranks - [1 / 2, 1 / 3, 1 / 2, 1 / 3]).T, strict=True))
    shown = {
        name: ["exact" if g < ROUNDING else f"{g:.1e}" for g in gap[::6]]
        for name, gap in gaps.items()
    }
    page.table({"cases": [f"{size:,}" for size in sizes[::6]], **shown})
    for name in NAMES[:2]:
        worst = float(np.max(gaps[name] * sizes))
        page.claim(f"{name} → AUC as n grows", f"distance at most {worst:.2f}/n", worst < 1)
    finite = n / (n - 1) * ranks + np.where([True, False], 1 / 2, (2 * n - 1) / (6 * (n - 1)))
    exact = "with n/(n−1) and (2n−1)/(6(n−1)) it is exact at every n"
    page.check_equal(exact, values[:, :2], finite)
    page.check_equal("with midpoints (i−½)/n MAE is exact at every n", gaps["MAE, midpoints"], 0)
    seen = (
        "Distances to the limit that fall like 1/n for evenly spaced scores, faster for midpoints."
    )
    page.picture(_draw(sizes, gaps), seen)


def losses(n: int, rng: np.random.Generator) -> list[float]:
    """MAE and Brier score of both spacings of a random ranking, and the term of AUC in them."""
    y = rng.permutation(n) < 0.4 * n
    table = ScoreTable.from_scores(y, rng.normal(y, 1))
    spaced = evenly_spaced(table), midpoint_spaced(table)
    values = [float(measure(t)) for t in spaced for measure in (mean_absolute_error, brier)]
    return [*values, float(table.shares.prod() * (1 - 2 * auc(table)))]


def _draw(sizes, gaps):
    figure, axes = style.panels(1, 1, width=5.8, height=3.6)
    axis = axes[0, 0]
    marks = ("o-", style.BLUE), ("s-", style.RED), ("o:", style.SKY), ("s:", style.ORANGE)
    for (name, gap), (mark, colour) in zip(gaps.items(), marks, strict=True):
        if max(gap) > ROUNDING:
            shown = np.where(gap > ROUNDING, gap, np.nan)
            axis.loglog(sizes, shown, mark, color=colour, ms=4, lw=1.1, label=name)
    axis.loglog(sizes, 1 / sizes, color=style.GREY, lw=0.8, ls="--", label="1/n")
    axis.set(
        title="MAE with midpoints is exact, so it is not shown",
        xlabel="cases n",
        ylabel="distance to the limit",
    )
    axis.legend(loc="upper left", bbox_to_anchor=(1, 1))
    return figure
