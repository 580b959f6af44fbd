"""The JSON of every kind of report keeps to its schema; what changed between two is said."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

pytest.importorskip("jsonschema")

import jsonschema

from stakes import Between, Decisions, Problem, Report, Scores, evaluate
from stakes.evaluation import changes_between
from stakes.render import report_schema

RNG = np.random.default_rng(0)
N = 150
Y = (RNG.random(N) < 0.3).astype(int)
SIGNAL = RNG.normal(2.0 * Y - 1, 1)
P = 1 / (1 + np.exp(-2 * SIGNAL))
BINARY = Problem.binary(false_alarm=1, miss=9, unit="EUR")
WIDE = Problem([[0, 3, 25], [180, 8, 0]], classes=["legit", "fraud"])
QUICK: Any = {"calibrator": None, "replicates": 10}


def reports() -> dict[str, Report]:
    labels = np.array(WIDE.classes)[Y]
    amounts = Problem([[0, 3, "5 + 0.02*amount"], ["amount", 8, 0]])
    data = {"amount": RNG.lognormal(4, 1, N)}
    three = np.stack([1 - P, P / 2, P / 2], axis=1)
    binary = evaluate(Y, {"new": P, "old": Decisions(SIGNAL > 1)}, BINARY, baseline="old", **QUICK)
    unknown = Problem([[0, Between(1, 5)], [9, 0]])
    return {
        "unknown": evaluate(Y, P, unknown, **QUICK),
        "baseline": binary,
        "unpaired": evaluate(Y, P, BINARY, baseline=binary, margin=0.1, **QUICK),
        "recalibrated": evaluate(Y, {"p": P, "s": Scores(SIGNAL)}, BINARY),
        "slices": evaluate(labels, P, WIDE, by=Y, weights=P + 1, volume=100, period="day", **QUICK),
        "amounts": evaluate(Y, P, amounts, data=data, running_costs={"model": 0.1}, **QUICK),
        "three": evaluate(Y, three, Problem.zero_one(3), clusters=np.arange(N) // 5, **QUICK),
    }


@pytest.fixture(scope="module")
def made() -> dict[str, Report]:
    return reports()


@pytest.mark.slow
def test_every_kind_of_report_keeps_to_the_schema(made):
    validator = jsonschema.Draft202012Validator(report_schema(closed=True))
    jsonschema.Draft202012Validator.check_schema(report_schema())
    for name, report in made.items():
        errors = [e.message for e in validator.iter_errors(json.loads(report.to_json()))]
        assert not errors, (name, errors[:3])


@pytest.mark.slow
def test_the_schema_refuses_what_is_no_report(made):
    data = json.loads(made["baseline"].to_json())
    validator = jsonschema.Draft202012Validator(report_schema())
    spoils: list[dict[str, Any]] = [
        {"schema": "stakes-report/1"},
        {"verdict": None},
        {"baseline": {}},
        {"systems": [{}]},
        {"perfect_cost": "none"},
    ]
    for spoil in spoils:
        assert not validator.is_valid({**data, **spoil}), spoil
    assert validator.is_valid({**data, "later": 1})
    assert not jsonschema.Draft202012Validator(report_schema(closed=True)).is_valid(
        {**data, "later": 1}
    )


@pytest.mark.slow
def test_what_changed_names_problem_verdict_costs_systems_and_caveats(made):
    old = made["baseline"]
    other = replace(
        old,
        problem=old.problem.with_prior([0.5, 0.5]),
        verdict=replace(old.verdict, cheapest=None),
        systems=old.systems[1:],
        caveats=(),
    )
    changes = changes_between(old, other)
    assert changes.problem == ("prior: shares of the cases before, [0.5, 0.5] now",)
    assert changes.verdicts == (old.verdict.cheapest, None)
    assert changes.gone == (old.systems[0].name,)
    assert changes.added == ()
    assert [one.system for one in changes.costs] == [one.name for one in old.systems[1:]]
    first: Any = changes.costs[0]
    assert first.difference.value == 0
    assert first.difference.low < 0 < first.difference.high
    assert changes.caveats_gone == tuple(dict.fromkeys(one.kind for one in old.caveats))
    level = replace(other, assumptions=replace(old.assumptions, level=0.9))
    assert changes_between(old, level).costs[0].difference is None
