"""Floats that are 0.0 and 1.0 alone: certain probabilities, or decisions in disguise."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from stakes import Decisions, Posteriors, Problem, Report, evaluate, evaluate_frame

PROBLEM = Problem({"ok": {"pass": 0, "stop": 1}, "fraud": {"pass": 9, "stop": 0}})
Y = ["ok", "ok", "ok", "fraud"] * 25
CERTAIN = [0.0, 1.0, 0.0, 1.0] * 25
QUICK: dict[str, Any] = {"calibrator": None, "replicates": 20}


def texts(report: Report) -> list[str]:
    return [caveat.text for caveat in report.caveats if caveat.kind == "certain posteriors"]


def test_what_was_assumed_is_said():
    [text] = texts(evaluate(Y, CERTAIN, PROBLEM, **QUICK))
    assert "were read as probabilities that are certain" in text
    assert "Decisions(labels), each one of pass, stop" in text
    table = np.column_stack([1 - np.array(CERTAIN), CERTAIN])
    assert texts(evaluate(Y, table, PROBLEM, **QUICK)) == [text]


def test_a_single_doubt_is_enough_for_silence():
    assert texts(evaluate(Y, [0.999999, *CERTAIN[1:]], PROBLEM, **QUICK)) == []
    decided = ["stop" if p else "pass" for p in CERTAIN]
    assert texts(evaluate(Y, Decisions(decided), PROBLEM, **QUICK)) == []


@pytest.mark.parametrize("size", [2, 3])
@pytest.mark.parametrize("doubt", [0.0, 0.25])
def test_engines_say_the_same(size, doubt):
    pl = pytest.importorskip("polars")
    rng = np.random.default_rng(1)
    truth = rng.integers(0, size, 200)
    rows = np.eye(size)[np.where(rng.random(200) < 0.8, truth, rng.integers(0, size, 200))]
    rows[7] = (1 - doubt) * rows[7] + doubt * np.roll(rows[7], 1)
    frame = pl.DataFrame({"y": truth, **{f"c{k}": rows[:, k] for k in range(size)}})
    models = {"m": Posteriors(tuple(f"c{k}" for k in range(size)))}
    for engine in (None, "duckdb", "polars"):
        call: dict[str, Any] = {"y_true": "y", "models": models, "engine": engine}
        report = evaluate_frame(frame, Problem.zero_one(size), calibrator=None, **call)
        assert len(texts(report)) == (doubt == 0)
