"""Figure 3. Metrics against the utility yield, nine positives in ten.

Red triangles: tables that the metric puts in exactly the reverse order of their yield; where they
are close to each other, the small panel shows them from near.
"""

from __future__ import annotations

from dyrland.clouds import clouds
from page import Page


def build(page: Page) -> None:
    """The cloud of random tables with 90 % positives."""
    clouds(page, page.printed["positive_share"])
