"""Figure 1. F1, MCC and three normalised costs at every threshold.

Two classes, one feature. F1 and MCC prefer thresholds that no stated cost asked for: black dashed
lines mark the best one and the other one with the same normalised cost, which the metric likes
less. Dotted: the share of positive decisions, R*2.
"""

from __future__ import annotations

import numpy as np
import style
from ferrer_ec.curves import curves, densities
from ferrer_ec.twins import twins
from ferrer_ec.worlds import best_log_odds, sampled_log_odds
from page import Kind, Page

from stakes import Problem
from stakes.audit import FAMILIAR
from stakes.simulate import GaussianWorld

GRID = np.linspace(-10, 10, 801)


def build(page: Page) -> None:
    """Population curves; the best thresholds of F1 and MCC in the population and in samples."""
    print_, prior, cases = page.printed, page.printed["prior"], page.printed["cases"]
    paper, both = print_["f1_threshold"], (print_["variance"], print_["variance"] ** 2)
    world, narrow = (GaussianWorld([0, 1], variance=v, prior=prior) for v in both)
    problems = {c: Problem.binary(false_alarm=1, miss=c) for c in print_["miss_costs"]}
    best = {name: best_log_odds(world, FAMILIAR[name]) for name in print_["against"]}
    stated = {f"NEC, miss cost {c}": problem.log_odds_threshold for c, problem in problems.items()}
    rows = [(name, t, np.exp(-t)) for name, t in (best | stated).items()]
    page.say("The curves are those of the population, and so are the best thresholds:")
    page.rows(("metric", "best log-odds threshold", "implied cost of a miss"), rows, decimals=4)
    drawn, other = (sampled_log_odds(v, tuple(prior), cases) for v in both)
    page.say(
        f"""Samples of {cases:,} cases scatter about them. The printed {paper}, and the printed
        costs, which are e to 0.6 and to 0, point to a grid of 0.1. On it, the best threshold of F1
        was this often, in % of {drawn.size:,} samples:"""
    )
    where, often = np.unique(drawn, return_counts=True)
    page.rows([f"{t:.1f}" for t in where], [100 * often / drawn.size], decimals=1)
    page.drawn("best threshold for F1, on a grid of 0.1", paper, drawn)
    words, cost = "the miss cost that F1 implies is e to the printed threshold", print_["f1_cost"]
    page.compare(words, cost, np.exp(-paper), kind=Kind.PRINT)
    words = f"the same threshold if {both[0]} were the standard deviation"
    page.drawn(words, paper, other, misprint=print_["misprint"])
    far = best_log_odds(narrow, FAMILIAR["F1"])
    page.say(
        f"""Were {both[0]} the standard deviation, F1 would be best at {far:.3f} in the population
        and imply a miss cost of {np.exp(-far):.2f}."""
    )
    pairs, all_ = twins(page, world, problems, best), curves(world, GRID, problems)
    shown = _draw(all_, densities(world, GRID), pairs, stated.values())
    seen = """Four panels: the densities of the log-odds of both classes; 1 − F1 with NEC of miss
        cost 1, 1 − MCC with NEC of miss cost 4, and three NEC, each against the threshold."""
    page.picture(shown, seen)


def _draw(all_, classes, pairs, bayes):
    figure, axes = style.panels(1, 4, width=11, height=3.3)
    scores, *metrics, costs = axes[0]
    for density, name in zip(classes, ("$H_1$", "$H_2$"), strict=True):
        scores.fill_between(GRID, density, alpha=0.35, linewidth=0)
        scores.plot(GRID, density, label=name)
    scores.set(title="Scores", xlabel="log-odds", ylabel="prior × density", ylim=0)
    colours = dict(zip(all_.costs, (style.BLUE, style.ORANGE, style.GREEN), strict=True))
    for axis, (name, pair) in zip(metrics, pairs.items(), strict=True):
        ((c, cost),) = pair.costs.items()
        axis.plot(GRID, 1 - all_.metrics[name], color=style.RED, label=f"1 − {name}")
        axis.plot(GRID, all_.costs[c], color=colours[c], label=f"NEC$_{{{c}}}$")
        axis.plot(GRID, all_.detected, color=style.GREY, lw=1.2, ls=":", label="$R_{*2}$")
        axis.plot(pair.at, cost, color=style.INK, lw=0.8, ls="--")
        for x in pair.at:
            axis.axvline(x, color=style.INK, lw=0.8, ls="--")
        axis.plot(pair.at, 1 - pair.metrics[name], "o", color=style.RED, ms=4)
        axis.plot(pair.at, cost, "o", color=colours[c], ms=4)
        axis.set(title=f"{name} against NEC$_{{{c}}}$", ylim=(0, 1.35))
    for (c, value), threshold in zip(all_.costs.items(), bayes, strict=True):
        costs.plot(GRID, value, color=colours[c], label=f"NEC$_{{{c}}}$")
        costs.axvline(threshold, color=colours[c], lw=0.9, ls="--")
    costs.set(title="Bayes thresholds, dashed", ylim=(0, 1.35))
    for axis in axes[0, 1:]:
        axis.set(xlabel="log-odds threshold", xlim=(-6, 6))
    for axis in axes[0]:
        style.legend_below(axis, 3)
    return figure
