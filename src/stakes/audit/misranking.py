"""How often a metric ranks two classifiers in the wrong order, by simulation.

Utilities, a class share and two classifiers are drawn; the utilities and the metric say which
classifier is better; the disagreements are counted (dyrland, section 4.2). All metrics see the same
draws. `exact_misranking` computes the value for metrics that are linear at each class share.

A sampler is any callable; those here also have the densities that an exact value needs. The two
settings of dyrland, section 4.2, are `uniform_setting` and `gaussian_setting`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from math import sqrt
from typing import TypedDict

import numpy as np

from stakes import _check
from stakes._check import BoolArray, FloatArray, IntArray
from stakes._text import html_table, text_table
from stakes._value import Value, record
from stakes.audit.metric import Metric, of_each
from stakes.audit.utility_space import NormalUtilities, UniformUtilities
from stakes.errors import InputError
from stakes.tally import Counts

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
