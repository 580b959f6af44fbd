"""Ctrl-C ends what an engine is doing at once, and is heard while it works."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextvars import copy_context
from typing import TypeVar

T = TypeVar("T")


def interruptible(work: Callable[[], T], interrupt: Callable[[], None] | None) -> T:
    """What some work of an engine gives; `interrupt` ends a query that it is about.

    The main thread hears of signals between two steps of Python only, and an engine may take
    minutes for one. So the work is done by another thread where it can be ended.

    >>> interruptible(lambda: 1 + 1, lambda: None)
    2
    """
    if interrupt is None or threading.current_thread() is not threading.main_thread():
        return _unmasked(work)
    results: list[T] = []
    faults: list[BaseException] = []
    context, done = copy_context(), threading.Event()  # a join takes a signal for the end

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
    except BaseException:  # of a handler of signals
        interrupt()
        while not done.wait(0.05):  # it may have been between two queries
            interrupt()
        raise
    if faults:
        raise faults[0]
    return results[0]


def _unmasked(work: Callable[[], T]) -> T:
    """What some work gives; an engine that fails because it was interrupted was interrupted.

    Spark cancels its jobs by itself, and then complains that they were cancelled.
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
