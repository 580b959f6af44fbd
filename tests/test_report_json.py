"""Every report that can be made can be written as JSON and read again."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from random_reports import random_report
from stakes import Decisions, Limit, Problem, Report, evaluate

QUICK = range(60)
ALL = pytest.param(range(60, 2000), marks=pytest.mark.slow)


@pytest.mark.parametrize("seeds", [QUICK, ALL])
def test_random_reports_are_read_from_their_json_as_they_were(seeds):
    changed = []
    for seed in seeds:
        report = random_report(seed)
        text = report.to_json()
        read = Report.from_json(text)
        # 0 equals False, so that equal reports may still be written differently.
        if read != report or read.to_json() != text:
            changed.append(seed)
    assert changed == []


def test_totals_of_a_large_volume_may_be_rounded_as_large_numbers_are():
    """The saving is minus the running cost, whatever the cases: its interval has no width."""
    problem, cases = Problem([[1.86], [20.96]]), [0, 1] * 8
    options: dict[str, Any] = {"running_costs": {"model": 0.01}, "calibrator": None}
    for volume in (1.0, 1e6, 3e9):
        report = evaluate(cases, Decisions([0] * 16), problem, volume=volume, **options)
        assert Report.from_json(report.to_json()) == report


def test_costs_of_cases_that_cancel_leave_rounding_only():
    half = np.random.default_rng(16).normal(0, 0.1, (16, 2, 2))
    costs = np.concatenate([half, -half])
    y, decided = [0, 1] * 16, Decisions([0, 1] * 16)
    report = evaluate(y, decided, Problem.zero_one(2), case_costs=costs, calibrator=None)
    assert Report.from_json(report.to_json()) == report


def test_answers_are_labels_of_classes_where_decisions_equal_them():
    problem = Problem([[0, 1], [9, 0]], classes=[False, True], decisions=[0, 1])
    assert [type(label) for label in problem.answers] == [bool, bool]
    report = evaluate([False, True] * 20, [0.1, 0.8] * 20, problem, calibrator=None)
    read = Report.from_json(report.to_json())
    assert read.to_json() == report.to_json()
    assert repr(read.problem.plain()) == repr(problem.plain())
    flipped = Problem([[0, 1], [9, 0]], classes=[0, 1], decisions=[True, False])
    assert repr(flipped.answers) == "(1, 0)"


def test_prices_that_turn_the_decisions_around_leave_no_threshold():
    """At least two cases in five of class False get True: below some probability, not above it."""
    rng = np.random.default_rng(0)
    p = rng.random(200)
    y = rng.random(200) < p
    problem = Problem(
        [[0.3, 58.0], [2.6, 15.7]],
        classes=[False, True],
        limits=[Limit.rate(True, given=False, at_least=0.4)],
    )
    report = evaluate(y, p, problem, calibrator=None, replicates=5)
    (system,) = report.systems
    assert system.threshold is None
    decided = report.rule(system.name).decide(np.array([0.01, 0.99]))
    assert decided.tolist() == [True, False]
