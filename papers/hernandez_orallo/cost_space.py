"""Sections 6.1 and 8. All curves in cost space; each area is an expected loss.

The grey lines are fixed thresholds; the optimal curve is the edge below all of them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import style
from hernandez_orallo.models import METHODS, loss, models
from page import Page

from stakes import CostProportions, Skews, expected_loss
from stakes.curves import cost_curve, cost_lines
from stakes.regions import Classifiers, cheapest_regions


def build(page: Page) -> None:
    """Curves of seven methods over cost proportions and over skews, and who wins where."""
    tables, axes = models(), {"cost proportion": CostProportions, "skew": Skews}
    curves = {
        (name, axis): {m: cost_curve(t, method, over) for m, method in METHODS.items()}
        for name, t in tables.items()
        for axis, over in axes.items()
    }
    areas = [[curve.integral() for curve in of.values()] for of in curves.values()]
    known = [[loss(tables[name], m, axes[axis]()) for m in METHODS] for name, axis in curves]
    page.equal(f"area under every curve = expected loss, {np.size(areas)} curves", areas, known)
    chosen: dict[Any, Any] = {
        f"{name}, {m}": (name, METHODS[m])
        for name in tables
        for m in ("score-driven", "rate-driven")
    }
    regions = cheapest_regions(tables, Classifiers(chosen, CostProportions))
    wins = [sum(high - low for low, high in regions.of(who)) for who in chosen]
    losses = [expected_loss(tables[n], method, CostProportions()) for n, method in chosen.values()]
    page.say("Which of A and B, score-driven or rate-driven, is the cheapest depends on the costs:")
    page.table(
        {
            "classifier": chosen,
            "expected loss": losses,
            "cheapest on this share of the cost proportions": wins,
        },
        decimals=3,
    )
    points = {of: {m: c.points(8) for m, c in some.items()} for of, some in curves.items()}
    lines = [cost_lines(tables[name], axes[axis]) for name, axis in curves]
    seen = """Four panels, models A and B over cost proportions and over skews: seven curves of loss
        above or on the lower edge of a pencil of lines."""
    page.picture(_draw(points, lines), seen)


def _draw(points, pencils):
    figure, axes = style.panels(2, 2, width=9.4, height=6.6, sharex=True, sharey=True)
    looks = {
        "score-fixed": (style.GREY, "-"),
        "score-uniform": (style.ORANGE, "--"),
        "score-driven": (style.BLUE, "-"),
        "rate-fixed": (style.GREY, ":"),
        "rate-uniform": (style.RED, "--"),
        "rate-driven": (style.RED, "-"),
        "optimal": (style.INK, "-"),
    }
    for axis, ((name, kind), of), lines in zip(axes.flat, points.items(), pencils, strict=True):
        step = 1 + lines.thresholds.size // 60  # enough to see the pencil of lines
        ends = [lines.at_zero[::step], lines.at_one[::step]]
        axis.plot([0, 1], ends, color=style.GREY, lw=0.4, alpha=0.35)
        for method, (colour, dash) in looks.items():
            wide = 3 if method == "score-fixed" else 1.5  # which others may cover
            axis.plot(
                of[method]["x"], of[method]["y"], color=colour, ls=dash, lw=wide, label=method
            )
        axis.set(title=f"Model {name}", xlabel=kind, xlim=(0, 1), ylim=(0, 0.95))
        axis.xaxis.set_tick_params(labelbottom=True)
    axes[0, 0].set_ylabel("loss")
    axes[1, 0].set_ylabel("loss")
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside right center")
    return figure
