"""How good the scores of each model are, whatever is done with them."""

from __future__ import annotations

import numpy as np

from stakes._check import FloatArray
from stakes.conditions import Beta, CostProportions
from stakes.evaluation.evidence import Evidence, ModelTallies, Sample
from stakes.evaluation.pooling import held_recalibrated, held_table
from stakes.evaluation.proper import RULES, expected_score
from stakes.inference import Estimate, Normal, auc_error
from stakes.ranking import auc
from stakes.report import BAYES, MOVED, RECALIBRATED, Interval, ModelQuality
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
    tallied: ModelTallies, evidence: Evidence, spent: dict[str, float], level: float
) -> ModelQuality:
    """Ranks, proper scores and calibration of one model; `spent` maps its rules to their costs."""
    table, deployed = tallied.table, tallied.deployed
    log_loss, brier = _proper(tallied.deployed_losses, evidence.prior)
    losses = _expected_losses(tallied.kind, deployed)
    as_is = spent.get(MOVED, spent.get(BAYES))
    repaired = spent.get(RECALIBRATED)
    wasted = None if as_is is None or repaired is None else as_is - repaired
    return ModelQuality(
        model=tallied.model,
        kind=tallied.kind,
        auc=None if table is None else _auc(table, evidence.sample, level),
        h=None if deployed is None else _h(deployed),
        normalized_log_loss=log_loss,
        normalized_brier=brier,
        calibration_cost=wasted,
        calibration_share=None if wasted is None or not as_is else wasted / as_is,
        expected_losses=losses,
        advice=_advice(dict(losses)),
        table=held_table(tallied, evidence),
        recalibrated=held_recalibrated(tallied, evidence),
        n_scores=None if table is None else table.scores.size,
    )


def _proper(losses: FloatArray | None, prior: FloatArray) -> list[float] | tuple[None, None]:
    """Normalised log loss and Brier score once deployed."""
    if losses is None:
        return None, None
    with np.errstate(divide="ignore", invalid="ignore"):
        return [
            float(expected_score(own, prior) / rule.entropy(prior))
            for own, rule in zip(losses, RULES, strict=True)
        ]


def _auc(table: ScoreTable, sample: Sample, level: float) -> Interval:
    """Area under the ROC curve; DeLong's interval where every case was drawn by itself."""
    if sample.clusters is not None or not sample.whole:
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
