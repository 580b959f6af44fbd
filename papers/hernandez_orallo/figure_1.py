"""Figure 1. Score distributions of models A and B."""

from __future__ import annotations

import numpy as np
import style
from hernandez_orallo.models import models
from page import Page


def build(page: Page) -> None:
    """Histograms by class, from the tables of scores."""
    edges = np.linspace(0, 1, 21)
    histograms = {
        name: [np.histogram(t.scores, edges, weights=weights)[0] for weights in t.weights.T]
        for name, t in models().items()
    }
    tables = models().values()
    extreme = [t.weights[np.abs(t.scores - 0.5) > 0.4].sum() / t.n_cases for t in tables]
    page.table(
        {
            "model": ["A, naive Bayes", "B, decision tree"],
            "cases": [int(t.n_cases) for t in tables],
            "positive": [f"{t.shares[1]:.1%}" for t in tables],
            "distinct scores": [t.scores.size for t in tables],
            "scores below 0.1 or above 0.9": [f"{share:.0%}" for share in extreme],
        }
    )
    low, high = min(t.scores[0] for t in tables), max(t.scores[-1] for t in tables)
    page.claim("scores are in [0, 1]", f"{low:.3f} to {high:.3f}", 0 <= low <= high <= 1)
    shown = [np.sum(bars) for bars in histograms.values()]
    page.check_equal("the histograms hold all cases", shown, [t.n_cases for t in tables])
    seen = """Two histograms by class: the scores of A crowd at 0 and 1, those of B stand at four
        values between."""
    page.picture(_draw(edges, histograms), seen)


def _draw(edges, histograms):
    figure, axes = style.panels(1, 2, width=8, height=3, sharey=True)
    for axis, (name, bars) in zip(axes[0], histograms.items(), strict=True):
        for values, colour, label in zip(
            bars, (style.ORANGE, style.BLUE), ("class 0", "class 1"), strict=True
        ):
            axis.stairs(values, edges, fill=True, color=colour, alpha=0.45, label=label)
            axis.stairs(values, edges, color=colour, lw=1.2)
        axis.set(title=f"Model {name}", xlabel="score", xlim=(0, 1))
    axes[0, 0].set_ylabel("cases")
    axes[0, 0].legend(loc="upper center")
    return figure
