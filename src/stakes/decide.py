"""Decisions from posteriors, and posteriors in their other currencies.

Nothing here reads ``problem.prior``: posteriors hold for some prior, and moving them to another is
an act of its own, `shift_prior`.

Takes rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
import numpy.typing as npt

from stakes import _check
from stakes._check import BoolArray, FloatArray, IntArray, Labels
from stakes._value import Value
from stakes.errors import InputError
from stakes.problem import CaseCosts, Problem
from stakes.rows import Posteriors, read_posteriors

__all__ = [
    "PriorEstimate",
    "bayes_decision_indices",
    "bayes_decisions",
    "estimate_prior",
    "expected_costs",
    "log_likelihood_ratios",
    "posteriors_from_log_likelihoods",
    "posteriors_from_log_odds",
    "reachable_decisions",
    "shift_prior",
]

_BLOCK = 1 << 16  # rows at a time, so that memory stays flat
_FEW = 1 << 12  # those whose products stay in the cache, and on one thread
_UNREACHED = 1e-9  # of the largest regret: how much dearer a decision is that is never the cheapest
MOST_WHOLE = 2.0**53  # below, differences of whole numbers are exact
_EPS = np.finfo(np.float64).eps
ROUNDING = 4 * _EPS  # of a posterior, and of the arithmetic upon it, at most


def expected_costs(
    posteriors: object, problem: Problem, *, data: object = None, case_costs: object = None
) -> FloatArray:
    r"""Cost that each decision is expected to incur, case by case.

    .. math:: \sum_k P(k \mid x)\, c_{kd}

    Parameters
    ----------
    posteriors : array_like of shape (n, K), or (n,) for P(second class) of two
        A frame's columns go by their names, as do those of `Posteriors` with classes.
    data : frame, or mapping from column to numbers, optional
        The columns that the costs depend on, where they do: every case has its own costs then.
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


def mean_costs(rows: FloatArray, costs: FloatArray | CaseCosts) -> FloatArray:
    """The same for posteriors (n, K) that were checked before."""
    if not isinstance(costs, CaseCosts):
        return np.asarray(rows @ costs)
    expected = np.empty((len(rows), costs.shape[1]))
    for block, part in costs.blocks():
        expected[block] = np.einsum("bk,kmb->bm", rows[block], part)
    return expected


def bayes_decision_indices(
    posteriors: object, problem: Problem, *, data: object = None, case_costs: object = None
) -> IntArray:
    """Position of the cheapest decision for every case (ferrer-ec, eq 7).

    Decisions whose expected costs differ by rounding alone are tied; the first one wins. Posteriors
    of single precision stand for all numbers that round to them, so that they decide at a
    threshold as those of double precision do. `data` or `case_costs` give every case its own costs,
    as in `expected_costs`. A problem with limits is refused: their prices come first.
    """
    refuse_limits(problem)
    _check.aligned(posteriors=posteriors, data=data)
    wrapped = posteriors if isinstance(posteriors, Posteriors) else Posteriors(posteriors)
    rows = wrapped.read("posteriors", problem.classes, borrowed=True)
    rounding = wrapped.rounding("posteriors", problem.classes)
    return cheapest_decisions(rows, costs_of_cases(rows, problem, data, case_costs), rounding)


def refuse_limits(problem: Problem) -> None:
    """Refuse a problem with limits, which the cheapest decisions of its costs need not keep."""
    if problem.limits:
        raise InputError(
            f"problem must have no limits here; it has {str(problem.limits[0])!r}, which the "
            f"cheapest decisions may break. Call stakes.price_limits(posteriors, problem): the "
            f"Bayes decisions of its `priced` problem keep the limits. evaluate does so by itself, "
            f"and problem.with_limits(None) ignores them.",
            argument="problem",
        )


