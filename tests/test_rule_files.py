"""Rules beyond Python: as SQL, and on files through the command line."""

from __future__ import annotations

import json
import math
import sqlite3
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("click")
pytest.importorskip("duckdb")
pytest.importorskip("pyarrow")
pytest.importorskip("polars")

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.parquet
from click.testing import CliRunner, Result

from stakes import InputError, Problem, Report, Rule, Scores, bayes_decisions, evaluate_frame
from stakes.calibration import (
    Affine,
    BetaMap,
    Calibrator,
    FullAffine,
    Histogram,
    Isotonic,
    Logistic,
    OneVsRestIsotonic,
    Temperature,
    VectorScaling,
)
from stakes.cli.commands import stakes as command
from stakes.cli.output import write_rule
from stakes.scoring import EqualMass

inf = math.inf

FRAUD = Problem(
    [[0, 3, 25], [180, 8, 0]],
    classes=["legit", "fraud"],
    decisions=["approve", "re'view", "block"],
    unit="EUR",
)
BINARY = Problem.binary(false_alarm=0.1, miss=0.2)  # whole numbers as labels; costs that round
PAYMENTS = Problem(
    {
        "legit": {"approve": 0, "review": 3, "block": "5 + 0.02*amount"},
        "fraud": {"approve": "amount", "review": 8, "block": 0},
    },
    unit="EUR",
)
PRIORS: dict[str, Any] = {"from_prior": [0.7, 0.3], "to_prior": [0.95, 0.05]}


