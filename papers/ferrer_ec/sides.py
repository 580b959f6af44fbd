"""Both sides of the identities of section 3 and appendix C."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from stakes import Counts, Problem, expected_cost, normalized_cost
from stakes.audit import FAMILIAR, PositiveClass
from stakes.measures import decision_rates, f_beta, likelihood_ratio_positive, net_benefit

Row = npt.NDArray[np.float64]


class Sides(NamedTuple):
    """A metric, what it equals, and the cost on that side."""

    metric: Row
    other: Row
    cost: Row


def by_beta(counts: Counts, beta: float) -> tuple[Sides, Sides]:
    """Equation 12: 1 − F by the expected and by the normalised cost of a miss of β²."""
    (p1, p2), detected = counts.shares.T, counts.values[..., 1].sum(axis=-1)
    problem, below = Problem.binary(false_alarm=1, miss=beta**2), beta**2 * p2 + detected
    ec, nec = expected_cost(counts, problem), normalized_cost(counts, problem)
    f = f_beta(counts, beta)[:, 1]
    naive = np.minimum(beta**2 * p2, p1)
    return Sides(1 - f, ec / below, ec), Sides(1 - f, naive * nec / below, nec)


def by_threshold(counts: Counts, p: float) -> Sides:
    """Equation 27: net benefit at the threshold p."""
    (p1, p2), nec = counts.shares.T, normalized_cost(counts, Problem.from_threshold(p))
    return Sides(net_benefit(counts, p), p2 - np.minimum(p2, p / (1 - p) * p1) * nec, nec)


def balanced(counts: Counts) -> tuple[Sides, Sides]:
    """Equations 14 and 29: MCC and LR+ by the normalised balanced error rate."""
    (p1, p2), detected = counts.shares.T, counts.values[..., 1].sum(axis=-1)
    nec = normalized_cost(counts.with_prior([0.5, 0.5]), Problem.zero_one(2))
    spread = np.sqrt(p1 * p2 / (detected * (1 - detected)))
    ratio = PositiveClass(likelihood_ratio_positive)(counts)
    by_rates = (1 - nec) / decision_rates(counts)[:, 0, 1] + 1
    return Sides(FAMILIAR["MCC"](counts), spread * (1 - nec), nec), Sides(ratio, by_rates, nec)
