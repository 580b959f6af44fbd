"""Where the verdict would flip: how far numbers may move, and where each system is the cheapest.

The point at which another system becomes as cheap is exact for these cases. The point at which
that becomes statistically clear is where the choice leaves the contenders, because it then clearly
costs more than the cheapest.

Where costs differ from case to case, a cell has no single cost to vary. The cost of a system is
still linear in the prior, through its mean cost in each class, and in a factor on the costs of a
cell, through what the system spends there. The cost of running a model stays as it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import inf, isnan, nan
from typing import Any, NamedTuple

import numpy as np

from stakes._check import FloatArray, Label
from stakes._text import always
from stakes.evaluation.case_charges import NO_MODEL
from stakes.evaluation.evidence import Evidence
from stakes.inference import FARTHEST, MOST_RIVALS, CountedCosts, Move, SampledCosts
from stakes.problem import Problem
from stakes.regions import (
    CostProportion,
    Margin,
    Prior,
    Regions,
    StraightAxis,
    as_cost_ratios,
    borders_of,
    cheapest_regions,
    constant_rules,
    sensitivity,
)
from stakes.report import System
from stakes.tally import Counts

_MOST_CLEAR = 200  # costs in a problem beyond which clear flips would take too long
MOST_COSTS = 10_000  # costs in a problem beyond which no flips are looked for: a hundred classes
_Pair = tuple[float, float]


def n_costs(problem: Problem) -> int:
    """How many costs a problem has, numbers or expressions."""
    return problem.n_classes * problem.n_decisions


def flips_of(
    systems: tuple[System, ...], evidence: Evidence, costs: SampledCosts, chosen: str
) -> tuple[tuple[Regions, ...], tuple[Margin, ...]]:
    """Where each system is the cheapest, and how far each cost and prior may move.

    Clear flips are those of what is chosen, which need not be the cheapest on these cases.

    Regions are over the cost proportion and the prior of the last class. Decisions stay as they
    are. While costs move, so do the shares and rates of limits. While the prior moves, shares move
    too, and so priors are left out under limits, as is that of a lone class.
    """
    problem, prior = evidence.problem.with_limits(None), evidence.prior
    limited = bool(evidence.problem.limits) or problem.n_classes < 2
    if not _are_sought(evidence) or evidence.all_break or evidence.all_misordered:
        return (), ()
    if problem.columns or evidence.operation.running_costs:
        over_prior = () if limited else case_regions(systems, evidence)
        return over_prior, case_margins(systems, evidence)
    assert isinstance(costs, CountedCosts)  # without columns no case has costs of its own
    rivals = _rivals(systems, evidence)
    flip_points = sensitivity(rivals, problem)
    margins = (*flip_points.costs, *(() if limited else flip_points.priors))
    over_priors: list[_Line] = []
    if not limited:
        over_priors = list(_prior_lines(costs, prior))[-len(flip_points.priors) :]
    axes: dict[StraightAxis, _Line] = {}
    if not limited:
        axes = {Prior(problem, problem.classes[-1]): over_priors[-1]}
    if problem.costs.size > _MOST_CLEAR:
        return tuple(cheapest_regions(rivals, axis) for axis in axes), margins
    walks = []
    for k, margin in enumerate(margins):
        of_prior = k - problem.costs.size
        line = _cost_line(costs, k, problem) if of_prior < 0 else over_priors[of_prior]
        # Up to where another is as cheap, the cheapest is a contender; any other choice may not be.
        is_cheapest = chosen == flip_points.cheapest
        starts = (margin.low, margin.high) if is_cheapest else (margin.value, margin.value)
        walks.append(_Walk(line, (chosen, chosen), starts))
    if problem.is_binary and not limited:
        axes = {CostProportion(prior): _proportion_line(costs), **axes}
    regions = {cheapest_regions(rivals, axis): line for axis, line in axes.items()}
    for parts, line in regions.items():
        walks += _across(parts, line)
    # One search for all walks; the first bounds belong to margins, the rest to borders of regions.
    bounds = iter(_left(walks, costs, evidence))
    clear = tuple(
        margin._but(clear_low=low, clear_high=high)
        for margin, (low, high) in zip(margins, bounds, strict=False)
    )
    zoned = [_with_unclear(parts, line, bounds) for parts, line in regions.items()]
    ratios = [as_cost_ratios(parts) for parts in zoned[:-1]]
    return (*zoned[:-1], *ratios, *zoned[-1:]), clear


def _are_sought(evidence: Evidence) -> bool:
    """Whether flips are looked for: every class has cases, and costs are not too many."""
    problem = evidence.problem
    known = bool((evidence.shares > 0).all())
    return known and n_costs(problem) <= MOST_COSTS


def are_bounded(evidence: Evidence, costs: SampledCosts) -> bool:
    """Whether so many systems compete that clear flips use Bonferroni's critical value."""
    problem = evidence.problem
    priced = bool(problem.columns or evidence.operation.running_costs)
    zoned = _are_sought(evidence) and not priced and problem.costs.size <= _MOST_CLEAR
    return zoned and len(costs.choice.names) > MOST_RIVALS


