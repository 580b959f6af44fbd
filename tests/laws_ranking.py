"""Laws of ``stakes.ranking``: areas and points of scores that only ranks decide, by plain loops."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import strategies as st

from laws import SCORES, Law, divide, nan
from stakes import ranking

ROOMS = ("stakes.ranking",)

Rows = list[list[float]]  # a score, and the weight of each class that has it


def some_share(world):
    return st.tuples(st.sampled_from([0.1, 0.25, 0.5, 0.7, 1.0]))


def totals(rows: Rows) -> tuple[float, float]:
    return sum(row[1] for row in rows), sum(row[2] for row in rows)


def defined(twin):
    """Undefined without one of the classes."""
    return lambda rows, *arguments: twin(rows, *arguments) if all(totals(rows)) else nan


def cuts(rows: Rows) -> list[tuple[float, float]]:
    """False-alarm and hit rate, from all positive to none."""
    negative, positive = totals(rows)
    above = [rows[j:] for j in range(len(rows) + 1)]
    return [
        (sum(row[1] for row in part) / negative, sum(row[2] for row in part) / positive)
        for part in above
    ]


def pairs_in_order(rows: Rows) -> float:
    return sum(
        low[1] * high[2] * (1.0 if low[0] < high[0] else 0.5 if low[0] == high[0] else 0.0)
        for low in rows
        for high in rows
    )


def auc(rows: Rows) -> float:
    negative, positive = totals(rows)
    return pairs_in_order(rows) / (negative * positive)


def weighted_auc(rows: Rows) -> float:
    negative, positive = totals(rows)
    return pairs_in_order(rows) / (negative + positive) ** 2


def hull_height(points: list[tuple[float, float]], x: float) -> float:
    """The highest chord above a false-alarm rate."""
    return max(
        max(left[1], right[1])
        if right[0] == left[0]
        else left[1] + (right[1] - left[1]) * (x - left[0]) / (right[0] - left[0])
        for left in points
        for right in points
        if left[0] <= x <= right[0]
    )


def auc_of_hull(rows: Rows) -> float:
    points = cuts(rows)
    at = sorted({x for x, _ in points})
    heights = [hull_height(points, x) for x in at]
    return sum((heights[i] + heights[i + 1]) / 2 * (at[i + 1] - at[i]) for i in range(len(at) - 1))


def is_convex(rows: Rows) -> bool:
    shares = [row[2] / (row[1] + row[2]) for row in rows]
    return all(later >= first for i, first in enumerate(shares) for later in shares[i:])


def partial_auc(rows: Rows, limit: float) -> float:
    area, points = 0.0, cuts(rows)[::-1]
    for (left, low), (right, high) in pairwise(points):
        end = min(right, limit)
        if end > left:
            at_end = low + (high - low) * (end - left) / (right - left)
            area += (low + at_end) / 2 * (end - left)
    return area


def standardized_partial_auc(rows: Rows, limit: float) -> float:
    least = limit**2 / 2
    return (1 + divide(partial_auc(rows, limit) - least, limit - least)) / 2


def average_precision(rows: Rows) -> float:
    positive = totals(rows)[1]
    if not positive:
        return nan
    total = 0.0
    for j, row in enumerate(rows):
        alarms, hits = totals(rows[j:])
        total += row[2] / positive * divide(hits, alarms + hits) if row[2] else 0.0
    return total


def equal_error_rate(rows: Rows) -> float:
    points = cuts(rows)
    for (alarm, hit), (next_alarm, next_hit) in pairwise(points):
        before, after = 1 - hit - alarm, 1 - next_hit - next_alarm
        if after >= -1e-12:
            step = before / (before - after)
            return alarm + step * (next_alarm - alarm)
    raise AssertionError("the errors agree somewhere")


def farthest(rows: Rows) -> float:
    return max(abs(hit - alarm) for alarm, hit in cuts(rows))


def highest_hit_rate(rows: Rows, specificity: float) -> float:
    return max(hit for alarm, hit in cuts(rows) if 1 - alarm >= specificity - 1e-9)


def highest_specificity(rows: Rows, sensitivity: float) -> float:
    return max(1 - alarm for alarm, hit in cuts(rows) if hit >= sensitivity - 1e-9)


def precisions(rows: Rows) -> list[tuple[float, float]]:
    """Recall and precision of every cut that finds somebody."""
    parts = [totals(rows[j:]) for j in range(len(rows))]
    positive = totals(rows)[1]
    return [(hits / positive, hits / (alarms + hits)) for alarms, hits in parts]


def highest_precision(rows: Rows, recall: float) -> float:
    if not totals(rows)[1]:
        return nan
    return max(right for reached, right in precisions(rows) if reached >= recall - 1e-9)


def highest_recall(rows: Rows, precision: float) -> float:
    if not totals(rows)[1]:
        return nan
    reached = [recall for recall, right in precisions(rows) if right >= precision - 1e-9]
    return max(reached, default=0.0)


def up_to(measure):
    return lambda table, limit: measure(table, max_false_alarm_rate=limit)


LAWS = [
    Law(ranking.mann_whitney_u, SCORES, pairs_in_order),
    Law(ranking.auc, SCORES, defined(auc)),
    Law(ranking.gini, SCORES, defined(lambda rows: 2 * auc(rows) - 1)),
    Law(ranking.kendall_distance, SCORES, defined(lambda rows: 1 - auc(rows))),
    Law(ranking.weighted_auc, SCORES, defined(weighted_auc)),
    Law(ranking.auc_of_hull, SCORES, defined(auc_of_hull)),
    Law(ranking.is_convex, SCORES, is_convex),
    Law(
        ranking.partial_auc,
        SCORES,
        defined(partial_auc),
        arguments=some_share,
        call=up_to(ranking.partial_auc),
        moves=None,
    ),
    Law(
        ranking.standardized_partial_auc,
        SCORES,
        defined(standardized_partial_auc),
        arguments=some_share,
        call=up_to(ranking.standardized_partial_auc),
        moves=None,
    ),
    Law(ranking.average_precision, SCORES, average_precision, moves=None),
    Law(ranking.equal_error_rate, SCORES, defined(equal_error_rate)),
    Law(ranking.kolmogorov_smirnov, SCORES, defined(farthest)),
    Law(
        ranking.sensitivity_at_specificity,
        SCORES,
        defined(highest_hit_rate),
        arguments=some_share,
        moves=None,
    ),
    Law(
        ranking.specificity_at_sensitivity,
        SCORES,
        defined(highest_specificity),
        arguments=some_share,
        moves=None,
    ),
    Law(ranking.precision_at_recall, SCORES, highest_precision, arguments=some_share, moves=None),
    Law(ranking.recall_at_precision, SCORES, highest_recall, arguments=some_share, moves=None),
]
