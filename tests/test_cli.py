"""The commands: what they print, write and return."""

from __future__ import annotations

import json
import os
import re
import sys
from dataclasses import replace
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("click")
pytest.importorskip("duckdb")
pytest.importorskip("jinja2")
pytest.importorskip("pyarrow")

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
from click.testing import CliRunner, Result

import stakes
import stakes.cli
from stakes import Limit, Problem, Report, Scores, bayes_decisions, evaluate, shift_prior
from stakes._expression import Name
from stakes.calibration import Affine, Isotonic, Temperature, from_json
from stakes.cli.audit import _outcome
from stakes.cli.commands import stakes as command
from stakes.cli.options import CALIBRATORS, Values

RNG = np.random.default_rng(3)
N = 120
Y = np.where(RNG.random(N) < 0.4, "fraud", "legit")
GOOD = np.clip(0.4 + 0.3 * (Y == "fraud") - 0.15 + RNG.normal(0, 0.2, N), 0.01, 0.99).round(3)
POOR = np.clip(0.4 + RNG.normal(0, 0.2, N), 0.01, 0.99).round(3)
SITE = np.array(["n", "s"])[RNG.integers(0, 2, N)]
ROUND = np.array([f"r{k}" for k in range(12)])[RNG.integers(0, 12, N)]
PROBLEM = Problem(
    [[0, 3, 25], [180, 8, 0]],
    classes=["legit", "fraud"],
    decisions=["approve", "review", "block"],
    prior=[0.9, 0.1],
    unit="EUR",
)
FAST = ("--replicates", "20", "--calibrate", "none")  # a later --calibrate counts
BOTH = ("--model", "good", "--model", "poor")
# Before click 8.2 the runner mixed the two outputs unless told otherwise.
SEPARATE: Any = {"mix_stderr": False} if "mix_stderr" in signature(CliRunner).parameters else {}


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch) -> Path:
    """A folder with a problem and predictions, which is also the current one."""
    monkeypatch.chdir(tmp_path)
    PROBLEM.to_toml("fraud.toml")
    table = {"truth": Y.tolist(), "good": GOOD, "poor": POOR, "site": SITE.tolist()}
    table["round"] = ROUND.tolist()
    rows = zip(*table.values(), strict=True)
    lines = [",".join(table), *(",".join(map(str, row)) for row in rows)]
    Path("rows.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    pyarrow.parquet.write_table(pa.table(table), "rows.parquet")
    return tmp_path


def run(*arguments: object, stdin: str | bytes | None = None) -> Result:
    return CliRunner(**SEPARATE).invoke(
        command, [str(argument) for argument in arguments], input=stdin
    )


def on_rows(*arguments: object, **extra: Any) -> Result:
    models = () if "--model" in arguments else BOTH
    return run("evaluate", "rows.csv", "-p", "fraud.toml", *FAST, *models, *arguments, **extra)


def report_of(done: Result) -> Report:
    return Report.from_json(done.stdout)


def unnamed(report: Report) -> Report:
    """The report made from arrays, whose rules know no columns."""
    return replace(report, rules=report.rules.with_columns({}))


def report(**options: Any) -> Report:
    options = {"calibrator": None, "replicates": 20, **options}
    return evaluate(Y, {"good": GOOD, "poor": POOR}, PROBLEM, **options)


# evaluate ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("limited", [False, True])
def test_threads_are_not_forbidden_where_there_is_memory_for_them(limited, monkeypatch):
    monkeypatch.setattr("stakes.cli._is_limited", lambda: limited)
    monkeypatch.setattr("stakes.cli._can_map", lambda size: limited)
    monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)
    stakes.cli._require_memory()
    assert "OPENBLAS_NUM_THREADS" not in os.environ


def test_where_no_limit_can_be_set_there_is_none(monkeypatch):
    monkeypatch.setitem(sys.modules, "resource", None)  # as on Windows
    assert stakes.cli._is_limited() is False


def test_the_command_prints_the_report_of_the_library():
    done = on_rows()
    assert done.exit_code == 0
    assert done.stdout == report().to_text() + "\n"
    assert done.stderr == "stakes: guessed from rows.csv: truth in column truth.\n"


def test_models_are_guessed_and_the_guess_is_printed():
    table = pa.table({"truth": Y.tolist(), "p_good": GOOD, "poor_prob": POOR, "discount": POOR})
    pyarrow.parquet.write_table(table, "named.parquet")
    done = run("evaluate", "named.parquet", "-p", "fraud.toml", *FAST)
    assert done.exit_code == 0, done.stderr
    assert done.stderr == (
        "stakes: guessed from named.parquet: truth in column truth; p_good: P(fraud) in p_good; "
        "poor_prob: P(fraud) in poor_prob. "
        "Not read: discount; if one is a model, name all.\n"
    )


def test_a_column_of_decisions_that_was_not_read_is_named():
    did = np.where(np.array(GOOD) > 0.5, "block", "approve").tolist()
    did[1] = None
    columns = {"truth": Y.tolist(), "p_good": GOOD, "note": ["x"] * N, "nurse": did}
    pyarrow.parquet.write_table(pa.table(columns), "named.parquet")
    pyarrow.csv.write_csv(pa.table(columns), "named.csv")
    for name in ("named.parquet", "named.csv"):
        done = run("evaluate", name, "-p", "fraud.toml", *FAST)
        assert done.exit_code == 0, done.stderr
        assert "Not read: nurse, note; if one is a model, name all.\n" in done.stderr
    del columns["nurse"]
    pyarrow.parquet.write_table(pa.table(columns), "named.parquet")
    assert "Not read" not in run("evaluate", "named.parquet", "-p", "fraud.toml", *FAST).stderr


def test_all_columns_that_were_not_read_are_counted_those_of_fractions_first():
    columns = {
        "truth": Y.tolist(),
        "p_good": GOOD,
        "place": SITE,
        "amount": POOR,
        "note": ["x"] * N,
    }
    pyarrow.parquet.write_table(pa.table(columns), "named.parquet")
    done = run("evaluate", "named.parquet", "-p", "fraud.toml", *FAST)
    assert "Not read: amount, place, note; if one is a model, name all.\n" in done.stderr
    columns |= {f"more_{k}": SITE for k in range(3)}
    pyarrow.parquet.write_table(pa.table(columns), "named.parquet")
    done = run("evaluate", "named.parquet", "-p", "fraud.toml", *FAST, "--by", "place")
    told = "Not read: amount, note, more_0, more_1, more_2; if one is a model, name all.\n"
    assert told in done.stderr
    done = run("evaluate", "named.parquet", "-p", "fraud.toml", *FAST)
    told = (
        "Not read: amount, place, note, more_0, more_1 and 1 more; if one is a model, name all.\n"
    )
    assert told in done.stderr


