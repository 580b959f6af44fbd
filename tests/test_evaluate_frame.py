"""Columns of frames and files, named once: the same rows give the same report from everywhere."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
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
import pyarrow.parquet

from stakes import (
    Columns,
    Decisions,
    InputError,
    Posteriors,
    Problem,
    Report,
    Rule,
    Scores,
    evaluate,
    evaluate_frame,
)
from stakes.adapters.columns import prediction_columns
from stakes.calibration import Isotonic

N = 240
RNG = np.random.default_rng(14)
FRAUD = RNG.random(N) < 0.3
PROBLEM = Problem(
    [[0, 3, 25], [180, 8, 0]],
    classes=["legit", "fraud"],
    decisions=["approve", "review", "block"],
    prior=[0.9, 0.1],
)
ROWS: dict[str, Any] = {  # a decimal at most, so that many scores are tied
    "what": np.where(FRAUD, "fraud", "legit").tolist(),
    "p_forest": np.clip(0.3 + 0.4 * FRAUD + RNG.normal(0, 0.2, N), 0, 1).round(1),
    "p_legit": np.clip(0.6 - 0.2 * FRAUD + RNG.normal(0, 0.2, N), 0, 1).round(1),
    "old": np.where(RNG.random(N) < 0.3 + 0.3 * FRAUD, "review", "approve").tolist(),
    "raw": RNG.normal(2.0 * FRAUD, 1.0).round(1) * 7 - 3,
    "w": RNG.integers(1, 40, N) / 8,
    "site": RNG.integers(8, 12, N),
    "kind": np.array(["car", "home", None], dtype=object)[RNG.integers(0, 3, N)].tolist(),
    "patient": RNG.integers(0, 60, N),
}
ROWS["p_fraud"] = 1 - ROWS["p_legit"]
TABLE = pa.table({name: pa.array(values) for name, values in ROWS.items()})
MODELS = {
    "forest": "p_forest",
    "multi": Posteriors(["p_fraud", "p_legit"], classes=["fraud", "legit"]),
    "old": Decisions("old"),
    "raw": Scores("raw"),
}
NAMED: dict[str, Any] = {
    "y_true": "what",
    "models": MODELS,
    "weights": "w",
    "by": ["kind", "site"],
    "clusters": "patient",
}
FAST: dict[str, Any] = {"replicates": 20, "calibrator": None, "seed": 3}


def as_relation(folder: Path) -> Any:
    return duckdb.connect().from_arrow(TABLE)


def as_parquet(folder: Path) -> Path:
    pyarrow.parquet.write_table(TABLE, folder / "rows.parquet")
    return folder / "rows.parquet"


def as_glob(folder: Path) -> str:
    pyarrow.parquet.write_table(TABLE.slice(0, 99), folder / "part-1.parquet")
    pyarrow.parquet.write_table(TABLE.slice(99), folder / "part-2.parquet")
    return str(folder / "part-*.parquet")


FRAMES: dict[str, Callable[[Path], Any]] = {
    "pandas": lambda folder: TABLE.to_pandas(),
    "pandas, with an index of its own": lambda folder: TABLE.to_pandas().set_index(
        "patient", drop=False
    ),
    "pandas, sparse": lambda folder: TABLE.to_pandas().astype(
        dict.fromkeys(["p_forest", "raw", "w"], pd.SparseDtype(float))
    ),
    "Polars": lambda folder: pl.DataFrame(ROWS),
    "Polars, lazy": lambda folder: pl.LazyFrame(ROWS),
    "PyArrow": lambda folder: TABLE,
    "DuckDB": as_relation,
    "a path": as_parquet,
    "a glob": as_glob,
    "a list of paths": lambda folder: [as_parquet(folder)],
}


def of_arrays(**extra: Any) -> Report:
    both = np.column_stack([ROWS["p_legit"], ROWS["p_fraud"]])
    models = {
        "forest": ROWS["p_forest"],
        "multi": Posteriors(both),
        "old": Decisions(ROWS["old"]),
        "raw": Scores(ROWS["raw"]),
    }
    by = {"kind": ROWS["kind"], "site": ROWS["site"]}
    asked = {"weights": ROWS["w"], "by": by, "clusters": ROWS["patient"], **FAST, **extra}
    return evaluate(ROWS["what"], models, PROBLEM, **asked)


def test_a_frame_that_names_a_column_twice_is_refused():
    columns = [*TABLE.columns, TABLE.column(0)]
    table = pa.Table.from_arrays(columns, names=[*TABLE.column_names, "p_forest"])
    for frame in (table, table.to_pandas()):
        with pytest.raises(InputError, match="frame must name every column once; 'p_forest' ap"):
            evaluate_frame(frame, PROBLEM, **NAMED, **FAST)


def unnamed(report: Report) -> Report:
    """The report made from arrays, whose rules know no columns."""
    return replace(report, rules=report.rules.with_columns({}))


def contents(report: Report) -> Any:
    """Everything that a report says, except the library of the frame and what was left out."""
    data = json.loads(unnamed(report).to_json())
    del data["checksum"]
    for name in ("frame_library", "engine"):
        data["assumptions"].pop(name, None)
    data["caveats"] = [caveat for caveat in data["caveats"] if caveat["kind"] != "left out"]
    return data


def assert_same(first: Any, other: Any, where: str = "") -> None:
    assert type(first) is type(other), where
    if isinstance(first, dict):
        assert set(first) == set(other), where
        for name in first:
            assert_same(first[name], other[name], f"{where}/{name}")
    elif isinstance(first, list):
        assert len(first) == len(other), where
        for place, pair in enumerate(zip(first, other, strict=True)):
            assert_same(*pair, f"{where}[{place}]")
    elif isinstance(first, float):
        close = 1e-5 if "clear" in where else 1e-9  # the search for a clear flip stops at 1e-6
        assert first == pytest.approx(other, rel=close, abs=close, nan_ok=True), where
    else:
        assert first == other, where


@pytest.mark.parametrize(
    "kind",
    [
        pytest.param(kind, marks=[] if place % 3 == 0 else [pytest.mark.slow])
        for place, kind in enumerate(FRAMES)
    ],
)
def test_the_same_rows_give_the_same_report_from_everywhere(tmp_path, kind):
    report = evaluate_frame(FRAMES[kind](tmp_path), PROBLEM, **NAMED, **FAST)
    assert_same(contents(report), contents(of_arrays()))
    assert {group.by for group in report.slices} == {"kind", "site"}


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["Polars, lazy", "DuckDB", "a path", "a glob"])
def test_beyond_the_limit_of_memory_the_engine_gives_the_costs_of_the_rows(tmp_path, kind):
    """The memory limit has room for the tallies, but not for the columns."""
    named = {**NAMED, "models": {"forest": "p_forest", "old": "old"}, "clusters": None}
    needed = N * (2 * 8 + 4 * 4)
    rows = FRAMES[kind](tmp_path)
    arrays = evaluate_frame(rows, PROBLEM, **named, **FAST, memory_limit=needed)
    assert [caveat.kind for caveat in arrays.caveats if caveat.kind == "left out"] == []
    asked = {**FAST, "calibrator": stakes_isotonic()}
    tallied = evaluate_frame(rows, PROBLEM, **named, **asked, memory_limit=needed - 1)
    assert any("Recalibration was left out" in caveat.text for caveat in tallied.caveats)
    assert_same(contents(tallied), contents(arrays))


def test_groups_of_clusters_may_fill_the_memory_limit_and_no_more():
    """A group has codes of its class and of one decision, 8 bytes each, and a text of 64."""
    asked = {**FAST, "y_true": "what", "models": {"old": Decisions("old")}, "clusters": "patient"}
    needed = len({*zip(ROWS["what"], ROWS["old"], ROWS["patient"], strict=True)}) * (8 + 8 + 64)
    rows = pl.LazyFrame(ROWS)
    report = evaluate_frame(rows, PROBLEM, **asked, engine="polars", memory_limit=needed)
    assert report.system("old").cost.value > 0
    with pytest.raises(InputError, match=f"it needs {needed:,} bytes or more, and the limit is"):
        evaluate_frame(rows, PROBLEM, **asked, engine="polars", memory_limit=needed - 1)


def stakes_isotonic() -> Any:
    from stakes.calibration import Isotonic

    return Isotonic()


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["pandas", "Polars", "PyArrow"])
def test_rows_that_are_in_memory_already_stay_rows_and_the_report_knows_their_library(
    tmp_path, kind
):
    frame = FRAMES[kind](tmp_path)
    report = evaluate_frame(frame, PROBLEM, **NAMED, **FAST, memory_limit=1)
    assert report.assumptions.frame_library == kind.lower()
    assert_same(contents(report), contents(of_arrays()))


def test_recalibration_is_the_default_as_in_evaluate():
    report = evaluate_frame(TABLE, PROBLEM, y_true="what", models={"m": "p_forest"}, replicates=20)
    assert report.system("m (recalibrated)").cost.value > 0


# Columns that cannot be used ---------------------------------------------------------------------

BAD: dict[str, tuple[dict[str, Any], str]] = {
    "no such truth": ({"y_true": "what?"}, r"has no column 'what\?'\. It has what, p_forest"),
    "no such model": ({"models": {"m": "q"}}, "has no column 'q'"),
    "no such weights": ({"weights": "q"}, "has no column 'q'"),
    "no such group": ({"by": ["kind", "q"]}, "has no column 'q'"),
    "no such clusters": ({"clusters": "q"}, "has no column 'q'"),
    "a place": ({"y_true": 0}, "has no column 0"),
    "weights of text": ({"weights": "old"}, "column 'old' of .* must hold numbers; "),
    "scores of text": ({"models": {"m": Scores("old")}}, "column 'old' of .* must hold numbers; "),
    "a group twice": ({"by": ["kind", "kind"]}, "by must name every column once; 'kind' appears"),
    "no model": ({"models": {}}, "models must hold at least one model"),
    "an array": ({"models": {"m": np.ones(3)}}, "models must map names to columns.*got ndarray"),
    "three columns": (
        {"models": {"m": ["p_forest", "p_legit", "raw"]}},
        "one column for each of the 2 classes .* p_forest,p_legit,raw is 3",
    ),
    "classes that are none": (
        {"models": {"m": Posteriors(["p_legit", "p_fraud"], classes=["a", "b"])}},
        "must be those of the problem",
    ),
    "two columns of decisions": (
        {"models": {"m": Decisions(["old", "kind"])}},
        "Decisions must be in one column; old, kind are 2",
    ),
    "scores as posteriors": (
        {"models": {"m": Posteriors("raw")}},
        r"column 'raw' of .* must hold probabilities in \[0, 1\]",
    ),
    "other labels as the truth": ({"y_true": "old"}, "column 'old' of .* must hold "),
    "clusters with gaps": ({"clusters": "kind"}, "column 'kind' of .* must hold "),
    "no size": ({"memory_limit": "much"}, "memory_limit must be a number of bytes such as 2GiB"),
}


def test_a_column_that_is_passed_itself_is_named_and_not_printed():
    frame = pd.DataFrame({"label": [0, 1], "p": [0.1, 0.9]})
    with pytest.raises(
        InputError, match=r"^y_true must be a str; got Series 'label'\. Columns are"
    ):
        evaluate_frame(frame, Problem.zero_one(2), y_true=frame.label, models={"p": "p"})


@pytest.mark.parametrize("kind", ["pandas", "Polars, lazy", "DuckDB", "a path"])
@pytest.mark.parametrize("what", BAD)
def test_a_column_that_cannot_be_used_is_refused_by_its_name(tmp_path, kind, what):
    bad, message = BAD[what]
    with pytest.raises(InputError, match=message):
        evaluate_frame(FRAMES[kind](tmp_path), PROBLEM, **{**NAMED, **bad}, **FAST)


def test_a_complaint_about_entries_names_the_argument_and_its_column():
    frame = TABLE.to_pandas()
    frame.loc[3, "w"] = -1
    with pytest.raises(InputError, match=r"^weights \(column 'w' of the frame\) must .*") as caught:
        evaluate_frame(frame, PROBLEM, **NAMED, **FAST)
    assert caught.value.argument == "weights"
    frame = frame.assign(w=1.0)
    frame.loc[5, "p_fraud"] = 7
    told = r"^models\['multi'\] \(columns 'p_legit', 'p_fraud' of the frame\) must hold prob"
    with pytest.raises(InputError, match=told) as caught:
        evaluate_frame(frame, PROBLEM, **NAMED, **FAST)
    assert caught.value.argument == "models['multi']"


@pytest.mark.parametrize("frame", [7, {"what": ["fraud"]}, np.ones((3, 2)), None])
def test_what_is_no_frame_is_refused(frame):
    with pytest.raises(InputError, match="frame must be a frame of pandas, Polars or PyArrow"):
        evaluate_frame(frame, PROBLEM, **NAMED)


def test_a_frame_without_rows_is_refused():
    with pytest.raises(InputError, match="the frame must hold at least one row"):
        evaluate_frame(TABLE.slice(0, 0), PROBLEM, **NAMED)


# Guesses -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", FRAMES)
def test_guessed_columns_are_the_same_from_everywhere(tmp_path, kind):
    columns = Columns.guess(FRAMES[kind](tmp_path), PROBLEM)
    models = {name: prediction_columns(model) for name, model in columns.models.items()}
    assert (columns.y_true, columns.weights, columns.by, columns.clusters) == (
        "what",
        None,
        (),
        None,
    )
    assert models == {"p": ("p_legit", "p_fraud"), "p_forest": ("p_forest",)}


def test_guessed_columns_can_be_passed_on():
    columns = Columns.guess(TABLE, PROBLEM)
    report = evaluate_frame(TABLE, PROBLEM, **columns, **FAST)
    models = {"p": Posteriors(["p_legit", "p_fraud"]), "p_forest": Posteriors("p_forest")}
    expected = evaluate_frame(TABLE, PROBLEM, y_true="what", models=models, **FAST)
    assert contents(report) == contents(expected)


def test_what_cannot_be_guessed_is_asked_for_in_the_words_of_the_library():
    frame = pd.DataFrame({"a": ["fraud", "legit"], "b": ["legit", "fraud"], "p": [0.1, 0.2]})
    with pytest.raises(InputError, match=r"^y_true cannot be guessed: 2 columns .*\(a, b\)"):
        Columns.guess(frame, PROBLEM)
    frame = pd.DataFrame({"y": ["fraud", "legit"], "m": [0.5, 0.6], "k": [0.1, 0.2]})
    with pytest.raises(InputError, match=r"^models cannot be guessed: 2 columns .*\(m, k\)") as got:
        Columns.guess(frame, PROBLEM)
    assert "--" not in str(got.value)


def test_single_precision_with_costs_of_each_case_is_tied_in_an_engine_too():
    """The cheapest decision changes at 0.3, which single precision rounds up."""
    problem = Problem([[0, "3*amount"], ["7*amount", 0]])
    p = np.array([0.3, 0.3, 0.2, 0.9] * 10, dtype=np.float32)
    rows = {"y": [0, 1, 0, 1] * 10, "p": p, "amount": np.arange(1.0, 41)}
    asked: dict[str, Any] = {"y_true": "y", "models": {"m": "p"}, "engine": "polars", **FAST}
    decided = evaluate_frame(pl.LazyFrame(rows), problem, **asked).system("m (as is)")
    assert decided.counts.values.tolist() == [[20, 0], [10, 10]]


@pytest.mark.slow
@pytest.mark.parametrize("source", ["Parquet", "DuckDB", "Polars", "three classes"])
def test_single_precision_decides_alike_inside_an_engine(source, tmp_path):
    """Posteriors at a threshold, as they came and moved: all ways decide as doubles do."""
    problem = Problem.binary(false_alarm=1, miss=4, prior=[0.8, 0.2])
    columns = {"p": np.array([0.3, 0.3, 0.2, 0.9] * 30)}
    y, models = np.array([0, 1, 0, 1] * 30), {"m": ["p"]}
    if source == "three classes":
        problem = Problem([[0, 3, 3], [2, 0, 2], [7, 7, 0]])
        rows = np.array([[0.4, 0.6, 0.0], [0.5, 0.2, 0.3], [0.7, 0.0, 0.3], [0.1, 0.2, 0.7]] * 30)
        columns, y = {f"p_{k}": rows[:, k] for k in range(3)}, np.array([0, 1, 2, 0] * 30)
        models = {"m": list(columns)}
    posterior_prior = [0.7, 0.3] if problem.n_classes == 2 else None
    asked: dict[str, Any] = {
        "models": models,
        "posterior_prior": posterior_prior,
        "calibrator": None,
    }
    double, single = (
        pa.table({"y": y, **{name: column.astype(kind) for name, column in columns.items()}})
        for kind in (np.float64, np.float32)
    )

    def frame_of(table: pa.Table) -> Any:
        if source == "DuckDB":
            return duckdb.connect().from_arrow(table)
        if source == "Polars":
            return pl.from_arrow(table).lazy()
        pyarrow.parquet.write_table(table, tmp_path / "rows.parquet")
        return tmp_path / "rows.parquet"

    doubles, singles, in_memory = (
        evaluate_frame(frame_of(table), problem, y_true="y", memory_limit=limit, **asked).systems
        for table, limit in ((double, 1000), (single, 1000), (single, "1G"))
    )
    assert [system.counts for system in singles] == [system.counts for system in doubles]
    assert [system.counts for system in singles] == [system.counts for system in in_memory]


@pytest.mark.parametrize("what", ["posteriors", "weights", "costs", "groups"])
def test_nan_in_a_parquet_file_is_seen_although_its_statistics_leave_it_out(what, tmp_path):
    """DuckDB believes the statistics, and would find all entries between the least and the most."""
    rng, file = np.random.default_rng(0), str(tmp_path / "rows.parquet")
    rows = rng.dirichlet(np.ones(3), 400)
    columns = {"y": np.arange(400) % 3, "a": rows[:, 0], "b": rows[:, 1], "c": rows[:, 2]}
    columns |= {"w": np.ones(400), "amount": rng.random(400), "g": np.arange(400) % 2.0}
    columns[{"posteriors": "b", "weights": "w", "costs": "amount", "groups": "g"}[what]][7] = np.nan
    pl.DataFrame(columns).write_parquet(file)
    problem = Problem([[0, "amount", 1], [1, 0, 1], [1, 1, 0]])
    models = {"m": ["a", "b", "c"]}

    def report() -> Any:
        named: Any = {"y_true": "y", "models": models, "weights": "w", "by": "g"}
        return evaluate_frame(file, problem, **named, calibrator=None, engine="duckdb")

    if what == "groups":
        sizes = {part.name: part.n_cases for part in report().slices}
        assert sizes == {"g: 0": 200, "g: 1": 199, "g: (missing)": 1}
    else:
        with pytest.raises(InputError, match=r"; some of \d+ are nan\. "):
            report()


def test_columns_named_after_the_classes_go_by_name_in_any_order():
    rng = np.random.default_rng(4)
    p = rng.random(300)
    frame = pl.DataFrame({"y": np.where(rng.random(300) < p, "b", "a"), "b": p, "a": 1 - p})
    problem = Problem.binary(false_alarm=1, miss=3, classes=["a", "b"])

    def cost(columns: Any, **more: Any) -> float:
        named: Any = {"y_true": "y", "models": {"m": columns}, "calibrator": None}
        return evaluate_frame(frame, problem, **named, **more).best.cost.value

    wanted = cost("b")
    for more in ({}, {"engine": "polars"}):
        assert cost(["a", "b"], **more) == cost(["b", "a"], **more) == wanted
    decided = [
        Rule(problem).decide(frame, columns=columns)["decision"].to_list()
        for columns in ("b", ["a", "b"], ["b", "a"])
    ]
    assert decided[0] == decided[1] == decided[2]


def test_nobody_who_passed_a_calibrator_is_told_to_pass_one():
    """Where it cannot be fitted in an engine, a caveat says which can."""
    problem = Problem(1 - np.eye(3), classes=list("abc"))
    rows = [[0.6, 0.2, 0.2], [0.2, 0.6, 0.2], [0.2, 0.2, 0.6]] * 40
    frame = pl.DataFrame(rows, schema=["pa", "pb", "pc"], orient="row")
    frame = frame.with_columns(y=pl.Series(list("abc") * 40), k=pl.int_range(120))
    report = evaluate_frame(
        frame,
        problem,
        y_true="y",
        models={"m": Posteriors(["pa", "pb", "pc"])},
        calibrator=Isotonic(),
        engine="polars",
        key="k",
    )
    texts = [caveat.text for caveat in report.caveats]
    assert any("only Affine(), Temperature()" in text for text in texts)
    assert not any("Pass a calibrator" in text for text in texts)


@pytest.mark.parametrize("engine", ["polars", "duckdb"])
def test_a_tuned_threshold_of_minus_infinity_takes_every_score_in_engines_too(engine):
    scores = np.where(np.arange(N) % 5 == 0, -np.inf, FRAUD + RNG.normal(size=N))
    rows = pl.DataFrame({"y": FRAUD.astype(int), "s": scores, "k": np.arange(N)})
    asked: dict[str, Any] = {"y_true": "y", "models": {"m": Scores("s")}, "key": "k"}
    problem = Problem.binary(false_alarm=1, miss=99)
    arrays, tallied = (
        evaluate_frame(rows, problem, **asked, calibrator=None, engine=each)
        for each in ("numpy", engine)
    )
    assert arrays.system("m (tuned)").threshold == -np.inf
    for system in arrays.systems:
        assert tallied.system(system.name).counts == system.counts
        assert system.counts.values[:, 0].sum() == 0
