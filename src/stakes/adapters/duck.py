"""Columns of files, read by DuckDB, the embedded engine.

Labels of files match by text: a column of the integers 0 and 1 matches the classes 0 and 1 and also
"0" and "1". Only the columns that are asked for leave the engine, block by block.
"""

from __future__ import annotations

import errno
import os
import re
import tempfile
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from stakes._check import FloatArray, Label
from stakes.adapters.files import Files, Format
from stakes.adapters.labels import Wanted, refused, spellings
from stakes.errors import InputError

K = TypeVar("K", bound=Hashable)

_OFFLINE: dict[str, Any] = {"autoinstall_known_extensions": "false"}
_BLOCK = 1 << 16  # rows at a time: small enough for the cache
_LEAST_MEMORY = 256 << 20  # with less the engine does not get off the ground
_FRACTIONS = ("DOUBLE", "FLOAT", "REAL", "DECIMAL")
_INTEGERS = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT")
_WHOLE = {name for one in _INTEGERS for name in (one, f"U{one}")}


@dataclass(frozen=True, eq=False)
class Coded:
    """A column of labels: the distinct ones, and for every row the position of its own.

    A row without a label has the position −1.
    """

    codes: npt.NDArray[np.int32]
    categories: tuple[Label, ...]

    def __len__(self) -> int:
        return len(self.codes)


@dataclass(frozen=True, eq=False)
class Columns(Generic[K]):
    """What was read, under the keys of the caller: numbers (n,) or (n, K), and labels."""

    numbers: dict[K, FloatArray]
    labels: dict[K, Coded]


