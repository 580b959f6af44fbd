"""The ROC curve of a score table: the vertices of its hull, its points, and areas below it."""

from __future__ import annotations

import numpy as np

from stakes import _check
from stakes._arithmetic import ratio, running_sum
from stakes._check import BoolArray, FloatArray, Numbers, unwrapped
from stakes._value import Value, record, remembered
from stakes.ranking.convex_hull import hull, hull_cuts, scaled_weights, slack_of
from stakes.tally import ScoreTable


@record
class Roc(Value):
    """Operating points in the order of increasing thresholds, from (1, 1) to (0, 0).

    Point j gives the positive decision to scores above ``thresholds[j]``.

    Attributes
    ----------
    thresholds : (T,) array
        The first is -inf: all cases get the positive decision.
    false_alarm_rate, hit_rate : (..., T) arrays
        Shares of the negative and of the positive class that get the positive decision; nan where
        that class is absent.

    Examples
    --------
    >>> roc(ScoreTable([0.2, 0.6], [[3, 1], [1, 3]])).hit_rate
    array([1.  , 0.75, 0.  ])
    """

    thresholds: FloatArray
    false_alarm_rate: FloatArray
    hit_rate: FloatArray


def weights_above(weights: FloatArray) -> FloatArray:
    """Weight of each class at or above every cut: (..., S, 2) in, (..., S + 1, 2) out.

    Entry j is what gets the positive decision when ``scores[j:]`` do. The sums run from the top,
    so that the last one is exactly zero and the first one is the total.

    Parameters
    ----------
    weights : weight of each class at every score, (…, S, 2)

    Returns
    -------
    weights, (…, S + 1, 2)

    Examples
    --------
    >>> weights_above(np.array([[3.0, 0.0], [1.0, 2.0]]))
    array([[4., 2.],
           [1., 2.],
           [0., 0.]])
    """
    _check.shapes("… s 2", weights=weights)
    above = np.zeros((*weights.shape[:-2], 2, weights.shape[-2] + 1))
    # Classes first and scores last, so that running sums go through contiguous memory. The last
    # entry stays zero: nothing lies above the highest threshold.
    running_sum(np.swapaxes(weights, -1, -2)[..., ::-1], out=above[..., :-1][..., ::-1])
    return np.swapaxes(above, -1, -2)


def roc(table: ScoreTable) -> Roc:
    """Hit rate against false-alarm rate at every threshold that decides some case differently.

    Ties make diagonal segments: the points are joined by straight lines. Rates of an absent class
    are nan. Leading axes are carried; ferrer-ec, appendix C.3; hernandez-orallo, definition 16.

    Parameters
    ----------
    table : distinct scores and the weight of each class at them, (…, S, 2)

    Returns
    -------
    rates at every threshold

    Examples
    --------
    >>> from stakes.tally import ScoreTable
    >>> curve = roc(ScoreTable.from_scores([0, 1, 0, 1], [-1.5, 0.2, 0.2, 3.0]))
    >>> curve.thresholds.tolist()
    [-inf, -1.5, 0.2, 3.0]
    >>> curve.false_alarm_rate.tolist(), curve.hit_rate.tolist()
    ([1.0, 0.5, 0.0, 0.0], [1.0, 1.0, 0.5, 0.0])
    """
    _check.require("table", table, ScoreTable)
    above = weights_above(table.weights)
    # The totals are copied, because the division writes over them.
    rates = ratio(above, above[..., :1, :].copy(), out=above)
    return Roc._trusted(
        thresholds=table.thresholds, false_alarm_rate=rates[..., 0], hit_rate=rates[..., 1]
    )


def roc_hull(table: ScoreTable) -> Roc:
    """Vertices of the convex hull of the ROC curve: the best thresholds for any costs.

    They run from (1, 1) to (0, 0), both always included; collinear points are dropped. A table with
    leading axes is refused, because every hull has its own vertices; hernandez-orallo, section 6.1.

    Parameters
    ----------
    table : distinct scores and the weight of each class at them, (S, 2)

    Returns
    -------
    rates at the vertices

    Examples
    --------
    >>> from stakes.tally import ScoreTable
    >>> hull = roc_hull(ScoreTable([1, 2, 3, 4], [[3, 0], [1, 2], [2, 1], [0, 4]]))
    >>> hull.thresholds.tolist()
    [-inf, 1.0, 3.0, 4.0]
    """
    _check.require("table", table, ScoreTable)
    cuts = hull(table).cuts
    curve = roc(table)
    return Roc._trusted(
        thresholds=curve.thresholds[cuts],
        false_alarm_rate=curve.false_alarm_rate[cuts],
        hit_rate=curve.hit_rate[cuts],
    )


