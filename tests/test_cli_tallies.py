"""Files beyond the limit of memory: the same report, whatever the format, in little memory."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("click")
pytest.importorskip("duckdb")
pytest.importorskip("jinja2")
pytest.importorskip("narwhals")
pytest.importorskip("pyarrow")

import duckdb
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
from click.testing import CliRunner, Result

from stakes import Problem
from stakes.cli.commands import stakes as command

N = 6000
RNG = np.random.default_rng(12)
Y = RNG.random(N) < 0.4
TABLE = pa.table(
    {
        "truth": np.where(Y, "fraud", "legit").tolist(),
        "good": np.clip(0.25 + 0.3 * Y + RNG.normal(0, 0.2, N), 0, 1).round(2),
        "poor": np.clip(0.4 + RNG.normal(0, 0.2, N), 0, 1).round(2),
        "did": np.where(RNG.random(N) < 0.3 + 0.2 * Y, "review", "approve").tolist(),
        "site": RNG.integers(8, 11, N),
        "round": RNG.integers(0, 12, N),
    }
)
PROBLEM = Problem(
    [[0, 3, 25], [180, 8, 0]],
    classes=["legit", "fraud"],
    decisions=["approve", "review", "block"],
    prior=[0.9, 0.1],
)
MODELS = ("--model", "good", "--model", "poor", "--model", "rule=did", "--by", "site")
FAST = ("--replicates", "20", "--calibrate", "none", "--json", "-")
SMALL = ("--memory-limit", "160k")
SEPARATE: Any = {"mix_stderr": False} if "mix_stderr" in signature(CliRunner).parameters else {}


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch) -> Path:
    """The same rows in every format, in the current folder, and an empty one for what is spilt."""
    spilt = tmp_path / "spilt"
    spilt.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(spilt))
    monkeypatch.chdir(tmp_path)
    PROBLEM.to_toml("fraud.toml")
    with duckdb.connect() as connection:
        connection.register("given", TABLE)
        connection.execute("COPY (FROM given) TO 'rows.csv' (HEADER)")
        connection.execute("COPY (FROM given) TO 'rows.jsonl' (FORMAT json)")
    pyarrow.parquet.write_table(TABLE.slice(0, 2500), "part-1.parquet")
    pyarrow.parquet.write_table(TABLE.slice(2500), "part-2.parquet")
    pyarrow.parquet.write_table(TABLE, "rows.parquet")
    pyarrow.feather.write_feather(TABLE, "rows.arrow", compression="uncompressed")
    return tmp_path


def run(name: str, *arguments: str, stdin: bytes | None = None) -> Result:
    told = ["evaluate", name, "-p", "fraud.toml", *arguments]
    return CliRunner(**SEPARATE).invoke(command, told, input=stdin)


def contents(done: Result) -> Any:
    """The report, except what tallied its rows, and the checksum, which knows every last digit."""
    data = json.loads(done.stdout)
    data.pop("checksum")
    data["assumptions"].pop("engine")
    for rule in data["rules"].values():
        rule.pop("map")  # blocks of one value may be parted otherwise, by rounding
    return data


def assert_close(first: Any, other: Any) -> None:
    if isinstance(first, dict):
        assert set(first) == set(other)
        for name in first:
            assert_close(first[name], other[name])
    elif isinstance(first, list):
        assert len(first) == len(other)
        for mine, yours in zip(first, other, strict=True):
            assert_close(mine, yours)
    else:
        assert first == (
            pytest.approx(other, rel=1e-9, abs=1e-9) if isinstance(other, float) else other
        )


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["rows.csv", "rows.jsonl", "rows.parquet", "rows.arrow", "part-*.parquet", "-"]
)
def test_every_format_beyond_the_limit_gives_the_report_of_the_arrays(folder, name):
    stdin = Path("rows.csv").read_bytes() if name == "-" else None
    done = run(name, *MODELS, "--clusters", "round", *FAST, *SMALL, stdin=stdin)
    assert done.exit_code == 0, done.stderr
    plain = run("rows.parquet", *MODELS, "--clusters", "round", *FAST)
    assert_close(contents(done), contents(plain))
    called = "standard input" if name == "-" else name
    assert done.stderr.startswith(
        f"stakes: guessed from {called}: truth in column truth.\n"
        f"stakes: the columns of the 6,000 rows of {called} need 192,000 bytes, which is beyond "
        f"the limit of 163,840; they are tallied inside the engine.\n"
    )
    assert list((folder / "spilt").iterdir()) == []


def test_a_column_may_be_both_numbers_and_labels():
    asked = ("--truth", "truth", "--model", "good", "--weights", "site", "--by", "site")
    for name in ("rows.csv", "rows.parquet"):
        done, plain = run(name, *asked, *FAST, *SMALL), run(name, *asked, *FAST)
        assert done.exit_code == 0, done.stderr
        assert_close(contents(done), contents(plain))


def test_several_groupings_and_a_level_give_the_report_of_the_arrays():
    groups = ("--by", "did", "--by", "site", "--clusters", "round")
    asked = ("--model", "good", *groups, "--level", "0.8")
    done, plain = run("rows.csv", *asked, *FAST, *SMALL), run("rows.csv", *asked, *FAST)
    assert done.exit_code == 0, done.stderr
    data = contents(done)
    assert_close(data, contents(plain))
    slices = [(group["by"], group["group"]) for group in data["slices"]]
    assert slices == [("did", "approve"), ("did", "review"), *(("site", k) for k in (8, 9, 10))]
    assert data["assumptions"]["level"] == 0.8


def test_an_audit_beyond_the_limit_prints_the_same():
    told = ["audit", "rows.csv", "-p", "fraud.toml", "--model", "good", "--model", "poor"]
    plain = CliRunner(**SEPARATE).invoke(command, [*told, "--calibrate", "none"])
    done = CliRunner(**SEPARATE).invoke(command, [*told, "--memory-limit", "10k"])
    assert done.stdout == plain.stdout
    assert "tallied inside the engine, and nothing is recalibrated." in done.stderr


@pytest.mark.parametrize("calibrate", [(), ("--calibrate", "isotonic")])
def test_what_was_left_out_is_in_the_report(calibrate):
    done = run("rows.csv", *MODELS, *calibrate, "--replicates", "20", *SMALL)
    assert done.exit_code == 0, done.stderr
    assert "Recalibration was left out" in " ".join(done.stdout.split())


def test_bad_rows_and_too_many_clusters_are_one_sentence_and_exit_code_two():
    done = run("rows.csv", "--truth", "did", *MODELS, *SMALL)
    assert done.exit_code == 2
    assert "must hold the classes legit, fraud in every row; 6000 of 6000 rows" in done.stderr
    done = run("rows.csv", *MODELS, "--clusters", "round", "--memory-limit", "1k")
    assert done.exit_code == 2
    assert "Raise it, or name coarser groups and clusters." in done.stderr


def test_a_file_that_breaks_off_is_one_sentence(folder):
    lines = Path("rows.csv").read_text().splitlines()
    many = [*lines, *lines[1:] * 6, "fraud,not a number,0.5,review,9,1"]
    Path("torn.csv").write_text("\n".join(many))
    done = run("torn.csv", "--model", "good", *SMALL)
    assert done.exit_code == 2
    assert "torn.csv" in done.stderr
    assert "Traceback" not in done.stderr
    assert list((folder / "spilt").iterdir()) == []


ROWS = """
COPY (SELECT CASE WHEN y THEN 'fraud' ELSE 'legit' END AS truth,
    1 / (1 + exp(4.0 - CASE WHEN y THEN 5.5 ELSE 0 END - 3 * a)) AS forest, b AS logistic
FROM (SELECT random() < 0.03 AS y, random() AS a, random() AS b FROM range(5_000_000)))
TO 'many.parquet' (FORMAT parquet)
"""


# A process begins with the peak of the one that started it: this one is small.
MEASURED = """
import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""


