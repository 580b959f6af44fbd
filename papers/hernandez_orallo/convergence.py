"""Theorems 34 and 36. Evenly spaced scores: how fast MAE and Brier score become AUC."""

from __future__ import annotations

import numpy as np
import style
from page import Page, near

from stakes import ScoreTable, auc
from stakes.ranking import evenly_spaced, midpoint_spaced
from stakes.scoring import brier, mean_absolute_error


def build(page: Page) -> None:
    """Distance to the limit for random rankings of more and more cases."""
    rng = np.random.default_rng(15)
    sizes = np.unique(np.logspace(1, 4 if page.fast else 5.5, 24).astype(int))
    gaps: dict[str, list[float]] = {
        "MAE, evenly spaced": [],
        "Brier, evenly spaced": [],
        "MAE, midpoints": [],
        "Brier, midpoints": [],
    }
    exact = []
    for n in sizes:
        y = rng.permutation(n) < 0.4 * n
        table = ScoreTable.from_scores(y, rng.normal(y, 1))
        ranks = float(table.shares.prod() * (1 - 2 * auc(table)))
        even, middle = evenly_spaced(table), midpoint_spaced(table)
        found = [float(f(t)) for t in (even, middle) for f in (mean_absolute_error, brier)]
        limits = [ranks + 1 / 2, ranks + 1 / 3] * 2
        for gap, value, limit in zip(gaps.values(), found, limits, strict=True):
            gap.append(abs(value - limit))
        finite = 1 / 2 + n / (n - 1) * ranks, (2 * n - 1) / (6 * (n - 1)) + n / (n - 1) * ranks
        exact.append(np.abs(np.array(found[:2]) - finite).max())
    page.table(
        {
            "cases": [f"{n:,}" for n in sizes[::6]],
            **{
                name: ["exact" if g < 1e-12 else f"{g:.1e}" for g in gap[::6]]
                for name, gap in gaps.items()
            },
        }
    )
    for name in ("MAE, evenly spaced", "Brier, evenly spaced"):
        worst = float(np.max(np.array(gaps[name]) * sizes))
        page.claim(f"{name} → AUC as n grows", f"distance at most {worst:.2f}/n", worst < 1)
    page.check(
        "with n/(n−1) and (2n−1)/(6(n−1)) it is exact at every n",
        near(max(exact)),
        max(exact) < 1e-11,
    )
    off = max(gaps["MAE, midpoints"])
    page.check("with midpoints (i−½)/n MAE is exact at every n", near(off), off < 1e-11)
    page.picture(_draw(sizes, gaps), "hernandez-orallo-convergence", __doc__)


def _draw(sizes, gaps):
    figure, axes = style.panels(1, 1, width=5.8, height=3.6)
    axis = axes[0, 0]
    marks = ("o-", style.BLUE), ("s-", style.RED), ("o:", style.SKY), ("s:", style.ORANGE)
    for (name, gap), (mark, colour) in zip(gaps.items(), marks, strict=True):
        if max(gap) > 1e-12:  # the rest is rounding
            shown = np.where(np.array(gap) > 1e-12, gap, np.nan)
            axis.loglog(sizes, shown, mark, color=colour, ms=4, lw=1.1, label=name)
    axis.loglog(sizes, 1 / sizes, color=style.GREY, lw=0.8, ls="--", label="1/n")
    axis.set(
        title="MAE with midpoints is exact, hence not shown",
        xlabel="cases n",
        ylabel="distance to the limit",
    )
    axis.legend(loc="upper left", bbox_to_anchor=(1, 1))
    return figure
