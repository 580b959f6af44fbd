"""Reports as JSON and back, with a versioned schema."""

from __future__ import annotations

import json
import math
from dataclasses import MISSING, fields, is_dataclass
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, NoReturn, get_args, get_origin, get_type_hints

import numpy as np

from stakes._check import BoolArray, FloatArray, IntArray, a_switch, described, require, writable
from stakes._files import TO_JSON, format_fault, sealed, text_of, verify, write_whole
from stakes._value import Value
from stakes.errors import InputError
from stakes.problem import Problem
from stakes.report import CORRECTED, OWN_COLUMN, RANGES, Report, refuse_inconsistent
from stakes.rule import Rule, Rules
from stakes.tally import Counts, ScoreTable

# Reports as JSON and back, with a versioned schema -----------------------------------------------
#
# Every value is an object of its fields; arrays are nested lists. JSON has no nan and no
# infinities: they are the strings "nan", "inf" and "-inf".

SCHEMA = "stakes-report/3"
_MOST_NUMBERS = 80_000_000  # numbers that are written; each takes some forty bytes of memory

# Compared by equality, because the internals of NDArray[…] differ between versions of numpy.
_ENTRIES: dict[Any, type] = {FloatArray: float, IntArray: int, BoolArray: bool}
_NAMED = {float: "a number", int: "a whole number", bool: "true or false", str: "text"}
_NO_NUMBERS = ("nan", "inf", "-inf")  # floats that JSON cannot hold, as text
_TOO_LARGE = 2**63  # larger integers do not fit into an array


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
        return Problem.of(data)
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
    # A label is never put into an array, so that a whole number may be of any size.
    return data if isinstance(data, int) else read_value(type(data), data, where)


def _tuple(parts: tuple[Any, ...], data: Any, where: str) -> tuple[Any, ...]:
    """A tuple from a list, of one type or with a type for each place."""
    if not isinstance(data, list):
        _refuse(where, "a list", data)
    inner = parts[:1] * len(data) if parts[-1] is Ellipsis else parts
    if len(inner) != len(data):
        _refuse(where, f"a list of {len(inner)}", data)
    pairs = enumerate(zip(inner, data, strict=True))
    return tuple(read_value(part, item, f"{where}[{k}]") for k, (part, item) in pairs)


def _array(entry: type, data: Any, where: str) -> Any:
    """An array from nested lists."""

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
    # Other programs may have written whole floats as integers; true and false are no numbers.
    if kind is float and number and abs(data) < math.inf and _is_double(data):
        return float(data)
    if type(data) is not kind or kind is float:
        _refuse(where, _NAMED[kind], data)
    if isinstance(data, int) and abs(data) >= _TOO_LARGE:
        _refuse(where, f"{_NAMED[kind]} below 2^63", data)
    return writable(where, data) if isinstance(data, str) else data


def _is_double(number: float) -> bool:
    try:
        return math.isfinite(float(number))
    except OverflowError:  # an integer beyond the range of doubles
        return False


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
    weighted = {"weighted": parts.pop("weighted")} if kind in (Counts, ScoreTable) else {}
    if kind in (Counts, ScoreTable):
        if parts.pop("groups") is not None:
            raise InputError(f"{where} must have no groups; it has.")
    elif issubclass(kind, Value) and not hasattr(kind, "__post_init__"):
        return kind._trusted(**parts)
    try:
        value = kind(**parts)
    except InputError as error:
        raise InputError(f"{where}: {error}") from None
    return value._but(**weighted) if weighted else value


def to_json(report: Report, path: str | Path | None = None) -> str:
    """The report as JSON with a checksum, also written to a file if a path is passed.

    Parameters
    ----------
    report : the report
    path : file to write; None writes none

    Returns
    -------
    str
        The JSON.

    Examples
    --------
    >>> from stakes import Problem, evaluate
    >>> y, p = [0, 0, 0, 1] * 25, [0.02, 0.05, 0.3, 0.6] * 25
    >>> report = evaluate(y, {"new": p}, Problem.zero_one(2), calibrator=None)
    >>> from_json(to_json(report)) == report
    True
    """
    refuse_too_long(report)
    text = sealed({"schema": SCHEMA, **plain_value(report)})
    if path is not None:
        write_whole(path, text)
    return text


