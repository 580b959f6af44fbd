"""Posteriors of single precision in engines, where a recalibrated system is the cheapest."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("duckdb")
pytest.importorskip("narwhals")
pytest.importorskip("pandas")
pytest.importorskip("polars")

import pandas as pd
import polars as pl

from stakes import Posteriors, Problem, Report, evaluate, evaluate_frame
from stakes.calibration import Isotonic

N = 300
RNG = np.random.default_rng(0)
Y = (RNG.random(N) < 0.3).astype(int)
SHARP = 1 / (1 + np.exp(-2 * RNG.normal(2.0 * Y - 1, 1)))
POOR = (SHARP**3).astype(np.float32)  # ranks well, and is badly calibrated
THREE = RNG.dirichlet([1, 1, 1], N).astype(np.float32)
COLUMNS: dict[str, Any] = {"y": Y, "p": POOR, "key": np.arange(N)}
COLUMNS |= {f"q{k}": column for k, column in enumerate(THREE.T)}
FREE = Problem([[0, 0, 0], [0, 2, 4]])  # the first decision costs nothing
ENGINES = [("duckdb", pl.DataFrame), ("duckdb", pd.DataFrame), ("pandas", pd.DataFrame)]


def in_engine(engine: str, frame: Any, problem: Problem, model: Any, **options: Any) -> Report:
    return evaluate_frame(
        frame(COLUMNS), problem, y_true="y", models={"m": model}, engine=engine, **options
    )


@pytest.mark.parametrize(("engine", "frame"), ENGINES)
@pytest.mark.parametrize("costs", [[[0, 1], [9, 0]], [[0, 3, 25], [180, 8, 0]]])
def test_a_recalibrated_system_that_is_the_cheapest_has_its_coverage(engine, frame, costs):
    options: dict[str, Any] = {"key": "key", "calibrator": Isotonic()}
    report = in_engine(engine, frame, Problem(costs), "p", **options)
    expected = evaluate(
        Y, {"m": POOR}, Problem(costs), key=COLUMNS["key"], calibrator=options["calibrator"]
    )
    assert report.best.name == expected.best.name == "m (recalibrated)"
    np.testing.assert_allclose(report.coverage, expected.coverage)
    # Recalibrated posteriors are doubles: single precision of what came does not matter.
    double = evaluate(
        Y,
        {"m": POOR.astype(float)},
        Problem(costs),
        key=COLUMNS["key"],
        calibrator=options["calibrator"],
    )
    np.testing.assert_allclose(report.coverage, double.coverage)


@pytest.mark.parametrize(("engine", "frame"), ENGINES)
@pytest.mark.parametrize("model", ["p", Posteriors(["q0", "q1", "q2"])], ids=["two", "three"])
def test_a_decision_that_costs_nothing_makes_all_cases_equally_easy(engine, frame, model):
    problem = FREE if model == "p" else Problem([[0, 1, 0], [0, 2, 4], [0, 9, 1]])
    report = in_engine(engine, frame, problem, model, calibrator=None, replicates=5)
    assert report.best.cost.value == 0
    assert {cost for _, cost, _ in report.coverage} == {0.0}
