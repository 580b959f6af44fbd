"""Figure 4. The order of the losses, in general and for special scores."""

from __future__ import annotations

import numpy as np
import style
from hernandez_orallo.models import loss, models
from page import Page

from stakes import ScoreTable
from stakes.ranking import evenly_spaced, isotonic

SHOWN = "score-uniform", "score-driven", "rate-uniform", "rate-driven", "optimal"


def build(page: Page) -> None:
    """Losses of A and B and of their transforms, of perfect and of random scores."""
    value = {who: {m: loss(table, m) for m in SHOWN} for who, table in systems().items()}
    page.rows(("scores", *SHOWN), [(who, *of.values()) for who, of in value.items()], decimals=4)
    for kind in ("rate", "score"):  # the first box, in every system
        for dear, cheap in ((f"{kind}-uniform", f"{kind}-driven"), (f"{kind}-driven", "optimal")):
            least = min(of[dear] - of[cheap] for of in value.values())
            page.claim(f"{dear} ≥ {cheap}", f"by at least {abs(least):.3f}", least >= -1e-12)
    even, n = value["A, evenly spaced"], models()["A"].n_cases
    for kind in ("uniform", "driven"):
        gap = abs(even[f"rate-{kind}"] - even[f"score-{kind}"])
        words = f"evenly spaced: rate-{kind} = score-{kind}"
        page.claim(words, f"to {gap:.4f}, n = {n:.0f}", gap < 1 / n)
    for who in ("A, calibrated", "B, calibrated"):
        same = [value[who]["score-driven"], value[who]["optimal"], value[who]["score-uniform"] / 2]
        page.equal(f"{who}: score-driven = optimal = half of score-uniform", same, same[0])
    for box in page.printed["boxes"]:
        who, paper, wrong = box["scores"], box["losses"], box.get("misprint", "")
        here, words = [value[who][method] for method in paper], f"{who}: {', '.join(paper)}"
        page.compare(words, list(paper.values()), here, decimals=3, misprint=wrong)
    page.picture(_draw(value), "hernandez-orallo-figure-4", __doc__)


def systems() -> dict[str, ScoreTable]:
    """The scores that the boxes of the figure are about."""
    a, b = models().values()
    grid = np.linspace(0, 1, 2000)
    return {
        "A": a,
        "B": b,
        "A, evenly spaced": evenly_spaced(a),
        "A, calibrated": isotonic(a),
        "B, calibrated": isotonic(b),
        "perfect": ScoreTable(grid, np.repeat(np.eye(2), 1000, axis=0)),
        "perfect, 30 % positive": ScoreTable([0.0, 1.0], [[7, 0], [0, 3]]),
        "random": ScoreTable(grid, np.ones((2000, 2))),
        "random, crisp": ScoreTable([0.0, 1.0], [[1, 1], [1, 1]]),
    }


def _draw(value):
    figure, axes = style.panels(1, 1, width=7.5, height=4.4)
    axis = axes[0, 0]
    marks = dict(zip(SHOWN, "sos^D", strict=True))
    colours = style.ORANGE, style.BLUE, style.PURPLE, style.RED, style.INK
    for method, colour in zip(SHOWN, colours, strict=True):
        x = [v[method] for v in value.values()]
        hollow = {"markerfacecolor": "none"} if method.endswith("uniform") else {}
        y = np.arange(len(x)) + 0.13 * (SHOWN.index(method) - 2)
        axis.plot(x, y, marks[method], color=colour, ms=6, ls="none", label=method, **hollow)
    axis.set_yticks(range(len(value)), value)
    axis.invert_yaxis()
    axis.grid(visible=False, axis="y")
    for border in range(len(value) - 1):
        axis.axhline(border + 0.5, color="#E6E6E6", lw=0.6)
    axis.set(xlabel="expected loss, uniform cost proportions", xlim=(-0.01, 0.56))
    axis.legend(loc="upper left", bbox_to_anchor=(1, 1))
    return figure
