"""Axes: the quantity that varies while models are compared, and which of them is the cheapest."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from itertools import combinations
from typing import Any, ClassVar, NamedTuple, Self, TypeVar

import numpy as np

from stakes import _check
from stakes._arithmetic import ratio
from stakes._check import FloatArray, IntArray, Label, Labels
from stakes._text import one_line, text_table
from stakes._value import Value, record
from stakes.conditions import Condition
from stakes.curve import Curve
from stakes.errors import InputError
from stakes.inference import FARTHEST, AllCases, Scheme, WithinClasses, each, envelopes
from stakes.measures import decision_rates, expected_cost_per_class
from stakes.problem import Problem
from stakes.tally import Counts, JointCounts, JointScores, JointTally, ScoreTable, tallies_by_model
from stakes.thresholds import Method

# Which of several curves is the lowest, interval by interval, exactly ----------------------------

# What rounding may do: curves closer than this, relative to the largest value, are tied, and
# crossings closer than this, relative to the width of the domain, are one crossing.
_TIE = 1e-12


@record
class Region(Value):
    """An interval, and the models that are the cheapest throughout it (several if they tie).

    Parameters
    ----------
    low : where it begins
    high : where it ends
    cheapest : labels of the models

    Examples
    --------
    >>> careful, bold = Curve([0, 1], [[0.1, 0.3]]), Curve([0, 1], [[0.3, -0.2]])
    >>> first, second = lowest({"careful": careful, "bold": bold}, axis="cost proportion").parts
    >>> first.high, first.cheapest
    (0.4, ('careful',))
    >>> print(second)
    0.4 to 1: bold
    """

    low: float
    high: float
    cheapest: Labels

    def __str__(self) -> str:
        return f"{self.low:.4g} to {self.high:.4g}: {', '.join(map(str, self.cheapest))}"


@record(repr=False)
class Regions(Value):
    """The intervals of an axis, in increasing order, with the cheapest model of each.

    Attributes
    ----------
    axis : what varies, in words
    models : all models that were compared
    parts : the intervals; neighbours have different models
    unclear : for each border the zone in which the data do not show which model is cheaper; empty
        where only curves are known

    Examples
    --------
    >>> careful, bold = Curve([0, 1], [[0.1, 0.3]]), Curve([0, 1], [[0.3, -0.2]])
    >>> regions = lowest({"careful": careful, "bold": bold}, axis="cost proportion")
    >>> print(regions)
    cost proportion  cheapest
    0 to 0.4          careful
    0.4 to 1             bold
    >>> regions.crossings
    array([0.4])
    """

    axis: str
    models: Labels
    parts: tuple[Region, ...]
    unclear: tuple[tuple[float, float], ...] = ()

    @property
    def crossings(self) -> FloatArray:
        """Where the cheapest model changes, in increasing order."""
        return np.array([part.low for part in self.parts[1:]], dtype=np.float64)

    @property
    def never_cheapest(self) -> Labels:
        """Models that are nowhere the cheapest."""
        chosen = {label for part in self.parts for label in part.cheapest}
        return tuple(model for model in self.models if model not in chosen)

    def at(self, x: float) -> Labels:
        """The cheapest models at a point; at a crossing those of both sides.

        Parameters
        ----------
        x : a point of the axis

        Returns
        -------
        labels of the cheapest models

        Examples
        --------
        >>> from stakes.problem import Problem
        >>> from stakes.regions import decision_regions
        >>> decision_regions(Problem([[0, 3, 25], [180, 8, 0]])).at(0.5)
        (1,)
        """
        point = float(_check.reals("x", x, ndim=0))
        winners = [part.cheapest for part in self.parts if part.low <= point <= part.high]
        if not winners:
            low, high = self.parts[0].low, self.parts[-1].high
            raise InputError(
                f"x must lie in [{low:g}, {high:g}]; got {point:g}. The axis is {self.axis}."
            )
        return tuple(dict.fromkeys(label for labels in winners for label in labels))

    def of(self, model: Label) -> tuple[tuple[float, float], ...]:
        """The intervals in which this model is the cheapest.

        Parameters
        ----------
        model : label of the model

        Returns
        -------
        intervals, each a pair

        Examples
        --------
        >>> from stakes.problem import Problem
        >>> from stakes.regions import decision_regions
        >>> decision_regions(Problem.from_threshold(0.25)).of(1)
        ((0.25, 1.0),)
        """
        _check.one_of("model", model, self.models, "models")
        return tuple((part.low, part.high) for part in self.parts if model in part.cheapest)

    def mapped(self, transform: Callable[[float], float], axis: str) -> Self:
        """The same regions on another scale; the transformation must be monotone.

        Parameters
        ----------
        transform : a monotone function of the axis
        axis : name of the new axis

        Returns
        -------
        the regions

        Examples
        --------
        >>> careful, bold = Curve([0, 1], [[0.1, 0.3]]), Curve([0, 1], [[0.3, -0.2]])
        >>> regions = lowest({"careful": careful, "bold": bold}, axis="cost proportion")
        >>> regions.mapped(lambda c: 100 * c, "percent").crossings
        array([40.])
        """
        parts = []
        for part in self.parts:
            low, high = sorted((transform(part.low), transform(part.high)))
            parts.append(Region(low, high, part.cheapest))
        parts.sort(key=lambda part: (part.low, part.high))
        zones = (sorted(map(transform, zone)) for zone in self.unclear)
        unclear = tuple(sorted((low, high) for low, high in zones))
        return self._but(axis=axis, parts=tuple(parts), unclear=unclear)

    def columns(self) -> dict[str, list[Any]]:
        """Lower and upper limit and the cheapest models of every interval.

        Returns
        -------
        columns of equal length

        Examples
        --------
        >>> careful, bold = Curve([0, 1], [[0.1, 0.3]]), Curve([0, 1], [[0.3, -0.2]])
        >>> lowest({"careful": careful, "bold": bold}, axis="skew").columns()["cheapest"]
        [('careful',), ('bold',)]
        """
        return {
            "low": [part.low for part in self.parts],
            "high": [part.high for part in self.parts],
            "cheapest": [part.cheapest for part in self.parts],
        }

    def __str__(self) -> str:
        rows = [
            [f"{part.low:.4g} to {part.high:.4g}", ", ".join(map(str, part.cheapest))]
            for part in self.parts
        ]
        text = text_table([self.axis, "cheapest"], rows)
        never = ", ".join(map(str, self.never_cheapest))
        return text + (f"\nnever cheapest: {one_line(never)}" if never else "")

    __repr__ = __str__


def lowest(curves: Mapping[Any, Curve], *, axis: str) -> Regions:
    """Divide the common domain into intervals, with the lowest curves in each.

    Between neighbouring crossing points no two curves change their order, so that one evaluation
    inside each interval is enough. A curve is never the lowest where it is undefined.

    Parameters
    ----------
    curves : cost along the axis, by model
    axis : name of the axis

    Returns
    -------
    intervals and the curve that is lowest in each

    Examples
    --------
    >>> careful, bold = Curve([0, 1], [[0.1, 0.3]]), Curve([0, 1], [[0.3, -0.2]])
    >>> lowest({"careful": careful, "bold": bold}, axis="cost proportion").crossings
    array([0.4])
    """
    _check.mapping_of("curves", curves, Curve)
    models = _check.labels("curves", curves)
    if not models:
        raise InputError("curves must hold at least one curve; the mapping is empty. Add one.")
    listed = list(curves.values())
    points = _points(listed)
    # Midpoints, not crossing points: curves tie at a crossing, and may jump there.
    middles = (points[:-1] + points[1:]) / 2
    values = np.stack([curve(middles) for curve in listed], axis=1)
    slack = _TIE * np.abs(values[~np.isnan(values)]).max(initial=0.0)
    parts: list[Region] = []
    for start, end, row in zip(points[:-1], points[1:], values, strict=True):
        least = np.min(row, where=~np.isnan(row), initial=np.inf)
        cheapest = tuple(m for m, value in zip(models, row, strict=True) if value <= least + slack)
        if parts and parts[-1].cheapest == cheapest:
            parts[-1] = Region(parts[-1].low, float(end), cheapest)
        else:
            parts.append(Region(float(start), float(end), cheapest))
    return Regions(axis, models, tuple(parts))


def _points(curves: list[Curve]) -> FloatArray:
    """The limits of the common domain, and all points between them where the lowest may change."""
    low = max(curve.domain[0] for curve in curves)
    high = min(curve.domain[1] for curve in curves)
    lines = _lines(curves)
    crossings: list[FloatArray] = []
    if lines is not None and lines.size:
        *_, corners = envelopes(*lines.T[:, None])
        crossings = [low + corners[corners < high - low]]
    elif lines is None:
        crossings = [curve.crossings(other) for curve, other in combinations(curves, 2)]
    points = np.unique(np.concatenate([[low], *crossings]))
    sliver = _TIE * (high - low)
    points = points[(points > low + sliver) & (points < high - sliver)]
    apart = np.diff(points, prepend=low) > sliver
    return np.concatenate([[low], points[apart], [high]])


def _lines(curves: list[Curve]) -> FloatArray | None:
    """Values at the start and slopes (L, 2) of curves that are straight lines on one domain.

    None for others. Lines that are undefined are left out.
    """
    pieces = [curve.coefficients for curve in curves]
    straight = all(len(piece) == 1 and not piece[:, 2:].any() for piece in pieces)
    if not straight or len({curve.domain for curve in curves}) > 1:
        return None
    lines = np.array([piece[0, :2] for piece in pieces])
    return np.asarray(lines[~np.isnan(lines).any(axis=1)])


def dominance(curves: Mapping[Any, Curve]) -> dict[Label, Labels]:
    """For each model, the models that never cost more than it and somewhere cost less.

    A dominated model is never worth choosing. A model that no single other one dominates may still
    be the cheapest nowhere, see `Regions.never_cheapest`.

    Parameters
    ----------
    curves : cost along the axis, by model

    Returns
    -------
    model → the models that dominate it

    Examples
    --------
    >>> dominance({"a": Curve([0, 1], [[0.2]]), "b": Curve([0, 1], [[0.3, -0.1]])})
    {'a': (), 'b': ('a',)}
    """
    _check.mapping_of("curves", curves, Curve)
    models = _check.labels("curves", curves)
    return {
        model: tuple(rival for rival in models if _dominates(curves[rival], curves[model]))
        for model in models
    }


def _dominates(first: Curve, second: Curve) -> bool:
    pair = lowest({"first": first, "second": second}, axis="")
    winners = {part.cheapest for part in pair.parts}
    return ("first",) in winners and ("second",) not in winners and () not in winners


# Other scales -----------------------------------------------------------------------------------


def as_cost_ratios(regions: Regions) -> Regions:
    """Regions of the cost proportion as regions of the ratio false alarm : miss, 0 to inf.

    Regions of anything else are refused.

    Parameters
    ----------
    regions : intervals of the axis and the model that wins in each

    Returns
    -------
    the same regions on the axis of the ratio

    Examples
    --------
    >>> from stakes.regions import CostProportion, cheapest_regions
    >>> from stakes.tally import Counts
    >>> models = {"old": Counts([[80, 20], [3, 7]]), "new": Counts([[90, 10], [5, 5]])}
    >>> regions = cheapest_regions(models, CostProportion([0.9, 0.1]))
    >>> as_cost_ratios(regions)
    false alarm : miss  cheapest
    0 to 0.2222              old
    0.2222 to inf            new
    """
    _check.require("regions", regions, Regions)
    if regions.axis != "cost proportion":
        raise InputError(
            f"regions must be those of the cost proportion; these are of the {regions.axis}. Make "
            f"them over CostProportion(), or call skews_as_cost_proportions for skews."
        )
    return regions.mapped(lambda c: c / (1 - c) if c < 1 else np.inf, "false alarm : miss")


def skews_as_cost_proportions(regions: Regions, *, prior: object) -> Regions:
    r"""Regions of the skew as regions of the cost proportion at one prior.

    .. math:: c = \frac{z \pi_1}{z \pi_1 + (1 - z) \pi_0}

    This holds for methods whose threshold depends on costs and prior only through the skew, such
    as `Optimal`: their loss at (c, π) is a positive multiple of their loss at z.

    Parameters
    ----------
    regions : intervals of the axis and the model that wins in each
    prior : class shares

    Returns
    -------
    the same regions on the other axis

    Examples
    --------
    >>> low, high = Curve([0, 1], [[0.1, 0.3]]), Curve([0, 1], [[0.3, -0.2]])
    >>> regions = lowest({"low": low, "high": high}, axis="skew")
    >>> skews_as_cost_proportions(regions, prior={0: 0.8, 1: 0.2}).crossings.round(3)
    array([0.143])
    """
    _check.require("regions", regions, Regions)
    negative, positive = _two_shares(prior)

    def proportion(z: float) -> float:
        return float(z * positive / (z * positive + (1 - z) * negative))

    return regions.mapped(proportion, "cost proportion")


def skews_as_priors(regions: Regions, *, cost_proportion: float) -> Regions:
    r"""Regions of the skew as regions of the prior of the positive class at one cost proportion.

    .. math:: \pi_1 = \frac{(1 - z)\, c}{(1 - z)\, c + z\, (1 - c)}

    A high skew is a low prior, so that the regions come in reverse order. This holds for the same
    methods as `skews_as_cost_proportions`.

    Parameters
    ----------
    regions : intervals of the axis and the model that wins in each
    cost_proportion : cost of a false alarm over the sum of both mistakes, c

    Returns
    -------
    the same regions on the other axis

    Examples
    --------
    >>> low, high = Curve([0, 1], [[0.1, 0.3]]), Curve([0, 1], [[0.3, -0.2]])
    >>> regions = lowest({"low": low, "high": high}, axis="skew")
    >>> skews_as_priors(regions, cost_proportion=0.1).crossings.round(3)
    array([0.143])
    """
    _check.require("regions", regions, Regions)
    c = _check.number("cost_proportion", cost_proportion, low=0, high=1)
    if not 0 < c < 1:
        raise InputError(
            f"cost_proportion must lie strictly between 0 and 1; got {c:g}. At 0 and at 1 nothing "
            f"is at stake in one class."
        )

    def positive(z: float) -> float:
        return (1 - z) * c / ((1 - z) * c + z * (1 - c))

    return regions.mapped(positive, "prior of the positive class")


def _two_shares(prior: object) -> FloatArray:
    shares = _check.prior("prior", prior, (0, 1))
    if not (shares > 0).all():
        raise InputError(f"prior must be positive for both classes; got {shares.tolist()}.")
    return shares


# The numbers of a problem that move alone, and the straight lines along which they do ------------

PRIOR = "prior of "  # how the names of priors begin


class StakeLine(NamedTuple):
    """Costs (K, M) and prior (K,) at position zero, their slopes, and the limits of the position.

    Only one of the two varies.

    Examples
    --------
    >>> *_, rare = stakes_in(Problem.zero_one(2), np.array([0.9, 0.1]))
    >>> rare.line.prior, rare.line.prior_slope, rare.line.bounds
    (array([1., 0.]), array([-1.,  1.]), (0.0, 1.0))
    """

    costs: FloatArray
    cost_slope: FloatArray
    prior: FloatArray
    prior_slope: FloatArray
    bounds: tuple[float, float]

    @property
    def weighted(self) -> tuple[FloatArray, FloatArray]:
        """Prior times costs (K, M) at position zero, and its slope."""
        start = self.prior[:, None] * self.costs
        return start, self.prior_slope[:, None] * self.costs + self.prior[:, None] * self.cost_slope

    def at(self, x: float) -> tuple[FloatArray, FloatArray]:
        """Costs and prior at a position.

        Parameters
        ----------
        x : the position

        Returns
        -------
        costs (K, M) and prior (K,)

        Examples
        --------
        >>> *_, rare = stakes_in(Problem.zero_one(2), np.array([0.9, 0.1]))
        >>> rare.line.at(0.3)[1]
        array([0.7, 0.3])
        """
        return self.costs + x * self.cost_slope, self.prior + x * self.prior_slope


def prior_line(costs: FloatArray, prior: FloatArray, k: int) -> StakeLine:
    """The line along which the prior of class k moves; the others keep their proportions.

    Where that class has all of the prior, the others share the rest equally.
    """
    unit = np.eye(prior.size)[k]
    others = np.where(unit > 0, 0.0, prior)
    others = others if others.any() else 1 - unit
    others = others / (others.sum() or 1.0)  # no class is left where there is only one
    return StakeLine(costs, np.zeros(costs.shape), others, unit - others, (0.0, 1.0))


@record
class Stake:
    """One number of a problem that moves while all others stay: a cost, or the prior of a class.

    A cost of decision d for class k, or the prior of class k where d is None. `prior` is the one in
    use, stated or not.

    Examples
    --------
    >>> problem = Problem.binary(false_alarm=1, miss=8, classes=["well", "ill"])
    >>> [stake.what for stake in stakes_in(problem, np.array([0.9, 0.1]))[2:]]
    ['cost of well for ill', 'cost of ill for ill', 'prior of ill']
    """

    problem: Problem
    prior: FloatArray
    k: int
    d: int | None

    @property
    def what(self) -> str:
        """The number, in words."""
        label = self.problem.classes[self.k]
        if self.d is None:
            return f"{PRIOR}{label}"
        return f"cost of {self.problem.decisions[self.d]} for {label}"

    @property
    def value(self) -> float:
        """Its present value, which is its position on its line."""
        return float(self.prior[self.k] if self.d is None else self.problem.costs[self.k, self.d])

    @property
    def line(self) -> StakeLine:
        """The line of problems along which it moves.

        Costs go to 20 times the largest of them, and below zero where the problem states gains.
        """
        costs, prior = self.problem.costs, self.prior
        if self.d is None:
            return prior_line(costs, prior, self.k)
        slope = np.zeros(costs.shape)
        slope[self.k, self.d] = 1.0
        far = FARTHEST * (float(np.abs(costs).max()) or 1.0)
        bounds = (-far if self.problem.has_gains else 0.0, far)
        return StakeLine(
            np.where(slope > 0, 0.0, costs), slope, prior, np.zeros(prior.shape), bounds
        )


def stakes_in(problem: Problem, prior: FloatArray) -> tuple[Stake, ...]:
    """All costs of a problem, class by class, then the priors.

    Of two classes one prior determines both, and the second comes.

    Parameters
    ----------
    problem : what is at stake
    prior : (K,) the class shares in use

    Returns
    -------
    the numbers that may move

    Examples
    --------
    >>> stakes = stakes_in(Problem.zero_one(3), np.array([0.5, 0.3, 0.2]))
    >>> len(stakes), stakes[1].what, stakes[-1].value
    (12, 'cost of 1 for 0', 0.2)
    """
    size, many = problem.n_classes, problem.n_decisions
    costs = [Stake(problem, prior, k, d) for k in range(size) for d in range(many)]
    return (*costs, *(Stake(problem, prior, k, None) for k in range(size) if k or size != 2))


# The exact cost of Bayes decisions that are made anew while a cost or the prior varies -----------
#
# Along a straight line of problems with the position x, every decision about a case with
# posteriors p has an expected cost that is linear in x. Each score therefore changes its decision
# at a few positions, the corners of a lower envelope of lines. What the decisions cost on the
# tallied cases is linear in x between these positions, and jumps at them.


@record
class DecidedAnew(Value):
    """A model that takes the Bayes decisions for any costs and prior.

    Parameters
    ----------
    table : posterior probabilities of the second of two classes
    holds_for : the prior for which they hold; None: the class shares of the table

    Examples
    --------
    Decisions that follow the costs differ from those at one half wherever that pays:

    >>> from stakes import Counts
    >>> from stakes.regions import CostProportion
    >>> table = ScoreTable.from_scores([0, 0, 1, 0, 1, 1], [0.1, 0.3, 0.35, 0.6, 0.7, 0.9])
    >>> models = {"anew": DecidedAnew(table), "at one half": Counts([[2, 1], [1, 2]])}
    >>> regions = CostProportion().regions(models)
    >>> regions.at(0.2), regions.at(0.5)
    (('anew',), ('anew', 'at one half'))
    """

    table: ScoreTable
    holds_for: Any = None

    @property
    def prior(self) -> FloatArray:
        """The prior for which the posteriors hold, (2,)."""
        if self.holds_for is None:
            return self.table.shares
        return _check.prior("holds_for", self.holds_for, self.table.classes or (0, 1))


def remade_curve(model: DecidedAnew, line: StakeLine) -> Curve:
    """What the decisions of a model cost along the line; nan where a class has no cases."""
    table, (low, high) = model.table, line.bounds
    _refuse_others(table, model.prior)
    sizes = table.weights.sum(axis=0)
    if not (sizes > 0).all():
        return Curve.undefined(low, high)
    start, slope = line.weighted
    shares = table.weights / sizes  # (n, 2)
    worth = np.stack([1 - table.scores, table.scores], axis=1) / model.prior
    lines = worth @ start, worth @ slope  # expected costs (n, M) of each score, up to a factor
    decided = _cheapest(lines, np.full(len(worth), low), high - low)
    at_first = np.array([np.sum(shares * part[:, decided].T) for part in (start, slope)])
    places, changes = [np.empty(0)], [np.empty((0, 2))]
    for place, rows, old, new in _changes(lines, decided, (low, high)):
        parts = [
            np.sum(shares[rows] * (part[:, new] - part[:, old]).T, 1) for part in (start, slope)
        ]
        places.append(place)
        changes.append(np.stack(parts, axis=1))
    knots = np.concatenate(places)
    order = np.argsort(knots, kind="stable")
    sums = at_first + np.concatenate([np.zeros((1, 2)), np.concatenate(changes)[order].cumsum(0)])
    knots = np.concatenate([[low], knots[order]])
    pieces = np.stack([sums[:, 0] + sums[:, 1] * knots, sums[:, 1]], axis=1)
    return Curve(np.append(knots, high), pieces)


def _changes(
    lines: tuple[FloatArray, FloatArray], decided: IntArray, bounds: tuple[float, float]
) -> Iterator[tuple[FloatArray, IntArray, IntArray, IntArray]]:
    """Positions at which scores change their decision: position, score, old and new decision."""
    (start, slope), (low, high) = lines, bounds
    pairs = list(combinations(range(start.shape[1]), 2))
    first, second = np.array(pairs, dtype=np.intp).reshape(-1, 2).T
    cross = ratio(start[:, second] - start[:, first], slope[:, first] - slope[:, second])
    inside = np.where((cross > low) & (cross < high), cross, high)
    points = np.concatenate([np.sort(inside, axis=1), np.full((len(start), 1), high)], axis=1)
    now = decided
    for low_end, high_end in zip(points.T[:-1], points.T[1:], strict=True):
        new = np.where(high_end > low_end, _cheapest(lines, low_end, high_end - low_end), now)
        rows = np.flatnonzero(new != now)
        yield low_end[rows], rows, now[rows], new[rows]
        now = new


def _cheapest(
    lines: tuple[FloatArray, FloatArray], x: FloatArray, width: FloatArray | float
) -> IntArray:
    """The first of the cheapest decisions (n,) just to the right of a position for each score."""
    start, slope = lines
    # A little to the right: at the position itself two decisions tie.
    cost = start + slope * (x + 1e-9 * np.asarray(width))[:, None]
    least = cost.min(axis=1, keepdims=True)
    near = cost <= least + 1e-15 * np.abs(cost).max(axis=1, keepdims=True)
    return np.asarray(np.argmax(near, axis=1))


def _refuse_others(table: ScoreTable, prior: FloatArray) -> None:
    _check.no_leading_axes("table", table.leading, remedy="Index one group.")
    bad = ~((table.scores >= 0) & (table.scores <= 1))
    if bad.any():
        raise InputError(
            f"table must hold posterior probabilities in [0, 1]; {bad.sum()} of its scores are "
            f"not, the first being {table.scores[bad][0]:g}. Calibrate raw scores first."
        )
    if not (prior > 0).all():
        raise InputError(
            f"holds_for must be positive for both classes; got {prior.tolist()}. Posteriors that "
            f"rule out a class cannot be moved to another prior."
        )


# Axes: the quantity that varies while models are compared ----------------------------------------
#
# An axis turns the decisions or scores of each model into a curve of its cost. `CostProportion`,
# `CostRatio` and `Prior` keep the decisions fixed: their cost is linear in every cost and, along a
# line of priors, in the prior. `Classifiers` keep the scores fixed, and each has its own
# threshold-choice method (hernandez-orallo, section 1 and table 2: a model that loses with one
# method may win with another).

T = TypeVar("T", Counts, ScoreTable)

Models = JointCounts | Mapping[Any, Any]  # to Counts, or to DecidedAnew of two classes
Tables = JointScores | Mapping[Any, ScoreTable]
EndpointCosts = tuple[FloatArray, FloatArray]  # costs at 0 and at 1 of an axis
Border = tuple[Label, Label]  # the cheapest model below a border, and the one above it


class Axis(Value, ABC):
    """A number of the problem that varies, and what each model costs along it.

    Examples
    --------
    Fewer misses pay where a false alarm is cheap, fewer false alarms where it is expensive:

    >>> models = {"careful": Counts([[60, 40], [5, 95]]), "bold": Counts([[90, 10], [20, 80]])}
    >>> for axis in (CostProportion(), CostRatio()):
    ...     print(axis.name, axis.regions(models).crossings.round(3))
    cost proportion [0.333]
    false alarm : miss [0.5]
    """

    kind: ClassVar[type[JointTally]] = JointCounts  # what all models are tallied in

    @property
    @abstractmethod
    def name(self) -> str:
        """What varies, in words."""

    @property
    def scheme(self) -> Scheme:
        """What bootstrap replicates resample by default."""
        return AllCases()

    @abstractmethod
    def curves(self, models: Any) -> dict[Label, Curve]:
        """What each model costs along the axis.

        Parameters
        ----------
        models : tallies of the models, of the kind that the axis takes

        Returns
        -------
        a curve of the cost for each model

        Examples
        --------
        >>> models = {"careful": Counts([[60, 40], [5, 95]]), "bold": Counts([[90, 10], [20, 80]])}
        >>> round(float(CostProportion().curves(models)["bold"](0.5)), 3)
        0.15
        """

    def regions(self, models: Any) -> Regions:
        """Where each model is the cheapest.

        Parameters
        ----------
        models : tallies of the models, as in `curves`

        Returns
        -------
        intervals of the axis and the cheapest models in each

        Examples
        --------
        >>> models = {"careful": Counts([[60, 40], [5, 95]]), "bold": Counts([[90, 10], [20, 80]])}
        >>> CostProportion().regions(models).crossings.round(3)
        array([0.333])
        """
        return lowest(self.curves(models), axis=self.name)

    def checked(self, tally: Any) -> Any:
        """Return the tally of all models if it is of the axis's kind, and refuse any other.

        Parameters
        ----------
        tally : the joint tally of all models

        Returns
        -------
        the same tally

        Examples
        --------
        >>> decided = {"careful": [0, 1, 1, 1], "bold": [0, 0, 1, 0]}
        >>> joint = JointCounts.from_decisions([0, 0, 1, 1], decided, Problem.zero_one(2))
        >>> CostProportion().checked(joint) is joint
        True
        """
        if not isinstance(tally, self.kind):
            raise InputError(
                f"tally must be {self.kind.__name__}; got {type(tally).__name__}. Tally all models "
                f"together, by JointCounts.from_decisions or JointScores.from_scores."
            )
        return tally

    @abstractmethod
    def located(self, tally: Any, borders: list[Border], near: FloatArray) -> FloatArray:
        """Where along the axis the two models of each border cost the same, (…, B); else nan.

        Parameters
        ----------
        tally : the joint tally of all models, perhaps with a leading axis of replicates
        borders : pairs of models: the cheapest below the border, and the cheapest above it
        near : (B,) borders of the whole data; curves may cross several times, and the crossing of a
            replicate that is nearest to its border counts

        Returns
        -------
        positions, (…, B)

        Examples
        --------
        >>> decided = {"careful": [0, 1, 1, 1], "bold": [0, 0, 1, 0]}
        >>> joint = JointCounts.from_decisions([0, 0, 1, 1], decided, Problem.zero_one(2))
        >>> CostProportion().located(joint, [("careful", "bold")], np.array([0.5]))
        array([0.5])
        """


class StraightAxis(Axis):
    """An axis along which the cost of fixed decisions is a straight line.

    Examples
    --------
    The costs at both ends say everything about fixed decisions:

    >>> counts = Counts([[60, 40], [5, 95]])
    >>> low, high = CostProportion().endpoint_costs(counts)
    >>> curve = CostProportion().curves({"careful": counts})["careful"]
    >>> float(curve(0.25)), float(0.75 * low + 0.25 * high)
    (0.1375, 0.1375)
    """

    @abstractmethod
    def endpoint_costs(self, counts: Counts) -> EndpointCosts:
        """Costs (…) of one model at 0 and at 1.

        Parameters
        ----------
        counts : decisions of the model, (…, K, M)

        Returns
        -------
        costs at 0 and at 1, each (…)

        Examples
        --------
        >>> [float(cost) for cost in CostProportion().endpoint_costs(Counts([[60, 40], [5, 95]]))]
        [0.05, 0.4]
        """

    def mark(self, place: FloatArray) -> FloatArray:
        """Convert positions between 0 and 1 to the scale of the axis.

        Parameters
        ----------
        place : positions between 0 and 1

        Returns
        -------
        the values of the axis there

        Examples
        --------
        >>> CostRatio().mark(np.array([0.2, 0.5]))
        array([0.25, 1.  ])
        """
        return place

    @abstractmethod
    def moving(self, shares: FloatArray) -> StakeLine:
        """How costs and prior vary for decisions that follow them; for two classes.

        Parameters
        ----------
        shares : (2,) class shares of the data

        Returns
        -------
        the line along which the costs or the prior vary

        Examples
        --------
        >>> CostProportion().moving(np.array([0.9, 0.1])).bounds
        (0.0, 1.0)
        """

    def curves(self, models: Models) -> dict[Label, Curve]:
        """Straight lines for fixed decisions; lines with jumps for decisions that are made anew.

        Examples
        --------
        >>> models = {"careful": Counts([[60, 40], [5, 95]]), "bold": Counts([[90, 10], [20, 80]])}
        >>> CostProportion().curves(models)["bold"].knots
        array([0., 1.])
        """
        fixed, anew = separated(models)
        curves = {model: _line(self.endpoint_costs(counts)) for model, counts in fixed.items()}
        for model, model_anew in anew.items():
            curves[model] = remade_curve(model_anew, self.moving(model_anew.table.shares))
        # Models keep the order in which they were passed, whatever their kind.
        order: Any = models if anew else curves
        return {model: curves[model] for model in order}

    def regions(self, models: Models) -> Regions:  # noqa: D102
        return super().regions(models).mapped(lambda x: float(self.mark(np.asarray(x))), self.name)

    def gap(self, joint: JointCounts, first: Label, second: Label) -> EndpointCosts:
        """What the first model costs more than the second at 0 and at 1, (…).

        Parameters
        ----------
        joint : joint counts of all models
        first, second : labels of two models

        Returns
        -------
        differences of their costs at 0 and at 1, each (…)

        Examples
        --------
        >>> decided = {"careful": [0, 1, 1, 1], "bold": [0, 0, 1, 0]}
        >>> joint = JointCounts.from_decisions([0, 0, 1, 1], decided, Problem.zero_one(2))
        >>> [float(gap) for gap in CostProportion().gap(joint, "careful", "bold")]
        [-0.5, 0.5]
        """
        (start, end), (other_start, other_end) = (
            self.endpoint_costs(joint.model(model)) for model in (first, second)
        )
        return start - other_start, end - other_end

    def located(  # noqa: D102
        self, tally: JointCounts, borders: list[Border], near: FloatArray
    ) -> FloatArray:
        gaps = [self.gap(tally, *border) for border in borders]
        # A replicate in which the two models have swapped sides has no border of this kind.
        rising = [np.where(gap[0] < 0, root(gap), np.nan) for gap in gaps]
        return self.mark(np.stack(rising, axis=-1))


def root(costs: EndpointCosts) -> FloatArray:
    """Where a line from the first number at 0 to the second at 1 crosses zero; nan if nowhere."""
    start, end = costs
    # A line that only touches zero at an endpoint does not change sign: that is no crossing.
    return np.where(start * end < 0, ratio(start, start - end), np.nan)


@record
class CostProportion(StraightAxis):
    r"""The cost of a false alarm over the sum of the costs of both mistakes, from 0 to 1.

    For two classes and two decisions. Under a prior (None: the class shares of the data) the loss
    of fixed decisions is :math:`2\{c\,\pi_0 FPR + (1-c)\,\pi_1 FNR\}`.

    Parameters
    ----------
    prior : class shares; None for those of the data

    Examples
    --------
    >>> CostProportion([0.9, 0.1])
    CostProportion(prior=[0.9, 0.1])
    """

    prior: Any = None

    @property
    def name(self) -> str:  # noqa: D102
        return "cost proportion"

    @property
    def scheme(self) -> Scheme:
        """Cases within classes where a prior is stated, else all cases."""
        return AllCases() if self.prior is None else WithinClasses()

    def moving(self, shares: FloatArray) -> StakeLine:  # noqa: D102
        prior = shares if self.prior is None else _check.prior("prior", self.prior, (0, 1))
        # The factor 2 is that of hernandez-orallo: a uniform distribution of c then gives the
        # Brier score.
        costs, slope = np.array([[0.0, 0.0], [2.0, 0.0]]), np.array([[0.0, 2.0], [-2.0, 0.0]])
        return StakeLine(costs, slope, prior, np.zeros(2), (0.0, 1.0))

    def endpoint_costs(self, counts: Counts) -> EndpointCosts:
        r"""Losses :math:`2\pi_1 FNR` and :math:`2\pi_0 FPR`; nan where a class has no cases.

        Examples
        --------
        >>> start, end = CostProportion([0.9, 0.1]).endpoint_costs(Counts([[60, 40], [5, 95]]))
        >>> round(float(start), 3), round(float(end), 3)
        (0.01, 0.72)
        """
        if counts.values.shape[-2:] != (2, 2):
            raise InputError(
                f"a cost proportion needs two classes and two decisions; the counts are "
                f"{counts.n_classes} by {counts.n_decisions}. sensitivity works for any shape."
            )
        shares = counts.shares
        if self.prior is not None:
            shares = _check.prior("prior", self.prior, counts.classes or (0, 1))
        rates = decision_rates(counts)
        # A class without cases has rates of nan, which must not reach the sum if its share is zero.
        misses = np.where(shares[..., 1] > 0, shares[..., 1] * rates[..., 1, 0], 0.0)
        alarms = np.where(shares[..., 0] > 0, shares[..., 0] * rates[..., 0, 1], 0.0)
        return 2 * misses, 2 * alarms


@record
class CostRatio(CostProportion):
    """The ratio false alarm : miss, from 0 to infinity.

    Curves are drawn over the cost proportion, whose scale is finite; regions and crossings are
    those of the ratio c / (1 − c).

    Parameters
    ----------
    prior : class shares; None for those of the data

    Examples
    --------
    The bold model is better once two false alarms cost as much as a miss:

    >>> models = {"careful": Counts([[60, 40], [5, 95]]), "bold": Counts([[90, 10], [20, 80]])}
    >>> print(CostRatio().regions(models))
    false alarm : miss  cheapest
    0 to 0.5             careful
    0.5 to inf              bold
    """

    @property
    def name(self) -> str:  # noqa: D102
        return "false alarm : miss"

    def mark(self, place: FloatArray) -> FloatArray:  # noqa: D102
        with np.errstate(divide="ignore"):
            return np.asarray(place / (1 - place))


@record
class Prior(StraightAxis):
    """The prior of one class, from 0 to 1, at the costs of a problem.

    The other classes keep their proportions to each other: those of the problem's prior, or of the
    data where it states none.

    Parameters
    ----------
    problem : the costs
    label : the class whose share varies

    Examples
    --------
    The careful model costs 0.4 at any prior, the bold one 0.1 for the well and 1.6 for the ill:

    >>> models = {"careful": Counts([[60, 40], [5, 95]]), "bold": Counts([[90, 10], [20, 80]])}
    >>> problem = Problem.binary(false_alarm=1, miss=8, classes=["well", "ill"])
    >>> print(Prior(problem, "ill").regions(models))
    prior of ill  cheapest
    0 to 0.2          bold
    0.2 to 1       careful
    """

    problem: Problem
    label: Label

    @property
    def name(self) -> str:  # noqa: D102
        return f"prior of {self.label}"

    @property
    def scheme(self) -> Scheme:
        """Cases within classes: the prior varies, so that class sizes of the data do not matter."""
        return WithinClasses()

    def moving(self, shares: FloatArray) -> StakeLine:  # noqa: D102
        _check.shapes("2", shares=shares)
        problem = self.problem
        if problem.n_classes != 2:
            raise InputError(
                f"problem must have two classes where decisions are made anew; it has "
                f"{problem.n_classes}. Pass Counts of decisions that stay as they are."
            )
        return prior_line(problem.costs, shares, self._place)

    def endpoint_costs(self, counts: Counts) -> EndpointCosts:
        """Expected costs at priors 0 and 1; nan where a class of positive prior has no cases.

        Examples
        --------
        >>> problem = Problem.binary(false_alarm=1, miss=8, classes=["well", "ill"])
        >>> Prior(problem, "ill").endpoint_costs(Counts([[60, 40], [5, 95]]))
        (array(0.4), array(0.4))
        """
        problem, place = self.problem, self._place
        per_class = expected_cost_per_class(counts, problem)
        prior = problem.prior_or(counts.shares)
        # While the prior of one class moves from 0 to 1, the others keep their proportions.
        other_shares = np.delete(prior, place, axis=-1)
        with np.errstate(invalid="ignore"):
            other_shares = other_shares / other_shares.sum(axis=-1, keepdims=True)
        # A class without cases costs nan, which must not reach the sum if its share is zero.
        costs = np.where(other_shares == 0, 0.0, np.delete(per_class, place, axis=-1))
        return np.asarray(np.sum(other_shares * costs, axis=-1)), per_class[..., place]

    @property
    def _place(self) -> int:
        """The place of the class whose share varies."""
        classes = self.problem.classes
        if self.label not in classes:
            raise InputError(f"label must be one of the classes {classes}; got {self.label!r}.")
        return classes.index(self.label)


@record
class Classifiers(Axis):
    """The cost proportion or the skew, for pairs of a model and a threshold-choice method.

    Parameters
    ----------
    pairs : mapping from a name to a model and a method, such as ``("forest", Optimal())``
    over : `CostProportions` or `Skews`

    Examples
    --------
    One model with two thresholds. Where misses are expensive, one half is too high:

    >>> from stakes import CostProportions, ScoreDriven, ScoreFixed, ScoreTable
    >>> table = ScoreTable.from_scores([0, 0, 1, 0, 1, 1], [0.1, 0.3, 0.35, 0.6, 0.7, 0.9])
    >>> pairs = {"at one half": ("m", ScoreFixed(0.5)), "at the costs": ("m", ScoreDriven())}
    >>> Classifiers(pairs, CostProportions).regions({"m": table}).at(0.2)
    ('at the costs',)
    """

    kind = JointScores

    pairs: Mapping[Any, tuple[Label, Method]]
    over: Condition | type[Condition]

    @property
    def name(self) -> str:  # noqa: D102
        name = getattr(self.over, "__name__", type(self.over).__name__)
        return {"CostProportions": "cost proportion", "Skews": "skew"}.get(name, name)

    def curves(self, models: Tables) -> dict[Label, Curve]:
        """The exact loss of each classifier as a curve.

        Examples
        --------
        >>> from stakes import CostProportions, Optimal, ScoreTable
        >>> table = ScoreTable.from_scores([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
        >>> axis = Classifiers({"best": ("m", Optimal())}, CostProportions)
        >>> round(float(axis.curves({"m": table})["best"](0.5)), 3)
        0.25
        """
        self._refuse_odd_pairs()
        tables = _same_cases(models, ScoreTable, "ScoreTable.from_scores")
        return {
            name: method.loss_curve(_named(tables, model), self.over)
            for name, (model, method) in self.pairs.items()
        }

    def located(  # noqa: D102
        self, tally: JointScores, borders: list[Border], near: FloatArray
    ) -> FloatArray:
        def nearest(scores: JointScores) -> FloatArray:
            """The nearest border between the same two models, in the same order."""
            regions = self.regions(scores)
            pairs = list(zip(borders_of(regions), regions.crossings, strict=True))
            same = [[at for border, at in pairs if border == wanted] for wanted in borders]
            return np.array(
                [
                    at[int(np.argmin(np.abs(np.subtract(at, place))))] if at else np.nan
                    for at, place in zip(same, near, strict=True)
                ]
            )

        return np.asarray(each(nearest)(tally)) if tally.weights.ndim > 1 else nearest(tally)

    def _refuse_odd_pairs(self) -> None:
        for name, pair in self.pairs.items():
            if not (isinstance(pair, tuple) and len(pair) == 2 and isinstance(pair[1], Method)):
                raise InputError(
                    f"pairs must map names to a model and a method; that of {name!r} is {pair!r}. "
                    f"Pass pairs such as ('forest', Optimal()), the method being a value and not "
                    f"its class."
                )


def borders_of(regions: Regions) -> list[Border]:
    """The cheapest model on either side of every border; of several, one that differs.

    Parameters
    ----------
    regions : intervals of the axis and the model that wins in each

    Returns
    -------
    the borders, from left to right

    Examples
    --------
    >>> from stakes.regions import decision_regions
    >>> borders_of(decision_regions(Problem([[0, 3, 25], [180, 8, 0]])))
    [(0, 1), (1, 2)]
    """
    _check.require("regions", regions, Regions)
    borders = []
    for below, above in zip(regions.parts[:-1], regions.parts[1:], strict=True):
        # Where models tie on one side, the border is where one of them stops being the cheapest.
        lost = [m for m in below.cheapest if m not in above.cheapest] or list(below.cheapest)
        won = [m for m in above.cheapest if m not in below.cheapest] or list(above.cheapest)
        # A part in which every curve is undefined has no cheapest model.
        borders.append((lost[0], won[0]) if lost and won else ("", ""))
    return borders


def separated(models: Any) -> tuple[dict[Label, Counts], dict[Label, DecidedAnew]]:
    """Models with fixed decisions, and models that decide anew; all on the same cases."""
    anew = {}
    if isinstance(models, Mapping):
        anew = {name: tally for name, tally in models.items() if isinstance(tally, DecidedAnew)}
    if not anew:
        return _single(models), {}
    mapping = {name: tally for name, tally in models.items() if name not in anew}
    fixed = _single(mapping) if mapping else {}
    shares = [
        tally.shares for tally in (*fixed.values(), *(tally.table for tally in anew.values()))
    ]
    if not _one_set_of_shares(shares):
        _refuse_other_cases()
    return fixed, anew


def counts_of(models: Models) -> dict[Label, Counts]:
    """The counts of every model, whose cases must be the same."""
    tables = _same_cases(models, Counts, "Counts.from_decisions")
    first = next(iter(tables.values()))
    decisions: Labels | None = None
    for counts in tables.values():
        decisions = _check.same_labels("the decisions of the models", decisions, counts.decisions)
        if counts.values.shape != first.values.shape:
            _refuse_other_cases()
    return tables


def _same_cases(models: object, kind: type[T], remedy: str) -> dict[Label, T]:
    """Tallies by model: of one kind, with the same classes in the same shares."""
    tallies = tallies_by_model(models, kind, remedy)
    classes: Labels | None = None
    for tally in tallies.values():
        classes = _check.same_labels("the classes of the models", classes, tally.classes)
    if not _one_set_of_shares([tally.shares for tally in tallies.values()]):
        _refuse_other_cases()
    return tallies


def _one_set_of_shares(shares: list[FloatArray]) -> bool:
    """Whether all models have the same class shares, of one shape."""
    first = shares[0]
    return all(
        part.shape == first.shape and np.allclose(part, first, rtol=0, atol=1e-9, equal_nan=True)
        for part in shares
    )


def _refuse_other_cases() -> None:
    raise InputError(
        "models must describe the same cases; one has another shape or other class shares than the "
        "first. Tally all models on one data set, or reweight them with with_prior."
    )


def _named(tables: dict[Label, ScoreTable], model: Label) -> ScoreTable:
    _check.one_of("a model", model, tuple(tables), "models")
    return tables[model]


def _single(models: Models) -> dict[Label, Counts]:
    """Counts without leading axes."""
    tables = counts_of(models)
    for counts in tables.values():
        _check.no_leading_axes("models", counts.leading, remedy="Index one group.")
    return tables


def _line(costs: EndpointCosts) -> Curve:
    start, end = map(float, costs)
    if np.isnan(start) or np.isnan(end):
        return Curve.undefined(0.0, 1.0)
    return Curve([0.0, 1.0], [[start, end - start]])
