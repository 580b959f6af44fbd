r"""Calibration errors of bins, each under its own name; there is no "the ECE".

An error needs a table, bins, and a norm. The table says calibration of what: of P(positive class),
of the top label (`top_label_table`), or of each class (`class_tables`). The bins are a value from
`stakes.scoring` (`EqualWidth`, `EqualMass`, …). The norm is the function. All of them depend on the
bins, and all are biased upwards: calibrated scores show an error too, the larger the fewer cases
there are in a bin. `decompose` needs no bins but has the same bias; a miscalibration that other
cases would confirm is that of `decompose_by_cross_calibration`.
"""

from __future__ import annotations

import numpy as np

from stakes._check import FloatArray, unwrapped
from stakes.ranking.roc import ratio
from stakes.scoring.bins import Bins, bin_sums
from stakes.scoring.rows import read_forecasts
from stakes.scoring.tables import probability_scores
from stakes.tally import ScoreTable

__all__ = [
    "class_tables",
    "class_wise_calibration_error",
    "class_wise_maximum_calibration_error",
    "class_wise_root_mean_square_calibration_error",
    "expected_calibration_error",
    "maximum_calibration_error",
    "root_mean_square_calibration_error",
    "top_label_calibration_error",
    "top_label_maximum_calibration_error",
    "top_label_root_mean_square_calibration_error",
    "top_label_table",
]


def _gaps(table: ScoreTable, bins: Bins) -> tuple[FloatArray, FloatArray]:
    """Mean score minus share of positives (0 for empty bins) and share of the cases, (…, B)."""
    probability_scores(table)
    pooled = bin_sums(table, bins)
    mass = pooled.mass
    gaps = np.where(mass == 0, 0.0, pooled.scores - pooled.shares)
    return gaps, ratio(mass, table.n_cases[..., None])


def expected_calibration_error(table: ScoreTable, bins: Bins) -> FloatArray:
    r"""Mean over cases of the gap of their bin (L1).

    .. math:: \sum_b \frac{n_b}{n} |\bar s_b - \bar y_b|

    nan without cases. Naeini, Cooper and Hauskrecht (2015).

    Examples
    --------
    >>> from stakes.scoring import EqualWidth
    >>> table = ScoreTable([0.2, 0.4, 0.9], [[3, 1], [1, 1], [2, 2]])
    >>> float(expected_calibration_error(table, EqualWidth(2)).round(4))
    0.2
    """
    gaps, share = _gaps(table, bins)
    return unwrapped(np.sum(share * np.abs(gaps), axis=-1))


def root_mean_square_calibration_error(table: ScoreTable, bins: Bins) -> FloatArray:
    r"""Root of the mean over cases of the squared gap of their bin (L2).

    .. math:: \sqrt{\sum_b \frac{n_b}{n} (\bar s_b - \bar y_b)^2}

    Its square is `calibration_loss`. nan without cases.
    """
    gaps, share = _gaps(table, bins)
    return unwrapped(np.sqrt(np.sum(share * gaps**2, axis=-1)))


def maximum_calibration_error(table: ScoreTable, bins: Bins) -> FloatArray:
    r"""Largest gap of any bin that holds cases, :math:`\max_b |\bar s_b - \bar y_b|`.

    nan without cases.
    """
    gaps, share = _gaps(table, bins)
    largest = np.abs(gaps).max(axis=-1)
    return unwrapped(np.where(np.isnan(share).any(axis=-1), np.nan, largest))


def top_label_table(
    y_true: object, posteriors: object, *, classes: object = None, weights: object = None
) -> ScoreTable:
    """The largest posterior of every case, and whether its class was right (the second class).

    The first of equally probable classes is the top one.

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
    """For every class its posterior and whether it was true: K tables, each against the rest."""
    names, truth, rows = read_forecasts(y_true, posteriors, classes, weights)
    return tuple(
        ScoreTable.from_scores(truth == k, rows[:, k], weights=weights) for k in range(len(names))
    )


def top_label_calibration_error(
    y_true: object,
    posteriors: object,
    bins: Bins,
    *,
    classes: object = None,
    weights: object = None,
) -> float:
    """`expected_calibration_error` of the `top_label_table`: confidence against accuracy (L1).

    Guo, Pleiss, Sun and Weinberger (2017). It says nothing about the posteriors of other classes.

    Examples
    --------
    >>> from stakes.scoring import EqualWidth
    >>> q = [[0.6, 0.3, 0.1], [0.1, 0.7, 0.2], [0.2, 0.2, 0.6], [0.1, 0.1, 0.8]]
    >>> round(top_label_calibration_error([0, 1, 1, 2], q, EqualWidth(2)), 9)
    0.075
    """
    table = top_label_table(y_true, posteriors, classes=classes, weights=weights)
    return float(expected_calibration_error(table, bins))


def top_label_root_mean_square_calibration_error(
    y_true: object,
    posteriors: object,
    bins: Bins,
    *,
    classes: object = None,
    weights: object = None,
) -> float:
    """`root_mean_square_calibration_error` of the `top_label_table` (L2)."""
    table = top_label_table(y_true, posteriors, classes=classes, weights=weights)
    return float(root_mean_square_calibration_error(table, bins))


def top_label_maximum_calibration_error(
    y_true: object,
    posteriors: object,
    bins: Bins,
    *,
    classes: object = None,
    weights: object = None,
) -> float:
    """`maximum_calibration_error` of the `top_label_table`."""
    table = top_label_table(y_true, posteriors, classes=classes, weights=weights)
    return float(maximum_calibration_error(table, bins))


def class_wise_calibration_error(
    y_true: object,
    posteriors: object,
    bins: Bins,
    *,
    classes: object = None,
    weights: object = None,
) -> float:
    """Mean over the classes of `expected_calibration_error` of their `class_tables` (L1).

    Kull, Perello-Nieto and others (2019). Every class counts alike, however rare.

    Examples
    --------
    >>> from stakes.scoring import EqualWidth
    >>> q = [[0.6, 0.3, 0.1], [0.1, 0.7, 0.2], [0.2, 0.2, 0.6], [0.1, 0.1, 0.8]]
    >>> round(class_wise_calibration_error([0, 1, 1, 2], q, EqualWidth(2)), 9)
    0.2
    """
    tables = class_tables(y_true, posteriors, classes=classes, weights=weights)
    return float(np.mean([expected_calibration_error(table, bins) for table in tables]))


def class_wise_root_mean_square_calibration_error(
    y_true: object,
    posteriors: object,
    bins: Bins,
    *,
    classes: object = None,
    weights: object = None,
) -> float:
    """Root of the mean over the classes of the squared L2 error of their `class_tables`.

    The marginal calibration error of Kumar, Liang and Ma (2019), with bins.
    """
    tables = class_tables(y_true, posteriors, classes=classes, weights=weights)
    squares = [root_mean_square_calibration_error(table, bins) ** 2 for table in tables]
    return float(np.sqrt(np.mean(squares)))


def class_wise_maximum_calibration_error(
    y_true: object,
    posteriors: object,
    bins: Bins,
    *,
    classes: object = None,
    weights: object = None,
) -> float:
    """Largest gap of any bin of any class: the largest `maximum_calibration_error`."""
    tables = class_tables(y_true, posteriors, classes=classes, weights=weights)
    return float(np.max([maximum_calibration_error(table, bins) for table in tables]))
