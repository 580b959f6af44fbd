"""Pairs of thresholds that cost the same, of which F1 and MCC prefer one (section 4.1)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from ferrer_ec.curves import Curves, curves
from ferrer_ec.worlds import twin
from page import Page

from stakes import Problem
from stakes.simulate import GaussianWorld


def twins(
    page: Page, world: GaussianWorld, problems: Mapping[float, Problem], best: Mapping[str, float]
) -> dict[str, Curves]:
    """The best threshold of each metric and the other one with the same cost; what sets it apart.

    F1 is said to prefer more positive decisions, MCC fewer of the rarer decision.
    """
    pairs, rows = {}, []
    for name, miss in page.printed["against"].items():
        problem, t = problems[miss], best[name]
        pairs[name] = curves(world, [t, twin(world, problem, t)], {miss: problem})
        pair = pairs[name]
        each = pair.at, pair.costs[miss], pair.metrics[name], pair.detected
        rows += [(f"{name} and NEC, miss cost {miss}", *row) for row in zip(*each, strict=True)]
    page.say("Pairs of thresholds with the same normalised cost, of which the metric prefers one:")
    page.rows(("", "log-odds threshold", "NEC", "metric", "R*2"), rows, decimals=3)
    wishes = {"F1": ("larger", pairs["F1"].detected)}
    wishes["MCC"] = "more imbalanced", np.abs(pairs["MCC"].detected - 0.5)
    for name, (wish, (mine, other)) in wishes.items():
        first, second = pairs[name].detected
        liked, left = pairs[name].metrics[name]
        words = f"of thresholds with the same NEC, {name} prefers the {wish} R*2"
        shown = f"{first:.3f}, not {second:.3f}"
        page.claim(words, shown, liked > left and mine > other)
    return pairs
