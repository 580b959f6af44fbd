r"""Calibration errors: of bins, and from a smooth curve.

Of bins: the scores are one table or several: P(positive class) of a `ScoreTable`, the top label
(`top_label_table`), or each class against the rest (`class_tables`). The bins are a value from
`stakes.scoring` (`EqualWidth`, `EqualMass`, …). The norm is the order of a power mean. The error
depends on the bins and is biased upwards: calibrated scores show an error too, the larger the fewer
cases there are in a bin. `decompose` needs no bins but has the same bias;
`decompose_by_cross_calibration` estimates miscalibration out of sample.

From a curve: ICI, E50, E90 and Emax say how far the scores lie from it.
The curve is Cleveland's lowess (1979) of the class on the score: local straight lines with tricube
weights over the nearest two thirds of the cases, without robustness iterations. It is what R's
``lowess(p, y, iter = 0)`` draws and what ``rms::val.prob`` takes its Eavg, E90 and Emax from;
Austin and Steyerberg (2019) name the mean ICI and the median E50. As in R, the curve is computed at
scores that are about a hundredth of their range apart and is linear between them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from stakes import _check
from stakes._arithmetic import ratio
from stakes._check import FloatArray, IntArray, Numbers, unwrapped
from stakes.errors import InputError
from stakes.scoring import Binning, bin_sums, probability_scores, read_forecasts
from stakes.tally import ScoreTable

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
