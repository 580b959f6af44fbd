"""Figure 4. Beliefs about unknown utilities: normal about accuracy, cut off at the hexagon."""

from __future__ import annotations

import numpy as np
import style
from dyrland.hexagon import as_text, outline
from page import Page, number

from stakes import Problem
from stakes.audit import NormalUtilities, UniformUtilities, utility_coordinates


def build(page: Page) -> None:
    """Draws of both distributions, and the expected utilities: the matrix to use."""
    rng, n = np.random.default_rng(8), 4000
    sd = page.printed["sd"]
    beliefs = {"Uniform": UniformUtilities(), f"Normal, sd {sd}": NormalUtilities(number(sd))}
    drawn = {name: utility_coordinates(belief(rng, n)) for name, belief in beliefs.items()}
    page.table(
        {
            "distribution": list(beliefs),
            "expected utilities": [
                as_text(belief.expected.round(4)).replace("\n", "; ") for belief in beliefs.values()
            ],
        }
    )
    for name, belief in beliefs.items():
        same = Problem.from_utilities(belief.expected).is_affine_of(Problem.zero_one(2))
        page.claim(f"{name}: symmetric ignorance makes accuracy the metric", "yes", same)
    page.picture(_draw(drawn), "dyrland-figure-4", __doc__)


def _draw(drawn):
    figure, axes = style.panels(1, 2, width=7.6, height=3.9)
    for axis, (name, points) in zip(axes[0], drawn.items(), strict=True):
        outline(axis, title=name)
        axis.scatter(*points.T, s=3, color=style.BLUE, alpha=0.4, lw=0, rasterized=True)
    circle = np.linspace(0, 2 * np.pi, 200)
    for k in (1, 2):
        axis.plot(k / 3 * np.cos(circle), k / 3 * np.sin(circle), color=style.INK, lw=0.9, ls="--")
        axis.annotate(
            f"{k} sd",
            (0, k / 3),
            (0, 2),
            textcoords="offset points",
            ha="center",
            fontsize=8,
            bbox={"fc": "white", "ec": "none", "alpha": 0.85, "pad": 0.5},
        )
    return figure
