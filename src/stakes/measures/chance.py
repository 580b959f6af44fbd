"""Agreement beyond chance: Matthews' correlation and the kappas.

Each compares the decisions with decisions that have the same margins and do not depend on the
class: zero is chance, one is perfect, and higher is better. Leading axes are carried through;
undefined is nan.
"""

from __future__ import annotations

import numpy as np

from stakes._arithmetic import ratio
from stakes._check import FloatArray, Numbers, unwrapped
from stakes._square import diagonal, elsewhere, off_diagonal, scaled, square
from stakes.measures.cost import decision_rates, prior_of
from stakes.problem import Problem
from stakes.tally import Counts

__all__ = ["cohen_kappa", "mcc", "weighted_kappa"]


def mcc(counts: Counts) -> Numbers:
    r"""Matthews' correlation of classes and decisions, for K classes Gorodkin's R_K.

    .. math:: \frac{N \sum_k N_{kk} - \sum_k N_{k*} N_{*k}}
        {\sqrt{N^2 - \sum_k N_{k*}^2} \sqrt{N^2 - \sum_k N_{*k}^2}}

    Between -1 and 1; higher is better. Undefined when all cases are of one class, or get one
    decision. Shape (...). Reference: ferrer-ec, eq 13, 14.

    Parameters
    ----------
    counts : cases by true class and decision, (…, K, M)

    Returns
    -------
    correlation, (…), between −1 and 1

    Examples
    --------
    >>> finley = Counts([[2680, 72], [23, 28]])
    >>> float(mcc(finley).round(3))
    0.377
    """
    values = scaled(square(counts))
    rows, columns = values.sum(axis=-1), values.sum(axis=-2)
    right = values.sum(axis=(-2, -1)) * diagonal(values).sum(axis=-1)
    covariance = right - np.sum(rows * columns, axis=-1)
    truth, decided = _unlike_pairs(rows, rows), _unlike_pairs(columns, columns)
    decided = np.where((truth > 0) & (decided > 0), decided, np.nan)
    # Not covariance / sqrt(truth * decided): this way perfect tables give one, and none overflows.
    return unwrapped(ratio(covariance, truth) * np.sqrt(ratio(truth, decided)))


def _unlike_pairs(first: FloatArray, second: FloatArray) -> FloatArray:
    """Sum of ``first_k second_l`` over k ≠ l; a sum of what is there, so that zero is zero."""
    return unwrapped(np.sum(first * elsewhere(second), axis=-1))


def cohen_kappa(counts: Counts) -> Numbers:
    r"""Cohen's kappa: how much rarer errors are than by chance; higher is better.

    .. math:: 1 - \frac{N \sum_{k \ne l} N_{kl}}{\sum_{k \ne l} N_{k*} N_{*l}}

    One minus the error rate over that of independent decisions with the same margins. Undefined
    when all cases are of one class and get that decision. Shape (...). Reference: Cohen 1960.

    Parameters
    ----------
    counts : cases by true class and decision, (…, K, M)

    Returns
    -------
    kappa, (…): 1 is perfect, 0 is chance

    Examples
    --------
    >>> finley = Counts([[2680, 72], [23, 28]])
    >>> float(cohen_kappa(finley).round(3))
    0.355
    """
    # Scaled by a power of two, which is exact: products of large counts would overflow.
    values = scaled(square(counts))
    by_chance = _unlike_pairs(values.sum(axis=-1), values.sum(axis=-2))
    wrong = values.sum(axis=(-2, -1)) * off_diagonal(values).sum(axis=(-2, -1))
    return 1 - ratio(wrong, by_chance)


def weighted_kappa(counts: Counts, problem: Problem) -> Numbers:
    r"""Cohen's kappa with costs: how much cheaper the decisions are than by chance.

    .. math:: 1 - \frac{\sum_{kd} \pi_k P(d \mid k)\, r_{kd}}{\sum_{kd} \pi_k P(d)\, r_{kd}},
        \qquad P(d) = \sum_k \pi_k P(d \mid k)

    with the regrets r, the costs above the cheapest decision of the class: one minus the expected
    cost over that of independent decisions with the same margins. `Problem.zero_one` gives
    `cohen_kappa`, distances of ordered classes and their squares the linear and the quadratic
    kappa; decisions need not be classes. Higher is better. Undefined when independent decisions
    cost nothing, or when the prior expects a class that the data lack. Shape (...).
    Reference: Cohen 1968.

    Parameters
    ----------
    counts : cases by true class and decision, (…, K, M)
    problem : what is at stake: costs, prior, labels

    Returns
    -------
    kappa, (…): 1 is perfect, 0 is chance

    Examples
    --------
    >>> ratings = Counts([[11, 3, 1], [1, 8, 2], [0, 4, 10]])
    >>> linear = Problem([[0, 1, 2], [1, 0, 1], [2, 1, 0]])
    >>> float(weighted_kappa(ratings, linear).round(3))
    0.666
    """
    prior = prior_of(counts, problem)[..., None]
    joint = prior * np.where(prior > 0, decision_rates(counts), 0.0)
    regret = problem.costs - problem.costs.min(axis=1, keepdims=True)
    independent = prior * joint.sum(axis=-2, keepdims=True)
    observed = np.sum(joint * regret, axis=(-2, -1))
    return 1 - ratio(observed, np.sum(independent * regret, axis=(-2, -1)))
