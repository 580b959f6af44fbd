"""Proper scores of a score table, their decompositions, and bins of scores."""

from __future__ import annotations

from abc import ABC, abstractmethod
from itertools import combinations
from typing import ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from stakes import _check
from stakes._arithmetic import ratio, running_sum, weighted_sum
from stakes._check import FloatArray, IntArray, Numbers, unwrapped
from stakes._value import Value, record
from stakes.errors import InputError
from stakes.ranking import auc, hull_cuts
from stakes.scoring.rules import (
    HalfBrier,
    LogLoss,
    ScoringRule,
    SymmetricRule,
    read_forecasts,
    require_rule,
)
from stakes.tally import ScoreTable

# Ways to pool the scores of a table into bins; equal scores always share a bin -------------------
#
# Each is a value that says, for every score of a table, in which bin it falls. The bins of
# `EachScore` and `HullBins` come from the table itself, those of the others are the caller's
# choice.

_LARGEST = float(np.finfo(np.float64).max)


class Binning(Value, ABC):
    """A rule that assigns every score of a table to a bin.

    Examples
    --------
    >>> class Halves(Binning):
    ...     def numbers(self, table):
    ...         return (table.scores > 0.5).astype(int)
    >>> table = ScoreTable([0.1, 0.4, 0.8], [[3, 1], [2, 2], [1, 3]])
    >>> bin_sums(table, Halves()).weights.tolist()
    [[5.0, 3.0], [1.0, 3.0]]
    """

    follow_classes: ClassVar[bool] = True  # whether bins depend on the classes of the cases

    @abstractmethod
    def numbers(self, table: ScoreTable) -> IntArray:
        """Number of the bin of every score, non-decreasing along the scores: (S,) or (…, S).

        Parameters
        ----------
        table : distinct scores and the weight of each class at them, (…, S, 2)

        Returns
        -------
        the bin of every score, (S,) or (…, S)

        Examples
        --------
        >>> EqualWidth(4).numbers(ScoreTable([0.0, 0.25, 0.3, 1.0], [[1, 1]] * 4))
        array([0, 0, 1, 3])
        """


@record
class EachScore(Binning):
    """Every distinct score is a bin: the segments of the ROC curve.

    Examples
    --------
    >>> from stakes.scoring import refinement_loss
    >>> float(refinement_loss(ScoreTable([0.2, 0.7], [[3, 1], [1, 2]]), EachScore()).round(3))
    0.202
    """

    follow_classes: ClassVar[bool] = False

    def numbers(self, table: ScoreTable) -> IntArray:  # noqa: D102
        _check.require("table", table, ScoreTable)
        return np.arange(table.scores.size)


@record
class HullBins(Binning):
    """The scores of one segment of the ROC hull share a bin: the blocks of isotonic regression.

    Examples
    --------
    >>> from stakes.scoring import refinement_loss
    >>> float(refinement_loss(ScoreTable([0.2, 0.7], [[3, 1], [1, 2]]), HullBins()).round(3))
    0.202
    """

    def numbers(self, table: ScoreTable) -> IntArray:  # noqa: D102
        _check.require("table", table, ScoreTable)
        size = table.scores.size
        numbers = np.empty((*table.weights.shape[:-2], size), dtype=np.intp)
        for place in np.ndindex(numbers.shape[:-1]):
            weights = np.nan_to_num(table.weights[place])  # nan: a prior for an absent class
            starts = hull_cuts(weights)[:-1]
            numbers[place] = np.searchsorted(starts, np.arange(size), side="right") - 1
        return numbers


class CutBins(Binning):
    """Bins between cuts on the scale of the scores, so that new scores can also be assigned.

    Examples
    --------
    A cut belongs to the bin below it:

    >>> class Halves(CutBins):
    ...     def cuts(self, table):
    ...         return np.array([0.5])
    >>> Halves().numbers(ScoreTable([0.1, 0.5, 0.8], [[3, 1], [2, 2], [1, 3]]))
    array([0, 0, 1])
    """

    follow_classes: ClassVar[bool] = False

    @abstractmethod
    def cuts(self, table: ScoreTable) -> FloatArray:
        """Increasing scores at which bins (low, high] end; the outer bins reach to infinity.

        Parameters
        ----------
        table : distinct scores and the weight of each class at them, (S, 2)

        Returns
        -------
        the cuts, increasing

        Examples
        --------
        >>> EqualWidth(4).cuts(ScoreTable([0.2], [[1, 1]]))
        array([0.25, 0.5 , 0.75])
        """

    def numbers(self, table: ScoreTable) -> IntArray:  # noqa: D102
        _check.require("table", table, ScoreTable)
        return np.searchsorted(self.cuts(table), table.scores, side="left")


