"""The JSON Schema of reports, derived from their dataclasses."""

from __future__ import annotations

import math
from dataclasses import MISSING, fields
from types import NoneType, UnionType
from typing import Any, get_args, get_origin, get_type_hints

from stakes._check import BoolArray, FloatArray, IntArray, a_switch
from stakes.problem import Problem
from stakes.render.json import SCHEMA
from stakes.report import CORRECTED, OWN_COLUMN, RANGES, Report
from stakes.rule import Rules

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
