"""JointCounts: what several models decided about the same cases."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from stakes import _check
from stakes._check import BoolArray, FloatArray, IntArray, Label, Labels
from stakes._value import record
from stakes.errors import InputError
from stakes.tally.base import JointTally, class_factors
from stakes.tally.counts import Counts
from stakes.tally.read_rows import Labelled, distinct_cells, read_rows

_FEW_ROWS = 16  # up to this many tables, adding row by row is faster than a matrix product


@record(repr=False, init=False)
class JointCounts(JointTally):
    """The distinct tuples (class, decision of model 1, … , decision of model J) and their weights.

    This is the tally for paired comparisons: differences between models on the same cases are sums
    over it. It is made by `from_decisions`; tuples that were counted elsewhere may be passed in any
    order, and repeated ones are added up.

    Attributes
    ----------
    cells : (T, 1 + J) positions of the class and of each model's decision, in lexical order
    weights : (…, T)
    models : J names
    groups : labels of the first leading axis, when made with by=, else None

    Examples
    --------
    >>> from stakes import Problem
    >>> joint = JointCounts.from_decisions(
    ...     [0, 0, 1, 1], {"old": [0, 1, 1, 0], "new": [0, 0, 1, 0]}, Problem.zero_one(2))
    >>> joint
    JointCounts of 4 cases, models old, new, 4 distinct tuples
    >>> joint.model("old").values
    array([[1., 1.],
           [1., 1.]])
    """

    cells: IntArray
    weights: FloatArray
    models: Labels
    classes: Labels
    decisions: Labels
    groups: Labels | None
    weighted: bool = False

    def __init__(
        self,
        cells: npt.ArrayLike,
        weights: npt.ArrayLike,
        models: object,
        classes: object,
        decisions: object,
        groups: object = None,
    ) -> None:
        names = {
            name: _check.labels(name, values)
            for name, values in (("models", models), ("classes", classes), ("decisions", decisions))
        }
        tuples = _checked_cells(cells, *names.values())
        checked = _check.masses("weights", weights)
        if checked.ndim == 0 or checked.shape[-1] != len(tuples):
            raise InputError(
                f"weights must have shape (…, {len(tuples)}), one for each tuple of cells; the "
                f"shape is {checked.shape}. JointCounts.from_decisions counts rows."
            )
        labels = None if groups is None else _check.labels("groups", groups)
        if labels is not None and checked.shape[:-1][:1] != (len(labels),):
            raise InputError(
                f"groups must name the first leading axis of weights; there are {len(labels)} "
                f"labels, and the leading axes are {checked.shape[:-1]}. Name as many groups."
            )
        # Tuples that were counted in several places may be repeated; a tally has each only once.
        distinct, where = np.unique(tuples, axis=0, return_inverse=True)
        sums = np.zeros((len(distinct), *checked.shape[:-1]))
        np.add.at(sums, where.reshape(-1), np.moveaxis(checked, -1, 0))
        weights = np.ascontiguousarray(np.moveaxis(sums, 0, -1))
        parts = {"cells": distinct, "weights": weights, **names, "groups": labels}
        self._fill({**parts, "weighted": False})

    @classmethod
    def from_decisions(
        cls,
        y_true: object,
        decided: Mapping[Any, object],
        problem: Labelled,
        *,
        weights: object = None,
        by: object = None,
        clusters: object = None,
        copies: object = None,
    ) -> Self:
        """Count the joint decisions of all models.

        With `by` or `clusters`, the tally gets a leading axis of slices or clusters.

        Parameters
        ----------
        y_true : true class of every case, (n,)
        decided : model → decision about every case, (n,)
        problem : names the classes and decisions
        weights : sampling weight of each case; None counts each once
        by : labels, one per case, of slices
        clusters : labels, one per case, of what was sampled together
        copies : how often each case occurred, whole numbers; None: once

        Returns
        -------
        the joint counts

        Examples
        --------
        >>> from stakes.problem import Problem
        >>> decided = {"old": [0, 1, 0, 1], "new": [0, 0, 1, 1]}
        >>> joint = JointCounts.from_decisions([0, 0, 1, 1], decided, Problem.zero_one(2))
        >>> joint.model("new").values.tolist()
        [[2.0, 0.0], [0.0, 2.0]]
        """
        _check.require("problem", problem, Labelled)
        if not isinstance(decided, Mapping) or not decided:
            raise InputError(
                "decided must be a mapping from model to decisions, with at least one model. "
                "Use Counts.from_decisions for a single array."
            )
        models = _check.labels("the models", decided)
        named = {f"decided[{model!r}]": column for model, column in decided.items()}
        _check.aligned(
            y_true=y_true, **named, weights=weights, copies=copies, by=by, clusters=clusters
        )
        classes, decisions = problem.classes, problem.decisions
        truth = _check.truths("y_true", y_true, classes, decisions)
        columns: dict[str, Any] = {"y_true": truth}
        for name, labels in named.items():
            columns[name] = _check.decisions(name, labels, decisions, classes)
        return cls._of_codes(columns, models, problem, weights, by, clusters, copies=copies)

    @classmethod
    def _of_codes(
        cls,
        columns: dict[str, Any],
        models: Labels,
        problem: Labelled,
        weights: object,
        by: object = None,
        clusters: object = None,
        *,
        copies: object = None,
        squared: bool = False,
    ) -> Self:
        """Count codes of the class and of each model's decision; they are not checked again.

        With `squared` the cells are the same, and hold sums of squared weights.
        """
        rows = read_rows(columns, weights, by, clusters, copies=copies)
        if squared and rows.weights is not None:
            rows = rows._replace(weights=rows.weights**2)
        sizes = (len(problem.classes), *(len(problem.decisions) for _ in models))
        cells, sums = distinct_cells(rows, sizes)
        return cls._trusted(
            cells=cells,
            weights=sums,
            models=models,
            classes=problem.classes,
            decisions=problem.decisions,
            groups=rows.groups,
            weighted=rows.weighted,
        )

    @classmethod
    def _of_cells(
        cls, cells: IntArray, weights: FloatArray, models: Labels, problem: Labelled
    ) -> Self:
        """The tally of cells that are distinct and in order, and need no check."""
        labels = {"classes": problem.classes, "decisions": problem.decisions}
        return cls._trusted(cells=cells, weights=weights, models=models, **labels, groups=None)

    @property
    def class_weights(self) -> FloatArray:  # noqa: D102
        return self._sums_over(self.cells[:, 0], (len(self.classes),))

    def model(self, name: object) -> Counts:
        """The counts of one model.

        Parameters
        ----------
        name : name of the model

        Returns
        -------
        its counts, (…, K, M)

        Examples
        --------
        >>> from stakes import Problem
        >>> decided = {"old": [0, 1, 1, 0], "new": [0, 0, 1, 0]}
        >>> JointCounts.from_decisions([0, 0, 1, 1], decided, Problem.zero_one(2)).model("new")
        Counts of 4 cases
           0  1
        0  2  0
        1  1  1
        """
        _check.one_of("name", name, self.models, "models")
        column = 1 + self.models.index(name)
        shape = (len(self.classes), len(self.decisions))
        cell = self.cells[:, 0] * shape[1] + self.cells[:, column]
        return Counts._trusted(
            values=self._sums_over(cell, shape),
            classes=self.classes,
            decisions=self.decisions,
            groups=self.groups,
            weighted=self.weighted,
        )

    def by_model(self) -> dict[Label, Counts]:  # noqa: D102
        return {name: self.model(name) for name in self.models}

    def with_prior(self, prior: object) -> Self:
        """Reweight the classes to these shares; the total weight stays the same.

        A class of positive prior without cases becomes nan.
        """
        shares = _check.prior("prior", prior, self.classes)
        complete = self._with_all_classes(shares > 0)
        return complete._times(class_factors(shares, complete.class_weights))

    def _with_all_classes(self, expected: BoolArray) -> Self:
        """The same tally with a tuple of weight zero for each expected class that has none."""
        absent = np.setdiff1d(np.flatnonzero(expected), self.cells[:, 0])
        if not absent.size:
            return self
        new = np.zeros((absent.size, self.cells.shape[1]), dtype=np.intp)
        new[:, 0] = absent
        cells = np.concatenate([self.cells, new])
        nothing = np.zeros((*self.weights.shape[:-1], absent.size))
        weights = np.concatenate([self.weights, nothing], axis=-1)
        order = np.lexsort(cells.T[::-1])
        return self._but(cells=cells[order], weights=weights[..., order])

    def __add__(self, other: Self) -> Self:
        """Tallies of two sets of cases as the tally of all."""
        if not isinstance(other, JointCounts):
            return NotImplemented
        shared = self._shared(other, "models", "classes", "decisions")
        cells, where = np.unique(
            np.concatenate([self.cells, other.cells]), axis=0, return_inverse=True
        )
        where = where.reshape(-1)
        split = len(self.cells)
        weights = np.zeros((*self.leading, len(cells)))
        weights[..., where[:split]] += self.weights
        weights[..., where[split:]] += other.weights
        return self._trusted(cells=cells, weights=weights, **shared)

    def _sums_over(self, cell: IntArray, shape: tuple[int, ...]) -> FloatArray:
        """Sum the tuples into cells, for all leading axes at once."""
        leading, size = self.weights.shape[:-1], prod(shape)
        if prod(leading) <= _FEW_ROWS:
            rows = self.weights.reshape(prod(leading), len(cell))
            each = [np.bincount(cell, row, size) for row in rows]
            return np.array(each, dtype=np.float64).reshape(*leading, *shape)
        indicator = np.zeros((len(cell), size))
        indicator[np.arange(len(cell)), cell] = 1.0
        unknown = np.isnan(self.weights)
        # In a matrix product, nan in one class would make all classes nan: 0 times nan is nan.
        if unknown.any():
            sums = np.where(unknown, 0.0, self.weights) @ indicator
            sums = np.where(unknown @ indicator > 0, np.nan, sums)
        else:
            sums = self.weights @ indicator
        return np.asarray(sums.reshape(*leading, *shape))


def _checked_cells(
    cells: npt.ArrayLike, models: Labels, classes: Labels, decisions: Labels
) -> IntArray:
    """Tuples of positions: of the class, then of each model's decision."""
    rows = _check.floats("cells", cells, ndim=2)
    if rows.shape[1] != 1 + len(models) or not len(rows):
        raise InputError(
            f"cells must have shape (T, {1 + len(models)}), the class and the decision of each "
            f"model; the shape is {rows.shape}. JointCounts.from_decisions makes them of rows."
        )
    most = np.array([len(classes), *(len(decisions) for _ in models)])
    bad = np.argwhere(~((rows >= 0) & (rows < most) & (rows == np.floor(rows))))
    if len(bad):
        row, column = bad[0].tolist()
        raise InputError(
            f"cells must hold positions, whole numbers from 0, below {most[0]} for the class and "
            f"{most[1]} for decisions; that of tuple {row}, column {column} is "
            f"{rows[row, column]:g}. from_decisions takes labels."
        )
    return rows.astype(np.intp)