@dataclass(frozen=True, eq=False)
class Source:
    """Rows in files; `types` maps the columns to their types in the engine."""

    files: Files
    connection: Any
    types: dict[str, str]
    folder: Path  # for what the engine has to put aside

    @property
    def name(self) -> str:
        """What messages call it."""
        return self.files.name

    def is_fraction(self, column: str) -> bool:
        """Whether a column holds numbers with a fraction."""
        return self.types[column].startswith(_FRACTIONS)

    def is_whole(self, column: str) -> bool:
        """Whether a column holds whole numbers."""
        return self.types[column] in _WHOLE

    def require(self, column: str) -> str:
        """The column, which must be there."""
        if column not in self.types:
            near = ", ".join(list(self.types)[:12]) + ", …" * (len(self.types) > 12)
            raise InputError(f"{self.name} has no column {column!r}. It has {near}.")
        return column

    def require_number(self, column: str) -> str:
        """The column, which must be there and hold numbers."""
        if not (self.is_fraction(self.require(column)) or self.is_whole(column)):
            raise InputError(
                f"column {column!r} of {self.name} must hold numbers; {self._why_none(column)}. "
                f"Mend it, or name another column."
            )
        return column

    # Questions to the engine ---------------------------------------------------------------------

    def count(self) -> int:
        """The number of rows."""
        [(rows,)] = self._fetch(f"SELECT count(*) FROM {self._rows()}")
        return int(rows)

    def distinct(self, column: str, at_most: int) -> set[str] | None:
        """The texts that a column holds, or None when there are more of them, or gaps."""
        text = self._as_text(column)
        query = f"SELECT DISTINCT {text} FROM {self._rows([column])} LIMIT {at_most + 1}"
        found = {value for (value,) in self._fetch(query)}
        return None if len(found) > at_most or None in found else found

    def within_unit(self, columns: Sequence[str]) -> list[str]:
        """Those of the columns of numbers whose entries, gaps aside, all lie in [0, 1]."""
        if not columns:
            return []
        tests = ", ".join(
            f"coalesce(bool_and({one} BETWEEN 0 AND 1 OR isnan({one})), false)"
            for one in (f"{_name(column)}::DOUBLE" for column in columns)
        )
        [answers] = self._fetch(f"SELECT {tests} FROM {self._rows()}")
        return [one for one, inside in zip(columns, answers, strict=True) if inside]

    def _why_none(self, column: str) -> str:
        """Why a column does not hold numbers, by an entry where one shows it."""
        text = f"{_name(column)}::VARCHAR"
        rows, wrong = self._rows([column]), f"TRY_CAST({text} AS DOUBLE) IS NULL"
        asked = f"count(*), count({text}), min({text}) FILTER (WHERE {wrong})"
        [(n_rows, entries, example)] = self._fetch(f"SELECT {asked} FROM {rows}")
        if not n_rows:
            return "there are no rows"
        if not entries:
            return "all entries are missing"
        return f"{example!r} is none" if example else f"its type is {self.types[column]}"

    # Rows ----------------------------------------------------------------------------------------

    def read(
        self,
        numbers: Mapping[K, Sequence[str]],
        labels: Mapping[K, Wanted],
        *,
        n_rows: int,
        advance: Callable[[int], None],
    ) -> Columns[K]:
        """Numbers, one or several columns for each key, and labels, as arrays of n rows.

        Columns of single precision stay so: at a threshold they stand for all that rounds to them.
        """
        plain = list(dict.fromkeys(column for group in numbers.values() for column in group))
        places = {column: place for place, column in enumerate(plain)}
        made = {
            key: np.empty(
                n_rows if len(group) == 1 else (n_rows, len(group)), dtype=self._precision(group)
            )
            for key, group in numbers.items()
        }
        coded = {key: _Coder(wanted, n_rows) for key, wanted in labels.items()}
        parts = [f"{_name(column)}::DOUBLE" for column in plain]
        parts += [self._as_text(wanted.column) for wanted in labels.values()]
        as_text = [wanted.column for wanted in labels.values()]
        at = 0
        for batch in self._batches(parts, self._rows(as_text, plain)):
            rows = slice(at, at + len(batch))
            at += len(batch)
            if at > n_rows:
                break
            for key, group in numbers.items():
                for k, column in enumerate(group):
                    target = made[key] if len(group) == 1 else made[key][:, k]
                    target[rows] = _floats(batch.column(places[column]))
            for offset, coder in enumerate(coded.values()):
                coder.add(rows, batch.column(len(plain) + offset))
            advance(len(batch))
        if at != n_rows:
            raise InputError(f"{self.name} changed while it was read. Try again.")
        return Columns(made, {key: coder.made(self.name) for key, coder in coded.items()})

    def _precision(self, columns: Sequence[str]) -> type[np.floating[Any]]:
        """Single where all columns are, else double."""
        single = all(self.types[column] in ("FLOAT", "REAL") for column in columns)
        return np.float32 if single else np.float64

    def with_numbers(
        self, columns: Sequence[str], *, verbatim: bool
    ) -> Iterator[tuple[pa.RecordBatch, FloatArray]]:
        """All columns, block by block, each with some of them as numbers (n, len(columns)).

        With `verbatim`, the columns of text files stay the text that they are.
        """
        as_text = list(self.types) if verbatim else []
        parts = ["*", *(f"{_name(column)}::DOUBLE" for column in columns)]
        width = len(self.types)
        for batch in self._batches(parts, self._rows(as_text, [] if verbatim else columns)):
            kept = pa.RecordBatch.from_arrays(batch.columns[:width], names=list(self.types))
            yield kept, np.column_stack([_floats(column) for column in batch.columns[width:]])

    def lazy(self, numbers: Sequence[str], labels: Sequence[str], *, memory: int) -> Any:
        """A relation of some columns, numbers and texts, for the engine to work on by itself.

        It keeps to the memory, in bytes, and to files in the folder of the source beyond it. Text
        is parsed once, whatever is asked of the relation. The text of a column that is also wanted
        as numbers is named after `text_name`.
        """
        names = {one: text_name(one) if one in numbers else one for one in labels}
        parts = [f"{_name(one)}::DOUBLE AS {_name(one)}" for one in numbers]
        parts += [f"{self._as_text(one)} AS {_name(name)}" for one, name in names.items()]
        query = f"SELECT {', '.join(parts)} FROM {self._rows(labels, numbers)}"
        with engine_errors(self.name):
            self.connection.execute(f"SET memory_limit = '{max(memory, _LEAST_MEMORY)}B'")
            self.connection.execute(f"SET temp_directory = {_literal(str(self.folder))}")
            self.connection.execute("SET preserve_insertion_order = false")
            if self.files.format in (Format.CSV, Format.JSON):
                kept = _literal(str(self.folder / "columns.parquet"))
                self.connection.execute(f"COPY ({query}) TO {kept} (FORMAT parquet)")
                query = f"SELECT * FROM read_parquet({kept})"
            return self.connection.sql(query)

    # SQL -----------------------------------------------------------------------------------------

    def _rows(self, as_text: Sequence[str] = (), as_number: Sequence[str] = ()) -> str:
        """What stands after FROM; only text files leave it to the reader what a column is."""
        if self.files.format is Format.ARROW:
            return "arrow_rows"
        if self.files.format is not Format.CSV:
            return _reader(self.files, {})
        types = dict.fromkeys(as_number, "DOUBLE") | dict.fromkeys(as_text, "VARCHAR")
        return _reader(self.files, types)

    def _as_text(self, column: str) -> str:
        """The text of a label; whole numbers that are stored as fractions lose their nought."""
        name = _name(column)
        if self.files.format is Format.CSV or not self.is_fraction(column):
            return f"{name}::VARCHAR"
        whole = f"{name} = floor({name}) AND abs({name}) < 1e15"
        return f"CASE WHEN {whole} THEN {name}::BIGINT::VARCHAR ELSE {name}::VARCHAR END"

    def _batches(self, parts: Sequence[str], rows: str) -> Iterator[pa.RecordBatch]:
        select = ", ".join(
            part if part == "*" else f"{part} AS _{k}" for k, part in enumerate(parts)
        )
        with engine_errors(self.name):
            relation = self.connection.sql(f"SELECT {select} FROM {rows}")
            reader = getattr(relation, "to_arrow_reader", None) or relation.fetch_arrow_reader
            yield from reader(_BLOCK)

    def _fetch(self, query: str) -> list[tuple[Any, ...]]:
        with engine_errors(self.name):
            return list(self.connection.execute(query).fetchall())


