"""Files as columns: read by DuckDB, which runs inside this process, or by Spark."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO

import narwhals.stable.v2 as nw
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from stakes._check import FloatArray, those
from stakes._files import temporary_folder
from stakes._value import record
from stakes.adapters.columns import (
    Coder,
    Columns,
    GroupCoder,
    Key,
    LabelColumn,
    group_name,
    key_name,
    no_key,
    text_name,
)
from stakes.adapters.data_files import (
    Files,
    Format,
    connected,
    engine_errors,
    literal,
    located,
    quoted,
    refuse_alike,
    refuse_torn,
    sql_list,
)
from stakes.adapters.engine_work import Watch, frame_errors, without_rows
from stakes.adapters.sources import Lazy, RowArrays, Source, frame_source
from stakes.errors import InputError, extra
from stakes.problem import Problem

# -------------------------------------------------------------------------------------------------
# Relations of DuckDB: their types, also inferred from texts, and their rows as blocks of
# Arrow.
#
# CSV files hold nothing but text, JSON no times. All texts of a column decide together what they
# are meant as, so that neither the order of the rows nor a sample of them matters.

_DATE, _TIME = r"\d{4}-\d\d-\d\d", r"([01]\d|2[0-3]):\d\d(:\d\d(\.\d{1,6}0*)?)?"
_NANOSECONDS = _TIME.replace("{1,6}", "{1,9}")
_TIMES = {  # types of DuckDB, and what their texts look like
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


def with_inferred(rows: Any, columns: Sequence[str], file_format: Format) -> Any:
    """A relation of DuckDB in which some columns of text have the type that all texts fit.

    >>> import duckdb
    >>> texts = duckdb.sql("SELECT * FROM (VALUES ('10', '01'), ('9', '1')) rows(age, code)")
    >>> [str(kind) for kind in with_inferred(texts, ["age", "code"], Format.CSV).types]
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


def arrow_blocks(rows: Any, size: int) -> Generator[Any, None, None]:
    """Yield a relation as record batches of Arrow, each of at most so many rows.

    >>> import duckdb
    >>> [len(block) for block in arrow_blocks(duckdb.sql("FROM range(3)"), 1 << 11)]
    [3]
    """
    # The name of the method depends on the version of DuckDB.
    reader = getattr(rows, "to_arrow_reader", None) or rows.fetch_arrow_reader
    with reader(size) as blocks:  # closed, because a connection has only one open result
        yield from blocks


# Columns of files, read by DuckDB, which runs inside this process --------------------------------
#
# Labels in files are compared as text: a column of the integers 0 and 1 matches the classes 0 and
# 1, but also "0" and "1". Only the columns that are needed leave the engine, block by block.

_BLOCK = 1 << 16  # rows at a time: a few columns of 8 bytes then fit into the cache
_LEAST_MEMORY = 256 << 20  # DuckDB fails on simple queries with less
_ARROW = "arrow_rows"  # the table of Arrow files
_MOST_CATEGORIES = 10_000  # more are no slices


