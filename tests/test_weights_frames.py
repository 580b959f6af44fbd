"""Weights and copies as columns of frames and files, in memory, in engines, on the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("click")
pytest.importorskip("duckdb")
pytest.importorskip("narwhals")
pytest.importorskip("pyarrow")

import pyarrow as pa
import pyarrow.csv
from click.testing import CliRunner

from stakes import Columns, Decisions, InputError, Problem, Report, evaluate_frame
from stakes.cli.commands import stakes as command

RNG = np.random.default_rng(12)
N = 600
Y = (RNG.random(N) < 0.2).astype(int)
P = np.clip(0.2 + 0.4 * (Y - 0.2) + 0.2 * RNG.standard_normal(N), 0.01, 0.99).round(3)
OLD = (P + 0.1 * RNG.standard_normal(N) > 0.3).astype(int)
TIMES = np.where(OLD == 1, 1, RNG.choice([5, 10], N))
COLUMNS = {"label": Y, "p": P, "old": OLD, "n": TIMES, "seven": np.full(N, 7)}
COLUMNS |= {"amount": RNG.lognormal(2, 0.5, N).round(1), "site": np.arange(N) % 3}
MODELS: Any = {"new": "p", "old": Decisions("old")}
ALIKE, BY_CASE = Problem([[0, 2], [18, 0]]), Problem([[0, 2], ["amount", 0]])


def numbers(report: Report) -> Any:
    each = [(s.cost, s.normalized) for s in report.systems]
    return np.array([[part.value, part.low, part.high] for pair in each for part in pair])


def read(frame: Any, problem: Problem = ALIKE, **options: Any) -> Report:
    named: dict[str, Any] = {"y_true": "label", "models": MODELS, "calibrator": None}
    return evaluate_frame(frame, problem, **named, **options)


@pytest.mark.parametrize("problem", [ALIKE, BY_CASE], ids=["alike", "by case"])
@pytest.mark.parametrize(
    "options", [{"weights": "n"}, {"copies": "n"}, {"weights": "seven"}], ids=str
)
def test_engines_take_weights_for_strata_and_copies_for_rows_as_arrays_do(problem, options):
    table = pa.table(COLUMNS)
    expected = read(table, problem, engine="numpy", **options)
    for engine in ("duckdb", "pyarrow"):
        report = read(table, problem, engine=engine, **options)
        np.testing.assert_allclose(numbers(report), numbers(expected), rtol=1e-6)
        assert report.assumptions.weighted == expected.assumptions.weighted
        assert report.assumptions.copied == expected.assumptions.copied
        kinds = {c.kind for c in expected.caveats if "weights" in c.kind}
        assert {c.kind for c in report.caveats if "weights" in c.kind} == kinds
    times = TIMES if "copies" in options else np.ones(N, dtype=int)
    rows = pa.table({name: np.repeat(column, times) for name, column in COLUMNS.items()})
    repeated = numbers(read(rows, problem, engine="numpy"))
    is_same = options != {"weights": "n"}
    assert np.allclose(numbers(expected), repeated, rtol=1e-9) == is_same


def test_slices_of_an_engine_have_strata_of_their_own():
    table = pa.table(COLUMNS)
    arrays, engine = (
        read(table, weights="n", by="site", engine=name) for name in ("numpy", "duckdb")
    )
    for ours, theirs in zip(arrays.slices, engine.slices, strict=True):
        for first, second in zip(ours.costs, theirs.costs, strict=True):
            assert (first.cost.low, first.cost.high) == pytest.approx(
                (second.cost.low, second.cost.high)
            )


@pytest.mark.parametrize("engine", ["numpy", "duckdb"])
def test_copies_that_are_fractions_are_refused_with_the_name_of_the_column(engine):
    table = pa.table(COLUMNS)
    with pytest.raises(InputError, match=r"copies \(column 'p' of .* whole numbers.*weights="):
        read(table, copies="p", engine=engine)
    with pytest.raises(InputError, match="weights and copies must not both"):
        read(table, copies="n", weights="seven", engine=engine)


def test_columns_and_the_command_line_name_copies(tmp_path: Path):
    pyarrow.csv.write_csv(pa.table(COLUMNS), tmp_path / "rows.csv")
    ALIKE.to_toml(tmp_path / "problem.toml")
    columns = Columns.guess(pa.table(COLUMNS), ALIKE, models={"new": "p"}, copies="n")
    assert columns.copies == "n"
    options = [
        "--problem",
        "problem.toml",
        "--model",
        "new=p",
        "--calibrate",
        "none",
        "--json",
        "-",
    ]
    arguments = [tmp_path / "rows.csv", "--truth", "label", *options]
    arguments[3 + options.index("problem.toml")] = tmp_path / "problem.toml"
    for option in ("copies", "weights"):
        result = CliRunner().invoke(command, ["evaluate", *map(str, arguments), f"--{option}", "n"])
        assert result.exit_code == 0, result.output
        text = result.output[result.output.index("{") :]
        assumed = json.JSONDecoder().raw_decode(text)[0]["assumptions"]
        assert assumed["copied"] is (option == "copies")
