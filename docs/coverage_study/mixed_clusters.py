"""Clusters whose class shares differ: how often intervals of costs, ratios and savings cover."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr

from coverage_study.populations import FloatArray
from stakes import Counts, Problem
from stakes.inference import Clusters, profile_interval, profile_normalized_interval

__all__ = ["COLUMNS", "DESIGNS", "Mixed", "row_of"]

COLUMNS = ("EC", "NEC", "saving")
ALIKE = 0.3  # correlation of the decisions within a cluster


@dataclass(frozen=True)
class Mixed:
    """Clusters of two classes; the share of the second is drawn for each of them."""

    clusters: int
    cases: int
    prevalence: float
    concentration: float | None  # of the Beta distribution of shares; None: one class each
    miss: float  # what a miss costs; a false alarm costs 1
    errors: tuple[float, float]  # rates of false alarms and of misses
    prior: bool = False  # whether the prevalence is stated
    strays: float = 0.0  # share of the second class in clusters of the first

    @property
    def shares(self) -> str:
        """How the share of the second class is drawn, in words."""
        if self.concentration is None:
            return "one class each" + f", {100 * self.strays:g} % strays" * (self.strays > 0)
        part = self.prevalence * self.concentration
        return f"Beta({part:g}, {self.concentration - part:g})"

    @property
    def problem(self) -> Problem:
        """What is at stake."""
        prior = self.class_shares if self.prior else None
        return Problem([[0, 1], [self.miss, 0]], prior=prior)

    @property
    def class_shares(self) -> FloatArray:
        """The shares of the two classes, strays included."""
        share = self.prevalence + (1 - self.prevalence) * self.strays
        return np.array([1 - share, share])

    @property
    def truth(self) -> FloatArray:
        """The true cost and normalised cost."""
        cost = self.class_shares @ np.multiply(self.errors, [1, self.miss])
        return np.array([cost, cost / (self.class_shares @ self.problem.costs).min()])

    def draw(self, samples: int, rng: np.random.Generator) -> Counts:
        """Data sets, clusters first."""
        shape = self.clusters, samples, self.cases
        share = np.where(rng.random(shape[:2]) < self.prevalence, 1.0, self.strays)
        if self.concentration is not None:
            part = self.prevalence * self.concentration
            share = rng.beta(part, self.concentration - part, shape[:2])
        second = rng.random(shape) < share[..., None]
        common = np.sqrt(ALIKE) * rng.standard_normal(shape[:2])[..., None]
        score = ndtr(common + np.sqrt(1 - ALIKE) * rng.standard_normal(shape))
        alarm = score > np.where(second, self.errors[1], 1 - self.errors[0])
        cells = [(2 * second + alarm == cell).sum(axis=-1) for cell in range(4)]
        return Counts(np.stack(cells, axis=-1).reshape(*shape[:2], 2, 2))


def _rare(
    clusters: int, cases: int, prevalence: float, concentration: float | None, strays: float = 0.0
) -> Mixed:
    sizes = clusters, cases, prevalence, concentration
    return Mixed(*sizes, miss=20.0, errors=(0.05, 0.1), strays=strays)


def _one_class(clusters: int, *, prior: bool) -> Mixed:
    return Mixed(clusters, 50, 0.2, None, miss=9.0, errors=(0.15, 0.3), prior=prior)


DESIGNS = (
    _rare(12, 100, 0.05, 1.0),
    _rare(12, 100, 0.03, 2.0),
    _rare(20, 50, 0.05, 1.0),
    _rare(8, 50, 0.05, None, strays=0.01),
    _rare(12, 100, 0.05, None, strays=0.002),
    _rare(20, 50, 0.05, None, strays=0.002),
    _rare(20, 50, 0.03, None),
    _rare(40, 25, 0.03, None),
    *(_one_class(count, prior=prior) for prior in (False, True) for count in (8, 12, 20, 50)),
)


def row_of(design: Mixed, samples: int, seed: int) -> dict[str, Any]:
    """Coverages in %."""
    counts = design.draw(samples, np.random.default_rng(seed))
    functions = profile_interval, profile_normalized_interval
    intervals = [f(counts, design.problem, 0.95, scheme=Clusters()) for f in functions]
    hits = [each.covers(truth) for each, truth in zip(intervals, design.truth, strict=True)]
    hits.append(_saving_covered(design, counts))
    return {name: 100 * float(hit.mean()) for name, hit in zip(COLUMNS, hits, strict=True)}


def _saving_covered(design: Mixed, counts: Counts) -> npt.NDArray[np.bool_]:
    """Whether the saving over the blind decision that was the cheapest of each data set is."""
    problem, shares = design.problem, design.class_shares
    masses = counts.values.sum(axis=(0, -1))
    seen = shares if design.prior else masses / masses.sum(axis=-1, keepdims=True)
    cheapest = np.broadcast_to((seen @ problem.costs).argmin(axis=-1), len(masses))
    covered = np.empty(len(masses), dtype=np.bool_)
    for blind in np.unique(cheapest).tolist():
        # What a model costs more than a blind decision is its cost where that one costs nothing.
        more = Problem(problem.costs - problem.costs[:, [blind]], prior=problem.prior)
        some = cheapest == blind
        interval = profile_interval(Counts(counts.values[:, some]), more, scheme=Clusters())
        covered[some] = interval.covers(design.truth[0] - shares @ problem.costs[:, blind])
    return covered
