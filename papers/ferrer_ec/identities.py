"""Section 3 and appendix C. Four metrics as functions of an expected cost.

Above, the metric against the cost; colour is the share of positive decisions, which is what is left
after the cost. Below, both sides of the identity against each other, for all parameters.
"""

from __future__ import annotations

import numpy as np
import style
from draws import uniform_tables
from ferrer_ec.sides import balanced, by_beta, by_threshold
from page import Page

from stakes import Counts
from stakes.measures import best_naive_f_beta, f_beta

BETAS, THRESHOLDS = (0.5, 1, 2), (0.05, 0.2, 0.5, 0.8)


def build(page: Page) -> None:
    """Both sides of every identity on random tables."""
    n = 1000
    counts = uniform_tables(n, rng=np.random.default_rng(4))
    f = {f"β = {beta:g}": by_beta(counts, beta) for beta in BETAS}
    mcc, ratio = balanced(counts)
    sides = {
        "1 − F, eq 12": {name: both[0] for name, both in f.items()},
        "1 − F by NEC, eq 12": {name: both[1] for name, both in f.items()},
        "MCC, eq 14": {"": mcc},
        "Net benefit, eq 27": {f"p = {p}": by_threshold(counts, p) for p in THRESHOLDS},
        "LR+, eq 29": {"": ratio},
    }
    low, high = mcc.metric.min(), mcc.metric.max()
    page.say(
        f"Class shares and rates are uniform on [0, 1]; MCC runs from {low:.2f} to {high:.2f}."
    )
    for name, some in sides.items():
        for which, side in some.items():
            size = np.maximum(np.abs(side.metric), 1)  # LR+ has no upper bound
            words = ", ".join(filter(None, (name, which, f"{n} tables")))
            page.equal(words, side.metric / size, side.other / size)
    p2 = counts.shares[:, 1]
    always = Counts(np.stack([0 * counts.shares, counts.shares], axis=-1))
    for beta in BETAS:
        naive, formula = f_beta(always, beta)[:, 1], (1 + beta**2) * p2 / (beta**2 * p2 + 1)
        words = f"best naive F, β = {beta:g} (section 3.1), is to decide for H2 always"
        page.equal(words, [best_naive_f_beta(counts, beta)[:, 1], naive], [formula, formula])
    seen = """Ten panels, two for each metric: clouds of points that the cost alone does not order,
        and points on the diagonal."""
    page.picture(_draw(sides, counts.values[..., 1].sum(axis=-1)), seen)


def _draw(sides, detected):
    figure, axes = style.panels(2, 5, width=13, height=5.4)
    costs = "EC, β = 2", "NEC, β = 2", "NEC$_b$", "NEC, p = 0.2", "NEC$_b$"
    shown = -1, -1, 0, 1, 0
    for (cloud_axis, axis), (name, some), label, k in zip(
        axes.T, sides.items(), costs, shown, strict=True
    ):
        side = list(some.values())[k]
        cloud = cloud_axis.scatter(
            side.cost, side.metric, c=detected, s=5, cmap=style.MAP, vmin=0, vmax=1, lw=0
        )
        cloud.set_rasterized(True)
        cloud_axis.set(title=name, xlabel=label + (", log axis" if "=" in label else ""))
        if "=" in label:
            cloud_axis.set_xscale("log")
        for start, (which, both) in enumerate(some.items()):  # few of each, so that all are seen
            few = slice(start, None, 40 if len(some) > 1 else 1)
            look = {"s": 13 if len(some) > 1 else 6, "color": style.COLOURS[start], "lw": 0}
            dots = axis.scatter(both.other[few], both.metric[few], label=which, **look)
            dots.set_rasterized(True)
        if "LR+" in name:
            cloud_axis.set(yscale="log", ylabel="log axis")
            axis.set(xscale="log", yscale="log", ylabel="log axes")
        ends = np.array(axis.get_xlim())
        axis.plot(ends, ends, color=style.GREY, lw=0.8, zorder=0)
        axis.set(xlabel="its other side")
        if len(some) > 1:
            axis.legend(loc="upper left", handletextpad=0.1, borderaxespad=0.1)
    axes[0, 0].set_ylabel("metric")
    axes[1, 0].set_ylabel("metric")
    figure.colorbar(cloud, ax=axes[0], label="$R_{*2}$", aspect=14, pad=0.01)
    return figure
