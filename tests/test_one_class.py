"""One class and several decisions: nothing to tell apart, but something to decide."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from stakes import (
    Decisions,
    InputError,
    Posteriors,
    Problem,
    Report,
    Rule,
    Scores,
    bayes_decisions,
    evaluate,
)

N = 40
RNG = np.random.default_rng(0)
SAME = Problem([[1, 2, 3]], classes=["a"], decisions=["x", "y", "z"], unit="EUR")
CHARGED = Problem([["c", 2, 3]], classes=["a"], decisions=["x", "y", "z"])
EQUAL = Problem([[2, 2, 2]], classes=["a"], decisions=["x", "y", "z"])
LABELS = ["a"] * N
CALLED = RNG.choice(["x", "y", "z"], N).tolist()
COLUMN = RNG.integers(0, 5, N).astype(float)
MODELS: dict[str, Any] = {
    "rows": np.ones((N, 1)),
    "line": np.ones(N),
    "single": np.ones(N, dtype=np.float32),
    "old": Decisions(CALLED),
}
KINDS: dict[str, tuple[Problem, dict[str, Any]]] = {
    "same": (SAME, {}),
    "equal": (EQUAL, {}),
    "columns": (CHARGED, {"data": {"c": COLUMN}}),
    "each": (SAME, {"case_costs": RNG.random((N, 1, 3))}),
    "more": (SAME, {"clusters": np.arange(N) // 4, "weights": RNG.random(N), "volume": 100}),
}


def report_of(kind: str, **more: Any) -> Report:
    problem, options = KINDS[kind]
    return evaluate(LABELS, MODELS, problem, replicates=5, **options, **more)


@pytest.mark.parametrize("kind", KINDS)
def test_every_form_of_the_report_can_be_made(kind):
    pytest.importorskip("jinja2", reason="the page")
    report = report_of(kind, baseline="old", by=CALLED)
    assert Report.from_json(report.to_json()) == report
    for text in (report.to_text(), report.to_markdown(), report.to_html(), str(report.verdict)):
        assert text
    assert not any("calibrat" in caveat.text for caveat in report.caveats)


def test_the_cost_is_that_of_the_cheapest_decision_about_each_case():
    assert report_of("same").system("rows (as is)").cost.value == 1
    each = report_of("columns")
    for name in ("rows", "line", "single"):
        expected = np.minimum(COLUMN, 2).mean()
        assert each.system(f"{name} (as is)").cost.value == pytest.approx(expected)
    charged = np.select([np.array(CALLED) == "x", np.array(CALLED) == "y"], [COLUMN, 2.0], 3.0)
    assert each.system("old (as decided)").cost.value == pytest.approx(charged.mean())


def test_rules_and_bayes_decisions_take_posteriors_of_one_class():
    rule = report_of("same").rule("rows (as is)")
    assert Rule.of(rule.plain()) == rule
    for rows in (np.ones(2), np.ones((2, 1)), Posteriors(np.ones((2, 1)), classes=["a"])):
        assert rule.decide(rows).tolist() == ["x", "x"]
        assert bayes_decisions(rows, SAME).tolist() == ["x", "x"]
    assert Rule(CHARGED).decide(np.ones(3), data={"c": [1, 2.5, 9]}).tolist() == ["x", "y", "y"]
    with pytest.raises(InputError, match=r"SQL needs .* has 1 class\. Use"):
        rule.to_sql("p")


def test_the_prior_of_the_only_class_does_not_move():
    report = report_of("same")
    for decisions in ("kept", "remade"):
        flips = report.flips(decisions)
        assert [flip.what.partition(" ")[0] for flip in flips] == ["cost"] * 3
    (miss,) = (flip for flip in report.flips("kept") if flip.what == "cost of y for a")
    assert miss.low == pytest.approx(1, abs=0.01)  # below that, y is cheaper than x


def test_what_is_no_certainty_and_what_is_no_probability_is_refused():
    with pytest.raises(InputError, match=r"models\['model'\] must sum to one in every row; 1 of 2"):
        evaluate(["a", "a"], [1.0, 0.5], SAME)
    with pytest.raises(InputError, match="raw scores are for two classes, the problem has 1"):
        evaluate(["a", "a"], Scores([1.0, 0.5]), SAME)


@pytest.mark.parametrize("problem", [SAME, CHARGED], ids=["same", "columns"])
@pytest.mark.parametrize("engine", ["numpy", "duckdb", "pandas", "polars"])
def test_every_engine_makes_the_same_report(engine, problem):
    for library in ("narwhals", "duckdb", "pandas", "polars"):
        pytest.importorskip(library)
    import pandas as pd
    import polars as pl

    from stakes import evaluate_frame

    columns = {"label": LABELS, "p": np.ones(N), "old": CALLED, "c": COLUMN, "key": np.arange(N)}
    frame = (pd.DataFrame if engine == "pandas" else pl.DataFrame)(columns)
    models = {"line": Posteriors(["p"]), "old": Decisions("old")}
    report = evaluate_frame(
        frame, problem, y_true="label", models=models, engine=engine, key="key", replicates=5
    )
    expected = report_of("columns" if problem.columns else "same")
    for name in ("line (as is)", "old (as decided)"):
        ours, theirs = report.system(name), expected.system(name)
        assert ours.counts == theirs.counts
        assert ours.cost.value == pytest.approx(theirs.cost.value)
    assert Report.from_json(report.to_json()) == report
    assert not any("calibrat" in caveat.text for caveat in report.caveats)
    decided = report.rule("line (as is)").decide(frame, columns="p")
    if not problem.columns:
        assert list(decided["decision"]) == ["x"] * N
