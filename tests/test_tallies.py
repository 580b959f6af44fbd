"""Evidence that an engine tallied: the same report as from arrays, and bins with their bound."""

from __future__ import annotations

import json
import math
from collections import deque
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

pytest.importorskip("duckdb")
pytest.importorskip("narwhals")
pytest.importorskip("polars")
pytest.importorskip("pyarrow")

import duckdb
import narwhals.stable.v2 as nw
import polars as pl
import pyarrow as pa

from stakes import Columns as Named
from stakes import Decisions, Posteriors, Problem, Report, Scores, ScoreTable, auc, evaluate
from stakes.adapters import joint_decisions
from stakes.adapters.engine_evidence import tallied_evidence
from stakes.adapters.lazy import ScoreGrid, UnitGrid
from stakes.adapters.sources import opened
from stakes.calibration import Isotonic
from stakes.errors import InputError
from stakes.evaluation.build_report import ReportOptions, report_of
from stakes.evaluation.evidence import Evidence
from stakes.tally import Bins, BitGrid

N = 1500
RNG = np.random.default_rng(8)
TWO = RNG.random(N) < 0.3
SQUARE = Problem.binary(false_alarm=1, miss=9, unit="EUR")
RECTANGLE = Problem(
    [[0, 3, 25], [180, 8, 0]],
    classes=["legit", "fraud"],
    decisions=["approve", "review", "block"],
    prior=[0.9, 0.1],
)
FOUR = Problem(
    RNG.integers(0, 30, (4, 5)),
    classes=["ash", "elm", "oak", "yew"],
    decisions=["a", "b", "c", "d", "e"],
    prior=[0.1, 0.2, 0.3, 0.4],
)


def coarse(shift: float) -> Any:
    return np.clip(0.3 + shift * (TWO - 0.3) + RNG.normal(0, 0.2, N), 0, 1).round(2)


GOOD, POOR = coarse(0.4), coarse(0.1)
SOFT = RNG.dirichlet(np.ones(4), N)
LABELS = {
    2: np.where(TWO, 1, 0),
    3: np.where(TWO, "fraud", "legit"),
    4: np.array(FOUR.classes)[np.array([RNG.choice(4, p=row) for row in SOFT])],
}
TREES: dict[str, Any] = {f"t_{k}": SOFT[:, k] for k in range(4)}
BOLD: dict[str, Any] = {
    f"b_{k}": (SOFT**2 / (SOFT**2).sum(axis=1)[:, None])[:, k] for k in range(4)
}
WEIGHTS = {"fractional": RNG.gamma(2, 1, N) * (RNG.random(N) < 0.9), "whole": RNG.integers(0, 4, N)}
OLD = np.where(GOOD + POOR > 0.9, "review", "approve")
SITE = np.array([9, 10, 7])[RNG.integers(0, 3, N)]
WARD = np.array(["x", "y", None], dtype=object)[RNG.integers(0, 3, N)]
UNIT = np.array([f"u{k}" for k in range(40)])[RNG.integers(0, 40, N)]

Columns = dict[str, Any]
CONNECTION = duckdb.connect()
CURSORS: deque[Any] = deque(maxlen=4)


def in_duckdb(columns: Columns) -> Any:
    table = pa.table({name: pa.array(list(values)) for name, values in columns.items()})
    connection = CONNECTION.cursor()
    connection.register("given", table)
    CURSORS.append(connection)  # a relation of an early version does not keep its own alive
    return nw.from_native(connection.sql("SELECT * FROM given"))


def in_polars(columns: Columns) -> Any:
    lists = {name: np.asarray(values).tolist() for name, values in columns.items()}
    return nw.from_native(pl.LazyFrame(lists, strict=False))


ENGINES = {"DuckDB": in_duckdb, "Polars": in_polars}


PASSES: Any = SimpleNamespace(next=lambda what: None, later=lambda what, work: work())


