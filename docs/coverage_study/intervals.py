"""Coverage and width of the profile intervals, beside the percentile bootstrap.

These are the functions that `evaluate` calls. All samples of a design are one tally with a leading
axis, so that one call makes thousands of intervals.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from coverage_study.populations import FloatArray, IntArray
from coverage_study.tables import Pair, World
from stakes.inference import (
    Clusters,
    Interval,
    Percentile,
    bootstrap,
    cost_moments,
    profile_interval,
    profile_normalized_interval,
    scheme_of,
)
from stakes.inference.estimate import quantile
from stakes.measures import expected_cost, normalized_cost
from stakes.problem import Problem
from stakes.tally import Counts, JointCounts

__all__ = [
    "LEAST_SHARE",
    "MANY_CASES",
    "WIDEST",
    "Subject",
    "of_cases",
    "of_class_weights",
    "of_clusters",
    "of_patients",
    "of_weights",
    "subjects",
    "tied",
]

LEVEL = 0.95
REPLICATES, BOOTSTRAPPED = 399, 200  # the bootstrap is only a yardstick for the width
MANY_CASES = 10_000  # at which the width is a goal
LEAST_SHARE, WIDEST = 0.93, 1.10  # coverage, and width over the bootstrap's


@dataclass(frozen=True)
class Subject:
    """Something to be estimated: how samples become tallies, intervals and values."""

    name: str
    problem: Problem
    cells: FloatArray  # probabilities, flat
    tally: Callable[[FloatArray], Any]  # (…, C) → a tally with these leading axes
    value: Callable[[Any], FloatArray]
    interval: Callable[..., Interval]

    @property
    def classes(self) -> IntArray:
        """The class of each cell."""
        return np.asarray(self.tally(self.cells).cell_classes)


def subjects(prevalence: float, *, stated: bool) -> Iterator[Subject]:
    """Cost and normalised cost of a model, and the difference of two, prior stated or not."""
    prior = ((0.8, 0.2) if prevalence > 0.01 else (0.98, 0.02)) if stated else None
    world, pair = World(prevalence, prior), Pair(prevalence)
    problem = world.problem
    cells = world.decided(world.population).values

    def counts(drawn: FloatArray) -> Counts:
        return Counts(drawn.reshape(*drawn.shape[:-1], *cells.shape))

    def difference(joint: JointCounts) -> FloatArray:
        whole = joint if prior is None else joint.with_prior(prior)
        costs = cost_moments(whole, problem).mean()
        return np.asarray(costs[..., 0] - costs[..., 1])

    flat = cells.ravel() / cells.sum()
    yield Subject(
        "EC", problem, flat, counts, lambda c: expected_cost(c, problem), profile_interval
    )
    if not stated:
        yield Subject(
            "NEC",
            problem,
            flat,
            counts,
            lambda c: normalized_cost(c, problem),
            profile_normalized_interval,
        )
    both = pair.cells.ravel() / pair.cells.sum()
    yield Subject("EC difference", problem, both, pair.joint, difference, profile_interval)


def tied(prevalence: float) -> Subject:
    """Normalised cost where two blind decisions cost the same."""
    cells = np.array([[0.8, 0.2], [0.3, 0.7]]) * np.array([[1 - prevalence], [prevalence]])
    problem = Problem([[0, prevalence], [1 - prevalence, 0]])
    return Subject(
        "NEC, tied",
        problem,
        cells.ravel(),
        lambda drawn: Counts(drawn.reshape(*drawn.shape[:-1], 2, 2)),
        lambda c: normalized_cost(c, problem),
        profile_normalized_interval,
    )


# Designs -----------------------------------------------------------------------------------------


def of_cases(subject: Subject, size: int, samples: int, rng: np.random.Generator) -> FloatArray:
    """What `compared` says; where the width is a goal, with a bootstrap of every sample."""
    tally = subject.tally(rng.multinomial(size, subject.cells, size=samples).astype(np.float64))
    interval = subject.interval(tally, subject.problem, LEVEL)
    parts = [tally[start : start + BOOTSTRAPPED] for start in range(0, samples, BOOTSTRAPPED)]
    ends = [
        _percentile_ends(subject, part, rng) for part in parts[: None if size == MANY_CASES else 1]
    ]
    low, high = np.concatenate(ends, axis=1)
    return compared(subject, interval, Interval(low, high, LEVEL), subject.value(tally[: low.size]))


def _percentile_ends(subject: Subject, tally: Any, rng: np.random.Generator) -> FloatArray:
    """Lower and upper ends (2, samples) of the percentile bootstrap."""
    scheme = scheme_of(tally, subject.problem)
    drawn = bootstrap(subject.value, tally, replicates=REPLICATES, rng=rng, scheme=scheme)
    interval = drawn.with_intervals(Percentile()).interval(LEVEL)
    return np.stack([interval.low, interval.high])


def of_weights(
    subject: Subject, size: int, samples: int, rng: np.random.Generator, spread: float = 1.0
) -> FloatArray:
    """The same with lognormal weights; replicates have the variance of each cell's sum."""
    counts = rng.multinomial(size, subject.cells, size=samples)
    return _of_sums(subject, *_weighted(counts, spread, rng), rng)


def of_class_weights(
    subject: Subject, size: int, samples: int, rng: np.random.Generator, factor: float
) -> FloatArray:
    """The same where the second class was sampled too rarely, and is weighted up."""
    weights = 0.9 * factor**subject.classes
    weighted = replace(subject, cells=subject.cells * weights / (subject.cells @ weights))
    counts = rng.multinomial(size, subject.cells, size=samples)
    return _of_sums(weighted, counts * weights, counts * weights**2, rng)


