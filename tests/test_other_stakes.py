"""A report under other stakes: what it says is what evaluating again says, or less sure."""

from dataclasses import replace
from itertools import combinations
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from report_kinds import report_of
from stakes import (
    Counts,
    Decisions,
    InputError,
    JointCounts,
    Problem,
    Report,
    ScoreTable,
    evaluate,
    expected_cost,
)
from stakes.decide import bayes_decision_indices, shift_prior
from stakes.evaluation.tally_rows import _key, shown_sums
from stakes.inference import contenders, profile_interval, with_blind
from stakes.inference.likelihood import profile_bounds
from stakes.report import Stakes
from stakes.report._flips import MovedCosts, _zones
from stakes.report._systems import cost_of

RNG = np.random.default_rng(4)
TRUTH = (RNG.random(600) < 0.3).astype(int)
SKILL = TRUTH * 1.6 + RNG.normal(size=600)
POSTERIORS = {
    name: 1 / (1 + np.exp(-(SKILL + noise * RNG.normal(size=600) - 1.6)))
    for name, noise in (("first", 0.2), ("second", 0.9), ("third", 2.5))
}
PROBLEM = Problem(
    [[0, 3, 9], [20, 5, 0]],
    classes=["well", "ill"],
    decisions=["wait", "test", "treat"],
    prior=[0.8, 0.2],
)
QUICK: dict[str, Any] = {"calibrator": None, "replicates": 10}


@pytest.fixture(scope="module")
def report() -> Report:
    truth = np.array(["well", "ill"])[TRUTH]
    clerk = Decisions(np.array(["wait", "test", "treat"])[np.digitize(SKILL, [0.9, 2.2])])
    return evaluate(truth, {**POSTERIORS, "clerk": clerk}, PROBLEM, **QUICK)


@pytest.fixture(scope="module")
def flips(report):
    return {decisions: report.flips(decisions) for decisions in ("remade", "kept")}


def decided(costs, prior):
    """Decisions by code of all systems, from the rows, in the order of the report."""
    problem = Problem(costs)
    shares = np.bincount(TRUTH) / TRUTH.size
    tables = {}
    for name, rows in POSTERIORS.items():
        tables[f"{name} (as is)"] = bayes_decision_indices(rows, problem)
        tables[f"{name} (moved)"] = bayes_decision_indices(
            shift_prior(rows, shares, prior), problem
        )
    return {**tables, "clerk (as decided)": np.digitize(SKILL, [0.9, 2.2])}


STAKES = [
    ([[0, 3, 9], [20, 5, 0]], [0.8, 0.2]),
    ([[0, 2, 9], [40, 4, 0]], [0.9, 0.1]),
    ([[0, 3, 4], [7, 5, 0]], [0.5, 0.5]),
    ([[-1, 3, 9], [20, 8, -2]], [0.97, 0.03]),
]


def test_at_its_own_stakes_a_report_says_what_it_says(report):
    there = Stakes(report).moved(PROBLEM.costs, None, kept=False)
    verdict = report.verdict
    assert there.contenders == verdict.contenders
    assert there.verdict == verdict.cheapest
    for interval, known in (
        (there.expected(there.cheapest), verdict.cost),
        (there.expected_saving(there.cheapest), verdict.saving_over_naive),
        *((there.cost(system.name), system.cost) for system in report.systems if system.candidate),
    ):
        first, second = ([bounds.value, bounds.low, bounds.high] for bounds in (interval, known))
        np.testing.assert_allclose(first, second, rtol=0, atol=1e-9)


@pytest.mark.parametrize(("costs", "prior"), STAKES)
def test_elsewhere_costs_are_those_of_the_rows_and_no_system_leaves_too_early(costs, prior, report):
    there = Stakes(report).moved(np.array(costs), np.array(prior), kept=False)
    problem = Problem(costs, prior=prior)
    joint = JointCounts.from_decisions(TRUTH, decided(costs, prior), problem)
    for name in map(str, joint.models):
        interval = profile_interval(joint.model(name), problem, reachable=there_able(there, name))
        cost = there.cost(name)
        np.testing.assert_allclose([cost.low, cost.high], [interval.low, interval.high], atol=1e-9)
    names = joint.models
    joint, reachable = with_blind(joint, problem)
    reachable[: len(names)] = [there_able(there, name) for name in names]
    exact = contenders(joint, problem, among=names, reachable=reachable)
    assert there.cheapest == exact.contenders[0]
    assert set(exact.contenders) <= set(there.contenders)
    assert len(there.contenders) <= len(exact.contenders) + 1


