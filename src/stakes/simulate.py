"""Data with a known truth: a gaussian world whose population values are exact, random tables.

Two simulators of the papers, and what can be known about them without simulating:

- :func:`gaussian_classes` draws cases as ferrer-ec, appendix D, does; the :class:`GaussianWorld`
  behind them knows its exact posteriors and the confusion table of the whole population.
- :func:`random_confusion` draws confusion tables as dyrland, section 4.2, does.
"""

from __future__ import annotations

from collections.abc import Callable, Sized
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from stakes import _check
from stakes._check import BoolArray, FloatArray, IntArray, Labels
from stakes._value import Value, record
from stakes.decide import label_array
from stakes.errors import InputError
from stakes.problem import Problem
from stakes.tally import Counts

__all__ = [
    "GaussianWorld",
    "ProbabilitySampler",
    "SimulatedCases",
    "fixed",
    "gaussian_classes",
    "random_confusion",
    "rising_rates",
    "uniform_shares",
]


# Where on a line each decision is taken, and how much of a normal lies there ---------------------
#
# Posteriors of gaussian classes are a softmax of *bells* h_k − (x − m_k)² / (2 w_k), and they stay
# one when they are tempered or biased. Whether one decision is expected to cost more than another,
# or more by a tie, is the sign of a sum Σ_k t_k e^bell_k(x), that is, of the log ratio
#
#     r(x) = log Σ_k t_k⁺ e^bell_k(x) − log Σ_k t_k⁻ e^bell_k(x).
#
# Within h of a centre c, where the two sums have the weights a_k and b_k and the mean slopes α and
# β, Jensen's inequality below and e^y − 1 − y ≤ e^|y| − 1 − |y| above give
#
#     r(x) − r(c)  ≤  |α − β| h + Σ_k a_k (e^y_k − 1 − y_k) + (Σ_k b_k/w_k − min_a 1/w)⁺ h²/2
#
# with y_k = h |slope_k − α|. A cell in which no r that matters can change its sign is decided; the
# others are split until they are too small to hold any probability. No region is missed for being
# narrow.

_CELLS = 1024  # to begin with; any number gives the same answer
_PARTS = 8  # of an open cell; likewise
_MANY_CELLS = 1 << 15  # stay open only where rounding cannot tell a tie, and either decision serves
_TIE = 4 * np.finfo(np.float64).eps  # what bayes_decisions calls a tie; a test holds them together


@record
class Bells:
    """Exponents offset_k − (x − centre_k)² / (2 width_k), all arrays of shape (K,)."""

    centres: FloatArray
    widths: FloatArray
    offsets: FloatArray

    def at(self, x: FloatArray) -> FloatArray:
        """Exponents at x, shape (…, K)."""
        gaps = x[..., None] - self.centres
        return np.asarray(self.offsets - gaps * gaps / (2 * self.widths))

    def swapped(self) -> Bells:
        """The same bells in the opposite order."""
        return Bells(self.centres[::-1], self.widths[::-1], self.offsets[::-1])

    def slopes(self, x: FloatArray) -> FloatArray:
        """Derivatives of the exponents at x, shape (…, K)."""
        return np.asarray((self.centres - x[..., None]) / self.widths)


def normal_probability(low: FloatArray, high: FloatArray) -> FloatArray:
    """Probability that a standard normal falls between low and high, precise in both tails."""
    from scipy.special import ndtr

    upper = low > 0  # there the complements are the small, exact numbers
    return np.asarray(np.where(upper, ndtr(-low) - ndtr(-high), ndtr(high) - ndtr(low)))


# Many classes, many decisions --------------------------------------------------------------------


def decision_intervals(
    bells: Bells, costs: FloatArray, *, low: float, high: float, resolution: float
) -> tuple[FloatArray, IntArray]:
    """Cut the line where the Bayes decision changes, to within the resolution.

    Outside [low, high] the decisions of the outermost cells go on. Returns the edges, (R + 1,) from
    −inf to inf, and the decision of each of the R intervals.
    """
    tie = _TIE * len(costs) * float(np.abs(costs).max())
    bells, costs = _one_class_per_bell(bells, costs)
    half = (high - low) / (2 * _CELLS)
    centres = np.asarray(low + half * (2 * np.arange(_CELLS) + 1), dtype=np.float64)
    starts, taken = [], []
    while centres.size:
        decision, closed = _decide(_Cells(bells, centres, half), costs, tie)
        closed |= half <= resolution or centres.size > _MANY_CELLS
        starts.append(centres[closed] - half)
        taken.append(decision[closed])
        half /= _PARTS
        parts = half * (2 * np.arange(_PARTS) - _PARTS + 1)
        centres = (centres[~closed][:, None] + parts).ravel()
    order = np.argsort(np.concatenate(starts))
    start, decision = np.concatenate(starts)[order], np.concatenate(taken)[order]
    first = np.flatnonzero(np.diff(decision, prepend=-1))
    return np.concatenate([[-np.inf], start[first[1:]], [np.inf]]), decision[first]


