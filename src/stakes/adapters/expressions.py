"""Expressions of the columns of a row that engines compute, and sums by groups of rows.

Expressions give what `stakes.decide` and `stakes.scoring` give for arrays. Longer ones are built in
steps, as columns of the frame, because an engine would otherwise compute common parts repeatedly.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from math import prod
from operator import add, mul
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import numpy.typing as npt

from stakes._check import FloatArray
from stakes.adapters.sources import Lazy
from stakes.decide import MOST_WHOLE, ROUNDING, regrets, tie_slack

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
