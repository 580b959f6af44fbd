"""Distributions over classes: priors and posteriors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

import numpy as np

from stakes._check.kinds import FloatArray, Labels, frozen, listed, refuse_lazy
from stakes._check.labels import FoundLabels, by_label
from stakes._check.numbers import probabilities, reals, refuse, refuse_improbable
from stakes.errors import InputError

_SUM_TOLERANCE_SINGLE = 1e-6  # what rounding does to sums in float32
_SUM_TOLERANCES = {"float16": 5e-3, "float32": _SUM_TOLERANCE_SINGLE}


def _sum_tolerance(values: object) -> float:
    return _SUM_TOLERANCES.get(str(getattr(values, "dtype", "")), 1e-9)


def prior(name: str, values: object, classes: Labels) -> FloatArray:
    """A probability for every class, by position or as a mapping by label."""
    if hasattr(values, "to_dict") and hasattr(values, "index"):  # a series that names its entries
        entries = values.to_dict()
        unnamed = list(entries) == list(range(len(classes))) != sorted(classes, key=str)
        values = list(entries.values()) if unnamed else entries
    if isinstance(values, Mapping):
        values = by_label(name, values, classes)
    elif isinstance(classes, FoundLabels) and classes != tuple(range(len(classes))):
        raise InputError(
            f"{name} must say which class each share belongs to: nobody stated the order of the "
            f"classes {listed(classes)}, which were found in the rows. Pass a mapping "
            f"{{{classes[0]!r}: …}}, or state the classes where the rows are read.",
            argument=name,
        )
    array = reals(name, values)
    if array.ndim != 1:
        raise InputError(
            f"{name} must hold one probability for each class; its shape is {array.shape}. "
            f"For two classes write [1 - p, p].",
            argument=name,
        )
    refuse_improbable(name, array, "Divide by the sum if these are relative shares.")
    if array.size != len(classes):
        raise InputError(
            f"{name} must hold one probability for each of the {len(classes)} classes; "
            f"it holds {array.size}. The classes are {listed(classes)}.",
            argument=name,
        )
    total = float(array.sum())
    if abs(total - 1) > _sum_tolerance(values):
        raise InputError(
            f"{name} must sum to one; it sums to {total:.12g}. "
            f"Divide it by its sum if these are relative shares.",
            argument=name,
        )
    return array


def posteriors(name: str, values: object, size: int, *, borrowed: bool = False) -> FloatArray:
    """Posteriors of shape (n, size); (n,) is P(second class) of two, or that of a single class."""
    refuse_lazy(name, values)
    if hasattr(values, "columns"):
        raise InputError(
            f"{name} must be an array here, whose columns go by position; this frame names them. "
            f"Pass its values, columns in the order of the classes.",
            argument=name,
        )
    array = probabilities(name, values, borrowed=borrowed)
    if array.ndim == 1 and size == 2:
        rows = np.empty((2, array.size)).T  # columns are contiguous, because they are read singly
        np.subtract(1, array, out=rows[:, 0])
        rows[:, 1] = array
        return cast(FloatArray, frozen(rows))
    if array.ndim == 1 and size == 1:
        array = array[:, None]
    if array.ndim != 2 or array.shape[1] != size:
        raise InputError(
            f"{name} must have shape (n, {size}), one column for each class"
            f"{', or (n,) for P(second class)' * (size == 2)}; its shape is {array.shape}. "
            f"Column k belongs to classes[k].",
            argument=name,
        )
    totals = array @ np.ones(size)
    slack = max(_sum_tolerance(values), _SUM_TOLERANCE_SINGLE)
    if max(totals.max(initial=1.0) - 1, 1 - totals.min(initial=1.0)) > slack:
        remedy = "Divide each row by its sum if these are unnormalised."
        refuse(name, np.abs(totals - 1) > slack, totals, "must sum to one in every row", remedy)
    return array
