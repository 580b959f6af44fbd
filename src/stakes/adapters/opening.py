"""Whatever a caller hands over, opened as a source of columns: frames, relations, files."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import narwhals.stable.v2 as nw

from stakes import _check
from stakes.adapters.frame_sources import frame_source
from stakes.adapters.sources import ENGINES, NUMPY, Source
from stakes.errors import InputError


@contextmanager
def opened(frame: Any, engine: str | None = None) -> Iterator[Source]:
    """The rows of a frame of any library, of a relation, or of files, as a source of columns.

    `engine` is the one of `ENGINES` that must tally the rows, "numpy" meaning arrays in memory;
    with None any will do.
    """
    if engine is not None and not (isinstance(engine, str) and engine in ENGINES):
        raise InputError(
            f"engine must be one of {', '.join(ENGINES)}, or None; got "
            f"{_check.described(engine)}. None lets the size decide.",
            argument="engine",
        )
    with _source(frame, engine) as source:
        if engine not in (None, NUMPY, source.engine):
            known = dict.fromkeys((NUMPY, source.engine, *source.others))
            raise InputError(
                f"engine must be one of {', '.join(known)} for {source.name}; got {engine!r}. Hand "
                f"over a frame of {engine}, or leave engine out.",
                argument="engine",
            )
        yield source


def _source(frame: Any, engine: str | None) -> AbstractContextManager[Source]:
    if isinstance(frame, Source):
        return nullcontext(frame)
    if isinstance(frame, str | os.PathLike | list | tuple):
        paths = [_path(path) for path in (frame if isinstance(frame, list | tuple) else [frame])]
        return _spark_files(paths) if engine == "spark" else _files(paths)
    if type(frame).__module__.startswith("pyarrow._dataset"):
        return _relation(frame)  # narwhals has no expressions for a data set of PyArrow
    # DuckDB reads the memory of Arrow without a copy.
    source = frame_source(frame)
    if engine == "duckdb" and isinstance(source.frame, nw.DataFrame):
        return _relation(source.frame.to_arrow())
    return nullcontext(source)


def _files(paths: Sequence[str]) -> AbstractContextManager[Source]:
    from stakes.adapters.duck import opened_files

    return opened_files(paths)


def _spark_files(paths: Sequence[str]) -> AbstractContextManager[Source]:
    from stakes.adapters.cluster import spark_files

    return spark_files(paths)


def _relation(rows: Any) -> AbstractContextManager[Source]:
    from stakes.adapters.relations import opened_rows

    return opened_rows(rows)


def _path(path: Any) -> str:
    try:
        return os.path.expanduser(os.fsdecode(path))
    except TypeError:
        raise InputError(
            f"frame must name files by their paths; one of them is {_check.described(path)}. Pass "
            f"text.",
            argument="frame",
        ) from None
