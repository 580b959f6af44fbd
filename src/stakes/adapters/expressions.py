"""What engines compute: expressions of the columns of a row, and sums by groups of rows.

Expressions give what `stakes.decide` and `stakes.scoring` give for arrays. Longer ones are made
step by step, as columns of the frame: an engine would otherwise see the same part again and again.
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

Arrays = dict[str, npt.NDArray[Any]]

ROWS, LOW, HIGH = "rows", "low", "high"  # what `grouped` makes beside the sums
_KEY, _SUMMED = "key", "summed "
_MOST = 1 << 62  # codes that are packed into one whole number
_HALF_EPS = ROUNDING / 8  # half a unit in the last place of one
_LEAST, _MOST_PROBABLE = "_least", "_most_probable"


def sum_of(parts: Sequence[nw.Expr]) -> nw.Expr:
    """The sum of several columns, from the left to the right."""
    return reduce(add, parts)


def whether(condition: nw.Expr) -> nw.Expr:
    """1.0 where a condition holds, 0.0 where it does not or cannot be told."""
    return nw.when(condition).then(nw.lit(1.0)).otherwise(nw.lit(0.0))


def first_of(conditions: Sequence[nw.Expr], values: Sequence[Any], otherwise: Any) -> nw.Expr:
    """The value that belongs to the first condition that holds."""
    made = otherwise if isinstance(otherwise, nw.Expr) else nw.lit(otherwise)
    for condition, value in zip(reversed(conditions), reversed(values), strict=True):
        made = nw.when(condition).then(value).otherwise(made)
    return made


def code_of(text: nw.Expr, places: Mapping[str, int]) -> nw.Expr:
    """The position of a label, by its text; -1 for others, and where there is none."""
    return first_of([text == one for one in places], [nw.lit(k) for k in places.values()], -1)


def picked(code: nw.Expr, values: Sequence[nw.Expr]) -> nw.Expr:
    """The one of several columns that a code names."""
    places = range(len(values) - 1)
    return first_of([code == k for k in places], values[:-1], values[-1])


def cheapest(
    frame: Lazy,
    posteriors: Sequence[str],
    costs: FloatArray,
    name: str,
    rounding: Sequence[nw.Expr] = (),
) -> Lazy:
    """Add the position of the cheapest decision; the first one of several that are tied.

    `rounding` says by how much each posterior may be off beyond double precision.
    """
    rows, regret = [nw.col(one) for one in posteriors], regrets(costs).T.tolist()
    names = [f"{name}_{place}" for place in range(len(regret))]
    slack: list[Any] = tie_slack(costs).tolist()
    if rounding:
        off = [sum_of(list(map(mul, rounding, column))) for column in regret]
        slack = list(map(add, off, slack))
    expected = [sum_of(list(map(mul, rows, column))) for column in regret]
    frame = frame.with_columns(one.alias(name) for one, name in zip(expected, names, strict=True))
    return _first_cheapest(frame, [nw.col(one) for one in names], slack, name)


def cheapest_of_each(
    frame: Lazy,
    posteriors: Sequence[str],
    costs: Sequence[Sequence[str]],
    name: str,
    rounding: Sequence[nw.Expr] = (),
    ratios: FloatArray | None = None,
) -> Lazy:
    """The same where every row has its own costs, class by decision, in columns.

    `ratios` say what a case of each class is worth. What double precision may do to the expected
    regret is that of `stakes.decide.tie_slack`, row by row.
    """
    least = [f"{name}_least_{k}" for k in range(len(costs))]
    frame = frame.with_columns(
        nw.min_horizontal(*map(nw.col, row)).alias(one)
        for row, one in zip(costs, least, strict=True)
    )
    worth = np.ones(len(costs)) if ratios is None else ratios
    places = range(len(costs[0]))
    made, regrets_, slacks = {}, f"{name}_regret", f"{name}_slack"
    for d in places:
        own = [
            (nw.col(row[d]) - nw.col(low)) * float(share)
            for row, low, share in zip(costs, least, worth.tolist(), strict=True)
        ]
        made[f"{regrets_}_{d}"] = sum_of(
            [nw.col(p) * one for p, one in zip(posteriors, own, strict=True)]
        )
        off = sum_of(own) * ROUNDING
        if rounding:
            off = off + sum_of([r * one for r, one in zip(rounding, own, strict=True)])
        made[f"{slacks}_{d}"] = off
        for k, row in enumerate(costs):  # what was moved to another prior is no cost as written
            both = (
                (own[k], nw.lit(0.0)) if ratios is not None else (nw.col(row[d]), nw.col(least[k]))
            )
            made[f"{name}_size_{d}_{k}"] = _rounded_size(both[0])
            made[f"{name}_low_{d}_{k}"] = _rounded_size(both[1])
    frame = frame.with_columns(one.alias(key) for key, one in made.items())
    sizes = {
        f"{name}_{what}_{d}": nw.max_horizontal(
            *(nw.col(f"{name}_{what}_{d}_{k}") for k in range(len(costs)))
        )
        for what in ("size", "low")
        for d in places
    }
    frame = frame.with_columns(one.alias(key) for key, one in sizes.items())
    slack = [
        nw.col(f"{slacks}_{d}")
        + (nw.col(f"{name}_size_{d}") + nw.col(f"{name}_low_{d}")) * _HALF_EPS
        for d in places
    ]
    expected = [nw.col(f"{regrets_}_{d}") for d in places]
    return _first_cheapest(frame, expected, slack, name)


def _rounded_size(cost: nw.Expr) -> nw.Expr:
    """The size of a cost that may have been rounded; nought of whole numbers."""
    size = cost.abs()
    whole = (cost == cost.floor()) & (size < MOST_WHOLE)
    return nw.when(whole).then(nw.lit(0.0)).otherwise(size)


def _first_cheapest(
    frame: Lazy, expected: Sequence[nw.Expr], slack: Sequence[Any], name: str
) -> Lazy:
    """Add the first decision of those whose costs differ by rounding alone."""
    ends = [f"{name}_most_{place}" for place in range(len(expected))]
    most = [(one + off).alias(end) for one, off, end in zip(expected, slack, ends, strict=True)]
    places = [nw.lit(place) for place in range(len(expected) - 1)]
    pairs = zip(expected[:-1], slack[:-1], strict=True)
    tied = [one - off <= nw.col(_LEAST) for one, off in pairs]
    return (
        frame.with_columns(most)
        .with_columns(nw.min_horizontal(*map(nw.col, ends)).alias(_LEAST))
        .with_columns(first_of(tied, places, len(places)).alias(name))
    )


def most_probable(frame: Lazy, posteriors: Sequence[str], name: str) -> Lazy:
    """Add the position of the largest of several columns; the first one of several that are."""
    rows = [nw.col(one) for one in posteriors]
    places = [nw.lit(place) for place in range(len(rows) - 1)]
    largest = [one >= nw.col(_MOST_PROBABLE) for one in rows[:-1]]
    made = frame.with_columns(nw.max_horizontal(*rows).alias(_MOST_PROBABLE))
    return made.with_columns(first_of(largest, places, len(places)).alias(name))


def moved(frame: Lazy, posteriors: Sequence[str], ratio: FloatArray, names: Sequence[str]) -> Lazy:
    """Add the posteriors for another prior; `ratio` is that prior over the one they hold for."""
    scaled = [nw.col(one) * by for one, by in zip(posteriors, ratio.tolist(), strict=True)]
    made = frame.with_columns(one.alias(name) for one, name in zip(scaled, names, strict=True))
    total = sum_of([nw.col(name) for name in names])
    return made.with_columns((nw.col(name) / total).alias(name) for name in names)


def log_losses(truth: nw.Expr, posteriors: Sequence[nw.Expr]) -> tuple[nw.Expr, nw.Expr]:
    """Surprise at the true class, nought where that was ruled out, and whether it was."""
    own = picked(truth, posteriors)
    possible = own > 0.0  # engines disagree on the logarithm of nought
    surprise = nw.when(possible).then(own).otherwise(nw.lit(1.0)).log() * -1.0
    return surprise, whether(~possible)


def squared_errors(truth: nw.Expr, posteriors: Sequence[nw.Expr]) -> nw.Expr:
    """Brier's score: squared errors summed over the classes."""
    errors = [one - whether(truth == k) for k, one in enumerate(posteriors)]
    return sum_of([error * error for error in errors])


