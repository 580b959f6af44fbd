"""Equal values make equal slices, whatever holds them: the same names, order and costs."""

from __future__ import annotations

import datetime as dt
import json
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
from pyarrow import feather, parquet

from slice_values import (
    COLUMNS,
    LEVELS,
    PROBLEM,
    QUICK,
    REFUSED,
    ROWS,
    SLICES,
    ZONE,
    N,
    check_order,
    check_refused,
    check_slices,
    check_tallies,
    expected,
    moment,
    shown,
    spread,
)
from stakes import Counts, Decisions, InputError, LossMoments, Problem, _check, evaluate

Columns = dict[str, list[Any]]
Make = Callable[[Columns, Path], Any]


def table(columns: Columns) -> Any:
    """The columns with types of their own; Arrow does not look for integers beyond 63 bits."""
    wide = {"beyond 63 bits": pa.uint64()}
    return pa.table({name: pa.array(values, wide.get(name)) for name, values in columns.items()})


def written(suffix: str, write: Callable[[Any, str], object]) -> Make:
    def make(columns: Columns, folder: Path) -> str:
        write(table(columns), path := str(folder / f"rows.{suffix}"))
        return path

    return make


def copied(rows: Any, path: str) -> None:
    duckdb.connect().from_arrow(rows).query("rows", f"COPY rows TO '{path}'")


def as_json(rows: Any, path: str) -> None:
    """Decimals as numbers, and times as the standard library writes them."""

    def plain(value: Any) -> Any:
        return float(value) if isinstance(value, Decimal) else value.isoformat()

    lines = (json.dumps(row, default=plain) for row in rows.to_pylist())
    Path(path).write_text("\n".join(lines))


def arrow_backed(columns: Columns) -> Any:
    return table(columns).to_pandas(types_mapper=pd.ArrowDtype)


# A new representation is one line: how columns become a frame or a file, and who tallies it.
FORMS: dict[str, tuple[Make, tuple[str | None, ...]]] = {
    "pandas": (lambda columns, _: pd.DataFrame(columns), (None, "pandas", "duckdb")),
    "pandas, objects": (
        lambda columns, _: pd.DataFrame(columns, dtype=object).astype({"y": int, "did": int}),
        (None, "pandas"),
    ),
    "pandas, nullable": (
        lambda columns, _: pd.DataFrame(columns).convert_dtypes(),
        (None, "pandas", "duckdb"),
    ),
    "pandas, Arrow": (lambda columns, _: arrow_backed(columns), (None, "pandas", "duckdb")),
    "Polars": (lambda columns, _: pl.DataFrame(table(columns)), (None, "polars", "duckdb")),
    "Polars, lazy": (lambda columns, _: pl.DataFrame(table(columns)).lazy(), (None, "polars")),
    "PyArrow": (lambda columns, _: table(columns), (None, "pyarrow", "duckdb")),
    "DuckDB": (lambda columns, _: duckdb.connect().from_arrow(table(columns)), (None, "duckdb")),
    "Parquet": (written("parquet", parquet.write_table), (None, "duckdb")),
    "Arrow file": (written("arrow", feather.write_feather), (None, "duckdb")),
    "CSV by DuckDB": (written("csv", copied), (None, "duckdb")),
    "CSV by pandas": (
        written("csv", lambda rows, path: rows.to_pandas().to_csv(path, index=False)),
        (None, "duckdb"),
    ),
    "CSV by Polars": (
        written("csv", lambda rows, path: pl.DataFrame(rows).write_csv(path)),
        (None, "duckdb"),
    ),
    "JSON by DuckDB": (written("json", copied), (None, "duckdb")),
    "JSON by Python": (written("jsonl", as_json), (None, "duckdb")),
}


OTHERS = ("CSV by Polars", "CSV by DuckDB", "JSON by Python", "pandas, nullable")
PAIRS = [
    pytest.param(form, engine, marks=[pytest.mark.slow] * (form in OTHERS))
    for form, (_, engines) in FORMS.items()
    for engine in engines
]


