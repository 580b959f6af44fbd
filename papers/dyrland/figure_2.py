"""Figure 2. Metrics against the utility yield, balanced classes.

Red triangles: tables that the metric puts in exactly the reverse order of their yield; where they
are close to each other, the small panel shows them from near.
"""

from __future__ import annotations

import numpy as np
from dyrland.clouds import clouds
from page import Page

from stakes.simulate import rising_rates


def build(page: Page) -> None:
    """The cloud of random tables with 50 % positives."""
    clouds(page, page.printed["positive_share"])
    rates = rising_rates(np.random.default_rng(7), (1_000_000,))
    quartiles = np.quantile(rates, [0.25, 0.5, 0.75])
    page.compare("quartiles of the rates", page.printed["rate_quartiles"], quartiles, decimals=2)
