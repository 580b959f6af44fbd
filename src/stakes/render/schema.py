"""The JSON Schema of what `to_json` writes, read off the dataclasses of a report."""

from __future__ import annotations

from dataclasses import MISSING, fields
from types import NoneType, UnionType
from typing import Any, get_args, get_origin, get_type_hints

from stakes._check import BoolArray, FloatArray, IntArray
from stakes.problem import Problem
from stakes.render.json import SCHEMA
from stakes.report import Report
from stakes.rule import Rules

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

    What a later release adds has a default here, and is not required; a `closed` schema permits no
    fields but those of this release.

    Examples
    --------
    >>> schema = report_schema()
    >>> schema["properties"]["schema"], "verdict" in schema["required"]
    ({'const': 'stakes-report/2'}, True)
    """
    found: dict[str, dict[str, Any]] = {
        name: {"anyOf": [item, {"type": "array", "items": {"$ref": f"#/$defs/{name}"}}]}
        for name, item in zip(_ITEMS.values(), (_NUMBER, _PLAIN[int], _PLAIN[bool]), strict=True)
    }
    _schema_of(Report, found, closed)
    whole = found.pop(Report.__name__)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A report of stakes",
        **whole,
        "properties": {"schema": {"const": SCHEMA}, **whole["properties"]},
        "required": ["schema", *whole["required"]],
        "$defs": found,
    }


def _schema_of(kind: Any, found: dict[str, dict[str, Any]], closed: bool) -> dict[str, Any]:
    """The schema of a type; those of dataclasses are collected by their names."""
    if get_origin(kind) is UnionType:
        return {"anyOf": [_schema_of(part, found, closed) for part in get_args(kind)]}
    if get_origin(kind) is tuple:
        first, *others = get_args(kind)
        if others == [...]:
            return {"type": "array", "items": _schema_of(first, found, closed)}
        parts = [_schema_of(part, found, closed) for part in (first, *others)]
        return {"type": "array", "prefixItems": parts, "minItems": len(parts), "items": False}
    if kind in _ITEMS:
        return {"$ref": f"#/$defs/{_ITEMS[kind]}"}
    if kind in _PLAIN:
        return _PLAIN[kind]
    if kind is Problem:
        return _PROBLEM
    if kind is Rules:
        rule = {"type": "object", "properties": {"problem": _PROBLEM}, "required": ["system"]}
        return {"type": "object", "additionalProperties": rule}
    name = kind.__name__
    if name not in found:
        found[name] = {}  # it may hold others of its own kind
        hints = get_type_hints(kind)
        found[name] |= {
            "type": "object",
            "properties": {
                one.name: _schema_of(hints[one.name], found, closed) for one in fields(kind)
            },
            "required": [one.name for one in fields(kind) if one.default is MISSING],
            "additionalProperties": not closed,
        }
        if closed and kind is Report:
            found[name]["properties"] |= {"schema": {"const": SCHEMA}}
    return {"$ref": f"#/$defs/{name}"}
