"""The named curves of a score table: functions that can be evaluated anywhere, or columns to draw.

Loss curves, ROC, gains and net benefit are exact `Curve` values: pieces with their true corners
and jumps, not a grid. Curves that are not made of such pieces (precision and recall, DET, lift)
come as columns, one entry for each threshold, and carry leading axes. The area under a loss curve
is the expected loss of its method under uniform conditions.

Takes tallies.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from stakes import _check
from stakes._arithmetic import ratio, running_sum
from stakes._check import FloatArray, IntArray, Label, require
from stakes._value import Value, record
from stakes.conditions import Condition
from stakes.curve import Curve
from stakes.errors import InputError
from stakes.limits import CapacityCurve, CoverageCurve
from stakes.limits import capacity_curve as capacity_of_rows
from stakes.limits import coverage_curve as coverage_of_rows
from stakes.problem import Problem
from stakes.ranking import Roc, hull, roc, roc_hull, single, weights_above
from stakes.scoring import probability_scores
from stakes.tally import ScoreTable
from stakes.thresholds import Method, Optimal, RateDriven, ScoreDriven, ScoreFixed, population_of

__all__ = [
    "BayesErrorPlot",
    "BayesErrorRate",
    "CostLines",
    "DecisionCurve",
    "DetectionErrorTradeoff",
    "Lift",
    "PrecisionRecall",
    "bayes_error_plot",
    "brier_curve",
    "capacity_curve",
    "cost_curve",
    "cost_line",
    "cost_lines",
    "coverage_curve",
    "decision_curve",
    "detection_error_tradeoff",
    "gains_curve",
    "hull_curve",
    "lift",
    "optimal_curve",
    "precision_recall",
    "rate_driven_curve",
    "roc_curve",
]


# Bayes-error plots: error rates of log-likelihood ratios at every prior (Brümmer) ----------------


@record
class BayesErrorRate(Value):
    """Error rate of Bayes decisions as a function of the log-odds of the positive class.

    Calling it with prior log-odds gives the error rate, elementwise: the positive decision is
    taken where log-likelihood ratio plus prior log-odds exceed zero.

    Attributes
    ----------
    log_likelihood_ratios : (T,) array
        Increasing; here the decisions change.
    false_alarm_rate, miss_rate : (T + 1,) arrays
        Entry j holds when ``log_likelihood_ratios[j:]`` get the positive decision; nan where the
        class is absent.

    Examples
    --------
    At even prior odds one of two negatives has a positive log-likelihood ratio, and no positive a
    negative one:

    >>> from stakes.tally import ScoreTable
    >>> rate = bayes_error_plot(ScoreTable.from_scores([0, 1, 0, 1], [-1.5, 0.2, 0.3, 3.0])).actual
    >>> float(rate(0.0)), float(rate.normalized(0.0))
    (0.25, 0.5)
    """

    log_likelihood_ratios: FloatArray
    false_alarm_rate: FloatArray
    miss_rate: FloatArray

    def __call__(self, prior_log_odds: npt.ArrayLike) -> FloatArray:
        """Error rate at these prior log-odds."""
        from scipy.special import expit

        log_odds = _check.reals("prior_log_odds", prior_log_odds)
        false_alarm_rate, miss_rate = self._rates(log_odds)
        return np.asarray(expit(log_odds) * miss_rate + expit(-log_odds) * false_alarm_rate)

    def normalized(self, prior_log_odds: npt.ArrayLike) -> FloatArray:
        """Error rate over that of the best constant decision: below one, the scores help.

        The normalised expected cost of ferrer-ec, eq 4, for costs and priors that make these
        odds.

        Parameters
        ----------
        prior_log_odds : log-odds of the prior

        Returns
        -------
        normalised error rates, elementwise

        Examples
        --------
        >>> from stakes.tally import ScoreTable
        >>> plot = bayes_error_plot(ScoreTable.from_scores([0, 1, 0, 1], [-1.5, 0.2, 0.3, 3.0]))
        >>> plot.actual.normalized([0.0])
        array([0.5])
        """
        log_odds = _check.reals("prior_log_odds", prior_log_odds)
        false_alarm_rate, miss_rate = self._rates(log_odds)
        # Divided by the smaller prior, one class has the factor one and the other the odds, which
        # may overflow; a rate of zero then has to stay zero.
        with np.errstate(over="ignore", invalid="ignore"):
            alarms = np.exp(np.maximum(-log_odds, 0)) * false_alarm_rate
            misses = np.exp(np.maximum(log_odds, 0)) * miss_rate
        return np.asarray(
            np.where(false_alarm_rate == 0, 0.0, alarms) + np.where(miss_rate == 0, 0.0, misses)
        )

    def _rates(self, log_odds: FloatArray) -> tuple[FloatArray, FloatArray]:
        # Posterior log-odds of zero are a tie: side="right" decides it for the negative class.
        cut = np.searchsorted(self.log_likelihood_ratios, -log_odds, side="right")
        return self.false_alarm_rate[cut], self.miss_rate[cut]


@record
class BayesErrorPlot(Value):
    """What bad calibration costs at every prior: actual error rates, and those of best thresholds.

    Attributes
    ----------
    actual : BayesErrorRate
        Of the scores, read as log-likelihood ratios.
    minimum : BayesErrorRate
        Of the best threshold at every prior, which the segments of the ROC hull give. Its largest
        value is the equal error rate on the hull.

    Examples
    --------
    Scores that rank perfectly, but are all positive: half of the decisions are wrong, none need be.

    >>> from stakes.tally import ScoreTable
    >>> plot = bayes_error_plot(ScoreTable.from_scores([0, 0, 1, 1], [0.5, 1.0, 2.0, 3.0]))
    >>> float(plot.actual(0.0)), float(plot.minimum(0.0))
    (0.5, 0.0)
    """

    actual: BayesErrorRate
    minimum: BayesErrorRate

    @staticmethod
    def reference(prior_log_odds: npt.ArrayLike) -> FloatArray:
        """Error rate of the best constant decision, the smaller of the two priors.

        Parameters
        ----------
        prior_log_odds : log-odds of the prior

        Returns
        -------
        error rates, elementwise

        Examples
        --------
        >>> BayesErrorPlot.reference([-2, 0]).round(4).tolist()
        [0.1192, 0.5]
        """
        from scipy.special import expit

        return np.asarray(expit(-np.abs(_check.reals("prior_log_odds", prior_log_odds))))

    def columns(self, prior_log_odds: npt.ArrayLike) -> dict[str, FloatArray]:
        """All curves at these prior log-odds, plain and normalised.

        Parameters
        ----------
        prior_log_odds : log-odds of the prior

        Returns
        -------
        columns of equal length

        Examples
        --------
        >>> from stakes.tally import ScoreTable
        >>> plot = bayes_error_plot(ScoreTable.from_scores([0, 1, 0, 1], [-1.5, 0.2, 0.3, 3.0]))
        >>> plot.columns([0.0])["minimum"]
        array([0.25])
        """
        return {
            "prior_log_odds": _check.reals("prior_log_odds", prior_log_odds),
            "actual": self.actual(prior_log_odds),
            "minimum": self.minimum(prior_log_odds),
            "reference": self.reference(prior_log_odds),
            "actual_normalized": self.actual.normalized(prior_log_odds),
            "minimum_normalized": self.minimum.normalized(prior_log_odds),
        }


def bayes_error_plot(table: ScoreTable) -> BayesErrorPlot:
    """Error rates of Bayes decisions at every prior, for scores that are log-likelihood ratios.

    There is a step for each score instead of a grid of thresholds, so that the curves are exact at
    every prior. Class shares of the data do not matter. Where the actual curve lies clearly above
    the minimum, calibration is bad; where the normalised curve exceeds one, a constant decision is
    better. Costs shift the prior: a false alarm at cost a and a miss at cost b add log(b/a) to the
    log-odds. nan where a class is absent; Brümmer and de Villiers (2013), The BOSARIS toolkit;
    ferrer-ec, section 2.

    Parameters
    ----------
    table : distinct scores and the weight of each class at them, (S, 2)

    Returns
    -------
    curves over the log-odds of the prior

    Examples
    --------
    >>> from stakes.tally import ScoreTable
    >>> plot = bayes_error_plot(ScoreTable.from_scores([0, 1, 0, 1], [-1.5, 0.2, 0.3, 3.0]))
    >>> plot.actual([-5, 0, 5]).round(4).tolist()
    [0.0067, 0.25, 0.0067]
    >>> plot.minimum([-5, 0, 5]).round(4).tolist()
    [0.0033, 0.25, 0.0033]
    """
    weights = single(table, "a Bayes-error plot")
    cuts, segments = hull(table).cuts, hull(table).segments
    totals = table.class_weights
    # The slope of a segment of the hull is the likelihood ratio of its scores. A segment with cases
    # of one class only has an infinite logarithm, which no prior outweighs.
    with np.errstate(divide="ignore", invalid="ignore"):
        relative = np.log(segments / totals)
        best = relative[:, 1] - relative[:, 0]
    return BayesErrorPlot(
        actual=_rate(table.scores, weights, np.arange(len(weights) + 1)),
        minimum=_rate(best, weights, cuts),
    )


def _rate(
    log_likelihood_ratios: FloatArray, weights: FloatArray, cuts: npt.NDArray[np.intp]
) -> BayesErrorRate:
    above = weights_above(weights)
    alarms, hits = above[:, 0], above[:, 1]
    return BayesErrorRate._trusted(
        log_likelihood_ratios=log_likelihood_ratios,
        false_alarm_rate=ratio(alarms, alarms[:1])[cuts],
        miss_rate=ratio(hits[:1] - hits, hits[:1])[cuts],
    )


# -------------------------------------------------------------------------------------------------
# Cost curves: loss over cost proportions or skews, cost over capacity, and decision curves.
#
# `over` is `CostProportions` or `Skews`, the class or an instance: it names the axis (Drummond and
# Holte; hernandez-orallo). A curve does not depend on the distribution of a condition;
# `expected_loss` does. Decision curves are net benefit over the threshold probability (Vickers and
# Elkin, 2006).


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


# Curves that depend on ranks alone: ROC, hull, precision and recall, DET, gains and lift ---------


def roc_curve(table: ScoreTable) -> Curve:
    """Hit rate as a function of the false-alarm rate, on [0, 1].

    Points are joined by straight lines, so that ties are diagonals. Where the curve rises
    vertically it jumps, and the value is the upper one. The area is `auc`. nan everywhere where a
    class is absent; ferrer-ec, appendix C.3. `roc` has the same points with their thresholds.

    Parameters
    ----------
    table : distinct scores and the weight of each class at them, (S, 2)

    Returns
    -------
    hit rate over the false-alarm rate, a `Curve`

    Examples
    --------
    >>> from stakes.tally import ScoreTable
    >>> curve = roc_curve(ScoreTable.from_scores([0, 1, 0, 1], [-1.5, 0.2, 0.2, 3.0]))
    >>> curve([0, 0.25, 0.5]).tolist(), curve.integral()
    ([0.5, 0.75, 1.0], 0.875)
    """
    single(table, "a ROC curve")
    return _rising(roc(table))


def hull_curve(table: ScoreTable) -> Curve:
    """Convex hull of the ROC curve: the best hit rate of thresholds, randomised where needed.

    The area is `auc_of_hull`. nan everywhere where a class is absent; hernandez-orallo,
    section 6.1.

    Parameters
    ----------
    table : distinct scores and the weight of each class at them, (S, 2)

    Returns
    -------
    hit rate over the false-alarm rate, a `Curve`

    Examples
    --------
    >>> from stakes.tally import ScoreTable
    >>> hull_curve(ScoreTable.from_scores([1, 0, 0, 1], [1, 2, 3, 4]))([0, 0.5]).tolist()
    [0.5, 0.75]
    """
    return _rising(roc_hull(table))


def _rising(points: Roc) -> Curve:
    return _through(points.false_alarm_rate[::-1], points.hit_rate[::-1])


def _through(x: FloatArray, y: FloatArray) -> Curve:
    """Straight lines through points whose x and y both rise from 0 to 1."""
    if np.isnan(x[0] + y[0]):
        return Curve.undefined(0.0, 1.0)
    # Exact comparisons are safe: rates of the same counts are equal floats.
    moved = np.concatenate([[True], (x[1:] != x[:-1]) | (y[1:] != y[:-1])])
    x, y = x[moved], y[moved]  # scores without weight repeat a point
    corner = np.ones(x.size, dtype=bool)
    for values in (x, y):  # inside a run along one axis there are no corners
        corner[1:-1] &= (values[1:-1] != values[:-2]) | (values[1:-1] != values[2:])
    return Curve.through(x[corner], y[corner])


@record
class PrecisionRecall(Value):
    """Precision and recall at every threshold, from the lowest threshold to the highest.

    Attributes
    ----------
    thresholds : (T,) array
    precision : (..., T) array
        nan where no case gets the positive decision, as at the last threshold.
    recall : (..., T) array
        nan where the positive class is absent.

    Examples
    --------
    >>> precision_recall(ScoreTable([0.2, 0.6], [[3, 1], [1, 3]])).precision
    array([0.5 , 0.75,  nan])
    """

    thresholds: FloatArray
    precision: FloatArray
    recall: FloatArray


def precision_recall(table: ScoreTable) -> PrecisionRecall:
    """Share of positives among positive decisions, against the share of positives found.

    Precision depends on the class shares: ``table.with_prior(p)`` gives the curve in deployment.
    Between two thresholds precision is not linear in recall, so that these are columns and not a
    `Curve`; `average_precision` is the area under their steps. ferrer-ec, appendix C.3.

    Parameters
    ----------
    table : distinct scores and the weight of each class at them, (…, S, 2)

    Returns
    -------
    precision and recall at every threshold

    Examples
    --------
    >>> from stakes.tally import ScoreTable
    >>> curve = precision_recall(ScoreTable.from_scores([0, 1, 0, 1], [-1.5, 0.2, 0.2, 3.0]))
    >>> curve.precision.round(3).tolist(), curve.recall.tolist()
    ([0.5, 0.667, 1.0, nan], [1.0, 1.0, 0.5, 0.0])
    """
    require("table", table, ScoreTable)
    above = weights_above(table.weights)
    return PrecisionRecall._trusted(
        thresholds=table.thresholds,
        precision=ratio(above[..., 1], above[..., 0] + above[..., 1]),
        recall=ratio(above[..., 1], above[..., :1, 1]),
    )


@record
class DetectionErrorTradeoff(Value):
    """Both error rates at every threshold, plain and on probit axes.

    Attributes
    ----------
    thresholds : (T,) array
    false_alarm_rate, miss_rate : (..., T) arrays
        nan where the class is absent.
    false_alarm_probit, miss_probit : (..., T) arrays
        Normal quantiles of the rates; -inf at rate 0 and inf at rate 1. Scores that are normal in
        both classes draw a straight line.

    Examples
    --------
    >>> detection_error_tradeoff(ScoreTable([0.2, 0.6], [[3, 1], [1, 3]])).miss_rate
    array([0.  , 0.25, 1.  ])
    """

    thresholds: FloatArray
    false_alarm_rate: FloatArray
    miss_rate: FloatArray
    false_alarm_probit: FloatArray
    miss_probit: FloatArray


def detection_error_tradeoff(table: ScoreTable) -> DetectionErrorTradeoff:
    """Miss rate against false-alarm rate at every threshold (DET curve).

    Martin et al. (1997), The DET curve in assessment of detection task performance.

    Parameters
    ----------
    table : distinct scores and the weight of each class at them, (…, S, 2)

    Returns
    -------
    rates at every threshold

    Examples
    --------
    >>> from stakes.tally import ScoreTable
    >>> curve = detection_error_tradeoff(ScoreTable.from_scores([0, 1, 0, 1], [-1.5, 0.2, 0.2, 3]))
    >>> curve.miss_rate.tolist(), curve.miss_probit.tolist()
    ([0.0, 0.0, 0.5, 1.0], [-inf, -inf, 0.0, inf])
    """
    require("table", table, ScoreTable)
    from scipy.special import ndtri

    above = weights_above(table.weights)
    totals = above[..., :1, :]
    false_alarm_rate = ratio(above[..., 0], totals[..., 0])
    miss_rate = ratio(totals[..., 1] - above[..., 1], totals[..., 1])
    return DetectionErrorTradeoff._trusted(
        thresholds=table.thresholds,
        false_alarm_rate=false_alarm_rate,
        miss_rate=miss_rate,
        false_alarm_probit=ndtri(false_alarm_rate),
        miss_probit=ndtri(miss_rate),
    )


def gains_curve(table: ScoreTable) -> Curve:
    """Share of the positives found, as a function of the share of cases acted on.

    Cases are taken from the highest score down; inside a tie group, in proportion. The area is
    π₁/2 + π₀ AUC. nan everywhere where the positive class is absent. Also known as the cumulative
    accuracy profile.

    Parameters
    ----------
    table : distinct scores and the weight of each class at them, (S, 2)

    Returns
    -------
    share of the positives over the share of cases, a `Curve`

    Examples
    --------
    >>> from stakes.tally import ScoreTable
    >>> gains_curve(ScoreTable.from_scores([0, 1, 0, 1], [-1.5, 0.2, 0.2, 3.0]))(0.25).tolist()
    0.5
    """
    single(table, "a gains curve")
    columns = lift(table)
    return _through(columns.rate[::-1], columns.gain[::-1])


@record
class Lift(Value):
    """How much richer in positives the top of the ranking is, at every threshold.

    Attributes
    ----------
    thresholds : (T,) array
    rate : (..., T) array
        Share of cases above the threshold; nan without cases.
    gain : (..., T) array
        Share of the positives among them; nan where the positive class is absent.
    lift : (..., T) array
        Gain over rate: precision over the share of positives. nan where no case is above.

    Examples
    --------
    >>> lift(ScoreTable([0.2, 0.6], [[3, 1], [1, 3]])).lift
    array([1. , 1.5, nan])
    """

    thresholds: FloatArray
    rate: FloatArray
    gain: FloatArray
    lift: FloatArray


def lift(table: ScoreTable) -> Lift:
    """Lift chart: how much more common positives are above each threshold than among all cases.

    Piatetsky-Shapiro and Masand (1999), Estimating campaign benefits and modeling lift.

    Parameters
    ----------
    table : distinct scores and the weight of each class at them, (…, S, 2)

    Returns
    -------
    lift at every threshold

    Examples
    --------
    >>> from stakes.tally import ScoreTable
    >>> lift(ScoreTable.from_scores([0, 1, 0, 1], [-1.5, 0.2, 0.2, 3.0])).lift.round(3).tolist()
    [1.0, 1.333, 2.0, nan]
    """
    require("table", table, ScoreTable)
    above = weights_above(table.weights)
    cases = above[..., 0] + above[..., 1]
    rate = ratio(cases, cases[..., :1])
    gain = ratio(above[..., 1], above[..., :1, 1])
    return Lift._trusted(thresholds=table.thresholds, rate=rate, gain=gain, lift=ratio(gain, rate))
