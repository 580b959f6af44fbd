"""Which column of a frame is what."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from stakes import _check
from stakes.adapters.label_texts import LabelColumn
from stakes.errors import InputError
from stakes.evaluation import refuse_both
from stakes.problem import Problem
from stakes.rows import Decisions, Posteriors, Predicted, Scores
from stakes.tally import Labelled


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
