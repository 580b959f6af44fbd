"""Predictions in a lazy frame: the needed columns, checked by the engine.

The frame may belong to any engine that narwhals supports. Only sums leave it, and a bad entry where
a message shows one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field
from math import isnan
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from stakes._check import HEAVIEST, FloatArray, least_weight, total_weight
from stakes._value import record
from stakes.adapters.columns import (
    Columns,
    NumbersColumn,
    group_name,
    key_name,
    model_argument,
    no_key,
    prediction_columns,
)
from stakes.adapters.expressions import code_of, sum_of, texts_of, whether
from stakes.adapters.label_texts import LabelColumn, spellings, text_name
from stakes.adapters.sources import Lazy
from stakes.errors import InputError
from stakes.evaluation import fold_of_key
from stakes.inference import MOST_STRATA, few_weights
from stakes.rows import ROUNDED, UNNORMALISED, Decisions, Posteriors, Predicted, Scores
from stakes.tally import Labelled

# Columns of a prepared frame.
TRUTH, WEIGHT, CLUSTER, FOLD = "truth", "weight", "cluster", "fold"


@record
class Facts:
    """Results of the first pass: rows, weight of each class, and posteriors that do not sum to 1.

    `off_sums` maps the position of a model to the number of such rows and to the worst sum.
    """

    n_rows: int
    masses: FloatArray
    off_sums: dict[int, tuple[int, float]]
    ranges: dict[str, tuple[float, float]] = field(default_factory=dict)  # of some columns
    weighted: bool = False  # whether rows have sampling weights
    copied: bool = False  # whether rows occurred as often as a column says
    whole_weights: bool = False  # whether the weights are whole numbers, as of copies
    weights: FloatArray | None = None  # the different ones, where they are few

    @property
    def shares(self) -> FloatArray:
        """Class shares of the data."""
        return np.asarray(self.masses / self.masses.sum())


@record
class Check:
    """An expression that is positive in bad rows, and the error for a number of them.

    DuckDB believes the statistics of Parquet files, which leave nan out, and may not see nan in a
    comparison. A sum always shows it; the number of bad rows is then said to be zero.
    """

    bad: nw.Expr
    complaint: Callable[[int, int], InputError]  # bad entries, rows
    finite: tuple[str, ...] = ()  # columns that may not hold nan


def column_of(model: int, k: int = 0) -> str:
    """The name that a column of a model has in a prepared frame."""
    return f"model_{model}_{k}"


def by_column(place: int) -> str:
    """The name that a column of groups has in a prepared frame."""
    return f"by_{place}"


def data_column(place: int) -> str:
    """The name in a prepared frame of a column that costs depend on."""
    return f"data_{place}"


def prepared(
    frame: Lazy,
    columns: Columns,
    problem: Labelled,
    seed: int = 0,
    data: Sequence[str] = (),
) -> Lazy:
    """The columns of a source under the names used here; labels with known values become codes.

    `seed` is that of the folds that are made from keys, `data` are columns that costs depend on.
    """
    expressions = {
        name: code_of(
            nw.col(text_name(column_labels.column)), spellings(column_labels.labels or ())
        )
        for name, column_labels in _known_labels(columns, problem).items()
    }
    weights = [nw.col(column) for column in columns.multiplier.values()]
    expressions[WEIGHT] = weights[0] if weights else nw.lit(1.0)
    expressions |= {by_column(k): nw.col(group_name(column)) for k, column in enumerate(columns.by)}
    if columns.clusters is not None:
        expressions[CLUSTER] = nw.col(group_name(columns.clusters))
    if columns.key is not None:
        expressions[FOLD] = fold_of_key(nw.col(key_name(columns.key)), seed)
    expressions |= {data_column(k): nw.col(column) for k, column in enumerate(data)}
    for place, model in enumerate(columns.models.values()):
        if not isinstance(model, Decisions):
            names = enumerate(prediction_columns(model))
            expressions |= {column_of(place, k): nw.col(column) for k, column in names}
    return frame.select(**expressions)


def _known_labels(columns: Columns, problem: Labelled) -> dict[str, LabelColumn]:
    """Columns of labels whose values must be known, by their names in the prepared frame."""
    labels = columns.labels(problem)
    known = {TRUTH: labels["y_true", ""]}
    for place, name in enumerate(columns.models):
        if ("models", name) in labels:
            known[column_of(place)] = labels["models", name]
    return known


def facts_of(
    frame: Lazy,
    rows: Lazy,
    columns: Columns,
    problem: Labelled,
    source: str,
    more_checks: Mapping[str, Check] | None = None,
    ranges: Sequence[str] = (),
) -> Facts:
    """Check all rows in one pass; `rows` were prepared from `frame`.

    `ranges` are columns whose least and largest entry are needed.
    """
    checks = dict(entry_checks(frame, rows, columns, problem, source)) | dict(more_checks or {})
    questions = {"rows": nw.len(), **_of_weights()}
    questions |= {f"low {column}": nw.col(column).min() for column in ranges}
    questions |= {f"high {column}": nw.col(column).max() for column in ranges}
    questions |= {name: check.bad.sum() for name, check in checks.items()}
    for name, check in checks.items():
        if check.finite:
            questions[f"sum {name}"] = sum_of([nw.col(column) for column in check.finite]).sum()
    questions |= {f"mass {k}": _mass(k) for k in range(len(problem.classes))}
    sums = {
        place: _total(place, model)
        for place, model in enumerate(columns.models.values())
        if isinstance(model, Posteriors) and len(prediction_columns(model)) > 1
    }
    for place, total in sums.items():
        questions[f"off {place}"] = whether((total - 1.0).abs() > ROUNDED).sum()
        questions |= {f"least {place}": total.min(), f"most {place}": total.max()}
    # All questions in one query, since each pass over the rows may take minutes.
    answers = rows.select(**questions).collect().rows(named=True)[0]
    n_rows = int(answers["rows"])
    for name, check in checks.items():
        bad = round(answers[name])
        if bad or isnan(answers.get(f"sum {name}") or 0.0):
            raise check.complaint(bad, n_rows)
    masses = np.array([answers[f"mass {k}"] for k in range(len(problem.classes))])
    if not n_rows:
        raise InputError("y_true must hold at least one case; there are none. Pass some rows.")
    for argument in columns.multiplier:
        total_weight(argument, float(masses.sum()), n_rows)
        least_weight(argument, float(answers["least"]), float(masses.sum()))
    # Weights of one value are the same as none.
    weighted = columns.weights is not None and answers["least"] < answers["heaviest"]
    names = list(columns.models)
    off_sums = {place: _off_sum(names[place], answers, place) for place in sums}
    return Facts(
        n_rows,
        masses,
        {place: off_sum for place, off_sum in off_sums.items() if off_sum is not None},
        {name: (float(answers[f"low {name}"]), float(answers[f"high {name}"])) for name in ranges},
        weighted,
        columns.copies is not None and answers["heaviest"] != 1,
        weighted and not answers["parts"],
        _few_weights(rows) if weighted else None,
    )


def _of_weights() -> dict[str, nw.Expr]:
    """Questions about the weights: the least and the greatest, and whether they have fractions."""
    weight = nw.col(WEIGHT)
    least = nw.when(weight > 0.0).then(weight).min()
    return {
        "least": least,
        "heaviest": weight.max(),
        "parts": whether(weight != weight.floor()).sum(),
    }


def _few_weights(rows: Lazy) -> FloatArray | None:
    """The different weights in increasing order; None where there are many."""
    weights = rows.filter(nw.col(WEIGHT) > 0.0).group_by(WEIGHT).agg(nw.len().alias("rows"))
    some = weights.head(MOST_STRATA + 1).collect()[WEIGHT].to_numpy().astype(np.float64)
    return few_weights(some)


def _mass(k: int) -> nw.Expr:
    return (nw.col(WEIGHT) * whether(nw.col(TRUTH) == k)).sum()


def _total(place: int, model: Predicted) -> nw.Expr:
    return sum_of([nw.col(column_of(place, k)) for k in range(len(prediction_columns(model)))])


# Bad entries -------------------------------------------------------------------------------------


def entry_checks(
    frame: Lazy, rows: Lazy, columns: Columns, problem: Labelled, source: str
) -> Iterator[tuple[str, Check]]:
    """Yield the checks of single entries, each with a unique name."""
    for name, labels in _known_labels(columns, problem).items():
        yield name, _label_check(frame, source, labels, nw.col(name) < 0)
    if columns.clusters is not None:
        clusters = LabelColumn(columns.clusters, "clusters")
        yield (
            CLUSTER,
            Check(
                whether(nw.col(CLUSTER).is_null()),
                lambda gaps, n_rows: clusters.refused(source, gaps, n_rows, None),
            ),
        )
    if columns.key is not None:
        yield FOLD, Check(whether(nw.col(FOLD).is_null()), no_key)
    for argument in columns.multiplier:
        yield WEIGHT, number_check(rows, _within([WEIGHT], 0.0, _MOST), argument, *_WEIGHTS)
    if columns.copies is not None:
        fine = {WEIGHT: nw.col(WEIGHT) == nw.col(WEIGHT).floor()}
        yield "copies", number_check(rows, fine, "copies", *_COPIES, finite=False)
    for place, (name, model) in enumerate(columns.models.items()):
        argument = model_argument(name)
        names = [column_of(place, k) for k in range(len(prediction_columns(model)))]
        if isinstance(model, Posteriors):
            yield argument, number_check(rows, _within(names, 0.0, 1.0), argument, *_PROBABLE)
        elif isinstance(model, NumbersColumn):
            finite = _within(names, -HEAVIEST, HEAVIEST)
            yield argument, number_check(rows, finite, argument, *_FINITE)
        elif isinstance(model, Scores):
            if len(problem.classes) != 2:
                raise InputError(
                    f"{argument} must be posteriors or decisions: raw scores are for two classes, "
                    f"the problem has {len(problem.classes)}.",
                    argument=argument,
                )
            ordered = {
                column: ~(nw.col(column).is_null() | nw.col(column).is_nan()) for column in names
            }
            yield argument, number_check(rows, ordered, argument, *_ORDERED, finite=False)


def _within(columns: Sequence[str], low: float, high: float) -> dict[str, nw.Expr]:
    """Whether each of some columns lies in an interval."""
    return {name: (nw.col(name) >= low) & (nw.col(name) <= high) for name in columns}


_MOST = float(np.finfo(np.float64).max)
_COPIES = (
    "must hold whole numbers, how often each row occurred",
    "Name the column as weights= if it holds sampling weights.",
)
_WEIGHTS = (
    "must hold finite numbers that are zero or more",
    "Remove or repair these entries first.",
)
_PROBABLE = (
    "must hold probabilities in [0, 1]",
    "Repair or remove these rows; raw scores must be named as such, or calibrated.",
)
_FINITE = (
    f"must hold finite numbers of size up to {HEAVIEST:g}",
    "Remove or repair these entries first, or choose another unit.",
)
_ORDERED = ("must hold numbers that can be ordered", "Remove the cases without a score first.")


def _label_check(frame: Lazy, source: str, labels: LabelColumn, bad: nw.Expr) -> Check:
    lost = code_of(nw.col("text"), spellings(labels.labels or ())) < 0

    def complaint(others: int, n_rows: int) -> InputError:
        bad_labels = frame.select(nw.col(text_name(labels.column)).alias("text")).filter(lost)
        # Another pass over the rows, which is worth it only once something is wrong.
        sizes = bad_labels.group_by("text").agg(nw.len().alias("size"))
        most = sizes.sort("size", descending=True).head(1).collect()
        return labels.refused(source, others, n_rows, texts_of(most["text"])[0])

    return Check(whether(bad), complaint)


def number_check(
    rows: Lazy,
    fine: Mapping[str, nw.Expr],
    argument: str,
    rule: str,
    remedy: str,
    *,
    finite: bool = True,
) -> Check:
    """A check of some columns; `fine` are expressions that hold where an entry is valid."""
    bad = {column: 1.0 - whether(holds) for column, holds in fine.items()}

    def complaint(others: int, n_rows: int) -> InputError:
        total = n_rows * len(fine)
        evidence = f"some of {total} are nan"
        if others:
            examples = (
                rows.filter(is_bad > 0.0).select(name).head(1) for name, is_bad in bad.items()
            )
            value = next(row[0] for few in examples for row in few.collect().rows())
            shown = "nothing" if value is None else f"{value:g}"
            evidence = f"{others} of {total} do not, one being {shown}"
        return InputError(f"{argument} {rule}; {evidence}. {remedy}", argument=argument)

    return Check(sum_of(list(bad.values())), complaint, tuple(fine) if finite else ())


def _off_sum(name: str, answers: Mapping[str, Any], place: int) -> tuple[int, float] | None:
    """The number of rows whose posteriors do not sum to 1, and the worst sum; None if all do."""
    worst = max(
        answers[f"least {place}"], answers[f"most {place}"], key=lambda total: abs(total - 1)
    )
    rows = round(answers[f"off {place}"])
    if abs(worst - 1) > UNNORMALISED:
        raise InputError(
            f"{model_argument(name)} must sum to one in every row; {rows} of {answers['rows']} do "
            f"not, one being {worst:g}. Divide each row by its sum if these are unnormalised.",
            argument=model_argument(name),
        )
    return (rows, worst) if rows else None
