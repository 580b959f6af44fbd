"""Decisions from posteriors: expected costs, and the cheapest decision."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from stakes import _check
from stakes._check import BoolArray, FloatArray, IntArray, Labels
from stakes.decide.cheapest import cheapest_decisions, costs_of_cases, mean_costs, regrets
from stakes.errors import InputError
from stakes.problem import Problem
from stakes.rows import Posteriors, read_posteriors

_UNREACHED = 1e-9  # of the largest regret: a decision that always costs more is never the cheapest


def expected_costs(
    posteriors: object, problem: Problem, *, data: object = None, case_costs: object = None
) -> FloatArray:
    r"""Expected cost of each decision, case by case.

    .. math:: \sum_k P(k \mid x)\, c_{kd}

    Parameters
    ----------
    posteriors : array_like of shape (n, K), or (n,) for P(second class) of two
        Columns of a frame, or of `Posteriors` with classes, are matched by name.
    problem : what is at stake: costs, prior, labels
    data : frame, or mapping from column to numbers, optional
        The columns that the costs depend on, if they do: every case then has its own costs.
    case_costs : array_like of shape (n, K, M), optional
        Every case's own cost matrix, in place of the problem's.

    Returns
    -------
    array of shape (n, M)

    Examples
    --------
    >>> expected_costs([0.2, 0.9], Problem.binary(false_alarm=1, miss=5))
    array([[1. , 0.8],
           [4.5, 0.1]])
    """
    _check.aligned(posteriors=posteriors, data=data)
    rows = read_posteriors("posteriors", posteriors, problem.classes)
    return mean_costs(rows, costs_of_cases(rows, problem, data, case_costs))


def bayes_decision_indices(
    posteriors: object, problem: Problem, *, data: object = None, case_costs: object = None
) -> IntArray:
    """Position of the cheapest decision for every case (ferrer-ec, eq 7).

    Decisions whose expected costs differ only by rounding are tied; the first one wins. A posterior
    in single precision stands for all numbers that round to it, so that at a threshold it is
    decided as in double precision. With `data` or `case_costs` every case has its own costs, as in
    `expected_costs`. A problem with limits is refused; use `price_limits` first.

    Parameters
    ----------
    posteriors : P(class) for every case, (n, K), or P(second class), (n,)
    problem : what is at stake: costs, prior, labels
    data : columns that the costs name, by their names
    case_costs : costs of every case, (n, K, M), in place of the problem's

    Returns
    -------
    positions of decisions, (n,)

    Examples
    --------
    >>> from stakes.problem import Problem
    >>> bayes_decision_indices([0.001, 0.4, 0.95], Problem([[0, 3, 25], [180, 8, 0]]))
    array([0, 1, 2])
    """
    refuse_limits(problem)
    _check.aligned(posteriors=posteriors, data=data)
    wrapped = posteriors if isinstance(posteriors, Posteriors) else Posteriors(posteriors)
    rows = wrapped.read("posteriors", problem.classes, borrowed=True)
    rounding = wrapped.rounding("posteriors", problem.classes)
    return cheapest_decisions(rows, costs_of_cases(rows, problem, data, case_costs), rounding)


def bayes_decisions(
    posteriors: object,
    problem: Problem,
    *,
    data: object = None,
    case_costs: object = None,
    columns: str | Sequence[str] | None = None,
) -> Any:
    """Label of the cheapest decision for every case (ferrer-ec, eq 7).

    With `data` or `case_costs` every case has its own costs, as in `expected_costs`.

    A frame whose `columns` are named gets one more column, "decision". So does every lazy frame of
    Polars, DuckDB, Dask or Spark, without being read; there the columns with the names of the
    classes are taken by default. A row that has no valid posteriors gets a missing decision.

    Parameters
    ----------
    posteriors : P(class) for every case, (n, K), or P(second class), (n,)
    problem : what is at stake: costs, prior, labels
    data : columns that the costs name, by their names
    case_costs : costs of every case, (n, K, M), in place of the problem's
    columns : names of the columns of a frame that hold the posteriors

    Returns
    -------
    labels of decisions, (n,); where columns are named and for lazy frames, the frame with one more
        column, ``decision``

    Examples
    --------
    With three decisions for two classes, uncertain cases are reviewed:

    >>> problem = Problem([[0, 3, 25], [180, 8, 0]], classes=["legit", "fraud"],
    ...                   decisions=["approve", "review", "block"])
    >>> bayes_decisions([0.001, 0.1, 0.9], problem)
    array(['approve', 'review', 'block'], dtype='<U7')

    Two payments with the same probability of fraud and different amounts:

    >>> problem = Problem({"legit": {"approve": 0, "block": 5},
    ...                    "fraud": {"approve": "amount", "block": 0}})
    >>> bayes_decisions([0.1, 0.1], problem, data={"amount": [20, 200]})
    array(['approve', 'block'], dtype='<U7')
    """
    if _check.in_columns(posteriors, columns, data=data, case_costs=case_costs):
        return _bayes_column(posteriors, problem, columns)
    chosen = bayes_decision_indices(posteriors, problem, data=data, case_costs=case_costs)
    return label_array(problem.decisions)[chosen]


def _bayes_column(frame: object, problem: Problem, columns: str | Sequence[str] | None) -> Any:
    from stakes.adapters.lazy_decisions import bayes_column

    return bayes_column(frame, problem, columns)


def refuse_limits(problem: Problem) -> None:
    """Refuse a problem with limits, which the cheapest decisions may break.

    Parameters
    ----------
    problem : what is at stake: costs, prior, labels

    Examples
    --------
    >>> refuse_limits(Problem.zero_one(2))
    """
    if problem.limits:
        raise InputError(
            f"problem must have no limits here; it has {str(problem.limits[0])!r}, which the "
            f"cheapest decisions may break. Call stakes.price_limits(posteriors, problem): the "
            f"Bayes decisions of its `priced` problem keep the limits. evaluate does so by itself, "
            f"and problem.with_limits(None) ignores them."
        )


def reachable_decisions(problem: Problem) -> BoolArray:
    r"""Whether some posterior makes each decision the cheapest, of shape (M,); ties count.

    .. math:: \exists\, p: \quad \sum_k p_k c_{kd} \le \sum_k p_k c_{ke} \text{ for all } e

    A decision that is the best for some class is reached where that class is certain; for the
    others, a linear program looks for a posterior; of two classes, those are enough at which two
    decisions tie. Bayes decisions never include one that cannot be reached; decisions that people
    take may.

    Parameters
    ----------
    problem : what is at stake: costs, prior, labels

    Returns
    -------
    one boolean for each decision, (M,)

    Examples
    --------
    If asking costs 4, it is never the cheapest decision; if it costs 2, it sometimes is:

    >>> reachable_decisions(Problem([[0, 10, 4], [5, 0, 4]], decisions=["go", "stop", "ask"]))
    array([ True,  True, False])
    >>> reachable_decisions(Problem([[0, 10, 2], [5, 0, 2]], decisions=["go", "stop", "ask"]))
    array([ True,  True,  True])
    """
    regret = regrets(problem.costs)
    regret = regret / (regret.max() or 1.0)
    reached = (regret == 0).any(axis=0)
    for decision in np.flatnonzero(~reached):
        reached[decision] = _excess(regret, int(decision)) <= _UNREACHED
    return np.asarray(reached)


def _excess(costs: FloatArray, decision: int) -> float:
    """How much more than the best other one a decision costs; none at a posterior that reaches it.

    Where none reaches it, the excess is that of a posterior at which it comes near.
    """
    against = np.delete(costs[:, [decision]] - costs, decision, axis=1)
    size = len(costs)
    # Of two classes it is the cheapest on an interval, which ends where it ties with another.
    if size == 2:
        low, high = against[:, against.prod(axis=0) < 0]
        points = np.append(low / (low - high), [0.0, 1.0])[:, None]
        return float(((1 - points) * against[0] + points * against[1]).max(axis=1).min())
    from scipy.optimize import linprog

    solution = linprog(
        np.append(np.zeros(size), 1.0),  # the posteriors, and the excess that is minimised
        A_ub=np.column_stack([against.T, -np.ones(against.shape[1])]),
        b_ub=np.zeros(against.shape[1]),
        A_eq=np.append(np.ones(size), 0.0)[None],
        b_eq=[1.0],
        bounds=[(0.0, 1.0)] * size + [(-1.0, 1.0)],
    )
    return float(solution.fun)


def label_array(names: Labels) -> npt.NDArray[Any]:
    """Labels as an array that keeps their type: text, whole numbers, booleans, else objects.

    Parameters
    ----------
    names : the labels

    Returns
    -------
    an array of the labels

    Examples
    --------
    >>> label_array(("approve", "block"))
    array(['approve', 'block'], dtype='<U7')
    """
    kinds = {type(label) for label in names}
    if len(kinds) == 1:
        return np.array(names)
    mixed = np.empty(len(names), dtype=object)
    mixed[:] = names
    return mixed
