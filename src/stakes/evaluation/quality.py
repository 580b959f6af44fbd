"""The quality of the scores of each model, whatever decisions they are used for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property
from itertools import pairwise
from math import isnan, nan

import numpy as np

from stakes._check import FloatArray, Label
from stakes._value import record, remembered
from stakes.audit import FAMILIAR, FAMILIAR_MULTICLASS, Disagreement
from stakes.calibration import calibration_line, largest_finite, log_odds
from stakes.conditions import Beta, CostProportions
from stakes.decide import bayes_decision_indices, shift_prior
from stakes.evaluation.evidence import RULES, Evidence, JointSample, ModelTallies
from stakes.evaluation.suspect_columns import LEVEL as BEYOND_NOISE
from stakes.evaluation.suspect_columns import backwards_class
from stakes.evaluation.tally_rows import shown_recalibrated, shown_sums
from stakes.inference import Estimate, Logit, Measured, SampledCosts, delong_auc
from stakes.measures import expected_cost
from stakes.problem import Problem
from stakes.ranking import auc, isotonic
from stakes.regions import decision_regions
from stakes.report import BAYES, MOVED, RECALIBRATED, ModelQuality, Pick, System, cheapest_of
from stakes.rows import POSTERIORS
from stakes.scoring import mean_over_classes, posterior_pairs
from stakes.tally import Counts, ScoreTable
from stakes.thresholds import Optimal, RateDriven, ScoreDriven, ScoreFixed, expected_loss, h_measure

# -------------------------------------------------------------------------------------------------
# What miscalibration costs where there is no calibrator: the regret in hindsight, less its
# bias.
#
# Thresholds that are the best for the same cases are overfitted: even calibrated scores would seem
# to lose something against them. A simulation measures how much. Classes are drawn from posteriors
# that were recalibrated by a line in the log-odds, and decisions are made by these posteriors.

_BLOCK = 1 << 14  # numbers in a block of replicates: temporary arrays stay in the cache
_FEW = 32  # cases of one score up to which comparing uniform numbers beats binomial draws
_TIE = 1e-12  # relative to the largest cost: what rounding may do to equal regrets
_DOUBT = 0.01  # one-sided p-value up to which miscalibration is certain


@record
class Miscalibration:
    """Cost per case above the best thresholds, less its bias, and whether it exceeds chance."""

    wasted: float
    certain: bool


def miscalibration_of(
    tallied: ModelTallies,
    table: ScoreTable | None,
    evidence: Evidence,
    *,
    replicates: int,
    rng: np.random.Generator,
) -> Miscalibration | None:
    """What miscalibration costs a model of two classes whose cases were sampled one by one.

    None for other models, where every case has its own costs, and where there are limits.

    `table` holds the scores as they came, pooled where there are many; classes are simulated
    `replicates` times.
    """
    if evidence.problem.columns or evidence.problem.limits:
        return None
    sample = evidence.sample
    alone = sample.whole and sample.clusters is None
    if table is None or tallied.kind != POSTERIORS or not alone or not (evidence.shares > 0).all():
        return None
    problem = _regret(evidence.problem)
    cases, recalibrated = table.weights.sum(axis=1), _on_a_line(table)
    as_deployed = recalibrated
    if problem.prior is not None:
        moved = shift_prior(recalibrated, evidence.shares, problem.prior)
        # nan: the posterior is certain of a class that the prior rules out.
        as_deployed = np.nan_to_num(moved, nan=problem.prior[1])
    charged = problem.costs[:, bayes_decision_indices(as_deployed, problem)]
    redrawn = RedrawnClasses(cases, problem)
    drawn = _drawn(cases, recalibrated, replicates, rng)
    chance = np.concatenate([redrawn.regrets(positives, charged) for positives in drawn])
    if not chance.size:
        return None
    by_rule = evidence.systems_by_rule(tallied.model)
    counts = sample.pooled.model(by_rule.get(MOVED, by_rule[BAYES]))
    seen = float(expected_cost(counts, problem) - redrawn.best(table.weights[None, :, 1])[0])
    wasted = max(seen - float(chance.mean()), 0.0)
    # With whole costs, regrets are multiples of 1/n. Ties are common, and rounding must not decide
    # on which side of the observed regret they fall.
    slack = _TIE * float(np.abs(problem.costs).max())
    return Miscalibration(wasted, bool(np.mean(chance >= seen - slack) <= _DOUBT))


@remembered
def _regret(problem: Problem) -> Problem:
    """What is at stake, above the best decisions; the models of a report share it."""
    return problem.regret()


def _on_a_line(table: ScoreTable) -> FloatArray:
    """Posteriors (S,) with log-odds on a line in those of the scores; the share if it falls.

    They hold for the class shares of the table. Isotonic regression would have steps, at which the
    best thresholds for simulated classes lie as well. The simulated regret would be too small, and
    calibrated scores would seem to lose something.
    """
    from scipy.special import expit

    line = calibration_line(table)
    if not line.slope > 0:
        return np.full(table.scores.size, table.shares[1])
    odds = log_odds(posterior_pairs(table.scores))
    limit = largest_finite(odds)
    return np.asarray(expit(line.slope * np.clip(odds, -limit, limit) + line.intercept))


def _drawn(
    cases: FloatArray, posteriors: FloatArray, replicates: int, rng: np.random.Generator
) -> Iterator[FloatArray]:
    """Numbers of positives (R, S) among cases with simulated classes, in blocks of replicates.

    Replicates in which only one class occurs are left out.
    """
    alone = cases.max() == 1  # one uniform number a case: the same distribution, much faster
    few = FewCases(cases, posteriors) if 1 < cases.max() <= _FEW else None
    size = max(_BLOCK // cases.size, 1)
    for first in range(0, replicates, size):
        shape = (min(size, replicates - first), cases.size)
        if alone:
            positives = (rng.random(shape) < posteriors).astype(np.float64)
        elif few is not None:
            positives = few.positives(rng.random(shape))
        else:
            positives = rng.binomial(cases.astype(np.int64), posteriors, shape).astype(np.float64)
        total = positives.sum(axis=1)
        both = (total > 0) & (total < cases.sum())
        yield positives if both.all() else positives[both]


@record
class FewCases:
    """Few cases (S,) of each score, whose classes are drawn by comparing uniform numbers."""

    cases: FloatArray
    posteriors: FloatArray

    def positives(self, uniforms: FloatArray) -> FloatArray:
        """Quantiles of the binomial distributions at uniforms (R, S): the number of positives.

        The class that is rarer at a score is counted, because few of its counts are likely. Their
        number is that of the cumulative probabilities below the uniform number.
        """
        counted = np.zeros(uniforms.shape, dtype=np.int8)  # bytes add up several times as fast
        for at_most in self._at_most:
            counted += uniforms > at_most
        common = self.posteriors > 0.5  # where negatives are counted, positives are the other cases
        counted *= np.where(common, -1, 1).astype(np.int8)
        counted += np.where(common, self.cases, 0).astype(np.int8)
        return counted.astype(np.float64)

    @cached_property
    def _at_most(self) -> list[FloatArray]:
        """Probabilities (S,) of at most 0, 1, … cases of the rarer class; 1 from all cases on."""
        rarer = np.minimum(self.posteriors, 1 - self.posteriors)
        exactly = (1 - rarer) ** self.cases
        cumulative = [exactly]
        for number in range(1, int(self.cases.max())):
            exactly = exactly * (self.cases - number + 1) * rarer / (number * (1 - rarer))
            cumulative.append(cumulative[-1] + exactly)
        return [np.where(k < self.cases, each, 1.0) for k, each in enumerate(cumulative)]


@record
class RedrawnClasses:
    """The same cases (S,), in the order of their scores, with simulated classes."""

    cases: FloatArray
    problem: Problem

    def regrets(self, positives: FloatArray, charged: FloatArray) -> FloatArray:
        """What decisions that cost this much (2, S) cost above the best thresholds, (R,)."""
        negative, positive = self._worth(positives)
        of_negatives, of_positives = (positives @ charged.T).T
        costs = (self.cases @ charged[0] - of_negatives) * negative
        return np.asarray(costs + of_positives * positive - self.best(positives))

    def best(self, positives: FloatArray) -> FloatArray:
        """Least cost (R,) of decisions by thresholds, for positives (R, S) among the cases.

        Each step from one decision to the next has a best threshold of its own, above which it
        saves the most: all that it changes, less the most that it changes below a threshold. These
        thresholds are in the right order, because Bayes decisions by isotonic posteriors have the
        same ones.
        """
        worth = self._worth(positives)
        # Whole numbers: integers add up several times as fast as floats do, and exactly.
        below = np.cumsum(positives, axis=1, dtype=np.int64)
        cases, total = self._cases_below[-1], below[:, -1]
        cost = self._steps[0] @ (worth * np.stack([cases - total, total]))
        for lower, upper in pairwise(self._steps):
            negative, positive = (upper - lower)[:, None] * worth
            # Negatives are all cases less positives, so that only positives need running sums. The
            # upper decision is costlier for negatives and cheaper for positives: what it changes
            # grows with the cases, and falls with the positives among them.
            fall = positive - negative
            change = below + (negative / fall)[:, None] * self._cases_below
            cost = cost + fall * change[:, -1] - np.maximum(fall * change.min(axis=1), 0.0)
        return np.asarray(cost)

    def _worth(self, positives: FloatArray) -> FloatArray:
        """The share of the population that a case of each class stands for, (2, R) or (2, 1)."""
        total = self._cases_below[-1]
        if self.problem.prior is None:
            return np.full((2, 1), 1 / total)
        positive = positives.sum(axis=1)
        return np.asarray(self.problem.prior[:, None] / np.stack([total - positive, positive]))

    @cached_property
    def _cases_below(self) -> FloatArray:
        """Cases (S,) up to and including each score."""
        return np.cumsum(self.cases)

    @cached_property
    def _steps(self) -> list[FloatArray]:
        """Costs (2,) of the decisions that are the cheapest somewhere, from low scores to high."""
        problem = self.problem
        chosen = [part.cheapest[0] for part in decision_regions(problem).parts]
        return [problem.costs[:, problem.decisions.index(name)] for name in chosen]


# Which familiar metrics would have picked another model ------------------------------------------

_LOG_LOSS, _BRIER, _SUMMED = "log loss", "Brier score", "summed Brier score"
_AT_ONCE = 1 << 20  # most numbers in the tables of a block of models: 8 MiB of doubles
_LOSSES = (_LOG_LOSS, _BRIER, _SUMMED)  # lower is better


def disagreement_of(
    evidence: Evidence, systems: tuple[System, ...], qualities: tuple[ModelQuality, ...]
) -> Disagreement | None:
    """The value of each metric for each model, which model it picks, and what the pick costs.

    Metrics are computed as usual: on the data at hand, and with the most probable class as the
    decision. A pick costs what the cheapest system of the picked model costs. A metric that only
    one model has, such as the AUC where all others are decisions, compares nothing and is left out.
    A metric that is nan for some models is kept, and never picks these. The Brier score of two
    classes is the mean squared error of P(second class), as is usual; that of more classes is the
    sum over them, and is named so.
    """
    names = tuple(tallied.model for tallied in evidence.models)
    if len(names) < 2:
        return None
    rows = {
        metric: np.array([of.get(name, nan) for name in names])
        for metric, of in _values(evidence, qualities).items()
        if len(of) > 1
    }
    rows = {metric: row for metric, row in rows.items() if not np.isnan(row).all()}
    if not rows:
        return None
    costs = np.array([_least_cost(name, systems) for name in names])
    values = {metric: (row, -row if metric in _LOSSES else row) for metric, row in rows.items()}
    return Disagreement.of(names, costs, values, evidence.problem.unit)


def _least_cost(model: str, systems: tuple[System, ...]) -> float:
    candidates = [system for system in systems if system.model == model]
    return cheapest_of(candidates).cost.value if candidates else nan


def picks_of(
    disagreement: Disagreement | None, systems: tuple[System, ...], costs: SampledCosts
) -> tuple[Pick, ...]:
    """What the pick of each metric costs above the cheapest model, with its interval."""
    if disagreement is None:
        return ()
    best = cheapest_of(systems)
    # Of models that tie in a metric, the costliest counts: the metric cannot rule it out.
    known = np.where(np.isnan(disagreement.costs), np.inf, disagreement.costs)
    costliest_first = np.argsort(-known, kind="stable")
    picks = []
    for metric, chosen in zip(disagreement.metrics, disagreement.picks, strict=True):
        taken = [str(disagreement.models[j]) for j in costliest_first if chosen[j]]
        picks.append(_pick(metric, taken[0] if taken else None, best, systems, costs))
    return tuple(picks)


def _pick(
    metric: str, model: str | None, best: System, systems: tuple[System, ...], costs: SampledCosts
) -> Pick:
    candidates = [system for system in systems if system.model == model]
    if not candidates or isnan(best.cost.value):
        return Pick(metric, model, Measured(nan, nan, nan), None)
    system = cheapest_of(candidates)
    if system.name == best.name:
        return Pick(metric, model, Measured(0.0, 0.0, 0.0), None)
    if system.name not in costs.choice.names:  # it breaks a limit, and was not compared
        more = costs.difference(system.name, best.name)
        return Pick(metric, model, more, more.low > 0)
    return Pick(metric, model, costs.more(system.name), system.name not in costs.contenders)


def _values(evidence: Evidence, qualities: tuple[ModelQuality, ...]) -> dict[str, dict[str, float]]:
    """The value of every familiar metric, by the names of the models that have one."""
    two = evidence.problem.n_classes == 2
    predicted = {t.model: t.predicted for t in evidence.models if t.predicted is not None}
    losses = {
        t.model: mean_over_classes(t.losses, evidence.shares).tolist()
        for t in evidence.models
        if t.losses is not None
    }
    values: dict[str, dict[str, float]] = {}
    for names, counts in _blocks(predicted):
        for name, metric in (FAMILIAR if two else FAMILIAR_MULTICLASS).items():
            of_models = zip(names, metric(counts).tolist(), strict=True)
            values.setdefault(name, {}).update(of_models)
    values["AUC"] = {q.model: q.auc.value for q in qualities if q.auc is not None}
    values[_LOG_LOSS] = {model: log_loss for model, (log_loss, _) in losses.items()}
    brier = {model: summed / (1 + two) for model, (_, summed) in losses.items()}
    return values | {_BRIER if two else _SUMMED: brier}


def _blocks(predicted: dict[str, Counts]) -> Iterator[tuple[tuple[str, ...], Counts]]:
    """Models, and their counts (J, K, K), as many at a time as take little memory."""
    names, tables = tuple(predicted), [table.values for table in predicted.values()]
    size = max(1, _AT_ONCE // tables[0].size) if tables else 1
    for first in range(0, len(names), size):
        some = slice(first, first + size)
        stacked = tables[first][None] if size == 1 else np.stack(tables[some])
        yield names[some], Counts._unlabelled(stacked)


# The quality of the scores of each model, whatever decisions they are used for -------------------

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