@record(init=False)
class Edges(CutBins):
    """Bins (low, high] between increasing edges, and one beyond each outer edge.

    Parameters
    ----------
    edges : increasing scores

    Examples
    --------
    >>> Edges([0.2, 0.8]).numbers(ScoreTable([0.1, 0.2, 0.5, 0.9], [[1, 1]] * 4))
    array([0, 0, 1, 2])
    """

    edges: FloatArray

    def __init__(self, edges: npt.ArrayLike) -> None:
        bounds = _check.floats("edges", edges, ndim=1)
        if not (bounds[1:] > bounds[:-1]).all():
            raise InputError("edges must be increasing; these are not. Sort them, without repeats.")
        self._fill({"edges": bounds})

    def cuts(self, table: ScoreTable) -> FloatArray:  # noqa: D102
        return self.edges


@record
class EqualWidth(CutBins):
    """Bins (i/count, (i + 1)/count] of probabilities; the first one also holds 0.

    Parameters
    ----------
    count : how many bins

    Examples
    --------
    >>> EqualWidth(4).numbers(ScoreTable([0.0, 0.25, 0.3, 1.0], [[1, 1]] * 4))
    array([0, 0, 1, 3])
    """

    count: int

    def __post_init__(self) -> None:
        self._fill({"count": _check.whole("count", self.count, low=1)})

    def cuts(self, table: ScoreTable) -> FloatArray:  # noqa: D102
        return np.arange(1, self.count) / self.count


@record
class EqualMass(CutBins):
    """Bins of nearly equal weight: a score goes where the middle of its cases falls.

    Equal scores stay together, so that heavy ties make bins unequal and may leave some empty.

    Parameters
    ----------
    count : how many bins

    Examples
    --------
    >>> EqualMass(2).numbers(ScoreTable([0.1, 0.2, 0.5, 0.9], [[1, 0]] * 4))
    array([0, 0, 1, 1])
    """

    count: int

    def __post_init__(self) -> None:
        self._fill({"count": _check.whole("count", self.count, low=1)})

    def numbers(self, table: ScoreTable) -> IntArray:  # noqa: D102
        _check.require("table", table, ScoreTable)
        mass = table.weights.sum(axis=-1)
        middle = running_sum(mass) - mass / 2
        share = ratio(middle, mass.sum(axis=-1, keepdims=True))
        numbers = np.floor(np.nan_to_num(share) * self.count)
        return np.minimum(numbers, self.count - 1).astype(np.intp)

    def cuts(self, table: ScoreTable) -> FloatArray:
        """Midway between the last score of a bin and the first of the next; one table only.

        Examples
        --------
        >>> EqualMass(2).cuts(ScoreTable([0.1, 0.2, 0.5, 0.9], [[1, 0]] * 4))
        array([0.35])
        """
        last = np.flatnonzero(np.diff(self.numbers(table)))
        low, high = table.scores[last], table.scores[last + 1]
        finite = np.clip(low, -_LARGEST, _LARGEST), np.clip(high, -_LARGEST, _LARGEST)
        # Halved before they are added, so that the sum of two large scores does not overflow.
        middle = finite[0] / 2 + finite[1] / 2
        # Between neighbouring floats the midpoint rounds to one of them; the cut must be the lower.
        return np.where((low <= middle) & (middle < high), middle, low)


class BinTotals(NamedTuple):
    """Weights and mean scores of the bins of a table; empty bins have weight zero and mean nan."""

    numbers: IntArray  # (…, S), the bin of every score
    weights: FloatArray  # (…, B, 2), negatives and positives
    scores: FloatArray  # (…, B), mean score

    @property
    def mass(self) -> FloatArray:
        """Weight of each bin, (…, B)."""
        return np.asarray(self.weights.sum(axis=-1))

    @property
    def shares(self) -> FloatArray:
        """Share of positives in each bin, (…, B)."""
        return ratio(self.weights[..., 1], self.mass)


