"""Reports as JSON and back, with a versioned schema.

Every value is an object of its fields; arrays are nested lists. JSON has no nan and no infinities:
they are the strings "nan", "inf" and "-inf".
"""

from __future__ import annotations

import json
import math
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np

from stakes._files import format_fault, text_of, write_whole
from stakes.errors import InputError
from stakes.problem import Problem
from stakes.render.reading import read_value
from stakes.report import Report, refuse_inconsistent
from stakes.rule import Rules

SCHEMA = "stakes-report/2"
_MOST = 80_000_000  # numbers that are written; they take some forty bytes each meanwhile


def to_json(report: Report, path: str | Path | None = None) -> str:
    """The report as JSON, also written to a file if a path is passed.

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
    text = json.dumps({"schema": SCHEMA, **plain(report)}, ensure_ascii=False, allow_nan=False)
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
    ...     from_json("{}")
    ... except InputError as error:
    ...     print(str(error).split(";")[0])
    source must be a report of schema 'stakes-report/2'
    """
    text = text_of("source", source, "a report")
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:  # also a number of too many digits
        raise InputError(
            f"source must be the JSON of a report; it is not: {error}. Pass what to_json wrote.",
            argument="source",
        ) from None
    schema = data.pop("schema", None) if isinstance(data, dict) else None
    if schema is None and isinstance(data, dict) and "format" in data:
        raise InputError(
            f"source must be a report; {format_fault(data, SCHEMA)}. Pass what to_json wrote.",
            argument="source",
        )
    if schema != SCHEMA:
        raise InputError(
            f"source must be a report of schema {SCHEMA!r}; its schema is {schema!r}. "
            f"Read it with the version of stakes that wrote it."
        )
    try:
        report: Report = read_value(Report, data, "report")
        refuse_inconsistent(report)
    except KeyError as error:
        fault = f"{error} is missing"
    except (TypeError, ValueError, OverflowError) as error:
        fault = str(error)
    else:
        return report
    raise InputError(
        f"source must be a whole report as to_json wrote it; it is not: "
        f"{fault.rstrip('.')}. Write it again.",
        argument="source",
    )


def refuse_too_long(report: Report) -> None:
    """Refuse a report of so many classes that writing every cell takes gigabytes."""
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
    if numbers > _MOST:
        raise InputError(
            f"the report must have at most {_MOST:,} numbers to be written; with "
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


def plain(value: Any) -> Any:
    """The value as dicts, lists, text, numbers and None."""
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, Problem):
        return {"costs": plain(value.written), **_parts(value)}
    if isinstance(value, Rules):
        return {name: rule.plain() for name, rule in value.fitted().items()}
    if is_dataclass(value):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, np.ndarray):
        return value.tolist() if np.isfinite(value).all() else plain(value.tolist())
    if isinstance(value, list | tuple):
        return [plain(part) for part in value]
    return value


def _parts(problem: Problem) -> dict[str, Any]:
    """The fields of a problem other than its costs."""
    names = ("classes", "decisions", "prior", "unit", "answers", "limits")
    return {name: plain(getattr(problem, name)) for name in names}
