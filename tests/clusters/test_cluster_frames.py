"""Frames of Dask and Spark: the same checks as for all other libraries, and what stays inside."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import narwhals.stable.v2 as nw
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest

from engine_checks import CHECKS, GAPS, Columns, check_gaps_are_counted
from engine_decisions import check_bayes_decisions, check_gaps_have_no_decision, check_rule
from engine_reports import check_engine, check_fits, rows

dd = pytest.importorskip("dask.dataframe")
pytest.importorskip("pyspark")

ENGINES = ("dask", "spark")


def table(columns: Columns) -> Any:
    return pa.table({name: pa.array(values) for name, values in columns.items()})


@pytest.fixture
def makers(spark) -> dict[str, Callable[[Columns], Any]]:
    return {
        "dask": lambda columns: dd.from_pandas(pd.DataFrame(columns), npartitions=2),
        "spark": lambda columns: spark.createDataFrame(table(columns)),
    }


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("check", CHECKS, ids=lambda one: one.__name__)
def test_tallies_are_those_of_arrays(makers, engine, check):
    check(makers[engine])


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("what", GAPS)
def test_what_is_missing_is_counted_and_refused(makers, engine, what):
    check_gaps_are_counted(makers[engine], what)


@pytest.mark.parametrize("engine", ENGINES)
def test_rows_are_the_arrays(makers, engine):
    check_engine(makers[engine](rows(20_000)), "numpy", 20_000)


def test_dask_tallies_the_report_of_the_arrays(makers):
    check_engine(makers["dask"](rows(20_000)), "dask", 20_000)


def test_spark_tallies_the_report_of_the_arrays_and_sends_nothing_but_tallies(
    spark, tmp_path, monkeypatch
):
    """No function of Python runs in a plan, and every plan that is collected ends in sums."""
    collect, plans, sizes = nw.LazyFrame.collect, [], []

    def watched(self: Any, *given: Any, **asked: Any) -> Any:
        plans.append(self.to_native()._jdf.queryExecution().optimizedPlan().toString())
        found = collect(self, *given, **asked)
        sizes.append(len(found))
        return found

    pyarrow.parquet.write_table(table(rows(100_000)), tmp_path / "rows.parquet")
    frame = spark.read.parquet(str(tmp_path / "rows.parquet"))
    monkeypatch.setattr(nw.LazyFrame, "collect", watched)
    check_engine(frame, "spark", 100_000)
    assert len(plans) == 5  # the number of rows, what is wrong, two models, all decisions
    for plan in plans:
        assert "Python" not in plan
        assert "Pandas" not in plan
        assert plan.lstrip().startswith(("Aggregate", "GlobalLimit"))
        assert plan.count("Aggregate [") == 1
    assert max(sizes) < 10_000


@pytest.mark.parametrize("engine", ENGINES)
def test_decisions_are_a_column_of_the_frame(makers, engine):
    check_bayes_decisions(makers[engine], "three decisions")
    check_bayes_decisions(makers[engine], "costs of every case")
    check_rule(makers[engine], "an isotonic map")
    check_gaps_have_no_decision(makers[engine])


def test_what_is_fitted_out_of_fold_is_the_same_in_memory_and_in_spark(spark, tmp_path):
    pyarrow.parquet.write_table(table(rows(20_000)), tmp_path / "rows.parquet")
    frame = spark.read.parquet(str(tmp_path / "rows.parquet"))
    check_fits(frame, "spark", "isotonic", 20_000)
