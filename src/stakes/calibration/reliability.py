"""Reliability curves with bands, and quick tests of calibration.

All take a ScoreTable of probabilities; the single numbers and tests carry its leading axes through.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from stakes import _check
from stakes._arithmetic import ratio
from stakes._check import BoolArray, FloatArray, IntArray, Numbers, unwrapped
from stakes._value import Value, record
from stakes.calibration.calibrator import largest_finite, log_odds
from stakes.calibration.logistic import fit_line
from stakes.errors import InputError
from stakes.ranking import single
from stakes.scoring import Binning, bin_sums, posterior_pairs, probability_scores
from stakes.tally import ScoreTable

_BLOCK = 1 << 20  # resampled scores at a time, which bounds the memory


@record
class Reliability(Value):
    """The observed share of positives against the score, for bins and at every score.

    Attributes
    ----------
    scores, observed : (S,) distinct scores, and the share of positives in the bin of each
    bin_scores, bin_shares, bin_weights : (B,) mean score, share of positives and weight of each bin
        that holds cases

    Examples
    --------
    >>> from stakes.scoring import EqualWidth
    >>> curve = reliability(ScoreTable([0.2, 0.7], [[3, 1], [1, 2]]), EqualWidth(2))
    >>> type(curve).__name__
    'Reliability'
    """

    scores: FloatArray
    observed: FloatArray
    bin_scores: FloatArray
    bin_shares: FloatArray
    bin_weights: FloatArray


def reliability(table: ScoreTable, bins: Binning) -> Reliability:
    """The reliability curve of a single table, which is the diagonal for calibrated scores.

    With `HullBins` it is the CORP curve: isotonic regression determines the bins, so that nobody
    can pick them to suit a conclusion. Scores without weight are left out.

    Parameters
    ----------
    table : distinct scores and the weight of each class at them, (S, 2)
    bins : how scores are pooled

    Returns
    -------
    mean score and share of positives, bin by bin

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
    occupied = table.weights.sum(axis=1) > 0
    full = pooled.mass > 0
    return Reliability._trusted(
        scores=table.scores[occupied],
        observed=pooled.shares[pooled.numbers[occupied]],
        bin_scores=pooled.scores[full],
        bin_shares=pooled.shares[full],
        bin_weights=pooled.mass[full],
    )


@record
class Band(Value):
    """Resampled reliability curves, and pointwise limits that cover a share of them.

    Attributes
    ----------
    scores : (S,)
    shares : (R, B) shares of positives in the bins of resampled tables; for bins that the classes
        themselves decide, `HullBins`, at each score, (R, S)
    places : (S,) the column of `shares` that belongs to each score

    Examples
    --------
    Resampled from calibrated scores, the share at 0.8 is nowhere near the observed 0.4:

    >>> from stakes.scoring import EqualWidth
    >>> table, rng = ScoreTable([0.2, 0.8], [[80, 20], [60, 40]]), np.random.default_rng(0)
    >>> lower, upper = consistency_band(table, EqualWidth(2), replicates=500, rng=rng).limits(0.95)
    >>> observed = np.array([0.2, 0.4])
    >>> (lower <= observed) & (observed <= upper)
    array([ True, False])
    """

    scores: FloatArray
    shares: FloatArray
    places: IntArray

    @property
    def draws(self) -> FloatArray:
        """Observed shares of resampled tables at each score, (R, S)."""
        return np.asarray(self.shares[:, self.places])

    def limits(self, level: float = 0.95) -> tuple[FloatArray, FloatArray]:
        """Lower and upper limit at each score, (S,) each, that cover this share of the curves.

        Parameters
        ----------
        level : share of the draws

        Returns
        -------
        lower and upper limit, (S,) each

        Examples
        --------
        >>> band = Band(np.array([0.2, 0.8]), np.array([[0.1, 0.7], [0.3, 0.9]]), np.array([0, 1]))
        >>> [bound.round(3).tolist() for bound in band.limits(0.5)]
        [[0.15, 0.75], [0.25, 0.85]]
        """
        inside = _check.number("level", level, low=0, high=1)
        lower, upper = np.quantile(self.shares, [(1 - inside) / 2, (1 + inside) / 2], axis=0)
        return lower[self.places], upper[self.places]


