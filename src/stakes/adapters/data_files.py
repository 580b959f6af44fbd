"""Data files: paths, globs and standard input, their formats, and writing new files."""

from __future__ import annotations

import csv
import errno
import glob
import gzip
import json
import os
import re
import shutil
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from enum import Enum
from functools import partial
from io import TextIOWrapper
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, TextIO

from stakes._check import writable
from stakes._files import temporary_folder
from stakes.adapters.engine_work import first_line, is_of_engine
from stakes.errors import InputError, extra

with extra("frames", "a file"):
    import duckdb
    import pyarrow as pa


class Format(Enum):
    """The formats of data files."""

    CSV = "CSV"
    PARQUET = "Parquet"
    JSON = "JSON lines"
    ARROW = "Arrow"


_SUFFIXES = {
    **dict.fromkeys((".csv", ".tsv", ".txt"), Format.CSV),
    **dict.fromkeys((".parquet", ".pq"), Format.PARQUET),
    **dict.fromkeys((".json", ".jsonl", ".ndjson"), Format.JSON),
    **dict.fromkeys((".arrow", ".arrows", ".feather", ".ipc"), Format.ARROW),
}
_PACKED = {".gz", ".zst"}  # suffixes of compressed files
_GZIP, _ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
_NO_ROWS = {b"DUCK": "DuckDB database", b"SQLi": "SQLite database", b"PK\3\4": "zip archive"}
_WIDE = (b"\xff\xfe", b"\xfe\xff")  # the marks at the beginning of UTF-16
_START = 4096  # characters of a file that tell whether it is blank
_DELIMITERS = ",;\t|"
_UNREADABLE = OSError, UnicodeDecodeError, csv.Error
_SNIFFED = 20_480  # rows from which DuckDB infers the dialect of a CSV file, by default
_FRACTION = re.compile(r"[-+]?\d*\.\d+(e[-+]?\d+)?", re.IGNORECASE)


def connected() -> duckdb.DuckDBPyConnection:
    """A connection of DuckDB that downloads no extensions, and prints no progress bars.

    Those of version 2 go to standard output, into the middle of a report.
    """
    connection = duckdb.connect(config={"autoinstall_known_extensions": "false"})
    connection.execute("SET enable_progress_bar = false")
    return connection


@dataclass(frozen=True)
class Files:
    """Files of one format that together hold the rows; messages call them `name`."""

    name: str
    paths: tuple[Path, ...]
    format: Format


@contextmanager
def located(patterns: Sequence[str], standard_input: BinaryIO | None) -> Iterator[Files]:
    """The files that paths and globs match, or a copy of standard input (``-``) in a file."""
    if list(patterns) == ["-"] and standard_input is not None:
        with temporary_folder() as folder:
            path = _spooled(standard_input, folder)
            _refuse_wide("standard input", path)
            files = Files("standard input", (path,), _by_content("standard input", path))
            _refuse_blank(files)
            yield files
        return
    if not patterns:
        raise InputError("frame must name at least one file; there is none. Name one.")
    name = patterns[0] if len(patterns) == 1 else f"{patterns[0]} … {patterns[-1]}"
    paths = tuple(path for pattern in patterns for path in _matches(pattern))
    _refuse_twice(name, paths)
    for path in paths:
        _refuse_wide(str(path), path)
    formats = {_format(path) for path in paths}
    if len(formats) > 1:
        listed = ", ".join(sorted(kind.value for kind in formats))
        raise InputError(
            f"{name} must match files of one format; it matches {listed}. Narrow the pattern."
        )
    files = Files(name, paths, formats.pop())
    _refuse_blank(files)
    yield files


def _refuse_twice(name: str, paths: Sequence[Path]) -> None:
    """Refuse a file that has two names among these, also by a link: its rows would count twice."""
    seen: dict[tuple[int, int], Path] = {}
    for path in paths:
        status = path.stat()
        other = seen.setdefault((status.st_dev, status.st_ino), path)
        if other is not path:
            raise InputError(
                f"{name} must name every file once; one appears twice, as {other} and {path}. "
                f"Leave one of them out."
            )


def _refuse_blank(files: Files) -> None:
    """Refuse text files, packed or not, that hold nothing but blanks, a mark, or empty brackets."""
    for path in files.paths if files.format in (Format.CSV, Format.JSON) else ():
        with suppress(*_UNREADABLE), _opened_text(path) as file:
            start = file.read(_START)
            if len(start) < _START and not start.strip("\ufeff \t\r\n[]{}"):
                name = files.name if len(files.paths) == 1 else str(path)
                raise _empty(name)


