"""Files that Spark reads, on this machine or on a cluster."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import PurePosixPath
from typing import Any

from stakes.adapters.engine_errors import frame_errors
from stakes.adapters.engine_work import Watch
from stakes.adapters.sources import Source, frame_source
from stakes.errors import InputError, extra

_READERS: dict[str, tuple[str, dict[str, str]]] = {
    **dict.fromkeys((".parquet", ".pq"), ("parquet", {})),
    **dict.fromkeys((".csv", ".tsv", ".txt"), ("csv", {"header": "true", "inferSchema": "true"})),
    **dict.fromkeys((".json", ".jsonl", ".ndjson"), ("json", {})),
}


@contextmanager
def spark_files(
    paths: Sequence[str], master: str | None = None, watch: Watch | None = None
) -> Iterator[Source]:
    """The rows of files, globs or folders that a Spark session reads; paths may be URLs.

    The active session is used. If there is none, one is started with the stated or configured
    master, and stopped afterwards.
    """
    if not paths:
        raise InputError("frame must name at least one file; there is none. Name one.")
    reader, options = _reader(paths)
    active, session = _session(master)
    try:
        name = paths[0] if len(paths) == 1 else f"{paths[0]} … {paths[-1]}"
        with frame_errors(name, "spark", "frame"):
            frame = session.read.options(**options).format(reader).load(list(paths))
        yield frame_source(frame, name, watch)
    finally:
        if not active:  # a session of the caller is left running
            session.stop()


def _reader(paths: Sequence[str]) -> tuple[str, dict[str, str]]:
    """The reader of Spark and its options, by the suffix of the files; folders hold Parquet."""
    # Spark unpacks gzip itself, and paths may be URLs, which PurePosixPath leaves as they are.
    suffixes = {PurePosixPath(path.removesuffix(".gz")).suffix.lower() for path in paths}
    kinds = {suffix: _READERS[suffix] for suffix in suffixes if suffix in _READERS}
    if suffixes <= {""}:
        return _READERS[".parquet"]
    if len(suffixes) > 1 or not kinds:
        raise InputError(
            f"frame must name Parquet, CSV or JSON files, all of one kind, for Spark to read; the "
            f"names end in {', '.join(sorted(suffixes))}. Name other files, or another engine."
        )
    return next(iter(kinds.values()))


def _session(master: str | None) -> tuple[bool, Any]:
    with extra("spark", "engine='spark', on Java 17 or newer,"):
        from pyspark.sql import SparkSession
    active = SparkSession.getActiveSession()
    if active is not None:
        return True, active
    builder: Any = SparkSession.builder
    builder = builder.appName("stakes")
    return False, (builder if master is None else builder.master(master)).getOrCreate()