def test_options_reach_the_library():
    done = on_rows(
        *("--by", "site", "--by", "round", "--calibrate", "Affine", "--seed", "5"),
        *("--clusters", "round", "--level", "0.9"),
        *("--weights", "poor", "--model", "good", "--json", "-"),
        *("--posterior-prior", "fraud=0.3,legit=0.7"),
    )
    expected = evaluate(
        Y,
        {"good": GOOD},
        PROBLEM,
        by={"site": SITE, "round": ROUND},
        clusters=ROUND,
        level=0.9,
        weights=POOR,
        posterior_prior=[0.7, 0.3],
        calibrator=Affine(),
        seed=5,
        replicates=20,
    )
    assert done.exit_code == 0, done.stderr
    assert unnamed(report_of(done)) == expected
    assert {group.by for group in report_of(done).slices} == {"site", "round"}


@pytest.mark.slow
def test_without_a_word_the_calibrator_is_that_of_the_library_and_none_is_none():
    alone = ("evaluate", "rows.csv", "-p", "fraud.toml", "--model", "good", "--replicates", "20")
    unsaid = report_of(run(*alone, "--json", "-"))
    assert "recalibrated" in " ".join(system.rule for system in unsaid.systems)
    assert report_of(run(*alone, "--calibrate", "select", "--json", "-")) == unsaid
    assert unnamed(unsaid) == evaluate(Y, {"good": GOOD}, PROBLEM, replicates=20)
    done = on_rows("--calibrate", "none", "--json", "-")
    assert unnamed(report_of(done)) == report(calibrator=None)


@pytest.mark.parametrize("level", ["0", "1", "95"])
def test_an_invalid_level_is_bad_input(level):
    done = on_rows("--level", level)
    assert done.exit_code == 2
    assert "Invalid value for '--level'" in done.stderr


def test_raw_scores_and_decisions_are_models_too():
    table = pa.table({"y": Y.tolist(), "s": GOOD * 9 - 5, "did": ["review"] * N})
    pyarrow.parquet.write_table(table, "more.parquet")
    models = ("--scores", "raw=s", "--model", "rule=did", "--calibrate", "isotonic", "--json", "-")
    done = run("evaluate", "more.parquet", "-p", "fraud.toml", *FAST, *models)
    predictions = {"rule": np.array(["review"] * N), "raw": Scores(GOOD * 9 - 5)}
    expected = evaluate(Y, predictions, PROBLEM, calibrator=Isotonic(), replicates=20)
    assert unnamed(report_of(done)) == expected


@pytest.mark.slow
@pytest.mark.parametrize("name", ["rows.parquet", "-", "part-*.csv"])
def test_parquet_standard_input_and_globs_give_the_same_report(name):
    lines = Path("rows.csv").read_text().splitlines(keepends=True)
    Path("part-1.csv").write_text("".join(lines[:50]))
    Path("part-2.csv").write_text("".join(lines[:1] + lines[50:]))
    stdin = Path("rows.parquet").read_bytes() if name == "-" else None
    done = run("evaluate", name, "-p", "fraud.toml", *FAST, *BOTH, stdin=stdin)
    assert done.exit_code == 0, done.stderr
    assert done.stdout == report().to_text() + "\n"
    if name == "part-*.csv":  # as the shell resolves it
        again = run("evaluate", "part-1.csv", "part-2.csv", "-p", "fraud.toml", *FAST, *BOTH)
        assert again.stdout == done.stdout


def test_three_files_are_written_and_announced():
    done = on_rows("--html", "out.html", "--json", "out.json", "--markdown", "out.md")
    assert done.exit_code == 0
    assert unnamed(Report.from_json(Path("out.json"))) == report()
    assert Path("out.md").read_text(encoding="utf-8") == report().to_markdown()
    assert "<html" in Path("out.html").read_text(encoding="utf-8")
    for name in ("out.html", "out.json", "out.md"):
        assert f"stakes: wrote {name}\n" in done.stderr


def test_a_dash_sends_one_format_to_standard_output():
    done = on_rows("--markdown", "-")
    assert done.stdout == report().to_markdown() + "\n"
    twice = on_rows("--markdown", "-", "--json", "-")
    assert twice.exit_code == 2
    assert "only one format can go to standard output" in twice.stderr


def test_a_terminal_gets_tables_and_names_are_never_markup(monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")  # rich then takes any stream for a terminal
    monkeypatch.setenv("COLUMNS", "200")
    done = on_rows("--model", "[red]bold[/red]=good", "--model", "poor")
    assert done.exit_code == 0, done.stderr
    plain = re.sub(r"\x1b\[[0-9;]*m", "", done.stdout)
    assert "[red]bold[/red] (moved)" in plain
    for title in ("The stakes", "Verdict", "Cost of each system", "Assumptions"):
        assert f"\n{title}\n" in plain
    assert "=====" not in plain


def test_two_formats_cannot_share_a_file():
    done = on_rows("--markdown", "out", "--json", "./out")
    assert done.exit_code == 2
    assert "every format must have a file of its own" in done.stderr


def test_classes_of_many_kinds_are_read():
    rng = np.random.default_rng(0)
    raw = rng.random((60, 3)) + 3 * np.eye(3)[np.arange(60) % 3]
    rows = raw / raw.sum(axis=1, keepdims=True)
    names = ["1", "2", "3"]
    columns = {f"net_{name}": rows[:, k] for k, name in enumerate(names)}
    pyarrow.parquet.write_table(pa.table({"y": np.arange(60) % 3 + 1, **columns}), "k.parquet")
    problem = Problem.zero_one([1, 2, 3]).with_abstention(0.3)
    problem.to_toml("k.toml")
    asked = ("--calibrate", "none", "--json", "-")
    done = run("evaluate", "k.parquet", "-p", "k.toml", *FAST, *asked)
    truth = np.arange(60) % 3 + 1
    expected = evaluate(truth, {"net": rows}, problem, calibrator=None, replicates=20)
    assert unnamed(report_of(done)) == expected


# --fail-if ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("condition", "code"),
    [
        ("normalized > 2", 0),
        ("cost > 0 and normalized < 2", 1),
        ('cost["poor"] > cost["good"]', 1),
        ('auc["poor"] > auc', 0),
        ('cost["good (moved)"] == cost', 1),
        ("caveats > 0 or probability_cheapest < 0.5", 1),
        ("not (saving > 0)", 0),
        ('cost["poor"] - cost > 0 and max(cost, naive_cost) == naive_cost', 1),
        ("cost > 0 or cost / 0 > 1", 1),
    ],
)
def test_the_exit_code_is_one_when_the_condition_holds(condition, code):
    done = on_rows("--fail-if", condition, "--json", "out.json")
    assert done.exit_code == code, done.stderr
    outcome = "does not pass. It holds (" if code else "passes. It does not hold ("
    assert f"stakes: --fail-if {condition} {outcome}" in done.stderr
    assert Path("out.json").exists()


