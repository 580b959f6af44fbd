"""Measures of diagnostic tests: likelihood ratios, odds, informedness, and net benefit.

Likelihood ratios and related measures have a value for every class against the rest: for two
classes the last entry, ``[..., 1]``, is the value of the positive class. Net benefit is for two
classes and two decisions, the second of each being the positive one. Higher is better, except for
`likelihood_ratio_negative`. Undefined is nan.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from stakes._arithmetic import ratio
from stakes._check import FloatArray, Numbers, probabilities, unwrapped
from stakes._square import square
from stakes.errors import InputError
from stakes.measures.confusion import (
    negative_predictive_value,
    one_vs_rest,
    precision,
    recall,
    specificity,
)
from stakes.measures.cost import expected_cost, prior_of
from stakes.problem import Problem
from stakes.tally import Counts

# One value for every class -----------------------------------------------------------------------


def informedness(counts: Counts) -> FloatArray:
    r"""Youden's J of each class: sensitivity plus specificity minus one; higher is better.

    .. math:: J_k = R_{kk} + TN_k / (TN_k + FP_k) - 1

    For two classes this is one minus the normalised balanced error rate. Undefined when no case, or
    every case, is of the class. Shape (..., K). Reference: ferrer-ec, eq 14.

    Parameters
    ----------
    counts : cases by true class and decision, (…, K, M)

    Returns
    -------
    informedness of each class, (…, K), between −1 and 1

    Examples
    --------
    >>> finley = Counts([[2680, 72], [23, 28]])
    >>> informedness(finley).round(3)
    array([0.523, 0.523])
    """
    return recall(counts) + specificity(counts) - 1


def markedness(counts: Counts) -> FloatArray:
    r"""Precision plus negative predictive value minus one, of each class; higher is better.

    .. math:: N_{kk} / N_{*k} + TN_k / (TN_k + FN_k) - 1

    Undefined when the class is never decided, or always. Shape (..., K). Reference: Powers 2011.

    Parameters
    ----------
    counts : cases by true class and decision, (…, K, M)

    Returns
    -------
    markedness of each class, (…, K), between −1 and 1

    Examples
    --------
    >>> finley = Counts([[2680, 72], [23, 28]])
    >>> markedness(finley).round(3)
    array([0.271, 0.271])
    """
    return precision(counts) + negative_predictive_value(counts) - 1


def _rates(counts: Counts) -> FloatArray:
    """Rates (..., K, 2, 2) of decisions within each row, of each class against the rest."""
    cells = one_vs_rest(counts).values
    return ratio(cells, cells.sum(axis=-1, keepdims=True))


def likelihood_ratio_positive(counts: Counts) -> FloatArray:
    r"""How much likelier each decision is within its class than outside it; higher is better.

    .. math:: LR_+ = \frac{\text{sensitivity}}{1 - \text{specificity}}

    Without false alarms it is inf if any case is detected, else undefined. It is also undefined
    when no case, or every case, is of the class. Shape (..., K). Reference: ferrer-ec, eq 28.

    Parameters
    ----------
    counts : cases by true class and decision, (…, K, M)

    Returns
    -------
    ratio of each class, (…, K)

    Examples
    --------
    >>> finley = Counts([[2680, 72], [23, 28]])
    >>> likelihood_ratio_positive(finley).round(3)
    array([ 2.159, 20.985])
    """
    rates = _rates(counts)
    return ratio(rates[..., 1, 1], rates[..., 0, 1])


def likelihood_ratio_negative(counts: Counts) -> FloatArray:
    r"""How much likelier any other decision is within the class than outside it; lower is better.

    .. math:: LR_- = \frac{1 - \text{sensitivity}}{\text{specificity}}

    At specificity zero it is inf if any case is missed, else undefined. It is also undefined when
    no case, or every case, is of the class. Shape (..., K).

    Parameters
    ----------
    counts : cases by true class and decision, (…, K, M)

    Returns
    -------
    ratio of each class, (…, K)

    Examples
    --------
    >>> finley = Counts([[2680, 72], [23, 28]])
    >>> likelihood_ratio_negative(finley).round(3)
    array([0.048, 0.463])
    """
    rates = _rates(counts)
    return ratio(rates[..., 1, 0], rates[..., 0, 0])


def diagnostic_odds_ratio(counts: Counts) -> FloatArray:
    r"""Odds of each decision within its class over its odds outside; higher is better.

    .. math:: \frac{TP_k \cdot TN_k}{FP_k \cdot FN_k} = \frac{LR_+}{LR_-}

    Without false alarms or misses it is inf, unless there are no true positives or no true
    negatives either: then it is undefined. Shape (..., K). Reference: Glas et al. 2003.

    Parameters
    ----------
    counts : cases by true class and decision, (…, K, M)

    Returns
    -------
    odds ratio of each class, (…, K)

    Examples
    --------
    >>> finley = Counts([[2680, 72], [23, 28]])
    >>> diagnostic_odds_ratio(finley).round(3)
    array([45.314, 45.314])
    """
    rates = _rates(counts)
    return ratio(rates[..., 1, 1] * rates[..., 0, 0], rates[..., 0, 1] * rates[..., 1, 0])


# Net benefit -------------------------------------------------------------------------------------


def _shares(counts: Counts) -> FloatArray:
    """Cells of a table of two classes and two decisions, as shares of its cases."""
    if counts.values.shape[-2:] != (2, 2):
        raise InputError(
            f"counts must have two classes and two decisions, the second ones positive; it has "
            f"{counts.n_classes} classes and {counts.n_decisions} decisions. "
            f"Pick a class with one_vs_rest, or state costs and use expected_cost."
        )
    return ratio(square(counts), np.asarray(counts.n_cases)[..., None, None])


def net_benefit(counts: Counts, threshold: npt.ArrayLike) -> Numbers:
    r"""True positives per case, minus false alarms at the exchange rate of the threshold.

    .. math:: \frac{N_{22}}{N} - \frac{p}{1 - p} \cdot \frac{N_{12}}{N}

    The threshold p in [0, 1] is the probability at which one is indifferent; it is broadcast
    against the leading axes. At p = 1 the answer is -inf with false alarms, else the true
    positives per case. Higher is better. Undefined without cases. Shape (...).
    Reference: ferrer-ec, eq 25.

    Parameters
    ----------
    counts : cases by true class and decision, (…, K, M)
    threshold : threshold probability, or several

    Returns
    -------
    net benefit per case, (…), of the threshold's shape where there is one table

    Examples
    --------
    For people who take shelter at a risk of one in ten:

    >>> finley = Counts([[2680, 72], [23, 28]])
    >>> float(net_benefit(finley, 0.1).round(5))
    0.00714
    """
    at = probabilities("threshold", threshold)
    shares = _shares(counts)
    false_alarms, hits = shares[..., 0, 1], shares[..., 1, 1]
    with np.errstate(invalid="ignore"):
        loss = ratio(at, 1 - at) * false_alarms
    # At p = 1 the exchange rate is infinite, and no false alarm still costs nothing.
    return hits - np.where(false_alarms == 0, 0.0, loss)


def standardized_net_benefit(counts: Counts, threshold: npt.ArrayLike) -> Numbers:
    r"""Net benefit as a share of the most that can be had; higher is better.

    .. math:: NB(p) / P_2

    One for perfect decisions. Undefined without positives. Shape (...). Reference: Kerr et al.
    2016.

    Parameters
    ----------
    counts : cases by true class and decision, (…, K, M)
    threshold : threshold probability, or several

    Returns
    -------
    share of the most that can be had, (…), at most 1

    Examples
    --------
    >>> finley = Counts([[2680, 72], [23, 28]])
    >>> float(standardized_net_benefit(finley, 0.1).round(3))
    0.392
    """
    benefit = net_benefit(counts, threshold)
    positives = _shares(counts)[..., 1, :].sum(axis=-1)
    return unwrapped(np.where(positives > 0, ratio(benefit, positives), np.nan))


def multiclass_net_benefit(counts: Counts, problem: Problem) -> Numbers:
    r"""Net benefit for any classes and decisions, in units of what a case of the last class saves.

    .. math:: \frac{\sum_k \pi_k c_{k1} - EC}{c_{K1} - \min_d c_{Kd}}

    The first decision, which treats nobody, has a net benefit of zero if it is always taken. The
    unit is what the best decision saves on a case of the last class, so that for two classes and
    two decisions this is `net_benefit` at the threshold of the problem, under its prior. For the
    net benefit of each class against the rest, call `net_benefit` on ``one_vs_rest(counts)``.
    Higher is better. Undefined where `expected_cost` is, and where the first decision is the best
    for the last class. Shape (...). Reference: Vickers and Elkin 2006, in the costs of ferrer-ec,
    eq 25 to 27.

    Parameters
    ----------
    counts : cases by true class and decision, (…, K, M)
    problem : what is at stake: costs, prior, labels

    Returns
    -------
    net benefit per case, (…)

    Examples
    --------
    A biopsy costs a healthy patient one unit, a check-up 0.1; missing a cancer costs nine, and a
    check-up finds it late:

    >>> problem = Problem([[0, 0.1, 1], [9, 3, 0]], prior=[0.9, 0.1])
    >>> float(multiclass_net_benefit(Counts([[70, 20, 10], [1, 2, 7]]), problem).round(4))
    0.0713

    What every decision about a class costs makes no difference:

    >>> costlier = Problem([[0, 0.1, 1], [19, 13, 10]], prior=[0.9, 0.1])
    >>> float(multiclass_net_benefit(Counts([[70, 20, 10], [1, 2, 7]]), costlier).round(4))
    0.0713
    """
    cost = expected_cost(counts, problem)
    prior, first = prior_of(counts, problem), problem.costs[:, 0]
    # For two classes this makes it the net benefit of Vickers and Elkin, in true positives.
    unit = first[-1] - problem.costs[-1].min()
    return ratio(prior @ first - cost, np.asarray(unit if unit > 0 else np.nan))