def there_able(there, name):
    return next(system.able for system in there.decided if system.name == name)


def test_kept_decisions_are_charged_other_costs(report):
    costs, prior = np.array([[0, 2, 9], [40.0, 4, 0]]), np.array([0.9, 0.1])
    there = Stakes(report).moved(costs, prior, kept=True)
    for system in report.systems:
        spent = 0.0
        for k in range(2):
            for d in range(3):
                counts = system.counts.values
                spent += prior[k] * counts[k, d] / counts[k].sum() * costs[k, d]
        assert there.cost(system.name).value == pytest.approx(spent, abs=1e-12)


@pytest.mark.parametrize("kept", [False, True])
def test_the_quick_look_agrees_with_the_whole_comparison(kept, report):
    stakes = Stakes(report)
    for costs, prior in STAKES:
        there = stakes.moved(np.array(costs), np.array(prior), kept=kept)
        names = [*(system.name for system in there.decided), there.unaided]
        assert [name for name in names if there.is_possible(name)] == [
            name for name in names if name in there.possible
        ]


@pytest.mark.slow
@pytest.mark.parametrize("decisions", ["remade", "kept"])
def test_at_a_flip_the_choice_is_out_and_just_before_it_is_not(decisions, report, flips):
    stakes, kept = Stakes(report), decisions == "kept"
    choice, n_flips = report.verdict.cheapest, 0
    for flip in flips[decisions]:
        assert flip.low >= 0 or np.isinf(flip.low)  # nobody stated gains
        for end, names in ((flip.low, flip.below), (flip.high, flip.above)):
            if np.isfinite(end):
                n_flips += 1
                # Decisions jump from case to case, so that the choice may flicker farther away.
                for part, stays in ((0.995, True), (1.0001, False)):
                    costs, prior = at(flip, flip.value + part * (end - flip.value))
                    there = stakes.moved(costs, prior, kept=kept)
                    assert (choice in there.possible) is stays
                assert there.possible == names
    assert n_flips >= 4
    assert [flip.what for flip in flips[decisions] if "prior" in flip.what] == ["prior of ill"]


def at(flip, value):
    costs = np.array(PROBLEM.costs)
    if flip.what == "prior of ill":
        return costs, np.array([1 - value, value])
    for k, label in enumerate(PROBLEM.classes):
        for d, decision in enumerate(PROBLEM.decisions):
            if flip.what == f"cost of {decision} for {label}":
                costs[k, d] = value
    return costs, None


@pytest.mark.slow
def test_kept_decisions_flip_at_the_clear_ends_of_the_margins(report, flips):
    margins = [(each.what, each.clear_low, each.clear_high) for each in report.margins]
    assert [(flip.what, flip.low, flip.high) for flip in flips["kept"]] == margins
    assert np.isfinite([ends for _, *ends in margins]).sum() >= 8


@pytest.mark.slow
def test_zones_name_all_that_may_be_the_cheapest(report):
    zones, stakes = report.zones(), Stakes(report)
    assert zones.axis == "prior of ill"
    assert [part.low for part in zones.parts[1:]] == [part.high for part in zones.parts[:-1]]
    for part in zones.parts:
        if part.high - part.low > 0.042:  # inside of narrow ones the set may flicker
            middle = (part.low + part.high) / 2
            there = stakes.moved(PROBLEM.costs, np.array([1 - middle, middle]), kept=False)
            assert set(there.possible) == set(part.cheapest)


def test_a_zone_between_two_neighbouring_points_is_found_with_both_its_borders():
    """Points are 0.025 apart: 0.9125 and 0.9375."""
    borders, names = (0.9164, 0.936), (("a",), ("a", "b"), ("b",))
    starts, cheapest = zip(*_zones(lambda x: names[np.searchsorted(borders, x)]), strict=True)
    assert cheapest == names
    np.testing.assert_allclose(starts, (0, *borders), atol=0.025 / 32)


def test_a_choice_that_flickers_between_two_points_ends_the_search_for_borders():
    def possible(x):
        return (f"{x:.6f}",) if 0.9125 < x < 0.9375 else ("a",) if x < 0.92 else ("b",)

    zones = list(_zones(possible))
    assert (zones[0][1], zones[-1][1]) == (("a",), ("b",))
    assert len(zones) == 2 + 3