def from_json(source: str | Path) -> Report:
    """Read a report from its JSON.

    Parameters
    ----------
    source : the JSON, or the path of a file that holds it

    Returns
    -------
    Report
        The report as it was written.

    Examples
    --------
    >>> try:
    ...     from_json('{"schema": "stakes-report/0"}')
    ... except InputError as error:
    ...     print(str(error).split(";")[0])
    source must be a report of schema 'stakes-report/3'
    """
    text = text_of("source", source, "a report")
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:  # also a number of too many digits
        raise InputError(
            f"source must be the JSON of a report; it is not: {error}.",
            argument="source",
            remedy=TO_JSON,
        ) from None
    schema = data.get("schema") if isinstance(data, dict) else None
    if schema is None and isinstance(data, dict) and "format" in data:
        raise InputError(
            f"source must be a report; {format_fault(data, SCHEMA)}.",
            argument="source",
            remedy=TO_JSON,
        )
    if schema is None:
        raise InputError(
            "source must be a report; it is JSON without a schema.",
            argument="source",
            remedy=TO_JSON,
        )
    if schema != SCHEMA:
        raise InputError(
            f"source must be a report of schema {SCHEMA!r}; its schema is {schema!r}. "
            f"Read it with the version of stakes that wrote it."
        )
    try:
        report: Report = read_value(Report, data, "report")
        refuse_inconsistent(report)  # before the checksum, because its messages are more specific
    except KeyError as error:
        fault = f"{error} is missing"
    except (TypeError, ValueError, OverflowError) as error:
        fault = str(error)
    else:
        verify("source", data, "a report")
        return report
    raise InputError(
        f"source must be a whole report as to_json wrote it; it is not: "
        f"{fault.rstrip('.')}. Write it again.",
        argument="source",
    )


def refuse_too_long(report: Report) -> None:
    """Refuse a report of so many classes that writing every cell takes gigabytes."""
    require("report", report, Report)
    problem, systems = report.problem, len(report.systems)
    shared = problem.n_classes * problem.n_decisions * (1 + systems)  # and of the rules
    _refuse_numbers(shared + _numbers(report), problem, f"{systems:,} systems it has about")


def refuse_too_long_to_write(problem: Problem, n_models: int) -> None:
    """Refuse a report that would be too long to write, before it is made.

    Parameters
    ----------
    problem : what is at stake
    n_models : number of models, each of which will have a rule and a table of counts

    Examples
    --------
    >>> try:
    ...     refuse_too_long_to_write(Problem.zero_one(100), 9_999)
    ... except InputError as error:
    ...     print(str(error).partition("; ")[2].partition(". ")[0])
    with 100 classes and 9,999 models it will have at least 199,990,000
    """
    least = problem.n_classes * problem.n_decisions * (1 + 2 * n_models)
    _refuse_numbers(least, problem, f"{n_models:,} models it will have at least")


def _refuse_numbers(numbers: int, problem: Problem, described: str) -> None:
    """Refuse a report with more numbers than can be written."""
    if numbers > _MOST_NUMBERS:
        raise InputError(
            f"the report must have at most {_MOST_NUMBERS:,} numbers to be written; with "
            f"{problem.n_classes:,} classes and {described} {numbers:,}. Print it, take tables by "
            f"report.frame(), or merge classes that are treated alike."
        )


def _numbers(value: Any) -> int:
    """How many numbers the arrays in a value hold."""
    if isinstance(value, np.ndarray):
        return value.size
    if isinstance(value, Problem | Rules):
        return 0
    if is_dataclass(value):
        return sum(_numbers(getattr(value, field.name)) for field in fields(value))
    return sum(map(_numbers, value)) if isinstance(value, list | tuple) else 0


