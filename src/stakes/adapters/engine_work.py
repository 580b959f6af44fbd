"""Work of an engine: it reports its progress, and Ctrl-C stops it at once."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import copy_context
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

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
