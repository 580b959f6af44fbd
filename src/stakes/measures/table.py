"""Parts that the measures of counts share: square tables, silent division, the diagonal."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from stakes._check import BoolArray, FloatArray, same_labels
from stakes.errors import InputError
from stakes.tally import Counts

__all__ = ["diagonal", "elsewhere", "least", "off_diagonal", "ratio", "scaled", "square"]


_TIE = 1e-12  # relative to the largest value: what rounding may do to equal ones


def square(counts: Counts) -> FloatArray:
    """Table (..., K, K) of counts whose decisions are the classes; others are refused."""
    if not isinstance(counts, Counts):
        raise InputError(
            f"this measure takes Counts; got {type(counts).__name__}. Wrap a table: Counts(table)."
        )
    if counts.n_classes != counts.n_decisions:
        raise InputError(
            f"counts must have one decision for every class, in the same order; it has "
            f"{counts.n_classes} classes and {counts.n_decisions} decisions. Measure decisions "
            f"that are no class with expected_cost, or leave their columns out."
        )
    same_labels("the classes and the decisions of counts", counts.classes, counts.decisions)
    return counts.values


def scaled(values: FloatArray) -> FloatArray:
    """The table times a power of two that brings its total near one: exact, and products fit."""
    _, exponent = np.frexp(values.sum(axis=(-2, -1), keepdims=True))
    return np.asarray(np.ldexp(values, -exponent))


def ratio(part: npt.ArrayLike, whole: npt.ArrayLike) -> FloatArray:
    """Divide in silence: 0/0 is nan, and x/0 is inf."""
    with np.errstate(divide="ignore", invalid="ignore"):
        quotient: FloatArray = np.divide(part, whole)
    return quotient


def least(values: FloatArray) -> BoolArray:
    """The least along the last axis, with all that rounding alone keeps apart from it.

    nan is never among them.
    """
    known = np.where(np.isnan(values), np.inf, values)
    slack = _TIE * np.max(np.abs(values), axis=-1, keepdims=True, initial=0.0, where=known < np.inf)
    return np.asarray((known <= known.min(axis=-1, keepdims=True) + slack) & (known < np.inf))


def diagonal(values: FloatArray) -> FloatArray:
    """Right decisions of each class, (..., K)."""
    return np.diagonal(values, axis1=-2, axis2=-1)


def off_diagonal(values: FloatArray) -> FloatArray:
    """Wrong decisions, (..., K, K): chosen, not multiplied by zero, so that nan is left out too."""
    return np.where(np.eye(values.shape[-1], dtype=bool), 0.0, values)


def elsewhere(values: FloatArray) -> FloatArray:
    """Along the last axis the sum of all other entries, (..., K), summed and never subtracted.

    What is empty is then exactly zero, fractional weights or not.
    """
    if values.shape[-1] == 2:  # the same as below, without a product of tiny matrices
        return values[..., ::-1]
    return np.asarray(values @ (1 - np.eye(values.shape[-1])))
