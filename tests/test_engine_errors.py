"""What an engine raises about the rows of a frame is an InputError at every door."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("narwhals")
pytest.importorskip("duckdb")
pytest.importorskip("pandas")
pytest.importorskip("polars")
pytest.importorskip("pyarrow")

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa

from stakes import (
    Columns,
    Counts,
    InputError,
    LossMoments,
    Problem,
    Rule,
    Scores,
    ScoreTable,
    bayes_decisions,
    evaluate,
    evaluate_frame,
)
from stakes.adapters.engine_work import frame_errors
from stakes.tally import Bins, BitGrid

PROBLEM = Problem.binary(false_alarm=1, miss=9)
Y, P = [0, 1] * 20, [0.1, 0.8] * 20
WORDS = pa.table({"y": Y, "p": ["low", "high"] * 20})
QUICK: dict[str, Any] = {"calibrator": None, "replicates": 2}


def closed() -> Any:
    connection = duckdb.connect()
    relation = connection.sql("SELECT 1 AS y, 0.5::DOUBLE AS p")
    connection.close()
    return relation


def dropped() -> Any:
    connection = duckdb.connect()
    connection.execute("CREATE TABLE rows AS SELECT 1 AS y, 0.5::DOUBLE AS p")
    relation = connection.table("rows")
    connection.execute("DROP TABLE rows")
    return relation


def broken(folder: Path) -> Any:
    path = folder / "rows.parquet"
    path.write_bytes(b"PAR1 and no more")
    return pl.scan_parquet(path)


def cut_short(folder: Path) -> Any:
    """A file that loses its end after its schema was read, at which Polars panics."""
    path = folder / "rows.parquet"
    pl.DataFrame({"y": Y, "p": P}).write_parquet(path)
    frame = pl.scan_parquet(path)
    frame.collect_schema()
    os.truncate(path, 10)
    return frame


def casts() -> Any:
    return pl.LazyFrame(WORDS).with_columns(pl.col("p").cast(pl.Float64))


def maps(function: Callable[[Any], Any]) -> Any:
    column = pl.col("p").map_batches(function, return_dtype=pl.Float64)
    return pl.LazyFrame({"y": Y, "p": P}).with_columns(column)


def elements(function: Callable[[Any], Any]) -> Any:
    column = pl.col("p").map_elements(function, return_dtype=pl.Float64)
    return pl.LazyFrame({"y": Y, "p": P}).with_columns(column)


def conversion() -> Any:
    return duckdb.connect().from_arrow(WORDS).project("y, p::DOUBLE AS p")


# What fails when the rows are read, with its engine; what fails already when the frame is opened.
LATE: dict[str, tuple[Callable[[Path], Any], str, str]] = {
    "a cast of Polars": (lambda _: casts(), "polars", r"InvalidOperationError: conversion from"),
    "a function that answers with other rows": (
        lambda _: maps(lambda scores: scores.head(3)),
        "polars",
        "ShapeError",
    ),
    "a function that answers with text": (
        lambda _: elements(lambda _: "x"),
        "polars",
        "NarwhalsError|SchemaError|ComputeError",
    ),
    "a file that was cut short": (
        cut_short,
        "polars",
        r"PanicException: .*Check that the files behind the frame are whole|ComputeError",
    ),
    "a cast of DuckDB": (lambda _: conversion(), "duckdb", "ConversionException: Conversion Error"),
}
EARLY: dict[str, tuple[Callable[[Path], Any], str, str]] = {
    "a missing CSV file": (
        lambda folder: pl.scan_csv(folder / "none.csv"),
        "polars",
        r"FileNotFoundError: .*none\.csv\. Check the path behind the frame\.$",
    ),
    "a missing Parquet file": (
        lambda folder: pl.scan_parquet(folder / "none.parquet"),
        "polars",
        r"FileNotFoundError: .*none\.parquet\. Check the path",
    ),
    "a broken file": (broken, "polars", "ComputeError: parquet"),
    "a column that is not there": (
        lambda _: pl.LazyFrame({"y": Y}).select("p"),
        "polars",
        "ColumnNotFoundError: .* Collect it to see which step fails",
    ),
    "a closed connection": (
        lambda _: closed(),
        "duckdb",
        r"ConnectionException: .*Keep its connection open until the work is done\.$",
    ),
    "a table that was dropped": (lambda _: dropped(), "duckdb", "CatalogException|Catalog Error"),
}
COLUMNS: dict[str, Any] = {"y_true": "y", "models": {"m": "p"}}
DOORS: dict[str, tuple[str, Callable[[Any], object]]] = {
    "a report": ("frame", lambda frame: evaluate_frame(frame, PROBLEM, **COLUMNS, **QUICK)),
    "a report on scores": (
        "frame",
        lambda frame: evaluate_frame(
            frame, PROBLEM, y_true="y", models={"m": Scores("p")}, **QUICK
        ),
    ),
    "counts": (
        "frame",
        lambda frame: Counts.from_frame(frame, y_true="y", decisions="p", problem=PROBLEM),
    ),
    "a table": ("frame", lambda frame: ScoreTable.from_frame(frame, y_true="y", scores="p")),
    "bins": (
        "frame",
        lambda frame: Bins.from_frame(frame, y_true="y", scores="p", grid=BitGrid(True)),
    ),
    "losses": ("frame", lambda frame: LossMoments.from_frame(frame, y_true="y", losses="p")),
}
OPENING: dict[str, tuple[str, Callable[[Any], object]]] = {
    **DOORS,
    "a guess": ("frame", lambda frame: Columns.guess(frame, PROBLEM)),
    "decisions": ("posteriors", lambda frame: bayes_decisions(frame, PROBLEM, columns="p")),
    "a rule": ("predictions", lambda frame: Rule(PROBLEM).decide(frame, columns="p")),
}


def refused(door: Callable[[Any], object], frame: Any, argument: str, *expected: str) -> None:
    engine, told = expected
    form = rf"^the frame must hold rows that {engine} can read; it raised .*({told})"
    with pytest.raises(InputError, match=form) as caught:
        door(frame)
    assert caught.value.argument == argument
    assert caught.value.__cause__ is not None
    assert str(caught.value).endswith(".")


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("fault", LATE)
def test_errors_of_a_query_are_refused_with_their_cause(fault, door, tmp_path):
    make, engine, told = LATE[fault]
    argument, call = DOORS[door]
    refused(call, make(tmp_path), argument, engine, told)


@pytest.mark.parametrize("fault", LATE)
def test_errors_of_a_query_are_refused_where_the_engine_tallies(fault, tmp_path):
    make, engine, told = LATE[fault]

    def tally(frame: Any) -> None:
        evaluate_frame(frame, PROBLEM, **COLUMNS, **QUICK, engine=engine)

    refused(tally, make(tmp_path), "frame", engine, told)


@pytest.mark.parametrize("door", OPENING)
@pytest.mark.parametrize("fault", EARLY)
def test_frames_that_cannot_be_opened_are_refused_with_their_cause(fault, door, tmp_path):
    make, engine, told = EARLY[fault]
    argument, call = OPENING[door]
    refused(call, make(tmp_path), argument, engine, told)


def test_what_duckdb_cannot_hold_is_refused():
    half = pa.table({"y": Y, "p": pa.array(np.array(P, dtype=np.float16))})

    def tally(frame: Any) -> None:
        evaluate_frame(frame, PROBLEM, **COLUMNS, **QUICK, engine="duckdb")

    refused(tally, half, "frame", "duckdb", "NotImplemented.*or leave engine out")


def test_integers_that_arrow_cannot_hold_are_refused():
    frame = pd.DataFrame({"y": Y, "p": P, "g": pd.Series([10**40, 1] * 20, dtype=object)})

    def tally(frame: Any) -> None:
        evaluate_frame(frame, PROBLEM, **COLUMNS, **QUICK, engine="duckdb")

    refused(tally, frame, "frame", "pandas", "OverflowError.*or leave engine out")


@pytest.mark.parametrize("engine", [None, "pandas", "duckdb"])
def test_groups_with_half_a_character_are_refused(engine):
    frame = pd.DataFrame({"y": Y, "p": P, "g": pd.Series(["\ud800", "a"] * 20, dtype=object)})
    with pytest.raises(InputError, match=r"half of a character|raised UnicodeEncodeError"):
        evaluate_frame(frame, PROBLEM, **COLUMNS, by="g", **QUICK, engine=engine)


def test_columns_that_only_arrow_has_do_not_disturb_duckdb():
    runs = pa.RunEndEncodedArray.from_arrays([20, 40], ["a", "b"])
    spans = pa.array([(1, 2, 3), (1, 1, 1)] * 20, pa.month_day_nano_interval())
    frame = pa.table({"y": Y, "p": P, "runs": runs, "spans": spans})
    report = evaluate_frame(frame, PROBLEM, **COLUMNS, **QUICK, engine="duckdb")
    assert report.system("m").cost == evaluate(Y, {"m": P}, PROBLEM, **QUICK).system("m").cost


def test_decimals_that_are_no_numbers_are_refused():
    frame = pd.DataFrame({"y": Y, "p": [Decimal("0.5"), Decimal("sNaN")] * 20})
    with pytest.raises(InputError, match="'p' of the frame must hold numbers"):
        evaluate_frame(frame, PROBLEM, y_true="y", models={"m": Scores("p")}, **QUICK)


def test_names_that_are_numbers_do_not_disturb_duckdb():
    frame = pd.DataFrame({"y": Y, "p": P, 3: P})
    report = evaluate_frame(frame, PROBLEM, **COLUMNS, **QUICK, engine="duckdb")
    assert report.system("m").cost == evaluate(Y, {"m": P}, PROBLEM, **QUICK).system("m").cost


@pytest.mark.parametrize("engine", [None, "pandas", "duckdb"])
def test_decimals_of_pandas_are_numbers(engine):
    frame = pd.DataFrame({"y": Y, "p": [Decimal(str(p)) for p in P]})
    report = evaluate_frame(frame, PROBLEM, **COLUMNS, **QUICK, engine=engine)
    assert report.system("m").cost == evaluate(Y, {"m": P}, PROBLEM, **QUICK).system("m").cost
    assert isinstance(frame["p"][0], Decimal)


def test_objects_of_polars_that_are_not_needed_do_not_disturb():
    frame = pl.DataFrame({"y": Y, "p": P, "any": pl.Series([object()] * 40, dtype=pl.Object)})
    report = evaluate_frame(frame, PROBLEM, **COLUMNS, **QUICK)
    assert report.system("m").cost == evaluate(Y, {"m": P}, PROBLEM, **QUICK).system("m").cost


def test_decimals_of_pandas_are_numbers_where_rows_are_decided_and_stay_as_they_are():
    """Probabilities, and what a case costs; rows of an index that repeats keep their places."""
    problem = Problem({0: {"wait": 0, "act": "fee"}, 1: {"wait": 9, "act": 0}})
    p, fee = [0.05, 0.5, None, 0.4], [1.0, 20.0, 1.0, 0.5]
    plain = pd.DataFrame({"p": p, "fee": fee}, index=[3, 3, 1, 3])
    exact = plain.map(lambda value: None if np.isnan(value) else Decimal(str(value)))
    for decide in (
        lambda frame: bayes_decisions(frame, problem, columns="p"),
        lambda frame: Rule(problem).decide(frame, columns="p"),
    ):
        decided = decide(exact)
        assert decided["decision"].fillna("?").to_list() == ["wait", "wait", "?", "act"]
        assert decided.drop(columns="decision").equals(exact)
        assert decided.index.to_list() == [3, 3, 1, 3]
        assert decided["decision"].equals(decide(plain)["decision"])


@pytest.mark.parametrize(
    "fault",
    [
        TypeError("our mistake"),
        RuntimeError("ours, too"),
        MemoryError(),
        pa.ArrowMemoryError("malloc of size 8 failed"),
        KeyboardInterrupt(),
        SystemExit(3),
        OSError(errno.ENOSPC, "No space left on device"),
        InputError("weights must hold numbers."),
    ],
    ids=lambda fault: type(fault).__name__,
)
def test_other_errors_pass_through(fault):
    with pytest.raises(type(fault)) as caught, frame_errors("the frame", "polars", "frame"):
        raise fault
    assert caught.value is fault


def test_an_error_of_a_function_in_the_query_passes_through():
    def fails(_: float) -> float:
        raise ZeroDivisionError

    column = pl.col("p").map_elements(fails, return_dtype=pl.Float64)
    frame = pl.LazyFrame({"y": Y, "p": P}).with_columns(column)
    with pytest.raises(ZeroDivisionError):
        evaluate_frame(frame, PROBLEM, **COLUMNS, **QUICK)
