"""Frames of Dask and Spark: the same checks as for all other libraries, and what stays inside."""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from collections.abc import Callable
from typing import Any

import narwhals.stable.v2 as nw
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest
from click.testing import CliRunner

from engine_checks import CHECKS, GAPS, TYPED_CHECKS, Columns, check_gaps_are_counted
from engine_decisions import check_bayes_decisions, check_gaps_have_no_decision, check_rule
from engine_reports import (
    CHARGED,
    PROBLEM,
    assert_close,
    check_engine,
    check_fits,
    check_three_classes,
    rows,
    three_classes,
)
from slice_values import (
    COLUMNS,
    LEVELS,
    ROWS,
    SLICES,
    check_order,
    check_slices,
    check_tallies,
    spread,
)
from stakes import InputError, Problem, evaluate_frame
from stakes.cli.commands import stakes as command

dask = pytest.importorskip("dask")
dd = pytest.importorskip("dask.dataframe")
pytest.importorskip("pyspark")

ENGINES = ("dask", "spark")
TWO = Problem.binary(false_alarm=1, miss=9)


def table(columns: Columns) -> Any:
    return pa.table({name: pa.array(values) for name, values in columns.items()})


@pytest.fixture
def makers(spark) -> dict[str, Callable[[Columns], Any]]:
    return {
        "dask": lambda columns: dd.from_pandas(pd.DataFrame(columns), npartitions=2),
        "spark": lambda columns: spark.createDataFrame(table(columns)),
    }


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_tallies_are_those_of_arrays(makers, engine, check):
    check(makers[engine])


@pytest.mark.parametrize("check", TYPED_CHECKS, ids=lambda check: check.__name__)
def test_columns_that_have_a_type(makers, check):
    check(makers["spark"])


@pytest.mark.parametrize("engine", ENGINES)
def test_partitions_without_rows_change_nothing(makers, engine):
    frame = makers[engine](rows(800))
    if engine == "spark":
        frame = frame.repartition(3).filter("customer >= 0").union(frame.filter("customer < 0"))
    else:
        frame = dd.concat([frame[frame.customer < 0], frame])
    check_engine(frame, engine, 800)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("what", GAPS)
def test_what_is_missing_is_counted_and_refused(makers, engine, what):
    check_gaps_are_counted(makers[engine], what)


@pytest.mark.parametrize("engine", ENGINES)
def test_rows_are_the_arrays(makers, engine):
    check_engine(makers[engine](rows(20_000)), "numpy", 20_000)


def test_other_processes_can_work_on_the_partitions_of_dask(makers):
    """Steps of expressions must survive the way there, as on a cluster."""
    with dask.config.set(scheduler="processes", num_workers=1):
        check_engine(makers["dask"](rows(800)), "dask", 800)


@pytest.mark.parametrize("problem", [PROBLEM, CHARGED], ids=["one cost", "own costs"])
def test_spark_tallies_the_report_of_the_arrays_and_sends_nothing_but_tallies(
    spark, tmp_path, monkeypatch, problem
):
    """No function of Python runs in a plan, and every plan that is collected ends in sums."""
    collect, plans, sizes = nw.LazyFrame.collect, [], []

    def watched(self: Any, *arguments: Any, **asked: Any) -> Any:
        plans.append(self.to_native()._jdf.queryExecution().optimizedPlan().toString())
        collected = collect(self, *arguments, **asked)
        sizes.append(len(collected))
        return collected

    pyarrow.parquet.write_table(table(rows(20_000)), tmp_path / "rows.parquet")
    frame = spark.read.parquet(str(tmp_path / "rows.parquet"))
    monkeypatch.setattr(nw.LazyFrame, "collect", watched)
    check_engine(frame, "spark", 20_000, problem)
    # The number of rows, what is wrong, two models, all decisions; twice the coverage, and twice
    # the columns of the costs; whether there are more than twenty different weights
    assert len(plans) == (10 if problem.columns else 6)
    for plan in plans:
        assert "Python" not in plan
        assert "Pandas" not in plan
        assert plan.lstrip().startswith(("Aggregate", "GlobalLimit"))
        assert plan.count("Aggregate [") == 1
    assert max(sizes) < (20_000 if problem.columns else 10_000)  # few rows are alike


@pytest.mark.parametrize("engine", ENGINES)
def test_decisions_are_a_column_of_the_frame(makers, engine):
    check_bayes_decisions(makers[engine], "three decisions")
    check_bayes_decisions(makers[engine], "costs of every case")
    check_rule(makers[engine], "an isotonic map")
    check_rule(makers[engine], "affine, costs of every case")
    check_rule(makers[engine], "full affine, three classes")
    check_gaps_have_no_decision(makers[engine])


