"""Table 4. Every threshold-choice method is a familiar metric."""

from __future__ import annotations

from hernandez_orallo.models import loss, models
from page import Page, near

from stakes import ScoreTable, Skews, auc
from stakes.measures import error_rate
from stakes.scoring import HullBins, brier, mean_absolute_error, refinement_loss

CLOSE = 1e-12


def build(page: Page) -> None:
    """The expected loss by integration, and the metric, for cost proportions and for skews."""
    for name, table in models().items():
        even = table.with_prior([0.5, 0.5])
        plain, unweighted = metrics(table), metrics(even)
        losses = {method: (loss(table, method), loss(table, method, Skews())) for method in plain}
        page.table(
            {
                "method": list(plain),
                f"{name}: loss over c": [f"{pair[0]:.6f}" for pair in losses.values()],
                f"{name}: metric": [f"{value:.6f}" for value in plain.values()],
                f"{name}: loss over z": [f"{pair[1]:.6f}" for pair in losses.values()],
                f"{name}: unweighted metric": [f"{value:.6f}" for value in unweighted.values()],
            }
        )
        for method, (over_c, over_z) in losses.items():
            gap = max(abs(over_c - plain[method]), abs(over_z - unweighted[method]))
            page.claim(f"{name}, {method}: loss = metric", near(gap), gap < CLOSE)


def metrics(table: ScoreTable) -> dict[str, float]:
    """The third column of the table, method by method."""
    cut = int((table.thresholds <= 0.5).sum()) - 1
    ranks = float(table.shares.prod() * (1 - 2 * auc(table)))
    return {
        "score-fixed": float(error_rate(table.counts()[cut])),
        "score-uniform": float(mean_absolute_error(table)),
        "score-driven": float(brier(table)),
        "rate-uniform": ranks + 1 / 2,
        "rate-driven": ranks + 1 / 3,
        "optimal": float(refinement_loss(table, HullBins())),
    }
