"""The verdict is a value that programs can read, and every sentence of it is true."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from stakes import (
    Counts,
    Decisions,
    InputError,
    Limit,
    Posteriors,
    Problem,
    Report,
    Scores,
    ScoreTable,
    bayes_decisions,
    evaluate,
)
from stakes.calibration import Affine, Isotonic
from stakes.evaluation.cases import read_cases
from stakes.evaluation.caveats import _prior_mismatch
from stakes.evaluation.evidence import JointSample, ModelTallies, costs_of
from stakes.evaluation.predictions import rules_of
from stakes.evaluation.suspect_columns import backwards_class, class_leads
from stakes.inference import Measured, profile_interval
from stakes.report import AS_DECIDED
from stakes.rows import POSTERIORS
from stakes.tally import JointCounts

FRAUD = Problem(
    [[0, 3, 25], [180, 8, 0]],
    classes=["legit", "fraud"],
    decisions=["approve", "review", "block"],
    unit="EUR",
)
BINARY = Problem.binary(false_alarm=1, miss=5, classes=["no", "yes"], unit="EUR")
ZERO_ONE = Problem.zero_one(["no", "yes"])


def cases(n_cases: int = 600, share: float = 0.3, seed: int = 1):
    """True classes and calibrated posteriors of the second one."""
    rng = np.random.default_rng(seed)
    y = (rng.random(n_cases) < share).astype(int)
    log_odds = rng.normal(np.where(y == 1, 1.0, -1.0), 2**0.5) + np.log(share / (1 - share))
    return y, 1 / (1 + np.exp(-log_odds))


def three_classes(n_cases: int = 500, seed: int = 0):
    """True classes of unequal shares and posteriors (n, 3) that know something about them."""
    rng = np.random.default_rng(seed)
    y = rng.choice(3, n_cases, p=[0.6, 0.3, 0.1])
    raw = np.exp(rng.normal(1.5 * np.eye(3)[y], 1.0)) * [0.6, 0.3, 0.1]
    return y, raw / raw.sum(axis=1, keepdims=True)


def few(y, models, problem, **settings) -> Report:
    labels = np.array(problem.classes, dtype=object)[y]
    return evaluate(labels, models, problem, **{"replicates": 50, "calibrator": None, **settings})


def kinds(report: Report) -> set[str]:
    return {caveat.kind for caveat in report.caveats}


# What to deploy ----------------------------------------------------------------------------------


def test_the_verdict_names_the_system_to_deploy():
    y, p = cases()
    report = few(y, {"good": p, "noise": np.random.default_rng(0).permutation(p)}, ZERO_ONE)
    verdict = report.verdict
    assert verdict.deploy == report.best
    assert report.system("good (as is)") == report.best
    assert (verdict.cheapest, verdict.model) == ("good (as is)", "good")
    assert verdict.reason in verdict.sentences
    assert verdict.reason.startswith("Against always deciding")


def test_a_model_that_loses_to_a_blind_decision_is_not_the_cheapest():
    y, p = cases()
    labels = ["no", "yes"]
    models = {"bad": Posteriors(1 - p, labels), "worse": Posteriors(1 - p**2, labels)}
    report = few(y, models, ZERO_ONE)
    verdict = report.verdict
    assert (verdict.deploy, verdict.model, verdict.cheapest) == (None, None, None)
    assert (verdict.runner_up, verdict.saving_over_runner_up) == (None, None)
    assert verdict.told_apart is None
    assert verdict.reason.startswith("Deploy none: always deciding no")
    assert report.best.cost.value == min(
        system.cost.value for system in report.systems if system.candidate
    )
    assert verdict.contenders == ()
    assert verdict.cost.value >= report.best.cost.value  # it was chosen on these cases
    assert verdict.saving_over_naive.value == pytest.approx(
        report.naive.cost - verdict.cost.value, rel=1e-3
    )
    assert "runner-up" not in " ".join(verdict.sentences)


def test_a_winner_that_only_seems_cheaper_than_not_looking_is_explained():
    rng = np.random.default_rng(26)
    y = (rng.random(120) < 0.3).astype(int)
    scores = {f"m{place}": 0.45 * y + rng.normal(size=120) for place in range(8)}
    models = {name: Decisions((z > 0.9).astype(int)) for name, z in scores.items()}
    report = evaluate(y, models, Problem([[0, 1], [2.2, 0]]))
    verdict, cost = report.verdict, report.best.cost.value
    text = " ".join(verdict.sentences)
    assert verdict.kind == "try"
    assert cost < report.naive.cost < verdict.cost.value
    assert f"(as decided) cost {cost:.2f}, but it was chosen on them, as the cheapest of 8" in text
    assert "expect it to save nothing" in text
    assert "cheaper on these cases may be luck" in text


def test_a_single_model_was_chosen_against_what_needs_no_model():
    rng = np.random.default_rng(3)
    y = (rng.random(120) < 0.3).astype(int)
    decided = (0.5 * y + rng.normal(size=120) > 0.9).astype(int)
    report = evaluate(y, {"only": Decisions(decided)}, Problem([[0, 1], [2.4, 0]]))
    verdict, best = report.verdict, report.best
    assert verdict.kind == "try"
    assert verdict.saving_over_naive.low < 0
    assert verdict.cost.value > best.cost.value
    assert verdict.unaided_cost == pytest.approx(report.naive.cost, rel=1e-12)
    assert "chosen on them, against always deciding" in " ".join(verdict.sentences)


def test_a_model_that_saves_nothing_against_a_blind_decision_is_not_deployed():
    """It decides as one would without it; whatever the model itself costs would be wasted."""
    y, _ = cases(share=0.1)
    report = few(y, {"shy": np.full(len(y), 0.05)}, BINARY)
    assert report.best.cost.value == pytest.approx(report.naive.cost)
    assert report.verdict.deploy is None
    assert report.verdict.cheapest is None
    assert "needs no model" in report.verdict.reason
    assert "Deploy shy" not in " ".join(report.verdict.sentences)


@pytest.mark.parametrize("seed", [2, 11])
def test_no_interval_of_a_recalibrated_system_leaves_the_range_of_the_costs(seed):
    y = (np.arange(30) % 5 == 0).astype(int)
    x = 2 * y + np.random.default_rng(seed).normal(size=30)
    p = np.clip(1 / (1 + np.exp(2 - 2 * x)), 0.01, 0.99)
    report = few(y, {"m": p}, BINARY, calibrator=Isotonic())
    for cost in (report.verdict.cost, *(system.cost for system in report.systems)):
        assert 0 <= cost.low <= cost.value <= cost.high <= 5


def test_what_is_expected_to_be_spent_and_saved_is_what_not_looking_costs():
    y, p = cases(200)
    rng = np.random.default_rng(3)
    models = {f"m{place}": np.clip(p + 0.1 * rng.normal(size=200), 0, 1) for place in range(4)}
    report = few(y, models, BINARY)
    spent, saved = report.verdict.cost, report.verdict.saving_over_naive
    assert spent.value > min(system.cost.value for system in report.systems if system.candidate)
    assert spent.value + saved.value == pytest.approx(report.naive.cost, rel=1e-12)


def test_without_cases_of_a_class_the_normalised_cost_still_has_a_lower_end():
    report = few(np.zeros(100, int), {"m": np.where(np.arange(100) < 5, 0.9, 0.1)}, ZERO_ONE)
    interval = report.system("m (as is)").normalized
    assert interval.low == pytest.approx(1.453, abs=0.01)  # as profile_normalized_interval has it
    assert interval.high == np.inf


def test_nothing_is_deployed_where_every_cost_is_undefined():
    y, p = cases()
    only = y == 0
    report = few(y[only], {"m": p[only]}, FRAUD.with_prior([0.9, 0.1]))
    assert (report.verdict.deploy, report.verdict.cheapest) == (None, None)
    assert report.verdict.reason.startswith("Deploy none: a class that the prior expects has no")
    assert report.best.model == "m"


@pytest.mark.parametrize("loses", [False, True])
def test_what_to_deploy_travels_as_json_and_is_on_the_page(loses):
    from stakes.render.page.data import page_data

    y, p = cases(200)
    report = few(y, {"m": 1 - p if loses else p}, ZERO_ONE, by=y)
    assert Report.from_json(report.to_json()) == report
    written, shown = json.loads(report.to_json())["verdict"], page_data(report)["verdict"]
    assert (written["deploy"] is None) == (written["model"] is None) == loses
    assert shown["system"] == (None if loses else "m (as is)")
    assert shown["kind"] == written["kind"] == ("none" if loses else "deploy")
    assert written["heading"] == ("Deploy none" if loses else "Deploy m (as is)")
    assert [part["clear"] for part in page_data(report)["slices"]] == [
        part.clear for part in report.slices
    ]
    for text in (report.to_text(), report.to_markdown(), report._repr_html_()):
        assert "None" not in text.replace("None.", "")


def test_where_none_is_deployed_the_doubt_that_is_left_is_reported():
    doubt = "the data cannot rule out that it is cheaper"
    for n_cases, left in ((80, True), (2000, False)):
        y, p = cases(n_cases)
        noisy = np.random.default_rng(5).permutation(p)
        verdict = few(y, {"noise": noisy, "more": 1 - p}, ZERO_ONE).verdict
        assert verdict.deploy is None
        assert (verdict.saving_over_naive.high >= 0) == left
        assert (doubt in verdict.sentences[-1]) == left


# Names -------------------------------------------------------------------------------------------


def test_systems_are_called_by_model_and_rule_whatever_the_problem():
    y, p = cases()
    models = {
        "m": p,
        "raw": Scores(7 * p),
        "rules": Decisions(np.where(p > 0.4, "yes", "no")),
    }
    names = [system.name for system in few(y, models, BINARY).systems]
    assert {"m (as is)", "raw (tuned out of fold)", "rules (as decided)"} <= set(names)
    assert [system.name for system in few(y, {"m": p}, FRAUD).systems] == ["m (as is)"]
    decided = Decisions(np.array(FRAUD.decisions)[1 * (p > 0.4)])
    assert [system.name for system in few(y, decided, FRAUD).systems] == ["model (as decided)"]


def test_a_model_is_found_by_its_name_and_answers_with_its_best_system():
    y, p = cases(2000)
    sharp = 1 / (1 + np.exp(-4 * np.log(p / (1 - p))))
    report = few(y, {"sharp": sharp}, BINARY, calibrator=Affine())
    costs = {system.name: system.cost.value for system in report.systems if system.candidate}
    assert (
        report.system("sharp").name == min(costs, key=costs.__getitem__) == "sharp (recalibrated)"
    )
    assert report.system("sharp (tuned)").cost.value < report.system("sharp").cost.value
    assert not report.system("sharp (tuned)").candidate
    with pytest.raises(InputError, match=r"'zz'.*'sharp \(as is\)'.*models are 'sharp'"):
        report.system("zz")


# Levels ------------------------------------------------------------------------------------------


def test_intervals_and_sentences_have_the_level_that_was_asked_for():
    y, p = cases()
    models = {"m": p, "n": np.clip(p, 0.1, 0.9)}
    wide, narrow = (few(y, models, BINARY, level=level) for level in (0.95, 0.5))
    assert narrow.assumptions.level == 0.5
    assert any("50 % interval" in sentence for sentence in narrow.verdict.sentences)
    assert "95" not in " ".join(narrow.verdict.sentences)
    assert set(narrow.verdict.contenders) <= set(wide.verdict.contenders)
    for a, b in zip(narrow.systems, wide.systems, strict=True):
        assert b.cost.low < a.cost.low <= a.cost.high < b.cost.high
    for inner, outer in zip(narrow.models, wide.models, strict=True):
        assert inner.auc is not None
        assert outer.auc is not None
        assert outer.auc.low < inner.auc.low < inner.auc.high < outer.auc.high
    with pytest.raises(InputError, match="level must lie strictly between 0 and 1; got 1"):
        few(y, models, BINARY, level=1.0)
    with pytest.raises(InputError, match=r"between 0 and 1; got 95\. 0\.95 is usual"):
        few(y, models, BINARY, level=95)


# The named blind decision ------------------------------------------------------------------------


def test_the_saving_is_that_against_the_named_blind_decision():
    """As if that decision were a model of its own, which takes no other."""
    y, p = cases(300, share=0.02, seed=2)
    report = few(y, {"m": p}, FRAUD)
    always, labels = report.naive.decision, np.array(FRAUD.classes)[y]
    decided = {"blind": [always] * len(y), "m": bayes_decisions(p, FRAUD)}
    joint = JointCounts.from_decisions(labels, decided, FRAUD)
    only = [np.array(FRAUD.decisions) == always, [True] * 3]
    interval, saving = (
        profile_interval(joint, FRAUD, reachable=only),
        report.verdict.saving_over_naive,
    )
    assert (saving.low, saving.high) == pytest.approx((float(interval.low), float(interval.high)))
    assert saving.value == pytest.approx(report.naive.cost - report.best.cost.value)
    assert float(profile_interval(joint, FRAUD).high) > saving.high


@pytest.mark.slow
def test_intervals_of_the_saving_cover_where_two_blind_decisions_tie():
    """Nominal 95 %; against the cheaper of the two in each resample it covered 88 %."""
    problem = Problem.binary(false_alarm=1, miss=4, classes=["no", "yes"])
    cells = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    rules = {"m": SimpleNamespace(name=AS_DECIDED, eligible=True)}
    rng = np.random.default_rng(0)
    n_cases, trials, truth = 400, 150, 0.8 - (0.8 * 0.2 + 0.2 * 0.2 * 4)
    covered, named = 0, set()
    for _ in range(trials):
        counts = rng.multinomial(n_cases, [0.64, 0.16, 0.04, 0.16]).astype(float)
        joint = JointCounts(
            cells, counts, models=["m"], classes=problem.classes, decisions=problem.decisions
        )
        sample = JointSample(joint, counts.reshape(2, 2).sum(axis=1), None)
        evidence: Any = SimpleNamespace(
            problem=problem,
            sample=sample,
            rules=rules,
            partition_costs={},
            fold_costs=None,
            unaided=None,
            running_costs=lambda names: np.zeros(len(names)),
        )
        costs = costs_of(sample, problem, evidence, 0.95)
        saving = costs.expected_saving("m")
        covered += saving.low <= truth <= saving.high
        named.add(costs.unaided)
    assert named == {"always no", "always yes"}
    assert 0.91 < covered / trials < 0.99  # standard error 1.8 points


def test_what_every_decision_costs_moves_the_whole_interval():
    y, p = cases(200)
    costlier = Problem(BINARY.costs + 10, classes=BINARY.classes, prior=BINARY.prior)
    plain, moved = (few(y, {"m": p}, problem).systems[0].cost for problem in (BINARY, costlier))
    assert (moved.low, moved.value, moved.high) == pytest.approx(
        (plain.low + 10, plain.value + 10, plain.high + 10), abs=1e-9
    )


# Backwards ---------------------------------------------------------------------------------------


def test_columns_in_the_order_of_scikit_learn_are_suspected_first():
    """Sorted classes, "fraud" before "legit", against a problem that has them the other way."""
    y, p = cases()
    rows = np.stack([p, 1 - p], axis=1)
    report = few(y, {"forest": rows}, FRAUD)
    first = report.caveats[0]
    assert first.kind == "ranks backwards"
    assert first.text.startswith("forest ranks backwards (AUC 0.")
    assert "a single column must be the probability of fraud, and several must" in first.text
    assert "Posteriors(values, classes=model.classes_)" in first.text
    assert "miscalibration" not in kinds(report)
    assert "alibrate" not in (report.models[0].advice or "")
    named = few(y, {"forest": Posteriors(rows, classes=["fraud", "legit"])}, FRAUD)
    assert "ranks backwards" not in kinds(named)


def test_a_model_that_knows_nothing_rarely_seems_to_rank_backwards():
    """With 95 % for all classes together, at most 2.5 % of the models do by chance."""
    y, rows = three_classes(200)
    rng = np.random.default_rng(0)
    evidence: Any = SimpleNamespace(problem=Problem.zero_one(3))
    read = read_cases(y, evidence.problem, None, None, None)
    n_caveats = 0
    for _ in range(400):
        leads = class_leads(rng.permutation(rows), read)
        tallied = ModelTallies("m", POSTERIORS, leads=leads)
        n_caveats += backwards_class(tallied, None, evidence) is not None
    assert n_caveats <= 20  # 10 are expected, with a standard deviation of 3
    y, p = cases(60)
    assert "ranks backwards" not in kinds(few(y, {"m": rng.permutation(p)}, BINARY))


@pytest.mark.parametrize(("times", "backwards"), [(1, None), (20, 1)])
def test_few_cases_may_rank_backwards_by_chance(times, backwards):
    y, problem = np.repeat([0, 1], 8 * times), Problem.zero_one(2)
    joint = JointCounts.from_decisions(y, {"m": y}, problem)
    sample = JointSample(joint, np.array([8, 8]) * times, None)
    evidence: Any = SimpleNamespace(problem=problem, sample=sample)
    area = Measured(0.3, 0.1, 0.45)
    assert backwards_class(ModelTallies("m", POSTERIORS), area, evidence) == backwards


@pytest.mark.parametrize(("ratio", "backwards"), [(-2.3, None), (-2.45, 1)])
def test_leads_of_three_classes_are_compared_by_bonferroni(ratio, backwards):
    """The quantile of 1 − 0.025 / 3 is 2.39."""
    evidence: Any = SimpleNamespace(problem=Problem.zero_one(3))
    leads = np.array([[1.0, 0.1 * ratio, 1.0], [0.1, 0.1, 0.1]])
    tallied = ModelTallies("m", POSTERIORS, leads=leads)
    assert backwards_class(tallied, None, evidence) == backwards


@pytest.mark.parametrize("settings", [{}, {"weights": np.linspace(0.3, 0.9, 60)}])
def test_ranks_that_are_all_wrong_are_backwards_without_an_interval(settings):
    y = np.repeat([0, 1], [40, 20])
    for model in (Scores(-7.0 * y), 0.9 - 0.8 * y):
        report = few(y, {"m": model}, BINARY, **settings)
        assert report.models[0].auc == Measured(0.0, np.nan, np.nan)
        assert report.caveats[0].kind == "ranks backwards"
    few_cases = few(y[37:43], {"m": Scores(-7.0 * y[37:43])}, BINARY)
    assert "ranks backwards" in kinds(few_cases)  # three of each: one order in twenty
    pair = few(y[38:42], {"m": Scores(-7.0 * y[38:42])}, BINARY)
    assert "ranks backwards" not in kinds(pair)


def test_raw_scores_that_fall_with_the_positive_class_are_asked_about():
    y, p = cases()
    report = few(y, {"raw": Scores(-7 * p)}, BINARY)
    assert report.caveats[0].kind == "ranks backwards"
    assert "a higher score must speak for yes" in report.caveats[0].text
    assert "columns" not in report.caveats[0].text


@pytest.mark.parametrize("order", [[1, 2, 0], [2, 1, 0], [1, 0, 2]])
def test_columns_of_many_classes_in_another_order_are_suspected(order):
    y, rows = three_classes()
    problem = Problem([[0, 1, 4, 1], [2, 0, 3, 1], [9, 5, 0, 1]], classes=["a", "b", "c"])
    assert not {"ranks backwards", "order of classes"} & set(kinds(few(y, {"m": rows}, problem)))
    report = few(y, {"m": rows[:, order]}, problem)
    assert report.caveats[0].kind == "order of classes"
    assert "classes=model.classes_" in report.caveats[0].text
    named = few(y, {"m": Posteriors(rows[:, order], classes=["a", "b", "c"])}, problem)
    assert named.caveats[0].kind == "ranks backwards"
    worst = [k for k in "abc" if f" of {k} " in named.caveats[0].text]
    assert len(worst) == 1


def test_clusters_make_it_harder_to_rank_backwards_beyond_noise():
    """Ten cases that are copies of each other say as little as one."""
    y, p = cases(24, seed=6)
    backwards, copies = 1 - p, np.tile(np.arange(24), 40)
    many = {"m": np.tile(backwards, 40)}
    alone = few(np.tile(y, 40), many, BINARY)
    assert "ranks backwards" in kinds(alone)
    weak = {"m": np.tile(0.5 - 0.02 * y + np.linspace(-0.2, 0.2, 24), 40)}
    clustered = few(np.tile(y, 40), weak, BINARY, clusters=copies)
    assert "ranks backwards" not in kinds(clustered)
    strong = few(np.tile(y, 40), {"m": np.tile(0.7 - 0.4 * y, 40)}, BINARY, clusters=copies)
    assert "ranks backwards" in kinds(strong)


@pytest.mark.parametrize("weights", [None, np.linspace(0.2, 3, 90), np.arange(90) % 4 + 1])
@pytest.mark.parametrize("units", [None, np.arange(90) // 2, np.arange(90) ** 2 // 900])
def test_the_lead_of_a_class_is_a_difference_of_means_with_its_standard_error(weights, units):
    """Cases of a cluster are copies of one; weights are no numbers of cases."""
    y, rows = three_classes(90)
    leads = class_leads(rows, read_cases(y, Problem.zero_one(3), weights, None, units))
    w = [1.0 if weights is None else float(weights[i]) for i in range(90)]
    for k in range(3):
        of_all = sum(w[i] * rows[i, k] for i in range(90)) / sum(w)
        spread = sum(w[i] * (rows[i, k] - of_all) ** 2 for i in range(90)) / sum(w)
        means, errors = [], []
        for group in ([i for i in range(90) if y[i] == k], [i for i in range(90) if y[i] != k]):
            mass = sum(w[i] for i in group)
            means.append(sum(w[i] * rows[i, k] for i in group) / mass)
            if units is not None:
                clusters = [sum(w[i] for i in group if units[i] == u) for u in set(units)]
                squares = sum(cluster**2 for cluster in clusters)
            else:
                squares = sum(w[i] ** 2 for i in group)
            errors.append(spread * squares / mass**2)
        assert leads[:, k] == pytest.approx([means[0] - means[1], sum(errors) ** 0.5])


def test_posteriors_that_are_the_same_for_every_case_do_not_rank_backwards():
    """A model that says the class shares of every case is often put beside the others."""
    y = three_classes(99)[0]
    for row in ([1 / 3] * 3, [0.2, 0.3, 0.5], [0.1, 0.3, 0.6]):
        for weights in (None, np.linspace(0.3, 0.9, 99)):
            models = {"m": np.tile(row, (99, 1))}
            report = few(y, models, Problem.zero_one(3), weights=weights, calibrator=None)
            assert "ranks backwards" not in kinds(report)


@pytest.mark.slow
@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_class_of_few_large_clusters_rarely_seems_to_rank_backwards(n_classes):
    """Three patients of 100 cases each are three: taken for 150 they did in 40 % of the trials."""
    unit = np.concatenate([np.repeat(range(3), 100), np.arange(3, 303)])
    y = np.where(unit < 3, 1, 2 * (unit % 2) if n_classes == 3 else 0)
    rng, n_caveats, problem = np.random.default_rng(0), 0, Problem.zero_one(n_classes)
    for _ in range(20):
        rows = rng.dirichlet(np.ones(n_classes), 303)[unit]
        report = few(y, {"m": rows}, problem, clusters=unit, calibrator=None, replicates=2)
        n_caveats += "ranks backwards" in kinds(report)
    assert n_caveats <= 3  # none or one is expected


@pytest.mark.slow
def test_with_few_cases_of_a_class_chance_rarely_ranks_them_backwards():
    """DeLong's interval alone says so in 13 % of the trials, and in 2.5 % it should."""
    y = np.repeat([0, 1], [100, 2])
    rng, trials = np.random.default_rng(0), 60
    n_caveats = sum(
        "ranks backwards"
        in kinds(few(y, {"m": rng.random(102)}, BINARY, calibrator=None, replicates=2))
        for _ in range(trials)
    )
    assert n_caveats <= 4  # 1.5 are expected, with a standard deviation of 1.2


