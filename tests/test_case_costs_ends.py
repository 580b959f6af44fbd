"""Costs of every case, at the edges: what is refused, what totals say, and who is the same."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import stakes
from stakes import Decisions, InputError, Problem, evaluate
from stakes.decide import reachable_decisions
from stakes.evaluation import evidence as case_charges
from stakes.evaluation.evidence import reachable_by_case
from stakes.report import Report

COSTS = {
    "legit": {"approve": 0, "review": 3, "block": "5 + 0.02*amount"},
    "fraud": {"approve": "amount", "review": 8, "block": 0},
}
PAYMENTS = Problem(COSTS, unit="EUR")
QUICK: dict[str, Any] = {"calibrator": None, "replicates": 20}


class World:
    """Payments with amounts, and two models."""

    def __init__(self, n: int = 400, seed: int = 2) -> None:
        rng = np.random.default_rng(seed)
        fraud = rng.random(n) < 0.15
        self.y = np.where(fraud, "fraud", "legit")
        self.data = {"amount": rng.lognormal(4, 1, n).round(2)}
        odds = rng.normal(np.where(fraud, 2, -2), 2) - 1.7
        self.models = {"good": 1 / (1 + np.exp(-odds)), "poor": np.clip(rng.random(n), 0.01, 0.99)}


@pytest.fixture(scope="module")
def world():
    return World()


@pytest.fixture(scope="module")
def yearly(world):
    options: dict[str, Any] = {"volume": 1_234_567, "period": "year", **QUICK}
    return evaluate(
        world.y, world.models, PAYMENTS, data=world.data, running_costs={"good": 0.25}, **options
    )


def test_data_beside_a_problem_without_columns_are_refused(world):
    with pytest.raises(InputError, match=r"data must be left out .* no columns") as caught:
        evaluate(world.y, world.models, PAYMENTS.at(amount=80), data=world.data)
    assert caught.value.argument == "data"
    same = np.broadcast_to(PAYMENTS.at(amount=80).costs, (400, 2, 3))
    report = evaluate(world.y, world.models, PAYMENTS, case_costs=same, **QUICK)
    assert not report.problem.columns


# Totals ------------------------------------------------------------------------------------------


def test_totals_have_the_digits_that_their_intervals_support(yearly):
    """Two digits of half the width, as costs per case have."""
    text = str(yearly)
    for system in yearly.systems:
        exact = 1_234_567 * system.cost.value
        assert f"{exact:,.0f}" not in text
        half = (system.total.high - system.total.low) / 2
        places = 1 - int(np.floor(np.log10(half)))
        assert f"{round(exact, places):,.0f}" in text, system.name


def test_the_total_of_what_needs_no_model_is_rounded_as_the_model_beside_it(world):
    blind = stakes.bayes_decisions(np.full(400, 0.15), PAYMENTS, data=world.data)
    worse = Decisions(np.where(np.arange(400) % 3 == 0, "review", blind))
    options: dict[str, Any] = {"volume": 1_234_567, **QUICK}
    report = evaluate(world.y, {"worse": worse}, PAYMENTS, data=world.data, **options)
    assert report.verdict.deploy is None
    sentence = report.verdict.sentences[-1]
    assert report.no_model is not None
    assert f"{1_234_567 * report.no_model.cost.value:,.0f}" not in sentence
    digits = sentence.rsplit(" EUR", 1)[0].split()[-1].replace(",", "")
    assert float(digits) == pytest.approx(1_234_567 * report.no_model.cost.value, rel=0.05)
    assert digits.endswith("00")


def test_assumptions_name_volume_and_running_costs(yearly):
    section = str(yearly).split("Assumptions")[-1]
    assert "1,234,567 cases per year" in section
    assert "good: 0.25" in section
    plain = section.replace("1,234,567 cases per year", "")
    assert "volume" in plain
    assert "running costs" in plain


def test_frames_of_a_report_have_totals_where_a_volume_is_stated(world, yearly):
    pytest.importorskip("narwhals")
    pyarrow = pytest.importorskip("pyarrow")
    frame = yearly.frame(library=pyarrow)
    assert frame.column("total").to_pylist() == [system.total.value for system in yearly.systems]
    assert frame.column("total_high").to_pylist() == [
        system.total.high for system in yearly.systems
    ]
    bare = evaluate(world.y, world.models, PAYMENTS, data=world.data, **QUICK)
    assert "total" not in bare.frame(library=pyarrow).column_names


# The same as no model ----------------------------------------------------------------------------


def test_a_model_that_decides_as_the_costs_alone_do_is_reported_to_cost_the_same(world):
    """It is chosen among several, and so looks cheaper; but it cannot cost more than its twin."""
    shares = (world.y == "fraud").mean()
    blind = stakes.bayes_decisions(np.full(400, shares), PAYMENTS, data=world.data)
    rng = np.random.default_rng(1)
    models = {"twin": Decisions(blind)} | {
        f"noisy {i}": Decisions(np.where(rng.random(400) < 0.03 * i, "review", blind))
        for i in (1, 2, 3)
    }
    report = evaluate(world.y, models, PAYMENTS, data=world.data, **QUICK)
    assert report.best.model == "twin"
    assert report.verdict.deploy is None
    assert "costs as little" in report.verdict.reason
    assert report.no_model is not None
    assert report.verdict.cost.value == pytest.approx(report.no_model.cost.value)
    assert report.verdict.saving_over_naive == stakes.inference.Measured(0.0, 0.0, 0.0)
    paid = evaluate(
        world.y, models, PAYMENTS, data=world.data, running_costs={"twin": 0.001}, **QUICK
    )
    assert "costs as little" not in paid.verdict.reason


def test_a_model_that_always_decides_the_same_is_reported_to_cost_the_same():
    y = np.repeat([0, 1], [90, 30])
    rng = np.random.default_rng(3)
    models = {"lazy": Decisions(np.zeros(120, int))} | {
        f"noisy {i}": Decisions((rng.random(120) < 0.1 * i).astype(int)) for i in (1, 2, 3)
    }
    report = evaluate(y, models, Problem.zero_one(2))
    assert report.best.model == "lazy"
    assert "costs as little" in report.verdict.reason
    assert report.verdict.cost.value == pytest.approx(0.25)


# A class without cases ---------------------------------------------------------------------------


def _table_or_cases(costs: Any, truth: Any, **rows: Any) -> list[Report]:
    """The reports on one model with costs that all cases share, and with these as a column."""
    posteriors = np.random.default_rng(0).dirichlet(np.ones(len(costs)), len(truth))
    cells = [[f"{cost} * one" if cost else 0 for cost in row] for row in costs]
    column = {"one": 1 + 1e-9 * (np.arange(len(truth)) % 7)}
    return [
        evaluate(truth, {"a": posteriors}, Problem(costs), **rows, **QUICK),
        evaluate(truth, {"a": posteriors}, Problem(cells), data=column, **rows, **QUICK),
    ]


N = 240
CLUSTERED = {"clusters": np.arange(N) // 12}
WEIGHTED = {"weights": 0.5 + np.arange(N) % 3}


@pytest.mark.parametrize("rows", [{}, CLUSTERED, WEIGHTED, CLUSTERED | WEIGHTED])
@pytest.mark.parametrize(
    ("costs", "truth"),
    [
        ([[0, 1], [9, 0]], np.zeros(N, dtype=int)),
        ([[0, 1, 2], [8, 0, 1]], np.ones(N, dtype=int)),
        ([[0, 1, 2], [8, 0, 1], [3, 5, 0]], np.arange(N) % 5 // 4),
        ([[0, 1, 2], [8, 0, 1], [3, 5, 0]], np.zeros(N, dtype=int)),
    ],
)
def test_a_class_without_cases_counts_where_cases_have_their_own_costs_as_in_a_table(
    costs, truth, rows
):
    table, cases = _table_or_cases(costs, truth, **rows)
    for ours, theirs in zip(cases.systems, table.systems, strict=True):
        assert _bounds(ours.cost) == pytest.approx(_bounds(theirs.cost), rel=1e-5)
    saved = [report.verdict.saving_over_naive for report in (cases, table)]
    assert _bounds(saved[0]) == pytest.approx(_bounds(saved[1]), rel=1e-5)
    assert cases.verdict.sentences[0] == table.verdict.sentences[0]
    ratios = [report.systems[0].normalized for report in (cases, table)]
    # Losses know the best constant decision alone, a table the others as well.
    assert 0 < ratios[0].low <= ratios[1].low * (1 + 1e-5)
    assert ratios[0].high == pytest.approx(ratios[1].high, rel=1e-5)


def test_a_model_that_is_cheaper_but_for_a_class_without_cases_is_not_clearly_so():
    """Two hundred legitimate payments in twenty clusters say little about clusters of fraud."""
    problem = Problem({"legit": {"pass": 0, "stop": 1}, "fraud": {"pass": "amount", "stop": 0}})
    rng = np.random.default_rng(0)
    report = evaluate(
        ["legit"] * 200,
        0.2 * rng.random(200),
        problem,
        data={"amount": rng.lognormal(2, 1, 200)},
        clusters=np.arange(200) // 10,
        **QUICK,
    )
    saving = report.verdict.saving_over_naive
    assert saving.low < saving.value < 0 < saving.high
    assert "though not clearly" in report.verdict.sentences[0]


@pytest.mark.parametrize("rows", [{}, CLUSTERED])
def test_a_group_without_cases_of_a_class_counts_its_costs_as_in_a_table(rows):
    second = np.arange(N) >= N // 2
    truth = np.where(second, np.arange(N) % 4 == 0, 0).astype(int)
    table, cases = _table_or_cases([[0, 1], [8, 0]], truth, by=second, **rows)
    for ours, theirs in zip(cases.slices, table.slices, strict=True):
        for cost, expected in zip(ours.costs, theirs.costs, strict=True):
            assert _bounds(cost.cost) == pytest.approx(_bounds(expected.cost), rel=1e-5)


def test_some_cases_stand_in_for_a_class_where_all_would_not_fit_into_memory(monkeypatch):
    monkeypatch.setattr(case_charges, "_MOST_ABSENT", 20)
    table, cases = _table_or_cases([[0, 1], [9, 0]], np.zeros(N, dtype=int), **CLUSTERED)
    ours, theirs = cases.systems[0].cost, table.systems[0].cost
    assert _bounds(ours) == pytest.approx(_bounds(theirs), rel=1e-5)


def test_no_case_of_a_class_moves_both_limits_of_a_difference_and_the_caveat_says_limits():
    scores = [0.05] * 28 + [0.15] * 22
    report = evaluate([0] * 50, {"a": scores}, Problem.binary(false_alarm=1, miss=9), **QUICK)
    assert report.verdict.saving_over_naive.high > 0
    (text,) = (caveat.text for caveat in report.caveats if caveat.kind == "absent class")
    assert (
        text
        == "There is no case of 1: its costs are in no estimate, only in the limits of intervals."
    )


def _bounds(measured: Any) -> tuple[float, ...]:
    return measured.value, measured.low, measured.high


# Decisions that no Bayes rule takes --------------------------------------------------------------


@pytest.mark.parametrize("shape", [(2, 2), (2, 4), (3, 3)])
def test_decisions_that_can_be_reached_are_those_of_each_case_alone(shape):
    rng = np.random.default_rng(0)
    costs = rng.integers(0, 5, (60, *shape)).astype(float)
    costs[:20, :, -1] += 3  # often dominated
    reachable = reachable_by_case(np.moveaxis(costs, 0, -1))
    exact = np.stack([reachable_decisions(Problem(table)) for table in costs], axis=-1)
    assert not exact.all()
    if shape[0] == 2:
        np.testing.assert_array_equal(reachable, exact)
    else:
        assert (reachable >= exact).all()  # what is not the cheapest anywhere may be kept
        assert not reachable.all()


@pytest.mark.parametrize("prior", [None, [0.9, 0.1]])
def test_a_decision_that_is_never_the_cheapest_leaves_the_intervals_of_bayes_decisions_alone(
    world, prior
):
    more = {label: {**row, "burn": "20000 + 30*amount"} for label, row in COSTS.items()}
    by_hand = Decisions(np.where(world.data["amount"] > 90, "block", "approve"))
    models = {"good": world.models["good"], "hand": by_hand}
    [few, many] = [
        evaluate(world.y, models, Problem(costs, unit="EUR", prior=prior), data=world.data, **QUICK)
        for costs in (COSTS, more)
    ]
    pairs = [(report.no_model, *report.systems) for report in (few, many)]
    for first, second in zip(*pairs, strict=True):
        assert first is not None
        assert second is not None
        if first.model == "hand":
            continue
        for part in ("cost", "normalized"):
            first_interval, other = (getattr(system, part) for system in (first, second))
            np.testing.assert_allclose(
                [first_interval.value, first_interval.low, first_interval.high],
                [other.value, other.low, other.high],
                rtol=1e-9,
            )
    wider = [report.system("hand").cost.high for report in (few, many)]
    assert wider[1] > 1.2 * wider[0]  # people may burn


# Rows are counted from 0 -------------------------------------------------------------------------


def test_rows_of_messages_are_counted_from_0_and_say_so(world):
    amount = world.data["amount"].copy()
    amount[3] = np.nan
    with pytest.raises(InputError, match=r"first in row 3 \(counted from 0\)"):
        evaluate(world.y, world.models, PAYMENTS, data={"amount": amount})
    ratio = Problem([[0, "5/amount"], [3, 0]], classes=["legit", "fraud"])
    amount[3] = 0
    with pytest.raises(InputError, match=r"being inf in row 3 \(counted from 0; amount"):
        evaluate(world.y, world.models, ratio, data={"amount": amount})


def test_files_count_their_rows_in_the_same_way(tmp_path):
    pytest.importorskip("duckdb")
    path = tmp_path / "rows.csv"
    path.write_text("y,p,amount\nlegit,0.1,5\nfraud,0.7,\nlegit,1.2,4\n", encoding="utf-8")
    common: dict[str, Any] = {"y_true": "y", "models": {"m": stakes.Posteriors("p")}}
    with pytest.raises(InputError, match=r"the first being 1\.2 at position 2\."):
        stakes.evaluate_frame(path, PAYMENTS.at(amount=3), **common)
    with pytest.raises(InputError, match=r"in row 1 \(counted from 0\)"):
        stakes.evaluate_frame(path, PAYMENTS, **common)


def test_totals_are_in_json(yearly):
    assert json.loads(yearly.to_json())["systems"][0]["total"]["value"] > 0
