"""Scores of cases: one loss per case, their mean, and the mean of a system that never looks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from stakes import _check
from stakes._check import FloatArray, IntArray, Labels
from stakes.errors import InputError
from stakes.scoring.rules import ScoringRule, weighted_sum
from stakes.tally import LossMoments

__all__ = [
    "case_scores",
    "class_labels",
    "mean_score",
    "normalized_score",
    "read_posteriors",
    "score_moments",
]


def class_labels(y_true: object, classes: object, size: int) -> Labels:
    """The labels of the classes: those stated, else 0 … size − 1 when the cases are so labelled."""
    if classes is not None:
        names = _check.labels("classes", classes)
        if len(names) != size:
            raise InputError(
                f"classes must be {size} labels, one for each column; got {len(names)}. "
                f"An (n,) array is P(second class) of two."
            )
        return names
    unknown = [label for label in _check.distinct("y_true", y_true) if label not in range(size)]
    if unknown:
        raise InputError(
            f"classes must be stated unless the labels are 0 to {size - 1} or booleans; y_true "
            f"holds {unknown[0]!r}. Pass classes=[…] in the order of the columns; the positive "
            f"class of two is the second."
        )
    return tuple(range(size))


def read_posteriors(
    y_true: object, posteriors: object, classes: object
) -> tuple[Labels, IntArray, FloatArray]:
    """Labels of the classes, positions (n,) of the true ones, and posteriors (n, K)."""
    shape = np.shape(_check.probabilities("posteriors", posteriors))
    size = shape[1] if len(shape) == 2 else 2
    names = class_labels(y_true, classes, size)
    truth = _check.codes("y_true", y_true, names)
    rows = _check.posteriors("posteriors", posteriors, size)
    _check.same_length(y_true=truth, posteriors=rows)
    return names, truth, rows


def case_scores(
    y_true: object, posteriors: object, rule: ScoringRule, *, classes: object = None
) -> FloatArray:
    """Loss of every case under a rule, of shape (n,).

    Parameters
    ----------
    y_true : labels, of shape (n,)
    posteriors : (n, K), one column for each class, or (n,) for P(second class) of two
    classes : K labels in the order of the columns; may be left out for labels 0 … K − 1

    Examples
    --------
    >>> from stakes.scoring import HalfBrier
    >>> case_scores(["ham", "spam"], [0.25, 0.5], HalfBrier(), classes=["ham", "spam"])
    array([0.0625, 0.25  ])
    """
    _, truth, rows = read_posteriors(y_true, posteriors, classes)
    return rule.losses(rows, truth)


def mean_score(
    y_true: object,
    posteriors: object,
    rule: ScoringRule,
    *,
    classes: object = None,
    weights: object = None,
    prior: object = None,
) -> float:
    r"""Mean loss per case; under a prior, the one to expect once deployed.

    .. math:: \sum_k \pi_k \frac{\sum_{i \in k} w_i S(q_i, k)}{\sum_{i \in k} w_i}

    Without a prior, :math:`\pi` are the class shares of the data and this is the plain weighted
    mean. A class that the prior expects but the data lack makes it nan; a class of prior zero is
    ignored. inf where a case of positive weight has an infinite loss.

    Examples
    --------
    >>> from stakes.scoring import HalfBrier
    >>> y, q = [0, 0, 0, 1], [0.5, 0.5, 0.5, 0.0]
    >>> mean_score(y, q, HalfBrier()), mean_score(y, q, HalfBrier(), prior=[0.5, 0.5])
    (0.4375, 0.625)
    """
    names, truth, rows = read_posteriors(y_true, posteriors, classes)
    shares, means = _shares_and_means(truth, rows, rule, weights, len(names))
    if prior is not None:
        shares = _check.prior("prior", prior, names)
    return float(weighted_sum(shares, np.where(shares > 0, means, 0.0), axis=-1))


def normalized_score(
    y_true: object,
    posteriors: object,
    rule: ScoringRule,
    *,
    classes: object = None,
    weights: object = None,
    prior: object = None,
) -> float:
    r"""Mean loss divided by that of the prior-only system: below 1, looking at the cases pays.

    The prior-only system forecasts the prior (or the class shares of the data) for every case; its
    loss is the rule's entropy of it. Where that is zero, the answer is nan if the mean loss is zero
    too, else inf.

    Examples
    --------
    >>> from stakes.scoring import LogLoss
    >>> normalized_score([0, 0, 0, 1], [0.25] * 4, LogLoss())
    1.0
    """
    names, truth, rows = read_posteriors(y_true, posteriors, classes)
    shares, means = _shares_and_means(truth, rows, rule, weights, len(names))
    if prior is not None:
        shares = _check.prior("prior", prior, names)
    mean = weighted_sum(shares, np.where(shares > 0, means, 0.0), axis=-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(mean / rule.entropy(shares))


def score_moments(
    y_true: object,
    forecasts: Mapping[str, object],
    rule: ScoringRule,
    *,
    classes: object = None,
    weights: object = None,
) -> LossMoments:
    """The tally of several systems' losses: means by class and paired differences follow from it.

    Infinite losses have no second moments and are refused; `mean_score` takes them.

    Parameters
    ----------
    forecasts : mapping from the name of a system to its posteriors

    Examples
    --------
    >>> from stakes.scoring import HalfBrier
    >>> moments = score_moments([0, 1], {"old": [0.5, 0.5], "new": [0.1, 0.8]}, HalfBrier())
    >>> moments.mean()
    array([0.25 , 0.025])
    """
    losses: dict[str, FloatArray] = {}
    names: Any = classes
    for name, posteriors in forecasts.items():
        names, truth, rows = read_posteriors(y_true, posteriors, classes)
        losses[name] = rule.losses(rows, truth)
    return LossMoments.from_losses(y_true, losses, classes=names, weights=weights)


def _shares_and_means(
    truth: IntArray, rows: FloatArray, rule: ScoringRule, weights: object, size: int
) -> tuple[FloatArray, FloatArray]:
    """Share and mean loss of each class, (K,) each; an absent class has mean nan."""
    weight = _check.weights("weights", weights, len(truth))
    kept = weight > 0
    losses = rule.losses(rows[kept], truth[kept])
    mass = np.bincount(truth, weights=weight, minlength=size)
    sums = np.bincount(truth[kept], weights=weight[kept] * losses, minlength=size)
    with np.errstate(invalid="ignore"):
        return mass / mass.sum(), sums / mass
