"""Figure 4. The order of the losses, in general and for special scores."""

from __future__ import annotations

import numpy as np
import style
from hernandez_orallo.models import loss, models
from page import Page, near

from stakes import ScoreTable
from stakes.ranking import evenly_spaced, isotonic

SHOWN = "score-uniform", "score-driven", "rate-uniform", "rate-driven", "optimal"


def build(page: Page) -> None:
    """Losses of A and B and of their transforms, of perfect and of random scores."""
    a, b = models().values()
    n = 1000
    grid = np.arange(2 * n) / (2 * n - 1)
    systems = {
        "A": a,
        "B": b,
        "A, evenly spaced": evenly_spaced(a),
        "A, calibrated": isotonic(a),
        "B, calibrated": isotonic(b),
        "perfect": ScoreTable(grid, np.repeat(np.eye(2), n, axis=0)),
        "perfect, 30 % positive": ScoreTable([0.0, 1.0], [[7, 0], [0, 3]]),
        "random": ScoreTable(grid, np.ones((2 * n, 2))),
        "random, crisp": ScoreTable([0.0, 1.0], [[1, 1], [1, 1]]),
    }
    value = {who: {m: loss(t, m) for m in SHOWN} for who, t in systems.items()}
    page.table(
        {"scores": list(value), **{m: [f"{v[m]:.4f}" for v in value.values()] for m in SHOWN}}
    )
    _general(page, value)
    _special(page, value)
    page.picture(_draw(value), "hernandez-orallo-figure-4", __doc__)


def _general(page: Page, value: dict) -> None:
    """The first box, for every system."""
    for left, right in (
        ("rate-uniform", "rate-driven"),
        ("rate-driven", "optimal"),
        ("score-uniform", "score-driven"),
        ("score-driven", "optimal"),
    ):
        least = min(v[left] - v[right] for v in value.values())
        page.claim(f"{left} ≥ {right}", f"by at least {abs(least):.3f}", least >= -1e-12)


def _special(page: Page, value: dict) -> None:
    """The other boxes."""
    print_ = page.printed
    even, n = value["A, evenly spaced"], models()["A"].n_cases
    for rate, score in (("rate-uniform", "score-uniform"), ("rate-driven", "score-driven")):
        gap = abs(even[rate] - even[score])
        page.claim(f"evenly spaced: {rate} = {score}", f"to {gap:.4f}, n = {n:.0f}", gap < 1 / n)
    for who in ("A, calibrated", "B, calibrated"):
        v = value[who]
        spread = np.ptp([v["score-driven"], v["optimal"], v["score-uniform"] / 2])
        page.claim(
            f"{who}: score-driven = optimal = half of score-uniform", near(spread), spread < 1e-12
        )
    for method, paper in print_["perfect"].items():
        page.compare(f"perfect, {method}", paper, value["perfect"][method], decimals=3)
        if method != "optimal":
            page.compare(
                f"perfect, 30 % positive, {method}",
                paper,
                value["perfect, 30 % positive"][method],
                decimals=3,
                misprint=print_["misprint"]["perfect"],
            )
    for method, paper in print_["random"].items():
        wrong = print_["misprint"]["random"] if method == "score-driven" else ""
        page.compare(
            f"random, {method}", paper, value["random"][method], decimals=3, misprint=wrong
        )
    page.compare(
        "random and crisp, score-driven",
        print_["random"]["score-driven"],
        value["random, crisp"]["score-driven"],
        decimals=3,
    )


def _draw(value):
    figure, axes = style.panels(1, 1, width=7.5, height=4.4)
    axis = axes[0, 0]
    marks = dict(zip(SHOWN, "sos^D", strict=True))
    colours = style.ORANGE, style.BLUE, style.PURPLE, style.RED, style.INK
    for method, colour in zip(SHOWN, colours, strict=True):
        x = [v[method] for v in value.values()]
        hollow = {"markerfacecolor": "none"} if method.endswith("uniform") else {}
        y = np.arange(len(x)) + 0.13 * (SHOWN.index(method) - 2)
        axis.plot(x, y, marks[method], color=colour, ms=6, ls="none", label=method, **hollow)
    axis.set_yticks(range(len(value)), value)
    axis.invert_yaxis()
    axis.grid(visible=False, axis="y")
    for border in range(len(value) - 1):
        axis.axhline(border + 0.5, color="#E6E6E6", lw=0.6)
    axis.set(xlabel="expected loss, uniform cost proportions", xlim=(-0.01, 0.56))
    axis.legend(loc="upper left", bbox_to_anchor=(1, 1))
    return figure
