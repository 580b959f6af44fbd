"""Cases in bins of pairs of systems, counted by the engine that holds the rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import prod

import narwhals.stable.v2 as nw
import numpy as np

from stakes._check import FloatArray
from stakes.adapters.expressions import arrays_of, first_of, grouped
from stakes.adapters.joint_decisions import Refits, system_column, with_systems
from stakes.adapters.lazy import TRUTH, WEIGHT
from stakes.adapters.lazy_models import LazyModel, Tallied
from stakes.adapters.refits import Refit
from stakes.adapters.sources import Lazy
from stakes.evaluation import DecisionRule, pair_counts, source_size
from stakes.report import RECALIBRATED, DecisionSource, PairCounts

_MOST_CELLS = 1 << 20  # cells of all sources at once, beyond which each pair takes a pass


@dataclass(frozen=True, eq=False)
class PairBins:
    """Prepared rows, and all that is needed to find the bins of each."""

    rows: Lazy
    models: Sequence[LazyModel]
    rules: dict[str, DecisionRule]
    refits: Refits
    tallied: Mapping[str, Tallied]

    def __call__(
        self, sources: Sequence[DecisionSource], edges: Sequence[FloatArray]
    ) -> dict[tuple[int, int], PairCounts]:
        """The cases in bins of each pair of sources; see `stakes.evaluation.PairsOf`."""
        problem = self.models[0].problem
        sizes = [source_size(source, problem) for source in sources]
        rows = with_systems(self.rows, self.models, self.rules, self.refits)
        codes = map(self._code, sources, edges)
        rows = rows.with_columns(code.alias(_column(place)) for place, code in enumerate(codes))
        pairs: dict[tuple[int, int], PairCounts] = {}
        for places in _passes(sizes, problem.n_classes):
            keys = {TRUTH: problem.n_classes, **{_column(place): sizes[place] for place in places}}
            cells = arrays_of(grouped(rows, keys, {WEIGHT: nw.col(WEIGHT)}), keys)
            known = {place: cells[_column(place)] for place in places}
            pairs |= pair_counts(cells[TRUTH], cells[WEIGHT], known, sizes, problem.n_classes)
        return pairs

    def _code(self, source: DecisionSource, edges: FloatArray) -> nw.Expr:
        """The bin of every row, as an expression."""
        if source.system is not None:
            return nw.col(system_column(list(self.rules).index(source.system)))
        if source.recalibrated:
            refit = self.refits[source.model, RECALIBRATED]
            assert isinstance(refit, Refit)
            posteriors = np.asarray(refit.fitted.predictions)[:, 1]
            return replace(refit, predictions=np.searchsorted(edges, posteriors)).expression()
        (model,) = (each for each in self.models if each.name == source.model)
        bins = self.tallied[source.model].bins
        # Where scores were binned, edges are means of bins, which include rows up to their end.
        highest = edges if bins is None else map(bins.threshold, edges)
        inside = [nw.col(model.score) <= float(score) for score in highest]
        return first_of(inside, [nw.lit(place) for place in range(len(edges))], len(edges))


def _column(place: int) -> str:
    return f"code_{place}"


def _passes(sizes: Sequence[int], n_classes: int) -> Iterator[tuple[int, ...]]:
    """The sources that are counted together: all of them, or two at a time."""
    if len(sizes) > 1 and n_classes * prod(sizes) <= _MOST_CELLS:
        yield tuple(range(len(sizes)))
    else:
        yield from combinations(range(len(sizes)), 2)
