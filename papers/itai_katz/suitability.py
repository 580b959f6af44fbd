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
    for name, one in found.items():
        kind = "suitable" if name in page.printed["suitable"] else "semi-suitable"
        holds = one.suitable if kind == "suitable" else one.semi_suitable
        page.claim(f"{name} is {kind}", f"{sum(one.holds)} of {len(properties)} hold", holds)
