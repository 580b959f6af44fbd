"""Section 8. Hand's H is the optimal method under another distribution."""

from __future__ import annotations

from hernandez_orallo.models import models
from page import Page

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
        over = [CostProportions(belief) for belief in beliefs.values()]
        columns[f"optimal loss of {name}"] = [expected_loss(table, Optimal(), c) for c in over]
        columns[f"H of {name}"] = [h_measure(table, belief) for belief in beliefs.values()]
        known = 1 - refinement_loss(table, HullBins()) / shares.prod()
        uniform = h_measure(table, Uniform())
        page.check_equal(f"{name}: H under uniform costs is 1 − RL/(π₀π₁)", uniform, known)
    page.table(columns, decimals=4)
