"""Table 7. Three kinds of intervals: which thresholds are optimal at which cost proportions.

Where the ROC curve of a convex model is straight, all thresholds of a segment are optimal at one
cost proportion (constant). At a corner, one threshold is optimal at a range of them (singular).
Only where the curve is bent has each cost proportion a threshold of its own (bijective): never in
a sample, whose curve is made of segments. The intervals of model B, from low to high costs:
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from hernandez_orallo.models import METHODS, loss, models
from page import Page

from stakes.ranking import isotonic

INSIDE = np.linspace(0.1, 0.9, 9)


def build(page: Page) -> None:
    """The intervals of both models, and the optimal loss as a sum over the singular ones."""
    for name, table in models().items():
        calibrated = isotonic(table)  # whose scores are the slopes of the segments
        ends = np.r_[0, calibrated.scores, 1]
        tried = ends[:-1, None] + np.diff(ends)[:, None] * INSIDE
        chosen = np.array([[METHODS["optimal"].threshold(table, c) for c in row] for row in tried])
        constant = np.all(chosen == chosen[:, :1], axis=1)
        words = f"{name}: singular intervals have one optimal threshold each"
        page.claim(words, f"{constant.sum()} of {constant.size}", constant.all())
        counts = calibrated.counts().normalized().values
        alarms, misses = counts[:, 0, 1], counts[:, 1, 0]
        low, high = (ends[1:-1] * a + (1 - ends[1:-1]) * m for a, m in _ends(alarms, misses))
        page.equal(f"{name}: both ends of a constant interval cost the same", low, high)
        squares, lengths = np.diff(ends**2), np.diff(ends)
        by_24 = float(alarms @ squares + misses @ (2 * lengths - squares))
        page.equal(f"{name}: optimal loss by equation 24", by_24, loss(table, "optimal"))
    rows = []
    for k, (a, b) in enumerate(pairwise(ends)):
        rows.append(("singular", f"{a:.3f} to {b:.3f}", f"{chosen[k, 0]:.3f}"))
        if k + 1 < len(chosen):
            both = f"{chosen[k, 0]:.3f} to {chosen[k + 1, 0]:.3f}"
            rows.append(("constant", f"{b:.3f}", both))
    page.rows(("interval", "cost proportion", "optimal threshold"), rows)


def _ends(alarms, misses):
    """False alarms and misses below and above each segment."""
    return (alarms[:-1], misses[:-1]), (alarms[1:], misses[1:])
