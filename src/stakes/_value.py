"""Records, which do not change, and values, which are equal when their content is.

A record is a frozen dataclass, equal to itself only. A value is a record whose fields are plain
Python objects or read-only arrays: two values are equal when they are of one type and all their
fields are equal; nan equals nan here, because a value that holds an undefined number is still the
same value.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import Field, FrozenInstanceError, dataclass, field, fields
from functools import partial, wraps
from inspect import signature
from reprlib import recursive_repr
from typing import Any, ClassVar, Self, TypeVar, dataclass_transform, overload

import numpy as np

__all__ = ["Value", "record", "remembered"]

T = TypeVar("T")
V = TypeVar("V", bound="Value")


@overload
def record(cls: type[T]) -> type[T]: ...
@overload
def record(*, init: bool = True, repr: bool = True) -> Callable[[type[T]], type[T]]: ...
@dataclass_transform(eq_default=False, frozen_default=True, field_specifiers=(field,))
def record(cls: Any = None, *, init: bool = True, repr: bool = True) -> Any:
    """Make a class a frozen dataclass that is equal to itself only.

    ``dataclass(frozen=True)`` compiles four methods for each class, which took half of the time of
    ``import stakes``; here all records share three of them.
    """
    if cls is None:
        return partial(record, init=init, repr=repr)
    shared = {"__setattr__": _set_once, "__delattr__": _keep}
    if repr and "__repr__" not in vars(cls):
        shared["__repr__"] = _shown
    for name, method in shared.items():
        setattr(cls, name, method)
    return dataclass(cls, eq=False, init=init, repr=False)


def _set_once(self: Any, name: str, value: Any) -> None:
    parts = vars(self)
    if name in parts or name not in self.__dataclass_fields__:
        raise FrozenInstanceError(f"cannot assign to field {name!r}")
    parts[name] = value


def _keep(self: Any, name: str) -> None:
    raise FrozenInstanceError(f"cannot delete field {name!r}")


@recursive_repr()
def _shown(self: Any) -> str:
    parts = (f"{part.name}={getattr(self, part.name)!r}" for part in fields(self) if part.repr)
    return f"{type(self).__qualname__}({', '.join(parts)})"


class Value:
    """Mixin for a ``record``."""

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]

    @classmethod
    def _trusted(cls, **parts: Any) -> Self:
        """Build a value from parts that the library itself made, without checking them again."""
        value = object.__new__(cls)
        value._fill(parts)
        return value

    def _but(self, **changes: Any) -> Self:
        """The same value with other parts, which are not checked either."""
        parts, known = vars(self), self.__dataclass_fields__
        if parts.keys() != known.keys():  # what was computed from the old parts is left behind
            parts = {name: part for name, part in parts.items() if name in known}
        return self._trusted(**{**parts, **changes})

    def _fill(self, parts: dict[str, Any]) -> None:
        """Set the fields once; arrays become read-only."""
        for name, part in parts.items():
            if isinstance(part, np.ndarray):
                part.setflags(write=False)
            object.__setattr__(self, name, part)

    def __getstate__(self) -> dict[str, Any]:
        # Without what was computed from the parts.
        return {
            name: part for name, part in vars(self).items() if name in self.__dataclass_fields__
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._fill(state)  # pickles and copies would otherwise hold writable arrays

    def _content(self) -> tuple[Any, ...]:
        return tuple(_key(getattr(self, field.name)) for field in fields(self))

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return self._content() == other._content()

    def __hash__(self) -> int:
        return hash((type(self), self._content()))


def remembered(function: Callable[[V], T]) -> Callable[[V], T]:
    """Let a value keep the result of a function of it, which is then computed once.

    Nothing can become outdated, because a value does not change; `_but` and pickles leave results
    behind. They are shared, so that they must not be writable.
    """
    name = f"{function.__module__}.{function.__qualname__}"
    (parameter,) = signature(function).parameters

    @wraps(function)
    def recalled(*values: V, **named: V) -> T:
        if len(values) + len(named) != 1 or not named.keys() <= {parameter}:
            return function(*values, **named)  # which says what is wrong
        (value,) = values or named.values()
        memory = getattr(value, "__dict__", None)
        if memory is None:
            return function(value)  # likewise
        if name not in memory:
            memory[name] = function(value)
        result: T = memory[name]
        return result

    return recalled


_NAN = "not a number"  # stands for every nan, so that all are equal


def _key(part: Any) -> Any:
    """Something hashable that is equal exactly when the part is."""
    if isinstance(part, np.ndarray):
        if part.dtype.kind in "OU":  # bytes of objects are addresses, those of texts have a width
            return (part.shape, _key(tuple(part.ravel().tolist())))
        if part.dtype.kind != "f":
            return (part.shape, part.dtype.kind, part.tobytes())
        # Adding zero turns -0.0 into 0.0, so that equal numbers have equal bytes.
        return (part.shape, "f", np.where(np.isnan(part), np.nan, part + 0.0).tobytes())
    if isinstance(part, tuple):
        return tuple(_key(item) for item in part)
    return _NAN if isinstance(part, float) and part != part else part
