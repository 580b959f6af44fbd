"""How often a metric ranks two classifiers in the wrong order, by simulation and exactly."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import pairwise
from math import sqrt
from typing import TypedDict

import numpy as np

from stakes import _check
from stakes._arithmetic import mean_defined, ratio
from stakes._check import BoolArray, FloatArray, IntArray, Labels
from stakes._text import html_table, text_table
from stakes._value import Value, record
from stakes.audit.utility_space import (
    Metric,
    ModelTables,
    NormalUtilities,
    UniformUtilities,
    UtilityDistribution,
    by_position,
    of_each,
    picked,
    read_model_tables,
)
from stakes.errors import InputError
from stakes.measures import decision_rates
from stakes.problem import Problem
from stakes.tally import Counts

# How often a metric ranks two classifiers in the wrong order, by simulation ----------------------
#
# Utilities, a class share and two classifiers are drawn; the utilities and the metric say which
# classifier is better; the disagreements are counted (dyrland, section 4.2). All metrics see the
# same draws. `exact_misranking` computes the value for metrics that are linear at each class
# share.
#
# A sampler is any callable; those here also have the densities that an exact value needs. The two
# settings of dyrland, section 4.2, are `uniform_setting` and `gaussian_setting`.

#: ``(rng, n)`` → utility matrices (n, 2, 2), rows classes.
UtilitySampler = Callable[["np.random.Generator", int], FloatArray]
#: ``(rng, (n,))`` → shares of the positive class.
ShareSampler = Callable[["np.random.Generator", tuple[int, ...]], FloatArray]
#: ``(rng, (2, 2, n))`` → the rate at which each model (first axis) is right about each class.
RateSampler = Callable[["np.random.Generator", tuple[int, ...]], FloatArray]
#: ``(rng, utilities)`` → the utilities as somebody assessed them; both (n, classes, decisions).
ErrorSampler = Callable[["np.random.Generator", FloatArray], FloatArray]


class Setting(TypedDict):
    """Arguments of `misranking` and `exact_misranking` that say which distributions to study.

    Examples
    --------
    >>> from stakes.audit import FAMILIAR, UniformUtilities, exact_misranking
    >>> setting = Setting(
    ...     utilities=UniformUtilities(), class_share=UniformShares(), rates=RisingRates())
    >>> round(exact_misranking(FAMILIAR["accuracy"], **setting), 4)
    0.0877
    """

    utilities: UtilitySampler
    class_share: ShareSampler
    rates: RateSampler


class ShareDistribution(Value, ABC):
    """Shares of the positive class, with their density.

    An exact value needs a density that an adaptive rule can resolve between the bounds of the
    support: bounded, and smooth but for a few kinks. Others are refused there.

    Examples
    --------
    Shares that are small more often than not:

    >>> class MostlyRare(ShareDistribution):
    ...     def __call__(self, rng, size):
    ...         return rng.beta(1, 2, size)
    ...     def density(self, share):
    ...         return 2 * (1 - share)
    >>> MostlyRare().density(np.array([0.1, 0.9])).round(6), MostlyRare().support
    (array([1.8, 0.2]), (0.0, 1.0))
    """

    @property
    def support(self) -> tuple[float, float]:
        """Shares between which the density is positive; it must be stated for narrow densities."""
        return 0.0, 1.0

    @abstractmethod
    def __call__(self, rng: np.random.Generator, size: tuple[int, ...]) -> FloatArray:
        """Draw shares in [0, 1]."""

    @abstractmethod
    def density(self, share: FloatArray) -> FloatArray:
        """Density at each share in (0, 1).

        Parameters
        ----------
        share : shares of the positive class

        Returns
        -------
        densities, elementwise

        Examples
        --------
        >>> UniformShares().density(np.array([0.2, 0.7]))
        array([1., 1.])
        """


@record
class UniformShares(ShareDistribution):
    """All shares of the positive class equally likely (dyrland, section 4.2).

    Examples
    --------
    >>> shares = UniformShares()(np.random.default_rng(0), (10_000,))
    >>> round(float(shares.mean()), 2), UniformShares().density(np.array([0.1, 0.9]))
    (0.5, array([1., 1.]))
    """

    def __call__(self, rng: np.random.Generator, size: tuple[int, ...]) -> FloatArray:
        """Draw shares in [0, 1]."""
        return rng.random(size)

    def density(self, share: FloatArray) -> FloatArray:  # noqa: D102
        return np.ones_like(share)


class RateDistribution(Value, ABC):
    """Rates of right decisions, independent and identically distributed over models and classes.

    Examples
    --------
    Either of two gaps is as likely to be the larger one, and so for any ratio and its inverse:

    >>> low, high = RisingRates().gap_ratio_cdf(np.array([0.5, 2.0]))
    >>> round(float(low + high), 6)
    1.0
    """

    @abstractmethod
    def __call__(self, rng: np.random.Generator, size: tuple[int, ...]) -> FloatArray:
        """Draw rates in [0, 1]."""

    @abstractmethod
    def gap_ratio_cdf(self, ratio: FloatArray) -> FloatArray:
        """Probability that the gap of two rates is at most `ratio` times the gap of two others.

        Parameters
        ----------
        ratio : ratios of gaps

        Returns
        -------
        probabilities, elementwise

        Examples
        --------
        >>> RisingRates().gap_ratio_cdf(np.array([0.5, 1.0])).round(3)
        array([0.301, 0.5  ])
        """


@record
class RisingRates(RateDistribution):
    r"""Rates in [½, 1] with density 8(r − ½): classifiers tend to be good (dyrland, section 3.3).

    Examples
    --------
    The gap of one pair is the larger one as often as not:

    >>> float(RisingRates().gap_ratio_cdf(np.array(1.0)))
    0.5
    """

    def __call__(self, rng: np.random.Generator, size: tuple[int, ...]) -> FloatArray:
        """Draw by inverting the distribution function, 4(r − ½)²."""
        rates = rng.random(size)
        np.sqrt(rates, out=rates)
        rates += 1
        rates /= 2
        return rates

    def gap_ratio_cdf(self, ratio: FloatArray) -> FloatArray:
        """Integrate the gap's density (4/3)(2 − 3d + d³), d in units of ½, against its CDF.

        Examples
        --------
        >>> RisingRates().gap_ratio_cdf(np.array([0.5, 2.0])).round(3)
        array([0.301, 0.699])
        """
        below = np.minimum(ratio, 1)
        with np.errstate(divide="ignore"):
            above = np.minimum(1 / ratio, 1)
        return np.where(ratio <= 1, _rising_gap_ratio(below), 1 - _rising_gap_ratio(above))


def _rising_gap_ratio(ratio: FloatArray) -> FloatArray:
    return np.asarray(ratio * (32 / 45 - ratio * (2 / 9 - ratio * ratio / 90)))


@record
class AssessmentError(Value):
    """Normal errors in assessed utilities, as a share of the largest difference between them.

    Utilities are in [0, 1], as `Problem.rescaled` makes them. Every utility gets an independent
    error. Values outside [0, 1], and classes whose best decision is no longer the best, are drawn
    again (dyrland, section 4.2). sd = 0.1 means "10 % error"; because of this rejection the actual
    standard deviation is smaller.

    Parameters
    ----------
    sd : standard deviation, as a share of the largest difference

    Examples
    --------
    >>> identity = np.eye(2)[None]
    >>> assessed = AssessmentError(sd=0.1)(np.random.default_rng(1), identity)
    >>> bool(assessed.min() >= 0 and assessed.max() <= 1)
    True
    """

    sd: float

    def __post_init__(self) -> None:
        _check.number("sd", self.sd, low=0)

    def __call__(self, rng: np.random.Generator, utilities: FloatArray) -> FloatArray:
        """Draw assessed utilities of the same shape (n, K, M)."""
        if np.ndim(utilities) != 3:
            raise InputError(
                f"utilities must be many matrices, of shape (n, K, M); the shape is "
                f"{np.shape(utilities)}. One matrix is utilities[None]."
            )
        if not (np.min(utilities, initial=0) >= 0 and np.max(utilities, initial=0) <= 1):
            raise InputError(
                f"utilities must lie in [0, 1] to be assessed with an error; they run from "
                f"{np.min(utilities):g} to {np.max(utilities):g}. Use Problem.rescaled first."
            )
        n_draws, n_classes, n_decisions = utilities.shape
        # One column for each class of each matrix, because the condition is about one class only.
        true = np.moveaxis(utilities, 0, -1).swapaxes(0, 1).reshape(n_decisions, -1)
        best = true == true.max(axis=0)
        assessed = self._candidates(rng, true)
        again = np.flatnonzero(~_keeps_order(best, assessed))
        true, best = true.take(again, axis=1), best.take(again, axis=1)
        while again.size:
            candidates = self._candidates(rng, true)
            bad = ~_keeps_order(best, candidates)
            assessed[:, again] = candidates  # the bad ones are overwritten in the next round
            again, true, best = again[bad], true.compress(bad, axis=1), best.compress(bad, axis=1)
        cells = assessed.reshape(n_decisions, n_classes, n_draws)
        return np.moveaxis(cells, (0, 1, 2), (2, 1, 0))

    def _candidates(self, rng: np.random.Generator, true: FloatArray) -> FloatArray:
        """Normals about the truth, truncated to [0, 1] by rejection."""
        proposed = self._thinned if self.sd >= 1 else self._cut
        centre = true.ravel()
        assessed, accepted = proposed(rng, centre)
        again = np.flatnonzero(~accepted)
        while again.size:
            assessed[again], accepted = proposed(rng, centre.take(again))
            again = again[~accepted]
        return assessed.reshape(true.shape)

    def _cut(self, rng: np.random.Generator, true: FloatArray) -> tuple[FloatArray, BoolArray]:
        """Normals, and which of them lie in [0, 1]."""
        error = rng.standard_normal(true.shape)
        error *= self.sd
        # About 0 and 1, half of the normals would be rejected: only the inner half is drawn.
        inwards = 0.5 - true
        at_the_edge = np.abs(inwards) == 0.5
        drawn = true + np.where(at_the_edge, np.copysign(error, inwards), error)
        return drawn, np.asarray(np.abs(drawn - 0.5) <= 0.5)

    def _thinned(self, rng: np.random.Generator, true: FloatArray) -> tuple[FloatArray, BoolArray]:
        """Uniform numbers, and which of them the normal density accepts: at least three in five."""
        drawn = rng.random(true.shape)
        height = np.exp(-0.5 * ((drawn - true) / self.sd) ** 2)
        return drawn, np.asarray(rng.random(true.shape) < height)


def _keeps_order(best: BoolArray, assessed: FloatArray) -> BoolArray:
    """Whether no entry of a column (M,) is above the best one."""
    top = np.where(best, assessed, -np.inf).max(axis=0)
    return np.asarray((assessed <= top).all(axis=0))


def uniform_setting() -> Setting:
    """The first setting of dyrland, section 4.2: utilities uniform on the hexagon.

    Returns
    -------
    arguments for `misranking`

    Examples
    --------
    >>> sorted(uniform_setting())
    ['class_share', 'rates', 'utilities']
    """
    return Setting(utilities=UniformUtilities(), class_share=UniformShares(), rates=RisingRates())


def gaussian_setting() -> Setting:
    """The second setting of dyrland, section 4.2: utilities normal about the identity, sd 1/3.

    Returns
    -------
    arguments for `misranking`

    Examples
    --------
    >>> sorted(gaussian_setting())
    ['class_share', 'rates', 'utilities']
    """
    return Setting(
        utilities=NormalUtilities(1 / 3), class_share=UniformShares(), rates=RisingRates()
    )


def read_errors(name: str, errors: Mapping[str, ErrorSampler]) -> Mapping[str, ErrorSampler]:
    """Errors by name; a single error without a name is refused."""
    if not isinstance(errors, Mapping):
        raise InputError(
            f"{name} must be a mapping from name to error; got {type(errors).__name__}. "
            f"{{'10 % error': AssessmentError(0.1)}} is one, and {{}} stands for none."
        )
    for key, sampler in errors.items():
        if not callable(sampler) or isinstance(sampler, type):
            raise InputError(
                f"{name} must map names to samplers (rng, utilities) → utilities; {key!r} maps to "
                f"{sampler!r}. Use AssessmentError(sd)."
            )
    return errors


# Pairs that are ranked wrongly -------------------------------------------------------------------

_BLOCK = 1 << 15  # pairs drawn at a time, so that memory does not depend on how many are wanted
_SLICE = 1 << 12  # pairs ranked at a time: their tables stay in the processor's cache


@record(repr=False)
class Misranking(Value):
    """How many of the pairs each criterion ranked wrongly.

    Attributes
    ----------
    names : the metrics, then the utilities with errors; Q in all
    together : (Q, Q) pairs that both criteria ranked wrongly; the diagonal has those of each
    undefined : (Q,) pairs for which the criterion was nan, which do not count as wrong
    pairs : how many were drawn

    Examples
    --------
    Of 100 pairs accuracy ranked 20 wrongly, F1 30, and 15 of these were the same:

    >>> study = Misranking(("accuracy", "F1"), np.array([[20, 15], [15, 30]]), np.zeros(2), 100)
    >>> study.wrong, round(study.difference("F1", "accuracy")[0], 6)
    (array([0.2, 0.3]), 0.1)
    """

    names: tuple[str, ...]
    together: IntArray
    undefined: IntArray
    pairs: int

    @property
    def wrong(self) -> FloatArray:
        """Share of the pairs that were ranked wrongly, (Q,)."""
        return np.asarray(np.diagonal(self.together) / self.pairs)

    @property
    def standard_errors(self) -> FloatArray:
        """Standard errors of the shares, (Q,)."""
        return np.sqrt(self.wrong * (1 - self.wrong) / self.pairs)

    def share(self, name: str) -> float:
        """Share of the pairs that one criterion ranked wrongly.

        Parameters
        ----------
        name : name of the criterion

        Returns
        -------
        the share

        Examples
        --------
        >>> study = Misranking(("accuracy", "F1"), np.array([[20, 15], [15, 30]]), np.zeros(2), 100)
        >>> study.share("F1")
        0.3
        """
        return float(self.wrong[self._position(name)])

    def difference(self, name: str, other: str) -> tuple[float, float]:
        """How much more often one criterion errs than another, with the standard error.

        Both saw the same pairs, so that the error is that of a paired difference.

        Parameters
        ----------
        name : name of the criterion
        other : name of the other

        Returns
        -------
        the difference and its standard error

        Examples
        --------
        >>> study = Misranking(("accuracy", "F1"), np.array([[20, 15], [15, 30]]), np.zeros(2), 100)
        >>> [round(number, 4) for number in study.difference("F1", "accuracy")]
        [0.1, 0.0436]
        """
        first, second = self._position(name), self._position(other, "other")
        both = self.together[first, second]
        only_first = (self.together[first, first] - both) / self.pairs
        only_second = (self.together[second, second] - both) / self.pairs
        gap = float(only_first - only_second)
        return gap, sqrt(max(float(only_first + only_second) - gap * gap, 0.0) / self.pairs)

    def columns(self) -> dict[str, list[object]]:
        """What the table shows, by column.

        Returns
        -------
        columns of equal length

        Examples
        --------
        >>> study = Misranking(("accuracy", "F1"), np.array([[20, 15], [15, 30]]), np.zeros(2), 100)
        >>> sorted(study.columns())
        ['criterion', 'standard error', 'undefined', 'wrong']
        """
        return {
            "criterion": list(self.names),
            "wrong": self.wrong.tolist(),
            "standard error": self.standard_errors.tolist(),
            "undefined": (self.undefined / self.pairs).tolist(),
        }

    def _position(self, name: str, argument: str = "name") -> int:
        return _check.one_of(argument, name, self.names, "names")

    def _table(self) -> tuple[list[object], list[list[object]]]:
        order = np.argsort(-self.wrong, kind="stable")
        rows: list[list[object]] = [
            [self.names[q], f"{self.wrong[q]:.2%}", f"{self.standard_errors[q]:.2%}"] for q in order
        ]
        return ["", "wrongly ranked", "standard error"], rows

    def __repr__(self) -> str:
        return f"Misranking of {self.pairs} pairs\n" + text_table(*self._table())

    def _repr_html_(self) -> str:
        return html_table(*self._table(), f"Misranking of {self.pairs} pairs")


def misranking(
    metrics: Mapping[str, Metric],
    *,
    utilities: UtilitySampler,
    class_share: ShareSampler,
    rates: RateSampler,
    error: Mapping[str, ErrorSampler],
    pairs: int,
    rng: np.random.Generator,
    progress: Callable[[int, int], None] | None = None,
) -> Misranking:
    r"""Share of pairs of classifiers that each metric ranks in the wrong order.

    For each pair a utility matrix U is drawn, a share of the positive class, and for both
    classifiers the rates of right decisions within each class; the pair is ranked wrongly when the
    metric and the utility yield :math:`\sum_{kd} U_{kd} C_{kd}` have differences of opposite signs.
    Ties of either are not wrong. Pairs for which the metric is undefined are not wrong either, and
    are counted separately. Reference: dyrland, section 4.2, figures 6 and 7.

    Parameters
    ----------
    metrics : name → metric; `FAMILIAR` is such a mapping
    utilities : ``(rng, n)`` → utility matrices (n, 2, 2), rows classes
    class_share : ``(rng, (n,))`` → shares of the positive class
    rates : ``(rng, (2, 2, n))`` → rates of right decisions, axes model, class, pair
    error : name → ``(rng, utilities)`` → the utilities as they were assessed; may be empty
    pairs : how many pairs to draw; memory does not grow with it
    rng : the generator that draws
    progress : called with the pairs done and the pairs wanted, after each block

    Returns
    -------
    shares of pairs, metric by metric, with their standard errors

    Examples
    --------
    >>> from stakes.audit import FAMILIAR, AssessmentError, uniform_setting
    >>> study = misranking(
    ...     {name: FAMILIAR[name] for name in ("accuracy", "precision")}, **uniform_setting(),
    ...     error={"10 % error": AssessmentError(0.1)}, pairs=20_000, rng=np.random.default_rng(7))
    >>> study.share("10 % error") < study.share("accuracy") < study.share("precision")
    True
    """
    _check.mapping_of("metrics", metrics, Metric)
    _check.a_function("utilities", utilities)
    _check.a_function("class_share", class_share)
    _check.a_function("rates", rates)
    if progress is not None:
        _check.a_function("progress", progress)
    names = tuple(map(str, metrics))
    read_errors("error", error)
    _check.labels("the names of metrics and errors", (*names, *map(str, error)))
    wanted = _check.draws("pairs", pairs, low=1)
    total = len(names) + len(error)
    together, undefined = np.zeros((total, total)), np.zeros(total, dtype=np.intp)
    for start in range(0, wanted, _BLOCK):
        size = min(_BLOCK, wanted - start)
        true = _check.floats("utilities", _drawn("utilities", utilities(rng, size), (size, 2, 2)))
        share = _drawn("class_share", class_share(rng, (size,)), (size,))
        right = _drawn("rates", rates(rng, (2, 2, size)), (2, 2, size))
        share = _check.probabilities("class_share", share)
        right = _check.probabilities("rates", right)
        assessed = [_drawn("error", assess(rng, true), (size, 2, 2)) for assess in error.values()]
        for first in range(0, size, _SLICE):
            part = slice(first, first + _SLICE)
            tables = _tables(share[part], right[..., part])
            gaps = _gaps(metrics, tables, [some[part] for some in (true, *assessed)])
            # Sums of ones in single precision are exact up to 2**24.
            wrong = (gaps[1:] * gaps[0] < 0).astype(np.float32)
            together += wrong @ wrong.T
            undefined += np.count_nonzero(np.isnan(gaps[1:]), axis=1)
        if progress is not None:
            progress(start + size, wanted)
    return Misranking._trusted(
        names=(*names, *map(str, error)),
        together=together.astype(np.intp),
        undefined=undefined,
        pairs=wanted,
    )


def _drawn(name: str, drawn: FloatArray, shape: tuple[int, ...]) -> FloatArray:
    """The draws of a sampler, if they have the requested shape."""
    remedy = "There are two classes here; wrong_picks studies problems of any shape."
    numbers = _check.returned(name, drawn, remedy)
    if numbers.shape != shape:
        raise InputError(
            f"{name} must draw an array of shape {shape}; it drew {numbers.shape}. {remedy}"
        )
    return numbers


def _tables(share: FloatArray, rates: FloatArray) -> FloatArray:
    """Tables of shares (class, decision, model, pair) from shares (n,) and rates (model, class, n).

    The pair comes last, so that metrics run along contiguous columns.
    """
    tables = np.empty((2, 2, 2, share.size))
    for k, class_share in enumerate((1 - share, share)):
        np.multiply(rates[:, k], class_share, out=tables[k, k])
        np.subtract(class_share, tables[k, k], out=tables[k, 1 - k])
    return tables


def _gaps(
    metrics: Mapping[str, Metric], tables: FloatArray, utilities: list[FloatArray]
) -> FloatArray:
    """By how much each criterion prefers the second classifier, one row for each, (1 + Q, n).

    The true utilities, first in the list, make the first row; then the metrics; then the assessed
    utilities.
    """
    size = tables.shape[-1]
    # Both models of all pairs in one tally: each metric is called once.
    counts = Counts._unlabelled(np.moveaxis(tables.reshape(2, 2, 2 * size), -1, 0))
    moved = tables[..., 1, :] - tables[..., 0, :]
    gaps = np.empty((len(metrics) + len(utilities), size))
    gaps[0] = _worth(utilities[0], moved)
    values = of_each(metrics, lambda metric: metric.goodness(counts))
    for row, goodness in enumerate(values, start=1):
        np.subtract(goodness[size:], goodness[:size], out=gaps[row])
    for row, assessed in enumerate(utilities[1:], start=1 + len(metrics)):
        gaps[row] = _worth(assessed, moved)
    return gaps


def _worth(utilities: FloatArray, moved: FloatArray) -> FloatArray:
    """The change in utility yield that a change of the tables (class, decision, pair) makes."""
    return np.asarray(np.einsum("nkd,kdn->n", utilities, moved))


# -------------------------------------------------------------------------------------------------
# The exact share of wrongly ranked pairs, for metrics that are linear at each class share.
#
# Let d_0, d_1 be the differences of two classifiers in their rates of right decisions. The
# utilities prefer the second classifier when u_0 d_0 + u_1 d_1 > 0, with
# u = (a π_0, b π_1) and the gains a, b of being right; a linear metric does when
# v_0 d_0 + v_1 d_1 > 0. Both differences are symmetric about zero. The probability that
# the two disagree therefore depends only on the directions of u and v, through the distribution
# function G of the ratio of the gaps |d_1|/|d_0|. If a direction has the position
#
#     T(v) = (1 − G(v_0/v_1)) / 2 in the first quadrant, and so on,
#
# on a circle of circumference 2, this probability is the distance between T(u) and T(v). What
# remains is an integral over the cost proportion and the class share, which is smooth between
# known kinks if both are written as log-odds.

_REACH = 36.0  # log-odds beyond which a bounded density has no mass: e**-36 < 3e-16
_LINEAR = 1e-9  # largest deviation from linearity, relative to the weights of a metric
_MASS = 1e-9  # largest deviation of the integral of a density from one


# Panels are at most two log-odds wide and shrink towards equal costs, where beliefs concentrate.
_SIDE = np.concatenate([2.0 ** np.arange(-40, 1), np.arange(2.0, _REACH + 1, 2.0)])
_GRID = np.concatenate([-_SIDE[::-1], [0.0], _SIDE])


def exact_misranking(
    metric: Metric,
    *,
    utilities: UtilitySampler,
    class_share: ShareSampler,
    rates: RateSampler,
) -> float:
    """Share of pairs that a metric ranks wrongly, by integration, to about 1e-10.

    For metrics that are linear in the rates of right decisions at each class share, such as
    accuracy, recall, balanced accuracy and any fixed cost matrix; nan for the others. The arguments
    are those of `misranking`, but must be distributions with known densities. The densities are
    integrated by the same quadrature rule; one whose integral is not 1 within 1e-9 is refused,
    because it is too narrow or too rough for the rule. Reference: dyrland, figures 6 and 7.

    Parameters
    ----------
    metric : a function of `Counts`
    utilities : distribution of utility matrices, such as `UniformUtilities()`
    class_share : distribution of the share of positives
    rates : distribution of the rates of right decisions

    Returns
    -------
    share of pairs, or nan where the metric is not linear

    Examples
    --------
    >>> from stakes.audit import FAMILIAR, uniform_setting
    >>> print(f"{exact_misranking(FAMILIAR['accuracy'], **uniform_setting()):.6%}")
    8.767406%
    """
    if not isinstance(utilities, UtilityDistribution):
        raise _unknown("utilities", "UniformUtilities or NormalUtilities")
    if not isinstance(class_share, ShareDistribution):
        raise _unknown("class_share", "UniformShares")
    if not isinstance(rates, RateDistribution):
        raise _unknown("rates", "RisingRates")
    at = partial(_wrong_at, metric=metric, utilities=utilities, rates=rates)

    def integrand(log_odds: float) -> FloatArray:
        """Density of the share, and what of it is ranked wrongly."""
        share = _shares_at(log_odds)
        density = float(class_share.density(share[1])) * float(share[0] * share[1])
        return np.array([density, density * at(log_odds, share) if density else 0.0])

    low, high = _log_odds(class_share.support)
    if np.isnan(at(0.3, _shares_at(0.3))):
        return float("nan")
    mass, wrong = _integral(integrand, low, high)
    _refuse_unresolved("class_share", mass)
    return wrong


def _integral(
    integrand: Callable[[float], FloatArray], low: float, high: float
) -> tuple[float, float]:
    """Both integrals by one adaptive rule, split at 0, where most metrics have a kink."""
    from scipy.integrate import quad_vec

    edges = np.unique(np.clip([low, 0.0, high], low, high)).tolist()
    first, second = np.sum(
        [
            quad_vec(integrand, start, end, epsabs=1e-12, epsrel=0.0, norm="max", limit=500)[0]
            for start, end in pairwise(edges)
        ],
        axis=0,
    )
    return float(first), float(second)


def _log_odds(support: tuple[float, float]) -> FloatArray:
    """The bounds of the support as log-odds, cut off at the reach."""
    bounds = _check.probabilities("the support of class_share", support, ndim=1)
    if bounds.shape != (2,) or not bounds[0] < bounds[1]:
        raise InputError(
            f"the support of class_share must be two rising shares; got {support!r}. "
            f"A known share needs no distribution."
        )
    from scipy.special import logit

    return np.asarray(np.clip(logit(bounds), -_REACH, _REACH))


def _refuse_unresolved(name: str, mass: float) -> None:
    if not abs(mass - 1) <= _MASS:
        raise InputError(
            f"the density of {name} must integrate to 1 for an exact value; the rule finds "
            f"{mass:.10g}. It is no density, or too narrow or too rough to be resolved: state a "
            f"narrow support, or estimate the value with misranking."
        )


def _unknown(name: str, known: str) -> InputError:
    return InputError(
        f"{name} must be a distribution with a known density for an exact value; it is a sampler. "
        f"Use {known}, or estimate the value with misranking."
    )


def _shares_at(log_odds: float | FloatArray) -> FloatArray:
    """Shares of both classes, or of both costs, along the first axis."""
    from scipy.special import expit

    return np.asarray(expit([-log_odds, log_odds]))


def _wrong_at(
    share_log_odds: float,
    share: FloatArray,
    *,
    metric: Metric,
    utilities: UtilityDistribution,
    rates: RateDistribution,
) -> float:
    """Probability of a wrong order at one class share (2,)."""
    weight = _linear_weights(metric, share)
    if weight is None:
        return np.nan
    with np.errstate(divide="ignore"):
        kink = share_log_odds + np.log(np.abs(weight[0])) - np.log(np.abs(weight[1]))
    breaks = np.clip([share_log_odds, kink], -_REACH, _REACH)
    edges = np.unique(np.concatenate([_GRID, breaks]))
    half = np.diff(edges)[:, None] / 2
    nodes, weights = np.polynomial.legendre.leggauss(16)
    cost = edges[:-1, None] + half * (nodes + 1)
    rest, proportion = _shares_at(cost)
    position = _position(np.exp(cost - share_log_odds), np.array(1.0), rates)
    distance = np.abs(position - _position(weight[0], weight[1], rates))
    wrong = np.minimum(distance, 2 - distance)
    density = utilities.cost_proportion_density(proportion) * proportion * rest
    measure = half * weights * density
    _refuse_unresolved("utilities", float(np.sum(measure)))
    return float(np.sum(measure * wrong))


def _position(first: FloatArray, second: FloatArray, rates: RateDistribution) -> FloatArray:
    """Where a direction lies on the circle of circumference 2 that starts at (1, 0)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        spread = rates.gap_ratio_cdf(np.asarray(np.abs(first) / np.abs(second)))
    from_first_axis = (1 - spread) / 2
    upper = np.where(first >= 0, from_first_axis, 1 - from_first_axis)
    return np.where(second >= 0, upper, 2 - upper)


