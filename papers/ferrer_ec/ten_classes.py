"""The ten classes of section 4.2: five problems, and three systems that decide about them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from stakes import Counts, Problem, bayes_decisions
from stakes.simulate import GaussianWorld, SimulatedCases

CLASSES = tuple(f"H{k}" for k in range(1, 11))
PLAIN = Problem.zero_one(CLASSES)


def world(variance: float, first_prior: float) -> GaussianWorld:
    """Classes at 0, 1, … 9; the first is the most frequent, and the others are equally so."""
    prior = np.r_[first_prior, np.full(9, (1 - first_prior) / 9)]
    return GaussianWorld(range(10), variance=variance, prior=prior, classes=CLASSES)


def five_problems(printed: Mapping[str, Any], ten: GaussianWorld) -> dict[str, Problem]:
    """The cost matrices of Table 1, all under one prior."""
    plain = PLAIN.with_prior(ten.prior)
    imbalanced = plain.costs * np.r_[np.ones(9), printed["last_class_factor"]][:, None]
    low, high = printed["abstention_costs"]
    return {
        "C01": plain,
        "CinvP": Problem.balanced(ten.prior, classes=CLASSES),
        "Cimb": Problem(imbalanced, classes=CLASSES, decisions=CLASSES, prior=ten.prior),
        "Cabs1": plain.with_abstention(low),
        "Cabs2": plain.with_abstention(high),
    }


def decided(sample: SimulatedCases, problem: Problem) -> Counts:
    """Naive, argmax and Bayes decisions about cases, (3, K, M)."""
    naive = np.full(sample.y_true.shape, problem.naive.decision)
    argmax, bayes = (bayes_decisions(sample.posteriors, p) for p in (PLAIN, problem))
    tables = [Counts.from_decisions(sample.y_true, d, problem) for d in (naive, argmax, bayes)]
    return Counts([table.values for table in tables], classes=CLASSES, decisions=problem.decisions)


def population(ten: GaussianWorld, problem: Problem, cases: int) -> Counts:
    """The same decisions about the whole population, as counts of this many cases, (3, K, M)."""
    naive = np.outer(ten.prior, np.array(problem.decisions) == problem.naive.decision)
    argmax = np.zeros(problem.costs.shape)
    argmax[:, : len(CLASSES)] = ten.bayes_counts(PLAIN).values
    shares = np.array([naive, argmax, ten.bayes_counts(problem).values])
    return Counts(cases * shares, classes=CLASSES, decisions=problem.decisions)
