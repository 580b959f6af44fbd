"""An estimate: a number, its standard error, its intervals and its bootstrap replicates."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import field
from functools import lru_cache
from math import isqrt
from typing import Any, Self, TypeVar

import numpy as np
import numpy.typing as npt

from stakes import _check
from stakes._check import BoolArray, FloatArray, IntArray, Numbers, shapes
from stakes._text import text_table
from stakes._value import Value, record
from stakes.errors import InputError
from stakes.problem import Problem
from stakes.tally import CellTally, JointCounts, Tally

# -------------------------------------------------------------------------------------------------
# Checks that inference makes of a tally: that it is one, and that its cases can be resampled.

T = TypeVar("T", bound=Tally)
Measure = Callable[[T], Numbers]


def checked_tally(tally: T) -> T:
    """The tally; anything else is refused."""
    if not isinstance(tally, Tally):
        raise InputError(
            f"tally must be Counts, JointCounts, ScoreTable, LossMoments or JointScores; got "
            f"{type(tally).__name__}. Tally the rows first, as Counts.from_decisions does."
        )
    return tally


def refuse_other_labels(joint: JointCounts, problem: Problem) -> None:
    """Refuse what is not joint counts and a problem with the same classes and decisions."""
    _check.require("joint", joint, JointCounts)
    _check.require("problem", problem, Problem)
    _check.same_names("joint and problem", joint, problem)


def cells_of(tally: Tally) -> Any:
    """The same tally, if its cases can be resampled; a tally of sums of losses is refused."""
    checked_tally(tally)
    if not isinstance(tally, CellTally):
        raise InputError(
            "tally must hold cases to be resampled; LossMoments hold sums of losses. Read "
            "them with clusters=, or take standard errors from compare_losses."
        )
    return tally


def cluster_count(tally: Tally) -> int:
    """How many clusters a tally holds; fewer than two are refused."""
    count = checked_tally(tally).n_clusters
    if count < 2:
        raise InputError(
            f"tally must hold at least two clusters; its leading axes are {tally.leading}. Make "
            f"it with clusters=, the label of each case's cluster."
        )
    return count


_MOST_CASES = 2.0**53  # from here on a double cannot count single cases
_REMEDY = (
    "make the tally with clusters=, or take weights for numbers of "
    "cases with BayesianBootstrap(). To reweight the classes, resample the tally as it is and call "
    "with_prior inside the measure."
)


def refuse_clusters(tally: Tally) -> None:
    """Refuse scores that name clusters where their cases would be taken for independent."""
    if tally.names_clusters:
        raise InputError(
            "scores must not name clusters here; their cases came together and would be taken for "
            "independent. Resample the clusters, compare(…, scheme=Clusters()); to take cases as "
            "independent all the same, read the scores without clusters=."
        )


def refuse_weights(tally: Tally, remedy: str = _REMEDY) -> None:
    """Refuse a tally of sampling weights where its numbers would be taken for cases."""
    if tally.weighted:
        raise InputError(
            f"tally must hold whole cases; it was made with weights=, which say how many cases "
            f"each row stands for, not how many there were: {remedy} If they say how often each "
            f"row occurred, pass them as copies=."
        )


def whole_cells(tally: Tally, remedy: str = _REMEDY) -> FloatArray:
    """Cells (…, C) that are numbers of cases; weights and clusters are refused."""
    cells: FloatArray = cells_of(tally).cell_weights
    refuse_clusters(tally)
    bad = np.flatnonzero(~(cells == np.floor(cells)))  # nan is bad too
    if bad.size:
        raise InputError(
            f"tally must hold whole cases; {bad.size} of its {cells.size} weights are fractional, "
            f"the first being {cells.flat[bad[0]]:g}. Fractional weights do not say how many cases "
            f"there were: {remedy}"
        )
    refuse_weights(tally, remedy)
    if cells.sum(axis=-1).max(initial=0.0) >= _MOST_CASES:
        raise InputError(
            f"tally must hold fewer than {_MOST_CASES:g} cases, beyond which single cases are not "
            f"counted exactly; it holds {cells.sum(axis=-1).max():g}. Scale the weights down."
        )
    return cells


def each(measure: Callable[[T], object]) -> Measure[T]:
    """Turn a measure of single tallies into one that accepts a leading axis, by a plain loop.

    For what cannot be computed for many tables at once, such as hulls.

    Parameters
    ----------
    measure : a function of a single tally, without leading axes

    Returns
    -------
    a measure that carries leading axes

    Examples
    --------
    >>> from stakes import Counts
    >>> corner = each(lambda counts: counts.values[0, 0])
    >>> corner(Counts([[[1, 2], [3, 4]], [[5, 6], [7, 8]]]))
    array([1., 5.])
    """

    def looped(tally: T) -> FloatArray:
        leading = checked_tally(tally).leading
        values = [numbers(measure(tally[index])) for index in np.ndindex(*leading)]
        shapes = {value.shape for value in values}
        if len(shapes) > 1:
            raise InputError(
                f"measure must give one shape for every tally; it gave {sorted(shapes)[:3]}. Fill "
                f"what is undefined with nan."
            )
        return np.asarray(values).reshape((*leading, *values[0].shape))

    return looped


def numbers(value: object, name: str = "measure") -> FloatArray:
    """What a measure gave, as an array of floats; anything else is refused."""
    remedy = "Let it return an array whose first axis is that of the replicates."
    return _check.returned(name, value, remedy)


def carried(values: object, size: int, shape: tuple[int, ...]) -> FloatArray:
    """Values (size, …) of a measure; refused unless it carried the axis of replicates through."""
    block = numbers(values)
    if block.shape != (size, *shape):
        raise InputError(
            f"measure must carry leading axes through; of one tally it made an array of shape "
            f"{shape}, of {size} tallies one of shape {block.shape}. Wrap a measure of single "
            f"tallies: each(measure)."
        )
    return block


# Normal and Student's t: quantiles, tails, and a fixed set of standard normal numbers ------------
#
# Replicates of n clusters vary less than new clusters would, by √((n − 1)/n), and their spread is
# itself an estimate with n − 1 degrees of freedom. An infinite n gives the normal distribution.
#
# The fixed numbers make results from normal draws reproducible. They are the normal quantiles of
# the points 2 |{r √p_d} − ½| of a Richtmyer sequence: the fractional part {·} of r
# times the root of the d-th prime, folded (Genz and Bretz 2009, ch. 4). They fill space more evenly
# than random numbers do, and need no random generator.

_MANY_TERMS = 40  # degrees of freedom above which a series is shorter than the sum
_FAR = 800.0  # its exponential is zero


def t_quantile(degrees: Numbers, share: Numbers) -> FloatArray:
    """Quantile of Student's t; that of the normal where degrees of freedom are infinite.

    >>> t_quantile(np.array([4.0, np.inf]), 0.975).round(3)
    array([2.776, 1.96 ])
    """
    from scipy.special import ndtri, stdtrit

    finite = np.isfinite(degrees)
    student = stdtrit(np.where(finite, degrees, 1.0), share)
    return np.asarray(np.where(finite, student, ndtri(share)))


def t_tail(degrees: Numbers, distance: FloatArray) -> FloatArray:
    """The probability that Student's t, or the normal, exceeds a distance.

    >>> t_tail(np.array([4.0, np.inf]), np.array([2.776, 1.96])).round(3)
    array([0.025, 0.025])
    """
    from scipy.special import ndtr, stdtr

    finite = np.isfinite(degrees)
    student = stdtr(np.where(finite, degrees, 1.0), -distance)
    return np.asarray(np.where(finite, student, ndtr(-distance)))


def student_quantile(n: FloatArray, share: float | FloatArray) -> FloatArray:
    r"""The quantile :math:`\sqrt{n/(n-1)}\, t_{n-1}` at a share, in standard errors of replicates.

    >>> student_quantile(np.array([5.0, np.inf]), 0.975).round(3)
    array([3.104, 1.96 ])
    """
    size = np.where(np.isfinite(n), n, 2.0)  # any number above one where it is not used
    scale = np.where(np.isfinite(n), np.sqrt(size / (size - 1)), 1.0)
    return np.asarray(scale * t_quantile(np.subtract(n, 1), share))


def student_tail(n: FloatArray, distance: FloatArray) -> FloatArray:
    """The probability beyond a distance in standard errors of replicates, one-sided.

    >>> student_tail(np.array([5.0, np.inf]), np.array([3.104, 1.96])).round(3)
    array([0.025, 0.025])
    """
    size = np.where(np.isfinite(n), n, 2.0)
    scale = np.where(np.isfinite(n), np.sqrt((size - 1) / size), 1.0)
    return t_tail(np.subtract(n, 1), np.asarray(distance) * scale)


def normal_scores(n: FloatArray, distance: FloatArray) -> FloatArray:
    """Distances with the same tail probability under the normal as these have with n clusters."""
    from scipy.special import ndtri

    return np.where(np.isfinite(n), -ndtri(student_tail(n, distance)), distance)


@lru_cache(maxsize=16)
def fixed_uniforms(count: int, dimensions: int) -> FloatArray:
    """Points (count, dimensions) of the unit cube, strictly inside.

    >>> fixed_uniforms(2, 2).round(3)
    array([[0.172, 0.464],
           [0.657, 0.125]])
    """
    multiple = np.arange(1, count + 1)[:, None] * np.sqrt(_primes(dimensions))
    folded = np.abs(2 * (multiple % 1.0) - 1)
    # Strictly inside the cube, so that normal quantiles are finite.
    points: FloatArray = np.clip(folded, 0.25 / count, 1 - 0.25 / count)
    points.setflags(write=False)
    return points


@lru_cache(maxsize=16)
def fixed_normals(count: int, dimensions: int) -> FloatArray:
    """Standard normal numbers (count, dimensions): the normal quantiles of `fixed_uniforms`."""
    from scipy.special import ndtri

    numbers = np.asarray(ndtri(fixed_uniforms(count, dimensions)))
    numbers.setflags(write=False)
    return numbers


@lru_cache(maxsize=16)
def directions(count: int, dimensions: int) -> FloatArray:
    """Points (count, dimensions) spread over the unit sphere."""
    points = fixed_normals(count, dimensions)
    numbers = np.asarray(points / np.linalg.norm(points, axis=1, keepdims=True))
    numbers.setflags(write=False)
    return numbers


def chi_square_tail(degrees: int, square: FloatArray) -> FloatArray:
    r"""The probability that χ² with a whole number of degrees of freedom exceeds a square.

    For few degrees a finite sum, where the incomplete gamma function takes a series each time:
    :math:`Q(a + 1, x) = Q(a, x) + x^a e^{-x} / \Gamma(a + 1)`, from Q(1/2) or Q(1) on.

    >>> chi_square_tail(4, np.array([1.064, 9.488])).round(3)
    array([0.9  , 0.05])
    """
    from scipy.special import erfc, gammaincc

    if degrees > _MANY_TERMS:
        return np.asarray(gammaincc(degrees / 2, square / 2))
    x = np.minimum(square / 2, _FAR)
    falling = np.exp(-x)
    a, tail, term = 1.0, falling, x * falling
    if degrees % 2:
        a, tail, term = 0.5, erfc(np.sqrt(x)), np.sqrt(x) * falling * (2 / np.sqrt(np.pi))
    while a < degrees / 2:
        tail, a = tail + term, a + 1
        term = term * x / a
    return np.asarray(tail)


def _primes(count: int) -> FloatArray:
    """The first primes, (count,)."""
    size = 32
    while True:
        prime = np.ones(size, dtype=np.bool_)
        prime[:2] = False
        for number in range(2, isqrt(size) + 1):
            prime[number * number :: number] = False
        primes = np.flatnonzero(prime)
        if len(primes) >= count:
            return primes[:count].astype(np.float64)
        size *= 2


# An estimate: a number, its standard error, its intervals and its bootstrap replicates -----------

_SHOWN = 20  # elements of an array of estimates that a print shows


@record
class Interval(Value):
    """Lower and upper bound, and the level: how often such intervals should cover the truth.

    Parameters
    ----------
    low : lower limit, (…)
    high : upper limit, (…)
    level : confidence level

    Examples
    --------
    >>> str(Interval(np.array(0.1), np.array(0.25), 0.95))
    '95% 0.1 to 0.25'
    """

    low: FloatArray
    high: FloatArray
    level: float

    @property
    def width(self) -> FloatArray:
        """Distance between the bounds."""
        return np.asarray(self.high - self.low)

    def covers(self, truth: object) -> BoolArray:
        """Whether the interval covers these numbers, elementwise; a nan bound covers nothing.

        Parameters
        ----------
        truth : numbers

        Returns
        -------
        booleans

        Examples
        --------
        >>> Interval(np.array(0.1), np.array(0.4), 0.95).covers([0.2, 0.5]).tolist()
        [True, False]
        """
        point = _check.reals("truth", truth)
        return np.asarray((self.low <= point) & (point <= self.high))

    def __str__(self) -> str:
        if np.ndim(self.low) == 0:
            return f"{100 * self.level:.4g}% {_span(self.low, self.high)}"
        return f"{100 * self.level:.4g}% intervals of shape {self.low.shape}"


@record
class Measured(Value):
    """One number and the bounds of its confidence interval, as a report holds it; nan if undefined.

    Parameters
    ----------
    value : the estimate
    low : lower limit
    high : upper limit

    Examples
    --------
    >>> Measured(0.4, 0.3, 0.6)
    Measured(value=0.4, low=0.3, high=0.6)
    """

    value: float
    low: float
    high: float


class IntervalType(Value, ABC):
    """How an estimate becomes an interval; the concrete types are in `intervals`.

    Examples
    --------
    A type of your own says what the bounds are:

    >>> class TwoErrors(IntervalType):
    ...     def bounds(self, estimate, level):
    ...         reach = 2 * estimate.standard_error
    ...         return estimate.value - reach, estimate.value + reach
    >>> print(Estimate(0.5, 0.1, np.empty(0), TwoErrors(), "survey"))
    0.5 (95% 0.3 to 0.7, survey)
    """

    @abstractmethod
    def bounds(self, estimate: Estimate, level: float) -> tuple[FloatArray, FloatArray]:
        """Lower and upper bound, each of the shape of the value.

        Parameters
        ----------
        estimate : the estimate
        level : confidence level

        Returns
        -------
        lower and upper bound

        Examples
        --------
        >>> from stakes.inference import Normal
        >>> estimate = Estimate(0.3, 0.1, np.empty(0), Normal(), "delta method")
        >>> [round(float(bound), 3) for bound in Normal().bounds(estimate, 0.95)]
        [0.104, 0.496]
        """

    def undefined(self, estimate: Estimate) -> BoolArray:
        """The replicates (R, …) that these intervals leave out.

        Parameters
        ----------
        estimate : the estimate

        Returns
        -------
        booleans, (R, …)

        Examples
        --------
        >>> from stakes.inference import Percentile
        >>> estimate = Estimate(0.3, 0.1, np.array([0.2, np.nan]), Percentile(), "bootstrap")
        >>> Percentile().undefined(estimate)
        array([False,  True])
        """
        return np.isnan(estimate.replicates)

    def effective_count(self, shape: tuple[int, ...]) -> FloatArray:
        """The effective number of clusters behind an estimate; infinite where it does not matter.

        Parameters
        ----------
        shape : shape of the estimate

        Returns
        -------
        numbers, of that shape

        Examples
        --------
        >>> from stakes.inference import Normal
        >>> float(Normal().effective_count(()))
        inf
        """
        return np.full(shape, np.inf)

    def along(self, contrast: FloatArray) -> IntervalType:
        """The type of interval for a weighted sum of the values.

        Parameters
        ----------
        contrast : the weights, of the shape of the values

        Returns
        -------
        the type of interval

        Examples
        --------
        >>> from stakes.inference import Normal
        >>> Normal().along(np.array([1.0, -1.0]))
        Normal()
        """
        return self


@record(repr=False, init=False)
class Estimate(Value):
    """A number (or an array of them) with its standard error and its intervals.

    Attributes
    ----------
    value : (…)
    standard_error : (…)
    replicates : (R, …)
        The values of resampled tallies; R = 0 where a formula gives the standard error. Undefined
        ones are nan: they are counted in `n_undefined`, shown, and left out of everything else.
        Infinite ones, of ratios, are defined: they are the largest replicates, and an interval
        may reach them. The standard error is that of the finite ones, because no standard
        deviation could include them; where a bound is infinite, go by the interval.
    intervals : the type of interval that `interval` gives
    method : what made the estimate, in words

    Examples
    --------
    >>> from stakes.inference import Normal
    >>> estimate = Estimate(0.6078, 0.07, np.empty(0), Normal(), "delta method")
    >>> print(estimate)
    0.6078 (95% 0.4706 to 0.745, delta method)
    >>> print(estimate.interval(0.5))
    50% 0.5606 to 0.655
    """

    value: FloatArray
    standard_error: FloatArray
    replicates: FloatArray
    intervals: IntervalType
    method: str

    def __init__(
        self,
        value: npt.ArrayLike,
        standard_error: npt.ArrayLike,
        replicates: npt.ArrayLike,
        intervals: IntervalType,
        method: str,
    ) -> None:
        numbers, errors, drawn = (
            _check.reals(name, part)
            for name, part in (
                ("value", value),
                ("standard_error", standard_error),
                ("replicates", replicates),
            )
        )
        if numbers.shape != errors.shape:
            raise InputError(
                f"value and standard_error must have one shape; they have {numbers.shape} and "
                f"{errors.shape}. Give each value its own standard error."
            )
        if drawn.shape[1:] != numbers.shape:
            raise InputError(
                f"replicates must have shape (R, {', '.join(map(str, numbers.shape))}), one value "
                f"for each replicate; the shape is {drawn.shape}. Replicates are the first axis."
            )
        _check.require("method", method, str, "Say in words how the numbers were found.")
        parts = {"value": numbers, "standard_error": errors, "replicates": drawn}
        self._fill({**parts, "intervals": _checked_type(intervals), "method": method})

    def interval(self, level: float = 0.95) -> Interval:
        """Interval that should cover the truth with this probability; nan where undefined.

        Parameters
        ----------
        level : confidence level, such as 0.95

        Returns
        -------
        the interval, of the shape of the value

        Examples
        --------
        >>> from stakes.inference import Normal
        >>> print(Estimate(0.3, 0.1, np.empty(0), Normal(), "delta method").interval(0.9))
        90% 0.1355 to 0.4645
        """
        level = _check.level(level)
        low, high = self.intervals.bounds(self, level)
        return Interval._trusted(low=np.asarray(low), high=np.asarray(high), level=level)

    def with_intervals(self, intervals: IntervalType) -> Self:
        """Read the same estimate by another type of interval.

        Parameters
        ----------
        intervals : the type of interval

        Returns
        -------
        the estimate

        Examples
        --------
        >>> from stakes.inference import Logit, Normal
        >>> estimate = Estimate(0.9, 0.1, np.empty(0), Normal(), "delta method")
        >>> print(estimate.with_intervals(Logit()))
        0.9 (95% 0.5049 to 0.9876, delta method)
        """
        return self._but(intervals=_checked_type(intervals))

    @property
    def n_undefined(self) -> IntArray:
        """How many replicates the intervals leave out because they are nan, of shape (…)."""
        return np.asarray(self.intervals.undefined(self).sum(axis=0), dtype=np.intp)

    def __str__(self) -> str:
        if self.value.ndim == 0:
            return self._line(())
        header = ["", "value", "95% low", "high"]
        interval = self.interval(0.95)
        parts = [self.value, interval.low, interval.high]
        if self.n_undefined.any():
            header, parts = [*header, "undefined"], [*parts, self.n_undefined.astype(np.float64)]
        places = list(np.ndindex(*self.value.shape))
        rows = [[place, *(f"{part[place]:.4g}" for part in parts)] for place in places[:_SHOWN]]
        more = f"\n… and {len(places) - _SHOWN} more" if len(places) > _SHOWN else ""
        return f"{self.method}\n{text_table(header, rows)}{more}"

    def _line(self, place: tuple[int, ...]) -> str:
        interval = self.interval(0.95)
        lost = int(self.n_undefined[place])
        note = f", {lost} of them undefined" if lost else ""
        low, high = interval.low[place], interval.high[place]
        return f"{self.value[place]:.4g} (95% {_span(low, high)}, {self.method}{note})"

    __repr__ = __str__


def _checked_type(intervals: object) -> IntervalType:
    """The type of intervals; anything else is refused, such as a class instead of its instance."""
    if isinstance(intervals, IntervalType):
        return intervals
    raise InputError(
        f"intervals must be a type of intervals; got {intervals!r}. Pass one, such as Normal()."
    )


def counted(number: int, noun: str) -> str:
    """A number with its noun, in the plural where there is not exactly one.

    >>> counted(1, "pair"), counted(3, "pair")
    ('1 pair', '3 pairs')
    """
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _span(low: FloatArray, high: FloatArray) -> str:
    return f"{low:.4g} to {high:.4g}"


# Types of intervals: how bounds are made from a value, its standard error and replicates ---------

_TIE = 1e-12  # relative: replicates that differ from the value by rounding alone are equal to it
_FEW = 6  # with fewer clusters, replicates take too few distinct values for such extreme quantiles


def spread(replicates: FloatArray) -> FloatArray:
    """Standard deviation (…) of the finite replicates (R, …); nan for fewer than two of them.

    >>> spread(np.array([[1.0, 1.0], [3.0, np.inf], [np.nan, np.nan]])) ** 2
    array([ 2., nan])
    """
    defined = np.where(np.isfinite(replicates), replicates, np.nan)
    count = np.sum(~np.isnan(defined), axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.nansum(defined, axis=0) / count
        error = np.sqrt(np.nansum((defined - mean) ** 2, axis=0) / (count - 1))
    return np.where(count > 1, error, np.nan)


def quantile(replicates: FloatArray, share: FloatArray) -> FloatArray:
    """Quantile of the replicates (R, …) that are defined, at shares (…); nan where none is.

    The r-th of m sorted replicates is the quantile at r/(m + 1) (Davison and Hinkley 1997, section
    2.4); shares further out give the smallest or the largest replicate.

    >>> float(quantile(np.array([3.0, 1.0, 2.0, np.nan]), np.array(0.25)))
    1.0
    """
    if replicates.shape[0] == 0:
        return np.full(np.broadcast_shapes(share.shape, replicates.shape[1:]), np.nan)
    ordered = np.sort(replicates, axis=0)  # nan comes last
    defined = np.sum(~np.isnan(ordered), axis=0)
    place = np.clip(np.nan_to_num(share) * (defined + 1) - 1, 0, np.maximum(defined - 1, 0))
    below = np.floor(place).astype(np.intp)
    above = np.minimum(below + 1, np.maximum(defined - 1, 0))
    low, high = (np.take_along_axis(ordered, index[None], axis=0)[0] for index in (below, above))
    with np.errstate(invalid="ignore"):
        # Between two infinite replicates nothing is interpolated: their difference is nan.
        step = np.where((place == below) | (low == high), 0.0, (place - below) * (high - low))
    return np.where(np.isnan(share), np.nan, low + step)


def wilson_bounds(
    rate: FloatArray, n_cases: FloatArray, threshold: FloatArray | float
) -> tuple[FloatArray, FloatArray]:
    """Bounds of Wilson's interval for a rate; nan stays nan.

    An infinite threshold, or no cases, gives the whole of [0, 1].

    Parameters
    ----------
    rate : observed share, (…)
    n_cases : number of cases, (…)
    threshold : the square of the normal or Student's quantile, (…)

    Returns
    -------
    lower and upper bound, each (…)

    Examples
    --------
    >>> low, high = wilson_bounds(np.array(0.9), np.array(20.0), np.array(1.96**2))
    >>> float(low.round(3)), float(high.round(3))
    (0.699, 0.972)
    """
    shapes("…, …", rate=rate, n_cases=n_cases)
    if not isinstance(threshold, float):
        shapes("…", threshold=threshold)
    with np.errstate(invalid="ignore"):
        centre = (n_cases * rate + threshold / 2) / (n_cases + threshold)
        square = threshold * (n_cases * rate * (1 - rate) + threshold / 4)
        reach = np.sqrt(square) / (n_cases + threshold)
    unknown = np.isinf(threshold)
    low = np.where(unknown | (rate == 0), 0.0, centre - reach)  # rounding must not leave [0, 1]
    high = np.where(unknown | (rate == 1), 1.0, centre + reach)
    undefined = np.isnan(rate)
    return np.where(undefined, np.nan, low), np.where(undefined, np.nan, high)


@record
class Percentile(IntervalType):
    """The quantiles of the replicates themselves.

    Examples
    --------
    >>> from stakes.inference import Estimate
    >>> estimate = Estimate(0.5, 0.3, np.arange(1, 100) / 100, Percentile(), "bootstrap")
    >>> print(estimate.interval(0.9))
    90% 0.05 to 0.95
    """

    def bounds(self, estimate: Estimate, level: float) -> tuple[FloatArray, FloatArray]:
        """Quantiles at (1 ∓ level) / 2.

        Examples
        --------
        >>> from stakes.inference import Estimate
        >>> estimate = Estimate(0.3, 0.1, np.linspace(0.1, 0.5, 99), Percentile(), "bootstrap")
        >>> [round(float(bound), 3) for bound in Percentile().bounds(estimate, 0.9)]
        [0.116, 0.484]
        """
        _need_replicates(estimate, "Percentile")
        return _central(estimate, level)


@record
class ExpandedPercentile(IntervalType):
    r"""Quantiles of the replicates, moved outwards because few clusters were drawn.

    Replicates of n clusters vary less than new clusters would, by :math:`\sqrt{(n-1)/n}`, and do
    not allow for the fact that their spread is itself an estimate. The quantiles are those that
    turn a normal interval into Student's: at :math:`\Phi(\pm\sqrt{n/(n-1)}\, t_{n-1})` (Hesterberg
    2015). The type that `bootstrap` takes for `Clusters`. No replicate lies that far out when fewer
    than six clusters were drawn: their interval is Student's itself,
    :math:`\theta \pm \sqrt{n/(n-1)}\, t_{n-1}\, se`. Where a bound would lie beyond the outermost
    replicate for another reason, it is Student's or that replicate, whichever is further out.

    A few clusters that hold the rare class or the costly mistakes may dominate the estimate. With
    `influence` (G, …), that of each cluster or random group of clusters on the estimate, d, n is
    Satterthwaite's (1946) effective number: as many clusters with normal influences would estimate
    the spread as precisely,

    .. math:: n = \frac{2}{2/N + \sum_g d_g^4 / (\sum_g d_g^2)^2 - 3/G}

    and at most the number N of clusters. Influences whose shape is not that of the estimate are
    ignored.

    Examples
    --------
    Twelve clusters make the interval wider than its replicates are:

    >>> from stakes.inference import Estimate
    >>> for kind in (Percentile(), ExpandedPercentile(12)):
    ...     print(Estimate(0.5, 0.2, np.arange(1, 100) / 100, kind, "12 clusters").interval(0.9))
    90% 0.05 to 0.95
    90% 0.03035 to 0.9697
    """

    count: int
    influence: FloatArray = field(default_factory=lambda: np.empty((0, 0)))

    def bounds(self, estimate: Estimate, level: float) -> tuple[FloatArray, FloatArray]:
        """Quantiles at a higher level, which makes up for the small number of clusters.

        Examples
        --------
        >>> from stakes.inference import Estimate
        >>> estimate = Estimate(0.3, 0.1, np.linspace(0.1, 0.5, 99), Percentile(), "bootstrap")
        >>> [round(float(bound), 3) for bound in ExpandedPercentile(12).bounds(estimate, 0.9)]
        [0.108, 0.492]
        """
        from scipy.special import ndtr

        _need_replicates(estimate, "ExpandedPercentile")
        shape = estimate.value.shape
        distance = student_quantile(self.effective_count(shape), (1 + level) / 2)
        beyond = np.asarray(ndtr(-distance))
        low, high = (quantile(estimate.replicates, share) for share in (beyond, 1 - beyond))
        defined = np.sum(~np.isnan(estimate.replicates), axis=0)
        reach = distance * spread(estimate.replicates)
        bounds = estimate.value - reach, estimate.value + reach
        if self.count < _FEW:
            return bounds
        out = beyond * (defined + 1) < 1  # the quantile lies beyond the outermost replicate
        return (
            np.where(out, np.minimum(low, bounds[0]), low),
            np.where(out, np.maximum(high, bounds[1]), high),
        )

    def effective_count(self, shape: tuple[int, ...]) -> FloatArray:
        """Satterthwaite's n for an estimate of this shape.

        It is two where leaving out some clusters makes the estimate undefined.

        Examples
        --------
        >>> float(ExpandedPercentile(12).effective_count(()))
        12.0
        """
        if self.influence.shape[1:] != shape:
            return np.full(shape, float(self.count))
        square = np.sum(self.influence**2, axis=0)
        with np.errstate(divide="ignore", invalid="ignore"):
            share = np.where(square > 0, np.sum((self.influence**2 / square) ** 2, axis=0), 0.0)
        # The kurtosis of influences says how few of them make up the variance: for normal ones this
        # is about 3 / G, and n is about the number of clusters.
        excess = 2 / self.count + share - 3 / len(self.influence)
        count = 2 / np.maximum(excess, 2 / self.count)
        return np.asarray(np.where(np.isnan(square), 2.0, np.maximum(count, 2.0)))

    def along(self, contrast: FloatArray) -> ExpandedPercentile:
        """The type for the sum over the last axis, weighted by the contrast.

        Examples
        --------
        >>> type(ExpandedPercentile(12).along(np.array([1.0, -1.0]))).__name__
        'ExpandedPercentile'
        """
        if self.influence.shape[1:] != contrast.shape:
            return self
        used = contrast != 0  # what is undefined elsewhere does not matter
        return ExpandedPercentile(self.count, self.influence[:, used] @ contrast[used])


@record
class BCa(IntervalType):
    r"""Quantiles of the replicates, corrected for bias and skewness (Efron 1987).

    .. math:: \alpha' = \Phi\Big(z_0 + \frac{z_0 + z_\alpha}{1 - a (z_0 + z_\alpha)}\Big)

    :math:`z_0` is the normal quantile of the share of replicates below the value (half of those
    equal to it), a the acceleration: what `bootstrap_bca` takes from the jackknife. nan where the
    acceleration is, as when a class has a single case.

    Parameters
    ----------
    acceleration : how the standard error changes with the value, (…)

    Examples
    --------
    With as many replicates below the value as above it, and no acceleration, nothing is corrected;
    with more of them below it, both bounds move up:

    >>> from stakes.inference import Estimate
    >>> for value in (0.5, 0.6):
    ...     print(Estimate(value, 0.2, np.arange(1, 100) / 100, BCa(np.array(0.0)), "bootstrap"))
    0.5 (95% 0.025 to 0.975, bootstrap)
    0.6 (95% 0.0738 to 0.99, bootstrap)
    """

    acceleration: FloatArray

    def bounds(self, estimate: Estimate, level: float) -> tuple[FloatArray, FloatArray]:
        """Quantiles at the corrected shares.

        Examples
        --------
        >>> from stakes.inference import Estimate
        >>> estimate = Estimate(0.3, 0.1, np.linspace(0.1, 0.5, 99), Percentile(), "bootstrap")
        >>> [round(float(bound), 3) for bound in BCa(np.array(0.05)).bounds(estimate, 0.9)]
        [0.122, 0.489]
        """
        _need_replicates(estimate, "BCa")
        bias = self._bias(estimate)
        low, high = (
            quantile(estimate.replicates, self._share(bias, (1 + side * level) / 2))
            for side in (-1, 1)
        )
        return low, high

    def _bias(self, estimate: Estimate) -> FloatArray:
        """The bias z₀: the normal quantile of the share of replicates below the value."""
        from scipy.special import ndtri

        replicates, value = estimate.replicates, estimate.value
        with np.errstate(invalid="ignore", divide="ignore"):
            # Replicates of discrete measures often equal the value: half of them count as below.
            equal = np.abs(replicates - value) <= _TIE * np.maximum(np.abs(value), _TIE)
            below = np.sum((replicates < value) & ~equal, axis=0) + np.sum(equal, axis=0) / 2
            bias = ndtri(below / np.sum(~np.isnan(replicates), axis=0))
            # With all replicates on one side of the value there is no finite correction.
            return np.where(np.isnan(value), np.nan, np.where(np.isinf(bias), 0.0, bias))

    def _share(self, bias: FloatArray, share: float) -> FloatArray:
        from scipy.special import ndtr, ndtri

        with np.errstate(invalid="ignore"):
            reach = bias + ndtri(share)
            return np.asarray(ndtr(bias + reach / (1 - self.acceleration * reach)))


@record
class Studentised(IntervalType):
    r"""The bootstrap-t: quantiles of :math:`(\theta^* - \theta)/se^*` in place of the normal's.

    `errors` (R, …) are the standard errors of the replicates. A replicate whose standard error is
    zero has an infinite distance, and with enough of them a bound is infinite. This is intended:
    such samples claim a certainty that they do not have.

    Parameters
    ----------
    errors : standard errors of the replicates, (R, …)

    Examples
    --------
    Replicates of equal standard error are mirrored at the value, 0.2:

    >>> from stakes.inference import Estimate
    >>> errors, replicates = np.full(99, 0.1), np.arange(1, 100) / 100
    >>> estimate = Estimate(0.2, 0.1, replicates, Studentised(errors), "bootstrap-t")
    >>> print(estimate.interval(0.9))
    90% -0.55 to 0.35
    """

    errors: FloatArray

    def bounds(self, estimate: Estimate, level: float) -> tuple[FloatArray, FloatArray]:
        """The value minus the quantiles, the upper one first, times its standard error.

        Examples
        --------
        >>> from stakes.inference import Estimate
        >>> estimate = Estimate(0.3, 0.1, np.linspace(0.1, 0.5, 99), Percentile(), "bootstrap")
        >>> low, high = Studentised(np.full(99, 0.1)).bounds(estimate, 0.9)
        >>> round(float(low), 3), round(float(high), 3)
        (0.116, 0.484)
        """
        _need_replicates(estimate, "Studentised")
        distance = self._distances(estimate)
        with np.errstate(invalid="ignore"):
            low, high = (
                estimate.value
                - estimate.standard_error
                * quantile(distance, np.full(estimate.value.shape, (1 + side * level) / 2))
                for side in (1, -1)
            )
        return low, high

    def undefined(self, estimate: Estimate) -> BoolArray:
        """Replicates whose standard error, and so whose studentised distance, is undefined.

        Examples
        --------
        >>> from stakes.inference import Estimate
        >>> estimate = Estimate(0.3, 0.1, np.array([0.2, 0.4]), Percentile(), "bootstrap")
        >>> Studentised(np.array([0.1, np.nan])).undefined(estimate)
        array([False,  True])
        """
        return np.isnan(self._distances(estimate))

    def _distances(self, estimate: Estimate) -> FloatArray:
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray((estimate.replicates - estimate.value) / self.errors)


@record
class Normal(IntervalType):
    """The value plus and minus a normal quantile times the standard error.

    Examples
    --------
    >>> from stakes.inference import Estimate
    >>> print(Estimate(0.3, 0.1, np.empty(0), Normal(), "delta method"))
    0.3 (95% 0.104 to 0.496, delta method)
    """

    def bounds(self, estimate: Estimate, level: float) -> tuple[FloatArray, FloatArray]:
        """Symmetric about the value.

        Examples
        --------
        >>> from stakes.inference import Estimate
        >>> estimate = Estimate(0.3, 0.1, np.linspace(0.1, 0.5, 99), Percentile(), "bootstrap")
        >>> [round(float(bound), 3) for bound in Normal().bounds(estimate, 0.9)]
        [0.136, 0.464]
        """
        from scipy.special import ndtri

        reach = ndtri((1 + level) / 2) * estimate.standard_error
        return estimate.value - reach, estimate.value + reach


@record
class Logit(IntervalType):
    """The normal interval of the log-odds, for what lies between 0 and 1, such as the AUC.

    Never leaves [0, 1]; nan where the value is 0 or 1, since the log-odds are infinite there.

    Examples
    --------
    The normal interval leaves [0, 1], that of the log-odds does not:

    >>> from stakes.inference import Estimate
    >>> for kind in (Normal(), Logit()):
    ...     print(Estimate(0.9, 0.1, np.empty(0), kind, "delta method"))
    0.9 (95% 0.704 to 1.096, delta method)
    0.9 (95% 0.5049 to 0.9876, delta method)
    """

    def bounds(self, estimate: Estimate, level: float) -> tuple[FloatArray, FloatArray]:
        """Symmetric about the value on the scale of log-odds.

        Examples
        --------
        >>> from stakes.inference import Estimate
        >>> estimate = Estimate(0.3, 0.1, np.linspace(0.1, 0.5, 99), Percentile(), "bootstrap")
        >>> [round(float(bound), 3) for bound in Logit().bounds(estimate, 0.9)]
        [0.164, 0.484]
        """
        from scipy.special import expit, logit, ndtri

        value = estimate.value
        with np.errstate(divide="ignore", invalid="ignore"):
            centre = logit(value)
            reach = ndtri((1 + level) / 2) * estimate.standard_error / (value * (1 - value))
            return expit(centre - reach), expit(centre + reach)


@record
class Wilson(IntervalType):
    r"""Wilson's interval of 1927 for a rate p out of n cases.

    .. math:: \frac{p + z^2/2n \pm z \sqrt{p(1-p)/n + z^2/4n^2}}{1 + z^2/n}

    It holds all rates that a score test does not reject: a normal test whose standard error is that
    of the rate in question, not of the observed one. nan without cases.

    Parameters
    ----------
    n_cases : cases behind each rate, (…)

    Examples
    --------
    Without an error in 100 cases the upper bound is :math:`z^2 / (100 + z^2)`, z² being 3.84:

    >>> from stakes.inference import Estimate
    >>> print(Estimate(0.0, 0.0, np.empty(0), Wilson(np.array(100.0)), "error rate"))
    0 (95% 0 to 0.03699, error rate)
    """

    n_cases: FloatArray

    def bounds(self, estimate: Estimate, level: float) -> tuple[FloatArray, FloatArray]:
        """Within [0, 1], and not of width zero at rates of 0 and 1.

        Examples
        --------
        >>> from stakes.inference import Estimate
        >>> estimate = Estimate(0.3, 0.1, np.linspace(0.1, 0.5, 99), Percentile(), "bootstrap")
        >>> [round(float(bound), 3) for bound in Wilson(np.array(20.0)).bounds(estimate, 0.9)]
        [0.164, 0.484]
        """
        from scipy.special import ndtri

        return wilson_bounds(estimate.value, self.n_cases, ndtri((1 + level) / 2) ** 2)


def _central(estimate: Estimate, level: float | FloatArray) -> tuple[FloatArray, FloatArray]:
    """The quantiles between which this share of the replicates lies."""
    shape = estimate.value.shape
    low, high = (np.broadcast_to((1 + side * level) / 2, shape) for side in (-1, 1))
    return quantile(estimate.replicates, low), quantile(estimate.replicates, high)


def _need_replicates(estimate: Estimate, name: str) -> None:
    if estimate.replicates.shape[0] == 0:
        raise InputError(
            f"{name} intervals need replicates; this estimate has none ({estimate.method}). "
            f"Make it with bootstrap, or read it by Normal()."
        )
