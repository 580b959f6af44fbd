"""Counts: how often each decision was taken in each class."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from stakes import _check
from stakes._check import FloatArray, IntArray, Labels
from stakes._text import html_table, text_table
from stakes._value import record
from stakes.errors import InputError
from stakes.tally.base import CellTally
from stakes.tally.read_rows import Answering, Labelled, Rows, pair_sums, read_rows


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
