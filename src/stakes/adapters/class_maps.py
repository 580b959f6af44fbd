"""Maps of posteriors of more than two classes, fitted out of fold to rows inside their engine.

Maps are affine on log-posteriors, and Newton's method fits them (`newton_sums`). Where a calibrator
chooses among several candidates, each is also fitted without every pair of folds. Its log loss on
the folds that a fit left out decides.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import combinations

import narwhals.stable.v2 as nw
import numpy as np

from stakes._check import BoolArray, FloatArray, IntArray
from stakes._value import record
from stakes.adapters.case_costs import group_cases, key_folds
from stakes.adapters.expressions import ROWS, Arrays, grouped, high_of
from stakes.adapters.lazy import FOLD, TRUTH, WEIGHT
from stakes.adapters.lazy_models import LazyModel
from stakes.adapters.map_columns import with_affine
from stakes.adapters.newton_sums import FITTING, Judged, Newton, Sets
from stakes.adapters.sources import Lazy
from stakes.calibration import AffineLogs, CalibrationMap, Calibrator, Select, largest_finite
from stakes.evaluation import KEY_FOLDS, left_out
from stakes.report import RECALIBRATED, Caveat

_DEPTH = "depth"


@record
class ClassMaps:
    """Affine maps of log-posteriors, one for each fold that has cases."""

    folds: IntArray  # (F,)
    maps: list[AffineLogs]  # for the class shares of the rows
    whole: CalibrationMap  # the map of all cases
    rule = RECALIBRATED
    decides = False

    def on_all(self) -> CalibrationMap:
        """The map of all cases."""
        return self.whole

    def moved(self, ratios: FloatArray) -> ClassMaps:
        """The maps of the folds for another prior; `ratios` (K,) are its shares over the others."""
        offsets = np.log(ratios)
        maps = [each._replace(intercepts=each.intercepts + offsets) for each in self.maps]
        return replace(self, maps=maps)

    def with_posteriors(self, rows: Lazy, posteriors: Sequence[str], names: Sequence[str]) -> Lazy:
        """Add posteriors by the map that was fitted without the fold of each row."""
        folds = [nw.col(FOLD) == int(fold) for fold in self.folds[:-1]]
        return with_affine(rows, self.maps, folds, posteriors, names)


def why_no_maps(calibrator: Calibrator, n_classes: int) -> str | None:
    """Why no map of more than two classes can be fitted in engines, or None if one can."""
    if all(isinstance(each, FITTING) for each in _candidates(calibrator, n_classes)):
        return None
    names = ", ".join(f"{kind.__name__}()" for kind in FITTING)
    return f"of more than two classes only {names} are fitted there. Name one of these."


def _candidates(
    calibrator: Calibrator, n_classes: int, rarest: float = np.inf
) -> tuple[Calibrator, ...]:
    """The candidates of a calibrator where the rarest class has this many cases."""
    if isinstance(calibrator, Select):
        return calibrator._among(n_classes, rarest)
    return (calibrator,)


def fitted_maps(
    model: LazyModel,
    rows: Lazy,
    calibrator: Calibrator,
    shares: FloatArray,
    hear: Callable[[int], None],
) -> tuple[ClassMaps | None, tuple[Caveat, ...]]:
    """The maps of a model whose posteriors are columns of prepared rows, or why there are none.

    `hear` is called with the number of every step.
    """
    rows = model.with_scores(rows)
    cells = _cells(model, rows)
    reason = key_folds(group_cases(model.problem, cells, shares, charged=False), cells).hindrance
    if reason is None:
        maps = _Choice(model, rows, cells, calibrator).maps(hear)
        if maps is not None:
            return maps, ()
        reason = "no best map was found in the engine; perhaps its posteriors separate the classes."
    return None, (left_out(model.name, f"it was not recalibrated: {reason}"),)


def _cells(model: LazyModel, rows: Lazy) -> Arrays:
    """Weights by class and fold, and the largest −log of a positive posterior."""
    depths = [
        nw.when(nw.col(column) > 0.0).then(nw.col(column)).otherwise(nw.lit(1.0)).log() * -1.0
        for column in model.posteriors
    ]
    sizes = {TRUTH: model.problem.n_classes, FOLD: KEY_FOLDS}
    rows = rows.with_columns(nw.max_horizontal(*depths).alias(_DEPTH))
    return grouped(rows, sizes, {WEIGHT: nw.col(WEIGHT)}, ranges=[_DEPTH])


class _Choice:
    """Which candidate is fitted without each fold, and which one to all cases."""

    def __init__(self, model: LazyModel, rows: Lazy, cells: Arrays, calibrator: Calibrator) -> None:
        self.model, self.rows, self.cells = model, rows, cells
        self.folds: list[int] = np.unique(cells[FOLD]).tolist()
        self.left_out = [*({fold} for fold in self.folds), set[int]()]  # the last leaves out none
        self.mass, counts = self._table(cells[WEIGHT]), self._table(cells[ROWS])
        size = model.problem.n_classes
        listed = [
            _candidates(calibrator, size, (counts @ _without(some)).min()) for some in self.left_out
        ]
        self.n_candidates = list(map(len, listed))
        self.candidates = max(listed, key=len)  # shorter lists are its first entries

    def _table(self, values: FloatArray) -> FloatArray:
        """Values by class and fold."""
        table = np.zeros((self.model.problem.n_classes, KEY_FOLDS))
        table[self.cells[TRUTH], self.cells[FOLD]] = values
        return table

    def maps(self, hear: Callable[[int], None]) -> ClassMaps | None:
        """The maps of the chosen candidates; None where one cannot be fitted."""
        left_out = list(self.left_out)
        if len(self.candidates) > 1:
            pairs = map(set, combinations(self.folds, 2))
            left_out += [pair for pair in pairs if (self.mass @ _without(pair)).all()]
        sets = self._sets(left_out)
        fits = [Newton(self.model, self.rows, sets, each) for each in self.candidates]
        if not all(fit.run(hear) for fit in fits):
            return None
        *best, of_all = self._best(sets, fits, left_out)
        limits = sets.limits.tolist()
        maps = [AffineLogs(*fits[c].line(s), limits[s]) for s, c in enumerate(best)]
        return ClassMaps(np.array(self.folds), maps, fits[of_all].map_of(len(self.folds)))

    def _sets(self, left_out: Sequence[set[int]]) -> Sets:
        used = np.stack([_without(some) for some in left_out])
        depths, folds = self.cells[high_of(_DEPTH)], self.cells[FOLD]
        limits = np.array([largest_finite(depths[some[folds]]) for some in used])
        return Sets(used, self.mass, limits)

    def _best(self, sets: Sets, fits: Sequence[Newton], left_out: Sequence[set[int]]) -> list[int]:
        """The candidate with the least log loss out of fold, for each set of `left_out`.

        A fit without some folds is judged on each other fold, by the fit without that one as well.
        """
        if len(fits) == 1:
            return [0] * len(self.left_out)
        judged = [
            Judged(
                s, fold, by=left_out.index(some | {fold}), least=float(0.5 / sets.masses[s].sum())
            )
            for s, some in enumerate(self.left_out)
            for fold in self.folds
            if fold not in some and some | {fold} in left_out
        ]
        losses = np.zeros((len(fits), len(self.left_out)))
        for each, fit in zip(losses, fits, strict=True):
            sums = fit.losses(judged)
            for (s, *_), of_classes in zip(judged, sums, strict=True):
                each[s] += sets.worth[s] * of_classes.sum()
        return [int(np.argmin(losses[:n, s])) for s, n in enumerate(self.n_candidates)]


def _without(folds: set[int]) -> BoolArray:
    """The mask of all folds but these, (KEY_FOLDS,)."""
    return ~np.isin(np.arange(KEY_FOLDS), list(folds))
