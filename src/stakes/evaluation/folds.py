"""What is fitted to the cases themselves, fitted on other folds."""

from __future__ import annotations

import numpy as np

from stakes import _check
from stakes._check import FloatArray, IntArray
from stakes.calibration import Calibrator, cross_calibrate
from stakes.calibration.crossfit import fold_numbers
from stakes.errors import InputError
from stakes.evaluation.cases import Cases
from stakes.evaluation.left_out import left_out
from stakes.report import Caveat
from stakes.tally import ScoreTable
from stakes.thresholds import best_threshold

__all__ = ["described", "recalibrated", "tuned_apart"]

_FOLDS = 5
_FEW_CASES = 20_000  # below, the luck of the folds shows, and several partitions are averaged


def described(calibrator: Calibrator, cases: Cases) -> str:
    """What was fitted, and on which folds."""
    folds, times = _folds(cases), _partitions(cases)
    if folds < 2 or not cases.prior.all():
        return f"{calibrator!r} could not be fitted"
    mean = "" if times == 1 else f", mean of {times} partitions"
    return f"{calibrator!r}, out of fold ({folds} folds{mean})"


def _partitions(cases: Cases) -> int:
    """How many times the cases are dealt into folds; the posteriors of all of them are averaged."""
    return 5 if len(cases.truth) <= _FEW_CASES else 1


def recalibrated(
    model: str,
    scores: FloatArray,
    cases: Cases,
    calibrator: Calibrator | None,
    rng: np.random.Generator,
) -> tuple[FloatArray | None, tuple[Caveat, ...]]:
    """Posteriors (n, K) out of fold, for the prior of the report, or why there are none."""
    if calibrator is None:
        return None, ()
    if reason := _hindrance(cases):
        return None, (left_out(model, f"it was not recalibrated: {reason}"),)
    total: FloatArray | float = 0.0
    for _ in range(_partitions(cases)):
        total = total + _out_of_fold(model, scores, cases, calibrator, rng)
    made = total / _partitions(cases)
    return _check.posteriors("recalibrated", made, cases.problem.n_classes), ()


def _hindrance(cases: Cases) -> str | None:
    """Why no map can be fitted to these cases, if none can."""
    if _folds(cases) < 2:
        parts = "cases" if cases.cluster is None else "clusters with a case"
        return f"some class has fewer than two {parts}, so that no map can be fitted on others."
    if not cases.prior.all():
        return "the prior rules out a class, for which no posteriors can be fitted."
    return None


def _out_of_fold(
    model: str, scores: FloatArray, cases: Cases, calibrator: Calibrator, rng: np.random.Generator
) -> FloatArray:
    try:
        return cross_calibrate(
            scores,
            cases.truth,
            calibrator,
            _folds(cases),
            weights=cases.weights,
            prior=cases.problem.prior,
            groups=None if cases.cluster is None else cases.cluster.codes,
            rng=rng,
        )
    except InputError as error:
        if scores.ndim == 1 and not (scores.min() >= 0 and scores.max() <= 1):
            raise InputError(
                f"calibrator must take raw scores, which models[{model!r}] has; {calibrator!r} "
                f"takes probabilities. Use Isotonic(), Logistic() or Platt()."
            ) from error
        raise


def tuned_apart(scores: FloatArray, cases: Cases, rng: np.random.Generator) -> IntArray | None:
    """Decisions (n,) by the best threshold of the other folds, for two classes and decisions."""
    problem, folds = cases.problem, _folds(cases)
    if problem.costs.shape != (2, 2) or folds < 2:
        return None
    groups = None if cases.cluster is None else cases.cluster.codes
    number = fold_numbers(cases.truth, folds, groups=groups, rng=rng)
    decided = np.zeros(len(scores), dtype=np.intp)
    for fold in range(folds):
        held = number == fold
        weights = None if cases.weights is None else cases.weights[~held]
        table = ScoreTable._of_codes(cases.truth[~held], scores[~held], weights, problem.classes)
        if not (table.shares > 0).all():
            return None
        decided[held] = scores[held] > best_threshold(table, problem).threshold
    return decided


def _folds(cases: Cases) -> int:
    """As many as the rarest class can be parted into: its cases, or the clusters that have one."""
    sizes = np.bincount(cases.truth, minlength=cases.problem.n_classes)
    if cases.cluster is not None:
        units = cases.cluster.codes
        sizes = np.array([len(np.unique(units[cases.truth == k])) for k in range(sizes.size)])
    return min(_FOLDS, int(sizes.min()))
