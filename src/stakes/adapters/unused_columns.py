"""Columns of a frame that nobody used, in its first rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pyarrow as pa

from stakes._check import IntArray
from stakes.adapters.columns import Columns
from stakes.adapters.sources import Source
from stakes.evaluation import RepeatedColumn, read_cases, repeats_caveat
from stakes.problem import Problem
from stakes.report import LEFT_OUT, Report

_MOST_ROWS = 10_000  # the first of the frame or file, in which values are looked at
_MOST_COLUMNS = 30  # the first of those that may be clusters
_TEXTS = (nw.String, nw.Categorical, nw.Enum)
_FEW, _FEWEST = 1000, 40  # rows of a first look, and the distinct values that it needs
_SIZE = "size"


def with_repeats(report: Report, source: Source, columns: Columns, problem: Problem) -> Report:
    """The report, with a caveat where rows that share a value of an unused column are alike.

    The first 10,000 rows are decided by the rule of the cheapest system. Where there are more, a
    column that looks suspicious in these takes one pass over all, which counts its values.
    """
    unused = _unused(source, columns, problem)
    if not unused:
        return report
    needed = columns.needed(problem)
    first = source.first([*needed, *unused], _MOST_ROWS)
    encoded = {name: _encoded(first, name, whole=source.is_whole(name)) for name in unused}
    encoded = {name: column for name, column in encoded.items() if _may_repeat(column.codes)}
    if not encoded:
        return report
    first = first.select(*dict.fromkeys(needed))
    rows = Source(source.name, dict(first.schema), first).rows(columns, problem, len(first))
    cases = read_cases(rows.y_true, problem.with_limits(None), rows.weights, None, None, rows.data)

    def decide(system: str) -> IntArray:
        rule = report.rule(system)
        decided = rule.decision_indices(rows.models[rule.model], rows.data)
        return np.asarray(cases.rows(decided))

    repeated = {
        name: RepeatedColumn(cases.rows(column.codes), cases.rows(column.values))
        for name, column in encoded.items()
    }
    growth = partial(_growth, source, report.assumptions.n_rows, repeated)
    caveat = repeats_caveat(report, cases, decide, repeated, growth)
    if caveat is None:
        return report
    kept = [note for note in report.caveats if note.kind != LEFT_OUT]
    others = [note for note in report.caveats if note.kind == LEFT_OUT]
    return replace(report, caveats=(*kept, caveat, *others))


def _unused(source: Source, columns: Columns, problem: Problem) -> list[str]:
    """The first columns of text or whole numbers that nobody used; none where clusters are."""
    if columns.clusters is not None:
        return []
    used = {*columns.needed(problem)}
    free = [name for name in source.types if isinstance(name, str) and name not in used]
    likely = [name for name in free if source.is_whole(name) or source.types[name] in _TEXTS]
    return likely[:_MOST_COLUMNS]


def _may_repeat(codes: IntArray) -> bool:
    """Whether a column may have a hundred values, none in more than 2 % of the rows.

    Of a thousand rows, such a column hardly ever has fewer than fifty values.
    """
    some = codes[:: max(1, len(codes) // _FEW)]
    return np.unique(some).size >= min(_FEWEST, len(some) // 2)


def _encoded(first: nw.DataFrame[Any], column: str, *, whole: bool) -> RepeatedColumn:
    """The values of a column of text or whole numbers."""
    series = first[column]
    if first.implementation.is_pandas() and not whole:  # half the time that Arrow takes for text
        return RepeatedColumn(series.to_native().factorize()[0], None)
    values = pa.chunked_array(series.to_arrow()).combine_chunks()
    indices = values.dictionary_encode().indices
    codes = np.asarray(indices.fill_null(-1), dtype=np.intp)
    numbers = np.asarray(values.fill_null(0), dtype=np.float64) if whole else None
    return RepeatedColumn(codes, numbers)


def _growth(
    source: Source, n_rows: int, repeated: Mapping[str, RepeatedColumn], column: str
) -> float:
    """How many pairs of equal values there are for each row, over the same in the first rows."""
    sizes = np.bincount(repeated[column].codes + 1)[1:].astype(np.float64)
    if len(repeated[column].codes) >= n_rows:
        return 1.0
    counted = source.frame.lazy().filter(~nw.col(column).is_null()).group_by(column)
    size = nw.col(_SIZE).cast(nw.Float64)
    with source.engine_errors():
        sums = counted.agg(nw.len().alias(_SIZE)).select((size * (size - 1.0)).sum()).collect()
    pairs = float(sums[_SIZE][0])
    return pairs / n_rows / (float(sizes @ (sizes - 1)) / len(repeated[column].codes))
