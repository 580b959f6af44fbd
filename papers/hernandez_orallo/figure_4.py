"""Figure 4. The order of the losses, in general and for special scores."""

from __future__ import annotations

import numpy as np
import style
from hernandez_orallo.equivalents import mean_scores
from hernandez_orallo.models import loss
from hernandez_orallo.systems import systems, tied
from page import Page

SHOWN = "score-uniform", "score-driven", "rate-uniform", "rate-driven", "optimal"


def build(page: Page) -> None:
    """Losses of A and B and of their transforms, of perfect and of random scores."""
    tables = systems()
    value = {who: {m: loss(table, m) for m in SHOWN} for who, table in tables.items()}
    page.rows(("scores", *SHOWN), [(who, *of.values()) for who, of in value.items()], decimals=4)
    for kind in ("rate", "score"):  # the first box, in every system
        for higher, lower in ((f"{kind}-uniform", f"{kind}-driven"), (f"{kind}-driven", "optimal")):
            least = min(of[higher] - of[lower] for of in value.values())
            page.claim(f"{higher} ≥ {lower}", f"by at least {least:z.3f}", least >= -1e-12)
    spaced = tables["A, evenly spaced"]
    even, n = value["A, evenly spaced"], float(spaced.n_cases)
    for kind, ties in (("uniform", 0.0), ("driven", tied(spaced))):
        gap = even[f"rate-{kind}"] - even[f"score-{kind}"]
        shown = f"to {gap:.4f}, of which {ties:.4f} by ties; n = {n:.0f}"
        words = f"evenly spaced: rate-{kind} = score-{kind}"
        page.claim(words, shown, abs(gap - ties) < 1 / n)
    words, terms = "evenly spaced: score-uniform = π₀s̄₀ + π₁(1 − s̄₁)", mean_scores(spaced)
    page.equal(words, even["score-uniform"], sum(terms))
    for who in ("A, calibrated", "B, calibrated"):
        same = [value[who]["score-driven"], value[who]["optimal"], value[who]["score-uniform"] / 2]
        page.equal(f"{who}: score-driven = optimal = half of score-uniform", same, same[0])
        words = f"{who}: that is π₀s̄₀ = π₁(1 − s̄₁)"
        page.equal(words, mean_scores(tables[who]), same[0])
    for box in page.printed["boxes"]:
        who, paper = box["scores"], box["losses"]
        here, words = [value[who][method] for method in paper], f"{who}: {', '.join(paper)}"
        reason = {"misprint": box.get("misprint", ""), "right": box.get("right")}
        page.compare(words, list(paper.values()), here, **reason)
    seen = "Five losses of nine systems; none is to the left of the optimal one."
    page.picture(_draw(value), seen)


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