def cheapest_decisions(
    rows: FloatArray,
    costs: FloatArray | CaseCosts,
    rounding: FloatArray | None = None,
    ratios: FloatArray | None = None,
) -> IntArray:
    """Position of the cheapest decision for posteriors (n, K) that were checked before.

    `rounding` says by how much each of them may be off, (n, K), beyond double precision, `ratios`
    what a case of each class is worth, (K,), where posteriors hold for another prior. The first
    decision wins whose lowest possible cost does not exceed the lowest of the highest ones.
    """
    chosen = np.empty(len(rows), dtype=np.intp)
    if isinstance(costs, CaseCosts):
        for block, own in costs.blocks():
            off = None if rounding is None else rounding[block].T
            chosen[block] = _cheapest_of_each(rows[block].T, _worth(own, ratios), off)
        return chosen
    costs = _worth(costs, ratios)
    slack, regret = tie_slack(costs), regrets(costs)
    for block in _blocks(len(rows), _FEW):
        expected = regret.T @ rows[block].T  # each decision in one piece
        off = slack if rounding is None else (slack + rounding[block] @ regret).T
        chosen[block] = _first_cheapest(expected, off)
    return chosen


def _worth(costs: FloatArray, ratios: FloatArray | None) -> FloatArray:
    """Costs (K, M, …) of cases that are worth more, or less, by their class."""
    if ratios is None:
        return costs
    least = costs.min(axis=1, keepdims=True)
    return np.asarray(costs - least) * ratios.reshape(-1, *(1,) * (costs.ndim - 1))


def _cheapest_of_each(rows: FloatArray, costs: FloatArray, off: FloatArray | None) -> IntArray:
    """The cheapest decision (B,) by posteriors (K, B) and costs (K, M, B) of the same cases."""
    regret, slack = costs - costs.min(axis=1, keepdims=True), tie_slack(costs)
    expected = sum(p * own for p, own in zip(rows, regret, strict=True))
    if off is not None:
        slack = slack + sum(p * own for p, own in zip(off, regret, strict=True))
    return _first_cheapest(np.asarray(expected), slack)


def _first_cheapest(expected: FloatArray, slack: FloatArray) -> IntArray:
    """The first decision (B,) of those whose costs (M, B) differ by rounding, (M,) or (M, B)."""
    limit = reduce(np.minimum, (cost + most for cost, most in zip(expected, slack, strict=True)))
    dearer = np.ones(expected.shape[1], dtype=np.bool_)  # as all decisions so far
    small = np.uint8 if len(expected) < 256 else np.intp
    chosen: npt.NDArray[Any] = np.zeros(expected.shape[1], dtype=small)
    for cost, most in zip(expected, slack, strict=True):
        dearer &= cost > limit + most
        chosen += dearer
    return chosen.astype(np.intp)


def regrets(costs: FloatArray) -> FloatArray:
    """Costs (…, K, M) above the cheapest decision of each class: what all of them cost is gone."""
    return np.asarray(costs - costs.min(axis=-1, keepdims=True))


def tie_slack(costs: FloatArray) -> FloatArray:
    """What double precision may do to the expected regret of each decision, (M, …), for (K, M, …).

    Posteriors are rounded, and so are the costs: 0.1 * 3 is meant to be 0.3. Whole numbers are not,
    so that what all decisions cost, be it 1e12, changes none.
    """
    cheapest = costs.min(axis=1, keepdims=True)
    own, least = (_rounded_size(one).max(axis=0) for one in (costs, cheapest))
    regret = (costs - cheapest).sum(axis=0)
    return np.asarray(ROUNDING * regret + _EPS / 2 * (own + least))


def _rounded_size(costs: FloatArray) -> FloatArray:
    """The size of costs that may have been rounded; zero of whole numbers."""
    size = np.abs(costs)
    return np.where((costs == np.rint(costs)) & (size < MOST_WHOLE), 0.0, size)


def bayes_decisions(
    posteriors: object,
    problem: Problem,
    *,
    data: object = None,
    case_costs: object = None,
    columns: str | Sequence[str] | None = None,
) -> Any:
    """Label of the cheapest decision for every case (ferrer-ec, eq 7).

    `data` or `case_costs` give every case its own costs, as in `expected_costs`.

    A lazy frame of Polars, DuckDB, Dask or Spark gets one more column, "decision", and nothing is
    read; `columns` names its posteriors, by default those that are called as the classes.

    Examples
    --------
    A rectangular problem: the second best decision is often to ask.

    >>> problem = Problem([[0, 3, 25], [180, 8, 0]], classes=["legit", "fraud"],
    ...                   decisions=["approve", "review", "block"])
    >>> bayes_decisions([0.001, 0.1, 0.9], problem)
    array(['approve', 'review', 'block'], dtype='<U7')

    The same probability, two amounts:

    >>> problem = Problem({"legit": {"approve": 0, "block": 5},
    ...                    "fraud": {"approve": "amount", "block": 0}})
    >>> bayes_decisions([0.1, 0.1], problem, data={"amount": [20, 200]})
    array(['approve', 'block'], dtype='<U7')
    """
    if _check.is_lazy(posteriors, columns, data=data, case_costs=case_costs):
        return _bayes_column(posteriors, problem, columns)
    chosen = bayes_decision_indices(posteriors, problem, data=data, case_costs=case_costs)
    return label_array(problem.decisions)[chosen]


