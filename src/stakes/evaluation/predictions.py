"""What each model says of the cases, in each currency that its predictions allow."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stakes import _check
from stakes._check import FloatArray, IntArray
from stakes.calibration import Calibrator, cross_calibrate
from stakes.decide import cheapest_decisions, shift_prior
from stakes.errors import InputError
from stakes.evaluation.cases import Cases
from stakes.evaluation.rules import DECISIONS, POSTERIORS, SCORES, Rule, is_movable
from stakes.report import AS_DECIDED, BAYES, MOVED, RECALIBRATED, TUNED
from stakes.rows import Decisions, Posteriors, Scores

__all__ = ["ROUNDED", "UNNORMALISED", "Predictions", "read_predictions"]

_FOLDS = 5
ROUNDED = 1e-6  # sums of posteriors that miss one by no more are one
UNNORMALISED = 0.02  # those that miss it by no more than this are divided by their sum


@dataclass(frozen=True, eq=False)
class Predictions:
    """The predictions of one model; None where there are none of that kind."""

    model: str
    kind: str
    posteriors: FloatArray | None = None  # (n, K), as they came
    moving: tuple[FloatArray, FloatArray] | None = None  # the priors from and to which they move
    recalibrated: FloatArray | None = None  # (n, K), out of fold, for the prior of the report
    decided: IntArray | None = None
    scores: FloatArray | None = None  # (n,), raw or P(second class), for two classes
    off_sum: tuple[int, float] | None = None  # rows that did not sum to one, and the worst sum

    @property
    def moved(self) -> FloatArray | None:
        """Posteriors (n, K) for the prior of the report, where they came for another."""
        return None if self.moving is None else shift_prior(self.posteriors, *self.moving)

    def decisions(self, rule: Rule, costs: FloatArray) -> IntArray:
        """What the model decides by a rule of its own."""
        if rule.name == TUNED:
            return np.asarray(np.asarray(self.scores) > rule.threshold, dtype=np.intp)
        if rule.name == AS_DECIDED:
            return np.asarray(self.decided)
        held = {BAYES: "posteriors", MOVED: "moved", RECALIBRATED: "recalibrated"}[rule.name]
        rows: FloatArray = getattr(self, held)
        return cheapest_decisions(rows, costs)


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
        return Predictions(model, DECISIONS, decided=given.read(name, problem.decisions))
    if isinstance(given, Scores):
        if problem.n_classes != 2:
            raise InputError(
                f"{name} must be posteriors or decisions: raw scores are for two classes, the "
                f"problem has {problem.n_classes}. Wrap them in Posteriors or Decisions."
            )
        scores = given.read(name)
        repaired = _recalibrated(scores, cases, calibrator, rng)
        return Predictions(model, SCORES, scores=scores, recalibrated=repaired)
    rows, off_sum = _posterior_rows(name, given, cases)
    held = cases.shares if posterior_prior is None else posterior_prior
    two = problem.n_classes == 2
    return Predictions(
        model,
        POSTERIORS,
        posteriors=rows,
        moving=(held, cases.prior) if is_movable(held, cases.prior) else None,
        recalibrated=_recalibrated(rows[:, 1] if two else rows, cases, calibrator, rng),
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
    if off.max(initial=0.0) <= ROUNDED or off.max() > UNNORMALISED:
        return given.read(name, cases.problem.classes), None
    worst = float(totals[np.argmax(off)])
    scaled = Posteriors(array / totals[:, None], given.classes)
    return scaled.read(name, cases.problem.classes), (int(np.sum(off > ROUNDED)), worst)


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
        groups=None if cases.cluster is None else cases.cluster.codes,
        rng=rng,
    )
    return _check.posteriors("recalibrated posteriors", made, cases.problem.n_classes)
