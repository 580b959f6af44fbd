"""The same rows give the same report, whichever library holds them and whichever tallies them."""

from __future__ import annotations

from collections.abc import Callable
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

from engine_reports import (
    CHARGED,
    CHARGED_TWO,
    FAST,
    FITS,
    LIMITED,
    NAMED,
    PROBLEM,
    SCALINGS,
    check_engine,
    check_fits,
    check_many_classes,
    check_prices,
    check_three_classes,
    rows,
    three_classes,
)
from stakes import Decisions, InputError, Limit, Problem, Report, evaluate_frame
from stakes.adapters import refits as newton_sums
from stakes.adapters.refits import why_none
from stakes.calibration import (
    Affine,
    BetaMap,
    FullAffine,
    Isotonic,
    OneVsRestIsotonic,
    Select,
    Temperature,
    VectorScaling,
)
from stakes.report import RECALIBRATED


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
STREAMING = ("Polars, lazy", "DuckDB")
EVERYWHERE = ("isotonic", "affine", "logistic")
QUICK = ("Polars, lazy", "select")
LARGE = pytest.param(100_000, marks=pytest.mark.slow)


@pytest.mark.parametrize("n", [800, LARGE])
def test_pandas_tallies_the_report_of_the_arrays(n):
    check_engine(FRAMES["pandas"](n), "pandas", n)


@pytest.mark.slow
@pytest.mark.parametrize("library", [library for library in FRAMES if library != "pandas"])
def test_every_library_tallies_the_report_of_the_arrays(library):
    check_engine(FRAMES[library](20_000), OWN.get(library, library.lower()), 20_000)


@pytest.mark.slow
@pytest.mark.parametrize("library", FRAMES)
def test_every_library_charges_every_row_its_own_costs(library):
    """`tests/clusters` does so with 100,000 rows, and with Dask and Spark."""
    check_engine(FRAMES[library](20_000), OWN.get(library, library.lower()), 20_000, CHARGED)


@pytest.mark.slow
@pytest.mark.parametrize("library", FRAMES)
def test_rows_of_every_library_are_the_arrays(library):
    check_engine(FRAMES[library](20_000), "numpy", 20_000, CHARGED)


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
        if library in STREAMING or what in EVERYWHERE
    ],
)
def test_what_is_fitted_out_of_fold_is_the_same_in_memory_and_in_the_engine(library, what):
    n = 800 if (library, what) == QUICK else 20_000
    check_fits(FRAMES[library](n), OWN.get(library, library.lower()), what, n)


@pytest.mark.slow
@pytest.mark.parametrize("library", ["DuckDB", "Polars, lazy"])
@pytest.mark.parametrize("what", LIMITED)
def test_prices_of_limits_are_the_same_in_memory_and_in_the_engine(library, what):
    check_fits(FRAMES[library](3000), OWN.get(library, library.lower()), what, 3000)


@pytest.mark.slow
def test_prices_of_several_limits_are_the_same_in_memory_and_in_the_engine():
    check_prices(FRAMES["DuckDB"](3000), "duckdb", 3000)


@pytest.mark.slow
@pytest.mark.parametrize("what", SCALINGS)
def test_maps_of_three_classes_are_fitted_in_the_engine_as_in_memory(what):
    check_three_classes(pl.LazyFrame(three_classes(4000)), "polars", what, 4000)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("calibrator", "n_classes"), [(Affine(), 9), (Select(), 33)], ids=["affine", "one candidate"]
)
def test_maps_of_many_classes_are_fitted_in_the_engine_as_in_memory(
    calibrator, n_classes, monkeypatch
):
    """Some need several passes for each step, where one pass could not make all sums."""
    monkeypatch.setattr(newton_sums, "MOST_SUMS", 40)
    check_many_classes(800, calibrator, n_classes)


def test_what_is_not_fitted_in_engines_is_said_with_what_is():
    told = why_none(Select([Affine(), OneVsRestIsotonic()]), "k", 5)
    assert told is not None
    assert told.endswith("only Affine(), Temperature(), VectorScaling(), FullAffine() are fitted "
                         "there. Name one of these.")  # fmt: skip
    assert why_none(OneVsRestIsotonic(), "k", 5) == told
    for calibrator in (Select(), Affine(), VectorScaling(), FullAffine(), Select([Affine()])):
        assert why_none(calibrator, "k", 5) is None
    assert why_none(Select(), "k", 200) is None


