"""Tallies of more rows than fit into memory, against the engine's own scan of the same columns.

Makes Parquet files of predictions (one model, a score for every row that no other row has, labels
as text, weights, a key), then runs every task in processes of its own, in turns with the scan, so
that what else the machine does hits both alike. Prints medians over the turns: seconds without the
start of Python, seconds of the processor (all threads together), the ratios of both to DuckDB's
scan of the label and the score (those of Spark's tasks to Spark's scan), and the peak of resident
memory.
Tasks of Spark run where pyspark and Java are installed.

    python benchmarks/scale.py [ROWS …] [--only PART …] [--turns 3] [--folder FOLDER]

1,000,000 rows by default. `--only` takes tasks by their names, or those whose names contain one of
the parts; `--folder` is where files are made, and kept, for the next call. Ratios travel between
machines, seconds do not.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import duckdb

ROWS = """
SELECT CASE WHEN y THEN 'fraud' ELSE 'legit' END AS truth,
    1 / (1 + exp(4.0 - CASE WHEN y THEN 4 ELSE 0 END - 1.6 * a)) AS p, i AS id,
    0.5 + (i % 64) / 64.0 AS w
FROM (SELECT i, random() < 0.03 AS y,
    sqrt(-2 * ln(1 - random())) * cos(2 * pi() * random()) AS a FROM range({rows}) AS t(i))
"""
PROBLEM = "Problem([[0, 3, 25], [180, 8, 0]], classes=['legit', 'fraud'])"
SPARK = """
from pyspark.sql import SparkSession
build = SparkSession.builder.master("local[*]").config("spark.ui.enabled", "false")
build = build.config("spark.driver.memory", "4g").config("spark.log.level", "ERROR")
build = build.config("spark.ui.showConsoleProgress", "false")
spark = build.config("spark.driver.bindAddress", "127.0.0.1").getOrCreate()
frame = spark.read.parquet(rows)
spark.range(1000).count()
"""
RANKS = """
bins = Bins.from_frame(rows, y_true="truth", scores="p", positive="fraud",
                       grid=BitGrid(probabilities=True), {more})
