"""Tallies of the columns of a frame, summed by its engine; only the tally leaves it.

The functions return the fields of `Counts`, `ScoreTable` and `LossMoments`, equal to those that
their constructors compute from arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from math import prod
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from stakes import _check
from stakes._check import FloatArray, IntArray, Label, Labels
from stakes.adapters.columns import (
    Columns,
    Numbers,
    columns_of,
    group_labels,
    groups_of,
    model_argument,
    named_losses,
)
from stakes.adapters.expressions import (
    HIGH,
    LOW,
    ROWS,
    Arrays,
    arrays_of,
    grouped,
    low_of,
    picked,
    sum_of,
    whether,
)
from stakes.adapters.found_labels import labels_found, two_classes_of
from stakes.adapters.lazy import (
    TRUTH,
    WEIGHT,
    by_column,
    checks_of,
    column_of,
    facts_of,
    prepared,
)
from stakes.adapters.sources import Lazy, Source, opened
from stakes.adapters.streamed_scores import EXACT_BYTES, pooled_stream, scores_of, within
from stakes.adapters.streams import can_stream
from stakes.adapters.zoom_bins import ScoreGrid, UnitGrid
from stakes.errors import InputError
from stakes.rows import Decisions, Scores
from stakes.tally import Bins, BitGrid, Labelled, SortedRuns, refuse_too_many

_MEMORY = 2 << 30  # bytes that DuckDB may use where it reads files
_SPREAD = 1e-6  # variance over mean square, below which losses are summed about a loss
_BIN, _TOTAL, _BAD = "bin", "total", "bad"
Parts = dict[str, Any]


def counts_parts(
    frame: Any,
    *,
    y_true: str,
    decisions: str,
    problem: Labelled,
    weights: str | None,
    by: str | None,
) -> Parts:
    """The fields of `Counts.from_frame`.

    >>> import pyarrow as pa
    >>> from stakes import Counts, Problem
    >>> frame = pa.table({"y": [0, 0, 1], "did": ["no", "ask", "yes"]})
    >>> problem = Problem([[0, 1, 0.3], [5, 0, 0.3]], decisions=["no", "yes", "ask"])
    >>> Counts.from_frame(frame, y_true="y", decisions="did", problem=problem).values
    array([[1., 0., 1.],
           [0., 1., 0.]])
    """
    columns = Columns(y_true, {"decisions": Decisions(decisions)}, weights, _listed(by))
    with _opened(frame, columns) as source:
        rows = _Rows.read(source, columns, lambda lazy: problem)
        shape, decided = (len(problem.classes), len(problem.decisions)), column_of(0)
        tally = rows.summed({TRUTH: shape[0], decided: shape[1]}, {WEIGHT: nw.col(WEIGHT)})
        sums = tally.cells(tally.sums[TRUTH] * shape[1] + tally.sums[decided], shape)
    return {
        "values": sums(WEIGHT),
        "classes": problem.classes,
        "decisions": problem.decisions,
        "groups": tally.groups,
    }


def score_parts(
    frame: Any,
    *,
    y_true: str,
    scores: str,
    positive: Label | None,
    weights: str | None,
    by: str | None,
    bins: BitGrid | None,
) -> Parts:
    """The fields of `ScoreTable.from_frame`.

    >>> import pyarrow as pa
    >>> from stakes import ScoreTable
    >>> frame = pa.table({"y": [0, 0, 1, 1], "p": [0.1, 0.4, 0.4, 0.8]})
    >>> ScoreTable.from_frame(frame, y_true="y", scores="p")
    ScoreTable of 4 cases, 2 positive, 3 distinct scores from 0.1 to 0.8
    """
    if bins is not None:
        _check.require("bins", bins, BitGrid, "Write BitGrid(probabilities=True), or None.")
    columns = Columns(y_true, {"scores": Scores(scores)}, weights, _listed(by))
    with _opened(frame, columns) as source:
        rows, classes = _scored_rows(source, columns, positive)
        if rows.streams:
            points, weight = _pooled_stream(rows, bins)
            return {"scores": points, "weights": weight, "classes": classes, "groups": None}
        tally = rows.summed({TRUTH: 2}, {WEIGHT: nw.col(WEIGHT)}, scored=True, bins=bins)
        points, place = tally.scores(binned=bins is not None)
        refuse_too_many(len(tally.groups or ()), 2 * len(points))
        sums = tally.cells(place * 2 + tally.sums[TRUTH], (len(points), 2))
    return {
        "scores": points,
        "weights": sums(WEIGHT),
        "classes": classes,
        "groups": tally.groups,
    }


def _pooled_stream(rows: _Rows, bins: BitGrid | None) -> tuple[FloatArray, FloatArray]:
    """Distinct scores, or mean scores of bins, and the weights of both classes there."""
    if bins is not None:
        pooled = pooled_stream(rows.hand(bins), bins, np.empty(0), exact=False)
        return pooled.mean, pooled.weights
    runs = SortedRuns()
    rows.hand(None)(runs.add)
    tables = list(runs.tables())
    weights = np.concatenate([table.weights.T for table in tables], axis=1).T
    return np.concatenate([table.scores for table in tables]), weights


def score_bins(
    frame: Any,
    *,
    y_true: str,
    scores: str,
    grid: BitGrid,
    positive: Label | None,
    weights: str | None,
    memory: int,
) -> Bins:
    """The bins of `Bins.from_frame`.

    >>> import pyarrow as pa
    >>> from stakes.tally import Bins, BitGrid
    >>> frame = pa.table({"y": [0, 0, 1, 1], "p": [0.1, 0.4, 0.4, 0.8]})
    >>> Bins.from_frame(frame, y_true="y", scores="p", grid=BitGrid(True)).high.tolist()
    [0.1, 0.4, 0.8]
    """
    _check.require("grid", grid, BitGrid, "Write BitGrid(probabilities=True).")
    columns = Columns(y_true, {"scores": Scores(scores)}, weights, ())
    with _opened(frame, columns) as source:
        # Counted before the rows are read: a connection has only one open result.
        exact = EXACT_BYTES[weights is not None] * source.count() <= memory
        rows, _ = _scored_rows(source, columns, positive)
        if rows.streams:
            return pooled_stream(rows.hand(grid), grid, np.empty(0), exact=exact)
        tally = rows.summed({TRUTH: 2}, {WEIGHT: nw.col(WEIGHT)}, scored=True, bins=grid)
        class_weights = np.where(
            tally.sums[TRUTH][:, None] == np.arange(2), tally.sums[WEIGHT][:, None], 0.0
        )
        return Bins.pooled(tally.sums[LOW], tally.sums[HIGH], tally.sums[_TOTAL], class_weights)


def _scored_rows(
    source: Source, columns: Columns, positive: Label | None
) -> tuple[_Rows, Labels | None]:
    """Rows whose true classes are codes, and the labels of the two classes."""
    known: list[Labels | None] = []

    def two(lazy: Lazy) -> Labelled:
        texts = labels_found(source, lazy, columns.y_true)
        known.append(two_classes_of(texts, positive))
        # Without known classes all cases are positive, and their text is the second label.
        return _Named(known[0] or ("", texts[0]))

    return _Rows.read(source, columns, two, stream=True), known[0]


def loss_parts(
    frame: Any,
    *,
    y_true: str,
    losses: str | Sequence[str] | Mapping[str, str],
    classes: object,
    weights: str | None,
    by: str | None,
) -> Parts:
    """The fields of `LossMoments.from_frame`.

    >>> import pyarrow as pa
    >>> from stakes import LossMoments
    >>> frame = pa.table({"y": [0, 0, 1], "old": [0, 2, 5], "new": [1, 1, 3]})
    >>> LossMoments.from_frame(frame, y_true="y", losses=["old", "new"]).means
    array([[1., 1.],
           [5., 3.]])
    """
    named = named_losses(losses)
    columns = Columns(
        y_true, {name: Numbers(column) for name, column in named.items()}, weights, _listed(by)
    )
    stated = None if classes is None else _check.labels("classes", classes)
    if stated == ():
        raise InputError(
            "classes must be one label at least; there is none. Leave them out to take those of "
            "the rows.",
            argument="classes",
        )

    def labels(lazy: Lazy) -> Labelled:
        known = group_labels(labels_found(source, lazy, y_true)) if stated is None else {}
        return _Named(stated or _check.FoundLabels(known.values()))

    with _opened(frame, columns) as source:
        rows = _Rows.read(source, columns, labels)
        names = rows.named.classes
        centre = np.zeros((len(names), len(named)))
        tally = _losses_about(rows, centre)
        if _cancels(tally.sums, len(named)):
            centre = _least_losses(rows, centre)
            tally = _losses_about(rows, centre)
        place = tally.sums[TRUTH]
        if stated is None and len(present := np.unique(place)) < len(names):
            # All rows of the other classes have weight zero.
            names = _check.FoundLabels(names[code] for code in present)
            place, centre = np.searchsorted(present, place), centre[present]
        total = tally.cells(place, (len(names),))
    weight = total(WEIGHT)
    products = np.empty((*weight.shape, len(named), len(named)))
    for i, j in _pairs(len(named)):
        products[..., i, j] = products[..., j, i] = total(f"{i} {j}")
    return {
        "centre": centre,
        "weight": weight,
        "sums": np.stack([total(f"{i}") for i in range(len(named))], axis=-1),
        "products": products,
        "names": _check.labels("the names of the losses", named),
        "classes": names,
        "groups": tally.groups,
    }


def _losses_about(rows: _Rows, centre: FloatArray) -> _Sums:
    """Sums of the weights, of the losses' distances from a centre (K, J), and of their products."""
    weight, code = nw.col(WEIGHT), nw.col(TRUTH)
    away = [nw.col(column_of(place)) for place in range(centre.shape[1])]
    if centre.any():
        centres = [picked(code, list(map(nw.lit, column))) for column in centre.T.tolist()]
        away = [loss - of_class for loss, of_class in zip(away, centres, strict=True)]
    sums = {WEIGHT: weight, **{f"{i}": weight * each for i, each in enumerate(away)}}
    sums |= {f"{i} {j}": weight * away[i] * away[j] for i, j in _pairs(len(away))}
    return rows.summed({TRUTH: len(centre)}, sums)


