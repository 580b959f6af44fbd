r"""The exact cost of Bayes decisions that are made anew while a cost or the prior varies.

Along a straight line of problems with the position x, every decision about a case with posteriors p
has an expected cost that is linear in x. Each score therefore changes its decision at a few
positions, the corners of a lower envelope of lines. What the decisions cost on the tallied cases is
linear in x between these positions, and jumps at them.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Any

import numpy as np

from stakes import _check
from stakes._arithmetic import ratio
from stakes._check import FloatArray, IntArray
from stakes._value import Value, record
from stakes.curve import Curve
from stakes.errors import InputError
from stakes.regions.lines import StakeLine
from stakes.tally import ScoreTable


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