def bin_sums(table: ScoreTable, bins: Binning) -> BinTotals:
    """Pool a table: weight, mean score and share of positives of each bin.

    Parameters
    ----------
    table : distinct scores and the weight of each class at them, (…, S, 2)
    bins : how scores are pooled

    Returns
    -------
    weight, mean score and share of positives of each bin

    Examples
    --------
    >>> sums = bin_sums(ScoreTable([0.2, 0.3, 0.7], [[3, 0], [1, 1], [0, 2]]), EqualWidth(2))
    >>> sums.shares
    array([0.2, 1. ])
    """
    _check.require("table", table, ScoreTable)
    _check.require("bins", bins, Binning)
    leading = table.weights.shape[:-2]
    numbers = np.broadcast_to(bins.numbers(table), (*leading, table.scores.size))
    size = int(numbers.max(initial=0)) + 1
    replicates = int(np.prod(leading))
    place = (np.arange(replicates)[:, None] * size + numbers.reshape(replicates, -1)).ravel()
    columns = [table.weights[..., 0], table.weights[..., 1], table.weights.sum(-1) * table.scores]
    sums = np.stack(
        [np.bincount(place, column.ravel(), minlength=replicates * size) for column in columns],
        axis=-1,
        dtype=np.float64,
    ).reshape(*leading, size, 3)
    weights = sums[..., :2]
    return BinTotals(numbers, weights, ratio(sums[..., 2], weights.sum(axis=-1)))


# Proper scores of a score table, and their decompositions ----------------------------------------
#
# Unless they say otherwise, functions take a ScoreTable whose scores are P(positive class). They
# carry its leading axes through; ``table.with_prior(p)`` gives their values in deployment.

_BLOCK = 1 << 16  # scores at a time, so that their losses stay in the cache


def probability_scores(table: ScoreTable) -> FloatArray:
    """The scores, (S,), when all of them are probabilities; others are refused.

    Parameters
    ----------
    table : distinct scores and the weight of each class at them, (…, S, 2)

    Returns
    -------
    the scores, (S,)

    Examples
    --------
    >>> probability_scores(ScoreTable([0.2, 0.7], [[3, 0], [1, 2]]))
    array([0.2, 0.7])
    """
    _check.require("table", table, ScoreTable)
    if table.scores[0] >= 0 and table.scores[-1] <= 1:  # they are in order
        return table.scores
    outside = np.flatnonzero(~((table.scores >= 0) & (table.scores <= 1)))
    if outside.size:
        raise InputError(
            f"table must hold probabilities in [0, 1] as scores; {outside.size} of "
            f"{table.scores.size} distinct scores are outside, the first being "
            f"{table.scores[outside[0]]:g}. A calibrator makes posteriors of scores: "
            f"stakes.calibration.Isotonic, or Logistic."
        )
    return table.scores


def posterior_pairs(positive: FloatArray) -> FloatArray:
    """Posteriors of both classes, (…) → (…, 2).

    Parameters
    ----------
    positive : P(second class), (…)

    Returns
    -------
    posteriors, (…, 2)

    Examples
    --------
    >>> posterior_pairs(np.array([0.2, 0.7]))
    array([[0.8, 0.2],
           [0.3, 0.7]])
    """
    _check.shapes("…", positive=positive)
    return np.stack([1 - positive, positive], axis=-1)


def table_score(table: ScoreTable, rule: ScoringRule) -> Numbers:
    r"""Mean loss per case under any rule for two classes, of shape (…).

    .. math:: \frac{1}{n} \sum_s \sum_k w_{sk} S(s, k)

    nan without cases; inf where a forecast rules out what happened and the rule is unbounded.

    Parameters
    ----------
    table : distinct scores and the weight of each class at them, (…, S, 2)
    rule : the proper scoring rule

    Returns
    -------
    mean loss, (…)

    Examples
    --------
    >>> from stakes.scoring import Spherical
    >>> table = ScoreTable([0.0, 0.5, 1.0], [[2, 0], [1, 1], [0, 2]])
    >>> float(table_score(table, Spherical()).round(4))
    0.0976
    """
    require_rule(rule)
    scores, total = probability_scores(table), np.zeros(table.leading)
    for start in range(0, scores.size, _BLOCK):
        part = slice(start, start + _BLOCK)
        positive = scores[part]
        if isinstance(rule, SymmetricRule):
            negative = 1 - positive
            losses = rule.losses_of_two(negative, positive), rule.losses_of_two(positive, negative)
        else:
            first, second = rule.losses_by_class(posterior_pairs(positive)).T
            losses = first, second
        for k in (0, 1):
            total = total + weighted_sum(table.weights[..., part, k], losses[k], axis=-1)
    return ratio(unwrapped(total), table.n_cases)


