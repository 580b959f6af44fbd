"""Kernels for CUDA, written in Triton: one pass over the cases, whatever is tallied.

They do what the plain code of `device_bins` and `device_cases` does, to the last bit, and are used
where Triton is installed, as it is with torch for CUDA.
"""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

BLOCK = 1024
COUNT_SHIFT = 38  # a packed sum: cases above, rests below
MOST_PACKED = 1 << 25  # cases that one packed sum can hold
COPIES = 8  # of the packed sums, so that equal scores wait less for each other
N_SUMS = 8  # log loss, Brier score and cases ruled out, of both classes; bad scores, bad labels


@triton.jit
def _places(score, N_BINS: tl.constexpr, UNIT: tl.constexpr, DOUBLE: tl.constexpr):  # type: ignore[no-untyped-def]
    """The bin of every score, and its rest: see `BitGrid.places`."""
    below = score < (0.5 if UNIT else 0.0)
    away = tl.where(below, score, 1.0 - score) if UNIT else tl.abs(score)
    at = away * (4294967296.0 if UNIT else 65536.0)
    near = (tl.where(at < 1.0, at, 0.0) * 8388608.0).to(tl.int32)
    if DOUBLE:
        octave = ((at.to(tl.int64, bitcast=True) >> 29) - (1022 << 23)).to(tl.int32)
        endless = at == float("inf")
    else:
        octave = at.to(tl.int32, bitcast=True) - (126 << 23)
        endless = away == float("inf")
    fine = tl.where(at < 1.0, near, octave)
    side: tl.constexpr = N_BINS // 2
    fine = tl.where(at >= 4294967296.0, tl.where(endless, side - 1, side - 2) << 13, fine)
    run = fine >> 13
    if UNIT:
        place = tl.where(below, run, N_BINS - 1 - run)
    else:
        place = tl.where(below, side - 1 - run, side + run)
    return place, fine & 8191


@triton.jit
def _losses(score, positive, LOSS: tl.constexpr):  # type: ignore[no-untyped-def]
    """Log loss, Brier score, and whether the truth was ruled out, of probabilities or logits."""
    exact = score.to(tl.float64)
    if LOSS == 1:
        own = tl.where(positive, exact, 1.0 - exact)
        lost = own == 0.0
        surprise = -tl.log(tl.where(lost, 1.0, own))
        square = (1.0 - own) * (1.0 - own)
    else:
        own = tl.where(positive, exact, -exact)
        lost = own == -float("inf")
        tail = tl.exp(-tl.abs(own))
        surprise = tl.where(lost, 0.0, tl.log(1.0 + tail) + tl.where(own < 0.0, -own, 0.0))
        chance = tl.where(own < 0.0, 1.0, tail) / (1.0 + tail)
        square = chance * chance
    return surprise, square, tl.where(lost, 1.0, 0.0)


