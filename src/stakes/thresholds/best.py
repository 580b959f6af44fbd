"""The best threshold for known costs, and the line that touches the ROC hull there."""

from __future__ import annotations

from math import isnan, nan

import numpy as np

from stakes._check import same_labels
from stakes._value import Value, record
from stakes.measures import decision_rates, expected_cost, prior_of
from stakes.problem import Problem
from stakes.ranking import hull, single
from stakes.tally import Counts, ScoreTable
from stakes.thresholds.case_losses import threshold_of_cut

# What rounding may do to equal regrets: sums of positive terms have no cancellation.
_TIE = 16 * np.finfo(np.float64).eps


@record
class BestThreshold(Value):
    """The threshold of least expected cost on a table of scores.

    Attributes
    ----------
    threshold : the positive decision is taken for scores above it; -inf: for all
    cost : expected cost per case, in the problem's unit
    counts : the decisions at this threshold
    slope, intercept : the line hit rate = intercept + slope × false-alarm rate that touches the
        ROC hull there; of several models under one problem, the highest intercept is the
        cheapest. nan where undefined, the intercept also when the slope is infinite

    Examples
    --------
    >>> from stakes.problem import Problem
    >>> table = ScoreTable([0.2, 0.6, 0.9], [[40, 5], [30, 25], [10, 40]])
    >>> float(best_threshold(table, Problem.binary(false_alarm=1, miss=4)).threshold)
    0.2
    """

    threshold: float
    cost: float
    counts: Counts
    slope: float
    intercept: float


def best_threshold(table: ScoreTable, problem: Problem) -> BestThreshold:
    r"""Threshold at which the decisions cost least, and its tangent to the convex hull.

    The tangent has the slope :math:`a\,\pi_0 / (b\,\pi_1)`, where a false alarm costs a and a
    miss b more than the right decision, and the shares are the problem's prior, else the
    table's (dyrland, eq 24 and 25). What decides between models is the height of the tangent, not
    the area under the ROC curve. A threshold never separates equal scores; where several tie, it
    is the highest, with the fewest positive decisions. It is nan when the decision does not
    matter or when a class of positive prior has no cases. Where every case has its own costs,
    `stakes_table` makes the table and the problem.

    Parameters
    ----------
    table : distinct scores and the weight of each class at them, (S, 2)
    problem : what is at stake: costs, prior, labels

    Returns
    -------
    the threshold, its cost and its tangent

    Examples
    --------
    >>> from stakes.problem import Problem
    >>> from stakes.tally import ScoreTable
    >>> table = ScoreTable.from_scores([0, 0, 1, 0, 1, 1], [0.1, 0.3, 0.3, 0.5, 0.6, 0.9])
    >>> best = best_threshold(table, Problem.binary(false_alarm=1, miss=5))
    >>> best.threshold, best.slope
    (0.1, 0.2)
    >>> round(best.cost, 3), round(best.intercept, 3)
    (0.333, 0.867)
    """
    single(table, "the best threshold")
    matters = not isnan(problem.threshold)
    # Only vertices of the hull can be the best for some costs, and they are far fewer.
    cuts = hull(table).cuts
    counts = _counts_at(table, problem)
    regrets = expected_cost(counts, problem.regret())
    low = np.min(regrets)
    if isnan(low) or not matters:
        undefined = Counts._trusted(
            values=np.full((2, 2), nan),
            classes=problem.classes,
            decisions=problem.decisions,
            groups=None,
        )
        cost = float(np.min(expected_cost(counts, problem)))
        return BestThreshold(nan, cost, undefined, nan, nan)
    best = int(np.flatnonzero(regrets <= low * (1 + _TIE))[-1])
    slope, intercept = _tangent(counts[best], problem)
    threshold = float(threshold_of_cut(table, cuts[best]))
    cost = float(expected_cost(counts[best], problem))
    return BestThreshold(threshold, cost, counts[best], slope, intercept)


def _counts_at(table: ScoreTable, problem: Problem) -> Counts:
    """Counts (V, 2, 2) of the decisions at the vertices of the hull, from all positive to none."""
    segments = hull(table).segments
    below = np.pad(np.cumsum(segments, axis=0), ((1, 0), (0, 0)))
    above = np.pad(np.cumsum(segments[::-1], axis=0)[::-1], ((0, 1), (0, 0)))
    return Counts._trusted(
        values=np.stack([below, above], axis=-1),
        classes=same_labels("the classes of table and problem", table.classes, problem.classes),
        decisions=problem.decisions,
        groups=None,
    )


def _tangent(counts: Counts, problem: Problem) -> tuple[float, float]:
    (correct, false_alarm), (miss, hit) = problem.costs.tolist()
    negative, positive = prior_of(counts, problem).tolist()
    rates = decision_rates(counts)[:, 1]
    with np.errstate(divide="ignore", invalid="ignore"):
        slope = np.divide((false_alarm - correct) * negative, (miss - hit) * positive)
        intercept = rates[1] - slope * rates[0]
    return float(slope), float(intercept if np.isfinite(slope) else nan)
