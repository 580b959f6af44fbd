"""Gaussian classes on a line: cases, their exact posteriors, and the table of the population."""

from __future__ import annotations

from collections.abc import Sized
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from stakes import _check
from stakes._check import FloatArray, Labels
from stakes._value import Value, record
from stakes.decide import label_array
from stakes.errors import InputError
from stakes.problem import Problem
from stakes.simulate._line import Bells, decision_intervals, interval_above, normal_probability
from stakes.tally import Counts

_REACH = 38.0  # standard deviations; nothing that float64 can hold lies beyond
_RESOLUTION = 1e-12  # standard deviations
_MOST = 10**8  # cases of one sample


def gaussian_classes(
    n_cases: int,
    *,
    prior: object,
    variance: object,
    rng: np.random.Generator,
    classes: object = None,
) -> SimulatedCases:
    r"""Draw cases of classes that sit at 0, 1, 2, … on a line (ferrer-ec, appendix D).

    .. math:: x \mid k \sim \mathcal N(k, v), \qquad P(k \mid x) \propto \pi_k\, p(x \mid k)

    Class k has the whole number of cases that is nearest to `n_cases` times its prior, so the cases
    may be a few more or fewer than asked for. They come class by class. The posteriors are exact,
    and so perfectly calibrated for the prior. A :class:`GaussianWorld` may have other means.

    Parameters
    ----------
    n_cases : int
    prior : K probabilities
    variance : number, or K numbers
        The *variance* of the feature. The paper's "standard deviation 0.2" is this 0.2 in the code
        that made its tables and figures.
    rng : the generator that draws
    classes : K labels, optional
        By default 0, 1, …

    Returns
    -------
    cases with features, classes and exact posteriors

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> sample = gaussian_classes(1000, prior=[0.8, 0.1, 0.1], variance=0.2, rng=rng)
    >>> sample.posteriors.shape
    (1000, 3)
    >>> sample.posteriors.mean(axis=0).round(1)
    array([0.8, 0.1, 0.1])
    """
    if prior is None or isinstance(prior, str):
        raise InputError("prior must be a share for each class; got none. Write [0.8, 0.2].")
    spots = range(len(prior) if isinstance(prior, Sized) and _check.is_listed(prior) else 1)
    with _check.renamed(means="prior"):
        world = GaussianWorld(spots, variance=variance, prior=prior, classes=classes)
    return world.sample(n_cases, rng=rng)


