"""Modules of torchmetrics whose states are tallies: summed, of fixed size, and merged exactly.

``update`` never waits for the device: entries that cannot be used are counted, and ``compute``
refuses them. States hold double precision, whatever the precision of the model.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor
from torchmetrics import Metric

from stakes._check import Labels, require
from stakes.measures import expected_cost, normalized_cost
from stakes.problem import Problem
from stakes.report import Report
from stakes.tally import Counts
from stakes.torch.check_tensors import floating, no_faults, positions, refuse
from stakes.torch.device_bins import BinnedScores, BinSums, Scale, read_scores, read_weights
from stakes.torch.device_cases import (
    add_cells,
    add_decisions,
    bayes_decisions,
    counts_of,
    has_kernel,
    posterior_faults,
)
from stakes.torch.epoch_sums import EpochSums

_BIN_STATES = ("cells", "rests", "low", "high", "losses", "faults")
_REDUCTIONS = {"low": "min", "high": "max"}


class _Tallied(Metric):
    """A metric whose states are merged by sums, minima and maxima."""

    is_differentiable = False
    higher_is_better = False
    full_state_update = False

    def _add_sums(self, name: str, size: tuple[int, ...]) -> None:
        zeros = torch.zeros(size, dtype=torch.float64)
        self.add_state(name, default=zeros, dist_reduce_fx="sum")

    def _add_faults(self) -> None:
        faults = no_faults(torch.device("cpu"))
        self.add_state("faults", default=faults, dist_reduce_fx="sum")

    def _add_bins(self) -> None:
        empty = BinSums.empty(torch.device("cpu"))
        for name in _BIN_STATES:
            how = _REDUCTIONS.get(name, "sum")
            self.add_state(name, default=getattr(empty, name), dist_reduce_fx=how)

    def _bins(self) -> BinSums:
        return BinSums(**{name: getattr(self, name) for name in _BIN_STATES})

    def _scalar(self, value: Any) -> Tensor:
        return torch.tensor(float(value), dtype=torch.float64, device=self.faults.device)

    def _synced(self, made: Any) -> Any:
        """What a function makes of the tallies of all processes."""
        with self.sync_context(dist_sync_fn=self.dist_sync_fn):
            return made()


class _Counting(_Tallied):
    """Counts of decisions in each class."""

    def __init__(self, problem: Problem, **options: Any) -> None:
        super().__init__(**options)
        require("problem", problem, Problem, "Write Problem(costs), rows being classes.")
        self.problem = problem
        self._add_sums("cells", (problem.costs.size,))
        self._add_faults()


    def _counts(self) -> Counts:
        refuse(self.faults)
        return counts_of(self.cells, self.problem)

    def counts(self) -> Counts:
        """The counts of all processes, from which every other measure follows."""
        made = self._synced(self._counts)
        assert isinstance(made, Counts)
        return made


class ExpectedCost(_Counting):
    """Cost per case of decisions, in the problem's unit: `stakes.expected_cost` of the counts.

    ``update(preds, target, weights=None)`` takes positions of decisions and of classes.

    Examples
    --------
    >>> import torch
    >>> metric = ExpectedCost(Problem([[0, 1, 0.3], [5, 0, 0.3]]))
    >>> metric.update(torch.tensor([0, 2, 0, 1]), torch.tensor([0, 0, 1, 1]))
    >>> float(metric.compute())
    1.325
    """

    @torch.no_grad()
    def update(self, preds: Tensor, target: Tensor, weights: Tensor | None = None) -> None:
        """Count decisions."""
        decided, truth = positions("decisions", preds), positions("y_true", target)
        weight = None if weights is None else read_weights(weights)
        add_cells(decided, truth, weight, self.problem.costs.shape, self.cells, self.faults)

    def compute(self) -> Tensor:
        """The cost of all decisions so far."""
        return self._scalar(expected_cost(self._counts(), self.problem))


class NormalizedCost(ExpectedCost):
    """Cost of decisions divided by that of the best decision made blindly; 1 is naive.

    ``update(preds, target, weights=None)`` takes positions of decisions and of classes.
    """

    def compute(self) -> Tensor:
        """The normalised cost of all decisions so far."""
        return self._scalar(normalized_cost(self._counts(), self.problem))


class BayesCost(_Counting):
    """Cost per case of the Bayes decisions that posteriors, or logits, lead to.

    ``update(preds, target, weights=None)`` takes posteriors (n, K), or (n,) for P(second class).

    Examples
    --------
    >>> import torch
    >>> metric = BayesCost(Problem.binary(false_alarm=1, miss=9))
    >>> metric.update(torch.tensor([0.02, 0.3, 0.05, 0.6]), torch.tensor([0, 0, 1, 1]))
    >>> float(metric.compute())
    2.5
    """

    def __init__(self, problem: Problem, *, logits: bool = False, **options: Any) -> None:
        super().__init__(problem, **options)
        self.logits = logits
        # A collection shares the states of metrics that seem equal; these tell which rule decides.
        rule = torch.tensor([*problem.costs.ravel().tolist(), float(logits)], dtype=torch.float64)
        self.add_state("rule", default=rule, dist_reduce_fx="max")

    @torch.no_grad()
    def update(self, preds: Tensor, target: Tensor, weights: Tensor | None = None) -> None:
        """Decide, and count."""
        given = floating("posteriors", preds, ndim=(1, 2))
        truth = positions("y_true", target)
        if weights is None and len(given) and has_kernel(given, self.problem):
            sums = (self.cells, self.faults)
            add_decisions(given, truth, self.problem, sums, logits=self.logits)
            return
        decided = bayes_decisions(given, self.problem, logits=self.logits)
        self.faults += posterior_faults(given, self.logits)
        weight = None if weights is None else read_weights(weights)
        add_cells(decided, truth, weight, self.problem.costs.shape, self.cells, self.faults)

    def compute(self) -> Tensor:
        """The cost of all decisions so far."""
        return self._scalar(expected_cost(self._counts(), self.problem))


class ScoreBins(_Tallied):
    """Scores of two classes in bins of the top bits of the float.

    ``update(preds, target, weights=None)`` takes scores (n,) and 0 or 1. ``compute`` gives numbers;
    `binned` the table, from which cost curves, H, the best threshold and intervals follow.

    Examples
    --------
    >>> import torch
    >>> metric = ScoreBins()
    >>> metric.update(torch.tensor([0.1, 0.4, 0.35, 0.8]), torch.tensor([0, 0, 1, 1]))
    >>> float(metric.compute()["auc"])
    0.75
    """

    def __init__(
        self,
        scale: Scale = Scale.PROBABILITIES,
        *,
        classes: Labels | None = None,
        **options: Any,
    ) -> None:
        super().__init__(**options)
        require("scale", scale, Scale, "Write Scale.LOGITS, say.")
        self.scale, self.classes = scale, classes
        self._add_bins()

    @torch.no_grad()
    def update(self, preds: Tensor, target: Tensor, weights: Tensor | None = None) -> None:
        """Bin scores."""
        self._bins().add(*read_scores(preds, target, weights), self.scale)

    def compute(self) -> dict[str, Tensor]:
        """The AUC and what it can be off by; of probabilities and logits the losses, too."""
        made = self._binned()
        found = {"auc": made.auc, "auc_error": made.auc_error}
        if made.losses is not None:
            found |= {"log_loss": made.log_loss, "brier": made.brier}
        return {name: self._scalar(value) for name, value in found.items()}

    def _binned(self) -> BinnedScores:
        return self._bins().binned(self.scale, self.classes)

    def binned(self) -> BinnedScores:
        """The bins of all processes."""
        made = self._synced(self._binned)
        assert isinstance(made, BinnedScores)
        return made


class Evaluation(_Tallied):
    """All tallies of a report on one model's posteriors, or logits.

    ``update(preds, target, weights=None)`` takes posteriors (n, K), or (n,) for P(second class).
    ``compute`` gives numbers, `report` the `Report` of all cases so far.

    Examples
    --------
    >>> import torch
    >>> metric = Evaluation(Problem.binary(false_alarm=1, miss=9))
    >>> p, y = torch.tensor([0.02, 0.3, 0.05, 0.6] * 25), torch.tensor([0, 0, 0, 1] * 25)
    >>> metric.update(p, y)
    >>> float(metric.compute()["expected_cost"])
    0.25
    >>> metric.report().system("model (as is)").cost.value
    0.25
    """

    def __init__(self, problem: Problem, *, logits: bool = False, **options: Any) -> None:
        super().__init__(**options)
        require("problem", problem, Problem, "Write Problem(costs), rows being classes.")
        self.problem, self.logits = problem, logits
        for name, size in EpochSums.sizes(problem).items():
            self._add_sums(name, size)
        if problem.n_classes == 2:
            self._add_bins()
        else:
            self._add_faults()

    @torch.no_grad()
    def update(self, preds: Tensor, target: Tensor, weights: Tensor | None = None) -> None:
        """Tally a batch."""
        given = floating("posteriors", preds, ndim=(1, 2))
        truth = positions("y_true", target)
        weight = None if weights is None else read_weights(weights)
        self._sums().add(given, truth, weight, logits=self.logits, faults=self.faults)
        if self.problem.n_classes == 2:
            scores = given if given.ndim == 1 else _second(given, self.logits)
            self._bins().add(scores, truth, weight, self._scale)

    @property
    def _scale(self) -> Scale:
        return Scale.LOGITS if self.logits else Scale.PROBABILITIES

    def _sums(self) -> EpochSums:
        parts = {name: getattr(self, name) for name in EpochSums.sizes(self.problem)}
        return EpochSums(self.problem, **parts)

    def compute(self) -> dict[str, Tensor]:
        """Cost, normalised cost and proper scores; of two classes also the AUC with its bound."""
        refuse(self.faults)
        found = self._sums().numbers()
        if self.problem.n_classes == 2:
            made = self._bins().binned(self._scale, self.problem.classes)
            found |= {"auc": made.auc, "auc_error": made.auc_error}
        return {name: self._scalar(value) for name, value in found.items()}

    def report(self, name: str = "model", *, level: float = 0.95, seed: int = 0) -> Report:
        """The report of all processes; thresholds and maps that need rows are left out."""

        def made() -> Report:
            refuse(self.faults)
            bins = None
            if self.problem.n_classes == 2:
                bins = self._bins().binned(self._scale, self.problem.classes)
            rng = np.random.default_rng(seed)
            return self._sums().report(name, bins, level=level, seed=seed, rng=rng)

        report = self._synced(made)
        assert isinstance(report, Report)
        return report


def _second(rows: Tensor, logits: bool) -> Tensor:
    """P(second class) of two, or its log-odds."""
    if not logits:
        return rows[:, 1]
    exact = rows.double()
    return exact[:, 1] - exact[:, 0]
