"""Tallies of cases, and their Bayes decisions, on the device of the cases."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

import numpy as np
import torch
from torch import Tensor

from stakes._check import HEAVIEST, FloatArray, Labels, labels, require
from stakes.decide import cheapest_decisions, refuse_limits, regrets, tie_slack
from stakes.errors import InputError
from stakes.problem import Problem
from stakes.tally import Counts, LossMoments
from stakes.torch.check_tensors import (
    DECISION,
    HALF_PRECISION,
    LABEL,
    LOSS,
    PROBABILITY,
    SUM,
    WEIGHT,
    aligned,
    floating,
    no_faults,
    positions,
    refuse,
    refuse_many,
    refuse_total,
    weights_of,
    within,
)
from stakes.torch.triton_door import decisions as kernel
from stakes.torch.triton_door import kernels

BLOCK = {"cpu": 1 << 16, "cuda": 1 << 22}  # cases at a time, so that memory stays flat
_LOOP = 16  # most classes for which expected costs are summed in a loop, in a fixed order
_MANY = 1000  # classes from which sums of rows in single precision may differ more from 1
# Largest difference of the sum of a row of posteriors from 1.
_ROW_SUMS = {torch.float16: 5e-3, torch.bfloat16: 2e-2, torch.float32: 1e-6, torch.float64: 1e-6}


@torch.no_grad()
def counts(
    decisions: Tensor, y_true: Tensor, problem: Problem, weights: Tensor | None = None
) -> Counts:
    """Count the decisions of every class.

    Parameters
    ----------
    decisions : (n,) positions of decisions, 0 … M − 1
    y_true : (n,) positions of the true classes, 0 … K − 1
    problem : the classes and decisions
    weights : (n,) weights of the cases; None counts each once

    Returns
    -------
    Counts
        The weight of each class and decision, (K, M).

    Examples
    --------
    >>> import torch
    >>> problem = Problem([[0, 1, 0.3], [5, 0, 0.3]])
    >>> counts(torch.tensor([0, 2, 1]), torch.tensor([0, 0, 1]), problem).values
    array([[1., 0., 1.],
           [0., 1., 0.]])
    """
    require("problem", problem, Problem)
    decided, truth = positions("decisions", decisions), positions("y_true", y_true)
    weight = weights_of("weights", weights)
    aligned({"decisions": decided, "y_true": truth, "weights": weight})
    sums = torch.zeros(problem.costs.size, dtype=torch.float64, device=decided.device)
    faults = no_faults(decided.device)
    add_cells(decided, truth, weight, problem.costs.shape, sums, faults)
    refuse(faults)
    return counts_of(sums, problem)


def counts_of(sums: Tensor, problem: Problem) -> Counts:
    """Counts from sums whose entries were checked before."""
    weights = sums.cpu()
    refuse_total(weights)
    values = weights.numpy().reshape(problem.costs.shape)
    return Counts(values, classes=problem.classes, decisions=problem.decisions)


def add_cells(
    decided: Tensor,
    y_true: Tensor,
    weights: Tensor | None,
    shape: tuple[int, ...],
    sums: Tensor,
    faults: Tensor,
) -> None:
    """Add cases to K × M sums and invalid entries to the faults, without waiting for the device."""
    n_classes, n_decisions = shape
    n_cells = n_classes * n_decisions
    refuse_many("cells of classes and decisions", n_cells, "Merge rare classes.")
    fast = decided.is_cuda and kernels is not None and n_cells < kernels.MOST_CELLS
    if fast and weights is None and len(decided):
        cases = y_true.contiguous(), decided.contiguous()
        kernels.add_cells(*cases, sums, faults, shape, (LABEL, DECISION))
        return
    limits = ((y_true, n_classes), (decided, n_decisions), (weights, torch.inf))
    if y_true.device.type == "cpu" and all(within(*limit) for limit in limits):
        cell = (y_true.long() * n_decisions).add_(decided)
        mass = None if weights is None else weights.double().numpy()
        sums += torch.from_numpy(np.bincount(cell.numpy(), mass, minlength=n_cells))
        return
    # Comparisons of small dtypes with larger limits would wrap.
    y_true, decided = y_true.long(), decided.long()
    known = (y_true >= 0) & (y_true < n_classes)
    valid = (decided >= 0) & (decided < n_decisions)
    faults[LABEL] += (~known).sum()
    faults[DECISION] += (~valid).sum()
    used = known & valid
    cell = torch.where(used, y_true * n_decisions + decided, n_cells)
    mass = torch.ones((), dtype=torch.int64, device=cell.device).expand(len(cell))
    if weights is not None:
        weight = weights.double()
        sound = (weight >= 0) & (weight < torch.inf)
        faults[WEIGHT] += (~sound).sum()
        mass = torch.where(used & sound, weight, 0.0)
    sums += _summed(cell, mass, n_cells + 1)[:-1]


def _summed(cell: Tensor, mass: Tensor, n_cells: int) -> Tensor:
    """Sums by cell; on a GPU, several copies of a small table reduce contention of atomic adds."""
    if not cell.is_cuda:
        weights = None if mass.dtype == torch.int64 else mass
        return torch.bincount(cell, weights, minlength=n_cells)
    # All copies fit into the cache of a GPU together, and neighbouring cases write to different
    # ones.
    copies = max(1, (1 << 14) // n_cells)
    spread = cell * copies + torch.arange(len(cell), device=cell.device) % copies
    sums = torch.zeros(n_cells * copies, dtype=mass.dtype, device=cell.device)
    return sums.index_add_(0, spread, mass).view(n_cells, copies).sum(dim=1)


@torch.no_grad()
def bayes_decisions(posteriors: Tensor, problem: Problem, *, logits: bool = False) -> Tensor:
    """Position of the cheapest decision for every case, on the device of the posteriors.

    These are the decisions of `stakes.bayes_decision_indices`: those whose expected costs differ
    only by rounding are tied, and the first one wins. Posteriors outside [0, 1] get −1, which every
    tally refuses, so that nothing waits for the device here.

    Parameters
    ----------
    posteriors : (n, K), or (n,) for P(second class) of two
    problem : what is at stake
    logits : whether these are logits, (n, K) up to a constant per case, or (n,) log-odds

    Returns
    -------
    Tensor
        (n,) positions of decisions, or −1.

    Examples
    --------
    >>> import torch
    >>> problem = Problem([[0, 3, 25], [180, 8, 0]])
    >>> bayes_decisions(torch.tensor([0.001, 0.1, 0.9]), problem)
    tensor([0, 1, 2])
    """
    require("problem", problem, Problem)
    require("logits", logits, bool, "Write logits=True, or leave it out.")
    refuse_limits(problem)
    predictions = floating("posteriors", posteriors, ndim=(1, 2))
    refuse_width("posteriors", predictions, problem)
    return cheapest(predictions, problem, logits=logits)


def cheapest(predictions: Tensor, problem: Problem, *, logits: bool) -> Tensor:
    """Positions of the cheapest decisions for posteriors or logits of the right shape."""
    if len(predictions) and has_kernel(predictions, problem):
        decided = kernel.decide(predictions, costs_on(problem, predictions.device), logits=logits)
        assert isinstance(decided, Tensor)
        return decided
    if predictions.device.type == "cpu":
        return _cheapest_by_numpy(predictions, problem.costs, logits)
    size = BLOCK.get(predictions.device.type, 1 << 16)
    parts = [
        _cheapest(predictions[start : start + size], problem.costs, logits)
        for start in range(0, len(predictions), size)
    ]
    return torch.cat(parts) if parts else predictions.new_zeros(0, dtype=torch.int64)


def posterior_faults(predictions: Tensor, logits: bool) -> Tensor:
    """Counts of entries outside [0, 1] or nan, and of rows that do not sum to 1."""
    faults = no_faults(predictions.device)
    if logits:
        faults[PROBABILITY] += predictions.isnan().sum()
        return faults
    faults[PROBABILITY] += (~((predictions >= 0) & (predictions <= 1))).sum()
    if predictions.ndim == 2:
        off = (predictions.double().sum(dim=1) - 1).abs()
        faults[SUM] += (off > _row_slack(predictions)).sum()
    return faults


def _row_slack(posteriors: Tensor) -> float:
    """Largest allowed difference of a row's sum from 1; softmax over many classes rounds more."""
    many = posteriors.shape[-1] / _MANY if posteriors.dtype == torch.float32 else 0.0
    return _ROW_SUMS[posteriors.dtype] * max(1.0, many)


