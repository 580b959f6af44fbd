"""Maps and thresholds fitted out of fold to rows that stay in their engine."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import combinations, combinations_with_replacement
from typing import Any, NamedTuple

import narwhals.stable.v2 as nw
import numpy as np

from stakes._check import BoolArray, FloatArray, IntArray
from stakes._value import record
from stakes.adapters.frame_tallies import HALF_SINGLE
from stakes.adapters.lazy import (
    FOLD,
    ROWS,
    TRUTH,
    WEIGHT,
    Arrays,
    by_code,
    first_of,
    grouped,
    high_of,
    stepped,
    sum_of,
    with_complement,
)
from stakes.adapters.lazy_decisions import (
    MOST_STEPS,
    logarithm,
    logit_of,
    moved_second,
    n_steps,
    second_class,
    softmax,
    with_affine,
)
from stakes.adapters.lazy_models import (
    PERFECT,
    LazyModel,
    Tallied,
    group_cases,
    key_folds,
    pooled_terms,
    term_sums,
    with_perfect,
)
from stakes.adapters.sources import Lazy
from stakes.calibration import (
    Affine,
    AffineLogs,
    CalibrationMap,
    Calibrator,
    FullAffine,
    Select,
    Temperature,
    VectorScaling,
    decoded_map,
    largest_finite,
)
from stakes.decide import cheapest_decisions, class_ratios
from stakes.errors import InputError
from stakes.evaluation import (
    KEY_FOLDS,
    RULES,
    Cases,
    DecisionRule,
    Fitted,
    ModelTallies,
    Predictions,
    decided_by_rules,
    left_out,
    priced_on_all,
    recalibrated,
    tuned_apart,
)
from stakes.problem import Problem
from stakes.report import POSTERIOR_RULES, RECALIBRATED, TUNED_APART, Caveat
from stakes.rows import POSTERIORS, SCORES, Posteriors, Scores
from stakes.scoring import class_means
from stakes.tally import ScoreTable

# -------------------------------------------------------------------------------------------------
# Newton's method on sums: affine maps of log-posteriors, fitted to rows inside their engine.
#
# Each step is one pass over the rows, or several where there are very many parameters. The engine
# sums the derivatives of the log loss, for the maps of all sets of folds at once.

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


# -------------------------------------------------------------------------------------------------
# Maps of posteriors of more than two classes, fitted out of fold to rows inside their engine.
#
# Maps are affine on log-posteriors, and Newton's method fits them (`Newton`). Where a
# calibrator chooses among several candidates, each is also fitted without every pair of folds. Its
# log loss on the folds that a fit left out decides.

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


# -------------------------------------------------------------------------------------------------
# Maps and thresholds fitted out of fold to rows that stay in their engine, for two classes.
#
# The engine pools the rows by score, class and fold, where the fold comes from a key of each row.
# A calibrator is fitted to these weighted cells, or a threshold tuned on them, with the same
# result as from the rows. Decisions by score and fold go back to the engine as an expression.
# Where every row has its own costs, recalibrated posteriors go back instead, or the maps of the
# folds as formulas.

_BYTES = 64  # bytes of memory that a cell takes while it is read


@record
class Refit:
    """A rule fitted out of fold, and its predictions for every cell of score, class and fold.

    These are decisions or, where every row has its own costs, P(second class).
    """

    rule: str
    fitted: Fitted
    score: str
    scores: FloatArray
    folds: IntArray
    predictions: IntArray | FloatArray
    ratios: FloatArray | None = None  # of the stated prior to the class shares; None without one

    @property
    def on_all(self) -> Callable[[], CalibrationMap] | None:
        """A function that fits the map to all cases, where the rule has a map."""
        return self.fitted.on_all

    def with_posteriors(self, rows: Lazy, posteriors: Sequence[str], names: Sequence[str]) -> Lazy:
        """Add the posteriors of the rule, where it predicts no decisions."""
        return with_complement(rows, self.expression(), names)

    @property
    def decides(self) -> bool:
        """Whether it predicts decisions, not posteriors."""
        return self.predictions.dtype.kind != "f"

    def expression(self) -> nw.Expr:
        """The prediction of the rule for every row, as an expression of its fold and score."""
        known = np.unique(self.folds).tolist()
        if self.n_runs > MOST_STEPS:
            each = [second_class(of_fold, nw.col(self.score)) for of_fold in self.fitted.maps]
            if self.ratios is not None:
                each = [moved_second(posterior, self.ratios) for posterior in each]
        else:
            each = [self._of_fold(self.folds == fold) for fold in known]
        return first_of([nw.col(FOLD) == fold for fold in known[:-1]], each)

    def _of_fold(self, in_fold: BoolArray) -> nw.Expr:
        # One comparison for each run of scores with the same prediction: engines plan short
        # expressions much faster.
        scores, where = np.unique(self.scores[in_fold], return_index=True)
        stops, values = _runs(scores, self.predictions[in_fold][where])
        return stepped(nw.col(self.score), stops[:-1], values)

    @property
    def expressible(self) -> bool:
        """Whether its predictions are a short expression: few runs, or formulas of its maps."""
        if self.n_runs <= MOST_STEPS:
            return True
        # A fit replaces infinite scores by finite ones, which a formula would not do.
        formulas = not self.decides and bool(np.isfinite(self.scores).all())
        return formulas and sum(map(n_steps, self.fitted.maps)) <= MOST_STEPS

    @cached_property
    def n_runs(self) -> int:
        """The number of runs of neighbouring scores with the same prediction, in all folds."""
        order = np.lexsort((self.scores, self.folds))
        changes = np.diff(self.predictions[order]) != 0
        return int(np.sum(changes | (np.diff(self.folds[order]) != 0))) + 1


def _runs(scores: FloatArray, predictions: IntArray | FloatArray) -> tuple[list[float], list[Any]]:
    """The last score of every run of scores with the same prediction, and the prediction."""
    stops = np.append(np.flatnonzero(np.diff(predictions)), len(scores) - 1)
    return scores[stops].tolist(), predictions[stops].tolist()


def refitted(
    model: LazyModel,
    cells: Arrays | None,
    tallied: Tallied,
    calibrator: Calibrator | None,
    shares: FloatArray,
) -> tuple[Tallied, Refit | None, tuple[Caveat, ...]]:
    """Tallies with a recalibrated or tuned rule, that rule, and caveats where there is none.

    `cells` are those of `score_cells`, None where there are too many.
    """
    if calibrator is None and isinstance(model.predictions, Posteriors):
        return tallied, None, ()
    if cells is None:
        text = "it was not fitted out of fold: its distinct scores are beyond the limit of memory."
        return tallied, None, (left_out(model.name, text),)
    scores, raw = cells[model.score], isinstance(model.predictions, Scores)
    cases = group_cases(model.problem, cells, shares)
    folds = key_folds(cases, cells)
    fitted, lost = recalibrated(model.name, scores, folds, calibrator, raw=raw)
    rule = RECALIBRATED
    predictions: Any = None
    if fitted is not None and model.problem.columns:
        predictions = np.asarray(fitted.predictions)[:, 1]
    elif fitted is not None:
        predictions = cheapest_decisions(np.asarray(fitted.predictions), model.problem.costs)
    elif raw and (fitted := tuned_apart(scores, folds)) is not None:
        rule, predictions = TUNED_APART, np.asarray(fitted.predictions)
    exact = replace(tallied, bins=None, tallies=_exact(model, tallied, cases, scores, fitted, rule))
    if fitted is None or predictions is None:
        return exact, None, lost
    prior = model.problem.prior
    ratios = None if prior is None else class_ratios(shares, prior)
    refit = Refit(rule, fitted, model.score, scores, cells[FOLD], predictions, ratios)
    if not refit.expressible:
        what = "decisions change" if refit.decides else "recalibrated posteriors change"
        text = f"it was not recalibrated: its {what} too often along the scores."
        return tallied, None, (*lost, left_out(model.name, text))
    return exact, refit, lost


def score_cells(model: LazyModel, rows: Lazy, limit: int) -> Arrays | None:
    """Weights by score, class and fold, sorted in this order; None where there are too many."""
    sizes, most = {TRUTH: 2, FOLD: KEY_FOLDS}, limit // _BYTES
    frame, sums, ranges = model.with_scores(rows), {WEIGHT: nw.col(WEIGHT)}, []
    if model.problem.columns:
        frame = with_perfect(frame, model.problem)
        sizes[PERFECT] = model.problem.n_decisions
        sums, ranges = sums | term_sums(model.problem), pooled_terms(model.problem)
    cells = grouped(frame, sizes, sums, (), ranges, most + 1, numbers=[model.score])
    if len(cells[WEIGHT]) > most:
        return None
    cells[model.score] = cells[model.score] + 0.0  # −0.0 becomes 0.0
    order = np.lexsort((cells[FOLD], cells[TRUTH], cells[model.score]))
    return {name: column[order] for name, column in cells.items()}


def _exact(
    model: LazyModel,
    tallied: Tallied,
    cases: Cases,
    scores: FloatArray,
    fitted: Fitted | None,
    rule: str,
) -> ModelTallies:
    """The tallies with exact score tables, and those of recalibrated scores if there are any."""
    tallies, problem = tallied.tallies, model.problem
    table = ScoreTable._of_codes(cases.truth, scores, cases.weights, problem.classes)
    tallies = replace(tallies, table=table, deployed=model.deployed(table))
    if fitted is None or rule != RECALIBRATED:
        return tallies
    posteriors = np.asarray(fitted.predictions, dtype=np.float64)
    repaired = ScoreTable._of_codes(cases.truth, posteriors[:, 1], cases.weights, problem.classes)
    tallies = replace(tallies, recalibrated=repaired)
    if isinstance(model.predictions, Posteriors):
        return tallies
    losses = class_means(posteriors, cases.truth, RULES, 2, cases.weights)[1]
    deployed = repaired if problem.prior is None else repaired.with_prior(cases.prior)
    return replace(tallies, deployed=deployed, deployed_losses=losses)


def why_none(calibrator: Calibrator, key: str | None, n_classes: int) -> str | None:
    """Why rows beyond the limit of memory cannot be recalibrated, or None if they can."""
    start = "Recalibration was left out: the rows stay in their engine, and "
    if n_classes > 2 and (why := why_no_maps(calibrator, n_classes)) is not None:
        return f"{start}{why}"
    if key is None:
        return f"{start}folds come from a key then. Name a column of whole numbers as the key."
    return None


@record
class LimitedModel:
    """The rules of a model with their prices, and the decisions of each about every cell."""

    rules: dict[str, DecisionRule]
    decided: dict[str, Refit]
    repriced: Callable[[FloatArray], FloatArray]  # see `Evidence.repriced`
    left_out: tuple[Caveat, ...]


def why_no_limits(problem: Problem, key: str | None) -> str | None:
    """Why prices of limits cannot be fitted to rows in an engine, or None if they can."""
    if not problem.limits:
        return None
    if not prices_need_key(problem):
        return "prices are fitted there for two classes only, and for costs that all rows share"
    return "prices are fitted by folds of a key there, and none is named" if key is None else None


def prices_need_key(problem: Problem) -> bool:
    """Whether prices of limits can be fitted to rows in an engine, once there is a key."""
    return problem.n_classes <= 2 and not problem.columns


def limited_model(
    model: LazyModel,
    cells: Arrays | None,
    refit: Refit | None,
    shares: FloatArray,
    rules: Iterable[DecisionRule],
) -> LimitedModel:
    """The Bayes rules of a model under the limits of its problem."""
    if cells is None:
        raise InputError(
            f"memory_limit must leave room for the distinct scores of {model.name}, to which the "
            f"prices of limits are fitted.",
            remedy="Raise it, or take problem.with_limits(None).",
        )
    cases, scores = group_cases(model.problem, cells, shares), cells[model.score]
    repaired = refit if refit is not None and refit.rule == RECALIBRATED else None
    is_probable = isinstance(model.predictions, Posteriors)
    predictions = Predictions(
        model.name,
        POSTERIORS if is_probable else SCORES,
        posteriors=np.column_stack([1.0 - scores, scores]) if is_probable else None,
        moving=model.moving,
        scores=scores,
        fitted=None if repaired is None else repaired.fitted,
        rounding=np.tile(HALF_SINGLE * scores[:, None], 2) if model.single else None,
    )
    # Other rules take no prices: they decide as they did, and are only checked.
    listed = [(predictions, rule) for rule in rules if rule.name in POSTERIOR_RULES]
    outcomes, lost = decided_by_rules(listed, cases, key_folds(cases, cells))
    decided = {each.rule.name: each.codes for each in outcomes}
    return LimitedModel(
        {each.rule.name: each.rule for each in outcomes},
        {
            name: Refit(name, Fitted(codes, None), model.score, scores, cells[FOLD], codes)
            for name, codes in decided.items()
        },
        priced_on_all(cases),
        tuple(lost),
    )
