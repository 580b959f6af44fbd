"""The columns of an evaluation, and the labels that they hold.

Labels of files and of lazy frames are compared as text, and every row must have a known label.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from stakes import _check
from stakes._check import IntArray, Label, Labels
from stakes.errors import InputError
from stakes.problem import Problem
from stakes.rows import Decisions, Posteriors, Scores
from stakes.tally import Labelled

# Texts that were meant as numbers, also with a decimal comma, infinite or nan.
_NUMERIC = re.compile(r"\s*[+-]?(\d*[.,]?\d+(e[+-]?\d+)?|inf(inity)?|nan)\s*%?", re.IGNORECASE)


class Numbers(Scores):
    """The column of finite numbers that are summed, such as the losses of the cases."""


Predicted: TypeAlias = Posteriors | Decisions | Scores  # here they hold names of columns
Key = tuple[str, str]  # an argument, and the name of the model or column within it, or ""


@dataclass(frozen=True)
class Columns:
    """Which column of a frame is what; ``evaluate_frame(frame, problem, **columns)`` takes it.

    Parameters
    ----------
    y_true : the column of the true classes
    models : a mapping from the name of a model to its predictions
        `Posteriors`, `Decisions` or `Scores` over names of columns
    weights : the column of the weights
    by : the columns whose groups the report shows one by one
    clusters : the column of what was sampled together
    key : the column of whole numbers from which folds are made
    """

    y_true: str
    models: Mapping[str, Predicted] = field(default_factory=dict)
    weights: str | None = None
    by: tuple[str, ...] = ()
    clusters: str | None = None
    key: str | None = None

    @classmethod
    def guess(cls, frame: Any, problem: Problem) -> Columns:
        """Guess the columns of the true classes and of the models from names and values.

        A guess that is not safe is refused, with the columns among which to choose.

        Parameters
        ----------
        frame : frame, relation or path
            Whatever `stakes.evaluate_frame` takes.
        problem : Problem
            What is at stake; its labels help to find the columns.

        Returns
        -------
        Columns
            The columns of the true classes and of the models.

        Examples
        --------
        >>> import pyarrow as pa
        >>> from stakes import Columns, Problem
        >>> frame = pa.table({"label": ["well", "ill"], "age": [60, 70], "p_new": [0.1, 0.8]})
        >>> columns = Columns.guess(frame, Problem.zero_one(["well", "ill"]))
        >>> columns.y_true, columns.models["p_new"].values
        ('label', 'p_new')
        """
        from stakes.adapters.guessing import guess

        return guess(frame, problem)

    def keys(self) -> Iterator[str]:
        """The names of the arguments of `evaluate_frame`, so that ``**columns`` passes them.

        Returns
        -------
        iterator of str
            The names of the fields.
        """
        return iter(self.__dataclass_fields__)

    def __getitem__(self, name: str) -> Any:
        return getattr(self, name)

    @property
    def numbers(self) -> dict[Key, tuple[str, ...]]:
        """Columns of numbers, by the argument that they belong to."""
        numbers: dict[Key, tuple[str, ...]] = {
            ("models", name): columns_of(model)
            for name, model in self.models.items()
            if not isinstance(model, Decisions)
        }
        return numbers if self.weights is None else {**numbers, ("weights", ""): (self.weights,)}

    def read(self, problem: Problem) -> dict[Key, tuple[str, ...]]:
        """All columns of numbers, with those that the costs depend on.

        Parameters
        ----------
        problem : Problem
            What is at stake; its costs may be expressions of columns.

        Returns
        -------
        dict
            From an argument and a name within it to the columns.
        """
        return {**self.numbers, **{("data", name): (name,) for name in problem.columns}}

    def labels(self, problem: Labelled) -> dict[Key, LabelColumn]:
        """Columns of labels, by the argument that they belong to.

        Parameters
        ----------
        problem : Problem or other labelled value
            Holds the labels of classes and decisions.

        Returns
        -------
        dict
            From an argument and a name within it to the column and the labels that it may hold.
        """
        labels = {("y_true", ""): LabelColumn(self.y_true, "classes", problem.classes)}
        for column in self.by:
            labels["by", column] = LabelColumn(column, "groups", may_be_missing=True)
        if self.clusters is not None:
            labels["clusters", ""] = LabelColumn(self.clusters, "clusters")
        for name, model in self.models.items():
            if isinstance(model, Decisions):
                labels["models", name] = LabelColumn(model.values, "decisions", problem.decisions)
        return labels

    def n_bytes(self, problem: Problem, n_rows: int) -> int:
        """The memory that these columns take as arrays: 8 bytes a number, 4 bytes a label.

        Parameters
        ----------
        problem : Problem
            What is at stake.
        n_rows : int
            The number of rows.

        Returns
        -------
        int
            The number of bytes.
        """
        numbers = sum(map(len, self.read(problem).values()))
        numbers += self.key is not None
        return n_rows * (8 * numbers + 4 * len(self.labels(problem)))

    def located(self, error: InputError, source: str) -> InputError:
        """Add the columns that an argument names to an error about that argument.

        Parameters
        ----------
        error : InputError
            The error.
        source : str
            What messages call the rows.

        Returns
        -------
        InputError
            The error with the columns, or unchanged where its argument names none.
        """
        named: dict[str | None, tuple[str, ...]] = {
            model_argument(name): columns_of(model) for name, model in self.models.items()
        }
        named |= {f"by[{column!r}]": (column,) for column in self.by}
        single = {"y_true": self.y_true, "weights": self.weights, "clusters": self.clusters}
        single["key"] = self.key
        named |= {name: (column,) for name, column in single.items() if column is not None}
        if error.argument not in named:
            return error
        columns = named[error.argument]
        listed = f"column{'s' * (len(columns) > 1)} {', '.join(map(repr, columns))} of {source}"
        return error.renamed(f"{error.argument} ({listed})", argument=error.argument)


def columns_of(model: Predicted) -> tuple[str, ...]:
    """The names of the columns of a model, in the order of the classes."""
    return (model.values,) if isinstance(model.values, str) else tuple(model.values)


def text_name(column: str) -> str:
    """The name of the column that holds the labels of another column as text."""
    return f"_stakes_text_{column}"


def shorter_times(*, dated: bool, zoned: bool) -> list[tuple[str, str]]:
    """Patterns and their replacements, which make the text of a time as short as numpy's.

    Some engines write fractions of zero, seconds of zero and midnight, others leave them out. Text
    with a time zone ends with its offset, which is removed.
    """
    zone = [(r"(Z|[+-]\d\d(:?\d\d)?)$", "")] if zoned else []
    date = [(" ", "T"), (":00$", ""), ("T00:00$", "")] if dated else []
    return [*zone, (r"\.0+$", ""), *date]


def key_name(column: str) -> str:
    """The name of the column that holds the keys of another column as 64-bit integers."""
    return f"_stakes_key_{column}"


def no_key(gaps: int, n_rows: int) -> InputError:
    """The error for rows without a key."""
    return InputError(
        f"key must hold a whole number in every row; {gaps} of {n_rows} are missing. Remove these "
        f"rows, or fill them in.",
        argument="key",
    )


def model_argument(name: str) -> str:
    """The name of a model of the mapping `models` in messages."""
    return f"models[{name!r}]"


def described(name: str, model: Predicted, problem: Problem) -> str:
    """A phrase that says which columns hold the predictions of a model."""
    columns = columns_of(model)
    if not isinstance(model, Posteriors):
        return f"{name}: {type(model).__name__.lower()} in column {columns[0]}"
    classes = problem.classes[-1:] if len(columns) == 1 else problem.classes
    parts = (f"P({c}) in {column}" for c, column in zip(classes, columns, strict=True))
    return f"{name}: {', '.join(parts)}"


# Labels ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class LabelColumn:
    """A column of labels, and the labels that it may hold; None allows all."""

    column: str
    role: str  # what the labels are, in words
    labels: Labels | None = None
    may_be_missing: bool = False

    def refused(self, source: str, others: int, n_rows: int, often: str | None) -> InputError:
        """The error for rows that hold other labels or none, most often the label `often`."""
        shown = "nothing" if often is None else repr(often)
        hold = f"hold something else, most often {shown}"
        among = "" if self.labels is None else f" {', '.join(map(_text, self.labels))}"
        column = f"column {self.column!r} of {source}"
        remedy = "Remove or rename these, or add them to the problem."
        if often is None:
            remedy = "Remove these rows, or fill in their labels."
        if self.labels is None:  # any label will do
            hold, remedy = "hold nothing", f"Remove these rows, or fill in their {self.role}."
        elif often is not None and self.role == "decisions" and _NUMERIC.fullmatch(often):
            remedy = (
                "The column was read as text: if it holds probabilities, write numbers with a "
                "decimal point in every row."
            )
        return InputError(
            f"{column} must hold the {self.role}{among} in every row; {others} of {n_rows} rows "
            f"{hold}. {remedy}",
            argument=column,
        )


def spellings(labels: Sequence[Label]) -> dict[str, int]:
    """The texts that a file may hold for each label, and the position of that label.

    Each label is known by its own text. An integer is also known with ``.0`` appended, and 0, 1 and
    booleans as other programs write them, unless such a text is the name of another label.

    >>> spellings([0, 1])
    {'0': 0, '1': 1, '0.0': 0, 'false': 0, 'False': 0, '1.0': 1, 'true': 1, 'True': 1}
    """
    known = {_text(label): place for place, label in enumerate(labels)}
    for place, label in enumerate(labels):
        if isinstance(label, str) or (isinstance(label, float) and not isfinite(label)):
            continue
        others = [f"{int(label)}", f"{int(label)}.0"]
        if label in (0, 1):
            others += [str(bool(label)).lower(), str(bool(label))]
        for other in others:
            known.setdefault(other, place)
    return known


def group_labels(texts: Iterable[str]) -> dict[str, Label]:
    """The texts of groups in sorted order, with their labels; integers are labels of type int.

    >>> group_labels(["10", "9"]), list(group_labels(["10.5", "9"])), list(group_labels(["b", "9"]))
    ({'9': 9, '10': 10}, ['9', '10.5'], ['9', 'b'])
    """
    known = list(texts)
    # At most 18 digits fit into 64 bits; a leading zero (a postal code) is not a number.
    if all(re.fullmatch(r"0|-?[1-9]\d{0,17}", text) for text in known):
        return {text: int(text) for text in sorted(known, key=int)}
    numbers = all(re.fullmatch(r"-?\d+(\.\d+)?", text) for text in known)
    return {text: text for text in (sorted(known, key=float) if numbers else sorted(known))}


def groups_of(texts: npt.NDArray[Any]) -> tuple[list[Label], IntArray]:
    """The sorted labels of groups, and the position of every row's group; missing ones come last.

    >>> labels, places = groups_of(np.array(["b", None, "a"], dtype=object))
    >>> labels, places.tolist()
    (['a', 'b', '(missing)'], [1, 2, 0])
    """
    known = group_labels({text for text in texts.tolist() if isinstance(text, str)})
    place = {text: k for k, text in enumerate(known)}
    codes = np.array([place.get(text, len(known)) for text in texts.tolist()], dtype=np.intp)
    gaps = [_check.missing_label(list(known.values()))] if (codes == len(known)).any() else []
    return [*known.values(), *gaps], codes


def _text(label: Label) -> str:
    return str(label).lower() if isinstance(label, bool) else str(label)


def named_losses(losses: str | Sequence[str] | Mapping[str, str]) -> dict[str, str]:
    """The columns of losses by the names of these."""
    if isinstance(losses, Mapping):
        named = dict(losses)
    else:
        listed = [losses] if isinstance(losses, str) else losses
        named = {str(loss): str(loss) for loss in _check.labels("losses", listed)}
    if not all(isinstance(loss, str) for loss in named.values()):
        raise InputError(
            "losses must map names to columns, which are text; one is not. Name a column.",
            argument="losses",
        )
    if not named:
        raise InputError(
            "losses must name at least one column; there is none. Name one.", argument="losses"
        )
    return named
