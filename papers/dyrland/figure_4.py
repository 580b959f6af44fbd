"""Figure 4. Beliefs about unknown utilities: normal about accuracy, cut off at the hexagon.

The paper draws the normal distribution; the uniform one, of its section 4.2, stands beside it.
"""

from __future__ import annotations

import numpy as np
import style
from dyrland.hexagon import in_line, outline
from dyrland.turned import by_class
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
                in_line(by_class(belief.expected.round(4))) for belief in beliefs.values()
            ],
        }
    )
    for name, belief in beliefs.items():
        same = Problem.from_utilities(belief.expected).is_affine_of(Problem.zero_one(2))
        page.claim(f"{name}: symmetric ignorance makes accuracy the metric", None, same)
    seen = (
        "Two hexagons: points all over the one, and mostly within 2 sd of the centre of the other."
    )
    page.picture(_draw(drawn, number(sd)), seen)


def _draw(drawn, sd):
    figure, axes = style.panels(1, 2, width=7.6, height=3.9)
    for axis, (name, points) in zip(axes[0], drawn.items(), strict=True):
        outline(axis, title=name)
        axis.scatter(*points.T, s=3, color=style.BLUE, alpha=0.4, lw=0, rasterized=True)
    circle = np.linspace(0, 2 * np.pi, 200)
    for k in (1, 2):
        axis.plot(
            k * sd * np.cos(circle), k * sd * np.sin(circle), color=style.INK, lw=0.9, ls="--"
        )
        axis.annotate(
            f"{k} sd",
            (0, k * sd),
            (0, 2),
            textcoords="offset points",
            ha="center",
            fontsize=8,
            bbox={"fc": "white", "ec": "none", "alpha": 0.85, "pad": 0.5},
        )
    return figure
