"""Tallies inside engines against the engine's own scan of the same columns.

Makes Parquet files of predictions (one model, a score for every row that no other row has, weights
and a key) in a temporary folder, then runs every task in a process of its own and prints seconds
without the start of Python, the ratio to DuckDB's scan (that of Spark's tasks to Spark's scan), and
the peak of resident memory. Tasks of Spark run where pyspark and Java are installed.

    python benchmarks/scale.py [rows …]        # 1,000,000 by default

Ratios travel between machines, seconds do not.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path

import duckdb

ROWS = """
SELECT CASE WHEN y THEN 'fraud' ELSE 'legit' END AS truth,
    1 / (1 + exp(4.0 - CASE WHEN y THEN 4 ELSE 0 END - 1.6 * a)) AS p, i AS id
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
frame = spark.read.parquet("rows.parquet")
spark.range(1000).count()
"""
EVALUATED = """
report = evaluate_frame({frame}, problem, y_true="truth", models={{"m": "p"}},
                        calibrator={calibrator}, engine={engine!r}, key="id", memory_limit="2GiB")
"""


def evaluation(engine: str, frame: str = "'rows.parquet'", calibrator: str = "None") -> str:
    """The code of one evaluation."""
    return EVALUATED.format(frame=frame, calibrator=calibrator, engine=engine)


TASKS: dict[str, tuple[str, str]] = {  # what comes before the clock starts, and what is timed
    "scan, DuckDB": (
        "",
        "duckdb.sql(\"SELECT max(truth), sum(p) FROM 'rows.parquet'\").fetchall()",
    ),
    "Counts.from_frame, DuckDB": (
        "rows = duckdb.sql(\"SELECT truth, CASE WHEN p > 0.02 THEN 'review' ELSE 'approve' END "
        "AS d FROM 'rows.parquet'\")\n"
        "named = Problem([[0, 3], [180, 8]], classes=['legit', 'fraud'],"
        " decisions=['approve', 'review'])",
        "Counts.from_frame(rows, y_true='truth', decisions='d', problem=named)",
    ),
    "ScoreTable.from_frame, bins, DuckDB": (
        "",
        "ScoreTable.from_frame('rows.parquet', y_true='truth', scores='p', positive='fraud',"
        " bins=BitGrid(probabilities=True))",
    ),
    "ScoreTable.from_frame, exact, DuckDB": (
        "",
        "ScoreTable.from_frame('rows.parquet', y_true='truth', scores='p', positive='fraud')",
    ),
    "evaluate_frame, arrays": ("", evaluation("numpy")),
    "evaluate_frame, DuckDB": ("", evaluation("duckdb")),
    "evaluate_frame, Polars": (
        "import polars\nframe = polars.scan_parquet('rows.parquet')",
        evaluation("polars", "frame"),
    ),
    "evaluate_frame, recalibrated, DuckDB": ("", evaluation("duckdb", calibrator="Isotonic()")),
    "scan, Spark": (SPARK, "frame.selectExpr('max(truth)', 'sum(p)').collect()"),
    "evaluate_frame, Spark": (SPARK, evaluation("spark", "frame")),
}
START = f"""
import sys, time, resource
import duckdb
from stakes import Counts, Problem, ScoreTable, evaluate_frame
from stakes.calibration import Isotonic
from stakes.tally import BitGrid
problem = {PROBLEM}
{{before}}
start = time.perf_counter()
{{timed}}
took = time.perf_counter() - start
peak = max(resource.getrusage(who).ru_maxrss for who in
           (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
print("DONE", took, peak * 1024)
"""


def measured(task: str, folder: Path) -> tuple[float, float] | None:
    """Seconds, and bytes at the peak; None where the task ends in an error."""
    before, timed = TASKS[task]
    code = START.format(before=before, timed=timed)
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code],
        cwd=folder,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[1] / "src")},
        check=False,
    )
    line = [one for one in done.stdout.splitlines() if one.startswith("DONE")]
    if not line:
        print(done.stderr.strip().splitlines()[-1:], file=sys.stderr)
        return None
    _, took, peak = line[-1].split()
    return float(took), float(peak)


def main(sizes: list[int]) -> None:
    """Print one table for each number of rows."""
    tasks = [one for one in TASKS if "Spark" not in one or find_spec("pyspark")]
    tasks = [one for one in tasks if "Polars" not in one or find_spec("polars")]
    for size in sizes:
        with tempfile.TemporaryDirectory(prefix="stakes-scale-") as made:
            folder = Path(made)
            start = time.perf_counter()
            target = folder / "rows.parquet"
            duckdb.execute(f"COPY ({ROWS.format(rows=size)}) TO '{target}' (FORMAT parquet)")
            print(f"{size:,} rows, written in {time.perf_counter() - start:.1f} s")
            print(f"{'task':40}{'seconds':>9}{'ratio':>8}{'GiB':>7}")
            scans: dict[bool, float] = {}
            for task in tasks:
                found = min(filter(None, (measured(task, folder) for _ in range(2))), default=None)
                if found is None:
                    print(f"{task:40}   failed")
                    continue
                spark = "Spark" in task
                scan = scans.setdefault(spark, found[0])
                print(f"{task:40}{found[0]:9.2f}{found[0] / scan:8.1f}{found[1] / 2**30:7.2f}")


if __name__ == "__main__":
    main([int(float(one)) for one in sys.argv[1:]] or [1_000_000])