class _Coder:
    """Collects the codes of one column of labels."""

    def __init__(self, wanted: Wanted, n_rows: int) -> None:
        self.codes = np.empty(n_rows, dtype=np.int32)
        self._wanted = wanted
        self._places = {} if wanted.labels is None else spellings(wanted.labels)
        self._others: Counter[str | None] = Counter()

    def add(self, rows: slice, column: Any) -> None:
        encoded = column.dictionary_encode()
        texts = encoded.dictionary.to_pylist()
        lookup = np.array([*map(self._place, texts), -1], dtype=np.int32)
        places = encoded.indices.fill_null(len(texts)).to_numpy()
        self.codes[rows] = lookup[places]
        if lookup[:-1].min(initial=0) < 0 or encoded.null_count:
            sizes = np.bincount(places, minlength=len(texts) + 1).tolist()
            self._others.update(
                {t: n for t, n, k in zip([*texts, None], sizes, lookup, strict=True) if n and k < 0}
            )

    def _place(self, text: str) -> int:
        if self._wanted.labels is None:
            return self._places.setdefault(text, len(self._places))
        return self._places.get(text, -1)

    def made(self, source: str) -> Coded:
        """All rows as codes; every label must be wanted, and there must be one."""
        wanted = self._wanted
        if self._others and not wanted.may_be_missing:
            [(often, _)] = self._others.most_common(1)
            raise refused(wanted, source, self._others.total(), len(self.codes), often)
        return Coded(self.codes, tuple(self._places) if wanted.labels is None else wanted.labels)


@contextmanager
def opened(files: Files) -> Iterator[Source]:
    """The files as a source of columns."""
    with (
        tempfile.TemporaryDirectory(prefix="stakes-") as folder,
        duckdb.connect(config=_OFFLINE) as connection,
    ):
        with engine_errors(files.name):
            if files.format is Format.ARROW:
                connection.register("arrow_rows", _arrow(files.paths))
                rows = "arrow_rows"
            else:
                rows = _reader(files, {})
            described = connection.execute(f"DESCRIBE SELECT * FROM {rows}").fetchall()
        yield Source(files, connection, {row[0]: row[1] for row in described}, Path(folder))