def normalized_table_score(table: ScoreTable, rule: ScoringRule) -> Numbers:
    """Mean loss divided by that of forecasting the class shares, of shape (…); 1 is naive.

    With one class only there is no uncertainty: it is nan if the loss is also zero, else inf.

    Parameters
    ----------
    table : distinct scores and the weight of each class at them, (…, S, 2)
    rule : the proper scoring rule

    Returns
    -------
    mean loss over that of the class shares, (…)

    Examples
    --------
    >>> float(normalized_table_score(ScoreTable([0.25], [[3, 1]]), HalfBrier()))
    1.0
    """
    return unwrapped(ratio(table_score(table, rule), rule.entropy(table.shares)))


def brier(table: ScoreTable) -> Numbers:
    r"""Brier score of two classes, :math:`\pi_0 E_0\{s^2\} + \pi_1 E_1\{(1-s)^2\}`, of shape (…).

    Its scale is 0 to 1, as in hernandez-orallo, definition 8. It is the expected loss of the
    score-driven method under uniform cost proportions.

    Parameters
    ----------
    table : distinct scores and the weight of each class at them, (…, S, 2)

    Returns
    -------
    score, (…), between 0 and 1

    Examples
    --------
    >>> float(brier(ScoreTable.from_scores([0, 1], [0.25, 0.5])))
    0.15625
    """
    return table_score(table, HalfBrier())


def log_loss(table: ScoreTable) -> Numbers:
    """Mean log loss in nats, of shape (…); inf where a forecast rules out what happened.

    Parameters
    ----------
    table : distinct scores and the weight of each class at them, (…, S, 2)

    Returns
    -------
    loss in nats, (…)

    Examples
    --------
    >>> float(log_loss(ScoreTable.from_scores([0, 1], [0.25, 0.0])))
    inf
    """
    return table_score(table, LogLoss())


def mean_absolute_error(table: ScoreTable) -> Numbers:
    r"""Mean absolute error :math:`\pi_0 \bar s_0 + \pi_1 (1 - \bar s_1)`, of shape (…).

    It is not a proper rule: it rewards forecasts that are more extreme than the truth. It is the
    expected loss of the score-uniform method when E{c} = ½; hernandez-orallo, definition 9.

    Parameters
    ----------
    table : distinct scores and the weight of each class at them, (…, S, 2)

    Returns
    -------
    error, (…)

    Examples
    --------
    >>> float(mean_absolute_error(ScoreTable.from_scores([0, 1], [0.25, 0.5])))
    0.375
    """
    scores = probability_scores(table)
    losses = np.stack([scores, 1 - scores], axis=-1)
    return ratio(np.asarray(np.sum(table.weights * losses, axis=(-2, -1))), table.n_cases)


def calibration_loss(table: ScoreTable, bins: Binning) -> Numbers:
    r"""Squared distance between mean score and share of positives, averaged over bins: (…).

    .. math:: CL = \frac{1}{n} \sum_b n_b (\bar s_b - \bar y_b)^2

    With `EachScore` bins the Brier score is exactly this plus `refinement_loss`; with bins that
    pool different scores it is not (hernandez-orallo, section 6.2 and theorem 28, corrected).

    Parameters
    ----------
    table : distinct scores and the weight of each class at them, (…, S, 2)
    bins : how scores are pooled

    Returns
    -------
    loss, (…)

    Examples
    --------
    >>> from stakes.scoring import EachScore
    >>> table = ScoreTable([0.2, 0.6], [[3, 1], [1, 3]])
    >>> float(calibration_loss(table, EachScore()) + refinement_loss(table, EachScore()))
    0.2
    >>> float(brier(table))
    0.2
    """
    probability_scores(table)
    pooled = bin_sums(table, bins)
    gaps = np.where(pooled.mass > 0, pooled.scores - pooled.shares, 0.0)
    return ratio(np.asarray(np.sum(pooled.mass * gaps**2, axis=-1)), table.n_cases)


