"""Where on a line each decision is taken, and how much of a normal lies there.

Posteriors of gaussian classes are a softmax of *bells* h_k − (x − m_k)² / (2 w_k), and they stay
one when they are tempered or biased. Whether one decision is expected to cost more than another, or
more by a tie, is the sign of a sum Σ_k t_k e^bell_k(x), that is, of the log ratio

    r(x) = log Σ_k t_k⁺ e^bell_k(x)  −  log Σ_k t_k⁻ e^bell_k(x).

Within h of a centre c, where the two sums have the weights a_k and b_k and the mean slopes α and β,
Jensen's inequality below and e^y − 1 − y ≤ e^|y| − 1 − |y| above give

    r(x) − r(c)  ≤  |α − β| h + Σ_k a_k (e^y_k − 1 − y_k) + (Σ_k b_k/w_k − min_a 1/w)⁺ h²/2

with y_k = h |slope_k − α|. A cell in which no r that matters can change its sign is decided; the
others are split until they are too small to hold any probability. No region is missed for being
narrow.
"""

from __future__ import annotations

import numpy as np

from stakes._check import BoolArray, FloatArray, IntArray
from stakes._value import record

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
