"""Section 3 and appendix C. Four metrics as functions of an expected cost.

Random tables of two classes; what is left after the cost is the share of positive decisions.
"""

from __future__ import annotations

import numpy as np
import style
from page import Page

from stakes import Problem, expected_cost, normalized_cost
from stakes.audit import FAMILIAR, PositiveClass
from stakes.measures import decision_rates, f_beta, likelihood_ratio_positive, net_benefit
from stakes.simulate import random_confusion, rising_rates, uniform_shares

BETA, P = 2.0, 0.2


def build(page: Page) -> None:
    """Both sides of every identity on random tables."""
    rng, n = np.random.default_rng(4), 1000
    drawn = random_confusion(n, 1, share=uniform_shares, correct_rates=rising_rates, rng=rng)
    counts = drawn[:, 0]
    p1, p2 = counts.shares.T
    detected, false_alarm = counts.values[..., 1].sum(axis=-1), decision_rates(counts)[:, 0, 1]
    by_beta = Problem.binary(false_alarm=1, miss=BETA**2)
    ec, nec = expected_cost(counts, by_beta), normalized_cost(counts, by_beta)
    nec_b = normalized_cost(counts.with_prior([0.5, 0.5]), Problem.zero_one(2))
    nec_p = normalized_cost(counts, Problem.from_threshold(P))
    f, below = f_beta(counts, BETA)[:, 1], BETA**2 * p2 + detected
    mcc, spread = FAMILIAR["MCC"](counts), np.sqrt(p1 * p2 / (detected * (1 - detected)))
    benefit, odds = net_benefit(counts, P), P / (1 - P)
    ratio = PositiveClass(likelihood_ratio_positive)(counts)
    sides = {  # the metric, its other side, the cost in it, and the name of that cost
        "1 − F2, eq 12": (1 - f, ec / below, ec, "EC$_4$"),
        "1 − F2 by NEC, eq 12": (1 - f, np.minimum(BETA**2 * p2, p1) * nec / below, nec, "NEC$_4$"),
        "MCC, eq 14": (mcc, spread * (1 - nec_b), nec_b, "NEC$_b$"),
        "Net benefit, eq 27": (benefit, p2 - np.minimum(p2, odds * p1) * nec_p, nec_p, "NEC$_p$"),
        "LR+, eq 29": (ratio, (1 - nec_b) / false_alarm + 1, nec_b, "NEC$_b$"),
    }
    for name, (left, right, *_) in sides.items():
        page.equal(f"{name}, {n} tables", left / right, 1)
    page.picture(_draw(sides, detected), "ferrer-ec-identities", "Five panels: " + __doc__)


def _draw(sides, detected):
    figure, axes = style.panels(2, 3, width=9.5, height=5.6)
    for axis, (name, (metric, _, cost, label)) in zip(axes.flat, sides.items(), strict=False):
        cloud = axis.scatter(cost, metric, c=detected, s=5, cmap=style.MAP, vmin=0, vmax=1, lw=0)
        cloud.set_rasterized(True)
        axis.set(title=name, xlabel=label)
        if label in ("NEC$_4$", "NEC$_p$"):
            axis.set_xlim(0, 3)
    axes[1, 1].set_yscale("log")
    axes[1, 2].axis("off")
    bar = figure.colorbar(cloud, ax=axes[1, 2], location="left", shrink=0.9, aspect=12)
    bar.set_label("$R_{*2}$, share of positive decisions")
    return figure