def evidence_of(
    engine: str, columns: Columns, models: Mapping[str, Any], problem: Problem, **extra: Any
) -> Evidence:
    """The evidence of an engine."""
    named = Named(
        "y",
        models,
        "weights" if "weights" in columns else None,
        tuple(name for name in columns if name.startswith("by ")),
        "clusters" if "clusters" in columns else None,
    )
    numbers = [number for group in named.numbers.values() for number in group]
    labels = [wanted.column for wanted in named.labels(problem).values()]
    asked = {"posterior_prior": None, "calibrator": None, "limit": 1 << 20, **extra}
    asked |= {"source": "rows", "singles": (), "passes": PASSES}
    with opened(ENGINES[engine](columns)) as source:
        lazy = source.lazy(numbers, labels, list(named.groups), memory=1 << 20)
        return tallied_evidence(lazy, named, problem, **asked)


def tallied(
    engine: str, columns: Columns, models: Mapping[str, Any], problem: Problem, **extra: Any
) -> Report:
    """The report of an engine."""
    evidence = evidence_of(engine, columns, models, problem, **extra)
    return report_of(evidence, ReportOptions(level=0.95, replicates=30, seed=0))


def assert_same(actual: Any, other: Any, where: str = "") -> None:
    """Values of JSON that agree; what was left out is not compared."""
    if isinstance(actual, dict):
        assert set(actual) == set(other), where
        for name in actual:
            assert_same(actual[name], other[name], f"{where}/{name}")
    elif isinstance(actual, list):
        assert len(actual) == len(other), where
        for place, (mine, yours) in enumerate(zip(actual, other, strict=True)):
            assert_same(mine, yours, f"{where}[{place}]")
    elif isinstance(actual, float) and isinstance(other, float):
        close = 1e-5 if "clear" in where else 1e-9  # the search for a clear flip stops at 1e-6
        assert actual == pytest.approx(other, rel=close, abs=close, nan_ok=True), where
    else:
        assert actual == other, where


def read(report: Report) -> Any:
    values = json.loads(report.to_json())
    del values["checksum"]
    values["caveats"] = [caveat for caveat in values["caveats"] if caveat["kind"] != "left out"]
    return values


CASES: dict[str, tuple[int, Problem, Columns]] = {
    "two decisions": (2, SQUARE, {}),
    "three decisions and a prior": (3, RECTANGLE, {}),
    "fractional weights": (3, RECTANGLE, {"weights": WEIGHTS["fractional"]}),
    "whole weights": (2, SQUARE, {"weights": WEIGHTS["whole"]}),
    "groups": (2, SQUARE, {"by site": SITE}),
    "groups with gaps": (3, RECTANGLE, {"by ward": WARD, "weights": WEIGHTS["fractional"]}),
    "groups of several kinds": (3, RECTANGLE, {"by ward": WARD, "by site": SITE}),
    "clusters": (3, RECTANGLE, {"clusters": UNIT}),
    "groups and clusters": (
        2,
        SQUARE,
        {"by site": SITE, "by ward": WARD, "clusters": UNIT, "weights": POOR},
    ),
}


def given_by(values: Columns) -> Columns:
    """The arguments of `evaluate`."""
    by = {name: values[name] for name in values if name.startswith("by ")}
    return {name: values[name] for name in values if name not in by} | {"by": by or None}


@pytest.mark.parametrize(
    ("engine", "case"),
    [
        pytest.param(engine, case, marks=[pytest.mark.slow] if (i + j) % 3 else [])
        for i, engine in enumerate(ENGINES)
        for j, case in enumerate(CASES)
    ],
)
def test_an_engine_gives_the_report_of_the_arrays(engine, case):
    size, problem, extra = CASES[case]
    columns = {"y": LABELS[size], "good": GOOD, "poor": POOR, **extra}
    models = {name: Posteriors(name) for name in ("good", "poor")}
    expected = evaluate(
        LABELS[size],
        {"good": GOOD, "poor": POOR},
        problem,
        calibrator=None,
        replicates=30,
        **given_by(extra),
    )
    assert_same(read(tallied(engine, columns, models, problem)), read(expected))


