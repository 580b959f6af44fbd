"""JointScores: the scores of several models on the same cases, for paired comparisons of ranks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np

from stakes import _check
from stakes._check import FloatArray, IntArray, Label, Labels
from stakes._value import record
from stakes.errors import InputError
from stakes.tally.base import JointTally
from stakes.tally.read_rows import distinct_cells, packed, read_rows
from stakes.tally.score_table import ScoreTable, two_classes


@record(repr=False)
class JointScores(JointTally):
    """The distinct tuples (class, score of model 1, … , score of model J) and their weights.

    This is for scores what `JointCounts` is for decisions. It is made by `from_scores`; two
    continuous scores leave as many tuples as cases.

    Attributes
    ----------
    cells : (T, 1 + J) the class, 0 or 1, and the position of each model's score in its `scores`
    weights : (…, T)
    scores : for each model its distinct scores (S_j,) in increasing order
    models : J names
    groups : labels of the first leading axis, when made with by=, else None
    clusters : (T,) number of the cluster that the cases of each tuple belong to, or None

    Examples
    --------
    >>> joint = JointScores.from_scores([0, 0, 1, 1], {"a": [1, 2, 2, 3], "b": [5, 6, 8, 7]})
    >>> joint
    JointScores of 4 cases, models a, b, 4 distinct tuples
    >>> joint.table("a")
    ScoreTable of 4 cases, 2 positive, 3 distinct scores from 1 to 3
    """

    cells: IntArray
    weights: FloatArray
    scores: tuple[FloatArray, ...]
    models: Labels
    classes: Labels | None
    groups: Labels | None
    clusters: IntArray | None
    weighted: bool = False

    @classmethod
    def from_scores(
        cls,
        y_true: object,
        scores: Mapping[Any, object],
        *,
        positive: Label | None = None,
        weights: object = None,
        by: object = None,
        clusters: object = None,
        copies: object = None,
    ) -> Self:
        """Tally the scores of several models on the same cases.

        With `by`, the tally gets a leading axis of slices. With `clusters`, the cluster is part of
        the tuple, so that the size of the tally does not grow with the number of clusters;
        functions that assume independent cases refuse such scores.

        Parameters
        ----------
        y_true : true class of every case, (n,)
        scores : model → score of every case, (n,)
        positive : label of the positive class; may be left out for labels 0/1 and booleans
        weights : sampling weight of each case; None counts each once
        by : labels, one per case, of slices
        clusters : labels, one per case, of what was sampled together
        copies : how often each case occurred, whole numbers; None: once

        Returns
        -------
        the joint scores

        Examples
        --------
        >>> scores = {"a": [1, 2, 2, 3], "b": [5, 6, 8, 7]}
        >>> JointScores.from_scores(["no", "no", "yes", "yes"], scores, positive="yes")
        JointScores of 4 cases, models a, b, 4 distinct tuples
        """
        models, values = _columns(scores)
        named = {f"scores[{model!r}]": column for model, column in scores.items()}
        _check.aligned(
            y_true=y_true, **named, weights=weights, copies=copies, by=by, clusters=clusters
        )
        names, truth = two_classes(y_true, positive)
        columns: dict[str, Any] = {"y_true": truth}
        columns |= {f"scores[{model!r}]": v for model, v in zip(models, values, strict=True)}
        if clusters is not None:
            columns["clusters"] = _check.clusters(clusters).codes
        rows = read_rows(columns, weights, by, copies=copies)
        # Adding zero turns −0.0 into 0.0, so that equal scores have the same bits.
        parts = [np.unique(column + 0, return_inverse=True) for column in rows.columns]
        codes = (rows.columns[0], *(position.reshape(-1) for _, position in parts[1:]))
        cells, sums = distinct_cells(
            rows._replace(columns=codes), (2, *(distinct.size for distinct, _ in parts[1:]))
        )
        return cls._trusted(
            cells=cells[:, : 1 + len(models)],
            weights=sums,
            scores=tuple(_check.frozen(distinct) for distinct, _ in parts[1 : 1 + len(models)]),
            models=models,
            classes=names,
            groups=rows.groups,
            weighted=rows.weighted,
            clusters=None if clusters is None else cells[:, -1],
        )

    @property
    def class_weights(self) -> FloatArray:  # noqa: D102
        return np.stack(
            [self.weights[..., self.cells[:, 0] == k].sum(axis=-1) for k in (0, 1)], axis=-1
        )

    @property
    def has_clusters(self) -> bool:  # noqa: D102
        return self.names_clusters

    @property
    def names_clusters(self) -> bool:  # noqa: D102
        return self.clusters is not None

    @property
    def n_clusters(self) -> int:
        """How many clusters there are: named beside the tuples, or along the first axis."""
        return super().n_clusters if self.clusters is None else int(self.clusters.max()) + 1

    def sum_clusters(self, times: FloatArray) -> Self:  # noqa: D102
        if self.clusters is None:
            return super().sum_clusters(times)
        # The cluster is part of the cell here, so that weights are multiplied, not summed.
        factors = times[:, self.clusters].reshape(len(times), *(1,) * (self.weights.ndim - 1), -1)
        return self.with_cell_weights(factors * self.weights)

    def table(self, name: object) -> ScoreTable:
        """The score table of one model, with the leading axes of the weights.

        Parameters
        ----------
        name : name of the model

        Returns
        -------
        its table, (…, S, 2)

        Examples
        --------
        >>> joint = JointScores.from_scores([0, 0, 1, 1], {"a": [1, 2, 2, 3], "b": [5, 6, 8, 7]})
        >>> joint.table("b").scores
        array([5., 6., 7., 8.])
        """
        _check.one_of("name", name, self.models, "models")
        column = self.models.index(name)
        size = self.scores[column].size
        cell = self.cells[:, 0] * size + self.cells[:, 1 + column]  # each class in one piece
        flat = self.weights.reshape(-1, len(cell))
        sums = np.stack([np.bincount(cell, weights=row, minlength=2 * size) for row in flat])
        classes = sums.reshape(*self.weights.shape[:-1], 2, size)
        return ScoreTable._trusted(
            scores=self.scores[column],
            weights=np.swapaxes(classes, -1, -2),
            classes=self.classes,
            groups=self.groups,
            weighted=self.weighted,
        )

    def by_model(self) -> dict[Label, ScoreTable]:  # noqa: D102
        return {name: self.table(name) for name in self.models}

    def __add__(self, other: Self) -> Self:
        """Tallies of two sets of cases as the tally of all; those with clusters cannot be added.

        >>> rows = JointScores.from_scores([0, 1, 1], {"a": [1, 2, 3], "b": [5, 6, 8]})
        >>> rows + JointScores.from_scores([1, 0], {"a": [2, 7], "b": [6, 4]})
        JointScores of 5 cases, models a, b, 4 distinct tuples
        """
        if not isinstance(other, JointScores):
            return NotImplemented
        shared = self._shared(other, "models", "classes")
        if self.clusters is not None or other.clusters is not None:
            raise InputError(
                "JointScores that name clusters cannot be added: clusters are numbered within one "
                "tally. Read all rows at once."
            )
        # Positions refer to the scores of each tally; in the sum they refer to the common scores.
        scores = tuple(map(np.union1d, self.scores, other.scores))
        cells = np.concatenate([_recoded(tally, scores) for tally in (self, other)])
        weights = np.concatenate([self.weights, other.weights], axis=-1)
        # One integer per tuple: sorting integers is much faster than sorting rows.
        code = packed(list(cells.T), (2, *(column.size for column in scores)))
        order = np.argsort(code, kind="stable")
        starts = np.flatnonzero(np.diff(code[order], prepend=-1))
        return self._trusted(
            cells=cells[order][starts],
            weights=np.add.reduceat(weights[..., order], starts, axis=-1),
            scores=tuple(_check.frozen(column) for column in scores),
            clusters=None,
            **shared,
        )


def _columns(scores: object) -> tuple[Labels, list[FloatArray]]:
    """The models and the scores of each."""
    if not isinstance(scores, Mapping) or not scores:
        raise InputError(
            "scores must be a mapping from model to scores, with at least one model. "
            "Use ScoreTable.from_scores for a single array."
        )
    models = _check.labels("the models", scores)
    return models, [
        _check.real_scores(f"scores[{model!r}]", column)
        for model, column in zip(models, scores.values(), strict=True)
    ]


def _recoded(tally: JointScores, scores: tuple[FloatArray, ...]) -> IntArray:
    """The cells of a tally, with positions among a larger set of scores."""
    columns = [
        np.searchsorted(known, present)[tally.cells[:, 1 + j]]
        for j, (known, present) in enumerate(zip(scores, tally.scores, strict=True))
    ]
    return np.stack([tally.cells[:, 0], *columns], axis=1).astype(np.intp)