def _across(regions: Regions, line: _Line) -> Iterator[_Walk]:
    """Walks over each border: the upper choice downwards, and the lower choice upwards."""
    places = zip(borders_of(regions), regions.crossings.tolist(), strict=True)
    for (below, above), point in places:
        yield _Walk(line, (above, below), (point, point))


def _with_unclear(regions: Regions, line: _Line, bounds: Iterator[_Pair]) -> Regions:
    """Regions with the zone around each border in which neither side is clearly cheaper."""
    low, high = line.bounds
    zones = (next(bounds) for _ in regions.crossings)
    unclear = tuple((max(lower, low), min(upper, high)) for lower, upper in zones)
    return regions._but(unclear=unclear)


def _rivals(systems: tuple[System, ...], evidence: Evidence) -> dict[Any, Counts]:
    """All that could be deployed: constant decisions come first, and so win ties, then systems."""
    candidates: dict[Any, Counts] = {
        system.name: system.counts for system in systems if system.candidate
    }
    blind = constant_rules(systems[0].counts, evidence.problem)
    allowed = {name: counts for name, counts in blind.items() if evidence.may_be_taken(str(name))}
    return {**allowed, **candidates}


# What moves --------------------------------------------------------------------------------------


class _Line(NamedTuple):
    """A number of the problem that moves: costs and prior at zero, and how they change with it."""

    costs: FloatArray
    cost_slope: FloatArray
    prior: FloatArray | None
    prior_slope: FloatArray | None
    bounds: _Pair


class _Walk(NamedTuple):
    """Two searches along a line, one downwards and one upwards, each from a start for a choice."""

    line: _Line
    choices: tuple[Label, Label]
    starts: _Pair


def _left(walks: list[_Walk], costs: CountedCosts, evidence: Evidence) -> list[_Pair]:
    """Where the choices of each walk leave the contenders; infinite where they never do.

    It is unknown where the start of the walk is, and never where that lies beyond the line.
    """
    moves: dict[Any, Move] = {}
    keys: dict[tuple[int, int], Any] = {}
    for place, (line, choices, starts) in enumerate(walks):
        for side, (choice, start) in enumerate(zip(choices, starts, strict=True)):
            low, high = line.bounds
            if choice and (low <= start < high if side else low < start <= high):
                # The border of a region may be that of a margin as well, but for rounding.
                keys[place, side] = key = id(line), choice, side, f"{start:.12g}"
                moves[key] = Move(choice, *line[:4], start=start, end=line.bounds[side])
    leaving = costs.leaving(
        list(moves.values()), tuple(filter(evidence.may_be_taken, costs.constant))
    )
    points = dict(zip(moves, leaving.tolist(), strict=True))
    ends = ((nan if isnan(a) else -inf, nan if isnan(b) else inf) for _, _, (a, b) in walks)
    return [
        (points.get(keys.get((place, 0)), low), points.get(keys.get((place, 1)), high))
        for place, (low, high) in enumerate(ends)
    ]


def _cost_line(costs: CountedCosts, place: int, stated: Problem) -> _Line:
    """The line along which one cost moves; costs are numbered class by class."""
    problem = costs.problem
    cell = np.zeros(problem.costs.shape)
    cell.flat[place] = 1.0
    # Costs here are above the base, so that a cost of zero is −base.
    rest_of_costs = np.where(cell > 0, -costs.base, problem.costs)
    far = FARTHEST * (float(np.abs(stated.costs).max()) or 1.0)
    least = -far if stated.has_gains else 0.0
    return _Line(rest_of_costs, cell, problem.prior, None, (least, far))


def _prior_lines(costs: CountedCosts, prior: FloatArray) -> Iterator[_Line]:
    """Lines along which the prior of each class moves; the others keep their proportions."""
    still = np.zeros(costs.problem.costs.shape)
    for unit in np.eye(prior.size):
        other_shares = np.where(unit > 0, 0.0, prior)
        proportions = (other_shares if other_shares.any() else 1 - unit).copy()
        proportions /= proportions.sum() or 1.0  # no class is left where there is only one
        yield _Line(costs.problem.costs, still, proportions, unit - proportions, (0.0, 1.0))


def _proportion_line(costs: CountedCosts) -> _Line:
    """The line along which the cost proportion c moves: a miss costs 2(1 − c), a false alarm 2c."""
    start, slope = np.array([[0.0, 0.0], [2.0, 0.0]]), np.array([[0.0, 2.0], [-2.0, 0.0]])
    return _Line(start, slope, costs.problem.prior, None, (0.0, 1.0))


# Where costs differ from case to case ------------------------------------------------------------


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
    running = evidence.running_costs(tuple(spent))
    stand_in = Problem(
        np.stack([table.sum(axis=1) / mass for table in spent.values()], axis=1) + running,
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
        always(decision): of_decision * (np.arange(size) == d)
        for d, decision in enumerate(problem.decisions)
    }
    return {**constant, **by_system}


def _factors(tables: dict[str, FloatArray], evidence: Evidence) -> Iterator[Margin]:
    names, mass = list(tables), evidence.sample.pooled.class_weights
    spent = np.stack(list(tables.values())) * (evidence.prior / mass)[:, None]
    total = spent.sum(axis=(1, 2)) + evidence.running_costs(tuple(names))
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