def refinement_loss(table: ScoreTable, bins: Binning) -> Numbers:
    r"""Uncertainty that remains within bins, of shape (…).

    .. math:: RL = \frac{1}{n} \sum_b n_b \bar y_b (1 - \bar y_b)

    Scores enter through their order only, so that any real scores will do. With `HullBins` it is
    the expected loss of the optimal method under uniform cost proportions (hernandez-orallo,
    corollary 30).

    Parameters
    ----------
    table : distinct scores and the weight of each class at them, (…, S, 2)
    bins : how scores are pooled

    Returns
    -------
    loss, (…)

    Examples
    --------
    >>> from stakes.scoring import HullBins
    >>> table = ScoreTable([-1, 0, 2], [[3, 1], [1, 0], [0, 4]])
    >>> float(refinement_loss(table, HullBins()).round(4))
    0.0889
    """
    pooled = bin_sums(table, bins)
    negative, positive = pooled.weights[..., 0], pooled.weights[..., 1]
    uncertainty = np.where(pooled.mass > 0, negative * ratio(positive, pooled.mass), 0.0)
    return ratio(np.asarray(np.sum(uncertainty, axis=-1)), table.n_cases)


def cllr(table: ScoreTable) -> Numbers:
    r"""Cost of log-likelihood ratios in bits: the log loss at equal prior odds, of shape (…).

    .. math:: \frac12 E_1\{\log_2(1 + e^{-s})\} + \frac12 E_0\{\log_2(1 + e^{s})\}

    Scores are natural logarithms of likelihood ratios, positive class over negative, and may be any
    real number or infinite. Zero is perfect, one is the cost of scores that are all zero, and inf
    that of a certainty that was wrong. The class shares do not matter. nan where a class is absent.
    Reference: Brümmer and du Preez 2006.

    Parameters
    ----------
    table : distinct scores and the weight of each class at them, (…, S, 2)

    Returns
    -------
    cost in bits, (…); 1 means no information

    Examples
    --------
    >>> float(cllr(ScoreTable.from_scores([0, 0, 1, 1], [-2.0, 0.5, -0.5, 3.0])).round(4))
    0.766
    """
    _check.require("table", table, ScoreTable)
    signed = np.stack([table.scores, -table.scores], axis=-1)
    losses = np.logaddexp(0.0, signed) / np.log(2)
    return _balanced_bits(table.weights, losses)


def min_cllr(table: ScoreTable) -> Numbers:
    """`cllr` after the best monotone recalibration of the scores, of shape (…).

    Scores are recalibrated on the same cases by isotonic regression, at equal prior odds, so that
    only their order matters. This is the loss due to poor separation alone; ``cllr(table) -
    min_cllr(table)`` is the loss due to poor calibration. nan where a class is absent.
    Reference: Brümmer and du Preez 2006.

    Parameters
    ----------
    table : distinct scores and the weight of each class at them, (…, S, 2)

    Returns
    -------
    cost in bits, (…), at most that of the scores themselves

    Examples
    --------
    >>> float(min_cllr(ScoreTable.from_scores([0, 0, 1, 1], [-2.0, 0.5, -0.5, 3.0])).round(4))
    0.5
    """
    _check.require("table", table, ScoreTable)
    ranks = ScoreTable(np.arange(table.scores.size), table.weights)  # infinite scores have no mean
    # With equal class shares, the pooled shares of positives are posteriors at even prior odds.
    pooled = bin_sums(ranks.with_prior([0.5, 0.5]), HullBins()).weights
    with np.errstate(divide="ignore", invalid="ignore"):
        losses = -np.log2(pooled / pooled.sum(axis=-1, keepdims=True))
    return _balanced_bits(pooled, losses)


def _balanced_bits(weights: FloatArray, losses: FloatArray) -> Numbers:
    """Mean over the two classes of their mean losses; weights and losses are (…, S, 2)."""
    return unwrapped(np.mean(ratio(weighted_sum(weights, losses, axis=-2), weights.sum(-2)), -1))


def one_vs_one_auc(
    y_true: object, posteriors: object, *, classes: object = None, weights: object = None
) -> float:
    r"""Hand and Till's M: how well posteriors separate two classes, averaged over all pairs.

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
            is_positive, scores = truth[pair] == positive, rows[pair, positive]
            table = ScoreTable.from_scores(is_positive, scores, weights=mass[pair])
            areas.append(float(auc(table)))
    return float(np.mean(areas)) if areas else float("nan")
