"""Cost curves: loss over cost proportions or skews (Drummond and Holte; hernandez-orallo).

`over` is `CostProportions` or `Skews`, the class or an instance: it names the axis. A curve does
not depend on the distribution of a condition; `expected_loss` does.
"""

from __future__ import annotations

from dataclasses import dataclass

from stakes import _check
from stakes._arithmetic import ratio
from stakes._check import FloatArray
from stakes._value import Value
from stakes.conditions import Condition
from stakes.curve import Curve
from stakes.ranking import weights_above
from stakes.tally import ScoreTable
from stakes.thresholds import Method, Optimal, RateDriven, ScoreDriven, ScoreFixed, population_of


def cost_curve(table: ScoreTable, method: Method, over: Condition | type[Condition]) -> Curve:
    """Loss of a threshold-choice method at every cost proportion or skew.

    The area is the expected loss under uniform conditions. nan everywhere where a class is
    absent; hernandez-orallo, section 2.2.

    Parameters
    ----------
    table : distinct scores and the weight of each class at them, (S, 2)
    method : how thresholds are chosen, such as `ScoreDriven()`
    over : `CostProportions` or `Skews`: what the horizontal axis is

    Returns
    -------
    loss over the axis, a `Curve`

    Examples
    --------
    >>> from stakes.conditions import CostProportions
    >>> from stakes.tally import ScoreTable
    >>> from stakes.thresholds import RateUniform
    >>> table = ScoreTable.from_scores([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    >>> cost_curve(table, RateUniform(), CostProportions).integral()
    0.375
    """
    return method.loss_curve(table, over)


def cost_line(table: ScoreTable, threshold: float, over: Condition | type[Condition]) -> Curve:
    """Loss of one threshold at every cost proportion or skew: a straight line.

    Parameters
    ----------
    table : distinct scores and the weight of each class at them, (S, 2)
    threshold : the threshold whose loss is wanted
    over : `CostProportions` or `Skews`: what the horizontal axis is

    Returns
    -------
    a straight line, as a `Curve`

    Examples
    --------
    >>> from stakes.conditions import Skews
    >>> from stakes.tally import ScoreTable
    >>> table = ScoreTable.from_scores([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    >>> cost_line(table, 0.35, Skews)([0, 1]).tolist()
    [0.5, 0.5]
    """
    with _check.renamed(t="threshold"):
        method = ScoreFixed(threshold)
    return cost_curve(table, method, over)


def optimal_curve(table: ScoreTable, over: Condition | type[Condition]) -> Curve:
    """Lower envelope of all cost lines: the loss of the best threshold at every condition.

    The area is the refinement loss of the hull; hernandez-orallo, corollary 30.

    Parameters
    ----------
    table : distinct scores and the weight of each class at them, (S, 2)
    over : `CostProportions` or `Skews`: what the horizontal axis is

    Returns
    -------
    loss over the axis, a `Curve`

    Examples
    --------
    >>> from stakes.conditions import CostProportions
    >>> from stakes.tally import ScoreTable
    >>> table = ScoreTable.from_scores([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    >>> optimal_curve(table, CostProportions).integral()
    0.125
    """
    return cost_curve(table, Optimal(), over)


def brier_curve(table: ScoreTable, over: Condition | type[Condition]) -> Curve:
    """Loss when the cost proportion is the threshold; the area is the Brier score.

    Scores must be probabilities; hernandez-orallo, theorem 14.

    Parameters
    ----------
    table : distinct scores and the weight of each class at them, (S, 2)
    over : `CostProportions` or `Skews`: what the horizontal axis is

    Returns
    -------
    loss over the axis, a `Curve`

    Examples
    --------
    >>> from stakes.conditions import CostProportions
    >>> from stakes.tally import ScoreTable
    >>> table = ScoreTable.from_scores([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    >>> round(brier_curve(table, CostProportions).integral(), 6)
    0.158125
    """
    return cost_curve(table, ScoreDriven(), over)


def rate_driven_curve(table: ScoreTable, over: Condition | type[Condition]) -> Curve:
    """Loss when the share 1 - c of the cases gets the positive decision (Kendall curve).

    Quadratic between its corners; the area is π₀π₁(1 - 2 AUC) + 1/3; hernandez-orallo,
    theorem 22.

    Parameters
    ----------
    table : distinct scores and the weight of each class at them, (S, 2)
    over : `CostProportions` or `Skews`: what the horizontal axis is

    Returns
    -------
    loss over the axis, a `Curve`

    Examples
    --------
    >>> from stakes.conditions import CostProportions
    >>> from stakes.tally import ScoreTable
    >>> table = ScoreTable.from_scores([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    >>> round(rate_driven_curve(table, CostProportions).integral(), 6)
    0.208333
    """
    return cost_curve(table, RateDriven(), over)


@dataclass(frozen=True, eq=False)
class CostLines(Value):
    """The cost line of every threshold, by its values at 0 and at 1.

    Attributes
    ----------
    thresholds : (T,) array
    at_zero, at_one : (..., T) arrays
        Loss where the cost proportion or skew is 0 (misses only) and where it is 1 (false alarms
        only); nan where the class is absent.

    Examples
    --------
    >>> from stakes.conditions import CostProportions
    >>> lines = cost_lines(ScoreTable([0.2, 0.6], [[3, 1], [1, 3]]), CostProportions)
    >>> lines.at_zero
    array([0.  , 0.25, 1.  ])
    """

    thresholds: FloatArray
    at_zero: FloatArray
    at_one: FloatArray


def cost_lines(table: ScoreTable, over: Condition | type[Condition]) -> CostLines:
    r"""All cost lines at once: loss :math:`(1 - c)\,2\pi_1 FNR + c\,2\pi_0 FPR` at each threshold.

    Their lower envelope is `optimal_curve`.

    Parameters
    ----------
    table : distinct scores and the weight of each class at them, (…, S, 2)
    over : `CostProportions` or `Skews`: what the horizontal axis is

    Returns
    -------
    all lines, with their thresholds

    Examples
    --------
    >>> from stakes.conditions import Skews
    >>> from stakes.tally import ScoreTable
    >>> lines = cost_lines(ScoreTable.from_scores([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8]), Skews)
    >>> lines.at_zero.tolist(), lines.at_one.tolist()
    ([0.0, 0.0, 0.5, 0.5, 1.0], [1.0, 0.5, 0.5, 0.0, 0.0])
    """
    population = population_of(table, over)
    above = weights_above(population.weights)
    totals = above[..., :1, :]
    negative, positive = population.shares[..., :1], population.shares[..., 1:]
    # The costs of both mistakes add up to 2, so that losses with equal costs are error rates.
    return CostLines._trusted(
        thresholds=table.thresholds,
        at_zero=2 * positive * ratio(totals[..., 1] - above[..., 1], totals[..., 1]),
        at_one=2 * negative * ratio(above[..., 0], totals[..., 0]),
    )
