"""Scores in bins by the leading bits of the float, with a bound on the error of measures."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum

import numpy as np
import torch
from torch import Tensor

from stakes._check import FloatArray, IntArray, Labels, labels, require
from stakes._value import record
from stakes.errors import InputError
from stakes.evaluation import mean_losses
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
    """The scale of scores; higher scores always favour the second class.

    SCORES are any numbers and have no losses. PROBABILITIES are those of the second class. LOGITS
    are log-odds of the second class: bins and tables hold the logits themselves, and losses are
    those of the probabilities.

    Examples
    --------
    A logit of 0 is a probability of 1/2, with a log loss of log 2:

    >>> import torch
    >>> bins = score_bins(torch.tensor([0.0, 0.0]), torch.tensor([0, 1]), scale=Scale.LOGITS)
    >>> round(bins.log_loss, 4), bins.brier
    (0.6931, 0.25)
    """

    SCORES = 0
    PROBABILITIES = 1
    LOGITS = 2

    @property
    def grid(self) -> BitGrid:
        """The grid of bins for this scale."""
        return BitGrid(self is Scale.PROBABILITIES)


@record
class BinnedScores:
    """Bins of scores, their table, and bounds on the error of measures of the table.

    Attributes
    ----------
    bins : lowest, highest and mean score of every bin that holds cases
    scale : the scale of the scores
    losses : (2, 2) mean log loss and Brier score (half scale) of each class, exact up to rounding;
        None where scores are not probabilities
    classes : two labels, or None

    Examples
    --------
    Of four pairs of a negative and a positive, one is tied and three are in the right order:

    >>> import torch
    >>> scores, y = torch.tensor([0.25, 0.5, 0.5, 0.75]), torch.tensor([0, 0, 1, 1])
    >>> binned = score_bins(scores, y, scale=Scale.PROBABILITIES)
    >>> binned.auc, binned.exact, binned.brier
    (0.875, True, 0.15625)
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
        r"""Bound on the error of the AUC, :math:`\tfrac12 \sum_b p_{0b} p_{1b}` over wide bins."""
        return self.bins.auc_error

    @property
    def log_loss(self) -> float:
        """Mean log loss in nats; nan where scores are not probabilities."""
        return self._mean(0)

    @property
    def brier(self) -> float:
        """Mean squared error of P(second class), 0 to 1; nan where scores are not probabilities."""
        return self._mean(1)

    def _mean(self, place: int) -> float:
        if self.losses is None:
            return float("nan")
        shares = self.bins.weights.sum(axis=0) / self.bins.weights.sum()
        return float(np.sum(np.where(shares > 0, self.losses[place], 0.0) * shares))

    def best_threshold(self, problem: Problem) -> BestThreshold:
        """The best threshold between bins, so that its cost is exact for the scores themselves.

        The thresholds of `table` are mean scores of bins and would split a bin.

        Parameters
        ----------
        problem : Problem
            Two classes and two decisions.

        Returns
        -------
        BestThreshold
            The threshold and what it costs.

        Examples
        --------
        >>> import torch
        >>> p, y = torch.tensor([0.1, 0.4, 0.35, 0.8]), torch.tensor([0, 0, 1, 1])
        >>> binned = score_bins(p, y, scale=Scale.PROBABILITIES)
        >>> binned.best_threshold(Problem.binary(false_alarm=1, miss=9)).cost
        0.25
        """
        best = best_threshold(self.table, problem)
        return replace(best, threshold=self.bins.threshold(best.threshold))

    def cost_error(self, problem: Problem) -> float:
        r"""Bound on how far the least cost of any threshold can lie below that of the table.

        .. math:: \max_b \min(a\,\pi_0 p_{0b},\; b\,\pi_1 p_{1b})

        where a false alarm costs a and a miss b more than the right decision.

        Parameters
        ----------
        problem : Problem
            Two classes and two decisions.

        Returns
        -------
        float
            The bound, in the unit of the problem per case.

        Examples
        --------
        >>> import torch
        >>> p, y = torch.tensor([0.1, 0.4, 0.35, 0.8]), torch.tensor([0, 0, 1, 1])
        >>> binned = score_bins(p, y, scale=Scale.PROBABILITIES)
        >>> binned.cost_error(Problem.binary(false_alarm=1, miss=9))
        0.0
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
class DeviceBins:
    """Sums over cases on their device, in tensors of fixed size.

    `cells` and `rests` (bins × classes) hold the weight of each cell and the weighted positions of
    its cases within the bin; `low` and `high` hold its extreme scores as integers that sort like
    the scores.
    """

    cells: Tensor
    rests: Tensor
    low: Tensor
    high: Tensor
    losses: Tensor  # (3, 2): log loss, Brier score, cases of probability 0; by class
    faults: Tensor

    @classmethod
    def empty(cls, device: torch.device) -> DeviceBins:
        """Sums over no cases."""
        integers = {"dtype": torch.int64, "device": device}
        return cls(
            cells=torch.zeros(N_CELLS, dtype=torch.float64, device=device),
            rests=torch.zeros(N_CELLS, dtype=torch.float64, device=device),
            low=torch.full((N_CELLS,), _HIGHEST, **integers),
            high=torch.full((N_CELLS,), _LOWEST, **integers),
            losses=torch.zeros((3, 2), dtype=torch.float64, device=device),
            faults=no_faults(device),
        )

    def add(self, scores: Tensor, y_true: Tensor, weights: Tensor | None, scale: Scale) -> None:
        """Add cases, in place, without waiting for the device."""
        if weights is None and scores.is_cuda and kernels is not None and len(scores):
            self._add_by_kernel(scores.contiguous(), y_true.contiguous(), scale)
            return
        # Large blocks hide the launch of kernels on a GPU; small ones stay in the cache of a CPU.
        size = 1 << (22 if scores.is_cuda else 16)
        for start in range(0, len(scores), size):
            block = slice(start, start + size)
            weight = None if weights is None else weights[block]
            self._add_block(scores[block], y_true[block], weight, scale)

    def _add_by_kernel(self, scores: Tensor, y_true: Tensor, scale: Scale) -> None:
        """Add cases that count once, with the Triton kernel."""
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
        """Add a block of cases, with plain torch."""
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
        # Adding 0.0 turns −0.0 into 0.0; unused scores are replaced, and have no weight.
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
            sums = [
                part @ weight_of_class
                for part in _losses(exact, positive, scale)
                for weight_of_class in masses
            ]
            self.losses += torch.stack(sums).view(3, 2)

    def binned(self, scale: Scale, classes: Labels | None, **names: str) -> BinnedScores:
        """The tally on the host; invalid entries are refused."""
        refuse(self.faults, **names)
        weights, rests, low, high = (
            part.cpu().numpy() for part in (self.cells, self.rests, self.low, self.high)
        )
        used = np.flatnonzero(weights > 0)
        refuse_none(names.get("scores", "scores"), used.size > 0)
        mass = weights[used]
        refuse_total(torch.from_numpy(mass))
        means = scale.grid.scores(used // 2, rests[used] / mass)
        both = np.where((used % 2)[:, None] == np.arange(2), mass[:, None], 0.0)
        lowest, highest = _floats(low[used]), _floats(high[used])
        # Positions within bins have only 13 bits, so that their mean may lie outside the range.
        means = np.clip(means, lowest, highest)
        with np.errstate(invalid="ignore", over="ignore"):  # infinite scores
            bins = Bins.pooled(lowest, highest, means * mass, both)
        return BinnedScores(bins, scale, self._class_losses(scale, bins), classes)

    def summary(self, scale: Scale, name: str) -> dict[str, Tensor]:
        """AUC, its error and the losses, as in `binned`, computed on the device.

        Invalid entries must have been refused before; messages call the scores `name`.
        """
        cells, low, high = (part.view(-1, 2) for part in (self.cells, self.low, self.high))
        total = cells.sum()
        refuse_none(name, bool(total > 0))
        refuse_total(total)
        cells = torch.ldexp(cells, -torch.frexp(total).exponent)  # so that products do not overflow
        negative, positive = cells.unbind(1)
        # Pairs in different bins are ordered by their bins; those in one bin by their extremes, if
        # the ranges of the classes do not overlap there.
        pairs, below = cells.sum(dim=0).prod(), negative.cumsum(0) - negative
        within = negative * positive  # pairs in one bin: ordered, reversed or unknown
        ahead, behind = high[:, 0] < low[:, 1], high[:, 1] < low[:, 0]
        won = torch.where(ahead, 1.0, torch.where(behind, 0.0, 0.5)).double()
        apart = ahead | behind | (low.amin(1) == high.amax(1))
        numbers = {
            "auc": (positive * below + within * won).sum() / pairs,
            "auc_error": torch.where(pairs > 0, (within * ~apart).sum() / pairs / 2, 0.0),
        }
        if scale is not Scale.SCORES:
            surprise = torch.where(self.losses[2] > 0, torch.inf, self.losses[0])
            numbers["log_loss"] = surprise.sum() / total
            numbers["brier"] = self.losses[1].sum() / total
        return numbers

    def _class_losses(self, scale: Scale, bins: Bins) -> FloatArray | None:
        """Mean losses (2, 2) of each class, or None for raw scores."""
        if scale is Scale.SCORES:
            return None
        return mean_losses(self.losses.cpu().numpy(), bins.weights.sum(axis=0))


def _losses(score: Tensor, positive: Tensor, scale: Scale) -> tuple[Tensor, Tensor, Tensor]:
    """Log loss and Brier score of every case, and whether the true class had probability 0."""
    if scale is Scale.PROBABILITIES:
        of_truth = torch.where(positive, score, 1 - score)
        lost = of_truth == 0
        # Infinite losses are counted separately: 0 · inf would be nan for cases of weight 0.
        surprise = -torch.log(torch.where(lost, 1.0, of_truth))
        square = (1 - of_truth) ** 2
    else:
        of_truth = torch.where(positive, score, -score)
        lost = of_truth == -torch.inf
        surprise = -torch.nn.functional.logsigmoid(torch.where(lost, torch.inf, of_truth))
        square = torch.sigmoid(-of_truth) ** 2
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

    The bins are the leading bits of the float, as in `stakes.tally.BitGrid`. Measures of their
    table have a bounded error and are exact where every bin holds one score, as with float16.

    Parameters
    ----------
    scores : (n,) floats
    y_true : (n,) 0 or 1, or booleans
    weights : (n,) weights of the cases
    scale : the scale of the scores; probabilities and logits also have losses
    classes : two labels for the table, negative then positive

    Returns
    -------
    BinnedScores
        The bins, with the AUC and the losses.

    Examples
    --------
    >>> import torch
    >>> p, y = torch.tensor([0.1, 0.4, 0.35, 0.8]), torch.tensor([0, 0, 1, 1])
    >>> binned = score_bins(p, y, scale=Scale.PROBABILITIES)
    >>> binned.auc, binned.auc_error, round(binned.brier, 4)
    (0.75, 0.0, 0.1581)
    """
    require("scale", scale, Scale, "Write Scale.LOGITS, say.")
    names = None if classes is None else two_labels(classes)
    score, truth, weight = read_scores(scores, y_true, weights)
    sums = DeviceBins.empty(score.device)
    sums.add(score, truth, weight, scale)
    return sums.binned(scale, names, posteriors="scores")


