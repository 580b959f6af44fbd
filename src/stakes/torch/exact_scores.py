"""The exact table of scores, and the exact hull where the table would not fit into memory.

Scores are sorted as integers, (bits << 1) + label, so that one sort handles both; all later steps
use only the distinct keys and their counts.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from stakes._check import FloatArray, IntArray, Labels
from stakes._value import record
from stakes.errors import InputError
from stakes.tally import ScoreTable
from stakes.torch.check_tensors import (
    LABEL,
    SCORE,
    WEIGHT,
    no_faults,
    refuse,
    refuse_entries,
    refuse_many,
    refuse_total,
    within,
)
from stakes.torch.device_bins import order_keys, read_scores, refuse_none, two_labels
from stakes.torch.triton_door import kernels

_BLOCK = 1 << 27  # distinct keys at a time, which bounds the memory of temporary tensors
_MOST_SCORES = 1 << 27  # distinct scores of a table, which then takes three gigabytes
_SAMPLE = 1 << 12  # sampled corners, whose hull excludes most others from being vertices
_SMALL = 1 << 14  # few enough corners to leave to the host
_SIGN = {torch.int32: torch.iinfo(torch.int32).min, torch.int64: torch.iinfo(torch.int64).min}


@record
class ScoreHull:
    """The exact AUC and the exact hull of scores whose table may be too large to keep.

    Attributes
    ----------
    auc : ties count one half; nan where a class is absent
    table : the segments of the convex hull of the ROC curve, in order; the score of each is its
        highest. Whatever depends on the hull alone is exact: the best threshold and the least cost
        at any costs, cost curves, the H measure, isotonic calibration.
    n_scores : the number of distinct scores

    Examples
    --------
    Three of four pairs are in the right order; the hull has one segment for the two in the middle:

    >>> import torch
    >>> hull = score_hull(torch.tensor([0.1, 0.3, 0.4, 0.8]), torch.tensor([0, 1, 0, 1]))
    >>> hull.auc, hull.table.weights.tolist(), hull.n_scores
    (0.75, [[1.0, 0.0], [1.0, 1.0], [0.0, 1.0]], 4)
    """

    auc: float
    table: ScoreTable
    n_scores: int


@torch.no_grad()
def score_table(
    scores: Tensor,
    y_true: Tensor,
    weights: Tensor | None = None,
    *,
    classes: Labels = (0, 1),
) -> ScoreTable:
    """The exact table of the scores of two classes, sorted on their device.

    Parameters
    ----------
    scores : (n,) floats
    y_true : (n,) 0 or 1, or booleans
    weights : (n,) weights of the cases; None counts each once
    classes : two labels for the table, negative then positive

    Returns
    -------
    ScoreTable
        The distinct scores with the weights of both classes.

    Examples
    --------
    >>> import torch
    >>> score_table(torch.tensor([0.1, 0.4, 0.4, 0.8]), torch.tensor([0, 0, 1, 1])).weights
    array([[1., 0.],
           [1., 1.],
           [0., 1.]])
    """
    names = two_labels(classes)
    score, truth, weight = _checked(scores, y_true, weights)
    if not score.is_cuda:  # numpy sorts several times as fast as torch on a CPU
        mass = None if weight is None else weight.double().numpy()
        values = score.float() if score.dtype == torch.bfloat16 else score
        codes = truth.to(torch.int64).numpy()
        table = ScoreTable._of_codes(codes, values.double().numpy(), mass, names)
        return table._but(weighted=mass is not None)
    columns = _unweighted(score, truth) if weight is None else _weighted(score, truth, weight)
    labels = {"classes": names, "groups": None, "weighted": weight is not None}
    return ScoreTable._trusted(scores=columns[0], weights=columns[1], **labels)


@torch.no_grad()
def score_auc(scores: Tensor, y_true: Tensor) -> float:
    """The exact AUC of the scores of two classes; ties count one half.

    It is for fewer than 2³¹ cases without weights. One number leaves the device.

    Parameters
    ----------
    scores : (n,) floats
    y_true : (n,) 0 or 1, or booleans

    Returns
    -------
    float
        The AUC; nan where a class is absent.

    Examples
    --------
    >>> import torch
    >>> score_auc(torch.tensor([0.1, 0.4, 0.35, 0.8]), torch.tensor([0, 0, 1, 1]))
    0.75
    """
    runs = _runs(*_read(scores, y_true))
    doubled, zeros = _doubled_u(runs)
    return _area(doubled, zeros, runs.n_cases - zeros)


@torch.no_grad()
def score_hull(scores: Tensor, y_true: Tensor, *, classes: Labels = (0, 1)) -> ScoreHull:
    """The exact AUC and hull of the scores of two classes; a few kilobytes leave the device.

    It is for fewer than 2³¹ cases without weights.

    Parameters
    ----------
    scores : (n,) floats
    y_true : (n,) 0 or 1, or booleans
    classes : two labels for the table, negative then positive

    Returns
    -------
    ScoreHull
        The AUC, and the segments of the hull as a score table.

    Examples
    --------
    >>> import torch
    >>> hull = score_hull(torch.tensor([0.1, 0.4, 0.35, 0.8]), torch.tensor([0, 0, 1, 1]))
    >>> hull.auc, hull.table.scores.round(2).tolist()
    (0.75, [0.1, 0.4, 0.8])
    """
    names = two_labels(classes)
    score, truth = _read(scores, y_true)
    runs = _runs(score, truth)
    doubled, zeros = _doubled_u(runs)
    n_scores, corners = 0, [torch.zeros((3, 1), dtype=torch.int64, device=score.device)]
    for stops in _stops(runs):
        n_scores += stops.shape[1]
        corners.append(_candidates(torch.cat([corners[-1][:, -1:], stops], dim=1))[:, 1:])
    # The few corners that are left may be vertices; the host finds out which of them are.
    places, cases, ones = _vertices(_candidates(torch.cat(corners, dim=1)).cpu().numpy())
    highest = runs.keys[torch.as_tensor(places[1:], device=score.device)]
    table = ScoreTable._trusted(
        scores=_floats(highest, score.dtype).cpu().numpy().astype(np.float64),
        weights=np.diff(np.stack([cases - ones, ones], axis=1), axis=0).astype(np.float64),
        classes=names,
        groups=None,
    )
    return ScoreHull(_area(doubled, zeros, runs.n_cases - zeros), table, n_scores)


def _area(doubled_u: int, zeros: int, ones: int) -> float:
    """The AUC from twice the number of correctly ordered pairs."""
    return doubled_u / (2 * zeros * ones) if zeros and ones else float("nan")


def _read(scores: object, y_true: object) -> tuple[Tensor, Tensor]:
    """Scores and labels of at least one case; `_keys` will check the entries."""
    score, truth, _ = read_scores(scores, y_true, None)
    refuse_many("the cases of one sort", len(score), "Use score_bins, or add tables of parts.")
    refuse_none("scores", len(score) > 0)
    return score, truth


def _checked(
    scores: object, y_true: object, weights: object
) -> tuple[Tensor, Tensor, Tensor | None]:
    """Tensors with valid entries only; the check waits for the device, as the sort will."""
    score, truth, weight = read_scores(scores, y_true, weights)
    refuse_many("the cases of one sort", len(score), "Use score_bins, or add tables of parts.")
    refuse_none("scores", len(score) > 0 and (weight is None or bool(weight.any())))
    quick = not score.is_cuda and within(truth, 2) and within(weight, torch.inf)
    if not quick or torch.aminmax(score).min.isnan():
        faults = no_faults(score.device)
        faults[SCORE] += score.isnan().sum()
        faults[LABEL] += ((truth != 0) & (truth != 1)).sum()
        if weight is not None:
            faults[WEIGHT] += (~((weight >= 0) & (weight < torch.inf))).sum()
        refuse(faults)
    if weight is not None:
        refuse_total(weight)
    return score, truth, weight


# Runs of equal keys ------------------------------------------------------------------------------


class _Runs(NamedTuple):
    """Distinct keys (bits << 1) + label, in the order of the scores, and how often each occurs."""

    keys: Tensor
    counts: Tensor
    n_cases: int


def _runs(score: Tensor, truth: Tensor) -> _Runs:
    """Distinct keys and their counts, by one sort; invalid entries are refused before."""
    keys = _keys(score, truth)
    if keys.is_cuda:  # unique is the only sort in torch that does not compute positions as well
        distinct, counts = torch.unique(keys, return_counts=True)
        return _Runs(distinct, counts, len(keys))
    # On a CPU, numpy sorts several times as fast as torch.
    in_order = torch.from_numpy(np.sort(keys.numpy()))
    distinct, counts = torch.unique_consecutive(in_order, return_counts=True)
    return _Runs(distinct, counts, len(keys))


def _keys(score: Tensor, truth: Tensor) -> Tensor:
    """Integers (bits << 1) + label in the order of the scores, with as few bits as possible.

    Bits of scores ≥ 0 and the label fill a word, sign bit included; flipping that bit makes signed
    integers sort like unsigned ones.
    """
    double = score.dtype == torch.float64
    kind = torch.int64 if double else torch.int32
    if score.is_cuda and kernels is not None:
        keys, (bad_scores, bad_labels, negative) = kernels.score_keys(score, truth)
    else:
        raw = score if double else score.float()
        bits = torch.where(raw == 0, 0.0, raw).view(kind)
        keys = (bits << 1).add_(truth).bitwise_xor_(_SIGN[kind])
        unknown = (truth != 0) & (truth != 1)
        bad_scores, bad_labels, negative = torch.stack(
            [score.isnan().sum(), unknown.sum(), (score < 0).sum()]
        ).tolist()
    refuse_entries({SCORE: bad_scores, LABEL: bad_labels})
    if not negative:
        return keys
    if double:
        raise InputError(
            "scores must be zero or more, or single precision, for a hull; doubles of both "
            "signs leave no bit for the label. Pass scores.float(), or use score_table."
        )
    raw = score.float()
    bits = torch.where(raw == 0, 0.0, raw).view(torch.int32)
    # Single precision with both signs needs 33 bits with the label, so keys have 64.
    order = bits ^ ((bits >> 31) & torch.iinfo(torch.int32).max)
    return (order.long() << 1) + truth


def _floats(keys: Tensor, dtype: torch.dtype) -> Tensor:
    """The scores of keys; the inverse of `_keys`."""
    if dtype == torch.float64:
        return (((keys ^ _SIGN[keys.dtype]) >> 1) & torch.iinfo(torch.int64).max).view(dtype)
    most = torch.iinfo(torch.int32).max
    if keys.dtype == torch.int32:
        return (((keys ^ _SIGN[torch.int32]) >> 1) & most).view(torch.float32)
    order = (keys >> 1).int()
    return (order ^ ((order >> 31) & most)).view(torch.float32)


def _doubled_u(runs: _Runs) -> tuple[int, int]:
    """Twice the number of ordered pairs, ties counting one half, and the number of negatives."""
    if runs.keys.is_cuda and kernels is not None:
        return kernels.doubled_u(runs.keys, runs.counts)
    ones = runs.counts * (runs.keys & 1)
    zeros = runs.counts - ones
    below = torch.cumsum(zeros, dim=0)
    # Negatives with the same score are the run directly before.
    tied = torch.where(runs.keys[1:] >> 1 == runs.keys[:-1] >> 1, ones[1:] * zeros[:-1], 0)
    return int(2 * (ones * below).sum() - tied.sum()), int(below[-1])


def _stops(runs: _Runs) -> Iterator[Tensor]:
    """Yield (3, scores): position of the last key of each score, cases and positives up to it."""
    before = torch.zeros((2, 1), dtype=torch.int64, device=runs.keys.device)
    for start in range(0, len(runs.keys), _BLOCK):
        keys = runs.keys[start : start + _BLOCK]
        counts = runs.counts[start : start + _BLOCK]
        order = runs.keys[start : start + _BLOCK + 1] >> 1
        last = order[1:] != order[:-1]
        if len(last) < len(keys):  # the very last key
            last = torch.cat([last, last.new_ones(1)])
        # A score with both labels has two keys, negatives first; only the last ends it.
        place = torch.nonzero(last).squeeze(1)
        cases = torch.cumsum(counts, dim=0).add_(before[0])
        ones = torch.cumsum(counts * (keys & 1), dim=0).add_(before[1])
        before = torch.stack([cases[-1:], ones[-1:]])
        yield torch.stack([place + start, cases[place], ones[place]])


# The hull ----------------------------------------------------------------------------------------


def _candidates(corners: Tensor) -> Tensor:
    """Those of the sorted corners (3, …) that can be vertices of the hull.

    The hull of a sample of corners lies within the hull of all. A corner that is neither below the
    lines of the sample's hull nor one of its vertices cannot be a vertex. Products of integers
    below 2³¹ are exact in 64 bits.
    """
    while corners.shape[1] > _SMALL:
        step = -(-corners.shape[1] // _SAMPLE)
        sample = torch.cat([corners[:, ::step], corners[:, -1:]], dim=1)
        cases, ones = sample[1:].cpu().numpy()
        at = _hull(cases, ones)
        lines = torch.as_tensor(_lines(cases, ones, at), device=corners.device)
        possible = _below(corners, lines, step)
        possible[
            torch.as_tensor(at * step, device=possible.device).clamp_(max=len(possible) - 1)
        ] = True
        fewer = corners[:, torch.nonzero(possible).squeeze(1)]
        # Another round would cost more than it removes.
        if fewer.shape[1] > 0.9 * corners.shape[1]:
            return fewer
        corners = fewer
    return corners


def _below(corners: Tensor, lines: Tensor, step: int) -> Tensor:
    """Whether each corner lies below the line of its part of the sample, of `step` corners."""
    parts = corners.shape[1] // step
    below = torch.empty(corners.shape[1], dtype=torch.bool, device=corners.device)
    for part, line in (
        (slice(0, parts * step), lines[:, :parts]),
        (slice(parts * step, None), lines[:, parts : parts + 1]),
    ):
        if below[part].numel():
            cases, ones = corners[1:, part].view(2, line.shape[1], -1)
            case, positive, width, height = line[:, :, None]
            out = below[part].view(line.shape[1], -1)
            torch.lt((ones - positive).mul_(width), (cases - case).mul_(height), out=out)
    return below


def _lines(cases: IntArray, ones: IntArray, at: IntArray) -> IntArray:
    """(4, parts): start and direction of the line of the hull over each part of a sample."""
    segment = np.searchsorted(at, np.arange(cases.size - 1), side="right") - 1
    start, end = at[segment], at[segment + 1]
    return np.stack([cases[start], ones[start], cases[end] - cases[start], ones[end] - ones[start]])


def _vertices(corners: IntArray) -> IntArray:
    """The corners that are vertices of the hull."""
    return np.asarray(corners[:, _hull(corners[1], corners[2])])


def _hull(cases: IntArray, ones: IntArray) -> IntArray:
    """Positions of the vertices of the hull of sorted corners.

    A corner that is not below the line through its neighbours is no vertex, whether or not they
    are, so that all such corners can be removed at once. Where few are, `_walked` finishes.
    """
    at = np.arange(cases.size)
    while at.size > 2:
        width, height = np.diff(cases[at]), np.diff(ones[at])
        vertex = np.concatenate([[True], height[:-1] * width[1:] < height[1:] * width[:-1], [True]])
        if vertex.all():
            break
        at = at[vertex] if vertex.sum() < 0.8 * at.size else _walked(at, cases, ones)
    return at


def _walked(at: IntArray, cases: IntArray, ones: IntArray) -> IntArray:
    """The vertices among these positions, by a monotone chain."""
    hull: list[tuple[int, int, int]] = []
    for corner in zip(cases[at].tolist(), ones[at].tolist(), at.tolist(), strict=True):
        while len(hull) > 1:
            (case_0, one_0, _), (case_1, one_1, _) = hull[-2:]
            if (one_1 - one_0) * (corner[0] - case_1) < (corner[1] - one_1) * (case_1 - case_0):
                break  # the share of positives rises
            hull.pop()
        hull.append(corner)
    return np.array([place for _, _, place in hull])


# Tables ------------------------------------------------------------------------------------------


def _unweighted(score: Tensor, truth: Tensor) -> tuple[FloatArray, FloatArray]:
    """Distinct scores, and the numbers of negatives and positives at each."""
    # Keys of doubles with both signs have no room for the label; sort the scores alone.
    if score.dtype == torch.float64 and bool((score < 0).any()):
        return _weighted(score, truth, torch.ones_like(score))
    runs, values, counts, n_scores = _runs(score, truth), [], [], 0
    before = torch.zeros((3, 1), dtype=torch.int64, device=score.device)
    for stops in _stops(runs):
        n_scores += stops.shape[1]
        _refuse_large(n_scores)
        _, cases, ones = torch.cat([before, stops], dim=1).diff(dim=1)
        before = stops[:, -1:] if stops.shape[1] else before
        values.append(_floats(runs.keys[stops[0]], score.dtype).cpu())
        counts.append(torch.stack([cases - ones, ones]).cpu())
    weights = torch.cat(counts, dim=1).double().numpy().T
    return torch.cat(values).double().numpy(), weights


def _weighted(score: Tensor, truth: Tensor, weight: Tensor) -> tuple[FloatArray, FloatArray]:
    """Distinct scores, and the weights of both classes at each."""
    used = weight > 0
    order, place = torch.sort(order_keys(torch.where(score == 0, 0.0, score)[used].double()))
    new = torch.cat([order.new_zeros(1), (order[1:] != order[:-1]).long()])
    run = torch.cumsum(new, dim=0)
    n_scores = int(run[-1]) + 1
    _refuse_large(n_scores)
    sums = torch.zeros(2 * n_scores, dtype=torch.float64, device=score.device)
    sums.index_add_(0, 2 * run + truth[used][place], weight[used][place].double())
    first = torch.nonzero(torch.cat([new.new_ones(1), new[1:]])).squeeze(1)
    keys = order[first]
    values = (keys ^ ((keys >> 63) & torch.iinfo(torch.int64).max)).view(torch.float64)
    return values.cpu().numpy(), sums.view(-1, 2).cpu().numpy()


def _refuse_large(n_scores: int) -> None:
    if n_scores > _MOST_SCORES:
        raise InputError(
            f"scores must leave a table that fits into memory; there are more than "
            f"{_MOST_SCORES:,} distinct ones. Use score_hull, which is exact too, or score_bins."
        )
