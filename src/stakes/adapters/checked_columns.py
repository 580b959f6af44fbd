"""The columns of an evaluation, after a check that each holds what it should."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from stakes.errors import InputError, extra

with extra("frames", "a frame"):  # before the files of this room that need it, too
    import narwhals.stable.v2 as nw
    import pyarrow as pa

from stakes import _check
from stakes._check import IntArray, Label
from stakes.adapters.columns import (
    Columns,
    model_phrase,
    named_after_classes,
    prediction_columns,
    spellings,
)
from stakes.adapters.sources import Source, opened
from stakes.evaluation import RepeatedColumn, read_cases, repeats_caveat
from stakes.problem import Problem
from stakes.report import LEFT_OUT, Report
from stakes.rows import Decisions, Posteriors, Predicted

# Which columns hold the posteriors of which class, by their names --------------------------------

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


# The columns of an evaluation, after a check that each holds what it should ----------------------

_TEXTS = ("String", "Categorical", "Enum")
_FIRST = 1000  # rows that show what a column may be
_WIDE = ("UInt64", "Int128", "UInt128")  # may exceed 2⁶³ − 1


def checked(columns: Columns, source: Source, problem: Problem) -> Columns:
    """The columns with models in a common form, after a check that each holds what it should."""
    if not columns.models:
        raise InputError("models must hold at least one model; there is none. Name one.")
    by = columns.by
    require_cases(columns, source)
    source.require_costs(problem)
    for column in by:
        if by.count(column) > 1:
            raise InputError(
                f"by must name every column once; {column!r} appears twice. Name it once."
            )
    models = {
        str(name): model(predictions, source, problem)
        for name, predictions in columns.models.items()
    }
    if columns.key is not None:
        _require_key(columns, source)
    return replace(columns, models=models)


def require_cases(columns: Columns, source: Source) -> None:
    """Check that the columns of classes, groups, clusters and weights exist and hold these."""
    source.require_label(columns.y_true, "y_true")
    for column in columns.by:
        source.require_group(column, "by")
    if columns.clusters is not None:
        source.require_group(columns.clusters, "clusters")
    for argument, column in columns.multiplier.items():
        source.require_number(column, argument)


def _require_key(columns: Columns, source: Source) -> None:
    if not source.is_whole(source.require(columns.key, "key")):
        raise InputError(
            f"key must be a column of whole numbers; {columns.key!r} of {source.name} is "
            f"of type {source.types[columns.key or '']}. Number the cases, or what belongs "
            f"together."
        )
    # The largest key takes a pass over the rows, which most types do not need.
    is_wide = str(source.types[columns.key or ""]) in _WIDE
    if is_wide and (most := source.most(columns.key or "")) >= 1 << 63:
        raise InputError(
            f"key must hold whole numbers below 2⁶³; the largest in {columns.key!r} of "
            f"{source.name} is {most}. Take half of each, or number the cases."
        )
    if columns.clusters not in (None, columns.key):
        raise InputError(
            f"key must be the column of the clusters {columns.clusters!r}, which stay in one fold; "
            f"got {columns.key!r}. Name the same column."
        )


def model(columns: Any, source: Source, problem: Problem) -> Predicted:
    """The predictions of a model: the type of a bare column decides; several are posteriors."""
    if isinstance(columns, str):
        known = source.require(columns, "models")
        is_probable = _holds_probabilities(known, source, problem)
        columns = Posteriors(known) if is_probable else Decisions(known)
    if isinstance(columns, list | tuple):
        columns = Posteriors(columns)
    if not isinstance(columns, Predicted):
        raise InputError(
            f"models must map names to columns, which are text or Posteriors, Decisions or Scores "
            f"of text; got {type(columns).__name__}. Write {{'new': 'p_new'}}."
        )
    if isinstance(columns, Posteriors):
        return in_class_order(columns, source, problem)
    names = prediction_columns(columns)
    if len(names) != 1:
        raise InputError(
            f"{type(columns).__name__} must be in one column; {', '.join(names)} are {len(names)}. "
            f"Name one.",
            argument="models",
        )
    require = source.require_label if isinstance(columns, Decisions) else source.require_number
    return type(columns)(require(names[0], "models"))


def _holds_probabilities(column: str, source: Source, problem: Problem) -> bool:
    """Whether a column can hold probabilities; integers cannot where decisions are integers."""
    # Probabilities may all be 0 or 1, and then a file has them as whole numbers.
    if source.is_whole(column):
        return not all(text.lstrip("-").isdigit() for text in map(_spelled, problem.decisions))
    return source.is_fraction(column)


def _spelled(label: object) -> str:
    return str(int(label)) if isinstance(label, bool) else str(label)


NOT_MEANT = (
    " The column was guessed to be a model by its name: to leave it out, name all models that you "
    "want."
)

_TRUTHS = ("truth", "label", "y", "y_true", "target", "class")
_PREFIXES = ("p_", "prob_", "proba_", "score_")  # which say what a column holds, not which model


def guess(frame: Any, problem: Problem, y_true: Any, models: Any, *others: Any) -> Columns:
    """The columns that were stated, and guesses for those that are None; see `Columns.guess`."""
    _check.require("problem", problem, Problem)
    if y_true is not None:
        _check.require("y_true", y_true, str, "Columns are named by text.")
    stated = Columns.read_names(y_true or "", {} if models is None else models, *others)
    with opened(frame) as source:
        named = stated.models.items()
        models = {str(name): model(each, source, problem) for name, each in named}
        for argument, column in stated.multiplier.items():
            source.require_number(column, argument)
        if stated.y_true != "":
            source.require(stated.y_true, "y_true")
        known = replace(stated, models=models)
        used = {*known.needed(problem)} - {""}  # named, and so no candidates for a guess
        guesses, left = [], ""
        if known.y_true == "":
            known = replace(known, y_true=_guessed_truth(source, problem, used))
            guesses.append(f"truth in column {known.y_true}")
        if not models:
            likely = _guessed_models(source, problem, used | {known.y_true})
            known = replace(known, models=likely)
            guesses += [model_phrase(name, each, problem) for name, each in likely.items()]
            left = _left(source, problem, known.needed(problem))
        if guesses:
            source.watch.says(f"guessed from {source.name}: {'; '.join(guesses)}.{left}")
        return known


def _left(source: Source, problem: Problem, used: Collection[str]) -> str:
    """A sentence about all columns that were not read, where some are likely to be models.

    These hold fractions, or the labels of decisions.
    """
    unread = [name for name in source.types if name not in used]
    likely = [name for name in unread if source.is_fraction(name)]
    likely += _decided(source, problem, unread)
    others = [*likely, *(name for name in unread if name not in likely)]
    more = f" and {len(others) - 5} more" if len(others) > 5 else ""
    listed = f"{', '.join(others[:5])}{more}"
    return f" Not read: {listed}; if one is a model, name all." if likely else ""


def _decided(source: Source, problem: Problem, columns: Sequence[str]) -> list[str]:
    """Those of the columns of text whose first entries, gaps aside, are all decisions."""
    odd = set(".`") if source.engine == "spark" else set[str]()  # in names, which Spark misreads
    texts = [name for name in columns if str(source.types[name]).startswith(_TEXTS)]
    read = {name: source.text(name) for name in texts if not odd & set(name)}
    if not read:
        return []
    with source.engine_errors():
        first = source.frame.lazy().head(_FIRST).select(**read).collect()
    entries = {name: set(first[name].to_list()) - {None} for name in read}
    known = set(spellings(problem.decisions))
    return [name for name, labels in entries.items() if labels and labels <= known]


def _guessed_truth(source: Source, problem: Problem, used: Collection[str]) -> str:
    """The column of the true classes, found by its name or its values."""
    free = [column for column in source.types if column not in used]
    named = [column for column in free if column.lower() in _TRUTHS]
    if len(named) == 1:
        return named[0]
    labels = [column for column in named or free if not source.is_fraction(column)]
    candidates = [column for column in labels if _holds_classes(source, column, problem.classes)]
    if len(candidates) == 1:
        return candidates[0]
    listed = ", ".join(map(str, problem.classes[:8]))
    beside = ", beside those that are named," if used else ""
    what = f"{len(candidates)} columns hold" if candidates else f"no column{beside} holds exactly"
    raise InputError(
        f"y_true cannot be guessed: {what} the classes {listed}"
        f"{' (' + ', '.join(candidates) + ')' if candidates else ''}. "
        f"Name the column of the true classes.",
        argument="y_true",
    )


def _holds_classes(source: Source, column: str, classes: Sequence[Label]) -> bool:
    known = spellings(classes)
    values = source.distinct(column, len(classes))
    return values is not None and {known.get(value, -1) for value in values} == set(
        range(len(classes))
    )


# Models ------------------------------------------------------------------------------------------


def _guessed_models(
    source: Source, problem: Problem, excluded: Collection[str]
) -> dict[str, Predicted]:
    """The models that the names of columns suggest, or else the only column of probabilities."""
    free = [column for column in source.types if column not in excluded]
    models = list(_several_columns(source, problem, free))
    used = {column for _, columns in models for column in columns}
    if problem.n_classes == 2:
        unused = [column for column in free if column not in used]
        models += [
            (column, (column,)) for column in _single_columns(source, problem, unused, bool(models))
        ]
    if not models:
        shape = "numbers in [0, 1]" if problem.n_classes == 2 else "columns named NAME_CLASS"
        raise InputError(
            f"models cannot be guessed: there are no {shape} in {source.name} beside the true "
            f"classes. Name the columns of the predictions; those of decisions, too, are models.",
            argument="models",
        )
    _refuse_text(source, [column for _, columns in models for column in columns])
    names = _without_prefix([name for name, _ in models], problem)
    return {
        name: in_class_order(Posteriors(columns), source, problem)
        for name, (_, columns) in zip(names, models, strict=True)
    }


def _without_prefix(names: list[str], problem: Problem) -> list[str]:
    """Names without the word for a probability that all begin with: p_forest is of the forest.

    Where a class or a number would remain, as of p_fraud and p_1, the names stay whole.
    """
    classes = {text.lower() for text in spellings(problem.classes)}
    for prefix in _PREFIXES:
        rests = [name[len(prefix) :] for name in names if name.lower().startswith(prefix)]
        of_models = all(rest[:1].isalpha() and classes.isdisjoint(words_of(rest)) for rest in rests)
        if len(rests) == len(names) and of_models:
            return rests
    return names


def _refuse_text(source: Source, columns: Sequence[str]) -> None:
    for column in columns:
        try:
            source.require_number(column)
        except InputError as error:
            of_column = error.argument not in (None, source.name)  # no rows is not its fault
            raise InputError(f"{error}{NOT_MEANT * of_column}") from None


def _several_columns(
    source: Source, problem: Problem, free: Sequence[str]
) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Models with one column for each class: NAME_CLASS, NAME_0 and so on, or CLASS alone."""
    for name in _stems(free, problem):
        columns = named_after(f"{name}_", source.types, problem)
        if set(columns) - set(free) or not _may_be_model(name, columns, source, problem):
            continue
        if columns:
            yield name, columns
        else:
            _refuse_partial(name, source, problem, free)
    for name in _stems_of_numbers(free, problem):
        yield name, _in_sorted_order(name, source, problem)
    classes = named_after("", free, problem)
    if classes and _may_be_model("", classes, source, problem):
        yield "model", classes