def two_labels(classes: object) -> Labels:
    """The labels, after a check that there are two."""
    names = labels("classes", classes)
    if len(names) != 2:
        raise InputError(
            f"classes must be two labels, negative then positive; got {len(names)}. "
            f"Leave others out."
        )
    return names


def read_scores(
    scores: object, y_true: object, weights: object
) -> tuple[Tensor, Tensor, Tensor | None]:
    """Scores, labels and weights, after a check that they match and are on one device."""
    score, truth = floating("scores", scores), positions("y_true", y_true)
    weight = weights_of("weights", weights)
    aligned({"scores": score, "y_true": truth, "weights": weight})
    return score, truth, weight


def refuse_none(name: str, some: bool) -> None:
    """Refuse a tally without cases."""
    if not some:
        raise InputError(
            f"{name} must hold at least one case of positive weight; there are none. Pass some."
        )


def bit_places(score: Tensor, grid: BitGrid) -> tuple[Tensor, Tensor]:
    """The bin of every score and its position within the bin; see `BitGrid.places`.

    Scores are in single or double precision.
    """
    below = score < (0.5 if grid.probabilities else 0.0)
    away = torch.where(below, score, 1 - score) if grid.probabilities else score.abs()
    at = away * grid.scale
    # The exponent and leading bits of a float, read as an integer, number the bins of all octaves;
    # 126 and 1022 are the biased exponents of 0.5. Below the first octave, bins are equally wide.
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
    """Integers that sort like the scores, which are doubles.

    The bits of negative floats sort in reverse, so that all but their sign bit are flipped.
    """
    bits = score.view(torch.int64)
    return bits ^ ((bits >> 63) & _HIGHEST)


def _floats(keys: IntArray) -> FloatArray:
    """The scores of `order_keys`, whose map is its own inverse."""
    return np.asarray((keys ^ ((keys >> 63) & _HIGHEST)).view(np.float64))
