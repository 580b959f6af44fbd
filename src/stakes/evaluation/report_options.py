"""What a report is asked for, besides the evidence: checked once, before any work is done."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import field
from typing import Any

from stakes import _check
from stakes._check import FloatArray
from stakes._value import record
from stakes.evaluation.beliefs import Uncertain, Unknown, read_uncertain
from stakes.evaluation.running_costs import Operation, read_operation
from stakes.problem import Problem

MOST_REPLICATES = 100_000  # they know a share to 0.2 %; more would only take time


@record
class ReportOptions:
    """The options of a report; see `evaluate`.

    Examples
    --------
    >>> asked = {"running_costs": None, "volume": 1e6, "period": "year", "uncertain": None}
    >>> asked |= {"level": 0.9, "replicates": 20, "seed": 0, "baseline": None, "margin": None}
    >>> options = ReportOptions.read(Problem.zero_one(2), ["net"], **asked)
    >>> options.level, options.operation.volume
    (0.9, 1000000.0)
    """

    level: float
    replicates: int
    seed: int
    operation: Operation = field(default_factory=Operation)
    baseline: object = None  # compared with the systems once these are known
    margin: object = None
    uncertain: Uncertain | None = None

    @classmethod
    def read(
        cls,
        problem: Problem,
        models: Collection[str],
        *,
        level: object,
        replicates: object,
        seed: object,
        running_costs: object,
        volume: object,
        period: object,
        baseline: object,
        margin: object,
        uncertain: object,
    ) -> ReportOptions:
        """Check the options, which are those of `evaluate`, for models of these names."""
        return cls(
            level=_check.level(level),
            replicates=_check.whole("replicates", replicates, low=2, high=MOST_REPLICATES),
            seed=_seed(seed),
            operation=read_operation(running_costs, volume, period, models),
            baseline=baseline,
            margin=margin,
            uncertain=read_uncertain(uncertain, problem),
        )

    def unknown(self, problem: Problem, prior: FloatArray) -> Unknown | None:
        """All that is uncertain about a problem; `prior` (K,) applies where none is drawn."""
        if self.uncertain is None:
            return None
        return Unknown(problem, prior, *self.uncertain, self.level)


def _seed(seed: Any) -> int:
    _check.whole("seed", seed, low=0)
    return int(seed)  # exact, where a double cannot hold it