# Sums by groups of rows, which leave the engine as arrays -----------------------------------------


def grouped(
    frame: Lazy,
    sizes: Mapping[str, int],
    sums: Mapping[str, nw.Expr],
    more: Sequence[str] = (),
    span: str | None = None,
) -> Lazy:
    """Rows and sums for each combination of codes, and of `more` columns, that occurs.

    Codes lie below their sizes. They are packed into whole numbers, since engines group by one key
    faster than by several; `arrays_of` takes them apart. `span` is a column whose lowest and
    highest entry (`LOW`, `HIGH`) are wanted, too. What is summed is made a column first, because
    pandas, PyArrow and Dask sum nothing but columns by groups.
    """
    packs = _packs(sizes)
    keys = [f"{_KEY}{place}" for place in range(len(packs))]
    columns = {key: _packed(pack) for key, pack in zip(keys, packs, strict=True)}
    columns |= {f"{_SUMMED}{name}": each for name, each in sums.items()}
    rows = frame.with_columns(each.alias(name) for name, each in columns.items())
    rows = rows.select(*columns, *more, *([] if span is None else [span]))
    made = [nw.col(f"{_SUMMED}{name}").sum().alias(name) for name in sums]
    if span is not None:
        made += [nw.col(span).min().alias(LOW), nw.col(span).max().alias(HIGH)]
    return rows.group_by(*keys, *more).agg(nw.len().alias(ROWS), *made)


