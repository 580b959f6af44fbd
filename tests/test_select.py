"""A calibrator that chooses, and the folds that all models of an evaluation share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize
from scipy.special import expit, log_softmax, logit, softmax

from stakes import Decisions, InputError, Posteriors, Problem, Scores, evaluate
from stakes.calibration import (
    Affine,
    CalibrationMap,
    Calibrator,
    Isotonic,
    Logistic,
    Select,
    VectorScaling,
    cross_calibrate,
    from_json,
)
from stakes.calibration.crossfit import CheckedRows
from stakes.calibration.logistic import fit_lines, fit_logistic
from stakes.calibration.select import parts_fitted
from stakes.report import RECALIBRATED

FRAUD = Problem([[0, 3, 25], [180, 8, 0]])
BINARY = Problem.binary(false_alarm=1, miss=5)


def two_classes(n_cases: int, seed: int, share: float = 0.3):
    """Classes and calibrated log-odds."""
    rng = np.random.default_rng(seed)
    y = (rng.random(n_cases) < share).astype(int)
    return y, rng.normal(np.where(y == 1, 1.0, -1.0), 2**0.5) + logit(share)


def bent(odds):
    return np.where(odds < -1, 3 * odds + 2, 0.3 * odds - 0.7)


def many_classes(n_cases: int, size: int, seed: int):
    """Classes, and logits of calibrated posteriors."""
    rng = np.random.default_rng(seed)
    logits = rng.normal(0, 1.5, (n_cases, size))
    chances = softmax(logits, axis=1).cumsum(axis=1)
    return (chances > rng.random((n_cases, 1))).argmax(axis=1), logits


@dataclass(frozen=True, eq=False)
class Failing(Calibrator):
    """A candidate that nothing can be fitted with."""

    def fit(self, scores: Any, y: Any, **options: Any) -> CalibrationMap:
        raise InputError("scores must be others; these are not. Pass others.")


# Fits of several parts at once --------------------------------------------------------------------


@pytest.mark.parametrize("prior", [None, [0.9, 0.1]])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("calibrator", [Affine(), Logistic()], ids=["affine", "logistic"])
def test_parts_that_are_fitted_at_once_have_the_maps_of_each_alone(calibrator, weighted, prior):
    y, odds = two_classes(300, 2, share=0.1)
    scores = 0.4 * odds + 1
    scores = expit(scores).round(2) if isinstance(calibrator, Affine) else scores.round(1)  # ties
    weights = np.random.default_rng(3).lognormal(0, 1, y.size) if weighted else None
    shares = None if prior is None else np.array(prior)
    rows = CheckedRows(scores, y, weights, shares, 2)
    parts = np.arange(y.size) % 4 != np.arange(4)[:, None]
    feature = logit(scores) if isinstance(calibrator, Affine) else scores
    weights_of = np.stack(rows.by_class(parts), axis=1)
    assert fit_lines(feature, *rows.by_class(parts))[2].all()
    maps: Any = parts_fitted(calibrator, rows, parts)
    for fitted, part, by_class in zip(maps, parts, weights_of, strict=True):
        alone: Any = rows.fitted(calibrator, part, None)
        general = fit_logistic(feature[None, part], *by_class[:, part])
        assert fitted.slope == pytest.approx(general.slopes[0], rel=1e-9)
        assert fitted.intercept == pytest.approx(general.intercept, rel=1e-9, abs=1e-12)
        assert fitted.slope == pytest.approx(alone.slope, rel=1e-9)
        assert fitted.intercept == pytest.approx(alone.intercept, rel=1e-9, abs=1e-12)
        assert (fitted.classes, fitted.converged) == (alone.classes, alone.converged)
        assert_allclose(fitted(scores), alone(scores), rtol=1e-9)


@pytest.mark.parametrize("prior", [None, [0.9, 0.1]])
@pytest.mark.parametrize("weighted", [False, True])
def test_isotonic_maps_of_parts_are_those_of_each_alone(weighted, prior):
    y, odds = two_classes(300, 2, share=0.1)
    scores = odds.round(1)
    weights = np.random.default_rng(3).lognormal(0, 1, y.size) if weighted else None
    rows = CheckedRows(scores, y, weights, None if prior is None else np.array(prior), 2)
    parts = np.arange(y.size) % 4 != np.arange(4)[:, None]
    maps: Any = parts_fitted(Isotonic(), rows, parts)
    for fitted, part in zip(maps, parts, strict=True):
        alone: Any = rows.fitted(Isotonic(), part, None)
        assert_allclose(fitted.knots, alone.knots)
        assert_allclose(fitted.values, alone.values, rtol=1e-12)


def test_parts_without_an_optimum_are_fitted_alone():
    """One threshold separates the classes of the second part; of the third all scores are equal."""
    scores = np.array([0.2, 0.8, 0.4, 0.6, 0.2, 0.8, 0.3, 0.3])
    y = np.array([1, 0, 0, 1, 0, 1, 0, 1])
    parts = np.array([[1, 1, 1, 1, 1, 1, 0, 0], [0, 0, 1, 1, 1, 1, 0, 0], [0, 0, 0, 0, 0, 0, 1, 1]])
    rows = CheckedRows(scores, y, None, None, 2)
    converged = fit_lines(logit(scores), *rows.by_class(parts > 0))[2]
    assert converged.tolist() == [True, False, False]
    maps: Any = parts_fitted(Affine(), rows, parts > 0)
    for fitted, part in zip(maps, parts > 0, strict=True):
        alone: Any = rows.fitted(Affine(), part, None)
        assert fitted.converged == alone.converged
        assert fitted.slope == pytest.approx(alone.slope, rel=1e-9, abs=1e-12)


def test_two_stated_folds_leave_nothing_to_judge_by_and_the_first_candidate_is_chosen():
    y, odds = two_classes(200, 4)
    folds = np.arange(200) % 2
    rows = CheckedRows(expit(odds), y, None, None, 2, folds=folds)
    for fold, fitted in enumerate(rows.fold_maps(Select(), folds, None)):
        alone: Any = rows.fitted(Affine(), folds != fold, None)
        assert fitted.kind == "affine"
        assert_allclose(fitted(rows.scores), alone(rows.scores))


@pytest.mark.parametrize("grouped", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_maps_of_folds_are_chosen_and_fitted_as_those_of_each_alone(weighted, grouped):
    """The folds of one partition do not all choose the same candidate."""
    y, odds = two_classes(400, 3)
    scores = expit(np.where(odds < -1, 1.6 * odds + 0.6, odds))
    scores[:3] = 0.0, 1.0, 1e-20
    weights = np.random.default_rng(1).integers(0, 3, y.size) * 0.5 if weighted else None
    owners = np.arange(y.size) // 3 if grouped else None
    rows, number = CheckedRows(scores, y, weights, np.array([0.7, 0.3]), 2), np.arange(y.size) % 7
    if grouped:
        number = np.arange(y.size) // 3 % 7
    maps = rows.fold_maps(Select(), number, owners)
    posteriors = rows.mapped(maps, number)
    for fold, fitted in enumerate(maps):
        alone: Any = rows.fitted(Select(), number != fold, owners)
        assert fitted.kind == alone.kind
        assert_allclose(fitted(scores), alone(scores), rtol=1e-9)
        assert_allclose(posteriors[number == fold], alone(scores[number == fold]), rtol=1e-9)
    assert {fitted.kind for fitted in maps} == {"affine", "isotonic"}


@pytest.mark.parametrize("calibrator", [Affine(), Logistic(), Isotonic()])
def test_each_case_is_mapped_by_the_map_of_its_fold(calibrator):
    y, odds = two_classes(120, 5)
    scores, number = expit(odds), np.arange(120) % 3
    scores[:2] = 0.0, 1e-300  # log-odds beyond the limits of the maps that have not seen them
    rows = CheckedRows(scores, y, None, None, 2)
    maps = rows.fold_maps(calibrator, number, None)
    mapped = rows.mapped(maps, number)
    assert_allclose(mapped, [maps[fold]([q])[0] for q, fold in zip(scores, number, strict=True)])


@pytest.mark.parametrize(
    "feature",
    [np.zeros(4), 1e300 * np.array([1, -1, 1, -1]), 1e6 + np.spacing(1e6) * np.array([0, 1, 1, 0])],
)
def test_a_feature_that_is_constant_or_huge_is_left_to_the_fit_of_one(feature):
    y = np.array([0.0, 0.0, 1.0, 1.0])
    assert not fit_lines(feature, (1 - y)[None], y[None])[2].any()


# The choice --------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_cases", [1500, 12_000])
def test_lines_are_left_to_affine_maps_and_bends_to_isotonic_ones(n_cases):
    y, odds = two_classes(n_cases, 0)
    assert Select().fit(expit(2 * odds + 1), y) == Affine().fit(expit(2 * odds + 1), y)
    assert Select().fit(expit(bent(odds)), y) == Isotonic().fit(expit(bent(odds)), y)
    assert Select().fit(odds - 3, y) == Logistic().fit(odds - 3, y)
    raw = Scores(expit(odds))  # says that it is no posterior, whose log-odds would be taken
    assert Select().fit(raw, y) in (Logistic().fit(raw, y), Isotonic().fit(raw, y))
    pairs = np.stack([expit(-bent(odds)), expit(bent(odds))], axis=1)
    assert_allclose(
        Select().fit(pairs, y)(pairs)[:, 1], Isotonic().fit(pairs[:, 1], y)(pairs[:, 1])
    )


def test_slopes_that_differ_are_left_to_vector_scaling():
    y, logits = many_classes(3000, 3, 0)
    alike, unlike = softmax(2 * logits, axis=1), softmax(logits * [3, 1, 0.3], axis=1)
    assert Select().fit(alike, y) == Affine().fit(alike, y)
    assert Select().fit(unlike, y) == VectorScaling().fit(unlike, y)


def test_the_choice_is_the_plain_cross_validated_log_loss():
    """Slow twin, under a prior and weights: fold by fold, case by case."""
    from stakes.calibration.crossfit import CheckedRows
    from stakes.calibration.select import _loss

    rng = np.random.default_rng(2)
    y, odds = two_classes(60, 4)
    q, weights, prior = expit(odds).round(1), rng.integers(1, 4, 60).astype(float), [0.8, 0.2]
    number = np.arange(60) % 3
    shares = np.array([weights[y == k].sum() for k in (0, 1)])
    for calibrator in (Affine(), Isotonic()):
        total = 0.0
        for fold in range(3):
            rest = number != fold
            fitted = calibrator.fit(q[rest], y[rest], weights=weights[rest], prior=prior)
            for i in np.flatnonzero(~rest):
                p = float(fitted(q[[i]])[0])
                chance = max(p if y[i] else 1 - p, 0.5 / 60)
                total -= weights[i] * prior[y[i]] / shares[y[i]] * np.log(chance)
        rows = CheckedRows(q, y, weights, np.array(prior), 2)
        assert _loss(calibrator, rows, number, 0.5 / 60) == pytest.approx(total)


def test_a_chosen_map_is_the_candidates_own_and_travels():
    y, odds = two_classes(300, 1)
    labels = np.array(["no", "yes"])[y]
    options: dict[str, Any] = {"classes": ["no", "yes"], "prior": [0.9, 0.1]}
    weights = np.random.default_rng(0).integers(0, 3, 300)
    fitted = Select().fit(expit(2 * odds), labels, weights=weights, **options)
    assert fitted == Affine().fit(expit(2 * odds), labels, weights=weights, **options)
    assert from_json(fitted.to_json()) == fitted
    assert repr(Select()) == "Select()"
    assert repr(Select([Affine()])) == "Select([Affine()])"
    assert Select([Affine()]) == Select((Affine(),)) != Select()


def test_candidates_that_fail_are_dropped_and_none_is_reported():
    y, odds = two_classes(200, 2)
    q = expit(odds)
    assert Select([Failing(), Affine()]).fit(q, y) == Affine().fit(q, y)
    assert Select([Failing(), Isotonic(), Affine()]).fit(q, y).kind in ("affine", "isotonic")
    with pytest.raises(InputError, match=r"none can\. Failing\(\): scores must be others"):
        Select([Failing()]).fit(q, y)
    infinite = np.where(odds > 2, np.inf, odds)
    assert Select().fit(infinite, y).kind == "isotonic"
    alone = Select().fit(q, [1] + [0] * 199)  # one case cannot be left out
    assert alone.kind == "affine"
    for wrong in ([], [Affine], Affine(), "affine"):
        with pytest.raises(InputError, match="candidates must be"):
            Select(wrong)  # type: ignore[arg-type]


def test_groups_stay_whole_while_choosing():
    """Cases that occur three times look like different cases unless they stay together."""
    kinds: dict[str, list[str]] = {"apart": [], "together": []}
    for seed in range(12):
        y, odds = two_classes(60, seed)
        q, y, groups = np.repeat(expit(odds), 6), np.repeat(y, 6), np.repeat(np.arange(60), 6)
        kinds["apart"].append(Select().fit(q, y).kind)
        kinds["together"].append(Select().fit(q, y, clusters=groups).kind)
    assert kinds["apart"].count("isotonic") >= 10
    assert kinds["together"].count("affine") >= 10


def test_many_classes_have_fewer_candidates():
    for size, kind in ((20, "vector"), (40, "temperature")):
        y, logits = many_classes(40 * size, size, 1)
        y[:size] = np.arange(size)
        assert Select().fit(softmax(2 * logits, axis=1), y).kind == kind


# Affine maps of many classes ---------------------------------------------------------------------


@pytest.mark.parametrize("prior", [None, [0.2, 0.5, 0.3]])
def test_affine_maps_of_three_classes_have_the_least_log_loss_of_all_with_one_slope(prior):
    y, logits = many_classes(400, 3, 3)
    weights = np.random.default_rng(0).integers(1, 4, 400).astype(float)
    logs = log_softmax(2 * logits + [1, 0, -1], axis=1)
    fitted: Any = Affine().fit(np.exp(logs), y, weights=weights, prior=prior)
    heavy = weights
    if prior is not None:
        heavy = weights * (prior / np.bincount(y, weights))[y]

    def loss(parameters) -> float:
        fitted = log_softmax(parameters[0] * logs + np.append(parameters[1:], 0.0), axis=1)
        return -heavy @ fitted[np.arange(400), y] / heavy.sum()

    best = minimize(loss, [1.0, 0.0, 0.0], method="BFGS").x
    assert fitted.converged
    assert_allclose(fitted.slopes, best[0], rtol=1e-4)
    assert_allclose(np.diff(fitted.intercepts), np.diff(np.append(best[1:], 0.0)), atol=1e-4)
    shares = np.bincount(y, heavy) / heavy.sum()
    assert_allclose(heavy @ fitted(np.exp(logs)) / heavy.sum(), shares, rtol=1e-9)
    assert from_json(fitted.to_json()) == fitted


def test_affine_maps_of_classes_that_can_be_separated_are_bounded():
    y = np.arange(30) % 3
    q = np.full((30, 3), 0.1)
    q[np.arange(30), y] = 0.8
    fitted: Any = Affine().fit(q, y)
    assert not fitted.converged
    assert np.isfinite(fitted.slopes).all()
    assert (fitted(q).argmax(axis=1) == y).all()


# Folds -------------------------------------------------------------------------------------------


def test_stated_folds_are_kept_and_shared():
    y, odds = two_classes(90, 5)
    q, folds = expit(odds), np.array(["a", "b", "c"])[np.arange(90) % 3]
    mapped = cross_calibrate(q, y, Affine(), folds)
    for fold in "abc":
        rest = folds != fold
        assert_allclose(mapped[~rest], Affine().fit(q[rest], y[rest])(q[~rest]))
    with pytest.raises(InputError, match="rng must be"):
        cross_calibrate(q, y, Affine(), 3)
    with pytest.raises(InputError, match="all cases are in fold 1"):
        cross_calibrate(q, y, Affine(), np.ones(90, dtype=int))
    with pytest.raises(InputError, match="folds must keep clusters whole"):
        cross_calibrate(q, y, Affine(), folds, clusters=np.arange(90) // 2)
    with pytest.raises(InputError, match="y has 90 rows"):
        cross_calibrate(q, y, Affine(), folds[:80])


def test_masked_values_are_refused_as_fits_refuse_them():
    y, odds = two_classes(60, 6)
    rng = np.random.default_rng(0)
    masked = np.ma.masked_array(expit(odds), mask=np.arange(60) == 7)
    pairs = np.ma.stack([1 - masked, masked], axis=1)
    for scores in (masked, Scores(masked), Posteriors(masked), pairs, Posteriors(pairs)):
        with pytest.raises(InputError, match="scores must hold"):
            cross_calibrate(scores, y, Select(), 3, rng=rng)
        with pytest.raises(InputError, match="scores must hold"):
            Select().fit(scores, y)
    whole = np.ma.masked_array(expit(odds), mask=False)
    first, second = (
        cross_calibrate(q, y, Affine(), 3, rng=np.random.default_rng(0))
        for q in (whole, expit(odds))
    )
    assert np.array_equal(first, second)


# In an evaluation --------------------------------------------------------------------------------


def issue_case():
    rng = np.random.default_rng(3)
    y = (rng.random(2000) < 0.1).astype(int)
    return y, expit(2 * (rng.normal(np.where(y == 1, 1.2, -1.2), 1.55) - 2.2))


@pytest.mark.parametrize("calibrator", [Affine(), None])
def test_equal_predictions_have_equal_numbers_wherever_they_stand(calibrator):
    """3.2115 and 3.2055 were shown for one model under two names, of which one was deployed."""
    y, b = issue_case()
    options: dict[str, Any] = {"calibrator": calibrator, "replicates": 50}
    models = {"a": b.copy(), "b": b, "c": b**2}
    both = evaluate(y, models, FRAUD, **options)
    turned = evaluate(y, dict(reversed(models.items())), FRAUD, **options)
    # Another model deals the folds anew, unless a key keeps them.
    options["key"] = np.arange(2000)
    beside, alone = (evaluate(y, some, FRAUD, **options) for some in (models, {"b": b}))
    for tag in ("as is", "recalibrated") if calibrator else ("as is",):
        first, second = (both.system(f"{name} ({tag})").cost for name in "ab")
        assert first == second == turned.system(f"b ({tag})").cost
        first, second = (report.system(f"b ({tag})").cost for report in (beside, alone))
        assert first.value == second.value
    wasted = {model.model: model.calibration_cost for model in both.models}
    assert wasted["a"] == wasted["b"]
    wasted = {model.model: model.calibration_cost for model in (*beside.models, *alone.models)}
    assert wasted["a"] == wasted["b"]
    assert {system.name: system.cost for system in turned.systems} == {
        system.name: system.cost for system in both.systems
    }


def test_raw_scores_share_the_folds_with_thresholds_that_are_tuned():
    y, b = issue_case()
    scores = {"a": Scores(np.log(b)), "b": Scores(np.log(b)), "c": Scores(b)}
    report = evaluate(y, scores, BINARY, calibrator=None, replicates=20)
    costs = {report.system(f"{name} (tuned out of fold)").cost.value for name in "abc"}
    assert len(costs) == 1


@pytest.mark.slow
@pytest.mark.parametrize("calibrator", [Select(), Isotonic(), Logistic()])
def test_infinite_scores_are_recalibrated_too(calibrator):
    """The fold that holds them is mapped by folds without; the rank above all others stays."""
    y, odds = two_classes(300, 2)
    sure = np.where(odds == odds.max(), np.inf, odds)
    finite, infinite = (
        evaluate(y, Scores(scores), FRAUD, calibrator=calibrator, replicates=5, key=np.arange(300))
        for scores in (odds, sure)
    )
    assert [system.counts for system in finite.systems] == [
        system.counts for system in infinite.systems
    ]
    assert infinite.caveats == finite.caveats
    only = Scores(np.where(odds > 0, np.inf, -np.inf))
    assert evaluate(y, only, FRAUD, calibrator=calibrator, replicates=5).systems[0].cost.value > 0


def test_missing_calibration_is_looked_for_by_default():
    y, odds = two_classes(800, 7)
    report = evaluate(y, {"sharp": expit(4 * odds), "raw": Scores(odds)}, FRAUD, replicates=50)
    assert report.assumptions.calibrator == "Select(), out of fold (5 folds, mean of 5 partitions)"
    best: Any = report.best
    assert best.rule == RECALIBRATED
    gap = [report.system(f"{name} (recalibrated)").cost.value for name in ("sharp", "raw")]
    assert gap[0] == pytest.approx(gap[1], rel=1e-6)  # both are lines on the same log-odds
    assert "miscalibration" in {caveat.kind for caveat in report.caveats}
    plain = evaluate(y, {"sharp": expit(4 * odds)}, FRAUD, calibrator=None, replicates=50)
    assert plain.assumptions.calibrator is None
    assert len(plain.systems) == 1


@pytest.mark.slow
def test_the_default_never_raises_where_none_would_not():
    rng = np.random.default_rng(0)
    y, odds = two_classes(40, 8)
    three = rng.dirichlet([1, 1, 1], 40)
    lonely = np.where(np.arange(40) < 20, 0, 1)
    worlds: list[tuple[Any, Any, Problem, dict[str, Any]]] = [
        (np.zeros(40, dtype=int), expit(odds), BINARY, {}),
        ([1] + [0] * 39, expit(odds), BINARY, {}),
        ([1, 1] + [0] * 38, expit(odds), BINARY, {}),
        (y, np.full(40, 0.5), BINARY, {}),
        (y, y.astype(float), BINARY, {}),
        (y, 1.0 - y, BINARY, {}),
        (y, np.where(odds > 0, 1.0, 0.0), BINARY.with_prior([0.999, 0.001]), {}),
        (y, expit(odds), BINARY.with_prior([1, 0]), {}),
        (y, Scores(np.where(odds > 0, np.inf, -np.inf)), BINARY, {}),
        (y, Scores(1e300 * odds), BINARY, {}),
        (y, expit(odds), BINARY, {"weights": 10.0 ** rng.uniform(-58, 0, 40)}),
        (y, expit(odds), BINARY, {"clusters": lonely}),
        (lonely, expit(odds), BINARY, {"clusters": lonely}),
        (lonely, expit(odds), BINARY, {"clusters": np.arange(40) // 11}),
        (np.arange(40) % 3, three, Problem.zero_one(3), {}),
        ([0, 1] * 19 + [2, 2], three, Problem.zero_one(3), {}),
        ([0, 1] * 20, three, Problem.zero_one(3), {}),
        ([0, 1] * 19 + [2, 2], np.eye(3)[[0, 1] * 19 + [2, 2]], Problem.zero_one(3), {}),
        (y, Decisions(y), BINARY, {}),
        ([1], [0.5], BINARY, {}),
    ]
    for truth, predictions, problem, options in worlds:
        report = evaluate(truth, predictions, problem, replicates=5, **options)
        shown = any(system.rule == RECALIBRATED for system in report.systems)
        explained = any("was not recalibrated" in caveat.text for caveat in report.caveats)
        assert shown or explained or isinstance(predictions, Decisions)


def test_a_default_that_finds_no_map_is_reported():
    y, odds = two_classes(60, 9)
    report = evaluate(y, expit(odds), BINARY, calibrator=Select([Failing()]), replicates=5)
    texts = [caveat.text for caveat in report.caveats if caveat.kind == "left out"]
    assert "it was not recalibrated: scores must be such that one of the candidates can" in texts[0]
    with pytest.raises(InputError, match="scores must be others"):
        evaluate(y, expit(odds), BINARY, calibrator=Failing(), replicates=5)


def test_very_many_cases_have_two_folds_and_are_chosen_for_by_bins():
    y, odds = two_classes(30_000, 10, share=0.1)
    models = {"bent": expit(bent(odds)), "line": expit(2 * odds)}
    report = evaluate(y, models, FRAUD, replicates=20)
    assert report.assumptions.calibrator == "Select(), out of fold (2 folds)"
    for name, calibrator in (("bent", Isotonic()), ("line", Affine())):
        stated = evaluate(y, models, FRAUD, replicates=20, calibrator=calibrator)
        chosen, named = (r.system(f"{name} (recalibrated)").cost.value for r in (report, stated))
        assert chosen == named


@pytest.mark.slow
def test_digits_are_read_by_the_forest_once_it_is_calibrated():
    """Without calibration logistic regression seems the cheapest, which is wrong."""
    datasets = pytest.importorskip("sklearn.datasets")
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.linear_model import LogisticRegression

    images, digits = datasets.load_digits(return_X_y=True)
    images, truth = images / 16, digits[900:]
    estimators = {
        "rf": RandomForestClassifier(40, random_state=0),
        "lr": LogisticRegression(max_iter=200),
    }
    models = {
        name: model.fit(images[:900], digits[:900]).predict_proba(images[900:])
        for name, model in estimators.items()
    }
    costs = np.column_stack([100.0 * (1 - np.eye(10)), np.ones(10)])  # the last: ask somebody
    problem = Problem(costs, decisions=[*map(str, range(10)), "ask"])
    before = evaluate(truth, models, problem, calibrator=None, replicates=100)
    after = evaluate(truth, models, problem, replicates=100)
    assert before.verdict.model == "lr"
    lr, rf = before.system("lr (as is)"), after.system("rf (recalibrated)")
    assert after.verdict.deploy == rf
    assert rf.cost.value < 0.5 * lr.cost.value
