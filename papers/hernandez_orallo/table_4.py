"""Table 4. Every threshold-choice method is a familiar metric."""

from __future__ import annotations

import numpy as np
from hernandez_orallo.equivalents import equivalents
from hernandez_orallo.models import loss, models
from page import Page

from stakes import ScoreTable, Skews, auc
from stakes.measures import error_rate
from stakes.scoring import HullBins, brier, mean_absolute_error, refinement_loss


def build(page: Page) -> None:
    """The expected loss by integration, and the metric, for cost proportions and for skews."""
    for name, table in models().items():
        plain, unweighted = metrics(table), metrics(table.with_prior([0.5, 0.5]))
        columns = {
            "loss over c": [loss(table, method) for method in plain],
            "metric": list(plain.values()),
            "loss over z": [loss(table, method, Skews()) for method in plain],
            "unweighted metric": list(unweighted.values()),
        }
        page.table({f"model {name}": plain, **columns}, decimals=6)
        for method, over_c, metric, over_z, even in zip(plain, *columns.values(), strict=True):
            page.equal(f"{name}, {method}: loss = metric", [over_c, over_z], [metric, even])
        others = equivalents(table)
        titles = f"model {name}: related metric", "value", "method", "loss from it"
        page.rows(titles, others, decimals=6)
        gone = np.array([[again, loss(table, method)] for _, _, method, again in others])
        page.equal(f"{name}: the losses follow from the related metrics", *gone.T)


def metrics(table: ScoreTable) -> dict[str, float]:
    """The third column of the table, method by method."""
    counts = table.counts()
    cut, errors = int((table.thresholds <= 0.5).sum()) - 1, error_rate(counts)
    rate = counts.normalized().values[..., 1].sum(axis=-1)  # falls from one cut to the next
    ranks = float(table.shares.prod() * (1 - 2 * auc(table)))
    return {
        "score-fixed": float(errors[cut]),
        "rate-fixed": float(np.interp(0.5, rate[::-1], errors[::-1])),
        "score-uniform": float(mean_absolute_error(table)),
        "score-driven": float(brier(table)),
        "rate-uniform": ranks + 1 / 2,
        "rate-driven": ranks + 1 / 3,
        "optimal": float(refinement_loss(table, HullBins())),
    }
