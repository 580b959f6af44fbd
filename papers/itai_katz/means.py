"""Equations 1 to 5. Power means between the minimum and the maximum.

F1 is the mean of order −1 of sensitivity and precision, Fowlkes-Mallows that of order 0. On the
right, means of four rates at once, whose order is at most 1.
"""

from __future__ import annotations

import numpy as np
import style
from draws import uniform_tables
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

ORDERS = np.linspace(-12, 12, 241)
RATES = {
    "sensitivity": recall,
    "precision": precision,
    "specificity": specificity,
    "NPV": negative_predictive_value,
}


def build(page: Page) -> None:
    """The chain of means on random tables, and the metrics that are means."""
    n = 500
    counts = uniform_tables(n, rng=np.random.default_rng(16))
    swapped = Counts(counts.values[:, ::-1, ::-1])
    pair = np.stack([recall(counts), precision(counts)], axis=-1)[:, 1]
    chain = np.array([power_mean(pair, p) for p in (-np.inf, -1, 0, 1, np.inf)])
    every = np.array([power_mean(pair, p) for p in ORDERS])
    for words, means in (("min ≤ H ≤ G ≤ A ≤ max (eq 3)", chain), ("rising in p (eq 4)", every)):
        rising = np.all(np.diff(means, axis=0) > -1e-12, axis=0)
        page.claim(words, f"for {rising.sum()} of {n} tables", rising.all())
    page.equal("F1 is such a mean", f_beta(counts, 1)[:, 1], chain[1])
    page.equal("Fowlkes-Mallows is such a mean", fowlkes_mallows(counts)[:, 1], chain[2])
    wanted = f_beta(swapped, 1)[:, 1]
    page.check_equal("F1-0 is F1 with the classes swapped", f1_of_negatives(counts)[:, 1], wanted)
    printed = power_mean(np.stack([specificity(counts), recall(counts)], axis=-1)[:, 1], -1)
    page.equal("F1-0 as printed does the same", printed, wanted, misprint=page.printed["misprint"])
    example = Counts([[70, 30], [2, 18]])
    value = {name: float(rate(example)[1]) for name, rate in RATES.items()}
    low = ORDERS[ORDERS <= 1]  # no metric above the arithmetic mean
    two = np.array([power_mean(list(value.values())[:2], p) for p in ORDERS])
    four = np.array([mean_of_four_rates(example, mean=p)[1] for p in low])
    seen = """Two panels: the mean of two and of four rates of one table, rising with the order from
        the smallest rate towards the largest."""
    page.picture(_draw(value, two, low, four), seen)


def _draw(value, two, low, four):
    figure, axes = style.panels(1, 2, width=8.6, height=3.5, sharey=True)
    axes[0, 0].plot(ORDERS, two)
    for p, name in ((-1, "F1"), (0, "Fowlkes-Mallows"), (1, "arithmetic mean")):
        at = p, two[np.argmin(np.abs(ORDERS - p))]
        axes[0, 0].plot(*at, "o", color=style.RED)
        axes[0, 0].annotate(name, at, (9, -7), textcoords="offset points")
    axes[0, 1].plot(low, four)
    panels = (
        (axes[0, 0], list(value)[:2], ORDERS, (ORDERS[-1] - 0.2, "right")),
        (axes[0, 1], list(value), low, (low[0] + 0.2, "left")),  # away from the curve
    )
    for axis, shown, orders, (at, side) in panels:
        for name in shown:
            axis.axhline(value[name], color=style.GREY, lw=0.9, ls="--")
            axis.annotate(
                name,
                (at, value[name]),
                (0, 3),
                textcoords="offset points",
                ha=side,
                fontsize=8,
                va="bottom",
            )
        axis.set(xlabel="order p", xlim=(orders[0], orders[-1]), ylim=(0.33, 1.03))
    axes[0, 0].set(title="Of two rates", ylabel="power mean")
    axes[0, 1].set(title="Of four rates")
    return figure
