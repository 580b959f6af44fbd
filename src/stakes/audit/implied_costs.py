"""The costs that a metric implies: those for which its best threshold would be the right one.

To choose a threshold, or to let a metric choose it, is to choose costs. There are two readings:

- *Bayes*: if the scores are calibrated, the threshold is right for one cost proportion, which is
  the threshold itself on the scale of probabilities (ferrer-ec, section 4.1).
- *empirical*: on these data the threshold is the cheapest for an interval of cost proportions,
  given by the two segments of the ROC hull that meet there; for none if it is below the hull.

Cost proportions c, cost ratios (1 − c)/c (what a miss costs, in false alarms) and skews are three
ways to write the same quantity.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from stakes import _check
from stakes._arithmetic import ratio
from stakes._check import FloatArray, IntArray
from stakes._text import text_table
from stakes._value import Value, record
from stakes.audit.metric import Metric, picked
from stakes.errors import InputError
from stakes.ranking import hull_cuts, weights_above
from stakes.tally import Counts, ScoreTable

_STRAIGHT = 1e-12  # relative distance from the hull that may come from rounding


class ScoreScale(Value, ABC):
    """What a score means, and so for which cost proportion a threshold is the Bayes threshold.

    Examples
    --------
    The score 0 is a probability of nothing, even odds, or no more than a rank:

    >>> [scale.cost_proportion(0.0) for scale in (Probabilities(), LogOdds(), RawScores())]
    [0.0, 0.5, nan]
    """

    @abstractmethod
    def cost_proportion(self, threshold: float) -> float:
        """Cost proportion whose Bayes threshold this is; nan when scores are on no such scale.

        Parameters
        ----------
        threshold : a threshold on this scale

        Returns
        -------
        the cost proportion, or nan

        Examples
        --------
        >>> Probabilities().cost_proportion(0.2), LogOdds().cost_proportion(0.0)
        (0.2, 0.5)
        """

    def refuse(self, scores: FloatArray) -> None:
        """Raise InputError when scores cannot be on this scale; by default any can.

        Parameters
        ----------
        scores : the scores

        Examples
        --------
        >>> import numpy as np
        >>> RawScores().refuse(np.array([-3.0, 8.5]))
        """


@record
class Probabilities(ScoreScale):
    """Scores are probabilities of the positive class; −inf and inf lie beyond 0 and 1.

    Examples
    --------
    >>> Probabilities().cost_proportion(0.8), Probabilities().cost_proportion(float("inf"))
    (0.8, 1.0)
    """

    def cost_proportion(self, threshold: float) -> float:  # noqa: D102
        _check.one_number("threshold", threshold)
        return min(max(threshold, 0.0), 1.0)

    def refuse(self, scores: FloatArray) -> None:  # noqa: D102
        bad = np.flatnonzero(np.isfinite(scores) & ~((scores >= 0) & (scores <= 1)))
        if bad.size:
            raise InputError(
                f"scores on the scale Probabilities() must lie in [0, 1]; {bad.size} of "
                f"{scores.size} do not, the first being {scores[bad[0]]:g}. Calibrate them first, "
                f"with Affine or Isotonic from stakes.calibration, or read them as LogOdds() or "
                f"RawScores()."
            )


@record
class LogOdds(ScoreScale):
    """Scores are log-odds of the positive class.

    Examples
    --------
    At log-odds of log 4 the probability is 4/5:

    >>> round(LogOdds().cost_proportion(np.log(4)), 6)
    0.8
    """

    def cost_proportion(self, threshold: float) -> float:  # noqa: D102
        _check.one_number("threshold", threshold)
        from scipy.special import expit

        return float(expit(float(threshold)))


@record
class RawScores(ScoreScale):
    """Scores only rank; there is no Bayes threshold on them.

    Examples
    --------
    >>> RawScores().cost_proportion(0.8)
    nan
    """

    def cost_proportion(self, threshold: float) -> float:  # noqa: D102
        return float("nan")


# Results -----------------------------------------------------------------------------------------


@record
class CostRange(Value):
    """An interval of cost proportions, also as cost ratios and as skews; nan when it is empty.

    Attributes
    ----------
    cost_proportion : (2,) lowest and highest c
    shares : (2,) class shares that make skews of them
    reason : why the interval is empty; "" otherwise

    Examples
    --------
    A miss costs between four and nine times as much as a false alarm:

    >>> CostRange(np.array([0.1, 0.2]), np.array([0.5, 0.5]), "").cost_ratio
    array([4., 9.])
    """

    cost_proportion: FloatArray
    shares: FloatArray
    reason: str

    @property
    def is_empty(self) -> bool:
        """Whether there are no such costs."""
        return bool(np.isnan(self.cost_proportion).any())

    @property
    def cost_ratio(self) -> FloatArray:
        """Cost of a miss over that of a false alarm, lowest and highest."""
        with np.errstate(divide="ignore"):
            return np.asarray((1 - self.cost_proportion) / self.cost_proportion)[::-1]

    @property
    def skew(self) -> FloatArray:
        """Lowest and highest cπ₀/(cπ₀ + (1−c)π₁); nan for 0/0, which a single class may have."""
        false_alarm = self.cost_proportion * self.shares[0]
        total = false_alarm + (1 - self.cost_proportion) * self.shares[1]
        return np.asarray(ratio(false_alarm, total))


@record
class Optimum(Value):
    """A threshold, and the costs for which it is right.

    Attributes
    ----------
    threshold : the lowest threshold that takes these decisions; -inf: all positive
    below : any threshold in [threshold, below) takes the same decisions
    bayes : costs for which some such threshold is the Bayes threshold
    empirical : costs for which no other threshold is cheaper on these data

    Examples
    --------
    Accuracy is best between 0.3 and 0.6, where a miss and a false alarm cost about the same:

    >>> from stakes.audit import FAMILIAR
    >>> table = ScoreTable([0.1, 0.3, 0.6, 0.9], [[40, 2], [10, 5], [5, 10], [1, 9]])
    >>> (optimum,) = implied_costs(table, FAMILIAR["accuracy"], scale=Probabilities()).optima
    >>> optimum.threshold, optimum.below, optimum.bayes.cost_ratio.round(2)
    (0.3, 0.6, array([0.67, 2.33]))
    """

    threshold: float
    below: float
    bayes: CostRange
    empirical: CostRange


@record
class ThresholdCosts(Optimum):
    """A given threshold, and the interval of thresholds that take the same decisions.

    Attributes
    ----------
    asked : the threshold itself, in [threshold, below)
    cost_proportion : the one whose Bayes threshold it is; nan for raw scores

    Examples
    --------
    At 0.2 it takes four false alarms to outweigh a miss:

    >>> table = ScoreTable([0.1, 0.3, 0.6, 0.9], [[40, 2], [10, 5], [5, 10], [1, 9]])
    >>> costs = costs_of_threshold(table, 0.2, scale=Probabilities())
    >>> costs.cost_ratio, costs.threshold, costs.below
    (4.0, 0.1, 0.3)
    """

    asked: float
    cost_proportion: float

    @property
    def cost_ratio(self) -> float:
        """Cost of a miss over that of a false alarm, if `asked` is the Bayes threshold."""
        with np.errstate(divide="ignore"):
            return float(np.divide(1 - self.cost_proportion, self.cost_proportion))


@record(repr=False)
class ImpliedCosts(Value):
    """The best value of a metric, and the thresholds that reach it, several if they tie.

    `value` is nan, and there is no optimum, where the metric is undefined at every threshold.

    Parameters
    ----------
    value : the best value of the metric
    optima : thresholds that reach it, with the costs that they imply

    Examples
    --------
    To maximise accuracy on these scores is to say that a miss costs about one false alarm:

    >>> from stakes.audit import FAMILIAR
    >>> table = ScoreTable([0.1, 0.3, 0.6, 0.9], [[40, 2], [10, 5], [5, 10], [1, 9]])
    >>> implied_costs(table, FAMILIAR["accuracy"], scale=Probabilities())
    ImpliedCosts: 0.8415 at best; costs of a miss in false alarms
    threshold  right if a miss costs  on these data
    0.3              0.6667 to 2.333       0.5 to 2
    """

    value: float
    optima: tuple[Optimum, ...]

    def __repr__(self) -> str:
        if not self.optima:
            return "ImpliedCosts: the metric is undefined at every threshold"
        header = ["threshold", "right if a miss costs", "on these data"]
        rows = [
            [f"{optimum.threshold:.4g}", _shown(optimum.bayes), _shown(optimum.empirical)]
            for optimum in self.optima
        ]
        caption = f"ImpliedCosts: {self.value:.4g} at best; costs of a miss in false alarms"
        return text_table(header, rows, caption)


def _shown(costs: CostRange) -> str:
    low, high = costs.cost_ratio.tolist()
    return "no costs" if costs.is_empty else f"{low:.4g} to {high:.4g}"


@record(repr=False)
class ImpliedCostsOfReplicates(Value):
    """Implied costs in each of R replicates of the data, to show how stable they are.

    Where several thresholds tie, the lowest counts. Undefined is nan.

    Attributes
    ----------
    threshold, value, ties : (R,)
    bayes, empirical : (R, 2) cost proportions; the latter nan where the threshold is off the hull
    shares : (R, 2)

    Examples
    --------
    In the second replicate most cases above 0.2 are negative, and it is best to call none positive:

    >>> from stakes.audit import FAMILIAR
    >>> weights = [[[40, 2], [5, 10]], [[35, 4], [40, 10]]]
    >>> replicates = ScoreTable([0.2, 0.7], [[40, 2], [5, 10]]).with_weights(weights)
    >>> study = implied_costs_of_replicates(replicates, FAMILIAR["accuracy"], scale=Probabilities())
    >>> study.threshold, study.value.round(3)
    (array([0.2, 0.7]), array([0.877, 0.843]))
    """

    threshold: FloatArray
    value: FloatArray
    ties: IntArray
    bayes: FloatArray
    empirical: FloatArray
    shares: FloatArray

    @property
    def cost_ratio(self) -> FloatArray:
        """Cost ratio whose Bayes threshold the metric's is, (R,): e^(−threshold) on log-odds."""
        with np.errstate(divide="ignore"):
            return np.asarray((1 - self.bayes[:, 0]) / self.bayes[:, 0])

    @property
    def off_hull(self) -> float:
        """Share of the replicates in which the threshold of the metric is right for no costs."""
        defined = ~np.isnan(self.threshold)
        empty = np.isnan(self.empirical[:, 0]) & defined
        return float(empty.sum() / defined.sum()) if defined.any() else float("nan")

    def __repr__(self) -> str:
        known = self.cost_ratio[~np.isnan(self.cost_ratio)]
        summary = "no cost ratio"
        if known.size:  # order statistics, because a ratio may be infinite
            low, middle, high = np.quantile(known, [0.05, 0.5, 0.95], method="inverted_cdf")
            summary = (
                f"a miss costs {middle:.4g} false alarms (5 % to 95 %: {low:.4g} to {high:.4g})"
            )
        size = self.threshold.size
        return f"ImpliedCostsOfReplicates of {size}: {summary}; off the hull in {self.off_hull:.1%}"


