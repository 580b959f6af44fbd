"""Labels: text, whole numbers or booleans that match by equality."""

from __future__ import annotations

from collections.abc import KeysView, Mapping, Set
from itertools import repeat
from typing import Any, NamedTuple, cast

import numpy as np
import numpy.typing as npt

from stakes._check.kinds import BoolArray, IntArray, Label, Labels, described, frozen, listed
from stakes.errors import InputError

_MOST = 2**63 - 1  # the largest number that arrays of signed numbers hold
_ONE_EACH = "Pass a list or an array of one dimension."


def by_label(name: str, values: Mapping[Any, Any], names: Labels) -> list[Any]:
    """The mapping's entries in the order of the labels; none missing, none unknown."""
    missing = [label for label in names if label not in values]
    unknown = [label for label in values if label not in names]
    if missing or unknown:
        fault = f"lacks {missing[0]!r}" if missing else f"holds {unknown[0]!r}"
        raise InputError(
            f"{name} must have one entry for each of {listed(names)}; it {fault}. "
            f"Labels match by equality: 1 and '1' are different labels.",
            argument=name,
        )
    return [values[label] for label in names]


def plain(value: object) -> object:
    """A numpy scalar as its Python equal, whole floats as int."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value


def labels(name: str, values: object) -> Labels:
    """Distinct labels, each a str, int or bool."""
    if isinstance(values, str) or not hasattr(values, "__iter__"):
        raise InputError(
            f"{name} must be a sequence of labels; got {described(values)}.", argument=name
        )
    if isinstance(values, Set) and not isinstance(values, KeysView):
        raise InputError(
            f"{name} must be in an order; a set has none, and lists its labels differently from "
            f"run to run. Pass a list.",
            argument=name,
        )
    found = tuple(plain(value) for value in values)
    seen: set[Any] = set()
    for position, label in enumerate(found):
        if not isinstance(label, str | int | bool):
            raise InputError(
                f"{name} must be labels of type str, int or bool; "
                f"number {position} is {described(label)}. Convert labels of other types to text.",
                argument=name,
            )
        _refuse_nul(name, label)
        if label in seen:
            raise InputError(
                f"{name} must be distinct; {label!r} stands twice "
                f"(1, 1.0 and True are one label). Rename one of them.",
                argument=name,
            )
        seen.add(label)
    return cast(Labels, found)


def _refuse_nul(name: str, label: object) -> None:
    if isinstance(label, str) and label.endswith("\0"):
        raise InputError(
            f"{name} must be labels that do not end in a NUL character, which arrays of text drop; "
            f"{label!r} does. Strip it, or rename the label.",
            argument=name,
        )


class FoundLabels(tuple[Label, ...]):
    """Labels that were found in rows and sorted: nobody has said in which order they come."""

    __slots__ = ()


def same_labels(what: str, ours: Labels | None, theirs: Labels | None) -> Labels | None:
    """The labels that both sides agree on; a side without labels agrees with any."""
    if ours is None or theirs is None or ours == theirs:
        return theirs if ours is None or (isinstance(ours, FoundLabels) and theirs) else ours
    raise InputError(
        f"{what} must be the same, in the same order, on both sides; "
        f"one has {listed(ours)}, the other {listed(theirs)}. "
        f"Build both from one problem, or name the labels of both alike."
    )


def label_array(name: str, values: Any, remedy: str) -> npt.NDArray[Any]:
    """One label per row, missing ones still inside: an array of kind b, i, u, f, U, M, m or O."""
    _refuse_frames(name, values)
    array = np.asarray(values)
    if array.dtype.kind not in "biufUMm":
        array = array.astype(object)
    if array.ndim != 1:
        raise InputError(
            f"{name} must hold one label for every case; its shape is {array.shape}. {remedy}",
            argument=name,
        )
    if array.dtype.kind == "U" and not isinstance(values, np.ndarray):
        # np.asarray turns [1, "a"] into text, and drops what ends a text; keep what was written.
        written = list(values)
        if not all(issubclass(kind, str) for kind in set(map(type, written))):
            return np.array(written, dtype=object)
        if "\0" in "".join(written):
            for label in written:
                _refuse_nul(name, label)
    if np.ma.is_masked(values):
        array = array.astype(object)
        array[np.ma.getmaskarray(values)] = None
    return array


def refuse_lazy(name: str, values: Any) -> None:
    """Refuse rows that are still in an engine."""
    if hasattr(values, "collect"):
        raise InputError(
            f"{name} must hold rows; got a lazy {type(values).__name__}, whose rows were not read "
            f"yet. Collect it first, or name its columns in evaluate_frame.",
            argument=name,
        )


def _refuse_frames(name: str, values: Any) -> None:
    """Refuse what is no column: frames, text, mappings, and rows that are still in an engine."""
    refuse_lazy(name, values)
    if hasattr(values, "__dataframe__") or hasattr(values, "columns"):
        raise InputError(
            f"{name} must hold one label for every case; got a {type(values).__name__}. "
            f"Pass one of its columns.",
            argument=name,
        )
    if isinstance(values, str | bytes | Mapping):
        raise InputError(
            f"{name} must hold one label for every case; got {described(values)}. "
            f"Pass a list or an array.",
            argument=name,
        )


def missing(array: npt.NDArray[Any]) -> BoolArray:
    """Where there is no label: None, nan, NaT and the like."""
    if array.dtype.kind == "f":
        return np.asarray(np.isnan(array))
    if array.dtype.kind in "Mm":
        return np.asarray(np.isnat(array))
    if array.dtype.kind != "O":
        return np.zeros(array.shape, dtype=bool)
    try:
        return np.asarray((array == None) | (array != array), dtype=bool)  # noqa: E711
    except (TypeError, ValueError):  # pandas.NA says neither yes nor no to a comparison
        return np.array([_absent(item) for item in array.tolist()], dtype=bool)


def _absent(item: Any) -> bool:
    try:
        return item is None or bool(item != item)
    except (TypeError, ValueError):
        return True


def _labelled(name: str, values: object, remedy: str) -> npt.NDArray[Any]:
    """One label per row, and none of them missing: an array of kind b, i, u, f, U or O."""
    array = label_array(name, values, remedy)
    absent = np.flatnonzero(missing(array))
    if absent.size:
        raise InputError(
            f"{name} must hold a label for every case; {absent.size} of {array.size} are missing "
            f"(None, nan), the first at position {absent[0]}. Remove these cases first.",
            argument=name,
        )
    return array if array.dtype.kind in "biufUO" else array.astype(object)


def _positions(array: npt.NDArray[Any], names: Labels) -> IntArray:
    """Where each value stands among the labels; -1 where it does not."""
    if array.dtype.kind in "bi" and names == tuple(range(len(names))):
        known = array.min(initial=0) >= 0 and array.max(initial=0) < len(names)
        return array.astype(np.intp) if known else np.where(array < len(names), array, -1)
    result = np.full(array.shape, -1, dtype=np.intp)
    if array.dtype.kind == "u" and array.max(initial=0) > _MOST:
        array = array.astype(object)  # numpy compares such numbers with signed ones as floats
    if array.dtype.kind == "O":
        lookup = {label: position for position, label in enumerate(names)}
        try:  # a dictionary finds 1, 1.0 and True alike, as equality does
            found = map(lookup.get, array.tolist(), repeat(-1))
            return np.fromiter(found, dtype=np.intp, count=array.size)
        except TypeError:  # something that cannot be a label
            return result
    mine = [k for k, one in enumerate(names) if _comparable(one, array.dtype.kind)]
    if not mine:
        return result
    order = np.array(sorted(mine, key=lambda k: names[k]), dtype=np.intp)
    known = np.array([names[k] for k in order])
    near = np.minimum(np.searchsorted(known, array), len(known) - 1)
    return np.where(known[near] == array, order[near], -1)


def _comparable(label: Label, kind: str) -> bool:
    """Whether a label can occur in an array of that kind; a float holds some whole numbers only."""
    if isinstance(label, str) or kind == "U":
        return isinstance(label, str) and kind == "U"
    return -_MOST <= label <= _MOST and (kind != "f" or int(float(label)) == label)


def codes(name: str, values: object, names: Labels, *, remedy: str = _ONE_EACH) -> IntArray:
    """The position of every value in the labels; unknown values are refused.

    `remedy` says what to do with values that have not one dimension.
    """
    coded = categories(values)
    if coded is not None and np.min(coded.codes, initial=0) >= 0:
        place = np.zeros(len(coded.values), dtype=np.intp)
        used = np.flatnonzero(np.bincount(coded.codes))
        place[used] = codes(name, [coded.values[k] for k in used], names)
        return cast(IntArray, frozen(place[coded.codes]))
    array = _labelled(name, values, remedy)
    result = _positions(array, names)
    unknown = np.flatnonzero(result < 0)
    if unknown.size:
        first = plain(array[unknown[0]])
        twin = next((label for label in names if str(label) == str(first)), None)
        hint = f" {first!r} and {twin!r} are different labels." if twin is not None else ""
        raise InputError(
            f"{name} must hold labels among {listed(names)}; {unknown.size} of {array.size} are "
            f"others, the first being {first!r} at position {unknown[0]}.{hint} "
            f"Rename them, or add them to the problem.",
            argument=name,
        )
    return cast(IntArray, frozen(result))


def decisions(name: str, values: object, names: Labels) -> IntArray:
    """The position of every decision that was taken."""
    return codes(name, values, names, remedy="Pass posteriors through bayes_decisions first.")


class Categories(NamedTuple):
    """The categories of a column, in their order, and the position of each row's; -1: none."""

    values: list[Any]
    codes: npt.NDArray[Any]


