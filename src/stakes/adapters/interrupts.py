"""Ctrl-C stops the query of an engine at once."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextvars import copy_context
from typing import TypeVar

T = TypeVar("T")


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
