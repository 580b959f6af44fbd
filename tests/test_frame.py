"""The table of systems as a frame of the user's library."""

from __future__ import annotations

import math
import subprocess
import sys
from typing import Any

import pytest

pytest.importorskip("narwhals")
pytest.importorskip("pyarrow")
pytest.importorskip("pandas")
pytest.importorskip("polars")

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa

from stakes import Between, Decisions, Limit, Posteriors, Problem, Scores, bayes_decisions, evaluate
from stakes.adapters import frame as report_tables
from stakes.adapters.sources import opened
from stakes.calibration import Isotonic
from stakes.errors import InputError, MissingExtraError
from stakes.metrics import clinical_table
from stakes.report import Report
from stakes.scoring import Brier, mean_score


@pytest.fixture(scope="module")
def report() -> Report:
    problem = Problem.binary(false_alarm=1, miss=9, unit="EUR")
    models = {"new": [0.02, 0.05, 0.3, 0.6] * 25, "old": Decisions([0, 0, 0, 1] * 25)}
    asked: dict[str, Any] = {
        "replicates": 20,
        "calibrator": None,
        "by": {"half": ["first", "second"] * 50},
    }
    return evaluate([0, 0, 0, 1] * 25, models, problem, **asked)


def as_rows(frame) -> list[dict]:
    if isinstance(frame, pa.Table):
        return frame.to_pylist()
    return frame.to_dict("records") if isinstance(frame, pd.DataFrame) else frame.to_dicts()


@pytest.mark.parametrize(
    ("library", "kind"),
    [
        ("pandas", pd.DataFrame),
        (pd, pd.DataFrame),
        ("polars", pl.DataFrame),
        (pl, pl.DataFrame),
        ("pyarrow", pa.Table),
        (pa, pa.Table),
        (None, pd.DataFrame),
    ],
)
def test_every_library_gets_the_same_rows(report, library, kind):
    frame = report.frame(library=library)
    assert isinstance(frame, kind)
    rows = as_rows(frame)
    assert [row["system"] for row in rows] == [system.name for system in report.systems]
    for row, system in zip(rows, report.systems, strict=True):
        assert (row["model"], row["rule"]) == (system.model, system.rule)
        assert row["candidate"] is system.candidate
        assert row["cost"] == system.cost.value
        assert (row["cost_low"], row["cost_high"]) == (system.cost.low, system.cost.high)
        assert row["normalized"] == system.normalized.value
        assert row["normalized_low"] == system.normalized.low
        assert row["normalized_high"] == system.normalized.high


def test_a_threshold_that_does_not_exist_is_missing(report):
    thresholds = {
        row["system"]: row["threshold"] for row in as_rows(report.frame(library="pyarrow"))
    }
    assert thresholds["old (as decided)"] is None
    assert thresholds["new (as is)"] == pytest.approx(0.1)
    assert math.isnan(
        report.frame(library="pandas").set_index("system")["threshold"]["old (as decided)"]
    )
    assert report.frame(library="polars").schema["threshold"] == pl.Float64


@pytest.mark.parametrize("library", ["dask", math])
def test_an_unknown_library_is_refused(report, library):
    with pytest.raises(InputError, match="must be one of pandas, polars, pyarrow"):
        report.frame(library=library)


def test_a_library_that_is_not_installed_is_named(report, monkeypatch):
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(MissingExtraError, match="polars is not"):
        report.frame(library="polars")


def test_without_narwhals_the_extra_is_named(report, monkeypatch):
    monkeypatch.setitem(sys.modules, "narwhals.stable.v2", None)
    with pytest.raises(MissingExtraError, match=r"stakes\[frames\]"):
        report.frame(library="pandas")


