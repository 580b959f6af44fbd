"""Rows with named columns, wherever they are: frames in memory, lazy frames, relations, files."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import field, replace
from decimal import Decimal
from typing import Any, cast

import numpy as np

from stakes.errors import InputError, extra

with extra("frames", "a frame"):  # before the files of this room that need it, too
    import narwhals.stable.v2 as nw
    from narwhals.exceptions import DuplicateError, NarwhalsError

from stakes import _check
from stakes._value import record
from stakes.adapters.columns import (
    Coded,
    Coder,
    Columns,
    Key,
    LabelColumn,
    group_name,
    key_name,
    no_key,
    shorter_times,
    text_name,
)
from stakes.adapters.engine_work import Watch, frame_error, frame_errors
from stakes.problem import Problem
from stakes.rows import Predicted

# Columns of pandas that Arrow has no type for, or would hold as something else -------------------


# What pandas calls the values of columns that are the same in Arrow, and of categories that are.
_VALUES = {"string", "empty", "integer", "boolean", "decimal", "floating", "mixed-integer-float"}
_VALUES |= {"date", "time", "bytes"}
_CATEGORIES = _VALUES - {"floating"} | {"datetime", "datetime64"}


def with_decimals(frame: nw.DataFrame[Any]) -> nw.DataFrame[Any]:
    """Decimals of pandas, which has no type for them, as numbers like those of other libraries.

    So are sparse columns, whose type narwhals does not know.
    """
    frame = _dense(frame)
    objects = [name for name, kind in frame.schema.items() if kind == nw.Object]
    known = ((name, frame[name].to_native()) for name in objects)
    decimals = [name for name, values in known if _kind(values) == "decimal" and _exact(values)]
    numbers = [nw.col(name).cast(nw.Float64) for name in decimals]
    return frame.with_columns(numbers) if numbers else frame


def _dense(frame: nw.DataFrame[Any]) -> nw.DataFrame[Any]:
    """The frame with plain columns in the place of sparse ones."""
    unknown = [name for name, kind in frame.schema.items() if kind == nw.Unknown]
    columns: dict[str, Any] = {name: frame[name].to_native() for name in unknown}
    sparse = sys.modules["pandas"].SparseDtype
    plain = [
        nw.from_native(column.sparse.to_dense(), series_only=True)
        for column in columns.values()
        if isinstance(column.dtype, sparse)
    ]
    return frame.with_columns(plain) if plain else frame


def _exact(decimals: Any) -> bool:
    """Whether doubles hold the whole part of decimals; others are labels, such as long numbers."""
    values = [value for value in decimals if isinstance(value, Decimal)]
    return all(value.adjusted() < 15 and not value.is_snan() for value in values)


def for_arrow(frame: nw.DataFrame[Any]) -> nw.DataFrame[Any]:
    """The frame with text for periods, intervals, times of nanoseconds and such categories.

    Arrow makes numbers or pairs of the former and rounds the latter; the text is that of slices.
    """
    rows: Any = frame.to_native()
    columns = {name: _as_categories(rows[name]) for name in rows.columns}
    others = {name: column for name, column in columns.items() if column is not None}
    changed: nw.DataFrame[Any] = nw.from_native(rows.assign(**others) if others else rows)
    return changed


def _as_categories(values: Any) -> Any:
    """The groups of a column as categories of text; None if Arrow holds them as they are.

    Also None where they cannot be text: what cannot be a group is refused when it is used as one.
    """
    pandas = sys.modules["pandas"]
    is_category = isinstance(values.dtype, pandas.CategoricalDtype)
    kind = _kind(values.cat.categories if is_category else values)
    if kind in (_CATEGORIES if is_category else _VALUES):
        return None
    try:
        groups = _check.groups("the column", values)
    except InputError:
        return None
    gaps = np.asarray(values.isna())
    texts = groups.labels[:-1] if gaps.any() else groups.labels
    if not all(isinstance(text, str) for text in texts):
        return None
    codes = np.where(gaps, -1, groups.codes)
    return pandas.Series(pandas.Categorical.from_codes(codes, list(texts)), index=values.index)


def _kind(values: Any) -> str:
    """What pandas calls the values of a column; those of a plain type are all called "string"."""
    pandas = sys.modules["pandas"]
    if isinstance(values.dtype, pandas.ArrowDtype) or values.dtype.kind not in "Of":
        return {"M": "datetime64", "m": "timedelta"}.get(values.dtype.kind, "string")
    return str(pandas.api.types.infer_dtype(values))


# Frames of Dask: steps of many columns, without its optimizer ------------------------------------


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


# -------------------------------------------------------------------------------------------------
# Rows with named columns, wherever they are: frames in memory, lazy frames, relations, files.
#
# Only the columns that are needed leave the engine of a lazy frame. Where these exceed the memory
# limit, only sums over them do.


Lazy = nw.LazyFrame[Any]

NUMPY = "numpy"  # no engine: the rows are arrays
ENGINES = (NUMPY, "pandas", "polars", "pyarrow", "duckdb", "dask", "spark")

_TEXTS: dict[Any, str] = {nw.String: "string[pyarrow]"}
_APART = {"dask": _TEXTS, "pandas": {**_TEXTS, nw.Object: "category"}}  # groups, told apart


@record
class RowArrays:
    """Arrays or series of the rows, as `evaluate` takes them."""

    y_true: Any
    models: dict[str, Predicted]
    weights: Any
    by: dict[str, Any] | None
    clusters: Any
    data: dict[str, Any] | None  # the columns that costs depend on
    key: Any = None
    copies: Any = None

    @classmethod
    def of(
        cls,
        columns: Columns,
        problem: Problem,
        numbers: Mapping[Key, Any],
        labels: Mapping[Key, Any],
        groups: Mapping[str, Any],
        key: Any,
    ) -> RowArrays:
        """The arrays of `Columns.read`, `Columns.labels` and `Columns.groups`, by their keys."""
        known = {**numbers, **labels}
        models = columns.models.items()
        return cls(
            known["y_true", ""],
            {name: replace(model, values=known["models", name]) for name, model in models},
            known.get(("weights", "")),
            {column: groups[column] for column in columns.by} or None,
            groups.get(columns.clusters or ""),
            {column: known["data", column] for column in problem.columns} or None,
            key,
            known.get(("copies", "")),
        )


@record
class Source:
    """A frame of a library that narwhals supports, in memory or lazy, called `name` in messages."""

    name: str
    types: Mapping[str, Any]  # of the columns
    frame: nw.DataFrame[Any] | Lazy
    watch: Watch = field(default_factory=Watch, kw_only=True)
    interrupt: Callable[[], None] | None = field(default=None, kw_only=True)  # cancels a query
    argument: str = field(default="frame", kw_only=True)  # that the caller passed the rows as
    passed: nw.DataFrame[Any] | None = field(default=None, kw_only=True)  # before it was changed
    is_text = False  # whether the rows are text, which is parsed once for all passes

    @property
    def engine(self) -> str:
        """The library of the frame."""
        named = self.frame.implementation.value
        # PySpark has two implementations, with and without Spark Connect.
        return "spark" if named.startswith("pyspark") else named

    @property
    def in_memory(self) -> bool:
        """Whether the rows are arrays already."""
        return isinstance(self.frame, nw.DataFrame)

    @property
    def others(self) -> tuple[str, ...]:
        """Other engines to which the rows may be handed."""
        return ("duckdb",) if self.in_memory else ()

    def is_fraction(self, column: str) -> bool:
        """Whether a column holds numbers with a fraction."""
        return bool(self.types[column].is_float() or self.types[column].is_decimal())

    def is_whole(self, column: str) -> bool:
        """Whether a column holds whole numbers."""
        return bool(self.types[column].is_integer())

    def is_label(self, column: str) -> bool:
        """Whether a column can hold labels."""
        kind = self.types[column]
        # Polars can neither sort nor hand over objects; pandas has no other type for much else.
        is_opaque = kind == nw.Object and self.engine == "polars"
        return not (kind.is_nested() or kind in (nw.Duration, nw.Binary) or is_opaque)

    def most(self, column: str) -> int:
        """The largest of the whole numbers of a column, or 0 where there are none."""
        return int(self.asked(most=nw.col(column).max())["most"] or 0)

    def asked(self, **questions: nw.Expr) -> dict[str, Any]:
        """The answers to questions about all rows, such as their number."""
        return self._collected(**questions).rows(named=True)[0]

    def _collected(self, *columns: Any, **named: nw.Expr) -> nw.DataFrame[Any]:
        """Some columns of all rows, or sums over them, in memory."""
        with self.engine_errors():
            return self.frame.lazy().select(*columns, **named).collect()

    def is_single(self, columns: Sequence[str]) -> bool:
        """Whether all of some columns hold numbers of single precision."""
        return all(self.types[column] == nw.Float32 for column in columns)

    def count(self) -> int:
        """The number of rows."""
        if isinstance(self.frame, nw.DataFrame):
            return len(self.frame)
        return int(self.asked(rows=nw.len())["rows"])

    def distinct(self, column: str, at_most: int) -> set[str] | None:
        """The distinct texts of a column, or None if there are more than `at_most`, or gaps."""
        texts = self.frame.lazy().select(self.text(column).alias("text")).unique()
        with self.engine_errors():
            values = set(texts.head(at_most + 1).collect()["text"].to_list())
        return None if len(values) > at_most or None in values else values

    def within_unit(self, columns: Sequence[str]) -> list[str]:
        """Those of the columns of numbers whose entries, gaps aside, all lie in [0, 1]."""
        if not columns:
            return []
        numbers = {column: nw.col(column).cast(nw.Float64) for column in columns}
        known = {column: nw.when(~each.is_nan()).then(each) for column, each in numbers.items()}
        lows = {f"low {column}": each.min() for column, each in known.items()}
        highs = {f"high {column}": each.max() for column, each in known.items()}
        bounds = self.asked(**lows, **highs)
        pairs = ((column, bounds[f"low {column}"], bounds[f"high {column}"]) for column in columns)
        return [column for column, low, high in pairs if low is not None and 0 <= low <= high <= 1]

    def first(
        self, columns: Sequence[str], n_rows: int, texts: Sequence[str] = ()
    ) -> nw.DataFrame[Any]:
        """Some columns of the first rows, in memory; files hold the `texts` as they are written."""
        with self.engine_errors():
            # The rows first: frames in memory copy whole columns where these are selected.
            return self.frame.lazy().head(n_rows).select(*dict.fromkeys(columns)).collect()

    def rows(self, columns: Columns, problem: Problem, n_rows: int) -> RowArrays:
        """The columns that are needed, and no others, in memory."""
        data = self._collected(*columns.needed(problem))
        if columns.key is not None and (gaps := data[columns.key].null_count()):
            raise no_key(gaps, len(data))

        def numbers(names: tuple[str, ...]) -> Any:
            return native(names[0]) if len(names) == 1 else data.select(*names).to_numpy()

        def native(column: str) -> Any:
            return data[column].to_native()

        def labelled(known: LabelColumn) -> Any:
            return self._coded(data, known) if self._as_text(data, known) else native(known.column)

        return RowArrays.of(
            columns,
            problem,
            {key: numbers(names) for key, names in columns.read(problem).items()},
            {key: labelled(known) for key, known in columns.labels(problem).items()},
            {column: native(column) for column in columns.groups},
            None if columns.key is None else native(columns.key),
        )

    def lazy(
        self,
        numbers: Sequence[str],
        labels: Sequence[str],
        groups: Sequence[str] = (),
        *,
        memory: int,
        key: str | None = None,
    ) -> Lazy:
        """Some columns for the engine to work on: numbers, labels as text, groups and a key."""
        plain = [nw.col(column).cast(nw.Float64) for column in dict.fromkeys(numbers)]
        texts = [self.text(column).alias(text_name(column)) for column in dict.fromkeys(labels)]
        kept = [self._group(column).alias(group_name(column)) for column in groups]
        keys = [] if key is None else [nw.col(key).cast(nw.Int64).alias(key_name(key))]
        rows = self._hashable(groups).lazy().select(*plain, *texts, *kept, *keys)
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
        """The text of a label; nan is missing, and a whole number is written without ``.0``."""
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
        # DuckDB believes the statistics of Parquet files, which leave nan out: there is_nan() and
        # comparisons may answer for nan as for other numbers. Differences and text do not.
        is_whole = (label - label.floor() == 0) & (label.abs() < 1e15)
        number = nw.when(is_whole).then(label).otherwise(nw.lit(0.0)).cast(nw.Int64)
        text = nw.when(is_whole).then(number.cast(nw.String)).otherwise(label.cast(nw.String))
        return nw.when(text.str.to_lowercase() != "nan").then(text)

    def category_orders(self) -> dict[str, list[str]]:
        """Columns of categories that are text, of a frame in memory, and their order."""
        named = [name for name, kind in self.types.items() if kind in (nw.Categorical, nw.Enum)]
        known = {name: _check.categories(self.frame[name].to_native()) for name in named}
        return {
            name: coded.values
            for name, coded in known.items()
            if coded is not None and all(isinstance(value, str) for value in coded.values)
        }

    def _hashable(self, groups: Sequence[str]) -> nw.DataFrame[Any] | Lazy:
        """The frame with groups that pandas tells apart, as Arrow and categories do.

        It would group texts by what stands before a NUL character, and make floats of whole
        numbers that are objects beside gaps.
        """
        kinds = _APART.get(self.engine, {})
        types = {name: kinds[kind] for name in groups if (kind := self.types[name]) in kinds}
        if not types:
            return self.frame
        with frame_errors(self.name, self.engine, self.argument, UnicodeError):
            known: nw.DataFrame[Any] | Lazy = nw.from_native(self.frame.to_native().astype(types))
        return known

    def _group(self, column: str) -> nw.Expr:
        """The group of a row, as the engine has it; nan is missing, and −0.0 is 0.0."""
        group = nw.col(column)
        if not self.types[column].is_float():
            return group
        # Text, because DuckDB may not see nan in a comparison; see `text`.
        known = nw.when(group.cast(nw.String).str.to_lowercase() != "nan").then(group)
        return nw.when(group == 0).then(group.abs()).otherwise(known)  # Polars leaves out + 0.0

    def engine_errors(self) -> AbstractContextManager[None]:
        """A context in which errors of the engine become an InputError."""
        return frame_errors(self.name, self.engine, self.argument)

    def require(
        self,
        column: object,
        argument: str | None = None,
        *,
        need: str = "",
        remedy: str = "Name one of these.",
    ) -> str:
        """The name of the column that an argument names, after a check that it exists."""
        if hasattr(column, "dtype"):  # the column itself
            _check.require(argument or "column", column, str, "Columns are named by text.")
        names: Collection[object] = self.types  # those of pandas may be numbers
        if isinstance(column, int) and column in names:
            raise InputError(
                f"column {column!r} of {self.name} must have text for a name, not a number. Rename "
                f"it, or pass arrays.",
                argument=argument,
            )
        if not isinstance(column, str) or column not in self.types:
            raise InputError(
                f"{self.name} has no column {column!r}{need}. It has {self.listed}. {remedy}",
                argument=argument,
            )
        if self.engine == "spark" and set(column) & set(".`"):
            raise InputError(
                f"column {column!r} of {self.name} must have a name without points and backticks, "
                f"which Spark reads as a path. Rename it.",
                argument=argument,
            )
        return column

    @property
    def listed(self) -> str:
        """The names of the columns, as far as a message has room."""
        return ", ".join(map(str, list(self.types)[:12])) + ", …" * (len(self.types) > 12)

    def require_label(self, column: object, argument: str | None = None) -> str:
        """The name of the column, after a check that it exists and holds labels."""
        known = self.require(column, argument)
        if not self.is_label(known):
            where = f"column {known!r} of {self.name}"
            raise _check.no_labels(where, f"its type is {self.types[known]}")
        return known

    def require_group(self, column: object, argument: str) -> str:
        """The name of the column, after a check that it exists and can hold groups."""
        known = self.require_label(column, argument)
        rows = self.frame if self.passed is None else self.passed
        if isinstance(rows, nw.DataFrame) and rows[known].dtype == nw.Object:
            # Of objects only a look at all of them tells.
            _check.groups(f"column {known!r} of {self.name}", rows[known].to_native())
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


def frame_source(
    frame: Any, name: str = "the frame", watch: Watch | None = None, argument: str = "frame"
) -> Source:
    """The rows of a frame of any library that narwhals supports, passed as an argument."""
    engine = type(frame).__module__.partition(".")[0].strip("_")
    try:
        with frame_errors(name, engine, argument):
            known = nw.from_native(frame)
            types = dict(known.collect_schema())
    except DuplicateError as error:
        twice = re.search("'.*'", str(error))
        raise InputError(
            f"{argument} must name every column once; {twice[0] if twice else 'one name'} appears "
            f"twice. Rename one.",
            argument=argument,
        ) from None
    except NarwhalsError as error:  # no expression of ours is in the query yet
        raise frame_error(error, name, engine, argument) from error
    except TypeError:
        raise InputError(
            f"{argument} must be a frame of pandas, Polars or PyArrow, a DuckDB relation, a frame "
            f"of Dask or Spark, or the path of a file; got {type(frame).__name__}. Pass one of "
            f"these.",
            argument=argument,
        ) from None
    source = Source(name, types, known, watch=watch or Watch(), argument=argument)
    if source.engine != "pandas" or not isinstance(known, nw.DataFrame):
        return source
    return replace(_with_frame(source, with_decimals(known)), passed=known)


# Whatever a caller hands over ---------------------------------------------------------------------


@contextmanager
def opened(frame: Any, engine: str | None = None) -> Iterator[Source]:
    """The rows of a frame of any library, of a relation, or of files, as a source of columns.

    `engine` is the one of `ENGINES` that must tally the rows, "numpy" meaning arrays in memory;
    with None any will do.
    """
    if engine is not None and not (isinstance(engine, str) and engine in ENGINES):
        raise InputError(
            f"engine must be one of {', '.join(ENGINES)}, or None; got "
            f"{_check.described(engine)}. None lets the size decide.",
            argument="engine",
        )
    with _source(frame, engine) as source:
        if engine not in (None, NUMPY, source.engine):
            known = dict.fromkeys((NUMPY, source.engine, *source.others))
            raise InputError(
                f"engine must be one of {', '.join(known)} for {source.name}; got {engine!r}. Hand "
                f"over a frame of {engine}, or leave engine out.",
                argument="engine",
            )
        yield source


def _source(frame: Any, engine: str | None) -> AbstractContextManager[Source]:
    if isinstance(frame, Source):
        return nullcontext(frame)
    if isinstance(frame, str | os.PathLike | list | tuple):
        paths = [_path(path) for path in (frame if isinstance(frame, list | tuple) else [frame])]
        return _spark_files(paths) if engine == "spark" else _files(paths)
    if type(frame).__module__.startswith("pyarrow._dataset"):
        return _relation(frame)  # narwhals has no expressions for a data set of PyArrow
    source = frame_source(frame)
    if engine == "duckdb" and isinstance(source.frame, nw.DataFrame):
        return _handed_to_duckdb(source, source.frame)
    return nullcontext(source)


@contextmanager
def _handed_to_duckdb(source: Source, frame: nw.DataFrame[Any]) -> Iterator[Source]:
    """The rows of a frame in memory in DuckDB, which reads the memory of Arrow without a copy."""
    # Names of pandas may be numbers, which neither Arrow nor DuckDB has.
    frame = frame.select(*(name for name in source.types if isinstance(name, str)))
    rows = for_arrow(frame) if source.engine == "pandas" else frame
    with frame_errors(source.name, source.engine, source.argument, OverflowError, UnicodeError):
        table = rows.to_arrow()
    with _relation(table, _with_frame(source, rows).category_orders()) as relation:
        yield replace(relation, passed=frame)


def _with_frame(source: Source, frame: nw.DataFrame[Any]) -> Source:
    return replace(source, frame=frame, types=dict(frame.schema))


def _files(paths: Sequence[str]) -> AbstractContextManager[Source]:
    from stakes.adapters.duck import opened_files

    return opened_files(paths)


def _spark_files(paths: Sequence[str]) -> AbstractContextManager[Source]:
    from stakes.adapters.duck import spark_files

    return spark_files(paths)


def _relation(
    rows: Any, orders: Mapping[str, Sequence[str]] | None = None
) -> AbstractContextManager[Source]:
    from stakes.adapters.duck import opened_rows

    return opened_rows(rows, orders or {})


def _path(path: Any) -> str:
    try:
        return os.path.expanduser(os.fsdecode(path))
    except TypeError:
        raise InputError(
            f"frame must name files by their paths; one of them is {_check.described(path)}. Pass "
            f"text.",
            argument="frame",
        ) from None
