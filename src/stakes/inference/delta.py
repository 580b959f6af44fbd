"""Standard errors by formula: expected cost, normalised cost and rates, by the delta method.

The functions that end in ``_error`` are plain measures: they take weights for numbers of cases and
carry leading axes, so that `bootstrap_t` can use them. Those that make an `Estimate` refuse
weights.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from stakes import _check
from stakes._arithmetic import ratio, weighted_sum
from stakes._check import FloatArray, Numbers
from stakes.inference.estimate import Estimate
from stakes.inference.intervals import Normal, Wilson
from stakes.inference.tally_checks import refuse_other_labels, whole_cells
from stakes.measures import (
    decision_rates,
    expected_cost,
    naive_cost,
    normalized_cost,
    prior_of,
)
from stakes.problem import Problem
from stakes.tally import CellTally, Counts, JointCounts, LossMoments


def cost_moments(joint: JointCounts, problem: Problem) -> LossMoments:
    """What every model's decision about every case costs, as moments by class.

    Parameters
    ----------
    joint : cases by true class and the decisions of all models
    problem : what is at stake: costs, prior, labels

    Returns
    -------
    sums and scatter of the costs, by class

    Examples
    --------
    >>> joint = JointCounts.from_decisions(
    ...     [0, 0, 1, 1], {"old": [0, 1, 1, 0], "new": [0, 0, 1, 0]}, Problem.zero_one(2))
    >>> cost_moments(joint, Problem.zero_one(2)).mean()
    array([0.5 , 0.25])
    """
    of_class, costs = _cell_costs(joint, problem)
    n_losses = costs.shape[1]
    single = LossMoments._trusted(  # a case of each cell, whose costs do not vary
        weight=of_class,
        sums=of_class[:, :, None] * costs[:, None, :],
        scatter=np.zeros((*of_class.shape, n_losses, n_losses)),
        names=joint.models,
        classes=joint.classes,
        groups=None,
    )
    moments = single.sum_clusters(joint.weights)
    return moments._but(groups=joint.groups)


def joint_costs(joint: JointCounts, problem: Problem) -> FloatArray:
    """Expected cost (…, J) of every model: the mean of `cost_moments`, without their scatter."""
    of_class, costs = _cell_costs(joint, problem)
    weight = joint.weights @ of_class
    by_class = (of_class[:, :, None] * costs[:, None, :]).reshape(len(costs), -1)
    sums = (joint.weights @ by_class).reshape(*weight.shape, -1)
    prior = problem.prior
    shares = ratio(weight, weight.sum(axis=-1, keepdims=True)) if prior is None else prior
    return weighted_sum(shares[..., None], ratio(sums, weight[..., None]), axis=-2)


def _cell_costs(joint: JointCounts, problem: Problem) -> tuple[FloatArray, FloatArray]:
    """The class of each cell as zeros and a one, (C, K), and what every model's costs, (C, J)."""
    refuse_other_labels(joint, problem)
    truth, decided = joint.cells[:, 0], joint.cells[:, 1:]
    of_class = (truth[:, None] == np.arange(len(joint.classes))).astype(np.float64)
    return of_class, problem.costs[truth[:, None], decided]


def mean_covariance(moments: LossMoments, prior: FloatArray | None) -> FloatArray:
    r"""Covariances (…, J, J) of the mean losses over samples of such cases.

    .. math:: \sum_k \pi_k^2 S_k / n_k \quad\text{under a prior, else}\quad S / n

    with the covariances S of the losses within a class, or of all cases, divided by n − 1. nan
    where a sample has a single case: all cases, or a class of positive prior.

    Parameters
    ----------
    moments : sums and scatter of the losses, by class
    prior : class shares, (K,) or by label; None takes those of the data

    Returns
    -------
    covariances, (…, J, J)

    Examples
    --------
    >>> from stakes.tally import LossMoments
    >>> moments = LossMoments.from_losses([0, 0, 1, 1], {"old": [0, 2, 5, 4], "new": [1, 1, 3, 4]})
    >>> mean_covariance(moments, None).round(4)
    array([[1.2292, 0.6875],
           [0.6875, 0.5625]])
    """
    if prior is None:
        return _covariance_of_mean(moments.n_cases, moments.total_scatter)
    within = _covariance_of_mean(moments.weight, moments.scatter)
    square = (prior**2)[..., None, None]
    return np.asarray(np.sum(np.where(square > 0, square * within, 0.0), axis=-3))


