"""One report of the same rows from everywhere: what its tests share."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

pytest.importorskip("narwhals")

from stakes import (
    Decisions,
    Limit,
    Posteriors,
    Problem,
    Report,
    Rule,
    Scores,
    ScoreTable,
    auc,
    evaluate,
    evaluate_frame,
)
from stakes.adapters.engine_evidence import MOVED_LIMITS
from stakes.calibration import (
    Affine,
    Calibrator,
    FullAffine,
    Isotonic,
    Logistic,
    Select,
    Temperature,
    VectorScaling,
)
from stakes.ranking import certified
from stakes.tally import Bins, BitGrid

PROBLEM = Problem(
    [[0, 3, 25], [180, 8, 0]],
    classes=["legit", "fraud"],
    decisions=["approve", "review", "block"],
    prior=[0.9, 0.1],
    unit="EUR",
)
CHARGED = Problem(  # every row has its own costs
    {
        "legit": {"approve": 0, "review": 3, "block": "5 + 0.02*amount"},
        "fraud": {"approve": "amount", "review": "max(8, 0.1*amount)", "block": "0.05*fee"},
    },
    prior=[0.9, 0.1],
    unit="EUR",
)
CHARGED_TWO = Problem(
    {
        "legit": {"pass": 0, "block": "5 + 0.02*amount"},
        "fraud": {"pass": "where(amount > 30, amount, 30)", "block": "fee"},
    },
    prior=[0.9, 0.1],
)
FAST: dict[str, Any] = {"replicates": 20, "calibrator": None, "seed": 3}
NAMED: dict[str, Any] = {
    "y_true": "what",
    "models": {
        "forest": "p_forest",
        "both": Posteriors(["p_fraud", "p_legit"], classes=["fraud", "legit"]),
        "old": Decisions("old"),
    },
    "weights": "w",
    "by": "segment",
    "clusters": "customer",
}


@cache
def rows(n: int) -> dict[str, Any]:
    """Text labels, tied scores, weights whose sums are exact, four segments and clusters."""
    rng = np.random.default_rng(n)
    fraud = rng.random(n) < 0.2
    legit = np.clip(0.6 - 0.2 * fraud + rng.normal(0, 0.2, n), 0, 1).round(2)
    return {
        "what": np.where(fraud, "fraud", "legit").tolist(),
        "p_forest": np.clip(0.3 + 0.4 * fraud + rng.normal(0, 0.2, n), 0, 1).round(2),
        "p_legit": legit,
        "p_fraud": 1 - legit,
        "raw": (rng.normal(2.0 * fraud, 1.0) * 4).round() - 3,
        "old": np.where(rng.random(n) < 0.3 + 0.3 * fraud, "review", "approve").tolist(),
        "called": np.where(rng.random(n) < 0.2 + 0.5 * fraud, "fraud", "legit").tolist(),
        "w": rng.integers(0, 40, n) / 8,
        "segment": np.array(["north", "east", "south", "west"])[rng.integers(0, 4, n)].tolist(),
        "customer": rng.integers(0, 60, n),
        "amount": np.random.default_rng([n, 1]).integers(1, 60, n).astype(float),
        "fee": np.random.default_rng([n, 2]).integers(0, 3, n),
        "fine": np.random.default_rng([n, 3]).beta(np.where(fraud, 2.0, 0.4), 2.0),
    }


def data_of(problem: Problem, n: int) -> Any:
    """The columns that the costs need."""
    return {column: rows(n)[column] for column in problem.columns} or None


@cache
def of_arrays(n: int, problem: Problem = PROBLEM, calibrator: Calibrator | None = None) -> Report:
    """The report; maps are fitted by folds of the customers."""
    columns = rows(n)
    models = {
        "forest": columns["p_forest"],
        "both": Posteriors(np.column_stack([columns["p_legit"], columns["p_fraud"]])),
        "old": Decisions(columns["old"]),
    }
    extra = {"weights": columns["w"], "by": {"segment": columns["segment"]}}
    extra |= {"clusters": columns["customer"], "data": data_of(problem, n)}
    extra |= {} if calibrator is None else {"key": columns["customer"]}
    options = {**FAST, "calibrator": calibrator}
    return evaluate(columns["what"], models, problem, **extra, **options)


# Fitted out of fold, by folds of a key -----------------------------------------------------------

SQUARE = Problem.binary(false_alarm=1, miss=9, classes=["legit", "fraud"], prior=[0.8, 0.2])
FITS: dict[str, tuple[Problem, dict[str, Any], Any]] = {
    "isotonic": (PROBLEM, {"forest": "p_forest", "raw": Scores("raw")}, Isotonic()),
    "select": (PROBLEM, {"forest": "p_forest", "raw": Scores("raw")}, Select()),
    "affine": (SQUARE, {"forest": "p_forest"}, Affine()),
    "isotonic, own costs": (
        CHARGED_TWO,
        {"forest": "p_forest", "raw": Scores("raw")},
        Isotonic(),
    ),
    "thresholds, own costs": (CHARGED_TWO, {"raw": Scores("raw")}, None),
    "logistic": (PROBLEM.with_prior(None), {"raw": Scores("raw")}, Logistic()),
    "tuned thresholds": (SQUARE, {"forest": "p_forest", "raw": Scores("raw")}, None),
}


LIMITED: dict[str, tuple[Problem, dict[str, Any], Any]] = {
    "a share": (
        PROBLEM.with_limits([Limit.share("review", at_most=0.25)]),
        {"forest": "p_forest", "raw": Scores("raw")},
        Isotonic(),
    ),
    "a rate, and no map": (
        SQUARE.with_limits([Limit.rate("fraud", given="legit", at_most=0.1)]),
        {"forest": "p_forest", "old": Decisions("called")},
        None,
    ),
}
TWO_LIMITS = PROBLEM.with_limits(
    [Limit.share("review", at_most=0.3), Limit.rate("block", given="legit", at_most=0.01)]
)
FITTED = FITS | LIMITED | {"two limits": (TWO_LIMITS, {"forest": "p_forest"}, Affine())}


@cache
def fitted_to_arrays(what: str, n: int) -> Report:
    problem, models, calibrator = FITTED[what]
    columns = rows(n)
    arrays = {
        name: columns[model] if isinstance(model, str) else type(model)(columns[model.values])
        for name, model in models.items()
    }
    return evaluate(
        columns["what"],
        arrays,
        problem,
        weights=columns["w"],
        clusters=columns["customer"],
        key=columns["customer"],
        data=data_of(problem, n),
        **{**FAST, "calibrator": calibrator},
    )


def check_fits(frame: Any, engine: str, what: str, n: int) -> None:
    """What is fitted out of fold is the same in the engine and in memory."""
    problem, models, calibrator = FITTED[what]
    named = {"y_true": "what", "weights": "w", "clusters": "customer", "key": "customer"}
    asked: dict[str, Any] = {**FAST, "calibrator": calibrator, "models": models, **named}
    report = evaluate_frame(frame, problem, **asked, engine=engine)
    expected = fitted_to_arrays(what, n)
    fitted = ("recalibrated", "fold", "as is" if problem.limits else "fold")
    assert any(part in f"{each.name} {each.rule}" for each in expected.systems for part in fitted)
    assert report.assumptions.calibrator == expected.assumptions.calibrator
    told = [caveat for caveat in report.caveats if caveat.kind == "left out"]
    assert [caveat.text for caveat in told] == ([MOVED_LIMITS] if problem.limits else [])
    if problem.limits:
        assert all(system.limits for system in report.systems)
        caveats = tuple(caveat for caveat in report.caveats if caveat not in told)
        report = replace(report, caveats=caveats)
        expected = replace(expected, flips_under_limits=report.flips_under_limits)
    check_same_report(report, expected)
    check_same_maps(report, expected)


def check_prices(frame: Any, engine: str, n: int) -> None:
    """Prices of several limits, at which some score is tied between two decisions."""
    problem, models, calibrator = FITTED["two limits"]
    named = {"y_true": "what", "weights": "w", "clusters": "customer", "key": "customer"}
    asked: dict[str, Any] = {**FAST, "calibrator": calibrator, "models": models, **named}
    report = evaluate_frame(frame, problem, **asked, engine=engine)
    expected = fitted_to_arrays("two limits", n)
    prices, others = (
        {each.name: [check.price for check in each.limits] for each in some.systems}
        for some in (report, expected)
    )
    assert "forest (recalibrated)" in prices
    for name, some in prices.items():
        assert some == pytest.approx(others[name], rel=1e-9), name
    for mine, yours in zip(report.systems, expected.systems, strict=True):
        moved = np.abs(mine.counts.values - yours.counts.values).sum() / 2
        # The cases of that score, at most, or of that step of a map.
        assert moved < 0.006 * mine.counts.values.sum()


def check_same_maps(report: Report, expected: Report) -> None:
    """The maps that were fitted to all cases give new ones the same posteriors."""
    for name, rule in report.rules.fitted().items():
        if rule.map is not None:
            new = given_to(rule)
            assert rule.posteriors(new) == pytest.approx(
                expected.rules[name].posteriors(new), rel=1e-9, abs=1e-9
            )


def given_to(rule: Rule) -> Any:
    """Cases all over the line of scores."""
    return Scores(np.linspace(-20, 20, 81)) if rule.takes == "scores" else np.linspace(0, 1, 101)


def contents(report: Report) -> Any:
    """Everything that a report says, except where its rows came from."""
    data = json.loads(report.to_json())
    del data["checksum"]
    for name in ("frame_library", "engine"):
        data["assumptions"].pop(name)
    for rule in data["rules"].values():
        rule["origin"].pop("columns", None)
        rule.pop("map")  # blocks of one value may be parted otherwise, by rounding
    return data


def closed_forms(report: Report) -> dict[str, float]:
    """Numbers that are sums, ratios and areas: nothing is searched for, or drawn."""
    results: dict[str, float | None] = {
        "perfect": report.perfect_cost,
        "naive": report.naive.cost,
    }
    for system in report.systems:
        results[f"{system.name} cost"] = system.cost.value
        results[f"{system.name} normalized"] = system.normalized.value
    for model in report.models:
        results[f"{model.model} AUC"] = None if model.auc is None else model.auc.value
        results[f"{model.model} H"] = model.h
        results[f"{model.model} log loss"] = model.normalized_log_loss
        results[f"{model.model} Brier"] = model.normalized_brier
        results |= {f"{model.model} {name}": loss for name, loss in model.expected_losses}
    return {name: value for name, value in results.items() if value is not None}


def assert_close(first: Any, other: Any, where: str = "") -> None:
    assert type(first) is type(other), where
    if isinstance(first, dict):
        assert set(first) == set(other), where
        for name in first:
            assert_close(first[name], other[name], f"{where}/{name}")
    elif isinstance(first, list):
        assert len(first) == len(other), where
        for place, pair in enumerate(zip(first, other, strict=True)):
            assert_close(*pair, f"{where}[{place}]")
    elif isinstance(first, float):
        close = 1e-5 if "clear" in where else 1e-9  # the search for a clear flip stops at 1e-6
        assert first == pytest.approx(other, rel=close, abs=close, nan_ok=True), where
    else:
        assert first == other, where


def check_same_report(actual: Report, expected: Report) -> None:
    """Counts bit for bit, closed forms to 1e-12, and all that is fitted or searched to 1e-9."""
    assert [system.name for system in actual.systems] == [
        system.name for system in expected.systems
    ]
    for mine, yours in zip(actual.systems, expected.systems, strict=True):
        assert mine.counts == yours.counts, mine.name
    sums, others = closed_forms(actual), closed_forms(expected)
    assert sums == pytest.approx(others, rel=1e-12, abs=1e-12)
    assert_close(contents(actual), contents(expected))


def check_engine(
    frame: Any,
    engine: str,
    n: int,
    problem: Problem = PROBLEM,
    calibrator: Calibrator | None = None,
) -> Report:
    """The report of a frame that its engine tallied."""
    options = {**NAMED, **FAST, "calibrator": calibrator, "engine": engine}
    options |= {} if calibrator is None else {"key": "customer"}
    report = evaluate_frame(frame, problem, **options)
    assert report.assumptions.engine == engine
    assert (f"tallied by {engine}" in report.to_text()) is (engine != "numpy")
    assert [caveat for caveat in report.caveats if caveat.kind == "left out"] == []
    expected = of_arrays(n, problem, calibrator)
    check_same_report(report, expected)
    check_same_maps(report, expected)
    return report


def check_bins(frame: Any, n: int) -> None:
    """Bins say for certain between which numbers the area of single scores lies."""
    columns = rows(n)
    scores = ScoreTable.from_scores(
        columns["what"], columns["fine"], weights=columns["w"], positive="fraud"
    )
    named = {"y_true": "what", "scores": "fine", "weights": "w", "positive": "fraud"}
    bins = Bins.from_frame(frame, **named, grid=BitGrid(probabilities=True), memory_limit=0)
    assert bins.mean.size < n / 5  # no score occurs twice
    sure = certified(auc, bins)
    assert 0 < sure.high - sure.low < 1e-3
    assert sure.low <= float(auc(scores)) <= sure.high
    assert bins.auc_error == pytest.approx((sure.high - sure.low) / 2, rel=1e-6)


# Three classes -----------------------------------------------------------------------------------

THREE = Problem(
    [[0, 4, 9], [6, 0, 3], [30, 5, 0]], classes=["a", "b", "c"], decisions=["x", "y", "z"]
)
SCALINGS: dict[str, Any] = {
    "affine": Affine(),
    "vector": VectorScaling(),
    "temperature, with a prior": Temperature(),
    "full": FullAffine(),
    "select": Select(),
    "select, with a prior": Select([Temperature(), VectorScaling()]),
}


def check_many_classes(n: int, calibrator: Calibrator, n_classes: int) -> None:
    """The same of many classes, by one parameter or by one for each of them."""
    rng = np.random.default_rng([n, n_classes])
    logits = rng.normal(0, 1.5, (n, n_classes))
    chances = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    truth = (rng.random(n)[:, None] > chances.cumsum(axis=1)).sum(axis=1)
    sure = chances**2 / (chances**2).sum(axis=1, keepdims=True)
    problem = Problem(np.abs(np.subtract.outer(np.arange(n_classes), [0, 4, 7])))
    asked: dict[str, Any] = {**FAST, "calibrator": calibrator}
    y = np.minimum(truth, n_classes - 1)
    expected = evaluate(y, sure, problem, key=np.arange(n), **asked)
    import polars as pl

    names = [f"p_{k}" for k in range(n_classes)]
    frame = pl.LazyFrame({"y": y, "k": np.arange(n)} | dict(zip(names, sure.T, strict=True)))
    asked |= {"y_true": "y", "models": {"model": names}, "key": "k", "engine": "polars"}
    actual = evaluate_frame(frame, problem, **asked)
    assert "model (recalibrated)" in {system.name for system in actual.systems}
    check_same_report(actual, expected)
    new = Posteriors(sure[:200], classes=problem.classes)
    maps = [report.rules["model (recalibrated)"].posteriors(new) for report in (actual, expected)]
    assert maps[0] == pytest.approx(maps[1], rel=1e-9, abs=1e-9)


@cache
def three_classes(n: int) -> dict[str, Any]:
    """Overconfident posteriors of three classes; some are zero."""
    rng = np.random.default_rng([n, 3])
    logits = rng.normal([0.5, 0.0, -1.0], 1.5, (n, 3))
    chances = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    truth = (rng.random(n)[:, None] > chances.cumsum(axis=1)).sum(axis=1)
    sure = chances ** [2.0, 1.6, 2.4]
    sure[: n // 50, 2] = 0.0
    sure /= sure.sum(axis=1, keepdims=True)
    return {
        "y": np.array(["a", "b", "c"])[np.minimum(truth, 2)].tolist(),
        **{f"p_{k}": sure[:, k] for k in range(3)},
        "w": rng.integers(0, 16, n) / 4,
        "k": np.arange(n),
    }


def check_three_classes(frame: Any, engine: str, what: str, n: int) -> None:
    """Newton steps on sums in the engine find the maps that fits to the rows find."""
    columns, problem = three_classes(n), THREE
    if "prior" in what:
        problem = THREE.with_prior([0.3, 0.3, 0.4])
    rows_of = np.column_stack([columns[f"p_{k}"] for k in range(3)])
    asked: dict[str, Any] = {**FAST, "calibrator": SCALINGS[what]}
    expected = evaluate(
        columns["y"], rows_of, problem, weights=columns["w"], key=columns["k"], **asked
    )
    models = {"model": [f"p_{k}" for k in range(3)]}
    asked |= {"y_true": "y", "models": models, "weights": "w", "key": "k"}
    actual = evaluate_frame(frame, problem, **asked, engine=engine)
    assert actual.assumptions.calibrator == expected.assumptions.calibrator
    assert len(actual.coverage) > 5
    assert actual.models[0].class_bins is not None
    assert actual.models[0].recalibrated_bins is not None
    check_same_report(actual, expected)
    fitted, fitted_to_rows = (
        report.rules["model (recalibrated)"].map for report in (actual, expected)
    )
    assert fitted is not None
    assert fitted_to_rows is not None
    assert fitted.kind == fitted_to_rows.kind
    new = Posteriors(np.vstack([rows_of[:200], np.eye(3)]), classes=problem.classes)
    assert fitted(new) == pytest.approx(fitted_to_rows(new), rel=1e-9, abs=1e-9)