def _pairs(size: int) -> list[tuple[int, int]]:
    """Products are symmetric, so that half of them are enough."""
    return [(i, j) for i in range(size) for j in range(i + 1)]


def _cancels(sums: Arrays, size: int) -> bool:
    """Whether losses of some rows are so large, compared with their spread, that digits are lost.

    They share most of each loss, and what they share has to be subtracted before they are squared.
    """
    several = sums[ROWS] > 1
    squares = [(sums[f"{i} {i}"], sums[f"{i}"] ** 2 / sums[WEIGHT]) for i in range(size)]
    return any(np.any(several & (of_mean > (1 - _SPREAD) * all_)) for all_, of_mean in squares)


def _least_losses(rows: _Rows, centre: FloatArray) -> FloatArray:
    """The least losses (K, J) of each class; 0 of those that do not occur."""
    least = np.full_like(centre, np.inf)
    columns = [column_of(place) for place in range(centre.shape[1])]
    lows = rows.summed({TRUTH: len(centre)}, {WEIGHT: nw.col(WEIGHT)}, ranges=columns).sums
    np.minimum.at(least, lows[TRUTH], np.stack([lows[low_of(name)] for name in columns], axis=1))
    return np.where(np.isfinite(least), least, 0.0)


def _listed(by: str | None) -> tuple[str, ...]:
    if by is None:
        return ()
    _check.require("by", by, str, "Name one column.")
    return (by,)


