"""The report on estimators by cross-validation, and metrics as scorers."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn import get_config
from sklearn.frozen import FrozenEstimator
from sklearn.utils import indexable
from sklearn.utils.metadata_routing import UNCHANGED, MetadataRequest, MetadataRouter, MethodMapping
from sklearn.utils.validation import _num_samples

from stakes import _check, metrics
from stakes.calibration import Calibrator
from stakes.errors import InputError
from stakes.evaluation import CrossFitted, evaluate, read_cases, refuse_needless
from stakes.problem import Problem
from stakes.report import Caveat, Report
from stakes.rows import DECISIONS, POSTERIORS, WRAPPERS, Posteriors, Predicted
from stakes.scoring import ScoringRule, mean_score
from stakes.sklearn.responses import (
    Split,
    best_kind,
    by_every_fit,
    cluster_codes,
    fold_of_cases,
    order_of,
    predict_others,
    read_splits,
    read_target,
    refuse_cut_clusters,
    response,
    splitter,
    structured_columns,
)

# Metrics as scorers of scikit-learn, for which higher is better ----------------------------------

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


# The report on estimators by cross-validation ----------------------------------------------------

# With more folds fits hardly differ, and all predictions by all of them would take much memory.
MOST_COMPARED = 50
CROSS_VALIDATION = "cross-validation"  # the kind of the caveat that names the estimand
_MEANT = {
    "groups": "What was sampled together is clusters=.",
    "sample_weight": "Those of the report are weights=, of fits fit_params={'sample_weight': w}.",
}


def evaluate_estimators(
    estimators: Mapping[str, Any],
    X: Any,
    y: Any,
    problem: Problem,
    *,
    cv: Any,
    clusters: object = None,
    data: Any = None,
    fit_params: Mapping[str, Any] | None = None,
    n_jobs: int | None = None,
    **options: Any,
) -> Report:
    """What the decisions of these estimators cost, by cross-validation.

    Every estimator is fitted once for each fold, on the cases of the other folds, and predicts the
    cases that it has not seen; all estimators share the folds. The report is that of `evaluate` on
    these predictions. It estimates the cost of the procedure, fitting to that many cases, not of
    one fitted model; its first caveat says so. Each fit also predicts the cases that it has seen,
    which shows how much the fits differ: intervals of posteriors and decisions allow for it (see
    `stakes.inference.refit_covariance`), unless there are more than 50 folds.

    Parameters
    ----------
    estimators : mapping from name to classifier, fitted or not; they are cloned
        One with ``predict_proba`` gives posteriors, one with ``decision_function`` alone scores,
        one with ``predict`` alone decisions. To ask for another, say so: `Decisions(tuned)`,
        `Scores(svm)`, `Posteriors(forest)`.
    X, y : features and labels of the cases, as the estimators take them
    problem : what is at stake; its classes are the labels of y, in any order
    cv : number of folds, splitter, or iterable of training and test cases
        A number means stratified folds, which keep clusters whole if there are any; fewer where
        the rarest class has fewer cases. Each case must be in exactly one test fold.
    clusters : labels, one per case, of what was sampled together; handed to cv as groups
    data : columns that the costs depend on, as in `evaluate`
    fit_params : mapping from name to an argument for every ``fit``, such as
        ``{"sample_weight": w}``; an argument with an entry for every case is cut to the training
        cases of the fold. With metadata routing, an estimator gets what it requests.
    n_jobs : how many folds are fitted at a time, as in scikit-learn
    options : those of `stakes.evaluate`: weights, by, calibrator, running_costs, volume, period,
        level, replicates, seed and others. Weights apply to the report; weights of fits are passed
        in `fit_params`.

    Returns
    -------
    Report
        The costs of the estimators, with the caveat that names the estimand first.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> problem = Problem.binary(false_alarm=9, miss=1)  # 0 is malignant, and missed by 1
    >>> models = {"line": LogisticRegression(solver="liblinear"),
    ...           "tree": DecisionTreeClassifier(max_depth=2, random_state=0)}
    >>> report = evaluate_estimators(models, X, y, problem, cv=5, calibrator=None)
    >>> report.verdict.model, report.caveats[0].kind
    ('line', 'cross-validation')
    """
    _check.require("problem", problem, Problem)
    requests = {name: _request(name, stated) for name, stated in _named(estimators).items()}
    if fit_params is not None:
        _check.require("fit_params", fit_params, Mapping, "Write {'sample_weight': weights}.")
    if n_jobs is not None and _check.whole("n_jobs", n_jobs, low=-1000, high=1000) == 0:
        raise InputError("n_jobs must not be 0; it is. Write 1 for one at a time, -1 for all.")
    data = structured_columns(data)
    _check.aligned(X=X, y=y, clusters=clusters, data=data)
    target, classes, codes = read_target(y)
    rows = _features(X, len(target))
    labels = _check.labels("the classes of y", classes)
    # From the sorted classes of scikit-learn to the order of the problem.
    codes = np.argsort(order_of(labels, problem, "the classes of y"))[codes]
    # All checks come before the fits, which may take hours.
    _refuse_options(y, problem, clusters, data, options)
    owners = cluster_codes(clusters)
    chosen = splitter(cv, target, codes, owners, problem.classes)
    splits = read_splits(chosen, rows, target, codes, problem.classes, owners)
    if owners is not None:
        refuse_cut_clusters(splits, owners)
    compared = len(splits) <= MOST_COMPARED
    answers: dict[str, list[Predicted]] = {}
    for name, (estimator, kind) in requests.items():
        arguments = (estimator, rows, target, splits, kind, problem)
        how = {"fit_params": _routed(estimator, fit_params or {}), "data": data, "n_jobs": n_jobs}
        with _check.renamed(estimator=f"estimators[{name!r}]"):
            fits = (
                by_every_fit(*arguments, **how) if compared else [predict_others(*arguments, **how)]
            )
        answers[name] = [_named_by_class(kind, fit, problem) for fit in fits]
    models: Any = {name: fits[0] for name, fits in answers.items()}
    if compared:
        models = CrossFitted(answers, fold_of_cases(splits))
    report = evaluate(y, models, problem, clusters=clusters, data=data, **options)
    estimand = Caveat(CROSS_VALIDATION, _estimand(chosen, splits))
    frozen_caveats = _frozen({name: estimator for name, (estimator, _) in requests.items()})
    return replace(report, caveats=(estimand, *frozen_caveats, *report.caveats))


def _named_by_class(kind: str, predictions: Any, problem: Problem) -> Predicted:
    """The predictions of an estimator, whose classes are known."""
    if kind == POSTERIORS:
        return Posteriors(predictions, classes=problem.classes)
    return WRAPPERS[kind](predictions)


def _features(X: Any, n_cases: int) -> Any:
    """The features, which can be indexed and have a row for each case."""
    try:
        if X is None or isinstance(X, str | bytes | Mapping):
            raise TypeError
        (rows,) = indexable(X)
        n_rows = _num_samples(rows)
    except (TypeError, ValueError):
        fault = f"got {_check.described(X)}"
    else:
        if n_rows == n_cases:
            return rows
        fault = f"it has {n_rows:,} rows and y has {n_cases:,}"
    raise InputError(
        f"X must have a row of features for every case of y; {fault}. Pass an array, a frame or a "
        f"sparse matrix, as the estimators take it.",
        argument="X",
    ) from None


def _named(estimators: Any) -> Mapping[str, Any]:
    """The estimators by name, after a check that there is one."""
    if not isinstance(estimators, Mapping) or not estimators:
        raise InputError(
            f"estimators must be a mapping from name to classifier, with one at least; got "
            f"{type(estimators).__name__ if not isinstance(estimators, Mapping) else 'none'}. "
            f"Write {{'forest': RandomForestClassifier()}}."
        )
    return estimators


def _request(name: str, stated: Any) -> tuple[Any, str]:
    """The estimator, and the kind of its predictions."""
    stated_kind = next((kind for kind, of in WRAPPERS.items() if type(stated) is of), None)
    estimator = stated if stated_kind is None else stated.values
    kind = stated_kind or best_kind(estimator)
    if kind is None or not hasattr(estimator, "fit") or isinstance(estimator, type):
        raise InputError(
            f"estimators[{name!r}] must be a classifier of scikit-learn, with fit and predict; "
            f"got {_check.described(estimator)}. Pass an instance, or its predictions to "
            f"stakes.evaluate.",
            argument="estimators",
        )
    return estimator, kind


def _routed(estimator: Any, fit_params: Mapping[str, Any]) -> Mapping[str, Any]:
    """The parameters for one ``fit``: all of them, or with metadata routing those requested."""
    if not (fit_params and get_config()["enable_metadata_routing"]):
        return fit_params
    mapping = MethodMapping().add(caller="fit", callee="fit")
    router = MetadataRouter(owner="evaluate_estimators")
    router.add(estimator=estimator, method_mapping=mapping)
    return dict(router.route_params(caller="fit", params=dict(fit_params)).estimator.fit)


def _refuse_options(
    y: Any, problem: Problem, clusters: object, data: object, options: Mapping[str, Any]
) -> None:
    """Refuse options that `evaluate` would refuse, before time is spent on fits."""
    known = set(inspect.signature(evaluate).parameters) - {"y_true", "models", "problem"}
    for name in options:
        if name not in known:
            remedy = _MEANT.get(name, f"They are {', '.join(sorted(known))}.")
            raise InputError(
                f"options must be those of stakes.evaluate; {name!r} is none of them. {remedy}"
            )
    _check.level(options.get("level", 0.95))
    if options.get("calibrator") is not None:
        _check.require("calibrator", options["calibrator"], Calibrator, "Write Isotonic().")
    refuse_needless(data, problem)
    if options.get("case_costs") is None:
        weights, by, copies = (options.get(name) for name in ("weights", "by", "copies"))
        read_cases(y, problem, weights, by, clusters, data, copies)


def _estimand(chosen: Any, splits: list[Split]) -> str:
    """The caveat that says what cross-validation estimates."""
    sizes = sorted({len(train) for train, _ in splits})
    most = f"{sizes[0]:,}" if len(sizes) == 1 else f"{sizes[0]:,} to {sizes[-1]:,}"
    compared = len(splits) <= MOST_COMPARED
    wider = f", and wider the more these {len(splits)} differ" if compared else ""
    return (
        f"Costs are those of procedures, not of one fitted model: each estimator was fitted "
        f"{len(splits)} times, on {most} of {sum(len(test) for _, test in splits):,} cases, and "
        f"decided the cases that the fit had not seen ({_splitter_name(chosen)}). Intervals are "
        f"for the mean cost of such fits{wider}. A single fit, as one on all cases is, may well "
        f"cost more or less than they say where fits differ much: trees, few cases."
    )


def _frozen(estimators: Mapping[str, Any]) -> list[Caveat]:
    """A caveat for classifiers that are frozen, alone or inside another, if there are any."""
    names = [
        repr(name)
        for name, estimator in estimators.items()
        if any(
            isinstance(part, FrozenEstimator) and hasattr(part, "predict")
            for part in (estimator, *estimator.get_params().values())
        )
    ]
    text = (
        f"{', '.join(names)}: frozen, and not refitted in the folds. The costs hold only if "
        f"none of these cases was among those of its own fit; else they are too low."
    )
    return [Caveat("frozen", text)] if names else []


def _splitter_name(chosen: Any) -> str:
    name = type(chosen).__name__
    return "splits as given" if name.startswith("_") else name
