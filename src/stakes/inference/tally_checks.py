"""Checks that inference makes of a tally: that it is one, and that its cases can be resampled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from stakes import _check
from stakes._check import FloatArray, Numbers
from stakes.errors import InputError
from stakes.problem import Problem
from stakes.tally import CellTally, JointCounts, Tally

T = TypeVar("T", bound=Tally)
Measure = Callable[[T], Numbers]


def checked_tally(tally: T) -> T:
    """The tally; anything else is refused."""
    if not isinstance(tally, Tally):
        raise InputError(
            f"tally must be Counts, JointCounts, ScoreTable, LossMoments or JointScores; got "
            f"{type(tally).__name__}. Tally the rows first, as Counts.from_decisions does."
        )
    return tally


def refuse_other_labels(joint: JointCounts, problem: Problem) -> None:
    """Refuse what is not joint counts and a problem with the same classes and decisions."""
    _check.require("joint", joint, JointCounts)
    _check.require("problem", problem, Problem)
    _check.same_names("joint and problem", joint, problem)


def cells_of(tally: Tally) -> Any:
    """The same tally, if its cases can be resampled; a tally of sums of losses is refused."""
    checked_tally(tally)
    if not isinstance(tally, CellTally):
        raise InputError(
            "tally must hold cases to be resampled; LossMoments hold sums of losses. Read "
            "them with clusters=, or take standard errors from compare_losses."
        )
    return tally


def cluster_count(tally: Tally) -> int:
    """How many clusters a tally holds; fewer than two are refused."""
    count = checked_tally(tally).n_clusters
    if count < 2:
        raise InputError(
            f"tally must hold at least two clusters; its leading axes are {tally.leading}. Make "
            f"it with clusters=, the label of each case's cluster."
        )
    return count


_MOST_CASES = 2.0**53  # from here on a double cannot count single cases
_REMEDY = (
    "make the tally with clusters=, or take weights for numbers of "
    "cases with BayesianBootstrap(). To reweight the classes, resample the tally as it is and call "
    "with_prior inside the measure."
)


def refuse_clusters(tally: Tally) -> None:
    """Refuse scores that name clusters where their cases would be taken for independent."""
    if tally.names_clusters:
        raise InputError(
            "scores must not name clusters here; their cases came together and would be taken for "
            "independent. Resample the clusters, compare(…, scheme=Clusters()); to take cases as "
            "independent all the same, read the scores without clusters=."
        )


def refuse_weights(tally: Tally, remedy: str = _REMEDY) -> None:
    """Refuse a tally of sampling weights where its numbers would be taken for cases."""
    if tally.weighted:
        raise InputError(
            f"tally must hold whole cases; it was made with weights=, which say how many cases "
            f"each row stands for, not how many there were: {remedy} If they say how often each "
            f"row occurred, pass them as copies=."
        )


def whole_cells(tally: Tally, remedy: str = _REMEDY) -> FloatArray:
    """Cells (…, C) that are numbers of cases; weights and clusters are refused."""
    cells: FloatArray = cells_of(tally).cell_weights
    refuse_clusters(tally)
    bad = np.flatnonzero(~(cells == np.floor(cells)))  # nan is bad too
    if bad.size:
        raise InputError(
            f"tally must hold whole cases; {bad.size} of its {cells.size} weights are fractional, "
            f"the first being {cells.flat[bad[0]]:g}. Fractional weights do not say how many cases "
            f"there were: {remedy}"
        )
    refuse_weights(tally, remedy)
    if cells.sum(axis=-1).max(initial=0.0) >= _MOST_CASES:
        raise InputError(
            f"tally must hold fewer than {_MOST_CASES:g} cases, beyond which single cases are not "
            f"counted exactly; it holds {cells.sum(axis=-1).max():g}. Scale the weights down."
        )
    return cells


def each(measure: Callable[[T], object]) -> Measure[T]:
    """Turn a measure of single tallies into one that accepts a leading axis, by a plain loop.

    For what cannot be computed for many tables at once, such as hulls.

    Parameters
    ----------
    measure : a function of a single tally, without leading axes

    Returns
    -------
    a measure that carries leading axes

    Examples
    --------
    >>> from stakes import Counts
    >>> corner = each(lambda counts: counts.values[0, 0])
    >>> corner(Counts([[[1, 2], [3, 4]], [[5, 6], [7, 8]]]))
    array([1., 5.])
    """

    def looped(tally: T) -> FloatArray:
        leading = checked_tally(tally).leading
        values = [numbers(measure(tally[index])) for index in np.ndindex(*leading)]
        shapes = {value.shape for value in values}
        if len(shapes) > 1:
            raise InputError(
                f"measure must give one shape for every tally; it gave {sorted(shapes)[:3]}. Fill "
                f"what is undefined with nan."
            )
        return np.asarray(values).reshape((*leading, *values[0].shape))

    return looped


def numbers(value: object, name: str = "measure") -> FloatArray:
    """What a measure gave, as an array of floats; anything else is refused."""
    remedy = "Let it return an array whose first axis is that of the replicates."
    return _check.returned(name, value, remedy)


def carried(values: object, size: int, shape: tuple[int, ...]) -> FloatArray:
    """Values (size, …) of a measure; refused unless it carried the axis of replicates through."""
    block = numbers(values)
    if block.shape != (size, *shape):
        raise InputError(
            f"measure must carry leading axes through; of one tally it made an array of shape "
            f"{shape}, of {size} tallies one of shape {block.shape}. Wrap a measure of single "
            f"tallies: each(measure)."
        )
    return block