# Rows of a frame ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Named:
    """The labels of classes and decisions."""

    classes: Labels
    decisions: Labels = ()


@contextmanager
def _opened(frame: Any, columns: Columns) -> Iterator[Source]:
    """The source of the rows; errors name the argument and its column."""
    with opened(frame) as source, source.engine_errors():
        source.require_label(columns.y_true, "y_true")
        for column in columns.by:
            source.require_label(column, "by")
        if columns.weights is not None:
            source.require_number(columns.weights, "weights")
        for name, model in columns.models.items():
            (column,) = columns_of(model)
            is_label = isinstance(model, Decisions)
            require = source.require_label if is_label else source.require_number
            require(column, "losses" if isinstance(model, Numbers) else name)
        try:
            yield source
        except InputError as error:
            raise _located(error, columns, source.name) from None


def _located(error: InputError, columns: Columns, source: str) -> InputError:
    for name, model in columns.models.items():
        if error.argument == model_argument(name):
            argument = f"losses[{name!r}]" if isinstance(model, Numbers) else name
            (column,) = columns_of(model)
            return error.renamed(f"{argument} (column {column!r} of {source})", argument=argument)
    return columns.located(error, source)


@dataclass(frozen=True, eq=False)
class _Rows:
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
    ) -> _Rows:
        """Read and check the rows; `named` returns the labels that they may have.

        Where the rows come as a `stream`, each block is checked as it arrives.
        """
        labels = {columns.y_true: None, **dict.fromkeys(columns.by)}
        models = columns.models.values()
        labels |= {columns_of(model)[0]: None for model in models if isinstance(model, Decisions)}
        numbers = [column for group in columns.numbers.values() for column in group]
        lazy = source.lazy(numbers, list(labels), memory=_MEMORY)
        known = named(lazy)
        rows = prepared(lazy, columns, known)
        weighted = columns.weights is not None
        # Groups are summed by the engine: a stream would have to keep a table for each.
        streams = stream and not columns.by and can_stream(rows)
        refuse = partial(facts_of, lazy, rows, columns, known, source.name)
        if not streams:
            checks = dict(checks_of(lazy, rows, columns, known, source.name))
            rows = _with_bad(rows, columns, [check.bad for check in checks.values()])
        return cls(rows, known, columns.by, weighted, streams, refuse)

    def _beyond(self) -> InputError:
        """The error for scores that are numbers, but not probabilities as the bins require."""
        score = nw.col(column_of(0))
        span = self.rows.select(score.min().alias(LOW), score.max().alias(HIGH)).collect()
        return _no_probabilities(float(span[LOW][0]), float(span[HIGH][0]))

    def hand(self, grid: BitGrid | None) -> Any:
        """A function that passes classes, scores and weights to another, in checked blocks."""
        unit = grid is not None and grid.probabilities

        def refuse(scores: FloatArray | None) -> None:
            self.refuse()
            if scores is not None and not within(scores, unit=unit):
                raise _no_probabilities(scores.min(), scores.max())

        score = column_of(0)
        return scores_of(self.rows, score, weighted=self.weighted, refuse=refuse, unit=unit)

    def summed(
        self,
        sizes: Mapping[str, int],
        sums: Mapping[str, nw.Expr],
        *,
        scored: bool = False,
        bins: BitGrid | None = None,
        ranges: Sequence[str] = (),
    ) -> _Sums:
        """Sums by codes and groups, and, where cases are `scored`, by score or bin of scores.

        The minimum and maximum of the columns `ranges` are added, as in `grouped`.
        """
        rows, more = self.rows, [by_column(k) for k in range(len(self.by))]
        score, span = column_of(0), None
        if bins is not None:
            if bins.probabilities:
                inside = (nw.col(score) >= 0.0) & (nw.col(score) <= 1.0)
                rows = rows.with_columns((nw.col(_BAD) + (1.0 - whether(inside))).alias(_BAD))
            grid = UnitGrid() if bins.probabilities else ScoreGrid()
            rows, sizes = grid.binned(rows, score, _BIN), {**sizes, _BIN: BitGrid.N_BINS}
            sums, span = {**sums, _TOTAL: nw.col(WEIGHT) * nw.col(score)}, score
        elif scored:
            rows = _emptied(rows, {score: 0.0})
            more.append(score)
        # After the bins are made: Spark would repeat any earlier step in each of theirs.
        rows, sums = _emptied(rows, dict.fromkeys(sizes, 0)), {**sums, _BAD: nw.col(_BAD)}
        arrays = arrays_of(grouped(rows, sizes, sums, more, span, ranges), sizes)
        total = arrays[WEIGHT].sum()
        if arrays[_BAD].any() or not _check.LIGHTEST <= total <= _check.HEAVIEST:
            self.refuse()  # reads the rows again, and raises an error that says what is wrong
            raise self._beyond()
        if not self.by:
            return _Sums(arrays, None, None)
        labels, codes = groups_of(arrays[by_column(0)])
        return _Sums(arrays, _check.labels("by", labels), codes)