def test_a_condition_that_cannot_be_read_is_bad_input_before_any_work():
    done = on_rows("--fail-if", "cost >", "--json", "out.json")
    assert done.exit_code == 2
    assert "at position 7" in done.stderr
    assert not Path("out.json").exists()


@pytest.mark.parametrize(
    "asked",
    [
        ("--fail-if", 'cost["none"] > 1'),
        ("--fail-if", 'auc["good (poor)"] > 1'),
        ("--baseline", "poor", "--gate", "better=none"),
        ("--baseline", "none"),
    ],
)
def test_a_name_of_no_model_is_bad_input_before_any_work(asked):
    done = on_rows(*asked, "--json", "out.json")
    assert done.exit_code == 2
    assert done.stdout == ""
    assert not Path("out.json").exists()
    told = done.stderr.splitlines()[-1]
    assert re.search(r"Write one of the models 'good', 'poor'|The models are good, poor; a s", told)


def test_a_system_that_the_report_lacks_is_told_before_the_report_is_printed():
    for asked in (
        ("--fail-if", 'cost["good (tuned)"] > 1'),
        ("--baseline", "poor", "--gate", "no-worse=good (tuned)"),
    ):
        done = on_rows(*asked)
        assert (done.exit_code, done.stdout) == (2, "")
        assert re.search(r"asks for .*good \(tuned\)\S*, but no model or system", done.stderr)


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        ('cost["good (tuned)"] > 1', "no model or system has that name. The systems are good"),
        ('auc["did"] > 0', "which is undefined in this report"),
        ("cost / (cases - cases) > 0", "cost / (cases - cases) is undefined"),
    ],
)
def test_a_condition_that_cannot_be_decided_is_bad_input_after_the_files_are_written(
    condition, message
):
    lines = Path("rows.csv").read_text().splitlines()
    Path("did.csv").write_text(
        "\n".join(f"{line},review" for line in lines).replace("review", "did", 1)
    )
    models = ("--model", "good", "--model", "did")
    judged = ("--fail-if", condition, "--json", "out.json")
    done = run("evaluate", "did.csv", "-p", "fraud.toml", *FAST, *models, *judged)
    assert done.exit_code == 2
    assert message in done.stderr.splitlines()[-1]
    assert Report.from_json(Path("out.json")).models[1].kind == "decisions"


def test_every_name_of_a_condition_has_a_value_and_stands_in_the_help():
    whole = report(calibrator=Affine())
    text = run("evaluate", "--help").stdout
    names = {
        **{"cost": whole.best.cost.value, "cases": N},
        **{"saving": whole.verdict.saving_over_naive.value, "naive_cost": whole.naive.cost},
        "unaided_cost": whole.naive.cost,  # costs are the same for all cases
        **dict.fromkeys(("cost_low", "cost_high", "normalized", "normalized_low")),
        **dict.fromkeys(("normalized_high", "probability_cheapest", "auc", "h", "saving_low")),
        **dict.fromkeys(("normalized_log_loss", "normalized_brier", "calibration_cost")),
        **dict.fromkeys(("saving_high", "saving_over_runner_up", "perfect_cost", "caveats")),
    }
    for name, expected in names.items():
        value = Values(whole)[Name(name)]
        assert expected is None or value == expected
        assert name in text
    assert Values(whole)[Name("told_apart")] is whole.verdict.told_apart
    assert Values(whole)[Name("deployable")] is (whole.verdict.kind == "deploy")
    assert "told_apart" in text
    assert "deployable" in text


HOPELESS = Problem([[0, 1], [1, 0]], classes=["legit", "fraud"], prior=[0.999, 0.001])


def test_a_gate_can_see_that_nothing_should_be_deployed():
    HOPELESS.to_toml("fraud.toml")
    asked = ("--model", "poor", "--calibrate", "none")
    assert report_of(on_rows(*asked, "--json", "-")).verdict.deploy is None
    done = on_rows(*asked, "--fail-if", "not deployable or saving_over_runner_up < 1")
    assert done.exit_code == 1
    assert done.stderr.endswith("It holds (deployable is false).\n")
    assert on_rows(*asked, "--fail-if", "deployable").exit_code == 0
    done = on_rows(*asked, "--fail-if", "cost >= naive_cost and normalized >= 1")
    assert done.exit_code == 1, done.stderr


def test_the_audit_says_that_nothing_should_be_deployed():
    HOPELESS.to_toml("fraud.toml")
    told = run("audit", "rows.csv", "-p", "fraud.toml", *BOTH, "--calibrate", "none").stdout
    assert "and always choosing legit costs no more; " in " ".join(told.split())


# Bad input ---------------------------------------------------------------------------------------

MOVED = ("--posterior-prior", "legit=0.5,fraud=0.5")
METHOD = ("--method", "platt", "-o", "map.json")
DECIDE = ("decide", "rows.csv", "-p", "fraud.toml", "--model", "good")
FIT = ("calibrate", "fit", "rows.csv", "-p", "fraud.toml", "--model", "good", *METHOD)

