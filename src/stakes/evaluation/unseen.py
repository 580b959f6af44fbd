"""What no case of the data shows, and might yet happen: no redraw can draw it.

Of n cases that never did a thing, the rule of three says that with 95 % confidence no more than a
share of 3/n of all cases do it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stakes._check import BoolArray, FloatArray, Label
from stakes.decide import reachable_decisions
from stakes.evaluation.evidence import Evidence
from stakes.report import AS_DECIDED

__all__ = ["Unseen", "unseen_against", "unseen_mistake"]


@dataclass(frozen=True)
class Unseen:
    """The class of which nothing was seen, its cases, and what this may cost per case.

    `share` of such cases, at most, is compatible with not having seen any.
    """

    label: Label
    cases: float
    share: float
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
    dearest = np.max(costs, axis=1, where=_possible(best, evidence), initial=-np.inf)
    cheapest = np.min(costs, axis=1, where=_possible(rival, evidence), initial=np.inf)
    worst = np.maximum(dearest - cheapest, 0.0)
    for k in np.unique(truth[against]):
        worst[k] = 0.0
    return _worst(worst, evidence)


def unseen_mistake(system: str, evidence: Evidence) -> Unseen | None:
    """What the dearest decision about a class may cost that the system never took about it."""
    counts, costs = evidence.sample.pooled.model(system).values, evidence.problem.costs
    sizes = counts.sum(axis=1)
    with np.errstate(invalid="ignore"):
        mean = np.sum(counts * costs, axis=1) / sizes
    unseen = (counts == 0) & _possible(system, evidence)
    extra = np.where(unseen, costs - mean[:, None], 0.0)
    found = _worst(np.nan_to_num(extra.max(axis=1)), evidence)
    if found is None:
        return None
    k = evidence.problem.classes.index(found.label)
    decision = evidence.problem.decisions[int(np.argmax(extra[k]))]
    return Unseen(found.label, found.cases, found.share, found.cost, decision)


def _possible(system: str, evidence: Evidence) -> BoolArray:
    """The decisions (M,) that a system can take: any that are given, else those of Bayes rules."""
    if evidence.rules[system].name == AS_DECIDED:
        return np.ones(evidence.problem.n_decisions, dtype=bool)
    return reachable_decisions(evidence.problem)


def _worst(per_class: FloatArray, evidence: Evidence) -> Unseen | None:
    """The class whose unseen cases may cost most, by the rule of three."""
    sizes = np.asarray(evidence.sample.sizes, dtype=np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.minimum(3 / sizes, 1)
        cost = evidence.prior * share * np.maximum(per_class, 0.0)
    cost = np.where((sizes > 0) & (evidence.prior > 0), cost, 0.0)
    k = int(np.argmax(cost))
    if not cost[k] > 0:
        return None
    return Unseen(evidence.problem.classes[k], float(sizes[k]), float(share[k]), float(cost[k]))