found = certified(auc, bins), best_threshold(bins.ranks(problem.classes), two)
found += roc_hull(bins.ranks()), h_measure(bins.ranks(), Beta(2, 2))
assert (bins.inside is not None) == {exact}
"""
POLARS = "import polars\nframe = polars.scan_parquet(rows)"
HALF = "8 * {rows} - 1"  # bytes: one fewer than exact ranks need


def ranks(exact: bool, more: str = "") -> str:
    """AUC, hull, best threshold and H of all scores."""
    limit = "memory_limit=4 << 30" if exact else f"memory_limit={HALF}"
    return RANKS.format(more=f"{limit}{more}", exact=exact)


def evaluation(engine: str, frame: str = "rows", calibrator: str = "None", limit: str = "") -> str:
    """A whole report; what is fitted out of fold needs a key."""
    key = "" if calibrator == "None" else "key='id', "
    return (
        f"report = evaluate_frame({frame}, problem, y_true='truth', models={{'m': 'p'}}, "
        f"calibrator={calibrator}, engine={engine!r}, {key}"
        f"memory_limit={limit or '4 << 30'})"
    )


class Task(NamedTuple):
    """What comes before the clock starts, and what is timed."""

    before: str
    timed: str


SCANS = {
    False: Task("", "duckdb.sql(f\"SELECT max(truth), sum(p) FROM '{rows}'\").fetchall()"),
    True: Task(SPARK, "frame.selectExpr('max(truth)', 'sum(p)').collect()"),
}
TASKS: dict[str, Task] = {
    "ranks, exact": Task("", ranks(True)),
    "ranks, exact, weighted": Task("", ranks(True, ", weights='w'")),
    "ranks, bins": Task("", ranks(False)),
    "report, exact": Task("", evaluation("duckdb")),
    "report, bins": Task("", evaluation("duckdb", limit=HALF)),
    "report, exact, Polars": Task(POLARS, evaluation("polars", "frame")),
    "report, arrays": Task("", evaluation("numpy")),
    "report, recalibrated": Task("", evaluation("duckdb", calibrator="Isotonic()")),
    "Counts.from_frame": Task(
        "decided = duckdb.sql(f\"SELECT truth, CASE WHEN p > 0.02 THEN 'review' ELSE 'approve' END "
        "AS d FROM '{rows}'\")\n"
        "named = Problem([[0, 3], [180, 8]], classes=['legit', 'fraud'],"
        " decisions=['approve', 'review'])",
        "Counts.from_frame(decided, y_true='truth', decisions='d', problem=named)",
    ),
    "report, bins, Spark": Task(SPARK, evaluation("spark", "frame")),
}
START = f"""
import resource, sys, time
import duckdb, scipy.optimize, scipy.special
from stakes import *
from stakes.adapters import report_on
from stakes.calibration import Isotonic
from stakes.ranking import certified, roc_hull
from stakes.tally import Bins, BitGrid
rows = sys.argv[1]
problem, two = {PROBLEM}, Problem.binary(false_alarm=1, miss=9, classes=["legit", "fraud"])
{{before}}
start, before = time.perf_counter(), time.process_time()
{{timed}}
took, used = time.perf_counter() - start, time.process_time() - before
peak = max(resource.getrusage(who).ru_maxrss for who in
           (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
print("DONE", took, used, peak / 2**20)
"""


class Figures(NamedTuple):
    """Seconds on the clock and of the processor, and GiB at the peak."""

    clock: float
    processor: float
    peak: float


def measured(task: Task, rows: Path, size: int) -> Figures | None:
    """One run in a process of its own; None where it ends in an error."""
    code = START.format(before=task.before, timed=task.timed.replace("{rows} - 1", f"{size} - 1"))
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code, str(rows)],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[1] / "src")},
        check=False,
    )
    line = [one for one in done.stdout.splitlines() if one.startswith("DONE")]
    if not line:
        print(*done.stderr.strip().splitlines()[-3:], sep="\n", file=sys.stderr)
        return None
    return Figures(*map(float, line[-1].split()[1:]))


def median(runs: list[Figures]) -> Figures:
    """The medians, and the highest peak."""
    clock, processor, peak = zip(*runs, strict=True)
    return Figures(statistics.median(clock), statistics.median(processor), max(peak))


@contextmanager
def made(size: int, folder: Path | None) -> Iterator[Path]:
    """A file of so many rows, which stays where a folder was named."""
    with tempfile.TemporaryDirectory(prefix="stakes-scale-") as other:
        rows = Path(folder or other) / f"rows_{size}.parquet"
        rows.parent.mkdir(parents=True, exist_ok=True)
        if not rows.exists():
            duckdb.execute(f"COPY ({ROWS.format(rows=size)}) TO '{rows}' (FORMAT parquet)")
        yield rows


def lines(size: int, rows: Path, names: list[str], turns: int) -> Iterator[str]:
    """The lines of the table of one size."""
    for name in names:
        task, scan = TASKS[name], SCANS["Spark" in name]
        pairs = [(measured(scan, rows, size), measured(task, rows, size)) for _ in range(turns)]
        scans, own = ([one for one in column if one] for column in zip(*pairs, strict=True))
        if not own or not scans:
            yield f"| {size:.0e} | {name} | failed | | | | |"
            continue
        base, found = median(scans), median(own)
        yield (
            f"| {size:.0e} | {name} | {found.clock:.2f} | {found.processor:.2f} | "
            f"{found.clock / base.clock:.1f} | {found.processor / base.processor:.1f} | "
            f"{found.peak:.2f} |"
        )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rows", nargs="*", type=float, default=[1e6])
    parser.add_argument("--only", nargs="*", default=[""])
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--folder", type=Path)
    asked = parser.parse_args()
    names = [
        name
        for name in TASKS
        if any(part == name if part in TASKS else part in name for part in asked.only)
    ]
    for needed, package in (("Spark", "pyspark"), ("Polars", "polars")):
        names = [name for name in names if needed not in name or find_spec(package)]
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, medians of {asked.turns} turns")
    print(
        "| rows | task | s | processor s | × scan | processor × scan | GiB |\n" + "|---" * 7 + "|"
    )
    for size in map(int, asked.rows):
        with made(size, asked.folder) as rows:
            for line in lines(size, rows, names, asked.turns):
                print(line, flush=True)


if __name__ == "__main__":
    main()
