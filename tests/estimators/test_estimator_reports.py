"""evaluate_estimators: the report of `evaluate` on out-of-fold predictions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import norm
from sklearn import config_context
from sklearn.base import clone
from sklearn.dummy import DummyClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import (
    FixedThresholdClassifier,
    GroupKFold,
    KFold,
    RepeatedStratifiedKFold,
    ShuffleSplit,
    StratifiedKFold,
    TimeSeriesSplit,
    cross_val_predict,
)
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from stakes import Decisions, InputError, Posteriors, Problem, Report, Scores, evaluate
from stakes.calibration import Affine
from stakes.inference import Measured
from stakes.sklearn import BayesDecisionClassifier, evaluate_estimators

QUICK: Any = {"calibrator": None, "replicates": 20}
TREE = DecisionTreeClassifier(max_depth=2, random_state=0)


def same_costs(first: Report, other: Report) -> None:
    """The same decisions; intervals are wider where fits differ, never narrower."""
    assert [system.name for system in first.systems] == [system.name for system in other.systems]
    for ours, theirs in zip(first.systems, other.systems, strict=True):
        assert ours.counts == theirs.counts
        assert ours.cost.value == theirs.cost.value
        assert ours.cost.low <= theirs.cost.low
        assert ours.cost.high >= theirs.cost.high


def test_the_report_is_that_of_plain_loops_over_the_folds(two, screening):
    """Posteriors by name, scores for the second class, decisions as they are; with weights."""
    problem = Problem(screening.costs, classes=screening.classes)
    cv = StratifiedKFold(4, shuffle=True, random_state=1)
    common: Any = {"weights": two.weights, **QUICK}
    with config_context(enable_metadata_routing=True):
        inner = GaussianNB().set_fit_request(sample_weight=False)
        fixed = FixedThresholdClassifier(inner, threshold=0.7, pos_label="well")
        bayes, svm = (
            estimator.set_fit_request(sample_weight=True)
            for estimator in (GaussianNB(), LinearSVC())
        )
        estimators = {"bayes": bayes, "svm": svm, "fixed": Decisions(fixed)}
        common["fit_params"] = {"sample_weight": two.weights + 1}
        report = evaluate_estimators(estimators, two.X, two.y, problem, cv=cv, **common)
    proba, scores, decided = np.empty((240, 2)), np.empty(240), np.empty(240, dtype="<U4")
    for train, test in cv.split(two.X, two.y):
        weight = two.weights[train] + 1
        bayes = GaussianNB().fit(two.X[train], two.y[train], sample_weight=weight)
        svm = LinearSVC().fit(two.X[train], two.y[train], sample_weight=weight)
        proba[test] = bayes.predict_proba(two.X[test])
        scores[test] = -svm.decision_function(two.X[test])  # "well" comes last in the alphabet
        bare = GaussianNB().fit(two.X[train], two.y[train])
        decided[test] = np.where(bare.predict_proba(two.X[test])[:, 1] >= 0.7, "well", "ill")
    wrapped = {"bayes": Posteriors(proba, classes=["ill", "well"]), "svm": Scores(scores)}
    expected = evaluate(
        two.y, {**wrapped, "fixed": Decisions(decided)}, problem, weights=two.weights, **QUICK
    )
    same_costs(report, expected)
    assert report.caveats[1:] == expected.caveats


@pytest.fixture(scope="module")
def clustered(three, triage):
    return evaluate_estimators(
        {"bayes": GaussianNB(), "tree": TREE},
        three.X,
        three.y,
        triage,
        cv=GroupKFold(5),
        clusters=three.clusters,
        **QUICK,
    )


def test_clusters_are_handed_to_the_splitter_as_groups_and_to_the_report(three, triage, clustered):
    posteriors = {"bayes": np.empty((240, 3)), "tree": np.empty((240, 3))}
    for train, test in GroupKFold(5).split(three.X, three.y, three.clusters):
        for name, model in (("bayes", GaussianNB()), ("tree", TREE)):
            model.fit(three.X[train], three.y[train])
            posteriors[name][test] = model.predict_proba(three.X[test])
    classes = ["grave", "mild", "none"]
    named = {name: Posteriors(rows, classes=classes) for name, rows in posteriors.items()}
    same_costs(clustered, evaluate(three.y, named, triage, clusters=three.clusters, **QUICK))
    assert clustered.assumptions.clusters == 60


def test_the_first_caveat_names_what_is_estimated(clustered):
    caveat = clustered.caveats[0]
    assert caveat.kind == "cross-validation"
    assert "Costs are those of procedures, not of one fitted model" in caveat.text
    assert "fitted 5 times, on 192 of 240 cases" in caveat.text
    assert "GroupKFold" in caveat.text
    assert "procedures, not of one fitted model" in " ".join(clustered.to_text().split())
    assert Report.from_json(clustered.to_json()) == clustered


def test_an_interval_allows_for_what_other_fits_would_have_cost(two, screening):
    """Plain loops over all pairs of fits, on the cases of their two folds; weights and a prior."""
    problem = Problem(screening.costs, classes=screening.classes, prior=[0.8, 0.2])
    cv, weights = StratifiedKFold(3, shuffle=True, random_state=0), two.weights
    report = evaluate_estimators(
        {"tree": Decisions(TREE)}, two.X, two.y, problem, cv=cv, weights=weights, **QUICK
    )
    splits = list(cv.split(two.X, two.y))
    fits = [clone(TREE).fit(two.X[train], two.y[train]).predict(two.X) for train, _ in splits]
    truth = np.array([problem.classes.index(label) for label in two.y])
    shares = np.bincount(truth, weights) / weights.sum()
    mass = weights * (np.array([0.8, 0.2]) / shares)[truth]
    gaps = []
    for k in range(3):
        for m in range(k):
            rows = np.concatenate([splits[k][1], splits[m][1]])
            first, second = (
                np.array([problem.costs[truth[i], problem.decisions.index(fit[i])] for i in rows])
                for fit in (fits[k], fits[m])
            )
            gaps.append(np.average(first - second, weights=mass[rows]))
    variance = np.mean(np.square(gaps)) / 2 / 3
    decided = np.empty(len(two.y), fits[0].dtype)
    for fit, (_, test) in zip(fits, splits, strict=True):
        decided[test] = fit[test]
    plain = evaluate(two.y, {"tree": Decisions(decided)}, problem, weights=weights, **QUICK)
    cost, narrow = report.systems[0].cost, plain.systems[0].cost
    noise = norm.ppf(0.975) * np.sqrt(variance)
    assert noise > 0
    assert_allclose(cost.high - cost.value, np.hypot(narrow.high - narrow.value, noise))
    assert_allclose(cost.value - cost.low, np.hypot(narrow.value - narrow.low, noise))


def test_very_many_fits_are_not_compared_with_each_other(two, screening):
    """Leaving out one case after the other would ask each of n fits about n cases."""
    X, y = two.X[:120], two.y[:120]
    trees = {"tree": DecisionTreeClassifier(max_depth=3, random_state=0)}
    many = evaluate_estimators(trees, X, y, screening, cv=KFold(60), calibrator=None)
    folds = cross_val_predict(trees["tree"], X, y, cv=KFold(60), method="predict_proba")
    plain = evaluate(y, Posteriors(folds, classes=np.unique(y)), screening, calibrator=None)
    assert many.best.cost == plain.best.cost
    assert "wider the more" not in many.caveats[0].text


def test_fits_that_decide_alike_add_nothing_to_an_interval(two, screening):
    frozen = FrozenEstimator(GaussianNB().fit(two.X, two.y))
    report = evaluate_estimators({"old": frozen}, two.X, two.y, screening, cv=4, **QUICK)
    posteriors = Posteriors(frozen.predict_proba(two.X), classes=frozen.classes_)
    plain = evaluate(two.y, {"old": posteriors}, screening, **QUICK)
    assert [system.cost for system in report.systems] == [system.cost for system in plain.systems]


@pytest.mark.parametrize("inside", [False, True])
def test_an_estimator_that_is_not_fitted_anew_is_mentioned(two, screening, inside):
    """A frozen one may have seen every case: the folds keep nothing from it."""
    frozen = FrozenEstimator(GaussianNB().fit(two.X, two.y))
    model = BayesDecisionClassifier(frozen, screening, calibrator=Affine()) if inside else frozen
    report = evaluate_estimators(
        {"old": model, "tree": TREE}, two.X, two.y, screening, cv=3, **QUICK
    )
    procedure, frozen_too, *_ = report.caveats
    assert procedure.kind == "cross-validation"
    assert frozen_too.kind == "frozen"
    assert "'old'" in frozen_too.text
    assert "'tree'" not in frozen_too.text


def test_a_number_of_folds_keeps_clusters_whole(two, screening):
    """Each cluster has its own offset that the label follows: a cut one would give it away."""
    rng = np.random.default_rng(0)
    clusters = rng.permutation(np.repeat(np.arange(40), 6))
    y = np.where(rng.random(40) < 0.4, "ill", "well")[clusters]
    X = rng.standard_normal(40)[clusters][:, None]
    tree = DecisionTreeClassifier(random_state=0)
    report = evaluate_estimators({"tree": tree}, X, y, screening, cv=4, clusters=clusters, **QUICK)
    cut = evaluate_estimators({"tree": tree}, X, y, screening, cv=4, **QUICK)
    assert report.system("tree (as is)").cost.value > 10 * cut.system("tree (as is)").cost.value
    with pytest.raises(InputError, match=r"^cv must keep clusters whole; fold 0 has \d+"):
        evaluate_estimators(
            {"tree": tree},
            X,
            y,
            screening,
            cv=KFold(4, shuffle=True, random_state=0),
            clusters=clusters,
        )


def test_costs_of_every_case_are_cut_to_the_folds(two):
    problem = Problem({"well": {"pass": 0, "hold": 6}, "ill": {"pass": "amount", "hold": 2}})
    data = pd.DataFrame({"amount": two.amount})
    bayes = BayesDecisionClassifier(GaussianNB(), problem, calibrator=Affine(), cv=2)
    report = evaluate_estimators(
        {"as decided": Decisions(bayes), "bare": GaussianNB()},
        two.X,
        two.y,
        problem,
        cv=3,
        data=data,
        **QUICK,
    )
    decided = np.empty(240, dtype="<U4")
    for train, test in StratifiedKFold(3).split(two.X, two.y):
        bayes.fit(two.X[train], two.y[train])
        decided[test] = bayes.predict(two.X[test], data=data.iloc[test])
    cost = np.where(decided == "hold", np.where(two.y == "ill", 2.0, 6.0), 0.0)
    cost[(decided == "pass") & (two.y == "ill")] = two.amount[
        (decided == "pass") & (two.y == "ill")
    ]
    assert report.system("as decided").cost.value == pytest.approx(cost.mean())


def test_the_rule_of_the_report_is_that_of_the_classifier(two, screening):
    """From cross-validation to a fitted classifier, and straight: the same map, the same rule."""
    report = evaluate_estimators(
        {"bayes": GaussianNB()}, two.X, two.y, screening, cv=5, calibrator=Affine(), replicates=20
    )
    rule = report.rule("bayes (recalibrated)")
    direct = BayesDecisionClassifier(GaussianNB(), screening, calibrator=Affine(), cv=5)
    direct.fit(two.X, two.y)
    assert rule.map == direct.rule_.map
    classifier = BayesDecisionClassifier.from_rule(rule, GaussianNB().fit(two.X, two.y))
    assert_array_equal(classifier.predict(two.X), direct.predict(two.X))
    assert_allclose(classifier.predict_proba(two.X), direct.predict_proba(two.X))


def test_without_routing_every_fit_is_given_its_part_of_the_weights(two, screening):
    options = {"sample_weight": two.weights + 1}
    common: Any = {"cv": 3, **QUICK}
    weighted = evaluate_estimators(
        {"b": GaussianNB()}, two.X, two.y, screening, fit_params=options, **common
    )
    posteriors = np.empty((240, 2))
    for train, test in StratifiedKFold(3).split(two.X, two.y):
        part = GaussianNB().fit(two.X[train], two.y[train], two.weights[train] + 1)
        posteriors[test] = part.predict_proba(two.X[test])
    same_costs(weighted, evaluate(two.y, {"b": posteriors[:, 0]}, screening, **QUICK))


def test_all_estimators_have_the_same_folds(two, screening):
    """Even where each call of the splitter would draw others: equal models cost the same."""
    cv = StratifiedKFold(3, shuffle=True)
    models = {"one": GaussianNB(), "other": GaussianNB()}
    report = evaluate_estimators(models, two.X, two.y, screening, cv=cv, **QUICK)
    costs: list[Measured] = [report.system(f"{name} (as is)").cost for name in models]
    assert costs[0] == costs[1]


# Refusals ----------------------------------------------------------------------------------------


def rows_twice(n: int) -> list[tuple[Any, Any]]:
    return [(np.arange(n // 2, n), np.arange(n // 2)), (np.arange(n), np.arange(n // 2, n))]


@pytest.mark.parametrize(
    ("cv", "message"),
    [
        (RepeatedStratifiedKFold(n_splits=3, n_repeats=2), r"exactly one test fold; one is in 2\."),
        (ShuffleSplit(3, random_state=0), r"exactly one test fold; \d+ of 240 are in none\."),
        (TimeSeriesSplit(3), r"exactly one test fold; 60 of 240 are in none\."),
        (rows_twice(240), r"^cv must keep test cases out of the fit; fold 1 has 120"),
        (1, r"^cv must be 2 folds or more"),
        (GroupKFold(3), r"^cv must be given groups.*clusters="),
    ],
    ids=["repeated", "shuffled", "in time", "overlapping", "one", "groups"],
)
def test_splits_that_do_not_test_each_case_once_are_refused(two, screening, cv, message):
    with pytest.raises(InputError, match=message) as caught:
        evaluate_estimators({"bayes": GaussianNB()}, two.X, two.y, screening, cv=cv)
    assert caught.value.argument == "cv"


def test_a_fit_that_would_miss_a_class_is_refused(two, screening):
    order = np.argsort(two.y)
    with pytest.raises(InputError, match=r"that of fold 0 has none of the class 'ill'"):
        evaluate_estimators(
            {"bayes": GaussianNB()}, two.X[order], two.y[order], screening, cv=KFold(2)
        )


@pytest.mark.parametrize(
    ("estimators", "message"),
    [
        ({}, r"^estimators must be a mapping .* got none"),
        (GaussianNB(), r"^estimators must be a mapping from name to classifier.*got GaussianNB"),
        ({"p": np.array([0.1])}, r"^estimators\['p'\] must be a classifier of scikit-learn"),
        ({"p": GaussianNB}, r"^estimators\['p'\] must be a classifier of scikit-learn"),
        ({"svm": Posteriors(LinearSVC())}, r"must have predict_proba to give posteriors"),
    ],
)
def test_what_is_no_estimator_is_refused(two, screening, estimators, message):
    with pytest.raises(InputError, match=message):
        evaluate_estimators(estimators, two.X, two.y, screening, cv=3)


class Costly(DummyClassifier):  # type: ignore[misc]
    """One that takes long to fit."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        raise AssertionError("fitted before all arguments were looked at")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"groups": [1, 2]},
            r"^options must be those of stakes.evaluate; 'groups' is none.*clusters=",
        ),
        ({"sample_weight": [1, 2]}, r"'sample_weight' is none.*weights=.*fit_params="),
        ({"models": {}}, r"'models' is none"),
        ({"weights": [1.0, 2.0]}, r"^y_true and weights must describe the same cases"),
        ({"by": [1]}, r"by"),
        ({"data": {"amount": [1]}}, r"^data must be left out"),
        ({"calibrator": "isotonic"}, r"^calibrator must be a Calibrator"),
        ({"level": 95}, r"^level must lie"),
    ],
)
def test_bad_options_are_refused_before_anything_is_fitted(two, screening, options, message):
    with pytest.raises(InputError, match=message):
        evaluate_estimators({"x": Costly()}, two.X, two.y, screening, cv=3, **options)
    amounts = Problem({"well": {"a": 0, "b": "amount"}, "ill": {"a": 9, "b": 0}})
    with pytest.raises(InputError, match="data must hold the columns"):
        evaluate_estimators({"x": Costly()}, two.X, two.y, amounts, cv=3)


def test_labels_and_rows_that_do_not_match_are_refused(two, screening):
    common: Any = {"cv": 3, **QUICK}
    with pytest.raises(InputError, match=r"^the classes of y must be those of the problem"):
        evaluate_estimators({"b": GaussianNB()}, two.X, two.y == "ill", screening, **common)
    frame, y = pd.DataFrame(two.X), pd.Series(two.y, index=np.arange(240)[::-1])
    with pytest.raises(InputError, match="must have the same index"):
        evaluate_estimators({"b": GaussianNB()}, frame, y, screening, **common)
    common["clusters"] = two.clusters[:-1]
    with pytest.raises(InputError, match="clusters"):
        evaluate_estimators({"b": DummyClassifier()}, two.X, two.y, screening, **common)
