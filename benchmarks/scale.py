"""Tallies of more rows than fit into memory, against the engine's own scan of the same columns.

Writes Parquet files of predictions (one model, distinct scores, labels as text, weights, a key),
then runs every task in separate processes, in turns with the scan, so that other work on the
machine affects both alike; those of Spark share a session, which one turn more warms up. Prints
medians over the turns: elapsed seconds without the start of Python, seconds of processor time (of
all threads, and of Spark's Java), the ratios of both to DuckDB's scan of the label and the score
(for Spark's tasks, to Spark's scan), and the peak of resident memory. Tasks of Spark run if pyspark
and Java are installed.

    python benchmarks/scale.py [ROWS …] [--only PART …] [--turns 3] [--folder FOLDER]

The default is 1,000,000 rows. `--only` selects tasks by their names or by parts of them; files are
written to `--folder` and kept there for the next call. Ratios can be compared between machines,
seconds cannot.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
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
build = build.config("spark.driver.bindAddress", "127.0.0.1")
spark = build.config("spark.driver.host", "127.0.0.1").getOrCreate()
frame = spark.read.parquet(rows)
spark.range(1000).count()
java_process = spark.sparkContext._gateway.proc.pid
"""
RANKS = """
bins = Bins.from_frame({frame}, y_true="truth", scores="p", positive="fraud",
                       grid=BitGrid(probabilities=True), {more})
results = certified(auc, bins), best_threshold(bins.ranks(problem.classes), two)
results += roc_hull(bins.ranks()), h_measure(bins.ranks(), Beta(2, 2))
assert (bins.inside is not None) == {exact}
"""
POLARS = "import polars\nframe = polars.scan_parquet(rows)"
HALF = "8 * {rows} - 1"  # bytes: one less than exact ranks need


def ranks(exact: bool, more: str = "", frame: str = "rows") -> str:
    """AUC, hull, best threshold and H of all scores."""
    limit = "memory_limit=4 << 30" if exact else f"memory_limit={HALF}"
    return RANKS.format(more=f"{limit}{more}", exact=exact, frame=frame)


def evaluation(engine: str, frame: str = "rows", calibrator: str = "None", limit: str = "") -> str:
    """A whole report; a calibrator, which is fitted out of fold, needs a key."""
    key = "" if calibrator == "None" else "key='id', "
    return (
        f"report = evaluate_frame({frame}, problem, y_true='truth', models={{'m': 'p'}}, "
        f"calibrator={calibrator}, engine={engine!r}, {key}"
        f"memory_limit={limit or '4 << 30'})"
    )


class Task(NamedTuple):
    """What runs before the clock starts, and what is timed."""

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
    "ranks, bins, Spark": Task(SPARK, ranks(False, frame="frame")),
    "report, bins, Spark": Task(SPARK, evaluation("spark", "frame")),
}
START = f"""
import os, resource, sys, time
from pathlib import Path
import duckdb, scipy.optimize, scipy.special
from stakes import *
from stakes.adapters import report_on
from stakes.calibration import Isotonic
from stakes.ranking import certified, roc_hull
from stakes.tally import Bins, BitGrid
rows = sys.argv[1]
problem, two = {PROBLEM}, Problem.binary(false_alarm=1, miss=9, classes=["legit", "fraud"])
java_process = None
{{before}}
def of_java(name):
    return Path(f"/proc/{{{{java_process}}}}/{{{{name}}}}").read_text() if java_process else ""
def used():
    ticks = sum(map(int, of_java("stat").rpartition(")")[2].split()[11:13]))
    return time.process_time() + ticks / os.sysconf("SC_CLK_TCK")
for timed in {{timed}}:
    start, before = time.perf_counter(), used()
    exec(timed)
    took, worked = time.perf_counter() - start, used() - before
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    if java_process:
        peak += int(of_java("status").split("VmHWM:")[1].split()[0])
    print("DONE", took, worked, peak / 2**20, flush=True)
"""


