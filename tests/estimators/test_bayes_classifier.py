"""BayesDecisionClassifier: the cheapest decisions by calibrated probabilities, in any order."""

from __future__ import annotations

import pickle
from itertools import permutations
from typing import Any

import numpy as np
import pandas as pd
import polars
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn import config_context
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    ShuffleSplit,
    StratifiedKFold,
    cross_validate,
)
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.utils import estimator_html_repr, get_tags

from stakes import InputError, Posteriors, Problem, Rule, Scores, shift_prior
from stakes.calibration import Affine, Identity, Isotonic, Logistic, Select, VectorScaling
from stakes.sklearn import BayesDecisionClassifier
from stakes.sklearn.responses import response

Bayes = BayesDecisionClassifier


class Counting(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Naive Bayes that counts its fits, over all of its clones."""

    fits: list[int] = []  # noqa: RUF012

    def fit(self, X: Any, y: Any) -> Counting:
        self.fits.append(len(y))
        self.model_ = GaussianNB().fit(X, y)
        self.classes_ = self.model_.classes_
        return self

    def predict_proba(self, X: Any) -> Any:
        return self.model_.predict_proba(X)


# What is predicted -------------------------------------------------------------------------------


def test_predictions_are_those_of_plain_loops(three, triage):
    """Fits on the other folds, a map of what they say, and for each case the least sum of costs."""
    y, weights, labels = three.y, three.weights + 1, sorted(triage.classes)
    posteriors = np.empty((240, 3))
    for train, test in StratifiedKFold(4).split(three.X, y):
        part = GaussianNB().fit(three.X[train], y[train], sample_weight=weights[train])
        posteriors[test] = part.predict_proba(three.X[test])
    fitted_map = Affine().fit(posteriors, y, classes=labels, weights=weights)
    proba = fitted_map(GaussianNB().fit(three.X, y, weights).predict_proba(three.X))
    costs = np.zeros((240, 4))
    for case in range(240):
        for column, label in enumerate(labels):
            row = triage.classes.index(label)
            for decision in range(4):
                costs[case, decision] += proba[case, column] * triage.costs[row, decision]
    clf = Bayes(GaussianNB(), triage, calibrator=Affine(), cv=4)
    clf.fit(three.X, y, sample_weight=weights)
    assert_allclose(clf.predict_proba(three.X), proba, rtol=1e-8)
    assert_allclose(clf.expected_costs(three.X), costs, rtol=1e-8)
    cheapest = np.array(triage.decisions)[costs.argmin(axis=1)]
    assert_array_equal(clf.predict(three.X), cheapest)
    assert {"home", "theatre", "ask"} <= set(cheapest)  # a decision that is no class is taken, too
    assert list(clf.decisions_) == list(triage.decisions)
    truth = [triage.classes.index(label) for label in y]
    paid = triage.costs[truth, costs.argmin(axis=1)]
    assert clf.score(three.X, y) == pytest.approx(-np.mean(paid))
    weighted = -np.average(paid, weights=three.weights)
    assert clf.score(three.X, y, sample_weight=three.weights) == pytest.approx(weighted)


@pytest.mark.parametrize("order", list(permutations(range(3)))[1::2])
def test_the_order_of_the_problems_classes_makes_no_difference(three, triage, order):
    some = list(order)
    moved = Problem(
        triage.costs[some],
        classes=[triage.classes[k] for k in some],
        decisions=triage.decisions,
        prior=[0.3, 0.3, 0.4],
    )
    prior = dict(zip(moved.classes, [0.3, 0.3, 0.4], strict=True))
    fitted = Bayes(GaussianNB(), triage.with_prior(prior)).fit(three.X, three.y)
    other = Bayes(GaussianNB(), moved).fit(three.X, three.y)
    assert list(fitted.classes_) == list(other.classes_) == ["grave", "mild", "none"]
    assert_array_equal(fitted.predict(three.X), other.predict(three.X))
    assert_allclose(fitted.predict_proba(three.X), other.predict_proba(three.X), rtol=1e-6)
    assert_allclose(fitted.expected_costs(three.X), other.expected_costs(three.X), rtol=1e-6)


@pytest.mark.parametrize("classes", [["well", "ill"], ["ill", "well"]])
def test_scores_of_a_decision_function_speak_for_the_right_class(two, classes):
    false_alarm, miss = (1, 4) if classes[1] == "ill" else (4, 1)
    problem = Problem.binary(false_alarm=false_alarm, miss=miss, classes=classes)
    clf = Bayes(LinearSVC(), problem, calibrator=Logistic()).fit(two.X, two.y)
    assert clf.rule_.takes == "scores"
    ill = clf.predict_proba(two.X)[:, list(clf.classes_).index("ill")]
    assert ill[two.y == "ill"].mean() > 0.2 + ill[two.y == "well"].mean()
    assert_array_equal(clf.predict(two.X), np.where(ill > 0.2, "ill", "well"))


def test_without_a_problem_the_most_probable_class_is_predicted(three):
    clf = Bayes(GaussianNB()).fit(three.X, three.y)
    most = clf.classes_[clf.predict_proba(three.X).argmax(axis=1)]
    assert_array_equal(clf.predict(three.X), most)
    assert clf.score(three.X, three.y) == pytest.approx(-np.mean(most != three.y))


@pytest.mark.parametrize("labels", [[2.0, 5.0], [True, False], ["b", "a"], [-1, 1]], ids=str)
def test_predicted_classes_have_the_type_of_y(two, labels):
    y = np.where(two.y == "ill", labels[0], labels[1])
    for labels_of_kind in (
        y,
        pd.Series(y),
        y.astype(object) if isinstance(labels[0], str) else y.tolist(),
    ):
        predicted = Bayes(GaussianNB(), cv=2).fit(two.X, labels_of_kind).predict(two.X)
        assert predicted.dtype.kind == np.unique(np.asarray(labels_of_kind)).dtype.kind
        assert set(predicted.tolist()) == set(labels)


def test_numbers_and_abstention_come_out_of_predict(two):
    problem = Problem.zero_one([0, 1]).with_abstention(0.2)
    y = (two.y == "ill").astype(int)
    predicted = Bayes(GaussianNB(), problem).fit(two.X, y).predict(two.X)
    assert set(predicted.tolist()) == {0, 1, "abstain"}


# Calibration -------------------------------------------------------------------------------------


def test_none_means_that_a_map_is_selected(two, screening):
    default = Bayes(GaussianNB(), screening).fit(two.X, two.y)
    chosen = Bayes(GaussianNB(), screening, calibrator=Select()).fit(two.X, two.y)
    assert default.rule_ == chosen.rule_
    assert default.rule_.map is not None


def test_identity_fits_once_and_leaves_posteriors_as_they_are(two, screening):
    Counting.fits.clear()
    clf = Bayes(Counting(), screening, calibrator=Identity()).fit(two.X, two.y)
    assert Counting.fits == [240]
    assert_allclose(clf.predict_proba(two.X), GaussianNB().fit(two.X, two.y).predict_proba(two.X))
    Bayes(Counting(), screening, cv=3).fit(two.X, two.y)
    assert Counting.fits == [240, 240, 160, 160, 160]


def test_identity_moves_posteriors_to_the_prior_of_the_problem(two, screening):
    prior = [0.95, 0.05]
    clf = Bayes(GaussianNB(), screening.with_prior(prior), calibrator=Identity())
    clf.fit(two.X, two.y, sample_weight=two.weights)
    ill = np.average(two.y == "ill", weights=two.weights)
    bare = GaussianNB().fit(two.X, two.y, two.weights).predict_proba(two.X)  # ill comes first
    moved = shift_prior(bare, [ill, 1 - ill], prior[::-1])
    assert_allclose(clf.predict_proba(two.X), moved)
    assert_array_equal(clf.predict(two.X), np.where(moved[:, 0] > 0.2, "treat", "wait"))


def test_identity_moves_posteriors_from_the_shares_that_the_estimator_saw(two, screening):
    """Neighbours take no weights: their posteriors hold for the shares of the cases as they are."""
    prior = [0.95, 0.05]
    clf = Bayes(KNeighborsClassifier(20), screening.with_prior(prior), calibrator=Identity())
    with pytest.warns(UserWarning, match="counts in the calibration alone"):
        clf.fit(two.X, two.y, sample_weight=np.where(two.y == "ill", 5.0, 1.0))
    ill = np.mean(two.y == "ill")
    bare = KNeighborsClassifier(20).fit(two.X, two.y).predict_proba(two.X)  # ill comes first
    assert_allclose(clf.predict_proba(two.X), shift_prior(bare, [ill, 1 - ill], prior[::-1]))


def test_calibrated_probabilities_hold_for_the_prior_of_the_problem(two, screening):
    prior = [0.95, 0.05]
    clf = Bayes(GaussianNB(), screening.with_prior(prior), calibrator=Affine()).fit(two.X, two.y)
    plain = Bayes(GaussianNB(), screening, calibrator=Affine()).fit(two.X, two.y)
    assert clf.predict_proba(two.X)[:, 0].mean() < 0.5 * plain.predict_proba(two.X)[:, 0].mean()
    assert clf.score(two.X, two.y) > -0.21  # to wait always costs 0.2, at this prior


@pytest.mark.parametrize("n_ill", [3, 2])
def test_a_rare_class_lowers_the_number_of_folds(two, screening, n_ill):
    few = np.flatnonzero(two.y == "ill")[n_ill:]
    kept = np.setdiff1d(np.arange(240), few)
    Counting.fits.clear()
    Bayes(Counting(), screening).fit(two.X[kept], two.y[kept])
    assert len(Counting.fits) == 1 + n_ill


def test_a_class_of_one_case_is_refused(two, screening):
    few = np.flatnonzero(two.y == "ill")[1:]
    kept = np.setdiff1d(np.arange(240), few)
    with pytest.raises(InputError, match=r"^y must hold two cases of every class .* 'ill' has 1\."):
        Bayes(GaussianNB(), screening).fit(two.X[kept], two.y[kept])


# Fitted before -----------------------------------------------------------------------------------


def test_a_frozen_estimator_is_not_fitted_again(two, screening):
    before = Counting().fit(two.X[:120], two.y[:120])
    Counting.fits.clear()
    clf = Bayes(FrozenEstimator(before), screening, calibrator=Affine())
    clf.fit(two.X[120:], two.y[120:])
    assert Counting.fits == []
    posteriors = before.predict_proba(two.X[120:])[:, 1]  # of "well"
    expected = Affine().fit(1 - posteriors, two.y[120:], classes=screening.classes)
    assert_allclose(clf.predict_proba(two.X)[:, 0], expected(1 - before.predict_proba(two.X)[:, 1]))
    again = clone(clf).fit(two.X[120:], two.y[120:])
    assert Counting.fits == []
    assert again.rule_ == clf.rule_


def test_a_rule_and_a_fitted_estimator_make_a_fitted_classifier(two, screening):
    fitted = GaussianNB().fit(two.X, two.y)
    proba = fitted.predict_proba(two.X)
    isotonic = Isotonic().fit(proba[:, 0], two.y, classes=screening.classes)
    for rule in (Rule(screening), Rule(screening, threshold=0.7), Rule(screening, map=isotonic)):
        clf = Bayes.from_rule(Rule.from_json(rule.to_json()), fitted)
        named = Posteriors(proba, classes=["ill", "well"])
        assert_array_equal(clf.predict(two.X), rule.decide(named))
        assert_allclose(clf.predict_proba(two.X)[:, 1], rule.posteriors(named)[:, 0])
        assert clf.n_features_in_ == 3
        assert clone(clf).fit(two.X, two.y).rule_ != rule  # fitting calibrates again


def test_a_rule_of_scores_asks_the_decision_function(two, screening):
    svm = LinearSVC().fit(two.X, two.y)
    rule = Rule(screening, "scores", threshold=0.4)
    clf = Bayes.from_rule(rule, FrozenEstimator(svm))
    treat = -svm.decision_function(two.X) > 0.4  # which speaks for "well", the last in the alphabet
    assert_array_equal(clf.predict(two.X), np.where(treat, "treat", "wait"))
    assert not hasattr(clf, "predict_proba")
    with pytest.raises(AttributeError):
        clf.expected_costs(two.X)
    other = Bayes.from_rule(Rule(screening, "scores", threshold=0.4), svm)
    assert_array_equal(
        other.rule_.decide(Scores(-svm.decision_function(two.X))), clf.predict(two.X)
    )


def test_a_rule_of_decisions_asks_predict(two):
    fitted = GaussianNB().fit(two.X, two.y)
    rule = Rule(Problem.zero_one(["well", "ill"]), "decisions")
    clf = Bayes.from_rule(rule, fitted)
    assert_array_equal(clf.predict(two.X), fitted.predict(two.X))
    assert not hasattr(clf, "predict_proba")


def test_those_who_decide_may_know_decisions_alone(two, screening):
    taken = np.where(two.X[:, 0] > 1, "treat", "wait")
    clerk = GaussianNB().fit(two.X, taken)
    clf = Bayes.from_rule(Rule(screening, "decisions"), clerk)
    assert_array_equal(clf.predict(two.X), clerk.predict(two.X))
    assert list(clf.classes_) == ["well", "ill"]
    assert -4 < clf.score(two.X, two.y) < 0


def test_a_rule_needs_an_estimator_that_is_fitted_and_knows_its_classes(two, screening):
    with pytest.raises(NotFittedError):
        Bayes.from_rule(Rule(screening), GaussianNB())
    with pytest.raises(InputError, match=r"^rule must be a Rule"):
        Bayes.from_rule(screening, GaussianNB())
    with pytest.raises(InputError, match=r"^estimator must have predict_proba to give posteriors"):
        Bayes.from_rule(Rule(screening), LinearSVC().fit(two.X, two.y))
    fitted = GaussianNB().fit(two.X, two.y == "ill")
    with pytest.raises(InputError, match=r"must be those of the problem, \('well', 'ill'\)"):
        Bayes.from_rule(Rule(screening), fitted)


# Costs of every case -----------------------------------------------------------------------------

FRAUD = Problem(
    {"well": {"pass": 0, "hold": 6}, "ill": {"pass": "amount", "hold": "2 + 0.01*amount"}}
)


def test_costs_that_are_columns_decide_case_by_case(two):
    clf = Bayes(GaussianNB(), FRAUD).fit(two.X, two.y)
    p = clf.predict_proba(two.X)[:, 0]
    hold = (1 - p) * 6 + p * (2 + 0.01 * two.amount) < p * two.amount
    frame = pd.DataFrame({"amount": two.amount, "other": 0.0})
    records = frame.to_records(index=False)
    for data in (frame, {"amount": two.amount}, records, np.asarray(records)):
        assert_array_equal(clf.predict(two.X, data=data), np.where(hold, "hold", "pass"))
    cost = np.where(hold, 6.0, 0.0)
    ill = two.y == "ill"
    cost[ill] = np.where(hold, 2 + 0.01 * two.amount, two.amount)[ill]
    assert clf.score(two.X, two.y, data=frame) == pytest.approx(-cost.mean())
    expected = clf.expected_costs(two.X, data=records)
    assert_allclose(expected[:, 0], p * two.amount)
    assert_allclose(expected[:, 1], (1 - p) * 6 + p * (2 + 0.01 * two.amount))
    with pytest.raises(InputError, match="amount"):
        clf.predict(two.X)


def test_columns_and_weights_are_routed_through_cross_validation(two):
    """As plain loops over the folds would hand them on."""
    frame = pd.DataFrame({"amount": two.amount})
    with config_context(enable_metadata_routing=True):
        inner = GaussianNB().set_fit_request(sample_weight=True)
        clf = Bayes(inner, FRAUD, cv=3).set_fit_request(sample_weight=True)
        clf.set_score_request(sample_weight=True, data=True)
        params = {"sample_weight": two.weights, "data": frame}
        scores = cross_validate(clf, two.X, two.y, cv=3, params=params)["test_score"]
    expected = []
    for train, test in StratifiedKFold(3).split(two.X, two.y):
        part = Bayes(GaussianNB(), FRAUD, cv=3)
        part.fit(two.X[train], two.y[train], sample_weight=two.weights[train])
        expected.append(
            part.score(two.X[test], two.y[test], two.weights[test], data=frame.iloc[test])
        )
    assert_allclose(scores, expected)


def test_groups_are_routed_to_the_splitter_and_keep_clusters_whole(two, screening):
    with config_context(enable_metadata_routing=True):
        clf = Bayes(GaussianNB(), screening, cv=GroupKFold(3), calibrator=Affine())
        clf.fit(two.X, two.y, groups=two.clusters)
    splits = list(GroupKFold(3).split(two.X, two.y, two.clusters))
    stated = Bayes(GaussianNB(), screening, cv=splits, calibrator=Affine()).fit(two.X, two.y)
    assert clf.rule_ == stated.rule_


def test_a_pipeline_hands_columns_to_predict(two):
    data = {"amount": two.amount}
    clf = Bayes(GaussianNB(), FRAUD)
    whole = make_pipeline(StandardScaler(), clf).fit(two.X, two.y)
    alone = clone(clf).fit(StandardScaler().fit_transform(two.X), two.y)
    expected = alone.predict(StandardScaler().fit_transform(two.X), data=data)
    assert_array_equal(whole.predict(two.X, data=data), expected)


# At home in scikit-learn -------------------------------------------------------------------------


def test_it_is_cloned_pickled_and_printed(three, triage):
    clf = Bayes(make_pipeline(StandardScaler(), GaussianNB()), triage, calibrator=Affine())
    copy = clone(clf)
    assert copy.problem == triage
    assert copy.get_params()["estimator__gaussiannb__var_smoothing"] == 1e-9
    assert "calibrator=Affine()" in repr(clf)
    assert "BayesDecisionClassifier" in estimator_html_repr(clf)
    clf.fit(three.X, three.y)
    back = pickle.loads(pickle.dumps(clf))
    assert back.rule_ == clf.rule_
    assert_array_equal(back.predict(three.X), clf.predict(three.X))


def test_a_grid_search_finds_the_cheapest_setting(two, screening):
    grid = {"estimator__var_smoothing": [1e-9, 1e6], "calibrator": [Identity(), Affine()]}
    search = GridSearchCV(Bayes(GaussianNB(), screening, cv=3), grid, cv=3).fit(two.X, two.y)
    scores = search.cv_results_["mean_test_score"]
    assert (scores < 0).all()
    assert search.best_params_["estimator__var_smoothing"] == 1e-9
    assert search.best_score_ == scores.max()


def test_names_of_features_are_those_of_the_estimator(two, screening):
    frame = pd.DataFrame(two.X, columns=["a", "b", "c"])
    clf = Bayes(GaussianNB(), screening).fit(frame, pd.Series(two.y))
    assert list(clf.feature_names_in_) == ["a", "b", "c"]
    with pytest.raises(ValueError, match="feature names should match"):
        clf.predict(frame[["b", "a", "c"]])
    assert not hasattr(clf.fit(two.X, two.y), "feature_names_in_")


def test_rows_of_polars_are_cut_too(two, screening):
    frame = polars.DataFrame(two.X, schema=["a", "b", "c"])
    clf = Bayes(GaussianNB(), screening).fit(frame, polars.Series(two.y.tolist()))
    assert clf.rule_ == Bayes(GaussianNB(), screening).fit(two.X, two.y).rule_
    amounts = polars.DataFrame({"amount": two.amount})
    charged = Bayes(GaussianNB(), FRAUD).fit(frame, two.y)
    expected = charged.predict(frame, data={"amount": two.amount})
    assert_array_equal(charged.predict(frame, data=amounts), expected)


def test_sparse_rows_and_precomputed_kernels_are_cut_as_the_estimator_needs(two, screening):
    line = LogisticRegression(solver="liblinear")
    dense = Bayes(line, screening).fit(two.X, two.y)
    sparse = Bayes(line, screening).fit(csr_array(two.X), two.y)
    assert_array_equal(dense.predict(two.X), sparse.predict(csr_array(two.X)))
    kernel = two.X @ two.X.T
    by_kernel = Bayes(SVC(kernel="precomputed"), screening).fit(kernel, two.y)
    by_rows = Bayes(SVC(kernel="linear"), screening).fit(two.X, two.y)
    assert_array_equal(by_kernel.predict(kernel), by_rows.predict(two.X))


def test_weights_that_an_estimator_does_not_take_are_mentioned(two, screening):
    clf = Bayes(KNeighborsClassifier(), screening)
    with pytest.warns(UserWarning, match="the fit of KNeighborsClassifier does not take it"):
        clf.fit(two.X, two.y, sample_weight=two.weights)


def test_the_rule_of_the_classifier_is_shipped_as_json(three, triage):
    clf = Bayes(GaussianNB(), triage, calibrator=VectorScaling()).fit(three.X, three.y)
    back = Rule.from_json(clf.rule_.to_json())
    assert back == clf.rule_
    assert (back.model, back.origin is not None and back.origin.n_rows) == ("GaussianNB", 240)
    posteriors = Posteriors(clf.estimator_.predict_proba(three.X), classes=clf.estimator_.classes_)
    assert_array_equal(back.decide(posteriors), clf.predict(three.X))


# Refusals ----------------------------------------------------------------------------------------


def test_labels_that_do_not_match_the_problem_are_refused(two, screening):
    cases = [
        (two.y == "ill", screening, r"^the classes of y .* False is not in the problem\. Labels"),
        (np.where(two.y == "ill", "1", "0"), Problem.zero_one(2), r"1 and '1' are different"),
        ((two.y == "ill").astype(int), screening, r"cross_val_predict .* numbers them"),
        (two.y, Problem.zero_one(["ill", "well", "dead"]), r"'dead' is in the problem alone"),
    ]
    for y, problem, message in cases:
        with pytest.raises(InputError, match=message) as caught:
            Bayes(GaussianNB(), problem).fit(two.X, y)
        assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"problem": [[0, 1], [1, 0]]}, r"^problem must be a Problem"),
        ({"calibrator": "isotonic"}, r"^calibrator must be a Calibrator.*Identity\(\) for none"),
        ({"estimator": LinearRegression()}, r"^estimator must be a classifier with predict_proba"),
        ({"estimator": GaussianNB}, r"^estimator must be a classifier with predict_proba"),
        ({"estimator": LinearSVC(), "calibrator": Identity()}, r"which has no predict_proba"),
        ({"cv": ShuffleSplit(3, random_state=0)}, r"^cv must put every case into exactly one"),
        ({"cv": 1}, r"^cv must be 2 folds or more; got 1\."),
        ({"cv": "five"}, r"^cv must be a number of folds, a splitter"),
        ({"cv": GroupKFold(3)}, r"^cv must be given groups.*metadata routing"),
    ],
)
def test_what_cannot_be_used_is_refused_when_it_is_fitted(two, settings, message):
    clf = Bayes(GaussianNB()).set_params(**settings)
    with pytest.raises(InputError, match=message):
        clf.fit(two.X, two.y)


def test_columns_and_groups_have_no_place_in_a_fit_without_routing(two, screening):
    for name in ("data", "groups"):
        with pytest.raises(
            InputError, match=rf"^{name} must reach .*enable_metadata_routing"
        ) as caught:
            Bayes(GaussianNB(), screening).fit(two.X, two.y, **{name: two.clusters})
        assert caught.value.argument == name


def test_more_classes_than_a_decision_function_can_tell_are_refused(three, triage):
    """In the words that scikit-learn wants of a classifier whose tags say so."""
    clf = Bayes(LinearSVC(), triage)
    assert not get_tags(clf).classifier_tags.multi_class
    assert get_tags(Bayes(GaussianNB(), triage)).classifier_tags.multi_class
    with pytest.raises(InputError, match=r"predict_proba for more.*Only binary classification is"):
        clf.fit(three.X, three.y)
    fitted = LinearSVC().fit(three.X, three.y)
    with pytest.raises(InputError, match=r"predict_proba for more .* of shape \(240, 3\), alone"):
        response(fitted, three.X, "scores", triage)


def test_a_class_without_weight_is_refused(two, screening):
    with pytest.raises(InputError, match=r"^sample_weight must give weight .* class 'ill'"):
        Bayes(GaussianNB(), screening).fit(two.X, two.y, sample_weight=two.y == "well")


def test_nothing_is_decided_before_the_fit(two, screening):
    with pytest.raises(NotFittedError):
        Bayes(GaussianNB(), screening).predict(two.X)
