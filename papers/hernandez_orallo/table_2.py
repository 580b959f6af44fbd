"""Table 2. The same two models, four ways to choose thresholds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial

import numpy as np
from hernandez_orallo.beside import show_beside
from hernandez_orallo.models import METHODS, UNIFORM, loss, models
from page import Kind, Page

from stakes import expected_loss

SPLITS = range(20)


def build(page: Page) -> None:
    """Expected losses over uniform cost proportions."""
    paper, first = page.printed["losses"], page.paper["table-1"]["metrics"]
    measures = {m: partial(expected_loss, method=METHODS[m], condition=UNIFORM) for m in paper}
    show_beside(page, paper, measures)
    same, kind = "score-driven losses are the Brier scores of Table 1", Kind.PRINT
    page.compare(same, first["Brier score"], paper["score-driven"], kind=kind)
    # The AUCs have three digits, too, and enter with the factor 1/2.
    share = page.printed["inferred"]["class_share"]
    implied = 1 / 3 + share * (1 - share) * (1 - 2 * np.array(first["AUC"]))
    page.say("That the paper's classes are equal is inferred from the second fit of its prints.")
    follow = f"rate-driven losses follow from the AUCs (theorem 22) if π₀ = {share}, inferred"
    page.compare(follow, paper["rate-driven"], implied, kind=kind)
    orders, theirs = [order(losses(split, paper)) for split in SPLITS], order(paper)
    words = "the best classifier with a method that needs no labels"
    page.chosen(words, theirs[0], orders[0][0], orders[0][0] == theirs[0])
    alike = orders.count(theirs)
    page.say(f"All of these orders are the paper's in {alike} of {len(SPLITS)} splits of the data.")


def losses(split: int, methods: Iterable[str]) -> dict[str, list[float]]:
    """Expected losses of A and B."""
    return {m: [loss(table, m) for table in models(split).values()] for m in methods}


def order(values: Mapping[str, Sequence[float]]) -> tuple[str, list[bool]]:
    """The best classifier without optimal thresholds, and where A beats B."""
    usable = [m for m in values if m != "optimal"]
    best = min((values[m][k], f"{m}, {who}") for m in usable for k, who in enumerate("AB"))
    return best[1], [a < b for a, b in values.values()]
