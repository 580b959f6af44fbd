"""Files that Spark reads: on this machine or on a cluster, where no other engine can reach them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import PurePosixPath
from typing import Any

from stakes.adapters.sources import Source, Watch, frame_source
from stakes.errors import InputError, MissingExtraError

_READERS: dict[str, tuple[str, dict[str, str]]] = {
    **dict.fromkeys((".parquet", ".pq"), ("parquet", {})),
    **dict.fromkeys((".csv", ".tsv", ".txt"), ("csv", {"header": "true", "inferSchema": "true"})),
    **dict.fromkeys((".json", ".jsonl", ".ndjson"), ("json", {})),
}


@contextmanager
def spark_files(
    given: Sequence[str], master: str | None = None, watch: Watch | None = None
) -> Iterator[Source]:
    """The rows of files, globs or folders that a Spark session reads; paths may be URLs.

    The session is the one that is active. Otherwise one is started, with the master that is named
    or configured, and stopped afterwards.
    """
    if not given:
        raise InputError("frame must name at least one file; there is none.", argument="frame")
    reader, options = _reader(given)
    active, session = _session(master)
    try:
        try:
            frame = session.read.options(**options).format(reader).load(list(given))
        except _errors() as error:
            raise InputError(
                f"{given[0]} cannot be read by Spark: {str(error).splitlines()[0]}",
                argument="frame",
            ) from None
        name = given[0] if len(given) == 1 else f"{given[0]} … {given[-1]}"
        yield frame_source(frame, name, watch)
    finally:
        if not active:
            session.stop()


def _reader(given: Sequence[str]) -> tuple[str, dict[str, str]]:
    """How Spark reads these files, by how their names end; a folder is one of Parquet files."""
    suffixes = {PurePosixPath(one.removesuffix(".gz")).suffix.lower() for one in given}
    kinds = {suffix: _READERS[suffix] for suffix in suffixes if suffix in _READERS}
    if suffixes <= {""}:
        return _READERS[".parquet"]
    if len(suffixes) > 1 or not kinds:
        raise InputError(
            f"frame must name Parquet, CSV or JSON files, all of one kind, for Spark to read; the "
            f"names end in {', '.join(sorted(suffixes))}. Name other files, or another engine.",
            argument="frame",
        )
    return next(iter(kinds.values()))


def _session(master: str | None) -> tuple[bool, Any]:
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        raise MissingExtraError(
            "engine='spark' needs the package pyspark; it is not installed. "
            "Install it, with Java 17 or newer, by: pip install 'stakes[spark]'."
        ) from None
    active = SparkSession.getActiveSession()
    if active is not None:
        return True, active
    builder: Any = SparkSession.builder
    builder = builder.appName("stakes")
    return False, (builder if master is None else builder.master(master)).getOrCreate()


def _errors() -> Any:
    from pyspark.errors import PySparkException

    return PySparkException
