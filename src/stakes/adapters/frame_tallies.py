"""Tallies of the columns of a frame, summed by its engine; only the tally leaves it."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from stakes.errors import InputError, extra

with extra("frames", "a frame"):  # before the files of this room that need it, too
    import narwhals.stable.v2 as nw

from stakes import _check
from stakes._arithmetic import table_of, weighted_sum
from stakes._check import HEAVIEST, LIGHTEST, FloatArray, IntArray, Label, Labels
from stakes._value import record
from stakes.adapters.checked_columns import require_cases
from stakes.adapters.columns import (
    Columns,
    LabelColumn,
    NumbersColumn,
    group_labels,
    model_argument,
    named_losses,
    prediction_columns,
    spellings,
    text_name,
)
from stakes.adapters.duck import arrow_blocks
from stakes.adapters.lazy import (
    ROWS,
    TOTAL,
    TRUTH,
    WEIGHT,
    Arrays,
    ScoreGrid,
    UnitGrid,
    by_column,
    column_of,
    entry_checks,
    facts_of,
    first_of,
    grouped,
    high_of,
    low_of,
    pooled_bins,
    prepared,
    sum_of,
    texts_of,
    whether,
)
from stakes.adapters.sources import Lazy, Source, opened
from stakes.decide import cheapest_decisions, class_ratios, shift_prior
from stakes.evaluation import RULES
from stakes.problem import Problem
from stakes.ranking import exact_bins
from stakes.rows import Decisions, Scores
from stakes.rule import cuts_of
from stakes.tally import (
    ROUND,
    Bins,
    BinSums,
    BitGrid,
    Counts,
    Labelled,
    LossMoments,
    ScoreTable,
    SortedRuns,
    blocks,
    refuse_too_many,
    two_classes,
)

# -------------------------------------------------------------------------------------------------
# Scores of two classes from a stream of rows: sorted and exact, or in bins, with sums of
# losses.
#
# There is one pass over blocks of arrays; `stakes.tally.binned_scores` describes what is kept of
# them where ranks must be exact.

_BLOCK = 1 << 20  # rows at a time
_KINDS = {"double": "float64", "float": "float32"}  # types whose names differ in Arrow and numpy


def can_stream(frame: Lazy) -> bool:
    """Whether the engine hands out blocks of rows without reading all of them first."""
    name = frame.implementation.value
    return name == "duckdb" or (name == "polars" and hasattr(frame.to_native(), "collect_batches"))


def blocks_of(frame: Lazy) -> Generator[Arrays, None, None]:
    """Yield the columns, all of numbers, as blocks of rows in any order; missing ones are nan.

    >>> import duckdb
    >>> import narwhals.stable.v2 as nw
    >>> rows = nw.from_native(duckdb.sql("SELECT * FROM range(3) AS t(a)"))
    >>> [block["a"].tolist() for block in blocks_of(rows)]
    [[0, 1, 2]]
    """
    names = frame.collect_schema().names()
    with closing(_batches(frame.to_native(), frame.implementation.value)) as batches:
        for batch in batches:
            if len(batch):
                yield {name: _array(batch.column(k)) for k, name in enumerate(names)}


def _batches(native: Any, engine: str) -> Generator[Any, None, None]:
    """Record batches of Arrow."""
    if engine == "polars":
        for part in native.collect_batches(chunk_size=_BLOCK, maintain_order=False):
            yield from part.to_arrow().to_batches()
        return
    yield from arrow_blocks(native, _BLOCK)


def _array(column: Any) -> npt.NDArray[Any]:
    """A view of the numbers without a copy; Arrow's own ``to_numpy`` would import pandas."""
    if column.null_count:
        column = column.cast("float64").fill_null(np.nan)
    kind = np.dtype(_KINDS.get(str(column.type), str(column.type)))
    return np.frombuffer(column.buffers()[1], kind, len(column), column.offset * kind.itemsize)


HALF_SINGLE = float(np.finfo(np.float32).eps) / 2  # relative rounding error of single precision
EXACT_BYTES = 8, 16  # per case where ranks are exact, without and with a weight
_SCORE = "score"
Add = Callable[[IntArray, FloatArray, FloatArray | None], None]  # classes, scores, weights
Stream = Callable[[Add], None]