@pytest.mark.parametrize(("form", "engine"), PAIRS)
def test_equal_values_make_equal_slices(form, engine, tmp_path):
    make, _ = FORMS[form]
    check_slices(make(COLUMNS, tmp_path), list(SLICES), engine=engine)


QUICKLY = ("Polars, lazy", "DuckDB", "Parquet")


@pytest.mark.parametrize(
    "form",
    [form if form in QUICKLY else pytest.param(form, marks=pytest.mark.slow) for form in FORMS],
)
def test_equal_values_make_equal_groups_of_tallies(form, tmp_path):
    make, _ = FORMS[form]
    check_tallies(make(COLUMNS, tmp_path), list(SLICES))


ARRAYS: dict[str, Callable[[list[Any]], Any]] = {
    "lists": list,
    "objects of numpy": lambda values: np.array(values, dtype=object),
    "numpy": lambda values: np.array(values, dtype=np.uint64 if 2**64 - 1 in values else None),
    "series of pandas": pd.Series,
    "series of Polars": lambda values: pl.Series(values, strict=False),
}


@pytest.mark.parametrize("array", ARRAYS)
def test_equal_values_in_arrays_make_equal_slices(array):
    by = {kind: ARRAYS[array](COLUMNS[kind]) for kind in SLICES}
    report = evaluate(ROWS["y"], {"m": Decisions(ROWS["did"])}, PROBLEM, by=by, **QUICK)
    assert shown(report) == {kind: expected(kind) for kind in SLICES}


def test_large_numbers_beside_gaps_are_not_rounded():
    values = spread([2**60 + 1, 2**60, None])
    nullable = pd.Series(values, dtype="Int64")
    for array in (list(values), pl.Series(values), pa.array(values), nullable):
        assert _check.groups("by", array).labels == (2**60, 2**60 + 1, "(missing)")


IN_CSV: dict[str, tuple[list[str], list[Any]]] = {
    "digits beyond 128 bits": (["1" * 40, "1" * 39 + "2"], ["1" * 40, "1" * 39 + "2"]),
    "decimals beyond 53 bits": (["9007199254740993.00", "9007199254740992.00"], [2**53, 2**53 + 1]),
    "nanoseconds": (
        ["2026-01-05 12:00:00.000000002", "2026-01-05 12:00:00.000000001"],
        ["2026-01-05T12:00:00.000000001", "2026-01-05T12:00:00.000000002"],
    ),
    "times finer than microseconds": (
        ["12:00:00.0000002", "12:00:00.0000001"],
        ["12:00:00.0000001", "12:00:00.0000002"],
    ),
    "nan of Polars": (["NaN", "2.0", "1.0"], [1, 2, "(missing)"]),
    "nan of DuckDB": (["nan", "2", "1"], [1, 2, "(missing)"]),
    "nan beside words": (["nan", "2", "b"], ["2", "b", "nan"]),
}


@pytest.mark.parametrize("engine", [None, "duckdb"])
@pytest.mark.parametrize("kind", IN_CSV)
def test_texts_in_a_file_that_differ_remain_different_slices(kind, engine, tmp_path):
    values, order = IN_CSV[kind]
    copied(table({**ROWS, "g": spread(values)}), path := str(tmp_path / "rows.csv"))
    check_order(path, "g", order, engine=engine)


