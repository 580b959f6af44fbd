"""Theorem 28. The Brier score is calibration loss plus refinement loss."""

from __future__ import annotations

from hernandez_orallo.models import models
from page import Page

from stakes.ranking import convexified, is_convex
from stakes.scoring import EachScore, HullBins, brier, calibration_loss, refinement_loss


def build(page: Page) -> None:
    """With bins of one score, with hull bins, and with hull bins after the scores are averaged."""
    rows = []
    for name, table in models().items():
        pooled = "" if is_convex(table) else page.printed["misprint"]  # hull bins of one score each
        for scores, bins, words, wrong in (
            (table, EachScore(), "bins of one score", ""),
            (table, HullBins(), "hull bins", pooled),
            (convexified(table), HullBins(), "hull bins of convexified scores", ""),
        ):
            parts = calibration_loss(scores, bins), refinement_loss(scores, bins)
            what = f"{name}, {words}: BS = CL + RL"
            page.equal(what, brier(scores), sum(parts), misprint=wrong)
            rows.append((name, words, brier(scores), *parts))
    titles = "model", "bins", "Brier score", "calibration loss", "refinement loss"
    page.rows(titles, rows, decimals=4)