# Questions ---------------------------------------------------------------------------------------


def implied_costs(table: ScoreTable, metric: Metric, *, scale: ScoreScale) -> ImpliedCosts:
    r"""Thresholds that are best for a metric, and the costs for which they would be right.

    On calibrated log-odds the threshold :math:`t_o` is the Bayes threshold when a miss costs
    :math:`e^{-t_o}` false alarms (ferrer-ec, section 4.1). All thresholds between two neighbouring
    scores take the same decisions, so that the costs are intervals. Pass
    ``table.with_prior(prior)`` for other class shares.

    Parameters
    ----------
    table : a single table, without leading axes
    metric : any function of counts, such as ``FAMILIAR["F1"]``
    scale : `Probabilities`, `LogOdds` or `RawScores`

    Returns
    -------
    the best thresholds and the costs that they imply

    Examples
    --------
    >>> from stakes.audit import FAMILIAR, Probabilities, implied_costs
    >>> from stakes.tally import ScoreTable
    >>> table = ScoreTable([0.1, 0.3, 0.6, 0.9], [[40, 2], [10, 5], [5, 10], [1, 9]])
    >>> (optimum,) = implied_costs(table, FAMILIAR["F1"], scale=Probabilities()).optima
    >>> optimum.threshold, optimum.below
    (0.3, 0.6)
    >>> optimum.bayes.cost_ratio.round(2), optimum.empirical.cost_ratio.round(2)
    (array([0.67, 2.33]), array([0.5, 2. ]))
    """
    _check.require("metric", metric, Metric)
    cuts = _cuts(table, scale)
    counts = cuts.counts()
    best = np.flatnonzero(picked(metric.goodness(counts)))
    if not best.size:
        return ImpliedCosts(value=float("nan"), optima=())
    return ImpliedCosts(
        value=float(metric(counts)[best[0]]),
        optima=tuple(_optimum(cuts, cut, scale) for cut in best.tolist()),
    )