def _of_sums(
    subject: Subject, sums: FloatArray, squares: FloatArray, rng: np.random.Generator
) -> FloatArray:
    """What `compared` says of sums of weights (samples, C), and of their squares."""
    tally = subject.tally(sums)
    cell_squares = squares.reshape(_shape(tally))
    interval = subject.interval(tally, subject.problem, LEVEL, squares=cell_squares)
    ratio = squares[:BOOTSTRAPPED] / np.where(sums > 0, sums, 1.0)[:BOOTSTRAPPED]
    cases = sums[:BOOTSTRAPPED] / np.where(ratio > 0, ratio, 1.0)
    again = ratio * rng.gamma(cases, size=(REPLICATES, *cases.shape))
    return compared(subject, interval, percentiles(subject, again))


def of_clusters(
    subject: Subject,
    count: int,
    cases: int,
    samples: int,
    rng: np.random.Generator,
    *,
    alike: float = 0.2,
    spread: float = 0.0,
) -> FloatArray:
    """The same with clusters whose cases have an intraclass correlation, and perhaps weights."""
    shape = np.broadcast_to(subject.cells * (1 / alike - 1), (count, samples, subject.cells.size))
    cluster_cells = rng.gamma(shape) + 1e-300
    counts = rng.multinomial(cases, cluster_cells / cluster_cells.sum(axis=-1, keepdims=True))
    return _of_cluster_sums(subject, *_weighted(counts, spread, rng), rng, weighted=spread > 0)


def of_patients(
    subject: Subject, count: int, cases: int, samples: int, rng: np.random.Generator
) -> FloatArray:
    """The same with clusters of one class each, four of five of which are decided as a whole."""
    shape = (count, samples)
    cells = rng.choice(subject.cells.size, shape, p=subject.cells)
    of_class = subject.classes[:, None] == subject.classes
    shares = of_class * subject.cells / (of_class * subject.cells).sum(axis=1, keepdims=True)
    whole = cases * np.eye(subject.cells.size, dtype=np.int64)[cells]
    single = rng.multinomial(cases, shares[cells])
    drawn = np.where(rng.random((*shape, 1)) < 0.8, whole, single).astype(np.float64)
    return _of_cluster_sums(subject, drawn, drawn, rng, weighted=False)


def _of_cluster_sums(
    subject: Subject,
    drawn: FloatArray,
    squares: FloatArray,
    rng: np.random.Generator,
    *,
    weighted: bool,
) -> FloatArray:
    """What `compared` says of sums of weights (clusters, samples, C), and of their squares."""
    count, tally = len(drawn), subject.tally(drawn)
    cell_squares = squares.reshape(_shape(tally)) if weighted else None
    interval = subject.interval(
        tally, subject.problem, LEVEL, squares=cell_squares, scheme=Clusters()
    )
    times = rng.multinomial(count, np.full(count, 1 / count), size=REPLICATES).astype(np.float64)
    again = np.tensordot(times, drawn[:, :BOOTSTRAPPED], axes=1)
    return compared(subject, interval, percentiles(subject, again))


def _weighted(
    counts: np.ndarray[Any, Any], spread: float, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    """Sums of lognormal weights, one for each case, and of their squares."""
    cells = np.repeat(np.arange(counts.size), counts.ravel())
    weights = rng.lognormal(0, spread, cells.size) if spread else np.ones(cells.size)
    sums, squares = (np.bincount(cells, weights**power, counts.size) for power in (1, 2))
    return sums.reshape(counts.shape), squares.reshape(counts.shape)


def _shape(tally: Counts | JointCounts) -> tuple[int, ...]:
    return tally.values.shape if isinstance(tally, Counts) else tally.weights.shape


def percentiles(subject: Subject, replicates: FloatArray) -> Interval:
    """The quantiles of the values of replicates (R, samples, C)."""
    values = subject.value(subject.tally(replicates))
    low, high = (
        quantile(values, np.full(values.shape[1:], (1 + side * LEVEL) / 2)) for side in (-1, 1)
    )
    return Interval(low, high, LEVEL)


def compared(
    subject: Subject, interval: Interval, other: Interval, estimate: FloatArray | None = None
) -> FloatArray:
    """Coverage of both in %, the ratio of their median widths, and what stretching would do.

    That is the coverage of the other in % if it were stretched from the estimates to the greatest
    width that is a goal, and the factor by which it would have to be stretched to reach the goal of
    coverage; nan without estimates.
    """
    truth = subject.value(subject.tally(subject.cells))
    with np.errstate(divide="ignore", invalid="ignore"):  # widths may be infinite
        undefined = np.isnan(other.width).all()
        usual = np.nan if undefined else np.nanmedian(other.width)
        ratio = np.median(interval.width) / usual if np.isfinite(usual) else np.nan
        stretched = (np.nan, np.nan) if estimate is None else _stretched(truth, estimate, other)
    coverage = np.nan if undefined else 100 * other.covers(truth).mean()
    return np.array([100 * interval.covers(truth).mean(), coverage, ratio, *stretched])


def _stretched(truth: FloatArray, estimate: FloatArray, interval: Interval) -> tuple[float, float]:
    """Coverage in % at the greatest width, and the factor that reaches the least coverage."""
    end = np.where(truth > estimate, interval.high, interval.low)
    needed = np.where(truth == estimate, 0.0, (truth - estimate) / (end - estimate))
    least = np.quantile(needed, LEAST_SHARE, method="higher")
    return 100 * float(np.mean(needed <= WIDEST)), float(least)
