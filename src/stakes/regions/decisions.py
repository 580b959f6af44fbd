"""Decisions made without a model: where Bayes decisions change, and rules that never look."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from stakes._check import Label
from stakes.curve import Curve
from stakes.errors import InputError
from stakes.problem import Problem
from stakes.regions.partition import Regions, lowest
from stakes.tally import Counts


def decision_regions(problem: Problem) -> Regions:
    """Intervals of the probability of the second class in which each decision is the cheapest.

    For two classes and any number of decisions: where the Bayes decision changes.

    Parameters
    ----------
    problem : what is at stake: costs, prior, labels

    Returns
    -------
    intervals of the probability and the decision in each

    Examples
    --------
    >>> print(decision_regions(Problem({"good": {"grant": 0, "review": 0.3, "decline": 1},
    ...                                 "bad": {"grant": 5, "review": 0.3, "decline": 0}})))
    P(bad)       cheapest
    0 to 0.06       grant
    0.06 to 0.7    review
    0.7 to 1      decline
    """
    if problem.n_classes != 2:
        raise InputError(
            f"problem must have two classes, so that one probability decides; it has "
            f"{problem.n_classes}. bayes_decisions takes any number of them."
        )
    return _of_two(problem)


@lru_cache(maxsize=16)
def _of_two(problem: Problem) -> Regions:
    """The same, once for all parts of a report that ask for it."""
    lines = {
        decision: Curve([0.0, 1.0], [[costs[0], costs[1] - costs[0]]])
        for decision, costs in zip(problem.decisions, problem.costs.T.tolist(), strict=True)
    }
    return lowest(lines, axis=f"P({problem.classes[1]})")


def constant_rules(counts: Counts, problem: Problem) -> dict[Label, Counts]:
    """The rules that take one decision about every case, as candidates beside the models.

    Parameters
    ----------
    counts : counts of any system on the cases
    problem : what is at stake: costs, prior, labels

    Returns
    -------
    decision → its counts

    Examples
    --------
    >>> problem = Problem.binary(false_alarm=1, miss=9, decisions=["pass", "stop"])
    >>> rules = constant_rules(Counts([[8, 2], [1, 4]]), problem)
    >>> {rule: counts.values.tolist() for rule, counts in rules.items()}
    {'always pass': [[10.0, 0.0], [5.0, 0.0]], 'always stop': [[0.0, 10.0], [0.0, 5.0]]}
    """
    if counts.n_decisions != problem.n_decisions:
        raise InputError(
            f"counts and problem must have the same decisions; counts have {counts.n_decisions}, "
            f"the problem {problem.n_decisions}. Tally the decisions with this problem."
        )
    sizes = counts.values.sum(axis=-1)
    rules: dict[Label, Counts] = {}
    for place, decision in enumerate(problem.decisions):
        values = np.zeros(counts.values.shape)
        values[..., place] = sizes
        rules[f"always {decision}"] = Counts(
            values, classes=counts.classes, decisions=counts.decisions
        )
    return rules
