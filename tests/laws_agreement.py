"""Laws of ``stakes.agreement``: power means, general F1, determinants, Cramér, pairs of classes."""

from __future__ import annotations

import itertools
import math
from functools import partial

import numpy as np
from hypothesis import strategies as st

from laws import (
    RECTANGULAR,
    SQUARE,
    VALUES,
    Law,
    divide,
    inf,
    nan,
    per_cell,
    per_class,
    per_pair,
)
from laws_measures import Cells, margins, mcc, of_each_class, recall, total
from stakes import agreement
from stakes.agreement import all_against_all, pairwise
from stakes.measures import recall as class_recall

ROOMS = ("stakes.agreement",)

ORDERS = st.sampled_from([-inf, -2, -1, -0.5, 0, 0.5, 1, 2, inf])
INNER_ORDERS = st.sampled_from([-inf, -2, -1, -0.5, 0, 0.5, 1])


def some_order(world):
    return st.tuples(ORDERS)


def some_inner_order(world):
    return st.tuples(INNER_ORDERS)


def power_mean(values, p):
    """Straight from eq 4 and 5, case by case."""
    if not values or any(math.isnan(value) for value in values):
        return nan
    if p in (inf, -inf):
        return max(values) if p > 0 else min(values)
    if p != 1 and min(values) < 0:
        return nan
    if p <= 0 and min(values) == 0:
        return 0.0
    if p == 0:
        return math.prod(value ** (1 / len(values)) for value in values)
    return (
        (sum(value**p for value in values) / len(values)) ** (1 / p)
        if p != 1
        else (sum(values) / len(values))
    )


def entry(cell, row, column, p):
    """Mean of cell/row and cell/column; below order 0 a side without cases only adds a zero."""
    if p < 0 and (row > 0 or column > 0):
        sides = [margin for margin in (row, column) if margin > 0]
        return 0.0 if len(sides) < 2 else power_mean([cell / row, cell / column], p)
    return power_mean([divide(cell, row), divide(cell, column)], p)


def association_matrix(table, p):
    rows, columns = margins(table)
    return [
        [entry(cell, rows[i], columns[j], p) for j, cell in enumerate(row)]
        for i, row in enumerate(table)
    ]


def general_f1(table, average, inner):
    matrix = association_matrix(table, inner)
    return power_mean([matrix[k][k] for k in range(len(table))], average)


def sign_of(order):
    inversions = sum(
        order[i] > order[j] for i in range(len(order)) for j in range(i + 1, len(order))
    )
    return -1 if inversions % 2 else 1


def determinant_mcc(table, inner):
    """Leibniz: the signed products over all permutations."""
    rows, columns = margins(table)
    if not all(rows) or not all(columns):
        return nan
    matrix = association_matrix(table, inner)
    return sum(
        sign_of(order) * math.prod(matrix[i][j] for i, j in enumerate(order))
        for order in itertools.permutations(range(len(table)))
    )


def cramers_phi(table):
    rows, columns = margins(table)
    if not all(rows) or not all(columns):
        return nan
    n = total(table)
    chi_squared = sum(
        (cell - rows[i] * columns[j] / n) ** 2 / (rows[i] * columns[j] / n)
        for i, row in enumerate(table)
        for j, cell in enumerate(row)
    )
    k = min(len(rows), len(columns))
    return nan if k == 1 else math.sqrt(chi_squared / (n * (k - 1)))


def perfect_relabelling(table):
    """Try every renaming of the decisions; -1 for every decision if none is perfect."""
    for classes in itertools.permutations(range(len(table))):
        right = [table[i][j] for j, i in enumerate(classes)]
        if all(right) and sum(right) == total(table):
            return list(classes)
    return [-1] * len(table)


def relabelling_as_positions(counts):
    """The answer as positions, table by table: it takes one table at a time."""
    if counts.values.ndim > 2:
        return np.array([relabelling_as_positions(counts[i]) for i in range(len(counts.values))])
    relabelling = agreement.perfect_relabelling(counts)
    names = counts.classes
    return (
        [-1] * len(names)
        if relabelling is None
        else [names.index(relabelling[name]) for name in names]
    )


