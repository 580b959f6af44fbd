"""Fewer scores with the same ROC curve, for replicates of large tables."""

from __future__ import annotations

import numpy as np

from stakes.tally import ScoreTable


def pooled_runs(table: ScoreTable) -> ScoreTable:
    """Pool neighbouring scores that hold cases of one and the same class.

    No threshold between them is ever best, and the areas under the ROC curve, its hull and its
    linear interpolation stay exactly the same, for this table and for every replicate of it:
    resample the pooled table instead, and a rare class makes it smaller by orders of magnitude. For
    measures of ranks only; the pooled score is the highest of its run. With leading axes, scores
    are pooled where all tables agree. Worth it for balanced classes too: replicates of the area of
    10⁵ continuous scores, half of them positive, take about 0.7 of the time.

    Parameters
    ----------
    table : distinct scores and the weight of each class at them, (S, 2)

    Returns
    -------
    a shorter table with the same ROC hull

    Examples
    --------
    >>> table = ScoreTable.from_scores([0, 0, 1, 0, 1, 1], [0.1, 0.2, 0.3, 0.4, 0.5, 0.6])
    >>> pooled_runs(table).weights
    array([[2., 0.],
           [0., 1.],
           [1., 0.],
           [0., 2.]])
    """
    occupied = (table.weights > 0).reshape(-1, *table.weights.shape[-2:])
    holds = np.asarray(occupied.any(axis=0))
    kind = holds[:, 0] + 2 * holds[:, 1]
    new = np.concatenate([[True], (kind[1:] != kind[:-1]) | (kind[1:] == 3)])
    starts = np.flatnonzero(new)
    stops = np.append(starts[1:], kind.size) - 1
    return ScoreTable._trusted(
        scores=table.scores[stops],
        weights=np.add.reduceat(table.weights, starts, axis=-2),
        classes=table.classes,
        groups=table.groups,
    )