@record(repr=False, init=False)
class GaussianWorld(Value):
    r"""Classes whose one feature is normal: everything about them is known.

    A world draws cases, knows their posteriors, and gives the confusion table of its whole
    population as `Counts` that sum to one, so that every measure of a table has its population
    value. `posteriors` are those that its classifier *reports*: exact unless `misreported` said
    otherwise.

    Parameters
    ----------
    means : K numbers
    variance : positive number, or one for each class
    prior : K probabilities, or mapping from class to probability
    classes : K labels, optional
        By default 0, 1, …

    Examples
    --------
    The ten classes of ferrer-ec, Table 1, where abstaining costs a twentieth of a mistake:

    >>> from stakes import Problem, normalized_cost
    >>> world = GaussianWorld(range(10), variance=0.2, prior=[0.8] + 9 * [0.2 / 9])
    >>> problem = Problem.zero_one(10).with_abstention(0.05)
    >>> counts = world.bayes_counts(problem)
    >>> float(normalized_cost(counts, problem).round(6))
    0.343941
    >>> float(counts.values[:, -1].sum().round(4))
    0.2508
    """

    means: FloatArray
    variances: FloatArray
    prior: FloatArray
    classes: Labels
    temperature: float
    bias: FloatArray

    def __init__(
        self, means: object, *, variance: object, prior: object, classes: object = None
    ) -> None:
        centres = _check.floats("means", means, ndim=1)
        size = centres.size
        names = tuple(range(size)) if classes is None else _check.labels("classes", classes)
        if not size or len(names) != size:
            raise InputError(
                f"means must hold one number for each class; it holds {size} and there are "
                f"{len(names)} classes. Pass as many as there are classes, at least one."
            )
        self._fill(
            {
                "means": centres,
                "variances": _positive("variance", _per_class("variance", variance, size)),
                "prior": _check.prior("prior", prior, names),
                "classes": names,
                "temperature": 1.0,
                "bias": np.zeros(size),
            }
        )

    @property
    def n_classes(self) -> int:
        """K."""
        return len(self.classes)

    def misreported(self, *, temperature: float = 1.0, bias: object = None) -> Self:
        r"""The same world, reported by a classifier that is not calibrated.

        .. math:: \log P'(k \mid x) = \log P(k \mid x) / T + b_k + \text{const}

        Temperatures below one are overconfident, above one underconfident. A bias of
        :math:`\log \pi'_k/\pi_k` is the mistake of a classifier that believes in the prior
        :math:`\pi'`. Labels, features and everything that is true of the population stay; what is
        misreported once more is misreported from what it reports now.

        Parameters
        ----------
        temperature : what the log of each posterior is divided by
        bias : what is added to the log of each posterior, (K,)

        Returns
        -------
        the world

        Examples
        --------
        >>> world = GaussianWorld([0, 1], variance=0.2, prior=[0.5, 0.5])
        >>> world.posteriors([0.7])[:, 1].round(3)
        array([0.731])
        >>> world.misreported(temperature=0.5).posteriors([0.7])[:, 1].round(3)
        array([0.881])
        """
        heat = float(_positive("temperature", _check.squarable("temperature", temperature, ndim=0)))
        biases = np.zeros(self.n_classes) if bias is None else _check.floats("bias", bias, ndim=1)
        if biases.size != self.n_classes:
            raise InputError(
                f"bias must hold one number for each of the {self.n_classes} classes; it holds "
                f"{biases.size}. A bias on log-odds is that of the second class: [0, bias]."
            )
        return self._but(temperature=self.temperature * heat, bias=self.bias / heat + biases)

    # Cases ---------------------------------------------------------------------------------------

    def sample(self, n_cases: int, *, rng: np.random.Generator) -> SimulatedCases:
        """Draw the nearest whole number of cases of each class (ferrer-ec, appendix D).

        The number of cases may differ from the one asked for; halves round to the even number.

        Parameters
        ----------
        n_cases : how many cases
        rng : the generator that draws

        Returns
        -------
        the cases

        Examples
        --------
        >>> world = GaussianWorld([0, 1], variance=0.2, prior=[0.5, 0.5])
        >>> world.sample(6, rng=np.random.default_rng(0)).posteriors.shape
        (6, 2)
        """
        total = _check.number("n_cases", n_cases, low=1, high=_MOST)
        each = np.rint(total * self.prior)
        if not each.any():
            raise InputError(
                f"n_cases must be large enough for a case of some class; {total:g} of these "
                f"{self.n_classes} classes round to none of each. Draw more cases."
            )
        return self.sample_each(each, rng=rng)

    def sample_each(self, n_per_class: object, *, rng: np.random.Generator) -> SimulatedCases:
        """Draw this many cases of each class, class by class.

        ``rng.multinomial(n, world.prior)`` cases of each class make n independent cases.

        Parameters
        ----------
        n_per_class : how many cases of each class
        rng : the generator that draws

        Returns
        -------
        the cases

        Examples
        --------
        >>> world = GaussianWorld([0, 1], variance=0.2, prior=[0.5, 0.5])
        >>> world.sample_each([2, 1], rng=np.random.default_rng(0)).y_true
        array([0, 0, 1])
        """
        _check.generator(rng)
        each = _check.non_negative("n_per_class", n_per_class, ndim=1)
        if each.size != self.n_classes or (each != np.rint(each)).any() or not each.any():
            raise InputError(
                f"n_per_class must hold a whole number of cases for each of the {self.n_classes} "
                f"classes, not all zero; got {each.tolist()}. Round shares of cases first."
            )
        code = np.repeat(np.arange(self.n_classes), each.astype(np.intp))
        features = self.means[code] + np.sqrt(self.variances)[code] * rng.standard_normal(code.size)
        return SimulatedCases._trusted(
            world=self,
            y_true=label_array(self.classes)[code],
            features=features,
            posteriors=self.posteriors(features),
        )

    def posteriors(self, features: object) -> FloatArray:
        """Reported posteriors of shape (n, K) at features of shape (n,).

        Parameters
        ----------
        features : features, (n,)

        Returns
        -------
        posteriors, (n, K)

        Examples
        --------
        >>> GaussianWorld([0, 1], variance=0.2, prior=[0.5, 0.5]).posteriors([0.5]).tolist()
        [[0.5, 0.5]]
        """
        exponents = self._bells().at(_check.squarable("features", features, ndim=1))
        raised = np.exp(exponents - exponents.max(axis=1, keepdims=True))
        return np.asarray(raised / raised.sum(axis=1, keepdims=True))

    def log_odds(self, features: object) -> FloatArray:
        """Reported log(P(second)/P(first)) of a world of two classes, of shape (n,).

        Parameters
        ----------
        features : features, (n,)

        Returns
        -------
        log-odds, (n,)

        Examples
        --------
        >>> GaussianWorld([0, 1], variance=0.2, prior=[0.5, 0.5]).log_odds([0.5, 1.0]).tolist()
        [0.0, 2.5]
        """
        exponents = self._two_bells().at(_check.squarable("features", features, ndim=1))
        return np.asarray(exponents[:, 1] - exponents[:, 0])

    # The population ------------------------------------------------------------------------------

    def bayes_counts(self, problem: Problem) -> Counts:
        r"""Shares of the population that get each decision: the limit of ever more cases.

        .. math:: \pi_k \int P(x \mid k)\, [\,d = d^*(x)\,]\, dx

        Of shape (K, M), where :math:`d^*` is what `bayes_decisions` makes of the reported
        posteriors, ties included, in exact arithmetic. The regions of the line are found to 1e-12
        standard deviations of the narrowest class, none is missed, and the integrals over them are
        differences of the normal distribution function, so the entries are right to about 1e-11.
        Ten classes take a tenth of a second, a hundred take many seconds.

        Parameters
        ----------
        problem : what is at stake

        Returns
        -------
        shares of the population, (K, M)

        Examples
        --------
        >>> world = GaussianWorld([0, 1], variance=0.2, prior=[0.5, 0.5])
        >>> world.bayes_counts(Problem.zero_one(2)).values.round(3).tolist()
        [[0.434, 0.066], [0.066, 0.434]]
        """
        _check.require("problem", problem, Problem)
        _check.same_labels("the classes of world and problem", self.classes, problem.classes)
        sd = np.sqrt(self.variances)
        low, high = (self.means - _REACH * sd).min(), (self.means + _REACH * sd).max()
        edges, decisions = decision_intervals(
            self._bells(),
            problem.costs,
            low=float(low),
            high=float(high),
            resolution=max(_RESOLUTION * sd.min(), 4 * np.spacing(max(-low, high))),
        )
        z = self._standardized(edges)
        rates = np.zeros((self.n_classes, problem.n_decisions))
        np.add.at(rates.T, decisions, normal_probability(z[:, :-1], z[:, 1:]).T)
        return Counts._trusted(
            values=self.prior[:, None] * rates,
            classes=self.classes,
            decisions=problem.decisions,
            groups=None,
        )

    def threshold_counts(self, log_odds: object) -> Counts:
        """Shares of a population of two classes when reported log-odds above a threshold decide.

        Thresholds of any shape (…) give counts of shape (…, 2, 2). The positive decision, the
        second, is taken when log-odds > threshold. Where the variances differ, log-odds rise and
        fall again, and the positive region is an interval or all but one. The decisions carry no
        labels, so the counts meet any problem of these classes.

        Parameters
        ----------
        log_odds : the threshold, or several

        Returns
        -------
        shares of the population, (…, 2, 2)

        Examples
        --------
        >>> world = GaussianWorld([0, 1], variance=0.2, prior=[0.8, 0.2])
        >>> world.threshold_counts(0.0).values.round(4)
        array([[0.7671, 0.0329],
               [0.0618, 0.1382]])
        """
        thresholds = _check.array("log_odds", log_odds)
        levels = _check.real_scores("log_odds", thresholds.reshape(-1)).reshape(thresholds.shape)
        bells = self._two_bells()
        upward = bells.widths[1] <= bells.widths[0]  # else the negative region is the interval
        if upward:
            low, high = interval_above(bells, levels, or_equal=False)
        else:
            low, high = interval_above(bells.swapped(), -levels, or_equal=True)
        z_low, z_high, beyond = self._standardized(low), self._standardized(high), np.array(np.inf)
        inside = normal_probability(z_low, z_high)
        outside = normal_probability(-beyond, z_low) + normal_probability(z_high, beyond)
        rates = np.stack([outside, inside] if upward else [inside, outside], axis=-1)
        shares = np.moveaxis(rates, 0, -2) * self.prior[:, None]
        return Counts._trusted(values=shares, classes=self.classes, decisions=None, groups=None)

    def _standardized(self, x: FloatArray) -> FloatArray:
        """Distance of x (…) from each mean, in standard deviations of the class: (K, …)."""
        shape = (-1, *(1,) * x.ndim)
        return np.asarray((x - self.means.reshape(shape)) / np.sqrt(self.variances).reshape(shape))

    def _bells(self) -> Bells:
        """Exponents of the softmax that is reported."""
        with np.errstate(divide="ignore"):
            log_heights = np.log(self.prior) - np.log(self.variances) / 2
        return Bells(
            self.means,
            self.variances * self.temperature,
            log_heights / self.temperature + self.bias,
        )

    def _two_bells(self) -> Bells:
        if self.n_classes != 2:
            raise InputError(
                f"log-odds want a world of two classes; this one has {self.n_classes}. "
                f"With more classes, decide by bayes_counts(problem)."
            )
        return self._bells()

    def __repr__(self) -> str:
        parts = [
            f"{label!r} N({mean:g}, {variance:g}) {share:g}"
            for label, mean, variance, share in zip(
                self.classes, self.means, self.variances, self.prior, strict=True
            )
        ]
        honest = self.temperature == 1 and not np.ptp(self.bias)
        return f"GaussianWorld({', '.join(parts)}{'' if honest else ', misreported'})"


