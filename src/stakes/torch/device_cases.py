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
    weights_of,
    within,
)
from stakes.torch.triton_door import decisions as kernel
from stakes.torch.triton_door import kernels

BLOCK = {"cpu": 1 << 16, "cuda": 1 << 22}  # cases at a time, so that memory stays flat
_LOOP = 16  # classes up to which expected costs are summed one by one, in a fixed order
# By how much a row of posteriors may miss a sum of one.
_MANY = 1000  # classes from which rows in single precision may miss more
_ROW_SUMS = {torch.float16: 5e-3, torch.bfloat16: 2e-2, torch.float32: 1e-6, torch.float64: 1e-6}


@torch.no_grad()
def counts(
    decisions: Tensor, y_true: Tensor, problem: Problem, weights: Tensor | None = None
) -> Counts:
    """Count the decisions of every class: positions in, a small table out.

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
    """The table of sums that were checked before."""
    values = sums.cpu().numpy().reshape(problem.costs.shape)
    return Counts(values, classes=problem.classes, decisions=problem.decisions)


def add_cells(
    decided: Tensor,
    y_true: Tensor,
    weights: Tensor | None,
    shape: tuple[int, ...],
    sums: Tensor,
    faults: Tensor,
) -> None:
    """Add the weight of every cell to K × M sums, and the faults; nothing waits for the device."""
    n_classes, n_decisions = shape
    n_cells = n_classes * n_decisions
    refuse_many("cells of classes and decisions", n_cells, "Merge rare classes.")
    fast = decided.is_cuda and kernels is not None and n_cells < kernels.MOST_CELLS
    if fast and weights is None and len(decided):
        cases = y_true.contiguous(), decided.contiguous()
        kernels.add_cells(*cases, sums, faults, shape, (LABEL, DECISION))
        return
    limits = ((y_true, n_classes), (decided, n_decisions), (weights, torch.inf))
    if y_true.device.type == "cpu" and all(within(*one) for one in limits):
        cell = (y_true.long() * n_decisions).add_(decided)
        mass = None if weights is None else weights.double().numpy()
        sums += torch.from_numpy(np.bincount(cell.numpy(), mass, minlength=n_cells))
        return
    y_true, decided = y_true.long(), decided.long()  # a byte is not less than 256, says torch
    known = (y_true >= 0) & (y_true < n_classes)
    taken = (decided >= 0) & (decided < n_decisions)
    faults[LABEL] += (~known).sum()
    faults[DECISION] += (~taken).sum()
    used = known & taken
    cell = torch.where(used, y_true * n_decisions + decided, n_cells)
    mass = torch.ones((), dtype=torch.int64, device=cell.device).expand(len(cell))
    if weights is not None:
        weight = weights.double()
        sound = (weight >= 0) & (weight < torch.inf)
        faults[WEIGHT] += (~sound).sum()
        mass = torch.where(used & sound, weight, 0.0)
    sums += _summed(cell, mass, n_cells + 1)[:-1]


def _summed(cell: Tensor, mass: Tensor, n_cells: int) -> Tensor:
    """Sums of every cell; many copies of a small table wait less for each other."""
    if not cell.is_cuda:
        weights = None if mass.dtype == torch.int64 else mass
        return torch.bincount(cell, weights, minlength=n_cells)
    copies = max(1, (1 << 14) // n_cells)
    spread = cell * copies + torch.arange(len(cell), device=cell.device) % copies
    sums = torch.zeros(n_cells * copies, dtype=mass.dtype, device=cell.device)
    return sums.index_add_(0, spread, mass).view(n_cells, copies).sum(dim=1)


@torch.no_grad()
def bayes_decisions(posteriors: Tensor, problem: Problem, *, logits: bool = False) -> Tensor:
    """Position of the cheapest decision for every case, on the device of the posteriors.

    The decisions of `stakes.bayes_decision_indices`: those whose expected costs differ by rounding
    alone are tied, and the first one wins. Posteriors that are not numbers in [0, 1] get -1, which
    every tally refuses, so that nothing waits for the device here.

    Parameters
    ----------
    posteriors : (n, K), or (n,) for P(second class) of two
    logits : whether these are logits, (n, K) up to a constant per case, or (n,) log-odds

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
    given = floating("posteriors", posteriors, ndim=(1, 2))
    refuse_width("posteriors", given, problem)
    return cheapest(given, problem, logits=logits)


def cheapest(given: Tensor, problem: Problem, *, logits: bool) -> Tensor:
    """The decisions for posteriors of the right shape."""
    if len(given) and has_kernel(given, problem):
        made = kernel.decide(given, costs_on(problem, given.device), logits=logits)
        assert isinstance(made, Tensor)
        return made
    if given.device.type == "cpu":
        return _cheapest_by_numpy(given, problem.costs, logits)
    size = BLOCK.get(given.device.type, 1 << 16)
    parts = [
        _cheapest(given[start : start + size], problem.costs, logits)
        for start in range(0, len(given), size)
    ]
    return torch.cat(parts) if parts else given.new_zeros(0, dtype=torch.int64)


def posterior_faults(given: Tensor, logits: bool) -> Tensor:
    """Entries outside [0, 1], and rows that miss a sum of one; nan logits are found later."""
    faults = no_faults(given.device)
    if logits:
        faults[PROBABILITY] += given.isnan().sum()
        return faults
    faults[PROBABILITY] += (~((given >= 0) & (given <= 1))).sum()
    if given.ndim == 2:
        off = (given.double().sum(dim=1) - 1).abs()
        faults[SUM] += (off > _row_slack(given)).sum()
    return faults