class Figures(NamedTuple):
    """Elapsed seconds, seconds of processor time, and the peak of memory in GiB."""

    clock: float
    processor: float
    peak: float


def measure(tasks: list[Task], rows: Path, size: int) -> list[Figures]:
    """Run tasks one after the other in a separate process; fewer figures where one fails."""
    timed = [task.timed.replace("{rows} - 1", f"{size} - 1") for task in tasks]
    code = START.format(before=tasks[0].before, timed=timed)
    completed = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code, str(rows)],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[1] / "src")},
        check=False,
    )
    if completed.returncode:
        print(*completed.stderr.strip().splitlines()[-3:], sep="\n", file=sys.stderr)
    done = [text for text in completed.stdout.splitlines() if text.startswith("DONE")]
    return [Figures(*map(float, line.split()[1:])) for line in done]


def in_turns(names: list[str], rows: Path, size: int, turns: int) -> list[list[Figures]]:
    """The figures of the scan and of each task, one list for each turn."""
    scan = SCANS["Spark" in names[0]]
    tasks = [scan, *(TASKS[name] for name in names)]
    if "Spark" not in names[0]:
        return [
            [figures for task in tasks for figures in measure([task], rows, size)]
            for _ in range(turns)
        ]
    # One session for all turns, and the first one warms it up.
    figures = measure(tasks * (turns + 1), rows, size)
    return [figures[i : i + len(tasks)] for i in range(len(tasks), len(figures), len(tasks))]


def median(runs: Sequence[Figures]) -> Figures:
    """The medians, and the highest peak."""
    clock, processor, peak = zip(*runs, strict=True)
    return Figures(statistics.median(clock), statistics.median(processor), max(peak))


@contextmanager
def parquet_file(size: int, folder: Path | None) -> Iterator[Path]:
    """A file of this many rows, which is kept if a folder is named."""
    with tempfile.TemporaryDirectory(prefix="stakes-scale-") as other:
        rows = Path(folder or other) / f"rows_{size}.parquet"
        rows.parent.mkdir(parents=True, exist_ok=True)
        if not rows.exists():
            duckdb.execute(f"COPY ({ROWS.format(rows=size)}) TO '{rows}' (FORMAT parquet)")
        yield rows


def lines(size: int, rows: Path, names: list[str], turns: int) -> Iterator[str]:
    """The lines of the table of one size."""
    of_spark = [name for name in names if "Spark" in name]
    groups = [[name] for name in names if name not in of_spark] + ([of_spark] if of_spark else [])
    for group in groups:
        complete = [
            figures
            for figures in in_turns(group, rows, size, turns)
            if len(figures) == 1 + len(group)
        ]
        if not complete:
            yield f"| {size:.0e} | {', '.join(group)} | failed | | | | |"
            continue
        base, *timings = map(median, zip(*complete, strict=True))
        for name, timing in zip(group, timings, strict=True):
            yield (
                f"| {size:.0e} | {name} | {timing.clock:.2f} | {timing.processor:.2f} | "
                f"{timing.clock / base.clock:.1f} | {timing.processor / base.processor:.1f} | "
                f"{timing.peak:.2f} |"
            )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rows", nargs="*", type=float, default=[1e6])
    parser.add_argument("--only", nargs="*", default=[""])
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--folder", type=Path)
    options = parser.parse_args()
    names = [
        name
        for name in TASKS
        if any(part == name if part in TASKS else part in name for part in options.only)
    ]
    for needed, package in (("Spark", "pyspark"), ("Polars", "polars")):
        names = [name for name in names if needed not in name or find_spec(package)]
    print(
        f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, medians of {options.turns} turns"
    )
    print(
        "| rows | task | s | processor s | × scan | processor × scan | GiB |\n" + "|---" * 7 + "|"
    )
    for size in map(int, options.rows):
        with parquet_file(size, options.folder) as rows:
            for line in lines(size, rows, names, options.turns):
                print(line, flush=True)


if __name__ == "__main__":
    main()