@given(
    hnp.arrays(float, (5, 3), elements=st.floats(0.001, 1)),
    hnp.arrays(float, 5, elements=st.floats(0.1, 9)),
)
def test_calibrated_posteriors_never_rank_a_class_backwards(raw, mass):
    """E[p | k] is at least the share of k, E[p | not k] at most: whatever the posteriors are."""
    rows = raw / raw.sum(axis=1, keepdims=True)
    weights = (mass[:, None] * rows).ravel()  # each class as often as they say
    given_rows, y = np.repeat(rows, 3, axis=0), np.tile([0, 1, 2], 5)
    cases = read_cases(y, Problem.zero_one(3), weights, None, None)
    assert (class_leads(given_rows, cases)[0] >= -1e-9).all()


def test_without_rows_outside_a_class_nothing_leads():
    rows = np.array([[0.7, 0.3], [0.6, 0.4]])
    leads = class_leads(rows, read_cases([0, 0], Problem.zero_one(2), None, None, None))
    assert np.isnan(leads).all()
    report = few(np.zeros(30, int), {"m": np.full(30, 0.2)}, FRAUD)
    assert "ranks backwards" not in kinds(report)


# Brier scores ------------------------------------------------------------------------------------


def test_the_brier_score_of_two_classes_is_the_mean_squared_error():
    """As scikit-learn and yardstick print it."""
    y, p = cases()
    audit = few(y, {"a": p, "b": np.clip(p, 0.2, 0.8)}, FRAUD).disagreement
    assert audit is not None
    values = audit.values[audit.metrics.index("Brier score")]
    np.testing.assert_allclose(values, [np.mean((q - y) ** 2) for q in (p, np.clip(p, 0.2, 0.8))])


