"""Decisions as a column of a lazy frame: those of the arrays, and nothing is read."""

from __future__ import annotations

import math
import pathlib
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

pytest.importorskip("duckdb")
pytest.importorskip("narwhals")
pytest.importorskip("pandas")
pytest.importorskip("polars")
pytest.importorskip("pyarrow")

import duckdb
import narwhals.stable.v2 as nw
import pandas as pd
import polars as pl
import pyarrow as pa

from engine_decisions import (
    CASES,
    ROWS,
    RULES,
    check_bayes_decisions,
    check_gaps_have_no_decision,
    check_rule,
)
from stakes import InputError, Posteriors, Problem, Rule, bayes_decisions
from stakes.adapters.frame_tallies import decision_steps
from stakes.adapters.lazy import cheapest_of_each, most_probable
from stakes.adapters.lazy_decisions import with_mapped
from stakes.calibration import BetaMap, Histogram, Isotonic, OneVsRestIsotonic
from stakes.scoring import EqualWidth


def table(columns: dict[str, Any]) -> pa.Table:
    return pa.table({name: pa.array(values) for name, values in columns.items()})


MAKERS = {
    "Polars": lambda columns: pl.LazyFrame(columns),
    "DuckDB": lambda columns: duckdb.connect().from_arrow(table(columns)),
}


def pairs(many: Any) -> list[Any]:
    """Both libraries with every case; the quick suite has half of them."""
    return [
        pytest.param(library, case, marks=[pytest.mark.slow] if (i + j) % 2 else [])
        for i, library in enumerate(MAKERS)
        for j, case in enumerate(many)
    ]


@pytest.mark.parametrize(("library", "case"), pairs(CASES))
def test_bayes_decisions_of_a_lazy_frame_are_those_of_the_arrays(library, case):
    check_bayes_decisions(MAKERS[library], case)


@pytest.mark.parametrize(("library", "what"), pairs(RULES))
def test_a_rule_decides_a_lazy_frame_as_arrays(library, what):
    check_rule(MAKERS[library], what)


@pytest.mark.parametrize("library", MAKERS)
def test_rows_that_would_be_refused_have_no_decision(library):
    check_gaps_have_no_decision(MAKERS[library])


@pytest.mark.parametrize("library", MAKERS)
def test_posteriors_of_which_every_map_makes_zero_are_uniform(library):
    """The maps are zero up to 0.4. At uniform posteriors the second decision is the cheapest."""
    p = np.array([[0.6, 0.0, 0.4], [0.4, 0.6, 0.0], [0.0, 0.4, 0.6], [0.4, 0.3, 0.3]])
    fitted = OneVsRestIsotonic().fit(p[:3], [0, 1, 2])
    rule = Rule(Problem([[0, 5], [4, 3], [9, 1]]), map=fitted)
    frame = MAKERS[library](dict(zip("abc", p.T, strict=True)))
    decided = nw.from_native(rule.decide(frame, columns=["a", "b", "c"])).collect()
    assert decided["decision"].to_list() == rule.decide(Posteriors(p)).tolist() == [0, 1, 1, 1]


@pytest.mark.parametrize("library", MAKERS)
def test_the_most_probable_class_is_the_first_of_those_that_are_tied(library):
    rows = {"a": [0.2, 0.3, 0.4, 0.2], "b": [0.5, 0.3, 0.4, 0.4], "c": [0.3, 0.4, 0.2, 0.4]}
    frame = most_probable(nw.from_native(MAKERS[library](rows)), ["a", "b", "c"], "first")
    assert frame.collect()["first"].to_list() == [1, 2, 0, 1]


def test_nan_in_a_parquet_file_has_no_decision_although_its_statistics_leave_it_out(tmp_path):
    """DuckDB believes them: it would find no nan in this column, and none above 1."""
    file = str(tmp_path / "rows.parquet")
    p, scores = [0.1, math.nan, 0.9, 0.2], [-math.inf, math.nan, math.inf, 0.0]
    rest = [(1 - x) / 2 for x in p]
    pl.DataFrame({"p": p, "s": scores, "a": rest, "b": rest}).write_parquet(file)
    two, three = Problem.zero_one(2), Problem.zero_one(3)
    for rule, columns, expected in (
        (Rule(two), "p", [0, None, 1, 0]),
        (Rule(two, "scores", threshold=0.5), "s", [0, None, 1, 0]),
        (Rule(three), ["p", "a", "b"], [1, None, 0, 1]),
    ):
        for frame in (duckdb.connect().read_parquet(file), pl.scan_parquet(file)):
            decided = nw.from_native(rule.decide(frame, columns=columns)).collect()
            assert decided["decision"].to_list() == expected