BAD = {
    "a missing file": (("evaluate", "none.csv", "-p", "fraud.toml"), "there is no such file"),
    "a missing problem": (("evaluate", "rows.csv", "-p", "none.toml"), "none.toml cannot be read"),
    "a problem that is no text": (("evaluate", "rows.csv", "-p", "rows.parquet"), "UTF-8"),
    "a problem that is no problem": (("problem", "check", "rows.csv"), "must be TOML"),
    "a wrong column": (
        ("evaluate", "rows.csv", "-p", "fraud.toml", *BOTH, "--by", "x"),
        "no column 'x'",
    ),
    "wrong labels": (
        ("evaluate", "rows.csv", "-p", "fraud.toml", *BOTH, "--truth", "site"),
        "must hold the classes legit, fraud in every row; 120 of 120",
    ),
    "no probabilities": (
        ("evaluate", "big.csv", "-p", "fraud.toml", "--model", "p"),
        "model p (column 'p' of big.csv) must hold probabilities in [0, 1]; 1 of 2 does not, the "
        "first being 1.5 at position 1. Raw scores are for --scores of evaluate and audit; stakes "
        "calibrate turns them into probabilities.",
    ),
    "gaps": (
        ("evaluate", "gap.csv", "-p", "fraud.toml", "--model", "new=p"),
        "column 'p' of gap.csv must hold a number in every row; 2 of 3 are missing (empty or nan), "
        "the first in row 0 (counted from 0).",
    ),
    "gaps in what is decided": (
        ("decide", "gap.csv", "-p", "fraud.toml", "--model", "p", "-o", "out.csv"),
        "column 'p' of gap.csv must hold a number in every row; 2 of 3 are missing",
    ),
    "gaps in weights": (
        ("evaluate", "gap.csv", "-p", "fraud.toml", "--scores", "w", "--weights", "p"),
        "column 'p' of gap.csv must hold a number in every row",
    ),
    "weights below zero": (
        ("evaluate", "gap.csv", "-p", "fraud.toml", "--scores", "w", "--weights", "w"),
        "stakes: --weights (column 'w' of gap.csv) must hold numbers that are zero or more",
    ),
    "posteriors that do not sum to one": (
        ("evaluate", "big.csv", "-p", "fraud.toml", "--model", "new=a,b"),
        "stakes: model new (columns 'a', 'b' of big.csv) must sum to one in every row",
    ),
    "shares beyond one": (
        ("evaluate", "rows.csv", "-p", "fraud.toml", "--posterior-prior", "fraud=2,legit=-1"),
        "stakes: --posterior-prior must be written as CLASS=SHARE, a number that is zero or more",
    ),
    "shares that do not sum to one": (
        (*DECIDE, "-o", "out.csv", "--posterior-prior", "fraud=0.5,legit=0.6"),
        "stakes: --posterior-prior must sum to one; it sums to 1.1",
    ),
    "models that cannot be guessed": (
        ("evaluate", "rows.csv", "-p", "fraud.toml"),
        "--model cannot be guessed: 2 columns of rows.csv hold numbers in [0, 1] (good, poor)",
    ),
    "groups that the audit would ignore": (
        ("audit", "rows.csv", "-p", "fraud.toml", *BOTH, "--by", "site"),
        "--by",
    ),
    "too little memory": (
        (*FIT, "--memory-limit", "1k"),
        "--memory-limit must leave room for the rows: the columns of the 120 rows of rows.csv "
        "need 1,440 bytes and the limit is 1,024",
    ),
    "an unknown option": (("evaluate", "rows.csv", "--none"), "--none"),
    "a file in place of a command": (
        ("calibrate", "rows.csv"),
        "No such command 'rows.csv' after stakes calibrate. Write apply or fit.",
    ),
    "an unknown command": (
        ("none",),
        "No such command 'none' after stakes. Write audit or calibrate or decide or demo",
    ),
    "no command": (
        ("problem",),
        "Missing command after stakes problem. Write check or new or show.",
    ),
    "a missing folder": (
        ("evaluate", "rows.csv", "-p", "fraud.toml", "--html", "none/out.html"),
        "there is no folder none",
    ),
    "wrong shares": (
        ("evaluate", "rows.csv", "-p", "fraud.toml", "--posterior-prior", "fraud=0.5"),
        "--posterior-prior must have a share for every class, as in legit=0.5,fraud=0.5",
    ),
    "shares that are no numbers": (
        ("evaluate", "rows.csv", "-p", "fraud.toml", "--posterior-prior", "fraud"),
        "'fraud' is not a share",
    ),
    "an unknown calibrator": (
        ("evaluate", "rows.csv", "-p", "fraud.toml", "--calibrate", "x"),
        "'x' is not one of 'select'",
    ),
    "a map that is none": (
        (*DECIDE, "--map", "rows.csv", "-o", "out.csv"),
        "rows.csv must be JSON; it is not",
    ),
    "a map that is not there": (
        (*DECIDE, "--map", "none.json", "-o", "out.csv"),
        "'none.json' cannot: No such file or directory. Write one with stakes calibrate fit.",
    ),
    "an unknown format": (
        (*DECIDE, "-o", "out.xls"),
        "must end in one of .csv, .parquet, .jsonl, .ndjson; it ends in '.xls'",
    ),
    "a column that is there": (
        (*DECIDE, "--column", "site", "-o", "out.csv"),
        "must not have a column 'site' already",
    ),
    "labels instead of posteriors": (
        ("decide", "rows.csv", "-p", "fraud.toml", "--model", "site", "-o", "out.csv"),
        "column 'site' of rows.csv must hold numbers",
    ),
    "posteriors beyond one": (
        ("decide", "big.csv", "-p", "fraud.toml", "--model", "p", "-o", "out.csv"),
        "rows 0 to 1 of the file (counted from 0): column p of big.csv must hold probabilities in "
        "[0, 1]; 1 of 2 does not, "
        "the first being 1.5 at position 1. Raw scores are for --scores of evaluate and audit; "
        "stakes calibrate turns them into probabilities.",
    ),
    "no rows": (
        ("decide", "header.csv", "-p", "fraud.toml", "--model", "p", "-o", "out.csv"),
        "header.csv must hold",
    ),
    "a problem without prior": (
        ("decide", "rows.csv", "-p", "free.toml", "--model", "good", "-o", "out.csv", *MOVED),
        "free.toml must state a prior",
    ),
    "limits without the rule that keeps them": (
        ("decide", "rows.csv", "-p", "limited.toml", "--model", "good", "-o", "out.csv"),
        "limited.toml must have no limits without --rule, which knows their prices; it has "
        "'block: at most 20 % of cases'. Write a rule with stakes evaluate --rule-out, or leave "
        "the limits out.",
    ),
    "nothing to decide by": (
        ("decide", "rows.csv", "-o", "out.csv"),
        "--rule or --problem must say how to decide; both are missing. Add one.",
    ),
    "a problem without costs": (
        ("problem", "check", "empty.toml"),
        "beside them only classes, decisions, prior, answers, limits and unit; it holds neither. "
        "Add one.",
    ),
    "a problem with a key of its own": (
        ("problem", "check", "own.toml"),
        "limits and unit; it holds 'currency'. Remove it, or correct its name.",
    ),
    "a limit that is no size": (
        ("evaluate", "rows.csv", "-p", "fraud.toml", *BOTH, "--memory-limit", "lots"),
        "--memory-limit must be a number of bytes such as 2GiB; got 'lots'. Write a number",
    ),
    "a key with fractions": (
        ("evaluate", "rows.csv", "-p", "fraud.toml", *BOTH, "--key", "good"),
        "--key must be a column of whole numbers; 'good' of rows.csv is of type Float64.",
    ),
    "groups by measurements": (
        ("evaluate", "rows.csv", "-p", "fraud.toml", *BOTH, "--by", "poor"),
        "stakes: --by (column 'poor' of rows.csv) must hold labels",
    ),
    "a guessed column beyond one": (
        ("evaluate", "beyond.csv", "-p", "fraud.toml"),
        "Raw scores are for --scores of evaluate and audit; stakes calibrate turns them into "
        "probabilities. The column was guessed to be a model by its name: to leave it out, name "
        "all models that you want.",
    ),
    "a map of raw scores that takes probabilities": (
        (
            *("calibrate", "fit", "big.csv", "-p", "fraud.toml", "--model", "p"),
            *("-o", "map.json", "--method", "beta"),
        ),
        "stakes: --model must hold probabilities in [0, 1]; 1 of 2 does not",
    ),
    "a column without entries": (
        ("evaluate", "hollow.csv", "-p", "fraud.toml", "--model", "p"),
        "2 of 2 rows hold something else, most often nothing. The column is empty: name another",
    ),
    "JSON that is no report": (
        ("diff", "other.json", "other.json"),
        "other.json must be a report; it is JSON without a schema. Write one with stakes evaluate "
        "--json.",
    ),
    "a baseline that is not there": (
        ("evaluate", "rows.csv", "-p", "fraud.toml", *BOTH, "--baseline", "odl"),
        "--baseline must be the name of a model or of a system, or an earlier report; got 'odl'.",
    ),
    "a problem that exists": (("problem", "new", "fraud.toml"), "it is there already"),
}


