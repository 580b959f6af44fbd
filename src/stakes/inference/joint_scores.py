"""JointScores: the scores of several models on the same cases, for paired work on ranks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from stakes import _check
from stakes._check import FloatArray, IntArray, Label, Labels
from stakes._value import Value
from stakes.errors import InputError
from stakes.tally import ScoreTable
from stakes.tally.rows import refuse_too_many

__all__ = ["JointScores"]


@dataclass(frozen=True, eq=False, repr=False)
class JointScores(Value):
    """The distinct tuples (class, score of model 1, … , score of model J) and their weights.

    What `JointCounts` is for decisions: rows are read once, and the order of the rows is gone.
    Made by `from_scores`; two continuous scores leave as many tuples as cases.

    Attributes
    ----------
    cells : (T, 1 + J) the class, 0 or 1, and the position of each model's score in its `scores`
    weights : (…, T)
    scores : for each model its distinct scores (S_j,) in increasing order
    models : J names
    groups : labels of the first leading axis, when made with by=, else None
    units : (T,) number of the unit that the cases of each tuple belong to, or None

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
    units: IntArray | None

    @classmethod
    def from_scores(
        cls,
        y_true: object,
        scores: Mapping[Any, object],
        *,
        positive: Label | None = None,
        by: object = None,
        units: object = None,
    ) -> Self:
        """Read the rows once; `positive` may be left out for labels 0/1 and booleans.

        `by` holds labels, one per case, of groups; the tally gets a leading axis of them. `units`
        holds labels of units that were observed together, for redraws by `Units`; whatever takes
        cases as independent refuses such scores. The unit is then part of the tuple: whatever
        their number, the tally is as large as the cases are many.
        """
        models, values = _columns(scores)
        named = {f"scores[{model!r}]": column for model, column in scores.items()}
        _check.aligned(y_true=y_true, **named, by=by, units=units)
        table = ScoreTable.from_scores(y_true, values[0], positive=positive)  # settles the classes
        truth = _positives(y_true, table, positive)
        groups = None if by is None else _check.groups("by", by)
        group = None if groups is None else groups.codes
        unit = None if units is None else _unit_codes(units)
        given: dict[str, Any] = {f"scores[{m!r}]": v for m, v in zip(models, values, strict=True)}
        others = {"by": group, "units": unit}
        given |= {name: codes for name, codes in others.items() if codes is not None}
        _check.same_length(y_true=truth, **given)
        parts = [np.unique(column + 0.0, return_inverse=True) for column in values]
        columns = [truth, *(position.reshape(-1) for _, position in parts)]
        columns += [] if unit is None else [unit]
        cells, weights = _distinct(np.stack(columns, axis=1).astype(np.intp), group)
        return cls._trusted(
            cells=cells[:, : 1 + len(models)],
            weights=weights,
            scores=tuple(_check.frozen(found) for found, _ in parts),
            models=models,
            classes=table.classes,
            groups=None if groups is None else groups.labels,
            units=None if unit is None else cells[:, -1],
        )

    @property
    def n_cases(self) -> FloatArray:
        """Total weight, of shape (…)."""
        return np.asarray(self.weights.sum(axis=-1))

    def table(self, name: object) -> ScoreTable:
        """The score table of one model, with the leading axes of the weights."""
        if name not in self.models:
            raise InputError(f"name must be one of the models {self.models}; got {name!r}.")
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
        )

    def with_weights(self, weights: FloatArray) -> Self:
        """The same tuples with other weights of shape (…, T), such as redraws."""
        groups = self.groups if weights.shape == self.weights.shape else None
        return self._trusted(**{**vars(self), "weights": weights, "groups": groups})

    def __getitem__(self, index: Any) -> Self:
        """Index the leading axes; the tuples stay."""
        leading = np.empty(self.weights.shape[:-1], dtype=bool)[index]
        chosen = self.weights[index].reshape(*leading.shape, len(self.cells))
        return self._trusted(**{**vars(self), "weights": chosen, "groups": None})

    def __iter__(self) -> Iterator[Self]:
        """The tallies along the first leading axis."""
        return (self[place] for place in range(len(self)))

    def __len__(self) -> int:
        if self.weights.ndim == 1:
            raise TypeError("a single JointScores has no length and no parts")
        return len(self.weights)

    def group(self, label: Label) -> Self:
        """The tally of one group."""
        groups = self.groups or ()
        if label not in groups:
            raise InputError(
                f"label must be one of the groups {groups}; got {label!r}. "
                f"Groups come from by= when rows are read."
            )
        return self[groups.index(label)]

    def __radd__(self, other: object) -> Self:
        """Let ``sum(tallies)`` start from nothing."""
        return self if other == 0 else NotImplemented

    def __add__(self, other: Self) -> Self:
        """Tallies of two sets of cases as the tally of all; units are numbered in one tally only.

        >>> rows = JointScores.from_scores([0, 1, 1], {"a": [1, 2, 3], "b": [5, 6, 8]})
        >>> rows + JointScores.from_scores([1, 0], {"a": [2, 7], "b": [6, 4]})
        JointScores of 5 cases, models a, b, 4 distinct tuples
        """
        if not isinstance(other, JointScores):
            return NotImplemented
        groups = _check.same_labels("the groups", self.groups, other.groups)
        classes = _check.same_labels("the classes", self.classes, other.classes)
        _check.same_labels("the models", self.models, other.models)
        self._refuse_apart(other)
        scores = tuple(map(np.union1d, self.scores, other.scores))
        cells = np.concatenate([_recoded(tally, scores) for tally in (self, other)])
        weights = np.concatenate([self.weights, other.weights], axis=-1)
        order, starts = _lexical(cells)
        return self._trusted(
            cells=cells[order][starts],
            weights=np.add.reduceat(weights[..., order], starts, axis=-1),
            scores=tuple(_check.frozen(column) for column in scores),
            models=self.models,
            classes=classes,
            groups=groups,
            units=None,
        )

    def _refuse_apart(self, other: Self) -> None:
        """Refuse what cannot be added up: named units, and other leading axes."""
        if self.units is not None or other.units is not None:
            raise InputError(
                "JointScores that name units cannot be added: units are numbered within one tally. "
                "Read all rows at once."
            )
        if self.weights.shape[:-1] != other.weights.shape[:-1]:
            raise InputError(
                f"both JointScores must have the same leading axes; they have "
                f"{self.weights.shape[:-1]} and {other.weights.shape[:-1]}. Name all groups in "
                f"both."
            )

    def _content(self) -> tuple[Any, ...]:
        scores = tuple(column.tobytes() for column in self.scores)
        rest = (self.cells.tobytes(), self.weights.shape, self.weights.tobytes())
        units = None if self.units is None else self.units.tobytes()
        return (scores, rest, self.models, self.classes, self.groups, units)

    def __repr__(self) -> str:
        shown = ", ".join(map(str, self.models))
        cases = f"{self.n_cases:.7g} cases" if self.weights.ndim == 1 else f"{self.n_cases.shape}"
        return f"JointScores of {cases}, models {shown}, {len(self.cells)} distinct tuples"


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


