"""The jackknife on a tally: what becomes of a measure when one case is left out."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from stakes._check import BoolArray, FloatArray, IntArray, a_function
from stakes._value import Value, record
from stakes.inference.schemes import Clusters, Scheme, checked_replicates
from stakes.inference.tally_checks import (
    Measure,
    T,
    carried,
    cells_of,
    cluster_count,
    numbers,
    whole_cells,
)
from stakes.tally import CellTally

_BLOCK = 1 << 18  # numbers at a time: two megabytes, which stay in the cache
_CELLS = 4096  # with more distinct cells, groups of cases are left out instead of single ones
_GROUPS = 500  # random groups of cases in each sample
_CLUSTER_GROUPS = 200  # enough for the fourth moment of influences, which Satterthwaite's n needs
_REMEDY = (
    "leaving out a case, as BCa and the jackknife do, needs whole ones. Read plain intervals off "
    "bootstrap(…, scheme=BayesianBootstrap()), or make the tally with clusters=."
)


@record
class Jackknife(Value):
    """Standard error and acceleration of a measure, of the shape of its value.

    The acceleration is the skewness of the influence of single cases, over six times the root of
    their number: what `BCa` needs. Both are nan where leaving out a case makes the measure so.

    Parameters
    ----------
    standard_error : of the shape of the measure
    acceleration : of the same shape

    Examples
    --------
    The standard error of a proportion, the root of 0.8 × 0.2 / 99:

    >>> from stakes import Counts
    >>> from stakes.inference import AllCases
    >>> from stakes.measures import accuracy
    >>> result = jackknife(accuracy, Counts([[50, 10], [10, 30]]), scheme=AllCases(),
    ...                    rng=np.random.default_rng(0))
    >>> float(result.standard_error.round(4)), float(result.acceleration.round(4))
    (0.0402, -0.025)
    """

    standard_error: FloatArray
    acceleration: FloatArray


def jackknife(
    measure: Measure[T], tally: T, *, scheme: Scheme, rng: np.random.Generator
) -> Jackknife:
    r"""Leave out one case of each cell in turn; a cell of w cases counts w times.

    .. math:: se^2 = \sum_g \frac{n_g - 1}{n_g} \sum_{i \in g} (\theta_{(i)} - \bar\theta_g)^2,
        \qquad a = \frac{\sum_i u_i^3}{6 (\sum_i u_i^2)^{3/2}},
        \quad u_i = \frac{n_g - 1}{n_g} (\bar\theta_g - \theta_{(i)})

    over the samples g of the scheme: one, or one for each class (Efron and Tibshirani 1993,
    chapters 11 and 14). Exact, by one table for each occupied cell of the tally. With more than
    4096 of them, one of 500 random groups of cases is left out at a time; only then is the `rng`
    used. Under `Clusters`, one cluster at a time is left out.

    Parameters
    ----------
    measure : a function of the tally that carries leading axes
    tally : sums over cases, such as `Counts` or `ScoreTable`
    scheme : what was drawn at random
    rng : the generator that draws

    Returns
    -------
    standard error and acceleration, of the shape of the measure

    Examples
    --------
    For a mean it is the textbook standard error:

    >>> from stakes import Counts
    >>> from stakes.inference import AllCases
    >>> from stakes.measures import accuracy
    >>> deleted = jackknife(accuracy, Counts([[50, 20], [10, 20]]), scheme=AllCases(),
    ...                     rng=np.random.default_rng(0))
    >>> bool(np.isclose(deleted.standard_error, np.sqrt(0.7 * 0.3 / 99)))
    True
    """
    checked_replicates(scheme, 2, rng)
    if scheme.of_clusters:
        count = cluster_count(tally)
        without = _without_groups(measure, tally, np.arange(count))
        return _summary(without, np.ones(without.shape), np.zeros(count, np.intp))
    cells = whole_cells(tally, _REMEDY)
    strata = scheme.strata(tally)
    occupied = np.flatnonzero(cells.reshape(-1, cells.shape[-1]).any(axis=0))
    # Cases of one cell are alike, so that leaving out one of each cell stands for all of them.
    if occupied.size <= _CELLS:
        times = np.moveaxis(cells[..., occupied], -1, 0)
        fewer = _without_one(cells, occupied)
        return _summary(*_values(measure, tally, fewer, times), strata[occupied])
    groups, group_strata = _random_groups(cells, strata, rng)
    times = np.ones((len(group_strata), *cells.shape[:-1]))
    remaining = (cells - block for block in groups)
    return _summary(*_values(measure, tally, remaining, times), group_strata)


def cluster_influence(measure: Measure[T], tally: T, rng: np.random.Generator) -> FloatArray:
    """How leaving out clusters changes a measure, (G, …): one by one, or in 200 random groups."""
    count = cluster_count(tally)
    group = (
        np.arange(count) if count <= _CLUSTER_GROUPS else rng.permutation(count) % _CLUSTER_GROUPS
    )
    without = _without_groups(measure, tally, group)
    with np.errstate(invalid="ignore"):  # without some clusters a ratio may be infinite
        return np.asarray(without.mean(axis=0) - without)


def depends_on_single_case(
    measure: Measure[T], tally: T, scheme: Scheme, value: FloatArray
) -> BoolArray:
    """Where a value (…) depends on a case that is the only one in its sample of the scheme."""
    if not isinstance(tally, CellTally):
        return np.zeros(value.shape, dtype=bool)
    cells, strata = tally.cell_weights, scheme.strata(tally)
    in_sample = strata[:, None] == np.unique(strata)
    # A weight of one in a single cell is one case; spread over cells, it is fractions of several.
    lone = ((cells @ in_sample) == 1) & ((cells > 0) @ in_sample == 1)  # (…, samples)
    if not lone.any():
        return np.zeros(value.shape, dtype=bool)
    fewer = np.where((lone[..., None, :] & in_sample).any(axis=-1), 0.0, cells)
    try:
        with np.errstate(divide="ignore", invalid="ignore"):
            without = numbers(measure(tally.with_cell_weights(fewer)))
    except ValueError:  # the measure refuses an empty class
        return np.ones(value.shape, dtype=bool)
    return ~np.isclose(without, value, rtol=1e-12, atol=0.0, equal_nan=True)


def _without_groups(measure: Measure[T], tally: T, group: IntArray) -> FloatArray:
    """Measures (G, …) of all clusters but those of each group, given the group of each cluster."""
    size = max(1, _BLOCK // Clusters().numbers_per_replicate(tally))
    names = np.arange(int(group.max()) + 1)
    blocks = (names[first : first + size] for first in range(0, names.size, size))
    remaining = ((group != block[:, None]).astype(np.float64) for block in blocks)
    shape = numbers(measure(Clusters().whole(tally))).shape
    return np.concatenate(
        [carried(measure(tally.sum_clusters(times)), len(times), shape) for times in remaining]
    )


def _without_one(cells: FloatArray, occupied: IntArray) -> Iterator[FloatArray]:
    """The cells with one case less in each occupied cell in turn, in blocks (D, …, C)."""
    size = max(1, _BLOCK // cells.size)
    for first in range(0, occupied.size, size):
        chosen = occupied[first : first + size]
        block = np.repeat(cells[None], chosen.size, axis=0)
        block[np.arange(chosen.size), ..., chosen] -= 1
        yield np.maximum(block, 0.0)  # in a group that lacks the cell, nothing is left out


def _random_groups(
    cells: FloatArray, strata: IntArray, rng: np.random.Generator
) -> tuple[Iterator[FloatArray], IntArray]:
    """Cases of each stratum in random groups: blocks (1, …, C), and the stratum of each group."""
    names = np.unique(strata)

    def dealt() -> Iterator[FloatArray]:
        """Yield the groups of each stratum, one after the other."""
        for name in names:
            undealt = np.where(strata == name, cells, 0.0)
            for remaining in range(_GROUPS, 0, -1):
                # Each remaining group draws its share of the remaining cases, so that no list of
                # the cases is needed.
                taken = rng.binomial(undealt.astype(np.int64), 1 / remaining).astype(np.float64)
                undealt = undealt - taken
                yield taken[None]

    return dealt(), np.repeat(np.arange(names.size), _GROUPS)


def _values(
    measure: Measure[T], tally: T, without: Iterator[FloatArray], times: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Measures (D, …) with something left out, and how often each counts, broadcast to them."""
    a_function("measure", measure)
    reduced = cells_of(tally).with_cell_weights
    shape = numbers(measure(tally)).shape
    measured = [carried(measure(reduced(block)), len(block), shape) for block in without]
    values = np.concatenate([np.empty((0, *shape)), *measured])
    times = times.reshape(*times.shape, *(1,) * (values.ndim - times.ndim))
    return values, np.broadcast_to(times, values.shape)


