"""Columns of a lazy frame as a stream of blocks of arrays."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import closing
from typing import Any

import numpy as np
import numpy.typing as npt

from stakes.adapters.expressions import Arrays
from stakes.adapters.sources import Lazy

_BLOCK = 1 << 20  # rows at a time
_KINDS = {"double": "float64", "float": "float32"}  # types whose names differ in Arrow and numpy


def can_stream(frame: Lazy) -> bool:
    """Whether the engine hands out blocks of rows without reading all of them first."""
    name = frame.implementation.value
    return name == "duckdb" or (name == "polars" and hasattr(frame.to_native(), "collect_batches"))


def blocks_of(frame: Lazy) -> Generator[Arrays, None, None]:
    """Yield the columns, all of numbers, as blocks of rows in any order; missing ones are nan.

    >>> import duckdb
    >>> import narwhals.stable.v2 as nw
    >>> rows = nw.from_native(duckdb.sql("SELECT * FROM range(3) AS t(a)"))
    >>> [block["a"].tolist() for block in blocks_of(rows)]
    [[0, 1, 2]]
    """
    names = frame.collect_schema().names()
    with closing(_batches(frame.to_native(), frame.implementation.value)) as batches:
        for batch in batches:
            if len(batch):
                yield {name: _array(batch.column(k)) for k, name in enumerate(names)}


def _batches(native: Any, engine: str) -> Generator[Any, None, None]:
    """Record batches of Arrow."""
    if engine == "polars":
        for part in native.collect_batches(chunk_size=_BLOCK, maintain_order=False):
            yield from part.to_arrow().to_batches()
        return
    reader = getattr(native, "to_arrow_reader", None) or native.fetch_arrow_reader
    with reader(_BLOCK) as batches:  # closed, because a connection has only one open result
        yield from batches


def _array(column: Any) -> npt.NDArray[Any]:
    """A view of the numbers without a copy; Arrow's own ``to_numpy`` would import pandas."""
    if column.null_count:
        column = column.cast("float64").fill_null(np.nan)
    kind = np.dtype(_KINDS.get(str(column.type), str(column.type)))
    return np.frombuffer(column.buffers()[1], kind, len(column), column.offset * kind.itemsize)