@record(repr=False)
class SimulatedCases(Value):
    """Cases of a gaussian world: labels, features (n,) and the posteriors (n, K) it reports.

    Parameters
    ----------
    world : where they come from
    y_true : true classes, (n,)
    features : (n,)
    posteriors : as the world reports them, (n, K)

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> cases = gaussian_classes(4, prior=[0.7, 0.3], variance=0.2, rng=rng)
    >>> cases.posteriors.shape
    (4, 2)
    """

    world: GaussianWorld
    y_true: npt.NDArray[Any]
    features: FloatArray
    posteriors: FloatArray

    def misreported(self, *, temperature: float = 1.0, bias: object = None) -> Self:
        """The same cases with the posteriors that the misreported world reports.

        Parameters
        ----------
        temperature : what the log of each posterior is divided by
        bias : what is added to the log of each posterior, (K,)

        Returns
        -------
        the cases

        Examples
        --------
        >>> rng = np.random.default_rng(0)
        >>> cases = gaussian_classes(2, prior=[0.7, 0.3], variance=0.2, rng=rng)
        >>> cases.posteriors[:, 1].round(3)
        array([0.045, 0.795])
        >>> cases.misreported(temperature=0.5).posteriors[:, 1].round(3)
        array([0.002, 0.938])
        """
        world = self.world.misreported(temperature=temperature, bias=bias)
        return self._but(world=world, posteriors=world.posteriors(self.features))

    def __repr__(self) -> str:
        return f"{self.features.size} simulated cases of {self.world!r}"


def _per_class(name: str, values: object, size: int) -> FloatArray:
    """One number for all classes, or one for each."""
    array = _check.squarable(name, values)
    if array.shape not in ((), (size,)):
        raise InputError(
            f"{name} must be one number or one for each of the {size} classes; "
            f"its shape is {array.shape}. Pass a list of as many numbers."
        )
    return np.broadcast_to(array, (size,)).copy()


def _positive(name: str, array: FloatArray) -> FloatArray:
    if not (array > 1e-150).all():  # its inverse and its square are numbers
        raise InputError(
            f"{name} must be positive; the smallest is {array.min():g}. "
            f"A class without spread is a very small number, not zero."
        )
    return array
