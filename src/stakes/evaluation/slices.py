"""The same costs group by group."""

from __future__ import annotations

from collections.abc import Iterator
from math import isnan
from typing import Any

import numpy as np

from stakes._check import Label
from stakes.evaluation.evidence import Evidence, Sample
from stakes.evaluation.uncertainty import costs_of
from stakes.measures.table import least
from stakes.problem import Problem
from stakes.report import Slice, SliceCost

__all__ = ["SMALLEST", "slices_of"]

SMALLEST = 10  # cases of a class below which they say little about it
_FEW_CLUSTERS = 10


def slices_of(
    evidence: Evidence, best: str, *, replicates: int, rng: np.random.Generator, level: float
) -> tuple[Slice, ...]:
    """Costs of every system in every group, by replicates of that group alone.

    `best` is the system that is the cheapest for all cases.
    """
    drawing: dict[str, Any] = {"replicates": replicates, "rng": rng, "level": level}
    return tuple(_slice(evidence, *group, best, drawing) for group in evidence.slices)


def _slice(
    evidence: Evidence,
    by: str | None,
    label: Label,
    sample: Sample,
    best: str,
    drawing: dict[str, Any],
) -> Slice:
    rules = evidence.rules
    costs = costs_of(sample, _problem_of(sample, evidence), **drawing)
    spent = tuple(SliceCost(name, costs.cost(name)) for name in rules)
    eligible = [one for one in spent if rules[one.system].eligible and not isnan(one.cost.value)]
    cheapest = None
    if eligible:
        found = least(np.array([one.cost.value for one in eligible]))
        cheapest = eligible[int(np.argmax(found))].system
    saving = None if cheapest in (None, best) else costs.saving(best, str(cheapest))
    return Slice(
        by=by,
        group=label,
        n_cases=float(sample.joint.n_cases.sum()),
        cheapest=cheapest,
        saving=saving,
        clear=None if saving is None else costs.clear(saving),
        costs=spent,
        note="; ".join(_notes(sample, evidence)) or None,
    )


def _problem_of(sample: Sample, evidence: Evidence) -> Problem:
    """The problem with the prior of a group: its own mix of classes, shifted as the whole is.

    Each case of class k stands for prior over share of its class, in every group alike, so that the
    costs of all groups, weighed with what they stand for, average to the cost of the whole.
    """
    if evidence.problem.prior is None:
        return evidence.problem
    with np.errstate(divide="ignore", invalid="ignore"):
        stands_for = np.where(evidence.shares > 0, evidence.prior / evidence.shares, 0.0)
    mass = sample.pooled.shares * stands_for
    return evidence.problem.with_prior(mass / mass.sum()) if mass.sum() > 0 else evidence.problem


def _notes(sample: Sample, evidence: Evidence) -> Iterator[str]:
    classes = zip(evidence.problem.classes, sample.sizes, evidence.prior, strict=True)
    short = [f"{size:.4g} of {k}" for k, size, share in classes if size < SMALLEST and share > 0]
    if short:
        yield f"too few cases to say ({', '.join(short)})"
    if sample.clusters == 1:
        yield "one cluster only: nothing is known about others"
    elif sample.clusters is not None and sample.clusters < _FEW_CLUSTERS:
        yield f"only {sample.clusters} clusters"