def _linear_weights(metric: Metric, share: FloatArray) -> FloatArray | None:
    """The weight of each rate of right decisions in a metric; None unless it is linear in them.

    It is also None where the metric is constant, because then it ranks nothing.
    """
    # Three points determine a plane; the other four, in general position, must lie on it.
    _check.require("metric", metric, Metric)
    rates = np.array([[0, 0], [1, 0], [0, 1], [1, 1], [0.75, 0.5], [0.5, 0.875], [0.6, 0.6]])
    tables = np.empty((len(rates), 2, 2))
    for k in range(2):
        tables[:, k, k], tables[:, k, 1 - k] = share[k] * rates[:, k], share[k] * (1 - rates[:, k])
    counts = Counts._unlabelled(tables)
    value = metric.goodness(counts)
    weights = value[1:3] - value[0]
    bend = np.abs(value[0] + rates @ weights - value)
    size = np.abs(weights).max()
    return weights if size > 0 and np.all(bend <= _LINEAR * size) else None


# How likely a metric is to pick the wrong one of your models, given what you do not know ---------
#
# Two things are unknown: the costs, for which there is a list or a sampler of plausible problems,
# and the true tables of the models, for which there are replicates. A metric picks a model on the
# observed tables; the pick is judged by each plausible pair of costs and tables.

