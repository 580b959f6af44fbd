"""The bootstrap: measures of redrawn tallies, in blocks that keep memory flat."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from stakes._check import FloatArray
from stakes.errors import InputError
from stakes.inference.cells import Measure, T, cells_of
from stakes.inference.estimate import Estimate, IntervalType
from stakes.inference.intervals import BCa, Studentised
from stakes.inference.jackknife import jackknife
from stakes.inference.schemes import AllCases, Scheme, checked_replicates

__all__ = ["bootstrap", "bootstrap_bca", "bootstrap_t", "estimate_of", "measured", "redraw_blocks"]

_BLOCK = 1 << 18  # cells redrawn at a time: two megabytes stay in the cache
_KEPT = (1 << 22) - (1 << 12)  # just below 32 MiB, the most that glibc takes for a hint


def bootstrap(
    measure: Measure[T],
    tally: T,
    *,
    replicates: int,
    rng: np.random.Generator,
    scheme: Scheme = AllCases(),  # noqa: B008 - a frozen value without fields
) -> Estimate:
    """Redraw the sample, measure every redraw, and read intervals off the quantiles.

    A replicate costs as much as the tally is large, whatever the number of rows. Leading axes of
    the tally (groups) are redrawn independently of each other, except by `Units`.

    Parameters
    ----------
    measure : function of a tally, which carries a leading axis through
        Its value may have axes of its own; `each` makes a measure of single tallies fit.
    replicates : number of redraws
    scheme : what was drawn at random; by itself the bootstrap redraws all cases

    Examples
    --------
    Finley's tornado forecasts of 1884 against never forecasting a tornado:

    >>> from stakes import Counts, Problem, normalized_cost
    >>> finley = Counts([[2680, 72], [23, 28]])
    >>> problem = Problem.binary(false_alarm=1, miss=20)
    >>> print(bootstrap(lambda counts: normalized_cost(counts, problem), finley,
    ...                 replicates=2000, rng=np.random.default_rng(7)))
    0.5216 (95% 0.3786 to 0.6638, 2000 bootstrap tables)
    """
    values = _replicates(measure, tally, scheme, checked_replicates(replicates), rng)
    whole = measured(measure, scheme.whole(tally))
    return estimate_of(whole, values, scheme.intervals(tally))


def bootstrap_bca(
    measure: Measure[T],
    tally: T,
    *,
    replicates: int,
    rng: np.random.Generator,
    scheme: Scheme = AllCases(),  # noqa: B008 - a frozen value without fields
) -> Estimate:
    """`bootstrap` whose intervals are corrected for bias and skewness, see `BCa`.

    The acceleration comes from deleting one case of each cell in turn, see `jackknife`.

    Examples
    --------
    >>> from stakes import Counts
    >>> from stakes.measures import accuracy
    >>> print(bootstrap_bca(accuracy, Counts([[2680, 72], [23, 28]]),
    ...                     replicates=2000, rng=np.random.default_rng(7)))
    0.9661 (95% 0.959 to 0.9725, 2000 bootstrap tables)
    """
    values = _replicates(measure, tally, scheme, checked_replicates(replicates), rng)
    deleted = jackknife(measure, tally, scheme=scheme, rng=rng)
    return estimate_of(measured(measure, scheme.whole(tally)), values, BCa(deleted.acceleration))


def bootstrap_t(
    measure: Measure[T],
    standard_error: Measure[T],
    tally: T,
    *,
    replicates: int,
    rng: np.random.Generator,
    scheme: Scheme = AllCases(),  # noqa: B008 - a frozen value without fields
) -> Estimate:
    """`bootstrap` whose intervals are studentised by a standard error, see `Studentised`.

    Where a formula for the standard error is at hand, such as `expected_cost_error` or
    `auc_error`, it costs as little as the measure itself. That formula is also the standard error
    of the estimate.

    Examples
    --------
    >>> from stakes.inference import auc_error
    >>> from stakes.ranking import auc
    >>> from stakes.tally import ScoreTable
    >>> table = ScoreTable([1, 2, 3, 4], [[30, 2], [10, 9], [8, 12], [2, 27]])
    >>> print(bootstrap_t(auc, auc_error, table, replicates=999, rng=np.random.default_rng(7)))
    0.8784 (95% 0.7845 to 0.9295, 999 studentised bootstrap tables)
    """

    def both(redrawn: T) -> FloatArray:
        return np.stack([measure(redrawn), standard_error(redrawn)], axis=-1)

    values = _replicates(both, tally, scheme, checked_replicates(replicates), rng)
    whole = measured(both, scheme.whole(tally))
    drawn = np.array(values[..., 0])
    method = f"{len(drawn)} studentised bootstrap tables"
    shape = Studentised(np.array(values[..., 1]))
    return Estimate(whole[..., 0], whole[..., 1], drawn, shape, method)


def estimate_of(value: FloatArray, replicates: FloatArray, intervals: IntervalType) -> Estimate:
    """The estimate that a value and its replicates make; nan and infinities do not spread.

    >>> from stakes.inference.intervals import Percentile
    >>> print(estimate_of(np.array(2.0), np.array([1.0, 2.0, 3.0, np.nan]), Percentile()))
    2 (95% 1 to 3, 4 bootstrap tables, 1 of them undefined)
    """
    defined = np.where(np.isfinite(replicates), replicates, np.nan)
    count = np.sum(~np.isnan(defined), axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.nansum(defined, axis=0) / count
        error = np.sqrt(np.nansum((defined - mean) ** 2, axis=0) / (count - 1))
    error = np.where(count > 1, error, np.nan)
    return Estimate(value, error, replicates, intervals, f"{len(replicates)} bootstrap tables")


def measured(measure: Measure[T], tally: T) -> FloatArray:
    """The measure as an array of floats."""
    return np.asarray(measure(tally), dtype=np.float64)


def redraw_blocks(
    tally: T, scheme: Scheme, replicates: int, rng: np.random.Generator
) -> Iterator[T]:
    """All redraws, a block of them at a time."""
    size = max(1, _BLOCK // max(1, scheme.numbers_per_redraw(tally)))
    draw = scheme.drawer(tally)
    # glibc learns from the largest array that is freed how much memory to keep between blocks
    # instead of handing it back; without this hint large tables spend half their time on it.
    np.empty(_KEPT)
    for first in range(0, replicates, size):
        yield draw(min(size, replicates - first), rng)


def _replicates(
    measure: Measure[T], tally: T, scheme: Scheme, replicates: int, rng: np.random.Generator
) -> FloatArray:
    """Measures of all redraws, of shape (R, …)."""
    blocks = []
    for redrawn in redraw_blocks(tally, scheme, replicates, rng):
        block = measured(measure, redrawn)
        drawn = len(cells_of(redrawn))
        if block.ndim == 0 or len(block) != drawn:
            raise InputError(
                f"measure must carry leading axes through; of {drawn} tallies it made an array of "
                f"shape {block.shape}. Wrap a measure of single tallies: each(measure)."
            )
        blocks.append(block)
    return np.concatenate(blocks)
