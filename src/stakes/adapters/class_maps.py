"""Maps of posteriors of more than two classes, fitted out of fold to rows inside their engine.

Affine maps on log-posteriors by Newton's method. Each step is one pass over the rows, in which the
engine sums the derivatives of the log loss for the maps of all folds at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from stakes._check import FloatArray, IntArray
from stakes.adapters.expressions import (
    Arrays,
    arrays_of,
    first_of,
    grouped,
    high_of,
    picked,
    sum_of,
)
from stakes.adapters.lazy import FOLD, TRUTH, WEIGHT
from stakes.adapters.model_tallies import LazyModel
from stakes.adapters.sources import Lazy
from stakes.calibration import (
    Affine,
    CalibrationMap,
    Calibrator,
    Select,
    Temperature,
    VectorScaling,
    decoded,
    largest_finite,
)
from stakes.evaluation import KEY_FOLDS, Cases, Folds, left_out, used_folds
from stakes.report import RECALIBRATED, Caveat

FITTING = Affine, Temperature, VectorScaling  # what is fitted here
MOST_SUMS = 1000  # in one pass; they grow with the square of the parameters
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
        return _softmax(rows, [names])

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


def _softmax(rows: Lazy, groups: Sequence[Sequence[str]]) -> Lazy:
    """Turn groups of columns of logits into posteriors, in their place.

    All groups in one step each, because an engine reads a query again with every step.
    """
    highest, total = "{} highest", "{} sum"
    firsts = [(names[0], names) for names in groups]
    pairs = [(first, name) for first, names in firsts for name in names]
    rows = rows.with_columns(
        nw.max_horizontal(*map(nw.col, names)).alias(highest.format(first))
        for first, names in firsts
    )
    rows = rows.with_columns(
        (nw.col(name) - nw.col(highest.format(first))).exp().alias(name) for first, name in pairs
    )
    rows = rows.with_columns(
        sum_of([nw.col(name) for name in names]).alias(total.format(first))
        for first, names in firsts
    )
    return rows.with_columns(
        (nw.col(name) / nw.col(total.format(first))).alias(name) for first, name in pairs
    )


def _n_sums(calibrator: Calibrator, n_classes: int) -> int:
    """How many sums the maps of one set need: loss, gradient and second derivatives."""
    if isinstance(calibrator, Temperature):
        return 3
    size = n_classes * (2 if isinstance(calibrator, VectorScaling) else 1)  # parameters, and one
    return 1 + size + size * (size + 1) // 2


def what_fits(calibrator: Calibrator, n_classes: int) -> Calibrator:
    """The calibrator itself, or the only candidate of one that chooses."""
    alone = calibrator._alone(n_classes) if isinstance(calibrator, Select) else None
    return calibrator if alone is None else alone


def why_no_maps(calibrator: Calibrator, n_classes: int) -> str | None:
    """Why no map of more than two classes is fitted in engines, or None if one is."""
    calibrator = what_fits(calibrator, n_classes)
    if not isinstance(calibrator, FITTING):
        names = ", ".join(f"{kind.__name__}()" for kind in FITTING)
        return f"of more than two classes only {names} are fitted there. Name one of these."
    if _n_sums(calibrator, n_classes) > MOST_SUMS:
        return (
            f"{calibrator!r} of {n_classes} classes has too many parameters. Take Temperature(), "
            f"which has one."
        )
    return None


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
        fits = what_fits(calibrator, model.problem.n_classes)
        newton = _Newton(model, rows, cells, fits)
        if newton.run(hear):
            return newton.maps(), ()
        reason = "no best map was found in the engine; perhaps its posteriors separate the classes."
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


def _logs(s: int, k: int) -> str:
    """The column of the logarithms of a class, as far down as a set has them."""
    return f"log_{s}_{k}"


def _chance(s: int, k: int) -> str:
    """The column of the posteriors of a class by the map of a set."""
    return f"chance_{s}_{k}"


def _mean(s: int, q: int) -> str:
    """The column of how far a parameter moves logits in the mean over the classes."""
    return f"mean_{s}_{q}"


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
        # From the identity, to which most maps are close: every step is a pass over all rows.
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
        # The first class has no intercept: a number added to all logits changes no posterior.
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
        at_once = max(MOST_SUMS // _n_sums(self.calibrator, self.size), 1)
        parts = []
        for first in range(0, len(self.used), at_once):
            sets = range(len(self.used))[first : first + at_once]
            rows = self._with_means(self.rows, sets)
            expressions = {name: each for s in sets for name, each in self._sums(s).items()}
            sizes = {TRUTH: self.size, FOLD: KEY_FOLDS}
            sums = arrays_of(grouped(rows, sizes, expressions), sizes)
            parts += [self._of_set(sums, s) for s in sets]
        losses, gradients, curvatures = zip(*parts, strict=True)
        return np.array(losses), np.stack(gradients), np.stack(curvatures)

    def _with_means(self, rows: Lazy, sets: Sequence[int]) -> Lazy:
        """Add logarithms, posteriors by the map of each set, and the mean moves of logits."""
        columns, places = self.model.posteriors, range(self.size)
        rows = rows.with_columns(
            _log(columns[k], float(self.limits[s])).alias(_logs(s, k)) for s in sets for k in places
        )
        lines = self.coefficients.tolist()
        rows = rows.with_columns(
            (nw.col(_logs(s, k)) * lines[s][k][0] + lines[s][k][1]).alias(_chance(s, k))
            for s in sets
            for k in places
        )
        rows = _softmax(rows, [[_chance(s, k) for k in places] for s in sets])
        return rows.with_columns(
            sum_of([nw.col(_chance(s, k)) * move for k, move in moved.items()]).alias(_mean(s, q))
            for s in sets
            for q, moved in enumerate(self._moves(s))
        )

    def _sums(self, s: int) -> dict[str, nw.Expr]:
        r"""What is summed for a set: loss, gradient, second derivatives.

        Where a parameter q moves the logit of class k by :math:`z_{kq}`, the loss
        :math:`-\log p_y` has the derivative :math:`m_q - z_{yq}` with
        :math:`m_q = \sum_k p_k z_{kq}`, and the second ones
        :math:`\sum_k p_k z_{kq} z_{kr} - m_q m_r`.
        """
        places, weight, truth = range(self.size), nw.col(WEIGHT), nw.col(TRUTH)
        chances, moves = [nw.col(_chance(s, k)) for k in places], self._moves(s)
        true = picked(truth, chances)
        safe = nw.when(true > 0.0).then(true).otherwise(nw.lit(5e-324))
        sums = {f"loss {s}": weight * safe.log() * -1.0}
        for q, moved in enumerate(moves):
            of_truth = picked(truth, [moved.get(k, nw.lit(0.0)) for k in places])
            sums[f"slope {s} {q}"] = weight * (nw.col(_mean(s, q)) - of_truth)
            for r in range(q + 1):
                both = [chances[k] * moved[k] * moves[r][k] for k in moved if k in moves[r]]
                product = nw.col(_mean(s, q)) * nw.col(_mean(s, r))
                spread = sum_of(both) - product if both else product * -1.0
                sums[f"bend {s} {q} {r}"] = weight * spread
        return sums

    def _moves(self, s: int) -> list[dict[int, nw.Expr]]:
        """By how much each parameter moves the logits of those classes that it moves."""
        return [
            {
                k: nw.col(_logs(s, k)) * slope + offset if slope else nw.lit(offset)
                for k, (slope, offset) in enumerate(axis)
                if slope or offset
            }
            for axis in np.moveaxis(self.axes[s], -1, 0).tolist()
        ]

    def _of_set(self, sums: Arrays, s: int) -> tuple[float, FloatArray, FloatArray]:
        counts = self.worth[s][sums[TRUTH]] * self.used[s][sums[FOLD]]

        def total(name: str) -> float:
            return float(counts @ sums[name])

        size = self.axes.shape[-1]
        gradient = np.array([total(f"slope {s} {q}") for q in range(size)])
        curvature = np.empty((size, size))
        for q, r in combinations_with_replacement(range(size), 2):
            curvature[q, r] = curvature[r, q] = total(f"bend {s} {r} {q}")
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
