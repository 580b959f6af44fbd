"""The predictions of each model, in every form that its rules need."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from stakes._arithmetic import above
from stakes._check import FloatArray, IntArray
from stakes._value import record
from stakes.calibration import Calibrator
from stakes.decide import cheapest_decisions, class_ratios, moved_rows
from stakes.errors import InputError
from stakes.evaluation.cases import Cases
from stakes.evaluation.decision_rules import DecisionRule, is_movable
from stakes.evaluation.folds import Fitted, Folds, recalibrated, tuned_apart
from stakes.evaluation.sentences import left_out, no_decision, no_move
from stakes.problem import CaseCosts
from stakes.report import AS_DECIDED, MOVED, RECALIBRATED, TUNED, TUNED_APART, Caveat
from stakes.rows import DECISIONS, POSTERIORS, SCORES, Decisions, Predicted, Scores


@record
class Predictions:
    """The predictions of one model; None where there are none of that kind.

    Examples
    --------
    A posterior that equals the prior moves as the prior does:

    >>> priors = np.array([0.5, 0.5]), np.array([0.9, 0.1])
    >>> rows = np.array([[0.5, 0.5]])
    >>> Predictions("net", "posteriors", posteriors=rows, moving=priors).moved.round(6)
    array([[0.9, 0.1]])
    """

    model: str
    kind: str
    posteriors: FloatArray | None = None  # (n, K), as they came
    moving: tuple[FloatArray, FloatArray] | None = None  # the priors from and to which they move
    decided: IntArray | None = None  # (n,), where the model gives decisions
    scores: FloatArray | None = None  # (n,), raw or P(second class), for two classes
    fitted: Fitted | None = None  # the rule that is fitted out of fold
    off_sum: tuple[int, float] | None = None  # rows that did not sum to one, and the worst sum
    named: bool = False  # whether the caller said which class each column belongs to
    rounding: FloatArray | None = None  # possible rounding errors of single-precision posteriors
    left_out: tuple[Caveat, ...] = ()

    @property
    def recalibrated(self) -> FloatArray | None:
        """Posteriors (n, K) by maps fitted on other folds, for the prior of the report."""
        posteriors: FloatArray | None = self._fitted(ndim=2)
        return posteriors

    @property
    def tuned_apart(self) -> IntArray | None:
        """Decisions (n,) by thresholds that were tuned on other folds."""
        decisions: IntArray | None = self._fitted(ndim=1)
        return decisions

    def _fitted(self, ndim: int) -> Any:
        """What the fitted rule predicts, if that is posteriors (2) or decisions (1)."""
        predictions = None if self.fitted is None else self.fitted.predictions
        return None if predictions is None or predictions.ndim != ndim else predictions

    @property
    def parts(self) -> tuple[FloatArray, ...]:
        """Posteriors (n, K) recalibrated in each partition, where prices of limits need them."""
        return () if self.fitted is None else self.fitted.parts

    @property
    def moved(self) -> FloatArray | None:
        """Posteriors (n, K) moved to the prior of the report, where they came for another one."""
        if self.moving is None or self.posteriors is None:
            return None
        return moved_rows(self.posteriors, *self.moving)

    def posteriors_of(self, rule: str) -> FloatArray:
        """The posteriors (n, K) by which a Bayes rule decides.

        Parameters
        ----------
        rule : the name of the rule

        Returns
        -------
        posteriors, (n, K)

        Examples
        --------
        >>> rows = np.array([[0.9, 0.1]])
        >>> Predictions("net", "posteriors", posteriors=rows).posteriors_of("as is")
        array([[0.9, 0.1]])
        """
        if rule == RECALIBRATED:
            return np.asarray(self.recalibrated)
        return np.asarray(self.moved if rule == MOVED else self.posteriors)

    def decisions(self, rule: DecisionRule, costs: FloatArray | CaseCosts) -> IntArray:
        """What the model decides by one of its rules.

        Parameters
        ----------
        rule : the rule
        costs : (K, M) costs, or those of every case

        Returns
        -------
        positions of the decisions, (n,)

        Examples
        --------
        >>> from stakes.evaluation import DecisionRule
        >>> predictions = Predictions("net", "scores", scores=np.array([0.2, 3.1]))
        >>> rule = DecisionRule("net", TUNED, threshold=1.0)
        >>> predictions.decisions(rule, np.array([[0.0, 1.0], [9.0, 0.0]]))
        array([0, 1])
        """
        if rule.name == TUNED:
            assert rule.threshold is not None
            return above(np.asarray(self.scores), rule.threshold).astype(np.intp)
        if rule.name in (AS_DECIDED, TUNED_APART):
            return np.asarray(self.decided if rule.name == AS_DECIDED else self.tuned_apart)
        if rule.name == RECALIBRATED:
            return cheapest_decisions(self.posteriors_of(RECALIBRATED), costs)
        moving = self.moving if rule.name == MOVED else None
        # Class ratios weight the costs of each class, which decides as moved posteriors would.
        ratios = None if moving is None else class_ratios(*moving)
        return cheapest_decisions(np.asarray(self.posteriors), costs, self.rounding, ratios)


def read_predictions(
    model: str, values: Predicted, cases: Cases, *, posterior_prior: FloatArray | None
) -> Predictions:
    """Check the predictions of a model; nothing is fitted to them yet."""
    name, problem = f"models[{model!r}]", cases.problem
    if isinstance(values, Decisions):
        decided = values.read(name, problem.decisions, problem.classes)
        return Predictions(model, DECISIONS, decided=cases.rows(decided))
    if isinstance(values, Scores):
        if problem.n_classes != 2:
            raise InputError(
                f"{name} must be posteriors or decisions: raw scores are for two classes, the "
                f"problem has {problem.n_classes}. State posteriors or decisions."
            )
        return Predictions(model, SCORES, scores=cases.rows(values.read(name)))
    rows, off_sum = values.normalised(name, problem.classes)
    rows = cases.rows(rows)
    moving, unmoved = _moving(model, rows, posterior_prior, cases)
    return Predictions(
        model,
        POSTERIORS,
        posteriors=rows,
        moving=moving,
        scores=rows[:, 1] if problem.n_classes == 2 else None,
        off_sum=off_sum,
        named=values.is_named,
        rounding=cases.rows(values.rounding(name, problem.classes)),
        left_out=unmoved,
    )


def with_fit(read: Predictions, folds: Folds, calibrator: Calibrator | None) -> Predictions:
    """The predictions with the rule that is fitted on other folds.

    Posteriors and scores are recalibrated where there is a calibrator; else scores get thresholds.
    """
    raw, problem = read.kind == SCORES, folds.cases.problem
    values = read.posteriors if read.scores is None else read.scores
    if values is None:
        return read
    fitted, lost = recalibrated(read.model, values, folds, calibrator, raw=raw)
    if raw and fitted is None:
        if not problem.is_binary:
            lost = (*lost, no_decision(read.model, problem))
        fitted = tuned_apart(values, folds)
    return replace(read, fitted=fitted, left_out=(*read.left_out, *lost))


def hashed_columns(predictions: Iterable[Predictions]) -> dict[str, FloatArray | IntArray]:
    """By model, what the hash of a case takes in; of two classes the second says all."""
    every = ((each, (each.scores, each.posteriors, each.decided)) for each in predictions)
    return {
        each.model: next(values for values in columns if values is not None)
        for each, columns in every
    }


def _moving(
    model: str, rows: FloatArray, from_prior: FloatArray | None, cases: Cases
) -> tuple[tuple[FloatArray, FloatArray] | None, tuple[Caveat, ...]]:
    """The priors from and to which posteriors move, None where they need not or cannot; caveats."""
    start, end = cases.shares if from_prior is None else from_prior, cases.prior
    if from_prior is not None and ((from_prior == 0) & (end > 0)).any():
        text = (
            "the prior for which its posteriors hold rules out a class that is expected here, so "
            "that they cannot be moved; they are shown as they come."
        )
        return None, (left_out(model, text),)
    if not is_movable(start, end):
        return None, ()
    if (end == 0).any() and np.isnan(moved_rows(rows, start, end)).any():
        return None, (no_move(model),)
    return (start, end), ()
