"""Time the library beside its peers and floors: ``python benchmarks/run.py [--write] [ROW …]``.

Every contender runs in a process of its own, on one thread, after a warm-up; rounds of all
contenders of a row alternate, so that what else the machine does hits them alike, and processor
time counts, which on one thread is wall-clock time on a quiet machine. The table shows the median
of all repetitions, the range of the middle half, and the ratio to ours. ``--write``
also writes ``RESULTS.md``; ROWs select those whose names contain one of them. Nothing fails when
a goal is missed: ratios travel, seconds do not.
"""

from __future__ import annotations

import json
import os
import platform
import statistics
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
ROUNDS = 3
REPETITIONS = 3  # in each round
ONE_THREAD = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "POLARS_MAX_THREADS"), "1"
)
PACKAGES = ("numpy", "scipy", "scikit-learn", "polars", "pyarrow", "pandas", "hmeasure", "dcurves")


def contenders(*arguments: str) -> Any:
    """What a fresh process of ``contenders.py`` answers."""
    command = [sys.executable, str(HERE / "contenders.py"), *arguments]
    done = subprocess.run(command, env={**os.environ, **ONE_THREAD}, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(arguments)} failed\n{done.stderr}")
    return json.loads(done.stdout)


def lines_of(row: str, goal: str, names: list[str]) -> list[str]:
    """The lines of the table for one row, ours first."""
    seconds: dict[str, list[float]] = {name: [] for name in names}
    peaks = dict.fromkeys(names, 0.0)
    for _ in range(ROUNDS):
        for name in names:
            answer = contenders(row, name, str(REPETITIONS))
            seconds[name] += answer["seconds"]
            peaks[name] = max(peaks[name], answer["peak_mib"])
    ours = statistics.median(seconds[names[0]])
    lines = []
    for name in names:
        middle = statistics.median(seconds[name])
        low, _, high = statistics.quantiles(seconds[name], n=4)
        first = name == names[0]
        lines.append(
            f"| {row if first else ''} | {name} | {1e3 * middle:.4g} | {1e3 * low:.3g} to "
            f"{1e3 * high:.3g} | {peaks[name]:.0f} | {'' if first else f'{middle / ours:.2f}'} | "
            f"{goal if first else ''} |"
        )
    return lines


def machine() -> str:
    """What the figures were measured with."""
    processor = platform.processor() or platform.machine()
    if Path("/proc/cpuinfo").exists():
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
        models = [line.split(":")[1].strip() for line in text.splitlines() if "model name" in line]
        processor = models[0] if models else processor
    versions = ", ".join(f"{name} {metadata.version(name)}" for name in PACKAGES)
    load = f", load {os.getloadavg()[0]:.1f} when begun" if hasattr(os, "getloadavg") else ""
    cores = f"{processor}, {os.cpu_count()} cores{load}"
    return f"{cores}; Python {platform.python_version()}, {versions}"


def main(arguments: list[str]) -> None:
    """Print the table, and write it where asked."""
    chosen = [a for a in arguments if not a.startswith("-")]
    rows = contenders()
    head = [
        "# Benchmarks",
        "",
        f"Medians of {ROUNDS * REPETITIONS} calls in milliseconds of processor time, the middle "
        "half, memory beyond the data in MiB, and the ratio to ours: above one, ours is faster. "
        "One thread each, each contender in processes of its own; `make bench` repeats it.",
        "",
        machine(),
        "",
        "| work | contender | ms | middle half | MiB | ratio | goal |",
        "|---|---|---|---|---|---|---|",
    ]
    print("\n".join(head), flush=True)
    body = []
    for row, (goal, names) in rows.items():
        if not chosen or any(part in row for part in chosen):
            lines = lines_of(row, goal, names)
            print("\n".join(lines), flush=True)
            body += lines
    if "--write" in arguments:
        (HERE / "RESULTS.md").write_text("\n".join([*head, *body]) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
