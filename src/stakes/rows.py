"""What an array of predictions is: posteriors, decisions or raw scores.

A bare float array is read as posteriors and must lie in [0, 1], and so is one of objects that are
floats or decimals; a bare array of ints, booleans or text is read as decisions. Anything else needs
one of these wrappers; nothing is guessed.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from stakes import _check
from stakes._check import FloatArray, IntArray, Labels, frame_columns
from stakes._value import record
from stakes.errors import InputError

__all__ = [
    "DECISIONS",
    "POSTERIORS",
    "ROUNDED",
    "SCORES",
    "UNNORMALISED",
    "WRAPPERS",
    "Decisions",
    "Posteriors",
    "Predicted",
    "Scores",
    "as_predictions",
    "frame_columns",
    "read_posteriors",
]

POSTERIORS, SCORES, DECISIONS = "posteriors", "scores", "decisions"  # what a model predicts
ROUNDED = 1e-6  # rows of posteriors whose sums differ from one by no more count as normalised
_ROWS = list, tuple, np.ndarray  # entries of a column that holds whole rows
UNNORMALISED = 0.02  # rows that differ by more than that, up to this, are divided by their sum
# Remedies where the columns of a frame are not named after the classes, by the argument.
_MODELS = (
    "where the columns of a frame are models, pass {name: frame[name] for name in frame.columns}"
)
_COLUMNS = "where they have other names, bayes_decisions and Rule.decide take these as columns="
_OTHER_NAMES = {"posteriors": _COLUMNS, "predictions": _COLUMNS}


@record
class _Predicted:
    """One entry or row for every case."""

    values: Any

    @property
    def index(self) -> Any:
        """The index of a series or frame; None where there is none."""
        return getattr(self.values, "index", None)


@record
class Posteriors(_Predicted):
    """Probabilities of the classes: (n, K), or (n,) for P(second class) of two.

    Parameters
    ----------
    values : array_like, or a frame whose columns are named after the classes
    classes : sequence of labels, optional
        The class of each column, in the order of the columns; pass ``model.classes_``, which
        scikit-learn sorts. Left out, column k belongs to ``problem.classes[k]``.

    Examples
    --------
    >>> Posteriors([[0.9, 0.1], [0.2, 0.8]], classes=["legit", "fraud"]).classes
    ['legit', 'fraud']
    """

    classes: Any = None

    @property
    def is_named(self) -> bool:
        """Whether it is stated, by classes or a frame, which class each column belongs to."""
        return self.unframed().classes is not None

    def read(self, name: str, classes: Labels, *, borrowed: bool = False) -> FloatArray:
        """Posteriors of shape (n, K), columns in the order of the problem's classes.

        Borrowed ones are read at once and never kept, so that they need no copy.

        Parameters
        ----------
        name : what to call the argument in messages
        classes : labels of the classes
        borrowed : whether the array may be the caller's

        Returns
        -------
        posteriors, (n, K)

        Examples
        --------
        >>> Posteriors([[0.9, 0.1]], classes=["legit", "fraud"]).read("models", ("fraud", "legit"))
        array([[0.1, 0.9]])
        """
        bare = self.unframed()
        order = bare._order(name, classes)
        values = _check.posteriors(name, bare.values, len(classes), borrowed=borrowed)
        return values if bare.classes is None else values[:, order]

    def normalised(self, name: str, classes: Labels) -> tuple[FloatArray, tuple[int, float] | None]:
        """Posteriors of shape (n, K); rows that nearly sum to one are divided by their sum.

        Parameters
        ----------
        name : what to call the argument in messages
        classes : labels of the classes

        Returns
        -------
        the posteriors, and how many rows were divided, with the worst sum; None where none was

        Examples
        --------
        >>> rows, divided = Posteriors([[0.3333, 0.6666]]).normalised("models", ("legit", "fraud"))
        >>> rows.sum(axis=1), divided
        (array([1.]), (1, 0.9999))
        """
        bare = self.unframed()
        array = _check.array(name, bare.values)
        if array.ndim != 2 or array.dtype.kind != "f" or hasattr(bare.values, "columns"):
            return bare.read(name, classes), None
        totals: FloatArray = np.nansum(array, axis=1, dtype=np.float64)
        off = np.abs(totals - 1)
        if off.max(initial=0.0) <= ROUNDED or off.max() > UNNORMALISED:
            return bare.read(name, classes), None
        worst = float(totals[np.argmax(off)])
        scaled = Posteriors(array / totals[:, None], bare.classes)
        return scaled.read(name, classes), (int(np.sum(off > ROUNDED)), worst)

    def rounding(self, name: str, classes: Labels) -> FloatArray | None:
        """Largest rounding error of each posterior, (n, K); None in double precision.

        Parameters
        ----------
        name : what to call the argument in messages
        classes : labels of the classes

        Returns
        -------
        largest errors, (n, K), or None

        Examples
        --------
        >>> print(Posteriors([[0.9, 0.1]]).rounding("models", ("legit", "fraud")))
        None
        >>> single = np.array([[0.5, 0.5]], dtype=np.float32)
        >>> Posteriors(single).rounding("models", ("legit", "fraud")) < 1e-7
        array([[ True,  True]])
        """
        bare = self.unframed()
        gaps = _check.rounding(bare.values)
        if gaps is None:
            return None
        if gaps.ndim == 1:  # P(first class) = 1 − P(second class) has the same error
            return np.column_stack([gaps] * len(classes))
        return gaps[:, bare._order(name, classes)]

    def _order(self, name: str, classes: Labels) -> list[int]:
        """The column of each class."""
        if self.classes is None:
            return list(range(len(classes)))
        named = _check.labels(f"the classes of {name}", self.classes)
        if set(named) != set(classes):
            raise InputError(
                f"the classes of {name} must be those of the problem, {classes}; they are {named}. "
                f"Name one column after each class; {_OTHER_NAMES.get(name, _MODELS)}."
            )
        return [named.index(label) for label in classes]

    def unframed(self) -> Posteriors:
        """The same posteriors in an array; the names of a frame's columns become its classes.

        Returns
        -------
        the posteriors, without a frame

        Examples
        --------
        >>> Posteriors([[0.9, 0.1]], classes=["legit", "fraud"]).unframed().classes
        ['legit', 'fraud']
        """
        columns = frame_columns(self.values) if self.classes is None else None
        if columns is None:
            return self
        if len({*columns}) < len(columns):  # refused by the name of the argument where it is read
            return Posteriors(self.values, columns)
        arrays = [np.asarray(self.values[column]) for column in columns]
        return Posteriors(np.column_stack(arrays) if arrays else np.empty((0, 0)), columns)


@record
class Decisions(_Predicted):
    """Decisions that were taken: one label of the problem's decisions for every case.

    Parameters
    ----------
    values : labels, (n,)

    Examples
    --------
    >>> Decisions(["approve", "block"]).values
    ['approve', 'block']
    """

    def read(self, name: str, decisions: Labels, classes: Labels = ()) -> IntArray:
        """Positions of the decisions.

        Parameters
        ----------
        name : what to call the argument in messages
        decisions : labels of the decisions
        classes : labels of the classes, which may have been passed by mistake

        Returns
        -------
        positions, (n,)

        Examples
        --------
        >>> Decisions(["block", "approve"]).read("models", ("approve", "block"))
        array([1, 0])
        """
        return _check.decisions(name, self.values, decisions, classes)


@record
class Scores(_Predicted):
    """Raw scores for two classes, on any scale: higher scores favour the second class.

    Parameters
    ----------
    values : numbers, (n,)

    Examples
    --------
    >>> Scores([-1.3, 0.2, 4.0]).values
    [-1.3, 0.2, 4.0]
    """

    def read(self, name: str) -> FloatArray:
        """One score for every case.

        Parameters
        ----------
        name : what to call the argument in messages

        Returns
        -------
        scores, (n,)

        Examples
        --------
        >>> Scores([-1.3, 0.2, 4]).read("models")
        array([-1.3,  0.2,  4. ])
        """
        return _check.real_scores(name, self.values)


Predicted: TypeAlias = Posteriors | Decisions | Scores  # what the predictions of a model are
WRAPPERS: dict[str, type[Predicted]] = {
    POSTERIORS: Posteriors,
    SCORES: Scores,
    DECISIONS: Decisions,
}


def read_posteriors(name: str, posteriors: object, classes: Labels) -> FloatArray:
    """Posteriors of shape (n, K), from a wrapper, a frame with named columns, or an array.

    Parameters
    ----------
    name : what to call the argument in messages
    posteriors : what the caller passed
    classes : labels of the classes, in the order of the columns

    Returns
    -------
    posteriors, (n, K)

    Examples
    --------
    >>> read_posteriors("model", [0.2, 0.7], ("legit", "fraud"))
    array([[0.8, 0.2],
           [0.3, 0.7]])
    """
    wrapped = posteriors if isinstance(posteriors, Posteriors) else Posteriors(posteriors)
    return wrapped.read(name, classes)


def as_predictions(name: str, predictions: Any) -> Predicted:
    """The predictions of a model in their wrapper; the dtype of a bare array says which one.

    Parameters
    ----------
    name : what to call the argument in messages
    predictions : what the caller passed

    Returns
    -------
    what the array is, wrapped

    Examples
    --------
    >>> type(as_predictions("model", np.array([0.2, 0.7]))).__name__
    'Posteriors'
    >>> type(as_predictions("model", np.array(["approve", "block"]))).__name__
    'Decisions'
    """
    values = predictions.values if isinstance(predictions, Predicted) else predictions
    _check.refuse_lazy(name, values)
    _refuse_estimator(name, values)
    if isinstance(predictions, Predicted):
        return predictions
    if hasattr(predictions, "columns") and hasattr(type(predictions), "__len__"):
        return Posteriors(predictions)
    try:
        array = _check.as_array(name, predictions)
    except InputError:
        raise
    except ValueError:  # rows of different lengths
        array = np.empty(())
    if array.ndim == 0:
        raise InputError(
            f"{name} must be an array of predictions; got {type(predictions).__name__}. "
            f"Several models are a mapping from name to predictions.",
            argument=name,
        )
    if array.dtype.kind == "O" and array.size and isinstance(array.flat[0], _ROWS):
        raise InputError(
            f"{name} must be an array of numbers or labels; its entries are of type "
            f"{type(array.flat[0]).__name__}. Pass posteriors as one array of a row for each case "
            f"and a column for each class, such as np.stack([*column]).",
            argument=name,
        )
    return Posteriors(predictions) if _holds_fractions(array) else Decisions(predictions)


def _refuse_estimator(name: str, values: Any) -> None:
    """Refuse what can predict but has not: its length, if any, is that of its steps or trees."""
    listed = [values, *(values[:1] if isinstance(values, list | tuple) else ())]
    if isinstance(listed[-1], tuple):  # a pair of a name and an estimator
        listed += listed[-1][1:]
    kinds = (each if isinstance(each, type) else type(each) for each in listed)
    estimator = next((kind.__name__ for kind in kinds if hasattr(kind, "predict")), None)
    if estimator is not None:
        raise InputError(
            f"{name} must hold predictions, one for every case; got an estimator, {estimator}. "
            f"Pass what it predicts about cases that it was not fitted to, as in "
            f"estimator.predict_proba(X), or let stakes.sklearn fit and ask it, fold by fold: "
            f"evaluate_estimators({{name: estimator}}, X, y, problem, cv=5).",
            argument=name,
        )


def _holds_fractions(array: npt.NDArray[Any]) -> bool:
    """Whether an array holds floats; among objects, whether one lies between 0 and 1."""
    if array.dtype.kind != "O":
        return array.dtype.kind == "f"
    # Labels are of one kind in all but a few arrays: the first entry spares a look at the others.
    if not array.size or not isinstance(array.flat[0], float | np.floating | Decimal):
        return False
    return any(map(_is_fraction, array.flat))


def _is_fraction(entry: object) -> bool:
    if isinstance(entry, Decimal):
        return entry.is_finite() and 0 < entry < 1
    return isinstance(entry, float | np.floating) and bool(0 < entry < 1)