def plain_value(value: Any) -> Any:
    """The value as dicts, lists, text, numbers and None."""
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, Problem):
        return plain_value({**value.plain(), "limits": value.limits})
    if isinstance(value, Rules):
        return {name: rule.plain() for name, rule in value.fitted().items()}
    if is_dataclass(value):
        names = (*getattr(value, "SHOWN", ()), *(field.name for field in fields(value)))
        return {name: plain_value(getattr(value, name)) for name in names}
    if isinstance(value, np.ndarray):
        return value.tolist() if np.isfinite(value).all() else plain_value(value.tolist())
    if isinstance(value, dict):
        return {name: plain_value(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [plain_value(part) for part in value]
    return value


# The JSON Schema of reports, derived from their dataclasses --------------------------------------

_AROUND = {"schema": {"const": SCHEMA}, "checksum": {"type": "string"}}  # beside the fields
_NUMBER = {"anyOf": [{"type": "number"}, {"enum": ["nan", "inf", "-inf"]}]}
_PLAIN: dict[Any, dict[str, Any]] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    bool: {"type": "boolean"},
    float: _NUMBER,
    NoneType: {"type": "null"},
}
_ITEMS: dict[Any, str] = {FloatArray: "numbers", IntArray: "integers", BoolArray: "booleans"}
_LABELS = {"type": "array", "items": {"type": ["string", "integer", "boolean"]}}
_PROBLEM = {
    "type": "object",
    "properties": {
        "costs": {"type": "array", "items": {"type": "array"}},
        "classes": _LABELS,
        "decisions": _LABELS,
        "prior": {"anyOf": [{"type": "array", "items": {"type": "number"}}, {"type": "null"}]},
        "unit": {"type": ["string", "null"]},
        "answers": {"type": "array"},
    },
    "required": ["costs", "classes", "decisions", "prior", "unit"],
}


def report_schema(*, closed: bool = False) -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of the JSON of a report.

    Fields that later releases add have defaults and are not required.

    Parameters
    ----------
    closed : bool
        Whether to permit only the fields of this release.

    Returns
    -------
    dict
        The schema.

    Examples
    --------
    >>> schema = report_schema()
    >>> schema["properties"]["schema"], "verdict" in schema["required"]
    ({'const': 'stakes-report/3'}, True)
    """
    a_switch("closed", closed)
    definitions: dict[str, dict[str, Any]] = {
        name: {"anyOf": [item, {"type": "array", "items": {"$ref": f"#/$defs/{name}"}}]}
        for name, item in zip(_ITEMS.values(), (_NUMBER, _PLAIN[int], _PLAIN[bool]), strict=True)
    }
    _schema_of(Report, definitions, closed)
    schema = definitions.pop(Report.__name__)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A report of stakes",
        **schema,
        "properties": {**_AROUND, **schema["properties"]},
        "required": [*_AROUND, *schema["required"]],
        "$defs": definitions,
    }


def _schema_of(kind: Any, definitions: dict[str, dict[str, Any]], closed: bool) -> dict[str, Any]:
    """The schema of a type; those of dataclasses are collected by their names."""
    if get_origin(kind) is UnionType:
        return {"anyOf": [_schema_of(part, definitions, closed) for part in get_args(kind)]}
    if get_origin(kind) is tuple:
        first, *others = get_args(kind)
        if others == [...]:
            return {"type": "array", "items": _schema_of(first, definitions, closed)}
        parts = [_schema_of(part, definitions, closed) for part in (first, *others)]
        return {"type": "array", "prefixItems": parts, "minItems": len(parts), "items": False}
    if kind in _ITEMS:
        return {"$ref": f"#/$defs/{_ITEMS[kind]}"}
    if kind in _PLAIN:
        return _PLAIN[kind]
    # Problems and rules have formats of their own, apart from their fields.
    if kind is Problem:
        return _PROBLEM
    if kind is Rules:
        rule = {"type": "object", "properties": {"problem": _PROBLEM}, "required": ["system"]}
        return {"type": "object", "additionalProperties": rule}
    name = kind.__name__
    if name not in definitions:
        definitions[name] = {}  # entered before its fields, which may be of the same type
        hints = get_type_hints(kind)
        definitions[name] |= {
            "type": "object",
            "properties": {
                **dict.fromkeys(getattr(kind, "SHOWN", ()), _PLAIN[str]),
            }
            | {
                field.name: _bounded(field.name, _schema_of(hints[field.name], definitions, closed))
                for field in fields(kind)
            },
            "required": [field.name for field in fields(kind) if field.default is MISSING],
            "additionalProperties": not closed,
        }
        if closed and kind is Report:
            definitions[name]["properties"] |= _AROUND
    return {"$ref": f"#/$defs/{name}"}


_SCALE = {
    "enum": [OWN_COLUMN, CORRECTED, None],
    "description": "Of what threshold and cuts are: what the model gives, or its probability as "
    "the rule corrects it. Without it, as earlier releases wrote reports, those of recalibrated "
    "and moved systems are of the corrected probability, and the others of what the model gives.",
}


def _bounded(name: str, schema: dict[str, Any]) -> dict[str, Any]:
    """The schema of a field; shares and numbers of things have a least and a largest value."""
    if name == "scale":
        return {**schema, **_SCALE}
    low, high = RANGES.get(name, (None, math.inf))
    if low is None:
        return schema
    return {"allOf": [schema], "minimum": low, **({"maximum": high} if high < math.inf else {})}