#: ``(rng, n)`` → n plausible problems.
ProblemSampler = Callable[["np.random.Generator", int], Sequence[Problem]]


@record(repr=False)
class WrongPicks(Value):
    """How often each criterion is wrong over plausible costs and tables, and what that costs.

    Attributes
    ----------
    criteria : Q names: the metrics, the cost matrices with errors, then "expected costs", which is
        the right criterion when the costs are uncertain
    models : J names
    picks : (Q, J) how often each criterion picks each model on the observed tables; ties are split
    wrong, wrong_errors : (Q,) probability that the pick is not the best model, and its Monte Carlo
        standard error
    wrong_if_known : (Q,) the same if each criterion saw the true tables, and not those of a small
        test set
    regret, regret_errors : (Q,) mean cost per case of the picks above the best model, and its Monte
        Carlo standard error
    draws : number of plausible pairs of costs and tables
    undefined : how many more were left out, because the cost of a model was undefined

    Examples
    --------
    In 100 cases A costs 20 + 5 × 20, B costs 40 + 20; accuracy picks A:

    >>> from stakes.audit import FAMILIAR
    >>> models = {"A": Counts([[70, 20], [5, 5]]), "B": Counts([[50, 40], [1, 9]])}
    >>> truths = {name: Counts(table.values[None]) for name, table in models.items()}
    >>> study = wrong_picks(
    ...     models, truths, [Problem.binary(false_alarm=1, miss=20)], errors={},
    ...     metrics={"accuracy": FAMILIAR["accuracy"]}, rng=np.random.default_rng(0))
    >>> study.criteria, study.wrong, study.regret.round(6)
    (('accuracy', 'expected costs'), array([1., 0.]), array([0.6, 0. ]))
    """

    criteria: tuple[str, ...]
    models: Labels
    picks: FloatArray
    wrong: FloatArray
    wrong_errors: FloatArray
    wrong_if_known: FloatArray
    regret: FloatArray
    regret_errors: FloatArray
    draws: int
    undefined: int
    unit: str | None

    def columns(self) -> dict[str, list[object]]:
        """What the table shows, by column.

        Returns
        -------
        columns of equal length

        Examples
        --------
        >>> shares, errors = np.array([0.3, 0.1]), np.array([0.02, 0.01])
        >>> picks = WrongPicks(
        ...     criteria=("F1", "expected costs"), models=("A", "B"), picks=np.eye(2), wrong=shares,
        ...     wrong_errors=errors, wrong_if_known=shares, regret=shares, regret_errors=errors,
        ...     draws=1000, undefined=0, unit="EUR")
        >>> sorted(picks.columns())
        ['costs more', 'criterion', 'standard error', 'wrong', 'wrong if tables were known']
        """
        return {
            "criterion": list(self.criteria),
            "wrong": self.wrong.tolist(),
            "standard error": self.wrong_errors.tolist(),
            "wrong if tables were known": self.wrong_if_known.tolist(),
            "costs more": self.regret.tolist(),
        }

    def _table(self) -> tuple[list[object], list[list[object]], str]:
        columns = self.columns()
        rows: list[list[object]] = [
            [name, f"{wrong:.1%}", f"{error:.1%}", f"{known:.1%}", f"{cost:.4g}"]
            for name, wrong, error, known, cost in zip(*columns.values(), strict=True)
        ]
        unit = f", costs in {self.unit}" if self.unit else ""
        return ["", *list(columns)[1:]], rows, f"WrongPicks over {self.draws} worlds{unit}"

    def __repr__(self) -> str:
        return text_table(*self._table())

    def _repr_html_(self) -> str:
        return html_table(*self._table())


