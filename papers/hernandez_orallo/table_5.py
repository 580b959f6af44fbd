"""Table 5. Transformations of scores: evenly spaced, convexified, calibrated."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from hernandez_orallo.models import loss, models
from page import Page

from stakes import ScoreTable, auc
from stakes.ranking import convexified, evenly_spaced, is_convex, isotonic
from stakes.scoring import EachScore, brier, calibration_loss, refinement_loss

MAPS = {
    "as it is": lambda table: table,
    "Even (EST)": evenly_spaced,
    "Conv (ROCCH)": convexified,
    "Cal (PAV)": isotonic,
}
MEASURES: dict[str, Callable[[ScoreTable], Any]] = {
    "AUC": auc,
    "Brier": brier,
    "calibration loss": partial(calibration_loss, bins=EachScore()),
    "refinement loss": partial(refinement_loss, bins=EachScore()),
    "optimal loss": partial(loss, method="optimal"),
    "convex": is_convex,
}


def build(page: Page) -> None:
    """What each transformation keeps and what it changes."""
    for name, table in models().items():
        _, even, convex, calibrated = made = [change(table) for change in MAPS.values()]
        value = {title: [measure(t) for t in made] for title, measure in MEASURES.items()}
        sizes = [t.scores.size for t in made]
        page.table({f"model {name}": MAPS, "scores": sizes, **value}, decimals=4)
        least = value["optimal loss"]
        page.equal(f"{name}: optimal losses stay (theorem 27)", least, least[0])
        page.equal(f"{name}: EST keeps the ranking", auc(even), auc(table))
        page.claim(f"{name}: Conv and Cal are convex", "yes", all(value["convex"][2:]))
        page.equal(f"{name}: Cal has no calibration loss", value["calibration loss"][3], 0)
        both_ways = isotonic(convex).scores, convexified(calibrated).scores
        page.equal(f"{name}: Cal(Conv) = Cal = Conv(Cal)", both_ways, calibrated.scores)
