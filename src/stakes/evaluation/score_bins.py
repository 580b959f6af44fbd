"""Score tables that a report can hold: few bins, the report's own decisions kept exactly."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from stakes._check import FloatArray, IntArray
from stakes.decide import bayes_decision_indices, shift_prior
from stakes.evaluation.evidence import Evidence, ModelTallies
from stakes.problem import Problem
from stakes.report import FEWER_BINS, MOST_BINS, TUNED
from stakes.rows import POSTERIORS
from stakes.tally import ScoreTable

_STRIDE = 1 << 12  # scores from one look at the decision to the next


def held_table(tallied: ModelTallies, evidence: Evidence) -> ScoreTable | None:
    """The scores of a model, pooled where there are too many of them."""
    table = tallied.table
    if table is None or table.scores.size <= MOST_BINS:
        return table
    cuts = np.concatenate(list(_own_cuts(tallied, table.scores, evidence)))
    return _pooled(table, cuts, MOST_BINS)


def held_recalibrated(tallied: ModelTallies, evidence: Evidence) -> ScoreTable | None:
    """The recalibrated scores of a model, pooled where there are too many of them."""
    table = tallied.recalibrated
    if table is None or table.scores.size <= MOST_BINS:
        return table
    changes = () if evidence.problem.columns else decision_changes(table.scores, evidence.problem)
    cuts = np.concatenate([np.empty(0), *changes])
    return _pooled(table, cuts, FEWER_BINS)


def _own_cuts(
    tallied: ModelTallies, scores: FloatArray, evidence: Evidence
) -> Iterator[FloatArray]:
    """Scores at which the decisions of the report end, so that the pooled table agrees with it."""
    own = [rule for rule in evidence.rules.values() if rule.model == tallied.model]
    yield np.array([rule.threshold for rule in own if rule.name == TUNED], dtype=np.float64)
    if tallied.kind == POSTERIORS:
        yield np.array([0.5])
        if evidence.problem.columns:  # no score decides alone
            return
        yield from decision_changes(scores, evidence.problem)
        if tallied.moving is not None:
            yield from decision_changes(scores, evidence.problem, tallied.moving)


def decision_changes(
    scores: FloatArray, problem: Problem, moving: tuple[FloatArray, FloatArray] | None = None
) -> Iterator[FloatArray]:
    """The last score before each change of the Bayes decision, by posteriors that may be moved.

    Each decision is the best on one interval of probabilities, so that it need not be looked for
    between two scores that share it.
    """

    def decided(some: FloatArray) -> IntArray:
        posteriors = some if moving is None else shift_prior(some, *moving)
        return bayes_decision_indices(posteriors, problem)

    milestones = np.append(np.arange(0, len(scores) - 1, _STRIDE), len(scores) - 1)
    for i in np.flatnonzero(np.diff(decided(scores[milestones]))):
        part = scores[milestones[i] : milestones[i + 1] + 1]
        yield part[:-1][np.diff(decided(part)) != 0]


def _pooled(table: ScoreTable, kept: FloatArray, most: int) -> ScoreTable:
    """Bins that part both classes evenly; some cuts are kept exactly."""
    kept = np.unique(kept[np.isfinite(kept)])
    mass = table.weights / np.maximum(table.weights.sum(axis=0), 1e-300)
    reached = np.cumsum(mass.sum(axis=1))
    wanted = np.linspace(0, reached[-1], most - kept.size + 1)[1:-1]
    edges = table.scores[np.minimum(np.searchsorted(reached, wanted), table.scores.size - 1)]
    return table.binned(np.union1d(edges, kept))