def _one_class_per_bell(bells: Bells, costs: FloatArray) -> tuple[Bells, FloatArray]:
    """Pool the classes that look alike, costs weighted by their shares, and drop the absent.

    Features cannot tell such classes apart, so decisions may tie on the whole line; pooled, such a
    tie is a difference of zero and not one of two large numbers.
    """
    present = bells.offsets > -np.inf
    shapes = np.stack([bells.centres, bells.widths], axis=1)[present]
    distinct, group = np.unique(shapes, axis=0, return_inverse=True)
    group = group.reshape(-1)  # numpy 2.0 has it two-dimensional
    offsets = np.full(len(distinct), -np.inf)
    np.logaddexp.at(offsets, group, bells.offsets[present])
    shares = np.exp(bells.offsets[present] - offsets[group])
    pooled = np.zeros((len(distinct), costs.shape[1]))
    np.add.at(pooled, group, shares[:, None] * costs[present])
    return Bells(distinct[:, 0], distinct[:, 1], offsets), pooled


class _Cells:
    """Cells of one size, and the sign of Σ_k terms_k e^bell_k in them."""

    def __init__(self, bells: Bells, centres: FloatArray, half: float) -> None:
        self.half = half
        self.bends = 1 / bells.widths
        self.exponents = bells.at(centres)
        self.slopes = bells.slopes(centres)
        self.edge_slopes = bells.slopes(np.stack([centres - half, centres + half]))

    def log_ratio(self, terms: FloatArray) -> FloatArray:
        """The log ratio r at the centres; nan where all terms vanish."""
        gains, losses = self._two_sides(terms)
        with np.errstate(invalid="ignore"):
            return np.asarray(_log_sum(gains) - _log_sum(losses))

    def nowhere_positive(self, terms: FloatArray) -> BoolArray:
        """Whether r is certainly not positive in all of a cell."""
        gains, losses = self._two_sides(terms)
        gain, loss = _log_sum(gains), _log_sum(losses)
        with np.errstate(invalid="ignore", over="ignore"):
            rise = np.fmin(self._steepest_rise(terms), self._rise(gains, gain, losses, loss))
            return np.asarray(np.isnan(gain - loss) | (gain - loss <= -rise))

    def _steepest_rise(self, terms: FloatArray) -> FloatArray:
        """The bound for wide cells: the largest difference of slopes, one from each side.

        The largest minus the smallest of straight lines is convex: largest at an end of the cell.
        """
        up = _largest(self.edge_slopes, terms > 0) + _largest(-self.edge_slopes, terms < 0)
        down = _largest(self.edge_slopes, terms < 0) + _largest(-self.edge_slopes, terms > 0)
        return np.asarray(self.half * np.maximum(up, down).max(axis=0, initial=0))

    def _rise(
        self, gains: FloatArray, gain: FloatArray, losses: FloatArray, loss: FloatArray
    ) -> FloatArray:
        """The bound for narrow cells, as in the head of this file; nan if it is of no use."""
        a, b = np.exp(gains - gain[:, None]), np.exp(losses - loss[:, None])
        alpha, beta = (a * self.slopes).sum(axis=1), (b * self.slopes).sum(axis=1)
        y = self.half * np.abs(self.slopes - alpha[:, None])
        growth = (a * (np.expm1(y) - y)).sum(axis=1)
        flattest = np.where(gains > -np.inf, self.bends, np.inf).min(axis=1)
        bend = np.maximum(b @ self.bends - flattest, 0)
        return np.asarray(self.half * np.abs(alpha - beta) + growth + self.half**2 * bend / 2)

    def _two_sides(self, terms: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Exponents of the positive and of the negative terms; −inf in the places of the others."""
        with np.errstate(divide="ignore"):
            sizes = self.exponents + np.log(np.abs(terms))
        return np.where(terms > 0, sizes, -np.inf), np.where(terms < 0, sizes, -np.inf)


def _decide(cells: _Cells, costs: FloatArray, tie: float) -> tuple[IntArray, BoolArray]:
    """The decision at each centre, and whether it is certainly that of the whole cell.

    It is the first of those that are at most a tie costlier than the cheapest one.
    """
    cheapest = np.zeros(len(cells.exponents), dtype=np.intp)
    for rival in range(1, costs.shape[1]):
        cheapest[cells.log_ratio(costs[:, rival] - costs.T[cheapest]) < 0] = rival
    taken = cheapest.copy()
    for rival in reversed(range(costs.shape[1])):
        excess = costs[:, rival] - costs.T[cheapest] - tie
        taken[~(cells.log_ratio(excess) > 0)] = rival
    certain = np.ones(taken.shape, dtype=bool)
    for rival in range(costs.shape[1]):
        certain &= cells.nowhere_positive(costs.T[taken] - costs[:, rival] - tie)
        excess = costs[:, rival] - costs.T[cheapest] - tie  # as above, to the last bit
        certain &= cells.nowhere_positive(-excess) | (rival >= taken)
    return taken, certain


def _log_sum(exponents: FloatArray) -> FloatArray:
    """Log of Σ_k e^exponents_k, −inf when all are."""
    top = np.maximum(exponents.max(axis=1), -np.finfo(np.float64).max)  # −inf − −inf is nan
    with np.errstate(divide="ignore"):
        return np.asarray(top + np.log(np.exp(exponents - top[:, None]).sum(axis=1)))


def _largest(values: FloatArray, chosen: BoolArray) -> FloatArray:
    """Largest chosen value along the last axis, −inf where none is chosen."""
    return np.asarray(np.where(chosen, values, -np.inf).max(axis=-1))


# Two classes, thresholds on log-odds -------------------------------------------------------------


def interval_above(
    bells: Bells, level: FloatArray, *, or_equal: bool
) -> tuple[FloatArray, FloatArray]:
    """The interval in which the second of two bells exceeds the first by more than a level.

    The second bell must not be the wider one, or the set would not be an interval. Empty intervals
    are (inf, inf); shapes are those of the level. Equality, if it counts, matters for infinite
    levels only: a class of prior zero has infinite log-odds everywhere.
    """
    step = bells.centres[1] - bells.centres[0]
    bend = 0.5 / bells.widths[0] - 0.5 / bells.widths[1]  # not positive
    tilt = step / bells.widths[0]  # seen from the narrow bell, where the terms are small
    with np.errstate(divide="ignore", invalid="ignore"):
        excess = bells.offsets[1] - bells.offsets[0] + tilt * step / 2 - level
        excess = np.where(np.isnan(excess), np.inf if or_equal else -np.inf, excess)
        root = np.sqrt(tilt * tilt - 4 * bend * excess)
        far = -0.5 * (tilt + np.copysign(root, tilt))  # adds, so that nothing cancels
        near = excess / far
        if bend == 0:
            bounds = (near, np.full(level.shape, np.copysign(np.inf, tilt)))
        else:
            bounds = (near, far / bend)
    everywhere = (excess == np.inf) | ((bend == 0) & (tilt == 0) & (excess > 0))
    nowhere = ~everywhere & ~(np.isfinite(excess) & (root > 0))
    low = np.where(everywhere, -np.inf, np.where(nowhere, np.inf, np.minimum(*bounds)))
    high = np.where(everywhere | nowhere, np.inf, np.maximum(*bounds))
    return bells.centres[1] + low, bells.centres[1] + high


# Random confusion tables of two classes, as dyrland draws them -----------------------------------

ProbabilitySampler = Callable[["np.random.Generator", tuple[int, ...]], FloatArray]
"""Draws an array of the given shape. A scipy distribution becomes one by
``lambda rng, size: distribution.rvs(size=size, random_state=rng)``."""


_MOST_TABLES = 10**8  # tables of one sample


def random_confusion(
    n_problems: int,
    n_models: int,
    *,
    share: ProbabilitySampler,
    correct_rates: ProbabilitySampler,
    rng: np.random.Generator,
) -> Counts:
    r"""Draw confusion tables of two classes: one class share per problem, rates for each model.

    .. math:: C_{kk} = \pi_k r_k, \qquad C_{k,1-k} = \pi_k (1 - r_k)

    Models of one problem are seen on the same data, so they have its class share in common
    (dyrland, section 4.2, step 3). Each table sums to one. A share of exactly 0 or 1 leaves a class
    without cases.

    Parameters
    ----------
    n_problems, n_models : int
    share : callable (rng, size) → probabilities
        Draws the share of the positive class, shape (n_problems,): `uniform_shares` in dyrland's
        figures 6 and 7, ``fixed(0.5)`` in figure 2.
    correct_rates : callable (rng, size) → probabilities
        Draws the rates of correct decisions, shape (n_problems, n_models, 2): of the negative class
        (specificity), then of the positive one (sensitivity). `rising_rates` in all of dyrland.
    rng : the generator that draws

    Returns
    -------
    Counts of shape (n_problems, n_models, 2, 2)

    Examples
    --------
    How often does F1 rank two models the other way than accuracy does?

    >>> rng = np.random.default_rng(1)
    >>> counts = random_confusion(
    ...     10_000, 2, share=uniform_shares, correct_rates=rising_rates, rng=rng
    ... )
    >>> tn, fp, fn, tp = np.moveaxis(counts.values.reshape(-1, 2, 4), -1, 0)
    >>> f1, accuracy = 2 * tp / (2 * tp + fp + fn), tp + tn
    >>> float(np.mean(np.diff(f1) * np.diff(accuracy) < 0).round(2))
    0.05
    """
    _check.a_function("share", share)
    _check.a_function("correct_rates", correct_rates)
    problems = _check.draws("n_problems", n_problems, low=1)
    models = _check.whole("n_models", n_models, low=1, high=_MOST_TABLES // problems)
    positive = _drawn("share", share, rng, (problems,))
    correct = _drawn("correct_rates", correct_rates, rng, (problems, models, 2))
    shares = np.stack([1 - positive, positive], axis=-1)[:, None, :]
    values = np.empty((problems, models, 2, 2))
    values[..., (0, 1), (0, 1)] = shares * correct
    values[..., (0, 1), (1, 0)] = shares * (1 - correct)
    return Counts._unlabelled(values)


def rising_rates(rng: np.random.Generator, size: tuple[int, ...]) -> FloatArray:
    r"""Rates with density :math:`8(r - \tfrac12)` on [½, 1]: dyrland's "generally good" models.

    Median 0.854, quartiles 0.75 and 0.933.

    Parameters
    ----------
    rng : the generator that draws
    size : shape of the array to draw

    Returns
    -------
    rates, of the wanted shape

    Examples
    --------
    >>> rates = rising_rates(np.random.default_rng(0), (1000,))
    >>> bool(rates.min() >= 0.5), rates.shape
    (True, (1000,))
    """
    _check.generator(rng)
    _check.a_shape("size", size)
    return np.asarray(0.5 + 0.5 * np.sqrt(rng.random(size)))


def uniform_shares(rng: np.random.Generator, size: tuple[int, ...]) -> FloatArray:
    """Shares that are uniform on [0, 1): imbalance is as common as balance.

    Parameters
    ----------
    rng : the generator that draws
    size : shape of the array to draw

    Returns
    -------
    shares, of the wanted shape

    Examples
    --------
    >>> uniform_shares(np.random.default_rng(0), (2, 3)).shape
    (2, 3)
    """
    _check.generator(rng)
    _check.a_shape("size", size)
    return np.asarray(rng.random(size))


def fixed(value: float) -> ProbabilitySampler:
    """Make a sampler that always draws this probability.

    Parameters
    ----------
    value : the probability

    Returns
    -------
    a function that draws

    Examples
    --------
    >>> fixed(0.3)(np.random.default_rng(0), (2,))
    array([0.3, 0.3])
    """
    known = _check.number("value", value, low=0, high=1)
    return lambda rng, size: np.full(size, known)


def _drawn(
    name: str, sampler: ProbabilitySampler, rng: np.random.Generator, size: tuple[int, ...]
) -> FloatArray:
    """What a sampler draws, checked at the border."""
    draws = _check.probabilities(name, sampler(rng, size))
    if draws.shape != size:
        raise InputError(
            f"{name} must draw an array of the shape that it is asked for, {size}; it drew "
            f"{draws.shape}. Pass the shape on to the generator."
        )
    return draws


# -------------------------------------------------------------------------------------------------
# Gaussian classes on a line: cases, their exact posteriors, and the table of the population.

_REACH = 38.0  # standard deviations; nothing that float64 can hold lies beyond
_RESOLUTION = 1e-12  # standard deviations
_MOST_CASES = 10**8  # cases of one sample


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
        total = _check.number("n_cases", n_cases, low=1, high=_MOST_CASES)
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
