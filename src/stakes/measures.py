"""Measures: pure functions of counts (and of a problem), one formula each.

Expected cost and related measures come first, also as sums of terms; then the familiar metrics of
a square table, agreement beyond chance and the measures of diagnostic tests among them. Leading
axes are carried through; undefined is nan.

Takes tallies.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from stakes import _check
from stakes._arithmetic import ratio
from stakes._check import (
    FloatArray,
    Label,
    Numbers,
    a_label,
    number,
    probabilities,
    require,
    unwrapped,
)
from stakes._square import diagonal, elsewhere, off_diagonal, scaled, square
from stakes.errors import InputError
from stakes.problem import Problem
from stakes.tally import Counts

__all__ = [
    "abstention_rate",
    "accuracy",
    "balanced_accuracy",
    "balanced_error_rate",
    "best_naive_f_beta",
    "coefficients_on",
    "cohen_kappa",
    "constant_sums",
    "cost_shares",
    "coverage",
    "decision_rates",
    "diagnostic_odds_ratio",
    "error_rate",
    "expected_cost",
    "expected_cost_per_class",
    "f_beta",
    "f_beta_of_averages",
    "fowlkes_mallows",
    "informedness",
    "jaccard",
    "likelihood_ratio_negative",
    "likelihood_ratio_positive",
    "macro_f_beta",
    "markedness",
    "mcc",
    "multiclass_net_benefit",
    "naive_cost",
    "negative_predictive_value",
    "net_benefit",
    "normalized_cost",
    "one_vs_rest",
    "perfect_cost",
    "precision",
    "prior_of",
    "recall",
    "relative_economic_value",
    "specificity",
    "standardized_net_benefit",
    "term_cost",
    "utility_yield",
    "weighted_kappa",
]


# Expected cost and its relatives: where a tally meets a problem ----------------------------------
#
# All functions take Counts of shape (…, K, M) and carry the leading axes through.
#
# Where every case has its own costs, and these are linear in a few terms, sums are enough, too:
# with c_kd(x) = Σ_t a_kdt z_t(x) for a case x, the sums of z_t over the cases of each class
# that get each decision say what these decisions cost under any coefficients a. The first term is
# the constant 1, so that its sums are the weights of the cases.


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


# Every familiar metric of a table of counts, one formula per function ----------------------------
#
# Rows are true classes, columns are decisions; leading axes are carried through. Metrics of one
# class against the rest have one value for every class: for two classes the last entry, ``[...,
# 1]``, is the value of the positive class. They need square tables, because a decision that is not
# a class (abstain, review) has a cost but no recall. Undefined is nan.
#
# For most of these higher is better; `error_rate` and `balanced_error_rate` are expected costs.
# ferrer-ec, section 3 and appendix C, works out what they imply about costs.


def one_vs_rest(counts: Counts) -> Counts:
    """Each class against the rest: K tables of two classes, of which class k is the positive one.

    Shape (..., K, K) becomes (..., K, 2, 2); table k holds, row by row, the true negatives, false
    positives, false negatives and true positives of class k.

    Parameters
    ----------
    counts : cases by true class and decision, (…, K, M)

    Returns
    -------
    tables of shape (…, K, 2, 2)

    Examples
    --------
    >>> one_vs_rest(Counts([[5, 6, 2], [2, 8, 11], [8, 2, 10]])).values[0]
    array([[31., 10.],
           [ 8.,  5.]])
    """
    values = square(counts)
    elsewhere_sums = elsewhere(values)  # of row i, decided as anything but k
    cells = [
        off_diagonal(elsewhere_sums).sum(axis=-2),
        off_diagonal(values).sum(axis=-2),
        diagonal(elsewhere_sums),
        diagonal(values),
    ]
    tables = np.stack(cells, axis=-1).reshape(*values.shape[:-1], 2, 2)
    return Counts._unlabelled(tables, counts.groups)


# Over all cases ----------------------------------------------------------------------------------


def error_rate(counts: Counts) -> Numbers:
    r"""Share of cases that get a wrong decision.

    .. math:: \frac1N \sum_{i \ne j} N_{ij}

    The expected cost of `Problem.zero_one` at the class shares of the data. Undefined without
    cases. Shape (...). Reference: ferrer-ec, eq 5.

    Parameters
    ----------
    counts : cases by true class and decision, (…, K, M)

    Returns
    -------
    share of the cases, (…)

    Examples
    --------
    Finley's tornado forecasts of 1884 (truth in rows, forecasts in columns):

    >>> finley = Counts([[2680, 72], [23, 28]])
    >>> float(error_rate(finley).round(4))
    0.0339
    """
    return ratio(off_diagonal(square(counts)).sum(axis=(-2, -1)), counts.n_cases)


def accuracy(counts: Counts) -> Numbers:
    r"""Share of cases that get the right decision; higher is better.

    .. math:: \frac1N \sum_i N_{ii}

    Undefined without cases. Shape (...). Reference: ferrer-analysis, eq 5.

    Parameters
    ----------
    counts : cases by true class and decision, (…, K, M)

    Returns
    -------
    share of the cases, (…)

    Examples
    --------
    >>> finley = Counts([[2680, 72], [23, 28]])
    >>> float(accuracy(finley).round(4))
    0.9661
    """
    return ratio(diagonal(square(counts)).sum(axis=-1), counts.n_cases)


def balanced_error_rate(counts: Counts) -> Numbers:
    r"""Error rate of the classes, averaged with equal weight.

    .. math:: \frac1K \sum_i \frac1{N_{i*}} \sum_{j \ne i} N_{ij}

    The expected cost of `Problem.balanced`. Undefined when a class is absent. Shape (...).
    Reference: ferrer-ec, eq 6.

    Parameters
    ----------
    counts : cases by true class and decision, (…, K, M)

    Returns
    -------
    mean error rate, (…)

    Examples
    --------
    >>> finley = Counts([[2680, 72], [23, 28]])
    >>> float(balanced_error_rate(finley).round(4))
    0.2386
    """
    values = square(counts)
    return unwrapped(np.mean(ratio(off_diagonal(values).sum(-1), values.sum(-1)), axis=-1))


def balanced_accuracy(counts: Counts) -> Numbers:
    r"""Recall of the classes, averaged with equal weight; higher is better.

    .. math:: \frac1K \sum_i R_{ii}

    Undefined when a class is absent. Shape (...). Reference: ferrer-analysis, eq 9.

    Parameters
    ----------
    counts : cases by true class and decision, (…, K, M)

    Returns
    -------
    mean recall, (…)

    Examples
    --------
    >>> finley = Counts([[2680, 72], [23, 28]])
    >>> float(balanced_accuracy(finley).round(4))
    0.7614
    """
    return unwrapped(np.mean(recall(counts), axis=-1))


def abstention_rate(counts: Counts, *, decision: Label = "abstain") -> Numbers:
    """Share of cases that get the decision which stands for abstaining.

    Undefined without cases. Shape (...).

    Parameters
    ----------
    counts : cases by true class and decision, (…, K, M)
    decision : label of the decision that stands for abstaining

    Returns
    -------
    share of the cases, (…)

    Examples
    --------
    >>> counts = Counts([[6, 1, 3], [0, 8, 2]], decisions=["legit", "fraud", "abstain"])
    >>> float(abstention_rate(counts))
    0.25
    """
    require("counts", counts, Counts)
    return ratio(counts.values[..., _column(counts, decision)].sum(axis=-1), counts.n_cases)


def coverage(counts: Counts, *, decision: Label = "abstain") -> Numbers:
    """Share of cases that get any other decision than the one which stands for abstaining.

    Undefined without cases. Shape (...).

    Parameters
    ----------
    counts : cases by true class and decision, (…, K, M)
    decision : label of the decision that stands for abstaining

    Returns
    -------
    share of the cases, (…)

    Examples
    --------
    >>> counts = Counts([[6, 1, 3], [0, 8, 2]], decisions=["legit", "fraud", "abstain"])
    >>> float(coverage(counts))
    0.75
    """
    require("counts", counts, Counts)
    decided = np.delete(counts.values, _column(counts, decision), axis=-1)
    return ratio(decided.sum(axis=(-2, -1)), counts.n_cases)


def _column(counts: Counts, decision: Label) -> int:
    """The position of the decision among the decisions of the counts."""
    a_label("decision", decision)
    if counts.decisions is None or decision not in counts.decisions:
        known = f"are {counts.decisions}" if counts.decisions else "have no labels"
        raise InputError(
            f"decision must be one of the decisions of counts; {decision!r} is not: they {known}. "
            f"Name the decision that abstains, as in decision='review', and label the decisions of "
            f"counts."
        )
    return counts.decisions.index(decision)


# One value for every class -----------------------------------------------------------------------


def recall(counts: Counts) -> FloatArray:
    r"""Share of each class that is decided as that class; higher is better.

    .. math:: R_{kk} = N_{kk} / N_{k*}

    Undefined for an absent class. Shape (..., K). Reference: ferrer-ec, eq 8.

    Parameters
    ----------
    counts : cases by true class and decision, (…, K, M)

    Returns
    -------
    share for each class, (…, K)

    Examples
    --------
    Of the 51 tornadoes 28 were forecast:

    >>> finley = Counts([[2680, 72], [23, 28]])
    >>> recall(finley).round(3)
    array([0.974, 0.549])
    """
    values = square(counts)
    return ratio(diagonal(values), values.sum(axis=-1))


def specificity(counts: Counts) -> FloatArray:
    r"""Share of the cases outside each class that are decided as another; higher is better.

    .. math:: TN_k / (TN_k + FP_k)

    Undefined when all cases are of the class. Shape (..., K). Reference: itai-katz, section 1.3.

    Parameters
    ----------
    counts : cases by true class and decision, (…, K, M)

    Returns
    -------
    share for each class, (…, K)

    Examples
    --------
    >>> finley = Counts([[2680, 72], [23, 28]])
    >>> specificity(finley).round(3)
    array([0.549, 0.974])
    """
    negatives = one_vs_rest(counts).values[..., 0, :]
    return ratio(negatives[..., 0], negatives.sum(axis=-1))


def precision(counts: Counts) -> FloatArray:
    r"""Share of the cases decided as a class that are of that class; higher is better.

    .. math:: N_{kk} / N_{*k}

    Undefined for a class that is never decided. Shape (..., K). Reference: ferrer-ec, eq 8.

    Parameters
    ----------
    counts : cases by true class and decision, (…, K, M)

    Returns
    -------
    share for each class, (…, K)

    Examples
    --------
    A forecast of a tornado was right in 28 of 100 cases:

    >>> finley = Counts([[2680, 72], [23, 28]])
    >>> precision(finley).round(3)
    array([0.991, 0.28 ])
    """
    values = square(counts)
    return ratio(diagonal(values), values.sum(axis=-2))


def negative_predictive_value(counts: Counts) -> FloatArray:
    r"""Share of the cases decided as another class that are not of the class; higher is better.

    .. math:: TN_k / (TN_k + FN_k)

    Undefined when all cases are decided as the class. Shape (..., K). Reference: itai-katz,
    section 1.3.

    Parameters
    ----------
    counts : cases by true class and decision, (…, K, M)

    Returns
    -------
    share for each class, (…, K)

    Examples
    --------
    >>> finley = Counts([[2680, 72], [23, 28]])
    >>> negative_predictive_value(finley).round(3)
    array([0.28 , 0.991])
    """
    decided_otherwise = one_vs_rest(counts).values[..., :, 0]
    return ratio(decided_otherwise[..., 0], decided_otherwise.sum(axis=-1))


def _squared(beta: object) -> float:
    """The square of the weight of recall, bounded so that it does not overflow."""
    # Far below this bound, F already equals recall to the last digit.
    return min(number("beta", beta, low=0), 1e100) ** 2


def f_beta(counts: Counts, beta: float) -> FloatArray:
    r"""F score: precision and recall of each class in one number; higher is better.

    .. math:: \frac{(1 + \beta^2) N_{kk}}{\beta^2 N_{k*} + N_{*k}}

    One minus F is the expected cost with misses :math:`\beta^2` times as costly as false alarms,
    divided by :math:`\beta^2 P_k + R_{*k}`, so that it favours systems that decide k more often.
    It is 0 for a class that is present but never decided, or decided but never present; undefined
    only where the class is neither. Shape (..., K). Reference: ferrer-ec, eq 9, 12.

    Parameters
    ----------
    counts : cases by true class and decision, (…, K, M)
    beta : how many times recall counts as much as precision

    Returns
    -------
    F score of each class, (…, K)

    Examples
    --------
    >>> finley = Counts([[2680, 72], [23, 28]])
    >>> f_beta(finley, 1).round(3)
    array([0.983, 0.371])
    """
    beta_squared = _squared(beta)
    values = square(counts)
    denominator = beta_squared * values.sum(axis=-1) + values.sum(axis=-2)
    return ratio((1 + beta_squared) * diagonal(values), denominator)


def best_naive_f_beta(counts: Counts, beta: float) -> FloatArray:
    r"""F score of always deciding the class: a system below it is not worth having.

    .. math:: \frac{(1 + \beta^2) P_k}{\beta^2 P_k + 1}

    Undefined without cases. Shape (..., K). Reference: ferrer-ec, section 3.1.

    Parameters
    ----------
    counts : cases by true class and decision, (…, K, M)
    beta : how many times recall counts as much as precision

    Returns
    -------
    F score of each class, (…, K)

    Examples
    --------
    Forecasting a tornado every day:

    >>> finley = Counts([[2680, 72], [23, 28]])
    >>> best_naive_f_beta(finley, 1).round(3)
    array([0.991, 0.036])
    """
    beta_squared = _squared(beta)
    present = square(counts).sum(axis=-1)
    denominator = beta_squared * present + np.asarray(counts.n_cases)[..., None]
    return ratio((1 + beta_squared) * present, denominator)


def macro_f_beta(counts: Counts, beta: float) -> Numbers:
    r"""Mean of the classes' F scores; higher is better.

    .. math:: \frac1K \sum_k F_{\beta,k}

    This is scikit-learn's macro average; `f_beta_of_averages` is the other reading of the name.
    Undefined when the F score of any class is. Shape (...). Reference: ferrer-ec, section 3.3.

    Parameters
    ----------
    counts : cases by true class and decision, (…, K, M)
    beta : how many times recall counts as much as precision

    Returns
    -------
    mean F score, (…)

    Examples
    --------
    >>> finley = Counts([[2680, 72], [23, 28]])
    >>> float(macro_f_beta(finley, 1).round(3))
    0.677
    """
    return unwrapped(np.mean(f_beta(counts, beta), axis=-1))


def f_beta_of_averages(counts: Counts, beta: float) -> Numbers:
    r"""F score of the mean precision and the mean recall of the classes; higher is better.

    .. math:: \frac{(1 + \beta^2) \bar P \bar R}{\beta^2 \bar P + \bar R}

    `macro_f_beta` is the other reading of "macro F". No right decision at all gives 0. Undefined
    when a class is absent or never decided. Shape (...). Reference: ferrer-ec, section 3.3.

    Parameters
    ----------
    counts : cases by true class and decision, (…, K, M)
    beta : how many times recall counts as much as precision

    Returns
    -------
    F score, (…)

    Examples
    --------
    >>> finley = Counts([[2680, 72], [23, 28]])
    >>> float(f_beta_of_averages(finley, 1).round(3))
    0.693
    """
    beta_squared = _squared(beta)
    mean_precision, mean_recall = np.mean(precision(counts), -1), np.mean(recall(counts), -1)
    score = ratio(
        (1 + beta_squared) * mean_precision * mean_recall,
        beta_squared * mean_precision + mean_recall,
    )
    # Both are 0 together, when no decision is right; by counts the score is 0 then.
    return unwrapped(np.where((mean_precision == 0) & (mean_recall == 0), 0.0, score))


def jaccard(counts: Counts) -> FloatArray:
    r"""Jaccard index of each class: right decisions among cases that are, or are decided as, it.

    .. math:: \frac{N_{kk}}{N_{k*} + N_{*k} - N_{kk}}

    This is the intersection over the union, and the critical success index of weather forecasts:
    F₁ on another scale, :math:`F_1 / (2 - F_1)`. Higher is better. Undefined where the class is
    neither present nor decided. Shape (..., K). Reference: Jaccard 1901.

    Parameters
    ----------
    counts : cases by true class and decision, (…, K, M)

    Returns
    -------
    index of each class, (…, K)

    Examples
    --------
    Gilbert's answer of 1884 to Finley:

    >>> finley = Counts([[2680, 72], [23, 28]])
    >>> jaccard(finley).round(3)
    array([0.966, 0.228])
    """
    values = square(counts)
    right = diagonal(values)
    # Not row + column − right, which could overflow where the result would not.
    return ratio(right, right + (values.sum(axis=-1) - right) + (values.sum(axis=-2) - right))


def fowlkes_mallows(counts: Counts) -> FloatArray:
    r"""Geometric mean of precision and recall of each class; higher is better.

    .. math:: N_{kk} / \sqrt{N_{k*} N_{*k}}

    Undefined for a class that is absent or never decided. Shape (..., K). Reference: itai-katz,
    section 2.1.

    Parameters
    ----------
    counts : cases by true class and decision, (…, K, M)

    Returns
    -------
    index of each class, (…, K)

    Examples
    --------
    >>> finley = Counts([[2680, 72], [23, 28]])
    >>> fowlkes_mallows(finley).round(3)
    array([0.983, 0.392])
    """
    return np.sqrt(recall(counts) * precision(counts))


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
    # The numerator is the sum over k of the determinants of class k against the rest. Total times
    # diagonal minus products of margins would cancel where one cell outweighs the others.
    right, wrong = diagonal(values), off_diagonal(values)
    missed, raised = wrong.sum(axis=-1), wrong.sum(axis=-2)
    rest = elsewhere(right) + (elsewhere(missed) - raised)  # cases that are k in neither way
    covariance = np.sum(right * rest - missed * raised, axis=-1)
    truth, decided = _unlike_pairs(rows, rows), _unlike_pairs(columns, columns)
    decided = np.where((truth > 0) & (decided > 0), decided, np.nan)
    # Not covariance / sqrt(truth * decided): this way perfect tables give one, and none overflows.
    return unwrapped(ratio(covariance, truth) * np.sqrt(ratio(truth, decided)))


def _unlike_pairs(first: FloatArray, second: FloatArray) -> Numbers:
    """Sum of ``first_k second_l`` over k ≠ l."""
    # Summed directly: the total minus the pairs k = l would leave rounding errors instead of zero.
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

    with the regrets r, the costs above those of the cheapest decision for the class: one minus the
    expected cost over that of independent decisions with the same margins. `Problem.zero_one` gives
    `cohen_kappa`; distances of ordered classes as costs give the linear kappa, and their squares
    the quadratic one. Decisions need not be classes. Higher is better. Undefined when independent
    decisions cost nothing, or when the prior expects a class that the data lack. Shape (...).
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


# Diagnostic tests --------------------------------------------------------------------------------


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
    require("counts", counts, Counts)
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
