"""Figure 5. How far errors in the utilities reach.

The black diamond is the true matrix, the other marks are what may be assessed in its place.
"""

from __future__ import annotations

import numpy as np
import style
from dyrland.hexagon import in_line, outline
from dyrland.pairs import CONVENTION, nominal
from dyrland.turned import by_class
from page import Page, listed

from stakes.audit import (
    AssessmentError,
    UniformUtilities,
    is_admissible,
    utility_coordinates,
)


def build(page: Page) -> None:
    """Assessed utilities about two true matrices, with two sizes of error."""
    rng, n = np.random.default_rng(9), 400
    both = page.printed["centre"], page.printed["inferred"]["centre"]
    centres = [by_class(centre) for centre in both]
    errors = {sd: AssessmentError(nominal(sd, UniformUtilities())) for sd in page.printed["sds"]}
    drawn = [
        {sd: utility_coordinates(error(rng, np.stack(n * [true]))) for sd, error in errors.items()}
        for true in centres
    ]
    page.say(
        f"""The caption prints the same matrix twice; the second one here is the identity.
        {CONVENTION} Here they are {listed([e.sd for e in errors.values()], 3)} before. Assessed
        utilities are rescaled to run from 0 to 1 before they are drawn."""
    )
    inside = np.array([is_admissible(*p.T) for some in drawn for p in some.values()])
    shown = f"{inside.sum()} of {inside.size} do"
    page.claim("assessed utilities stay admissible", shown, inside.all())
    panels = [(in_line(c), utility_coordinates(by_class(c))) for c in both]
    seen = "Two hexagons: marks about a true matrix far from the centre, and about the centre."
    page.picture(_draw(panels, drawn), seen)


def _draw(panels, drawn):
    figure, axes = style.panels(1, 2, width=7.6, height=4.1)
    for axis, (name, at), some in zip(axes[0], panels, drawn, strict=True):
        outline(axis, title=f"About {name}")
        marks = (style.BLUE, "^"), (style.RED, "s")
        for (sd, points), (colour, mark) in reversed(list(zip(some.items(), marks, strict=True))):
            axis.scatter(
                *points.T,
                s=9,
                marker=mark,
                facecolor="none",
                edgecolor=colour,
                lw=0.7,
                rasterized=True,
                label=f"error sd {sd:g}",
            )
        axis.plot(*at, "D", color=style.INK, ms=6)
        axis.legend(loc="upper left")
    return figure