@pytest.mark.parametrize("file", ["sources", "frame_tallies", "lazy_decisions", "report_on"])
def test_every_door_for_frames_names_the_extra_without_narwhals(file):
    statement = f"import sys; sys.modules['narwhals'] = None; import stakes.adapters.{file}"
    done = subprocess.run(
        [sys.executable, "-c", statement], capture_output=True, text=True, check=False
    )
    assert "MissingExtraError: a frame needs the package narwhals" in done.stderr
    assert "pip install 'stakes[frames]'" in done.stderr


def test_without_any_library_all_are_named(report, monkeypatch):
    for name in ("pandas", "polars", "pyarrow"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(MissingExtraError, match="one of pandas, polars, pyarrow"):
        report.frame()


TABLES = {  # a column, and what its entries are
    "systems": lambda r: [system.name for system in r.systems],
    "counts": lambda r: [system.name for system in r.systems for _ in range(4)],
    "verdict": lambda r: [
        "cost",
        "normalized",
        "saving_over_naive",
        "share",
        "saving_over_runner_up",
    ],
    "models": lambda r: [model.model for model in r.models],
    "losses": lambda r: [model.model for model in r.models for _ in model.expected_losses],
    "scores": lambda r: ["new"] * 4,
    "recalibrated": lambda r: [],
    "class_bins": lambda r: [],
    "recalibrated_bins": lambda r: [],
    "slices": lambda r: ["half"] * 2 * len(r.systems),
    "picks": lambda r: [pick.metric for pick in r.picks],
    "metrics": lambda r: [
        metric for metric in r.disagreement.metrics for _ in r.disagreement.models
    ],
    "margins": lambda r: [margin.what for margin in r.margins],
    "regions": lambda r: [region.axis for region in r.regions for _ in region.parts],
    "flips": lambda r: [],
    "limits": lambda r: [],
    "capacity": lambda r: [],
    "coverage": lambda r: [],
    "unknowns": lambda r: [],
    "caveats": lambda r: [caveat.kind for caveat in r.caveats],
    "assumptions": lambda r: [
        name for name, value in vars(r.assumptions).items() if value is not None and value != ()
    ],
}


SHOWN_BELOW = (
    *("recalibrated", "class_bins", "recalibrated_bins", "flips"),
    *("limits", "capacity", "coverage", "unknowns"),
)


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_every_table_of_the_report_is_a_frame(report, library):
    assert list(TABLES) == list(report_tables.TABLES)
    for name, first in TABLES.items():
        frame = nw.from_native(report.frame(name, library=library))
        expected = first(report)
        assert frame[frame.columns[0]].to_list() == expected, name
        assert expected or name in SHOWN_BELOW, name
    slices = nw.from_native(report.frame("slices", library=library))
    assert slices["cost"].to_list() == [c.cost.value for s in report.slices for c in s.costs]
    wanted = report.system("old").counts.values.ravel().tolist()
    counts = nw.from_native(report.frame("counts", library=library))
    assert counts.filter(nw.col("system") == report.system("old").name)["count"].to_list() == wanted


def test_limits_capacity_coverage_and_unknowns_are_frames():
    y, p = [0, 0, 0, 1] * 30, [0.05, 0.1, 0.4, 0.7] * 30
    problem = Problem([[0, 2, 5], [Between(20, 60), 3, 0]])
    limited = problem.with_limits([Limit.share(1, at_most=0.2)])
    report = evaluate(y, {"new": p}, limited, calibrator=None, replicates=20)
    (check,) = report.best.limits
    capacity = report.frame("capacity", library="polars")
    assert capacity["capacity"].to_list() == [share for share, *_ in check.capacity]
    assert report.frame("limits", library="polars")["value"].to_list() == [check.value]
    (part,) = report.uncertainty.parts  # type: ignore[union-attr]
    assert report.frame("unknowns", library="polars")["evppi"].to_list() == [part.evppi]
    flips = report.frame("flips", library="polars")
    assert flips["what"].to_list() == [flip.what for flip in report.flips_under_limits]
    assert flips["below"].to_list() == [", ".join(flip.below) for flip in report.flips_under_limits]
    free = evaluate(y, {"new": p}, problem, calibrator=None, replicates=20)
    coverage = free.frame("coverage", library="polars")
    assert coverage.rows() == [(free.best.name, *point) for point in free.coverage]
    assert len(free.coverage) > 1


def test_a_table_that_there_is_not_is_refused_with_those_that_there_are(report):
    with pytest.raises(InputError, match=r"^table must be one of systems, .*; got str 'pandas'"):
        report.frame("pandas")
    with pytest.raises(InputError, match="Did you mean 'systems'"):
        report.frame("system")


def test_whole_numbers_among_the_assumptions_are_written_as_such(report):
    table = report.frame("assumptions", library="pyarrow").to_pydict()
    values = dict(zip(table["assumption"], table["value"], strict=True))
    assert values["n_cases"] == str(int(report.assumptions.n_cases))
    assert values["level"] == "0.95"


# Frames in ---------------------------------------------------------------------------------------

FRAMES = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}
NAMED = Problem.binary(false_alarm=1, miss=9, classes=["no", "yes"])
ROWS = {"yes": [0.02, 0.05, 0.3, 0.6] * 25, "no": [0.98, 0.95, 0.7, 0.4] * 25}
TRUTH = ["no", "no", "no", "yes"] * 25


