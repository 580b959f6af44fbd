"""Predictions of fitted estimators, in the order of a problem, also on other folds."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Mapping
from numbers import Integral
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import clone
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold, check_cv
from sklearn.utils import _safe_indexing, assert_all_finite, get_tags
from sklearn.utils.metadata_routing import get_routing_for_object
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import column_or_1d

from stakes import _check
from stakes._check import IntArray, Labels
from stakes.errors import InputError
from stakes.problem import Problem
from stakes.rows import DECISIONS, POSTERIORS, SCORES

# Predictions of fitted estimators, with classes in the order of a problem ------------------------

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
        is_ragged = "inhomogeneous" in fault
        gaps = not is_ragged and np.ndim(y) == 1 and _check.absent("y", y).any()
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


# Splits of the cases, and predictions of each case by a fit on the other folds -------------------

Split = tuple[IntArray, IntArray]


def cluster_codes(clusters: object) -> IntArray | None:
    """The position of the cluster of each case, or None."""
    return None if clusters is None else _check.clusters(clusters).codes


def splitter(cv: Any, y: Any, codes: IntArray, clusters: IntArray | None, names: Labels) -> Any:
    """The splitter; a number of folds is lowered to what the rarest class allows."""
    if not isinstance(cv, Integral) or isinstance(cv, bool):
        try:
            return check_cv(cv, y, classifier=True)
        except Exception:  # its text is shown, which may fail, too
            raise InputError(
                f"cv must be a number of folds, a splitter of scikit-learn, or an iterable of "
                f"training and test cases; got {_check.described(cv)}. Write cv=5."
            ) from None
    if cv < 2:
        raise InputError(f"cv must be 2 folds or more; got {cv}. 5 is usual.")
    owner = np.arange(codes.size) if clusters is None else clusters
    sizes = [np.unique(owner[codes == k]).size for k in range(len(names))]
    if min(sizes) < 2:
        what = "cases" if clusters is None else "clusters with cases"
        raise InputError(
            f"y must hold two {what} of every class at least, for two folds; "
            f"{names[int(np.argmin(sizes))]!r} has {min(sizes)}. Gather more, or leave the class "
            f"out."
        )
    # Each class must be in every training set: no single test fold may hold all of its cases.
    folds = min(int(cv), *sizes)
    return StratifiedKFold(folds) if clusters is None else StratifiedGroupKFold(folds)


def read_splits(
    chosen: Any, X: Any, y: Any, codes: IntArray, names: Labels, groups: Any = None
) -> list[Split]:
    """Training and test cases of every fold, after a check that each case is tested once.

    Every class must occur in each training set.
    """
    with warnings.catch_warnings():  # whether clusters stay whole is checked below
        warnings.filterwarnings("ignore", message="The groups parameter is ignored")
        try:
            folds = list(chosen.split(X, y, groups))
            splits = [(_places(fit, len(codes)), _places(test, len(codes))) for fit, test in folds]
        except Exception as error:  # the splitter may be anybody's
            if groups is not None or "groups" not in str(error):
                raise InputError(
                    f"cv must split the cases into training and test cases; it does not: "
                    f"{type(error).__name__}: {error}. Write cv=5."
                ) from error
            raise InputError(
                f"cv must be given groups where it is a {type(chosen).__name__}; there are none. "
                f"Pass clusters= to evaluate_estimators, or groups= to fit with metadata routing."
            ) from error
    # A case tested twice would count as two independent cases in the intervals.
    places = np.concatenate([np.empty(0, dtype=np.intp), *(test for _, test in splits)])
    tested = np.bincount(places, minlength=len(codes))
    if (tested != 1).any():
        often, never = int(tested.max()), int((tested == 0).sum())
        fault = f"{never} of {len(codes)} are in none" if never else f"one is in {often}"
        raise InputError(
            f"cv must put every case into exactly one test fold; {fault}. Repeated, random and "
            f"time-ordered splits do not: use KFold, StratifiedKFold or GroupKFold, with shuffle "
            f"where order matters."
        )
    for fold, (train, test) in enumerate(splits):
        if np.intersect1d(train, test).size:
            raise InputError(
                f"cv must keep test cases out of the fit; fold {fold} has "
                f"{np.intersect1d(train, test).size} cases in both. Use a splitter whose train "
                f"and test sets are disjoint."
            )
        absent = np.flatnonzero(np.bincount(codes[train], minlength=len(names)) == 0)
        if absent.size:
            raise InputError(
                f"cv must leave cases of every class in each fit; that of fold {fold} has none of "
                f"the class {names[absent[0]]!r}. Use StratifiedKFold, or fewer folds."
            )
    return splits


def _places(rows: Any, n_cases: int) -> IntArray:
    """Positions of cases, also from a mask or from negative positions."""
    return np.asarray(np.arange(n_cases)[np.asarray(rows)], dtype=np.intp)


def refuse_cut_clusters(splits: list[Split], clusters: IntArray) -> None:
    """Refuse splits that have cases of one cluster in training and test."""
    for fold, (train, test) in enumerate(splits):
        cut = np.intersect1d(clusters[train], clusters[test]).size
        if cut:
            raise InputError(
                f"cv must keep clusters whole; fold {fold} has {cut} of them on both sides. Pass "
                f"a number of folds, GroupKFold or StratifiedGroupKFold."
            )


def fold_of_cases(splits: list[Split]) -> IntArray:
    """The position of the split that tests each case."""
    folds = np.empty(sum(len(test) for _, test in splits), dtype=np.intp)
    for place, (_, test) in enumerate(splits):
        folds[test] = place
    return folds


def predict_others(
    estimator: Any, X: Any, y: npt.NDArray[Any], splits: list[Split], *request: Any, **options: Any
) -> npt.NDArray[Any]:
    """Predictions of every case by a fit on the other folds, in the order of the cases.

    What is asked for, and with what, is as in `by_every_fit`.
    """
    responses = _asked(estimator, X, y, splits, *request, **options)
    # Folds come one after the other; sorting by position restores the order of the cases.
    places = np.concatenate([test for _, test in splits])
    return np.asarray(np.concatenate(responses)[np.argsort(places)])


def by_every_fit(
    estimator: Any, X: Any, y: npt.NDArray[Any], splits: list[Split], *request: Any, **options: Any
) -> list[npt.NDArray[Any]]:
    """Predictions of every case by each of the fits, also by those that have seen it."""
    every = np.arange(len(y))
    return _asked(estimator, X, y, [(train, every) for train, _ in splits], *request, **options)


def _asked(
    estimator: Any,
    X: Any,
    y: npt.NDArray[Any],
    splits: list[Split],
    kind: str,
    problem: Problem,
    *,
    fit_params: Mapping[str, Any],
    data: Any = None,
    n_jobs: int | None = None,
) -> list[npt.NDArray[Any]]:
    """Fit to the first cases of each split, and predict the second ones."""
    responses: list[npt.NDArray[Any]] = Parallel(n_jobs=n_jobs)(
        delayed(_fit_and_ask)(clone(estimator), X, y, train, asked, kind, problem, fit_params, data)
        for train, asked in splits
    )
    return responses


def _fit_and_ask(
    estimator: Any,
    X: Any,
    y: npt.NDArray[Any],
    train: IntArray,
    asked: IntArray,
    kind: str,
    problem: Problem,
    fit_params: Mapping[str, Any],
    data: Any,
) -> npt.NDArray[Any]:
    """Fit to the training cases of a fold, and predict the cases that are asked about."""
    known = {name: some(values, train, len(y)) for name, values in fit_params.items()}
    estimator.fit(_cases(estimator, X, train, train), y[train], **known)
    rows = _cases(estimator, X, asked, train)
    answers = np.asarray(response(estimator, rows, kind, problem, some(data, asked, len(y))))
    if answers.shape[:1] != asked.shape:
        raise InputError(
            f"estimator must give a prediction for every case; {type(estimator).__name__} gave "
            f"{_check.described(answers)} for {len(asked)} cases. Take another."
        )
    return answers


def _cases(estimator: Any, X: Any, rows: IntArray, train: IntArray) -> Any:
    """The features of some cases; for a precomputed kernel, the columns of the training cases."""
    if get_tags(estimator).input_tags.pairwise:
        return np.asarray(X)[np.ix_(rows, train)]
    return _safe_indexing(X, rows)


def some(values: Any, rows: IntArray, n_cases: int) -> Any:
    """Some rows of values that have one per case, also within a mapping; others unchanged."""
    if isinstance(values, Mapping):
        return {name: some(column, rows, n_cases) for name, column in values.items()}
    # Sparse matrices have a shape but no length.
    size = values.shape[0] if getattr(values, "shape", ()) else None
    if size is None and hasattr(values, "__len__") and not isinstance(values, str | bytes):
        size = len(values)
    return _safe_indexing(values, rows) if size == n_cases else values