@record
class FileSource(Source):
    """Rows in files; the engine writes temporary files to `folder`."""

    files: Files
    connection: Any
    folder: Path

    @property
    def others(self) -> tuple[str, ...]:
        """Other engines to which the rows may be handed."""
        return ("spark",)

    @property
    def is_text(self) -> bool:  # type: ignore[override]
        """Whether the rows are text, which is parsed once for all passes."""
        return self.files.format in (Format.CSV, Format.JSON)

    def engine_errors(self) -> AbstractContextManager[None]:
        """A context in which errors of the engine become an InputError."""
        return engine_errors(self.files)

    def distinct(self, column: str, at_most: int) -> set[str] | None:
        """The distinct texts of a column, or None if there are more than `at_most`, or gaps."""
        return Source.distinct(self._read_as([column]), column, at_most)

    def _why_none(self, column: str) -> str:
        """Why a column does not hold numbers, with the first entry that is not one."""
        table = _reader(self.files, {column: "VARCHAR"})
        numbered = f"(SELECT {quoted(column)}::VARCHAR AS entry, row_number() OVER () - 1 AS place "
        numbered += f"FROM {table})"
        wrong = "FILTER (WHERE entry IS NOT NULL AND TRY_CAST(entry AS DOUBLE) IS NULL)"
        select = f"count(*), count(entry), count(*) {wrong}, min(place) {wrong}"
        select += f", arg_min(entry, place) {wrong}"
        with self.engine_errors():
            answers = self.connection.execute(f"SELECT {select} FROM {numbered}").fetchall()
        [(n_rows, entries, faults, place, example)] = answers
        if not n_rows:
            raise without_rows(self.name)
        if not entries:
            return "all entries are missing"
        if example is None:
            return "the file has them as text: in quotes, infinite, or with blanks around them"
        are = "is not, being" if faults == 1 else "are not, the first being"
        return f"{faults} of {n_rows} {are} {example!r} in row {place} (counted from 0)"

    # Rows ----------------------------------------------------------------------------------------

    def first(  # noqa: D102
        self, columns: Sequence[str], n_rows: int, texts: Sequence[str] = ()
    ) -> nw.DataFrame[Any]:
        with self.engine_errors():  # where the engine tallied the rows, their order did not matter
            self.connection.execute("SET preserve_insertion_order = true")
            if self.files.format is not Format.CSV:
                return super().first(columns, n_rows)
            # With all types stated, a short look at the file tells how it is written.
            rows = self.frame.to_native()
            kinds = dict(zip(rows.columns, map(str, rows.types), strict=True))
            kinds |= dict.fromkeys(texts, "VARCHAR")
            frame = _lazy(self.connection, _reader(self.files, kinds, ", sample_size = 1000"))
            return super(FileSource, replace(self, frame=frame)).first(columns, n_rows)

    def rows(self, columns: Columns, problem: Problem, n_rows: int) -> RowArrays:
        """The columns that are needed, and no others, in memory.

        Columns of single precision keep it, because ties are decided within their rounding error.
        """
        numbers, labels = columns.read(problem), columns.labels(problem)
        arrays: dict[Key, npt.NDArray[Any]] = {
            key: np.empty(
                n_rows if len(names) == 1 else (n_rows, len(names)),
                dtype=np.float32 if self.is_single(names) else np.float64,
            )
            for key, names in numbers.items()
        }
        texts = {key: Coder(known, n_rows) for key, known in labels.items()}
        groups = {column: GroupCoder(argument) for column, argument in columns.groups.items()}
        # Doubles would hold keys exactly only up to 2⁵³.
        keys, gaps = None if columns.key is None else np.empty(n_rows, dtype=np.int64), 0
        for batch, rows in self._placed(columns, problem, n_rows):
            for key, names in numbers.items():
                for target, column in zip(_columns(arrays[key]), names, strict=True):
                    target[rows] = _floats(batch.column(column))
            for key, coder in texts.items():
                coder.add(rows, batch.column(text_name(labels[key].column)))
            for column, group_coder in groups.items():
                group_coder.add(batch.column(group_name(column)))
            if keys is not None:
                part = batch.column(key_name(columns.key or ""))
                keys[rows], gaps = part.fill_null(0).to_numpy(), gaps + part.null_count
        if gaps:
            raise no_key(gaps, n_rows)
        coded = {key: coder.coded(self.name) for key, coder in texts.items()}
        named = {column: coder.coded(self._typed_groups) for column, coder in groups.items()}
        for key, names in numbers.items():
            refuse_gaps(self.name, names, arrays[key])
        clusters = named.get(columns.clusters or "")
        if clusters is not None and (without := int((clusters.codes < 0).sum())):
            known = LabelColumn(columns.clusters or "", "clusters")
            raise known.refused(self.name, without, n_rows, None)
        return RowArrays.of(columns, problem, arrays, coded, named, keys)

    def _placed(
        self, columns: Columns, problem: Problem, n_rows: int
    ) -> Iterator[tuple[pa.RecordBatch, slice]]:
        """The needed columns in blocks of rows, and the places of these rows among all."""
        numbers = [column for names in columns.read(problem).values() for column in names]
        texts = [known.column for known in columns.labels(problem).values()]
        selected, at = self._selected(numbers, texts, list(columns.groups), columns.key), 0
        with self.watch.working(f"reading {self.name}", n_rows) as advance:
            for batch in self._batches(selected):
                rows = slice(at, at + len(batch))
                at += len(batch)
                # Arrays were sized by an earlier count; a file that grew since is reported below.
                if at > n_rows:
                    break
                yield batch, rows
                advance(len(batch))
        if at != n_rows:
            raise InputError(f"{self.name} changed while it was read. Try again.")

    def with_numbers(
        self, columns: Sequence[str], *, verbatim: bool
    ) -> Iterator[tuple[pa.RecordBatch, FloatArray]]:
        """Yield blocks of all columns, each with some of them as numbers (n, len(columns)).

        With `verbatim`, the columns of a text file are passed on as the text in the file.
        """
        source = self._read_as(list(self.types)) if verbatim else self._read_as((), columns)
        numbers = {f"number {k}": nw.col(c).cast(nw.Float64) for k, c in enumerate(columns)}
        width = len(self.types)
        for batch in self._batches(source.frame.lazy().with_columns(**numbers)):
            rows = pa.RecordBatch.from_arrays(batch.columns[:width], names=list(self.types))
            yield rows, np.column_stack([_floats(column) for column in batch.columns[width:]])

    def _typed_groups(self, distinct: Any) -> Any:
        """Distinct groups of the type that they are meant to have."""
        values = self.connection.from_arrow(pa.table({"value": distinct}))
        return with_inferred(values, ["value"], self.files.format).to_arrow_table()["value"]

    def lazy(
        self,
        numbers: Sequence[str],
        labels: Sequence[str],
        groups: Sequence[str] = (),
        *,
        memory: int,
        key: str | None = None,
    ) -> Lazy:
        """Some columns for the engine to work on: numbers, labels as text, groups and a key.

        The engine uses at most `memory` bytes and spills to the folder of the source beyond that.
        Text formats are converted to Parquet first, so that they are parsed once for all queries.
        """
        with self.engine_errors():
            self.connection.execute(f"SET memory_limit = '{max(memory, _LEAST_MEMORY)}B'")
            self.connection.execute(f"SET temp_directory = {literal(str(self.folder))}")
            # Sums do not depend on the order of rows, and keeping it would need more memory.
            self.connection.execute("SET preserve_insertion_order = false")
            rows = self._selected(numbers, labels, groups, key)
            if not self.is_text:
                return rows
            # Every pass would parse the text again; of Parquet only the needed columns are read.
            copy = str(self.folder / "columns.parquet")
            relation = rows.to_native()
            wide = [name for name, kind in typed(relation).items() if kind == "HUGEINT"]
            # Parquet has no integers of 128 bits, and DuckDB would write doubles instead.
            with_types(relation, dict.fromkeys(wide, "DECIMAL(38, 0)")).to_parquet(copy)
            parsed = self.connection.sql(f"FROM read_parquet({literal(copy)})")
            names = [group_name(column) for column in groups]
            copied: Lazy = nw.from_native(with_inferred(parsed, names, self.files.format))
            return copied

    def _selected(
        self, numbers: Sequence[str], labels: Sequence[str], groups: Sequence[str], key: str | None
    ) -> Lazy:
        source = self._read_as([*labels, *groups], numbers)
        return Source.lazy(source, numbers, labels, groups, memory=0, key=key)

    def _read_as(self, text: Sequence[str], number: Sequence[str] = ()) -> FileSource:
        """The same rows; for CSV files the types of some columns are fixed."""
        if self.files.format is not Format.CSV:
            return self
        types = dict.fromkeys(number, "DOUBLE") | dict.fromkeys(text, "VARCHAR")
        with self.engine_errors():
            frame = _lazy(self.connection, _reader(self.files, types))
            return replace(self, frame=frame, types=dict(frame.collect_schema()))

    def _batches(self, rows: Lazy) -> Iterator[pa.RecordBatch]:
        with self.engine_errors():
            yield from arrow_blocks(rows.to_native(), _BLOCK)