def consistency_band(
    table: ScoreTable, bins: Binning, *, replicates: int, rng: np.random.Generator
) -> Band:
    """Consistency band: curves of classes resampled with the scores as probabilities.

    The band lies around the diagonal; a curve that leaves it is evidence against calibration.
    Scores are held fixed. Whole cases only: weights are refused.

    Parameters
    ----------
    table : distinct scores and the weight of each class at them, (S, 2)
    bins : how scores are pooled
    replicates : how many curves to draw
    rng : the generator that draws

    Returns
    -------
    bounds of the curve, bin by bin

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
    occupied = _whole_cases(table, bins)
    return _band(
        occupied, bins, occupied.scores, _check.draws("replicates", replicates, low=1), rng
    )


def confidence_band(
    table: ScoreTable, bins: Binning, *, replicates: int, rng: np.random.Generator
) -> Band:
    """Confidence band: curves of classes resampled with the observed shares.

    The band lies around the curve; where it leaves the diagonal out, calibration is in doubt. A bin
    of n cases, h of them positive, is resampled with the chance (h + ½)/(n + 1), so that a bin
    without positives is not taken for one that can have none. Pointwise coverage is close to the
    level for fixed bins and somewhat above it for `HullBins`, except at the outermost scores of
    `HullBins` when few cases are there: isotonic regression is too extreme at its ends. Scores are
    held fixed. Whole cases only: weights are refused.

    Parameters
    ----------
    table : distinct scores and the weight of each class at them, (S, 2)
    bins : how scores are pooled
    replicates : how many curves to draw
    rng : the generator that draws

    Returns
    -------
    bounds of the curve, bin by bin

    Examples
    --------
    >>> from stakes.scoring import EqualWidth
    >>> table = ScoreTable([0.2, 0.7], [[30, 8], [11, 25]])
    >>> band = confidence_band(table, EqualWidth(2), replicates=100, rng=np.random.default_rng(0))
    >>> type(band).__name__
    'Band'
    """
    _check.generator(rng)
    occupied = _whole_cases(table, bins)
    pooled = bin_sums(occupied, bins)
    # Half a case of each class is added; otherwise a bin of one class would have a band of width 0.
    chances = (pooled.weights[:, 1] + 0.5) / (pooled.mass + 1)
    count = _check.draws("replicates", replicates, low=1)
    if bins.follow_classes:
        return _band(occupied, bins, chances[pooled.numbers], count, rng)
    # Probabilities are equal within a bin, so that one binomial draw for each bin is enough.
    full, places = np.unique(pooled.numbers, return_inverse=True)
    mass = pooled.mass[full]
    hits = rng.binomial(mass.astype(np.int64), chances[full], size=(count, full.size))
    return Band._trusted(scores=occupied.scores, shares=hits / mass, places=places)


def _whole_cases(table: ScoreTable, bins: Binning) -> ScoreTable:
    """The table without scores that have no cases, after a check that weights are integers."""
    reliability(table, bins)  # for its checks
    if table.weighted or not np.array_equal(table.weights, np.floor(table.weights)):
        evidence = "it was made with weights=" if table.weighted else "some weights are fractions"
        raise InputError(
            f"table must hold whole cases to be resampled; {evidence}. Leave the weights out, or "
            f"pass them as copies= if they say how often each row occurred."
        )
    occupied = table.weights.sum(axis=1) > 0
    return ScoreTable._trusted(
        scores=table.scores[occupied],
        weights=table.weights[occupied],
        classes=table.classes,
        groups=None,
    )


def _band(
    table: ScoreTable, bins: Binning, chances: FloatArray, count: int, rng: np.random.Generator
) -> Band:
    """Curves of tables whose classes are resampled with probabilities (S,) at each score."""
    mass = table.weights.sum(axis=1)
    places = np.arange(mass.size)
    pool = partial(_observed, table, bins)
    if not bins.follow_classes:
        numbers = bins.numbers(table)
        starts = np.flatnonzero(np.diff(numbers, prepend=-1))
        # Bins without cases are left out, so that positions are counted again.
        places = np.cumsum(np.diff(numbers, prepend=numbers[:1]) > 0)
        pool = partial(_pooled, starts, np.add.reduceat(mass, starts))
    # Replicates in blocks: all of them at once would take count × scores numbers.
    step = max(_BLOCK // mass.size, 1)
    shares = np.concatenate(
        [
            pool(_resampled(mass, chances, min(step, count - first), rng))
            for first in range(0, count, step)
        ]
    )
    return Band._trusted(scores=table.scores, shares=shares, places=places)


def _resampled(
    mass: FloatArray, chances: FloatArray, count: int, rng: np.random.Generator
) -> FloatArray:
    """Numbers of positives at each score, (count, S)."""
    # One uniform number for each case is several times faster than a binomial draw of one.
    _check.generator(rng)
    if (mass == 1).all():
        return (rng.random((count, mass.size)) < chances).astype(np.float64)
    drawn = rng.binomial(mass.astype(np.int64), chances, size=(count, mass.size))
    return drawn.astype(np.float64)


def _pooled(starts: IntArray, mass: FloatArray, positive: FloatArray) -> FloatArray:
    """Shares of positives in bins that begin at these scores, (count, B)."""
    return np.asarray(np.add.reduceat(positive, starts, axis=1) / mass)


def _observed(table: ScoreTable, bins: Binning, positive: FloatArray) -> FloatArray:
    """Shares of positives in the bin of each score, (count, S), for bins that depend on classes."""
    weights = np.stack([table.weights.sum(axis=1) - positive, positive], axis=-1)
    resampled = ScoreTable._trusted(
        scores=table.scores, weights=weights, classes=table.classes, groups=None
    )
    pooled = bin_sums(resampled, bins)
    return np.take_along_axis(pooled.shares, pooled.numbers, axis=-1)


# One number or one test --------------------------------------------------------------------------


def mean_score_gap(table: ScoreTable) -> Numbers:
    r"""Mean score minus share of positives, :math:`\pi_0 \bar s_0 - \pi_1 (1 - \bar s_1)`, (…).

    Calibrated scores have zero: a necessary condition that costs nothing (hernandez-orallo,
    theorem 41). nan without cases.

    Parameters
    ----------
    table : distinct scores and the weight of each class at them, (…, S, 2)

    Returns
    -------
    difference, (…); 0 is calibrated on average

    Examples
    --------
    >>> float(mean_score_gap(ScoreTable([0.2, 0.6], [[3, 1], [1, 3]])).round(9))
    -0.1
    """
    excess = probability_scores(table)[:, None] - np.array([0.0, 1.0])
    return ratio(np.asarray(np.sum(table.weights * excess, axis=(-2, -1))), table.n_cases)


@record
class CalibrationTest(Value):
    """A statistic that is standard normal for calibrated scores, and its two-sided p-value, (…).

    Parameters
    ----------
    statistic : standard normal for calibrated scores
    p_value : two-sided

    Examples
    --------
    One positive in ten at the score 0.1 and eight in ten at 0.8, as calibrated scores say:

    >>> test = spiegelhalter(ScoreTable([0.1, 0.8], [[90, 10], [20, 80]]))
    >>> abs(float(test.statistic.round(6))), float(test.p_value.round(6))
    (0.0, 1.0)
    """

    statistic: Numbers
    p_value: Numbers


def spiegelhalter(table: ScoreTable) -> CalibrationTest:
    r"""Spiegelhalter's test of 1986: whether the Brier score is what the scores lead to expect.

    .. math:: z = \frac{\sum_i (y_i - s_i)(1 - 2 s_i)}{\sqrt{\sum_i (1 - 2 s_i)^2 s_i (1 - s_i)}}

    Weights count cases. Where the scores expect no variation, all of them being 0, ½ or 1, the
    statistic is infinite if some 0 or 1 was wrong, else nan.

    Parameters
    ----------
    table : distinct scores and the weight of each class at them, (…, S, 2)

    Returns
    -------
    statistic and p-value

    Examples
    --------
    >>> test = spiegelhalter(ScoreTable([0.1, 0.8], [[85, 15], [22, 78]]))
    >>> float(test.statistic.round(3)), float(test.p_value.round(3))
    (1.532, 0.126)
    """
    from scipy.special import ndtr

    scores = probability_scores(table)
    # The loss (y − s)² of a case exceeds its expectation s(1 − s) by (y − s)(1 − 2s).
    slant = 1 - 2 * scores
    terms = np.stack([-scores * slant, (1 - scores) * slant], axis=-1)
    total = np.asarray(np.sum(table.weights * terms, axis=(-2, -1)))
    variance = table.weights.sum(axis=-1) @ (slant**2 * scores * (1 - scores))
    statistic = unwrapped(ratio(total, np.sqrt(variance)))
    return CalibrationTest._trusted(
        statistic=statistic, p_value=unwrapped(2 * ndtr(-np.abs(statistic)))
    )


@record
class CalibrationLine(Value):
    """The calibration line: log-odds of the class as a linear function of those of the score.

    Calibrated scores have slope 1 and intercept 0. A slope below 1 says that the scores are
    overconfident. Where a threshold separates the classes, the fit is bounded and has not
    `converged`.

    Parameters
    ----------
    intercept : 0 for calibrated scores
    slope : 1 for calibrated scores, less for overconfident ones
    converged : whether the fit reached its optimum

    Examples
    --------
    >>> line = calibration_line(ScoreTable([0.2, 0.5, 0.8], [[8, 1], [5, 5], [1, 8]]))
    >>> float(line.slope.round(2))
    1.5
    """

    intercept: Numbers
    slope: Numbers
    converged: BoolArray


def calibration_line(table: ScoreTable) -> CalibrationLine:
    """Cox's calibration intercept and slope: logistic regression of the class on the log-odds.

    nan with one class only. Scores of exactly 0 and 1 get the largest log-odds of the others, but
    at least 36.7 (53 bits, the resolution of float64). So far out, a few wrong ones determine the
    slope for all cases: two among 200 calibrated scores take it from 1 to about 0.2. Clip such
    scores first if they mean less than certainty.

    Parameters
    ----------
    table : distinct scores, probabilities, and the weight of each class at them, (…, S, 2)

    Returns
    -------
    intercept and slope; 0 and 1 are calibrated

    Examples
    --------
    >>> line = calibration_line(ScoreTable([0.1, 0.9], [[2, 1], [1, 2]]))
    >>> float(line.slope.round(3)), float(line.intercept.round(3) + 0)
    (0.315, 0.0)
    """
    odds = finite_log_odds(table)
    shape = table.weights.shape[:-2]
    fitted = np.full((3, *shape), np.nan)
    for place in np.ndindex(shape):
        weights = table.weights[place]
        if (weights.sum(axis=0) > 0).all():
            used = weights.sum(axis=1) > 0
            fitted[(slice(None), *place)] = fit_line(odds[used], *weights[used].T, size=1.0)
    return CalibrationLine._trusted(
        intercept=unwrapped(fitted[0]), slope=unwrapped(fitted[1]), converged=(fitted[2] == 1)[()]
    )


def calibration_in_the_large(table: ScoreTable) -> Numbers:
    r"""The number to add to all log-odds so that the mean score is right, of shape (…).

    The intercept of a logistic regression on the log-odds of the score with slope one: zero for
    calibrated scores, negative for scores that are too high. nan with one class only.

    Parameters
    ----------
    table : distinct scores and the weight of each class at them, (…, S, 2)

    Returns
    -------
    shift of the log-odds, (…); 0 is calibrated

    Examples
    --------
    >>> float(calibration_in_the_large(ScoreTable([0.5], [[3, 1]])).round(4))
    -1.0986
    """
    odds = finite_log_odds(table)
    shifts = np.full(table.weights.shape[:-2], np.nan)
    for place in np.ndindex(shifts.shape):
        weights = table.weights[place]
        if (weights.sum(axis=0) > 0).all():
            used = weights.sum(axis=1) > 0
            shifts[place] = _shift(odds[used], weights[used])
    return unwrapped(shifts)


def _shift(odds: FloatArray, weights: FloatArray) -> float:
    """The root a of the mean of σ(odds + a) minus the share of positives, which increases in a."""
    from scipy.optimize import brentq
    from scipy.special import expit

    share = weights.sum(axis=1) / weights.sum()
    positives, negatives = weights[:, 1].sum(), weights[:, 0].sum()
    target = positives / (positives + negatives)
    middle = float(np.log(positives) - np.log(negatives))

    def surplus(shift: float) -> float:
        return float(share @ expit(odds + shift) - target)

    # Beyond these limits all probabilities are below, or above, the share of positives.
    low, high = middle - float(odds.max()) - 1, middle - float(odds.min()) + 1
    return float(brentq(surplus, low, high, xtol=1e-12, rtol=1e-14))


def finite_log_odds(table: ScoreTable) -> FloatArray:
    """Finite log-odds (S,) of the scores; those of 0 and 1 are bounded as in `calibration_line`.

    Parameters
    ----------
    table : distinct scores and the weight of each class at them, (…, S, 2)

    Returns
    -------
    log-odds, (S,)

    Examples
    --------
    >>> finite_log_odds(ScoreTable([0.2, 0.5], [[3, 0], [1, 2]])).round(3)
    array([-1.386,  0.   ])
    """
    odds = log_odds(posterior_pairs(probability_scores(table)))
    limit = largest_finite(odds)
    return np.clip(odds, -limit, limit)
