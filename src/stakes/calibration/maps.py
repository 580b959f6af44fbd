"""Fitted maps from scores to posteriors, which can be stored as JSON.

A map holds only numbers and labels, so that it can be shipped as JSON and never as a pickle. Fields
that are read from JSON are checked against the rules of their map, each with its own message.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from stakes import _check
from stakes._check import FloatArray, IntArray, Labels
from stakes._files import parsed, sealed, verify, write_whole
from stakes._value import Value
from stakes.errors import InputError

_FORMAT = "stakes.calibration"
_VERSION = 1
_WHAT = "a calibration map"
_MOST = 1e200  # largest number in a map: products of larger ones overflow
# Entries that are not fields of a map; `prior` is written by the command line.
_AROUND = {"format", "version", "checksum", "prior"}
_REMEDY = "Fit again, or pass the text as to_json wrote it."


class AffineLogs(NamedTuple):
    r"""Posteriors :math:`p_k \propto \exp(b_k + \sum_j W_{kj} \log q_j)` of posteriors q.

    Attributes
    ----------
    matrix : (K, K) W
    intercepts : (K,) b
    limit : logarithms below −limit count as −limit

    Examples
    --------
    >>> from stakes.calibration import Temperature
    >>> fitted = Temperature().fit([0.2, 0.4, 0.6, 0.9], [0, 1, 0, 1])
    >>> (fitted.affine_logs.matrix * fitted.temperature).round(9).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """

    matrix: FloatArray
    intercepts: FloatArray
    limit: float


class CalibrationMap(Value, ABC):
    """A fitted map from scores to posteriors; subclasses are frozen dataclasses of plain parts.

    Examples
    --------
    >>> from stakes.calibration import Isotonic
    >>> fitted = Isotonic().fit([0.1, 0.4, 0.6, 0.9], [0, 1, 0, 1])
    >>> fitted([0.3, 0.95]).tolist()
    [0.33333333333333326, 1.0]
    """

    kind: ClassVar[str]
    _monotone_of_two: ClassVar[bool] = False  # whether maps of two classes are monotonic
    # Fields that may be arrays (n,) in `_at`, one number for each case; none where they may not.
    _by_case: ClassVar[tuple[str, ...]] = ()
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

    @property
    def monotone(self) -> bool:
        """Whether P(second class) of two is a monotonic function of the score."""
        return self._monotone_of_two and len(self.classes) == 2

    @property
    def affine_logs(self) -> AffineLogs | None:
        """The map as an affine one of log-posteriors; None where it is not."""
        return None

    @abstractmethod
    def __call__(self, scores: object) -> FloatArray:
        """Calibrated posteriors of new scores."""

    def _at(self, scores: FloatArray) -> FloatArray:
        """P(second class), (n,), from one score for each case, (n,), that was checked before."""
        return self(scores)

    @classmethod
    def _at_each(cls, maps: Sequence[Self], scores: FloatArray, which: IntArray) -> FloatArray:
        """`_at` of maps of this class: `which` (n,) is the position of the map of each case."""
        if cls._by_case:

            def by_case(name: str) -> FloatArray:
                return np.array([getattr(each, name) for each in maps])[which]

            return cls._trusted(**{name: by_case(name) for name in cls._by_case})._at(scores)
        posteriors = np.empty(scores.shape)
        for place, each in enumerate(maps):
            some = np.flatnonzero(which == place)
            posteriors[some] = each._at(scores[some])
        return posteriors

    def _checked(self) -> Self:
        """The map itself, after a check that the fields read from JSON are consistent."""
        return self

    def relabelled(self, classes: Labels) -> Self:
        """The same map with other names for its classes.

        Parameters
        ----------
        classes : the new labels

        Returns
        -------
        the map

        Examples
        --------
        >>> from stakes.calibration import Isotonic
        >>> fitted = Isotonic().fit([0.1, 0.4, 0.6, 0.9], [0, 1, 0, 1])
        >>> fitted.relabelled(("well", "ill")).classes
        ('well', 'ill')
        """
        return self._but(classes=classes)

    def to_json(self, path: str | Path | None = None) -> str:
        """The map as text, written to a file when a path is given; `from_json` reads it back.

        Parameters
        ----------
        path : where to write it; None does not

        Returns
        -------
        the JSON

        Examples
        --------
        >>> from stakes.calibration import Isotonic, from_json
        >>> fitted = Isotonic().fit([0.1, 0.4, 0.6, 0.9], [0, 1, 0, 1])
        >>> from_json(fitted.to_json()) == fitted
        True
        """
        return sealed_map(self, {}, path)


_KINDS: dict[str, type[CalibrationMap]] = {}


def sealed_map(fitted: CalibrationMap, notes: dict[str, Any], path: str | Path | None) -> str:
    """A map as JSON with a checksum, and with notes that `from_json` ignores.

    Parameters
    ----------
    fitted : the map
    notes : further entries
    path : file to write; None writes none

    Returns
    -------
    the JSON

    Examples
    --------
    >>> from stakes.calibration import Isotonic
    >>> fitted = Isotonic().fit([0.1, 0.4, 0.6, 0.9], [0, 1, 0, 1])
    >>> from_json(sealed_map(fitted, {"prior": [0.7, 0.3]}, None)) == fitted
    True
    """
    text = sealed({"format": _FORMAT, "version": _VERSION, **encoded_map(fitted), **notes})
    if path is not None:
        write_whole(path, text)
    return text


def encoded_map(part: CalibrationMap) -> dict[str, Any]:
    """The fields of a map as values for JSON.

    Parameters
    ----------
    part : the map

    Returns
    -------
    a dictionary with the kind of the map and its fields

    Examples
    --------
    >>> from stakes.calibration import Isotonic
    >>> encoded_map(Isotonic().fit([0.1, 0.4, 0.6, 0.9], [0, 1, 0, 1]))["kind"]
    'isotonic'
    """
    _check.require("part", part, CalibrationMap)
    body = {field.name: _plain(getattr(part, field.name)) for field in fields(part)}
    return {"kind": part.kind, **body}


def _plain(part: Any) -> Any:
    if isinstance(part, CalibrationMap):
        return encoded_map(part)
    if isinstance(part, np.ndarray):
        return part.tolist()
    return [_plain(item) for item in part] if isinstance(part, tuple) else part


def from_json(text: str | Path) -> CalibrationMap:
    """Read a map that `CalibrationMap.to_json` wrote: its text, or the path of a file.

    Parameters
    ----------
    text : the JSON, or the path of a file that has it

    Returns
    -------
    the map, as it was fitted

    Examples
    --------
    >>> from stakes.calibration import Logistic
    >>> fitted = Logistic().fit([-1.0, 0.5, 0.2, 2.0], [0, 0, 1, 1])
    >>> from_json(fitted.to_json()) == fitted
    True
    """
    body = parsed("text", text, _WHAT, form=_FORMAT, version=_VERSION)
    content = {key: part for key, part in body.items() if key not in _AROUND}
    fitted = decoded_map(content)  # before the checksum, because its messages are more specific
    verify("text", body, _WHAT)
    return fitted


def decoded_map(body: object) -> CalibrationMap:
    """A calibration map from its fields, which are checked.

    Parameters
    ----------
    body : the dictionary of `encoded_map`, as read from JSON

    Returns
    -------
    the map

    Examples
    --------
    >>> from stakes.calibration import Isotonic
    >>> fitted = Isotonic().fit([0.1, 0.4, 0.6, 0.9], [0, 1, 0, 1])
    >>> decoded_map(encoded_map(fitted)) == fitted
    True
    """
    if not isinstance(body, dict):
        raise InputError(f"a map must be an object; got {body!r}. Pass what to_json wrote.")
    kind = body.get("kind")
    if not isinstance(kind, str) or kind not in _KINDS:
        raise InputError(
            f"kind must be one of {', '.join(sorted(_KINDS))}; got {kind!r}. "
            f"A newer release of stakes may know it."
        )
    cls = _KINDS[kind]
    expected = {field.name: str(field.type) for field in fields(cls)}
    if set(expected) != set(body) - {"kind"}:
        odd = sorted(set(expected) ^ (set(body) - {"kind"}))
        raise InputError(
            f"a {kind} map must have {sorted(expected)}; {odd[0]!r} is odd. Fit again."
        )
    parts = {name: _part(name, body[name], type_) for name, type_ in expected.items()}
    if len(parts["classes"]) < 2:
        raise InputError(
            f"classes must be 2 labels or more; got {len(parts['classes'])}. Fit again."
        )
    return cls._trusted(**parts)._checked()


def _part(name: str, value: Any, type_: str) -> Any:
    """The value of a field from JSON, by the type of the field; numbers must be finite."""
    if type_.startswith("tuple"):
        if not isinstance(value, list):
            raise InputError(f"{name} must be a list of maps; got {value!r}. {_REMEDY}")
        return tuple(decoded_map(item) for item in value)
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
        return _check.number(name, value, low=-_MOST, high=_MOST)
    array = _check.floats(name, value)
    return array if array.ndim else array[None]  # a check of its shape will refuse a single number


# Checks of fields --------------------------------------------------------------------------------


def require_two(classes: Labels) -> None:
    """Refuse another number of classes than two."""
    if len(classes) != 2:
        raise InputError(f"classes must be 2 labels; got {len(classes)}. {_REMEDY}")


def require_positive(name: str, value: float) -> None:
    """Refuse numbers that are not positive."""
    if not value > 0:
        raise InputError(f"{name} must be above zero; got {value:g}. {_REMEDY}")


def require_shape(name: str, array: FloatArray, shape: tuple[int, ...]) -> None:
    """Refuse an array of another shape."""
    if array.shape != shape:
        raise InputError(f"{name} must have shape {shape}; it has {array.shape}. {_REMEDY}")


def require_increasing(name: str, array: FloatArray) -> None:
    """Refuse numbers that are not strictly increasing."""
    if array.ndim != 1 or not (array[1:] > array[:-1]).all():
        raise InputError(f"{name} must be increasing; these are not. {_REMEDY}")


def require_rising(names: str, array: FloatArray) -> None:
    """Refuse numbers that decrease somewhere."""
    if not (np.diff(array) >= 0).all():
        raise InputError(f"{names} must not fall; these do. {_REMEDY}")
