"""The same costs group by group."""

from __future__ import annotations

from math import isnan

import numpy as np

from stakes._check import Label
from stakes.evaluation.evidence import Evidence, Sample
from stakes.evaluation.uncertainty import costs_of
from stakes.report import Slice, SliceCost

__all__ = ["slices_of"]

_SMALLEST = 10  # cases of a class below which a group cannot say anything about it


def slices_of(
    evidence: Evidence, *, replicates: int, rng: np.random.Generator, level: float
) -> tuple[Slice, ...]:
    """Costs of every system in every group, by redraws of that group alone."""
    return tuple(
        _slice(evidence, label, sample, replicates, rng, level) for label, sample in evidence.slices
    )


def _slice(
    evidence: Evidence,
    label: Label,
    sample: Sample,
    replicates: int,
    rng: np.random.Generator,
    level: float,
) -> Slice:
    problem, rules = evidence.problem, evidence.rules
    costs = costs_of(sample, problem, replicates=replicates, rng=rng, level=level)
    spent = tuple(SliceCost(name, costs.cost(name)) for name in rules)
    eligible = [one for one in spent if rules[one.system].eligible and not isnan(one.cost.value)]
    cheapest = min(eligible, key=lambda one: one.cost.value).system if eligible else None
    short = [
        f"{size} of {name}"
        for name, size, share in zip(problem.classes, sample.sizes, evidence.prior, strict=True)
        if size < _SMALLEST and share > 0
    ]
    return Slice(
        group=label,
        n_cases=float(sample.joint.n_cases.sum()),
        cheapest=cheapest,
        costs=spent,
        note=f"too few cases to say ({', '.join(short)})" if short else None,
    )