@pytest.mark.slow
def test_duckdb_fits_the_maps_of_three_classes_as_in_memory():
    frame = pa.table({name: pa.array(values) for name, values in three_classes(4000).items()})
    check_three_classes(duckdb.connect().from_arrow(frame), "duckdb", "vector", 4000)


# The choice --------------------------------------------------------------------------------------


def evaluated(frame: Any, problem: Problem = PROBLEM, **extra: Any) -> Report:
    return evaluate_frame(frame, problem, **NAMED, **FAST, **extra)


TRUTH = np.random.default_rng(4).integers(0, 2, 120)
WRITTEN = {  # the same two classes
    "whole numbers": TRUTH,
    "booleans": TRUTH == 1,
    "fractions": TRUTH.astype(float),
    "text": TRUTH.astype(str),
    "text of fractions": np.where(TRUTH, "1.0", "0.0"),
    "text of booleans": np.where(TRUTH, "true", "false"),
}


WAYS: dict[str, tuple[Callable[[pl.DataFrame], Any], str]] = {
    "in memory": (lambda frame: frame, "numpy"),
    "tallied": (lambda frame: frame, "polars"),
    "handed over": (lambda frame: frame, "duckdb"),
    "lazy": (lambda frame: frame.lazy(), "numpy"),
    "pandas": (lambda frame: frame.to_pandas(), "numpy"),
    "PyArrow": (lambda frame: frame.to_arrow(), "numpy"),
}


@pytest.mark.parametrize("classes", [(0, 1), (False, True), (0.0, 1.0), ("0", "1")])
@pytest.mark.parametrize("written", WRITTEN)
@pytest.mark.parametrize(
    "way",
    ["in memory", *(pytest.param(way, marks=pytest.mark.slow) for way in list(WAYS)[1:])],
)
def test_labels_match_by_text_in_memory_as_in_engines(written, classes, way):
    """What one of them refuses, all refuse."""
    frame = pl.DataFrame({"y": WRITTEN[written], "decided": WRITTEN[written][::-1]})
    models = {"m": Decisions("decided")}
    wrong = float(np.mean(np.diff([TRUTH, TRUTH[::-1]], axis=0) != 0))
    as_text = ("whole numbers", "fractions", "text")  # which are written "0" and "1"
    refused = isinstance(classes[0], str) and written not in as_text
    passed, engine = WAYS[way]
    options: dict[str, Any] = {"y_true": "y", "models": models, "engine": engine, **FAST}
    if refused:
        with pytest.raises(InputError, match="column 'y'"):
            evaluate_frame(passed(frame), Problem.zero_one(classes), **options)
        return
    report = evaluate_frame(passed(frame), Problem.zero_one(classes), **options)
    assert report.system("m").cost.value == pytest.approx(wrong, abs=1e-12)


@pytest.mark.parametrize("classes", [(0, 1), ("0", "1")])
@pytest.mark.parametrize("kind", ["category", object])
def test_categories_and_objects_match_as_what_they_hold(kind, classes):
    for values in (TRUTH, TRUTH.astype(str)):
        frame = pd.DataFrame({"y": pd.Series(values).astype(kind), "p": 0.2 + 0.6 * TRUTH})
        report = evaluate_frame(
            frame, Problem.zero_one(classes), y_true="y", models={"m": "p"}, **FAST
        )
        assert report.system("m (as is)").cost.value == 0


@pytest.mark.parametrize("n_decisions", [2, 3])
def test_the_coverage_of_single_precision_is_that_of_the_arrays(n_decisions):
    """One minus a probability differs by a bit between single and double precision."""
    rng = np.random.default_rng(3)
    y = rng.integers(0, 2, 300)
    p = np.clip(rng.normal(0.3 + 0.4 * y, 0.2), 0.01, 0.99).round(3)
    frame = pl.DataFrame({"y": y, "p": p.astype(np.float32)})
    problem = Problem(np.array([[0, 1, 0.15], [5, 0, 0.15]])[:, :n_decisions])
    points = [
        evaluate_frame(frame, problem, y_true="y", models={"m": "p"}, engine=engine, **FAST)
        for engine in ("numpy", "polars", "duckdb")
    ]
    assert len(points[0].coverage) > 3
    for other in points[1:]:
        assert np.allclose(other.coverage, points[0].coverage, rtol=1e-9)