@pytest.mark.slow
def test_five_million_rows_take_less_memory_than_their_columns_as_arrays_would():
    duckdb.execute(ROWS)
    models = ["--model", "forest", "--model", "logistic"]
    told = ["evaluate", "many.parquet", "-p", "fraud.toml", *models, "--memory-limit", "30MiB"]
    done = subprocess.run(
        [sys.executable, "-c", MEASURED, sys.executable, "-m", "stakes", *told],
        capture_output=True,
        text=True,
        check=True,
    )
    *words, peak = done.stdout.split()
    assert "off by at most" in " ".join(words)
    assert int(peak) < 400 * 1024  # kilobytes; arrays would take 1 GiB to evaluate


@pytest.mark.slow
def test_the_engine_and_the_key_are_options():
    asked = ("--model", "good", "--calibrate", "isotonic", "--key", "round", "--json", "-")
    done, plain = (
        run("rows.parquet", *asked, "--engine", engine) for engine in ("duckdb", "numpy")
    )
    assert done.exit_code == 0, done.stderr
    assert json.loads(done.stdout)["assumptions"]["engine"] == "duckdb"
    data, expected = contents(done), contents(plain)
    for report in (data, expected):
        report.pop("joint")  # which needs rows, and that is said
        report["caveats"] = [some for some in report["caveats"] if some["kind"] != "left out"]
    assert_close(data, expected)
    assert "folds by key" in contents(done)["assumptions"]["calibrator"]


def test_a_master_without_spark_is_refused():
    done = run("rows.parquet", *MODELS, "--master", "local[2]")
    assert done.exit_code == 2
    assert "--master must come with --engine spark" in done.stderr