def test_the_brier_score_of_more_classes_says_that_it_is_a_sum():
    y, rows = three_classes()
    blunt = 0.5 * rows + 0.5 / 3
    audit = few(y, {"a": rows, "b": blunt}, Problem.zero_one(3)).disagreement
    assert audit is not None
    assert "Brier score" not in audit.metrics
    values = audit.values[audit.metrics.index("summed Brier score")]
    sums = [np.mean(np.sum((q - np.eye(3)[y]) ** 2, axis=1)) for q in (rows, blunt)]
    np.testing.assert_allclose(values, sums)
    assert audit.picks_of("summed Brier score") == ("a",)


# Unseen ------------------------------------------------------------------------------------------


def test_mistakes_that_no_posterior_can_lead_to_are_not_feared():
    problem = Problem([[0, 10, 2], [5, 10, 0]], decisions=["wait", "never", "act"])
    y, p = cases(60)
    decided = bayes_decisions(p, problem)
    report = few(y, {"m": p, "person": Decisions(decided)}, problem)
    feared, able = report.system("person").cost, report.system("m").cost
    assert feared.value == able.value
    assert feared.high > able.high  # a person may decide anything
    counts = Counts.from_decisions(np.array(problem.classes)[y], decided, problem)
    interval = profile_interval(counts, problem, reachable=[True, False, True])
    assert able.high == pytest.approx(float(interval.high))