@pytest.mark.parametrize("engine", ["numpy", "own"])
@pytest.mark.parametrize("library", ["pandas", "Polars, lazy"])
def test_tables_of_the_report_are_frames_of_the_library_that_was_evaluated(library, engine):
    home = OWN.get(library, library.lower())
    engine = home if engine == "own" else engine
    report = evaluate_frame(FRAMES[library](300), PROBLEM, **NAMED, engine=engine, **FAST)
    assert type(report.frame("systems")).__module__.partition(".")[0] == home


def test_an_engine_that_is_unknown_or_does_not_hold_the_rows_is_refused():
    with pytest.raises(
        InputError, match=r"^engine must be one of numpy, pandas, .*; got str 'mysql'"
    ):
        evaluated(table(800), engine="mysql")
    with pytest.raises(InputError, match=r"^engine must be one of numpy, polars for the frame"):
        evaluated(pl.LazyFrame(rows(800)), engine="duckdb")
    with pytest.raises(InputError, match=r"one of numpy, pyarrow, duckdb for .*; got 'spark'"):
        evaluated(table(800), engine="spark")


# Every row has its own costs ---------------------------------------------------------------------

OWN_COSTS: dict[str, Any] = {"y_true": "what", "models": {"m": "p_forest"}, **FAST}


@pytest.mark.slow
@pytest.mark.parametrize("clusters", [None, "customer"])
def test_amounts_without_ties_keep_all_sums_and_nearly_all_of_the_spread(clusters):
    n = 3000
    amounts = np.random.default_rng(4).lognormal(3, 0.2, n)
    frame = pl.LazyFrame(rows(n)).with_columns(amount=amounts)
    asked: dict[str, Any] = {**OWN_COSTS, "clusters": clusters}
    summed = evaluate_frame(frame, CHARGED, **asked, engine="polars")
    other = evaluate_frame(frame, CHARGED, **asked)
    assert summed.perfect_cost == pytest.approx(other.perfect_cost, rel=1e-12)
    assert summed.no_model is not None
    assert other.no_model is not None
    pairs = [*zip(summed.systems, other.systems, strict=True), (summed.no_model, other.no_model)]
    for mine, yours in pairs:
        assert mine.counts == yours.counts
        assert mine.sums == pytest.approx(yours.sums, rel=1e-12)
        assert mine.cost.value == pytest.approx(yours.cost.value, rel=1e-12)
        ends = (mine.cost.low, mine.cost.high)
        assert ends == pytest.approx((yours.cost.low, yours.cost.high), rel=2e-4)
    assert any("differ by at most" in caveat.text for caveat in summed.caveats)


@pytest.mark.slow
def test_costs_come_in_wider_bins_where_memory_is_small():
    n = 3000
    amounts = np.random.default_rng(4).lognormal(3, 1.2, n)
    frame = pl.LazyFrame(rows(n)).with_columns(amount=amounts)
    asked: dict[str, Any] = {**OWN_COSTS, "engine": "polars"}
    told = []
    for limit in ("1MiB", "300KiB"):
        report = evaluate_frame(frame, CHARGED_TWO, **asked, memory_limit=limit)
        told += [caveat.text for caveat in report.caveats if "differ by at most" in caveat.text]
    assert len(set(told)) == 2
    with pytest.raises(InputError, match="memory_limit must leave room for the tally"):
        evaluate_frame(frame, CHARGED_TWO, **asked, memory_limit="2KiB")


@pytest.mark.parametrize(
    "calibrator",
    [
        Affine(),
        *(
            pytest.param(each, marks=pytest.mark.slow)
            for each in (BetaMap(), Temperature(), FullAffine(), Isotonic(), Select())
        ),
    ],
    ids=lambda calibrator: type(calibrator).__name__,
)
def test_maps_of_very_many_scores_go_to_the_engine_as_formulas(calibrator):
    """Where every row has its own costs, its posterior decides, and not a few cuts."""
    n = 3000
    score = np.random.default_rng(5).normal(0, 1e-3, n)
    frame = pl.LazyFrame(rows(n)).with_columns(
        p_forest=(pl.col("p_forest") * 0.98 + 0.01 + score).clip(1e-3, 1 - 1e-3)
    )
    asked: dict[str, Any] = {**OWN_COSTS, "calibrator": calibrator, "key": "customer"}
    mapped = evaluate_frame(frame, CHARGED_TWO, **asked, engine="polars")
    expected = evaluate_frame(frame, CHARGED_TWO, **asked, engine="numpy")
    assert not [caveat for caveat in mapped.caveats if caveat.kind == "left out"]
    (first,) = (system for system in mapped.systems if system.rule == RECALIBRATED)
    (second,) = (system for system in expected.systems if system.rule == RECALIBRATED)
    assert first.counts == second.counts
    assert first.cost.value == pytest.approx(second.cost.value, rel=1e-9)


