"""The exact table of scores, and the exact hull where the table would not fit.

Scores are sorted as whole numbers, (bits << 1) + label, so that one sort carries both. Runs of
equal scores follow from neighbours, and the weights of runs from running sums at their ends.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from stakes._check import FloatArray, Labels
from stakes.errors import InputError
from stakes.tally import ScoreTable
from stakes.torch.check_tensors import LABEL, SCORE, WEIGHT, no_faults, refuse, refuse_many
from stakes.torch.device_bins import order_keys, read_scores

_BLOCK = 1 << 26  # sorted scores at a time, so that what is made on the way stays small
_MOST_SCORES = 1 << 27  # three gigabytes of table
_SMALL = 1 << 14  # cuts that are left for the host
_SIGN = {torch.int32: torch.iinfo(torch.int32).min, torch.int64: torch.iinfo(torch.int64).min}


@dataclass(frozen=True, eq=False)
class ScoreHull:
    """The exact AUC and the exact hull of scores, whose table may be too large to keep.

    Attributes
    ----------
    auc : ties count one half; nan where a class is absent
    table : the segments of the convex hull of the ROC curve, in order; the score of each is its
        highest. Whatever depends on the hull alone is exact: the best threshold and the least cost
        at any costs, cost curves, the H measure, isotonic calibration.
    n_scores : how many distinct scores there are
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
    """Sort the scores of two classes on their device; only distinct scores leave it, in blocks.

    Examples
    --------
    >>> import torch
    >>> score_table(torch.tensor([0.1, 0.4, 0.4, 0.8]), torch.tensor([0, 0, 1, 1])).weights
    array([[1., 0.],
           [1., 1.],
           [0., 1.]])
    """
    score, truth, weight = _checked(scores, y_true, weights)
    if not score.is_cuda:  # a sort by numpy is several times as fast as one by torch
        mass = None if weight is None else weight.double().numpy()
        values = score.float() if score.dtype == torch.bfloat16 else score
        codes = truth.to(torch.int64).numpy()
        return ScoreTable._of_codes(codes, values.double().numpy(), mass, classes)
    made = _unweighted(score, truth) if weight is None else _weighted(score, truth, weight)
    return ScoreTable._trusted(scores=made[0], weights=made[1], classes=classes, groups=None)


@torch.no_grad()
def score_hull(scores: Tensor, y_true: Tensor, *, classes: Labels = (0, 1)) -> ScoreHull:
    """The exact AUC and hull of the scores of two classes; a few kilobytes leave the device.

    For cases that count once, and fewer than 2³¹ of them.

    Examples
    --------
    >>> import torch
    >>> hull = score_hull(torch.tensor([0.1, 0.4, 0.35, 0.8]), torch.tensor([0, 0, 1, 1]))
    >>> hull.auc, hull.table.scores.round(2).tolist()
    (0.75, [0.1, 0.4, 0.8])
    """
    score, truth, _ = _checked(scores, y_true, None)
    keys = _sorted_keys(score, truth)
    doubled, n_scores, cuts = 0, 0, []
    for run in _runs(keys):
        doubled, n_scores = doubled + run.doubled_u, n_scores + run.n_scores
        cuts.append(run.cuts)
    ends, positives = _swept(torch.cat(cuts, dim=1), _SMALL)
    total, ones = len(keys), int(positives[-1])
    ends, positives = _walked(ends.tolist(), positives.tolist())
    both = np.diff(np.stack([ends - positives, positives], axis=1), axis=0).astype(np.float64)
    highest = keys[torch.as_tensor(ends[1:] - 1, device=keys.device)]
    made = _floats(highest, score.dtype).cpu().numpy().astype(np.float64)
    table = ScoreTable._trusted(scores=made, weights=both, classes=classes, groups=None)
    pairs = ones * (total - ones)
    return ScoreHull(doubled / (2 * pairs) if pairs else float("nan"), table, n_scores)


def _checked(
    scores: object, y_true: object, weights: object
) -> tuple[Tensor, Tensor, Tensor | None]:
    """Tensors whose entries can all be used; this waits for the device, as the sort will."""
    score, truth, weight = read_scores(scores, y_true, weights)
    refuse_many("the cases of one sort", len(score), "Use score_bins, or add tables of parts.")
    faults = no_faults(score.device)
    faults[SCORE] += score.isnan().sum()
    faults[LABEL] += ((truth != 0) & (truth != 1)).sum()
    if weight is not None:
        faults[WEIGHT] += (~((weight >= 0) & (weight < torch.inf))).sum()
    refuse(faults)
    if not len(score) or (weight is not None and not bool(weight.any())):
        raise InputError("scores must hold at least one case of positive weight; there are none.")
    return score, truth, weight


# Keys --------------------------------------------------------------------------------------------


def _sorted_keys(score: Tensor, truth: Tensor) -> Tensor:
    """(bits << 1) + label in the order of the scores, in as few bits as will do.

    The sign bit is turned round where the bits take all the others, so that signed numbers sort.
    """
    if score.dtype == torch.float64:
        raw = torch.where(score == 0, 0.0, score)
        if bool((raw < 0).any()):
            raise InputError(
                "scores must be zero or more, or single precision, for a hull; doubles of both "
                "signs leave no bit for the label. Pass scores.float(), or use score_table."
            )
        return _pack(raw.view(torch.int64), truth, torch.int64)
    raw = score.float()
    bits = torch.where(raw == 0, 0.0, raw).view(torch.int32)
    if bool((bits >= 0).all()):
        return _pack(bits, truth, torch.int32)
    order = bits ^ ((bits >> 31) & torch.iinfo(torch.int32).max)
    return torch.sort((order.long() << 1) + truth).values


