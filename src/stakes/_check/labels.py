"""Labels: text, whole numbers or booleans that match by equality."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import repeat
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from stakes._check.kinds import BoolArray, IntArray, Labels, described, frozen, listed
from stakes.errors import InputError

__all__ = ["by_label", "codes", "distinct", "labels", "same_labels"]


def by_label(name: str, values: Mapping[Any, Any], names: Labels) -> list[Any]:
    """The mapping's entries in the order of the labels; none missing, none unknown."""
    missing = [label for label in names if label not in values]
    unknown = [label for label in values if label not in names]
    if missing or unknown:
        fault = f"lacks {missing[0]!r}" if missing else f"holds {unknown[0]!r}"
        raise InputError(
            f"{name} must have one entry for each of {listed(names)}; it {fault}. "
            f"Labels match by equality: 1 and '1' are different labels."
        )
    return [values[label] for label in names]


def _plain(value: object) -> object:
    """A numpy scalar as its Python equal, whole floats as int."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value


def labels(name: str, values: object) -> Labels:
    """Distinct labels, each a str, int or bool."""
    if isinstance(values, str) or not hasattr(values, "__iter__"):
        raise InputError(f"{name} must be a sequence of labels; got {described(values)}.")
    found = tuple(_plain(value) for value in values)
    seen: set[Any] = set()
    for position, label in enumerate(found):
        if not isinstance(label, str | int | bool):
            raise InputError(
                f"{name} must be labels of type str, int or bool; "
                f"number {position} is {described(label)}. Convert labels of other types to text."
            )
        if label in seen:
            raise InputError(
                f"{name} must be distinct; {label!r} stands twice "
                f"(1, 1.0 and True are one label). Rename one of them."
            )
        seen.add(label)
    return cast(Labels, found)


def same_labels(what: str, ours: Labels | None, theirs: Labels | None) -> Labels | None:
    """The labels that both sides agree on; a side without labels agrees with any."""
    if ours is None or theirs is None or ours == theirs:
        return theirs if ours is None else ours
    raise InputError(
        f"{what} must be the same, in the same order, on both sides; "
        f"one has {listed(ours)}, the other {listed(theirs)}. "
        f"Build both from one problem, or name the labels of both alike."
    )


def _label_array(name: str, values: object) -> npt.NDArray[Any]:
    """One label per row: an array of kind b, i, u, f, U or O."""
    if hasattr(values, "__dataframe__") or isinstance(values, str | bytes | Mapping):
        raise InputError(f"{name} must hold one label for every case; got {described(values)}.")
    array = values if isinstance(values, np.ma.MaskedArray) else np.asarray(values)
    if array.dtype.kind not in "biufUO":
        array = array.astype(object)
    if array.ndim != 1:
        raise InputError(
            f"{name} must hold one label for every case; its shape is {array.shape}. "
            f"Pass posteriors through bayes_decisions first."
        )
    if array.dtype.kind == "U" and not isinstance(values, np.ndarray):
        # np.asarray turns [1, "a"] into text; keep what the caller wrote.
        kinds = set(map(type, cast("Sequence[object]", values)))
        if not all(issubclass(kind, str) for kind in kinds):
            array = np.array(values, dtype=object)
    missing = np.flatnonzero(_missing(array))
    if missing.size:
        raise InputError(
            f"{name} must hold a label for every case; {missing.size} of {array.size} are missing "
            f"(None, nan), the first at position {missing[0]}. Remove these cases first."
        )
    return array


def _missing(array: npt.NDArray[Any]) -> BoolArray:
    """Where there is no label: None, nan, masked and the like."""
    if np.ma.is_masked(array):
        return np.ma.getmaskarray(array)
    if array.dtype.kind == "f":
        return np.asarray(np.isnan(array))
    if array.dtype.kind != "O":
        return np.zeros(array.shape, dtype=bool)
    try:
        return np.asarray((array == None) | (array != array), dtype=bool)  # noqa: E711
    except TypeError:  # pandas.NA says neither yes nor no to a comparison
        return np.array([not isinstance(item, str | int | float) for item in array.tolist()])


def _positions(array: npt.NDArray[Any], names: Labels) -> IntArray:
    """Where each value stands among the labels; -1 where it does not."""
    if array.dtype.kind in "bi" and names == tuple(range(len(names))):
        known = array.min(initial=0) >= 0 and array.max(initial=0) < len(names)
        return array.astype(np.intp) if known else np.where(array < len(names), array, -1)
    result = np.full(array.shape, -1, dtype=np.intp)
    if array.dtype.kind == "O":
        lookup = {label: position for position, label in enumerate(names)}
        try:  # a dictionary finds 1, 1.0 and True alike, as equality does
            found = map(lookup.get, array.tolist(), repeat(-1))
            return np.fromiter(found, dtype=np.intp, count=array.size)
        except TypeError:  # something that cannot be a label
            return result
    mine = [k for k, one in enumerate(names) if isinstance(one, str) == (array.dtype.kind == "U")]
    if not mine:
        return result
    order = np.array(sorted(mine, key=lambda k: names[k]), dtype=np.intp)
    known = np.array([names[k] for k in order])
    near = np.minimum(np.searchsorted(known, array), len(known) - 1)
    return np.where(known[near] == array, order[near], -1)


def codes(name: str, values: object, names: Labels) -> IntArray:
    """The position of every value in the labels; unknown values are refused."""
    coded: Any = values
    if hasattr(coded, "categories") and np.min(coded.codes, initial=0) >= 0:
        place = np.zeros(len(coded.categories), dtype=np.intp)
        used = np.flatnonzero(np.bincount(coded.codes))
        place[used] = codes(name, [coded.categories[k] for k in used], names)
        return cast(IntArray, frozen(place[coded.codes]))
    array = _label_array(name, values)
    result = _positions(array, names)
    unknown = np.flatnonzero(result < 0)
    if unknown.size:
        first = _plain(array[unknown[0]])
        twin = next((label for label in names if str(label) == str(first)), None)
        hint = f" {first!r} and {twin!r} are different labels." if twin is not None else ""
        raise InputError(
            f"{name} must hold labels among {listed(names)}; {unknown.size} of {array.size} are "
            f"others, the first being {first!r} at position {unknown[0]}.{hint} "
            f"Rename them, or add them to the problem."
        )
    return cast(IntArray, frozen(result))


def distinct(name: str, values: object) -> Labels:
    """The sorted distinct labels of the rows."""
    array = _label_array(name, values)
    try:
        found = sorted(set(array.tolist())) if array.dtype.kind == "O" else np.unique(array)
    except TypeError:
        raise InputError(
            f"{name} must hold labels that can be ordered; they are of mixed types. "
            f"State the labels, in the order you want."
        ) from None
    return labels(name, found)