def test_what_is_fitted_out_of_fold_is_the_same_in_memory_and_in_spark(spark, tmp_path):
    pyarrow.parquet.write_table(table(rows(20_000)), tmp_path / "rows.parquet")
    frame = spark.read.parquet(str(tmp_path / "rows.parquet"))
    check_fits(frame, "spark", "isotonic", 20_000)


@pytest.mark.parametrize("engine", ENGINES)
def test_three_classes_give_the_report_of_the_arrays(makers, engine):
    columns = three_classes(4000)
    check_three_classes(makers[engine](columns), engine, "temperature, with a prior", 4000)


def test_the_command_line_has_spark_read_the_files(spark, tmp_path):
    """The session of the tests is active, and stays so."""
    for part in range(2):
        some = table(rows(800)).slice(400 * part, 400)
        pyarrow.parquet.write_table(some, tmp_path / f"part-{part}.parquet")
    PROBLEM.to_toml(tmp_path / "fraud.toml")
    told = [
        *("evaluate", str(tmp_path / "part-*.parquet"), "-p", str(tmp_path / "fraud.toml")),
        *("--model", "forest=p_forest", "--weights", "w", "--truth", "what"),
        *("--calibrate", "none", "--replicates", "20", "--json", "-"),
    ]
    spoken, plain = (
        CliRunner().invoke(command, [*told, *extra])
        for extra in (("--engine", "spark", "--master", "local[2]"), ("--engine", "duckdb"))
    )
    assert spoken.exit_code == 0, spoken.output
    actual, expected = json.loads(spoken.stdout), json.loads(plain.stdout)
    assert actual["assumptions"].pop("engine") == "spark"
    assert expected["assumptions"].pop("engine") == "duckdb"
    assert actual.pop("checksum") != expected.pop("checksum")
    assert_close(actual, expected)
    assert spark.range(3).count() == 3


def test_an_interrupt_ends_the_jobs_of_spark_and_leaves_the_session(spark):
    rows = spark.range(10**11).selectExpr("CAST(id % 2 AS INT) AS y", "rand() AS p")
    jobs = spark.sparkContext.statusTracker()
    threading.Timer(2.0, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        evaluate_frame(
            rows, TWO, y_true="y", models={"m": "p"}, calibrator=None, engine="spark", replicates=2
        )
    while jobs.getActiveJobsIds() and time.monotonic() - start < 30:
        time.sleep(0.1)
    assert time.monotonic() - start < 30  # the rows would take hours
    assert spark.range(3).count() == 3


def test_files_that_spark_cannot_read_are_refused_in_a_sentence(spark, tmp_path):
    told = r"none\.parquet must hold rows that spark can read; it raised AnalysisException: .*path"
    with pytest.raises(InputError, match=told):
        evaluate_frame(
            str(tmp_path / "none.parquet"), PROBLEM, y_true="y", models={"m": "p"}, engine="spark"
        )
    with pytest.raises(InputError, match=r"for Spark to read; the names end in \.arrow"):
        evaluate_frame("rows.arrow", PROBLEM, y_true="y", models={"m": "p"}, engine="spark")


WIDE = {"beyond 63 bits": pa.decimal128(20)}  # integers of Spark have 63 bits


@pytest.mark.parametrize("engine", [None, "spark"])
def test_equal_values_make_equal_slices_in_spark(spark, engine):
    typed = {name: pa.array(values, WIDE.get(name)) for name, values in COLUMNS.items()}
    kinds = [kind for kind in SLICES if kind != "times"]  # Spark has no times of a day
    frame = spark.createDataFrame(pa.table(typed).select([*ROWS, *kinds]))
    check_slices(frame, kinds, engine=engine)
    if engine is None:
        check_tallies(frame, kinds)


@pytest.mark.parametrize("engine", [None, "dask"])
def test_equal_values_make_equal_slices_in_dask(engine):
    """Values that have a type: Dask makes text of other objects."""
    kinds = ["booleans", "whole", "whole, one missing", "whole floats", "moments", "text"]
    frame = pd.DataFrame({name: COLUMNS[name] for name in (*ROWS, *kinds)})
    check_slices(dd.from_pandas(frame, npartitions=2), kinds, engine=engine)
    frame["g"] = pd.Categorical(spread(LEVELS), categories=LEVELS)
    check_order(dd.from_pandas(frame, npartitions=2), "g", LEVELS, engine=engine)


@pytest.mark.parametrize("engine", [None, "spark"])
def test_errors_of_spark_are_refused_with_their_cause(spark, engine):
    frame = spark.createDataFrame(pa.table({"y": [0, 1] * 20, "p": ["low", "high"] * 20}))
    frame = frame.selectExpr("y", "CAST(p AS DOUBLE) AS p")
    told = r"^the frame must hold rows that spark can read; it raised \w+: .*CAST_INVALID_INPUT"
    with pytest.raises(InputError, match=told) as caught:
        evaluate_frame(frame, TWO, y_true="y", models={"m": "p"}, engine=engine)
    assert caught.value.__cause__ is not None
