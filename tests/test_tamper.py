"""Reports, rules and maps that somebody changed are refused, or can be used to the end."""

from __future__ import annotations

import json

import pytest

from report_kinds import KINDS, report_of
from stakes import InputError, Report
from tamper import documents, run


@pytest.mark.slow
def test_documents_that_nobody_changed_can_be_used():
    for _, data, use in documents():
        use(data)


LARGE = pytest.param(500, tuple(KINDS), marks=pytest.mark.slow)


@pytest.mark.parametrize(("mutants", "kinds"), [(20, ("baseline",)), LARGE])
def test_changed_reports_rules_and_maps_are_refused_or_harmless(mutants, kinds):
    fates, leaks = run(mutants, 0, kinds)
    assert leaks == []
    assert fates["refused"] > 0.4 * mutants


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("verdict.sentences", "x", r"report\.verdict\.sentences must be a list; got str 'x'"),
        ("systems.0.candidate", 1, r"systems\[0\]\.candidate must be true or false; got int 1"),
        ("systems.0.cost.low", "1", r"systems\[0\]\.cost\.low must be a number; got str '1'"),
        ("systems.0.cost.low", 10**400, r"systems\[0\]\.cost\.low must be a number; got int 1000"),
        ("systems.0.name", "\ud800", r"systems\[0\]\.name must be text that can be written as UTF"),
        ("systems.0.counts.values", [[1, 2], [3]], "values must be numbers of one shape"),
        ("systems.0.counts.values", [[1, -2], [3, 4]], "values must hold numbers that are zero or"),
        ("systems.0.counts.values", [[1, 2, 3]] * 2, r"systems\[0\]\.counts: decisions must"),
        ("assumptions.seed", 2**70, r"assumptions\.seed must be a whole number below 2\^63"),
        ("assumptions.level", 2, "assumptions must have a level between 0 and 1"),
        ("assumptions.prior.0", 1.7, "assumptions.prior must hold shares that add up to one"),
        ("systems.0.cost.low", 1e9, "the cost of .* must lie in its interval"),
        ("systems.0.probability_cheapest", -1, "probability_cheapest of .* must lie between 0 and"),
        ("naive.decision", [1], r"naive\.decision must be a label; got list \[1\]"),
        ("verdict.runner_up", "nobody", "verdict must name what the report holds; 'nobody' is"),
        ("systems", [], "systems must be one or more"),
        ("rules", {"x": 5}, "rules must be an object; got int 5"),
        ("joint.sources.0.model", "nobody", "joint.sources must name what the report holds"),
        ("joint.sources.1.system", "nobody", "joint.sources must name what the report holds"),
        ("joint.sources.1.system", None, "joint.sources must have bins whose ends grow up to"),
        ("joint.sources.0.ends", [3, 2, 1], "joint.sources must have bins whose ends grow up to"),
        ("joint.pairs", [], "joint.pairs must be 1, one for each pair"),
        ("joint.pairs.0.weights", [1.0], "joint.pairs must have a weight for each of its places"),
        ("joint.pairs.0.places.0", -1, "joint.pairs must have places from 0 to"),
        ("joint.pairs.0.places.0", 10**6, "joint.pairs must have places from 0 to"),
        ("joint.pairs.0.weights.0", -1, "joint.pairs must have weights that are finite"),
        ("joint.fitting", [[0.0]], "joint.fitting must hold finite covariances of the systems"),
    ],
)
def test_a_changed_report_is_refused_with_the_place_the_rule_and_the_evidence(path, value, message):
    data = json.loads(report_of("baseline").to_json())
    *parents, last = [int(key) if key.isdigit() else key for key in path.split(".")]
    parent = data
    for key in parents:
        parent = parent[key]
    parent[last] = value
    with pytest.raises(InputError, match=message):
        Report.from_json(json.dumps(data))


def test_a_report_whose_rules_have_other_costs_is_refused():
    data = json.loads(report_of("baseline").to_json())
    rule = next(iter(data["rules"].values()))
    rule["problem"]["costs"][1][1] += 9
    with pytest.raises(InputError, match="rules must have the costs of the problem; that of"):
        Report.from_json(json.dumps(data))


def test_a_number_of_too_many_digits_is_no_report():
    with pytest.raises(InputError, match=r"^text must be the JSON of a report; it is not"):
        Report.from_json('{"schema": ' + "9" * 6000 + "}")
