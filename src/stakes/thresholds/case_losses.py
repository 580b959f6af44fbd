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


def _block_size(table: ScoreTable) -> int:
    return max(_BLOCK // max(prod(table.leading), 1), _LEAST)


def score_blocks(table: ScoreTable) -> Iterator[tuple[FloatArray, FloatArray]]:
    """Weights (..., B, 2) and scores (B,)."""
    size = _block_size(table)
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
    return np.asarray(np.all(table.class_weights > 0, axis=-1))


def weighted(weights: FloatArray, values: FloatArray) -> FloatArray:
    """Sum (...,) of values (..., B), or of one value for all, times weights (..., B)."""
    of_each = np.broadcast_to(values, weights.shape)
    return np.asarray(np.einsum("...s,...s->...", weights, of_each))


def mean_over_cases(blocks: Iterable[CaseLosses], class_weights: FloatArray) -> FloatArray:
    """Mean loss (...,) per case, for weights (..., 2) of classes; nan where one is absent."""
    losses = np.zeros((2, *class_weights.shape[:-1]))
    for weights, *of_class in blocks:
        for k in (0, 1):
            losses[k] += weighted(weights[..., k], of_class[k])
    return per_case(losses.sum(axis=0), class_weights)


def per_case(losses: FloatArray, class_weights: FloatArray) -> FloatArray:
    """Sums of losses (...,) over the number of cases; nan where a class is absent."""
    both, undefined = np.all(class_weights > 0, axis=-1), class_weights[..., 0] * np.nan
    cases = class_weights.sum(axis=-1)
    return np.asarray(np.divide(losses, cases, out=np.asarray(undefined), where=both))


def parted_at_rate(table: ScoreTable, rate: float) -> FloatArray:
    """Weight (..., 2, 2) of each class below and above a share of all cases, from the lowest score.

    The cases of the score that the rate falls on are divided in proportion. It lies in one block
    of scores, the only one whose scores are looked at.
    """
    size, n_scores = _block_size(table), table.scores.size
    blocks = np.add.reduceat(table.weights, np.arange(0, n_scores, size), axis=-2)
    through = running_sum(blocks[..., 0] + blocks[..., 1])
    target = rate * through[..., -1:]
    block = np.argmax(through >= target, axis=-1)[..., None]  # the first that reaches the target
    place = np.arange(through.shape[-1])
    below, above = (
        np.sum(blocks, axis=-2, where=chosen[..., None])
        for chosen in (place < block, place > block)
    )
    score = block * size + np.arange(min(size, n_scores))
    exists = score < n_scores  # the last block may have fewer
    chosen = np.minimum(score, n_scores - 1)[..., None]
    weights = np.take_along_axis(table.weights, chosen, axis=-2) * exists[..., None]
    mass = weights[..., 0] + weights[..., 1]
    before, after = (
        np.take_along_axis(np.append(np.zeros_like(target), through, axis=-1), cut, axis=-1)
        for cut in (block, block + 1)
    )
    # Rounding must not move a score beyond its block: a rate of one leaves none above.
    reached = np.minimum(before + running_sum(mass), after)
    share = np.clip((reached - target) / np.where(mass > 0, mass, 1.0), 0.0, 1.0)
    parts = [
        [weighted(weights[..., k], 1 - share), weighted(weights[..., k], share)] for k in (0, 1)
    ]
    inside = np.moveaxis(np.asarray(parts), (0, 1), (-2, -1))
    return np.asarray(inside + np.stack([below, above], axis=-1))


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
