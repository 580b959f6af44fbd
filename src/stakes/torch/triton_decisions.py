"""The kernel of Bayes decisions: one pass decides, counts and sums the losses of an epoch.

It sums expected costs in the same order as the plain code of `device_cases`, without fused
multiply-adds, so that CPU and GPU take the same decisions.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
import triton
import triton.language as tl
from torch import Tensor

from stakes.torch.check_tensors import HALF_PRECISION
from stakes.torch.triton_kernels import as_bytes, log1p, power_of_two

MOST_COLUMNS = 16  # most classes, and most decisions, of the kernel, which unrolls its loops


@triton.jit
def _count(cells, cell, N_REAL: tl.constexpr, N_CELLS: tl.constexpr):  # type: ignore[no-untyped-def]
    """Add the cases of each cell; cases that do not count are in the last cell."""
    counts = tl.histogram(cell.to(tl.int32), N_CELLS)
    place = tl.arange(0, N_CELLS)
    real = (place < N_REAL) & (counts > 0)
    tl.atomic_add(cells + place, counts.to(tl.float64), real, sem="relaxed")


@triton.jit
def _fault(faults, rule, broken):  # type: ignore[no-untyped-def]
    """Add the number of entries that break a rule."""
    number = tl.sum(broken.to(tl.int32))
    tl.atomic_add(faults + rule, number.to(tl.int64), number > 0, sem="relaxed")


@triton.jit
def _decisions_kernel(  # type: ignore[no-untyped-def]
    predictions,
    labels,
    costs,
    chosen,
    decided,
    squares,
    predicted,
    sums,
    faults,
    n_cases,
    row_step,
    column_step,
    sum_slack,
    half_precision,
    N_CLASSES: tl.constexpr,
    N_DECISIONS: tl.constexpr,
    WIDTH: tl.constexpr,
    VECTOR: tl.constexpr,
    LOGITS: tl.constexpr,
    ROUNDED: tl.constexpr,
    DEPTH: tl.constexpr,  # 0 decides, 1 counts, 2 sums what an epoch needs
    PROBABILITY: tl.constexpr,
    SUM: tl.constexpr,
    LABEL: tl.constexpr,
    DECISION: tl.constexpr,
    N_CELLS: tl.constexpr,
    N_PREDICTED: tl.constexpr,
    SIZE: tl.constexpr,
):
    """Decide the cases of a block and, by depth, count them and sum their losses."""
    program = tl.program_id(0)
    case = program.to(tl.int64) * SIZE + tl.arange(0, SIZE)
    inside = case < n_cases
    column = tl.arange(0, WIDTH)
    real = column < N_DECISIONS
    rows = predictions + case * row_step
    label = tl.zeros((SIZE,), tl.int64)
    if DEPTH > 0:
        label = tl.load(labels + case, inside, 0).to(tl.int64)
    highest = tl.full((SIZE,), -float("inf"), tl.float64)
    total = tl.zeros((SIZE,), tl.float64)
    if LOGITS and not VECTOR:
        # The softmax is taken relative to the highest logit, so that nothing overflows.
        for k in tl.static_range(N_CLASSES):
            logit = tl.load(rows + k * column_step, inside, 0.0).to(tl.float64)
            highest = tl.maximum(highest, logit)
        for k in tl.static_range(N_CLASSES):
            logit = tl.load(rows + k * column_step, inside, 0.0).to(tl.float64)
            total += tl.exp(logit - highest)
    fits = case >= 0
    bad = tl.zeros((SIZE,), tl.int32)
    expected = tl.zeros((SIZE, WIDTH), tl.float64)
    error = tl.zeros((SIZE, WIDTH), tl.float64)
    row_sum = tl.zeros((SIZE,), tl.float64)
    square = tl.zeros((SIZE,), tl.float64)
    of_truth = tl.zeros((SIZE,), tl.float64)
    odds = tl.zeros((SIZE,), tl.float64)  # the logit of the true class
    top = tl.full((SIZE,), -1.0, tl.float64)
    likely = tl.zeros((SIZE,), tl.int64)
    # Columns are read again rather than kept: registers are scarcer than cache.
    for k in tl.static_range(N_CLASSES):
        raw = tl.load(rows if VECTOR else rows + k * column_step, inside, 0.0)
        exact = raw.to(tl.float64)
        if LOGITS:
            broken = exact != exact
            exact = 1.0 / (1.0 + tl.exp(-exact)) if VECTOR else tl.exp(exact - highest) / total
        else:
            broken = ~((exact >= 0.0) & (exact <= 1.0))
        fits = fits & (exact >= 0.0) & (exact <= 1.0)
        if VECTOR and k == 0:
            exact = 1.0 - exact
        else:
            bad += (inside & broken).to(tl.int32)
        cost = tl.load(costs + k * N_DECISIONS + column, real, 0.0)
        expected += exact[:, None] * cost[None, :]
        if ROUNDED:
            error += (tl.abs(raw.to(tl.float64)) * half_precision)[:, None] * cost[None, :]
        if DEPTH > 0:
            row_sum += exact
        if DEPTH > 1:
            square += exact * exact
            of_truth = tl.where(label == k, exact, of_truth)
            if LOGITS:
                logit = raw.to(tl.float64)
                odds = tl.where(label == k, -logit if VECTOR and k == 0 else logit, odds)
            likely = tl.where(exact > top, k, likely)
            top = tl.where(exact > top, exact, top)
    # Decisions whose expected costs differ only by rounding are tied, and the first one is taken.
    slack = tl.load(costs + N_CLASSES * N_DECISIONS + column, real, 0.0)
    off = error + slack[None, :]
    expected = tl.where(real[None, :], expected, float("inf"))
    limit = tl.min(expected + off, axis=1)
    within = expected <= limit[:, None] + off
    choice = tl.min(tl.where(within, column[None, :], WIDTH), axis=1)
    if DEPTH == 0:
        tl.store(chosen + case, tl.where(fits, choice, -1).to(tl.int64), inside)
    else:
        known = inside & (label >= 0) & (label < N_CLASSES)
        cell = tl.where(known & fits, label * N_DECISIONS + choice, N_CELLS - 1)
        _count(decided, cell, N_CLASSES * N_DECISIONS, N_CELLS)
        number = tl.sum(bad)
        tl.atomic_add(faults + PROBABILITY, number.to(tl.int64), number > 0, sem="relaxed")
        _fault(faults, LABEL, inside & ~known)
        _fault(faults, DECISION, inside & ~fits)
        if not LOGITS and not VECTOR:
            _fault(faults, SUM, inside & (tl.abs(row_sum - 1.0) > sum_slack))
        if DEPTH > 1:
            _count(squares, cell, N_CLASSES * N_DECISIONS, N_CELLS)
            cell = tl.where(known, label * N_CLASSES + likely, N_PREDICTED - 1)
            _count(predicted, cell, N_CLASSES * N_CLASSES, N_PREDICTED)
            if LOGITS:  # from logits, so that finite ones never give probability 0
                lost = odds == -float("inf")
                if VECTOR:
                    near = log1p(tl.exp(-tl.abs(odds))) + tl.where(odds < 0.0, -odds, 0.0)
                else:
                    near = tl.log(total) + (highest - odds)
                surprise = tl.where(lost, 0.0, near)
            else:
                lost = of_truth == 0.0
                surprise = -tl.log(tl.where(lost, 1.0, of_truth))
            distance = square - 2.0 * of_truth + 1.0  # Σ (p − y)², without a one-hot vector
            out = sums + program.to(tl.int64) * (4 * N_CLASSES)
            for k in tl.static_range(N_CLASSES):
                mine = known & (label == k)
                tl.store(out + k, tl.sum(tl.where(mine, surprise, 0.0)))
                tl.store(out + N_CLASSES + k, tl.sum(tl.where(mine, distance, 0.0)))
                tl.store(out + 2 * N_CLASSES + k, tl.sum(tl.where(mine & lost, 1.0, 0.0)))
                tl.store(out + 3 * N_CLASSES + k, tl.sum(tl.where(mine, 1.0, 0.0)))


class Sums(NamedTuple):
    """Sums that are added to in place; `squares` and `predicted` for an epoch only."""

    decided: Tensor
    faults: Tensor
    squares: Tensor | None = None
    predicted: Tensor | None = None


def decide(
    predictions: Tensor,
    costs: Tensor,
    *,
    logits: bool,
    labels: Tensor | None = None,
    sums: Sums | None = None,
    sum_slack: float = 0.0,
    rules: tuple[int, int, int, int] = (0, 0, 0, 0),
) -> Tensor:
    """Decide, and with labels count: decisions (n,), or for an epoch losses (blocks, 4, K).

    `costs` (K + 1, M) are regrets and then slacks; `rules` are the positions at which invalid
    probabilities, sums, labels and decisions are counted.
    """
    n_cases, n_classes, n_decisions = len(predictions), len(costs) - 1, costs.shape[1]
    depth = 0 if sums is None else 1 if sums.squares is None else 2
    width = 1 << (n_decisions - 1).bit_length()
    # A block holds size × width numbers in registers.
    size = max(128, 1024 // width)
    n_blocks = -(-n_cases // size)
    half = 0.0 if logits else HALF_PRECISION.get(predictions.dtype, 0.0)
    shape = {0: (n_cases,), 1: (0,), 2: (n_blocks, 4, n_classes)}[depth]
    kind = torch.float64 if depth else torch.int64
    out = torch.empty(shape, dtype=kind, device=predictions.device)
    decided, faults, squares, predicted = sums or (costs, costs, None, None)
    with torch.cuda.device(predictions.device):
        _decisions_kernel[(n_blocks,)](
            predictions,
            predictions if labels is None else as_bytes(labels),
            costs,
            out,
            decided,
            decided if squares is None else squares,
            decided if predicted is None else predicted,
            out,
            faults,
            n_cases,
            predictions.stride(0),
            predictions.stride(1) if predictions.ndim == 2 else 0,
            sum_slack,
            half,
            N_CLASSES=n_classes,
            N_DECISIONS=n_decisions,
            WIDTH=width,
            VECTOR=predictions.ndim == 1,
            LOGITS=logits,
            ROUNDED=half > 0,
            DEPTH=depth,
            PROBABILITY=rules[0],
            SUM=rules[1],
            LABEL=rules[2],
            DECISION=rules[3],
            N_CELLS=power_of_two(n_classes * n_decisions + 1),
            N_PREDICTED=power_of_two(n_classes * n_classes + 1),
            SIZE=size,
            num_warps=4,
            enable_fp_fusion=False,
        )
    return out
