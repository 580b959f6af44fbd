"""Scores of two classes from a stream of rows: sorted and exact, or in bins, with sums of losses.

There is one pass over blocks of arrays; `stakes.tally.sorted_runs` describes what is kept of them
where ranks must be exact.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field

import narwhals.stable.v2 as nw
import numpy as np

from stakes._arithmetic import weighted_sum
from stakes._check import HEAVIEST, LIGHTEST, FloatArray, IntArray
from stakes.adapters.expressions import Arrays
from stakes.adapters.lazy import TRUTH, WEIGHT
from stakes.adapters.sources import Lazy
from stakes.adapters.streams import blocks_of
from stakes.decide import cheapest_decisions, class_ratios, shift_prior
from stakes.problem import Problem
from stakes.ranking import exact_bins
from stakes.scoring import Brier, LogLoss
from stakes.tally import Bins, BinSums, BitGrid, SortedRuns, blocks

HALF_SINGLE = float(np.finfo(np.float32).eps) / 2  # relative rounding error of single precision
EXACT_BYTES = 8, 16  # per case where ranks are exact, without and with a weight
_RULES = (LogLoss(), Brier())
Prior = FloatArray
_SCORE = "score"
Add = Callable[[IntArray, FloatArray, FloatArray | None], None]  # classes, scores, weights
Hand = Callable[[Add], None]


def scores_of(
    frame: Lazy,
    score: str,
    *,
    weighted: bool,
    refuse: Callable[[FloatArray | None], None] | None = None,
    unit: bool = False,
) -> Hand:
    """A function that passes classes, scores and weights of all rows to another, block by block.

    With `refuse`, blocks are checked: scores must be numbers, or with `unit` probabilities. It is
    called with the scores of the first block that has a bad score, class or weight, or with None
    where the total of the weights is 0, or out of bounds.
    """
    columns = [nw.col(TRUTH).cast(nw.Int8), nw.col(score).alias(_SCORE)]
    rows = frame.select(*columns, *([nw.col(WEIGHT)] if weighted else []))

    def hand(add: Add) -> None:
        total, bad = 0.0, None
        with closing(blocks_of(rows)) as stream:
            for block in stream:
                if refuse is not None and not usable(block):
                    bad = block[_SCORE]
                    break
                total += _handed(block, add)
        if refuse is not None and (bad is not None or not LIGHTEST <= total <= HEAVIEST):
            refuse(bad)  # now that the stream is closed, so that it can query the engine

    def usable(block: Arrays) -> bool:
        weights = block.get(WEIGHT)
        weighed = weights is None or 0.0 <= weights.min() <= weights.max() <= HEAVIEST
        return bool(weighed and block[TRUTH].min() >= 0 and within(block[_SCORE], unit=unit))

    return hand


def _handed(block: Arrays, add: Add) -> float:
    """Pass on the rows of positive weight; return their total weight."""
    truth, scores, weights = block[TRUTH], block[_SCORE], block.get(WEIGHT)
    if weights is not None and not weights.all():
        weighty = weights > 0.0
        truth, scores, weights = truth[weighty], scores[weighty], weights[weighty]
    if scores.size:
        add(truth, scores, weights)
    return float(scores.size if weights is None else weights.sum())


def within(scores: FloatArray, *, unit: bool) -> bool:
    """Whether no score is nan and, with `unit`, all are probabilities."""
    low, high = scores.min(), scores.max()  # both are nan if one score is
    return bool(0.0 <= low <= high <= 1.0 if unit else low <= high)


def pooled_stream(
    hand: Hand,
    grid: BitGrid,
    borders: FloatArray,
    *,
    exact: bool,
) -> Bins:
    """The bins of all scores; with `exact`, ranks are computed from single scores."""
    if exact:
        runs = SortedRuns()
        hand(runs.add)
        return exact_bins(runs, grid, borders)
    sums = BinSums(grid, borders)
    hand(sums.add)
    return sums.bins()


@dataclass(eq=False)
class PosteriorSums:
    """Sums over rows with P(second class): losses and most probable classes, by true class."""

    moving: tuple[Prior, Prior] | None
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
        [weighted_sum(worth, rule.losses_of_two(of_truth, of_other), -1) for rule in _RULES]
    )


# Where decisions change --------------------------------------------------------------------------


def decision_steps(
    problem: Problem, moving: tuple[Prior, Prior] | None, *, single: bool
) -> list[tuple[float, int]]:
    """Bayes decisions as steps of P(second class): the exact end of each step and its decision.

    `moving` are the priors from and to which posteriors move; `single` says whether these are of
    single precision. Each decision is the best on one interval of probabilities, so that bisection
    between the points of a fine grid finds every end to the last bit.

    >>> steps = decision_steps(Problem([[0, 3, 25], [180, 8, 0]]), None, single=False)
    >>> [(round(end, 6), decided) for end, decided in steps]
    [(0.017143, 0), (0.733333, 1), (inf, 2)]
    """
    free = problem.with_limits(None)
    every = BitGrid(True).scores(np.arange(BitGrid.N_BINS), np.zeros(BitGrid.N_BINS))
    grid = np.unique(np.clip(every, 0.0, 1.0))

    ratios = None if moving is None else class_ratios(*moving)

    def decided(some: FloatArray) -> IntArray:
        score = some.astype(np.float32).astype(np.float64) if single else some
        off = np.tile(HALF_SINGLE * score[:, None], 2) if single else None
        return cheapest_decisions(np.column_stack([1 - score, score]), free.costs, off, ratios)

    # Comparisons with the ends replace sums over classes, and decide alike to the last bit.
    return [*_steps(decided, grid), (np.inf, int(decided(grid[-1:])[0]))]


def _steps(
    decided: Callable[[FloatArray], IntArray], grid: FloatArray
) -> Iterator[tuple[float, int]]:
    """Yield the last number of every step but the highest, and the decision there."""
    codes = decided(grid)
    for place in np.flatnonzero(np.diff(codes)):
        # Positive doubles have the same order as their bits, read as integers.
        low, high = grid[place : place + 2].view(np.int64).tolist()
        # Several steps may end between two points of the grid.
        code = int(codes[place])
        while code != codes[place + 1]:
            last = high
            while last - low > 1:
                middle = (low + last) // 2
                low, last = (middle, last) if _at(decided, middle) == code else (low, middle)
            yield _number(low), code
            low, code = last, _at(decided, last)


def _number(bits: int) -> float:
    return float(np.array(bits).view(np.float64))


def _at(decided: Callable[[FloatArray], IntArray], bits: int) -> int:
    return int(decided(np.array([bits]).view(np.float64))[0])
