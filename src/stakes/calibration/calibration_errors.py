r"""The calibration error of bins, for a choice of scores, bins and norm.

The scores are one table or several: P(positive class) of a `ScoreTable`, the top label
(`top_label_table`), or each class against the rest (`class_tables`). The bins are a value from
`stakes.scoring` (`EqualWidth`, `EqualMass`, …). The norm is the order of a power mean. The error
depends on the bins and is biased upwards: calibrated scores show an error too, the larger the fewer
cases there are in a bin. `decompose` needs no bins but has the same bias;
`decompose_by_cross_calibration` estimates miscalibration out of sample.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from stakes import _check
from stakes._arithmetic import ratio
from stakes._check import FloatArray, unwrapped
from stakes.errors import InputError
from stakes.scoring import Bins, bin_sums, probability_scores, read_forecasts
from stakes.tally import ScoreTable


def calibration_error(
    tables: ScoreTable | Sequence[ScoreTable], bins: Bins, order: float
) -> FloatArray:
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


def _gap_norm(table: ScoreTable, bins: Bins, power: float) -> FloatArray:
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
