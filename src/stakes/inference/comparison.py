"""Measures with intervals, and paired comparisons of several models on the same cases."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import combinations, pairwise
from typing import Any, Self

import numpy as np

from stakes import _check
from stakes._arithmetic import least, least_shares, mean_defined, ratio, weighted_sum
from stakes._check import FloatArray, Label, Labels, Numbers, a_function, require, shapes
from stakes._text import text_table
from stakes._value import Value, record
from stakes.errors import InputError
from stakes.inference.estimate import (
    BCa,
    Estimate,
    ExpandedPercentile,
    IntervalType,
    Measure,
    Normal,
    Percentile,
    Studentised,
    T,
    Wilson,
    carried,
    checked_tally,
    cluster_count,
    numbers,
    refuse_other_labels,
    refuse_weights,
    spread,
    student_tail,
    whole_cells,
)
from stakes.inference.schemes import (
    AllCases,
    Scheme,
    checked_replicates,
    checked_scheme,
    cluster_influence,
    depends_on_single_case,
    jackknife,
    scheme_of,
)
from stakes.measures import (
    decision_rates,
    expected_cost,
    naive_cost,
    normalized_cost,
    prior_of,
)
from stakes.problem import Problem
from stakes.tally import CellTally, Counts, JointCounts, LossMoments, ScoreTable, Tally

# -------------------------------------------------------------------------------------------------
# Standard errors by formula: expected cost, normalised cost and rates, by the delta method.
#
# The functions that end in ``_error`` are plain measures: they take weights for numbers of cases
# and carry leading axes, so that `bootstrap_t` can use them. Those that make an `Estimate` refuse
# weights.


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


# The bootstrap: measures of resampled tallies, in blocks that keep memory flat -------------------

_BLOCK = 1 << 18  # numbers resampled at a time: two megabytes, which stay in the cache
_KEPT = (1 << 22) - (1 << 12)  # doubles: just below 32 MiB, the most that glibc takes for a hint


def bootstrap(
    measure: Callable[..., Numbers],
    tally: T,
    problem: Problem | None = None,
    *,
    replicates: int,
    rng: np.random.Generator,
    scheme: Scheme | None = None,
) -> Estimate:
    """Resample the cases, measure every replicate, and read intervals off the quantiles.

    The time of a replicate depends on the size of the tally, not on the number of rows. Leading
    axes of the tally (groups) are resampled independently of each other, except by `Clusters`. One
    case does not show how cases vary: where the value depends on the only case of a sample (that of
    all cases, or that of a class by `WithinClasses`), all its replicates are nan. A value depends
    on a case when it changes without it; a class of prior zero does not matter.

    Parameters
    ----------
    measure : function of a tally, which carries a leading axis through
        Its value may have axes of its own; `each` makes a measure of single tallies fit.
    tally : sums over cases, such as `Counts` or `ScoreTable`
    problem : where there is one, the measure is a function of a tally and a problem
    replicates : their number
    rng : the generator that draws
    scheme : what was drawn at random; by default `scheme_of` chooses it from tally and problem

    Returns
    -------
    value, replicates and intervals

    Examples
    --------
    Finley's tornado forecasts of 1884 against never forecasting a tornado:

    >>> from stakes import Counts, Problem, normalized_cost
    >>> finley = Counts([[2680, 72], [23, 28]])
    >>> problem = Problem.binary(false_alarm=1, miss=20)
    >>> print(bootstrap(normalized_cost, finley, problem,
    ...                 replicates=2000, rng=np.random.default_rng(7)))
    0.5216 (95% 0.3786 to 0.6638, 2000 bootstrap replicates of all cases)
    """
    a_function("measure", measure)
    if problem is not None:
        require("problem", problem, Problem)
    of_tally, chosen = of_problem(measure, problem), _scheme(scheme, tally, problem)
    value, values = _replicates(of_tally, tally, chosen, replicates, rng)
    return estimate_of(value, values, intervals_of(of_tally, tally, chosen, rng), chosen)


def bootstrap_bca(
    measure: Callable[..., Numbers],
    tally: T,
    problem: Problem | None = None,
    *,
    replicates: int,
    rng: np.random.Generator,
    scheme: Scheme | None = None,
) -> Estimate:
    """`bootstrap` whose intervals are corrected for bias and skewness, see `BCa`.

    The acceleration comes from deleting one case of each cell in turn, see `jackknife`.

    Parameters
    ----------
    measure : a function of the tally that carries leading axes
    tally : sums over cases, such as `Counts` or `ScoreTable`
    problem : what is at stake: costs, prior, labels
    replicates : how many replicates to draw
    rng : the generator that draws
    scheme : what was drawn at random; None takes it from the tally

    Returns
    -------
    value, replicates and intervals

    Examples
    --------
    >>> from stakes import Counts
    >>> from stakes.measures import accuracy
    >>> print(bootstrap_bca(accuracy, Counts([[2680, 72], [23, 28]]),
    ...                     replicates=2000, rng=np.random.default_rng(7)))
    0.9661 (95% 0.959 to 0.9725, 2000 bootstrap replicates of all cases)
    """
    a_function("measure", measure)
    of_tally, chosen = of_problem(measure, problem), _scheme(scheme, tally, problem)
    value, values = _replicates(of_tally, tally, chosen, replicates, rng)
    deleted = jackknife(of_tally, tally, scheme=chosen, rng=rng)
    return estimate_of(value, values, BCa(deleted.acceleration), chosen)


def bootstrap_t(
    measure: Callable[..., Numbers],
    standard_error: Callable[..., Numbers],
    tally: T,
    problem: Problem | None = None,
    *,
    replicates: int,
    rng: np.random.Generator,
    scheme: Scheme | None = None,
) -> Estimate:
    """`bootstrap` whose intervals are studentised by a standard error, see `Studentised`.

    Where a formula for the standard error is at hand, such as `expected_cost_error` or
    `auc_error`, it costs as little as the measure itself. That formula is also the standard error
    of the estimate. It sees cases, not the clusters that they came in, so that `Clusters` is
    refused.

    Parameters
    ----------
    measure : a function of the tally that carries leading axes
    standard_error : a function of the tally: the standard error of the measure
    tally : sums over cases, such as `Counts` or `ScoreTable`
    problem : what is at stake: costs, prior, labels
    replicates : how many replicates to draw
    rng : the generator that draws
    scheme : what was drawn at random; None takes it from the tally

    Returns
    -------
    value, replicates and intervals

    Examples
    --------
    >>> from stakes.inference import auc_error
    >>> from stakes.ranking import auc
    >>> from stakes.tally import ScoreTable
    >>> table = ScoreTable([1, 2, 3, 4], [[30, 2], [10, 9], [8, 12], [2, 27]])
    >>> print(bootstrap_t(auc, auc_error, table, replicates=999, rng=np.random.default_rng(7)))
    0.8784 (95% 0.7812 to 0.9296, 999 studentised bootstrap replicates of all cases)
    """
    a_function("measure", measure)
    a_function("standard_error", standard_error)

    def both(resampled: T) -> FloatArray:
        """Value and standard error of one tally, on a new last axis."""
        value = numbers(of_problem(measure, problem)(resampled))
        error = numbers(of_problem(standard_error, problem)(resampled), "standard_error")
        if value.shape != error.shape:
            raise InputError(
                f"measure and standard_error must give one shape; they gave {value.shape} and "
                f"{error.shape}. Take the error that belongs to the measure."
            )
        # Value and standard error come from the same replicate: the statistic is their quotient.
        return np.stack([value, error], axis=-1)

    checked_tally(tally)
    chosen = _scheme(scheme, tally, problem)
    if chosen.of_clusters:
        raise InputError(
            "scheme must resample cases here; by Clusters() the standard error would be that of "
            "independent cases, since it is taken from the sum of the clusters. Call "
            "bootstrap(…, scheme=Clusters()), whose intervals know how few clusters there are."
        )
    on_all, values = _replicates(both, tally, chosen, replicates, rng)
    drawn = np.array(values[..., 0])
    method = f"{len(drawn)} studentised bootstrap replicates {chosen.words}"
    shape = Studentised(np.array(values[..., 1]))
    return Estimate(on_all[..., 0], on_all[..., 1], drawn, shape, method)


def estimate_of(
    value: FloatArray,
    replicates: FloatArray,
    intervals: IntervalType,
    scheme: Scheme | None = None,
) -> Estimate:
    """An estimate from a value and its replicates, whose finite values give the standard error.

    Parameters
    ----------
    value : the measure of the data, (…)
    replicates : the measure of every replicate, (R, …)
    intervals : how intervals are read off the replicates
    scheme : what was drawn at random; None takes it from the tally

    Returns
    -------
    value, replicates and intervals

    Examples
    --------
    >>> from stakes.inference.estimate import Percentile
    >>> print(estimate_of(np.array(2.0), np.array([1.0, 2.0, 3.0, np.nan]), Percentile()))
    2 (95% 1 to 3, 4 bootstrap replicates, 1 of them undefined)
    """
    shapes("r …", replicates=replicates)
    method = f"{len(replicates)} bootstrap replicates"
    if scheme is not None:
        method = f"{method} {scheme.words}"
    return Estimate(value, spread(replicates), replicates, intervals, method)


def of_problem(
    measure: Callable[..., Numbers], problem: Problem | None
) -> Callable[[Any], Numbers]:
    """A measure of a tally and a problem as one of the tally; the measure itself without one."""
    return measure if problem is None else lambda tally: measure(tally, problem)


def _scheme(scheme: Scheme | None, tally: Tally, problem: Problem | None) -> Scheme:
    return scheme_of(tally, problem) if scheme is None else checked_scheme(scheme)


def intervals_of(
    measure: Measure[T], tally: T, scheme: Scheme, rng: np.random.Generator
) -> IntervalType:
    """The type of intervals of the scheme; for clusters it depends on the influence of each."""
    if not scheme.of_clusters:
        return scheme.intervals(tally)
    # A few clusters may dominate the value; leaving each of them out shows how few.
    return ExpandedPercentile(cluster_count(tally), cluster_influence(measure, tally, rng))


def replicate_blocks(
    tally: T, scheme: Scheme, replicates: int, rng: np.random.Generator
) -> Iterator[T]:
    """Yield all replicates in blocks."""
    size = max(1, _BLOCK // max(1, scheme.numbers_per_replicate(tally)))
    draw = scheme.drawer(tally)
    # glibc learns from the largest array that is freed how much memory to keep between blocks
    # instead of handing it back; without this hint large tables spend half their time on it.
    np.empty(_KEPT)
    for first in range(0, replicates, size):
        yield draw(rng, min(size, replicates - first))


def _replicates(
    measure: Measure[T], tally: T, scheme: Scheme, replicates: int, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    """The measure of the whole tally (…) and of all replicates (R, …)."""
    count = checked_replicates(scheme, replicates, rng)
    checked_tally(tally)
    summed = scheme.whole(tally)
    value = numbers(measure(summed))
    blocks = []
    for resampled in replicate_blocks(tally, scheme, count, rng):
        size = resampled.leading[0]
        blocks.append(carried(measure(resampled), size, value.shape))
    values = np.concatenate(blocks)
    # A stratum of one case never varies between replicates, and the interval would be too narrow.
    values[:, depends_on_single_case(measure, summed, scheme, value)] = np.nan
    return value, values


def pooled_runs(table: ScoreTable) -> ScoreTable:
    """Pool neighbouring scores that hold cases of one and the same class.

    A threshold inside such a run is never better than one at its ends, and the areas under the ROC
    curve and under its hull stay exactly the same, for this table and for every replicate of it.
    Resample the pooled table instead: where a class is rare it is smaller by orders of magnitude.
    For measures of ranks only; the pooled score is the highest of its run. With leading axes,
    scores are pooled where all tables agree. It pays for balanced classes too: replicates of the
    area of 10⁵ continuous scores, half of them positive, take about 0.7 of the time.

    Parameters
    ----------
    table : distinct scores and the weight of each class at them, (S, 2)

    Returns
    -------
    a shorter table with the same ROC hull

    Examples
    --------
    >>> table = ScoreTable.from_scores([0, 0, 1, 0, 1, 1], [0.1, 0.2, 0.3, 0.4, 0.5, 0.6])
    >>> pooled_runs(table).weights
    array([[2., 0.],
           [0., 1.],
           [1., 0.],
           [0., 2.]])
    """
    require("table", table, ScoreTable)
    occupied = (table.weights > 0).reshape(-1, *table.weights.shape[-2:])
    holds = np.asarray(occupied.any(axis=0))
    kind = holds[:, 0] + 2 * holds[:, 1]
    new = np.concatenate([[True], (kind[1:] != kind[:-1]) | (kind[1:] == 3)])
    starts = np.flatnonzero(new)
    stops = np.append(starts[1:], kind.size) - 1
    weights = np.add.reduceat(table.weights, starts, axis=-2)
    return table._but(scores=table.scores[stops], weights=weights)


# Comparison of several models on the same cases: differences are paired --------------------------

_PANEL = 128  # columns of a root that are computed before the rest of the matrix is updated


@record(repr=False)
class Comparison(Value):
    """One number for each model, and how the numbers vary together.

    Attributes
    ----------
    names : J models
    values : (J,)
    covariance : (J, J)
    replicates : (R, J) of joint replicates; R = 0 where a formula gives the covariance
    intervals : the type of the intervals of differences
    method : what made it, in words

    Examples
    --------
    >>> joint = JointCounts.from_decisions(
    ...     [0, 0, 1, 1] * 25, {"old": [0, 1, 1, 0] * 25, "new": [0, 0, 1, 0] * 25},
    ...     Problem.zero_one(2))
    >>> comparison = delta_compare_costs(joint, Problem.zero_one(2))
    >>> print(comparison.difference("new", "old"))
    -0.25 (95% -0.3353 to -0.1647, delta method)
    """

    names: Labels
    values: FloatArray
    covariance: FloatArray
    replicates: FloatArray
    intervals: IntervalType
    method: str

    @property
    def lowest(self) -> Label:
        """The model of the lowest value; the first of those that tie."""
        if np.isnan(self.values).all():
            raise InputError("values must be defined to have a lowest; all are nan.")
        return self.names[int(np.argmax(least(self.values)))]

    def estimate(self, name: Label) -> Estimate:
        """The number of one model.

        Parameters
        ----------
        name : name of the model

        Returns
        -------
        its estimate

        Examples
        --------
        >>> decided = {"old": [0, 1, 1, 0] * 25, "new": [0, 0, 1, 0] * 25}
        >>> joint = JointCounts.from_decisions([0, 0, 1, 1] * 25, decided, Problem.zero_one(2))
        >>> comparison = delta_compare_costs(joint, Problem.zero_one(2))
        >>> print(comparison.estimate("old"))
        0.5 (95% 0.4015 to 0.5985, delta method)
        """
        return self._of(np.eye(len(self.names))[self._position(name)])

    def difference(self, first: Label, second: Label) -> Estimate:
        """First minus second, with a paired standard error and interval.

        Parameters
        ----------
        first : name of the first model
        second : name of the second model

        Returns
        -------
        the estimate of the difference

        Examples
        --------
        >>> decided = {"old": [0, 1, 1, 0] * 25, "new": [0, 0, 1, 0] * 25}
        >>> joint = JointCounts.from_decisions([0, 0, 1, 1] * 25, decided, Problem.zero_one(2))
        >>> comparison = delta_compare_costs(joint, Problem.zero_one(2))
        >>> print(comparison.difference("old", "new"))
        0.25 (95% 0.1647 to 0.3353, delta method)
        """
        unit = np.eye(len(self.names))
        position, subtracted = self._position(first, "first"), self._position(second, "second")
        return self._of(unit[position] - unit[subtracted])

    def probability_lowest(self) -> FloatArray:
        """Share of the replicates (J,) in which each model is the lowest; ties are split.

        For costs: the probability of being the cheapest. Replicates in which a model is undefined
        are left out; nan when none is left.

        Returns
        -------
        shares, (J,), which add up to 1

        Examples
        --------
        >>> joint = JointCounts.from_decisions([0, 1] * 5, {"a": [0, 1] * 5, "b": [0, 0] * 5},
        ...                                    Problem.zero_one(2))
        >>> compare_costs(joint, Problem.zero_one(2), replicates=100,
        ...               rng=np.random.default_rng(0)).probability_lowest()
        array([1., 0.])
        """
        if len(self.replicates) == 0:
            raise InputError(
                f"probabilities need replicates; this comparison has none ({self.method}). "
                f"Make it with compare_costs, or call drawn(replicates=…, rng=…)."
            )
        return mean_defined(least_shares(self.replicates))

    def drawn(self, *, replicates: int, rng: np.random.Generator) -> Self:
        """The same comparison with replicates drawn from its normal distribution.

        Parameters
        ----------
        replicates : how many replicates to draw
        rng : the generator that draws

        Returns
        -------
        the comparison with replicates

        Examples
        --------
        >>> decided = {"old": [0, 1, 1, 0] * 25, "new": [0, 0, 1, 0] * 25}
        >>> joint = JointCounts.from_decisions([0, 0, 1, 1] * 25, decided, Problem.zero_one(2))
        >>> comparison = delta_compare_costs(joint, Problem.zero_one(2))
        >>> comparison.drawn(replicates=50, rng=np.random.default_rng(0)).replicates.shape
        (50, 2)
        """
        count = _check.draws("replicates", replicates, low=2)
        _check.generator(rng)
        normal = rng.standard_normal((count, len(self.names)))
        draws = self.values + normal @ triangular_root(self.covariance).T
        method = f"{self.method}, {count} normal draws"
        parts = {"replicates": draws, "intervals": Percentile(), "method": method}
        return self._but(**parts)

    @property
    def pairs(self) -> tuple[tuple[Label, Label], ...]:
        """All pairs of models, in the order of the names."""
        return tuple(combinations(self.names, 2))

    def _of(self, contrast: FloatArray) -> Estimate:
        """The estimate of a weighted sum of the numbers, with weights (J,)."""
        intervals = self.intervals.along(contrast)
        used = contrast != 0  # an undefined model must not spoil the others
        contrast, values = contrast[used], self.values[used]
        if len(self.replicates):
            drawn = self.replicates[:, used] @ contrast
            estimate = estimate_of(np.asarray(values @ contrast), drawn, intervals)
            return estimate._but(method=self.method)
        square = contrast @ self.covariance[np.ix_(used, used)] @ contrast
        error = np.sqrt(np.maximum(square, 0.0))
        return Estimate(values @ contrast, error, np.empty(0), intervals, self.method)

    def _position(self, name: Label, argument: str = "name") -> int:
        return _check.one_of(argument, name, self.names, "models")

    def __str__(self) -> str:
        rows = []
        for name in self.names:
            interval = self.estimate(name).interval(0.95)
            parts = (self.estimate(name).value, interval.low, interval.high)
            rows.append([name, *(f"{part:.4g}" for part in parts)])
        return f"{self.method}\n{text_table(['', 'value', '95% low', 'high'], rows)}"

    __repr__ = __str__


def compare(
    measure: Callable[..., Numbers],
    tally: T,
    names: object,
    problem: Problem | None = None,
    *,
    replicates: int,
    rng: np.random.Generator,
    scheme: Scheme | None = None,
) -> Comparison:
    """Compare anything that a measure gives for each model, by joint replicates of one tally.

    Parameters
    ----------
    measure : function of a tally (…) whose value (…, J) holds a number for each model
    tally : sums over cases, such as `Counts` or `ScoreTable`
    names : J labels of the models
    problem : what is at stake: costs, prior, labels
    replicates : how many replicates to draw
    rng : the generator that draws
    scheme : as in `bootstrap`

    Returns
    -------
    values of all models and their differences, with joint replicates

    Examples
    --------
    Areas under the ROC curve of two models on the same cases:

    >>> from stakes.tally import JointScores
    >>> from stakes.ranking import auc
    >>> scores = JointScores.from_scores([0, 0, 1, 1] * 9, {"a": [1, 2, 2, 3] * 9,
    ...                                                    "b": [1, 2, 1, 3] * 9})
    >>> areas = lambda joint: np.stack([auc(joint.table(m)) for m in "ab"], axis=-1)
    >>> compare(areas, scores, ["a", "b"], replicates=200, rng=np.random.default_rng(0)).values
    array([0.875, 0.625])
    """
    if isinstance(names, str):
        raise InputError(
            f"names must be a list of labels, one for each model; got the text {names!r}. Put it "
            f"into a list."
        )
    labels = _check.labels("names", names)
    return comparison_of(
        bootstrap(measure, tally, problem, replicates=replicates, rng=rng, scheme=scheme), labels
    )


def comparison_of(estimate: Estimate, labels: Labels) -> Comparison:
    """A comparison of models from an estimate that holds one number for each of them."""
    if estimate.value.shape != (len(labels),):
        raise InputError(
            f"measure must give one number for each of the {len(labels)} names; its shape is "
            f"{estimate.value.shape}. The models are its last axis."
        )
    # Covariances need replicates in which all models are defined.
    defined = estimate.replicates[np.isfinite(estimate.replicates).all(axis=1)]
    spread = np.full((len(labels), len(labels)), np.nan)
    if len(defined) > 1:
        spread = np.atleast_2d(np.cov(defined, rowvar=False))
    return Comparison._trusted(
        names=labels,
        values=estimate.value,
        covariance=spread,
        replicates=estimate.replicates,
        intervals=estimate.intervals,
        method=estimate.method,
    )


def compare_costs(
    joint: JointCounts,
    problem: Problem,
    *,
    replicates: int,
    rng: np.random.Generator,
    scheme: Scheme | None = None,
) -> Comparison:
    """Expected costs of all models by joint replicates of the cases that they decided about.

    Without a scheme the cases are resampled, within classes when the problem states a prior.

    Parameters
    ----------
    joint : cases by true class and the decisions of all models
    problem : what is at stake: costs, prior, labels
    replicates : how many replicates to draw
    rng : the generator that draws
    scheme : what was drawn at random; None takes it from the tally

    Returns
    -------
    costs of all models and their differences, with joint replicates

    Examples
    --------
    >>> y, old, new = [0, 0, 1, 1] * 25, [0, 1, 1, 0] * 25, [0, 0, 1, 0] * 25
    >>> problem = Problem.binary(false_alarm=1, miss=5, prior=[0.9, 0.1])
    >>> joint = JointCounts.from_decisions(y, {"old": old, "new": new}, problem)
    >>> comparison = compare_costs(joint, problem, replicates=500, rng=np.random.default_rng(0))
    >>> comparison.lowest, [float(share) for share in comparison.probability_lowest()]
    ('new', [0.0, 1.0])
    """
    refuse_groups(joint, scheme)
    _check.require("problem", problem, Problem)
    return compare(
        joint_costs, joint, joint.models, problem, replicates=replicates, rng=rng, scheme=scheme
    )


def delta_compare_costs(joint: JointCounts, problem: Problem) -> Comparison:
    """Expected costs of all models, with their covariances by formula.

    Parameters
    ----------
    joint : cases by true class and the decisions of all models
    problem : what is at stake: costs, prior, labels

    Returns
    -------
    costs of all models and their covariances

    Examples
    --------
    >>> from stakes.problem import Problem
    >>> from stakes.tally import JointCounts
    >>> problem = Problem.binary(false_alarm=1, miss=5)
    >>> decided = {"old": [0, 1, 0, 1], "new": [0, 0, 1, 1]}
    >>> joint = JointCounts.from_decisions([0, 0, 1, 1], decided, problem)
    >>> delta_compare_costs(joint, problem).names
    ('old', 'new')
    """
    _check.require("problem", problem, Problem)
    refuse_groups(joint, AllCases())
    whole_cells(joint)
    truth, decided = joint.cells[:, 0], joint.cells[:, 1:]
    costs = problem.costs[truth[:, None], decided]
    return _by_formula(
        joint.models, joint_costs(joint, problem), cell_covariance(joint, costs, problem.prior)
    )


def refuse_groups(joint: JointCounts, scheme: Scheme | None) -> None:
    """Refuse leading axes other than clusters: a comparison is about one set of cases."""
    _check.require("joint", joint, JointCounts)
    axes = joint.leading
    clusters = joint.has_clusters if scheme is None else checked_scheme(scheme).of_clusters
    if axes and not (clusters and len(axes) == 1):
        raise InputError(
            f"joint must have no leading axis here; its leading axes are {axes}. Compare group by "
            f"group, joint.group(label); for clusters that were drawn as a whole resample these: "
            f"compare_costs(…, scheme=Clusters())."
        )


def compare_losses(moments: LossMoments, *, prior: object) -> Comparison:
    """Mean losses (proper scores, per-case costs) with their covariances by formula.

    With a prior, it is the mean to expect in deployment; None stands for the class shares of the
    data. Losses without names are called 0, 1, …. Tallies made with weights are refused, because
    the formula would read a weight as a number of cases. For weights tally with ``clusters=`` and
    call `compare`; each case may be a cluster of its own. `mean_covariance` is the bare formula,
    which takes any weights.

    Parameters
    ----------
    moments : sums and scatter of the losses, by class
    prior : class shares, (K,) or by label; None takes those of the data

    Returns
    -------
    mean losses and their covariances

    Examples
    --------
    >>> moments = LossMoments.from_losses([0, 0, 1, 1], {"old": [0, 2, 5, 4], "new": [1, 1, 3, 3]})
    >>> print(compare_losses(moments, prior=None).difference("new", "old"))
    -0.75 (95% -1.983 to 0.4831, delta method)
    """
    _check.require("moments", moments, LossMoments)
    remedy = "Index one, or for clusters that were drawn as a whole call compare."
    _check.no_leading_axes("moments", moments.leading, remedy=remedy)
    _refuse_fractions(moments)
    shares = None if prior is None else _check.prior("prior", prior, moments.classes)
    names = moments.names or tuple(range(moments.sums.shape[-1]))
    return _by_formula(names, moments.mean(shares), mean_covariance(moments, shares))


def _by_formula(names: Labels, values: FloatArray, covariance: FloatArray) -> Comparison:
    return Comparison._trusted(
        names=names,
        values=values,
        covariance=covariance,
        replicates=np.empty((0, len(names))),
        intervals=Normal(),
        method="delta method",
    )


def _refuse_fractions(moments: LossMoments) -> None:
    """Refuse weights, as `whole_cells` does; fractions as far as class totals reveal them."""
    refuse_weights(moments, "take copies of rows, or call compare with clusters.")
    bad = np.flatnonzero(~(moments.weight == np.floor(moments.weight)))  # nan is bad too
    if bad.size:
        raise InputError(
            f"moments must hold whole cases; the weight of class {moments.classes[bad[0]]} is "
            f"{moments.weight[bad[0]]:g}. Fractional weights do not say how many cases there were: "
            f"tally with clusters=, the label of each case's cluster, and call compare. "
            f"To reweight the classes, pass prior=."
        )


def triangular_root(covariance: FloatArray) -> FloatArray:
    """The lower triangular R with R Rᵀ = covariance, which may be singular (Cholesky).

    The rows of models whose variance is undefined are nan.
    """
    known = ~np.isnan(np.diagonal(covariance))
    remaining = np.where(known[:, None] & known, covariance, 0.0)
    # numpy's Cholesky refuses singular matrices, which systems that decide alike produce.
    variances, root = np.diagonal(remaining).copy(), np.zeros(remaining.shape)
    for start in range(0, len(remaining), _PANEL):
        end = min(start + _PANEL, len(remaining))
        for j in range(start, end):
            if remaining[j, j] > 1e-12 * variances[j]:  # the rest is rounding error
                root[j:, j] = remaining[j:, j] / np.sqrt(remaining[j, j])
                remaining[j:, j:end] -= np.outer(root[j:, j], root[j:end, j])
        remaining[end:, end:] -= root[end:, start:end] @ root[end:, start:end].T
    return np.where(known[:, None], root, np.nan)


def p_value(estimate: Estimate, *, null: float) -> FloatArray:
    r"""Two-sided p-value of a normal test, :math:`2\Phi(-|\theta - \theta_0|/se)`, elementwise.

    Where clusters were resampled, Student's t takes the place of the normal distribution, as in
    `ExpandedPercentile`. nan where the standard error is zero or undefined.

    Parameters
    ----------
    estimate : an estimate with its standard error
    null : the value to test

    Returns
    -------
    p-values, elementwise

    Examples
    --------
    >>> estimate = Estimate(0.3, 0.15, np.empty(0), Normal(), "delta method")
    >>> float(p_value(estimate, null=0).round(4))
    0.0455
    """
    _check.require("estimate", estimate, Estimate)
    distance = np.abs(estimate.value - _check.number("null", null))
    undefined = np.full(distance.shape, np.nan)
    error = estimate.standard_error
    with np.errstate(over="ignore"):
        ratio = np.divide(distance, error, out=undefined, where=error > 0)
    count = estimate.intervals.effective_count(distance.shape)
    return np.asarray(2 * student_tail(count, ratio))
