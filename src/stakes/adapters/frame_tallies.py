"""Tallies of the columns of a frame, summed by its engine; only the tally leaves it.

The functions are what `from_frame` of each tally calls; the tallies equal those that constructors
make of arrays.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from stakes.errors import InputError, extra

with extra("frames", "a frame"):  # before the files of this room that need it, too
    import narwhals.stable.v2 as nw

from stakes import _check
from stakes._check import FloatArray, Label, Labels
from stakes.adapters.columns import Columns, NumbersColumn, named_losses
from stakes.adapters.expressions import ROWS, Arrays, first_of, high_of, low_of, texts_of
from stakes.adapters.frame_rows import (
    FrameRows,
    FrameSums,
    NamedLabels,
    labels_found,
    opened_columns,
    two_classes_of,
)
from stakes.adapters.label_texts import group_labels
from stakes.adapters.lazy import TRUTH, WEIGHT, by_column, column_of
from stakes.adapters.sources import Lazy, Source
from stakes.adapters.streamed_scores import EXACT_BYTES, pooled_stream
from stakes.adapters.zoom_bins import pooled_bins
from stakes.rows import Decisions, Scores
from stakes.tally import (
    ROUND,
    Bins,
    BitGrid,
    Counts,
    Labelled,
    LossMoments,
    ScoreTable,
    SortedRuns,
    refuse_too_many,
)

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
