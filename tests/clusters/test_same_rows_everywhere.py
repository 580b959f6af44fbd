"""The same 100,000 rows give the same report, wherever they are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest

from engine_reports import CHARGED, check_bins, check_engine, rows
from stakes.calibration import Isotonic

dd = pytest.importorskip("dask.dataframe")
pytest.importorskip("pyspark")

N = 100_000
LIBRARIES = {  # with the engine that tallies
    "numpy": "numpy",
    "pandas": "pandas",
    "Polars": "polars",
    "Polars, lazy": "polars",
    "PyArrow": "pyarrow",
    "DuckDB": "duckdb",
    "Dask": "dask",
    "PySpark": "spark",
}


@pytest.fixture(scope="module")
def frames(spark, tmp_path_factory) -> dict[str, Callable[[], Any]]:
    """The rows in every library."""
    columns = rows(N)
    table = pa.table({name: pa.array(values) for name, values in columns.items()})
    path = str(tmp_path_factory.mktemp("rows") / "rows.parquet")
    pyarrow.parquet.write_table(table, path)
    return {
        "numpy": lambda: table,
        "pandas": lambda: pd.DataFrame(columns),
        "Polars": lambda: pl.DataFrame(columns),
        "Polars, lazy": lambda: pl.LazyFrame(columns),
        "PyArrow": lambda: table,
        "DuckDB": lambda: duckdb.connect().from_arrow(table),
        "Dask": lambda: dd.from_pandas(pd.DataFrame(columns), npartitions=3),
        "PySpark": lambda: spark.read.parquet(path),
    }


@pytest.mark.parametrize("library", LIBRARIES)
def test_the_same_rows_give_the_same_report(frames, library):
    """Weights, text labels, ties, three models, four segments, clusters, costs of every case.

    Counts bit for bit, closed forms to 1e-12, maps that are fitted out of fold and what follows
    from them to 1e-9, and what bins say for certain.
    """
    frame = frames[library]()
    check_engine(frame, LIBRARIES[library], N, CHARGED, Isotonic())
    check_bins(frame, N)
