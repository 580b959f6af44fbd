r"""Expected cost and its relatives: where a tally meets a problem.

All functions take Counts of shape (…, K, M) and carry the leading axes through.

Where every case has its own costs, and these are linear in a few terms, sums are enough, too: with
:math:`c_{kd}(x) = \sum_t a_{kdt}\, z_t(x)` for a case x, the sums of :math:`z_t` over the cases of
each class that get each decision say what these decisions cost under any coefficients a. The first
term is the constant 1, so that its sums are the weights of the cases.
"""

from __future__ import annotations

import numpy as np

from stakes import _check
from stakes._arithmetic import ratio
from stakes._check import FloatArray, Numbers, unwrapped
from stakes.errors import InputError
from stakes.problem import Problem
from stakes.tally import Counts


def _refuse_mismatch(counts: Counts, problem: Problem) -> None:
    """Refuse counts and a problem whose classes or decisions differ."""
    _check.require("counts", counts, Counts)
    _check.require("problem", problem, Problem)
    if counts.values.shape[-2:] != problem.costs.shape:
        raise InputError(
            f"counts and problem must have the same classes and decisions; counts are "
            f"{counts.n_classes} by {counts.n_decisions}, costs {problem.n_classes} by "
            f"{problem.n_decisions}. Rows are classes, columns are decisions."
        )
    _check.same_names("counts and problem", counts, problem)


def prior_of(counts: Counts, problem: Problem) -> FloatArray:
    """The class shares to use, of shape (…, K): the problem's prior, else the shares of the data.

    Parameters
    ----------
    counts : cases by true class and decision, (…, K, M)
    problem : what is at stake: costs, prior, labels

    Returns
    -------
    class shares, (…, K)

    Examples
    --------
    >>> prior_of(Counts([[80, 20], [3, 7]]), Problem.binary(false_alarm=1, miss=9)).round(3)
    array([0.909, 0.091])
    """
    _refuse_mismatch(counts, problem)
    if problem.prior is None:
        return counts.shares
    return np.broadcast_to(problem.prior, counts.values.shape[:-1])


def decision_rates(counts: Counts) -> FloatArray:
    r"""Share of each decision within each class, :math:`P(d \mid k)`, of shape (…, K, M).

    nan for a class without cases.

    Parameters
    ----------
    counts : cases by true class and decision, (…, K, M)

    Returns
    -------
    rates, (…, K, M), which add up to 1 in each row

    Examples
    --------
    >>> decision_rates(Counts([[8, 2, 0], [1, 1, 2]]))
    array([[0.8 , 0.2 , 0.  ],
           [0.25, 0.25, 0.5 ]])
    """
    _check.require("counts", counts, Counts)
    return ratio(counts.values, counts.values.sum(axis=-1, keepdims=True))


def expected_cost(counts: Counts, problem: Problem) -> Numbers:
    r"""Cost per case that these decisions will incur once deployed.

    .. math:: \sum_k \pi_k \sum_d P(d \mid k)\, c_{kd}

    Decisions enter through their rates within each class only, so the class balance of the
    evaluation data does not matter when the problem states a prior (ferrer-ec, eq 2). A class that
    the prior expects but the data lack makes the answer nan; a class of prior zero is ignored.

    Parameters
    ----------
    counts : cases by true class and decision, (…, K, M)
    problem : what is at stake: costs, prior, labels

    Returns
    -------
    cost per case in the unit of the problem, (…)

    Examples
    --------
    >>> counts = Counts([[90, 10, 0], [2, 3, 5]])
    >>> problem = Problem([[0, 3, 25], [180, 8, 0]], prior=[0.995, 0.005])
    >>> float(expected_cost(counts, problem).round(4))
    0.4905
    """
    # A class of prior zero may have no cases: its nan must not reach the sum.
    per_class = expected_cost_per_class(counts, problem)
    prior = prior_of(counts, problem)
    return unwrapped(np.sum(prior * np.where(prior > 0, per_class, 0.0), axis=-1))


