"""Scores of two classes from a stream of rows: sorted and exact, or in bins, with sums of losses.

There is one pass over blocks of arrays; `stakes.tally.sorted_runs` describes what is kept of them
where ranks must be exact.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import numpy.typing as npt

from stakes._arithmetic import weighted_sum
from stakes._check import HEAVIEST, LIGHTEST, FloatArray, IntArray
from stakes.adapters.expressions import Arrays
from stakes.adapters.lazy import TRUTH, WEIGHT
from stakes.adapters.relations import arrow_blocks
from stakes.adapters.sources import Lazy
from stakes.decide import cheapest_decisions, class_ratios, shift_prior
from stakes.evaluation import RULES
from stakes.problem import Problem
from stakes.ranking import exact_bins
from stakes.rule import cuts_of
from stakes.tally import Bins, BinSums, BitGrid, SortedRuns, blocks

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
