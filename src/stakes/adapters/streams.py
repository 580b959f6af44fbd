"""Columns of a lazy frame as blocks of arrays, where its engine hands them out in turn."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import closing
from typing import Any

import numpy as np
import numpy.typing as npt

from stakes.adapters.expressions import Arrays
from stakes.adapters.sources import Lazy

_BLOCK = 1 << 20  # rows at a time
_KINDS = {"double": "float64", "float": "float32"}  # what Arrow and numpy do not call alike


def can_stream(frame: Lazy) -> bool:
    """Whether blocks of rows can be had without reading all of them first."""
    name = frame.implementation.value
    return name == "duckdb" or (name == "polars" and hasattr(frame.to_native(), "collect_batches"))


def blocks_of(frame: Lazy) -> Generator[Arrays, None, None]:
    """All columns, which hold numbers, block by block, in any order; gaps are nan.

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
    """Batches of Arrow."""
    if engine == "polars":
        for part in native.collect_batches(chunk_size=_BLOCK, maintain_order=False):
            yield from part.to_arrow().to_batches()
        return
    reader = getattr(native, "to_arrow_reader", None) or native.fetch_arrow_reader
    with reader(_BLOCK) as batches:  # a connection has one open result at a time
        yield from batches


def _array(column: Any) -> npt.NDArray[Any]:
    """Numbers as they lie in memory; Arrow's own way to numpy would load pandas."""
    if column.null_count:
        column = column.cast("float64").fill_null(np.nan)
    kind = np.dtype(_KINDS.get(str(column.type), str(column.type)))
    return np.frombuffer(column.buffers()[1], kind, len(column), column.offset * kind.itemsize)
