"""Plain kinds of arguments: one number, an array, a text, a label; each refused by its name."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

import numpy as np

from stakes._check.kinds import described
from stakes._check.labels import is_listed
from stakes._check.numbers import as_float, reals
from stakes.errors import InputError


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
