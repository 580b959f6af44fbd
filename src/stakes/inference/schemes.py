"""How a sample is redrawn: what could have come out instead of the tally at hand.

A scheme says what was drawn at random: the cases, the cases of each class, or units that hold
several cases each. All of them redraw whole tallies; rows are never touched.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from stakes import _check
from stakes._check import FloatArray, IntArray
from stakes._value import Value
from stakes.errors import InputError
from stakes.inference.cells import T, Tally, cells_of, classes_of_cells, whole_cells, with_cells
from stakes.inference.estimate import IntervalType
from stakes.inference.intervals import ExpandedPercentile, Percentile
from stakes.problem import Problem

__all__ = [
    "AllCases",
    "BayesianBootstrap",
    "PoissonWeights",
    "Scheme",
    "Units",
    "WithinClasses",
    "redraws",
    "scheme_of",
]

D = TypeVar("D")
Drawer = Callable[[int, np.random.Generator], D]

# Drawing one case by its index costs about a twentieth of one binomial draw for a cell.
_CASES_PER_CELL = 16
_INDICES = 1 << 16  # drawn at a time, so that they stay in the cache


class Scheme(Value, ABC):
    """What was drawn at random; subclasses are frozen dataclasses."""

    def whole(self, tally: T) -> T:
        """The tally of all cases, whose measure is the value of the estimate."""
        return tally

    def strata(self, tally: Tally) -> IntArray:
        """For each cell (C,) the number of the sample that it was drawn in."""
        return np.zeros(cells_of(tally).shape[-1], dtype=np.intp)

    def intervals(self, tally: Tally) -> IntervalType:
        """The type of intervals that `bootstrap` reads off such redraws."""
        return Percentile()

    def numbers_per_redraw(self, tally: Tally) -> int:
        """How many numbers one redraw needs, which decides how many fit into a block."""
        return cells_of(tally).size

    @abstractmethod
    def drawer(self, tally: T) -> Drawer[T]:
        """What redraws this tally a number of times; the redraws are a new leading axis."""


@dataclass(frozen=True, eq=False)
class AllCases(Scheme):
    """All cases are one random sample; class sizes vary from redraw to redraw.

    A redraw may lose a rare class; where a measure needs it, that replicate is nan.
    """

    def drawer(self, tally: T) -> Drawer[T]:
        """Multinomial draws over all cells."""
        draw = _multinomial(whole_cells(tally))
        return lambda size, rng: with_cells(tally, draw(size, rng))


@dataclass(frozen=True, eq=False)
class WithinClasses(Scheme):
    """The cases of each class are a sample of their own; class sizes stay as they are.

    The scheme for problems that state a prior: no redraw loses a class.
    """

    def strata(self, tally: Tally) -> IntArray:  # noqa: D102
        return classes_of_cells(tally)

    def drawer(self, tally: T) -> Drawer[T]:
        """Multinomial draws over the cells of each class."""
        cells, owner = whole_cells(tally), classes_of_cells(tally)
        places = [np.flatnonzero(owner == k) for k in np.unique(owner)]
        draws = [_multinomial(cells[..., own]) for own in places]

        def draw(size: int, rng: np.random.Generator) -> T:
            drawn = np.empty((size, *cells.shape))
            for own, of_class in zip(places, draws, strict=True):
                drawn[..., own] = of_class(size, rng)
            return with_cells(tally, drawn)

        return draw


@dataclass(frozen=True, eq=False)
class PoissonWeights(Scheme):
    """Every case occurs a Poisson(1) number of times, whatever the others do.

    For streams: redraws of chunks add up to redraws of the whole, so that `redraws` of each chunk
    can be kept as a running sum (Hanley and MacGibbon 2006; Chamandy et al. 2012). The number of
    cases varies too, which measures that divide by it do not feel.
    """

    def drawer(self, tally: T) -> Drawer[T]:
        """Poisson draws, cell by cell."""
        cells = whole_cells(tally)

        def draw(size: int, rng: np.random.Generator) -> T:
            drawn = rng.poisson(cells, size=(size, *cells.shape))
            return with_cells(tally, drawn.astype(np.float64))

        return draw


@dataclass(frozen=True, eq=False)
class BayesianBootstrap(Scheme):
    """The shares of the cases have the posterior of Rubin 1981: Dirichlet with the weights.

    Takes fractional weights, and then reads a weight w as w cases. No cell with cases ever
    becomes empty.
    """

    def drawer(self, tally: T) -> Drawer[T]:
        """Gamma draws, cell by cell, scaled to the total weight."""
        classes_of_cells(tally)  # refuses tallies that hold no cases
        cells = cells_of(tally)
        total = cells.sum(axis=-1, keepdims=True)

        def draw(size: int, rng: np.random.Generator) -> T:
            drawn = rng.standard_gamma(cells, size=(size, *cells.shape))
            mass = drawn.sum(axis=-1, keepdims=True)
            scale = np.divide(total, mass, out=mass, where=mass > 0)
            return with_cells(tally, drawn * scale)

        return draw


@dataclass(frozen=True, eq=False)
class Units(Scheme):
    """Whole units (patients, sites, days) were drawn; their cases stay together.

    The first leading axis of the tally is the unit: make it with ``by=``. Weights may be
    fractional. Redraws of few units vary too little; intervals are widened for it, see
    `ExpandedPercentile`, which suffices for about twenty units and more.
    """

    def whole(self, tally: T) -> T:
        """The tally summed over its units."""
        return with_cells(tally, _unit_rows(tally).sum(axis=0))

    def intervals(self, tally: Tally) -> IntervalType:
        """Expanded, since units are often few."""
        return ExpandedPercentile(len(_unit_rows(tally)))

    def numbers_per_redraw(self, tally: Tally) -> int:  # noqa: D102
        rows = _unit_rows(tally)
        return len(rows) + int(rows[0].size)

    def drawer(self, tally: T) -> Drawer[T]:
        """Multinomial numbers of each unit, times the tallies of the units."""
        rows = _unit_rows(tally)
        flat, times = rows.reshape(len(rows), -1), _multinomial(np.ones(len(rows)))

        def draw(size: int, rng: np.random.Generator) -> T:
            drawn = times(size, rng) @ flat
            return with_cells(tally, drawn.reshape(size, *rows.shape[1:]))

        return draw


def scheme_of(problem: Problem) -> AllCases | WithinClasses:
    """The scheme for single cases: within classes when the problem states a prior.

    >>> scheme_of(Problem.zero_one(2)), scheme_of(Problem.zero_one(2).with_prior([0.9, 0.1]))
    (AllCases(), WithinClasses())
    """
    return AllCases() if problem.prior is None else WithinClasses()


def redraws(tally: T, scheme: Scheme, *, replicates: int, rng: np.random.Generator) -> T:
    """All redraws at once, as one tally with a leading axis of replicates.

    Holds all of them in memory; `bootstrap` works in blocks. Redraws by `PoissonWeights` of the
    chunks of a stream may be added up.

    Examples
    --------
    >>> from stakes.tally import Counts
    >>> redraws(Counts([[8, 2], [1, 9]]), AllCases(), replicates=3, rng=np.random.default_rng(1))
    Counts of shape (3,) x 2 classes x 2 decisions
    """
    return scheme.drawer(tally)(checked_replicates(replicates), rng)


def checked_replicates(replicates: object) -> int:
    """A number of redraws: at least two, or there is no spread to speak of."""
    count = _check.number("replicates", replicates, low=2)
    if count != int(count):
        raise InputError(f"replicates must be a whole number; got {count:g}. 2000 is usual.")
    return int(count)


def _unit_rows(tally: Tally) -> FloatArray:
    """Cells (U, …, C) of at least two units."""
    cells = cells_of(tally)
    if cells.ndim < 2 or len(cells) < 2:
        raise InputError(
            f"tally must have a leading axis of at least two units; its leading axes are "
            f"{cells.shape[:-1]}. Make it with by=, the label of each case's unit."
        )
    return cells


def _multinomial(cells: FloatArray) -> Drawer[FloatArray]:
    """Draw as many cases as there are, with replacement: (…, C) → (size, …, C)."""
    if cells.ndim > 1:
        return _many_multinomials(cells)
    occupied = np.flatnonzero(cells)
    total = int(cells.sum())
    if 0 < total <= _CASES_PER_CELL * occupied.size:
        return _indices(np.repeat(occupied, cells[occupied].astype(np.intp)), cells.size)
    shares = cells[occupied] / max(total, 1)

    def draw(size: int, rng: np.random.Generator) -> FloatArray:
        drawn = np.zeros((size, cells.size))
        if total:
            drawn[:, occupied] = rng.multinomial(total, shares, size=size)
        return drawn

    return draw


def _indices(owner: IntArray, n_cells: int) -> Drawer[FloatArray]:
    """The same by drawing cases and counting their cells, where there are many cells."""
    n_cases = owner.size
    at_once = max(1, _INDICES // n_cases)

    def draw(size: int, rng: np.random.Generator) -> FloatArray:
        drawn = np.empty((size, n_cells))
        for first in range(0, size, at_once):
            part = drawn[first : first + at_once]
            cells = owner.take(rng.integers(0, n_cases, (len(part), n_cases)))
            cells += n_cells * np.arange(len(part))[:, None]
            part[:] = np.bincount(cells.ravel(), minlength=part.size).reshape(part.shape)
        return drawn

    return draw


def _many_multinomials(cells: FloatArray) -> Drawer[FloatArray]:
    """The same for all leading axes at once."""
    total = cells.sum(axis=-1)
    shares = cells / np.maximum(total, 1)[..., None]
    counts = total.astype(np.int64)

    def draw(size: int, rng: np.random.Generator) -> FloatArray:
        drawn = rng.multinomial(counts, shares, size=(size, *counts.shape))
        return _without_strays(drawn.astype(np.float64), cells)

    return draw


def _without_strays(drawn: FloatArray, cells: FloatArray) -> FloatArray:
    """Move what rounding gave to an empty last cell to the largest cell."""
    stray = np.where(cells > 0, 0.0, drawn)
    if stray.any():
        drawn -= stray
        largest = np.broadcast_to(cells.argmax(axis=-1)[..., None], (*drawn.shape[:-1], 1))
        kept = np.take_along_axis(drawn, largest, axis=-1)
        np.put_along_axis(drawn, largest, kept + stray.sum(axis=-1, keepdims=True), axis=-1)
    return drawn
