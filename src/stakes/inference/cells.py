"""Tallies seen as rows of cells, so that one way of redrawing serves all of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar, cast

import numpy as np

from stakes._check import FloatArray, IntArray
from stakes.errors import InputError
from stakes.inference.joint_scores import JointScores
from stakes.tally import Counts, JointCounts, LossMoments, ScoreTable

__all__ = [
    "Measure",
    "T",
    "Tally",
    "cells_of",
    "classes_of_cells",
    "each",
    "leading_axes",
    "numbers",
    "refuse_units",
    "whole_cells",
    "with_cells",
]

Tally = Counts | JointCounts | ScoreTable | LossMoments | JointScores
T = TypeVar("T", bound=Tally)
Measure = Callable[[T], FloatArray]


def cells_of(tally: Tally) -> FloatArray:
    """All that adds up in a tally, as (…, C), class after class; leading axes stay."""
    leading = leading_axes(tally)
    if isinstance(tally, Counts):
        return tally.values.reshape(*leading, -1)
    if isinstance(tally, ScoreTable):  # each class in one piece: measures read one at a time
        return np.swapaxes(tally.weights, -1, -2).reshape(*leading, -1)
    if isinstance(tally, LossMoments):
        parts = (tally.weight, tally.sums, tally.products)
        return np.concatenate([part.reshape(*leading, -1) for part in parts], axis=-1)
    return tally.weights


def leading_axes(tally: Tally) -> tuple[int, ...]:
    """The sizes of the leading axes; what is no tally is refused."""
    if isinstance(tally, Counts):
        return tally.values.shape[:-2]
    if isinstance(tally, ScoreTable):
        return tally.weights.shape[:-2]
    if isinstance(tally, LossMoments):
        return tally.weight.shape[:-1]
    if isinstance(tally, JointCounts | JointScores):
        return tally.weights.shape[:-1]
    raise InputError(
        f"tally must be Counts, JointCounts, ScoreTable, LossMoments or JointScores; got "
        f"{type(tally).__name__}. Tally the rows first, as Counts.from_decisions does."
    )


def with_cells(tally: T, cells: FloatArray) -> T:
    """The same tally with other cells (…, C), and with their leading axes."""
    leading = cells.shape[:-1]
    if isinstance(tally, Counts):
        values = cells.reshape(*leading, *tally.values.shape[-2:])
        return cast(
            T,
            Counts._trusted(
                values=values, classes=tally.classes, decisions=tally.decisions, groups=None
            ),
        )
    if isinstance(tally, ScoreTable):
        columns = cells.reshape(*leading, 2, tally.scores.size)
        return cast(T, tally.with_weights(np.swapaxes(columns, -1, -2)))
    if isinstance(tally, LossMoments):
        return cast(T, _moments_with(tally, cells))
    return cast(T, tally.with_weights(cells))


def _moments_with(tally: LossMoments, cells: FloatArray) -> LossMoments:
    leading = cells.shape[:-1]
    n_classes, n_losses = tally.sums.shape[-2:]
    ends = np.cumsum([n_classes, n_classes * n_losses])
    weight, sums, products = np.split(cells, ends, axis=-1)
    return LossMoments._trusted(
        weight=weight,
        sums=sums.reshape(*leading, n_classes, n_losses),
        products=products.reshape(*leading, n_classes, n_losses, n_losses),
        names=tally.names,
        classes=tally.classes,
        groups=None,
    )


def classes_of_cells(tally: Tally) -> IntArray:
    """The position (C,) of the class that each cell belongs to, in increasing order."""
    leading_axes(tally)  # refuses what is no tally
    if isinstance(tally, Counts):
        return np.repeat(np.arange(tally.n_classes), tally.n_decisions)
    if isinstance(tally, ScoreTable):
        return np.repeat(np.arange(2), tally.scores.size)
    if isinstance(tally, LossMoments):
        raise InputError(
            "tally must hold cases to be redrawn; LossMoments hold sums of losses. Give it a unit "
            "axis with by= and use Units(), or take standard errors from compare_losses."
        )
    return tally.cells[:, 0]


_REMEDY = (
    "give the tally a unit axis with by= and use Units(), or take weights for numbers of cases "
    "with BayesianBootstrap(). To reweight the classes, redraw the tally as it is and call "
    "with_prior inside the measure."
)


def refuse_units(tally: Tally) -> None:
    """Refuse scores that name units where their cases would be taken for independent."""
    if isinstance(tally, JointScores) and tally.units is not None:
        raise InputError(
            "scores must not name units here; their cases came together and would be taken for "
            "independent. Redraw the units, compare(…, scheme=Units()); to take cases as "
            "independent all the same, read the scores without units=."
        )


def whole_cells(tally: Tally, remedy: str = _REMEDY) -> FloatArray:
    """Cells (…, C) that are numbers of cases; fractional weights are refused, and so are units."""
    classes_of_cells(tally)
    refuse_units(tally)
    cells = cells_of(tally)
    bad = np.flatnonzero(~(cells == np.floor(cells)))  # nan is bad too
    if bad.size:
        raise InputError(
            f"tally must hold whole cases; {bad.size} of its {cells.size} weights are fractional, "
            f"the first being {cells.flat[bad[0]]:g}. Fractional weights do not say how many cases "
            f"there were: {remedy}"
        )
    return cells


def each(measure: Callable[[T], object]) -> Measure[T]:
    """A measure of single tallies as one that carries a leading axis, by a plain loop.

    For what cannot be computed for many tables at once, such as hulls.

    >>> whole = each(lambda counts: counts.values[0, 0])
    >>> whole(Counts([[[1, 2], [3, 4]], [[5, 6], [7, 8]]]))
    array([1., 5.])
    """

    def looped(tally: T) -> FloatArray:
        leading = leading_axes(tally)
        values = [numbers(measure(cast(T, tally[index]))) for index in np.ndindex(*leading)]
        shapes = {value.shape for value in values}
        if len(shapes) > 1:
            raise InputError(
                f"measure must give one shape for every tally; it gave {sorted(shapes)[:3]}. Fill "
                f"what is undefined with nan."
            )
        return np.asarray(values).reshape((*leading, *values[0].shape))

    return looped


def numbers(value: object) -> FloatArray:
    """What a measure gave, as an array of floats; anything else is refused."""
    try:
        found = np.asarray(value)
        if found.dtype.kind in "biuf":
            return found.astype(np.float64, copy=False)
    except ValueError:  # lists of several lengths
        pass
    raise InputError(
        f"measure must give a number or an array of numbers; it gave {type(value).__name__}. "
        f"Let it return an array whose first axis is that of the redraws."
    )
