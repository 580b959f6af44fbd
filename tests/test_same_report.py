"""The same rows give the same report, whichever library holds them and whichever tallies them."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("duckdb")
pytest.importorskip("narwhals")
pytest.importorskip("pandas")
pytest.importorskip("polars")
pytest.importorskip("pyarrow")

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet

from engine_reports import FAST, NAMED, PROBLEM, check_engine, rows
from stakes import InputError, Problem, Report, evaluate_frame


def table(n: int) -> pa.Table:
    return pa.table({name: pa.array(values) for name, values in rows(n).items()})


FRAMES = {
    "pandas": lambda n: pd.DataFrame(rows(n)),
    "Polars": lambda n: pl.DataFrame(rows(n)),
    "Polars, lazy": lambda n: pl.LazyFrame(rows(n)),
    "PyArrow": table,
    "a data set of PyArrow": lambda n: pa.dataset.dataset(table(n)),
    "DuckDB": lambda n: duckdb.connect().from_arrow(table(n)),
}
OWN = {"Polars, lazy": "polars", "a data set of PyArrow": "duckdb"}
LARGE = pytest.param(100_000, marks=pytest.mark.slow)


@pytest.mark.parametrize("n", [800, LARGE])
def test_pandas_tallies_the_report_of_the_arrays(n):
    check_engine(FRAMES["pandas"](n), "pandas", n)


@pytest.mark.slow
@pytest.mark.parametrize("library", [one for one in FRAMES if one != "pandas"])
def test_every_library_tallies_the_report_of_the_arrays(library):
    check_engine(FRAMES[library](100_000), OWN.get(library, library.lower()), 100_000)


@pytest.mark.slow
@pytest.mark.parametrize("library", FRAMES)
def test_rows_of_every_library_are_the_arrays(library):
    check_engine(FRAMES[library](100_000), "numpy", 100_000)


@pytest.mark.slow
def test_frames_in_memory_may_be_handed_to_the_embedded_engine(tmp_path):
    check_engine(FRAMES["Polars"](100_000), "duckdb", 100_000)
    pa.parquet.write_table(table(100_000), tmp_path / "rows.parquet")
    check_engine(tmp_path / "rows.parquet", "duckdb", 100_000)


# The choice --------------------------------------------------------------------------------------


def evaluated(frame: Any, problem: Problem = PROBLEM, **extra: Any) -> Report:
    return evaluate_frame(frame, problem, **NAMED, **FAST, **extra)


def test_an_engine_that_is_none_or_does_not_hold_the_rows_is_refused():
    with pytest.raises(InputError, match=r"^engine must be one of numpy, pandas, .*; got 'mysql'"):
        evaluated(table(800), engine="mysql")
    with pytest.raises(InputError, match=r"^engine must be numpy or polars, which holds the rows"):
        evaluated(pl.LazyFrame(rows(800)), engine="duckdb")
    with pytest.raises(InputError, match=r"^engine must be numpy or pyarrow, .*; got 'spark'"):
        evaluated(table(800), engine="spark")


def test_costs_of_single_cases_are_refused_where_an_engine_was_asked_for():
    costs = Problem(
        {"legit": {"approve": 0, "block": 5}, "fraud": {"approve": "w + 1", "block": 0}}
    )
    models = {"forest": "p_forest"}
    asked: dict[str, Any] = {"y_true": "what", "models": models, **FAST}
    with pytest.raises(InputError, match="engine must be numpy where every case has its own costs"):
        evaluate_frame(table(800), costs, **asked, engine="pyarrow")
