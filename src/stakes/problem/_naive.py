"""The best decision made without looking at the case."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stakes._check import FloatArray, Label, Labels

TIE = 1e-12  # relative to the largest cost: what rounding may do to equal costs


@dataclass(frozen=True)
class Naive:
    """The best decision made without looking at the case.

    `decision` is the first of the `tied` ones in the problem's order; `cost` is per case.

    Parameters
    ----------
    decision : its label
    cost : what it costs per case
    tied : decisions that cost the same
    """

    decision: Label
    cost: float
    tied: Labels


def naive_of(prior: FloatArray, costs: FloatArray, decisions: Labels) -> Naive:
    """The decision of the least cost under a prior (K,), of costs (K, M)."""
    regret = costs - costs.min(axis=1, keepdims=True)  # what every decision costs is left out
    above = prior @ regret
    rounding = 2 * np.finfo(np.float64).eps * float(np.abs(costs).max())
    tied = np.flatnonzero(above <= above.min() + TIE * float(regret.max()) + rounding)
    return Naive(
        decision=decisions[tied[0]],
        cost=float((prior @ costs).min()),
        tied=tuple(decisions[j] for j in tied),
    )
