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
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet

from engine_reports import FAST, FITS, NAMED, PROBLEM, check_engine, check_fits, rows
from stakes import InputError, Problem, Report, evaluate_frame
from stakes.calibration import Isotonic, Select


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
QUICK = ("Polars, lazy", "isotonic")
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


@pytest.mark.parametrize(
    ("library", "what"),
    [
        pytest.param(library, what, marks=[] if (library, what) == QUICK else [pytest.mark.slow])
        for library in FRAMES
        for what in FITS
    ],
)
def test_what_is_fitted_out_of_fold_is_the_same_in_memory_and_in_the_engine(library, what):
    n = 800 if (library, what) == QUICK else 20_000
    check_fits(FRAMES[library](n), OWN.get(library, library.lower()), what, n)


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


# Keys --------------------------------------------------------------------------------------------

KEYED: dict[str, Any] = {"y_true": "what", "models": {"m": "p_forest"}, **FAST}


def test_keys_that_no_engine_can_use_are_refused():
    gaps = pl.LazyFrame(rows(800)).with_columns(
        k=pl.when(pl.col("w") > 4).then(None).otherwise(pl.col("customer"))
    )
    missing = int((rows(800)["w"] > 4).sum())
    told = rf"^key \(column 'k' of the frame\) must hold a whole .*; {missing} of 800 are missing"
    with pytest.raises(InputError, match=told):
        evaluate_frame(gaps, PROBLEM, **KEYED, key="k", engine="polars")
    with pytest.raises(InputError, match="key must be a column of whole numbers; 'w' of the frame"):
        evaluate_frame(table(800), PROBLEM, **KEYED, key="w")
    with pytest.raises(InputError, match="key must be the column of the clusters 'segment'"):
        evaluate_frame(table(800), PROBLEM, **KEYED, key="customer", clusters="segment")


@pytest.mark.slow
def test_what_cannot_be_fitted_in_an_engine_is_said_with_the_remedy():
    asked: dict[str, Any] = {**KEYED, "engine": "pyarrow"}
    told: dict[str, dict[str, Any]] = {
        "Select chooses by single rows": {"calibrator": Select(), "key": "customer"},
        "folds come from a key then": {"calibrator": Isotonic()},
    }
    for text, extra in told.items():
        found = evaluate_frame(table(800), PROBLEM, **{**asked, **extra})
        (caveat,) = [one.text for one in found.caveats if one.kind == "left out"]
        assert caveat.startswith("Recalibration was left out")
        assert text in caveat
        assert found.assumptions.calibrator is None


@pytest.mark.slow
def test_keys_of_files_are_whole_numbers_to_the_last_digit(tmp_path):
    """Neighbours beyond 2**53 are one number in double precision."""
    given = table(800)
    large = pa.array(2**60 + np.arange(800))
    given = given.append_column("k", large)
    pa.parquet.write_table(given, tmp_path / "rows.parquet")
    asked: dict[str, Any] = {**KEYED, "calibrator": Isotonic(), "key": "k"}
    expected = evaluate_frame(given, PROBLEM, **asked)
    for engine in ("numpy", "duckdb"):
        found = evaluate_frame(tmp_path / "rows.parquet", PROBLEM, **asked, engine=engine)
        own = "m (recalibrated)"
        assert found.system(own).counts == expected.system(own).counts


@pytest.mark.slow
def test_too_many_distinct_scores_are_not_fitted_and_that_is_said():
    fine = pl.LazyFrame(rows(800)).with_columns(p=np.random.default_rng(1).random(800))
    models = {"m": "p", "coarse": "p_forest"}
    asked: dict[str, Any] = {**KEYED, "calibrator": Isotonic(), "key": "customer"}
    asked |= {"models": models, "engine": "polars", "memory_limit": 600 * 64}
    found = evaluate_frame(fine, PROBLEM, **asked)
    told = [one.text for one in found.caveats if "not fitted out of fold" in one.text]
    assert told == [
        "m: it was not fitted out of fold: its distinct scores are beyond the limit of memory."
    ]
    names = {one.name for one in found.systems}
    assert "coarse (recalibrated)" in names
    assert "m (recalibrated)" not in names
