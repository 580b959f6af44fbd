"""What follows from costs alone: the best constant decision, thresholds, equivalent problems."""

from __future__ import annotations

from math import inf, isnan, log, nan

import numpy as np

from stakes._check import FloatArray, Label, Labels
from stakes._value import Value, record
from stakes.errors import InputError
from stakes.problem._limit import Limit

TIE = 1e-12  # relative to the largest cost: what rounding may do to equal costs


@record
class Naive(Value):
    """The best decision made without looking at the case.

    `decision` is the first of the `tied` ones in the problem's order; `cost` is per case.

    Parameters
    ----------
    decision : its label
    cost : what it costs per case
    tied : decisions that cost the same

    Examples
    --------
    One case in twenty is positive, so that never raising an alarm costs 9/20 per case:

    >>> from stakes import Problem
    >>> naive = Problem.binary(false_alarm=1, miss=9, prior=[0.95, 0.05]).naive
    >>> naive.decision, naive.cost, naive.tied
    (0, 0.45, (0,))
    """

    decision: Label
    cost: float
    tied: Labels


def naive_of(prior: FloatArray, costs: FloatArray, decisions: Labels) -> Naive:
    """The decision of the least cost under a prior (K,), of costs (K, M)."""
    # Regrets, because an amount that all decisions about a class share would hide differences.
    regret = costs - costs.min(axis=1, keepdims=True)
    above = prior @ regret
    rounding = 2 * np.finfo(np.float64).eps * float(np.abs(costs).max())
    tied = np.flatnonzero(above <= above.min() + TIE * float(regret.max()) + rounding)
    return Naive(
        decision=decisions[tied[0]],
        cost=float((prior @ costs).min()),
        tied=tuple(decisions[j] for j in tied),
    )


def excess(costs: FloatArray) -> tuple[float, float]:
    """What a false alarm and a miss cost more than the right decision (ferrer-ec, eq 18)."""
    if costs.shape != (2, 2):
        raise InputError(
            f"a threshold needs two classes and two decisions; this problem has "
            f"{costs.shape[0]} and {costs.shape[1]}. bayes_decisions works for any shape."
        )
    (c00, c01), (c10, c11) = costs.tolist()
    a, b = c01 - c00, c10 - c11
    if a < 0 and b < 0:
        raise InputError(
            "decisions must be in the order of the classes they suit; here each class is "
            "served best by the other's decision. Swap the decisions."
        )
    return a, b


def bayes_threshold(a: float, b: float) -> float:
    """The probability above which the positive decision is cheaper: a/(a + b)."""
    if min(a, b) >= 0:
        return a / (a + b) if a + b > 0 else nan
    return -inf if a < 0 else inf


def log_odds_threshold(a: float, b: float) -> float:
    """The Bayes threshold on log-odds: log(a/b)."""
    if min(a, b) > 0:
        return log(a) - log(b)
    threshold = bayes_threshold(a, b)
    return nan if isnan(threshold) else (-inf if threshold <= 0 else inf)


def same_prior(ours: FloatArray | None, theirs: FloatArray | None) -> None:
    """Refuse stated priors that differ."""
    if ours is None and theirs is None:
        return
    if ours is None or theirs is None or not np.allclose(ours, theirs, rtol=0, atol=1e-12):
        raise InputError(
            "problems must state one prior, or all none; two of them differ. "
            "Decide on the deployment prior first, with with_prior."
        )


def same_limits(ours: tuple[Limit, ...], theirs: tuple[Limit, ...]) -> None:
    """Refuse limits that differ."""
    if set(ours) != set(theirs):
        raise InputError(
            "problems must have the same limits, or none; two of them differ. "
            "Decide on the limits first, with with_limits."
        )


def proportional(
    ours: FloatArray, theirs: FloatArray, *, noise: tuple[FloatArray, FloatArray]
) -> bool:
    """Whether one is a positive multiple of the other, entry by entry and to rounding.

    `noise` bounds what rounding may have done to the entries of each.
    """
    largest = np.unravel_index(np.argmax(np.abs(ours)), ours.shape)
    if ours[largest] == 0 or theirs[largest] == 0:
        return bool(not ours.any() and not theirs.any())
    factor = theirs[largest] / ours[largest]
    slack = 1e-9 * np.abs(theirs) + noise[1] + abs(factor) * noise[0]
    return bool(factor > 0 and (np.abs(factor * ours - theirs) <= slack).all())


def noise(costs: FloatArray) -> FloatArray:
    """Bounds on the rounding errors of differences within each class, (K, 1)."""
    return np.asarray(8 * np.finfo(np.float64).eps * np.abs(costs).max(axis=1, keepdims=True))
