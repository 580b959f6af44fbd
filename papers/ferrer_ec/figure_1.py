"""Figure 1. F1, MCC and three normalised costs at every threshold.

Two classes, one feature. F1 and MCC prefer thresholds that no stated cost asked for.
"""

from __future__ import annotations

import numpy as np
import style
from ferrer_ec.worlds import best_log_odds, drawn_log_odds
from page import Kind, Page

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
    rng, cases, draws = np.random.default_rng(1), print_["cases"], 5000
    drawn = drawn_log_odds(world, FAMILIAR["F1"], cases=cases, draws=draws, rng=rng)
    stated = {f"NEC, miss cost {c}": problem.log_odds_threshold for c, problem in problems.items()}
    rows = [(name, t, np.exp(-t)) for name, t in (best | stated).items()]
    page.say("The curves are those of the population, and so are the best thresholds:")
    page.rows(("metric", "best log-odds threshold", "implied cost of a miss"), rows, decimals=4)
    page.say(
        f"""Samples of {cases:,} cases scatter about them. The printed {print_["f1_threshold"]}, and
        the printed costs, which are e to 0.6 and to 0, point to a grid of 0.1. On it, the best
        threshold of F1 was this often, in % of {draws:,} samples:"""
    )
    where, often = np.unique(drawn, return_counts=True)
    page.rows([f"{t:.1f}" for t in where], [100 * often / draws], decimals=1)
    page.drawn("best threshold for F1, on a grid of 0.1", print_["f1_threshold"], drawn)
    words, cost = "the miss cost that F1 implies is e to the printed threshold", print_["f1_cost"]
    page.compare(words, cost, np.exp(-print_["f1_threshold"]), kind=Kind.PRINT)
    narrow = GaussianWorld([0, 1], variance=print_["variance"] ** 2, prior=print_["prior"])
    other = drawn_log_odds(narrow, FAMILIAR["F1"], cases=cases, draws=draws, rng=rng)
    words = f"the same threshold if {print_['variance']} were the standard deviation"
    page.drawn(words, print_["f1_threshold"], other, misprint=print_["misprint"])
    far = best_log_odds(narrow, FAMILIAR["F1"])
    page.say(
        f"""Were {print_["variance"]} the standard deviation, F1 would be best at {far:.3f} in the
        population and imply a miss cost of {np.exp(-far):.2f}."""
    )
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
    colours = dict(zip(nec, (style.BLUE, style.ORANGE, style.GREEN), strict=True))
    for axis, name, c in ((f1, "F1", 1), (mcc, "MCC", 4)):
        value = 1 - FAMILIAR[name](counts)
        axis.plot(GRID, value, color=style.RED, label=f"1 − {name}")
        axis.plot(GRID, nec[c], color=colours[c], label=f"NEC$_{{{c}}}$")
        axis.plot(GRID, detected, color=style.GREY, lw=1.2, ls=":", label="$R_{*2}$")
        _draw_marks(axis, best[name], value, nec[c], colours[c])
        axis.set(title=f"{name} against NEC$_{{{c}}}$", ylim=(0, 1.35))
    for c, value in nec.items():
        costs.plot(GRID, value, color=colours[c], label=f"NEC$_{{{c}}}$")
        costs.axvline(problems[c].log_odds_threshold, color=colours[c], lw=0.9, ls="--")
    costs.set(title="Bayes thresholds, dashed", ylim=(0, 1.35))
    for axis in axes[0, 1:]:
        axis.set(xlabel="log-odds threshold", xlim=(-6, 6))
    for axis in axes[0]:
        style.legend_below(axis, 3)
    return figure


def _draw_marks(axis, threshold, value, nec, colour):
    """The metric's best threshold, and the other one where NEC is the same."""
    here = np.interp(threshold, GRID, nec)
    crossing = GRID[:-1][np.diff(np.sign(nec - here)) != 0]
    twin = crossing[np.argmax(np.abs(crossing - threshold))]
    axis.hlines(here, min(twin, threshold), max(twin, threshold), color=style.INK, lw=0.8, ls="--")
    for x in (threshold, twin):
        axis.axvline(x, color=style.INK, lw=0.8, ls="--")
        axis.plot([x], [np.interp(x, GRID, value)], "o", color=style.RED, ms=4)
        axis.plot([x], [here], "o", color=colour, ms=4)
