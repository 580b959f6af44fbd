"""ScoreTable: for each distinct score, the weight of each of two classes."""

from __future__ import annotations

from functools import cached_property
from typing import Any, Self

import numpy as np

from stakes import _check
from stakes._check import FloatArray, IntArray, Label, Labels
from stakes._value import record
from stakes.errors import InputError
from stakes.tally.base import CellTally, leading_index
from stakes.tally.counts import Counts
from stakes.tally.distinct_scores import pooled
from stakes.tally.read_rows import Rows, read_rows


@record(repr=False, init=False)
class ScoreTable(CellTally):
    """For each distinct score, the weight of the negative and of the positive class.

    Higher scores favour the positive class, which is the second; the positive decision is taken
    when score > threshold. All measures of binary scores are functions of this table.

    Parameters
    ----------
    scores : array_like of shape (S,)
        Distinct real numbers or infinities, in increasing order.
    weights : array_like of shape (…, S, 2)
        Weight of the negatives and of the positives that have this score.
    classes : two labels, optional

    Examples
    --------
    >>> table = ScoreTable.from_scores([0, 0, 1, 1], [0.1, 0.4, 0.4, 0.8])
    >>> table
    ScoreTable of 4 cases, 2 positive, 3 distinct scores from 0.1 to 0.8
    >>> table.weights
    array([[1., 0.],
           [1., 1.],
           [0., 1.]])
    """

    scores: FloatArray
    weights: FloatArray
    classes: Labels | None
    groups: Labels | None
    weighted: bool = False

    def __init__(self, scores: object, weights: object, *, classes: object = None) -> None:
        score = _check.real_scores("scores", scores)
        weight = _checked_weights(weights, score.size)
        if not (score[1:] > score[:-1]).all():
            raise InputError(
                "scores must be distinct and increasing; these are not. "
                "ScoreTable.from_scores sorts and pools the scores of single cases."
            )
        names = None if classes is None else _check.labels("classes", classes)
        if names is not None and len(names) != 2:
            raise InputError(
                f"classes must be two labels; got {len(names)}. Name the negative one first."
            )
        self._fill(
            {
                "scores": score,
                "weights": weight,
                "classes": names,
                "groups": None,
                "weighted": False,
            }
        )

    @classmethod
    def from_scores(
        cls,
        y_true: object,
        scores: object,
        *,
        positive: Label | None = None,
        weights: object = None,
        by: object = None,
        clusters: object = None,
        copies: object = None,
    ) -> Self:
        """Sort the scores of single cases and pool equal ones.

        Parameters
        ----------
        y_true : true class of every case, (n,)
        scores : score of every case, (n,)
        positive : label of the positive class; may be left out for labels 0/1 and booleans
        weights : sampling weight of each case, (n,); None counts each once
        by : labels of slices, one per case; the table gets a leading axis of slices
        clusters : labels, one per case, of what was sampled together; also a leading axis
        copies : how often each case occurred, whole numbers; None: once

        Returns
        -------
        the table, with a leading axis of slices or clusters where there are any

        Examples
        --------
        >>> ScoreTable.from_scores([0, 0, 1, 1], [0.2, 0.6, 0.6, 0.9]).weights.tolist()
        [[1.0, 0.0], [1.0, 1.0], [0.0, 1.0]]
        """
        _check.aligned(
            y_true=y_true, scores=scores, weights=weights, copies=copies, by=by, clusters=clusters
        )
        names, truth = two_classes(y_true, positive)
        score = _check.real_scores("scores", scores, borrowed=True)
        columns = {"y_true": truth, "scores": score}
        rows = read_rows(columns, weights, by, clusters, copies=copies)
        distinct, weight = pooled(rows)
        return cls._trusted(
            scores=distinct,
            weights=weight,
            classes=names,
            groups=rows.groups,
            weighted=rows.weighted,
        )

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        *,
        y_true: str,
        scores: str,
        positive: Label | None = None,
        weights: str | None = None,
        by: str | None = None,
        bins: Any = None,
    ) -> ScoreTable:
        """Pool the scores in a column of a frame, in the engine that holds the frame.

        Parameters
        ----------
        frame : a frame of pandas, Polars (eager or lazy), PyArrow, Dask or Spark, a data set of
            PyArrow, a DuckDB relation, or the path of a file, a glob, or a list of paths
        y_true, scores : the columns of the true classes, which match by text, and of the scores;
            what is missing, or nan, is counted and refused
        positive : label of the positive class; may be left out for labels 0/1 and booleans
        weights : the column of the weights
        by : a column of groups, which are the leading axis; rows without a group are the last one
        bins : a `tally.BitGrid` in whose bins the engine pools the scores, each bin with its mean
            score; None keeps every distinct score, of which there may be as many as rows

        Returns
        -------
        the table, with a leading axis where ``by`` is stated

        Examples
        --------
        >>> import duckdb
        >>> rows = duckdb.sql("SELECT * FROM (VALUES (0, 0.1), (0, 0.4), (1, 0.4)) AS t(label, p)")
        >>> ScoreTable.from_frame(rows, y_true="label", scores="p").weights
        array([[1., 0.],
               [1., 1.]])
        """
        from stakes.adapters.frame_tallies import frame_scores

        return frame_scores(frame, y_true, scores, positive, weights, by, bins)

    @classmethod
    def _of_codes(
        cls, codes: IntArray, scores: FloatArray, weights: FloatArray | None, classes: Labels
    ) -> Self:
        """The table of cases that were checked before; codes are 1 for each positive case."""
        weighted = None if weights is None or weights.all() else weights > 0
        if weights is not None and weighted is not None:
            codes, scores, weights = codes[weighted], scores[weighted], weights[weighted]
        distinct, weight = pooled(Rows((codes, scores), weights, None, None))
        return cls._trusted(scores=distinct, weights=weight, classes=classes, groups=None)

    @cached_property
    def class_weights(self) -> FloatArray:  # noqa: D102
        # One class at a time: numpy adds up pairs of sums along the last axis alone.
        totals = np.stack([self.weights[..., k].sum(axis=-1) for k in (0, 1)], axis=-1)
        totals.setflags(write=False)  # because all who ask share it
        return totals

    @property
    def cell_weights(self) -> FloatArray:
        """The weight of every cell, of shape (…, 2 S), class after class."""
        return np.swapaxes(self.weights, -1, -2).reshape(*self.weights.shape[:-2], -1)

    @property
    def cell_classes(self) -> IntArray:  # noqa: D102
        return np.repeat(np.arange(2), self.scores.size)

    @property
    def weights_shape(self) -> tuple[int, ...]:  # noqa: D102
        return self.weights.shape

    def with_cell_weights(self, weights: FloatArray) -> Self:  # noqa: D102
        _check.shapes(f"… {2 * self.scores.size}", weights=weights)
        columns = weights.reshape(*weights.shape[:-1], 2, self.scores.size)
        return self._with(np.swapaxes(columns, -1, -2))

    @property
    def leading(self) -> tuple[int, ...]:  # noqa: D102
        return self.weights.shape[:-2]

    @property
    def thresholds(self) -> FloatArray:
        """Thresholds of the S + 1 ways to cut the scores: -inf (all positive), then each score.

        The lowest finite number separates a score of -inf from the others, so that a threshold of
        -inf always means the positive decision for all cases.
        """
        thresholds = np.empty(self.scores.size + 1)
        thresholds[0] = -np.inf
        np.maximum(self.scores, np.finfo(np.float64).min, out=thresholds[1:])
        return thresholds

    def counts(self) -> Counts:
        """The decisions at every threshold, as counts of shape (…, S + 1, 2, 2).

        Cut j takes the positive decision for ``scores[j:]``: all cases at j = 0, none at j = S.

        Returns
        -------
        counts, (…, S + 1, 2, 2)

        Examples
        --------
        >>> ScoreTable([0.2, 0.7], [[3, 1], [0, 2]]).counts().values[1]
        array([[3., 0.],
               [1., 2.]])
        """
        shape = (*self.weights.shape[:-2], self.scores.size + 1, 2, 2)
        values = np.zeros(shape)
        np.cumsum(self.weights, axis=-2, out=values[..., 1:, :, 0])
        # Summed from above, not as the total minus what lies below: small weights at the top would
        # lose precision in the difference.
        values[..., :-1, :, 1] = np.cumsum(self.weights[..., ::-1, :], axis=-2)[..., ::-1, :]
        return Counts._trusted(
            values=values,
            classes=self.classes,
            decisions=None,
            groups=self.groups,
            weighted=self.weighted,
        )

    def _times(self, factors: FloatArray) -> Self:
        with np.errstate(invalid="ignore"):
            return self._with(self.weights * factors[..., None, :])

    def with_weights(self, weights: object) -> Self:
        """The same scores with other weights of shape (…, S, 2), such as replicates.

        Parameters
        ----------
        weights : new weights, (…, S, 2)

        Returns
        -------
        the table with them

        Examples
        --------
        >>> ScoreTable([0.2, 0.7], [[3, 1], [0, 2]]).with_weights([[1, 1], [1, 1]])
        ScoreTable of 4 cases, 2 positive, 2 distinct scores from 0.2 to 0.7
        """
        return self._with(_checked_weights(weights, self.scores.size))

    def _with(self, weights: FloatArray) -> Self:
        """The same scores with weights that need no check."""
        groups = self.groups if weights.shape == self.weights.shape else None
        return self._but(weights=weights.view(), groups=groups)

    def binned(self, edges: object) -> Self:
        """Pool the scores between edges; each bin (low, high] has the mean score of its cases.

        Decisions at a threshold that is an edge do not change. Scores beyond the outer edges form
        two more bins; empty bins are left out.

        Parameters
        ----------
        edges : increasing scores at which bins end

        Returns
        -------
        a shorter table

        Examples
        --------
        >>> ScoreTable([0.1, 0.3, 0.8], [[3, 0], [1, 2], [0, 4]]).binned([0.5]).scores
        array([0.2, 0.8])
        """
        bounds = _check.real_scores("edges", edges)
        if not (bounds[1:] > bounds[:-1]).all():
            raise InputError("edges must be increasing; these are not. Sort them, without repeats.")
        _check.no_leading_axes("table", self.leading, where="to be binned")
        if not self.weights.any():
            raise InputError("table must hold cases to be binned; all its weights are zero.")
        occupied = self.weights.any(axis=-1)
        scores, weights = self.scores, self.weights
        if not occupied.all():
            scores, weights = scores[occupied], weights[occupied]
        return self._pooled(scores, weights, np.searchsorted(scores, bounds, side="right"))

    def _pooled(self, scores: FloatArray, weights: FloatArray, cuts: IntArray) -> Self:
        """Pool the runs of scores, all of which have cases, that begin at the cuts."""
        starts = np.unique(np.concatenate([[0], cuts[cuts < scores.size]]))
        pooled = np.stack([np.add.reduceat(column, starts) for column in weights.T], axis=1)
        with np.errstate(invalid="ignore"):  # −inf + inf, in a bin that holds both
            sums = np.add.reduceat(scores * weights.sum(axis=1), starts)
            means = sums / pooled.sum(axis=1)
        # Where a bin holds both infinities, its mean may be any number.
        means = np.where(np.isnan(means), 0.0, means)
        stops = np.concatenate([starts[1:], [scores.size]]) - 1
        means = np.clip(means, scores[starts], scores[stops])  # rounding must not leave the bin
        return self._but(scores=means, weights=pooled, groups=None)

    def _at(self, scores: FloatArray) -> Self:
        """The table at other scores, one for each of its own; equal ones are pooled."""
        distinct, where = np.unique(scores, return_inverse=True)
        weights = np.zeros((distinct.size, 2))
        np.add.at(weights, where.reshape(-1), self.weights)
        return type(self)(distinct, weights, classes=self.classes)

    def __add__(self, other: Self) -> Self:
        """Tallies of two sets of cases as the tally of all, over the union of their scores."""
        if not isinstance(other, ScoreTable):
            return NotImplemented
        shared = self._shared(other, "classes")
        scores = np.union1d(self.scores, other.scores)
        weights = np.zeros((*self.leading, scores.size, 2))
        weights[..., np.searchsorted(scores, self.scores), :] += self.weights
        weights[..., np.searchsorted(scores, other.scores), :] += other.weights
        return self._trusted(scores=scores, weights=weights, **shared)

    def __getitem__(self, index: Any) -> Self:
        """Index the leading axes; scores and classes stay."""
        chosen = self._with(leading_index(self.weights, 2, index))
        return chosen._but(groups=None)

    def __repr__(self) -> str:
        span = f"{self.scores.size} distinct scores from {self.scores[0]:g} to {self.scores[-1]:g}"
        if self.weights.ndim > 2:
            return f"ScoreTable of shape {self.weights.shape[:-2]}, {span}"
        positives = self.weights[:, 1].sum()
        return f"ScoreTable of {self.n_cases:.7g} cases, {positives:.7g} positive, {span}"


