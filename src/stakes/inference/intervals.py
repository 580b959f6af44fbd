"""Types of intervals: how bounds are made from a value, its standard error and replicates."""

from __future__ import annotations

from dataclasses import field

import numpy as np

from stakes._check import BoolArray, FloatArray, shapes
from stakes._value import record
from stakes.errors import InputError
from stakes.inference.estimate import Estimate, IntervalType
from stakes.inference.normals import student_quantile

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
