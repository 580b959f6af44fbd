"""Section 3.3. Which metrics are utilities in disguise."""

from __future__ import annotations

import numpy as np
from dyrland.hexagon import in_line
from dyrland.turned import turned
from page import Page, listed

from stakes import Counts
from stakes.audit import FAMILIAR, compliance


def build(page: Page) -> None:
    """The utility matrix of each metric that has one, and two pairs of tables for the others."""
    rng = np.random.default_rng(5)
    names = page.printed["yes"] + page.printed["no"]
    results = {name: compliance(FAMILIAR[name], shape=(2, 2), rng=rng) for name in names}
    page.say(
        """The witness against a metric is two pairs of tables: in both pairs the second
        table differs from the first by the same change, up to a factor, so that a utility matrix
        that likes the one must like the other; the metric rises once and falls once."""
    )
    rows = [(name, result.complies, _describe(result)) for name, result in results.items()]
    page.rows(("metric", "complies", "utilities or witness"), rows)
    for name, complies, _ in rows:
        must = name in page.printed["yes"]
        words = {True: "complies", False: "does not comply"}
        page.claim(f"{name} {words[must]}", words[complies], complies == must)
    tables = [np.array(page.paper["table-1"][name]) for name in "AB"]
    known = [float(FAMILIAR["MCC"](Counts(turned(table)))) for table in tables]
    printed, right = ([mcc_by_formula(table, term) for table in tables] for term in (0, 1))
    what = f"the printed formula, {listed(printed, 3)} for A and B, is MCC, {listed(known, 3)}"
    page.equal(what, printed, known, misprint=page.printed["misprint"])
    page.check_equal("with − f₀f₁ in the numerator it is", right, known)


def mcc_by_formula(c: np.ndarray, term: int) -> float:
    """The formula of section 3.3, with or without the term that it lacks."""
    f, x = c.sum(axis=0), c[0, 0] - c[1, 1]
    above = f[1] * c[0, 0] + f[0] * c[1, 1] - term * f.prod()
    return float(above / np.sqrt(f.prod() * (f[1] + x) * (f[0] - x)))


def _describe(result) -> str:
    if result.complies:
        return in_line(turned(result.utilities))
    better, worse = result.witness.better_values, result.witness.worse_values
    return "{:.3f} up to {:.3f}, but {:.3f} down to {:.3f}".format(*better, *worse)