def costs_of_threshold(table: ScoreTable, threshold: float, *, scale: ScoreScale) -> ThresholdCosts:
    """The costs for which a given threshold is right.

    Parameters
    ----------
    table : distinct scores and the weight of each class at them, (…, S, 2)
    threshold : the threshold, such as 0.5
    scale : what the scores mean: `Probabilities()`, `LogOdds()` or `RawScores()`

    Returns
    -------
    the costs for which the threshold, and all that take the same decisions, are right

    Examples
    --------
    >>> from stakes.audit import Probabilities, costs_of_threshold
    >>> from stakes.tally import ScoreTable
    >>> table = ScoreTable([0.1, 0.3, 0.6, 0.9], [[40, 2], [10, 5], [5, 10], [1, 9]])
    >>> costs = costs_of_threshold(table, 0.5, scale=Probabilities())
    >>> costs.asked, costs.cost_ratio, costs.empirical.cost_ratio.round(2)
    (0.5, 1.0, array([0.5, 2. ]))
    """
    (score,) = _check.real_scores("threshold", [threshold]).tolist()
    cuts = _cuts(table, scale)
    cut = int(np.searchsorted(cuts.below[:-1], score, side="right"))
    alike = _optimum(cuts, cut, scale)
    return ThresholdCosts._trusted(
        threshold=alike.threshold,
        below=alike.below,
        bayes=alike.bayes,
        empirical=alike.empirical,
        asked=score,
        cost_proportion=scale.cost_proportion(score),
    )


