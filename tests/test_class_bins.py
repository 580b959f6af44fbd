"""Reliability of many classes: what a report keeps of the probabilities of each."""

from __future__ import annotations

import json

import numpy as np
import pytest

from stakes import Problem, Report, evaluate
from stakes.calibration import VectorScaling
from stakes.evaluation import tally_rows
from tamper import sealed_again

PROBLEM = Problem(
    [[0, 4, 2, 1], [3, 0, 5, 1], [6, 2, 0, 1]],
    classes=["a", "b", "c"],
    decisions=["a", "b", "c", "ask"],
)


@pytest.fixture(scope="module")
def weighted() -> tuple[np.ndarray, np.ndarray, np.ndarray, Report]:
    rng = np.random.default_rng(8)
    y = rng.choice(3, 80, p=[0.6, 0.3, 0.1])
    posteriors = rng.dirichlet([0.5, 0.5, 0.5], 80)
    edges = [[1.0, 0.0, 0.0], [0.1, 0.2, 0.7], [0.5, 0.5, 0.0]]  # of bins
    posteriors[:3] = np.array(edges)
    weights = rng.integers(0, 4, 80).astype(float)
    weights[:3] = 2.0  # rows without weight would play no part
    report = evaluate(
        np.array(list("abc"))[y],
        {"m": posteriors},
        PROBLEM,
        weights=weights,
        calibrator=None,
        replicates=10,
    )
    return y, posteriors, weights, report


def test_bins_of_each_class_are_plain_sums(weighted):
    y, posteriors, weights, report = weighted
    sums = np.zeros((3, 10, 3))
    for truth, row, weight in zip(y, posteriors, weights, strict=True):
        for k, p in enumerate(row):
            b = min(int(p * 10), 9)
            sums[k, b] += weight * np.array([1.0, truth == k, p])
    np.testing.assert_allclose(report.models[0].class_bins, sums, rtol=0, atol=1e-12)


@pytest.mark.parametrize("prior", [None, {"a": 0.2, "b": 0.3, "c": 0.5}])
def test_recalibrated_bins_are_those_of_the_shares_of_the_cases(prior, monkeypatch):
    """Whatever the prior of the report, its posteriors are moved back before they are binned."""
    rng = np.random.default_rng(9)
    y = np.arange(90) % 3
    posteriors = rng.dirichlet([1, 1, 1], 90) * 0.7 + 0.3 * np.eye(3)[y]
    weights = rng.integers(1, 4, 90).astype(float)
    kept = []

    def listening(model, cases):
        kept.append((model, cases))
        return tally(model, cases)

    tally = tally_rows._tallies
    monkeypatch.setattr(tally_rows, "_tallies", listening)
    report = evaluate(
        np.array(list("abc"))[y],
        {"m": posteriors},
        PROBLEM if prior is None else PROBLEM.with_prior(prior),
        weights=weights,
        calibrator=VectorScaling(),
        replicates=10,
    )
    [(model, _)] = kept
    shares = np.array([weights[y == k].sum() for k in range(3)]) / weights.sum()
    stated = shares if prior is None else np.array(list(prior.values()))
    sums = np.zeros((3, 10, 3))
    for truth, row, weight in zip(y, model.recalibrated, weights, strict=True):
        odds = [p * new / old for p, new, old in zip(row, shares, stated, strict=True)]
        for k, odd in enumerate(odds):
            p = odd / sum(odds)
            sums[k, min(int(p * 10), 9)] += weight * np.array([1.0, truth == k, p])
    bins = np.asarray(report.models[0].recalibrated_bins)
    np.testing.assert_allclose(bins, sums, rtol=0, atol=1e-12)
    assert Report.from_json(report.to_json()) == report


def test_recalibrated_bins_are_a_table_of_the_report():
    pytest.importorskip("narwhals")
    pytest.importorskip("polars")
    rng, y = np.random.default_rng(9), np.arange(90) % 3
    posteriors = rng.dirichlet([1, 1, 1], 90) * 0.7 + 0.3 * np.eye(3)[y]
    report = evaluate(np.array(list("abc"))[y], {"m": posteriors}, PROBLEM, replicates=10)
    rows = report.frame("recalibrated_bins", library="polars")
    assert rows["cases"].sum() == 3 * 90
    assert rows["class"].unique().sort().to_list() == ["a", "b", "c"]


def test_bins_are_read_again_and_may_be_missing(weighted):
    report = weighted[3]
    text = report.to_json()
    again = Report.from_json(text)
    np.testing.assert_array_equal(again.models[0].class_bins, report.models[0].class_bins)
    old = json.loads(text.replace('"class_bins"', '"unknown"'))
    assert Report.from_json(sealed_again(old)).models[0].class_bins is None


def test_two_classes_have_a_table_instead():
    report = evaluate(
        [0, 1, 1, 0, 1, 0], [0.2, 0.9, 0.4, 0.1, 0.8, 0.6], Problem.zero_one(2), calibrator=None
    )
    assert report.models[0].class_bins is None
