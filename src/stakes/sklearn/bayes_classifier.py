"""A classifier that takes the decisions with the least expected cost."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn import get_config
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.frozen import FrozenEstimator
from sklearn.utils import get_tags, indexable
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from stakes import _check
from stakes._check import FloatArray, IntArray, Labels
from stakes._version import __version__
from stakes.calibration import Calibrator, CheckedRows, Identity, Select
from stakes.decide import label_array
from stakes.errors import InputError
from stakes.metrics import expected_cost
from stakes.problem import Problem
from stakes.rows import DECISIONS, SCORES, WRAPPERS, Posteriors, Predicted, Scores
from stakes.rule import Origin, Rule
from stakes.sklearn.responses import (
    best_kind,
    cluster_codes,
    column_order,
    order_of,
    predict_others,
    read_splits,
    read_target,
    require_method,
    response,
    splitter,
    structured_columns,
)

_READERS = {"data": "predict and score", "groups": "the splitter in cv"}


def _has_posteriors(classifier: BayesDecisionClassifier) -> bool:
    rule: Rule | None = getattr(classifier, "rule_", None)
    return rule is None or rule.has_posteriors


class BayesDecisionClassifier(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):
    """A classifier whose predictions are the decisions with the least expected cost.

    ``fit`` fits the estimator to all cases, and a calibration map to out-of-fold predictions;
    ``predict`` takes for every case the decision with the least expected cost under the calibrated
    probabilities. Decisions may differ from the classes, such as abstain or review. Classes are
    matched by their labels, whatever their order in the problem.

    Parameters
    ----------
    estimator : classifier
        With ``predict_proba`` or, for two classes, ``decision_function``. A
        `sklearn.frozen.FrozenEstimator` is not fitted again: all cases calibrate it, and must be
        others than those it was fitted to.
    problem : stakes.Problem, default=None
        What is at stake. None: every mistake costs 1. Probabilities hold for its prior, if it
        states one.
    calibrator : stakes.calibration.Calibrator, default=None
        None: `Select()`, which chooses a map. `Identity()` turns calibration off; posteriors are
        then moved to the prior of the problem, if it states one, from the class shares of the
        fit (of these cases, for a frozen estimator). An estimator that reweights the classes, such
        as with ``class_weight="balanced"``, has posteriors for other shares, and needs a
        calibrator.
    cv : int, splitter or iterable, default=5
        The folds of the calibration. A number means stratified folds, fewer where the rarest
        class has fewer cases. Each case must be in exactly one test fold.

    Attributes
    ----------
    classes_ : ndarray of shape (K,)
        The classes, sorted; the columns of `predict_proba`.
    decisions_ : ndarray of shape (M,)
        The decisions of the problem; the columns of `expected_costs`.
    rule_ : stakes.Rule
        Turns the predictions of the estimator into decisions; can be written as JSON and SQL.
    estimator_ : classifier
        The fitted estimator.
    n_features_in_, feature_names_in_
        Those of the estimator, where it has them.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from stakes import Problem
    >>> X, y = load_breast_cancer(return_X_y=True)  # 0 is malignant
    >>> problem = Problem({0: {"treat": 0, "biopsy": 2, "wait": 50},
    ...                    1: {"treat": 10, "biopsy": 1, "wait": 0}})
    >>> clf = BayesDecisionClassifier(GaussianNB(), problem).fit(X[:400], y[:400])
    >>> clf.predict(X[400:404])
    array(['treat', 'wait', 'biopsy', 'biopsy'], dtype='<U6')
    >>> clf.score(X[400:], y[400:])  # minus the cost per case
    -0.7
    """

    def __init__(
        self,
        estimator: Any,
        problem: Problem | None = None,
        *,
        calibrator: Calibrator | None = None,
        cv: Any = 5,
    ) -> None:
        self.estimator = estimator
        self.problem = problem
        self.calibrator = calibrator
        self.cv = cv

    @classmethod
    def from_rule(cls, rule: Rule, estimator: Any) -> Self:
        """A fitted classifier that applies a rule to the predictions of a fitted estimator.

        Nothing is fitted. A rule for posteriors uses ``predict_proba``, one for scores
        ``decision_function``, one for decisions ``predict``. Cloning the classifier and fitting the
        clone calibrates the frozen estimator to the new cases.

        Parameters
        ----------
        rule : a shipped rule
        estimator : a fitted estimator

        Returns
        -------
        BayesDecisionClassifier
            The fitted classifier.

        Examples
        --------
        >>> from sklearn.naive_bayes import GaussianNB
        >>> from stakes import Problem
        >>> X, y = np.array([[0.0], [1.0], [4.0], [5.0]]), np.array([0, 0, 1, 1])
        >>> rule = Rule(Problem.binary(false_alarm=1, miss=9, decisions=["wait", "treat"]))
        >>> BayesDecisionClassifier.from_rule(rule, GaussianNB().fit(X, y)).predict([[0.5], [4.5]])
        array(['wait', 'treat'], dtype='<U5')
        """
        _check.require("rule", rule, Rule, "Take report.rule(), or write Rule(problem).")
        require_method(estimator, rule.takes)
        check_is_fitted(estimator)
        classes = label_array(rule.problem.classes)
        if rule.takes != DECISIONS:  # an estimator that decides need not have the classes
            column_order(estimator, rule.problem)
            classes = np.asarray(estimator.classes_)
        frozen = isinstance(estimator, FrozenEstimator)
        classifier = cls(estimator if frozen else FrozenEstimator(estimator), rule.problem)
        return classifier._decide_by(rule, classifier.estimator, classes)

    def fit(self, X: Any, y: Any, sample_weight: Any = None, **fit_params: Any) -> Self:
        """Fit the estimator and calibrate it.

        Features are passed to the estimator as they are. Invalid ones raise the errors of
        scikit-learn, as its conventions for estimators require: ``ValueError`` or ``TypeError``.

        Parameters
        ----------
        X : array-like of shape (n, p), as the estimator takes it
        y : labels of shape (n,)
        sample_weight : array-like of shape (n,), optional
            Weights for the calibration, and for the estimator if its ``fit`` takes them.
        **fit_params : arguments by name
            For the ``fit`` of the estimator; with metadata routing also for the splitter.

        Returns
        -------
        the fitted classifier itself

        Examples
        --------
        >>> from sklearn.naive_bayes import GaussianNB
        >>> from stakes import Problem
        >>> X, y = np.array([[0.0], [1.0], [4.0], [5.0]] * 10), np.array([0, 0, 1, 1] * 10)
        >>> problem = Problem.binary(false_alarm=1, miss=9)
        >>> clf = BayesDecisionClassifier(GaussianNB(), problem).fit(X, y)
        >>> clf.classes_
        array([0, 1])
        """
        target, classes, codes = read_target(y)
        X, target = indexable(X, target)  # makes sparse matrices and lists indexable
        problem = self._read_problem(classes)
        # From positions among the sorted classes of scikit-learn to positions in the problem.
        codes = np.argsort(order_of(_labels(classes), problem, "the classes of y"))[codes]
        if sample_weight is not None:
            checked = _check.weights("sample_weight", sample_weight, len(codes), of="y")
            sample_weight = np.array(checked)  # a copy, since an estimator may write into it
        mass = _mass(problem, codes, sample_weight)
        calibrator, kind = self._read_calibrator(), self._kind(problem)
        params, groups = self._routed(sample_weight, fit_params)
        frozen = isinstance(self.estimator, FrozenEstimator)
        fitted = self.estimator if frozen else clone(self.estimator).fit(X, target, **params)
        fitted_map, start = None, mass
        if isinstance(calibrator, Identity):
            # Without calibration posteriors hold for the class shares of the fit.
            start = _mass(problem, codes, sample_weight if frozen else _weights_of(params))
        else:
            if frozen:
                responses = response(fitted, X, kind, problem)
            else:
                responses = self._out_of_fold(X, target, codes, kind, problem, params, groups)
            rows = _rows(responses, kind, problem, codes, sample_weight)
            fitted_map = rows.fitted(
                calibrator, np.ones(len(codes), dtype=bool), cluster_codes(groups)
            ).relabelled(problem.classes)
        from_prior = None if problem.prior is None else start / start.sum()
        rule = Rule(problem, kind, fitted_map, from_prior=from_prior, to_prior=problem.prior)
        return self._decide_by(self._named(rule, mass, len(codes)), fitted, classes)

    def predict(self, X: Any, data: Any = None) -> npt.NDArray[Any]:
        """Decisions, one for each case: labels of ``decisions_``.

        `data` are the columns that the costs depend on, where they do: a frame, a structured
        array, or a mapping from column to numbers.

        Parameters
        ----------
        X : features
        data : columns that the costs name

        Returns
        -------
        labels of decisions, (n,)

        Examples
        --------
        >>> from sklearn.naive_bayes import GaussianNB
        >>> from stakes import Problem
        >>> X, y = np.array([[0.0], [1.0], [4.0], [5.0]] * 10), np.array([0, 0, 1, 1] * 10)
        >>> problem = Problem.binary(false_alarm=1, miss=9)
        >>> clf = BayesDecisionClassifier(GaussianNB(), problem).fit(X, y)
        >>> clf.predict([[0.5], [4.5]])
        array([0, 1])
        """
        places = self._rule().decision_indices(self._responses(X), structured_columns(data))
        return np.asarray(self.decisions_[places])

    @available_if(_has_posteriors)
    def predict_proba(self, X: Any) -> FloatArray:
        """Calibrated probabilities, with columns in the order of ``classes_``.

        Parameters
        ----------
        X : features

        Returns
        -------
        probabilities, (n, K)
        """
        rule = self._rule()
        # From the order of the problem back to the sorted classes of scikit-learn.
        place = np.argsort(order_of(_labels(self.classes_), rule.problem))
        return np.asarray(rule.posteriors(self._responses(X))[:, place])

    @available_if(_has_posteriors)
    def expected_costs(self, X: Any, data: Any = None) -> FloatArray:
        """The expected cost of each decision, in the order of ``decisions_``.

        Parameters
        ----------
        X : features
        data : columns that the costs name

        Returns
        -------
        expected costs, (n, M)
        """
        return self._rule().expected_costs(self._responses(X), structured_columns(data))

    def score(self, X: Any, y: Any, sample_weight: Any = None, data: Any = None) -> float:
        """Minus the cost per case of the decisions, so that higher is better.

        The cost is under the prior of the problem, if it states one. It is nan where the prior
        expects a class without cases.

        Parameters
        ----------
        X : features
        y : true classes
        sample_weight : weight of each case
        data : columns that the costs name

        Returns
        -------
        minus the cost per case

        Examples
        --------
        >>> from sklearn.naive_bayes import GaussianNB
        >>> from stakes import Problem
        >>> X, y = np.array([[0.0], [1.0], [4.0], [5.0]] * 10), np.array([0, 0, 1, 1] * 10)
        >>> problem = Problem.binary(false_alarm=1, miss=9)
        >>> clf = BayesDecisionClassifier(GaussianNB(), problem).fit(X, y)
        >>> clf.score(X, y) == 0
        True
        """
        decided = self.predict(X, data=data)
        with _check.renamed(y_true="y"):
            return 0.0 - expected_cost(
                y,
                decided,
                problem=self._rule().problem,
                sample_weight=sample_weight,
                data=structured_columns(data),
            )

    # Called by scikit-learn ---------------------------------------------------------------------

    def get_metadata_routing(self) -> MetadataRouter:
        """The routing of metadata to this classifier, the fit of the estimator and the splitter.

        Returns
        -------
        sklearn.utils.metadata_routing.MetadataRouter
            The router.

        Examples
        --------
        >>> from sklearn.naive_bayes import GaussianNB
        >>> from stakes import Problem
        >>> clf = BayesDecisionClassifier(GaussianNB(), Problem.zero_one(2))
        >>> type(clf.get_metadata_routing()).__name__
        'MetadataRouter'
        """
        fit = MethodMapping().add(caller="fit", callee="fit")
        split = MethodMapping().add(caller="fit", callee="split")
        router = MetadataRouter(owner=type(self).__name__).add_self_request(self)
        router = router.add(estimator=self.estimator, method_mapping=fit)
        return router.add(splitter=self.cv, method_mapping=split)

    def __sklearn_tags__(self) -> Any:
        tags, inner = super().__sklearn_tags__(), get_tags(self.estimator)
        for name in ("sparse", "allow_nan", "pairwise", "string", "categorical"):
            setattr(tags.input_tags, name, getattr(inner.input_tags, name))
        tags.non_deterministic = inner.non_deterministic
        # Scores are for two classes only, whatever the estimator can do.
        many = inner.classifier_tags is not None and inner.classifier_tags.multi_class
        tags.classifier_tags.multi_class = many and hasattr(self.estimator, "predict_proba")
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "rule_")

    # Inside --------------------------------------------------------------------------------------

    def _rule(self) -> Rule:
        check_is_fitted(self)
        rule: Rule = self.rule_
        return rule

    def _responses(self, X: Any) -> Predicted:
        """The predictions of the estimator in the form that the rule takes."""
        rule = self._rule()
        return WRAPPERS[rule.takes](response(self.estimator_, X, rule.takes, rule.problem))

    def _decide_by(self, rule: Rule, fitted: Any, classes: npt.NDArray[Any]) -> Self:
        """Set the fitted attributes."""
        self.rule_, self.estimator_, self.classes_ = rule, fitted, classes
        self.decisions_ = _decision_array(rule.problem, classes)
        for name in ("n_features_in_", "feature_names_in_"):
            # An earlier fit may have set what this estimator lacks.
            if name in vars(self):
                delattr(self, name)
            if hasattr(fitted, name):
                setattr(self, name, getattr(fitted, name))
        return self

    def _read_problem(self, classes: npt.NDArray[Any]) -> Problem:
        if self.problem is None:
            return Problem.zero_one(_labels(classes))
        _check.require("problem", self.problem, Problem, "Write Problem(costs), or None.")
        return self.problem

    def _read_calibrator(self) -> Calibrator:
        if self.calibrator is None:
            return Select()
        remedy = "Write Isotonic(), Identity() for none, or None for Select()."
        _check.require("calibrator", self.calibrator, Calibrator, remedy)
        return self.calibrator

    def _kind(self, problem: Problem) -> str:
        """The kind of prediction that the estimator has, posteriors or scores."""
        kind = best_kind(self.estimator) if hasattr(self.estimator, "fit") else None
        if kind is None or kind == DECISIONS or isinstance(self.estimator, type):
            raise InputError(
                f"estimator must be a classifier with predict_proba or decision_function; "
                f"{self.estimator!r} has neither. Pass one, such as LogisticRegression()."
            )
        if kind == SCORES and problem.n_classes > 2:
            raise InputError(
                f"estimator must have predict_proba for more than two classes; there are "
                f"{problem.n_classes}, and {type(self.estimator).__name__} has decision_function "
                f"alone: Only binary classification is supported. Wrap it in "
                f"sklearn.calibration.CalibratedClassifierCV."
            )
        if kind == SCORES and isinstance(self.calibrator, Identity):
            raise InputError(
                f"calibrator must make posteriors of the scores of "
                f"{type(self.estimator).__name__}, which has no predict_proba; Identity() leaves "
                f"them as they are. Pass another, or None."
            )
        return kind

    def _out_of_fold(
        self,
        X: Any,
        target: npt.NDArray[Any],
        codes: IntArray,
        kind: str,
        problem: Problem,
        params: dict[str, Any],
        groups: Any,
    ) -> npt.NDArray[Any]:
        """Predictions of every case by a fit on the other folds."""
        chosen = splitter(self.cv, target, codes, cluster_codes(groups), problem.classes)
        splits = read_splits(chosen, X, target, codes, problem.classes, groups)
        return predict_others(self.estimator, X, target, splits, kind, problem, fit_params=params)

    def _named(self, rule: Rule, mass: FloatArray, n_rows: int) -> Rule:
        """The rule with its origin."""
        name = type(self.estimator).__name__
        prior = rule.problem.prior_or(mass / mass.sum())
        origin = Origin(
            version=__version__,
            seed=0,
            n_rows=n_rows,
            n_cases=float(mass.sum()),
            prior=tuple(prior.tolist()),
        )
        return replace(rule, system=name, model=name, origin=origin)

    def _routed(self, sample_weight: Any, fit_params: dict[str, Any]) -> tuple[dict[str, Any], Any]:
        """Parameters for the fit of the estimator, and the groups for the splitter."""
        if get_config()["enable_metadata_routing"]:
            weighted = {} if sample_weight is None else {"sample_weight": sample_weight}
            routed = process_routing(self, "fit", **weighted, **fit_params)
            return dict(routed.estimator.fit), routed.splitter.split.get("groups")
        for name in ("data", "groups"):
            if name in fit_params and not has_fit_parameter(self.estimator, name):
                raise InputError(
                    f"{name} must reach {_READERS[name]} by metadata routing; the fit of "
                    f"{type(self.estimator).__name__} does not take it. Turn routing on: "
                    f"sklearn.set_config(enable_metadata_routing=True)."
                )
        if sample_weight is None:
            return fit_params, None
        if has_fit_parameter(self.estimator, "sample_weight"):
            return {**fit_params, "sample_weight": sample_weight}, None
        in_step = any(name.endswith("__sample_weight") for name in fit_params)
        if not in_step and not isinstance(self.estimator, FrozenEstimator):
            warnings.warn(
                f"sample_weight counts in the calibration alone: the fit of "
                f"{type(self.estimator).__name__} does not take it. Turn on metadata routing, pass "
                f"it to the step of a pipeline as well (STEP__sample_weight=), or leave it out.",
                stacklevel=3,
            )
        return fit_params, None


def _labels(classes: npt.NDArray[Any]) -> Labels:
    return _check.labels("the classes of y", classes)


def _mass(problem: Problem, codes: IntArray, weights: FloatArray | None) -> FloatArray:
    """The weight of each class, none of which may be zero."""
    mass = np.bincount(codes, weights).astype(np.float64)
    if not mass.all():
        raise InputError(
            f"sample_weight must give weight to every class; all cases of the class "
            f"{problem.classes[int(np.argmin(mass))]!r} have none. Leave the class out."
        )
    return mass


def _weights_of(params: dict[str, Any]) -> Any:
    """The weights passed to the fit of an estimator, or of a step of a pipeline, or None."""
    return next((params[name] for name in params if name.endswith("sample_weight")), None)


def _rows(
    responses: npt.NDArray[Any],
    kind: str,
    problem: Problem,
    codes: IntArray,
    weights: FloatArray | None,
) -> CheckedRows:
    """The cases in the form in which `evaluate` calibrates them."""
    common = (codes, weights, None, problem.n_classes)
    if kind == SCORES:
        scores = Scores(responses).read("the decision function of estimator")
        return CheckedRows(scores, *common, Scores)
    rows, _ = Posteriors(responses).normalised("predict_proba of estimator", problem.classes)
    return CheckedRows(rows[:, 1] if problem.n_classes == 2 else rows, *common)


def _decision_array(problem: Problem, classes: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Labels of the decisions, with the dtype of `classes_` where they are classes."""
    labels = _labels(classes)
    if set(problem.decisions) <= set(labels):
        return np.asarray(classes[[labels.index(label) for label in problem.decisions]])
    return label_array(problem.decisions)
