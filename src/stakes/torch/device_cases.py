"""Counts, Bayes decisions and moments of losses, on the device of the cases."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

import numpy as np
import torch
from torch import Tensor

from stakes._check import FloatArray, Labels, labels
from stakes.decide import regrets, tie_slack
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
)
from stakes.torch.device_bins import read_weights
from stakes.torch.triton_door import decisions as kernel
from stakes.torch.triton_door import kernels

_BLOCK = {"cpu": 1 << 16, "cuda": 1 << 22}
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
    decided, truth = positions("decisions", decisions), positions("y_true", y_true)
    weight = None if weights is None else read_weights(weights)
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
    aligned(decisions=decided, y_true=y_true, weights=weights)
    n_classes, n_decisions = shape
    n_cells = n_classes * n_decisions
    refuse_many("cells of classes and decisions", n_cells, "Merge rare classes.")
    fast = decided.is_cuda and kernels is not None and n_cells < kernels.MOST_CELLS
    if fast and weights is None and len(decided):
        cases = y_true.contiguous(), decided.contiguous()
        kernels.add_cells(*cases, sums, faults, shape, (LABEL, DECISION))
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
    given = floating("posteriors", posteriors, ndim=(1, 2))
    _refuse_width(given, problem)
    if len(given) and has_kernel(given, problem):
        made = kernel.decide(given, costs_on(problem, given.device), logits=logits)
        assert isinstance(made, Tensor)
        return made
    size = _BLOCK.get(given.device.type, 1 << 16)
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


def _refuse_width(given: Tensor, problem: Problem) -> None:
    width = given.shape[1] if given.ndim == 2 else 2
    if width != problem.n_classes:
        raise InputError(
            f"posteriors must have one column for each of the {problem.n_classes} classes; the "
            f"shape is {tuple(given.shape)}.",
            argument="posteriors",
        )


def add_decisions(
    given: Tensor, truth: Tensor, problem: Problem, sums: tuple[Tensor, ...], *, logits: bool
) -> Tensor:
    """Decide and count by one kernel, where `has_kernel`; what it sums besides, of an epoch.

    `sums` are counts of decisions and faults; of an epoch also squared weights and counts of the
    most probable classes.
    """
    aligned(posteriors=given, y_true=truth)
    _refuse_width(given, problem)
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


@torch.no_grad()
def loss_moments(
    y_true: Tensor,
    losses: Tensor | Mapping[str, Tensor],
    *,
    classes: Labels,
    weights: Tensor | None = None,
) -> LossMoments:
    """Weight, sums and products of J losses within each class, summed in double precision.

    Parameters
    ----------
    y_true : (n,) positions of classes
    losses : (n, J), or a mapping from name to (n,)
    classes : K labels

    Examples
    --------
    >>> import torch
    >>> losses = {"old": torch.tensor([0.0, 2.0, 5.0]), "new": torch.tensor([1.0, 1.0, 3.0])}
    >>> loss_moments(torch.tensor([0, 0, 1]), losses, classes=(0, 1)).means
    array([[1., 1.],
           [5., 3.]])
    """
    names, columns = _loss_columns(losses)
    truth = positions("y_true", y_true)
    weight = None if weights is None else read_weights(weights)
    named = {f"losses {k}": column for k, column in enumerate(columns)}
    n_cases = aligned(y_true=truth, **named, weights=weight)
    known, faults = labels("classes", classes), no_faults(truth.device)
    size, width = len(known), len(columns)
    sums = torch.zeros((size, 1 + width + width * width), dtype=torch.float64, device=truth.device)
    block = _BLOCK.get(truth.device.type, 1 << 16)
    for start in range(0, n_cases, block):
        part = slice(start, start + block)
        mass = None if weight is None else weight[part]
        sums += _moments(truth[part], [one[part] for one in columns], mass, size, faults)
    refuse(faults)
    found = sums.cpu().numpy()
    return LossMoments._trusted(
        weight=found[:, 0],
        sums=found[:, 1 : 1 + width],
        products=found[:, 1 + width :].reshape(size, width, width),
        names=names,
        classes=known,
        groups=None,
    )


def _loss_columns(losses: Tensor | Mapping[str, Tensor]) -> tuple[Labels | None, list[Tensor]]:
    if isinstance(losses, Mapping):
        if not losses:
            raise InputError("losses must hold at least one loss; the mapping is empty. Add one.")
        return tuple(losses), [floating(f"losses[{name!r}]", one) for name, one in losses.items()]
    return None, list(floating("losses", losses, ndim=(2,)).unbind(dim=1))


def _moments(
    truth: Tensor, columns: list[Tensor], weight: Tensor | None, size: int, faults: Tensor
) -> Tensor:
    """Sums (K, 1 + J + J²) of weight, losses and products, as one product of matrices."""
    table = torch.stack([column.double() for column in columns], dim=1)
    finite, truth = table.isfinite().all(dim=1), truth.long()
    known = (truth >= 0) & (truth < size)
    mass = torch.ones(len(truth), dtype=torch.float64, device=truth.device)
    mass = mass if weight is None else weight.double()
    sound = (mass >= 0) & (mass < torch.inf)
    for rule, fine in ((LOSS, finite), (LABEL, known), (WEIGHT, sound)):
        faults[rule] += (~fine).sum()
    mass = torch.where(finite & known & sound, mass, 0.0)
    table = torch.where(finite[:, None], table, 0.0)
    products = (table[:, :, None] * table[:, None, :]).flatten(1)
    wide = torch.cat([torch.ones_like(mass)[:, None], table, products], dim=1)
    member = (truth[:, None] == torch.arange(size, device=truth.device)) * mass[:, None]
    return member.T @ wide