def test_a_class_of_one_case_hardly_bounds_what_it_costs():
    """One case that is decided well: in 19 of 20 such samples up to 85 % may be decided badly."""
    y = np.array([0] * 30 + [1])
    p = np.where(y == 1, 0.6, np.linspace(0.05, 0.3, 31))
    report = few(y, {"m": p}, BINARY.with_prior([0.9, 0.1]))
    cost = report.best.cost
    assert 0 <= cost.low <= cost.value
    assert cost.high > cost.value + 0.1 * 5 * 0.85
    assert "tiny class" in kinds(report)
    many = few(np.repeat(y, 40), {"m": np.repeat(p, 40)}, BINARY.with_prior([0.9, 0.1]))
    assert many.best.cost.high < cost.value + 0.1 * 5 * 0.2
    assert "tiny class" not in kinds(many)


# Whether the data can tell -----------------------------------------------------------------------


def test_what_a_metric_s_pick_costs_more_has_an_interval():
    y, p = cases(3000)
    sharp = 1 / (1 + np.exp(-4 * np.log(p / (1 - p))))
    report = few(y, {"good": p, "sharp": sharp}, FRAUD, replicates=200)
    audit = report.disagreement
    assert audit is not None
    assert tuple(pick.metric for pick in report.picks) == audit.metrics
    for pick, regret in zip(report.picks, audit.regret, strict=True):
        assert pick.costs_more.value == pytest.approx(regret)
        assert pick.model in audit.picks_of(pick.metric)
        if pick.model == "good":
            assert pick.clear is None
            assert (pick.costs_more.low, pick.costs_more.high) == (0, 0)
    sharper = [pick for pick in report.picks if pick.model == "sharp"]
    assert sharper
    saving = report.verdict.saving_over_runner_up
    assert all(pick.costs_more == saving and pick.clear for pick in sharper)


