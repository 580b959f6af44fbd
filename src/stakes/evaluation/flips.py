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
from typing import NamedTuple

import numpy as np

from stakes._arithmetic import least
from stakes._check import Label
from stakes._text import always
from stakes.evaluation.evidence import NO_MODEL, Evidence, blind_counts
from stakes.inference import MOST_RIVALS, CountedCosts, Move, SampledCosts
from stakes.problem import Problem
from stakes.regions import (
    CostProportion,
    KeptDecisions,
    Margin,
    Regions,
    Stake,
    StakeLine,
    as_cost_ratios,
    borders_of,
    lowest,
    stakes_in,
)
from stakes.report import System

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
    if not _are_sought(evidence) or evidence.all_break or evidence.all_misordered:
        return (), ()
    rivals, problem = rivals_of(systems, evidence), evidence.problem.with_limits(None)
    if problem.columns or evidence.operation.running_costs:
        return _flips_of_charges(rivals, evidence, chosen)
    assert isinstance(costs, CountedCosts)  # without columns no case has costs of its own
    kept, stakes, regret = rivals.decided, _movable(problem, evidence), problem.regret().costs
    margins = kept.margins(stakes, regret, chosen)
    priors = [stake for stake in stakes[-1:] if stake.d is None]
    if problem.costs.size > _MOST_CLEAR:
        return tuple(lowest(kept.curves(stake.line), axis=stake.what) for stake in priors), margins
    lines = [line._replace(costs=line.costs - costs.base) for line in (s.line for s in stakes)]
    # Up to where another is as cheap, the cheapest is a contender; any other choice may not be.
    lead = kept.names[int(np.argmax(least(kept.costs(regret, evidence.prior))))]
    starts = [(m.low, m.high) if lead == chosen else (m.value, m.value) for m in margins]
    walks = [_Walk(line, (chosen, chosen), ends) for line, ends in zip(lines, starts, strict=True)]
    axes = {stake.what: lines[-1] for stake in priors}
    if problem.is_binary and priors:
        proportion = CostProportion(evidence.prior)
        axes = {proportion.name: proportion.moving(evidence.prior), **axes}
    regions = {lowest(kept.curves(line), axis=axis): line for axis, line in axes.items()}
    for parts, line in regions.items():
        walks += _across(parts, line)
    # One search for all walks; the first bounds belong to margins, the rest to borders of regions.
    bounds = iter(_left(walks, costs, evidence))
    clear = tuple(
        _with_clear(margin, low, high, lead)
        for margin, (low, high) in zip(margins, bounds, strict=False)
    )
    zoned = [_with_unclear(parts, line, bounds) for parts, line in regions.items()]
    ratios = [as_cost_ratios(parts) for parts in zoned[:-1]]
    return (*zoned[:-1], *ratios, *zoned[-1:]), clear


def _movable(problem: Problem, evidence: Evidence) -> tuple[Stake, ...]:
    """The numbers that may move: no prior under limits, nor that of a lone class."""
    stakes = stakes_in(problem, evidence.prior)
    limited = bool(evidence.problem.limits) or problem.n_classes < 2
    return tuple(stake for stake in stakes if stake.d is not None or not limited)


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


def _with_clear(margin: Margin, low: float, high: float, lead: Label) -> Margin:
    """A margin with its clear flips; what is cheaper than the choice already may come first."""
    margin = margin._but(clear_low=low, clear_high=high)
    if low > margin.low:
        margin = margin._but(low=low, low_rival=lead)
    return margin._but(high=high, high_rival=lead) if high < margin.high else margin


def _across(regions: Regions, line: StakeLine) -> Iterator[_Walk]:
    """Walks over each border: the upper choice downwards, and the lower choice upwards."""
    places = zip(borders_of(regions), regions.crossings.tolist(), strict=True)
    for (below, above), point in places:
        yield _Walk(line, (above, below), (point, point))


def _with_unclear(regions: Regions, line: StakeLine, bounds: Iterator[_Pair]) -> Regions:
    """Regions with the zone around each border in which neither side is clearly cheaper."""
    low, high = line.bounds
    zones = (next(bounds) for _ in regions.crossings)
    unclear = tuple((max(lower, low), min(upper, high)) for lower, upper in zones)
    return regions._but(unclear=unclear)


# What moves --------------------------------------------------------------------------------------


class _Walk(NamedTuple):
    """Two searches along a line, one downwards and one upwards, each from a start for a choice."""

    line: StakeLine
    choices: tuple[Label, Label]
    starts: _Pair