@pytest.mark.parametrize("what", BAD)
def test_bad_input_is_one_sentence_and_exit_code_two(what, folder):
    Path("big.csv").write_text("truth,p,a,b\nlegit,0.5,0.5,0.9\nfraud,1.5,0.5,0.5\n")
    Path("gap.csv").write_text("truth,p,w\nlegit,,-1.5\nfraud,nan,1\nlegit,0.5,1\n")
    Path("header.csv").write_text("truth,p\n")
    Path("beyond.csv").write_text("truth,p_new\nlegit,0.5\nfraud,1.5\n")
    Path("hollow.csv").write_text("truth,p\nlegit,\nfraud,\n")
    Path("other.json").write_text('{"a": 1}')
    Path("empty.toml").touch()
    Path("own.toml").write_text(f"currency = 'EUR'\n{Path('fraud.toml').read_text()}")
    PROBLEM.with_limits([Limit.share("block", at_most=0.2)]).to_toml("limited.toml")
    PROBLEM.with_prior(None).to_toml("free.toml")
    before = {path.name for path in folder.iterdir()}
    arguments, message = BAD[what]
    done = run(*arguments)
    assert done.exit_code == 2, done.output
    assert message in done.stderr
    assert done.stdout == ""
    lines = [line for line in done.stderr.splitlines() if "guessed from" not in line]
    assert len(lines) == 1
    assert lines[0].startswith("stakes: ")
    assert {path.name for path in folder.iterdir()} == before


def test_without_a_command_the_help_is_shown():
    done = run()
    assert done.exit_code == 2
    text = " ".join(done.stderr.split())
    assert "Exit codes: 0 done, 1 a gate (--fail-if, --gate) closed, 2 bad input, 70" in text
    for code in (129, 130, 141, 143):  # the only others
        assert re.search(rf"\b{code} \w", text)


@pytest.mark.parametrize("group", [(), ("problem",), ("calibrate",)])
def test_what_a_command_does_fits_on_its_line(group):
    listed = run(*group, "--help").stdout.split("Commands:\n")[1]
    assert "..." not in listed
    assert all(line.endswith(".") for line in listed.splitlines())


def test_the_audit_takes_costs_that_differ_from_case_to_case():
    decisions = ["legit", "fraud"]
    costs = [[0, 3], ["9 + poor", 0]]
    Problem(costs, classes=decisions, decisions=decisions).to_toml("own.toml")
    done = run("audit", "rows.csv", "-p", "own.toml", *BOTH, "--calibrate", "none")
    assert done.exit_code == 0, done.stderr
    assert "The table shows each metric's favourite threshold, and what a miss" in done.stdout
    assert "Under these stakes a miss costs" not in done.stdout


def test_the_version_is_that_of_the_package():
    assert run("--version").stdout == f"stakes {stakes.__version__}\n"


def test_a_mistake_of_ours_is_not_taken_for_a_condition_that_held(monkeypatch):
    def broken(*arguments: object, **options: object) -> None:
        raise ZeroDivisionError("ours")

    monkeypatch.setattr("stakes.cli.evaluate.report_on_files", broken)
    done = on_rows()
    assert done.exit_code == 70
    assert "ZeroDivisionError: ours" in done.stderr
    assert "please report it" in done.stderr


def test_a_disk_that_fails_leaves_nothing_behind(monkeypatch, folder):
    def full(source: object, target: object) -> None:
        raise OSError(28, "No space left on device", str(target))

    monkeypatch.setattr("os.replace", full)
    before = {path.name for path in folder.iterdir()}
    done = on_rows("--json", "out.json")
    assert done.exit_code == 2
    assert done.stderr.splitlines()[-1] == "stakes: out.json: No space left on device"
    decided = run("decide", "rows.csv", "-p", "fraud.toml", "--model", "good", "-o", "out.csv")
    assert decided.exit_code == 2
    assert decided.stderr == "stakes: out.csv: No space left on device\n"
    assert {path.name for path in folder.iterdir()} == before


