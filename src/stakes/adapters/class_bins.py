"""Tallies of the posteriors of each class, for more than two classes, in one pass of the engine."""

from __future__ import annotations

import narwhals.stable.v2 as nw
import numpy as np

from stakes._check import FloatArray
from stakes.adapters.expressions import arrays_of, grouped
from stakes.adapters.lazy import TRUTH, WEIGHT
from stakes.adapters.lazy_models import LazyModel
from stakes.adapters.partitions import stacked
from stakes.adapters.sources import Lazy
from stakes.evaluation import CLASS_BINS

_CLASS, _CHANCE, _BIN, _TOTAL, _SQUARES = "class", "chance", "bin", "total", "squares"


def class_tallies(model: LazyModel, rows: Lazy) -> tuple[FloatArray, FloatArray]:
    """The bins (K, 10, 3) of `ModelQuality.class_bins`, and the sums (3, K) of `leads_in_sample`.

    Rows are repeated for each class, with the posterior of that class.
    """
    size, weight, chance = model.problem.n_classes, nw.col(WEIGHT), nw.col(_CHANCE)
    rows = model.with_scores(rows)
    # One grouping of K times as many rows needs a single pass, K groupings would need K.
    parts = (
        rows.select(TRUTH, WEIGHT, nw.lit(k).alias(_CLASS), nw.col(name).alias(_CHANCE))
        for k, name in enumerate(model.posteriors)
    )
    tenth, last = (chance * float(CLASS_BINS)).floor(), float(CLASS_BINS - 1)
    in_range = nw.when(tenth < last).then(tenth).otherwise(nw.lit(last))
    rows = stacked(parts).with_columns(in_range.alias(_BIN))
    sizes = {_CLASS: size, TRUTH: size, _BIN: CLASS_BINS}
    sums = {WEIGHT: weight, _TOTAL: weight * chance, _SQUARES: weight * chance * chance}
    tallied = arrays_of(grouped(rows, sizes, sums), sizes)
    is_true = tallied[TRUTH] == tallied[_CLASS]

    def summed(values: FloatArray, *codes: str) -> FloatArray:
        shape = tuple(sizes[code] for code in codes)
        cells = np.ravel_multi_index([tallied[code] for code in codes], shape)
        return np.bincount(cells, values, int(np.prod(shape))).astype(np.float64).reshape(shape)

    mass, total = tallied[WEIGHT], tallied[_TOTAL]
    bins = [summed(part, _CLASS, _BIN) for part in (mass, mass * is_true, total)]
    leads = [summed(part, _CLASS) for part in (total * is_true, total, tallied[_SQUARES])]
    return np.stack(bins, axis=-1), np.stack(leads)
