"""The bootstrap: measures of redrawn tallies, in blocks that keep memory flat."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from stakes._check import FloatArray
from stakes.errors import InputError
from stakes.inference.cells import Measure, T, checked_tally, numbers
from stakes.inference.estimate import Estimate, IntervalType
from stakes.inference.intervals import BCa, ExpandedPercentile, Studentised, spread
from stakes.inference.jackknife import hangs_on_one_case, jackknife, unit_pulls
from stakes.inference.schemes import AllCases, Scheme, Units, checked_redraws

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
    the tally (groups) are redrawn independently of each other, except by `Units`. One case does
    not tell how cases vary: where the value hangs on the only case of a sample (that of all cases,
    or that of a class by `WithinClasses`), all its replicates are nan. A value hangs on a case when
    it changes without it; a class of prior zero does not matter.

    Parameters
    ----------
    measure : function of a tally, which carries a leading axis through
        Its value may have axes of its own; `each` makes a measure of single tallies fit.
    replicates : number of redraws
    scheme : what was drawn at random; by itself the bootstrap redraws all cases. Where a problem
        states a prior, pass ``scheme_of(problem)``, which redraws within classes

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
    whole, values = _replicates(measure, tally, scheme, replicates, rng)
    return estimate_of(whole, values, intervals_of(measure, tally, scheme, rng))


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
    whole, values = _replicates(measure, tally, scheme, replicates, rng)
    deleted = jackknife(measure, tally, scheme=scheme, rng=rng)
    return estimate_of(whole, values, BCa(deleted.acceleration))


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
    of the estimate. It sees cases, not the units that they came in, so that `Units` is refused.

    Examples
    --------
    >>> from stakes.inference import auc_error
    >>> from stakes.ranking import auc
    >>> from stakes.tally import ScoreTable
    >>> table = ScoreTable([1, 2, 3, 4], [[30, 2], [10, 9], [8, 12], [2, 27]])
    >>> print(bootstrap_t(auc, auc_error, table, replicates=999, rng=np.random.default_rng(7)))
    0.8784 (95% 0.7812 to 0.9296, 999 studentised bootstrap tables)
    """

    def both(redrawn: T) -> FloatArray:
        value, error = numbers(measure(redrawn)), numbers(standard_error(redrawn))
        if value.shape != error.shape:
            raise InputError(
                f"measure and standard_error must give one shape; they gave {value.shape} and "
                f"{error.shape}. Take the error that belongs to the measure."
            )
        return np.stack([value, error], axis=-1)

    checked_tally(tally)
    if isinstance(scheme, Units):
        raise InputError(
            "scheme must redraw cases here; by Units() the standard error would be that of "
            "independent cases, since it is taken from the sum of the units. Call "
            "bootstrap(…, scheme=Units()), whose intervals know how few units there are."
        )
    whole, values = _replicates(both, tally, scheme, replicates, rng)
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
    method = f"{len(replicates)} bootstrap tables"
    return Estimate(value, spread(replicates), replicates, intervals, method)


def intervals_of(
    measure: Measure[T], tally: T, scheme: Scheme, rng: np.random.Generator
) -> IntervalType:
    """The intervals of the scheme, which for units go by how much each of them pulls."""
    intervals = scheme.intervals(tally)
    if isinstance(intervals, ExpandedPercentile):
        return ExpandedPercentile(intervals.count, unit_pulls(measure, tally, rng))
    return intervals


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
) -> tuple[FloatArray, FloatArray]:
    """The measure of the whole tally (…) and of all redraws (R, …)."""
    count = checked_redraws(scheme, replicates, rng)
    checked_tally(tally)
    summed = scheme.whole(tally)
    whole = numbers(measure(summed))
    blocks = []
    for redrawn in redraw_blocks(tally, scheme, count, rng):
        size = redrawn.leading[0]
        blocks.append(carried(measure(redrawn), size, whole.shape))
    values = np.concatenate(blocks)
    values[:, hangs_on_one_case(measure, summed, scheme, whole)] = np.nan
    return whole, values


def carried(values: object, size: int, shape: tuple[int, ...]) -> FloatArray:
    """What a measure gave for as many redraws, when it gives this shape for one tally."""
    block = numbers(values)
    if block.shape != (size, *shape):
        raise InputError(
            f"measure must carry leading axes through; of one tally it made an array of shape "
            f"{shape}, of {size} tallies one of shape {block.shape}. Wrap a measure of single "
            f"tallies: each(measure)."
        )
    return block
