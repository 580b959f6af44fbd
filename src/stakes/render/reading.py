"""Values read from JSON, with a check that every part has the type of its field."""

from __future__ import annotations

import math
from dataclasses import MISSING, fields
from types import NoneType, UnionType
from typing import Any, NoReturn, get_args, get_origin, get_type_hints

import numpy as np

from stakes._check import BoolArray, FloatArray, IntArray, described
from stakes._value import Value
from stakes.errors import InputError
from stakes.problem import Limit, Problem
from stakes.rule import Rule, Rules
from stakes.tally import Counts, ScoreTable

# Compared by equality, because the internals of NDArray[…] differ between versions of numpy.
_ENTRIES: dict[Any, type] = {FloatArray: float, IntArray: int, BoolArray: bool}
_NAMED = {float: "a number", int: "a whole number", bool: "true or false", str: "text"}
_NO_NUMBERS = ("nan", "inf", "-inf")  # numbers that JSON lacks
_MOST = 2**63  # larger integers do not fit into an array


def read_value(kind: Any, data: Any, where: str) -> Any:
    """The value of a type from its JSON; errors say where in the report it is."""
    origin = get_origin(kind)
    if origin is UnionType:
        return _one_of(get_args(kind), data, where)
    if origin is tuple:
        return _tuple(get_args(kind), data, where)
    if kind in _ENTRIES:
        return _array(_ENTRIES[kind], data, where)
    if kind in _NAMED:
        return _plain(kind, data, where)
    _object(data, where)
    if kind is Problem:
        return read_problem(data)
    if kind is Rules:
        return Rules({name: Rule.of(_object(rule, where)) for name, rule in data.items()})
    return _value(kind, data, where)


def _refuse(where: str, rule: str, data: Any) -> NoReturn:
    raise InputError(f"{where} must be {rule}; got {described(data)}.")


def _object(data: Any, where: str) -> dict[str, Any]:
    if not isinstance(data, dict):
        _refuse(where, "an object", data)
    return data


def _one_of(kinds: tuple[Any, ...], data: Any, where: str) -> Any:
    """A value of one of several types: None, a single other type, or a label."""
    if data is None and NoneType in kinds:
        return None
    others = [kind for kind in kinds if kind is not NoneType]
    if len(others) == 1:
        return read_value(others[0], data, where)
    if type(data) not in others:
        _refuse(where, "a label", data)
    return read_value(type(data), data, where)


def _tuple(parts: tuple[Any, ...], data: Any, where: str) -> tuple[Any, ...]:
    if not isinstance(data, list):
        _refuse(where, "a list", data)
    inner = parts[:1] * len(data) if parts[-1] is Ellipsis else parts
    if len(inner) != len(data):
        _refuse(where, f"a list of {len(inner)}", data)
    pairs = enumerate(zip(inner, data, strict=True))
    return tuple(read_value(part, item, f"{where}[{k}]") for k, (part, item) in pairs)


def _array(entry: type, data: Any, where: str) -> Any:
    def entries(part: Any) -> Any:
        if isinstance(part, list):
            return [entries(item) for item in part]
        return _plain(entry, part, where)

    try:
        return np.array(entries(data), dtype=np.intp if entry is int else entry)
    except ValueError as error:  # rows of different lengths
        if isinstance(error, InputError):
            raise
        _refuse(where, "numbers of one shape", data)


def _plain(kind: Any, data: Any, where: str) -> Any:
    """A number, text, or true or false."""
    if kind is float and data in _NO_NUMBERS and isinstance(data, str):
        return float(data)
    number = isinstance(data, int | float) and not isinstance(data, bool)
    if kind is float and number and abs(data) < math.inf and _is_double(data):
        return float(data)
    if type(data) is not kind or kind is float:
        _refuse(where, _NAMED[kind], data)
    if isinstance(data, int) and abs(data) >= _MOST:
        _refuse(where, f"{_NAMED[kind]} below 2^63", data)
    if isinstance(data, str) and any("\ud800" <= character <= "\udfff" for character in data):
        _refuse(where, "text that can be written as UTF-8", data)
    return data


def _is_double(number: float) -> bool:
    try:
        return math.isfinite(float(number))
    except OverflowError:  # an integer beyond the range of doubles
        return False


def read_problem(data: dict[str, Any]) -> Problem:
    """The problem from its JSON; costs that are text are expressions of columns."""
    parts = {name: data[name] for name in ("costs", "classes", "decisions", "prior", "unit")}
    answers = dict(zip(data["decisions"], data["answers"], strict=True))
    limits = [Limit(**limit) for limit in data.get("limits", [])]  # older reports have none
    return Problem(**parts, answers=answers, limits=limits)


def _value(kind: Any, data: dict[str, Any], where: str) -> Any:
    """A dataclass of the library from its fields; tallies check that these are consistent."""
    hints, parts = get_type_hints(kind), {}
    for field in fields(kind):
        if field.name in data:
            parts[field.name] = read_value(
                hints[field.name], data[field.name], f"{where}.{field.name}"
            )
        elif field.default is MISSING:
            raise InputError(f"{where}.{field.name} is missing.")
        else:
            parts[field.name] = field.default  # an older version did not write it
    # Tallies go through their constructors, which check them; other values are trusted parts.
    if kind in (Counts, ScoreTable):
        if parts.pop("groups") is not None:
            raise InputError(f"{where} must have no groups; it has.")
    elif issubclass(kind, Value) and not hasattr(kind, "__post_init__"):
        return kind._trusted(**parts)
    try:
        return kind(**parts)
    except InputError as error:
        raise InputError(f"{where}: {error}") from None
