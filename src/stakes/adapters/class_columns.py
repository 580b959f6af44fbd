"""Which columns hold the posteriors of which class, by their names."""

from __future__ import annotations

import re
from collections.abc import Collection

from stakes.adapters.columns import named_after_classes, prediction_columns
from stakes.adapters.label_texts import spellings
from stakes.adapters.sources import Source
from stakes.errors import InputError
from stakes.problem import Problem
from stakes.rows import Posteriors

PROBABLE = {  # the first or last word in the name of a column of probabilities
    *("p", "prob", "probs", "proba", "probability", "posterior", "posteriors"),
    *("score", "scores"),
}


def in_class_order(posteriors: Posteriors, source: Source, problem: Problem) -> Posteriors:
    """The columns of posteriors: one for each class in order, or that of the second of two.

    Where it is stated, or said by the names of the columns, which class each belongs to, the
    posteriors have the classes of the problem.
    """
    columns = tuple(
        source.require_number(column, "models") for column in prediction_columns(posteriors)
    )
    classes = problem.classes
    if len(columns) == 1 and problem.n_classes == 2:
        if posteriors.classes is None:
            return Posteriors(columns[0], classes if _says_second(columns[0], problem) else None)
        if posteriors._order("models", classes) != [0, 1]:
            raise InputError(
                f"a single column of posteriors must be P({classes[1]}); {columns[0]!r} is "
                f"P({classes[0]}) by its classes. Add a column with 1 − {columns[0]}.",
                argument="models",
            )
        return Posteriors(columns[0], classes)
    if len(columns) != problem.n_classes:
        raise InputError(
            f"a model must have one column for each of the {problem.n_classes} classes "
            f"({', '.join(map(str, problem.classes))}); {','.join(columns)} is {len(columns)}. "
            f"Name as many.",
            argument="models",
        )
    if posteriors.classes is not None:
        order = posteriors._order("models", classes)
        return Posteriors(tuple(columns[k] for k in order), classes)
    is_named = all(
        _is_named(column, spellings([label]))
        for column, label in zip(named_after_classes(columns, problem), classes, strict=True)
    )
    return Posteriors(named_after_classes(columns, problem), classes if is_named else None)


def _says_second(column: str, problem: Problem) -> bool:
    """Whether a name says that the column is of the second class, as p_fraud and p_1 do.

    A number after anything else may be a version.
    """
    *first, last = words_of(column)
    seconds = {text.lower() for text in spellings(problem.classes[1:])}
    return last in seconds and (not last.isdigit() or PROBABLE.issuperset(first))


def posterior_columns(listed: str, source: Source, problem: Problem) -> Posteriors:
    """The columns of posteriors of one model, in the order of the classes.

    They are stated as COLUMN (the probability of the second of two classes), as COLUMN,COLUMN,… or
    as the common prefix of columns called PREFIX_CLASS. Columns that are named after the classes
    are put in order by their names.
    """
    if listed in source.types:
        columns: tuple[str, ...] = (listed,)
    else:
        columns = named_after(f"{listed}_", source.types, problem) or tuple(listed.split(","))
    ordered = in_class_order(Posteriors(columns), source, problem)
    if len(columns) == 1:
        return ordered
    by_name = tuple(
        matches[0]
        for label in problem.classes
        if len(matches := [c for c in columns if _is_named(c, spellings([label]))]) == 1
    )
    return Posteriors(by_name, problem.classes) if len(set(by_name)) == len(columns) else ordered


def _is_named(column: str, names: Collection[str]) -> bool:
    return any(column == name or column.endswith(f"_{name}") for name in names)


def words_of(column: str) -> list[str]:
    """The words and numbers of a name; one empty word where there are none."""
    return re.findall(r"[^\W_]+", column.lower()) or [""]


def named_after(start: str, names: Collection[str], problem: Problem) -> tuple[str, ...]:
    """The names that are START and a class, one for each class, or () where one is missing."""
    columns = tuple(
        next((name for end in spellings([label]) if (name := f"{start}{end}") in names), None)
        for label in problem.classes
    )
    return tuple(column for column in columns if column is not None) if None not in columns else ()
