"""The façade: rows in, a report out; every caveat is triggered once and left alone once."""

from __future__ import annotations

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
    bayes_decisions,
    best_threshold,
    evaluate,
    expected_cost,
    normalized_cost,
    shift_prior,
)
from stakes.calibration import Affine, Isotonic, VectorScaling
from stakes.report import Interval

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
    return evaluate(labels, models, problem, **{"replicates": 50, **settings})


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
    assert report.verdict.cheapest == "good"
    assert report.verdict.runner_up == "sharp"
    saved = report.system("sharp").cost.value - report.system("good").cost.value
    assert report.verdict.saving_over_runner_up is not None
    assert report.verdict.saving_over_runner_up.value == pytest.approx(saved)
    assert sum(s.probability_cheapest for s in report.systems) == pytest.approx(1)


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
    given = few(y, models, problem, posterior_prior=[0.95, 0.05])
    assert [s.name for s in given.systems] == ["good", "sharp"]


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
    assert "yes above 0.1667" in report.verdict.sentences[0]


def test_raw_scores_allow_ranks_a_tuned_threshold_or_a_calibrator():
    y, models = two_models()
    scores = Scores(np.log(models["good"] / (1 - models["good"])) * 7 + 3)
    report = few(y, {"raw": scores}, BINARY)
    assert report.systems[0].rule == "threshold tuned on these cases"
    assert report.verdict.cheapest == "raw"
    assert report.models[0].normalized_brier is None
    auc = report.models[0].auc
    assert auc is not None
    calibrated = few(y, {"raw": scores}, BINARY, calibrator=Isotonic())
    assert calibrated.system("raw (recalibrated)").candidate
    assert not calibrated.system("raw (tuned)").candidate
    with pytest.raises(InputError, match="Pass a calibrator"):
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
    assert report.disagreement is not None
    assert "accuracy" not in report.disagreement.metrics  # only one of them has posteriors


def test_posteriors_follow_their_named_columns():
    y, models = two_models()
    p = models["good"]
    swapped = Posteriors(np.stack([p, 1 - p], axis=1), classes=["fraud", "legit"])
    assert few(y, {"m": swapped}, FRAUD).systems == few(y, {"m": p}, FRAUD).systems
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"fraud": p, "legit": 1 - p})
    assert few(y, {"m": frame}, FRAUD).systems == few(y, {"m": p}, FRAUD).systems


def test_weights_count_like_repeated_rows():
    y, models = two_models(200)
    times = np.random.default_rng(5).integers(0, 3, 200)
    weighted = few(y, models, FRAUD, weights=times)
    repeated = few(np.repeat(y, times), {k: np.repeat(p, times) for k, p in models.items()}, FRAUD)
    for name in models:
        assert weighted.system(name).counts == repeated.system(name).counts
        assert weighted.system(name).cost == repeated.system(name).cost  # same redraws, too


def test_clusters_widen_the_intervals():
    y, models = two_models(200)
    clones = np.tile(y, 10), {k: np.tile(p, 10) for k, p in models.items()}
    unit = np.tile(np.arange(200), 10)
    alone = few(*clones, FRAUD, replicates=300)
    clustered = few(*clones, FRAUD, replicates=300, cluster=unit)

    def width(interval: Interval) -> float:
        return interval.high - interval.low

    ratio = width(clustered.system("good").cost) / width(alone.system("good").cost)
    assert 2.2 < ratio < 4.2  # the square root of ten, give or take
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
    assert "too few cases" in south.note


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


def test_a_prior_that_differs_from_the_data_is_said():
    y, models = two_models()
    assert "prior mismatch" in kinds(few(y, models, FRAUD.with_prior([0.99, 0.01])))
    shares = [1 - y.mean(), y.mean()]
    assert "prior mismatch" not in kinds(few(y, models, FRAUD.with_prior(shares)))


def test_absent_and_tiny_classes_are_said():
    y, models = two_models()
    assert not kinds(few(y, models, FRAUD)) & {"absent class", "tiny class"}
    only = y == 0
    legit = {k: p[only] for k, p in models.items()}
    report = few(y[only], legit, FRAUD.with_prior([0.9, 0.1]))
    assert "absent class" in kinds(report)
    assert np.isnan(report.systems[0].cost.value)
    assert "No model can be recommended" in report.verdict.sentences[0]
    rest = few(y[only], legit, FRAUD)
    assert "absent class" in kinds(rest)
    assert rest.systems[0].cost.value >= 0
    rare = np.flatnonzero(only | (np.cumsum(y) <= 5))
    assert "tiny class" in kinds(few(y[rare], {k: p[rare] for k, p in models.items()}, FRAUD))


def test_thresholds_tuned_on_the_same_cases_are_said():
    y, models = two_models()
    shown = few(y, models, BINARY)
    text = next(c.text for c in shown.caveats if c.kind == "tuned threshold")
    assert "cannot win" in text
    winner = few(y, {"raw": Scores(models["good"])}, BINARY)
    text = next(c.text for c in winner.caveats if c.kind == "tuned threshold")
    assert "will cost more" in text
    assert "tuned threshold" not in kinds(few(y, models, FRAUD))


def test_posteriors_that_nearly_sum_to_one_are_mended_and_said():
    y, models = two_models()
    p = models["good"]
    rows = np.stack([1 - p, p], axis=1)
    assert "posteriors do not sum to one" not in kinds(few(y, {"m": rows}, FRAUD))
    off = rows.copy()
    off[7] *= 1.01
    report = few(y, {"m": off}, FRAUD)
    text = next(c.text for c in report.caveats if c.kind == "posteriors do not sum to one")
    assert "1 rows" in text
    assert "1.01" in text
    assert report.systems == few(y, {"m": rows}, FRAUD).systems
    off[7] *= 1.5
    with pytest.raises(InputError, match=r"sum to one|\[0, 1\]"):
        few(y, {"m": off}, FRAUD)


def test_redraws_that_lose_a_class_and_odd_weights_and_few_clusters_are_said():
    y, models = two_models()
    assert not kinds(few(y, models, FRAUD)) & {
        "undefined replicates",
        "fractional weights",
        "few clusters",
    }
    assert "fractional weights" in kinds(few(y, models, FRAUD, weights=np.full(600, 0.5)))
    unit = np.arange(600) % 20
    assert "few clusters" in kinds(few(y, models, FRAUD, cluster=unit))
    lonely = np.zeros(600, dtype=int)
    lonely[:3] = 1
    stated = FRAUD.with_prior([0.9, 0.1])
    units = np.where(np.arange(600) < 3, 0, np.arange(600))
    assert "undefined replicates" in kinds(few(lonely, models, stated, cluster=units))


# What is refused ---------------------------------------------------------------------------------


def test_models_that_are_none_are_refused():
    y, models = two_models(50)
    with pytest.raises(InputError, match="at least one model"):
        few(y, {}, FRAUD)
    with pytest.raises(InputError, match=r"models\['m'\].*50 rows and the predictions 49"):
        few(y, {"m": models["good"][1:]}, FRAUD)
    with pytest.raises(InputError, match="must hold labels among 'approve'"):
        few(y, {"m": y}, FRAUD)
    with pytest.raises(InputError, match=r"probabilities in \[0, 1\]"):
        few(y, models["good"] * 10, FRAUD)
    with pytest.raises(InputError, match="must hold labels"):
        few(y, Posteriors(np.eye(2)[y], classes=["legit", "other"]), FRAUD)
