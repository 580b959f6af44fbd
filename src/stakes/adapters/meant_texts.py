"""What texts in a column of a file are meant as: CSV files hold nothing but text, JSON no times.

All texts of a column decide together, so that neither the order of the rows nor a sample of them
matters.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from stakes.adapters.data_files import Format, literal, quoted

_DATE, _TIME = r"\d{4}-\d\d-\d\d", r"([01]\d|2[0-3]):\d\d(:\d\d(\.\d{1,6}0*)?)?"
_NANOSECONDS = _TIME.replace("{1,6}", "{1,9}")
_TIMES = {  # types of DuckDB, and what texts look like that are meant as such
    "TIMESTAMP": rf"{_DATE}([T ]{_TIME})?",
    "TIMESTAMP_NS": rf"{_DATE}([T ]{_NANOSECONDS})?",
    "TIMESTAMPTZ": rf"{_DATE}[T ]{_TIME}(Z|[-+]\d\d(:?\d\d)?)",
    "TIME": _TIME,
}
_VALUES = {
    "BIGINT": r"-?(0|[1-9]\d{0,17})(\.0*)?",  # a leading zero (a postal code) is no number
    "HUGEINT": r"-?(0|[1-9]\d{0,37})(\.0*)?",
    # Exact up to 15 digits.
    "DOUBLE": r"-?(0|[1-9]\d{0,14})(\.\d*)?([eE][-+]?\d+)?|[nN]a[nN]|-?[iI]nf",
    "BOOLEAN": r"(?i)true|false",
}
_FORMS = {Format.CSV: _VALUES | _TIMES, Format.JSON: _TIMES}


def with_meant_types(rows: Any, columns: Sequence[str], file_format: Format) -> Any:
    """A relation of DuckDB in which some columns of text have the type that they are meant to have.

    >>> import duckdb
    >>> texts = duckdb.sql("SELECT * FROM (VALUES ('10', '01'), ('9', '1')) rows(age, code)")
    >>> [str(kind) for kind in with_meant_types(texts, ["age", "code"], Format.CSV).types]
    ['BIGINT', 'VARCHAR']
    """
    types = typed(rows)
    texts = [column for column in columns if types[column] == "VARCHAR"]
    tests = {
        (column, kind): f"bool_and(regexp_full_match({name}, {literal(form)}) AND "
        f"TRY_CAST({name} AS {kind}) IS NOT NULL) FILTER (WHERE {name} IS NOT NULL)"
        for column, name in zip(texts, map(quoted, texts), strict=True)
        for kind, form in _FORMS.get(file_format, {}).items()
    }
    if not tests:
        return rows
    [answers] = rows.aggregate(", ".join(tests.values())).fetchall()
    fits = [test for test, fit in zip(tests, answers, strict=True) if fit]
    return with_types(rows, dict(reversed(fits)))  # the first that fits


def typed(rows: Any) -> dict[str, str]:
    """The columns of a relation of DuckDB, and their types."""
    return dict(zip(rows.columns, map(str, rows.types), strict=True))


def with_types(rows: Any, types: Mapping[str, str]) -> Any:
    """A relation in which some columns have other types.

    >>> import duckdb
    >>> typed(with_types(duckdb.sql("SELECT 1 AS a, 2 AS b"), {"b": "DOUBLE"}))
    {'a': 'INTEGER', 'b': 'DOUBLE'}
    """
    casts = (
        f"{quoted(name)}::{types[name]} AS {quoted(name)}" if name in types else quoted(name)
        for name in rows.columns
    )
    return rows.project(", ".join(casts)) if types else rows