def _summary(values: FloatArray, times: FloatArray, strata: IntArray) -> Jackknife:
    """Standard error and acceleration from values (D, …) that count `times` each."""
    square, cube = np.zeros(values.shape[1:]), np.zeros(values.shape[1:])
    error = np.zeros(values.shape[1:])
    for name in np.unique(strata):
        in_stratum = strata == name
        count = times[in_stratum].sum(axis=0)
        with np.errstate(invalid="ignore", divide="ignore"):
            # Groups that lack a cell have nothing to leave out there; what they would measure does
            # not count.
            present = times[in_stratum] > 0
            defined = np.where(present, values[in_stratum], 0.0)
            centre = np.sum(times[in_stratum] * defined, axis=0) / count
            # Efron's normalisation: with it the sums below are those of the empirical influence
            # function.
            influence = np.where(present, (centre - defined) * (count - 1) / count, 0.0)
            error += np.nan_to_num(count / (count - 1), posinf=np.nan) * np.sum(
                times[in_stratum] * influence**2, axis=0
            )
        square += np.sum(times[in_stratum] * influence**2, axis=0)
        cube += np.sum(times[in_stratum] * influence**3, axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        skew = np.where(square > 0, cube / (6 * square**1.5), np.where(square == 0, 0.0, np.nan))
    return Jackknife._trusted(standard_error=np.sqrt(error), acceleration=np.asarray(skew))
