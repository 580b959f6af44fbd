"""Prices of limits against a linear program over random rules, and against brute force."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog

from stakes import (
    CostProportions,
    Counts,
    InputError,
    Limit,
    Point,
    Posteriors,
    Problem,
    RateDriven,
    RateFixed,
    ScoreTable,
    bayes_decisions,
    expected_loss,
    price_limits,
    shift_prior,
)

PAYMENTS = Problem(
    {
        "legit": {"approve": 0, "review": 3, "block": 25},
        "fraud": {"approve": 180, "review": 8, "block": 0},
    },
    unit="EUR",
)


# Slow twins: plain loops from the definitions ----------------------------------------------------


def deployed(rows, weights, prior, truth=None):
    """Posteriors moved to the prior, the mass of each case and the prior, entry by entry."""
    n, size = rows.shape
    if truth is None:
        shares = [sum(weights[i] * rows[i][k] for i in range(n)) for k in range(size)]
    else:
        shares = [sum(weights[i] for i in range(n) if truth[i] == k) for k in range(size)]
    shares = [share / sum(shares) for share in shares]
    prior = shares if prior is None else prior
    moved, mass = np.zeros_like(rows), np.zeros(n)
    for i in range(n):
        parts = [rows[i][k] * prior[k] / shares[k] for k in range(size)]
        moved[i] = [part / sum(parts) for part in parts]
        weight = sum(parts) if truth is None else prior[truth[i]] / shares[truth[i]]
        mass[i] = weights[i] * weight
    return moved, mass / mass.sum(), prior


def program(moved, mass, prior, problem, costs=None) -> dict[str, Any]:
    """The linear program over rules that may decide by chance: chances (n, M) of each case."""
    n, size = len(moved), problem.n_decisions
    price = np.zeros((n, size))
    for i in range(n):
        table = problem.costs if costs is None else costs[i]
        for d in range(size):
            price[i, d] = mass[i] * sum(moved[i][k] * table[k][d] for k in range(len(prior)))
    rows, bounds = [], []
    for limit in problem.limits:
        row = np.zeros((n, size))
        d = problem.decisions.index(limit.decision)
        for i in range(n):
            row[i, d] = mass[i]
            if limit.given is not None:
                k = problem.classes.index(limit.given)
                row[i, d] = mass[i] * moved[i][k] / prior[k]
        rows.append(limit.sign * row.ravel())
        bounds.append(limit.sign * limit.bound)
    solved = linprog(
        price.ravel(),
        A_ub=np.array(rows),
        b_ub=bounds,
        A_eq=np.kron(np.eye(n), np.ones(size)),
        b_eq=np.ones(n),
        method="highs-ds",
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    return {"solved": solved, "costs": price / mass[:, None], "rows": np.array(rows)}


def draw(seed: int, n_limits: int):
    """A problem that is rarely square, with ties, weights, imbalance and limits that can bind."""
    rng = np.random.default_rng([seed, n_limits])
    size, n_decisions, n = rng.integers(2, 5), rng.integers(2, 5), rng.integers(6, 25)
    raw = rng.dirichlet(rng.uniform(0.2, 1.5, size), n) + 0.01
    if seed % 2:
        raw = np.round(raw, 1) + 0.05  # ties
    rows = raw / raw.sum(axis=1, keepdims=True)
    costs = np.round(rng.normal(0, 5, (size, n_decisions)), 1)
    limits = []
    for _ in range(n_limits):
        bound: dict[str, Any] = {
            "at_most" if rng.random() < 0.6 else "at_least": float(rng.uniform(0.05, 0.6))
        }
        decision = int(rng.integers(n_decisions))
        condition = None if rng.random() < 0.5 else int(rng.integers(size))
        limits.append(Limit(decision, condition, **bound))
    prior = rng.dirichlet(np.ones(size)) if seed % 3 == 0 else None
    weights = rng.integers(1, 4, n).astype(float) if seed % 5 == 0 else np.ones(n)
    classes, decisions = list(range(size)), list(range(n_decisions))
    try:
        problem = Problem(costs, classes=classes, decisions=decisions, prior=prior, limits=limits)
    except InputError:  # they contradict each other, whatever the cases
        return draw(seed + 1000, n_limits)
    return rows, weights, problem


def worst_group(rows, mass, span):
    """What the most expensive group of equal cases could cost more."""
    groups: dict[tuple[float, ...], float] = {}
    for row, weight in zip(rows, mass, strict=True):
        key = tuple(np.round(row, 9))
        groups[key] = groups.get(key, 0.0) + weight
    return span * max(groups.values())


@pytest.mark.parametrize("seed", range(12))
def test_the_price_of_one_limit_is_the_dual_of_a_linear_program(seed):
    rows, weights, problem = draw(seed, 1)
    priced = price_limits(rows, problem, weights=weights)
    moved, mass, prior = deployed(rows, weights, problem.prior)
    twin = program(moved, mass, prior, problem)
    value = twin["solved"].fun
    assert priced.dual_value == pytest.approx(value, abs=1e-9)
    # The price is optimal in the dual of the program: no other value of the dual is higher there.
    row = twin["rows"].reshape(len(moved), -1) / mass[:, None]
    reduced = (twin["costs"] + priced.prices[0] * row).min(axis=1)
    limit = problem.limits[0]
    assert mass @ reduced - priced.prices[0] * limit.sign * limit.bound == pytest.approx(
        value, abs=1e-9
    )
    # Of several optimal prices it is the lowest: what a looser limit is worth.
    assert priced.prices[0] <= -twin["solved"].ineqlin.marginals[0] + 1e-9
    assert priced.kept.all()
    assert priced.cost >= value - 1e-9
    span = np.ptp(problem.costs)
    assert priced.rounding_loss <= worst_group(moved, mass, span) + 1e-9


# Seeds whose limits leave a share between two bounds that no few whole cases make up.
TOO_NARROW = {(33, 2), (21, 3), (31, 3)}


@pytest.mark.parametrize("n_limits", [2, 3])
@pytest.mark.parametrize(
    "seed", [1, *(pytest.param(s, marks=pytest.mark.slow) for s in range(2, 41))]
)
def test_several_limits_have_the_dual_value_of_a_linear_program(seed, n_limits):
    rows, weights, problem = draw(seed, n_limits)
    moved, mass, prior = deployed(rows, weights, problem.prior)
    twin = program(moved, mass, prior, problem)
    if twin["solved"].status == 2:
        with pytest.raises(InputError, match="the closest value"):
            price_limits(rows, problem, weights=weights)
        return
    if (seed, n_limits) in TOO_NARROW:
        with pytest.raises(InputError, match="decides equal cases alike"):
            price_limits(rows, problem, weights=weights)
        return
    priced = price_limits(rows, problem, weights=weights)
    value = twin["solved"].fun
    assert priced.dual_value == pytest.approx(value, abs=1e-9)
    row = (twin["rows"].reshape(n_limits, len(moved), -1) / mass[:, None]).transpose(1, 2, 0)
    reduced = (twin["costs"] + row @ priced.prices).min(axis=1)
    bounds = np.array([limit.sign * limit.bound for limit in problem.limits])
    assert mass @ reduced - priced.prices @ bounds == pytest.approx(value, abs=1e-9)
    assert priced.kept.all()
    assert priced.cost >= value - 1e-9


# Brute force -------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
def test_no_rule_that_decides_equal_cases_alike_costs_less_than_a_tie_group_less(seed):
    """All deterministic rules of a few cases: the priced rule is near the cheapest that fits."""
    rng = np.random.default_rng(seed)
    rows = rng.dirichlet([1, 1, 1], 6)
    problem = Problem(np.round(rng.normal(0, 5, (3, 3)), 1), limits=[Limit.share(1, at_most=0.4)])
    priced = price_limits(rows, problem)
    least = np.inf
    for decided in product(range(3), repeat=6):
        if sum(decision == 1 for decision in decided) / 6 <= 0.4:
            spent = [rows[i] @ problem.costs[:, d] for i, d in enumerate(decided)]
            least = min(least, sum(spent) / 6)
    assert priced.dual_value <= least + 1e-12
    assert priced.cost == pytest.approx(least, abs=1e-12)  # two of six fit into 0.4


def test_cases_that_are_tied_leave_together():
    """Ten cases, five of them alike at the price: none of these is reviewed."""
    p = np.array([0.01, 0.02, 0.3, 0.2, 0.1, 0.1, 0.1, 0.1, 0.1, 0.9])
    problem = PAYMENTS.with_limits([Limit.share("review", at_most=0.3)])
    priced = price_limits(p, problem)
    assert priced.values.tolist() == [0.1]
    assert (priced.decisions[4:9] != "review").all()
    # A case of probability 0.1 saves min(18, 22.5) − 3.5 by review.
    assert priced.prices[0] == pytest.approx(14.5, abs=1e-12)
    assert priced.rounding_loss == pytest.approx(14.5 * 0.2, abs=1e-12)


@pytest.mark.parametrize("order", [["approve", "review", "block"], ["review", "block", "approve"]])
def test_the_priced_problem_decides_as_the_rule_whatever_the_order_of_decisions(order):
    p = np.repeat([0.05, 0.1, 0.2, 0.4], 5)
    costs = {
        k: {d: PAYMENTS.costs[i, PAYMENTS.decisions.index(d)] for d in order}
        for i, k in enumerate(PAYMENTS.classes)
    }
    problem = Problem(costs, limits=[Limit.share("review", at_most=0.5)])
    priced = price_limits(p, problem)
    assert np.array_equal(bayes_decisions(p, priced.priced), priced.decisions)
    assert np.mean(priced.decisions == "review") == 0.5
    assert priced.priced.limits == ()
    for step in (-1e-9, 1e-9):  # no case lies on an edge
        assert np.array_equal(bayes_decisions(p + step, priced.priced), priced.decisions)


def test_a_limit_that_does_not_bind_costs_nothing():
    p = np.linspace(0, 1, 50)
    problem = PAYMENTS.with_limits([Limit.share("block", at_least=0.05)])
    priced = price_limits(p, problem)
    assert priced.prices.tolist() == [0.0]
    assert np.array_equal(priced.priced.costs, PAYMENTS.costs)
    assert np.array_equal(priced.decisions, bayes_decisions(p, PAYMENTS))
    assert priced.rounding_loss == 0


def test_a_share_that_is_met_to_the_case_is_not_exceeded_by_rounding():
    """0.07 of 100 cases are seven, although seven hundredths sum to more than 0.07."""
    p = np.linspace(0.03, 0.5, 100)
    priced = price_limits(p, PAYMENTS.with_limits([Limit.share("review", at_most=0.07)]))
    assert int(np.sum(priced.decisions == "review")) == 7


def test_posteriors_of_single_precision_keep_the_limit_too():
    p = np.linspace(0.03, 0.5, 100).astype(np.float32)
    problem = PAYMENTS.with_limits([Limit.share("review", at_most=0.07)])
    priced = price_limits(p, problem)
    assert int(np.sum(bayes_decisions(p, priced.priced) == "review")) == 7


def test_posteriors_that_are_certain_of_another_class_leave_room_for_any_limit():
    """Cases that no price reaches are a group of their own; the next one has its own price."""
    problem = Problem([[0, 1], [9, 0]], limits=[Limit.rate(0, given=1, at_most=0.0)])
    p = np.array([0, 0, 0.05, 0.3, 0.6, 0.9])
    priced = price_limits(p, problem)
    assert priced.decisions.tolist() == [0, 0, 1, 1, 1, 1]
    assert priced.prices == pytest.approx([(0.95 - 0.45) / (0.05 / p.mean())])


@pytest.mark.parametrize("other", [0.25, 0.02])
def test_the_price_of_a_limit_at_its_end_is_what_a_looser_one_saves(other):
    """Higher prices also keep a limit of zero, but nobody would save them."""
    p = np.linspace(0.01, 0.99, 20)
    rate = Limit.rate("approve", given="fraud", at_most=other)

    def priced(share):
        return price_limits(p, PAYMENTS.with_limits([Limit.share("review", at_most=share), rate]))

    saved = (priced(0.0).dual_value - priced(1e-4).dual_value) / 1e-4
    assert priced(0.0).prices[0] == pytest.approx(saved, rel=1e-6)


# Labels ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("prior", [None, [0.8, 0.15, 0.05]])
@pytest.mark.parametrize(
    "limit",
    [
        Limit.rate(0, given=2, at_most=0.02),
        Limit.rate(1, given=1, at_least=0.95),
        Limit.share(1, at_most=0.1),
    ],
)
def test_with_labels_one_limit_is_met_on_the_labelled_cases(limit, prior):
    """Overconfident posteriors: by them alone the limit would be broken, or kept too well."""
    rng = np.random.default_rng(3)
    truth = rng.choice(3, 400, p=[0.6, 0.3, 0.1])
    rows = np.exp(3 * (rng.normal(size=(400, 3)) + 1.2 * np.eye(3)[truth]))
    rows /= rows.sum(axis=1, keepdims=True)
    costs = [[0, 2, 9, 4], [6, 0, 3, 4], [20, 8, 0, 4]]
    problem = Problem(costs, classes=[0, 1, 2], prior=prior, limits=[limit])
    priced = price_limits(rows, problem, y_true=truth)
    shares = np.bincount(truth) / 400
    weight = (shares if prior is None else np.array(prior))[truth] / shares[truth] / 400

    def value(decided):
        counted = (decided == limit.decision) & (
            truth == limit.given if limit.given is not None else True
        )
        base = 1 if limit.given is None else sum(weight[truth == limit.given])
        return sum(weight[counted]) / base

    assert priced.values[0] == pytest.approx(value(priced.decisions), abs=1e-12)
    assert limit.excess(value(priced.decisions)) <= 1e-12
    moved = rows if prior is None else shift_prior(rows, shares, prior)
    assert np.array_equal(bayes_decisions(moved, priced.priced), priced.decisions)
    # A price lower than the one that was found breaks the limit.
    assert priced.prices[0] > 0
    cells = priced.added[0] / np.abs(priced.added[0]).max()
    step = limit.cells(problem.classes, problem.decisions, priced.prior).max()
    lower = problem.plus(cells * (priced.prices[0] * (1 - 1e-9)) * step)
    assert limit.excess(value(bayes_decisions(moved, lower))) > 0


def test_several_limits_are_checked_on_the_labelled_cases():
    rng = np.random.default_rng(5)
    truth = rng.random(500) < 0.2
    log_odds = rng.normal(np.where(truth, 1, -1), 1.4) - 1.4
    p = 1 / (1 + np.exp(-3 * log_odds))  # exaggerated
    limits = [Limit.share("review", at_most=0.1), Limit.rate("approve", given="fraud", at_most=0.3)]
    labels = np.where(truth, "fraud", "legit")
    priced = price_limits(p, PAYMENTS.with_limits(limits), y_true=labels)
    approved = np.mean(priced.decisions[truth] == "approve")
    assert priced.values == pytest.approx([np.mean(priced.decisions == "review"), approved])
    assert priced.kept.tolist() == [True, bool(approved <= 0.3)]


# The deployment prior, costs of every case, weights ----------------------------------------------


def test_limits_hold_at_the_deployment_prior():
    """Half of the cases are frauds, one in fifty will be: shares are counted as they will come."""
    rng = np.random.default_rng(8)
    truth = np.arange(2000) % 2
    p = 1 / (1 + np.exp(-rng.normal(np.where(truth == 1, 2, -2), 2)))
    problem = PAYMENTS.with_prior([0.98, 0.02]).with_limits([Limit.share("review", at_most=0.01)])
    priced = price_limits(p, problem, y_true=np.where(truth == 1, "fraud", "legit"))
    reviewed = priced.decisions == "review"
    at_prior = 0.98 * np.mean(reviewed[truth == 0]) + 0.02 * np.mean(reviewed[truth == 1])
    assert priced.values[0] == pytest.approx(at_prior, abs=1e-12)
    assert 0.009 < at_prior <= 0.01
    assert priced.from_prior == pytest.approx([0.5, 0.5])
    unlabelled = price_limits(p, problem)
    assert unlabelled.prices[0] == pytest.approx(priced.prices[0], rel=0.2)


def test_weights_are_repetitions():
    p, weights = np.array([0.05, 0.1, 0.2, 0.4, 0.7]), np.array([3, 1, 2, 2, 1])
    problem = PAYMENTS.with_limits([Limit.share("review", at_most=0.4)])
    weighted = price_limits(p, problem, weights=weights)
    repeated = price_limits(np.repeat(p, weights), problem)
    assert weighted.prices == pytest.approx(repeated.prices)
    assert weighted.dual_value == pytest.approx(repeated.dual_value)
    assert np.array_equal(np.repeat(weighted.decisions, weights), repeated.decisions)


@pytest.mark.parametrize("n_limits", [1, 2])
def test_every_case_may_have_its_own_costs(n_limits):
    rng = np.random.default_rng(11)
    amount, p = rng.lognormal(4, 1, 40), rng.beta(0.5, 3, 40)
    limits = [Limit.share("review", at_most=0.1), Limit.rate("approve", given="fraud", at_most=0.2)]
    problem = Problem(
        {
            "legit": {"approve": 0, "review": 3, "block": "5 + 0.02*amount"},
            "fraud": {"approve": "amount", "review": 8, "block": 0},
        },
        limits=limits[:n_limits],
    )
    data = {"amount": amount}
    priced = price_limits(p, problem, data=data)
    moved, mass, prior = deployed(np.column_stack([1 - p, p]), np.ones(40), None)
    twin = program(moved, mass, prior, problem, costs=problem.case_costs(data))
    assert priced.dual_value == pytest.approx(twin["solved"].fun, abs=1e-9)
    assert priced.kept.all()
    assert np.array_equal(bayes_decisions(p, priced.priced, data=data), priced.decisions)


# Special cases of the papers ---------------------------------------------------------------------


@pytest.mark.parametrize("rate", [0.1, 0.37, 0.8])
def test_a_share_that_must_be_met_is_the_fixed_rate_of_hernandez_orallo(rate):
    """RateFixed: the share r with the highest scores, ties by interpolation."""
    rng = np.random.default_rng(2)
    p = np.round(rng.beta(1, 2, 60), 2)
    table = ScoreTable(*_expected_table(p))
    for c in (0.05, 0.5, 0.9):
        free = np.mean(p > c)
        bound = {"at_most": rate} if free > rate else {"at_least": rate}
        problem = Problem.from_threshold(c, limits=[Limit.share(1, **bound)])
        priced = price_limits(p, problem)
        loss = expected_loss(table, RateFixed(rate), CostProportions(Point(c)))
        assert 2 * priced.dual_value == pytest.approx(float(loss), abs=1e-12)


@pytest.mark.parametrize("c", [0.1, 0.25, 0.6, 0.95])
def test_a_share_of_one_minus_the_cost_proportion_is_the_driven_rate_of_hernandez_orallo(c):
    rng = np.random.default_rng(4)
    p = np.round(rng.beta(2, 2, 40), 2)
    table = ScoreTable(*_expected_table(p))
    bound = {"at_most": 1 - c} if np.mean(p > c) > 1 - c else {"at_least": 1 - c}
    priced = price_limits(p, Problem.from_threshold(c, limits=[Limit.share(1, **bound)]))
    loss = expected_loss(table, RateDriven(), CostProportions(Point(c)))
    assert 2 * priced.dual_value == pytest.approx(float(loss), abs=1e-12)


def _expected_table(p):
    """Scores and their expected class weights, where the scores are posteriors."""
    scores, counts = np.unique(p, return_counts=True)
    return scores, np.column_stack([(1 - scores) * counts, scores * counts])


def test_two_classes_and_two_decisions_have_a_threshold():
    """The recall floor of 90 % makes a miss worth more false alarms."""
    rng = np.random.default_rng(6)
    p = rng.beta(1, 3, 1000)
    problem = Problem.binary(false_alarm=1, miss=2, limits=[Limit.rate(1, given=1, at_least=0.9)])
    priced = price_limits(p, problem)
    threshold = priced.priced.threshold
    assert threshold < problem.threshold
    assert np.array_equal(priced.decisions == 1, p > threshold)
    counts = Counts.from_decisions((p > 2).astype(int), priced.decisions, problem.with_limits(None))
    assert counts.n_cases == 1000


# What is refused ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda p: price_limits(p, PAYMENTS), "problem must have limits to be priced"),
        (lambda p: price_limits([], _reviewed()), "at least one case"),
        (lambda p: price_limits(p, _reviewed(), y_true=["legit"]), "same cases|same length|rows"),
        (
            lambda p: price_limits(p, _reviewed(prior=[0, 1]), y_true=["legit"] * 4),
            "'fraud' has none",
        ),
        (
            lambda p: price_limits(
                [0.0] * 4, _reviewed(Limit.rate("review", given="fraud", at_most=0.1))
            ),
            "the share of 'fraud' is zero",
        ),
        (
            lambda p: price_limits(
                [0.5, 0.0, 0.0],
                _reviewed(Limit.rate("review", given="fraud", at_least=0.9)),
                y_true=["legit", "fraud", "fraud"],
            ),
            "certain of another class than the case has allow is 0",
        ),
        (
            lambda p: price_limits(Posteriors([[0, 1], [0, 1.0]]), _reviewed(prior=[1, 0])),
            "'legit' has none",
        ),
    ],
)
def test_what_cannot_be_priced_is_refused(make, message):
    with pytest.raises(InputError, match=message):
        make([0.1, 0.2, 0.3, 0.4])


def _reviewed(limit=None, prior=None):
    return PAYMENTS.with_prior(prior).with_limits([limit or Limit.share("review", at_most=0.1)])


def test_limits_that_no_rule_keeps_are_refused_with_the_closest_value():
    """To approve no fraud and block no more than a tenth, more must be reviewed than may be."""
    p = np.linspace(0.01, 0.99, 99)
    limits = [
        Limit.share("review", at_most=0.2),
        Limit.rate("approve", given="fraud", at_most=0.1),
        Limit.rate("block", given="legit", at_most=0.05),
    ]
    problem = PAYMENTS.with_limits(limits)
    with pytest.raises(InputError, match="'block: at most 5 % of legit' cannot be kept") as caught:
        price_limits(p, problem)
    closest = float(str(caught.value).split("allow is ")[1].split(". ")[0])
    rows = np.column_stack([1 - p, p])
    moved, mass, prior = deployed(rows, np.ones(99), None)
    for bound, status in ((closest - 1e-4, 2), (closest + 1e-4, 0)):
        widened = [*limits[:2], Limit.rate("block", given="legit", at_most=bound)]
        twin = program(moved, mass, prior, problem.with_limits(widened))
        assert twin["solved"].status == status


@pytest.mark.parametrize("n_cases", [1_500, pytest.param(60_000, marks=pytest.mark.slow)])
def test_many_cases_have_the_prices_of_a_search_through_all_of_them(n_cases, monkeypatch):
    """Cases that are decided alike near the prices are summed up; nothing is lost by that."""
    from stakes.limits import priced as search

    rng = np.random.default_rng(12)
    p = rng.beta(0.3, 3, n_cases)
    limits = [
        Limit.share("review", at_most=0.05),
        Limit.rate("approve", given="fraud", at_most=0.1),
    ]
    problem = PAYMENTS.with_limits(limits)
    monkeypatch.setattr(search, "_MANY", 10**9)
    plain = price_limits(p, problem)
    monkeypatch.setattr(search, "_MANY", n_cases // 3)
    near = price_limits(p, problem)
    assert near.dual_value == pytest.approx(plain.dual_value, abs=1e-9)
    assert near.kept.all()
    assert near.cost <= plain.dual_value + 10 * 180 / n_cases


@pytest.mark.parametrize("power", [-40, 20, 40])
def test_prices_of_several_limits_do_not_depend_on_the_unit_of_money(power):
    rng = np.random.default_rng(2)
    y = rng.integers(0, 3, 150)
    rows = 0.5 * rng.dirichlet(np.ones(3), 150) + 0.5 * np.eye(3)[y]
    costs = np.array([[0, 3, 7], [4, 0, 2], [9, 5, 1.0]])
    limits = [Limit.share("d0", at_most=0.2), Limit.share("d1", at_least=0.5)]

    def priced(unit: float) -> Any:
        problem = Problem(costs * unit, decisions=["d0", "d1", "d2"], limits=limits)
        return price_limits(rows, problem)

    once, other = priced(1.0), priced(2.0**power)
    assert np.array_equal(once.decisions, other.decisions)
    assert other.added / 2.0**power == pytest.approx(once.added, rel=1e-9)
