"""Checked rows of a frame, and sums over them by class, group and score."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from stakes import _check
from stakes._arithmetic import table_of
from stakes._check import FloatArray, IntArray, Label, Labels
from stakes._value import record
from stakes.adapters.checked_columns import require_cases
from stakes.adapters.columns import Columns, NumbersColumn, model_argument, prediction_columns
from stakes.adapters.expressions import (
    Arrays,
    first_of,
    grouped,
    high_of,
    low_of,
    sum_of,
    texts_of,
    whether,
)
from stakes.adapters.label_texts import LabelColumn, group_labels, spellings, text_name
from stakes.adapters.lazy import WEIGHT, by_column, column_of, entry_checks, facts_of, prepared
from stakes.adapters.sources import Lazy, Source, opened
from stakes.adapters.streamed_scores import can_stream, score_stream, within
from stakes.adapters.zoom_bins import TOTAL, ScoreGrid, UnitGrid
from stakes.errors import InputError
from stakes.rows import Decisions
from stakes.tally import Bins, BitGrid, Labelled, two_classes

_MOST_CLASSES = 10_000


def labels_found(source: Source, lazy: Lazy, column: str) -> list[str]:
    """The sorted distinct texts of a column of labels; missing labels are refused."""
    texts = lazy.select(nw.col(text_name(column)).alias("text"))
    sizes = texts.group_by("text").agg(nw.len().alias("size"))
    # One label more than allowed, and perhaps the missing one, are enough to refuse the column.
    frame = sizes.head(_MOST_CLASSES + 2).collect()
    counts = dict(zip(texts_of(frame["text"]).tolist(), frame["size"].to_list(), strict=True))
    if None in counts:
        gaps, total = int(counts[None]), source.count()
        raise LabelColumn(column, "classes").refused(source.name, gaps, total, None)
    if not counts:
        raise InputError("y_true must hold at least one case; there are none. Pass some rows.")
    if len(counts) > _MOST_CLASSES:
        raise InputError(
            f"column {column!r} of {source.name} must hold classes; it holds more than "
            f"{_MOST_CLASSES:,} labels. Name the column of the true classes.",
            argument="y_true",
        )
    return sorted(counts)


def two_classes_of(texts: Sequence[str], positive: Label | None) -> Labels | None:
    """The labels (negative, positive), as `two_classes` finds them in rows."""
    if positive is not None:
        _check.a_label("positive", positive)
    known: dict[str, Label] = dict(group_labels(texts))
    # The classes 0 and 1 may be written as 0.0 and 1.0, or as false and true.
    if positive is None or positive in (0, 1):
        either = (False, True) if isinstance(positive, bool) else (0, 1)
        places = spellings(either)
        known = {text: either[places[text]] if text in places else known[text] for text in texts}
    else:
        positive_texts = spellings([positive])
        known = {text: positive if text in positive_texts else known[text] for text in texts}
    return two_classes(list(known.values()), positive)[0]


_MEMORY = 2 << 30  # bytes that DuckDB may use where it reads files
_BIN, _BAD = "bin", "bad"


@dataclass(frozen=True)
class NamedLabels:
    """The labels of classes and decisions."""

    classes: Labels
    decisions: Labels = ()


@contextmanager
def opened_columns(frame: Any, columns: Columns) -> Iterator[Source]:
    """The source of the rows; errors name the argument and its column."""
    with opened(frame) as source, source.engine_errors():
        require_cases(columns, source)
        for name, model in columns.models.items():
            (column,) = prediction_columns(model)
            is_label = isinstance(model, Decisions)
            require = source.require_label if is_label else source.require_number
            require(column, "losses" if isinstance(model, NumbersColumn) else name)
        try:
            yield source
        except InputError as error:
            raise _located(error, columns, source.name) from None


def _located(error: InputError, columns: Columns, source: str) -> InputError:
    for name, model in columns.models.items():
        if error.argument == model_argument(name):
            argument = f"losses[{name!r}]" if isinstance(model, NumbersColumn) else name
            (column,) = prediction_columns(model)
            return error.renamed(f"{argument} (column {column!r} of {source})", argument=argument)
    return columns.located(error, source)


@record
class FrameRows:
    """Checked rows of positive weight, with the column names of `prepared`."""

    rows: Lazy
    named: Labelled
    by: tuple[str, ...]
    weighted: bool
    streams: bool
    refuse: Callable[[], object]  # raises an error if some rows cannot be used

    @classmethod
    def read(
        cls,
        source: Source,
        columns: Columns,
        named: Callable[[Lazy], Labelled],
        *,
        stream: bool = False,
    ) -> FrameRows:
        """Read and check the rows; `named` returns the labels that they may have.

        Where the rows come as a `stream`, each block is checked as it arrives.
        """
        labels: dict[str, None] = {columns.y_true: None}
        models = columns.models.values()
        labels |= {
            prediction_columns(model)[0]: None for model in models if isinstance(model, Decisions)
        }
        numbers = [column for group in columns.numbers.values() for column in group]
        lazy = source.lazy(numbers, list(labels), columns.by, memory=_MEMORY)
        known = named(lazy)
        rows = prepared(lazy, columns, known)
        weighted = bool(columns.multiplier)
        # Groups are summed by the engine: a stream would have to keep a table for each.
        streams = stream and not columns.by and can_stream(rows)
        refuse = partial(facts_of, lazy, rows, columns, known, source.name)
        if not streams:
            checks = dict(entry_checks(lazy, rows, columns, known, source.name))
            rows = _with_bad(rows, columns, [check.bad for check in checks.values()])
        return cls(rows, known, columns.by, weighted, streams, refuse)

    def _beyond(self) -> InputError:
        """The error for scores that are numbers, but not probabilities as the bins require."""
        score = nw.col(column_of(0))
        span = self.rows.select(low=score.min(), high=score.max()).collect()
        return _no_probabilities(float(span["low"][0]), float(span["high"][0]))

    def stream(self, grid: BitGrid | None) -> Any:
        """A function that passes classes, scores and weights to another, in checked blocks."""
        probabilities = grid is not None and grid.probabilities

        def refuse(scores: FloatArray | None) -> None:
            self.refuse()
            if scores is not None and not within(scores, probabilities=probabilities):
                raise _no_probabilities(scores.min(), scores.max())

        return score_stream(
            self.rows,
            column_of(0),
            weighted=self.weighted,
            refuse=refuse,
            probabilities=probabilities,
        )

    def summed(
        self,
        sizes: Mapping[str, int],
        sums: Mapping[str, nw.Expr],
        *,
        scored: bool = False,
        bins: BitGrid | None = None,
        ranges: Sequence[str] = (),
        more: Sequence[str] = (),
    ) -> FrameSums:
        """Sums by codes and groups, and, where cases are `scored`, by score or bin of scores.

        The minimum and maximum of the columns `ranges` are added, and groups are split by `more`
        columns, as in `grouped`.
        """
        rows, groups = self.rows, [*map(by_column, range(len(self.by))), *more]
        score, numbers = column_of(0), []
        if bins is not None:
            if bins.probabilities:
                inside = (nw.col(score) >= 0.0) & (nw.col(score) <= 1.0)
                rows = rows.with_columns((nw.col(_BAD) + (1.0 - whether(inside))).alias(_BAD))
            grid = UnitGrid() if bins.probabilities else ScoreGrid()
            rows, sizes = grid.binned(rows, score, _BIN), {**sizes, _BIN: BitGrid.N_BINS}
            sums, ranges = {**sums, TOTAL: nw.col(WEIGHT) * nw.col(score)}, [score]
        elif scored:
            rows = _emptied(rows, {score: 0.0})
            numbers = [score]
        # After the bins are made: Spark would repeat any earlier step in each of theirs.
        rows, sums = _emptied(rows, dict.fromkeys(sizes, 0)), {**sums, _BAD: nw.col(_BAD)}
        arrays = grouped(rows, sizes, sums, groups, ranges, numbers=numbers)
        total = arrays[WEIGHT].sum()
        if arrays[_BAD].any() or not _check.LIGHTEST <= total <= _check.HEAVIEST:
            self.refuse()  # reads the rows again, and raises an error that says what is wrong
            raise self._beyond()
        if not self.by:
            return FrameSums(arrays, None, None)
        named = _check.groups("by", arrays[by_column(0)])
        return FrameSums(arrays, named.labels, named.codes)


def _no_probabilities(low: float, high: float) -> InputError:
    return InputError(
        f"scores must lie in [0, 1] for a grid of probabilities; they reach from {low:g} to "
        f"{high:g}. Write BitGrid(probabilities=False)."
    )


def _with_bad(rows: Lazy, columns: Columns, bad: Sequence[nw.Expr]) -> Lazy:
    """Rows of positive weight, and rows that cannot be used.

    The latter are counted in the pass that sums, so that no other pass has to look for them.
    """
    rows = rows.with_columns(sum_of(bad).alias(_BAD))
    if columns.multiplier:
        rows = rows.filter((nw.col(WEIGHT) > 0.0) | (nw.col(_BAD) > 0.0))
    return rows


def _emptied(rows: Lazy, zeros: Mapping[str, float]) -> Lazy:
    """The rows with zeros in some columns where a row cannot be used."""
    fine = nw.col(_BAD) == 0.0
    return rows.with_columns(
        **{name: first_of([fine], [nw.col(name), zero]) for name, zero in zeros.items()}
    )


@record
class FrameSums:
    """Sums of the engine, and the group of each of them."""

    sums: Arrays
    groups: Labels | None
    group: IntArray | None

    def cells(self, codes: list[IntArray], shape: tuple[int, ...]) -> Callable[[str], FloatArray]:
        """A function that adds up sums by codes, with a leading axis for groups, if any."""
        if self.group is not None:
            codes, shape = [self.group, *codes], (len(self.groups or ()), *shape)
        return lambda name: table_of(self.sums[name], codes, shape)

    def scores(self, *, binned: bool) -> tuple[FloatArray, IntArray]:
        """The distinct scores, or mean scores of bins, and the position of each sum among them."""
        if not binned:  # engines may group −0.0 and 0.0 apart
            points, place = np.unique(self.sums[column_of(0)], return_inverse=True)
            return points + 0.0, place.reshape(-1)
        both = np.stack([self.sums[WEIGHT], np.zeros(len(self.sums[WEIGHT]))], axis=1)
        low, high = self.sums[low_of(column_of(0))], self.sums[high_of(column_of(0))]
        bins = Bins.pooled(low, high, self.sums[TOTAL], both)
        return bins.mean, np.asarray(np.searchsorted(bins.low, low, side="right") - 1)
