"""Table 2. The same two models, four ways to choose thresholds."""

from __future__ import annotations

import numpy as np
from hernandez_orallo.models import loss, models
from page import Page

METHODS = {
    "fixed": "score-fixed",
    "score_driven": "score-driven",
    "rate_driven": "rate-driven",
    "optimal": "optimal",
}


def build(page: Page) -> None:
    """Expected losses over uniform cost proportions."""
    print_, first = page.printed, page.paper["table-1"]
    here = {row: [loss(t, method) for t in models().values()] for row, method in METHODS.items()}
    page.table(
        {
            "method": list(METHODS.values()),
            "paper, A": [print_[row][0] for row in METHODS],
            "paper, B": [print_[row][1] for row in METHODS],
            "here, A": [f"{pair[0]:.3f}" for pair in here.values()],
            "here, B": [f"{pair[1]:.3f}" for pair in here.values()],
        }
    )
    page.compare(
        "score-driven losses are the Brier scores of Table 1",
        print_["score_driven"],
        first["Brier"],
        decimals=3,
    )
    # The print has three digits, and so has the AUC, which enters with the factor 1/2.
    implied = 1 / 3 + (1 - 2 * np.array(first["AUC"])) / 4
    page.compare(
        "rate-driven losses follow from the AUCs at equal classes (theorem 22)",
        print_["rate_driven"],
        implied,
        decimals=3,
    )
    for row in METHODS:
        paper, ours = np.diff(print_[row])[0], np.diff(here[row])[0]
        better = "A" if paper > 0 else "B"
        page.claim(
            f"{better} is better with {METHODS[row]} thresholds",
            f"by {abs(ours):.3f}",
            paper * ours > 0,
        )
    usable = {
        (row, name): value
        for row in list(METHODS)[:3]
        for name, value in zip("AB", here[row], strict=True)
    }
    best = min(usable, key=usable.__getitem__)
    page.claim(
        "the best classifier is A, rate-driven",
        f"{best[1]}, {best[0]}",
        best == ("rate_driven", "A"),
    )
