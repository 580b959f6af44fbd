"""Table 1. Which model is better: AUC says A, the Brier score says B."""

from __future__ import annotations

from hernandez_orallo.models import models
from page import Page

from stakes import auc
from stakes.scoring import brier


def build(page: Page) -> None:
    """Both metrics of both models."""
    page.say(
        "The paper's data are not published. The features and the size of the tree were chosen so "
        "that the pair disagrees as the paper's does: the order of A and B is no evidence here."
    )
    tables = models().values()
    areas, scores = [float(auc(t)) for t in tables], [float(brier(t)) for t in tables]
    page.table(
        {
            "metric": ["AUC", "Brier score"],
            "paper, A": [page.printed["AUC"][0], page.printed["Brier"][0]],
            "paper, B": [page.printed["AUC"][1], page.printed["Brier"][1]],
            "here, A": [f"{areas[0]:.3f}", f"{scores[0]:.3f}"],
            "here, B": [f"{areas[1]:.3f}", f"{scores[1]:.3f}"],
        }
    )
    page.claim("A ranks better", f"{areas[0]:.3f}, {areas[1]:.3f}", areas[0] > areas[1])
    page.claim(
        "B has the better Brier score", f"{scores[0]:.3f}, {scores[1]:.3f}", scores[0] > scores[1]
    )
