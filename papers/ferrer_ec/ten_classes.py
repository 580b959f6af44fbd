"""The ten classes of section 4.2: five problems, and three systems that decide about them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from stakes import Counts, Problem, bayes_decisions
from stakes.simulate import GaussianWorld, SimulatedCases

CLASSES = tuple(f"H{k}" for k in range(1, 11))


def five_problems(printed: Mapping[str, Any], prior: np.ndarray) -> dict[str, Problem]:
    """The cost matrices of Table 1, all under one prior."""
    plain = Problem.zero_one(CLASSES, prior=prior)
    dear = plain.costs * np.r_[np.ones(9), printed["last_class_factor"]][:, None]
    low, high = printed["abstention_costs"]
    return {
        "C01": plain,
        "CinvP": Problem.balanced(prior, classes=CLASSES),
        "Cimb": Problem(dear, classes=CLASSES, decisions=CLASSES, prior=prior),
        "Cabs1": plain.with_abstention(low),
        "Cabs2": plain.with_abstention(high),
    }


def decided(sample: SimulatedCases, plain: Problem, problem: Problem) -> Counts:
    """Naive, argmax and Bayes decisions about cases, (3, K, M)."""
    choices = (
        np.full(sample.y_true.shape, problem.naive.decision),
        bayes_decisions(sample.posteriors, plain),
        bayes_decisions(sample.posteriors, problem),
    )
    tables = [Counts.from_decisions(sample.y_true, some, problem).values for some in choices]
    return Counts(tables, classes=CLASSES, decisions=problem.decisions)


def population(world: GaussianWorld, plain: Problem, problem: Problem, cases: int) -> Counts:
    """The same decisions about the whole population, as counts of so many cases, (3, K, M)."""
    naive = np.outer(world.prior, np.array(problem.decisions) == problem.naive.decision)
    argmax = np.zeros(problem.costs.shape)
    argmax[:, : plain.n_decisions] = world.bayes_counts(plain).values
    tables = np.array([naive, argmax, world.bayes_counts(problem).values])
    return Counts(cases * tables, classes=CLASSES, decisions=problem.decisions)
