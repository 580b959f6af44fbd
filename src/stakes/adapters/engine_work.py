"""Work of an engine: its progress, Ctrl-C, and its errors as errors of the input."""

from __future__ import annotations

import errno
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import copy_context
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from stakes.errors import InputError

# -------------------------------------------------------------------------------------------------
# Errors of engines as errors of the input: what the rows of a frame or of files did not
# allow.
#
# Only what an engine itself raises is translated: exceptions that its package defines, and those
# of the operating system about files. Mistakes of this library, and errors of functions that a
# caller has put into a query, pass through as they are.

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


# Work of an engine: it reports its progress, and Ctrl-C stops it at once -------------------------

T = TypeVar("T")


class Advance(Protocol):
    """Receives the progress of some work: how many more rows are done, and what comes next."""

    def __call__(self, rows: int, then: str = "", /) -> None:
        """Receive that so many more rows are done."""


class Watch:
    """Receives messages and the progress of long work; this base class ignores them."""

    def says(self, text: str) -> None:
        """Receive a sentence about a choice that the caller did not make."""

    @contextmanager
    def working(self, what: str, n_rows: int, *, steps: bool = True) -> Iterator[Advance]:
        """Announce work on `n_rows` rows; the yielded function is told how many more are done.

        It may also be told what comes next. Without `steps` it will not be called.
        """
        yield lambda rows, then="": None


@dataclass(eq=False)
class Passes:
    """Reports each pass over the rows as progress, and runs those that are asked for later."""

    n_rows: int
    total: int
    advance: Advance
    guarded: Callable[[Callable[[], Any]], Any]  # runs work of the engine, which may be interrupted
    done: int = 0
    what: str = ""

    def next(self, what: str) -> None:
        """Report that the next pass begins, and that the one before is done."""
        rows = self.n_rows if self.done else 0
        self.done, self.what = self.done + 1, what
        self.advance(rows, self._shown)

    @property
    def _shown(self) -> str:
        return f"pass {self.done} of {max(self.total, self.done)}, {self.what}"

    def step(self, number: int) -> None:
        """Report a step of an iterative fit, which reads all rows but counts as one pass."""
        self.advance(0, f"{self._shown}, step {number}")

    def later(self, what: str, work: Callable[[], T]) -> T:
        """Run a query that the report needs after the tallies were made."""
        self.next(what)
        done: T = self.guarded(work)
        self.advance(0, "making the report")
        return done


def interruptible(work: Callable[[], T], interrupt: Callable[[], None] | None) -> T:
    """The result of some work of an engine; `interrupt` cancels the query that it is running.

    Python handles signals in the main thread and between two of its instructions only, and a query
    may take minutes. So the work runs in another thread, if it can be cancelled.

    >>> interruptible(lambda: 1 + 1, lambda: None)
    2
    """
    if interrupt is None or threading.current_thread() is not threading.main_thread():
        return _unmasked(work)
    results: list[T] = []
    faults: list[BaseException] = []
    # An event, not a join: an interrupted join may take the thread for finished.
    context, done = copy_context(), threading.Event()

    def run() -> None:
        try:
            results.append(context.run(work))
        except BaseException as fault:
            faults.append(fault)
        finally:
            done.set()

    threading.Thread(target=run, daemon=True, name="stakes engine").start()
    try:
        while not done.wait(0.2):
            pass
    except BaseException:  # raised by a signal handler
        interrupt()
        while not done.wait(0.05):  # the work may have been between two queries, and go on
            interrupt()
        raise
    if faults:
        raise faults[0]
    return results[0]


def _unmasked(work: Callable[[], T]) -> T:
    """The result of some work; an error that an interrupt has caused becomes KeyboardInterrupt.

    Spark cancels its jobs when interrupted, and then raises an error because they were cancelled.
    """
    try:
        return work()
    except Exception as fault:
        cause = fault.__context__
        while cause is not None and not isinstance(cause, KeyboardInterrupt):
            cause = cause.__context__
        if cause is None:
            raise
    raise KeyboardInterrupt
