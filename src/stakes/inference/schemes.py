"""How a sample is resampled: which tallies could have been observed instead of the one at hand.

A scheme says what was drawn at random: the cases, the cases of each class, or clusters that hold
several cases each. All of them resample whole tallies; rows are never touched.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import ClassVar, TypeVar, cast

import numpy as np

from stakes import _check
from stakes._check import FloatArray, IntArray
from stakes._value import Value, record
from stakes.errors import InputError
from stakes.inference.estimate import IntervalType
from stakes.inference.intervals import ExpandedPercentile, Percentile
from stakes.inference.tally_checks import (
    T,
    cells_of,
    checked_tally,
    cluster_count,
    refuse_clusters,
    whole_cells,
)
from stakes.problem import Problem
from stakes.tally import Tally

D = TypeVar("D")
Drawer = Callable[["np.random.Generator", int], D]

# Drawing one case by its index costs about a twentieth of one binomial draw for a cell.
_CASES_PER_CELL = 16
_INDICES = 1 << 16  # drawn at a time, so that they stay in the cache


class Scheme(Value, ABC):
    """What was drawn at random; subclasses are frozen dataclasses.

    Examples
    --------
    A replicate has as many cases as the data; whether each class has as many, the scheme decides:

    >>> from stakes.tally import Counts
    >>> counts, rng = Counts([[8, 2], [3, 7]]), np.random.default_rng(0)
    >>> for scheme in (AllCases(), WithinClasses()):
    ...     replicates = resample(counts, scheme, replicates=3, rng=rng)
    ...     print(scheme.words, replicates.class_weights.tolist())
    of all cases [[6.0, 14.0], [11.0, 9.0], [9.0, 11.0]]
    within classes [[10.0, 10.0], [10.0, 10.0], [10.0, 10.0]]
    """

    words: ClassVar[str] = ""  # what follows "2000 bootstrap replicates"
    of_clusters: ClassVar[bool] = False  # whether clusters were drawn, or single cases

    def whole(self, tally: T) -> T:
        """The tally of all cases, whose measure is the value of the estimate.

        Parameters
        ----------
        tally : what was read

        Returns
        -------
        the tally of all cases

        Examples
        --------
        >>> from stakes.tally import Counts
        >>> AllCases().whole(Counts([[8, 2], [3, 7]])).n_cases.tolist()
        20.0
        """
        return tally

    def strata(self, tally: Tally) -> IntArray:
        """For each cell (C,) the number of the sample that it was drawn in.

        Parameters
        ----------
        tally : what was read

        Returns
        -------
        numbers, (C,)

        Examples
        --------
        >>> from stakes.tally import Counts
        >>> counts = Counts([[8, 2], [3, 7]])
        >>> WithinClasses().strata(counts), AllCases().strata(counts)
        (array([0, 0, 1, 1]), array([0, 0, 0, 0]))
        """
        return np.zeros(cells_of(tally).cell_classes.shape, dtype=np.intp)

    def intervals(self, tally: Tally) -> IntervalType:
        """The type of intervals that `bootstrap` reads off such replicates.

        Parameters
        ----------
        tally : what was read

        Returns
        -------
        the type of interval

        Examples
        --------
        >>> from stakes.tally import Counts
        >>> AllCases().intervals(Counts([[8, 2], [3, 7]]))
        Percentile()
        """
        return Percentile()

    def numbers_per_replicate(self, tally: Tally) -> int:
        """How many numbers one replicate needs, which decides how many fit into a block.

        Parameters
        ----------
        tally : what was read

        Returns
        -------
        how many numbers

        Examples
        --------
        >>> from stakes.tally import Counts
        >>> AllCases().numbers_per_replicate(Counts([[8, 2], [3, 7]]))
        4
        """
        return checked_tally(tally).size

    @abstractmethod
    def drawer(self, tally: T) -> Drawer[T]:
        """What resamples this tally a number of times; the replicates are a new leading axis.

        Parameters
        ----------
        tally : what was read

        Returns
        -------
        a function of the generator and the number of replicates

        Examples
        --------
        >>> from stakes.tally import Counts
        >>> draw = AllCases().drawer(Counts([[8, 2], [3, 7]]))
        >>> draw(np.random.default_rng(0), 4).n_cases
        array([20., 20., 20., 20.])
        """


@record
class AllCases(Scheme):
    """All cases are one random sample; class sizes vary from replicate to replicate.

    A replicate may lose a rare class; where a measure needs it, that replicate is nan.

    Examples
    --------
    >>> from stakes.tally import Counts
    >>> rng = np.random.default_rng(0)
    >>> resample(Counts([[8, 2], [3, 7]]), AllCases(), replicates=5, rng=rng).n_cases
    array([20., 20., 20., 20., 20.])
    """

    words = "of all cases"

    def drawer(self, tally: T) -> Drawer[T]:
        """Multinomial draws over all cells.

        Examples
        --------
        >>> from stakes.tally import Counts
        >>> draw = AllCases().drawer(Counts([[8, 2], [3, 7]]))
        >>> draw(np.random.default_rng(0), 4).leading
        (4,)
        """
        draw = _multinomial(whole_cells(tally))
        return lambda rng, size: cells_of(tally).with_cell_weights(draw(rng, size))


@record
class WithinClasses(Scheme):
    """The cases of each class are a sample of their own; class sizes stay as they are.

    The scheme for problems that state a prior: no replicate loses a class. A class of one case
    would be resampled as itself; what depends on it is undefined, see `bootstrap`.

    Examples
    --------
    >>> from stakes.tally import Counts
    >>> rng = np.random.default_rng(0)
    >>> counts = Counts([[8, 2], [3, 9]])
    >>> resample(counts, WithinClasses(), replicates=2, rng=rng).class_weights
    array([[10., 12.],
           [10., 12.]])
    """

    words = "within classes"

    def strata(self, tally: Tally) -> IntArray:  # noqa: D102
        return np.asarray(cells_of(tally).cell_classes)

    def drawer(self, tally: T) -> Drawer[T]:
        """Multinomial draws over the cells of each class.

        Examples
        --------
        >>> from stakes.tally import Counts
        >>> draw = WithinClasses().drawer(Counts([[8, 2], [3, 7]]))
        >>> draw(np.random.default_rng(0), 4).leading
        (4,)
        """
        cells, owner = whole_cells(tally), self.strata(tally)
        # Cells come class after class, so that each class is one run of them.
        draws = [_multinomial(part) for part in np.split(cells, _run_starts(owner), axis=-1)]

        def draw(rng: np.random.Generator, size: int) -> T:
            drawn = [of_class(rng, size) for of_class in draws]
            return cast(T, cells_of(tally).with_cell_weights(np.concatenate(drawn, axis=-1)))

        return draw


@record
class PoissonWeights(Scheme):
    """Every case occurs a Poisson(1) number of times, independently of the others.

    For streams: replicates of chunks add up to replicates of the whole, so that `resample` of each
    chunk can be kept as a running sum (Hanley and MacGibbon 2006; Chamandy et al. 2012). The number
    of cases varies too, which does not matter to measures that divide by it.

    Examples
    --------
    >>> from stakes.tally import Counts
    >>> rng = np.random.default_rng(0)
    >>> resample(Counts([[8, 2], [3, 7]]), PoissonWeights(), replicates=5, rng=rng).leading
    (5,)
    """

    words = "with Poisson weights"

    def drawer(self, tally: T) -> Drawer[T]:
        """Poisson draws, cell by cell.

        Examples
        --------
        >>> from stakes.tally import Counts
        >>> draw = PoissonWeights().drawer(Counts([[8, 2], [3, 7]]))
        >>> draw(np.random.default_rng(0), 4).leading
        (4,)
        """
        cells = whole_cells(tally)

        def draw(rng: np.random.Generator, size: int) -> T:
            drawn = rng.poisson(cells, size=(size, *cells.shape))
            return cast(T, cells_of(tally).with_cell_weights(drawn.astype(np.float64)))

        return draw


@record
class BayesianBootstrap(Scheme):
    """The shares of the cases have the posterior of Rubin 1981: Dirichlet with the weights.

    Takes sampling weights as well, but reads a weight w as w cases. No cell with cases ever
    becomes empty.

    Examples
    --------
    >>> from stakes.tally import Counts
    >>> rng = np.random.default_rng(0)
    >>> resample(Counts([[8, 2], [3, 7]]), BayesianBootstrap(), replicates=5, rng=rng).leading
    (5,)
    """

    words = "with Dirichlet weights"

    def drawer(self, tally: T) -> Drawer[T]:
        """Gamma draws, cell by cell, scaled to the total weight.

        Examples
        --------
        >>> from stakes.tally import Counts
        >>> draw = BayesianBootstrap().drawer(Counts([[8, 2], [3, 7]]))
        >>> draw(np.random.default_rng(0), 4).leading
        (4,)
        """
        cells: FloatArray = cells_of(tally).cell_weights
        refuse_clusters(tally)
        # Fractional weights are fine here: a gamma variable may have any shape.
        total = cells.sum(axis=-1, keepdims=True)

        def draw(rng: np.random.Generator, size: int) -> T:
            drawn = rng.standard_gamma(cells, size=(size, *cells.shape))
            mass = drawn.sum(axis=-1, keepdims=True)
            # Normalised gamma variables are Dirichlet; scaled to the total, measures see cases.
            scale = np.divide(total, mass, out=mass, where=mass > 0)
            return cast(T, cells_of(tally).with_cell_weights(drawn * scale))

        return draw


@record
class Clusters(Scheme):
    """Whole clusters (patients, sites, days) were drawn; their cases stay together.

    The first leading axis of the tally is the cluster: make it with ``clusters=``. A `ScoreTable`
    has a cell for every distinct score in every cluster; scores of thousands of clusters belong in
    `JointScores`.
    Weights may be fractional. Replicates of few clusters vary too little; intervals are widened for
    it, see `ExpandedPercentile`.

    Examples
    --------
    Of sites with 1, 10 and 100 cases three are drawn at a time; a digit says how often:

    >>> from stakes.tally import Counts
    >>> sites = Counts([[[1, 0], [0, 0]], [[6, 1], [1, 2]], [[60, 20], [5, 15]]])
    >>> rng = np.random.default_rng(0)
    >>> resample(sites, Clusters(), replicates=4, rng=rng).n_cases
    array([120.,   3.,   3., 210.])
    """

    words = "of clusters"
    of_clusters = True

    def whole(self, tally: T) -> T:
        """The tally summed over its clusters.

        Examples
        --------
        >>> from stakes.tally import Counts
        >>> sites = Counts([[[8, 2], [3, 7]], [[5, 0], [1, 4]], [[9, 3], [2, 8]]])
        >>> Clusters().whole(sites)
        Counts of 52 cases
            0   1
        0  22   5
        1   6  19
        """
        cluster_count(tally)  # refuses fewer than two
        return tally.pooled()

    def intervals(self, tally: Tally) -> IntervalType:
        """Expanded percentiles, because clusters are often few.

        Examples
        --------
        >>> from stakes.tally import Counts
        >>> sites = Counts([[[8, 2], [3, 7]], [[5, 0], [1, 4]], [[9, 3], [2, 8]]])
        >>> type(Clusters().intervals(sites)).__name__
        'ExpandedPercentile'
        """
        return ExpandedPercentile(cluster_count(tally))

    def numbers_per_replicate(self, tally: Tally) -> int:  # noqa: D102
        return cluster_count(tally) + self.whole(tally).size

    def drawer(self, tally: T) -> Drawer[T]:
        """Multinomial numbers of each cluster, times the tallies of the clusters.

        Examples
        --------
        >>> from stakes.tally import Counts
        >>> sites = Counts([[[8, 2], [3, 7]], [[5, 0], [1, 4]], [[9, 3], [2, 8]]])
        >>> Clusters().drawer(sites)(np.random.default_rng(0), 4).leading
        (4,)
        """
        times = _multinomial(np.ones(cluster_count(tally)))
        return lambda rng, size: tally.sum_clusters(times(rng, size))


def scheme_of(tally: Tally, problem: Problem | None = None) -> AllCases | WithinClasses | Clusters:
    """The scheme that every function uses by default: what was drawn at random.

    Clusters, where the tally was read with ``clusters=``; else the cases, within classes when the
    problem states a prior. Estimates name it.

    Parameters
    ----------
    tally : sums over cases, such as `Counts` or `ScoreTable`
    problem : what is at stake: costs, prior, labels

    Returns
    -------
    all cases, cases within classes, or clusters

    Examples
    --------
    >>> from stakes.tally import Counts
    >>> counts, problem = Counts([[8, 2], [1, 9]]), Problem.zero_one(2)
    >>> scheme_of(counts, problem), scheme_of(counts, problem.with_prior([0.9, 0.1]))
    (AllCases(), WithinClasses())
    """
    if problem is not None:
        _check.require("problem", problem, Problem)
    if checked_tally(tally).has_clusters:
        return Clusters()
    return AllCases() if problem is None or problem.prior is None else WithinClasses()


def resample(tally: T, scheme: Scheme, *, replicates: int, rng: np.random.Generator) -> T:
    """All replicates at once, as one tally with a leading axis of replicates.

    Holds all of them in memory; `bootstrap` works in blocks. Replicates by `PoissonWeights` of the
    chunks of a stream may be added up.

    Parameters
    ----------
    tally : sums over cases, such as `Counts` or `ScoreTable`
    scheme : what was drawn at random
    replicates : how many replicates to draw
    rng : the generator that draws

    Returns
    -------
    tally with a leading axis of replicates

    Examples
    --------
    >>> from stakes.tally import Counts
    >>> resample(Counts([[8, 2], [1, 9]]), AllCases(), replicates=3, rng=np.random.default_rng(1))
    Counts of shape (3,) x 2 classes x 2 decisions
    """
    count = checked_replicates(scheme, replicates, rng)
    return scheme.drawer(tally)(rng, count)


def checked_replicates(scheme: object, replicates: object, rng: object) -> int:
    """The number of replicates; the scheme, the number and the generator are checked."""
    checked_scheme(scheme)
    _check.generator(rng)
    return _check.draws("replicates", replicates, low=2)


def checked_scheme(scheme: object) -> Scheme:
    """The scheme; anything else is refused, such as a class instead of its instance.

    Parameters
    ----------
    scheme : what was drawn at random

    Returns
    -------
    the same scheme

    Examples
    --------
    >>> checked_scheme(AllCases())
    AllCases()
    """
    if not isinstance(scheme, Scheme):
        evidence = f"the class {scheme.__name__}" if isinstance(scheme, type) else repr(scheme)
        raise InputError(f"scheme must be a scheme; got {evidence}. Pass one, such as AllCases().")
    return scheme


def _run_starts(owner: IntArray) -> IntArray:
    """Where a new class begins among cells that stand class after class."""
    return np.flatnonzero(np.diff(owner)) + 1


def _multinomial(cells: FloatArray) -> Drawer[FloatArray]:
    """Draw as many cases as there are, with replacement: (…, C) → (size, …, C)."""
    if cells.ndim > 1:
        return _many_multinomials(cells)
    occupied = np.flatnonzero(cells)
    total = int(cells.sum())
    # With few cases in many cells, drawing cases is cheaper than a binomial draw for each cell.
    if 0 < total <= _CASES_PER_CELL * occupied.size:
        return _indices(np.repeat(occupied, cells[occupied].astype(np.intp)), cells.size)
    shares = cells[occupied] / max(total, 1)

    def draw(rng: np.random.Generator, size: int) -> FloatArray:
        drawn = np.zeros((size, cells.size))
        if total:
            drawn[:, occupied] = rng.multinomial(total, shares, size=size)
        return drawn

    return draw


def _indices(owner: IntArray, n_cells: int) -> Drawer[FloatArray]:
    """Multinomial draws by drawing cases and counting their cells, where there are many cells."""
    n_cases = owner.size
    at_once = max(1, _INDICES // n_cases)

    def draw(rng: np.random.Generator, size: int) -> FloatArray:
        drawn = np.empty((size, n_cells))
        for first in range(0, size, at_once):
            part = drawn[first : first + at_once]
            cells = owner.take(rng.integers(0, n_cases, (len(part), n_cases)))
            # Each replicate has its own range of cells, so that a single bincount counts them all.
            cells += n_cells * np.arange(len(part))[:, None]
            part[:] = np.bincount(cells.ravel(), minlength=part.size).reshape(part.shape)
        return drawn

    return draw


def _many_multinomials(cells: FloatArray) -> Drawer[FloatArray]:
    """Multinomial draws for all leading axes at once."""
    if 0 < cells.sum() < cells.size:  # most cells are empty, and each would cost a binomial draw
        return _many_indices(cells)
    total = cells.sum(axis=-1)
    shares = cells / np.maximum(total, 1)[..., None]
    counts = total.astype(np.int64)

    def draw(rng: np.random.Generator, size: int) -> FloatArray:
        drawn = rng.multinomial(counts, shares, size=(size, *counts.shape))
        return _without_strays(drawn.astype(np.float64), cells)

    return draw


def _many_indices(cells: FloatArray) -> Drawer[FloatArray]:
    """Multinomial draws of many tables, by drawing cases and counting their cells."""
    rows = cells.reshape(-1, cells.shape[-1]).astype(np.intp)
    sizes = rows.sum(axis=-1)
    stops = np.cumsum(sizes)
    low, high = np.repeat(stops - sizes, sizes), np.repeat(stops, sizes)
    owner = np.repeat(np.arange(rows.size), rows.ravel())

    def draw(rng: np.random.Generator, size: int) -> FloatArray:
        drawn = np.empty((size, rows.size))
        for part in drawn:  # one replicate of all tables fills the cache
            part[:] = np.bincount(owner.take(rng.integers(low, high)), minlength=rows.size)
        return drawn.reshape(size, *cells.shape)

    return draw


def _without_strays(drawn: FloatArray, cells: FloatArray) -> FloatArray:
    """Move cases that rounding put into an empty last cell to the largest cell."""
    # numpy gives the last cell the probability that rounding leaves over, even if that cell is
    # empty.
    stray = np.where(cells > 0, 0.0, drawn)
    if stray.any():
        drawn -= stray
        largest = np.broadcast_to(cells.argmax(axis=-1)[..., None], (*drawn.shape[:-1], 1))
        in_largest = np.take_along_axis(drawn, largest, axis=-1)
        np.put_along_axis(drawn, largest, in_largest + stray.sum(axis=-1, keepdims=True), axis=-1)
    return drawn
