"""What a report is asked for, besides the evidence: checked once, before any work is done."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import field
from typing import Any

from stakes import _check
from stakes._check import FloatArray
from stakes._value import record
from stakes.errors import InputError
from stakes.evaluation.baseline import refuse_stranger
from stakes.evaluation.beliefs import Uncertain, Unknown, read_uncertain
from stakes.evaluation.running_costs import Operation, read_operation
from stakes.problem import Problem

MOST_REPLICATES = 100_000  # they know a share to 0.2 %; more would only take time


@record
class ReportOptions:
    """The options of a report; see `evaluate`.

    Examples
    --------
    >>> options = ReportOptions(level=0.9, replicates=20, seed=0)
    >>> options.level, options.operation.volume, options.baseline
    (0.9, None, None)
    """

    level: float
    replicates: int
    seed: int
    operation: Operation = field(default_factory=Operation)
    baseline: object = None  # a report or a name; compared once the systems are known
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
        """Check the options.

        Parameters
        ----------
        problem : what is at stake
        models : the names of the models
        level, replicates, seed, running_costs, volume, period, baseline, margin, uncertain : as in
            `evaluate`

        Returns
        -------
        the options; the baseline is read later, once the systems are known

        Examples
        --------
        >>> asked = dict.fromkeys(["running_costs", "volume", "period", "baseline", "margin"])
        >>> asked |= {"level": 0.9, "replicates": 20, "seed": 0, "uncertain": None}
        >>> ReportOptions.read(Problem.zero_one(2), ["net"], **asked).replicates
        20
        """
        refuse_stranger(baseline, models)
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
        """All that is uncertain about a problem.

        Parameters
        ----------
        problem : what is at stake
        prior : (K,) class shares that apply where no prior is drawn

        Returns
        -------
        the unknowns; None where everything is known

        Examples
        --------
        >>> problem = Problem.zero_one(2, prior=[0.5, 0.5])
        >>> print(ReportOptions(0.95, 20, 0).unknown(problem, problem.prior))
        None
        """
        if self.uncertain is None:
            return None
        return Unknown(problem, prior, *self.uncertain, self.level)


def _seed(seed: Any) -> int:
    _check.whole("seed", seed, low=0)
    exact = int(seed)  # where a double cannot hold it
    if exact >= 2**63:
        raise InputError(f"seed must be below 2^63, as reports hold it; got {exact}. Take another.")
    return exact
