"""Moments of losses, on the device of the cases."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor

from stakes._check import HEAVIEST, FloatArray, Labels, labels
from stakes.errors import InputError
from stakes.tally import LossMoments
from stakes.torch.check_tensors import (
    LABEL,
    LOSS,
    WEIGHT,
    aligned,
    floating,
    no_faults,
    positions,
    refuse,
    weights_of,
)
from stakes.torch.device_cases import BLOCK

_Moments = tuple[FloatArray, FloatArray, FloatArray, FloatArray]


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
) -> _Moments:
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
