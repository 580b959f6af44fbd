"""Figure 5. How far errors in the utilities reach."""

from __future__ import annotations

import numpy as np
import style
from dyrland.hexagon import as_text, outline
from dyrland.pairs import CONVENTION, nominal
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
    centres = [np.transpose(centre) for centre in both]
    errors = {sd: AssessmentError(nominal(sd, UniformUtilities())) for sd in page.printed["sds"]}
    drawn = [
        {sd: utility_coordinates(error(rng, np.stack(n * [true]))) for sd, error in errors.items()}
        for true in np.asarray(centres, dtype=float)
    ]
    page.say(
        f"""The caption prints the same matrix twice; the second one here is the identity.
        {CONVENTION} Here they are {listed([e.sd for e in errors.values()], 3)} before. Assessed
        utilities are rescaled to run from 0 to 1 before they are drawn."""
    )
    inside = all(is_admissible(*p.T).all() for some in drawn for p in some.values())
    page.claim("assessed utilities stay admissible", "all do", inside)
    page.picture(_draw(centres, drawn), "dyrland-figure-5", __doc__)


def _draw(centres, drawn):
    figure, axes = style.panels(1, 2, width=7.6, height=4.1)
    for axis, true, some in zip(axes[0], centres, drawn, strict=True):
        outline(axis, title="About [" + as_text(true).replace("\n", "; ").replace("  ", " ") + "]")
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
        axis.plot(*utility_coordinates(true), "D", color=style.INK, ms=6)
        axis.legend(loc="upper left")
    return figure
