"""Joint counts of the cases in bins of two sources of decisions, pair by pair.

The costs of two systems on the same cases are correlated, and the joint counts of their decisions
say how much. Under other costs or another prior the systems decide differently; bins of the scores
that they decide by then stand in for the cases.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from stakes._check import FloatArray, IntArray
from stakes._value import Value
from stakes.problem import Problem


@dataclass(frozen=True, eq=False)
class DecisionSource(Value):
    """What systems decide by: the scores of a model, its recalibrated ones, or its decisions.

    `ends` (B,) are positions in the table of scores that the report holds, each just behind the
    last score of a bin. Decisions that stay as they are have no table: `system` names whose they
    are, and their bins are the decisions.
    """

    model: str
    recalibrated: bool
    system: str | None
    ends: IntArray


@dataclass(frozen=True, eq=False)
class PairCounts(Value):
    """Cases of each class in each pair of bins, without empty pairs.

    `places` (C,) number the cells (class, bin of the first, bin of the second), the last one
    running fastest; `weights` (C,) are their cases.
    """

    places: IntArray
    weights: FloatArray


@dataclass(frozen=True, eq=False)
class JointBins(Value):
    """Joint counts of all pairs of sources, those of the cheapest systems.

    `pairs` stand in the order of ``itertools.combinations``; `fitting` (J, J) is the covariance
    that fitting adds to the costs of the systems of the report, at its own costs and prior.
    """

    sources: tuple[DecisionSource, ...]
    pairs: tuple[PairCounts, ...]
    fitting: FloatArray


class Tallied(Protocol):
    """The parts of a report from which it is read under other stakes."""

    @property
    def problem(self) -> Problem: ...
    @property
    def verdict(self) -> Any: ...
    @property
    def assumptions(self) -> Any: ...
    @property
    def naive(self) -> Any: ...
    @property
    def systems(self) -> tuple[Any, ...]: ...
    @property
    def models(self) -> tuple[Any, ...]: ...
    @property
    def joint(self) -> JointBins | None: ...