def implied_costs_of_replicates(
    replicates: ScoreTable, metric: Metric, *, scale: ScoreScale
) -> ImpliedCostsOfReplicates:
    """Implied costs in each replicate of a table, to show how stable they are.

    Parameters
    ----------
    replicates : a table with one leading axis, (R, S, 2), such as a bootstrap makes
    metric : any function of counts, such as ``FAMILIAR["F1"]``
    scale : `Probabilities`, `LogOdds` or `RawScores`

    Returns
    -------
    implied costs, replicate by replicate

    Examples
    --------
    >>> from stakes.audit import FAMILIAR, Probabilities
    >>> weights = [[[40, 2], [5, 10]], [[35, 4], [8, 10]]]
    >>> replicates = ScoreTable([0.2, 0.7], [[40, 2], [5, 10]]).with_weights(weights)
    >>> implied_costs_of_replicates(replicates, FAMILIAR["F1"], scale=Probabilities()).threshold
    array([0.2, 0.2])
    """
    _check.require("replicates", replicates, ScoreTable)
    if replicates.weights.ndim != 3:
        raise InputError(
            f"replicates must have one leading axis; its weights have shape "
            f"{replicates.weights.shape}. implied_costs reads a single table."
        )
    size = len(replicates.weights)
    each = [implied_costs(replicates[r], metric, scale=scale) for r in range(size)]
    nan, none = float("nan"), np.full(2, np.nan)
    first = [costs.optima[0] if costs.optima else None for costs in each]
    return ImpliedCostsOfReplicates._trusted(
        threshold=np.array([nan if o is None else o.threshold for o in first]),
        value=np.array([costs.value for costs in each]),
        ties=np.array([len(costs.optima) for costs in each], dtype=np.intp),
        bayes=np.array([none if o is None else o.bayes.cost_proportion for o in first]),
        empirical=np.array([none if o is None else o.empirical.cost_proportion for o in first]),
        shares=replicates.shares,
    )


# Internals ---------------------------------------------------------------------------------------


