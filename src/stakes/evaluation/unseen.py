"""What no case of the data shows, and might yet happen: no redraw can draw it.

Of n cases that never did a thing, the rule of three says that with 95 % confidence no more than a
share of 3/n of all cases do it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stakes._check import FloatArray, Label
from stakes.evaluation.evidence import Evidence

__all__ = ["Unseen", "unseen_against", "unseen_mistake"]


@dataclass(frozen=True)
class Unseen:
    """The class of which nothing was seen, its cases, and what this may cost per case."""

    label: Label
    cases: float
    cost: float
    decision: Label | None = None


def unseen_against(best: str, rival: str, evidence: Evidence) -> Unseen | None:
    """What the cheaper of two systems may lose by cases that none of these resembles.

    For a class of which no case is dearer by the cheaper system.
    """
    joint, costs = evidence.sample.pooled, evidence.problem.costs
    truth = joint.cells[:, 0]
    first, second = (joint.cells[:, 1 + joint.models.index(name)] for name in (best, rival))
    against = (costs[truth, first] > costs[truth, second]) & (joint.weights > 0)
    worst = np.ptp(costs, axis=1)
    for k in np.unique(truth[against]):
        worst[k] = 0.0
    return _worst(worst, evidence)


def unseen_mistake(system: str, evidence: Evidence) -> Unseen | None:
    """What the dearest decision about a class may cost that the system never took about it."""
    counts, costs = evidence.sample.pooled.model(system).values, evidence.problem.costs
    sizes = counts.sum(axis=1)
    with np.errstate(invalid="ignore"):
        mean = np.sum(counts * costs, axis=1) / sizes
    extra = np.where(counts > 0, 0.0, costs - mean[:, None])
    found = _worst(np.nan_to_num(extra.max(axis=1)), evidence)
    if found is None:
        return None
    k = evidence.problem.classes.index(found.label)
    decision = evidence.problem.decisions[int(np.argmax(extra[k]))]
    return Unseen(found.label, found.cases, found.cost, decision)


def _worst(per_class: FloatArray, evidence: Evidence) -> Unseen | None:
    """The class whose unseen cases may cost most, by the rule of three."""
    sizes = np.asarray(evidence.sample.sizes, dtype=np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        cost = evidence.prior * np.minimum(3 / sizes, 1) * np.maximum(per_class, 0.0)
    cost = np.where((sizes > 0) & (evidence.prior > 0), cost, 0.0)
    k = int(np.argmax(cost))
    if not cost[k] > 0:
        return None
    return Unseen(evidence.problem.classes[k], float(sizes[k]), float(cost[k]))
