"""Costs of every case: problems with columns, decisions and row-level measures against loops."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

import stakes
from stakes import Counts, InputError, Posteriors, Problem, metrics
from stakes.render.json import plain_value

WRITTEN = {
    "legit": {"approve": 0, "review": 3, "block": "5 + 0.02*amount"},
    "fraud": {"approve": "amount", "review": 'max(8, column["hourly rate"] / 4)', "block": 0},
}


@pytest.fixture
def problem() -> Problem:
    return Problem(WRITTEN, unit="EUR")


def drawn(n: int, seed: int = 0):
    """Amounts with heavy tails, posteriors, classes that follow them, weights."""
    rng = np.random.default_rng(seed)
    data = {"amount": rng.lognormal(4, 1, n).round(2), "hourly rate": rng.integers(20, 60, n)}
    p = rng.beta(1, 6, n)
    fraud = rng.random(n) < p
    return data, p, np.where(fraud, "fraud", "legit"), rng.integers(0, 4, n).astype(float)


def loop_costs(data):
    """The matrix of each case, written out."""
    return np.array(
        [
            [[0, 3, 5 + 0.02 * amount], [amount, max(8, rate / 4), 0]]
            for amount, rate in zip(data["amount"], data["hourly rate"], strict=True)
        ]
    )


def test_costs_of_every_case_are_the_expressions_row_by_row(problem):
    data, *_ = drawn(70_000)  # more than one block
    assert problem.columns == ("amount", "hourly rate")
    np.testing.assert_allclose(problem.case_costs(data), loop_costs(data), rtol=1e-15)


def test_frames_of_every_library_and_mappings_give_the_same_costs(problem):
    data, *_ = drawn(50)
    expected = problem.case_costs(data)
    for library in ("pandas", "polars", "pyarrow"):
        module = pytest.importorskip(library)
        frame = module.table(data) if library == "pyarrow" else module.DataFrame(data)
        np.testing.assert_array_equal(problem.case_costs(frame), expected)


def test_the_problem_at_values_and_in_the_mean_has_numbers_for_costs(problem):
    data, _, _, weights = drawn(300)
    at = problem.at(amount=120, **{"hourly rate": 40})
    assert at.columns == ()
    assert at.unit == "EUR"
    np.testing.assert_allclose(at.costs, np.array([[0, 3, 7.4], [120, 10, 0]]))
    costs = loop_costs(data)
    np.testing.assert_allclose(problem.mean(data).costs, costs.mean(axis=0), rtol=1e-12)
    weighted = problem.mean(data, weights=weights)
    np.testing.assert_allclose(weighted.costs, np.average(costs, axis=0, weights=weights))
    constant = Problem([[0, 1], [2, 0]])
    assert constant.columns == ()
    assert constant.at() is constant


def test_problems_with_columns_are_values(problem, tmp_path):
    same = Problem(WRITTEN, unit="EUR")
    assert problem == same
    assert hash(problem) == hash(same)
    assert problem != Problem(WRITTEN)
    assert problem != problem.at(amount=1, **{"hourly rate": 1})
    other = {**WRITTEN, "legit": {**WRITTEN["legit"], "block": "6 + 0.02*amount"}}
    assert problem != Problem(other, unit="EUR")
    assert pickle.loads(pickle.dumps(problem)) == problem == copy.deepcopy(problem)
    problem.to_toml(tmp_path / "p.toml")
    assert Problem.from_toml(tmp_path / "p.toml") == problem
    assert Problem.of(plain_value(problem)) == problem
    assert "5 + 0.02*amount" in repr(problem)
    assert "5 + 0.02*amount" in problem._repr_html_()


def test_a_problem_file_holds_expressions_and_utilities_change_their_sign(tmp_path):
    (tmp_path / "p.toml").write_text(
        '[utilities]\nlegit = { approve = 1, block = "-0.5*amount" }\n'
        'fraud = { approve = "-amount", block = 0 }\n'
    )
    data = {"amount": [10.0, 40.0]}
    costs = Problem.from_toml(tmp_path / "p.toml").case_costs(data)
    assert costs.tolist() == [[[-1, 5], [10, 0]], [[-1, 20], [40, 0]]]
    again = Problem.from_utilities([[1, "-0.5*amount"], ["-amount", 0]])
    np.testing.assert_array_equal(again.case_costs(data), costs)


def test_text_without_a_column_is_a_number():
    assert Problem([["1 + 2", 0], [0, "4"]]).costs.tolist() == [[3, 0], [0, 4]]


def test_what_a_problem_is_given_stays_with_its_columns(problem):
    deployed = problem.with_prior([0.9, 0.1]).with_abstention(2)
    assert deployed.columns == problem.columns
    assert deployed.n_decisions == 4
    data, *_ = drawn(5)
    np.testing.assert_array_equal(deployed.case_costs(data)[:, :, 3], 2)
    np.testing.assert_array_equal(deployed.case_costs(data)[..., :3], problem.case_costs(data))


# Refusals ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "measure",
    [
        lambda c, p: stakes.expected_cost(c, p),
        lambda c, p: stakes.normalized_cost(c, p),
        lambda c, p: p.regret(),
        lambda c, p: p.utilities,
        lambda c, p: p.with_prior([0.5, 0.5]).naive,
        lambda c, p: stakes.inference.profile_interval(c, p),
        lambda c, p: stakes.decide.reachable_decisions(p),
        lambda c, p: stakes.regions.decision_regions(p),
        lambda c, p: stakes.measures.cost_shares(c, p),
        lambda c, p: Problem.expected([p, p]),
    ],
)
def test_a_measure_of_a_table_refuses_costs_of_cases_and_says_what_to_do(measure, problem):
    counts = Counts([[5, 1, 1], [1, 1, 2]], classes=problem.classes, decisions=problem.decisions)
    with pytest.raises(
        InputError, match=r"(?s)'amount'.*problem\.at\(amount=….*problem\.mean\(data"
    ):
        measure(counts, problem)


def test_thresholds_refuse_costs_of_cases():
    problem = Problem([[0, 1], ["amount", 0]])
    table = stakes.ScoreTable.from_scores([0, 1, 1], [0.1, 0.4, 0.8])
    for call in (lambda: problem.threshold, lambda: stakes.best_threshold(table, problem)):
        with pytest.raises(InputError, match=r"problem\.mean\(data\)"):
            call()


@pytest.mark.parametrize(
    ("costs", "message"),
    [
        ([["amount +", 1]], "cannot be read"),
        ([["__import__('os')", 1]], "cannot be read"),
        ([["open(amount)", 1]], "no function"),
        ([["+".join(["amount"] * 700), 1]], r"^costs\[0\]\[0\] .*2000 characters.* Shorten it"),
        ([["-" * 60 + "amount", 1]], "inside each other.* Shorten it"),
        ([["amount > 3", 1]], r"expected a number.* Write it as in 5 \+ 0.02\*amount"),
        ([["", 1]], r"expected a name, a number .* Write it as in"),
        ({"legit": {"go": "fraud"}, "fraud": {"go": 1}}, "'fraud' is a class"),
        ([["loan amount", 1]], r'odd names are written column\["…"\]'),
        ([["amount", "1/0"]], r"^costs\[0\]\[1\] must be a number; '1/0' is undefined .* Correct"),
        ([["amount + 1/0", 1]], r"^costs\[0\]\[0\] must be a number; 'amount \+ 1/0' is undefined"),
        ([["where(amount > 0, 1, 1e308*10 - 1e308*10)", 1]], "is undefined whatever the columns"),
        ([["amount", 1], [2, np.inf]], r"1 of 4 .* inf at position \(1, 1\)"),
        ([["1e200", "amount"]], "within 1e"),
        ([[np.nan, "amount"]], "costs must hold finite"),
        ([[None, "amount"]], "costs must hold finite"),
    ],
)
def test_costs_that_cannot_be_read_are_refused(costs, message):
    with pytest.raises(InputError, match=message) as caught:
        Problem(costs)
    assert caught.value.argument == "costs"


def test_parentheses_alone_do_not_make_an_expression_deep():
    assert Problem([["(" * 60 + "amount" + ")" * 60, 1]]).columns == ("amount",)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"hourly rate": [1.0]}, r"data must have the column 'amount'.*'hourly rate'"),
        ({"amount": [1.0, 2.0], "hourly rate": [1.0]}, "same cases"),
        ({"amount": ["12", "13"], "hourly rate": [1, 1]}, "2 of 2 are text.*'12' in row 0"),
        ({"amount": [1, "12,5"], "hourly rate": [1, 1]}, "1 of 2 is text.*'12,5' in row 1"),
        ({"amount": [1, None, None], "hourly rate": [1, 1, 1]}, r"2 of 3 .*first in row 1"),
        ({"amount": [1, np.nan], "hourly rate": [1, 1]}, r"1 of 2 .*row 1"),
        ({"amount": [1, np.inf], "hourly rate": [1, 1]}, r"1 of 2 does not, the first being inf"),
        ({"amount": [1e200, 1], "hourly rate": [1, 1]}, "within 1e"),
        (3, "data must be a frame or a mapping"),
        (None, "data must hold the columns|data must be a frame"),
    ],
)
def test_data_without_sound_columns_are_refused(problem, data, message):
    with pytest.raises(InputError, match=message) as caught:
        problem.case_costs(data)
    assert caught.value.argument is None or caught.value.argument.startswith("data")
    with pytest.raises(InputError):
        stakes.bayes_decisions([0.5], problem, data=data)


def test_missing_entries_of_nullable_columns_are_named_by_their_row(problem):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"amount": [1, 2, 3], "hourly rate": [1, 1, 1]})
    frame["amount"] = pandas.array([1, None, 3], dtype="Int64")
    with pytest.raises(InputError, match="1 of 3 is missing, the first in row 1"):
        problem.case_costs(frame)


def test_a_division_by_zero_names_the_row_and_where_keeps_it_out():
    data = {"amount": [4.0, 0.0, 2.0, 0.0]}
    with pytest.raises(InputError, match=r"2 of 4 rows, .* inf in row 1 \(counted from 0; am"):
        Problem([[0, "8 / amount"], [1, 0]]).case_costs(data)
    guarded = Problem([[0, "where(amount > 0, 8 / amount, 7)"], [1, 0]])
    assert guarded.case_costs(data)[:, 0, 1].tolist() == [2, 7, 4, 7]


@pytest.mark.parametrize(
    ("values", "message"),
    [({}, "'amount' is missing.* Write"), ({"amout": 1}, "'amout' is none of them.* Write")],
)
def test_values_for_the_columns_must_be_complete(problem, values, message):
    with pytest.raises(InputError, match=message):
        problem.at(**values)


def test_costs_from_two_sources_or_for_other_cases_are_refused(problem):
    data, p, y, _ = drawn(4)
    costs = problem.case_costs(data)
    with pytest.raises(InputError, match="must not both be given"):
        stakes.bayes_decisions(p, problem, data=data, case_costs=costs)
    with pytest.raises(InputError, match="4 rows"):
        stakes.bayes_decisions(p[:3], problem, data=data)
    with pytest.raises(InputError, match=r"shape \(n, 2, 3\)"):
        stakes.bayes_decisions(p, problem, case_costs=costs[:, :, :2])
    with pytest.raises(InputError, match="data must hold the columns"):
        stakes.bayes_decisions(p, problem)
    with pytest.raises(InputError, match="y_true and data"):
        metrics.expected_cost(y[:3], ["approve"] * 3, problem=problem, data=data)


# Decisions and measures --------------------------------------------------------------------------


def test_bayes_decisions_use_the_costs_of_each_case(problem):
    data, p, *_ = drawn(400)
    costs = loop_costs(data)
    expected = [(1 - q) * case[0] + q * case[1] for q, case in zip(p, costs, strict=True)]
    actual = stakes.decide.expected_costs(p, problem, data=data)
    np.testing.assert_allclose(actual, expected, rtol=1e-12)
    labels = np.array(problem.decisions)[np.argmin(expected, axis=1)]
    decided = stakes.bayes_decisions(p, problem, data=data)
    assert set(decided) == {"approve", "review", "block"}
    np.testing.assert_array_equal(decided, labels)
    np.testing.assert_array_equal(stakes.bayes_decisions(p, problem, case_costs=costs), labels)


def test_costs_that_are_the_same_for_every_case_decide_as_the_constant_problem():
    """Ties, single precision and three classes included."""
    rng = np.random.default_rng(3)
    constant = Problem([[0, 1.1, 0.3, 2], [3.3, 0, 0.6, 2], [0.1, 5, 0.2, 2]])
    p = rng.dirichlet([1, 1, 1], 500)
    p[:100] = [[0.5, 0.25, 0.25]]
    case_costs = np.broadcast_to(constant.costs, (500, 3, 4))
    for rows in (p, Posteriors(p.astype(np.float32))):
        np.testing.assert_array_equal(
            stakes.decide.bayes_decision_indices(rows, constant, case_costs=case_costs),
            stakes.decide.bayes_decision_indices(rows, constant),
        )


def test_a_tie_in_the_costs_of_a_case_goes_to_the_first_decision():
    problem = Problem([["0.1*amount", "0.3"], ["0.3", "0.1*amount"]])
    assert stakes.bayes_decisions([0.5, 0.5], problem, data={"amount": [3, 1]}).tolist() == [0, 0]


@pytest.mark.parametrize("prior", [None, [0.7, 0.3]])
@pytest.mark.parametrize("weighted", [False, True])
def test_measures_of_rows_charge_each_case_its_own_costs(problem, prior, weighted):
    data, p, y, weights = drawn(500, seed=2)
    weights = weights if weighted else None
    stated, costs = problem.with_prior(prior), loop_costs(data)
    decided = stakes.bayes_decisions(p, problem, data=data)
    w = np.ones(500) if weights is None else weights
    spent, perfect, constant = np.zeros(2), np.zeros(2), np.zeros((2, 3))
    for i in range(500):
        k, d = ["legit", "fraud"].index(y[i]), problem.decisions.index(decided[i])
        spent[k] += w[i] * costs[i, k, d]
        perfect[k] += w[i] * min(costs[i, k])
        constant[k] += w[i] * costs[i, k]
    mass = np.array([w[y == label].sum() for label in problem.classes])
    shares = mass / mass.sum() if prior is None else np.array(prior)
    cost, best = shares @ (spent / mass), shares @ (perfect / mass)
    naive = (shares @ (constant / mass[:, None])).min()
    options = {"problem": stated, "sample_weight": weights, "data": data}
    assert metrics.expected_cost(y, decided, **options) == pytest.approx(cost, rel=1e-9)
    assert metrics.bayes_cost(y, p, **options) == pytest.approx(cost, rel=1e-9)
    normalized = (cost - best) / (naive - best)
    assert metrics.normalized_cost(y, decided, **options) == pytest.approx(normalized, rel=1e-9)
    assert metrics.normalized_bayes_cost(y, p, **options) == pytest.approx(normalized, rel=1e-9)
    assert metrics.utility_yield(y, decided, **options) == pytest.approx(-cost, rel=1e-9)


# Thresholds --------------------------------------------------------------------------------------


@pytest.mark.parametrize("prior", [None, [0.6, 0.4]])
def test_scores_weighed_by_stakes_cost_at_every_threshold_what_the_cases_cost(prior):
    """Brute force over thresholds; some cases are better served by the other class's decision."""
    data, p, y, weights = drawn(300, seed=5)
    scores = p.round(2)  # ties
    problem = Problem(
        {
            "legit": {"approve": "1", "block": "5 - 0.02*amount"},
            "fraud": {"approve": "amount", "block": "2"},
        },
        prior=prior,
    )
    table, stand = stakes.thresholds.stakes_table(y, scores, problem, data=data, weights=weights)
    costs = problem.case_costs(data)
    assert (costs[:, 0, 1] < costs[:, 0, 0]).any()
    counts = table.counts()
    cost = stakes.expected_cost(
        Counts(counts.values, classes=stand.classes, decisions=stand.decisions), stand
    )
    brute = [
        metrics.expected_cost(
            y,
            np.where(scores > threshold, "block", "approve"),
            problem=problem,
            data=data,
            sample_weight=weights,
        )
        for threshold in table.thresholds
    ]
    np.testing.assert_allclose(cost, brute, rtol=1e-9)
    best = stakes.best_threshold(table, stand)
    assert best.cost == pytest.approx(min(brute), rel=1e-9)


