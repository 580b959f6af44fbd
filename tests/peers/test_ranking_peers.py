"""Ranks and curves, live against scikit-learn, hmeasure, dcurves and SciPy's convex hull."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import isotonic_regression
from scipy.spatial import ConvexHull

from peers import conventions as theirs
from stakes import curves, ranking
from stakes.conditions import Beta
from stakes.tally import ScoreTable
from stakes.thresholds import h_measure

every_seed = pytest.mark.parametrize("seed", range(12))


def table_of(cases: theirs.Cases) -> ScoreTable:
    y, scores, weights = cases
    return ScoreTable.from_scores(y, scores, weights=weights)


def close(value: object, wanted: object) -> bool:
    return bool(np.allclose(value, wanted, rtol=1e-12, atol=1e-12, equal_nan=True))  # type: ignore[arg-type]


# scikit-learn ------------------------------------------------------------------------------------


@every_seed
def test_roc_and_auc_agree_with_scikit_learn(seed: int) -> None:
    cases = theirs.cases(seed)
    table = table_of(cases)
    points = ranking.roc(table)
    assert close((points.false_alarm_rate, points.hit_rate), theirs.sklearn_roc(*cases))
    assert close(ranking.auc(table), theirs.sklearn_roc_auc(*cases))


@every_seed
@pytest.mark.parametrize("limit", [0.05, 0.3, 0.9])
def test_standardized_partial_auc_agrees_with_scikit_learn(seed: int, limit: float) -> None:
    cases = theirs.cases(seed)
    ours = ranking.standardized_partial_auc(table_of(cases), max_false_alarm_rate=limit)
    assert close(ours, theirs.sklearn_standardized_partial_auc(*cases, limit))


@every_seed
def test_precision_recall_and_its_area_agree_with_scikit_learn(seed: int) -> None:
    cases = theirs.cases(seed)
    table = table_of(cases)
    curve = curves.precision_recall(table)
    assert close((curve.precision, curve.recall), theirs.sklearn_precision_recall(*cases))
    assert close(ranking.average_precision(table), theirs.sklearn_average_precision(*cases))


@every_seed
def test_det_agrees_with_scikit_learn(seed: int) -> None:
    cases = theirs.cases(seed)
    curve = curves.detection_error_tradeoff(table_of(cases))
    cuts, alarm, miss = theirs.sklearn_det(*cases)
    assert close((curve.false_alarm_rate[cuts], curve.miss_rate[cuts]), (alarm, miss))


@every_seed
def test_isotonic_agrees_with_scikit_learn_and_scipy(seed: int) -> None:
    cases = theirs.cases(seed)
    table = table_of(cases)
    fitted = theirs.sklearn_isotonic(*cases)
    ours = ranking.isotonic(table)
    segment = np.searchsorted(
        ranking.hull_cuts(table.weights), np.arange(table.scores.size), "right"
    )
    by_case = ours.scores[segment - 1][np.searchsorted(table.scores, cases[1])]
    assert close(by_case, fitted)
    size = table.weights.sum(axis=1)
    scipys = isotonic_regression(table.weights[:, 1] / size, weights=size)
    assert close(ours.scores[segment - 1], scipys.x)


# SciPy's convex hull -----------------------------------------------------------------------------


@every_seed
def test_hull_agrees_with_qhull(seed: int) -> None:
    table = table_of(theirs.cases(seed, whole=True))
    points = ranking.roc(table)
    corners = np.stack([points.false_alarm_rate, points.hit_rate], axis=1)
    closed = np.vstack([corners, [1.0, 0.0]])  # the far corner makes the area that under the hull
    assert close(ranking.auc_of_hull(table), ConvexHull(closed).volume)


# hmeasure ----------------------------------------------------------------------------------------


@every_seed
def test_h_agrees_with_hmeasure(seed: int) -> None:
    y, scores, _ = cases = theirs.cases(seed, whole=True)
    table = table_of(cases)
    for ratio in (0.2, 1.0, 7.0):
        value, distribution = theirs.hmeasure_score(y, scores, ratio)
        assert close(h_measure(table, distribution), value)
    severity, hand = theirs.hmeasure_default(y, scores)
    assert close(h_measure(table, Beta.severity(table.shares)), severity)
    assert close(h_measure(table, Beta.hand(table.shares)), hand)


# dcurves -----------------------------------------------------------------------------------------


@every_seed
@pytest.mark.parametrize("prevalence", [None, 0.03])
def test_decision_curves_agree_with_dcurves(seed: int, prevalence: float | None) -> None:
    y, scores, _ = cases = theirs.cases(seed, whole=True)
    p = np.array([0.01, 0.1, 0.25, 0.3, 0.5, 0.77, 0.9, 0.99])
    peer = theirs.dcurves_table(y, scores, p, prevalence)
    table = table_of(cases)
    if prevalence is not None:
        table = table.with_prior([1 - prevalence, prevalence])
    curve = curves.decision_curve(table)
    at = theirs.just_below(p)
    assert close(curve.net_benefit(at), peer["model_net_benefit"])
    assert close(curve.treat_all(at), peer["all_net_benefit"])
    assert close(curve.treat_none(at), peer["none_net_benefit"])
    assert close(curve.interventions_avoided(at), peer["interventions_avoided"])
