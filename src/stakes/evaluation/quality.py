"""The quality of the scores of each model, whatever decisions they are used for."""

from __future__ import annotations

from dataclasses import replace
from math import nan

import numpy as np

from stakes._check import FloatArray, Label
from stakes.conditions import Beta, CostProportions
from stakes.evaluation.backwards import LEVEL as BEYOND_NOISE
from stakes.evaluation.backwards import backwards_class
from stakes.evaluation.evidence import RULES, Evidence, JointSample, ModelTallies
from stakes.evaluation.miscalibration import Miscalibration
from stakes.evaluation.score_bins import shown_recalibrated, shown_sums
from stakes.inference import Estimate, Logit, Measured, SampledCosts, delong_auc
from stakes.ranking import auc, isotonic
from stakes.report import BAYES, MOVED, RECALIBRATED, ModelQuality
from stakes.rows import POSTERIORS
from stakes.scoring import mean_over_classes
from stakes.tally import ScoreTable
from stakes.thresholds import Optimal, RateDriven, ScoreDriven, ScoreFixed, expected_loss, h_measure

_SLACK = 1.05  # a method within 5 % of another counts as equally good
_NEAR = 1.25  # a method within 25 % of the best thresholds in hindsight counts as good
_BACKWARDS = "they rank backwards, as the caveats say: find out why before you use them"
_OPTIMAL, _DRIVEN, _RATE = (
    "optimal threshold",
    "threshold driven by the costs",
    "rate driven by the costs",
)


def without_misordered(evidence: Evidence) -> Evidence:
    """The evidence in which no system wins whose posteriors seem to belong to other classes.

    Those are bare columns of two classes that rank backwards, and of more classes those that fit
    clearly better in another order. Columns whose classes are named are never doubted. Where all
    models are in doubt, all remain eligible: the verdict then says so, and recommends none.
    """
    astray = frozenset(
        tallied.model
        for tallied in evidence.models
        if tallied.kind == POSTERIORS and not tallied.named and _is_misordered(tallied, evidence)
    )
    rules = evidence.rules
    if any(rule.eligible and rule.model not in astray for rule in rules.values()):
        rules = {
            name: replace(rule, eligible=rule.eligible and rule.model not in astray)
            for name, rule in rules.items()
        }
    return replace(evidence, rules=rules, misordered=astray)


def _is_misordered(tallied: ModelTallies, evidence: Evidence) -> bool:
    if tallied.table is None:
        return tallied.order is not None
    return _backwards(tallied, evidence) is not None


def _backwards(tallied: ModelTallies, evidence: Evidence) -> Label | None:
    """The class that a model clearly ranks backwards, whatever level the report is asked for."""
    table, suspect = tallied.table, None
    if table is not None:
        suspect = _interval(_auc(table, evidence.sample, tallied.auc_shift), BEYOND_NOISE)
    return backwards_class(tallied, suspect, evidence)


def quality_of(
    tallied: ModelTallies,
    evidence: Evidence,
    costs: SampledCosts,
    shown_table: ScoreTable | None,
    miscalibration: Miscalibration | None,
) -> ModelQuality:
    """Ranking, proper scores and calibration of one model."""
    table = tallied.table
    ranks = None if table is None else _for_prior(table, evidence)
    log_loss, brier = _proper(tallied.deployed_losses, evidence.prior)
    hull = None if ranks is None else _hull(ranks)
    losses = _expected_losses(tallied, ranks, hull)
    wasted, share = _wasted(evidence.systems_by_rule(tallied.model), costs, miscalibration)
    area = None if table is None else _auc(table, evidence.sample, tallied.auc_shift)
    backwards = _backwards(tallied, evidence)
    advice = None if ranks is None else _advice(dict(losses), ranks)
    return ModelQuality(
        model=tallied.model,
        kind=tallied.kind,
        auc=None if area is None else _interval(area, costs.level),
        backwards=backwards,
        h=None if hull is None else _h(hull),
        normalized_log_loss=log_loss,
        normalized_brier=brier,
        calibration_cost=wasted,
        calibration_share=share,
        expected_losses=losses,
        advice=advice if backwards is None else _BACKWARDS,
        table=_recorded(shown_table, evidence),
        recalibrated=_recorded(shown_recalibrated(tallied, evidence), evidence),
        n_scores=_size(table),
        n_recalibrated=_size(tallied.recalibrated),
        by_threshold=shown_sums(tallied, evidence),
        class_bins=tallied.class_bins,
        recalibrated_bins=tallied.recalibrated_bins,
    )


def _recorded(table: ScoreTable | None, evidence: Evidence) -> ScoreTable | None:
    """The table with a record of whether its numbers are weights."""
    return None if table is None else table._but(weighted=not evidence.sample.whole)


