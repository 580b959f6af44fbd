"""Write docs/coverage.md: how often 95 % intervals hold the truth, by simulation.

Samples are drawn from populations whose costs, areas and scores are known exactly. A share of the
intervals holds the known number; that share is the coverage. Whole batches of samples are one tally
with a leading axis, so that one call of the bootstrap serves all of them.

``python docs/coverage.py`` runs everything (some minutes) and writes the table; the suite runs the
same functions with fewer samples on the quickest settings.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from multiprocessing import get_context
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np

from stakes.inference import (
    AllCases,
    BCa,
    Estimate,
    Logit,
    Normal,
    Percentile,
    Scheme,
    Units,
    auc_error,
    bootstrap,
    bootstrap_t,
    cost_moments,
    expected_cost_error,
    jackknife,
    mean_covariance,
    normalized_cost_error,
    scheme_of,
)
from stakes.measures import expected_cost, normalized_cost
from stakes.problem import Problem
from stakes.ranking import auc
from stakes.scoring import brier
from stakes.tally import Counts, JointCounts, ScoreTable

TABLE = Path(__file__).with_suffix(".md")
LEVEL = 0.95
GOOD = (93.0, 97.0)
SIZES = (100, 1_000, 10_000)
PREVALENCES = (0.5, 0.02)
UNIT_SIZE = 5
FEW, LARGE_UNIT = (2, 3, 4, 5, 6), 50  # few units, which hold many cases
INTRACLASS = 0.2  # correlation of the cases of one unit

FloatArray = np.ndarray[Any, np.dtype[np.float64]]
Row = dict[str, float]  # interval type → coverage in %


@dataclass(frozen=True)
class Setting:
    """One line of the table, before its numbers."""

    measure: str
    design: str
    size: int
    prevalence: float


# Populations -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class World:
    """Scores in fifteen levels, known class by class; three decisions by two cuts."""

    prevalence: float
    prior: tuple[float, float] | None = None
    n_levels: int = 15

    @cached_property
    def shares(self) -> FloatArray:
        """Shares of the classes among the cases."""
        return np.array([1 - self.prevalence, self.prevalence])

    @cached_property
    def cells(self) -> FloatArray:
        """Probability of each level and class, (L, 2): two binomials that overlap."""
        trials = self.n_levels - 1
        level = np.arange(self.n_levels)
        ways = np.cumprod(np.concatenate([[1.0], (trials - level[:-1]) / (level[:-1] + 1.0)]))
        chance = np.array([0.38, 0.56])
        rates = ways[:, None] * chance ** level[:, None] * (1 - chance) ** (trials - level[:, None])
        return np.asarray(rates * self.shares)

    @cached_property
    def scores(self) -> FloatArray:
        """Posteriors that are somewhat too sure of themselves."""
        odds = (self.cells[:, 1] / self.cells[:, 0]) ** 1.2
        return np.asarray(odds / (1 + odds))

    @cached_property
    def problem(self) -> Problem:
        """Both kinds of mistakes matter about as much; the decision in between costs a little."""
        miss = 2.0 * (1 - self.prevalence) / self.prevalence
        return Problem([[0.0, 0.4, 2.0], [miss, 0.3 * miss, 0.0]], prior=self.prior)

    @cached_property
    def population(self) -> ScoreTable:
        """The table that the samples come from."""
        return ScoreTable(self.scores, self.cells)

    def table(self, drawn: FloatArray) -> ScoreTable:
        """Draws (…, 2 L) as a table."""
        return ScoreTable(self.scores, drawn.reshape(*drawn.shape[:-1], self.n_levels, 2))

    def decided(self, table: ScoreTable) -> Counts:
        """Three decisions: about the lower levels, the middle ones and the upper ones."""
        bounds = [0, 6, 8]
        parts = np.add.reduceat(table.weights, bounds, axis=-2)
        return Counts._trusted(
            values=np.swapaxes(parts, -1, -2), classes=None, decisions=None, groups=None
        )

    def measures(self, table: ScoreTable) -> FloatArray:
        """EC, NEC, AUC and Brier score of every table, (…, 4)."""
        counts = self.decided(table)
        parts = [expected_cost(counts, self.problem), normalized_cost(counts, self.problem)]
        return np.stack([*parts, auc(table), brier(table)], axis=-1)

    def errors(self, table: ScoreTable) -> FloatArray:
        """Their standard errors by formula, (…, 4)."""
        counts = self.decided(table)
        losses = np.stack([table.scores**2, (1 - table.scores) ** 2], axis=-1)
        scatter = (losses - brier(table)[..., None, None]) ** 2
        square = np.sum(table.weights * scatter, axis=(-2, -1)) / table.n_cases
        parts = [
            expected_cost_error(counts, self.problem),
            normalized_cost_error(counts, self.problem),
            auc_error(table),
            np.sqrt(square / (table.n_cases - 1)),
        ]
        return np.stack(parts, axis=-1)


MEASURES = ("EC", "NEC", "AUC", "Brier score")


@dataclass(frozen=True)
class Pair:
    """Two models that take three decisions about the same cases, and agree on most."""

    prevalence: float

    @cached_property
    def problem(self) -> Problem:
        """The costs of `World`."""
        return World(self.prevalence).problem

    @cached_property
    def cells(self) -> FloatArray:
        """Probability of each class and pair of decisions, (2, 3, 3)."""
        negative = [[0.62, 0.06, 0.03], [0.03, 0.14, 0.02], [0.01, 0.02, 0.07]]
        positive = [[0.14, 0.05, 0.06], [0.03, 0.17, 0.06], [0.02, 0.03, 0.44]]
        return np.array([negative, positive]) * World(self.prevalence).shares[:, None, None]

    def joint(self, drawn: FloatArray) -> JointCounts:
        """Draws (…, 18) as joint counts."""
        return JointCounts._trusted(
            cells=np.stack(np.unravel_index(np.arange(18), (2, 3, 3)), axis=1),
            weights=np.asarray(drawn, dtype=np.float64),
            models=("a", "b"),
            classes=self.problem.classes,
            decisions=self.problem.decisions,
            groups=None,
        )

    def difference(self, joint: JointCounts) -> FloatArray:
        """Expected cost of the first model minus that of the second, (…, 1)."""
        costs = cost_moments(joint, self.problem).mean()
        return costs[..., :1] - costs[..., 1:]

    def error(self, joint: JointCounts) -> FloatArray:
        """Its paired standard error by formula, (…, 1)."""
        spread = mean_covariance(cost_moments(joint, self.problem), None)
        square = spread[..., 0, 0] + spread[..., 1, 1] - 2 * spread[..., 0, 1]
        return np.sqrt(square)[..., None]


# Coverage ----------------------------------------------------------------------------------------


def covered(estimate: Estimate, truth: FloatArray) -> FloatArray:
    """Share of the samples (first axis), in %, whose interval holds the truth; nan misses it."""
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
    made = bootstrap_t(measure, error, tally, replicates=replicates, rng=rng, scheme=scheme)
    pull = jackknife(measure, tally, scheme=scheme, rng=rng).acceleration
    return {
        "percentile": covered(made.with_intervals(Percentile()), truth),
        "BCa": covered(made.with_intervals(BCa(pull)), truth),
        "studentised": covered(made, truth),
        "formula": covered(made.with_intervals(Normal()), truth),
        "formula, log-odds": covered(made.with_intervals(Logit()), truth),
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
    """Four measures of one model; with a prior, the cases are redrawn within classes."""
    world = World(prevalence, prior)
    population = world.population if prior is None else world.population.with_prior(prior)
    table = world.table(_drawn(world.cells, size, samples, rng))
    found = of_cases(
        world.measures,
        world.errors,
        table,
        world.measures(population),
        scheme_of(world.problem),
        replicates,
        rng,
    )
    design = "cases" if prior is None else "cases, prior stated"
    for place, name in enumerate(MEASURES if prior is None else MEASURES[:2]):
        row = {kind: float(shares[place]) for kind, shares in found.items()}
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
    found = of_cases(pair.difference, pair.error, joint, truth, AllCases(), replicates, rng)
    row = {kind: float(shares[0]) for kind, shares in found.items() if "odds" not in kind}
    yield Setting("EC difference", "paired", size, prevalence), row


def tied(
    size: int, prevalence: float, *, samples: int, replicates: int, rng: np.random.Generator
) -> Iterator[tuple[Setting, Row]]:
    """Normalised cost where two blind decisions cost the same."""
    cells = np.array([[0.8, 0.2], [0.3, 0.7]]) * np.array([[1 - prevalence], [prevalence]])
    costs = [[0, prevalence], [1 - prevalence, 0]]
    problem = Problem(costs)
    counts = Counts(_drawn(cells, size, samples, rng).reshape(samples, 2, 2))
    found = of_cases(
        lambda c: normalized_cost(c, problem)[..., None],
        lambda c: normalized_cost_error(c, problem)[..., None],
        counts,
        normalized_cost(Counts(cells), problem)[None],
        AllCases(),
        replicates,
        rng,
    )
    row = {kind: float(shares[0]) for kind, shares in found.items() if "odds" not in kind}
    yield Setting("NEC", "cases, tied", size, prevalence), row


def clustered(
    size: int, prevalence: float, *, samples: int, replicates: int, rng: np.random.Generator
) -> Iterator[tuple[Setting, Row]]:
    """The same numbers when units of five cases that resemble each other were drawn."""
    world, pair = World(prevalence), Pair(prevalence)
    subjects: list[Subject] = [
        (world.measures, world.table, world.cells, MEASURES),
        (pair.difference, pair.joint, pair.cells, ("EC difference",)),
    ]
    for name, row in by_units(subjects, size // UNIT_SIZE, UNIT_SIZE, samples, replicates, rng):
        design = "paired, units" if name == "EC difference" else "units"
        yield Setting(name, design, size, prevalence), row


def few(
    size: int, prevalence: float, *, samples: int, replicates: int, rng: np.random.Generator
) -> Iterator[tuple[Setting, Row]]:
    """Costs when a handful of units of fifty cases were drawn."""
    world, pair = World(prevalence), Pair(prevalence)
    subjects: list[Subject] = [
        (lambda table: world.measures(table)[..., :1], world.table, world.cells, ("EC",)),
        (pair.difference, pair.joint, pair.cells, ("EC difference",)),
    ]
    count = size // LARGE_UNIT
    for name, row in by_units(subjects, count, LARGE_UNIT, samples, replicates, rng):
        design = f"{count} units of {LARGE_UNIT}"
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
    """Coverage by every interval type of samples of as many units of as many cases."""
    for measure, tally, cells, names in subjects:
        truth = measure(tally(cells.ravel()))
        held: dict[str, list[Any]] = {}
        for _ in range(samples):
            units = tally(_units(cells, count, cases, rng))
            made = bootstrap(measure, units, replicates=replicates, rng=rng, scheme=Units())
            pull = jackknife(measure, units, scheme=Units(), rng=rng).acceleration
            kinds = {
                "percentile": made.with_intervals(Percentile()),
                "expanded": made,
                "BCa": made.with_intervals(BCa(pull)),
                "cases, not units": bootstrap(
                    measure, Units().whole(units), replicates=replicates, rng=rng
                ),
            }
            for kind, one in kinds.items():
                held.setdefault(kind, []).append(one.interval(LEVEL).covers(truth))
        shares = {kind: 100 * np.mean(hits, axis=0) for kind, hits in held.items()}
        for place, name in enumerate(names):
            yield name, {kind: float(share[place]) for kind, share in shares.items()}


def _drawn(cells: FloatArray, size: int, samples: int, rng: np.random.Generator) -> FloatArray:
    shares = cells.ravel() / cells.sum()
    return rng.multinomial(size, shares, size=samples).astype(np.float64)


def _units(cells: FloatArray, units: int, cases: int, rng: np.random.Generator) -> FloatArray:
    """Each unit has cell probabilities of its own, Dirichlet about those of the population."""
    shares = cells.ravel() / cells.sum()
    own = rng.dirichlet(shares * (1 / INTRACLASS - 1), size=units)
    return rng.multinomial(cases, own / own.sum(axis=1, keepdims=True)).astype(np.float64)


# The page ----------------------------------------------------------------------------------------

SAMPLES, UNIT_SAMPLES, REPLICATES, SEED = 3000, 2000, 999, 20260101
PRIOR = (0.8, 0.2)

CASE_KINDS = ("percentile", "BCa", "studentised", "formula", "formula, log-odds")
UNIT_KINDS = ("expanded", "percentile", "BCa", "cases, not units")

Task = tuple[str, int, float]


def run(task: Task) -> list[tuple[Setting, Row]]:
    """One kind of study at one size and prevalence, from a seed of its own."""
    name, size, prevalence = task
    seeds = [SEED, crc32(name.encode()), size, round(1000 * prevalence)]
    rng = np.random.default_rng(seeds)
    common: dict[str, Any] = {"replicates": REPLICATES, "rng": rng}
    if name in ("clustered", "few"):
        study_of_units = clustered if name == "clustered" else few
        return list(study_of_units(size, prevalence, samples=UNIT_SAMPLES, **common))
    if name in ("paired", "tied"):
        study = paired if name == "paired" else tied
        return list(study(size, prevalence, samples=SAMPLES, **common))
    prior = PRIOR if name == "prior" else None
    return list(single(size, prevalence, prior, samples=SAMPLES, **common))


def is_good(coverage: float) -> bool:
    """Whether a coverage in % is what the level promises, or near."""
    return GOOD[0] <= round(coverage, 1) <= GOOD[1]


def table(rows: list[tuple[Setting, Row]], kinds: tuple[str, ...]) -> str:
    """Rows of Markdown; coverages outside 93 to 97 % in bold."""
    lines = [
        f"| | design | n | prevalence | {' | '.join(kinds)} |",
        "|" + "---|" * (4 + len(kinds)),
    ]
    for setting, row in rows:
        cells = [
            ""
            if kind not in row
            else f"{row[kind]:.1f}"
            if is_good(row[kind])
            else f"**{row[kind]:.1f}**"
            for kind in kinds
        ]
        where = f"{setting.measure} | {setting.design} | {setting.size:,} | {setting.prevalence:g}"
        lines.append(f"| {where} | {' | '.join(cells)} |")
    return "\n".join(lines)


def exceptions(rows: list[tuple[Setting, Row]], kind: str) -> list[str]:
    """Settings in which the type that the library takes by itself misses the band."""
    return [
        f"- {setting.measure}, {setting.design}, n = {setting.size:,}, prevalence "
        f"{setting.prevalence:g}: {row[kind]:.1f} %"
        for setting, row in rows
        if not is_good(row[kind])
    ]


def page(rows: list[tuple[Setting, Row]]) -> str:
    """The whole page."""
    of_units = [pair for pair in rows if "units" in pair[0].design]
    of_cases_ = [pair for pair in rows if "units" not in pair[0].design]
    listed = [*exceptions(of_cases_, "percentile"), *exceptions(of_units, "expanded")]
    return f"""# Do the intervals cover?