def _stems(columns: Sequence[str], problem: Problem) -> list[str]:
    """What stands before _CLASS in names of columns, each once."""
    suffixes = tuple(f"_{text}" for text in spellings(problem.classes))
    cut = {c[: -len(s)]: None for c in columns for s in suffixes if c.endswith(s)}
    return [stem for stem in cut if stem and stem.lower() not in _TRUTHS]


def _may_be_model(name: str, columns: Sequence[str], source: Source, problem: Problem) -> bool:
    """Whether columns NAME_CLASS belong to a model.

    Where classes are numbers, features such as x_0 and x_1 have such names, too, so that the word
    for a probability or the type of a column must confirm it.
    """
    words = all(isinstance(label, str) and not label.isdigit() for label in problem.classes)
    return words or not columns or _says_probability(name) or any(map(source.is_fraction, columns))


def _refuse_partial(name: str, source: Source, problem: Problem, free: Sequence[str]) -> None:
    """Refuse a model that has columns for most of the classes, but not for all of them."""
    missing: list[str] = []
    present: list[str] = []
    for label in problem.classes:
        columns = [column for end in spellings([label]) if (column := f"{name}_{end}") in free]
        (present if columns else missing).extend(columns or [f"{name}_{label}"])
    inside = source.within_unit([column for column in present if source.is_fraction(column)])
    if 2 * len(present) > problem.n_classes and len(inside) == len(present):
        raise InputError(
            f"a model must have one column for each class: {source.name} has {', '.join(present)}, "
            f"and no {', '.join(missing)}. Add it, or name the models that are meant."
        )