def _positives(y_true: object, table: ScoreTable, positive: Label | None) -> IntArray:
    """1 for each positive case."""
    if table.classes is not None:
        return _check.codes("y_true", y_true, table.classes)
    return np.ones(int(table.n_cases), dtype=np.intp)  # positive was stated, and nothing else found


def _unit_codes(units: object) -> IntArray:
    """The number of each case's unit; the labels, as many as cases perhaps, are not kept."""
    labels = np.asarray(units)
    try:
        found, codes = np.unique(labels, return_inverse=True)
        missing = labels.dtype.kind == "f" and bool(np.isnan(found[-1:]).any())
    except TypeError:  # None among texts, or texts among numbers
        missing = True
    if labels.ndim != 1 or missing:
        raise InputError(
            f"units must hold one label for every case, all of one kind and none missing; the "
            f"shape is {labels.shape}, the type {labels.dtype}. Convert labels to text, and give "
            f"cases without a unit one of their own."
        )
    return codes.reshape(-1).astype(np.intp)


def _recoded(tally: JointScores, scores: tuple[FloatArray, ...]) -> IntArray:
    """The cells of a tally by the positions of its scores among others that hold them all."""
    columns = [
        np.searchsorted(held, own)[tally.cells[:, 1 + j]]
        for j, (held, own) in enumerate(zip(scores, tally.scores, strict=True))
    ]
    return np.stack([tally.cells[:, 0], *columns], axis=1).astype(np.intp)


def _lexical(rows: IntArray) -> tuple[IntArray, IntArray]:
    """The lexical order of rows, and where in it a new row starts."""
    order = np.lexsort(rows.T[::-1])
    ordered = rows[order]
    changed = (ordered[1:] != ordered[:-1]).any(axis=1)
    return order, np.flatnonzero(np.concatenate([[True], changed]))


def _distinct(rows: IntArray, group: IntArray | None) -> tuple[IntArray, FloatArray]:
    """The distinct rows in lexical order, and how often each occurs (in each group)."""
    order, starts = _lexical(rows)
    ordered = rows[order]
    sizes = np.diff(starts, append=len(rows))
    if group is None:
        return ordered[starts], sizes.astype(np.float64)
    n_groups = int(group.max()) + 1
    refuse_too_many(n_groups, starts.size)
    weights = np.zeros((n_groups, starts.size))
    np.add.at(weights, (group[order], np.repeat(np.arange(starts.size), sizes)), 1.0)
    return ordered[starts], weights
