"""Parts of maps that came as text: the rules that they must keep, each with its message."""

from __future__ import annotations

from typing import Any

import numpy as np

from stakes import _check
from stakes._check import FloatArray, Labels
from stakes.errors import InputError

_REMEDY = "Fit again, or pass the text as to_json wrote it."


def read_part(name: str, value: Any, type_: str) -> Any:
    """One part from its JSON, by the type of the field; numbers are finite."""
    if type_ == "bool":
        if not isinstance(value, bool):
            raise InputError(f"{name} must be true or false; got {value!r}. {_REMEDY}")
        return value
    if type_ == "Labels":
        if not isinstance(value, list):
            raise InputError(f"{name} must be a list of labels; got {value!r}. {_REMEDY}")
        return _check.labels(name, value)
    if isinstance(value, bool) or not isinstance(value, int | float | list):
        raise InputError(f"{name} must hold numbers; got {value!r}. {_REMEDY}")
    if type_ == "float":
        return _check.number(name, value)
    array = _check.floats(name, value)
    return array if array.ndim else array[None]  # a lone number is refused by its shape


def require_labels(classes: Labels, size: int) -> None:
    """Exactly this many classes."""
    if len(classes) != size:
        raise InputError(f"classes must be {size} labels; got {len(classes)}. {_REMEDY}")


def require_positive(name: str, value: float) -> None:
    """A number above zero."""
    if not value > 0:
        raise InputError(f"{name} must be above zero; got {value:g}. {_REMEDY}")


def require_shape(name: str, array: FloatArray, shape: tuple[int, ...]) -> None:
    """An array of this shape."""
    if array.shape != shape:
        raise InputError(f"{name} must have shape {shape}; it has {array.shape}. {_REMEDY}")


def require_increasing(name: str, array: FloatArray) -> None:
    """Numbers in strictly increasing order."""
    if array.ndim != 1 or not (array[1:] > array[:-1]).all():
        raise InputError(f"{name} must be increasing; these are not. {_REMEDY}")


def require_rising(names: str, array: FloatArray) -> None:
    """Numbers that do not fall."""
    if not (np.diff(array) >= 0).all():
        raise InputError(f"{names} must not fall; these do. {_REMEDY}")
