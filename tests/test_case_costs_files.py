"""Costs of every case in frames and files, through Python and through the command line."""

from __future__ import annotations

import json
from functools import partial
from typing import Any

import numpy as np
import pytest

pytest.importorskip("click")
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
import pyarrow.parquet

from stakes import Columns, Decisions, InputError, Limit, Problem, evaluate, evaluate_frame
from stakes.adapters import joint_decisions
from stakes.adapters.lazy import TRUTH, WEIGHT, cheapest_of_each, grouped, high_of, low_of
from stakes.adapters.lazy_models import between_scores, pooled_costs
from test_case_costs_evaluate import PAYMENTS, World
from test_cli import run

WORLD = World(200)
ROWS = {
    "truth": WORLD.y.tolist(),
    "amount": WORLD.data["amount"],
    **{f"p_{name}": p for name, p in WORLD.models.items()},
}
TABLE = pa.table(ROWS)
MODELS = {"weak": "p_weak", "strong": "p_strong"}
TOML = """
unit = "EUR"
[costs]
legit = { approve = 0, review = 3, block = "5 + 0.02*amount" }
fraud = { approve = "amount", review = 8, block = 0 }
"""


@pytest.fixture(scope="module")
def expected():
    return evaluate(WORLD.y, WORLD.models, PAYMENTS, data=WORLD.data, calibrator=None)


@pytest.mark.parametrize("kind", ["pandas", "polars", "lazy", "pyarrow", "relation", "parquet"])
def test_costs_of_cases_are_the_same_from_every_frame_and_file(kind, expected, tmp_path):
    pa.parquet.write_table(TABLE, tmp_path / "rows.parquet")
    frame = {
        "pandas": lambda: pd.DataFrame(ROWS),
        "polars": lambda: pl.DataFrame(ROWS),
        "lazy": lambda: pl.DataFrame(ROWS).lazy(),
        "pyarrow": lambda: TABLE,
        "relation": lambda: duckdb.from_arrow(TABLE),
        "parquet": lambda: str(tmp_path / "rows.parquet"),
    }[kind]()
    report = evaluate_frame(frame, PAYMENTS, y_true="truth", models=MODELS, calibrator=None)
    assert [system.cost for system in report.systems] == [
        system.cost for system in expected.systems
    ]
    assert report.verdict == expected.verdict


def test_a_frame_without_the_column_of_the_costs_is_refused():
    asked: dict[str, Any] = {"y_true": "truth", "models": MODELS, "calibrator": None}
    with pytest.raises(InputError, match=r"no column 'amount', which the costs need.* Add it"):
        evaluate_frame(TABLE.drop_columns(["amount"]), PAYMENTS, **asked)
    texts = TABLE.set_column(1, "amount", pa.array(["12"] * 200))
    with pytest.raises(InputError, match="'amount' of the frame must hold numbers"):
        evaluate_frame(texts, PAYMENTS, **asked)
    gaps = TABLE.set_column(1, "amount", pa.array([None, *ROWS["amount"][1:]], pa.float64()))
    with pytest.raises(InputError, match="amount"):
        evaluate_frame(gaps, PAYMENTS, **asked)


def test_rows_beyond_the_limit_of_memory_are_refused_with_a_remedy():
    with pytest.raises(InputError, match=r"leave room for the tally of decisions.*Raise it"):
        evaluate_frame(
            pl.DataFrame(ROWS).lazy(), PAYMENTS, y_true="truth", models=MODELS, memory_limit=100
        )


@pytest.mark.parametrize(("n_classes", "n_decisions", "n_terms"), [(2, 2, 1), (3, 2, 2), (4, 5, 3)])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_group_of_costs_takes_the_memory_that_it_is_estimated_to_take(
    n_classes, n_decisions, n_terms, weighted, monkeypatch
):
    rng, n, limit = np.random.default_rng(0), 300, 10**12
    cost = [[f"{k + 1}*t{(k + d) % n_terms} + {d}" for d in range(n_decisions)] for k in range(9)]
    problem, taken = Problem(cost[:n_classes]), []

    def tallied(*asked: Any) -> Any:
        arrays = grouped(*asked)
        costs: Any = pooled_costs(problem, arrays)
        parts = [*arrays.values(), costs.array, *costs.columns.values()]
        taken.append((limit / (asked[-1] - 1), sum(part.nbytes for part in parts) / len(parts[0])))
        return arrays

    monkeypatch.setattr(joint_decisions, "grouped", tallied)
    columns = {f"t{k}": rng.integers(1, 5, n) for k in range(n_terms)}
    columns |= {"y": rng.integers(0, n_classes, n), "a": rng.integers(0, n_decisions, n)}
    asked: dict[str, Any] = {"models": {"a": Decisions("a")}, "calibrator": None, "replicates": 2}
    if weighted:
        columns["w"], asked["weights"] = rng.integers(1, 3, n), "w"
    rows = pl.LazyFrame(columns)
    evaluate_frame(rows, problem, y_true="y", engine="polars", memory_limit=limit, **asked)
    [(estimated, real)] = taken
    assert estimated == pytest.approx(real, rel=1e-6)


