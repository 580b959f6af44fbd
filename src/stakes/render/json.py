"""Reports as JSON and back, with a versioned schema.

Every value is an object of its fields; arrays are nested lists. JSON has no nan and no infinities:
they are the strings "nan", "inf" and "-inf".
"""

from __future__ import annotations

import json
import math
from dataclasses import MISSING, fields, is_dataclass
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, get_args, get_origin, get_type_hints

import numpy as np

from stakes._check import BoolArray, FloatArray, IntArray
from stakes._files import text_of, write_whole
from stakes._value import Value
from stakes.errors import InputError
from stakes.problem import Limit, Problem
from stakes.report import Report
from stakes.rule import Rule, Rules

SCHEMA = "stakes-report/2"

# What NDArray[…] is made of differs between versions of numpy; that two are equal does not.
_DTYPES: dict[Any, type[np.generic]] = {
    FloatArray: np.float64,
    IntArray: np.intp,
    BoolArray: np.bool_,
}


def to_json(report: Report, path: str | Path | None = None) -> str:
    """The report as JSON text, written to a file when a path is given."""
    text = json.dumps({"schema": SCHEMA, **plain(report)}, ensure_ascii=False, allow_nan=False)
    if path is not None:
        write_whole(path, text)
    return text


def from_json(source: str | Path) -> Report:
    """The report written as JSON: its text, or the path of a file."""
    text = text_of("text", source, "a report")
    try:
        data = json.loads(text)
    except (json.JSONDecodeError, RecursionError) as error:
        raise InputError(
            f"text must be the JSON of a report; it is not: {error}. Pass what to_json wrote.",
            argument="text",
        ) from None
    schema = data.pop("schema", None) if isinstance(data, dict) else None
    if schema != SCHEMA:
        raise InputError(
            f"text must be a report of schema {SCHEMA!r}; its schema is {schema!r}. "
            f"Read it with the version of stakes that wrote it."
        )
    try:
        report: Report = _value(Report, data)
    except KeyError as error:
        fault = f"{error} is missing"
    except (TypeError, ValueError) as error:
        fault = str(error)
    else:
        return report
    raise InputError(
        f"text must be a whole report as to_json wrote it; it is not: "
        f"{fault.rstrip('.')}. Write it again."
    )


def plain(value: Any) -> Any:
    """The value made of dicts, lists, text, numbers and None alone."""
    if isinstance(value, Problem):
        return {"costs": plain(value.written), **_parts(value)}
    if isinstance(value, Rules):
        return {name: rule.plain() for name, rule in value.made().items()}
    if is_dataclass(value):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, list | tuple):
        return [plain(part) for part in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value


def _parts(problem: Problem) -> dict[str, Any]:
    """What a problem holds beside its costs."""
    names = ("classes", "decisions", "prior", "unit", "answers", "limits")
    return {name: plain(getattr(problem, name)) for name in names}


def _problem(data: dict[str, Any]) -> Problem:
    """The problem again; costs that are text are expressions of columns."""
    parts = {name: data[name] for name in ("costs", "classes", "decisions", "prior", "unit")}
    answers = dict(zip(data["decisions"], data["answers"], strict=True))
    limits = [Limit(**limit) for limit in data.get("limits", [])]  # older reports have none
    return Problem(**parts, answers=answers, limits=limits)


def _value(kind: Any, data: Any) -> Any:
    """The value of a type that these plain parts stand for."""
    if get_origin(kind) is UnionType:
        kinds = get_args(kind)
        if data is None and NoneType in kinds:
            return None
        structured = [k for k in kinds if k is not NoneType]
        return _value(structured[0], data) if len(structured) == 1 else data
    if get_origin(kind) is tuple:
        parts = get_args(kind)
        inner = parts[:1] * len(data) if parts[-1] is Ellipsis else parts
        return tuple(_value(part, item) for part, item in zip(inner, data, strict=True))
    if kind in _DTYPES:
        return np.array(data, dtype=_DTYPES[kind])
    if kind is Problem:
        return _problem(data)
    if kind is Rules:
        return Rules({name: Rule.of(rule) for name, rule in data.items()})
    if is_dataclass(kind):
        hints = get_type_hints(kind)
        parsed = {
            one.name: _value(hints[one.name], data[one.name])
            if one.name in data or one.default is MISSING
            else one.default  # what an older version did not write
            for one in fields(kind)
        }
        made: Any = kind
        return made._trusted(**parsed) if issubclass(made, Value) else made(**parsed)
    return float(data) if kind is float else data
