"""Equations 1 to 5. Power means between the minimum and the maximum.

F1 is the mean of order −1 of sensitivity and precision, Fowlkes-Mallows that of order 0.
"""

from __future__ import annotations

import numpy as np
import style
from page import Page

from stakes import Counts
from stakes.agreement import f1_of_negatives, mean_of_four_rates, power_mean
from stakes.measures import (
    f_beta,
    fowlkes_mallows,
    negative_predictive_value,
    precision,
    recall,
    specificity,
)
from stakes.simulate import random_confusion, uniform_shares

ORDERS = np.linspace(-12, 12, 241)


def build(page: Page) -> None:
    """The chain of means on random tables, and the metrics that are means."""
    rng, n = np.random.default_rng(16), 500
    drawn = random_confusion(n, 1, share=uniform_shares, correct_rates=uniform_shares, rng=rng)
    counts = drawn[:, 0]
    swapped = Counts(counts.values[:, ::-1, ::-1])
    pair = np.stack([recall(counts), precision(counts)], axis=-1)[:, 1]
    chain = np.array([power_mean(pair, p) for p in (-np.inf, -1, 0, 1, np.inf)])
    rises = np.diff(chain, axis=0).min()
    page.claim("min ≤ H ≤ G ≤ A ≤ max (eq 3)", f"{n} tables", rises > -1e-12)
    rises = np.diff([power_mean(pair, p) for p in ORDERS], axis=0).min()
    page.claim("rising in p (eq 4)", f"{ORDERS.size} orders", rises > -1e-12)
    page.equal("F1 is such a mean", f_beta(counts, 1)[:, 1], chain[1])
    page.equal("Fowlkes-Mallows is such a mean", fowlkes_mallows(counts)[:, 1], chain[2])
    wanted = f_beta(swapped, 1)[:, 1]
    page.check_equal("F1-0 is F1 with the classes swapped", f1_of_negatives(counts)[:, 1], wanted)
    printed = power_mean(np.stack([specificity(counts), recall(counts)], axis=-1)[:, 1], -1)
    gap, wrong = np.abs(printed - wanted).max(), page.printed["misprint"]
    words = "F1-0 as printed does the same"
    page.claim(words, f"off by up to {gap:.2f}", gap < 1e-9, misprint=wrong)
    example = Counts([[70, 30], [2, 18]])
    page.picture(_draw(example), "itai-katz-means", "Two panels: " + __doc__)


def _draw(example):
    figure, axes = style.panels(1, 2, width=8.6, height=3.5, sharey=True)
    rates = {
        "sensitivity": recall,
        "precision": precision,
        "specificity": specificity,
        "NPV": negative_predictive_value,
    }
    value = {name: float(rate(example)[1]) for name, rate in rates.items()}
    two = [value["sensitivity"], value["precision"]]
    axes[0, 0].plot(ORDERS, [power_mean(two, p) for p in ORDERS])
    for p, name in ((-1, "F1"), (0, "Fowlkes-Mallows"), (1, "arithmetic mean")):
        axes[0, 0].plot(p, power_mean(two, p), "o", color=style.RED)
        axes[0, 0].annotate(
            name, (p, float(power_mean(two, p))), (9, -7), textcoords="offset points"
        )
    low = ORDERS[ORDERS <= 1]  # no metric above the arithmetic mean
    axes[0, 1].plot(low, [mean_of_four_rates(example, mean=p)[1] for p in low])
    for axis, shown in ((axes[0, 0], list(value)[:2]), (axes[0, 1], list(value))):
        for name in shown:
            axis.axhline(value[name], color=style.GREY, lw=0.9, ls="--")
            axis.annotate(
                name,
                (ORDERS[-1], value[name]),
                (0, 3),
                textcoords="offset points",
                ha="right",
                fontsize=8,
                va="bottom",
            )
        axis.set(xlabel="order p", xlim=(ORDERS[0], ORDERS[-1]), ylim=(0.33, 1.03))
    axes[0, 0].set(title="Of two rates", ylabel="power mean")
    axes[0, 1].set(title="Of four rates")
    return figure