def expected_cost_per_class(counts: Counts, problem: Problem) -> FloatArray:
    r"""Cost per case of each class, :math:`\sum_d P(d \mid k)\, c_{kd}`, of shape (…, K).

    nan for a class without cases.

    Parameters
    ----------
    counts : cases by true class and decision, (…, K, M)
    problem : what is at stake: costs, prior, labels

    Returns
    -------
    cost per case of each class, (…, K)

    Examples
    --------
    >>> expected_cost_per_class(Counts([[80, 20], [3, 7]]), Problem.binary(false_alarm=1, miss=9))
    array([0.2, 2.7])
    """
    _refuse_mismatch(counts, problem)
    return np.asarray(np.einsum("...km,km->...k", decision_rates(counts), problem.costs))


def cost_shares(counts: Counts, problem: Problem) -> FloatArray:
    r"""Where the money goes: each cell's part :math:`\pi_k P(d \mid k)\, c_{kd}` of the cost.

    Of shape (…, K, M); its sum is the expected cost.

    Parameters
    ----------
    counts : cases by true class and decision, (…, K, M)
    problem : what is at stake: costs, prior, labels

    Returns
    -------
    parts of the cost, (…, K, M), which add up to the expected cost

    Examples
    --------
    >>> counts = Counts([[80, 20], [3, 7]])
    >>> cost_shares(counts, Problem.binary(false_alarm=1, miss=9)).round(3)
    array([[0.   , 0.182],
           [0.245, 0.   ]])
    """
    prior = prior_of(counts, problem)[..., None]
    rates = np.where(prior > 0, decision_rates(counts), 0.0)
    return np.asarray(prior * rates * problem.costs)


def naive_cost(counts: Counts, problem: Problem) -> Numbers:
    r"""Cost per case of the best decision made without looking at the case (ferrer-ec, eq 3).

    .. math:: \min_d \sum_k \pi_k c_{kd}

    Parameters
    ----------
    counts : cases by true class and decision, (…, K, M)
    problem : what is at stake: costs, prior, labels

    Returns
    -------
    cost per case, (…)

    Examples
    --------
    >>> counts = Counts([[80, 20], [3, 7]])
    >>> float(naive_cost(counts, Problem.binary(false_alarm=1, miss=9)).round(3))
    0.818
    """
    return unwrapped((prior_of(counts, problem) @ problem.costs).min(axis=-1))


def perfect_cost(counts: Counts, problem: Problem) -> Numbers:
    r"""Cost per case of the best decision of each class, :math:`\sum_k \pi_k \min_d c_{kd}`.

    Parameters
    ----------
    counts : cases by true class and decision, (…, K, M)
    problem : what is at stake: costs, prior, labels

    Returns
    -------
    cost per case, (…)

    Examples
    --------
    >>> float(perfect_cost(Counts([[80, 20], [3, 7]]), Problem([[1, 2], [9, 3]])).round(3))
    1.182
    """
    return unwrapped(prior_of(counts, problem) @ problem.costs.min(axis=-1))


def normalized_cost(counts: Counts, problem: Problem) -> Numbers:
    r"""Expected cost on a scale where 0 is perfect and 1 is the best constant decision.

    .. math:: \frac{EC - EC_{perfect}}{EC_{naive} - EC_{perfect}}

    This is ferrer-ec, eq 3, for any costs. Where a constant decision is already perfect, it is nan
    if these decisions are perfect, too, else inf.

    Parameters
    ----------
    counts : cases by true class and decision, (…, K, M)
    problem : what is at stake: costs, prior, labels

    Returns
    -------
    normalised cost, (…); above 1 a constant decision is cheaper

    Examples
    --------
    Finley's tornado forecasts of 1884 lose to never forecasting a tornado:

    >>> finley = Counts([[2680, 72], [23, 28]])
    >>> float(normalized_cost(finley, Problem.zero_one(2)).round(2))
    1.86
    """
    _check.require("problem", problem, Problem)
    regret = problem.regret()  # its zeros are exact, so no tolerance is needed below
    return unwrapped(ratio(expected_cost(counts, regret), naive_cost(counts, regret)))


def relative_economic_value(counts: Counts, problem: Problem) -> Numbers:
    """1 − `normalized_cost`: 1 is perfect, 0 is the best constant decision; higher is better.

    Parameters
    ----------
    counts : cases by true class and decision, (…, K, M)
    problem : what is at stake: costs, prior, labels

    Returns
    -------
    value, (…), at most 1

    Examples
    --------
    >>> counts = Counts([[80, 20], [3, 7]])
    >>> float(relative_economic_value(counts, Problem.binary(false_alarm=1, miss=9)).round(3))
    0.478
    """
    return 1.0 - normalized_cost(counts, problem)


