"""Costs of decisions and of posteriors, row by row."""

from __future__ import annotations

from typing import Any

import numpy as np

from stakes import _check, measures
from stakes._arithmetic import ratio
from stakes._check import FloatArray
from stakes.decide import bayes_decisions
from stakes.errors import InputError
from stakes.problem import CaseCosts, Problem
from stakes.rows import Posteriors
from stakes.tally import Counts, LossMoments, read_rows


def expected_cost(
    y_true: object,
    y_pred: object,
    *,
    problem: Problem,
    sample_weight: object = None,
    data: object = None,
    case_costs: object = None,
) -> float:
    """Cost per case of these decisions, under the problem's prior or the data's shares.

    Parameters
    ----------
    y_true : true class of every case, (n,)
    y_pred : array_like of shape (n,)
        Decisions, labels of ``problem.decisions``.
    problem : what is at stake: costs, prior, labels
    sample_weight : weight of each case, (n,); None counts each once
    data : frame, or mapping from column to numbers, optional
        The columns that the costs depend on, where they do: every case is charged its own costs.
    case_costs : array_like of shape (n, K, M), optional
        Every case's own costs, in place of the problem's.

    Returns
    -------
    cost per case in the unit of the problem

    Examples
    --------
    >>> problem = Problem.binary(false_alarm=1, miss=9)
    >>> expected_cost([0, 0, 1, 1], [0, 1, 1, 0], problem=problem)
    2.5
    """
    _check.require("problem", problem, Problem)
    costs = problem.charged(data, case_costs)
    if costs is None:
        counts = _counts(y_true, y_pred, problem, sample_weight)
        return float(measures.expected_cost(counts, problem))
    _check.aligned(y_true=y_true, y_pred=y_pred, data=data)
    return float(_case_losses(y_true, y_pred, problem, sample_weight, costs)[0])


def normalized_cost(
    y_true: object,
    y_pred: object,
    *,
    problem: Problem,
    sample_weight: object = None,
    data: object = None,
    case_costs: object = None,
) -> float:
    """Expected cost where 0 is perfect and 1 is the best constant decision.

    With costs of every case (`data` or `case_costs`), the best constant decision is the one that is
    cheapest on average, and perfect is the mean of each case's cheapest decision.

    Parameters
    ----------
    y_true : true class of every case, (n,)
    y_pred : decision about every case, (n,)
    problem : what is at stake: costs, prior, labels
    sample_weight : weight of each case, (n,); None counts each once
    data : columns that the costs name, by their names
    case_costs : costs of every case, (n, K, M), in place of the problem's

    Returns
    -------
    normalised cost; above 1 a constant decision is cheaper

    Examples
    --------
    >>> normalized_cost([0, 0, 1], [0, 0, 0], problem=Problem.zero_one(2))
    1.0
    """
    _check.require("problem", problem, Problem)
    costs = problem.charged(data, case_costs)
    if costs is None:
        counts = _counts(y_true, y_pred, problem, sample_weight)
        return float(measures.normalized_cost(counts, problem))
    _check.aligned(y_true=y_true, y_pred=y_pred, data=data)
    # Regrets, not costs: an amount that all decisions of a case share must not change the result.
    losses = _case_losses(y_true, y_pred, problem, sample_weight, costs)
    regret, of_constants = losses[1], losses[2:].min()
    return float(ratio(regret, of_constants))


def utility_yield(
    y_true: object,
    y_pred: object,
    *,
    problem: Problem,
    sample_weight: object = None,
    data: object = None,
    case_costs: object = None,
) -> float:
    """Utility per case of these decisions; higher is better.

    Parameters
    ----------
    y_true : true class of every case, (n,)
    y_pred : decision about every case, (n,)
    problem : what is at stake: costs, prior, labels
    sample_weight : weight of each case, (n,); None counts each once
    data : columns that the costs name, by their names
    case_costs : costs of every case, (n, K, M), in place of the problem's

    Returns
    -------
    utility per case in the unit of the problem

    Examples
    --------
    >>> from stakes.problem import Problem
    >>> utility_yield([0, 0, 1], [0, 1, 1], problem=Problem.from_utilities([[1, -1], [-5, 3]]))
    1.0
    """
    # Not a minus sign: a cost of zero would become −0.0, which prints as such.
    options: dict[str, Any] = {"data": data, "case_costs": case_costs}
    return 0.0 - expected_cost(
        y_true, y_pred, problem=problem, sample_weight=sample_weight, **options
    )


