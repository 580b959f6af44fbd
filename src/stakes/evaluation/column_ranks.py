"""Columns of costs that predict the class better than every model: they may be known too late."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from stakes._check import FloatArray
from stakes.evaluation.backwards import blind_error
from stakes.evaluation.cases import Cases
from stakes.evaluation.evidence import ColumnRank, Evidence, ModelTallies
from stakes.evaluation.predictions import Predictions
from stakes.problem import Problem
from stakes.ranking import auc
from stakes.tally import ScoreTable


def column_ranks(
    columns: Mapping[str, float], models: Sequence[ModelTallies], problem: Problem
) -> tuple[ColumnRank, ...]:
    """Columns of the costs beside the best model of two classes.

    Parameters
    ----------
    columns : area under the ROC curve of each column of the costs, alone
    models : tallies of the models; those without scores are no rivals
    problem : what is at stake

    Returns
    -------
    each column with the best model; empty where no model has scores

    Examples
    --------
    >>> scores = ScoreTable([0.2, 0.7], [[3, 1], [1, 3]])
    >>> tallies = ModelTallies("net", "posteriors", table=scores)
    >>> column_ranks({"loss": 0.1}, [tallies], Problem.zero_one(2))[0][2:]
    (0.9, 'net', 0.75)
    """
    areas = [
        (float(auc(tallied.table)) + tallied.auc_shift, tallied.model)
        for tallied in models
        if tallied.table is not None
    ]
    if not areas or np.isnan(max(areas)[0]):
        return ()
    best, model = max(areas)
    return tuple(
        ColumnRank(name, problem.classes[1], max(area, 1 - area), model, best)
        for name, area in columns.items()
    )


def ranks_of_rows(
    cases: Cases, predictions: Sequence[Predictions], models: Sequence[ModelTallies]
) -> tuple[ColumnRank, ...]:
    """Columns beside the best model, from rows; of many classes, each against the rest."""
    columns = {} if cases.costs is None else cases.costs.columns or {}
    if cases.problem.n_classes == 2:
        truth = cases.truth
        areas = {
            name.name: float(auc(ScoreTable._of_codes(truth, values, cases.weights, (0, 1))))
            for name, values in columns.items()
        }
        return column_ranks(areas, models, cases.problem)
    return tuple(_class_by_class(cases, columns, predictions))


def _class_by_class(
    cases: Cases, columns: Mapping[Any, FloatArray], predictions: Sequence[Predictions]
) -> Iterator[ColumnRank]:
    rivals = [model for model in predictions if model.posteriors is not None]
    if not rivals or not columns:
        return

    def area(k: int, values: FloatArray) -> float:
        positive = (cases.truth == k).astype(np.intp)
        return float(auc(ScoreTable._of_codes(positive, values, cases.weights, (0, 1))))

    for k, label in enumerate(cases.problem.classes):
        best, model = max((area(k, np.asarray(m.posteriors)[:, k]), m.model) for m in rivals)
        for name, values in columns.items():
            alone = area(k, values)
            yield ColumnRank(name.name, label, max(alone, 1 - alone), model, best)


def telling_columns(evidence: Evidence) -> Iterator[ColumnRank]:
    r"""Columns that clearly predict a class better than every model does, each once.

    The gap is clear where it exceeds :math:`z \sqrt 2` standard errors of the area of uninformative
    scores, at least as large as those of a difference; the level is 95 % over all comparisons.
    """
    from scipy.special import ndtri

    ranks, classes = evidence.column_ranks, evidence.problem.classes
    sure = ndtri(1 - 0.05 / 2 / max(len(ranks), 1)) * np.sqrt(2)
    telling: dict[str, ColumnRank] = {}
    for rank in ranks:
        error = blind_error(evidence.sample, classes.index(rank.label))
        other = telling.get(rank.column)
        if rank.area - rank.best > sure * error and (other is None or rank.area > other.area):
            telling[rank.column] = rank
    yield from telling.values()
