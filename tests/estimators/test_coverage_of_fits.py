"""The study of intervals from cross-validation; docs/coverage.md has its full table."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

from stakes.sklearn import evaluate_estimators

sys.path.insert(0, str(Path(__file__).parents[2] / "docs"))
from coverage_study.cross_validation import Fitting, learners, looked_at, row_of


@pytest.mark.parametrize("design", [Fitting(150, 0.3), Fitting(160, 0.3, clusters=40)], ids=str)
def test_the_study_looks_at_the_numbers_of_evaluate_estimators(design):
    X, y, owner = design.draw(np.random.default_rng(5))
    report = evaluate_estimators(
        learners(), X, y, design.problem, cv=5, clusters=owner, calibrator=None, replicates=2
    )
    intervals, _ = looked_at(design, X, y, owner)
    for name, numbers in zip(learners(), intervals, strict=False):
        cost = report.system(f"{name} (as is)").cost
        assert_allclose(numbers, [cost.value, cost.low, cost.high])


@pytest.mark.slow
def test_intervals_hold_the_mean_cost_of_the_fits():
    row = row_of(Fitting(200, 0.3), 80, 11)
    least = 93 - 300 * np.sqrt(0.93 * 0.07 / 80)  # three simulation errors below the goal
    for name in ("line", "tree", "difference"):
        assert row[f"{name}, fits"] >= least
        assert row[f"{name}, procedure"] >= least
    assert row["tree, all"] < 90  # the one fit is not what cross-validation tells
