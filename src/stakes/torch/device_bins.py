"""Scores in bins of the top bits of the float, with a certified bound."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum

import numpy as np
import torch
from torch import Tensor

from stakes._check import FloatArray, IntArray, Labels, labels, require
from stakes.errors import InputError
from stakes.problem import Problem
from stakes.ranking import auc
from stakes.tally import Bins, BitGrid, ScoreTable
from stakes.thresholds import BestThreshold, best_threshold
from stakes.torch.check_tensors import (
    LABEL,
    PROBABILITY,
    SCORE,
    WEIGHT,
    aligned,
    floating,
    no_faults,
    positions,
    refuse,
    refuse_total,
    weights_of,
)
from stakes.torch.triton_door import kernels

N_CELLS = 2 * BitGrid.N_BINS
_HIGHEST, _LOWEST = torch.iinfo(torch.int64).max, torch.iinfo(torch.int64).min
_REST = 1 << BitGrid.REST_BITS


class Scale(Enum):
    """What scores are; a higher one always speaks for the second class.

    SCORES are any numbers, and have no losses. PROBABILITIES are those of the second class. LOGITS
    are their log-odds: bins and tables are of the logits themselves, losses of the probabilities.
    """

    SCORES = 0
    PROBABILITIES = 1
    LOGITS = 2

    @property
    def grid(self) -> BitGrid:
        """The bins."""
        return BitGrid(self is Scale.PROBABILITIES)


@dataclass(frozen=True, eq=False)
class BinnedScores:
    """Bins of scores, their table, and how far what is read from it can be off.

    Attributes
    ----------
    bins : lowest, highest and mean score of every bin that holds cases
    scale : what the scores are
    losses : (2, 2) mean log loss and Brier score (half scale) of each class, exact up to rounding;
        None where scores are not probabilities
    classes : two labels, or None
    """

    bins: Bins
    scale: Scale
    losses: FloatArray | None
    classes: Labels | None

    def __repr__(self) -> str:
        return f"BinnedScores of {self.scale}: {self.table!r}"

    @property
    def table(self) -> ScoreTable:
        """The mean score of every bin with the weights of both classes."""
        return self.bins.table(self.classes)

    @property
    def exact(self) -> bool:
        """Whether every bin holds one score, so that the table is the exact one."""
        return self.bins.exact

    @property
    def auc(self) -> float:
        """The AUC of the table, at most `auc_error` from that of the scores."""
        return float(auc(self.table))

    @property
    def auc_error(self) -> float:
        r"""What the order within bins can do to the AUC, :math:`\tfrac12 \sum_b p_{0b} p_{1b}`."""
        return self.bins.auc_error

    @property
    def log_loss(self) -> float:
        """Mean log loss in nats; nan where scores are not probabilities."""
        return self._mean(0)

    @property
    def brier(self) -> float:
        """Mean squared error of P(second class), 0 to 1; nan where scores are none."""
        return self._mean(1)

    def _mean(self, place: int) -> float:
        if self.losses is None:
            return float("nan")
        shares = self.bins.weights.sum(axis=0) / self.bins.weights.sum()
        return float(np.sum(np.where(shares > 0, self.losses[place], 0.0) * shares))

    def best_threshold(self, problem: Problem) -> BestThreshold:
        """The best threshold between bins: scores above it cost what it says.

        Those of `table` are the mean scores of bins, which cut through them.
        """
        best = best_threshold(self.table, problem)
        return replace(best, threshold=self.bins.threshold(best.threshold))

    def cost_error(self, problem: Problem) -> float:
        r"""By how much the least expected cost of any threshold can lie below that of the table.

        .. math:: \max_b \min(a\,\pi_0 p_{0b},\; b\,\pi_1 p_{1b})

        where a false alarm costs a and a miss b more than the right decision.
        """
        require("problem", problem, Problem, "Write Problem.binary(false_alarm=…, miss=…).")
        if np.isnan(problem.threshold):  # the decision does not matter
            return 0.0
        regret = problem.regret().costs
        weights = self.bins.weights[self.bins.low < self.bins.high]
        totals = self.bins.weights.sum(axis=0)
        prior = totals / totals.sum() if problem.prior is None else problem.prior
        with np.errstate(invalid="ignore"):
            mass = np.where(prior > 0, weights / totals * prior, 0.0)
        losses = mass * np.array([regret[0, 1], regret[1, 0]])
        return float(np.min(losses, axis=1).max(initial=0.0))


@dataclass(eq=False)
class BinSums:
    """What is summed over cases, on their device: tensors of fixed size.

    `cells` and `rests` (bins × classes) hold the weight of each cell and how far into the bin its
    cases lie; `low` and `high` its extreme scores as whole numbers in the same order.
    """

    cells: Tensor
    rests: Tensor
    low: Tensor
    high: Tensor
    losses: Tensor  # (3, 2): log loss, Brier score and cases ruled out, of each class
    faults: Tensor

    @classmethod
    def empty(cls, device: torch.device) -> BinSums:
        """Nothing yet."""
        whole = {"dtype": torch.int64, "device": device}
        return cls(
            cells=torch.zeros(N_CELLS, dtype=torch.float64, device=device),
            rests=torch.zeros(N_CELLS, dtype=torch.float64, device=device),
            low=torch.full((N_CELLS,), _HIGHEST, **whole),
            high=torch.full((N_CELLS,), _LOWEST, **whole),
            losses=torch.zeros((3, 2), dtype=torch.float64, device=device),
            faults=no_faults(device),
        )

    def add(self, scores: Tensor, y_true: Tensor, weights: Tensor | None, scale: Scale) -> None:
        """Add cases, in place, without waiting for the device."""
        if weights is None and scores.is_cuda and kernels is not None and len(scores):
            self._add_by_kernel(scores.contiguous(), y_true.contiguous(), scale)
            return
        size = 1 << (22 if scores.is_cuda else 16)
        for start in range(0, len(scores), size):
            block = slice(start, start + size)
            weight = None if weights is None else weights[block]
            self._add_block(scores[block], y_true[block], weight, scale)

    def _add_by_kernel(self, scores: Tensor, y_true: Tensor, scale: Scale) -> None:
        unit = scale is Scale.PROBABILITIES
        kernels.add_bins(
            scores,
            y_true,
            (self.cells, self.rests, self.low, self.high, self.losses, self.faults),
            n_bins=BitGrid.N_BINS,
            unit=unit,
            loss=scale.value,
            rules=(PROBABILITY if unit else SCORE, LABEL),
        )

    def _add_block(self, raw: Tensor, y_true: Tensor, weights: Tensor | None, scale: Scale) -> None:
        score = raw if raw.dtype == torch.float64 else raw.float()
        unit = scale is Scale.PROBABILITIES
        fits = (score >= 0) & (score <= 1) if unit else score == score
        known = (y_true == 0) | (y_true == 1)
        self.faults[PROBABILITY if unit else SCORE] += (~fits).sum()
        self.faults[LABEL] += (~known).sum()
        used, positive = fits & known, y_true == 1
        mass = used.double()
        if weights is not None:
            weight = weights.double()
            sound = (weight >= 0) & (weight < torch.inf)
            self.faults[WEIGHT] += (~sound).sum()
            used = used & sound & (weight > 0)
            mass = torch.where(used, weight, 0.0)
        # One zero only; what is not used weighs nothing.
        score = torch.where(used, score + 0.0, 0.5)
        place, rest = bit_places(score, scale.grid)
        cell = (place * 2 + positive).long()
        self.cells.index_add_(0, cell, mass)
        self.rests.index_add_(0, cell, mass * rest)
        exact = score.double()
        key = order_keys(exact)
        self.low.scatter_reduce_(0, cell, torch.where(used, key, _HIGHEST), "amin")
        self.high.scatter_reduce_(0, cell, torch.where(used, key, _LOWEST), "amax")
        if scale is not Scale.SCORES:
            ones = mass * positive
            masses = mass - ones, ones
            sums = [part @ own for part in _losses(exact, positive, scale) for own in masses]
            self.losses += torch.stack(sums).view(3, 2)

    def binned(self, scale: Scale, classes: Labels | None, **names: str) -> BinnedScores:
        """The tally, which leaves the device here; entries that cannot be used are refused."""
        refuse(self.faults, **names)
        weights, rests, low, high = (
            part.cpu().numpy() for part in (self.cells, self.rests, self.low, self.high)
        )
        held = np.flatnonzero(weights > 0)
        refuse_none(names.get("scores", "scores"), held.size > 0)
        mass = weights[held]
        refuse_total(float(mass.sum()))
        means = scale.grid.scores(held // 2, rests[held] / mass)
        both = np.where((held % 2)[:, None] == np.arange(2), mass[:, None], 0.0)
        lowest, highest = _floats(low[held]), _floats(high[held])
        means = np.clip(means, lowest, highest)
        with np.errstate(invalid="ignore", over="ignore"):  # to an infinite score nothing is added
            bins = Bins.pooled(lowest, highest, means * mass, both)
        return BinnedScores(bins, scale, self._class_losses(scale, bins), classes)

    def summary(self, scale: Scale, name: str) -> dict[str, Tensor]:
        """AUC, its error and the losses, as `binned` has them, worked out on the device.

        Entries that cannot be used must have been refused; `name` is what the scores are called.
        """
        cells, low, high = (part.view(-1, 2) for part in (self.cells, self.low, self.high))
        total = cells.sum()
        refuse_none(name, bool(total > 0))
        refuse_total(float(total))
        cells = torch.ldexp(cells, -torch.frexp(total).exponent)  # products stay numbers
        negative, positive = cells.unbind(1)
        pairs, below = cells.sum(dim=0).prod(), negative.cumsum(0) - negative
        within = negative * positive  # one bin: in order, the other way round, or unknown
        ahead, behind = high[:, 0] < low[:, 1], high[:, 1] < low[:, 0]
        won = torch.where(ahead, 1.0, torch.where(behind, 0.0, 0.5)).double()
        apart = ahead | behind | (low.amin(1) == high.amax(1))
        found = {
            "auc": (positive * below + within * won).sum() / pairs,
            "auc_error": torch.where(pairs > 0, (within * ~apart).sum() / pairs / 2, 0.0),
        }
        if scale is not Scale.SCORES:
            surprise = torch.where(self.losses[2] > 0, torch.inf, self.losses[0])
            found["log_loss"] = surprise.sum() / total
            found["brier"] = self.losses[1].sum() / total
        return found

    def _class_losses(self, scale: Scale, bins: Bins) -> FloatArray | None:
        if scale is Scale.SCORES:
            return None
        sums = self.losses.cpu().numpy()
        surprise = np.where(sums[2] > 0, np.inf, sums[0])
        with np.errstate(invalid="ignore"):
            return np.asarray(np.stack([surprise, sums[1]]) / bins.weights.sum(axis=0))


def _losses(score: Tensor, positive: Tensor, scale: Scale) -> tuple[Tensor, Tensor, Tensor]:
    """Log loss and Brier score of every case, and whether the truth was ruled out."""
    if scale is Scale.PROBABILITIES:
        own = torch.where(positive, score, 1 - score)
        lost = own == 0
        surprise = -torch.log(torch.where(lost, 1.0, own))
        square = (1 - own) ** 2
    else:
        own = torch.where(positive, score, -score)
        lost = own == -torch.inf
        surprise = -torch.nn.functional.logsigmoid(torch.where(lost, torch.inf, own))
        square = torch.sigmoid(-own) ** 2
    return surprise, square, lost.double()


@torch.no_grad()
def score_bins(
    scores: Tensor,
    y_true: Tensor,
    weights: Tensor | None = None,
    *,
    scale: Scale = Scale.SCORES,
    classes: Labels | None = None,
) -> BinnedScores:
    """Bin the scores of two classes in one pass, on their device.

    The bins are the top bits of the float, as in `stakes.tally.BitGrid`. What is read from their
    table is off by no more than a certified bound, and exact where every bin holds one score, as it
    does for float16.

    Parameters
    ----------
    scores : (n,) floats
    y_true : (n,) 0 or 1, or booleans
    weights : (n,) weights of the cases
    scale : what the scores are; say so for probabilities and logits, which have losses
    classes : two labels for the table, negative then positive

    Examples
    --------
    >>> import torch
    >>> p, y = torch.tensor([0.1, 0.4, 0.35, 0.8]), torch.tensor([0, 0, 1, 1])
    >>> found = score_bins(p, y, scale=Scale.PROBABILITIES)
    >>> found.auc, found.auc_error, round(found.brier, 4)
    (0.75, 0.0, 0.1581)
    """
    require("scale", scale, Scale, "Write Scale.LOGITS, say.")
    names = None if classes is None else two_labels(classes)
    score, truth, weight = read_scores(scores, y_true, weights)
    sums = BinSums.empty(score.device)
    sums.add(score, truth, weight, scale)
    return sums.binned(scale, names, posteriors="scores")


def two_labels(classes: object) -> Labels:
    """The labels of two classes."""
    names = labels("classes", classes)
    if len(names) != 2:
        raise InputError(
            f"classes must be two labels, negative then positive; got {len(names)}. "
            f"Leave others out.",
            argument="classes",
        )
    return names


def read_scores(
    scores: object, y_true: object, weights: object
) -> tuple[Tensor, Tensor, Tensor | None]:
    """Tensors that describe the same cases on one device."""
    score, truth = floating("scores", scores), positions("y_true", y_true)
    weight = weights_of("weights", weights)
    aligned({"scores": score, "y_true": truth, "weights": weight})
    return score, truth, weight


def refuse_none(name: str, some: bool) -> None:
    """Refuse a tally of nothing."""
    if not some:
        raise InputError(
            f"{name} must hold at least one case of positive weight; there are none. Pass some.",
            argument=name,
        )


def bit_places(score: Tensor, grid: BitGrid) -> tuple[Tensor, Tensor]:
    """The bin and the rest of every score, single or double; see `BitGrid.places`."""
    below = score < (0.5 if grid.probabilities else 0.0)
    away = torch.where(below, score, 1 - score) if grid.probabilities else score.abs()
    at = away * grid.scale
    near = (torch.where(at < 1, at, 0.0) * (grid.RUN * _REST)).int()
    if score.dtype == torch.float64:
        octave = ((at.view(torch.int64) >> 29) - (1022 << 23)).clamp(max=grid.SIDE * _REST).int()
        endless = at == torch.inf
    else:
        octave, endless = at.view(torch.int32) - (126 << 23), away == torch.inf
    fine = torch.where(at < 1, near, octave)
    beyond = torch.where(endless, (grid.SIDE - 1) * _REST, (grid.SIDE - 2) * _REST).int()
    fine = torch.where(at >= grid.FAR, beyond, fine)
    place, rest = fine >> grid.REST_BITS, fine & (_REST - 1)
    if grid.probabilities:
        return torch.where(below, place, grid.N_BINS - 1 - place), rest
    return torch.where(below, grid.SIDE - 1 - place, grid.SIDE + place), rest


def order_keys(score: Tensor) -> Tensor:
    """Whole numbers in the order of scores of double precision."""
    bits = score.view(torch.int64)
    return bits ^ ((bits >> 63) & _HIGHEST)


def _floats(keys: IntArray) -> FloatArray:
    """The scores of order keys."""
    return np.asarray((keys ^ ((keys >> 63) & _HIGHEST)).view(np.float64))
