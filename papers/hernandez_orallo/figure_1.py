"""Figure 1. Score distributions of models A and B."""

from __future__ import annotations

import numpy as np
import style
from hernandez_orallo.models import models
from page import Page


def build(page: Page) -> None:
    """Histograms by class, from the tables of scores."""
    edges = np.linspace(0, 1, 21)
    held = {
        name: [np.histogram(table.scores, edges, weights=w)[0] for w in table.weights.T]
        for name, table in models().items()
    }
    extreme = {
        name: (table.weights[(table.scores < 0.1) | (table.scores > 0.9)].sum() / table.n_cases)
        for name, table in models().items()
    }
    page.table(
        {
            "model": ["A, naive Bayes", "B, decision tree"],
            "cases": [f"{table.n_cases:.0f}" for table in models().values()],
            "positive": [f"{table.shares[1]:.1%}" for table in models().values()],
            "distinct scores": [table.scores.size for table in models().values()],
            "scores below 0.1 or above 0.9": [f"{share:.0%}" for share in extreme.values()],
        }
    )
    total = {name: sum(map(np.sum, bars)) for name, bars in held.items()}
    page.check("the histograms hold all cases", f"{total['A']:.0f}", total["A"] == total["B"])
    page.picture(_draw(edges, held), "hernandez-orallo-figure-1", __doc__)


def _draw(edges, held):
    figure, axes = style.panels(1, 2, width=8, height=3, sharey=True)
    for axis, (name, bars) in zip(axes[0], held.items(), strict=True):
        for values, colour, label in zip(
            bars, (style.ORANGE, style.BLUE), ("class 0", "class 1"), strict=True
        ):
            axis.stairs(values, edges, fill=True, color=colour, alpha=0.45, label=label)
            axis.stairs(values, edges, color=colour, lw=1.2)
        axis.set(title=f"Model {name}", xlabel="score", xlim=(0, 1))
    axes[0, 0].set_ylabel("cases")
    axes[0, 0].legend(loc="upper center")
    return figure
