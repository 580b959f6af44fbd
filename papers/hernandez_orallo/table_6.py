"""Table 6. What each method needs to know, and what it costs not to know it."""

from __future__ import annotations

from hernandez_orallo.models import METHODS, loss, models
from page import Page, listed

NEEDS = {
    "the operating condition at evaluation time": ("score-fixed", "rate-fixed"),
    "the operating condition at deployment time": ("score-driven", "rate-driven", "optimal"),
    "nothing": ("score-uniform", "rate-uniform"),
}


def build(page: Page) -> None:
    """The expected losses of A and B under all seven methods, by what they need."""
    rows = [(needs, method) for needs, methods in NEEDS.items() for method in methods]
    losses = {name: {m: loss(t, m) for _, m in rows} for name, t in models().items()}
    page.say("Fixed thresholds and rates are at ½ here, the mean of the operating conditions.")
    shown = [(needs, m, losses["A"][m], losses["B"][m]) for needs, m in rows]
    page.rows(("needs", "method", "loss of A", "loss of B"), shown, decimals=3)
    page.claim("seven methods", f"{len(rows)}", {method for _, method in rows} == set(METHODS))
    for name, of in losses.items():
        gains = [of[f"{kind}-uniform"] - of[f"{kind}-driven"] for kind in ("score", "rate")]
        words = f"{name}: knowing at deployment beats knowing nothing"
        page.claim(words, f"by {listed(gains, 3)}", min(gains) > 0)
        least = of["optimal"]
        page.claim(f"{name}: optimal is the lower bound", f"{least:.3f}", least == min(of.values()))