# decide ------------------------------------------------------------------------------------------


def columns_of(path: str) -> dict[str, Any]:
    return pyarrow.parquet.read_table(path).to_pydict()


def test_decisions_are_added_to_the_rows():
    done = run("decide", "rows.parquet", "-p", "fraud.toml", "--model", "good", "-o", "d.parquet")
    assert done.exit_code == 0, done.stderr
    columns = columns_of("d.parquet")
    assert list(columns) == ["truth", "good", "poor", "site", "round", "decision"]
    assert columns["decision"] == bayes_decisions(GOOD, PROBLEM).tolist()
    assert columns["good"] == GOOD.tolist()
    assert done.stderr == "stakes: wrote d.parquet: 120 rows with the column decision\n"


def test_text_files_keep_their_text():
    Path("odd.csv").write_text('id,p,note\n007,0.10,"a, b"\n08,9e-1,\n09,.5,"say ""x"""\n')
    done = run("decide", "odd.csv", "-p", "fraud.toml", "--model", "p", "-o", "out.csv")
    assert done.exit_code == 0, done.stderr
    assert Path("out.csv").read_text().splitlines() == [
        "id,p,note,decision",
        '007,0.10,"a, b",review',
        "08,9e-1,,block",
        '09,.5,"say ""x""",review',
    ]


def test_posteriors_are_moved_to_the_prior_of_the_problem():
    arguments = ("--posterior-prior", "legit=0.6,fraud=0.4", "--column", "do", "-o", "d.parquet")
    run("decide", "rows.csv", "-p", "fraud.toml", "--model", "good", *arguments)
    moved = shift_prior(GOOD, [0.6, 0.4], PROBLEM.prior)
    assert columns_of("d.parquet")["do"] == bayes_decisions(moved, PROBLEM).tolist()


def test_the_cheapest_rule_of_the_report_costs_as_much_when_it_is_carried_out():
    shares = np.array([(Y == "legit").mean(), (Y == "fraud").mean()])
    stated = f"legit={shares[0]!r},fraud={shares[1]!r}".replace("np.float64", "")
    stated = stated.replace("(", "").replace(")", "")
    for name in ("good", "poor"):
        options = ("--posterior-prior", stated, "--column", "did", "-o", f"{name}.parquet")
        run("decide", "rows.csv", "-p", "fraud.toml", "--model", name, *options)
        rule = ("--model", "did", "--json", "-", *FAST)
        done = run("evaluate", f"{name}.parquet", "-p", "fraud.toml", *rule)
        carried_out = Report.from_json(done.stdout).system("did").cost.value
        expected = report().system(f"{name} (moved)").cost.value
        assert carried_out == pytest.approx(expected, rel=1e-12)


def test_decisions_for_many_classes_as_json_lines():
    Problem.zero_one(["a", "b", "c"]).with_abstention(0.4).to_toml("k.toml")
    Path("k.csv").write_text("m_b,m_a,m_c\n0.1,0.8,0.1\n0.3,0.4,0.3\n")
    done = run("decide", "k.csv", "-p", "k.toml", "--model", "m", "-o", "k.jsonl")
    assert done.exit_code == 0, done.stderr
    rows = [json.loads(line) for line in Path("k.jsonl").read_text().splitlines()]
    assert [row["decision"] for row in rows] == ["a", "abstain"]


# calibrate ---------------------------------------------------------------------------------------


def test_a_map_is_fitted_shipped_and_applied():
    fit = ("--model", "good", "--method", "affine", "-o", "map.json")
    done = run("calibrate", "fit", "rows.csv", "-p", "fraud.toml", *fit)
    assert done.exit_code == 0, done.stderr
    assert done.stderr.endswith(
        "a map of the kind affine, from 120 cases, for the prior legit=0.9,fraud=0.1\n"
    )
    fitted = from_json(Path("map.json").read_text())
    expected = Affine().fit(GOOD, Y, classes=PROBLEM.classes, prior=PROBLEM.prior)
    assert fitted == expected
    applied = ("--model", "good", "--map", "map.json", "-o", "out.parquet")
    run("calibrate", "apply", "rows.csv", "-p", "fraud.toml", *applied)
    assert columns_of("out.parquet")["calibrated"] == expected(GOOD).tolist()
    decided = ("--model", "good", "--map", "map.json", "-o", "do.parquet")
    run("decide", "rows.csv", "-p", "fraud.toml", *decided)
    assert columns_of("do.parquet")["decision"] == bayes_decisions(expected(GOOD), PROBLEM).tolist()


def test_posteriors_of_a_map_are_moved_once_from_the_prior_that_it_was_fitted_for():
    """Fitted for the shares of the data, for the prior of the problem, and for another."""
    PROBLEM.with_prior(None).to_toml("free.toml")
    PROBLEM.with_prior([0.3, 0.7]).to_toml("other.toml")
    shares = [(Y == "legit").mean(), (Y == "fraud").mean()]
    method = ("--model", "m=good", "--method", "affine", "-o", "map.json")
    for name, prior in (("free", None), ("fraud", PROBLEM.prior), ("other", [0.3, 0.7])):
        assert run("calibrate", "fit", "rows.csv", "-p", f"{name}.toml", *method).exit_code == 0
        fitted = Affine().fit(GOOD, Y, classes=PROBLEM.classes, prior=prior)
        assert from_json(Path("map.json").read_text()) == fitted
        held_for = shares if prior is None else prior
        decide = ("decide", "rows.csv", "--model", "m=good", "--map", "map.json")
        done = run(*decide, "-p", "fraud.toml", "-o", "d.parquet")
        assert done.exit_code == 0, done.stderr
        moved = shift_prior(fitted(GOOD), held_for, PROBLEM.prior)
        assert columns_of("d.parquet")["decision"] == bayes_decisions(moved, PROBLEM).tolist()
        run(*decide, "-p", "free.toml", "-o", "d.parquet")
        as_is = bayes_decisions(fitted(GOOD), PROBLEM)
        assert columns_of("d.parquet")["decision"] == as_is.tolist()
        twice = run(*decide, "-p", "fraud.toml", "-o", "x.parquet", *MOVED)
        assert twice.exit_code == 2
        assert "--posterior-prior must be left out: the map knows the prior" in twice.stderr


