"""Gates: whether systems are clearly better, or no worse, than the baseline."""

from __future__ import annotations

from collections.abc import Sequence
from math import isnan
from typing import Protocol, TypeVar

from stakes.errors import InputError
from stakes.inference import Measured
from stakes.report._parts import Baseline


class _Compared(Protocol):
    """What a gate needs to know of a system."""

    @property
    def name(self) -> str: ...
    @property
    def model(self) -> str: ...
    @property
    def rule(self) -> str: ...
    @property
    def candidate(self) -> bool: ...
    @property
    def breaks_limit(self) -> bool: ...


S = TypeVar("S", bound=_Compared)


def challengers_of(systems: Sequence[S], baseline: Baseline | None) -> tuple[S, ...]:
    """One system of each other model: the one with the rule of the baseline, else the simplest.

    A model whose systems all clearly break a limit is judged, too, and does not pass.
    """
    baseline = _known(baseline)
    by_model: dict[str, S] = {}
    others = [
        system for system in systems if not (baseline.paired and system.model == baseline.model)
    ]
    for system in sorted(others, key=lambda system: not system.candidate):
        nearer = system.candidate and system.rule == baseline.rule
        if (system.candidate or system.breaks_limit) and (nearer or system.model not in by_model):
            by_model[system.model] = system
    return tuple(by_model.values())


def judged_intervals(
    named: Sequence[_Compared],
    systems: Sequence[_Compared],
    baseline: Baseline | None,
    attribute: str,
) -> list[Measured]:
    """The intervals by which a gate judges systems; undefined ones are refused."""
    baseline = _known(baseline)
    if not named or (baseline.paired and named[0].name == baseline.system):
        raise InputError(
            f"system must be another than the baseline, {baseline.system}; "
            f"{'it is the same' if named else 'there is no other model'}. Name a system: "
            f"{', '.join(repr(entry.name) for entry in systems)}.",
            argument="system",
        )
    intervals: list[Measured] = [getattr(entry, attribute) for entry in named]
    undefined = [n.name for n, entry in zip(named, intervals, strict=True) if isnan(entry.high)]
    if undefined:
        raise InputError(
            f"system must have a difference to the baseline; that of {undefined[0]} is "
            f"undefined. Gather the cases that it needs.",
            argument="system",
        )
    return intervals


def _known(baseline: Baseline | None) -> Baseline:
    if baseline is None:
        raise InputError(
            "baseline must be named before anything can be compared with it; this report has "
            "none. Evaluate again with baseline=, the name of a model or a system.",
            argument="baseline",
        )
    return baseline
