"""Coverage and width of the profile intervals, beside the percentile bootstrap.

These are the functions that `evaluate` calls. All samples of a design are one tally with a leading
axis, so that one call makes thousands of intervals.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from coverage_study.populations import FloatArray
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
from stakes.inference.intervals import quantile
from stakes.measures import expected_cost, normalized_cost
from stakes.problem import Problem
from stakes.tally import Counts, JointCounts

__all__ = ["Subject", "of_cases", "of_clusters", "of_weights", "subjects", "tied"]

LEVEL = 0.95
REPLICATES, BOOTSTRAPPED = 399, 200  # the bootstrap is only a yardstick for the width


@dataclass(frozen=True)
class Subject:
    """Something to be estimated: how samples become tallies, intervals and values."""

    name: str
    problem: Problem
    cells: FloatArray  # probabilities, flat
    tally: Callable[[FloatArray], Any]  # (…, C) → a tally with these leading axes
    value: Callable[[Any], FloatArray]
    interval: Callable[..., Interval]


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
    """Coverage of both intervals in %, and the ratio of their widths."""
    tally = subject.tally(rng.multinomial(size, subject.cells, size=samples).astype(np.float64))
    interval = subject.interval(tally, subject.problem, LEVEL)
    some = tally[:BOOTSTRAPPED]
    drawn = bootstrap(
        subject.value, some, replicates=REPLICATES, rng=rng, scheme=scheme_of(some, subject.problem)
    )
    return compared(subject, interval, drawn.with_intervals(Percentile()).interval(LEVEL))


def of_weights(
    subject: Subject, size: int, samples: int, rng: np.random.Generator, spread: float = 1.0
) -> FloatArray:
    """The same with lognormal weights; replicates have the variance of each cell's sum."""
    counts = rng.multinomial(size, subject.cells, size=samples)
    sums, squares = _weighted(counts, spread, rng)
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
    drawn, squares = _weighted(counts, spread, rng)
    tally = subject.tally(drawn)
    cell_squares = None if spread == 0 else squares.reshape(_shape(tally))
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


def compared(subject: Subject, interval: Interval, other: Interval) -> FloatArray:
    """Coverage of both in %, and the ratio of their median widths."""
    truth = subject.value(subject.tally(subject.cells))
    with np.errstate(divide="ignore", invalid="ignore"):  # widths may be infinite
        undefined = np.isnan(other.width).all()
        usual = np.nan if undefined else np.nanmedian(other.width)
        ratio = np.median(interval.width) / usual if np.isfinite(usual) else np.nan
    coverage = np.nan if undefined else 100 * other.covers(truth).mean()
    return np.array([100 * interval.covers(truth).mean(), coverage, ratio])