def _pack(bits: Tensor, truth: Tensor, kind: torch.dtype) -> Tensor:
    """Sorted keys of scores of zero or more."""
    keys = (bits << 1).add_(truth).bitwise_xor_(_SIGN[kind])
    return torch.sort(keys).values


def _order(keys: Tensor) -> Tensor:
    """The same number for equal scores."""
    return keys >> 1


def _floats(keys: Tensor, dtype: torch.dtype) -> Tensor:
    """The scores of sorted keys."""
    if dtype == torch.float64:
        return (((keys ^ _SIGN[keys.dtype]) >> 1) & torch.iinfo(torch.int64).max).view(dtype)
    most = torch.iinfo(torch.int32).max
    if keys.dtype == torch.int32:
        return (((keys ^ _SIGN[torch.int32]) >> 1) & most).view(torch.float32)
    order = (keys >> 1).int()
    return (order ^ ((order >> 31) & most)).view(torch.float32)


# Runs of equal scores ----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Runs:
    """The runs of equal scores that end in one block of sorted keys."""

    cuts: Tensor  # (2, runs): cases, and positives, up to and including the run; after sweeping
    doubled_u: int  # twice the pairs in order, ties counting one half
    n_scores: int


def _ends(keys: Tensor) -> Iterator[Tensor]:
    """(2, runs): how many cases, and how many positives, lie up to the end of each run."""
    positives = 0
    for start in range(0, len(keys), _BLOCK):
        block = keys[start : start + _BLOCK]
        order = _order(keys[start : start + _BLOCK + 1])
        last = order[1:] != order[:-1]
        if len(last) < len(block):  # the last score of all ends its run
            last = torch.cat([last, last.new_ones(1)])
        ones = torch.cumsum(block & 1, dim=0, dtype=torch.int32)
        place = torch.nonzero(last).squeeze(1)
        yield torch.stack([place + (start + 1), ones[place].long() + positives])
        positives += int(ones[-1])


def _runs(keys: Tensor) -> Iterator[_Runs]:
    """What the AUC and the hull need of every block, after the origin."""
    held = torch.zeros((2, 1), dtype=torch.int64, device=keys.device)
    yield _Runs(held, 0, 0)
    for ends in _ends(keys):
        if not ends.shape[1]:
            continue
        corners = torch.cat([held, ends], dim=1)
        cases, ones = corners.diff(dim=1)
        zeros_below = corners[0, :-1] - corners[1, :-1]
        doubled = int((ones * (2 * zeros_below + (cases - ones))).sum())
        held = corners[:, -1:]
        yield _Runs(_swept(corners, 1 << 18)[:, 1:], doubled, ends.shape[1])


def _swept(corners: Tensor, enough: int) -> Tensor:
    """Corners of the ROC curve without those that are not above the line through neighbours.

    Such a corner is no vertex of the hull, whatever becomes of its neighbours, so that one sweep
    removes all of them at once. Products of whole numbers below 2³¹ are exact.
    """
    while corners.shape[1] > max(enough, 2):
        cases, ones = corners.diff(dim=1)
        zeros = cases - ones
        kept = ones[:-1] * zeros[1:] < zeros[:-1] * ones[1:]
        end = kept.new_ones(1)
        fewer = corners[:, torch.cat([end, kept, end])]
        if fewer.shape[1] > 0.9 * corners.shape[1]:
            return fewer
        corners = fewer
    return corners


def _walked(ends: list[int], positives: list[int]) -> tuple[FloatArray, FloatArray]:
    """The vertices of the hull, one corner at a time."""
    hull: list[tuple[int, int]] = []
    for case, one in zip(ends, positives, strict=True):
        while len(hull) > 1:
            (before, ones_before), (case_0, one_0) = hull[-2:]
            ones, cases = one_0 - ones_before, case_0 - before
            if ones * (case - case_0) < (one - one_0) * cases:  # the share of positives rises
                break
            hull.pop()
        hull.append((case, one))
    cases_up_to, ones_up_to = np.array(hull, dtype=np.int64).T
    return cases_up_to, ones_up_to


# Tables ------------------------------------------------------------------------------------------


def _unweighted(score: Tensor, truth: Tensor) -> tuple[FloatArray, FloatArray]:
    if score.dtype == torch.float64 and bool((score < 0).any()):
        return _weighted(score, truth, torch.ones_like(score))
    keys = _sorted_keys(score, truth)
    values, counts, held = [], [], torch.zeros((2, 1), dtype=torch.int64, device=keys.device)
    n_scores = 0
    for ends in _ends(keys):
        n_scores += ends.shape[1]
        _refuse_large(n_scores)
        cases, ones = torch.cat([held, ends], dim=1).diff(dim=1)
        held = ends[:, -1:] if ends.shape[1] else held
        values.append(_floats(keys[ends[0] - 1], score.dtype).cpu())
        counts.append(torch.stack([cases - ones, ones]).cpu())
    weights = torch.cat(counts, dim=1).double().numpy().T
    return torch.cat(values).double().numpy(), weights


def _weighted(score: Tensor, truth: Tensor, weight: Tensor) -> tuple[FloatArray, FloatArray]:
    kept = weight > 0
    order, place = torch.sort(order_keys(torch.where(score == 0, 0.0, score)[kept].double()))
    new = torch.cat([order.new_zeros(1), (order[1:] != order[:-1]).long()])
    run = torch.cumsum(new, dim=0)
    n_scores = int(run[-1]) + 1
    _refuse_large(n_scores)
    sums = torch.zeros(2 * n_scores, dtype=torch.float64, device=score.device)
    sums.index_add_(0, 2 * run + truth[kept][place], weight[kept][place].double())
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
