"""Reports of every kind, small: what tests of their JSON read, change and read again."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from stakes import Between, Decisions, Limit, Problem, Report, Scores, evaluate

_RNG = np.random.default_rng(0)
N = 150
Y = (_RNG.random(N) < 0.3).astype(int)
SIGNAL = _RNG.normal(2.0 * Y - 1, 1)
P = 1 / (1 + np.exp(-2 * SIGNAL))
DATA = {"amount": _RNG.lognormal(4, 1, N)}
THREE = np.stack([1 - P, P / 2, P / 2], axis=1)
BINARY = Problem.binary(false_alarm=1, miss=9, unit="EUR")
WIDE = Problem([[0, 3, 25], [180, 8, 0]], classes=["legit", "fraud"])
LABELS = np.array(WIDE.classes)[Y]
UNKNOWN = Problem([[0, Between(1, 5)], [9, 0]])
AMOUNTS = Problem([[0, 3, "5 + 0.02*amount"], ["amount", 8, 0]])
LIMITED = WIDE.with_limits([Limit.share(1, at_most=0.1)])
QUICK: Any = {"calibrator": None, "replicates": 10}

KINDS: dict[str, Callable[[], Report]] = {
    "unknown": lambda: evaluate(Y, P, UNKNOWN, **QUICK),
    "baseline": lambda: evaluate(
        Y, {"new": P, "old": Decisions(SIGNAL > 1)}, BINARY, baseline="old", **QUICK
    ),
    "unpaired": lambda: evaluate(Y, P, BINARY, baseline=_baseline(), margin=0.1, **QUICK),
    "recalibrated": lambda: evaluate(Y, {"p": P, "s": Scores(SIGNAL)}, BINARY),
    "slices": lambda: evaluate(
        LABELS, P, WIDE, by=Y, weights=P + 1, volume=100, period="day", **QUICK
    ),
    "amounts": lambda: evaluate(Y, P, AMOUNTS, data=DATA, running_costs={"model": 0.1}, **QUICK),
    "three": lambda: evaluate(Y, THREE, Problem.zero_one(3), clusters=np.arange(N) // 5, **QUICK),
    "limited": lambda: evaluate(LABELS, P, LIMITED, volume=100, **QUICK),
}


def _baseline() -> Report:
    return report_of("baseline")


@cache
def report_of(kind: str) -> Report:
    """One report, made once."""
    return KINDS[kind]()
