"""How often gates open by mistake, and how often they open when they should.

``python tests/coverage/test_gates.py`` prints the table of docs/incumbent.md.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np
import pytest

from stakes import Problem
from stakes.inference import (
    Clusters,
    LossSample,
    difference_support,
    profile_bounds,
    profile_threshold,
)
from stakes.tally import JointCounts

COSTS = np.array([[0.0, 3.0, 25.0], [180.0, 8.0, 0.0]])
SAMPLES = 4000
Q = profile_threshold(0.95, np.array(np.inf))


class World(NamedTuple):
    """Shares (K, M, M) of true class, new decision and old decision, and the costs behind them."""

    shares: np.ndarray
    new: float
    old: float


@cache
def world(prevalence: float, noise: float, factor: float) -> World:
    """Two systems of one quality that see the case through independent noise, at a margin.

    The new one sometimes takes the most expensive constant decision, just often enough to cost the
    factor times as much as the old one.
    """
    rng = np.random.default_rng(7)
    y = (np.arange(400_000) < prevalence * 400_000).astype(int)
    signal = rng.normal(4.0 * y - 2, 1.2)
    new, old = (np.digitize(signal + rng.normal(0, noise, y.size), [-0.4, 2]) for _ in range(2))
    table = np.zeros((2, 3, 3))
    np.add.at(table, (y, new, old), 1 / y.size)
    table = (table + table.transpose(0, 2, 1)) / 2  # exactly one quality
    return with_higher_cost(table, COSTS, factor)


def with_higher_cost(table: np.ndarray, costs: np.ndarray, factor: float) -> World:
    """The same decisions, of which some of the new system's are the most expensive constant one."""
    cost = float((table.sum(axis=2) * costs).sum())
    constant = np.zeros_like(table)
    worst = int(np.argmax(table.sum(axis=(1, 2)) @ costs))
    constant[:, worst] = table.sum(axis=1)
    mixed = (factor - 1) * cost / (float((constant.sum(axis=2) * costs).sum()) - cost)
    assert 0 <= mixed <= 1
    return World((1 - mixed) * table + mixed * constant, factor * cost, cost)


def passes(world: World, n: int, factor: float, prior: bool, seed: int) -> float:
    """How often the upper end for new − factor · old is not above zero."""
    rng = np.random.default_rng(seed)
    cells = np.argwhere(np.ones((2, 3, 3)))
    drawn = rng.multinomial(n, world.shares.ravel(), size=SAMPLES).astype(float)
    shares = world.shares.sum(axis=(1, 2)) if prior else None
    problem = Problem(COSTS, prior=shares)
    if prior:
        drawn = drawn[(drawn.reshape(SAMPLES, 2, -1).sum(axis=2) > 0).all(axis=1)]
    joint = JointCounts(cells, drawn, ["new", "old"], problem.classes, problem.decisions)
    support = difference_support(joint, problem, [(0, 1)], factor=factor).of_quantity(0)
    _, high = profile_bounds(support, Q)
    return float(np.mean(high < 0 if factor == 1 else high <= 0))


def excess(rate: float) -> float:
    """By how many standard errors of the simulation a rate is above 2.5 %."""
    return (rate - 0.025) / np.sqrt(0.025 * 0.975 / SAMPLES)


DESIGNS = [
    (n, prevalence, noise)
    for n in (200, 1000, 5000)
    for prevalence in (0.02, 0.2, 0.5)
    for noise in (0.4, 1.5)
]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("factor", "prior"), [(1.0, False), (1.02, False), (1.1, False), (1.02, True)]
)
def test_a_gate_opens_by_mistake_in_at_most_one_sample_of_forty(factor, prior):
    """At the margin: equal costs for "better", and costs that are higher by it for "no worse"."""
    rates = [
        passes(world(prevalence, noise, factor), n, factor, prior, place)
        for place, (n, prevalence, noise) in enumerate(DESIGNS)
    ]
    assert max(map(excess, rates)) < 3.5
    assert max(rates) > 0.005  # no gate that is simply shut


@pytest.mark.slow
def test_power_at_a_true_difference_of_zero_grows_with_cases_and_margin():
    equal = world(0.2, 0.4, 1.0)
    power = [[passes(equal, n, f, False, n) for f in (1.05, 1.1)] for n in (5000, 50_000)]
    assert np.all(np.diff(power, axis=0) > 0)
    assert np.all(np.diff(power, axis=1) > 0)
    assert power[1][1] > 0.9


