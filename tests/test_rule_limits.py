"""Rules under limits: shipped with their prices, and counts of a batch kept exactly."""

from __future__ import annotations

import json
from itertools import product

import numpy as np
import pytest

from stakes import InputError, Limit, Posteriors, Problem, Rule, price_limits

PAYMENTS = Problem(
    {
        "legit": {"approve": 0, "review": 3, "block": 25},
        "fraud": {"approve": 180, "review": 8, "block": 0},
    },
    unit="EUR",
)
REVIEW = Limit.share("review", at_most=0.05)
CAUGHT = Limit.rate("approve", given="fraud", at_most=0.1)
P = np.random.default_rng(0).beta(0.4, 4, 600)


@pytest.fixture(scope="module")
def priced():
    return price_limits(P, PAYMENTS.with_limits([REVIEW, CAUGHT]))


def test_a_rule_under_limits_decides_as_it_was_priced(priced):
    rule = Rule.keeping(priced, model="forest")
    assert np.array_equal(rule.decide(P), priced.decisions)
    assert "with prices for limits" in repr(rule)
    assert rule.problem.limits == (REVIEW, CAUGHT)
    # What decisions cost is without prices.
    assert np.array_equal(rule.expected_costs([0.5]), [[90, 5.5, 12.5]])


def test_a_rule_under_limits_travels_as_json(priced, tmp_path):
    rule = Rule.keeping(priced)
    rule.to_json(tmp_path / "rule.json")
    again = Rule.from_json(tmp_path / "rule.json")
    assert again == rule
    assert np.array_equal(again.decide(P), priced.decisions)
    assert json.loads(rule.to_json())["version"] == 2  # which earlier releases refuse
    assert json.loads(Rule(PAYMENTS).to_json())["version"] == 1


def test_the_sql_of_a_rule_has_its_prices(priced):
    cuts = Rule.keeping(priced).cuts
    assert cuts is not None
    assert np.array_equal(np.array(PAYMENTS.decisions)[cuts(P)], priced.decisions)


def test_a_rule_moves_posteriors_as_they_were_moved_for_the_prices():
    problem = PAYMENTS.with_prior([0.99, 0.01]).with_limits([REVIEW])
    priced = price_limits(P, problem)
    rule = Rule.keeping(priced)
    assert rule.from_prior is not None
    assert np.mean(rule.decide(P) != priced.decisions) == 0


def test_cases_that_are_tied_at_another_prior_are_decided_as_they_were_priced():
    rng = np.random.default_rng(63)
    rows = rng.integers(0, 6, (12, 3)) + 0.0
    rows /= rows.sum(axis=1, keepdims=True)
    limits = [Limit.share(0, at_most=0.2), Limit.rate(0, given=1, at_most=0.5)]
    problem = Problem(rng.integers(0, 20, (3, 2)), prior=[0.2, 0.3, 0.5], limits=limits)
    priced = price_limits(rows, problem)
    assert np.array_equal(Rule.keeping(priced).decide(rows), priced.decisions)


def test_a_rule_needs_prices_for_the_limits_of_its_problem():
    with pytest.raises(InputError, match="must have prices for the limits of its problem"):
        Rule(PAYMENTS.with_limits([REVIEW]))
    with pytest.raises(InputError, match=r"added must have shape \(1, 2, 3\)"):
        Rule(PAYMENTS.with_limits([REVIEW]), added=np.zeros((2, 2, 3)))
    with pytest.raises(InputError, match=r"added must have shape \(0, 2, 3\)"):
        Rule(PAYMENTS, added=np.zeros((1, 2, 3)))


# Batches -----------------------------------------------------------------------------------------


def test_a_batch_keeps_a_count_exactly_whatever_is_tied(priced):
    batch = np.round(P[:400], 2)
    for rule in (Rule(PAYMENTS), Rule.keeping(priced)):
        for n in (0, 1, 7, 20):
            decided = rule.decide(batch, limits=[Limit.count("review", n)])
            assert int(np.sum(decided == "review")) == n


