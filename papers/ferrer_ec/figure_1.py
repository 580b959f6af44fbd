"""Figure 1. F1, MCC and three normalised costs at every threshold.

Two classes, one feature. F1 and MCC prefer thresholds that no stated cost asked for.
"""

from __future__ import annotations

import numpy as np
import style
from ferrer_ec.worlds import best_log_odds, drawn_log_odds
from page import Page

from stakes import Problem, normalized_cost
from stakes.audit import FAMILIAR
from stakes.simulate import GaussianWorld

GRID = np.linspace(-10, 10, 801)


def build(page: Page) -> None:
    """Population curves; the best thresholds of F1 and MCC in the population and in samples."""
    print_ = page.printed
    world = GaussianWorld([0, 1], variance=print_["variance"], prior=print_["prior"])
    problems = {c: Problem.binary(false_alarm=1, miss=c) for c in print_["miss_costs"]}
    best = {name: best_log_odds(world, FAMILIAR[name]) for name in ("F1", "MCC")}
    rng, cases, draws = np.random.default_rng(1), 100_000, 10 if page.fast else 60
    drawn = drawn_log_odds(world, FAMILIAR["F1"], cases=cases, draws=draws, rng=rng)
    page.say(
        f"""Curves of the population. Samples of {cases:,} cases, as in the paper, scatter about
        it: in {draws} of them the best threshold of F1 ran from {drawn.min():.2f} to
        {drawn.max():.2f} (first draw {drawn[0]:.2f}). The printed one is one such draw."""
    )
    stated = {f"NEC, miss cost {c}": problem.log_odds_threshold for c, problem in problems.items()}
    rows = [(name, t, np.exp(-t)) for name, t in (best | stated).items()]
    page.rows(("metric", "best log-odds threshold", "implied cost of a miss"), rows, decimals=4)
    why, f1, sd = "a draw, on a grid of 0.1", best["F1"], drawn.std(ddof=1)
    for what, paper, here, spread in (
        ("best threshold for F1", print_["f1_threshold"], f1, sd),
        ("miss cost that F1 implies", print_["f1_cost"], np.exp(-f1), sd * np.exp(-f1)),
    ):
        page.compare(what, paper, here, decimals=1, standard_error=spread, why=why)
    page.picture(_draw(world, problems, best), "ferrer-ec-figure-1", "Four panels: " + __doc__)


def _draw(world, problems, best):
    counts = world.threshold_counts(GRID)
    nec = {c: normalized_cost(counts, problem) for c, problem in problems.items()}
    detected = counts.values[..., 1].sum(axis=-1)
    figure, axes = style.panels(1, 4, width=11, height=3.3)
    (scores, f1, mcc, costs) = axes[0]
    # Equal variances make log-odds linear in the feature, so their densities are normal too.
    low, high = world.log_odds([0.0, 1.0])
    sd = (high - low) * np.sqrt(world.variances[0])
    for mean, share, name in zip((low, high), world.prior, ("$H_1$", "$H_2$"), strict=True):
        density = share * np.exp(-0.5 * ((GRID - mean) / sd) ** 2) / (sd * np.sqrt(2 * np.pi))
        scores.fill_between(GRID, density, alpha=0.35, linewidth=0)
        scores.plot(GRID, density, label=name)
    scores.set(title="Scores", xlabel="log-odds", ylabel="prior × density", ylim=0)
    for axis, name, c in ((f1, "F1", 1), (mcc, "MCC", 4)):
        value = 1 - FAMILIAR[name](counts)
        axis.plot(GRID, value, color=style.RED, label=f"1 − {name}")
        axis.plot(GRID, nec[c], color=style.BLUE, label=f"NEC$_{{{c}}}$")
        axis.plot(GRID, detected, color=style.GREY, lw=1.2, ls=":", label="$R_{*2}$")
        _draw_marks(axis, best[name], value, nec[c])
        axis.set(title=f"{name} against NEC$_{{{c}}}$", ylim=(0, 1.35))
    for (c, value), colour in zip(nec.items(), style.COLOURS, strict=False):
        costs.plot(GRID, value, color=colour, label=f"NEC$_{{{c}}}$")
        costs.axvline(problems[c].log_odds_threshold, color=colour, lw=0.9, ls="--")
    costs.set(title="Bayes thresholds, dashed", ylim=(0, 1.35))
    for axis in axes[0, 1:]:
        axis.set(xlabel="log-odds threshold", xlim=(-6, 6))
    for axis in axes[0]:
        style.legend_below(axis, 3)
    return figure


def _draw_marks(axis, threshold, value, nec):
    """The metric's best threshold, and the other one where NEC is the same."""
    here = np.interp(threshold, GRID, nec)
    crossing = GRID[:-1][np.diff(np.sign(nec - here)) != 0]
    twin = crossing[np.argmax(np.abs(crossing - threshold))]
    axis.hlines(here, min(twin, threshold), max(twin, threshold), color=style.INK, lw=0.8, ls="--")
    for x in (threshold, twin):
        axis.axvline(x, color=style.INK, lw=0.8, ls="--")
        axis.plot([x], [np.interp(x, GRID, value)], "o", color=style.RED, ms=4)
        axis.plot([x], [here], "o", color=style.BLUE, ms=4)