def _stems_of_numbers(columns: Sequence[str], problem: Problem) -> list[str]:
    """Names followed by numbers from 0, one for each class, as in proba_0 and proba_1."""
    places: dict[str, set[str]] = {}
    for column in columns:
        stem, _, end = column.rpartition("_")
        if end.isdigit() and _says_probability(stem):
            places.setdefault(stem, set()).add(end)
    numbers = {str(place) for place in range(problem.n_classes)}
    # If classes have these numbers as names, NAME_0 and NAME_1 were matched as NAME_CLASS.
    if numbers <= set(spellings(problem.classes)):
        return []
    return [stem for stem, numbered in places.items() if numbered == numbers]


def _in_sorted_order(name: str, source: Source, problem: Problem) -> tuple[str, ...]:
    """Numbered columns; the classes must be sorted, as scikit-learn numbers them."""
    columns = tuple(f"{name}_{place}" for place in range(problem.n_classes))
    ranked = sorted(problem.classes, key=lambda label: (isinstance(label, str), label))
    if list(problem.classes) == ranked:
        return columns
    by_name = ",".join(columns[ranked.index(label)] for label in problem.classes)
    raise InputError(
        f"the columns {', '.join(columns)} of {source.name} must be in a known order; they are "
        f"numbered, and the classes of the problem ({', '.join(map(str, problem.classes))}) are "
        f"not in sorted order. If {columns[0]} is P({ranked[0]}), as scikit-learn sorts classes, "
        f"name them in the order {by_name}; if it is P({problem.classes[0]}), in the order "
        f"{','.join(columns)}."
    )


