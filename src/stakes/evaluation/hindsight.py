"""What bad calibration costs where no calibrator was asked for: in hindsight, less its flattery.

The best thresholds of these very cases flatter themselves: even calibrated scores would seem to
lose something against them. How much, is known: draw the classes again as the scores say.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stakes._check import FloatArray
from stakes.calibration import table_cost_of_miscalibration
from stakes.decide import shift_prior
from stakes.evaluation.evidence import Evidence, ModelTallies
from stakes.evaluation.rules import POSTERIORS
from stakes.problem import Problem
from stakes.tally import ScoreTable

__all__ = ["Hindsight", "hindsight_of"]

_DRAWS = 200
_DOUBT = 0.01  # share of calibrated samples that would seem to lose as much


@dataclass(frozen=True)
class Hindsight:
    """Cost per case above the best thresholds, corrected, and whether it is more than chance."""

    wasted: float
    certain: bool


def hindsight_of(
    tallied: ModelTallies, table: ScoreTable | None, evidence: Evidence, rng: np.random.Generator
) -> Hindsight | None:
    """For the posteriors of two classes, if every case was drawn by itself; None otherwise.

    `table` holds the scores as they came, pooled where there are many.
    """
    sample = evidence.sample
    alone = sample.whole and sample.clusters is None
    known = (evidence.shares > 0).all() and (evidence.posterior_prior > 0).all()
    if table is None or tallied.kind != POSTERIORS or not (alone and known):
        return None
    scores, total = table.scores, table.weights.sum(axis=1)
    falling = shift_prior(scores, evidence.posterior_prior, evidence.shares)
    positives = rng.binomial(total.astype(np.int64), falling, (_DRAWS, scores.size))
    drawn = np.stack([total - positives, positives], axis=-1).astype(np.float64)
    drawn = drawn[(drawn.sum(axis=1) > 0).all(axis=-1)]
    if not len(drawn):
        return None
    deployed = scores if tallied.moving is None else shift_prior(scores, *tallied.moving)
    problem = evidence.problem.with_prior(evidence.prior)
    seen = float(_lost(deployed, table.weights, problem))
    chance = _lost(deployed, drawn, problem)
    return Hindsight(seen - float(chance.mean()), bool(np.mean(chance >= seen) <= _DOUBT))


def _lost(scores: FloatArray, weights: FloatArray, problem: Problem) -> FloatArray:
    """Cost of deciding by the scores above that of the best thresholds, (…)."""
    starts = np.flatnonzero(np.diff(scores, prepend=-1.0) > 0)  # moving may make scores equal
    table = ScoreTable._trusted(
        scores=scores[starts],
        weights=np.add.reduceat(weights, starts, axis=-2),
        classes=problem.classes,
        groups=None,
    )
    return table_cost_of_miscalibration(table, problem).calibration_loss
