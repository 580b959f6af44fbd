"""Table 2. The same two models, four ways to choose thresholds."""

from __future__ import annotations

import numpy as np
from hernandez_orallo.models import loss, models, show_beside
from page import Page


def build(page: Page) -> None:
    """Expected losses over uniform cost proportions."""
    paper, first = page.printed["losses"], page.paper["table-1"]["metrics"]
    here = {method: [loss(t, method) for t in models().values()] for method in paper}
    show_beside(page, paper, here)
    same = "score-driven losses are the Brier scores of Table 1"
    page.compare(same, first["Brier score"], paper["score-driven"], decimals=3)
    # The AUCs have three digits, too, and enter with the factor 1/2.
    implied = 1 / 3 + (1 - 2 * np.array(first["AUC"])) / 4
    follow = "rate-driven losses follow from the AUCs at equal classes (theorem 22)"
    page.compare(follow, paper["rate-driven"], implied, decimals=3)
    for method in paper:
        theirs, ours = np.diff(paper[method])[0], np.diff(here[method])[0]
        words = f"{'A' if theirs > 0 else 'B'} is better with {method} thresholds"
        page.claim(words, f"by {abs(ours):.3f}", theirs * ours > 0)
    usable = [method for method in paper if method != "optimal"]
    losses = {f"{model}, {m}": here[m][k] for m in usable for k, model in enumerate("AB")}
    best = min(losses, key=losses.__getitem__)
    page.claim("the best classifier is A, rate-driven", best, best == "A, rate-driven")
