"""Reports, rules and maps that somebody changed are refused, or can be used to the end."""

from __future__ import annotations

import json

import numpy as np
import pytest

from report_kinds import KINDS, report_of
from stakes import InputError, Problem, Report, evaluate
from tamper import documents, run


@pytest.mark.slow
def test_documents_that_nobody_changed_can_be_used():
    for _, data, use in documents():
        use(json.dumps(data))


LARGE = pytest.param(500, tuple(KINDS), marks=pytest.mark.slow)


@pytest.mark.parametrize(("mutants", "kinds"), [(20, ("baseline",)), LARGE])
def test_changed_reports_rules_and_maps_are_refused_or_harmless(mutants, kinds):
    pytest.importorskip("jinja2", reason="what is not refused is shown as a page")
    fates, leaks, _ = run(mutants, 0, kinds)
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
        ("systems.0.cost.low", 1e9, r"systems\[0\]\.cost must lie in its interval"),
        ("systems.0.probability_cheapest", -1, "probability_cheapest must be between 0 and 1, not"),
        ("models.0.n_recalibrated", -3, "n_recalibrated must be zero or more, not -3"),
        ("assumptions.n_rows", -150, "n_rows must be one or more"),
        ("assumptions.n_cases", 151, "counts of .* must add up to assumptions.n_cases"),
        ("systems.0.counts.values.0.0", 99, "counts of .* must add up to"),
        ("systems.0.running_cost", 0.01, "the cost of .* must be that of its counts"),
        ("systems.0.normalized.value", 0.5, "normalized of .* must be its cost in units of naive"),
        ("problem.costs.1.0", 10, "the costs of the problem|the cost of"),
        ("naive.cost", 0.8, "normalized of|naive.cost must be that of the cheapest constant"),
        ("naive.decision", 0, "naive must name the cheapest constant decision; 0 costs more"),
        ("perfect_cost", 0.1, "normalized of|perfect_cost must be that of the cheapest decision"),
        ("verdict.deploy.cost.low", 0.0, "verdict.deploy must be one of the systems; .* differs"),
        ("verdict.cheapest", "old (as decided)", "must be those of verdict.deploy"),
        ("systems.1.difference.value", -1.4, "difference of .* must be its cost less"),
        ("systems.1.threshold", 0.5, "rules must have the thresholds of their systems"),
        ("models.0.auc.value", 0.925, "auc of 'new' must be that of its scores"),
        ("models.0.n_scores", 3, "models must have as many scores as their tables"),
        ("models.0.class_bins", 10**9, r"class_bins of 'new' must hold sums of shape \(2, 10, 3\)"),
        ("models.0.class_bins", [[[-1.0] * 3] * 10] * 2, "class_bins of 'new' must hold sums"),
        ("models.0.recalibrated_bins", 1.0, "recalibrated_bins of 'new' must hold sums"),
        ("picks", [], "picks must be those of the metrics of the disagreement, one for each"),
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
        ("joint.pairs.0.weights.0", 1e30, "joint.pairs must have weights that add up to"),
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


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda data: data["verdict"].update(reason="It is cheap."), "changed since"),
        (lambda data: data["systems"][1].update(told_apart=True), "changed since"),
        (lambda data: data["assumptions"].update(level=0.9), "changed since"),
        (lambda data: data["caveats"].append({"kind": "x", "text": "y"}), "caveats|changed since"),
        (lambda data: data.update(later=1), "changed since"),
        (lambda data: data.update(checksum="0"), "changed since"),
        (lambda data: data.pop("checksum"), "changed since"),
        (lambda data: data.update(schema="stakes-report/2"), "its schema is 'stakes-report/2'"),
    ],
)
def test_what_cannot_be_worked_out_again_is_sealed(change, message):
    data = json.loads(report_of("baseline").to_json())
    assert Report.from_json(json.dumps(data, indent=1)) == report_of("baseline")
    change(data)
    with pytest.raises(InputError, match=message):
        Report.from_json(json.dumps(data))


def test_a_report_whose_rules_were_made_of_other_rows_is_refused():
    data = json.loads(report_of("baseline").to_json())
    next(iter(data["rules"].values()))["origin"]["n_rows"] += 1
    with pytest.raises(InputError, match="rules must be made of the rows of the report"):
        Report.from_json(json.dumps(data))


def test_a_total_that_is_not_the_cost_of_the_volume_is_refused():
    data = json.loads(report_of("slices").to_json())
    data["systems"][0]["total"]["value"] *= 1.01
    with pytest.raises(InputError, match=r"total of .* must be its cost times the volume"):
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


@pytest.mark.parametrize("seed", range(4))
def test_what_is_written_is_read_although_a_bound_was_rounded_past_its_number(seed):
    """Decisions without a mistake save what an interval ends with, to the last bit or beyond."""
    y = np.random.default_rng(seed).integers(0, 2, 40)
    gains = Problem([[5, -3, -2], [-1, 3, 4]], prior=[0.289, 0.711])
    perfect = evaluate(y, {"m": np.eye(2)[y]}, gains, calibrator=None)
    assert perfect.verdict.saving_over_naive.value > perfect.verdict.saving_over_naive.high
    assert Report.from_json(perfect.to_json()) == perfect
    costs = Problem([[2, 1.3], [3.7, 0.2]], prior=[0.63, 0.37])
    report = evaluate(y, {"m": np.zeros(40, dtype=int)}, costs, running_costs={"m": 0.02})
    assert Report.from_json(report.to_json()) == report


def test_a_report_of_perfect_scores_with_fractional_weights_is_read_again():
    """The pairs in order would weigh a little more than all pairs."""
    rng = np.random.default_rng(9)
    y, weights = rng.integers(0, 2, 40), rng.random(40) + 0.1
    scores = 0.1 + 0.8 * y + 0.05 * np.arange(40) / 40
    report = evaluate(y, {"m": scores}, Problem.zero_one(2), weights=weights, calibrator=None)
    assert report.models[0].auc is not None
    assert report.models[0].auc.value == 1.0
    assert Report.from_json(report.to_json()) == report


def test_a_report_is_read_again_where_perfect_decisions_save_next_to_nothing():
    problem = Problem([[0, 1e-9, 2], [2, -3, 1e-9]], prior=[0.01981253, 0.98018747])
    report = evaluate([0, 1], {"m": [2, 2]}, problem, calibrator=None)
    assert report.systems[0].normalized.value > 1e10
    assert Report.from_json(report.to_json()) == report