@pytest.mark.slow
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("off", [1.01, pytest.param(1.0, marks=pytest.mark.slow)])
def test_four_classes_and_five_decisions_and_rows_that_do_not_sum_to_one(engine, off):
    scale = np.where(RNG.random(N) < 0.1, off, 1.0)
    trees = {name: values * scale for name, values in TREES.items()}
    did = np.array(FOUR.decisions)[RNG.integers(0, 5, N)]
    columns = {"y": LABELS[4], **trees, **BOLD, "did": did, "by site": SITE}
    models = {
        "trees": Posteriors(tuple(TREES)),
        "bold": Posteriors(tuple(BOLD)),
        "rule": Decisions("did"),
    }
    models_of_rows = {
        "trees": Posteriors(np.column_stack(list(trees.values()))),
        "bold": Posteriors(np.column_stack(list(BOLD.values()))),
        "rule": Decisions(did),
    }
    prior = [0.25] * 4
    expected = evaluate(
        LABELS[4],
        models_of_rows,
        FOUR,
        by={"by site": SITE},
        posterior_prior=prior,
        replicates=30,
        calibrator=None,
    )
    assert ("posteriors do not sum to one" in {c.kind for c in expected.caveats}) is (off > 1)
    tallies = tallied(engine, columns, models, FOUR, posterior_prior=prior)
    assert_same(read(tallies), read(expected))


@pytest.mark.parametrize("engine", ENGINES)
def test_decisions_that_stand_for_classes_are_predicted_classes(engine):
    did = np.where(GOOD > 0.4, 1, 0)
    columns = {"y": LABELS[2], "did": did, "poor": POOR}
    models = {
        "rule": Decisions("did"),
        "p": Posteriors("poor"),
    }
    expected = evaluate(LABELS[2], {"rule": did, "p": POOR}, SQUARE, replicates=30, calibrator=None)
    assert_same(read(tallied(engine, columns, models, SQUARE)), read(expected))


@pytest.mark.parametrize("engine", ENGINES)
def test_raw_scores_keep_their_tuned_threshold_and_their_ranks(engine):
    scores = np.where(GOOD == 1, np.inf, np.where(GOOD == 0, -np.inf, 20 * GOOD - 1e6))
    columns = {"y": LABELS[2], "s": scores, "p": POOR}
    models = {"raw": Scores("s"), "p": Posteriors("p")}
    tallies = tallied(engine, columns, models, SQUARE)
    expected = evaluate(
        LABELS[2], {"raw": Scores(scores), "p": POOR}, SQUARE, replicates=30, calibrator=None
    )
    mine, yours = tallies.system("raw"), expected.system("raw (tuned)")
    assert (mine.counts, mine.threshold) == (yours.counts, yours.threshold)
    assert tallies.models[0].auc == expected.models[0].auc
    assert tallies.models[0].table == expected.models[0].table
    assert ["other folds" in text for text in left_out(tallies)] == [True]


@pytest.mark.parametrize("engine", ENGINES)
def test_decisions_stand_for_classes_by_their_labels(engine):
    problem = Problem(
        FOUR.costs[:, :4], classes=FOUR.classes, decisions=["yew", "ash", "oak", "elm"]
    )
    did = np.array(FOUR.classes)[SOFT.argmax(axis=1)]
    models = {
        "rule": Decisions("did"),
        "bold": Posteriors(tuple(BOLD)),
    }
    models_of_rows = {"rule": did, "bold": np.column_stack(list(BOLD.values()))}
    expected = evaluate(LABELS[4], models_of_rows, problem, replicates=30, calibrator=None)
    tallies = tallied(engine, {"y": LABELS[4], "did": did, **BOLD}, models, problem)
    assert_same(read(tallies), read(expected))


@pytest.mark.parametrize("kind", WEIGHTS)
def test_classes_have_the_sizes_of_their_rows_whatever_these_weigh(kind):
    weights = WEIGHTS[kind]
    columns = {"y": LABELS[2], "p": GOOD, "weights": weights}
    sample = evidence_of("DuckDB", columns, {"m": Posteriors("p")}, SQUARE).sample
    counted = weights > 0
    assert sample.sizes.tolist() == [counted[~TWO].sum(), counted[TWO].sum()]
    assert not sample.whole


