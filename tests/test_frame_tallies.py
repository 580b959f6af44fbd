"""Tallies of the columns of frames: every library sums what arrays hold."""

from __future__ import annotations

from datetime import datetime, time
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

from engine_checks import CHECKS, GAPS, PROBLEM, ROWS, TYPED_CHECKS, check_gaps_are_counted
from stakes import (
    Counts,
    InputError,
    LossMoments,
    Problem,
    ScoreTable,
    auc,
    evaluate_frame,
)
from stakes.ranking import certified
from stakes.tally import Bins, BitGrid


def table(columns: dict[str, Any]) -> pa.Table:
    return pa.table({name: pa.array(values) for name, values in columns.items()})


MAKERS = {
    "pandas": lambda columns: pd.DataFrame(columns),
    "Polars": lambda columns: pl.DataFrame(columns),
    "Polars, lazy": lambda columns: pl.LazyFrame(columns),
    "PyArrow": table,
    "a data set of PyArrow": lambda columns: pa.dataset.dataset(table(columns)),
    "DuckDB": lambda columns: duckdb.connect().from_arrow(table(columns)),
}


def pairs(many: Any) -> list[Any]:
    """Every library with every check; the quick suite has a third of them."""
    return [
        pytest.param(library, case, marks=[pytest.mark.slow] if (i + j) % 3 else [])
        for i, library in enumerate(MAKERS)
        for j, case in enumerate(many)
    ]


@pytest.mark.parametrize(("library", "check"), pairs(CHECKS))
def test_every_library_sums_what_arrays_hold(library, check):
    check(MAKERS[library])


@pytest.mark.parametrize("library", [library for library in MAKERS if library != "pandas"])
@pytest.mark.parametrize("check", TYPED_CHECKS, ids=lambda check: check.__name__)
def test_columns_that_have_a_type(library, check):
    check(MAKERS[library])


@pytest.mark.parametrize("library", MAKERS)
@pytest.mark.parametrize(
    ("labels", "texts"),
    [
        ((time(9, 30), time(12, 0, 5)), ("09:30:00", "12:00:05")),
        ((datetime(2026, 1, 5), datetime(2026, 2, 5)), ("2026-01-05", "2026-02-05")),
    ],
    ids=["times", "days"],
)
def test_times_of_day_and_midnights_are_classes_by_their_text(library, labels, texts):
    problem = Problem([[0, 3, 2], [1, 2, 0]], classes=texts, decisions=["a", "b", "c"])
    frame = MAKERS[library]({"y": [labels[k] for k in (0, 1, 1, 0)], "d": ["a", "b", "c", "b"]})
    counts = Counts.from_frame(frame, y_true="y", decisions="d", problem=problem)
    assert counts.values.tolist() == [[1, 1, 0], [0, 1, 1]]


def test_keys_beyond_63_bits_are_refused(tmp_path):
    large = pa.table(
        {"y": [0, 1] * 20, "p": [0.2, 0.7] * 20, "k": pa.array([2**64 - 1] * 40, pa.uint64())}
    )
    pyarrow.parquet.write_table(large, tmp_path / "rows.parquet")
    for frame in (large, pl.from_arrow(large), tmp_path / "rows.parquet"):
        with pytest.raises(InputError, match=r"^key must hold whole numbers below 2⁶³; the"):
            evaluate_frame(
                frame, Problem.zero_one(2), y_true="y", models={"m": "p"}, key="k", engine="numpy"
            )


@pytest.mark.parametrize(("library", "what"), pairs(GAPS))
def test_what_is_missing_is_counted_and_refused(library, what):
    check_gaps_are_counted(MAKERS[library], what)


def test_files_are_tallied_as_frames_are(tmp_path):
    pyarrow.parquet.write_table(table(ROWS).slice(0, 99), tmp_path / "part-1.parquet")
    pyarrow.parquet.write_table(table(ROWS).slice(99), tmp_path / "part-2.parquet")
    asked: dict[str, Any] = {"y_true": "what", "decisions": "did", "problem": PROBLEM}
    counts = Counts.from_frame(str(tmp_path / "part-*.parquet"), **asked)
    assert counts == Counts.from_decisions(ROWS["what"], ROWS["did"], PROBLEM)