def _single_columns(
    source: Source, problem: Problem, free: Sequence[str], others: bool
) -> list[str]:
    """Columns of P(second class): those whose names say so, or the only one that can be it."""
    first, second = problem.classes
    named = [column for column in free if column == second or _says_probability(column)]
    for column in named:
        _refuse_other_kinds(column, first, second, source, problem)
    if named or others:
        return named
    likely = source.within_unit([column for column in free if source.is_fraction(column)])
    if len(likely) > 1:
        listed = ", ".join(likely[:8]) + ", …" * (len(likely) > 8)
        raise InputError(
            f"models cannot be guessed: {len(likely)} columns of {source.name} hold numbers in "
            f"[0, 1] ({listed}), and no name says that they are probabilities. Name those that "
            f"are.",
            argument="models",
        )
    for column in likely:
        _refuse_other_kinds(column, first, second, source, problem)
    return likely


def _refuse_other_kinds(
    column: str, first: Label, second: Label, source: Source, problem: Problem
) -> None:
    """Refuse probabilities of the first class, and integers that may be decisions."""
    if _speaks_of_first(column, first, second):
        raise InputError(
            f"column {column!r} of {source.name} must hold P({second}); its name speaks of the "
            f"first class, {first}. Add a column with 1 − {column} under a name of {second}."
            f"{NOT_MEANT}"
        )
    if source.is_whole(column) and not _holds_probabilities(column, source, problem):
        raise InputError(
            f"column {column!r} of {source.name} must hold probabilities to be a model by its "
            f"name; it holds whole numbers. If they are decisions, name it as a model; if they are "
            f"raw scores, name it as scores.{NOT_MEANT}"
        )


def _speaks_of_first(column: str, first: Label, second: Label) -> bool:
    """Whether the name of a column says that it holds probabilities of the first class.

    The last word decides. Elsewhere in a name, numbers tell nothing: they may be versions.
    """
    firsts, seconds = ({end.lower() for end in spellings([label])} for label in (first, second))
    *words, last = words_of(column)
    inside = {word for word in words if not word.isdigit()}
    return last not in seconds and (last in {*firsts, "0"} or not firsts.isdisjoint(inside))


def _says_probability(column: str) -> bool:
    """Whether a name suggests probabilities, which p_value and p_id do not."""
    words = words_of(column)
    if words[:1] == ["p"] and words[-1] in ("value", "values", "id"):
        return False
    return not PROBABLE.isdisjoint({*words[:1], *words[-1:]})


# Columns of a frame that nobody used, in its first rows ------------------------------------------

