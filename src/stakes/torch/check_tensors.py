"""Checks of tensors: shapes at once, entries when the tally is complete.

Reading an entry means waiting for the device. Entries that break a rule are therefore counted on
the device, the counts are kept with the tally, and `refuse` reads them once, at the end.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite
from typing import NamedTuple

import torch
from torch import Tensor

from stakes._check import HEAVIEST
from stakes.errors import InputError

FLOATS = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
WHOLE = (torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)
_SHORT = (torch.float16, torch.bfloat16, torch.float32)
# The unit roundoff: the largest relative error of a number that is rounded to this type.
HALF_PRECISION = {kind: torch.finfo(kind).eps / 2 for kind in _SHORT}
MOST_CASES = (1 << 31) - 1  # what 32-bit indices of a sort or a table can address


class EntryRule(NamedTuple):
    """A rule for every entry of an argument, and the remedy for those that break it."""

    argument: str
    rule: str
    remedy: str


RULES = (
    EntryRule(
        "scores", "must hold numbers that can be ordered", "Remove the cases without a score first."
    ),
    EntryRule(
        "posteriors",
        "must hold probabilities in [0, 1]",
        "Say so where these are logits, or raw scores.",
    ),
    EntryRule(
        "posteriors",
        "must sum to one in every row",
        "Divide each row by its sum if these are unnormalised.",
    ),
    EntryRule(
        "y_true", "must hold positions of classes, 0 … K − 1", "Map the labels to positions."
    ),
    EntryRule(
        "decisions",
        "must hold positions of decisions, 0 … M − 1",
        "Map them to positions; -1 stands for posteriors that were not numbers.",
    ),
    EntryRule(
        "weights",
        "must hold finite numbers that are zero or more",
        "Remove or repair these entries first.",
    ),
    EntryRule(
        "losses",
        f"must hold finite numbers of size up to {HEAVIEST:g}",
        "Remove or repair these entries first, or choose another unit.",
    ),
)
SCORE, PROBABILITY, SUM, LABEL, DECISION, WEIGHT, LOSS = range(len(RULES))


def no_faults(device: torch.device) -> Tensor:
    """Counters of the entries that break each rule, all 0."""
    return torch.zeros(len(RULES), dtype=torch.int64, device=device)


def refuse(faults: Tensor, **names: str) -> None:
    """Raise an error for the first rule that entries break, if any; this waits for the device.

    `names` map the arguments of the rules to the names that the caller uses.
    """
    refuse_entries(dict(enumerate(faults.tolist())), **names)


def refuse_entries(faults: Mapping[int, int], **names: str) -> None:
    """Raise an error for the first rule with a positive count of faults, if any."""
    for place, number in faults.items():
        if number:
            rule = RULES[place]
            name = names.get(rule.argument, rule.argument)
            raise InputError(
                f"{name} {rule.rule}; {number:,} {'entry does' if number == 1 else 'entries do'} "
                f"not. {rule.remedy} Entries are checked on the device, which does not tell which "
                f"ones these are.",
                argument=name,
            )


def floating(name: str, values: object, *, ndim: tuple[int, ...] = (1,)) -> Tensor:
    """The tensor detached from its graph, after a check that it holds floats."""
    return _tensor(name, values, FLOATS, "floats", ndim)


def positions(name: str, values: object) -> Tensor:
    """The tensor (n,), after a check that it holds integers or booleans."""
    return _tensor(name, values, WHOLE, "whole numbers or booleans", (1,))


def _tensor(
    name: str, values: object, kinds: tuple[torch.dtype, ...], what: str, ndim: tuple[int, ...]
) -> Tensor:
    """The tensor detached from its graph, after checks of layout, dtype and dimensions."""
    if not isinstance(values, Tensor):
        raise InputError(
            f"{name} must be a tensor; got {type(values).__name__}. "
            f"For arrays use stakes.tally, or torch.as_tensor."
        )
    if values.layout != torch.strided or values.is_nested:
        kind = "nested" if values.is_nested else values.layout
        raise InputError(
            f"{name} must be a dense tensor; it is {kind}. Pass {name}.to_dense(), or pad it."
        )
    if values.dtype not in kinds:
        raise InputError(
            f"{name} must hold {what}; its dtype is {values.dtype}. "
            f"Convert it, as in {name}.to({kinds[-1]})."
        )
    if values.ndim not in ndim:
        shapes = " or ".join({1: "(n,)", 2: "(n, columns)"}[size] for size in ndim)
        raise InputError(
            f"{name} must have shape {shapes}; its shape is {tuple(values.shape)}. "
            f"Flatten or squeeze it."
        )
    return values.detach()


def weights_of(name: str, values: object) -> Tensor | None:
    """Weights of the cases as floats or integers, or None."""
    if values is None:
        return None
    return _tensor(name, values, WHOLE + FLOATS, "real numbers", (1,))


def aligned(tensors: Mapping[str, Tensor | None]) -> int:
    """The number of cases, after a check that all tensors have one length and one device."""
    present = {name: tensor for name, tensor in tensors.items() if tensor is not None}
    first, *others = present.items()
    for name, tensor in others:
        if tensor.device != first[1].device:
            raise InputError(
                f"{name} must be on the device of {first[0]}, {first[1].device}; it is on "
                f"{tensor.device}. Move it: {name}.to({first[0]}.device)."
            )
        if len(tensor) != len(first[1]):
            raise InputError(
                f"{name} must have one entry for each of the {len(first[1])} cases of {first[0]}; "
                f"it has {len(tensor)}. Pass both from the same batch."
            )
    return len(first[1])


def refuse_total(weights: Tensor) -> None:
    """Refuse weights whose sum overflows."""
    if not isfinite(float(weights.double().sum())):
        raise InputError(
            "weights must have a total that is a number; the sum is too large. Scale them down."
        )


def within(values: Tensor | None, limit: float) -> bool:
    """Whether all numbers are in [0, limit); only for CPUs, where reading them needs no waiting."""
    if values is None or not len(values) or values.dtype == torch.bool:
        return limit > 1
    low, high = torch.aminmax(values)
    # Compared as Python numbers, because a small dtype may not hold the limit.
    return bool(low.item() >= 0 and high.item() < limit)


def refuse_many(what: str, number: int, remedy: str) -> None:
    """Refuse more items than 32-bit indices can address."""
    if number > MOST_CASES:
        raise InputError(f"{what} must be fewer than 2³¹; there are {number:,}. {remedy}")
