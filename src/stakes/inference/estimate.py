"""An estimate: a number, its standard error, its intervals and its bootstrap replicates."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Self

import numpy as np
import numpy.typing as npt

from stakes import _check
from stakes._check import BoolArray, FloatArray, IntArray
from stakes._text import text_table
from stakes._value import Value, record
from stakes.errors import InputError

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