@pytest.mark.slow
def test_systems_beyond_one_whole_number_are_packed_into_several(monkeypatch):
    columns = {"y": LABELS[3], "good": GOOD, "poor": POOR}
    models = {name: Posteriors(name) for name in ("good", "poor")}
    plain = tallied("DuckDB", columns, models, RECTANGLE)
    monkeypatch.setattr("stakes.adapters.lazy._MOST", 8)
    assert_same(read(tallied("DuckDB", columns, models, RECTANGLE)), read(plain))


# Fine scores come in bins ------------------------------------------------------------------------


def fine_reports(engine, kind, **extra):
    """The report of an engine and that of arrays, of scores that are all distinct."""
    rng = np.random.default_rng(4)
    n = 60_000
    y = rng.random(n) < 0.05
    odds = rng.normal(3.0 * y - 5, 1.5)
    values = odds if kind == "scores" else 1 / (1 + np.exp(-odds))
    predictions = Scores(values) if kind == "scores" else values
    models = {"m": (Scores if kind == "scores" else Posteriors)("v")}
    tallies = tallied(engine, {"y": y.astype(int), "v": values}, models, SQUARE, **extra)
    expected = evaluate(y.astype(int), {"m": predictions}, SQUARE, replicates=30, calibrator=None)
    return tallies, expected


def ends(text, start):
    """The two numbers that a sentence says lie around something."""
    both = text.split(f"{start} between ")[1].replace("−", "-").split(" and ")
    return float(both[0]), float(both[1].split(",")[0].split(". ")[0])


@pytest.mark.parametrize("kind", ["posteriors", "scores"])
@pytest.mark.parametrize("engine", ENGINES)
def test_fine_scores_come_in_bins_whose_error_is_bounded_and_reported(engine, kind):
    actual, expected = fine_reports(engine, kind, limit=1 << 18)
    mine, yours = actual.models[0], expected.models[0]
    (told,) = [text for text in left_out(actual) if "bins" in text]
    bound = float(told.split("off by at most ")[1].split(",")[0].replace("−", "-"))
    assert 0 < bound < 1e-4
    assert mine.auc is not None
    assert yours.auc is not None
    assert abs(mine.auc.value - yours.auc.value) <= bound
    losses, others = dict(mine.expected_losses), dict(yours.expected_losses)
    for start, value in (("H lies", yours.h), ("thresholds", others["optimal threshold"])):
        low, high = ends(told, start)
        assert low <= value <= high <= low + 0.02
    assert mine.h == pytest.approx(yours.h, abs=1e-3)
    assert losses == pytest.approx(others, abs=1e-3)
    if kind == "posteriors":
        assert mine.normalized_log_loss == pytest.approx(yours.normalized_log_loss, rel=1e-9)
        assert mine.normalized_brier == pytest.approx(yours.normalized_brier, rel=1e-9)
        assert actual.system("m (as is)") == expected.system("m (as is)")
        assert mine.table is not None  # the page decides from it as the report does
        above = mine.table.weights[mine.table.scores > SQUARE.threshold].sum(axis=0)
        assert above.tolist() == actual.system("m (as is)").counts.values[:, 1].tolist()


@pytest.mark.parametrize("kind", ["posteriors", "scores"])
@pytest.mark.parametrize("engine", ["DuckDB", "Polars"])
def test_fine_scores_that_can_be_sorted_have_exact_ranks(engine, kind):
    actual, expected = fine_reports(engine, kind)
    mine, yours = actual.models[0], expected.models[0]
    assert [text for text in left_out(actual) if "bins" in text] == []
    assert mine.n_scores < yours.n_scores == 60_000
    assert mine.auc.value == pytest.approx(yours.auc.value, abs=1e-14)
    assert mine.auc.low == pytest.approx(yours.auc.low, rel=1e-4)
    assert mine.h == pytest.approx(yours.h, abs=1e-12)
    losses, others = dict(mine.expected_losses), dict(yours.expected_losses)
    assert losses["optimal threshold"] == pytest.approx(others["optimal threshold"], rel=1e-12)
    assert losses == pytest.approx(others, rel=1e-3)
    names = ("m (as is)",) * 2 if kind == "posteriors" else ("m", "m (tuned)")
    first, other = actual.system(names[0]), expected.system(names[1])
    assert (first.counts, first.threshold) == (other.counts, other.threshold)


