"""The loss of every case, averaged over the conditions; an expected loss is the mean over cases.

Scores are read in blocks that fit into the cache: with millions of distinct scores, arithmetic on
whole columns would wait for memory most of the time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import prod
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from stakes._arithmetic import running_sum
from stakes._check import FloatArray, IntArray
from stakes.conditions import Distribution
from stakes.tally import ScoreTable

# Weights (..., B, 2) of a block of scores; losses of a negative and of a positive case there.
CaseLosses: TypeAlias = tuple[FloatArray, FloatArray, FloatArray]

_BLOCK = 1 << 16  # numbers in a block, leading axes included
_LEAST = 64  # scores in a block


def score_blocks(table: ScoreTable) -> Iterator[tuple[FloatArray, FloatArray]]:
    """Weights (..., B, 2) and scores (B,)."""
    size = max(_BLOCK // max(prod(table.leading), 1), _LEAST)
    for start in range(0, table.scores.size, size):
        block = slice(start, start + size)
        yield table.weights[..., block, :], table.scores[block]


def rate_blocks(table: ScoreTable) -> Iterator[tuple[FloatArray, FloatArray, FloatArray]]:
    """Weights (..., B, 2), and the shares of all cases that lie below and up to each score."""
    cases = np.asarray(table.n_cases)[..., None]
    # Blocks continue the running sum of the one before; tables without cases divide by one.
    before, divisor = np.zeros_like(cases), np.where(cases > 0, cases, 1.0)
    for weights, _ in score_blocks(table):
        edges = np.concatenate([before, weights[..., 0] + weights[..., 1]], axis=-1)
        running_sum(edges, out=edges)
        before = edges[..., -1:].copy()
        edges /= divisor
        yield weights, edges[..., :-1], edges[..., 1:]


def both_classes(table: ScoreTable) -> npt.NDArray[np.bool_]:
    """Whether there are negatives as well as positives, (...,)."""
    return np.asarray(np.all(table.weights.sum(axis=-2) > 0, axis=-1))


def mean_over_cases(blocks: Iterable[CaseLosses], class_weights: FloatArray) -> FloatArray:
    """Mean loss (...,) per case, for weights (..., 2) of classes; nan where one is absent."""
    losses, undefined = np.zeros((2, *class_weights.shape[:-1])), class_weights[..., 0] * np.nan
    for weights, *per_case in blocks:
        for k in (0, 1):
            of_each = np.broadcast_to(per_case[k], weights.shape[:-1])
            losses[k] += np.einsum("...s,...s->...", weights[..., k], of_each)
    both = np.all(class_weights > 0, axis=-1)
    cases = class_weights.sum(axis=-1)
    return np.asarray(np.divide(losses.sum(0), cases, out=np.asarray(undefined), where=both))


def score_driven_losses(
    scores: FloatArray, distribution: Distribution
) -> tuple[FloatArray, FloatArray]:
    """Mean loss of a negative and of a positive case of each score, if the threshold is c."""
    alarm = distribution.moment(1, -np.inf, scores)
    return 2 * alarm, 2 * distribution.upper_moment(scores)


def threshold_of_cut(table: ScoreTable, cut: IntArray) -> FloatArray:
    """Threshold above which ``scores[cut:]`` lie; -inf stands for all cases.

    The lowest finite number separates a lowest score of -inf from the others.
    """
    lowest = np.finfo(np.float64).min
    return np.where(cut > 0, np.maximum(table.scores[np.maximum(cut, 1) - 1], lowest), -np.inf)
