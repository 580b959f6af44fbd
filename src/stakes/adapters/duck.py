"""Columns of files, read by DuckDB, which runs inside this process.

Labels in files are compared as text: a column of the integers 0 and 1 matches the classes 0 and 1,
but also "0" and "1". Only the columns that are needed leave the engine, block by block.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Generic, TypeVar

import duckdb
import narwhals.stable.v2 as nw
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from stakes._check import FloatArray
from stakes._files import temporary_folder
from stakes.adapters.coded_labels import Coded, Coder, sorted_groups
from stakes.adapters.columns import (
    Columns,
    LabelColumn,
    Predicted,
    columns_of,
    key_name,
    no_key,
    text_name,
)
from stakes.adapters.data_files import (
    OFFLINE,
    Files,
    Format,
    engine_errors,
    label_text,
    listed,
    literal,
    located,
    refuse_alike,
    refuse_torn,
)
from stakes.adapters.sources import Lazy, Rows, Source, Watch, without_rows
from stakes.errors import InputError
from stakes.problem import Problem
from stakes.rows import Decisions, Posteriors

K = TypeVar("K", bound=Hashable)

_BLOCK = 1 << 16  # rows at a time: a few columns of 8 bytes then fit into the cache
_LEAST_MEMORY = 256 << 20  # DuckDB fails on simple queries with less
_FRACTIONS = ("DOUBLE", "FLOAT", "REAL", "DECIMAL")
_INTEGERS = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT")
_NO_LABELS = ("STRUCT", "MAP", "UNION", "INTERVAL")
_WHOLE = {name for kind in _INTEGERS for name in (kind, f"U{kind}")}


@dataclass(frozen=True, eq=False)
class Arrays(Generic[K]):
    """Columns in memory, by the keys of the caller: numbers (n,) or (n, K), and labels."""

    numbers: dict[K, FloatArray]
    labels: dict[K, Coded]


@dataclass(frozen=True, eq=False)
class FileSource(Source):
    """Rows in files; the engine writes temporary files to `folder`."""

    files: Files
    connection: Any
    folder: Path

    def is_fraction(self, column: str) -> bool:
        """Whether a column holds numbers with a fraction."""
        return str(self.types[column]).startswith(_FRACTIONS)

    def is_whole(self, column: str) -> bool:
        """Whether a column holds whole numbers."""
        return self.types[column] in _WHOLE

    def is_label(self, column: str) -> bool:
        """Whether every engine writes the entries of a column as the same text."""
        kind = str(self.types[column])
        return not (kind.endswith("]") or kind.startswith(_NO_LABELS))

    def most(self, column: str) -> int:
        """The largest of the whole numbers of a column, or 0 where there are none."""
        ((most,),) = self._fetch(f"SELECT max({_name(column)}) FROM {self._rows()}")
        return most or 0

    def is_single(self, columns: Sequence[str]) -> bool:
        """Whether all of some columns hold numbers of single precision."""
        return all(self.types[column] in ("FLOAT", "REAL") for column in columns)

    # Queries -------------------------------------------------------------------------------------

    def count(self) -> int:
        """The number of rows."""
        [(rows,)] = self._fetch(f"SELECT count(*) FROM {self._rows()}")
        return int(rows)

    def distinct(self, column: str, at_most: int) -> set[str] | None:
        """The distinct texts of a column, or None if there are more than `at_most`, or gaps."""
        text = self._as_text(column)
        query = f"SELECT DISTINCT {text} FROM {self._rows([column])} LIMIT {at_most + 1}"
        texts = {value for (value,) in self._fetch(query)}
        return None if len(texts) > at_most or None in texts else texts

    def within_unit(self, columns: Sequence[str]) -> list[str]:
        """Those of the columns of numbers whose entries, gaps aside, all lie in [0, 1]."""
        if not columns:
            return []
        tests = ", ".join(
            f"coalesce(bool_and({number} BETWEEN 0 AND 1 OR isnan({number})), false)"
            for number in (f"{_name(column)}::DOUBLE" for column in columns)
        )
        [answers] = self._fetch(f"SELECT {tests} FROM {self._rows()}")
        return [column for column, inside in zip(columns, answers, strict=True) if inside]

    def _why_none(self, column: str) -> str:
        """Why a column does not hold numbers, with the first entry that is not one."""
        text = f"{_name(column)}::VARCHAR"
        numbered = f"(SELECT *, row_number() OVER () - 1 AS place FROM {self._rows([column])})"
        wrong = f"FILTER (WHERE {text} IS NOT NULL AND TRY_CAST({text} AS DOUBLE) IS NULL)"
        select = f"count(*), count({text}), count(*) {wrong}, min(place) {wrong}"
        select += f", arg_min({text}, place) {wrong}"
        [(n_rows, entries, faults, place, example)] = self._fetch(
            f"SELECT {select} FROM {numbered}"
        )
        if not n_rows:
            raise without_rows(self.name)
        if not entries:
            return "all entries are missing"
        if example is None:
            return f"its type is {self.types[column]}"
        are = "is not, being" if faults == 1 else "are not, the first being"
        return f"{faults:,} of {n_rows:,} {are} {example!r} in row {place:,} (counted from 0)"

    # Rows ----------------------------------------------------------------------------------------

    def rows(self, columns: Columns, problem: Problem, n_rows: int) -> Rows:
        """The columns that are needed, and no others, in memory."""
        numbers, labels = columns.read(problem), columns.labels(problem)
        with self.watch.working(f"reading {self.name}", n_rows) as advance:
            arrays = self.read(numbers, labels, n_rows=n_rows, advance=advance)
        for key, names in numbers.items():
            refuse_gaps(self.name, names, arrays.numbers[key])
        models: dict[str, Predicted] = {}
        for name, model in columns.models.items():
            if isinstance(model, Decisions):
                models[name] = Decisions(arrays.labels["models", name])
                continue
            values = arrays.numbers["models", name]
            if isinstance(model, Posteriors):
                _refuse_beyond(self.name, columns_of(model), values)
            models[name] = type(model)(values)
        clusters = arrays.labels.get(("clusters", ""))
        return Rows(
            arrays.labels["y_true", ""],
            models,
            arrays.numbers.get(("weights", "")),
            {column: sorted_groups(arrays.labels["by", column]) for column in columns.by} or None,
            None if clusters is None else sorted_groups(clusters),
            {column: arrays.numbers["data", column] for column in problem.columns} or None,
            None if columns.key is None else self._keys(columns.key),
        )

    def _keys(self, column: str) -> npt.NDArray[Any]:
        """Keys as 64-bit integers: doubles are exact only up to 2⁵³. None may be missing."""
        part = f"{_name(column)}::BIGINT"
        parts = [batch.column(0) for batch in self._batches([part], self._rows())]
        if gaps := sum(part.null_count for part in parts):
            raise no_key(gaps, sum(map(len, parts)))
        return np.concatenate([part.to_numpy() for part in parts])

    def read(
        self,
        numbers: Mapping[K, Sequence[str]],
        labels: Mapping[K, LabelColumn],
        *,
        n_rows: int,
        advance: Callable[[int], None],
    ) -> Arrays[K]:
        """Read numbers, one or several columns for each key, and labels as arrays of n rows.

        Columns of single precision keep it, because ties are decided within their rounding error.
        """
        plain = list(dict.fromkeys(column for group in numbers.values() for column in group))
        places = {column: place for place, column in enumerate(plain)}
        arrays: dict[K, npt.NDArray[Any]] = {
            key: np.empty(
                n_rows if len(group) == 1 else (n_rows, len(group)),
                dtype=np.float32 if self.is_single(group) else np.float64,
            )
            for key, group in numbers.items()
        }
        coded = {key: Coder(column_labels, n_rows) for key, column_labels in labels.items()}
        parts = [f"{_name(column)}::DOUBLE" for column in plain]
        parts += [self._as_text(column_labels.column) for column_labels in labels.values()]
        as_text = [column_labels.column for column_labels in labels.values()]
        at = 0
        for batch in self._batches(parts, self._rows(as_text, plain)):
            rows = slice(at, at + len(batch))
            at += len(batch)
            # The arrays were sized by an earlier count; a file that grew since is reported below.
            if at > n_rows:
                break
            for key, group in numbers.items():
                for k, column in enumerate(group):
                    target = arrays[key] if len(group) == 1 else arrays[key][:, k]
                    target[rows] = _floats(batch.column(places[column]))
            for offset, coder in enumerate(coded.values()):
                coder.add(rows, batch.column(len(plain) + offset))
            advance(len(batch))
        if at != n_rows:
            raise InputError(f"{self.name} changed while it was read. Try again.")
        return Arrays(arrays, {key: coder.coded(self.name) for key, coder in coded.items()})

    def with_numbers(
        self, columns: Sequence[str], *, verbatim: bool
    ) -> Iterator[tuple[pa.RecordBatch, FloatArray]]:
        """Yield blocks of all columns, each with some of them as numbers (n, len(columns)).

        With `verbatim`, the columns of a text file are passed on as the text in the file.
        """
        as_text = list(self.types) if verbatim else []
        parts = ["*", *(f"{_name(column)}::DOUBLE" for column in columns)]
        width = len(self.types)
        for batch in self._batches(parts, self._rows(as_text, [] if verbatim else columns)):
            rows = pa.RecordBatch.from_arrays(batch.columns[:width], names=list(self.types))
            yield rows, np.column_stack([_floats(column) for column in batch.columns[width:]])

    def lazy(
        self, numbers: Sequence[str], labels: Sequence[str], *, memory: int, key: str | None = None
    ) -> Lazy:
        """Some columns for the engine to work on: numbers, labels as text, a key as `key_name`.

        The engine uses at most `memory` bytes and spills to the folder of the source beyond that.
        Text formats are converted to Parquet first, so that they are parsed once for all queries.
        """
        parts = [f"{_name(column)}::DOUBLE AS {_name(column)}" for column in dict.fromkeys(numbers)]
        parts += [
            f"{self._as_text(column)} AS {_name(text_name(column))}"
            for column in dict.fromkeys(labels)
        ]
        parts += [] if key is None else [f"{_name(key)}::BIGINT AS {_name(key_name(key))}"]
        query = f"SELECT {', '.join(parts)} FROM {self._rows(labels, numbers)}"
        with engine_errors(self.files):
            self.connection.execute(f"SET memory_limit = '{max(memory, _LEAST_MEMORY)}B'")
            self.connection.execute(f"SET temp_directory = {literal(str(self.folder))}")
            # Sums do not depend on the order of rows, and keeping it would need more memory.
            self.connection.execute("SET preserve_insertion_order = false")
            # Every pass would parse the text again; of Parquet only the needed columns are read.
            if self.is_text:
                copy = literal(str(self.folder / "columns.parquet"))
                self.connection.execute(f"COPY ({query}) TO {copy} (FORMAT parquet)")
                query = f"SELECT * FROM read_parquet({copy})"
            rows: Lazy = nw.from_native(self.connection.sql(query))
            return rows

    @property
    def is_text(self) -> bool:  # type: ignore[override]
        """Whether the rows are text, which is parsed once for all passes."""
        return self.files.format in (Format.CSV, Format.JSON)

    def engine_errors(self) -> AbstractContextManager[None]:
        """A context in which errors of the engine become an InputError."""
        return engine_errors(self.files)

    # SQL -----------------------------------------------------------------------------------------

    def _rows(self, as_text: Sequence[str] = (), as_number: Sequence[str] = ()) -> str:
        """The table expression after FROM; for CSV files it fixes the types of some columns."""
        if self.files.format is Format.ARROW:
            return "arrow_rows"
        if self.files.format is not Format.CSV:
            return _reader(self.files, {})
        types = dict.fromkeys(as_number, "DOUBLE") | dict.fromkeys(as_text, "VARCHAR")
        return _reader(self.files, types)

    def _as_text(self, column: str) -> str:
        """The text of a label in SQL; what CSV files hold is text already."""
        kind = "" if self.files.format is Format.CSV else str(self.types[column])
        return label_text(_name(column), kind, has_fraction=kind.startswith(_FRACTIONS))

    def _batches(self, parts: Sequence[str], rows: str) -> Iterator[pa.RecordBatch]:
        select = ", ".join(
            part if part == "*" else f"{part} AS _{k}" for k, part in enumerate(parts)
        )
        with engine_errors(self.files):
            relation = self.connection.sql(f"SELECT {select} FROM {rows}")
            # The name of the method depends on the version of DuckDB.
            reader = getattr(relation, "to_arrow_reader", None) or relation.fetch_arrow_reader
            yield from reader(_BLOCK)

    def _fetch(self, query: str) -> list[tuple[Any, ...]]:
        with engine_errors(self.files):
            return list(self.connection.execute(query).fetchall())


@contextmanager
def opened_files(
    patterns: Sequence[str], standard_input: BinaryIO | None = None, watch: Watch | None = None
) -> Iterator[FileSource]:
    """The rows of the files that paths and globs match, or of standard input (``-``)."""
    with (
        located(patterns, standard_input) as files,
        temporary_folder() as folder,
        duckdb.connect(config=OFFLINE) as connection,
    ):
        with engine_errors(files):
            if files.format is Format.ARROW:
                table, rows = _arrow(files.paths), "arrow_rows"
                refuse_alike(files.name, table.schema.names)
                connection.register(rows, table)
            else:
                rows = _reader(files, {})
            described = connection.execute(f"DESCRIBE SELECT * FROM {rows}").fetchall()
        types = {row[0]: row[1] for row in described}
        refuse_torn(files, tuple(types), connection)
        watch = Watch() if watch is None else watch
        yield FileSource(
            files.name,
            types,
            files,
            connection,
            folder,
            watch=watch,
            interrupt=connection.interrupt,
        )


def _arrow(paths: tuple[Path, ...]) -> Any:
    """A data set of Arrow files; streams are mapped into memory, not copied."""
    # The file format begins with this mark, the stream format does not.
    with paths[0].open("rb") as file:
        if file.read(6) == b"ARROW1":
            from pyarrow.dataset import dataset  # slow: it imports pandas if installed

            return dataset([str(path) for path in paths], format="ipc")
    tables = [pa.ipc.open_stream(pa.memory_map(str(path))).read_all() for path in paths]
    return pa.concat_tables(tables, promote_options="default")


def _reader(files: Files, types: Mapping[str, str]) -> str:
    """The table function of DuckDB that reads these files."""
    if files.format is Format.PARQUET:
        return f"read_parquet({listed(files)}, union_by_name = true)"
    if files.format is Format.JSON:
        return f"read_json({listed(files)}, union_by_name = true)"
    stated = ", ".join(f"{literal(name)}: {literal(kind)}" for name, kind in types.items())
    extra = f", types = {{{stated}}}" if stated else ""
    # Stated, because the sniffer might otherwise skip lines.
    plain = """header = true, quote = '"', comment = '', skip = 0"""
    return f"read_csv({listed(files)}, {plain}, union_by_name = true{extra})"


def _name(column: str) -> str:
    return '"' + column.replace('"', '""') + '"'


# Entries that cannot be used ---------------------------------------------------------------------


def refuse_gaps(source: str, columns: tuple[str, ...], values: FloatArray, before: int = 0) -> None:
    """Refuse missing numbers in rows (n,) or (n, K); `before` rows of the file precede these."""
    for column, numbers in zip(columns, _apart(values), strict=True):
        gaps = np.flatnonzero(np.isnan(numbers))
        if gaps.size:
            where = f"column {column!r} of {source}"
            raise InputError(
                f"{where} must hold a number in every row; {gaps.size} of {len(numbers)} are "
                f"missing (empty or nan), the first in row {before + gaps[0]} (counted from 0). "
                f"Remove these rows, or fill them in.",
                argument=where,
            )


def _refuse_beyond(source: str, columns: tuple[str, ...], values: FloatArray) -> None:
    for column, numbers in zip(columns, _apart(values), strict=True):
        beyond = np.flatnonzero((numbers < 0) | (numbers > 1))
        if beyond.size:
            where = f"column {column!r} of {source}"
            raise InputError(
                f"{where} must hold probabilities in [0, 1]; {beyond.size} of {len(numbers)} rows "
                f"do not, the first being {numbers[beyond[0]]:g} in row {beyond[0]} (counted from "
                f"0). {_remedy(len(columns), numbers)}",
                argument=where,
            )


def _remedy(n_columns: int, numbers: FloatArray) -> str:
    """Advice for numbers that are not probabilities: percentages or raw scores."""
    if n_columns > 1:
        return "Correct them, or name other columns."
    percent = numbers.min() >= 0 and 10 < numbers.max() <= 100
    divide = "If these are percentages, divide them by 100. " if percent else ""
    return f"{divide}If these are raw scores, pass them as scores."


def _apart(values: FloatArray) -> FloatArray:
    """Rows (n,) or (n, K) as one array for each column."""
    return values.reshape(len(values), -1).T


def _floats(column: Any) -> FloatArray:
    """Numbers as float64; missing ones become nan."""
    return np.asarray(column.to_numpy(zero_copy_only=False), dtype=np.float64)
