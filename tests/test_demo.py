"""The shipped example: real predictions on the German credit data, with three decisions."""

from __future__ import annotations

import csv
from importlib.resources import files

import numpy as np
import pytest

from stakes import Problem, Report, evaluate
from stakes.calibration import Affine

MODELS = ("logistic", "forest", "boosting", "naive bayes")

# Costs per case under the stated prior, from src/stakes/data as shipped. Decisions as they come and
# moved to the prior depend on the predictions alone; recalibrated ones also on the folds.
COSTS = {
    "logistic (as is)": 0.27531666666666665,
    "logistic (moved)": 0.15935238095238086,
    "forest (as is)": 0.2809714285714285,
    "forest (moved)": 0.16407857142857138,
    "boosting (as is)": 0.22075476190476187,
    "boosting (moved)": 0.16153095238095233,
    "naive bayes (as is)": 0.37043333333333334,
    "naive bayes (moved)": 0.3144642857142857,
}
RECALIBRATED = {"logistic": 0.1606, "forest": 0.1640, "boosting": 0.1574, "naive bayes": 0.21}


@pytest.fixture(scope="module")
def report() -> Report:
    folder = files("stakes") / "data"
    with (folder / "german_credit.csv").open(encoding="utf-8") as lines:
        rows = list(csv.DictReader(lines))
    problem = Problem.from_toml(str(folder / "german_credit.toml"))
    models = {name: np.array([float(row[name]) for row in rows]) for name in MODELS}
    return evaluate(
        [row["risk"] for row in rows],
        models,
        problem,
        by=[row["age"] for row in rows],
        calibrator=Affine(),
    )


def test_the_costs_of_the_demo(report):
    for name, cost in COSTS.items():
        assert report.system(name).cost.value == pytest.approx(cost, abs=1e-12)
    for model, cost in RECALIBRATED.items():
        assert report.system(f"{model} (recalibrated)").cost.value == pytest.approx(cost, abs=0.006)
    assert report.naive.decision == "grant"
    assert report.naive.cost == pytest.approx(0.25)
    assert report.assumptions.n_rows == 1000


def test_the_intervals_of_the_demo_are_of_the_right_width(report):
    """The cost of a model is a mean within classes; its standard error has a formula."""
    system = report.system("logistic (moved)")
    rates = system.counts.values / system.counts.values.sum(axis=1, keepdims=True)
    costs, sizes = report.problem.costs, system.counts.values.sum(axis=1)
    variance = (rates * costs**2).sum(axis=1) - (rates * costs).sum(axis=1) ** 2
    error = np.sqrt(np.sum(np.array([0.95, 0.05]) ** 2 * variance / sizes))
    width = system.cost.high - system.cost.low
    assert width == pytest.approx(2 * 1.96 * error, rel=0.06)


def test_the_demo_tells_its_story(report):
    """For any folds: moving or recalibrating pays, ranks mislead, the first two are close."""
    assert report.verdict.cheapest in {"boosting (recalibrated)", "logistic (moved)"}
    assert report.verdict.told_apart is False
    assert {caveat.kind for caveat in report.caveats} >= {"prior mismatch", "miscalibration"}
    assert report.disagreement is not None
    assert report.disagreement.picks_of("AUC") == ("forest",)
    assert report.disagreement.picks_of("accuracy") == ("forest",)
    assert report.disagreement.picks_of("F1") == ("naive bayes",)
    assert [part.group for part in report.slices] == ["≤25", "26–35", "36–50", ">50"]
