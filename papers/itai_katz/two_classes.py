"""Equations 6 to 8. With two classes the determinant is Matthews' correlation."""

from __future__ import annotations

import numpy as np
from page import Page, near

from stakes.agreement import cramers_phi, determinant_mcc
from stakes.measures import mcc
from stakes.simulate import random_confusion, rising_rates, uniform_shares


def build(page: Page) -> None:
    """The determinant, Cramér's φ and equation 7 as printed, on random tables."""
    rng = np.random.default_rng(17)
    counts = random_confusion(500, 1, share=uniform_shares, correct_rates=rising_rates, rng=rng)[
        :, 0
    ]
    known = mcc(counts)
    for name, value in (("det M", determinant_mcc(counts)), ("Cramér's φ", cramers_phi(counts))):
        gap = np.abs(np.abs(value) - np.abs(known)).max()
        page.claim(f"{name} = MCC for two classes", f"500 tables, {near(gap)}", gap < 1e-9)
    rates = counts.values / counts.values.sum(axis=-1, keepdims=True)
    found = counts.values / counts.values.sum(axis=-2, keepdims=True)
    right, precise = (np.diagonal(r, axis1=-2, axis2=-1) for r in (rates, found))
    seven = np.linalg.det(np.sqrt(right[..., :, None] * precise[..., None, :]))
    page.claim(
        "the determinant of equation 7 is MCC",
        f"it is {np.abs(seven).max():.0f}",
        np.allclose(seven, known),
        misprint=page.printed["misprint"],
    )
