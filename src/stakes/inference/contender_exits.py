"""Where a system stops being a contender while a cost or a prior moves.

The comparison is that of `contenders` under other problems: the profile likelihood of the
difference to the system that is then the cheapest, at the critical value for all comparisons. Many
moves are followed at once, because a single one would spend most of its time on overhead.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np

from stakes import _check
from stakes._check import BoolArray, FloatArray, IntArray, Label, Labels
from stakes.inference.effective_cases import Cells
from stakes.inference.likelihood import ratio_below
from stakes.inference.max_law import bonferroni_law, max_law
from stakes.inference.profile import profile_threshold
from stakes.inference.sampling import added_variances, cost_errors
from stakes.inference.schemes import Clusters
from stakes.inference.supports import pair_support, sampled_cells
from stakes.problem import Problem
from stakes.tally import JointCounts

_STEPS = 60  # the secant method needs about four, bisection thirty
_CLOSE, _ROUGH = 1e-6, 1e-2  # tolerances of the root of a ratio over that of its threshold
_ROUNDING = 1e-12  # share of the way: a system that leaves before it leaves at the start
_FARTHEST = 1000.0  # times the largest cost: how far a move without an end is followed
_NEAR_END = 1 - 1e-9  # share of the way: at the end itself a class may have no prior left
MOST_RIVALS = 100  # systems up to which correlations of differences are followed along a move


@dataclass(frozen=True, eq=False)
class Move:
    """A problem whose costs and prior move along a straight line, and the system that is followed.

    Attributes
    ----------
    choice : the system that is followed, a contender at the start
    costs, cost_slope : (K, M) the costs at position zero, and how they change per unit
    prior, prior_slope : (K,) likewise
        The prior is None where none is stated; the slope is None where the prior does not move.
    start, end : the positions between which the problem moves; the end may be infinite

    Examples
    --------
    The cost of a miss falls from 5 to 0, while that of a false alarm stays:

    >>> costs, slope = np.array([[0.0, 1.0], [0.0, 0.0]]), np.array([[0.0, 0.0], [1.0, 0.0]])
    >>> move = Move("a", costs, slope, None, None, start=5.0, end=0.0)
    >>> (move.costs + move.start * move.cost_slope).tolist(), move.unit
    ([[0.0, 1.0], [5.0, 0.0]], -5.0)
    """

    choice: Label
    costs: FloatArray
    cost_slope: FloatArray
    prior: FloatArray | None
    prior_slope: FloatArray | None
    start: float
    end: float

    @property
    def unit(self) -> float:
        """The signed length of the move; if it has no end, the size of what moves."""
        if np.isfinite(self.end):
            return self.end - self.start
        size = float(max(np.abs(self.costs).max(), abs(self.start))) or 1.0
        return float(np.copysign(size, self.end))


def leaving_points(
    joint: JointCounts,
    moves: Sequence[Move],
    *,
    level: float,
    among: Labels,
    blind: Labels = (),
    reachable: BoolArray,
    squares: FloatArray | None = None,
    fitting: FloatArray | None = None,
) -> FloatArray:
    """Where each choice is no longer among the contenders, (len(moves),); infinite where it stays.

    Beyond that point the choice clearly costs more than the system that is then the cheapest of
    those it is compared with, by the rule of `contenders`; or clearly more than a blind decision,
    by the interval of that one difference, as a saving is reported. What fitting adds to the
    errors is taken as it is now. A move without an end is followed for a thousand times the
    largest cost. With more than 100 systems the critical value is Bonferroni's, which does not ask
    how differences vary together: points lie somewhat farther out.

    Parameters
    ----------
    joint : cases by true class and the decisions of all systems
    moves : the moves to follow
    level : confidence level, such as 0.95
    among : the systems that are compared; a choice that is none of them is compared with them
    blind : further systems, each compared by itself
    reachable, squares, fitting : as in `contenders`

    Returns
    -------
    positions along the moves, (len(moves),)

    Examples
    --------
    >>> from stakes import Problem
    >>> y = [0] * 80 + [1] * 20
    >>> decided = {"a": [0] * 70 + [1] * 30, "b": [0] * 95 + [1] * 5}
    >>> joint = JointCounts.from_decisions(y, decided, Problem.zero_one(2))
    >>> miss = np.array([[0.0, 0.0], [1.0, 0.0]])
    >>> move = Move("a", np.array([[0.0, 1.0], [0.0, 0.0]]), miss, None, None, start=5.0, end=0.0)
    >>> points = leaving_points(joint, [move], level=0.95, among=("a", "b"),
    ...                         reachable=np.ones((2, 2), dtype=bool))
    >>> points.round(2).tolist()
    [0.3]
    """
    level = _check.level(level)
    points = np.array([np.sign(move.end - move.start) * np.inf for move in moves])
    for stated in (False, True):
        places = [i for i, move in enumerate(moves) if (move.prior is not None) == stated]
        if places:
            design = {"squares": squares, "fitting": fitting}
            race = _Race(joint, [moves[i] for i in places], level, among, blind, reachable, design)
            points[places] = race.exits()
    return points


@dataclass(frozen=True, eq=False)
class _Race:
    """The moves of problems that all state a prior, or none of which does."""

    joint: JointCounts
    moves: list[Move]
    level: float
    among: Labels
    blind: Labels
    reachable: BoolArray
    design: dict[str, Any]  # squares and fitting

    def exits(self) -> FloatArray:
        """Where each choice leaves: a rough search, then one with the critical values found there.

        Critical values hardly change along a move but take most of the time. Where they cannot
        change at all, the first search is exact.
        """
        endless = np.isinf([move.end for move in self.moves])
        most = np.where(endless, _FARTHEST, _NEAR_END)
        far = np.minimum(most, (1 - _CLOSE) * self._sure_ends())
        limits, changing = self._rough_limits(), self._changing
        close = np.where(changing, _ROUGH, _CLOSE)
        rough = partial(self._excess, limits)
        crossing = _crossings(rough, self._every, np.minimum(0.1, far), far, close)
        if changing.any():
            some = np.flatnonzero(changing)
            limits[:, some] = self._limits(some, crossing[some])
            exact = partial(self._excess, limits)
            near = np.full(some.shape, _CLOSE)
            crossing[some] = _crossings(exact, some, crossing[some], far[some], near)
        never = np.copysign(np.inf, self._units)
        return np.where(crossing < most, self._starts + self._units * crossing, never)

    def _sure_ends(self) -> FloatArray:
        """How far (B,) blind choices can go: up to where another blind decision is cheaper.

        Under a stated prior the costs of blind decisions are known, without any sampling error.
        """
        if self._priors is None or not self.blind:
            return np.full(len(self.moves), np.inf)
        pool, first = self._places(self.blind), self._choices
        sums = (self._totals(*self._problems(self._every, np.full(first.shape, x))) for x in (0, 1))
        now, later = (total[self._every, first][:, None] - total[:, pool] for total in sums)
        with np.errstate(divide="ignore", invalid="ignore"):
            cross = np.where(later > now, np.maximum(-now, 0.0) / (later - now), np.inf)
        return np.where(np.isin(first, pool), cross.min(axis=1), np.inf)

    def _excess(self, limits: FloatArray, places: IntArray, away: FloatArray) -> FloatArray:
        """The root of the largest ratio over its limit (2, B), minus one; at most one.

        For the moves in places (B',), each as far from its start as `away` says, in its units.
        """
        costs, prior = self._problems(places, away)
        totals, first = self._totals(costs, prior), self._choices[places]
        pools = [self._places(pool) for pool in (self.among, self.blind) if pool]
        # The rival is the cheapest of each pool where the move has come to.
        second = np.concatenate([pool[np.argmin(totals[:, pool], axis=1)] for pool in pools])
        times = len(pools)
        pairs = np.stack([np.tile(first, times), second], axis=1)
        repeated = np.tile(totals, (times, 1)), np.tile(costs, (times, 1, 1))
        priors = None if prior is None else np.tile(prior, (times, 1))
        searched = (np.arange(times)[:, None], places)
        ratio, tilts = self._ratio(
            pairs, *repeated, priors, self._tilts[:, *searched].reshape(-1, len(pairs))
        )
        self._tilts[:, *searched] = tilts.reshape(-1, times, len(places))  # where to start next
        ratio = ratio.reshape(times, -1)
        limit = limits[:times, places]
        known = np.isfinite(limit)  # infinite for a single cluster, which says nothing about others
        shown = np.where(known, ratio, 0.0) / np.where(known, limit, 1.0)
        return np.asarray(np.minimum(np.sqrt(np.maximum(shown.max(axis=0), 0.0)) - 1, 1.0))

    def _ratio(
        self,
        pairs: IntArray,
        totals: FloatArray,
        costs: FloatArray,
        prior: FloatArray | None,
        near: FloatArray,
    ) -> tuple[FloatArray, FloatArray]:
        """Likelihood ratios (P,) of no difference, zero where the first costs no more; tilts."""
        support = pair_support(self.joint, self._cells, costs, prior, pairs, self.reachable)
        first, second = pairs.T
        rows = np.arange(len(pairs))
        more = totals[rows, first] - totals[rows, second]
        none = np.zeros(more.shape)
        added = none if self._added is None else self._added[first, second]
        ratio, tilts = ratio_below(support, none, more, added, near)
        return np.where(more > 0, ratio, 0.0), tilts

    def _totals(self, costs: FloatArray, prior: FloatArray | None) -> FloatArray:
        """What every system costs, (B, J)."""
        sizes = self._counts.sum(axis=-1)[0]  # of classes
        mass = costs / sizes.sum() if prior is None else costs * (prior / sizes)[..., None]
        return np.asarray(np.einsum("jkd,bkd->bj", self._counts, mass))

    def _places(self, names: Iterable[Label]) -> IntArray:
        return np.array([self.joint.models.index(name) for name in names], dtype=np.intp)

    def _rough_limits(self) -> FloatArray:
        """Thresholds (2, B) at the start of the first move of each choice."""
        costs, prior = self._problems(self._every, np.zeros(len(self.moves)))
        known: dict[Label, list[float]] = {}
        for place, move in enumerate(self.moves):
            if move.choice not in known:
                shares = None if prior is None else prior[place]
                known[move.choice] = self._limit(move, costs[place], shares)
        return np.array([known[move.choice] for move in self.moves]).T

    @property
    def _changing(self) -> BoolArray:
        """Whether the critical value of each move (B,) may change along it.

        That of one comparison does not, nor does Bonferroni's, unless a class without cases gets a
        prior, or one that lies in a single cluster.
        """
        sizes = np.array([len(self._names(move)) for move in self.moves])
        known = self.joint.weights.ndim == 1 and bool(self._counts[0].any(axis=-1).all())
        return ((sizes > 2) & (sizes <= MOST_RIVALS)) | (not known)

    def _names(self, move: Move) -> Labels:
        """The systems among which the choice is, itself included."""
        return tuple(dict.fromkeys((*self.among, move.choice)))

    def _limits(self, places: IntArray, away: FloatArray) -> FloatArray:
        """Thresholds (2, B'): the critical value among the systems, and that of one comparison."""
        costs, prior = self._problems(places, away)
        priors = [None] * len(costs) if prior is None else prior
        every = zip((self.moves[place] for place in places), costs, priors, strict=True)
        return np.array([self._limit(*arguments) for arguments in every]).T

    def _limit(self, move: Move, costs: FloatArray, prior: FloatArray | None) -> list[float]:
        """Thresholds of one move: the critical value among the systems, and of one comparison."""
        names = self._names(move)
        many = len(names) > MOST_RIVALS
        # Bonferroni's value needs only the degrees of freedom, which the tally of one system has.
        joint, design = (self._first, {}) if many else (self.joint, self.design)
        problem = Problem(costs, classes=joint.classes, decisions=joint.decisions, prior=prior)
        errors = cost_errors(joint, problem, **design)
        if errors.degrees == 0 or np.isnan(errors.costs).any():
            return [np.inf, np.inf]
        if many:
            law = bonferroni_law(errors.degrees, len(names) - 1)
        else:
            law = max_law(errors.among(names), [names.index(move.choice)])
        alone = profile_threshold(self.level, np.asarray(errors.degrees))
        return [float(law.quantile(1 - self.level)[0]), float(alone)]

    def _problems(self, places: IntArray, away: FloatArray) -> tuple[FloatArray, FloatArray | None]:
        """Costs (B, K, M) and priors (B, K) of moves at a distance from their starts."""
        point = (self._starts[places] + self._units[places] * away)[:, None]
        costs, cost_slope = self._costs
        moved = costs[places] + point[..., None] * cost_slope[places]
        if self._priors is None:
            return moved, None
        prior, prior_slope = self._priors
        # Rounding must not leave [0, 1] at the end of a move.
        return moved, np.clip(prior[places] + point * prior_slope[places], 0.0, 1.0)

    @cached_property
    def _tilts(self) -> FloatArray:
        """The tilts that the last search of each move found, (R, 2, B): the next starts there."""
        strata = 1 if self._priors is None else len(self.joint.classes)
        return np.full((strata, 2, len(self.moves)), np.nan)

    @cached_property
    def _cells(self) -> Cells:
        scheme = Clusters() if self.joint.weights.ndim == 2 else None
        return sampled_cells(self.joint, self.design["squares"], scheme)

    @cached_property
    def _added(self) -> FloatArray | None:
        """What fitting adds to the variances of differences, (J, J)."""
        fitting = self.design["fitting"]
        return None if fitting is None else added_variances(fitting)

    @cached_property
    def _first(self) -> JointCounts:
        """The tally of one system: it has the same classes and clusters as that of all systems."""
        parts = {"cells": self.joint.cells[:, :2], "models": self.joint.models[:1]}
        return JointCounts._trusted(**{**vars(self.joint), **parts})

    @cached_property
    def _choices(self) -> IntArray:
        return self._places(move.choice for move in self.moves)

    @cached_property
    def _every(self) -> IntArray:
        return np.arange(len(self.moves))

    @cached_property
    def _starts(self) -> FloatArray:
        return np.array([move.start for move in self.moves])

    @cached_property
    def _units(self) -> FloatArray:
        return np.array([move.unit for move in self.moves])

    @cached_property
    def _costs(self) -> tuple[FloatArray, FloatArray]:
        """Costs (B, K, M) at zero and how they change."""
        return (
            np.stack([move.costs for move in self.moves]),
            np.stack([move.cost_slope for move in self.moves]),
        )

    @cached_property
    def _priors(self) -> tuple[FloatArray, FloatArray] | None:
        """Priors (B, K) at zero and how they change."""
        priors = [move.prior for move in self.moves if move.prior is not None]
        if not priors:
            return None
        slopes = [
            np.zeros(prior.shape) if move.prior_slope is None else move.prior_slope
            for move, prior in zip(self.moves, priors, strict=True)
        ]
        return np.stack(priors), np.stack(slopes)

    @cached_property
    def _counts(self) -> FloatArray:
        """Counts (J, K, M) of all systems, clusters together."""
        values = np.stack([self.joint.model(name).values for name in self.joint.models], axis=-3)
        return values if values.ndim == 3 else values.sum(axis=0)


def _crossings(
    excess: Callable[[IntArray, FloatArray], FloatArray],
    places: IntArray,
    guess: FloatArray,
    far: FloatArray,
    close: FloatArray,
) -> FloatArray:
    """How far (B,) the moves in places go until their excess is no longer negative; else `far`.

    The root of a ratio is nearly linear in the distance, and the excess is −1 at the start, which
    suits the secant method. It is kept within a bracket of a point before the crossing and one
    beyond. Where three secants do not halve the bracket, as at a corner where another rival becomes
    the cheapest, its geometric mean is taken.
    """
    crossing: FloatArray = far.copy()
    rows: IntArray = np.arange(len(far))
    now, near, beyond = guess, np.zeros(far.shape), np.full(far.shape, np.inf)
    last, last_value, slow = near, np.full(far.shape, -1.0), np.zeros(far.shape)
    for _ in range(_STEPS):
        value = excess(places, now)
        crossing[rows] = now
        width = beyond - near
        near, beyond = np.where(value < 0, now, near), np.where(value < 0, beyond, now)
        slow = np.where(beyond - near > width / 2, slow + 1, 0)
        ended = (np.abs(value) < close) | (near >= np.minimum(far, beyond * (1 - close)))
        ended |= beyond < _ROUNDING
        if ended.all():
            break
        with np.errstate(divide="ignore", invalid="ignore"):
            secant = now - value * (now - last) / (value - last_value)
            between = np.where(near > 0, np.sqrt(near * beyond), beyond / 10)
        sound = (secant > near) & (secant < beyond) & (slow < 3)
        last, last_value = now, value
        # Steps grow at most tenfold: far beyond the crossing the excess is cut off and flat.
        now = np.minimum(np.minimum(np.where(sound, secant, between), 10 * now), far)
        # Moves that have ended leave the search, which then works on fewer of them.
        rows, places = rows[~ended], places[~ended]
        arrays = (now, near, beyond, last, last_value, slow, far, close)
        now, near, beyond, last, last_value, slow, far, close = (row[~ended] for row in arrays)
    return crossing
