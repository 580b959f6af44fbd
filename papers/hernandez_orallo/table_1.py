"""Table 1. Which model is better: AUC says A, the Brier score says B."""

from __future__ import annotations

from hernandez_orallo.models import models, show_beside
from page import Page

from stakes import auc
from stakes.scoring import brier


def build(page: Page) -> None:
    """Both metrics of both models."""
    page.say(
        """The paper's data are not published. The features and the size of the tree were chosen so
        that the pair disagrees as the paper's does: the order of A and B is no evidence here."""
    )
    paper, tables = page.printed["metrics"], models().values()
    here = {"AUC": [auc(t) for t in tables], "Brier score": [brier(t) for t in tables]}
    show_beside(page, paper, here)
    for metric, better in (("AUC", "A"), ("Brier score", "B")):
        a, b = here[metric]
        page.claim(f"{better} has the better {metric}", f"{a:.3f}, {b:.3f}", a > b)
