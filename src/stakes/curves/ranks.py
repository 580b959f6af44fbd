"""Curves that depend on ranks alone: ROC, hull, precision and recall, DET, gains and lift."""

from __future__ import annotations

import numpy as np

from stakes._arithmetic import ratio
from stakes._check import FloatArray, require
from stakes._value import Value, record
from stakes.curve import Curve
from stakes.ranking import Roc, roc, roc_hull, single, weights_above
from stakes.tally import ScoreTable


def roc_curve(table: ScoreTable) -> Curve:
    """Hit rate as a function of the false-alarm rate, on [0, 1].

    Points are joined by straight lines, so that ties are diagonals. Where the curve rises
    vertically it jumps, and the value is the upper one. The area is `auc`. nan everywhere where a
    class is absent; ferrer-ec, appendix C.3. `roc` has the same points with their thresholds.

    Parameters
    ----------
    table : distinct scores and the weight of each class at them, (S, 2)

    Returns
    -------
    hit rate over the false-alarm rate, a `Curve`

    Examples
    --------
    >>> from stakes.tally import ScoreTable
    >>> curve = roc_curve(ScoreTable.from_scores([0, 1, 0, 1], [-1.5, 0.2, 0.2, 3.0]))
    >>> curve([0, 0.25, 0.5]).tolist(), curve.integral()
    ([0.5, 0.75, 1.0], 0.875)
    """
    single(table, "a ROC curve")
    return _rising(roc(table))


def hull_curve(table: ScoreTable) -> Curve:
    """Convex hull of the ROC curve: the best hit rate of thresholds, randomised where needed.

    The area is `auc_of_hull`. nan everywhere where a class is absent; hernandez-orallo,
    section 6.1.

    Parameters
    ----------
    table : distinct scores and the weight of each class at them, (S, 2)

    Returns
    -------
    hit rate over the false-alarm rate, a `Curve`

    Examples
    --------
    >>> from stakes.tally import ScoreTable
    >>> hull_curve(ScoreTable.from_scores([1, 0, 0, 1], [1, 2, 3, 4]))([0, 0.5]).tolist()
    [0.5, 0.75]
    """
    return _rising(roc_hull(table))


def _rising(points: Roc) -> Curve:
    return _through(points.false_alarm_rate[::-1], points.hit_rate[::-1])


def _through(x: FloatArray, y: FloatArray) -> Curve:
    """Straight lines through points whose x and y both rise from 0 to 1."""
    if np.isnan(x[0] + y[0]):
        return Curve.undefined(0.0, 1.0)
    # Exact comparisons are safe: rates of the same counts are equal floats.
    moved = np.concatenate([[True], (x[1:] != x[:-1]) | (y[1:] != y[:-1])])
    x, y = x[moved], y[moved]  # scores without weight repeat a point
    corner = np.ones(x.size, dtype=bool)
    for values in (x, y):  # inside a run along one axis there are no corners
        corner[1:-1] &= (values[1:-1] != values[:-2]) | (values[1:-1] != values[2:])
    return Curve.through(x[corner], y[corner])


@record
class PrecisionRecall(Value):
    """Precision and recall at every threshold, from the lowest threshold to the highest.

    Attributes
    ----------
    thresholds : (T,) array
    precision : (..., T) array
        nan where no case gets the positive decision, as at the last threshold.
    recall : (..., T) array
        nan where the positive class is absent.

    Examples
    --------
    >>> precision_recall(ScoreTable([0.2, 0.6], [[3, 1], [1, 3]])).precision
    array([0.5 , 0.75,  nan])
    """

    thresholds: FloatArray
    precision: FloatArray
    recall: FloatArray


def precision_recall(table: ScoreTable) -> PrecisionRecall:
    """Share of positives among positive decisions, against the share of positives found.

    Precision depends on the class shares: ``table.with_prior(p)`` gives the curve in deployment.
    Between two thresholds precision is not linear in recall, so that these are columns and not a
    `Curve`; `average_precision` is the area under their steps. ferrer-ec, appendix C.3.

    Parameters
    ----------
    table : distinct scores and the weight of each class at them, (…, S, 2)

    Returns
    -------
    precision and recall at every threshold

    Examples
    --------
    >>> from stakes.tally import ScoreTable
    >>> curve = precision_recall(ScoreTable.from_scores([0, 1, 0, 1], [-1.5, 0.2, 0.2, 3.0]))
    >>> curve.precision.round(3).tolist(), curve.recall.tolist()
    ([0.5, 0.667, 1.0, nan], [1.0, 1.0, 0.5, 0.0])
    """
    require("table", table, ScoreTable)
    above = weights_above(table.weights)
    return PrecisionRecall._trusted(
        thresholds=table.thresholds,
        precision=ratio(above[..., 1], above[..., 0] + above[..., 1]),
        recall=ratio(above[..., 1], above[..., :1, 1]),
    )