@record
class _Cuts:
    """All cuts of a table: the decisions at each of them, and which are vertices of the hull."""

    thresholds: FloatArray  # (S + 1,) the lowest that makes this cut
    below: FloatArray  # (S + 1,) all thresholds below this make the same cut
    above: FloatArray  # (S + 1, 2) weight of each class with the positive decision
    vertices: IntArray
    shares: FloatArray

    def counts(self) -> Counts:
        """Decisions (S + 1, 2, 2), stored cell by cell, so that metrics read contiguous memory."""
        positive = self.above.T
        # The decisions at all cuts as one tally, so that the metric is called once.
        cells = np.stack([positive[:, :1] - positive, positive], axis=1)  # class, decision, cut
        values = np.moveaxis(cells, -1, 0)
        return Counts._unlabelled(values)

    def between(self, first: int, last: int) -> tuple[float, float]:
        """Weight of negatives and positives between two cuts."""
        negatives, positives = (self.above[first] - self.above[last]).tolist()
        return negatives, positives

    def positive_share(self, first: int, last: int) -> float:
        """Share of positives between two cuts."""
        negatives, positives = self.between(first, last)
        return positives / (negatives + positives)


def _cuts(table: ScoreTable, scale: ScoreScale) -> _Cuts:
    """The cuts of a table; scores without cases are left out, so that no two cuts are the same."""
    _check.require("table", table, ScoreTable)
    _check.require("scale", scale, ScoreScale)
    remedy = "implied_costs_of_replicates reads a leading axis of replicates."
    _check.no_leading_axes("table", table.leading, remedy=remedy)
    occupied = table.weights.sum(axis=-1) > 0
    if not occupied.any():
        raise InputError(
            "table must hold cases; none of its scores has a positive weight. "
            "A prior for a class without cases leaves no weight."
        )
    scores, weights = table.scores[occupied], table.weights[occupied]
    scale.refuse(scores)
    # As in `ScoreTable.thresholds`, so that only the first cut is at -inf.
    scores = np.maximum(scores, np.finfo(np.float64).min)
    return _Cuts(
        thresholds=np.concatenate([[-np.inf], scores]),
        below=np.concatenate([scores, [np.inf]]),
        above=weights_above(weights),
        vertices=hull_cuts(weights),
        shares=table.shares,
    )


def _optimum(cuts: _Cuts, cut: int, scale: ScoreScale) -> Optimum:
    threshold, below = float(cuts.thresholds[cut]), float(cuts.below[cut])
    proportions = np.array([scale.cost_proportion(threshold), scale.cost_proportion(below)])
    reason = "raw scores have no Bayes threshold" if np.isnan(proportions).any() else ""
    return Optimum(
        threshold=threshold,
        below=below,
        bayes=CostRange._trusted(cost_proportion=proportions, shares=cuts.shares, reason=reason),
        empirical=_empirical(cuts, cut),
    )


def _empirical(cuts: _Cuts, cut: int) -> CostRange:
    """Cost proportions between the shares of positives just below and just above the cut."""
    vertices = cuts.vertices
    after = int(np.searchsorted(vertices, cut))
    low, high, reason = 0.0, 1.0, ""
    if vertices[after] == cut:
        if after > 0:
            low = cuts.positive_share(vertices[after - 1], cut)
        if after + 1 < vertices.size:
            high = cuts.positive_share(cut, vertices[after + 1])
    else:
        start, end = int(vertices[after - 1]), int(vertices[after])
        # Inside a segment of the hull a threshold is best for at most one cost proportion, that of
        # the slope of the segment, and only if it lies on the segment.
        low = high = cuts.positive_share(start, end)
        if not _on_the_line(cuts, start, cut, end):
            low = high = float("nan")
            reason = (
                f"the threshold lies below the convex hull of the ROC curve: whatever the costs, "
                f"{cuts.thresholds[start]:g} or {cuts.thresholds[end]:g} is cheaper"
            )
    return CostRange._trusted(
        cost_proportion=np.array([low, high]), shares=cuts.shares, reason=reason
    )


def _on_the_line(cuts: _Cuts, start: int, cut: int, end: int) -> bool:
    """Whether both parts of a segment of the hull have the same share of positives."""
    (n0, p0), (n1, p1) = cuts.between(start, cut), cuts.between(cut, end)
    # Slopes compared by a product: a division would fail where a segment is vertical.
    return bool(abs(p0 * n1 - n0 * p1) <= _STRAIGHT * (n0 + n1) * (p0 + p1))