def _left(walks: list[_Walk], costs: CountedCosts, evidence: Evidence) -> list[_Pair]:
    """Where the choices of each walk leave the contenders; infinite where they never do.

    It is unknown where the start of the walk is, and never where that lies beyond the line.
    """
    sides, starts = np.array([-1.0, 1.0]), np.array([walk.starts for walk in walks])
    limits = np.array([walk.line.bounds for walk in walks])
    followed = np.array([list(map(bool, walk.choices)) for walk in walks])
    followed &= (sides * starts < sides * limits) & (sides * starts >= sides * limits[:, ::-1])
    moves = [_move(walks[place], side, costs) for place, side in np.argwhere(followed)]
    ends = np.where(np.isnan(starts), np.nan, sides * np.inf)
    constant = tuple(filter(evidence.may_be_taken, costs.constant))
    ends[followed] = costs.leaving(moves, constant)
    return [(low, high) for low, high in ends.tolist()]


def _move(walk: _Walk, side: int, costs: CountedCosts) -> Move:
    """One of the two searches. While costs move, the prior stays that of the problem, if any."""
    line = walk.line
    return Move(
        choice=walk.choices[side],
        costs=line.costs,
        cost_slope=line.cost_slope,
        prior=line.prior if line.prior_slope.any() else costs.problem.prior,
        prior_slope=line.prior_slope,
        start=walk.starts[side],
        end=line.bounds[side],
    )


# What could be deployed ---------------------------------------------------------------------------


class Rivals(NamedTuple):
    """All that could be deployed: constant decisions come first, and so win ties, then systems."""

    decided: KeptDecisions  # at any costs of decisions, without the running of models
    charged: KeptDecisions  # at any factors on the costs of decisions


def rivals_of(systems: tuple[System, ...], evidence: Evidence, chosen: str | None = None) -> Rivals:
    """The systems that may win, every constant decision, and what needs no model.

    Under limits, decisions that need no model must keep them, unless they are today's choice.
    """
    problem, charges = evidence.problem, evidence.sample.charges
    mass, many = evidence.sample.pooled.class_weights, problem.n_decisions
    counts = {s.name: s.counts.values for s in systems if s.candidate}
    each = mass[:, None] * np.eye(many)[:, None]
    blind = dict(zip(map(always, problem.decisions), each, strict=True))
    if charges is None:
        counts = {**blind, **counts}
        spent = {name: table * problem.costs for name, table in counts.items()}
    else:
        losses = charges.losses
        sums = [losses.class_sums(name) for name in losses.names[-many:]]
        of_decision = np.stack(sums, axis=1) + charges.base * mass[:, None]
        no_model = blind_counts(charges, problem, losses.weights).values
        spent = {name: of_decision * np.eye(many)[d] for d, name in enumerate(blind)}
        counts = {**blind, NO_MODEL: no_model, **counts}
        spent |= {name: charges.spent[name] for name in counts if name not in blind}
    taken = tuple(
        n for n in counts if n in evidence.rules or n == chosen or evidence.may_be_taken(n)
    )
    cases = np.where(mass > 0, mass, 1.0)[:, None]
    rates, paid = (np.stack([of[name] for name in taken]) / cases for of in (counts, spent))
    # The size of the numbers that were summed, to which their rounding error is relative.
    size = np.abs(paid * evidence.prior[:, None]).sum(axis=(1, 2)).max(initial=0.0)
    rounding = 1e-12 * float(size + (0.0 if charges is None else abs(charges.base)))
    running = evidence.running_costs(taken)
    return Rivals(
        KeptDecisions(taken, rates, 0 * running), KeptDecisions(taken, paid, running, rounding)
    )


# Where costs differ from case to case ------------------------------------------------------------


def _flips_of_charges(
    rivals: Rivals, evidence: Evidence, chosen: str
) -> tuple[tuple[Regions, ...], tuple[Margin, ...]]:
    """Where factors on the costs of a cell, which are 1 today, or priors flip the verdict."""
    problem, charged = evidence.problem, rivals.charged
    factors = Problem(
        np.ones((problem.n_classes, problem.n_decisions)),
        classes=problem.classes,
        decisions=problem.decisions,
    )
    stakes = _movable(factors, evidence)
    margins = charged.margins(stakes, factors.costs, chosen)
    over_prior = [stake for stake in stakes[-1:] if stake.d is None]
    return tuple(
        lowest(charged.curves(stake.line), axis=stake.what) for stake in over_prior
    ), tuple(
        margin if margin.is_prior else margin._but(what=f"factor on the {margin.what}")
        for margin in margins
    )
