"""Standard errors of areas under the ROC curve, single and paired (DeLong et al. 1988).

The placement of a positive case is the share of negatives that it outscores, ties counting one
half; the area is the mean placement, and its variance follows from those of the placements. On a
sorted table they are running sums (the midranks of Sun and Xu 2014), so that n cases cost n log n.
"""

from __future__ import annotations

import numpy as np

from stakes import _check
from stakes._check import FloatArray
from stakes.inference.comparison import Comparison
from stakes.inference.estimate import Estimate
from stakes.inference.intervals import Normal
from stakes.inference.tally_checks import whole_cells
from stakes.ranking import auc
from stakes.tally import JointScores, ScoreTable

_PIECE = 1 << 16  # scores that fit into the cache


def _placements(weights: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Placements of a negative and of a positive case at each score, for weights (…, S, 2).

    A negative's placement is the share of positives that outscore it, a positive's the share of
    negatives that it outscores. Both have the area for their mean.
    """
    return _placement(weights, 0), _placement(weights, 1)


def _placement(weights: FloatArray, k: int) -> FloatArray:
    """The placement of a case of class k at each score among the cases of the other class."""
    # Computed in place, because a table may have ten million scores.
    other = weights[..., 1 - k]
    cumulative = np.cumsum(other, axis=-1)
    cumulative -= other / 2
    with np.errstate(divide="ignore", invalid="ignore"):
        cumulative /= other.sum(axis=-1, keepdims=True)
    return cumulative if k == 1 else np.asarray(1 - cumulative)


def auc_error(table: ScoreTable) -> FloatArray:
    r"""Standard error of the area under the ROC curve, of shape (…).

    .. math:: se^2 = S_0 / n_0 + S_1 / n_1

    with the variances S of the placements of each class, divided by n − 1. A measure: weights are
    numbers of cases. nan where a class has less than two cases.

    Parameters
    ----------
    table : distinct scores and the weight of each class at them, (…, S, 2)

    Returns
    -------
    standard error, (…)

    Examples
    --------
    >>> float(auc_error(ScoreTable.from_scores([0, 1, 0, 1, 1], [1, 2, 2, 3, 1])).round(4))
    0.2764
    """
    return _area_and_error(table)[1]


def _area_and_error(table: ScoreTable) -> tuple[FloatArray, FloatArray]:
    """The area under the ROC curve and its standard error, (…)."""
    _check.require("table", table, ScoreTable)
    counts = np.asarray(table.class_weights)
    below, scatter = np.zeros(counts.shape), np.zeros(counts.shape)
    # The mean placement of either class is the area.
    value = np.asarray(auc(table))
    area = value[..., None]
    with np.errstate(divide="ignore", invalid="ignore"):
        for start in range(0, table.scores.size, _PIECE):
            weights = table.weights[..., start : start + _PIECE, :]
            for k, mean in enumerate((1 - area, area)):
                # As in `_placement`, which a table of ten million scores would take from memory.
                other = weights[..., 1 - k]
                placement = np.cumsum(other, axis=-1)
                placement += below[..., [1 - k]]
                placement -= other / 2
                placement /= counts[..., [1 - k]]
                placement -= mean
                placement *= placement
                scatter[..., k] += np.einsum("...s,...s->...", weights[..., k], placement)
            below += weights.sum(axis=-2)
        square = np.where(counts > 1, scatter / (counts * (counts - 1)), np.nan)
    return value, np.asarray(np.sqrt(square.sum(axis=-1)))


def delong_auc(table: ScoreTable) -> Estimate:
    """Area under the ROC curve with DeLong's standard error and normal intervals.

    Near an area of 1, or with few cases of a class, ``.with_intervals(Logit())`` covers better.

    Parameters
    ----------
    table : distinct scores and the weight of each class at them, (…, S, 2)

    Returns
    -------
    area with its standard error

    Examples
    --------
    >>> from stakes.inference import Logit
    >>> table = ScoreTable.from_scores([0, 1] * 20, [k % 7 + k % 2 for k in range(40)])
    >>> print(delong_auc(table))
    0.6288 (95% 0.4557 to 0.8018, DeLong)
    >>> print(delong_auc(table).with_intervals(Logit()).interval(0.95))
    95% 0.4466 to 0.7804
    """
    _check.require("table", table, ScoreTable)
    whole_cells(table)
    value, error = _area_and_error(table)
    return Estimate(value, error, np.empty((0, *value.shape)), Normal(), "DeLong")


def delong(scores: JointScores) -> Comparison:
    """Areas under the ROC curve of several models on the same cases, with their covariances.

    The formula takes cases as independent; scores that name clusters are refused, and
    ``compare(…, scheme=Clusters())`` is the way to compare these.

    Parameters
    ----------
    scores : scores of the cases

    Returns
    -------
    areas of all models and their covariances

    Examples
    --------
    >>> joint = JointScores.from_scores([0, 1] * 20, {"a": [k % 7 + k % 2 for k in range(40)],
    ...                                               "b": [k % 5 + k % 2 for k in range(40)]})
    >>> print(delong(joint).difference("a", "b"))
    -0.05125 (95% -0.2772 to 0.1747, DeLong)
    """
    _check.require("scores", scores, JointScores)
    whole_cells(scores)
    _check.no_leading_axes("scores", scores.leading)
    tables = [scores.table(model) for model in scores.models]
    placements = [_placements(table.weights) for table in tables]
    covariance = np.zeros((len(tables), len(tables)))
    for k in (0, 1):
        of_class = scores.cells[:, 0] == k
        weight = scores.weights[of_class]
        columns = [pair[k][scores.cells[of_class, 1 + j]] for j, pair in enumerate(placements)]
        covariance = covariance + _spread(np.stack(columns, axis=1), weight)
    return Comparison._trusted(
        names=scores.models,
        values=np.array([float(auc(table)) for table in tables]),
        covariance=covariance,
        replicates=np.empty((0, len(tables))),
        intervals=Normal(),
        method="DeLong",
    )


def _spread(placements: FloatArray, weight: FloatArray) -> FloatArray:
    """Covariances (J, J) of the mean placements; nan with less than two cases."""
    count = weight.sum()
    if not count > 1:
        return np.full((placements.shape[1],) * 2, np.nan)
    centred = placements - weight @ placements / count
    return np.asarray((centred * weight[:, None]).T @ centred / (count * (count - 1)))
