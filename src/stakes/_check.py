"""The border: array-likes in, trusted read-only arrays out.

The only place that validates. Every function takes the name of the argument first, and every
message says: argument, rule, evidence (how many, the first and where), remedy.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import repeat
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from stakes.errors import InputError

__all__ = [
    "BoolArray",
    "FloatArray",
    "IntArray",
    "Label",
    "Labels",
    "by_label",
    "codes",
    "distinct",
    "floats",
    "frozen",
    "labels",
    "non_negative",
    "number",
    "posteriors",
    "prior",
    "probabilities",
    "real_scores",
    "reals",
    "same_labels",
    "same_length",
    "unwrapped",
    "weights",
]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.intp]
BoolArray = npt.NDArray[np.bool_]
Label = str | int | bool
Labels = tuple[Label, ...]

_SUM_TOLERANCE = 1e-9
_SUM_TOLERANCE_SINGLE = 1e-6  # what float32 arithmetic can promise
_SUM_TOLERANCE_HALF = 5e-3  # and float16


def frozen(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return the same array, made read-only."""
    array.setflags(write=False)
    return array


# Numbers -----------------------------------------------------------------------------------------


def _real(name: str, values: object, ndim: int | None) -> FloatArray:
    """A read-only float64 copy of real numbers; nan and infinities still inside."""
    try:
        array = np.asarray(values)
        if array.dtype.kind == "O" and not any(isinstance(item, str) for item in array.flat):
            array = array.astype(np.float64)
        if array.dtype.kind not in "biuf" or np.ma.is_masked(values):
            raise TypeError
    except (TypeError, ValueError, OverflowError):
        raise InputError(
            f"{name} must hold real numbers; got {_describe(values)}. "
            f"Pass a list or array of numbers of one shape."
        ) from None
    if ndim is not None and array.ndim != ndim:
        raise InputError(
            f"{name} must have {ndim} dimension{'s' * (ndim != 1)}; its shape is {array.shape}. "
            f"Reshape it, or pass one axis less."
        )
    return cast(FloatArray, frozen(np.array(array, dtype=np.float64)))


def _refuse(bad: BoolArray, array: FloatArray, rule: str, remedy: str) -> None:
    """Raise with the count, the first bad value and its position, if any is bad."""
    positions = np.flatnonzero(bad)
    if positions.size:
        first = int(positions[0])
        where = np.unravel_index(first, array.shape)
        place = first if array.ndim <= 1 else tuple(int(axis) for axis in where)
        raise InputError(
            f"{rule}; {positions.size} of {array.size} "
            f"{'does' if positions.size == 1 else 'do'} not, "
            f"the first being {array.flat[first]:g} at position {place}. {remedy}"
        )


def reals(name: str, values: object, *, ndim: int | None = None) -> FloatArray:
    """Real numbers of any shape; infinities and nan may be among them."""
    return _real(name, values, ndim)


def floats(name: str, values: object, *, ndim: int | None = None) -> FloatArray:
    """Finite real numbers of any shape."""
    array = _real(name, values, ndim)
    _refuse(
        ~np.isfinite(array),
        array,
        f"{name} must hold finite numbers",
        "Remove or repair these entries first.",
    )
    return array


def non_negative(name: str, values: object, *, ndim: int | None = None) -> FloatArray:
    """Finite numbers that are zero or more."""
    array = floats(name, values, ndim=ndim)
    _refuse(
        ~(array >= 0),
        array,
        f"{name} must hold numbers that are zero or more",
        "Weights and counts say how often a case occurs.",
    )
    return array


def unwrapped(values: Any) -> FloatArray:
    """An array as it is; one of no dimensions as the number in it, which prints and compares."""
    return np.asarray(values, dtype=np.float64)[()]


def number(name: str, value: object, *, low: float = -math.inf, high: float = math.inf) -> float:
    """One finite real number within [low, high]."""
    try:
        result = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        result = math.nan
    if isinstance(value, str) or not (math.isfinite(result) and low <= result <= high):
        bounded = math.isfinite(low) or math.isfinite(high)
        rule = f"within [{low:g}, {high:g}]" if bounded else "that is finite"
        raise InputError(
            f"{name} must be one real number {rule}; got {value!r}. Pass a single such number."
        )
    return result


def probabilities(name: str, values: object, *, ndim: int | None = None) -> FloatArray:
    """Numbers in [0, 1]."""
    array = _real(name, values, ndim)
    _refuse(
        ~((array >= 0) & (array <= 1)),  # written positively, so that nan is bad too
        array,
        f"{name} must hold probabilities in [0, 1]",
        "Raw scores belong in Scores or a ScoreTable, which accept any real number; "
        "a calibrator turns them into probabilities.",
    )
    return array


def real_scores(name: str, values: object) -> FloatArray:
    """One score for every case: real numbers or infinities."""
    array = _real(name, values, 1)
    _refuse(
        np.isnan(array),
        array,
        f"{name} must hold numbers that can be ordered",
        "Remove the cases without a score first.",
    )
    return array


