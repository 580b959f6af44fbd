"""Fitted maps from scores to posteriors: values made of plain parts, which travel as JSON.

A map is numbers and labels only, so that it is shipped as JSON and never as a pickle. Parts that
came as text must keep the rules of their map, each with its message.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from dataclasses import fields
from typing import Any, ClassVar, Self

import numpy as np

from stakes import _check
from stakes._check import FloatArray, Labels
from stakes._value import Value
from stakes.errors import InputError

_FORMAT = "stakes.calibration"
_VERSION = 1
_REMEDY = "Fit again, or pass the text as to_json wrote it."


class CalibrationMap(Value, ABC):
    """A fitted map from scores to posteriors; subclasses are frozen dataclasses of plain parts."""

    kind: ClassVar[str]
    classes: Labels
    converged: bool

    def __init_subclass__(cls) -> None:
        kind = vars(cls).get("kind")
        if not isinstance(kind, str):
            raise InputError(
                f"kind must be a str, which names the map in JSON; {cls.__name__} has none of its "
                f'own. Write kind: ClassVar[str] = "…".'
            )
        known = _KINDS.setdefault(kind, cls)
        if (known.__module__, known.__qualname__) != (cls.__module__, cls.__qualname__):
            raise InputError(
                f"kind must be new; {kind!r} is that of {known.__name__} already. "
                f"Give {cls.__name__} another one."
            )
        _KINDS[kind] = cls

    @abstractmethod
    def __call__(self, scores: object) -> FloatArray:
        """Posteriors of new scores."""

    def _checked(self) -> Self:
        """Return the map if its parts, which came as text, fit together; others are refused."""
        return self

    def to_json(self) -> str:
        """Write the map as text; `from_json` reads it back, exactly."""
        return json.dumps({"format": _FORMAT, "version": _VERSION, **_encoded(self)})


_KINDS: dict[str, type[CalibrationMap]] = {}


def _encoded(part: CalibrationMap) -> dict[str, Any]:
    body = {field.name: _plain(getattr(part, field.name)) for field in fields(part)}  # type: ignore[arg-type]
    return {"kind": part.kind, **body}


def _plain(part: Any) -> Any:
    if isinstance(part, CalibrationMap):
        return _encoded(part)
    if isinstance(part, np.ndarray):
        return part.tolist()
    return [_plain(item) for item in part] if isinstance(part, tuple) else part


def from_json(text: str) -> CalibrationMap:
    """Read a map that `CalibrationMap.to_json` wrote.

    Examples
    --------
    >>> from stakes.calibration import Logistic
    >>> fitted = Logistic().fit([-1.0, 0.5, 0.2, 2.0], [0, 0, 1, 1])
    >>> from_json(fitted.to_json()) == fitted
    True
    """
    if not isinstance(text, str):
        raise InputError(
            f"text must be a str; got {type(text).__name__}. Pass what to_json wrote, and read a "
            f"file by Path.read_text."
        )
    try:
        body = json.loads(text)
    except (ValueError, RecursionError) as fault:
        raise InputError(
            f"text must be JSON; it is not: {fault}. Pass what to_json wrote."
        ) from None
    if not isinstance(body, dict) or body.pop("format", None) != _FORMAT:
        raise InputError(
            f"text must be a calibration map; its format is not {_FORMAT!r}. "
            f"Pass what to_json wrote."
        )
    version = body.pop("version", None)
    if version is True or version != _VERSION:
        raise InputError(
            f"text must be of version {_VERSION}; it is of version {version!r}. "
            f"Read it with the release of stakes that wrote it, or fit again."
        )
    body.pop("prior", None)  # a note of the command line, for which prior it was fitted
    return _decoded(body)


def _decoded(body: object) -> CalibrationMap:
    if not isinstance(body, dict):
        raise InputError(f"a map must be an object; got {body!r}. Pass what to_json wrote.")
    kind = body.get("kind")
    if not isinstance(kind, str) or kind not in _KINDS:
        raise InputError(
            f"kind must be one of {', '.join(sorted(_KINDS))}; got {kind!r}. "
            f"A newer release of stakes may know it."
        )
    cls = _KINDS[kind]
    wanted = {field.name: str(field.type) for field in fields(cls)}  # type: ignore[arg-type]
    if set(wanted) != set(body) - {"kind"}:
        odd = sorted(set(wanted) ^ (set(body) - {"kind"}))
        raise InputError(f"a {kind} map must have {sorted(wanted)}; {odd[0]!r} is odd. Fit again.")
    found = {name: _part(name, body[name], type_) for name, type_ in wanted.items()}
    if len(found["classes"]) < 2:
        raise InputError(
            f"classes must be 2 labels or more; got {len(found['classes'])}. Fit again."
        )
    return cls._trusted(**found)._checked()


def _part(name: str, value: Any, type_: str) -> Any:
    """One part from its JSON, by the type of the field; numbers are finite."""
    if type_.startswith("tuple"):
        if not isinstance(value, list):
            raise InputError(f"{name} must be a list of maps; got {value!r}. {_REMEDY}")
        return tuple(_decoded(item) for item in value)
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


# Rules of parts ----------------------------------------------------------------------------------


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
