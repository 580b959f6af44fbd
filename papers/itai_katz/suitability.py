"""Section 3.1. Suitable and semi-suitable metrics."""

from __future__ import annotations

import numpy as np
from itai_katz.metrics import METRICS
from page import Page

from stakes.audit import Gain, suitability


def build(page: Page) -> None:
    """Five properties of each metric, tried on three classes."""
    rng = np.random.default_rng(19)
    audits = {name: suitability(Gain(of), n_classes=3, rng=rng) for name, of in METRICS.items()}
    properties = audits["accuracy"].properties
    page.rows(("metric", *properties), [(name, *audit.holds) for name, audit in audits.items()])
    shown = {
        name: f"{sum(audit.holds)} of {len(properties)} hold" for name, audit in audits.items()
    }
    for name in page.printed["suitable"]:
        page.claim(f"{name} is suitable", shown[name], audits[name].suitable)
    for name in page.printed["semi_suitable"]:
        page.claim(f"{name} is semi-suitable", shown[name], audits[name].semi_suitable)