def _covariance_of_mean(weight: Numbers, scatter: FloatArray) -> FloatArray:
    """Covariances (…, J, J) of mean losses, from weight (…) and scatter."""
    count = np.asarray(weight)[..., None, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.where(count > 1, scatter / (count * (count - 1)), np.nan))


def cell_covariance(tally: CellTally, losses: FloatArray, prior: FloatArray | None) -> FloatArray:
    """`mean_covariance` of losses (…, C, J) that are the same for all cases of a cell.

    Cells keep the digits that sums of products would lose where some losses are far from others.
    """
    samples, shares = [slice(None)], np.ones(1)  # all cases, or those of each class under a prior
    if prior is not None:
        ends = np.searchsorted(tally.cell_classes, np.arange(len(prior) + 1))
        samples, shares = [slice(*pair) for pair in pairwise(ends)], prior
    return np.asarray(
        sum(
            share**2 * _sample_covariance(tally.cell_weights[..., cells], losses[..., cells, :])
            for cells, share in zip(samples, shares, strict=True)
            if share > 0
        )
    )


def _sample_covariance(weights: FloatArray, losses: FloatArray) -> FloatArray:
    """Covariances (…, J, J) of the mean losses of one sample, of weights (…, C)."""
    seen = weights[..., None] > 0
    # Differences to an observed loss come first, so that equal losses have exactly no variance.
    known = np.where(seen, losses, np.inf)
    losses = np.where(seen, losses - known.min(axis=-2, keepdims=True, initial=np.inf), 0.0)
    count = weights.sum(axis=-1)[..., None, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = weights[..., None, :] @ losses / count
        residuals = np.where(seen, losses - mean, 0.0)
        scatter = np.swapaxes(residuals, -1, -2) @ (weights[..., None] * residuals)
        return np.asarray(np.where(count > 1, scatter / (count * (count - 1)), np.nan))


# Expected cost -----------------------------------------------------------------------------------


def expected_cost_error(counts: Counts, problem: Problem) -> FloatArray:
    r"""Standard error of the expected cost, of shape (…).

    .. math:: se^2 = \sum_k \pi_k^2 s_k^2 / n_k \quad\text{under a stated prior, else}\quad s^2/n

    with the variances s² of the cost per case, within a class or of all cases. nan where fewer than
    two cases are in a sample: that of all cases, or under a prior that of a class of positive
    prior. Zero where all cases cost the same: then the sample is too small to show how costs vary;
    the cost is not certain.

    Parameters
    ----------
    counts : cases by true class and decision, (…, K, M)
    problem : what is at stake: costs, prior, labels

    Returns
    -------
    standard error, (…)

    Examples
    --------
    >>> problem = Problem.binary(false_alarm=1, miss=20)
    >>> float(expected_cost_error(Counts([[2680, 72], [23, 28]]), problem).round(4))
    0.0342
    """
    prior_of(counts, problem)  # refuses other labels
    covariance = cell_covariance(counts, problem.costs.reshape(-1, 1), problem.prior)
    return np.asarray(np.sqrt(covariance[..., 0, 0]))


def delta_expected_cost(counts: Counts, problem: Problem) -> Estimate:
    """Expected cost with its standard error by formula, and normal intervals.

    Parameters
    ----------
    counts : cases by true class and decision, (…, K, M)
    problem : what is at stake: costs, prior, labels

    Returns
    -------
    cost with its standard error

    Examples
    --------
    >>> problem = Problem.binary(false_alarm=1, miss=20)
    >>> print(delta_expected_cost(Counts([[2680, 72], [23, 28]]), problem))
    0.1898 (95% 0.1228 to 0.2568, delta method)
    """
    _check.require("counts", counts, Counts)
    whole_cells(counts)
    return _normal(expected_cost(counts, problem), expected_cost_error(counts, problem))


def normalized_cost_error(counts: Counts, problem: Problem) -> FloatArray:
    r"""Standard error of the normalised cost, of shape (…).

    Under a stated prior the cost of the best blind decision is known, and the standard error is
    that of the regret divided by this cost. Otherwise it is that of a ratio of two means, R = x̄/ȳ
    with x the regret of a case and y that of the best blind decision: that of the mean of
    :math:`x - R y`, divided by ȳ. At class shares where two blind decisions tie the ratio has a
    kink, and the formula does not hold.

    Parameters
    ----------
    counts : cases by true class and decision, (…, K, M)
    problem : what is at stake: costs, prior, labels

    Returns
    -------
    standard error, (…)

    Examples
    --------
    >>> from stakes.problem import Problem
    >>> problem = Problem.binary(false_alarm=1, miss=9)
    >>> float(normalized_cost_error(Counts([[80, 20], [3, 7]]), problem).round(3))
    0.169
    """
    _check.require("problem", problem, Problem)
    regret = problem.regret()
    prior = prior_of(counts, problem)
    naive = naive_cost(counts, regret)
    value = normalized_cost(counts, problem)
    if problem.prior is not None:
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(expected_cost_error(counts, regret) / naive)
    # The best blind decision is held fixed: the minimum has no derivative where two of them tie.
    chosen = np.argmin(np.nan_to_num(prior @ regret.costs), axis=-1)  # (…)
    blind = np.moveaxis(regret.costs[:, chosen], 0, -1)[..., None]  # (…, K, 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        residuals = regret.costs - value[..., None, None] * blind  # (…, K, M)
        losses = residuals.reshape(*residuals.shape[:-2], -1, 1)
        return np.asarray(np.sqrt(cell_covariance(counts, losses, None)[..., 0, 0]) / naive)


def delta_normalized_cost(counts: Counts, problem: Problem) -> Estimate:
    """Normalised cost with its standard error by the delta method, and normal intervals.

    Parameters
    ----------
    counts : cases by true class and decision, (…, K, M)
    problem : what is at stake: costs, prior, labels

    Returns
    -------
    normalised cost with its standard error

    Examples
    --------
    >>> problem = Problem.binary(false_alarm=1, miss=20)
    >>> print(delta_normalized_cost(Counts([[2680, 72], [23, 28]]), problem))
    0.5216 (95% 0.3827 to 0.6605, delta method)
    """
    _check.require("counts", counts, Counts)
    whole_cells(counts)
    return _normal(normalized_cost(counts, problem), normalized_cost_error(counts, problem))


# Rates -------------------------------------------------------------------------------------------


def rate_error(counts: Counts) -> FloatArray:
    r"""Standard errors :math:`\sqrt{p(1-p)/n_k}` of the decision rates, of shape (…, K, M).

    nan for a class without cases.

    Parameters
    ----------
    counts : cases by true class and decision, (…, K, M)

    Returns
    -------
    standard errors, (…, K, M)

    Examples
    --------
    >>> rate_error(Counts([[90, 10], [0, 0]]))
    array([[0.03, 0.03],
           [ nan,  nan]])
    """
    rates = decision_rates(counts)
    with np.errstate(divide="ignore", invalid="ignore"):
        per_class = counts.values.sum(axis=-1, keepdims=True)
        return np.asarray(np.sqrt(rates * (1 - rates) / per_class))


def delta_rates(counts: Counts) -> Estimate:
    """Decision rates (…, K, M) with normal intervals; prefer `wilson_rates`.

    Parameters
    ----------
    counts : cases by true class and decision, (…, K, M)

    Returns
    -------
    rates with their standard errors, (…, K, M)

    Examples
    --------
    >>> delta_rates(Counts([[80, 20], [3, 7]])).value
    array([[0.8, 0.2],
           [0.3, 0.7]])
    """
    _check.require("counts", counts, Counts)
    whole_cells(counts)
    return _normal(decision_rates(counts), rate_error(counts))


def wilson_rates(counts: Counts) -> Estimate:
    """Decision rates (…, K, M) with Wilson's intervals, which hold with few cases too.

    Parameters
    ----------
    counts : cases by true class and decision, (…, K, M)

    Returns
    -------
    rates with Wilson's intervals, (…, K, M)

    Examples
    --------
    >>> hits = wilson_rates(Counts([[2680, 72], [23, 28]])).interval(0.95)
    >>> float(hits.low[1, 1].round(3)), float(hits.high[1, 1].round(3))
    (0.414, 0.677)
    """
    _check.require("counts", counts, Counts)
    whole_cells(counts)
    rates = decision_rates(counts)
    per_class = np.broadcast_to(counts.values.sum(axis=-1, keepdims=True), rates.shape)
    return Estimate(
        rates, rate_error(counts), np.empty((0, *rates.shape)), Wilson(per_class), "Wilson"
    )


def _normal(value: Numbers, error: Numbers) -> Estimate:
    return Estimate(value, error, np.empty((0, *value.shape)), Normal(), "delta method")