def test_columns_of_costs_that_cannot_be_used_are_counted_and_refused():
    frame = pl.LazyFrame(rows(800)).with_columns(
        amount=pl.when(pl.col("w") > 4).then(None).otherwise(pl.col("amount"))
    )
    missing = int((rows(800)["w"] > 4).sum())
    told = rf"^data\['amount'\] must hold a number for every case, .*; {missing} of 800 do not"
    with pytest.raises(InputError, match=told):
        evaluate_frame(frame, CHARGED, **OWN_COSTS, engine="polars")
    free = int((rows(800)["fee"] == 0).sum())
    by_fee = Problem({"legit": {"pass": 0, "block": 5}, "fraud": {"pass": "9/fee", "block": 0}})
    told = (
        rf"^costs must be numbers in every row, .* 'pass' for 'fraud', '9/fee', .*; {free} of 800"
    )
    with pytest.raises(InputError, match=told):
        evaluate_frame(pl.LazyFrame(rows(800)), by_fee, **OWN_COSTS, engine="polars")


def test_limits_on_decisions_that_need_the_rows_are_refused_where_an_engine_was_asked_for():
    limit = [Limit.share("block", at_most=0.1)]
    refused = "engine must be numpy where the problem has limits; got 'pyarrow': prices are fitted"
    by_key = (
        r"by folds of a key there, and none is named\. .* of whole numbers with key=, .* sample"
    )
    with pytest.raises(InputError, match=rf"{refused} {by_key}"):
        evaluate_frame(table(800), PROBLEM.with_limits(limit), **OWN_COSTS, engine="pyarrow")
    with pytest.raises(InputError, match=rf"{refused} there for two classes only"):
        evaluate_frame(table(800), CHARGED.with_limits(limit), **OWN_COSTS, engine="pyarrow")


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
def test_what_cannot_be_fitted_in_an_engine_is_reported_with_the_remedy():
    asked: dict[str, Any] = {**KEYED, "engine": "pyarrow"}
    told: dict[str, dict[str, Any]] = {
        "folds come from a key then": {"calibrator": Isotonic()},
    }
    for text, extra in told.items():
        report = evaluate_frame(table(800), PROBLEM, **{**asked, **extra})
        caveat = next(caveat.text for caveat in report.caveats if caveat.kind == "left out")
        assert caveat.startswith("Recalibration was left out")
        assert text in caveat
        assert report.assumptions.calibrator is None


@pytest.mark.slow
def test_keys_of_files_are_whole_numbers_to_the_last_digit(tmp_path):
    """Neighbours beyond 2**53 are one number in double precision."""
    rows = table(800)
    large = pa.array(2**60 + np.arange(800))
    rows = rows.append_column("k", large)
    pa.parquet.write_table(rows, tmp_path / "rows.parquet")
    asked: dict[str, Any] = {**KEYED, "calibrator": Isotonic(), "key": "k"}
    expected = evaluate_frame(rows, PROBLEM, **asked)
    for engine in ("numpy", "duckdb"):
        report = evaluate_frame(tmp_path / "rows.parquet", PROBLEM, **asked, engine=engine)
        name = "m (recalibrated)"
        assert report.system(name).counts == expected.system(name).counts


@pytest.mark.slow
def test_too_many_distinct_scores_are_not_fitted_and_that_is_reported():
    fine = pl.LazyFrame(rows(800)).with_columns(p=np.random.default_rng(1).random(800))
    models = {"m": "p", "coarse": "p_forest"}
    asked: dict[str, Any] = {**KEYED, "calibrator": Isotonic(), "key": "customer"}
    asked |= {"models": models, "engine": "polars", "memory_limit": 600 * 64}
    report = evaluate_frame(fine, PROBLEM, **asked)
    told = [caveat.text for caveat in report.caveats if "not fitted out of fold" in caveat.text]
    assert told == [
        "m: it was not fitted out of fold: its distinct scores are beyond the limit of memory."
    ]
    names = {system.name for system in report.systems}
    assert "coarse (recalibrated)" in names
    assert "m (recalibrated)" not in names
