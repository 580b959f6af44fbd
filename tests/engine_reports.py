"""One report of the same rows from everywhere: what its tests share."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import numpy as np
import pytest

from stakes import (
    Decisions,
    Posteriors,
    Problem,
    Report,
    Rule,
    Scores,
    evaluate,
    evaluate_frame,
)
from stakes.calibration import (
    Affine,
    Isotonic,
    Logistic,
    Select,
    Temperature,
    VectorScaling,
)

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
        "w": rng.integers(0, 40, n) / 8,
        "segment": np.array(["north", "east", "south", "west"])[rng.integers(0, 4, n)].tolist(),
        "customer": rng.integers(0, 60, n),
        "amount": np.random.default_rng([n, 1]).integers(1, 60, n).astype(float),
        "fee": np.random.default_rng([n, 2]).integers(0, 3, n),
    }


def data_of(problem: Problem, n: int) -> Any:
    """The columns that the costs need."""
    return {one: rows(n)[one] for one in problem.columns} or None


@cache
def of_arrays(n: int, problem: Problem = PROBLEM) -> Report:
    given = rows(n)
    models = {
        "forest": given["p_forest"],
        "both": Posteriors(np.column_stack([given["p_legit"], given["p_fraud"]])),
        "old": Decisions(given["old"]),
    }
    extra = {"weights": given["w"], "by": {"segment": given["segment"]}}
    extra |= {"clusters": given["customer"], "data": data_of(problem, n)}
    return evaluate(given["what"], models, problem, **extra, **FAST)


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


@cache
def fitted_to_arrays(what: str, n: int) -> Report:
    problem, models, calibrator = FITS[what]
    given = rows(n)
    arrays = {
        name: given[one] if isinstance(one, str) else Scores(given[one.values])
        for name, one in models.items()
    }
    return evaluate(
        given["what"],
        arrays,
        problem,
        weights=given["w"],
        clusters=given["customer"],
        key=given["customer"],
        data=data_of(problem, n),
        **{**FAST, "calibrator": calibrator},
    )


def check_fits(frame: Any, engine: str, what: str, n: int) -> None:
    """What is fitted out of fold is the same in the engine and in memory."""
    problem, models, calibrator = FITS[what]
    named = {"y_true": "what", "weights": "w", "clusters": "customer", "key": "customer"}
    asked: dict[str, Any] = {**FAST, "calibrator": calibrator, "models": models, **named}
    found = evaluate_frame(frame, problem, **asked, engine=engine)
    expected = fitted_to_arrays(what, n)
    assert any(("recalibrated" in one.name) or ("fold" in one.rule) for one in expected.systems)
    assert found.assumptions.calibrator == expected.assumptions.calibrator
    assert [one for one in found.caveats if one.kind == "left out"] == []
    check_same_report(found, expected)
    for name, rule in found.rules.fitted().items():
        if rule.map is not None:
            new = given_to(rule)
            assert rule.posteriors(new) == pytest.approx(
                expected.rules[name].posteriors(new), rel=1e-9, abs=1e-9
            )


def given_to(rule: Rule) -> Any:
    """Cases all over the line of scores."""
    return Scores(np.linspace(-20, 20, 81)) if rule.takes == "scores" else np.linspace(0, 1, 101)


def contents(report: Report) -> Any:
    """All that a report says, but for where its rows came from."""
    found = json.loads(report.to_json())
    found.pop("joint")  # which needs rows
    for name in ("frame_library", "engine"):
        found["assumptions"].pop(name)
    for rule in found["rules"].values():
        rule["origin"].pop("columns", None)
        rule.pop("map")  # blocks of one value may be parted otherwise, by rounding
    return found


def closed_forms(report: Report) -> dict[str, float]:
    """Numbers that are sums, ratios and areas: nothing is searched for, or drawn."""
    found: dict[str, float | None] = {
        "perfect": report.perfect_cost,
        "naive": report.naive.cost,
    }
    for system in report.systems:
        found[f"{system.name} cost"] = system.cost.value
        found[f"{system.name} normalized"] = system.normalized.value
    for one in report.models:
        found[f"{one.model} AUC"] = None if one.auc is None else one.auc.value
        found[f"{one.model} H"] = one.h
        found[f"{one.model} log loss"] = one.normalized_log_loss
        found[f"{one.model} Brier"] = one.normalized_brier
        found |= {f"{one.model} {name}": loss for name, loss in one.expected_losses}
    return {name: value for name, value in found.items() if value is not None}


def assert_close(one: Any, other: Any, where: str = "") -> None:
    assert type(one) is type(other), where
    if isinstance(one, dict):
        assert set(one) == set(other), where
        for name in one:
            assert_close(one[name], other[name], f"{where}/{name}")
    elif isinstance(one, list):
        assert len(one) == len(other), where
        for place, pair in enumerate(zip(one, other, strict=True)):
            assert_close(*pair, f"{where}[{place}]")
    elif isinstance(one, float):
        close = 1e-5 if "clear" in where else 1e-9  # the search for a clear flip stops at 1e-6
        assert one == pytest.approx(other, rel=close, abs=close, nan_ok=True), where
    else:
        assert one == other, where


def check_same_report(found: Report, expected: Report) -> None:
    """Counts bit for bit, closed forms to 1e-12, and all that is fitted or searched to 1e-9."""
    assert [one.name for one in found.systems] == [one.name for one in expected.systems]
    for mine, yours in zip(found.systems, expected.systems, strict=True):
        assert mine.counts == yours.counts, mine.name
    sums, others = closed_forms(found), closed_forms(expected)
    assert sums == pytest.approx(others, rel=1e-12, abs=1e-12)
    assert_close(contents(found), contents(expected))


def check_engine(frame: Any, engine: str, n: int, problem: Problem = PROBLEM) -> Report:
    """The report of a frame that its engine tallied."""
    found = evaluate_frame(frame, problem, **NAMED, **FAST, engine=engine)
    assert found.assumptions.engine == engine
    assert (f"tallied by {engine}" in found.to_text()) is (engine != "numpy")
    assert [one for one in found.caveats if one.kind == "left out"] == []
    check_same_report(found, of_arrays(n, problem))
    return found


# Three classes -----------------------------------------------------------------------------------

THREE = Problem(
    [[0, 4, 9], [6, 0, 3], [30, 5, 0]], classes=["a", "b", "c"], decisions=["x", "y", "z"]
)
SCALINGS: dict[str, Any] = {
    "affine": Affine(),
    "vector": VectorScaling(),
    "temperature, with a prior": Temperature(),
}


@cache
def three_classes(n: int) -> dict[str, Any]:
    """Posteriors of three classes that are too sure of themselves; some are nought."""
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
    given, problem = three_classes(n), THREE
    if "prior" in what:
        problem = THREE.with_prior([0.3, 0.3, 0.4])
    rows_of = np.column_stack([given[f"p_{k}"] for k in range(3)])
    asked: dict[str, Any] = {**FAST, "calibrator": SCALINGS[what]}
    expected = evaluate(given["y"], rows_of, problem, weights=given["w"], key=given["k"], **asked)
    models = {"model": [f"p_{k}" for k in range(3)]}
    asked |= {"y_true": "y", "models": models, "weights": "w", "key": "k"}
    found = evaluate_frame(frame, problem, **asked, engine=engine)
    assert found.assumptions.calibrator == expected.assumptions.calibrator
    assert [one.name for one in found.systems] == [one.name for one in expected.systems]
    for mine, yours in zip(found.systems, expected.systems, strict=True):
        assert mine.counts == yours.counts, mine.name
    assert len(found.coverage) > 5
    assert_close([*map(list, found.coverage)], [*map(list, expected.coverage)], "coverage")
    fitted, own = (report.rules["model (recalibrated)"].map for report in (found, expected))
    assert fitted is not None
    assert own is not None
    assert fitted.kind == own.kind
    new = Posteriors(np.vstack([rows_of[:200], np.eye(3)]), classes=problem.classes)
    assert fitted(new) == pytest.approx(own(new), rel=1e-9, abs=1e-9)
