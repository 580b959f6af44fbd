"""What is fitted to the cases themselves, fitted on other folds."""

from __future__ import annotations

import numpy as np

from stakes import _check
from stakes._check import FloatArray, IntArray
from stakes.calibration import Calibrator, cross_calibrate
from stakes.calibration.crossfit import fold_numbers
from stakes.evaluation.cases import Cases
from stakes.report import LEFT_OUT, Caveat
from stakes.tally import ScoreTable
from stakes.thresholds import best_threshold

__all__ = ["FOLDS", "partitions", "recalibrated", "tuned_apart"]

FOLDS = 5
_FEW_CASES = 20_000  # below, the luck of the folds shows, and several partitions are averaged


def partitions(n_cases: int) -> int:
    """How many times the cases are dealt into folds; the posteriors of all of them are averaged."""
    return 5 if n_cases <= _FEW_CASES else 1


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
    folds = min(FOLDS, _most_folds(cases))
    if folds < 2:
        text = (
            f"{model} was not recalibrated: some class has fewer than two "
            f"{'cases' if cases.cluster is None else 'clusters with a case'}, so that no map can "
            f"be fitted on other cases."
        )
        return None, (Caveat(LEFT_OUT, text),)
    total: FloatArray | float = 0.0
    times = partitions(len(cases.truth))
    for _ in range(times):
        total = total + _out_of_fold(scores, cases, calibrator, folds, rng)
    return _check.posteriors("recalibrated", total / times, cases.problem.n_classes), ()


def _out_of_fold(
    scores: FloatArray, cases: Cases, calibrator: Calibrator, folds: int, rng: np.random.Generator
) -> FloatArray:
    return cross_calibrate(
        scores,
        cases.truth,
        calibrator,
        folds,
        weights=cases.weights,
        prior=cases.problem.prior,
        groups=None if cases.cluster is None else cases.cluster.codes,
        rng=rng,
    )


def tuned_apart(scores: FloatArray, cases: Cases, rng: np.random.Generator) -> IntArray | None:
    """Decisions (n,) by the best threshold of the other folds, for two classes and decisions."""
    problem, folds = cases.problem, min(FOLDS, _most_folds(cases))
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


def _most_folds(cases: Cases) -> int:
    """How often the rarest class can be parted: its cases, or the clusters that have one."""
    counted = cases.truth if cases.weights is None else cases.truth[cases.weights > 0]
    sizes = np.bincount(counted, minlength=cases.problem.n_classes)
    if cases.cluster is not None:
        units = cases.cluster.codes
        sizes = np.array([len(np.unique(units[cases.truth == k])) for k in range(sizes.size)])
    return int(sizes.min())