Written by `docs/coverage.py`; do not edit. Coverage in % of nominal 95 % intervals: the share of
{SAMPLES:,} samples ({UNIT_SAMPLES:,} for units) whose interval holds the truth, which is known
because the populations are. {REPLICATES} redraws each. The simulation itself is uncertain by 0.4
points (units: 0.5). Bold: outside 93 to 97. An interval that is undefined counts as a miss.

- *percentile*: `bootstrap`. *BCa*: `bootstrap_bca`. *studentised*: `bootstrap_t`.
- *formula*: `delta_expected_cost`, `delta_normalized_cost`, `delong_auc`, `compare_losses`,
  `delta_compare_costs`; *formula, log-odds* is the same read by `Logit()`.
- *expanded*: `bootstrap` with `Units()`, percentiles widened by how few units count, Student's
  interval for fewer than six. *cases, not units*: what comes of ignoring the units.

Scores have fifteen levels; two classes, three decisions; misses cost as much more as they are
rarer. Units hold {UNIT_SIZE} cases whose correlation is {INTRACLASS}, so that n = 100 are 20 units;
the last rows are about a handful of units that hold {LARGE_UNIT} cases each.
*Tied*: costs in inverse proportion to the classes, so that deciding blindly costs the same either
way and the normalised cost has a kink.