def _empty(name: object) -> InputError:
    return InputError(
        f"{name} must hold rows; it is empty. Name a file with a line of names and one line for "
        f"each case."
    )


def _why_none(pattern: str) -> str:
    if "://" in pattern:
        return "nothing is fetched from an address. Fetch it first, or pass a frame that reads it."
    if glob.has_magic(pattern):
        return "the pattern matches none. Check it, and that it is quoted for the shell."
    return "there is no such file. Check the name."


def _matches(pattern: str) -> tuple[Path, ...]:
    if pattern == "-":
        raise InputError("standard input (-) must be the only file; others are named. Choose one.")
    if os.path.lexists(pattern):
        paths = [Path(pattern)]
    elif glob.has_magic(pattern):
        paths = [path for path in map(Path, sorted(glob.glob(pattern))) if path.is_file()]
    else:
        paths = []
    if not paths:
        raise InputError(f"{pattern} must be a file of predictions; {_why_none(pattern)}")
    # Python represents bytes that are not UTF-8 by lone surrogates; DuckDB takes only UTF-8.
    for path in paths:
        writable(pattern, str(path), "a name")
        if path.is_dir():
            raise InputError(
                f"{pattern} must be a file; it is a folder. Name the files, say "
                f"{path / '*.parquet'}."
            )
        if not path.is_file():
            raise InputError(
                f"{pattern} must be a file; it is a pipe or a device, which cannot be read twice. "
                f"Write - and redirect it: stakes … - < {pattern}."
            )
        if path.stat().st_size == 0:
            raise _empty(path)
    return tuple(paths)


def _refuse_wide(name: str, path: Path) -> None:
    """Refuse text in UTF-16, which spreadsheets write, and packed files that do not look like it.

    Unreadable files are reported later.
    """
    start = b""
    with suppress(OSError), path.open("rb") as file:
        start = file.read(2)
    if start in _WIDE:
        raise InputError(
            f"{name} must be text in UTF-8; it is in UTF-16. Convert it first: iconv -f utf-16 "
            f"-t utf-8."
        )
    if start == _GZIP and path.suffix.lower() not in _PACKED:
        raise InputError(
            f"{name} must have a name that ends in .gz, because it is packed by gzip. Rename it, "
            f"or unpack it first."
        )


def _format(path: Path) -> Format:
    """The format of a file by its suffix, or else by its first bytes."""
    plain = path.with_suffix("") if path.suffix.lower() in _PACKED else path
    return _SUFFIXES.get(plain.suffix.lower()) or _by_content(str(path), path)


def _by_content(name: str, path: Path) -> Format:
    try:
        with path.open("rb") as file:
            packed = file.read(2) == _GZIP
        with gzip.open(path) if packed else path.open("rb") as file:
            start = file.read(64)
    except OSError as error:
        raise InputError(
            f"{name} cannot be read: {error.strerror or error}. Name a file that can be."
        ) from None
    except (EOFError, zlib.error) as error:
        raise InputError(f"{name} cannot be unpacked: {error}. Repair the file.") from None
    if not start:
        raise _empty(name)
    if kind := _NO_ROWS.get(start[8:12], _NO_ROWS.get(start[:4])):
        raise InputError(f"{name} must hold rows; it is a {kind}. Save its table as Parquet, say.")
    if start.startswith(b"PAR1"):
        return Format.PARQUET
    if start.startswith((b"ARROW1", b"\xff\xff\xff\xff")):
        return Format.ARROW
    return Format.JSON if start.lstrip().startswith((b"{", b"[")) else Format.CSV


def _spooled(stream: BinaryIO, folder: Path) -> Path:
    """Copy standard input to a file, because columns are read more than once."""
    try:
        start = stream.read(2)
    except OSError as error:  # it names no file, and would be taken for one of standard output
        raise OSError(error.errno, error.strerror, "standard input") from None
    path = folder / ("input.gz" if start == _GZIP else "input")
    try:
        with path.open("wb") as file:
            file.write(start)
            shutil.copyfileobj(stream, file)
    except OSError as error:
        raise OSError(error.errno, error.strerror, f"standard input, kept in {folder}") from None
    return path


# New files, and errors of the engine --------------------------------------------------------------


