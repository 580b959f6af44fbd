"""Recipes of the fuzzer for the rooms that need more than numpy and scipy."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import numpy as np

from fuzz_recipes import BY_NAME, BY_TYPE, DECIDED, POSTERIORS, PROBLEM, SCORES, N, Y, report
from stakes import Counts, Problem, audit, calibration, curves, scoring
from stakes.inference import Measured
from stakes.regions import CostProportion, cheapest_regions
from stakes.render import Section
from stakes.rows import Posteriors
from stakes.rule import Rule

# Arguments that somebody else's estimator checks, with errors of its own, and which values of them.
THEIRS = {"X": None, "fit_params": "dict"}
OPTIONS = {"calibrator": None, "replicates": 5}  # of evaluate, for those who hand them on


def guests() -> dict[str, dict[str, Any]]:
    """Arguments of single callables, by room; those of rooms that are not installed are missing."""
    recipes = {**_renderers(), **_frames()}
    if find_spec("matplotlib"):
        recipes |= {**_pictures(), **_displays()}
    return recipes | _estimators() if find_spec("sklearn") else recipes


def _renderers() -> dict[str, dict[str, Any]]:
    whole = ("sections", "to_html", "to_json", "to_markdown", "to_notebook", "to_text")
    return {
        **{f"render.{name}": {"report": report()} for name in whole},
        "render.clearly": {"gap": Measured(0.1, 0.05, 0.2)},
        "render.from_json": {"source": report().to_json()},
        "render.section_text": {"part": Section("Verdict", ("Deploy forest.",))},
    }


def _frames() -> dict[str, dict[str, Any]]:
    """Columns of a frame in memory, where Polars is installed."""
    if not (find_spec("polars") and find_spec("narwhals")):
        return {}
    import polars as pl

    frame = pl.DataFrame({"y": Y, "p": SCORES, "d": DECIDED, "w": np.ones(N), "k": np.arange(N)})
    return {
        "adapters.evaluate_frame": {
            **{"frame": frame, "problem": PROBLEM, "y_true": "y", "models": {"a": "p"}},
            **OPTIONS,
        },
        "adapters.Columns": {"y_true": "y", "models": {"a": Posteriors("p")}},
        "adapters.Columns.guess": {"frame": frame.select("y", "p"), "problem": PROBLEM},
    }


def _pictures() -> dict[str, dict[str, Any]]:
    from stakes import plot

    table = BY_TYPE[type(BY_NAME["table"])]()
    bins, line = [np.array([0.2, 0.7])] * 5, [np.array([0.0, 1.0])] * 4
    tables = {"a": BY_TYPE[Counts](), "b": Counts([[9, 3], [5, 7]])}
    capacity = curves.capacity_curve(table, PROBLEM, 1)
    coverage = curves.coverage_curve(table, PROBLEM)
    return {
        "plot.banded_lines": {
            **{"lines": [plot.BandedLine("a", np.array([0.0, 1.0]), np.array([0.2, 0.4]))]},
            **{"x": "threshold", "y": "cost"},
        },
        "plot.reliability_panels": {"panels": [plot.ReliabilityPanel("a", *bins, *line)]},
        "plot.cost_rows": {"rows": [plot.CostRow("a", 0.4, 0.3, 0.5)], "x": "cost"},
        "plot.capacity_curves": {"curves": {"a": capacity}},
        **{
            f"plot.{name}": {"curves": {"a": coverage}}
            for name in ("coverage_curves", "break_even_curves")
        },
        "plot.decision_curves": {"curves": {"a": curves.decision_curve(table)}},
        "plot.detection_error_tradeoff": {"curves": {"a": curves.detection_error_tradeoff(table)}},
        "plot.precision_recall": {"curves": {"a": curves.precision_recall(table)}},
        "plot.decision_table": {"counts": tables["a"]},
        "plot.metric_disagreement": {
            "table": audit.disagreement(tables, PROBLEM, metrics=audit.FAMILIAR)
        },
        "plot.regions_map": {"regions": cheapest_regions(tables, CostProportion([0.5, 0.5]))},
        "plot.reliability": {"curve": calibration.reliability(table, scoring.EqualWidth(2))},
        "plot.utility_hexagon": {"problems": {"a": Problem.zero_one(2)}},
    }


class Ready:
    """A fitted classifier, as scikit-learn's are."""

    classes_ = np.array([0, 1])

    def fit(self, X: Any, y: Any) -> Ready:
        """Nothing is fitted."""
        return self

    def predict(self, X: Any) -> Any:
        """Its decisions."""
        return DECIDED

    def predict_proba(self, X: Any) -> Any:
        """Its probabilities."""
        return POSTERIORS


def _displays() -> dict[str, dict[str, Any]]:
    from stakes import displays

    arguments = {"estimator": Ready(), "X": SCORES}
    two = {"models": {"a": SCORES, "b": SCORES[::-1]}}
    return {
        **{f"displays.{name}.from_estimator": arguments for name in displays.__all__},
        **{f"displays.{name}.from_predictions": two for name in displays.__all__},
        "displays.SystemCostsDisplay.from_predictions": {**two, **OPTIONS},
        "displays.CapacityDisplay.from_predictions": {**two, "capacities": [0.2, 0.5]},
        "displays.CoverageDisplay.from_predictions": {**two, "coverages": [0.2, 0.5]},
        "displays.NetBenefitDifferenceDisplay.from_predictions": {**two, "reference": "a"},
        "displays.SystemCostsDisplay.from_report": {"report": report()},
    }


def _estimators() -> dict[str, dict[str, Any]]:
    from sklearn.naive_bayes import GaussianNB

    from stakes.sklearn import BayesDecisionClassifier

    X = SCORES[:, None]
    fitted = BayesDecisionClassifier(GaussianNB(), PROBLEM, calibrator=calibration.Affine(), cv=2)
    fitted.fit(X, Y)
    methods = ("fit", "predict", "predict_proba", "expected_costs", "score")
    return {
        "sklearn.evaluate_estimators": {
            **{"estimators": {"a": GaussianNB()}, "X": X, "y": Y, "problem": PROBLEM, "cv": 2},
            **OPTIONS,
        },
        "sklearn.BayesDecisionClassifier": {"estimator": GaussianNB()},
        "sklearn.BayesDecisionClassifier.from_rule": {
            **{"rule": Rule(PROBLEM), "estimator": fitted.estimator_}
        },
        **{f"sklearn.BayesDecisionClassifier.{m}": {"self": fitted, "X": X} for m in methods},
    }
