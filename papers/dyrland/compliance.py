"""Section 3.3. Which metrics are utilities in disguise."""

from __future__ import annotations

import numpy as np
from dyrland.hexagon import as_text
from page import Page

from stakes.audit import FAMILIAR, compliance


def build(page: Page) -> None:
    """The utility matrix of each metric that has one, and two pairs of tables for the others."""
    rng = np.random.default_rng(5)
    names = page.printed["yes"] + page.printed["no"]
    found = {name: compliance(FAMILIAR[name], shape=(2, 2), rng=rng) for name in names}
    page.say(
        """The witness against a metric is two pairs of tables: in both pairs the second
        table differs from the first by the same change, up to a factor, so that a utility matrix
        that likes the one must like the other; the metric rises once and falls once."""
    )
    rows = [(name, one.complies, _describe(one)) for name, one in found.items()]
    page.rows(("metric", "complies", "utilities or witness"), rows)
    for name, complies, _ in rows:
        must = name in page.printed["yes"]
        words = {True: "complies", False: "does not comply"}
        page.claim(f"{name} {words[must]}", words[complies], complies == must)


def _describe(result) -> str:
    if result.complies:
        return as_text(np.flip(result.utilities)).replace("\n", "; ")
    better, worse = result.witness.better_values, result.witness.worse_values
    return "{:.3f} up to {:.3f}, but {:.3f} down to {:.3f}".format(*better, *worse)