def test_a_metric_that_picks_another_of_two_equals_is_not_blamed():
    y, p = cases(300)
    rng = np.random.default_rng(3)
    same = 1 / (1 + np.exp(-np.log(p / (1 - p)) - rng.normal(0, 0.2, 300)))
    report = few(y, {"a": p, "b": same}, FRAUD, replicates=200)
    others = [pick for pick in report.picks if pick.model != report.best.model]
    assert others
    assert not any(pick.clear for pick in others)


def test_slices_say_whether_another_system_is_clearly_cheaper_there():
    y, p = cases(3000)
    rng = np.random.default_rng(2)
    site = rng.integers(0, 2, 3000)
    first, second = (np.where(site == place, p, 1 - p) for place in (0, 1))
    mixed = np.where(rng.random(3000) < 0.7, p, first)
    report = few(y, {"mixed": mixed, "second": second}, FRAUD, by=site)
    assert report.best.model == "mixed"
    here, there = report.slices
    assert (here.cheapest, here.saving, here.clear) == ("mixed (as is)", None, None)
    assert there.cheapest == "second (as is)"
    assert there.saving is not None
    assert there.saving.low > 0
    assert there.clear is True
    spent = {cost.system: cost.cost.value for cost in there.costs}
    difference = spent["mixed (as is)"] - spent["second (as is)"]
    assert there.saving.value == pytest.approx(difference)
    alike = few(y, {"a": p, "b": p**1.02}, FRAUD, by=np.arange(3000) % 8)
    other = [group for group in alike.slices if group.clear is not None]
    assert other
    assert not all(group.clear for group in other)