@contextmanager
def opened_files(
    patterns: Sequence[str], standard_input: BinaryIO | None = None, watch: Watch | None = None
) -> Iterator[FileSource]:
    """The rows of the files that paths and globs match, or of standard input (``-``)."""
    with (
        located(patterns, standard_input) as files,
        temporary_folder() as folder,
        connected() as connection,
    ):
        with engine_errors(files):
            if files.format is Format.ARROW:
                table = _arrow(files.paths)
                refuse_alike(files.name, table.schema.names)
                connection.register(_ARROW, table)
            frame = _lazy(connection, _reader(files, {}))
            types = dict(frame.collect_schema())
        refuse_torn(files, tuple(types), connection)
        yield FileSource(
            files.name,
            types,
            frame,
            files,
            connection,
            folder,
            watch=watch or Watch(),
            interrupt=connection.interrupt,
        )


@contextmanager
def opened_rows(rows: Any, orders: Mapping[str, Sequence[str]]) -> Iterator[Source]:
    """A table or an unread data set of PyArrow as a source of columns.

    `orders` are the categories of some columns, whose order DuckDB would not see.
    """
    refuse_alike("the frame", rows.schema.names)
    enums = {
        column: f"ENUM({', '.join(map(literal, values))})"
        for column, values in orders.items()
        if 0 < len(values) <= _MOST_CATEGORIES
    }
    with connected() as connection:
        with frame_errors("the frame", "duckdb", "frame"):
            relation = with_types(connection.from_arrow(rows), enums)
        yield replace(frame_source(relation), interrupt=connection.interrupt)