def refuse_width(name: str, predictions: Tensor, problem: Problem) -> None:
    """Refuse posteriors of more or fewer classes than the problem has."""
    width = predictions.shape[1] if predictions.ndim == 2 else 2
    if width != problem.n_classes:
        raise InputError(
            f"{name} must have one column for each of the {problem.n_classes} classes; the shape "
            f"is {tuple(predictions.shape)}. One dimension stands for P(second class) of two."
        )


def add_decisions(
    predictions: Tensor, truth: Tensor, problem: Problem, sums: tuple[Tensor, ...], *, logits: bool
) -> Tensor:
    """Decide and count with one kernel, where `has_kernel`; return losses for an epoch.

    `sums` are counts of decisions and faults; for an epoch also sums of squared weights and counts
    of the most probable classes. All are added to in place.
    """
    losses = kernel.decide(
        predictions,
        costs_on(problem, predictions.device),
        logits=logits,
        labels=truth.contiguous(),
        sums=kernel.Sums(*sums),
        sum_slack=_ROW_SUMS[predictions.dtype],  # the kernel is for 16 classes at most
        rules=(PROBABILITY, SUM, LABEL, DECISION),
    )
    assert isinstance(losses, Tensor)
    return losses


def has_kernel(predictions: Tensor, problem: Problem) -> bool:
    """Whether the kernel can be used: on a GPU, for few classes and few decisions."""
    if kernel is None or not predictions.is_cuda:
        return False
    return bool(max(problem.costs.shape) <= kernel.MOST_COLUMNS)