@record
class _Costs:
    """Costs (R, K, M) and priors (R, K) of plausible problems; nan stands for class shares."""

    costs: FloatArray
    priors: FloatArray

    def of(self, tables: Counts) -> FloatArray:
        """Expected costs (R, J) of tables (R or 1, J, K, M)."""
        stated = self.priors[:, None]
        # A class of prior zero may have no cases, and 0 times nan would be nan.
        prior = np.where(np.isnan(stated), tables.shares, stated)
        rates = np.where(prior[..., None] > 0, decision_rates(tables), 0.0)
        return np.asarray(np.einsum("rjk,rjkm,rkm->rj", prior, rates, self.costs))

    def mean_of(self, tables: Counts) -> FloatArray:
        """Costs of tables (…, J, K, M), averaged over all problems, (…, J)."""
        # Expected costs are linear in prior times cost, so that the mean over problems is that of
        # one mean matrix: stated priors are part of it, others are the shares of the tables.
        floating = np.isnan(self.priors)
        stated = np.where(floating, 0.0, self.priors)[..., None]
        fixed = np.mean(stated * self.costs, axis=0)
        by_share = np.mean(np.where(floating[..., None], self.costs, 0.0), axis=0)
        weight = fixed + tables.shares[..., None] * by_share
        rates = np.where(weight != 0, decision_rates(tables), 0.0)
        return np.asarray(np.sum(weight * rates, axis=(-2, -1)))

    def assessed(self, error: ErrorSampler, rng: np.random.Generator) -> _Costs:
        """The costs as somebody assessed them, with errors relative to their span."""
        # The error samplers of the paper are defined for utilities in [0, 1]; costs are scaled to
        # it and back, so that an error of 10 % means 10 % of the span of the costs.
        top = self.costs.max(axis=(1, 2), keepdims=True)
        span = top - self.costs.min(axis=(1, 2), keepdims=True)
        scaled = np.divide(top - self.costs, span, out=np.zeros_like(self.costs), where=span > 0)
        assessed = _check.returned("errors", error(rng, scaled), "AssessmentError(sd) does.")
        if assessed.shape != scaled.shape:
            raise InputError(
                f"errors must keep the shape of the utilities, {scaled.shape}; one gave "
                f"{assessed.shape}. AssessmentError(sd) does."
            )
        return _Costs(top - span * assessed, self.priors)


