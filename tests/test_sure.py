"""How sure a report is: one procedure behind contenders, intervals and every sentence on them."""

from __future__ import annotations

from math import isnan
from typing import Any

import numpy as np
import pytest

from stakes import Decisions, Posteriors, Problem, Report, evaluate
from stakes.calibration import Isotonic
from stakes.inference import profile_interval

FRAUD = Problem(
    [[0, 3, 25], [180, 8, 0]],
    classes=["legit", "fraud"],
    decisions=["approve", "review", "block"],
    unit="EUR",
)
THREE = Problem([[0, 1, 4, 1.5], [2, 0, 3, 1.5], [9, 5, 0, 1.5]], decisions=[0, 1, 2, "ask"])
SKILLS = (1.5, 1.2, 0.2)


def few(y, models, problem, **settings) -> Report:
    labels = np.array(problem.classes, dtype=object)[y]
    return evaluate(labels, models, problem, **{"calibrator": None, "replicates": 2, **settings})


def draw(n_cases: int, skills=SKILLS, seed: int = 0, problem: Problem = FRAUD):
    """True classes, the first the most frequent, and posteriors that know more or less of them."""
    rng = np.random.default_rng(seed)
    shares = np.array([0.7, 0.3] if problem.n_classes == 2 else [0.6, 0.3, 0.1])
    y = rng.choice(problem.n_classes, n_cases, p=shares)
    y[: problem.n_classes] = range(problem.n_classes)
    models = {}
    for place, skill in enumerate(skills):
        raw = np.exp(rng.normal(skill * np.eye(len(shares))[y], 0.5)) * shares
        models[f"m{place}"] = raw / raw.sum(axis=1, keepdims=True)
    return y, models


def settings_of(seed: int, n_cases: int) -> dict[str, Any]:
    """Cases alone, in clusters, with whole or with fractional weights, in turn."""
    rng = np.random.default_rng(seed)
    each: list[dict[str, Any]] = [
        {},
        {"clusters": rng.integers(0, 12, n_cases)},
        {"weights": rng.integers(1, 4, n_cases)},
        {"weights": rng.lognormal(0, 0.7, n_cases)},
    ]
    return each[seed % 4]


# Statements that cannot disagree -----------------------------------------------------------------