MOMENT = pd.Timestamp("2026-01-05")
OBJECTS: dict[str, tuple[Any, list[Any]]] = {
    "decimals": (
        pd.Series(spread([Decimal(2**53 + 1), Decimal(2**53)])),
        [2**53, 2**53 + 1],
    ),
    "whole numbers beside gaps": (
        pd.Series(spread([2**53 + 1, 2**53, None]), dtype=object),
        [2**53, 2**53 + 1, "(missing)"],
    ),
    "periods": (
        pd.Series(spread([pd.Period("2026-02"), pd.Period("2026-01"), None])),
        ["2026-01", "2026-02", "(missing)"],
    ),
    "times that differ by a nanosecond": (
        pd.Series(spread([MOMENT + pd.Timedelta(2), MOMENT + pd.Timedelta(1)]), dtype=object),
        ["2026-01-05T00:00:00.000000001", "2026-01-05T00:00:00.000000002"],
    ),
    "times in several zones": (
        pd.Series(spread([moment(12, 0, 0, ZONE), moment(11, 0, 0, dt.UTC)]), dtype=object),
        ["2026-01-05T11:00Z"],
    ),
    "categories of fractions": (
        pd.Series(pd.Categorical(spread([0.5, 1.0, None, 10.25]), [10.25, 0.5, 1.0])),
        ["10.25", "0.5", "1.0", "(missing)"],
    ),
    "categories of intervals": (
        pd.Series(pd.cut(spread([5, 15, 25]), [0, 10, 20, 30])),
        ["(0, 10]", "(10, 20]", "(20, 30]"],
    ),
    "intervals": (
        pd.Series(pd.arrays.IntervalArray.from_tuples(spread([(1, 2), (0, 1), None]))),
        ["(0.0, 1.0]", "(1.0, 2.0]", "(missing)"],
    ),
    "categories of periods": (
        pd.Series(pd.Categorical(spread([pd.Period("2026-02"), pd.Period("2026-01")]))),
        ["2026-01", "2026-02"],
    ),
    "categories of durations": (
        pd.Series(pd.Categorical(spread([pd.Timedelta("2h"), pd.Timedelta("1h")]))),
        ["0 days 01:00:00", "0 days 02:00:00"],
    ),
}


@pytest.mark.parametrize("engine", [None, "pandas", "duckdb"])
@pytest.mark.parametrize("kind", OBJECTS)
def test_what_pandas_holds_as_objects_makes_the_same_slices_in_every_engine(kind, engine):
    values, order = OBJECTS[kind]
    check_order(pd.DataFrame({**ROWS, "g": values}), "g", order, engine=engine)


class Opaque:
    """An object that has an order, but no text."""

    def __lt__(self, other: Opaque) -> bool:
        return id(self) < id(other)


OPAQUE = spread([Opaque(), Opaque()])


@pytest.mark.parametrize("array", ["lists", "objects of numpy", "series of pandas"])
def test_objects_without_a_text_of_their_own_are_refused(array):
    with pytest.raises(InputError, match=r"by must hold labels.*one is Opaque.*make text of them"):
        _check.groups("by", ARRAYS[array](OPAQUE))


@pytest.mark.parametrize("engine", [None, "polars", "duckdb"])
@pytest.mark.parametrize("values", [OPAQUE, spread(["x", "y"])])
def test_objects_of_polars_are_refused_by_every_engine(values, engine):
    frame = pl.DataFrame({**ROWS, "g": pl.Series(values, dtype=pl.Object)})
    check_refused(frame, "g", engine=engine)


@pytest.mark.parametrize("text", ["inf", "-inf", "Inf"])
def test_infinite_numbers_are_refused_in_files_as_in_memory(text, tmp_path):
    copied(table({**ROWS, "g": spread([text, "1.0"])}), path := str(tmp_path / "rows.csv"))
    for rows in (path, pd.DataFrame({**ROWS, "g": spread([float(text), 1.0])})):
        for engine in (None, "duckdb"):
            check_refused(rows, "g", engine=engine)


MIXED: dict[str, list[Any]] = {
    "dates and times": [dt.date(2026, 1, 5), moment(12, 0), dt.date(2026, 1, 6)],
    "dates and midnights": [dt.date(2026, 1, 5), moment(0, 0)],
    "times with and without a zone": [moment(12, 0), moment(12, 0, 0, dt.UTC)],
}