def wrong_picks(
    models: ModelTables,
    truths: ModelTables,
    problems: Sequence[Problem] | ProblemSampler,
    *,
    metrics: Mapping[str, Metric],
    errors: Mapping[str, ErrorSampler],
    rng: np.random.Generator,
    weights: object = None,
) -> WrongPicks:
    """Probability that each metric, or a cost matrix with errors, picks the wrong model.

    In each draw, one of the replicates in `truths` is true and one of the problems is the right
    one; the best model has the least expected cost there. Metrics, and the costs with errors, pick
    a model on the observed tables. Where a criterion ties several models, it is wrong by the share
    of them that are not the best.

    Parameters
    ----------
    models : observed tables, by name, joint, or along the first axis
    truths : plausible true tables of the same models, with one leading axis of replicates: Counts
        (R, K, M) by name, or JointCounts with weights (R, T), which keeps models paired
    problems : plausible problems, or ``(rng, n)`` → n of them
    metrics : name → metric
    errors : name → error in the costs, such as {"10 % error": AssessmentError(0.1)}
    rng : the generator that draws
    weights : of the problems in a list; equal when None

    Returns
    -------
    probabilities, metric by metric

    Examples
    --------
    >>> from stakes.audit import FAMILIAR, AssessmentError
    >>> rng = np.random.default_rng(3)
    >>> observed = {"A": Counts([[35, 15], [23, 27]]), "B": Counts([[32, 18], [7, 43]])}
    >>> truths = {name: Counts(rng.multinomial(100, table.values.ravel() / 100, 2000)
    ...     .reshape(-1, 2, 2)) for name, table in observed.items()}
    >>> plausible = [Problem.from_utilities([[165, -335], [-35, gain]]) for gain in (0, 15, 30)]
    >>> fate = wrong_picks(observed, truths, plausible, metrics={"F1": FAMILIAR["F1"]},
    ...     errors={"20 % error": AssessmentError(0.2)}, rng=rng)
    >>> fate.criteria
    ('F1', '20 % error', 'expected costs')
    >>> fate.wrong.round(1)
    array([0.6, 0.5, 0.4])
    """
    _check.mapping_of("metrics", metrics, Metric)
    names = tuple(map(str, metrics))
    read_errors("errors", errors)
    criteria = (*names, *map(str, errors), "expected costs")
    _check.labels("the names of metrics and errors", criteria)
    labels, observed = read_model_tables(models)
    with _check.renamed(models="truths"):
        true_labels, true = read_model_tables(truths)
    _check.same_labels("the names of truths", labels, true_labels)
    if observed.values.ndim != 3 or true.values.ndim != 4:
        raise InputError(
            f"models must have one table each, and truths one leading axis of replicates; the "
            f"tables have leading axes {observed.values.shape[:-3]} and {true.values.shape[:-3]}. "
            f"Pass replicates as Counts of shape (R, K, M)."
        )
    draws = len(true.values)
    plausible, unit = _draw_problems(problems, draws, weights, rng, observed)
    truth = plausible.of(true)
    single = observed[None]
    table, many = by_position(single), by_position(true)
    seen = [picked(some) for some in of_each(metrics, lambda metric: metric.goodness(table))]
    known = [picked(some) for some in of_each(metrics, lambda metric: metric.goodness(many))]
    for error in errors.values():
        assessed = plausible.assessed(error, rng)
        seen.append(picked(-assessed.of(single)))
        known.append(picked(-assessed.of(true)))
    seen.append(picked(-plausible.mean_of(single)))
    known.append(picked(-plausible.mean_of(true)))
    return _fate(criteria, labels, truth, seen, known, unit)


