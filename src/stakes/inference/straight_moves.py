"""Where nearly concave bounds first exceed zero, on many pieces of straight moves at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from stakes._check import BoolArray, FloatArray, IntArray

_STEPS = 60  # the secant method needs about five, bisection thirty
_SHORTEST = 1e-9  # absolute width of the bracket of a root near zero


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

    Beyond each piece a line of smaller slope takes over, the steepest where several cross.
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
        steepest = np.argmax(np.where(cross <= high[:, None], fall, -np.inf), axis=1)
        more = np.isfinite(high)
        row, line, low = row[more], steepest[more], high[more]
    rows, lines, lows, highs = (np.concatenate(column) for column in zip(*pieces, strict=True))
    return rows, lines, lows, highs


def first_roots(
    bound: Callable[[IntArray, FloatArray], FloatArray],
    rows: IntArray,
    pieces: Pieces,
    start: FloatArray,
    close: FloatArray,
) -> FloatArray:
    """Where bounds first exceed zero on some pieces, in these rows; inf where they do not.

    A lower bound of a mean whose values are linear in the distance is concave in it, except for
    pseudo-cases and effective numbers of cases, which hardly change. So secants from the left stay
    on the left and converge fast. Each aims a little too far, so that the last two points enclose
    the root; where bounds are not quite concave, this bracket keeps the search safe.
    """
    roots = np.full(len(pieces.low), np.inf)
    searched, beyond, before = rows, roots[rows], np.full(rows.shape, np.nan)
    now, near, end, slope = (each[rows] for each in (start, pieces.low, pieces.high, pieces.gain))
    last, width = before, close[rows]
    for _ in range(_STEPS if rows.size else 0):
        value = bound(rows, now)
        reached = value > 0
        near, beyond = np.where(reached, near, now), np.where(reached, now, beyond)
        slope = np.where(np.isnan(before), slope, (value - before) / (now - last))
        rising = np.where(slope > 0, slope, np.nan)
        root = np.fmax(np.fmin(now - value / rising, beyond), near)
        short = np.maximum(width * now, _SHORTEST)
        aimed = root + np.where(reached, -short, short)
        inside = (slope > 0) & (aimed > near) & (aimed < beyond)
        last, before = now, value
        now = np.minimum(np.where(inside, aimed, (near + beyond) / 2), end)
        enclosed = beyond - near <= 3 * short
        roots[rows[enclosed]] = root[enclosed]
        going = ~(enclosed | ~reached & (last >= end))
        if not going.any():
            break
        rows, width = rows[going], width[going]
        numbers = near, beyond, now, end, slope, last, before
        near, beyond, now, end, slope, last, before = (number[going] for number in numbers)
    return roots[searched]