def score_stream(
    frame: Lazy,
    score: str,
    *,
    weighted: bool,
    refuse: Callable[[FloatArray | None], None] | None = None,
    probabilities: bool = False,
) -> Stream:
    """A function that passes classes, scores and weights of all rows to another, block by block.

    With `refuse`, blocks are checked: scores must be numbers, or else `probabilities`. It is called
    with the scores of the first block that has a bad score, class or weight, or with None where the
    total of the weights is 0, or out of bounds.
    """
    columns = [nw.col(TRUTH).cast(nw.Int8), nw.col(score).alias(_SCORE)]
    rows = frame.select(*columns, *([nw.col(WEIGHT)] if weighted else []))

    def stream(add: Add) -> None:
        total, bad = 0.0, None
        with closing(blocks_of(rows)) as parts:
            for block in parts:
                if refuse is not None and not usable(block):
                    bad = block[_SCORE]
                    break
                total += _passed_on(block, add)
        if refuse is not None and (bad is not None or not LIGHTEST <= total <= HEAVIEST):
            refuse(bad)  # now that the stream is closed, so that it can query the engine

    def usable(block: Arrays) -> bool:
        weights = block.get(WEIGHT)
        weighed = weights is None or 0.0 <= weights.min() <= weights.max() <= HEAVIEST
        known = bool(weighed and block[TRUTH].min() >= 0)
        return known and within(block[_SCORE], probabilities=probabilities)

    return stream


def _passed_on(block: Arrays, add: Add) -> float:
    """Pass on the rows of positive weight; return their total weight."""
    truth, scores, weights = block[TRUTH], block[_SCORE], block.get(WEIGHT)
    if weights is not None and not weights.all():
        weighty = weights > 0.0
        truth, scores, weights = truth[weighty], scores[weighty], weights[weighty]
    if scores.size:
        add(truth, scores, weights)
    return float(scores.size if weights is None else weights.sum())


def within(scores: FloatArray, *, probabilities: bool) -> bool:
    """Whether no score is nan and, with `probabilities`, all are probabilities."""
    low, high = scores.min(), scores.max()  # both are nan if one score is
    return bool(0.0 <= low <= high <= 1.0 if probabilities else low <= high)


def pooled_stream(
    stream: Stream,
    grid: BitGrid,
    borders: FloatArray,
    *,
    exact: bool,
) -> Bins:
    """The bins of all scores; with `exact`, ranks are computed from single scores."""
    if exact:
        runs = SortedRuns()
        stream(runs.add)
        return exact_bins(runs, grid, borders)
    sums = BinSums(grid, borders)
    stream(sums.add)
    return sums.bins()


@dataclass(eq=False)
class PosteriorSums:
    """Sums over rows with P(second class): losses and most probable classes, by true class."""

    moving: tuple[FloatArray, FloatArray] | None
    # Log loss and Brier score, by class.
    losses: FloatArray = field(default_factory=lambda: np.zeros((2, 2)))
    moved: FloatArray = field(default_factory=lambda: np.zeros((2, 2)))
    predicted: FloatArray = field(default_factory=lambda: np.zeros((2, 2)))

    def add(self, truth: IntArray, scores: FloatArray, weights: FloatArray | None) -> None:
        """Add rows to the sums."""
        for block in blocks(scores.size):
            weight = None if weights is None else weights[block]
            self._add(truth[block].astype(np.float64), scores[block], weight)

    def _add(self, second: FloatArray, scores: FloatArray, weight: FloatArray | None) -> None:
        """Add rows to the sums; `second` is 1.0 for rows of the second class and 0.0 for others."""
        # Posteriors of the other class and of the true one: 1 − p or p, without a condition.
        of_other, of_truth = np.abs(scores - second), np.abs(scores - (1.0 - second))
        worth = np.stack([1.0 - second, second]) * (1.0 if weight is None else weight)
        self.losses += _loss_sums(of_truth, of_other, worth)
        # At 0.5 both classes are equally probable, and the first one is predicted.
        called = worth @ (scores > 0.5)
        self.predicted += np.stack([worth.sum(axis=1) - called, called], axis=1)
        if self.moving is not None:
            first, last = shift_prior(np.stack([1.0 - scores, scores], axis=1), *self.moving).T
            is_last = second == 1.0
            of_truth, of_other = np.where(is_last, last, first), np.where(is_last, first, last)
            self.moved += _loss_sums(of_truth, of_other, worth)


def _loss_sums(of_truth: FloatArray, of_other: FloatArray, worth: FloatArray) -> FloatArray:
    """Sums (2, 2) of the losses under each rule, by class."""
    return np.stack(
        [weighted_sum(worth, rule.losses_of_two(of_truth, of_other), -1) for rule in RULES]
    )


