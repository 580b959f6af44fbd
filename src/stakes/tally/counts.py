"""Counts and JointCounts: how often each decision was taken in each class."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from stakes import _check
from stakes._check import BoolArray, FloatArray, IntArray, Label, Labels
from stakes._text import html_table, text_table
from stakes._value import record
from stakes.errors import InputError
from stakes.tally.base import (
    Answering,
    CellTally,
    JointTally,
    Labelled,
    Rows,
    class_factors,
    distinct_cells,
    pair_sums,
    read_rows,
)

# Counts: how often each decision was taken in each class -----------------------------------------


@record(repr=False, init=False)
class Counts(CellTally):
    """How often each decision was taken in each class: rows are classes, columns are decisions.

    Parameters
    ----------
    values : array_like of shape (…, K, M)
        Weights that are zero or more. Leading axes are free: groups, replicates, thresholds.
    classes, decisions : sequence of labels, optional
        Tallies with different labels do not merge; a tally without labels matches by position.

    Examples
    --------
    Finley's tornado forecasts of 1884:

    >>> finley = Counts([[2680, 72], [23, 28]], classes=["calm", "tornado"],
    ...                 decisions=["no alarm", "alarm"])
    >>> finley
    Counts of 2803 cases
             no alarm  alarm
    calm         2680     72
    tornado        23     28
    >>> float((finley + finley).n_cases)
    5606.0
    """

    values: FloatArray
    classes: Labels | None
    decisions: Labels | None
    groups: Labels | None
    weighted: bool = False

    def __init__(self, values: object, *, classes: object = None, decisions: object = None) -> None:
        array = _check.masses("values", values)
        if array.ndim < 2 or 0 in array.shape[-2:]:
            raise InputError(
                f"values must have shape (…, classes, decisions); the shape is {array.shape}. "
                f"Pass a table whose rows are true classes and whose columns are decisions."
            )
        self._fill(
            {
                "values": array,
                "classes": _axis_labels("classes", classes, array.shape[-2]),
                "decisions": _axis_labels("decisions", decisions, array.shape[-1]),
                "groups": None,
                "weighted": False,
            }
        )

    @classmethod
    def from_decisions(
        cls,
        y_true: object,
        decided: object,
        problem: Labelled,
        *,
        weights: object = None,
        by: object = None,
        clusters: object = None,
        copies: object = None,
    ) -> Self:
        """Count the decisions about every class, with the problem's labels.

        Columns are decisions; `answering` turns them into the classes that they stand for.

        Parameters
        ----------
        y_true : true class of every case, (n,)
        decided : decision about every case, (n,)
        problem : names the classes and decisions
        weights : sampling weight of each case; None counts each once
        by : labels, one per case, of slices
        clusters : labels, one per case, of what was sampled together
        copies : how often each case occurred, whole numbers; None: once

        Returns
        -------
        counts, (K, M), with a leading axis of slices or clusters where there are any

        Examples
        --------
        >>> from stakes import Problem
        >>> problem = Problem([[0, 1, 0.3], [5, 0, 0.3]], decisions=["no", "yes", "ask"])
        >>> Counts.from_decisions([0, 0, 1], ["no", "ask", "yes"], problem).values
        array([[1., 0., 1.],
               [0., 1., 0.]])
        """
        _check.require("problem", problem, Labelled)
        _check.aligned(
            y_true=y_true, decided=decided, weights=weights, copies=copies, by=by, clusters=clusters
        )
        columns = {
            "y_true": _check.truths("y_true", y_true, problem.classes, problem.decisions),
            "decided": _check.decisions("decided", decided, problem.decisions, problem.classes),
        }
        return cls._of_rows(
            read_rows(columns, weights, by, clusters, copies=copies),
            problem.classes,
            problem.decisions,
        )

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        *,
        y_true: str,
        decisions: str,
        problem: Labelled,
        weights: str | None = None,
        by: str | None = None,
    ) -> Counts:
        """Count the decisions in a column of a frame, in the engine that holds the frame.

        Parameters
        ----------
        frame : a frame of pandas, Polars (eager or lazy), PyArrow, Dask or Spark, a data set of
            PyArrow, a DuckDB relation, or the path of a file, a glob, or a list of paths
        y_true, decisions : the columns of the true classes and of the decisions; labels match by
            text, and a row without a label is counted and refused
        problem : whatever names the classes and the decisions
        weights : the column of the weights
        by : a column of groups, which are the leading axis; rows without a group are the last one

        Returns
        -------
        counts, (K, M), with a leading axis where ``by`` is stated

        Examples
        --------
        >>> import duckdb
        >>> from stakes import Problem
        >>> rows = duckdb.sql("SELECT * FROM (VALUES (0, 0), (0, 1), (1, 1)) AS t(label, decided)")
        >>> problem = Problem.zero_one(2)
        >>> Counts.from_frame(rows, y_true="label", decisions="decided", problem=problem)
        Counts of 3 cases
           0  1
        0  1  1
        1  0  1
        """
        # Imported here, because the core does not depend on frames: only this call needs them.
        from stakes.adapters.frame_tallies import frame_counts

        return frame_counts(frame, y_true, decisions, problem, weights, by)

    @classmethod
    def from_labels(
        cls,
        y_true: object,
        y_pred: object,
        *,
        labels: object = None,
        weights: object = None,
        by: object = None,
        clusters: object = None,
        copies: object = None,
    ) -> Self:
        """Count predicted classes: the square confusion matrix.

        Parameters
        ----------
        y_true : true class of every case, (n,)
        y_pred : predicted class of every case, (n,)
        labels : the classes in order; None sorts those that occur
        weights : sampling weight of each case; None counts each once
        by : labels, one per case, of slices
        clusters : labels, one per case, of what was sampled together
        copies : how often each case occurred, whole numbers; None: once

        Returns
        -------
        counts, (K, K), with a leading axis of slices or clusters where there are any

        Examples
        --------
        >>> Counts.from_labels(["cat", "dog", "dog"], ["cat", "dog", "cat"])
        Counts of 3 cases
             cat  dog
        cat    1    0
        dog    1    1
        """
        _check.aligned(
            y_true=y_true, y_pred=y_pred, weights=weights, copies=copies, by=by, clusters=clusters
        )
        if labels is None:
            names, truth, predicted = _encoded(y_true, y_pred)
        else:
            names = _check.labels("labels", labels)
            truth = _check.codes("y_true", y_true, names)
            predicted = _check.decisions("y_pred", y_pred, names)
        columns = {"y_true": truth, "y_pred": predicted}
        rows = read_rows(columns, weights, by, clusters, copies=copies)
        counts = cls._of_rows(rows, names, names)
        return counts if labels is not None else counts._without_absent()

    def _without_absent(self) -> Self:
        """The square table without labels that occur neither as a class nor as a decision."""
        # Labels are collected from all rows; one that occurs only with weight zero does not count.
        of_all = self.values.reshape(-1, *self.values.shape[-2:]).sum(axis=0)
        present = np.flatnonzero(of_all.any(axis=0) | of_all.any(axis=1))
        if present.size == self.n_classes:
            return self
        names = _check.FoundLabels((self.classes or ())[place] for place in present)
        return self._trusted(
            values=self.values[..., present[:, None], present],
            classes=names,
            decisions=names,
            groups=self.groups,
            weighted=self.weighted,
        )

    @classmethod
    def _of_rows(cls, rows: Rows, classes: Labels, decisions: Labels) -> Self:
        """Count rows whose columns are the positions of class and decision."""
        shape = (len(classes), len(decisions))
        return cls._trusted(
            values=pair_sums(rows, shape),
            classes=classes,
            decisions=decisions,
            groups=rows.groups,
            weighted=rows.weighted,
        )

    @classmethod
    def _unlabelled(cls, values: FloatArray, groups: Labels | None = None) -> Self:
        """Counts without labels, of values that need no check."""
        return cls._trusted(values=values, classes=None, decisions=None, groups=groups)

    @property
    def n_classes(self) -> int:
        """K."""
        return int(self.values.shape[-2])

    @property
    def n_decisions(self) -> int:
        """M."""
        return int(self.values.shape[-1])

    def __add__(self, other: Self) -> Self:
        """Tallies of two sets of cases as the tally of all."""
        if not isinstance(other, Counts):
            return NotImplemented
        if other.values.shape != self.values.shape:
            raise InputError(
                f"both Counts must have one shape; they have {self.values.shape} and "
                f"{other.values.shape}. Name all classes, decisions and groups in both."
            )
        shared = self._shared(other, "classes", "decisions")
        return self._trusted(values=self.values + other.values, **shared)

    def smoothed(self, alpha: float) -> Self:
        """Add `alpha` cases to every cell.

        Parameters
        ----------
        alpha : how many cases to add to each cell

        Returns
        -------
        the counts with them

        Examples
        --------
        >>> Counts([[3, 0], [1, 2]]).smoothed(0.5).values
        array([[3.5, 0.5],
               [1.5, 2.5]])
        """
        alpha = _check.number("alpha", alpha, low=0)
        return self._but(values=self.values + alpha)

    def normalized(self) -> Self:
        """Shares of all cases; they sum to one, or are nan without cases.

        Returns
        -------
        shares, (…, K, M)

        Examples
        --------
        >>> Counts([[6, 2], [1, 1]]).normalized().values.tolist()
        [[0.6, 0.2], [0.1, 0.1]]
        """
        with np.errstate(invalid="ignore"):
            return self._but(values=self.values / np.asarray(self.n_cases)[..., None, None])

    def answering(self, problem: Answering) -> Self:
        """Predicted classes, (…, K, K): each decision counts for the class that it stands for.

        A decision that stands for no class is refused, because it predicts none.

        Parameters
        ----------
        problem : its `answers` say which class each decision stands for

        Returns
        -------
        counts, (…, K, K)

        Examples
        --------
        >>> from stakes import Problem
        >>> problem = Problem([[0, 3, 25], [180, 8, 0]], classes=["legit", "fraud"],
        ...                   decisions=["approve", "review", "block"],
        ...                   answers={"approve": "legit", "review": "fraud", "block": "fraud"})
        >>> counts = Counts([[90, 8, 2], [1, 4, 5]], decisions=problem.decisions)
        >>> counts.answering(problem).values
        array([[90., 10.],
               [ 1.,  9.]])
        """
        _check.require("problem", problem, Answering)
        _check.same_names("counts and problem", self, problem)
        classes, decisions = problem.classes, problem.decisions
        if None in problem.answers or self.values.shape[-2:] != (len(classes), len(decisions)):
            raise InputError(
                f"every decision of counts must answer a class of the problem; answers are "
                f"{dict(zip(decisions, problem.answers, strict=True))}. "
                f"State them: Problem(…, answers={{decision: class, …}})."
            )
        # As objects, labels are compared one by one; numpy would turn mixed labels into text.
        answer = np.array(problem.answers, dtype=object)[:, None] == np.array(classes, dtype=object)
        values = self.values @ answer.astype(np.float64)
        return self._but(values=values, classes=classes, decisions=classes)

    @property
    def class_weights(self) -> FloatArray:  # noqa: D102
        return np.asarray(self.values.sum(axis=-1))

    @property
    def cell_weights(self) -> FloatArray:  # noqa: D102
        return self.values.reshape(*self.values.shape[:-2], -1)

    @property
    def weights_shape(self) -> tuple[int, ...]:  # noqa: D102
        return self.values.shape

    @property
    def cell_classes(self) -> IntArray:  # noqa: D102
        return np.repeat(np.arange(self.n_classes), self.n_decisions)

    def with_cell_weights(self, weights: FloatArray) -> Self:  # noqa: D102
        _check.shapes(f"… {self.n_classes * self.n_decisions}", weights=weights)
        values = weights.reshape(*weights.shape[:-1], *self.values.shape[-2:])
        groups = self.groups if values.shape == self.values.shape else None
        return self._but(values=values, groups=groups)

    def _table(self) -> tuple[list[object], list[list[object]]]:
        classes = self.classes or tuple(range(self.n_classes))
        decisions = self.decisions or tuple(range(self.n_decisions))
        rows: list[list[object]] = [
            [label, *(f"{cell:.7g}" for cell in row)]
            for label, row in zip(classes, self.values, strict=True)
        ]
        return ["", *decisions], rows

    def __repr__(self) -> str:
        if self.values.ndim > 2:
            return (
                f"Counts of shape {self.values.shape[:-2]} x "
                f"{self.n_classes} classes x {self.n_decisions} decisions"
            )
        return f"Counts of {self.n_cases:.7g} cases\n" + text_table(*self._table())

    def _repr_html_(self) -> str:
        if self.values.ndim > 2:
            return f"<p>{self!r}</p>"
        return html_table(*self._table(), f"Counts of {self.n_cases:.7g} cases")


def _encoded(y_true: object, y_pred: object) -> tuple[Labels, IntArray, IntArray]:
    """All labels that occur, sorted, and their positions in the rows of both arguments."""
    first, truth = _check.encoded("y_true", y_true)
    second, predicted = _check.encoded("y_pred", y_pred)
    # 1 == True == 1.0 in Python: equal labels of different types are left to the check below.
    if first == second and set(map(type, first)) == set(map(type, second)):
        return first, truth, predicted
    both = dict.fromkeys((*first, *second))
    names = _check.distinct("the labels of y_true and y_pred", list(both))
    place = {label: k for k, label in enumerate(names)}
    truth, predicted = (
        codes
        if labels == names[: len(labels)]
        else np.array([place[name] for name in labels])[codes]
        for labels, codes in ((first, truth), (second, predicted))
    )
    return names, truth, predicted


def _axis_labels(name: str, values: object, size: int) -> Labels | None:
    """The labels of one axis; None where it has none."""
    if values is None:
        return None
    names = _check.labels(name, values)
    if len(names) != size:
        raise InputError(
            f"{name} must name all {size} of that axis; {len(names)} are named. "
            f"Rows are classes, columns are decisions."
        )
    return names


# JointCounts: what several models decided about the same cases -----------------------------------

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
