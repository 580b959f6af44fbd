"""Score tables with few enough bins for a report, in which the report's decisions stay exact."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from stakes._check import FloatArray, IntArray
from stakes.decide import cheapest_decisions, class_ratios
from stakes.evaluation.evidence import Evidence, ModelTallies
from stakes.problem import Problem
from stakes.report import FEWER_BINS, MOST_BINS, MOST_SCORES, TUNED
from stakes.rows import POSTERIORS
from stakes.scoring import posterior_pairs
from stakes.tally import ScoreTable
from stakes.thresholds import ByThreshold

_STRIDE = 1 << 12  # distance of the scores that are first probed for a change of the decision


def shown_table_of(tallied: ModelTallies, evidence: Evidence) -> ScoreTable | None:
    """The score table of a model, pooled where it has too many scores."""
    table = tallied.table
    if table is None or table.scores.size <= MOST_SCORES:
        return table
    return table.binned(_shown_edges(tallied, table, evidence))


def shown_sums(tallied: ModelTallies, evidence: Evidence) -> ByThreshold | None:
    """Sums of the terms of the costs in the same bins, where every case has its own costs."""
    table = tallied.table
    if table is None or tallied.term_sums is None:
        return None
    few = table.scores.size <= MOST_SCORES
    edges = table.scores if few else _shown_edges(tallied, table, evidence)
    sums = tallied.term_sums(edges)
    if not (sums.size and np.isfinite(sums).all()):
        return None
    occupied = sums[..., 0].any(axis=1)
    highest = np.append(edges, table.scores[-1])[occupied]
    above = np.maximum(highest, np.finfo(np.float64).min)  # −inf is the threshold below all scores
    return ByThreshold(np.append(-np.inf, above), sums[occupied], evidence.problem.terms.names)


def _shown_edges(tallied: ModelTallies, table: ScoreTable, evidence: Evidence) -> FloatArray:
    cuts = np.concatenate(list(_decision_cuts(tallied, table.scores, evidence)))
    return _edges(table, cuts, MOST_BINS)


def shown_recalibrated(tallied: ModelTallies, evidence: Evidence) -> ScoreTable | None:
    """The recalibrated score table of a model, pooled where it has too many scores."""
    table = tallied.recalibrated
    if table is None or table.scores.size <= MOST_SCORES:
        return table
    changes = () if evidence.problem.columns else decision_changes(table.scores, evidence.problem)
    cuts = np.concatenate([np.empty(0), *changes])
    return table.binned(_edges(table, cuts, FEWER_BINS))


def _decision_cuts(
    tallied: ModelTallies, scores: FloatArray, evidence: Evidence
) -> Iterator[FloatArray]:
    """Scores at which decisions of the report change, at which bins must end."""
    rules = [rule for rule in evidence.rules.values() if rule.model == tallied.model]
    yield np.array([rule.threshold for rule in rules if rule.name == TUNED], dtype=np.float64)
    if tallied.kind == POSTERIORS:
        yield np.array([0.5])
        if evidence.problem.columns:  # decisions depend on the costs of each case, too
            return
        yield from decision_changes(scores, evidence.problem)
        if tallied.moving is not None:
            yield from decision_changes(scores, evidence.problem, tallied.moving)


def decision_changes(
    scores: FloatArray, problem: Problem, moving: tuple[FloatArray, FloatArray] | None = None
) -> Iterator[FloatArray]:
    """The last score before each change of the Bayes decision, by posteriors that may be moved.

    Each decision is the best on one interval of probabilities, so that no change can lie between
    two scores with the same decision.
    """
    ratios = None if moving is None else class_ratios(*moving)

    def decided(some: FloatArray) -> IntArray:
        return cheapest_decisions(posterior_pairs(some), problem.costs, ratios=ratios)

    milestones = np.append(np.arange(0, len(scores) - 1, _STRIDE), len(scores) - 1)
    for i in np.flatnonzero(np.diff(decided(scores[milestones]))):
        part = scores[milestones[i] : milestones[i + 1] + 1]
        yield part[:-1][np.diff(decided(part)) != 0]


def _edges(table: ScoreTable, exact_cuts: FloatArray, most: int) -> FloatArray:
    """Edges of bins that divide both classes evenly; the exact cuts are among them."""
    exact_cuts = np.unique(exact_cuts[np.isfinite(exact_cuts)])
    places = even_places(table, most - exact_cuts.size)
    edges = table.scores[np.minimum(places, table.scores.size - 1)]
    return np.union1d(edges, exact_cuts)


def even_places(table: ScoreTable, n_bins: int) -> IntArray:
    """Positions in a table of scores at which bins end that divide both classes evenly.

    Both classes count alike, so that a rare class gets as many bins as a common one.
    """
    first, second = (table.weights / np.maximum(table.class_weights, 1e-300)).T
    reached = np.cumsum(first + second)
    return np.searchsorted(reached, np.linspace(0, reached[-1], n_bins + 1)[1:-1])
