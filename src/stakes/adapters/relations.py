"""Rows of PyArrow as a relation of DuckDB."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import duckdb

from stakes.adapters.data_files import OFFLINE, refuse_alike
from stakes.adapters.frame_sources import frame_source
from stakes.adapters.sources import Source


@contextmanager
def opened_rows(rows: Any) -> Iterator[Source]:
    """A table or an unread data set of PyArrow as a source of columns."""
    refuse_alike("the frame", rows.schema.names)
    with duckdb.connect(config=OFFLINE) as connection:
        yield replace(frame_source(connection.from_arrow(rows)), interrupt=connection.interrupt)