def clustered(world: World, n_clusters: int, seed: int, samples: int) -> float:
    """The same for clusters of ten cases that share their class and half of their decisions."""
    rng = np.random.default_rng(seed)
    cells = np.argwhere(np.ones((2, 3, 3)))
    problem, opened = Problem(COSTS), 0
    flat = world.shares.ravel()
    threshold = profile_threshold(0.95, np.array(n_clusters - 1.0))
    for _ in range(samples):
        first = rng.choice(18, n_clusters, p=flat)
        again = rng.choice(18, (n_clusters, 10), p=flat)
        cells_of_cases = np.where(rng.random((n_clusters, 10)) < 0.5, first[:, None], again)
        weights = np.stack([np.bincount(row, minlength=18) for row in cells_of_cases]).astype(float)
        joint = JointCounts(cells, weights, ["new", "old"], problem.classes, problem.decisions)
        support = difference_support(joint, problem, [(0, 1)], scheme=Clusters())
        _, high = profile_bounds(support.of_quantity(0), threshold)
        opened += bool(high < 0)
    return opened / samples


@pytest.mark.slow
@pytest.mark.parametrize("n_clusters", [12, 60])
def test_a_gate_for_clusters_opens_by_mistake_in_at_most_one_sample_of_forty(n_clusters):
    rate = clustered(world(0.5, 1.5, 1.0), n_clusters, 3, 1000)
    assert rate < 0.025 + 3.5 * np.sqrt(0.025 * 0.975 / 1000)


def by_amounts(n: int, factor: float, seed: int, samples: int) -> float:
    """The same where every case has its own costs: lognormal amounts, a review, a block."""
    rng = np.random.default_rng(seed)
    world, opened = amounts_world(factor), 0
    for _ in range(samples):
        places = rng.choice(18, n, p=world.shares.ravel())
        y, new, old = places // 9, places // 3 % 3, places % 3
        amount = rng.lognormal(4, 1, n)
        costs = amount_costs(amount)
        losses = np.stack([costs[np.arange(n), y, new], costs[np.arange(n), y, old]])
        costs_of_truth = costs[np.arange(n), y]
        sample = LossSample(
            names=("new", "old"),
            losses=losses,
            costliest=costs_of_truth.max(axis=1),
            perfect=costs_of_truth.min(axis=1),
            truth=y,
            n_classes=2,
            prior=None,
            weights=None,
            whole=True,
            clusters=None,
        )
        _, high = profile_bounds(sample.difference_support("new", "old", factor), Q)
        opened += bool(high < 0)
    return opened / samples


def amount_costs(amount: np.ndarray) -> np.ndarray:
    """(n, K, M): approve, review or block a payment that is legitimate or not."""
    zero, ones = np.zeros(amount.size), np.ones(amount.size)
    legit = np.stack([zero, 3 * ones, 5 + 0.02 * amount], axis=1)
    return np.stack([legit, np.stack([amount, 8 * ones, zero], axis=1)], axis=1)


def amounts_world(factor: float) -> World:
    """Decisions that do not depend on amounts, so that their mean costs are known."""
    mean = float(np.exp(4.5))
    costs = np.array([[0.0, 3.0, 5 + 0.02 * mean], [mean, 8.0, 0.0]])
    return with_higher_cost(world(0.1, 0.6, 1.0).shares, costs, factor)


@pytest.mark.slow
@pytest.mark.parametrize("factor", [1.0, 1.05])
def test_a_gate_for_costs_of_cases_opens_by_mistake_in_at_most_one_sample_of_forty(factor):
    rate = by_amounts(1000, factor, 5, 1000)
    assert rate < 0.025 + 3.5 * np.sqrt(0.025 * 0.975 / 1000)


if __name__ == "__main__":
    for factor in (1.0, 1.02, 1.1):
        for prior in (False, True):
            rates = [
                100 * passes(world(p, noise, factor), n, factor, prior, place)
                for place, (n, p, noise) in enumerate(DESIGNS)
            ]
            print(factor, "prior" if prior else "shares", np.round(rates, 2), max(rates))
    for n in (500, 1000, 2000, 5000, 10_000, 50_000):
        power = [passes(world(0.2, 0.4, 1.0), n, f, False, n) for f in (1.02, 1.05, 1.1, 1.2)]
        print("power", n, np.round(power, 3))
    for n_clusters in (12, 60):
        print("clusters", n_clusters, clustered(world(0.5, 1.5, 1.0), n_clusters, 3, 1000))
    for factor in (1.0, 1.05):
        print("amounts", factor, by_amounts(1000, factor, 5, 1000))
