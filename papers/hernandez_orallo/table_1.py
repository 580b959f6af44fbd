"""Table 1. Which model is better: AUC says A, the Brier score says B."""

from __future__ import annotations

from hernandez_orallo.beside import show_beside
from hernandez_orallo.models import models
from page import Page

from stakes import auc
from stakes.scoring import brier

SPLITS = range(20)


def build(page: Page) -> None:
    """Both metrics of both models."""
    page.say(
        """The paper's data are not published. The data and the size of the tree were chosen so that
        the pair disagrees as the paper's does: the order of A and B is no evidence here. After ±
        stand standard errors of the difference, from redraws of the same cases for both models."""
    )
    show_beside(page, page.printed["metrics"], {"AUC": auc, "Brier score": brier})
    splits = [models(split).values() for split in SPLITS]
    both = [auc(a) > auc(b) and brier(a) > brier(b) for a, b in splits]
    page.say(
        f"A has the better AUC and B the better Brier score in {sum(both)} of {len(both)} splits."
    )
