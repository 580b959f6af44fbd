"""Costs of all systems, group by group."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np

from stakes._check import Label
from stakes._text import whole_percent
from stakes.errors import InputError
from stakes.evaluation.case_charges import LARGE_SHARE, TOP_CASES, few_cases
from stakes.evaluation.cost_intervals import costs_of
from stakes.evaluation.evidence import Evidence, JointSample
from stakes.inference import few_of_classes
from stakes.problem import Problem
from stakes.report import Slice, SliceCost

SMALLEST = 10  # cases of a class below which they say little about it
_FEW_CLUSTERS = 10  # like `SMALLEST`, a note on how little a group shows; caveats are stricter
_MANY_GROUPS = 20  # up to this number of groups, they may have any size
_CASES = 5  # beyond, a group must have this many cases on average
_MOST_GROUPS = 1000


def slices_of(evidence: Evidence, best: str, *, level: float) -> tuple[Slice, ...]:
    """Costs of every system in every group, from that group alone.

    `best` is the system that is the cheapest for all cases.
    """
    _refuse_measurements(evidence)
    return tuple(_slice(evidence, *group, best, level) for group in evidence.slices)


def _refuse_measurements(evidence: Evidence) -> None:
    """Refuse a column with nearly as many values as cases: it is a measurement, not a grouping."""
    for name, groups in Counter(by for by, *_ in evidence.slices).items():
        alone = groups > _MANY_GROUPS and evidence.n_rows < _CASES * groups
        if alone or groups > _MOST_GROUPS:
            column = "by" if name is None else f"by[{name!r}]"
            raise InputError(
                f"{column} must make at most {_MOST_GROUPS:,} groups, with {_CASES} cases or more "
                f"in each on average; it makes {groups:,} groups of {evidence.n_rows:,} cases. "
                f"Cut a measurement into ranges first, or name coarser groups.",
                argument="by",
            )


def _slice(
    evidence: Evidence,
    by: str | None,
    label: Label,
    sample: JointSample,
    best: str,
    level: float,
) -> Slice:
    problem = _problem_of(sample, evidence)
    costs = costs_of(sample, problem, evidence, level)
    cheapest = costs.cheapest
    if cheapest is not None and costs.more(best).value == 0:
        cheapest = best  # a tie does not make another system the cheapest
    other = cheapest not in (None, best)
    return Slice(
        by=by,
        group=label,
        n_cases=float(sample.joint.n_cases.sum()),
        cheapest=cheapest,
        saving=costs.more(best) if other else None,
        clear=best not in costs.contenders if other else None,
        costs=tuple(SliceCost(name, costs.cost(name)) for name in evidence.rules),
        note="; ".join(filter(None, _notes(sample, evidence, problem, best))) or None,
    )


def _problem_of(sample: JointSample, evidence: Evidence) -> Problem:
    """The problem with the prior of a group: its class shares, reweighted as those of all cases.

    A case of class k has the weight prior over share of that class, in every group alike. The
    costs of all groups, weighted by the sums of these weights, thus average to the overall cost.
    """
    if evidence.problem.prior is None:
        return evidence.problem
    with np.errstate(divide="ignore", invalid="ignore"):
        stands_for = np.where(evidence.shares > 0, evidence.prior / evidence.shares, 0.0)
    mass = sample.pooled.shares * stands_for
    return evidence.problem.with_prior(mass / mass.sum()) if mass.sum() > 0 else evidence.problem


def _notes(sample: JointSample, evidence: Evidence, problem: Problem, best: str) -> Iterator[str]:
    counted = np.where(evidence.prior > 0, sample.sizes, np.inf)
    yield few_of_classes(counted, evidence.problem.classes, SMALLEST)
    if sample.clusters == 1:
        yield "one cluster only: nothing is known about others"
    elif sample.clusters is not None and sample.clusters < _FEW_CLUSTERS:
        yield f"only {sample.clusters} clusters"
    if sample.charges is None:
        return
    share, of = few_cases(sample.charges, best, problem.prior)
    if share >= LARGE_SHARE:
        yield f"{TOP_CASES} cases {of} {whole_percent(share)}"