def _checked_weights(weights: object, size: int) -> FloatArray:
    """Weights of both classes at each score."""
    weight = _check.masses("weights", weights)
    if weight.ndim < 2 or weight.shape[-2:] != (size, 2) or size == 0:
        raise InputError(
            f"weights must have shape (…, {size}, 2), one row for each score and one column for "
            f"each class; the shape is {weight.shape}. The positive class is second."
        )
    return weight


def two_classes(y_true: object, positive: Label | None) -> tuple[Labels | None, IntArray]:
    """The labels (negative, positive) and 1 for each positive case.

    Parameters
    ----------
    y_true : true class of every case, (n,)
    positive : label of the positive class

    Returns
    -------
    labels, or None for 0/1, and 1 for each positive case, (n,)

    Examples
    --------
    >>> two_classes(["no", "yes", "yes"], "yes")
    (('no', 'yes'), array([0, 1, 1]))
    """
    labels = _check.distinct("y_true", y_true)
    if positive is None:
        if not set(labels) <= {0, 1}:
            raise InputError(
                f"positive must be stated unless the labels are 0/1 or booleans; y_true holds "
                f"{', '.join(map(repr, labels[:4]))}. Pass positive=<label of the positive class>."
            )
        return (0, 1), _check.codes("y_true", y_true, (0, 1))
    (positive,) = _check.labels("positive", [positive])
    negatives = tuple(label for label in labels if label != positive)
    if len(negatives) > 1 or (len(negatives) == len(labels) and len(labels) > 1):
        raise InputError(
            f"y_true must hold two labels, one of them positive={positive!r}; it holds "
            f"{', '.join(map(repr, labels[:4]))}{', …' * (len(labels) > 4)}. "
            f"For one class against the rest, pass y_true == {positive!r}."
        )
    names = (*negatives, positive)
    shift = 2 - len(names)  # without negatives, the positives still have to be the second class
    codes = _check.codes("y_true", y_true, names) + shift
    return (names if len(names) == 2 else None), codes.astype(np.intp)
