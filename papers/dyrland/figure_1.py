"""Figure 1. The space of utility matrices is a hexagon.

Each point is a utility matrix, up to its unit and zero; rows are outputs and columns classes, as in
the paper. In colour, the problems of equations 4 to 6.
"""

from __future__ import annotations

import numpy as np
import style
from dyrland.hexagon import in_lines, outline
from dyrland.turned import by_class
from page import Page

from stakes import Problem
from stakes.audit import HEXAGON, utilities_at, utility_coordinates


def build(page: Page) -> None:
    """The corners, the centre, and the three stories of the paper in it."""
    factory, other, tumours = (
        utility_coordinates(by_class(story["utilities"]))
        for story in page.paper["table-1"]["stories"]
    )
    points = {"factory, tumours (4), (6)": factory, "other gains (5)": other}
    shown = np.vstack([HEXAGON, (HEXAGON + np.roll(HEXAGON, 1, axis=0)) / 2, [[0, 0]]])
    matrices = utilities_at(*shown.T)
    again = utility_coordinates(matrices)
    page.equal(f"eq 13 is one to one, at {len(shown)} points", again, shown)
    centre = by_class(utilities_at(0, 0))
    page.compare("utilities at the centre", page.printed["centre"], centre, decimals=6)
    at = f"({tumours[0]:g}, {tumours[1]:g})"
    page.equal(f"the factory and the tumours are one point, {at}", tumours, factory)
    accuracy = Problem.from_utility_coordinates(0, 0).is_affine_of(Problem.zero_one(2))
    page.claim("the centre is accuracy", None, accuracy)
    texts = [in_lines(by_class(matrix)) for matrix in matrices]
    seen = "A hexagon with a utility matrix at each corner, at the middle of each side, and inside."
    page.picture(_draw(shown, texts, points), seen)


def _draw(shown, texts, points):
    figure, axes = style.panels(1, 1, width=5.6, height=5.4)
    axis = axes[0, 0]
    outline(axis)
    axis.plot(*shown.T, "o", ms=3, color=style.INK)
    for (x, y), text in zip(shown, texts, strict=True):
        out = np.hypot(x, y) or 1
        at = (x + 0.15 * x / out, y + 0.15 * y / out) if (x or y) else (0.13, 0.12)
        axis.text(
            *at,
            text,
            ha="center",
            va="center",
            fontsize=8.5,
            linespacing=1.3,
            bbox={"boxstyle": "round,pad=0.25", "fc": "white", "ec": "#CCCCCC", "lw": 0.6},
        )
    for (name, point), colour in zip(points.items(), (style.RED, style.BLUE), strict=True):
        axis.plot(*point, "D", color=colour, ms=6)
        axis.annotate(
            name,
            point,
            (-8, 5 if colour == style.BLUE else -5),
            textcoords="offset points",
            va="center",
            ha="right",
            color=colour,
        )
    axis.set(
        xlabel="x: class 1 worth less ← → class 0 worth less (when right)",
        ylabel="y: mistakes on class 0 hurt less ← → on class 1 less",
        xlim=(-1.4, 1.4),
        ylim=(-1.4, 1.4),
    )
    return figure
