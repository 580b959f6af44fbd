"""Tallies of the columns of a frame, summed by its engine; only the tally leaves it.

The functions return the fields of `Counts`, `ScoreTable` and `LossMoments`, equal to those that
their constructors compute from arrays.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from stakes import _check
from stakes._check import FloatArray, Label, Labels
from stakes.adapters.columns import (
    Columns,
    Numbers,
    group_labels,
    named_losses,
)
from stakes.adapters.expressions import (
    HIGH,
    LOW,
    ROWS,
    Arrays,
    low_of,
    picked,
)
from stakes.adapters.found_labels import labels_found, two_classes_of
from stakes.adapters.frame_rows import (
    TOTAL,
    FrameRows,
    FrameSums,
    NamedLabels,
    opened_columns,
)
from stakes.adapters.lazy import (
    TRUTH,
    WEIGHT,
    column_of,
)
from stakes.adapters.sources import Lazy, Source
from stakes.adapters.streamed_scores import EXACT_BYTES, pooled_stream
from stakes.errors import InputError
from stakes.rows import Decisions, Scores
from stakes.tally import Bins, BitGrid, Labelled, SortedRuns, refuse_too_many

_SPREAD = 1e-6  # variance over mean square, below which losses are summed about a loss
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
    with opened_columns(frame, columns) as source:
        rows = FrameRows.read(source, columns, lambda lazy: problem)
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
    with opened_columns(frame, columns) as source:
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


def _pooled_stream(rows: FrameRows, bins: BitGrid | None) -> tuple[FloatArray, FloatArray]:
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
    with opened_columns(frame, columns) as source:
        # Counted before the rows are read: a connection has only one open result.
        exact = EXACT_BYTES[weights is not None] * source.count() <= memory
        rows, _ = _scored_rows(source, columns, positive)
        if rows.streams:
            return pooled_stream(rows.hand(grid), grid, np.empty(0), exact=exact)
        tally = rows.summed({TRUTH: 2}, {WEIGHT: nw.col(WEIGHT)}, scored=True, bins=grid)
        class_weights = np.where(
            tally.sums[TRUTH][:, None] == np.arange(2), tally.sums[WEIGHT][:, None], 0.0
        )
        return Bins.pooled(tally.sums[LOW], tally.sums[HIGH], tally.sums[TOTAL], class_weights)


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
        return NamedLabels(stated or _check.FoundLabels(known.values()))

    with opened_columns(frame, columns) as source:
        rows = FrameRows.read(source, columns, labels)
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


def _losses_about(rows: FrameRows, centre: FloatArray) -> FrameSums:
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


def _least_losses(rows: FrameRows, centre: FloatArray) -> FloatArray:
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
