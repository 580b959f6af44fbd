"""Errors of engines as errors of the input: what the rows of a frame or of files did not allow.

Only what an engine itself raises is translated: exceptions that its package defines, and those of
the operating system about files. Mistakes of this library, and errors of functions that a caller
has put into a query, pass through as they are.
"""

from __future__ import annotations

import errno
import re
from collections.abc import Iterator
from contextlib import contextmanager

from stakes.errors import InputError

# Packages of engines; a few name their exceptions after a module of their own.
_PACKAGES = {"polars", "duckdb", "_duckdb", "pyarrow", "pandas", "dask", "pyspark", "py4j"}
_PANICS = "pyo3_runtime"  # a panic inside of Polars is a BaseException of the bridge to Rust
# Of Polars, which narwhals renames; those without a name of their own are called NarwhalsError.
_TRANSLATED = {"ComputeError", "InvalidOperationError", "ShapeError", "NarwhalsError"}
_OF_THE_MACHINE = {errno.ENOSPC, errno.EDQUOT, errno.EMFILE, errno.ENFILE, errno.EIO}

_REMEDIES = (  # what the type and the message of an error hold, and what to do
    (r"FileNotFound|No such file|PATH_NOT_FOUND", "Check the path behind the frame"),
    (r"PanicException", "Check that the files behind the frame are whole, and open it anew"),
    (r"ConnectionException", "Keep its connection open until the work is done"),
    (r"(?i)out of ?memory", "Free some, or pass fewer rows"),
    (r"Conver|InvalidOperation|CAST_INVALID", "Correct these entries, or make null of them"),
    (r"NotImplemented|Overflow", "Cast the column to another type, or leave engine out"),
)


def is_of_engine(error: BaseException) -> bool:
    """Whether an engine raised an error about the rows or the files that it reads.

    >>> is_of_engine(FileNotFoundError(2, "No such file")), is_of_engine(TypeError("our mistake"))
    (True, False)
    """
    if isinstance(error, MemoryError):  # also that of Arrow
        return False
    if isinstance(error, OSError):
        return error.errno not in _OF_THE_MACHINE
    package = type(error).__module__.partition(".")[0]
    named = package == "narwhals" and type(error).__name__ in _TRANSLATED
    return package in _PACKAGES or package == _PANICS or named


@contextmanager
def frame_errors(name: str, engine: str, argument: str, *also: type[Exception]) -> Iterator[None]:
    """Errors of the engine of a frame as an InputError about an argument, with their cause.

    `also` are types of Python itself that the engine raises, where no work of ours is inside.
    """
    try:
        yield
    except BaseException as error:  # interrupts and exits are of no engine, and pass
        if not (is_of_engine(error) or isinstance(error, also)):
            raise
        raise frame_error(error, name, engine, argument) from error


def frame_error(error: BaseException, name: str, engine: str, argument: str) -> InputError:
    """The InputError for an error of the engine of a frame."""
    kind, text = type(error).__name__, first_line(error)
    known = (remedy for form, remedy in _REMEDIES if re.search(form, f"{kind}: {text}"))
    remedy = next(known, "Collect it to see which step fails, and correct that")
    return InputError(
        f"{name} must hold rows that {engine} can read; it raised {kind}: {text}. {remedy}.",
        argument=argument,
    )


def first_line(error: BaseException) -> str:
    """The first line of a message, without its final point."""
    text = re.sub(r": \S*stakes-\w+/input\S*", "", str(error))  # our copy of standard input
    lines = (line.strip().rstrip(".") for line in text.splitlines())
    return next((line[:200] for line in lines if line), "no reason given")


def without_rows(name: str) -> InputError:
    """The error for data that have columns and no rows."""
    return InputError(
        f"{name} must hold at least one row; there are none. Pass data with rows.", argument=name
    )
