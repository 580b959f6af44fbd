"""Frames of Dask: steps of many columns, without its optimizer."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from stakes._value import record
from stakes.errors import extra

with extra("frames", "a frame"):
    import narwhals.stable.v2 as nw

Step = tuple[str, tuple[Any, ...]]  # a method of frames, and its arguments


@record
class Partitions:
    """What tallies need of a `narwhals.LazyFrame`, for a frame of Dask.

    Dask's optimizer goes through every column of every step again for each column that a later step
    needs, which takes minutes for a few dozen steps. Here, steps that work row by row are collected
    and applied to each partition, a frame of pandas, by a single function, which the optimizer does
    not look into. All other methods are those of the frame after these steps.
    """

    native: Any
    steps: tuple[Step, ...] = ()

    @property
    def implementation(self) -> nw.Implementation:
        """The library of the frame."""
        return nw.Implementation.DASK

    def with_columns(self, *columns: Any, **named: nw.Expr) -> Partitions:
        """The rows with more columns."""
        return self._then("with_columns", columns, named)

    def filter(self, *conditions: Any) -> Partitions:
        """The rows for which all conditions hold."""
        return self._then("filter", conditions, {})

    def select(self, *columns: Any, **named: nw.Expr) -> Any:
        """Some columns of the rows, or one row with sums over all of them."""
        selected = self._then("select", columns, named)
        # The metadata is a frame without rows: only sums make a row of it.
        is_sum = len(_done(self.native._meta, selected.steps)) > 0
        return self._settled().select(*selected.steps[-1][1]) if is_sum else selected

    def _then(self, method: str, some: tuple[Any, ...], named: dict[str, nw.Expr]) -> Partitions:
        arguments = (*_flat(some), *(each.alias(name) for name, each in named.items()))
        return Partitions(self.native, (*self.steps, (method, arguments)))

    def _settled(self) -> nw.LazyFrame[Any]:
        """The Dask frame after all steps."""
        meta = _done(self.native._meta, self.steps)
        done: Any = self.native.map_partitions(_done, self.steps, meta=meta)
        settled: nw.LazyFrame[Any] = nw.from_native(done)
        return settled

    def __getattr__(self, method: str) -> Any:
        return getattr(self._settled(), method)


def stacked_rows(frames: Iterable[Any]) -> Any:
    """The rows of several lazy frames of one library, with the same columns, as one."""
    listed = list(frames)
    if isinstance(listed[0], Partitions):
        return Partitions(nw.concat([frame._settled() for frame in listed]).to_native())
    return nw.concat(listed)


def _flat(arguments: Iterable[Any]) -> Iterable[Any]:
    """The arguments of a narwhals method one by one; lists of them are flattened."""
    for argument in arguments:
        if isinstance(argument, str | nw.Expr):
            yield argument
        else:
            yield from _flat(argument)


def _done(part: Any, steps: tuple[Step, ...]) -> Any:
    """A partition, which is a frame of pandas, after some steps."""
    frame = nw.from_native(part)
    for method, arguments in steps:
        frame = getattr(frame, method)(*arguments)
    return frame.to_native()