def is_convex(table: ScoreTable) -> BoolArray | np.bool_:
    """Whether the ROC curve is its own convex hull: (...,) booleans.

    True when the share of positives does not fall from one score to the next higher one
    (hernandez-orallo, definition 25). Every calibrated table is convex; not every convex one is
    calibrated. With a single class the share cannot fall, and the answer is True.

    Parameters
    ----------
    table : distinct scores and the weight of each class at them, (…, S, 2)

    Returns
    -------
    one boolean for each table, (…)

    Examples
    --------
    >>> from stakes.tally import ScoreTable
    >>> bool(is_convex(ScoreTable([1, 2, 3], [[3, 0], [1, 2], [2, 1]])))
    False
    """
    _check.require("table", table, ScoreTable)
    weights = table.weights
    share = ratio(weights[..., 1], weights[..., 0] + weights[..., 1])
    # A score without cases has no share of positives: it must neither raise the maximum nor fall.
    reached = np.maximum.accumulate(np.where(np.isnan(share), 0.0, share), axis=-1)
    falls: BoolArray | np.bool_ = np.any(share * slack_of(weights) < reached, axis=-1)
    return ~falls


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
    _check.require("table", table, ScoreTable)
    above = weights_above(scaled_weights(table.weights))
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
    _check.require("table", table, ScoreTable)
    above = weights_above(table.weights)
    hits = above[..., 1]
    return ratio(hits, hits[..., :1]), ratio(hits, above.sum(axis=-1))


def _highest(values: FloatArray, *, where: BoolArray, known: BoolArray) -> Numbers:
    """The highest value of the cuts that qualify, 0 if none does; nan where it is not known."""
    best = np.max(np.nan_to_num(values), axis=-1, initial=0.0, where=where)
    return unwrapped(np.where(known, best, np.nan))


def _rates(table: ScoreTable) -> tuple[FloatArray, FloatArray]:
    """Hit rate and specificity at every cut; both nan where either class is absent."""
    _check.require("table", table, ScoreTable)
    above = weights_above(table.weights)
    totals = above[..., :1, :]
    both = np.where(np.all(totals > 0, axis=-1), 1.0, np.nan)
    # One division of whole counts: 2 / 10 is then exactly the float that a caller writes as 0.2.
    return (
        both * ratio(above[..., 1], totals[..., 1]),
        both * ratio(totals[..., 0] - above[..., 0], totals[..., 0]),
    )


_PIECE = 1 << 16  # scores that fit into the cache: pairs are counted within, then between pieces


