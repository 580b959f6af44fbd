"""Modules of torchmetrics whose states are tallies of fixed size that merge exactly."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, TypeVar

import numpy as np
import torch
from scipy.special import expit
from torch import Tensor
from torchmetrics import Metric

from stakes import _check
from stakes._check import (
    HEAVIEST,
    LIGHTEST,
    FloatArray,
    Labels,
    described,
    require,
    whole,
    writable,
)
from stakes.decide import refuse_limits
from stakes.errors import InputError
from stakes.evaluation import (
    Evidence,
    JointSample,
    ModelTallies,
    ReportOptions,
    is_movable,
    left_out,
    mean_losses,
    report_of,
    rules_by_system,
    rules_of,
)
from stakes.measures import expected_cost, normalized_cost
from stakes.problem import Problem
from stakes.report import Caveat, Report
from stakes.rows import POSTERIORS
from stakes.tally import Counts, JointCounts, ScoreTable
from stakes.torch.check_tensors import aligned, floating, no_faults, positions, refuse, weights_of
from stakes.torch.device_cases import (
    add_cells,
    add_decisions,
    cheapest,
    counts_of,
    has_kernel,
    log_probabilities,
    posterior_faults,
    probabilities,
    refuse_width,
)
from stakes.torch.device_scores import BinnedScores, DeviceBins, Scale, two_labels

# Sums over an epoch, and the report on one model that they give without its rows -----------------

_REPLICATES = 2000


@dataclass(eq=False)
class EpochSums:
    """Sums over the cases of an epoch, on their device.

    `decided` and `squares` (K × M) hold the weights of the Bayes decisions and their squares,
    `predicted` (K × K) those of the most probable classes, `proper` (3, K) the sums of log loss,
    Brier score and cases of probability 0, `rows` (2, K) the numbers of rows and of weighted
    weights.
    """

    problem: Problem
    decided: Tensor
    squares: Tensor
    predicted: Tensor
    proper: Tensor
    rows: Tensor

    @staticmethod
    def sizes(problem: Problem) -> dict[str, tuple[int, ...]]:
        """The shapes of all sums."""
        size = problem.n_classes
        return {
            "decided": (problem.costs.size,),
            "squares": (problem.costs.size,),
            "predicted": (size * size,),
            "proper": (3, size),
            "rows": (2, size),
        }

    def add(
        self,
        predictions: Tensor,
        truth: Tensor,
        weight: Tensor | None,
        *,
        logits: bool,
        faults: Tensor,
    ) -> None:
        """Add cases, in place, without waiting for the device."""
        problem, size = self.problem, self.problem.n_classes
        if weight is None and len(predictions) and has_kernel(predictions, problem):
            self._add_by_kernel(predictions, truth, logits=logits, faults=faults)
            return
        faults += posterior_faults(predictions, logits)
        choice = cheapest(predictions, problem, logits=logits)
        add_cells(choice, truth, weight, problem.costs.shape, self.decided, faults)
        squared = None if weight is None else weight.double() ** 2
        ignored = no_faults(predictions.device)  # the faults were counted above
        add_cells(choice, truth, squared, problem.costs.shape, self.squares, ignored)
        exact = probabilities(predictions) if logits else predictions.double()
        exact = torch.stack([1 - exact, exact], dim=1) if exact.ndim == 1 else exact
        likely = exact.argmax(dim=1)
        add_cells(likely, truth, weight, (size, size), self.predicted, ignored)
        logs = log_probabilities(predictions) if logits else torch.log(exact)
        self._add_losses(exact, logs, truth.long(), weight)

    def _add_by_kernel(
        self, predictions: Tensor, truth: Tensor, *, logits: bool, faults: Tensor
    ) -> None:
        """Add cases that count once, with the Triton kernel."""
        sums = (self.decided, faults, self.squares, self.predicted)
        losses = add_decisions(predictions, truth, self.problem, sums, logits=logits).sum(dim=0)
        self.proper.add_(losses[:3])
        self.rows[0].add_(losses[3])

    def _add_losses(
        self, exact: Tensor, logs: Tensor, truth: Tensor, weight: Tensor | None
    ) -> None:
        """Add log losses, Brier scores and numbers of rows, class by class."""
        # Unknown labels are read as class 0, with no weight: an index out of range would stop the
        # device, and they are refused later.
        known = (truth >= 0) & (truth < self.problem.n_classes)
        place = torch.where(known, truth, 0)
        of_truth = exact.gather(1, place[:, None]).squeeze(1)
        surprise = -logs.gather(1, place[:, None]).squeeze(1)
        # Infinite losses are counted, not summed: 0 · inf would be nan for cases without weight.
        lost = surprise == torch.inf
        surprise = torch.where(lost, 0.0, surprise)
        # Sum over classes of (p − y)², expanded so that no one-hot matrix is needed.
        square = (exact**2).sum(dim=1) - 2 * of_truth + 1
        mass = torch.ones_like(of_truth) if weight is None else weight.double()
        mass = torch.where(known, mass, 0.0)
        member = (place[:, None] == torch.arange(self.problem.n_classes, device=place.device)) & (
            known & (mass > 0)
        )[:, None]
        losses = torch.stack([surprise, square, lost.double()])
        # Losses of cases of weight 0 may be nan, and must not enter the sum.
        self.proper += torch.where(mass > 0, losses * mass, 0.0) @ member.double()
        marks = torch.stack([torch.ones_like(mass), (mass != 1).double()])
        self.rows += marks @ member.double()

    # After the last case -------------------------------------------------------------------------

    def counts(self) -> Counts:
        """Counts of the Bayes decisions."""
        values = self.decided.cpu().numpy().reshape(self.problem.costs.shape)
        return Counts(values, classes=self.problem.classes, decisions=self.problem.decisions)

    def losses(self) -> FloatArray:
        """Mean log loss and Brier score of each class, (2, K)."""
        return mean_losses(self.proper.cpu().numpy(), self.counts().class_weights)

    def numbers(self) -> dict[str, float]:
        """Cost, normalised cost and proper scores of all cases."""
        counts, losses = self.counts(), self.losses()
        shares = counts.shares
        log_loss, brier = np.where(shares > 0, losses, 0.0) @ shares
        return {
            "expected_cost": float(expected_cost(counts, self.problem)),
            "normalized_cost": float(normalized_cost(counts, self.problem)),
            "log_loss": float(log_loss),
            "summed_brier": float(brier),
        }

    def report(
        self,
        name: str,
        bins: BinnedScores | None,
        *,
        level: float,
        seed: int,
    ) -> Report:
        """The report on one model."""
        if not self.decided.any():
            raise InputError("the epoch must hold at least one case; there are none. Call update.")
        self._refuse_sizes()
        evidence = self._evidence(name, bins)
        return report_of(evidence, ReportOptions(_check.level(level), _REPLICATES, seed))

    def _refuse_sizes(self) -> None:
        """Refuse weights whose squares underflow or overflow."""
        usual = float(self.squares.sum() / self.decided.sum())  # the mean weight, self-weighted
        if not LIGHTEST <= usual <= HEAVIEST:
            raise InputError(
                f"weights must be of a size whose squares are numbers, from {LIGHTEST:g} to "
                f"{HEAVIEST:g}; these are not. Scale them all alike."
            )

    def _evidence(self, name: str, bins: BinnedScores | None) -> Evidence:
        """What a report is made from, with tallies in place of rows."""
        problem, shares = self.problem, self.counts().shares
        table = None if bins is None else _of_probabilities(bins)
        kind = rules_of(
            name,
            POSTERIORS,
            problem,
            table=None,
            movable=False,
            recalibrated=False,
            tuned_apart=False,
        )
        rules = rules_by_system(kind, problem)
        rows, weighted = self.rows.cpu().numpy()
        uncounted = bool(weighted.any())
        losses = self.losses()
        size = problem.n_classes
        cells = self.predicted.cpu().numpy().reshape(size, size)
        deployed = (
            table if problem.prior is None or table is None else table.with_prior(problem.prior)
        )
        tallies = ModelTallies(
            model=name,
            kind=POSTERIORS,
            table=table,
            deployed=deployed,
            losses=losses,
            deployed_losses=losses,
            predicted=Counts(cells, classes=range(size), decisions=range(size)),
        )
        return Evidence(
            problem=problem,
            n_rows=int(rows.sum()),
            sample=self._sample(tuple(rules), rows, uncounted),
            rules=rules,
            models=(tallies,),
            slices=(),
            posterior_prior=shares,
            weighted=uncounted,
            left_out=tuple(self._left_out(name, bins, shares)),
        )

    def _sample(self, systems: tuple[str, ...], rows: FloatArray, weighted: bool) -> JointSample:
        """Counts of the decisions as a sample; weights come with their squares."""
        counts = self.counts()
        used = counts.values > 0
        cells = np.argwhere(used)
        joint = JointCounts._of_cells(cells, counts.values[used], systems, self.problem)
        squares = self.squares.cpu().numpy().reshape(used.shape)[used]
        joint = joint._but(weighted=weighted)
        return JointSample(joint=joint, sizes=rows, squares=squares if weighted else None)

    def _left_out(
        self, name: str, bins: BinnedScores | None, shares: FloatArray
    ) -> Iterator[Caveat]:
        """Caveats about what a report without rows leaves out."""
        prior = self.problem.prior
        yield left_out(
            name,
            "recalibration, tuned thresholds and slices need rows, and an epoch keeps tallies "
            "only.",
        )
        if prior is not None and is_movable(shares, prior):
            yield left_out(
                name,
                "posteriors were not moved to the prior of the problem: the class shares for which "
                "they hold are known after the last case only. Move them before each update.",
            )
        if bins is not None and not bins.exact:
            yield left_out(
                name,
                f"single scores stay on the device. The AUC, H and expected losses come from "
                f"{bins.bins.mean.size:,} bins of them, and the AUC is off by at most "
                f"{bins.auc_error:.2g}; costs and proper scores are exact.",
            )


def _of_probabilities(bins: BinnedScores) -> ScoreTable:
    """The table of P(second class); logits that give the same probability are pooled."""
    if bins.scale is Scale.PROBABILITIES:
        return bins.table
    return bins.table._at(expit(bins.table.scores))


# Modules of torchmetrics whose states are tallies of fixed size that merge exactly ---------------
#
# ``update`` never waits for the device: invalid entries are counted, and ``compute`` refuses them.
# States are in double precision, whatever the precision of the model.

_BIN_STATES = ("cells", "rests", "low", "high", "losses", "faults")
_REDUCTIONS = {"low": "min", "high": "max"}
# Arguments of the functions and their names in `update`.
_NAMES = {"scores": "preds", "posteriors": "preds", "decisions": "preds", "y_true": "target"}
_LOGITS = "Write logits=True, or leave it out."
_Cases = tuple[Tensor, Tensor, Tensor | None]
_T = TypeVar("_T")


class _Tallied(Metric):
    """A metric whose states are merged by sums, minima and maxima."""

    # full_state_update=False lets forward update once instead of twice.
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
        empty = DeviceBins.empty(torch.device("cpu"))
        for name in _BIN_STATES:
            how = _REDUCTIONS.get(name, "sum")
            self.add_state(name, default=getattr(empty, name), dist_reduce_fx=how)

    def _add_rule(self, *rule: object) -> None:
        """Add a digest of the settings, so that only tallies of the same kind are merged.

        A MetricCollection shares the states of metrics whose states differ by less than 1e-5 after
        one batch, although their settings may differ.
        """
        digest = torch.tensor(list(sha256(repr(rule).encode()).digest()))
        self.add_state("rule", default=digest, dist_reduce_fx="max")

    def _refuse(self) -> None:
        """Refuse tallies of other settings, and invalid entries; this waits for the device."""
        if not torch.equal(self.rule, self._defaults["rule"]):
            raise InputError(
                "states must be tallied in the same way; some come from a metric of another "
                "problem or scale. Merge and load states of metrics that were made alike."
            )
        refuse(self.faults, **_NAMES)

    def _apply(self, fn: Callable[[Tensor], Tensor], *args: Any, **options: Any) -> Any:
        """Move to the device of the model, but keep double precision."""
        return super()._apply(lambda state: state.to(fn(state).device), *args, **options)

    def merge_state(self, incoming_state: Any) -> None:
        """Add the tallies of another metric; results computed before are discarded.

        Parameters
        ----------
        incoming_state : another metric, or its states by name
        """
        states = incoming_state
        if isinstance(incoming_state, type(self)):
            states = incoming_state.metric_state
        if not isinstance(states, dict) or not self._are_like(states):
            raise InputError(
                f"incoming_state must be a metric like this one, {type(self).__name__}, or its "
                f"states by name; got {described(incoming_state)}. Make both alike."
            )
        super().merge_state(states)
        self._filled()

    def _are_like(self, states: dict[str, Any]) -> bool:
        """Whether these are states of such a metric, and on its device."""
        return all(
            isinstance(states.get(name), Tensor)
            and _layout(states[name]) == _layout(getattr(self, name))
            for name in self._defaults
        )

    def _load_from_state_dict(self, state_dict: Any, prefix: str, *args: Any) -> None:
        """Load states; the loaded metric counts as updated."""
        present = {prefix + name for name in self._defaults} & set(state_dict)
        # Copies, because updates in place would change the tensors of the caller.
        state_dict |= {name: state_dict[name].clone() for name in present}
        super()._load_from_state_dict(state_dict, prefix, *args)
        if present:
            self._filled()

    def _filled(self) -> None:
        """Discard the cached result, and mark the metric as updated."""
        # torchmetrics caches the last result and warns about compute before update.
        self._computed = None
        self._update_count = max(int(self.update_count), 1)

    def _bins(self) -> DeviceBins:
        return DeviceBins(**{name: getattr(self, name) for name in _BIN_STATES})

    def _read(
        self, preds: Tensor, target: object, weights: object, problem: Problem | None = None
    ) -> _Cases:
        """The cases of a batch, after a check that they match and are where the states are."""
        truth, weight = positions("target", target), weights_of("weights", weights)
        aligned({"preds": preds, "target": truth, "weights": weight})
        if preds.device != self.faults.device:
            raise InputError(
                f"preds must be on the device of the metric, {self.faults.device}; it is on "
                f"{preds.device}. Move the metric: metric.to({str(preds.device)!r})."
            )
        if problem is not None:
            refuse_width("preds", preds, problem)
        return preds, truth, weight

    def _scalar(self, value: Any) -> Tensor:
        return torch.tensor(float(value), dtype=torch.float64, device=self.faults.device)

    def _synced(self, compute: Callable[[], _T]) -> _T:
        """The result of a function on the tallies of all processes, each of which must call it."""
        with self.sync_context(dist_sync_fn=self.dist_sync_fn, should_sync=self.sync_on_compute):
            return compute()


class _Counting(_Tallied):
    """Counts of decisions in each class."""

    def __init__(self, problem: Problem, *rule: object, **options: Any) -> None:
        super().__init__(**options)
        require("problem", problem, Problem)
        self.problem = problem
        self._add_sums("cells", (problem.costs.size,))
        self._add_faults()
        self._add_rule(problem.costs.shape, *rule)

    def _counts(self) -> Counts:
        self._refuse()
        return counts_of(self.cells, self.problem)

    def counts(self) -> Counts:
        """The counts of all processes, from which every other measure can be computed.

        Returns
        -------
        Counts
            The weight of each class and decision, (K, M).
        """
        return self._synced(self._counts)

    def compute(self) -> Tensor:
        """The cost per case of all decisions so far.

        Returns
        -------
        Tensor
            A scalar.

        Examples
        --------
        >>> import torch
        >>> metric = ExpectedCost(Problem([[0, 1, 0.3], [5, 0, 0.3]]))
        >>> metric.update(torch.tensor([0, 2, 0, 1]), torch.tensor([0, 0, 1, 1]))
        >>> float(metric.compute())
        1.325
        """
        return self._scalar(expected_cost(self._counts(), self.problem))


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
        """Count the decisions of a batch.

        Parameters
        ----------
        preds : (n,) positions of decisions
        target : (n,) positions of the true classes
        weights : (n,) weights of the cases; None counts each once

        Examples
        --------
        >>> import torch
        >>> metric = ExpectedCost(Problem.zero_one(2))
        >>> metric.update(torch.tensor([0, 1]), torch.tensor([0, 1]))
        >>> metric.update(torch.tensor([1]), torch.tensor([0]), weights=torch.tensor([2.0]))
        >>> float(metric.compute())
        0.5
        """
        cases = self._read(positions("preds", preds), target, weights)
        add_cells(*cases, self.problem.costs.shape, self.cells, self.faults)


class NormalizedCost(ExpectedCost):
    """Cost of decisions divided by that of the best decision made without looking at the case.

    ``update(preds, target, weights=None)`` takes positions of decisions and of classes.

    Examples
    --------
    Always deciding 1 costs 2/4 per case; the one miss here costs 9/4:

    >>> import torch
    >>> metric = NormalizedCost(Problem.binary(false_alarm=1, miss=9))
    >>> metric.update(torch.tensor([0, 0, 1, 0]), torch.tensor([0, 0, 1, 1]))
    >>> float(metric.compute())
    4.5
    """

    def compute(self) -> Tensor:
        """The normalised cost of all decisions so far.

        Returns
        -------
        Tensor
            A scalar.

        Examples
        --------
        >>> import torch
        >>> metric = NormalizedCost(Problem([[0, 1, 0.3], [5, 0, 0.3]]))
        >>> metric.update(torch.tensor([0, 2, 0, 1]), torch.tensor([0, 0, 1, 1]))
        >>> round(float(metric.compute()), 4)
        4.4167
        """
        return self._scalar(normalized_cost(self._counts(), self.problem))


class BayesCost(_Counting):
    """Cost per case of the Bayes decisions for posteriors or logits.

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
        require("problem", problem, Problem)
        refuse_limits(problem)
        require("logits", logits, bool, _LOGITS)
        super().__init__(problem, problem.costs.tolist(), logits, **options)
        self.logits = logits

    @torch.no_grad()
    def update(self, preds: Tensor, target: Tensor, weights: Tensor | None = None) -> None:
        """Decide the cases of a batch, and count the decisions.

        Parameters
        ----------
        preds : (n, K) posteriors or logits, or (n,) those of the second class
        target : (n,) positions of the true classes
        weights : (n,) weights of the cases; None counts each once

        Examples
        --------
        >>> import torch
        >>> metric = BayesCost(Problem.binary(false_alarm=1, miss=9))
        >>> metric.update(torch.tensor([0.02, 0.3, 0.05, 0.6]), torch.tensor([0, 0, 1, 1]))
        >>> float(metric.compute())
        2.5
        """
        rows = floating("preds", preds, ndim=(1, 2))
        predictions, truth, weight = self._read(rows, target, weights, self.problem)
        if weight is None and len(predictions) and has_kernel(predictions, self.problem):
            sums = (self.cells, self.faults)
            add_decisions(predictions, truth, self.problem, sums, logits=self.logits)
            return
        decided = cheapest(predictions, self.problem, logits=self.logits)
        self.faults += posterior_faults(predictions, self.logits)
        add_cells(decided, truth, weight, self.problem.costs.shape, self.cells, self.faults)


