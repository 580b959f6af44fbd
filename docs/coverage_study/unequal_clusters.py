"""Clusters of unequal size, the larger ones worse: on which side intervals of costs miss."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtr

from coverage_study.populations import FloatArray
from stakes import Counts, Problem
from stakes.inference import Clusters, profile_interval

__all__ = ["DESIGNS", "Unequal", "row_of"]

PROBLEM = Problem([[0, 1], [4, 0]])
PREVALENCE = 0.3
RATES = np.array([-1.2, -0.8])  # normal quantiles of the rates of false alarms and of misses
OWN = 0.3  # standard deviation of what a cluster adds to them
MEDIAN = 20  # cases
GRID = 4_001  # points of the integral over sizes


@dataclass(frozen=True)
class Unequal:
    """Clusters whose sizes are lognormal, and whose rates of mistakes grow with the size."""

    clusters: int
    spread: float  # of the logarithm of a size
    worse: float  # what one standard deviation of it adds to the quantiles of both rates

    @property
    def truth(self) -> float:
        """The true cost per case: the mean over clusters, weighted by their sizes."""
        z = np.linspace(-8, 8, GRID)
        size = (1 + np.floor(MEDIAN * np.exp(self.spread * z))) * np.exp(-(z**2) / 2)
        shift = self.worse * z
        # The mean of a normal probability over the normal effects of clusters.
        alarms, misses = ndtr((RATES[:, None] + shift) / np.sqrt(1 + OWN**2))
        cost = (1 - PREVALENCE) * alarms + PREVALENCE * 4 * misses
        return float(np.sum(size * cost) / np.sum(size))

    def draw(self, samples: int, rng: np.random.Generator) -> Counts:
        """Data sets, clusters first."""
        shape = self.clusters, samples
        z = rng.standard_normal(shape)
        size = 1 + np.floor(MEDIAN * np.exp(self.spread * z)).astype(int)
        shift = self.worse * z + OWN * rng.standard_normal(shape)
        positive = rng.binomial(size, PREVALENCE)
        alarms = rng.binomial(size - positive, ndtr(RATES[0] + shift))
        misses = rng.binomial(positive, ndtr(RATES[1] + shift))
        cells = [size - positive - alarms, alarms, misses, positive - misses]
        return Counts(np.stack(cells, axis=-1).reshape(*shape, 2, 2))


_WORSE = [(count, spread) for spread in (0.5, 0.6, 0.7, 1.0) for count in (30, 100, 200)]
DESIGNS = (
    *(Unequal(count, spread, 0.3) for count, spread in _WORSE),
    Unequal(100, 1.0, 0.0),
    Unequal(100, 1.0, -0.3),
)


def row_of(design: Unequal, samples: int, seed: int) -> dict[str, Any]:
    """Data sets in % whose interval lies below and above the truth, and how sizes vary."""
    counts = design.draw(samples, np.random.default_rng(seed))
    interval, truth = profile_interval(counts, PROBLEM, scheme=Clusters()), design.truth
    sizes: FloatArray = counts.values.sum(axis=(-2, -1))
    return {
        "varies": float(np.median(sizes.std(axis=0) / sizes.mean(axis=0))),
        "above": 100 * float(np.mean(truth > interval.high)),
        "below": 100 * float(np.mean(truth < interval.low)),
    }