# Other packages ----------------------------------------------------------------------------------


def test_the_numbers_of_empulse_come_out():
    """What empulse 0.13.1 prints for its example, and for drawn costs.

    With y_true = [0, 1, 1, 0], y_pred = [0, 1, 0, 0], fp_cost = [4, 1, 2, 2] and fn_cost =
    [1, 3, 3, 1] ``cost_loss(…, normalize=True)`` is 0.75 and ``savings_score(…)`` 0.5; for the
    cases drawn below they are 4.23285 and −0.11287848214086171.
    """
    costs = Problem([["tn_cost", "fp_cost"], ["fn_cost", "tp_cost"]])
    few = {"fp_cost": [4, 1, 2, 2], "fn_cost": [1, 3, 3, 1], "tn_cost": [0] * 4, "tp_cost": [0] * 4}
    small = ([0, 1, 1, 0], [0, 1, 0, 0], few, 0.75, 0.5)
    rng, n = np.random.default_rng(0), 200
    y, d = (rng.random(n) < 0.3).astype(int), (rng.random(n) < 0.4).astype(int)
    names = ("tp_cost", "fp_cost", "tn_cost", "fn_cost")
    drawn_costs = {name: rng.lognormal(1, 1, n).round(3) for name in names}
    large = (y, d, drawn_costs, 4.23285, -0.11287848214086171)
    for truth, decided, data, cost, saved in (small, large):
        options: dict[str, Any] = {"problem": costs, "data": data}
        mean_cost = metrics.expected_cost(truth, decided, **options)
        constant = [metrics.expected_cost(truth, [d] * len(truth), **options) for d in (0, 1)]
        assert mean_cost == pytest.approx(cost, rel=1e-9)
        assert 1 - mean_cost / min(constant) == pytest.approx(saved, rel=1e-9)


def test_costs_of_a_single_case_are_those_of_its_matrix():
    problem, columns = Problem.zero_one(2).by_case([[[0, 3.0], [7.0, 0]]], None)
    assert (problem.costs.tolist(), columns) == ([[0, 3], [7, 0]], {})