def same_length(**arrays: npt.NDArray[Any]) -> int:
    """Return the common number of rows."""
    lengths = {name: len(array) for name, array in arrays.items()}
    first, *others = lengths.items()
    for name, length in others:
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
            raise InputError(
                "the data must hold at least one case; there are none. Pass some rows."
            )
        return cast(FloatArray, frozen(np.ones(n)))
    array = non_negative(name, values, ndim=1)
    same_length(**{of: np.empty(n, dtype=bool), name: array})
    with np.errstate(over="ignore"):
        total = float(array.sum())
    if math.isinf(total):
        raise InputError(
            f"{name} must have a total that is a number; the sum is too large. Scale them down."
        )
    if not total > 0:
        raise InputError(
            f"{name} must have a positive total; all {n} are zero. "
            f"Leave {name} out to count every case once."
        )
    return array


# Distributions over classes ----------------------------------------------------------------------


def _sum_tolerance(values: object) -> float:
    kind = getattr(values, "dtype", None)
    if kind == np.float16:
        return _SUM_TOLERANCE_HALF
    return _SUM_TOLERANCE_SINGLE if kind == np.float32 else _SUM_TOLERANCE


def prior(name: str, values: object, classes: Labels) -> FloatArray:
    """A probability for every class, by position or as a mapping by label."""
    if hasattr(values, "to_dict") and hasattr(values, "index"):  # a series that names its entries
        entries = values.to_dict()
        unnamed = list(entries) == list(range(len(classes))) != sorted(classes, key=str)
        values = list(entries.values()) if unnamed else entries
    if isinstance(values, Mapping):
        values = by_label(name, values, classes)
    array = _real(name, values, None)
    if array.ndim != 1:
        raise InputError(
            f"{name} must hold one probability for each class; its shape is {array.shape}. "
            f"For two classes write [1 - p, p]."
        )
    _refuse(
        ~((array >= 0) & (array <= 1)),
        array,
        f"{name} must hold probabilities in [0, 1]",
        "Divide by the sum if these are relative shares.",
    )
    if array.size != len(classes):
        raise InputError(
            f"{name} must hold one probability for each of the {len(classes)} classes; "
            f"it holds {array.size}. The classes are {_listed(classes)}."
        )
    total = float(array.sum())
    if abs(total - 1) > _sum_tolerance(values):
        raise InputError(
            f"{name} must sum to one; it sums to {total:.12g}. "
            f"Divide it by its sum if these are relative shares."
        )
    return array


def posteriors(name: str, values: object, size: int) -> FloatArray:
    """Posteriors of shape (n, size); an (n,) array is P(second class) of two."""
    if hasattr(values, "columns"):
        raise InputError(
            f"{name} must be an array here, whose columns go by position; this frame names them. "
            f"Pass its values, columns in the order of the classes."
        )
    array = probabilities(name, values)
    if array.ndim == 1 and size == 2:
        rows = np.empty((2, array.size)).T  # each class in one piece: columns are read one by one
        np.subtract(1, array, out=rows[:, 0])
        rows[:, 1] = array
        return cast(FloatArray, frozen(rows))
    if array.ndim != 2 or array.shape[1] != size:
        raise InputError(
            f"{name} must have shape (n, {size}), one column for each class"
            f"{', or (n,) for P(second class)' * (size == 2)}; its shape is {array.shape}. "
            f"Column k belongs to classes[k]."
        )
    totals = array.sum(axis=1)
    tolerance = max(_sum_tolerance(values), _SUM_TOLERANCE_SINGLE)
    _refuse(
        np.abs(totals - 1) > tolerance,
        totals,
        f"{name} must sum to one in every row",
        "Divide each row by its sum if these are unnormalised.",
    )
    return array


def by_label(name: str, values: Mapping[Any, Any], names: Labels) -> list[Any]:
    """The mapping's entries in the order of the labels; none missing, none unknown."""
    missing = [label for label in names if label not in values]
    unknown = [label for label in values if label not in names]
    if missing or unknown:
        fault = f"lacks {missing[0]!r}" if missing else f"holds {unknown[0]!r}"
        raise InputError(
            f"{name} must have one entry for each of {_listed(names)}; it {fault}. "
            f"Labels match by equality: 1 and '1' are different labels."
        )
    return [values[label] for label in names]


# Labels ------------------------------------------------------------------------------------------


def _describe(values: object) -> str:
    text = repr(values)
    return f"{type(values).__name__} {text if len(text) <= 60 else text[:57] + '...'}"


def _listed(names: Sequence[object]) -> str:
    shown = ", ".join(repr(name) for name in names[:8])
    return shown + (f", … ({len(names)} in all)" if len(names) > 8 else "")


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
        raise InputError(f"{name} must be a sequence of labels; got {_describe(values)}.")
    found = tuple(_plain(value) for value in values)
    seen: set[Any] = set()
    for position, label in enumerate(found):
        if not isinstance(label, str | int | bool):
            raise InputError(
                f"{name} must be labels of type str, int or bool; "
                f"number {position} is {_describe(label)}. Convert labels of other types to text."
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
        f"one has {_listed(ours)}, the other {_listed(theirs)}. "
        f"Build both from one problem, or name the labels of both alike."
    )


def _label_array(name: str, values: object) -> npt.NDArray[Any]:
    """One label per row: an array of kind b, i, u, f, U or O."""
    if hasattr(values, "__dataframe__") or isinstance(values, str | bytes | Mapping):
        raise InputError(f"{name} must hold one label for every case; got {_describe(values)}.")
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
            f"{name} must hold labels among {_listed(names)}; {unknown.size} of {array.size} are "
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
