"""How far a cost or a prior must move before another model becomes the cheapest."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import inf, isfinite, isnan, log
from typing import Any, NamedTuple

import numpy as np

from stakes import _check
from stakes._arithmetic import least
from stakes._check import FloatArray, Label, Labels
from stakes._text import text_table
from stakes._value import Value, record
from stakes.curve import Curve
from stakes.errors import InputError
from stakes.inference import FARTHEST
from stakes.measures import decision_rates, expected_cost_per_class
from stakes.problem import Problem
from stakes.regions.axes import Models, counts_of, separated
from stakes.regions.partition import Regions, lowest
from stakes.regions.remade import DecidedAnew, Moving, remade_curve
from stakes.tally import Counts

_EDGE = 1e-12  # closer to the end of its range than this, a flip may be a rounding error
_PRIOR = "prior of "  # how the names of priors begin
_TOGETHER = 1 + 1e-9  # rivals reached within this factor of each other are reached together


@record
class Margin(Value):
    """One number of the problem, and how far it may move before the verdict flips.

    Attributes
    ----------
    what : the number, in words
    value : its present value
    low, high : where another model becomes as cheap; infinite where none does, nan where unknown
    low_rival, high_rival : that model, or None
    clear_low, clear_high : where what a report recommends is clearly not the cheapest: it
        has left the contenders, or clearly costs more than a constant decision; infinite where
        neither happens up to 20 times the largest cost, nan where only counts are known (see
        `leaving_points`)

    Examples
    --------
    The bold model is the cheapest as long as less than a fifth are ill:

    >>> from stakes import Counts
    >>> models = {"careful": Counts([[60, 40], [5, 95]]), "bold": Counts([[90, 10], [20, 80]])}
    >>> problem = Problem.binary(false_alarm=1, miss=8, classes=["well", "ill"], prior=[0.9, 0.1])
    >>> (margin,) = sensitivity(models, problem).priors
    >>> margin.what, margin.value, round(margin.high, 6), margin.high_rival
    ('prior of ill', 0.1, 0.2, 'careful')
    """

    what: str
    value: float
    low: float
    high: float
    low_rival: Label | None
    high_rival: Label | None
    clear_low: float = np.nan
    clear_high: float = np.nan

    @property
    def distance(self) -> float:
        """The distance to the nearer of the two flips."""
        return min(self.value - self.low, self.high - self.value)

    @property
    def rival(self) -> Label | None:
        """The model that is as cheap at the nearer of the two flips."""
        down = self.value - self.low <= self.high - self.value
        return self.low_rival if down else self.high_rival

    @property
    def is_prior(self) -> bool:
        """Whether the number is the prior of a class."""
        return self.what.startswith(_PRIOR)

    @property
    def log_factor(self) -> float:
        """How far the nearer flip is, as the logarithm of a factor on the number.

        For a prior, it is the factor on the share or on the rest to 1, whichever moves more. No
        factor leads from zero, to zero or across it: that is infinitely far.
        """
        return min(self._log_factor_to(end) for end in (self.low, self.high))

    def _log_factor_to(self, end: float) -> float:
        pairs = [(self.value, end), (1 - self.value, 1 - end)][: 1 + self.is_prior]
        if not all(now * then > 0 and isfinite(then) for now, then in pairs):
            return inf
        return max(abs(log(then / now)) for now, then in pairs)


@record(repr=False)
class Sensitivity(Value):
    """The verdict and its margins.

    Attributes
    ----------
    cheapest : the model with the least expected cost, the first of those that tie
    expected_costs : (J,) of all models
    models : J names
    costs : a margin for each cell of the cost table, class by class
    priors : a margin for the prior of each class; the others move in proportion. Of two classes
        one prior determines both: there is one margin, for the second

    Examples
    --------
    >>> from stakes import Counts
    >>> models = {"careful": Counts([[60, 40], [5, 95]]), "bold": Counts([[90, 10], [20, 80]])}
    >>> problem = Problem.binary(false_alarm=1, miss=8, classes=["well", "ill"], prior=[0.9, 0.1])
    >>> answer = sensitivity(models, problem)
    >>> answer.cheapest, answer.expected_costs.round(6), answer.weakest_prior.what
    ('bold', array([0.4 , 0.25]), 'prior of ill')
    """

    cheapest: Label
    expected_costs: FloatArray
    models: Labels
    costs: tuple[Margin, ...]
    priors: tuple[Margin, ...]

    @property
    def weakest_cost(self) -> Margin:
        """The cost that flips the verdict by the smallest factor."""
        return nearest_first(self.costs)[0]

    @property
    def weakest_prior(self) -> Margin:
        """The prior that flips the verdict by the smallest factor on it, or on the rest to 1."""
        return nearest_first(self.priors)[0]

    def __str__(self) -> str:
        rows = [
            [margin.what, f"{margin.value:.4g}", *_shown(margin)]
            for margin in (*self.costs, *self.priors)
        ]
        header = [f"cheapest: {self.cheapest}", "now", "flips below", "to", "flips above", "to"]
        return text_table(header, rows)

    __repr__ = __str__


def sensitivity(models: Models, problem: Problem) -> Sensitivity:
    r"""How far every cost and every prior may move before another model is the cheapest.

    The answer is exact, for one number at a time. Let :math:`D_j` be the expected cost of model j
    above that of the cheapest model b. If the cost :math:`c_{kd}` changes by t, :math:`D_j` changes
    by :math:`t\,\pi_k (P_j(d \mid k) - P_b(d \mid k))`. It is also linear in the prior of one
    class, while the other classes keep their proportions to each other. Decisions are fixed.

    No cost goes below zero, unless the problem states gains. Rules such as `constant_rules` may be
    among the models. A model that is `DecidedAnew` takes the Bayes decisions for the changed costs
    or prior. Its cost jumps where a case is decided differently, so that the nearest flip may be
    spurious: `Report.flips` says where a flip is statistically clear. With such models no cost goes
    beyond 20 times the largest.

    Parameters
    ----------
    models : counts by model
    problem : what is at stake: costs, prior, labels

    Returns
    -------
    ranges of costs and priors within which the same model is the cheapest

    Examples
    --------
    >>> from stakes import Counts
    >>> models = {"careful": Counts([[60, 40], [5, 95]]), "bold": Counts([[90, 10], [20, 80]])}
    >>> problem = Problem.binary(false_alarm=1, miss=8, classes=["well", "ill"],
    ...                          decisions=["home", "treat"], prior=[0.9, 0.1])
    >>> print(sensitivity(models, problem))
    cheapest: bold           now  flips below       to  flips above       to
    cost of home for well      0        never                0.5556  careful
    cost of treat for well     1       0.4444  careful        never
    cost of home for ill       8        never                    18  careful
    cost of treat for ill      0        never                 never
    prior of ill             0.1        never                   0.2  careful
    """
    fixed, anew = separated(models)
    if anew:
        return _remade_sensitivity(models, fixed, anew, problem)
    counts = counts_of(models)
    prior = _prior(next(iter(counts.values())), problem)
    rates = np.stack([decision_rates(table) for table in counts.values()])
    regret = problem.regret()  # a cost that all decisions about a class share makes no difference
    per_class = np.stack([expected_cost_per_class(table, regret) for table in counts.values()])
    totals = np.where(prior > 0, per_class, 0.0) @ prior
    if np.isnan(totals).any():
        raise InputError(
            "models must have cases of every class that the prior expects; one has none, and its "
            "cost is undefined. Add cases, or set that prior to zero."
        )
    # Models that tie except for rounding get an excess of exactly zero: any change may flip them.
    tied = least(totals)
    best = int(np.argmax(tied))
    verdict = _Verdict(tuple(counts), best, np.where(tied, 0.0, totals - totals[best]))
    slopes = np.where(prior[:, None] > 0, prior[:, None] * (rates - rates[best]), 0.0)
    return Sensitivity._trusted(
        cheapest=verdict.names[best],
        expected_costs=totals + prior @ problem.costs.min(axis=1),
        models=verdict.names,
        costs=_cost_margins(verdict, problem, slopes),
        priors=_prior_margins(verdict, problem, prior, per_class - per_class[best]),
    )


def _prior(counts: Counts, problem: Problem) -> FloatArray:
    _check.require("problem", problem, Problem)
    _check.no_leading_axes("models", counts.leading, remedy="Index one group.")
    return problem.prior_or(counts.shares)


class _Verdict(NamedTuple):
    """The cheapest of the models, and what the others cost more than it."""

    names: Labels
    best: int
    excess: FloatArray

    def margin(
        self, what: str, value: float, slopes: FloatArray, domain: tuple[float, float], edge: float
    ) -> Margin:
        """Nearest points on both sides at which excess + slope × move is zero for some rival.

        Points outside of the domain, or closer to its ends than the edge, are not reached.
        """
        rivals = np.arange(len(self.names)) != self.best
        if np.isnan(slopes[rivals]).any():
            return Margin(what, value, np.nan, np.nan, None, None)
        bounds: list[tuple[float, Label | None]] = []
        for sign in (-1, 1):
            nearing = rivals & (sign * slopes < 0)
            steep = np.where(nearing, np.abs(slopes), 1.0)
            move = np.where(nearing, self.excess / steep, np.inf)
            first = move <= move.min() * _TOGETHER
            # Of several that are met together, the steepest is the cheapest beyond the flip.
            nearest = int(np.argmax(np.where(first, steep, -np.inf)))
            point = value + sign * float(move[nearest])
            room = domain[1] - point if sign > 0 else point - domain[0]
            reached = nearing[nearest] and room > edge
            bounds.append((point, self.names[nearest]) if reached else (sign * np.inf, None))
        (low, low_rival), (high, high_rival) = bounds
        return Margin(what, value, low, high, low_rival, high_rival)


def _cost_margins(verdict: _Verdict, problem: Problem, slopes: FloatArray) -> tuple[Margin, ...]:
    bounds = -np.inf if problem.has_gains else 0.0, np.inf
    edge = _EDGE * float(np.abs(problem.costs).max())
    return tuple(
        verdict.margin(
            f"cost of {decision} for {label}",
            float(problem.costs[k, d]),
            slopes[:, k, d],
            bounds,
            edge,
        )
        for k, label in enumerate(problem.classes)
        for d, decision in enumerate(problem.decisions)
    )


def _prior_margins(
    verdict: _Verdict, problem: Problem, prior: FloatArray, gaps: FloatArray
) -> tuple[Margin, ...]:
    """Margins of the priors that move; gaps (J, K) are costs per class above the cheapest."""
    margins = []
    two = len(prior) == 2
    for k in range(1 if two else 0, len(prior)):
        other_shares = np.ones(1) if two else np.delete(prior, k)
        # If this class has all of the prior, nothing says how several others would share the rest.
        other_gaps = np.full(len(gaps), np.nan)
        if other_shares.sum() > 0:
            known = np.where(other_shares == 0, 0.0, np.delete(gaps, k, axis=1))
            other_gaps = known @ (other_shares / other_shares.sum())
        what, slopes = f"{_PRIOR}{problem.classes[k]}", gaps[:, k] - other_gaps
        margins.append(verdict.margin(what, float(prior[k]), slopes, (0.0, 1.0), _EDGE))
    return tuple(margins)


def nearest_first(margins: Sequence[Margin]) -> list[Margin]:
    """Margins by the factor that leads to their nearer flip.

    Those that no factor leads to, such as costs of zero, come last: by their distance relative to
    the largest of the numbers, priors relative to 1.

    Parameters
    ----------
    margins : of costs, of factors on costs, or of priors

    Returns
    -------
    the same margins, the nearest first

    Examples
    --------
    A cost has to double, and the rare class to become a fifth as rare:

    >>> cost = Margin("cost of review for legit", 3.0, -np.inf, 6.0, None, "careful")
    >>> prior = Margin("prior of fraud", 0.01, -np.inf, 0.05, None, "careful")
    >>> [margin.what for margin in nearest_first([prior, cost])]
    ['cost of review for legit', 'prior of fraud']
    """
    _check.list_of("margins", margins, Margin)
    costs = [abs(margin.value) for margin in margins if not margin.is_prior]
    largest = max(costs, default=1.0) or 1.0

    def closeness(margin: Margin) -> tuple[float, float]:
        distance = margin.distance / (1.0 if margin.is_prior else largest)
        return margin.log_factor, inf if isnan(distance) else distance

    return sorted(margins, key=closeness)


def _shown(margin: Margin) -> list[str]:
    shown = []
    for end, rival in ((margin.low, margin.low_rival), (margin.high, margin.high_rival)):
        shown += ["never" if np.isinf(end) else f"{end:.4g}", "" if rival is None else str(rival)]
    return shown


# Decisions made anew -----------------------------------------------------------------------------


def _remade_sensitivity(
    models: Any, fixed: dict[Label, Counts], anew: dict[Label, DecidedAnew], problem: Problem
) -> Sensitivity:
    shares = next(iter(anew.values())).table.shares
    prior = problem.prior_or(shares)
    names: Labels = tuple(models)
    moves = list(_remade_moves(problem, prior))
    curves = [_remade_curves(names, fixed, anew, moving) for _, _, moving in moves]
    costs = np.array([float(curves[0][name](moves[0][1])) for name in names])
    best = names[int(np.argmax(least(costs)))]
    margins = [
        _remade_margin(what, value, lowest(by_model, axis=what), best)
        for (what, value, _), by_model in zip(moves, curves, strict=True)
    ]
    size = problem.costs.size
    return Sensitivity._trusted(
        cheapest=best,
        expected_costs=costs,
        models=names,
        costs=tuple(margins[:size]),
        priors=tuple(margins[size:]),
    )


def _remade_moves(problem: Problem, prior: FloatArray) -> Iterator[tuple[str, float, Moving]]:
    """What varies, its value, and the line; with two classes, one prior determines both."""
    costs, still = problem.costs, np.zeros(2)
    far = FARTHEST * (float(np.abs(costs).max()) or 1.0)
    bounds = (-far if problem.has_gains else 0.0, far)
    for k, label in enumerate(problem.classes):
        for d, decision in enumerate(problem.decisions):
            cell = np.zeros(costs.shape)
            cell[k, d] = 1.0
            moving = Moving(np.where(cell > 0, 0.0, costs), cell, prior, still, bounds)
            yield f"cost of {decision} for {label}", float(costs[k, d]), moving
    none, slope = np.zeros(costs.shape), np.array([-1.0, 1.0])
    moving = Moving(costs, none, np.array([1.0, 0.0]), slope, (0.0, 1.0))
    yield f"prior of {problem.classes[1]}", float(prior[1]), moving


def _remade_curves(
    names: Labels, fixed: dict[Label, Counts], anew: dict[Label, DecidedAnew], moving: Moving
) -> dict[Label, Curve]:
    """What each model costs along a line."""
    start, slope = moving.weighted
    low, high = moving.bounds
    curves = {name: remade_curve(model, moving) for name, model in anew.items()}
    for name, counts in fixed.items():
        rates = decision_rates(counts)
        a, b = float(np.sum(rates * start)), float(np.sum(rates * slope))
        curves[name] = Curve([low, high], [[a + b * low, b]])
    return {name: curves[name] for name in names}


def _remade_margin(what: str, value: float, regions: Regions, best: Label) -> Margin:
    """The margin of a number: how far around it the best model stays the cheapest."""
    parts = regions.parts
    holders = [i for i, part in enumerate(parts) if part.low <= value <= part.high]
    present = next((i for i in holders if best in parts[i].cheapest), holders[0])
    bounds: list[tuple[float, Label | None]] = []
    for side in (-1, 1):
        place = present
        while 0 <= place < len(parts) and best in parts[place].cheapest:
            place += side
        if not 0 <= place < len(parts):
            bounds.append((side * np.inf, None))
            continue
        point = parts[place].high if side < 0 else parts[place].low
        bounds.append((point, next(iter(parts[place].cheapest), None)))
    (low, low_rival), (high, high_rival) = bounds
    return Margin(what, value, low, high, low_rival, high_rival)
