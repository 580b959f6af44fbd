"""Units: cases that were drawn together, along an axis of the tally or named beside its tuples."""

from __future__ import annotations

from typing import cast

from stakes._check import FloatArray
from stakes.errors import InputError
from stakes.inference.cells import T, Tally, cells_of, leading_axes, with_cells
from stakes.inference.joint_scores import JointScores

__all__ = ["n_units", "sum_units"]


def n_units(tally: Tally) -> int:
    """How many units a tally holds; less than two are refused."""
    if isinstance(tally, JointScores) and tally.units is not None:
        count = int(tally.units.max()) + 1
    else:
        count = (*leading_axes(tally), 0)[0]
    if count < 2:
        raise InputError(
            f"tally must hold at least two units; its leading axes are {leading_axes(tally)}. Make "
            f"it with by=, the label of each case's unit, or JointScores with units=."
        )
    return count


def sum_units(tally: T, times: FloatArray) -> T:
    """The tallies (D, …) of the units together, unit u occurring ``times[d, u]`` times."""
    if isinstance(tally, JointScores) and tally.units is not None:
        own = times[:, tally.units].reshape(len(times), *(1,) * (tally.weights.ndim - 1), -1)
        return cast(T, tally.with_weights(own * tally.weights))
    rows = cells_of(tally)
    sums = times @ rows.reshape(len(rows), -1)
    return with_cells(tally, sums.reshape(len(times), *rows.shape[1:]))