@pytest.mark.parametrize("make", [pl.DataFrame, pd.DataFrame, pa.table])
def test_a_frame_in_memory_gets_the_decisions_as_a_column(make):
    rows = {"case": [7, 8, 9], "p": [0.05, 0.4, None]}
    problem = Problem.binary(false_alarm=1, miss=9, decisions=["wait", "treat"])
    for decided in (
        bayes_decisions(make(rows), problem, columns="p"),
        Rule(problem).decide(make(rows), columns="p"),
    ):
        assert isinstance(decided, type(make(rows)))
        columns = nw.from_native(decided)
        assert columns.columns == ["case", "p", "decision"]
        assert columns["decision"].to_list()[:2] == ["wait", "treat"]
        assert columns["decision"].null_count() == 1
    with pytest.raises(InputError, match=r"data must be left out .* Join them first"):
        bayes_decisions(make(rows), problem, columns="p", data={"amount": [1, 2, 3]})


def test_columns_of_pandas_may_have_other_names_than_text():
    frame = pd.DataFrame({0: [7, 8], "p": [0.05, 0.4]})
    decided = bayes_decisions(frame, Problem.binary(false_alarm=1, miss=9), columns="p")
    assert decided.columns.tolist() == [0, "p", "decision"]
    assert decided["decision"].tolist() == [0, 1]
    with pytest.raises(InputError, match="has no column 'q'"):
        bayes_decisions(frame, Problem.binary(false_alarm=1, miss=9), columns="q")
    number: Any = 0
    with pytest.raises(InputError, match="column 0 of the frame must have text for a name"):
        bayes_decisions(frame, Problem.binary(false_alarm=1, miss=9), columns=[number])


@pytest.mark.parametrize("files", ["rows.parquet", pathlib.Path("rows.csv"), ["a.csv"]])
def test_files_are_no_frames_yet(files):
    with pytest.raises(InputError, match="files become one by polars"):
        bayes_decisions(files, Problem.zero_one(2), columns="p")


def test_nothing_is_read(monkeypatch):
    monkeypatch.setattr(pl.LazyFrame, "collect", lambda *arguments: pytest.fail("it was read"))
    decided = bayes_decisions(MAKERS["Polars"](ROWS), CASES["two classes"].problem, columns="p")
    assert isinstance(decided, pl.LazyFrame)
    assert list(decided.collect_schema()) == [*ROWS, "decision"]


# What is refused ---------------------------------------------------------------------------------

TWO = CASES["two classes"].problem
LAZY = pl.LazyFrame({"p": [0.1], "decision": ["no"]})


def test_what_cannot_be_a_column_is_refused():
    frame = MAKERS["Polars"](ROWS)
    with pytest.raises(InputError, match="must have no column 'decision' yet"):
        bayes_decisions(LAZY, TWO, columns="p")
    with pytest.raises(InputError, match=r"has none for the classes a, b; .* Write columns="):
        bayes_decisions(frame, Problem.zero_one(["a", "b"]))
    with pytest.raises(InputError, match="Name the columns of the predictions with columns="):
        bayes_decisions(frame, TWO, columns="elsewhere")
    with pytest.raises(InputError, match=r"columns must be one for each class.* is 3"):
        bayes_decisions(frame, TWO, columns=["t_0", "t_1", "t_2"])
    with pytest.raises(InputError, match=r"data must be left out .* Join them first"):
        bayes_decisions(frame, TWO, columns="p", data={"amount": [1]})
    with pytest.raises(InputError, match="columns must be left out unless"):
        bayes_decisions(np.array([0.1]), TWO, columns="p")
    with pytest.raises(InputError, match="columns must be named: the rule takes scores"):
        Rule(TWO, "scores", threshold=1.0).decide(frame)
    with pytest.raises(InputError, match="must be of one type to stand in a column"):
        bayes_decisions(frame, Problem([[0, 1], [9, 0]], decisions=["no", 1]), columns="p")


@pytest.mark.parametrize("name", ["_code", "_cost_0_0", "_least", "_posterior_0", "Code"])
@pytest.mark.parametrize("library", MAKERS)
def test_columns_beside_the_predictions_come_back_as_they_were(library, name):
    problem = Problem({0: {"no": 0, "yes": f'1 + column["{name}"]'}, 1: {"no": 9, "yes": 0}})
    rows = {"p": [0.05, 0.2, 0.9], name: [1.0, 0.5, 2.0], "_code_regret_0": [7.0, 8.0, 9.0]}
    frame = nw.from_native(bayes_decisions(MAKERS[library](rows), problem, columns="p"))
    decided = frame.lazy().collect().to_dict(as_series=False)
    twin = bayes_decisions(np.array(rows["p"]), problem, data={name: np.array(rows[name])})
    assert decided.pop("decision") == twin.tolist()
    assert decided == rows


