"""Table 6. What each method needs to know, and what it costs not to know it."""

from __future__ import annotations

from hernandez_orallo.models import METHODS, loss, models
from page import Page

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
    page.table(
        {
            "needs": [needs for needs, _ in rows],
            "method": [method for _, method in rows],
            "loss of A": [f"{losses['A'][method]:.3f}" for _, method in rows],
            "loss of B": [f"{losses['B'][method]:.3f}" for _, method in rows],
        }
    )
    page.claim("seven methods", f"{len(rows)}", {method for _, method in rows} == set(METHODS))
    for name, of in losses.items():
        page.claim(
            f"{name}: knowing at deployment beats knowing nothing",
            "scores and rates",
            of["score-driven"] < of["score-uniform"] and of["rate-driven"] < of["rate-uniform"],
        )
        page.claim(
            f"{name}: optimal is the lower bound",
            f"{of['optimal']:.3f}",
            of["optimal"] == min(of.values()),
        )