def costs_on(problem: Problem, device: torch.device) -> Tensor:
    """Regrets and slacks (K + 1, M) on a device, without waiting for it."""
    costs = problem.costs
    return _on_device(_regrets_and_slacks(costs.tobytes(), costs.shape), device)


@lru_cache(maxsize=64)
def _regrets_and_slacks(content: bytes, shape: tuple[int, ...]) -> FloatArray:
    """Regrets, and below them slacks; cached, since computing them takes as long as an update."""
    costs = np.frombuffer(content).reshape(shape)
    return np.concatenate([regrets(costs), np.broadcast_to(tie_slack(costs), (1, costs.shape[1]))])


def _cheapest_by_numpy(predictions: Tensor, costs: FloatArray, logits: bool) -> Tensor:
    """The same on a CPU by the code for arrays, which is several times as fast there."""
    kind = torch.float64 if logits else predictions.dtype
    rows = (probabilities(predictions) if logits else predictions.double()).numpy()
    bad = None
    if not (rows.min(initial=0) >= 0 and rows.max(initial=0) <= 1):  # also false for nan
        bad = ~((rows >= 0) & (rows <= 1)).reshape(len(rows), -1).all(axis=1)
        rows = np.where(bad if rows.ndim == 1 else bad[:, None], 0.0, rows)
    gaps = rows * HALF_PRECISION[kind] if kind in HALF_PRECISION else None
    if rows.ndim == 1:
        # Columns are contiguous here, because the decisions are summed column by column.
        two = np.empty((2, len(rows)))
        np.subtract(1, rows, out=two[0])
        two[1] = rows
        rows = two.T
        gaps = None if gaps is None else np.stack([gaps, gaps]).T
    chosen = cheapest_decisions(rows, costs, gaps)
    return torch.from_numpy(chosen if bad is None else np.where(bad, -1, chosen))


