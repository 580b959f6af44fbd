"""Models that rank the cases the wrong way round, which is most often an order of columns."""

from __future__ import annotations

from statistics import NormalDist

import numpy as np

from stakes._check import FloatArray, Label
from stakes.evaluation.cases import Cases
from stakes.evaluation.evidence import Evidence, ModelTallies, Sample
from stakes.report import Interval

__all__ = ["LEVEL", "backwards_class", "own_class_leads"]

LEVEL = 0.95  # beyond it a model that ranks backwards does so not by chance

_BLOCK = 1 << 16  # rows at a time, so that memory stays flat


def own_class_leads(rows: FloatArray, cases: Cases) -> FloatArray:
    r"""By how much cases of each class lead in its posterior, and the standard error, (2, K).

    .. math:: \mathrm{E}[p_k \mid k] - \mathrm{E}[p_k \mid \text{not } k]

    One pass over the rows, where an area under the ROC curve of each class against the rest would
    sort them K times. The mean of calibrated posteriors cannot fall behind: the first term is at
    least the share of the class, the second at most. The standard error is that of posteriors that
    know nothing of the class, dealt out to the cases at random. Clusters are taken for copies of
    one case, the worst that they can be. nan for a class that no case, or every case, belongs to.
    """
    size, n_rows = rows.shape[1], len(rows)
    own, every = np.zeros((3, size)), np.zeros((3, size))  # sums of posteriors, weights, squares
    of_squares = np.zeros(size)
    for start in range(0, n_rows, _BLOCK):
        part, truth = rows[start : start + _BLOCK], cases.truth[start : start + _BLOCK]
        weight = np.ones(len(part)) if cases.weights is None else cases.weights[start:][: len(part)]
        columns = (weight * part[np.arange(len(part)), truth], weight, weight**2)
        own += [np.bincount(truth, column, size) for column in columns]
        every += [weight @ part, np.full(size, weight.sum()), np.full(size, weight @ weight)]
        of_squares += weight @ part**2
    copies = 1.0 if cases.cluster is None else n_rows / len(cases.cluster.labels)
    rest = every - own
    with np.errstate(divide="ignore", invalid="ignore"):
        spread = np.maximum(of_squares / every[1] - (every[0] / every[1]) ** 2, 0.0)
        error = np.sqrt(copies * spread * (own[2] / own[1] ** 2 + rest[2] / rest[1] ** 2))
        return np.stack([own[0] / own[1] - rest[0] / rest[1], error])


def backwards_class(
    tallied: ModelTallies, area: Interval | None, evidence: Evidence
) -> Label | None:
    """The class that a model ranks backwards beyond noise; None where there is none.

    Two classes: by the 95 % interval of the area under the ROC curve; where there is none, by the
    standard error of scores that know nothing. More classes: by their leads.
    """
    classes = evidence.problem.classes
    if area is not None:
        high = area.high
        if np.isnan(high):
            high = area.value + NormalDist().inv_cdf((1 + LEVEL) / 2) * _blind_error(
                evidence.sample
            )
        return classes[1] if high < 0.5 else None
    if tallied.leads is None:
        return None
    doubt = (1 - LEVEL) / 2 / len(classes)  # as many classes are looked at
    lead, error = tallied.leads
    upper = lead + NormalDist().inv_cdf(1 - doubt) * error
    return classes[int(np.nanargmin(upper))] if (upper < 0).any() else None


def _blind_error(sample: Sample) -> float:
    r"""Standard error of the AUC of scores that know nothing, of Mann and Whitney (1947).

    .. math:: \sqrt{\frac{n_0 + n_1 + 1}{12\, n_0 n_1}}

    Weights count for as many equal ones as their squares say, clusters for copies of one case.
    """
    sizes = np.asarray(sample.sizes, dtype=np.float64)
    if sample.squares is not None:
        truth = sample.joint.cells[:, 0]
        weights, squares = (
            np.bincount(truth, column.reshape(-1, truth.size).sum(axis=0), sizes.size)
            for column in (sample.joint.weights, sample.squares)
        )
        sizes = weights**2 / np.maximum(squares, 1e-300)
    copies = 1.0 if sample.clusters is None else sizes.sum() / sample.clusters
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(np.sqrt((sizes.sum() / copies + 1) / (12 * sizes.prod() / copies**2)))
