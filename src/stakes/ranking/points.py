"""Single operating points of the ROC curve."""

from __future__ import annotations

import numpy as np

from stakes import _check
from stakes._arithmetic import ratio
from stakes._check import BoolArray, FloatArray, Numbers, unwrapped
from stakes.ranking.convex_hull import scaled
from stakes.ranking.roc import roc, weights_above
from stakes.tally import ScoreTable

# Sums of fractional weights have rounding errors: a rate this close to its target has reached it.
_REACHED = 1e-12


def equal_error_rate(table: ScoreTable) -> Numbers:
    """Error rate at the point of the ROC curve where both classes have the same error rate.

    The points of the curve are joined by straight lines, so that this point may lie between two
    thresholds or inside a group of ties, where randomised decisions reach it. Pass
    ``convexified(table)`` for the value on the convex hull. nan where a class is absent. Shape
    (...,); ferrer-ec, appendix C.3.

    Parameters
    ----------
    table : distinct scores and the weight of each class at them, (…, S, 2)

    Returns
    -------
    error rate, (…)

    Examples
    --------
    >>> from stakes.tally import ScoreTable
    >>> float(equal_error_rate(ScoreTable.from_scores([0, 1, 0, 1], [-1.5, 0.2, 0.2, 3.0])))
    0.25
    """
    above = weights_above(scaled(table.weights))
    alarms, hits = above[..., 0], above[..., 1]
    # Miss rate minus false-alarm rate, times the number of pairs: on counts this is exact.
    excess = (hits[..., :1] - hits) * alarms[..., :1] - alarms * hits[..., :1]
    # The excess rises with the threshold, from below zero to above it if both classes have cases.
    # Without cases of a class it is zero throughout; the ratio below is 0 / 0, and the rate nan.
    after = np.maximum(np.argmax(excess >= 0, axis=-1, keepdims=True), 1)
    low, high = (np.take_along_axis(excess, cut, axis=-1) for cut in (after - 1, after))
    start, end = (np.take_along_axis(alarms, cut, axis=-1) for cut in (after - 1, after))
    crossing = start + ratio(-low, high - low) * (end - start)
    return unwrapped(ratio(crossing, alarms[..., :1])[..., 0])


def kolmogorov_smirnov(table: ScoreTable) -> Numbers:
    r"""Largest distance between the score distributions of the two classes.

    .. math:: \max_t |F_0(t) - F_1(t)| = \max_t |\mathrm{hit\ rate} - \mathrm{false\ alarm\ rate}|

    It is two-sided: reversed scores have the same distance. Higher is better. nan where a class is
    absent. Shape (...,).

    Parameters
    ----------
    table : distinct scores and the weight of each class at them, (…, S, 2)

    Returns
    -------
    distance, (…), between 0 and 1

    Examples
    --------
    >>> from stakes.tally import ScoreTable
    >>> float(kolmogorov_smirnov(ScoreTable.from_scores([0, 1, 0, 1], [-1.5, 0.2, 0.2, 3.0])))
    0.5
    """
    curve = roc(table)
    return unwrapped(np.max(np.abs(curve.hit_rate - curve.false_alarm_rate), axis=-1))


def sensitivity_at_specificity(table: ScoreTable, specificity: float) -> Numbers:
    """Highest hit rate among the thresholds whose specificity reaches a target.

    Only thresholds of the data are considered: interpolation would mix two thresholds, which means
    randomised decisions in deployment; to allow them, interpolate `roc`. A specificity equal to the
    target counts. nan where a class is absent. Shape (...,); ferrer-ec, section 3, mentions this
    family of metrics.

    Parameters
    ----------
    table : distinct scores and the weight of each class at them, (…, S, 2)
    specificity : the least specificity

    Returns
    -------
    hit rate, (…)

    Examples
    --------
    >>> from stakes.tally import ScoreTable
    >>> table = ScoreTable.from_scores([0, 1, 0, 1], [-1.5, 0.2, 0.2, 3.0])
    >>> float(sensitivity_at_specificity(table, 0.9))
    0.5
    """
    target = _check.number("specificity", specificity, low=0, high=1)
    hit_rate, correct_rejection_rate = _rates(table)
    # Both rates are monotone in the threshold: the first that reaches the target keeps most hits.
    cut = np.argmax(correct_rejection_rate >= target - _REACHED, axis=-1, keepdims=True)
    return unwrapped(np.take_along_axis(hit_rate, cut, axis=-1)[..., 0])


