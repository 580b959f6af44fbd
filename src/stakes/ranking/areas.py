"""Areas under the ROC and the precision-recall curve."""

from __future__ import annotations

import numpy as np

from stakes import _check
from stakes._arithmetic import ratio
from stakes._check import FloatArray, Numbers, unwrapped
from stakes._value import remembered
from stakes.ranking.convex_hull import hull_cuts, scaled
from stakes.ranking.roc import weights_above
from stakes.tally import ScoreTable

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
    return _ordered_pairs(scaled(table.weights))


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
    weights = scaled(table.weights)
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
    positive = table.weights[..., 1]
    above = weights_above(table.weights)[..., :-1, :]
    decided = above.sum(axis=-1)
    # Where no case scores this high, precision is 0 / 0; no positive case would use it.
    terms = np.where(positive == 0, 0.0, positive * ratio(above[..., 1], decided))
    return ratio(np.sum(terms, axis=-1), positive.sum(axis=-1))
