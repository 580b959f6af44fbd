"""Costs of the systems of a report, with intervals; the procedures are in `stakes.inference`."""

from __future__ import annotations

import numpy as np

from stakes.decide import reachable_decisions
from stakes.evaluation.cross_fitted import fitting_of
from stakes.evaluation.evidence import Evidence, JointSample
from stakes.inference import SampledCosts, loss_costs, system_costs
from stakes.problem import Problem
from stakes.report import POSTERIOR_RULES


def costs_of(
    sample: JointSample, problem: Problem, evidence: Evidence, level: float
) -> SampledCosts:
    """Costs of all systems of a report on some cases, under a problem with the report's costs."""
    joint, charges, rules = sample.joint, sample.charges, evidence.rules
    names = joint.models if charges is None else charges.losses.names
    among = [name for name, rule in rules.items() if rule.eligible]
    added = evidence.running_costs(tuple(map(str, names)))
    # Rules are fitted on all cases, whatever slice they decide about.
    fitting = fitting_of(evidence, len(names)) if sample is evidence.sample else None
    if charges is not None:
        return loss_costs(
            charges.losses,
            problem,
            base=charges.base,
            level=level,
            among=among,
            unaided=None if evidence.unaided is None else tuple(evidence.unaided),
            fitting=fitting,
            added=added,
        )
    reachable = np.ones((len(rules), problem.n_decisions), dtype=np.bool_)
    # Bayes rules take only decisions that some posterior makes the cheapest, which narrows what
    # they can cost. Under limits, prices may make any decision the cheapest.
    if not evidence.problem.limits:
        bayes = [rule.name in POSTERIOR_RULES for rule in rules.values()]
        reachable[bayes] = reachable_decisions(problem)
    return system_costs(
        joint,
        problem,
        level=level,
        among=among,
        constant=None if evidence.unaided is None else evidence.constant,
        reachable=reachable,
        squares=sample.design,
        fitting=fitting,
        added=added,
    )