def test_a_report_on_decisions_alone_speaks_of_no_posteriors_and_no_calibrator():
    y, rule = [0, 0, 1, 1] * 30, np.array([0, 1, 1, 1] * 30)
    models = {"rule": np.where(rule, "yes", "no"), "never": np.full(120, "no")}
    report = few(y, models, BINARY, calibrator=Affine())
    assert report.assumptions.calibrator is None
    assert "osteriors" not in report.to_text()
    mixed = few(y, models | {"scored": np.where(rule, 0.8, 0.1)}, BINARY, calibrator=Affine())
    assert mixed.assumptions.calibrator is not None
    assert "Posteriors decide for the most probable class." in " ".join(mixed.to_text().split())


def test_a_calibrator_by_its_name_is_refused():
    with pytest.raises(InputError, match=r"calibrator must be a Calibrator; got str 'isotonic'"):
        few([0, 1], [0.2, 0.7], BINARY, calibrator="isotonic")


@pytest.mark.parametrize(
    ("posteriors", "remedy"),
    [
        ([0.2, np.nan], "Remove the cases without a prediction first"),
        ([20.0, 70.0], "Divide percentages by 100"),
        ([-3.0, 2.0], "Pass raw scores as scores"),
    ],
)
def test_numbers_that_are_no_probabilities_are_refused_with_what_they_may_be(posteriors, remedy):
    with pytest.raises(InputError, match=f"probabilities in .* position .* {remedy}"):
        few([0, 1], posteriors, BINARY)


