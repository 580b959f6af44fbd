"""Proper scores of many cases: mean losses of each class, one pass for all rules."""

from __future__ import annotations

import numpy as np

from stakes._check import FloatArray
from stakes.evaluation.cases import Cases
from stakes.scoring import Brier, LogLoss

__all__ = ["RULES", "class_losses", "expected_score"]

RULES = (LogLoss(), Brier())
_BLOCK = 1 << 16  # rows at a time, so that memory stays flat


def class_losses(rows: FloatArray, cases: Cases) -> FloatArray:
    """Mean loss of each class under each rule, (2, K); nan for a class without cases."""
    size = cases.problem.n_classes
    sums = np.zeros((len(RULES), size))
    mass = np.zeros(size)
    for start in range(0, len(rows), _BLOCK):
        block = slice(start, start + _BLOCK)
        truth, weights = cases.truth[block], None
        part = rows[block]
        if cases.weights is not None:
            weights = cases.weights[block]
            kept = weights > 0  # a case without weight may have an infinite loss
            truth, weights, part = truth[kept], weights[kept], part[kept]
        mass += np.bincount(truth, weights=weights, minlength=size)
        for place, rule in enumerate(RULES):
            losses = rule.losses(part, truth)
            losses = losses if weights is None else losses * weights
            sums[place] += np.bincount(truth, weights=losses, minlength=size)
    with np.errstate(invalid="ignore"):
        return sums / mass


def expected_score(losses: FloatArray, shares: FloatArray) -> float:
    """Mean loss (K,) over class shares; a class of share zero is ignored."""
    return float(np.sum(shares * np.where(shares > 0, losses, 0.0)))