def _no_probabilities(low: float, high: float) -> InputError:
    return InputError(
        f"scores must lie in [0, 1] for a grid of probabilities; they reach from {low:g} to "
        f"{high:g}. Write BitGrid(probabilities=False).",
        argument="scores",
    )


def _with_bad(rows: Lazy, columns: Columns, bad: Sequence[nw.Expr]) -> Lazy:
    """Rows of positive weight, and rows that cannot be used.

    The latter are counted in the pass that sums, so that no other pass has to look for them.
    """
    rows = rows.with_columns(sum_of(bad).alias(_BAD))
    if columns.weights is not None:
        rows = rows.filter((nw.col(WEIGHT) > 0.0) | (nw.col(_BAD) > 0.0))
    return rows


def _emptied(rows: Lazy, zeros: Mapping[str, float]) -> Lazy:
    """The rows with zeros in some columns where a row cannot be used."""
    fine = nw.col(_BAD) == 0.0
    return rows.with_columns(
        nw.when(fine).then(nw.col(name)).otherwise(nw.lit(zero)).alias(name)
        for name, zero in zeros.items()
    )


@dataclass(frozen=True, eq=False)
class _Sums:
    """Sums of the engine, and the group of each of them."""

    sums: Arrays
    groups: Labels | None
    group: IntArray | None

    def cells(self, cell: IntArray, shape: tuple[int, ...]) -> Callable[[str], FloatArray]:
        """A function that adds up sums by cell, with a leading axis for groups if there are any."""
        if self.group is not None:
            cell, shape = self.group * prod(shape) + cell, (len(self.groups or ()), *shape)

        def total(name: str) -> FloatArray:
            added = np.bincount(cell, weights=self.sums[name], minlength=prod(shape))
            return added.astype(np.float64).reshape(shape)

        return total

    def scores(self, *, binned: bool) -> tuple[FloatArray, IntArray]:
        """The distinct scores, or mean scores of bins, and the position of each sum among them."""
        if not binned:  # engines may group −0.0 and 0.0 apart
            points, place = np.unique(self.sums[column_of(0)], return_inverse=True)
            return points + 0.0, place.reshape(-1)
        both = np.stack([self.sums[WEIGHT], np.zeros(len(self.sums[WEIGHT]))], axis=1)
        bins = Bins.pooled(self.sums[LOW], self.sums[HIGH], self.sums[_TOTAL], both)
        return bins.mean, np.searchsorted(bins.low, self.sums[LOW], side="right") - 1