def categories(values: Any) -> Categories | None:
    """The categories of a column that has some; None where it is a plain one."""
    coded: Any
    for coded in (values, getattr(values, "cat", None)):  # a categorical, a pandas series of them
        if hasattr(coded, "categories") and hasattr(coded, "codes"):
            return Categories(list(coded.categories), np.asarray(coded.codes))
    if str(getattr(values, "dtype", "")).startswith("Enum("):  # polars
        found = list(values.dtype.categories)
        return Categories(found, np.asarray(values.to_physical().cast(int).fill_null(-1)))
    return None


def distinct(name: str, values: object) -> FoundLabels:
    """The sorted distinct labels of the rows."""
    return FoundLabels(labels(name, in_order(name, _labelled(name, values, _ONE_EACH))))


def in_order(name: str, array: npt.NDArray[Any]) -> Any:
    """The distinct values of an array in which none is missing, sorted."""
    if array.dtype.kind != "O":
        return np.unique(array)
    try:
        return sorted(set(array.tolist()))
    except TypeError:
        raise InputError(
            f"{name} must hold labels that can be ordered; they are of mixed types. "
            f"State the labels, in the order you want.",
            argument=name,
        ) from None


def answers(classes: Labels, decided: Labels) -> tuple[Label | None, ...]:
    """The class that each decision answers: by its label, else by its place in a square problem.

    None for a decision that answers no class, or where label and place speak of different ones.
    """
    if set(decided) == set(classes):
        return decided
    if len(decided) != len(classes):
        return (None,) * len(decided)
    pairs = list(zip(classes, decided, strict=True))
    astray = any(label in classes and label != own for own, label in pairs)
    return (None,) * len(decided) if astray else classes