def test_columns_that_are_not_there_or_hold_no_numbers_are_refused():
    frame = table(ROWS)
    with pytest.raises(InputError, match="has no column 'q'"):
        ScoreTable.from_frame(frame, y_true="q", scores="p")
    with pytest.raises(InputError, match="column 'did' of the frame must hold numbers"):
        LossMoments.from_frame(frame, y_true="what", losses="did")
    with pytest.raises(InputError, match="losses must name at least one column"):
        LossMoments.from_frame(frame, y_true="what", losses=[])
    with pytest.raises(InputError, match="positive must be stated unless the labels are 0/1"):
        ScoreTable.from_frame(frame, y_true="what", scores="p")
    with pytest.raises(InputError, match=r"y_true .* must hold two labels, one of them "):
        ScoreTable.from_frame(frame, y_true="what", scores="p", positive="x")
    with pytest.raises(InputError, match=r"by must be .*Name one column"):
        ScoreTable.from_frame(frame, y_true="one", scores="p", by=["site"])  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"bins must be .*BitGrid"):
        ScoreTable.from_frame(frame, y_true="one", scores="p", bins=100)


def test_positives_alone_are_positives():
    rows = {"y": ["ill"] * 3, "s": [0.1, 0.2, 0.2]}
    scores_of_ill = ScoreTable.from_frame(table(rows), y_true="y", scores="s", positive="ill")
    assert scores_of_ill == ScoreTable.from_scores(rows["y"], rows["s"], positive="ill")


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("library", ["Polars, lazy", "PyArrow", "a data set of PyArrow"])
def test_bins_of_a_frame_have_exact_ranks_or_certain_ends(library, weighted):
    rng = np.random.default_rng(8)
    n = 4000
    y = rng.random(n) < 0.2
    rows = {"y": y.astype(int), "p": 0.4 + rng.normal(y, 1, n) / 1e4, "w": rng.random(n) + 0.5}
    exact = ScoreTable.from_scores(rows["y"], rows["p"], weights=rows["w"] if weighted else None)
    frame, more = MAKERS[library](rows), {"weights": "w"} if weighted else {}
    asked: dict[str, Any] = {"y_true": "y", "scores": "p", "grid": BitGrid(True), **more}
    area, each = float(auc(exact)), 16 if weighted else 8
    for limit in (each * n, each * n - 1):
        bins = Bins.from_frame(frame, **asked, memory_limit=limit)
        sure = certified(auc, bins)
        assert sure.low - 1e-12 <= area <= sure.high + 1e-12
        sorted_out = limit == each * n and library != "PyArrow"
        assert (bins.inside is not None) == sorted_out == (sure.high - sure.low < 1e-3)
        assert bins.weights.sum(axis=0) == pytest.approx(exact.class_weights, rel=1e-12)


def test_scores_beyond_probabilities_have_no_place_in_a_grid_of_probabilities():
    frame = MAKERS["DuckDB"]({"y": [0, 1], "p": [0.5, 1.5]})
    with pytest.raises(InputError, match=r"must lie in \[0, 1\].*from 0.5 to 1.5"):
        Bins.from_frame(frame, y_true="y", scores="p", grid=BitGrid(True))
    with pytest.raises(InputError, match=r"grid must be .*BitGrid"):
        Bins.from_frame(frame, y_true="y", scores="p", grid=7)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("weights", "why"),
    [
        ([0.0, 0.0], "positive total"),
        ([1.0, -1.0], "zero"),
        ([1e101, 1.0], "between 1e-100 and"),
        ([1e-101, 0.0], "up"),
    ],
)
def test_weights_that_cannot_be_used_are_refused_as_they_come(weights, why):
    frame = MAKERS["DuckDB"]({"y": [0, 1], "p": [0.5, 0.6], "w": weights})
    with pytest.raises(InputError, match=why):
        ScoreTable.from_frame(frame, y_true="y", scores="p", weights="w")


@pytest.mark.parametrize(
    ("kind", "changed", "message"),
    [
        (LossMoments, {"losses": None}, "losses must be a sequence of labels"),
        (LossMoments, {"losses": {"a": 1}}, "losses must map names to columns, which are text"),
        (LossMoments, {"classes": []}, "classes must be one label at least"),
        (ScoreTable, {"positive": float("inf")}, "positive must be"),
        (ScoreTable, {"positive": 10**400}, "y_true .*must hold two labels, one of them"),
        (ScoreTable, {"frame": []}, "frame must name at least one file; there is none. Name one."),
        (ScoreTable, {"frame": [None]}, "frame must name files by their paths"),
        (ScoreTable, {"frame": None}, "frame must be a frame of .* Pass one of these"),
    ],
)
def test_what_names_no_columns_and_no_rows_is_refused_with_a_remedy(kind, changed, message):
    frame = pl.DataFrame({"y": [0, 1, 1], "s": [0.1, 0.2, 0.3]})
    named = {"frame": frame, "y_true": "y", "losses" if kind is LossMoments else "scores": "s"}
    with pytest.raises(InputError, match=message):
        kind.from_frame(**{**named, **changed})