def bayes_cost(
    y_true: object,
    y_proba: object,
    *,
    problem: Problem,
    classes: object = None,
    sample_weight: object = None,
    data: object = None,
    case_costs: object = None,
) -> float:
    """Expected cost of the Bayes decisions that these posteriors lead to.

    The posteriors are taken as they are; ``shift_prior`` moves them to another prior.

    Parameters
    ----------
    y_true : true class of every case, (n,)
    y_proba : array_like of shape (n, K), or (n,) for P(second class) of two
    problem : what is at stake: costs, prior, labels
    classes : K labels, optional
        The class of each column, in the order of the columns; pass ``model.classes_``, which
        scikit-learn sorts. Left out, column k belongs to ``problem.classes[k]``.
    sample_weight : weight of each case, (n,); None counts each once
    data, case_costs : every case's own costs, as in `expected_cost`

    Returns
    -------
    cost per case in the unit of the problem

    Examples
    --------
    >>> bayes_cost([0, 0, 1], [0.05, 0.3, 0.2], problem=Problem.binary(false_alarm=1, miss=9))
    0.333333
    >>> problem = Problem.binary(false_alarm=1, miss=9, classes=["legit", "fraud"])
    >>> y_proba = [[0.05, 0.95], [0.9, 0.1]]  # of a model with classes_ ["fraud", "legit"]
    >>> bayes_cost(["legit", "fraud"], y_proba, problem=problem, classes=["fraud", "legit"])
    0.0
    """
    _check.aligned(y_true=y_true, y_proba=y_proba, sample_weight=sample_weight, data=data)
    options: dict[str, Any] = {"data": data, "case_costs": case_costs}
    decided = _decided(y_proba, classes, problem, options)
    return expected_cost(y_true, decided, problem=problem, sample_weight=sample_weight, **options)


def normalized_bayes_cost(
    y_true: object,
    y_proba: object,
    *,
    problem: Problem,
    classes: object = None,
    sample_weight: object = None,
    data: object = None,
    case_costs: object = None,
) -> float:
    """Normalised cost of the Bayes decisions that these posteriors lead to.

    `classes` names the columns of `y_proba`, as in `bayes_cost`.

    Parameters
    ----------
    y_true : true class of every case, (n,)
    y_proba : P(class) for every case, (n, K), or P(second class), (n,)
    problem : what is at stake: costs, prior, labels
    classes : labels of the classes, in the order of the columns
    sample_weight : weight of each case, (n,); None counts each once
    data : columns that the costs name, by their names
    case_costs : costs of every case, (n, K, M), in place of the problem's

    Returns
    -------
    normalised cost; above 1 a constant decision is cheaper

    Examples
    --------
    >>> problem = Problem.zero_one(["legit", "fraud"])
    >>> normalized_bayes_cost(
    ...     ["legit", "fraud"], [[0.1, 0.9], [0.2, 0.8]], problem=problem,
    ...     classes=["fraud", "legit"])
    1.0
    """
    _check.aligned(y_true=y_true, y_proba=y_proba, sample_weight=sample_weight, data=data)
    options: dict[str, Any] = {"data": data, "case_costs": case_costs}
    decided = _decided(y_proba, classes, problem, options)
    return normalized_cost(y_true, decided, problem=problem, sample_weight=sample_weight, **options)


def _decided(y_proba: object, classes: object, problem: Problem, options: dict[str, Any]) -> Any:
    """Bayes decisions by posteriors whose columns are named where their classes are stated."""
    _check.refuse_lazy("y_proba", y_proba)
    named = isinstance(y_proba, Posteriors) or _check.frame_columns(y_proba) is not None
    if classes is not None and named:
        raise InputError(
            "classes must name the columns of an array; those of y_proba have names already. "
            "Leave classes out, or pass the values alone."
        )
    with _check.renamed(posteriors="y_proba"):
        posteriors = y_proba if classes is None else Posteriors(y_proba, classes)
        return bayes_decisions(posteriors, problem, **options)


def _counts(y_true: object, y_pred: object, problem: Problem, sample_weight: object) -> Counts:
    """Counts of decisions, with scikit-learn's names in every message."""
    _check.aligned(y_true=y_true, y_pred=y_pred, sample_weight=sample_weight)
    columns = {
        "y_true": _check.truths("y_true", y_true, problem.classes, problem.decisions),
        "y_pred": _check.decisions("y_pred", y_pred, problem.decisions, problem.classes),
    }
    rows = read_rows(columns, sample_weight, weights_name="sample_weight")
    return Counts._of_rows(rows, problem.classes, problem.decisions)


def _case_losses(
    y_true: object, y_pred: object, problem: Problem, sample_weight: object, costs: CaseCosts
) -> FloatArray:
    """Means per case: cost of the decisions, their regret, and the regret of each constant one."""
    _check.aligned(y_true=y_true, y_pred=y_pred, sample_weight=sample_weight)
    truth = _check.truths("y_true", y_true, problem.classes, problem.decisions)
    decided = _check.decisions("y_pred", y_pred, problem.decisions, problem.classes)
    # A stand-in of the same length, for the error message: a large array of costs is not copied.
    of_costs = np.empty(costs.n_cases, dtype=np.bool_)
    name = "data" if costs.array is None else "case_costs"
    n_cases = _check.same_length(y_true=truth, y_pred=decided, **{name: of_costs})
    _check.weights("sample_weight", sample_weight, n_cases)
    columns = np.empty((n_cases, 2 + problem.n_decisions))
    for rows, charged in costs.of_class(truth):
        regret = charged - charged.min(axis=0)
        taken = decided[rows], np.arange(charged.shape[1])
        columns[rows] = np.column_stack([charged[taken], regret[taken], regret.T])
    moments = LossMoments.from_losses(
        y_true, columns, classes=problem.classes, weights=sample_weight
    )
    return moments.mean(problem.prior)