def moved_relabelling(value, order):
    position = {old: new for new, old in enumerate(order[0])} | {-1: -1}
    return [position[int(value[old])] for old in order[0]]


# Pairs: one metric that does not care which class is positive, and one that does.
PAIR_METRICS = {
    "determinant": (agreement.determinant_mcc, mcc),
    "recall of the second": (
        lambda counts: class_recall(counts)[..., 1],
        lambda table: recall(Cells(table, 1)),
    ),
}


def pairs(table, name):
    def value(i, j):
        return PAIR_METRICS[name][1]([[table[i][i], table[i][j]], [table[j][i], table[j][j]]])

    size = range(len(table))
    return [[nan if i == j else value(i, j) for j in size] for i in size]


def mean_over_pairs(table, name, average):
    values = pairs(table, name)
    size = range(len(table))
    return power_mean([values[i][j] for i in size for j in size if i != j], average)


def some_metric(world):
    return st.tuples(st.sampled_from(sorted(PAIR_METRICS)))


def some_metric_and_order(world):
    return st.tuples(st.sampled_from(sorted(PAIR_METRICS)), ORDERS)


def four_rates(c, p):
    rates = [
        divide(c.tp, c.tp + c.fn),
        divide(c.tp, c.tp + c.fp),
        divide(c.tn, c.tn + c.fp),
        divide(c.tn, c.tn + c.fn),
    ]
    return power_mean(rates, p)


def by_mean(measure):
    return lambda counts, p: measure(counts, mean=p)


def by_average(measure):
    return lambda counts, p: measure(counts, average=p)


SquareLaw = partial(Law, subject=SQUARE)

LAWS = [
    Law(agreement.power_mean, VALUES, power_mean, some_order),
    Law(
        agreement.association_matrix,
        RECTANGULAR,
        association_matrix,
        some_inner_order,
        by_mean(agreement.association_matrix),
        per_cell,
    ),
    SquareLaw(
        agreement.general_f1,
        twin=general_f1,
        arguments=lambda world: st.tuples(ORDERS, INNER_ORDERS),
        call=lambda counts, average, mean: agreement.general_f1(counts, average=average, mean=mean),
    ),
    SquareLaw(
        agreement.general_fowlkes_mallows,
        twin=lambda table, average: general_f1(table, average, 0),
        arguments=some_order,
        call=by_average(agreement.general_fowlkes_mallows),
    ),
    SquareLaw(
        agreement.f1_of_negatives,
        twin=of_each_class(lambda c: divide(2 * c.tn, 2 * c.tn + c.fp + c.fn)),
        moves=per_class,
    ),
    SquareLaw(
        agreement.mean_of_four_rates,
        twin=of_each_class(four_rates),
        arguments=some_inner_order,
        call=by_mean(agreement.mean_of_four_rates),
        moves=per_class,
    ),
    SquareLaw(
        agreement.determinant_mcc,
        twin=determinant_mcc,
        arguments=some_inner_order,
        call=by_mean(agreement.determinant_mcc),
    ),
    Law(agreement.cramers_phi, RECTANGULAR, cramers_phi),
    SquareLaw(
        agreement.perfect_relabelling,
        twin=perfect_relabelling,
        call=relabelling_as_positions,
        moves=moved_relabelling,
    ),
    SquareLaw(
        agreement.pairwise,
        twin=pairs,
        arguments=some_metric,
        call=lambda counts, name: pairwise(PAIR_METRICS[name][0], counts),
        moves=per_pair,
    ),
    SquareLaw(
        agreement.all_against_all,
        twin=mean_over_pairs,
        arguments=some_metric_and_order,
        call=lambda counts, name, p: all_against_all(PAIR_METRICS[name][0], counts, average=p),
    ),
]
