"""How well probabilities are calibrated: curves with bands, tests, errors, decompositions."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from stakes import _check
from stakes._arithmetic import ratio, weighted_sum
from stakes._check import BoolArray, FloatArray, IntArray, Numbers, unwrapped
from stakes._value import Value, record
from stakes.calibration.calibrator import Calibrator, largest_finite, log_odds
from stakes.calibration.crossfit import cross_calibrate
from stakes.calibration.logistic import fit_line
from stakes.decide import bayes_decision_indices
from stakes.errors import InputError
from stakes.measures import expected_cost
from stakes.problem import Problem
from stakes.ranking import single
from stakes.rows import read_posteriors
from stakes.scoring import (
    Binning,
    HullBins,
    ScoringRule,
    bin_sums,
    expected_score,
    posterior_pairs,
    probability_scores,
    read_forecasts,
    table_score,
)
from stakes.tally import Counts, ScoreTable

# Reliability curves with bands, and quick tests of calibration -----------------------------------
#
# All take a ScoreTable of probabilities; the single numbers and tests carry its leading axes
# through.

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


# Calibration errors: of bins, and from a smooth curve --------------------------------------------
#
# Of bins: the scores are one table or several: P(positive class) of a `ScoreTable`, the top label
# (`top_label_table`), or each class against the rest (`class_tables`). The bins are a value from
# `stakes.scoring` (`EqualWidth`, `EqualMass`, …). The norm is the order of a power mean. The error
# depends on the bins and is biased upwards: calibrated scores show an error too, the larger the
# fewer cases there are in a bin. `decompose` needs no bins but has the same bias;
# `decompose_by_cross_calibration` estimates miscalibration out of sample.
#
# From a curve: ICI, E50, E90 and Emax say how far the scores lie from it. The curve is Cleveland's
# lowess (1979) of the class on the score: local straight lines with tricube weights over the
# nearest two thirds of the cases, without robustness iterations. It is what R's ``lowess(p, y,
# iter = 0)`` draws and what ``rms::val.prob`` takes its Eavg, E90 and Emax from; Austin and
# Steyerberg (2019) name the mean ICI and the median E50. As in R, the curve is computed at scores
# that are about a hundredth of their range apart and is linear between them.

_SPAN = 2 / 3  # share of the cases in each local fit, the default of R's lowess
_APART = 0.01  # distance of local fits, relative to the range of scores, as in R
_HALVINGS = 60  # steps of bisection: more than the 53 bits of a double
_SHARES = np.array([0.5, 0.9, 1.0])  # quantiles: E50, E90 and Emax


def calibration_error(
    tables: ScoreTable | Sequence[ScoreTable], bins: Binning, order: float
) -> Numbers:
    r"""Power mean, over cases, of the gap between mean score and share of positives of their bin.

    .. math:: \Big( \frac1T \sum_t \sum_b \frac{n_{tb}}{n_t}
        |\bar s_{tb} - \bar y_{tb}|^p \Big)^{1/p}

    with the order p and, for p = ∞, the largest gap. Order 1 is the expected calibration error
    (Naeini, Cooper and Hauskrecht 2015), order 2 the root mean square one, whose square is
    `stakes.scoring.calibration_loss`, ∞ the maximum one. Of a `top_label_table` it is the error of
    Guo and others (2017), which says nothing about the posteriors of other classes; of
    `class_tables` the class-wise one of Kull and others (2019; order 1) and the marginal one of
    Kumar, Liang and Ma (2019; order 2): every class counts alike, however rare. nan without cases.

    Parameters
    ----------
    tables : a table (…, S, 2), or a sequence of tables without leading axes
    bins : `EqualWidth`, `EqualMass`, … of `stakes.scoring`
    order : 1 or more; `math.inf` for the largest gap

    Returns
    -------
    (…) errors

    Examples
    --------
    >>> from stakes.scoring import EqualWidth
    >>> table = ScoreTable([0.2, 0.4, 0.9], [[3, 1], [1, 1], [2, 2]])
    >>> [float(calibration_error(table, EqualWidth(2), p).round(3)) for p in (1, 2, np.inf)]
    [0.2, 0.258, 0.4]
    >>> q = [[0.6, 0.3, 0.1], [0.1, 0.7, 0.2], [0.2, 0.2, 0.6], [0.1, 0.1, 0.8]]
    >>> float(calibration_error(top_label_table([0, 1, 1, 2], q), EqualWidth(2), 1).round(9))
    0.075
    >>> float(calibration_error(class_tables([0, 1, 1, 2], q), EqualWidth(2), 1).round(9))
    0.2
    """
    power = float(_check.reals("order", order, ndim=0))
    if not power >= 1:
        raise InputError(
            f"order must be 1 or more, or math.inf; got {power:g}. 1 is the mean, 2 the root mean "
            f"square."
        )
    several: list[Any] = list(tables) if isinstance(tables, list | tuple) else [tables]
    for table in several or [None]:
        _check.require("tables", table, ScoreTable, "Pass one, or a list of them.")
    errors = np.stack([_gap_norm(table, bins, power) for table in several])
    if np.isinf(power):
        return unwrapped(errors.max(axis=0))
    return unwrapped(np.mean(errors**power, axis=0) ** (1 / power))


def _gap_norm(table: ScoreTable, bins: Binning, power: float) -> FloatArray:
    """The norm (…) of the gaps of one table; empty bins are ignored."""
    with _check.renamed(table="tables"):
        probability_scores(table)
    pooled = bin_sums(table, bins)
    gaps = np.abs(np.where(pooled.mass == 0, 0.0, pooled.scores - pooled.shares))
    share = ratio(pooled.mass, np.asarray(table.n_cases)[..., None])
    if np.isinf(power):
        return np.where(np.isnan(share).any(axis=-1), np.nan, gaps.max(axis=-1))
    return np.asarray(np.sum(share * gaps**power, axis=-1) ** (1 / power))


def top_label_table(
    y_true: object, posteriors: object, *, classes: object = None, weights: object = None
) -> ScoreTable:
    """The table of the largest posterior of every case and whether its class was the true one.

    The first of equally probable classes is the top one.

    Parameters
    ----------
    y_true : true class of every case, (n,)
    posteriors : P(class) for every case, (n, K), or P(second class), (n,)
    classes : labels of the classes, in the order of the columns
    weights : weight of each case, (n,); None counts each once

    Returns
    -------
    table of two classes, wrong and right

    Examples
    --------
    >>> top_label_table([0, 2], [[0.6, 0.3, 0.1], [0.1, 0.5, 0.4]]).weights
    array([[1., 0.],
           [0., 1.]])
    """
    _, truth, rows = read_forecasts(y_true, posteriors, classes, weights)
    top = np.argmax(rows, axis=1)
    return ScoreTable.from_scores(top == truth, rows.max(axis=1), weights=weights)


def class_tables(
    y_true: object, posteriors: object, *, classes: object = None, weights: object = None
) -> tuple[ScoreTable, ...]:
    """K tables, one for each class: its posterior, and whether it was the true class.

    Parameters
    ----------
    y_true : true class of every case, (n,)
    posteriors : P(class) for every case, (n, K), or P(second class), (n,)
    classes : labels of the classes, in the order of the columns
    weights : weight of each case, (n,); None counts each once

    Returns
    -------
    one table for each class

    Examples
    --------
    >>> tables = class_tables([0, 1, 2], [[0.7, 0.2, 0.1], [0.2, 0.6, 0.2], [0.1, 0.1, 0.8]])
    >>> len(tables)
    3
    """
    names, truth, rows = read_forecasts(y_true, posteriors, classes, weights)
    return tuple(
        ScoreTable.from_scores(truth == k, rows[:, k], weights=weights) for k in range(len(names))
    )


def smooth_calibration_errors(table: ScoreTable) -> FloatArray:
    r"""ICI, E50, E90 and Emax, of shape (…, 4): distances of scores from the smooth curve.

    Mean, median, 90 % quantile and maximum over the cases of :math:`|s - \hat c(s)|`, where
    :math:`\hat c` is `smooth_curve`. None is 0 in a sample, even for calibrated scores: the curve
    follows chance to some extent, and small samples have larger values. They are nan without cases.

    Parameters
    ----------
    table : distinct scores and the weight of each class at them, (…, S, 2)

    Returns
    -------
    ICI, E50, E90 and Emax, (…, 4)

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(2000).round(3)
    >>> table = ScoreTable.from_scores(rng.random(2000) < p**2, p)  # twice too sure
    >>> smooth_calibration_errors(table).round(2)
    array([0.16, 0.17, 0.24, 0.25])
    """
    scores = probability_scores(table)
    distances = np.empty((*table.leading, 4))
    for place in np.ndindex(table.leading):
        distances[place] = lowess_distances(scores, table.weights[place])
    return distances


def lowess_distances(scores: FloatArray, weights: FloatArray) -> FloatArray:
    """ICI, E50, E90 and Emax of increasing scores, as in `smooth_calibration_errors`.

    Only the sum of both weights of a score must be ≥ 0, so that outcomes may be any numbers.

    Parameters
    ----------
    scores : increasing scores, (S,)
    weights : weights of negatives and positives at each score, (S, 2)

    Returns
    -------
    ICI, E50, E90 and Emax, (4,)

    Examples
    --------
    >>> weights = np.array([[9.0, 1.0], [7.0, 3.0], [5.0, 5.0], [3.0, 7.0]])
    >>> lowess_distances(np.array([0.2, 0.4, 0.6, 0.8]), weights).round(2)
    array([0.1, 0.1, 0.1, 0.1])
    """
    _check.shapes("s, s 2", scores=scores, weights=weights)
    occupied = weights.sum(axis=1) > 0
    if not occupied.any():
        return np.full(4, np.nan)
    mass = weights[occupied].sum(axis=1)
    errors = np.abs(scores[occupied] - lowess(scores[occupied], weights[occupied]))
    return np.array([errors @ mass / mass.sum(), *_quantiles(errors, mass, _SHARES)])


def smooth_curve(table: ScoreTable) -> FloatArray:
    """Share of positives at every distinct score of one table, (S,), by `lowess`.

    Parameters
    ----------
    table : distinct scores and the weight of each class at them, (S, 2)

    Returns
    -------
    share of positives at each score, (S,); nan at scores without cases

    Examples
    --------
    >>> smooth_curve(ScoreTable([0.2, 0.4, 0.6, 0.8], [[9, 1], [7, 3], [5, 5], [3, 7]])).round(2)
    array([0.1, 0.3, 0.5, 0.7])
    """
    _check.require("table", table, ScoreTable)
    _check.no_leading_axes("table", table.leading, remedy="Index one group.")
    scores, occupied = probability_scores(table), table.weights.sum(axis=1) > 0
    curve = np.full(scores.shape, np.nan)
    if occupied.any():
        curve[occupied] = lowess(scores[occupied], table.weights[occupied])
    return curve


def lowess(scores: FloatArray, weights: FloatArray) -> FloatArray:
    """The lowess curve at increasing scores (S,) with weights (S, 2) of negatives and positives."""
    mass = weights.sum(axis=1)
    span = scores[-1] - scores[0]
    places = _places(scores, _APART * span)
    radii = _radii(scores, mass, scores[places])
    local = [
        _local(scores - middle, mass, weights[:, 1], radius, span)
        for middle, radius in zip(scores[places], radii, strict=True)
    ]
    return np.interp(scores, scores[places], local)


def _places(scores: FloatArray, apart: float) -> IntArray:
    """Positions of the scores with local fits: each is the last within `apart` of the one before.

    The first and the last score are among them.
    """
    places, last = [0], scores.size - 1
    while places[-1] < last:
        at = int(np.searchsorted(scores, scores[places[-1]] + apart, side="right")) - 1
        places.append(max(at, places[-1] + 1))
    return np.array(places)


def _radii(scores: FloatArray, mass: FloatArray, middles: FloatArray) -> FloatArray:
    """The distance (P,) from each middle that covers the nearest `_SPAN` of the cases."""
    below = np.append(0.0, np.cumsum(mass))
    integral = np.array_equal(mass, np.floor(mass))
    n_near = min(max(2.0, np.floor(_SPAN * below[-1] + 1e-7)), below[-1])
    # R counts cases and needs two of them; fractional weights have no count.
    n_near = n_near if integral else _SPAN * below[-1]
    low, high = np.zeros(middles.shape), np.full(middles.shape, scores[-1] - scores[0])
    for _ in range(_HALVINGS):
        radius = (low + high) / 2
        left, right = _window(scores, middles, radius)
        enough = below[right] - below[left] >= n_near
        low, high = np.where(enough, low, radius), np.where(enough, radius, high)
    left, right = _window(scores, middles, high)
    return np.asarray(np.maximum(middles - scores[left], scores[right - 1] - middles))


def _window(
    scores: FloatArray, middles: FloatArray, radius: FloatArray
) -> tuple[IntArray, IntArray]:
    left = np.searchsorted(scores, middles - radius, side="left")
    return left, np.searchsorted(scores, middles + radius, side="right")


def _local(
    apart: FloatArray, mass: FloatArray, positive: FloatArray, radius: float, span: float
) -> float:
    """The value at 0 of the line fitted to the scores within the radius.

    The constants 0.001 and 0.999 are those of R's lowess.
    """
    first = np.searchsorted(apart, -radius, side="left")
    end = np.searchsorted(apart, radius, side="right")
    x, weight, hits = apart[first:end], mass[first:end], positive[first:end]
    distance = np.abs(x)
    share = np.divide(distance, radius, out=np.zeros_like(x), where=distance > 0.001 * radius)
    pull = np.where(share <= 0.999, (1 - share**3) ** 3, 0.0)
    total = pull @ weight
    centre = (pull * weight) @ x / total
    height = pull @ hits / total
    spread = (pull * weight) @ (x - centre) ** 2 / total
    if np.sqrt(spread) <= 0.001 * span:  # the scores are practically equal: no slope can be fitted
        return float(height)
    slope = (pull * hits) @ (x - centre) / total / spread
    return float(height - slope * centre)


def _quantiles(values: FloatArray, mass: FloatArray, shares: FloatArray) -> FloatArray:
    """Quantiles of cases, interpolated as in R and numpy; a weight counts as repetition."""
    order = np.argsort(values)
    value, weight = values[order], mass[order]
    end = np.cumsum(weight)
    start = end - weight
    # A value of weight w stands for w equal cases, at positions start … end − 1.
    knots = np.stack([start, np.maximum(start, end - 1)], axis=1).ravel()
    at = shares * max(float(knots[-1]), 0.0)
    return np.interp(at, knots, np.repeat(value, 2))


# Decomposition of a mean score into miscalibration, discrimination and uncertainty ---------------
#
#     S = (S − S_recal) [MCB] − (S_prior − S_recal) [DSC] + S_prior [UNC]
#
# S_recal is the score after recalibration and S_prior that of the prior-only system. For two
# classes the recalibration is isotonic regression (CORP; Dimitriadis, Gneiting and Jordan, 2021),
# which is the best non-decreasing map for every proper score at once. For many classes it is any
# calibrator, held out or cross-validated.
#
# In the unit of a problem, the calibration loss is what Bayes decisions cost with the posteriors
# as they are, minus what they cost after recalibration (ferrer-ec, section 2.3).


@record
class Decomposition(Value):
    """Parts of a mean score: score = miscalibration − discrimination + uncertainty, each (…).

    Parameters
    ----------
    score : the mean score
    miscalibration : what recalibration would save
    discrimination : what looking at the cases earns
    uncertainty : score of the class shares

    Examples
    --------
    >>> from stakes.scoring import HalfBrier
    >>> parts = decompose(ScoreTable([0.2, 0.7], [[3, 1], [1, 2]]), HalfBrier())
    >>> float(parts.miscalibration.round(4)), float(parts.refinement.round(4))
    (0.0019, 0.2024)
    """

    score: Numbers
    miscalibration: Numbers
    discrimination: Numbers
    uncertainty: Numbers

    @property
    def miscalibration_share(self) -> Numbers:
        """Miscalibration as a share of the score, which recalibration would save; nan for 0/0."""
        return unwrapped(ratio(self.miscalibration, self.score))

    @property
    def refinement(self) -> Numbers:
        """The score after recalibration, uncertainty − discrimination."""
        return unwrapped(self.uncertainty - self.discrimination)


def _parts(score: object, recalibrated: object, uncertainty: object) -> Decomposition:
    """The decomposition, from the scores before and after recalibration and of the prior."""
    s, r, u = (unwrapped(part) for part in (score, recalibrated, uncertainty))
    with np.errstate(invalid="ignore"):
        return Decomposition._trusted(
            score=s,
            miscalibration=unwrapped(s - r),
            discrimination=unwrapped(u - r),
            uncertainty=u,
        )


def isotonic_posteriors(table: ScoreTable) -> FloatArray:
    """The posterior that isotonic regression gives each score on the table itself, (…, S)."""
    pooled = bin_sums(table, HullBins())
    return np.take_along_axis(pooled.shares, pooled.numbers, axis=-1)


def decompose(table: ScoreTable, rule: ScoringRule) -> Decomposition:
    """Miscalibration, discrimination and uncertainty of two-class scores, by isotonic regression.

    All three are never negative, up to rounding. nan without cases; the miscalibration is inf
    where the score is.

    The map is fitted on the same cases on which it is evaluated, so that miscalibration and
    discrimination are both too large: calibrated scores show a miscalibration above zero, which
    shrinks as cases are added. For a figure without that bias use
    `decompose_by_cross_calibration`, and in the currency of a problem `cost_of_miscalibration` with
    posteriors from `cross_calibrate`.

    Parameters
    ----------
    table : distinct scores and the weight of each class at them, (…, S, 2)
    rule : the proper scoring rule

    Returns
    -------
    the three parts, each (…)

    Examples
    --------
    >>> from stakes.scoring import HalfBrier
    >>> parts = decompose(ScoreTable.from_scores([0, 1, 0, 1], [0.1, 0.4, 0.6, 0.9]), HalfBrier())
    >>> [float(part.round(4)) for part in (parts.score, parts.miscalibration, parts.discrimination)]
    [0.185, 0.06, 0.125]
    """
    score = table_score(table, rule)
    posteriors = np.nan_to_num(isotonic_posteriors(table))  # nan where a score has no cases
    losses = rule.losses_by_class(posterior_pairs(posteriors))
    after = ratio(weighted_sum(table.weights, losses, axis=(-2, -1)), table.n_cases)
    return _parts(score, after, rule.entropy(table.shares))


def decompose_by_recalibration(
    y_true: object,
    posteriors: object,
    recalibrated: object,
    rule: ScoringRule,
    *,
    classes: object = None,
    weights: object = None,
    prior: object = None,
) -> Decomposition:
    """Decomposition for any number of classes, given posteriors before and after recalibration.

    The recalibrated posteriors come from a map that was fitted on other cases: held out, or from
    `cross_calibrate`. Parts may be slightly negative, because such a map is not the best for these
    cases. Under a prior, all three scores are those of the deployment, and the recalibrated
    posteriors should be fitted for it.

    Parameters
    ----------
    y_true : true class of every case, (n,)
    posteriors : P(class) for every case, (n, K), or P(second class), (n,)
    recalibrated : the same posteriors after recalibration
    rule : the proper scoring rule
    classes : labels of the classes, in the order of the columns
    weights : weight of each case, (n,); None counts each once
    prior : class shares, (K,) or by label; None takes those of the data

    Returns
    -------
    the three parts

    Examples
    --------
    >>> from stakes.scoring import Brier
    >>> before, after = [[0.9, 0.1], [0.9, 0.1]], [[0.5, 0.5], [0.5, 0.5]]
    >>> float(decompose_by_recalibration([0, 1], before, after, Brier()).miscalibration.round(9))
    0.32
    """
    before = read_forecasts(y_true, posteriors, classes, weights)
    # Weights were checked with the first forecasts; the classes of these name the columns of both.
    after = read_forecasts(y_true, recalibrated, before.classes, name="recalibrated")
    score, shares = expected_score(before, rule, weights, prior)
    return _parts(score, expected_score(after, rule, weights, prior)[0], rule.entropy(shares))


def decompose_by_cross_calibration(
    y_true: object,
    posteriors: object,
    rule: ScoringRule,
    calibrator: Calibrator,
    folds: object,
    *,
    classes: object = None,
    weights: object = None,
    prior: object = None,
    clusters: object = None,
    rng: np.random.Generator | None = None,
) -> Decomposition:
    """Decomposition for any number of classes, recalibrated by `cross_calibrate`.

    Parameters
    ----------
    y_true : true class of every case, (n,)
    posteriors : P(class) for every case, (n, K), or P(second class), (n,)
    rule : the proper scoring rule
    calibrator : what to recalibrate with
    folds : number of folds, or labels of the fold of each case
    classes : labels of the classes, in the order of the columns
    weights : weight of each case, (n,); None counts each once
    prior : class shares, (K,) or by label; None takes those of the data
    clusters : labels, one per case, of what was sampled together
    rng : the generator that draws

    Returns
    -------
    the three parts

    Examples
    --------
    >>> from stakes.calibration import Isotonic
    >>> from stakes.scoring import HalfBrier
    >>> rng = np.random.default_rng(0)
    >>> y = rng.random(400) < 0.3
    >>> p = np.clip(0.3 + 0.3 * (y - 0.3) + rng.normal(0, 0.1, 400), 0, 1)
    >>> parts = decompose_by_cross_calibration(y, p, HalfBrier(), Isotonic(), np.arange(400) % 5)
    >>> bool(parts.discrimination > 0)
    True
    """
    with _check.renamed(scores="posteriors", y="y_true"):
        recalibrated = cross_calibrate(
            posteriors,
            y_true,
            calibrator,
            folds,
            classes=classes,
            weights=weights,
            prior=prior,
            clusters=clusters,
            rng=rng,
        )
    return decompose_by_recalibration(
        y_true, posteriors, recalibrated, rule, classes=classes, weights=weights, prior=prior
    )


# In the unit of a problem ------------------------------------------------------------------------


@record
class CostOfMiscalibration(Value):
    """Expected cost of Bayes decisions before and after recalibration, each of shape (…).

    Attributes
    ----------
    actual : cost of the decisions with the posteriors as they are
    recalibrated : cost of the decisions after recalibration
    optimal : for two classes, the least cost that thresholds on the score could have had on these
        same cases; nan for more classes

    Examples
    --------
    >>> table = ScoreTable([0.2, 0.6, 0.9], [[40, 5], [30, 25], [10, 40]])
    >>> costs = table_cost_of_miscalibration(table, Problem.binary(false_alarm=1, miss=4))
    >>> float(costs.calibration_loss.round(4))
    0.0
    """

    actual: Numbers
    recalibrated: Numbers
    optimal: Numbers

    @property
    def calibration_loss(self) -> Numbers:
        """Cost per case that recalibration saves."""
        return unwrapped(self.actual - self.recalibrated)

    @property
    def threshold_loss(self) -> Numbers:
        """Cost per case above the best thresholds, for two classes; never negative."""
        return unwrapped(self.actual - self.optimal)

    @property
    def calibration_share(self) -> Numbers:
        """Calibration loss as a share of the actual cost; nan for 0/0."""
        return unwrapped(ratio(self.calibration_loss, self.actual))


def table_cost_of_miscalibration(table: ScoreTable, problem: Problem) -> CostOfMiscalibration:
    """For two classes: the cost of Bayes decisions by the scores, and of the best thresholds.

    Recalibration is isotonic regression on the table itself, under the problem's prior; its Bayes
    decisions are the best thresholds. The scores are used as they are: if they hold for another
    prior than the problem's, that is part of the loss, which `shift_prior` would remove.

    The thresholds are the best for the same cases on which they are evaluated, so that the optimal
    cost is too small and the calibration loss too large: calibrated scores show a loss above zero,
    which shrinks as cases are added. `cost_of_miscalibration` with posteriors from
    `cross_calibrate` estimates the loss out of sample.

    Parameters
    ----------
    table : distinct scores and the weight of each class at them, (…, S, 2)
    problem : what is at stake: costs, prior, labels

    Returns
    -------
    costs before and after recalibration

    Examples
    --------
    >>> table = ScoreTable([0.2, 0.6, 0.9], [[40, 5], [30, 25], [10, 40]])
    >>> costs = table_cost_of_miscalibration(table, Problem.binary(false_alarm=1, miss=4))
    >>> float(costs.actual.round(4)), float(costs.optimal.round(4))
    (0.4, 0.4)
    """
    _check.require("table", table, ScoreTable)
    _require_two(problem)
    weighted = table if problem.prior is None else table.with_prior(problem.prior)
    scores = np.broadcast_to(probability_scores(table), table.weights.shape[:-1])
    # Isotonic regression is the optimum for every pair of costs at once (hernandez-orallo,
    # corollary 30), so that one map serves for both numbers. Scores without cases are nan and cost
    # nothing.
    best = _cost_of(table, np.nan_to_num(isotonic_posteriors(weighted)), problem)
    return CostOfMiscalibration._trusted(
        actual=_cost_of(table, scores, problem), recalibrated=best, optimal=best
    )


def cost_of_miscalibration(
    y_true: object,
    posteriors: object,
    recalibrated: object,
    problem: Problem,
    *,
    weights: object = None,
) -> CostOfMiscalibration:
    """For any number of classes and decisions, given posteriors before and after recalibration.

    The recalibrated posteriors come from a map that was fitted on other cases (held out, or from
    `cross_calibrate`) for the problem's prior.

    Parameters
    ----------
    y_true : labels among ``problem.classes``
    posteriors, recalibrated : (n, K), or (n,) for P(second class) of two; a frame's columns go by
        their names, as do those of `stakes.Posteriors` with classes
    problem : what is at stake
    weights : weight of each case, (n,); None counts each once

    Returns
    -------
    costs before and after recalibration

    Examples
    --------
    >>> problem = Problem.binary(false_alarm=1, miss=4)
    >>> costs = cost_of_miscalibration([0, 0, 0, 1], [0.1] * 4, [0.25] * 4, problem)
    >>> float(costs.actual), float(costs.recalibrated)
    (1.0, 0.75)
    """
    _check.require("problem", problem, Problem)
    _check.aligned(y_true=y_true, posteriors=posteriors, recalibrated=recalibrated, weights=weights)
    truth = _check.codes("y_true", y_true, problem.classes)
    weight = _check.weights("weights", weights, truth.size)
    named = {"posteriors": posteriors, "recalibrated": recalibrated}
    rows = {name: read_posteriors(name, values, problem.classes) for name, values in named.items()}
    _check.same_length(y_true=truth, **rows)
    before, after = (_row_cost(truth, values, problem, weight) for values in rows.values())
    optimal = unwrapped(np.nan)
    if problem.n_classes == 2:
        table = ScoreTable.from_scores(truth, rows["posteriors"][:, 1], weights=weight)
        # The table names classes by position, which the labels of the problem would not match, and
        # limits do not matter here.
        plain = Problem(problem.costs, prior=problem.prior)
        optimal = table_cost_of_miscalibration(table, plain).optimal
    return CostOfMiscalibration._trusted(actual=before, recalibrated=after, optimal=optimal)


def _require_two(problem: Problem) -> None:
    _check.require("problem", problem, Problem)
    if problem.n_classes != 2:
        raise InputError(
            f"problem must have two classes to meet a ScoreTable; it has {problem.n_classes}. "
            f"cost_of_miscalibration takes posteriors of any number of classes."
        )


def _cost_of(table: ScoreTable, posteriors: FloatArray, problem: Problem) -> Numbers:
    """Expected cost (…) of the Bayes decisions for the posterior of every score, (…, S)."""
    decided = bayes_decision_indices(posteriors.ravel(), problem).reshape(posteriors.shape)
    chosen = (decided[..., None] == np.arange(problem.n_decisions)).astype(np.float64)
    values = np.einsum("...sk,...sm->...km", table.weights, chosen)
    counts = Counts._trusted(
        values=values, classes=table.classes, decisions=problem.decisions, groups=None
    )
    return expected_cost(counts, problem)


def _row_cost(
    truth: IntArray, posteriors: FloatArray, problem: Problem, weight: FloatArray
) -> Numbers:
    cell = truth * problem.n_decisions + bayes_decision_indices(posteriors, problem)
    values = np.bincount(cell, weights=weight, minlength=problem.costs.size)
    return expected_cost(Counts(values.reshape(problem.costs.shape)), problem)
