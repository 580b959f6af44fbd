"""Decisions from posteriors, and posteriors from log-odds, likelihoods or another prior.

Nothing here reads ``problem.prior``: posteriors hold for some prior, and `shift_prior` moves them
to another one.

Takes rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce
from typing import Any

import numpy as np
import numpy.typing as npt

from stakes import _check
from stakes._check import BoolArray, FloatArray, IntArray, Labels
from stakes._value import Value, record
from stakes.errors import InputError
from stakes.problem import CaseCosts, Problem
from stakes.rows import Posteriors, read_posteriors

__all__ = [
    "MOST_WHOLE",
    "ROUNDING",
    "PriorEstimate",
    "bayes_decision_indices",
    "bayes_decisions",
    "cheapest_decisions",
    "class_ratios",
    "costs_of_cases",
    "estimate_prior",
    "expected_costs",
    "label_array",
    "log_likelihood_ratios",
    "mean_costs",
    "moved_rows",
    "posteriors_from_log_likelihoods",
    "posteriors_from_log_odds",
    "reachable_decisions",
    "refuse_limits",
    "regrets",
    "shift_prior",
    "tie_slack",
]


# Decisions from posteriors: expected costs, and the cheapest decision, with defined ties ---------

ROW_BLOCK = 1 << 16  # rows at a time, so that memory stays flat
_FEW, _MORE = 1 << 12, 1 << 13  # rows whose matrix products stay in the cache
_PRODUCT = 1 << 20  # rows times costs of a product on one thread; beyond 256 costs it has more
MOST_WHOLE = 2.0**53  # below this, differences of whole numbers are exact
_EPS = np.finfo(np.float64).eps
ROUNDING = 4 * _EPS  # bound on the rounding error of a posterior and of the arithmetic on it


def costs_of_cases(
    rows: FloatArray, problem: Problem, data: object, case_costs: object
) -> FloatArray | CaseCosts:
    """The costs of the problem, (K, M), or those of every case.

    Parameters
    ----------
    rows : checked posteriors, (n, K)
    problem : what is at stake: costs, prior, labels
    data : columns that the costs name, by their names
    case_costs : costs of every case, (n, K, M), in place of the problem's

    Returns
    -------
    costs, (K, M), or those of every case

    Examples
    --------
    >>> costs_of_cases(np.array([[0.9, 0.1]]), Problem([[0, 1], [9, 0]]), None, None)
    array([[0., 1.],
           [9., 0.]])
    """
    costs = problem.charged(data, case_costs)
    if costs is None:
        return problem.costs
    argument = "data" if case_costs is None else "case_costs"
    if costs.n_cases != len(rows):
        raise InputError(
            f"{argument} must describe the cases of the posteriors, of which there are "
            f"{len(rows)}; it has {costs.n_cases} rows. Pass one for every case."
        )
    return costs


def mean_costs(rows: FloatArray, costs: FloatArray | CaseCosts) -> FloatArray:
    """Expected cost of each decision, for checked posteriors (n, K).

    Parameters
    ----------
    rows : checked posteriors, (n, K)
    costs : costs of each decision, (K, M), or of every case

    Returns
    -------
    expected cost of each decision for every case, (n, M)

    Examples
    --------
    >>> mean_costs(np.array([[0.9, 0.1]]), np.array([[0.0, 1.0], [5.0, 0.0]]))
    array([[0.5, 0.9]])
    """
    _check.shapes("n K, K M", rows=rows, costs=costs)
    if not isinstance(costs, CaseCosts):
        return np.asarray(rows @ costs)
    expected = np.empty((len(rows), costs.shape[1]))
    for block, part in costs.blocks():
        expected[block] = np.einsum("bk,kmb->bm", rows[block], part)
    return expected


def cheapest_decisions(
    rows: FloatArray,
    costs: FloatArray | CaseCosts,
    rounding: FloatArray | None = None,
    ratios: FloatArray | None = None,
) -> IntArray:
    """Position of the cheapest decision for checked posteriors (n, K).

    Expected costs are known up to rounding. The first decision wins whose lowest possible cost does
    not exceed the highest possible cost of any other.

    Parameters
    ----------
    rows : checked posteriors, (n, K)
    costs : costs of each decision, (K, M), or of every case
    rounding : (n, K) bounds on the errors of posteriors, beyond double precision; None for zero
    ratios : (K,) new prior over the one for which the posteriors hold, see `class_ratios`; None
        for 1

    Returns
    -------
    positions of decisions, (n,)

    Examples
    --------
    >>> cheapest_decisions(np.array([[0.9, 0.1], [0.2, 0.8]]), np.array([[0.0, 1.0], [5.0, 0.0]]))
    array([0, 1])
    """
    _check.shapes("n K, K M", rows=rows, costs=costs)
    chosen = np.empty(len(rows), dtype=np.intp)
    if isinstance(costs, CaseCosts):
        for block, costs_of_block in costs.blocks():
            errors = None if rounding is None else rounding[block].T
            weighted = _reweighted(costs_of_block, ratios)
            chosen[block] = _cheapest_of_each(rows[block].T, weighted, errors)
        return chosen
    # Costs are multiplied by the ratios, because they are fewer than the posteriors; normalising
    # the posteriors would change no decision.
    costs = _reweighted(costs, ratios)
    slack, regret = tie_slack(costs), regrets(costs)
    few = min(max(_PRODUCT // costs.size, _FEW), _MORE)
    for block in row_blocks(len(rows), few):
        # Regrets, not costs: an amount that all decisions share would lose digits and break ties.
        expected = regret.T @ rows[block].T  # each decision is contiguous
        errors = slack if rounding is None else (slack + rounding[block] @ regret).T
        chosen[block] = _first_cheapest(expected, errors)
    return chosen


def _reweighted(costs: FloatArray, ratios: FloatArray | None) -> FloatArray:
    """Costs (K, M, …) in which each class has the weight of another prior."""
    if ratios is None:
        return costs
    # Regrets, so that a large ratio does not multiply an amount that all decisions share.
    least = costs.min(axis=1, keepdims=True)
    return np.asarray(costs - least) * ratios.reshape(-1, *(1,) * (costs.ndim - 1))


def _cheapest_of_each(rows: FloatArray, costs: FloatArray, errors: FloatArray | None) -> IntArray:
    """The cheapest decision (B,) by posteriors (K, B) and costs (K, M, B) of the same cases."""
    regret, slack = costs - costs.min(axis=1, keepdims=True), tie_slack(costs)
    expected = sum(p * column for p, column in zip(rows, regret, strict=True))
    if errors is not None:
        slack = slack + sum(p * column for p, column in zip(errors, regret, strict=True))
    return _first_cheapest(np.asarray(expected), slack)


def _first_cheapest(expected: FloatArray, slack: FloatArray) -> IntArray:
    """The first decision (B,) whose cost (M, B) is the lowest, up to its slack, (M,) or (M, B)."""
    limit = reduce(np.minimum, (cost + most for cost, most in zip(expected, slack, strict=True)))
    costlier = np.ones(expected.shape[1], dtype=np.bool_)  # whether all decisions so far cost more
    # Positions are counted in one byte for each row, which is faster, and widened at the end.
    small = np.uint8 if len(expected) < 256 else np.intp
    chosen: npt.NDArray[Any] = np.zeros(expected.shape[1], dtype=small)
    for cost, most in zip(expected, slack, strict=True):
        costlier &= cost > limit + most
        chosen += costlier
    return chosen.astype(np.intp)


def regrets(costs: FloatArray) -> FloatArray:
    """Costs (…, K, M) above those of the cheapest decision for each class.

    Parameters
    ----------
    costs : costs of each decision, (K, M), or of every case

    Returns
    -------
    costs above the cheapest decision of each class, (…, K, M)

    Examples
    --------
    >>> regrets(np.array([[1.0, 4.0], [180.0, 8.0]]))
    array([[  0.,   3.],
           [172.,   0.]])
    """
    _check.shapes("… M", costs=costs)
    return np.asarray(costs - costs.min(axis=-1, keepdims=True))


def tie_slack(costs: FloatArray) -> FloatArray:
    """Bound on the rounding error of the expected regret of each decision, (M, …), for (K, M, …).

    Posteriors are rounded, and so are costs: 0.1 * 3 is meant to be 0.3. Whole numbers are exact,
    so that an amount that all decisions share, even one of 1e12, changes nothing.

    Parameters
    ----------
    costs : costs of each decision, (K, M), or of every case

    Returns
    -------
    bounds on the rounding error, (M, …)

    Examples
    --------
    >>> tie_slack(np.array([[0.0, 1.0], [9.0, 0.0]])) < 1e-14
    array([ True,  True])
    """
    _check.shapes("K M …", costs=costs)
    cheapest = costs.min(axis=1, keepdims=True)
    largest, least = (_rounded_size(table).max(axis=0) for table in (costs, cheapest))
    regret = (costs - cheapest).sum(axis=0)
    return np.asarray(ROUNDING * regret + _EPS / 2 * (largest + least))


def _rounded_size(costs: FloatArray) -> FloatArray:
    """The magnitude of costs that may have been rounded; zero for whole numbers."""
    size = np.abs(costs)
    # Whole numbers are represented exactly, and so are their differences.
    return np.where((costs == np.rint(costs)) & (size < MOST_WHOLE), 0.0, size)


def row_blocks(n_rows: int, size: int = ROW_BLOCK) -> Iterator[slice]:
    """Slices that divide the rows into blocks, at most `size` in each."""
    for start in range(0, n_rows, size):
        yield slice(start, start + size)


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
    _check.require("problem", problem, Problem)
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
    _check.require("problem", problem, Problem)
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
    _check.require("problem", problem, Problem)
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


# Posteriors from log-odds and likelihoods, and moved to another prior ----------------------------

_LARGEST = 1e300  # largest ratio of a new share to an old one; sums of larger ones would overflow


def posteriors_from_log_odds(log_odds: object) -> FloatArray:
    """P(second class), of shape (n,), from log(P(second)/P(first)); ±inf means certainty.

    Parameters
    ----------
    log_odds : log(P(second)/P(first)) of every case, (n,)

    Returns
    -------
    P(second class), (n,)

    Examples
    --------
    >>> posteriors_from_log_odds([0.0, float("inf")])
    array([0.5, 1. ])
    """
    from scipy.special import expit

    return np.asarray(expit(_check.real_scores("log_odds", log_odds)))


def posteriors_from_log_likelihoods(log_likelihoods: object, prior: object) -> FloatArray:
    r"""Posteriors of shape (n, K) from log P(x | k), up to a constant per case, and a prior.

    A class of prior zero gets posterior zero. A case is nan if all classes that it may belong to
    have a prior of zero.

    Parameters
    ----------
    log_likelihoods : log P(x | k), up to a constant per case, (n, K)
    prior : class shares, (K,)

    Returns
    -------
    posteriors, (n, K)

    Examples
    --------
    >>> posteriors_from_log_likelihoods([[0.0, 0.0]], [0.7, 0.3])
    array([[0.7, 0.3]])
    """
    from scipy.special import softmax

    values = _check.reals("log_likelihoods", log_likelihoods, ndim=2)
    if not (values.max(axis=1, initial=-np.inf) > -np.inf).all() or not (values < np.inf).all():
        raise InputError(
            "log_likelihoods must be numbers, or -inf where a class is ruled out, and some class "
            "must be possible in every row; some are nan or inf, or a row is all -inf. "
            "Remove these rows, or repair the densities."
        )
    shares = _check.prior("prior", prior, tuple(range(values.shape[1])))
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(softmax(values + np.log(shares), axis=1))


def log_likelihood_ratios(posteriors: object, prior: object) -> FloatArray:
    r"""Log-likelihoods relative to the first class, from posteriors and the prior they hold for.

    .. math:: \log \frac{P(k \mid x)}{P(0 \mid x)} - \log \frac{\pi_k}{\pi_0}

    Posteriors of shape (n,) give (n,); (n, K) give (n, K), whose first column is zero.
    `posteriors_from_log_likelihoods` is the inverse. Certainty gives ±inf; nan where the prior of a
    class is zero, or where both posteriors are.

    Parameters
    ----------
    posteriors : P(class) for every case, (n, K), or P(second class), (n,)
    prior : the class shares for which the posteriors hold

    Returns
    -------
    log-likelihood ratios, (n,) of the second class or (n, K); infinite for certainty

    Examples
    --------
    >>> log_likelihood_ratios([0.3], [0.7, 0.3])
    array([0.])
    """
    rows, single = _read(posteriors)
    shares = _check.prior("prior", prior, tuple(range(rows.shape[1])))
    with np.errstate(divide="ignore", invalid="ignore"):
        scaled = np.log(rows) - np.log(shares)
        ratios = scaled - scaled[:, :1]
    # Where the first class is impossible, −inf minus −inf would be nan.
    ratios[:, 0] = 0.0
    return np.asarray(ratios[:, 1] if single else ratios)


def shift_prior(posteriors: object, from_prior: object, to_prior: object) -> FloatArray:
    r"""Move posteriors that hold for one prior to another; the likelihoods stay the same.

    .. math:: P'(k \mid x) \propto P(k \mid x)\, \pi'_k / \pi_k

    The shape stays the same: (n,) or (n, K). It is an error if a class of old prior zero has a
    positive new prior, because its posterior cannot be recovered. A case is nan if all classes that
    it may belong to have a new prior of zero.

    Parameters
    ----------
    posteriors : P(class) for every case, (n, K), or P(second class), (n,)
    from_prior : the class shares for which the posteriors hold
    to_prior : the class shares to move to

    Returns
    -------
    posteriors under the new prior, of the shape they came in

    Examples
    --------
    >>> shift_prior([0.5], from_prior=[0.5, 0.5], to_prior=[0.9, 0.1])
    array([0.1])
    """
    rows, single = _read(posteriors)
    names: Labels = tuple(range(rows.shape[1]))
    old = _check.prior("from_prior", from_prior, names)
    new = _check.prior("to_prior", to_prior, names)
    lost = np.flatnonzero((old == 0) & (new > 0))
    if lost.size:
        raise InputError(
            f"from_prior must be positive where to_prior is; class number {lost[0]} has 0 and "
            f"{new[lost[0]]:g}. Posteriors say nothing about a class that they rule out."
        )
    moved = moved_rows(rows, old, new)
    return np.asarray(moved[:, 1] if single else moved)


def class_ratios(old: FloatArray, new: FloatArray) -> FloatArray:
    """The ratio of a new prior to an old one for each class; 0 where the old one is zero.

    Parameters
    ----------
    old : class shares, (K,)
    new : class shares to move to, (K,)

    Returns
    -------
    one factor for each class, (K,)

    Examples
    --------
    >>> class_ratios(np.array([0.5, 0.5]), np.array([0.9, 0.1]))
    array([1.8, 0.2])
    """
    _check.shapes("k, k", old=old, new=new)
    with np.errstate(over="ignore"):
        ratios = np.divide(new, old, out=np.zeros(old.size), where=old > 0)
    return np.minimum(ratios, _LARGEST)


def moved_rows(rows: FloatArray, old: FloatArray, new: FloatArray) -> FloatArray:
    """`shift_prior` for checked posteriors (n, K) and priors.

    Parameters
    ----------
    rows : P(class) for every case, (n, K)
    old : class shares for which they hold, (K,)
    new : class shares to move to, (K,), zero where the old ones are

    Returns
    -------
    posteriors under the new prior, (n, K)

    Examples
    --------
    >>> moved_rows(np.array([[0.5, 0.5]]), np.array([0.5, 0.5]), np.array([0.9, 0.1]))
    array([[0.9, 0.1]])
    """
    _check.shapes("n k, k, k", rows=rows, old=old, new=new)
    scaled = rows * class_ratios(old, new)
    with np.errstate(invalid="ignore"):
        return np.asarray(scaled / scaled.sum(axis=1, keepdims=True))


@record
class PriorEstimate(Value):
    """An estimated prior, the number of steps, and whether they converged.

    Parameters
    ----------
    prior : class shares, (K,)
    iterations : how many steps it took
    converged : whether the last step changed no share by more than the tolerance

    Examples
    --------
    >>> estimate = estimate_prior([0.01] * 90 + [0.99] * 10, from_prior=[0.5, 0.5])
    >>> estimate.prior.round(2), estimate.converged
    (array([0.91, 0.09]), True)
    """

    prior: FloatArray
    iterations: int
    converged: bool


def estimate_prior(
    posteriors: object,
    from_prior: object,
    *,
    tolerance: float = 1e-10,
    max_iterations: int = 10_000,
) -> PriorEstimate:
    """Class shares of new, unlabelled cases, by the EM algorithm of Saerens and others (2002).

    The posteriors hold for `from_prior`. Each step moves them to the current estimate and takes
    their mean as the next one. The result is the maximum-likelihood prior of the new cases, if the
    posteriors are calibrated and only the class shares have changed.

    Parameters
    ----------
    posteriors : P(class) for every case, (n, K), or P(second class), (n,)
    from_prior : the class shares for which the posteriors hold
    tolerance : largest change of a share at which to stop
    max_iterations : largest number of steps

    Returns
    -------
    the class shares and how they were reached

    Examples
    --------
    >>> sure = [0.01] * 90 + [0.99] * 10
    >>> estimate_prior(sure, from_prior=[0.5, 0.5]).prior.round(3)
    array([0.908, 0.092])
    """
    rows, _ = _read(posteriors)
    size = rows.shape[1]
    if len(rows) == 0:
        raise InputError("posteriors must hold at least one case; there are none. Pass some.")
    tolerance = _check.number("tolerance", tolerance, low=0)
    most = _check.whole("max_iterations", max_iterations, low=1)
    old = _check.prior("from_prior", from_prior, tuple(range(size)))
    if not (old > 0).all():
        raise InputError("from_prior must be positive for every class; one is zero. Leave it out.")
    estimate, change, iterations = old, np.inf, 0
    # Posteriors divided by their prior are likelihoods, up to a factor that cancels.
    likelihoods = rows / old
    # A step of EM never lowers the likelihood, so that no step size has to be chosen.
    while change > tolerance and iterations < most:
        total = np.zeros(size)
        for block in row_blocks(len(rows)):
            part = likelihoods[block]
            total += (1 / (part @ estimate)) @ part  # one matrix product each way, no large copies
        step = estimate * total / len(rows)
        change = float(np.abs(step - estimate).max())
        estimate, iterations = step, iterations + 1
    return PriorEstimate._trusted(
        prior=estimate, iterations=iterations, converged=change <= tolerance
    )


def _read(posteriors: object) -> tuple[FloatArray, bool]:
    """Posteriors of shape (n, K), and whether they came as P(second class)."""
    array = _check.array("posteriors", posteriors)
    size = array.shape[1] if array.ndim == 2 else 2
    return _check.posteriors("posteriors", posteriors, size), array.ndim == 1