def _ordered_pairs(weights: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The statistic U, and the weights (..., 2) of the two classes."""
    classes = np.swapaxes(weights, -1, -2)
    # Tied pairs, which count one half; the tournament counts pairs of different scores.
    won = np.einsum("...i,...i->...", classes[..., 0, :], classes[..., 1, :]) / 2
    pieces = []
    for start in range(0, classes.shape[-1], _PIECE):
        more, total = _tournament(classes[..., start : start + _PIECE])
        won = won + more
        pieces.append(total)
    more, total = _tournament(np.concatenate(pieces, axis=-1))
    return unwrapped(won + more), total[..., 0]


@remembered
def _scaled_pairs(table: ScoreTable) -> tuple[FloatArray, FloatArray]:
    """The same for weights that are scaled so that no product overflows."""
    return _ordered_pairs(scaled_weights(table.weights))


def _tournament(classes: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Pairs of a lower negative and a higher positive, and the classes' weights (..., 2, 1).

    Each score meets its neighbour, then the two become one, as in a knock-out tournament. Faster
    than a running sum, each of whose steps waits for the one before; the error does not grow with
    the number of scores either, and counts stay exact.
    """
    won = np.zeros(classes.shape[:-2])
    while half := classes.shape[-1] // 2:
        lower, upper = classes[..., : 2 * half : 2], classes[..., 1::2]
        won = won + np.einsum("...i,...i->...", lower[..., 0, :], upper[..., 1, :])
        alone = classes[..., 2 * half :]
        classes = lower + upper
        if alone.size:
            classes = np.concatenate([classes, alone], axis=-1)
    return won, classes


def _pairs(weights: FloatArray) -> Numbers:
    return unwrapped(weights[..., 0].sum(axis=-1) * weights[..., 1].sum(axis=-1))


def mann_whitney_u(table: ScoreTable) -> Numbers:
    r"""Weight of the pairs of a negative and a positive case that the scores put in order.

    .. math:: U = \sum_{i \in 0} \sum_{j \in 1} w_i w_j ([s_i < s_j] + \tfrac12 [s_i = s_j])

    This is the Wilcoxon-Mann-Whitney statistic of the positive class; zero where a class is absent.
    It is exact for whole weights up to 10**8 cases. Shape (...,); hernandez-orallo, section 7.

    Parameters
    ----------
    table : distinct scores and the weight of each class at them, (…, S, 2)

    Returns
    -------
    weight of pairs, (…)

    Examples
    --------
    >>> from stakes.tally import ScoreTable
    >>> float(mann_whitney_u(ScoreTable.from_scores([0, 1, 0, 1], [-1.5, 0.2, 0.2, 3.0])))
    3.5
    """
    _check.require("table", table, ScoreTable)
    return _ordered_pairs(table.weights)[0]


def auc(table: ScoreTable) -> Numbers:
    r"""Area under the ROC curve: the chance that a positive outscores a negative, ties counting ½.

    .. math:: \mathrm{AUC} = U / (W_0 W_1)

    nan where a class is absent. Class shares do not matter. Shape (...,); hernandez-orallo,
    definition 16; ferrer-ec, appendix C.3.

    Parameters
    ----------
    table : distinct scores and the weight of each class at them, (…, S, 2)

    Returns
    -------
    area, (…); nan where a class is absent

    Examples
    --------
    >>> from stakes.tally import ScoreTable
    >>> float(auc(ScoreTable.from_scores([0, 1, 0, 1], [-1.5, 0.2, 0.2, 3.0])))
    0.875
    """
    _check.require("table", table, ScoreTable)
    won, totals = _scaled_pairs(table)
    # Sums of fractional weights are rounded, so that all pairs may weigh more than their product.
    return unwrapped(np.minimum(ratio(won, unwrapped(totals[..., 0] * totals[..., 1])), 1.0))


def gini(table: ScoreTable) -> Numbers:
    """Gini coefficient 2 AUC − 1, also known as Somers' D: 1 perfect, 0 blind, −1 reversed.

    Higher is better. nan where a class is absent. Shape (...,); hernandez-orallo, table 4.

    Parameters
    ----------
    table : distinct scores and the weight of each class at them, (…, S, 2)

    Returns
    -------
    coefficient, (…), between −1 and 1

    Examples
    --------
    >>> from stakes.tally import ScoreTable
    >>> float(gini(ScoreTable.from_scores([0, 1, 0, 1], [-1.5, 0.2, 0.2, 3.0])))
    0.75
    """
    return 2 * auc(table) - 1


def kendall_distance(table: ScoreTable) -> Numbers:
    """Kendall's tau distance to the perfect ranking: the share of swapped pairs, 1 − AUC.

    Pairs are those of two classes; a tied pair is half swapped. nan where a class is absent.
    Shape (...,); hernandez-orallo, section 7.

    Parameters
    ----------
    table : distinct scores and the weight of each class at them, (…, S, 2)

    Returns
    -------
    share of pairs, (…)

    Examples
    --------
    >>> from stakes.tally import ScoreTable
    >>> float(kendall_distance(ScoreTable.from_scores([0, 1, 0, 1], [-1.5, 0.2, 0.2, 3.0])))
    0.125
    """
    return 1 - auc(table)


def weighted_auc(table: ScoreTable) -> Numbers:
    r"""Area under the ROC curve whose axes are as long as the classes are large.

    .. math:: \mathrm{wAUC} = \pi_0 \pi_1 \mathrm{AUC}

    The chance that two cases drawn with replacement are a negative and a positive, in this order,
    with scores in this order. The expected loss of the rate methods depends on the scores through
    it alone: it is π₀π₁ − 2 wAUC plus a constant. nan where a class is absent. Shape (...,);
    hernandez-orallo, table 4.

    Parameters
    ----------
    table : distinct scores and the weight of each class at them, (…, S, 2)

    Returns
    -------
    area, (…)

    Examples
    --------
    >>> from stakes.tally import ScoreTable
    >>> float(weighted_auc(ScoreTable.from_scores([0, 1, 0, 1], [-1.5, 0.2, 0.2, 3.0])))
    0.21875
    """
    return unwrapped(auc(table) * table.shares[..., 0] * table.shares[..., 1])


def auc_of_hull(table: ScoreTable) -> Numbers:
    """Area under the convex hull of the ROC curve (AUCH).

    Equals ``auc(isotonic(table))`` and is never below `auc`. nan where a class is absent. Shape
    (...,); hernandez-orallo, section 7.2.

    Parameters
    ----------
    table : distinct scores and the weight of each class at them, (…, S, 2)

    Returns
    -------
    area, (…), at least that of the curve itself

    Examples
    --------
    >>> from stakes.tally import ScoreTable
    >>> float(auc_of_hull(ScoreTable.from_scores([1, 0, 0, 1], [1, 2, 3, 4])))
    0.75
    """
    _check.require("table", table, ScoreTable)
    weights = scaled_weights(table.weights)
    flat = weights.reshape(-1, *weights.shape[-2:])
    # Every table has its own segments, so that a loop over the leading axes is necessary.
    areas = [_ordered_pairs(np.add.reduceat(w, hull_cuts(w)[:-1], axis=0))[0] for w in flat]
    return unwrapped(np.minimum(ratio(np.reshape(areas, weights.shape[:-2]), _pairs(weights)), 1.0))


def partial_auc(table: ScoreTable, *, max_false_alarm_rate: float) -> Numbers:
    r"""Area under the ROC curve from false-alarm rate 0 up to a limit.

    .. math:: \int_0^m \mathrm{hit\ rate}\; d(\mathrm{false\ alarm\ rate})

    The raw area, at most m: neither divided by m nor standardised. The curve is linear between its
    points, so a limit inside a tie group cuts that group in proportion. nan where a class is
    absent. Shape (...,).

    Parameters
    ----------
    table : distinct scores and the weight of each class at them, (…, S, 2)
    max_false_alarm_rate : where the area ends, in (0, 1]

    Returns
    -------
    area, (…), at most the limit

    Examples
    --------
    >>> from stakes.tally import ScoreTable
    >>> table = ScoreTable.from_scores([0, 1, 0, 1], [-1.5, 0.2, 0.2, 3.0])
    >>> float(partial_auc(table, max_false_alarm_rate=0.25))
    0.15625
    """
    _check.require("table", table, ScoreTable)
    limit = _check.number("max_false_alarm_rate", max_false_alarm_rate, low=0, high=1)
    negative, positive = table.weights[..., 0], table.weights[..., 1]
    above = weights_above(table.weights)
    inside = np.minimum(above[..., 0], limit * above[..., :1, 0])
    width = inside[..., :-1] - inside[..., 1:]
    # Ties make the ROC curve slant, so that a limit inside them cuts off a trapezoid.
    slope = np.divide(positive, negative, out=np.zeros_like(negative), where=negative > 0)
    area = np.sum(width * (above[..., 1:, 1] + width * slope / 2), axis=-1)
    return ratio(area, _pairs(table.weights))


def standardized_partial_auc(table: ScoreTable, *, max_false_alarm_rate: float) -> Numbers:
    r"""McClish's standardised partial area: ½ for blind scores, 1 for perfect ones.

    .. math:: \tfrac12 \left(1 + \frac{A - m^2/2}{m - m^2/2}\right)

    with A the raw `partial_auc` up to the limit m. nan where a class is absent and where m is 0.
    Shape (...,). McClish (1989), Analyzing a portion of the ROC curve.

    Parameters
    ----------
    table : distinct scores and the weight of each class at them, (…, S, 2)
    max_false_alarm_rate : where the area ends, in (0, 1]

    Returns
    -------
    area, (…)

    Examples
    --------
    >>> from stakes.tally import ScoreTable
    >>> table = ScoreTable.from_scores([0, 1, 0, 1], [-1.5, 0.2, 0.2, 3.0])
    >>> round(float(standardized_partial_auc(table, max_false_alarm_rate=0.25)), 4)
    0.7857
    """
    area = partial_auc(table, max_false_alarm_rate=max_false_alarm_rate)
    best = np.float64(max_false_alarm_rate)
    blind = best**2 / 2  # the area below the diagonal, where scores say nothing
    return (1 + ratio(area - blind, np.asarray(best - blind))) / 2


def average_precision(table: ScoreTable) -> Numbers:
    r"""Area under the precision-recall curve as a step function.

    .. math:: \sum_j (R_j - R_{j+1})\, P_j

    over cuts j, with R_j and P_j recall and precision when ``scores[j:]`` get the positive
    decision. Nothing is interpolated, which would be optimistic. Higher is better. It depends on
    the class shares: ``table.with_prior(p)`` gives its value in deployment. nan where the positive
    class is absent; 1 where the negative one is. Shape (...,); ferrer-ec, appendix C.3.

    Parameters
    ----------
    table : distinct scores and the weight of each class at them, (…, S, 2)

    Returns
    -------
    area, (…)

    Examples
    --------
    >>> from stakes.tally import ScoreTable
    >>> table = ScoreTable.from_scores([0, 1, 0, 1], [-1.5, 0.2, 0.2, 3.0])
    >>> round(float(average_precision(table)), 4)
    0.8333
    """
    _check.require("table", table, ScoreTable)
    positive = table.weights[..., 1]
    above = weights_above(table.weights)[..., :-1, :]
    decided = above.sum(axis=-1)
    # Where no case scores this high, precision is 0 / 0; no positive case would use it.
    terms = np.where(positive == 0, 0.0, positive * ratio(above[..., 1], decided))
    return ratio(np.sum(terms, axis=-1), positive.sum(axis=-1))