@pytest.mark.parametrize("n", [60, 600])
def test_a_prior_is_reported_to_differ_beyond_three_standard_errors_and_a_quarter_of_the_odds(n):
    for prior in (0.1, 0.3, 0.5, 0.8):
        for share in np.linspace(0.02, 0.98, 49):
            odds = [q / (1 - q) for q in (prior, float(share))]
            far = abs(prior - share) > 3 * np.sqrt(prior * (1 - prior) / n)
            wanted = far and max(odds) > 1.25 * min(odds)
            evidence: Any = SimpleNamespace(
                problem=Problem.zero_one(2),
                prior=np.array([1 - prior, prior]),
                shares=np.array([1 - share, share]),
                sample=SimpleNamespace(sizes=n * np.array([1 - share, share])),
            )
            assert len(list(_prior_mismatch(evidence, ()))) == wanted


def test_what_gains_save_is_no_share_of_a_cost_of_nothing():
    """Doing nothing costs nothing, and a model gains: there is no share to speak of."""
    gains = Problem([[0, 2], [0, -9]], classes=["no", "yes"], prior=[0.97, 0.03])
    y, scores = cases()
    report = evaluate(
        np.array(["no", "yes"])[y], {"m": scores}, gains, calibrator=None, replicates=10
    )
    assert report.naive.cost == 0
    assert report.verdict.saving_over_naive.value > 0
    assert "of that" not in str(report)