def text_name(column: str) -> str:
    """What the text of a column is called beside its numbers."""
    return f"{column} (as text)"


def write_rows(path: Path, kind: Format, rows: Iterator[pa.RecordBatch]) -> None:
    """Write blocks of rows, at least one, as CSV, Parquet or JSON lines."""
    first = next(rows)
    faults: list[BaseException] = []

    def blocks() -> Iterator[pa.RecordBatch]:
        try:
            yield first
            yield from rows
        except BaseException as fault:  # the engine would wrap it in a complaint of its own
            faults.append(fault)
            raise

    how = {Format.CSV: "FORMAT csv, HEADER", Format.PARQUET: "FORMAT parquet"}
    with duckdb.connect(config=_OFFLINE) as connection:
        reader = pa.RecordBatchReader.from_batches(first.schema, blocks())
        connection.register("made", reader)
        try:
            options = how.get(kind, "FORMAT json")
            connection.execute(f"COPY (FROM made) TO {_literal(str(path))} ({options})")
        except duckdb.Error as error:
            if faults:
                raise faults[0] from None
            raise _disk_error(error, path) from None


def _disk_error(error: duckdb.Error, path: Path) -> OSError:
    """What the system said; the engine wraps it in words and JSON of its own."""
    if number := re.search(r'"errno"\s*:\s*"?(\d+)', str(error)):
        return OSError(int(number[1]), os.strerror(int(number[1])), str(path))
    return OSError(errno.EIO, _first_line(error).rpartition('": ')[2], str(path))


def _arrow(paths: tuple[Path, ...]) -> Any:
    """A data set of Arrow files; streams are mapped into memory, not copied."""
    with paths[0].open("rb") as file:
        if file.read(6) == b"ARROW1":
            from pyarrow.dataset import dataset  # loads pandas where it finds it, which takes long

            return dataset([str(path) for path in paths], format="ipc")
    tables = [pa.ipc.open_stream(pa.memory_map(str(path))).read_all() for path in paths]
    return pa.concat_tables(tables, promote_options="default")


def _reader(files: Files, types: Mapping[str, str]) -> str:
    """The table function of DuckDB that reads these files."""
    listed = "[" + ", ".join(_literal(_unglobbed(path)) for path in files.paths) + "]"
    if files.format is Format.PARQUET:
        return f"read_parquet({listed}, union_by_name = true)"
    if files.format is Format.JSON:
        return f"read_json({listed}, union_by_name = true)"
    stated = ", ".join(f"{_literal(name)}: {_literal(kind)}" for name, kind in types.items())
    extra = f", types = {{{stated}}}" if stated else ""
    plain = """header = true, quote = '"', comment = ''"""  # a row may begin with any sign
    return f"read_csv({listed}, {plain}, union_by_name = true{extra})"


def _unglobbed(path: Path) -> str:
    """The path with its stars and brackets taken literally; globs were resolved before."""
    return "".join(f"[{mark}]" if mark in "*?[" else mark for mark in str(path))


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _name(column: str) -> str:
    return '"' + column.replace('"', '""') + '"'


def _floats(column: Any) -> FloatArray:
    """Numbers as float64; gaps are nan."""
    return np.asarray(column.to_numpy(zero_copy_only=False), dtype=np.float64)


@contextmanager
def engine_errors(name: str) -> Iterator[None]:
    """What the engine complains about, in one sentence that names the file."""
    try:
        yield
    except (duckdb.Error, pa.ArrowException, OSError) as error:
        if "not utf-8 encoded" in str(error):
            line = re.search(r"on Line: (\d+)", str(error))
            where = f"line {line[1]}" if line else "a line of it"
            raise InputError(
                f"{name} must be text in UTF-8; {where} is not. Convert it first, say with "
                f"iconv -f latin1 -t utf-8."
            ) from None
        raise InputError(f"{name} cannot be read: {_first_line(error)}.") from None


def _first_line(error: BaseException) -> str:
    lines = (line.strip().rstrip(".") for line in str(error).splitlines())
    return next((line for line in lines if line), "no reason given")