def _arrow(paths: tuple[Path, ...]) -> Any:
    """A data set of Arrow files; streams are mapped into memory, not copied."""
    # The file format begins with this mark, the stream format does not.
    with paths[0].open("rb") as file:
        if file.read(6) == b"ARROW1":
            from pyarrow.dataset import dataset  # slow: it imports pandas if installed

            return dataset([str(path) for path in paths], format="ipc")
    tables = [pa.ipc.open_stream(pa.memory_map(str(path))).read_all() for path in paths]
    return pa.concat_tables(tables, promote_options="default")


def _reader(files: Files, types: Mapping[str, str], options: str = "") -> str:
    """What stands after FROM in SQL; only CSV files need the types of some columns."""
    if files.format is Format.ARROW:
        return _ARROW
    if files.format is not Format.CSV:
        return f"read_{files.format.name.lower()}({sql_list(files)}, union_by_name = true)"
    stated = ", ".join(f"{literal(name)}: {literal(kind)}" for name, kind in types.items())
    extra = f", types = {{{stated}}}" if stated else ""
    # Stated, because the sniffer might otherwise skip lines.
    plain = """header = true, quote = '"', comment = '', skip = 0"""
    return f"read_csv({sql_list(files)}, {plain}, union_by_name = true{extra}{options})"


def _lazy(connection: Any, table: str) -> Lazy:
    rows: Lazy = nw.from_native(connection.sql(f"SELECT * FROM {table}"))
    return rows


# Entries that cannot be used ---------------------------------------------------------------------


def refuse_gaps(source: str, columns: tuple[str, ...], values: FloatArray, before: int = 0) -> None:
    """Refuse missing numbers in rows (n,) or (n, K); `before` rows of the file precede these."""
    for column, numbers in zip(columns, _columns(values), strict=True):
        gaps = np.flatnonzero(np.isnan(numbers))
        if gaps.size:
            where, missing = f"column {column!r} of {source}", those(gaps.size, len(numbers))
            raise InputError(
                f"{where} must hold a number in every row; {missing} missing (empty or nan), "
                f"the first in row {before + gaps[0]} (counted from 0). Remove these rows, or "
                f"fill them in.",
                argument=where,
            )


def _columns(values: FloatArray) -> FloatArray:
    """Rows (n,) or (n, K) as one array for each column, which writes through."""
    return values.reshape(len(values), -1).T


def _floats(column: Any) -> FloatArray:
    """Numbers as float64; missing ones become nan."""
    return np.asarray(column.to_numpy(zero_copy_only=False), dtype=np.float64)


# Files that Spark reads, on this machine or on a cluster -----------------------------------------

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
    reader, options = _spark_reader(paths)
    active, session = _session(master)
    try:
        name = paths[0] if len(paths) == 1 else f"{paths[0]} … {paths[-1]}"
        with frame_errors(name, "spark", "frame"):
            frame = session.read.options(**options).format(reader).load(list(paths))
        yield frame_source(frame, name, watch)
    finally:
        if not active:  # a session of the caller is left running
            session.stop()


def _spark_reader(paths: Sequence[str]) -> tuple[str, dict[str, str]]:
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
