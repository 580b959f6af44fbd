"""Table 5. Transformations of scores: evenly spaced, convexified, calibrated."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from hernandez_orallo.models import loss, models
from page import ROUNDING, Page

from stakes import ScoreTable, auc
from stakes.ranking import convexified, evenly_spaced, is_convex, isotonic
from stakes.scoring import EachScore, HullBins, brier, calibration_loss, refinement_loss

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
    "refinement loss, hull bins": partial(refinement_loss, bins=HullBins()),
    "optimal loss": partial(loss, method="optimal"),
    "convex": is_convex,
}


def build(page: Page) -> None:
    """What each transformation keeps and what it changes."""
    for name, table in models().items():
        _, even, convex, calibrated = variants = [change(table) for change in MAPS.values()]
        value = {title: [measure(t) for t in variants] for title, measure in MEASURES.items()}
        sizes = [t.scores.size for t in variants]
        page.table({f"model {name}": MAPS, "scores": sizes, **value}, decimals=4)
        least = value["optimal loss"]
        page.equal(f"{name}: optimal losses stay (theorem 27)", least, least[0])
        page.equal(f"{name}: EST keeps the ranking", auc(even), auc(table))
        page.claim(f"{name}: Conv and Cal are convex", None, all(value["convex"][2:]))
        loss_of, refined = value["calibration loss"], value["refinement loss, hull bins"]
        page.equal(f"{name}: Cal has no calibration loss", loss_of[3], 0)
        page.equal(f"{name}: Cal keeps the refinement loss of hull bins", refined[3], refined[0])
        words, known = f"calibration loss {loss_of[2]:.4f}", calibrated.scores
        page.equal(f"{name}: Conv(Cal) = Cal", convexified(calibrated).scores, known)
        page.claim(f"{name}: Cal(Conv) ≠ Conv", words, loss_of[2] > ROUNDING)
        page.check_equal(f"{name}: Cal(Conv) = Cal", isotonic(convex).scores, known)
    page.say(
        """Definition 40 wants Cal to keep the refinement loss. It does so with hull bins; with bins
        of one score, pooling scores raises it."""
    )