@triton.jit
def _bins_kernel(  # type: ignore[no-untyped-def]
    scores,
    labels,
    packed,
    low,
    high,
    sums,
    n_cases,
    first_case,
    N_BINS: tl.constexpr,
    N_COPIES: tl.constexpr,
    UNIT: tl.constexpr,
    LOSS: tl.constexpr,
    DOUBLE: tl.constexpr,
    SIZE: tl.constexpr,
):
    program = tl.program_id(0)
    case = first_case + program.to(tl.int64) * SIZE + tl.arange(0, SIZE)
    inside = case < n_cases
    raw = tl.load(scores + case, inside, 0.0)
    label = tl.load(labels + case, inside, 0).to(tl.int64)
    score = raw.to(tl.float64) if DOUBLE else raw.to(tl.float32)
    score = tl.where(score == 0.0, 0.0, score)  # one zero only
    fits = (score >= 0.0) & (score <= 1.0) if LOSS == 1 else score == score
    known = (label == 0) | (label == 1)
    used = inside & fits & known
    positive = label == 1
    place, rest = _places(score, N_BINS, UNIT, DOUBLE)
    cell = place * 2 + tl.where(positive, 1, 0)
    one = rest.to(tl.int64) + (1 << 38)
    tl.atomic_add(packed + (program % N_COPIES) * 2 * N_BINS + cell, one, used, sem="relaxed")
    bits = score.to(tl.float64).to(tl.int64, bitcast=True)
    key = bits ^ ((bits >> 63) & 0x7FFFFFFFFFFFFFFF)
    # Most cases lie within what was seen before: a look is cheaper than an atomic operation.
    lower = key < tl.load(low + cell, used, 0)
    tl.atomic_min(low + cell, key, used & lower, sem="relaxed")
    higher = key > tl.load(high + cell, used, 0)
    tl.atomic_max(high + cell, key, used & higher, sem="relaxed")
    out = sums + (first_case // SIZE + program) * 8
    if LOSS > 0:
        surprise, square, gone = _losses(score, positive, LOSS)
        ones, zeros = used & positive, used & (label == 0)
        tl.store(out + 0, tl.sum(tl.where(zeros, surprise, 0.0)))
        tl.store(out + 1, tl.sum(tl.where(ones, surprise, 0.0)))
        tl.store(out + 2, tl.sum(tl.where(zeros, square, 0.0)))
        tl.store(out + 3, tl.sum(tl.where(ones, square, 0.0)))
        tl.store(out + 4, tl.sum(tl.where(zeros, gone, 0.0)).to(tl.float64))
        tl.store(out + 5, tl.sum(tl.where(ones, gone, 0.0)).to(tl.float64))
    tl.store(out + 6, tl.sum((inside & ~fits).to(tl.int32)).to(tl.float64))
    tl.store(out + 7, tl.sum((inside & ~known).to(tl.int32)).to(tl.float64))


def add_bins(
    scores: Tensor,
    labels: Tensor,
    low: Tensor,
    high: Tensor,
    *,
    n_bins: int,
    unit: bool,
    loss: int,
) -> tuple[Tensor, Tensor, Tensor]:
    """Cases and rests of every cell, and the sums of `N_SUMS`; low and high keys are updated."""
    n_cases, n_cells = len(scores), 2 * n_bins
    copies = 1 if n_cases < MOST_PACKED // 8 else COPIES
    launch = MOST_PACKED * copies // 2
    sums = scores.new_zeros((-(-n_cases // BLOCK), N_SUMS), dtype=torch.float64)
    totals: list[Tensor] = []
    with torch.cuda.device(scores.device):
        for first in range(0, n_cases, launch):
            packed = scores.new_zeros((copies, n_cells), dtype=torch.int64)
            end = min(first + launch, n_cases)
            _bins_kernel[(-(-(end - first) // BLOCK),)](
                scores,
                _bytes(labels),
                packed,
                low,
                high,
                sums,
                end,
                first,
                N_BINS=n_bins,
                N_COPIES=copies,
                UNIT=unit,
                LOSS=loss,
                DOUBLE=scores.dtype == torch.float64,
                SIZE=BLOCK,
                num_warps=8,
            )
            cases = ((packed >> COUNT_SHIFT) & (2 * MOST_PACKED - 1)).sum(dim=0)
            rests = (packed & ((1 << COUNT_SHIFT) - 1)).sum(dim=0)
            totals = [cases, rests] if not totals else [totals[0] + cases, totals[1] + rests]
    return totals[0], totals[1], sums.sum(dim=0)


@triton.jit
def _cells_kernel(  # type: ignore[no-untyped-def]
    rows,
    columns,
    sums,
    n_cases,
    n_rows,
    n_columns,
    N_CELLS: tl.constexpr,
    SIZE: tl.constexpr,
    STEPS: tl.constexpr,
):
    program = tl.program_id(0).to(tl.int64)
    cells = tl.arange(0, N_CELLS)
    found = tl.zeros((N_CELLS,), tl.int32)
    bad_rows = tl.sum(found)  # none yet
    bad_columns = tl.sum(found)
    for step in range(STEPS):
        place = (program * STEPS + step) * SIZE + tl.arange(0, SIZE)
        inside = place < n_cases
        row = tl.load(rows + place, inside, 0).to(tl.int64)
        column = tl.load(columns + place, inside, 0).to(tl.int64)
        right_row = (row >= 0) & (row < n_rows)
        right_column = (column >= 0) & (column < n_columns)
        cell = tl.where(
            inside & right_row & right_column, row * n_columns + column, N_CELLS - 1
        ).to(tl.int32)
        found += tl.histogram(cell, N_CELLS)
        bad_rows += tl.sum((inside & ~right_row).to(tl.int32))
        bad_columns += tl.sum((inside & ~right_column).to(tl.int32))
    tl.atomic_add(sums + cells, found.to(tl.int64), sem="relaxed")
    tl.atomic_add(sums + N_CELLS, bad_rows.to(tl.int64), sem="relaxed")
    tl.atomic_add(sums + N_CELLS + 1, bad_columns.to(tl.int64), sem="relaxed")


MOST_CELLS = 1 << 10  # of a table that is counted within each block


def cell_counts(rows: Tensor, columns: Tensor, n_rows: int, n_columns: int) -> tuple[Tensor, Any]:
    """Cases of every cell of a small table, and how many rows and columns lie outside it."""
    size = max(16, 1 << (n_rows * n_columns).bit_length())  # one more than the cells, at least
    sums = torch.zeros(size + 2, dtype=torch.int64, device=rows.device)
    n_cases, steps = len(rows), 8
    with torch.cuda.device(rows.device):
        _cells_kernel[(-(-n_cases // (BLOCK * steps)),)](
            _bytes(rows),
            _bytes(columns),
            sums,
            n_cases,
            n_rows,
            n_columns,
            N_CELLS=size,
            SIZE=BLOCK,
            STEPS=steps,
            num_warps=4,
        )
    return sums[: n_rows * n_columns], sums[size:]


def _bytes(values: Tensor) -> Tensor:
    """Booleans as the bytes that they are."""
    return values.view(torch.uint8) if values.dtype == torch.bool else values