def test_joint_bins_have_the_margins_of_the_tables_that_the_report_holds(report):
    joint = report.joint
    assert joint is not None
    pairs = list(combinations(range(len(joint.sources)), 2))
    scored = [i for i, source in enumerate(joint.sources) if source.system is None][:2]
    first, second = (joint.sources[i] for i in scored)
    pair = joint.pairs[pairs.index((scored[0], scored[1]))]
    table = next(model.table for model in report.models if model.model == first.model)
    assert table is not None
    cells = np.zeros(2 * first.ends.size * second.ends.size)
    cells[pair.places] = pair.weights
    sums = cells.reshape(2, first.ends.size, second.ends.size).sum(axis=2)
    starts = [0, *first.ends[:-1]]
    for b, (start, end) in enumerate(zip(starts, first.ends, strict=True)):
        for k in range(2):
            assert sums[k, b] == sum(table.weights[start:end, k])
    assert Report.from_json(report.to_json()) == report


def test_many_models_have_the_contenders_of_the_report_at_its_own_stakes():
    """Also those beyond the few sources that have many bins: all pairs are those of the rows."""
    rng = np.random.default_rng(3)
    truth = (rng.random(800) < 0.2).astype(int)
    odds = rng.normal(np.where(truth == 1, 1.2, -1.2), 1.5)
    noise = (0.2 + 0.08 * np.arange(30)[:, None]) * rng.normal(size=(30, 800))
    models = {f"{i}": 1 / (1 + np.exp(-odds - noise[i])) for i in range(30)}
    crowd = evaluate(truth, models, Problem.binary(false_alarm=1, miss=4), **QUICK)
    assert crowd.joint is not None
    assert len(crowd.joint.sources) == 30
    assert {source.ends.size for source in crowd.joint.sources[12:]} == {2}
    now = Stakes(crowd).moved(crowd.problem.costs, None, kept=False)
    assert set(now.contenders) == set(crowd.verdict.contenders)
    assert 1 < len(now.contenders) < 30
    few = replace(crowd.joint, sources=crowd.joint.sources[:12], pairs=pairs_of_first(crowd, 12))
    coarser = Stakes(replace(crowd, joint=few)).moved(crowd.problem.costs, None, kept=False)
    assert len(coarser.contenders) > len(now.contenders)  # as if the others were independent


def pairs_of_first(report: Report, size: int) -> tuple[Any, ...]:
    assert report.joint is not None
    places = combinations(range(len(report.joint.sources)), 2)
    listed = zip(places, report.joint.pairs, strict=True)
    return tuple(pair for (_, second), pair in listed if second < size)


