"""Where a system stops being a contender while a cost or a prior moves.

The same comparison as in `contenders`, under other problems: profile likelihood of the difference
to the system that is then the cheapest, at the critical value of all comparisons. Many moves are
followed at once, since most of the work of one is bookkeeping.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from stakes import _check
from stakes._check import BoolArray, FloatArray, IntArray, Label, Labels
from stakes.inference.likelihood import ratio_below
from stakes.inference.profile import pair_support, profile_threshold
from stakes.inference.sampling import added_variances, cost_errors
from stakes.inference.schemes import Clusters
from stakes.inference.selection import max_law
from stakes.problem import Problem
from stakes.tally import JointCounts

_STEPS = 40  # regula falsi needs about eight
_CLOSE, _ROUGH = 1e-6, 1e-2  # of the logarithm of a ratio to its threshold
_FAR = 1 - 1e-9  # as near as a move comes to its end


@dataclass(frozen=True, eq=False)
class Move:
    """A problem whose costs and prior move along a straight line, and the system that is followed.

    Attributes
    ----------
    choice : the system, which is among the cheapest at the start
    costs, cost_slope : (K, M) at zero, and how they change per unit
    prior, prior_slope : (K,) the same; None where no prior is stated, and where it stays
    start, end : from where to where; the end may be infinite
    """

    choice: Label
    costs: FloatArray
    cost_slope: FloatArray
    prior: FloatArray | None
    prior_slope: FloatArray | None
    start: float
    end: float

    def prior_at(self, point: float) -> FloatArray:
        """The prior at a point, where one is stated."""
        assert self.prior is not None
        slope = 0.0 if self.prior_slope is None else self.prior_slope
        return np.asarray(self.prior + point * slope)

    def at(self, share: float) -> float:
        """The point that is a share of the way from the start to the end."""
        if np.isfinite(self.end):
            return self.start + (self.end - self.start) * share
        size = float(max(np.abs(self.costs).max(), abs(self.start))) or 1.0
        return self.start + float(np.sign(self.end)) * size * share / (1 - share)


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
    errors is taken as it is now.

    Parameters
    ----------
    among : the systems that are compared; a choice that is none of them is compared with them
    blind : further systems, each compared by itself
    reachable, squares, fitting : as in `contenders`
    """
    level = _check.level(level)
    points = np.array([np.sign(move.end - move.start) * np.inf for move in moves])
    for stated in (False, True):
        places = [i for i, move in enumerate(moves) if (move.prior is not None) == stated]
        if places:
            design = {"squares": squares, "fitting": fitting}
            race = _Race(joint, [moves[i] for i in places], level, among, blind, reachable, design)
            points[places] = race.ends()
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

    def ends(self) -> FloatArray:
        """Where each choice leaves: roughly, and then at the critical values of that place."""
        start, end = np.zeros(len(self.moves)), np.full(len(self.moves), _FAR)
        share = self._share(self._rough_limits(), start, end, _ROUGH)
        limits = self._limits(np.minimum(share, _FAR))
        share = self._share(limits, 0.9 * share, np.minimum(1.1 * share, _FAR), _CLOSE)
        return np.array(
            [
                move.at(own) if own < _FAR else np.sign(move.end - move.start) * np.inf
                for move, own in zip(self.moves, share.tolist(), strict=True)
            ]
        )

    def _share(
        self, limits: FloatArray, low: FloatArray, high: FloatArray, close: float
    ) -> FloatArray:
        """The share of the way at which a ratio reaches its limit; one where none does.

        By regula falsi between two guesses, or from the start to the end where they are off.
        """
        below, above = self._excess(low, limits), self._excess(high, limits)
        if ((below >= 0) | (above <= 0) & (high < _FAR)).any():
            low, high = np.zeros(low.shape), np.full(high.shape, _FAR)
            below, above = self._excess(low, limits), self._excess(high, limits)
        # Blind decisions under a stated prior cost what they cost: the start is the end.
        never, known, side = ~(above > 0), below >= 0, np.zeros(low.shape)
        still = never | known
        for _ in range(_STEPS):
            middle = (low * above - high * below) / np.where(still, 1.0, above - below)
            middle = np.where(still, _FAR, middle)
            now = self._excess(middle, limits)
            short = now < 0
            # An end that stays twice is pulled in by half of its value (Illinois).
            below = np.where(short, now, np.where(side < 0, below / 2, below))
            above = np.where(short, np.where(side > 0, above / 2, above), now)
            low, high = np.where(short, middle, low), np.where(short, high, middle)
            side = np.where(short, 1.0, -1.0)
            if (still | (np.abs(now) < close) | (high - low < _CLOSE)).all():
                break
        return np.where(known, 0.0, np.where(never, 1.0, middle))

    def _excess(self, share: FloatArray, limits: FloatArray) -> FloatArray:
        """The logarithm (B,) of the larger ratio over its limit (2, B), between −1 and 1."""
        costs, prior = self._problems(share)
        sizes = self._counts.sum(axis=-1)[0]  # of classes
        mass = costs / sizes.sum() if prior is None else costs * (prior / sizes)[..., None]
        totals = np.einsum("jkd,bkd->bj", self._counts, mass)
        first = self._places([move.choice for move in self.moves])
        pools = [self._places(pool) for pool in (self.among, self.blind) if pool]
        second = np.concatenate([pool[np.argmin(totals[:, pool], axis=1)] for pool in pools])
        pairs = np.stack([np.tile(first, len(pools)), second], axis=1)
        times = len(pools)
        repeated = np.tile(totals, (times, 1)), np.tile(costs, (times, 1, 1))
        priors = None if prior is None else np.tile(prior, (times, 1))
        ratio = self._ratio(pairs, *repeated, priors)
        known = np.isfinite(limits[:times])  # else one cluster says nothing about others
        shown = np.where(known, ratio.reshape(times, -1), 0.0) / np.where(
            known, limits[:times], 1.0
        )
        worst = shown.max(axis=0)
        with np.errstate(divide="ignore"):
            return np.asarray(np.clip(np.log(np.maximum(worst, 0.0)), -1.0, 1.0))

    def _ratio(
        self, pairs: IntArray, totals: FloatArray, costs: FloatArray, prior: FloatArray | None
    ) -> FloatArray:
        """The likelihood ratio (P,) of no difference; zero where the first is no dearer."""
        squares, fitting = self.design["squares"], self.design["fitting"]
        scheme = Clusters() if self.joint.weights.ndim == 2 else None
        support = pair_support(
            self.joint, costs, prior, pairs, self.reachable, squares=squares, scheme=scheme
        )
        first, second = pairs.T
        rows = np.arange(len(pairs))
        more = totals[rows, first] - totals[rows, second]
        none = np.zeros(more.shape)
        added = none if fitting is None else added_variances(fitting)[first, second]
        return np.asarray(np.where(more > 0, ratio_below(support, none, more, added), 0.0))

    def _places(self, names: Iterable[Label]) -> IntArray:
        return np.array([self.joint.models.index(name) for name in names], dtype=np.intp)

    def _rough_limits(self) -> FloatArray:
        """The same at the start of the first move of each choice."""
        costs, prior = self._problems(np.zeros(len(self.moves)))
        known: dict[Label, list[float]] = {}
        for place, move in enumerate(self.moves):
            if move.choice not in known:
                own = None if prior is None else prior[place]
                known[move.choice] = self._limit(move, costs[place], own)
        return np.array([known[move.choice] for move in self.moves]).T

    def _limits(self, share: FloatArray) -> FloatArray:
        """Thresholds (2, B): the critical value among the systems, and that of one comparison."""
        costs, prior = self._problems(share)
        priors = [None] * len(costs) if prior is None else prior
        every = zip(self.moves, costs, priors, strict=True)
        return np.array([self._limit(*one) for one in every]).T

    def _limit(self, move: Move, costs: FloatArray, prior: FloatArray | None) -> list[float]:
        joint = self.joint
        problem = Problem(costs, classes=joint.classes, decisions=joint.decisions, prior=prior)
        errors = cost_errors(joint, problem, **self.design)
        if errors.degrees == 0 or np.isnan(errors.costs).any():
            return [np.inf, np.inf]
        names = tuple(dict.fromkeys((*self.among, move.choice)))
        law = max_law(errors.among(names), [names.index(move.choice)])
        alone = profile_threshold(self.level, np.asarray(errors.degrees))
        return [float(law.quantile(1 - self.level)[0]), float(alone)]

    def _problems(self, share: FloatArray) -> tuple[FloatArray, FloatArray | None]:
        """Costs (B, K, M) and priors (B, K) a share of the way."""
        points = [move.at(own) for move, own in zip(self.moves, share.tolist(), strict=True)]
        along = list(zip(self.moves, points, strict=True))
        costs = np.stack([move.costs + x * move.cost_slope for move, x in along])
        if self.moves[0].prior is None:
            return costs, None
        prior = np.stack([move.prior_at(x) for move, x in along])
        return costs, np.clip(prior, 0.0, 1.0)

    @cached_property
    def _counts(self) -> FloatArray:
        """Counts (J, K, M) of all systems, clusters together."""
        values = np.stack([self.joint.model(name).values for name in self.joint.models], axis=-3)
        return values if values.ndim == 3 else values.sum(axis=0)