def _size(table: ScoreTable | None) -> int | None:
    return None if table is None else table.scores.size


def _for_prior(table: ScoreTable, evidence: Evidence) -> ScoreTable:
    """The same scores at the class shares of the report, for measures that depend on ranks only."""
    return table if evidence.problem.prior is None else table.with_prior(evidence.prior)


def _hull(ranks: ScoreTable) -> ScoreTable:
    """The segments of the ROC hull: optimal thresholds have the same loss on them, much faster."""
    return isotonic(ranks) if (ranks.shares > 0).all() else ranks


def _wasted(
    systems: dict[str, str], costs: SampledCosts, miscalibration: Miscalibration | None
) -> tuple[float | None, float | None]:
    """What bad calibration costs per case, and as a share of the cost above perfect decisions."""
    as_is, repaired = systems.get(MOVED, systems.get(BAYES)), systems.get(RECALIBRATED)
    if as_is is None or (repaired is None and miscalibration is None):
        return None, None
    if repaired is not None:
        wasted = max(costs.difference(as_is, repaired).value, 0.0)  # max(nan, 0.0) is nan
    else:
        wasted = nan if miscalibration is None else miscalibration.wasted
    return wasted, costs.share_of_regret(wasted, as_is)


def _proper(losses: FloatArray | None, prior: FloatArray) -> list[float] | tuple[None, None]:
    """Normalised log loss and Brier score once deployed."""
    if losses is None:
        return None, None
    with np.errstate(divide="ignore", invalid="ignore"):
        return [
            float(mean_over_classes(by_class, prior) / rule.entropy(prior))
            for by_class, rule in zip(losses, RULES, strict=True)
        ]


def _auc(table: ScoreTable, sample: JointSample, shift: float) -> Estimate:
    """Area under the ROC curve; its standard error (DeLong) is nan unless cases are independent."""
    if sample.clusters is None and sample.whole:
        area = delong_auc(table)
        value, error = area.value, area.standard_error
    else:
        value, error = np.asarray(auc(table)), np.asarray(nan)
    return Estimate(value + shift, error, np.empty((0,)), Logit(), "DeLong")


def _interval(estimate: Estimate, level: float) -> Measured:
    interval = estimate.interval(level)
    return Measured(float(estimate.value), float(interval.low), float(interval.high))


def _h(table: ScoreTable) -> float | None:
    """Hand's H at the severity ratio that the class shares suggest."""
    if not (table.shares > 0).all():
        return None
    return float(h_measure(table, Beta.severity(table.shares)))


def _expected_losses(
    tallied: ModelTallies, ranks: ScoreTable | None, hull: ScoreTable | None
) -> tuple[tuple[str, float], ...]:
    """Expected loss over uniform cost proportions, method by method (hernandez-orallo, table 6)."""
    if ranks is None or hull is None:
        return ()
    condition, deployed = CostProportions(), tallied.deployed
    losses = {_OPTIMAL: expected_loss(hull, Optimal(), condition)}
    # Raw scores are not on the scale of probabilities, on which costs set a threshold.
    if tallied.kind == POSTERIORS and deployed is not None:
        losses[_DRIVEN] = expected_loss(deployed, ScoreDriven(), condition)
        losses["threshold 0.5"] = expected_loss(deployed, ScoreFixed(0.5), condition)
    losses[_RATE] = expected_loss(ranks, RateDriven(), condition)
    return tuple((name, float(loss)) for name, loss in losses.items())


def _advice(losses: dict[str, float], table: ScoreTable) -> str | None:
    """Advice on how to set thresholds, by the expected loss of each method.

    Over uniform cost proportions, deciding without looking loses π₀π₁.
    """
    driven, rate, optimal = losses.get(_DRIVEN), losses[_RATE], losses[_OPTIMAL]
    blind = float(np.prod(table.shares))
    if driven is None or np.isnan(driven):
        return None
    if driven >= blind:
        return (
            f"do not use these probabilities as they are: averaged over all costs, thresholds that "
            f"the costs determine lose {driven:.3g}, and deciding without looking only "
            f"{blind:.3g}; calibrate them first"
        )
    if driven > _SLACK * rate:
        return (
            "do not use these probabilities as thresholds: choosing rates by the costs loses "
            f"{rate:.3g} where thresholds lose {driven:.3g}; calibrate them first"
        )
    if driven > _NEAR * optimal:
        return (
            f"let the costs determine the threshold, but calibrate first: averaged over all costs "
            f"this loses {driven:.3g}, against {optimal:.3g} for the best thresholds in hindsight"
        )
    return (
        f"let the costs determine the threshold: averaged over all costs this loses {driven:.3g}, "
        f"against {rate:.3g} for rates set by the costs and {optimal:.3g} for the best thresholds "
        f"in hindsight"
    )
