"""The search for a rule under several limits, against examples and scans of prices."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

from stakes import InputError, Limit, Problem, bayes_decisions, price_limits
from stakes.limits.deployed_cases import CountedCases

DISTINCT = np.array([[0.836, 0.164], [0.1077, 0.8923], [0.2726, 0.7274], [0.4267, 0.5733]])
FIVE = np.array(
    [
        [0.29954435, 0.2887529, 0.41170275],
        [0.04384208, 0.6002524, 0.35590552],
        [0.22274361, 0.52151038, 0.25574601],
        [0.68729063, 0.20438191, 0.10832746],
        [0.25365009, 0.28360582, 0.46274409],
    ]
)


@pytest.mark.parametrize(("seed", "most"), [(65, 6.91), (98, 0.0), (111, 0.037), (117, 1.79)])
def test_prices_that_tie_two_decisions_for_all_cases_do_not_move_them_together(seed, most):
    """A share and a rate: the optimal prices make two decisions equally expensive for any case.

    Nudges of the same size cost 7.53, 0.307, 1.37 and 2.35.
    """
    rng = np.random.default_rng(seed)
    p, costs = rng.random(100).round(2), rng.integers(-3, 10, (2, 3))
    share, rate = (round(float(rng.random() * size), 2) for size in (0.5, 0.6))
    limits = [Limit(0, at_most=share), Limit(1, given=1, at_least=rate)]
    priced = price_limits(p, Problem(costs, limits=limits))
    assert priced.cost <= most
    assert priced.kept.all()
    assert np.array_equal(bayes_decisions(p, priced.priced), priced.decisions)


def test_many_cases_are_searched_where_much_is_lost():
    """Nudges of the same size lose 14 % of the span of costs."""
    rng = np.random.default_rng(55)
    p, costs = rng.random(20_000), rng.integers(-3, 10, (2, 3))
    share, rate = (round(float(rng.random() * size), 2) for size in (0.5, 0.6))
    limits = [Limit(0, at_most=share), Limit(1, given=1, at_least=rate)]
    priced = price_limits(p, Problem(costs, limits=limits))
    assert priced.rounding_loss <= 0.01
    assert priced.kept.all()


def test_limits_that_distinct_cases_keep_at_some_prices_are_not_refused():
    limits = [Limit(2, given=0, at_least=0.06), Limit(1, given=0, at_least=0.035)]
    priced = price_limits(DISTINCT, Problem([[6, -1, 1], [-3, 3, 5]], limits=limits))
    assert priced.kept.all()
    assert priced.cost <= 0.093


def test_a_limit_that_a_rule_keeps_anyway_does_not_raise_its_cost():
    first, second = Limit(1, at_most=0.73), Limit(1, given=2, at_most=0.8)
    costs = [[5, 7], [6, 3], [5, -1]]
    alone = price_limits(FIVE, Problem(costs, limits=[first]))
    for limits in ([first, second], [second, first]):
        assert price_limits(FIVE, Problem(costs, limits=limits)).cost <= alone.cost + 1e-12


def test_the_rule_for_all_limits_but_one_is_taken_where_it_keeps_that_one():
    """Two of three cases are equal; no line of prices for all three limits has as cheap a rule."""
    rows = np.array([[0.95, 0.15], [0.95, 0.15], [0.85, 0.25]]) / 1.1
    problem = Problem(
        [[-2, 7, 7], [5, 4, 0]],
        limits=[
            Limit(1, at_least=0.55),
            Limit(2, given=0, at_most=0.5),
            Limit(0, given=1, at_most=0.52),
        ],
    )
    fewer = price_limits(rows, problem.with_limits(problem.limits[1:]))
    assert _values(rows, problem, fewer.decisions).max() <= 1e-10
    assert price_limits(rows, problem).cost == pytest.approx(fewer.cost)


@pytest.mark.parametrize("seed", range(20))
def test_no_limit_that_a_rule_keeps_anyway_raises_its_cost(seed):
    rows, problem = _draw(seed, 2 + seed % 2)
    fewer = _priced(rows, problem.with_limits(problem.limits[:-1]))
    both = _priced(rows, problem)
    if fewer is None:
        return
    if _values(rows, problem, fewer.decisions)[-1] <= 1e-10:
        assert both is not None
        assert both.cost <= fewer.cost + 1e-9


@pytest.mark.parametrize("seed", range(40))
def test_two_limits_cost_what_the_cheapest_of_a_scan_of_prices_costs(seed):
    """The search promises no optimum; among these cases it misses none by a percent of the span."""
    rows, problem = _draw(seed, 2)
    cheapest = _scanned(rows, problem)
    priced = _priced(rows, problem)
    if priced is None:
        assert cheapest == np.inf
        return
    assert (_values(rows, problem, priced.decisions) <= 1e-10).all()
    assert priced.cost <= cheapest + 0.01 * float(np.ptp(problem.costs))
    assert priced.rounding_loss >= priced.cost - cheapest - 1e-9


def _draw(seed: int, n_limits: int) -> tuple[Any, Problem]:
    rng = np.random.default_rng([seed, n_limits])
    size, n_decisions, n = rng.integers(2, 4), rng.integers(2, 5), rng.integers(3, 15)
    rows = rng.dirichlet(rng.uniform(0.3, 1.5, size), n)
    limits = []
    for _ in range(n_limits):
        end = "at_most" if rng.random() < 0.6 else "at_least"
        condition = None if rng.random() < 0.5 else int(rng.integers(size))
        bound: dict[str, Any] = {end: round(float(rng.uniform(0.03, 0.8)), 2)}
        limits.append(Limit(int(rng.integers(n_decisions)), condition, **bound))
    costs = rng.integers(-3, 10, (size, n_decisions))
    try:
        return rows, Problem(costs, limits=limits)
    except InputError:  # they contradict each other, whatever the cases
        return _draw(seed + 1000, n_limits)


def _priced(rows: Any, problem: Problem) -> Any:
    try:
        return price_limits(rows, problem)
    except InputError:
        return None


def _values(rows: Any, problem: Problem, decisions: Any) -> Any:
    """By how much decisions exceed each limit, from its definition."""
    excess = []
    for limit in problem.limits:
        mass = np.ones(len(rows)) if limit.given is None else rows[:, limit.given]
        value = mass[decisions == limit.decision].sum() / mass.sum()
        excess.append(limit.sign * (value - limit.bound))
    return np.array(excess)


def _scanned(rows: Any, problem: Problem) -> float:
    """The least cost of rules that keep the limits, on a grid of prices that tie no case."""
    span, prior = float(np.ptp(problem.costs)), rows.mean(axis=0)
    cells = [limit.cells(problem.classes, problem.decisions, prior) for limit in problem.limits]
    grid = np.concatenate([[0.0], span * np.geomspace(0.003, 10, 40)])
    cheapest = np.inf
    for prices in product(grid, repeat=len(cells)):
        added = sum(
            price * limit.sign * cell
            for price, limit, cell in zip(prices, problem.limits, cells, strict=True)
        )
        costs = rows @ (problem.costs + added)
        ordered = np.sort(costs, axis=1)
        decided = costs.argmin(axis=1)
        if (ordered[:, 1] - ordered[:, 0] > 1e-9).all() and (
            _values(rows, problem, decided) <= 1e-10
        ).all():
            plain = (rows @ problem.costs)[np.arange(len(rows)), decided]
            cheapest = min(cheapest, float(plain.mean()))
    return cheapest


# What a refusal says -----------------------------------------------------------------------------


def test_a_refusal_speaks_of_equal_cases_only_where_there_are_some():
    problem = Problem([[0, 3], [10, 1]], limits=[Limit(0, at_most=0.5), Limit(1, at_most=0.6)])
    with pytest.raises(InputError, match="no prices were found") as caught:
        price_limits([0.2] * 5 + [0.3, 0.4], problem)
    assert "4 of these 7 cases repeat another" in str(caught.value)
    problem = problem.with_limits([Limit(0, at_most=0.4), Limit(1, at_most=0.7)])
    with pytest.raises(InputError, match=r"keeps all of them\. Loosen a limit"):
        price_limits([0.2, 0.3], problem)


def test_a_rule_that_decides_ties_otherwise_is_taken_only_where_it_is_cheaper():
    """On its line this rule looks cheaper; decided again, it costs 4.891 instead of 4.8185."""
    rng = np.random.default_rng(197)
    n = int(rng.choice([10, 30, 100, 400]))
    p = rng.multinomial(int(rng.choice([4, 5, 10])), rng.dirichlet(np.ones(3)), n).astype(float)
    p /= p.sum(axis=1, keepdims=True)
    costs = rng.integers(1, 20, (3, 3)).astype(float)
    np.fill_diagonal(costs, 0)
    limits = [Limit.share(1, at_most=0.2), Limit.share(2, at_most=0.15)]
    assert price_limits(p, Problem(costs, limits=limits)).cost < 4.8186


@pytest.mark.parametrize("kinds", [1, 7, 200])
def test_equal_cases_are_merged_with_the_sum_of_their_masses(kinds):
    rng = np.random.default_rng(kinds)
    where = rng.integers(0, kinds, 200)
    costs, counted = rng.random((3, kinds))[:, where], rng.random((2, kinds))[:, where]
    limits = (Limit.share("b", at_most=0.4), Limit.rate("c", given="x", at_most=0.2))
    mass = rng.random(200) / 100
    cases = CountedCases(costs, mass, limits, np.array([1, 2]), counted, seen=counted)
    merged, size = cases.distinct(), np.unique(where).size
    assert (merged.mass.size, merged.seen) == (size, None)
    slow: dict[tuple[float, ...], float] = {}
    for column, share in zip(np.vstack([costs, counted]).T.tolist(), mass, strict=True):
        slow[tuple(column)] = slow.get(tuple(column), 0.0) + share
    columns = map(tuple, np.vstack([merged.costs, merged.counted]).T.tolist())
    assert dict(zip(columns, merged.mass, strict=True)) == pytest.approx(slow)
    choice = rng.integers(0, 3, size)
    every = {tuple(c): d for c, d in zip(merged.costs.T.tolist(), choice, strict=True)}
    spread = np.array([every[tuple(column)] for column in costs.T.tolist()])
    assert merged.cost(choice) == pytest.approx(cases.cost(spread))
    assert merged.values(choice) == pytest.approx(cases.values(spread))


def test_the_refusal_counts_the_cases_that_repeat_another():
    limits = [Limit.share(1, at_most=0.3), Limit.share(1, at_least=0.2)]
    with pytest.raises(InputError, match=r"of cases, no prices .*: 1 of these 3 cases repeats ano"):
        price_limits([0.5, 0.5, 0.1], Problem.binary(false_alarm=1, miss=1, limits=limits))
