"""Maps and thresholds fitted out of fold to rows that stay in their engine, for two classes.

The engine pools the rows by score, class and fold, where the fold comes from a key of each row. A
calibrator is fitted to these weighted cells, or a threshold tuned on them, with the same result as
from the rows. Decisions by score and fold go back to the engine as an expression. Where every row
has its own costs, recalibrated posteriors go back instead, or the maps of the folds as formulas.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from stakes._check import BoolArray, FloatArray, IntArray
from stakes._value import record
from stakes.adapters.case_costs import (
    PERFECT,
    group_cases,
    key_folds,
    pooled_terms,
    term_sums,
    with_perfect,
)
from stakes.adapters.class_maps import why_no_maps
from stakes.adapters.expressions import Arrays, first_of, grouped, stepped, with_complement
from stakes.adapters.lazy import FOLD, TRUTH, WEIGHT
from stakes.adapters.lazy_models import LazyModel, Tallied
from stakes.adapters.map_columns import MOST_STEPS, moved_second, n_steps, second_class
from stakes.adapters.sources import Lazy
from stakes.adapters.streamed_scores import HALF_SINGLE
from stakes.calibration import CalibrationMap, Calibrator
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
