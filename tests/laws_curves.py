"""Laws of ``stakes.curves``: the height of every curve at a point, by plain loops over cases."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import strategies as st

from laws import Law, nan
from laws_ranking import Rows, cuts, defined, hull_height, totals
from laws_scoring import PROBABILITIES
from stakes import curves
from stakes.conditions import CostProportions
from stakes.thresholds import Optimal

ROOMS = ("stakes.curves",)

THRESHOLD = 0.3


def some_place(world):
    """Places where no curve of these tables has a corner."""
    return st.tuples(st.sampled_from([0.137, 0.377, 0.613, 0.871]))


def height(curve, *arguments):
    """The curve of each table at a place; a curve is made of one table at a time."""

    def call(table, x):
        heights = [curve(table[at], *arguments)(x) for at in np.ndindex(*table.leading)]
        return np.reshape(heights, table.leading) if table.leading else float(heights[0])

    return call


def loss_of(alarms: float, misses: float, cases: float, c: float) -> float:
    return 2 * (c * alarms + (1 - c) * misses) / cases


def at_cut(rows: Rows, j: int, c: float) -> float:
    """Loss when the scores from number j on get the positive decision."""
    return loss_of(totals(rows[j:])[0], totals(rows[:j])[1], sum(totals(rows)), c)


def above(rows: Rows, threshold: float, c: float) -> float:
    return at_cut(rows, sum(row[0] <= threshold for row in rows), c)


def at_best(rows: Rows, c: float) -> float:
    return min(at_cut(rows, j, c) for j in range(len(rows) + 1))


def rate_driven(rows: Rows, c: float) -> float:
    """The share c of the cases with the lowest scores gets the negative decision; ties are cut."""
    cases = sum(totals(rows))
    left, alarms, misses = c * cases, 0.0, 0.0
    for _, negative, positive in rows:
        part = min(max(left / (negative + positive), 0.0), 1.0)
        left -= negative + positive
        alarms, misses = alarms + negative * (1 - part), misses + positive * part
    return loss_of(alarms, misses, cases, c)


def along(points: list[tuple[float, float]], x: float) -> float:
    for (left, low), (right, high) in pairwise(sorted(points)):
        if left <= x <= right and left < right:
            return low + (high - low) * (x - left) / (right - left)
    raise AssertionError("the polyline spans the unit interval")


def gains(rows: Rows, x: float) -> float:
    cases, positive = sum(totals(rows)), totals(rows)[1]
    parts = [totals(rows[j:]) for j in range(len(rows) + 1)]
    points = [(sum(part) / cases, part[1] / positive) for part in parts] if positive else []
    return along(points, x) if points else nan


def curve_law(measure, twin, *arguments):
    call = height(measure, *arguments)
    return Law(measure, PROBABILITIES, twin, some_place, call, moves=None)


LAWS = [
    curve_law(curves.roc_curve, defined(lambda rows, x: along(cuts(rows), x))),
    curve_law(curves.hull_curve, defined(lambda rows, x: hull_height(cuts(rows), x))),
    curve_law(curves.gains_curve, gains),
    curve_law(curves.cost_curve, defined(at_best), Optimal(), CostProportions),
    curve_law(
        curves.cost_line,
        defined(lambda rows, c: above(rows, THRESHOLD, c)),
        THRESHOLD,
        CostProportions,
    ),
    curve_law(curves.optimal_curve, defined(at_best), CostProportions),
    curve_law(curves.brier_curve, defined(lambda rows, c: above(rows, c, c)), CostProportions),
    curve_law(curves.rate_driven_curve, defined(rate_driven), CostProportions),
]