@pytest.mark.parametrize(
    ("kind", "recalibrated", "tuned_apart", "eligible"),
    [
        ("posteriors", False, False, False),
        ("scores", True, False, False),
        ("scores", False, True, False),
        ("scores", False, False, True),
    ],
)
def test_a_threshold_tuned_on_its_own_cases_wins_only_where_there_is_no_other_rule(
    kind, recalibrated, tuned_apart, eligible
):
    table, problem = ScoreTable([0.2, 0.6], [[3, 1], [1, 3]]), Problem.zero_one(2)
    known: dict[str, Any] = {"recalibrated": recalibrated, "tuned_apart": tuned_apart}
    rules = list(rules_of("m", kind, problem, table=table, movable=False, **known))
    assert rules[-1].eligible is eligible
    assert [rule.eligible for rule in rules[:-1]] == [True] * (len(rules) - 1)


@pytest.mark.parametrize("names", [["a", "b"], ["b", "a"], ["a"]])
def test_nothing_is_recommended_where_a_class_that_the_prior_expects_has_no_cases(names):
    """A system that decides as always deciding no does is no exception: its cost is unknown."""
    models = {"a": [0.02] * 100, "b": [0.02] * 90 + [0.3] * 10}
    problem = BINARY.with_prior([0.9, 0.1])
    ordered = {name: models[name] for name in names}
    verdict = evaluate(["no"] * 100, ordered, problem, calibrator=None).verdict
    assert verdict.reason.startswith("Deploy none: a class that the prior expects")
    assert np.isnan(verdict.saving_over_naive.value)
    assert not any("undefined EUR" in sentence for sentence in verdict.sentences)


@pytest.mark.parametrize("right", [True, False])
def test_the_verdict_names_classes_without_cases_behind_its_first_sentence(right):
    problem = Problem(1 - np.eye(4), classes=list("abcd"))
    y = ["a", "b"] * 30
    decided = y if right else y[::-1]
    sentences = evaluate(y, {"m": Decisions(decided)}, problem, calibrator=None).verdict.sentences
    assert sentences[1] == "There is no case of c or d here: this holds for as long as none comes."
    stated = evaluate(
        y, {"m": Decisions(decided)}, problem.with_prior([0.5, 0.5, 0, 0]), calibrator=None
    )
    assert not any("no case" in each for each in stated.verdict.sentences)
    # The prior rules the other classes out, whatever they cost: there is nothing to warn of.
    assert "absent class" not in {caveat.kind for caveat in stated.caveats}


def test_what_breaks_a_limit_does_so_whether_or_not_other_classes_come():
    limit = Limit.rate("x", given="b", at_most=0.3)
    costs = [[0, 1], [1, 0], [1, 1]]
    problem = Problem(costs, classes=list("abc"), decisions=["x", "y"], limits=[limit])
    y = ["a", "b"] * 100
    verdict = evaluate(y, {"m": Decisions(["x"] * 200)}, problem, calibrator=None).verdict
    assert "clearly breaks a limit" in verdict.reason
    assert not any("no case of c" in sentence for sentence in verdict.sentences)


def test_no_decision_is_the_best_where_its_cost_is_undefined():
    limits = [Limit.share(0, at_most=0.47)]  # which always deciding 0 breaks
    problem = Problem([[0, 1.3], [0.8, 0]], prior=[0.86, 0.14], limits=limits)
    (sentence,) = evaluate([0] * 40, {"m": Decisions([0, 1] * 20)}, problem).verdict.sentences
    assert sentence.startswith("Deploy none: a class that the prior expects has no")


@pytest.mark.parametrize("by_case", [False, True])
def test_a_cost_of_running_is_infinitely_much_where_nothing_can_be_gained(by_case):
    """EC without the model and perfect EC are both 0: 0.5 / 0 is infinite, and 0 / 0 undefined."""
    costs = [[0, "a"], [0, "2*a"]] if by_case else [[0, 1], [0, 2]]
    problem = Problem(costs, decisions=["x", "y"])
    models = {"free": Decisions(["x"] * 60), "paid": Decisions(["x"] * 60)}
    data = {"a": [1.0] * 60} if by_case else None
    running = {"paid": 0.5}
    report = evaluate(
        [0, 1] * 30, models, problem, data=data, running_costs=running, calibrator=None
    )
    free, paid = (report.system(name).normalized.value for name in ("free", "paid"))
    assert np.isnan(free)
    assert paid == np.inf
    lines = str(report).splitlines()
    for name in ("always x", "perfect decisions"):  # 0 / 0, as for the free system
        (line,) = (line for line in lines if line.startswith(name) and "0.000" in line)
        assert "undefined" in line


def test_a_calibrator_for_two_classes_is_named_where_there_are_three():
    problem = Problem(1 - np.eye(3), classes=list("abc"))
    rows = [[0.6, 0.2, 0.2], [0.2, 0.6, 0.2], [0.2, 0.2, 0.6]] * 40
    refused = r"calibrator must take posteriors of 3 classes; Isotonic.*of m: .*Use Select, "
    with pytest.raises(InputError, match=refused):
        evaluate(list("abc") * 40, {"m": rows}, problem, calibrator=Isotonic())
