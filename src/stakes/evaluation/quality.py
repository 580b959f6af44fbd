"""How good the scores of each model are, whatever is done with them."""

from __future__ import annotations

import numpy as np

from stakes._check import FloatArray
from stakes.conditions import Beta, CostProportions
from stakes.evaluation.cases import Cases
from stakes.evaluation.proper import class_losses, expected_score
from stakes.evaluation.systems import (
    BAYES,
    MOVED,
    RECALIBRATED,
    RULES,
    Predictions,
    score_table,
)
from stakes.inference import Estimate, Normal, auc_error
from stakes.ranking import auc
from stakes.report import Interval, ModelQuality
from stakes.tally import ScoreTable
from stakes.thresholds import (
    Optimal,
    RateDriven,
    ScoreDriven,
    ScoreFixed,
    expected_loss,
    h_measure,
)

__all__ = ["quality_of"]

_SLACK = 1.05  # a method within 5 % of the least loss is as good


def quality_of(
    predictions: Predictions, cases: Cases, spent: dict[str, float], level: float
) -> ModelQuality:
    """Ranks, proper scores and calibration of one model; `spent` maps its rules to their costs."""
    rows = _posteriors_for_prior(predictions, cases)
    table = _deployed(predictions, rows, cases)
    log_loss, brier = (None, None) if rows is None else _proper(predictions, rows, cases)
    losses = _expected_losses(predictions.kind, table)
    as_is = spent.get(MOVED, spent.get(BAYES))
    repaired = spent.get(RECALIBRATED)
    wasted = None if as_is is None or repaired is None else as_is - repaired
    return ModelQuality(
        model=predictions.model,
        kind=predictions.kind,
        auc=None if predictions.table is None else _auc(predictions.table, cases, level),
        h=None if table is None else _h(table),
        normalized_log_loss=log_loss,
        normalized_brier=brier,
        calibration_cost=wasted,
        calibration_share=None if wasted is None or not as_is else wasted / as_is,
        expected_losses=losses,
        advice=_advice(dict(losses)),
        table=predictions.table,
    )


def _proper(predictions: Predictions, rows: FloatArray, cases: Cases) -> list[float]:
    """Normalised log loss and Brier score once deployed."""
    losses = predictions.losses if rows is predictions.posteriors else None
    if losses is None:
        losses = class_losses(rows, cases, RULES)
    with np.errstate(divide="ignore", invalid="ignore"):
        return [
            float(expected_score(own, cases.prior) / rule.entropy(cases.prior))
            for own, rule in zip(losses, RULES, strict=True)
        ]


def _deployed(predictions: Predictions, rows: FloatArray | None, cases: Cases) -> ScoreTable | None:
    """The table of two classes once deployed: scores and class shares for the prior."""
    if predictions.table is None:
        return None
    if rows is None or rows is predictions.posteriors:
        unchanged = cases.problem.prior is None
        return predictions.table if unchanged else predictions.table.with_prior(cases.prior)
    return score_table(rows[:, 1], cases).with_prior(cases.prior)


def _posteriors_for_prior(predictions: Predictions, cases: Cases) -> FloatArray | None:
    """Posteriors that speak of deployment: moved to the prior where they hold for another."""
    rows = dict(predictions.rules(cases))
    return rows.get(MOVED, rows.get(BAYES, rows.get(RECALIBRATED)))


def _auc(table: ScoreTable, cases: Cases, level: float) -> Interval:
    """Area under the ROC curve; DeLong's interval where every case was drawn by itself."""
    if cases.cluster is not None or not cases.whole:
        return Interval(float(auc(table)), float("nan"), float("nan"))
    made = Estimate(auc(table), auc_error(table), np.empty((0,)), Normal(), "DeLong")
    ends = made.interval(level)
    return Interval(float(made.value), float(ends.low), float(ends.high))


def _h(table: ScoreTable) -> float | None:
    """Hand's H at the severity that the class shares suggest."""
    if not (table.shares > 0).all():
        return None
    return float(h_measure(table, Beta.severity(table.shares)))


def _expected_losses(kind: str, table: ScoreTable | None) -> tuple[tuple[str, float], ...]:
    """Expected loss over uniform cost proportions, method by method (hernandez-orallo, table 6)."""
    if table is None:
        return ()
    methods = {"optimal threshold": Optimal(), "rate driven by the costs": RateDriven()}
    if kind == "posteriors":
        methods = {
            "threshold 0.5": ScoreFixed(0.5),
            "threshold driven by the costs": ScoreDriven(),
            **methods,
        }
    condition = CostProportions()
    return tuple(
        (name, float(expected_loss(table, method, condition))) for name, method in methods.items()
    )


def _advice(losses: dict[str, float]) -> str | None:
    """Which way to set thresholds, by the losses that each way has."""
    driven, rate = (
        losses.get("threshold driven by the costs"),
        losses["rate driven by the costs"] if losses else None,
    )
    if driven is None or rate is None or np.isnan(driven):
        return None
    if driven <= rate * _SLACK:
        return (
            "set the threshold at the cost proportion: over all costs this loses "
            f"{driven:.4g}, against {rate:.4g} for rates and "
            f"{losses['optimal threshold']:.4g} for the best thresholds in hindsight"
        )
    return (
        "do not use these probabilities as thresholds: choosing rates by the costs loses "
        f"{rate:.4g} where thresholds lose {driven:.4g}; calibrate them first"
    )
