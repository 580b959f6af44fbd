"""The area under the ROC curve for several classes, pair by pair."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from stakes import _check
from stakes.ranking import auc
from stakes.scoring.case_scores import read_forecasts
from stakes.tally import ScoreTable


def one_vs_one_auc(
    y_true: object, posteriors: object, *, classes: object = None, weights: object = None
) -> float:
    r"""Hand and Till's M: how well posteriors tell two classes apart, averaged over the pairs.

    .. math:: M = \frac{2}{K(K-1)} \sum_{k<l} \frac{A(k \mid l) + A(l \mid k)}{2}

    :math:`A(k \mid l)` is the chance that a case of class k has a higher posterior of k than a case
    of class l, ties counting a half. The class shares do not matter; for two classes it is the AUC.
    Higher is better; nan where a class is absent. scikit-learn's
    ``roc_auc_score(…, multi_class="ovo")``. Arguments are those of `case_scores`.
    Reference: Hand and Till 2001.

    Parameters
    ----------
    y_true : true class of every case, (n,)
    posteriors : P(class) for every case, (n, K), or P(second class), (n,)
    classes : labels of the classes, in the order of the columns
    weights : weight of each case, (n,); None counts each once

    Returns
    -------
    mean area over all pairs of classes

    Examples
    --------
    >>> y = [0, 0, 1, 1, 2]
    >>> q = [[0.8, 0.1, 0.1], [0.4, 0.5, 0.1], [0.3, 0.4, 0.3], [0.1, 0.8, 0.1], [0.2, 0.3, 0.5]]
    >>> round(one_vs_one_auc(y, q), 4)
    0.9583
    """
    names, truth, rows = read_forecasts(y_true, posteriors, classes, weights)
    mass = _check.weights("weights", weights, truth.size)
    areas = []
    for k, other in combinations(range(len(names)), 2):
        pair = (truth == k) | (truth == other)
        if not mass[pair].any():
            return float("nan")
        for positive in (k, other):
            own_case, scores = truth[pair] == positive, rows[pair, positive]
            table = ScoreTable.from_scores(own_case, scores, weights=mass[pair])
            areas.append(float(auc(table)))
    return float(np.mean(areas)) if areas else float("nan")