def _draw_problems(
    problems: Sequence[Problem] | ProblemSampler,
    draws: int,
    weights: object,
    rng: np.random.Generator,
    observed: Counts,
) -> tuple[_Costs, str | None]:
    """One plausible problem for every draw."""
    _check.generator(rng)
    several = problems(rng, draws) if callable(problems) else problems
    listed = list(several) if isinstance(several, list | tuple) else []
    if not listed or not all(isinstance(problem, Problem) for problem in listed):
        raise InputError(
            "problems must be a list of at least one Problem; it is not. Write [first, second]."
        )
    for problem in listed:
        if problem.costs.shape != observed.values.shape[-2:]:
            raise InputError(
                f"problems must fit the tables; one has costs {problem.costs.shape}, the tables "
                f"are {observed.values.shape[-2:]}. Rows are classes, columns are decisions."
            )
        _check.same_names("tables and problems", observed, problem)
    if callable(problems) and (len(listed) != draws or weights is not None):
        raise InputError(
            f"problems, when it is a sampler, must draw one problem for each of {draws} "
            f"replicates, all of equal weight; it drew {len(listed)}. Weights are for a list of "
            f"problems."
        )
    shares = _check.weights("weights", weights, len(listed), of="problems")
    chosen = (
        np.arange(draws)
        if callable(problems)
        else rng.choice(len(listed), size=draws, p=shares / shares.sum())
    )
    empty = np.full(observed.n_classes, np.nan)
    priors = np.array([empty if problem.prior is None else problem.prior for problem in listed])
    units = {problem.unit for problem in listed}
    costs = np.array([problem.costs for problem in listed])
    return _Costs(costs[chosen], priors[chosen]), units.pop() if len(units) == 1 else None


