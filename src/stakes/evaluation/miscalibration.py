"""What miscalibration costs where there is no calibrator: the regret in hindsight, less its bias.

Thresholds that are the best for the same cases are too good: even calibrated scores would seem to
lose something against them. Simulation says how much: classes are drawn anew from posteriors that
were recalibrated by a line in the log-odds, and decisions are made by these posteriors.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from stakes._check import FloatArray
from stakes.calibration import calibration_line, largest_finite, log_odds
from stakes.decide import bayes_decision_indices, shift_prior
from stakes.evaluation.evidence import Evidence, ModelTallies
from stakes.measures import expected_cost
from stakes.problem import Problem
from stakes.regions import decision_regions
from stakes.report import BAYES, MOVED
from stakes.rows import POSTERIORS
from stakes.scoring import posterior_pairs
from stakes.tally import ScoreTable

_DOUBT = 0.01  # one-sided p-value, from simulated calibrated samples, below which there is no doubt


@dataclass(frozen=True)
class Miscalibration:
    """Cost per case above the best thresholds, corrected, and whether it is more than chance."""

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
    """What miscalibration costs a model of two classes, for cases drawn one by one; else None.

    None also where every case has its own costs, and where limits have a say.

    `table` holds the scores as they came, pooled where there are many; classes are drawn again
    `replicates` times.
    """
    if evidence.problem.columns or evidence.problem.limits:
        return None
    sample, problem = evidence.sample, evidence.problem.regret()
    alone = sample.whole and sample.clusters is None
    if table is None or tallied.kind != POSTERIORS or not alone or not (evidence.shares > 0).all():
        return None
    recalibrated = _on_a_line(table)
    drawn = _drawn(table.weights.sum(axis=1), recalibrated, replicates, rng)
    if not drawn.shape[1]:
        return None
    if problem.prior is not None:
        moved = shift_prior(recalibrated, evidence.shares, problem.prior)
        recalibrated = np.nan_to_num(moved, nan=problem.prior[1])  # sure of what it rules out
    rules = evidence.rules.items()
    by_rule = {rule.name: name for name, rule in rules if rule.model == tallied.model}
    counts = sample.pooled.model(by_rule.get(MOVED, by_rule[BAYES]))
    least = best_cost(_mass(table.weights.T, problem), problem)
    seen = float(expected_cost(counts, problem) - least)
    mass = _mass(drawn, problem)
    charged = problem.costs[:, bayes_decision_indices(recalibrated, problem)]
    chance = mass[0] @ charged[0] + mass[1] @ charged[1] - best_cost(mass, problem)
    wasted = max(seen - float(chance.mean()), 0.0)
    return Miscalibration(wasted, bool(np.mean(chance >= seen) <= _DOUBT))


def _on_a_line(table: ScoreTable) -> FloatArray:
    """Posteriors (S,) with log-odds on a line in those of the scores; the share if it falls.

    They hold for the class shares of the table. Isotonic regression would leave steps, which the
    best thresholds of drawn classes find again: calibrated scores would seem to lose something.
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
) -> FloatArray:
    """Class weights (2, R, S) of cases whose classes are drawn anew, where both classes occur."""
    shape = (replicates, cases.size)
    if cases.max() == 1:  # the same law, much faster
        positives = (rng.random(shape) < posteriors).astype(np.float64)
    else:
        positives = rng.binomial(cases.astype(np.int64), posteriors, shape).astype(np.float64)
    both = (positives.any(axis=1)) & (positives < cases).any(axis=1)
    positives = positives[both]
    return np.stack([cases - positives, positives])


def _mass(weights: FloatArray, problem: Problem) -> FloatArray:
    """Class weights (2, …, S) as shares, moved to the prior if one is stated."""
    totals = weights.sum(axis=-1, keepdims=True)
    if problem.prior is None:
        return np.asarray(weights / totals.sum(axis=0))
    return np.asarray(weights * (problem.prior.reshape(2, *(1,) * (weights.ndim - 1)) / totals))


def best_cost(weights: FloatArray, problem: Problem) -> FloatArray:
    """Least cost (…) of decisions by thresholds on the score, for class weights (2, …, S).

    Each step from one decision to the next has its best threshold, where the sum of what it saves
    above is largest; these thresholds are in order, because isotonic regression gives the same.
    """
    parts = decision_regions(problem).parts
    steps = [problem.costs[:, problem.decisions.index(part.cheapest[0])] for part in parts]
    cost = np.tensordot(steps[0], weights.sum(axis=-1), 1)
    for lower, upper in pairwise(steps):
        more = upper - lower
        change = more[0] * weights[0] + more[1] * weights[1]
        cost = cost + np.minimum(np.cumsum(change[..., ::-1], axis=-1).min(axis=-1), 0.0)
    return np.asarray(cost)