def test_a_map_that_does_not_say_its_prior_is_moved_as_stated():
    fitted = Affine().fit(GOOD, Y, classes=PROBLEM.classes)
    Path("map.json").write_text(fitted.to_json())
    arguments = ("--map", "map.json", "-o", "d.parquet", *MOVED)
    run("decide", "rows.csv", "-p", "fraud.toml", "--model", "good", *arguments)
    moved = shift_prior(fitted(GOOD), [0.5, 0.5], PROBLEM.prior)
    assert columns_of("d.parquet")["decision"] == bayes_decisions(moved, PROBLEM).tolist()


def test_maps_of_many_classes_make_a_column_for_each():
    rng = np.random.default_rng(1)
    rows = rng.dirichlet([1, 1, 1], 90)
    y = np.array(["a", "b", "c"])[np.arange(90) % 3]
    table = {"y": y.tolist(), **{f"m_{c}": rows[:, k] for k, c in enumerate("abc")}}
    pyarrow.parquet.write_table(pa.table(table), "k.parquet")
    Problem.zero_one(["a", "b", "c"]).to_toml("k.toml")
    fit = ("--model", "m", "--method", "temperature", "-o", "map.json")
    run("calibrate", "fit", "k.parquet", "-p", "k.toml", *fit)
    applied = ("--model", "m", "--map", "map.json", "-o", "out.parquet", "--column", "new")
    done = run("calibrate", "apply", "k.parquet", "-p", "k.toml", *applied)
    assert done.exit_code == 0, done.stderr
    expected = Temperature().fit(rows, y, classes=["a", "b", "c"])(rows)
    columns = columns_of("out.parquet")
    for k, label in enumerate("abc"):
        np.testing.assert_allclose(columns[f"new_{label}"], expected[:, k], rtol=1e-12)


def test_a_map_for_other_classes_is_refused():
    fitted = Affine().fit([0.2, 0.8, 0.6, 0.4], [0, 1, 0, 1])
    Path("map.json").write_text(fitted.to_json())
    arguments = ("--model", "good", "--map", "map.json", "-o", "out.csv")
    done = run("calibrate", "apply", "rows.csv", "-p", "fraud.toml", *arguments)
    assert done.exit_code == 2
    assert "must be a map for the classes legit, fraud; it is one for 0, 1" in done.stderr


@pytest.mark.parametrize("name", CALIBRATORS)
def test_every_calibrator_can_be_named(name):
    calibrator = CALIBRATORS[name]()
    fitted = calibrator.fit(GOOD, Y, classes=PROBLEM.classes)
    assert from_json(fitted.to_json()) == fitted


# audit -------------------------------------------------------------------------------------------


def test_the_audit_shows_what_metrics_pick_and_which_costs_they_imply():
    Problem.binary(false_alarm=1, miss=9, classes=["legit", "fraud"]).to_toml("two.toml")
    done = run("audit", "rows.csv", "-p", "two.toml", "--scores", "raw=poor", "--model", "good")
    assert done.exit_code == 0, done.stderr
    assert "expected cost" in done.stdout
    assert "The cheapest system is good" in done.stdout
    assert "Under these stakes a miss costs 9." in done.stdout
    rows = [line for line in done.stdout.splitlines() if " F1 " in line]
    assert [row.split()[0] for row in rows if not row.startswith("F1")] == ["good", "raw"]
    assert "no costs" in rows[-1]


@pytest.mark.parametrize(("repeats", "clear"), [(40, True), (2, False)])
def test_the_audit_says_of_which_metrics_it_is_clear_that_they_mislead(repeats, clear):
    """Accuracy prefers one miss, which costs 9, to two false alarms; ten cases do not show it."""
    models = {"careful": [0, 1, 1, 1, 1] * repeats, "lax": [0, 0, 0, 1, 0] * repeats}
    problem = Problem.binary(false_alarm=1, miss=9)
    outcome = _outcome(evaluate([0, 0, 0, 1, 1] * repeats, models, problem))
    _, first, *rest = outcome.split("; ")
    if clear:
        assert first.startswith("clearly misled: accuracy")
        assert not rest
    else:
        assert first == "no metric is clearly misled"
        assert rest[0].startswith("misled on these cases, though the data cannot tell: accuracy")


def test_a_single_model_cannot_be_disagreed_about():
    done = run("audit", "rows.csv", "-p", "fraud.toml", "--model", "good")
    assert "There is one model only" in done.stdout
    assert "The table shows each metric's favourite threshold, and what a miss" in done.stdout


# problem -----------------------------------------------------------------------------------------


def test_a_problem_is_made_by_answering_questions():
    answers = "legit, fraud\napprove,review,block\nEUR\n0\n3\n25\n180\n8\n0\ny\n0.9\n"
    done = run("problem", "new", "new.toml", stdin=answers)
    assert done.exit_code == 0, done.stderr
    assert Problem.from_toml("new.toml") == PROBLEM
    assert "What does it cost to choose block when the truth is legit?" in done.stderr
    assert str(PROBLEM) in done.stdout


def test_without_costs_the_probability_to_act_from_is_asked():
    done = run("problem", "new", "new.toml", stdin="well,ill\nhome,ward\n\nn\n0.2\n\n")
    assert done.exit_code == 0, done.stderr
    assert "Above which probability of ill would you choose ward?" in done.stderr
    expected = Problem.from_threshold(0.2, classes=["well", "ill"], decisions=["home", "ward"])
    assert Problem.from_toml("new.toml") == expected
    assert "0.2 to 1" in done.stdout


def test_an_answer_that_cannot_be_used_is_asked_for_again():
    named = ["a,a", "a", "", "a, b", "x,x", "x,y,z", "EUR"]
    counted = ["much", "nan", "1e300", "1", "2", "3", "4", "5", "6", "y", "1.5", "-0.5", "0.25"]
    answers = [*named, *counted]
    done = run("problem", "new", "new.toml", stdin="\n".join(answers) + "\n")
    assert done.exit_code == 0, done.stderr
    problem = Problem.from_toml("new.toml")
    assert (problem.classes, problem.decisions) == (("a", "b"), ("x", "y", "z"))
    assert problem.costs.tolist() == [[1, 2, 3], [4, 5, 6]]
    assert problem.prior is not None
    assert problem.prior.tolist() == [0.25, 0.75]
    for message in (
        "names must be unique; a appears twice.",
        "there must be two or more, as in a,b; got 'a'.",
        "the answer must be a number from -1e+40 to 1e+40; got 'much'.",
        "the answer must be a number from 0 to 1; got '1.5'.",
    ):
        assert f"Error: {message}" in done.stderr


