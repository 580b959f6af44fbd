"""The bootstrap: measures of resampled tallies, in blocks that keep memory flat."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from stakes._check import FloatArray, Numbers, a_function, require, shapes
from stakes.errors import InputError
from stakes.inference.estimate import Estimate, IntervalType
from stakes.inference.intervals import BCa, ExpandedPercentile, Studentised, spread
from stakes.inference.jackknife import cluster_influence, depends_on_single_case, jackknife
from stakes.inference.schemes import Scheme, checked_replicates, checked_scheme, scheme_of
from stakes.inference.tally_checks import (
    Measure,
    T,
    carried,
    checked_tally,
    cluster_count,
    numbers,
)
from stakes.problem import Problem
from stakes.tally import ScoreTable, Tally

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
    >>> from stakes.inference.intervals import Percentile
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