class ScoreBins(_Tallied):
    """Scores of two classes in bins by the leading bits of the float.

    ``update(preds, target, weights=None)`` takes scores (n,) and 0 or 1. ``compute`` returns
    numbers, `binned` the table, from which cost curves, H, the best threshold and intervals follow.

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
        self.scale, self.classes = scale, None if classes is None else two_labels(classes)
        self._add_bins()
        self._add_rule(scale.name)

    @torch.no_grad()
    def update(self, preds: Tensor, target: Tensor, weights: Tensor | None = None) -> None:
        """Bin the scores of a batch.

        Parameters
        ----------
        preds : (n,) scores
        target : (n,) positions of the true classes
        weights : (n,) weights of the cases; None counts each once

        Examples
        --------
        >>> import torch
        >>> metric = ScoreBins()
        >>> metric.update(torch.tensor([0.1, 0.4, 0.35, 0.8]), torch.tensor([0, 0, 1, 1]))
        >>> metric.binned().auc
        0.75
        """
        self._bins().add(*self._read(floating("preds", preds), target, weights), self.scale)

    def compute(self) -> dict[str, Tensor]:
        """The AUC with its error bound, and the losses of probabilities and logits.

        Returns
        -------
        dict of Tensor
            ``auc`` and ``auc_error``; for probabilities and logits ``log_loss`` and ``brier``.

        Examples
        --------
        >>> import torch
        >>> metric = ScoreBins()
        >>> metric.update(torch.tensor([0.1, 0.4, 0.35, 0.8]), torch.tensor([0, 0, 1, 1]))
        >>> sorted(metric.compute())
        ['auc', 'auc_error', 'brier', 'log_loss']
        """
        self._refuse()
        return self._bins().summary(self.scale, "preds")

    def _binned(self) -> BinnedScores:
        self._refuse()
        return self._bins().binned(self.scale, self.classes, **_NAMES)

    def binned(self) -> BinnedScores:
        """The bins of all processes.

        Returns
        -------
        BinnedScores
            The bins and their table.

        Examples
        --------
        >>> import torch
        >>> metric = ScoreBins()
        >>> metric.update(torch.tensor([0.1, 0.4, 0.35, 0.8]), torch.tensor([0, 0, 1, 1]))
        >>> metric.binned().auc_error
        0.0
        """
        return self._synced(self._binned)


class Evaluation(_Tallied):
    """All tallies of a report on the posteriors or logits of one model.

    ``update(preds, target, weights=None)`` takes posteriors (n, K), or (n,) for P(second class).
    ``compute`` returns numbers, `report` the `Report` on all cases so far.

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
        require("problem", problem, Problem)
        require("logits", logits, bool, _LOGITS)
        self.problem, self.logits = problem, logits
        self._add_rule(problem.costs.tolist(), logits)
        for name, size in EpochSums.sizes(problem).items():
            self._add_sums(name, size)
        if problem.n_classes == 2:
            self._add_bins()
        else:
            self._add_faults()

    @torch.no_grad()
    def update(self, preds: Tensor, target: Tensor, weights: Tensor | None = None) -> None:
        """Tally a batch.

        Parameters
        ----------
        preds : (n, K) posteriors or logits, or (n,) those of the second class
        target : (n,) positions of the true classes
        weights : (n,) weights of the cases; None counts each once

        Examples
        --------
        >>> import torch
        >>> metric = Evaluation(Problem.binary(false_alarm=1, miss=9))
        >>> metric.update(torch.tensor([0.02, 0.3, 0.05, 0.6]), torch.tensor([0, 0, 0, 1]))
        >>> float(metric.compute()["expected_cost"])
        0.25
        """
        rows = floating("preds", preds, ndim=(1, 2))
        predictions, truth, weight = self._read(rows, target, weights, self.problem)
        self._sums().add(predictions, truth, weight, logits=self.logits, faults=self.faults)
        if self.problem.n_classes == 2:
            scores = predictions if predictions.ndim == 1 else _second(predictions, self.logits)
            bins = self._bins()
            bins.faults = torch.empty_like(self.faults)  # the faults were counted above
            bins.add(scores, truth, weight, self._scale)

    @property
    def _scale(self) -> Scale:
        return Scale.LOGITS if self.logits else Scale.PROBABILITIES

    def _sums(self) -> EpochSums:
        parts = {name: getattr(self, name) for name in EpochSums.sizes(self.problem)}
        return EpochSums(self.problem, **parts)

    def compute(self) -> dict[str, Tensor]:
        """Cost, normalised cost and proper scores; for two classes also the AUC with its bound.

        Returns
        -------
        dict of Tensor
            ``expected_cost``, ``normalized_cost``, ``log_loss`` and ``summed_brier``; for two
            classes ``auc`` and ``auc_error``.

        Examples
        --------
        >>> import torch
        >>> metric = Evaluation(Problem.binary(false_alarm=1, miss=9))
        >>> metric.update(torch.tensor([0.02, 0.3, 0.05, 0.6]), torch.tensor([0, 0, 0, 1]))
        >>> sorted(metric.compute())
        ['auc', 'auc_error', 'expected_cost', 'log_loss', 'normalized_cost', 'summed_brier']
        """
        bins = self._binned()
        numbers = self._sums().numbers()
        if bins is not None:
            numbers |= {"auc": bins.auc, "auc_error": bins.auc_error}
        return {name: self._scalar(value) for name, value in numbers.items()}

    def _binned(self) -> BinnedScores | None:
        """The bins of two classes, or None for more; invalid entries are refused either way."""
        self._refuse()
        if self.problem.n_classes > 2:
            return None
        return self._bins().binned(self._scale, self.problem.classes, **_NAMES)

    def report(self, name: str = "model", *, level: float = 0.95, seed: int = 0) -> Report:
        """The report on the cases of all processes; what needs rows is left out, with a caveat.

        Every process must call it, and gets the same report.

        Parameters
        ----------
        name : name of the model
        level : confidence level of all intervals
        seed : seed of the random numbers

        Returns
        -------
        Report
            What the Bayes decisions cost.

        Examples
        --------
        >>> import torch
        >>> metric = Evaluation(Problem.binary(false_alarm=1, miss=9))
        >>> p, y = torch.tensor([0.02, 0.3, 0.05, 0.6] * 25), torch.tensor([0, 0, 0, 1] * 25)
        >>> metric.update(p, y)
        >>> metric.report("net").best.name
        'net (as is)'
        """
        require("name", name, str, "Name the model.")
        writable("name", name)
        seed = whole("seed", seed, low=0)
        return self._synced(
            lambda: self._sums().report(name, self._binned(), level=level, seed=seed)
        )


def _layout(state: Tensor) -> tuple[object, ...]:
    return state.shape, state.dtype, state.device


def _second(rows: Tensor, logits: bool) -> Tensor:
    """P(second class) of two, or its log-odds for logits."""
    if not logits:
        return rows[:, 1]
    exact = rows.double()
    return exact[:, 1] - exact[:, 0]
