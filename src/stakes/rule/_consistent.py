"""Whether the parts of a rule can decide together."""

from __future__ import annotations

from typing import Any

import numpy as np

from stakes._check import FloatArray
from stakes.errors import InputError
from stakes.problem import Problem
from stakes.rows import DECISIONS, SCORES


def refuse_unusable(
    problem: Problem, takes: str, *, map: Any, threshold: float | None, priors: Any
) -> None:
    """Refuse parts that do not make a rule together."""
    shape, faults = (problem.n_classes, problem.n_decisions), []
    if takes == SCORES and shape[0] != 2:
        faults.append("scores are for two classes")
    if takes == SCORES and map is None and threshold is None:
        faults.append("scores need a map or a threshold")
    if threshold is not None and (shape != (2, 2) or np.isnan(float(threshold))):
        faults.append("a threshold is a number between two decisions about two classes")
    allowed = 0 if takes == DECISIONS else 1
    if sum(step is not None for step in (map, threshold, priors)) > allowed:
        faults.append("at most one of map, threshold and priors can be used, and none on decisions")
    if faults:
        raise InputError(
            f"a rule must be able to decide; this one takes {takes}, and {faults[0]}. Leave "
            f"out what is too much, or give what is missing.",
            argument="takes",
        )


def refuse_unpriced(problem: Problem, added: FloatArray | None) -> None:
    """Refuse limits without prices, and prices without their limits."""
    limits, shape = problem.limits, (problem.n_classes, problem.n_decisions)
    if added is not None and added.shape != (len(limits), *shape):
        raise InputError(
            f"added must have shape ({len(limits)}, {shape[0]}, {shape[1]}), a table for each "
            f"limit of the problem; its shape is {added.shape}. Pass what price_limits found.",
            argument="added",
        )
    if limits and added is None:
        raise InputError(
            f"a rule must have prices for the limits of its problem; {str(limits[0])!r} has none. "
            f"Write Rule.keeping(price_limits(posteriors, problem)), take report.rule(), or pass "
            f"problem.with_limits(None) and keep counts with decide(batch, limits=[…]).",
            argument="problem",
        )
