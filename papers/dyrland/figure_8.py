"""Figure 8. The larger area under the ROC curve loses: the tangent decides.

Classifiers with normal scores, made up here. Along a grey line the yield is the same; the higher
the line that a curve touches, dotted, the more its best threshold yields.
"""

from __future__ import annotations

import numpy as np
import style
from dyrland.turned import turned
from page import Page
from scipy.stats import norm

from stakes import Problem, ScoreTable, auc, best_threshold
from stakes.curves import roc_curve


def build(page: Page) -> None:
    """Two classifiers with normal scores whose ROC curves cross."""
    scores = np.linspace(-6, 8, 1401)
    tables = {
        "red": ScoreTable(scores, masses(scores, mean=1.9, sd=1.3)),
        "blue": ScoreTable(scores, masses(scores, mean=1.2, sd=0.5)),
    }
    stories = list(zip(page.printed["utilities"], page.printed["positive_share"], strict=True))
    problems = [Problem.from_utilities(turned(u), prior=[1 - b, b]) for u, b in stories]
    best = {name: [best_threshold(t, p) for p in problems] for name, t in tables.items()}
    rows = [
        (name, auc(tables[name]), some[0].intercept, *(-optimum.cost for optimum in some))
        for name, some in best.items()
    ]
    yields = [f"yield, {u}, B = {b}" for u, b in stories]
    page.rows(("classifier", "AUC", "intercept of the tangent", *yields), rows, decimals=3)
    page.claim("red has the larger area", None, auc(tables["red"]) > auc(tables["blue"]))
    for k, (red, blue) in enumerate(zip(*best.values(), strict=True), start=1):
        better = blue.cost < red.cost and blue.intercept > red.intercept
        shown = f"{-blue.cost:.3f}, not {-red.cost:.3f}, where the slope is {red.slope:g}"
        page.claim(f"yet blue yields more, problem {k}", shown, better)
    page.claim("both problems rank alike", None, problems[0].is_equivalent(problems[1]))
    curves = {
        f"{name}: AUC {float(auc(t)):.3f}": roc_curve(t).columns() for name, t in tables.items()
    }
    touched = [some[0] for some in best.values()]
    rates = [
        optimum.counts.values[:, 1] / optimum.counts.values.sum(axis=-1) for optimum in touched
    ]
    seen = "Two ROC curves that cross; the one with the smaller area touches the higher tangent."
    page.picture(_draw(curves, touched, rates), seen)


def masses(scores, *, mean, sd):
    """Weights of both classes between the scores: negatives N(0, 1), positives N(mean, sd²)."""
    edges = np.r_[-np.inf, (scores[1:] + scores[:-1]) / 2, np.inf]
    return np.transpose([np.diff(norm.cdf(edges)), np.diff(norm.cdf(edges, mean, sd))])


def _draw(curves, touched, rates):
    figure, axes = style.panels(1, 1, width=4.8, height=4.5)
    axis, x = axes[0, 0], np.array([0, 1])
    looks = (style.RED, "--"), (style.BLUE, "-")
    for name, optimum, at, (colour, dash) in zip(curves, touched, rates, looks, strict=True):
        axis.plot(*curves[name].values(), color=colour, ls=dash, label=name)
        axis.plot(x, optimum.intercept + optimum.slope * x, color=colour, lw=0.9, ls=":")
        axis.plot(*at, "o", color=colour, ms=6)
    for height in np.arange(0, 1, 0.1):
        axis.plot(x, height + optimum.slope * x, color=style.GREY, lw=0.4, alpha=0.6, zorder=0)
    axis.set(
        xlabel="false-positive rate", ylabel="true-positive rate", xlim=(0, 1), ylim=(0, 1.003)
    )
    axis.legend(loc="lower right", facecolor="white", framealpha=1, frameon=True, edgecolor="none")
    return figure
