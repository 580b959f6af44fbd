"""Kernels for CUDA, written in Triton, that tally in one pass over the cases.

Counts and bins are those of the plain code of `device_scores` and `device_cases`, to the last bit;
sums of losses are added in another order and may differ in their last digits. The kernels are used
where Triton is installed, as it is with torch for CUDA.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

BLOCK = 1024
# A packed sum holds the number of cases from bit 38 on, and rests of 13 bits below: 38 = 25 + 13.
MOST_PACKED = 1 << 25  # cases that one packed sum can hold
COPIES = 8  # copies of the packed sums, so that atomic adds of equal scores collide less
N_SUMS = 8  # log loss, Brier score and probability 0, of both classes; bad scores, bad labels


@triton.jit
def _places(score, N_BINS: tl.constexpr, UNIT: tl.constexpr, DOUBLE: tl.constexpr):  # type: ignore[no-untyped-def]
    """The bin of every score, and its position within the bin; see `BitGrid.places`."""
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
def log1p(small):  # type: ignore[no-untyped-def]
    """log(1 + small), accurate for all numbers from 0 to 1.

    The factor small / ((1 + small) − 1) undoes the rounding of 1 + small (Goldberg, 1991,
    theorem 4).
    """
    rounded = 1.0 + small
    return tl.where(rounded == 1.0, small, tl.log(rounded) * (small / (rounded - 1.0)))


@triton.jit
def _losses(score, positive, LOSS: tl.constexpr):  # type: ignore[no-untyped-def]
    """Log loss, Brier score, and whether the true class had probability 0."""
    exact = score.to(tl.float64)
    if LOSS == 1:
        of_truth = tl.where(positive, exact, 1.0 - exact)
        lost = of_truth == 0.0
        surprise = -tl.log(tl.where(lost, 1.0, of_truth))
        square = (1.0 - of_truth) * (1.0 - of_truth)
    else:
        of_truth = tl.where(positive, exact, -exact)
        lost = of_truth == -float("inf")
        tail = tl.exp(-tl.abs(of_truth))
        surprise = tl.where(lost, 0.0, log1p(tail) + tl.where(of_truth < 0.0, -of_truth, 0.0))
        chance = tl.where(of_truth < 0.0, 1.0, tail) / (1.0 + tail)
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
    """Add the cases of a block to packed sums, extremes, losses and faults."""
    program = tl.program_id(0)
    case = first_case + program.to(tl.int64) * SIZE + tl.arange(0, SIZE)
    inside = case < n_cases
    raw = tl.load(scores + case, inside, 0.0)
    label = tl.load(labels + case, inside, 0).to(tl.int64)
    score = raw.to(tl.float64) if DOUBLE else raw.to(tl.float32)
    score = tl.where(score == 0.0, 0.0, score)  # −0.0 becomes 0.0
    fits = (score >= 0.0) & (score <= 1.0) if LOSS == 1 else score == score
    known = (label == 0) | (label == 1)
    used = inside & fits & known
    positive = label == 1
    place, rest = _places(score, N_BINS, UNIT, DOUBLE)
    cell = place * 2 + tl.where(positive, 1, 0)
    # One atomic add counts the case (from bit 38 on) and adds its position within the bin.
    packed_case = rest.to(tl.int64) + (1 << 38)
    tl.atomic_add(
        packed + (program % N_COPIES) * 2 * N_BINS + cell, packed_case, used, sem="relaxed"
    )
    bits = score.to(tl.float64).to(tl.int64, bitcast=True)
    key = bits ^ ((bits >> 63) & 0x7FFFFFFFFFFFFFFF)
    # Most scores are not new extremes, and a load is cheaper than an atomic operation.
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


@triton.jit
def _fold_kernel(  # type: ignore[no-untyped-def]
    packed,
    cells,
    rests,
    totals,
    losses,
    faults,
    n_cells,
    N_COPIES: tl.constexpr,
    SCORE_RULE: tl.constexpr,
    LABEL_RULE: tl.constexpr,
    LAST: tl.constexpr,
    SIZE: tl.constexpr,
):
    """Add packed sums to the sums of all cases; after the last block, also losses and faults."""
    program = tl.program_id(0)
    cell = program * SIZE + tl.arange(0, SIZE)
    inside = cell < n_cells
    cases = tl.zeros((SIZE,), tl.int64)
    rest = tl.zeros((SIZE,), tl.int64)
    for copy in tl.static_range(N_COPIES):
        both = tl.load(packed + copy * n_cells + cell, inside, 0)
        cases += (both >> 38) & 0x3FFFFFF
        rest += both & 0x3FFFFFFFFF
    used = inside & (cases > 0)
    tl.store(cells + cell, tl.load(cells + cell, used, 0.0) + cases.to(tl.float64), used)
    tl.store(rests + cell, tl.load(rests + cell, used, 0.0) + rest.to(tl.float64), used)
    if LAST:
        place = tl.arange(0, 8)
        is_loss = (place < 6) & (program == 0)
        total = tl.load(totals + place, is_loss, 0.0)
        tl.store(losses + place, tl.load(losses + place, is_loss, 0.0) + total, is_loss)
        if program == 0:
            bad_scores, bad_labels = tl.load(totals + 6).to(tl.int64), tl.load(totals + 7)
            tl.store(faults + SCORE_RULE, tl.load(faults + SCORE_RULE) + bad_scores)
            tl.store(faults + LABEL_RULE, tl.load(faults + LABEL_RULE) + bad_labels.to(tl.int64))


def add_bins(
    scores: Tensor,
    labels: Tensor,
    states: tuple[Tensor, ...],
    *,
    n_bins: int,
    unit: bool,
    loss: int,
    rules: tuple[int, int],
) -> None:
    """Add cases to cells, rests, low and high keys, losses and faults, all in place.

    Cases are counted in launches, so that no packed sum overflows.
    """
    cells, rests, low, high, losses, faults = states
    n_cases, n_cells = len(scores), 2 * n_bins
    # Clearing and adding up copies would take longer than few cases do.
    copies = 1 if n_cases < MOST_PACKED // 8 else COPIES
    launch = MOST_PACKED * copies // 2
    allocate = torch.empty if loss else torch.zeros  # without losses, only the faults are written
    sums = allocate((-(-n_cases // BLOCK), N_SUMS), dtype=torch.float64, device=scores.device)
    with torch.cuda.device(scores.device):
        for first in range(0, n_cases, launch):
            packed = scores.new_zeros((copies, n_cells), dtype=torch.int64)
            end = min(first + launch, n_cases)
            _bins_kernel[(-(-(end - first) // BLOCK),)](
                scores,
                as_bytes(labels),
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
            last = end == n_cases
            _fold_kernel[(-(-n_cells // BLOCK),)](
                packed,
                cells,
                rests,
                sums.sum(dim=0) if last else sums,
                losses,
                faults,
                n_cells,
                N_COPIES=copies,
                SCORE_RULE=rules[0],
                LABEL_RULE=rules[1],
                LAST=last,
                SIZE=BLOCK,
                num_warps=4,
            )


@triton.jit
def _cells_kernel(  # type: ignore[no-untyped-def]
    rows,
    columns,
    sums,
    faults,
    n_cases,
    n_rows,
    n_columns,
    ROW_RULE: tl.constexpr,
    COLUMN_RULE: tl.constexpr,
    N_CELLS: tl.constexpr,
    SIZE: tl.constexpr,
    STEPS: tl.constexpr,
):
    """Count the cases of several blocks by row and column, then add the counts once."""
    program = tl.program_id(0).to(tl.int64)
    cells = tl.arange(0, N_CELLS)
    counts = tl.zeros((N_CELLS,), tl.int32)
    bad_rows = tl.sum(counts)  # 0 of the right type
    bad_columns = tl.sum(counts)
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
        counts += tl.histogram(cell, N_CELLS)
        bad_rows += tl.sum((inside & ~right_row).to(tl.int32))
        bad_columns += tl.sum((inside & ~right_column).to(tl.int32))
    real = (cells < n_rows * n_columns) & (counts > 0)
    tl.atomic_add(sums + cells, counts.to(tl.float64), real, sem="relaxed")
    tl.atomic_add(faults + ROW_RULE, bad_rows.to(tl.int64), bad_rows > 0, sem="relaxed")
    tl.atomic_add(faults + COLUMN_RULE, bad_columns.to(tl.int64), bad_columns > 0, sem="relaxed")


MOST_CELLS = 1 << 10  # largest table that each block counts by itself


def add_cells(
    rows: Tensor,
    columns: Tensor,
    sums: Tensor,
    faults: Tensor,
    shape: tuple[int, ...],
    rules: tuple[int, int],
) -> None:
    """Add cases to the cells of a small table, and invalid rows and columns to the faults."""
    # Each block ends with atomic adds; more cases per block mean fewer of them.
    n_cases, steps = len(rows), 1 if len(rows) < 1 << 22 else 8
    with torch.cuda.device(rows.device):
        _cells_kernel[(-(-n_cases // (BLOCK * steps)),)](
            as_bytes(rows),
            as_bytes(columns),
            sums,
            faults,
            n_cases,
            *shape,
            ROW_RULE=rules[0],
            COLUMN_RULE=rules[1],
            N_CELLS=power_of_two(shape[0] * shape[1] + 1),
            SIZE=BLOCK,
            STEPS=steps,
            num_warps=4,
        )


def power_of_two(number: int) -> int:
    """The next power of two that is at least the number, and at least 16."""
    return max(16, 1 << (number - 1).bit_length())


def as_bytes(values: Tensor) -> Tensor:
    """A view of booleans as bytes; other tensors unchanged."""
    return values.view(torch.uint8) if values.dtype == torch.bool else values


# Sorted scores -----------------------------------------------------------------------------------


@triton.jit
def _keys_kernel(  # type: ignore[no-untyped-def]
    scores,
    labels,
    keys,
    faults,
    n_cases,
    DOUBLE: tl.constexpr,
    SIZE: tl.constexpr,
):
    """Keys of scores and labels, and the numbers of invalid entries."""
    place = tl.program_id(0).to(tl.int64) * SIZE + tl.arange(0, SIZE)
    inside = place < n_cases
    raw = tl.load(scores + place, inside, 0.0)
    label = tl.load(labels + place, inside, 0)
    if DOUBLE:
        score = tl.where(raw == 0.0, 0.0, raw)  # −0.0 becomes 0.0
        key = (score.to(tl.int64, bitcast=True) << 1) + label.to(tl.int64)
        key = key ^ -9223372036854775808
    else:
        single = raw.to(tl.float32)
        score = tl.where(single == 0.0, 0.0, single)
        key = (score.to(tl.int32, bitcast=True) << 1) + label.to(tl.int32)
        key = key ^ -2147483648
    tl.store(keys + place, key, inside)
    bad_scores = tl.sum((inside & (score != score)).to(tl.int32))
    bad_labels = tl.sum((inside & (label != 0) & (label != 1)).to(tl.int32))
    negative = tl.sum((inside & (score < 0.0)).to(tl.int32))
    tl.atomic_add(faults, bad_scores.to(tl.int64), bad_scores > 0, sem="relaxed")
    tl.atomic_add(faults + 1, bad_labels.to(tl.int64), bad_labels > 0, sem="relaxed")
    tl.atomic_add(faults + 2, negative.to(tl.int64), negative > 0, sem="relaxed")


def score_keys(scores: Tensor, labels: Tensor) -> tuple[Tensor, list[int]]:
    """Keys of scores ≥ 0, and the numbers of nan scores, of invalid labels and of scores < 0."""
    double = scores.dtype == torch.float64
    keys = torch.empty(
        len(scores), dtype=torch.int64 if double else torch.int32, device=scores.device
    )
    faults = torch.zeros(3, dtype=torch.int64, device=scores.device)
    with torch.cuda.device(scores.device):
        _keys_kernel[(-(-len(scores) // BLOCK),)](
            scores.contiguous(),
            as_bytes(labels.contiguous()),
            keys,
            faults,
            len(scores),
            DOUBLE=double,
            SIZE=BLOCK,
            num_warps=4,
        )
    return keys, faults.tolist()


@triton.jit
def _zeros_kernel(keys, counts, zeros, n_runs, SIZE: tl.constexpr):  # type: ignore[no-untyped-def]
    """Number of negatives in each block of runs."""
    program = tl.program_id(0)
    place = program.to(tl.int64) * SIZE + tl.arange(0, SIZE)
    inside = place < n_runs
    first = (tl.load(keys + place, inside, 1) & 1) == 0
    tl.store(zeros + program, tl.sum(tl.load(counts + place, inside & first, 0)))


@triton.jit
def _pairs_kernel(keys, counts, upto, pairs, n_runs, SIZE: tl.constexpr):  # type: ignore[no-untyped-def]
    """Twice the number of ordered pairs whose positive case is in each block of runs."""
    program = tl.program_id(0)
    place = program.to(tl.int64) * SIZE + tl.arange(0, SIZE)
    inside = place < n_runs
    key = tl.load(keys + place, inside, 0)
    count = tl.load(counts + place, inside, 0)
    second = inside & ((key & 1) == 1)
    below = tl.cumsum(tl.where(second, 0, count), 0)
    below += tl.load(upto + program - 1, program > 0, 0)
    after = inside & (place > 0)
    tied = after & ((tl.load(keys + place - 1, after, 0) >> 1) == (key >> 1))
    ties = tl.load(counts + place - 1, tied, 0)
    tl.store(pairs + program, tl.sum(tl.where(second, count * (2 * below - ties), 0)))


def doubled_u(keys: Tensor, counts: Tensor) -> tuple[int, int]:
    """Twice the number of ordered pairs, ties counting one half, and the number of negatives."""
    n_runs = len(keys)
    n_blocks = -(-n_runs // BLOCK)
    zeros, pairs = torch.empty((2, n_blocks), dtype=torch.int64, device=keys.device)
    with torch.cuda.device(keys.device):
        _zeros_kernel[(n_blocks,)](keys, counts, zeros, n_runs, SIZE=BLOCK, num_warps=4)
        upto = torch.cumsum(zeros, dim=0)
        _pairs_kernel[(n_blocks,)](keys, counts, upto, pairs, n_runs, SIZE=BLOCK, num_warps=4)
    doubled, total = torch.stack([pairs.sum(), upto[-1]]).tolist()
    return doubled, total
