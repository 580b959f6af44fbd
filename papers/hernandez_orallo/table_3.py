"""Table 3. Six threshold-choice methods, and what they choose."""

from __future__ import annotations

from hernandez_orallo.models import METHODS, kind, models
from page import Page


def build(page: Page) -> None:
    """The type of each method and the threshold that it sets for model B at two conditions."""
    table = models()["B"]
    used = {name: METHODS[name] for name in METHODS if name != "optimal"}
    kinds = {name: kind(name, table) for name in used}
    at = {c: [float(m.threshold(table, c)) for m in used.values()] for c in (0.2, 0.8)}
    page.table(
        {
            "method": list(used),
            "in the library": [f"`{method!r}`" for method in used.values()],
            "uses": ["scores" if name.startswith("score") else "rates" for name in used],
            "thresholds are": list(kinds.values()),
            **{f"threshold of B at c = {c}": [_words(t) for t in ts] for c, ts in at.items()},
        }
    )
    for name, methods in page.printed["methods"].items():
        ours = [method for method in used if kinds[method] == name]
        page.claim(f"thresholds that are {name}", ", ".join(ours), ours == methods)


def _words(threshold: float) -> str:
    return f"{threshold:.3f}" if threshold == threshold else "drawn anew"
