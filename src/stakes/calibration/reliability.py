"""The reliability curve: how often the positive class occurs at each score, and how surely."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from stakes import _check
from stakes._check import FloatArray, IntArray
from stakes._value import Value
from stakes.errors import InputError
from stakes.ranking.hull import single
from stakes.scoring.bins import Bins, bin_sums
from stakes.scoring.tables import probability_scores
from stakes.tally import ScoreTable

_BLOCK = 1 << 20  # redrawn scores at a time, so that memory stays flat


@dataclass(frozen=True, eq=False)
class Reliability(Value):
    """Observed share of positives against the score, as points for bins and along the scores.

    Attributes
    ----------
    scores, observed : (S,) distinct scores, and the share of positives in the bin of each
    bin_scores, bin_shares, bin_weights : (B,) mean score, share of positives and weight of each bin
        that holds cases
    """

    scores: FloatArray
    observed: FloatArray
    bin_scores: FloatArray
    bin_shares: FloatArray
    bin_weights: FloatArray


def reliability(table: ScoreTable, bins: Bins) -> Reliability:
    """The reliability curve of a single table; calibrated scores lie on the diagonal.

    With `HullBins` it is the CORP curve: isotonic regression chooses the bins, and nobody can
    choose others to make a point. Scores without weight are left out.

    Examples
    --------
    >>> from stakes.scoring import HullBins
    >>> curve = reliability(ScoreTable([0.1, 0.3, 0.5], [[8, 2], [4, 6], [5, 5]]), HullBins())
    >>> curve.observed
    array([0.2 , 0.55, 0.55])
    """
    probability_scores(table)
    single(table, "the reliability curve")
    pooled = bin_sums(table, bins)
    held = table.weights.sum(axis=1) > 0
    full = pooled.mass > 0
    return Reliability._trusted(
        scores=table.scores[held],
        observed=pooled.shares[pooled.numbers[held]],
        bin_scores=pooled.scores[full],
        bin_shares=pooled.shares[full],
        bin_weights=pooled.mass[full],
    )


@dataclass(frozen=True, eq=False)
class Band(Value):
    """Redrawn reliability curves, and the limits that hold a share of them at each score.

    Attributes
    ----------
    scores : (S,)
    shares : (R, B) shares of positives in the bins of redrawn tables; for bins that the classes
        themselves decide, `HullBins`, at each score, (R, S)
    places : (S,) the column of `shares` that belongs to each score
    """

    scores: FloatArray
    shares: FloatArray
    places: IntArray

    @property
    def draws(self) -> FloatArray:
        """Observed shares of redrawn tables at each score, (R, S)."""
        return np.asarray(self.shares[:, self.places])

    def limits(self, level: float) -> tuple[FloatArray, FloatArray]:
        """Lower and upper limit at each score, (S,) each, that hold this share of the draws."""
        inside = _check.number("level", level, low=0, high=1)
        lower, upper = np.quantile(self.shares, [(1 - inside) / 2, (1 + inside) / 2], axis=0)
        return lower[self.places], upper[self.places]


def consistency_band(
    table: ScoreTable, bins: Bins, *, replicates: int, rng: np.random.Generator
) -> Band:
    """Curves that calibrated scores would show: classes are redrawn with the scores as chances.

    The band lies around the diagonal; a curve that leaves it speaks against calibration. Scores are
    held as they are. Whole cases only: fractional weights are refused.

    Examples
    --------
    >>> from stakes.scoring import EqualWidth
    >>> table = ScoreTable([0.2, 0.8], [[80, 20], [60, 40]])
    >>> band = consistency_band(
    ...     table, EqualWidth(2), replicates=500, rng=np.random.default_rng(0)
    ... )
    >>> lower, upper = band.limits(0.95)
    >>> bool(lower[1] <= 0.4 <= upper[1])
    False
    """
    held = _whole_cases(table, bins)
    return _band(held, bins, held.scores, _check.whole("replicates", replicates, low=1), rng)


def confidence_band(
    table: ScoreTable, bins: Bins, *, replicates: int, rng: np.random.Generator
) -> Band:
    """Curves that other cases might have shown: classes are redrawn with the observed shares.

    The band lies around the curve; where it leaves the diagonal out, calibration is in doubt. A bin
    of n cases, h of them positive, is redrawn with the chance (h + ½)/(n + 1), so that a bin
    without positives is not taken for one that can have none. Pointwise coverage is close to the
    level for bins that are fixed and somewhat above it for `HullBins`, but for the outermost scores
    of `HullBins` when few cases are there: isotonic regression is too extreme at its ends. Scores
    are held as they are. Whole cases only: fractional weights are refused.
    """
    held = _whole_cases(table, bins)
    pooled = bin_sums(held, bins)
    chances = (pooled.weights[:, 1] + 0.5) / (pooled.mass + 1)
    count = _check.whole("replicates", replicates, low=1)
    if bins.follow_classes:
        return _band(held, bins, chances[pooled.numbers], count, rng)
    _check.generator(rng)  # within a bin the chances are equal, so that the bin is drawn as one
    full, places = np.unique(pooled.numbers, return_inverse=True)
    mass = pooled.mass[full]
    hits = rng.binomial(mass.astype(np.int64), chances[full], size=(count, full.size))
    return Band._trusted(scores=held.scores, shares=hits / mass, places=places)


def _whole_cases(table: ScoreTable, bins: Bins) -> ScoreTable:
    """The scores that have cases, when cases are whole."""
    reliability(table, bins)  # refuses what has no curve
    if not np.array_equal(table.weights, np.floor(table.weights)):
        raise InputError(
            "table must hold whole cases to be redrawn; some weights are fractions. "
            "Leave the weights out, or multiply them to whole numbers."
        )
    held = table.weights.sum(axis=1) > 0
    return ScoreTable._trusted(
        scores=table.scores[held], weights=table.weights[held], classes=table.classes, groups=None
    )


def _band(
    table: ScoreTable, bins: Bins, chances: FloatArray, count: int, rng: np.random.Generator
) -> Band:
    """Curves of tables whose classes are redrawn with these chances, (S,), at each score."""
    _check.generator(rng)
    mass = table.weights.sum(axis=1)
    places = np.arange(mass.size)
    pool = partial(_observed, table, bins)
    if not bins.follow_classes:
        numbers = bins.numbers(table)
        starts = np.flatnonzero(np.diff(numbers, prepend=-1))
        places = np.cumsum(np.diff(numbers, prepend=numbers[:1]) > 0)
        pool = partial(_pooled, starts, np.add.reduceat(mass, starts))
    step = max(_BLOCK // mass.size, 1)
    shares = np.concatenate(
        [
            pool(_redrawn(mass, chances, min(step, count - first), rng))
            for first in range(0, count, step)
        ]
    )
    return Band._trusted(scores=table.scores, shares=shares, places=places)


def _redrawn(
    mass: FloatArray, chances: FloatArray, count: int, rng: np.random.Generator
) -> FloatArray:
    """Numbers of positives at each score, (count, S)."""
    if (mass == 1).all():
        return (rng.random((count, mass.size)) < chances).astype(np.float64)
    drawn = rng.binomial(mass.astype(np.int64), chances, size=(count, mass.size))
    return drawn.astype(np.float64)


def _pooled(starts: IntArray, mass: FloatArray, positive: FloatArray) -> FloatArray:
    """Shares of positives in bins that begin at these scores, (count, B)."""
    return np.asarray(np.add.reduceat(positive, starts, axis=1) / mass)


def _observed(table: ScoreTable, bins: Bins, positive: FloatArray) -> FloatArray:
    """Shares of positives in the bin of each score, (count, S), where these classes make bins."""
    weights = np.stack([table.weights.sum(axis=1) - positive, positive], axis=-1)
    redrawn = ScoreTable._trusted(
        scores=table.scores, weights=weights, classes=table.classes, groups=None
    )
    pooled = bin_sums(redrawn, bins)
    return np.take_along_axis(pooled.shares, pooled.numbers, axis=-1)