def decision_steps(
    problem: Problem, moving: tuple[FloatArray, FloatArray] | None, *, single: bool
) -> list[tuple[float, int]]:
    """Bayes decisions as steps of P(second class): the exact end of each step and its decision.

    `moving` are the priors from and to which posteriors move; `single` says whether these are of
    single precision. Comparisons with the ends replace sums over classes, and decide alike.

    >>> steps = decision_steps(Problem([[0, 3, 25], [180, 8, 0]]), None, single=False)
    >>> [(round(end, 6), decided) for end, decided in steps]
    [(0.017143, 0), (0.733333, 1), (inf, 2)]
    """
    costs = problem.with_limits(None).costs
    ratios = None if moving is None else class_ratios(*moving)

    def decided(some: FloatArray) -> IntArray:
        score = some.astype(np.float32).astype(np.float64) if single else some
        off = np.tile(HALF_SINGLE * score[:, None], 2) if single else None
        return cheapest_decisions(np.column_stack([1 - score, score]), costs, off, ratios)

    cuts = cuts_of(decided, 0.0, 1.0)
    return list(zip([*cuts.at.tolist(), np.inf], cuts.decisions.tolist(), strict=True))


# Checked rows of a frame, and sums over them by class, group and score ---------------------------

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


# Tallies of the columns of a frame, summed by its engine; only the tally leaves it ---------------
#
# The functions are what `from_frame` of each tally calls; the tallies equal those that
# constructors make of arrays.


_SPREAD = 1e-2  # variance over mean square, below which losses are summed about their mean
_MOST_CENTRES = 500  # engines nest as many conditions as there are centres


def frame_counts(
    frame: Any,
    y_true: str,
    decisions: str,
    problem: Labelled,
    weights: str | None,
    by: str | None,
) -> Counts:
    """See `Counts.from_frame`.

    >>> import pyarrow as pa
    >>> from stakes import Counts, Problem
    >>> frame = pa.table({"y": [0, 0, 1], "did": ["no", "ask", "yes"]})
    >>> problem = Problem([[0, 1, 0.3], [5, 0, 0.3]], decisions=["no", "yes", "ask"])
    >>> Counts.from_frame(frame, y_true="y", decisions="did", problem=problem).values
    array([[1., 0., 1.],
           [0., 1., 0.]])
    """
    _check.require("decisions", decisions, str)
    columns = Columns(y_true, {"decisions": Decisions(decisions)}, weights, _listed(by))
    with opened_columns(frame, columns) as source:
        rows = FrameRows.read(source, columns, lambda lazy: problem)
        shape, decided = (len(problem.classes), len(problem.decisions)), column_of(0)
        tally = rows.summed({TRUTH: shape[0], decided: shape[1]}, {WEIGHT: nw.col(WEIGHT)})
        sums = tally.cells([tally.sums[TRUTH], tally.sums[decided]], shape)
    return Counts._trusted(
        values=sums(WEIGHT),
        classes=problem.classes,
        decisions=problem.decisions,
        groups=tally.groups,
        weighted=weights is not None,
    )


def frame_scores(
    frame: Any,
    y_true: str,
    scores: str,
    positive: Label | None,
    weights: str | None,
    by: str | None,
    bins: BitGrid | None,
) -> ScoreTable:
    """See `ScoreTable.from_frame`.

    >>> import pyarrow as pa
    >>> from stakes import ScoreTable
    >>> frame = pa.table({"y": [0, 0, 1, 1], "p": [0.1, 0.4, 0.4, 0.8]})
    >>> ScoreTable.from_frame(frame, y_true="y", scores="p")
    ScoreTable of 4 cases, 2 positive, 3 distinct scores from 0.1 to 0.8
    """
    _check.require("scores", scores, str)
    if bins is not None:
        _check.require("bins", bins, BitGrid, "Write BitGrid(probabilities=True), or None.")
    columns = Columns(y_true, {"scores": Scores(scores)}, weights, _listed(by))
    with opened_columns(frame, columns) as source:
        rows, classes = _scored_rows(source, columns, positive)
        if rows.streams:
            points, weight = _pooled_stream(rows, bins)
            return ScoreTable._trusted(
                scores=points,
                weights=weight,
                classes=classes,
                groups=None,
                weighted=weights is not None,
            )
        tally = rows.summed({TRUTH: 2}, {WEIGHT: nw.col(WEIGHT)}, scored=True, bins=bins)
        points, place = tally.scores(binned=bins is not None)
        refuse_too_many(len(tally.groups or ()), 2 * len(points), ROUND)
        sums = tally.cells([place, tally.sums[TRUTH]], (len(points), 2))
    return ScoreTable._trusted(
        scores=points,
        weights=sums(WEIGHT),
        classes=classes,
        groups=tally.groups,
        weighted=weights is not None,
    )


