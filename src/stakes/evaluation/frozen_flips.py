"""Where other costs or another prior would change the verdict, if all decisions stay as they are.

Where costs differ from case to case, a cell has no single cost to vary. The cost of a system is
still linear in the prior, through its mean cost in each class, and in a factor on the costs of a
cell, through what the system spends there. The cost of running a model stays as it is.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from stakes._check import FloatArray
from stakes.evaluation.case_charges import NO_MODEL
from stakes.evaluation.evidence import Evidence
from stakes.problem import Problem
from stakes.regions import Margin, Prior, Regions, cheapest_regions, sensitivity
from stakes.report import System
from stakes.tally import Counts


def case_regions(systems: tuple[System, ...], evidence: Evidence) -> tuple[Regions, ...]:
    """Where each system is the cheapest, as the prior of the last class varies."""
    rivals, stand_in = _stand_ins(systems, evidence)
    return (cheapest_regions(rivals, Prior(stand_in, stand_in.classes[-1])),)


def case_margins(systems: tuple[System, ...], evidence: Evidence) -> tuple[Margin, ...]:
    """How far a factor on the costs of a cell, or a prior, may move before the verdict flips."""
    models = {system.name for system in systems}
    spent = spent_tables(systems, evidence)
    spent = {n: table for n, table in spent.items() if n in models or evidence.may_be_taken(n)}
    factors = tuple(_factors(spent, evidence))
    if evidence.problem.limits:  # shares under a limit would move with the prior
        return factors
    rivals, stand_in = _stand_ins(systems, evidence)
    return (*factors, *sensitivity(rivals, stand_in).priors)


def _stand_ins(
    systems: tuple[System, ...], evidence: Evidence
) -> tuple[dict[str, Counts], Problem]:
    """A problem whose decisions are the rivals: each costs what the rival costs in that class.

    A table for each rival goes with it, in which all cases get the decision that stands for it.
    """
    problem, mass = evidence.problem, evidence.sample.pooled.class_weights
    spent = spent_tables(systems, evidence)
    beside = evidence.beside(tuple(spent))
    stand_in = Problem(
        np.stack([table.sum(axis=1) / mass for table in spent.values()], axis=1) + beside,
        classes=problem.classes,
        decisions=list(spent),
        prior=problem.prior,
        unit=problem.unit,
    )
    weights = mass[:, None] * np.eye(len(spent))[:, None, :]
    return {
        name: Counts(table_weights, classes=problem.classes, decisions=list(spent))
        for name, table_weights in zip(spent, weights, strict=True)
    }, stand_in


def spent_tables(systems: tuple[System, ...], evidence: Evidence) -> dict[str, FloatArray]:
    """What each rival spends in each cell, (K, M): first what needs no model, then the systems."""
    charges, problem = evidence.sample.charges, evidence.problem
    mass, size = evidence.sample.pooled.class_weights, problem.n_decisions
    candidates = [system for system in systems if system.candidate]
    if charges is None:
        of_decision = problem.costs * mass[:, None]
        by_system = {system.name: system.counts.values * problem.costs for system in candidates}
    else:
        losses = charges.losses
        sums = [losses.class_sums(name) for name in losses.names[-size:]]
        of_decision = np.stack(sums, axis=1) + charges.base * mass[:, None]
        names = NO_MODEL, *(system.name for system in candidates)
        by_system = {name: charges.spent[name] for name in names}
    constant = {
        f"always {decision}": of_decision * (np.arange(size) == d)
        for d, decision in enumerate(problem.decisions)
    }
    return {**constant, **by_system}


def _factors(tables: dict[str, FloatArray], evidence: Evidence) -> Iterator[Margin]:
    names, mass = list(tables), evidence.sample.pooled.class_weights
    spent = np.stack(list(tables.values())) * (evidence.prior / mass)[:, None]
    total = spent.sum(axis=(1, 2)) + evidence.beside(tuple(names))
    rounding = 1e-12 * _size(spent, evidence)
    best = int(np.argmax(total <= total.min() + rounding))  # the first of those that tie
    above = np.where(total - total[best] <= rounding, 0.0, total - total[best])
    problem = evidence.problem
    for k, label in enumerate(problem.classes):
        for d, decision in enumerate(problem.decisions):
            slopes = spent[:, k, d] - spent[best, k, d]
            low, low_rival = _first(above, -slopes, rounding)
            high, high_rival = _first(above, slopes, rounding)
            reached = low < 1 - 1e-12  # factors below zero would change the sign of costs
            yield Margin(
                what=f"factor on the cost of {decision} for {label}",
                value=1.0,
                low=1 - low if reached else -np.inf,
                high=1 + high,
                low_rival=names[low_rival] if reached else None,
                high_rival=None if np.isinf(high) else names[high_rival],
            )


def _size(spent: FloatArray, evidence: Evidence) -> float:
    """The size of the numbers that were summed, to which their rounding error is relative."""
    charges = evidence.sample.charges
    base = 0.0 if charges is None else abs(charges.base)
    return base + float(np.abs(spent).sum(axis=(1, 2)).max())


def _first(above: FloatArray, slopes: FloatArray, rounding: float) -> tuple[float, int]:
    """How far a factor moves until a rival is as cheap as the best, and which rival that is.

    A rival that ties with the best becomes cheaper at once. Of rivals that reach the best at the
    same point, the one with the steepest slope is the cheapest beyond it.
    """
    nearing = slopes < -rounding
    moves = np.where(nearing, above / np.where(nearing, -slopes, 1.0), np.inf)
    place = int(np.lexsort((slopes, moves))[0])  # by the move, then by the steepest descent
    return float(moves[place]), place