def test_right_decisions_cost_nothing_unless_stated_otherwise():
    run("problem", "new", "new.toml", stdin="a,b\n\n\ny\n\n2\n3\n\nn\n")
    expected = Problem([[0, 2], [3, 0]], classes=["a", "b"])
    assert Problem.from_toml("new.toml") == expected


def test_an_existing_problem_is_replaced_only_by_force():
    answers = "a,b\n\n\ny\n\n2\n3\n\nn\n"
    assert run("problem", "new", "fraud.toml", "--force", stdin=answers).exit_code == 0
    assert Problem.from_toml("fraud.toml").classes == ("a", "b")


def test_a_problem_is_shown_with_what_follows_from_it():
    done = run("problem", "show", "fraud.toml")
    assert str(PROBLEM) in done.stdout
    assert "review" in done.stdout.split("P(fraud)")[1]
    assert "Without looking at the case, review is best and costs 3.5 EUR per case" in done.stdout


def test_a_problem_with_limits_is_shown_with_them():
    PROBLEM.with_limits([Limit.share("review", at_most=0.05)]).to_toml("limited.toml")
    done = run("problem", "show", "limited.toml")
    assert "limits: review: at most 5 % of cases" in done.stdout
    assert "These decisions leave the limits out" in done.stdout


def test_a_sound_problem_has_nothing_odd():
    done = run("problem", "check", "fraud.toml")
    assert done.stdout == "fraud.toml: 2 classes, 3 decisions, a stated prior.\n"


def test_odd_costs_are_pointed_out():
    odd = Problem(
        [[2, 1, 5, 5], [0, 0, 0, 0], [0, 3, 4, 4]],
        classes=["a", "b", "c"],
        decisions=["a", "b", "c", "d"],
        prior=[0.5, 0.5, 0],
    )
    odd.to_toml("odd.toml")
    assert run("problem", "check", "odd.toml").stdout.splitlines()[1:] == [
        "Odd: b is cheaper for a than a itself.",
        "Odd: all decisions cost the same for b; nothing is at stake there.",
        "Odd: a is cheaper for c than c itself.",
        "Odd: c is never cheaper than a, whatever the class.",
        "Odd: d is never cheaper than a, whatever the class.",
        "Odd: the prior gives c no chance, so its costs do not matter.",
    ]


def test_decisions_that_are_never_the_cheapest_or_stand_in_the_wrong_order_are_pointed_out():
    Problem([[0, 0.9, 1], [5, 0.9, 0]], decisions=["go", "ask", "stop"]).to_toml("never.toml")
    assert run("problem", "check", "never.toml").stdout.splitlines()[1:] == [
        "Odd: ask is never the cheapest, whatever the probabilities."
    ]
    Problem([[3, 0], [0, 60]], decisions=["operate", "discharge"]).to_toml("swapped.toml")
    assert run("problem", "check", "swapped.toml").stdout.splitlines()[1:] == [
        "Odd: each class is served best by the other's decision; swap the decisions."
    ]


# demo --------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_demo_writes_its_page_and_says_where(folder):
    done = run("demo")
    assert done.exit_code == 0, done.stderr
    page = folder / "report.html"
    assert str(page.resolve()) in done.stdout
    assert page.stat().st_size < 400_000
    assert "Deploy boosting with Bayes decisions, recalibrated" in done.stdout


@pytest.mark.slow
def test_the_page_of_the_demo_names_its_data_and_says_that_it_is_the_example(folder):
    run("demo")
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert "Statlog German credit data, the example that comes with stakes" in page


@pytest.mark.slow
def test_the_numbers_of_the_demo():
    """The costs of decisions as they come, counted in SQL with the thresholds 0.06 and 0.7."""
    import duckdb

    from stakes.cli.evaluate import demo_report

    report = demo_report()
    costs = {system.name: system.cost.value for system in report.systems}
    data = Path(stakes.__file__).parent / "data" / "german_credit.csv"
    for model in ("logistic", "forest", "boosting", "naive bayes"):
        [(expected,)] = duckdb.execute(
            f"""SELECT sum(CASE risk WHEN 'good' THEN 0.95e0 / 700 * ok ELSE 0.05e0 / 300 * bad END)
            FROM (SELECT risk,
                CASE WHEN p <= 0.06 THEN 0e0 WHEN p <= 0.7 THEN 0.3e0 ELSE 1e0 END AS ok,
                CASE WHEN p <= 0.06 THEN 5e0 WHEN p <= 0.7 THEN 0.3e0 ELSE 0e0 END AS bad
                FROM (SELECT risk, "{model}" AS p FROM read_csv('{data}')))"""
        ).fetchall()
        assert costs[f"{model} (as is)"] == pytest.approx(expected, rel=1e-12)
    assert (report.naive.decision, report.naive.cost) == ("grant", 0.25)
    assert report.verdict.cheapest == "boosting (recalibrated)"
    assert costs["boosting (recalibrated)"] == pytest.approx(0.1574, abs=2e-3)
    assert [group.group for group in report.slices] == ["≤25", "26–35", "36–50", ">50"]


def test_columns_of_single_precision_decide_at_a_threshold_as_those_of_double():
    problem = Problem.binary(false_alarm=1, miss=4, classes=["legit", "fraud"])
    problem.to_toml("two.toml")
    p = RNG.choice([0.05, 0.2, 0.8], N)  # 0.2 is the threshold
    pairs = np.column_stack([1 - p, p])
    decisions = []
    for kind in (np.float64, np.float32):
        column, (legit, fraud) = p.astype(kind), pairs.T.astype(kind)
        table = {"truth": Y.tolist(), "p_one": column, "two_legit": legit, "two_fraud": fraud}
        pa.parquet.write_table(pa.table(table), "rows.parquet")
        asked = ("--problem", "two.toml", "--calibrate", "none", *FAST, "--json", "-")
        done = run("evaluate", "rows.parquet", *asked)
        assert done.exit_code == 0, done.stderr
        decisions.append(report_of(done))
    for systems in zip(*(report.systems for report in decisions), strict=True):
        assert systems[0].counts == systems[1].counts
        assert systems[0].cost == systems[1].cost
    assert decisions[0].systems[0].counts.values[:, 0].sum() == np.sum(p <= 0.2)
