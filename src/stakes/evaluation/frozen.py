"""Where other costs or another prior would change the verdict, decisions staying as they are.

Costs that differ from case to case have no single number that could move. What a system costs is
still linear in the prior, by its mean loss in each class, and in a factor on each cell of its
table, by what it spends there.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from stakes._check import FloatArray
from stakes.evaluation.charging import NO_MODEL
from stakes.evaluation.evidence import Evidence
from stakes.problem import Problem
from stakes.regions import Margin, Prior, Regions, cheapest_regions, sensitivity
from stakes.report import System
from stakes.tally import Counts

__all__ = ["case_margins", "case_regions"]


def case_regions(systems: tuple[System, ...], evidence: Evidence) -> tuple[Regions, ...]:
    """Where each system wins over the prior of the last class."""
    rivals, stand = _stand_ins(systems, evidence)
    return (cheapest_regions(rivals, Prior(stand, stand.classes[-1])),)


def case_margins(systems: tuple[System, ...], evidence: Evidence) -> tuple[Margin, ...]:
    """How far a factor on the costs of a cell, or a prior, may move before the verdict flips."""
    rivals, stand = _stand_ins(systems, evidence)
    return (*_factors(list(rivals), evidence), *sensitivity(rivals, stand).priors)


def _stand_ins(
    systems: tuple[System, ...], evidence: Evidence
) -> tuple[dict[str, Counts], Problem]:
    """Rivals as decisions: each costs in every class what the rival does there in the mean."""
    charges = evidence.sample.charges
    assert charges is not None
    problem = evidence.problem
    names = [str(one) for one in charges.losses.names[-problem.n_decisions :]]
    names += [NO_MODEL, *(one.name for one in systems if one.candidate)]
    moments = charges.losses.moments(problem.classes)
    places = [charges.losses.names.index(name) for name in names]
    stand = Problem(
        moments.means[:, places] + charges.base,
        classes=problem.classes,
        decisions=names,
        prior=problem.prior,
        unit=problem.unit,
    )
    weights = moments.weight[:, None] * np.eye(len(names))[:, None, :]
    return {
        name: Counts(own, classes=problem.classes, decisions=names)
        for name, own in zip(names, weights, strict=True)
    }, stand


def _factors(names: list[str], evidence: Evidence) -> Iterator[Margin]:
    spent = _spent_per_case(names, evidence)
    total = spent.sum(axis=(1, 2))
    best = int(np.argmin(total))
    problem = evidence.problem
    for k, label in enumerate(problem.classes):
        for d, decision in enumerate(problem.decisions):
            own = spent[:, k, d]
            moves = _moves(total - total[best], own - own[best], best)
            low = max((move for move in moves.items() if move[1] < 0), key=_second, default=None)
            high = min((move for move in moves.items() if move[1] > 0), key=_second, default=None)
            reached = low is not None and 1 + low[1] >= 0  # costs do not change their sign
            yield Margin(
                what=f"factor on the cost of {decision} for {label}",
                value=1.0,
                low=1 + low[1] if low is not None and reached else -np.inf,
                high=np.inf if high is None else 1 + high[1],
                low_rival=names[low[0]] if low is not None and reached else None,
                high_rival=None if high is None else names[high[0]],
            )


def _second(move: tuple[int, float]) -> float:
    return move[1]


def _moves(above: FloatArray, slopes: FloatArray, best: int) -> dict[int, float]:
    """By how much the factor moves until each rival is as cheap as the best."""
    scale = 1e-12 * float(np.abs(slopes).max(initial=0.0))
    rivals = (j for j in range(len(above)) if j != best and abs(slopes[j]) > scale)
    return {j: float(-above[j] / slopes[j]) for j in rivals if above[j] > 0}


def _spent_per_case(names: list[str], evidence: Evidence) -> FloatArray:
    """What each rival spends in each cell per case, (J, K, M), under the prior."""
    charges = evidence.sample.charges
    assert charges is not None
    mass = evidence.sample.pooled.class_weights
    with np.errstate(divide="ignore", invalid="ignore"):
        each = np.where(mass > 0, evidence.prior / mass, 0.0)[:, None]
    shape = evidence.problem.n_classes, evidence.problem.n_decisions
    table = np.zeros((len(names), *shape))
    moments = charges.losses.moments(evidence.problem.classes)
    for place, name in enumerate(names):
        if name in charges.spent:
            table[place] = charges.spent[name] * each
        else:  # a constant decision
            own = moments.sums[:, charges.losses.names.index(name)] + charges.base * mass
            table[place, :, place] = own * each[:, 0]
    return table