def _cheapest(predictions: Tensor, costs: FloatArray, logits: bool) -> Tensor:
    """The same on other devices: every decision within rounding of the least cost is tied."""
    rows = probabilities(predictions) if logits else predictions
    fits = (rows >= 0) & (rows <= 1)
    fits = fits if rows.ndim == 1 else fits.all(dim=1)
    gaps = None if rows.dtype == torch.float64 else _rounding(rows)
    exact = rows.double()
    columns = [1 - exact, exact] if rows.ndim == 1 else list(exact.unbind(dim=1))
    errors = None
    if gaps is not None:
        errors = [gaps, gaps] if rows.ndim == 1 else list(gaps.unbind(dim=1))
    regret, slack = regrets(costs), tie_slack(costs)
    expected = _expected(columns, regret)
    most = _on_device(slack, rows.device)
    off = most.expand(len(rows), -1) if errors is None else _expected(errors, regret) + most
    limit = (expected + off).min(dim=1, keepdim=True).values
    within = expected <= limit + off
    # argmax of equal bytes returns the first one, which is the tie rule.
    first = within.to(torch.uint8).argmax(dim=1)
    return torch.where(fits, first, -1)


def _expected(columns: list[Tensor], costs: FloatArray) -> Tensor:
    """Expected costs (n, M), summed in a fixed order for few classes, so that devices agree."""
    matrix = _on_device(costs, columns[0].device)
    if len(columns) > _LOOP:
        return torch.stack(columns, dim=1) @ matrix
    total = columns[0][:, None] * matrix[0]
    for column, row in zip(columns[1:], matrix[1:], strict=True):
        total = total + column[:, None] * row
    return total


def _on_device(values: FloatArray, device: torch.device) -> Tensor:
    """A small array on a device, without waiting for it."""
    return torch.from_numpy(values).to(device, non_blocking=True)


def probabilities(logits: Tensor) -> Tensor:
    """Posteriors from logits (n, K) or log-odds (n,), in double precision."""
    exact = logits.double()
    return torch.sigmoid(exact) if exact.ndim == 1 else torch.softmax(exact, dim=1)


def log_probabilities(logits: Tensor) -> Tensor:
    """Logarithms of posteriors (n, K), which are finite where logits are."""
    exact = logits.double()
    if exact.ndim == 2:
        return torch.log_softmax(exact, dim=1)
    return torch.nn.functional.logsigmoid(torch.stack([-exact, exact], dim=1))


def _rounding(rows: Tensor) -> Tensor:
    """Bounds on the rounding error of each number, as in `stakes._check.rounding`."""
    return rows.double().abs() * HALF_PRECISION[rows.dtype]


# Moments of losses -------------------------------------------------------------------------------


@torch.no_grad()
def loss_moments(
    y_true: Tensor,
    losses: Tensor | Mapping[str, Tensor],
    *,
    classes: Labels,
    weights: Tensor | None = None,
) -> LossMoments:
    """Weight, sums and scatter of J losses within each class, summed in double precision.

    Parameters
    ----------
    y_true : (n,) positions of classes
    losses : (n, J), or a mapping from name to (n,)
    classes : K labels
    weights : (n,) weights of the cases; None counts each once

    Returns
    -------
    LossMoments
        The tally, from which mean losses, their differences and intervals follow.

    Examples
    --------
    >>> import torch
    >>> losses = {"old": torch.tensor([0.0, 2.0, 5.0]), "new": torch.tensor([1.0, 1.0, 3.0])}
    >>> loss_moments(torch.tensor([0, 0, 1]), losses, classes=(0, 1)).means
    array([[1., 1.],
           [5., 3.]])
    """
    names, columns = _loss_columns(losses)
    truth, weight = positions("y_true", y_true), weights_of("weights", weights)
    aligned({"y_true": truth, **columns, "weights": weight})
    known = labels("classes", classes)
    if truth.device.type == "cpu":
        return _moments_by_numpy(truth, losses, weight, known)
    about = _moments_on_device(truth, list(columns.values()), weight, len(known))
    return LossMoments._about(*about, names, known, None)


def _moments_by_numpy(
    truth: Tensor, losses: Tensor | Mapping[str, Tensor], weight: Tensor | None, classes: Labels
) -> LossMoments:
    """The moments, by the code for arrays."""
    moments = LossMoments.from_losses(
        truth.numpy(),
        {name: _array(column) for name, column in losses.items()}
        if isinstance(losses, Mapping)
        else _array(losses),
        classes=range(len(classes)),
        weights=None if weight is None else _array(weight),
    )
    return moments._but(classes=classes)