def _bayes_column(frame: object, problem: Problem, columns: str | Sequence[str] | None) -> Any:
    from stakes.adapters.lazy_decisions import bayes_column

    return bayes_column(frame, problem, columns)


def reachable_decisions(problem: Problem) -> BoolArray:
    r"""Whether some posterior makes each decision the cheapest, of shape (M,); ties count.

    .. math:: \exists\, p: \quad \sum_k p_k c_{kd} \le \sum_k p_k c_{ke} \text{ for all } e

    A decision that is best for a class is reached where that class is certain; for the others a
    linear programme looks for a posterior. Bayes decisions never take a decision that cannot be
    reached; people may.

    Examples
    --------
    Asking for 4 is dearer than the better of the others at every probability, for 2 it is not:

    >>> reachable_decisions(Problem([[0, 10, 4], [5, 0, 4]], decisions=["go", "stop", "ask"]))
    array([ True,  True, False])
    >>> reachable_decisions(Problem([[0, 10, 2], [5, 0, 2]], decisions=["go", "stop", "ask"]))
    array([ True,  True,  True])
    """
    regret = regrets(problem.costs)
    regret = regret / (regret.max() or 1.0)
    reached = (regret == 0).any(axis=0)
    for decision in np.flatnonzero(~reached):
        reached[decision] = _least_excess(regret, int(decision)) <= _UNREACHED
    return np.asarray(reached)


def _least_excess(costs: FloatArray, decision: int) -> float:
    """By how much, at the posterior that suits it best, a decision is dearer than another."""
    from scipy.optimize import linprog

    size = len(costs)
    against = np.delete(costs[:, [decision]] - costs, decision, axis=1)
    found = linprog(
        np.append(np.zeros(size), 1.0),  # the posteriors, and the excess that is minimised
        A_ub=np.column_stack([against.T, -np.ones(against.shape[1])]),
        b_ub=np.zeros(against.shape[1]),
        A_eq=np.append(np.ones(size), 0.0)[None],
        b_eq=[1.0],
        bounds=[(0.0, 1.0)] * size + [(-1.0, 1.0)],
    )
    return float(found.fun)


def label_array(names: Labels) -> npt.NDArray[Any]:
    """Labels as an array that keeps their type: text, whole numbers, booleans, else objects."""
    kinds = {type(label) for label in names}
    if len(kinds) == 1:
        return np.array(names)
    mixed = np.empty(len(names), dtype=object)
    mixed[:] = names
    return mixed


def posteriors_from_log_odds(log_odds: object) -> FloatArray:
    """P(second class), of shape (n,), from log(P(second)/P(first)); infinities are certainty.

    >>> posteriors_from_log_odds([0.0, float("inf")])
    array([0.5, 1. ])
    """
    from scipy.special import expit

    return np.asarray(expit(_check.real_scores("log_odds", log_odds)))


def posteriors_from_log_likelihoods(log_likelihoods: object, prior: object) -> FloatArray:
    r"""Posteriors of shape (n, K) from log P(x | k), up to a constant per case, and a prior.

    A class of prior zero gets posterior zero.

    >>> posteriors_from_log_likelihoods([[0.0, 0.0]], [0.7, 0.3])
    array([[0.7, 0.3]])
    """
    from scipy.special import softmax

    values = _check.reals("log_likelihoods", log_likelihoods, ndim=2)
    if not (values.max(axis=1, initial=-np.inf) > -np.inf).all() or not (values < np.inf).all():
        raise InputError(
            "log_likelihoods must be numbers, or -inf where a class is ruled out, and some class "
            "must be possible in every row; some are nan or inf, or a row is all -inf."
        )
    shares = _check.prior("prior", prior, tuple(range(values.shape[1])))
    with np.errstate(divide="ignore"):
        return np.asarray(softmax(values + np.log(shares), axis=1))


