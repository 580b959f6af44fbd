"""Maps from a score table to a score table that keep the order of the cases.

They turn theorems about scores into equations between tables (hernandez-orallo, table 5). Scores
without weight are dropped; class labels are kept. A table with leading axes is refused, because
each of its tables would need its own scores.
"""

from __future__ import annotations

import numpy as np

from stakes._arithmetic import running_sum
from stakes._check import FloatArray
from stakes.errors import InputError
from stakes.ranking.convex_hull import hull, hull_cuts, single
from stakes.tally import ScoreTable


def evenly_spaced(table: ScoreTable) -> ScoreTable:
    r"""Replace the score of the i-th of n cases by (i − 1)/(n − 1).

    Tied cases share the mean of their positions. On evenly spaced scores the mean absolute error
    is ½ + n/(n−1)·π₀π₁(1 − 2 AUC). Fractional weights and a single case have no positions and are
    refused; hernandez-orallo, definition 31.

    Parameters
    ----------
    table : distinct scores and the weight of each class at them, (S, 2)

    Returns
    -------
    table with scores between 0 and 1

    Examples
    --------
    >>> from stakes.tally import ScoreTable
    >>> table = ScoreTable.from_scores([0, 1, 0, 1], [-1.5, 0.2, 0.2, 3.0])
    >>> evenly_spaced(table).scores.tolist()
    [0.0, 0.5, 1.0]
    """
    _, weights = _occupied(table, "evenly spaced scores")
    size = weights[:, 0] + weights[:, 1]
    fractional = np.flatnonzero((weights != np.floor(weights)).any(axis=1))
    if fractional.size:
        raise InputError(
            f"table must hold whole cases to be spaced evenly; {fractional.size} of {size.size} "
            f"scores hold fractions, the first {weights[fractional[0]].tolist()} at score number "
            f"{fractional[0]}. midpoint_spaced accepts fractional weights."
        )
    n_cases = size.sum()
    if n_cases < 2:
        raise InputError(
            "table must hold at least two cases to be spaced evenly; it holds one. "
            "midpoint_spaced puts a single case at one half."
        )
    # Tied cases share the mean of the ranks that they occupy.
    before = running_sum(size) - size
    return _rescored(table, (before + (size - 1) / 2) / (n_cases - 1), weights)


def midpoint_spaced(table: ScoreTable) -> ScoreTable:
    r"""Replace the score of the i-th of n cases by (i − ½)/n, its mid-rank as a share.

    Tied cases share the mean of their positions; weights may be fractional. On such scores the mean
    absolute error is exactly ½ + π₀π₁(1 − 2 AUC); this is the finite form of hernandez-orallo,
    definition 32 and theorem 36.

    Parameters
    ----------
    table : distinct scores and the weight of each class at them, (S, 2)

    Returns
    -------
    table with scores between 0 and 1

    Examples
    --------
    >>> from stakes.tally import ScoreTable
    >>> table = ScoreTable.from_scores([0, 1, 0, 1], [-1.5, 0.2, 0.2, 3.0])
    >>> midpoint_spaced(table).scores.tolist()
    [0.125, 0.5, 0.875]
    """
    _, weights = _occupied(table, "midpoint spacing")
    size = weights[:, 0] + weights[:, 1]
    middle = running_sum(size) - size / 2
    return _rescored(table, middle / size.sum(), weights)


def isotonic(table: ScoreTable) -> ScoreTable:
    r"""Replace every score by the share of positives in its segment of the ROC hull (PAV).

    This is isotonic regression of the class on the score: of all non-decreasing maps it has the
    smallest Brier score, and the smallest value of every other proper score. The result is
    perfectly calibrated, its ROC curve is the hull, and cases of one segment are tied. With a
    single class all scores become 0 or 1; hernandez-orallo, section 7.2.

    Parameters
    ----------
    table : distinct scores and the weight of each class at them, (S, 2)

    Returns
    -------
    table whose scores are calibrated on itself

    Examples
    --------
    >>> from stakes.tally import ScoreTable
    >>> calibrated = isotonic(ScoreTable.from_scores([0, 1, 0, 1], [-1.5, 0.2, 0.3, 3.0]))
    >>> calibrated.scores.tolist(), calibrated.weights.tolist()
    ([0.0, 0.5, 1.0], [[1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
    """
    _refuse_empty(table, "isotonic regression")
    segments = hull(table).segments
    # Isotonic regression is the share of positives on each segment of the hull: pooling adjacent
    # violators finds the vertices of the hull.
    return _rescored(table, segments[:, 1] / (segments[:, 0] + segments[:, 1]), segments)


def convexified(table: ScoreTable) -> ScoreTable:
    r"""Give the cases of each segment of the ROC hull their mean score (ROCCH).

    The ROC curve becomes its convex hull, while scores stay on their own scale: a score that is a
    segment by itself is untouched, and nothing is calibrated. Optimal losses do not change
    (hernandez-orallo, definition 26 and theorem 27), and ``isotonic(convexified(table))`` is
    ``isotonic(table)``. With these scores the Brier score is the calibration loss plus the
    refinement loss of hull bins. A segment that reaches from −inf to inf gets the score 0.

    Parameters
    ----------
    table : distinct scores and the weight of each class at them, (S, 2)

    Returns
    -------
    table of fewer distinct scores

    Examples
    --------
    >>> from stakes.tally import ScoreTable
    >>> convexified(ScoreTable.from_scores([0, 1, 0, 1], [-1.5, 0.2, 0.4, 3.0])).scores.round(9)
    array([-1.5,  0.3,  3. ])
    """
    scores, weights = _occupied(table, "convexified scores")
    cuts = hull_cuts(weights)
    first, last = cuts[:-1], cuts[1:] - 1
    segments = np.add.reduceat(weights, first, axis=0)
    size = weights[:, 0] + weights[:, 1]
    # Shares of a segment are at most one, so that their products with large scores do not overflow.
    share = size / np.repeat(np.add.reduceat(size, first), last - first + 1)
    with np.errstate(invalid="ignore"):  # −inf + inf, in the one segment that holds both
        mean = np.add.reduceat(share * scores, first)
    mean = np.where(np.isnan(mean), 0.0, mean)
    # Rounding must not move a mean out of its segment.
    return _rescored(table, np.clip(mean, scores[first], scores[last]), segments)


def _occupied(table: ScoreTable, what: str) -> tuple[FloatArray, FloatArray]:
    """Scores and weights (S, 2) of the scores that carry weight."""
    _refuse_empty(table, what)
    weights = table.weights
    occupied = weights[:, 0] + weights[:, 1] > 0
    return (
        (table.scores, weights) if occupied.all() else (table.scores[occupied], weights[occupied])
    )


def _refuse_empty(table: ScoreTable, what: str) -> None:
    """Refuse a table without cases, or one with leading axes."""
    single(table, what)
    if not table.n_cases > 0:
        raise InputError(
            f"table must hold cases where {what} is asked for; none of its {table.scores.size} "
            f"scores has a positive weight. A prior for a class without cases leaves no weight."
        )


def _rescored(table: ScoreTable, scores: FloatArray, weights: FloatArray) -> ScoreTable:
    """Table of new scores in the same order; scores that rounding made equal are merged."""
    scores = np.maximum.accumulate(scores)  # rounding must not reverse two neighbours
    first = np.flatnonzero(np.concatenate([[True], scores[1:] > scores[:-1]]))
    if first.size < scores.size:
        scores, weights = scores[first], np.add.reduceat(weights, first, axis=0)
    return table._but(scores=scores, weights=weights, groups=None)
