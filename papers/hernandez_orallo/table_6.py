"""Table 6. What each method needs to know, and what it costs not to know it."""

from __future__ import annotations

from hernandez_orallo.models import METHODS, kind, loss, models
from page import Page, listed


def build(page: Page) -> None:
    """The expected losses of A and B under all seven methods, by what they need."""
    needs, tables = page.printed["needs"], models()
    losses = {name: {m: loss(t, m) for m in METHODS} for name, t in tables.items()}
    kinds = {m: kind(m, tables["A"]) for m in METHODS}
    page.say("Fixed thresholds and rates are at ½ here, the mean of the operating conditions.")
    shown = [(needs[kinds[m]], m, losses["A"][m], losses["B"][m]) for m in METHODS]
    page.rows(("needs", "method", "loss of A", "loss of B"), shown, decimals=3)
    for name, methods in page.printed["methods"].items():
        ours = [m for m in METHODS if kinds[m] == name]
        page.claim(f"thresholds that are {name}", ", ".join(ours), set(ours) == set(methods))
    for name, of in losses.items():
        gains = [of[f"{by}-uniform"] - of[f"{by}-driven"] for by in ("score", "rate")]
        words = f"{name}: knowing at deployment beats knowing nothing"
        page.claim(words, f"by {listed(gains, 3)}", min(gains) > 0)
        least = of["optimal"]
        page.claim(f"{name}: optimal is the lower bound", f"{least:.3f}", least == min(of.values()))