def _row_slack(given: Tensor) -> float:
    """By how much a row may miss a sum of one; softmax of many classes is rougher."""
    many = given.shape[-1] / _MANY if given.dtype == torch.float32 else 0.0
    return _ROW_SUMS[given.dtype] * max(1.0, many)


def refuse_width(name: str, given: Tensor, problem: Problem) -> None:
    """Refuse posteriors of more or fewer classes than the problem has."""
    width = given.shape[1] if given.ndim == 2 else 2
    if width != problem.n_classes:
        raise InputError(
            f"{name} must have one column for each of the {problem.n_classes} classes; the shape "
            f"is {tuple(given.shape)}. One dimension stands for P(second class) of two.",
            argument=name,
        )


def add_decisions(
    given: Tensor, truth: Tensor, problem: Problem, sums: tuple[Tensor, ...], *, logits: bool
) -> Tensor:
    """Decide and count by one kernel, where `has_kernel`; what it sums besides, of an epoch.

    `sums` are counts of decisions and faults; of an epoch also squared weights and counts of the
    most probable classes.
    """
    made = kernel.decide(
        given,
        costs_on(problem, given.device),
        logits=logits,
        labels=truth.contiguous(),
        sums=kernel.Sums(*sums),
        sum_slack=_ROW_SUMS[given.dtype],  # of 16 classes at most
        rules=(PROBABILITY, SUM, LABEL, DECISION),
    )
    assert isinstance(made, Tensor)
    return made


def has_kernel(given: Tensor, problem: Problem) -> bool:
    """Whether one kernel decides: on a GPU, for few classes and few decisions."""
    if kernel is None or not given.is_cuda:
        return False
    return bool(max(problem.costs.shape) <= kernel.MOST_COLUMNS)


def costs_on(problem: Problem, device: torch.device) -> Tensor:
    """Regrets and slacks (K + 1, M) on a device, without waiting for what the device does."""
    costs = problem.costs
    return _on_device(_regrets_and_slacks(costs.tobytes(), costs.shape), device)


@lru_cache(maxsize=64)
def _regrets_and_slacks(content: bytes, shape: tuple[int, ...]) -> FloatArray:
    """Made once for each matrix of costs, since an update takes little longer."""
    costs = np.frombuffer(content).reshape(shape)
    return np.concatenate([regrets(costs), np.broadcast_to(tie_slack(costs), (1, costs.shape[1]))])


def _cheapest_by_numpy(given: Tensor, costs: FloatArray, logits: bool) -> Tensor:
    """The same on a CPU, several times as fast, by the code that decides for arrays."""
    kind = torch.float64 if logits else given.dtype
    rows = (probabilities(given) if logits else given.double()).numpy()
    bad = None
    if not (rows.min(initial=0) >= 0 and rows.max(initial=0) <= 1):  # nan is bad, too
        bad = ~((rows >= 0) & (rows <= 1)).reshape(len(rows), -1).all(axis=1)
        rows = np.where(bad if rows.ndim == 1 else bad[:, None], 0.0, rows)
    gaps = rows * HALF_PRECISION[kind] if kind in HALF_PRECISION else None
    if rows.ndim == 1:
        two = np.empty((2, len(rows)))
        np.subtract(1, rows, out=two[0])
        two[1] = rows
        rows = two.T
        gaps = None if gaps is None else np.stack([gaps, gaps]).T
    chosen = cheapest_decisions(rows, costs, gaps)
    return torch.from_numpy(chosen if bad is None else np.where(bad, -1, chosen))


def _cheapest(given: Tensor, costs: FloatArray, logits: bool) -> Tensor:
    rows = probabilities(given) if logits else given
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
    first = within.to(torch.uint8).argmax(dim=1)
    return torch.where(fits, first, -1)


def _expected(columns: list[Tensor], costs: FloatArray) -> Tensor:
    """Expected costs (n, M); in a fixed order for few classes, so that all devices agree."""
    matrix = _on_device(costs, columns[0].device)
    if len(columns) > _LOOP:
        return torch.stack(columns, dim=1) @ matrix
    total = columns[0][:, None] * matrix[0]
    for column, row in zip(columns[1:], matrix[1:], strict=True):
        total = total + column[:, None] * row
    return total


def _on_device(values: FloatArray, device: torch.device) -> Tensor:
    """A small array on a device, without waiting for what the device does."""
    return torch.from_numpy(values).to(device, non_blocking=True)


def probabilities(logits: Tensor) -> Tensor:
    """Posteriors out of logits: (n, K), or log-odds (n,), in double precision."""
    exact = logits.double()
    return torch.sigmoid(exact) if exact.ndim == 1 else torch.softmax(exact, dim=1)


def log_probabilities(logits: Tensor) -> Tensor:
    """Logarithms (n, K) of the same, which are finite where logits are."""
    exact = logits.double()
    if exact.ndim == 2:
        return torch.log_softmax(exact, dim=1)
    return torch.nn.functional.logsigmoid(torch.stack([-exact, exact], dim=1))


def _rounding(rows: Tensor) -> Tensor:
    """How far what was meant may lie from each number, as `stakes._check.rounding` has it."""
    return rows.double().abs() * HALF_PRECISION[rows.dtype]
