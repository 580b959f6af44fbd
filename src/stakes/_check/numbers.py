"""Numbers, single arguments of plain kinds, and distributions over classes."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn, cast

import numpy as np

from stakes._check.kinds import (
    BoolArray,
    FloatArray,
    Labels,
    Numbers,
    as_array,
    described,
    frozen,
    listed,
    refuse_lazy,
)
from stakes._check.labels import FoundLabels, by_label, is_listed
from stakes.errors import InputError

# Numbers: real, finite, zero or more, probabilities, scores --------------------------------------


def _real(name: str, values: object, ndim: int | None, *, borrowed: bool = False) -> FloatArray:
    """Read-only float64 numbers, which may be nan or infinite: a copy, or a view if borrowed."""
    try:
        array = as_array(name, values)
        if array.dtype.kind == "O" and all(item is None or _is_number(item) for item in array.flat):
            array = array.astype(np.float64)
        if array.dtype.kind not in "biuf" or np.ma.is_masked(values):
            raise TypeError
    except InputError:
        raise
    except (TypeError, ValueError, OverflowError):
        raise InputError(
            f"{name} must hold real numbers; got {described(values)}. "
            f"Pass a list or array of numbers of one shape.",
            argument=name,
        ) from None
    if ndim is not None and array.ndim != ndim:
        raise InputError(
            f"{name} must have {ndim} dimension{'s' * (ndim != 1)}; its shape is {array.shape}. "
            f"Reshape it, or pass one axis less.",
            argument=name,
        )
    if borrowed and array.dtype == np.float64 and type(array) is np.ndarray:
        return cast(FloatArray, frozen(array.view()))
    return cast(FloatArray, frozen(np.array(array, dtype=np.float64)))


def refuse(name: str, bad: BoolArray, array: FloatArray, rule: str, remedy: str) -> None:
    """Raise with the count, the first bad value and its position, if any is bad."""
    positions = np.flatnonzero(bad)
    if positions.size:
        first = int(positions[0])
        where = np.unravel_index(first, array.shape)
        place = first if array.ndim <= 1 else tuple(int(axis) for axis in where)
        raise InputError(
            f"{name} {rule}; {positions.size} of {array.size} "
            f"{'does' if positions.size == 1 else 'do'} not, "
            f"the first being {array.flat[first]:g} at position {place}.",
            argument=name,
            remedy=remedy,
        )


def reals(name: str, values: object, *, ndim: int | None = None) -> FloatArray:
    """Real numbers of any shape; infinities and nan may be among them.

    >>> from fractions import Fraction
    >>> reals("costs", [Fraction(1, 2), np.inf]).tolist()
    [0.5, inf]
    """
    return _real(name, values, ndim)


def returned(name: str, value: object, remedy: str) -> FloatArray:
    """What a function of the caller returned, as floats; nan and infinities may be among them."""
    try:
        array = as_array(name, value)
        if array.dtype.kind in "biuf":
            return array.astype(np.float64, copy=False)
    except ValueError:  # lists of several lengths, or tensors that numpy cannot read
        pass
    raise InputError(
        f"{name} must give a number or an array of numbers; it gave {described(value)}. {remedy}",
        argument=name,
    )


def array(name: str, values: object) -> Any:
    """The values as an array; rows of different lengths are refused."""
    try:
        return as_array(name, values)
    except InputError:
        raise
    except ValueError:
        raise InputError(
            f"{name} must be an array; got {described(values)}, whose rows differ in length. "
            f"Pass a list or array of one shape.",
            argument=name,
        ) from None


HEAVIEST, LIGHTEST = 1e100, 1e-100  # sums of their squares are far from over- and underflow


def squarable(name: str, values: object, *, ndim: int | None = None) -> FloatArray:
    """Finite numbers whose squares do not overflow."""
    array = floats(name, values, ndim=ndim)
    rule = f"must hold numbers of size up to {HEAVIEST:g}"
    refuse(name, np.abs(array) > HEAVIEST, array, rule, "Choose another unit.")
    return array


def floats(name: str, values: object, *, ndim: int | None = None) -> FloatArray:
    """Finite real numbers of any shape."""
    array = _real(name, values, ndim)
    remedy = "Remove or repair these entries first."
    refuse(name, ~np.isfinite(array), array, "must hold finite numbers", remedy)
    return array


def non_negative(name: str, values: object, *, ndim: int | None = None) -> FloatArray:
    """Finite numbers that are zero or more."""
    array = floats(name, values, ndim=ndim)
    remedy = "Weights say how many cases a row stands for, and counts how often one occurred."
    refuse(name, ~(array >= 0), array, "must hold numbers that are zero or more", remedy)
    return array


def masses(name: str, values: object) -> FloatArray:
    """Weights of the cells of a tally: zero or more, and no more than what may be squared."""
    array = non_negative(name, values)
    rule = f"must hold numbers up to {HEAVIEST:g}, whose squares are numbers"
    refuse(name, array > HEAVIEST, array, rule, "Scale all of them down alike.")
    return array


def unwrapped(values: Any) -> Numbers:
    """The array; one without dimensions becomes the number in it, which prints as a number."""
    return np.asarray(values, dtype=np.float64)[()]


def as_float(value: object) -> float:
    """The value as a float; a TypeError for text and complex numbers, of which `float` makes one.

    >>> as_float(np.array(2))
    2.0
    """
    if not _is_number(value):
        raise TypeError
    return float(value)  # type: ignore[arg-type]


def _is_number(value: object) -> bool:
    """Whether something says that it is a real number; ``float(b"1")`` is one as well."""
    if isinstance(value, np.generic | np.ndarray):
        return value.dtype.kind in "biufO"
    return hasattr(value, "__float__") or hasattr(value, "__index__")


def number(name: str, value: object, *, low: float = -math.inf, high: float = math.inf) -> float:
    """One finite real number within [low, high]."""
    try:
        result = as_float(value)
    except (TypeError, ValueError, OverflowError, RuntimeError):  # the last one of tensors
        result = math.nan
    if not (math.isfinite(result) and low <= result <= high):
        rule = "that is finite" if low == -math.inf else f"that is finite and at least {low:g}"
        rule = f"within [{low:g}, {high:g}]" if math.isfinite(high) else rule
        remedy = "Pass a single such number."
        if high == 1 < result <= 100:
            remedy = f"{result:g} % is {result / 100:g}."
        raise InputError(
            f"{name} must be one real number {rule}; got {described(value)}. {remedy}",
            argument=name,
        )
    return result


def whole(name: str, value: object, *, low: int, high: float = math.inf) -> int:
    """One whole number within [low, high]."""
    result = number(name, value, low=low, high=high)
    if not result.is_integer():
        raise InputError(f"{name} must be a whole number; got {value!r}. Round it.", argument=name)
    return int(result)


def draws(name: str, value: object, *, low: int) -> int:
    """How many samples to draw; more than ten million would add nothing."""
    return whole(name, value, low=low, high=10**7)


def generator(rng: object) -> None:
    """Refuse anything but a generator of random numbers."""
    if not isinstance(rng, np.random.Generator):
        seed = rng if isinstance(rng, int) else 0
        raise InputError(
            f"rng must be a numpy Generator; got {described(rng)}. "
            f"Write rng=np.random.default_rng({seed})."
        )


def no_leading_axes(
    name: str, leading: tuple[int, ...], *, where: str = "here", remedy: str | None = None
) -> None:
    """Refuse a tally of several tables where one is meant."""
    if leading:
        raise InputError(
            f"{name} must have no leading axes {where}; they are {leading}. "
            f"{remedy or f'Index one, as in {name}[0], or loop over them.'}",
            argument=name,
        )


def probabilities(
    name: str, values: object, *, ndim: int | None = None, borrowed: bool = False
) -> FloatArray:
    """Numbers in [0, 1]; borrowed ones are read at once and never kept."""
    array = _real(name, values, ndim, borrowed=borrowed)
    # Written positively, so that nan is bad too: minimum and maximum are then nan.
    if not (array.min(initial=0.0) >= 0 and array.max(initial=0.0) <= 1):
        refuse_improbable(name, array, _no_probabilities(array))
    return array


def refuse_improbable(name: str, array: FloatArray, remedy: str) -> None:
    """Refuse numbers that are not probabilities; nan is none."""
    bad = ~((array >= 0) & (array <= 1))
    refuse(name, bad, array, "must hold probabilities in [0, 1]", remedy)


def _no_probabilities(array: FloatArray) -> str:
    """A remedy that guesses what numbers that are no probabilities mean."""
    if np.isnan(array).any():
        return "Remove the cases without a prediction first."
    percent = array.size and array.min() >= 0 and 10 < array.max() <= 100
    return ("Divide percentages by 100. " if percent else "") + (
        "Pass raw scores as scores (Scores, or a ScoreTable), or have a calibrator turn them into "
        "probabilities."
    )


def rounding(values: object) -> FloatArray | None:
    """How far each number of single or half precision may be from the one that it was rounded from.

    At most half the machine epsilon times its size; None for double precision. Engines compute the
    same product, so that they take the same decisions.
    """
    array = np.asarray(values)
    if array.dtype not in (np.float16, np.float32):
        return None
    return np.abs(array.astype(np.float64)) * (float(np.finfo(array.dtype).eps) / 2)


def real_scores(name: str, values: object, *, borrowed: bool = False) -> FloatArray:
    """One score for every case: real numbers or infinities.

    Borrowed scores are read at once and never kept, so they are not copied.
    """
    array = _real(name, values, 1, borrowed=borrowed)
    if np.isnan(array.min(initial=np.inf)):  # the minimum is nan if any score is: a single pass
        remedy = "Remove the cases without a score first."
        refuse(name, np.isnan(array), array, "must hold numbers that can be ordered", remedy)
    return array


def level(value: object, name: str = "level", usual: float = 0.95) -> float:
    """A probability strictly between zero and one, such as a confidence level."""
    checked = number(name, value)
    # Also refused: levels so close to 0 or 1 that the share of a two-sided quantile rounds to it.
    if not 0.5 < (1 + checked) / 2 < 1:
        far, shown = "", f"{checked:g}"
        if 0 < checked < 1:
            far, shown = ", and further from both than numbers are rounded", repr(checked)
        raise InputError(
            f"{name} must lie strictly between 0 and 1{far}; got {shown}. {usual:g} is usual.",
            argument=name,
        )
    return checked


# -------------------------------------------------------------------------------------------------
# Plain kinds of arguments: one number, an array, a text, a label; each refused by its name.


def refuse_kind(name: str, value: object, wanted: str, remedy: str) -> NoReturn:
    raise InputError(f"{name} must be {wanted}; got {described(value)}. {remedy}", argument=name)


def one_number(name: str, value: object) -> None:
    """Refuse anything but a single real number; nan and infinities are numbers here."""
    if isinstance(value, float | int) and not isinstance(value, complex):
        if isinstance(value, int) and abs(value) > sys.float_info.max:
            refuse_kind(name, value, "one real number", "Pass a smaller one.")
        return
    try:
        as_float(value)
    except (TypeError, ValueError, OverflowError, RuntimeError):  # the last one of tensors
        refuse_kind(name, value, "one real number", "Pass a single such number.")


def real_numbers(name: str, value: object) -> None:
    """Refuse what cannot be read as an array of real numbers."""
    if isinstance(value, float) or (type(value) is np.ndarray and value.dtype.kind in "biuf"):
        return
    array = reals(name, value)
    if np.isnan(array).any() and np.asarray(value).dtype.kind == "O":
        refuse_kind(name, value, "real numbers", "Remove what is missing first.")


def a_pair(name: str, value: object) -> None:
    """Refuse anything but a pair of numbers."""
    if not isinstance(value, Sequence | np.ndarray) or not is_listed(value) or len(value) != 2:
        refuse_kind(name, value, "a pair of numbers", "Write (0.2, 0.5).")
    for place, part in enumerate(value):
        one_number(f"{name}[{place}]", part)


def a_range(name: str, value: object) -> None:
    """Refuse anything but a pair of numbers, either of which may be None."""
    if isinstance(value, tuple | list):
        value = [0.0 if part is None else part for part in value]
    a_pair(name, value)


def named_numbers(name: str, value: object) -> None:
    """Refuse anything but a mapping from names to numbers."""
    if not isinstance(value, Mapping):
        refuse_kind(name, value, "a mapping from name to number", "Write {name: 0.5, …}.")
    for key, part in value.items():
        one_number(f"{name}[{key!r}]", part)


def _kind(fits: Callable[[Any], bool], wanted: str, remedy: str) -> Callable[[str, Any], None]:
    """A check that refuses what does not fit."""

    def check(name: str, value: Any) -> None:
        if not fits(value):
            refuse_kind(name, value, wanted, remedy)

    return check


a_list = _kind(
    lambda value: not isinstance(value, str | bytes) and is_listed(value),
    "a list",
    "Pass a list, also of a single one.",
)
a_path = _kind(
    lambda value: isinstance(value, str | os.PathLike),
    "text or a path",
    "Pass a str or a pathlib.Path.",
)
a_switch = _kind(
    lambda value: isinstance(value, bool | np.bool_), "True or False", "Write one of these."
)
a_label = _kind(  # numpy's numbers and whole floats match by equality
    lambda value: isinstance(value, str | int | np.generic | float) and value == value,
    "a label, of type str, int or bool",
    "Labels match by equality.",
)
a_shape = _kind(
    lambda value: isinstance(value, tuple) and all(isinstance(n, int) and n >= 0 for n in value),
    "a shape, a tuple of whole numbers",
    "Write (3, 2).",
)
a_function = _kind(callable, "a function", "Pass it by its name, without brackets.")


# Distributions over classes: priors and posteriors -----------------------------------------------

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