def specificity_at_sensitivity(table: ScoreTable, sensitivity: float) -> Numbers:
    """Highest specificity among the thresholds whose hit rate reaches a target.

    This is `sensitivity_at_specificity` with the classes exchanged.

    Parameters
    ----------
    table : distinct scores and the weight of each class at them, (…, S, 2)
    sensitivity : the least sensitivity

    Returns
    -------
    specificity, (…)

    Examples
    --------
    >>> from stakes.tally import ScoreTable
    >>> table = ScoreTable.from_scores([0, 1, 0, 1], [-1.5, 0.2, 0.2, 3.0])
    >>> float(specificity_at_sensitivity(table, 0.9))
    0.5
    """
    target = _check.number("sensitivity", sensitivity, low=0, high=1)
    hit_rate, correct_rejection_rate = _rates(table)
    # Hit rates fall with the threshold: the last that reaches the target has fewest false alarms.
    reached = np.count_nonzero(hit_rate >= target - _REACHED, axis=-1, keepdims=True)
    return unwrapped(
        np.take_along_axis(correct_rejection_rate, np.maximum(reached - 1, 0), axis=-1)[..., 0]
    )


def precision_at_recall(table: ScoreTable, recall: float) -> Numbers:
    """Highest precision among the thresholds whose recall reaches a target.

    Only thresholds of the data are considered, as in `sensitivity_at_specificity`. It depends on
    the class shares; ``table.with_prior(p)`` gives its value in deployment. Without false alarms
    the precision is one; a threshold above all scores has none. nan without positives. Shape
    (...,).

    Parameters
    ----------
    table : distinct scores and the weight of each class at them, (…, S, 2)
    recall : the least recall

    Returns
    -------
    precision, (…)

    Examples
    --------
    >>> from stakes.tally import ScoreTable
    >>> table = ScoreTable.from_scores([0, 1, 0, 1], [-1.5, 0.2, 0.2, 3.0])
    >>> float(precision_at_recall(table, 0.9).round(3))
    0.667
    """
    target = _check.number("recall", recall, low=0, high=1)
    recalls, right = _precisions(table)
    return _highest(right, where=recalls >= target - _REACHED, known=~np.isnan(recalls[..., 0]))


def recall_at_precision(table: ScoreTable, precision: float) -> Numbers:
    """Highest recall among the thresholds whose precision reaches a target; 0 where none does.

    Only thresholds of the data are considered, as in `precision_at_recall`; a threshold above all
    scores has a recall of zero.

    Parameters
    ----------
    table : distinct scores and the weight of each class at them, (…, S, 2)
    precision : the least precision

    Returns
    -------
    recall, (…)

    Examples
    --------
    >>> from stakes.tally import ScoreTable
    >>> table = ScoreTable.from_scores([0, 1, 0, 1], [-1.5, 0.2, 0.2, 3.0])
    >>> float(recall_at_precision(table, 0.9))
    0.5
    """
    target = _check.number("precision", precision, low=0, high=1)
    recalls, right = _precisions(table)
    return _highest(recalls, where=right >= target - _REACHED, known=~np.isnan(recalls[..., 0]))


def _precisions(table: ScoreTable) -> tuple[FloatArray, FloatArray]:
    """Recall and precision at every cut.

    Recall is nan without positives, precision where no case gets the positive decision.
    """
    above = weights_above(table.weights)
    hits = above[..., 1]
    return ratio(hits, hits[..., :1]), ratio(hits, above.sum(axis=-1))


def _highest(values: FloatArray, *, where: BoolArray, known: BoolArray) -> Numbers:
    """The highest value of the cuts that qualify, 0 if none does; nan where it is not known."""
    best = np.max(np.nan_to_num(values), axis=-1, initial=0.0, where=where)
    return unwrapped(np.where(known, best, np.nan))


def _rates(table: ScoreTable) -> tuple[FloatArray, FloatArray]:
    """Hit rate and specificity at every cut; both nan where either class is absent."""
    above = weights_above(table.weights)
    totals = above[..., :1, :]
    both = np.where(np.all(totals > 0, axis=-1), 1.0, np.nan)
    # One division of whole counts: 2 / 10 is then exactly the float that a caller writes as 0.2.
    return (
        both * ratio(above[..., 1], totals[..., 1]),
        both * ratio(totals[..., 0] - above[..., 0], totals[..., 0]),
    )