def _pooled_stream(rows: FrameRows, bins: BitGrid | None) -> tuple[FloatArray, FloatArray]:
    """Distinct scores, or mean scores of bins, and the weights of both classes there."""
    if bins is not None:
        pooled = pooled_stream(rows.stream(bins), bins, np.empty(0), exact=False)
        return pooled.mean, pooled.weights
    runs = SortedRuns()
    rows.stream(None)(runs.add)
    tables = list(runs.tables())
    weights = np.concatenate([table.weights.T for table in tables], axis=1).T
    return np.concatenate([table.scores for table in tables]), weights


def frame_bins(
    frame: Any,
    y_true: str,
    scores: str,
    grid: BitGrid,
    positive: Label | None,
    weights: str | None,
    memory: int,
) -> Bins:
    """See `Bins.from_frame`.

    >>> import pyarrow as pa
    >>> from stakes.tally import Bins, BitGrid
    >>> frame = pa.table({"y": [0, 0, 1, 1], "p": [0.1, 0.4, 0.4, 0.8]})
    >>> Bins.from_frame(frame, y_true="y", scores="p", grid=BitGrid(True)).high.tolist()
    [0.1, 0.4, 0.8]
    """
    _check.require("grid", grid, BitGrid, "Write BitGrid(probabilities=True).")
    columns = Columns(y_true, {"scores": Scores(scores)}, weights, ())
    with opened_columns(frame, columns) as source:
        # Counted before the rows are read: a connection has only one open result.
        exact = EXACT_BYTES[weights is not None] * source.count() <= memory
        rows, _ = _scored_rows(source, columns, positive)
        if rows.streams:
            return pooled_stream(rows.stream(grid), grid, np.empty(0), exact=exact)
        tally = rows.summed({TRUTH: 2}, {WEIGHT: nw.col(WEIGHT)}, scored=True, bins=grid)
        return pooled_bins(tally.sums, column_of(0))


def _scored_rows(
    source: Source, columns: Columns, positive: Label | None
) -> tuple[FrameRows, Labels | None]:
    """Rows whose true classes are codes, and the labels of the two classes."""
    known: list[Labels | None] = []

    def two(lazy: Lazy) -> Labelled:
        texts = labels_found(source, lazy, columns.y_true)
        known.append(two_classes_of(texts, positive))
        # Without known classes all cases are positive, and their text is the second label.
        return NamedLabels(known[0] or ("", texts[0]))

    return FrameRows.read(source, columns, two, stream=True), known[0]


def frame_losses(
    frame: Any,
    y_true: str,
    losses: str | Sequence[str] | Mapping[str, str],
    classes: object,
    weights: str | None,
    by: str | None,
) -> LossMoments:
    """See `LossMoments.from_frame`.

    >>> import pyarrow as pa
    >>> from stakes import LossMoments
    >>> frame = pa.table({"y": [0, 0, 1], "old": [0, 2, 5], "new": [1, 1, 3]})
    >>> LossMoments.from_frame(frame, y_true="y", losses=["old", "new"]).means
    array([[1., 1.],
           [5., 3.]])
    """
    named = named_losses(losses)
    models = {name: NumbersColumn(column) for name, column in named.items()}
    columns = Columns(y_true, models, weights, _listed(by))
    stated = None if classes is None else _check.labels("classes", classes)
    if stated == ():
        raise InputError(
            "classes must be one label at least; there is none. Leave them out to take those of "
            "the rows."
        )

    def labels(lazy: Lazy) -> Labelled:
        known = group_labels(labels_found(source, lazy, y_true)) if stated is None else {}
        return NamedLabels(stated or _check.FoundLabels(known.values()))

    with opened_columns(frame, columns) as source:
        rows = FrameRows.read(source, columns, labels)
        names = rows.named.classes
        tally = _losses_about(rows, len(names), len(named), {})
        centres = _shared(tally.sums, len(named))
        if centres:
            tally = _losses_about(rows, len(names), len(named), centres)
        none = [0.0] * len(named)
        centre = np.array([centres.get(cell, none) for cell in _cells(tally.sums)])
        tally.sums.update({_centre(i): column for i, column in enumerate(centre.T)})
        place = tally.sums[TRUTH]
        if stated is None and len(present := np.unique(place)) < len(names):
            # All rows of the other classes have weight zero.
            names = _check.FoundLabels(names[code] for code in present)
            place = np.searchsorted(present, place)
        total = tally.cells([place], (len(names),))
    weight = total(WEIGHT)
    products = np.empty((*weight.shape, len(named), len(named)))
    for i, j in _pairs(len(named)):
        products[..., i, j] = products[..., j, i] = total(f"{i} {j}")
    moments = LossMoments._about(
        centre=np.stack([total(_centre(i)) for i in range(len(named))], axis=-1),
        weight=weight,
        sums=np.stack([total(f"{i}") for i in range(len(named))], axis=-1),
        products=products,
        names=_check.labels("the names of the losses", named),
        classes=names,
        groups=tally.groups,
    )
    return moments._but(weighted=weights is not None)


