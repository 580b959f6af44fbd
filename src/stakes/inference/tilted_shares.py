r"""Multinomial probabilities tilted towards costly values, as far as a goal asks.

The shares of a stratum with counts :math:`n_j`, whose values lie :math:`g_j` below the costliest
one, are :math:`p_j = n_j / (u + s\, g_j)` for a tilt s > 0, with the level :math:`u \ge 0` at which
they sum to one; where no level does, u = 0 and the rest belongs to the costliest value. The
likelihood of a mean is made of them, see `stakes.inference.likelihood`.

Searches move the *slant* r = s/u of a stratum that has cases of its costliest value, the *lead*.
Both level and tilt follow from it, :math:`u = \sum_j n_j / (1 + r\, g_j)`, and the likelihood ratio
grows about like a power of it. In terms of the tilt, it bends sharply where few cases have the
costliest value: the tilt hardly grows any more once nearly all others are used up. With several
strata the first axis says which of them leads.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from stakes._check import BoolArray, FloatArray
from stakes._value import record

_PSEUDO_CASES = 0.4  # where no costly mistake was seen; chosen by coverage, see `likelihood`
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