def write_rows(path: Path, kind: Format, rows: Iterator[pa.RecordBatch]) -> None:
    """Write blocks of rows, at least one, as CSV, Parquet or JSON lines."""
    first = next(rows)
    faults: list[BaseException] = []

    def blocks() -> Iterator[pa.RecordBatch]:
        try:
            yield first
            yield from rows
        except BaseException as fault:  # DuckDB would replace it by an error of its own
            faults.append(fault)
            raise

    how = {Format.CSV: "FORMAT csv, HEADER", Format.PARQUET: "FORMAT parquet"}
    # A second connection, because the one that reads the rows is busy.
    with connected() as connection:
        reader = pa.RecordBatchReader.from_batches(first.schema, blocks())
        connection.register("new_rows", reader)
        try:
            options = how.get(kind, "FORMAT json")
            connection.execute(
                f"COPY (FROM new_rows) TO {literal(str(path))} ({options}, USE_TMP_FILE false)"
            )
        except duckdb.Error as error:
            if faults:
                raise faults[0] from None
            raise _disk_error(error, path) from None


def _disk_error(error: duckdb.Error, path: Path) -> OSError:
    """The error of the operating system, taken out of the message in which DuckDB wraps it."""
    if number := re.search(r'"errno"\s*:\s*"?(\d+)', str(error)):
        return OSError(int(number[1]), os.strerror(int(number[1])), str(path))
    return OSError(errno.EIO, first_line(error).rpartition('": ')[2], str(path))


def literal(text: str) -> str:
    """A string literal in SQL."""
    return "'" + text.replace("'", "''") + "'"


def quoted(column: str) -> str:
    """The name of a column in SQL."""
    return '"' + column.replace('"', '""') + '"'


def refuse_torn(files: Files, columns: Sequence[str], connection: Any) -> None:
    """Refuse files that name a column twice, and CSV files whose rows differ in their length.

    DuckDB would rename the column in the first case, and read each line as a single column in the
    second. `columns` are the names that it gives.
    """
    if files.format is not Format.CSV:
        refuse_alike(files.name, _written_names(files, columns, connection))
        return
    _check_texts(files, partial(_refuse_torn, n_columns=len(columns)))
    if len(columns) == 1:
        _check_texts(files, _refuse_lines)


def _check_texts(files: Files, check: Callable[[str, TextIO], None]) -> None:
    """Check the text of every CSV file; those that cannot be read are reported by the engine."""
    for path in files.paths if files.format is Format.CSV else ():
        with suppress(*_UNREADABLE), _opened_text(path) as file:
            check(files.name if len(files.paths) == 1 else str(path), file)


def _refuse_torn(name: str, file: TextIO, n_columns: int) -> None:
    mark, header = _header(file)
    refuse_alike(name, header)
    numbers = [field for field in header if _FRACTION.fullmatch(field.strip())]
    if numbers:
        raise InputError(
            f"{name} must name its columns in the first line; {numbers[0]!r} is a number there. "
            f"Add a line with the names above it."
        )
    # DuckDB reports rows of wrong length itself unless it reads each line as one column.
    if n_columns > 1 or len(header) < 2:
        return
    for row in islice(csv.reader(file, delimiter=mark), _SNIFFED):
        if row and len(row) != len(header):
            raise InputError(
                f"{name} must have {len(header)} fields in every row, as in its header; "
                f"{mark.join(row)[:60]!r} has {len(row)}. Correct that row, and remove lines above "
                f"the header."
            )


def _header(file: TextIO) -> tuple[str, list[str]]:
    """The delimiter of a CSV file, and the names of its columns."""
    first = file.readline()
    mark = max(_DELIMITERS, key=first.count)
    return mark, next(csv.reader([first], delimiter=mark), [])


def _refuse_lines(name: str, file: TextIO) -> None:
    """Refuse quotes that stay open and lines that end in different ways; DuckDB names neither."""
    first_end, opened = "", None
    for number, line in enumerate(file, start=1):
        if line.count('"') % 2:
            opened = None if opened else (number, line.rstrip()[:60])
        end = line[len(line.rstrip("\r\n")) :]
        first_end = first_end or end
        if end != first_end and end and not opened:
            raise InputError(
                f"{name} must end all of its lines in the same way; line {number} ends with "
                f"{end!r}, the first with {first_end!r}. Convert them, say with dos2unix."
            )
    if opened:
        raise InputError(
            f"{name} must close every quote; line {opened[0]} opens one that stays open: "
            f"{opened[1]!r}. Close or remove it."
        )


