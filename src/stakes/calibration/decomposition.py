r"""Decomposition of a mean score into miscalibration, discrimination and uncertainty.

.. math:: S = \underbrace{(S - S_{recal})}_{MCB} - \underbrace{(S_{prior} - S_{recal})}_{DSC}
          + \underbrace{S_{prior}}_{UNC}

:math:`S_{recal}` is the score after recalibration and :math:`S_{prior}` that of the prior-only
system. For two classes the recalibration is isotonic regression (CORP; Dimitriadis, Gneiting and
Jordan, 2021), which is the best non-decreasing map for every proper score at once. For many classes
it is any calibrator, held out or cross-validated.

In the unit of a problem, the calibration loss is what Bayes decisions cost with the posteriors as
they are, minus what they cost after recalibration (ferrer-ec, section 2.3).
"""

from __future__ import annotations

import numpy as np

from stakes import _check
from stakes._arithmetic import ratio, weighted_sum
from stakes._check import FloatArray, IntArray, Numbers, unwrapped
from stakes._value import Value, record
from stakes.calibration.calibrator import Calibrator
from stakes.calibration.crossfit import cross_calibrate
from stakes.decide import bayes_decision_indices
from stakes.errors import InputError
from stakes.measures import expected_cost
from stakes.problem import Problem
from stakes.rows import read_posteriors
from stakes.scoring import (
    HullBins,
    ScoringRule,
    bin_sums,
    expected_score,
    posterior_pairs,
    probability_scores,
    read_forecasts,
    table_score,
)
from stakes.tally import Counts, ScoreTable


@record
class Decomposition(Value):
    """Parts of a mean score: score = miscalibration − discrimination + uncertainty, each (…).

    Parameters
    ----------
    score : the mean score
    miscalibration : what recalibration would save
    discrimination : what looking at the cases earns
    uncertainty : score of the class shares

    Examples
    --------
    >>> from stakes.scoring import HalfBrier
    >>> parts = decompose(ScoreTable([0.2, 0.7], [[3, 1], [1, 2]]), HalfBrier())
    >>> float(parts.miscalibration.round(4)), float(parts.refinement.round(4))
    (0.0019, 0.2024)
    """

    score: Numbers
    miscalibration: Numbers
    discrimination: Numbers
    uncertainty: Numbers

    @property
    def miscalibration_share(self) -> Numbers:
        """Miscalibration as a share of the score, which recalibration would save; nan for 0/0."""
        return unwrapped(ratio(self.miscalibration, self.score))

    @property
    def refinement(self) -> Numbers:
        """The score after recalibration, uncertainty − discrimination."""
        return unwrapped(self.uncertainty - self.discrimination)


def _parts(score: object, recalibrated: object, uncertainty: object) -> Decomposition:
    """The decomposition, from the scores before and after recalibration and of the prior."""
    s, r, u = (unwrapped(part) for part in (score, recalibrated, uncertainty))
    with np.errstate(invalid="ignore"):
        return Decomposition._trusted(
            score=s,
            miscalibration=unwrapped(s - r),
            discrimination=unwrapped(u - r),
            uncertainty=u,
        )


def isotonic_posteriors(table: ScoreTable) -> FloatArray:
    """The posterior that isotonic regression gives each score on the table itself, (…, S)."""
    pooled = bin_sums(table, HullBins())
    return np.take_along_axis(pooled.shares, pooled.numbers, axis=-1)


def decompose(table: ScoreTable, rule: ScoringRule) -> Decomposition:
    """Miscalibration, discrimination and uncertainty of two-class scores, by isotonic regression.

    All three are never negative, up to rounding. nan without cases; the miscalibration is inf
    where the score is.

    The map is fitted on the same cases on which it is evaluated, so that miscalibration and
    discrimination are both too large: calibrated scores show a miscalibration above zero, which
    shrinks as cases are added. For a figure without that bias use
    `decompose_by_cross_calibration`, and in the currency of a problem `cost_of_miscalibration` with
    posteriors from `cross_calibrate`.

    Parameters
    ----------
    table : distinct scores and the weight of each class at them, (…, S, 2)
    rule : the proper scoring rule

    Returns
    -------
    the three parts, each (…)

    Examples
    --------
    >>> from stakes.scoring import HalfBrier
    >>> parts = decompose(ScoreTable.from_scores([0, 1, 0, 1], [0.1, 0.4, 0.6, 0.9]), HalfBrier())
    >>> [float(part.round(4)) for part in (parts.score, parts.miscalibration, parts.discrimination)]
    [0.185, 0.06, 0.125]
    """
    score = table_score(table, rule)
    posteriors = np.nan_to_num(isotonic_posteriors(table))  # nan where a score has no cases
    losses = rule.losses_by_class(posterior_pairs(posteriors))
    after = ratio(weighted_sum(table.weights, losses, axis=(-2, -1)), table.n_cases)
    return _parts(score, after, rule.entropy(table.shares))


