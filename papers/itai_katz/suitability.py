"""Section 3.1. Suitable and semi-suitable metrics."""

from __future__ import annotations

import numpy as np
from itai_katz.metrics import METRICS
from page import Page

from stakes.audit import Gain, suitability


def build(page: Page) -> None:
    """Five properties of each metric, tried on three classes."""
    rng = np.random.default_rng(19)
    found = {name: suitability(Gain(of), n_classes=3, rng=rng) for name, of in METRICS.items()}
    properties = found["accuracy"].properties
    page.rows(("metric", *properties), [(name, *one.holds) for name, one in found.items()])
    shown = {name: f"{sum(one.holds)} of {len(properties)} hold" for name, one in found.items()}
    for name in page.printed["suitable"]:
        page.claim(f"{name} is suitable", shown[name], found[name].suitable)
    for name in page.printed["semi_suitable"]:
        page.claim(f"{name} is semi-suitable", shown[name], found[name].semi_suitable)
