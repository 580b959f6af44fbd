"""Rows in their engine: expressions of columns, sums by groups, checked predictions."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from math import isnan, prod
from operator import add, mul
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import numpy.typing as npt

from stakes._check import HEAVIEST, FloatArray, least_weight, total_weight
from stakes._value import record
from stakes.adapters.columns import (
    Columns,
    LabelColumn,
    NumbersColumn,
    group_name,
    key_name,
    model_argument,
    no_key,
    prediction_columns,
    spellings,
    text_name,
)
from stakes.adapters.sources import Lazy
from stakes.decide import MOST_WHOLE, ROUNDING, regrets, tie_slack
from stakes.errors import InputError
from stakes.evaluation import fold_of_key
from stakes.inference import MOST_STRATA, few_weights
from stakes.rows import ROUNDED, UNNORMALISED, Decisions, Posteriors, Predicted, Scores
from stakes.tally import Bins, BitGrid, Labelled

# Expressions of the columns of a row that engines compute, and sums by groups of rows ------------
#
# Expressions give what `stakes.decide` and `stakes.scoring` give for arrays. Longer ones are built
# in steps, as columns of the frame, because an engine would otherwise compute common parts
# repeatedly.

Arrays = dict[str, Any]  # arrays, and columns of groups as their library has them

ROWS = "rows"  # how many rows a group of `grouped` has
_KEY, _SUMMED = "key", "summed "
_MOST = 1 << 62  # combinations of codes that fit into one 64-bit integer
_MOST_ROWS = (1 << 32) - 1  # which Polars can count
_HALF_EPS = ROUNDING / 8  # half a unit in the last place of 1.0
WORKING = "_stakes_"  # columns that begin like this are ours, while decisions are computed
_LEAST, _MOST_PROBABLE = f"{WORKING}least", f"{WORKING}most_probable"


def sum_of(parts: Sequence[nw.Expr]) -> nw.Expr:
    """The sum of several columns, added from left to right."""
    return reduce(add, parts)


def whether(condition: nw.Expr) -> nw.Expr:
    """1.0 where a condition holds, 0.0 where it does not or is missing."""
    return nw.when(condition).then(nw.lit(1.0)).otherwise(nw.lit(0.0))


def first_of(conditions: Sequence[nw.Expr], values: Sequence[Any]) -> nw.Expr:
    """The value of the first condition that holds, else the last value, which has no condition."""
    *known, value_so_far = (v if isinstance(v, nw.Expr) else nw.lit(v) for v in values)
    # Nested from the inside out: the last condition is the innermost alternative.
    for condition, value in zip(reversed(conditions), reversed(known), strict=True):
        value_so_far = nw.when(condition).then(value).otherwise(value_so_far)
    return value_so_far


def first_place(conditions: Sequence[nw.Expr]) -> nw.Expr:
    """The position of the first condition that holds; their number where none does."""
    return first_of(conditions, range(len(conditions) + 1))


def code_of(text: nw.Expr, places: Mapping[str, int]) -> nw.Expr:
    """The position of a label by its text; −1 for unknown and missing labels."""
    return first_of([text == label for label in places], [*places.values(), -1])


def by_code(code: nw.Expr, values: Sequence[Any]) -> nw.Expr:
    """The value whose position is the code of the row."""
    return first_of([code == k for k in range(len(values) - 1)], values)


def stepped(score: nw.Expr, ends: Sequence[float], values: Sequence[Any]) -> nw.Expr:
    """The value of the first step that ends at the score or above it; the last has no end."""
    return first_of([score <= end for end in ends], values)


def with_complement(frame: Lazy, second: nw.Expr, names: Sequence[str]) -> Lazy:
    """Add the posteriors of two classes, of which the second is known."""
    frame = frame.with_columns(second.alias(names[1]))
    return frame.with_columns((1.0 - nw.col(names[1])).alias(names[0]))


def cheapest(
    frame: Lazy,
    posteriors: Sequence[str],
    costs: FloatArray,
    name: str,
    rounding: Sequence[nw.Expr] = (),
    ratios: FloatArray | None = None,
) -> Lazy:
    """Add the position of the cheapest decision, the first one where several are tied.

    `rounding` bounds the rounding error of each posterior where it comes in single precision;
    `ratios` are the weights of the classes where posteriors move to another prior.
    """
    if ratios is not None:  # this has the same effect as moving the posteriors, without a division
        costs = regrets(costs) * ratios[:, None]
    # Regrets instead of costs: they are never negative, so that sums lose fewer digits.
    rows, regret = [nw.col(column) for column in posteriors], regrets(costs).T.tolist()
    names = [f"{name}_regret_{place}" for place in range(len(regret))]
    slack: list[Any] = tie_slack(costs).tolist()
    if rounding:
        off = [sum_of(list(map(mul, rounding, column))) for column in regret]
        slack = list(map(add, off, slack))
    expected = [sum_of(list(map(mul, rows, column))) for column in regret]
    frame = frame.with_columns(**dict(zip(names, expected, strict=True)))
    return _first_cheapest(frame, [nw.col(column) for column in names], slack, name)


def cheapest_of_each(
    frame: Lazy,
    posteriors: Sequence[str],
    costs: Sequence[Sequence[str]],
    name: str,
    rounding: Sequence[nw.Expr] = (),
    ratios: FloatArray | None = None,
) -> Lazy:
    """Add the cheapest decision where every row has its own costs, class by decision, in columns.

    `ratios` are the weights of the classes where posteriors move to another prior. Costs that
    differ by no more than rounding are tied; the bound is that of `stakes.decide.tie_slack`,
    computed row by row.
    """
    least = [f"{name}_least_{k}" for k in range(len(costs))]
    lowest = [nw.min_horizontal(*map(nw.col, row)) for row in costs]
    frame = frame.with_columns(**dict(zip(least, lowest, strict=True)))
    worth = np.ones(len(costs)) if ratios is None else ratios
    places = range(len(costs[0]))
    columns = {}
    for d in places:
        regret = [
            (nw.col(row[d]) - nw.col(low)) * float(share)
            for row, low, share in zip(costs, least, worth.tolist(), strict=True)
        ]
        columns[f"{name}_regret_{d}"] = sum_of(list(map(mul, map(nw.col, posteriors), regret)))
        slack = sum_of(regret) * ROUNDING
        if rounding:
            slack = slack + sum_of(list(map(mul, rounding, regret)))
        columns[f"{name}_slack_{d}"] = slack
        for k, row in enumerate(costs):
            # A cost times a ratio has been rounded even where the cost is a whole number.
            as_written = ratios is None
            cost = nw.col(row[d]) if as_written else regret[k]
            low = _rounded_size(nw.col(least[k])) if as_written else nw.lit(0.0)
            columns[f"{name}_size_{d}_{k}"] = _rounded_size(cost)
            columns[f"{name}_low_{d}_{k}"] = low  # a column, because Dask cannot compare literals
    frame = frame.with_columns(**columns)
    sizes = {
        f"{name}_{what}_{d}": nw.max_horizontal(
            *(nw.col(f"{name}_{what}_{d}_{k}") for k in range(len(costs)))
        )
        for what in ("size", "low")
        for d in places
    }
    frame = frame.with_columns(**sizes)
    slacks = [
        nw.col(f"{name}_slack_{d}")
        + (nw.col(f"{name}_size_{d}") + nw.col(f"{name}_low_{d}")) * _HALF_EPS
        for d in places
    ]
    expected = [nw.col(f"{name}_regret_{d}") for d in places]
    return _first_cheapest(frame, expected, slacks, name)


def _rounded_size(cost: nw.Expr) -> nw.Expr:
    """The size of a cost that may have been rounded, or 0 for integers, which are exact."""
    size = cost.abs()
    is_whole = (cost == cost.floor()) & (size < MOST_WHOLE)
    return nw.when(is_whole).then(nw.lit(0.0)).otherwise(size)


def _first_cheapest(
    frame: Lazy, expected: Sequence[nw.Expr], slack: Sequence[Any], name: str
) -> Lazy:
    """Add the first of those decisions whose costs differ only by rounding."""
    pairs = list(zip(expected, slack, strict=True))
    most = {f"{name}_most_{place}": cost + off for place, (cost, off) in enumerate(pairs)}
    tied = [cost - off <= nw.col(_LEAST) for cost, off in pairs[:-1]]
    frame = frame.with_columns(**most)
    frame = frame.with_columns(nw.min_horizontal(*map(nw.col, most)).alias(_LEAST))
    return frame.with_columns(first_place(tied).alias(name))


def most_probable(frame: Lazy, posteriors: Sequence[str], name: str) -> Lazy:
    """Add the position of the largest of several columns, the first one where several are tied."""
    rows = [nw.col(column) for column in posteriors]
    largest = [probability >= nw.col(_MOST_PROBABLE) for probability in rows[:-1]]
    with_largest = frame.with_columns(nw.max_horizontal(*rows).alias(_MOST_PROBABLE))
    return with_largest.with_columns(first_place(largest).alias(name))


def moved(frame: Lazy, posteriors: Sequence[str], ratio: FloatArray, names: Sequence[str]) -> Lazy:
    """Add the posteriors for another prior; `ratio` is that prior over the one they hold for."""
    parts = zip(names, posteriors, ratio.tolist(), strict=True)
    products = frame.with_columns(**{name: nw.col(column) * by for name, column, by in parts})
    # Columns first, so that the engine does not expand the products again in every quotient.
    total = sum_of([nw.col(name) for name in names])
    return products.with_columns(**{name: nw.col(name) / total for name in names})


def log_losses(truth: nw.Expr, posteriors: Sequence[nw.Expr]) -> tuple[nw.Expr, nw.Expr]:
    """The log loss of the true class, and 1.0 where its posterior is 0: its loss is then 0 here."""
    probability = by_code(truth, posteriors)
    possible = probability > 0.0  # engines disagree on log(0)
    surprise = nw.when(possible).then(probability).otherwise(nw.lit(1.0)).log() * -1.0
    return surprise, whether(~possible)


def floored_log(probability: nw.Expr, least: float) -> nw.Expr:
    """The logarithm of a probability, of which one below `least` counts as that."""
    return nw.when(probability > least).then(probability).otherwise(nw.lit(least)).log()


def squared_errors(truth: nw.Expr, posteriors: Sequence[nw.Expr]) -> nw.Expr:
    """The Brier score: squared errors summed over the classes."""
    errors = [probability - whether(truth == k) for k, probability in enumerate(posteriors)]
    return sum_of([error * error for error in errors])


# Sums by groups of rows, which leave the engine as arrays -----------------------------------------


def grouped(
    frame: Lazy,
    sizes: Mapping[str, int],
    sums: Mapping[str, nw.Expr],
    groups: Sequence[str] = (),
    ranges: Sequence[str] = (),
    most: int | None = None,
    *,
    numbers: Sequence[str] = (),
) -> Arrays:
    """Count rows and sum expressions for each combination of codes, groups and numbers.

    `sizes` maps a column of codes to the number of its codes. Codes are packed into integers, since
    engines group by one key faster than by several. The minimum and the maximum (`low_of`,
    `high_of`) of the columns `ranges` are added. Expressions become columns before they are summed,
    because pandas, PyArrow and Dask can only sum columns by groups. With `most`, no more than so
    many combinations leave the engine. Columns of groups stay as their library has them.
    """
    packs = _packs(sizes)
    keys = [f"{_KEY}{place}" for place in range(len(packs))]
    columns = {key: _packed(pack) for key, pack in zip(keys, packs, strict=True)}
    columns |= {f"{_SUMMED}{name}": each for name, each in sums.items()}
    more = (*groups, *numbers)
    rows = frame.with_columns(**columns).select(*columns, *more, *ranges)
    aggregates = {ROWS: nw.len(), **{name: nw.col(f"{_SUMMED}{name}").sum() for name in sums}}
    aggregates |= {low_of(column): nw.col(column).min() for column in ranges}
    aggregates |= {high_of(column): nw.col(column).max() for column in ranges}
    cells = rows.group_by(*keys, *more).agg(**aggregates)
    frame_of_cells = (cells if most is None else cells.head(min(most, _MOST_ROWS))).collect()
    arrays: Arrays = {}
    for key, pack in zip(keys, packs, strict=True):
        codes = np.unravel_index(frame_of_cells[key].to_numpy(), tuple(pack.values()))
        arrays |= {name: code.astype(np.intp) for name, code in zip(pack, codes, strict=True)}
    # Some engines return sums as decimals.
    arrays |= {
        name: np.array(frame_of_cells[name], dtype=np.float64) for name in (*numbers, *aggregates)
    }
    return arrays | {name: frame_of_cells[name].to_native() for name in groups}


def low_of(column: str) -> str:
    """The name of the minimum of a column in the result of `grouped`."""
    return f"low {column}"


def high_of(column: str) -> str:
    """The name of the maximum of a column in the result of `grouped`."""
    return f"high {column}"


def texts_of(column: nw.Series[Any]) -> npt.NDArray[Any]:
    """Texts, with None for missing ones, which pandas marks by nan or by ``pd.NA``."""
    return np.array([x if isinstance(x, str) else None for x in column.to_list()], dtype=object)


def _packs(sizes: Mapping[str, int]) -> list[dict[str, int]]:
    packs: list[dict[str, int]] = [{}]
    for name, size in sizes.items():
        # The next integer starts where one more code would overflow this one.
        if prod(packs[-1].values()) * size > _MOST:
            packs.append({})
        packs[-1][name] = size
    return packs


def _packed(pack: Mapping[str, int]) -> nw.Expr:
    """One integer for several codes, the last one varying fastest."""
    steps = np.cumprod([1, *list(pack.values())[:0:-1]])[::-1].tolist()
    codes = (nw.col(name).cast(nw.Int64) for name in pack)
    return sum_of([code * step for code, step in zip(codes, steps, strict=True)])


# Predictions in a lazy frame: the needed columns, checked by the engine --------------------------
#
# The frame may belong to any engine that narwhals supports. Only sums leave it, and a bad entry
# where a message shows one.

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
        yield WEIGHT, number_check(rows, _within([WEIGHT], 0.0, _LARGEST), argument, *_WEIGHTS)
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


_LARGEST = float(np.finfo(np.float64).max)
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


# -------------------------------------------------------------------------------------------------
# A grid of bins for scores, finer by powers of two and identical to the last bit in every
# engine.
#
# The bins are those of `stakes.tally.binned_scores`. They use only comparisons, differences,
# products and floor, whose results are the same in every engine that follows IEEE 754. Each side
# of the grid has 33 runs of 1,024 bins: the first run begins at distance 0, and each later run is
# an octave, from the end of the run before to twice that distance.

_STEPS = (16, 8, 4, 2, 1)  # octaves to divide by: a binary search over 32 octaves
_BELOW, _AT = "_below", "_at"  # temporary columns
TOTAL = "total"  # the sum of weights times scores in each bin


@dataclass(frozen=True)
class UnitGrid:
    """Bins of [0, 1] that become finer towards 0 and 1, where the scores of rare classes lie."""

    def binned(self, frame: Lazy, score: str, name: str) -> Lazy:
        """Add the bin of every score, which does not decrease along the scores."""
        below = nw.col(score) < 0.5
        end = nw.when(below).then(nw.col(score)).otherwise(1.0 - nw.col(score))
        rows = _runs(frame.with_columns(below.alias(_BELOW), (end * BitGrid.FAR).alias(_AT)), name)
        place = nw.col(name)
        return rows.with_columns(
            nw.when(nw.col(_BELOW)).then(place).otherwise(BitGrid.N_BINS - 1 - place).alias(name)
        )


@dataclass(frozen=True)
class ScoreGrid:
    """Bins of all numbers that become finer towards a centre, by powers of two times `unit`."""

    centre: float = 0.0
    unit: float = 2.0**-16  # the end of the innermost run

    def binned(self, frame: Lazy, score: str, name: str) -> Lazy:
        """Add the bin of every score, which does not decrease along the scores."""
        value, below = nw.col(score), nw.col(score) < self.centre
        away = nw.when(below).then(self.centre - value).otherwise(value - self.centre)
        scaled = away * (1 / self.unit)
        rows = _runs(frame.with_columns(below.alias(_BELOW), scaled.alias(_AT)), name)
        place = nw.col(name)
        return rows.with_columns(
            nw.when(nw.col(_BELOW))
            .then(BitGrid.SIDE - 1 - place)
            .otherwise(BitGrid.SIDE + place)
            .alias(name)
        )

    @classmethod
    def around(cls, low: float, middle: float, high: float) -> ScoreGrid:
        """A grid for scores whose quartiles are `low`, `middle` and `high`."""
        # Bounded so that neither the unit, about 2⁻¹² of the spread, nor its inverse overflows.
        spread = min(max(high - low, 2.0**-900), 2.0**900)
        return cls(middle, 2.0 ** (math.frexp(spread)[1] - 12))


Grid = UnitGrid | ScoreGrid


def _runs(frame: Lazy, name: str) -> Lazy:
    """Add the bin of distances ≥ 0, which are measured in units of the first run."""
    at = nw.col(_AT)
    beyond = (
        nw.when(at > _LARGEST).then(nw.lit(BitGrid.SIDE - 1)).otherwise(nw.lit(BitGrid.SIDE - 2))
    )
    rows = frame.with_columns(
        nw.when(at >= BitGrid.FAR).then(beyond).otherwise(nw.lit(0)).alias(name),
        nw.when(at >= BitGrid.FAR).then(nw.lit(0.0)).otherwise(at).alias(_AT),
    )
    # Dividing by 2¹⁶, 2⁸, … finds the octave without a logarithm, which engines round differently.
    for step in _STEPS:
        above = at >= 2.0**step
        runs = nw.when(above).then(nw.lit(step * BitGrid.RUN)).otherwise(nw.lit(0))
        rows = rows.with_columns(
            nw.when(above).then(at * 2.0**-step).otherwise(at).alias(_AT),
            (nw.col(name) + runs).alias(name),
        )
    within = (at * float(BitGrid.RUN)).floor()
    return rows.with_columns((nw.col(name) + within).alias(name))


def pooled_bins(sums: Arrays, score: str) -> Bins:
    """The bins of a score from sums of `grouped` by class and bin, with the range of the score."""
    weights = np.where(sums[TRUTH][:, None] == np.arange(2), sums[WEIGHT][:, None], 0.0)
    return Bins.pooled(sums[low_of(score)], sums[high_of(score)], sums[TOTAL], weights)


def finer(bins: Bins) -> ScoreGrid:
    """A grid that is finest in the middle half of these scores, infinite ones left out."""
    finite = np.isfinite(bins.low) & np.isfinite(bins.high)
    if not finite.any():
        return ScoreGrid()
    low, high = bins.low[finite], bins.high[finite]
    reached = np.cumsum(bins.weights[finite].sum(axis=1))
    first, middle, last = np.searchsorted(reached, reached[-1] * np.array([0.25, 0.5, 0.75]))
    centre = low[middle] / 2 + high[middle] / 2
    return ScoreGrid.around(float(low[first]), float(centre), float(high[last]))
