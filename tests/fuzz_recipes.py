"""Recipes of the fuzzer: for every public callable, arguments with which it works.

An argument is found by its name where that says enough, else by the type that it is annotated
with; `SPECIAL` has the few that need more. What is no business of users stands in `NOT_FOR_USERS`
with the reason, and so does, by its annotations, whatever must be given arrays that were checked
before: one room hands these to another.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import scipy.stats

import stakes
from stakes import (
    Counts,
    JointCounts,
    LossMoments,
    Problem,
    ScoreTable,
    audit,
    calibration,
    conditions,
    curve,
    evaluate,
    inference,
    limits,
    measures,
    regions,
    rows,
    rule,
    scoring,
    simulate,
    thresholds,
)
from stakes.problem import Limit
from stakes.tally import JointScores

_WRITTEN = tempfile.TemporaryDirectory(prefix="stakes-fuzz-")  # removed when Python ends

N = 24
_RNG = np.random.default_rng(0)
Y = np.arange(N) % 2
SCORES = np.round(np.clip(0.3 + 0.3 * Y + _RNG.normal(0, 0.2, N), 0.02, 0.98), 2)
POSTERIORS = np.stack([1 - SCORES, SCORES], axis=1)
DECIDED = (SCORES > 0.5).astype(int)
COSTS = [[0, 1], [4, 0]]
PROBLEM = Problem(COSTS, prior=[0.7, 0.3])
LIMITED = Problem(COSTS, prior=[0.7, 0.3], limits=[Limit.share(1, at_most=0.5)])


@cache
def report() -> Any:
    """One report for all methods of reports."""
    models = {"a": rows.Posteriors(POSTERIORS), "b": rows.Decisions(DECIDED)}
    return evaluate(Y, models, PROBLEM, calibrator=None, replicates=50, baseline="b")


def _joint() -> JointCounts:
    return JointCounts.from_decisions(Y, {"a": DECIDED, "b": 1 - Y}, PROBLEM)


def _estimate() -> inference.Estimate:
    return inference.Estimate(0.3, 0.1, np.empty(0), inference.Normal(), "delta method")


def _contenders() -> Any:
    return inference.contenders(_joint(), PROBLEM)


def _comparison() -> inference.Comparison:
    rng = np.random.default_rng(0)
    return inference.compare_costs(_joint(), PROBLEM, replicates=50, rng=rng)


def _replicates() -> ScoreTable:
    table, rng = ScoreTable.from_scores(Y, SCORES), np.random.default_rng(0)
    return inference.resample(table, inference.AllCases(), replicates=3, rng=rng)


def _by_group(counts: Counts) -> inference.Estimate:
    rng = np.random.default_rng(0)
    return inference.bootstrap(measures.accuracy, counts, replicates=20, rng=rng)


BY_TYPE: dict[Any, Callable[[], Any]] = {
    Problem: lambda: PROBLEM,
    Counts: lambda: Counts.from_decisions(Y, DECIDED, PROBLEM),
    JointCounts: _joint,
    ScoreTable: lambda: ScoreTable.from_scores(Y, SCORES),
    JointScores: lambda: JointScores.from_scores(Y, {"a": SCORES, "b": SCORES[::-1]}),
    LossMoments: lambda: LossMoments.from_losses(Y, {"a": SCORES, "b": 1 - SCORES}),
    np.random.Generator: lambda: np.random.default_rng(1),
    scoring.ScoringRule: scoring.Brier,
    scoring.Binning: lambda: scoring.EqualWidth(5),
    conditions.Distribution: conditions.Uniform,
    conditions.Condition: conditions.CostProportions,
    thresholds.Method: thresholds.ScoreDriven,
    calibration.Calibrator: calibration.Affine,
    calibration.CalibrationMap: lambda: calibration.Affine().fit(SCORES, Y),
    inference.Estimate: _estimate,
    inference.IntervalType: inference.Normal,
    inference.Scheme: inference.AllCases,
    inference.Comparison: lambda: inference.delta_compare_costs(_joint(), PROBLEM),
    inference.Contenders: _contenders,
    regions.Axis: lambda: regions.CostProportion([0.7, 0.3]),
    regions.Regions: lambda: regions.cheapest_regions(_joint(), regions.CostProportion([0.7, 0.3])),
    audit.Metric: lambda: audit.Gain(measures.accuracy),
    audit.ScoreScale: audit.Probabilities,
    curve.Curve: lambda: curve.Curve([0, 0.5, 1], [[0, 0.4], [0.3, -0.6]]),
    limits.PricedLimits: lambda: limits.price_limits(POSTERIORS, LIMITED),
    rule.Rule: lambda: rule.Rule(PROBLEM),
    Limit: lambda: Limit.share(1, at_most=0.5),
    bool: lambda: False,
    str: lambda: "a",
    int: lambda: 3,
    float: lambda: 0.5,
}

BY_NAME: dict[str, Any] = {
    **dict.fromkeys(("y_true", "y"), Y),
    **dict.fromkeys(("scores", "y_score", "edges_of"), SCORES),
    **dict.fromkeys(("posteriors", "y_proba", "probabilities", "recalibrated"), POSTERIORS),
    **dict.fromkeys(("y_pred", "decisions", "decided"), DECIDED),
    "costs": COSTS,
    "utilities": [[0, -1], [-4, 0]],
    "classes": [0, 1],
    "prior": [0.6, 0.4],
    "from_prior": [0.5, 0.5],
    "to_prior": [0.6, 0.4],
    "prevalence": 0.3,
    "level": 0.9,
    "power": 0.8,
    "replicates": 20,
    "thresholds": [0.2, 0.5],
    "threshold": 0.5,
    "names": ("a", "b"),
    "weights": None,
    "losses": {"a": SCORES},
    "models": {"a": POSTERIORS, "b": POSTERIORS[::-1]},
    "metrics": {"accuracy": audit.Gain(measures.accuracy)},
    "metric": audit.Gain(measures.accuracy),
    "cost_proportion": 0.3,
    "cost_proportions": [0.2, 0.5],
    "net_benefit": 0.1,
    "relative_value": 0.4,
    "cost": 0.2,
    "skew": 0.3,
    "n_cases": 100,
    "folds": 3,
    "over": conditions.CostProportions,
    "condition": conditions.CostProportions(),
    "problems": [PROBLEM, Problem.zero_one(2, prior=[0.7, 0.3])],
    "log_odds": np.log(SCORES / (1 - SCORES)),
    "log_likelihoods": np.log(POSTERIORS),
    "prior_log_odds": [-1.0, 0.0, 1.0],
    "measure": measures.expected_cost,
    "decision": 1,
    "x": 0.2,
    "rule": scoring.Brier(),
    "curves": {"a": curve.Curve([0, 1], [[0.2]]), "b": curve.Curve([0, 1], [[0, 1]])},
    "table": ScoreTable.from_scores(Y, SCORES),
    "pairs": 50,
    "edges": [0.2, 0.6],
    "index": (),
    "share": 0.3,
    "coverage": 0.3,
    "p": 0.3,
    "order": 1,
    "low": 0.1,
    "high": 0.9,
    "factor": 0.5,
    "predictions": POSTERIORS,
    "name": "a",
    "path": None,
    "value": 0.3,
    "positive": 1,
    "label": 0,
    "tally": BY_TYPE[Counts](),
    "forecasts": {"a": POSTERIORS, "b": POSTERIORS[::-1]},
}


def any_measure(tally: Any, problem: Problem | None = None) -> Any:
    """A measure of any tally."""
    return np.log1p(tally.class_weights[..., 0])


def for_each_model(tally: Any, problem: Problem | None = None) -> Any:
    """The same for two models."""
    return np.stack([any_measure(tally), np.sqrt(any_measure(tally))], axis=-1)


TALLIES = (Counts, JointCounts, ScoreTable, JointScores, LossMoments)


def grouped(kind: Any) -> Any:
    """A tally of groups."""
    by = np.arange(N) % 3
    if kind is Counts:
        return Counts.from_decisions(Y, DECIDED, PROBLEM, by=by)
    if kind is JointCounts:
        return JointCounts.from_decisions(Y, {"a": DECIDED, "b": 1 - Y}, PROBLEM, by=by)
    if kind is ScoreTable:
        return ScoreTable.from_scores(Y, SCORES, by=by)
    if kind is JointScores:
        return JointScores.from_scores(Y, {"a": SCORES, "b": SCORES[::-1]}, by=by)
    return LossMoments.from_losses(Y, {"a": SCORES, "b": 1 - SCORES}, by=by)


@cache
def special() -> dict[str, dict[str, Any]]:
    """Arguments of single callables, where names and types do not say enough."""
    joint, counts = _joint(), BY_TYPE[Counts]()
    accuracy = audit.Gain(measures.accuracy)
    by_case = Problem([[0, 1], ["amount", 0]])
    setting = {
        "utilities": audit.UniformUtilities(),
        "class_share": audit.UniformShares(),
        "rates": audit.RisingRates(),
    }
    tables = {"a": counts, "b": Counts([[9, 3], [5, 7]], classes=[0, 1], decisions=[0, 1])}
    clustered = Counts.from_decisions(Y, DECIDED, PROBLEM, by=np.arange(N) % 3)
    axis = {"models": joint, "axis": regions.CostProportion([0.7, 0.3])}
    sure = calibration.Affine().fit(SCORES, Y)
    fine = {"measure": any_measure, "tally": counts, "problem": PROBLEM}
    return {
        "regions.Classifiers.regions": {"models": {"a": BY_TYPE[ScoreTable]()}},
        "regions.Classifiers.curves": {"models": {"a": BY_TYPE[ScoreTable]()}},
        "audit.AgainstYield.reversed_chain": {"metric": "accuracy"},
        "audit.AgainstYield.reversed_share": {"metric": "accuracy"},
        "agreement.all_against_all": {"metric": measures.accuracy, "average": 1.0},
        "agreement.pairwise": {"metric": measures.accuracy},
        "agreement.power_mean": {"values": [0.2, 0.5], "p": 1.0},
        "audit.Disagreement.of": {"models": ("a", "b")},
        "audit.compliance": {"metric": accuracy, "shape": (2, 2)},
        "audit.costs_of_threshold": {"threshold": 0.5},
        "audit.disagreement": {"models": tables},
        "audit.exact_misranking": {"metric": accuracy, **setting},
        "audit.misranking": {**setting, "error": {"small": audit.AssessmentError(0.1)}},
        "audit.suitability": {"n_classes": 2},
        "audit.against_yield": {"counts": Counts([[[9, 3], [5, 7]], [[8, 4], [3, 9]]])},
        "audit.Misranking.share": {"name": "accuracy"},
        "audit.Misranking.difference": {"name": "accuracy", "other": "small"},
        **{
            name: {"size": (3,), "shape": (3,)}
            for name in (
                *("simulate.rising_rates", "simulate.uniform_shares"),
                *("audit.RisingRates.__call__", "audit.UniformShares.__call__"),
            )
        },
        **{f"audit.{k}": {"measure": measures.accuracy} for k in ("Gain", "Loss", "PositiveClass")},
        "audit.utilities_at": {"x": 0.1, "y": 0.2},
        "audit.is_admissible": {"x": 0.1, "y": 0.2},
        "audit.wrong_picks": {
            "models": tables,
            "truths": {k: Counts(np.stack([t.values] * 3)) for k, t in tables.items()},
            "problems": [PROBLEM],
            "errors": {"small": audit.AssessmentError(0.1)},
        },
        "calibration.calibration_error": {"tables": BY_TYPE[ScoreTable](), "order": 1.0},
        "calibration.from_json": {"text": sure.to_json()},
        "calibration.Histogram": {"bins": scoring.EqualWidth(3)},
        "conditions.Points": {"values": [0.2, 0.6], "probabilities": [0.5, 0.5]},
        "conditions.Sample": {"draws": [0.2, 0.6]},
        "conditions.Mixture": {
            "distributions": [conditions.Uniform(), conditions.Point(0.3)],
            "probabilities": [0.5, 0.5],
        },
        "conditions.Beta.hand": {"prior": [0.6, 0.4]},
        "conditions.CostProportions.from_costs": {"false_alarm": [1, 2], "miss": [4, 5]},
        "curve.Curve": {"knots": [0, 0.5, 1], "coefficients": [[0, 0.4], [0.3, -0.6]]},
        "curve.Curve.through": {"x": [0, 0.5, 1], "y": [0, 1, 0.5]},
        "curve.Curve.undefined": {"low": 0, "high": 1},
        "curve.Curve.expectation": {"distribution": conditions.Uniform()},
        "inference.assumed_net_benefit_difference": {
            "sensitivity": (0.8, 0.7),
            "specificity": (0.7, 0.8),
            "both_positive": (0.6, 0.2),
        },
        "inference.bootstrap": fine,
        "inference.bootstrap_bca": fine,
        "inference.bootstrap_t": {**fine, "standard_error": any_measure},
        "inference.bootstrap_problems": {
            "measure": any_measure,
            "tally": counts,
            "problems": [PROBLEM] * 20,
        },
        "inference.cases_for_half_width": {"half_width": 0.05},
        "inference.cases_to_detect": {"difference": 0.05},
        "inference.compare": {"measure": for_each_model, "tally": joint},
        "inference.compare_problems": {"problems": [PROBLEM] * 20},
        "inference.Dirichlet": {"cases": [3, 4]},
        "inference.Estimate": {
            "value": 0.3,
            "standard_error": 0.1,
            "replicates": np.empty(0),
            "intervals": inference.Normal(),
            "method": "delta method",
        },
        "inference.Estimate.with_intervals": {"intervals": inference.Normal()},
        "inference.holm": {"p_values": [0.01, 0.2]},
        "inference.jackknife": {
            "measure": any_measure,
            "tally": counts,
            "scheme": inference.AllCases(),
        },
        "inference.resample": {"tally": counts, "scheme": inference.AllCases()},
        "inference.scheme_of": {"tally": counts},
        "inference.slices": {"tally": clustered, "smallest": 3, "estimate": _by_group(clustered)},
        "inference.each": {"measure": measures.accuracy},
        "inference.Interval.covers": {"truth": 0.3},
        "inference.Comparison.difference": {"first": "a", "second": "b"},
        "limits.capacity_curve": {"decision": 1},
        "measures.abstention_rate": {"decision": 1},
        "measures.coverage": {"decision": 1},
        "problem.Between": {"low": 1, "high": 3},
        "problem.Limit.rate": {"decision": 1, "given": 1, "at_most": 0.5},
        "problem.Limit.share": {"decision": 1, "at_most": 0.5},
        "problem.Limit.count": {"decision": 1, "at_most": 3},
        "problem.Problem.from_toml": {
            "path": Path(stakes.__file__).parent / "data/german_credit.toml"
        },
        "problem.Problem.from_utility_coordinates": {"x": 0.1, "y": 0.2},
        "regions.bootstrap_crossings": {"tally": joint, "axis": regions.CostProportion([0.7, 0.3])},
        "regions.cheapest_regions": axis,
        "regions.cost_curves": axis,
        "regions.Classifiers": {"pairs": {"a": ("a", thresholds.ScoreDriven())}},
        "regions.crossing": {"first": "a", "second": "b", "axis": axis["axis"]},
        "regions.lowest": {"curves": BY_NAME["curves"], "axis": "cost proportion"},
        "regions.dominance": {"curves": BY_NAME["curves"]},
        "regions.nearest_first": {"margins": regions.sensitivity(joint, PROBLEM).costs},
        "regions.Prior": {"problem": PROBLEM, "label": 1},
        "regions.CostProportion": {},
        "regions.CostRatio": {},
        "report.Report.from_json": {"text": report().to_json()},
        "report.ModelQuality.table_of": {"rule": "Bayes decisions"},
        "inference.CountedCosts.simplest": {"rules": ["a", "b"]},
        "report.Report.rule": {"system": report().systems[0].name},
        "report.Report.system": {"name": report().systems[0].name},
        "inference.refit_covariance": {"sums": np.ones((2, 2, 1)), "weights": [1.0, 1.0]},
        "rule.Rule": {"problem": PROBLEM},
        "rule.Rule.keeping": {"found": BY_TYPE[limits.PricedLimits]()},
        "rule.Rule.from_json": {"source": rule.Rule(PROBLEM).to_json()},
        "rule.Rule.to_sql": {"column": "p"},
        "rule.Rule.with_columns": {"columns": ("p",)},
        "scoring.CostWeighted": {"distribution": conditions.Beta(2, 2)},
        "scoring.Edges": {"edges": [0.2, 0.6]},
        "scoring.score_moments": {"forecasts": {"a": POSTERIORS, "b": POSTERIORS[::-1]}},
        "simulate.gaussian_classes": {"variance": 1.0},
        "simulate.random_confusion": {
            "n_problems": 3,
            "n_models": 2,
            "share": simulate.uniform_shares,
            "correct_rates": simulate.rising_rates,
        },
        "tally.Counts": {"values": [[3, 1], [2, 5]]},
        "tally.JointCounts.from_decisions": {
            "decided": {"a": DECIDED, "b": 1 - Y},
            "problem": PROBLEM,
        },
        **{f"tally.{k.__name__}.group": {"self": grouped(k), "label": 0} for k in TALLIES},
        "simulate.GaussianWorld": {"means": [0, 1], "variance": 1.0},
        "simulate.GaussianWorld.log_odds": {"features": SCORES},
        "simulate.GaussianWorld.posteriors": {"features": SCORES},
        "simulate.GaussianWorld.sample_each": {"n_per_class": [3, 4]},
        "problem.Problem.case_costs": {"self": by_case, "data": {"amount": SCORES}},
        "problem.Problem.by_case": {"case_costs": np.ones((N, 2, 2)), "data": None},
        "problem.Problem.mean": {"self": by_case, "data": {"amount": SCORES}},
        "problem.Problem.of": {"parts": PROBLEM.plain()},
        "problem.Problem.to_toml": {"path": Path(_WRITTEN.name) / "written.toml"},
        "audit.Disagreement.picks_of": {"metric": "accuracy"},
        "metrics.MetricTable.__getitem__": {"key": "slope"},
        "tally.JointScores.from_scores": {"scores": {"a": SCORES, "b": SCORES[::-1]}},
        "tally.ScoreTable": {"scores": [0.2, 0.6], "weights": [[3, 1], [2, 5]]},
        "tally.ScoreTable.with_weights": {"weights": np.ones((len(set(SCORES.tolist())), 2))},
        **{f"tally.{k.__name__}.__add__": {"other": BY_TYPE[k]()} for k in TALLIES},
        "tally.Counts.from_decisions": {"decided": DECIDED, "problem": PROBLEM},
        "tally.Counts.answering": {"problem": PROBLEM},
        "tally.JointCounts": {
            "cells": [[0, 0, 1], [1, 1, 0]],
            "weights": [3, 4],
            "models": ["a", "b"],
            "classes": [0, 1],
            "decisions": [0, 1],
        },
        "metrics.calibration_table": {"y_proba": SCORES},
        "calibration.cross_calibrate": {"rng": np.random.default_rng(0)},
        "calibration.decompose_by_cross_calibration": {"rng": np.random.default_rng(0)},
        "inference.max_t": {"comparison": _comparison()},
        "limits.price_limits": {"problem": LIMITED},
        "problem.Limit": {"decision": 1, "at_most": 0.5},
        "problem.Problem.with_limits": {"limits": [Limit.share(1, at_most=0.5)]},
        "problem.Problem.expected": {"problems": [PROBLEM, PROBLEM]},
        "conditions.Continuous": {"frozen": scipy.stats.beta(2, 3)},
        "audit.implied_costs_of_replicates": {"replicates": _replicates()},
        "audit.utility_coordinates": {"utilities": [[1, 0], [0, 1]]},
        "evaluation.evaluate": {
            "models": {"a": rows.Posteriors(POSTERIORS), "b": rows.Decisions(DECIDED)},
            "calibrator": None,
            "replicates": 5,
        },
        **_frames(),
    }


def _frames() -> dict[str, dict[str, Any]]:
    """What is read from the columns of a frame, where Polars is installed."""
    try:
        import polars as pl
    except ImportError:
        return {}
    frame = pl.DataFrame({"y": Y, "s": SCORES, "d": DECIDED})
    return {
        "tally.Counts.from_frame": {
            **{"frame": frame, "y_true": "y", "decisions": "d"},
            "problem": PROBLEM,
        },
        "tally.ScoreTable.from_frame": {"frame": frame, "y_true": "y", "scores": "s"},
        "tally.LossMoments.from_frame": {"frame": frame, "y_true": "y", "losses": "s"},
    }


_INDEX = "follows numpy: an IndexError or a TypeError says where a tally ends"
_ENGINE = "reads rows or tallies for other rooms"
# Though they take an array, or labels.
CHECKS_ITSELF = {
    "inference.fitting_covariance",
    "inference.refit_covariance",
    "torch.loss_moments",
}
_CONTRACT = "is called by the library, with what it has checked"
NOT_FOR_USERS: dict[str, str] = {
    **{f"tally.{kind.__name__}.__getitem__": _INDEX for kind in TALLIES},
    **{
        f"audit.{kind}.__call__": "draws for misranking, which has checked the arguments"
        for kind in ("UniformUtilities", "NormalUtilities", "UniformShares", "RisingRates")
    },
    "tally.Bins.from_frame": "reads on a grid that another room has chosen",
    **({} if _frames() else {"*.from_frame": "reads frames of libraries that are not installed"}),
    "tally.refuse_too_many": "is called with sizes that rows were counted to have",
    "adapters.Columns.__getitem__": "is there for ** alone",
    "audit.PositiveClass.__call__": "reads what a measure of all classes gives",
    **dict.fromkeys(
        (
            *("tally.read_rows", "tally.tallies_by_model"),
            *("rows.as_predictions", "rows.frame_columns"),
            *("measures.coefficients_on", "scoring.class_labels", "scoring.expected_score"),
            *("scoring.shape_of", "scoring.n_columns", "calibration.decoded_map"),
            *("calibration.sealed_map", "inference.checked_scheme"),
            *("inference.contenders_among", "inference.difference_support", "problem.cell_text"),
            *("inference.loss_costs", "inference.support_bounds"),
            "regions.KeptDecisions.of",
            *("report.cheapest_of", "report.flip_of", "render.refuse_too_long_to_write"),
            *("limits.price_at", "rule.cuts_of"),
            *(
                "limits.read_counts",
                "rule.Rule.of",
                "rule.Rule.plain",
                "rule.Rules",
                "rule.Rules.if_fitted",
            ),
            *("problem.listed_limits", "report.refuse_inconsistent"),
            *("ranking.certified", "tally.BinSums"),
            "rule.Rules.with_columns",
            *(f"adapters.Columns.{name}" for name in ("labels", "located", "n_bytes", "needed")),
            *("adapters.Columns.read", "adapters.Columns.read_names"),
        ),
        _ENGINE,
    ),
    **dict.fromkeys(
        (
            *("rule.Rules.__getitem__", "*.moment", "*.drawer", "*.strata", "*.whole"),
            *("*.intervals", "*.numbers_per_replicate"),
            *("*.bounds", "*.endpoint_costs", "*.effective_count", "*.along", "*.checked"),
            *("*.located", "*.leaving"),
            *(f"inference.{kind}.undefined" for kind in ("Logit", "Normal", "Percentile")),
            *("*.gap", "*.mark", "*.read", "*.normalised"),
            *("*.rounding", "*.unframed", "*.of_quantity", "*.mapped", "*.excess", "*.among"),
            *("inference.LossSample.errors", "*.charged", "*.part", "*.fitted", "*.out_of_fold"),
        ),
        _CONTRACT,
    ),
}
