"""Columns that are not what they seem: in the wrong order, or known too late."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from stakes._check import FloatArray, Label
from stakes.evaluation.cases import Cases
from stakes.evaluation.evidence import (
    ColumnOrder,
    ColumnRank,
    Evidence,
    JointSample,
    ModelTallies,
    VarianceOf,
    clear_order,
)
from stakes.evaluation.predictions import Predictions
from stakes.inference import Measured
from stakes.problem import Problem
from stakes.ranking import auc
from stakes.tally import ScoreTable

# Models that rank the cases backwards, most often because columns are in the wrong order ---------

LEVEL = 0.95  # confidence at which a model is said to rank backwards

_BLOCK = 1 << 16  # rows at a time, so that the memory needed does not grow with the rows
_ROUNDING = 1e-9  # a lead this close to zero may be due to rounding


def class_leads(rows: FloatArray, cases: Cases) -> FloatArray:
    r"""How far the posterior of each class leads among its cases, and its standard error, (2, K).

    .. math:: \mathrm{E}[p_k \mid k] - \mathrm{E}[p_k \mid \text{not } k]

    This takes one pass over the rows, where an area under the ROC curve of each class against the
    rest would sort them K times. The expected lead of calibrated posteriors is never negative: the
    first term is at least the share of the class, the second at most. The standard error is that
    of uninformative posteriors, assigned to the cases at random. Cases of the same cluster are
    treated as copies of one case, the worst that is possible. The lead is nan for a class that no
    case, or every case, belongs to.
    """
    masses = cases.masses
    return _leads(_lead_sums(rows, cases), masses, _squares(cases, masses))


def _lead_sums(rows: FloatArray, cases: Cases) -> FloatArray:
    """Summed posteriors of each class: over its own cases, over all, and of squares, (3, K)."""
    size, n_rows = rows.shape[1], len(rows)
    of_own, of_all, of_squares = sums = np.zeros((3, size))
    for start in range(0, n_rows, _BLOCK):
        part, truth = rows[start : start + _BLOCK], cases.truth[start : start + _BLOCK]
        weight = np.ones(len(part)) if cases.weights is None else cases.weights[start:][: len(part)]
        of_own += np.bincount(truth, weight * part[np.arange(len(part)), truth], size)
        of_all += weight @ part
        of_squares += weight @ part**2
    return sums


def _leads(sums: FloatArray, masses: FloatArray, squares: FloatArray) -> FloatArray:
    """The leads from sums of posteriors (3, K), weights of classes in clusters (U, K), squares."""
    of_own, of_all, of_squares = sums
    mass, outside = masses.sum(axis=0), masses.sum() - masses.sum(axis=0)
    # Beside a class that outweighs all others, nothing is left of these but rounding.
    outside = np.where(outside > 1e-12 * mass, outside, np.nan)
    with np.errstate(divide="ignore", invalid="ignore"):
        spread = np.maximum(of_squares / mass.sum() - (of_all / mass.sum()) ** 2, 0.0)
        error = np.sqrt(spread * (squares[0] / mass**2 + squares[1] / outside**2))
        return np.stack([of_own / mass - (of_all - of_own) / outside, error])


def leads_in_sample(sums: FloatArray, sample: JointSample) -> FloatArray:
    """The leads of posteriors that were summed (3, K) over the cases of a sample.

    Parameters
    ----------
    sums : sums of the posteriors of each class: over its own cases, over all, and of squares
    sample : the cases

    Returns
    -------
    leads and their standard errors, (2, K)

    Examples
    --------
    >>> from stakes import JointCounts, Problem
    >>> from stakes.evaluation import JointSample
    >>> problem = Problem.zero_one(2)
    >>> joint = JointCounts.from_decisions([0, 0, 1, 1], {"net": [0, 0, 1, 0]}, problem)
    >>> sample = JointSample(joint=joint, sizes=np.array([2.0, 2.0]), squares=None)
    >>> leads_in_sample(np.array([[1.6, 1.1], [2.5, 1.5], [1.7, 0.7]]), sample).round(2)
    array([[0.35, 0.35],
           [0.19, 0.19]])
    """
    return _leads(sums, *_sample_sums(sample))


def order_in_sample(
    logs: FloatArray, sample: JointSample, variance: VarianceOf
) -> ColumnOrder | None:
    """The order of columns that fits the cases of a sample clearly better.

    Parameters
    ----------
    logs : sums of log probabilities over the cases, (K, K), column by class
    sample : the cases
    variance : computes the variance of what an order gains

    Returns
    -------
    the order; None where none is clearly better

    Examples
    --------
    >>> from stakes import JointCounts, Problem
    >>> from stakes.evaluation import JointSample
    >>> problem, y = Problem.zero_one(3), [0, 1, 2] * 40
    >>> joint = JointCounts.from_decisions(y, {"net": y}, problem)
    >>> sample = JointSample(joint=joint, sizes=np.array([40.0, 40.0, 40.0]), squares=None)
    >>> logs = np.log([[0.7, 0.2, 0.1], [0.2, 0.1, 0.7], [0.1, 0.7, 0.2]]) * 40
    >>> order_in_sample(logs, sample, lambda *gains: 1e-4).columns
    (0, 2, 1)
    """
    masses, squares = _sample_sums(sample)
    total = masses.sum(axis=0)
    return clear_order(logs / np.where(total > 0, total, 1.0), total, squares[0], variance)


def _sample_sums(sample: JointSample) -> tuple[FloatArray, FloatArray]:
    """Weights of classes in clusters (U, K), and the sums of squares (2, K) of `_squares`."""
    of_class = sample.joint.cells[:, :1] == np.arange(sample.sizes.size)
    masses = np.atleast_2d(sample.joint.weights @ of_class)
    squares = masses[0] if sample.squares is None else sample.squares @ of_class
    return masses, _drawn(masses, squares if sample.clusters is None else None)


def _squares(cases: Cases, masses: FloatArray) -> FloatArray:
    """Sums of squared weights of what was drawn, in each class and outside it, (2, K).

    Clusters were drawn where there are any, else cases; a copy of a row is a case of its own.
    """
    if cases.clusters is not None:
        return _drawn(masses, None)
    of_class = masses[0]
    if not cases.whole and cases.weights is not None:
        of_class = np.bincount(cases.truth, cases.weights**2, of_class.size)
    return _drawn(masses, of_class)


def _drawn(masses: FloatArray, of_class: FloatArray | None) -> FloatArray:
    """The same from squared weights of cases (K,); from the weights of clusters if these are None.

    Squared weights of cases outside a class are those of all cases less those of the class. The
    weights of a cluster have to be summed before they are squared.
    """
    if of_class is None:
        outside = masses.sum(axis=1, keepdims=True) - masses
        return np.stack([(masses**2).sum(axis=0), (outside**2).sum(axis=0)])
    return np.stack([of_class, of_class.sum() - of_class])


def backwards_class(
    tallied: ModelTallies, area: Measured | None, evidence: Evidence
) -> Label | None:
    """The class that a model clearly ranks backwards; None where there is none.

    For two classes the area under the ROC curve must be below one half by its 95 % interval, where
    there is one, and by the standard error of uninformative scores: with few cases of a class,
    either alone gives false alarms. For more classes, leads are compared with zero.
    """
    from scipy.special import ndtri

    classes = evidence.problem.classes
    if area is not None:
        blind = ndtri((1 + LEVEL) / 2) * blind_error(evidence.sample, 1)
        high = np.fmax(area.high, area.value + blind)
        return classes[1] if high < 0.5 else None
    if tallied.leads is None:
        return None
    doubt = (1 - LEVEL) / 2 / len(classes)  # Bonferroni: one comparison for each class
    lead, error = tallied.leads
    upper = lead + ndtri(1 - doubt) * error
    return classes[int(np.nanargmin(upper))] if (upper < -_ROUNDING).any() else None


def blind_error(sample: JointSample, k: int) -> float:
    r"""Standard error of the AUC of uninformative scores of class k against the rest.

    After Mann and Whitney (1947):

    .. math:: \sqrt{\frac{n_0 + n_1 + 1}{12\, n_0 n_1}}

    Cases of unequal weight count as their effective number within a class (Kish): the squared sum
    of weights over the sum of squares. So do clusters, whose cases are treated as copies of one.
    """
    masses, squares = _sample_sums(sample)
    mass = masses.sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        sizes = np.array([mass[k], mass.sum() - mass[k]]) ** 2 / squares[:, k]
        return float(np.sqrt((sizes.sum() + 1) / (12 * sizes.prod())))


# -------------------------------------------------------------------------------------------------
# Columns of costs that predict the class better than every model: they may be known too late.


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