@pytest.mark.parametrize("seed", range(24))
def test_contenders_intervals_picks_slices_and_sentences_say_the_same(seed):
    problem = (FRAUD, THREE, FRAUD.with_prior([0.9, 0.1]))[seed % 3]
    n_cases = (25, 150, 600)[seed // 3 % 3]
    y, models = draw(n_cases, (2.5, 0.5, 2.3, 2.0)[: 2 + seed % 3], seed, problem)
    by = np.arange(n_cases) % 2
    report = few(y, models, problem, by=by, **settings_of(seed, n_cases))
    verdict, spent = report.verdict, {system.name: system for system in report.systems}
    for pick in report.picks:
        name_of_pick = report.system(str(pick.model)).name
        if name_of_pick == report.best.name:
            assert pick.clear is None
        else:
            assert pick.clear == (pick.costs_more.low > 0)
            assert pick.clear == (name_of_pick not in verdict.contenders) or verdict.kind == "none"
    for part in report.slices:
        assert (part.saving is None) == (part.clear is None)
        assert part.saving is None or part.clear == (part.saving.low > 0)
    assert (verdict.deploy is None) == (verdict.kind != "deploy")
    assert (verdict.kind == "deploy") == (verdict.saving_over_naive.low > 0)
    if verdict.kind == "none":
        assert (verdict.contenders, verdict.told_apart) == ((), None)
        return
    assert verdict.contenders[0] == verdict.cheapest
    models_left = {spent[name].model for name in verdict.contenders}
    assert verdict.told_apart == (len(models_left) == 1)
    out = verdict.runner_up not in verdict.contenders
    assert verdict.saving_over_runner_up is not None
    assert out == (verdict.saving_over_runner_up.low > 0)
    assert ("it clearly costs more" in verdict.sentences[-1]) == out
    assert any("cannot tell which model" in text for text in verdict.sentences) == (
        len(models_left) > 1
    )
    for name, paid in spent.items():
        chance = paid.probability_cheapest
        assert 0 <= chance <= 1 if name in verdict.contenders else chance == 0
    assert sum(system.probability_cheapest for system in report.systems) == pytest.approx(1)


@pytest.mark.parametrize("sizes", [(4, 16), pytest.param((10, 60), marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    ("problem", "options"),
    [
        (THREE, {}),
        (THREE, {"clusters": 5}),
        (FRAUD, {"clusters": 2}),
        (FRAUD, {"calibrator": Isotonic()}),  # a map fitted on ten cases is nearly unknown
        (FRAUD.with_prior([0.9, 0.1]), {"calibrator": Isotonic()}),
    ],
)
def test_every_number_lies_in_its_interval_and_within_the_range_of_the_costs(
    problem, options, sizes
):
    most = problem.costs.max()
    for seed, n_cases in enumerate(sizes):
        y, models = draw(n_cases, (1.5, 0.5), seed=9 + seed, problem=problem)
        units = (
            {"clusters": np.arange(n_cases) % options["clusters"]}
            if "clusters" in options
            else options
        )
        report = few(y, models, problem, by=np.arange(n_cases) % 2, **units)
        verdict = report.verdict
        costs = [system.cost for system in report.systems] + [verdict.cost]
        costs += [cost.cost for part in report.slices for cost in part.costs]
        costs = [cost for cost in costs if not isnan(cost.value)]  # of groups that lack a class
        assert all(0 <= cost.low <= cost.value <= cost.high <= most for cost in costs)
        normal = [system.normalized for system in report.systems]
        assert all(0 <= interval.low <= interval.value <= interval.high for interval in normal)
        savings = [pick.costs_more for pick in report.picks]
        savings += filter(None, [verdict.saving_over_naive, verdict.saving_over_runner_up])
        savings = [saving for saving in savings if not isnan(saving.value)]
        assert all(-most <= saving.low <= saving.value <= saving.high <= most for saving in savings)


@pytest.mark.parametrize("n_clusters", [None, 2, 3])
@pytest.mark.parametrize("flawless", [False, True])
def test_cost_normalised_cost_and_saving_of_the_chosen_are_one_interval_in_three_units(
    n_clusters, flawless
):
    """A stated prior makes what constant decisions cost known, and perfect decisions, too."""
    problem = FRAUD.with_prior([0.9, 0.1])
    n_cases = 60
    corrected = 0
    for seed in range(3):
        y, models = draw(n_cases, (1.0, 1.0, 0.9), seed=seed)
        if flawless:  # one that makes no mistake on these cases, and one that makes few
            decided = 2 * y
            models = {"m0": decided, "m1": np.where(np.arange(n_cases) == 5, 1, decided)}
            labels = np.array(problem.decisions, dtype=object)
            models = {name: Decisions(labels[places]) for name, places in models.items()}
        clusters = None if n_clusters is None else np.arange(n_cases) % n_clusters
        report = few(y, models, problem, clusters=clusters)
        verdict, blind = report.verdict, report.naive.cost
        cost, saving, share = verdict.cost, verdict.saving_over_naive, verdict.normalized
        parts = (cost.value, cost.low, cost.high)
        assert (saving.value, saving.high, saving.low) == pytest.approx(
            [blind - part for part in parts], abs=1e-9
        )
        perfect = 0.0  # some decision about each class costs nothing
        assert (share.value, share.low, share.high) == pytest.approx(
            [(part - perfect) / (blind - perfect) for part in parts], abs=1e-9
        )
        assert cost.high <= problem.prior @ problem.costs.max(axis=1) + 1e-9
        best = report.systems[0] if verdict.kind == "none" else report.best
        corrected += cost.value > best.cost.value + 1e-9
    assert corrected


def test_without_a_prior_no_saving_is_lower_than_decisions_can_make_it():
    """In two clusters the correction for the choice reaches far."""
    problem = Problem([[0, 3], [9, 2]])
    lowest = []
    for seed in (4, 9, 12):
        rng = np.random.default_rng(seed)
        y = (rng.random(200) < 0.2).astype(int)
        models = {name: (y + rng.normal(size=200) / 2 > 0.5).astype(int) for name in "abc"}
        report = few(y, models, problem, clusters=np.arange(200) // 100)
        constant = problem.costs[:, problem.decisions.index(report.naive.decision)]
        least = (constant - problem.costs.max(axis=1)).min()
        lowest.append(report.verdict.saving_over_naive.low - least)
    assert min(lowest) == pytest.approx(0, abs=1e-9)


# What plays no part ------------------------------------------------------------------------------


def test_the_same_model_twice_stays_twice_with_the_same_numbers():
    y, models = draw(1500, (2.5, 0.2, 0.0))
    report = few(y, {"a": models["m0"], "bad": models["m2"], "b": models["m0"]}, FRAUD)
    first, second = report.system("a"), report.system("b")
    assert report.verdict.contenders == ("a (as is)", "b (as is)")
    assert report.verdict.told_apart is False
    assert (first.cost, first.normalized) == (second.cost, second.normalized)
    assert first.probability_cheapest == second.probability_cheapest == 0.5
    over = report.verdict.saving_over_runner_up
    assert over is not None
    assert over.value == 0
    alone = few(y, {"a": models["m0"], "bad": models["m2"]}, FRAUD).verdict
    assert report.verdict.cost.value == pytest.approx(alone.cost.value)  # there was nothing to gain


def test_the_order_of_the_models_plays_no_part():
    y, models = draw(120, (1.5, 1.4, 1.3, 0.9), problem=THREE)
    here, there = (few(y, dict(part), THREE) for part in (models.items(), [*models.items()][::-1]))
    assert here.verdict.contenders == there.verdict.contenders
    assert here.verdict.told_apart == there.verdict.told_apart is False
    for system in here.systems:
        twin = there.system(system.name)
        assert system.cost == twin.cost
        assert system.probability_cheapest == pytest.approx(twin.probability_cheapest)
    for name in ("cost", "saving_over_naive", "saving_over_runner_up"):
        mine, twin = (getattr(report.verdict, name) for report in (here, there))
        ends = [(interval.value, interval.low, interval.high) for interval in (mine, twin)]
        assert ends[0] == pytest.approx(ends[1])


@pytest.mark.slow
@pytest.mark.parametrize(("factor", "shift"), [(1.0, 7.0), (0.01, 0.0), (250.0, -40.0)])
@pytest.mark.parametrize("prior", [None, [0.9, 0.1]])
def test_costs_in_another_currency_above_another_amount_change_nothing_else(factor, shift, prior):
    y, models = draw(150, (1.5, 1.4, 0.5), seed=3)
    problem = FRAUD.with_prior(prior) if prior else FRAUD
    labels = {"classes": FRAUD.classes, "decisions": FRAUD.decisions, "prior": prior}
    other = Problem(factor * FRAUD.costs + shift, **labels)
    here, there = few(y, models, problem), few(y, models, other)
    assert here.verdict.contenders == there.verdict.contenders
    assert here.verdict.told_apart == there.verdict.told_apart
    pairs = [(here.verdict.cost, there.verdict.cost, shift)]
    pairs += [(a.cost, b.cost, shift) for a, b in zip(here.systems, there.systems, strict=True)]
    pairs += [(here.verdict.saving_over_naive, there.verdict.saving_over_naive, 0)]
    for seen, moved, amount in pairs:
        wanted = [factor * end + amount for end in (seen.value, seen.low, seen.high)]
        assert [moved.value, moved.low, moved.high] == pytest.approx(wanted, abs=1e-9 * factor)
    for system, twin in zip(here.systems, there.systems, strict=True):
        assert system.probability_cheapest == pytest.approx(twin.probability_cheapest, abs=1e-9)


# The choice --------------------------------------------------------------------------------------


def test_one_system_is_reported_as_it_is():
    y, models = draw(200)
    report = few(y, models["m0"], FRAUD)
    verdict = report.verdict
    assert verdict.contenders == ("model (as is)",)
    assert verdict.cost == report.best.cost
    assert verdict.saving_over_naive.value == pytest.approx(
        report.naive.cost - report.best.cost.value
    )
    assert (verdict.runner_up, verdict.saving_over_runner_up, verdict.told_apart) == (None,) * 3
    assert report.best.probability_cheapest == 1


def test_one_clear_best_is_reported_as_if_it_were_alone():
    y, models = draw(1500, (2.5, 0.2, 0.0))
    report, alone = few(y, models, FRAUD), few(y, {"m0": models["m0"]}, FRAUD)
    assert report.verdict.contenders == ("m0 (as is)",)
    assert report.verdict.told_apart is True
    assert report.verdict.cost == report.best.cost
    for name in ("cost", "saving_over_naive"):
        ends = [getattr(r.verdict, name) for r in (report, alone)]
        mine, twin = ([end.value, end.low, end.high] for end in ends)
        assert mine == pytest.approx(twin, rel=1e-9)


def test_a_close_winner_is_corrected_upwards_and_within_reason():
    y, models = draw(150, (1.5,) * 6, seed=2, problem=THREE)
    report = few(y, models, THREE)
    verdict, seen = report.verdict, report.best.cost
    assert len(verdict.contenders) > 3
    assert seen.value < verdict.cost.value < seen.high
    assert verdict.cost.low == seen.low
    assert seen.high <= verdict.cost.high <= 9
    assert verdict.saving_over_naive.value < report.naive.cost - seen.value


def test_what_is_fitted_is_less_sure_than_the_same_table_without_fitting():
    y, models = draw(300, (1.5,), seed=1)
    report = few(y, {"m": models["m0"]}, FRAUD, calibrator=Isotonic())
    fitted, plain = report.system("m (recalibrated)"), report.system("m (as is)")
    wider = []
    for variant in (fitted, plain):
        high = float(profile_interval(variant.counts, FRAUD).high)
        wider.append((variant.cost.high - variant.cost.value) / (high - variant.cost.value))
    assert wider[0] > 1.02
    assert wider[1] == pytest.approx(1)


def test_new_parts_of_the_verdict_travel_as_json():
    y, models = draw(200, (1.5, 1.4, 0.2))
    for chosen in (models, {"m2": models["m2"]}, {"bad": 1 - models["m0"]}):
        report = few(y, chosen, FRAUD, clusters=np.arange(200) % 9)
        twin = Report.from_json(report.to_json())
        assert twin == report
        assert twin.verdict.contenders == report.verdict.contenders
        assert isinstance(twin.verdict.contenders, tuple)
        assert twin.verdict.cost == report.verdict.cost


# Sentences ---------------------------------------------------------------------------------------


def test_a_close_call_names_the_models_behind_what_to_do():
    y, models = draw(150, (1.5, 1.5, -3.0), seed=4)
    names = dict(zip(("boosting", "logistic", "coin"), models.values(), strict=True))
    verdict = few(y, names, FRAUD).verdict
    first, second = (name.split(" (")[0] for name in verdict.contenders)
    assert {first, second} == {"boosting", "logistic"}
    assert verdict.sentences[0].startswith(f"Try {first} with Bayes decisions")
    assert verdict.sentences[2] == (
        f"The data cannot tell which model is the cheapest: {first} or {second}."
    )
    assert verdict.sentences[-1].endswith(": the data cannot tell the two apart.")


def test_a_clear_call_says_nothing_of_the_choice():
    y, models = draw(1500, (2.5, 0.2))
    verdict = few(y, models, FRAUD).verdict
    assert verdict.sentences[0].startswith("Deploy m0 with Bayes decisions (approve up to 1.71 %")
    assert ": it costs " in verdict.sentences[0]
    assert verdict.sentences[1] == verdict.reason
    assert verdict.sentences[2].startswith("The runner-up, m1 (as is), costs ")
    assert verdict.sentences[2].endswith("it clearly costs more.")
    assert len(verdict.sentences) == 3


def test_a_single_model_has_no_runner_up_to_speak_of():
    y, models = draw(300, (1.5,))
    sentences = few(y, models, FRAUD).verdict.sentences
    assert len(sentences) == 2
    assert sentences[0].startswith("Try m0 ")
    assert sentences[1].startswith("Against always deciding ")


def test_where_nothing_is_deployed_there_are_no_contenders_to_speak_of():
    y, models = draw(400)
    zero_one = Problem.zero_one(FRAUD.classes)
    verdict = few(
        y,
        # With their classes named they are taken at their word, though they rank backwards.
        {name: Posteriors(p[:, ::-1], classes=FRAUD.classes) for name, p in models.items()},
        zero_one,
    ).verdict
    assert verdict.deploy is None
    assert verdict.sentences[0].startswith("Deploy none: always deciding legit")
    assert "cannot tell which" not in " ".join(verdict.sentences)


def test_of_one_cluster_the_range_of_the_costs_is_all_that_is_reported():
    y, models = draw(400, (2.5, 0.2))
    verdict = few(y, models, FRAUD, clusters=["s"] * 400).verdict
    assert verdict.sentences[0].startswith("Try m0 with")
    assert "(95 % interval 0 to 180)" in verdict.sentences[0]
    assert "cannot rule out that it saves nothing" in verdict.sentences[1]
    assert verdict.sentences[2].startswith("The data cannot tell which model is the cheapest")
    assert "(95 % interval −180 to 180): the data cannot tell" in verdict.sentences[3]


def test_a_correction_that_shows_is_explained():
    y, models = draw(150, (1.5,) * 6, seed=2, problem=THREE)
    report = few(y, models, THREE)
    sentence = report.verdict.sentences[0]
    assert ": expect it to cost " in sentence
    assert sentence.endswith("but it was chosen on them, as the cheapest of 6 systems.")
    assert not isnan(report.verdict.cost.value)


def test_a_tiny_saving_is_said_in_words():
    """Two test results in 20,000 spare a cost: less than one percent, and not 0.0."""
    y = np.repeat(["well", "ill"], [17_000, 3_000])
    p = np.where(y == "ill", 0.5, 0.1)
    p[-2:] = 0.999  # treated, which is the cheapest for the ill
    decisions = ["wait", "test", "treat"]
    costs = [[0, 1, 500], [20_000, 8, 0]]
    problem = Problem(costs, classes=["well", "ill"], decisions=decisions, unit="EUR")
    report = evaluate(y, {"net": p}, problem, calibrator=None)
    [saves] = [text for text in report.verdict.sentences if text.startswith("Against")]
    assert "less than 1 % (" in saves
    assert "saves 0.0" not in saves
    assert "< 1" not in " ".join(report.verdict.sentences)