@record
class DetectionErrorTradeoff(Value):
    """Both error rates at every threshold, plain and on probit axes.

    Attributes
    ----------
    thresholds : (T,) array
    false_alarm_rate, miss_rate : (..., T) arrays
        nan where the class is absent.
    false_alarm_probit, miss_probit : (..., T) arrays
        Normal quantiles of the rates; -inf at rate 0 and inf at rate 1. Scores that are normal in
        both classes draw a straight line.

    Examples
    --------
    >>> detection_error_tradeoff(ScoreTable([0.2, 0.6], [[3, 1], [1, 3]])).miss_rate
    array([0.  , 0.25, 1.  ])
    """

    thresholds: FloatArray
    false_alarm_rate: FloatArray
    miss_rate: FloatArray
    false_alarm_probit: FloatArray
    miss_probit: FloatArray


def detection_error_tradeoff(table: ScoreTable) -> DetectionErrorTradeoff:
    """Miss rate against false-alarm rate at every threshold (DET curve).

    Martin et al. (1997), The DET curve in assessment of detection task performance.

    Parameters
    ----------
    table : distinct scores and the weight of each class at them, (…, S, 2)

    Returns
    -------
    rates at every threshold

    Examples
    --------
    >>> from stakes.tally import ScoreTable
    >>> curve = detection_error_tradeoff(ScoreTable.from_scores([0, 1, 0, 1], [-1.5, 0.2, 0.2, 3]))
    >>> curve.miss_rate.tolist(), curve.miss_probit.tolist()
    ([0.0, 0.0, 0.5, 1.0], [-inf, -inf, 0.0, inf])
    """
    require("table", table, ScoreTable)
    from scipy.special import ndtri

    above = weights_above(table.weights)
    totals = above[..., :1, :]
    false_alarm_rate = ratio(above[..., 0], totals[..., 0])
    miss_rate = ratio(totals[..., 1] - above[..., 1], totals[..., 1])
    return DetectionErrorTradeoff._trusted(
        thresholds=table.thresholds,
        false_alarm_rate=false_alarm_rate,
        miss_rate=miss_rate,
        false_alarm_probit=ndtri(false_alarm_rate),
        miss_probit=ndtri(miss_rate),
    )


def gains_curve(table: ScoreTable) -> Curve:
    """Share of the positives found, as a function of the share of cases acted on.

    Cases are taken from the highest score down; inside a tie group, in proportion. The area is
    π₁/2 + π₀ AUC. nan everywhere where the positive class is absent. Also known as the cumulative
    accuracy profile.

    Parameters
    ----------
    table : distinct scores and the weight of each class at them, (S, 2)

    Returns
    -------
    share of the positives over the share of cases, a `Curve`

    Examples
    --------
    >>> from stakes.tally import ScoreTable
    >>> gains_curve(ScoreTable.from_scores([0, 1, 0, 1], [-1.5, 0.2, 0.2, 3.0]))(0.25).tolist()
    0.5
    """
    single(table, "a gains curve")
    columns = lift(table)
    return _through(columns.rate[::-1], columns.gain[::-1])


@record
class Lift(Value):
    """How much richer in positives the top of the ranking is, at every threshold.

    Attributes
    ----------
    thresholds : (T,) array
    rate : (..., T) array
        Share of cases above the threshold; nan without cases.
    gain : (..., T) array
        Share of the positives among them; nan where the positive class is absent.
    lift : (..., T) array
        Gain over rate: precision over the share of positives. nan where no case is above.

    Examples
    --------
    >>> lift(ScoreTable([0.2, 0.6], [[3, 1], [1, 3]])).lift
    array([1. , 1.5, nan])
    """

    thresholds: FloatArray
    rate: FloatArray
    gain: FloatArray
    lift: FloatArray


def lift(table: ScoreTable) -> Lift:
    """Lift chart: how much more common positives are above each threshold than among all cases.

    Piatetsky-Shapiro and Masand (1999), Estimating campaign benefits and modeling lift.

    Parameters
    ----------
    table : distinct scores and the weight of each class at them, (…, S, 2)

    Returns
    -------
    lift at every threshold

    Examples
    --------
    >>> from stakes.tally import ScoreTable
    >>> lift(ScoreTable.from_scores([0, 1, 0, 1], [-1.5, 0.2, 0.2, 3.0])).lift.round(3).tolist()
    [1.0, 1.333, 2.0, nan]
    """
    require("table", table, ScoreTable)
    above = weights_above(table.weights)
    cases = above[..., 0] + above[..., 1]
    rate = ratio(cases, cases[..., :1])
    gain = ratio(above[..., 1], above[..., :1, 1])
    return Lift._trusted(thresholds=table.thresholds, rate=rate, gain=gain, lift=ratio(gain, rate))
