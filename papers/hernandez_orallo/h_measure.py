"""Section 8. Hand's H is the optimal method under another distribution."""

from __future__ import annotations

from hernandez_orallo.models import models
from page import Page, near

from stakes import Beta, CostProportions, Optimal, Uniform, expected_loss, h_measure
from stakes.scoring import HullBins, refinement_loss


def build(page: Page) -> None:
    """H and the optimal loss of both models under four beliefs about the costs."""
    tables = models()
    shares = tables["A"].shares
    beliefs = {
        "uniform": Uniform(),
        "Beta(2, 2)": Beta(2, 2),
        "Beta(1 + π₁, 1 + π₀)": Beta.hand(shares),
        "Beta(2, 1 + π₀/π₁)": Beta.severity(shares),
    }
    columns: dict[str, list[object]] = {"cost proportions": list(beliefs)}
    for name, table in tables.items():
        losses = [
            float(expected_loss(table, Optimal(), CostProportions(belief)))
            for belief in beliefs.values()
        ]
        columns[f"optimal loss of {name}"] = [f"{loss:.4f}" for loss in losses]
        columns[f"H of {name}"] = [f"{h_measure(table, b):.4f}" for b in beliefs.values()]
        known = 1 - float(refinement_loss(table, HullBins())) / shares.prod()
        gap = float(h_measure(table, Uniform())) - known
        page.check(f"{name}: H under uniform costs is 1 − RL/(π₀π₁)", near(gap), abs(gap) < 1e-12)
    page.table(columns)
