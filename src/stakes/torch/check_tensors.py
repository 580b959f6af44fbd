"""The border for tensors: shapes at once, entries when the tally is made.

To look at an entry is to wait for the device. So entries that break a rule are counted there, and
the counts travel with the tally; `refuse` reads them once, at the end.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite
from typing import NamedTuple

import torch
from torch import Tensor

from stakes.errors import InputError

FLOATS = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
WHOLE = (torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)
_SHORT = (torch.float16, torch.bfloat16, torch.float32)
HALF_PRECISION = {kind: torch.finfo(kind).eps / 2 for kind in _SHORT}  # what a number may be off by
MOST_CASES = (1 << 31) - 1  # what one sort, and one table of cells, can number


class Rule(NamedTuple):
    """What every entry of an argument must be, and what to do about those that are not."""

    argument: str
    rule: str
    remedy: str


RULES = (
    Rule(
        "scores", "must hold numbers that can be ordered", "Remove the cases without a score first."
    ),
    Rule(
        "posteriors",
        "must hold probabilities in [0, 1]",
        "State that these are logits, or bin them as scores.",
    ),
    Rule(
        "posteriors",
        "must sum to one in every row",
        "Divide each row by its sum if these are unnormalised.",
    ),
    Rule("y_true", "must hold positions of classes, 0 … K − 1", "Map the labels to positions."),
    Rule(
        "decisions",
        "must hold positions of decisions, 0 … M − 1",
        "Map them to positions; -1 stands for posteriors that were not numbers.",
    ),
    Rule(
        "weights",
        "must hold finite numbers that are zero or more",
        "Remove or repair these entries first.",
    ),
    Rule("losses", "must hold finite numbers", "Remove or repair these entries first."),
)
SCORE, PROBABILITY, SUM, LABEL, DECISION, WEIGHT, LOSS = range(len(RULES))


def no_faults(device: torch.device) -> Tensor:
    """How many entries break each rule, to begin with."""
    return torch.zeros(len(RULES), dtype=torch.int64, device=device)


def refuse(faults: Tensor) -> None:
    """Raise the first complaint, if there is any; this waits for the device."""
    refuse_entries(dict(enumerate(faults.tolist())))


def refuse_entries(faults: Mapping[int, int]) -> None:
    """Raise the first complaint about entries of which so many break a rule, if there is any."""
    for place, number in faults.items():
        if number:
            rule = RULES[place]
            raise InputError(
                f"{rule.argument} {rule.rule}; {number:,} entries do not. {rule.remedy} Entries "
                f"are checked on the device, which does not tell which ones these are.",
                argument=rule.argument,
            )


def floating(name: str, values: object, *, ndim: tuple[int, ...] = (1,)) -> Tensor:
    """A tensor of floats, cut from its graph."""
    return _tensor(name, values, FLOATS, "floats", ndim)


def positions(name: str, values: object) -> Tensor:
    """A tensor (n,) of whole numbers or booleans."""
    return _tensor(name, values, WHOLE, "whole numbers or booleans", (1,))


def _tensor(
    name: str, values: object, kinds: tuple[torch.dtype, ...], what: str, ndim: tuple[int, ...]
) -> Tensor:
    if not isinstance(values, Tensor):
        raise InputError(
            f"{name} must be a tensor; got {type(values).__name__}. "
            f"For arrays use stakes.tally, or torch.as_tensor.",
            argument=name,
        )
    if values.dtype not in kinds:
        raise InputError(
            f"{name} must hold {what}; its dtype is {values.dtype}. Convert it first.",
            argument=name,
        )
    if values.ndim not in ndim:
        wanted = " or ".join({1: "(n,)", 2: "(n, columns)"}[one] for one in ndim)
        raise InputError(
            f"{name} must have shape {wanted}; its shape is {tuple(values.shape)}. "
            f"Flatten or squeeze it.",
            argument=name,
        )
    return values.detach()


def aligned(**tensors: Tensor | None) -> int:
    """Refuse tensors of other lengths or on other devices than the first; the number of cases."""
    given = {name: one for name, one in tensors.items() if one is not None}
    first, *others = given.items()
    for name, one in others:
        if one.device != first[1].device:
            raise InputError(
                f"{name} must be on the device of {first[0]}, {first[1].device}; it is on "
                f"{one.device}. Move it: {name}.to({first[0]}.device).",
                argument=name,
            )
        if len(one) != len(first[1]):
            raise InputError(
                f"{name} must have one entry for each of the {len(first[1])} cases of {first[0]}; "
                f"it has {len(one)}.",
                argument=name,
            )
    return len(first[1])


def refuse_total(total: float) -> None:
    """Refuse weights whose sum is beyond the largest number."""
    if not isfinite(total):
        raise InputError(
            "weights must have a total that is a number; the sum is too large. Scale them down.",
            argument="weights",
        )


def refuse_many(what: str, number: int, remedy: str) -> None:
    """Refuse what 32 bits cannot number."""
    if number > MOST_CASES:
        raise InputError(f"{what} must be fewer than 2³¹; there are {number:,}. {remedy}")
