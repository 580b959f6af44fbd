"""Equations 6 to 8. With two classes the determinant is Matthews' correlation."""

from __future__ import annotations

import numpy as np
from draws import uniform_tables
from page import Page

from stakes.agreement import cramers_phi, determinant_mcc
from stakes.measures import mcc


def build(page: Page) -> None:
    """The determinant, Cramér's φ and equation 7 as printed, on random tables."""
    n = 500
    counts = uniform_tables(n, rng=np.random.default_rng(17))
    known = mcc(counts)
    low, high = known.min(), known.max()
    page.say(
        f"Class shares and rates are uniform on [0, 1]; MCC runs from {low:.2f} to {high:.2f}."
    )
    page.equal(f"det M = MCC for two classes, {n} tables", determinant_mcc(counts), known)
    phi = cramers_phi(counts)
    page.equal(f"Cramér's φ = abs(MCC) for two classes, {n} tables", phi, np.abs(known))
    rates = counts.values / counts.values.sum(axis=-1, keepdims=True)
    column_rates = counts.values / counts.values.sum(axis=-2, keepdims=True)
    right, precise = (np.diagonal(r, axis1=-2, axis2=-1) for r in (rates, column_rates))
    seven = np.linalg.det(np.sqrt(right[..., :, None] * precise[..., None, :]))
    wrong = page.printed["misprint"]
    page.equal("the determinant of equation 7 is MCC", seven, known, misprint=wrong)
    page.check_equal("the determinant of equation 7 is 0", seven, 0)