@pytest.mark.parametrize("library", MAKERS)
@pytest.mark.parametrize("name", ["decision", "Decision", "_stakes_code", "_STAKES_x"])
def test_a_column_that_is_to_be_added_must_not_be_there_by_any_case(library, name):
    frame = MAKERS[library]({"p": [0.1], name: [1.0]})
    with pytest.raises(InputError, match=rf"the frame must have no column '{name}' yet"):
        bayes_decisions(frame, Problem.zero_one(2), columns="p")


def test_a_map_of_very_many_steps_is_refused():
    rng = np.random.default_rng(0)
    p = np.arange(6000) / 6000
    cuts = Histogram(EqualWidth(3000)).fit(p, rng.random(6000) < np.abs(p - 0.5))
    with pytest.raises(InputError, match="must have at most 2000 steps"):
        Rule(TWO, map=cuts.relabelled(TWO.classes)).decide(MAKERS["Polars"](ROWS), columns="p")


@pytest.mark.parametrize("columns", [2**70, 3.5, {"a": 1}.values, [["a"]]])
def test_columns_of_a_lazy_frame_that_are_no_names_are_refused(columns):
    frame = pl.LazyFrame({"a": [0.1], "b": [0.9]})
    with pytest.raises(InputError, match="columns must"):
        bayes_decisions(frame, Problem.zero_one(2), columns=columns)


def test_maps_agree_at_ends_limits_and_between_very_close_knots():
    """Posteriors of 0 and 1, tiny ones below a deep limit, and slopes beyond all numbers."""
    fitted = Isotonic().fit([0, 0, 1e-310, 1e-310, 0.5, 0.9], [0, 0, 1, 0, 1, 1])
    deep = BetaMap().fit([0.2, 0.8, 0.4, 1e-306], [0, 1, 1, 0])
    limited = replace(deep, a=0.02, b=1.0, limit=705.0)
    tiny = [0.0, 5e-324, 1e-320, 5e-311, 1e-310, 1e-306, 0.5, 1 - 2**-53, 1.0]
    for each in (fitted, deep, limited):
        rows = nw.from_native(pl.LazyFrame({"p": tiny}))
        mapped = with_mapped(rows, each, ["p"], ["no", "yes"]).collect()["yes"].to_list()
        posteriors = each(tiny)
        assert ((posteriors >= 0) & (posteriors <= 1)).all()
        np.testing.assert_allclose(mapped, posteriors, rtol=1e-12)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_posteriors_of_classes_that_are_mapped_apart_are_those_of_the_arrays(n_classes):
    rng = np.random.default_rng(0)
    posteriors, y = rng.dirichlet(np.ones(n_classes), 60), np.arange(60) % n_classes
    fitted = OneVsRestIsotonic().fit(posteriors, y)
    columns = [f"p{k}" for k in range(n_classes)]
    rows = nw.from_native(pl.LazyFrame(dict(zip(columns, posteriors.T, strict=True))))
    names = [f"new{k}" for k in range(n_classes)]
    mapped = with_mapped(rows, fitted, columns, names).collect().select(names).to_numpy()
    np.testing.assert_allclose(mapped, fitted(posteriors), rtol=1e-12)


def test_steps_of_decisions_end_where_they_do_in_double_precision_but_for_rounding():
    problem = Problem([[0, 3, 25], [180, 8, 0]])
    double, single = (decision_steps(problem, None, single=each) for each in (False, True))
    assert [decision for _, decision in single] == [decision for _, decision in double]
    ends = [end for end, _ in single]
    assert ends == pytest.approx([end for end, _ in double], rel=1e-6)
    assert ends != [end for end, _ in double]


def test_costs_of_every_row_are_weighed_as_its_posteriors_move():
    rng = np.random.default_rng(0)
    posteriors, costs = rng.dirichlet([1, 1], 40), rng.random((40, 2, 3))
    ratios = np.array([0.25, 3.0])
    columns = {f"p{k}": posteriors[:, k] for k in range(2)}
    columns |= {f"c{k}{d}": costs[:, k, d] for k in range(2) for d in range(3)}
    names = [[f"c{k}{d}" for d in range(3)] for k in range(2)]
    frame = nw.from_native(pl.LazyFrame(columns))
    decided = cheapest_of_each(frame, ["p0", "p1"], names, "decided", ratios=ratios)
    expected = np.einsum("nk,k,nkd->nd", posteriors, ratios, costs).argmin(axis=1)
    assert decided.collect()["decided"].to_list() == expected.tolist()
