"""The JSON of every kind of report keeps to its schema; what changed between two is said."""

from __future__ import annotations

import json
from dataclasses import replace
from math import inf
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("jsonschema")

import jsonschema
import numpy as np

from report_kinds import KINDS, report_of
from same_numbers import AGREE, differences
from stakes import Report
from stakes.evaluation import changes_between
from stakes.render import report_schema
from stakes.report._consistency import _faults, _pair_faults


@pytest.fixture(scope="module")
def reports() -> dict[str, Report]:
    return {kind: report_of(kind) for kind in KINDS}


@pytest.mark.slow
def test_every_kind_of_report_keeps_to_the_schema(reports):
    validator = jsonschema.Draft202012Validator(report_schema(closed=True))
    jsonschema.Draft202012Validator.check_schema(report_schema())
    for name, report in reports.items():
        errors = [e.message for e in validator.iter_errors(json.loads(report.to_json()))]
        assert not errors, (name, errors[:3])


@pytest.mark.slow
def test_the_schema_refuses_what_is_no_report(reports):
    data = json.loads(reports["baseline"].to_json())
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
def test_what_changed_names_problem_verdict_costs_systems_and_caveats(reports):
    old = reports["baseline"]
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
    assert [change.system for change in changes.costs] == [
        system.name for system in old.systems[1:]
    ]
    first: Any = changes.costs[0]
    assert first.difference.value == 0
    assert first.difference.low < 0 < first.difference.high
    assert changes.caveats_gone == tuple(dict.fromkeys(caveat.kind for caveat in old.caveats))
    level = replace(other, assumptions=replace(old.assumptions, level=0.9))
    assert changes_between(old, level).costs[0].difference is None


@pytest.mark.slow
def test_the_schema_bounds_shares_and_numbers_of_things():
    data = json.loads(report_of("baseline").to_json())
    validator = jsonschema.Draft202012Validator(report_schema())
    data["systems"][0]["probability_cheapest"] = 1.5
    data["assumptions"]["n_rows"] = -1
    faults = [list(fault.path) for fault in validator.iter_errors(data)]
    assert ["assumptions", "n_rows"] in faults
    assert ["systems", 0, "probability_cheapest"] in faults


def test_pairs_of_a_report_may_have_fractional_weights():
    def faults(weights: list[float]) -> list[str]:
        pair: Any = SimpleNamespace(places=np.array([0, 3]), weights=np.array(weights))
        return list(_pair_faults(pair, 4))

    assert faults([0.25, 0.0]) == []
    assert "not negative" in faults([0.25, -0.1])[0]


@pytest.mark.parametrize("prior", [(0.5, 0.6), (1.1, -0.1), (1.0,)])
def test_the_prior_of_a_report_has_shares_that_add_up_to_one(prior):
    report = report_of("baseline")
    other = replace(report, assumptions=replace(report.assumptions, prior=prior))
    assert not any("assumptions.prior" in fault for fault in _faults(report))
    assert any("assumptions.prior must h" in fault for fault in _faults(other))


def test_the_script_that_compares_pythons_sees_a_number_a_word_and_a_missing_part():
    old = {"cost": [0.25, 1], "checksum": "a", "deploy": "net"}
    assert list(differences(old, {**old, "checksum": "b"})) == []
    near = list(differences(old, {**old, "cost": [0.2500001, 1]}))
    assert [(gap > AGREE, where.split(":")[0]) for gap, where in near] == [(True, ".cost[0]")]
    for other in ({"deploy": "tree"}, {"cost": [0.25]}, {"more": 1}, {"cost": None}):
        assert [gap for gap, _ in differences(old, {**old, **other})] == [inf]