def test_the_bound_of_the_auc_holds_and_can_be_met():
    scores = np.array([0.1, 0.2, 0.3, 0.4])
    best = ScoreTable(scores, [[1, 0], [0, 1], [1, 0], [0, 1]])
    bins = Bins.pooled(scores[::2], scores[1::2], np.array([0.3, 0.7]), np.ones((2, 2)))
    binned = bins.table((0, 1))
    assert not bins.exact
    assert bins.auc_error == pytest.approx(0.25)
    assert float(auc(best) - auc(binned)) == pytest.approx(bins.auc_error)


def test_parts_of_one_class_that_lie_apart_keep_their_order():
    bins = Bins.pooled(
        np.array([0.3, 0.1]), np.array([0.4, 0.2]), np.array([0.7, 0.3]), np.array([[2, 0], [0, 2]])
    )
    assert bins.mean.tolist() == pytest.approx([0.15, 0.35])
    assert (bins.exact, bins.auc_error) == (False, 0.0)
    assert bins.threshold(float(bins.mean[0])) == 0.2


# The grid ----------------------------------------------------------------------------------------


def run_of(distance: float) -> int:
    """The bin of a distance in units of the first run, by the definition."""
    if distance >= 2.0**32:
        return 33 * 1024 + math.isinf(distance)
    octave = 0
    while distance >= 2:
        distance, octave = distance / 2, octave + 1
    return octave * 1024 + math.floor(distance * 1024)


def unit_bin(score: float) -> int:
    below = score < 0.5
    place = run_of((score if below else 1 - score) * 2.0**32)
    return place if below else BitGrid.N_BINS - 1 - place


def score_bin(score: float, grid: ScoreGrid) -> int:
    side = BitGrid.N_BINS // 2
    place = run_of(abs(score - grid.centre) / grid.unit)
    return side - 1 - place if score < grid.centre else side + place


def bins_of(engine: str, grid: UnitGrid | ScoreGrid, scores: list[float]) -> list[int]:
    columns = {"place": np.arange(len(scores)), "s": np.array(scores)}
    frame = grid.binned(ENGINES[engine](columns), "s", "bin").sort("place")
    return [int(number) for number in frame.collect()["bin"].to_list()]


edges = st.integers(0, 60).flatmap(
    lambda k: st.sampled_from([2.0**-k, 1 - 2.0**-k, math.nextafter(2.0**-k, 0)])
)


@given(st.lists(st.floats(0, 1) | edges, min_size=1, max_size=40))
@example([k / 4 / BitGrid(probabilities=True).scale for k in range(12)])
def test_probabilities_have_the_same_bins_in_every_engine_and_in_order(scores):
    expected = [unit_bin(score) for score in sorted(scores)]
    assert expected == sorted(expected)
    assert 0 <= expected[0] <= expected[-1] < BitGrid.N_BINS
    assert BitGrid(probabilities=True).places(np.sort(scores))[0].tolist() == expected
    for engine in ENGINES:
        assert bins_of(engine, UnitGrid(), sorted(scores)) == expected


@given(
    st.lists(st.floats(allow_nan=False), min_size=1, max_size=40),
    st.floats(-1e6, 1e6),
    st.integers(-30, 30),
)
def test_scores_have_the_same_bins_in_every_engine_and_in_order(scores, centre, power):
    grid = ScoreGrid(centre, 2.0**power)
    expected = [score_bin(score, grid) for score in sorted(scores)]
    assert expected == sorted(expected)
    assert 0 <= expected[0] <= expected[-1] < BitGrid.N_BINS
    for engine in ENGINES:
        assert bins_of(engine, grid, sorted(scores)) == expected


