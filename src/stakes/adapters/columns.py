"""Which column of a frame is what, and labels as text."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite
from typing import Any

import numpy as np
import numpy.typing as npt

from stakes import _check
from stakes._check import Label, Labels
from stakes._value import record
from stakes.errors import InputError
from stakes.evaluation import refuse_both
from stakes.problem import Problem
from stakes.rows import Decisions, Posteriors, Predicted, Scores
from stakes.tally import Labelled

# Labels as text: what a column may hold, how labels are spelled, and rows as codes ---------------
#
# Labels of files and of lazy frames are compared as text, and every row must have a known label.


@record
class LabelColumn:
    """A column of labels, and the labels that it may hold; None allows all.

    `opposite` are the decisions where it holds classes, and the classes where it holds decisions.
    """

    column: str
    role: str  # what the labels are, in words
    labels: Labels | None = None
    opposite: Labels = ()

    def refused(self, source: str, others: int, n_rows: int, often: str | None) -> InputError:
        """The error for rows that hold other labels or none, most often the label `often`."""
        shown = "nothing" if often is None else repr(often)
        hold, what = "holds" if others == 1 else "hold", f"something else, most often {shown}"
        among = "" if self.labels is None else f" {', '.join(map(_text, self.labels))}"
        column = f"column {self.column!r} of {source}"
        if self.labels is None:  # any label will do
            what = "nothing"
        if others == n_rows and often is None and self.labels is not None:
            remedy = "The column is empty: name another, or fill it in."
        elif self.role == "classes" and _check.is_blank(often):
            remedy = _check.UNLABELLED
        elif self.labels is None:
            remedy = f"Remove these rows, or fill in their {self.role}."
        elif often is not None:
            remedy = self._remedy(often, self.labels)
        else:
            remedy = "Remove these rows, or fill in their labels."
        return InputError(
            f"{column} must hold the {self.role}{among} in every row; {others} of {n_rows} rows "
            f"{hold} {what}. {remedy}",
            argument=column,
        )

    def _remedy(self, often: str, labels: Labels) -> str:
        """What to do about rows whose label is none of these."""
        opposite = spellings(self.opposite)
        if self.role != "decisions":
            advice = _check.for_no_class(often, opposite)
        elif often not in opposite and _check.reads_as_number(often):
            return (
                "The column was read as text: if it holds probabilities, write numbers with a "
                f"decimal point in every row{', percentages divided by 100' * ('%' in often)}."
            )
        else:
            advice = _check.for_no_decision(often, labels, opposite)
        return advice or "Remove or rename these, or add them to the problem."


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


def _text(label: Label) -> str:
    return str(label).lower() if isinstance(label, bool) else str(label)


def shorter_times(*, dated: bool, zoned: bool) -> list[tuple[str, str]]:
    """Patterns and their replacements, which make the text of a time as short as numpy's.

    Some engines write fractions of zero, seconds of zero and midnight, others leave them out. Text
    with a time zone ends with its offset, which is removed.
    """
    zone = [(r"(Z|[+-]\d\d(:?\d\d)?)$", "")] if zoned else []
    date = [(" ", "T"), (":00$", ""), ("T00:00$", "")] if dated else []
    return [*zone, (r"\.0+$", ""), *date]


def text_name(column: str) -> str:
    """The name of the column that holds the labels of another column as text."""
    return f"_stakes_text_{column}"


# Labels in memory ---------------------------------------------------------------------------------


@record
class Coded:
    """A column of labels: the distinct labels, and for every row the position of its label.

    A row without a label has the position −1.
    """

    codes: npt.NDArray[np.int32]
    categories: tuple[Label, ...]

    def __len__(self) -> int:
        return len(self.codes)


class Coder:
    """Collects the codes of a column of known labels, block by block; blocks are those of Arrow."""

    def __init__(self, column: LabelColumn, n_rows: int) -> None:
        self.codes = np.empty(n_rows, dtype=np.int32)
        self._column = column
        self._places = spellings(column.labels or ())
        self._others: Counter[str | None] = Counter()

    def add(self, rows: slice, column: Any) -> None:
        """Encode a block of texts; those that are unknown or missing are counted."""
        encoded = column.dictionary_encode()
        texts = encoded.dictionary.to_pylist()
        # A lookup by dictionary codes touches each distinct label once instead of every row.
        lookup = np.array([*(self._places.get(text, -1) for text in texts), -1], dtype=np.int32)
        places = encoded.indices.fill_null(len(texts)).to_numpy()
        self.codes[rows] = lookup[places]
        if lookup[:-1].min(initial=0) < 0 or encoded.null_count:
            sizes = np.bincount(places, minlength=len(texts) + 1).tolist()
            self._others.update(
                {t: n for t, n, k in zip([*texts, None], sizes, lookup, strict=True) if n and k < 0}
            )

    def coded(self, source: str) -> Coded:
        """All rows as codes; labels that are unknown or missing are an error."""
        column = self._column
        if self._others:
            [(often, _)] = self._others.most_common(1)
            raise column.refused(source, self._others.total(), len(self.codes), often)
        return Coded(self.codes, column.labels or ())


class GroupCoder:
    """Collects a column of groups, block by block; blocks are arrays of PyArrow."""

    def __init__(self, argument: str) -> None:
        self._argument = argument
        self._blocks: list[Any] = []

    def add(self, column: Any) -> None:
        """Encode a block, so that each row takes four bytes; Arrow joins no codes of nothing."""
        column = column.cast("string") if column.type == "null" else column
        is_coded = hasattr(column.type, "index_type")
        self._blocks.append(column if is_coded else column.dictionary_encode())

    def coded(self, typed: Callable[[Any], Any]) -> Coded:
        """All rows as codes of their groups; `typed` gives distinct values their type."""
        import pyarrow as pa

        whole = pa.chunked_array(self._blocks).unify_dictionaries().combine_chunks()
        known = _check.groups(self._argument, typed(whole.dictionary))
        codes = np.append(known.codes, -1).astype(np.int32)
        return Coded(codes[whole.indices.fill_null(len(known.codes)).to_numpy()], known.labels)


# Which column of a frame is what -----------------------------------------------------------------


class NumbersColumn(Scores):
    """The column of finite numbers that are summed, such as the losses of the cases."""


Key = tuple[str, str]  # an argument, and the name of the model or column within it, or ""


@dataclass(frozen=True)
class Columns:
    """Which column of a frame is what; ``evaluate_frame(frame, problem, **columns)`` takes it.

    Parameters
    ----------
    y_true : the column of the true classes
    models : a mapping from the name of a model to its predictions
        `Posteriors`, `Decisions` or `Scores` over names of columns
    weights : the column of the sampling weights: how many cases each row stands for
    by : the columns whose groups the report shows one by one
    clusters : the column of what was sampled together
    key : the column of whole numbers from which folds are made
    copies : the column of whole numbers that say how often each row occurred
    """

    y_true: str
    models: Mapping[str, Predicted] = field(default_factory=dict)
    weights: str | None = None
    by: tuple[str, ...] = ()
    clusters: str | None = None
    key: str | None = None
    copies: str | None = None

    @classmethod
    def guess(
        cls,
        frame: Any,
        problem: Problem,
        *,
        y_true: str | None = None,
        models: Mapping[str, Any] | None = None,
        weights: str | None = None,
        by: str | Sequence[str] | None = None,
        clusters: str | None = None,
        key: str | None = None,
        copies: str | None = None,
    ) -> Columns:
        """Guess the columns of the true classes and of the models from names and values.

        A guess that is not safe is refused, with the columns among which to choose. A model has
        the name of its column, without `p_`, `prob_`, `proba_` or `score_` if all begin with it.

        Parameters
        ----------
        frame : frame, relation or path
            Whatever `stakes.evaluate_frame` takes.
        problem : Problem
            What is at stake; its labels help to find the columns.
        y_true, models : as in `stakes.evaluate_frame`; guessed if left out
        weights, by, clusters, key, copies : the columns of the weights, the groups, the clusters,
            the key and the copies, which are no candidates for a guess

        Returns
        -------
        Columns
            The columns that were stated, and guesses for the others.

        Examples
        --------
        >>> import pyarrow as pa
        >>> from stakes import Columns, Problem
        >>> frame = pa.table({"label": ["well", "ill"], "age": [60, 70], "p_new": [0.1, 0.8]})
        >>> columns = Columns.guess(frame, Problem.zero_one(["well", "ill"]))
        >>> columns.y_true, columns.models["new"].values
        ('label', 'p_new')
        """
        from stakes.adapters.checked_columns import guess

        return guess(frame, problem, y_true, models, weights, by, clusters, key, copies)

    @classmethod
    def read_names(
        cls,
        y_true: Any,
        models: Any,
        weights: Any,
        by: Any,
        clusters: Any,
        key: Any,
        copies: Any,
    ) -> Columns:
        """The columns, after a check that their names are texts and that models have names."""
        _check.require("models", models, Mapping, "Map each model's name to its column or columns.")
        if by is not None and not isinstance(by, str):
            _check.require("by", by, Sequence, "Name a column, or list several.")
        groups = (by,) if isinstance(by, str) else tuple(by or ())
        refuse_both(weights, copies)
        single = {"weights": weights, "clusters": clusters, "key": key, "copies": copies}
        for name, column in [*single.items(), *(("by", group) for group in groups)]:
            if column is not None:
                _check.require(name, column, str, "Columns are named by text.")
        return cls(y_true, models, weights, groups, clusters, key, copies)

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
            ("models", name): prediction_columns(model)
            for name, model in self.models.items()
            if not isinstance(model, Decisions)
        }
        return numbers | {(name, ""): (column,) for name, column in self.multiplier.items()}

    @property
    def multiplier(self) -> dict[str, str]:
        """The column of the weights or of the copies, by the argument that names it."""
        either = {"weights": self.weights, "copies": self.copies}
        return {name: column for name, column in either.items() if column is not None}

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

    def needed(self, problem: Problem) -> list[str]:
        """The names of all columns that are read, each once.

        Parameters
        ----------
        problem : Problem
            What is at stake; its costs may be expressions of columns.

        Returns
        -------
        list of str
            Columns of numbers, then of labels, of groups, and the key.
        """
        names = [column for group in self.read(problem).values() for column in group]
        names += [known.column for known in self.labels(problem).values()]
        names += [*self.groups, *([] if self.key is None else [self.key])]
        return list(dict.fromkeys(names))

    def labels(self, problem: Labelled) -> dict[Key, LabelColumn]:
        """Columns of classes and decisions, by the argument that they belong to.

        Parameters
        ----------
        problem : Problem or other labelled value
            Holds the labels of classes and decisions.

        Returns
        -------
        dict
            From an argument and a name within it to the column and the labels that it may hold.
        """
        _check.require("problem", problem, Labelled)
        classes, decisions = problem.classes, problem.decisions
        labels = {("y_true", ""): LabelColumn(self.y_true, "classes", classes, decisions)}
        for name, model in self.models.items():
            if isinstance(model, Decisions):
                labels["models", name] = LabelColumn(model.values, "decisions", decisions, classes)
        return labels

    @property
    def groups(self) -> dict[str, str]:
        """Columns of groups and of clusters, and the argument that each belongs to."""
        clusters = {} if self.clusters is None else {self.clusters: "clusters"}
        return clusters | {column: f"by[{column!r}]" for column in self.by}

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
        return n_rows * (8 * numbers + 4 * (len(self.labels(problem)) + len(self.groups)))

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
            model_argument(name): prediction_columns(model) for name, model in self.models.items()
        }
        named |= {argument: (column,) for column, argument in self.groups.items()}
        named |= {"by": self.by} if len(self.by) == 1 else {}
        single = {"y_true": self.y_true, "weights": self.weights, "clusters": self.clusters}
        single |= {"key": self.key, "copies": self.copies}
        named |= {name: (column,) for name, column in single.items() if column is not None}
        if error.argument not in named:
            return error
        columns = named[error.argument]
        listed = f"column{'s' * (len(columns) > 1)} {', '.join(map(repr, columns))} of {source}"
        return error.renamed(f"{error.argument} ({listed})", argument=error.argument)


def prediction_columns(model: Predicted) -> tuple[str, ...]:
    """The names of the columns of a model, in the order of the classes."""
    return (model.values,) if isinstance(model.values, str) else tuple(model.values)


def named_after_classes(columns: tuple[str, ...], problem: Problem) -> tuple[str, ...]:
    """Columns by name where these are the names of the classes; others stay in their order."""
    names = tuple(map(str, problem.classes))
    return names if set(columns) == set(names) else columns


def group_name(column: str) -> str:
    """The name of the column that holds the groups of another column, as its engine has them."""
    return f"_stakes_group_{column}"


def key_name(column: str) -> str:
    """The name of the column that holds the keys of another column as 64-bit integers."""
    return f"_stakes_key_{column}"


def no_key(gaps: int, n_rows: int) -> InputError:
    """The error for rows without a key."""
    return InputError(
        f"key must hold a whole number in every row; {_check.those(gaps, n_rows)} missing. Remove "
        f"these rows, or fill them in."
    )


def model_argument(name: str) -> str:
    """The name of a model of the mapping `models` in messages."""
    return f"models[{name!r}]"


def model_phrase(name: str, model: Predicted, problem: Problem) -> str:
    """A phrase that says which columns hold the predictions of a model."""
    columns = prediction_columns(model)
    if not isinstance(model, Posteriors):
        return f"{name}: {type(model).__name__.lower()} in column {columns[0]}"
    classes = problem.classes[-1:] if len(columns) == 1 else problem.classes
    parts = (f"P({c}) in {column}" for c, column in zip(classes, columns, strict=True))
    return f"{name}: {', '.join(parts)}"


def named_losses(losses: str | Sequence[str] | Mapping[str, str]) -> dict[str, str]:
    """The columns of losses by the names of these."""
    if isinstance(losses, Mapping):
        named = dict(losses)
    else:
        listed = [losses] if isinstance(losses, str) else losses
        named = {str(loss): str(loss) for loss in _check.labels("losses", listed)}
    if not all(isinstance(loss, str) for loss in named.values()):
        raise InputError(
            "losses must map names to columns, which are text; one is not. Name a column."
        )
    if not named:
        raise InputError("losses must name at least one column; there is none. Name one.")
    return named
