r"""Operating conditions: what is known about the costs, as a distribution on [0, 1].

The loss of a decision rule depends on the costs through one number only: the cost proportion
:math:`c = c_FA / (c_FA + c_miss)`, or the skew :math:`z = c\pi_0 / (c\pi_0 + (1-c)\pi_1)`,
which also includes the class shares. `CostProportions` and `Skews` say which of the two a
distribution is about (hernandez-orallo, section 2.2). Conversion functions turn one into the other,
and net benefit into expected cost or relative economic value and back.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from stakes import _check
from stakes._arithmetic import ratio, running_sum
from stakes._check import FloatArray, Numbers, unwrapped
from stakes._value import Value, record
from stakes.errors import InputError
from stakes.problem import Problem
from stakes.tally import ScoreTable

__all__ = [
    "Beta",
    "Condition",
    "Continuous",
    "CostProportions",
    "Distribution",
    "Mixture",
    "Point",
    "Points",
    "Sample",
    "Skews",
    "Truncated",
    "Uniform",
    "cost_from_net_benefit",
    "cost_proportion_from_skew",
    "net_benefit_from_cost",
    "net_benefit_from_relative_value",
    "relative_value_from_net_benefit",
    "skew_from_cost_proportion",
]


# Distributions on [0, 1], known through their partial moments ------------------------------------
#
# Exact expected losses need three things of a distribution: its probability and its partial first
# and second moments on an interval. All named distributions have them in closed form. Intervals
# are closed on the left and open on the right, as the pieces of a loss curve are: at the cost
# proportion c a case of score c gets the negative decision, so that the loss changes at c itself.

_LEAST, _GREATEST = 1e-100, 1e100  # exponents of a Beta: their ratios are far from underflow
_LEAST_MASS = 1e-12  # below this, a difference of distribution functions is rounding


class Distribution(Value, ABC):
    """A distribution on [0, 1], known through its partial moments.

    Examples
    --------
    The density 2x, by its partial moments; bounds may lie outside [0, 1]:

    >>> class Rising(Distribution):
    ...     def moment(self, order, low, high):
    ...         low, high = np.clip(low, 0, 1), np.clip(high, 0, 1)
    ...         return 2 * (high ** (order + 2) - low ** (order + 2)) / (order + 2)
    >>> round(Rising().mean, 3), Rising().cdf([0.5, 1]).tolist()
    (0.667, [0.25, 1.0])
    """

    @abstractmethod
    def moment(self, order: int, low: npt.ArrayLike, high: npt.ArrayLike) -> FloatArray:
        r"""Partial moment :math:`\int_{[low, high)} x^{order}\,dW(x)`, elementwise.

        The order is 0, 1 or 2; an interval that ends before it begins is empty.

        Parameters
        ----------
        order : the power
        low : lower limits
        high : upper limits

        Returns
        -------
        partial moments, elementwise

        Examples
        --------
        >>> Uniform().moment(1, [0, 0.5], [0.5, 1])
        array([0.125, 0.375])
        """

    def upper_moment(self, low: npt.ArrayLike) -> FloatArray:
        r"""Partial moment :math:`\int_{[low, 1]} (1 - x)\,dW(x)`, elementwise.

        It keeps the digits that the difference of two moments loses where values are close to one.

        Parameters
        ----------
        low : lower limits

        Returns
        -------
        partial moments, elementwise

        Examples
        --------
        >>> Uniform().upper_moment([0, 0.5])
        array([0.5  , 0.125])
        """
        return self.moment(0, low, np.inf) - self.moment(1, low, np.inf)

    def cdf(self, x: npt.ArrayLike) -> FloatArray:
        """Probability of at most x, elementwise.

        Parameters
        ----------
        x : points

        Returns
        -------
        probabilities, elementwise

        Examples
        --------
        >>> Uniform().cdf([0.2, 0.7]).tolist()
        [0.2, 0.7]
        """
        # Moments are of half-open intervals; the next number above x includes an atom at x.
        return self.moment(0, -np.inf, np.nextafter(_check.reals("x", x), np.inf))

    @property
    def mean(self) -> float:
        """The expected value."""
        return float(self.moment(1, -np.inf, np.inf))


@record
class Uniform(Distribution):
    """All values between low and high are equally likely.

    Parameters
    ----------
    low : lower limit
    high : upper limit

    Examples
    --------
    >>> float(Uniform().moment(1, 0, 0.5))
    0.125
    """

    low: float = 0.0
    high: float = 1.0

    def __post_init__(self) -> None:
        low = _check.number("low", self.low, low=0, high=1)
        high = _check.number("high", self.high, low=0, high=1)
        if not low < high:
            raise InputError(
                f"low must be less than high; got {low:g} and {high:g}. "
                f"Point(value) is the distribution of a single value."
            )
        self._fill({"low": low, "high": high})

    def moment(self, order: int, low: npt.ArrayLike, high: npt.ArrayLike) -> FloatArray:
        """Powers of the bounds of the interval.

        Examples
        --------
        >>> float(Uniform(0, 0.5).moment(0, 0, 0.25))
        0.5
        """
        left = np.clip(low, self.low, self.high)
        right = np.clip(high, left, self.high)
        # right**(k+1) - left**(k+1) has the factor right - left: taken out, nothing cancels.
        area = np.asarray(right - left)
        area *= 1.0 / ((order + 1) * (self.high - self.low))
        if order:
            total, power = left + right, right
            for _ in range(order - 1):
                power = power * right
                total = left * total + power
            area *= total
        return area

    def upper_moment(self, low: npt.ArrayLike) -> FloatArray:  # noqa: D102
        _check.real_numbers("low", low)
        left = np.clip(low, self.low, self.high)
        area = np.asarray(self.high - left)
        area *= (1 - left) + (1 - self.high)
        area /= 2 * (self.high - self.low)
        return area


@record
class Beta(Distribution):
    r"""Density proportional to :math:`x^{a-1} (1-x)^{b-1}`; Hand (2009) proposed Beta(2, 2).

    Parameters
    ----------
    a : first exponent, plus one
    b : second exponent, plus one

    Examples
    --------
    >>> Beta(2, 2).mean
    0.5
    >>> Beta.hand([0.75, 0.25])
    Beta(a=1.25, b=1.75)
    """

    a: float
    b: float

    def __post_init__(self) -> None:
        a, b = _check.number("a", self.a), _check.number("b", self.b)
        if not (min(a, b) >= _LEAST and max(a, b) <= _GREATEST):
            raise InputError(
                f"a and b must be positive, between {_LEAST:g} and {_GREATEST:g}; got {a:g} and "
                f"{b:g}. Beta(1, 1) is flat; Point(value) is a single value."
            )
        self._fill({"a": a, "b": b})

    @classmethod
    def hand(cls, prior: npt.ArrayLike) -> Beta:
        r"""Beta(1 + π₁, 1 + π₀), which peaks at the share π₁ of positives; prior is (π₀, π₁).

        Parameters
        ----------
        prior : (π₀, π₁) class shares

        Returns
        -------
        the distribution

        Examples
        --------
        >>> Beta.hand([0.75, 0.25])
        Beta(a=1.25, b=1.75)
        """
        negative, positive = _check.prior("prior", prior, (0, 1)).tolist()
        return cls(1 + positive, 1 + negative)

    @classmethod
    def severity(cls, prior: npt.ArrayLike) -> Beta:
        r"""Beta(2, 1 + π₀/π₁), the default of the R package hmeasure; prior is (π₀, π₁).

        Parameters
        ----------
        prior : (π₀, π₁) class shares

        Returns
        -------
        the distribution

        Examples
        --------
        >>> Beta.severity([0.75, 0.25])
        Beta(a=2.0, b=4.0)
        """
        negative, positive = _check.prior("prior", prior, (0, 1)).tolist()
        if not positive > 0:
            raise InputError(
                "prior must give the second class a positive share; it is 0. "
                "Without positives no miss can be weighed against false alarms."
            )
        return cls(2.0, 1 + negative / positive)

    def moment(self, order: int, low: npt.ArrayLike, high: npt.ArrayLike) -> FloatArray:
        """Incomplete beta functions with a raised by the order.

        Examples
        --------
        >>> float(Beta(2, 2).moment(1, 0, 1))
        0.5
        """
        from scipy.special import betainc

        # x**k times the density of Beta(a, b) is a constant times that of Beta(a + k, b).
        factor = np.prod([(self.a + i) / (self.a + self.b + i) for i in range(order)])
        a, b = self.a + order, self.b
        left = np.clip(low, 0.0, 1.0)
        right = np.maximum(np.clip(high, 0.0, 1.0), left)
        above = left > a / (a + b)  # there, differences of upper tails keep their digits
        p, q = np.where(above, b, a), np.where(above, a, b)
        more, less = np.where(above, 1 - left, right), np.where(above, 1 - right, left)
        return np.asarray(factor * (betainc(p, q, more) - betainc(p, q, less)))

    def upper_moment(self, low: npt.ArrayLike) -> FloatArray:  # noqa: D102
        _check.real_numbers("low", low)
        from scipy.special import betaincc

        share = self.b / (self.a + self.b)
        return np.asarray(share * betaincc(self.a, self.b + 1, np.clip(low, 0.0, 1.0)))


class _Atoms(Distribution):
    """Finitely many values in increasing order."""

    @abstractmethod
    def _atoms(self) -> tuple[FloatArray, FloatArray]:
        """Values and their probabilities."""

    @cached_property
    def _below(self) -> FloatArray:
        """Moments (3, m + 1) of order 0, 1 and 2 over the first 0, 1, ... m values."""
        values, probabilities = self._atoms()
        terms = probabilities * np.stack([np.ones_like(values), values, values**2])
        # Sums of the sorted values answer every interval by a difference of two of them.
        sums = running_sum(terms)
        return np.pad(sums / sums[0, -1], ((0, 0), (1, 0)))  # the probabilities sum to one

    def moment(self, order: int, low: npt.ArrayLike, high: npt.ArrayLike) -> FloatArray:
        """Sum over the values in the interval."""
        values, below = self._atoms()[0], self._below[order]
        first = np.searchsorted(values, low, side="left")
        last = np.maximum(np.searchsorted(values, high, side="left"), first)
        return np.asarray(below[last] - below[first])

    def upper_moment(self, low: npt.ArrayLike) -> FloatArray:
        _check.real_numbers("low", low)
        values, probabilities = self._atoms()
        above = np.append(running_sum((probabilities * (1 - values))[::-1])[::-1], 0.0)
        return np.asarray(above[np.searchsorted(values, low, side="left")] / probabilities.sum())


@record
class Point(Distribution):
    """A single value: the costs are known.

    Parameters
    ----------
    value : between 0 and 1

    Examples
    --------
    >>> float(Point(0.2).cdf(0.2))
    1.0
    """

    value: float

    def __post_init__(self) -> None:
        self._fill({"value": _check.number("value", self.value, low=0, high=1)})

    def moment(self, order: int, low: npt.ArrayLike, high: npt.ArrayLike) -> FloatArray:
        """Power of the value, if it lies in the interval.

        Examples
        --------
        >>> Point(0.2).moment(1, [0, 0.2], [0.2, 1])
        array([0. , 0.2])
        """
        inside = (np.asarray(low) <= self.value) & (self.value < np.asarray(high))
        return np.asarray(np.where(inside, self.value**order, 0.0))

    def upper_moment(self, low: npt.ArrayLike) -> FloatArray:  # noqa: D102
        _check.real_numbers("low", low)
        return np.asarray(np.where(np.asarray(low) <= self.value, 1 - self.value, 0.0))


@record(init=False)
class Points(_Atoms):
    """Finitely many values with their probabilities, which sum to one.

    Parameters
    ----------
    values : between 0 and 1
    probabilities : of the values; they sum to one

    Examples
    --------
    >>> Points([0.1, 0.5], [0.75, 0.25]).mean
    0.2
    """

    values: FloatArray
    probabilities: FloatArray

    def __init__(self, values: npt.ArrayLike, probabilities: npt.ArrayLike) -> None:
        points = _proportions("values", values)
        chances = _check.prior("probabilities", probabilities, tuple(range(points.size)))
        order = np.argsort(points, kind="stable")
        self._fill({"values": points[order], "probabilities": chances[order]})

    def _atoms(self) -> tuple[FloatArray, FloatArray]:
        return self.values, self.probabilities


@record(init=False)
class Sample(_Atoms):
    """Draws from a distribution without a formula, each with a weight (ones when None).

    Parameters
    ----------
    draws : between 0 and 1
    weights : of the draws; None for equal ones

    Examples
    --------
    >>> Sample([0.1, 0.3, 0.8]).mean
    0.4
    """

    draws: FloatArray
    weights: FloatArray

    def __init__(self, draws: npt.ArrayLike, weights: npt.ArrayLike | None = None) -> None:
        points = _proportions("draws", draws)
        share = _check.weights("weights", weights, points.size, of="draws")
        order = np.argsort(points, kind="stable")
        self._fill({"draws": points[order], "weights": share[order] / share.sum()})

    def _atoms(self) -> tuple[FloatArray, FloatArray]:
        return self.draws, self.weights


@record(init=False)
class Mixture(Distribution):
    """One of several distributions, each with its probability.

    Parameters
    ----------
    distributions : the parts
    probabilities : of the parts; they sum to one

    Examples
    --------
    >>> Mixture([Uniform(0, 0.2), Point(0.5)], [0.5, 0.5]).mean
    0.3
    """

    distributions: tuple[Distribution, ...]
    probabilities: FloatArray

    def __init__(self, distributions: Sequence[Distribution], probabilities: npt.ArrayLike) -> None:
        if not isinstance(distributions, Sequence) or not distributions:
            raise InputError(
                f"distributions must be a list of them; got {_check.described(distributions)}. "
                f"Write [Uniform(), Point(0.5)]."
            )
        parts = tuple(as_distribution("distributions", part) for part in distributions)
        chances = _check.prior("probabilities", probabilities, tuple(range(len(parts))))
        self._fill({"distributions": parts, "probabilities": chances})

    def moment(self, order: int, low: npt.ArrayLike, high: npt.ArrayLike) -> FloatArray:
        """Weighted mean of the moments of the parts.

        Examples
        --------
        >>> float(Mixture([Point(0.2), Point(0.6)], [0.5, 0.5]).moment(0, 0, 0.5))
        0.5
        """
        return self._weighted(part.moment(order, low, high) for part in self.distributions)

    def upper_moment(self, low: npt.ArrayLike) -> FloatArray:  # noqa: D102
        return self._weighted(part.upper_moment(low) for part in self.distributions)

    def _weighted(self, parts: Iterable[FloatArray]) -> FloatArray:
        return np.asarray(sum(p * part for p, part in zip(self.probabilities, parts, strict=True)))


@record
class Truncated(Distribution):
    """A distribution, given that the value lies between low and high, both included.

    Parameters
    ----------
    distribution : what to truncate
    low : lower limit
    high : upper limit

    Examples
    --------
    >>> Truncated(Uniform(), 0, 0.5).mean
    0.25
    """

    distribution: Distribution
    low: float
    high: float

    def __post_init__(self) -> None:
        distribution = as_distribution("distribution", self.distribution)
        low = _check.number("low", self.low, low=0, high=1)
        high = _check.number("high", self.high, low=low, high=1)
        parts = {"distribution": distribution, "low": low, "high": high}
        self._fill(parts)
        if not self._mass > _LEAST_MASS:
            raise InputError(
                f"low and high must enclose some probability; {distribution!r} has almost none "
                f"in [{low:g}, {high:g}]. Widen the interval, or use Point."
            )

    @property
    def _mass(self) -> float:
        return float(self.distribution.moment(0, self.low, np.nextafter(self.high, np.inf)))

    def moment(self, order: int, low: npt.ArrayLike, high: npt.ArrayLike) -> FloatArray:
        """Moment within the limits, divided by the probability between them.

        Examples
        --------
        >>> round(float(Truncated(Uniform(), 0, 0.5).moment(0, 0, 0.25)), 9)
        0.5
        """
        # The upper limit belongs to the distribution, though intervals are open there.
        top = np.nextafter(self.high, np.inf)
        left = np.clip(low, self.low, top)
        right = np.maximum(np.clip(high, self.low, top), left)
        mass = self.distribution.moment(0, left, right)
        inside = self.distribution.moment(order, left, right)
        # In a narrow interval the difference of two tails loses digits, but not these bounds.
        return np.clip(inside, left**order * mass, right**order * mass) / self._mass

    def upper_moment(self, low: npt.ArrayLike) -> FloatArray:  # noqa: D102
        _check.real_numbers("low", low)
        top = np.nextafter(self.high, np.inf)
        moment = self.distribution.upper_moment
        return (moment(np.clip(low, self.low, top)) - moment(top)) / self._mass


@record
class Continuous(Distribution):
    """A frozen SciPy distribution with a density on [0, 1]; its moments come from quadrature.

    Conditions, `Mixture` and `Truncated` take frozen SciPy distributions as they are.

    Parameters
    ----------
    frozen : such as ``scipy.stats.beta(2, 5)``

    Examples
    --------
    >>> from scipy import stats
    >>> round(float(Continuous(stats.triang(0.5)).moment(2, 0, 1)), 12)
    0.291666666667
    """

    frozen: Any

    def __post_init__(self) -> None:
        if not _is_frozen(self.frozen):
            raise InputError(
                f"frozen must be a frozen SciPy distribution with a density; got "
                f"{type(self.frozen).__name__}. Write Continuous(scipy.stats.beta(2, 3))."
            )
        low, high = (float(bound) for bound in self.frozen.support())
        if not (low >= 0 and high <= 1):
            raise InputError(
                f"distribution must lie on [0, 1]; its support is [{low:g}, {high:g}]. "
                f"Truncate or rescale it first, for example with scipy.stats.truncnorm."
            )

    def moment(self, order: int, low: npt.ArrayLike, high: npt.ArrayLike) -> FloatArray:
        """Moment from the CDF, through integration by parts and adaptive quadrature.

        Examples
        --------
        >>> from scipy import stats
        >>> round(float(Continuous(stats.beta(2, 2)).moment(1, 0, 1)), 9)
        0.5
        """
        _check.real_numbers("low", low)
        from scipy.integrate import quad_vec

        left, right = np.broadcast_arrays(np.clip(low, 0.0, 1.0), np.clip(high, 0.0, 1.0))
        width = np.maximum(right - left, 0.0)
        below = self.frozen.cdf(left)
        mass = np.where(width > 0, self.frozen.cdf(right) - below, 0.0)
        if order == 0 or not mass.size:  # quadrature needs a value
            return np.asarray(mass)

        # By parts: the CDF is bounded, whereas a density may be infinite at the limits.
        def excess(share: float) -> FloatArray:
            x = left + share * width
            return np.asarray(width * order * x ** (order - 1) * (self.frozen.cdf(x) - below))

        area, _ = quad_vec(excess, 0.0, 1.0, epsabs=1e-14, epsrel=1e-12, norm="max")
        return np.asarray(right**order * mass - area)


def _is_frozen(distribution: Any) -> bool:
    """Whether this is a frozen SciPy distribution with a density, which counts do not have."""
    return all(
        callable(getattr(distribution, method, None)) for method in ("cdf", "pdf", "support")
    )


def as_distribution(name: str, distribution: Any) -> Distribution:
    """A `Distribution` as it is; a frozen SciPy distribution wrapped in `Continuous`."""
    if isinstance(distribution, Distribution):
        return distribution
    if _is_frozen(distribution):
        return Continuous(distribution)
    raise InputError(
        f"{name} must be a distribution on [0, 1]; got {distribution!r}. Pass Uniform(), "
        f"Beta(a, b), Point(value), another of stakes.conditions, or a frozen SciPy distribution."
    )


def _proportions(name: str, values: npt.ArrayLike) -> FloatArray:
    array = _check.floats(name, values, ndim=1)
    bad = np.flatnonzero(~((array >= 0) & (array <= 1)))
    if bad.size or not array.size:
        evidence = f"{array[bad[0]]:g} at position {bad[0]}" if bad.size else "none at all"
        raise InputError(
            f"{name} must hold numbers in [0, 1]; got {evidence}. "
            f"A cost proportion is false-alarm cost / (false-alarm cost + miss cost)."
        )
    return array


# -------------------------------------------------------------------------------------------------
# Conditions: what a distribution on [0, 1] is about, cost proportions or skews; conversions.
#
# Conversions between the words of several fields work elementwise and come in pairs that undo each
# other. The cost proportion c = c_FA / (c_FA + c_miss) is the clinician's threshold
# probability; the skew also includes the prevalence. Here a false alarm costs c, a miss 1 − c, and
# a right decision nothing.


@record
class Condition(Value, ABC):
    """Which quantity a distribution is about; see `CostProportions` and `Skews`.

    Examples
    --------
    Skews allow for the class shares themselves, so that losses are those of balanced classes:

    >>> from stakes import CostProportions, ScoreTable, Skews
    >>> table = ScoreTable([0.2, 0.7], [[3, 0], [1, 1]])
    >>> [over.population(table).shares.tolist() for over in (CostProportions, Skews)]
    [[0.8, 0.2], [0.5, 0.5]]
    """

    distribution: Distribution = field(default_factory=Uniform)

    def __post_init__(self) -> None:
        self._fill({"distribution": as_distribution("distribution", self.distribution)})

    @classmethod
    @abstractmethod
    def population(cls, table: ScoreTable) -> ScoreTable:
        """Return the table whose class shares enter the losses.

        Parameters
        ----------
        table : distinct scores and the weight of each class at them

        Returns
        -------
        the same scores, with the class shares that the condition assumes

        Examples
        --------
        >>> from stakes.tally import ScoreTable
        >>> Skews().population(ScoreTable([0.2, 0.7], [[3, 0], [1, 1]])).shares.tolist()
        [0.5, 0.5]
        """


@record
class CostProportions(Condition):
    r"""The cost proportion is uncertain, the class shares are those of the table.

    .. math:: Q(t; c) = 2\{c\,\pi_0\,FPR(t) + (1-c)\,\pi_1\,FNR(t)\}

    The factor 2 makes the loss at c = 1/2 the error rate (hernandez-orallo, eq 3).

    Parameters
    ----------
    distribution : distribution of c; uniform unless stated

    Examples
    --------
    >>> CostProportions(Uniform(0, 0.2)).distribution.mean  # a miss costs at least four alarms
    0.1
    """

    @classmethod
    def population(cls, table: ScoreTable) -> ScoreTable:
        """Return the table as it is."""
        return table

    @classmethod
    def of(cls, problem: Problem) -> CostProportions:
        """The cost proportion of a problem with two classes and two decisions.

        Parameters
        ----------
        problem : two classes and two decisions

        Returns
        -------
        the condition, a single point

        Examples
        --------
        >>> CostProportions.of(Problem.binary(false_alarm=1, miss=9)).distribution
        Point(value=0.1)
        """
        _check.require("problem", problem, Problem)
        if not 0 <= problem.threshold <= 1:
            raise InputError(
                f"problem must weigh false alarms against misses; its threshold is "
                f"{problem.threshold:g}, so that one decision is always right. Take that decision; "
                f"no scores are needed."
            )
        return cls(Point(problem.threshold))

    @classmethod
    def from_costs(cls, false_alarm: npt.ArrayLike, miss: npt.ArrayLike) -> CostProportions:
        r"""The cost proportions of draws of both costs, weighted by the sums of the costs.

        Where costs are high, losses count for more: the expected loss in the unit of the costs is
        half the mean sum of both costs times the expected loss under this condition
        (hernandez-orallo, appendix A). A draw in which both costs are zero does not count.

        Parameters
        ----------
        false_alarm : draws of the cost of a false alarm
        miss : draws of the cost of a miss

        Returns
        -------
        the condition

        Examples
        --------
        The first draw has costs of 10 and 1, the second of 5 and 50. Proportions are listed in
        increasing order; the second draw comes first and weighs five times as much:

        >>> condition = CostProportions.from_costs([10, 5], [1, 50])
        >>> [round(float(w), 4) for w in condition.distribution.weights]
        [0.8333, 0.1667]
        """
        alarms = _check.non_negative("false_alarm", false_alarm, ndim=1)
        misses = _check.non_negative("miss", miss, ndim=1)
        _check.same_length(false_alarm=alarms, miss=misses)
        with np.errstate(over="ignore"):
            magnitude = alarms + misses
            total = float(magnitude.sum())
        if total and not 1e-150 < total < 1e150:
            raise InputError(
                f"false_alarm and miss must have a total between 1e-150 and 1e+150; it is "
                f"{total:g}. Choose another unit.",
                argument="false_alarm",
            )
        positive = magnitude > 0
        if not positive.any():
            raise InputError(
                f"false_alarm and miss must not be zero in every draw; all {positive.size} are. "
                f"Without costs nothing is at stake."
            )
        return cls(Sample(alarms[positive] / magnitude[positive], magnitude[positive]))


@record
class Skews(Condition):
    r"""Cost proportion and class shares are uncertain together, through the skew.

    .. math:: Q_z(t; z) = z\,FPR(t) + (1-z)\,FNR(t)

    This is `CostProportions` on a table whose classes have equal shares (hernandez-orallo,
    lemma 2). Rates, such as the share of positive decisions, are those of that population.

    Parameters
    ----------
    distribution : distribution of z; uniform unless stated

    Examples
    --------
    >>> Skews().distribution
    Uniform(low=0.0, high=1.0)
    """

    @classmethod
    def population(cls, table: ScoreTable) -> ScoreTable:
        """Return the table with equal class shares."""
        _check.require("table", table, ScoreTable)
        return table.with_prior([0.5, 0.5])


# Conversions -------------------------------------------------------------------------------------


def skew_from_cost_proportion(cost_proportion: npt.ArrayLike, prevalence: npt.ArrayLike) -> Numbers:
    r"""The skew :math:`z = c\pi_0 / (c\pi_0 + (1-c)\pi_1)`; nan where nothing is at stake.

    Parameters
    ----------
    cost_proportion : cost of a false alarm over the sum of both mistakes, c
    prevalence : share of positives

    Returns
    -------
    skew, elementwise

    Examples
    --------
    >>> float(skew_from_cost_proportion(0.1, prevalence=0.1))
    0.5
    """
    false_alarm, miss = _blind_costs(cost_proportion, prevalence)
    return ratio(false_alarm, false_alarm + miss)


def cost_proportion_from_skew(skew: npt.ArrayLike, prevalence: npt.ArrayLike) -> Numbers:
    r"""The cost proportion :math:`c = z\pi_1 / (z\pi_1 + (1-z)\pi_0)` of a skew.

    nan where every cost proportion has this skew: 1 at prevalence 0, and 0 at prevalence 1.

    Parameters
    ----------
    skew : the cost proportion combined with the class shares, z
    prevalence : share of positives

    Returns
    -------
    cost proportion, elementwise

    Examples
    --------
    >>> float(cost_proportion_from_skew(0.5, prevalence=0.1).round(9))
    0.1
    """
    z, positive = _check.probabilities("skew", skew), _check.probabilities("prevalence", prevalence)
    _check.elementwise(skew=z, prevalence=positive)
    return ratio(z * positive, z * positive + (1 - z) * (1 - positive))


def cost_from_net_benefit(
    net_benefit: npt.ArrayLike, cost_proportion: npt.ArrayLike, prevalence: npt.ArrayLike
) -> Numbers:
    r"""Expected cost :math:`(1 - c)(\pi_1 - NB)` per case (ferrer-ec, eq 27).

    Parameters
    ----------
    net_benefit : true positives per case, net of false alarms
    cost_proportion : cost of a false alarm over the sum of both mistakes, c
    prevalence : share of positives, π₁

    Returns
    -------
    expected cost, elementwise

    Examples
    --------
    Treating nobody misses everybody who is ill:

    >>> float(cost_from_net_benefit(0.0, 0.2, prevalence=0.1).round(9))
    0.08
    """
    c, positive = _checked(cost_proportion, prevalence)
    benefit = _check.floats("net_benefit", net_benefit)
    _check.elementwise(net_benefit=benefit, cost_proportion=c, prevalence=positive)
    return unwrapped((1 - c) * (positive - benefit))


def net_benefit_from_cost(
    cost: npt.ArrayLike, cost_proportion: npt.ArrayLike, prevalence: npt.ArrayLike
) -> Numbers:
    r"""Net benefit :math:`\pi_1 - EC / (1 - c)` of an expected cost; undefined at c = 1.

    Parameters
    ----------
    cost : expected cost per case
    cost_proportion : cost of a false alarm over the sum of both mistakes, c
    prevalence : share of positives

    Returns
    -------
    net benefit, elementwise

    Examples
    --------
    >>> float(net_benefit_from_cost(0.0, 0.2, prevalence=0.1).round(9))
    0.1
    """
    c, positive = _checked(cost_proportion, prevalence)
    costs = _check.floats("cost", cost)
    _check.elementwise(cost=costs, cost_proportion=c, prevalence=positive)
    per_miss = ratio(costs, np.where(c < 1, 1 - c, np.nan))
    return unwrapped(positive - per_miss)


def relative_value_from_net_benefit(
    net_benefit: npt.ArrayLike, cost_proportion: npt.ArrayLike, prevalence: npt.ArrayLike
) -> Numbers:
    r"""Relative economic value: the share of what a perfect forecast would save that is saved.

    .. math:: 1 - \frac{(1 - c)(\pi_1 - NB)}{\min(c\pi_0,\, (1-c)\pi_1)}

    One is perfect; zero is as good as the better of treating everybody and treating nobody.
    Meteorologists draw it over the cost-loss ratio, which is c. Where treating everybody or nobody
    is already perfect, it is nan, or -inf for a net benefit that is less than perfect.

    Parameters
    ----------
    net_benefit : true positives per case, net of false alarms
    cost_proportion : cost of a false alarm over the sum of both mistakes, c
    prevalence : share of positives

    Returns
    -------
    relative value, elementwise

    Examples
    --------
    >>> float(relative_value_from_net_benefit(0.06, 0.1, prevalence=0.1).round(3))
    0.6
    """
    naive = np.minimum(*_blind_costs(cost_proportion, prevalence))
    cost = cost_from_net_benefit(net_benefit, cost_proportion, prevalence)
    return unwrapped(1 - ratio(cost, naive))


def net_benefit_from_relative_value(
    relative_value: npt.ArrayLike, cost_proportion: npt.ArrayLike, prevalence: npt.ArrayLike
) -> Numbers:
    """The net benefit of a relative economic value; undefined at c = 1.

    Parameters
    ----------
    relative_value : share of what perfect decisions would save
    cost_proportion : cost of a false alarm over the sum of both mistakes, c
    prevalence : share of positives

    Returns
    -------
    net benefit, elementwise

    Examples
    --------
    >>> float(net_benefit_from_relative_value(0.6, 0.1, prevalence=0.1).round(3))
    0.06
    """
    naive = np.minimum(*_blind_costs(cost_proportion, prevalence))
    lost = 1 - _check.floats("relative_value", relative_value)
    _check.elementwise(relative_value=lost, cost_proportion=naive)
    return net_benefit_from_cost(lost * naive, cost_proportion, prevalence)


def _checked(
    cost_proportion: npt.ArrayLike, prevalence: npt.ArrayLike
) -> tuple[FloatArray, FloatArray]:
    c = _check.probabilities("cost_proportion", cost_proportion)
    positive = _check.probabilities("prevalence", prevalence)
    _check.elementwise(cost_proportion=c, prevalence=positive)
    return c, positive


def _blind_costs(
    cost_proportion: npt.ArrayLike, prevalence: npt.ArrayLike
) -> tuple[FloatArray, FloatArray]:
    """What treating everybody costs, and what treating nobody costs."""
    c, positive = _checked(cost_proportion, prevalence)
    return np.asarray(c * (1 - positive)), np.asarray((1 - c) * positive)
