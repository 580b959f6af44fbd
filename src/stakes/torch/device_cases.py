"""Counts and Bayes decisions, on the device of the cases."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import torch
from torch import Tensor

from stakes._check import FloatArray, require
from stakes.decide import cheapest_decisions, refuse_limits, regrets, tie_slack
from stakes.errors import InputError
from stakes.problem import Problem
from stakes.tally import Counts
from stakes.torch.check_tensors import (
    DECISION,
    HALF_PRECISION,
    LABEL,
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
    require("problem", problem, Problem, "Write Problem(costs), rows being classes.")
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
    require("problem", problem, Problem, "Write Problem(costs), rows being classes.")
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