def test_a_batch_that_needs_no_limit_is_decided_as_ever():
    rule = Rule(PAYMENTS)
    assert np.array_equal(rule.decide(P, limits=[Limit.count("review", 2000)]), rule.decide(P))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    "limits",
    [
        [Limit.count(1, 2)],
        [Limit.count(1, at_least=4)],
        [Limit.count(1, 3, at_least=3)],
        [Limit.count(0, 2), Limit.count(1, 1)],
        [Limit.count(0, 1), Limit.count(2, at_least=3)],
        [Limit.share(2, at_most=0.34)],
        [Limit.share(0, at_least=0.5), Limit.share(1, at_least=0.34)],
    ],
)
def test_counts_are_kept_at_the_least_cost_of_all_assignments(seed, limits):
    rng = np.random.default_rng(seed)
    rows = np.round(rng.dirichlet([1, 1], 6), 1)  # ties
    problem = Problem(np.round(rng.normal(0, 5, (2, 3))))
    decided = Rule(problem).decide(Posteriors(rows), limits=limits)
    costs = rows @ problem.costs

    def fits(codes):
        counts = np.bincount(codes, minlength=3)
        for limit in limits:
            count = counts[limit.decision] / (1 if limit.counted else 6)
            most = np.inf if limit.at_most is None else limit.at_most
            if not (limit.at_least or 0) <= count <= most:
                return False
        return True

    def spent(codes):
        return costs[np.arange(6), list(codes)].sum()

    assert fits(decided)
    least = min(spent(codes) for codes in product(range(3), repeat=6) if fits(codes))
    assert spent(decided) == pytest.approx(least, abs=1e-9)


def test_a_count_takes_the_place_of_the_share_of_the_same_decision(priced):
    """The price of the share would leave more room unused than the batch has."""
    rule = Rule.keeping(priced)
    usual = int(np.sum(rule.decide(P) == "review"))
    more = rule.decide(P, limits=[Limit.count("review", 3 * usual)])
    assert int(np.sum(more == "review")) > usual


def test_counts_of_cases_with_their_own_costs():
    problem = Problem(
        {"legit": {"approve": 0, "block": 5}, "fraud": {"approve": "amount", "block": 0}}
    )
    amounts = {"amount": [10, 1000, 500, 20, 900]}
    decided = Rule(problem).decide([0.5] * 5, amounts, limits=[Limit.count("block", 2)])
    assert decided.tolist() == ["approve", "block", "approve", "approve", "block"]


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        ([CAUGHT], "a rate within a class, which cannot be counted"),
        ([Limit.count("call", 3)], "'call: at most 3 cases' names another decision"),
        ([Limit.count("review", at_least=5)], "at least 5 of 3 cases"),
        (
            [Limit.count(decision, 0) for decision in PAYMENTS.decisions],
            "at most 0 of 3 .* Loosen one of them by 3",
        ),
        (["review"], "limits must be a list of Limit; one is str"),
        ([Limit.count("review", 1), Limit.count("review", at_least=2)], "at least 2 and at most 1"),
    ],
)
def test_counts_that_a_batch_cannot_have_are_refused(limits, message):
    with pytest.raises(InputError, match=message):
        Rule(PAYMENTS).decide([0.1, 0.2, 0.3], limits=limits)


def test_rules_without_posteriors_cannot_keep_counts():
    rule = Rule(PAYMENTS, "decisions")
    with pytest.raises(InputError, match="need posteriors"):
        rule.decide(["approve"], limits=[Limit.count("review", 0)])


def test_several_counts_in_a_batch_are_kept_at_the_least_cost():
    problem, q = Problem([[0, 3, 9], [9, 2, 0]]), np.array([0.04, 0.3, 0.5, 0.6, 0.8, 0.97])
    costs = np.stack([1 - q, q], axis=1) @ problem.costs
    limits = [Limit.count(1, 2, at_least=2), Limit.count(2, 1)]
    decided = Rule(problem).decide(q, limits=limits)
    every = np.array(list(product(range(3), repeat=6)))
    kept = every[((every == 1).sum(axis=1) == 2) & ((every == 2).sum(axis=1) <= 1)]
    best = costs[np.arange(6), kept].sum(axis=1).min()
    assert costs[np.arange(6), decided].sum() == pytest.approx(best)


@pytest.mark.parametrize("unit", [1e-9, 1e8, 1e30])
def test_several_counts_are_kept_alike_whatever_the_unit_of_money(unit):
    rng = np.random.default_rng(3)
    rows, costs = rng.dirichlet(np.ones(3), 60), np.array([[0, 3, 7], [4, 0, 2], [9, 5, 1.0]])
    limits = [Limit.count(0, 10), Limit.count(1, 10)]
    once = Rule(Problem(costs)).decide(rows, limits=limits)
    assert np.array_equal(Rule(Problem(costs * unit)).decide(rows, limits=limits), once)
