"""Threshold-choice methods and expected losses straight from the definitions, in plain loops.

Rows are (class, score, weight). Losses are integrals of Q(T(c); c) w(c), taken numerically
between the points where Q may jump or bend; atoms are sums.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.integrate import quad

from stakes import conditions as cond
from stakes import thresholds as thr

Row = tuple[int, float, float]
Loss = Callable[[float], float]


def class_total(rows: list[Row], label: int) -> float:
    return math.fsum(w for y, _, w in rows if y == label)


def equal_classes(rows: list[Row]) -> list[Row]:
    """The population in which both classes have the weight 1/2."""
    return [(y, s, w / class_total(rows, y) / 2) for y, s, w in rows]


def rates_at_threshold(rows: list[Row], t: float) -> tuple[float, float]:
    """False-alarm rate and miss rate: 1 is decided iff s > t, and for all at t = -inf."""
    alarms = math.fsum(w for y, s, w in rows if y == 0 and (s > t or t == -math.inf))
    misses = math.fsum(w for y, s, w in rows if y == 1 and not (s > t or t == -math.inf))
    return alarms / class_total(rows, 0), misses / class_total(rows, 1)


def rates_at_rate(rows: list[Row], rate: float) -> tuple[float, float]:
    """The same when the best-scored share of the cases gets the positive decision.

    Score groups are taken from the top; the last one is taken in part.
    """
    wanted = rate * math.fsum(w for _, _, w in rows)
    taken = [0.0, 0.0]
    for score in sorted({s for _, s, _ in rows}, reverse=True):
        group = [math.fsum(w for y, s, w in rows if s == score and y == k) for k in (0, 1)]
        part = min(1.0, max(0.0, wanted / sum(group)))
        taken = [have + part * more for have, more in zip(taken, group, strict=True)]
        wanted -= part * sum(group)
    return taken[0] / class_total(rows, 0), 1 - taken[1] / class_total(rows, 1)


def loss(rows: list[Row], rates: tuple[float, float], c: float) -> float:
    """Q(t; c) = 2{c π₀ FPR + (1 - c) π₁ FNR}."""
    negative, positive = class_total(rows, 0), class_total(rows, 1)
    share = positive / (negative + positive)
    return 2 * (c * (1 - share) * rates[0] + (1 - c) * share * rates[1])


def skew_loss(rates: tuple[float, float], z: float) -> float:
    """Q(t; z) = z FPR + (1 - z) FNR."""
    return z * rates[0] + (1 - z) * rates[1]


def thresholds(rows: list[Row]) -> list[float]:
    """All ways to cut; the lowest finite number parts scores of -inf from the others."""
    return [-math.inf, *(max(s, -sys.float_info.max) for s in sorted({s for _, s, _ in rows}))]


def cut_rates(rows: list[Row]) -> list[tuple[float, float]]:
    return [rates_at_threshold(rows, t) for t in thresholds(rows)]


def averaged(low: float, high: float, breaks: Iterable[float], f: Loss) -> float:
    """Mean of f over [low, high], where f is at most linear between the breaks."""
    ends = sorted({low, high, *(b for b in breaks if low < b < high)})
    pieces = [(b - a) * f((a + b) / 2) for a, b in pairwise(ends)]
    return math.fsum(pieces) / (high - low)


def rate_breaks(rows: list[Row]) -> list[float]:
    """Shares of cases above each score."""
    total = math.fsum(w for _, _, w in rows)
    scores = {s for _, s, _ in rows}
    return [math.fsum(w for _, s, w in rows if s > t) / total for t in scores]


def optimal_breaks(
    rows: list[Row], q: Callable[[tuple[float, float], float], float]
) -> list[float]:
    """Where the lines of any two cuts cross."""
    lines = [(q(rates, 0.0), q(rates, 1.0)) for rates in cut_rates(rows)]
    breaks = []
    for a0, a1 in lines:
        for b0, b1 in lines:
            bend = (a0 - b0) - (a1 - b1)
            if bend != 0:
                breaks.append((a0 - b0) / bend)
    return breaks


def loss_of_method(rows: list[Row], method: Any, skew: bool) -> tuple[Loss, list[float]]:
    """Loss at an operating condition, and where it may jump or bend."""
    population = equal_classes(rows) if skew else rows

    def q(rates: tuple[float, float], c: float) -> float:
        return skew_loss(rates, c) if skew else loss(rows, rates, c)

    scores = [s for _, s, _ in rows]
    breaks = rate_breaks(population)
    match method:
        case thr.ScoreFixed(t=t):
            return (lambda c: q(rates_at_threshold(rows, t), c)), []
        case thr.RateFixed(r=r):
            return (lambda c: q(rates_at_rate(population, r), c)), []
        case thr.ScoreUniform(low=low, high=high):

            def drawn_score(c: float) -> float:
                return averaged(low, high, scores, lambda t: q(rates_at_threshold(rows, t), c))

            return drawn_score, []
        case thr.RateUniform():

            def drawn_rate(c: float) -> float:
                return averaged(0.0, 1.0, breaks, lambda r: q(rates_at_rate(population, r), c))

            return drawn_rate, []
        case thr.ScoreDriven():
            return (lambda c: q(rates_at_threshold(rows, c), c)), scores
        case thr.RateDriven():
            driven = [1 - b for b in breaks]
            return (lambda c: q(rates_at_rate(population, 1 - c), c)), driven
        case thr.Optimal():
            cuts = cut_rates(rows)
            return (lambda c: min(q(rates, c) for rates in cuts)), optimal_breaks(rows, q)
    raise AssertionError(method)


def density(distribution: Any, x: float) -> float:
    match distribution:
        case cond.Uniform(low=low, high=high):
            return 1 / (high - low) if low <= x <= high else 0.0
        case cond.Beta(a=a, b=b):
            constant = math.gamma(a + b) / (math.gamma(a) * math.gamma(b))
            return float(constant * x ** (a - 1) * (1 - x) ** (b - 1))
        case cond.Continuous(frozen=frozen):  # the tests use the triangular distribution alone
            (mode,) = frozen.args
            return 2 * x / mode if x < mode else 2 * (1 - x) / (1 - mode)
    raise AssertionError(distribution)


def integrated(distribution: Any, f: Loss, breaks: Iterable[float]) -> float:
    """Mean of f over a distribution."""
    match distribution:
        case cond.Point(value=value):
            return f(value)
        case cond.Points(values=values, probabilities=weights):
            return math.fsum(p * f(v) for p, v in zip(weights, values, strict=True))
        case cond.Sample(draws=values, weights=weights):
            return math.fsum(p * f(v) for p, v in zip(weights, values, strict=True))
        case cond.Mixture(distributions=parts, probabilities=weights):
            means = [integrated(part, f, breaks) for part in parts]
            return math.fsum(p * m for p, m in zip(weights, means, strict=True))
        case cond.Truncated(distribution=whole, low=low, high=high):
            ends = [*breaks, low, high]
            within = integrated(whole, lambda c: f(c) if low <= c <= high else 0.0, ends)
            return within / integrated(whole, lambda c: float(low <= c <= high), ends)
    edges = [0.0, 1.0, *breaks]
    if isinstance(distribution, cond.Uniform):
        edges += [distribution.low, distribution.high]
    if isinstance(distribution, cond.Continuous):
        edges += distribution.frozen.args
    ends = sorted({float(np.clip(b, 0, 1)) for b in edges})
    return math.fsum(
        quad(lambda c: f(c) * density(distribution, c), a, b, epsabs=1e-13, epsrel=1e-11)[0]
        for a, b in pairwise(ends)
        if b - a > 1e-13
    )


def expected_loss(rows: list[Row], method: Any, condition: Any) -> float:
    f, breaks = loss_of_method(rows, method, isinstance(condition, cond.Skews))
    return integrated(condition.distribution, f, breaks)