@pytest.mark.parametrize("engine", [None, "pandas", "duckdb"])
@pytest.mark.parametrize("kind", MIXED)
def test_objects_that_have_no_order_are_refused_by_every_engine(kind, engine):
    frame = pd.DataFrame({**ROWS, "g": pd.Series(spread(MIXED[kind]), dtype=object)})
    with pytest.raises(InputError, match=r"column 'g' of the frame.*they are of mixed types"):
        check_order(frame, "g", [], engine=engine)


@pytest.mark.parametrize("form", FORMS)
def test_a_column_of_gaps_is_one_slice(form, tmp_path):
    make, engines = FORMS[form]
    for engine in engines:
        check_order(make({**ROWS, "g": [None] * N}, tmp_path), "g", ["(missing)"], engine=engine)


def test_the_order_of_rows_does_not_matter():
    rng = np.random.default_rng(3)
    rows = table(COLUMNS)
    for _ in range(3):
        mixed = rows.take(rng.permutation(len(rows)))
        for kind in SLICES:
            assert list(_check.groups("by", mixed[kind]).labels) == SLICES[kind][1]


TEXT = {"bytes", "durations", "lists"}  # in text files
OTHERWISE = {"CSV": TEXT, "JSON": TEXT, "Parquet": {"durations"}}  # what has another type there


@pytest.mark.parametrize("form", FORMS)
def test_what_makes_no_slices_is_refused_everywhere(form, tmp_path):
    make, engines = FORMS[form]
    for kind in REFUSED.keys() - OTHERWISE.get(form.partition(" ")[0], set()):
        frame = make({**ROWS, "g": spread(REFUSED[kind])}, tmp_path)
        for engine in engines:
            check_refused(frame, "g", engine=engine)


LEVEL = spread(LEVELS)
ENUM = "ENUM('low', 'mid', 'high', 'never')"
CATEGORICAL = pd.DataFrame({**ROWS, "g": pd.Categorical(LEVEL, categories=[*LEVELS, "never"])})
ENUMERATED = pl.DataFrame({**ROWS, "g": pl.Series(LEVEL, dtype=pl.Enum([*LEVELS, "never"]))})
IN_ORDER: dict[str, tuple[Callable[[], Any], tuple[str | None, ...]]] = {
    "pandas": (lambda: CATEGORICAL, (None, "pandas", "duckdb")),
    "Polars": (lambda: ENUMERATED, (None, "polars", "duckdb")),
    "Polars, lazy": (ENUMERATED.lazy, (None, "polars")),
    "PyArrow": (lambda: pa.Table.from_pandas(CATEGORICAL), (None, "pyarrow", "duckdb")),
    "DuckDB": (
        lambda: duckdb.from_arrow(ENUMERATED.to_arrow()).project(f"y, did, g::{ENUM} AS g"),
        (None, "duckdb"),
    ),
}


@pytest.mark.parametrize("form", IN_ORDER)
def test_categories_keep_their_order(form):
    make, engines = IN_ORDER[form]
    for engine in engines:
        check_order(make(), "g", LEVELS, engine=engine)
    counts = Counts.from_frame(make(), y_true="y", decisions="did", problem=PROBLEM, by="g")
    assert counts.groups == tuple(LEVELS)


@pytest.mark.parametrize("order", [["east", "north", "west"], LEVELS, ["May", "June", "July"]])
def test_categories_without_an_order_stand_as_text_does(order):
    frame = pl.DataFrame({**ROWS, "g": pl.Series(spread(order[::-1]), dtype=pl.Categorical)})
    for engine in (None, "polars", "duckdb"):
        check_order(frame, "g", order, engine=engine)
        check_order(frame[::-1], "g", order, engine=engine)


@pytest.mark.parametrize("form", FORMS)
def test_months_in_words_stand_as_in_the_calendar(form, tmp_path):
    make, engines = FORMS[form]
    months = ["January", "February", "April", "August"]
    frame = make({**ROWS, "g": spread(sorted(months))}, tmp_path)
    for engine in engines:
        check_order(frame, "g", months, engine=engine)


