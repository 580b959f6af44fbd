"""Where a system stops being a contender while a cost or a prior moves."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np

from stakes import _check
from stakes._check import BoolArray, FloatArray, IntArray, Label, Labels
from stakes._value import record
from stakes.errors import InputError
from stakes.inference.likelihood import WeightStrata, upper_bound_from, widened
from stakes.inference.profile import known_strata, pair_support, profile_threshold, sampled_cells
from stakes.inference.sampling import Cells, cost_errors
from stakes.inference.schemes import Clusters
from stakes.inference.selection import MaxLaw, bonferroni_law, first_quantiles, max_law
from stakes.problem import Problem
from stakes.tally import JointCounts

# Where nearly concave bounds first exceed zero, on many pieces of straight moves at once ---------

_STEPS = 200  # secants need about five, bisections alone 33
_BISECTED = 6  # every so many steps, because secants come to a halt at some kinks
_TOGETHER = 1 + 1e-9  # lines that are reached within this factor are reached together
_SHORTEST = 1e-9  # absolute width of the bracket of a root near zero

_Bound = Callable[[IntArray, FloatArray], FloatArray]  # of pieces, at distances


class Pieces(NamedTuple):
    """Parts of moves (N,): a choice, and the rival that is the cheapest of its pool on this part.

    The part is from low to high, in units of the move; with each of them the choice costs `gain`
    more than before, relative to the rival.
    """

    move: IntArray
    pool: IntArray
    choice: IntArray
    rival: IntArray
    low: FloatArray
    high: FloatArray
    gain: FloatArray

    def where(self, some: BoolArray | IntArray) -> Pieces:
        """Some of the pieces."""
        columns: list[Any] = [column[some] for column in self]
        return Pieces(*columns)


def envelopes(
    starts: FloatArray, slopes: FloatArray
) -> tuple[IntArray, IntArray, FloatArray, FloatArray]:
    """Which of the lines (B, J) is the lowest, from zero on: rows, lines, and from where to where.

    Beyond each piece a line of smaller slope takes over, where several cross the steepest, and the
    first of those that are as steep but for rounding. The first pieces of all rows come first, then
    the second ones of the rows that have one.

    Parameters
    ----------
    starts, slopes : of J lines in each of B rows

    Returns
    -------
    for each piece its row, its line, where it begins and where it ends

    Examples
    --------
    The second line falls below the first at 2, and no other one falls below that:

    >>> rows, lines, lows, highs = envelopes(np.array([[0.0, 2, 9]]), np.array([[0.0, -1, -1]]))
    >>> lines.tolist(), highs.tolist()
    ([0, 1], [2.0, inf])
    """
    _check.shapes("b J, b J", starts=starts, slopes=slopes)
    row: IntArray = np.arange(len(starts))
    line, low = np.argmin(starts, axis=1), np.zeros(len(starts))
    pieces = []
    while row.size:
        fall = slopes[row, line][:, None] - slopes[row]
        above = np.maximum(starts[row] - starts[row, line][:, None], 0.0)
        cross = np.divide(above, fall, where=fall > 0, out=np.full(fall.shape, np.inf))
        high = np.maximum(cross.min(axis=1), low)
        pieces.append((row, line, low, high))
        falls = np.where(cross <= _TOGETHER * high[:, None], fall, -np.inf)
        steepest = np.argmax(_TOGETHER * falls >= falls.max(axis=1, keepdims=True), axis=1)
        more = np.isfinite(high)
        row, line, low = row[more], steepest[more], high[more]
    rows, lines, lows, highs = (np.concatenate(column) for column in zip(*pieces, strict=True))
    return rows, lines, lows, highs


def first_roots(
    bound: _Bound,
    rows: IntArray,
    pieces: Pieces,
    start: FloatArray,
    close: FloatArray,
) -> FloatArray:
    """Where bounds first exceed zero on some pieces, in these rows; inf where they do not.

    A lower bound of a mean whose values are linear in the distance is concave in it, except for
    pseudo-cases and effective numbers of cases, which hardly change. So secants from the left stay
    on the left. The first step has no secant yet, and may pass over all of a range in which the
    bound exceeds zero: where a search arrives at the end without a root, that range is looked for.
    A range as narrow as the bracket of a root may be missed.
    """
    columns = pieces.low, pieces.high, pieces.gain, start, close
    low, high, gain, start, close = (column[rows] for column in columns)
    roots, ends = _roots(bound, rows, low, high, gain, start, close)
    lost = np.flatnonzero(np.isinf(roots) & (start < high))
    rises = _rises(bound, rows[lost], ends[lost], close[lost])
    risen = rises[:, 1, 1] > 0
    lost, ((low, high), (below, above)) = lost[risen], rises[risen].T
    gain = (above - below) / (high - low)
    roots[lost], _ = _roots(bound, rows[lost], low, high, gain, high, close[lost])
    return roots


def _roots(
    bound: _Bound,
    rows: IntArray,
    near: FloatArray,
    end: FloatArray,
    slope: FloatArray,
    now: FloatArray,
    width: FloatArray,
) -> tuple[FloatArray, FloatArray]:
    """Roots (N,) by the secant method, and the first and the last point (N, 2, 2) of the search.

    Each step aims a little too far, so that the last two points enclose the root; where bounds are
    not quite concave, this bracket keeps the search safe. The last point is the end where no bound
    exceeds zero on the way. A point is a distance and the bound there.
    """
    roots, ends = np.full(rows.shape, np.inf), np.full((len(rows), 2, 2), np.nan)
    place, beyond, last, before = np.arange(len(rows)), roots, now, now
    for step in range(_STEPS if rows.size else 0):
        value = bound(rows, now)
        ends[place, min(step, 1) :] = np.stack([now, value], axis=1)[:, None]
        reached = value > 0
        near, beyond = np.where(reached, near, now), np.where(reached, now, beyond)
        slope = (value - before) / (now - last) if step else slope
        rising = np.where(slope > 0, slope, np.nan)
        root = np.fmax(np.fmin(now - value / rising, beyond), near)
        short = np.maximum(width * now, _SHORTEST)
        aimed = root + np.where(reached, -short, short)
        inside = (slope > 0) & (aimed > near) & (aimed < beyond)
        inside &= np.isinf(beyond) | ((step + 1) % _BISECTED > 0)
        last, before = now, value
        now = np.minimum(np.where(inside, aimed, (near + beyond) / 2), end)
        enclosed = beyond - near <= 3 * short
        roots[place[enclosed]] = root[enclosed]
        going = ~(enclosed | ~reached & (last >= end))
        if not going.any():
            break
        place, rows, width = place[going], rows[going], width[going]
        numbers = near, beyond, now, end, slope, last, before
        near, beyond, now, end, slope, last, before = (number[going] for number in numbers)
    return roots, ends


def _rises(bound: _Bound, rows: IntArray, points: FloatArray, width: FloatArray) -> FloatArray:
    """Two points (N, 2, 2) between which bounds rise above zero; nan, or no rise, where none does.

    They are looked for between two points, (N, 2, 2), where no bound exceeds zero. Outside of the
    two points that it joins, a secant lies above a concave bound. So between two neighbours a bound
    exceeds zero at most from where the secant on their left does, up to where the secant on their
    right does. The middle of the widest such room comes next, until a bound there exceeds zero or
    no room is left.
    """
    rises, place = np.full((len(rows), 2, 2), np.nan), np.arange(len(rows))
    for _ in range(_STEPS if rows.size else 0):
        (spots, values), every = np.moveaxis(points, -1, 0), np.arange(len(rows))
        slopes, edge = np.diff(values) / np.diff(spots), np.full((len(rows), 1), np.inf)
        rise, fall = np.hstack([edge, slopes[:, :-1]]), np.hstack([slopes[:, 1:], -edge])
        low = spots[:, :-1] - values[:, :-1] / np.where(rise > 0, rise, np.nan)
        high = spots[:, 1:] - values[:, 1:] / np.where(fall < 0, fall, np.nan)
        gap = np.argmax(np.fmax(high - low, 0.0), axis=1)
        low, high = low[every, gap], high[every, gap]
        middle = (low + high) / 2
        going = (high - low > np.maximum(width * middle, _SHORTEST)) & ~(rises[place, 1, 1] > 0)
        if not going.any():
            break
        place, rows, width, gap = place[going], rows[going], width[going], gap[going]
        added = np.stack([middle[going], bound(rows, middle[going])], axis=1)
        size = points.shape[1]
        after = np.arange(len(rows)) * size + gap
        known = points[going].reshape(-1, 2)
        rises[place] = np.stack([known[after], added], axis=1)
        points = np.insert(known, after + 1, added, axis=0).reshape(len(rows), size + 1, 2)
    return rises


# Where a system stops being a contender while a cost or a prior moves ----------------------------
#
# The comparison is that of `contenders` under other problems: the profile likelihood of the
# difference to the system that is then the cheapest, at the critical value for all comparisons.
# Costs are straight lines along a move, so that the cheapest system changes at corners that are
# known beforehand. Between them the lower bound of the difference is nearly concave, and the
# choice leaves where it first exceeds zero. All pieces of all moves are searched at once, because
# a single one would spend most of its time on overhead.

_CLOSE, _ROUGH = 1e-6, 1e-3  # relative widths of the brackets of exits
_EQUAL = 1e-12  # share of the largest cost: differences that are smaller are none
FARTHEST = 20.0  # times the largest cost: beyond that costs are absurd, and nothing is looked for
_NEAR_END = 1 - 1e-6  # share of the way: at the end itself a class may have no prior left
MOST_RIVALS = 100  # systems up to which correlations of differences are followed along a move


@record
class Move:
    """A problem whose costs or prior move along a straight line, and the system that is followed.

    Not both: where costs and prior move at once, what a system costs is no straight line.

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

    def __post_init__(self) -> None:
        if self.prior_slope is not None and self.prior_slope.any() and self.cost_slope.any():
            raise InputError(
                f"prior_slope must be None or zero where costs move; it is "
                f"{self.prior_slope.tolist()}, and cost_slope is {self.cost_slope.tolist()}. Move "
                f"one after the other."
            )

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
    squares: FloatArray | WeightStrata | None = None,
    fitting: FloatArray | None = None,
    fitted: Problem | None = None,
) -> FloatArray:
    """Where each choice is no longer among the contenders, (len(moves),); infinite where it stays.

    Beyond that point the choice clearly costs more than the system that is then the cheapest of
    those it is compared with, by the rule of `contenders`; or clearly more than a blind decision,
    by the interval of that one difference, as a saving is reported. What fitting adds to the
    errors keeps its ratio to the standard errors of sampling. A move without an end is followed for
    20 times the largest cost. With more than 100 systems the critical value is Bonferroni's, which
    does not ask how differences vary together: points lie somewhat farther out.

    Parameters
    ----------
    joint : cases by true class and the decisions of all systems
    moves : the moves to follow
    level : confidence level, such as 0.95
    among : the systems that are compared; a choice that is none of them is compared with them
    blind : further systems, each compared by itself
    reachable, squares, fitting : as in `contenders`
    fitted : the problem at which fitting adds that much; without it, it adds as much at all

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
    _check.shapes(f"{len(joint.models)} {len(joint.decisions)}", reachable=reachable)
    level = _check.level(level)
    points = np.array([np.sign(move.end - move.start) * np.inf for move in moves])
    for stated in (False, True):
        places = [i for i, move in enumerate(moves) if (move.prior is not None) == stated]
        if places:
            some = [moves[i] for i in places]
            noise = squares, fitting, fitted
            race = _Race(joint, some, level, among, blind, reachable, *noise)
            points[places] = race.exits()
    return points


@record
class _Race:
    """The moves of problems that all state a prior, or none of which does."""

    joint: JointCounts
    moves: list[Move]
    level: float
    among: Labels
    blind: Labels
    reachable: BoolArray
    squares: FloatArray | WeightStrata | None
    fitting: FloatArray | None
    fitted: Problem | None

    def exits(self) -> FloatArray:
        """Where each choice leaves: a rough search, then one with the critical values found there.

        Critical values hardly change along a move but take most of the time. Where they cannot
        change at all, the first search is exact.
        """
        pieces, changing, limits = self._pieces, self._changing, self._rough_limits()
        close = np.where(changing, _ROUGH, _CLOSE)[pieces.move]
        every, again = np.arange(len(pieces.move)), np.flatnonzero(changing[pieces.move])
        bound = partial(self._clearly_more, limits)
        roots = first_roots(bound, every, pieces, pieces.low, close)
        if again.size:
            some, away = np.flatnonzero(changing), np.minimum(self._first_of(roots), self._most)
            limits[some] = self._limits(some, away[some])
            start = np.where(np.isfinite(roots), roots, pieces.low)
            close = np.full(roots.shape, _CLOSE)
            roots[again] = first_roots(bound, again, pieces, start, close)
        crossing, never = self._first_of(roots), np.copysign(np.inf, self._units)
        left = np.isfinite(crossing)
        return np.where(left, self._starts + self._units * np.where(left, crossing, 0.0), never)

    def _first_of(self, roots: FloatArray) -> FloatArray:
        """The least root (B,) among the pieces of each move."""
        first = np.full(len(self.moves), np.inf)
        np.minimum.at(first, self._pieces.move, roots)
        return first

    def _clearly_more(self, limits: FloatArray, some: IntArray, away: FloatArray) -> FloatArray:
        """The lower bound (N,) of what the choice costs more than its rival, on some pieces.

        Each is as far from the start of its move as `away` says. The limits (B,) are squared
        critical values among the systems; one comparison has that of its own degrees of freedom.
        """
        pieces = self._pieces.where(some)
        first, second, limit = pieces.choice, pieces.rival, limits[pieces.move]
        pairs, rows = np.stack([first, second], axis=1), np.arange(len(some))
        costs, prior = self._problems(pieces.move, away)
        support = pair_support(self.joint, self._cells, costs, prior, pairs, self.reachable)
        single = profile_threshold(self.level, support.degrees)
        limit = np.where((pieces.pool > 0) & np.isfinite(limit), single, limit)
        totals = self._totals(costs, prior)
        more = totals[rows, first] - totals[rows, second]
        added = self._added(pairs, costs, prior)
        near = self._slants[:, some]
        negated, self._slants[:, some] = upper_bound_from(near, support.negated(), limit)
        low, _ = widened(more, (-negated, -negated), limit, added + support.between)
        least = support.lowest.sum(axis=-1)
        low = np.where(least > 0, np.maximum(low, least), low)
        # Without this, rounding would make a difference out of equal costs.
        return np.where(np.abs(low) <= _EQUAL * np.abs(totals).max(axis=1), 0.0, low)

    def _totals(self, costs: FloatArray, prior: FloatArray | None) -> FloatArray:
        """What every system costs, (B, J)."""
        sizes = self._counts.sum(axis=-1)[0]  # of classes
        mass = costs / sizes.sum() if prior is None else costs * (prior / sizes)[..., None]
        return np.asarray(np.einsum("jkd,bkd->bj", self._counts, mass))

    def _places(self, names: Iterable[Label]) -> IntArray:
        return np.array([self.joint.models.index(name) for name in names], dtype=np.intp)

    def _rough_limits(self) -> FloatArray:
        """Thresholds (B,) at the start of the first move of each choice."""
        choices = [move.choice for move in self.moves]
        first = [choices.index(choice) for choice in choices]
        places = np.array(sorted(set(first)), dtype=np.intp)
        limits = self._limits(places, np.zeros(places.shape))
        return limits[np.searchsorted(places, first)]

    @property
    def _changing(self) -> BoolArray:
        """Whether the critical value of each move (B,) may change along it."""
        return np.array([not self._is_known(self._names(move)) for move in self.moves])

    def _is_known(self, names: Labels) -> bool:
        """Whether the critical value among systems does not depend on costs and prior.

        Without clusters Bonferroni's does not, of which that of one comparison is one, unless a
        class without cases gets a prior. With clusters the degrees of freedom move.
        """
        plain = self.joint.weights.ndim == 1 and bool(self._counts[0].any(axis=-1).all())
        return plain and not 2 < len(names) <= MOST_RIVALS

    def _names(self, move: Move) -> Labels:
        """The systems among which the choice is, itself included."""
        return tuple(dict.fromkeys((*self.among, move.choice)))

    def _limits(self, places: IntArray, away: FloatArray) -> FloatArray:
        """Thresholds (B',): squared critical values among the systems."""
        costs, prior = self._problems(places, away)
        priors = [None] * len(costs) if prior is None else prior
        every = zip((self.moves[place] for place in places), costs, priors, strict=True)
        return first_quantiles([self._law(*arguments) for arguments in every], 1 - self.level)

    def _law(self, move: Move, costs: FloatArray, prior: FloatArray | None) -> MaxLaw:
        """The law of the largest difference of the choice; no degrees where it is undefined."""
        names, degrees = self._names(move), np.inf
        if not self._is_known(names):
            many = len(names) > MOST_RIVALS
            # Without clusters Bonferroni's value asks only whether a class without cases has a
            # prior, which one system shows; degrees of freedom are those of all differences.
            plain = many and self.joint.weights.ndim == 1
            problem = self._problem._but(_constants=costs, prior=prior)
            if plain:
                errors = cost_errors(self._first, problem)
            else:
                fitting = self._fitting_at(problem)
                errors = cost_errors(self.joint, problem, squares=self.squares, fitting=fitting)
            degrees = 0.0 if np.isnan(errors.costs).any() else errors.degrees
            if degrees > 0 and not many:
                return max_law(errors.among(names), [names.index(move.choice)])
        return bonferroni_law(degrees, len(names) - 1)

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
    def _problem(self) -> Problem:
        """What is at stake, with costs of zero in place of those that move."""
        costs, joint = np.zeros_like(self.moves[0].costs), self.joint
        return Problem(costs, classes=joint.classes, decisions=joint.decisions)

    @cached_property
    def _most(self) -> FloatArray:
        """How far (B,) moves are followed."""
        return np.where(np.isinf([move.end for move in self.moves]), FARTHEST, _NEAR_END)

    @cached_property
    def _pieces(self) -> Pieces:
        """All parts of moves along which a rival of the choice is the cheapest of its pool."""
        here, later = (self._problems(self._every, np.full(len(self.moves), x)) for x in (0, 1))
        totals = self._totals(*here)
        slopes = self._totals(*later) - totals
        parts = []
        for index, names in enumerate((self.among, self.blind)):
            if names:
                pool = self._places(names)
                move, rival, low, high = envelopes(totals[:, pool], slopes[:, pool])
                rival, choice = pool[rival], self._choices[move]
                gain = slopes[move, choice] - slopes[move, rival]
                high = np.minimum(high, self._most[move])
                part = Pieces(move, np.full(move.shape, index), choice, rival, low, high, gain)
                parts.append(part.where((rival != choice) & (low < high)))
        return Pieces(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))

    @cached_property
    def _slants(self) -> FloatArray:
        """The slants that the last search on each piece found, (R, N): the next starts there."""
        strata = len(self.joint.classes)
        if self._priors is None:
            by_weight = known_strata(self._cells)
            strata = 1 if by_weight is None else len(by_weight.rows)
        return np.full((strata, len(self._pieces.move)), np.nan)

    @cached_property
    def _cells(self) -> Cells:
        scheme = Clusters() if self.joint.weights.ndim == 2 else None
        return sampled_cells(self.joint, self.squares, scheme)

    def _added(self, pairs: IntArray, costs: FloatArray, prior: FloatArray | None) -> FloatArray:
        """What fitting adds to the variances (N,) of the differences of pairs (N, 2)."""
        if self.fitting is None:
            return np.zeros(len(pairs))
        factor = self._factors(self._counts[pairs], costs[:, None], prior, pairs)
        factor[:, 1] *= -1
        fitting = self.fitting[pairs[:, :, None], pairs[:, None, :]]
        added = np.einsum("ni,nij,nj->n", factor, fitting, factor)
        return np.asarray(np.maximum(added, 0.0))

    def _fitting_at(self, problem: Problem) -> FloatArray | None:
        """What fitting adds to the covariance of all costs under a problem, (J, J)."""
        if self.fitting is None:
            return None
        every = np.arange(len(self._counts))
        factor = self._factors(self._counts, problem.costs, problem.prior, every)
        return np.asarray(self.fitting * np.outer(factor, factor))

    def _factors(
        self, counts: FloatArray, costs: FloatArray, prior: FloatArray | None, places: IntArray
    ) -> FloatArray:
        """How much larger the standard errors of some systems are than where they were fitted."""
        if self.fitted is None:
            return np.ones(counts.shape[:-2])
        now, then = _spread(counts, costs, prior), self._spread_then[places]
        return np.asarray(np.sqrt(now / np.where(then > 0, then, np.inf)))

    @cached_property
    def _spread_then(self) -> FloatArray:
        """Sampling variances (J,) of the costs under the problem at which rules were fitted."""
        assert self.fitted is not None
        return _spread(self._counts, self.fitted.costs, self.fitted.prior)

    @cached_property
    def _first(self) -> JointCounts:
        """The tally of one system, which has the same classes as that of all systems."""
        return self.joint._but(cells=self.joint.cells[:, :2], models=self.joint.models[:1])

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


def _spread(counts: FloatArray, costs: FloatArray, prior: FloatArray | None) -> FloatArray:
    """Sampling variances of mean costs, from counts (…, K, M) of cases that are drawn one by one.

    Only their ratios are used, so that weights and clusters, which change all of them alike, are
    left out.
    """
    axes = (-2, -1) if prior is None else (-1,)
    size = np.maximum(counts.sum(axis=axes, keepdims=True), 1e-300)
    mean = np.sum(counts * costs, axis=axes, keepdims=True) / size
    variance = np.sum(counts * (costs - mean) ** 2, axis=axes, keepdims=True) / size**2
    if prior is None:
        return np.asarray(variance[..., 0, 0])
    shares = prior if prior.ndim == 1 else prior[:, None]
    return np.asarray(np.sum(variance[..., 0] * shares**2, axis=-1))
