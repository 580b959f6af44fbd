"""Rows with named columns, wherever they are: frames in memory, lazy frames, files.

Only the columns that are needed leave the engine of a lazy frame. Where these exceed the memory
limit, only sums over them do.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

from stakes.adapters.columns import (
    Columns,
    Predicted,
)
from stakes.errors import InputError, MissingExtraError
from stakes.problem import Problem

try:
    import narwhals.stable.v2 as nw
except ImportError:
    raise MissingExtraError(
        "frames need the package narwhals; it is not installed. "
        "Install it with: pip install 'stakes[frames]'."
    ) from None

Lazy = nw.LazyFrame[Any]

NUMPY = "numpy"  # no engine: the rows are arrays
ENGINES = (NUMPY, "pandas", "polars", "pyarrow", "duckdb", "dask", "spark")


class Advance(Protocol):
    """Receives the progress of some work: how many more rows are done, and what comes next."""

    def __call__(self, rows: int, then: str = "", /) -> None:
        """Receive that so many more rows are done."""


@dataclass(frozen=True, eq=False)
class Rows:
    """Arrays or series of the rows, as `evaluate` takes them."""

    y_true: Any
    models: dict[str, Predicted]
    weights: Any
    by: dict[str, Any] | None
    clusters: Any
    data: dict[str, Any] | None  # the columns that costs depend on
    key: Any = None


T = TypeVar("T")


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


@dataclass(frozen=True, eq=False)
class Source(ABC):
    """Rows with named columns, called `name` in messages; `types` are those of the columns."""

    name: str
    types: Mapping[str, Any]
    watch: Watch = field(default_factory=Watch, kw_only=True)
    interrupt: Callable[[], None] | None = field(default=None, kw_only=True)  # cancels a query
    in_memory = False  # whether the rows are arrays already
    is_text = False  # whether they are text, which is parsed once for all passes
    engine = "duckdb"  # what tallies the rows, unless they are read into arrays

    @property
    def others(self) -> tuple[str, ...]:
        """Other engines to which the rows may be handed."""
        return ("spark",)

    @abstractmethod
    def is_fraction(self, column: str) -> bool:
        """Whether a column holds numbers with a fraction."""

    @abstractmethod
    def is_whole(self, column: str) -> bool:
        """Whether a column holds whole numbers."""

    @abstractmethod
    def is_single(self, columns: Sequence[str]) -> bool:
        """Whether all of these columns hold numbers of single precision."""

    @abstractmethod
    def count(self) -> int:
        """The number of rows."""

    @abstractmethod
    def distinct(self, column: str, at_most: int) -> set[str] | None:
        """The distinct texts of a column, or None if there are more than `at_most`, or gaps."""

    @abstractmethod
    def within_unit(self, columns: Sequence[str]) -> list[str]:
        """Those of the columns whose numbers all lie in [0, 1]; missing ones do not count."""

    @abstractmethod
    def rows(self, columns: Columns, problem: Problem, n_rows: int) -> Rows:
        """Read the columns that are needed into memory."""

    @abstractmethod
    def lazy(
        self, numbers: Sequence[str], labels: Sequence[str], *, memory: int, key: str | None = None
    ) -> Lazy:
        """Some columns for the engine to work on: numbers, labels as text, a key as `key_name`."""

    def engine_errors(self) -> AbstractContextManager[None]:
        """A context in which errors of the engine become an InputError."""
        return nullcontext()

    def require(
        self,
        column: object,
        argument: str | None = None,
        *,
        need: str = "",
        remedy: str = "Name one of these.",
    ) -> str:
        """The name of the column that an argument names, after a check that it exists."""
        if not isinstance(column, str) or column not in self.types:
            raise InputError(
                f"{self.name} has no column {column!r}{need}. It has {self.listed}. {remedy}",
                argument=argument,
            )
        return column

    @property
    def listed(self) -> str:
        """The names of the columns, as far as a message has room."""
        return ", ".join(map(str, list(self.types)[:12])) + ", …" * (len(self.types) > 12)

    @abstractmethod
    def is_label(self, column: str) -> bool:
        """Whether every engine writes the entries of a column as the same text."""

    @abstractmethod
    def most(self, column: str) -> int:
        """The largest of the whole numbers of a column, or 0 where there are none."""

    def require_label(self, column: object, argument: str | None = None) -> str:
        """The name of the column, after a check that it exists and holds labels."""
        known = self.require(column, argument)
        if not self.is_label(known):
            where = f"column {known!r} of {self.name}"
            raise InputError(
                f"{where} must hold labels: text, categories, whole numbers, dates or times; its "
                f"type is {self.types[known]}. Make text of it, or name another column.",
                argument=where,
            )
        return known

    def require_costs(self, problem: Problem) -> tuple[str, ...]:
        """The columns that the costs depend on, after a check that they exist and hold numbers."""
        say = {"need": ", which the costs need", "remedy": "Add it, or write the costs otherwise."}
        return tuple(self.require_number(self.require(column, **say)) for column in problem.columns)

    def require_number(self, column: object, argument: str | None = None) -> str:
        """The name of the column, after a check that it exists and holds numbers."""
        known = self.require(column, argument)
        if not (self.is_fraction(known) or self.is_whole(known)):
            where = f"column {known!r} of {self.name}"
            raise InputError(
                f"{where} must hold numbers; {self._why_none(known)}. Correct it, or name another "
                f"column.",
                argument=where,
            )
        return known

    def _why_none(self, column: str) -> str:
        """Why a column does not hold numbers."""
        return f"its type is {self.types[column]}"


def without_rows(name: str) -> InputError:
    """The error for data that have columns and no rows."""
    return InputError(f"{name} must hold at least one row; there are none. Pass data with rows.")
