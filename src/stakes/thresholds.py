"""Threshold-choice methods, their losses over operating conditions, and the best threshold.

A method says which threshold is used at each cost proportion. Its loss curve is made of pieces,
and its expected loss over any distribution of conditions is a sum, never a grid
(hernandez-orallo; dyrland, section 5).

Takes tallies.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from math import isnan, nan, prod
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from stakes import _check
from stakes._arithmetic import running_sum
from stakes._check import FloatArray, IntArray, Numbers, require, same_labels, unwrapped
from stakes._value import Value, record
from stakes.conditions import Condition, CostProportions, Distribution, Point, Uniform
from stakes.curve import Curve
from stakes.errors import InputError
from stakes.measures import coefficients_on, decision_rates, expected_cost, prior_of, term_cost
from stakes.problem import CaseCosts, Problem
from stakes.ranking import auc, hull, isotonic, single
from stakes.tally import Counts, ScoreTable

__all__ = [
    "BestThreshold",
    "ByThreshold",
    "Method",
    "Optimal",
    "RateDriven",
    "RateFixed",
    "RateUniform",
    "ScoreDriven",
    "ScoreFixed",
    "ScoreUniform",
    "StakesTable",
    "best_threshold",
    "expected_loss",
    "h_measure",
    "population_of",
    "stakes_table",
    "weighed",
]


# The seven threshold-choice methods (hernandez-orallo, tables 3 and 6) ---------------------------
#
# A threshold is set on scores, on rates (shares of cases) or on the convex hull; it is fixed,
# drawn uniformly, or driven by the operating condition. In all methods every case has a place on a
# scale and gets the positive decision if that place lies above the threshold. On the scale of
# scores the place is the score. On the scale of rates the cases of one score are spread evenly
# over the share of cases that they make up, counted from the lowest score; a rate that falls among
# them is realised by interpolation, so that ties and class weights need no special treatment. On
# the hull the place is the share of positives in the segment.

# Weights (..., B, 2) of a block of scores; losses of a negative and of a positive case there.
CaseLosses: TypeAlias = tuple[FloatArray, FloatArray, FloatArray]

_BLOCK = 1 << 16  # numbers in a block, leading axes included
_LEAST = 64  # scores in a block


def _block_size(table: ScoreTable) -> int:
    _check.require("table", table, ScoreTable)
    return max(_BLOCK // max(prod(table.leading), 1), _LEAST)


def score_blocks(table: ScoreTable) -> Iterator[tuple[FloatArray, FloatArray]]:
    """Weights (..., B, 2) and scores (B,)."""
    size = _block_size(table)
    for start in range(0, table.scores.size, size):
        block = slice(start, start + size)
        yield table.weights[..., block, :], table.scores[block]


def rate_blocks(table: ScoreTable) -> Iterator[tuple[FloatArray, FloatArray, FloatArray]]:
    """Weights (..., B, 2), and the shares of all cases that lie below and up to each score."""
    cases = np.asarray(table.n_cases)[..., None]
    # Blocks continue the running sum of the one before; tables without cases divide by one.
    before, divisor = np.zeros_like(cases), np.where(cases > 0, cases, 1.0)
    for weights, _ in score_blocks(table):
        edges = running_sum(np.concatenate([before, weights[..., 0] + weights[..., 1]], axis=-1))
        before = edges[..., -1:].copy()
        edges /= divisor
        yield weights, edges[..., :-1], edges[..., 1:]


def both_classes(table: ScoreTable) -> npt.NDArray[np.bool_]:
    """Whether there are negatives as well as positives, (...,)."""
    return np.asarray(np.all(table.class_weights > 0, axis=-1))


def weighted(weights: FloatArray, values: FloatArray) -> FloatArray:
    """Sum (...,) of values (..., B), or of one value for all, times weights (..., B)."""
    of_each = np.broadcast_to(values, weights.shape)
    return np.asarray(np.einsum("...s,...s->...", weights, of_each))


def mean_over_cases(blocks: Iterable[CaseLosses], class_weights: FloatArray) -> FloatArray:
    """Mean loss (...,) per case, for weights (..., 2) of classes; nan where one is absent."""
    losses = np.zeros((2, *class_weights.shape[:-1]))
    for weights, *of_class in blocks:
        for k in (0, 1):
            losses[k] += weighted(weights[..., k], of_class[k])
    return per_case(losses.sum(axis=0), class_weights)


def per_case(losses: FloatArray, class_weights: FloatArray) -> FloatArray:
    """Sums of losses (...,) over the number of cases; nan where a class is absent."""
    both, undefined = np.all(class_weights > 0, axis=-1), class_weights[..., 0] * np.nan
    cases = class_weights.sum(axis=-1)
    return np.asarray(np.divide(losses, cases, out=np.asarray(undefined), where=both))


def parted_at_rate(table: ScoreTable, rate: float) -> FloatArray:
    """Weight (..., 2, 2) of each class below and above a share of all cases, from the lowest score.

    The cases of the score that the rate falls on are divided in proportion. It lies in one block
    of scores, the only one whose scores are looked at.
    """
    size, n_scores = _block_size(table), table.scores.size
    blocks = np.add.reduceat(table.weights, np.arange(0, n_scores, size), axis=-2)
    through = running_sum(blocks[..., 0] + blocks[..., 1])
    target = rate * through[..., -1:]
    block = np.argmax(through >= target, axis=-1)[..., None]  # the first that reaches the target
    place = np.arange(through.shape[-1])
    below, above = (
        np.sum(blocks, axis=-2, where=chosen[..., None])
        for chosen in (place < block, place > block)
    )
    score = block * size + np.arange(min(size, n_scores))
    exists = score < n_scores  # the last block may have fewer
    chosen = np.minimum(score, n_scores - 1)[..., None]
    weights = np.take_along_axis(table.weights, chosen, axis=-2) * exists[..., None]
    mass = weights[..., 0] + weights[..., 1]
    before, after = (
        np.take_along_axis(np.append(np.zeros_like(target), through, axis=-1), cut, axis=-1)
        for cut in (block, block + 1)
    )
    # Rounding must not move a score beyond its block: a rate of one leaves none above.
    reached = np.minimum(before + running_sum(mass), after)
    share = np.clip((reached - target) / np.where(mass > 0, mass, 1.0), 0.0, 1.0)
    parts = [
        [weighted(weights[..., k], 1 - share), weighted(weights[..., k], share)] for k in (0, 1)
    ]
    inside = np.moveaxis(np.asarray(parts), (0, 1), (-2, -1))
    return np.asarray(inside + np.stack([below, above], axis=-1))


def score_driven_losses(
    scores: FloatArray, distribution: Distribution
) -> tuple[FloatArray, FloatArray]:
    """Mean loss of a negative and of a positive case of each score, if the threshold is c."""
    _check.require("distribution", distribution, Distribution)
    alarm = distribution.moment(1, -np.inf, scores)
    return 2 * alarm, 2 * distribution.upper_moment(scores)


def threshold_of_cut(table: ScoreTable, cut: IntArray) -> FloatArray:
    """Threshold above which ``scores[cut:]`` lie; -inf stands for all cases.

    The lowest finite number separates a lowest score of -inf from the others.
    """
    lowest = np.finfo(np.float64).min
    return np.where(cut > 0, np.maximum(table.scores[np.maximum(cut, 1) - 1], lowest), -np.inf)


class Method(Value, ABC):
    """A rule that says which threshold is used at each operating condition.

    Examples
    --------
    Thresholds where a miss and a false alarm cost the same:

    >>> table = ScoreTable.from_scores([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    >>> for method in (ScoreFixed(0.2), ScoreDriven(), RateDriven()):
    ...     print(method, float(method.threshold(table, 0.5)))
    ScoreFixed(t=0.2) 0.2
    ScoreDriven() 0.5
    RateDriven() 0.35
    """

    @abstractmethod
    def threshold(self, table: ScoreTable, value: npt.ArrayLike) -> FloatArray:
        """Threshold used at a cost proportion, elementwise.

        Skews are cost proportions of ``table.with_prior([0.5, 0.5])``.

        Parameters
        ----------
        table : distinct scores and the weight of each class at them
        value : cost proportion or skew

        Returns
        -------
        thresholds, elementwise; nan where there is no single one

        Examples
        --------
        >>> table = ScoreTable.from_scores([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
        >>> RateDriven().threshold(table, [0.25, 0.5]).tolist()
        [0.1, 0.35]
        """

    def loss_curve(self, table: ScoreTable, over: Condition | type[Condition]) -> Curve:
        """Loss at every cost proportion or skew, as an exact curve on [0, 1].

        The area under it is the expected loss when all are equally likely, and
        ``curve.expectation(distribution)`` that of any other distribution. At a jump, where a
        score equals the cost proportion, the curve has the value on the right. nan everywhere
        when a class is absent.

        Parameters
        ----------
        table : without leading axes
        over : `CostProportions` or `Skews`, the type or any condition of it

        Returns
        -------
        the curve

        Examples
        --------
        >>> from stakes.conditions import CostProportions
        >>> table = ScoreTable([0.2, 0.6], [[3, 1], [1, 3]])
        >>> curve = ScoreDriven().loss_curve(table, CostProportions)
        >>> round(curve.integral(), 3)
        0.2
        """
        single(table, "a threshold")
        population = population_of(table, over)
        if not both_classes(population):
            return Curve.undefined(0.0, 1.0)
        return self._curve(population)

    @abstractmethod
    def mean_loss(self, table: ScoreTable, distribution: Distribution) -> Numbers:
        """Expected loss (...,) over a distribution of cost proportions; see `expected_loss`.

        Parameters
        ----------
        table : distinct scores and the weight of each class at them
        distribution : distribution of cost proportions

        Returns
        -------
        losses, (…)

        Examples
        --------
        >>> from stakes.conditions import Uniform
        >>> table = ScoreTable.from_scores([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
        >>> round(float(ScoreDriven().mean_loss(table, Uniform())), 6)
        0.158125
        """

    @abstractmethod
    def _curve(self, table: ScoreTable) -> Curve:
        """Loss at every cost proportion; the table has both classes and no leading axes."""


class _Driven(Method):
    """A method whose decision about a case depends on the operating condition."""

    def mean_loss(self, table: ScoreTable, distribution: Distribution) -> Numbers:
        """Expected loss: the mean over cases of what each costs, averaged over the conditions.

        Parameters
        ----------
        table : distinct scores and the weight of each class at them
        distribution : distribution of cost proportions

        Returns
        -------
        losses, (…)

        Examples
        --------
        >>> from stakes.conditions import Uniform
        >>> table = ScoreTable.from_scores([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
        >>> round(float(Optimal().mean_loss(table, Uniform())), 6)
        0.125
        """
        _check.require("table", table, ScoreTable)
        losses = self._case_losses(table, distribution)
        return _check.unwrapped(mean_over_cases(losses, table.class_weights))

    @abstractmethod
    def _case_losses(self, table: ScoreTable, distribution: Distribution) -> Iterator[CaseLosses]:
        """What a negative and a positive case of each score cost, averaged over the conditions."""


class _Blind(Method):
    """A method that ignores the operating condition: its loss curve is a straight line."""

    @abstractmethod
    def _decided(self, table: ScoreTable) -> FloatArray:
        """Weight (..., 2, 2) of each class that gets the negative and the positive decision."""

    def expected_counts(self, table: ScoreTable) -> Counts:
        """Counts (..., 2, 2) of the decisions, in expectation where thresholds are drawn.

        For `RateUniform` this is the contingency table of hernandez-orallo, section 5.1.
        """
        # Zero times the number of cases is nan where a prior was given to an absent class.
        values = self._decided(table) + 0 * np.asarray(table.n_cases)[..., None, None]
        return Counts._trusted(
            values=values, classes=table.classes, decisions=None, groups=table.groups
        )

    def mean_loss(self, table: ScoreTable, distribution: Distribution) -> Numbers:
        """Expected loss of the expected counts: false alarms cost 2E{c}, misses 2(1 − E{c}).

        Examples
        --------
        >>> from stakes.conditions import Uniform
        >>> table = ScoreTable.from_scores([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
        >>> float(RateUniform().mean_loss(table, Uniform()))
        0.375
        """
        _check.require("distribution", distribution, Distribution)
        decided, mean = self._decided(table), distribution.mean
        losses = 2 * mean * decided[..., 0, 1] + 2 * (1 - mean) * decided[..., 1, 0]
        return _check.unwrapped(per_case(losses, table.class_weights))

    def _curve(self, table: ScoreTable) -> Curve:
        # The loss of decisions that ignore c is linear in c: two points determine it.
        losses = [float(self.mean_loss(table, Point(c))) for c in (0.0, 1.0)]
        return Curve.through([0.0, 1.0], losses)


@record
class ScoreFixed(_Blind):
    r"""One threshold for all conditions; leads to the error rate.

    .. math:: L = 2E\{c\}(1 - Acc(t)) + 4\pi_1 F_1(t)(\tfrac12 - E\{c\})

    Two sensible choices are the mean cost proportion, ``ScoreFixed(distribution.mean)``, and the
    threshold that minimises this loss, ``Optimal().threshold(table, distribution.mean)``
    (hernandez-orallo, theorem 5 and footnote 2). Scores may be any real numbers. A threshold of
    -inf gives all cases the positive decision, even those with a score of -inf.

    Parameters
    ----------
    t : the threshold

    Examples
    --------
    >>> table = ScoreTable.from_scores([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    >>> ScoreFixed(0.5).expected_counts(table).values.tolist()
    [[2.0, 0.0], [1.0, 1.0]]
    """

    t: float

    def __post_init__(self) -> None:
        self._fill({"t": float(_check.real_scores("t", [self.t])[0])})

    def threshold(self, table: ScoreTable, value: npt.ArrayLike) -> FloatArray:
        """Return t, whatever the cost proportion.

        Examples
        --------
        >>> table = ScoreTable.from_scores([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
        >>> ScoreFixed(0.5).threshold(table, [0.1, 0.9]).tolist()
        [0.5, 0.5]
        """
        return np.full(_check.reals("value", value).shape, self.t)

    def _decided(self, table: ScoreTable) -> FloatArray:
        # A score of −inf exceeds no threshold, but a threshold of −inf means all cases.
        _check.require("table", table, ScoreTable)
        cut = 0 if self.t == -np.inf else int(np.searchsorted(table.scores, self.t, side="right"))
        below, above = table.weights[..., :cut, :], table.weights[..., cut:, :]
        return np.stack([below.sum(axis=-2), above.sum(axis=-2)], axis=-1)


@record
class RateFixed(_Blind):
    """The share r of the cases with the highest scores gets the positive decision.

    A rate that falls inside a group of equal scores is realised by interpolation: its cases get
    the positive decision with the chance that makes up the rate (hernandez-orallo, definition 7,
    where the rate is that of the other class: 1 - r). Any real scores.

    Parameters
    ----------
    r : share of the cases

    Examples
    --------
    >>> table = ScoreTable.from_scores([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    >>> RateFixed(0.375).expected_counts(table).values.tolist()
    [[1.5, 0.5], [1.0, 1.0]]
    """

    r: float

    def __post_init__(self) -> None:
        self._fill({"r": _check.number("r", self.r, low=0, high=1)})

    def threshold(self, table: ScoreTable, value: npt.ArrayLike) -> FloatArray:
        """Score above which cases get the positive decision; those equal to it get it at random.

        Examples
        --------
        >>> table = ScoreTable.from_scores([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
        >>> RateFixed(0.5).threshold(table, 0.1).tolist()
        0.35
        """
        shape = _check.reals("value", value).shape
        return np.broadcast_to(_rate_threshold(table, 1 - self.r), shape).copy()

    def _decided(self, table: ScoreTable) -> FloatArray:
        return parted_at_rate(table, 1 - self.r)


@record
class ScoreUniform(_Blind):
    r"""The threshold is drawn uniformly between low and high; leads to the mean absolute error.

    .. math:: L = 2\{E\{c\}\,\pi_0 \bar s_0 + (1 - E\{c\})\,\pi_1 (1 - \bar s_1)\}

    for low = 0 and high = 1 (hernandez-orallo, theorem 11). Scores must lie in [low, high].

    Parameters
    ----------
    low : lowest threshold
    high : highest threshold

    Examples
    --------
    >>> table = ScoreTable.from_scores([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    >>> ScoreUniform().expected_counts(table).values.round(2).tolist()
    [[1.5, 0.5], [0.85, 1.15]]
    """

    low: float = 0.0
    high: float = 1.0

    def __post_init__(self) -> None:
        low, high = _check.number("low", self.low), _check.number("high", self.high)
        if not low < high:
            raise InputError(
                f"low must be less than high; got {low:g} and {high:g}. "
                f"ScoreFixed(t) is the method of a single threshold."
            )
        self._fill({"low": low, "high": high})

    def threshold(self, table: ScoreTable, value: npt.ArrayLike) -> FloatArray:
        """Return nan: the threshold is drawn, so there is no single one.

        Examples
        --------
        >>> table = ScoreTable.from_scores([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
        >>> ScoreUniform().threshold(table, 0.1).tolist()
        nan
        """
        return np.full(_check.reals("value", value).shape, np.nan)

    def _decided(self, table: ScoreTable) -> FloatArray:
        _check_scores(table, self.low, self.high, "ScoreUniform")
        decided, width = np.zeros((*table.leading, 2, 2)), self.high - self.low
        for weights, scores in score_blocks(table):
            if scores[0] < self.low or scores[-1] > self.high:
                scores = np.clip(scores, self.low, self.high)  # without cases, but maybe infinite
            above = scores - self.low
            below = self.high - scores
            for k in (0, 1):
                decided[..., k, 0] += weighted(weights[..., k], below)
                decided[..., k, 1] += weighted(weights[..., k], above)
        return decided / width


@record
class RateUniform(_Blind):
    r"""The share of positive decisions is drawn uniformly; leads to the area under the ROC curve.

    .. math:: L = \pi_0\pi_1(1 - 2AUC) + \pi_0 E\{c\} + \pi_1(1 - E\{c\})

    (hernandez-orallo, theorem 18). Any real scores.

    Examples
    --------
    >>> table = ScoreTable.from_scores([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    >>> RateUniform().expected_counts(table).values.tolist()
    [[1.25, 0.75], [0.75, 1.25]]
    """

    def threshold(self, table: ScoreTable, value: npt.ArrayLike) -> FloatArray:
        """Return nan: the threshold is drawn, so there is no single one.

        Examples
        --------
        >>> table = ScoreTable.from_scores([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
        >>> RateUniform().threshold(table, 0.1).tolist()
        nan
        """
        return np.full(_check.reals("value", value).shape, np.nan)

    def _decided(self, table: ScoreTable) -> FloatArray:
        # A case is above as many drawn rates as are below its mid-rank: half of its own class, and
        # of the other class the share that the area under the ROC curve puts below it.
        _check.require("table", table, ScoreTable)
        weights, area = table.class_weights, np.asarray(auc(table))
        shares = weights / np.where(table.n_cases > 0, table.n_cases, 1.0)[..., None]
        area = np.where(np.isnan(area), 0.5, area)  # a class without cases has no share either
        below = np.stack([1 - area, area], axis=-1)  # of the other class, for each class
        above_rates = shares / 2 + shares[..., ::-1] * below
        below_rates = shares / 2 + shares[..., ::-1] * (1 - below)
        return np.asarray(weights[..., None] * np.stack([below_rates, above_rates], axis=-1))


@record
class ScoreDriven(_Driven):
    r"""The threshold is the cost proportion itself; leads to the Brier score.

    Averaged over all c, a negative case of score s costs :math:`2\int_{[0, s)} c\,dW`, a positive
    one :math:`2\int_{[s, 1]} (1 - c)\,dW`. For uniform c these are s² and (1 - s)²; every other
    distribution gives another proper scoring rule (hernandez-orallo, theorem 14). Scores must lie
    in [0, 1].

    Examples
    --------
    >>> table = ScoreTable.from_scores([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    >>> from stakes.conditions import CostProportions
    >>> brier_curve = ScoreDriven().loss_curve(table, CostProportions)
    >>> brier_curve([0.3, 0.38, 0.5]).round(3).tolist(), round(brier_curve.integral(), 6)
    ([0.15, 0.5, 0.25], 0.158125)
    """

    def threshold(self, table: ScoreTable, value: npt.ArrayLike) -> FloatArray:
        """Return the cost proportion.

        Examples
        --------
        >>> table = ScoreTable.from_scores([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
        >>> ScoreDriven().threshold(table, 0.3).tolist()
        0.3
        """
        return _check.probabilities("value", value)

    def _case_losses(self, table: ScoreTable, distribution: Distribution) -> Iterator[CaseLosses]:
        _check_scores(table, 0.0, 1.0, "ScoreDriven")
        for weights, scores in score_blocks(table):
            yield weights, *score_driven_losses(scores, distribution)

    def _curve(self, table: ScoreTable) -> Curve:
        _check_scores(table, 0.0, 1.0, "ScoreDriven")
        # Sums from the top and from the bottom, never differences: the last ones are exactly zero.
        knots = np.concatenate([[0.0], table.scores, [1.0]])
        shares = table.weights / table.n_cases
        alarms = np.append(running_sum(shares[::-1, 0])[::-1], 0.0)
        misses = np.append(0.0, running_sum(shares[:, 1]))
        start = 2 * (knots[:-1] * alarms + (1 - knots[:-1]) * misses)
        pieces = np.stack([start, 2 * (alarms - misses)], axis=1)
        first = int(knots[1] == 0)  # at c = 0 a score of zero gets the negative decision
        return Curve(knots[first:], pieces[first:])


@record
class RateDriven(_Driven):
    r"""The share 1 - c of the cases with the highest scores gets the positive decision.

    Since c fixes the rate, false alarms follow from misses, and the loss is
    :math:`Q(c) = 2\{\pi_0 c - c^2 + \pi_1 FNR(c)\}`, quadratic between the knots. Uniform c leads
    to the area under the ROC curve, :math:`L = \pi_0\pi_1(1 - 2AUC) + 1/3` (hernandez-orallo,
    theorem 22). Scores may be any real numbers.

    Examples
    --------
    >>> table = ScoreTable.from_scores([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    >>> RateDriven().threshold(table, [0, 0.25, 0.5, 0.9]).tolist()
    [-inf, 0.1, 0.35, 0.8]
    """

    def threshold(self, table: ScoreTable, value: npt.ArrayLike) -> FloatArray:
        """Score above which cases get the positive decision; those equal to it get it at random.

        Examples
        --------
        >>> table = ScoreTable.from_scores([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
        >>> RateDriven().threshold(table, 0.5).tolist()
        0.35
        """
        return _rate_threshold(table, _check.probabilities("value", value))

    def mean_loss(self, table: ScoreTable, distribution: Distribution) -> Numbers:
        """Expected loss; if all c are equally likely, π₀π₁(1 − 2AUC) + 1/3.

        Examples
        --------
        >>> from stakes.conditions import Uniform
        >>> table = ScoreTable.from_scores([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
        >>> round(float(RateDriven().mean_loss(table, Uniform())), 6)
        0.208333
        """
        _check.require("table", table, ScoreTable)
        _check.require("distribution", distribution, Distribution)
        if distribution != Uniform():
            return super().mean_loss(table, distribution)
        product = table.shares[..., 0] * table.shares[..., 1]
        return _check.unwrapped(product * (1 - 2 * np.asarray(auc(table))) + 1 / 3)

    def _case_losses(self, table: ScoreTable, distribution: Distribution) -> Iterator[CaseLosses]:
        mean, square = distribution.mean, distribution.moment(2, -np.inf, np.inf)
        for weights, low, high in rate_blocks(table):
            width = high - low
            # A rate that falls inside a group of equal scores gives the share (c − low) / width of
            # it the negative decision; this is that share, integrated over c.
            part = distribution.moment(1, low, high) - low * distribution.moment(0, low, high)
            partly = part / np.where(width > 0, width, 1.0)
            missed = distribution.moment(0, high, np.inf) + partly
            yield weights, 2 * (mean - square), 2 * (missed - square)

    def _curve(self, table: ScoreTable) -> Curve:
        size = table.weights.sum(axis=1)
        weights, size = table.weights[size > 0], size[size > 0]
        cumulative = np.append(0.0, running_sum(size))
        knots = cumulative / cumulative[-1]  # the last one is exactly one
        low, negative = knots[:-1], table.shares[0]
        missed = running_sum(weights[:, 1]) / cumulative[-1]
        start = low * (negative - low) + np.append(0.0, missed[:-1])
        slope = negative - 2 * low + weights[:, 1] / size
        return Curve(knots, 2 * np.stack([start, slope, np.full_like(low, -1.0)], axis=1))


@record
class Optimal(_Driven):
    r"""The threshold with the least loss at each cost proportion; leads to the refinement loss.

    It is `ScoreDriven` after isotonic regression, which gives each segment of the convex hull its
    share of positives as a score: :math:`L = RL(Conv)` for uniform c (hernandez-orallo,
    corollary 30). It is a lower bound, because thresholds are chosen on the cases that measure
    their loss. Scores may be any real numbers.

    Examples
    --------
    >>> table = ScoreTable.from_scores([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    >>> Optimal().threshold(table, [0.2, 0.5, 0.9]).tolist()
    [0.1, 0.4, 0.4]
    """

    def threshold(self, table: ScoreTable, value: npt.ArrayLike) -> FloatArray:
        """Threshold of least loss, the highest where several tie; -inf: all positive.

        nan where a class is unknown or there are no cases.

        Examples
        --------
        >>> table = ScoreTable.from_scores([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
        >>> Optimal().threshold(table, [0.2, 0.5]).tolist()
        [0.1, 0.4]
        """
        if not np.all(np.isfinite(single(table, "a threshold"))) or not table.n_cases > 0:
            return np.full(_check.reals("value", value).shape, np.nan)
        cuts, segments = hull(table).cuts, hull(table).segments
        # The share of positives rises along the hull, so that bisection finds the tangent point.
        share = segments[:, 1] / segments.sum(axis=1)
        position = np.searchsorted(share, _check.probabilities("value", value), side="right")
        return threshold_of_cut(table, cuts[position])

    def mean_loss(self, table: ScoreTable, distribution: Distribution) -> Numbers:
        """Expected loss, table by table: each has a hull of its own.

        Examples
        --------
        >>> from stakes.conditions import Uniform
        >>> table = ScoreTable.from_scores([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
        >>> round(float(Optimal().mean_loss(table, Uniform())), 6)
        0.125
        """
        _check.require("table", table, ScoreTable)
        losses = np.full(table.weights.shape[:-2], np.nan)
        for index in np.argwhere(both_classes(table)):
            part = table[tuple(index)] if table.leading else table  # which may know its hull
            losses[tuple(index)] = super().mean_loss(part, distribution)
        return _check.unwrapped(losses)

    def _case_losses(self, table: ScoreTable, distribution: Distribution) -> Iterator[CaseLosses]:
        # Once scores are the shares of positives on the hull, the best threshold is c itself.
        return ScoreDriven()._case_losses(isotonic(table), distribution)

    def _curve(self, table: ScoreTable) -> Curve:
        return ScoreDriven()._curve(isotonic(table))


def population_of(table: ScoreTable, over: Condition | type[Condition]) -> ScoreTable:
    """The table with the class shares that a curve over cost proportions, or over skews, assumes.

    Parameters
    ----------
    table : distinct scores and the weight of each class at them, (…, S, 2)
    over : `CostProportions` or `Skews`: what the horizontal axis is

    Returns
    -------
    the table, reweighted for skews

    Examples
    --------
    >>> from stakes.conditions import Skews
    >>> population_of(ScoreTable([0.2, 0.7], [[3, 0], [1, 1]]), Skews).class_weights
    array([2.5, 2.5])
    """
    if isinstance(over, Condition) or (isinstance(over, type) and issubclass(over, Condition)):
        return over.population(table)
    raise InputError(
        f"over must say what the curve runs over; got {over!r}. Pass CostProportions or Skews."
    )


def _rate_threshold(table: ScoreTable, negative_rate: npt.ArrayLike) -> FloatArray:
    """Lowest threshold at which at least this share of the cases gets the negative decision."""
    cumulative = np.append(0.0, running_sum(single(table, "a threshold").sum(axis=1)))
    if not cumulative[-1] > 0:  # no cases, or a class of which nothing is known
        return np.full(np.shape(negative_rate), np.nan)
    # Sums of weights have rounding errors: a rate that is missed by less than 1e-12 is reached.
    shares = cumulative / cumulative[-1]
    cut = np.searchsorted(shares, np.asarray(negative_rate) - 1e-12, side="left")
    return threshold_of_cut(table, np.asarray(cut))


def _check_scores(table: ScoreTable, low: float, high: float, method: str) -> None:
    _check.require("table", table, ScoreTable)
    scores = table.scores
    if scores[0] >= low and scores[-1] <= high:  # scores are sorted
        return
    leading = tuple(range(table.weights.ndim - 2))
    used = np.any(table.weights != 0, axis=(*leading, -1))  # a score without cases does no harm
    bad = np.flatnonzero(used & ~((scores >= low) & (scores <= high)))
    if not bad.size:
        return
    raise InputError(
        f"table: scores must lie in [{low:g}, {high:g}] for {method}; {bad.size} of {scores.size} "
        f"distinct scores do not, the first being {scores[bad[0]]:g} at position {bad[0]}. "
        f"Calibrate them first, for example with stakes.calibration.Isotonic or Affine."
    )


# Losses over conditions --------------------------------------------------------------------------


def expected_loss(table: ScoreTable, method: Method, condition: Condition) -> Numbers:
    r"""Mean loss over the operating conditions, when thresholds are chosen by a method.

    .. math:: L = \int_0^1 Q(T(c); c)\,dW(c), \quad
              Q(t; c) = 2\{c\,\pi_0\,FPR(t) + (1-c)\,\pi_1\,FNR(t)\}

    With skews, the classes have equal shares. The sum is exact for every named distribution, also
    at atoms: a score equal to the threshold gets the negative decision. nan where one of the
    classes is absent. Shape (...,), the leading axes of the table; hernandez-orallo, eq 4 and 5.

    Parameters
    ----------
    table : distinct scores and the weight of each class at them, (…, S, 2)
    method : how thresholds are chosen, such as `ScoreDriven()`
    condition : distribution of cost proportions or skews

    Returns
    -------
    mean loss, (…)

    Examples
    --------
    If the cost proportion is the threshold, and all proportions are equally likely, the expected
    loss is the Brier score:

    >>> from stakes.conditions import CostProportions
    >>> from stakes.tally import ScoreTable
    >>> from stakes.thresholds import RateDriven, ScoreDriven
    >>> table = ScoreTable.from_scores([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    >>> round(float(expected_loss(table, ScoreDriven(), CostProportions())), 6)
    0.158125

    If the threshold is set by the rate of positive decisions, it is 1/3 + π₀π₁(1 - 2 AUC), here
    for an AUC of 3/4:

    >>> round(float(expected_loss(table, RateDriven(), CostProportions())), 6)
    0.208333
    """
    require("method", method, Method, "Write ScoreDriven(), Optimal() or another.")
    if not isinstance(condition, Condition):
        raise InputError(
            f"condition must say what the distribution is about; got {condition!r}. "
            f"Wrap it: CostProportions(distribution) or Skews(distribution)."
        )
    return method.mean_loss(condition.population(table), condition.distribution)


def h_measure(table: ScoreTable, distribution: Distribution) -> Numbers:
    r"""Hand's H: the share of the loss of blind decisions that optimal thresholds save.

    .. math:: H = 1 - \frac{L^o}{\int_0^1 \min\{2 c \pi_0, 2 (1-c) \pi_1\}\,dW(c)}

    One for a perfect ranking, zero when the scores say nothing; higher is better. The
    distribution is over cost proportions: Hand (2009) proposed Beta(2, 2), Hand and Anagnostopoulos
    `Beta.hand` in 2012; `Beta.severity` is the default of their R package, and what reports show.
    Scores that rank in reverse are not turned round. nan where a class is absent or where blind
    decisions cost nothing. Shape (...,); hernandez-orallo, section 8.

    Parameters
    ----------
    table : distinct scores and the weight of each class at them, (…, S, 2)
    distribution : distribution of cost proportions, such as `Beta(2, 2)`

    Returns
    -------
    H, (…), between 0 and 1

    Examples
    --------
    >>> from stakes.conditions import Beta
    >>> from stakes.tally import ScoreTable
    >>> table = ScoreTable.from_scores([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    >>> round(float(h_measure(table, Beta(2, 2))), 6)
    0.5
    """
    _check.require("table", table, ScoreTable)
    condition = CostProportions(distribution)
    negative, positive = np.moveaxis(table.shares, -1, 0)
    # Blind decisions are the optimal ones if all cases have the same score, the share of positives.
    alarm, miss = score_driven_losses(positive, condition.distribution)
    blind = negative * alarm + positive * miss
    undefined = np.full(blind.shape, np.nan)
    loss = expected_loss(table, Optimal(), condition)
    return unwrapped(1 - np.divide(loss, blind, out=undefined, where=blind > 0))


# The best threshold for known costs, and the line that touches the ROC hull there ----------------
#
# For two decisions about cases with their own costs, scores are weighted by what is at stake.

# What rounding may do to equal regrets: sums of positive terms have no cancellation.
_TIE = 16 * np.finfo(np.float64).eps


@record
class BestThreshold(Value):
    """The threshold of least expected cost on a table of scores.

    Attributes
    ----------
    threshold : the positive decision is taken for scores above it; -inf: for all
    cost : expected cost per case, in the problem's unit
    counts : the decisions at this threshold
    slope, intercept : the line hit rate = intercept + slope × false-alarm rate that touches the
        ROC hull there; of several models under one problem, the highest intercept is the
        cheapest. nan where undefined, the intercept also when the slope is infinite

    Examples
    --------
    >>> from stakes.problem import Problem
    >>> table = ScoreTable([0.2, 0.6, 0.9], [[40, 5], [30, 25], [10, 40]])
    >>> float(best_threshold(table, Problem.binary(false_alarm=1, miss=4)).threshold)
    0.2
    """

    threshold: float
    cost: float
    counts: Counts
    slope: float
    intercept: float


def best_threshold(table: ScoreTable, problem: Problem) -> BestThreshold:
    r"""Threshold at which the decisions cost least, and its tangent to the convex hull.

    The tangent has the slope :math:`a\,\pi_0 / (b\,\pi_1)`, where a false alarm costs a and a
    miss b more than the right decision, and the shares are the problem's prior, else the
    table's (dyrland, eq 24 and 25). What decides between models is the height of the tangent, not
    the area under the ROC curve. A threshold never separates equal scores; where several tie, it
    is the highest, with the fewest positive decisions. It is nan when the decision does not
    matter or when a class of positive prior has no cases. Where every case has its own costs,
    `stakes_table` makes the table and the problem.

    Parameters
    ----------
    table : distinct scores and the weight of each class at them, (S, 2)
    problem : what is at stake: costs, prior, labels

    Returns
    -------
    the threshold, its cost and its tangent

    Examples
    --------
    >>> from stakes.problem import Problem
    >>> from stakes.tally import ScoreTable
    >>> table = ScoreTable.from_scores([0, 0, 1, 0, 1, 1], [0.1, 0.3, 0.3, 0.5, 0.6, 0.9])
    >>> best = best_threshold(table, Problem.binary(false_alarm=1, miss=5))
    >>> best.threshold, best.slope
    (0.1, 0.2)
    >>> round(best.cost, 3), round(best.intercept, 3)
    (0.333, 0.867)
    """
    _check.require("problem", problem, Problem)
    single(table, "the best threshold")
    matters = not isnan(problem.threshold)
    # Only vertices of the hull can be the best for some costs, and they are far fewer.
    cuts = hull(table).cuts
    counts = _counts_at(table, problem)
    regrets = expected_cost(counts, problem.regret())
    low = np.min(regrets)
    if isnan(low) or not matters:
        undefined = Counts._trusted(
            values=np.full((2, 2), nan),
            classes=problem.classes,
            decisions=problem.decisions,
            groups=None,
        )
        cost = float(np.min(expected_cost(counts, problem)))
        return BestThreshold(nan, cost, undefined, nan, nan)
    best = int(np.flatnonzero(regrets <= low * (1 + _TIE))[-1])
    slope, intercept = _tangent(counts[best], problem)
    threshold = float(threshold_of_cut(table, cuts[best]))
    cost = float(expected_cost(counts[best], problem))
    return BestThreshold(threshold, cost, counts[best], slope, intercept)


def _counts_at(table: ScoreTable, problem: Problem) -> Counts:
    """Counts (V, 2, 2) of the decisions at the vertices of the hull, from all positive to none."""
    segments = hull(table).segments
    below = np.pad(np.cumsum(segments, axis=0), ((1, 0), (0, 0)))
    above = np.pad(np.cumsum(segments[::-1], axis=0)[::-1], ((0, 1), (0, 0)))
    return Counts._trusted(
        values=np.stack([below, above], axis=-1),
        classes=same_labels("the classes of table and problem", table.classes, problem.classes),
        decisions=problem.decisions,
        groups=None,
    )


def _tangent(counts: Counts, problem: Problem) -> tuple[float, float]:
    (correct, false_alarm), (miss, hit) = problem.costs.tolist()
    negative, positive = prior_of(counts, problem).tolist()
    rates = decision_rates(counts)[:, 1]
    with np.errstate(divide="ignore", invalid="ignore"):
        slope = np.divide((false_alarm - correct) * negative, (miss - hit) * positive)
        intercept = rates[1] - slope * rates[0]
    return float(slope), float(intercept if np.isfinite(slope) else nan)


class StakesTable(NamedTuple):
    """A score table and a problem with constant costs, equivalent to cases with their own costs.

    Examples
    --------
    A case weighs what is at stake in it:

    >>> problem = Problem([[0, 5], ["amount", 0]])
    >>> weighted = stakes_table([0, 1, 1], [0.1, 0.2, 0.4], problem, data={"amount": [9, 2, 50]})
    >>> weighted.table.weights
    array([[ 5.,  0.],
           [ 0.,  2.],
           [ 0., 50.]])
    """

    table: ScoreTable
    problem: Problem


@record
class ByThreshold(Value):
    """Sums of the terms of the costs by score, for two decisions about cases with their own costs.

    The second decision is taken for scores above one of the thresholds, the first of which is −inf.
    `sums` holds the sums over the cases with scores above each threshold, up to the next one, class
    by class.

    Examples
    --------
    One negative at 0.3, one positive at 0.6. Between them no decision is wrong:

    >>> sums = np.array([[[1.0], [0.0]], [[0.0], [1.0]]])
    >>> by_threshold = ByThreshold(np.array([-np.inf, 0.3, 0.6]), sums, ("1",))
    >>> by_threshold.costs(Problem.binary(false_alarm=1, miss=9))
    array([0.5, 0. , 4.5])
    """

    thresholds: FloatArray  # (S + 1,)
    sums: FloatArray  # (S, 2, T)
    terms: tuple[str, ...]  # T, as problem.terms names them; the first is "1"

    def costs(self, problem: Problem) -> FloatArray:
        """Cost per case of the second decision above each threshold, (S + 1,).

        The problem may have other coefficients than the one whose terms were summed; a problem with
        other terms is refused. The running costs of the model are not included.

        Parameters
        ----------
        problem : the costs, linear in the terms that were summed

        Returns
        -------
        costs per case, (S + 1,)

        Examples
        --------
        >>> sums = np.array([[[1.0], [0.0]], [[0.0], [1.0]]])  # one case at each of two scores
        >>> cuts = ByThreshold(np.array([-np.inf, 0.3, 0.6]), sums, ("1",))
        >>> cuts.costs(Problem.binary(false_alarm=1, miss=9))
        array([0.5, 0. , 4.5])
        """
        _refuse_other_shapes((problem.n_classes, problem.n_decisions))
        coefficients = coefficients_on(self.terms, problem)
        below = np.concatenate([np.zeros((1, *self.sums.shape[1:])), np.cumsum(self.sums, axis=0)])
        sums = np.stack([below, below[-1] - below], axis=-2)
        return np.asarray(term_cost(sums, coefficients, problem.prior))


def stakes_table(
    y_true: object,
    scores: object,
    problem: Problem,
    *,
    data: object = None,
    case_costs: object = None,
    weights: object = None,
) -> StakesTable:
    r"""Scores of two classes, weighted by how much the decision about each case matters.

    Let :math:`\Delta_i` be what the second decision costs more than the first for case i, given its
    class. The case gets the weight :math:`|\Delta_i|`; its class in the table is the decision that
    is right for it, the first if :math:`\Delta_i > 0` and the second otherwise. Everything that can
    be computed from a score table (cost curves, the best threshold, the hull) is then exact for the
    costs of the cases: at every threshold, ``expected_cost`` is the mean cost per case. A prior
    that the problem states is included in the weights.

    Parameters
    ----------
    y_true : true class of every case, (n,)
    scores : scores of the cases
    problem : what is at stake: costs, prior, labels
    data : columns that the costs name, by their names
    case_costs : costs of every case, (n, K, M), in place of the problem's
    weights : weight of each case, (n,); None counts each once

    Returns
    -------
    scores with what is at stake at each

    Examples
    --------
    >>> from stakes import best_threshold
    >>> problem = Problem([[0, 5], ["amount", 0]], classes=["legit", "fraud"],
    ...                   decisions=["approve", "block"])
    >>> y, scores = ["legit", "fraud", "legit", "fraud"], [0.1, 0.2, 0.3, 0.4]
    >>> best = best_threshold(*stakes_table(y, scores, problem, data={"amount": [9, 2, 9, 50]}))
    >>> best.threshold, round(best.cost, 9)
    (0.3, 0.5)
    """
    _check.require("problem", problem, Problem)
    _check.aligned(y_true=y_true, scores=scores, data=data, weights=weights)
    costs = problem.charged(data, case_costs)
    if costs is None:
        costs = _constant(problem, _check.real_scores("scores", scores, borrowed=True).size)
    truth = _check.codes("y_true", y_true, problem.classes)
    score = _check.real_scores("scores", scores)
    of_costs = np.empty(costs.n_cases, dtype=np.bool_)
    n_cases = _check.same_length(y_true=truth, scores=score, data=of_costs)
    weight = _check.weights("weights", weights, n_cases)
    table = weighed(truth, score, weight, costs, problem)
    if table is None:
        raise InputError(
            "costs must differ between the two decisions in some case; they do not. Nothing is at "
            "stake: either decision will do.",
            argument="problem",
        )
    return table


def _constant(problem: Problem, n_cases: int) -> CaseCosts:
    return CaseCosts(
        n_cases,
        problem.classes,
        problem.decisions,
        problem.costs,
        tuple((None,) * problem.n_decisions for _ in problem.classes),
        {},
    )


def weighed(
    truth: IntArray,
    scores: FloatArray,
    weights: FloatArray | None,
    costs: CaseCosts,
    problem: Problem,
) -> StakesTable | None:
    """`stakes_table` for cases that were checked before; None where no decision matters.

    Parameters
    ----------
    truth : position of the true class of each case, (n,)
    scores : scores of the cases
    weights : weight of each case, (n,); None counts each once
    costs : costs of each decision, (K, M), or of every case
    problem : what is at stake: costs, prior, labels

    Returns
    -------
    the same table, or None where no decision matters

    Examples
    --------
    >>> from stakes.problem import CaseCosts
    >>> problem = Problem.binary(false_alarm=1, miss=4)
    >>> costs = _constant(problem, 3)
    >>> weighed(np.array([0, 1, 1]), np.array([0.2, 0.4, 0.9]), None, costs, problem).table.weights
    array([[1., 0.],
           [0., 4.],
           [0., 4.]])
    """
    _check.shapes("n, n, n", truth=truth, scores=scores, weights=weights)
    _refuse_other_shapes(costs.shape)
    weight = np.ones(truth.size) if weights is None else weights
    if problem.prior is not None:
        mass = np.bincount(truth, weight, 2)
        with np.errstate(divide="ignore", invalid="ignore"):
            weight = weight * np.where(mass > 0, problem.prior * mass.sum() / mass, 0.0)[truth]
    difference, least = np.empty(truth.size), 0.0
    for rows, costs_of_block in costs.of_class(truth):
        difference[rows] = costs_of_block[1] - costs_of_block[0]
        least += float(weight[rows] @ costs_of_block.min(axis=0))
    stake = np.abs(difference) * weight
    if not stake.any():
        return None
    names = problem.decisions
    table = ScoreTable._of_codes((difference < 0).astype(np.intp), scores, stake, names)
    # A right decision costs what the cheaper one costs on average; a wrong one adds the mean stake.
    base, scale = least / weight.sum(), stake.sum() / weight.sum()
    equivalent = Problem(
        [[base, base + scale], [base + scale, base]], classes=names, decisions=names
    )
    return StakesTable(table, equivalent)


def _refuse_other_shapes(shape: tuple[int, int]) -> None:
    if shape != (2, 2):
        raise InputError(
            f"a threshold needs two classes and two decisions; this problem has {shape[0]} "
            f"and {shape[1]}. bayes_decisions works for any shape.",
            argument="problem",
        )
