"""How a sample is resampled, group by group, or with one case left out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import ClassVar, TypeVar, cast

import numpy as np

from stakes import _check
from stakes._check import BoolArray, FloatArray, IntArray, Label, Labels, a_function
from stakes._text import text_table
from stakes._value import Value, record
from stakes.errors import InputError
from stakes.inference.estimate import (
    Estimate,
    ExpandedPercentile,
    IntervalType,
    Measure,
    Percentile,
    T,
    carried,
    cells_of,
    checked_tally,
    cluster_count,
    numbers,
    refuse_clusters,
    whole_cells,
)
from stakes.problem import Problem
from stakes.tally import CellTally, Tally

# -------------------------------------------------------------------------------------------------
# How a sample is resampled: which tallies could have been observed instead of the one at
# hand.
#
# A scheme says what was drawn at random: the cases, the cases of each class, or clusters that hold
# several cases each. All of them resample whole tallies; rows are never touched.

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


# An estimate for every group, with a note where a group is too small for it ----------------------


@record(repr=False)
class Slices(Value):
    """An estimate for every group.

    Attributes
    ----------
    groups : G labels
    estimate : its value has shape (G,)
    sizes : (G, K) cases of each class in each group
    notes : G texts, empty where the interval needs no warning

    Examples
    --------
    >>> import numpy as np
    >>> from stakes.inference import Normal
    >>> values, errors = np.array([0.2, 0.4]), np.array([0.05, 0.1])
    >>> estimate = Estimate(values, errors, np.empty((0, 2)), Normal(), "delta method")
    >>> Slices(("north", "south"), estimate, np.array([[40, 20], [9, 6]]), ("", "few cases"))
    delta method
           cases  value  95% low   high
    north     60    0.2    0.102  0.298
    south     15    0.4    0.204  0.596  few cases
    """

    groups: Labels
    estimate: Estimate
    sizes: FloatArray
    notes: tuple[str, ...]

    def columns(self, level: float = 0.95) -> dict[str, list[object]]:
        """What can be drawn or printed, as columns of equal length.

        Parameters
        ----------
        level : confidence level of the intervals

        Returns
        -------
        columns of equal length

        Examples
        --------
        >>> import numpy as np
        >>> from stakes.inference import Normal
        >>> values, errors = np.array([0.2, 0.4]), np.array([0.05, 0.1])
        >>> estimate = Estimate(values, errors, np.empty((0, 2)), Normal(), "delta method")
        >>> sizes = np.array([[40, 20], [9, 6]])
        >>> Slices(("north", "south"), estimate, sizes, ("", "few cases")).columns()["note"]
        ['', 'few cases']
        """
        interval = self.estimate.interval(level)
        return {
            "group": list(self.groups),
            "cases": self.sizes.sum(axis=-1).tolist(),
            "value": self.estimate.value.tolist(),
            "low": interval.low.tolist(),
            "high": interval.high.tolist(),
            "note": list(self.notes),
        }

    def __str__(self) -> str:
        columns = self.columns(0.95)
        header = ["", "cases", "value", "95% low", "high", ""]
        rows = [
            [group, *(f"{number:.4g}" for number in numbers), note]
            for group, *numbers, note in zip(*columns.values(), strict=True)
        ]
        return f"{self.estimate.method}\n{text_table(header, rows)}"

    __repr__ = __str__


def slices(estimate: Estimate, tally: Tally, *, smallest: float) -> Slices:
    """Label an estimate of a tally that was made with ``by=``, group by group, with notes.

    A class with fewer than `smallest` cases in a group gets a note, and so do undefined
    replicates: such an interval contains the true value less often than its level says.

    Parameters
    ----------
    estimate : of shape (G,), by `bootstrap` or by formula, from this tally
    tally : with a leading axis of groups
    smallest : number of cases of a class below which a group gets a note

    Returns
    -------
    the estimate of each group, with notes

    Examples
    --------
    >>> from stakes.inference import delta_expected_cost
    >>> from stakes import Counts, Problem
    >>> y, decided = [0, 0, 0, 1, 1] * 20, [0, 0, 1, 1, 0] * 20
    >>> site = ["north"] * 90 + ["south"] * 10
    >>> counts = Counts.from_decisions(y, decided, Problem.zero_one(2), by=site)
    >>> print(slices(delta_expected_cost(counts, Problem.zero_one(2)), counts, smallest=10))
    delta method
           cases  value  95% low    high
    north     90    0.4   0.2982  0.5018
    south     10    0.4  0.07994  0.7201  few cases (6 of class 0, 4 of class 1)
    """
    _check.require("estimate", estimate, Estimate)
    axes = checked_tally(tally).leading
    if len(axes) != 1 or estimate.value.shape != axes:
        raise InputError(
            f"estimate and tally must have one axis of groups; the estimate has shape "
            f"{estimate.value.shape}, the tally leading axes {axes}. Make the tally "
            f"with by=, and measure one number for each group."
        )
    bound = _check.number("smallest", smallest, low=0)
    sizes = tally.class_weights
    labels = tally.groups or tuple(range(len(sizes)))
    replicates = len(estimate.replicates)
    few = (few_of_classes(size, tally.class_names, bound) for size in sizes)
    undefined = (
        f"{lost} of {replicates} replicates undefined" if lost else ""
        for lost in estimate.n_undefined
    )
    notes = tuple("; ".join(filter(None, both)) for both in zip(few, undefined, strict=True))
    return Slices._trusted(groups=labels, estimate=estimate, sizes=sizes, notes=notes)


def few_of_classes(sizes: FloatArray | IntArray, classes: Labels, smallest: float) -> str:
    """The note on a group of which some classes have too few cases; empty if all have enough.

    Parameters
    ----------
    sizes : (K,) cases of each class
    classes : K labels
    smallest : number of cases of a class below which they say little about it

    Returns
    -------
    the note

    Examples
    --------
    >>> import numpy as np
    >>> few_of_classes(np.array([60, 4]), ("healthy", "ill"), 10)
    'few cases (4 of ill)'
    """
    _check.shapes(f"{len(classes)}", sizes=sizes)
    short = [
        f"{size:.4g} of {label if _is_a_word(label) else f'class {label}'}"
        for size, label in zip(sizes, classes, strict=True)
        if size < smallest
    ]
    return f"few cases ({', '.join(short)})" if short else ""


def _is_a_word(label: Label) -> bool:
    """Whether a label is a text that does not read like a number."""
    return isinstance(label, str) and not label.strip("+-").replace(".", "", 1).isdigit()


# The jackknife on a tally: what becomes of a measure when one case is left out -------------------

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
