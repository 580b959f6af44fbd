"""Systems: every model with every decision rule that its predictions allow."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from stakes import _check
from stakes._check import FloatArray, IntArray
from stakes.calibration import Calibrator, cross_calibrate
from stakes.decide import cheapest_decisions, shift_prior
from stakes.errors import InputError
from stakes.evaluation.cases import Cases
from stakes.evaluation.proper import class_losses
from stakes.rows import Decisions, Posteriors, Scores
from stakes.scoring import Brier, LogLoss
from stakes.tally import ScoreTable
from stakes.thresholds import best_threshold

__all__ = ["Candidate", "Predictions", "candidates_of", "read_predictions", "score_table"]

_FOLDS = 5
RULES = (LogLoss(), Brier())
_UNNORMALISED = 0.02  # rows of posteriors may miss one by this much; they are divided by their sum

AS_DECIDED = "as decided"
BAYES = "Bayes decisions"
MOVED = "Bayes decisions, posteriors moved to the prior"
RECALIBRATED = "Bayes decisions, recalibrated"
TUNED = "threshold tuned on these cases"
TAGS = {
    AS_DECIDED: "as decided",
    BAYES: "as is",
    MOVED: "moved",
    RECALIBRATED: "recalibrated",
    TUNED: "tuned",
}


@dataclass(frozen=True, eq=False)
class Predictions:
    """What one model says of the cases, in each currency that it allows."""

    model: str
    kind: str  # posteriors, scores or decisions
    posteriors: FloatArray | None = None  # (n, K), as they came
    posterior_prior: FloatArray | None = None  # the prior for which they hold
    recalibrated: FloatArray | None = None  # (n, K), out of fold, for the prior of the report
    decided: IntArray | None = None
    table: ScoreTable | None = None  # of P(second class) or of raw scores, for two classes
    scores: FloatArray | None = None  # what the table is made of
    losses: FloatArray | None = None  # mean loss of each class under each of RULES, (2, K)
    off_sum: tuple[int, float] | None = None  # rows that did not sum to one, and the worst sum

    def rules(self, cases: Cases) -> Iterator[tuple[str, FloatArray]]:
        """Posteriors that lead to Bayes decisions, by the name of the rule, the plainest first."""
        rows, held = self.posteriors, self.posterior_prior
        if rows is not None and held is not None:
            yield BAYES, rows
            lost = (held == 0) & (cases.prior > 0)
            if np.abs(held - cases.prior).max() > 1e-9 and not lost.any():
                yield MOVED, shift_prior(rows, held, cases.prior)
        if self.recalibrated is not None:
            yield RECALIBRATED, self.recalibrated


@dataclass(frozen=True, eq=False)
class Candidate:
    """A model with a decision rule, and what it decides."""

    model: str
    rule: str
    decided: IntArray
    threshold: float | None
    eligible: bool  # a rule tuned on these very cases is shown, but cannot win


def read_predictions(
    model: str,
    given: Posteriors | Decisions | Scores,
    cases: Cases,
    *,
    posterior_prior: FloatArray | None,
    calibrator: Calibrator | None,
    rng: np.random.Generator,
) -> Predictions:
    """Check what a model brought and make of it what can be made."""
    name, problem = f"models[{model!r}]", cases.problem
    if isinstance(given, Decisions):
        return Predictions(model, "decisions", decided=given.read(name, problem.decisions))
    if isinstance(given, Scores):
        if problem.n_classes != 2:
            raise InputError(
                f"{name} must be posteriors or decisions: raw scores are for two classes, the "
                f"problem has {problem.n_classes}. Wrap them in Posteriors or Decisions."
            )
        scores = given.read(name)
        return Predictions(
            model,
            "scores",
            table=score_table(scores, cases),
            scores=scores,
            recalibrated=_recalibrated(scores, cases, calibrator, rng),
        )
    rows, off_sum = _posterior_rows(name, given, cases)
    two = problem.n_classes == 2
    return Predictions(
        model,
        "posteriors",
        posteriors=rows,
        posterior_prior=cases.shares if posterior_prior is None else posterior_prior,
        recalibrated=_recalibrated(rows[:, 1] if two else rows, cases, calibrator, rng),
        table=score_table(rows[:, 1], cases) if two else None,
        losses=class_losses(rows, cases, RULES),
        scores=rows[:, 1] if two else None,
        off_sum=off_sum,
    )


def _posterior_rows(
    name: str, given: Posteriors, cases: Cases
) -> tuple[FloatArray, tuple[int, float] | None]:
    """Posteriors (n, K); rows that nearly sum to one are divided by their sum, and counted."""
    values = given.values
    array = np.asarray(values) if not hasattr(values, "columns") else None
    if array is None or array.ndim != 2 or array.dtype.kind != "f":
        return given.read(name, cases.problem.classes), None
    totals: FloatArray = np.nansum(array, axis=1, dtype=np.float64)
    off = np.abs(totals - 1)
    if off.max(initial=0.0) <= 1e-6 or off.max() > _UNNORMALISED:
        return given.read(name, cases.problem.classes), None
    worst = float(totals[np.argmax(off)])
    scaled = Posteriors(array / totals[:, None], given.classes)
    return scaled.read(name, cases.problem.classes), (int(np.sum(off > 1e-6)), worst)


def score_table(scores: FloatArray, cases: Cases) -> ScoreTable:
    """For each distinct score of two classes, the weight of each class."""
    return ScoreTable._of_codes(cases.truth, scores, cases.weights, cases.problem.classes)


def _recalibrated(
    scores: FloatArray, cases: Cases, calibrator: Calibrator | None, rng: np.random.Generator
) -> FloatArray | None:
    """Posteriors (n, K) out of fold, for the prior of the report."""
    if calibrator is None:
        return None
    made = cross_calibrate(
        scores,
        cases.truth,
        calibrator,
        _FOLDS,
        weights=cases.weights,
        prior=cases.problem.prior,
        groups=cases.cluster,
        rng=rng,
    )
    return _check.posteriors("recalibrated posteriors", made, cases.problem.n_classes)


def candidates_of(predictions: Predictions, cases: Cases) -> Iterator[Candidate]:
    """Every rule that these predictions allow, the plainest first."""
    problem, model = cases.problem, predictions.model
    binary = problem.costs.shape == (2, 2)
    threshold = problem.threshold if binary else None
    if predictions.decided is not None:
        yield Candidate(model, AS_DECIDED, predictions.decided, None, True)
    for rule, rows in predictions.rules(cases):
        yield Candidate(model, rule, cheapest_decisions(rows, problem.costs), threshold, True)
    if binary and predictions.table is not None and predictions.scores is not None:
        best = best_threshold(predictions.table, problem)
        if not np.isnan(best.threshold):
            decided = (predictions.scores > best.threshold).astype(np.intp)
            only_rule = predictions.posteriors is None and predictions.recalibrated is None
            yield Candidate(model, TUNED, decided, best.threshold, only_rule)