## Cases

{table(of_cases_, CASE_KINDS)}

## Units

{table(of_units, UNIT_KINDS)}

## Exceptions

What counts is not n but how many cases of the rare class were seen. At a prevalence of 0.02,
n = 100 holds two positive cases (and often none), n = 1,000 holds twenty: no method makes up for
that, though studentised intervals come closest for costs and areas. Units that resemble each other
count for less than their cases, and few of them hold a rare class: at a prevalence of 0.02 about
140 of 2,000, whose misses are dear and whose totals are so skewed that they tell as much about
their own spread as 25 units of normal totals would. Plain percentiles do not know that; expanded
ones go by that number.

A handful of units tell their mean and next to nothing about their skewness: Student's interval
holds differences of costs, and falls short for the costs themselves, which are skewed. One case of
a class, where a prior is stated, gives no interval at all. At the tie of two blind decisions,
prefer BCa or the formula for the normalised cost. By the type of interval that `bootstrap` takes by
itself, these settings miss the band:

{chr(10).join(listed) if listed else "none"}
"""


def main() -> None:
    """Run all studies, on all cores, and write the page."""
    names = ("cases", "prior", "tied", "paired", "clustered")
    tasks: list[Task] = [(name, n, p) for name in names for p in PREVALENCES for n in SIZES]
    tasks += [("few", LARGE_UNIT * count, 0.5) for count in FEW]
    slow_first = sorted(tasks, key=lambda task: (task[0] != "clustered", -task[1]))
    os.environ["OPENBLAS_NUM_THREADS"] = "1"  # as many processes as cores, each with one thread
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as pool:
        found = dict(zip(slow_first, pool.map(run, slow_first), strict=True))
    TABLE.write_text(page([row for task in tasks for row in found[task]]), encoding="utf-8")


if __name__ == "__main__":
    main()