def test_limits_beyond_the_limit_of_memory_are_refused_with_a_remedy():
    limited = PAYMENTS.with_limits([Limit.share("review", at_most=0.1)])
    with pytest.raises(InputError, match=r"leave room.*fitted there for two classes only"):
        evaluate_frame(
            pl.DataFrame(ROWS).lazy(), limited, y_true="truth", models=MODELS, memory_limit=100
        )


def test_the_columns_of_costs_are_not_taken_for_models():
    shares = {**ROWS, "amount": np.linspace(0, 1, 200)}
    columns = Columns.guess(pa.table(shares), PAYMENTS)
    assert [model.values for model in columns.models.values()] == ["p_weak", "p_strong"]


def test_the_command_line_charges_every_case_its_own_costs(expected, tmp_path):
    (tmp_path / "fraud.toml").write_text(TOML)
    assert Problem.from_toml(tmp_path / "fraud.toml") == PAYMENTS
    pd.DataFrame(ROWS).to_csv(tmp_path / "rows.csv", index=False)
    command = ["evaluate", str(tmp_path / "rows.csv"), "--problem", str(tmp_path / "fraud.toml")]
    command += ["--calibrate", "none", "--json", str(tmp_path / "report.json")]
    command += ["--running-cost", "strong=0.02", "--volume", "250000", "--period", "year"]
    done = run(*command)
    assert done.exit_code == 0, done.output
    assert "250,000 cases a year" in " ".join(done.output.split())
    data = json.loads((tmp_path / "report.json").read_text())
    costs = {system["name"]: system["cost"]["value"] for system in data["systems"]}
    strong = expected.system("strong (as is)").cost.value
    assert costs["strong (as is)"] == pytest.approx(strong + 0.02, rel=1e-9)
    assert data["problem"]["costs"][0][2] == "5 + 0.02*amount"
    assert data["assumptions"]["volume"] == 250_000
    assert data["systems"][0]["total"]["value"] == pytest.approx(250_000 * costs["weak (as is)"])
    shown = run("problem", "show", str(tmp_path / "fraud.toml"))
    assert "by its columns: amount" in shown.output
    assert run("problem", "check", str(tmp_path / "fraud.toml")).exit_code == 0
    bad = run(*command, "--running-cost", "strong")
    assert bad.exit_code == 2
    assert "MODEL=COST" in bad.output + bad.stderr


@pytest.mark.parametrize("edges", [[], [0.3], [0.1, 0.3, 0.35, 0.9]])
def test_terms_of_costs_are_summed_between_scores_as_in_plain_loops(edges):
    """Groups lie below an edge up to the edge itself; the highest bins and classes may be empty."""
    low, truth = np.array([0.1, 0.3, 0.3, 0.2, 0.6, 0.1]), np.array([0, 1, 0, 0, 0, 0])
    weight, amount = (
        np.array([1.0, 2.0, 0.5, 3.0, 1.5, 1.0]),
        np.array([7.0, 1.0, 4.0, 2.0, 9.0, 3.0]),
    )
    problem = Problem([[0, "amount"], [5, 0]])
    groups = {TRUTH: truth, WEIGHT: weight, "sum term_1": amount}
    expected = np.zeros((len(edges) + 1, 2, 2))
    for score, k, mass, total in zip(low, truth, weight, amount, strict=True):
        expected[sum(edge < score for edge in edges), k] += mass, total
    assert np.array_equal(between_scores(problem, groups, low)(np.array(edges)), expected)


