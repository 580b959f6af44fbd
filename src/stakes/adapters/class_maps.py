"""Maps of posteriors of more than two classes, fitted out of fold to rows inside their engine.

Affine maps on log-posteriors by Newton's method. Each step is one pass over the rows, in which the
engine sums the derivatives of the log loss for the maps of all folds at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from stakes._check import FloatArray, IntArray
from stakes.adapters.expressions import Arrays, arrays_of, first_of, grouped, high_of, sum_of
from stakes.adapters.lazy import FOLD, TRUTH, WEIGHT
from stakes.adapters.model_tallies import LazyModel
from stakes.adapters.sources import Lazy
from stakes.calibration import (
    Affine,
    CalibrationMap,
    Calibrator,
    Temperature,
    VectorScaling,
    decoded,
    largest_finite,
)
from stakes.evaluation import KEY_FOLDS, Cases, Folds, left_out, used_folds
from stakes.report import RECALIBRATED, Caveat

FITTING = Affine, Temperature, VectorScaling  # what is fitted here
MOST_CLASSES = 8  # the sums of a pass grow with their square
_MOST_STEPS = 25
_THERE = 1e-6  # change of a parameter by a Newton step after which there is nothing left to do
_DEPTH = "depth"


@dataclass(frozen=True, eq=False)
class ClassMaps:
    """Maps p_k ∝ exp(b_k) q_k^{a_k}, one for each fold that has cases, and one of all cases."""

    numbers: IntArray  # the folds that have cases, (F,)
    slopes: FloatArray  # (F + 1, K)
    intercepts: FloatArray  # (F + 1, K)
    limits: FloatArray  # (F + 1,), below minus which logarithms are read as that
    whole: CalibrationMap
    rule = RECALIBRATED
    decides = False

    @property
    def folds(self) -> IntArray:
        """The folds that have cases."""
        return self.numbers

    def on_all(self) -> CalibrationMap:
        """The map of all cases."""
        return self.whole

    def with_posteriors(self, rows: Lazy, posteriors: Sequence[str], names: Sequence[str]) -> Lazy:
        """Add posteriors by the map that was fitted without the fold of each row."""
        folds = [nw.col(FOLD) == int(number) for number in self.numbers[:-1]]
        columns = {}
        for k, (column, name) in enumerate(zip(posteriors, names, strict=True)):
            logits = [self._logit(column, s, k) for s in range(len(self.numbers))]
            columns[name] = first_of(folds, logits[:-1], logits[-1])
        rows = rows.with_columns(logit.alias(name) for name, logit in columns.items())
        return _softmax(rows, names)

    def _logit(self, column: str, s: int, k: int) -> nw.Expr:
        log = _log(column, float(self.limits[s]))
        return log * float(self.slopes[s, k]) + float(self.intercepts[s, k])


def _log(column: str, limit: float) -> nw.Expr:
    """The logarithm of a posterior, at least −limit."""
    posterior = nw.col(column)
    known = posterior > np.exp(-limit) if limit < 700 else posterior > 0.0
    return nw.when(known).then(posterior).otherwise(nw.lit(1.0)).log() - nw.when(known).then(
        nw.lit(0.0)
    ).otherwise(nw.lit(limit))


def _softmax(rows: Lazy, names: Sequence[str]) -> Lazy:
    """Turn columns of logits into posteriors, in their place."""
    highest = f"{names[0]} highest"
    rows = rows.with_columns(nw.max_horizontal(*map(nw.col, names)).alias(highest))
    rows = rows.with_columns((nw.col(name) - nw.col(highest)).exp().alias(name) for name in names)
    rows = rows.with_columns(sum_of([nw.col(name) for name in names]).alias(f"{highest} sum"))
    return rows.with_columns(
        (nw.col(name) / nw.col(f"{highest} sum")).alias(name) for name in names
    )


def fitted_maps(
    model: LazyModel,
    rows: Lazy,
    calibrator: Calibrator,
    shares: FloatArray,
    hear: Callable[[int], None],
) -> tuple[ClassMaps | None, tuple[Caveat, ...]]:
    """The maps of a model whose posteriors are columns of prepared rows, or why there are none.

    `hear` is told the number of every step.
    """
    rows = model.with_scores(rows)
    cells = _cells(model, rows)
    cases = Cases(
        problem=model.problem,
        n_rows=len(cells[WEIGHT]),
        kept=None,
        truth=cells[TRUTH],
        weights=cells[WEIGHT],
        by=(),
        clusters=None,
        shares=shares,
    )
    reason = Folds(cases, np.random.default_rng(0), used_folds(cells[FOLD])).hindrance
    if reason is None:
        newton = _Newton(model, rows, cells, calibrator)
        if newton.run(hear):
            return newton.maps(), ()
        reason = "no best map was found in the engine; perhaps its classes are told without error."
    return None, (left_out(model.name, f"it was not recalibrated: {reason}"),)


def _cells(model: LazyModel, rows: Lazy) -> Arrays:
    """Weights by class and fold, and how far down the logarithms of the posteriors reach."""
    depths = [
        nw.when(nw.col(column) > 0.0).then(nw.col(column)).otherwise(nw.lit(1.0)).log() * -1.0
        for column in model.posteriors
    ]
    sizes = {TRUTH: model.problem.n_classes, FOLD: KEY_FOLDS}
    rows = rows.with_columns(nw.max_horizontal(*depths).alias(_DEPTH))
    return arrays_of(grouped(rows, sizes, {WEIGHT: nw.col(WEIGHT)}, ranges=[_DEPTH]), sizes)


class _Newton:
    """Newton's method for the maps of all sets of folds: each without one, and all."""

    def __init__(self, model: LazyModel, rows: Lazy, cells: Arrays, calibrator: Calibrator) -> None:
        self.model, self.rows, self.calibrator = model, rows, calibrator
        self.size = model.problem.n_classes
        self.numbers = np.unique(cells[FOLD])
        masses = np.zeros((self.size, KEY_FOLDS))
        masses[cells[TRUTH], cells[FOLD]] = cells[WEIGHT]
        self.used = np.array(
            [*(np.arange(KEY_FOLDS) != number for number in self.numbers), [True] * KEY_FOLDS]
        )
        masses_of_sets = self.used @ masses.T  # (S, K), weights of the classes in each set
        self.shares = masses_of_sets / masses_of_sets.sum(axis=1, keepdims=True)
        prior = model.problem.prior
        self.prior = self.shares if prior is None else np.broadcast_to(prior, masses_of_sets.shape)
        self.worth = self.prior / masses_of_sets  # so that the weights of each set sum to one
        depths = cells[high_of(_DEPTH)]
        self.limits = np.array([largest_finite(depths[some[cells[FOLD]]]) for some in self.used])
        self.axes = np.stack([self._axes(s) for s in range(len(self.used))])  # (S, K, 2, P)
        self.at = np.zeros((len(self.used), self.axes.shape[-1]))
        self.at[:, : self._n_slopes] = 1.0

    @property
    def _n_slopes(self) -> int:
        return self.size if isinstance(self.calibrator, VectorScaling) else 1

    def _axes(self, s: int) -> FloatArray:
        """What each parameter adds to slopes and intercepts, (K, 2, P)."""
        size, slopes = self.size, self._n_slopes
        if isinstance(self.calibrator, Temperature):
            axes = np.ones((size, 2, 1))
            axes[:, 1, 0] = np.log(self.prior[s] / self.shares[s])
            return axes
        axes = np.zeros((size, 2, slopes + size - 1))
        axes[:, 0, :slopes] = np.eye(size) if slopes > 1 else 1.0
        axes[1:, 1, slopes:] = np.eye(size - 1)
        return axes

    @property
    def coefficients(self) -> FloatArray:
        """Slopes and intercepts, (S, K, 2)."""
        return np.asarray(np.einsum("skcp,sp->skc", self.axes, self.at))

    def run(self, hear: Callable[[int], None]) -> bool:
        """Whether steps end at an optimum."""
        step: FloatArray = np.zeros(self.at.shape)
        before: FloatArray = np.full(len(self.at), np.inf)
        for number in range(_MOST_STEPS):
            hear(number + 1)
            loss, gradient, curvature = self._derivatives()
            worse = ~(loss <= before + 1e-12)
            if worse.any():  # go back most of the way, where the step was too long
                step[~worse] = 0.0
                step[worse] /= 4
                self.at = self.at - 3 * step
                continue
            before = loss
            try:
                solved = np.linalg.solve(curvature, -gradient[..., None])
            except np.linalg.LinAlgError:
                return False
            step = np.asarray(solved[..., 0], dtype=np.float64)
            if not np.isfinite(step).all():
                return False
            self.at = self.at + step
            if np.abs(step).max() <= _THERE:
                return True
        return False

    def _derivatives(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Mean log loss (S,) of every set, its gradient (S, P) and second derivatives (S, P, P)."""
        rows, expressions = self.rows, dict[str, nw.Expr]()
        for s in range(len(self.used)):
            rows, of_set = self._sums(rows, s)
            expressions |= of_set
        sizes = {TRUTH: self.size, FOLD: KEY_FOLDS}
        sums = arrays_of(grouped(rows, sizes, expressions), sizes)
        parts = [self._of_set(sums, s) for s in range(len(self.used))]
        losses, gradients, curvatures = zip(*parts, strict=True)
        return np.array(losses), np.stack(gradients), np.stack(curvatures)

    def _sums(self, rows: Lazy, s: int) -> tuple[Lazy, dict[str, nw.Expr]]:
        """The rows with logarithms and posteriors by the map of a set, and what is summed."""
        places, weight = range(self.size), nw.col(WEIGHT)
        logs, chances = [[f"{what}_{s}_{k}" for k in places] for what in ("log", "chance")]
        rows = rows.with_columns(
            _log(column, float(self.limits[s])).alias(name)
            for column, name in zip(self.model.posteriors, logs, strict=True)
        )
        pairs = self.coefficients[s].tolist()
        rows = rows.with_columns(
            (nw.col(x) * slope + intercept).alias(name)
            for x, (slope, intercept), name in zip(logs, pairs, chances, strict=True)
        )
        rows = _softmax(rows, chances)
        x, p = list(map(nw.col, logs)), list(map(nw.col, chances))
        true = first_of([nw.col(TRUTH) == k for k in places[:-1]], p[:-1], p[-1])
        safe = nw.when(true > 0.0).then(true).otherwise(nw.lit(5e-324))
        sums = {f"loss {s}": weight * safe.log() * -1.0}
        for k in places:
            mass = weight * p[k]
            sums |= {f"x {s} {k}": weight * x[k], f"p {s} {k}": mass}
            sums |= {f"px {s} {k}": mass * x[k], f"pxx {s} {k}": mass * x[k] * x[k]}
        for k, j in combinations(places, 2):
            both = weight * p[k] * p[j]
            sums |= {f"c {s} {k} {j}": both, f"cx {s} {k} {j}": both * x[k]}
            sums |= {f"cy {s} {k} {j}": both * x[j], f"cxy {s} {k} {j}": both * x[k] * x[j]}
        for k in places:
            square = weight * p[k] * p[k]
            sums |= {f"c {s} {k} {k}": square, f"cx {s} {k} {k}": square * x[k]}
            sums |= {f"cxy {s} {k} {k}": square * x[k] * x[k]}
        return rows, sums

    def _of_set(self, sums: Arrays, s: int) -> tuple[float, FloatArray, FloatArray]:
        counts = self.worth[s][sums[TRUTH]] * self.used[s][sums[FOLD]]
        size, places = self.size, range(self.size)

        def total(name: str, truth: int | None = None) -> float:
            some = slice(None) if truth is None else sums[TRUTH] == truth
            return float(counts[some] @ sums[name][some])

        slopes = np.empty((size, 2))  # of the loss in each coefficient
        second = np.zeros((size, 2, size, 2))
        for k in places:
            slopes[k, 0] = total(f"px {s} {k}") - total(f"x {s} {k}", k)
            slopes[k, 1] = total(f"p {s} {k}") - self.prior[s, k]
            line = total(f"px {s} {k}") - total(f"cx {s} {k} {k}")
            second[k, 0, k, 0] = total(f"pxx {s} {k}") - total(f"cxy {s} {k} {k}")
            second[k, 0, k, 1] = second[k, 1, k, 0] = line
            second[k, 1, k, 1] = total(f"p {s} {k}") - total(f"c {s} {k} {k}")
        for k, j in combinations(places, 2):
            block = np.empty((2, 2))
            block[0, 0], block[1, 1] = total(f"cxy {s} {k} {j}"), total(f"c {s} {k} {j}")
            block[0, 1], block[1, 0] = total(f"cx {s} {k} {j}"), total(f"cy {s} {k} {j}")
            second[k, :, j], second[j, :, k] = -block, -block.T
        axes = self.axes[s]
        gradient = np.einsum("kcp,kc->p", axes, slopes)
        curvature = np.einsum("kcp,kcjd,jdq->pq", axes, second, axes)
        return total(f"loss {s}"), gradient, curvature

    def maps(self) -> ClassMaps:
        """The maps at the optimum."""
        slopes, intercepts = np.moveaxis(self.coefficients, -1, 0)
        intercepts = intercepts - intercepts.mean(axis=1, keepdims=True)
        written: dict[str, Any] = {
            "limit": float(self.limits[-1]),
            "classes": list(self.model.problem.classes),
            "converged": True,
        }
        if isinstance(self.calibrator, Temperature):
            written |= {
                "kind": "temperature",
                "temperature": float(1 / self.at[-1, 0]),
                "offsets": self.axes[-1, :, 1, 0].tolist(),
            }
        else:
            written |= {
                "kind": "vector",
                "slopes": slopes[-1].tolist(),
                "intercepts": intercepts[-1].tolist(),
            }
        whole = decoded(written)
        return ClassMaps(self.numbers, slopes, intercepts, self.limits, whole)