def test_reports_on_clusters_have_no_joint_bins_and_say_why():
    report = evaluate(TRUTH, POSTERIORS, Problem.zero_one(2), clusters=np.arange(600) // 3, **QUICK)
    assert report.joint is None
    with pytest.raises(InputError, match=r"must hold joint bins.*no clusters.*Evaluate again"):
        report.flips()


def test_an_unknown_reading_is_refused(report):
    with pytest.raises(InputError, match=r"decisions must be 'remade'.*got 'anew'"):
        report.flips("anew")


def test_who_cannot_be_told_from_a_blind_cheapest_system_may_be_the_cheapest():
    """Near a prior of one the moved posteriors decide blindly; those as they came, nearly so."""
    rng = np.random.default_rng(7)
    y = (rng.random(120) < 0.35).astype(int)
    rows = np.clip(np.round(0.35 + 0.3 * (y - 0.35) + rng.normal(0, 0.2, 120), 1), 0.1, 0.9)
    problem = Problem.binary(false_alarm=1, miss=4, decisions=["skip", "act"])
    stakes = Stakes(evaluate(y, {"a": rows}, problem, **QUICK))
    near = stakes.moved(problem.costs, np.array([0.24, 0.76]), kept=False)
    assert near.cheapest == "a (moved)"
    saving = near.expected_saving(near.cheapest)
    assert saving.value == saving.high == 0
    assert near.possible == ("a (as is)", "always act")
    certain = stakes.moved(problem.costs, np.array([1e-9, 1 - 1e-9]), kept=False)
    for there in (near, certain, stakes.moved(problem.costs, np.array([0.98, 0.02]), kept=False)):
        for name in ("a (as is)", "a (moved)", "always skip", "always act"):
            assert there.is_possible(name) == (name in there.possible)
    assert certain.possible == ("always act",)  # a miss can only cost more


def test_the_test_of_two_costs_is_the_inverse_of_the_interval_of_their_difference(
    monkeypatch, report
):
    """With what fitting adds to the variance, which matters where the estimate is wrong."""
    monkeypatch.setattr(MovedCosts, "_fitting", lambda self, names: np.diag([0.01, 0.01]))
    there = Stakes(report).moved(np.array(STAKES[1][0]), np.array(STAKES[1][1]), kept=False)
    each = enumerate(there.decided)
    there = replace(
        there, decided=tuple(replace(table, running=0.1 + 0.2 * k) for k, table in each)
    )
    best = int(np.argmin(there.costs))
    others = [
        place
        for place in range(len(there.decided))
        if there.costs[place] > 1.05 * there.costs[best]
    ]
    assert len(others) > 1
    for place in others:
        left, right = there.decided[place], there.decided[best]
        support = there._supports((left,), right).shifted(left.running - right.running)
        gap = float(there.costs[place] - there.costs[best])
        low, _ = profile_bounds(support, np.array(there._square(left.name, right.name)), gap, 0.02)
        assert low == pytest.approx(0, abs=1e-6 * gap)


@pytest.mark.parametrize("sums", [np.full((3, 2, 1), np.inf), np.zeros((3, 2, 0))])
def test_sums_of_terms_that_are_no_numbers_or_are_none_are_not_kept(sums):
    table = ScoreTable([0.2, 0.6], [[3, 1], [1, 3]])
    tallied: Any = SimpleNamespace(table=table, term_sums=lambda edges: sums)
    evidence: Any = SimpleNamespace()
    assert shown_sums(tallied, evidence) is None


def test_tuned_systems_have_their_own_decisions_though_their_model_is_recalibrated():
    model = replace(report_of("baseline").models[0], recalibrated=ScoreTable([0.2], [[1, 1]]))
    keys = [_key(system, model) for system in report_of("baseline").systems[:2]]
    assert keys == [("new", False, None), ("new", False, "new (tuned)")]


def test_the_reach_of_costs_is_that_of_each_class_weighed_by_the_prior(report, monkeypatch):
    costs, prior = np.array([[4.0, 3, 9], [20, 8, 5]]), np.array([0.7, 0.3])
    asked: dict[str, Any] = {}

    def noted(*arguments: Any, **options: Any) -> None:
        asked.update(options)

    monkeypatch.setattr("stakes.report._flips.contenders_among", noted)
    assert Stakes(report).moved(costs, prior, kept=True).choice is None
    assert asked["reach"] == pytest.approx(0.7 * 6 + 0.3 * 15)


@pytest.mark.parametrize("prior", [None, [0.7, 0.3], [1, 0]])
@pytest.mark.parametrize("few", [0, 1, 2])
def test_costs_elsewhere_are_expected_costs_also_where_a_class_has_few_cases_or_none(prior, few):
    problem = Problem([[0, 3, 25], [18, 8, 0]], prior=prior)
    counts = np.array([[5.0, 2, 1], [few, 0, 0]])
    expected = expected_cost(Counts(counts), problem)
    assert cost_of(counts, problem) == pytest.approx(float(expected), nan_ok=True)


@pytest.mark.parametrize("prior", [(0.9, 0.1), pytest.param((0.4, 0.6), marks=pytest.mark.slow)])
def test_decisions_made_anew_elsewhere_are_those_of_a_new_evaluation(prior):
    """Also of recalibrated posteriors: maps hold for the shares of the cases and move as these."""
    rng = np.random.default_rng(3)
    y = (rng.random(300) < 0.3).astype(int)
    p = 1 / (1 + np.exp(-3 * rng.normal(2.0 * y - 1, 1)))
    models, other = {"a": p, "b": p**2}, np.array([[0.0, 2, 4], [9, 5, 0]])
    report = evaluate(y, models, Problem([[0, 3, 25], [180, 8, 0]]), replicates=10)
    there = Stakes(report).moved(other, np.array(prior), kept=False)
    again = evaluate(y, models, Problem(other, prior=prior), replicates=10)
    assert len(there.decided) == len(again.systems) == 6
    for system, cost in zip(there.decided, there.costs, strict=True):
        assert cost == pytest.approx(again.system(system.name).cost.value, rel=1e-12)
    assert there.verdict == again.verdict.cheapest
    assert there.contenders == again.verdict.contenders