def decompose_by_recalibration(
    y_true: object,
    posteriors: object,
    recalibrated: object,
    rule: ScoringRule,
    *,
    classes: object = None,
    weights: object = None,
    prior: object = None,
) -> Decomposition:
    """Decomposition for any number of classes, given posteriors before and after recalibration.

    The recalibrated posteriors come from a map that was fitted on other cases: held out, or from
    `cross_calibrate`. Parts may be slightly negative, because such a map is not the best for these
    cases. Under a prior, all three scores are those of the deployment, and the recalibrated
    posteriors should be fitted for it.

    Parameters
    ----------
    y_true : true class of every case, (n,)
    posteriors : P(class) for every case, (n, K), or P(second class), (n,)
    recalibrated : the same posteriors after recalibration
    rule : the proper scoring rule
    classes : labels of the classes, in the order of the columns
    weights : weight of each case, (n,); None counts each once
    prior : class shares, (K,) or by label; None takes those of the data

    Returns
    -------
    the three parts

    Examples
    --------
    >>> from stakes.scoring import Brier
    >>> before, after = [[0.9, 0.1], [0.9, 0.1]], [[0.5, 0.5], [0.5, 0.5]]
    >>> float(decompose_by_recalibration([0, 1], before, after, Brier()).miscalibration.round(9))
    0.32
    """
    before = read_forecasts(y_true, posteriors, classes, weights)
    # Weights were checked with the first forecasts; the classes of these name the columns of both.
    after = read_forecasts(y_true, recalibrated, before.classes, name="recalibrated")
    score, shares = expected_score(before, rule, weights, prior)
    return _parts(score, expected_score(after, rule, weights, prior)[0], rule.entropy(shares))


def decompose_by_cross_calibration(
    y_true: object,
    posteriors: object,
    rule: ScoringRule,
    calibrator: Calibrator,
    folds: object,
    *,
    classes: object = None,
    weights: object = None,
    prior: object = None,
    clusters: object = None,
    rng: np.random.Generator | None = None,
) -> Decomposition:
    """Decomposition for any number of classes, recalibrated by `cross_calibrate`.

    Parameters
    ----------
    y_true : true class of every case, (n,)
    posteriors : P(class) for every case, (n, K), or P(second class), (n,)
    rule : the proper scoring rule
    calibrator : what to recalibrate with
    folds : number of folds, or labels of the fold of each case
    classes : labels of the classes, in the order of the columns
    weights : weight of each case, (n,); None counts each once
    prior : class shares, (K,) or by label; None takes those of the data
    clusters : labels, one per case, of what was sampled together
    rng : the generator that draws

    Returns
    -------
    the three parts

    Examples
    --------
    >>> from stakes.calibration import Isotonic
    >>> from stakes.scoring import HalfBrier
    >>> rng = np.random.default_rng(0)
    >>> y = rng.random(400) < 0.3
    >>> p = np.clip(0.3 + 0.3 * (y - 0.3) + rng.normal(0, 0.1, 400), 0, 1)
    >>> parts = decompose_by_cross_calibration(y, p, HalfBrier(), Isotonic(), np.arange(400) % 5)
    >>> bool(parts.discrimination > 0)
    True
    """
    with _check.renamed(scores="posteriors", y="y_true"):
        recalibrated = cross_calibrate(
            posteriors,
            y_true,
            calibrator,
            folds,
            classes=classes,
            weights=weights,
            prior=prior,
            clusters=clusters,
            rng=rng,
        )
    return decompose_by_recalibration(
        y_true, posteriors, recalibrated, rule, classes=classes, weights=weights, prior=prior
    )


# In the unit of a problem ------------------------------------------------------------------------


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
        return unwrapped(ratio(self.calibration_loss, self.actual))


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
    _check.require("table", table, ScoreTable)
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
    _check.require("problem", problem, Problem)
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
    _check.require("problem", problem, Problem)
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
