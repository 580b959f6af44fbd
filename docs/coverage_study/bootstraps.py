"""Intervals of the bootstrap and of formulas, for costs, areas under curves and Brier scores."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from coverage_study.populations import FloatArray
from coverage_study.tables import MEASURES, Pair, World
from stakes.inference import (
    AllCases,
    BCa,
    Clusters,
    Estimate,
    Logit,
    Normal,
    Percentile,
    Scheme,
    bootstrap,
    bootstrap_t,
    jackknife,
    scheme_of,
)

__all__ = ["CASE_KINDS", "CLUSTER_KINDS", "Setting", "clustered", "few", "paired", "single"]

LEVEL = 0.95
CLUSTER_SIZE = 5
LARGE_CLUSTER = 50  # where there are few clusters
INTRACLASS = 0.2  # correlation of the cases of one cluster

CASE_KINDS = ("percentile", "BCa", "studentised", "formula", "formula, log-odds")
CLUSTER_KINDS = ("expanded", "percentile", "BCa", "cases, not clusters")

Row = dict[str, float]  # interval type → coverage in %


@dataclass(frozen=True)
class Setting:
    """One line of the table, before its numbers."""

    measure: str
    design: str
    size: int
    prevalence: float


def covered(estimate: Estimate, truth: FloatArray) -> FloatArray:
    """Share of the samples (first axis), in %, whose interval covers the truth; nan does not."""
    return np.asarray(100 * estimate.interval(LEVEL).covers(truth).mean(axis=0))


def of_cases(
    measure: Callable[[Any], FloatArray],
    error: Callable[[Any], FloatArray],
    tally: Any,
    truth: FloatArray,
    scheme: Scheme,
    replicates: int,
    rng: np.random.Generator,
) -> dict[str, FloatArray]:
    """Coverage by every interval type of the numbers (samples, P) that a measure gives."""
    estimate = bootstrap_t(measure, error, tally, replicates=replicates, rng=rng, scheme=scheme)
    pull = jackknife(measure, tally, scheme=scheme, rng=rng).acceleration
    return {
        "percentile": covered(estimate.with_intervals(Percentile()), truth),
        "BCa": covered(estimate.with_intervals(BCa(pull)), truth),
        "studentised": covered(estimate, truth),
        "formula": covered(estimate.with_intervals(Normal()), truth),
        "formula, log-odds": covered(estimate.with_intervals(Logit()), truth),
    }


def single(
    size: int,
    prevalence: float,
    prior: tuple[float, float] | None,
    *,
    samples: int,
    replicates: int,
    rng: np.random.Generator,
) -> Iterator[tuple[Setting, Row]]:
    """Four measures of one model; with a prior, the cases are resampled within classes."""
    world = World(prevalence, prior)
    population = world.population if prior is None else world.population.with_prior(prior)
    table = world.table(_drawn(world.cells, size, samples, rng))
    shares = of_cases(
        world.measures,
        world.errors,
        table,
        world.measures(population),
        scheme_of(table, world.problem),
        replicates,
        rng,
    )
    design = "cases" if prior is None else "cases, prior stated"
    for place, name in enumerate(MEASURES if prior is None else MEASURES[:2]):
        row = {kind: float(shares[place]) for kind, shares in shares.items()}
        if name in ("EC", "NEC"):
            del row["formula, log-odds"]  # they may lie above one
        yield Setting(name, design, size, prevalence), row


def paired(
    size: int, prevalence: float, *, samples: int, replicates: int, rng: np.random.Generator
) -> Iterator[tuple[Setting, Row]]:
    """The difference of the expected costs of two models on the same cases."""
    pair = Pair(prevalence)
    joint = pair.joint(_drawn(pair.cells, size, samples, rng))
    truth = pair.difference(pair.joint(pair.cells.ravel()))
    shares = of_cases(pair.difference, pair.error, joint, truth, AllCases(), replicates, rng)
    row = {kind: float(shares[0]) for kind, shares in shares.items() if "odds" not in kind}
    yield Setting("EC difference", "paired", size, prevalence), row


def clustered(
    size: int, prevalence: float, *, samples: int, replicates: int, rng: np.random.Generator
) -> Iterator[tuple[Setting, Row]]:
    """The same numbers when clusters of five cases that resemble each other were drawn."""
    world, pair = World(prevalence), Pair(prevalence)
    subjects: list[Subject] = [
        (world.measures, world.table, world.cells, MEASURES),
        (pair.difference, pair.joint, pair.cells, ("EC difference",)),
    ]
    count = size // CLUSTER_SIZE
    for name, row in by_units(subjects, count, CLUSTER_SIZE, samples, replicates, rng):
        design = "paired, clusters" if name == "EC difference" else "clusters"
        yield Setting(name, design, size, prevalence), row


def few(
    size: int, prevalence: float, *, samples: int, replicates: int, rng: np.random.Generator
) -> Iterator[tuple[Setting, Row]]:
    """Costs when a handful of clusters of fifty cases were drawn."""
    world, pair = World(prevalence), Pair(prevalence)
    subjects: list[Subject] = [
        (lambda table: world.measures(table)[..., :1], world.table, world.cells, ("EC",)),
        (pair.difference, pair.joint, pair.cells, ("EC difference",)),
    ]
    count = size // LARGE_CLUSTER
    for name, row in by_units(subjects, count, LARGE_CLUSTER, samples, replicates, rng):
        design = f"{count} clusters of {LARGE_CLUSTER}"
        paired_ = "paired, " if name == "EC difference" else ""
        yield Setting(name, paired_ + design, size, prevalence), row


# A measure, what makes a tally of draws, the population, and the names of what is measured.
Subject = tuple[Any, Any, FloatArray, tuple[str, ...]]


def by_units(
    subjects: list[Subject],
    count: int,
    cases: int,
    samples: int,
    replicates: int,
    rng: np.random.Generator,
) -> Iterator[tuple[str, Row]]:
    """Coverage of every interval type, in samples of `count` clusters of `cases` cases."""
    for measure, tally, cells, names in subjects:
        truth = measure(tally(cells.ravel()))
        coverage: dict[str, list[Any]] = {}
        for _ in range(samples):
            units = tally(_units(cells, count, cases, rng))
            estimate = bootstrap(measure, units, replicates=replicates, rng=rng, scheme=Clusters())
            pull = jackknife(measure, units, scheme=Clusters(), rng=rng).acceleration
            kinds = {
                "percentile": estimate.with_intervals(Percentile()),
                "expanded": estimate,
                "BCa": estimate.with_intervals(BCa(pull)),
                "cases, not clusters": bootstrap(
                    measure, Clusters().whole(units), replicates=replicates, rng=rng
                ),
            }
            for kind, variant in kinds.items():
                coverage.setdefault(kind, []).append(variant.interval(LEVEL).covers(truth))
        shares = {kind: 100 * np.mean(hits, axis=0) for kind, hits in coverage.items()}
        for place, name in enumerate(names):
            yield name, {kind: float(share[place]) for kind, share in shares.items()}


def _drawn(cells: FloatArray, size: int, samples: int, rng: np.random.Generator) -> FloatArray:
    shares = cells.ravel() / cells.sum()
    return rng.multinomial(size, shares, size=samples).astype(np.float64)


def _units(cells: FloatArray, units: int, cases: int, rng: np.random.Generator) -> FloatArray:
    """Each unit has other cell probabilities, Dirichlet about those of the population."""
    shares = cells.ravel() / cells.sum()
    drawn = rng.dirichlet(shares * (1 / INTRACLASS - 1), size=units)
    return rng.multinomial(cases, drawn / drawn.sum(axis=1, keepdims=True)).astype(np.float64)
