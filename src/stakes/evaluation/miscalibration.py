"""What miscalibration costs where there is no calibrator: the regret in hindsight, less its bias.

Thresholds that are the best for the same cases are overfitted: even calibrated scores would seem to
lose something against them. A simulation measures how much. Classes are drawn from posteriors that
were recalibrated by a line in the log-odds, and decisions are made by these posteriors.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from itertools import pairwise

import numpy as np

from stakes._check import FloatArray
from stakes._value import record, remembered
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
