"""Audits: all flagged cases are checked and some of the others, so that rows have weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from coverage_study.populations import FloatArray
from stakes import JointCounts, Problem
from stakes.inference import (
    WeightStrata,
    cost_support,
    difference_support,
    few_weights,
    summed,
    support_bounds,
    with_blind,
)

__all__ = ["COLUMNS", "DESIGNS", "Audit", "row_of"]

COLUMNS = (
    *("EC", "EC as copies", "EC width"),
    *("difference", "difference width", "saving", "saving width"),
)
MISS, ALARM = 18.0, 2.0
FLAGGED = (0.08, 0.6)  # rates of the first system's flags among good and bad cases
ALSO = ((0.03, 0.5), (0.25, 0.85))  # of the second's, by class and what the first one does
LEVELS = 30  # of weights, where there are many
CELLS = np.array([(y, a, b) for y in (0, 1) for a in (0, 1) for b in (0, 1)])


@dataclass(frozen=True)
class Audit:
    """Two systems flag cases; those flagged by either, or by the first, are checked."""

    size: int
    prevalence: float
    one_in: int  # how many of the cases that nobody had to check stand behind one that was
    either: bool = True  # whether the flags of the second system are checked as well
    drawn: str = "quota"  # or "chance": each by itself; or "many weights": at unequal chances
    prior: bool = False

    @property
    def problem(self) -> Problem:
        """What is at stake."""
        shares = [1 - self.prevalence, self.prevalence] if self.prior else None
        return Problem([[0, ALARM], [MISS, 0]], prior=shares)

    @property
    def chances(self) -> FloatArray:
        """The probability of each of `CELLS`."""
        y, a, b = CELLS.T
        first, second = np.array(FLAGGED)[y], np.array(ALSO)[y, a]
        share = np.where(y == 1, self.prevalence, 1 - self.prevalence)
        return share * np.where(a, first, 1 - first) * np.where(b, second, 1 - second)

    @property
    def truth(self) -> FloatArray:
        """The cost of the first system, its difference to the second, and to never flagging."""
        y, a, b = CELLS.T
        costs = self.problem.costs
        losses = costs[y, a], costs[y, a] - costs[y, b], costs[y, a] - costs[y, 0]
        return np.array([self.chances @ loss for loss in losses])

    def draw(self, rng: np.random.Generator) -> tuple[FloatArray, FloatArray, FloatArray]:
        """All cases (8,), and what was checked: weights (H,) and rows (H, 8)."""
        full = rng.multinomial(self.size, self.chances)
        flagged = CELLS[:, 1:].any(axis=1) if self.either else CELLS[:, 1] == 1
        rest = np.where(flagged, 0, full)
        if self.drawn == "quota":
            n_checked = max(rest.sum() // self.one_in, 1)
            weights = np.array([rest.sum() / n_checked])
            rows = rng.multivariate_hypergeometric(rest, n_checked)[None]
        else:
            levels = LEVELS if self.drawn == "many weights" else 1
            weights = self.one_in * np.geomspace(0.4, 2.5, levels + 2)[1:-1]
            parts = rng.multinomial(rest, np.full(levels, 1 / levels)).T
            rows = rng.binomial(parts, 1 / weights[:, None])
        every = np.concatenate([np.where(flagged, full, 0)[None], rows]).astype(np.float64)
        return full.astype(np.float64), np.append(1.0, weights), every


DESIGNS = (
    *(Audit(10_000, p, k) for p in (0.02, 0.2) for k in (10, 20, 50)),
    *(Audit(2_000, p, 20) for p in (0.05, 0.2)),
    *(Audit(10_000, p, k, either=False) for p, k in ((0.02, 10), (0.02, 50), (0.2, 20))),
    Audit(2_000, 0.05, 20, either=False),
    *(Audit(10_000, p, 20, drawn="chance") for p in (0.02, 0.2)),
    *(Audit(10_000, p, 20, drawn="many weights") for p in (0.02, 0.2)),
    *(Audit(10_000, p, 20, prior=True) for p in (0.02, 0.2)),
)


def row_of(design: Audit, samples: int, seed: int) -> dict[str, Any]:
    """Coverages in %, and median widths over those with all labels."""
    rng, bounds = np.random.default_rng(seed), []
    for _ in range(samples):
        full, weights, rows = design.draw(rng)
        strata = WeightStrata(weights, rows)
        known = strata if few_weights(weights) is not None else strata.squares
        bounds.append(
            [
                _bounds(design, weights @ rows, known),
                _bounds(design, full, None),
                _bounds(design, np.rint(weights) @ rows, None),
            ]
        )
    low, high = np.moveaxis(np.array(bounds), -1, 0)  # (samples, 3, 3) each
    covered = 100 * ((low <= design.truth) & (design.truth <= high)).mean(axis=0)
    width = np.median(high - low, axis=0)
    row = {"EC as copies": float(covered[2, 0])}
    for place, name in enumerate(("EC", "difference", "saving")):
        row[name] = float(covered[0, place])
        row[f"{name} width"] = float(width[0, place] / width[1, place])
    return row


def _bounds(
    design: Audit, cells: FloatArray, known: FloatArray | WeightStrata | None
) -> list[list[float]]:
    """Bounds of the cost, of the difference and of what never flagging saves, (3, 2)."""
    problem, some = design.problem, np.flatnonzero(cells > 0)
    labels = {"classes": problem.classes, "decisions": problem.decisions}
    joint = JointCounts(CELLS[some], cells[some], models=("a", "b"), **labels)
    known = summed(known, lambda numbers: numbers[..., some])
    wider, able = with_blind(joint, problem)
    tables = summed(known, lambda numbers: joint.with_cell_weights(numbers).model("a").values)
    cost = support_bounds(cost_support(joint.model("a"), problem, squares=tables), 0.95)
    pairs = [(0, 1), (0, 2)]
    support = difference_support(wider, problem, pairs, reachable=able, squares=known)
    low, high = support_bounds(support, 0.95)
    return [[float(end) for end in cost], *np.stack([low, high], axis=-1).tolist()]
