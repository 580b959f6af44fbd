"""The cost of bad calibration, in the unit of the problem.

Bayes decisions are optimal for calibrated posteriors only (ferrer-ec, section 2.3). The calibration
loss of an expected cost is what the decisions cost with the posteriors as they are, minus what they
cost after recalibration.
"""

from __future__ import annotations

import numpy as np

from stakes import _check
from stakes._check import FloatArray, IntArray, Numbers, unwrapped
from stakes._value import Value, record
from stakes.calibration.decomposition import isotonic_posteriors
from stakes.decide import bayes_decision_indices
from stakes.errors import InputError
from stakes.measures import expected_cost
from stakes.problem import Problem
from stakes.rows import read_posteriors
from stakes.scoring import probability_scores
from stakes.tally import Counts, ScoreTable


@record
class CostOfMiscalibration(Value):
    """Expected cost of Bayes decisions before and after recalibration, each of shape (…).

    Attributes
    ----------
    actual : cost of the decisions with the posteriors as they are
    recalibrated : cost of the decisions after recalibration
    optimal : for two classes, the least cost that thresholds on the score could have had on these
        same cases; nan for more classes

    Examples
    --------
    >>> table = ScoreTable([0.2, 0.6, 0.9], [[40, 5], [30, 25], [10, 40]])
    >>> costs = table_cost_of_miscalibration(table, Problem.binary(false_alarm=1, miss=4))
    >>> float(costs.calibration_loss.round(4))
    0.0
    """

    actual: Numbers
    recalibrated: Numbers
    optimal: Numbers

    @property
    def calibration_loss(self) -> Numbers:
        """Cost per case that recalibration saves."""
        return unwrapped(self.actual - self.recalibrated)

    @property
    def threshold_loss(self) -> Numbers:
        """Cost per case above the best thresholds, for two classes; never negative."""
        return unwrapped(self.actual - self.optimal)

    @property
    def calibration_share(self) -> Numbers:
        """Calibration loss as a share of the actual cost; nan for 0/0."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return unwrapped(self.calibration_loss / self.actual)


def table_cost_of_miscalibration(table: ScoreTable, problem: Problem) -> CostOfMiscalibration:
    """For two classes: the cost of Bayes decisions by the scores, and of the best thresholds.

    Recalibration is isotonic regression on the table itself, under the problem's prior; its Bayes
    decisions are the best thresholds. The scores are used as they are: if they hold for another
    prior than the problem's, that is part of the loss, which `shift_prior` would remove.

    The thresholds are the best for the same cases on which they are evaluated, so that the optimal
    cost is too small and the calibration loss too large: calibrated scores show a loss above zero,
    which shrinks as cases are added. `cost_of_miscalibration` with posteriors from
    `cross_calibrate` estimates the loss out of sample.

    Parameters
    ----------
    table : distinct scores and the weight of each class at them, (…, S, 2)
    problem : what is at stake: costs, prior, labels

    Returns
    -------
    costs before and after recalibration

    Examples
    --------
    >>> table = ScoreTable([0.2, 0.6, 0.9], [[40, 5], [30, 25], [10, 40]])
    >>> costs = table_cost_of_miscalibration(table, Problem.binary(false_alarm=1, miss=4))
    >>> float(costs.actual.round(4)), float(costs.optimal.round(4))
    (0.4, 0.4)
    """
    _require_two(problem)
    weighted = table if problem.prior is None else table.with_prior(problem.prior)
    scores = np.broadcast_to(probability_scores(table), table.weights.shape[:-1])
    # Isotonic regression is the optimum for every pair of costs at once (hernandez-orallo,
    # corollary 30), so that one map serves for both numbers. Scores without cases are nan and cost
    # nothing.
    best = _cost_of(table, np.nan_to_num(isotonic_posteriors(weighted)), problem)
    return CostOfMiscalibration._trusted(
        actual=_cost_of(table, scores, problem), recalibrated=best, optimal=best
    )


def cost_of_miscalibration(
    y_true: object,
    posteriors: object,
    recalibrated: object,
    problem: Problem,
    *,
    weights: object = None,
) -> CostOfMiscalibration:
    """For any number of classes and decisions, given posteriors before and after recalibration.

    The recalibrated posteriors come from a map that was fitted on other cases (held out, or from
    `cross_calibrate`) for the problem's prior.

    Parameters
    ----------
    y_true : labels among ``problem.classes``
    posteriors, recalibrated : (n, K), or (n,) for P(second class) of two; a frame's columns go by
        their names, as do those of `stakes.Posteriors` with classes
    problem : what is at stake
    weights : weight of each case, (n,); None counts each once

    Returns
    -------
    costs before and after recalibration

    Examples
    --------
    >>> problem = Problem.binary(false_alarm=1, miss=4)
    >>> costs = cost_of_miscalibration([0, 0, 0, 1], [0.1] * 4, [0.25] * 4, problem)
    >>> float(costs.actual), float(costs.recalibrated)
    (1.0, 0.75)
    """
    _check.aligned(y_true=y_true, posteriors=posteriors, recalibrated=recalibrated, weights=weights)
    truth = _check.codes("y_true", y_true, problem.classes)
    weight = _check.weights("weights", weights, truth.size)
    named = {"posteriors": posteriors, "recalibrated": recalibrated}
    rows = {name: read_posteriors(name, values, problem.classes) for name, values in named.items()}
    _check.same_length(y_true=truth, **rows)
    before, after = (_row_cost(truth, values, problem, weight) for values in rows.values())
    optimal = unwrapped(np.nan)
    if problem.n_classes == 2:
        table = ScoreTable.from_scores(truth, rows["posteriors"][:, 1], weights=weight)
        # The table names classes by position, which the labels of the problem would not match, and
        # limits do not matter here.
        plain = Problem(problem.costs, prior=problem.prior)
        optimal = table_cost_of_miscalibration(table, plain).optimal
    return CostOfMiscalibration._trusted(actual=before, recalibrated=after, optimal=optimal)


def _require_two(problem: Problem) -> None:
    if problem.n_classes != 2:
        raise InputError(
            f"problem must have two classes to meet a ScoreTable; it has {problem.n_classes}. "
            f"cost_of_miscalibration takes posteriors of any number of classes."
        )


def _cost_of(table: ScoreTable, posteriors: FloatArray, problem: Problem) -> Numbers:
    """Expected cost (…) of the Bayes decisions for the posterior of every score, (…, S)."""
    decided = bayes_decision_indices(posteriors.ravel(), problem).reshape(posteriors.shape)
    chosen = (decided[..., None] == np.arange(problem.n_decisions)).astype(np.float64)
    values = np.einsum("...sk,...sm->...km", table.weights, chosen)
    counts = Counts._trusted(
        values=values, classes=table.classes, decisions=problem.decisions, groups=None
    )
    return expected_cost(counts, problem)


def _row_cost(
    truth: IntArray, posteriors: FloatArray, problem: Problem, weight: FloatArray
) -> Numbers:
    cell = truth * problem.n_decisions + bayes_decision_indices(posteriors, problem)
    values = np.bincount(cell, weights=weight, minlength=problem.costs.size)
    return expected_cost(Counts(values.reshape(problem.costs.shape)), problem)
