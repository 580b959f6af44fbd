"""Ways to pool the scores of a table into bins; equal scores always share a bin.

Each is a value that says, for every score of a table, in which bin it falls. The bins of
`EachScore` and `HullBins` come from the table itself, those of the others are the caller's choice.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from stakes import _check
from stakes._arithmetic import ratio, running_sum
from stakes._check import FloatArray, IntArray
from stakes._value import Value, record
from stakes.errors import InputError
from stakes.ranking import hull_cuts
from stakes.tally import ScoreTable

_LARGEST = float(np.finfo(np.float64).max)


class Binning(Value, ABC):
    """A rule that assigns every score of a table to a bin.

    Examples
    --------
    >>> class Halves(Binning):
    ...     def numbers(self, table):
    ...         return (table.scores > 0.5).astype(int)
    >>> table = ScoreTable([0.1, 0.4, 0.8], [[3, 1], [2, 2], [1, 3]])
    >>> bin_sums(table, Halves()).weights.tolist()
    [[5.0, 3.0], [1.0, 3.0]]
    """

    follow_classes: ClassVar[bool] = True  # whether bins depend on the classes of the cases

    @abstractmethod
    def numbers(self, table: ScoreTable) -> IntArray:
        """Number of the bin of every score, non-decreasing along the scores: (S,) or (…, S).

        Parameters
        ----------
        table : distinct scores and the weight of each class at them, (…, S, 2)

        Returns
        -------
        the bin of every score, (S,) or (…, S)

        Examples
        --------
        >>> EqualWidth(4).numbers(ScoreTable([0.0, 0.25, 0.3, 1.0], [[1, 1]] * 4))
        array([0, 0, 1, 3])
        """


@record
class EachScore(Binning):
    """Every distinct score is a bin: the segments of the ROC curve.

    Examples
    --------
    >>> from stakes.scoring import refinement_loss
    >>> float(refinement_loss(ScoreTable([0.2, 0.7], [[3, 1], [1, 2]]), EachScore()).round(3))
    0.202
    """

    follow_classes: ClassVar[bool] = False

    def numbers(self, table: ScoreTable) -> IntArray:  # noqa: D102
        _check.require("table", table, ScoreTable)
        return np.arange(table.scores.size)


@record
class HullBins(Binning):
    """The scores of one segment of the ROC hull share a bin: the blocks of isotonic regression.

    Examples
    --------
    >>> from stakes.scoring import refinement_loss
    >>> float(refinement_loss(ScoreTable([0.2, 0.7], [[3, 1], [1, 2]]), HullBins()).round(3))
    0.202
    """

    def numbers(self, table: ScoreTable) -> IntArray:  # noqa: D102
        _check.require("table", table, ScoreTable)
        size = table.scores.size
        numbers = np.empty((*table.weights.shape[:-2], size), dtype=np.intp)
        for place in np.ndindex(numbers.shape[:-1]):
            weights = np.nan_to_num(table.weights[place])  # nan: a prior for an absent class
            starts = hull_cuts(weights)[:-1]
            numbers[place] = np.searchsorted(starts, np.arange(size), side="right") - 1
        return numbers


class CutBins(Binning):
    """Bins between cuts on the scale of the scores, so that new scores can also be assigned.

    Examples
    --------
    A cut belongs to the bin below it:

    >>> class Halves(CutBins):
    ...     def cuts(self, table):
    ...         return np.array([0.5])
    >>> Halves().numbers(ScoreTable([0.1, 0.5, 0.8], [[3, 1], [2, 2], [1, 3]]))
    array([0, 0, 1])
    """

    follow_classes: ClassVar[bool] = False

    @abstractmethod
    def cuts(self, table: ScoreTable) -> FloatArray:
        """Increasing scores at which bins (low, high] end; the outer bins reach to infinity.

        Parameters
        ----------
        table : distinct scores and the weight of each class at them, (S, 2)

        Returns
        -------
        the cuts, increasing

        Examples
        --------
        >>> EqualWidth(4).cuts(ScoreTable([0.2], [[1, 1]]))
        array([0.25, 0.5 , 0.75])
        """

    def numbers(self, table: ScoreTable) -> IntArray:  # noqa: D102
        _check.require("table", table, ScoreTable)
        return np.searchsorted(self.cuts(table), table.scores, side="left")


@record(init=False)
class Edges(CutBins):
    """Bins (low, high] between increasing edges, and one beyond each outer edge.

    Parameters
    ----------
    edges : increasing scores

    Examples
    --------
    >>> Edges([0.2, 0.8]).numbers(ScoreTable([0.1, 0.2, 0.5, 0.9], [[1, 1]] * 4))
    array([0, 0, 1, 2])
    """

    edges: FloatArray

    def __init__(self, edges: npt.ArrayLike) -> None:
        bounds = _check.floats("edges", edges, ndim=1)
        if not (bounds[1:] > bounds[:-1]).all():
            raise InputError("edges must be increasing; these are not. Sort them, without repeats.")
        self._fill({"edges": bounds})

    def cuts(self, table: ScoreTable) -> FloatArray:  # noqa: D102
        return self.edges


@record
class EqualWidth(CutBins):
    """Bins (i/count, (i + 1)/count] of probabilities; the first one also holds 0.

    Parameters
    ----------
    count : how many bins

    Examples
    --------
    >>> EqualWidth(4).numbers(ScoreTable([0.0, 0.25, 0.3, 1.0], [[1, 1]] * 4))
    array([0, 0, 1, 3])
    """

    count: int

    def __post_init__(self) -> None:
        self._fill({"count": _check.whole("count", self.count, low=1)})

    def cuts(self, table: ScoreTable) -> FloatArray:  # noqa: D102
        return np.arange(1, self.count) / self.count


@record
class EqualMass(CutBins):
    """Bins of nearly equal weight: a score goes where the middle of its cases falls.

    Equal scores stay together, so that heavy ties make bins unequal and may leave some empty.

    Parameters
    ----------
    count : how many bins

    Examples
    --------
    >>> EqualMass(2).numbers(ScoreTable([0.1, 0.2, 0.5, 0.9], [[1, 0]] * 4))
    array([0, 0, 1, 1])
    """

    count: int

    def __post_init__(self) -> None:
        self._fill({"count": _check.whole("count", self.count, low=1)})

    def numbers(self, table: ScoreTable) -> IntArray:  # noqa: D102
        _check.require("table", table, ScoreTable)
        mass = table.weights.sum(axis=-1)
        middle = running_sum(mass) - mass / 2
        share = ratio(middle, mass.sum(axis=-1, keepdims=True))
        numbers = np.floor(np.nan_to_num(share) * self.count)
        return np.minimum(numbers, self.count - 1).astype(np.intp)

    def cuts(self, table: ScoreTable) -> FloatArray:
        """Midway between the last score of a bin and the first of the next; one table only.

        Examples
        --------
        >>> EqualMass(2).cuts(ScoreTable([0.1, 0.2, 0.5, 0.9], [[1, 0]] * 4))
        array([0.35])
        """
        last = np.flatnonzero(np.diff(self.numbers(table)))
        low, high = table.scores[last], table.scores[last + 1]
        finite = np.clip(low, -_LARGEST, _LARGEST), np.clip(high, -_LARGEST, _LARGEST)
        # Halved before they are added, so that the sum of two large scores does not overflow.
        middle = finite[0] / 2 + finite[1] / 2
        # Between neighbouring floats the midpoint rounds to one of them; the cut must be the lower.
        return np.where((low <= middle) & (middle < high), middle, low)


class BinTotals(NamedTuple):
    """Weights and mean scores of the bins of a table; empty bins have weight zero and mean nan."""

    numbers: IntArray  # (…, S), the bin of every score
    weights: FloatArray  # (…, B, 2), negatives and positives
    scores: FloatArray  # (…, B), mean score

    @property
    def mass(self) -> FloatArray:
        """Weight of each bin, (…, B)."""
        return np.asarray(self.weights.sum(axis=-1))

    @property
    def shares(self) -> FloatArray:
        """Share of positives in each bin, (…, B)."""
        return ratio(self.weights[..., 1], self.mass)


def bin_sums(table: ScoreTable, bins: Binning) -> BinTotals:
    """Pool a table: weight, mean score and share of positives of each bin.

    Parameters
    ----------
    table : distinct scores and the weight of each class at them, (…, S, 2)
    bins : how scores are pooled

    Returns
    -------
    weight, mean score and share of positives of each bin

    Examples
    --------
    >>> sums = bin_sums(ScoreTable([0.2, 0.3, 0.7], [[3, 0], [1, 1], [0, 2]]), EqualWidth(2))
    >>> sums.shares
    array([0.2, 1. ])
    """
    _check.require("table", table, ScoreTable)
    _check.require("bins", bins, Binning)
    leading = table.weights.shape[:-2]
    numbers = np.broadcast_to(bins.numbers(table), (*leading, table.scores.size))
    size = int(numbers.max(initial=0)) + 1
    replicates = int(np.prod(leading))
    place = (np.arange(replicates)[:, None] * size + numbers.reshape(replicates, -1)).ravel()
    columns = [table.weights[..., 0], table.weights[..., 1], table.weights.sum(-1) * table.scores]
    sums = np.stack(
        [np.bincount(place, column.ravel(), minlength=replicates * size) for column in columns],
        axis=-1,
        dtype=np.float64,
    ).reshape(*leading, size, 3)
    weights = sums[..., :2]
    return BinTotals(numbers, weights, ratio(sums[..., 2], weights.sum(axis=-1)))
