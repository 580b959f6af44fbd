"""The same costs group by group."""

from __future__ import annotations

from math import isnan

import numpy as np

from stakes import _check
from stakes._check import BoolArray, Label
from stakes.evaluation.cases import Cases
from stakes.evaluation.systems import Candidate
from stakes.evaluation.uncertainty import costs_of, joint_counts, scheme_for
from stakes.report import Slice, SliceCost

__all__ = ["slices_of"]

_SMALLEST = 10  # cases of a class below which a group cannot say anything about it


def slices_of(
    cases: Cases,
    decided: dict[str, Candidate],
    *,
    replicates: int,
    rng: np.random.Generator,
    level: float,
) -> tuple[Slice, ...]:
    """Costs of every system in every group, by redraws of that group alone."""
    if cases.by is None:
        return ()
    groups = _check.distinct("by", cases.by)
    codes = _check.codes("by", cases.by, groups)
    return tuple(
        _slice(cases, decided, codes == g, label, replicates, rng, level)
        for g, label in enumerate(groups)
    )


def _slice(
    cases: Cases,
    decided: dict[str, Candidate],
    own: BoolArray,
    label: Label,
    replicates: int,
    rng: np.random.Generator,
    level: float,
) -> Slice:
    part = cases.part(own)
    joint = joint_counts(part, {name: one.decided[own] for name, one in decided.items()})
    sizes = np.bincount(part.truth, minlength=cases.problem.n_classes)
    short = [
        f"{size} of {name}"
        for name, size, share in zip(cases.problem.classes, sizes, cases.prior, strict=True)
        if size < _SMALLEST and share > 0
    ]
    scheme = scheme_for(part)
    costs = costs_of(joint, cases.problem, scheme, replicates=replicates, rng=rng, level=level)
    spent = tuple(SliceCost(name, costs.cost(name)) for name in decided)
    eligible = [one for one in spent if decided[one.system].eligible and not isnan(one.cost.value)]
    cheapest = min(eligible, key=lambda one: one.cost.value).system if eligible else None
    return Slice(
        group=label,
        n_cases=float(joint.n_cases.sum()),
        cheapest=cheapest,
        costs=spent,
        note=f"too few cases to say ({', '.join(short)})" if short else None,
    )
