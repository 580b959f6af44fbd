"""The façade: rows in, a report out; every caveat is triggered once and left alone once."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from stakes import (
    Counts,
    Decisions,
    InputError,
    Posteriors,
    Problem,
    Report,
    Scores,
    ScoreTable,
    bayes_decision_indices,
    bayes_decisions,
    best_threshold,
    evaluate,
    expected_cost,
    normalized_cost,
    shift_prior,
)
from stakes.calibration import Affine, Isotonic, VectorScaling
from stakes.evaluation.caveats import _prior_mismatch
from stakes.evaluation.tally_rows import decision_changes
from stakes.inference import Measured, profile_interval
from stakes.report import TUNED, TUNED_APART

FRAUD = Problem(
    [[0, 3, 25], [180, 8, 0]],
    classes=["legit", "fraud"],
    decisions=["approve", "review", "block"],
    unit="EUR",
)
BINARY = Problem.binary(false_alarm=1, miss=5, classes=["no", "yes"], unit="EUR")


def two_models(n_cases: int = 600, share: float = 0.3, seed: int = 1):
    """Calibrated posteriors, and the same sharpened until they are overconfident."""
    rng = np.random.default_rng(seed)
    y = (rng.random(n_cases) < share).astype(int)
    log_odds = rng.normal(np.where(y == 1, 1.0, -1.0), 2**0.5) + np.log(share / (1 - share))
    good, sharp = 1 / (1 + np.exp(-log_odds)), 1 / (1 + np.exp(-4 * log_odds))
    return y, {"good": good, "sharp": sharp}


def few(y, models, problem, **settings) -> Report:
    labels = np.array(problem.classes, dtype=object)[y]
    return evaluate(labels, models, problem, **{"replicates": 50, "calibrator": None, **settings})


def width(interval: Measured) -> float:
    return interval.high - interval.low


def kinds(report: Report) -> set[str]:
    return {caveat.kind for caveat in report.caveats}


def test_costs_are_those_of_the_bayes_decisions():
    y, models = two_models()
    report = few(y, models, FRAUD)
    for name, p in models.items():
        decided = bayes_decisions(p, FRAUD)
        counts = Counts.from_decisions(np.array(FRAUD.classes)[y], decided, FRAUD)
        system = report.system(name)
        assert system.counts == counts
        assert system.cost.value == pytest.approx(float(expected_cost(counts, FRAUD)))
        assert system.normalized.value == pytest.approx(float(normalized_cost(counts, FRAUD)))
        assert system.cost.low <= system.cost.value <= system.cost.high
    assert report.verdict.cheapest == "good (as is)"
    assert report.verdict.runner_up == "sharp (as is)"
    saved = report.system("sharp").cost.value - report.system("good").cost.value
    assert report.verdict.saving_over_runner_up is not None
    assert report.verdict.saving_over_runner_up.value == pytest.approx(saved)
    assert report.verdict.contenders[0] == "good (as is)"


def test_a_stated_prior_shows_posteriors_as_they_come_and_moved():
    y, models = two_models()
    problem = FRAUD.with_prior([0.95, 0.05])
    report = few(y, models, problem)
    assert [s.name for s in report.systems] == [
        "good (as is)",
        "good (moved)",
        "sharp (as is)",
        "sharp (moved)",
    ]
    moved = shift_prior(models["good"], report.assumptions.posterior_prior, [0.95, 0.05])
    counts = Counts.from_decisions(
        np.array(FRAUD.classes)[y], bayes_decisions(moved, problem), problem
    )
    assert report.system("good (moved)").cost.value == pytest.approx(
        float(expected_cost(counts, problem))
    )
    stated = few(y, models, problem, posterior_prior=[0.95, 0.05])
    assert [s.name for s in stated.systems] == ["good (as is)", "sharp (as is)"]


def test_two_decisions_have_thresholds_and_a_tuned_one_that_cannot_win():
    y, models = two_models()
    report = few(y, models, BINARY)
    assert report.system("good (as is)").threshold == pytest.approx(1 / 6)
    tuned = report.system("sharp (tuned)")
    assert not tuned.candidate
    assert np.isnan(tuned.probability_cheapest)
    table = next(m.table for m in report.models if m.model == "sharp")
    assert table is not None
    best = best_threshold(table, BINARY)
    assert tuned.cost.value == pytest.approx(best.cost)
    assert tuned.threshold == best.threshold
    assert tuned.cost.value <= report.system("sharp (as is)").cost.value
    assert "yes above 16.7 %" in report.verdict.sentences[0]


def test_more_than_two_decisions_have_several_cuts():
    y, models = two_models()
    report = few(y, models, FRAUD)
    low, high = 3 / 175, 22 / 30  # 3(1 − p) + 8p = 180p; 3(1 − p) + 8p = 25(1 − p)
    assert report.system("good").cuts == pytest.approx((low, high))
    words = "(approve up to 1.7143 %, review up to 73.333 %, block above)"
    assert words in report.verdict.sentences[0]
    assert few(y, models, BINARY).system("good (as is)").cuts == ()


def test_raw_scores_allow_ranks_a_tuned_threshold_or_a_calibrator():
    y, models = two_models()
    scores = Scores(np.log(models["good"] / (1 - models["good"])) * 7 + 3)
    report = few(y, {"raw": scores}, BINARY)
    assert [system.rule for system in report.systems] == [TUNED_APART, TUNED]
    assert report.verdict.cheapest == "raw (tuned out of fold)"
    assert not report.system("raw (tuned)").candidate
    assert report.systems[0].cost.value >= report.systems[1].cost.value
    assert report.systems[0].threshold == report.systems[1].threshold
    assert report.models[0].normalized_brier is None
    auc = report.models[0].auc
    assert auc is not None
    calibrated = few(y, {"raw": scores}, BINARY, calibrator=Isotonic())
    assert calibrated.system("raw (recalibrated)").candidate
    assert not calibrated.system("raw (tuned)").candidate
    with pytest.raises(InputError, match="Recalibrate them"):
        few(y, {"raw": scores}, FRAUD)
    with pytest.raises(InputError, match="raw scores are for two classes"):
        few(y, {"raw": scores}, Problem.zero_one(3))


def test_recalibration_shows_what_bad_calibration_costs_in_money():
    y, models = two_models(2000)
    report = few(y, models, FRAUD, calibrator=Affine())
    wasted = {m.model: m.calibration_cost for m in report.models}
    assert wasted["sharp"] == pytest.approx(
        report.system("sharp (as is)").cost.value - report.system("sharp (recalibrated)").cost.value
    )
    assert "miscalibration" in kinds(report)
    alone = few(y, {"good": models["good"]}, FRAUD, calibrator=Affine())
    assert "miscalibration" not in kinds(alone)


def test_decisions_many_classes_and_abstention():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 400)
    raw = rng.random((400, 3)) + 1.5 * np.eye(3)[y] * rng.random((400, 1))
    p = raw / raw.sum(axis=1, keepdims=True)
    problem = Problem.zero_one(["a", "b", "c"]).with_abstention(0.3)
    decided = bayes_decisions(p, problem)
    report = few(y, {"model": p, "person": Decisions(decided)}, problem, calibrator=VectorScaling())
    assert report.system("person").cost.value == report.system("model (as is)").cost.value
    assert report.models[1].kind == "decisions"
    assert report.models[1].auc is None
    assert report.disagreement is None  # they share no metric: only one of them has posteriors
    assert Report.from_json(report.to_json()) == report


def test_posteriors_follow_their_named_columns():
    y, models = two_models()
    p = models["good"]
    swapped = Posteriors(np.stack([p, 1 - p], axis=1), classes=["fraud", "legit"])
    assert few(y, {"m": swapped}, FRAUD).systems == few(y, {"m": p}, FRAUD).systems
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"fraud": p, "legit": 1 - p})
    assert few(y, {"m": frame}, FRAUD).systems == few(y, {"m": p}, FRAUD).systems


def test_copies_count_like_repeated_rows_and_weights_do_so_for_the_estimates_only():
    y, models = two_models(200)
    times = np.random.default_rng(5).integers(0, 3, 200)
    copied, weighted = few(y, models, FRAUD, copies=times), few(y, models, FRAUD, weights=times)
    repeated = few(np.repeat(y, times), {k: np.repeat(p, times) for k, p in models.items()}, FRAUD)
    for name in models:
        of_copies, of_rows = copied.system(name), repeated.system(name)
        assert of_copies.counts == of_rows.counts
        assert of_copies.cost == of_rows.cost  # and as sure
        assert np.array_equal(weighted.system(name).counts.values, of_rows.counts.values)
        assert weighted.system(name).cost.value == of_rows.cost.value
        assert width(weighted.system(name).cost) > width(of_rows.cost)


def test_weights_of_one_value_are_the_same_as_none():
    y, models = two_models(200)
    plain = few(y, models, FRAUD)
    for value in (7.0, 0.5, 100):
        assert few(y, models, FRAUD, weights=np.full(200, value)) == plain
    some = np.arange(200) % 5 > 0
    kept = few(y[some], {k: p[some] for k, p in models.items()}, FRAUD)
    assert few(y, models, FRAUD, weights=7.0 * some).systems == kept.systems


def test_copies_are_whole_numbers_and_do_not_go_with_weights():
    y, models = two_models(200)
    ones = np.ones(200)
    assert few(y, models, FRAUD, copies=ones) == few(y, models, FRAUD)
    with pytest.raises(InputError, match=r"copies must hold whole numbers.*position 3.*weights="):
        few(y, models, FRAUD, copies=np.where(np.arange(200) == 3, 0.5, 1.0))
    with pytest.raises(InputError, match=r"weights and copies must not both be stated"):
        few(y, models, FRAUD, copies=ones, weights=ones)
    with pytest.raises(InputError, match=r"copies must add up to less than"):
        few(y, models, FRAUD, copies=np.full(200, 2.0**52))


@pytest.mark.parametrize("problem", [FRAUD, BINARY])
def test_copies_within_clusters_tell_nothing_new(problem):
    y, models = two_models(200)
    clones = np.tile(y, 10), {k: np.tile(p, 10) for k, p in models.items()}
    once, alone = few(y, models, problem), few(*clones, problem)
    clustered = few(*clones, problem, clusters=np.tile(np.arange(200), 10))
    widths = [width(report.system("good (as is)").cost) for report in (once, alone, clustered)]
    assert widths[2] > 2.2 * widths[1]  # the square root of ten, and more where no case shows it
    assert 1 < widths[2] / widths[0] < 1.3
    assert clustered.assumptions.clusters == 200
    assert clustered.system("good").cost.value == pytest.approx(alone.system("good").cost.value)


def test_slices_are_the_same_numbers_group_by_group():
    y, models = two_models(500)
    site = np.where(np.arange(500) < 490, "north", "south")
    report = few(y, models, FRAUD, by=site)
    north, south = report.slices
    part = few(y[:490], {k: p[:490] for k, p in models.items()}, FRAUD)
    assert north.group == "north"
    assert north.n_cases == 490
    assert [c.cost.value for c in north.costs] == [s.cost.value for s in part.systems]
    assert north.note is None
    assert south.note is not None
    assert "few cases (8 of legit, 2 of fraud)" in south.note


def test_the_same_seed_gives_the_same_report_and_rows_may_be_shuffled():
    y, models = two_models(300)
    report = few(y, models, FRAUD, seed=3)
    assert few(y, models, FRAUD, seed=3) == report
    assert few(y, models, FRAUD, seed=4) != report
    order = np.random.default_rng(0).permutation(300)
    shuffled = few(y[order], {k: p[order] for k, p in models.items()}, FRAUD, seed=3)
    assert shuffled.systems == report.systems


def test_reports_travel_as_json():
    y, models = two_models(300)
    for problem in (FRAUD.with_prior([0.9, 0.1]), BINARY):
        report = few(y, models, problem, by=y, calibrator=Affine())
        text = report.to_json()
        assert Report.from_json(text) == report
        assert "NaN" not in text
        assert "Infinity" not in text
    with pytest.raises(InputError, match="its schema is 'other'"):
        Report.from_json('{"schema": "other"}')
    with pytest.raises(InputError, match="must be the JSON"):
        Report.from_json("{broken")


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("", "'' cannot: it is empty"),
        ("none.json", "'none.json' cannot: No such file"),
        (Path(), "'.' cannot: it is a folder"),
        (None, "text must be text or a path"),
        ("a\0b", "cannot: embedded null"),
    ],
)
def test_what_is_no_report_and_no_file_is_refused_in_a_sentence(source, message, tmp_path):
    with pytest.raises(InputError, match=message):
        Report.from_json(source)
    (tmp_path / "r.json").write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match="not text in UTF-8"):
        Report.from_json(tmp_path / "r.json")


def test_half_a_report_is_refused_by_what_it_lacks():
    y, models = two_models(100)
    whole = json.loads(few(y, models, FRAUD).to_json())
    lacking = {name: part for name, part in whole.items() if name != "systems"}
    with pytest.raises(InputError, match=r"whole report .* report.systems is missing"):
        Report.from_json(json.dumps(lacking))
    with pytest.raises(InputError, match="it is not: "):
        Report.from_json(json.dumps({**whole, "systems": 3}))


def test_a_system_that_is_not_there_is_answered_with_those_that_are():
    y, models = two_models(100)
    report = few(y, models, FRAUD)
    with pytest.raises(InputError, match=r"none called 'zz'\. The systems are 'good \(as is\)'"):
        report.system("zz")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"problem": [[0, 1], [5, 0]]}, r"problem must be a Problem; got list .* Write Problem\("),
        ({"models": None}, "models must be an array of predictions; got NoneType"),
        ({"models": {"m": None}}, r"models\['m'\] must be an array of predictions; got NoneType"),
        ({"models": {"m": [[0.5], [0.5, 0.5]]}}, r"models\['m'\] must be an array of predictions"),
        ({"models": "m"}, "models must be an array of predictions; got str"),
        ({"seed": -1}, r"seed must be one real number that is finite and at least 0; got int -1"),
        ({"seed": 1.5}, "seed must be a whole number; got 1.5"),
        ({"replicates": 0}, "replicates must be one real number within .2, .*; got int 0"),
        ({"replicates": 2.5}, "replicates must be a whole number; got 2.5"),
    ],
)
def test_arguments_of_the_wrong_kind_are_refused_in_a_sentence(arguments, message):
    call = {"y_true": [0, 1], "models": [0.1, 0.9], "problem": Problem.zero_one(2), **arguments}
    with pytest.raises(InputError, match=message):
        evaluate(**call)


def test_reports_are_written_whole_or_not_at_all(tmp_path):
    y, models = two_models(200)
    report = few(y, models, FRAUD)
    report.to_json(tmp_path / "r.json")
    report.to_markdown(tmp_path / "r.md")
    assert Report.from_json(tmp_path / "r.json") == report
    assert sorted(p.name for p in tmp_path.iterdir()) == ["r.json", "r.md"]
    with pytest.raises(InputError, match=r"there is no folder .*missing"):
        report.to_json(tmp_path / "missing" / "r.json")


def test_hostile_names_stay_text():
    y, models = two_models(200)
    problem = Problem(
        FRAUD.costs, classes=["<script>alert(1)</script>", "a|b"], decisions=["*x*", "y", "z"]
    )
    report = few(y, {"<img src=x>": models["good"], "b": models["sharp"]}, problem)
    assert "<script>" not in report._repr_html_()
    assert "<img" not in report._repr_html_()
    markdown = report.to_markdown()
    assert "\\<img src=x\\>" in markdown
    assert "a\\|b" in markdown


@pytest.mark.slow
def test_a_large_report_stays_readable():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 10, 3000)
    models = {}
    for j in range(6):
        raw = rng.random((3000, 10)) ** 4 + (0.3 + 0.1 * j) * np.eye(10)[y]
        models[f"model {j}"] = raw / raw.sum(axis=1, keepdims=True)
    problem = Problem.zero_one(10).with_abstention(0.4)
    report = few(y, models, problem, by=rng.integers(0, 20, 3000))
    text = str(report)
    assert max(map(len, text.splitlines())) <= 100
    assert len(text.splitlines()) < 160
    assert "model 5" in report.verdict.sentences[0]


# Caveats -----------------------------------------------------------------------------------------


def test_a_prior_that_differs_from_the_data_is_reported():
    y, models = two_models()
    assert "prior mismatch" in kinds(few(y, models, FRAUD.with_prior([0.99, 0.01])))
    shares = [1 - y.mean(), y.mean()]
    assert "prior mismatch" not in kinds(few(y, models, FRAUD.with_prior(shares)))


@pytest.mark.parametrize(("odds", "warned"), [(1.2, False), (1.3, True), (1 / 1.2, False)])
def test_a_prior_differs_where_the_odds_of_a_class_differ_by_a_quarter(odds, warned):
    prior = np.array([odds / (1 + odds), 1 / (1 + odds)])
    many, problem = SimpleNamespace(sizes=np.array([1e6, 1e6])), Problem.zero_one(2)
    evidence: Any = SimpleNamespace(
        prior=prior, shares=np.array([0.5, 0.5]), sample=many, problem=problem
    )
    assert len([*_prior_mismatch(evidence, ())]) == warned


def test_absent_and_tiny_classes_are_reported():
    y, models = two_models()
    assert not kinds(few(y, models, FRAUD)) & {"absent class", "tiny class"}
    only = y == 0
    legit = {k: p[only] for k, p in models.items()}
    report = few(y[only], legit, FRAUD.with_prior([0.9, 0.1]))
    assert "absent class" in kinds(report)
    assert np.isnan(report.systems[0].cost.value)
    assert "Deploy none: a class that the prior expects" in report.verdict.sentences[0]
    rest = few(y[only], legit, FRAUD)
    assert "absent class" in kinds(rest)
    assert rest.systems[0].cost.value >= 0
    rare = np.flatnonzero(only | (np.cumsum(y) <= 5))
    assert "tiny class" in kinds(few(y[rare], {k: p[rare] for k, p in models.items()}, FRAUD))


def test_a_winner_whose_threshold_was_tuned_on_the_same_cases_is_reported():
    """There is only one positive case, which leaves no other folds."""
    rng = np.random.default_rng(2)
    y = (np.arange(100) == 99).astype(int)
    winner = few(y, {"raw": Scores(rng.normal(3 * y))}, BINARY)
    text = next(c.text for c in winner.caveats if c.kind == "tuned threshold")
    assert "will cost more" in text
    y, models = two_models()
    assert "tuned threshold" not in kinds(few(y, models, BINARY))
    assert "tuned threshold" not in kinds(few(y, {"raw": Scores(models["good"])}, BINARY))


def test_posteriors_that_nearly_sum_to_one_are_corrected_and_reported():
    y, models = two_models()
    p = models["good"]
    rows = np.stack([1 - p, p], axis=1)
    assert "posteriors do not sum to one" not in kinds(few(y, {"m": rows}, FRAUD))
    off = rows.copy()
    off[7] *= 1.01
    report = few(y, {"m": off}, FRAUD)
    text = next(c.text for c in report.caveats if c.kind == "posteriors do not sum to one")
    assert text == (
        "The posteriors of m do not sum to one in 1 row: they are off by up to 0.01, and were "
        "divided by their sum."
    )
    assert report.systems == few(y, {"m": rows}, FRAUD).systems
    off[7] *= 1.5
    with pytest.raises(InputError, match=r"sum to one|\[0, 1\]"):
        few(y, {"m": off}, FRAUD)


def test_posteriors_rounded_to_three_decimals_need_no_caveat():
    y, models = two_models()
    p = models["good"].round(3)
    rows = np.stack([1 - p, p + 0.001], axis=1)
    assert "posteriors do not sum to one" not in kinds(few(y, {"m": rows}, FRAUD))
    rows[0, 1] += 0.001
    assert "posteriors do not sum to one" in kinds(few(y, {"m": rows}, FRAUD))


def test_odd_weights_and_few_clusters_are_reported():
    y, models = two_models()
    assert not kinds(few(y, models, FRAUD)) & {"fractional weights", "few clusters"}
    odd = np.where(np.arange(600) % 2, 0.5, 1.5)
    assert "fractional weights" in kinds(few(y, models, FRAUD, weights=odd))
    for clusters, warned in ((5, True), (6, False)):
        report = few(y, models, FRAUD, clusters=np.arange(600) % clusters)
        assert ("few clusters" in kinds(report)) == warned


@pytest.mark.parametrize(("positive", "warned"), [(2, True), (5, True), (6, False)])
def test_a_class_that_lies_in_few_of_many_clusters_is_reported(positive, warned):
    """With eight patients of one class each, intervals of savings covered in 82 %."""
    patient = np.repeat(np.arange(20), 30)
    y = (patient < positive).astype(int)
    decided = np.array(["no", "yes"])[np.where(np.arange(600) % 5 == 0, 1 - y, y)]
    report = few(y, {"m": decided}, BINARY, clusters=patient)
    texts = [c.text for c in report.caveats if c.kind == "class in few clusters"]
    assert bool(texts) == warned
    assert all(f"lie in {positive} of the 20 clusters" in text for text in texts)


@pytest.mark.parametrize(("spread", "warned"), [(0.0, False), (0.5, False), (1.0, True)])
def test_clusters_of_very_unequal_size_are_reported(spread, warned):
    """Where the large ones are worse, the true cost is above the interval in 5 to 7 %."""
    sizes = 1 + np.floor(20 * np.exp(spread * np.random.default_rng(1).standard_normal(60)))
    clusters = np.repeat(np.arange(60), sizes.astype(int))
    y = np.arange(clusters.size) % 2
    decided = np.array(["no", "yes"])[np.where(np.arange(y.size) % 5 == 0, 1 - y, y)]
    report = few(y, {"m": decided}, BINARY, clusters=clusters)
    texts = [c.text for c in report.caveats if c.kind == "unequal clusters"]
    assert bool(texts) == warned
    share = 100 * sizes.max() / sizes.sum()
    assert all(f"the largest of 60 holds {share:.0f} % of the cases" in text for text in texts)


def test_a_prior_that_is_many_times_rarer_is_reported_however_small_both_are():
    rng = np.random.default_rng(4)
    y = (rng.random(4000) < 0.02).astype(int)
    p = np.clip(rng.random(4000), 0.01, 0.99)
    report = few(y, {"m": p}, FRAUD.with_prior([0.995, 0.005]))
    text = next(c.text for c in report.caveats if c.kind == "prior mismatch")
    assert "converted to the stated shares" in text
    decided = few(y, {"m": Decisions(bayes_decisions(p, FRAUD))}, FRAUD.with_prior([0.995, 0.005]))
    text = next(c.text for c in decided.caveats if c.kind == "prior mismatch")
    assert "moved" not in text


def test_mistakes_that_no_case_shows_are_inside_the_interval():
    """Of 40 cases without a miss, up to about 3 in 40 may be misses: the rule of three."""
    problem = Problem.binary(false_alarm=1, miss=200, prior=[0.98, 0.02])
    y = np.repeat([0, 1], [1960, 40])
    decided = y.copy()
    decided[:200] = 1
    report = few(y, {"m": Decisions(decided)}, problem)
    interval = profile_interval(report.best.counts, problem)
    cost = report.best.cost
    assert (cost.low, cost.high) == pytest.approx((float(interval.low), float(interval.high)))
    assert 0.02 * 200 * 2 / 40 < cost.high - cost.value < 0.02 * 200 * 4 / 40
    assert "No case of" not in " ".join(caveat.text for caveat in report.caveats)


def test_two_systems_are_not_distinguished_by_cases_that_were_never_seen():
    """No positive lies between two thresholds, so that no replicate ever holds one."""
    problem = Problem.binary(false_alarm=1, miss=50, prior=[0.98, 0.02])
    y = np.repeat([0, 1], [980, 20])
    low, high = np.ones(1000, int), np.ones(1000, int)
    low[:500], high[:600] = 0, 0
    verdict = few(y, {"low": Decisions(low), "high": Decisions(high)}, problem).verdict
    assert verdict.saving_over_runner_up is not None
    assert verdict.saving_over_runner_up.low < 0 < 0.09 < verdict.saving_over_runner_up.value
    assert (verdict.told_apart, len(verdict.contenders)) == (False, 2)
    rows = np.r_[np.arange(980), np.repeat(np.arange(980, 1000), 10)]  # enough positives to tell
    many = {"low": Decisions(low[rows]), "high": Decisions(high[rows])}
    verdict = few(y[rows], many, problem).verdict
    assert (verdict.told_apart, verdict.contenders) == (True, ("high (as decided)",))


def test_the_winner_of_many_equal_models_is_corrected():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 200)
    models = {f"m{j}": Decisions(np.where(rng.random(200) < 0.2, 1 - y, y)) for j in range(20)}
    problem = Problem.zero_one(2)
    report = few(y, models, problem)
    verdict, best = report.verdict, report.best
    assert best.cost.value + 0.02 < verdict.cost.value < 0.2 + 2 * 0.028  # standard errors
    assert verdict.cost.low == best.cost.low
    assert verdict.cost.high > best.cost.high
    assert verdict.saving_over_naive.value < report.naive.cost - best.cost.value - 0.02
    assert "as the cheapest of 20 systems" in " ".join(verdict.sentences)
    alone = few(y, {best.model: models[best.model]}, problem)
    assert alone.verdict.cost == alone.best.cost == best.cost
    assert "cheapest of" not in " ".join(alone.verdict.sentences)


def test_miscalibration_is_reported_with_a_calibrator_and_without():
    y, models = two_models(3000)
    for problem in (BINARY, FRAUD, FRAUD.with_prior([0.9, 0.1])):
        for calibrator in (None, Affine()):
            both = few(y, models, problem, calibrator=calibrator)
            texts = [c.text for c in both.caveats if c.kind == "miscalibration"]
            assert len(texts) == 1
            assert "of sharp costs" in texts[0]
            gain = "." if calibrator else "; a calibrator shows the gain."
            assert texts[0].endswith(f"recalibrate it before use{gain}")
    alone = few(y, {"sharp": models["sharp"]}, FRAUD, calibrator=Affine())
    assert alone.verdict.cheapest == "sharp (recalibrated)"
    (text,) = (c.text for c in alone.caveats if c.kind == "miscalibration")
    assert text.endswith("of its cost above perfect decisions; the recommended rule corrects this.")


@pytest.mark.slow
def test_calibrated_posteriors_rarely_seem_miscalibrated_without_a_calibrator():
    """Hindsight is corrected for its optimism: half of the time it finds nothing, else little."""
    costs, n_caveats = [], 0
    for seed in range(60):
        y, models = two_models(300, seed=seed)
        report = few(y, {"good": models["good"]}, BINARY, replicates=200)
        wasted = report.models[0].calibration_cost or 0.0
        costs.append(wasted / report.system("good (as is)").cost.value)
        n_caveats += "miscalibration" in kinds(report)
    assert n_caveats <= 4
    assert 15 <= np.count_nonzero(np.array(costs) == 0) <= 45
    assert np.mean(costs) < 0.04


def test_whole_weights_are_sampling_weights_and_the_report_names_copies():
    y, models = two_models()
    plain, weights = few(y, models, FRAUD), np.where(np.arange(600) % 2, 90, 110)
    heavy = few(y, models, FRAUD, weights=weights)
    text = next(c.text for c in heavy.caveats if c.kind == "whole weights")
    assert "each row as one case" in text
    assert "copies=" in text
    assert 0.9 < width(heavy.system("good").cost) / width(plain.system("good").cost) < 1.2
    assert heavy.assumptions.weighted
    assert not heavy.assumptions.copied
    copied = few(y, models, FRAUD, copies=weights)
    assert width(copied.system("good").cost) < 0.2 * width(plain.system("good").cost)
    assert copied.assumptions.copied
    assert not {"whole weights", "fractional weights"} & kinds(copied)
    assert "whole weights" not in kinds(few(y, models, FRAUD, weights=np.ones(600)))
    rows = few(y, models, FRAUD, copies=np.full(600, 100), clusters=np.arange(600))
    wider = width(rows.system("good").cost) / width(plain.system("good").cost)
    assert 0.7 < wider < 3  # a few expensive cases dominate, which only clusters take into account


def test_intervals_under_fractional_weights_are_those_of_inference():
    """Of equal weights the scale plays no part; unequal ones make intervals wider."""
    y, models = two_models(800)
    plain = few(y, models, FRAUD).system("good").cost
    for scale in (0.1, 1.5, 17.5):
        same = few(y, models, FRAUD, weights=np.full(800, scale)).system("good").cost
        assert (same.low, same.high) == pytest.approx((plain.low, plain.high))
    weights = np.random.default_rng(1).lognormal(0, 1, 800)
    labels, decided = np.array(FRAUD.classes)[y], bayes_decisions(models["good"], FRAUD)
    sums, squares = (
        Counts.from_decisions(labels, decided, FRAUD, weights=part)
        for part in (weights, weights**2)
    )
    interval = profile_interval(sums, FRAUD, squares=squares.values)
    cost = few(y, models, FRAUD, weights=weights).system("good").cost
    assert (cost.low, cost.high) == pytest.approx((float(interval.low), float(interval.high)))
    assert width(cost) > 1.2 * width(plain)


def test_what_was_left_out_is_reported():
    y, models = two_models()
    rare = np.r_[np.flatnonzero(y == 0), np.flatnonzero(y == 1)[:1]]
    report = few(
        y[rare], {k: p[rare] for k, p in models.items()}, FRAUD, calibrator=Affine(), clusters=None
    )
    assert [s.name for s in report.systems] == ["good (as is)", "sharp (as is)"]
    lost = next(c.text for c in report.caveats if c.kind == "left out")
    assert "was not recalibrated" in lost
    assert "there are too few cases of fraud to fit a map on some and use it on others" in lost
    assert "left out" not in kinds(few(y, models, FRAUD, calibrator=Affine()))
    beside = few(y, {**models, "raw": Scores(models["good"])}, FRAUD)
    text = next(c.text for c in beside.caveats if c.kind == "left out")
    assert text.startswith("raw: raw scores alone allow no decision among 3")


def test_the_class_in_too_few_clusters_is_named_however_many_cases_it_has():
    """All twenty cases of b are of one patient, the three of c of three others."""
    labels = np.array([*"a" * 40, *"b" * 20, *"c" * 3])
    patients = np.array([*np.arange(40), *[40] * 20, 41, 42, 43])
    rows = np.random.default_rng(0).dirichlet(np.ones(3), labels.size)
    problem = Problem.zero_one(["a", "b", "c"])
    report = evaluate(labels, rows, problem, clusters=patients, calibrator=Affine())
    lost = next(c.text for c in report.caveats if c.kind == "left out")
    assert "there are too few clusters with a case of b to fit a map on some" in lost


def test_posteriors_that_are_certain_of_a_class_are_not_moved_to_a_prior_that_rules_it_out():
    y, models = two_models()
    certain = np.where(np.arange(600) == 3, 1.0, models["good"])
    ruled_out = few(y, {"m": certain}, FRAUD.with_prior([1, 0]))
    assert "cannot be moved" in next(c.text for c in ruled_out.caveats if c.kind == "left out")
    assert Report.from_json(ruled_out.to_json()) == ruled_out
    assert "left out" not in kinds(few(y, {"m": models["good"]}, FRAUD.with_prior([1, 0])))


# Odd cases ---------------------------------------------------------------------------------------


def test_not_looking_wins_where_it_is_cheaper():
    y, models = two_models()
    bad = Posteriors(1 - models["good"], classes=["no", "yes"])
    report = few(y, {"bad": bad}, Problem.zero_one(["no", "yes"]))
    assert report.verdict.sentences[0].startswith("Deploy none: always deciding no")
    assert report.verdict.saving_over_naive.value < 0
    assert report.verdict.saving_over_naive.high < 0
    names = {part.cheapest for region in report.regions for part in region.parts}
    assert ("always no",) in names
    assert {m.high_rival for m in report.margins} | {m.low_rival for m in report.margins} > {None}


def test_rules_of_one_model_are_not_its_rivals():
    y, models = two_models()
    worse = Posteriors(np.clip(1 - models["good"], 0.01, 0.99), classes=["no", "yes"])
    report = few(y, {"a": models["good"], "b": worse}, BINARY.with_prior([0.69, 0.31]))
    assert report.verdict.model == "a"
    assert report.verdict.runner_up is not None
    assert report.verdict.runner_up.startswith("b ")
    assert len(report.verdict.contenders) > 1  # rules that the data cannot distinguish
    assert all(name.startswith("a ") for name in report.verdict.contenders)
    assert report.verdict.told_apart


def test_equally_cheap_systems_tie():
    problem = Problem([[0, 0.1], [0.3, 0]])
    y = np.repeat([0, 1], [50, 50])
    first, second = y.copy(), y.copy()
    first[:3], second[-1] = 1, 0
    report = few(y, {"A": Decisions(first), "B": Decisions(second)}, problem)
    assert report.verdict.cheapest == "A (as decided)"
    assert report.verdict.contenders == ("A (as decided)", "B (as decided)")
    assert report.verdict.sentences[2].endswith("which model is the cheapest: A or B.")
    assert report.verdict.sentences[-1] == "The runner-up, B (as decided), costs the same."
    assert report.verdict.saving_over_runner_up is not None
    assert report.verdict.saving_over_runner_up.value == 0


def test_where_no_decision_matters_nothing_is_saved_and_nothing_is_normalised():
    y, models = two_models()
    report = few(y, models, Problem([[0.1, 0.1], [0.3, 0.3]]))
    assert np.isnan(report.systems[0].normalized.value)
    assert report.verdict.saving_over_naive.value == 0
    assert "costs as little" in report.verdict.sentences[0]
    assert "nan" not in " ".join(report.verdict.sentences)


def test_one_cluster_says_nothing_about_others():
    y, models = two_models()
    report = few(y, models, FRAUD, clusters=["s"] * 600)
    cost = report.system("good").cost
    assert cost.low == 0 < cost.value < cost.high == 180
    assert "only one cluster" in next(c.text for c in report.caveats if c.kind == "few clusters")
    assert set(report.verdict.contenders) == {system.name for system in report.systems}
    site = np.arange(600) % 2
    slices = few(y, models, FRAUD, clusters=site, by=site).slices
    assert all(part.costs[0].cost.high == 180 for part in slices)
    assert all("one cluster" in (part.note or "") for part in slices)


def test_slices_keep_their_own_classes_under_a_stated_prior():
    """Each case stands for prior over share of its class; the groups average to the whole."""
    y, models = two_models(1000)
    rng = np.random.default_rng(8)
    group = np.where(rng.random(1000) < np.where(y == 1, 0.9, 0.3), "high", "low")
    prior = np.array([0.9, 0.1])
    report = few(y, models, FRAUD.with_prior(prior), by=group)
    stands = (prior / np.array([1 - y.mean(), y.mean()]))[y]
    moved = shift_prior(models["good"], report.assumptions.posterior_prior, prior)
    decided = [FRAUD.decisions.index(d) for d in bayes_decisions(moved, FRAUD)]
    costs = FRAUD.costs[y, decided]
    place = [s.name for s in report.systems].index("good (moved)")
    for part in report.slices:
        members = group == part.group
        expected = np.sum((stands * costs)[members]) / stands[members].sum()
        assert part.costs[place].cost.value == pytest.approx(expected)


def test_metrics_of_decisions_go_by_their_labels():
    costs = {"a": {"c": 5, "a": 0, "b": 1}, "b": {"c": 1, "a": 4, "b": 0}}
    problem = Problem({**costs, "c": {"c": 0, "a": 2, "b": 1}})
    rng = np.random.default_rng(3)
    y = np.array(["a", "b", "c"])[rng.integers(0, 3, 300)]
    wrong = np.array(["a", "b", "c"])[rng.integers(0, 3, 300)]
    models = {"right": Decisions(y), "wrong": Decisions(wrong)}
    actual = evaluate(y, models, problem, replicates=20).disagreement
    assert actual is not None
    accuracy = actual.values[actual.metrics.index("accuracy")]
    np.testing.assert_allclose(accuracy, [1.0, (y == wrong).mean()])


def test_names_that_collide_are_refused():
    y, models = two_models()
    p = models["good"]
    with pytest.raises(InputError, match="the names of the models"):
        few(y, {1: p, "1": p}, FRAUD)
    with pytest.raises(InputError, match="models with their rules"):
        few(y, {"a": p, "a (tuned)": Decisions(np.array(["no", "yes"])[y])}, BINARY)


def test_ranks_of_raw_scores_do_not_depend_on_the_calibrator():
    y, models = two_models()
    raw = {"raw": Scores(np.log(models["good"]))}
    plain = few(y, raw, BINARY.with_prior([0.9, 0.1])).models[0]
    repaired = few(y, raw, BINARY.with_prior([0.9, 0.1]), calibrator=Isotonic()).models[0]
    assert (plain.auc, plain.h, plain.expected_losses) == (
        repaired.auc,
        repaired.h,
        repaired.expected_losses,
    )


def test_probabilities_that_lose_against_not_looking_are_not_advised():
    rng = np.random.default_rng(6)
    y = (rng.random(3000) < 0.02).astype(int)
    p = np.clip(0.3 * rng.random(3000) + 0.3 + 0.2 * y, 0, 1)
    advice = few(y, {"m": p}, BINARY).models[0].advice
    assert advice is not None
    assert "without looking" in advice


def test_the_share_of_calibration_is_of_the_cost_above_perfect():
    y, models = two_models(2000)
    report = few(y, models, BINARY, calibrator=Affine())
    utilities = Problem(
        BINARY.costs - 10, classes=BINARY.classes, decisions=BINARY.decisions, unit="EUR"
    )
    moved = few(y, models, utilities, calibrator=Affine())
    for model, other in zip(report.models, moved.models, strict=True):
        assert model.calibration_share == pytest.approx(other.calibration_share)
        assert model.calibration_cost == pytest.approx(other.calibration_cost)


def test_of_a_single_model_the_rules_are_compared():
    for n_cases, told in ((80, False), (3000, True)):
        y, models = two_models(n_cases)
        verdict = few(y, {"m": models["sharp"]}, BINARY, calibrator=Affine()).verdict
        assert verdict.told_apart == told == (len(verdict.contenders) == 1)
        assert verdict.runner_up is not None
        words = "it clearly costs more" if told else "the data cannot tell the two apart"
        assert verdict.sentences[-1].startswith(f"The runner-up, {verdict.runner_up}, costs ")
        assert verdict.sentences[-1].endswith(f"{words}.")


def test_groups_that_the_prior_rules_out_have_no_cheapest_system():
    y = np.array([0, 1])
    problem = BINARY.with_prior([0, 1])
    first, second = few(y, np.array([0.2, 0.7]), problem, by=["a", "b"]).slices
    assert (first.group, second.group) == ("a", "b")
    assert first.cheapest is None or not np.isnan(first.costs[0].cost.value)


def test_groups_are_resampled_as_the_whole_is():
    """Weights that are whole in one group only are weights there, too, and no numbers of cases."""
    y, models = two_models(200)
    group = np.arange(200) % 2
    weights = np.where(group == 0, 4.0, 0.5)
    near = np.where(group == 0, 4.001, 0.5)
    (part, _), (other, _) = (
        few(y, models, FRAUD, by=group, weights=w, replicates=1000).slices for w in (weights, near)
    )
    assert width(part.costs[0].cost) == pytest.approx(width(other.costs[0].cost), rel=0.1)


def test_rows_without_weight_play_no_part():
    y, models = two_models(300)
    weights = np.where(np.arange(300) < 200, 1.0, 0.0)
    group = np.where(np.arange(300) < 200, "seen", "unseen")
    settings = {"calibrator": Isotonic(), "by": group}
    report = few(y, models, FRAUD, weights=weights, **settings)
    part = few(y[:200], {k: p[:200] for k, p in models.items()}, FRAUD, calibrator=Isotonic())
    assert [system.cost for system in report.systems] == [system.cost for system in part.systems]
    assert [group.group for group in report.slices] == ["seen"]
    assert report.assumptions.n_rows == 300
    few_positives = np.r_[np.zeros(50, int), np.ones(50, int)]
    weights = np.r_[np.ones(52), np.zeros(48)]
    p = np.clip(0.3 + 0.4 * few_positives + np.linspace(-0.2, 0.2, 100), 0, 1)
    rare = few(few_positives, {"m": p}, BINARY, weights=weights, calibrator=Isotonic())
    assert rare.assumptions.calibrator == "Isotonic(), out of fold (2 folds, mean of 5 partitions)"


def test_weights_of_any_size_are_read_or_refused():
    y, models = two_models(100)
    huge = few(y, models, FRAUD, weights=np.full(100, 1e18))
    assert huge.system("good").cost.value == pytest.approx(
        few(y, models, FRAUD).systems[0].cost.value
    )
    for size in (1e-200, 1e200):
        with pytest.raises(InputError, match=r"whose squares? (are|is a) numbers?"):
            few(y, models, FRAUD, weights=np.full(100, size))


@pytest.mark.parametrize("power", [-330, 320])
def test_fractional_weights_count_alike_at_every_scale_that_is_read(power):
    """Their squares add up to less than 1e-100, or to more than 1e100. Powers of two are exact."""
    y, models = two_models(100)
    weights = np.random.default_rng(2).lognormal(0, 1, 100)
    weights[:3] *= 1e-55  # so light that their squares are nothing beside the others
    plain = few(y, models, FRAUD, weights=weights)
    moved = few(y, models, FRAUD, weights=weights * 2.0**power)
    for system, other in zip(plain.systems, moved.systems, strict=True):
        assert (system.name, system.cost) == (other.name, other.cost)


def test_what_cannot_be_recalibrated_or_moved_is_left_out():
    y, models = two_models()
    ruled_out = few(y, models, FRAUD.with_prior([1, 0]), calibrator=Affine())
    texts = [c.text for c in ruled_out.caveats if c.kind == "left out"]
    assert any("the prior rules out a class" in text for text in texts)
    assert ruled_out.assumptions.calibrator == "Affine() could not be fitted"
    stuck = few(y, models, FRAUD.with_prior([0.9, 0.1]), posterior_prior=[1, 0])
    text = next(c.text for c in stuck.caveats if c.kind == "left out")
    assert "cannot be moved" in text
    with pytest.raises(InputError, match="raw scores, which the model raw has"):
        few(y, {"raw": Scores(7 * models["good"])}, BINARY, calibrator=Affine())


def test_calibration_that_nobody_looked_at_is_reported():
    y, models = two_models()
    assert "calibration unchecked" not in kinds(few(y, models, FRAUD))
    assert "calibration unchecked" in kinds(few(y, models, FRAUD, clusters=np.arange(600) // 2))
    three = np.random.default_rng(0).dirichlet([1, 1, 1], 90)
    report = few(np.arange(90) % 3, {"m": three}, Problem.zero_one(3))
    [text] = [c.text for c in report.caveats if c.kind == "calibration unchecked"]
    assert text.startswith("Whether the posteriors of m are calibrated was not checked")
    assert text.endswith(
        ": unless they are recalibrated, that is done only for two classes and "
        "independent cases of equal weight."
    )


@pytest.mark.parametrize("n_classes", [2, 3])
def test_calibration_that_an_absent_class_leaves_unchecked_asks_for_no_calibrator(n_classes):
    """A calibrator could not be fitted either."""
    posteriors = np.random.default_rng(0).dirichlet(np.ones(n_classes), 90)
    y, problem = np.arange(90) % (n_classes - 1), Problem.zero_one(n_classes)
    [text] = [
        c.text for c in few(y, posteriors, problem).caveats if c.kind == "calibration unchecked"
    ]
    assert text.endswith(f"was not checked: there are no cases of {n_classes - 1}.")
    fitted = few(y, posteriors, problem, calibrator=Affine())
    assert fitted.assumptions.calibrator == "Affine() could not be fitted"


def test_a_single_case_has_a_cost_and_no_interval():
    report = few(np.array([1]), np.array([0.7]), BINARY)
    assert "undefined" not in " ".join(report.verdict.sentences)
    assert "nan" not in " ".join(report.verdict.sentences)


@pytest.mark.parametrize("seed", range(20))
def test_every_change_of_the_decision_is_found_between_milestones(seed):
    rng = np.random.default_rng(seed)
    problem = Problem(np.round(rng.uniform(0, 10, (2, rng.integers(2, 6))), seed % 3))
    scores = np.unique(np.round(rng.beta(0.5, 0.5, 20_000), 3 + seed % 5))
    moving = None if seed % 2 else (np.array([0.7, 0.3]), np.array([0.95, 0.05]))
    posteriors = scores if moving is None else shift_prior(scores, *moving)
    changes = np.diff(bayes_decision_indices(posteriors, problem)) != 0
    actual = np.concatenate([np.empty(0), *decision_changes(scores, problem, moving)])
    np.testing.assert_array_equal(actual, scores[:-1][changes])


# What is refused ---------------------------------------------------------------------------------


def test_labels_of_the_other_kind_and_numbers_as_text_say_so():
    """The classes legit and fraud, the decisions approve, review and block."""
    y, models = two_models(50)
    labels, p = np.array(FRAUD.classes)[y], models["good"]
    turned = Problem(FRAUD.costs.T, classes=FRAUD.decisions, decisions=FRAUD.classes)
    transposed = (
        r"^y_true must .* These are the problem's decisions: is this another column, or are"
    )
    with pytest.raises(InputError, match=transposed):
        evaluate(labels, np.full((50, 3), 1 / 3), turned)
    letters = Problem([[0, 1], [5, 0]], classes=["a", "b"], decisions=[0, 1])
    with pytest.raises(InputError, match=r"Rename them"):  # True is not the decision 1
        evaluate([True, False], [0.1, 0.8], letters)
    with pytest.raises(InputError, match=transposed):
        Counts.from_decisions(labels, labels, turned)
    predicted = "These are classes; the problem decides 'approve', 'review', 'block': pass such dec"
    with pytest.raises(InputError, match=predicted):
        evaluate(labels, {"m": labels}, FRAUD)
    with pytest.raises(InputError, match=r"numbers as text: convert them to float\.$"):
        evaluate(labels, {"m": p.astype(str)}, FRAUD)
    with pytest.raises(InputError, match=r"convert them to float and divide them by 100\.$"):
        evaluate(labels, {"m": [f"{100 * x:.2f} %" for x in p]}, FRAUD)
    with pytest.raises(InputError, match="Rename them, or add them to the problem"):
        evaluate(labels, {"m": ["other"] * 50}, FRAUD)
    with pytest.raises(InputError, match="Rename them, or add them to the problem"):
        evaluate(y, {"m": ["3"] * 50}, Problem([[0, 1], [1, 0]], decisions=["1", "2"]))


def test_invalid_models_are_refused():
    y, models = two_models(50)
    with pytest.raises(InputError, match="at least one model"):
        few(y, {}, FRAUD)
    with pytest.raises(InputError, match=r"models\['m'\].*50 rows and the predictions 49"):
        few(y, {"m": models["good"][1:]}, FRAUD)
    with pytest.raises(InputError, match="must hold labels among 'approve'"):
        few(y, {"m": y}, FRAUD)
    with pytest.raises(InputError, match=r"probabilities in \[0, 1\]"):
        few(y, models["good"] * 10, FRAUD)
    with pytest.raises(InputError, match="must be those of the problem"):
        few(y, Posteriors(np.eye(2)[y], classes=["legit", "other"]), FRAUD)


@pytest.mark.parametrize("weighted", [False, True])
def test_a_threshold_of_minus_infinity_takes_scores_of_minus_infinity_too(weighted):
    """Log-odds of probabilities of zero are such scores; a finite score below all is the twin."""
    y, rng = np.array([0, 1] * 50), np.random.default_rng(0)
    scores = np.where(np.arange(100) < 20, -np.inf, y + rng.normal(size=100))
    weights = rng.integers(1, 4, 100) / 2 if weighted else None
    problem = Problem.binary(false_alarm=1, miss=9)
    best = best_threshold(ScoreTable.from_scores(y, scores, weights=weights), problem)
    report, twin = (
        evaluate(y, Scores(shown), problem, weights=weights, calibrator=None)
        for shown in (scores, np.maximum(scores, -1e9))
    )
    tuned = report.system("model (tuned)")
    assert tuned.threshold == best.threshold == -np.inf
    assert tuned.counts.values[:, 0].sum() == 0
    assert tuned.cost.value == pytest.approx(best.cost)
    assert [each.cost for each in report.systems] == [each.cost for each in twin.systems]
    assert report.verdict.sentences == twin.verdict.sentences