@pytest.mark.slow
@pytest.mark.parametrize("library", FRAMES)
def test_columns_of_every_library_go_by_their_names(library):
    frame = FRAMES[library](ROWS)
    report = evaluate(TRUTH, {"m": frame}, NAMED, replicates=20, calibrator=None)
    expected = evaluate(TRUTH, {"m": np.array(ROWS["yes"])}, NAMED, replicates=20, calibrator=None)
    assert report.systems == expected.systems
    wrapped = evaluate(TRUTH, {"m": Posteriors(frame)}, NAMED, replicates=20, calibrator=None)
    assert wrapped.systems == expected.systems
    decided = bayes_decisions(frame, NAMED)
    assert decided.tolist() == bayes_decisions(ROWS["yes"], NAMED).tolist()
    assert mean_score(TRUTH, frame, Brier()) == mean_score(
        TRUTH, ROWS["yes"], Brier(), classes=["no", "yes"]
    )


def test_a_class_may_be_called_as_an_attribute_of_another_library():
    problem = Problem.zero_one(["columns", "column_names"])
    frame = pd.DataFrame({"column_names": [0.9, 0.2], "columns": [0.1, 0.8]})
    assert bayes_decisions(frame, problem).tolist() == ["column_names", "columns"]


@pytest.mark.slow
@pytest.mark.parametrize("library", FRAMES)
def test_frames_that_nearly_sum_to_one_are_divided_as_arrays_are(library):
    """The columns stand in another order than the classes."""
    off = {name: [value * 1.01 for value in values] for name, values in ROWS.items()}
    report = evaluate(TRUTH, {"m": FRAMES[library](off)}, NAMED, replicates=20, calibrator=None)
    array = np.column_stack([off["no"], off["yes"]])
    expected = evaluate(TRUTH, {"m": array}, NAMED, replicates=20, calibrator=None)
    assert report.systems == expected.systems
    assert report.caveats == expected.caveats
    assert "posteriors do not sum to one" in {caveat.kind for caveat in report.caveats}
    far = {name: [value * 1.5 for value in values] for name, values in ROWS.items()}
    with pytest.raises(InputError, match=r"sum to one|in \[0, 1\]"):
        evaluate(TRUTH, {"m": FRAMES[library](far)}, NAMED, replicates=20, calibrator=None)


