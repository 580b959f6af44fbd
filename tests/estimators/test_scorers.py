"""Scorers: the sign, the method that is asked, the order of classes, weights and columns."""

from __future__ import annotations

import inspect
import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn import config_context
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import (
    GridSearchCV,
    StratifiedKFold,
    TunedThresholdClassifierCV,
    cross_val_score,
    cross_validate,
)
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from stakes import Beta, InputError, Problem, measures, metrics, scoring
from stakes.scoring import (
    BetaScore,
    Brier,
    CostWeighted,
    HalfBrier,
    LogLoss,
    RankedProbability,
    ScoringRule,
    Spherical,
    mean_score,
)
from stakes.sklearn import BayesDecisionClassifier, make_scorer
from stakes.sklearn.estimator_report import METRICS

COSTS = [[0, 3, 9], [4, 0, 3], [30, 12, 0]]
ORDERED = Problem(COSTS, classes=["none", "mild", "grave"])  # scikit-learn sorts them otherwise
AMOUNTS = Problem({"well": {"well": 0, "ill": 6}, "ill": {"well": "amount", "ill": 2}})


def test_every_metric_that_gives_a_number_has_a_sign():
    """Whoever adds a metric says here what it judges, and whether more of it is better."""
    numbers = {
        metric
        for name in metrics.__all__
        if inspect.signature(metric := getattr(metrics, name)).return_annotation == "float"
    }
    assert numbers == set(METRICS)


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.__name__)
def test_a_scorer_is_the_metric_with_more_being_better(three, metric):
    problem = ORDERED.with_prior([0.5, 0.3, 0.2])
    fitted = GaussianNB().fit(three.X, three.y)
    predictions, more = fitted.predict(three.X), {}
    if "y_proba" in inspect.signature(metric).parameters:
        predictions, more = fitted.predict_proba(three.X), {"classes": fitted.classes_}
    for weight in (None, three.weights):
        value = metric(three.y, predictions, problem=problem, sample_weight=weight, **more)
        sign = 1 if metric is metrics.utility_yield else -1
        score = make_scorer(metric, problem)(fitted, three.X, three.y, sample_weight=weight)
        assert score == pytest.approx(sign * value, rel=1e-12)


def test_better_models_score_higher(three):
    best, blind = (GaussianNB(var_smoothing=v).fit(three.X, three.y) for v in (1e-9, 1e9))
    judged: list[Any] = [*METRICS, LogLoss(), Brier(), Spherical()]
    for metric in judged:
        scorer = make_scorer(metric, ORDERED)
        assert scorer(best, three.X, three.y) > scorer(blind, three.X, three.y)


RULES = [LogLoss(), LogLoss(base=2), Brier(), HalfBrier(), Spherical(), RankedProbability()]
BINARY = [BetaScore(2.0, 1.0), CostWeighted(Beta(1, 4))]


@pytest.mark.parametrize("rule", RULES, ids=repr)
def test_a_scoring_rule_is_a_scorer_of_posteriors(three, rule):
    fitted = GaussianNB().fit(three.X, three.y)
    posteriors, prior = fitted.predict_proba(three.X), {"grave": 0.2, "mild": 0.3, "none": 0.5}
    sorted_prior = list(prior.values())
    common: Any = {"classes": ["grave", "mild", "none"], "weights": three.weights}
    loss = mean_score(three.y, posteriors, rule, prior=sorted_prior, **common)
    scorer = make_scorer(rule, ORDERED.with_prior(prior))
    score = scorer(fitted, three.X, three.y, sample_weight=three.weights)
    assert score == pytest.approx(-loss, rel=1e-12)


