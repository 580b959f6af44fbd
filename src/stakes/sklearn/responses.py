"""Predictions of fitted estimators, with classes in the order of a problem."""

from __future__ import annotations

import inspect
import warnings
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils import assert_all_finite
from sklearn.utils.metadata_routing import get_routing_for_object
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from stakes import _check
from stakes._check import IntArray, Labels
from stakes.errors import InputError
from stakes.problem import Problem
from stakes.rows import DECISIONS, POSTERIORS, SCORES

_RENAMED = " (cross_val_predict with predict_proba numbers them: use evaluate_estimators instead)"
METHODS = {POSTERIORS: "predict_proba", SCORES: "decision_function", DECISIONS: "predict"}


def best_kind(estimator: Any) -> str | None:
    """The most informative kind of prediction that an estimator has, or None."""
    return next((kind for kind, method in METHODS.items() if hasattr(estimator, method)), None)


def require_method(estimator: Any, kind: str) -> None:
    """Refuse an estimator without the method for this kind of prediction."""
    if not hasattr(estimator, METHODS[kind]):
        raise InputError(
            f"estimator must have {METHODS[kind]} to give {kind}; {type(estimator).__name__} does "
            f"not. Take another, or wrap it in sklearn.calibration.CalibratedClassifierCV."
        )


def response(estimator: Any, X: Any, kind: str, problem: Problem, data: object = None) -> Any:
    """Posteriors (n, K), scores (n,) for the second class, or decisions (n,) of an estimator.

    Classes are in the order of the problem.
    """
    require_method(estimator, kind)
    if kind == DECISIONS:
        return _decisions(estimator, X, data)
    order = column_order(estimator, problem)
    if kind == SCORES:
        return _scores(
            _check.array("estimator.decision_function", estimator.decision_function(X)), order
        )
    rows = _check.array("estimator.predict_proba", estimator.predict_proba(X))
    if rows.ndim != 2 or rows.shape[1] != len(order):
        raise InputError(
            f"predict_proba must have a column for each of the {len(order)} classes; that of "
            f"{type(estimator).__name__} has the shape {rows.shape}. Fit it to one column y.",
            argument="estimator",
        )
    return rows[:, order]


def _scores(values: npt.NDArray[Any], order: list[int]) -> npt.NDArray[Any]:
    """Scores for the second class of the problem."""
    if values.ndim != 1:
        raise InputError(
            f"estimator must have predict_proba for more than two classes; it has "
            f"decision_function, of shape {values.shape}, alone. Wrap it in "
            f"sklearn.calibration.CalibratedClassifierCV."
        )
    # decision_function is for the second class of scikit-learn, which may be the first here.
    return values if order == [0, 1] else -values


def _decisions(estimator: Any, X: Any, data: object) -> npt.NDArray[Any]:
    """The result of `predict`, which gets the columns of the cases if it takes them."""
    if data is not None:
        # Meta-estimators take **params; their routing says whether a step consumes data.
        asks = "data" in inspect.signature(estimator.predict).parameters
        if asks or get_routing_for_object(estimator).consumes("predict", ["data"]):
            return np.asarray(_check.array("estimator.predict", estimator.predict(X, data=data)))
    return np.asarray(_check.array("estimator.predict", estimator.predict(X)))


def column_order(estimator: Any, problem: Problem) -> list[int]:
    """The column of each class of the problem, matched by label."""
    if not hasattr(estimator, "classes_"):
        raise InputError(
            f"estimator must be a fitted classifier; {type(estimator).__name__} has no classes_. "
            f"Fit it, or pass a classifier."
        )
    return order_of(_check.labels("the classes of estimator", estimator.classes_), problem)


def order_of(labels: Labels, problem: Problem, name: str = "the classes of estimator") -> list[int]:
    """The position of each class of the problem among these labels, which must be the same set."""
    if set(labels) != set(problem.classes):
        odd = sorted(set(labels) ^ set(problem.classes), key=str)[0]
        where = "in the problem alone" if odd in problem.classes else "not in the problem"
        raise InputError(
            f"{name} must be those of the problem, {problem.classes}, in any order; they are "
            f"{labels}, and {odd!r} is {where}. Labels match by equality: 1 and '1' are "
            f"different. Name the classes of the problem after the labels of y"
            f"{_RENAMED * (labels == tuple(range(len(labels))))}.",
            argument="problem",
        )
    return [labels.index(label) for label in problem.classes]


def read_target(y: Any) -> tuple[npt.NDArray[Any], npt.NDArray[Any], IntArray]:
    """Labels (n,), the sorted classes as in scikit-learn, and the position of each case's class."""
    if y is None:
        raise InputError(
            "y must hold the class of every case; a classifier requires y to be passed, but the "
            "target y is None. Pass the labels."
        )
    try:
        target = column_or_1d(y, warn=True)
        assert_all_finite(target, input_name="y")
        # Whether there are too many labels is for the estimator to judge.
        with warnings.catch_warnings(), np.errstate(invalid="ignore"):
            warnings.filterwarnings("ignore", message="The number of unique classes")
            check_classification_targets(target)
        classes, codes = np.unique(target, return_inverse=True)
    except (TypeError, ValueError) as error:
        fault = " ".join(str(error).split()).rstrip(".")
        gaps = np.ndim(y) == 1 and _check.absent("y", y).any()
        remedy = _check.UNLABELLED if gaps else "Pass a list or array of labels."
        raise InputError(f"y must hold one label for every case; {fault}. {remedy}") from error
    if len(classes) < 2:
        raise InputError(
            f"y must hold cases of two classes or more; there are {len(target)} cases, of "
            f"{'one class' if len(classes) else 'no class'}. Gather cases of another."
        )
    return target, classes, codes


def structured_columns(data: Any) -> Any:
    """Columns by name from a structured array, which cross-validation can slice; else unchanged."""
    if isinstance(data, np.ndarray) and data.dtype.names is not None:
        return {name: data[name] for name in data.dtype.names}
    return data