def arrays_of(made: Lazy, sizes: Mapping[str, int]) -> Arrays:
    """What `grouped` made, as arrays; labels are texts, or None."""
    frame = made.collect()
    found: Arrays = {}
    for place, pack in enumerate(_packs(sizes)):
        codes = np.unravel_index(frame[f"{_KEY}{place}"].to_numpy(), tuple(pack.values()))
        found |= {name: code.astype(np.intp) for name, code in zip(pack, codes, strict=True)}
    for name in frame.columns:
        if not name.startswith(_KEY):
            is_text = frame.schema[name] == nw.String
            found[name] = (texts_of if is_text else _numbers_of)(frame[name])
    return found


def texts_of(column: nw.Series[Any]) -> npt.NDArray[Any]:
    """Texts, and None where there is none: pandas marks gaps by nan, or by a value of its own."""
    return np.array([x if isinstance(x, str) else None for x in column.to_list()], dtype=object)


def _numbers_of(column: nw.Series[Any]) -> FloatArray:
    """Numbers in double precision, whatever an engine sums them in: some give decimals."""
    return np.array(column, dtype=np.float64)


def _packs(sizes: Mapping[str, int]) -> list[dict[str, int]]:
    packs: list[dict[str, int]] = [{}]
    for name, size in sizes.items():
        if prod(packs[-1].values()) * size > _MOST:
            packs.append({})
        packs[-1][name] = size
    return packs


def _packed(pack: Mapping[str, int]) -> nw.Expr:
    """One number for several codes, the last one varying fastest."""
    steps = np.cumprod([1, *list(pack.values())[:0:-1]])[::-1].tolist()
    codes = (nw.col(name).cast(nw.Int64) for name in pack)
    return sum_of([code * step for code, step in zip(codes, steps, strict=True)])