def _written_names(files: Files, columns: Sequence[str], connection: Any) -> list[str]:
    """The columns as Parquet or JSON files name them; DuckDB calls a P beside a p ``P_1``."""
    if files.format is Format.PARQUET:
        from pyarrow.parquet import read_schema

        return list(read_schema(files.paths[0]).names)
    known = set(map(str.lower, columns))
    stems = (re.sub(r"_\d+$", "", column.lower()) for column in columns if column[-1:].isdigit())
    if files.format is not Format.JSON or known.isdisjoint(stems):
        return []
    rows = f"SELECT json FROM read_json_objects({sql_list(files)}) LIMIT {_SNIFFED}"
    [(names,)] = connection.execute(f"SELECT json_group_structure(json) FROM ({rows})").fetchall()
    return list(json.loads(names))


def refuse_alike(name: str, columns: Sequence[str]) -> None:
    """Refuse names that are equal or differ by case alone: DuckDB would rename the later one."""
    seen: dict[str, str] = {}
    for column in filter(None, columns):
        other = seen.get(column.lower())
        seen[column.lower()] = column
        if other is not None:
            fault = f"{column!r} appears twice in its header"
            if other != column:
                fault = f"{other!r} and {column!r} differ by case alone"
            raise InputError(f"{name} must name every column once; {fault}. Rename one.")


def unnamed(files: Files) -> list[str]:
    """The names that DuckDB gives to columns of a CSV file whose header has none, by position."""
    if files.format is not Format.CSV:
        return []
    with suppress(*_UNREADABLE):
        with _opened_text(files.paths[0]) as file:
            _, header = _header(file)
        return [f"column{place}" for place, column in enumerate(header) if not column.strip()]
    return []


def _opened_text(path: Path) -> TextIO:
    """The text of a file, which may be packed, with its line ends as they are."""
    with path.open("rb") as file:
        start = file.read(4)
    packing = "gzip" if start.startswith(_GZIP) else "zstd" if start == _ZSTD else None
    stream = pa.input_stream(str(path), compression=packing)
    return TextIOWrapper(stream, encoding="utf-8", newline="")


def sql_list(files: Files) -> str:
    """The paths as a list in SQL; special characters of globs, which are resolved, are escaped."""
    texts = ("".join(f"[{c}]" if c in "*?[" else c for c in str(path)) for path in files.paths)
    return "[" + ", ".join(map(literal, texts)) + "]"


_FAULTS = (  # what errors of DuckDB hold, and what is said of the file instead
    (
        r"(?s)Original Line: (.*?)\s+Maximum line size of (\d+) bytes.*?Size: *(\d+)",
        "must have lines of at most {1} bytes; one that begins with {0!r} has {2}. Leave its "
        "longest column out, or write the rows as Parquet.",
    ),
    (
        r"(?s)on Line: (\d+).*not utf-8 encoded",
        "must be text in UTF-8; line {} is not. Convert it first, say with iconv -f latin1 "
        "-t utf-8.",
    ),
    (
        r"not utf-8 encoded",
        "must be text in UTF-8; a line of it is not. Convert it first, say with iconv -f latin1 "
        "-t utf-8.",
    ),
    (
        r"on Line: (\d+)\s+Original Line: (.*)\s+Expected \D*(\d+)",
        "must have {2} fields in every row, as in its header; line {0} has more or fewer: {1!r}. "
        "Correct that row.",
    ),
    (
        r'on Line: (\d+)\s+Original Line: (.*)\n.* column "(.*?)"\.',
        "must hold one kind of entry in every column; {2!r} holds another in line {0} than in the "
        "first: {1!r}. Correct that row.",
    ),
    (
        r'in line (\d+): .* has duplicate key "(.*)"',
        "must name every column once; {1!r} appears twice in line {0}. Rename one.",
    ),
)


@contextmanager
def engine_errors(files: Files) -> Iterator[None]:
    """Turn errors of the engine into an InputError that names the file."""
    try:
        yield
    except Exception as error:
        if not is_of_engine(error):
            raise
        for pattern, text in _FAULTS:
            if match := re.search(pattern, str(error)):
                parts = (part[:60] for part in match.groups())
                raise InputError(f"{files.name} {text.format(*parts)}") from error
        _check_texts(files, _refuse_lines)
        fault = f"cannot be read: {first_line(error)}. Repair the file."
        if "sniffing" in str(error):
            fault = (
                "must be comma-separated values; its columns cannot be told apart. Write a line "
                "with their names, and then one line for each row."
            )
        raise InputError(f"{files.name} {fault}") from error
