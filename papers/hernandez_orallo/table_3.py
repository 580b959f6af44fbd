"""Table 3. Six threshold-choice methods, and what they choose."""

from __future__ import annotations

from hernandez_orallo.models import METHODS, models
from page import Page


def build(page: Page) -> None:
    """The type of each method and the threshold that it sets for model A at two conditions."""
    table = models()["A"]
    used = {name: METHODS[name] for name in METHODS if name != "optimal"}
    at = {c: [float(m.threshold(table, c)) for m in used.values()] for c in (0.2, 0.8)}
    page.table(
        {
            "method": list(used),
            "in the library": [f"`{method!r}`" for method in used.values()],
            "uses": ["scores" if name.startswith("score") else "rates" for name in used],
            **{f"threshold of A at c = {c}": [_words(t) for t in ts] for c, ts in at.items()},
        }
    )
    moved = {name for k, name in enumerate(used) if at[0.2][k] != at[0.8][k] and at[0.2][k] >= 0}
    page.claim(
        "only the driven methods look at the operating condition",
        ", ".join(sorted(moved)),
        moved == {"score-driven", "rate-driven"},
    )


def _words(threshold: float) -> str:
    return f"{threshold:.3f}" if threshold == threshold else "drawn anew"