@pytest.mark.parametrize("rule", BINARY, ids=lambda rule: type(rule).__name__)
def test_rules_of_two_classes_take_the_problems_second_class_as_the_positive_one(two, rule):
    fitted = GaussianNB().fit(two.X, two.y)
    ill = fitted.predict_proba(two.X)[:, 0]
    loss = mean_score(two.y, ill, rule, classes=["well", "ill"])
    score = make_scorer(rule, Problem.zero_one(["well", "ill"]))(fitted, two.X, two.y)
    assert score == pytest.approx(-loss, rel=1e-12)
    swapped = make_scorer(rule, Problem.zero_one(["ill", "well"]))(fitted, two.X, two.y)
    assert swapped == pytest.approx(-mean_score(two.y, 1 - ill, rule, classes=["ill", "well"]))


def test_every_proper_score_was_tried():
    rules = {
        rule
        for name in scoring.__all__
        if inspect.isclass(rule := getattr(scoring, name)) and issubclass(rule, ScoringRule)
    }
    assert rules - {ScoringRule, scoring.BinaryRule} == {type(rule) for rule in RULES + BINARY}


class Unsorted(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier whose classes are not sorted, which some libraries have."""

    def fit(self, X: Any, y: Any) -> Unsorted:
        self.model_ = GaussianNB().fit(X, y)
        self.classes_ = self.model_.classes_[[2, 0, 1]]
        return self

    def predict_proba(self, X: Any) -> Any:
        return self.model_.predict_proba(X)[:, [2, 0, 1]]

    def predict(self, X: Any) -> Any:
        return self.model_.predict(X)


@pytest.mark.parametrize(
    "metric", [*METRICS, Brier()], ids=[*(metric.__name__ for metric in METRICS), "Brier"]
)
def test_classes_go_by_their_labels_even_where_an_estimator_does_not_sort_them(three, metric):
    scorer = make_scorer(metric, ORDERED)
    odd, usual = (model.fit(three.X, three.y) for model in (Unsorted(), GaussianNB()))
    assert scorer(odd, three.X, three.y) == pytest.approx(scorer(usual, three.X, three.y))


def test_weights_and_columns_are_routed_and_reach_predict(two):
    """The scorer asks for both, and hands the columns on to the decisions that need them."""
    frame = pd.DataFrame({"amount": two.amount})
    with config_context(enable_metadata_routing=True):
        scorers = {
            "cost": make_scorer(metrics.expected_cost, AMOUNTS),
            "bayes": make_scorer(metrics.bayes_cost, AMOUNTS),
        }
        for scorer in scorers.values():
            scorer.set_score_request(sample_weight=True, data=True)
        inner = GaussianNB().set_fit_request(sample_weight=False)
        clf = BayesDecisionClassifier(inner, AMOUNTS, cv=2)
        clf.set_fit_request(sample_weight=False).set_predict_request(data=True)
        pipe = make_pipeline(StandardScaler().set_fit_request(sample_weight=False), clf)
        params = {"sample_weight": two.weights, "data": frame}
        runs = [
            cross_validate(estimator, two.X, two.y, cv=3, scoring=scorers, params=params)
            for estimator in (clf, pipe)
        ]
    expected = []
    for train, test in StratifiedKFold(3).split(two.X, two.y):
        part = BayesDecisionClassifier(GaussianNB(), AMOUNTS, cv=2).fit(two.X[train], two.y[train])
        rows = frame.iloc[test]
        expected.append(part.score(two.X[test], two.y[test], two.weights[test], data=rows))
    for run in runs:
        assert_allclose(run["test_cost"], expected, rtol=1e-6)
        assert_allclose(run["test_bayes"], expected, rtol=1e-6)


def test_metadata_that_nobody_asked_for_are_refused_by_scikit_learn(two):
    with config_context(enable_metadata_routing=True):
        scorer = make_scorer(metrics.bayes_cost, Problem.zero_one(["well", "ill"]))
        fitted = GaussianNB().set_fit_request(sample_weight=False)
        params = {"sample_weight": two.weights}
        with pytest.raises(ValueError, match="not explicitly set as requested or not requested"):
            cross_validate(fitted, two.X, two.y, scoring=scorer, params=params)


def test_a_scorer_is_used_in_searches_and_for_thresholds(two):
    problem = Problem.binary(false_alarm=1, miss=4, classes=["well", "ill"])
    scorer = make_scorer(metrics.expected_cost, problem)
    grid = {"var_smoothing": [1e-9, 1e9]}
    search = GridSearchCV(GaussianNB(), grid, scoring=scorer, cv=3).fit(two.X, two.y)
    assert search.best_params_ == {"var_smoothing": 1e-9}
    assert search.score(two.X, two.y) == scorer(search, two.X, two.y)
    tuned = TunedThresholdClassifierCV(GaussianNB(), scoring=scorer, cv=3).fit(two.X, two.y)
    assert scorer(tuned, two.X, two.y) > scorer(GaussianNB().fit(two.X, two.y), two.X, two.y)
    assert tuned.best_threshold_ == pytest.approx(0.8, abs=0.15)  # of "well", the sorted second


def test_a_scorer_is_pickled_and_cloned_with_its_search(two):
    scorer = make_scorer(HalfBrier(), Problem.zero_one(["well", "ill"]))
    search = clone(GridSearchCV(GaussianNB(), {"var_smoothing": [1e-9]}, scoring=scorer, cv=2))
    search.fit(two.X, two.y)
    again = pickle.loads(pickle.dumps(scorer))
    assert search.scorer_(search, two.X, two.y) == again(search, two.X, two.y)
    assert repr(scorer) == "make_scorer(HalfBrier(), …)"


def test_what_is_no_metric_of_ours_is_refused():
    problem = Problem.zero_one(2)
    for metric in (np.mean, "bayes_cost", ["bayes_cost"], measures.expected_cost):
        with pytest.raises(InputError, match=r"^metric must be a function of stakes.metrics"):
            make_scorer(metric, problem)  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"got the function stakes\.measures\.expected_cost\."):
        make_scorer(measures.expected_cost, problem)  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"got the class LogLoss\. Write LogLoss\(\)"):
        make_scorer(LogLoss, problem)  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"^problem must be a Problem"):
        make_scorer(metrics.bayes_cost, [[0, 1], [1, 0]])  # type: ignore[arg-type]


def test_estimators_that_cannot_answer_are_refused(two):
    scorer = make_scorer(metrics.bayes_cost, Problem.zero_one(["well", "ill"]))
    with pytest.raises(InputError, match=r"^estimator must have predict_proba to give posteriors"):
        scorer(LinearSVC().fit(two.X, two.y), two.X, two.y)
    numbers = LogisticRegression().fit(two.X, two.y == "ill")
    with pytest.raises(InputError, match=r"must be those of the problem"):
        scorer(numbers, two.X, two.y)
    problem = Problem([[0, 1], [4, 0]], classes=["well", "ill"], decisions=["wait", "treat"])
    decided = make_scorer(metrics.expected_cost, problem)
    with pytest.raises(InputError, match=r"decisions of the problem.*bayes_cost.*BayesDecision"):
        cross_val_score(GaussianNB(), two.X, two.y, scoring=decided, error_score="raise")


@pytest.mark.parametrize("metric", [metrics.bayes_cost, metrics.normalized_bayes_cost, LogLoss()])
def test_a_threshold_is_not_chosen_by_what_judges_probabilities(two, metric):
    """Decisions 0 and 1 would pass for probabilities of the class that the problem lists last."""
    y = (two.y == "ill").astype(int)
    problem = Problem({1: {1: 0, 0: 6}, 0: {1: 1, 0: 0}})
    tuned = TunedThresholdClassifierCV(GaussianNB(), scoring=make_scorer(metric, problem), cv=3)
    with pytest.raises(InputError, match=r"scoring must judge decisions.*expected_cost"):
        tuned.fit(two.X, y)
