"""Write docs/coverage.md: how often what `evaluate` says is true, by simulation.

``python docs/coverage.py`` runs everything, with 300 data sets or more in every row (about twenty
minutes on two cores), writes the numbers to docs/coverage.json and the page to docs/coverage.md,
and prints its time. ``--minutes 15`` begins no row after that time, so that the run ends soon
after it; with ``--resume`` rows that docs/coverage.json has with as many data sets are kept, and
the next run goes on where the last one ended. Rows of another version are older than the last
change of their intervals, and are run again. ``--share 0.5`` takes half as many data sets;
``--page`` writes the page alone; ``--quick`` runs a few data sets and writes nothing.
"""

from __future__ import annotations

import json
import os
import sys
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any
from zlib import crc32

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # processes share the cores, not threads
sys.path.insert(0, str(Path(__file__).parent))

import numpy as np
from coverage_study import (
    amounts,
    audits,
    bootstraps,
    cross_validation,
    deploy_or_not,
    intervals,
    least_widths,
    mixed_clusters,
    narrower_ends,
    reports,
    unequal_clusters,
)
from coverage_study.amounts import Amounts
from coverage_study.cross_validation import Fitting
from coverage_study.populations import Design
from coverage_study.words import page, with_shrunk_table

PAGE = Path(__file__).with_suffix(".md")
NUMBERS = Path(__file__).with_suffix(".json")
VERDICT = Path(__file__).with_name("verdict.md")
SEED = 20260301
# Versions of sections: one more whenever their intervals change, and that of the others.
VERSIONS = {
    "amounts": 3,
    "ends": 3,
    "fitting": 3,
    "interval": 8,
    "mixed": 5,
    "report": 6,
    "shrunk": 3,
}
FIRST_VERSION = 2
DATA_SETS = 300  # of every design whose data sets go through `evaluate`
RARE_TIMES = 3  # as many where many data sets recommend nothing, and so name no runner-up


# Tasks -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Task:
    """One row of a table, or several that are computed together."""

    section: str
    samples: int
    arguments: tuple[Any, ...]

    @property
    def key(self) -> str:
        """What the row is about, in full."""
        return f"{self.section} {self.arguments}"

    @property
    def version(self) -> int:
        """The version of the intervals that are looked at."""
        return VERSIONS.get(self.section, FIRST_VERSION)

    @property
    def seed(self) -> int:
        """A separate seed, so that a row is the same whatever runs beside it."""
        return SEED + crc32(self.key.encode())


def report_designs() -> list[Design]:
    """The designs whose data sets go through `evaluate`."""
    designs = [Design(j, "equal", 200, 0.5) for j in (1, 2, 12)]
    designs += [Design(j, "equal", 1_000, 0.5) for j in (2, 12, 60)]
    designs += [Design(12, "unequal", n, 0.5) for n in (200, 1_000)]
    designs += [Design(12, "clear best", 200, 0.5)]
    for prior in (False, True):
        designs += [Design(j, "equal", 1_000, 0.02, prior) for j in (1, 2, 12)]
        designs += [Design(2, "equal", 10_000, 0.002, prior)]
    designs += [Design(j, "equal", 10_000, 0.002) for j in (1, 12)]
    designs += [Design(j, "equal", n, 0.5, weights="whole") for j, n in ((1, 200), (12, 1_000))]
    designs += [Design(j, "equal", 1_000, 0.5, weights="lognormal") for j in (2, 12)]
    designs += [Design(2, "equal", 1_000, 0.02, weights="lognormal")]
    for j, counts in ((1, (2, 5)), (2, (2, 3, 5, 10, 20, 50, 200)), (12, (5, 20))):
        designs += [Design(j, "equal", 50 * g, 0.5, clusters=g) for g in counts]
    designs += [Design(2, "equal", 1_000, 0.02, prior, 20) for prior in (False, True)]
    designs += [Design(2, "equal", 1_000, 0.5, clusters=20, weights="lognormal")]
    designs += [
        Design(j, "equal", n, 0.5, kind="tuned") for j, n in ((1, 200), (2, 1_000), (12, 200))
    ]
    designs += [Design(j, "equal", 200, 0.5, kind="recalibrated") for j in (1, 4)]
    designs += [Design(2, "equal", 1_000, 0.02, kind="recalibrated")]
    designs += [Design(40, "equal", 1_000, 0.1, kind="rare misses")]
    return designs


