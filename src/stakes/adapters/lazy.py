"""Predictions in a lazy frame: the columns that are needed, and whether all can be used.

The frame belongs to any engine that narwhals speaks to. Nothing but sums leaves it, and one bad
entry when there is one to show.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from stakes._check import FloatArray
from stakes.adapters.columns import (
    Columns,
    Numbers,
    Predicted,
    Wanted,
    columns_of,
    key_name,
    model_argument,
    no_key,
    spellings,
    text_name,
)
from stakes.adapters.expressions import code_of, sum_of, texts_of, whether
from stakes.adapters.sources import Lazy
from stakes.errors import InputError
from stakes.evaluation import fold_of_key
from stakes.rows import ROUNDED, UNNORMALISED, Decisions, Posteriors, Scores
from stakes.tally import Labelled

# Columns of a prepared frame.
TRUTH, WEIGHT, CLUSTER, FOLD = "truth", "weight", "cluster", "fold"


@dataclass(frozen=True, eq=False)
class Facts:
    """What a first pass tells: rows, weight of each class, and posteriors that miss a sum of one.

    `off_sums` maps the place of a model to the rows that do and to the worst sum.
    """

    n_rows: int
    masses: FloatArray
    off_sums: dict[int, tuple[int, float]]

    @property
    def shares(self) -> FloatArray:
        """Class shares of the data."""
        return np.asarray(self.masses / self.masses.sum())


@dataclass(frozen=True, eq=False)
class _Check:
    """Rows that cannot be used, and the complaint about so many of them."""

    bad: nw.Expr
    complaint: Callable[[int, int], InputError]  # bad entries, rows


def column_of(model: int, k: int = 0) -> str:
    """The name that a column of a model has in a prepared frame."""
    return f"model_{model}_{k}"


def by_column(place: int) -> str:
    """The name that a column of groups has in a prepared frame."""
    return f"by_{place}"


def prepared(frame: Lazy, columns: Columns, problem: Labelled, seed: int = 0) -> Lazy:
    """The columns that a source made, under names of ours; labels that must be known as codes.

    The seed is that of the folds that keys make.
    """
    made = {
        name: code_of(nw.col(text_name(wanted.column)), spellings(wanted.labels or ()))
        for name, wanted in _known_labels(columns, problem).items()
    }
    made[WEIGHT] = nw.lit(1.0) if columns.weights is None else nw.col(columns.weights)
    made |= {by_column(k): nw.col(text_name(one)) for k, one in enumerate(columns.by)}
    if columns.clusters is not None:
        made[CLUSTER] = nw.col(text_name(columns.clusters))
    if columns.key is not None:
        made[FOLD] = fold_of_key(nw.col(key_name(columns.key)), seed)
    for place, model in enumerate(columns.models.values()):
        if not isinstance(model, Decisions):
            names = enumerate(columns_of(model))
            made |= {column_of(place, k): nw.col(one) for k, one in names}
    return frame.select(expression.alias(name) for name, expression in made.items())


def _known_labels(columns: Columns, problem: Labelled) -> dict[str, Wanted]:
    """Labels that every row must have, by the column of the prepared frame."""
    wanted = columns.labels(problem)
    found = {TRUTH: wanted["y_true", ""]}
    for place, name in enumerate(columns.models):
        if ("models", name) in wanted:
            found[column_of(place)] = wanted["models", name]
    return found


def facts_of(frame: Lazy, rows: Lazy, columns: Columns, problem: Labelled, source: str) -> Facts:
    """Refuse what cannot be used, in one pass over the rows that were prepared from the frame."""
    checks = dict(_checks(frame, rows, columns, problem, source))
    asked = {"rows": nw.len()}
    asked |= {name: check.bad.sum() for name, check in checks.items()}
    asked |= {f"mass {k}": _mass(k) for k in range(len(problem.classes))}
    sums = {
        place: _total(place, model)
        for place, model in enumerate(columns.models.values())
        if isinstance(model, Posteriors) and len(columns_of(model)) > 1
    }
    for place, total in sums.items():
        asked[f"off {place}"] = whether((total - 1.0).abs() > ROUNDED).sum()
        asked |= {f"least {place}": total.min(), f"most {place}": total.max()}
    told = _one_row(rows.select(made.alias(name) for name, made in asked.items()))
    n_rows = int(told["rows"])
    for name, check in checks.items():
        if bad := round(told[name]):
            raise check.complaint(bad, n_rows)
    masses = np.array([told[f"mass {k}"] for k in range(len(problem.classes))])
    _check_total(masses, n_rows)
    names = list(columns.models)
    found = {place: _off_sum(names[place], told, place) for place in sums}
    return Facts(n_rows, masses, {place: one for place, one in found.items() if one is not None})


def _mass(k: int) -> nw.Expr:
    return (nw.col(WEIGHT) * whether(nw.col(TRUTH) == k)).sum()


def _total(place: int, model: Predicted) -> nw.Expr:
    return sum_of([nw.col(column_of(place, k)) for k in range(len(columns_of(model)))])


def _one_row(frame: Lazy) -> dict[str, Any]:
    return {name: values[0] for name, values in frame.collect().to_dict(as_series=False).items()}


# What cannot be used -----------------------------------------------------------------------------


def _checks(
    frame: Lazy, rows: Lazy, columns: Columns, problem: Labelled, source: str
) -> Iterator[tuple[str, _Check]]:
    """Everything that may be wrong with single entries, by a name of its own."""
    for name, wanted in _known_labels(columns, problem).items():
        yield name, _label_check(frame, source, wanted, nw.col(name) < 0)
    if columns.clusters is not None:
        wanted = columns.labels(problem)["clusters", ""]
        yield CLUSTER, _label_check(frame, source, wanted, nw.col(CLUSTER).is_null())
    if columns.key is not None:
        yield FOLD, _Check(whether(nw.col(FOLD).is_null()), no_key)
    if columns.weights is not None:
        fine = (nw.col(WEIGHT) >= 0.0) & (nw.col(WEIGHT) <= _MOST)
        yield WEIGHT, _number_check(rows, {WEIGHT: fine}, "weights", *_WEIGHTS)
    for place, (name, model) in enumerate(columns.models.items()):
        argument = model_argument(name)
        given = [column_of(place, k) for k in range(len(columns_of(model)))]
        if isinstance(model, Posteriors):
            unit = {one: (nw.col(one) >= 0.0) & (nw.col(one) <= 1.0) for one in given}
            yield argument, _number_check(rows, unit, argument, *_PROBABLE)
        elif isinstance(model, Numbers):
            finite = {one: (nw.col(one) >= -_MOST) & (nw.col(one) <= _MOST) for one in given}
            yield argument, _number_check(rows, finite, argument, *_FINITE)
        elif isinstance(model, Scores):
            if len(problem.classes) != 2:
                raise InputError(
                    f"{argument} must be posteriors or decisions: raw scores are for two classes, "
                    f"the problem has {len(problem.classes)}.",
                    argument=argument,
                )
            ordered = {one: ~(nw.col(one).is_null() | nw.col(one).is_nan()) for one in given}
            yield argument, _number_check(rows, ordered, argument, *_ORDERED)


_MOST = float(np.finfo(np.float64).max)
_WEIGHTS = (
    "must hold finite numbers that are zero or more",
    "Remove or repair these entries first.",
)
_PROBABLE = (
    "must hold probabilities in [0, 1]",
    "Repair or remove these rows; raw scores must be named as such, or calibrated.",
)
_FINITE = ("must hold finite numbers", "Remove or repair these entries first.")
_ORDERED = ("must hold numbers that can be ordered", "Remove the cases without a score first.")


def _label_check(frame: Lazy, source: str, wanted: Wanted, bad: nw.Expr) -> _Check:
    text = nw.col("text")
    lost = code_of(text, spellings(wanted.labels)) < 0 if wanted.labels else text.is_null()

    def complaint(others: int, n_rows: int) -> InputError:
        found = frame.select(nw.col(text_name(wanted.column)).alias("text")).filter(lost)
        sizes = found.group_by("text").agg(nw.len().alias("size"))
        most = sizes.sort("size", descending=True).head(1).collect()
        return wanted.refused(source, others, n_rows, texts_of(most["text"])[0])

    return _Check(whether(bad), complaint)


def _number_check(
    rows: Lazy, fine: Mapping[str, nw.Expr], argument: str, rule: str, remedy: str
) -> _Check:
    bad = {one: 1.0 - whether(holds) for one, holds in fine.items()}

    def complaint(others: int, n_rows: int) -> InputError:
        found = (rows.filter(one > 0.0).select(name).head(1) for name, one in bad.items())
        value = next(row[0] for few in found for row in few.collect().rows())
        shown = "nothing" if value is None else f"{value:g}"
        total = n_rows * len(fine)
        return InputError(
            f"{argument} {rule}; {others} of {total} do not, one being {shown}. {remedy}",
            argument=argument,
        )

    return _Check(sum_of(list(bad.values())), complaint)


def _check_total(masses: FloatArray, n_rows: int) -> None:
    if not n_rows:
        raise InputError("the data must hold at least one case; there are none. Pass some rows.")
    if np.isinf(masses.sum()):
        raise InputError(
            "weights must have a total that is a number; the sum is too large. Scale them down.",
            argument="weights",
        )
    if not masses.any():
        raise InputError(
            f"weights must have a positive total; all {n_rows} are zero. "
            f"Leave weights out to count every case once.",
            argument="weights",
        )


def _off_sum(name: str, told: Mapping[str, Any], place: int) -> tuple[int, float] | None:
    """Rows whose posteriors miss a sum of one, and the worst sum; too far off is refused."""
    worst = max(told[f"least {place}"], told[f"most {place}"], key=lambda total: abs(total - 1))
    rows = round(told[f"off {place}"])
    if abs(worst - 1) > UNNORMALISED:
        raise InputError(
            f"{model_argument(name)} must sum to one in every row; {rows} of {told['rows']} do "
            f"not, one being {worst:g}. Divide each row by its sum if these are unnormalised.",
            argument=model_argument(name),
        )
    return (rows, worst) if rows else None