def _fate(
    criteria: tuple[str, ...],
    labels: Labels,
    truth: FloatArray,
    seen: list[BoolArray],
    known: list[BoolArray],
    unit: str | None,
) -> WrongPicks:
    """Judge the picks (R or 1, J) of each criterion by the true costs (R, J)."""
    defined = ~np.isnan(truth).any(axis=-1)
    if not defined.any():
        raise InputError(
            f"truths must hold a replicate in which every model has a cost; none of {defined.size} "
            f"does. Resample within classes where a prior is stated."
        )
    truth = truth[defined]
    best, excess = picked(-truth), truth - truth.min(axis=-1, keepdims=True)
    shares = np.array([np.broadcast_to(_shares(p), (defined.size, len(labels))) for p in seen])
    shares = shares[:, defined]
    wrong, regret = np.sum(shares * ~best, axis=-1), np.sum(shares * excess, axis=-1)
    known_shares = np.array([_shares(p)[defined] for p in known])
    return WrongPicks._trusted(
        criteria=criteria,
        models=labels,
        picks=shares.mean(axis=1),
        wrong=wrong.mean(axis=1),
        wrong_errors=wrong.std(axis=1) / np.sqrt(len(truth)),
        wrong_if_known=mean_defined(np.sum(known_shares * ~best, axis=-1).T),
        regret=regret.mean(axis=1),
        regret_errors=regret.std(axis=1) / np.sqrt(len(truth)),
        draws=len(truth),
        undefined=int(np.count_nonzero(~defined)),
        unit=unit,
    )


def _shares(picks: BoolArray) -> FloatArray:
    """Each pick's share among those that tie; nan where nothing could be picked."""
    return ratio(picks, picks.sum(axis=-1, keepdims=True))