def amount_designs() -> list[Amounts]:
    """Lognormal amounts, from light to heavy tails."""
    spreads, sizes = (0.5, 1.0, 1.5, 2.0), (200, 1_000)
    designs = [Amounts(s, p, n) for s in spreads for p in (0.1, 0.5) for n in sizes]
    designs += [Amounts(s, 0.02, 1_000) for s in spreads]
    designs += [Amounts(s, 0.1, 10_000) for s in (1.0, 2.0)]
    return [*designs, Amounts(1.0, 0.1, 1_000, prior=True)]


def fitting_designs() -> list[Fitting]:
    """Estimators that are cross-validated; scikit-learn is needed."""
    designs = [Fitting(n, p) for n, p in ((200, 0.3), (1_000, 0.3), (1_000, 0.05))]
    designs.append(Fitting(400, 0.3, clusters=40))
    return [*designs, *(Fitting(n, 0.3, kind="recalibrated") for n in (200, 1_000))]


def tasks(share: float) -> list[Task]:
    """Everything that is run, with a share of the data sets."""
    queue = []
    for design in report_designs():
        times = RARE_TIMES if (design.systems, design.prevalence) == (2, 0.002) else 1
        queue.append(Task("report", max(4, round(share * times * DATA_SETS)), (design,)))
    many = max(40, round(share * 1_000))
    queue += [Task("shrunk", max(12, round(share * 600)), (p,)) for p in (0.5, 0.02)]
    queue += [Task("amounts", max(8, round(share * 600)), (design,)) for design in amount_designs()]
    for fitting in fitting_designs():
        wanted = 400 if fitting.kind == "decisions" else 200
        hardest = (fitting.size, fitting.prevalence, fitting.kind) == (1_000, 0.3, "decisions")
        wanted *= 2 if hardest else 1
        queue.append(Task("fitting", max(4, round(share * wanted)), (fitting,)))
    for prevalence in (0.5, 0.02, 0.002):
        for stated in (False, True):
            queue.append(Task("interval", many, (prevalence, stated)))
    for name, size, prevalence in (
        *((name, 1_000, p) for name in ("cases", "paired") for p in (0.5, 0.02)),
        ("clusters", 1_000, 0.5),
        *(("few", 50 * count, 0.5) for count in (2, 4, 6)),
    ):
        samples = many // (4 if name in ("clusters", "few") else 1)
        queue.append(Task("bootstrap", samples, (name, size, prevalence)))
    queue += [Task("mixed", many, (design,)) for design in mixed_clusters.DESIGNS]
    queue += [Task("unequal", 2 * many, (design,)) for design in unequal_clusters.DESIGNS]
    queue += [Task("deploy", many, (design,)) for design in deploy_or_not.DESIGNS]
    queue += [Task("audit", many * 3 // 10, (design,)) for design in audits.DESIGNS]
    queue += [Task("least", 2 * many, (name,)) for name in least_widths.DESIGNS]
    queue += [Task("ends", 2 * many, (name,)) for name in narrower_ends.RULES]
    return queue


def run(task: Task) -> list[dict[str, Any]]:
    """The rows of a task, with the processor time that they took."""
    start = time.process_time()
    studies = {
        "report": _reported,
        "interval": _intervals,
        "bootstrap": _bootstraps,
        "shrunk": _shrunk,
        "amounts": _amounts,
        "fitting": _fitting,
        "least": _least_widths,
        "ends": _narrower_ends,
        "mixed": _mixed,
        "unequal": _unequal,
        "deploy": _deploy,
        "audit": _audits,
    }
    rows = studies[task.section](task)
    spent = (time.process_time() - start) / len(rows)
    common = {"section": task.section, "key": task.key, "samples": task.samples, "seconds": spent}
    common["version"] = task.version
    return [common | row for row in rows]


def _reported(task: Task) -> list[dict[str, Any]]:
    (design,) = task.arguments
    about = {"systems": design.candidates, "design": design.title, "kind": design.kind}
    about |= {"n": design.size, "prevalence": design.prevalence, "clusters": design.clusters}
    return [about | reports.row_of(design, task.samples, task.seed)]


def _amounts(task: Task) -> list[dict[str, Any]]:
    (design,) = task.arguments
    about = {"sigma": design.sigma, "prevalence": design.prevalence, "n": design.size}
    return [about | {"prior": design.prior} | amounts.row_of(design, task.samples, task.seed)]


def _fitting(task: Task) -> list[dict[str, Any]]:
    (design,) = task.arguments
    about = {"design": design.title, "prevalence": design.prevalence, "n": design.size}
    return [about | cross_validation.row_of(design, task.samples, task.seed)]


def _least_widths(task: Task) -> list[dict[str, Any]]:
    (name,) = task.arguments
    row = least_widths.row_of(least_widths.DESIGNS[name], task.samples, task.seed)
    return [{"design": name} | row]


def _narrower_ends(task: Task) -> list[dict[str, Any]]:
    (name,) = task.arguments
    row = narrower_ends.row_of(narrower_ends.RULES[name], task.samples, task.seed)
    return [{"ends": name} | row]


def _mixed(task: Task) -> list[dict[str, Any]]:
    (design,) = task.arguments
    about = {"clusters": design.clusters, "cases": design.cases, "prevalence": design.prevalence}
    about |= {"shares": design.shares, "prior": design.prior}
    return [about | mixed_clusters.row_of(design, task.samples, task.seed)]


def _unequal(task: Task) -> list[dict[str, Any]]:
    (design,) = task.arguments
    about = {"clusters": design.clusters, "spread": design.spread, "worse": design.worse}
    return [about | unequal_clusters.row_of(design, task.samples, task.seed)]


def _deploy(task: Task) -> list[dict[str, Any]]:
    (design,) = task.arguments
    about = {"systems": str(design.systems), "n": design.size, "prevalence": design.prevalence}
    about |= {"true saving": design.saving / float(design.blind.min()), "prior": design.prior}
    return [about | deploy_or_not.row_of(design, task.samples, task.seed)]


def _audits(task: Task) -> list[dict[str, Any]]:
    (design,) = task.arguments
    about = {"n": design.size, "prevalence": design.prevalence, "one in": design.one_in}
    about |= {"either": design.either, "drawn": design.drawn, "prior": design.prior}
    return [about | audits.row_of(design, task.samples, task.seed)]


def _shrunk(task: Task) -> list[dict[str, Any]]:
    (prevalence,) = task.arguments
    bins = reports.varied(prevalence, task.samples, task.seed)
    return [{"prevalence": prevalence, "said": bins}]


INTERVAL_COLUMNS = ("coverage", "percentile", "width", "stretched", "stretch")
CLUSTERS = ((2, 50), (4, 50), (20, 50), (200, 50), (20, 5), (200, 5), (20, 500))


def _intervals(task: Task) -> list[dict[str, Any]]:
    prevalence, stated = task.arguments
    rng, rows, half = np.random.default_rng(task.seed), [], task.samples // 2
    for subject in intervals.subjects(prevalence, stated=stated):
        results: list[tuple[str, int, Any]] = []
        for n in (100, 1_000, 10_000):
            results.append(("cases", n, intervals.of_cases(subject, n, task.samples, rng)))
        results.append(
            ("lognormal weights", 1_000, intervals.of_weights(subject, 1_000, half, rng))
        )
        for n in (1_000, 10_000):
            if n * prevalence < 20:
                continue  # nobody can know how heavy a class is of which there are no cases
            weighted = intervals.of_class_weights(subject, n, half, rng, 10.0)
            results.append(("a class weighted up tenfold", n, weighted))
        for count, cases in ((100, 10), (300, 5)):
            of = intervals.of_patients(subject, count, cases, half, rng)
            results.append((f"{count} patients with {cases} images", count * cases, of))
        for count, cases in CLUSTERS:
            of = intervals.of_clusters(subject, count, cases, half, rng)
            results.append((f"{count} clusters of {cases}", count * cases, of))
        for count in (4, 20, 200):
            of = intervals.of_clusters(subject, count, 50, half, rng, spread=1.0)
            results.append((f"{count} clusters of 50, lognormal weights", count * 50, of))
        rows += [(subject.name, *result) for result in results]
    if not stated:
        tied = intervals.tied(prevalence)
        for n in (100, 1_000, 10_000):
            of = intervals.of_cases(tied, n, task.samples, rng)
            rows.append(("NEC, tied", "cases", n, of))
    return [
        {"measure": name, "design": design, "prior": stated, "n": n, "prevalence": prevalence}
        | dict(zip(INTERVAL_COLUMNS, map(_number, numbers), strict=True))
        for name, design, n, numbers in rows
    ]


def _number(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def _bootstraps(task: Task) -> list[dict[str, Any]]:
    name, size, prevalence = task.arguments
    options: dict[str, Any] = {"samples": task.samples, "replicates": 399}
    options["rng"] = np.random.default_rng(task.seed)
    if name == "cases":
        rows = bootstraps.single(size, prevalence, None, **options)
    else:
        study = {"paired": bootstraps.paired, "clusters": bootstraps.clustered}
        rows = study.get(name, bootstraps.few)(size, prevalence, **options)
    return [
        {"measure": at.measure, "design": at.design, "n": at.size, "prevalence": at.prevalence}
        | row
        for at, row in rows
    ]


# The run -----------------------------------------------------------------------------------------


def _is_known(task: Task, known: dict[str, list[dict[str, Any]]]) -> bool:
    """Whether the rows of a task are there, from as many data sets and of these intervals."""
    first = known.get(task.key, [{"samples": 0, "version": task.version}])[0]
    return bool(first["version"] == task.version and first["samples"] >= task.samples)


def collect(
    wanted: list[Task], known: dict[str, list[dict[str, Any]]], save: bool, seconds_left: float
) -> None:
    """Run what is not known yet, the quick sections first, two at a time; save after each.

    No task is begun once the time is over.
    """
    end = time.perf_counter() + seconds_left
    missing = [task for task in wanted if not _is_known(task, known)]
    missing.sort(key=lambda task: (task.section == "report", "decisions" in task.key))
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        futures = {pool.submit(run, task): task for task in missing}
        for future in as_completed(futures):
            if future.cancelled():
                continue
            if time.perf_counter() > end:
                for waiting in futures:
                    waiting.cancel()
            task = futures[future]
            known[task.key] = future.result()
            seconds = sum(row["seconds"] for row in known[task.key])
            print(f"{seconds:6.1f} s  {task.samples:5} × {task.key}", flush=True)
            if save:
                write(wanted, known)


def write(wanted: list[Task], known: dict[str, list[dict[str, Any]]]) -> None:
    """Keep the rows of the tasks that have them, in order."""
    rows = [row for task in wanted for row in known.get(task.key, [])]
    lines = ",\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
    NUMBERS.write_text(f"[\n{lines}\n]\n", encoding="utf-8")


def read() -> list[dict[str, Any]]:
    """The rows of the last run."""
    return list(json.loads(NUMBERS.read_text(encoding="utf-8")))


def write_pages() -> None:
    """The page, and the table of docs/verdict.md."""
    rows = read()
    PAGE.write_text(page(rows), encoding="utf-8")
    VERDICT.write_text(with_shrunk_table(VERDICT.read_text("utf-8"), rows), encoding="utf-8")


def main(options: list[str]) -> None:
    """Run the tasks, write the numbers and the page, print the time."""
    start, quick = time.perf_counter(), "--quick" in options
    share = float(options[options.index("--share") + 1]) if "--share" in options else 1.0
    wanted = tasks(0.0 if quick else share)
    known: dict[str, list[dict[str, Any]]] = {}
    if "--resume" in options or "--page" in options:
        for row in read():
            known.setdefault(row["key"], []).append(row)
    if "--page" not in options:
        minutes = options[options.index("--minutes") + 1] if "--minutes" in options else "inf"
        collect(wanted, known, save=not quick, seconds_left=60 * float(minutes))
    spent = sum(row["seconds"] for rows in known.values() for row in rows)
    print(f"{time.perf_counter() - start:.0f} s, of which {spent:.0f} s of processor time in rows")
    left = [task for task in wanted if not _is_known(task, known)]
    if left:
        print(f"{len(left)} of {len(wanted)} tasks are to be run; --resume goes on with them")
    if any(task.key not in known for task in wanted):
        return
    if quick:
        page([row for task in wanted for row in known[task.key]])
    else:
        write_pages()


if __name__ == "__main__":
    main(sys.argv[1:])
