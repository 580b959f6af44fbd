"""Cost curves: loss over cost proportions or skews, cost over capacity, and decision curves.

`over` is `CostProportions` or `Skews`, the class or an instance: it names the axis (Drummond and
Holte; hernandez-orallo). A curve does not depend on the distribution of a condition;
`expected_loss` does. Decision curves are net benefit over the threshold probability (Vickers and
Elkin, 2006).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from stakes import _check
from stakes._arithmetic import ratio, running_sum
from stakes._check import FloatArray, IntArray, Label
from stakes._value import Value, record
from stakes.conditions import Condition
from stakes.curve import Curve
from stakes.errors import InputError
from stakes.limits import CapacityCurve, CoverageCurve
from stakes.limits import capacity_curve as capacity_of_rows
from stakes.limits import coverage_curve as coverage_of_rows
from stakes.problem import Problem
from stakes.ranking import single, weights_above
from stakes.scoring import probability_scores
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
    _check.require("method", method, Method)
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


@record
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
    _check.require("table", table, ScoreTable)
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


# Capacity and coverage ---------------------------------------------------------------------------


def capacity_curve(table: ScoreTable, problem: Problem, decision: Label) -> CapacityCurve:
    """Cost per case against the share of cases that may get a decision, on labelled cases.

    Scores are probabilities of the second class; the cases that save the most get the decision
    first. `stakes.limits.capacity_curve` takes rows instead, with any number of classes, and costs
    that differ from case to case.

    Parameters
    ----------
    table : distinct scores and the weight of each class at them, (S, 2)
    problem : what is at stake: costs, prior, labels
    decision : label of the decision whose share is bounded

    Returns
    -------
    cost against the share of cases, with the price at each

    Examples
    --------
    >>> table = ScoreTable([0.1, 0.2, 0.9], [[9, 1], [8, 2], [1, 9]])
    >>> problem = Problem([[0, 3, 25], [180, 8, 0]])
    >>> capacity_curve(table, problem, 1).cost([0, 1]).round(3).tolist()
    [13.5, 3.333]
    """
    scores, truth, weights = _rows(table, problem)
    labels = np.array(problem.classes, dtype=object)[truth]
    return capacity_of_rows(scores, problem, decision, y_true=labels, weights=weights)


def coverage_curve(table: ScoreTable, problem: Problem) -> CoverageCurve:
    """Cost against the share of cases that are decided, the hardest being left undecided.

    Scores are probabilities of the second class. `stakes.limits.coverage_curve` takes rows.

    Parameters
    ----------
    table : distinct scores and the weight of each class at them, (S, 2)
    problem : what is at stake: costs, prior, labels

    Returns
    -------
    cost against the share of cases that are decided

    Examples
    --------
    >>> table = ScoreTable([0.1, 0.6, 0.9], [[9, 1], [4, 6], [1, 9]])
    >>> coverage_curve(table, Problem.zero_one(2)).selective_cost([2 / 3, 1]).round(3).tolist()
    [0.1, 0.2]
    """
    scores, truth, weights = _rows(table, problem)
    labels = np.array(problem.classes, dtype=object)[truth]
    return coverage_of_rows(scores, problem, y_true=labels, weights=weights)


def _rows(table: ScoreTable, problem: Problem) -> tuple[FloatArray, IntArray, FloatArray]:
    """Scores, classes and weights of a table as rows, one for each score and class."""
    _check.require("problem", problem, Problem)
    if problem.n_classes != 2:
        raise InputError(
            f"problem must have two classes, those of table; it has {problem.n_classes}. "
            f"stakes.limits has curves of rows of any number of classes."
        )
    weights = single(table, "a capacity curve")
    # Each cell of the table becomes one weighted row, for the functions that take rows.
    scores = np.repeat(probability_scores(table), 2)
    truth = np.tile([0, 1], len(weights))
    occupied = weights.ravel() > 0
    return scores[occupied], truth[occupied], weights.ravel()[occupied]


@record
class DecisionCurve(Value):
    """Net benefit of a model beside the two policies that need no model; higher is better.

    Attributes
    ----------
    net_benefit : Curve on [0, 1]
        Of treating the cases whose score exceeds the threshold probability.
    treat_all, treat_none : Curve
        Of treating everybody, and nobody.
    prevalence : share of positives

    Examples
    --------
    >>> from stakes.tally import ScoreTable
    >>> curve = decision_curve(ScoreTable([0.1, 0.4], [[6, 1], [1, 2]]))
    >>> float(curve.net_benefit(0.2).round(3)), float(curve.treat_all(0.2).round(3))
    (0.175, 0.125)
    """

    net_benefit: Curve
    treat_all: Curve
    treat_none: Curve
    prevalence: float

    @property
    def standardized(self) -> Curve:
        """Net benefit over prevalence, the most that any model could reach: at most one.

        nan everywhere without positives.
        """
        if not self.prevalence > 0:
            return Curve.undefined(0.0, 1.0)
        return self.net_benefit * (1 / self.prevalence)

    def interventions_avoided(self, p: npt.ArrayLike) -> FloatArray:
        r"""Net interventions avoided per case, compared with treating all.

        .. math:: \frac{NB(p) - NB_{all}(p)}{p / (1 - p)}
                  = \frac{TN}{n} - \frac{FN}{n}\,\frac{1 - p}{p}

        A missed positive counts as (1 − p)/p interventions. Elementwise in the threshold
        probability p; nan outside [0, 1]. At p = 0 it is -inf with missed positives, else TN/n.

        Parameters
        ----------
        p : threshold probabilities

        Returns
        -------
        interventions per case, elementwise

        Examples
        --------
        >>> from stakes.tally import ScoreTable
        >>> curve = decision_curve(ScoreTable([0.1, 0.4], [[6, 1], [1, 2]]))
        >>> curve.interventions_avoided(0.2).round(3).tolist()
        0.2
        """
        points = _check.reals("p", p)
        hits, alarms = (
            _part(self.net_benefit, column)(points)
            for column in (0, 3)  # the shares TP/n and -FP/n
        )
        missed, spared = self.prevalence - hits, (1 - self.prevalence) + alarms
        # At p = 0 a missed case has an infinite price; where none is missed, nothing is paid.
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            price = (1 - points) / points * missed
        return np.asarray(spared - np.where(missed == 0, 0.0, price))


def _part(curve: Curve, column: int) -> Curve:
    """One column of the coefficients as a curve of constants; nan stays nan."""
    constants = np.zeros_like(curve.coefficients)
    constants[:, 0] = curve.coefficients[:, column]
    if np.isnan(curve.coefficients).any():
        constants[:, 0] = np.nan
    return Curve._trusted(knots=curve.knots, coefficients=constants)


def decision_curve(table: ScoreTable) -> DecisionCurve:
    r"""Net benefit of acting on probabilities that exceed a threshold probability p.

    .. math:: NB(p) = \frac{TP(p)}{n} - \frac{FP(p)}{n}\,\frac{p}{1 - p}

    The curve is exact: linear in the odds between two scores, with a jump at every score; a score
    equal to p gets the negative decision. At p = 1 nobody is treated and the value is 0; that of
    treating all is -inf. The threshold p is the cost proportion, and the expected cost at costs p
    and 1 - p is
    (1 - p)(π₁ - NB(p)); ferrer-ec, eq 25 to 27. Scores must be probabilities;
    ``table.with_prior(q)`` gives the curve in deployment.

    Parameters
    ----------
    table : distinct scores and the weight of each class at them, (S, 2)

    Returns
    -------
    net benefit of the model, of treating all and of treating none

    Examples
    --------
    >>> from stakes.tally import ScoreTable
    >>> curve = decision_curve(ScoreTable([0.1, 0.4], [[6, 1], [1, 2]]))
    >>> curve.net_benefit([0.0, 0.2, 0.4]).round(3).tolist()
    [0.3, 0.175, 0.0]
    >>> curve.treat_all(0.2).round(3).tolist()
    0.125
    """
    weights, scores = single(table, "a decision curve"), probability_scores(table)
    if not table.n_cases > 0:
        nothing = Curve.undefined(0.0, 1.0)
        return DecisionCurve(nothing, nothing, nothing, float("nan"))
    # Only scores strictly inside (0, 1) are knots; those at 0 and 1 belong to the limits.
    first, last = np.searchsorted(scores, 0.0, side="right"), scores.size - int(scores[-1] == 1)
    knots = np.concatenate([[0.0], scores[first:last], [1.0, 1.0]])
    # Sums are written where they stay: hits are constants, false alarms are linear in the odds.
    pieces = np.zeros((4, scores.size + 2))
    for k, row, cases in ((1, pieces[0], table.n_cases), (0, pieces[3], -table.n_cases)):
        running_sum(weights[::-1, k], out=row[-3::-1])
        row[:-2] /= cases
    prevalence, negative = float(pieces[0, 0]), -float(pieces[3, 0])
    return DecisionCurve(
        # The last piece, of zeros, is the point p = 1.
        net_benefit=Curve._trusted(knots=knots, coefficients=pieces[:, first : last + 2].T),
        treat_all=Curve([0.0, 1.0], [[prevalence, 0.0, 0.0, -negative]]),
        treat_none=Curve([0.0, 1.0], [[0.0]]),
        prevalence=prevalence,
    )
