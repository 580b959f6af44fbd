"""Frames as sources of columns, whatever library narwhals reads them with."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import narwhals.stable.v2 as nw
from narwhals.exceptions import DuplicateError

from stakes.adapters.coded_labels import Coded, Coder
from stakes.adapters.columns import (
    Columns,
    LabelColumn,
    Predicted,
    columns_of,
    key_name,
    no_key,
    shorter_times,
    text_name,
)
from stakes.adapters.partitions import Partitions
from stakes.adapters.sources import Lazy, Rows, Source, Watch
from stakes.errors import InputError
from stakes.problem import Problem
from stakes.rows import Decisions


@dataclass(frozen=True, eq=False)
class FrameSource(Source):
    """A frame of a library that narwhals supports, in memory or lazy."""

    frame: nw.DataFrame[Any] | Lazy

    @property
    def engine(self) -> str:  # type: ignore[override]
        """The library of the frame."""
        named = self.frame.implementation.value
        # PySpark has two implementations, with and without Spark Connect.
        return "spark" if named.startswith("pyspark") else named

    @property
    def in_memory(self) -> bool:  # type: ignore[override]
        """Whether the rows are arrays already."""
        return isinstance(self.frame, nw.DataFrame)

    @property
    def others(self) -> tuple[str, ...]:
        """Other engines to which the rows may be handed."""
        return ("duckdb",) if self.in_memory else ()

    def require(self, column: object, argument: str | None = None, **say: str) -> str:
        """The name of the column, after a check that it exists; Spark reads some as paths."""
        known = super().require(column, argument, **say)
        if self.engine == "spark" and set(known) & set(".`"):
            raise InputError(
                f"column {known!r} of {self.name} must have a name without points and backticks, "
                f"which Spark reads as a path. Rename it.",
                argument=argument,
            )
        return known

    def is_fraction(self, column: str) -> bool:
        """Whether a column holds numbers with a fraction."""
        return bool(self.types[column].is_float() or self.types[column].is_decimal())

    def is_whole(self, column: str) -> bool:
        """Whether a column holds whole numbers."""
        return bool(self.types[column].is_integer())

    def is_label(self, column: str) -> bool:
        """Whether every engine writes the entries of a column as the same text."""
        return not (self.types[column].is_nested() or self.types[column] == nw.Duration)

    def most(self, column: str) -> int:
        """The largest of the whole numbers of a column, or 0 where there are none."""
        most = self.frame.lazy().select(nw.col(column).max().alias("most")).collect()["most"][0]
        return 0 if most is None else int(most)

    def is_single(self, columns: Sequence[str]) -> bool:
        """Whether all of some columns hold numbers of single precision."""
        return all(self.types[column] == nw.Float32 for column in columns)

    def count(self) -> int:
        """The number of rows."""
        if isinstance(self.frame, nw.DataFrame):
            return len(self.frame)
        return int(self.frame.select(nw.len().alias("rows")).collect()["rows"][0])

    def distinct(self, column: str, at_most: int) -> set[str] | None:
        """The distinct texts of a column, or None if there are more than `at_most`, or gaps."""
        texts = self.frame.lazy().select(self.text(column).alias("text")).unique()
        values = set(texts.head(at_most + 1).collect()["text"].to_list())
        return None if len(values) > at_most or None in values else values

    def within_unit(self, columns: Sequence[str]) -> list[str]:
        """Those of the columns of numbers whose entries, gaps aside, all lie in [0, 1]."""
        if not columns:
            return []
        extremes = [nw.col(column).min().alias(f"low {column}") for column in columns]
        extremes += [nw.col(column).max().alias(f"high {column}") for column in columns]
        bounds = self.frame.lazy().select(*extremes).collect()
        pairs = ((bounds[f"low {column}"][0], bounds[f"high {column}"][0]) for column in columns)
        inside = [low is not None and 0 <= low <= high <= 1 for low, high in pairs]
        return [column for column, fits in zip(columns, inside, strict=True) if fits]

    def rows(self, columns: Columns, problem: Problem, n_rows: int) -> Rows:
        """The columns that are needed, and no others, in memory."""
        needed = [column for group in columns.read(problem).values() for column in group]
        needed += [column_labels.column for column_labels in columns.labels(problem).values()]
        needed += [] if columns.key is None else [columns.key]
        data = self.frame.lazy().select(*dict.fromkeys(needed)).collect()
        labels = columns.labels(problem)
        if columns.key is not None and (gaps := data[columns.key].null_count()):
            raise no_key(gaps, len(data))

        def native(column: str | None) -> Any:
            return None if column is None else data[column].to_native()

        def labelled(argument: str, name: str = "") -> Any:
            known = labels[argument, name]
            as_text = self._as_text(data, known)
            return self._coded(data, known) if as_text else native(known.column)

        def predictions(name: str, model: Predicted) -> Predicted:
            if isinstance(model, Decisions):
                return Decisions(labelled("models", name))
            names = columns_of(model)
            if len(names) == 1:
                return type(model)(native(names[0]))
            return type(model)(data.select(*names).to_numpy())

        return Rows(
            labelled("y_true"),
            {name: predictions(name, model) for name, model in columns.models.items()},
            native(columns.weights),
            {column: native(column) for column in columns.by} or None,
            native(columns.clusters),
            {column: native(column) for column in problem.columns} or None,
            native(columns.key),
        )

    def lazy(
        self, numbers: Sequence[str], labels: Sequence[str], *, memory: int, key: str | None = None
    ) -> Lazy:
        """Some columns for the engine to work on: numbers, labels as text, a key as `key_name`."""
        plain = [nw.col(column).cast(nw.Float64) for column in dict.fromkeys(numbers)]
        texts = [self.text(column).alias(text_name(column)) for column in dict.fromkeys(labels)]
        keys = [] if key is None else [nw.col(key).cast(nw.Int64).alias(key_name(key))]
        rows = self.frame.lazy().select(*plain, *texts, *keys)
        return cast("Lazy", Partitions(rows.to_native())) if self.engine == "dask" else rows

    def _as_text(self, data: nw.DataFrame[Any], known: LabelColumn) -> bool:
        """Whether labels and those of the problem differ in type: then they match by their text."""
        kind, is_text = self.types[known.column], [isinstance(k, str) for k in known.labels or ()]
        if kind in (nw.Categorical, nw.Enum, nw.Object):  # of text, or of anything else
            values = data[known.column].drop_nulls().unique().to_list()
            kind = nw.String if all(isinstance(value, str) for value in values) else kind
        return not all(is_text) if kind == nw.String else any(is_text)

    def _coded(self, data: nw.DataFrame[Any], known: LabelColumn) -> Coded:
        """Labels that are found by their text, as in every engine."""
        coder = Coder(known, len(data))
        texts = data.select(self.text(known.column).alias("text")).to_arrow()["text"]
        coder.add(slice(None), texts.combine_chunks())
        return coder.coded(self.name)

    def text(self, column: str) -> nw.Expr:
        """The text of a label; an integer stored as a float is written without ``.0``."""
        label, kind = nw.col(column), self.types[column]
        if kind == nw.Boolean:  # pandas writes them as Python does
            return label.cast(nw.String).str.to_lowercase()
        if kind in (nw.Datetime, nw.Time):
            dated = isinstance(kind, nw.Datetime)
            zoned = isinstance(kind, nw.Datetime) and kind.time_zone is not None
            text = label.cast(nw.String)
            for pattern, other in shorter_times(dated=dated, zoned=zoned):
                text = text.str.replace_all(pattern, other)
            return text
        if not self.is_fraction(column):
            return label.cast(nw.String)
        # Up to 1e15 every integer is exact as a double, and fits into 64 bits.
        is_whole = (label == label.floor()) & (label.abs() < 1e15)
        number = nw.when(is_whole).then(label).otherwise(nw.lit(0.0)).cast(nw.Int64)
        return nw.when(is_whole).then(number.cast(nw.String)).otherwise(label.cast(nw.String))


def frame_source(frame: Any, name: str = "the frame", watch: Watch | None = None) -> FrameSource:
    """The rows of a frame of any library that narwhals supports."""
    try:
        known = nw.from_native(frame)
        types = dict(known.collect_schema())
    except DuplicateError as error:
        twice = re.search("'.*'", str(error))
        raise InputError(
            f"frame must name every column once; {twice[0] if twice else 'one name'} appears "
            f"twice. Rename one.",
            argument="frame",
        ) from None
    except TypeError:
        raise InputError(
            f"frame must be a frame of pandas, Polars or PyArrow, a DuckDB relation, a frame of "
            f"Dask or Spark, or the path of a file; got {type(frame).__name__}. Pass one "
            f"of these.",
            argument="frame",
        ) from None
    watch = Watch() if watch is None else watch
    return FrameSource(name, types, known, watch=watch)
