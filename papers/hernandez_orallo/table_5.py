"""Table 5. Transformations of scores: evenly spaced, convexified, calibrated."""

from __future__ import annotations

from hernandez_orallo.models import loss, models
from page import Page, near

from stakes import auc
from stakes.ranking import convexified, evenly_spaced, is_convex, isotonic
from stakes.scoring import EachScore, brier, calibration_loss, refinement_loss


def build(page: Page) -> None:
    """What each transformation keeps and what it changes."""
    maps = {
        "as it is": lambda t: t,
        "Even (EST)": evenly_spaced,
        "Conv (ROCCH)": convexified,
        "Cal (PAV)": isotonic,
    }
    bins = EachScore()
    for name, table in models().items():
        made = {label: change(table) for label, change in maps.items()}
        some = made.values()
        page.table(
            {
                f"model {name}": list(made),
                "scores": [t.scores.size for t in some],
                "AUC": [f"{float(auc(t)):.4f}" for t in some],
                "Brier": [f"{float(brier(t)):.4f}" for t in some],
                "calibration loss": [f"{float(calibration_loss(t, bins)):.4f}" for t in some],
                "refinement loss": [f"{float(refinement_loss(t, bins)):.4f}" for t in some],
                "optimal loss": [f"{loss(t, 'optimal'):.4f}" for t in some],
                "convex": ["yes" if is_convex(t) else "no" for t in some],
            }
        )
        even, convex, calibrated = list(some)[1:]
        same_loss = max(abs(loss(t, "optimal") - loss(table, "optimal")) for t in some)
        page.claim(f"{name}: optimal losses stay (theorem 27)", near(same_loss), same_loss < 1e-12)
        page.claim(f"{name}: EST keeps the ranking", "yes", abs(auc(even) - auc(table)) < 1e-12)
        page.claim(
            f"{name}: Conv and Cal are convex", "yes", is_convex(convex) and is_convex(calibrated)
        )
        gone = float(calibration_loss(calibrated, bins))
        page.claim(f"{name}: Cal has no calibration loss", near(gone), gone < 1e-12)
        page.claim(
            f"{name}: Cal(Conv) = Cal = Conv(Cal)",
            "yes",
            abs(brier(isotonic(convex)) - brier(calibrated)) < 1e-12
            and convexified(calibrated).scores.size == calibrated.scores.size,
        )
