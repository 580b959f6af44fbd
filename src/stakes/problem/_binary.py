"""Two classes and two decisions: what mistakes cost above the right decision, and thresholds."""

from __future__ import annotations

from math import inf, isnan, log, nan

from stakes._check import FloatArray
from stakes.errors import InputError


def excess(costs: FloatArray) -> tuple[float, float]:
    """What a false alarm and a miss cost above the right decision (ferrer-ec, eq 18)."""
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
