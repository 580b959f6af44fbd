"""Where nearly concave bounds first exceed zero, on many pieces of straight moves at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from stakes._check import BoolArray, FloatArray, IntArray

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
