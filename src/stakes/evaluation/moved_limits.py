"""What would change the verdict under a limit: another bound, or other costs.

At every value that is tried, rules are priced again out of fold and compared as in the report:
evaluating again with that value gives the same contenders. Most values need no full comparison,
because the choice is nearly the cheapest on these cases.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import replace
from functools import cached_property, lru_cache, partial
from math import floor, inf, isfinite, log10
from typing import NamedTuple

import numpy as np

from stakes._arithmetic import ratio
from stakes._check import FloatArray, IntArray
from stakes._expression import parse
from stakes._text import always
from stakes._value import record
from stakes.decide import mean_costs
from stakes.evaluation.cases import Cases
from stakes.evaluation.evidence import NO_MODEL, Evidence, charges_of, costs_of
from stakes.evaluation.limited_rules import BoundLadder, OtherFolds, other_folds
from stakes.evaluation.predictions import Folds, Predictions
from stakes.evaluation.tally_rows import sample_of
from stakes.evaluation.verdict import checks_of
from stakes.limits import costs_by_class
from stakes.problem import Limit
from stakes.report import POSTERIOR_RULES, RECALIBRATED, TUNED_APART, Flip, MovedNumber, flip_of

_MOST_ROWS = 200_000  # beyond which no other values are tried
_MOST_PRICED = 100_000  # cases times rules times decisions beyond which costs are not moved
_UNCLEAR = 0.6  # share of the critical value up to which a difference is unclear without a test
_SAME = 1e-12  # relative to the largest cost: costs that differ by less are equal but for rounding
_FACTORS = 0.1, 10.0  # range of the factors on the costs of a decision
_FACTOR_STEPS = (0.1, 0.25, 0.5, 0.75, 0.9, 2.0, 4.0, 9.0)


@record
class _Moved:
    """Another bound of the limit, or a factor on all costs of one decision."""

    limit: Limit
    column: int = 0
    factor: float = 1.0


def _times(costs: FloatArray, moved: _Moved) -> FloatArray:
    """Costs (…, M) with the factor in them."""
    factors = np.ones(costs.shape[-1])
    factors[moved.column] = moved.factor
    return costs * factors


class _Spent(NamedTuple):
    """What a system costs per case on average, and in each case (n,)."""

    cost: float
    losses: FloatArray


class MovedLimits:
    """The rows of a report with one limit, which can be decided again under another one.

    Parameters
    ----------
    cases : the cases, under a problem with one limit
    predictions : the predictions of every model for them
    folds : the folds of the report
    """

    def __init__(self, cases: Cases, predictions: Sequence[Predictions], folds: Folds) -> None:
        self.cases, self.folds = cases, folds
        self._predictions = {model.model: model for model in predictions}
        self._ladders: dict[tuple[str, int], BoundLadder] = {}
        self._others: dict[int, tuple[OtherFolds, ...]] = {}

    @property
    def able(self) -> bool:
        """Whether other values can be tried: one limit, folds, and not too many rows."""
        few = self.cases.truth.size <= _MOST_ROWS
        return len(self.cases.problem.limits) == 1 and bool(self.folds.numbers) and few

    @property
    def limit(self) -> Limit:
        """The only limit of the problem."""
        return self.cases.problem.limits[0]

    def can_keep(self, name: str, evidence: Evidence, limit: Limit) -> bool:
        """Whether a system can keep a limit in every partition; `evaluate` leaves out others."""
        rule = evidence.rules.get(name)
        if rule is not None and rule.name not in POSTERIOR_RULES:
            return True
        partitions = range(-1, len(self.folds.numbers))
        return all(self._ladder(name, evidence, p).can_keep(limit) for p in partitions)

    def decided(self, name: str, evidence: Evidence, moved: _Moved, partition: int) -> IntArray:
        """What a system, or the rule without a model, decides out of fold in one partition."""
        rule = evidence.rules.get(name)
        if rule is not None and rule.name not in POSTERIOR_RULES:
            return self._predictions[rule.model].decisions(rule, self.cases.charges)
        ladder = self._ladder(name, evidence, partition)
        if moved.factor != 1:
            ladder = replace(ladder, expected=_times(ladder.expected, moved))
        return ladder.decided(moved.limit)

    @cached_property
    def charged(self) -> FloatArray:
        """What each decision costs in every case, (n, M)."""
        return costs_by_class(self.cases.charges, self.cases.truth)

    def moved_cases(self, moved: _Moved) -> Cases:
        """The cases under the moved limit or the moved costs."""
        problem, costs, d = self.cases.problem, self.cases.costs, moved.column
        if moved.factor != 1 and costs is None:
            problem = problem.plus(_times(problem.costs, moved) - problem.costs)
        elif moved.factor != 1 and costs is not None:
            assert costs.constants is not None
            rows = [list(row) for row in costs.expressions]
            for row in rows:
                if (cost := row[d]) is not None:
                    row[d] = parse(f"{moved.factor!r} * ({cost.text})")
            constants = _times(costs.constants, moved)
            costs = replace(costs, constants=constants, expressions=tuple(map(tuple, rows)))
        return replace(self.cases, problem=problem.with_limits([moved.limit]), costs=costs)

    def _rows(self, name: str, evidence: Evidence, partition: int) -> FloatArray:
        rule = evidence.rules.get(name)
        if rule is None:
            prior = self.cases.prior
            return np.broadcast_to(prior, (self.cases.truth.size, prior.size))
        model = self._predictions[rule.model]
        if rule.name == RECALIBRATED and partition >= 0 and model.parts:
            return model.parts[partition]
        return model.posteriors_of(rule.name)

    def _ladder(self, name: str, evidence: Evidence, partition: int) -> BoundLadder:
        """The ladder of a rule in a partition.

        Partition −1 has the folds of the first one, and posteriors averaged over all partitions.
        """
        key = name, partition
        if key not in self._ladders:
            rows, cases, limit = self._rows(name, evidence, partition), self.cases, self.limit
            chances = np.ones(len(rows))
            if limit.given is not None:
                chances = np.asarray(rows[:, cases.problem.classes.index(limit.given)])
            column, place = cases.problem.decisions.index(limit.decision), max(partition, 0)
            number = self.folds.numbers[place]
            if place not in self._others:
                self._others[place] = other_folds(cases, number, limit)
            expected, others = mean_costs(rows, cases.charges), self._others[place]
            self._ladders[key] = BoundLadder(expected, chances, number, others, column)
        return self._ladders[key]


@record
class _UnderLimit:
    """What may be the cheapest once a limit or a cost has moved."""

    rows: MovedLimits
    evidence: Evidence  # of the report, before limits were checked
    checks: Evidence  # the same with its checks
    moved: _Moved
    level: float

    def is_possible(self, name: str) -> bool:
        """Whether a system, or what needs no model, may be the cheapest."""
        from scipy.special import ndtri

        spent = self._spent
        if name not in spent:
            return False
        cost, least = spent[name], min(spent.values(), key=lambda of: of.cost)
        others = (of.cost for other, of in self._blind.items() if other != name)
        # A system that costs the same as a decision without a model may make the same decisions:
        # that takes the full comparison.
        is_cheaper = all(cost.cost < other - self._rounding for other in others)
        unclear = _UNCLEAR * float(ndtri((1 + self.level) / 2))
        if is_cheaper and cost.cost <= least.cost + unclear * self._error(
            cost.losses - least.losses
        ):
            return True
        return name in self.possible

    @property
    def _blind(self) -> dict[str, _Spent]:
        """What needs no model and keeps the limit; constant decisions come first, and win ties."""
        blind = {name: of for name, of in self._spent.items() if name not in self.evidence.rules}
        return dict(sorted(blind.items(), key=lambda item: item[0] == NO_MODEL))

    @cached_property
    def _rounding(self) -> float:
        """A difference in cost that may be due to rounding."""
        return _SAME * max(abs(of.cost) for of in self._spent.values())

    def _error(self, losses: FloatArray) -> float:
        """The standard error of a mean of losses (n,), without the variance that fitting adds."""
        cases = self.rows.cases
        share, truth = cases.mass / cases.mass.sum(), cases.truth
        groups = truth if cases.problem.prior is not None else np.zeros_like(truth)
        sums, sizes = np.bincount(groups, share * losses), np.bincount(groups, share)
        means = np.where(sizes > 0, ratio(sums, sizes), 0.0)  # a class of prior zero counts nothing
        parts = share * (losses - means[groups])
        if cases.clusters is not None:
            parts = np.bincount(cases.clusters.codes, parts)
        return float(np.sqrt(parts @ parts))

    @cached_property
    def possible(self) -> tuple[str, ...]:
        """What may be the cheapest: contenders, and a decision without a model if that may be."""
        if len(self._blind) == len(self._spent):  # no system keeps the limit
            least = min(of.cost for of in self._blind.values()) + self._rounding
            return (next(name for name, of in self._blind.items() if of.cost <= least),)
        costs = costs_of(self._evidence.sample, self._evidence.problem, self._evidence, self.level)
        return costs.possible if self._blind else costs.contenders

    @cached_property
    def _decided(self) -> dict[str, IntArray]:
        """Decisions of all systems that can keep the limit, and of the rule without a model."""
        names = [*self.evidence.rules, *([] if self.rows.cases.costs is None else [NO_MODEL])]
        return {
            name: self.rows.decided(name, self.evidence, self.moved, -1)
            for name in names
            if self.rows.can_keep(name, self.evidence, self.moved.limit)
        }

    @cached_property
    def _spent(self) -> dict[str, _Spent]:
        """The costs on these cases of everything that may be recommended."""
        cases, moved = self.rows.cases, self.moved
        charged = _times(self.rows.charged, moved)
        share, every = cases.mass / cases.mass.sum(), np.arange(cases.truth.size)
        losses = {
            name: charged[every, codes] + float(self.evidence.running_costs((name,))[0])
            for name, codes in self._decided.items()
            if self._may_win(name)
        }
        for d, decision in enumerate(cases.problem.decisions):
            if moved.limit.excess(float(decision == moved.limit.decision)) <= 0:
                losses[always(decision)] = charged[:, d]
        return {name: _Spent(float(share @ loss), loss) for name, loss in losses.items()}

    def _may_win(self, name: str) -> bool:
        """Whether a system was not tuned on these cases, and does not break the limit."""
        rule, limit = self.evidence.rules.get(name), self.moved.limit
        if rule is not None and not rule.eligible:
            return False
        if rule is not None and rule.name not in POSTERIOR_RULES:
            (check,) = self.checks.checks[name]
            return not replace(check, limit=limit).breaks
        # An interval contains its estimate: a rule that keeps the limit on these cases cannot
        # clearly break it.
        return bool(limit.excess(self._counted(name)) <= 0) or not self._breaks(name)

    def _counted(self, name: str) -> float:
        """The share or rate of the limit on these cases."""
        cases, limit = self.rows.cases, self.moved.limit
        mass = cases.mass
        if limit.given is not None:
            mass = mass * (cases.truth == cases.problem.classes.index(limit.given))
        taken = self._decided[name] == cases.problem.decisions.index(limit.decision)
        return float(mass @ taken / mass.sum())

    def _breaks(self, name: str) -> bool:
        """Whether a posterior rule, or the rule without a model, clearly breaks the limit."""
        old, codes = self.evidence, self._decided[name]
        if name in old.rules:
            sample = sample_of(self.rows.cases, {name: codes}, None)
        else:
            assert old.sample.charges is not None
            sample = replace(old.sample, charges=replace(old.sample.charges, blind=codes))
        evidence = replace(old, problem=self._cases.problem, sample=sample)
        return any(check.breaks for check in checks_of(name, evidence, self.level))

    @cached_property
    def _cases(self) -> Cases:
        return self.rows.moved_cases(self.moved)

    @cached_property
    def _evidence(self) -> Evidence:
        """The evidence as `evaluate` would have it there, once limits are checked."""
        old, cases = self.evidence, self._cases
        small = np.min_scalar_type(-cases.problem.n_decisions)
        decided = {name: codes.astype(small) for name, codes in self._decided.items()}
        blind = decided.pop(NO_MODEL, None)
        rules = {name: old.rules[name] for name in decided}
        bayes = frozenset(n for n, rule in rules.items() if rule.name in POSTERIOR_RULES)
        charges = None if cases.costs is None else charges_of(cases, decided, bayes, blind)
        return replace(
            old,
            problem=cases.problem,
            sample=sample_of(cases, decided, charges),
            rules={n: replace(rule, eligible=n in self._spent) for n, rule in rules.items()},
            partition_costs=dict(self._partition_costs(cases, bayes)),
            slices=(),
            unaided=frozenset(self._blind),
        )

    def _partition_costs(
        self, cases: Cases, bayes: frozenset[str]
    ) -> Iterator[tuple[str, FloatArray]]:
        folds = copy(self.rows.folds)
        folds.cases = cases
        known = self.evidence.partition_costs
        for name in self._decided:
            if name in bayes and len(folds.numbers) > 1:
                parts = range(len(folds.numbers))
                decided = (self.rows.decided(name, self.evidence, self.moved, p) for p in parts)
                costs = folds.costs(decided)
                if costs is not None:
                    yield name, costs
            elif name in known and name not in bayes:
                yield name, known[name]


def flips_under_limits(
    rows: MovedLimits | None, evidence: Evidence, checks: Evidence, choice: str, level: float
) -> tuple[Flip, ...]:
    """Where today's choice is ruled out as the bound of the limit, or a cost, moves alone.

    Parameters
    ----------
    rows : the rows of the report, where they are available
    evidence : the evidence of the report, before its limits were checked
    checks : the same with checks
    choice : the system, or the decision without a model, that the verdict recommends
    level : confidence level of the intervals

    Returns
    -------
    flips of the limit, then of the costs; empty where other values were not tried
    """
    if rows is None or not rows.able or checks.all_break or not (checks.shares > 0).all():
        return ()
    flips = []
    for move, at in _moves(rows, evidence):
        # The last one only: each holds the decisions of all systems about all cases.
        there = lru_cache(maxsize=1)(
            lambda value, at=at: _UnderLimit(rows, evidence, checks, at(value), level)
        )
        flips.append(_rounded(flip_of(move, there, (choice,)), move, there, choice))
    return tuple(flips)


def _moves(
    rows: MovedLimits, evidence: Evidence
) -> Iterator[tuple[MovedNumber, Callable[[float], _Moved]]]:
    """The numbers that move, each with a function from its value to the moved problem."""
    problem, limit = rows.cases.problem, rows.limit
    within = "" if limit.given is None else f" for {limit.given}"
    yield (
        _move(f"limit on {limit.decision}{within}", limit.bound, (0.0, 1.0), _bound_steps(limit)),
        lambda value: _Moved(_with_bound(limit, value)),
    )
    # Thresholds that were tuned for today's costs would have to be tuned again.
    tuned = any(rule.name == TUNED_APART for rule in evidence.rules.values())
    priced = rows.cases.truth.size * len(evidence.rules) * problem.n_decisions
    if tuned or priced > _MOST_PRICED:
        return
    for d, decision in enumerate(problem.decisions):
        yield (
            _move(f"factor on the costs of {decision}", 1.0, _FACTORS, _FACTOR_STEPS),
            lambda value, column=d: _Moved(limit, column, value),  # type: ignore[misc]
        )


def _with_bound(limit: Limit, bound: float) -> Limit:
    upper = limit.sign > 0
    return replace(limit, at_most=bound) if upper else replace(limit, at_least=bound)


_move = partial(MovedNumber, halvings=12, precision=0.02)  # values are rounded to two digits


def _bound_steps(limit: Limit) -> tuple[float, ...]:
    """Growing steps away from a bound, the last of which reaches the end of its range."""
    first = 0.1 * (min(limit.bound, 1 - limit.bound) or 0.1)
    count = int(np.ceil(np.log(1 / first) / np.log(1.6)))
    return tuple(first * 1.6**step for step in range(count + 1))


def _rounded(
    flip: Flip, move: MovedNumber, there: Callable[[float], _UnderLimit], choice: str
) -> Flip:
    """The flip at values with the fewest digits at which the choice is ruled out."""
    (low, below), (high, above) = (
        _roundest(value, names, move, there, choice)
        for value, names in ((flip.low, flip.below), (flip.high, flip.above))
    )
    return Flip(flip.what, flip.value, low, high, below, above)


def _roundest(
    value: float,
    names: tuple[str, ...],
    move: MovedNumber,
    there: Callable[[float], _UnderLimit],
    choice: str,
) -> tuple[float, tuple[str, ...]]:
    if not isfinite(value):
        return value, names
    for digits in (2, 3, 4):
        rounded = away(value, move.value, digits)
        if move.bounds[0] <= rounded <= move.bounds[1] and not there(rounded).is_possible(choice):
            return rounded, there(rounded).possible
    return value, names


def away(value: float, now: float, digits: int) -> float:
    """A value rounded away from the present one, so that their distance has few digits.

    Parameters
    ----------
    value : the value
    now : the present value
    digits : how many digits of the distance to keep

    Returns
    -------
    the rounded value

    Examples
    --------
    >>> away(0.0834, 0.05, 1), away(0.0234, 0.05, 1), away(3.21, 1.0, 2)
    (0.09, 0.02, 3.3)
    """
    power = floor(log10(abs(value - now))) - digits + 1 if value != now else -inf
    if not isfinite(power):
        return value
    unit = 10.0 ** abs(power)
    scaled = value * unit if power < 0 else value / unit
    whole = np.ceil(scaled - 1e-9) if value > now else np.floor(scaled + 1e-9)
    return float(whole / unit if power < 0 else whole * unit)
