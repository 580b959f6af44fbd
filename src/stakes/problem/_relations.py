"""What two problems must share to be compared, and when their costs agree."""

from __future__ import annotations

import numpy as np

from stakes._check import FloatArray, require
from stakes.errors import InputError
from stakes.problem._limit import Limit


def unit_name(unit: object) -> str | None:
    """What costs are counted in, if that is stated."""
    if unit is None:
        return None
    require("unit", unit, str, "It names what costs are counted in, such as 'EUR'.")
    name = str(unit)
    if any("\ud800" <= character <= "\udfff" for character in name):
        raise InputError(
            f"unit must be text that can be written as UTF-8; {name!r} holds half of a character. "
            f"Read it again with the right encoding.",
            argument="unit",
        )
    return name


def same_prior(ours: FloatArray | None, theirs: FloatArray | None) -> None:
    """Refuse stated priors that differ."""
    if ours is None and theirs is None:
        return
    if ours is None or theirs is None or not np.allclose(ours, theirs, rtol=0, atol=1e-12):
        raise InputError(
            "problems must state one prior, or all none; two of them differ. "
            "Decide on the deployment prior first, with with_prior."
        )


def same_limits(ours: tuple[Limit, ...], theirs: tuple[Limit, ...]) -> None:
    """Refuse limits that differ."""
    if set(ours) != set(theirs):
        raise InputError(
            "problems must have the same limits, or none; two of them differ. "
            "Decide on the limits first, with with_limits."
        )


def proportional(
    ours: FloatArray, theirs: FloatArray, *, noise: tuple[FloatArray, FloatArray]
) -> bool:
    """Whether one is a positive multiple of the other, entry by entry and to rounding.

    `noise` bounds what rounding may have done to the entries of each.
    """
    largest = np.unravel_index(np.argmax(np.abs(ours)), ours.shape)
    if ours[largest] == 0 or theirs[largest] == 0:
        return bool(not ours.any() and not theirs.any())
    factor = theirs[largest] / ours[largest]
    slack = 1e-9 * np.abs(theirs) + noise[1] + abs(factor) * noise[0]
    return bool(factor > 0 and (np.abs(factor * ours - theirs) <= slack).all())


def noise(costs: FloatArray) -> FloatArray:
    """What rounding may do to differences within each class, (K, 1)."""
    return np.asarray(8 * np.finfo(np.float64).eps * np.abs(costs).max(axis=1, keepdims=True))
