"""The reliability curve: how often the positive class occurs at each score, and how surely."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stakes import _check
from stakes._check import FloatArray
from stakes._value import Value
from stakes.errors import InputError
from stakes.ranking.hull import single
from stakes.scoring.bins import Bins, bin_sums
from stakes.scoring.tables import probability_scores
from stakes.tally import ScoreTable

__all__ = ["Band", "Reliability", "confidence_band", "consistency_band", "reliability"]


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
    single(table, "the reliability curve")
    probability_scores(table)
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
    draws : (R, S) observed shares of redrawn tables
    """

    scores: FloatArray
    draws: FloatArray

    def limits(self, level: float) -> tuple[FloatArray, FloatArray]:
        """Lower and upper limit at each score, (S,) each, that hold this share of the draws."""
        inside = _check.number("level", level, low=0, high=1)
        lower, upper = np.quantile(self.draws, [(1 - inside) / 2, (1 + inside) / 2], axis=0)
        return lower, upper


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
    curve = reliability(table, bins)
    return _band(table, bins, curve.scores, replicates, rng)


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
    reliability(table, bins)
    pooled = bin_sums(table, bins)
    chances = (pooled.weights[:, 1] + 0.5) / (pooled.mass + 1)
    held = table.weights.sum(axis=1) > 0
    return _band(table, bins, chances[pooled.numbers[held]], replicates, rng)


def _band(
    table: ScoreTable,
    bins: Bins,
    chances: FloatArray,
    replicates: int,
    rng: np.random.Generator,
) -> Band:
    held = table.weights.sum(axis=1) > 0
    mass = table.weights[held].sum(axis=1)
    if not np.array_equal(table.weights, np.floor(table.weights)):
        raise InputError(
            "table must hold whole cases to be redrawn; some weights are fractions. "
            "Leave the weights out, or multiply them to whole numbers."
        )
    count = int(_check.number("replicates", replicates, low=1))
    positive = rng.binomial(mass.astype(np.int64), chances, size=(count, mass.size))
    weights = np.stack([mass - positive, positive], axis=-1)
    redrawn = ScoreTable._trusted(
        scores=table.scores[held], weights=weights, classes=table.classes, groups=None
    )
    pooled = bin_sums(redrawn, bins)
    draws = np.take_along_axis(pooled.shares, pooled.numbers, axis=-1)
    return Band._trusted(scores=redrawn.scores, draws=draws)