def log_likelihood_ratios(posteriors: object, prior: object) -> FloatArray:
    r"""Log-likelihoods relative to the first class, from posteriors and the prior they hold for.

    .. math:: \log \frac{P(k \mid x)}{P(0 \mid x)} - \log \frac{\pi_k}{\pi_0}

    Posteriors of shape (n,) give (n,); (n, K) give (n, K), whose first column is zero, and
    `posteriors_from_log_likelihoods` is the way back. Certainty is infinite; nan where the prior
    gives a class no chance, or where both posteriors are zero.

    >>> log_likelihood_ratios([0.3], [0.7, 0.3])
    array([0.])
    """
    rows, single = _read(posteriors)
    shares = _check.prior("prior", prior, tuple(range(rows.shape[1])))
    with np.errstate(divide="ignore", invalid="ignore"):
        scaled = np.log(rows) - np.log(shares)
        ratios = scaled - scaled[:, :1]
    ratios[:, 0] = 0.0
    return np.asarray(ratios[:, 1] if single else ratios)


def shift_prior(posteriors: object, from_prior: object, to_prior: object) -> FloatArray:
    r"""Move posteriors that hold for one prior to another; the likelihoods stay.

    .. math:: P'(k \mid x) \propto P(k \mid x)\, \pi'_k / \pi_k

    The shape stays: (n,) or (n, K). A class that the old prior rules out but the new one expects
    cannot be recovered, and is an error; a case that only such classes explain is nan.

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
            f"{new[lost[0]]:g}. Posteriors say nothing about a class that they rule out.",
            argument="from_prior",
        )
    moved = _moved(rows, class_ratios(old, new))
    return np.asarray(moved[:, 1] if single else moved)


@dataclass(frozen=True, eq=False)
class PriorEstimate(Value):
    """An estimated prior, after how many steps, and whether the steps had come to rest."""

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

    The posteriors hold for `from_prior`; each step moves them to the present estimate and takes
    their mean as the next. It wants calibrated posteriors. The answer is the maximum-likelihood
    prior of the new cases.

    Examples
    --------
    >>> sure = [0.01] * 90 + [0.99] * 10
    >>> estimate_prior(sure, from_prior=[0.5, 0.5]).prior.round(3)
    array([0.908, 0.092])
    """
    rows, _ = _read(posteriors)
    size = rows.shape[1]
    if len(rows) == 0:
        raise InputError("posteriors must hold at least one case; there are none.")
    tolerance = _check.number("tolerance", tolerance, low=0)
    most = _check.whole("max_iterations", max_iterations, low=1)
    old = _check.prior("from_prior", from_prior, tuple(range(size)))
    if not (old > 0).all():
        raise InputError(
            "from_prior must be positive for every class; one is zero. Leave it out.",
            argument="from_prior",
        )
    estimate, change, iterations = old, np.inf, 0
    likelihoods = rows / old
    while change > tolerance and iterations < most:
        total = np.zeros(size)
        for block in _blocks(len(rows)):
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
    array = _check.probabilities("posteriors", posteriors)
    size = array.shape[1] if array.ndim == 2 else 2
    return _check.posteriors("posteriors", posteriors, size), array.ndim == 1


def costs_of_cases(
    rows: FloatArray, problem: Problem, data: object, case_costs: object
) -> FloatArray | CaseCosts:
    """The problem's (K, M) costs, or every case's own."""
    costs = problem.charged(data, case_costs)
    if costs is None:
        return problem.costs
    argument = "data" if case_costs is None else "case_costs"
    if costs.n_cases != len(rows):
        raise InputError(
            f"{argument} must describe the cases of the posteriors, of which there are "
            f"{len(rows)}; it has {costs.n_cases} rows. Pass one for every case.",
            argument=argument,
        )
    return costs


def _blocks(n_rows: int, size: int = _BLOCK) -> Iterator[slice]:
    for start in range(0, n_rows, size):
        yield slice(start, start + size)


def class_ratios(old: FloatArray, new: FloatArray) -> FloatArray:
    """What a case of each class is worth under a new prior; 0 where the old one rules it out."""
    return np.divide(new, old, out=np.zeros(old.size), where=old > 0)


def _moved(rows: FloatArray, ratio: FloatArray) -> FloatArray:
    scaled = rows * ratio
    with np.errstate(invalid="ignore"):
        return np.asarray(scaled / scaled.sum(axis=1, keepdims=True))


_check.guard(__name__)