@pytest.mark.parametrize(
    "order",
    [
        ["≤25", "26–35", "36–50", ">50"],
        ["under 40", "40 to 65", "over 65"],
        ["<5", "5-9", "10-14", ">14"],
        ["-5 to 0", "0 to 5", "10 or more"],
        ["2024-Q2", "2024-Q10", "2025-Q1"],
        ["site 1", "site 2", "site 10"],
        ["2", "10", "north"],
        ["A1", "A02", "A3", "B"],
        [
            "January",
            "February",
            "March",
            "April",
            "May",
            "June",
            "July",
            "August",
            "September",
            "October",
            "November",
            "December",
        ],
        ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"],
        ["mar", "Jul.", "SEPT", "dec"],
        ["Nov 2023", "Dec 2023", "Jan 2024", "Feb 2024"],
        ["2023-December", "2024-March", "2024-April"],
        ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"],
        ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"],
        ["low", "medium", "high"],
        ["very low", "low", "moderate", "high", "very high"],
        ["XS", "S", "M", "L", "XL"],
        ["tiny", "small", "medium", "large", "huge"],
        ["August", "autumn", "march"],  # not all are months
    ],
)
@pytest.mark.parametrize("kind", [list, np.array, pl.Series, pa.array])
def test_texts_stand_as_people_count_whatever_the_order_of_rows(order, kind):
    shuffled = np.random.default_rng(3).permutation(order * 3).tolist()
    groups = _check.groups("by", kind(shuffled))
    assert list(groups.labels) == order
    assert [order[code] for code in groups.codes] == shuffled


def test_categories_keep_their_order_and_text_without_a_label_comes_last():
    bands = pd.Categorical(["over 65", "under 40"], ["over 65", "40 to 65", "under 40"])
    assert _check.groups("by", bands).labels == ("over 65", "under 40")
    assert _check.groups("by", [">35", None, "≤25"]).labels == ("≤25", ">35", "(missing)")


@pytest.mark.parametrize("form", FORMS)
def test_losses_of_both_zeros_are_those_of_one_group(form, tmp_path):
    """What the losses of a group share is subtracted before they are squared, once for a group."""
    make, _ = FORMS[form]
    zeros, losses = spread([0.0, -0.0, 1.0]), [1e8 + k % 7 for k in range(N)]
    frame = make({**ROWS, "g": zeros, "loss": losses}, tmp_path)
    if form == "pandas, objects":
        frame = frame.astype({"loss": float})
    moments = LossMoments.from_frame(frame, y_true="y", losses="loss", by="g")
    by = [int(zero) for zero in zeros]
    alike = LossMoments.from_losses(ROWS["y"], [[loss] for loss in losses], by=by)
    assert moments.groups == alike.groups == (0, 1)
    assert moments.sums == pytest.approx(alike.sums, rel=1e-15)
    assert moments.scatter == pytest.approx(alike.scatter, rel=1e-9)


@pytest.mark.parametrize(
    "column",
    [
        pl.Series([1, 2**100], dtype=pl.Int128),
        pa.Array.from_buffers(pa.string(), 2, pa.array([b"\xff", b"a"]).buffers()),
    ],
    ids=["128 bits", "text that is no UTF-8"],
)
@pytest.mark.parametrize("argument", ["by", "clusters", "y_true"])
def test_columns_that_numpy_lacks_are_refused_by_name(column, argument):
    """Polars and Arrow have exceptions of their own for them."""
    rows: dict[str, Any] = {"y_true": [0, 1], argument: column}
    with pytest.raises(InputError, match=rf"^{argument}\b.* must be an array, or what numpy can"):
        evaluate(models={"m": [0.1, 0.9]}, problem=Problem.zero_one(2), calibrator=None, **rows)
