"""Sums over an epoch, and the report on one model that they give without its rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from scipy.special import expit
from torch import Tensor

from stakes import _check
from stakes._check import HEAVIEST, LIGHTEST, FloatArray
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
from stakes.torch.check_tensors import no_faults
from stakes.torch.device_bins import BinnedScores, Scale
from stakes.torch.device_cases import (
    add_cells,
    add_decisions,
    cheapest,
    has_kernel,
    log_probabilities,
    posterior_faults,
    probabilities,
)

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
