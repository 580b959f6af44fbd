"""Decisions about one batch of cases that keep counts exactly."""

from __future__ import annotations

from math import ceil, floor

import numpy as np

from stakes._check import FloatArray, IntArray, Labels, known_places, shapes
from stakes.errors import InputError
from stakes.problem import Limit, listed_limits

_ROUNDING = 1e-9  # of cases: rounding error of a share times the number of cases


def read_counts(limits: object, decisions: Labels, n_cases: int) -> dict[int, tuple[int, int]]:
    """The least and the greatest number of cases for each decision that has a limit.

    Shares are turned into counts of this batch; rates within a class are refused.

    Parameters
    ----------
    limits : the limits, each a `Limit`
    decisions : labels of the decisions
    n_cases : number of cases

    Returns
    -------
    position of a decision → its least and greatest number

    Examples
    --------
    >>> from stakes.problem import Limit
    >>> read_counts([Limit.count("review", 2)], ("wait", "review"), 10)
    {1: (0, 2)}
    """
    bounds: dict[int, tuple[int, int]] = {}
    for limit in listed_limits(limits, f"Limit.count({decisions[0]!r}, 200)"):
        if limit.given is not None or limit.decision not in decisions:
            fault = "is a rate within a class, which cannot be counted before classes are known"
            raise InputError(
                f"limits of a batch must be counts or shares of the decisions {decisions}; "
                f"{str(limit)!r} {fault if limit.given is not None else 'names another decision'}. "
                f"Write Limit.count or Limit.share.",
                argument="limits",
            )
        place = decisions.index(limit.decision)
        low, high = bounds.get(place, (0, n_cases))
        limit_low, limit_high = _counted(limit, n_cases)
        bounds[place] = max(low, limit_low), min(high, limit_high)
    _refuse_impossible(bounds, decisions, n_cases)
    return bounds


def _counted(limit: Limit, n_cases: int) -> tuple[int, int]:
    size = 1 if limit.counted else n_cases
    low = 0 if limit.at_least is None else ceil(limit.at_least * size - _ROUNDING)
    high = n_cases if limit.at_most is None else floor(limit.at_most * size + _ROUNDING)
    return low, high


def _refuse_impossible(bounds: dict[int, tuple[int, int]], decisions: Labels, n_cases: int) -> None:
    """Refuse counts that this batch cannot have."""
    low = sum(bound[0] for bound in bounds.values())
    high = sum(bound[1] for bound in bounds.values())
    free = len(bounds) < len(decisions)
    crossed = [place for place, bound in bounds.items() if bound[0] > bound[1]]
    if not crossed and low <= n_cases and (free or high >= n_cases):
        return
    if low > n_cases:
        fault, gap = f"they ask for at least {low} of {n_cases} cases", low - n_cases
    elif crossed:
        least, most = bounds[crossed[0]]
        fault = f"{decisions[crossed[0]]!r} would need at least {least} and at most {most}"
        gap = least - most
    else:
        fault = f"they allow at most {high} of {n_cases} cases, and every case needs a decision"
        gap = n_cases - high
    raise InputError(
        f"limits must be counts that this batch can have; {fault}. Loosen one of them by {gap}."
    )


def keep_counts(
    costs: FloatArray, decided: IntArray, bounds: dict[int, tuple[int, int]]
) -> IntArray:
    """Decisions (n,) that keep counts at the least expected cost.

    Cases that are tied are taken in the order of the batch.

    Parameters
    ----------
    costs : expected costs, (n, M)
    decided : positions of the cheapest decisions without limits, (n,)
    bounds : position of a decision → its least and greatest number

    Returns
    -------
    positions of decisions, (n,)

    Examples
    --------
    >>> costs = np.array([[0.0, 3.0], [20.0, 5.0], [90.0, 6.0]])     # approve, review
    >>> keep_counts(costs, np.array([0, 1, 1]), {1: (0, 1)})
    array([0, 0, 1])
    """
    shapes("n M, n", costs=costs, decided=decided)
    known_places("bounds", np.array([*bounds], dtype=np.intp), costs.shape[1])
    counts = {place: int(np.count_nonzero(decided == place)) for place in bounds}
    if all(low <= counts[place] <= high for place, (low, high) in bounds.items()):
        return decided
    if len(bounds) > 1:
        return _assigned(costs, bounds)
    ((place, (low, high)),) = bounds.items()
    other_costs = costs.copy()
    other_costs[:, place] = np.inf
    instead = other_costs.argmin(axis=1)
    # With one limit the best cases are those that gain most from the decision: a sort is enough.
    gains = other_costs[np.arange(len(costs)), instead] - costs[:, place]
    wanted = min(max(counts[place], low), high)
    # Of equal gains, those that took the decision without limits come first.
    order = np.lexsort((decided != place, -gains))
    changed = np.where(decided == place, instead, decided)
    changed[order[:wanted]] = place
    return np.asarray(changed)


def _assigned(costs: FloatArray, bounds: dict[int, tuple[int, int]]) -> IntArray:
    """The cheapest assignment under several counts, by linear programming.

    This is a transport problem: at a vertex of its linear program every case has one decision.
    """
    from scipy.optimize import linprog
    from scipy.sparse import csr_array

    n, size = costs.shape
    places = np.arange(n * size)
    # The constraints are totally unimodular, so that vertices are whole decisions.
    one_each = csr_array((np.ones(n * size), (places // size, places)), shape=(n, n * size))
    rows, limits = [], []
    for place, (low, high) in bounds.items():
        in_column = (places % size == place).astype(np.float64)
        rows += [in_column, -in_column]
        limits += [high, -low]
    # An amount that a case costs under every decision would only cost precision, and so would the
    # unit of money: the tolerances of the solver are absolute.
    regrets = costs - costs.min(axis=1, keepdims=True)
    solved = linprog(
        regrets.ravel() / (regrets.max(initial=0.0) or 1.0),
        A_ub=csr_array(np.array(rows)),
        b_ub=limits,
        A_eq=one_each,
        b_eq=np.ones(n),
        method="highs-ds",
    )
    return np.asarray(solved.x.reshape(n, size).argmax(axis=1))
