"""Unused columns whose values repeat: rows of one value may not be independent."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from stakes import Decisions, Problem, Report, evaluate_frame
from stakes._check import FloatArray, IntArray
from stakes.calibration import Affine
from stakes.evaluation.evaluate_rows import RepeatedColumn, design_effect

pl = pytest.importorskip("polars")
pytest.importorskip("pyarrow")
pytest.importorskip("duckdb")


PROBLEM = Problem.binary(false_alarm=10, miss=30)


def customers(n_customers: int = 200, each: int = 20, seed: int = 0, alike: float = 2.0) -> Any:
    """Rows of customers in random order; how likely a positive is depends on the customer."""
    rng = np.random.default_rng(seed)
    owner = np.repeat(np.arange(n_customers), each)
    effect = rng.normal(size=n_customers)[owner]
    truth = (rng.random(owner.size) < 1 / (1 + np.exp(1.5 - alike * effect))).astype(int)
    noise = rng.normal(size=owner.size)
    frame = pl.DataFrame(
        {
            "y": truth,
            "p": 1 / (1 + np.exp(1.2 - (truth - 0.5) - 0.8 * noise)),
            "customer_id": owner * 7 + 1000,
            "row": np.arange(owner.size),
            "shop": rng.integers(0, 150, owner.size),
            "few": rng.integers(0, 20, owner.size),
        }
    )
    return frame[rng.permutation(owner.size)]


def report_on(frame: Any, **options: Any) -> Report:
    call: dict[str, Any] = {"y_true": "y", "models": {"m": "p"}, "calibrator": None} | options
    return evaluate_frame(frame, PROBLEM, **call)


def repeats(report: Report) -> list[str]:
    return [caveat.text for caveat in report.caveats if caveat.kind == "repeated values"]


def test_rows_of_one_customer_are_said_to_be_alike_with_both_intervals():
    frame = customers()
    report, clustered = report_on(frame), report_on(frame, clusters="customer_id")
    [text] = repeats(report)
    assert 'pass clusters="customer_id" (--clusters customer_id)' in text
    numbers = re.findall(r"(\d\.\d\d) to (\d\.\d\d)", text)
    for shown, verdict in zip(numbers, (report.verdict, clustered.verdict), strict=True):
        interval = verdict.saving_over_naive
        assert shown == (f"{interval.low:.2f}", f"{interval.high:.2f}")
    assert repeats(clustered) == []
    assert Report.from_json(report.to_json()) == report
    for medium in (str(report), report.to_markdown(), report.to_html()):
        assert "Rows that share a value of customer" in " ".join(medium.split())


@pytest.mark.parametrize("engine", ["pandas", "pyarrow", "duckdb", "polars"])
def test_engines_say_the_same(engine):
    frame = customers()
    other = {"pandas": frame.to_pandas, "pyarrow": frame.to_arrow}.get(engine, lambda: frame)()
    assert repeats(report_on(other, engine=engine)) == repeats(report_on(frame))


@pytest.mark.parametrize("engine", [None, "duckdb"])
def test_files_say_the_same(tmp_path, engine):
    frame = customers()
    frame.write_csv(tmp_path / "rows.csv")
    frame.write_parquet(tmp_path / "rows.parquet")
    for name in ("rows.csv", "rows.parquet"):
        assert repeats(report_on(tmp_path / name, engine=engine)) == repeats(report_on(frame))


def test_rules_with_maps_and_models_that_decide_themselves_are_judged_alike():
    frame = customers(100, 30)
    assert len(repeats(report_on(frame, calibrator=Affine()))) == 1
    frame = frame.with_columns((pl.col("p") > 0.25).cast(pl.Int64).alias("d"))
    assert len(repeats(report_on(frame, models={"m": Decisions("d")}))) == 1


def test_with_a_stated_prior_only_rows_of_one_class_may_be_alike():
    """How many of a customer's rows are positive is then no error; their scores are independent."""
    frame, problem = customers(100, 30), PROBLEM.with_prior([0.6, 0.4])
    call: dict[str, Any] = {"y_true": "y", "models": {"m": "p"}, "calibrator": None}
    assert repeats(evaluate_frame(frame, problem, **call)) == []
    shared = 1 / (1 + np.exp(1 - np.random.default_rng(1).normal(size=100)))
    of_owner = ((frame["customer_id"] - 1000) // 7).to_numpy()
    frame = frame.with_columns(pl.Series("p", (frame["p"].to_numpy() + shared[of_owner]) / 2))
    assert len(repeats(evaluate_frame(frame, problem, **call))) == 1


def test_costs_of_each_case_count():
    frame = customers().with_columns((pl.col("row") % 9 + 1.0).alias("amount"))
    problem = Problem([[0, 10], ["6 * amount", 0]])
    call: dict[str, Any] = {"y_true": "y", "models": {"m": "p"}, "calibrator": None}
    assert len(repeats(evaluate_frame(frame, problem, **call))) == 1


def test_more_rows_than_are_looked_at_are_counted_in_one_pass():
    """The first 10,000 of 40,000 rows show a quarter of the pairs; the effect is that of all."""
    frame = customers(2000, 20, alike=3.0)
    report = report_on(frame)
    [text] = repeats(report)
    effect = float(re.findall(r"has (\d+\.?\d*) times", text)[0])
    clustered = report_on(frame, clusters="customer_id").verdict.saving_over_naive
    alone = report.verdict.saving_over_naive
    width = (clustered.high - clustered.low) / (alone.high - alone.low)
    assert np.sqrt(effect) == pytest.approx(width, rel=0.15)


def slow_effect(off: FloatArray, codes: IntArray, values: FloatArray | None) -> float:
    if values is not None:
        edges = sorted({float(np.quantile(values, k / 20)) for k in range(1, 20)})
        bins = [sum(value >= edge for edge in edges) for value in values]
        means = {b: np.mean([o for o, c in zip(off, bins, strict=True) if c == b]) for b in bins}
        off = np.array([o - means[b] for o, b in zip(off, bins, strict=True)])
    sums: dict[int, float] = {}
    for code, each in zip(codes.tolist(), off.tolist(), strict=True):
        sums[code] = sums.get(code, 0.0) + each
    return sum(total**2 for total in sums.values()) / sum(each**2 for each in off.tolist())


@pytest.mark.parametrize("numbers", [False, True])
def test_the_design_effect_is_the_ratio_of_plain_sums(numbers):
    rng = np.random.default_rng(4)
    codes = rng.integers(0, 150, 900)
    off = rng.normal(size=150)[codes] + rng.normal(size=900)
    values = (codes * 3.0).astype(np.float64) if numbers else None
    effect, error = design_effect(off, RepeatedColumn(codes, values))
    assert effect == pytest.approx(slow_effect(off, codes, values))
    pairs = sum(
        int(np.sum(codes == code)) * (int(np.sum(codes == code)) - 1) for code in range(150)
    )
    assert error == pytest.approx(np.sqrt(2 * pairs) / 900)


def test_by_chance_the_effect_is_one_within_its_standard_error():
    rng = np.random.default_rng(5)
    codes = rng.integers(0, 200, 2000)
    pairs = [
        design_effect(rng.exponential(size=2000) - 1, RepeatedColumn(codes, None))
        for _ in range(200)
    ]
    effects, (error, *_) = np.array([effect for effect, _ in pairs]), [error for _, error in pairs]
    assert effects.mean() == pytest.approx(1, abs=4 * error / np.sqrt(200))
    assert effects.std() == pytest.approx(error, rel=0.2)


def test_a_number_on_which_the_saving_depends_smoothly_is_no_cluster():
    rng = np.random.default_rng(6)
    amounts = rng.integers(0, 400, 4000)
    off = np.sin(amounts / 60) + rng.normal(size=4000)
    plain = design_effect(off, RepeatedColumn(amounts, None))[0]
    assert plain > 4 > 1.5 > design_effect(off, RepeatedColumn(amounts, amounts.astype(float)))[0]


@pytest.mark.parametrize(
    "codes",
    [
        np.arange(1000),
        np.arange(1000) % 99,
        np.where(np.arange(1000) < 30, 0, np.arange(1000) % 300),
    ],
    ids=["all different", "few values", "one in more than 2 %"],
)
def test_columns_that_are_no_clusters_have_no_effect(codes):
    off = np.random.default_rng(0).normal(size=1000)
    assert np.isnan(design_effect(off, RepeatedColumn(codes, None))).all()


def test_missing_values_are_rows_of_their_own():
    rng = np.random.default_rng(7)
    codes, off = rng.integers(0, 150, 900), rng.normal(size=900)
    gaps = np.where(np.arange(900) % 3 == 0, -1, codes)
    alone = np.where(gaps < 0, 1000 + np.arange(900), gaps)
    effect = design_effect(off, RepeatedColumn(gaps, None))[0]
    assert effect == pytest.approx(slow_effect(off, alone, None))
    frame = customers().with_columns(
        pl.when(pl.col("row") % 11 > 0).then("customer_id").alias("customer_id")
    )
    assert len(repeats(report_on(frame))) == 1


def random_frame(rng: np.random.Generator) -> Any:
    """A well-formed frame: independent rows, with codes, features and numbers that repeat."""
    n_rows = int(rng.integers(200, 3000))
    truth = (rng.random(n_rows) < rng.uniform(0.05, 0.5)).astype(int)
    feature = rng.normal(truth, 1.0)
    return pl.DataFrame(
        {
            "y": truth,
            "p": 1 / (1 + np.exp(1 - rng.uniform(0.2, 2) * feature)),
            "city": [f"c{k}" for k in rng.integers(0, rng.integers(100, 400), n_rows)],
            "age": (40 + 12 * feature + rng.normal(0, 5, n_rows)).astype(int),
            "amount": rng.exponential(200.0, n_rows).astype(int),
            "code": (rng.pareto(1.0, n_rows) * 100).astype(int),
        }
    )


def test_independent_rows_are_hardly_ever_said_to_be_alike():
    """Of 60 random frames; 200 of them gave none."""
    rng, n_caveats = np.random.default_rng(8), 0
    for _ in range(60):
        n_caveats += len(repeats(report_on(random_frame(rng), replicates=2)))
    assert n_caveats <= 1


@pytest.mark.parametrize(
    "words", [("no", "yes"), ("f", "t"), ("F", "T"), ("false", "true"), ("0", "1"), ("01", "02")]
)
def test_labels_that_a_reader_of_csv_takes_for_something_else_are_looked_at_as_they_are(
    words, tmp_path
):
    frame = customers()
    named = frame.with_columns(y=pl.Series([words[k] for k in frame["y"]]))
    named.write_csv(tmp_path / "rows.csv")
    problem = Problem.binary(false_alarm=10, miss=30, classes=words)
    call: dict[str, Any] = {"y_true": "y", "models": {"m": "p"}, "calibrator": None}
    read = evaluate_frame(tmp_path / "rows.csv", problem, **call)
    assert repeats(read) == repeats(evaluate_frame(named, problem, **call)) != []
