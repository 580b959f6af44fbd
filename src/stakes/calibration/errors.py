r"""Calibration errors of bins, each under its own name; there is no "the ECE".

An error needs a table, bins, and a norm. The table says calibration of what: of P(positive class),
of the top label (`top_label_table`), or of each class (`class_tables`). The bins are a value from
`stakes.scoring` (`EqualWidth`, `EqualMass`, …). The norm is the function. All of them depend on the
bins and are biased upwards in small samples; the decomposition of a proper score is neither.
"""

from __future__ import annotations

import numpy as np

from stakes._check import FloatArray
from stakes.ranking.roc import ratio
from stakes.scoring.bins import Bins, bin_sums
from stakes.scoring.rows import read_posteriors
from stakes.scoring.tables import probability_scores
from stakes.tally import ScoreTable

__all__ = [
    "class_tables",
    "class_wise_calibration_error",
    "expected_calibration_error",
    "maximum_calibration_error",
    "root_mean_square_calibration_error",
    "top_label_calibration_error",
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
    return np.asarray(np.sum(share * np.abs(gaps), axis=-1))


def root_mean_square_calibration_error(table: ScoreTable, bins: Bins) -> FloatArray:
    r"""Root of the mean over cases of the squared gap of their bin (L2).

    .. math:: \sqrt{\sum_b \frac{n_b}{n} (\bar s_b - \bar y_b)^2}

    Its square is `calibration_loss`. nan without cases.
    """
    gaps, share = _gaps(table, bins)
    return np.asarray(np.sqrt(np.sum(share * gaps**2, axis=-1)))


def maximum_calibration_error(table: ScoreTable, bins: Bins) -> FloatArray:
    r"""Largest gap of any bin that holds cases, :math:`\max_b |\bar s_b - \bar y_b|`.

    nan without cases.
    """
    gaps, share = _gaps(table, bins)
    return np.where(np.isnan(share).any(axis=-1), np.nan, np.abs(gaps).max(axis=-1))


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
    _, truth, rows = read_posteriors(y_true, posteriors, classes)
    top = np.argmax(rows, axis=1)
    return ScoreTable.from_scores(top == truth, rows.max(axis=1), weights=weights)


def class_tables(
    y_true: object, posteriors: object, *, classes: object = None, weights: object = None
) -> tuple[ScoreTable, ...]:
    """For every class its posterior and whether it was true: K tables, each against the rest."""
    names, truth, rows = read_posteriors(y_true, posteriors, classes)
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
    """`expected_calibration_error` of the `top_label_table`: confidence against accuracy.

    Guo, Pleiss, Sun and Weinberger (2017). It says nothing about the posteriors of other classes.
    """
    table = top_label_table(y_true, posteriors, classes=classes, weights=weights)
    return float(expected_calibration_error(table, bins))


def class_wise_calibration_error(
    y_true: object,
    posteriors: object,
    bins: Bins,
    *,
    classes: object = None,
    weights: object = None,
) -> float:
    """Mean over the classes of `expected_calibration_error` of their `class_tables`.

    Kull, Perello-Nieto and others (2019). Every class counts alike, however rare.
    """
    tables = class_tables(y_true, posteriors, classes=classes, weights=weights)
    return float(np.mean([expected_calibration_error(table, bins) for table in tables]))