_GROUP = "group"
Cell = tuple[int, str | None]  # the code of a class, and the text of a group


def _losses_about(
    rows: FrameRows, n_classes: int, size: int, centres: Mapping[Cell, list[float]]
) -> FrameSums:
    """Sums of the weights, of the losses' distances from their centres, and of their products.

    Losses of other cells than those of `centres` are summed as they are. Without centres, the
    least and the greatest loss of each cell are added.
    """
    weight, names = nw.col(WEIGHT), [column_of(place) for place in range(size)]
    if rows.by:
        text = nw.col(by_column(0)).cast(nw.String)  # every engine can compare it
        rows = replace(rows, rows=rows.rows.with_columns(text.alias(_GROUP)))
    away = list(map(nw.col, names))
    if centres:
        here = [_is_cell(cell, grouped=bool(rows.by)) for cell in centres]
        near = zip(*centres.values(), strict=True)
        away = [loss - first_of(here, [*of, 0.0]) for loss, of in zip(away, near, strict=True)]
    sums = {WEIGHT: weight, **{f"{i}": weight * each for i, each in enumerate(away)}}
    sums |= {f"{i} {j}": weight * away[i] * away[j] for i, j in _pairs(size)}
    more = [_GROUP] if rows.by else []
    return rows.summed({TRUTH: n_classes}, sums, ranges=() if centres else names, more=more)


def _is_cell(cell: Cell, *, grouped: bool) -> nw.Expr:
    code, text = cell
    of_class = nw.col(TRUTH) == code
    if not grouped:
        return of_class
    group = nw.col(_GROUP)
    return of_class & (group.is_null() if text is None else group == text)


def _centre(place: int) -> str:
    return f"centre {place}"


def _pairs(size: int) -> list[tuple[int, int]]:
    """Products are symmetric, so that half of them are enough."""
    return [(i, j) for i in range(size) for j in range(i + 1)]


def _cells(sums: Arrays) -> list[Cell]:
    codes = sums[TRUTH].tolist()
    texts = [None] * len(codes)
    if _GROUP in sums:
        texts = texts_of(nw.from_native(sums[_GROUP], series_only=True)).tolist()
    return list(zip(codes, texts, strict=True))


def _shared(sums: Arrays, size: int) -> dict[Cell, list[float]]:
    """The mean losses of cells whose losses are large, compared with their spread.

    Digits would be lost: what they share has to be subtracted before they are squared. The mean
    of equal losses is exactly the loss.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        means = [
            np.clip(sums[f"{i}"] / sums[WEIGHT], sums[low_of(name)], sums[high_of(name)])
            for i, name in enumerate(map(column_of, range(size)))
        ]
        spread = np.min(
            [1 - sums[f"{i}"] ** 2 / sums[WEIGHT] / sums[f"{i} {i}"] for i in range(size)], axis=0
        )
    several = np.flatnonzero((sums[ROWS] > 1) & (spread < _SPREAD))
    worst = several[np.argsort(spread[several], kind="stable")][:_MOST_CENTRES]
    cells = _cells(sums)
    return {cells[row]: [float(mean[row]) for mean in means] for row in worst}


def _listed(by: str | None) -> tuple[str, ...]:
    if by is None:
        return ()
    _check.require("by", by, str, "Name one column.")
    return (by,)
