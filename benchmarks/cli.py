"""``stakes evaluate`` on a large Parquet file against DuckDB's own scan of the same columns.

Writes a file of predictions to a temporary folder, then prints the wall time, processor time and
peak memory of several processes: the scan, the sorts that an exact table of scores requires, the
command, the command without recalibration, and with a memory limit above which the engine tallies.
Excluding the start of Python, the last should take at most five times as long as the scan and the
sorts together, and less than 512 MiB. A missed goal is no error: it is printed. Processor time
decides, because it does not depend on what else the machine does.

    python benchmarks/cli.py [rows]
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import duckdb

LIMIT = 512 << 20  # of memory, where the engine tallies
TIMES = 5
PROBLEM = """\
unit = "EUR"
classes = ["legit", "fraud"]
decisions = ["approve", "review", "block"]
[costs]
legit = { approve = 0, review = 3, block = 25 }
fraud = { approve = 180, review = 8, block = 0 }
"""
ROWS = """
SELECT CASE WHEN y THEN 'fraud' ELSE 'legit' END AS truth,
    1 / (1 + exp(4.0 - CASE WHEN y THEN 5.5 ELSE 0 END - 1.6 * a)) AS forest,
    1 / (1 + exp(4.2 - CASE WHEN y THEN 4.7 ELSE 0 END - 1.8 * b)) AS logistic,
    i AS id
FROM (SELECT i, random() < 0.03 AS y,
    sqrt(-2 * ln(1 - random())) * cos(2 * pi() * random()) AS a,
    sqrt(-2 * ln(1 - random())) * cos(2 * pi() * random()) AS b
    FROM range({rows}) AS t(i))
"""
SCAN = """
import duckdb
query = "SELECT count(truth), max(truth), sum(forest), sum(logistic) FROM 'rows.parquet'"
duckdb.execute(query).fetchall()
"""
SORTS = """
import duckdb, numpy as np
columns = duckdb.execute("SELECT forest, logistic FROM 'rows.parquet'").fetchnumpy()
for values in columns.values():
    np.sort(values)
"""
START = "import duckdb, numpy"


@dataclass(frozen=True)
class Usage:
    """Time and memory of a process."""

    wall: float
    processor: float
    peak: int

    def __str__(self) -> str:
        return f"{self.wall:7.2f} s {self.processor:9.2f} s {self.peak / (1 << 20):9.0f} MiB"


def measure(command: list[str], folder: Path) -> Usage:
    """Run a process until it ends."""
    start = time.perf_counter()
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{' '.join(command)[:80]} ended with {process.returncode}")
    return Usage(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024)


def least(command: list[str], folder: Path, times: int) -> Usage:
    """The run that took the least processor time."""
    return min((measure(command, folder) for _ in range(times)), key=lambda used: used.processor)


def main(rows: int) -> None:
    """Make the file, measure, compare."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "fraud.toml").write_text(PROBLEM, encoding="utf-8")
        target = folder / "rows.parquet"
        duckdb.execute(f"COPY ({ROWS.format(rows=rows)}) TO '{target}' (FORMAT parquet)")
        python = [sys.executable, "-c"]
        idle = least([*python, START], folder, 3)
        scan = least([*python, SCAN], folder, 3)
        sorts = least([*python, SORTS], folder, 3)
        command = [sys.executable, "-m", "stakes", "evaluate", target.name, "-p", "fraud.toml"]
        command += ["--model", "forest", "--model", "logistic"]
        evaluate = least(command, folder, 2)
        as_is = least([*command, "--calibrate", "none"], folder, 2)
        tallied = least([*command, "--memory-limit", "50MiB"], folder, 2)
    print(f"{rows:,} rows, two models     wall  processor      peak")
    for label, used in (
        ("start of Python", idle),
        ("scan", scan),
        ("read and sort", sorts),
        ("evaluate", evaluate),
        ("not recalibrated", as_is),
        ("tallied", tallied),
    ):
        print(f"{label:<16} {used}")
    floor = scan.processor + sorts.processor - 2 * idle.processor
    spent = tallied.processor - idle.processor
    is_met = spent <= TIMES * floor and tallied.peak <= LIMIT
    print(
        f"tallied in {spent:.2f} s beside {floor:.2f} s for the scan and sorts, "
        f"{spent / floor:.1f} times that (at most {TIMES}), "
        f"with {tallied.peak >> 20} MiB (at most {LIMIT >> 20}): {'met' if is_met else 'missed'}"
    )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000_000)
