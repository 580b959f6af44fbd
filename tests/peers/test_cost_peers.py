"""Costs of every case, live against empulse: its cost loss and its savings."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from stakes import Problem, evaluate, metrics

empulse = pytest.importorskip("empulse.metrics")

COSTS = ("tn_cost", "fp_cost", "fn_cost", "tp_cost")  # classes in rows, decisions in columns
BY_NAME = Problem([COSTS[:2], COSTS[2:]])


def savings(y: Any, decided: Any, data: object) -> float:
    """What decisions save of the cost of the best constant one."""
    common: dict[str, Any] = {"problem": BY_NAME, "data": data}
    constant = [metrics.expected_cost(y, np.full(len(y), d), **common) for d in (0, 1)]
    return 1 - metrics.expected_cost(y, decided, **common) / min(constant)


def cases(seed: int) -> tuple[object, object, dict[str, object]]:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(5, 300))
    y, decided = (rng.random((2, n)) < rng.random((2, 1))).astype(int)
    y[:2] = 0, 1
    return y, decided, {name: rng.lognormal(1, 1, n) for name in COSTS}


def test_the_examples_of_empulse_agree():
    y, decided = np.array([0, 1, 1, 0]), np.array([0, 1, 0, 0])
    costs = {"fp_cost": np.array([4, 1, 2, 2]), "fn_cost": np.array([1, 3, 3, 1])}
    data = {**dict.fromkeys(COSTS, np.zeros(4)), **costs}
    cost = metrics.expected_cost(y, decided, problem=BY_NAME, data=data)
    assert 4 * cost == empulse.cost_loss(y, decided, **costs) == 3.0
    assert savings(y, decided, data) == empulse.savings_score(y, decided, **costs) == 0.5


@pytest.mark.parametrize("seed", range(8))
def test_cost_loss_and_savings_agree_with_empulse(seed):
    y, decided, data = cases(seed)
    cost = metrics.expected_cost(y, decided, problem=BY_NAME, data=data)
    theirs = empulse.cost_loss(y, decided, normalize=True, **data)
    assert cost == pytest.approx(theirs, rel=1e-9)
    score = empulse.savings_score(y, decided, **data)
    assert savings(y, decided, data) == pytest.approx(score, rel=1e-9, abs=1e-12)


def test_a_report_says_what_empulse_says():
    y, decided, data = cases(3)
    report = evaluate(y, {"model": decided}, BY_NAME, data=data)
    theirs = empulse.cost_loss(y, decided, normalize=True, **data)
    assert report.best.cost.value == pytest.approx(theirs, rel=1e-9)
    saved = 1 - report.best.cost.value / report.naive.cost
    assert saved == pytest.approx(empulse.savings_score(y, decided, **data), rel=1e-9)
