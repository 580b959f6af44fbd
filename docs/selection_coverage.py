"""How often contenders and corrected winners hold the truth, by simulation; prints a table.

Systems decide by noisy scores of known skill, so that their costs are known exactly. For each data
set the set of contenders is made, the cheapest is chosen, and its cost and what it saves against
the best blind decision are corrected for the choice.

``python docs/selection_coverage.py`` runs all designs (about an hour);
``python docs/selection_coverage.py 20`` runs 20 data sets of each.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import ndtr

from stakes.inference import (
    Units,
    contenders,
    profile_interval,
    selection_effect,
    with_blind,
)
from stakes.problem import Problem
from stakes.tally import JointCounts

LEVEL = 0.95
CUTS = np.array([0.2, 1.0])
SHARED, WITHIN = 0.3, 0.2  # correlation of the systems' noise, and within clusters

FloatArray = np.ndarray[Any, np.dtype[np.float64]]


@dataclass(frozen=True)
class Design:
    """One line of the table, before its numbers."""

    systems: int
    skills: str
    size: int
    prevalence: float
    prior: bool = False
    clusters: int | None = None
    lognormal: bool = False
    blind: bool = False  # whether blind decisions are among the candidates

    @cached_property
    def problem(self) -> Problem:
        """Misses cost as much more as they are rarer."""
        miss = 2.0 * (1 - self.prevalence) / self.prevalence
        costs = [[0.0, 0.4, 2.0], [miss, 0.3 * miss, 0.0]]
        return Problem(costs, prior=self.shares if self.prior else None)

    @cached_property
    def shares(self) -> FloatArray:
        """Shares of the classes."""
        return np.array([1 - self.prevalence, self.prevalence])

    @cached_property
    def shift(self) -> FloatArray:
        """How far each system tells the classes apart."""
        equal = np.full(self.systems, 1.2)
        if self.skills == "unequal":
            return np.linspace(1.2, 0.6, self.systems)
        if self.skills == "clear best":
            equal[1:] = 0.2
        if self.skills == "one awful":
            equal[-1] = -1.5
        if self.skills == "half worse":
            equal[self.systems // 2 :] = 0.9
        return equal

    @cached_property
    def truth(self) -> FloatArray:
        """Costs of the systems and of the blind decisions, (J + 3,)."""
        below = ndtr(CUTS[:, None, None] - np.array([0, 1])[:, None] * self.shift)
        rates = np.stack([below[0], below[1] - below[0], 1 - below[1]])  # decision, class, system
        costs = np.einsum("k,mkj,km->j", self.shares, rates, self.problem.costs)
        return np.concatenate([costs, self.shares @ self.problem.costs])

    def draw(self, rng: np.random.Generator) -> tuple[JointCounts, FloatArray | None]:
        """A tally of the systems, and the squares of its weights if they are fractional."""
        n, size = self.size, (self.size, self.systems)
        y = (rng.random(n) < self.prevalence).astype(int)
        noise, by = rng.standard_normal(size), None
        if self.clusters is not None:
            by = np.arange(n) * self.clusters // n
            effect = rng.standard_normal((self.clusters, self.systems))[by]
            noise = np.sqrt(WITHIN) * effect + np.sqrt(1 - WITHIN) * noise
        score = y[:, None] * self.shift + np.sqrt(SHARED) * rng.standard_normal((n, 1))
        score = score + np.sqrt(1 - SHARED) * noise
        decided = (score[:, :, None] > CUTS).sum(axis=-1)
        columns = {f"system {place}": column for place, column in enumerate(decided.T)}
        if not self.lognormal:
            return JointCounts.from_decisions(y, columns, self.problem, by=by), None
        weights = np.exp(rng.standard_normal(n))
        joint, squares = (
            JointCounts.from_decisions(y, columns, self.problem, weights=part)
            for part in (weights, weights**2)
        )
        return joint, squares.weights


def designs() -> Iterator[Design]:
    """All lines of the table."""
    for n in (200, 1_000):
        for systems in (1, 2, 4, 12):
            yield Design(systems, "equal", n, 0.5)
        for skills in ("unequal", "clear best", "one awful", "half worse"):
            yield Design(12, skills, n, 0.5)
        for systems, skills in ((2, "equal"), (12, "equal"), (12, "unequal")):
            yield Design(systems, skills, n, 0.02)
            yield Design(systems, skills, n, 0.02, prior=True)
            yield Design(systems, skills, n, 0.5, lognormal=True)
            yield Design(systems, skills, n, 0.02, lognormal=True)
        yield Design(1, "equal", n, 0.5, blind=True)
        yield Design(12, "unequal", n, 0.02, blind=True)
    yield Design(60, "equal", 1_000, 0.5)
    for clusters in (2, 3, 5, 10, 20, 40):
        for systems, skills in ((2, "equal"), (12, "equal"), (12, "unequal")):
            yield Design(systems, skills, 50 * clusters, 0.5, clusters=clusters)


def one(design: Design, rng: np.random.Generator) -> list[float]:
    """One data set: what was held, how wide, and by how much the point is off."""
    joint, squares = design.draw(rng)
    scheme = None if design.clusters is None else Units()
    joint, reachable = with_blind(joint, design.problem)
    names = joint.models if design.blind else joint.models[: design.systems]
    choice = contenders(
        joint, design.problem, level=LEVEL, among=names, reachable=reachable, squares=squares
    )
    truth = design.truth[: len(names)]
    best = np.flatnonzero(truth <= truth.min() + 1e-12)
    held = float(np.mean([names[place] in choice.contenders for place in best]))
    place = choice.cheapest
    counts = joint.model(names[place])
    own = None if squares is None else joint.with_cell_weights(squares).model(names[place]).values
    plain = profile_interval(
        counts, design.problem, LEVEL, reachable=reachable[place], squares=own, scheme=scheme
    )
    value = float(choice.costs[place])
    cost = selection_effect(choice).cost(value, float(plain.low), float(plain.high))
    error = float(np.sqrt(choice.errors.covariance[place, place]))
    return [
        held,
        float(len(choice.contenders)),
        float(plain.covers(truth[place])),
        float(cost.low <= truth[place] <= cost.high),
        (cost.high - cost.low) / max(float(plain.width), 1e-300),
        value - truth[place],
        cost.value - truth[place],
        error,
    ]


def line(design: Design, samples: int, seed: int) -> str:
    """One line of the table."""
    rng = np.random.default_rng(seed)
    rows = np.array([one(design, rng) for _ in range(samples)])
    mean, unit = rows.mean(axis=0), rows[:, 7].mean() or 1.0
    what = [
        f"{design.clusters} clusters" * bool(design.clusters),
        "lognormal weights" * design.lognormal,
        "prior stated" * design.prior,
        "blind decisions too" * design.blind,
    ]
    cells = [
        f"{design.systems} {design.skills}",
        ", ".join(part for part in what if part) or "cases",
        f"{design.size:,}",
        f"{design.prevalence:g}",
        f"{100 * mean[0]:.1f}",
        f"{mean[1]:.1f}",
        f"{100 * mean[2]:.1f}",
        f"{100 * mean[3]:.1f}",
        f"{np.median(rows[:, 4]):.2f}",
        f"{mean[5] / unit:+.2f}",
        f"{mean[6] / unit:+.2f}",
    ]
    return f"| {' | '.join(cells)} |"


def main() -> None:
    """Print the table."""
    samples, start = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000, time.perf_counter()
    header = "systems|design|n|prevalence|set|size|winner, plain|corrected|width|bias, plain|bias"
    print(f"| {' | '.join(header.split('|'))} |\n|{'---|' * 11}")
    for seed, design in enumerate(designs()):
        print(line(design, samples, seed), flush=True)
    print(f"\n{samples} data sets a line, {time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
