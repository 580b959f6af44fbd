"""Newton's method on sums: affine maps of log-posteriors, fitted to rows inside their engine.

Each step is one pass over the rows, or several where there are very many parameters. The engine
sums the derivatives of the log loss, for the maps of all sets of folds at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations_with_replacement
from typing import Any, NamedTuple

import narwhals.stable.v2 as nw
import numpy as np

from stakes._check import BoolArray, FloatArray
from stakes.adapters.expressions import Arrays, by_code, grouped, sum_of
from stakes.adapters.lazy import FOLD, TRUTH, WEIGHT
from stakes.adapters.lazy_models import LazyModel
from stakes.adapters.map_columns import logarithm, logit_of, softmax
from stakes.adapters.sources import Lazy
from stakes.calibration import (
    Affine,
    CalibrationMap,
    Calibrator,
    FullAffine,
    Temperature,
    VectorScaling,
    decoded_map,
)
from stakes.evaluation import KEY_FOLDS

FITTING = Affine, Temperature, VectorScaling, FullAffine  # calibrators that are fitted here
MOST_SUMS = 1000  # sums in one pass; their number grows with the square of the parameters
_MOST_STEPS = 25
_THERE = 1e-6  # the method has converged once no parameter changes by more in a step

Term = tuple[int, int, float]  # k, j, factor: adds factor · log q_j to logit k; j = K: factor


class Sets:
    """Sets of folds, to each of which a map is fitted."""

    def __init__(self, used: BoolArray, mass: FloatArray, limits: FloatArray) -> None:
        self.used = used  # (S, folds)
        self.limits = limits  # (S,), logarithms are at least −limit
        self.masses = used @ mass.T  # (S, K), weights of the classes
        self.worth = 1 / self.masses.sum(axis=1)  # so that the weights of each set sum to one


class Judged(NamedTuple):
    """A fold on which the map fitted to set `by` is judged, for the choice of set `place`."""

    place: int
    fold: int
    by: int
    least: float  # smaller posteriors count as this, so that losses are finite


def _logs(s: int, k: int) -> str:
    """The column of the log-posteriors of a class, at least −limit of a set."""
    return f"log_{s}_{k}"


def _chance(s: int, k: int) -> str:
    """The column of the posteriors of a class by the map of a set."""
    return f"chance_{s}_{k}"


def _mean(s: int, q: int) -> str:
    """The column of the mean over classes of how far a parameter moves their logits."""
    return f"mean_{s}_{q}"


class Newton:
    """The maps of all sets by one calibrator."""

    def __init__(self, model: LazyModel, rows: Lazy, sets: Sets, calibrator: Calibrator) -> None:
        self.rows, self.sets, self.calibrator = rows, sets, calibrator
        self.posteriors, self.classes = model.posteriors, model.problem.classes
        self.size = model.problem.n_classes
        self.parameters = self._parameters()
        self.at = np.tile(self._start(), (len(sets.used), 1))  # (S, P)

    def _parameters(self) -> list[list[Term]]:
        """The terms by which each parameter enters the logits."""
        size = self.size
        terms: list[Term] = [(k, k, 1.0) for k in range(size)]
        if isinstance(self.calibrator, Temperature):
            return [terms]
        slopes = [terms] if isinstance(self.calibrator, Affine) else [[term] for term in terms]
        if isinstance(self.calibrator, FullAffine):
            slopes = [[(k, j, 1.0)] for k in range(1, size) for j in range(size)]
        # The first class has no intercept: a constant added to all logits changes nothing.
        return [*slopes, *([(k, size, 1.0)] for k in range(1, size))]

    def _start(self) -> FloatArray:
        """The parameters that leave posteriors as they are."""
        slopes = np.ones(self.size if isinstance(self.calibrator, VectorScaling) else 1)
        if isinstance(self.calibrator, FullAffine):
            unit = np.eye(self.size)
            slopes = (unit[1:] - unit[0]).ravel()
        return np.append(slopes, np.zeros(len(self.parameters) - slopes.size))

    def line(self, s: int) -> tuple[FloatArray, FloatArray]:
        """The matrix (K, K) and the intercepts (K,) of the logits of a set."""
        factors = np.zeros((self.size, self.size + 1))
        for value, terms in zip(self.at[s].tolist(), self.parameters, strict=True):
            for k, j, factor in terms:
                factors[k, j] += value * factor
        return factors[:, :-1], factors[:, -1]

    def run(self, hear: Callable[[int], None]) -> bool:
        """Take Newton steps, and return whether they converged."""
        step: FloatArray = np.zeros(self.at.shape)
        before: FloatArray = np.full(len(self.at), np.inf)
        for number in range(_MOST_STEPS):
            hear(number + 1)
            loss, gradient, curvature = self._derivatives()
            worse = ~(loss <= before + 1e-12)
            if worse.any():  # the step was too long: go back three quarters of the way
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
        n_sets, n_parameters = self.at.shape
        sums = self._summed([(s, each) for s in range(n_sets) for each in self._sums(s).items()])

        def total(s: int, name: str) -> float:
            return float(self.sets.worth[s] * (self.sets.used[s][sums[FOLD]] @ sums[name]))

        curvature = np.empty((n_sets, n_parameters, n_parameters))
        for q, r in combinations_with_replacement(range(n_parameters), 2):
            for s in range(n_sets):
                curvature[s, q, r] = curvature[s, r, q] = total(s, f"bend {s} {r} {q}")
        places = [(s, [f"slope {s} {q}" for q in range(n_parameters)]) for s in range(n_sets)]
        gradient = np.array([[total(s, name) for name in names] for s, names in places])
        return np.array([total(s, f"loss {s}") for s in range(n_sets)]), gradient, curvature

    def losses(self, judged: Sequence[Judged]) -> FloatArray:
        """The sums (J, K) of the log losses of each class on each judged fold."""
        weight, sums = nw.col(WEIGHT), []
        for place, (_, _, by, least) in enumerate(judged):
            true = self._true_chance(by)
            counted = nw.when(true > least).then(true).otherwise(nw.lit(least))
            sums.append((by, (f"{place}", weight * counted.log() * -1.0)))
        arrays = self._summed(sums)
        results = np.zeros((len(judged), self.size))
        for place, each in enumerate(judged):
            in_fold = arrays[FOLD] == each.fold
            results[place, arrays[TRUTH][in_fold]] = arrays[f"{place}"][in_fold]
        return results

    def _summed(self, sums: Sequence[tuple[int, tuple[str, nw.Expr]]]) -> Arrays:
        """Sums by class and fold; each needs the posteriors by the map of a set."""
        arrays: Arrays = {}
        sizes = {TRUTH: self.size, FOLD: KEY_FOLDS}
        for first in range(0, len(sums), MOST_SUMS):
            some = sums[first : first + MOST_SUMS]
            rows = self._with_means(sorted({s for s, _ in some}))
            arrays |= _in_order(grouped(rows, sizes, dict(each for _, each in some)))
        return arrays

    def _with_means(self, sets: Sequence[int]) -> Lazy:
        """Rows with logarithms, posteriors by the map of each set, and mean moves of logits."""
        places = range(self.size)
        logs = {s: [_logs(s, k) for k in places] for s in sets}
        rows = self.rows.with_columns(
            logarithm(nw.col(self.posteriors[k]), float(self.sets.limits[s])).alias(logs[s][k])
            for s in sets
            for k in places
        )
        lines = {s: self.line(s) for s in sets}
        rows = rows.with_columns(
            logit_of(logs[s], matrix[k], intercepts[k]).alias(_chance(s, k))
            for s, (matrix, intercepts) in lines.items()
            for k in places
        )
        rows = softmax(rows, [[_chance(s, k) for k in places] for s in sets])
        return rows.with_columns(
            sum_of([nw.col(_chance(s, k)) * move for k, move in moved.items()]).alias(_mean(s, q))
            for s in sets
            for q, moved in enumerate(self._moves(s))
        )

    def _true_chance(self, s: int) -> nw.Expr:
        """The posterior of the true class by the map of a set."""
        return by_code(nw.col(TRUTH), [nw.col(_chance(s, k)) for k in range(self.size)])

    def _sums(self, s: int) -> dict[str, nw.Expr]:
        r"""What is summed for a set: loss, gradient, second derivatives.

        Where a parameter q moves the logit of class k by :math:`z_{kq}`, the loss
        :math:`-\log p_y` has the derivative :math:`m_q - z_{yq}` with
        :math:`m_q = \sum_k p_k z_{kq}`, and the second ones
        :math:`\sum_k p_k z_{kq} z_{kr} - m_q m_r`.
        """
        places, weight, truth = range(self.size), nw.col(WEIGHT), nw.col(TRUTH)
        chances, moves = [nw.col(_chance(s, k)) for k in places], self._moves(s)
        true = self._true_chance(s)
        safe = nw.when(true > 0.0).then(true).otherwise(nw.lit(5e-324))
        sums = {f"loss {s}": weight * safe.log() * -1.0}
        for q, moved in enumerate(moves):
            of_truth = by_code(truth, [moved.get(k, nw.lit(0.0)) for k in places])
            sums[f"slope {s} {q}"] = weight * (nw.col(_mean(s, q)) - of_truth)
            for r in range(q + 1):
                both = [chances[k] * moved[k] * moves[r][k] for k in moved if k in moves[r]]
                product = nw.col(_mean(s, q)) * nw.col(_mean(s, r))
                spread = sum_of(both) - product if both else product * -1.0
                sums[f"bend {s} {q} {r}"] = weight * spread
        return sums

    def _moves(self, s: int) -> list[dict[int, nw.Expr]]:
        """By how much each parameter moves the logits, by class; other classes do not move."""
        moves = []
        for terms in self.parameters:
            moved: dict[int, nw.Expr] = {}
            for k, j, factor in terms:
                move = nw.lit(factor) if j == self.size else nw.col(_logs(s, j)) * factor
                moved[k] = moved[k] + move if k in moved else move
            moves.append(moved)
        return moves

    def map_of(self, s: int) -> CalibrationMap:
        """The map of a set."""
        matrix, intercepts = self.line(s)
        written: dict[str, Any] = {
            "limit": float(self.sets.limits[s]),
            "classes": list(self.classes),
            "converged": True,
        }
        if isinstance(self.calibrator, Temperature):
            temperature, offsets = float(1 / self.at[s, 0]), [0.0] * self.size
            written |= {"kind": "temperature", "temperature": temperature, "offsets": offsets}
            return decoded_map(written)
        written["intercepts"] = (intercepts - intercepts.mean()).tolist()
        if isinstance(self.calibrator, FullAffine):
            matrix = matrix - matrix.mean(axis=0)
            return decoded_map(written | {"kind": "full affine", "matrix": matrix.tolist()})
        return decoded_map(written | {"kind": "vector", "slopes": np.diag(matrix).tolist()})


def _in_order(arrays: Arrays) -> Arrays:
    """Sums sorted by class and fold, so that those of several passes match."""
    order = np.lexsort((arrays[FOLD], arrays[TRUTH]))
    return {name: values[order] for name, values in arrays.items()}
