"""Metrics as scorers of scikit-learn, for which higher is better."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np
from sklearn.utils.metadata_routing import UNCHANGED, MetadataRequest

from stakes import _check, metrics
from stakes.errors import InputError
from stakes.problem import Problem
from stakes.rows import DECISIONS, POSTERIORS, Posteriors
from stakes.scoring import ScoringRule, mean_score
from stakes.sklearn.responses import response, structured_columns

RowMetric = Callable[..., float]

# What each metric judges, and whether higher is better.
METRICS: dict[RowMetric, tuple[str, bool]] = {
    metrics.expected_cost: (DECISIONS, False),
    metrics.normalized_cost: (DECISIONS, False),
    metrics.utility_yield: (DECISIONS, True),
    metrics.bayes_cost: (POSTERIORS, False),
    metrics.normalized_bayes_cost: (POSTERIORS, False),
}


def make_scorer(metric: RowMetric | ScoringRule, problem: Problem) -> Scorer:
    """A scorer for ``scoring=``, for which higher is better.

    Parameters
    ----------
    metric : a function of `stakes.metrics`, or a proper scoring rule of `stakes.scoring`
        Metrics of decisions ask ``predict``, those of posteriors and scoring rules
        ``predict_proba``. Costs and losses are returned with the opposite sign.
    problem : what is at stake; scoring rules take its classes and its prior alone

    Returns
    -------
    A callable ``scorer(estimator, X, y, sample_weight=None, data=None)``. `data` are the columns
    that the costs depend on, where they do; they are handed on to a ``predict`` that asks for them,
    as that of `BayesDecisionClassifier`. With metadata routing, ``set_score_request`` says which of
    both are asked for.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.model_selection import cross_val_score
    >>> from stakes.metrics import bayes_cost
    >>> problem = Problem.binary(false_alarm=1, miss=9, classes=["well", "ill"])
    >>> X, y = [[0.1], [0.4], [0.3], [0.9], [0.6], [0.8]] * 10, ["well", "well", "ill"] * 20
    >>> cross_val_score(LogisticRegression(), X, y, scoring=make_scorer(bayes_cost, problem), cv=3)
    array([-0.7 , -0.65, -0.65])
    """
    _check.require("problem", problem, Problem)
    if not isinstance(metric, ScoringRule) and not (callable(metric) and metric in METRICS):
        known = ", ".join(name.__name__ for name in METRICS)
        raise InputError(
            f"metric must be a function of stakes.metrics ({known}) or a scoring rule such as "
            f"LogLoss(); got {_description(metric)}"
        )
    return Scorer(metric, problem)


def _description(metric: Any) -> str:
    """A description of an invalid metric, and the remedy."""
    if isinstance(metric, type):
        remedy = (
            f"Write {metric.__name__}()" if issubclass(metric, ScoringRule) else "Pass a function"
        )
        return f"the class {metric.__name__}. {remedy}."
    if callable(metric) and hasattr(metric, "__name__"):
        where = f"{metric.__module__}.{metric.__name__}"
        return f"the function {where}. For others there is sklearn.metrics.make_scorer."
    return f"{metric!r}. Import the function, and pass it."


def _refuse_decisions(y_true: object, decided: object, **options: object) -> float:
    """Takes the place of a metric of probabilities when scikit-learn tunes a threshold by it."""
    raise InputError(
        "scoring must judge decisions for a threshold to be chosen by it; this metric judges "
        "probabilities, which no threshold changes. Write make_scorer(expected_cost, problem)."
    )


class Scorer:
    """A scorer in the form that scikit-learn calls; see `make_scorer`."""

    def __init__(self, metric: RowMetric | ScoringRule, problem: Problem) -> None:
        self.metric = metric
        self.problem = problem
        self.takes, more_is_better = POSTERIORS, False
        if not isinstance(metric, ScoringRule):
            self.takes, more_is_better = METRICS[metric]
        self._sign = 1 if more_is_better else -1
        self._request = MetadataRequest(owner=type(self).__name__)
        self.set_score_request(sample_weight=None, data=None)
        # TunedThresholdClassifierCV calls this private attribute with the decisions at thresholds.
        judge = metric if self.takes == DECISIONS else _refuse_decisions
        self._score_func, self._kwargs = judge, {"problem": problem}

    def __call__(
        self, estimator: Any, X: Any, y: Any, sample_weight: Any = None, data: Any = None
    ) -> float:
        """The score of the predictions of a fitted estimator for X."""
        data = structured_columns(data)
        responses = response(estimator, X, self.takes, self.problem, data)
        if isinstance(self.metric, ScoringRule):
            named = Posteriors(responses, classes=self.problem.classes)
            prior = self.problem.prior
            loss = mean_score(y, named, self.metric, weights=sample_weight, prior=prior)
        else:
            common = {"problem": self.problem, "sample_weight": sample_weight, "data": data}
            if self.takes == DECISIONS:
                self._refuse_classes(estimator, responses)
            predictions = responses if self.takes == DECISIONS else Posteriors(responses)
            loss = self.metric(y, predictions, **common)
        # Adding 0.0 turns −0.0 into 0.0.
        return self._sign * loss + 0.0

    def _refuse_classes(self, estimator: Any, decided: Any) -> None:
        """Refuse an estimator that predicts classes where the decisions are different."""
        labels = _check.labels("the decisions of estimator", np.unique(decided))
        if set(labels) <= set(self.problem.classes) - set(self.problem.decisions):
            raise InputError(
                f"estimator must predict decisions of the problem, {self.problem.decisions}; "
                f"{type(estimator).__name__} predicts classes. Score its probabilities with "
                f"bayes_cost, or wrap it in BayesDecisionClassifier."
            )

    def set_score_request(self, *, sample_weight: Any = UNCHANGED, data: Any = UNCHANGED) -> Self:
        """Set which metadata are requested: True, False, None, or the name that they have."""
        for name, alias in (("sample_weight", sample_weight), ("data", data)):
            if alias != UNCHANGED:
                self._request.score.add_request(param=name, alias=alias)
        return self

    def get_metadata_routing(self) -> MetadataRequest:
        """The metadata that are requested."""
        return self._request

    _get_metadata_request = get_metadata_routing  # the name TunedThresholdClassifierCV calls

    def __repr__(self) -> str:
        rule = isinstance(self.metric, ScoringRule)
        metric = repr(self.metric) if rule else getattr(self.metric, "__name__", "")
        return f"make_scorer({metric}, …)"
