"""Costs that are linear in what a case has: sums per class and decision stand for the rows."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import stakes
from stakes import Decisions, InputError, Problem, Scores, evaluate
from stakes._expression import Name, parse
from stakes.evaluation.evidence import NO_MODEL
from stakes.report import Report
from stakes.thresholds import ByThreshold, stakes_table
from tamper import sealed_again

WRITTEN = {
    "legit": {"approve": 0, "review": 3, "block": "5 + 0.02*amount"},
    "fraud": {"approve": "amount", "review": "8 + 2*max(1, amount/50)", "block": 0},
}
PAYMENTS = Problem(WRITTEN, unit="EUR")


# What an expression is made of -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("7", {"1": 7}),
        ("5 + 0.02*amount", {"1": 5, "amount": 0.02}),
        ("amount", {"amount": 1}),
        ('column["amount"]', {"amount": 1}),
        ('2*column["loan amount"]', {'column["loan amount"]': 2}),
        ("-(amount - 3)/2", {"amount": -0.5, "1": 1.5}),
        ("amount*0.1 + 0.2*amount - 1 + 4", {"amount": 0.1 + 0.2, "1": 3}),
        ("amount - amount", {"amount": 0}),
        ("0.02*amount*rate", {"amount*rate": 0.02}),
        ("(5 + 0.02*amount)*rate", {"rate": 5, "amount*rate": 0.02}),
        ("(5 + amount)/rate", {"1/rate": 5, "amount/rate": 1}),
        ("3*(amount/rate)*hours", {"(amount/rate)*hours": 3}),
        ('column["loan fee"]*amount', {'column["loan fee"]*amount': 1}),
        ('1/column["a \\" b"]', {'1/column["a \\" b"]': 1}),
        ('größe + 2*column["größe"]', {'column["größe"]': 3}),
        ("amount/(2*rate)", {"amount/rate": 0.5}),
        ("(1 + amount)*(2 + rate)", {"(1 + amount) * (2 + rate)": 1}),
        ("8 + 2*max(1, amount/50)", {"1": 8, "max(1, amount / 50)": 2}),
        ("min(2, 3)*amount", {"amount": 2}),
        ("where(amount > 9, amount, 0) - 1", {"where(amount > 9, amount, 0)": 1, "1": -1}),
    ],
)
def test_an_expression_is_a_sum_of_coefficients_times_terms(text, terms):
    parsed = parse(text).terms
    assert parsed == pytest.approx(terms)
    values = {name: np.array([3.0, 70.0, 11.0]) + place for place, name in enumerate(names(text))}
    summed = sum(factor * np.asarray(parse(term)(values)) for term, factor in parsed.items())
    np.testing.assert_allclose(summed, parse(text)(values), rtol=1e-12)


def names(text):
    return parse(text).names


def test_a_division_by_zero_is_a_term_of_its_own():
    assert parse("5 + amount/0").terms == {"1": 5, "amount / 0": 1}


@pytest.mark.parametrize(
    "name",
    ["😀 paid", "größe", 'a "b" \\ c', "tab\there", "class", "ﬁne"],
)
def test_columns_of_any_name_are_terms_that_can_be_read_again(name):
    problem = Problem([[0, f"2*column[{json.dumps(name, ensure_ascii=False)}] + 1"], [3, 0]])
    assert problem.columns == (name,)
    [_, term] = problem.terms.names
    assert parse(term).names == (Name(name),)
    labels = Problem.zero_one([name, "other"])
    costs = np.random.default_rng(0).random((30, 2, 2))
    report = evaluate([name, "other"] * 15, [0.2, 0.7] * 15, labels, case_costs=costs,
                      calibrator=None)  # fmt: skip
    charged = report.costs_under(report.problem)
    assert charged[report.systems[0].name] == pytest.approx(report.systems[0].cost.value)


def test_a_problem_lists_the_terms_of_its_costs_and_their_coefficients():
    terms, coefficients = PAYMENTS.terms
    assert terms == ("1", "amount", "max(1, amount / 50)")
    nan = np.nan
    expected = [
        [[0, nan, nan], [3, nan, nan], [5, 0.02, nan]],
        [[nan, 1, nan], [8, nan, 2], [0, nan, nan]],
    ]
    np.testing.assert_array_equal(coefficients, expected)
    constant, costs = Problem([[0, 1, 2], [3, 4, 5]]).terms
    assert constant == ("1",)
    np.testing.assert_array_equal(costs[..., 0], [[0, 1, 2], [3, 4, 5]])


# What systems cost under other costs, as they decide now -----------------------------------------


class World:
    """Payments with weights and a rare class, one model that decides, one that gives scores."""

    def __init__(self, n: int = 400, seed: int = 3) -> None:
        rng = np.random.default_rng(seed)
        fraud = rng.random(n) < 0.15
        self.y = np.where(fraud, "fraud", "legit")
        self.data = {"amount": rng.lognormal(4, 1, n).round(2)}
        self.odds = rng.normal(np.where(fraud, 1.5, -1.5), 1.7) - 1.7
        p = 1 / (1 + np.exp(-self.odds))
        old = np.where(self.data["amount"] > 90, "block", "approve")
        self.models = {"new": p, "old": Decisions(old)}
        self.weights = rng.integers(0, 3, n) * 0.5
        self.decided = {"old (as decided)": old}

    def report(self, problem: Problem, **options: Any) -> Report:
        common: dict[str, Any] = {"calibrator": None, "replicates": 20, **options}
        return evaluate(
            self.y, self.models, problem, data=self.data, weights=self.weights, **common
        )


@pytest.fixture(scope="module")
def world():
    return World()


@pytest.fixture(scope="module")
def report(world):
    return world.report(PAYMENTS.with_prior([0.9, 0.1]), running_costs={"new": 0.3})


OTHERS = {
    "other coefficients": {
        "legit": {"approve": 0.5, "review": 2, "block": "9 + 0.5*amount"},
        "fraud": {"approve": "0.8*amount", "review": "6 + 3*max(1, amount/50)", "block": 1},
    },
    "terms in other places": {
        "legit": {"approve": "0.01*amount", "review": 3, "block": "max(1, amount/50)"},
        "fraud": {"approve": "amount + 20", "review": "8 - amount", "block": -2},
    },
    "numbers alone": {
        "legit": {"approve": 0, "review": 3, "block": 7},
        "fraud": {"approve": 90, "review": 8, "block": 0},
    },
    "as reported": WRITTEN,
}


def slow(world, problem, decided, prior):
    """Mean cost of decisions, row by row."""
    constant = not problem.columns
    costs = problem.costs if constant else problem.case_costs(world.data)
    sums, mass = [0.0, 0.0], [0.0, 0.0]
    for i, (label, decision) in enumerate(zip(world.y, decided, strict=True)):
        k, d = problem.classes.index(label), problem.decisions.index(decision)
        sums[k] += world.weights[i] * (costs[k, d] if constant else costs[i, k, d])
        mass[k] += world.weights[i]
    shares = np.array(mass) / sum(mass) if prior is None else prior
    return sum(
        share * total / class_mass
        for share, total, class_mass in zip(shares, sums, mass, strict=True)
    )


@pytest.mark.parametrize("prior", [None, [0.97, 0.03]])
@pytest.mark.parametrize("name", OTHERS)
def test_costs_under_other_costs_are_those_of_the_rows_with_decisions_as_they_are(
    name, prior, world, report
):
    problem = Problem(OTHERS[name], prior=prior)
    costs = report.costs_under(problem)
    as_is = stakes.bayes_decisions(world.models["new"], PAYMENTS, data=world.data)
    blind = stakes.bayes_decisions(np.full(400, 0.1), PAYMENTS, data=world.data)
    decided = {"new (as is)": as_is, NO_MODEL: blind, **world.decided}
    decided |= {f"always {decision}": np.full(400, decision) for decision in problem.decisions}
    for system, codes in decided.items():
        more = 0.3 if system.startswith("new") else 0.0
        expected = slow(world, problem, codes, prior) + more
        assert costs[system] == pytest.approx(expected, rel=1e-9, abs=1e-12), system
    assert set(costs) == {*(system.name for system in report.systems), *decided}


def test_costs_under_the_costs_of_the_report_are_those_of_the_report(report):
    costs = report.costs_under(report.problem)
    for system in (*report.systems, report.no_model):
        assert costs[system.name] == pytest.approx(system.cost.value, rel=1e-12)
        assert system.spent.sum() == pytest.approx(
            np.nansum(system.sums * report.problem.terms.coefficients), rel=1e-12
        )
    assert costs[f"always {report.naive.decision}"] == pytest.approx(report.naive.cost)


def test_costs_of_a_constant_problem_move_as_well():
    world = World(200)
    constant = PAYMENTS.at(amount=80)
    report = evaluate(world.y, world.models, constant, calibrator=None, replicates=20)
    costs = np.arange(6.0).reshape(2, 3)
    other = Problem(costs, classes=constant.classes, decisions=constant.decisions)
    counts = report.system("old").counts
    wanted = np.sum(counts.values * other.costs) / 200
    assert report.costs_under(other)["old (as decided)"] == pytest.approx(wanted)
    with pytest.raises(InputError, match="are known, 1; they depend on amount, too"):
        report.costs_under(PAYMENTS)


def test_a_term_that_was_not_tallied_is_refused_by_its_name(report):
    strange = {**WRITTEN, "fraud": {**WRITTEN["fraud"], "block": "2*max(2, amount/50)"}}
    with pytest.raises(InputError, match=r"known, 1, amount.*on max\(2, amount / 50\), too"):
        report.costs_under(Problem(strange))
    with pytest.raises(InputError, match="classes"):
        report.costs_under(Problem([[0, 1, 2], [3, 4, 5]]))


def test_sums_survive_json_and_old_files_without_them_are_read(report):
    text = report.to_json()
    assert Report.from_json(text) == report
    plain = json.loads(text)
    for system in (*plain["systems"], plain["no_model"], plain["verdict"]["deploy"] or {}):
        system.pop("sums", None)
    for system in plain["models"]:
        system.pop("by_threshold")
    old = Report.from_json(sealed_again(plain))
    assert old.systems[0].sums is None
    assert old.systems[0].cost == report.systems[0].cost
    with pytest.raises(InputError, match="report must hold sums of the terms"):
        old.costs_under(report.problem)


def test_sums_beyond_what_a_number_holds_are_left_out():
    """Four factors of 1e99 are no number, though their product with a small one is."""
    y, amount = ["legit", "fraud"] * 30, {"amount": np.full(60, 1e90)}
    problem = Problem(
        [[0, "1e-300*amount*amount*amount*amount*1e-50"], [3, 0]], classes=["legit", "fraud"]
    )
    report = evaluate(y, [0.2, 0.7] * 30, problem, data=amount, calibrator=None)
    assert report.systems[0].sums is None


def test_a_cost_of_very_many_terms_has_no_sums():
    y, data = [0, 1] * 20, {f"x{i}": np.arange(40.0) for i in range(40)}
    problem = Problem([[0, " + ".join(data)], [9, 0]])
    report = evaluate(y, {"new": [0.2, 0.7] * 20}, problem, data=data, calibrator=None)
    assert report.systems[0].sums is None
    assert report.models[0].by_threshold is None
    known = report.costs_under(Problem([[0, 2], [9, 0]]))  # cases were counted all the same
    assert known["always 1"] == pytest.approx(1)
    with pytest.raises(InputError, match="report must hold sums of the terms"):
        report.costs_under(problem)


def test_sums_of_very_many_terms_are_left_out():
    """A matrix for each case of a problem with many classes is a term in every cell."""
    rng = np.random.default_rng(1)
    y = np.arange(60) % 6
    costs = rng.random((60, 6, 6))
    report = evaluate(y, Decisions(y[::-1]), Problem.zero_one(6), case_costs=costs, calibrator=None)
    assert len(report.problem.terms.names) == 37
    assert report.systems[0].sums is None
    assert report.systems[0].cost.value == pytest.approx(costs[np.arange(60), y, y[::-1]].mean())


# Thresholds --------------------------------------------------------------------------------------

LABELS = ["legit", "fraud"]
TWO = Problem(
    {
        "legit": {"approve": 0, "block": "5 + 0.01*amount"},
        "fraud": {"approve": "amount", "block": 1},
    }
)


@pytest.mark.parametrize("prior", [None, [0.95, 0.05]])
def test_the_cost_at_every_threshold_is_that_of_scores_weighed_by_the_stakes(prior):
    world = World(300)
    problem = TWO.with_prior(prior)
    models = {"new": world.models["new"], "raw": Scores(world.odds)}
    common: dict[str, Any] = {"data": world.data, "weights": world.weights}
    report = evaluate(world.y, models, problem, **common, calibrator=None)
    scores = {"new": world.models["new"], "raw": world.odds}
    for model in report.models:
        table, stand = stakes_table(world.y, scores[model.model], problem, **common)
        assert model.by_threshold is not None
        thresholds, costs = model.by_threshold.thresholds, model.by_threshold.costs(problem)
        assert thresholds[0] == -np.inf
        wanted = [_cost_at(table, stand, t) for t in thresholds]
        np.testing.assert_allclose(costs, wanted, rtol=1e-9)
        best = stakes.best_threshold(table, stand)
        assert costs.min() == pytest.approx(best.cost)
        assert thresholds[np.flatnonzero(costs <= costs.min() * (1 + 1e-12))[-1]] == best.threshold


def _cost_at(table, stand, threshold):
    above = table.scores > threshold
    counts = [[table.weights[~above, k].sum(), table.weights[above, k].sum()] for k in (0, 1)]
    total = table.weights.sum()
    return sum(counts[k][d] * stand.costs[k, d] for k in (0, 1) for d in (0, 1)) / total


def test_the_cost_by_threshold_of_many_scores_is_exact_at_the_edges_of_bins():
    world = World(6000, seed=5)
    report = evaluate(world.y, {"new": world.models["new"]}, TWO, data=world.data, calibrator=None)
    table, stand = stakes_table(world.y, world.models["new"], TWO, data=world.data)
    by_threshold = report.models[0].by_threshold
    assert by_threshold is not None
    thresholds, costs = by_threshold.thresholds, by_threshold.costs(TWO)
    assert thresholds.size <= 1025
    np.testing.assert_allclose(
        costs[::97], [_cost_at(table, stand, t) for t in thresholds[::97]], rtol=1e-9
    )
    assert costs.min() == pytest.approx(report.system("new (tuned)").cost.value, rel=1e-9)


def test_the_cost_by_threshold_follows_other_coefficients_and_another_prior():
    world = World(300)
    options: dict[str, Any] = {"data": world.data, "weights": world.weights}
    report = evaluate(world.y, {"new": world.models["new"]}, TWO, **options, calibrator=None)
    costs = {"legit": {"approve": 2, "block": "3 + amount"}, "fraud": {"approve": "4*amount",
             "block": -1}}  # fmt: skip
    other = Problem(costs, prior=[0.6, 0.4])
    by_threshold = report.models[0].by_threshold
    assert by_threshold is not None
    table, stand = stakes_table(world.y, world.models["new"], other, **options)
    wanted = [_cost_at(table, stand, t) for t in by_threshold.thresholds]
    np.testing.assert_allclose(by_threshold.costs(other), wanted, rtol=1e-9)
    assert by_threshold.costs(TWO.at(amount=0))[-1] == pytest.approx(
        0
    )  # nothing is blocked or lost
    constant = TWO.at(amount=3)
    table, stand = stakes_table(world.y, world.models["new"], constant, weights=world.weights)
    wanted = [_cost_at(table, stand, t) for t in by_threshold.thresholds]
    np.testing.assert_allclose(by_threshold.costs(constant), wanted, rtol=1e-9)


def test_the_cost_by_threshold_knows_its_terms_by_name():
    """As many terms of other columns, or the same in another order, must not be mistaken."""
    by_threshold = ByThreshold(
        np.array([-np.inf, 0.5]), np.array([[[2.0, 30, 4], [1, 50, 6]]]), ("1", "amount", "fee")
    )
    same = Problem([[0, "3*fee + amount"], ["amount", 0]])
    np.testing.assert_allclose(by_threshold.costs(same), [(3 * 4 + 30) / 3, 50 / 3])
    with pytest.raises(InputError, match="known, 1, amount, fee; they depend on hours, too"):
        by_threshold.costs(Problem([[0, "3*hours + amount"], ["amount", 0]]))


def test_the_cost_by_threshold_goes_by_the_names_of_terms_not_by_their_places():
    world = World(300)
    data = {**world.data, "fee": np.arange(300) % 7}
    first = Problem([[0, "2 + amount/50"], ["amount + 3*fee", 1]], classes=LABELS)
    again = Problem([["0*fee", "2 + amount/50"], ["amount + 3*fee", 1]], classes=LABELS)
    assert first.terms.names != again.terms.names
    report = evaluate(world.y, {"new": world.models["new"]}, first, data=data, calibrator=None)
    by_threshold = report.models[0].by_threshold
    assert by_threshold is not None
    np.testing.assert_allclose(by_threshold.costs(again), by_threshold.costs(first), rtol=1e-12)
    strange = Problem([[0, "2 + rate/50"], ["rate + 3*fee", 1]], classes=LABELS)
    with pytest.raises(InputError, match="they depend on rate, too"):
        by_threshold.costs(strange)
    with pytest.raises(InputError, match="two classes and two decisions"):
        by_threshold.costs(Problem([[0, 1, 2], [3, 4, 5]]))
    kept = Report.from_json(report.to_json()).models[0].by_threshold
    assert kept == by_threshold


def test_what_has_no_threshold_has_no_cost_by_threshold(report):
    assert all(model.by_threshold is None for model in report.models)  # three decisions
    constant = evaluate([0, 1] * 30, {"new": [0.2, 0.7] * 30}, Problem.zero_one(2))
    assert constant.models[0].by_threshold is None


def test_the_cost_of_no_cases_at_all_is_undefined_without_a_warning():
    assert np.isnan(stakes.measures.term_cost(np.zeros((2, 2, 1)), np.ones((2, 2, 1)), None))