def utility_yield(counts: Counts, problem: Problem) -> Numbers:
    r"""Utility per case, :math:`\sum_{kd} U_{kd} C_{kd}` (dyrland, eq 10); higher is better.

    Parameters
    ----------
    counts : cases by true class and decision, (…, K, M)
    problem : what is at stake: costs, prior, labels

    Returns
    -------
    utility per case, (…)

    Examples
    --------
    >>> A = Counts([[0.27, 0.23], [0.15, 0.35]])
    >>> float(utility_yield(A, Problem.from_utilities([[15, -35], [-335, 165]])).round(9))
    3.5
    """
    return 0.0 - expected_cost(counts, problem)


def coefficients_on(terms: tuple[str, ...], problem: Problem) -> FloatArray:
    """The coefficients (K, M, T) of these terms in the costs of a problem, 0 where there is none.

    A problem whose costs have another term is refused.

    Parameters
    ----------
    terms : names of the terms
    problem : what is at stake: costs, prior, labels

    Returns
    -------
    coefficients, (K, M, T)

    Examples
    --------
    >>> coefficients_on(("1", "amount"), Problem([[0, "5 + 0.02*amount"], [3, 0]]))[0]
    array([[0.  , 0.  ],
           [5.  , 0.02]])
    """
    names, coefficients = problem.terms
    if unknown := [name for name in names if name not in terms]:
        raise InputError(
            f"problem must have costs that are linear in the terms whose sums are known, "
            f"{', '.join(terms)}; they depend on {unknown[0]}, too. Evaluate again with these "
            f"costs."
        )
    by_term = np.zeros((*coefficients.shape[:2], len(terms)))
    by_term[..., [terms.index(name) for name in names]] = np.nan_to_num(coefficients)
    return by_term


def term_cost(sums: FloatArray, coefficients: FloatArray, prior: FloatArray | None) -> Numbers:
    r"""Cost per case (…) where costs are linear in terms, from sums (…, K, M, T) of the terms.

    .. math:: \sum_k \pi_k \frac{\sum_{dt} a_{kdt} S_{kdt}}{\sum_d S_{kd1}}

    Without a prior the classes have their shares of the cases. A class of prior zero is ignored;
    one that the prior expects but that has no cases makes the answer nan.

    Parameters
    ----------
    sums : sums of the terms over the cases of each cell, (…, K, M, T)
    coefficients : of the terms in the costs, (K, M, T)
    prior : class shares, (K,) or by label; None takes those of the data

    Returns
    -------
    cost per case, (…)

    Examples
    --------
    >>> sums = np.array([[[8, 400], [2, 300]], [[1, 90], [4, 200]]])   # cases, amounts
    >>> float(term_cost(sums, np.array([[[0, 0], [5, 0.02]], [[0, 1], [0, 0]]]), None).round(3))
    7.067
    """
    _check.shapes("… K M T, K M T, K", sums=sums, coefficients=coefficients, prior=prior)
    mass = sums[..., 0].sum(axis=-1)
    shares = ratio(mass, mass.sum(axis=-1, keepdims=True)) if prior is None else prior
    per_class = ratio(np.einsum("...kdt,kdt->...k", sums, coefficients), mass)
    return unwrapped(np.sum(shares * np.where(shares > 0, per_class, 0.0), axis=-1))


def constant_sums(sums: FloatArray) -> FloatArray:
    """The sums (M, K, M, T) that every constant decision would have, from those of any decisions.

    Parameters
    ----------
    sums : sums of the terms over the cases of each cell, (K, M, T)

    Returns
    -------
    sums of the constant decisions, (M, K, M, T)

    Examples
    --------
    >>> constant_sums(np.ones((2, 3, 1))).shape
    (3, 2, 3, 1)
    """
    _check.shapes("k m t", sums=sums)
    chosen = np.eye(sums.shape[1])[:, None, :, None]
    return np.asarray(chosen * sums.sum(axis=1, keepdims=True))