@pytest.mark.slow
@pytest.mark.parametrize("library", FRAMES)
def test_without_a_name_the_frame_is_of_the_library_that_came_in(library):
    frame = FRAMES[library](ROWS)
    series = frame["yes"]
    for truth, model in (
        (TRUTH, frame),
        (FRAMES[library]({"y": TRUTH})["y"], np.array(ROWS["yes"])),
        (TRUTH, {"plain": np.array(ROWS["yes"]), "own": series}),
        (TRUTH, {"own": Scores(series)}),
    ):
        report = evaluate(truth, model, NAMED, replicates=20, calibrator=None)
        assert report.assumptions.frame_library == library
        assert type(report.frame()) is type(frame)
        again = Report.from_json(report.to_json())
        assert again == report
        assert type(again.frame()) is type(frame)


def test_arrays_have_no_library_and_one_that_is_gone_is_replaced(report, monkeypatch):
    assert report.assumptions.frame_library is None
    from_polars = evaluate(TRUTH, pl.DataFrame(ROWS), NAMED, replicates=20, calibrator=None)
    monkeypatch.setitem(sys.modules, "polars", None)
    assert isinstance(from_polars.frame(), pd.DataFrame)


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow", None])
def test_a_table_of_metrics_is_a_frame_of_its_rows(library):
    decided = {"old": [0, 0, 1, 1], 7: [0, 0, 0, 0]}
    table = clinical_table([0, 0, 1, 1], decided, Problem.from_threshold(0.2))
    frame = nw.from_native(table.frame(library))
    assert frame.columns == ["name", "metric", "value", "low", "high"]
    assert frame["name"].to_list() == [str(row.name) for row in table.rows]
    assert frame["metric"].to_list() == [row.metric for row in table.rows]
    values = frame["value"].to_list()
    for value, row in zip(values, table.rows, strict=True):
        missing = value is None or math.isnan(value)
        assert missing if math.isnan(row.value) else value == row.value


def test_columns_of_probabilities_lie_between_zero_and_one():
    columns = {"p": [0.2, 0.9, None], "ends": [0, 1, 1], "low": [-0.1, 0.5, 0.6], "high": [0, 2, 1]}
    with opened(pl.DataFrame({**columns, "none": pl.Series([None] * 3, dtype=pl.Float64)})) as rows:
        assert rows.within_unit([*columns, "none"]) == ["p", "ends"]


def test_files_relations_and_lazy_frames_are_not_in_memory(tmp_path):
    rows = pl.DataFrame({"y": [0, 1], "p": [0.2, 0.6]})
    rows.write_csv(tmp_path / "rows.csv")
    for frame, expected in [(rows, True), (rows.lazy(), False), (tmp_path / "rows.csv", False)]:
        with opened(frame) as source:
            assert source.in_memory is expected


def test_recalibrated_scores_and_bins_of_each_class_are_frames():
    y, p = [0, 0, 0, 1] * 30, [0.05, 0.1, 0.4, 0.7] * 30
    options: dict[str, Any] = {"calibrator": Isotonic(), "replicates": 20}
    report = evaluate(y, {"new": p}, Problem.zero_one(2), **options)
    table = report.models[0].recalibrated
    assert table is not None
    frame = report.frame("recalibrated", library="polars")
    assert frame["score"].to_list() == table.scores.tolist()
    assert frame["positives"].to_list() == table.weights[:, 1].tolist()
    rows = [[0.7, 0.2, 0.1], [0.1, 0.6, 0.3], [0.05, 0.15, 0.8]] * 20
    many = evaluate(
        [0, 1, 2] * 20, {"m": rows}, Problem.zero_one(3), calibrator=None, replicates=20
    )
    bins = many.frame("class_bins", library="polars").filter(pl.col("cases") > 0)
    first = bins.rows()[:3]
    assert first == [
        ("m", "0", 0.0, 0.1, 20.0, 0.0, pytest.approx(0.05)),
        ("m", "0", 0.1, 0.2, 20.0, 0.0, pytest.approx(0.1)),
        ("m", "0", 0.7, pytest.approx(0.8), 20.0, 20.0, pytest.approx(0.7)),
    ]