_MOST_ROWS = 10_000  # the first of the frame or file, in which values are looked at
_MOST_COLUMNS = 30  # the first of those that may be clusters
_TEXT_TYPES = (nw.String, nw.Categorical, nw.Enum)
_FEW, _FEWEST = 1000, 40  # rows of a first look, and the distinct values that it needs
_SIZE = "size"


def with_repeats(report: Report, source: Source, columns: Columns, problem: Problem) -> Report:
    """The report, with a caveat where rows that share a value of an unused column are alike.

    The first 10,000 rows are decided by the rule of the cheapest system. Where there are more, a
    column that looks suspicious in these takes one pass over all, which counts its values.
    """
    unused = _unused(source, columns, problem)
    if not unused:
        return report
    needed = columns.needed(problem)
    texts = [known.column for known in columns.labels(problem).values()]
    first = source.first([*needed, *unused], _MOST_ROWS, texts)  # as `rows` reads labels
    encoded = {name: _encoded(first, name, whole=source.is_whole(name)) for name in unused}
    encoded = {name: column for name, column in encoded.items() if _may_repeat(column.codes)}
    if not encoded:
        return report
    first = first.select(*dict.fromkeys(needed))
    rows = Source(source.name, dict(first.schema), first).rows(columns, problem, len(first))
    cases = read_cases(rows.y_true, problem.with_limits(None), rows.weights, None, None, rows.data)

    def decide(system: str) -> IntArray:
        rule = report.rule(system)
        decided = rule.decision_indices(rows.models[rule.model], rows.data)
        return np.asarray(cases.rows(decided))

    repeated = {
        name: RepeatedColumn(cases.rows(column.codes), cases.rows(column.values))
        for name, column in encoded.items()
    }
    growth = partial(_growth, source, report.assumptions.n_rows, repeated)
    caveat = repeats_caveat(report, cases, decide, repeated, growth)
    if caveat is None:
        return report
    kept = [note for note in report.caveats if note.kind != LEFT_OUT]
    others = [note for note in report.caveats if note.kind == LEFT_OUT]
    return replace(report, caveats=(*kept, caveat, *others))


def _unused(source: Source, columns: Columns, problem: Problem) -> list[str]:
    """The first columns of text or whole numbers that nobody used; none where clusters are."""
    if columns.clusters is not None:
        return []
    used = {*columns.needed(problem)}
    free = [name for name in source.types if isinstance(name, str) and name not in used]
    likely = [name for name in free if source.is_whole(name) or source.types[name] in _TEXT_TYPES]
    return likely[:_MOST_COLUMNS]


def _may_repeat(codes: IntArray) -> bool:
    """Whether a column may have a hundred values, none in more than 2 % of the rows.

    Of a thousand rows, such a column hardly ever has fewer than fifty values.
    """
    some = codes[:: max(1, len(codes) // _FEW)]
    return np.unique(some).size >= min(_FEWEST, len(some) // 2)


def _encoded(first: nw.DataFrame[Any], column: str, *, whole: bool) -> RepeatedColumn:
    """The values of a column of text or whole numbers."""
    series = first[column]
    if first.implementation.is_pandas() and not whole:  # half the time that Arrow takes for text
        return RepeatedColumn(series.to_native().factorize()[0], None)
    values = pa.chunked_array(series.to_arrow()).combine_chunks()
    indices = values.dictionary_encode().indices
    codes = np.asarray(indices.fill_null(-1), dtype=np.intp)
    numbers = np.asarray(values.fill_null(0), dtype=np.float64) if whole else None
    return RepeatedColumn(codes, numbers)


def _growth(
    source: Source, n_rows: int, repeated: Mapping[str, RepeatedColumn], column: str
) -> float:
    """How many pairs of equal values there are for each row, over the same in the first rows."""
    sizes = np.bincount(repeated[column].codes + 1)[1:].astype(np.float64)
    if len(repeated[column].codes) >= n_rows:
        return 1.0
    counted = source.frame.lazy().filter(~nw.col(column).is_null()).group_by(column)
    size = nw.col(_SIZE).cast(nw.Float64)
    with source.engine_errors():
        sums = counted.agg(nw.len().alias(_SIZE)).select((size * (size - 1.0)).sum()).collect()
    pairs = float(sums[_SIZE][0])
    return pairs / n_rows / (float(sizes @ (sizes - 1)) / len(repeated[column].codes))
