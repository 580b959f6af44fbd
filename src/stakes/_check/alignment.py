"""Rows: columns about the same cases have the same length and index; weights are valid."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from stakes._check.kinds import FloatArray, frozen
from stakes._check.numbers import HEAVIEST, LIGHTEST, non_negative
from stakes.errors import InputError

NEGLIGIBLE = 1e-60  # a share of all weight, whose inverse can be squared with any cost


def aligned(**columns: Any) -> None:
    """Refuse series and frames whose indexes differ: their rows may be different cases.

    Rows are matched by position, because arrays have no index. The columns of a mapping are
    compared one by one.
    """
    indexes: dict[str, Any] = {
        name: getattr(part, "index", None)
        for argument, column in columns.items()
        for name, part in _parts(argument, column)
    }
    labelled = [(name, index) for name, index in indexes.items() if hasattr(index, "equals")]
    for name, index in labelled[1:]:
        first, expected = labelled[0]
        if index is expected or len(index) != len(expected) or index.equals(expected):
            continue  # a different length is refused where the rows are read
        same = set(index) == set(expected)
        fault = "hold the same labels in another order" if same else "hold different labels"
        raise InputError(
            f"{first} and {name} must have the same index, row by row; their indexes {fault}. "
            f"Align them by their labels ({name}.loc[{first}.index]), or call "
            f".reset_index(drop=True) on both if their rows are in the same order already."
        )


def _parts(name: str, column: Any) -> list[tuple[str, Any]]:
    if not isinstance(column, Mapping):
        return [(name, column)]
    return [(f"{name}[{key!r}]", part) for key, part in column.items()]


def same_length(**arrays: npt.NDArray[Any]) -> int:
    """Return the common number of rows."""
    lengths = {name: len(array) for name, array in arrays.items()}
    first, *further = lengths.items()
    for name, length in further:
        if length != first[1]:
            raise InputError(
                f"{first[0]} and {name} must describe the same cases; "
                f"{first[0]} has {first[1]} rows and {name} has {length}. "
                f"Pass one entry for every case in both."
            )
    return first[1]


def weights(name: str, values: object, n: int, *, of: str = "y_true") -> FloatArray:
    """Weights of n cases, ones when None: finite, not negative, with a positive total.

    `of` is the argument that the weights belong to.
    """
    if values is None:
        if n == 0:
            raise InputError(f"{of} must hold at least one case; there are none. Pass some rows.")
        return cast(FloatArray, frozen(np.ones(n)))
    array = non_negative(name, values, ndim=1)
    same_length(**{of: np.empty(n, dtype=bool), name: array})
    with np.errstate(over="ignore"):
        total_weight(name, float(array.sum()), n)
    return array


def least_weight(name: str, least: float, total: float) -> None:
    """Refuse a positive weight that is next to nothing beside the total of all weights."""
    if least < NEGLIGIBLE * total:
        raise InputError(
            f"{name} must be at least {NEGLIGIBLE:g} of their total, {total:g}, or zero; one is "
            f"{least:g}. Set such weights to zero, or leave these cases out.",
            argument=name,
        )


def total_weight(name: str, total: float, n: int) -> None:
    """Refuse a total of n weights that is zero, or whose square may over- or underflow."""
    if total > HEAVIEST or 0 < total < LIGHTEST:
        raise InputError(
            f"{name} must have a total between {LIGHTEST:g} and {HEAVIEST:g}, whose square is a "
            f"number; it is {total:g}. Scale them {'down' if total > 1 else 'up'}.",
            argument=name,
        )
    if not total > 0:
        raise InputError(
            f"{name} must have a positive total; all {n} are zero. "
            f"Leave {name} out to count every case once.",
            argument=name,
        )
