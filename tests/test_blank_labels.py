"""Cases without a true class: when they may be left out, in the same words at every door."""

from __future__ import annotations

import numpy as np
import pytest

from stakes import (
    Counts,
    Decisions,
    InputError,
    Posteriors,
    Problem,
    ScoreTable,
    evaluate,
    evaluate_frame,
)
from stakes._check import UNLABELLED
from stakes.metrics import expected_cost

PROBLEM = Problem({"ok": {"pass": 0, "stop": 1}, "fraud": {"pass": 9, "stop": 0}})
LATE = "come late"


def labels(gap: object) -> list[object]:
    return [gap if k == 3 else "fraud" if k % 5 == 0 else "ok" for k in range(40)]


SCORES = [0.8 if k % 5 == 0 else 0.1 for k in range(40)]


@pytest.mark.parametrize("gap", [None, "", "  ", float("nan")])
def test_a_missing_label_in_an_array_says_when_leaving_out_is_right(gap):
    calls = [
        lambda: evaluate(labels(gap), SCORES, PROBLEM),
        lambda: expected_cost(labels(gap), Posteriors(SCORES), problem=PROBLEM),
        lambda: Counts.from_decisions(labels(gap), ["pass"] * 40, PROBLEM),
    ]
    for call in calls:
        with pytest.raises(InputError, match="nothing to do with the class") as error:
            call()
        assert str(error.value).endswith(UNLABELLED)
        assert str(error.value).count(LATE) == 1


def test_scores_without_a_label_say_so_too():
    with pytest.raises(InputError, match=LATE):
        ScoreTable.from_scores(labels(None), SCORES, positive="fraud")


def test_other_columns_keep_their_own_remedy():
    """Decisions that are missing were not taken: no class hides behind them."""
    decided: list[str | None] = ["pass"] * 39 + [None]
    with pytest.raises(InputError, match="Remove these cases first") as error:
        evaluate(["ok", "fraud"] * 20, Decisions(decided), PROBLEM)
    assert LATE not in str(error.value)


@pytest.mark.parametrize("gap", [None, " "])
@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_a_missing_label_in_a_frame_says_the_same(library, gap):
    module = pytest.importorskip(library)
    columns = {"label": labels(gap), "p": SCORES}
    frame = module.table(columns) if library == "pyarrow" else module.DataFrame(columns)
    for engine in (None, "duckdb"):
        with pytest.raises(InputError, match=LATE):
            evaluate_frame(frame, PROBLEM, y_true="label", models={"m": "p"}, engine=engine)


@pytest.mark.parametrize("engine", [None, "duckdb"])
@pytest.mark.parametrize("gap", ["", '""', "   "])
def test_a_missing_label_in_a_file_says_the_same(tmp_path, gap, engine):
    pytest.importorskip("narwhals")
    pytest.importorskip("duckdb")
    path = tmp_path / "cases.csv"
    rows = [f"{label},{score}" for label, score in zip(labels(gap), SCORES, strict=True)]
    path.write_text("\n".join(["label,p", *rows]), encoding="utf-8")
    with pytest.raises(InputError, match=LATE):
        evaluate_frame(path, PROBLEM, y_true="label", models={"m": "p"}, engine=engine)


def test_the_command_line_says_the_same(tmp_path):
    testing = pytest.importorskip("click.testing")
    from stakes.cli.commands import stakes as command

    rows = [f"{label},{score}" for label, score in zip(labels(""), SCORES, strict=True)]
    (tmp_path / "cases.csv").write_text("\n".join(["label,p", *rows]), encoding="utf-8")
    PROBLEM.to_toml(tmp_path / "p.toml")
    call = ["evaluate", str(tmp_path / "cases.csv"), "--problem", str(tmp_path / "p.toml")]
    result = testing.CliRunner().invoke(command, call)
    assert result.exit_code == 2
    assert LATE in " ".join(result.output.split())


def test_estimators_say_the_same():
    pytest.importorskip("sklearn")
    from sklearn.linear_model import LogisticRegression

    from stakes.sklearn import BayesDecisionClassifier

    X = np.array(SCORES)[:, None]
    with pytest.raises(InputError, match=LATE):
        BayesDecisionClassifier(LogisticRegression(), PROBLEM).fit(X, labels(None))