@given(st.lists(st.floats(allow_nan=False), min_size=1, max_size=40))
@example([k / 4 / BitGrid(probabilities=False).scale for k in range(-12, 12)])
def test_bins_of_all_numbers_are_the_top_bits_and_a_bin_and_its_rest_give_the_score_back(scores):
    ordered = np.sort(scores)
    bins, rest = BitGrid(probabilities=False).places(ordered)
    assert bins.tolist() == [score_bin(score, ScoreGrid()) for score in ordered.tolist()]
    near = np.abs(ordered) < 2.0**16
    back = BitGrid(probabilities=False).scores(bins, rest)[near]
    assert (np.abs(back) <= np.abs(ordered[near])).all()
    np.testing.assert_allclose(back, ordered[near], rtol=2.0**-22, atol=2.0**-38)


# What cannot be used -----------------------------------------------------------------------------


def changed(values: Any, **at: Any) -> list[Any]:
    rows = list(np.asarray(values).tolist())
    for place, value in at.items():
        rows[int(place[1:])] = value
    return rows


BAD: dict[str, tuple[Columns, str]] = {
    "an unknown class": (
        {"y": changed(LABELS[3], _3="frog", _4="frog", _5=None)},
        "column 'y' of rows must hold the classes legit, fraud in every row; 3 of 1500 rows hold "
        "something else, most often 'frog'",
    ),
    "no class": ({"y": changed(LABELS[3], _3=None)}, "1 of 1500 rows .* most often nothing"),
    "a probability beyond one": (
        {"p": changed(GOOD, _7=1.5)},
        r"models\['m'\] must hold probabilities in \[0, 1\]; 1 of 1500 do not, one being 1.5",
    ),
    "a missing probability": ({"p": changed(GOOD, _7=None)}, "1 of 1500 do not, one being nothing"),
    "no number": ({"p": changed(GOOD, _7=math.nan, _8=-1.0)}, "2 of 1500 do not"),
    "a negative weight": (
        {"weights": changed(POOR, _0=-2.0)},
        "weights must hold finite numbers that are zero or more; 1 of 1500 do not, one being -2",
    ),
    "an infinite weight": ({"weights": changed(POOR, _0=math.inf)}, "one being inf"),
    "weights beyond measure": ({"weights": [1e308] * N}, r"1e-100 and 1e\+100.* it is inf. Scale"),
    "heavy weights": ({"weights": [1e99] * N}, r"weights must have a total between.*1.5e\+102"),
    "light weights": ({"weights": [1e-104] * N}, "it is 1.5e-101. Scale them up"),
    "uneven weights": ({"weights": changed([1.0] * N, _0=1e-59)}, "at least 1e-60 of their total"),
    "no weight": ({"weights": [0.0] * N}, "must have a positive total; all 1500 are zero"),
    "no cluster": (
        {"clusters": changed(UNIT, _2=None)},
        "must hold the clusters in every row; 1 of 1500 rows holds nothing",
    ),
}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("what", BAD)
def test_rows_that_cannot_be_used_are_counted_and_refused(engine, what):
    bad, message = BAD[what]
    columns = {"y": LABELS[3], "p": GOOD, **bad}
    with pytest.raises(InputError, match=message):
        tallied(engine, columns, {"m": Posteriors("p")}, RECTANGLE)


@pytest.mark.parametrize("engine", ENGINES)
def test_scores_must_be_numbers_for_two_classes_and_allow_a_decision(engine):
    raw = {"m": Scores("s")}
    with pytest.raises(InputError, match="can be ordered; 1 of 1500 do not, one being nan"):
        tallied(engine, {"y": LABELS[2], "s": changed(GOOD, _1=math.nan)}, raw, SQUARE)
    with pytest.raises(InputError, match="raw scores are for two classes, the problem has 4"):
        tallied(engine, {"y": LABELS[4], "s": GOOD}, raw, FOUR)
    with pytest.raises(InputError, match=r"unless they are recalibrated.* folds come from a key"):
        tallied(engine, {"y": LABELS[3], "s": GOOD}, raw, RECTANGLE, calibrator=Isotonic())


