"""Gates: whether systems stand up to the baseline."""

from __future__ import annotations

from collections.abc import Sequence
from math import isnan
from typing import Protocol, TypeVar

from stakes.errors import InputError
from stakes.report._parts import Baseline, Interval


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
    """A system of each model but the baseline's: with its rule, or else the plainest.

    A model of which every system clearly breaks a limit is judged, too, and does not pass.
    """
    baseline = _known(baseline)
    found: dict[str, S] = {}
    others = [one for one in systems if not (baseline.paired and one.model == baseline.model)]
    for one in sorted(others, key=lambda one: not one.candidate):
        nearer = one.candidate and one.rule == baseline.rule
        if (one.candidate or one.breaks_limit) and (nearer or one.model not in found):
            found[one.model] = one
    return tuple(found.values())


def judged_intervals(
    named: Sequence[_Compared], systems: Sequence[_Compared], baseline: Baseline | None, what: str
) -> list[Interval]:
    """Intervals of what a gate asks of some systems, each of which must be defined."""
    baseline = _known(baseline)
    if not named or (baseline.paired and named[0].name == baseline.system):
        raise InputError(
            f"system must be another than the baseline, {baseline.system}; "
            f"{'it is the same' if named else 'there is no other model'}. Name a system: "
            f"{', '.join(repr(one.name) for one in systems)}.",
            argument="system",
        )
    intervals: list[Interval] = [getattr(one, what) for one in named]
    undefined = [n.name for n, one in zip(named, intervals, strict=True) if isnan(one.high)]
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