@pytest.mark.parametrize("offset", [1e6, 3e6, 7e8])
def test_costs_that_tie_but_for_the_rounding_of_large_costs_tie_in_an_engine_too(offset):
    """In cents, the two decisions cost the same: what a sum with a large offset lost is no gain."""
    cents = np.arange(1, 100) / 100
    same, half = np.full(cents.size, offset), np.full(cents.size, 0.5)
    columns = {"p0": half, "p1": half, "a": same, "b": offset + cents}
    frame = nw.from_native(pl.LazyFrame({**columns, "c": 2 * offset + cents, "d": 2 * same}))
    chosen = cheapest_of_each(frame, ["p0", "p1"], [["a", "b"], ["c", "d"]], "chosen")
    assert not chosen.collect()["chosen"].to_numpy().any()
    raised = frame.with_columns(nw.col("c") + 1e-4)
    chosen = cheapest_of_each(raised, ["p0", "p1"], [["a", "b"], ["c", "d"]], "chosen")
    assert chosen.collect()["chosen"].to_numpy().all()


def test_costs_of_a_group_are_those_of_its_mean_row():
    problem = Problem([[0, "3 + 2 * amount"], [5, 0]])
    groups = {WEIGHT: np.array([4.0, 2.0]), "sum term_1": np.array([10.0, 14.0])}
    groups |= {low_of("term_1"): np.array([1.0, 7.0]), high_of("term_1"): np.array([9.0, 7.0])}
    costs = pooled_costs(problem, groups).array
    assert costs is not None
    assert costs.tolist() == [[[0, 8], [5, 0]], [[0, 17], [5, 0]]]


@pytest.mark.parametrize(("replicates", "fits"), [(2, True), (1, False)])
def test_an_engine_takes_as_few_replicates_as_arrays_do(replicates, fits):
    rows = pl.LazyFrame({"y": [0, 0, 0, 1] * 10, "p": [0.1, 0.2, 0.3, 0.6] * 10})
    named: dict[str, Any] = {"y_true": "y", "models": {"m": "p"}, "engine": "polars"}
    call = partial(evaluate_frame, rows, Problem.zero_one(2), calibrator=None, **named)
    if fits:
        assert call(replicates=replicates).assumptions.replicates == replicates
    else:
        with pytest.raises(InputError, match=r"^replicates must be"):
            call(replicates=replicates)


@pytest.mark.parametrize("prior", [None, (0.5, 0.5)])
@pytest.mark.parametrize("base", [1e8, -1e8, 0.0])
def test_an_amount_that_all_rows_share_does_not_narrow_the_intervals_of_an_engine(base, prior):
    rows, (memory, engine) = _shared(np.full(1000, base), prior)
    assert engine.cost.value == pytest.approx(memory.cost.value, rel=1e-12)
    if prior is None:  # the mean of what the cases cost, what all share among it
        assert memory.cost.value == pytest.approx(base, abs=1.0)
    width = memory.cost.high - memory.cost.low
    for end in ("low", "high"):
        off = getattr(engine.cost, end) - getattr(memory.cost, end)
        assert abs(off) < 1e-4 * width
    assert not any("too narrow" in caveat.text for caveat in rows.caveats)


def test_an_amount_that_one_class_shares_is_said_to_narrow_the_intervals_of_an_engine():
    """Bins are finest at zero, where the other class pays; the bound holds, and is not wild."""
    rng = np.random.default_rng(0)
    report, (memory, engine) = _shared(1e8 * rng.integers(0, 2, 1000), (0.1, 0.9), by_class=True)
    told = [caveat.text for caveat in report.caveats if "too narrow" in caveat.text]
    bound = float(told[0].split("narrow, by ")[1].split(" %")[0]) / 100
    kept = (engine.cost.high - engine.cost.low) / (memory.cost.high - memory.cost.low)
    assert 1 - bound - 1e-3 <= kept < 1


def _shared(base: Any, prior: Any, by_class: bool = False) -> Any:
    """A report of DuckDB on costs about a base, and its first system with that of arrays."""
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, 1000) if not by_class else (base > 0).astype(int)
    decided = np.where(rng.random(1000) < 0.9, y, 1 - y)
    data = {"y": y, "did": decided, "amount": base + np.round(rng.normal(size=1000), 3)}
    problem = Problem([["amount", "amount + 1"], ["amount + 2", "amount"]], prior=prior)
    options: dict[str, Any] = {"calibrator": None, "replicates": 50}
    memory = evaluate(y, {"m": Decisions(decided)}, problem, data=data, **options)
    engine = evaluate_frame(
        pa.table(data),
        problem,
        y_true="y",
        models={"m": Decisions("did")},
        engine="duckdb",
        **options,
    )
    return engine, (memory.systems[0], engine.systems[0])