def cases(n_cases: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(5)
    y = (rng.random(n_cases) < 0.3).astype(int)
    log_odds = rng.normal(np.where(y == 1, 1.0, -1.0), 2**0.5) - 0.8
    return y, 1 / (1 + np.exp(-2 * log_odds))


Y, P = cases(2_000)


# SQL ---------------------------------------------------------------------------------------------


def mapped(calibrator: Calibrator, problem: Problem, scores: Any = P, y: Any = Y) -> Rule:
    fitted = calibrator.fit(scores, y, classes=range(2)).relabelled(problem.classes)
    return Rule(problem, "posteriors" if scores is P else "scores", map=fitted)


RULES: dict[str, Rule] = {
    "as is": Rule(FRAUD),
    "as is, two decisions": Rule(BINARY),
    "as is, the first decision is the positive one": Rule(Problem([[0.3, 0], [0, 0.6]])),
    "moved": Rule(FRAUD, **PRIORS),
    "tuned": Rule(BINARY, threshold=float(P[7])),
    "always": Rule(BINARY, "scores", threshold=-inf),
    "affine": mapped(Affine(), FRAUD),
    "falling": mapped(Affine(), FRAUD, P, 1 - Y),
    "beta": mapped(BetaMap(), FRAUD),
    "isotonic": mapped(Isotonic(), FRAUD),
    "isotonic scores": mapped(Isotonic(), FRAUD, P * 1e-3 - 7, Y),
    "logistic": mapped(Logistic(), FRAUD, np.log(P) - np.log1p(-P)),
}


def neighbours(cut: float, count: int = 50) -> list[float]:
    """A cut and the next floating numbers on either side."""
    numbers = [cut]
    for way in (-inf, inf):
        here = cut
        for _ in range(count):
            here = float(np.nextafter(here, way))
            numbers.append(here)
    return numbers


def scores_of(rule: Rule, n_scores: int) -> Any:
    """Scores that a rule takes, with edges, ties and the nearest numbers of every cut."""
    rng, cuts = np.random.default_rng(0), rule.cuts
    assert cuts is not None
    near = [number for cut in cuts.at.tolist() for number in neighbours(cut)]
    if rule.takes == "posteriors":
        wide = np.concatenate([rng.random(n_scores), [0.0, -0.0, 1.0, 5e-324, 1 - 2**-53], near])
        return np.clip(wide, 0.0, 1.0)
    edges = [-inf, inf, 0.0, -0.0, 5e-324, np.finfo(float).max, np.finfo(float).min]
    return np.concatenate([rng.normal(scale=3, size=n_scores), edges, near])


@pytest.mark.parametrize("n_scores", [20_000, pytest.param(1_000_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", RULES)
def test_sql_decides_every_number_as_python_does(name, n_scores):
    rule = RULES[name]
    scores = scores_of(rule, n_scores)
    table = pa.table({'a "score"': scores})
    query = f"SELECT {rule.to_sql(chr(97) + ' ' + chr(34) + 'score' + chr(34))} AS decided FROM t"
    with duckdb.connect() as connection:
        connection.register("t", table)
        decided = connection.sql(query).fetchnumpy()["decided"]
    assert (np.asarray(decided) == rule.decide(scores)).all()


@pytest.mark.parametrize("name", RULES)
def test_cuts_are_where_the_cheapest_decision_changes(name):
    """Away from the next few numbers of a cut, within which rounding alone decides."""
    rule = RULES[name]
    assert rule.cuts is not None
    scores = scores_of(rule, 5_000)
    scores = scores[np.isfinite(scores)]
    at = rule.cuts.at[np.isfinite(rule.cuts.at)]
    rounding = 64 * np.spacing(np.abs(at))
    scores = scores[(np.abs(scores[:, None] - at) > rounding).all(axis=1)]
    assert scores.size > 1_000
    if rule.threshold is not None:
        expected = np.array(rule.problem.decisions)[(scores > rule.threshold).astype(int)]
    elif rule.map is not None:
        expected = bayes_decisions(rule.map(scores), rule.problem)
    else:
        both = np.column_stack([1 - scores, scores])
        ratio: Any = 1.0
        if rule.from_prior is not None and rule.to_prior is not None:
            ratio = rule.to_prior / rule.from_prior
        places = (both * ratio @ rule.problem.costs).argmin(axis=1)
        expected = np.array(rule.problem.decisions)[places]
    assert (rule.decide(scores) == expected).all()


def test_a_tie_at_the_threshold_goes_to_the_first_decision_in_sql_too():
    rule = Rule(Problem.binary(false_alarm=1, miss=9))
    with duckdb.connect() as connection:
        asked = f"SELECT {rule.to_sql('p')} FROM (SELECT 0.1::DOUBLE AS p)"
        assert connection.sql(asked).fetchall() == [(0,)]
    assert rule.decide([0.1]).tolist() == [0]


def test_what_python_refuses_is_null_in_sql():
    values = [None, math.nan, -1e-9, 1.0000001, inf, -inf, 0.5]
    with duckdb.connect() as connection:
        connection.register("t", pa.table({"p": pa.array(values, pa.float64())}))
        unit = connection.sql(f"SELECT {Rule(BINARY).to_sql('p')} FROM t").fetchall()
        real = connection.sql(f"SELECT {RULES['always'].to_sql('p')} FROM t").fetchall()
    assert [value for (value,) in unit] == [None] * 6 + [1]
    assert [value for (value,) in real] == [None, None, 1, 1, 1, 1, 1]


@pytest.mark.parametrize("name", RULES)
def test_sqlite_decides_every_number_as_python_does(name):
    """It has no NaN, stores infinities, and reads CAST('Infinity' AS DOUBLE) as zero."""
    rule, scores = RULES[name], scores_of(RULES[name], 500)
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE t (p DOUBLE)")
    connection.executemany("INSERT INTO t VALUES (?)", [(float(score),) for score in scores])
    decided = [label for (label,) in connection.execute(f"SELECT {rule.to_sql('p')} FROM t")]
    connection.close()
    assert decided == rule.decide(scores).tolist()


def test_decisions_that_no_column_holds_are_refused_in_every_library():
    for decisions in ([1, "x"], [0, True], [2**70, 1]):
        rule = Rule(Problem([[0, 1], [1, 0]], decisions=decisions))
        for predictions in (pa.array([0.1, 0.9]), pl.Series([0.1, 0.9])):
            with pytest.raises(InputError, match=r"must be of one type to stand in a column, numb"):
                rule.decide(predictions)


MANY = {"temperature": Temperature(), "vector": VectorScaling(), "one vs rest": OneVsRestIsotonic()}


@pytest.mark.parametrize("calibrator", [*MANY.values(), FullAffine()], ids=repr)
def test_maps_of_many_classes_are_lines_for_two_of_them(calibrator):
    rows = np.column_stack([1 - P, P])
    rule = Rule(FRAUD, map=calibrator.fit(rows, Y).relabelled(FRAUD.classes))
    scores = np.linspace(0.001, 0.999, 997)
    assert rule.cuts is not None
    assert rule.map is not None
    assert (rule.decide(scores) == bayes_decisions(rule.map(scores), FRAUD)).all()


def test_maps_that_turn_many_classes_and_mixed_labels_have_no_sql():
    histogram = mapped(Histogram(EqualMass(5)), FRAUD)
    assert histogram.map is not None
    assert histogram.decide(P).tolist() == bayes_decisions(histogram.map(P), FRAUD).tolist()
    with pytest.raises(InputError, match="has a map of the kind histogram"):
        histogram.to_sql("p")
    with pytest.raises(InputError, match="has 3 classes"):
        Rule(Problem.zero_one(3)).to_sql("p")
    with pytest.raises(InputError, match="must be of one type"):
        Rule(Problem([[0, 1], [1, 0]], decisions=["no", 1])).to_sql("p")


# The chain: predictions, report, rule, decided file ----------------------------------------------


@pytest.fixture(autouse=True)
def _inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    FRAUD.to_toml("fraud.toml")
    PAYMENTS.to_toml("payments.toml")
    fair = np.sqrt(P) / (np.sqrt(P) + np.sqrt(1 - P))
    table = {
        "label": np.array(FRAUD.classes)[Y],
        "p_new": P,
        "p_fair": fair,
        "amount": amounts(Y.size),
    }
    pyarrow.parquet.write_table(pa.table(table), "old.parquet")
    fresh = cases(3_000)[1][2_000:]
    single = pa.array(np.round(fresh, 2).astype(np.float32))
    columns = {"id": range(fresh.size), "p_new": fresh, "p_single": single, "s": 9 * fresh - 5}
    new = pa.table({**columns, "amount": amounts(fresh.size)})
    pyarrow.parquet.write_table(new, "new.parquet")


def amounts(n_cases: int) -> Any:
    return np.random.default_rng(n_cases).lognormal(4, 1, n_cases).round(2)


def run(*arguments: str) -> Result:
    return CliRunner().invoke(command, arguments)


def written(name: str) -> Any:
    return pyarrow.parquet.read_table(name)


@pytest.mark.parametrize(("problem", "stakes"), [(FRAUD, "fraud"), (PAYMENTS, "payments")])
def test_from_predictions_to_a_decided_file_in_python_and_on_the_command_line(problem, stakes):
    new = written("new.parquet")
    report = evaluate_frame("old.parquet", problem, y_true="label", models={"new": "p_new"})
    rule = report.rule()
    rule.to_json("rule.json")
    decided = Rule.from_json("rule.json").decide(new["p_new"], new)
    assert len(set(decided.to_pylist())) == 3, "the chain decides something"

    evaluated = run(
        *("evaluate", "old.parquet", "-p", f"{stakes}.toml", "--truth", "label"),
        *("--model", "new=p_new", "--json", "report.json", "--rule-out", "by_command.json"),
    )
    assert evaluated.exit_code == 0, evaluated.stderr
    assert f"stakes: wrote by_command.json: the rule of {rule.system}" in evaluated.stderr
    assert Path("by_command.json").read_text() == Path("rule.json").read_text()
    assert Report.from_json(Path("report.json")).rule() == rule
    done = run("decide", "new.parquet", "--rule", "by_command.json", "--out", "decided.parquet")
    assert done.exit_code == 0, done.stderr
    doubt = "" if rule.caution is None else f", by a rule {rule.caution}"
    assert done.stderr == (
        f"stakes: wrote decided.parquet: 1,000 rows with the column decision{doubt}\n"
    )
    assert written("decided.parquet")["decision"].to_pylist() == decided.to_pylist()
    assert written("decided.parquet").drop_columns("decision").equals(new)


def test_a_rule_that_is_written_as_sql_decides_as_the_command_does():
    asked = ("old.parquet", "-p", "fraud.toml", "--truth", "label", "--model", "new=p_new")
    for name in ("rule.json", "rule.SQL"):
        done = run("evaluate", *asked, "--calibrate", "affine", "--rule-out", name)
        assert done.exit_code == 0, done.stderr
    done = run("decide", "new.parquet", "--rule", "rule.json", "--out", "decided.parquet")
    assert done.exit_code == 0, done.stderr
    expression = Path("rule.SQL").read_text()
    in_sql = duckdb.execute(f"SELECT {expression} AS decision FROM 'new.parquet'").fetchall()
    assert [label for (label,) in in_sql] == written("decided.parquet")["decision"].to_pylist()


def test_the_doubt_of_a_rule_is_a_comment_of_its_sql(tmp_path):
    rule = Rule(FRAUD, system="new", model="p_new", caution="not yet shown\nto pay")
    write_rule(rule, str(tmp_path / "rule.sql"))
    doubt, expression = (tmp_path / "rule.sql").read_text().splitlines()
    assert doubt == "-- not yet shown\\nto pay"
    assert expression == rule.to_sql("p_new")


def test_what_sql_cannot_say_is_refused_before_any_work():
    done = run(
        *("evaluate", "old.parquet", "-p", "payments.toml", "--truth", "label"),
        *("--model", "new=p_new", "--rule-out", "rule.sql"),
    )
    assert (done.exit_code, done.stdout) == (2, "")
    assert "--rule-out must be a file of JSON here: SQL needs two classes" in done.stderr
    assert "this problem charges every case its own costs. Write rule.json" in done.stderr
    assert not Path("rule.sql").exists()


def test_beyond_the_limit_of_memory_the_rule_is_that_of_the_verdict_too():
    asked = ("--model", "new=p_fair", "--memory-limit", "1k", "--rule-out", "rule.json")
    done = run("evaluate", "old.parquet", "-p", "fraud.toml", "--truth", "label", *asked)
    assert done.exit_code == 0, done.stderr
    rule = Rule.from_json(Path("rule.json"))
    assert rule.system == "new (as is)"
    assert rule.origin is not None
    assert rule.origin.columns == ("p_fair",)


def test_scores_and_other_columns_and_single_precision_are_decided_as_in_python():
    new = written("new.parquet")
    RULES["logistic"].to_json("scores.json")
    done = run("decide", "new.parquet", "--rule", "scores.json", "--model", "s", "-o", "d.parquet")
    assert done.exit_code == 0, done.stderr
    expected = RULES["logistic"].decide(Scores(new["s"].to_numpy()))
    assert written("d.parquet")["decision"].to_pylist() == expected.tolist()
    rule = Rule(Problem.binary(false_alarm=1, miss=9, classes=["legit", "fraud"]))
    rule.to_json("tie.json")
    done = run(
        "decide", "new.parquet", "--rule", "tie.json", "--model", "p_single", "-o", "d.parquet"
    )
    assert done.exit_code == 0, done.stderr
    decided = np.array(written("d.parquet")["decision"].to_pylist())
    single = new["p_single"].to_numpy()
    assert (decided == rule.decide(single)).all()
    assert (decided[single == np.float32(0.1)] == "legit").all(), "0.1 of single precision is a tie"
    assert (single == np.float32(0.1)).any()


def test_every_row_of_a_file_is_decided_by_its_own_costs():
    Rule(PAYMENTS).to_json("rule.json")
    new = written("new.parquet")
    expected = bayes_decisions(new["p_new"].to_numpy(), PAYMENTS, data=new)
    for how in (("--rule", "rule.json"), ("-p", "payments.toml")):
        done = run("decide", "new.parquet", *how, "--model", "p_new", "-o", "d.parquet")
        assert done.exit_code == 0, done.stderr
        assert written("d.parquet")["decision"].to_pylist() == expected.tolist()
    pyarrow.parquet.write_table(new.drop_columns("amount"), "less.parquet")
    done = run("decide", "less.parquet", "--rule", "rule.json", "--model", "p_new", "-o", "d.csv")
    assert done.exit_code == 2
    assert "'amount'" in done.stderr


REFUSED: dict[str, tuple[tuple[str, ...], str]] = {
    "nothing to decide by": ((), "--rule or --problem must say how to decide; both are missing"),
    "two ways": (("--rule", "r.json", "-p", "fraud.toml"), "--problem must be left out beside"),
    "a map beside": (("--rule", "r.json", "--map", "m.json"), "--map must be left out beside"),
    "no column": (("--rule", "r.json"), "--model must name the column of the predictions"),
    "no file": (("--rule", "none.json"), "none.json must be the JSON of a rule, or the path"),
    "a changed file": (("--rule", "changed.json"), "changed.json must be a rule as to_json wrote"),
    "decisions": (("--rule", "did.json"), "did.json must be a rule that decides"),
    "another column": (("--rule", "r.json", "--model", "odd"), "'odd'"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_decided_is_refused_and_nothing_is_written(case):
    Rule(FRAUD).to_json("r.json")
    Rule(FRAUD, "decisions").to_json("did.json")
    changed = {**json.loads(Path("r.json").read_text()), "system": "other"}
    Path("changed.json").write_text(json.dumps(changed))
    arguments, message = REFUSED[case]
    done = run("decide", "new.parquet", *arguments, "-o", "out.parquet")
    assert done.exit_code == 2
    assert message in done.stderr
    assert not Path("out.parquet").exists()


def test_a_verdict_to_deploy_none_shows_the_report_and_writes_no_rule():
    table = {"label": np.array(FRAUD.classes)[Y], "p_flat": np.full(Y.size, 0.3)}
    pyarrow.parquet.write_table(pa.table(table), "flat.parquet")
    asked = ("--model", "flat=p_flat", "--calibrate", "none", "--rule-out", "rule.json")
    done = run("evaluate", "flat.parquet", "-p", "fraud.toml", "--truth", "label", *asked)
    assert done.exit_code == 2
    assert "a system to deploy; there is none. Deploy none: " in done.stderr
    assert "In Python, report.rule('flat (as is)') makes the rule of the best" in done.stderr
    assert "Deploy none: " in done.stdout
    assert not Path("rule.json").exists()
