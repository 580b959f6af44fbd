"""What an array of predictions is: posteriors, decisions or raw scores.

A bare float array is read as posteriors and must lie in [0, 1]; a bare array of ints, booleans or
text is read as decisions. Everything else is said with one of these wrappers; nothing is guessed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from stakes import _check
from stakes._check import FloatArray, IntArray, Labels
from stakes.errors import InputError

__all__ = ["Decisions", "Posteriors", "Scores", "as_predictions", "read_posteriors"]


@dataclass(frozen=True, eq=False)
class Posteriors:
    """Probabilities of the classes: (n, K), or (n,) for P(second class) of two.

    Parameters
    ----------
    values : array_like, or a frame whose columns are named after the classes
    classes : sequence of labels, optional
        The class of each column, in the order of the columns; pass ``model.classes_``, which
        scikit-learn sorts. Left out, column k belongs to ``problem.classes[k]``.
    """

    values: Any
    classes: Any = None

    def read(self, name: str, classes: Labels) -> FloatArray:
        """Posteriors of shape (n, K), columns in the order of the problem's classes."""
        given, columns = self.values, self.classes
        if columns is None and hasattr(given, "columns"):
            columns = list(given.columns)
            given = np.column_stack([np.asarray(given[column]) for column in columns])
        if columns is None:
            return _check.posteriors(name, given, len(classes))
        order = _check.codes(f"the classes of {name}", list(columns), classes)
        if sorted(order.tolist()) != list(range(len(classes))):
            raise InputError(
                f"the classes of {name} must be those of the problem, {classes}; they are "
                f"{tuple(columns)}. Give one column for every class."
            )
        values = _check.posteriors(name, given, len(classes))
        return values[:, np.argsort(order)]


@dataclass(frozen=True, eq=False)
class Decisions:
    """Decisions that were taken: one label of the problem's decisions for every case."""

    values: Any

    def read(self, name: str, decisions: Labels) -> IntArray:
        """Positions of the decisions."""
        return _check.codes(name, self.values, decisions)


@dataclass(frozen=True, eq=False)
class Scores:
    """Raw scores for two classes, on any scale: a higher one speaks for the second class."""

    values: Any

    def read(self, name: str) -> FloatArray:
        """One score for every case."""
        return _check.real_scores(name, self.values)


def read_posteriors(name: str, given: object, classes: Labels) -> FloatArray:
    """Posteriors of shape (n, K), from a wrapper, a frame with named columns, or an array."""
    wrapped = given if isinstance(given, Posteriors) else Posteriors(given)
    return wrapped.read(name, classes)


def as_predictions(name: str, given: Any) -> Posteriors | Decisions | Scores:
    """What a model brought: wrapped already, or a bare array that can be only one thing."""
    if isinstance(given, Posteriors | Decisions | Scores):
        return given
    if hasattr(given, "columns"):
        return Posteriors(given)
    if isinstance(given, str | bytes | Mapping):
        raise InputError(
            f"{name} must be an array of predictions; got {type(given).__name__}. "
            f"Several models are a mapping from name to predictions."
        )
    kind = np.asarray(given).dtype.kind
    return Posteriors(given) if kind == "f" else Decisions(given)
