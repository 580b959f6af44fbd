"""Scores on their device: in bins with a bound on the error of measures, and exact."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import Enum
from typing import NamedTuple

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
    refuse_entries,
    refuse_many,
    refuse_total,
    weights_of,
    within,
)
from stakes.torch.triton_door import kernels

# Scores in bins by the leading bits of the float, with a bound on the error of measures ----------

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


# The exact table of scores, and the exact hull where the table would not fit into memory ---------
#
# Scores are sorted as integers, (bits << 1) + label, so that one sort handles both; all later
# steps use only the distinct keys and their counts.

_BLOCK = 1 << 27  # distinct keys at a time, which bounds the memory of temporary tensors
_MOST_SCORES = 1 << 27  # distinct scores of a table, which then takes three gigabytes
_SAMPLE = 1 << 12  # sampled corners, whose hull excludes most others from being vertices
_SMALL = 1 << 14  # few enough corners to leave to the host
_SIGN = {torch.int32: torch.iinfo(torch.int32).min, torch.int64: torch.iinfo(torch.int64).min}


@record
class ScoreHull:
    """The exact AUC and the exact hull of scores whose table may be too large to keep.

    Attributes
    ----------
    auc : ties count one half; nan where a class is absent
    table : the segments of the convex hull of the ROC curve, in order; the score of each is its
        highest. Whatever depends on the hull alone is exact: the best threshold and the least cost
        at any costs, cost curves, the H measure, isotonic calibration.
    n_scores : the number of distinct scores

    Examples
    --------
    Three of four pairs are in the right order; the hull has one segment for the two in the middle:

    >>> import torch
    >>> hull = score_hull(torch.tensor([0.1, 0.3, 0.4, 0.8]), torch.tensor([0, 1, 0, 1]))
    >>> hull.auc, hull.table.weights.tolist(), hull.n_scores
    (0.75, [[1.0, 0.0], [1.0, 1.0], [0.0, 1.0]], 4)
    """

    auc: float
    table: ScoreTable
    n_scores: int


@torch.no_grad()
def score_table(
    scores: Tensor,
    y_true: Tensor,
    weights: Tensor | None = None,
    *,
    classes: Labels = (0, 1),
) -> ScoreTable:
    """The exact table of the scores of two classes, sorted on their device.

    Parameters
    ----------
    scores : (n,) floats
    y_true : (n,) 0 or 1, or booleans
    weights : (n,) weights of the cases; None counts each once
    classes : two labels for the table, negative then positive

    Returns
    -------
    ScoreTable
        The distinct scores with the weights of both classes.

    Examples
    --------
    >>> import torch
    >>> score_table(torch.tensor([0.1, 0.4, 0.4, 0.8]), torch.tensor([0, 0, 1, 1])).weights
    array([[1., 0.],
           [1., 1.],
           [0., 1.]])
    """
    names = two_labels(classes)
    score, truth, weight = _checked(scores, y_true, weights)
    if not score.is_cuda:  # numpy sorts several times as fast as torch on a CPU
        mass = None if weight is None else weight.double().numpy()
        values = score.float() if score.dtype == torch.bfloat16 else score
        codes = truth.to(torch.int64).numpy()
        table = ScoreTable._of_codes(codes, values.double().numpy(), mass, names)
        return table._but(weighted=mass is not None)
    columns = _unweighted(score, truth) if weight is None else _weighted(score, truth, weight)
    labels = {"classes": names, "groups": None, "weighted": weight is not None}
    return ScoreTable._trusted(scores=columns[0], weights=columns[1], **labels)


@torch.no_grad()
def score_auc(scores: Tensor, y_true: Tensor) -> float:
    """The exact AUC of the scores of two classes; ties count one half.

    It is for fewer than 2³¹ cases without weights. One number leaves the device.

    Parameters
    ----------
    scores : (n,) floats
    y_true : (n,) 0 or 1, or booleans

    Returns
    -------
    float
        The AUC; nan where a class is absent.

    Examples
    --------
    >>> import torch
    >>> score_auc(torch.tensor([0.1, 0.4, 0.35, 0.8]), torch.tensor([0, 0, 1, 1]))
    0.75
    """
    runs = _runs(*_read(scores, y_true))
    doubled, zeros = _doubled_u(runs)
    return _area(doubled, zeros, runs.n_cases - zeros)


@torch.no_grad()
def score_hull(scores: Tensor, y_true: Tensor, *, classes: Labels = (0, 1)) -> ScoreHull:
    """The exact AUC and hull of the scores of two classes; a few kilobytes leave the device.

    It is for fewer than 2³¹ cases without weights.

    Parameters
    ----------
    scores : (n,) floats
    y_true : (n,) 0 or 1, or booleans
    classes : two labels for the table, negative then positive

    Returns
    -------
    ScoreHull
        The AUC, and the segments of the hull as a score table.

    Examples
    --------
    >>> import torch
    >>> hull = score_hull(torch.tensor([0.1, 0.4, 0.35, 0.8]), torch.tensor([0, 0, 1, 1]))
    >>> hull.auc, hull.table.scores.round(2).tolist()
    (0.75, [0.1, 0.4, 0.8])
    """
    names = two_labels(classes)
    score, truth = _read(scores, y_true)
    runs = _runs(score, truth)
    doubled, zeros = _doubled_u(runs)
    n_scores, corners = 0, [torch.zeros((3, 1), dtype=torch.int64, device=score.device)]
    for stops in _stops(runs):
        n_scores += stops.shape[1]
        corners.append(_candidates(torch.cat([corners[-1][:, -1:], stops], dim=1))[:, 1:])
    # The few corners that are left may be vertices; the host finds out which of them are.
    places, cases, ones = _vertices(_candidates(torch.cat(corners, dim=1)).cpu().numpy())
    highest = runs.keys[torch.as_tensor(places[1:], device=score.device)]
    table = ScoreTable._trusted(
        scores=_tensor_floats(highest, score.dtype).cpu().numpy().astype(np.float64),
        weights=np.diff(np.stack([cases - ones, ones], axis=1), axis=0).astype(np.float64),
        classes=names,
        groups=None,
    )
    return ScoreHull(_area(doubled, zeros, runs.n_cases - zeros), table, n_scores)


def _area(doubled_u: int, zeros: int, ones: int) -> float:
    """The AUC from twice the number of correctly ordered pairs."""
    return doubled_u / (2 * zeros * ones) if zeros and ones else float("nan")


def _read(scores: object, y_true: object) -> tuple[Tensor, Tensor]:
    """Scores and labels of at least one case; `_keys` will check the entries."""
    score, truth, _ = read_scores(scores, y_true, None)
    refuse_many("the cases of one sort", len(score), "Use score_bins, or add tables of parts.")
    refuse_none("scores", len(score) > 0)
    return score, truth


def _checked(
    scores: object, y_true: object, weights: object
) -> tuple[Tensor, Tensor, Tensor | None]:
    """Tensors with valid entries only; the check waits for the device, as the sort will."""
    score, truth, weight = read_scores(scores, y_true, weights)
    refuse_many("the cases of one sort", len(score), "Use score_bins, or add tables of parts.")
    refuse_none("scores", len(score) > 0 and (weight is None or bool(weight.any())))
    quick = not score.is_cuda and within(truth, 2) and within(weight, torch.inf)
    if not quick or torch.aminmax(score).min.isnan():
        faults = no_faults(score.device)
        faults[SCORE] += score.isnan().sum()
        faults[LABEL] += ((truth != 0) & (truth != 1)).sum()
        if weight is not None:
            faults[WEIGHT] += (~((weight >= 0) & (weight < torch.inf))).sum()
        refuse(faults)
    if weight is not None:
        refuse_total(weight)
    return score, truth, weight


# Runs of equal keys ------------------------------------------------------------------------------


class _Runs(NamedTuple):
    """Distinct keys (bits << 1) + label, in the order of the scores, and how often each occurs."""

    keys: Tensor
    counts: Tensor
    n_cases: int


def _runs(score: Tensor, truth: Tensor) -> _Runs:
    """Distinct keys and their counts, by one sort; invalid entries are refused before."""
    keys = _keys(score, truth)
    if keys.is_cuda:  # unique is the only sort in torch that does not compute positions as well
        distinct, counts = torch.unique(keys, return_counts=True)
        return _Runs(distinct, counts, len(keys))
    # On a CPU, numpy sorts several times as fast as torch.
    in_order = torch.from_numpy(np.sort(keys.numpy()))
    distinct, counts = torch.unique_consecutive(in_order, return_counts=True)
    return _Runs(distinct, counts, len(keys))


def _keys(score: Tensor, truth: Tensor) -> Tensor:
    """Integers (bits << 1) + label in the order of the scores, with as few bits as possible.

    Bits of scores ≥ 0 and the label fill a word, sign bit included; flipping that bit makes signed
    integers sort like unsigned ones.
    """
    double = score.dtype == torch.float64
    kind = torch.int64 if double else torch.int32
    if score.is_cuda and kernels is not None:
        keys, (bad_scores, bad_labels, negative) = kernels.score_keys(score, truth)
    else:
        raw = score if double else score.float()
        bits = torch.where(raw == 0, 0.0, raw).view(kind)
        keys = (bits << 1).add_(truth).bitwise_xor_(_SIGN[kind])
        unknown = (truth != 0) & (truth != 1)
        bad_scores, bad_labels, negative = torch.stack(
            [score.isnan().sum(), unknown.sum(), (score < 0).sum()]
        ).tolist()
    refuse_entries({SCORE: bad_scores, LABEL: bad_labels})
    if not negative:
        return keys
    if double:
        raise InputError(
            "scores must be zero or more, or single precision, for a hull; doubles of both "
            "signs leave no bit for the label. Pass scores.float(), or use score_table."
        )
    raw = score.float()
    bits = torch.where(raw == 0, 0.0, raw).view(torch.int32)
    # Single precision with both signs needs 33 bits with the label, so keys have 64.
    order = bits ^ ((bits >> 31) & torch.iinfo(torch.int32).max)
    return (order.long() << 1) + truth


def _tensor_floats(keys: Tensor, dtype: torch.dtype) -> Tensor:
    """The scores of keys; the inverse of `_keys`."""
    if dtype == torch.float64:
        return (((keys ^ _SIGN[keys.dtype]) >> 1) & torch.iinfo(torch.int64).max).view(dtype)
    most = torch.iinfo(torch.int32).max
    if keys.dtype == torch.int32:
        return (((keys ^ _SIGN[torch.int32]) >> 1) & most).view(torch.float32)
    order = (keys >> 1).int()
    return (order ^ ((order >> 31) & most)).view(torch.float32)


def _doubled_u(runs: _Runs) -> tuple[int, int]:
    """Twice the number of ordered pairs, ties counting one half, and the number of negatives."""
    if runs.keys.is_cuda and kernels is not None:
        return kernels.doubled_u(runs.keys, runs.counts)
    ones = runs.counts * (runs.keys & 1)
    zeros = runs.counts - ones
    below = torch.cumsum(zeros, dim=0)
    # Negatives with the same score are the run directly before.
    tied = torch.where(runs.keys[1:] >> 1 == runs.keys[:-1] >> 1, ones[1:] * zeros[:-1], 0)
    return int(2 * (ones * below).sum() - tied.sum()), int(below[-1])


def _stops(runs: _Runs) -> Iterator[Tensor]:
    """Yield (3, scores): position of the last key of each score, cases and positives up to it."""
    before = torch.zeros((2, 1), dtype=torch.int64, device=runs.keys.device)
    for start in range(0, len(runs.keys), _BLOCK):
        keys = runs.keys[start : start + _BLOCK]
        counts = runs.counts[start : start + _BLOCK]
        order = runs.keys[start : start + _BLOCK + 1] >> 1
        last = order[1:] != order[:-1]
        if len(last) < len(keys):  # the very last key
            last = torch.cat([last, last.new_ones(1)])
        # A score with both labels has two keys, negatives first; only the last ends it.
        place = torch.nonzero(last).squeeze(1)
        cases = torch.cumsum(counts, dim=0).add_(before[0])
        ones = torch.cumsum(counts * (keys & 1), dim=0).add_(before[1])
        before = torch.stack([cases[-1:], ones[-1:]])
        yield torch.stack([place + start, cases[place], ones[place]])


# The hull ----------------------------------------------------------------------------------------


def _candidates(corners: Tensor) -> Tensor:
    """Those of the sorted corners (3, …) that can be vertices of the hull.

    The hull of a sample of corners lies within the hull of all. A corner that is neither below the
    lines of the sample's hull nor one of its vertices cannot be a vertex. Products of integers
    below 2³¹ are exact in 64 bits.
    """
    while corners.shape[1] > _SMALL:
        step = -(-corners.shape[1] // _SAMPLE)
        sample = torch.cat([corners[:, ::step], corners[:, -1:]], dim=1)
        cases, ones = sample[1:].cpu().numpy()
        at = _hull(cases, ones)
        lines = torch.as_tensor(_lines(cases, ones, at), device=corners.device)
        possible = _below(corners, lines, step)
        possible[
            torch.as_tensor(at * step, device=possible.device).clamp_(max=len(possible) - 1)
        ] = True
        fewer = corners[:, torch.nonzero(possible).squeeze(1)]
        # Another round would cost more than it removes.
        if fewer.shape[1] > 0.9 * corners.shape[1]:
            return fewer
        corners = fewer
    return corners


def _below(corners: Tensor, lines: Tensor, step: int) -> Tensor:
    """Whether each corner lies below the line of its part of the sample, of `step` corners."""
    parts = corners.shape[1] // step
    below = torch.empty(corners.shape[1], dtype=torch.bool, device=corners.device)
    for part, line in (
        (slice(0, parts * step), lines[:, :parts]),
        (slice(parts * step, None), lines[:, parts : parts + 1]),
    ):
        if below[part].numel():
            cases, ones = corners[1:, part].view(2, line.shape[1], -1)
            case, positive, width, height = line[:, :, None]
            out = below[part].view(line.shape[1], -1)
            torch.lt((ones - positive).mul_(width), (cases - case).mul_(height), out=out)
    return below


def _lines(cases: IntArray, ones: IntArray, at: IntArray) -> IntArray:
    """(4, parts): start and direction of the line of the hull over each part of a sample."""
    segment = np.searchsorted(at, np.arange(cases.size - 1), side="right") - 1
    start, end = at[segment], at[segment + 1]
    return np.stack([cases[start], ones[start], cases[end] - cases[start], ones[end] - ones[start]])


def _vertices(corners: IntArray) -> IntArray:
    """The corners that are vertices of the hull."""
    return np.asarray(corners[:, _hull(corners[1], corners[2])])


def _hull(cases: IntArray, ones: IntArray) -> IntArray:
    """Positions of the vertices of the hull of sorted corners.

    A corner that is not below the line through its neighbours is no vertex, whether or not they
    are, so that all such corners can be removed at once. Where few are, `_walked` finishes.
    """
    at = np.arange(cases.size)
    while at.size > 2:
        width, height = np.diff(cases[at]), np.diff(ones[at])
        vertex = np.concatenate([[True], height[:-1] * width[1:] < height[1:] * width[:-1], [True]])
        if vertex.all():
            break
        at = at[vertex] if vertex.sum() < 0.8 * at.size else _walked(at, cases, ones)
    return at


def _walked(at: IntArray, cases: IntArray, ones: IntArray) -> IntArray:
    """The vertices among these positions, by a monotone chain."""
    hull: list[tuple[int, int, int]] = []
    for corner in zip(cases[at].tolist(), ones[at].tolist(), at.tolist(), strict=True):
        while len(hull) > 1:
            (case_0, one_0, _), (case_1, one_1, _) = hull[-2:]
            if (one_1 - one_0) * (corner[0] - case_1) < (corner[1] - one_1) * (case_1 - case_0):
                break  # the share of positives rises
            hull.pop()
        hull.append(corner)
    return np.array([place for _, _, place in hull])


# Tables ------------------------------------------------------------------------------------------


def _unweighted(score: Tensor, truth: Tensor) -> tuple[FloatArray, FloatArray]:
    """Distinct scores, and the numbers of negatives and positives at each."""
    # Keys of doubles with both signs have no room for the label; sort the scores alone.
    if score.dtype == torch.float64 and bool((score < 0).any()):
        return _weighted(score, truth, torch.ones_like(score))
    runs, values, counts, n_scores = _runs(score, truth), [], [], 0
    before = torch.zeros((3, 1), dtype=torch.int64, device=score.device)
    for stops in _stops(runs):
        n_scores += stops.shape[1]
        _refuse_large(n_scores)
        _, cases, ones = torch.cat([before, stops], dim=1).diff(dim=1)
        before = stops[:, -1:] if stops.shape[1] else before
        values.append(_tensor_floats(runs.keys[stops[0]], score.dtype).cpu())
        counts.append(torch.stack([cases - ones, ones]).cpu())
    weights = torch.cat(counts, dim=1).double().numpy().T
    return torch.cat(values).double().numpy(), weights


def _weighted(score: Tensor, truth: Tensor, weight: Tensor) -> tuple[FloatArray, FloatArray]:
    """Distinct scores, and the weights of both classes at each."""
    used = weight > 0
    order, place = torch.sort(order_keys(torch.where(score == 0, 0.0, score)[used].double()))
    new = torch.cat([order.new_zeros(1), (order[1:] != order[:-1]).long()])
    run = torch.cumsum(new, dim=0)
    n_scores = int(run[-1]) + 1
    _refuse_large(n_scores)
    sums = torch.zeros(2 * n_scores, dtype=torch.float64, device=score.device)
    sums.index_add_(0, 2 * run + truth[used][place], weight[used][place].double())
    first = torch.nonzero(torch.cat([new.new_ones(1), new[1:]])).squeeze(1)
    keys = order[first]
    values = (keys ^ ((keys >> 63) & torch.iinfo(torch.int64).max)).view(torch.float64)
    return values.cpu().numpy(), sums.view(-1, 2).cpu().numpy()


def _refuse_large(n_scores: int) -> None:
    if n_scores > _MOST_SCORES:
        raise InputError(
            f"scores must leave a table that fits into memory; there are more than "
            f"{_MOST_SCORES:,} distinct ones. Use score_hull, which is exact too, or score_bins."
        )
