"""Kinds of arrays and labels, and how messages show them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.intp]
BoolArray = npt.NDArray[np.bool_]
Label = str | int | bool
Labels = tuple[Label, ...]


def frozen(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return the same array, made read-only."""
    array.setflags(write=False)
    return array


def described(values: object) -> str:
    text = repr(values)
    return f"{type(values).__name__} {text if len(text) <= 60 else text[:57] + '...'}"


def listed(names: Sequence[object]) -> str:
    shown = ", ".join(repr(name) for name in names[:8])
    return shown + (f", … ({len(names)} in all)" if len(names) > 8 else "")