@pytest.mark.parametrize("engine", ENGINES)
def test_posteriors_far_from_a_sum_of_one_are_refused(engine):
    columns = {"y": LABELS[4], **TREES, "t_0": SOFT[:, 0] * np.where(np.arange(N) < 2, 0.5, 1)}
    models = {"m": Posteriors(tuple(TREES))}
    with pytest.raises(InputError, match=r"must sum to one in every row; 2 of 1500 do not"):
        tallied(engine, columns, models, FOUR)


def test_a_tally_of_too_many_clusters_is_refused_with_a_remedy():
    columns = {"y": LABELS[3], "p": GOOD, "clusters": np.arange(N)}
    models = {"m": Posteriors("p")}
    with pytest.raises(InputError, match="name coarser groups and clusters"):
        tallied("DuckDB", columns, models, RECTANGLE, limit=10_000)


# What is left out --------------------------------------------------------------------------------


def left_out(report: Report) -> list[str]:
    """Sentences about what was left out."""
    return [caveat.text for caveat in report.caveats if caveat.kind == "left out"]


@pytest.mark.parametrize("size", [None, pytest.param(1.0, marks=pytest.mark.slow), 0.5])
@pytest.mark.parametrize("together", [True, False])
def test_engines_count_the_joint_bins_that_memory_counts(size, together, monkeypatch):
    """All sources at once, or a pass for each pair of them."""
    if not together:
        monkeypatch.setattr(joint_decisions, "_MOST_CELLS", 1)
    weights = None if size is None else np.arange(N) % 3 * size
    columns = {"y": LABELS[3], "p": GOOD, "q": POOR, "d": OLD}
    models = {"m": Posteriors("p"), "n": Posteriors("q"), "old": Decisions("d")}
    arrays = {"m": GOOD, "n": POOR, "old": Decisions(OLD)}
    asked: dict[str, Any] = {"replicates": 30, "calibrator": None}
    expected = evaluate(LABELS[3], arrays, RECTANGLE, weights=weights, **asked)
    columns |= {} if weights is None else {"weights": weights}
    actual = tallied("DuckDB", columns, models, RECTANGLE)
    assert actual.joint == expected.joint
    assert (actual.joint is None) is (size is not None)  # with weights no row is one case


def test_recalibration_is_left_out_and_nothing_else_where_every_bin_holds_one_score():
    columns = {"y": LABELS[3], "p": GOOD}
    models = {"m": Posteriors("p")}
    assert left_out(tallied("DuckDB", columns, models, RECTANGLE)) == []
    (told,) = left_out(tallied("DuckDB", columns, models, RECTANGLE, calibrator=Isotonic()))
    assert told.startswith("Recalibration was left out")


def test_what_ranks_backwards_is_found_among_many_classes():
    turned = {"t_0": TREES["t_1"], "t_1": TREES["t_0"], "t_2": TREES["t_2"], "t_3": TREES["t_3"]}
    for columns, backwards in ((TREES, False), (turned, True)):
        models = {"trees": Posteriors(tuple(columns))}
        report = tallied("DuckDB", {"y": LABELS[4], **columns}, models, FOUR)
        assert left_out(report) == []
        kinds = [caveat.kind for caveat in report.caveats]
        assert ("order of classes" in kinds) is backwards


def test_raw_scores_that_allow_no_decision_are_reported():
    columns = {"y": LABELS[3], "p": GOOD, "s": POOR}
    models = {"m": Posteriors("p"), "raw": Scores("s")}
    (told,) = left_out(tallied("DuckDB", columns, models, RECTANGLE))
    assert told.startswith("raw: raw scores alone allow no decision among 3")


@pytest.mark.parametrize("engine", ENGINES)
def test_posteriors_that_cannot_be_moved_are_reported(engine):
    sure = np.where(np.arange(N) == 0, 1.0, GOOD * 0.9)
    problem = SQUARE.with_prior([1, 0])
    columns = {"y": LABELS[2], "p": sure}
    models = {"m": Posteriors("p")}
    (told,) = left_out(tallied(engine, columns, models, problem))
    assert "cannot be moved to the prior" in told
    expected = evaluate(LABELS[2], {"m": sure}, problem, replicates=30, calibrator=None)
    assert left_out(expected) == [told]
    assert_same(read(tallied(engine, columns, models, problem)), read(expected))
