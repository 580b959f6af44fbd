"""Rules under limits on decisions, for rows of two classes that stay in their engine.

Prices are fitted out of fold to weighted cells of score, class and fold, with the same result as
from the rows. Decisions by score and fold go back to the engine as an expression.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from stakes._check import FloatArray
from stakes.adapters.case_costs import group_cases
from stakes.adapters.expressions import Arrays
from stakes.adapters.lazy import FOLD
from stakes.adapters.lazy_models import LazyModel
from stakes.adapters.refits import Refit
from stakes.adapters.streamed_scores import HALF_SINGLE
from stakes.errors import InputError
from stakes.evaluation import (
    DecisionRule,
    Fitted,
    Folds,
    Predictions,
    decided_by_rules,
    priced_on_all,
    used_folds,
)
from stakes.problem import Problem
from stakes.report import POSTERIOR_RULES, RECALIBRATED, Caveat
from stakes.rows import POSTERIORS, SCORES, Posteriors


@dataclass(frozen=True, eq=False)
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
    if problem.n_classes > 2 or problem.columns:
        return "prices are fitted there for two classes only, and for costs that all rows share"
    if key is None:
        return "prices are fitted by folds of a key there; name a column of whole numbers, key='…'"
    return None


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
            f"prices of limits are fitted. Raise it, or take problem.with_limits(None).",
            argument="memory_limit",
        )
    cases, scores = group_cases(model.problem, cells, shares), cells[model.score]
    # Keys state the folds, so that nothing is drawn here.
    folds = Folds(cases, np.random.default_rng(0), used_folds(cells[FOLD]))
    repaired = refit if refit is not None and refit.rule == RECALIBRATED else None
    is_probable = isinstance(model.predictions, Posteriors)
    predictions = Predictions(
        model.name,
        POSTERIORS if is_probable else SCORES,
        posteriors=np.column_stack([1.0 - scores, scores]) if is_probable else None,
        moving=model.moving,
        recalibrated=None if repaired is None else np.asarray(repaired.fitted.predictions),
        scores=scores,
        rounding=np.tile(HALF_SINGLE * scores[:, None], 2) if model.single else None,
    )
    # Other rules take no prices: they decide as they did, and are only checked.
    listed = [(predictions, rule) for rule in rules if rule.name in POSTERIOR_RULES]
    outcomes, lost = decided_by_rules(listed, cases, folds)
    return LimitedModel(
        {each.rule.name: each.rule for each in outcomes},
        {
            each.rule.name: Refit(
                each.rule.name,
                Fitted(each.codes, None),
                model.score,
                scores,
                cells[FOLD],
                each.codes,
            )
            for each in outcomes
        },
        priced_on_all(cases),
        tuple(lost),
    )
