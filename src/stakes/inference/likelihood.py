"""Profile likelihood of a mean whose possible values are known."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from functools import cached_property
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from stakes import _check
from stakes._check import BoolArray, FloatArray, IntArray
from stakes._value import Value, record
from stakes.errors import InputError
from stakes.tally import JointCounts

# Multinomial probabilities tilted towards costly values, as far as a goal asks -------------------
#
# The shares of a stratum with counts n_j, whose values lie g_j below the costliest one, are p_j =
# n_j / (u + s  g_j) for a tilt s > 0, with the level u ≥ 0 at which they sum to one; where no
# level does, u = 0 and the rest belongs to the costliest value. The likelihood of a mean is made
# of them.
#
# Searches move the *slant* r = s/u of a stratum that has cases of its costliest value, the *lead*.
# Both level and tilt follow from it, u = Σ_j n_j / (1 + r  g_j), and the likelihood ratio grows
# about like a power of it. In terms of the tilt, it bends sharply where few cases have the
# costliest value: the tilt hardly grows any more once nearly all others are used up. With several
# strata the first axis says which of them leads.

_PSEUDO_CASES = 0.4  # where no costly mistake was seen; chosen by coverage, see below
_FADING = 5.0  # the squared number m of costly mistakes that halves it
_MANY = 1e3  # cap on m: a pseudo-case below about two millionths would be lost in rounding

_STEPS = 100  # safeguarded Newton needs about four, bisection alone sixty
_CLOSE, _NEAR = 1e-9, 1e-5  # steps in the log of the slant: when to stop, when Newton is safe
_SMALL = 1e-7  # relative distance from the goal whose square is lost in rounding
_NOISE = 1e-15  # relative to the goal: what rounding may make of a measure of zero
LONGEST = 5.0  # step in the log of the slant
_STEEPEST = 200.0  # log of the slant above the first guess at which a bound has reached its limit
_LEAST = 1e-300  # in place of a zero divisor, whose numerator is zero as well


@record
class Strata:
    """Gaps (…, R, C) below the costliest value, in units of the scale, and cases with them.

    Attributes
    ----------
    gaps : 0 for the costliest value of a stratum, at most 1; 1 for values without cases
    counts : (…, R, C), perhaps fractional
    total : (…, R) cases of each stratum; 1 where there are none
    scale : (…) the largest gap that was seen
    """

    gaps: FloatArray
    counts: FloatArray
    total: FloatArray
    scale: FloatArray

    @property
    def means(self) -> FloatArray:
        """The mean gap of each stratum, (…, R); 0 without cases."""
        return np.asarray((self.counts * self.gaps).sum(axis=-1) / self.total)

    @property
    def first_guess(self) -> FloatArray:
        """The coefficient (…) with which the ratio grows as s²: the sum of variance / n."""
        square = (self.counts * (self.gaps - self.means[..., None]) ** 2).sum(axis=-1)
        guess = (square / self.total**2).sum(axis=-1)
        return np.where(guess > 0, guess, 1.0)

    @cached_property
    def usual(self) -> FloatArray:
        """The gap of the value that most cases of a stratum have, (…, R, 1); 0 without cases."""
        most = self.counts.argmax(axis=-1)[..., None]
        gap = np.take_along_axis(self.gaps, most, axis=-1)
        return np.where(self.counts.any(axis=-1, keepdims=True), gap, 0.0)

    @cached_property
    def lead(self) -> tuple[Any, ...]:
        """Where arrays (…, R) have the entries (…) of the leading strata."""
        size = self.gaps.shape[-2]
        return (..., 0) if size == 1 else (np.arange(size), ..., np.arange(size))


def strata_of(gaps: FloatArray, counts: FloatArray) -> Strata:
    """Gaps and counts as a likelihood needs them; both are (…, R, C)."""
    # The tilt is the reciprocal of a cost; scaled, guesses and tolerances suit any unit of money.
    seen = counts > 0
    scale = gaps.max(axis=(-2, -1), initial=0.0, where=seen)
    scaled = gaps / np.where(scale > _LEAST, scale, 1.0)[..., None, None]
    total = counts.sum(axis=-1)
    return Strata(np.where(seen, scaled, 1.0), counts, np.where(total > 0, total, 1.0), scale)


def pseudo_cases(gaps: FloatArray, counts: FloatArray) -> FloatArray:
    """How much of a case (…, R) is added at the costliest value of each stratum.

    Gaps (…, R, C) are those below the costliest value; cells that no case shows may be among them.
    """
    strata = strata_of(gaps, counts)
    mean = strata.means
    some = mean > _LEAST
    apart = strata.gaps / np.where(some, mean, 1.0)[..., None] - 1
    seen = np.where(some, (counts * apart**2).sum(axis=-1), 0.0)
    return np.asarray(_PSEUDO_CASES / (1 + np.minimum(seen, _MANY) ** 2 / _FADING))


class Costliest(NamedTuple):
    """The probabilities of greatest mean within a threshold.

    Attributes
    ----------
    shares : (…, R, C) where those of a stratum add up to less than one, the rest belongs to its
        costliest value
    usual : (…) the sum over strata of the gaps of their usual values
    further : (…) the mean of all gaps less that, without what is missed
    missed : (…) what their mean still lacks, to first order, because no tilt is exact
    slant : (…) of the leading stratum, per unit of cost; nan where there is none
    """

    shares: FloatArray
    usual: FloatArray
    further: FloatArray
    missed: FloatArray
    slant: FloatArray


def costliest_shares(
    gaps: FloatArray, counts: FloatArray, threshold: FloatArray, near: FloatArray | None = None
) -> Costliest:
    """The probabilities p (…, R, C) of greatest mean whose ratio is within the threshold (…).

    `gaps` (…, R, C) say how far each value is below the costliest of its stratum. The search starts
    at the slants `near` (…) of a similar problem, where they are known.
    """
    strata = strata_of(gaps, counts)
    # Where only costliest values were seen, no tilt changes anything.
    bounded = (strata.scale > 0) & np.isfinite(threshold)
    scale = np.where(bounded & (strata.scale > _LEAST), strata.scale, np.nan)
    goal = np.where(bounded, threshold, 1.0)
    guess = (np.log(goal) - np.log(strata.first_guess)) / 2 - np.log(strata.total[strata.lead])
    if near is not None:
        similar = np.log(near * scale)
        guess = np.where(np.abs(similar - guess) < LONGEST, similar, guess)
    tilted, missed = tilted_to(goal, _ratio_itself, strata, guess, bounded)
    missed = np.where(bounded, strata.scale * missed / (2 * tilted.tilt), 0.0)
    # An infinite threshold puts all mass on the costliest values.
    finite = np.isfinite(threshold)
    shares = np.where(finite[..., None, None] | (gaps == 0), tilted.shares, 0.0)
    usual = np.where(finite[..., None], strata.usual[..., 0], 0.0)
    # Where no level makes shares sum to one, the rest belongs to the costliest value, of gap zero.
    rest = usual * np.where(tilted.level > 0, 0.0, 1 - shares.sum(axis=-1))
    further = (shares * (strata.gaps - usual[..., None])).sum(axis=-1) - rest
    usual, further = (strata.scale * part.sum(axis=-1) for part in (usual, further))
    return Costliest(shares, usual, further - missed, missed, tilted.slant / scale)


class Tilted(NamedTuple):
    """Shares (…, R, C) tilted by s (…) towards the costly values, and their ratio.

    The excess (…, R, C) is how many times the observed shares exceed the tilted ones, less one. The
    slope is that of the ratio in the log of the slant. The level (…, R) is the u above, and `fall`
    what it loses while s grows by its own size, where there are several strata.
    """

    shares: FloatArray
    excess: FloatArray
    ratio: FloatArray
    slope: FloatArray
    slant: FloatArray
    tilt: FloatArray
    level: FloatArray
    fall: FloatArray


def _ratio_itself(tilted: Tilted) -> tuple[FloatArray, FloatArray]:
    return tilted.ratio, np.ones(tilted.ratio.shape)


def tilted_to(
    goal: FloatArray,
    measure: Callable[[Tilted], tuple[FloatArray, FloatArray]],
    strata: Strata,
    guess: FloatArray,
    moving: BoolArray,
) -> tuple[Tilted, FloatArray]:
    """The tilt (…) at which a measure, which grows with it, reaches the goal; by Newton's method.

    `measure` gives its value and its pace, how much it grows with the ratio; `guess` is one of the
    log of the slant. The second result (…) is how far the ratio still is from that of the goal,
    which corrects results to first order. It matters where the slant is too coarse: in a stratum of
    n cases without its costliest value, a step of 1/n in its log may be all there is to an
    interval. Elements that are not `moving` have no such tilt, and their results are meaningless.
    """
    log_slant, apart, near = guess, strata.gaps - strata.usual, None
    low, high = np.full_like(guess, -np.inf), np.full_like(guess, np.inf)
    last = high
    for _ in range(_STEPS):
        near = tilted = _tilted(strata, apart, np.exp(log_slant), near)
        value, pace = measure(tilted)
        short = value < goal
        low, high = np.where(short, log_slant, low), np.where(short, high, log_slant)
        straight = tilted.level.min(axis=-1) == 0
        step = _newton_step(value, pace * tilted.slope, goal, short, straight)
        # Halve the bracket where a Newton step leaves it or is not half as long as the last: where
        # a stratum lacks its costliest value, the ratio has a corner at which Newton's method might
        # oscillate.
        halve = (low > -np.inf) & (high < np.inf)
        if halve.any():
            new = log_slant + step
            halve &= (new < low) | (new > high) | (np.abs(step) > np.maximum(last / 2, _NEAR))
            step = np.where(halve, np.where(halve, low + high, 0.0) / 2 - log_slant, step)
        last = np.abs(step)
        log_slant = np.where(moving, log_slant + step, log_slant)
        far = np.abs(goal - value) > _SMALL * goal
        moving = moving & far & (last > _CLOSE) & (log_slant < guess + _STEEPEST)
        if not moving.any():
            break
    # The measure is infinite where weights are so uneven that all terms cancel.
    known = (pace > 0) & np.isfinite(value)
    return tilted, np.divide(goal - value, pace, where=known, out=np.zeros(goal.shape))


def _newton_step(
    value: FloatArray, slope: FloatArray, goal: FloatArray, short: BoolArray, straight: BoolArray
) -> FloatArray:
    """A Newton step in the log of the slant, for a measure that grows like a power of the slant.

    Where a level is zero, a measure grows straight with that logarithm instead.
    """
    sound = (value > _NOISE * goal) & (slope > _LEAST * value)  # otherwise, it is rounding error
    value, slope = np.where(sound, value, 1.0), np.where(sound, slope, 1.0)
    step = np.where(straight, goal - value, np.log(goal / value) * value) / slope
    step = np.where(sound, step, np.where(short, LONGEST, -LONGEST))
    return np.minimum(np.maximum(step, -LONGEST), LONGEST)


def _tilted(strata: Strata, apart: FloatArray, slant: FloatArray, near: Tilted | None) -> Tilted:
    """Shares at a slant (…) of the leading strata, searched for from those nearby, if any."""
    gaps, counts, total, lead = strata.gaps, strata.counts, strata.total, strata.lead
    leading = (*lead, slice(None))
    lead_level = (counts[leading] / (1 + slant[..., None] * gaps[leading])).sum(axis=-1)
    s = slant * lead_level
    tilt, level = s[..., None, None] * gaps, lead_level[..., None]
    several = gaps.shape[-2] > 1
    if several:
        level = _levels(tilt, counts, total, None if near is None else _least_level(s, near))
    # Results take the place of what is not needed any more: thousands of classes make large arrays.
    divisor = np.add(level[..., None], tilt, out=None if several else tilt)
    shares = counts / divisor
    steep = np.divide(shares, divisor, out=divisor)
    steepness = np.maximum(steep.sum(axis=-1), _LEAST)
    # Relative to the usual value, so that all digits stay: others nearly cancel when there are many
    # cases. Shares sum to one, and so the level is the total less the mean of the tilts.
    mean, falling = (shares * apart).sum(axis=-1), (steep * apart).sum(axis=-1) / steepness
    excess, slope, fall = apart - mean[..., None], mean - falling, np.zeros_like(level)
    if several:  # a level of zero stays there, and the rest belongs to the costliest value
        some, short = level > 0, total / s[..., None]
        fall = some * (steep * tilt).sum(axis=-1) / steepness
        excess = np.where(some[..., None], excess, gaps - short[..., None])
        slope = np.where(some, slope, (shares * gaps).sum(axis=-1))
    excess *= s[..., None, None]
    excess /= total[..., None]
    logs = np.maximum(excess, -1.0, out=divisor)
    with np.errstate(divide="ignore"):  # where weights are so uneven that all terms cancel
        np.log1p(logs, out=logs)
    ratio = 2 * (counts * logs).sum(axis=(-2, -1))
    # While the log of the slant grows by one, that of the tilt grows by this much.
    eased = lead_level * steepness[lead]
    slope = 2 * s * slope.sum(axis=-1) * eased
    return Tilted(shares, excess, ratio, slope, slant, s, level, fall)


def _least_level(s: FloatArray, near: Tilted) -> FloatArray:
    """What the levels (…, R) at a tilt are at least: levels are convex in s, tangents below them.

    They make harmonic means of u + s g constant, which are concave.
    """
    return near.level - near.fall * (s / near.tilt - 1)[..., None]


def _levels(
    tilt: FloatArray, counts: FloatArray, total: FloatArray, near: FloatArray | None
) -> FloatArray:
    r"""The u ≥ 0 (…, R) with :math:`\sum_j n_j / (u + t_j) = 1`; zero where the sum stays below.

    Newton's method for the reciprocal of the sum, which is concave in u (a harmonic mean): after
    one step it is below the root, and it never overshoots. The root is at least each n − t, and at
    least what the arithmetic mean in place of the harmonic one gives. A step δ leaves an error of
    at most δ² / u.
    """
    mean = total - (counts * tilt).sum(axis=-1) / total
    least = np.maximum(np.maximum(mean, (counts - tilt).max(axis=-1, initial=0.0)), 0.0)
    level = least if near is None else np.maximum(near, least)
    for _ in range(_STEPS):
        divisor = level[..., None] + tilt
        terms = counts / divisor
        total_share = terms.sum(axis=-1)
        steep = (terms / divisor).sum(axis=-1)
        new = level + total_share * (total_share - 1) / np.maximum(steep, _LEAST)
        new = np.maximum(new, least)
        done = np.abs(new - level) <= np.maximum(1e-8 * new, 1e-14 * total)
        level = new
        if done.all():
            break
    return np.asarray(level)


# Profile likelihood of a mean whose possible values are known ------------------------------------
#
# A case costs one of finitely many known amounts, so the likelihood of a table of counts is that
# of a multinomial, and every mean cost has a largest likelihood, its *profile*. An interval holds
# the means that a likelihood-ratio test does not reject (Owen 1990, 2001). The support is known
# here, so that amounts which no case shows take part: with no mistake among n cases the upper
# bound is about that of the rule of three, not zero.
#
# Let stratum k have weight π_k, values c_kj with counts n_kj, n_k = Σ_j n_kj, and costliest
# possible value C_k. The upper bound is the largest θ = Σ_k π_k Σ_j p_kj c_kj with
#
#     2 Σ_kj n_kj log((n_kj / n_k) / p_kj) ≤ q .
#
# Lagrange multipliers give the probabilities on its boundary, a curve with one parameter s > 0:
#
#     p_kj = n_kj / (u_k + s π_k (C_k − c_kj))
#
# where u_k ≥ 0 makes stratum k sum to one; where no u does (its costliest value has no count and s
# is large) u_k = 0, and the rest of the mass goes to that value. Both the mean and the ratio grow
# with s, so that one root in s gives the upper bound. The lower bound is the negated upper bound
# of the negated values.
#
# Two corrections keep the coverage of such intervals in small samples, where the distribution of
# the ratio is not yet close to χ^2:
#
# - *Up to 0.4 of a case is added at the costliest value* for the upper bound (at the cheapest for
#   the lower bound). A sample with few costly mistakes, or none, says less about them than its
#   likelihood claims: where two of them are expected, nominal 95 % intervals cover in 84 % without
#   it. The more of them the sample shows, the less is missing. The pseudo-case of stratum k is
#
#       0.4 / (1 + m_k² / 5),   m_k = Σ_j n_kj ((c_kj − c̄_k) / (C_k − c̄_k))² ,
#
#   where m is the variance of the mean over the square of how far one more case of the costliest
#   value would move it: about the number of mistakes, where only the costliest ones cost anything.
#   So the pseudo-case is 0.4 where none was seen and 0.14 where three were. It was chosen by
#   coverage that can be computed exactly: where rare mistakes cost the same, and where rare
#   differences of one size go either way, nominal 95 % intervals of 10,000 cases cover in at least
#   93 % at every rate, and those of 60 to 1,000 cases in 92.4 %. Since it is a function of means
#   and variances, it does not change when cells of equal cost are merged, and it is continuous in
#   the costs.
# - With several strata, the pseudo-case goes *into each stratum in turn*, and the widest interval
#   counts. In every stratum at once it would count one unseen mistake several times. In the
#   stratum that matters most alone, however defined, the interval would jump where another begins
#   to matter.
#
# For θ above the estimate the ratio is max_t 2 Σ n log(1 - t (c - θ)) over t ≥ 0 (for one stratum,
# and similarly for several), which falls when a value rises: with a fixed pseudo-case the bounds
# are monotone in every cost. When a mistake that was seen becomes costlier, the pseudo-case
# shrinks, but by less than the mistake itself adds: in random tables of whole cases no bound fell;
# with less than one effective case, bounds fell by at most a ten-millionth of the range. Values of
# equal cost may be merged without changing the ratio or m, so that the bounds are continuous in
# the costs even where another value becomes the costliest.

_ROUNDING = 1e-12  # relative, of distances between values


@record
class Support(Value):
    """The values that a quantity can take, stratum by stratum, and how often each was seen.

    The quantity is the sum over strata of the mean value of a stratum; weights of strata, such as a
    prior, are factors of the values.

    Attributes
    ----------
    values : (…, R, C) values of the cells of R strata
    counts : (…, R, C) cases of these cells, perhaps fractional: effective numbers
    lowest, highest : (…, R) least and greatest value that is possible in each stratum
    degrees : (…)
        Degrees of freedom of the threshold that these counts need: those of `sampling`, at
        most clusters less one; inf for cases
    between : (…) variance of the mean that comes from estimated shares of strata; zero for others

    Examples
    --------
    A cost of 1 in ten of a hundred cases, 0 in the others:

    >>> from stakes.inference import profile_threshold
    >>> support = Support(np.array([[0.0, 1.0]]), np.array([[90.0, 10.0]]), np.zeros(1), np.ones(1))
    >>> low, high = profile_bounds(support, profile_threshold(0.95, np.asarray(np.inf)))
    >>> round(float(low), 3), round(float(high), 3)
    (0.051, 0.169)
    """

    values: FloatArray
    counts: FloatArray
    lowest: FloatArray
    highest: FloatArray
    degrees: FloatArray = field(default_factory=lambda: np.asarray(np.inf))
    between: FloatArray = field(default_factory=lambda: np.asarray(0.0))

    @property
    def mean(self) -> FloatArray:
        """The observed mean (…), the sum of those of the strata."""
        cases = self.counts.sum(axis=-1)
        sums = (self.counts * self.values).sum(axis=-1)
        return np.asarray(np.sum(sums / np.where(cases > 0, cases, 1.0), axis=-1))

    def of_quantity(self, position: int) -> Support:
        """The support of one of several quantities.

        Parameters
        ----------
        position : its position along the last leading axis

        Returns
        -------
        its support

        Examples
        --------
        >>> values, counts = np.array([[[0.0, 1.0]]]), np.array([[[90.0, 10.0]]])
        >>> Support(values, counts, np.zeros((1, 1)), np.ones((1, 1))).of_quantity(0).values
        array([[0., 1.]])
        """
        return Support(
            self.values[..., position, :, :],
            self.counts[..., position, :, :],
            self.lowest[..., position, :],
            self.highest[..., position, :],
            *(
                np.broadcast_to(part, self.lowest.shape[:-1])[..., position]
                for part in (self.degrees, self.between)
            ),
        )

    def negated(self) -> Support:
        """The support of the negated quantity: its upper bound is the lower bound of this one.

        Returns
        -------
        the support of the negated quantity

        Examples
        --------
        >>> values, counts = np.array([[0.0, 1.0]]), np.array([[90.0, 10.0]])
        >>> Support(values, counts, np.zeros(1), np.ones(1)).negated().highest
        array([-0.])
        """
        ends = -self.highest, -self.lowest
        return Support(-self.values, self.counts, *ends, self.degrees, self.between)

    def shifted(self, amount: FloatArray | float) -> Support:
        """The support of the quantity plus a known amount.

        Parameters
        ----------
        amount : (…) what is added

        Returns
        -------
        the shifted support

        Examples
        --------
        >>> values, counts = np.array([[0.0, 1.0]]), np.array([[90.0, 10.0]])
        >>> Support(values, counts, np.zeros(1), np.ones(1)).shifted(2.0).values
        array([[2., 3.]])
        """
        first = np.arange(self.lowest.shape[-1]) == 0  # the strata are added up
        move = np.asarray(amount)[..., None] * first
        return Support(
            self.values + move[..., None],
            self.counts,
            self.lowest + move,
            self.highest + move,
            self.degrees,
            self.between,
        )


def stacked(supports: list[Support]) -> Support:
    """Supports of several quantities side by side; cells that one lacks have no count."""
    size = max(support.values.shape[-1] for support in supports)

    def padded(cells: FloatArray) -> FloatArray:
        return np.pad(cells, ((0, 0), (0, size - cells.shape[-1])))

    return Support(
        values=np.stack([padded(support.values) for support in supports]),
        counts=np.stack([padded(support.counts) for support in supports]),
        lowest=np.stack([support.lowest for support in supports]),
        highest=np.stack([support.highest for support in supports]),
        degrees=np.stack([support.degrees for support in supports]),
        between=np.stack([support.between for support in supports]),
    )


def profile_bounds(
    support: Support,
    threshold: FloatArray,
    estimate: FloatArray | float = 0.0,
    variance: FloatArray | float = 0.0,
) -> tuple[FloatArray, FloatArray]:
    r"""Lower and upper bound (…) of the means that the likelihood ratio does not reject.

    Parameters
    ----------
    support : what the mean can be made of, and how often each part was seen
    threshold : (…)
        The q above: a quantile of :math:`\chi^2_1`, the square of Student's t, or the square of a
        critical value for many intervals at once; inf gives the range of the values.
    estimate, variance : (…)
        The estimate, and the variance of a further error that it has, if any; see `widened`.

    Returns
    -------
    lower and upper bound, each (…)

    Examples
    --------
    No mistake among 100 cases; a mistake would cost 1:

    >>> support = Support(np.array([[0.0, 1.0]]), np.array([[100.0, 0.0]]), np.zeros(1), np.ones(1))
    >>> low, high = profile_bounds(support, np.array(3.841))
    >>> float(low), float(high.round(3))
    (0.0, 0.031)
    """
    q = np.asarray(threshold)
    # The lower bound is the upper bound of the negated values; 0.0 − x turns −0 into 0.
    bounds = 0.0 - upper_bound(support.negated(), q), upper_bound(support, q)
    middle, more = _further(support, estimate, variance)
    low, high = widened(middle, bounds, q, more)
    least, greatest = support.lowest.sum(axis=-1), support.highest.sum(axis=-1)
    return np.clip(low, least, greatest), np.clip(high, least, greatest)


def _further(
    support: Support, estimate: FloatArray | float, variance: FloatArray | float
) -> tuple[FloatArray, FloatArray]:
    """The estimate, and the variance of all that the likelihood within the strata leaves out."""
    middle = np.where(support.between > 0, support.mean, estimate)
    return np.asarray(middle), np.asarray(variance + support.between)


def widened(
    estimate: FloatArray,
    bounds: tuple[FloatArray, FloatArray],
    threshold: FloatArray,
    variance: FloatArray,
) -> tuple[FloatArray, FloatArray]:
    """Bounds (…) that also allow for a further, independent normal error of the estimate.

    Distances from the estimate add by their squares, as standard errors do. (Multiplied by a ratio
    of standard errors, they would explode where two systems differ in hardly any case.) Nothing
    changes where the variance is zero.

    Parameters
    ----------
    estimate : the observed mean, (…)
    bounds : lower and upper bound
    threshold : the squared critical value that the bounds were made with
    variance : variance of the further error

    Returns
    -------
    lower and upper bound, each (…)

    Examples
    --------
    >>> bounds = np.array(2.0), np.array(5.0)
    >>> low, high = widened(np.array(5.0), bounds, np.array(4.0), np.array(4.0))
    >>> float(low), float(high)
    (0.0, 9.0)
    """
    some = (variance > 0) & np.isfinite(estimate)
    middle = np.where(some, estimate, 0.0)
    noise = np.sqrt(np.where(some, variance, 0.0)) * np.sqrt(np.where(some, threshold, 0.0))
    low, high = (np.hypot(end - middle, noise) for end in bounds)  # products might overflow
    return np.where(some, middle - low, bounds[0]), np.where(some, middle + high, bounds[1])


def profile_ratio(
    support: Support,
    value: FloatArray,
    estimate: FloatArray | float = 0.0,
    variance: FloatArray | float = 0.0,
) -> FloatArray:
    """The least threshold (…) whose interval holds a value (…): what a test of it would report.

    Zero for the estimate, inf beyond the range of the values. Since it is the inverse of
    `profile_bounds`, a p-value made of it is below 1 − level exactly where the interval leaves the
    value out. With the variance of a further error of the estimate it is the inverse of `widened`
    bounds.

    Parameters
    ----------
    support : what the mean can be made of, and how often each part was seen
    value : the mean in question, (…)
    estimate : the observed mean, (…)
    variance : variance of the further error

    Returns
    -------
    thresholds, (…)

    Examples
    --------
    >>> support = Support(np.array([[0.0, 1.0]]), np.array([[100.0, 0.0]]), np.zeros(1), np.ones(1))
    >>> float(profile_ratio(support, np.array(0.05)).round(2))
    7.44
    """
    goal = np.asarray(value, dtype=np.float64)
    middle, more = _further(support, estimate, variance)
    above = _ratio_above(support, goal, middle, more)
    return np.maximum(above, _ratio_above(support.negated(), -goal, -middle, more))


def upper_bound(support: Support, threshold: FloatArray) -> FloatArray:
    """The greatest mean (…) within the threshold, the pseudo-case in each stratum in turn."""
    return upper_bound_from(None, support, threshold)[0]


def upper_bound_from(
    near: FloatArray | None, support: Support, threshold: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """`upper_bound` and its slants (R, …), searched for from those of a similar problem, if any.

    A slant of nan stands for none; see the tilted shares above.
    """
    # The mean is computed as a distance below its maximum, which keeps the digits of small gaps.
    gaps, counts = _with_pseudo_cases(support, threshold.shape)
    q = np.broadcast_to(threshold, gaps.shape[:-2])
    costliest = costliest_shares(gaps, counts, q, near)
    means = support.highest.sum(axis=-1) - costliest.usual - costliest.further
    return np.asarray(means.max(axis=0)), costliest.slant


def _ratio_above(
    support: Support,
    value: FloatArray,
    estimate: FloatArray,
    variance: FloatArray,
) -> FloatArray:
    """The least threshold (…) at which the upper bound reaches a value; zero below the estimate."""
    gaps, counts = _with_pseudo_cases(support, value.shape)
    distance = np.broadcast_to(support.highest.sum(axis=-1) - value, gaps.shape[:-2])
    # `widened` adds squares: (value − estimate)² = (bound − estimate)² + variance · threshold. The
    # tilt is sought at which bound and further error together reach the value.
    far = np.maximum(value - estimate, 0.0)
    strata = strata_of(gaps, counts)
    scale, usual = strata.scale, strata.usual

    def climbed(tilted: Tilted) -> tuple[FloatArray, FloatArray]:
        """How far the tilt and the further error move the mean, and the pace of this."""
        with np.errstate(divide="ignore", invalid="ignore"):
            unexplained = far**2 - variance * tilted.ratio
            # Where 0 · inf is undefined, the comparison is false and nothing is left to explain.
            spared = np.sqrt(np.where(unexplained > 0, unexplained, 0.0))
            eased = np.where(spared > 0, variance / (2 * spared), 0.0)
        # The difference of two means, which would lose digits if both were computed.
        moved = (tilted.shares * tilted.excess * strata.gaps).sum(axis=(-2, -1))
        climb = scale * np.maximum(moved, 0.0) + far - spared
        return climb, scale / (2 * tilted.tilt) + eased

    # Means relative to the usual values keep their digits when nearly all cases have them.
    known = support.highest.sum(axis=-1) - scale * usual.sum(axis=(-2, -1))
    mean = ((counts * (strata.gaps - usual)).sum(axis=-1) / strata.total).sum(axis=-1)
    goal = value - known + scale * mean
    # No finite tilt reaches the costliest value, unless a further error helps.
    beyond = (distance < 0) | (goal > 0) & (distance <= _ROUNDING * scale) & (variance == 0)
    inside = (goal > 0) & ~beyond
    first = strata.first_guess * np.where(scale > 0, scale, 1.0)
    goal = np.where(inside, goal, first)  # of the size of the costs, however small these are
    guess = np.log(goal) - np.log(first) - np.log(strata.total[strata.lead])
    tilted, missed = tilted_to(goal, climbed, strata, guess, inside)
    with np.errstate(invalid="ignore"):  # where weights are so uneven that no tilt was found
        ratio = np.where(beyond, np.inf, np.where(inside, tilted.ratio + missed, 0.0))
    return np.asarray(ratio.min(axis=0))


def _with_pseudo_cases(support: Support, leading: tuple[int, ...]) -> tuple[FloatArray, FloatArray]:
    """Gaps below the costliest value, and counts, (R, …, R, C + 1).

    The first axis is the stratum that holds the pseudo-case, which is the last cell. The leading
    axes are broadcast with `leading`.
    """
    # Values above the highest possible one belong to cells without cases.
    gaps = np.maximum(support.highest[..., None] - support.values, 0.0)
    counts, strata = support.counts, gaps.shape[-2]
    shape = np.broadcast_shapes(gaps.shape, counts.shape, (*leading, 1, 1))
    extra = np.broadcast_to(pseudo_cases(gaps, counts), shape[:-1])
    extra = extra[..., None] * np.eye(strata)  # (…, R, R)
    extra = np.moveaxis(extra, -1, 0)[..., None]
    shape = (strata, *shape)
    gaps = np.concatenate([np.broadcast_to(gaps, shape), np.zeros_like(extra)], axis=-1)
    return gaps, np.concatenate([np.broadcast_to(counts, shape), extra], axis=-1)


# -------------------------------------------------------------------------------------------------
# Rows of equal weight: the strata of a sample whose rows stand for different numbers of
# cases.
#
# An audit checks all flagged cases and one in ten of the others; its rows weigh 1 and 10. The rows
# of one weight are a sample of their own, in which every row counts once, and the estimate is the
# mean of their means m_h, with shares W_h = w_h n_h / Σ_g w_g n_g of all weight: a likelihood with
# several strata, see above. How much an unseen mistake could change the estimate thus
# depends on the stratum that it would be in, and a mistake of a heavy row is not spread over the
# light ones, as it is where a design effect divides all numbers of cases alike.
#
# The shares are estimated from the rows as well. Where each case got into the sample with the
# probability 1/w_h, independently of the others, they add
#
#     Σ_h n_h w_h² (m_h − θ)² / (Σ_h n_h w_h)²
#
# to the variance of the estimate: together with the variance within the strata this is that of a
# weighted mean, which takes each row as drawn by itself. Where exactly one in ten was checked, the
# shares are known better than that, and intervals are somewhat wider than necessary.
#
# Often decisions say which stratum a case is in: what one of two systems flagged was checked.
# Where each decision of a system, or pair of decisions of two, that was seen lies in a single
# stratum, and not by chance, the stratum is taken to be a function of it, and differences between
# systems are compared among the decisions that are then possible in a stratum: where both systems
# passed all cases, they do not differ, and the interval is as narrow as with all labels. A
# decision that was seen nowhere stays possible everywhere. Without such a rule, all decisions are
# possible in every stratum.
#
# Where each class lies in one stratum, as where one in twenty negatives was kept, the strata do
# not say how often a mistake was possible in each, and the design effect of `sampling`
# remains, as it does for clusters, for a stated prior, whose classes have shares of their own, and
# for more than twenty different weights.

MOST_STRATA = 20  # different weights; beyond, strata of few rows say little about their means
_EQUAL = 1e-9  # relative, of weights that are equal
_BY_CHANCE = 1e-6  # probability that decisions lie in one stratum each without a rule
_MOST_SYSTEMS = 40  # of which all pairs are looked at


@record
class WeightStrata(Value):
    """How many rows of each weight there are in each cell of a tally.

    Attributes
    ----------
    weights : (H,) different weights
    rows : (H, …) numbers of rows, behind the first axis of the shape of the weights of the tally

    Examples
    --------
    Of ten rows in the first cell one stands for ten cases:

    >>> strata = WeightStrata(np.array([1.0, 10.0]), np.array([[9.0, 2.0], [1.0, 0.0]]))
    >>> strata.squares
    array([109.,   2.])
    """

    weights: FloatArray
    rows: FloatArray

    @property
    def squares(self) -> FloatArray:
        """The sums of squared weights, of the shape of the weights of the tally."""
        return np.asarray(np.tensordot(self.weights**2, self.rows, axes=1))


def few_weights(weights: FloatArray) -> FloatArray | None:
    """The different weights in increasing order; None where there are more than twenty.

    Weights that differ by rounding are one, the least of them.

    Parameters
    ----------
    weights : (n,) positive weights

    Returns
    -------
    the different weights, (H,), or None

    Examples
    --------
    >>> few_weights(np.array([10.0, 1.0, 10.0]))
    array([ 1., 10.])
    """
    distinct = np.unique(weights)
    distinct = distinct[np.diff(distinct, prepend=0.0) > _EQUAL * distinct]
    return distinct if distinct.size <= MOST_STRATA else None


def stratum_of(weights: FloatArray, distinct: FloatArray) -> IntArray:
    """The position (n,) of each weight among the `few_weights`.

    Parameters
    ----------
    weights : (n,) positive weights
    distinct : (H,) the different ones

    Returns
    -------
    positions, (n,)

    Examples
    --------
    >>> stratum_of(np.array([10.0, 1.0, 10.0]), np.array([1.0, 10.0]))
    array([1, 0, 1])
    """
    _check.shapes("h", distinct=distinct)
    return np.searchsorted(distinct, weights, side="right") - 1


def summed(
    squares: FloatArray | WeightStrata | None, sums: Callable[[FloatArray], FloatArray]
) -> FloatArray | WeightStrata | None:
    """What is known of the weights of cells, summed into other cells.

    Parameters
    ----------
    squares : sums of squared weights, or the rows by their weight; None for cases
    sums : sums numbers of the cells (…, C) into others

    Returns
    -------
    the same for the other cells

    Examples
    --------
    >>> strata = WeightStrata(np.array([1.0, 10.0]), np.array([[9.0, 2.0], [1.0, 0.0]]))
    >>> summed(strata, lambda cells: cells.sum(axis=-1, keepdims=True)).squares
    array([111.])
    """
    if squares is None:
        return None
    if isinstance(squares, WeightStrata):
        return WeightStrata(squares.weights, sums(squares.rows))
    return sums(squares)


def checked_squares(squares: object, shape: tuple[int, ...]) -> FloatArray:
    """Sums of squared weights, one for each weight of a tally of this shape."""
    squared = squares.squares if isinstance(squares, WeightStrata) else squares
    squared = _check.non_negative("squares", squared)
    if squared.shape != shape:
        raise InputError(
            f"squares must have the shape {shape} of the weights of the tally, a sum of squared "
            f"weights for each; the shape is {squared.shape}. Add them up as the weights."
        )
    return squared


def combined(supports: list[Support], weights: FloatArray) -> Support:
    """The support of a mean over strata, from that of each stratum by itself.

    Parameters
    ----------
    supports : of H strata whose rows count once each
    weights : (H,) how many cases a row of each stratum stands for

    Returns
    -------
    the support of the mean over all strata

    Examples
    --------
    Nine rows without a mistake and one with, which stands for ten cases:

    >>> values, ends = np.array([[0.0, 1.0]]), (np.zeros(1), np.ones(1))
    >>> parts = [Support(values, np.array([n]), *ends) for n in ([9.0, 0.0], [0.0, 1.0])]
    >>> both = combined(parts, np.array([1.0, 10.0]))
    >>> both.highest.round(3), round(float(both.mean), 3), round(float(both.between), 3)
    (array([0.474, 0.526]), 0.526, 0.069)
    """
    size = max(support.values.shape[-1] for support in supports)

    def joined(name: str) -> FloatArray:
        parts = [getattr(support, name) for support in supports]
        if name in ("values", "counts"):  # cells that a stratum lacks have no count
            parts = [
                np.pad(part, [(0, 0)] * (part.ndim - 1) + [(0, size - part.shape[-1])])
                for part in parts
            ]
            return np.concatenate(np.broadcast_arrays(*parts), axis=-2)
        return np.concatenate(np.broadcast_arrays(*parts), axis=-1)

    values, counts = joined("values"), joined("counts")
    rows = counts.sum(axis=-1)  # (…, H)
    mass = rows * weights
    shares = mass / mass.sum(axis=-1, keepdims=True)
    means = (counts * values).sum(axis=-1) / np.where(rows > 0, rows, 1.0)
    apart = means - np.sum(shares * means, axis=-1, keepdims=True)
    return Support(
        values=values * shares[..., None],
        counts=counts,
        lowest=joined("lowest") * shares,
        highest=joined("highest") * shares,
        between=np.asarray(np.sum(shares * weights * apart**2, axis=-1) / mass.sum(axis=-1)),
    )


@record
class StratumRule:
    """How the decisions of one system, or of two, say which stratum a case is in.

    Attributes
    ----------
    systems : positions of the systems
    strata : (M,) or (M, M) the stratum of each decision, or pair of decisions; −1: seen nowhere
    """

    systems: tuple[int, ...]
    strata: IntArray

    def possible(self, pairs: IntArray, able: BoolArray, n_strata: int) -> BoolArray:
        """Which pairs of decisions two systems can take in each stratum, (H, P, M, M).

        Parameters
        ----------
        pairs : (P, 2) positions of systems
        able : (J, M) which decisions each system can take at all
        n_strata : H

        Returns
        -------
        booleans, (H, P, M, M)

        Examples
        --------
        Cases that the first system flags are in the first stratum; the second one may flag any:

        >>> rule = StratumRule((0,), np.array([1, 0]))
        >>> rule.possible(np.array([[0, 1]]), np.ones((2, 2), dtype=bool), 2)[1, 0]
        array([[ True,  True],
               [False, False]])
        """
        size = able.shape[-1]
        possible = np.zeros((n_strata, len(pairs), size, size), dtype=np.bool_)
        for decided in np.ndindex(*self.strata.shape):
            if not able[self.systems, decided].all():
                continue
            agrees = np.ones((len(pairs), size, size), dtype=np.bool_)
            for system, decision in zip(self.systems, decided, strict=True):
                taken = np.arange(size) == decision
                agrees &= ((pairs[:, :1] != system) | taken)[:, :, None]
                agrees &= ((pairs[:, 1:] != system) | taken)[:, None, :]
            stratum = int(self.strata[decided])
            possible[stratum if stratum >= 0 else slice(None)] |= agrees
        return possible


def stratum_rule(strata: WeightStrata, joint: JointCounts) -> StratumRule | None:
    """The rule by which decisions say which stratum a case is in; None where they do not.

    Parameters
    ----------
    strata : rows of each weight, (H, …, T)
    joint : the tuples of decisions

    Returns
    -------
    the rule, or None

    Examples
    --------
    >>> from stakes import Problem
    >>> flagged = [0] * 30 + [1] * 20
    >>> joint = JointCounts.from_decisions([0, 1] * 25, {"old": flagged}, Problem.zero_one(2))
    >>> rows = np.array([[0.0, 10.0, 0.0, 10.0], [15.0, 0.0, 15.0, 0.0]])
    >>> stratum_rule(WeightStrata(np.array([1.0, 10.0]), rows), joint).strata
    array([1, 0])
    """
    size, columns = len(joint.decisions), joint.cells.T[1:]
    rows = strata.rows.reshape(len(strata.rows), -1, len(joint.cells)).max(axis=1)
    total = rows.sum(axis=1)
    with np.errstate(divide="ignore"):
        log_share = np.log(total / total.sum())
    for n_systems in (1, 2) if len(columns) <= _MOST_SYSTEMS else ():
        for systems in combinations(range(len(columns)), n_systems):
            code = np.ravel_multi_index([columns[j] for j in systems], (size,) * n_systems)
            table = np.stack([np.bincount(code, row, size**n_systems) for row in rows])
            if ((table > 0).sum(axis=0) > 1).any():
                continue
            places = np.where(table.any(axis=0), table.argmax(axis=0), -1)
            seen = places >= 0
            # The first row of each decision is in some stratum; all others must follow it.
            others = table.sum(axis=0)[seen] - 1
            if others @ log_share[places[seen]] < np.log(_BY_CHANCE):
                return StratumRule(systems, places.reshape((size,) * n_systems))
    return None
