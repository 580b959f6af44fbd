"""Distributions for studies of misranking: class shares, rates, errors in the utilities.

A sampler is any callable; those here also have the densities that an exact value needs. The two
settings of dyrland, section 4.2, are `uniform_setting` and `gaussian_setting`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import TypedDict

import numpy as np

from stakes import _check
from stakes._check import BoolArray, FloatArray
from stakes._value import Value, record
from stakes.audit.utility_space import NormalUtilities, UniformUtilities
from stakes.errors import InputError

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
        if not (np.min(utilities) >= 0 and np.max(utilities) <= 1):
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
