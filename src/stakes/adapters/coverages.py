"""Cost against coverage of rows that stay in their engine: two passes for one system."""

from __future__ import annotations

from collections.abc import Sequence

import narwhals.stable.v2 as nw
import numpy as np

from stakes._check import FloatArray
from stakes.adapters.case_costs import cost_column
from stakes.adapters.expressions import arrays_of, grouped, high_of, picked, sum_of
from stakes.adapters.lazy import TRUTH, WEIGHT
from stakes.adapters.sources import Lazy
from stakes.adapters.zoom_bins import ScoreGrid
from stakes.evaluation import hardness_unit
from stakes.limits import coverage_points
from stakes.problem import Problem
from stakes.report import Points
from stakes.tally import BitGrid

_HARD, _MASS, _SPENT, _BIN = "hardness", "mass", "spent", "bin"


def coverage_in_engine(
    rows: Lazy,
    posteriors: Sequence[str],
    decided: str,
    problem: Problem,
    ratios: FloatArray,
) -> Points:
    """What a Bayes rule costs where hard cases are left undecided; equal to `coverage_of_rows`.

    `ratios` are the weights of the classes at the prior of deployment.
    """
    classes, decisions = range(problem.n_classes), range(problem.n_decisions)

    def cost(k: int, d: int) -> nw.Expr:
        return nw.col(cost_column(k, d)) if problem.columns else nw.lit(float(problem.costs[k, d]))

    means = [sum_of([nw.col(p) * cost(k, d) for k, p in enumerate(posteriors)]) for d in decisions]
    counts = picked(nw.col(TRUTH), [nw.lit(ratio) for ratio in ratios.tolist()]) * nw.col(WEIGHT)
    spent = picked(nw.col(TRUTH), [picked(nw.col(decided), [cost(k, d) for d in decisions])
                                 for k in classes])  # fmt: skip
    rows = rows.with_columns(
        nw.min_horizontal(*means).alias(_HARD), counts.alias(_MASS), spent.alias(_SPENT)
    )
    largest = float(rows.select(nw.col(_HARD).abs().max().alias(_HARD)).collect()[_HARD][0])
    rows = ScoreGrid(0.0, hardness_unit(largest)).binned(rows, _HARD, _BIN)
    sizes = {_BIN: BitGrid.N_BINS}
    sums = {_MASS: nw.col(_MASS), _SPENT: nw.col(_MASS) * nw.col(_SPENT)}
    tallied = arrays_of(grouped(rows, sizes, sums, ranges=[_HARD]), sizes)
    order = np.argsort(tallied[_BIN])
    return coverage_points(*(tallied[name][order] for name in (high_of(_HARD), _MASS, _SPENT)))
