"""Rows: columns about the same cases have the same length and index; weights are valid."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from stakes._check.kinds import FloatArray, IntArray, described, frozen
from stakes._check.numbers import HEAVIEST, LIGHTEST, non_negative
from stakes.errors import InputError

MOST_COPIES = 2.0**53  # from here on a double cannot hold every whole number
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


def shapes(layout: str, **arrays: Any) -> None:
    """Refuse arrays whose shapes do not go together; a letter stands for one length.

    A capital letter is at least one, and … stands for any axes. None is left out.

    >>> shapes("n k, k M", rows=np.ones((5, 2)), costs=np.ones((3, 2)))
    Traceback (most recent call last):
    stakes.errors.InputError: rows and costs must be arrays of shapes (n, k) and (k, M); rows has \
(5, 2), costs has (3, 2). Pass arrays that go together.
    """
    try:
        if _go_together(layout, tuple([a if a is None else a.shape for a in arrays.values()])):
            return
    except AttributeError:
        name, other = next(
            (n, a) for n, a in arrays.items() if not (a is None or hasattr(a, "shape"))
        )
        raise InputError(
            f"{name} must be an array of numbers; got {described(other)}. "
            f"Pass np.asarray(…) of it.",
            argument=name,
        ) from None
    raise _misshapen(layout, arrays)


@lru_cache(maxsize=1024)  # inner functions meet the same shapes again and again
def _go_together(layout: str, of_each: tuple[tuple[int, ...] | None, ...]) -> bool:
    known: dict[str, int] = {}
    for part, shape in zip(layout.split(", "), of_each, strict=True):
        axes = part.split()
        if shape is None:
            continue
        if "…" in axes:
            n_free = len(shape) - len(axes) + 1
            shape = shape[max(n_free, 0) :] if axes[0] == "…" else shape[: len(axes) - 1]
            axes.remove("…")
        if len(axes) != len(shape) or not all(
            length == (int(axis) if axis.isdigit() else known.setdefault(axis, length))
            and (length > 0 or not axis.isupper())
            for axis, length in zip(axes, shape, strict=True)
        ):
            return False
    return True


def _misshapen(layout: str, arrays: dict[str, Any]) -> InputError:
    passed = [(name, array) for name, array in arrays.items() if array is not None]
    wanted = [f"({part.replace(' ', ', ')})" for part in layout.split(", ")]
    wanted = [
        part for part, array in zip(wanted, arrays.values(), strict=True) if array is not None
    ]
    evidence = ", ".join(f"{name} has {array.shape}" for name, array in passed)
    return InputError(
        f"{' and '.join(name for name, _ in passed)} must be arrays of shapes "
        f"{' and '.join(wanted)}; {evidence}. Pass arrays that go together.",
        argument=passed[0][0],
    )


def known_places(name: str, codes: IntArray, size: int) -> None:
    """Refuse positions that do not exist."""
    if codes.max(initial=0) >= size:
        raise InputError(
            f"{name} must hold positions below {size}; the largest is {codes.max()}. Pass arrays "
            f"that have all classes and decisions.",
            argument=name,
        )


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


def sampling_weights(name: str, values: object, n: int) -> FloatArray | None:
    """Weights of n cases as `weights` reads them; those of one value are the same as none.

    None without weights. Where the positive weights are all equal, they are ones: only their ratios
    say how many cases a row stands for.
    """
    if values is None:
        return None
    array = weights(name, values, n)
    heaviest = array.max()
    if array.min(where=array > 0, initial=heaviest) < heaviest:
        return array
    return cast(FloatArray, frozen((array > 0).astype(np.float64)))


def copies(name: str, values: object, n: int) -> FloatArray:
    """How often each of n cases stands in the data: whole numbers, with a positive total."""
    array = weights(name, values, n)
    bad = np.flatnonzero(array != np.floor(array))
    if bad.size:
        raise InputError(
            f"{name} must hold whole numbers, how often each row occurred; {bad.size} of {n} are "
            f"fractions, the first being {array[bad[0]]:g} at position {bad[0]}. Pass weights= for "
            f"sampling weights, which say how many cases a row stands for.",
            argument=name,
        )
    if not array.sum() < MOST_COPIES:
        raise InputError(
            f"{name} must add up to less than {MOST_COPIES:g}, beyond which single cases are not "
            f"counted exactly; the sum is {array.sum():g}. Pass weights= for sampling weights.",
            argument=name,
        )
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
