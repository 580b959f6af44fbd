"""Columns of the costs have to be known when a decision is made."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from stakes import Decisions, Problem, evaluate, evaluate_frame
from stakes._check import FloatArray, IntArray

PROBLEM = Problem(
    {
        "honest": {"approve": 0, "block": "5 + 0.01 * amount"},
        "fraud": {"approve": "amount + fees", "block": 0},
    }
)
QUICK: dict[str, Any] = {"calibrator": None, "replicates": 20}


def payments(
    n_cases: int = 500, seed: int = 0, known: bool = True
) -> tuple[IntArray, FloatArray, dict[str, FloatArray]]:
    """Truth, a fair score, and the columns; fees that are known too late tell the class."""
    rng = np.random.default_rng(seed)
    truth = (rng.random(n_cases) < 0.2).astype(int)
    score = 1 / (1 + np.exp(-rng.normal(-1.5 + 1.5 * truth, 1.0)))
    fees = rng.exponential(3.0, n_cases) + (0 if known else 20 * truth)
    return truth, score, {"amount": rng.exponential(50.0, n_cases), "fees": fees}


def named(truth: IntArray) -> list[str]:
    return [PROBLEM.classes[k] for k in truth]


def test_the_report_says_which_columns_decisions_use():
    pytest.importorskip("jinja2")
    truth, score, columns = payments()
    report = evaluate(named(truth), score, PROBLEM, data=columns, **QUICK)
    line = "Decisions use: columns amount, fees of the costs, which must be known when a decision"
    for medium in (str(report), report.to_markdown(), report.to_html()):
        assert " ".join(line.split()).removeprefix("Decisions use: ") in " ".join(medium.split())
    assert not [caveat for caveat in report.caveats if caveat.kind == "column known too late"]
    plain = evaluate(named(truth), score, Problem.zero_one(PROBLEM.classes), **QUICK)
    assert "must be known when" not in str(plain)


def test_a_column_that_predicts_better_than_every_model_is_a_caveat():
    truth, score, columns = payments(known=False)
    report = evaluate(named(truth), score, PROBLEM, data=columns, **QUICK)
    [caveat] = [caveat for caveat in report.caveats if caveat.kind == "column known too late"]
    assert caveat.text.startswith("The column fees of the costs predicts fraud better than any")
    pairs = np.subtract.outer(columns["fees"][truth == 1], columns["fees"][truth == 0])
    assert f"alone its AUC is {np.mean(pairs > 0):.3g}" in caveat.text.replace("1.000", "1")
    decided = evaluate(named(truth), Decisions(["approve"] * 500), PROBLEM, data=columns)
    assert "column known too late" not in {caveat.kind for caveat in decided.caveats}


def test_a_gap_that_chance_may_make_is_no_caveat():
    """In 12 samples a column is as good as the model; no caveat in any."""
    for seed in range(12):
        truth, _, columns = payments(120, seed)
        rng = np.random.default_rng([seed, 1])
        score = 1 / (1 + np.exp(-rng.normal(truth, 1.0)))
        columns["fees"] = np.exp(rng.normal(truth, 1.0))
        report = evaluate(named(truth), score, PROBLEM, data=columns, **QUICK)
        assert "column known too late" not in {caveat.kind for caveat in report.caveats}


def test_of_three_classes_each_is_compared_with_the_rest():
    rng = np.random.default_rng(3)
    truth = rng.integers(0, 3, 400)
    scores = 0.8 * np.eye(3)[truth] + rng.normal(size=(400, 3))
    rows = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    problem = Problem(
        {k: {d: ("loss" if d != k else 0) for d in ("a", "b", "c")} for k in ("a", "b", "c")}
    )
    labels = [problem.classes[k] for k in truth]
    late = {"loss": np.where(truth == 1, 3.0, 1.0) + rng.random(400)}
    report = evaluate(labels, rows, problem, data=late, **QUICK)
    [caveat] = [caveat for caveat in report.caveats if caveat.kind == "column known too late"]
    assert "loss of the costs predicts b better" in caveat.text
    known = {"loss": 1.0 + rng.random(400)}
    silent = evaluate(labels, rows, problem, data=known, **QUICK)
    assert "column known too late" not in {caveat.kind for caveat in silent.caveats}


@pytest.mark.parametrize("engine", ["duckdb", "polars"])
def test_engines_say_the_same(engine):
    pl = pytest.importorskip("polars")
    truth, score, columns = payments(known=False)
    frame = pl.DataFrame({"y": named(truth), "p": score, **columns})
    call: dict[str, Any] = {"y_true": "y", "models": {"m": "p"}, "calibrator": None}
    texts = {
        caveat.text
        for which in (None, engine)
        for caveat in evaluate_frame(frame, PROBLEM, engine=which, **call).caveats
        if caveat.kind == "column known too late"
    }
    assert len(texts) == 1
