"""Rows whose costs differ from case to case, pooled by their engine.

The engine decides every row by its own costs. What leaves it are groups of rows of one class with
the same decisions and nearly the same costs. Costs are linear in a few terms, and rows whose terms
share a bin form a group, which keeps their number, the sum of their weights and of each term. Sums
are therefore exact. Intervals ignore the spread within a group, which is zero where its rows are
equal, and less than a thousandth of the cost in the finest bins.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

import narwhals.stable.v2 as nw
import numpy as np

from stakes._arithmetic import ratio, table_of
from stakes._check import FloatArray, IntArray
from stakes._expression import Name, parse
from stakes.adapters.expressions import (
    ROWS,
    Arrays,
    by_code,
    cheapest,
    cheapest_of_each,
    first_place,
    high_of,
    low_of,
)
from stakes.adapters.lazy import FOLD, TRUTH, WEIGHT, Check, Facts, data_column, number_check
from stakes.adapters.lazy_decisions import COLUMN_FUNCTIONS, as_expr, cost_columns
from stakes.adapters.sources import Lazy
from stakes.adapters.zoom_bins import ScoreGrid
from stakes.evaluation import MOST_TERMS, Cases, Charges, Folds, charges_of, used_folds
from stakes.problem import LARGEST, CaseCosts, Problem
from stakes.tally import BitGrid

BLIND, PERFECT, SQUARES = "blind", "perfect", "squares"
WIDTHS = (0, 4, 7)  # 2**width bins are merged into one; wider ones where groups are too many
ALL = 40  # a width at which all bins are merged into one


def cost_column(k: int, d: int) -> str:
    """The name of the column of the cost of a decision for a class."""
    return f"cost_{k}_{d}"


def term_column(place: int) -> str:
    """The name of the column of a term of the costs."""
    return f"term_{place}"


def cost_names(problem: Problem) -> list[list[str]]:
    """Names of the columns of costs, class by decision."""
    return [[cost_column(k, d) for d in range(problem.n_decisions)] for k in _classes(problem)]


def with_costs(frame: Lazy, problem: Problem) -> Lazy:
    """Add the costs of every row and their terms, unless all rows have the same costs."""
    if not problem.columns:
        return frame
    values = _values(problem)
    cells = zip(cost_columns(problem, values), cost_names(problem), strict=True)
    columns = {
        name: as_expr(cost) for line, names in cells for cost, name in zip(line, names, strict=True)
    }
    columns |= {
        term_column(place): parse(term)(values, COLUMN_FUNCTIONS)
        for place, term in enumerate(problem.terms.names[1:], start=1)
    }
    return frame.with_columns(**columns)


def cheapest_by(
    rows: Lazy,
    posteriors: Sequence[str],
    problem: Problem,
    name: str,
    rounding: Sequence[nw.Expr] = (),
    ratios: FloatArray | None = None,
) -> Lazy:
    """Add the cheapest decisions, by the costs of the problem or by those of every row."""
    if problem.columns:
        return cheapest_of_each(rows, posteriors, cost_names(problem), name, rounding, ratios)
    return cheapest(rows, posteriors, problem.costs, name, rounding, ratios)


def cost_checks(rows: Lazy, problem: Problem) -> Iterator[tuple[str, Check]]:
    """Yield checks of the columns that costs depend on, and of the costs that follow from them."""
    for place, column in enumerate(problem.columns):
        name, argument = data_column(place), f"data[{column!r}]"
        yield argument, number_check(rows, {name: _is_cost(name)}, argument, *_COLUMN)
    for k, d in np.ndindex(problem.n_classes, problem.n_decisions):
        if isinstance(text := problem.written[k][d], str):
            name = cost_column(k, d)
            which = f"that of {problem.decisions[d]!r} for {problem.classes[k]!r}, {text!r},"
            rule = f"must be numbers in every row, within {LARGEST:g} of zero, as {which} is not"
            yield name, number_check(rows, {name: _is_cost(name)}, "costs", rule, _ASK)
    for place, text in enumerate(problem.terms.names):
        if place and text not in problem.columns:
            column = term_column(place)
            rule = f"must have parts that are numbers in every row, as {text!r} is not"
            yield column, number_check(rows, {column: _is_cost(column)}, "costs", rule, _ASK)


_COLUMN = (
    f"must hold a number for every case, within {LARGEST:g} of zero",
    "A cost that is not known is not zero: fill it in, or leave these rows out.",
)
_ASK = "Ask first, as in where(amount > 0, 5 / amount, 0), or leave these rows out."


def _is_cost(column: str) -> nw.Expr:
    return nw.col(column).abs() <= LARGEST


def with_constants(frame: Lazy, problem: Problem, prior: FloatArray) -> Lazy:
    """Add the decisions by costs and prior alone, and the cheapest ones given the class."""
    shares = [f"prior_{k}" for k in _classes(problem)]
    frame = frame.with_columns(**dict(zip(shares, map(nw.lit, prior.tolist()), strict=True)))
    frame = cheapest_of_each(frame, shares, cost_names(problem), BLIND)
    return with_perfect(frame, problem)


def _values(problem: Problem) -> dict[Name, nw.Expr]:
    return {Name(column): nw.col(data_column(k)) for k, column in enumerate(problem.columns)}


def _classes(problem: Problem) -> range:
    return range(problem.n_classes)


def own_cost(problem: Problem, d: int) -> nw.Expr:
    """What a decision costs in each row, given its class."""
    return by_code(nw.col(TRUTH), [nw.col(cost_column(k, d)) for k in _classes(problem)])


def with_perfect(frame: Lazy, problem: Problem) -> Lazy:
    """Add the position of the cheapest decision given the class."""
    costs = {f"own_{d}": own_cost(problem, d) for d in range(problem.n_decisions)}
    frame = frame.with_columns(**costs)
    frame = frame.with_columns(nw.min_horizontal(*map(nw.col, costs)).alias("least"))
    # The first of those that tie; the last decision is left where no other one is the cheapest.
    least = [nw.col(name) <= nw.col("least") for name in list(costs)[:-1]]
    return frame.with_columns(first_place(least).alias(PERFECT))


# Groups ------------------------------------------------------------------------------------------


def pooled_terms(problem: Problem) -> list[str]:
    """The columns of the terms, whose entries are equal, or nearly so, within a group."""
    return [term_column(place) for place in range(1, len(problem.terms.names))]


def term_sums(problem: Problem) -> dict[str, nw.Expr]:
    """What is summed over each group: weight times each term."""
    return {f"sum {term}": nw.col(WEIGHT) * nw.col(term) for term in pooled_terms(problem)}


def with_bins(
    frame: Lazy, columns: Sequence[str], ranges: Mapping[str, tuple[float, float]], width: int
) -> tuple[Lazy, dict[str, int]]:
    """Add the bin of each of some columns, and return how many bins each has.

    `ranges` are the least and largest entries; 2**width bins of the grid are merged into one.
    """
    sizes = {}
    for column in columns:
        name = f"bin {column}"
        frame = zero_grid(*ranges[column]).binned(frame, column, name)
        if width:
            coarse = (nw.col(name) * 2.0**-width).floor().cast(nw.Int64)
            frame = frame.with_columns(coarse.alias(name))
        sizes[name] = (BitGrid.N_BINS >> width) + 1
    return frame, sizes


def zero_grid(low: float, high: float) -> ScoreGrid:
    """Bins of entries in a range, finest at zero, or at the amount that all of them share.

    Bins are a thousandth as wide as their distance from there. About zero, entries that differ by
    less than a thousandth would share a bin, and intervals would ignore how they differ.

    >>> zero_grid(-3.0, 5.0).centre, zero_grid(1e8, 1e8 + 2).centre, zero_grid(-5.0, -4.0).centre
    (0.0, 100000000.0, -4.0)
    >>> [zero_grid(*ends).unit * 2**31 for ends in ((0.0, 2.5), (1e8, 1e8 + 2.5), (-5.0, -2.0))]
    [4.0, 4.0, 8.0]
    """
    centre = low if high < 2 * low else high if 2 * high < low else 0.0
    largest = max(abs(low - centre), abs(high - centre))
    # Not smaller than that where all entries are equal: the inverse would be infinite.
    return ScoreGrid(centre, 2.0 ** (math.frexp(max(largest, 2.0**-900))[1] - 31))


def pooled_costs(problem: Problem, groups: Arrays) -> CaseCosts:
    """The mean costs of the rows of every group."""
    weight, names = groups[WEIGHT], problem.terms.names
    terms = np.stack(
        [np.ones(weight.size), *(_means(groups, term, weight) for term in pooled_terms(problem))]
    )
    coefficients = np.nan_to_num(problem.terms.coefficients, nan=0.0)
    return CaseCosts(
        weight.size,
        problem.classes,
        problem.decisions,
        array=np.moveaxis(np.tensordot(coefficients, terms, axes=1), -1, 0),
        columns={Name(name): values for name, values in zip(names, terms, strict=True)},
    )


def _means(groups: Arrays, column: str, weight: FloatArray) -> FloatArray:
    """The mean of each group, exact to the last bit where its rows are equal."""
    low, high = groups[low_of(column)], groups[high_of(column)]
    with np.errstate(divide="ignore", invalid="ignore"):
        # Rounding must not give a group a mean outside the range of its rows.
        mean = np.clip(groups[f"sum {column}"] / weight, low, high)
    return np.asarray(np.where(low == high, low, mean))


def group_charges(
    problem: Problem,
    groups: Arrays,
    decided: Mapping[str, IntArray],
    bayes: frozenset[str],
    facts: Facts,
    clusters: IntArray | None,
) -> Charges:
    """What every system costs in every group of rows."""
    cases = group_cases(problem, groups, facts.shares)
    charges = charges_of(cases, decided, bayes, groups[BLIND])
    losses = replace(
        charges.losses,
        whole=not facts.weighted,
        clusters=clusters,
        repeats=groups[WEIGHT if facts.copied else ROWS],
        squared=groups[SQUARES],
    )
    return replace(charges, losses=losses)


def key_folds(cases: Cases, groups: Arrays) -> Folds:
    """The folds of groups of rows; keys state them, so that nothing is drawn."""
    return Folds(cases, 0, by_key=used_folds(groups[FOLD]))


def group_cases(
    problem: Problem, groups: Arrays, shares: FloatArray, *, charged: bool = True
) -> Cases:
    """Groups of rows as cases, each with the weight of its rows; by default with their costs."""
    return Cases(
        problem=problem,
        n_rows=len(groups[WEIGHT]),
        kept=None,
        truth=groups[TRUTH],
        weights=groups[WEIGHT],
        by=(),
        clusters=None,
        shares=shares,
        costs=pooled_costs(problem, groups) if problem.columns and charged else None,
    )


def between_scores(
    problem: Problem, groups: Arrays, scores: FloatArray
) -> Callable[[FloatArray], FloatArray]:
    """A function that sums the terms of the costs between scores; groups begin at `scores`."""
    columns = [groups[WEIGHT], *(groups[name] for name in term_sums(problem))]
    columns = columns if len(columns) <= MOST_TERMS else []

    def summed(edges: FloatArray) -> FloatArray:
        codes, shape = [np.searchsorted(edges, scores), groups[TRUTH]], (edges.size + 1, 2)
        sums = [table_of(column, codes, shape) for column in columns]
        return np.stack(sums, axis=-1) if sums else np.empty((*shape, 0))

    return summed


def widest(problem: Problem, groups: Arrays) -> float:
    """By how much, at most, a term differs within a group, as a share of its largest entry."""
    return max((_width(groups, term) for term in pooled_terms(problem)), default=0.0)


def _width(groups: Arrays, column: str) -> float:
    low, high = groups[low_of(column)], groups[high_of(column)]
    size = np.maximum(np.abs(low), np.abs(high))
    return float(np.max((high - low) / np.where(size > 0, size, 1.0), initial=0.0))


def narrowed(problem: Problem, groups: Arrays) -> float:
    """By which share, at most, intervals of a term within a class ignore how its rows differ.

    The variance within a group is at most (high − mean)·(mean − low) (Bhatia and Davis 2000).
    """
    return max((_ignored(groups, term) for term in pooled_terms(problem)), default=0.0)


def _ignored(groups: Arrays, column: str) -> float:
    weight, truth = groups[WEIGHT], groups[TRUTH]
    low, high, mean = (
        groups[low_of(column)],
        groups[high_of(column)],
        _means(groups, column, weight),
    )

    def by_class(values: FloatArray) -> FloatArray:
        return np.bincount(truth, weight * values).astype(np.float64)

    within = by_class((high - mean) * (mean - low))
    away = mean - (by_class(mean) / np.maximum(by_class(np.ones(mean.size)), 1e-300))[truth]
    kept = ratio(by_class(away**2), by_class(away**2) + within)
    return float(1 - np.sqrt(np.nanmin(kept, initial=1.0)))