def _array(values: Tensor) -> FloatArray:
    return np.asarray(values.detach().double().numpy())


def _moments_on_device(
    truth: Tensor, columns: list[Tensor], weight: Tensor | None, size: int
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """A centre, weights, sums and products about it, summed on the device in blocks."""
    width, faults = len(columns), no_faults(truth.device)
    block = BLOCK.get(truth.device.type, 1 << 16)
    parts = [slice(start, start + block) for start in range(0, len(truth), block)]

    def checked(part: slice, faults: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        mass = None if weight is None else weight[part]
        return _checked(truth[part], [column[part] for column in columns], mass, size, faults)

    centre = torch.full((size, width), torch.inf, dtype=torch.float64, device=truth.device)
    for part in parts:
        centre = _least(centre, *checked(part, faults))
    refuse(faults)
    centre = torch.where(centre.isfinite(), centre, 0.0)  # of classes that do not occur
    sums = torch.zeros((size, 1 + width + width * width), dtype=torch.float64, device=truth.device)
    for part in parts:
        sums += _sums_about(centre, *checked(part, faults))
    totals = sums.cpu().numpy()
    products = totals[:, 1 + width :].reshape(size, width, width)
    return centre.cpu().numpy(), totals[:, 0], totals[:, 1 : 1 + width], products


def _loss_columns(
    losses: Tensor | Mapping[str, Tensor],
) -> tuple[Labels | None, dict[str, Tensor]]:
    """The names of the losses, and the losses under their names in messages."""
    names: Labels | None = None
    if isinstance(losses, Mapping):
        names = labels("the names of the losses", losses)
        named = {f"losses[{name!r}]": column for name, column in losses.items()}
        columns = {name: floating(name, column) for name, column in named.items()}
    else:
        parts = floating("losses", losses, ndim=(2,)).unbind(dim=1)
        columns = {f"losses[:, {k}]": part for k, part in enumerate(parts)}
    if not columns:
        raise InputError("losses must hold at least one loss; there are none. Add one.")
    return names, columns


def _checked(
    truth: Tensor, columns: list[Tensor], weight: Tensor | None, size: int, faults: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Classes (n,), losses (n, J) and weights (n,); bad entries are counted and get no weight.

    They are refused once, after all blocks, so that nothing waits for the device here.
    """
    table = torch.stack([column.double() for column in columns], dim=1)
    finite, truth = (table.abs() <= HEAVIEST).all(dim=1), truth.long()
    known = (truth >= 0) & (truth < size)
    mass = table.new_ones(len(truth)) if weight is None else weight.double()
    sound = (mass >= 0) & (mass < torch.inf)
    for rule, fine in ((LOSS, finite), (LABEL, known), (WEIGHT, sound)):
        faults[rule] += (~fine).sum()
    mass = torch.where(finite & known & sound, mass, 0.0)
    return torch.where(known, truth, 0), torch.where(finite[:, None], table, 0.0), mass


def _least(centre: Tensor, truth: Tensor, table: Tensor, mass: Tensor) -> Tensor:
    """The least losses (K, J) of each class, of those before and of a block: losses that occur."""
    seen = torch.where(mass[:, None] > 0, table, torch.inf)
    return centre.scatter_reduce(0, truth[:, None].expand_as(seen), seen, "amin")


def _sums_about(centre: Tensor, truth: Tensor, table: Tensor, mass: Tensor) -> Tensor:
    """Sums (K, 1 + J + J²) of weight, distances and their products, as one product of matrices.

    Sums by class would need atomic adds on a GPU, whose order varies from run to run.
    """
    away = table - centre[truth]
    products = (away[:, :, None] * away[:, None, :]).flatten(1)
    wide = torch.cat([torch.ones_like(mass)[:, None], away, products], dim=1)
    member = (truth[:, None] == torch.arange(len(centre), device=truth.device)) * mass[:, None]
    return member.T @ wide
