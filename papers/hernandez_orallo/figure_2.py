"""Figure 2. ROC curves of models A and B, and their convex hulls."""

from __future__ import annotations

import style
from hernandez_orallo.models import models
from page import Page

from stakes import auc
from stakes.curves import hull_curve, roc_curve
from stakes.ranking import auc_of_hull, is_convex


def build(page: Page) -> None:
    """Curves, with the areas under them."""
    tables = models()
    curves = {name: (roc_curve(t), hull_curve(t)) for name, t in tables.items()}
    rows = [(name, auc(t), auc_of_hull(t), is_convex(t)) for name, t in tables.items()]
    page.rows(("model", "AUC", "area under the hull", "convex"), rows, decimals=4)
    for name, area, area_of_hull, _ in rows:
        areas = [curve.integral() for curve in curves[name]]
        page.check_equal(f"{name}: areas under both curves are these", areas, [area, area_of_hull])
    seen = "Two ROC curves with their hulls: A steps just below its hull, B is its own hull."
    page.picture(_draw(curves), seen)


def _draw(curves):
    figure, axes = style.panels(1, 2, width=8, height=3.9)
    for axis, (name, (roc, hull)) in zip(axes[0], curves.items(), strict=True):
        axis.plot([0, 1], [0, 1], color=style.GREY, lw=0.8, ls=":")
        axis.plot(*hull.columns().values(), color=style.ORANGE, ls="--", label="convex hull")
        axis.plot(*roc.columns().values(), color=style.BLUE, label="ROC curve")
        axis.set(title=f"Model {name}", xlabel="false-positive rate", aspect="equal")
    axes[0, 0].set_ylabel("true-positive rate")
    axes[0, 0].legend(loc="lower right")
    return figure
