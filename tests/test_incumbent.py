"""The incumbent: differences of every system to a baseline, and what gates make of them."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import chi2

import stakes
from report_kinds import report_of
from stakes import Decisions, InputError, Limit, Problem, Report
from stakes.evaluation.verdict import (
    Allowance,
    Incumbent,
    compared,
    problem_differences,
    unpaired,
)
from stakes.inference import Measured, difference_support, profile_bounds
from stakes.limits import LimitCheck
from stakes.render.system_tables import _caveat, _in_brief, brief_sections
from stakes.report._systems import compared_system
from stakes.tally import JointCounts
from tamper import sealed_again

COSTS = np.array([[0.0, 3.0, 25.0], [180.0, 8.0, 0.0]])
PROBLEM = Problem(COSTS, unit="EUR")
evaluate: Any = stakes.evaluate  # whose optional parts are known to be there
QUICK: Any = {"calibrator": None, "replicates": 20}


def cases(n: int = 400, seed: int = 0) -> tuple[np.ndarray, dict[str, Any]]:
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < 0.15).astype(int)
    signal = rng.normal(4.0 * y - 2, 1.2)
    noisy = signal + rng.normal(0, 0.8, n)
    rule = Decisions(np.digitize(noisy, [-0.5, 1.6]))
    return y, {"old": rule, "new": 1 / (1 + np.exp(1.7 - 2.8 * signal))}


Y, MODELS = cases()


@pytest.fixture(scope="module")
def report() -> Report:
    return evaluate(Y, MODELS, PROBLEM, baseline="old", margin="2%", **QUICK)


# One pair, from its definition -------------------------------------------------------------------


def upper_end(counts: np.ndarray, values: np.ndarray, most: float) -> float:
    """The greatest mean whose likelihood ratio is within χ², a pseudo-case at the most; loops."""
    cases = list(zip(counts, values, strict=True))
    mean = sum(a * b for a, b in cases) / sum(counts)
    alike = sum(a * ((b - mean) / (most - mean)) ** 2 for a, b in cases)
    n = [*(float(count) for count in counts), 0.4 / (1 + alike**2 / 5)]
    v = [*(float(value) for value in values), most]
    seen = [(a, b) for a, b in zip(n, v, strict=True) if a > 0]

    def ratio(mean: float) -> float:
        """max over t of 2 Σ n log(1 − t (v − mean)), for means above the estimate."""
        steepest = 1 / (most - mean)

        def slope(t: float) -> float:
            return sum(-a * (b - mean) / (1 - t * (b - mean)) for a, b in seen)

        t = brentq(slope, 0.0, steepest * (1 - 1e-12))
        return 2 * sum(a * np.log1p(-t * (b - mean)) for a, b in seen)

    start = sum(a * b for a, b in seen) / sum(a for a, _ in seen)
    return float(brentq(lambda mean: ratio(mean) - chi2.ppf(0.95, 1), start + 1e-9, most - 1e-9))


@pytest.mark.parametrize("factor", [1.0, 1.02, 0.5])
def test_the_interval_of_a_contrast_is_the_profile_of_its_own_values(factor):
    rng, costs = np.random.default_rng(1), np.array([[1.0, 3.0, 25.0], [180.0, 8.0, 2.0]])
    y, first, second = rng.integers(0, 2, 80), rng.integers(0, 3, 80), rng.integers(0, 3, 80)
    problem = Problem(costs)
    joint = JointCounts.from_decisions(y, {"new": first, "old": second}, problem)
    support = difference_support(joint, problem, [(0, 1)], factor=factor).of_quantity(0)
    low, high = profile_bounds(support, np.array(chi2.ppf(0.95, 1)))
    values = costs[y, first] - factor * costs[y, second]
    most = max(costs[k].max() - factor * costs[k].min() for k in (0, 1))
    least = min(costs[k].min() - factor * costs[k].max() for k in (0, 1))
    assert high == pytest.approx(upper_end(np.ones(80), values, most), rel=1e-6)
    assert low == pytest.approx(-upper_end(np.ones(80), -values, -least), rel=1e-6)


@pytest.mark.slow
def test_a_contrast_of_every_case_s_own_costs_is_that_of_the_table_where_costs_are_alike(report):
    columns = Problem([[0, "3*one", "25*one"], ["180*one", "8*one", 0]], unit="EUR")
    data = {"one": np.ones(len(Y))}
    by_case = evaluate(Y, MODELS, columns, data=data, baseline="old", margin="2%", **QUICK)
    for name in ("difference", "beyond_margin"):
        table, each = (getattr(source.system("new (as is)"), name) for source in (report, by_case))
        assert each.value == pytest.approx(table.value)
        assert each.high == pytest.approx(table.high, rel=0.05)  # what may come is guessed there
        assert each.low == pytest.approx(table.low, rel=0.05)


# Differences in a report -------------------------------------------------------------------------


def test_every_system_has_its_paired_difference_to_the_baseline(report):
    new, old = report.system("new (as is)"), report.system("old")
    assert report.baseline.system == old.name == "old (as decided)"
    assert report.baseline.paired
    assert new.difference.value == pytest.approx(new.cost.value - old.cost.value)
    assert new.difference.low < new.difference.value < new.difference.high
    assert old.difference == Measured(0.0, 0.0, 0.0)
    assert new.beyond_margin.value == pytest.approx(new.cost.value - 1.02 * old.cost.value)
    unpaired_width = np.hypot(new.cost.high - new.cost.low, old.cost.high - old.cost.low)
    assert new.difference.high - new.difference.low < unpaired_width


def test_a_third_model_changes_no_comparison_of_the_first_two(report):
    third = np.random.default_rng(5).random(len(Y))
    more = evaluate(Y, {"a": third, **MODELS}, PROBLEM, baseline="old", margin="2%", **QUICK)
    for system in report.systems:
        assert more.system(system.name).difference == system.difference
        assert more.system(system.name).beyond_margin == system.beyond_margin


@pytest.mark.slow
@pytest.mark.parametrize("extra", ["weights", "clusters", "prior", "running"])
def test_differences_follow_the_design_and_the_stated_prior(report, extra):
    rng, problem = np.random.default_rng(2), PROBLEM
    design: dict[str, Any] = {}
    if extra == "weights":
        design = {"weights": rng.uniform(0.2, 3, len(Y))}
    elif extra == "clusters":
        design = {"clusters": np.arange(len(Y)) // 20}
    elif extra == "prior":
        problem = PROBLEM.with_prior([0.95, 0.05])
    else:
        design = {"running_costs": {"new": 0.5}}
    other = evaluate(Y, MODELS, problem, baseline="old", margin="2%", **design, **QUICK)
    new, old = other.system("new (as is)"), other.system("old")
    plain = report.system("new (as is)").difference
    assert new.difference.value == pytest.approx(new.cost.value - old.cost.value)
    assert new.beyond_margin.value == pytest.approx(new.cost.value - 1.02 * old.cost.value)
    if extra == "running":
        assert new.difference.high == pytest.approx(plain.high + 0.5)
    else:
        assert (new.difference.low, new.difference.high) != (plain.low, plain.high)


def test_costs_that_all_decisions_share_move_no_difference_but_a_share_of_them(report):
    shifted = Problem(COSTS + 100, unit="EUR")
    other = evaluate(Y, MODELS, shifted, baseline="old", margin="2%", **QUICK)
    new, was = other.system("new (as is)"), report.system("new (as is)")
    assert new.difference.high == pytest.approx(was.difference.high)
    assert new.beyond_margin.high == pytest.approx(was.beyond_margin.high - 2.0, abs=1e-6)


def test_an_earlier_report_is_an_unpaired_baseline_and_says_so(report):
    y, models = cases(300, 9)
    later = evaluate(y, models["new"], PROBLEM, baseline=report, **QUICK)
    (system,) = later.systems
    assert not later.baseline.paired
    kept = report.system(report.verdict.keep).cost  # of what the earlier report leaves in place
    assert later.baseline.cost == kept
    assert system.difference == unpaired(system.cost, kept)
    assert "unpaired" in later.baseline.sentences[0]
    assert later.compared("model").name == "model (as is)"
    assert later.verdict.difference == unpaired(later.verdict.cost, kept)


def test_unpaired_ends_are_those_of_normal_errors_where_intervals_are_symmetric():
    rng = np.random.default_rng(3)
    draws = rng.normal(5, 2, 400_000) - 1.5 * rng.normal(3, 1, 400_000)
    z = 1.959964
    interval = unpaired(Measured(5, 5 - 2 * z, 5 + 2 * z), Measured(3, 3 - z, 3 + z), 1.5)
    assert np.quantile(draws, [0.025, 0.975]) == pytest.approx(
        [interval.low, interval.high], abs=0.02
    )


# Gates -------------------------------------------------------------------------------------------


def with_ends(report: Report, name: str, **ends: Any) -> Report:
    systems = tuple(replace(s, **ends) if s.name == name else s for s in report.systems)
    return replace(report, systems=systems)


def test_gates_ask_for_the_upper_ends(report):
    name = "new (as is)"
    for high, better, no_worse in ((-0.1, True, True), (0.0, False, True), (0.1, False, False)):
        ends = dict.fromkeys(("difference", "beyond_margin"), Measured(-1.0, -2.0, high))
        changed = with_ends(report, name, **ends)
        assert (changed.is_better(name), changed.is_no_worse("new")) == (better, no_worse)
        # Without a name it is the verdict that is judged, by what allows for the choice.
        deployed = replace(report.verdict, deploy=report.system(name), keep=None, **ends)
        judged = replace(report, verdict=deployed)
        assert (judged.is_better(), judged.is_no_worse()) == (better, no_worse)


def test_a_verdict_that_deploys_nothing_passes_no_gate(report):
    tried = replace(report.verdict, deploy=None, doubt="not yet shown to pay")
    kept = replace(report.verdict, deploy=None, cheapest=None, keep=report.baseline.system)
    for verdict in (tried, kept):
        changed = replace(report, verdict=verdict)
        assert (changed.is_better(), changed.is_no_worse()) == (False, False)


@pytest.mark.parametrize("candidate", [False, True])  # where all systems break it, all may win
def test_a_system_that_breaks_a_limit_is_judged_and_passes_no_gate(report, candidate):
    name, far = "new (as is)", Measured(-1.0, -2.0, -0.5)
    broken = LimitCheck(Limit.share(1, at_most=0.05), 0.2, 0.1, 0.3)
    for check, passes in ((broken, False), (replace(broken, value=0.04, low=0.02), True)):
        ends: Any = {"difference": far, "beyond_margin": far, "limits": (check,)}
        changed = with_ends(report, name, candidate=candidate or passes, **ends)
        assert changed.system(name).breaks_limit is not passes
        assert (changed.is_better(name), changed.is_no_worse("new")) == (passes, passes)


@pytest.mark.slow
def test_a_model_is_judged_by_the_rule_of_the_baseline_or_else_as_it_is(report):
    assert report.compared("new").name == "new (as is)"
    models = {"a": MODELS["new"], "b": MODELS["new"] ** 2, "c": MODELS["old"]}
    shifted = PROBLEM.with_prior([0.95, 0.05])  # so that there are moved posteriors, too
    expected = {
        "a": ["b (as is)", "c (as decided)"],
        "a (moved)": ["b (moved)", "c (as decided)"],
        "c": ["a (as is)", "b (as is)"],
    }
    moved_report = evaluate(Y, models, shifted, **QUICK, baseline="a")
    assert moved_report.baseline is not None
    for name, others in expected.items():
        system = moved_report.system(name) if "(" in name else named(moved_report, name)
        moved = replace(
            moved_report.baseline, system=system.name, model=system.model, rule=system.rule
        )
        renamed = replace(moved_report, baseline=moved)
        assert [renamed.compared(other.split()[0]).name for other in others] == others


def named(report: Report, model: str) -> Any:
    return next(system for system in report.systems if system.model == model)


@pytest.mark.slow
def test_a_model_as_baseline_is_taken_as_it_is_and_a_system_by_its_name(report):
    assert report.baseline.rule == "as decided"
    y, models = cases(200, 4)
    prior = PROBLEM.with_prior([0.95, 0.05])
    moved_baseline = evaluate(y, models, prior, baseline="new (moved)", **QUICK)
    assert moved_baseline.baseline is not None
    assert moved_baseline.baseline.system == "new (moved)"
    assert moved_baseline.system("new (moved)").difference == Measured(0.0, 0.0, 0.0)


def test_an_unknown_baseline_a_bad_margin_and_a_gate_without_baseline_are_refused(report):
    none = replace(report, verdict=replace(report.verdict, keep=None))
    other = replace(report, problem=Problem(COSTS + np.eye(3)[[1, 2]] * [[1], [0]], unit="EUR"))
    refused: dict[str, dict[str, Any]] = {
        "baseline must be the name of a model .* got 'odl'. Write one of the models 'old', 'new'": {
            "baseline": "odl"
        },
        "margin must be an amount per case, .* got '-1%'": {"baseline": "old", "margin": "-1%"},
        "margin must be an amount per case, .* got 'two'": {"baseline": "old", "margin": "two"},
        "margin must come with a baseline; got 0.1 alone. Name": {"margin": 0.1},
        "same problem; .* cost of 1 for 0: 4 before, 3 now": {"baseline": other},
        "same level; its level is 0.95, and 0.9 was": {"baseline": report, "level": 0.9},
        "deploys a system; this one deploys none": {"baseline": none},
        "an earlier report; got ndarray": {"baseline": MODELS["new"]},
    }
    for message, arguments in refused.items():
        with pytest.raises(InputError, match=message) as caught:
            evaluate(Y, MODELS, PROBLEM, **arguments, **QUICK)
        assert caught.value.argument in arguments
    with pytest.raises(InputError, match="baseline must be named before"):
        replace(report, baseline=None).is_better()
    with pytest.raises(InputError, match=r"another than the baseline, old .as decided.; it is the"):
        report.is_no_worse("old")
    single = {"new": MODELS["new"]}
    alone = evaluate(Y, single, PROBLEM, baseline="new (as is)", **QUICK)
    assert alone.verdict.heading == "Keep new (as is)"
    assert not alone.is_better()


def test_a_model_is_judged_by_the_rule_of_the_baseline_or_by_its_simplest_one():
    def system(model: str, rule: str, **parts: Any) -> Any:
        plain = {"candidate": True, "breaks_limit": False}
        name = f"{model} ({rule})"
        return SimpleNamespace(name=name, model=model, rule=rule, **{**plain, **parts})

    unfit, broken = {"candidate": False}, {"candidate": False, "breaks_limit": True}
    systems = [
        *(system("old", "as is"), system("old", "moved")),
        *(system("a", "moved", **unfit), system("a", "tuned"), system("a", "as is")),
        *(system("b", "as is"), system("b", "moved"), system("b", "tuned")),
        *(system("c", "as is", **unfit), system("c", "moved", **unfit)),
        *(
            system("d", "as is", **unfit),
            system("d", "moved", **broken),
            system("d", "t", **broken),
        ),
    ]
    baseline: Any = SimpleNamespace(paired=True, model="old", rule="moved")
    judged = [compared_system(model, systems, baseline) for model in "abcd"]
    rules = [None if each is None else each.rule for each in judged]
    assert rules == ["tuned", "moved", "as is", "as is"]


@pytest.mark.slow
def test_a_share_of_a_gain_is_no_margin():
    gains = Problem(COSTS - 200)
    with pytest.raises(InputError, match="margin must be an amount per case, because old"):
        evaluate(Y, MODELS, gains, baseline="old", margin="2%", **QUICK)


def test_a_share_of_nothing_is_no_margin():
    costs: Any = SimpleNamespace(cost=lambda _: Measured(0.0, 0.0, 1.0))
    rules: Any = {"old": SimpleNamespace(model="old", name="as decided")}
    with pytest.raises(InputError, match="because old costs 0 per case"):
        compared((), costs, Incumbent("old", Allowance(0.02, True)), rules)


def test_problems_that_differ_are_described_in_words():
    other = PROBLEM.with_prior([0.9, 0.1])
    assert problem_differences(PROBLEM, PROBLEM) == ()
    assert problem_differences(PROBLEM, other) == (
        "prior: shares of the cases before, [0.9, 0.1] now",
    )
    assert problem_differences(PROBLEM, Problem.zero_one(3))[0].startswith("classes: (0, 1) before")
    limited = PROBLEM.with_limits([Limit.share(1, at_most=0.05)])
    assert problem_differences(PROBLEM, limited) == (
        "limits: none before, 1: at most 5 % of cases now",
    )


# Renderings --------------------------------------------------------------------------------------


def test_text_markdown_and_json_carry_the_comparison(report):
    text = report.to_text()
    part = text[text.index("Against the baseline") :]
    assert "new (as is)" in part
    assert "not adjusted for the number of" in " ".join(part.split())
    assert re.search(r"no worse\n", part)
    assert "## Against the baseline" in report.to_markdown()
    assert Report.from_json(report.to_json()) == report


def test_a_report_without_the_new_fields_can_still_be_read(report):
    data = json.loads(report.to_json())
    del data["baseline"], data["verdict"]["keep"]
    for system in (*data["systems"], data["verdict"]["deploy"]):
        if system is not None:
            del system["difference"], system["beyond_margin"]
    old = Report.from_json(sealed_again(data))
    assert old.baseline is None
    assert old.systems[0].difference is None
    assert "Against" not in old.to_text()[old.to_text().index("Cost of each") :]


def test_a_brief_markdown_has_at_most_ten_lines(report):
    lines = [line for line in report.to_markdown(brief=True).splitlines() if line]
    assert len(lines) <= 10
    assert lines[0] == "### Keep old (as decided)"
    assert any("difference to old" in line for line in lines)
    assert any("baseline" in line and line.startswith("| old") for line in lines)
    plain = replace(report, baseline=None).to_markdown(brief=True)
    assert "difference" not in plain
    assert stakes.__version__ in plain


@pytest.mark.parametrize(
    ("n_caveats", "end"), [(1, "first"), (2, "(1 more caveat in the report.)"), (4, "(3 more c")]
)
def test_of_several_caveats_one_is_shown_and_the_others_are_counted(n_caveats, end):
    caveats = [SimpleNamespace(kind="kind", text=text) for text in ("first", *"xyz")][:n_caveats]
    report: Any = SimpleNamespace(caveats=caveats)
    (shown,) = _caveat(report)
    assert shown.startswith("kind: first")
    assert end in shown
    assert ("more" in shown) == (n_caveats > 1)


def test_the_brief_shows_costs_and_then_their_bounds():
    report = report_of("baseline")
    (first, *_), system = brief_sections(report)[2].rows, _in_brief(report)[0]
    assert first[0] == system.name
    assert float(first[1].replace("−", "-").replace(",", "")) == pytest.approx(
        system.cost.value, rel=0.05
    )
